"""One module per tool: its options, its command line, its version, what it would write, how long it takes.

A tool's module holds `TOOL`, an instance of a subclass of `Tool`, and is found by its name. It is pure: a Site has
all that it must know about the machine. The parser of the same name (package `parsers`) reads what the tool prints.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from orchestrator.machine.topology import Topology
from orchestrator.model import Cell, Place, Placement, ScratchFile, Write
from orchestrator.placement.place import Threads
from parsers import extensions
from parsers.errors import UserError
from parsers.units import LARGEST_SIZE, size_bytes

if TYPE_CHECKING:
    from parsers.measurement import Parsed, Scalar

Kind = Literal["int", "float", "size", "seconds", "word", "flag", "text", "mapping"]

_KINDS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "int": ((int,), "not a whole number"),
    "float": ((int, float), "not a number"),
    "seconds": ((int, float), "not a number"),
    "text": ((str, int, float), "not a text"),
    "mapping": ((Mapping,), "not a mapping"),
}
"""Kind of an option → the types that a value may have, and what a value of another type is."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a tool, under the tool's own name.

    `inner`: a list is not an axis but one process that sweeps it by itself (MLC's delays, IMB's message sizes).
    """

    kind: Kind
    help: str
    _: KW_ONLY
    choices: tuple[str, ...] = ()  # of a word
    suffix: str = ""  # a pattern of what may follow such a word (rw: read:8k)
    low: float | None = None
    high: float | None = None
    inner: bool = False
    required: bool = False
    examples: tuple[Any, ...] = ()  # as an experiment writes it, where the kind does not tell
    fields: Mapping[str, Option] = field(default_factory=dict)  # keys of the mappings that a mapping holds

    def problem(self, value: Any) -> str | None:  # noqa: ANN401 (whatever YAML holds)
        """Return what is wrong with one resolved value, or None."""
        if self.kind == "flag":
            return (
                None if isinstance(value, bool) or value in (0, 1) else f"{value!r} is neither true nor false"
            )
        if self.kind == "word":
            word = re.sub(f"(?:{self.suffix})\\Z", "", str(value))
            return (
                f"{value!r} is not one of {', '.join(self.choices)}"
                if self.choices and word not in self.choices
                else None
            )
        if self.kind == "size":
            try:
                value = size_bytes(str(value))
            except ValueError:
                return f"{value!r} is not a size (4096, 4k, 1M, 10MB)"
        else:
            types, what = _KINDS[self.kind]
            if not isinstance(value, types) or (isinstance(value, bool) and self.kind != "text"):
                return f"{value!r} is {what}"
            if self.kind in ("text", "mapping"):
                return None
        if not -LARGEST_SIZE <= value <= LARGEST_SIZE:
            return f"{value!r:.20} is too large a number"
        if self.low is not None and value < self.low:
            return f"{value} is less than {self.low:g}"
        if self.high is not None and value > self.high:
            return f"{value} is more than {self.high:g}"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """An executable that was found: what will run, and everything that says which one it was."""

    name: str  # "fio", "mlc", "stream", "IMB-MPI1", "memlat"
    path: str
    version: str = ""
    sha256: str = ""
    stand_in: bool = False  # one of our kernels in the place of a tool that is not here
    env: Mapping[str, str] = field(default_factory=dict)  # what it needs to start (LD_LIBRARY_PATH)
    helpers: Mapping[str, str] = field(default_factory=dict)
    """What else makes its numbers, by name: {"mpirun": path, "libmpi.so.12": path}."""
    notes: Mapping[str, str] = field(default_factory=dict)  # {"mpi": "Intel MPI 2021.18"}, {"cmdhelp": "…"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What a program needs beside its path, and what is worth recording of it: fields of its `Program`."""

    env: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """How a tool finds out about its program: `run` returns what a command prints, `setting` what the user has set."""

    run: Callable[[tuple[str, ...]], str]
    setting: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything a tool may know about where its command will run; the same for all tools of a plan."""

    topology: Topology
    numactl: str  # path; empty where numactl is absent and no placement can be given
    unpinned: bool = False  # as the user asked: no cell gets a placement, and each is called so
    scratch: str  # folder that pinsweep makes, owns and removes
    root: bool = False
    allow_write: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The devices that the user named on the command line: real path → identity (`Write.identity`)."""
    path_kind: Callable[[str], str] = lambda _: "missing"
    """Tells what a path is: missing, file, directory, block, char or other."""
    real_path: Callable[[str], str] = lambda path: path
    """Follows symbolic links: /dev/disk/by-id/… is a device too."""
    memory_refusal: Callable[[], str] = lambda: ""
    """Returns why memory cannot be bound here, in numactl's words; "" if it can."""
    find: Callable[..., str] = lambda name, path=None: name  # noqa: ARG005
    """Finds a program by its name or path, on a PATH of its own if given: "" where there is none that can be
    started."""
    memory_bytes: int | None = None  # available now; None: planned for another machine
    node_memory: Mapping[int, int] = field(
        default_factory=dict
    )  # the same by NUMA node, as far as it is known

    def memory_for(self, placement: Placement | None) -> int | None:
        """Return the bytes that a run may have: of the nodes that its memory is bound to, and of no others. None:
        not known."""
        sizes = {n.os_index: n.memory_bytes for n in self.topology.numa_nodes if n.memory_bytes is not None}
        known = self.node_memory or sizes
        memory = self.topology.numbers().get("memory")
        everything = memory if self.memory_bytes is None else self.memory_bytes
        groups = placement.groups if placement else ()
        bound = {node for group in groups for node in group.membind or group.interleave}
        if not bound or not bound <= known.keys():
            return everything
        own = [known[node] for node in bound]
        spread = any(group.interleave for group in groups)
        room = min(own) * len(own) if spread else sum(own)
        return room if everything is None else min(room, everything)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What a tool asks to be started."""

    argv: tuple[str, ...]
    estimate_s: float  # wall time, start to exit
    at_most_s: float = 0.0  # the same on slow hardware, where that is much more: its timeout goes by it
    guessed: bool = False  # nobody said how long it takes
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""  # the folder to start in; "": where pinsweep was started
    files: Mapping[str, str] = field(default_factory=dict)  # see PlannedRun
    scratch: tuple[ScratchFile, ...] = ()
    writes: tuple[Write, ...] = ()
    reads: tuple[str, ...] = ()  # see PlannedRun
    notes: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()  # see PlannedRun


class Refused(Exception):
    """This machine or this user cannot run the cell: it is skipped with the reason, or an error under --strict."""


Problem = tuple[str, str] | tuple[str, str, str]
"""An option, what is wrong with it, and what to write instead."""


class Tool(ABC):
    """A tool, with what holds of most tools. A subclass defines `command`, and what is different."""

    PROGRAMS: tuple[str, ...] = ()
    """Names to look for on PATH, the preferred first."""

    KERNEL = ""
    """The kernel of ours that does the work: alone if PROGRAMS is empty, else where none of them is found."""

    SIGNATURE = b""
    """What the executable holds if it is the tool: other programs bear these names too (ImageMagick has a `stream`)."""

    FATAL: tuple[str, ...] = ()
    """Flags of the parser that make an output no result."""

    INSTALL = ""
    """One line: how to get the tool where it is missing."""

    STARTER = ""
    """A sweep, in YAML, that `pinsweep init` begins with; else the options that are required."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {}
    """Every option an experiment may set."""

    OPEN = False
    """Whether any other option is an axis of the user's own."""

    MEMORY_BOUND = False
    """Whether its figures are of what others on the same memory nodes use up: a busy neighbour then disturbs it."""

    @abstractmethod
    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
        """Return the command line. Raises Refused where it cannot be given on this site."""

    def options(self) -> Mapping[str, Option]:
        """Return every option an experiment may set."""
        return self.OPTIONS

    def problems(self, options: Mapping[str, Any]) -> Sequence[Problem]:  # noqa: ARG002
        """Return the mistakes that only the options together show. Each alone is checked by its Option."""
        return ()

    def shape(self, options: Mapping[str, Any]) -> tuple[Threads, int]:  # noqa: ARG002
        """Return (threads per process, processes) that the placement must hold. Threads: None for any number,
        "cores" for one per core."""
        return None, 1

    def default_place(self, options: Mapping[str, Any]) -> Place | None:  # noqa: ARG002
        """Return where a cell runs that names no place; None where the tool places itself or nothing is to be
        pinned."""
        return Place(name="all", cpus="all", memory="any")

    def busy_threads(self, options: Mapping[str, Any]) -> int:  # noqa: ARG002
        """Return how many threads compute from start to end, waiting for nothing; 0: it may wait."""
        return 0

    def version_argv(self, path: str) -> tuple[str, ...]:
        """Return the command that prints the version; empty where nothing is to be started for it."""
        return (path, "--version")

    def version(self, text: str) -> str:  # noqa: ARG002
        """Return the version in what `version_argv` printed, or in the texts of the executable; "" without one."""
        return ""

    def probe(self, path: str, ask: Ask) -> Probed | str:  # noqa: ARG002
        """Return what else is to be known of the program at `path`, or why it cannot be started. Touches the
        machine."""
        return Probed()

    def library_env(self, path: str) -> Mapping[str, str]:  # noqa: ARG002
        """Return the environment in which the program at `path` finds the libraries that were installed with it."""
        return {}

    def complaint(self, parsed: Parsed, cell: Cell) -> str:  # noqa: ARG002
        """Return why an output without a fatal flag is still not what was asked for, or ""."""
        return ""

    def captured_options(self, given: Mapping[str, Scalar], parsed: Parsed) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the options of a captured run as an experiment writes them; `given`: what its text tells by itself."""
        return given

    def default_options(self, given: Mapping[str, Any], parsed: Parsed) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the options of a captured run that its command line leaves to the tool, with the tool's own values."""
        return {}

    def implied_options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the options that a cell leaves to the tool, where the tool takes other values for one cell than for
        another."""
        return {}

    def canonical(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options in one spelling (4k and 4096 are equal), without those that change nothing. For comparing
        only."""
        return options

    def canonical_command(self, words: Sequence[str]) -> Sequence[str]:
        """Return a command line with its options in one order. For comparing only."""
        return words


@functools.cache
def tool_names() -> tuple[str, ...]:
    """Return the names of all tools, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


@functools.cache
def get_tool(name: str) -> Tool:
    """Return the tool of that name. Raises UserError if there is none."""
    if name not in tool_names():
        raise UserError(name, "no tool of that name", extensions.why_not(name) or tools_known())
    tool: Tool = importlib.import_module(f"{__name__}.{name}").TOOL
    return tool


def tools_known() -> str:
    """Return which tools there are, for a hint."""
    return f"tools: {', '.join(tool_names())}; {extensions.OTHERS}"
