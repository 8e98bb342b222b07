"""Latency tails: the distribution of single accesses to memory and files, by the poke kernel."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parsers.measurement import Cell
from parsers.units import size_bytes
from reports import derive, findings, labels, scales, vega
from reports import format as fmt
from reports.charts import _common as common
from reports.derive import Bucket, Spread
from reports.frames import Results, Run
from reports.model import AccessTime, Chapter, Figure, KeyNumber, Panel, Table, panel
from reports.naming import program_name
from reports.vega import Frame, Rows, Spec

NAME = "pinsweep poke"
SECTION = "Tails"
RANK = 0
METHODS = (
    "Tails: the repeats’ buckets are added up for the picture; buckets are at most 1 % wide. A quantile is "
    "given where at least ten samples lie beyond it."
)

_MOST_CURVES = 4
_SHARES = ((0.5, "Median"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """All samples of one target, the repeats' buckets together (for the picture; verdicts go by run)."""

    name: str
    target: str
    buckets: tuple[Bucket, ...]
    mean: float  # ns
    deviation: float  # ns
    largest: float  # ns
    runs: tuple[Run, ...]
    by_run: tuple[tuple[Bucket, ...], ...]  # the buckets of each repeat alone

    def repeats(self, share: float) -> Spread | None:
        """Return a quantile's spread over the repeats; its middle is that of all samples together."""
        whole = derive.quantile(self.buckets, share)
        each = [v for buckets in self.by_run if (v := derive.quantile(buckets, share)) is not None]
        return (
            None if whole is None else Spread(whole, min([*each, whole]), max([*each, whole]), len(self.runs))
        )

    @property
    def n(self) -> int:
        return sum(b.n for b in self.buckets)


def headline(rows: Sequence[Mapping[str, Cell]]) -> str:
    """Return "median 184 ns, 99.9 % under 883 ns"."""
    median, tail = leading(rows), common.value_of(rows, metric="latency", statistic="p99.9")
    if median is None:
        return ""
    return f"median {fmt.quantity(median, 'ns')}" + (
        f", 99.9 % under {fmt.quantity(tail, 'ns')}" if tail else ""
    )


def leading(rows: Sequence[Mapping[str, Cell]]) -> float | None:
    return common.value_of(rows, metric="latency", statistic="p50")


def chapter(results: Results, tool: str = "poke") -> Chapter:
    """Draw per sweep the tails of up to four targets and the histogram of the first."""
    runs = results.good(tool)
    figures, key_numbers, times = [], [], []
    for sweep, members in common.group(runs, lambda r: r.point.sweep).items():
        found = distributions(members)
        if found:
            figures.append(_figure(sweep, members, found))
            key_numbers += _key_numbers(found)
            times += _access_times(found)
        if totals := _totals(sweep, members):
            figures.append(totals)
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers[:1]),
        access_times=tuple(times),
        programs=common.programs(runs),
    )


def distributions(runs: Sequence[Run]) -> list[Distribution]:
    """Return one distribution per cell and operation, in the order of the experiment."""
    groups: dict[str, list[tuple[Run, list[Bucket], dict[str, float]]]] = {}
    targets: dict[str, str] = {}
    hosts = len({run.where for run in runs}) > 1
    for run in runs:
        by_kind = common.group(run.table("histogram"), lambda r: (r.get("target"), r.get("op")))
        for (target, op), rows in by_kind.items():
            buckets = [
                Bucket(float(str(r["low"])), float(str(r["high"])), int(str(r["count"]))) for r in rows
            ]
            said = {
                str(r.get("statistic")): float(str(r["value"]))
                for r in run.records()
                if r["metric"] == "latency" and (r.get("target"), r.get("op")) == (target, op)
            }
            if not sum(b.n for b in buckets):
                continue
            name = _name(run, str(target), str(op)) + (f", {run.where}" if hosts else "")
            groups.setdefault(name, []).append((run, buckets, said))
            targets[name] = str(target)
    out = []
    for name, members in groups.items():
        added: dict[tuple[float, float], int] = {}
        for _, buckets, _ in members:
            for b in buckets:
                added[b.low, b.high] = added.get((b.low, b.high), 0) + b.n
        together = tuple(Bucket(low, high, n) for (low, high), n in sorted(added.items()))
        mean, deviation = derive.moments(together)
        largest = max(said.get("max", together[-1].middle) for _, _, said in members)
        out.append(
            Distribution(
                name=name, target=targets[name], buckets=together, mean=mean, deviation=deviation, largest=largest,
                runs=tuple(run for run, _, _ in members), by_run=tuple(tuple(buckets) for _, buckets, _ in members),
            )
        )  # fmt: skip
    return out


