"""Latency tails: the distribution of single accesses to memory and files, by the poke kernel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from parsers.units import size_bytes
from reports.charts import _density, _poke_modes, _poke_moments, _tails, facets, titles, wording
from reports.charts._tails import Distribution
from reports.charts.chapter import AccessTime, Chapter
from reports.charts.soundness import counted
from reports.draw import vega
from reports.draw.figure import MOST_ROWS, Figure, Key, Table, row_of
from reports.numbers import Buckets, Number, Part, formulas, scatter
from reports.numbers.clock import step as values_apart
from reports.numbers.formulas import Sampled
from reports.numbers.poke import histograms, latencies, sampled, step_of, totals, turns_of
from reports.page.model import KeyNumber
from reports.readings.poke import first
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import program_name
from reports.text import format as fmt

SECTION = "Latency tails"
RANK = 40
METHODS = (
    "Tails: the repeats’ buckets are added up for the picture and its modes; buckets are at most 1 % wide. A quantile is the "
    "median over the repeats of what poke prints of each run; it is given where at least ten samples lie beyond it. The time per "
    "turn of a loop is the median sample through its turns. A mode reaches from valley to valley; what is below 2 % is none."
)


def chapter(results: Results, tool: str = "poke") -> Chapter:
    """Draw per sweep the tails of up to four targets, and histograms of the first in all its sizes."""
    runs = results.shown(tool)
    figures: list[Figure] = []
    key_numbers: list[KeyNumber] = []
    accesses: list[AccessTime] = []
    every: list[Distribution] = []
    for sweep, members in group_by(runs, lambda r: r.cell.sweep).items():
        read = _read(members)
        found = read.distributions
        every += [replace(d, buckets=(), by_run=()) for d in found]  # which are large
        if found and (not read.totals or any(d.n > _HANDFUL for d in found)):
            figures.append(_figure(sweep, members, read))
            key_numbers += _key_numbers([d for d in found if not d.hollow])
            accesses += _access_times(found)
        if summed := _totals(sweep, members, read.totals):
            figures.append(summed)
    if moments := _poke_moments.figure(every, _block):
        figures.append(moments)
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers[:1]),
        access_times=tuple(accesses),
        programs=wording.programs(runs),
    )


class _Read(NamedTuple):
    """What the runs of a sweep tell, each read once."""

    distributions: list[Distribution]
    blocks: Mapping[str, set[int]]  # `_blocks`
    timers: list[float]  # ns, what a look at the timer costs
    totals: list[tuple[Run, Number]]


def distributions(runs: Sequence[Run]) -> list[Distribution]:
    """Return one distribution per cell and operation, in the order of the experiment; of very many hosts, one of them all. Those that are
    in no table have no buckets (`_with_buckets`)."""
    return _read(runs).distributions


def _read(runs: Sequence[Run]) -> _Read:
    own = 1 if facets.pooled(runs) else 0  # of many hosts, the file counts for nothing
    blocks: dict[str, set[int]] = {}
    found: list[tuple[Distribution, Run, int | None]] = []
    timers: list[float] = []
    sums: dict[Run, list[Number]] = {}
    for repeats in group_by(runs, lambda run: facets.cell(run)[own:]).values():
        found += _distributions(repeats, shown=len(found) < MOST_ROWS)
        for target, sizes in _blocks(repeats).items():
            blocks.setdefault(target, set()).update(sizes)
        for run in repeats:
            if time := first(run, "timer_overhead"):
                timers.append(time)
            if told := list(totals(run)):
                sums[run] = told
    named = [(_name(run, d.target, d.op, turns, len(blocks.get(d.target, ())) > 1), d.runs[0]) for d, run, turns in found]  # fmt: skip
    return _Read(
        distributions=[replace(d, name=name) for name, (d, *_) in zip(facets.names_apart(named), found, strict=True)],
        blocks=blocks,
        timers=timers,
        totals=[(run, number) for run in runs for number in sums.get(run, ())],
    )  # fmt: skip


_HANDFUL = 10
"""Samples of all repeats together; of so few there is no distribution beside their total."""


def _distributions(repeats: Sequence[Run], *, shown: bool) -> Iterator[tuple[Distribution, Run, int | None]]:
    """Give the distributions of a cell, each with one of its runs and the turns of its loop; with buckets where they are `shown`."""
    members: dict[Part, list[Any]] = {}
    for run in repeats:
        told = latencies(run)
        for part, of in _histograms(run) if shown else _sampled(run):
            members.setdefault(part, []).append((run, of, told[part]))
    least = max((first(run, "timer_resolution") or 0.0 for run in repeats), default=0.0)
    every = [of for same in members.values() for _, of, _ in same] if shown and least else []
    step = max([least, *(values_apart(of, least) for of in every)])
    made = _tails.pooled if shown else _tails.folded
    for part, same in members.items():
        target, op = (str(value) for _, value in part)
        yield made("", target, same, op=op, step=step), same[0][0], turns_of(same[0][0]).get(part)


def _histograms(run: Run) -> Iterator[tuple[Part, Buckets]]:
    return ((name.part, own) for name, own in histograms(run))


def _sampled(run: Run) -> Iterator[tuple[Part, Sampled]]:
    return (((("target", of.target), ("op", of.op)), of) for of in sampled(run))


def _with_buckets(d: Distribution) -> Distribution:
    """Return the distribution with its buckets, which are read again where it has none."""
    if d.buckets:
        return d
    own = [
        one for one, _, _ in _distributions(d.runs, shown=True) if (one.target, one.op) == (d.target, d.op)
    ]
    return replace(own[0], name=d.name)


def _blocks(runs: Sequence[Run]) -> dict[str, set[int]]:
    """Return target → how many bytes one access moves, as far as it is known: of memory and files."""
    found: dict[str, set[int]] = {}
    for run in runs:
        if block := _block(run):
            for part in latencies(run):
                if (target := str(dict(part)["target"])) in ("memory", "file"):
                    found.setdefault(target, set()).add(block)
    return found


def _block(run: Run) -> int | None:
    told = run.parsed.facts.get("block") if run.parsed else None
    given = told if told is not None else run.options.get("block")
    return None if given is None else size_bytes(str(given))


_UNSAID: Final = ("read", "none", "None")
"""Operations that a name does not say."""

_LOOPS: Final = {"empty": "empty loop", "muladd": "multiply-add", "sine": "sine"}


def _name(run: Run, target: str, op: str, turns: int | None, several_blocks: bool) -> str:
    """Return "memory, 1 GB", "file, 1 MB, direct, write", "files, 1000 of 10 kB, write", "sine, 100 000 turns", "empty access".

    turns: of the loop in a sample; several_blocks: the accesses of this target differ in size, and the name says it.
    """
    options = run.options
    if target == "null":
        done = str(options.get("op", "read"))
        return "empty access" if done in _UNSAID else f"empty access, {done}"
    if target == "compute":
        return ", ".join([_LOOPS.get(op, op), *([f"{fmt.plural(turns, 'turn')}"] if turns else [])])
    parts = [target]
    if target == "files" and options.get("files"):
        size = options.get("file_size") or _block(run)
        parts.append(f"{options['files']}{f' of {fmt.size(size_bytes(str(size)))}' if size else ''}")
    elif options.get("bytes") is not None:
        parts.append(fmt.size(size_bytes(str(options["bytes"]))))
    if options.get("window"):
        parts.append(f"first {fmt.size(size_bytes(str(options['window'])))}")
    if several_blocks and (block := _block(run)):
        parts.append(f"{fmt.size(block)} blocks")
    parts += [word for word in ("direct", "fsync") if options.get(word)]
    if op not in _UNSAID or target == "files":
        parts.append(op)
    if run.place not in ("", "all", "local"):
        parts.append(run.place)
    return ", ".join(parts)


_ACCESSES: Final = ("memory", "file")
"""Targets of which a sample is one access; of the others it is a loop, a whole file, or the timer alone."""


def _noun(found: Sequence[Distribution]) -> str:
    """Return what one sample is, of all these: "access", "file", "sample"."""
    nouns = {{"files": "file", "compute": "sample"}.get(d.target, "access") for d in found}
    return nouns.pop() if len(nouns) == 1 else "sample"


def _figure(sweep: str, runs: Sequence[Run], read: _Read) -> Figure:
    found = read.distributions
    told = [d for d in found if not d.hollow] or found
    subject = _with_buckets(_subject(told))
    longer = _longer_tail(subject, told)
    chosen = [*_chosen(told, longer), *(d for d in found if d.hollow and told is not found)][
        : _tails.MOST_CURVES
    ]
    chosen = [_with_buckets(d) for d in chosen]
    noun = _noun(found)
    name = fmt.sentence(subject.name)
    alone = any(d.target == "null" for d in chosen)
    timer = None if alone else _tails.floor(chosen, min(read.timers, default=None))
    drawn = {d.name: d for d in (subject, *chosen)}
    beside = [drawn.get(d.name) or _with_buckets(d) for d in _beside(subject, found)]
    colours = dict(zip((d.name for d in chosen), vega.palette(len(chosen)), strict=True))
    panels = [
        _tails.tail_panel(chosen, subject, [*colours.values()], timer=timer, noun=noun),
        *(_tails.histogram_panel(d, colours.get(d.name, vega.GREY), noun=noun, like=beside) for d in beside),
    ]
    body = _density.density_panel(subject, colours.get(subject.name, vega.GREY), noun=noun)
    panels += [body] if body else []

    shown = list({d.name: d for d in (*chosen, *beside)}.values())
    many = {"access": "single accesses", "file": "files"}.get(noun, f"{noun}s")
    sub = (
        f"{wording.ran(_tails.runs_of(shown), program_name)}; {_tails.counted(shown)} {many} a curve{_tails.together(shown)}, each timed, the timer’s "
        f"own cost in it{_clock(_tails.runs_of(shown))}.{_moved(read.blocks)}{_tails.dashed(panels[0], subject)}"
    )
    if body:
        sub += " In the linear histogram: a normal distribution with the mean and standard deviation of the part that it shows."
    if timer is not None:
        sub += " Dotted in the tail: the timer alone."
    sub += wording.hollow(panels, _tails.runs_of(chosen), _tails.HOLLOW)
    sub += wording.not_drawn(len(found), len(chosen), "curve")
    sub += _without_histogram(subject, beside, found)
    modes = titles.modes(name, subject.steady_modes)
    return Figure(
        id=f"tail-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=f"How long {many} took"
        if subject.hollow
        else modes
        or titles.tail(
            name,
            subject.tails or subject.hundredths,
            subject.largest,
            subject.n,
            _noun([subject]),
            one_in="thousand" if subject.tails else "hundred",
            longer=(longer.name, longer.tails[0]) if longer else None,
        ),
        sub=sub,
        panels=tuple(panels),
        key=tuple(Key(name=d.name, colour=colours[d.name]) for d in chosen) if len(chosen) > 1 else (),
        tables=tuple(filter(None, [_poke_modes.table(beside)])),
        numbers=(_tails.numbers(found[:MOST_ROWS], noun=noun, of=len(found), metric="latency"),),
        runs=tuple(_tails.runs_of(found)),
        metric="latency",
        told_of=((tuple(_tails.runs_of([subject, *([longer] if longer and not modes else [])])), "latency"),),
    )


def _clock(runs: Sequence[Run]) -> str:
    """Say what the timer takes and how fine it is: " (15.4 ns, in steps of 0.769 ns)"; of runs that found it otherwise from where to
    where."""
    costs, steps = (
        [t for run in runs if (t := of(run))] for of in (lambda run: first(run, "timer_overhead"), step_of)
    )
    if not costs or not steps:
        return ""
    return f" ({fmt.span(costs, 'ns')}, in steps of {fmt.span(steps, 'ns')})"


def _moved(blocks: Mapping[str, set[int]]) -> str:
    """Say how many bytes an access moves: " An access moves 1 B of memory, 4 KiB of a file."; names tell them where they differ."""
    of = {"memory": "of memory", "file": "of a file"}
    said = [
        f"{fmt.size(next(iter(sizes)))} {of[target]}" for target, sizes in blocks.items() if len(sizes) == 1
    ]
    return f" An access moves {', '.join(said)}." if said else ""


def _subject(found: list[Distribution]) -> Distribution:
    """The distribution that the title speaks of and the histogram shows: the largest array in memory, of several the one with the most samples."""
    memory = [d for d in found if d.target == "memory"]
    return max(memory or found, key=lambda d: (_poke_modes.reach(d.runs[0]), d.n))


_MOST_HISTOGRAMS: Final = 6


def _beside(subject: Distribution, found: Sequence[Distribution]) -> list[Distribution]:
    """Return the distributions that have a histogram: those that differ from the subject in the size of what is accessed, and in
    nothing else, the smallest first; of many the first, the last and some between."""

    def rest(d: Distribution) -> tuple[object, ...]:
        run = d.runs[0]
        options = {name: str(v) for name, v in run.options.items() if name not in ("bytes", "window")}
        return run.host, run.place, d.target, d.op, d.hollow, tuple(sorted(options.items()))

    same = sorted((d for d in found if rest(d) == rest(subject)), key=lambda d: _poke_modes.reach(d.runs[0]))
    if len(same) <= _MOST_HISTOGRAMS:
        return same
    step = (len(same) - 1) / (_MOST_HISTOGRAMS - 1)
    return [same[round(i * step)] for i in range(_MOST_HISTOGRAMS)]


def _without_histogram(
    subject: Distribution, drawn: Sequence[Distribution], found: Sequence[Distribution]
) -> str:
    """Name those of the subject's target and operation that have no histogram beside its own: " Without a histogram: file, 1 kB."."""
    shown = {d.name for d in drawn}
    left = [d.name for d in found if (d.target, d.op) == (subject.target, subject.op) and d.name not in shown]
    more = [fmt.plural(len(left) - _MOST_NAMED, "other")] if len(left) > _MOST_NAMED else []
    return f" Without a histogram: {fmt.words([*left[:_MOST_NAMED], *more])}." if left else ""


