"""Define the tools, one module per tool: options, command line, version, written files and duration.

A tool's module has `TOOL`, an instance of a subclass of `Tool`, and is found by its name. The module is pure, because a
Site has all needed facts about the machine. The parser with the same name (package `parsers`) reads the tool's output.
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
"""Kind of an option → its valid types, and the message for another type."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a tool, under the tool's name.

    `inner`: a list is not an axis, because one process sweeps the list (MLC's delays, IMB's message sizes).
    """

    kind: Kind
    help: str
    _: KW_ONLY
    choices: tuple[str, ...] = ()  # valid words
    suffix: str = ""  # pattern of text after such a word (rw: read:8k)
    low: float | None = None
    high: float | None = None
    inner: bool = False
    required: bool = False
    examples: tuple[Any, ...] = ()  # as an experiment writes it, if the kind does not show it
    fields: Mapping[str, Option] = field(default_factory=dict)  # keys of the mappings that a mapping holds

    def problem(self, value: Any) -> str | None:  # noqa: ANN401 (any YAML value)
        """Return the mistake in one resolved value, or None."""
        if self.kind == "flag":
            return None if isinstance(value, bool) or value in (0, 1) else f"{value!r} is neither true nor false"
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
    """An installed executable, with all fields that identify it."""

    name: str  # "fio", "mlc", "stream", "IMB-MPI1", "memlat"
    path: str
    version: str = ""
    sha256: str = ""
    stand_in: bool = False  # one of our kernels in the place of a tool that is not here
    env: Mapping[str, str] = field(default_factory=dict)  # environment for its start (LD_LIBRARY_PATH)
    helpers: Mapping[str, str] = field(default_factory=dict)
    """What else makes its numbers, by name: {"mpirun": path, "libmpi.so.12": path}."""
    notes: Mapping[str, str] = field(default_factory=dict)  # {"mpi": "Intel MPI 2021.18"}, {"cmdhelp": "…"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The requirements and recorded facts of a program, as fields of `Program`."""

    env: Mapping[str, str] = field(default_factory=dict)
    helpers: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Access to the machine for a tool. `run` returns the output of a command. `setting` returns a user setting."""

    run: Callable[[tuple[str, ...]], str]
    setting: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """All facts that a tool may use about the place of its command. All tools of a plan have the same Site."""

    topology: Topology
    numactl: str  # path; empty where numactl is absent and no placement can be given
    unpinned: bool = False  # as the user asked: no cell gets a placement, and each is called so
    scratch: str  # folder that pinsweep makes, owns and removes
    root: bool = False
    allow_write: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The devices that the user named on the command line: real path → identity (`Write.identity`)."""
    path_kind: Callable[[str], str] = lambda _: "missing"
    """Returns the kind of a path: missing, file, directory, block, char or other."""
    real_path: Callable[[str], str] = lambda path: path
    """Follows symbolic links: /dev/disk/by-id/… is a device too."""
    memory_refusal: Callable[[], str] = lambda: ""
    """Returns why memory cannot be bound here, in numactl's words; "" if it can."""
    find: Callable[..., str] = lambda name, path=None: name  # noqa: ARG005
    """Returns the path of a program by name or path, on the given PATH if any, or ""."""
    memory_bytes: int | None = None  # available now; None: planned for another machine
    node_memory: Mapping[int, int] = field(default_factory=dict)  # the same by NUMA node, as far as it is known

    def memory_for(self, placement: Placement | None) -> int | None:
        """Return the bytes available to a run, only on the nodes that its memory is bound to. None if unknown."""
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
    """The start request of a tool."""

    argv: tuple[str, ...]
    estimate_s: float  # wall time, start to exit
    at_most_s: float = 0.0  # the same on slow hardware, where that is much more: its timeout goes by it
    guessed: bool = False  # duration unknown
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""  # the folder to start in; "": where pinsweep was started
    files: Mapping[str, str] = field(default_factory=dict)  # see PlannedRun
    scratch: tuple[ScratchFile, ...] = ()
    writes: tuple[Write, ...] = ()
    reads: tuple[str, ...] = ()  # see PlannedRun
    notes: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()  # see PlannedRun


