"""STREAM: the best bandwidth of each kernel; over threads its peak, and the threads that reach it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.tools.stream import last_level_bytes
from parsers import stream
from parsers.measurement import Parsed, number
from reports.numbers import formulas
from reports.numbers._curves import lines
from reports.numbers._repeats import median
from reports.numbers.model import Name, Number, Part
from reports.readings.stream import rates
from reports.results.model import Run
from reports.text import format as fmt

CURVE_AXIS = "threads"
PEAK = "bandwidth"
DRAWN = ("triad bandwidth",)
WORKING_SET = ("array_size",)


def numbers(run: Run) -> Iterator[Number]:
    """Give the best bandwidth of each kernel."""
    rows = rates(run)
    several = len({row.turn for row in rows}) > 1  # a run of a text that holds one needs no number
    for row in rows:
        part: Part = ((("run", row.turn),) if several else ()) + (("kernel", row.kernel),)
        name = Name(metric="bandwidth", unit="B/s", better="higher", part=part, made_of=metric_of(row.kernel))
        yield Number(name=name, value=row.bandwidth, step=stream.PRINTED["bandwidth"])


def metric_of(kernel: str) -> str:
    """Return what a doubt of a kernel's bandwidth speaks of, as `Name.tells_of`: repeats that are far apart by the triad may agree on the add."""
    return f"bandwidth/{kernel}"


def array_bytes(run: Run) -> float | None:
    """Return the size of one array; None of a text that does not tell it."""
    facts = run.parsed.facts if run.parsed else {}
    elements, width = (
        number(v) if isinstance(v := facts.get(name), int | float) else None
        for name in ("array_size", "bytes_per_element")
    )
    return elements * (width or 8) if elements else None


def cache_bytes(run: Run) -> int:
    """Return the last-level caches of the packages on which a run was, of all where it was not placed; 0 where the machine is not known."""
    machine = run.session.topology
    if machine is None:
        return 0
    cpus = tuple(cpu for group in run.placed for cpu in group.cpus)
    return last_level_bytes(machine, cpus or tuple(p.os_index for p in machine.pus))


def all_in_caches(run: Run) -> bool:
    """Do its three arrays lie in the caches together, so that its rate is no memory's? False where their or the caches' size is not known."""
    size = array_bytes(run)
    return size is not None and 3 * size <= cache_bytes(run)


def below_rule(run: Run) -> bool:
    """Are its arrays smaller than STREAM's rules ask for: each 4 × the caches? False where one of both is not known."""
    size = array_bytes(run)
    return size is not None and size < 4 * cache_bytes(run)


def curve_numbers(curve: Mapping[int, Sequence[Number]]) -> Iterator[Number]:
    """Give the least threads with 95 % of the peak bandwidth of each kernel."""
    for part, line in lines(curve, "bandwidth").items():
        full = formulas.saturation({n: number.value for n, number in line.items()})
        if full is not None:
            yield Number.derived("threads for 95 % of the peak", "1", "neither", float(full), part)


def headline(repeats: Sequence[Parsed], spread: str = "") -> str:
    """Return "triad 26.1 GB/s"; of repeats that did not all print it "copy 26.1 GB/s", by the last loop that all have."""
    for kernel in reversed(stream.KERNELS):
        if rate := median(functools.partial(_rate, kernel), repeats):
            return f"{kernel} {fmt.quantity(rate, 'B/s')}{spread}"
    return ""


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    rates = [rate for parsed in repeats if (rate := _rate("triad", parsed)) is not None]
    return [("B/s", rate) for rate in rates] if len(rates) == len(repeats) else []


def _rate(kernel: str, parsed: Parsed) -> float | None:
    return next((row.bandwidth for row in rates(parsed) if row.kernel == kernel), None)
