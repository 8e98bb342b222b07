"""poke, a kernel of pinsweep: the whole distribution of single accesses to memory or to a file, and files many or
few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from orchestrator.model import Cell, Place, Placement, ScratchFile, Write
from orchestrator.placement.place import numactl
from orchestrator.tools import Command, Option, Problem, Program, Refused, Site, Tool
from parsers.units import size_bytes, size_text

TARGETS = ("null", "memory", "file", "compute", "files")
FILE_BLOCK = 4096
"""Bytes of one access to a file, where no block is given and the file is that large."""

MEMORY_SHARE = 0.7
"""Fraction of the available memory for a probe. Above it, the probe would measure swapping."""


_EFFECT: Final = {
    option: targets.split()
    for options, targets in {
        "bytes op block window": "memory file",
        "count": "memory file null compute",
        "direct": "file",
        "fsync": "file files",
        "pages": "memory",
        "loop iterations": "compute",
        "files file_size": "files",
    }.items()
    for option in options.split()
}
"""The targets that an option has an effect on. `null`, the zero of an axis of targets, takes what memory and file
take."""

_NEEDS = {"memory": ("bytes",), "file": ("bytes",), "files": ("files", "file_size")}


def _problems(options: Mapping[str, Any]) -> Iterator[Problem]:
    target = str(options.get("target"))
    for name in _NEEDS.get(target, ()):
        if name not in options:
            yield name, f"is needed for target {target}"
    size, block, window = (_size(options.get(name)) for name in ("bytes", "block", "window"))
    for name, targets in _EFFECT.items():
        if name not in options or options[name] is False or target not in TARGETS or target in targets:
            continue
        of_an_axis = target == "null" and not {"memory", "file"}.isdisjoint(targets)
        if not of_an_axis or (name == "bytes" and size != 0):
            yield name, f"belongs to target {' or '.join(targets)}, not to {target}"
    reach = min(size or 0, window or size or 0)
    if target == "file":
        op = str(options.get("op", "read"))
        if op == "write+fence":
            yield "op", "write+fence is for memory; a file is waited for with fsync"
        if options.get("fsync") and op == "read":
            yield "fsync", "has no effect on reads; set op: write"
        if options.get("direct") and size and block is not None and block % 512:
            yield "block", f"with direct a multiple of 512, most often 4096; not {block}"
        if options.get("direct") and size and block is None and reach < FILE_BLOCK:
            yield "direct", f"moves whole blocks, and {reach} bytes are less than one of {FILE_BLOCK}"
    if target in ("memory", "file") and size:
        if window is not None and window > size:
            yield "window", f"is larger than the whole: {window} of {size} bytes"
        if block is not None and block > reach:
            yield "block", f"one access of {block} bytes does not fit into {reach}"


def _size(value: Any) -> int | None:  # noqa: ANN401
    try:
        return None if value is None else size_bytes(str(value))
    except ValueError:  # reported by its Option, or left to the machine (`4 x LLC`)
        return None


_TURN_S: Final = 10e-3  # rotation of a hard disk, with a seek before it
_DIRECT_S: Final = 150e-6  # an access past the page cache, on an SSD
_SYNC_S: Final = 4e-3


def _estimate(target: str, given: Mapping[str, Any], size: int, direct_s: float = _DIRECT_S) -> float:
    """Return the estimated seconds: samples, initial writes, and 0.5 s for the timer and the JSON."""
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


class Poke(Tool):
    """Our kernel `poke`."""

    KERNEL = "poke"
    FATAL = ("truncated",)
    INSTALL = "comes with pinsweep; it needs a C compiler"
    STARTER = """\
fixed: {target: memory, count: 100000, place: core 0}   # with the memory of its NUMA node
matrix:
  op: [read, write]
  bytes: [0, 1kB, 1MB, 0.5 x LLC, 4 x LLC]
"""
    OPTIONS: ClassVar = {
        "target": Option("word", "target of the access; null is only the timer", choices=TARGETS, required=True),
        "bytes": Option("size", "size of the array or file; 0: only the timer, as target null", low=0),
        "op": Option("word", "operation of one access; default read", choices=("read", "write", "write+fence")),
        "count": Option("int", "timed accesses; 100000 if not given", low=1, high=100_000_000),
        "block": Option(
            "size",
            "bytes per access; if not given 4096 in files, 1 in memory and in files that are smaller",
            low=1,
            high=1 << 30,
        ),
        "direct": Option("flag", "O_DIRECT: past the page cache"),
        "fsync": Option("flag", "fdatasync after each write"),
        "window": Option("size", "access only the first bytes of the array or file", low=1),
        "loop": Option(
            "word",
            "kind of computation for the target compute; default empty",
            choices=("empty", "muladd", "sine"),
        ),
        "iterations": Option("int", "turns of the loop in one sample; 1000 if not given", low=1, high=4_000_000_000),
        "files": Option("int", "how many files target files writes and reads back", low=1, high=1_000_000),
        "file_size": Option("size", "bytes of each of them", low=1, high=1 << 30),
        "pages": Option("word", "pages of the array", choices=("default", "4k", "thp", "hugetlb")),
        "largest": Option(
            "int", "how many of the longest samples are listed; 1000 if not given", low=0, high=1_000_000
        ),
        "seed": Option("int", "of the random positions; 1 if not given", low=0),
    }

    def problems(self, options: Mapping[str, Any]) -> list[Problem]:
        return list(_problems(options))

    def shape(self, options: Mapping[str, Any]) -> tuple[int | None, int]:  # noqa: ARG002
        return 1, 1

    def busy_threads(self, options: Mapping[str, Any]) -> int:
        """Return 1, or 0 for files, because the program may wait for storage."""
        return 0 if options.get("target") in ("file", "files") else 1

    def default_place(self, options: Mapping[str, Any]) -> Place | None:  # noqa: ARG002
        return Place(name="all", cpus="all", memory="local")

    def implied_options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the default block size of a file: FILE_BLOCK, or one byte if the file or its window is smaller."""
        size = _size(options.get("bytes"))
        if options.get("target") != "file" or "block" in options or not size:
            return {}
        reach = min(size, _size(options.get("window")) or size)
        return {"block": FILE_BLOCK if reach >= FILE_BLOCK else 1}

    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
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
            curve = given.get("op", "read")
            notes = (f"0 bytes: the timer alone, where the curve of {curve} begins; each curve has its own",)
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
            block = {**given, **self.implied_options(given)}["block"]
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

    def version(self, text: str) -> str:
        return text.split()[2] if text.startswith("pinsweep poke") else ""


TOOL = Poke()
