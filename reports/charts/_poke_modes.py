"""What each peak of a histogram most likely is, and how much of the data was in a cache: the share of a peak times the size. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final, NamedTuple

from parsers.units import size_bytes
from reports.charts._tails import Distribution
from reports.draw.figure import ROW, Table, row_of
from reports.numbers.formulas import Mode
from reports.numbers.poke import latencies
from reports.readings.poke import first as first_of
from reports.results.convicted import OTHER
from reports.results.hardware import FITS, caches_above
from reports.results.model import Run
from reports.text import format as fmt

ALIKE: Final = 1.2
"""Times whose ratio is at most this are of one place."""
INTERRUPTED_NS: Final = 10_000.0
"""A sample of memory or of a loop that takes so much longer was not left alone."""
PAGE_CACHE_NS: Final = 20_000.0
"""A read of a file that takes at most this, and less than half of a direct one, asked no device."""
SEEKS_NS: Final = 2e6
"""An access to a device that takes longer waits for a disk to turn, or for others."""
PAGE_CACHE: Final = "page cache"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What other cells tell of the places where data can be: their medians (ns)."""

    levels: dict[tuple[str, str], float] = field(
        default_factory=dict
    )  # "read", "L2" → of the largest array that fits
    device: float | None = None  # of reads past the page cache


class Told(NamedTuple):
    """A mode and what it most likely is."""

    mode: Mode
    what: str
    held: str  # the cache that it is a hit of: "L3", "page cache"; "" of none


class Mass(NamedTuple):
    """How much of what was accessed lay in a cache, by the share of accesses that hit it."""

    cache: str  # "L3", "page cache"
    share: float
    size: int  # bytes that were accessed


def reach(run: Run) -> int:
    """Return how many bytes a run's accesses were spread over: the window, else the size; 0 where nothing tells."""
    told = [run.options.get(name) for name in ("window", "bytes")]
    return min((size_bytes(str(value)) for value in told if value is not None), default=0)


def known(runs: Iterable[Run]) -> Known:
    """Return what the cells tell of which it is sure where their data lay."""
    largest: dict[tuple[str, str], tuple[int, list[float]]] = {}
    direct: list[float] = []
    for run in filter(attrgetter("sound"), runs):
        target, size = run.options.get("target"), reach(run)
        level = _fits(size, caches_above(run)) if target == "memory" else ""
        for part, told in latencies(run).items():
            op, median = str(dict(part)["op"]), told.get("p50")
            if median is None:
                continue
            if target == "file" and run.options.get("direct") and op == "read":
                direct.append(median)
            elif level and size >= (known := largest.get((op, level), (0, [])))[0]:
                largest[op, level] = size, [*(known[1] if size == known[0] else ()), median]
    return Known(
        levels={of: statistics.median(own) for of, (_, own) in largest.items()},
        device=statistics.median(direct) if direct else None,
    )


def _fits(size: int, caches: Sequence[tuple[int, int]]) -> str:
    """Return the cache that most of some data is in; "" where that is not sure."""
    places = _places(size, caches) if size else ()
    return places[0] if len(places) == 1 and places[0] != MEMORY else ""


def in_memory(run: Run) -> bool:
    """Is most of a run's array in memory, for sure: is it beyond what its caches may hold?"""
    return bool(caches := caches_above(run)) and _places(reach(run), caches) == (MEMORY,)


