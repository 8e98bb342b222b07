"""Several hosts on one page: a table of a number or two of each sweep; of many the fleet's map and strips with it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from reports.charts import facets
from reports.draw.figure import Figure, Table
from reports.fleet import outliers, strip
from reports.numbers import conditions, series
from reports.numbers.series import Series
from reports.results.convicted import Guilty
from reports.results.grouping import group_by
from reports.results.levels import natural
from reports.results.model import Results, Run
from reports.text import format as fmt


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One number of all hosts: host → its value in the base unit (the median of its repeats)."""

    name: str
    unit: str
    higher: bool  # is more better?
    step: float | None  # the last digit that its program prints
    values: Mapping[str, float]
    runs: Mapping[str, tuple[Run, ...]]  # host → whose number it is

    @property
    def median(self) -> float:
        return statistics.median(self.values.values())

    @property
    def apart(self) -> float:
        """By how much the highest is above the lowest, relative."""
        return max(self.values.values()) / min(self.values.values()) - 1

    def ratio(self, host: str) -> float:
        """Return how much better than the median the host is: above 1 is better, whichever way the number goes."""
        share = self.values[host] / self.median
        return share if self.higher else 1 / share


def figures(results: Results, guilty: Guilty) -> tuple[Figure, ...]:
    """Draw a map and strips for each kind of hardware, the table with the first; of few hosts the table alone, () of one.

    What is said of one of many hosts is what `pinsweep fleet` says of it.
    """
    if not facets.pooled([run for tool in results.tools for run in results.good(tool) if not run.captured]):
        return _beside(_known(results))
    report = outliers.build(results, guilty=guilty).leading()
    several = len(report.groups) > 1
    drawn = [
        figure
        for number, group in enumerate(report.groups, 1)
        for draw in (strip.heat_map, strip.figure)
        if (figure := draw(group, report, number, several))
    ]
    found = _known(results)
    if drawn and found:
        drawn[0] = replace(drawn[0], numbers=(*drawn[0].numbers, _table(found, _ranks(report))))
    return tuple(drawn)


def _known(results: Results) -> list[Row]:
    known = (
        replace(one, values=tuple(v for v in one.values if not v.run.captured))
        for one in series.collect(results)
    )
    return rows(conditions.told_apart(known))


def _beside(found: Sequence[Row]) -> tuple[Figure, ...]:
    """Set few hosts against one another: a row a number, those furthest apart first; () of one."""
    hosts = sorted({host for row in found for host in row.values}, key=natural)
    if len(hosts) < 2:
        return ()
    ranked = sorted(found, key=lambda row: -row.apart)
    scales = [fmt.scale_for(row.values.values(), row.unit) for row in ranked]
    furthest = ranked[0]
    named = fmt.words(hosts) if len(hosts) == 2 else f"{len(hosts)} hosts"
    how = "compare --by host" if len(hosts) == 2 else f"compare --by host={hosts[0]},{hosts[1]}"
    return (
        Figure(
            id="hosts-beside",
            title=f"{named} are up to {fmt.percent(furthest.apart)} apart: {furthest.name}"
            if furthest.apart
            else f"{named} have the same numbers",
            sub="Medians of each host’s repeats; of each sweep the cell that gives most and the one that waits least, the furthest apart first. Apart: the "
            f"highest ÷ the lowest, less 1; pinsweep {how} FILE… says of every number what is beyond the noise.",
            tables=(
                Table(
                    columns=("Number", *hosts, "Unit", "Apart"),
                    rows=tuple(
                        (row.name, *(scale.number(row.values[host], 4, step=row.step) for host in hosts), scale.unit, fmt.percent(row.apart))
                        for row, scale in zip(ranked, scales, strict=True)
                    ),
                    numeric=frozenset({*range(1, len(hosts) + 1), len(hosts) + 2}),
                    of=tuple({i: row.runs[host] for i, host in enumerate(hosts, start=1)} for row in ranked),
                ),
            ),
        ),
    )  # fmt: skip


def rows(collected: Iterable[Series]) -> list[Row]:
    """Return a number or two of each sweep and program: the cell that gives most, and the one that waits least, by their
    medians over the hosts. Numbers that more than a tenth of the hosts lack are left out."""
    every = list(collected)
    hosts = {value.run.host for one in every for value in one.values}
    found: dict[tuple[str, str, bool], Row] = {}
    for one in every:
        if one.unit not in ("ns", "B/s", "1/s"):
            continue
        by_host = group_by(one.values, lambda v: v.run.host)
        values = {host: statistics.median(v.value for v in same) for host, same in by_host.items()}
        if len(values) < 0.9 * len(hosts) or min(values.values()) <= 0:
            continue
        runs = {host: tuple(v.run for v in same) for host, same in by_host.items()}
        row = Row(
            name=one.name,
            unit=one.said_unit,
            higher=one.better == "higher",
            step=one.step,
            values=values,
            runs=runs,
        )
        key = (one.key.sweep, one.key.program, row.higher)
        best = found.get(key)
        if best is None or (row.median > best.median if row.higher else row.median < best.median):
            found[key] = row
    return list(found.values())


def _ranks(report: outliers.Report) -> dict[str, int]:
    """Return host → where its verdict stands, 0 the worst; of several machines of one name the worst of theirs."""
    told = [
        (own[-1].host, outliers.WORDS.index(report.statuses[name])) for name, own in report.sessions.items()
    ]
    return {host: min(rank for _, rank in own) for host, own in group_by(told, lambda one: one[0]).items()}


def _table(found: Sequence[Row], ranks: Mapping[str, int]) -> Table:
    """Return a row a host, the worst verdict first, of one verdict those that are behind: by their worst ratio. `ranks`: of the verdict on each."""
    hosts = {host for row in found for host in row.values}
    scales = [fmt.scale_for(row.values.values(), row.unit) for row in found]
    worst = {host: min(row.ratio(host) for row in found if host in row.values) for host in hosts}
    ranked = sorted(hosts, key=lambda h: (ranks[h], worst[h], h))
    return Table(
        caption="Each host, the worst verdict first, of one verdict the one that is furthest behind in these numbers; of each sweep "
        "the cell that gives most and the one that waits least",
        columns=("Host", *(f"{row.name}, {scale.unit}" for row, scale in zip(found, scales, strict=True))),
        rows=tuple(
            (
                host,
                *(
                    scale.number(row.values.get(host), 4, step=row.step)
                    for row, scale in zip(found, scales, strict=True)
                ),
            )
            for host in ranked
        ),
        numeric=frozenset(range(1, len(found) + 1)),
        of=tuple({i: row.runs.get(host, ()) for i, row in enumerate(found, start=1)} for host in ranked),
    )
