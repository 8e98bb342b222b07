"""Storage: fio's IOPS and latency over iodepth, per block size and kind of access."""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from reports.charts import _tails, facets, wording
from reports.charts import titles as findings
from reports.charts._fio_cells import (
    CACHED,
    DIRECT,
    MIXES,
    RANKED,
    SHORT,
    WITHIN,
    cache_words,
    cells,
    ios,
    is_mix,
    is_stored,
    known_count,
    latency_name,
    latency_words,
)
from reports.charts._fio_cells import colours as series_colours
from reports.charts._fio_fans import fans_figure
from reports.charts._fio_panels import drawn_picture, what_ran
from reports.charts._fio_tables import MOST_OFFERS, OF_A_SERIES, RATE, numbers_tables, offers_table
from reports.charts._fio_time import time_figures
from reports.charts._tails import Distribution
from reports.charts.chapter import STORAGE, AccessTime, Chapter
from reports.charts.soundness import hollow_rows, is_hollow, sound_rows
from reports.draw.figure import MOST_ROWS, Figure
from reports.numbers import formulas
from reports.numbers.fio import WORDS, histograms, job_count, printed
from reports.page.model import KeyNumber
from reports.readings import groups
from reports.results.convicted import OTHER
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

SECTION = "Storage"
RANK = 30
METHODS = (
    "fio: IOPS are those of the whole run. Latency is submission plus completion, as pinsweep asks fio for; of text that tells "
    "only how the completion is distributed it is the completion latency, clat, by that name. Mean and quantiles are of the same "
    "one, all jobs of the run together: the mean of all I/Os, and the quantiles of the jobs’ joined bins; of several jobs without "
    "bins there are none. In flight ÷ asked is IOPS × latency of all that a run does ÷ (iodepth × jobs), by Little’s law: near 1 "
    "where the queue was kept full; of an engine that waits for each I/O the iodepth counts as 1. The most IOPS are of one depth: the highest median. IOPS within a limit on p99 are of one depth, too, of those that "
    "were tested and keep it in every repeat; “≥”: every depth kept the limit. Where one repeat keeps it at a depth at which another does not, and has more there, both are told. 95 % of the maximum, too, is of each repeat; a ring stands where all agree. CPU per I/O is user and system time of fio’s processes ÷ all their "
    "I/Os, so the two parts of a mix share one figure."
)


_Rows = Sequence[Any]
"""The rows of `cells` of one cell, in one direction: named tuples with its columns, of which a page has thousands of lists."""


def chapter(results: Results, tool: str = "fio") -> Chapter:
    """Draw one figure per sweep: IOPS and latency panels per block size, a line per kind and direction."""
    runs = results.shown(tool)
    figures, key_numbers, times = [], [], []
    leading: set[str] = set()
    ranked: list[list[_Rows]] = []
    moved: list[list[KeyNumber]] = []
    behind: dict[Run, str] = {}
    sweeps = group_by(runs, lambda r: r.cell.sweep)
    every = {sweep: cells(members) for sweep, members in sweeps.items()}
    both = len({way for found in every.values() for way in found["way"]} - {""}) > 1
    left_out: _LeftOut = {}
    for sweep, members in sweeps.items():
        found = every[sweep]
        if len(found):
            lost = facets.lost(results, tool, sweep, members, within=WITHIN)
            figures.append(_figure(sweep, members, found, lost))
            asked_for = found[~found["verify"] & found["engines"].map(is_stored)].dropna(subset="iodepth")
            if (
                fans := fans_figure(sweep, members, asked_for, lost, latency_words(found)[0])
                if len(asked_for)
                else None
            ):
                figures.append(fans)
            if tails := _tails_figure(sweep, members, found):
                figures.append(tails)
            figures += time_figures(sweep, members, found[~found["verify"]])
            stored = found[[is_stored(engines) for engines in found["engines"]]]
            if len(stored):
                sound = sound_rows(stored)
                left_out |= _left_out(sweep, stored)
                ranked.append(_ranked(sound))
                leading |= {_named(best) for best in ranked[-1][:1]}
                moved.append(_most_moved(sound, both, left_out))
                times += _access_times(stored, both)
                every_row: _Rows = [*stored.itertuples()]
                behind |= {run: _behind(own) for run, own in group_by(every_row, lambda r: r.run).items()}
    for every_cell, most in zip(ranked, moved, strict=True):
        key_numbers += [_key_number(same, both, left_out) for same in every_cell if _named(same) in leading]
        key_numbers += most
    return Chapter(
        tool=tool, figures=tuple(figures), key_numbers=tuple(key_numbers), access_times=tuple(times), programs=wording.programs(runs),
        devices=behind,
    )  # fmt: skip


