"""Storage: fio's IOPS and latency over iodepth, per block size and kind of access."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from reports import derive, findings, labels, scales, vega
from reports import format as fmt
from reports.charts import _common as common
from reports.charts import _tails
from reports.charts._common import Curve
from reports.charts._tails import Distribution
from reports.derive import Bucket
from reports.frames import Results, Run
from reports.model import AccessTime, Chapter, Figure, Key, KeyNumber, Panel, Table, panel
from reports.naming import block, option_value, program_name
from reports.numbers.fio import fio_jobs
from reports.vega import Frame, Rows, Spec

SECTION = "Storage"
RANK = 0
METHODS = (
    "fio: IOPS are those of the whole run, latency is submission plus completion. In flight ÷ asked is "
    "IOPS × latency ÷ (iodepth × jobs), by Little’s law: 0.99 to 1 where the queue was kept full. IOPS within a limit on "
    "p99 are the most on the envelope of a series’ depths, between two depths over the logarithm of the latency. CPU per I/O is "
    "user and system time of fio’s processes ÷ all their I/Os, so the two parts of a mix share one figure."
)

_KINDS = ("randread", "randwrite", "read", "write", "randrw", "rw", "readwrite", "trim", "randtrim")
_THOUSANDS = {"IOPS": "IOPS", "kIOPS": "Thousand IOPS", "MIOPS": "Million IOPS"}
_SHORT = {"randread": "read", "randwrite": "write", "randrw": "mix", "readwrite": "mix", "rw": "mix"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One run's numbers of one direction, its jobs together. Base units; None: not measured."""

    run: Run
    iodepth: int
    numjobs: int
    direction: str
    iops: float  # over the run; summed over the jobs
    latency: float | None  # ns, mean of submission and completion, weighted by the jobs' I/Os
    p50: float | None  # ns, of the completion latency
    p99: float | None
    samples: tuple[float, float] | None  # lowest and highest IOPS sample, of a single process only
    cpu: float | None  # ns of user and system time per I/O, all directions of the run together


def chapter(results: Results, tool: str = "fio") -> Chapter:
    """Draw one figure per sweep: IOPS and latency panels per block size, a line per kind and direction."""
    runs = results.good(tool)
    figures, key_numbers, times = [], [], []
    for sweep, members in common.group(runs, lambda r: r.point.sweep).items():
        found = [cell for run in members for cell in cells(run)]
        if found:
            figures.append(_figure(sweep, members, found, common.lost(results, tool, sweep, members)))
            if tails := _tails_figure(sweep, members, found):
                figures.append(tails)
            key_numbers += _key_numbers(found)
            times += _access_times(found)
    return Chapter(
        tool=tool,
        figures=tuple(figures),
        key_numbers=tuple(key_numbers),
        access_times=tuple(times),
        programs=common.programs(runs),
    )


def cells(run: Run) -> list[Cell]:
    """Return the run's numbers per direction: IOPS summed over its jobs, latencies weighted by their I/Os.

    Uses `iops` (total ÷ run time) and `lat` (submission + completion), not the means of samples.
    """
    depth, numjobs = _depth(run), _whole(run.options.get("numjobs"), 1)
    cpu = _cpu_per_io(run)
    out = []
    for direction, by_job in fio_jobs(run).items():
        rows = [values for values in by_job.values() if values.get(("iops", "total"))]
        if not rows:
            continue
        single = rows[0] if len(rows) == 1 and numjobs == 1 else {}
        low, high = single.get(("iops", "min")), single.get(("iops", "max"))
        out.append(
            Cell(
                run=run, iodepth=depth, numjobs=numjobs, direction=direction,
                iops=sum(values["iops", "total"] for values in rows),
                latency=_weighted(rows, ("lat", "mean")) or _weighted(rows, ("clat", "mean")),
                p50=_weighted(rows, ("clat", "p50")), p99=_weighted(rows, ("clat", "p99")),
                samples=(low, high) if low is not None and high is not None else None, cpu=cpu,
            )
        )  # fmt: skip
    return out


