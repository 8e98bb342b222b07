"""IMB: time of each message size (of collectives, of the slowest process); of PingPong also its figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from parsers import imb
from parsers.measurement import Parsed
from reports.numbers import formulas
from reports.numbers._repeats import median
from reports.numbers.model import Name, Number, Part
from reports.readings.imb import Timing, timings
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.text import format as fmt

_HEADLINES: Final = ("time", "time_max", "bandwidth", "message_rate")
"""What stands for a line: the first of these that it has. IMB computes its bandwidth from `time_max`, so of a collective that
time stands for it. Without one of them it is the first figure of its table that has a direction."""

DRAWN: Final = ("PingPong time",)


def numbers(run: Run) -> Iterator[Number]:
    """Give the time of each line, and the figures of each PingPong curve."""
    lines = [
        same[0]
        for same in group_by(timings(run), lambda row: (row.benchmark, _part(row, "message_size"))).values()
    ]
    for row in lines:
        if name := stands_for(row):
            metric, part = imb.METRICS[name], _part(row, "message_size")
            two = _TWO if row.benchmark.startswith("Ping") else ()
            yield Number(
                name=Name(
                    metric=name,
                    unit=metric.unit,
                    better=metric.better,
                    kind=row.benchmark,
                    part=part,
                    unsaid=two,
                    made_of=f"{row.benchmark}/{name}",
                ),
                value=getattr(row, name),
                step=row.time_step if name == "time" else imb.PRINTED.get(name),
            )
    for part, curve in group_by((row for row in lines if row.benchmark == "PingPong"), _part).items():
        yield from _pingpong(part, curve)


_TWO: Final = (("nprocs", 2),)
"""What goes without saying of a benchmark between two processes."""


def stands_for(row: Timing) -> str:
    """Return the figure of a line that stands for it wherever one number does: on the page, in `show`, compared and exported."""
    first = ("time_pure",) if row.overlap is None else ()  # where an overlap is told, it is time_overlap
    directed = (n for n, metric in imb.METRICS.items() if metric.better != "neither")
    return next((n for n in (*_HEADLINES, *first, *directed) if getattr(row, n) is not None), "")


def _part(row: Timing, *more: str) -> Part:
    return tuple((n, v) for n in ("nprocs", "mode", "group", *more) if (v := getattr(row, n)) is not None)


def _times(rows: Iterable[Timing]) -> dict[int, float]:
    """Return message size (B) → time (ns)."""
    return {row.message_size: row.time for row in rows if row.time and row.message_size is not None}


def _pingpong(part: Part, curve: Sequence[Timing]) -> Iterator[Number]:
    """Start-up time α, peak and n½ of a PingPong curve, as in `formulas`. α is that of small messages where the fit has two branches,
    and none where that line is not quotable."""
    times = _times(curve)
    figures = formulas.pingpong(times)
    fitted = formulas.fit(times)
    start = next((b for b in fitted.quotable if b.start == min(times)), None) if fitted else None
    if start and start.alpha > 0:
        yield Number.derived("α", "ns", "lower", start.alpha, part, unsaid=_TWO, made_of="PingPong/time")
    if figures.peak is not None:
        digit = next(row.time_step or 0.0 for row in curve if row.message_size == figures.peak_size)
        step = figures.peak * (digit / times[figures.peak_size or 0])
        yield Number.derived(
            "peak bandwidth",
            "B/s",
            "higher",
            figures.peak,
            part,
            step,
            unsaid=_TWO,
            made_of="PingPong/bandwidth",
        )
    if figures.half_size is not None:  # smaller is only better while the peak stays: no direction of its own
        yield Number.derived(
            "n½", "B", "neither", figures.half_size, part, unsaid=_TWO, made_of="PingPong/bandwidth"
        )


STATISTICS: Final = {
    "time": "", "time_max": "slowest rank", "time_avg": "mean over the ranks", "time_min": "fastest rank",
    "time_overlap": "with computation", "time_pure": "communication alone",
}  # fmt: skip
"""Whose time a figure is, in words; "" of the one that a line has."""


def headline(repeats: Sequence[Parsed], spread: str = "") -> str:
    """Return "0 B in 190 ns, peak 11.9 GB/s (256 KiB)" of PingPong, which is named beside other benchmarks; of texts without it
    "Allreduce 4 B in 1.83 µs (slowest rank) and 22 more"."""
    shortest, peak, at = (
        _shortest(repeats),
        median(_peak, repeats),
        peak_at(formulas.pingpong(_curve(parsed)) for parsed in repeats),
    )
    if shortest or peak:
        parts = [
            f"{fmt.size(shortest[0])} in {fmt.quantity(shortest[1], 'ns')}{'' if peak else spread}"
            if shortest
            else "",
            f"peak {fmt.quantity(peak, 'B/s')}{spread} ({at})" if peak else "",
        ]
        several = len({row.benchmark for row in timings(repeats[0])}) > 1
        return f"{'PingPong ' if several else ''}{', '.join(filter(None, parts))}"
    rows, first = _first(repeats)
    if first is None:
        return ""
    name = stands_for(first)
    value = statistics.median(_values(first, repeats))
    size = "" if first.message_size is None else f" {fmt.size(first.message_size)}"
    of = f" ({STATISTICS[name]})" if STATISTICS.get(name) else ""
    more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
    joint = " in " if imb.METRICS[name].unit == "ns" else " at "
    return f"{first.benchmark}{size}{joint}{fmt.quantity(value, imb.METRICS[name].unit)}{spread}{of}{more}"


def _key(row: Timing) -> tuple[str, Part]:
    return row.benchmark, _part(row, "message_size")


def _first(repeats: Sequence[Parsed]) -> tuple[list[Timing], Timing | None]:
    """Return the lines that all repeats have, and that which stands for them: the first with bytes, past a cold start (`formulas.cold`)."""
    others = [set(map(_key, timings(parsed))) for parsed in repeats[1:]]
    rows = [row for row in timings(repeats[0]) if stands_for(row) and all(_key(row) in own for own in others)]
    first = next((row for row in rows if row.message_size), next(iter(rows), None))
    if first is None or imb.METRICS[stands_for(first)].unit != "ns":
        return rows, first
    alike = [row for row in rows if (row.benchmark, _part(row)) == (first.benchmark, _part(first))]
    sized = {
        row.message_size: row for row in alike if row.message_size and stands_for(row) == stands_for(first)
    }
    started = formulas.cold({size: statistics.median(_values(row, repeats)) for size, row in sized.items()})
    return rows, next(
        (row for size, row in sorted(sized.items()) if size not in started), first
    ) if started else first


def _values(row: Timing, repeats: Sequence[Parsed]) -> list[float]:
    """Return what stands for a line in each of the repeats, which all have it."""
    name, key = stands_for(row), _key(row)
    found = (next((getattr(r, name) for r in timings(parsed) if _key(r) == key), None) for parsed in repeats)
    return [value for value in found if value is not None]


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return the largest bandwidth of PingPong, else what stands for the first line with bytes, past a cold start."""
    peaks = [peak for parsed in repeats if (peak := _peak(parsed))]
    if len(peaks) == len(repeats):
        return [("B/s", peak) for peak in peaks]
    _, first = _first(repeats)
    return (
        [(imb.METRICS[stands_for(first)].unit, value) for value in _values(first, repeats)] if first else []
    )


