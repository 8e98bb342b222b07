"""What one tool puts on a page, and what the module of its charts provides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from reports import document
from reports.draw.figure import Figure
from reports.numbers.formulas import Spread
from reports.page.model import KeyNumber
from reports.results.model import Results, Run

STORAGE: Final = "storage"
"""What stands for the disk, where several are behind one number or nothing tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessTime:
    """A row of the latency overview: the time of one access (ns)."""

    name: str
    group: str  # what it is coloured by: "memory", "message passing", "storage"
    median: float  # over the repeats
    run: Run  # one of its cell
    p999: float | None = None
    source: str = ""
    repeats: Spread | None = None  # of the median, over the repeats (ns)
    step: float | None = None  # ns: the last digit that its program prints, as `fmt.number` takes it
    bound: bool = False  # more than half of it is the timer: the access itself takes less
    plain: bool = True  # a load of one cache line: what a cache takes to answer
    statistic: str = "mean"  # of the accesses of a run: "median", "mean" where its tool tells no more, "median of blocks" of many accesses each
    # that its name is made of, where that is of several: what was timed, of what, …
    words: tuple[str, ...] = ()
    drawn: bool = False  # is it in a figure of its own tool, too?
    size: float | None = None  # of memory: the bytes that are accessed; None where nothing tells
    # which of its cell's numbers it is, as `Name.tells_of`; "": any doubt of the cell is one of it
    metric: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A number of one part of the machine: that where its run was placed, or the one that is said here."""

    number: KeyNumber
    source: int | None = None  # the NUMA node whose CPUs ask, `target`: whose memory answers
    target: int | None = None
    both_ways: bool = False  # neither asks the other: a message, or a line between their caches
    device: str = ""  # the disk behind its files, as the kernel calls it
    figure: str = ""  # that has it in a matrix of all nodes: its id


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """What one tool puts on the page."""

    tool: str
    figures: tuple[Figure, ...] = ()
    drawn: tuple[document.Figure, ...] = ()  # of a tool that declares its charts
    # of each cell that has one: the page shows the best of a name and program
    key_numbers: tuple[KeyNumber, ...] = ()
    access_times: tuple[AccessTime, ...] = ()
    between_nodes: tuple[Spot, ...] = ()  # of one run that measured several nodes
    devices: Mapping[Run, str] = field(default_factory=dict)  # what the I/Os of a run went to: "nvme0n1"
    programs: tuple[str, ...] = ()  # every program that made numbers, by the name that the page gives it

    @property
    def on_machine(self) -> tuple[Spot, ...]:
        """The key numbers, each where its runs were placed or on the disk that they are of, and the numbers between nodes, in place of those
        that are of all nodes together."""
        told = {(spot.number.name, run) for spot in self.between_nodes for run in spot.number.runs}
        own = (n for n in self.key_numbers if not told.issuperset((n.name, run) for run in n.runs))
        return (*(Spot(number=n, device=self.device_of(n)) for n in own), *self.between_nodes)

    def device_of(self, number: KeyNumber) -> str:
        """Return the disk that all I/Os behind a number went to; "" of what is no storage."""
        found = {self.devices.get(run, "") for run in number.runs}
        return found.pop() if len(found) == 1 else STORAGE if found else ""


class ChartModule(Protocol):
    """What a module of `reports.charts` provides; it has the name of its tool. Everything that a page or a terminal says of
    one tool is here, so that a new tool is a new module and no list to edit."""

    SECTION: str
    """The section of the page that it belongs to, as its heading says it: "Memory", "MPI", "Storage", "Latency tails"."""

    RANK: int
    """Its place on the page, lowest first; a section stands where the first of its tools does."""

    METHODS: str
    """A paragraph of the page's Methods: what its numbers count and how the derived ones are made; "" without one."""

    METHODS_OF: str
    """How the ids begin of the figures that it explains: without one of them it is left out. A module may lack it: of all its figures."""

    def chapter(self, results: Results, tool: str) -> Chapter:
        """Draw the good runs of the tool (`tool`: its own name, or that of a tool without a module)."""
        ...
