"""Define the types that all parts of the orchestrator share, in data-flow order.

    Experiment ─expand→ Cell ─place→ Placement ─plan→ PlannedRun ─execute→ Outcome ─judge→ RunRecord

All types are frozen values. The only methods return a text form. CPU and NUMA node numbers are the numbers of the
operating system. Only selectors use logical indexes.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, NamedTuple

Value = Any
"""The value of an option after expansion: text, number, truth value, or a tuple (an inner axis, which one process
sweeps).

The tool `command` also has mappings (`metrics`).
"""

Order = Literal["interleaved", "listed"]

AS_NEW = "as-new"
"""The option of a cell from --as-new: the difference from the stored cell, as text.

No tool gets this option, and no experiment can set it.
"""

UNRECORDED_HOST = "an unrecorded host"
"""The host of sessions with imported texts."""

MOST_REPEATS = 1_000
"""The most repeats of a cell that an experiment may ask for."""

LONGEST_S = 100 * 24 * 3600
"""The longest time that an experiment may ask for."""

STATUSES = ("ok", "failed", "timeout", "interrupted", "disturbed", "misplaced")
Status = Literal["ok", "failed", "timeout", "interrupted", "disturbed", "misplaced"]


ONE_CELL = "(one cell)"
"""The name of the only cell of a sweep without axes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A position in an experiment file. Line and column count from 1."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The requested place of a cell, as text. `orchestrator.placement.place` turns it into a Placement.

    `cpus` and `memory` are selectors (docs/selectors.md). Tables and charts show the axis value `name`. The default
    name is the text of the selectors.
    """

    name: str
    cpus: str = "all"
    memory: str = "local"
    spread: Literal["compact", "spread"] = "compact"


UNPINNED = Place(name="unpinned", cpus="unpinned", memory="unpinned")
"""The place of a cell that was measured without a place (`--unpinned`).

A separate place, so that no label, chart or comparison confuses it with a pinned place. No selector has these words, so
no experiment can use the name.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One matrix of one tool, as written. Axis values are the texts of the file (`1..cores_per_numa_node`)."""

    name: str
    title: str
    tool: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    matrix: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    zip: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    include: tuple[Mapping[str, Any], ...] = ()
    exclude: tuple[Mapping[str, Any], ...] = ()
    repeats: int = 3
    settle: bool = False  # `repeats: auto`: cells that have not settled get more rounds
    order: Order = "interleaved"
    timeout_s: float | None = None  # None: the tool's estimate decides
    requires: Mapping[str, Any] = field(default_factory=dict)
    marks: Mapping[str, Mark] = field(default_factory=dict)  # "matrix.iodepth" → its position


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A file with one or several sweeps, and its text."""

    title: str
    path: str
    text: str
    sweeps: tuple[Sweep, ...]
    about: str = ""  # the comment block at the head of the file

    @property
    def name(self) -> str:
        """The file's name without folder and suffix: `experiments/fio-iodepth.yaml` is `fio-iodepth`."""
        return self.path.rsplit("/", 1)[-1].rsplit(".", 1)[0] or "experiment"


@dataclass(frozen=True, kw_only=True)  # no slots: `point_id` is read often and cached
class Cell:
    """One cell: every option resolved to a number or a word, the place still in words."""

    sweep: str
    tool: str
    options: Mapping[str, Value]
    place: Place | None = None
    # the options that vary over the sweep, in the file's order ("place" among them)
    axes: tuple[str, ...] = ()
    apart: Mapping[str, Value] = field(default_factory=dict)
    """Differences from other cells of its sweep that `reports.results.cells` adds, without options:
    "metrics.rate.unit". Not in the identity.
    """

    def canonical(self) -> dict[str, Any]:
        """Return what makes this cell this cell, ready for JSON: the same on every machine and in every session."""
        place = {f.name: getattr(self.place, f.name) for f in fields(self.place)} if self.place else None
        return {"sweep": self.sweep, "tool": self.tool, "options": dict(self.options), "place": place}

    @functools.cached_property
    def point_id(self) -> str:
        return hashlib.sha256(canonical_json(self.canonical()).encode()).hexdigest()[:16]

    def labels(self) -> dict[str, Any]:
        """Return the axis values of this cell in order. They identify the cell in its sweep.

        A list or mapping that is one value becomes text: "1k,4k", "A=1,B=2".
        """
        return {axis: listed(value) if isinstance(value, (tuple, Mapping)) else value for axis, value in self._axes()}

    @property
    def swept(self) -> tuple[str, ...]:
        """Return the axes of the experiment, without labels that only distinguish cells of an edited text."""
        return tuple(axis for axis in self.axes if axis not in self.apart)

    def describe(self) -> str:
        """Return `iodepth=4 bs=4k place=local`, one line for people."""
        text = " ".join(f"{k}={_short(v)}" for k, v in self._axes()) or ONE_CELL
        return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)

    def _axes(self) -> list[tuple[str, Any]]:
        values = {**self.options, "place": self.place.name if self.place else None, **self.apart}
        return [(axis, values[axis]) for axis in self.axes if values.get(axis) is not None]


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def canonical_json(value: Any) -> str:  # noqa: ANN401
    """Return the text that is the same for the same value."""
    return _CANONICAL.encode(value)


