"""Several hosts on one page: a table of a number or two of each sweep. Verdicts on many hosts are those of `pinsweep fleet`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reports.draw.figure import Figure, Table
from reports.measurements import measure
from reports.results.grouping import group_by
from reports.results.levels import natural
from reports.results.model import Results, Run
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

_MANY: Final = 6
"""Hosts from which on each has a row, else a column."""


def figures(results: Results) -> tuple[Figure, ...]:
    """Return the table of the hosts; () of one."""
    values = measure(results, ()).frame(
        "host", "captured", "tool", "program", "sweep", "cell", "axes", "point_id", "name", "unit", "better"
    )
    values = values[~values["captured"].astype(bool) & values["unit"].isin(["ns", "B/s", "1/s"])]
    hosts = sorted({*values["host"]}, key=natural)
    if len(hosts) < 2:
        return ()
    keys = ["sweep", "program", "better", "point_id", "name", "unit"]
    medians = values.groupby([*keys, "host"])["value"].median().unstack("host").reindex(columns=hosts)
    medians = medians[(medians.notna().sum(axis=1) >= 0.9 * len(hosts)) & (medians.min(axis=1) > 0)]
    if medians.empty:
        return ()
    medians = _leading(medians)
    spread = medians.max(axis=1) / medians.min(axis=1) - 1
    medians = medians.loc[spread.sort_values(ascending=False, kind="stable").index]
    if len(hosts) >= _MANY:  # the host that is furthest behind first
        ratio = medians.div(medians.median(axis=1), axis=0)
        higher = medians.index.get_level_values("better") == "higher"
        ratio[~higher] = 1 / ratio[~higher]
        hosts = list(ratio.min().sort_values(kind="stable").index)
    cells = dict(zip(values["point_id"], zip(values["cell"], values["axes"], strict=True), strict=True))
    runs = _runs(results)
    names, rows, sources = [], [], []
    for key, difference in zip(
        medians.index.tolist(), spread.sort_values(ascending=False, kind="stable"), strict=True
    ):
        sweep, _, _, point_id, name, unit = key
        cell, axes = cells[point_id]
        row = [float(medians.loc[key, host]) for host in hosts]
        scale = fmt.scale_for([value for value in row if value == value], unit)
        names.append(f"{sweep}{f', {cell}' if axes != '{}' else ''}: {name}")
        texts = [fmt.NOTHING if value != value else scale.number(value, 4) for value in row]
        rows.append((names[-1], *texts, scale.unit, fmt.percent(difference)))
        sources.append({host: runs.get((host, sweep, point_id), ()) for host in hosts})
    return (
        Figure(
            id="hosts-beside",
            title=f"{fmt.plural(len(hosts), 'host')}: up to {fmt.percent(spread.max())} apart",
            sub="Medians of each host; of each sweep the cell with the highest rate and the one with the lowest time. `pinsweep fleet` judges the hosts.",
            tables=(_by_number(hosts, rows, sources) if len(hosts) < _MANY else _by_host(hosts, names, rows, sources),),
        ),
    )  # fmt: skip


def _leading(medians: pd.DataFrame) -> pd.DataFrame:
    """Return the best number of each sweep, program and direction, by its median over the hosts."""
    middle = medians.median(axis=1)
    better = medians.index.get_level_values("better") == "higher"
    best = middle.where(better, -middle).groupby(level=["sweep", "program", "better"], sort=False).idxmax()
    return medians.loc[list(best)]


def _runs(results: Results) -> dict[tuple[str, str, str], tuple[Run, ...]]:
    good = (run for tool in results.tools for run in results.good(tool))
    return {
        key: tuple(runs)
        for key, runs in group_by(good, lambda run: (run.host, run.cell.sweep, run.record.point_id)).items()
    }


def _by_number(
    hosts: list[str], rows: list[tuple[str, ...]], sources: list[dict[str, tuple[Run, ...]]]
) -> Table:
    return Table(
        columns=("Number", *hosts, "Unit", "Apart"),
        rows=tuple(rows),
        numeric=frozenset({*range(1, len(hosts) + 1), len(hosts) + 2}),
        of=tuple({i: source[host] for i, host in enumerate(hosts, 1)} for source in sources),
    )


def _by_host(
    hosts: list[str], names: list[str], rows: list[tuple[str, ...]], sources: list[dict[str, tuple[Run, ...]]]
) -> Table:
    return Table(
        columns=("Host", *(f"{name}, {row[-2]}" for name, row in zip(names, rows, strict=True))),
        rows=tuple((host, *(row[1 + i] for row in rows)) for i, host in enumerate(hosts)),
        numeric=frozenset(range(1, len(names) + 1)),
        of=tuple({i: source[host] for i, source in enumerate(sources, 1)} for host in hosts),
    )
