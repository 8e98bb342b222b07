"""poke, a kernel of pinsweep: the whole distribution of single accesses to memory or to a file, and files many or few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.model import Place, Placement, Point, ScratchFile, Write
from orchestrator.place import numactl
from orchestrator.tools import Command, Option, Refused, Site
from parsers.measurement import Parsed
from parsers.units import size_bytes

PROGRAMS: tuple[str, ...] = ()
KERNEL = "poke"
READS_STDERR = False
FATAL = ("truncated",)
SIGNATURE = b""
INSTALL = "comes with pinsweep; it needs a C compiler"

TARGETS = ("null", "memory", "file", "compute", "files")
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
        "bytes": Option(kind="size", low=0, help="size of the array or file; 0 is the same as target null"),
        "op": Option(kind="word", choices=("read", "write", "write+fence"), help="what one access does"),
        "count": Option(kind="int", low=1, high=100_000_000, help="timed accesses"),
        "block": Option(kind="size", low=1, help="bytes per access; 1 in memory, 4096 in files if not given"),
        "direct": Option(kind="flag", help="O_DIRECT: past the page cache"),
        "fsync": Option(kind="flag", help="fdatasync after each write"),
        "window": Option(kind="size", low=1, help="access only the first bytes of the file"),
        "loop": Option(kind="word", choices=("empty", "muladd", "sine"), help="what target compute computes"),
        "files": Option(
            kind="int", low=1, high=1_000_000, help="how many files target files writes and reads back"
        ),
        "file_size": Option(kind="size", low=1, help="bytes of each of them"),
        "pages": Option(kind="word", choices=("default", "4k", "thp", "hugetlb"), help="pages of the array"),
        "seed": Option(kind="int", low=0, help="of the random positions"),
    }


def problems(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    target = options.get("target")
    needs = {"memory": ("bytes",), "file": ("bytes",), "files": ("files", "file_size")}
    found = [
        (name, f"is needed for target {target}") for name in needs.get(str(target), ()) if name not in options
    ]
    only = {
        "direct": ("file",),
        "window": ("file",),
        "loop": ("compute",),
        "files": ("files",),
        "file_size": ("files",),
    }
    found += [
        (name, f"belongs to target {targets[0]}, not to {target}")
        for name, targets in only.items()
        if name in options and target not in targets
    ]
    return found


def shape(options: Mapping[str, Any]) -> tuple[int | None, int]:  # noqa: ARG001
    return 1, 1


def default_place(options: Mapping[str, Any]) -> Place | None:  # noqa: ARG001
    return Place(name="all", cpus="all", memory="local")


def command(point: Point, placement: Placement | None, site: Site) -> Command:
    """Build the command line. Raises Refused where the array does not fit into memory."""
    given = point.options
    target = str(given["target"])
    size = size_bytes(str(given.get("bytes", 0)))
    if target == "memory" and site.memory_bytes and size > MEMORY_SHARE * site.memory_bytes:
        raise Refused(
            f"an array of {size} B needs more than {MEMORY_SHARE:.0%} of the {site.memory_bytes} B available"
        )
    if size == 0 and target in ("memory", "file"):
        target = "null"
    argv = [
        *(numactl(placement.groups[0], site.numactl) if placement else ()),
        site.program.path,
        f"--target={target}",
    ]
    scratch: tuple[ScratchFile, ...] = ()
    writes: tuple[Write, ...] = ()
    if target == "file":
        path = f"{site.scratch}/poke-{size}.dat"
        scratch = (ScratchFile(path=path, size_bytes=size),)
        writes = (Write(path=path, kind="scratch", size_bytes=size),)
        argv += [f"--file={path}", f"--block={given.get('block', 4096 if size >= 4096 else 1)}"]
        if "window" in given:
            argv.append(f"--window=0:{min(size, size_bytes(str(given['window'])))}")
    elif target == "files":
        path = f"{site.scratch}/files"
        total = int(given["files"]) * size_bytes(str(given["file_size"]))
        scratch = (ScratchFile(path=path, size_bytes=total, folder=True),)
        writes = (Write(path=path, kind="scratch", size_bytes=total),)
        argv += [f"--files={given['files']}", f"--file-size={given['file_size']}", f"--dir={path}"]
    elif target == "memory" and "block" in given:
        argv.append(f"--block={given['block']}")
    if target in ("memory", "file"):
        argv.append(f"--bytes={size}")
    if target in ("memory", "file") and "op" in given:
        argv.append(f"--op={given['op']}")
    argv += [f"--{name}={given[name]}" for name in ("count", "loop", "pages", "seed") if name in given]
    argv += [f"--{name}" for name in ("direct", "fsync") if given.get(name)]
    per_access_s = {"file": 20e-6, "files": 0.0}.get(target, 1e-6) * (
        200 if given.get("fsync") or given.get("direct") else 1
    )
    seconds = 0.5 + int(given.get("count", 100_000)) * per_access_s + size / 1e9
    return Command(argv=tuple(argv), estimate_s=seconds, scratch=scratch, writes=writes)


def version_argv(path: str) -> tuple[str, ...]:
    return (path, "--version")


def version(text: str) -> str:
    return text.split()[2] if text.startswith("pinsweep poke") else ""


def complaint(parsed: Parsed, stdout: str, stderr: str, point: Point) -> str:  # noqa: ARG001
    return ""