def _behind(found: _Rows) -> str:
    """Return what the I/Os of a run went to: the disk that fio names, where it is the only one and none went to the page cache."""
    ways = {row.way for row in found}
    if ways == {CACHED}:
        return f"files, {CACHED}"
    named: set[str] = set().union(*(row.disks for row in found))
    return named.pop() if ways == {DIRECT} and len(named) == 1 else STORAGE


def _figure(sweep: str, runs: Sequence[Run], found: pd.DataFrame, lost: Sequence[Run]) -> Figure:
    """Draw what was asked for at a depth that is known; the tables have the rest, too."""
    latency, term = latency_words(found)
    asked_for = found[~found["verify"]]
    plotted = asked_for.dropna(subset="iodepth")
    picture = drawn_picture(runs, plotted, lost, latency) if len(plotted) else None
    offers = offers_table(plotted, term)
    numbers = numbers_tables(found, term)
    large = [offers] if offers and len(offers.rows) > MOST_OFFERS else []
    small = [offers] if offers and not large else []
    return Figure(
        id=f"fio-{sweep}", of=sweep, sweep=runs[0].sweep_title,
        title=picture.title if picture and all(map(is_stored, found["engines"])) else "IOPS and latency",
        sub=" ".join(filter(None, (*what_ran(found if picture is None else picture.drawn, found), *(picture.marks if picture else ())))),
        panels=picture.panels if picture else (),
        threes=bool(picture and picture.threes),
        told_of=((picture.told_of, ""),) if picture else None,
        key=picture.key if picture else (),
        tables=tuple(small) if picture else (*small, *numbers),
        numbers=(*large, *(numbers if picture else [])),
        runs=tuple(dict.fromkeys(found["run"])), metric=RATE,
    )  # fmt: skip


