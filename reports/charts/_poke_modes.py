"""The peaks of a histogram and their shares: a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from parsers.units import size_bytes
from reports.charts._tails import LEAST, Distribution
from reports.draw.figure import ROW, Table, row_of
from reports.readings.poke import first as first_of
from reports.results.convicted import OTHER
from reports.results.hardware import caches_above
from reports.results.model import Run
from reports.text import format as fmt


def reach(run: Run) -> int:
    """Return how many bytes a run's accesses were spread over: the window, else the size; 0 where nothing tells."""
    told = [run.options.get(name) for name in ("window", "bytes")]
    return min((size_bytes(str(value)) for value in told if value is not None), default=0)


def in_memory(run: Run) -> bool:
    """Is most of a run's array in memory, for sure: is it beyond what its caches may hold?"""
    rooms = [room for _, room in caches_above(run)]
    return bool(rooms) and reach(run) > 2 * rooms[-1]


def timed_by_the_timer(d: Distribution, median: float) -> bool:
    """Is more than half of a time (ns) what the timer itself takes?"""
    return any((first_of(run, "timer_overhead") or 0.0) > median / 2 for run in d.runs)


def table(found: Sequence[Distribution]) -> Table | None:
    """Return a row for each peak of each histogram, and one for what lies in none of them; None where there is one peak each and nothing else."""
    rows: list[tuple[str, ...]] = []
    whose = []
    for d in found:
        of_peaks = [(mode, d.in_repeats(mode)) for mode in d.modes]
        own = [
            (fmt.quantity(mode.at, "ns") if n else fmt.NOTHING, fmt.percent(mode.share), f"{n} of {len(d.by_run)}")
            for mode, n in of_peaks
        ]  # fmt: skip
        between = 1 - sum(mode.share for mode in d.modes)
        if round(between * d.n):
            own.append(("between peaks", fmt.percent(between), fmt.NOTHING))
        rows += [(d.name, *row) for row in own]
        whose += [row_of(d.runs)] * len(own)
    if all(len(d.modes) == 1 and d.modes[0].share > 1 - LEAST for d in found):
        return None
    return Table(
        columns=("Histogram", "Mode", "Share", "In repeats"), rows=tuple(rows), numeric=frozenset((1, 2, 3)), of=tuple(whose),
        metrics={ROW: OTHER} | dict.fromkeys((1, 2, 3), _MODES), caption="Where the peaks are",
    )  # fmt: skip


_MODES: Final = "latency/modes"
"""What doubts of modes may be of, as `numbers.Name.tells_of`."""
