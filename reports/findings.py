"""Titles that say what the data says, by stated rules. A claim that the data does not carry is not made: the title
then names what was measured.

A difference is claimed where `derive.differs` allows it: repeats that do not overlap, medians further apart than 3 %
and than the spread of the repeats; further than 10 % where there are fewer than three repeats a side.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from reports import format as fmt
from reports.derive import LoadedLatency, MessageCurve, Mode, Spread, differs


def loaded_latency(curves: Sequence[LoadedLatency], noise: float = 0.0) -> str:
    """Say "Memory gives 21 to 27 GB/s before latency doubles".

    noise: the spread over the repeats of a typical row's latency or of a floor, whichever is wider, relative to its median.

    Said where every curve has four points or more and reaches twice its floor; else the peak or the subject alone.
    Nothing is said of rows that scatter by more than a quarter.
    """
    doubles = [c.at_double for c in curves if c.reached_double and c.at_double]
    if noise > 0.25 or any(c.rows < 4 for c in curves):
        return "Latency under load"
    if curves and len(doubles) == len(curves):
        scale = fmt.scale_to_largest(doubles, "B/s")
        low, high = scale.number(min(doubles), 2), scale.number(max(doubles), 2)
        return (
            f"Memory gives {low if low == high else f'{low} to {high}'} {scale.unit} before latency doubles"
        )
    if curves and not any(c.reached_double for c in curves):
        return f"Latency did not double up to {fmt.quantity(max(c.peak for c in curves), 'B/s', 2)}"
    return "Latency under load"


def climb(curves: Sequence[LoadedLatency], noise: float = 0.0) -> str:
    """Say "Where latency starts to climb" of curves that all reach twice their floor, beyond the repeats' scatter."""
    climbs = curves and all(c.reached_double and c.rows >= 4 for c in curves) and noise <= 0.25
    return "Where latency starts to climb" if climbs else "Latency by load and mix"


def matrix(
    title: str, local: Sequence[float], remote: Sequence[float], others: str = "other nodes’ memory"
) -> str:
    """Say "Idle latency: other nodes’ memory is at 1.7 × the own". With one node, or a difference within noise, the subject
    alone."""
    if not local or not remote:
        return title
    ratio = statistics.median(remote) / statistics.median(local)
    close = not differs(
        Spread(statistics.median(local), min(local), max(local), len(local)),
        Spread(statistics.median(remote), min(remote), max(remote), len(remote)),
    )
    if close:
        return f"{title} between NUMA nodes"
    return f"{title}: {others} is at {fmt.number(ratio, 2)} × the own"


def scaling(kernel: str, curves: Mapping[str, Mapping[int, Spread]], filled: Mapping[str, int | None]) -> str:
    """Say "Three threads fill local memory; remote costs 11 %".

    curves: place → threads → bandwidth; filled: place → first thread count with 95 % of the maximum.

    "n threads fill" needs two or more tested counts beyond n, or the claim is only that it is still rising;
    "costs" compares the two places' best thread counts.
    """
    if not curves:
        return f"{kernel} bandwidth"
    places = list(curves)
    first = "local" if "local" in curves else places[0]
    counts = sorted(curves[first])
    n = filled.get(first)
    parts = []
    alone = first == "local" or len(curves) == 1  # of several places, only local memory is spoken for
    if n is not None and alone and sum(c > n for c in counts) >= 2:
        subject = f"{first} memory" if first in ("local", "remote") else "memory"
        parts.append(
            f"{fmt.spelled(n).capitalize()} {'thread fills' if n == 1 else 'threads fill'} {subject}"
        )
    elif len(counts) >= 3 and alone and n == counts[-1]:
        parts.append(f"{kernel} bandwidth still rises at {fmt.plural(counts[-1], 'thread')}")
    if "local" in curves and "remote" in curves:
        best = {place: max(curves[place].values(), key=lambda s: s.median) for place in ("local", "remote")}
        if differs(best["local"], best["remote"]):
            change = best["remote"].median / best["local"].median - 1
            said = f"costs {fmt.percent(-change)}" if change < 0 else f"gives {fmt.percent(change)} more"
            parts.append(f"remote {'' if parts else 'memory '}{said}")
    title = "; ".join(parts)
    return title[:1].upper() + title[1:] if title else f"{kernel} bandwidth over threads"