def _tails_figure(sweep: str, runs: Sequence[Run], found: pd.DataFrame) -> Figure | None:
    """Draw how long single I/Os took, from the bins of json+: each series of one panel at its lowest and highest depth. The title and the
    histogram are of the longest tail among these, beside its median."""
    binned = found[~found["verify"] & found["binned"]]
    if not len(binned):
        return None
    every = [_Tail.of(own) for own in group_by(binned.itertuples(index=False), _of_a_tail).values()]
    quiet = [tail for tail in every if not tail.hollow] or every
    first = quiet[0].panel
    by_series = group_by((tail for tail in quiet if tail.panel == first), lambda tail: tail.series).values()
    ends = [(same, {min(t.depth for t in same), max(t.depth for t in same)}) for same in by_series]
    picked = [tail for same, at in ends for tail in same if tail.depth in at]
    picked += [t for t in every if t.panel == first and t.hollow and t not in quiet]
    picked = picked[: _tails.MOST_CURVES]
    curves = {tail: tail.drawn() for tail in picked}
    chosen = [*curves.values()]
    of_title = max(picked, key=lambda tail: _stretch(curves[tail]))  # of several the first
    subject = curves[of_title]
    name = fmt.sentence(of_title.listed)
    where, latency = facets.facet_title(first, "fio"), latency_words(binned)[0]
    noun = "I/O" if latency == WORDS["lat"] else "I/O completion"
    tails: dict[str, tuple[float, ...]] = {}

    def rows() -> Iterator[Distribution]:
        for tail in every[:MOST_ROWS]:
            own = replace(curves[tail], name=tail.listed) if tail in curves else tail.drawn(tail.listed)
            tails[tail.listed] = () if tail.hollow else own.tails
            yield own

    table = _tails.numbers(rows(), noun=noun, of=len(every), metric=latency)
    table = replace(table, part_of_metric=tuple(tail.direction for tail in every[:MOST_ROWS]))
    further = [
        (of, own[0]) for of, own in tails.items() if own and subject.tails and own[0] > subject.tails[-1]
    ]
    longer = max(further, key=lambda one: one[1], default=None)
    modes = "" if subject.hollow else findings.modes(name, subject.steady_modes)
    title = (
        "How long single I/Os took"
        if subject.hollow
        else modes
        or findings.tail(name, subject.tails, subject.largest, subject.n, noun="I/O", longer=longer)
    )
    told = {of_title.listed} if modes or not longer else {of_title.listed, longer[0]}
    told_of = tuple(run for tail in every if tail.listed in told for run, *_ in tail.members)

    colours = series_colours({tail.name: tail.direction for tail in picked}, [[tail.name for tail in picked]])
    panels = (
        _tails.tail_panel(chosen, subject, [colours[tail.name] for tail in picked], noun=noun),
        _tails.histogram_panel(subject, colours[subject.name], noun=noun),
    )
    return Figure(
        id=f"fio-tail-{sweep}",
        of=sweep, sweep=runs[0].sweep_title,
        title=title,
        sub=f"{wording.ran(_tails.runs_of(chosen), program_name)}{'; ' + where if where else ''}; {latency} of {_tails.counted(chosen)} "
        f"I/Os a curve{_tails.together(chosen)}, from fio’s own bins.{_tails.dashed(panels[0], subject)}"
        f"{wording.hollow(panels, _tails.runs_of(chosen), _tails.HOLLOW)}{wording.not_drawn(len(every), len(chosen), 'curve')}",
        panels=panels,
        numbers=(table,),
        runs=tuple(dict.fromkeys(binned["run"])), metric=OTHER, told_of=((told_of, latency),),
    )  # fmt: skip


def _stretch(of: Distribution) -> float:
    """Return how many times the median 99.9 % take, in the repeat where that is least; 0 where it is not known, or nothing is said of it."""
    return of.tails[0] if of.tails and not of.hollow else 0.0


def _of_a_tail(row: Any) -> tuple[object, ...]:  # noqa: ANN401 (a row of `cells`)
    counts = map(known_count, (row.iodepth, row.processes))
    return row.panel, row.series, row.label, *counts, row.direction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Tail:
    """A row of the table of tails, and perhaps a curve: its distribution is read when it is asked for."""

    panel: facets.Facet
    series: str
    direction: str
    depth: int  # 0: not known
    name: str
    listed: str  # in a table of all panels
    members: tuple[tuple[Run, float, float], ...]  # run, its mean and its longest I/O, ns; nan: not told
    hollow: bool

    @classmethod
    def of(cls, own: _Rows) -> _Tail:
        """Return the tail of the cells (or parts of them) that have the same `_of_a_tail`."""
        of = own[0]
        at = known_count(of.iodepth)
        words = f"depth {at}" if at else "depth not said"
        where = facets.facet_title(of.panel, "fio")
        return cls(
            panel=of.panel, series=of.series, direction=of.direction, depth=at or 0, name=f"{of.label}, {words}",
            listed=f"{of.series}, {words}{', ' + where if where else ''}",
            members=tuple((row.run, row.mean, row.largest) for row in own), hollow=is_hollow(row.run for row in own),
        )  # fmt: skip

    def drawn(self, name: str = "") -> Distribution:
        """Return its distribution, under another name if one is given."""
        members = []
        for run, mean, largest in self.members:
            told = {key: value for key, value in (("mean", mean), ("max", largest)) if value == value}
            bins = next(own for of, own in histograms(run) if dict(of.part)["direction"] == self.direction)
            members.append((run, bins, told))
        return _tails.pooled(name or self.name, "", members)


