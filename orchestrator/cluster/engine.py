"""Define the base class of `slurm` and `ssh`, which start jobs on hosts, and its types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.cluster.folder import Sweep
from parsers.errors import PinsweepError

AT_ONCE: Final = "waits for --at-once: run the same command again later"
CANARY: Final = "waits for the canary: run the same command again later"
IN_TURN: Final = frozenset({AT_ONCE, CANARY})
"""Why a host got no job although nothing is wrong: no queue keeps it."""


class Unavailable(PinsweepError):
    """The engine that starts the jobs does not answer now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The facts about a host before the first start."""

    name: str
    problem: str = ""  # why it can get no job now: 'drained "bad DIMM"'
    silent: bool = False  # it does not answer, and its job may run
    kind: str = ""  # sockets:cores:threads and features of the CPU: hosts of one kind take equally long
    idle: bool = True
    allowed_min: int = 0  # minutes that the partition allows a job; 0: no bound, or not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The newest job of a host."""

    host: str
    id: str
    phase: Literal["waits", "runs", "over"]
    state: str  # Slurm's word: "CANCELLED"
    reason: str = ""  # why it waits or ended
    hopeless: bool = False  # it waits for something that a person has to mend


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job to start."""

    host: str
    words: tuple[str, ...] = ()  # further options of `pinsweep run`
    lane: int = 0  # the jobs of a lane run one after the other; 0: no lane
    after: str = ""  # a job that has to end well before
    limit_min: int = 0


class Engine(ABC):
    """The engine that starts the jobs of a sweep."""

    def __init__(self, sweep: Sweep) -> None:
        self.sweep = sweep

    @abstractmethod
    def hosts(self, names: Sequence[str]) -> Mapping[str, Host]:
        """Return the facts about each host. Raises Unavailable."""

    @abstractmethod
    def jobs(self) -> Mapping[str, Job]:
        """Return the newest known job of each host that has one. Raises Unavailable."""

    @abstractmethod
    def submit(self, submissions: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        """Start jobs in this order, never two per host. Return (host → job, host → reason without a job)."""

    def find_ended(self, jobs: Mapping[str, str]) -> Mapping[str, Job]:  # noqa: ARG002
        """Return the end of each job (host → id) that is no longer in `jobs`, if there are records."""
        return {}

    def cancel(self, jobs: Iterable[Job]) -> None:  # noqa: B027
        """End jobs. The default is that no job waits."""

    def fetch(self, hosts: Sequence[str]) -> None:  # noqa: B027
        """Copy results and logs from hosts that cannot write into the folder. The default is that all hosts can."""