_MOST_NAMED: Final = 3


def _longer_tail(subject: Distribution, found: Iterable[Distribution]) -> Distribution | None:
    """Return the distribution with the longest tail beside its median, of those whose shortest one of all repeats is longer than the
    subject's longest and whose median is not mostly the timer: a ratio to that is no access's. None without one."""
    longest = subject.tails[-1] if subject.tails else math.inf
    longer = (d for d in found if d.tails and d.tails[0] > longest)
    resolved = (d for d in longer if (p50 := d.at("p50")) and not _poke_modes.timed_by_the_timer(d, p50))
    return max(resolved, key=lambda d: d.tails[0], default=None)


def _chosen(found: list[Distribution], longer: Distribution | None) -> list[Distribution]:
    """At most four curves: the subject, the one whose tail is longer, then the slowest of each target, then by median."""
    if len(found) <= _tails.MOST_CURVES:
        return found
    by_target = group_by(found, lambda d: d.target).values()
    slowest = [max(members, key=lambda d: d.at("p50") or 0) for members in by_target]
    chosen = [_subject(found), *([longer] if longer else []), *slowest]
    rest = sorted(found, key=lambda d: -(d.at("p50") or 0))
    names = list(dict.fromkeys(d.name for d in [*chosen, *rest]))[: _tails.MOST_CURVES]
    return [d for d in found if d.name in names]


