"""Distributions of single latencies: rows of bins, tail charts and histograms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.chart import Chart, Rule, Title
from reports.document import Column, Quantity, Table
from reports.numbers import formulas
from reports.numbers.formulas import Bucket
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

BINS: Final = "bins"
"""The metric of the rows that `bins` makes."""

_MAX_BINS: Final = 400
"""Bins of a run. More bins are merged into bins with a width of 2.4 %."""

_PER_DECADE: Final = 24
"""Bars of a histogram."""

_NORMAL: Final = "normal, same mean and SD"

MAX_CURVES: Final = 6
"""Distributions of a figure. If there are more, the first and the last of each kind are drawn."""


def bins(
    curve: str, buckets: Sequence[Bucket], *, order: float = 0.0, step: float = 0.0, timer: float = 0.0
) -> Iterator[dict[str, Any]]:
    """Yield a row per bin of a run: `bin_low`, `bin_high` (ns), `value` (samples in the bin), and the columns that
    all bins share.

    `curve` is the kind, and after a comma the difference to other curves of that kind. `order` sorts curves of a kind.
    `step` and `timer` are step and cost of the clock in ns.
    """
    total = sum(bucket.n for bucket in buckets)
    if total:
        mean, sd = formulas.moments(buckets)
        same = {"metric": BINS, "unit": "ns", "curve": curve, "order": order, "mean": mean, "sd": sd, "total": total, "clock_step": step, "timer": timer}  # fmt: skip
        merged = buckets if len(buckets) <= _MAX_BINS else formulas.merge(buckets, 4 * _PER_DECADE)
        yield from ({**same, "bin_low": b.low, "bin_high": b.high, "value": b.n} for b in merged if b.n)


def buckets_of(rows: pd.DataFrame) -> list[Bucket]:
    """Return the bins of some rows of one curve, the repeats added up."""
    counts = rows.groupby(["bin_low", "bin_high"], as_index=False)["value"].sum()
    columns = (counts[name].tolist() for name in ("bin_low", "bin_high", "value"))
    return [Bucket(low, high, int(n)) for low, high, n in zip(*columns, strict=True)]


def _curves(rows: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the key of a curve (panel, name and flags) with the rows of the curve."""
    for _, group in rows.groupby([*_panels(rows), "curve"], sort=False, dropna=False):
        first = group.iloc[0]
        yield {name: first[name] for name in (*_panels(rows), "curve", "flags", "timer")}, group


def _panels(rows: pd.DataFrame) -> list[str]:
    return [name for name in ("bs", "where") if name in rows]


def _pooled_moments(rows: pd.DataFrame) -> tuple[float, float]:
    """Return mean and standard deviation of all samples of some runs (law of total variance)."""
    runs = rows.drop_duplicates("run")
    share = runs["total"] / runs["total"].sum()
    mean = float((share * runs["mean"]).sum())
    return mean, math.sqrt(float((share * (runs["sd"] ** 2 + (runs["mean"] - mean) ** 2)).sum()))


def _few(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of MAX_CURVES curves in order. Curves with equal names get cell and program as addition."""
    names = [*_panels(rows), "curve"]
    cells = rows["point_id"] + rows["program"]
    several = cells.groupby([rows[name] for name in names], dropna=False).transform("nunique") > 1
    rows = rows.assign(
        curve=rows["curve"].where(~several, rows["curve"] + ", " + rows["cell"] + ", " + rows["program_name"]),
        kind=rows["curve"].str.partition(",")[0],
    ).sort_values(["kind", "order"], kind="stable")
    if rows["curve"].nunique() > MAX_CURVES:
        ends = rows.groupby("kind")["order"]
        rows = rows[(rows["order"] == ends.transform("min")) | (rows["order"] == ends.transform("max"))]
    return rows[rows["curve"].isin(rows["curve"].unique()[:MAX_CURVES])]


def _tails(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per step of each tail and of a normal distribution: `time` (ns) and `share` of the samples at or
    above.

    `numbers` repeats the curve's values in all rows, as in `_numbers_table`.
    """
    from parsers.frames import pd

    out: list[dict[str, Any]] = []
    for names, group in _curves(_few(rows)):
        buckets, shares = buckets_of(group), [*_SHARES.values()]
        numbers = (sum(b.n for b in buckets), *_pooled_moments(group), *formulas.quantiles(buckets, shares))
        steps = formulas.survival(buckets, _MAX_STEPS)
        out += [{**names, "time": max(t, 1.0), "share": share, "numbers": numbers} for t, share in steps]
    least, top = min(row["share"] for row in out), max(row["time"] for row in out)
    for first in {tuple(str(row[name]) for name in _panels(rows)): row for row in reversed(out)}.values():
        _, mean, sd, *_ = first["numbers"]
        times = [time for i in range(80) if (time := mean + (i / 10 - 3) * sd) >= 1 and time <= top and sd > 0]
        shares_above = [(time, formulas.normal_survival(mean, sd, time)) for time in times]
        same = {**first, "curve": _NORMAL, "flags": "", "numbers": None}
        out += [{**same, "time": time, "share": share} for time, share in shares_above if share >= least]
    return pd.DataFrame(out)


_MAX_STEPS: Final = 120
_SHARES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "p99.99": 0.9999}


