"""Define the events that a sweep reports, in the order in which they occur."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.model import PlannedRun, RunRecord
from orchestrator.run.outcome import counts_as_done

if TYPE_CHECKING:
    from orchestrator.plan.prepare import Prepared
    from parsers.measurement import Parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Another pinsweep on PUs that this pinsweep needs.

    All fields except `user` and `shared` are claims of that process.
    """

    pid: str
    host: str  # in a container, its name there
    file: str
    since: str
    user: str
    shared: str  # the PUs that both need: "CPUs 0-3"

    def __str__(self) -> str:
        """Return "pid 4242 of ann on n07, since 2026-01-02 03:04 UTC, result file /data/ann/a.db"."""
        return f"pid {self.pid} of {self.user} on {self.host}, since {self.since}, result file {self.file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """This sweep waits for the CPUs (`holder`) or the scratch folder of another sweep.

    With neither, other sweeps are not visible.
    """

    holder: Holder | None = None
    scratch: Path | None = None

    def __str__(self) -> str:
        if self.scratch:
            return f"waiting  for another sweep that uses the scratch folder {self.scratch}"
        if self.holder:
            return f"waiting  for another sweep on {self.holder.shared}: {self.holder}"
        return "no shared lock folder: sweeps of other users on these CPUs are not visible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """`--tune` changed the machine or restored it."""

    text: str

    def __str__(self) -> str:
        return f"tune     {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Nothing more is waited for: the runs follow."""

    path: Path
    prepared: Prepared


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A run begins: `number` of `total` that are known to be started, over all rounds."""

    number: int  # 0 for a warm-up
    total: int
    run: PlannedRun
    left_s: float  # estimate for all runs that are still to do, this one included


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run has ended and is in the file."""

    number: int
    total: int
    run: PlannedRun
    record: RunRecord
    parsed: Parsed | None  # None: its output could not be read
    repeated: bool = False  # it was disturbed, and will be started again


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """Some cells with `repeats: auto` have not settled, and each gets another run."""

    cells: int


Event = Waiting | Tuned | Begun | Started | Ended | Unsettled
OnEvent = Callable[[Event], None]


@dataclass(slots=True, kw_only=True)
class Summary:
    """The result of one call."""

    counts: Counter[str] = field(default_factory=Counter)  # status → runs of this call, by their last attempt
    repeated: int = 0  # attempts that were disturbed, and that another attempt was to follow
    unrepeated: set[tuple[str, int]] = field(default_factory=set)  # runs with a further attempt to come
    shared: float = 0.0  # share of a run's time that others take all the time, if that is much
    allow_misplaced: bool = False
    done_before: int = 0
    disturbed_before: int = 0  # disturbed at every attempt, not started again
    failed_before: int = 0  # left as they are: no retry was requested
    walls: dict[str, list[float]] = field(default_factory=dict)  # point_id → wall seconds of its ok runs
    stopped: bool = False
    scratch_left: bool = False  # the scratch folder could not be removed

    @property
    def failed(self) -> int:
        bad = (s for s in self.counts if not counts_as_done(s, allow_misplaced=self.allow_misplaced))
        return sum(self.counts[status] for status in bad) + self.failed_before