class Refused(Exception):
    """This machine or this user cannot run the cell.

    The cell is skipped with the reason. With --strict this is an error.
    """


Problem = tuple[str, str] | tuple[str, str, str]
"""An option, its mistake, and the hint."""


class Tool(ABC):
    """A tool, with defaults for most tools. A subclass defines `command` and the differences."""

    PROGRAMS: tuple[str, ...] = ()
    """Names to look for on PATH, the preferred first."""

    KERNEL = ""
    """The kernel of ours that does the work: alone if PROGRAMS is empty, else where none of them is found."""

    SIGNATURE = b""
    """A byte pattern in the tool's executable, because other programs have its name (ImageMagick's `stream`)."""

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
    """Whether its figures depend on other load on the same memory nodes. Then a busy neighbour disturbs it."""

    @abstractmethod
    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
        """Return the command line. Raises Refused if the cell cannot run on this site."""

    def options(self) -> Mapping[str, Option]:
        """Return every option an experiment may set."""
        return self.OPTIONS

    def problems(self, options: Mapping[str, Any]) -> Sequence[Problem]:  # noqa: ARG002
        """Return mistakes in combinations of options. Option checks single values."""
        return ()

    def shape(self, options: Mapping[str, Any]) -> tuple[Threads, int]:  # noqa: ARG002
        """Return (threads per process, processes) for the placement.

        Threads are None for any number, and "cores" for one thread per core.
        """
        return None, 1

    def default_place(self, options: Mapping[str, Any]) -> Place | None:  # noqa: ARG002
        """Return the default place of a cell. None if the tool places itself or must not be pinned."""
        return Place(name="all", cpus="all", memory="any")

    def busy_threads(self, options: Mapping[str, Any]) -> int:  # noqa: ARG002
        """Return the number of threads that compute without waiting, from start to end. 0 if the tool may wait."""
        return 0

    def version_argv(self, path: str) -> tuple[str, ...]:
        """Return the command that prints the version. Empty if no program must be started."""
        return (path, "--version")

    def version(self, text: str) -> str:  # noqa: ARG002
        """Return the version in what `version_argv` printed, or in the texts of the executable; "" without one."""
        return ""

    def probe(self, path: str, ask: Ask) -> Probed | str:  # noqa: ARG002
        """Return further facts about the program at `path`, or why it cannot be started. I/O."""
        return Probed()

    def library_env(self, path: str) -> Mapping[str, str]:  # noqa: ARG002
        """Return the environment that the program at `path` needs to load its installed libraries."""
        return {}

    def complaint(self, parsed: Parsed, cell: Cell) -> str:  # noqa: ARG002
        """Return why an output without a fatal flag differs from the request, or ""."""
        return ""

    def captured_options(self, given: Mapping[str, Scalar], parsed: Parsed) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the options of a captured run as an experiment writes them. `given` has the options from its text."""
        return given

    def default_options(self, given: Mapping[str, Any], parsed: Parsed) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the tool's default values for options that a captured run's command line omits."""
        return {}

    def implied_options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the options that a cell leaves to the tool, where the tool takes other values for one cell than for
        another."""
        return {}

    def canonical(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options in one spelling (4k and 4096 are equal), without options that have no effect.

        Only for comparisons.
        """
        return options

    def canonical_command(self, words: Sequence[str]) -> Sequence[str]:
        """Return a command line with its options in one order. Only for comparisons."""
        return words


@functools.cache
def tool_names() -> tuple[str, ...]:
    """Return the names of all tools, sorted."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if not m.name.startswith("_")))


@functools.cache
def get_tool(name: str) -> Tool:
    """Return the tool of a name. Raises UserError for an unknown name."""
    if name not in tool_names():
        raise UserError(name, "no tool of that name", extensions.why_not(name) or tools_known())
    tool: Tool = importlib.import_module(f"{__name__}.{name}").TOOL
    return tool


def tools_known() -> str:
    """Return which tools there are, for a hint."""
    return f"tools: {', '.join(tool_names())}; {extensions.OTHERS}"
