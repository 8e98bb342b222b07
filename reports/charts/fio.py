"""Storage: fio's IOPS and latency over iodepth, per block size and kind of access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reports.charts import _tails, facets, wording
from reports.charts import titles as findings
from reports.charts._fio_cells import (
    CACHED,
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
    latency_words,
)
from reports.charts._fio_panels import drawn_picture, what_ran
from reports.charts._fio_tables import MOST_OFFERS, numbers_tables, offers_table
from reports.charts._tails import Distribution
from reports.charts.chapter import AccessTime, Chapter
from reports.charts.soundness import counted_rows, sound_rows
from reports.draw.figure import Figure
from reports.numbers import formulas
from reports.numbers.fio import WORDS, histograms, job_count
from reports.page.model import KeyNumber
from reports.readings import groups
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
    "where the queue was kept full; of an engine that waits for each I/O the iodepth counts as 1. The most IOPS are of one depth: the highest median. IOPS within a limit on p99 are the most on the envelope of a "
    "series’ depths, between two depths over the logarithm of the latency, of each repeat, of several the median; “≥”: in one repeat or more "
    "every depth kept the limit. 95 % of the maximum, too, is of each repeat; a ring stands where all agree. CPU per I/O is user and system time of fio’s processes ÷ all their "
    "I/Os, so the two parts of a mix share one figure."
)


def chapter(results: Results, tool: str = "fio") -> Chapter:
    """Draw one figure per sweep: IOPS and latency panels per block size, a line per kind and direction."""
    runs = results.shown(tool)
    figures, key_numbers, times = [], [], []
    leading: set[str] = set()
    both = len({cache_words([run]) for run in runs} - {""}) > 1
    for sweep, members in group_by(runs, lambda r: r.cell.sweep).items():
        found = cells(members)
        if len(found):
            figures.append(
                _figure(sweep, members, found, facets.lost(results, tool, sweep, members, within=WITHIN))
            )
            if tails := _tails_figure(sweep, members, found):
                figures.append(tails)
            stored = found[found["run"].map(is_stored).astype(bool)]
            if len(stored):
                numbers = _key_numbers(sound_rows(stored), both)
                leading |= {number.name for number in numbers[:1]}
                key_numbers += numbers
                times += _access_times(stored, both)
    return Chapter(
        tool=tool, figures=tuple(figures), key_numbers=tuple(n for n in key_numbers if n.name in leading), access_times=tuple(times), programs=wording.programs(runs)
    )  # fmt: skip


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
        title=picture.title if picture and all(map(is_stored, runs)) else "IOPS and latency",
        sub=" ".join(filter(None, (*what_ran(found if picture is None else picture.drawn, found), *(picture.marks if picture else ())))),
        panels=picture.panels if picture else (),
        key=picture.key if picture else (),
        tables=tuple(small) if picture else (*small, *numbers),
        numbers=(*large, *(numbers if picture else [])),
    )  # fmt: skip


def _tails_figure(sweep: str, runs: Sequence[Run], found: pd.DataFrame) -> Figure | None:
    """Draw how long single I/Os took, from the bins of json+: each series of one panel at its lowest and highest depth."""
    found = found[~found["verify"]]
    bins = {(run, dict(name.part)["direction"]): own for run in runs for name, own in histograms(run)}
    binned = found[[key in bins for key in zip(found["run"], found["direction"], strict=True)]]
    if not len(binned):
        return None
    every: list[tuple[facets.Facet, str, int, str, Distribution]] = []
    for (of, series, label, depth, _, direction), own in groups(
        binned, ["panel", "series", "label", "iodepth", "processes", "direction"]
    ):
        told = [
            {name: value for name, value in (("mean", mean), ("max", largest)) if value == value}
            for mean, largest in zip(own["mean"], own["largest"], strict=True)
        ]
        members = [(run, bins[run, direction], of_run) for run, of_run in zip(own["run"], told, strict=True)]
        at = known_count(depth)
        words = f"depth {at}" if at else "depth not said"
        drawn = _tails.pooled(f"{label}, {words}", "", members)
        where = facets.facet_title(of, "fio")
        listed = f"{series}, {words}{', ' + where if where else ''}"
        every.append((of, series, at or 0, listed, drawn))
    quiet = [d for d in every if not d[-1].hollow] or every
    first = quiet[0][0]
    by_series = group_by((d for d in quiet if d[0] == first), lambda d: d[1]).values()
    ends = [(same, {min(d[2] for d in same), max(d[2] for d in same)}) for same in by_series]
    chosen = [d[-1] for same, at in ends for d in same if d[2] in at]
    chosen += [d[-1] for d in every if d[0] == first and d[-1].hollow and d not in quiet]
    chosen = chosen[: _tails.MOST_CURVES]
    subject = chosen[0]
    name = fmt.sentence(next(listed for *_, listed, d in every if d is subject))
    where, latency = facets.facet_title(first, "fio"), latency_words(binned)[0]
    noun = "I/O" if latency == WORDS["lat"] else "I/O completion"
    median, p999 = subject.least_tail() or (None, None)
    title = "How long single I/Os took" if subject.hollow else findings.modes(name, subject.steady_modes) or findings.tail(
        name, median, p999, subject.largest, subject.n, noun="I/O",
    )  # fmt: skip
    left = len(every) - len(chosen)
    panels = (
        _tails.tail_panel(chosen, subject, noun=noun),
        _tails.histogram_panel(subject, chosen, noun=noun),
    )
    return Figure(
        id=f"fio-tail-{sweep}",
        of=sweep, sweep=runs[0].sweep_title,
        title=title,
        sub=f"{wording.ran(_tails.runs_of(chosen), program_name)}{'; ' + where if where else ''}; {latency} of {_tails.counted(chosen)} "
        f"I/Os a curve{_tails.together(chosen)}, from fio’s own bins. Dashed: a normal distribution with the mean and "
        f"standard deviation of “{subject.name}”.{wording.hollow(panels, _tails.runs_of(chosen), _tails.HOLLOW)}{f' {left} more in the numbers.' if left else ''}",
        panels=panels,
        numbers=(_tails.numbers([replace(d, name=listed) for *_, listed, d in every], noun=noun),),
    )  # fmt: skip


_SAID = ("bs", "numjobs", "host", "direct", *WITHIN)
"""Options that a key number has in words of its own; hosts are those of all key numbers of a page."""


def _key_numbers(found: pd.DataFrame, both: bool) -> list[KeyNumber]:
    """Return the number of each cell, the best first. `both`: some runs of the page are direct, others through the page cache."""
    found = found[~found["verify"]]
    if not len(found):
        return []
    random, reads = found["kind"] == "randread", found["direction"] == "read"
    own = found[random] if random.any() else found[reads] if reads.any() else found
    by = ["point_id", "direction"] if facets.pooled(found["run"]) else ["file", "point_id", "direction"]
    cells = sorted((same for _, same in groups(own, by)), key=lambda same: -same["iops"].median())
    return [_key_number(same, both) for same in cells]


_OF_ONE_KIND = {
    "randread": "random reads", "read": "sequential reads", "randwrite": "random writes", "write": "sequential writes",
    "randtrim": "random trims", "trim": "sequential trims",
}  # fmt: skip


def _named(same: pd.DataFrame) -> str:
    """Return "Storage, 4 KiB random reads"; of a part of a mix, or where no text says which, "Storage, 4 KiB reads"."""
    first = same.iloc[0]
    kind = _OF_ONE_KIND.get(first["kind"], ios(first["direction"]))
    return " ".join(filter(None, ("Storage,", first["size"], kind)))


def _key_number(same: pd.DataFrame, both: bool) -> KeyNumber:
    best = same.iloc[0]
    depth, jobs = known_count(best["iodepth"]), job_count(best["run"], best["direction"])
    waits = depth and depth > 1 and best["asked"] == jobs  # a synchronous engine
    context = [best["series"].removesuffix(" (clat)")]
    context += [f"iodepth {depth}{' (one in flight a job)' if waits else ''}"] if depth else []
    context += [fmt.plural(jobs, "job")] if jobs and jobs > 1 else []
    context += [cache] if both and (cache := cache_words([best["run"]])) else []
    apart = tuple((name, value) for name, value in best["panel"] if name not in _SAID)
    context += [title] if (title := facets.facet_title(apart, "fio")) else []
    if len(means := same["mean"].dropna()):
        context.append(f"mean {latency_words(same)[1]} {fmt.quantity(means.median(), 'ns')}")
    of = formulas.spread(list(same["iops"]))
    return wording.key_number(_named(same), of, "IOPS", ", ".join(context), 14, same["run"])


def _access_times(found: pd.DataFrame, both: bool) -> list[AccessTime]:
    """The median time of one I/O with nothing else in flight; the mean, by that name, where no median is told. A row per cell."""
    alone = found[
        (found["asked"] == 1) & ~found["series"].map(is_mix) & ~found["kind"].isin(MIXES) & ~found["verify"]
    ]
    by = (
        ["point_id", "direction", "which"]
        if facets.pooled(found["run"])
        else ["file", "point_id", "direction", "which"]
    )
    times = []
    for _, every in groups(alone.sort_values(RANKED, kind="stable"), by):
        same = counted_rows(every)
        statistic = "p50" if same["p50"].notna().all() else "mean"
        if same[statistic].notna().all():
            of = formulas.spread(list(same[statistic]))
            times.append(
                AccessTime(
                    name=_access(same, both), run=same["run"].iloc[0], group="storage", median=of.median, repeats=of, source=program_name(same["run"].iloc[0]),
                    statistic="median" if statistic == "p50" else "mean",
                )
            )  # fmt: skip
    return times


def _access(same: pd.DataFrame, both: bool) -> str:
    """Return "4 KiB read, iodepth 1"; "4 KiB read clat, one in flight" where the engine waits for each, whatever its depth; and that it
    goes through the page cache, or which way it goes where `both` are on the page."""
    one = same.iloc[0]
    words = (one["size"], SHORT.get(one["kind"], one["kind"]), one["which"] == "clat" and "clat")
    depth = "iodepth 1" if known_count(one["iodepth"]) == 1 else "one in flight"
    way = cache_words(list(same["run"]))
    told = way if both or way == CACHED else ""
    return ", ".join(filter(None, [" ".join(word for word in words if word), depth, told]))