_LINE: Final = 64
"""Bytes; what reads more, or writes, tells of more than one cache line: a store ends in a buffer of the core."""


_TOTALS: Final = {
    "time_per_byte": "per byte",  # of writing in order, before anything is accessed: the one without an operation of its own
    "time_per_iteration": "per turn",
    "total_time": "of all files together",
}


_SAID: Final = {"sequential": "written in order"}
"""What a statistic of poke's is called where nothing says that it writes."""


def _totals(sweep: str, runs: Sequence[Run], sums: Iterable[tuple[Run, Number]]) -> Figure | None:
    """What poke measures besides single accesses: time per byte, per turn of a loop, of all files together."""
    found = [(run, number) for run, number in sums if number.name.metric in _TOTALS]
    if not found:
        return None
    rows: list[tuple[str, ...]] = []
    whose, metrics, bounded = [], [], False
    cells = group_by(found, lambda f: facets.cell(f[0])).values()
    names = facets.names_apart([(own[0][0].cell.describe(), own[0][0]) for own in cells])
    for cell, own in zip(names, cells, strict=True):
        for name, same in group_by(own, lambda f: f[1].name).items():
            kept = set(counted(run for run, _ in same))
            value = formulas.spread([number.value for run, number in same if run in kept])
            labels = dict(name.part)
            statistic = "median" if name.statistic == "p50" else labels.get("statistic")
            what = ", ".join(
                str(word) for word in (_TOTALS[name.metric], _SAID.get(str(statistic), statistic)) if word
            )
            ends = f"{fmt.quantity(value.low, 'ns')} to {fmt.quantity(value.high, 'ns')}"
            bound = _is_walk(*same[0]) and any(_is_its_timer(run, number.value) for run, number in same)
            bounded = bounded or bound
            rows.append(
                (cell, str(labels.get("target", "")), str(labels.get("op", _FILLING)), what, fmt.qualified(fmt.quantity(value.median, 'ns'), at_most=bound),
                 ends if value.n > 1 else fmt.NOTHING, _rate(value.median, bound) if name.metric == "time_per_byte" else fmt.NOTHING)
            )  # fmt: skip
            whose.append(row_of(run for run, _ in same))
            metrics.append(name.tells_of)
            if moved := _moved_in_all(same[0][0], name.metric):
                by = [fmt.quantity(of / moved, "ns") for of in (value.median, value.low, value.high)]
                rows.append((*rows[-1][:3], "per byte", by[0], f"{by[1]} to {by[2]}" if value.n > 1 else fmt.NOTHING, _rate(value.median / moved)))  # fmt: skip
                whose.append(whose[-1])
                metrics.append(name.tells_of)
    rated = any(row[-1] != fmt.NOTHING for row in rows)
    columns = (*_COLUMNS, *(["As bandwidth"] if rated else []))
    told = {number.name.metric for _, number in found}
    return Figure(
        id=f"totals-{sweep}",
        of=sweep,
        sweep=runs[0].sweep_title,
        title=(_split(found) or _whole(found) if told == {"total_time"} else "")
        or f"Time {fmt.words(word for metric, word in _TOTALS.items() if metric in told)}",
        sub=" ".join(
            filter(
                None,
                (
                    f"{wording.ran(list(dict.fromkeys(run for run, _ in found)), program_name)}.",
                    _in_order(found),
                    "≤: more than half of it is the timer." if bounded else "",
                    _no_ratio(found) if told == {"total_time"} else "",
                ),
            )
        ),
        tables=(
            Table(
                columns=columns,
                rows=tuple(row[: len(columns)] for row in rows),
                numeric=frozenset(range(4, len(columns))),
                of=tuple(whose),
                metric_of=tuple(metrics),
            ),
        ),
    )


