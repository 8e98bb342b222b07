"""What a page is made of: sections of figures, what to know before reading them, the runs behind them. Plain values; the templates place them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from reports import document
from reports.draw.figure import Figure
from reports.results.model import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumber:
    """A number of the page's header: what, how much, of which unit, and in which circumstances."""

    name: str
    value: str
    unit: str
    context: str
    rank: float  # the six lowest are shown
    repeats: str = ""  # "147 to 450 ns": lowest and highest repeat, where they are apart
    apart: float = 0.0  # its highest repeat less its lowest, of the value
    spread: str = ""  # "±1.2 % (n = 3)": half of that range, of the value; of a single run that none is known
    unsteady: bool = False  # so far apart that the value alone says little
    program: str = ""  # what made it, where a tool and its stand-in may both have
    better: str = ""  # "lower", "higher", where sweeps of one name may say either
    merit: float = 0.0  # of numbers of one name, program and direction, the one with the most is shown
    runs: tuple[Run, ...] = ()  # of its cell: what a check says of them is said of it
    beside: tuple[Run, ...] = ()  # of another cell that its context tells of, too
    below: tuple[Run, ...] = ()  # of lower ones of another name, of which it is the best, too
    metric: str = ""  # which of its cell's numbers it is; "": several
    told: str = ""  # what in its context is of another of them: "median 271 ns"
    told_metric: str = ""  # "latency/p50"
    told_doubt: str = ""  # the checks that doubt that, and not the number
    doubt: str = ""  # the checks that found an error, or a warning, in its cell: "F1, F7"
    moves: float = 0.0  # B/s that go with it, where it is no rate of bytes itself
    possible: str = ""  # its share of what the parts could do
    lacks: str = ""  # what to do to know that, in a sentence
    alone: str | None = None  # its context without what that holds it against
    # of accesses that no cache may have held, of a tool that measures other places, too
    of_memory: bool = False

    def without_runs(self) -> KeyNumber:
        """Return the number as it is read."""
        return replace(self, runs=(), beside=(), below=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The figures of one tool inside a section, and the template that places them."""

    tool: str
    figures: tuple[Figure, ...] = ()
    drawn: tuple[document.Figure, ...] = ()  # of a tool that declares its charts


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page under a heading. One that places more than figures is a class of its own."""

    title: str
    anchor: str
    lead: tuple[str, ...] = ()  # paragraphs below the heading
    opening: bool = False  # it answers at a glance, and stands before what else there is to know
    blocks: tuple[Block, ...] = ()
    # the checks that doubt rows of its table of verdicts, below which they stand
    doubted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Something to know before reading a chart: how much it weighs, what it is about, what is said of it."""

    level: str  # "error" | "warn" | "info" | "ok"
    subject: str  # what was found, in a sentence
    text: str
    id: str = ""  # of the audit's check
    explained: str = ""  # what that check looks for
    items: tuple[str, ...] = ()  # the cells or runs that it is about, the first of them
    counted: str = ""  # "13 cells", "13 cells, the first 12": how many there are
    number: int = 0  # of them


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run in the table of all runs; where there are very many, the first of those of a cell that ended alike."""

    number: int
    file: str
    host: str
    sweep: str
    cell: str
    repeat: str
    status: str
    reason: str
    duration: str
    command: str
    environment: str
    asked: str
    seen: str
    stdout: str
    stderr: str
    alike: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A NUMA node's picture: squares by colour, frames of last-level caches and the bar of its memory (empty: not bound) as path
    data, and the numbers of its PUs."""

    name: str  # "node 0"; "" where there is one node only
    width: int
    height: int
    squares: tuple[tuple[str, str], ...]  # colour, path
    # x of the middle, y of the foot, PU, colour ("": the page's)
    numbers: tuple[tuple[int, int, str, str], ...]
    frames: str
    memory: str
    used: int  # PUs that have a colour
    said: str  # for assistive technology: "node 0: 4 of 8 PUs, memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One placement: its name, what ran there, and the machine's packages with their nodes."""

    name: str
    programs: str
    packages: tuple[tuple[Node, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level of caches: "L2", "8 × 2 MiB", and the time of one access to what fits in it, where it was measured."""

    name: str
    size: str
    number: KeyNumber | None = None
    told: str = ""  # in which circumstances it was timed, but for those that hold of all levels

    def without_runs(self) -> Level:
        return replace(self, number=self.number and self.number.without_runs())


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a machine, with what was measured on it and the parts that it is made of."""

    name: str  # "Package 0", "node 1", "node 0 → memory of node 1", "nvme0n1"
    detail: str = ""  # "CPUs 0-15"
    squares: Node | None = None
    levels: tuple[Level, ...] = ()
    numbers: tuple[KeyNumber, ...] = ()
    memory: Part | None = None
    parts: tuple[Part, ...] = ()
    disks: tuple[Part, ...] = ()  # that hang at it
    instead: str = ""  # what is said where it has no number: "not measured"

    def without_runs(self) -> Part:
        return replace(
            self,
            levels=tuple(level.without_runs() for level in self.levels),
            numbers=tuple(number.without_runs() for number in self.numbers),
            memory=self.memory and self.memory.without_runs(),
            parts=tuple(part.without_runs() for part in self.parts),
            disks=tuple(disk.without_runs() for disk in self.disks),
        )

    @property
    def measured(self) -> bool:
        """Has it a number, or any of its parts?"""
        parts = (*self.parts, *filter(None, [self.memory]))
        return (
            bool(self.numbers) or any(level.number for level in self.levels) or any(p.measured for p in parts)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Arc:
    """A link between two nodes: its path and width, and the lines of words about its middle, each with its y, on a piece of paper."""

    path: str
    width: float
    x: float
    paper: str
    lines: tuple[tuple[float, str], ...]  # (): not measured
    rated: bool  # has its width a bandwidth behind it?
    said: str  # for assistive technology


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """A picture of the links of a machine: its nodes by their x and names, and the arcs, those in front last."""

    width: int
    height: int
    nodes: tuple[tuple[float, str], ...]
    arcs: tuple[Arc, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A machine with what was measured on it."""

    host: str
    machine: str  # "2 packages, 4 NUMA nodes, 64 cores, 128 PUs"
    numbers: tuple[KeyNumber, ...]  # of all of it
    levels: tuple[Level, ...]
    loose: bool = False  # is a number of runs that were not placed?
    timed: str = ""  # in which circumstances all times of caches were taken, in a sentence
    picked: str = ""  # which of several a number is that is not the best, in a sentence
    packages: tuple[Part, ...]  # and memory without CPUs
    links: tuple[Part, ...]  # between nodes
    between: tuple[Links, ...] = ()  # the same as a picture, for a wide page and for a narrow one
    classes: tuple[Part, ...] = ()  # the same of many nodes: the ranges of what is equally far
    lacking: str = ""  # what to do to know the shares of its numbers, in a sentence
    folded: bool  # are the links too many to be seen at once?
    disks: tuple[Part, ...]  # of which no node is known
    matrix: str = ""  # the figure that has all links, where no picture has them

    def without_runs(self) -> Drawing:
        packages, links, classes, disks = (
            tuple(part.without_runs() for part in parts)
            for parts in (self.packages, self.links, self.classes, self.disks)
        )
        return replace(
            self,
            levels=tuple(level.without_runs() for level in self.levels),
            numbers=tuple(number.without_runs() for number in self.numbers),
            packages=packages, links=links, classes=classes, disks=disks,
        )  # fmt: skip

    @property
    def measured(self) -> bool:
        """Does a number stand on it?"""
        parts = (*self.packages, *self.links, *self.disks)
        return (
            bool(self.numbers) or any(level.number for level in self.levels) or any(p.measured for p in parts)
        )

    @property
    def squared(self) -> list[Node]:
        """The squares of its PUs; none where the topology is not known."""
        return [part.squares for top in self.packages for part in (top, *top.parts) if part.squares]

    @property
    def framed(self) -> bool:
        """Has a last-level cache a frame?"""
        return any(squares.frames for squares in self.squared)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlaces:
    host: str
    machine: str  # "2 packages, 4 NUMA nodes, 64 cores, 128 PUs"
    places: tuple[Placed, ...]
    left_out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs(Section):
    """The table of all runs."""

    title: str = "All runs"
    anchor: str = "runs"
    rows: tuple[RunRow, ...]
    started: int  # runs in all
    by_cell: bool = False  # a row is of several runs of a cell
    several_hosts: bool
    several_files: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements(Section):
    """Where the runs ran, a host after the other."""

    title: str = "Placement"
    anchor: str = "placement"
    hosts: tuple[HostPlaces, ...]

    @property
    def framed(self) -> bool:
        """Has a last-level cache a frame?"""
        places = (place for host in self.hosts for place in host.places)
        return any(node.frames for place in places for package in place.packages for node in package)


_UNSTEADY: Final = "Unsteady: the repeats span more than 25 % of their median, whatever is usual."
_DOUBTFUL: Final = "⚠ doubtful: a check says why the number may be wrong{}."
_G11: Final = "; G11 says it of repeats further apart than is usual for their tool and number"
_TABLES: Final = "In a table, a ⚠ before a number doubts that number; one in the last column alone doubts all numbers of its row{}."
_OF_ALL: Final = ", besides what is said of all numbers at the top"
"""What stands at key numbers and figures, and its rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: what each has, and the sections that not every page has."""

    title: str
    sentence: str
    key_numbers: tuple[KeyNumber, ...]
    picked: str = ""  # by which rule these stand there, and not others, in a sentence
    provenance: tuple[tuple[str, str], ...]
    not_recorded: tuple[str, ...] = ()
    checks: tuple[Check, ...]
    all_doubted: bool = False  # does its sentence tell what doubts all numbers? They have no mark of it
    sections: tuple[Section, ...]
    machines: tuple[Drawing, ...] = ()
    placement: Placements | None = None
    about: str = ""
    methods: tuple[str, ...]
    runs: Runs | None = None
    version: str
    several_files: bool

    @property
    def marks(self) -> str:
        """What the words mean that stand at its key numbers, verdicts and figures, and what these lack, once for all; "" where there is neither."""
        figures = (f for section in self.sections for block in section.blocks for f in block.figures)
        drawn = [f.doubt for f in figures if f.doubt]
        doubts = [
            *drawn,
            *(doubt for k in self.key_numbers for doubt in (k.doubt, k.told_doubt) if doubt),
        ]
        by_repeats = any("G11" in doubt for doubt in doubts)
        said = [
            self.picked,
            _UNSTEADY if any(k.unsteady for k in self.key_numbers) else "",
            _DOUBTFUL.format(_G11 if by_repeats else "") if doubts else "",
            _TABLES.format(_OF_ALL if self.all_doubted else "") if drawn else "",
        ]
        return " ".join(filter(None, [*said, *dict.fromkeys(k.lacks for k in self.key_numbers)]))

    @property
    def opening(self) -> tuple[Section, ...]:
        """The sections that stand before its key numbers."""
        return tuple(section for section in self.sections if section.opening)