def _cpu_per_io(run: Run) -> float | None:
    """Return the CPU time (ns) of an I/O over all jobs of a run; None where a job does not tell its shares or its run time.

    fio's `usr_cpu` and `sys_cpu` are shares of `job_runtime`, which is summed over the processes of a group.
    """
    jobs: dict[object, dict[str, float]] = {}
    ios = 0.0
    for record in run.records():
        if record.get("job") is None or record.get("statistic") != "total":
            continue
        metric, value = str(record["metric"]), float(str(record["value"]))
        if metric in ("usr_cpu", "sys_cpu", "job_runtime"):
            jobs.setdefault((record.get("document"), record["job"]), {})[metric] = value
        elif metric == "total_ios" and record.get("direction") in ("read", "write", "trim"):
            ios += value
    if not jobs or any(len(told) < 3 for told in jobs.values()):
        return None
    busy = sum((told["usr_cpu"] + told["sys_cpu"]) * told["job_runtime"] for told in jobs.values())
    return derive.cpu_per_io(1.0, 0.0, busy, ios)


def _weighted(rows: list[dict[tuple[str, str], float]], key: tuple[str, str]) -> float | None:
    known = [(row[key], row["iops", "total"]) for row in rows if row.get(key)]
    total = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / total if total else None


def _depth(run: Run) -> int:
    return _whole(run.options.get("iodepth"), 1)


def _whole(value: object, default: int) -> int:
    try:
        return int(float(str(value)))
    except ValueError:
        return default


def _kind(cell: Cell) -> str:
    return str(cell.run.options.get("rw") or cell.run.options.get("readwrite") or cell.direction)


def _series(cell: Cell) -> tuple[str, str]:
    """Return (name, short name): "randread", "read"; "randrw 70:30, reads", "mix r"."""
    kind = _kind(cell)
    short = _SHORT.get(kind, kind)
    if kind not in ("randrw", "rw", "readwrite"):
        return kind, short
    share = _whole(cell.run.options.get("rwmixread"), 50)
    return f"{kind} {share}:{100 - share}, {cell.direction}s", f"{short} {cell.direction[0]}"


def _rank(cell: Cell) -> tuple[int, str, str]:
    kind = _kind(cell)
    return (_KINDS.index(kind) if kind in _KINDS else len(_KINDS)), kind, cell.direction


def _inner(found: Sequence[Cell]) -> tuple[str, ...]:
    """Return the options that are drawn within a panel: depth and kinds of access; of more than six kinds, each has its own."""
    kinds = ("rw", "readwrite", "rwmixread", "rwmixwrite")
    return ("iodepth", *kinds) if len({_series(c) for c in found}) <= common.MOST_SERIES else ("iodepth",)


