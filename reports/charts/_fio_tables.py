"""The tables beside fio's figure: what each series offers within a latency, and all numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reports.charts import facets, wording
from reports.charts._fio_cells import RANKED, known_count
from reports.charts.soundness import counted_rows, sound_rows, unsound_rows
from reports.draw.figure import MOST_ROWS, ROW, Table, cut_caption, row_of
from reports.numbers import formulas
from reports.numbers.fio import WORDS, printed
from reports.readings import first_groups, groups
from reports.results.convicted import OTHER
from reports.results.grouping import group_by
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd


LIMITS = (100e3, 1e6, 10e6)
"""Limits on p99 (ns) at which the most IOPS are given: of a flash array, of a service on disks, of what people still wait for."""


def offers_table(found: pd.DataFrame, term: str) -> Table | None:
    """Return the most IOPS of each series, from which depth on, and within a limit on p99; None of sweeps without depths. Quiet cells
    count, and the other depths are named: it is not known whether the series has more there."""
    if found.groupby(OF_A_SERIES, dropna=False)["iodepth"].nunique().max() < 2:
        return None
    series = [(of, sound_rows(own), unsound_rows(own, "iodepth")) for of, own in groups(found, OF_A_SERIES)]
    if all(own["iodepth"].nunique() < 2 for _, own, _ in series):
        return None
    left = [run for _, _, left_out in series for run in left_out["run"]]
    named = any(found["panel"])
    heads, most, fulls, within, whose, without, directions = [], [], [], [], [], [], []
    for (of, name, _), own, left_out in series:
        iops = {int(depth): float(at["iops"].median()) for (depth,), at in groups(own, ["iodepth"])}
        full = [] if len(left_out) or not iops else formulas.saturations(_curves_of_repeats(own))
        depths = timed(own)
        kept = [formulas.within_slo(depths, limit) for limit in LIMITS]
        every = not len(left_out) and depths.keys() == iops.keys()  # with a p99
        within.append([one and one._replace(bound=one.bound and every) for one in kept])
        without.append(fmt.words(fmt.whole(int(at)) for at in sorted(set(left_out["iodepth"]))))
        most.append((max(iops.values(), default=None), printed(own["run"])))
        whose.append(row_of(own["run"] if len(own) else left_out["run"]))
        directions.append(own["direction"].iloc[0] if len(own) else left_out["direction"].iloc[0])
        heads.append((name, *([facets.facet_title(of, "fio")] if named else [])))
        fulls.append(
            (
                fmt.whole(max(sorted(iops), key=iops.__getitem__, default=None)),
                fmt.ends(*(fmt.whole(full[i]) for i in (0, -1))) if full else fmt.NOTHING,
            )
        )
    # a limit that nobody keeps says nothing; of those that everybody keeps everywhere, the tightest says it all
    whole = [i for i, _ in enumerate(LIMITS) if all((one := row[i]) and one.bound for row in within)]
    told = [i for i, _ in enumerate(LIMITS) if any(row[i] for row in within) and i <= min(whole, default=i)]
    first = 2 if named else 1
    known = [iops for iops, _ in most if iops is not None]
    rate = fmt.scale_for(known, "IOPS")
    if min(known) < _SMALL * rate.factor:  # of blocks of 16 MiB beside others of 4 KiB
        rate = fmt.Scale(factor=1.0, unit="IOPS")
    p99 = "p99" if term == "latency" else f"p99 {term}"
    differ = "; 95 %: from one depth to another as the repeats differ" * any(
        " to " in full for _, full in fulls
    )
    repeated = any(len(own) > own["iodepth"].nunique() for _, own, _ in series)
    limits = (
        f"; within a limit on {p99}, of the depths that were tested{' and keep it in every repeat' * repeated}, and at which"
        * bool(told)
    )
    limits += "; “≥ most”: kept at every depth" * any(kept and kept.bound for row in within for kept in row)
    some = bool(left)
    limits += f"; not counted: depths at which every run was {wording.why_unsound(left)}" * some
    columns = (
        "Access", *(["Panel"] if named else []), f"Most {rate.unit}", "at depth", *(["not counted"] if some else []), "95 % from depth",
        *(f"{rate.unit} at {p99} ≤ {fmt.quantity(LIMITS[i], 'ns', 1)}" for i in told),
    )  # fmt: skip
    return Table(
        caption=f"What each series offers{limits}{differ}",
        columns=columns,
        rows=tuple(
            (
                *head, rate.number(iops, step=step), best, *([left_out or fmt.NOTHING] if some else []), full,
                *(_offered(one, iops, rate) if (one := kept[i]) and iops else fmt.NOTHING for i in told),
            )
            for head, (iops, step), (best, full), left_out, kept in zip(
                heads, most, fulls, without, within, strict=True
            )
        ),
        numeric=frozenset(range(first, len(columns))),
        of=tuple(whose),
        part_of_metric=tuple(directions),
        metrics=dict.fromkeys((ROW, *range(first, len(columns))), RATE),
    )  # fmt: skip


_SMALL = 0.1
"""Of the unit of a column: what is less has more zeros than figures."""

RATE = "IOPS"
"""What doubts of them may be of, as in `numbers.fio`: IOPS, their samples and the bytes that they move."""

OF_A_SERIES = ["panel", "series", "processes"]


def _curves_of_repeats(own: pd.DataFrame) -> list[dict[int, float]]:
    """Return iodepth → IOPS of each repeat of a series, of those that have the most depths."""
    rows = zip(own["run"], own["iodepth"], own["iops"], strict=True)
    turns = group_by(rows, lambda row: row[0].turn).values()
    curves = [{int(depth): float(iops) for _, depth, iops in turn} for turn in turns]
    most = max(map(len, curves))
    return [curve for curve in curves if len(curve) == most]


def timed(own: pd.DataFrame) -> dict[int, list[tuple[float, float]]]:
    """Return iodepth → (IOPS, p99 in ns) of each repeat of a series, of the depths at which all of them have a p99."""
    every = {
        int(depth): [*zip(at["iops"], at["p99"].astype(float), strict=True)]
        for (depth,), at in groups(own, ["iodepth"])
    }
    return {depth: at for depth, at in every.items() if all(p99 == p99 for _, p99 in at)}


def _offered(kept: formulas.Within, most: float, rate: fmt.Scale) -> str:
    """Return "16.0 at 16"; "≥ most" where every depth keeps it. most: of all depths."""
    if kept.bound:
        return "≥ most" if kept.iops == most else f"≥ {rate.number(kept.iops, rounding=fmt.DOWN)}"
    return f"{rate.number(kept.iops)} at {kept.depth}"


MOST_OFFERS = 12
"""A table of what the series offer is open up to so many rows; a longer one is with the numbers."""


_SAMPLES = "IOPS min and max: the lowest and the highest of fio’s samples, of half a second unless the job sets another time; a short run has few"

_SINGLE = ", and of a single one there is no range"

_ASIDE = ", and they can all lie on one side of its IOPS"


_TOLD = "IOPS min and max: as the text’s table has them"
_BUSY = (
    "utilisation: the share of the time in which the busiest disk had an I/O; 100 % at depth 1 does not say that an NVMe device can do "
    "no more"
)


def numbers_tables(found: pd.DataFrame, term: str) -> list[Table]:
    """Every series at every depth, in two tables that fit on paper: latency, then rates. Medians over the repeats, with their range of
    all that a number tells of; of IOPS samples the lowest and the highest, which fio gives of single processes only, and a text's
    table of all. Beside the depth stands the number of jobs, where it differs and no panel is named by it."""
    scale = fmt.scale_for(found["mean"].dropna(), "ns")
    moved = fmt.scale_for(found["bandwidth"].dropna(), "B/s")
    read_off = found["run"].map(lambda run: run.parsed.has("from_table")).astype(bool)
    alone = (found["processes"] == 1) | (
        read_off & found["iops"].between(found["iops_min"], found["iops_max"])
    )
    single = found["iops_samples"] == 1
    found = found.assign(
        filled=(found["in_flight"] / found["asked"]).where(~found["verify"].astype(bool)),
        iops_min=found["iops_min"].where(alone & ~single).astype(float), iops_max=found["iops_max"].where(alone & ~single).astype(float),
    )  # fmt: skip
    sampled, moves, timed, costed = (
        found[of].notna().any() for of in ("iops_min", "bandwidth", "busy", "cpu")
    )
    aside = bool(((found["iops"] < found["iops_min"]) | (found["iops"] > found["iops_max"])).any())
    named = any(found["panel"])
    many = found["processes"].nunique(dropna=False) > 1 and "numjobs" not in {
        name for of in found["panel"] for name, _ in of
    }
    latencies, rates, whose, directions = [], [], [], []
    of_a_row = ["panel", "series", "iodepth", "processes", "direction"]
    listed, every = first_groups(found.sort_values(["at", *RANKED, "iodepth"], kind="stable"), of_a_row, MOST_ROWS)  # fmt: skip
    for (of, name, depth, jobs, direction), own in groups(listed, of_a_row):
        own = counted_rows(own)
        middle = own[["filled", "busy", "cpu"]].median(skipna=False)
        step = printed(own["run"])
        first = (
            name,
            *([facets.facet_title(of, "fio")] if named else []),
            fmt.whole(known_count(depth)),
            *([fmt.whole(known_count(jobs))] if many else []),
            iops_over_repeats(own["iops"]),
        )
        latencies.append(
            (
                *first, *(over_repeats(of, scale, step) for of in (own["mean"].dropna(), own["p50"], own["p99"])), fmt.number(middle["filled"]),
                *([fmt.quantity(middle["cpu"], "ns")] if costed else []),
            )
        )  # fmt: skip
        whose.append(row_of(own["run"]))
        directions.append(direction)
        low, high = own["iops_min"].min(skipna=False), own["iops_max"].max(skipna=False)
        rates.append(
            (
                *first, *([fmt.number(low, 4, step=1.0), fmt.number(high, 4, step=1.0)] if sampled else []), *([over_repeats(own["bandwidth"], moved, step)] if moves else []),
                *([fmt.percent(middle["busy"], 3) if middle["busy"] == middle["busy"] else fmt.NOTHING] if timed else []),
            )
        )  # fmt: skip
    said = fmt.sentence(
        "; ".join(
            [
                *(
                    [_TOLD if read_off.any() else _SAMPLES + _SINGLE * bool(single.any()) + _ASIDE * aside]
                    if sampled
                    else []
                ),
                *([_BUSY] if timed else []),
            ]
        )
    )
    columns = ("Access", *(["Panel"] if named else []), "iodepth", *(["Jobs"] if many else []), "IOPS")
    of_latency = (*(f"{s} {term}, {scale.unit}" for s in ("Mean", "p50", "p99")), "in flight ÷ asked", *(["CPU per I/O"] if costed else []))  # fmt: skip
    of_rates = (*(["IOPS min", "IOPS max"] if sampled else []), *([f"Bandwidth, {moved.unit}"] if moves else []), *(["Utilisation"] if timed else []))  # fmt: skip
    return [
        Table(
            columns=(*columns, *more), rows=tuple(rows), numeric=frozenset(range(columns.index("iodepth"), len(columns) + len(more))),
            caption=cut_caption(caption, every), of=tuple(whose), part_of_metric=tuple(directions), metrics={i: _metric(name, term) for i, name in enumerate((*columns, *more)) if i >= len(columns) - 1},
        )
        for more, rows, caption in ((of_latency, latencies, ""), (of_rates, rates, said))
        if more
    ]  # fmt: skip


def _metric(column: str, term: str) -> str:
    """Return what a column of a table is of, as in `numbers.fio`."""
    statistic, told, _ = column.partition(f" {term}")
    if told:  # "p99 clat, µs"
        return f"{WORDS[term.replace('latency', 'lat')]}/{statistic.lower()}"
    if column.startswith(("IOPS", "Bandwidth")):
        return RATE
    return OTHER  # "in flight ÷ asked", too: a product of two that move against one another


def iops_over_repeats(values: pd.Series[float]) -> str:
    """Return the IOPS of the repeats with their range, "13 570 (13 500–13 640)"."""
    return wording.spread_text(formulas.spread(list(values)), fmt.Scale(factor=1, unit="IOPS"), 4, 1.0)


def over_repeats(values: pd.Series[float], scale: fmt.Scale, step: float | None = None) -> str:
    """Return the median of the repeats with their range; "–" where one of them does not tell it, or there is none."""
    if values.empty or values.isna().any():
        return fmt.NOTHING
    return wording.spread_text(formulas.spread([float(value) for value in values], step), scale)