def _short(value: Value) -> str:
    if isinstance(value, tuple):
        return f"{value[0]}..{value[-1]}" if len(value) > 3 else listed(value)
    return listed(value) if isinstance(value, Mapping) else str(value)


def listed(value: tuple[Any, ...] | Mapping[str, Any]) -> str:
    """Return a list or mapping that is one value as a text: "1k,4k", "A=1,B=2"."""
    words = (f"{name}={of}" for name, of in value.items()) if isinstance(value, Mapping) else map(str, value)
    return ",".join(words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The PUs of one process (an MPI rank, or the whole tool), in thread order."""

    cpus: tuple[int, ...]  # never empty
    membind: tuple[int, ...] = ()  # NUMA nodes; empty: no memory policy, the kernel's first touch
    interleave: tuple[int, ...] = ()  # NUMA nodes; excludes membind


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The exact CPUs and memory of a run. There is one group per started process.

    `relation` describes the place in words that are comparable between machines: "local", "remote", "smt siblings",
    "same cache", "same package", "other package", "interleave", "all".
    """

    name: str
    groups: tuple[Group, ...]
    relation: str = ""

    @property
    def cpus(self) -> tuple[int, ...]:
        """Every PU of the run, sorted."""
        return tuple(sorted({cpu for group in self.groups for cpu in group.cpus}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A file or device that a run will write to, in addition to its output."""

    path: str
    kind: Literal["scratch", "device"]  # a file pinsweep makes and removes; a device that the user named
    size_bytes: int = 0
    unit_bytes: int = 0  # bytes per write to a scratch file; 0: only read
    spoils: bool = False  # the run leaves compressible bytes in the scratch file
    identity: Mapping[str, str] = field(default_factory=dict)
    """The device when the user allowed the write (`devices.identity`). The node may lead to another device later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScratchFile:
    """A file or folder that the scratch folder must contain before the run starts. pinsweep makes and removes it.

    There are three kinds. The first is a file with `size_bytes` of incompressible data. The second is a file with
    `text`, input for the tool such as a delay file. The third is an empty `folder` for at most `size_bytes` of the
    tool's files.
    """

    path: str
    size_bytes: int = 0
    text: str | None = None
    folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """One process to start, exact and printable. `plan` prints the command and `run` starts the same command."""

    sweep: str
    tool: str
    cell: Cell
    repeat: int  # counts from 1
    argv: tuple[str, ...]
    env: Mapping[str, str]  # added to the inherited environment, with LC_ALL=C
    placement: Placement | None
    timeout_s: float
    nominal_s: float  # wall time of the process, by the tool's own reckoning
    estimate_s: float  # the nominal time, corrected by earlier runs
    # time limit of a cell without earlier runs and without an estimate; otherwise 0
    guessed_at_most_s: float = 0.0
    program: str  # name of the program in Session.programs
    files: Mapping[str, str] = field(default_factory=dict)
    """Other programs that affect its numbers, by name: the launcher and library of an MPI, the program of a command."""
    cwd: str = ""  # the folder it starts in; "": where pinsweep was started
    scratch: tuple[ScratchFile, ...] = ()
    writes: tuple[Write, ...] = ()
    reads: tuple[str, ...] = ()  # files and devices of the user's that it measures by reading
    notes: tuple[str, ...] = ()  # notes for readers of the plan: "a built-in kernel prints MLC's format"
    warm_up: bool = False  # before all others, and in no number; its repeat is 0
    logs: tuple[str, ...] = ()
    """Patterns of files in the scratch folder that are stored with the output
    (`orchestrator.run.execute.collect_logs`).
    """

    @property
    def key(self) -> tuple[str, int]:
        return self.cell.point_id, self.repeat


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A cell that this machine cannot host, and why."""

    sweep: str
    cell: Mapping[str, Any]  # the labels
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """A cell that is equal to another cell on this machine, because both places have the same PUs and memory."""

    sweep: str
    cell: Mapping[str, Any]  # the labels
    of: Mapping[str, Any]  # the labels of the cell that is measured

    @classmethod
    def between(cls, cell: Cell, of: Cell) -> Alias:
        """Return the difference between the labels of the two cells.

        If the labels are equal, return the difference between the places too.
        """
        labels, others = cell.labels(), of.labels()
        if (cell.place is None) != (of.place is None):
            named = [p.place.name if p.place else "none named" for p in (cell, of)]
            labels, others = {**labels, "place": named[0]}, {**others, "place": named[1]}
        elif labels == others and cell.place and of.place:
            words, known = asdict(cell.place), asdict(of.place)
            differing = [name for name, word in words.items() if word != known[name]]
            labels = {**labels, **{f"place.{name}": words[name] for name in differing}}
            others = {**others, **{f"place.{name}": known[name] for name in differing}}
        return cls(sweep=cell.sweep, cell=labels, of=others)

    @property
    def reason(self) -> str:
        others = {k: v for k, v in self.of.items() if self.cell.get(k) != v}
        named = " ".join(f"{k}={v}" for k, v in (others or self.of).items())
        if any(name.partition(".")[0] not in ("place", AS_NEW) for name in others):
            return f"another way to write {named}: one cell, measured under that name"
        return f"the same CPUs and memory here as {named}: one cell, measured under that name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The actions of `run`: the runs in start order, and the skipped cells."""

    runs: tuple[PlannedRun, ...]
    cells: tuple[Cell, ...]  # the cells of the runs, in the files' order
    skipped: tuple[Skipped, ...]
    aliases: tuple[Alias, ...] = ()
    more: Mapping[str, int] = field(default_factory=dict)
    """Maximum number of further runs of cells with `repeats: auto`, by point_id."""
    warm_ups: tuple[PlannedRun, ...] = ()  # runs before the other runs
    left_out: tuple[Cell, ...] = ()  # possible cells that were not selected
    warnings: tuple[str, ...] = ()  # facts that the plan lacks, one sentence each
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a process ended. Times are seconds."""

    exit_code: int | None = None  # None: ended by a signal, or never started
    signal: int | None = None
    timed_out: bool = False
    stopped: bool = False  # on request, or with an `error` after a kill of pinsweep
    wall_s: float = 0.0
    span_s: float = 0.0  # until all that it had left behind had ended, too; 0: not known
    usage: Mapping[str, float] = field(default_factory=dict)
    stops: int = 0  # number of stops of its processes (SIGSTOP)
    stopped_s: float = 0.0
    stdout: bytes = b""
    stderr: bytes = b""
    logs: bytes = b""  # the log files that it left (`PlannedRun.logs`)
    error: str = ""  # why the process did not end normally: not started, or endless output
    unended: tuple[str, ...] = ()  # processes of it that could not be ended, in words

    @classmethod
    def not_started(cls, why: str) -> Outcome:
        return cls(error=why)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """The origin of an imported text, which no run of pinsweep printed."""

    file: str
    digest: str  # of the text and its reading options; each text is imported once
    reading: Mapping[str, Any] = field(default_factory=dict)  # another parser, the part that is this run's


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """The result of one planned run. Times are seconds. `started_utc` is ISO 8601."""

    run_id: int
    point_id: str
    repeat: int
    attempt: int  # counts from 1; failed attempts are stored too
    status: Status
    reason: str  # why it is not ok; empty if it is
    argv: tuple[str, ...]
    env: Mapping[str, str]
    placement: Placement | None  # asked
    seen: Mapping[str, Any] | None  # read from /proc while it ran
    program: str
    order_index: int
    started_utc: str
    wall_s: float
    exit_code: int | None
    signal: int | None
    usage: Mapping[str, float]  # rusage of the process and its children
    session: int
    capture: Capture | None = None  # None: pinsweep started it
    warm_up: bool = False  # kept, and in no number
    counters: Mapping[str, Any] = field(default_factory=dict)
    """The result of the machine's counters (`orchestrator.run.disturbance.stored`), or {} without counters."""


class Tried(NamedTuple):
    """The earlier attempts at one repeat of a cell."""

    attempts: int
    status: str  # ok if any attempt was, else that of the last one; "": never started
    disturbed: int = 0  # how many of the attempts were disturbed