def _figure(sweep: str, runs: Sequence[Run], found: list[Cell], lost: Sequence[Run]) -> Figure:
    names = common.facet_names(runs, within=_inner(found))
    panels = common.group(found, lambda c: common.facet(c.run, names))
    order = sorted(found, key=_rank)
    known = list(dict.fromkeys(_series(cell) for cell in order))
    colours = dict(zip((name for name, _ in known), vega.palette(len(known)), strict=True))
    missing = common.group(lost, lambda r: common.facet(r, names))
    depths = sorted({cell.iodepth for cell in found} | {_depth(run) for run in lost})
    shown = dict(list(panels.items())[: common.MOST_PANELS // 2])
    quantiles = all(cell.p50 is not None for cell in found)
    middle, word = ("p50", "Median latency") if quantiles else ("latency", "Mean latency")
    drawn = {
        of: {what: _lines(m, known, what) for what in ("iops", middle, "p99")} for of, m in shown.items()
    }
    latencies = [
        v
        for by_what in drawn.values()
        for what in (middle, "p99")
        for line in by_what[what]
        for _, y in line.points
        for v in (y.low, y.high)
    ]
    scale = fmt.scale_for(latencies, "ns")
    shared = scales.decades(  # one axis for all panels: what waits longer is seen to
        [v / scale.factor for v in latencies], f"{word}, {scale.unit} (log scale)", margin=1.3
    )
    medians = [y.median for by in drawn.values() for line in by[middle] for _, y in line.points]
    waits = scales.decades([v / scale.factor for v in medians], shared.title, margin=1.5)
    rows: dict[str, list[Panel]] = {"iops": [], "latency": [], "p99": [], "tradeoff": []}
    apart = len(shown) == 1  # one panel each for the median and 99 %; of several, thin lines in one
    for of, lines in drawn.items():
        where = common.facet_title(of, option_value)
        iops, delays, tails = lines["iops"], lines[middle], lines["p99"]
        values = [v for line in iops for _, y in line.points for v in (y.low, y.high)]
        values += [v for line in iops for _, low, high in line.ranges or () for v in (low, high)]
        rate = fmt.scale_to_largest(values, "IOPS")
        axis = scales.from_zero([v / rate.factor for v in values], _THOUSANDS[rate.unit])
        crosses = [float(_depth(run)) for run in missing.get(of, ())]

        def titled(text: str, where: str = where) -> str:
            return f"{where}, {text}" if where else text[:1].upper() + text[1:]

        def draw(
            title: str, lines: list[Curve], y: scales.Axis, unit: str, thin: Sequence[Curve] = (),
            factor: float = scale.factor, crosses: Sequence[float] = crosses,
        ) -> Panel:  # fmt: skip
            return _panel(title, lines, colours, depths, y, factor, unit, crosses, thin)

        rows["iops"].append(draw(titled("IOPS"), iops, axis, "IOPS", factor=rate.factor))
        if delays:
            rows["latency"].append(draw(titled("latency"), delays, shared, "ns", () if apart else tails))
            rows["tradeoff"].append(
                _tradeoff(
                    titled("latency over IOPS"),
                    iops,
                    delays,
                    colours,
                    axis,
                    rate.factor,
                    waits,
                    scale.factor,
                )
            )
        if apart and tails:
            y99 = shared.titled(f"99 % are faster, {scale.unit} (log scale)")
            rows["p99"].append(draw(titled("latency, 99 %"), tails, y99, "ns"))
    drawn_panels = tuple(p for of_row in rows.values() for p in of_row)
    iops_panels = rows["iops"]
    first = next(iter(panels.values()))
    title = findings.iodepth(
        {line.name: {int(d): s for d, s in line.points} for line in _lines(first, known, "iops")},
        ("randread", "read"),
    )
    jobs = sorted({cell.numjobs for cell in found})
    direct = {str(run.options.get("direct")) for run in runs}
    engine = {str(run.options["ioengine"]) for run in runs if "ioengine" in run.options}
    what = [
        *sorted(engine),
        *(
            ["direct"]
            if direct <= {"1", "True"}
            else ["through the page cache"]
            if direct <= {"0", "False", "None"}
            else []
        ),
    ]
    once = (
        max(
            len(m)
            for m in common.group(found, lambda c: (c.run.record.point_id, c.run.file, c.direction)).values()
        )
        == 1
    ) and not common.pooled(runs)
    bars = "lowest and highest IOPS sample of the run" if once else f"lowest to highest {common.over(runs)}"
    sub = [
        f"{common.ran(runs, program_name)}; {', '.join(what)}{', ' if what else ''}{fmt.plural(jobs[-1], 'job') if len(jobs) == 1 else 'several jobs'}.",
        f"Bars: {bars}.",
        *(
            ["Ring: 95 % of that curve’s maximum."]
            if any(common.saturates(line) for by in drawn.values() for line in by["iops"])
            else []
        ),
        *(["Latency: the median; thin line: 99 % are faster."] if quantiles and not apart else []),
        "Latency over IOPS: one point per iodepth; a curve that goes straight up only waits.",
    ]
    if any("," in name for name, _ in known):
        sub.append("Dashed: a mix, split into its reads and writes.")
    if lost:
        sub.append("Cross on the axis: a cell that failed.")
    if len({p.title for p in iops_panels}) > 1:
        sub.append("The IOPS axes differ.")
    if len(panels) > len(shown):
        sub.append(f"{len(panels) - len(shown)} more panels are in the numbers only.")
    offers = _offers(found, names)
    return Figure(
        id=f"fio-{sweep}",
        sweep=runs[0].sweep_title,
        title=title if len(panels) <= 2 else "IOPS and latency over iodepth",
        sub=" ".join(sub),
        panels=drawn_panels,
        key=tuple(Key(name=name, colour=colours[name], dashed="," in name) for name, _ in known) if len(known) > 1 else (),
        tables=(offers,) if offers and len(offers.rows) <= _MOST_OFFERS else (),
        numbers=(*([offers] if offers and len(offers.rows) > _MOST_OFFERS else []), _numbers(found, names)),
    )  # fmt: skip


LIMITS = (100e3, 1e6, 10e6)
"""Limits on p99 (ns) at which the most IOPS are given: of a flash array, of a service on disks, of what people still wait for."""


def _offers(found: list[Cell], names: list[str]) -> Table | None:
    """Return the most IOPS of each series, from which depth on, and within a limit on p99; None of sweeps without depths."""
    groups = common.group(
        sorted(found, key=_rank), lambda c: (common.facet(c.run, names), _series(c)[0], c.numjobs)
    )
    if all(len({c.iodepth for c in same}) < 2 for same in groups.values()):
        return None
    order = {of: i for i, of in enumerate(dict.fromkeys(common.facet(c.run, names) for c in found))}
    rows, within = [], []
    for (of, name, _), same in sorted(groups.items(), key=lambda g: order[g[0][0]]):
        by_depth = common.group(same, lambda c: c.iodepth)
        iops = {depth: derive.spread([c.iops for c in at]).median for depth, at in sorted(by_depth.items())}
        tails = {
            depth: derive.spread([c.p99 for c in at if c.p99]).median
            for depth, at in by_depth.items()
            if any(c.p99 for c in at)
        }
        points = [(iops[depth], tail) for depth, tail in tails.items()]
        most = max(iops, key=lambda depth: iops[depth])
        within.append([derive.within_slo(points, limit) for limit in LIMITS])
        rows.append(
            (
                name, *([common.facet_title(of, option_value)] if names else []), fmt.quantity(iops[most], "IOPS"),
                str(most), str(derive.saturation(iops)),
            )
        )  # fmt: skip
    # a limit that nobody keeps says nothing; of those that everybody keeps everywhere, the tightest says it all
    told = [i for i, _ in enumerate(LIMITS) if any(row[i] is not None for row in within)]
    first = 2 if names else 1
    return Table(
        caption="What each series offers; within a limit on p99, between two depths interpolated",
        columns=(
            "Access", *(["Panel"] if names else []), "Most IOPS", "at depth", "95 % from depth",
            *(f"IOPS at p99 ≤ {fmt.quantity(LIMITS[i], 'ns', 1)}" for i in told),
        ),
        rows=tuple(
            (*row, *(fmt.quantity(kept[i], "IOPS") for i in told)) for row, kept in zip(rows, within, strict=True)
        ),
        numeric=frozenset(range(first, first + 3 + len(told))),
    )  # fmt: skip


_MOST_OFFERS = 12
"""A table of what the series offer is open up to so many rows; a longer one is with the numbers."""


def _tails_figure(sweep: str, runs: Sequence[Run], found: list[Cell]) -> Figure | None:
    """Draw how long single I/Os took, from the bins of json+: each series of one panel at its lowest and highest depth."""
    names = common.facet_names(runs, within=_inner(found))
    cells_of = common.group(
        sorted(found, key=_rank),
        lambda c: (common.facet(c.run, names), _series(c), c.iodepth, c.numjobs, c.direction),
    )
    every: dict[common.Facet, list[tuple[int, str, Distribution]]] = {}
    for (of, (series, short), depth, _, direction), same in cells_of.items():
        members = [(c.run, buckets, None) for c in same if (buckets := _buckets(c.run, direction))]
        if members:
            where = common.facet_title(of, option_value)
            drawn = _tails.pooled(f"{short}, depth {depth}", "", members)
            listed = f"{series}, depth {depth}{', ' + where if where else ''}"
            every.setdefault(of, []).append((depth, listed, drawn))
    if not every:
        return None
    first = next(of for c in found if (of := common.facet(c.run, names)) in every)
    by_series = common.group(every[first], lambda d: d[1].rpartition(", depth")[0]).values()
    chosen = [d for same in by_series for depth, _, d in same if depth in (min(same)[0], max(same)[0])][
        : _tails.MOST_CURVES
    ]
    subject = chosen[0]
    name = f"{subject.name[:1].upper()}{subject.name[1:]}"
    where = common.facet_title(first, option_value)
    title = findings.modes(name, subject.steady_modes) or findings.tail(
        name, derive.quantile(subject.buckets, 0.5), derive.quantile(subject.buckets, 0.999), subject.largest,
        subject.n, noun="I/O",
    )  # fmt: skip
    counts = sorted(d.n for d in chosen)
    left = sum(len(of) for of in every.values()) - len(chosen)
    return Figure(
        id=f"fio-tail-{sweep}",
        sweep=runs[0].sweep_title,
        title=title,
        sub=f"{common.ran(runs, program_name)}{'; ' + where if where else ''}; completion latency of {fmt.count(counts[0])} to "
        f"{fmt.count(counts[-1])} I/Os a curve, from fio’s own bins. Dashed: a normal distribution with the mean and standard "
        f"deviation of “{subject.name}”.{f' {left} more in the numbers.' if left else ''}",
        panels=(
            _tails.tail_panel(chosen, subject, noun="I/O"),
            _tails.histogram_panel(subject, chosen, noun="I/O"),
        ),
        numbers=(
            _tails.numbers([replace(d, name=listed) for of in every.values() for _, listed, d in of], noun="I/O"),
        ),
    )  # fmt: skip


def _buckets(run: Run, direction: str) -> list[Bucket]:
    """Return the bins of one direction over the run's jobs: of the completion latency, else of the whole latency."""
    rows = [r for r in run.table("histogram") if r.get("direction") == direction]
    for which in ("clat", "lat"):
        if own := [r for r in rows if r.get("which") == which]:
            return [Bucket(float(str(r["low"])), float(str(r["high"])), int(str(r["count"]))) for r in own]
    return []


def _lines(members: list[Cell], known: list[tuple[str, str]], what: str) -> list[Curve]:
    """Return one curve per series of the panel over iodepth: "iops", or in ns the mean "latency", "p50", "p99"."""
    by_series = common.group(members, _series)
    lines = []
    for name, short in known:
        own = by_series.get((name, short), [])
        pairs = [
            (float(c.iodepth), v)
            for c in own
            if (v := {"iops": c.iops, "latency": c.latency, "p50": c.p50, "p99": c.p99}[what]) is not None
        ]
        line = common.curve(name, pairs, label=short, dashed="," in name)
        if what == "iops" and all(y.n == 1 for _, y in line.points):
            ranges = tuple((float(c.iodepth), *c.samples) for c in own if c.samples)
            line = Curve(name=name, points=line.points, label=short, dashed=line.dashed, ranges=ranges)
        lines.append(line)
    return [line for line in lines if line.points]


def _panel(
    title: str,
    lines: list[Curve],
    colours: dict[str, str],
    depths: list[int],
    y: scales.Axis,
    factor: float,
    unit: str,
    crosses: Sequence[float],
    thin: Sequence[Curve] = (),
) -> Panel:
    x = scales.at_tested(depths, "iodepth per job (log)")

    def tip(depth: float, value: derive.Spread) -> str:
        return f"iodepth {depth:g} · {common.exact(value, unit)}"

    def build(width: int) -> Spec:
        frame = Frame(
            width=width, height=268, left=common.left_margin(y), right=common.name_margin(lines, width)
        )
        plot = common.Plot(frame=frame, x=x, y=y)
        data = {
            "points": common.point_rows(lines, depths, factor, tip),
            "tails": common.point_rows(thin, depths, factor, lambda d, v: f"{tip(d, v)}, 99 %"),
            "ranges": common.range_rows(lines, depths, factor),
            "crosses": common.cross_rows(crosses),
            **common.end_names(lines, plot, factor),
            **(common.saturation_rings(lines, plot, factor) if unit == "IOPS" else {}),
        }
        series = [
            vega.Series(name=line.name, colour=colours[line.name], dashed=line.dashed) for line in lines
        ]
        return vega.fill("depth", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{line.name}: {fmt.quantity(line.points[0][1].median, unit)} at depth {line.points[0][0]:g}, "
        f"{fmt.quantity(line.points[-1][1].median, unit)} at {line.points[-1][0]:g}."
        for line in lines
    )
    return panel(title, f"{'IOPS' if unit == 'IOPS' else 'Latency'} by iodepth. {described}", build)


def _tradeoff(
    title: str,
    iops: list[Curve],
    delays: list[Curve],
    colours: dict[str, str],
    x: scales.Axis,
    x_factor: float,
    y: scales.Axis,
    y_factor: float,
) -> Panel:
    """Latency over IOPS, joined in the order of iodepth; the depths stand at the points of the first curve."""
    lines: list[tuple[Curve, list[tuple[float, derive.Spread, derive.Spread]]]] = []
    for rate in iops:
        waits = dict(next((line.points for line in delays if line.name == rate.name), ()))
        lines.append((rate, [(depth, v, waits[depth]) for depth, v in rate.points if depth in waits]))
    lines = [(rate, points) for rate, points in lines if points]

    def build(width: int) -> Spec:
        frame = Frame(width=width, height=268, left=common.left_margin(y), right=20)
        plot = common.Plot(frame=frame, x=x, y=y)
        data: dict[str, Rows] = {"points": [], "notes": [], "names": [], "leads": []}
        named: list[tuple[list[labels.Point], str]] = []
        for rate, points in lines:
            named.append(
                (
                    [plot.at(v.median / x_factor, w.median / y_factor) for _, v, w in points],
                    rate.label or rate.name,
                )
            )
            data["points"] += [
                {
                    "series": rate.name, "x": v.median / x_factor, "y": w.median / y_factor, "order": order,
                    "segment": 0, "dashed": rate.dashed,
                    "tip": f"iodepth {depth:g} · {common.exact(v, 'IOPS')} · {common.exact(w, 'ns')}",
                }
                for order, (depth, v, w) in enumerate(points)
            ]  # fmt: skip
        bounds = (2.0, -10.0, frame.plot_width + 18, frame.plot_height - 2)
        strokes = [stroke for places, _ in named for stroke in itertools.pairwise(places)]
        depths = [(at, f"{depth:g}") for at, (depth, _, _) in zip(named[0][0], lines[0][1], strict=True)]
        boxes: list[labels.Box] = []
        for place in labels.near(depths, strokes, (), bounds, 11.5, (1.0,)):
            ((px, py), text), row = depths[place.index], data["points"][place.index]
            box = labels.box_of(px + place.dx, py + place.dy, text, 11.5)
            if place.cost < 6 and not any(labels.touch(box, other) for other in boxes):
                boxes.append(box)
                data["notes"].append(
                    {
                        "x": row["x"],
                        "y": row["y"],
                        "text": text,
                        "dx": place.dx,
                        "dy": place.dy,
                        "align": "left",
                    }
                )
        for name, (places, text), (rate, points) in zip(
            labels.along(named, boxes, bounds, prefer=frame.plot_height * 0.3), named, lines, strict=True
        ):
            _, v, w = points[0]
            (x0, y0) = places[0]
            data["names"].append(
                {
                    "series": rate.name, "x": v.median / x_factor, "y": w.median / y_factor, "text": text,
                    "dx": round(name.x - x0, 1), "dy": round(name.y - y0, 1), "align": "left",
                }
            )  # fmt: skip
            if name.lead:
                (x1, y1), (x2, y2) = name.lead
                data["leads"].append({"series": rate.name, "x_px": x1, "y_px": y1, "x2_px": x2, "y2_px": y2})
        series = [vega.Series(name=r.name, colour=colours[r.name], dashed=r.dashed) for r, _ in lines]
        return vega.fill("tradeoff", frame=frame, x=x, y=y, series=series, data=data)

    described = " ".join(
        f"{rate.name}: {fmt.quantity(points[0][2].median, 'ns')} at {fmt.quantity(points[0][1].median, 'IOPS')}, "
        f"{fmt.quantity(points[-1][2].median, 'ns')} at {fmt.quantity(points[-1][1].median, 'IOPS')}."
        for rate, points in lines
    )
    return panel(title, f"Latency over IOPS, in the order of iodepth. {described}", build)


def _numbers(found: list[Cell], names: list[str]) -> Table:
    scale = fmt.scale_for([c.latency for c in found], "ns")
    order = {of: i for i, of in enumerate(dict.fromkeys(common.facet(c.run, names) for c in found))}
    ordered = sorted(found, key=lambda c: (order[common.facet(c.run, names)], _rank(c), c.iodepth))
    groups = common.group(
        ordered, lambda c: (common.facet(c.run, names), _series(c)[0], c.iodepth, c.numjobs, c.direction)
    )
    sums = common.group(found, lambda c: (c.run.file, c.run.record.run_id))
    costed = any(c.cpu is not None for c in found)
    rows = []
    for (of, name, depth, jobs, _), same in groups.items():
        iops = derive.spread([c.iops for c in same])
        latencies = [c.latency for c in same if c.latency is not None]
        parts = [
            [(d.iops, d.latency) for d in sums[c.run.file, c.run.record.run_id] if d.latency] for c in same
        ]
        littles = [derive.little_ratio(p, depth, jobs) for p in parts if p]
        tails = [c.p99 for c in same if c.p99 is not None]
        medians = [c.p50 for c in same if c.p50 is not None]
        costs = [c.cpu for c in same if c.cpu is not None]
        rows.append(
            (
                name, *([common.facet_title(of, option_value)] if names else []), str(depth),
                common.spread_text(iops, fmt.Scale(factor=1, unit="IOPS"), 4),
                common.spread_text(derive.spread(latencies), scale) if latencies else fmt.NOTHING,
                scale.number(derive.spread(medians).median) if medians else fmt.NOTHING,
                scale.number(derive.spread(tails).median) if tails else fmt.NOTHING,
                fmt.number(derive.spread(littles).median) if littles else fmt.NOTHING,
                *([fmt.quantity(derive.spread(costs).median, "ns") if costs else fmt.NOTHING] if costed else []),
            )
        )  # fmt: skip
    first = 2 if names else 1
    return Table(
        columns=(
            "Access", *(["Panel"] if names else []), "iodepth", "IOPS", f"Latency, {scale.unit}", f"p50, {scale.unit}",
            f"p99, {scale.unit}", "in flight ÷ asked", *(["CPU per I/O"] if costed else []),
        ),
        rows=tuple(rows),
        numeric=frozenset(range(first, first + 7)),
    )  # fmt: skip


def _key_numbers(found: list[Cell]) -> list[KeyNumber]:
    reads = (
        [c for c in found if _kind(c) == "randread"] or [c for c in found if c.direction == "read"] or found
    )
    apart = not common.pooled([c.run for c in found])
    by_cell = common.group(
        reads, lambda c: (apart and c.run.file, c.run.record.point_id, c.direction)
    ).values()
    same = max(by_cell, key=lambda m: derive.spread([c.iops for c in m]).median)
    best = same[0]
    size = best.run.options.get("bs")
    name = f"Storage, {block(size) if size else ''} {best.direction}s".replace("  ", " ")
    context = f"iodepth {best.iodepth}"
    if latencies := [c.latency for c in same if c.latency]:
        context += f", {fmt.quantity(derive.spread(latencies).median, 'ns')}"
    return [common.key_number(name, derive.spread([c.iops for c in same]), "IOPS", context, 14)]


def _access_times(found: list[Cell]) -> list[AccessTime]:
    """The time of one I/O with nothing else in flight: iodepth 1, one job."""
    alone = [c for c in found if c.iodepth == 1 and c.numjobs == 1 and "," not in _series(c)[0]]
    groups = common.group(
        sorted(alone, key=_rank), lambda c: (_series(c)[1], str(c.run.options.get("bs", "")))
    )
    return [
        AccessTime(
            name=f"{block(size) if size else ''} {kind}, iodepth 1".strip(),
            group="storage",
            median=(times := derive.spread([c.p50 or c.latency or 0.0 for c in same])).median,
            repeats=times,
            source=program_name(same[0].run),
        )
        for (kind, size), same in groups.items()
        if all(c.p50 or c.latency for c in same)
    ]
