"""fio's percentiles over iodepth, a fan for each kind of access, and the most IOPS within a limit on p99: at tested depths only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from reports.charts import curve_rows, facets, wording
from reports.charts import titles as findings
from reports.charts._fio_cells import RANKED, depth_of, known_count
from reports.charts._fio_panels import crosses_of
from reports.charts._fio_tables import LIMITS, RATE, iops_over_repeats, over_repeats, timed
from reports.charts.curve_rows import Cross, Curve
from reports.charts.soundness import counted_rows, is_hollow
from reports.draw import axes, label_placement, vega
from reports.draw.figure import MOST_ROWS, Figure, Panel, Table, cut_caption, panel, row_of
from reports.draw.plot import Plot, left_margin
from reports.draw.vega import Frame, Rows, Spec
from reports.numbers import formulas
from reports.readings import groups
from reports.results.convicted import OTHER
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.results.naming import program_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

_QUANTILES: Final = {"p50": "p50", "p90": "p90", "p99": "p99", "p999": "p99.9", "p9999": "p99.99"}
"""Column of `_fio_cells.cells` → what it is called."""

_MOST_FANS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fan:
    """The percentiles of one kind of access in one panel of the sweep."""

    series: str
    of: facets.Facet
    lines: tuple[Curve, ...]  # named by their quantiles, the lowest first
    drawn: frozenset[int]  # iodepths
    counted: frozenset[int]  # those of `drawn` with a sound run; of a hollow fan all
    # iodepth → (IOPS, p99 in ns) of each repeat, where all have a p99
    depths: Mapping[int, Sequence[tuple[float, float]]]
    tails: tuple[float, ...]  # how many times its median p99 is, of each repeat at each of these depths
    runs: tuple[Run, ...]
    hollow: bool

    @property
    def name(self) -> str:
        """ "4 KiB blocks, randread"."""
        return _name(self.of, self.series)

    def keeps_everywhere(self, limit: float) -> bool:
        """Do all its depths keep a limit (ns) on p99? Not where one has no p99, or none is sound."""
        kept = None if self.hollow else formulas.within_slo(self.depths, limit)
        return bool(kept and kept.bound) and self.depths.keys() == self.counted

    def within(self, limit: float) -> formulas.Within | None:
        """Return the most IOPS of the depths at which every repeat keeps a limit (ns) on p99; None where there is none, or all are, and of
        runs of which nothing is said."""
        kept = None if self.hollow else formulas.within_slo(self.depths, limit)
        return None if self.keeps_everywhere(limit) else kept


def _name(of: facets.Facet, series: str) -> str:
    return ", ".join(filter(None, (facets.facet_title(of, "fio"), series)))


def fans_figure(
    sweep: str, runs: Sequence[Run], found: pd.DataFrame, lost: Sequence[Run], latency: str
) -> Figure | None:
    """Draw p50 to p99.99 over iodepth, a panel for each kind of access and the limit on p99 that tells most; None of sweeps without depths or
    of which none has a p99. found: of a depth that is known, and asked for; lost: of the cells that gave no number."""
    alike = [found[name] for name in (*_OF_A_FAN, "iodepth")]
    # what only some repeats tell is not of the cell
    told = found[found["p50"].notna().groupby(alike, dropna=False).transform("all")]
    ordered = told.sort_values(["at", *RANKED], kind="stable")
    fans = [fan for fan in map(_fan, groups(ordered, _OF_A_FAN)) if fan]
    if not any(fan.depths for fan in fans):
        return None
    limit = _telling(fans)
    shown = fans[:_MOST_FANS]
    names = facets.facet_names(
        [*runs, *lost], within=("iodepth",)
    )  # all that tells a cell from those of other fans
    missing = group_by(lost, lambda run: facets.facet(run, names))
    crosses = [[*crosses_of(missing.get(facets.facet(fan.runs[0], names), ()))] for fan in shown]
    panels = _panels(shown, crosses, latency, limit)
    drawn = list(dict.fromkeys(run for fan in shown for run in fan.runs))
    ring = any(p.wide["datasets"]["rings"] for p in panels)
    loose = limit and any(fan.keeps_everywhere(limit) for fan in shown)
    repeated = any(len(own) > 1 for fan in shown for own in fan.depths.values())
    said = [
        f"{wording.ran(drawn, program_name)}; percentiles of the {latency} of a run, up to those that have ten I/Os beyond them.",
        f"Dotted: {fmt.quantity(limit, 'ns', 1)}." if limit else "",
        f"Ring: of the tested depths at which p99 keeps it{' in every repeat' * repeated} that with the most IOPS"
        f"{'; none where all do' if loose else ''}."
        if ring
        else "",
        wording.repeats(panels, runs).strip(),
        curve_rows.crossed(panels).strip(),
        wording.hollow(panels, drawn).strip(),
        _of_one_depth(told),
        _too_few(found, fans),
        wording.not_drawn(len(fans), len(shown)).strip(),
    ]
    title, told_of = _title(fans, limit)
    return Figure(
        id=f"fio-fan-{sweep}", of=sweep, sweep=runs[0].sweep_title, title=title, told_of=((tuple(told_of), ""),), found=None if limit else False, sub=" ".join(filter(None, said)),
        panels=tuple(panels), numbers=(_numbers(told, latency, rates=limit is not None and any(fan.within(limit) for fan in fans)),),
        runs=tuple(dict.fromkeys(told["run"])), metric=OTHER,
    )  # fmt: skip


_OF_A_FAN = ["panel", "series", "processes"]


def _fan(group: tuple[tuple[facets.Facet, str, object], pd.DataFrame]) -> _Fan | None:
    (of, series, _), every = group
    if every["iodepth"].nunique() < 2:
        return None
    own = counted_rows(every)
    lines = []
    for column, name in _QUANTILES.items():
        known = every[every[column].notna().groupby(every["iodepth"]).transform("all")]
        if len(known):
            pairs = zip(known["iodepth"].astype(float), known[column].astype(float), strict=True)
            lines.append(curve_rows.curve(name, pairs, runs=known["run"]))
    depths = timed(own)
    timed_well = own[own["iodepth"].isin([*depths])]
    return _Fan(
        series=series, of=of, lines=tuple(lines), drawn=frozenset(map(int, every["iodepth"])), counted=frozenset(map(int, own["iodepth"])), depths=depths,
        tails=tuple((timed_well["p99"] / timed_well["p50"]).astype(float)),
        runs=tuple(dict.fromkeys(every["run"])), hollow=is_hollow(every["run"]),
    )  # fmt: skip


_MOST_NAMES: Final = 4
"""Kinds of access that a caption names one by one."""


def _of_one_depth(told: pd.DataFrame) -> str:
    """Say of which kinds of access the numbers have one depth and the picture nothing."""
    alone = told[told.groupby(_OF_A_FAN, dropna=False)["iodepth"].transform("nunique") == 1]
    names = [
        _name(of, series) for of, series in dict.fromkeys(zip(alone["panel"], alone["series"], strict=True))
    ]
    if not names:
        return ""
    of = fmt.words(names) if len(names) <= _MOST_NAMES else f"{len(names)} kinds of access"
    return f"Of one depth, in the numbers only: {of}."


def _too_few(found: pd.DataFrame, fans: Sequence[_Fan]) -> str:
    """Say of which cells a run has too few I/Os for a percentile: "Too few I/Os in a run: for p99 of 1 MiB blocks, randread, depths 1 and 4"."""
    known = {(fan.of, fan.series): fan for fan in fans}
    lacking = []
    for (of, series), own in groups(found.sort_values(["at", *RANKED], kind="stable"), ["panel", "series"]):
        name = _name(of, series)
        fan = known.get((of, series))
        for quantile, lost in (
            ("the median", {*map(int, own.loc[own["p50"].isna(), "iodepth"])}),
            ("p99", fan.counted - fan.depths.keys() if fan else ()),
        ):
            if lost:
                depths = fmt.words(map(fmt.whole, sorted(lost)))
                lacking.append(f"for {quantile} of {name}, depth{'s' * (len(lost) > 1)} {depths}")
    return f"Too few I/Os in a run: {'; '.join(lacking)}." if lacking else ""


def _telling(fans: Sequence[_Fan]) -> float | None:
    """Return the limit on p99 (ns) that most fans keep at some depths and not at others; the tightest of these. None where there is none."""
    counts = {limit: sum(fan.within(limit) is not None for fan in fans) for limit in LIMITS}
    return max(counts, key=lambda limit: (counts[limit], -limit)) if any(counts.values()) else None


def _title(fans: Sequence[_Fan], limit: float | None) -> tuple[str, list[Run]]:
    """Say what the first offers within the limit that every repeat keeps at some depth, and whose numbers that tells; of none how far p99 is from the median,
    in all that is drawn. Of a series whose runs are all disturbed nothing is said."""
    told = [fan for fan in fans if not fan.hollow]
    for fan in told if limit else ():
        assert limit is not None
        if kept := fan.within(limit):
            said = findings.within(facets.begins(fan.of, fan.name), kept.iops, kept.depth, limit)
            return said, [run for run in fan.runs if depth_of(run) == kept.depth]
    every = [run for fan in told for run in fan.runs]
    return findings.percentiles([ratio for fan in told for ratio in fan.tails]), every


def _panels(
    fans: Sequence[_Fan], crosses: Sequence[Sequence[Cross]], latency: str, limit: float | None
) -> list[Panel]:
    """Return a panel for each fan; all have the same axes."""
    ends = [v for fan in fans for line in fan.lines for _, y in line.points for v in (y.low, y.high)]
    held = [*ends, *([limit] if limit else [])]
    y = axes.decades(held, f"{fmt.sentence(latency)} (log scale)", unit="ns", margin=1.3)
    lost = {int(cross.x) for own in crosses for cross in own}
    depths = sorted({*lost, *(depth for fan in fans for depth in fan.drawn)})
    return [_panel(fan, own, depths, y, limit) for fan, own in zip(fans, crosses, strict=True)]


def _panel(
    fan: _Fan,
    crosses: Sequence[Cross],
    depths: Sequence[int],
    y: axes.Axis,
    limit: float | None,
) -> Panel:
    x = axes.at_tested(depths, "iodepth per job (log)")
    kept = fan.within(limit) if limit else None
    names = list(_QUANTILES.values())
    series = [vega.Series(name=line.name, colour=vega.ORDERED[names.index(line.name)]) for line in fan.lines]

    def tip(name: str) -> curve_rows.Tip:
        return lambda depth, value: f"iodepth {depth:g} · {wording.exact(value, 'ns')}, {name}"

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=268, left=left_margin(y), right=curve_rows.name_margin(fan.lines, width)
        )
        plot = Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "points": [
                row
                for line in fan.lines
                for row in curve_rows.point_rows([line], depths, 1.0, tip(line.name))
            ],
            "ranges": curve_rows.range_rows(fan.lines, depths, 1.0),
            "crosses": curve_rows.cross_rows(crosses, plot, None, fan.lines),
        }
        data |= curve_rows.end_names(fan.lines, plot, 1.0, data["crosses"])
        if limit:
            data |= _limit_marks(fan, limit, kept, plot)
        return vega.fill("depth", frame=frame, x=x, y=y, series=series, data=data)

    described = curve_rows.in_words(fan.lines, "ns", lambda depth: f"depth {depth:g}")
    return panel(facets.begins(fan.of, fan.name), f"{fan.name}: percentiles by iodepth. {described}", build)


def _limit_marks(fan: _Fan, limit: float, kept: formulas.Within | None, plot: Plot) -> dict[str, Rows]:
    """Return the line of a limit and the ring on p99 at the depth that has the most IOPS within it (`kept`: these, and the depth)."""
    level = limit
    out: dict[str, Rows] = {
        "references": [{"x": plot.x.low, "x2": plot.x.high, "y": level, "y2": level}],
        "rings": [],
        "notes": [],
    }
    p99 = next((line for line in fan.lines if line.name == "p99"), None)
    if kept is None or p99 is None:
        return out
    y = p99.medians[float(kept.depth)]
    at = {"series": "p99", "x": float(kept.depth), "y": y}
    strokes = [
        *curve_rows.segments(fan.lines, plot, 1.0),
        (plot.at(plot.x.low, level), plot.at(plot.x.high, level)),
    ]
    px, py = plot.at(kept.depth, y)
    text = f"{fmt.quantity(kept.iops, 'IOPS')} at {kept.depth}"
    bounds = (0.0, -8.0, plot.frame.plot_width, plot.frame.plot_height - 4)
    (label,) = label_placement.near(
        [((px, py), text)], strokes, [(px - 7, py - 7, px + 7, py + 7)], bounds, 11.5
    )
    out["rings"] = [at]
    out["notes"] = [{**at, "text": text, "dx": label.dx, "dy": label.dy, "align": label.align}]
    return out


def _numbers(found: pd.DataFrame, latency: str, *, rates: bool) -> Table:
    """Return the percentiles of every cell, medians over the repeats of each run's own. rates: with the IOPS, which title and ring have."""
    scale = fmt.scale_for(found["p50"].dropna(), "ns")
    named = any(found["panel"])
    rows, whose, directions = [], [], []
    ordered = found.sort_values(["at", *RANKED, "iodepth"], kind="stable")
    for (of, name, depth, _), every in groups(ordered, ["panel", "series", "iodepth", "processes"]):
        own = counted_rows(every)
        rows.append(
            (
                name, *([facets.facet_title(of, "fio")] if named else []), fmt.whole(known_count(depth)),
                *([iops_over_repeats(own["iops"])] if rates else []), *(over_repeats(own[column].astype(float), scale) for column in _QUANTILES),
            )
        )  # fmt: skip
        whose.append(row_of(own["run"]))
        directions.append(own["direction"].iloc[0])
    first = ("Access", *(["Panel"] if named else []))
    columns = (
        *first,
        "iodepth",
        *(["IOPS"] if rates else []),
        *(f"{name}, {scale.unit}" for name in _QUANTILES.values()),
    )
    return Table(
        columns=columns,
        rows=tuple(rows[:MOST_ROWS]),
        numeric=frozenset(range(len(first), len(columns))),
        caption=cut_caption(f"Percentiles of the {latency}: medians over the repeats", len(rows)),
        of=tuple(whose[:MOST_ROWS]),
        part_of_metric=tuple(directions[:MOST_ROWS]),
        metrics={
            i: RATE
            if name == "IOPS"
            else OTHER
            if name == "iodepth"
            else f"{latency}/{name.partition(',')[0]}"
            for i, name in enumerate(columns)
            if i >= len(first)
        },
    )