_FILLING: Final = "filling"
"""What is done where a total names no operation: the array is written before anything is accessed, whatever the cell asks for then."""


_COLUMNS: Final = ("Cell", "Target", "Operation", "Time", "Median over repeats", "Lowest to highest")


def _rate(per_byte: float, bound: bool = False) -> str:
    """Return the time of a byte (ns) as bandwidth; of a bound on the time one on the bandwidth."""
    return f"{'≥ ' * bound}{fmt.quantity(1e9 / per_byte, 'B/s')}" if per_byte else fmt.NOTHING


def _in_order(found: Iterable[tuple[Run, Number]]) -> str:
    """Say of the largest array that time per byte is bandwidth, and how much longer an access anywhere in it takes; "" where there is no
    array that was ever quiet, the repeats are far apart, or the timer is more than half of an access."""

    cells = group_by((f for f in found if f[0].sound and _is_walk(*f)), lambda f: f[0].cell.point_id).values()
    if not cells:
        return ""
    own = max(cells, key=lambda own: (_bytes(own[0][0]), own[0][0].options.get("op", "read") == "read"))
    runs = dict.fromkeys(run for run, _ in own)
    told = [(part, of["p50"]) for run in runs for part, of in latencies(run).items() if of.get("p50")]
    byte = formulas.spread([number.value for _, number in own])
    timer = max((first(run, "timer_overhead") or 0.0 for run in runs), default=0.0)
    if not told or not byte.median:
        return ""
    access = formulas.spread([time for _, time in told])
    if byte.unsteady or access.unsteady or timer > access.median / 2:
        return ""
    op = _ANYWHERE.get(str(dict(told[0][0]).get("op")), "An access")
    return (
        f"In order a byte of {fmt.size(_bytes(own[0][0]))} is written in {fmt.quantity(byte.median, 'ns')}: that is bandwidth, "
        f"{fmt.quantity(1e9 / byte.median, 'B/s')}, and no latency. {op} anywhere in it takes {fmt.quantity(access.median, 'ns')}, "
        f"as long as {fmt.number(access.median / byte.median)} bytes in order."
    )


