"""poke, a kernel of pinsweep: the whole distribution of single accesses to memory or to a file, and files many or few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from orchestrator.model import Cell, Place, Placement, ScratchFile, Write
from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Program, Refused, Site
from parsers.units import size_bytes, size_text

if TYPE_CHECKING:
    from parsers.measurement import Parsed

PROGRAMS: tuple[str, ...] = ()
KERNEL = "poke"
FATAL = ("truncated",)
SIGNATURE = b""
INSTALL = "comes with pinsweep; it needs a C compiler"
STARTER: Final = """\
fixed: {target: memory, count: 100000, place: core 0}   # with the memory of its NUMA node
matrix:
  op: [read, write]
  bytes: [0, 1kB, 1MB, 0.5 x LLC, 4 x LLC]
"""
"""What `init` writes below the head of an experiment."""

TARGETS = ("null", "memory", "file", "compute", "files")
FILE_BLOCK = 4096
"""Bytes of one access to a file, where no block is given and the file is that large."""

MEMORY_SHARE = 0.7
"""Of the available memory a probe may take: beyond it, swapping is what would be measured."""


def options() -> Mapping[str, Option]:
    return {
        "target": Option(
            kind="word",
            choices=TARGETS,
            required=True,
            help="what is accessed; null is the cost of the timer alone",
        ),
        "bytes": Option(
            kind="size",
            low=0,
            help="size of the array or file; 0: the timer alone, as target null, for each op anew",
        ),
        "op": Option(
            kind="word",
            choices=("read", "write", "write+fence"),
            help="what one access does; read if not given",
        ),
        "count": Option(kind="int", low=1, high=100_000_000, help="timed accesses; 100000 if not given"),
        "block": Option(
            kind="size",
            low=1,
            high=1 << 30,
            help="bytes per access; if not given 4096 in files, 1 in memory and in files that are smaller",
        ),
        "direct": Option(kind="flag", help="O_DIRECT: past the page cache"),
        "fsync": Option(kind="flag", help="fdatasync after each write"),
        "window": Option(kind="size", low=1, help="access only the first bytes of the array or file"),
        "loop": Option(
            kind="word",
            choices=("empty", "muladd", "sine"),
            help="what target compute computes; empty if not given",
        ),
        "iterations": Option(
            kind="int", low=1, high=4_000_000_000, help="turns of the loop in one sample; 1000 if not given"
        ),
        "files": Option(
            kind="int", low=1, high=1_000_000, help="how many files target files writes and reads back"
        ),
        "file_size": Option(kind="size", low=1, high=1 << 30, help="bytes of each of them"),
        "pages": Option(kind="word", choices=("default", "4k", "thp", "hugetlb"), help="pages of the array"),
        "largest": Option(
            kind="int",
            low=0,
            high=1_000_000,
            help="how many of the longest samples are listed; 1000 if not given",
        ),
        "seed": Option(kind="int", low=0, help="of the random positions; 1 if not given"),
    }


_EFFECT: Mapping[str, tuple[str, ...]] = {
    "bytes": ("memory", "file"),
    "op": ("memory", "file"),
    "count": ("memory", "file", "null", "compute"),
    "block": ("memory", "file"),
    "direct": ("file",),
    "fsync": ("file", "files"),
    "window": ("memory", "file"),
    "pages": ("memory",),
    "loop": ("compute",),
    "iterations": ("compute",),
    "files": ("files",),
    "file_size": ("files",),
}
"""The targets that an option has an effect on. `null`, the zero of an axis of targets, takes what memory and file take."""

_NEEDS = {"memory": ("bytes",), "file": ("bytes",), "files": ("files", "file_size")}


def problems(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    target = str(options.get("target"))
    found = [
        (name, f"is needed for target {target}") for name in _NEEDS.get(target, ()) if name not in options
    ]
    for name, targets in _EFFECT.items():
        if name not in options or options[name] is False or target not in TARGETS or target in targets:
            continue
        of_an_axis = target == "null" and not {"memory", "file"}.isdisjoint(targets)
        if of_an_axis and (name != "bytes" or _size(options[name]) == 0):
            continue
        found.append((name, f"belongs to target {' or '.join(targets)}, not to {target}"))
    if target == "file":
        found += _file_problems(options)
    size, block = _size(options.get("bytes")), _size(options.get("block"))
    if target in ("memory", "file") and size:
        window = _size(options.get("window"))
        if window is not None and window > size:
            found.append(("window", f"is larger than what it is a part of: {window} of {size} bytes"))
        reach = min(size, window) if window else size
        if block is not None and block > reach:
            found.append(("block", f"one access of {block} bytes does not fit into {reach}"))
    return found


def _file_problems(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    op = str(options.get("op", "read"))
    if op == "write+fence":
        found.append(("op", "write+fence is for memory; a file is waited for with fsync"))
    if options.get("fsync") and op == "read":
        found.append(("fsync", "has no effect on reads; set op: write"))
    size, block = _size(options.get("bytes")), _size(options.get("block"))
    if options.get("direct") and size:
        if block is not None and block % 512:
            found.append(("block", f"with direct a multiple of 512, most often 4096; not {block}"))
        reach = min(size, _size(options.get("window")) or size)
        if block is None and reach < FILE_BLOCK:
            found.append(
                ("direct", f"moves whole blocks, and {reach} bytes are less than one of {FILE_BLOCK}")
            )
    return found


def _size(value: Any) -> int | None:  # noqa: ANN401
    try:
        return None if value is None else size_bytes(str(value))
    except ValueError:  # reported by its Option, or left to the machine (`4 x LLC`)
        return None


def shape(options: Mapping[str, Any]) -> tuple[int | None, int]:  # noqa: ARG001
    return 1, 1


def computing(options: Mapping[str, Any]) -> int:
    """Return 1, but for files: what they are on may have to be waited for."""
    return 0 if options.get("target") in ("file", "files") else 1


def default_place(options: Mapping[str, Any]) -> Place | None:  # noqa: ARG001
    return Place(name="all", cpus="all", memory="local")


def chosen(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the block of a file: of one that is smaller than FILE_BLOCK it is a byte."""
    size = _size(options.get("bytes"))
    if options.get("target") != "file" or "block" in options or not size:
        return {}
    reach = min(size, _size(options.get("window")) or size)
    return {"block": FILE_BLOCK if reach >= FILE_BLOCK else 1}