def pingpong(curves: Mapping[str, tuple[MessageCurve, Spread | None]]) -> str:
    """Say "Crossing the socket costs 2.6 × in latency and 48 % of bandwidth".

    curves: relation → (derived numbers, 0-byte time with its repeats). Compares the farthest pair with the
    nearest one, by their small-message time.
    """
    known = {name: pair for name, pair in curves.items() if pair[0].small}
    if len(known) < 2:
        only = next(iter(known.values()), None)
        if only and only[0].small and only[0].peak:
            return f"A small message takes {fmt.quantity(only[0].small, 'ns', 2)}; bandwidth reaches {fmt.quantity(only[0].peak, 'B/s', 2)}"
        return "Message passing: time and bandwidth"
    ranked = sorted(known, key=lambda name: known[name][0].small or 0.0)
    near, far = known[ranked[0]], known[ranked[-1]]
    if not (near[0].small and far[0].small) or not differs(
        near[1] or _once(near[0].small), far[1] or _once(far[0].small)
    ):
        return "Message passing: time and bandwidth"
    said = _CROSSING.get(ranked[-1], f"“{ranked[-1]}” against “{ranked[0]}”")
    text = f"{said} costs {fmt.number(far[0].small / near[0].small, 2)} × in latency"
    if near[0].peak and far[0].peak and far[0].peak < near[0].peak * 0.9:
        text += f" and {fmt.percent(1 - far[0].peak / near[0].peak)} of bandwidth"
    return text


_CROSSING = {
    "other package": "Crossing the package",
    "other socket": "Crossing the socket",
    "other numa_node": "Crossing the NUMA node",
    "remote": "Remote memory",
}


def iodepth(curves: Mapping[str, Mapping[int, Spread]], reads: Sequence[str]) -> str:
    """Say "Past depth 8 the device gives no more reads, only more waiting".

    curves: series → iodepth → IOPS; `reads`: which of them are pure reads (else the first is spoken of). Said
    where the depth that reaches 95 % of the maximum has a deeper one behind it, and the first depth is well below.
    """
    name = next((r for r in reads if r in curves), next(iter(curves), None))
    if name is None:
        return "IOPS and latency over iodepth"
    line = curves[name]
    depths = sorted(line)
    best = max(line.values(), key=lambda s: s.median)
    full = next(d for d in depths if line[d].median >= 0.95 * best.median)
    what = "reads" if name in reads else "I/Os"
    if len(depths) >= 3 and full != depths[-1] and full != depths[0] and differs(line[depths[0]], best):
        return f"Past depth {full} the storage gives no more {what}, only more waiting"
    if len(depths) >= 3 and full == depths[-1] and differs(line[depths[-2]], line[depths[-1]]):
        return f"More depth still gives more {what} at {depths[-1]}"
    if len(depths) >= 3 and full == depths[0]:
        return f"Depth {full} gives all the {what} there are; more depth only waits"
    return "IOPS and latency over iodepth"


def modes(name: str, found: Sequence[Mode]) -> str:
    """Say "Reads, depth 1: two speeds, 15.0 µs (6.0 %) and 13.1 ms (94 %)". "" of one mode, or of more than four.

    `found`: modes that every repeat shows; a cache that holds a part of the data gives one, its share is the hit rate.
    """
    if not 2 <= len(found) <= 4:
        return ""
    listed = fmt.words(f"{fmt.quantity(m.at, 'ns')} ({fmt.percent(m.share)})" for m in found)
    return f"{name}: {fmt.spelled(len(found))} speeds, {listed}"


def tail(
    name: str, median: float | None, p999: float | None, largest: float | None, n: int, noun: str = "access"
) -> str:
    """Say "One access in a thousand takes 3.1 × the median, the slowest of 100 000 took 1.5 ms". Needs 10 000 samples."""
    if not median or not p999:
        return "Latency tails"
    text = f"{name}: one {noun} in a thousand takes over {fmt.number(p999 / median, 2)} × the median"
    if largest:
        text += f", the slowest of {fmt.count(n)} took {fmt.quantity(largest, 'ns', 2)}"
    return text


def overview(times: Sequence[tuple[str, float]]) -> str:
    """Say "From memory to flash: 57 ns to 186 µs": the fastest and the slowest row."""
    if len(times) < 2:
        return "Time for one access"
    low, high = min(v for _, v in times), max(v for _, v in times)
    return f"One access: {fmt.quantity(low, 'ns', 2)} to {fmt.quantity(high, 'ns', 2)}"


def _once(value: float) -> Spread:
    return Spread(value, value, value, 1)