def _is_walk(run: Run, number: Number) -> bool:
    """Is it the time of a byte of all that is accessed, written in order?"""
    name = number.name
    walked = name.metric == "time_per_byte" and dict(name.part).get("statistic") == "sequential"
    return walked and "bytes" in run.options and "window" not in run.options


def _is_its_timer(run: Run, per_byte: float) -> bool:
    """Is more than half of what all bytes of a walk take the timer? per_byte: ns."""
    return (first(run, "timer_overhead") or 0.0) > per_byte * _bytes(run) / 2


_ANYWHERE: Final = {"read": "A read", "write": "A write", "write+fence": "A write with its fence"}


def _bytes(run: Run) -> int:
    return size_bytes(str(run.options["bytes"]))


def _moved_in_all(run: Run, metric: str) -> int:
    """Return how many bytes all files of a run have together, of their time; else 0."""
    files, size = run.options.get("files"), run.options.get("file_size")
    return files * size_bytes(str(size)) if metric == "total_time" and isinstance(files, int) and size else 0


def _whole(found: Sequence[tuple[Run, Number]]) -> str:
    """Say "A file of 1 GB takes 931 ms to write, 251 ms to read, of which a byte takes 0.931 ns and 0.251 ns" of single files: the
    largest; "" of others, or where the repeats are far apart."""
    if {run.options.get("files") for run, _ in found} != {1}:
        return ""
    size = max(_moved_in_all(run, number.name.metric) for run, number in found)
    largest = [(run, number) for run, number in found if _moved_in_all(run, number.name.metric) == size]
    times = {
        str(dict(name.part).get("op")): formulas.spread([n.value for run, n in same if run in set(counted(r for r, _ in same))])
        for name, same in group_by(largest, lambda f: f[1].name).items()
    }  # fmt: skip
    if (
        not times
        or len({run.cell.point_id for run, _ in largest}) > 1
        or any(of.unsteady for of in times.values())
    ):
        return ""
    said = [
        f"{fmt.quantity(of.median, 'ns')} to {op} ({fmt.quantity(of.median / size, 'ns')} a byte)"
        for op, of in times.items()
    ]
    return f"A file of {fmt.size(size)} takes {fmt.words(said)}"


