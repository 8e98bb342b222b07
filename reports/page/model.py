"""The parts of a page as plain values. The templates place the parts."""

from __future__ import annotations

from dataclasses import dataclass

from reports.document import Block, Fold, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumber:
    """A number of the page head or of a machine part, as the median over the repeats of a cell."""

    name: str
    value: str
    unit: str
    range: str = ""  # range of the repeats in the unit; "" for one repeat or equal repeats
    n: int = 1
    context: str = ""
    flags: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A check to read before the charts, with level, subject and text."""

    level: str  # "error" | "warn" | "info" | "ok"
    subject: str  # the finding, in a sentence
    text: str
    id: str = ""  # of the audit's check
    explained: str = ""  # the fault that the check detects
    cells: Fold | None = None  # those that it is about


@dataclass(frozen=True, slots=True, kw_only=True)
class Squares:
    """The PUs of a NUMA node: squares by colour as path data, with numbers if there is room."""

    width: int
    height: int
    paths: tuple[tuple[str, str], ...]  # colour, path
    numbers: tuple[tuple[int, int, str, bool], ...] = ()  # x, y, text, and whether the square is coloured
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a machine, with numbers and smaller parts."""

    name: str  # "package 0", "node 1", "nvme0n1"
    kind: str  # "package", "node", "link", "disk"
    detail: str = ""  # "CPUs 0-15"
    squares: Squares | None = None
    caches: tuple[tuple[str, KeyNumber | None], ...] = ()  # "L2 8 × 2 MiB", the time of an access
    numbers: tuple[KeyNumber, ...] = ()
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine with measured numbers. `numbers` belong to the whole machine."""

    host: str
    layout: str  # "2 packages, 4 NUMA nodes, 64 cores and 128 PUs"
    numbers: tuple[KeyNumber, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a page under a heading."""

    title: str
    anchor: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    title: str
    sentence: str
    care: str = ""  # the checks that flag most, in a sentence
    built_in: str = ""  # tools with built-in kernels, in a sentence
    key_numbers: tuple[KeyNumber, ...] = ()
    machines: tuple[Machine, ...] = ()
    provenance: tuple[tuple[str, str], ...] = ()
    not_recorded: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    sections: tuple[Section, ...] = ()
    about: str = ""  # the author's description of the experiment
    methods: tuple[str, ...] = ()
    runs: Table | None = None
    version: str = ""
    several_files: bool = False