_SAID = ("bs", "numjobs", "host", "direct", *WITHIN)
"""Options that a key number has in words of its own; hosts are those of all key numbers of a page."""


def _ranked(found: pd.DataFrame) -> list[_Rows]:
    """Return the rows of each cell that may lead the page, the best first."""
    found = found[~found["verify"]]
    if not len(found):
        return []
    random, reads = found["kind"] == "randread", found["direction"] == "read"
    own = found[random] if random.any() else found[reads] if reads.any() else found
    return sorted(_rows_of_cells(own), key=lambda same: -statistics.median(row.iops for row in same))


def _rows_of_cells(found: pd.DataFrame, *further: str) -> list[_Rows]:
    """Return the rows of each cell and direction; those that have the same in `further` columns, too."""
    by = ["point_id", "direction", *further]
    key = operator.attrgetter(*(by if facets.pooled(found["run"]) else ["file", *by]))
    return list(group_by(found.itertuples(index=False), key).values())


_BANDWIDTH: Final = "Storage bandwidth"


_LeftOut = dict[tuple[object, ...], str]
"""Which depths of a curve have no sound run, in words: those that its most IOPS leave out."""


def _curve_of(row: Any) -> tuple[object, ...]:  # noqa: ANN401 (a row of `cells`)
    return row.run.cell.sweep, row.panel, row.series, known_count(row.processes)


def _left_out(sweep: str, found: pd.DataFrame) -> _LeftOut:
    known = found[~found["verify"]].dropna(subset="iodepth")
    told: _LeftOut = {}
    for (panel, series, processes), own in groups(known, OF_A_SERIES):
        hollow = hollow_rows(own, "iodepth")
        told[sweep, panel, series, known_count(processes)] = wording.left_out(
            hollow["iodepth"], hollow["run"], "depth"
        )
    return told


def _most_moved(found: pd.DataFrame, both: bool, left_out: _LeftOut) -> list[KeyNumber]:
    """Return the cell that moves most, where the blocks have several sizes: the most IOPS are those of the smallest, and say nothing of
    the others."""
    found = found[~found["verify"]]
    texts = {(run.file, run.text) for run in found["run"] if run.captured}
    if (
        found["size"].nunique() < 2
        or "" in set(found["size"])
        or found["bandwidth"].isna().any()
        or len(texts) > 1
    ):
        return []
    same = max(_rows_of_cells(found), key=lambda same: statistics.median(row.bandwidth for row in same))
    runs = [row.run for row in same]
    of = formulas.spread([row.bandwidth for row in same], printed(runs))
    name = f"{_BANDWIDTH}, {_named(same).removeprefix('Storage, ')}"
    context = ", ".join([*_context(same, both, left_out), "the most of all block sizes"])
    return [
        replace(
            wording.key_number(name, of, "B/s", context, 16, runs, metric=f"{RATE}/{same[0].direction}"),
            moves=of.median,
        )
    ]


_OF_ONE_KIND = {
    "randread": "random reads", "read": "sequential reads", "randwrite": "random writes", "write": "sequential writes",
    "randtrim": "random trims", "trim": "sequential trims",
}  # fmt: skip


def _named(same: _Rows) -> str:
    """Return "Storage, 4 KiB random reads"; of a part of a mix, or where no text says which, "Storage, 4 KiB reads"."""
    of = same[0]
    return " ".join(filter(None, ("Storage,", of.size, _OF_ONE_KIND.get(of.kind, ios(of.direction)))))


