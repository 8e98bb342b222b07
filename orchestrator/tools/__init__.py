"""One module per tool: its options, its command line, its version, what it would write, how long it takes.

A tool module is pure: it gets all it must know about the machine in a Site, and its Program, and returns a Command. It is
found by its name; there is no list to edit. It provides what `ToolModule` names; the parser of the same name
(package `parsers`) reads what the tool prints.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from orchestrator.machine.topology import Topology
from orchestrator.model import Cell, Place, Placement, ScratchFile, Write
from orchestrator.placement.place import Threads
from parsers import extensions
from parsers.errors import UserError
from parsers.units import LARGEST_SIZE, size_bytes

if TYPE_CHECKING:
    from parsers.measurement import Parsed, Scalar

Kind = Literal["int", "float", "size", "seconds", "word", "flag", "text", "mapping"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a tool, under the tool's own name.

    `inner`: a list is not an axis but one process that sweeps it by itself (MLC's delays, IMB's message sizes).
    """

    kind: Kind
    help: str
    choices: tuple[str, ...] = ()  # of a word
    suffix: str = ""  # a pattern of what may follow such a word (rw: read:8k)
    low: float | None = None
    high: float | None = None
    inner: bool = False
    required: bool = False
    examples: tuple[Any, ...] = ()  # as an experiment writes it, where the kind does not tell
    fields: Mapping[str, Option] = field(
        default_factory=dict
    )  # of a mapping whose values are mappings: their keys

    def problem(self, value: Any) -> str | None:  # noqa: ANN401 (whatever YAML holds)
        """Say what is wrong with one resolved value, or None."""
        match self.kind:
            case "flag":
                return (
                    None
                    if isinstance(value, bool) or value in (0, 1)
                    else f"{value!r} is neither true nor false"
                )
            case "int":
                if isinstance(value, bool) or not isinstance(value, int):
                    return f"{value!r} is not a whole number"
            case "float" | "seconds":
                if isinstance(value, bool) or not isinstance(value, int | float):
                    return f"{value!r} is not a number"
            case "size":
                try:
                    value = size_bytes(str(value))
                except ValueError:
                    return f"{value!r} is not a size (4096, 4k, 1M, 10MB)"
            case "word":
                word = re.sub(f"(?:{self.suffix})\\Z", "", str(value))
                if self.choices and word not in self.choices:
                    return f"{value!r} is not one of {', '.join(self.choices)}"
                return None
            case "text":
                return None if isinstance(value, str | int | float) else f"{value!r} is not a text"
            case "mapping":
                return None if isinstance(value, Mapping) else f"{value!r} is not a mapping"
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
    """Finds a program by its name or path, on a PATH of its own if given: "" where there is none that can be started."""
    memory_bytes: int | None = None  # available now; None: planned for another machine
    node_memory: Mapping[int, int] = field(
        default_factory=dict
    )  # the same by NUMA node, as far as it is known

    def memory_for(self, placement: Placement | None) -> int | None:
        """Return the bytes that a run may have: of the nodes that its memory is bound to, and of no others. None: not known."""
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


MAY_LACK = frozenset(
    {"STARTER", "MEMORY_BOUND", "computing", "probe", "told", "defaults", "chosen", "meant", "command_meant"}
)
"""What a tool's module may leave out."""