def command(cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
    """Build the command line. Raises Refused where the array does not fit into memory."""
    given = cell.options
    target = str(given["target"])
    size = size_bytes(str(given.get("bytes", 0)))
    memory = site.memory_for(placement)
    if target == "memory" and memory and size > MEMORY_SHARE * memory:
        room = f"{MEMORY_SHARE * 100:.0f} % of the {size_text(memory)} available"
        raise Refused(f"an array of {size_text(size)} needs more than {room}")
    notes: tuple[str, ...] = ()
    if size == 0 and target in ("memory", "file"):
        # not one cell with the others of 0 bytes: a curve over size, and a row of the table of sizes, begin with it
        notes = (
            f"0 bytes: the timer alone, where the curve of {given.get('op', 'read')} begins; each curve has its own",
        )
        target = "null"
    argv = [
        *(numactl(placement.groups[0], site.numactl) if placement else ()),
        program.path,
        f"--target={target}",
    ]
    scratch: tuple[ScratchFile, ...] = ()
    writes: tuple[Write, ...] = ()
    if target == "file":
        path = f"{site.scratch}/poke-{size}.dat"
        scratch = (ScratchFile(path=path, size_bytes=size),)
        # it writes one block of random bytes again and again: a device that deduplicates keeps one
        spoils = given.get("op") == "write"
        block = {**given, **chosen(given)}["block"]
        unit = size_bytes(str(block)) if spoils else 0
        writes = (Write(path=path, kind="scratch", size_bytes=size, unit_bytes=unit, spoils=spoils),)
        argv += [f"--file={path}", f"--block={block}"]
        if "block" not in given and block < FILE_BLOCK:
            notes = (
                f"accesses of 1 byte: the file has less than the {FILE_BLOCK} of a block; `block` says otherwise",
            )
    elif target == "files":
        path = f"{site.scratch}/files"
        unit = size_bytes(str(given["file_size"]))
        total = int(given["files"]) * unit
        scratch = (ScratchFile(path=path, size_bytes=total, folder=True),)
        writes = (Write(path=path, kind="scratch", size_bytes=total, unit_bytes=unit),)
        argv += [f"--files={given['files']}", f"--file-size={unit}", f"--dir={path}"]
    elif target == "memory" and "block" in given:
        argv.append(f"--block={size_bytes(str(given['block']))}")
    if target in ("memory", "file"):
        argv.append(f"--bytes={size}")
        argv += [f"--window=0:{size_bytes(str(given['window']))}"] if "window" in given else []
        argv += [f"--op={given['op']}"] if "op" in given else []
    argv += [
        f"--{name}={given[name]}"
        for name in ("count", "loop", "iterations", "pages", "largest", "seed")
        if name in given and (name != "pages" or target == "memory")
    ]
    argv += [f"--{name}" for name in ("direct", "fsync") if given.get(name) and target != "null"]
    return Command(
        argv=tuple(argv),
        estimate_s=_estimate(target, given, size),
        at_most_s=_estimate(target, given, size, direct_s=_TURN_S),
        scratch=scratch,
        writes=writes,
        notes=notes,
    )


_TURN_S: Final = 10e-3  # of a disk that turns, and seeks before it
_DIRECT_S: Final = 150e-6  # an access past the page cache, on an SSD
_SYNC_S: Final = 4e-3


def _estimate(target: str, given: Mapping[str, Any], size: int, direct_s: float = _DIRECT_S) -> float:
    """Seconds: the samples, what is written before them, and half a second for the timer and the JSON."""
    waits_s = max(_SYNC_S if given.get("fsync") else 0.0, direct_s if given.get("direct") else 0.0)
    count = int(given.get("count", 100_000))
    if target == "files":
        files = int(given["files"])
        return 0.5 + files * (60e-6 + waits_s + 2 * size_bytes(str(given["file_size"])) / 1e9)
    if target == "compute":
        turn_s = {"empty": 0.5e-9, "muladd": 1.5e-9, "sine": 20e-9}[str(given.get("loop", "empty"))]
        return 0.5 + count * int(given.get("iterations", 1000)) * turn_s
    access_s = 20e-6 + waits_s if target == "file" else 1e-6
    return 0.5 + count * access_s + size / 1e9


def version_argv(path: str) -> tuple[str, ...]:
    return (path, "--version")


def version(text: str) -> str:
    return text.split()[2] if text.startswith("pinsweep poke") else ""


def complaint(parsed: Parsed, stdout: str, stderr: str, cell: Cell) -> str:  # noqa: ARG001
    return ""