def _name(run: Run, target: str, op: str) -> str:
    """Return "memory, 1 GiB", "file, 1 MiB, direct, write"; the timer alone is "empty access"."""
    options = run.options
    if target == "null":
        return "empty access"
    parts = [target]
    if options.get("bytes"):
        parts.append(fmt.size(size_bytes(str(options["bytes"]))))
    if options.get("window"):
        parts.append(f"first {fmt.size(size_bytes(str(options['window'])))}")
    parts += [word for word in ("direct", "fsync") if options.get(word)]
    if op not in ("read", "none", "None"):
        parts.append(op)
    if run.place not in ("", "all", "local"):
        parts.append(run.place)
    return ", ".join(parts)


def _figure(sweep: str, runs: Sequence[Run], found: list[Distribution]) -> Figure:
    subject = _subject(found)
    chosen = _chosen(found)
    p999 = derive.quantile(subject.buckets, 0.999)
    panels = [_tail_panel(chosen, subject), _histogram_panel(subject)]
    left_out = len(found) - len(chosen)
    counts = sorted({d.n for d in found})
    each = fmt.count(counts[0]) if len(counts) == 1 else f"{fmt.count(counts[0])} to {fmt.count(counts[-1])}"
    sub = (
        f"{common.ran(runs, program_name)}; {each} single accesses to each target, each timed, the timer’s own cost in it. "
        "Dashed: a normal distribution with the same mean and standard deviation."
    )
    if left_out > 0:
        sub += f" {fmt.plural(left_out, 'more target')} {'is' if left_out == 1 else 'are'} in the numbers."
    return Figure(
        id=f"tail-{sweep}",
        title=findings.tail(
            subject.name[:1].upper() + subject.name[1:],
            derive.quantile(subject.buckets, 0.5),
            p999,
            subject.largest,
            subject.n,
        ),
        sub=sub,
        panels=tuple(panels),
        numbers=(_numbers(found),),
    )


def _subject(found: list[Distribution]) -> Distribution:
    """The distribution that the title speaks of and the histogram shows: the largest array in memory, else the last."""
    memory = [d for d in found if d.target == "memory"]
    return max(memory or found, key=lambda d: _bytes(d))


def _bytes(d: Distribution) -> int:
    value = d.runs[0].options.get("bytes")
    return size_bytes(str(value)) if value is not None else 0


def _chosen(found: list[Distribution]) -> list[Distribution]:
    """At most four curves: the subject, then the slowest of each target, then by median."""
    if len(found) <= _MOST_CURVES:
        return found
    by_target = common.group(found, lambda d: d.target).values()
    slowest = [max(members, key=lambda d: derive.quantile(d.buckets, 0.5) or 0) for members in by_target]
    chosen = [_subject(found), *slowest]
    rest = sorted(found, key=lambda d: -(derive.quantile(d.buckets, 0.5) or 0))
    names = list(dict.fromkeys(d.name for d in [*chosen, *rest]))[:_MOST_CURVES]
    return [d for d in found if d.name in names]


def _time_axis(found: Sequence[Distribution], title: str) -> scales.Axis:
    low = min(max(d.buckets[0].low, 1.0) for d in found)
    high = max(max(d.buckets[-1].high, d.largest) for d in found)
    return scales.decades([low, high], title, unit="ns", margin=1.2)