def _numbers_table(rows: pd.DataFrame) -> Table:
    """Return one row per tail: samples, mean, standard deviation and quantiles over all repeats."""
    group = rows[rows["curve"] != _NORMAL].drop_duplicates(["curve", *_panels(rows)])
    columns = [
        Column(name="curve"),
        Column(name="samples"),
        *(Column(name=name, unit="ns") for name in ("mean", "sd", *_SHARES)),
    ]
    cells = zip(group["curve"], group["numbers"], strict=True)
    return Table(
        columns=tuple(columns),
        rows=tuple((curve, *numbers) for curve, numbers in cells),
        title="All repeats together",
    )


def _timer(rows: pd.DataFrame) -> list[Rule]:
    """Return the lowest cost of the timer, if known and near the samples."""
    cost = float(rows.loc[rows["timer"] > 0, "timer"].min())
    near = cost > rows["time"].min() / 4
    return [Rule(label=f"timer {fmt.quantity(cost, 'ns')}", x=cost)] if near else []


def _longest(rows: pd.DataFrame) -> Mapping[str, Any] | None:
    """Return the curve with the highest p99.9 ÷ median, or None without both."""
    ratios = {}
    for curve, numbers in zip(rows["curve"], rows["numbers"], strict=True):
        median, tail = (numbers[3], numbers[6]) if numbers else (None, None)
        if median and tail:
            ratios[str(curve)] = tail / median
    if not ratios:
        return None
    curve = max(ratios, key=ratios.__getitem__)
    return {"curve": curve[:1].upper() + curve[1:], "ratio": Quantity(ratios[curve], "")}


def _histograms(rows: pd.DataFrame) -> pd.DataFrame:
    """Return a row per bar with `time` to `x2` (ns) and `samples`. Each curve has a panel with a normal distribution
    of the same mean and SD.

    `peaks` repeats the curve's values in all rows, as in `_peak_table`.
    """
    from parsers.frames import pd

    out: list[dict[str, Any]] = []
    for names, group in itertools.islice(_curves(_few(rows)), MAX_CURVES):
        bars = {round(math.log10(b.low) * _PER_DECADE): b.n for b in formulas.merge(buckets_of(group), _PER_DECADE)}
        (mean, sd), total, peaks = _pooled_moments(group), sum(bars.values()), _peaks(group)
        for index in range(min(bars), max(bars) + 1):
            low, high = (10 ** (i / _PER_DECADE) for i in (index, index + 1))
            above = [formulas.normal_survival(mean, sd or 1.0, edge) for edge in (low, high)]
            counts = {"samples": bars.get(index, 0), _NORMAL: total * (above[0] - above[1]) if sd > 0 else 0}
            same = {**names, "time": low, "x2": high, "peaks": peaks}
            out += [{**same, "kind": kind, "samples": n} for kind, n in counts.items() if n >= 0.5]
    return pd.DataFrame(out)


def _peaks(rows: pd.DataFrame) -> tuple[tuple[float, float, str], ...]:
    """Return the peaks of a curve with at least 2 % of the samples and ten samples: time (ns), share, number of
    repeats.

    Peaks within 10 % of the time are merged.
    """
    step, buckets = float(rows["clock_step"].max()), buckets_of(rows)
    repeats = [formulas.modes(buckets_of(group), step=step) for _, group in rows.groupby("run")]
    out = []
    for peak in formulas.modes(buckets, least=max(0.02, 10 / sum(b.n for b in buckets)), step=step):
        same = [any(abs(math.log(other.at / peak.at)) <= 0.11 for other in repeat) for repeat in repeats]
        out.append((peak.at, peak.share, f"{sum(same)} of {len(same)}"))
    return tuple(out)


def _peak_table(rows: pd.DataFrame) -> Table:
    """Return a row per peak of each histogram."""
    curves = rows.drop_duplicates(["curve", *_panels(rows)])
    peaks = [(curve, *peak) for curve, peaks in zip(curves["curve"], curves["peaks"], strict=True) for peak in peaks]
    units = {"curve": "", "peak": "ns", "share": "%", "repeats": ""}
    return Table(
        columns=tuple(Column(name=name, unit=unit) for name, unit in units.items()),
        rows=tuple(peaks),
        title="Peaks",
    )


def charts(tool: str, noun: str) -> tuple[Chart, ...]:
    """Return the charts of the bins of a tool. `noun` names a sample, such as "I/O"."""
    about = (
        "The bins of all repeats are added up. A step of a tail is the share of samples that take at least as long. The normal distribution has "
        "the mean and standard deviation of the first curve of a panel, in a histogram of the samples of the panel."
    )
    style: dict[str, Any] = {"where": {"metric": BINS}, "x": "time", "x_unit": "ns", "x_title": f"time of one {noun}", "log_x": True, "about": about}  # fmt: skip
    longest = Title(template="{curve}: p99.9 is {ratio} × the median", values=_longest)
    return (
        Chart(
            id=f"{tool}-tail", title=f"Tails of the time of one {noun}", kind="steps", rows=_tails, y="share", color="curve", panels=("bs", "where"),
            log_y=True, y_title="share below", rules=_timer, titles=(longest,), summary=_numbers_table, **style,
        ),
        Chart(
            id=f"{tool}-histogram", title=f"Histograms of the time of one {noun}", kind="bars", rows=_histograms, y="samples", color="kind",
            panels=("curve", "bs", "where"), y_title="samples", summary=_peak_table, **style,
        ),
    )  # fmt: skip
