"""Titles that say what the data says, by stated rules. A claim that the data does not carry is not made: the title
then names what was measured.

A difference is claimed where `formulas.differs` allows it: repeats that do not overlap, medians further apart than 3 %
and than the spread of the repeats; further than 10 % where there are fewer than three repeats a side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from reports.numbers.formulas import Mode, Spread, differs, saturations
from reports.text import format as fmt

_TAIL: Final = 1.1
"""How many times the median the 99.9 % are at least where a title tells of them."""


def _from_to(values: Sequence[float], unit: str) -> str:
    """Return "21.0 to 27.1 GB/s", or "21.0 GB/s" where both are written alike."""
    scale = fmt.scale_to_largest(values, unit)
    return f"{fmt.ends(scale.number(min(values)), scale.number(max(values)))} {scale.unit}"


def between_cores(what: str, groups: Mapping[str, Sequence[Spread]]) -> str:
    """Say "A modified line takes 45.1 to 62.0 ns in one cache, 210 to 240 ns between packages": the lowest and the highest median of each
    kind of pair; of pairs of which nothing tells the kind ("") without one. The subject alone where a pair scatters by more than a quarter.
    """
    if any(s.unsteady for same in groups.values() for s in same):
        return f"{what}, from core to core"
    said = [
        f"{fmt.span([s.median for s in same], 'ns', same[0].step)} {word}".rstrip()
        for word, same in groups.items()
        if same
    ]
    return f"{what} takes {', '.join(said)}" if said else f"{what}, from core to core"


def scaling(
    kernel: str,
    curves: Mapping[str, Mapping[int, Spread]],
    full: Mapping[str, Sequence[float]] | None = None,
) -> str:
    """Say "Three threads fill local memory; remote costs 11.2 % at 4 threads".

    curves: place → threads → bandwidth; full: place → the counts at which its repeats reach 95 % of their maximum, if not that of the
    medians.

    "n threads fill" says which count is the first with 95 % of the maximum, in all repeats, and needs two or more tested counts
    beyond n, or the claim is only that it is still rising. "costs" compares the two places at the best thread count of local memory.
    """
    if not curves:
        return f"{kernel} bandwidth"
    places = list(curves)
    first = "local" if "local" in curves else places[0]
    line = curves[first]
    counts = sorted(line)
    at = max(line, key=lambda count: line[count].median)
    n = _agreed(line, (full or {}).get(first))
    parts = []
    alone = n is not None and (first == "local" or len(curves) == 1)  # of several places, only local memory
    if n is not None and alone and sum(c > n for c in counts) >= 2:
        subject = f"{first} memory" if first in ("local", "remote") else "memory"
        parts.append(
            f"{fmt.spelled(n).capitalize()} {'thread fills' if n == 1 else 'threads fill'} {subject}"
        )
    elif (
        n is not None
        and alone
        and len(counts) >= 3
        and n == counts[-1]
        and differs(line[counts[-2]], line[n])
    ):
        parts.append(f"{kernel} bandwidth still rises at {fmt.plural(counts[-1], 'thread')}")
    remote = curves.get("remote", {}).get(at) if first == "local" and at else None  # 0: nothing says how many
    if remote and differs(line[at], remote):
        change = remote.median / line[at].median - 1
        said = f"costs {fmt.percent(-change, 3)}" if change < 0 else f"gives {fmt.percent(change, 3)} more"
        parts.append(f"remote {'' if parts else 'memory '}{said} at {fmt.plural(at, 'thread')}")
    title = "; ".join(parts)
    return fmt.sentence(title) if title else bandwidth(kernel, curves.values())


def bandwidth(kernel: str, curves: Iterable[Mapping[int, Spread]]) -> str:
    """Return the subject alone: "Triad bandwidth over threads", of curves that have one count of threads each "Triad bandwidth"."""
    return bandwidths(kernel)[any(len(line) > 1 for line in curves)]


def bandwidths(kernel: str) -> tuple[str, str]:
    """Return what `bandwidth` may be: titles that say nothing of the data."""
    return f"{kernel} bandwidth", f"{kernel} bandwidth over threads"


def _agreed(line: Mapping[int, Spread], full: Sequence[float] | None) -> int | None:
    """Return where a curve is full, None where its repeats do not agree."""
    found = saturations([{n: of.median for n, of in line.items()}]) if full is None else full
    return int(found[0]) if len(found) == 1 else None


class Messages(NamedTuple):
    """What a curve of messages between two ranks offers."""

    at: str  # the sizes of its latency in words
    time: Spread  # that latency, ns
    peak: Spread | None  # B/s
    peak_at: str = ""  # its size, or sizes
    last: tuple[str, Spread] | None = None  # the largest size, and the bandwidth there


class Told(NamedTuple):
    """A title of messages, and of what its numbers are."""

    text: str
    of: tuple[str, ...] = ()  # the curves whose latency it tells
    peaks: bool = False  # and their bandwidth, too?


def pingpong(curves: Mapping[str, Messages]) -> str:
    """Return the text of `crossing`."""
    return crossing(curves).text


def crossing(curves: Mapping[str, Messages]) -> Told:
    """Say "Crossing the socket costs 2.58 × in latency at 0 B and 47.7 % of bandwidth"; of a single pair "A message of 0 B takes 115 ns; bandwidth
    reaches 65.9 GB/s at 256 KiB and falls to 2.19 GB/s at 4 MiB", the last where that is less than half.

    curves: relation → what it offers. Compares the farthest pair with the nearest one, by the latency, where it is of the same sizes. What
    its repeats do not agree on is not said.
    """
    ranked = sorted(curves, key=lambda name: curves[name].time.median)
    subject = Told("Message passing: time and bandwidth")
    if not ranked:
        return subject
    near, far = curves[ranked[0]], curves[ranked[-1]]
    if len(ranked) == 1 and near.peak and not near.time.unsteady and not near.peak.unsteady:
        text = f"A message of {near.at} takes {fmt.quantity(near.time.median, 'ns')}; bandwidth reaches {_peak(near.peak, near.peak_at)}"
        if near.last and near.last[1].median < near.peak.median / 2 and differs(near.last[1], near.peak):
            text += f" and falls to {_peak(near.last[1], near.last[0])}"
        return Told(text, (ranked[0],), peaks=True)
    if len(ranked) == 1 or near.at != far.at or not differs(near.time, far.time):
        return subject
    said = _CROSSING.get(ranked[-1], f"“{ranked[-1]}” against “{ranked[0]}”")
    text = f"{said} costs {fmt.number(far.time.median / near.time.median)} × in latency at {near.at}"
    ends = (ranked[0], ranked[-1])
    if near.peak and far.peak and far.peak.median < near.peak.median and differs(near.peak, far.peak):
        text += f" and {fmt.percent(1 - far.peak.median / near.peak.median, 3)} of bandwidth"
        return Told(text, ends, peaks=True)
    return Told(text, ends)


def _peak(rate: Spread, at: str) -> str:
    return f"{fmt.quantity(rate.median, 'B/s')}{f' at {at}' if at else ''}"


_CROSSING = {
    "other package": "Crossing the package",
    "other socket": "Crossing the socket",
    "other numa_node": "Crossing the NUMA node",
    "remote": "Remote memory",
}


def spoken_of(curves: Iterable[str], reads: Sequence[str]) -> str | None:
    """Return the series that `iodepth` speaks of: the first of the pure reads, else of all."""
    known = list(curves)
    return next((r for r in reads if r in known), next(iter(known), None))


def iodepth(
    curves: Mapping[str, Mapping[int, Spread]],
    waits: Mapping[str, Mapping[int, Spread]],
    reads: Sequence[str],
    full: Mapping[str, Sequence[float]] | None = None,
    *,
    every: bool = False,
) -> str:
    """Say "Past depth 8 the storage gives hardly more reads, only more waiting".

    curves: series → iodepth → IOPS; waits: series → iodepth → latency; `reads`: which of them are pure reads (else the first is
    spoken of); full: series → the depths at which its repeats reach 95 % of their maximum, if not that of the medians. Said where that is one depth in all repeats
    and has a deeper one behind it, the first depth is well below, and the deepest waits longer. every: of all series, where they do the same: "hardly more
    IOPS"; else the subject.
    """
    name = spoken_of(curves, reads)
    if name is None or len(curves[name]) < 2:
        return "IOPS and latency"
    spoken = [*curves] if every else [name]
    what = "IOPS" if every else "reads" if name in reads else "I/Os"
    said = {_depth(curves[of], waits.get(of, {}), (full or {}).get(of), what) for of in spoken}
    return (said.pop() if len(said) == 1 else "") or "IOPS and latency over iodepth"


def _depth(
    line: Mapping[int, Spread], wait: Mapping[int, Spread], full: Sequence[float] | None, what: str
) -> str:
    """Say what more depth gives of a series; "" where its repeats do not carry that."""
    depths, at = sorted(line), _agreed(line, full)
    if len(depths) < 3 or at is None:
        return ""
    best = max(line.values(), key=lambda s: s.median)
    if at == depths[-1] and differs(line[depths[-2]], line[at]):
        return f"More depth still gives more {what} at {at}"
    waited = at in wait and depths[-1] in wait and wait[at].median < wait[depths[-1]].median
    if not waited or not differs(wait[at], wait[depths[-1]]):
        return ""
    if at == depths[0]:
        return f"Depth {at} gives nearly all the {what} there are; more depth only waits"
    if differs(line[depths[0]], best):
        return f"Past depth {at} the storage gives hardly more {what}, only more waiting"
    return ""


def within(name: str, iops: float, depth: int, limit: float) -> str:
    """Say "Randread: 51.2 kIOPS with p99 within 1 ms, at depth 16".

    iops (1/s): the median of a depth at which p99 keeps the limit (ns) in every repeat.
    """
    return f"{name}: {fmt.quantity(iops, 'IOPS')} with p99 within {fmt.quantity(limit, 'ns', 1)}, at depth {depth}"


def percentiles(tails: Sequence[float]) -> str:
    """Say "p99 is 1.80 to 121 × the median", of how many times its median the p99 of each repeat is, all of which it holds for; of none the subject."""
    if not tails:
        return "Percentiles of the latency over iodepth"
    return f"p99 is {fmt.times(min(tails), max(tails), outwards=True)} the median"


def modes(name: str, found: Sequence[Mode]) -> str:
    """Say "Reads, depth 1: two speeds, 15.0 µs (6.0 %) and 13.1 ms (94 %)". "" of one mode, or of more than four.

    `found`: modes that every repeat shows; a cache that holds a part of the data gives one, its share is the hit rate.
    """
    if not 2 <= len(found) <= 4:
        return ""
    listed = fmt.words(f"{fmt.quantity(m.at, 'ns')} ({fmt.percent(m.share)})" for m in found)
    return f"{name}: {fmt.spelled(len(found))} speeds, {listed}"


def tail(
    name: str,
    tails: Sequence[float],
    largest: float | None,
    n: int,
    noun: str = "access",
    *,
    one_in: str = "thousand",
    longer: tuple[str, float] | None = None,
) -> str:
    """Say "Memory, 1 GB: one access in a thousand takes over 3.11 × the median, the slowest of 100 000 took 1.49 ms"; of several
    repeats "… in each repeat", whose bound is that of the one with the shortest tail. Needs 10 000 samples a run, 1000 of one in a hundred. Of a tail that lies at
    the median, as that of a timer alone may, "Empty access: the slowest of 300 000 took 48.3 µs".

    tails: how many times its median the 99.9 % of each repeat are, or the 99 %: `one_in` a "hundred". longer: which other one has a longer tail, and the shortest of its
    repeats': "(memory, 1 kB: over 9.20 ×)".
    """
    if not tails:
        return "Latency tails"
    slowest = f"the slowest of {fmt.count(n)} took {fmt.quantity(largest, 'ns')}" if largest else ""
    if min(tails) < _TAIL and not longer:
        return f"{name}: {slowest}" if slowest else "Latency tails"
    in_each = " in each repeat" if len(tails) > 1 else ""
    beside = f" ({longer[0]}: over {fmt.number(longer[1], rounding=fmt.DOWN)} ×)" if longer else ""
    text = f"{name}: one {noun} in a {one_in} takes over {fmt.number(min(tails), rounding=fmt.DOWN)} × the median{in_each}{beside}"
    return f"{text}, {slowest}" if slowest else text


def overview(times: Sequence[tuple[str, Spread, bool]], steps: Sequence[float | None] = ()) -> str:
    """Say "One access: 57.0 ns (Memory, idle) to 186 µs (4 KiB read, iodepth 1)", "One access: at most 18.1 ns in the median (Memory, 1 kB) to …": the
    fastest and the slowest row (its name, ns over the repeats, whether that is a bound: most of it is the timer; `steps`: the last digits that are printed); of fewer than two, and where all are
    bounds, the subject alone. Where these two do not differ beyond their repeats no row does, and none is named."""
    if len(times) < 2 or all(bound for *_, bound in times):
        return "Time for one access"
    rows = range(len(times))
    first, last = (end(rows, key=lambda i: times[i][1].median) for end in (min, max))
    ends = (times[first], times[last])
    digits = (steps[first], steps[last]) if steps else (None, None)
    told = (
        fmt.qualified(fmt.quantity(value.median, "ns", step=step), about=value.unsteady)
        for (_, value, _), step in zip(ends, digits, strict=True)
    )
    low, high = (
        f"at most {text} in the median" if bound else text
        for (*_, bound), text in zip(ends, told, strict=True)
    )
    if low == high:
        return f"One access: {low}"
    if not differs(ends[0][1], ends[1][1]):
        return f"One access: {low} to {high}, no difference that can be told"
    return f"One access: {low} ({ends[0][0]}) to {high} ({ends[1][0]})"