class _Pair(NamedTuple):
    """Two cells that differ in nothing but how many files the same bytes are split into, by one operation."""

    op: str
    total: int  # B
    few: int  # files
    many: int
    # ns, of few files and of many: each repeat, in the order in which they ran
    times: tuple[list[float], list[float]]

    @property
    def ratios(self) -> tuple[float, ...]:
        """How many times as long the many take: of repeats that are far apart the least and the most it may be; () where that may not be said."""
        few, many = map(formulas.spread, self.times)
        if not formulas.differs(few, many):
            return ()
        if few.unsteady or many.unsteady:
            return (many.low / few.high, many.high / few.low)
        return (many.median / few.median,)

    @property
    def order(self) -> str:
        """What is open where there is no ratio: of repeats that do not overlap only that."""
        few, many = map(formulas.spread, self.times)
        if min(few.n, many.n) > 1 and (many.low > few.high or many.high < few.low):
            return f"; all {'longer' if many.low > few.high else 'shorter'}, how many times is open"
        return "; that leaves it open"


def _pairs(found: Iterable[tuple[Run, Number]]) -> list[_Pair]:
    """Return a pair of the fewest and the most files of each group of cells that differ in nothing else."""
    pairs = []
    for (op, total, *_), same in group_by(found, lambda f: _all_but_files(f[0], f[1])).items():
        times = {}
        for files, own in group_by(same, lambda f: int(f[0].options["files"])).items():
            kept = set(counted(run for run, _ in own))
            in_order = sorted(own, key=lambda f: (f[0].record.order_index, f[0].record.repeat))
            times[files] = [number.value for run, number in in_order if run in kept]
        few, many = min(times), max(times)
        pairs.append(_Pair(op, total, few, many, (times[few], times[many])))
    return pairs


def _no_ratio(found: Iterable[tuple[Run, Number]]) -> str:
    """Say "No ratio to write: 1 file takes 2.51 to 2.91 ms, 1 000 files 13.9 to 293 ms, rising over the repeats; all longer, how many times is
    open." of the first operation whose ratio `_split` may not tell; "" where there is none."""
    pairs = _pairs(found)
    open_ = next((pair for pair in pairs if pair.few < pair.many and not pair.ratios), None)
    if open_ is None or len({(pair.total, pair.few, pair.many) for pair in pairs}) != 1:
        return ""
    one, other = (
        ", ".join(filter(None, (fmt.span(times, "ns"), scatter.trend(times)))) for times in open_.times
    )
    take = "takes" if open_.few == 1 else "take"
    return f"No ratio to {open_.op}: {fmt.plural(open_.few, 'file')} {take} {one}, {fmt.plural(open_.many, 'file')} {other}{open_.order}."


