"""Run STREAM: the user's binary, or the built-in kernel `stream`.

There is one OpenMP thread per PU, with one PU per core.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from orchestrator.machine.topology import Topology
from orchestrator.model import Cell, Placement
from orchestrator.placement.place import Threads, numactl
from orchestrator.tools import Command, Option, Problem, Program, Refused, Site, Tool
from parsers.errors import list_hint
from parsers.units import size_bytes

ARRAYS = 3
BYTES_PER_ELEMENT = {"double": 8, "float": 4}
SMALLEST_ARRAY = 10_000_000
"""Elements: STREAM's own default, enough clock ticks per loop on any machine."""

_COMPILED_IN = {"array_size": "auto", "stores": "auto", "pages": "default", "precision": "double"}
"""Option that is compiled into the user's binary → the value that requests nothing else."""

_RATE_B_S = 5e9  # a cautious guess of what one pass moves, for the estimate only


def _array_size(asked: int | str, placement: Placement | None, width: int, site: Site) -> tuple[int, tuple[str, ...]]:
    """Return (elements of one array, notes). STREAM's run rule is 4 × the last-level caches in use.

    A number is elements, and a size with a suffix is bytes of one array. If the placement's memory is too small for the
    rule, `auto` uses the largest power of two that fits in half of it, with a note. The value is reproducible. A
    requested size is used exactly or refused.
    """
    memory = site.memory_for(placement) or 0
    cpus = placement.cpus if placement else tuple(site.topology.allowed_cpus)
    caches = last_level_bytes(site.topology, cpus)
    largest = 1 << max(0, (memory // 2 // ARRAYS // width).bit_length() - 1) if memory else None
    if asked == "auto":
        ruled = max(SMALLEST_ARRAY, -(-4 * caches // width))
        if largest is not None and ruled > largest:
            return largest, (f"array of {largest} elements: memory does not allow 4 × the caches ({ruled})",)
        return ruled, ()
    elements = asked if isinstance(asked, int) else size_bytes(str(asked)) // width
    if memory and ARRAYS * elements * width > memory:
        needed = f"{ARRAYS * elements * width >> 20} MiB, there are {memory >> 20} MiB"
        raise Refused(f"three arrays of {elements} elements need {needed}")
    small = f"array of {elements} elements is less than 4 × the caches in use: not a memory bandwidth by STREAM's rules"
    return elements, (small,) if elements * width < 4 * caches else ()


def last_level_bytes(topology: Topology, cpus: tuple[int, ...]) -> int:
    """Return the sum of the last-level caches of every package that has one of the PUs; 0 where sizes are unknown."""
    sized = [cache for cache in topology.caches if cache.kind != "instruction" and cache.size_bytes]
    last = max((cache.level for cache in sized), default=0)
    used = {cpu for package in topology.packages if not set(cpus).isdisjoint(package.cpus) for cpu in package.cpus}
    return sum(cache.size_bytes or 0 for cache in sized if cache.level == last and not used.isdisjoint(cache.cpus))


class Stream(Tool):
    """STREAM, or our kernel."""

    PROGRAMS = ("stream", "stream_c.exe", "stream_c", "stream_omp")
    KERNEL = "stream"
    FATAL = (
        "validation_failed",
        "no_figures",
        "kernels_missing",
        "truncated",
        "non_finite",
        "threads_differ",
    )
    MEMORY_BOUND = True
    SIGNATURE = b"STREAM version"
    INSTALL = (
        "compile stream.c yourself and set PINSWEEP_STREAM=/path/to/stream; without STREAM, the built-in kernel is used"
    )
    STARTER = """\
matrix:
  threads: 1..cores_per_numa_node     # also [1, 2, 25%, all]
  place:
    - {name: local, cpus: numa_node 0, memory: local}
    - {name: remote, cpus: numa_node 0, memory: remote}   # skipped where there is one node
"""
    OPTIONS: ClassVar = {
        "threads": Option(
            "int",
            "OpenMP threads, each bound to a PU; default: one per core of the place",
            low=1,
        ),
        "array_size": Option(
            "text",
            "elements of one array, or a size (4 x LLC, 512M); auto, also if not given: 4 × the last-level caches in use, as memory allows",
            examples=("auto", "4 x LLC", 80_000_000),
        ),
        "ntimes": Option("int", "passes; the first is not counted; default 10", low=2, high=100),
        "stores": Option("word", "store instructions of our kernel", choices=("auto", "cached", "nt")),
        "pages": Option("word", "pages of our kernel", choices=("default", "4k", "thp", "hugetlb")),
        "precision": Option("word", "element type of our kernel", choices=("double", "float")),
    }

    def problems(self, options: Mapping[str, Any]) -> list[Problem]:
        value = options.get("array_size", "auto")
        if value == "auto" or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
            return []
        if isinstance(value, int | float) and not isinstance(value, bool):
            return [("array_size", f"{value} is not a whole number of elements, 1 at least: write it out")]
        try:
            size_bytes(str(value))
        except ValueError:
            what = f"{value!r} is neither a number of elements nor a size nor auto"
            return [("array_size", what, list_hint(str(value)))]
        return []

    def canonical(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the options with the array in whole elements, or in whole bytes if written as a size."""
        size = options.get("array_size")
        if isinstance(size, str) and size[:1].isdigit():
            size = f"{size_bytes(size)}B"
        return options if size is None else {**options, "array_size": size}

    def shape(self, options: Mapping[str, Any]) -> tuple[Threads, int]:
        return options.get("threads", "cores"), 1

    def busy_threads(self, options: Mapping[str, Any]) -> int:  # noqa: ARG002
        """Return 1. STREAM's threads wait for each other, but one thread always computes."""
        return 1

    def command(self, cell: Cell, placement: Placement | None, site: Site, program: Program) -> Command:
        """Build the command line. Raises Refused where the arrays do not fit, or a foreign binary cannot take an
        option."""
        given = cell.options
        ntimes = int(given.get("ntimes", 10))
        argv: list[str] = []
        if placement is None:
            threads = given.get("threads", site.topology.numbers().get("cores", 1))
            env = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "false"}
        else:
            group = placement.groups[0]
            places = ",".join(f"{{{cpu}}}" for cpu in group.cpus)
            env = {"OMP_NUM_THREADS": str(len(group.cpus)), "OMP_PROC_BIND": "true", "OMP_PLACES": places}
            argv += numactl(group, site.numactl)
        env["OMP_DYNAMIC"] = "false"
        argv.append(program.path)
        notes: tuple[str, ...] = ()
        width = BYTES_PER_ELEMENT[str(given.get("precision", "double"))]
        elements, note = _array_size(given.get("array_size", "auto"), placement, width, site)
        if program.stand_in:
            argv += [f"--array-size={elements}", f"--ntimes={ntimes}"]
            argv += [f"--{name}={given[name]}" for name in ("stores", "pages", "precision") if name in given]
            notes = (*note, "built-in kernel in place of STREAM")
        else:
            fixed = [name for name, usual in _COMPILED_IN.items() if given.get(name, usual) != usual]
            if "ntimes" in cell.axes:  # a single value is no more than a wish for the length of the run
                fixed.append("ntimes")
            if fixed:
                hint = "leave them out, or take pinsweep's kernel (PINSWEEP_STREAM=kernel)"
                raise Refused(f"{program.path} has {', '.join(fixed)} compiled in; {hint}")
            notes = ("array size and passes are compiled into the binary",)
        # Copy 2, Scale 2, Add 3, Triad 3 arrays a pass; first touch and check
        moved = 10 * elements * width * ntimes + 6 * elements * width
        return Command(argv=tuple(argv), env=env, estimate_s=1.0 + moved / _RATE_B_S, notes=notes)

    def version(self, text: str) -> str:
        match = re.search(r"\$Revision:([^\n]*)|^pinsweep stream (\S+)", text, re.MULTILINE)
        return (match[1] or match[2]).strip(" $") if match else ""


TOOL = Stream()
