"""IMB: time of each message size (of collectives, of the slowest process); of PingPong also its figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from parsers import imb
from parsers.measurement import Measurement, Parsed, number
from reports import derive
from reports import format as fmt
from reports.frames import Run
from reports.numbers import _others
from reports.numbers.model import Number, Part, part_of

_HEADLINES: Final[tuple[str, ...]] = ("time", "time_max", "bandwidth", "message_rate")
"""IMB computes its bandwidth from `time_max`, so of a collective that time stands for the row."""


def numbers(run: Run) -> Iterator[Number]:
    """Give the time of each row, and the figures of each PingPong curve."""
    rows: dict[tuple[str, Part], dict[str, Measurement]] = {}
    for row in run.measured():
        part = part_of(row, "nprocs", "mode", "group", "message_size")
        rows.setdefault((str(row.get("benchmark") or ""), part), {}).setdefault(row.metric, row)
    curves: dict[Part, dict[int, Number]] = {}
    for (benchmark, part), by_metric in rows.items():
        directed = (n for n in by_metric if n in imb.METRICS and imb.METRICS[n].better != "neither")
        name = next((n for n in (*_HEADLINES, *directed) if n in by_metric), "")
        if not name:
            continue
        row = by_metric[name]
        found = Number.read(row, imb.METRICS[name], part, imb.PRINTED.get(name), kind=benchmark)
        if name == "time":
            found = _recovered(found, by_metric.get("bandwidth"))
        yield found
        size = row.get("message_size")
        if name == "time" and benchmark == "PingPong" and size is not None:
            curve = tuple(label for label in part if label[0] != "message_size")
            curves.setdefault(curve, {})[int(number(size))] = found
    for part, by_size in curves.items():
        if len(by_size) >= 4:
            yield from _pingpong(part, by_size)


def _recovered(time: Number, bandwidth: Measurement | None) -> Number:
    """Return the time from the bandwidth beside it, where that has more digits: 8 B in 0.19 µs at 42.11 MB/s took 190.0 ns.

    IMB computes the column from the time before it is rounded. What does not agree with the printed time within its last
    digit counts the bytes in another way and is left alone.
    """
    size = dict(time.name.part).get("message_size")
    if bandwidth is None or not size or bandwidth.unit != "B/s":
        return time
    rate = bandwidth.value
    found = number(size) / rate * 1e9 if rate > 0 else 0.0
    step = found * imb.PRINTED["bandwidth"] / rate if rate > 0 else math.inf
    if time.step is None or step >= time.step or abs(found - time.value) > time.step / 2 + step:
        return time
    return replace(time, value=found, step=step)


def _pingpong(part: Part, curve: Mapping[int, Number]) -> Iterator[Number]:
    """Start-up time α, peak and n½ of a PingPong curve, as in `derive`. α is that of small messages where the fit has two branches."""
    times = {size: found.value for size, found in curve.items() if found.value > 0}
    figures = derive.pingpong(times)
    fitted = derive.fit(times)
    if fitted and fitted.quotable[0].alpha > 0:
        yield Number.derived("α", "ns", "lower", fitted.quotable[0].alpha, part)
    if figures.peak is not None and figures.peak_size is not None:
        step = figures.peak * curve[figures.peak_size].resolution
        yield Number.derived("peak bandwidth", "B/s", "higher", figures.peak, part, step)
    if (
        figures.half_size is not None
    ):  # smaller only means better while the peak stays: no direction of its own
        yield Number.derived("n½", "B", "neither", figures.half_size, part)


def headline(parsed: Parsed) -> str:
    """Return "0 B in 190 ns, up to 11.9 GB/s"."""
    rows = list(parsed.measured())
    zero = next((r.value for r in rows if r.metric == "time" and r.get("message_size") == 0), None)
    peak = _peak(rows)
    parts = [
        f"0 B in {fmt.quantity(zero, 'ns')}" if zero else "",
        f"up to {fmt.quantity(peak, 'B/s')}" if peak else "",
    ]
    return ", ".join(filter(None, parts))


def leading(parsed: Parsed) -> tuple[str, float] | None:
    peak = _peak(list(parsed.measured()))
    return ("B/s", peak) if peak else _others.leading(parsed)


def _peak(rows: Sequence[Measurement]) -> float | None:
    """Return the largest bandwidth (B/s), from bytes and time."""
    times = {
        int(number(size)): r.value
        for r in rows
        if r.metric == "time" and (size := r.get("message_size")) is not None
    }
    return max(derive.bandwidths(times).values(), default=None)
