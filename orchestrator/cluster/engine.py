"""Who starts jobs on hosts: the little that `slurm` and `ssh` have in common; a third is one more such module."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from parsers.errors import PinsweepError

AT_ONCE: Final = "--at-once: the same command again, when there is room"
CANARY: Final = "behind the canary: the same command again, when it is done"
IN_TURN: Final = frozenset({AT_ONCE, CANARY})
"""Why a host got no job where nobody keeps a queue, and all is as it was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What is known of a host without starting anything there."""

    name: str
    problem: str = ""  # why it can have no job now: 'drained "bad DIMM"'; "": it can
    silent: bool = False  # it does not answer, so that its job may run
    kind: str = (
        ""  # sockets:cores:threads and what the site calls its processor; hosts of one kind take as long
    )
    idle: bool = True
    allowed_min: int = 0  # minutes that a job of the sweep may last there; 0: no bound, or not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The newest job of a host."""

    host: str
    id: str
    phase: Literal["waits", "runs", "over"]
    state: str  # the engine's own word: "CANCELLED"
    reason: str = ""  # why it waits, or ended
    hopeless: bool = False  # it waits for what will not come by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A job that is to be started."""

    host: str
    words: tuple[str, ...] = ()  # further options of `pinsweep run`
    lane: int = 0  # of each lane one job runs at a time; 0: no lane
    after: str = ""  # the job that has to end well before
    limit_min: int = 0


class Away(PinsweepError):
    """Who starts the jobs does not answer now."""


class Engine(Protocol):
    """`slurm.Slurm` or `ssh.Ssh`."""

    def hosts(self, names: Sequence[str]) -> Mapping[str, Host]:
        """Return what is known of each host. Raises Away."""
        ...

    def jobs(self) -> Mapping[str, Job]:
        """Return the newest job of each host that has one, as far as they are remembered. Raises Away."""
        ...

    def ended(self, jobs: Mapping[str, str]) -> Mapping[str, Job]:
        """Return how jobs (host → id) ended that `jobs` forgot, as far as that is recorded."""
        ...

    def submit(self, wanted: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        """Start jobs, in this order: (host → its job, host → why it got none). Never two for one host."""
        ...

    def cancel(self, jobs: Iterable[Job]) -> None:
        """End jobs."""
        ...

    def fetch(self, hosts: Sequence[str]) -> None:
        """Have what the hosts hold of results and logs in the folder, where they cannot put it there themselves."""
        ...