def _tail_panel(found: list[Distribution], subject: Distribution) -> Panel:
    lines = {d.name: [(max(v, 1.0), p) for v, p in derive.survival(d.buckets)] for d in found}
    x = _time_axis(found, "Access time (log)")
    y = scales.share_axis(
        min(points[-1][1] for points in lines.values()), "Share faster than x (log of 1 − CDF)"
    )
    series = [
        vega.Series(name=d.name, colour=c) for d, c in zip(found, vega.palette(len(found)), strict=True)
    ]

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=common.height(width, 360, 320), left=common.left_margin(y))
        plot = common.Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {
            "points": [],
            "normal": _normal_rows(subject, plot),
            "notes": [],
            "names": [],
            "leads": [],
        }
        named: list[tuple[list[labels.Point], str]] = []
        for d in found:
            points = _thinned(lines[d.name], plot)
            data["points"] += _tail_rows(d.name, points, plot)
            corners = [plot.at(*points[0])]
            for (a, _), (b, pb) in itertools.pairwise(
                points
            ):  # down at a, then on to b: as the line is drawn
                corners += [plot.at(a, pb), plot.at(b, pb)]
            named.append((corners, d.name))
        if data["normal"]:
            named.append(
                (
                    [plot.at(r["x"], r["y"]) for r in data["normal"]],
                    "normal, same mean and SD" if width > 400 else "normal",
                )
            )
        bounds = (2.0, 0.0, frame.plot_width + 10, frame.plot_height - 2)
        for place, (corners, text) in zip(
            labels.along(named, (), bounds, prefer=frame.plot_height * 0.45), named, strict=True
        ):
            of = next((d for d in found if d.name == text), None)
            start = lines[of.name][0] if of else (data["normal"][0]["x"], data["normal"][0]["y"])
            at = {"x": start[0], "y": start[1]} | ({"series": of.name} if of else {})
            dx, dy = place.x - corners[0][0], place.y - corners[0][1]
            data["names" if of else "notes"].append(
                {**at, "text": text, "dx": round(dx, 1), "dy": round(dy, 1), "align": "left"}
            )
            if of and place.lead:
                (x1, y1), (x2, y2) = place.lead
                data["leads"].append({"series": of.name, "x_px": x1, "y_px": y1, "x2_px": x2, "y2_px": y2})
        return vega.fill("tail", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{d.name}: median {fmt.quantity(derive.quantile(d.buckets, 0.5), 'ns')}, "
        f"99.9 % under {fmt.quantity(derive.quantile(d.buckets, 0.999), 'ns')}, longest {fmt.quantity(d.largest, 'ns')}."
        for d in found
    )
    return panel("Tail (1 − CDF)", f"Share of accesses that take longer, on log axes. {described}", build)


def _thinned(points: list[tuple[float, float]], plot: common.Plot) -> list[tuple[float, float]]:
    """Drop what lies within 1.2 px of the point before it: nobody sees it, and it is most of the file."""
    kept = [points[0]]
    for point in points[1:-1]:
        (ax, ay), (bx, by) = plot.at(*kept[-1]), plot.at(*point)
        if abs(ax - bx) > 1.2 or abs(ay - by) > 1.2:
            kept.append(point)
    return [*kept, *points[-1:]] if len(points) > 1 else kept


def _tail_rows(name: str, points: list[tuple[float, float]], plot: common.Plot) -> Rows:
    """The points of a tail; some 12 px apart they say their values under the pointer."""
    rows: Rows = []
    last = (-99.0, -99.0)
    for order, (value, share) in enumerate(points):
        row = {"series": name, "x": value, "y": share, "order": order, "segment": 0}
        x, y = plot.at(value, share)
        if order and abs(x - last[0]) + abs(y - last[1]) >= 12:
            last = (x, y)
            row["tip"] = f"{_percent_below(share)} under {fmt.quantity(value, 'ns', 4)}"
        rows.append(row)
    return rows


def _percent_below(share: float) -> str:
    """`_percent_below(0.00123)` is "99.877 %": as many digits as the rest has significant ones, two."""
    return f"{100 * (1 - share):.{max(0, math.ceil(-math.log10(share)) - 1)}f} %"


def _bucket_tip(bucket: Bucket) -> str:
    return f"{fmt.quantity(bucket.low, 'ns')} to {fmt.quantity(bucket.high, 'ns')} · {fmt.plural(bucket.n, 'access', 'accesses')}"


def _normal_rows(d: Distribution, plot: common.Plot) -> Rows:
    if d.deviation <= 0:
        return []
    rows = []
    for i in range(121):
        value = plot.x.low * (plot.x.high / plot.x.low) ** (i / 120)
        share = derive.normal_survival(d.mean, d.deviation, value)
        if share >= plot.y.low:
            rows.append({"x": value, "y": share, "order": i, "segment": 0})
    return rows