class ToolModule(Protocol):
    """What every module of this package provides, but for what MAY_LACK names."""

    PROGRAMS: tuple[str, ...]
    """Names to look for on PATH, the preferred first."""

    KERNEL: str
    """The kernel of ours that does the work: alone if PROGRAMS is empty, else where none of them is found."""

    SIGNATURE: bytes
    """What the executable holds if it is the tool: other programs bear these names too (ImageMagick has a `stream`)."""

    FATAL: tuple[str, ...]
    """Flags of the parser that make an output no result."""

    INSTALL: str
    """One line: how to get the tool where it is missing."""

    STARTER: str
    """A sweep, in YAML, that `pinsweep init` begins with; else the options that are required."""

    MEMORY_BOUND: bool
    """Whether its figures are of what others on the same memory nodes use up: a busy neighbour then disturbs it."""

    def computing(self, options: Mapping[str, Any]) -> int:
        """Return how many threads compute from start to end, waiting for nothing; 0, as if left out: it may wait."""
        ...

    def probe(self, path: str, ask: Ask) -> Probed | str:
        """Return what else is to be known of the program at `path`, or why it cannot be started. Touches the machine."""
        ...

    def told(self, given: Mapping[str, Scalar], parsed: Parsed) -> Mapping[str, Any]:
        """Return the options of a captured run as an experiment writes them; `given`: what its text tells by itself."""
        ...

    def defaults(self, given: Mapping[str, Any], parsed: Parsed) -> Mapping[str, Any]:
        """Return the options of a captured run that its command line leaves to the tool, with the tool's own values."""
        ...

    def chosen(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options that a cell leaves to the tool, where the tool takes other values for one cell than for another."""
        ...

    def meant(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what options ask for, the same however it is written (4k and 4096); for comparing only. Without what nothing hangs on."""
        ...

    def command_meant(self, words: Sequence[str]) -> Sequence[str]:
        """Return what a command line asks for, the same in whatever order its options stand; for comparing only."""
        ...

    def options(self) -> Mapping[str, Option]:
        """Return every option an experiment may set."""
        ...

    def problems(self, options: Mapping[str, Any]) -> Sequence[Problem]:
        """Return (option, what is wrong), and what to write instead where that is known, for mistakes that only the options together show. Each alone is checked by its Option."""
        ...

    def shape(self, options: Mapping[str, Any]) -> tuple[Threads, int]:
        """Return (threads per process, "cores" for one on each core, None if any number will do; processes): what the placement must hold."""
        ...

    def default_place(self, options: Mapping[str, Any]) -> Place | None:
        """Return where a cell runs that names no place; None where the tool places itself or nothing is to be pinned."""
        ...

    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
        """Return the command line. Raises Refused where it cannot be given on this site."""
        ...

    def version(self, text: str) -> str:
        """Read the version out of what `version_argv` printed."""
        ...

    def version_argv(self, path: str) -> tuple[str, ...]: ...

    def complaint(self, parsed: Parsed, stdout: str, stderr: str, cell: Cell) -> str:
        """Say why an output without a fatal flag is still not what was asked for, or ""."""
        ...


@functools.cache
def tool_names() -> tuple[str, ...]:
    """Return the names of all tools, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


@functools.cache
def get_tool(name: str) -> ToolModule:
    """Return the tool of that name. Raises UserError if there is none."""
    if name not in tool_names():
        raise UserError(name, "no tool of that name", extensions.why_not(name) or tools_known())
    return cast("ToolModule", importlib.import_module(f"{__name__}.{name}"))


def tools_known() -> str:
    """Return which tools there are, for a hint."""
    return f"tools: {', '.join(tool_names())}; {extensions.OTHERS}"


def meant(tool: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what options ask for (`ToolModule.meant`); of a tool that knows one spelling of each, the options."""
    module = get_tool(tool)
    return module.meant(options) if hasattr(module, "meant") else options


def memory_bound(tool: str) -> bool:
    """Tell whether a busy neighbour on the same memory disturbs a tool (`ToolModule.MEMORY_BOUND`)."""
    return bool(getattr(get_tool(tool), "MEMORY_BOUND", False))


def computing(tool: str, options: Mapping[str, Any]) -> int:
    """Return how many threads of a tool compute all the time (`ToolModule.computing`)."""
    module = get_tool(tool)
    return module.computing(options) if hasattr(module, "computing") else 0


def command_meant(tool: str, words: Sequence[str]) -> Sequence[str]:
    """Return what a command line asks for (`ToolModule.command_meant`); of a tool that does not say so, its words."""
    module = get_tool(tool) if tool in tool_names() else None
    return module.command_meant(words) if module and hasattr(module, "command_meant") else words
