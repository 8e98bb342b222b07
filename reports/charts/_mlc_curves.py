"""Loaded latency of MLC as data: curves of latency over bandwidth, one for each traffic type in a panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from parsers import mlc
from reports.charts import facets
from reports.charts.soundness import counted_rows, is_hollow
from reports.numbers import formulas
from reports.numbers.formulas import Load, LoadedLatency, Spread
from reports.readings import groups
from reports.readings.mlc import load_rows
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.results.traffic import MIXES, traffic_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

SPREAD: Final[list[Any]] = ["median", "min", "max", "size"]
"""The fields of a Spread, in order, as pandas works them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a loaded-latency table, its repeats together."""

    delay: int
    latency: Spread  # ns
    bandwidth: Spread  # B/s
    hollow: bool = False  # no run of it is sound: shown, and part of no statement

    @property
    def has_bar(self) -> bool:
        return self.latency.n > 1 and not self.hollow


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCurve:
    """A loaded-latency curve: one traffic type in one panel, rows in order of load, least first."""

    traffic: str
    rows: tuple[Row, ...]
    runs: tuple[LoadedLatency, ...]  # what each repeat offers
    cell: tuple[Run, ...]  # whose rows these are
    place: str = ""  # of a panel whose curves are of one traffic each and of several places: which

    @property
    def offers(self) -> LoadedLatency:
        return formulas.over_repeats(self.runs)

    @property
    def unloaded(self) -> Spread:
        return formulas.spread([run.unloaded for run in self.runs], mlc.PRINTED_LOADED_LATENCY)

    @property
    def most(self) -> Spread:
        return formulas.spread([run.peak for run in self.runs], mlc.PRINTED["bandwidth"])

    @property
    def peak_delay(self) -> str:
        """The delay of the peak; of repeats that have it at different delays "0 to 50"."""
        return fmt.ends(*(fmt.whole(of(run.peak_delay for run in self.runs)) for of in (min, max)))

    @property
    def hollow(self) -> bool:
        """Is no run sound? Then it is shown, and no statement is made of it."""
        return is_hollow(self.cell)

    @property
    def name(self) -> str:
        return self.place or traffic_name(self.traffic)

    @property
    def short(self) -> str:
        """What it is called beside it."""
        return self.place or traffic_name(self.traffic, short=True)

    @property
    def loads(self) -> list[Load]:
        """The medians of the rows that are sound, least load first."""
        return [
            Load(row.delay, row.latency.median, row.bandwidth.median) for row in self.rows if not row.hollow
        ]

    @property
    def peak(self) -> int:
        """Index of the row with the largest bandwidth."""
        return max(range(len(self.rows)), key=lambda i: self.rows[i].bandwidth.median)


def loads(runs: Sequence[Run]) -> dict[facets.Facet, list[LoadCurve]]:
    """Return the loaded-latency curves of some runs, panel by panel, least writing first."""
    swept = all("d" in run.options for run in runs)  # a curve over cells of a delay each
    rows = load_rows.frame(runs)
    within = [
        *told_by_traffic(rows),
        *(["d"] if swept else []),
        *(["mode"] if all(run.text for run in runs) else []),
    ]
    several = len({str(run.options.get("mode")) for run in runs}) > 1
    found = facets.in_panels(rows, *within, texts=several).fillna({"traffic": "traffic not said"})
    panels: dict[facets.Facet, list[LoadCurve]] = {}
    for (of, traffic), own in groups(found, ["panel", "traffic"]):
        panels.setdefault(of, []).append(_load(traffic, own))
    return {of: sorted(curves, key=lambda c: heaviness(c.traffic)) for of, curves in panels.items()}


def told_by_traffic(found: pd.DataFrame) -> tuple[str, ...]:
    """Return the options that need no panels of their own where the traffic tells them: -W."""
    return facets.told(zip(found["run"], found["traffic"].fillna(""), strict=True), ("W",))


_TRIADS: Final = {"triad rfo": 3 / 4, "triad": 2 / 3, "triad nt": 2 / 3}


def read_share(traffic: str) -> float | None:
    """Return which part of the accesses of a traffic type are reads: 0.75 of "3:1 nt"; None where its name does not tell."""
    first = traffic.split()[0] if traffic else ""
    reads, _, writes = first.partition(":")
    if reads.isdigit() and writes.isdigit() and int(reads) + int(writes):
        return int(reads) / (int(reads) + int(writes))
    return _TRIADS.get(traffic, {"read": 1.0, "write": 0.0}.get(first) if traffic in MIXES else None)


def heaviness(traffic: str) -> tuple[float, int, str]:
    """Return what traffic types are ordered by: least writing first, those that MLC does not list last."""
    share = read_share(traffic)
    index = [*MIXES].index(traffic) if traffic in MIXES else len(MIXES)
    return (2.0 if share is None else 1 - share), index, traffic


def _load(traffic: str, found: pd.DataFrame) -> LoadCurve:
    """found: the rows of one traffic in one panel, of all repeats."""
    sound = found["run"].map(lambda run: run.sound).astype(bool)
    quiet = sound.groupby([found["delay"], found["occurrence"]]).transform("any")
    found = found[sound | ~quiet]
    hollow = set(found.loc[~quiet, ["delay", "occurrence"]].itertuples(index=False, name=None))
    spreads = found.groupby(["delay", "occurrence"], sort=False)[["latency", "bandwidth"]].agg(SPREAD)
    rows = [
        Row(
            delay=at[0],
            hollow=at in hollow,
            latency=Spread(*values[:4])._replace(step=mlc.PRINTED_LOADED_LATENCY),
            bandwidth=Spread(*values[4:])._replace(step=mlc.PRINTED["bandwidth"]),
        )
        for at, *values in spreads.itertuples()
    ]
    rows.sort(key=lambda row: -row.delay)  # of a delay that comes twice the first one first
    loads = (
        list(map(Load, own["delay"].tolist(), own["latency"].tolist(), own["bandwidth"].tolist()))
        for _, own in groups(counted_rows(found), ["where", "repeat"])  # of delays that are cells a run each
    )
    return LoadCurve(
        traffic=traffic,
        rows=tuple(rows),
        runs=tuple(map(formulas.loaded_latency, loads)),
        cell=tuple(dict.fromkeys(found["run"])),
    )


def _place(of: facets.Facet) -> str:
    return str(dict(of).get("place") or "")


MOST_PLACES = 4
"""Places whose curves share a panel: as many as there are hues."""


def places_together(panels: dict[facets.Facet, list[LoadCurve]]) -> dict[facets.Facet, list[LoadCurve]]:
    """Return the panels with those in one that differ in nothing but their place and have one curve each, of one traffic: local and
    remote memory side by side. Others stay as they are."""
    rest = {of: tuple(pair for pair in of if pair[0] != "place") for of in panels}
    alike = group_by(panels, rest.__getitem__)
    out: dict[facets.Facet, list[LoadCurve]] = {}
    for of, same in alike.items():
        curves = [curve for own in same for curve in panels[own]]
        one = len(curves) == len(same) and len({curve.traffic for curve in curves}) == 1
        if not one or not 1 < len(same) <= MOST_PLACES or not all(map(_place, same)):
            out |= {own: panels[own] for own in same}
            continue
        named = (replace(panels[own][0], place=_place(own)) for own in same)
        out[of] = sorted(named, key=lambda c: (_ORDER.get(c.place, 2), c.place))
    return out


_ORDER: Final = {"local": 0, "remote": 1}