def _histogram_panel(d: Distribution) -> Panel:
    buckets = derive.merge(d.buckets)
    x = _time_axis([d], "Access time (log buckets, 24 a decade)")
    floor = 0.7
    y = scales.decades(
        [floor * 1.5, max(b.n for b in buckets) * 1.3], "Accesses per bucket (log scale)", margin=1.0
    )
    y = scales.Axis(
        kind="log", low=floor, high=y.high,
        ticks=tuple((10.0**p, fmt.number(10.0**p, 1)) for p in range(12) if 10.0**p <= y.high), title=y.title,
    )  # fmt: skip
    median, p999 = derive.quantile(d.buckets, 0.5), derive.quantile(d.buckets, 0.999)

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=common.height(width, 360, 320), left=common.left_margin(y))
        plot = common.Plot(frame=frame, x=x, y=y)
        marks = [
            (median, f"median {fmt.quantity(median, 'ns')}"),
            (p999, f"99.9 % under {fmt.quantity(p999, 'ns')}"),
        ]
        known = [(value, text) for value, text in marks if value is not None and x.low <= value <= x.high]
        notes: Rows = []
        for row, (value, text) in enumerate(known):
            px = plot.at(value, 1)[0]
            right = px + labels.text_width(text, 11.5) + 8 < frame.plot_width + frame.right
            if row == 0 and px - labels.text_width(text, 11.5) > 0 and len(known) > 1:
                right = False
            notes.append(
                {
                    "x": value, "y": y.high, "text": text, "dx": 5 if right else -5,
                    "dy": 8 + (14 * row if right else 0), "align": "left" if right else "right",
                }
            )  # fmt: skip
        data: dict[str, Rows] = {
            "bars": [
                {
                    "series": d.name,
                    "x": max(b.low, x.low),
                    "x2": min(b.high, x.high),
                    "y": b.n,
                    "base": floor,
                    "tip": _bucket_tip(b),
                }
                for b in buckets
                if b.high > x.low
            ],
            "references": [{"x": v, "x2": v, "y": floor, "y2": y.high} for v, _ in known],
            "notes": notes,
        }
        series = [vega.Series(name=d.name, colour=vega.SERIES[0])]
        return vega.fill("histogram", frame=frame, x=x, y=y, series=series, data=data)

    return panel(
        f"Histogram, {d.name}",
        f"Accesses per logarithmic bucket: {fmt.count(d.n)} in all, from {fmt.quantity(d.buckets[0].low, 'ns')} to {fmt.quantity(d.largest, 'ns')}.",
        build,
    )


def _numbers(found: list[Distribution]) -> Table:
    rows = []
    for d in found:
        per_run = [derive.quantile(d.buckets, share) for share, _ in _SHARES]
        rows.append(
            (
                d.name, fmt.count(d.n), *(fmt.quantity(v, "ns") for v in per_run), fmt.quantity(d.largest, "ns"),
                fmt.quantity(d.mean, "ns"), fmt.quantity(d.deviation, "ns"),
            )
        )  # fmt: skip
    return Table(
        columns=("Target", "Accesses", *(name for _, name in _SHARES), "Longest", "Mean", "SD"),
        rows=tuple(rows),
        numeric=frozenset(range(1, 10)),
        caption="A quantile is given where at least ten samples lie beyond it",
    )


def _totals(sweep: str, runs: Sequence[Run]) -> Figure | None:
    """What poke measures besides single accesses: time per byte, per turn of a loop, of all files together."""
    cells: dict[tuple[str, ...], list[float]] = {}
    for run in runs:
        for record in run.records():
            if record["metric"] in ("time_per_byte", "time_per_iteration", "total_time"):
                what = {
                    "time_per_byte": "per byte",
                    "time_per_iteration": "per turn",
                    "total_time": "all together",
                }
                statistic = str(record.get("statistic") or "")
                key = (
                    run.point.describe(), str(record.get("target") or ""), str(record.get("op") or ""),
                    f"{what[str(record['metric'])]}{', ' + statistic if statistic else ''}",
                )  # fmt: skip
                cells.setdefault(key, []).append(float(str(record["value"])))
    if not cells:
        return None
    rows = tuple(
        (
            *key,
            fmt.quantity(value.median, "ns"),
            f"{fmt.quantity(value.low, 'ns')} to {fmt.quantity(value.high, 'ns')}",
        )
        for key, value in ((key, derive.spread(values)) for key, values in cells.items())
    )
    return Figure(
        id=f"totals-{sweep}",
        title="Time per byte, per turn and in all",
        sub=f"{common.ran(runs, program_name)}.",
        tables=(
            Table(
                columns=("Cell", "Target", "Operation", "Time", "Median", "Lowest to highest"),
                rows=rows,
                numeric=frozenset((4, 5)),
            ),
        ),
    )


def _key_numbers(found: list[Distribution]) -> list[KeyNumber]:
    subject = _subject(found)
    p999, median = subject.repeats(0.999), derive.quantile(subject.buckets, 0.5)
    if p999 is None:
        return []
    context = f"{subject.name}; median {fmt.quantity(median, 'ns')}"
    return [common.key_number("99.9 % of accesses", p999, "ns", context, 15)]


def _access_times(found: list[Distribution]) -> list[AccessTime]:
    times = []
    for d in found:
        median = derive.quantile(d.buckets, 0.5)
        if median:
            group = {"memory": "memory", "file": "storage"}.get(d.target, "timer")
            name = "Timer alone" if d.target == "null" else d.name[:1].upper() + d.name[1:]
            times.append(
                AccessTime(
                    name=common.shorten(name, 26), group=group, median=median, p999=derive.quantile(d.buckets, 0.999),
                    source=program_name(d.runs[0]), repeats=d.repeats(0.5),
                )
            )  # fmt: skip
    return times