def _key_number(same: _Rows, both: bool, left_out: _LeftOut) -> KeyNumber:
    """Return the number of a cell. `both`: some runs of the page are direct, others through the page cache."""
    context, runs = _context(same, both, left_out), [row.run for row in same]
    told = told_metric = ""
    if means := [row.mean for row in same if not math.isnan(row.mean)]:
        word = latency_name(row.which for row in same)[1]
        told = f"mean {word} {fmt.quantity(statistics.median(means), 'ns', step=printed(runs))}"
        told_metric = f"{WORDS[same[0].which]}/mean/{same[0].direction}"
        context.append(told)
    of = formulas.spread([row.iops for row in same], printed(runs))
    number = wording.key_number(
        _named(same),
        of,
        "IOPS",
        ", ".join(context),
        14,
        runs,
        metric=f"{RATE}/{same[0].direction}",
        told=told,
        told_metric=told_metric,
    )
    moved = statistics.median(row.bandwidth for row in same)  # nan among them: not known
    known = not any(math.isnan(row.bandwidth) for row in same)
    return replace(number, moves=moved if known else 0.0)


def _context(same: _Rows, both: bool, left_out: _LeftOut) -> list[str]:
    """Return what tells a cell from the others: its kind, depth, jobs, cache, panel."""
    best = same[0]
    depth, jobs = known_count(best.iodepth), job_count(best.run, best.direction)
    waits = depth and depth > 1 and best.asked == jobs  # a synchronous engine
    context = [best.series.removesuffix(" (clat)")]
    context += [f"iodepth {depth}{' (one in flight a job)' if waits else ''}"] if depth else []
    context += [lacking] if depth and (lacking := left_out.get(_curve_of(best))) else []
    context += [fmt.plural(jobs, "job")] if jobs and jobs > 1 else []
    context += [cache] if both and (cache := best.way) else []
    apart = tuple((name, value) for name, value in best.panel if name not in _SAID)
    context += [title] if (title := facets.facet_title(apart, "fio")) else []
    return context


def _access_times(found: pd.DataFrame, both: bool) -> list[AccessTime]:
    """The median time of one I/O with nothing else in flight; the mean, by that name, where no median is told. A row per cell."""
    alone = found[
        (found["asked"] == 1) & ~found["series"].map(is_mix) & ~found["kind"].isin(MIXES) & ~found["verify"]
    ]
    times = []
    for every in _rows_of_cells(alone.sort_values(RANKED, kind="stable"), "which"):
        same = [row for row in every if row.run.sound] or every
        statistic = "mean" if any(math.isnan(row.p50) for row in same) else "p50"
        values = [getattr(row, statistic) for row in same]
        if not any(map(math.isnan, values)):
            run, of = same[0].run, formulas.spread(values, printed(row.run for row in same))
            tails = [row.p999 for row in same] if statistic == "p50" else [math.nan]
            times.append(
                AccessTime(
                    name=_access(same, both), run=run, group="storage", median=of.median, p999=None if any(map(math.isnan, tails)) else statistics.median(tails), step=of.step, repeats=of, source=program_name(run),
                    statistic="median" if statistic == "p50" else "mean", metric=f"{WORDS[same[0].which]}/{statistic}/{same[0].direction}",
                )
            )  # fmt: skip
    return times


def _access(same: _Rows, both: bool) -> str:
    """Return "4 KiB read, iodepth 1"; "4 KiB read clat, one in flight" where the engine waits for each, whatever its depth; and that it
    goes through the page cache, or which way it goes where `both` are on the page."""
    of = same[0]
    words = (of.size, SHORT.get(of.kind, of.kind), of.which == "clat" and "clat")
    depth = "iodepth 1" if known_count(of.iodepth) == 1 else "one in flight"
    way = cache_words(row.way for row in same)
    told = way if both or way == CACHED else ""
    return ", ".join(filter(None, [" ".join(word for word in words if word), depth, told]))