def _curve(parsed: Parsed) -> dict[int, float]:
    """Return message size (B) → time (ns) of the first PingPong curve of a text; empty without one."""
    rows = [row for row in timings(parsed) if row.benchmark == "PingPong" and row.time]
    own = [row for row in rows if _part(row) == _part(rows[0])]
    return _times(reversed(own))  # of a size that comes twice the first


def _shortest(repeats: Sequence[Parsed]) -> tuple[int, float] | None:
    """Return the message without bytes, or the smallest past a cold start, and its time (ns): the median over the repeats."""
    curves = [_curve(parsed) for parsed in repeats]
    times = {
        n: statistics.median(own[n] for own in curves) for n in curves[0] if all(n in own for own in curves)
    }
    started = formulas.cold(times) if 0 in times else ()
    size = min((n for n in times if n <= 8 and n not in started), default=None) if 0 in times else None
    return None if size is None else (size, times[size])


def _peak(parsed: Parsed) -> float | None:
    """Return the largest bandwidth (B/s), from bytes and time."""
    return max(formulas.bandwidths(_curve(parsed)).values(), default=None)


def peak_at(offers: Iterable[formulas.MessageCurve]) -> str:
    """Return the size of the peak; of repeats that have it at different sizes "256 KiB to 4 MiB by run": no flat top, a point of each; of a
    curve that ends before its peak "8 B, still rising"."""
    known = list(offers)
    sizes = [one.peak_size for one in known if one.peak_size is not None]
    by_run = " by run" if len({*sizes}) > 1 else ""
    rising = ", still rising" if known and all(one.rises for one in known) else ""
    return f"{fmt.ends(*(fmt.size(end(sizes, default=None)) for end in (min, max)))}{by_run}{rising}"