def _split(found: Iterable[tuple[Run, Number]]) -> str:
    """Say "10 MB as 1 000 files takes 15.7 × as long to write, 8.10 to 9.30 × as long to read as 1 file" of cells that differ in nothing but
    that, or in pairs, whose ratios are a range, as that of repeats far apart is; "" where they differ otherwise, or the repeats of a pair do not
    agree.
    """
    pairs = _pairs(found)
    ends = {(pair.total, pair.few, pair.many) for pair in pairs}
    if len(ends) != 1:
        return ""
    ((total, few, many),) = ends
    ratios = {op: [pair.ratios for pair in own] for op, own in group_by(pairs, lambda pair: pair.op).items()}
    said = [
        f"{_times(list(itertools.chain(*own)))} as long to {op}" for op, own in ratios.items() if all(own)
    ]
    told = f"{fmt.size(total)} as {fmt.plural(many, 'file')} takes {fmt.words(said)} as {fmt.plural(few, 'file')}"
    return told if said and few < many else ""


def _times(ratios: Sequence[float]) -> str:
    """Return "91.4 ×"; of several where they end, rounded outwards: "21.9 to 208 ×"."""
    low, high = min(ratios), max(ratios)
    return fmt.times(low) if math.isclose(low, high) else fmt.times(low, high, outwards=True)


def _all_but_files(run: Run, number: Number) -> tuple[str, int, Hashable]:
    """Return what two cells have in common that differ in the number of files alone: operation, bytes in all (0 of no files), the rest."""
    options = dict(run.options)
    files, size = options.pop("files", 0), options.pop("file_size", 0)
    total = files * size_bytes(str(size)) if isinstance(files, int) else 0
    rest = (*sorted((name, str(value)) for name, value in options.items()), run.place)
    return str(dict(number.name.part).get("op")), total, (number.name.metric, rest)


PICKED: Final = "“Access” is of the largest array of its sweep, whatever is best."
"""Which of several its key number is, where that is not the best."""


def _key_numbers(found: list[Distribution]) -> list[KeyNumber]:
    accesses = [d for d in found if d.target in _ACCESSES]
    subject = _subject(accesses) if accesses else None
    p999 = subject.repeats("p99.9") if subject else None
    if subject is None or p999 is None:
        return []
    told = f"median {fmt.quantity(subject.at('p50'), 'ns')}"
    number = wording.key_number(
        "Access, p99.9", p999, "ns", f"{subject.name}; {told}", 15, subject.runs, metric="latency/p99.9",
        told=told, told_metric="latency/p50",
    )  # fmt: skip
    beyond = subject.target == "memory" and all(map(_poke_modes.in_memory, subject.runs))
    return [replace(number, of_memory=beyond)]


def _access_times(found: list[Distribution]) -> list[AccessTime]:
    """The median of single accesses, and of the timer alone; a loop or a whole file is no access."""
    out = []
    for d in found:
        median = d.repeats("p50")
        if median and median.median and d.target in (*_ACCESSES, "null"):
            group = {"memory": "memory", "file": "storage"}.get(d.target, "timer")
            name = fmt.sentence(d.name.replace("empty access", "timer alone"))
            out.append(
                AccessTime(
                    run=d.runs[0], name=name, group=group, median=median.median, p999=d.at("p99.9"), source=program_name(d.runs[0]), repeats=median,
                    statistic="median", metric="latency/p50", size=_size(d), plain=d.op == "read" and (_block(d.runs[0]) or 1) <= _LINE, bound=d.target != "null" and _poke_modes.timed_by_the_timer(d, median.median),
                )
            )  # fmt: skip
    return out


def _size(d: Distribution) -> float | None:
    """Return the bytes of memory whose accesses were timed, where they are told: of a buffer its window."""
    run = d.runs[0]
    told = d.target == "memory" and run.options.get("bytes") is not None
    return _poke_modes.reach(run) if told else None