def _places(size: int, caches: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    """Return where most of some data is: the smallest cache with room for it, or memory; before it the next smaller one, where that may hold
    half of it."""
    at = next((i for i, (_, room) in enumerate(caches) if size <= FITS * room), len(caches))
    own = f"L{caches[at][0]}" if at < len(caches) else MEMORY
    level, room = caches[at - 1] if at else (0, 0)
    return (f"L{level}", own) if size <= 2 * room else (own,)


MEMORY: Final = "memory"


TIMER: Final = "not told from the timer"


def explained(d: Distribution, others: Known) -> list[Told]:
    """Return the modes of a distribution, from the fastest, each with what it most likely is; "" where nothing tells, as of one that is hollow."""
    if d.hollow:
        return [Told(mode, "", "") for mode in d.modes]
    by = {"memory": _memory, "file": _file, "compute": _loop, "null": _timer}.get(d.target)
    return by(d, others) if by else [Told(mode, "", "") for mode in d.modes]


def _main(d: Distribution) -> Mode:
    return max(d.modes, key=lambda mode: mode.share)


def _memory(d: Distribution, others: Known) -> list[Told]:
    caches, size, main = caches_above(d.runs[0]), reach(d.runs[0]), _main(d)
    if not caches or not size:
        return [Told(mode, "", "") for mode in d.modes]
    places = _places(size, caches)
    home = places[0] if len(places) == 1 else ""
    levels = {level: median for (op, level), median in others.levels.items() if op == d.op}
    last = levels.get(f"L{caches[-1][0]}", 0.0)
    smaller = next(
        (room for level, room in reversed(caches) if places[-1] != MEMORY and f"L{level}" < places[-1]), 0
    )

    def what(mode: Mode) -> str:
        if timed_by_the_timer(d, mode.at):
            return TIMER
        near = min(levels, key=lambda level: _apart(levels[level], mode.at), default="")
        if mode is main:
            return " or ".join(places)
        if mode.at >= max(INTERRUPTED_NS, 5 * main.at):
            return "interrupted, by a page fault or by other work on this CPU"
        if near and _apart(levels[near], mode.at) <= ALIKE:
            return near
        if mode.at > main.at:
            slower = {MEMORY: "memory, after a walk through the page tables", f"L{caches[-1][0]}": MEMORY}
            return slower.get(home, MEMORY if places[-1] == MEMORY else "a larger cache, or memory")
        if home == MEMORY:
            return "memory, its page’s translation at hand" if last and mode.at > last else "a cache, or its page’s translation at hand"  # fmt: skip
        word, room = ("a cache", caches[-1][1]) if places[-1] == MEMORY else ("a smaller cache", smaller)
        return word if mode.share * size <= room else ""

    found = [(mode, what(mode)) for mode in d.modes]
    all_told = all(word for _, word in found)  # else what is not told may be of the same cache
    return [
        Told(mode, word, word if all_told and word[:1] == "L" and word[1:].isdigit() else "")
        for mode, word in found
    ]


def _apart(a: float, b: float) -> float:
    return max(a, b) / min(a, b) if min(a, b) > 0 else float("inf")


def _file(d: Distribution, others: Known) -> list[Told]:
    options = d.runs[0].options
    writes = d.op != "read"
    cached = min(PAGE_CACHE_NS, (others.device or math.inf) / 2)
    past = bool(options.get("direct") or options.get("fsync"))

    slow = [mode for mode in d.modes if past or mode.at > cached]
    main = max(slow, key=lambda mode: mode.share, default=None)

    def what(mode: Mode) -> str:
        if mode not in slow:
            return PAGE_CACHE
        if writes and not past:
            return "waiting for pages to be written"
        if others.device and not past and _apart(others.device, mode.at) <= 3:
            return f"the device (direct reads: {fmt.quantity(others.device, 'ns')})"
        if mode is main:
            return "the device" if mode.at < SEEKS_NS else "a disk that seeks, or a queue before it"
        if main and mode.at < main.at:
            return "a cache of the device, or of what it is behind"
        return "the device, after other work"

    found = [(mode, what(mode)) for mode in d.modes]
    return [Told(mode, word, PAGE_CACHE if word == PAGE_CACHE and not writes else "") for mode, word in found]


_OTHER_WORK: Final = "in which other work had the CPU"


def _loop(d: Distribution, others: Known) -> list[Told]:  # noqa: ARG001
    first = d.modes[0]
    if timed_by_the_timer(d, first.at):
        return [Told(mode, "the timer, more than the loop" if mode is first else "", "") for mode in d.modes]
    return [
        Told(
            mode,
            "the loop"
            if mode is first
            else f"the loop, and {fmt.quantity(mode.at - first.at, 'ns', 2)} {_OTHER_WORK}"
            if mode.at - first.at >= 10 * INTERRUPTED_NS
            else "the loop, slower: the clock, or its data",
            "",
        )
        for mode in d.modes
    ]  # fmt: skip


def timed_by_the_timer(d: Distribution, median: float) -> bool:
    """Is more than half of a time (ns) what the timer itself takes?"""
    return any((first_of(run, "timer_overhead") or 0.0) > median / 2 for run in d.runs)


def _timer(d: Distribution, others: Known) -> list[Told]:  # noqa: ARG001
    return [
        Told(mode, "the timer alone" if i == 0 else "the timer, and an interruption", "")
        for i, mode in enumerate(d.modes)
    ]


def mass(d: Distribution, others: Known) -> Mass | None:
    """Return how much of the data lay in the largest cache that some accesses hit and others missed; None where all or none did."""
    told = explained(d, others)
    held = [one for one in told if one.held]
    size = reach(d.runs[0])
    if not held or len(held) == len(told) or not size:
        return None
    share = sum(one.mode.share for one in held)
    if held[-1].held == PAGE_CACHE and _filled(d, share):
        return None
    return Mass(cache=held[-1].held, share=share, size=size)


PAGE: Final = 4096


def _filled(d: Distribution, share: float) -> bool:
    """Did the reads that missed fill the page cache as they went? Where their pages are more than a quarter of the file, the share tells
    of them and not of what was there before."""
    missed = d.n / len(d.runs) * (1 - share)
    return missed * PAGE > reach(d.runs[0]) / 4


def title(name: str, d: Distribution, others: Known) -> str:
    """Say "File, 8 GB: 41 % of the reads hit the page cache, so it held 3.3 GB"; "" where nothing was hit in part, where the repeats do not
    agree on the modes, and where the size of the cache speaks against it: it had room for all of the data, or not for so much of it."""
    found = mass(d, others)
    if found is None or d.op != "read" or not d.steady_modes or not 0.02 <= found.share <= 0.98:
        return ""
    room = {f"L{level}": size for level, size in caches_above(d.runs[0])}.get(found.cache)
    if room is not None and not found.share * found.size <= room < found.size:
        return ""
    of = f"the {found.cache}" if found.cache == PAGE_CACHE else found.cache
    return f"{name}: {fmt.percent(found.share)} of the reads hit {of}, so it held {part(found.share, found.size)}"


def loop_title(name: str, d: Distribution, others: Known) -> str:
    """Say "Sine, 100 000 turns: 833 µs; in 19 % other work had the CPU for a while": a loop that waits is not one of several speeds. "" where
    nothing else had it, and where the repeats do not agree on the modes."""
    waited = [one.mode.share for one in explained(d, others) if one.what.endswith(_OTHER_WORK)]
    if not waited or not d.steady_modes:
        return ""
    return f"{name}: {fmt.quantity(d.modes[0].at, 'ns')}; in {fmt.percent(sum(waited))} other work had the CPU for a while"


_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_DECIMAL: Final = ("B", "kB", "MB", "GB", "TB")


def part(share: float, size: int) -> str:
    """Return so much of a size, in units of the kind that the size is said in: `part(0.41, 8 * 10**9)` is "3.3 GB"; "all 8 GB"."""
    if share > 1 - 1e-9:
        return f"all {fmt.size(size)}"
    base, units = (1024, _BINARY) if fmt.size(size).endswith("iB") else (1000, _DECIMAL)
    value, unit = share * size, 0
    while float(f"{value:.2g}") >= base and unit + 1 < len(units):
        value, unit = value / base, unit + 1
    return f"{fmt.number(value, 2)} {units[unit]}"


def _told_once(modes: Sequence[Told]) -> list[Told]:
    """Return modes of which each explanation is that of one, the largest; the others say that it does not tell them from that:
    "page cache, as the 793 ns; nothing tells why it is faster"."""
    by_size = sorted(modes, key=lambda one: -one.mode.share)
    first = {one.what: one for one in reversed(by_size)}
    return [one if one.what in ("", TIMER) or first[one.what] is one else _as(one, first[one.what].mode) for one in modes]  # fmt: skip


def _as(one: Told, other: Mode) -> Told:
    pace = "faster" if one.mode.at < other.at else "slower"
    return one._replace(what=f"{one.what}, as the {fmt.quantity(other.at, 'ns')}; nothing tells why it is {pace}")  # fmt: skip


def _recorded(run: Run, cache: str, data: int) -> str:
    """Return what the machine says of a cache that is smaller than the data: "L3 32 MiB", of the page cache "at most 21.3 GiB"; "–" where it is
    not recorded, and of a larger one, of whose size a part of the data tells nothing."""
    if cache == PAGE_CACHE:
        available = run.session.facts.get("memory_available_bytes")
        room = available if isinstance(available, int | float) and not run.captured else None
    else:
        room = next((size for level, size in caches_above(run) if f"L{level}" == cache), None)
    if not room or room >= data:
        return fmt.NOTHING
    return f"at most {fmt.size(room)}" if cache == PAGE_CACHE else f"{cache} {fmt.size(room)}"


def table(found: Sequence[Distribution], others: Known) -> Table | None:
    """Return a row for each mode of each histogram: where it is, how much is in it, what it most likely is; and where it is a hit of a
    cache, share × size, the part of the data that was found there, beside what the machine says of a cache that is smaller than the data.
    None where there is one peak each and nothing explains it."""
    rows: list[tuple[str, ...]] = []
    whose = []
    held_by, few = False, False
    for d in found:
        told = _told_once(explained(d, others))
        share = sum(one.mode.share for one in told if one.held == PAGE_CACHE)
        alike = len(d.modes) < 2 or d.steady_modes  # else a share tells of the repeats, and of no cache
        size = 0 if not alike or (d.target == "file" and _filled(d, share)) else reach(d.runs[0])
        for mode, what, held in told:
            n = d.in_repeats(mode)
            lacking = n < len(d.by_run)
            held_by |= bool(held)
            few |= lacking
            rows.append(
                (
                    d.name, fmt.quantity(mode.at, "ns") if n else fmt.NOTHING, fmt.percent(mode.share),
                    (fmt.NOTHING if n else _no_peak(mode, d)) if lacking else what or fmt.NOTHING,
                    f"{n} of {len(d.by_run)}" if n else fmt.NOTHING,
                    part(mode.share, size) if held and size and not lacking else fmt.NOTHING,
                    _recorded(d.runs[0], held, size) if held and not lacking else fmt.NOTHING,
                )
            )  # fmt: skip
            whose.append(row_of(d.runs))
    if len(rows) == len(found) and all(row[3] == fmt.NOTHING for row in rows):
        return None
    heads = {"Histogram": "", "Mode": _MODES, "Share": _MODES, "Most likely": "", "In repeats": _MODES, "Of the data": _MODES, "The machine tells": ""}  # fmt: skip
    beside = any(row[-1] != fmt.NOTHING for row in rows)
    left_out = {
        *(() if few else ("In repeats",)),
        *(() if held_by else ("Of the data",)),  # of a loop, say
        *(() if beside else ("The machine tells",)),
    }
    kept = [i for i, head in enumerate(heads) if head not in left_out]
    columns = [head for head in heads if head not in left_out]
    caption = "Where the peaks are, and what they most likely are"
    if held_by:
        caption += (
            ": by the sizes of the caches, by cells whose data fits into one, by direct reads. "
            "Random accesses hit a cache as often as it holds their data. Of the data: share × size, the part that was found there, in all modes of the "
            "cache together"
        )
        caption += ". The machine tells: the size of a cache, where the data is larger" * beside
    return Table(
        columns=tuple(columns),
        rows=tuple(tuple(row[i] for i in kept) for row in rows),
        numeric=frozenset(i for i, head in enumerate(columns) if head not in ("Histogram", "Most likely")),
        of=tuple(whose),
        metrics={ROW: OTHER} | {i: heads[head] for i, head in enumerate(columns) if heads[head]},
        caption=caption + ". What not each repeat has is not explained" * few,
    )  # fmt: skip


def _no_peak(mode: Mode, d: Distribution) -> str:
    """Return what a mode is that only the repeats together make: "no common peak; the repeats’ lie at 289, 375 and 387 ns", of many
    "at 289 to 387 ns"."""
    own = d.peaks_about(mode)
    if not own:
        return "no peak of a repeat"
    scale = fmt.scale_for(own, "ns")
    told = [*dict.fromkeys(scale.number(at) for at in own)]
    at = f"{fmt.words(told)} {scale.unit}" if len(told) <= _LISTED else fmt.span(own, "ns")
    return f"no common peak; the repeats’ lie at {at}"


_LISTED: Final = 4
"""Peaks of repeats; of more, the range."""

_MODES: Final = "latency/modes"
"""What doubts of modes may be of, as `numbers.Name.tells_of`."""
