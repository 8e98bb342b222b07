"""The numbers of matched cells: a row each with the values of both sides, and those that are not compared. Pure."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from parsers import get_parser
from parsers.units import to_base
from reports import numbers
from reports.checks.audit import convicted, joined
from reports.compare.matching import describe
from reports.compare.sides import Side
from reports.compare.unmatched import UNMATCHED
from reports.numbers import QUANTILES, Name, Number
from reports.numbers.last_digit import step_of
from reports.numbers.model import resolution
from reports.results.convicted import doubting
from reports.results.grouping import group_by

if TYPE_CHECKING:
    import pandas as pd

Value = tuple[float, float | None, int]
"""A number of one run: in its base unit, its last printed digit, the run."""

Values = dict[Name, list[Value]]
"""The numbers of a cell, or of a curve over several."""

Pair = Mapping[str, Any]
"""A row of `Comparison.pairs`."""

Reason = tuple[str, str, str, str]
"""Which sides have a number that is not compared, why, the detail, and its kind: as in `UNMATCHED`."""

_RATES: Final = ("1/s", "B/s")
ROW: Final = ["sweep", "tool", "cell", "how", "axes", "pairs", "name", "a", "b", "steps", "of_a", "of_b"]


def numbers_of(
    pairs: Mapping[int, Pair], sides: tuple[Side, Side], slo_ns: float | None
) -> tuple[pd.DataFrame, list[dict[str, str]], tuple[str, ...]]:
    """Return the numbers that all repeats of both sides of a pair have, rows of `UNMATCHED` for the others, and the
    metrics that both sides have and whose better direction the experiment does not say. slo_ns: also the IOPS whose p99
    stays within this.

    Numbers of curves over several cells come last. Columns: those of `Comparison.verdicts` that are not of its
    decision; `family`, `resolution`, and the runs of each value, `of_a` and `of_b`.
    """
    every = [_values(side, {pair: row["runs"][n] for pair, row in pairs.items()}) for n, side in enumerate(sides)]
    facts = [side.runs[["mix", "options"]].to_dict("index") for side in sides]
    rows: list[dict[str, Any]] = []
    missing: list[tuple[Pair, Name, Reason]] = []
    undirected: set[str] = set()
    alike: dict[int, tuple[Values, Values]] = {}
    for index, pair in pairs.items():
        both = every[0].get(index, {}), every[1].get(index, {})
        is_open = [{name for name in values if name.better == "neither" and not name.derived} for values in both]
        undirected |= {name.metric for name in is_open[0]} & {name.metric for name in is_open[1]}
        directed = (
            {k: v for k, v in values.items() if k not in names} for values, names in zip(both, is_open, strict=True)
        )
        left, right = _of_any_traffic(*directed)
        first = [of_runs[runs[0]] for of_runs, runs in zip(facts, pair["runs"], strict=True)]
        is_alike = first[0]["mix"] == first[1]["mix"]
        units = [json.loads(facts_of["options"]) for facts_of in first]
        for name in dict.fromkeys((*left, *right)):
            if not is_alike and name.unit in _RATES:
                reason: Reason | None = ("both", "other share of reads", "", "number")
            elif name in left and name in right:
                reason = _other_unit(name, units) or _incomplete(left[name], right[name], pair["runs"])
            else:
                reason = _one_sided(name, *(("A", "B", right) if name in left else ("B", "A", left)))
            if reason:
                missing.append((pair, name, reason))
            else:
                rows.append(_row((index,), pair, name, left[name], right[name]))
        if is_alike:
            alike[index] = left, right
    curves, parts = _curves(pairs, alike, sides, slo_ns)
    return _frame([*rows, *curves], pairs, sides), [*_grouped([*missing, *parts])], tuple(sorted(undirected))


def _values(side: Side, runs: Mapping[int, Sequence[int]]) -> dict[int, Values]:
    """Return pair → the numbers of its runs on one side."""
    pair_of = {run: pair for pair, members in runs.items() for run in members}
    values = side.measured.values[side.measured.values["run"].isin(list(pair_of))]
    values_of: dict[int, Values] = {}
    columns = (values[name].tolist() for name in ("run", "series", "value", "step"))
    for run, series, value, step in zip(*columns, strict=True):
        number = values_of.setdefault(pair_of[run], {}).setdefault(side.measured.names[series], [])
        number.append((value, None if math.isnan(step) else step, run))
    return values_of


def _row(indexes: tuple[int, ...], pair: Pair, name: Name, a: list[Value], b: list[Value]) -> dict[str, Any]:
    (values_a, steps_a, of_a), (values_b, steps_b, of_b) = zip(*a, strict=True), zip(*b, strict=True)
    row = {column: pair[column] for column in ("sweep", "tool", "cell", "how")}
    row |= {
        "axes": json.loads(pair["labels"][0]),
        "pairs": indexes,
        "name": name,
        "steps": (*steps_a, *steps_b),
    }
    return row | {"a": values_a, "b": values_b, "of_a": of_a, "of_b": of_b}


def _of_any_traffic(a: Values, b: Values) -> tuple[Values, Values]:
    """Return the numbers of both sides; if each side is of one traffic, and not of the same, without that label."""
    traffic = [{dict(name.part).get("traffic") for name in values} - {None} for values in (a, b)]
    if not (len(traffic[0]) == len(traffic[1]) == 1 and traffic[0] != traffic[1]):
        return a, b

    def bare(name: Name) -> Name:
        return replace(name, part=tuple(label for label in name.part if label[0] != "traffic"))

    return {bare(name): v for name, v in a.items()}, {bare(name): v for name, v in b.items()}


def _other_unit(name: Name, options: Sequence[Mapping[str, Any]]) -> Reason | None:
    """Return a reason if a metric is read in another unit on each side: µs, then ms, of a program that prints the
    same."""
    units = [str(option.get(f"metrics.{name.metric}.unit", "")) for option in options]
    if units[0] == units[1] or to_base(units[0])[0] == to_base(units[1])[0]:
        return None
    return "both", "other unit", f"A {units[0] or 'none'}, B {units[1] or 'none'}", "number"


def _incomplete(a: Sequence[Value], b: Sequence[Value], repeats: tuple[Sized, Sized]) -> Reason | None:
    sides = zip("AB", (a, b), map(len, repeats), strict=True)
    counts = [f"{len(values)} of {n} repeats of {side}" for side, values, n in sides if len(values) < n]
    return ("both", "not in every repeat", ", ".join(counts), "number") if counts else None


def _one_sided(name: Name, side: str, other: str, others: Values) -> Reason:
    """Return why only one side has a number."""
    if any(replace(name, unit=o.unit, better=o.better) == o for o in others if o.metric == name.metric):
        return "both", "other unit or direction", "", "number"
    if name.statistic in dict(QUANTILES) and any((o.metric, o.part) == (name.metric, name.part) for o in others):
        return side, f"too few operations in {other}", "", "optional"
    return side, f"not in {other}", "", "optional" if name.derived else "number"


def _grouped(missing: Iterable[tuple[Pair, Name, Reason]]) -> Iterator[dict[str, str]]:
    """Yield a row of `UNMATCHED` per cell and reason."""
    groups = group_by(missing, lambda row: (row[0]["sweep"], row[0]["cell"], row[2]))
    for (sweep, cell, (side, reason, detail, kind)), rows in groups.items():
        words = list(dict.fromkeys(name.words for _, name, _ in rows))
        more = f" and {len(words) - 3} more" if len(words) > 3 else ""
        values = side, sweep, cell, reason, detail, ", ".join(words[:3]) + more, kind
        yield dict(zip(UNMATCHED, values, strict=True))


# --- curves over cells --------------------------------------------------------------------------------------


def _curves(
    pairs: Mapping[int, Pair],
    values: Mapping[int, tuple[Values, Values]],
    sides: tuple[Side, Side],
    slo_ns: float | None,
) -> tuple[list[dict[str, Any]], list[tuple[Pair, Name, Reason]]]:
    """Return what curves over depth or threads offer, and which of it some repeats lack.

    A peak is of one cell: its values are those of the repeats of the cell. Other numbers are of the curve of each
    repeat of a sweep.
    """
    rows: list[dict[str, Any]] = []
    parts: list[tuple[Pair, Name, Reason]] = []
    turns = [dict(zip(s.runs.index, zip(s.runs["session"], s.runs["repeat"], strict=True), strict=True)) for s in sides]
    axes = {tool: numbers.curve_axis(tool) for tool in {pair["tool"] for pair in pairs.values()}}

    def curve_of(index: int) -> tuple[str, str]:
        """Return sweep and labels without the axis."""
        labels = json.loads(pairs[index]["labels"][0])
        return pairs[index]["sweep"], json.dumps({k: v for k, v in labels.items() if k != axes[pairs[index]["tool"]]})

    on_curves = [index for index in values if axes[pairs[index]["tool"]] in json.loads(pairs[index]["labels"][0])]
    for (_, labels), members in group_by(on_curves, curve_of).items():
        about = {**pairs[members[0]], "labels": (labels,), "cell": describe(json.loads(labels))}
        tool, offers = about["tool"], []
        for n in (0, 1):
            cells = {
                _level(pairs[i]["labels"][n], axes[tool]): (values[i][n], len(pairs[i]["runs"][n])) for i in members
            }
            points = {level: cell for level, cell in cells.items() if level is not None}
            offers.append((_peaks(tool, points, slo_ns), *_of_repeats(tool, points, turns[n])))
        (peaks_a, curves_a, n_a), (peaks_b, curves_b, n_b) = offers
        whole = [(name, peaks_a[name], peaks_b[name]) for name in peaks_a if name in peaks_b]
        for name in filter(curves_b.__contains__, curves_a):
            if reason := _incomplete(curves_a[name], curves_b[name], (range(n_a), range(n_b))):
                parts.append((about, name, reason))
            else:
                whole.append((name, curves_a[name], curves_b[name]))
        rows += [_row(tuple(members), about, name, a, b) for name, a, b in whole]
    return rows, parts


def _level(labels: str, axis: str | None) -> int | None:
    """Return where a cell is on an axis; None if that is not a number."""
    level = json.loads(labels).get(axis)
    return int(level) if str(level).isdecimal() else None


Points = Mapping[int, tuple[Values, int]]
"""Level of the axis → the numbers of the cell there, and how many repeats it has."""


def _peaks(tool: str, points: Points, slo_ns: float | None) -> Values:
    whole = {
        level: {name: [value for value, *_ in number] for name, number in values.items() if len(number) == repeats}
        for level, (values, repeats) in points.items()
    }
    return {peak: points[level][0][name] for peak, (level, name) in numbers.peaks(tool, whole, slo_ns).items()}


def _of_repeats(tool: str, points: Points, turns: Mapping[int, Hashable]) -> tuple[Values, int]:
    """Return the numbers of the curves of the repeats, and how many repeats have a whole curve. turns: run → its
    repeat."""
    curves: dict[Hashable, dict[int, list[Number]]] = {}
    runs: dict[Hashable, int] = {}
    for level, (values, _) in points.items():
        for name, series in values.items():
            for value, step, run in series:
                runs.setdefault(turns[run], run)
                curve = curves.setdefault(turns[run], {})
                curve.setdefault(level, []).append(Number(name=name, value=value, step=step))
    longest = max(map(len, curves.values()), default=0)  # a repeat that lacks a cell has another curve
    whole = {turn: curve for turn, curve in curves.items() if len(curve) == longest}
    offers: Values = {}
    for turn, curve in whole.items():
        for number in numbers.curve_numbers(tool, curve):
            offers.setdefault(number.name, []).append((number.value, number.step, runs[turn]))
    return offers, len(whole)


# --- columns ------------------------------------------------------------------------------------------------


def _frame(rows: Sequence[dict[str, Any]], pairs: Mapping[int, Pair], sides: tuple[Side, Side]) -> pd.DataFrame:
    """Return the frame of `numbers_of`."""
    from parsers.frames import pd

    frame = pd.DataFrame(rows, columns=ROW, dtype=object)
    frame["family"] = _families(frame)
    every: dict[Any, Any] = frame["steps"].to_dict()
    for _, group in frame.groupby(["sweep", "family"], sort=False):  # all values of a sweep share their last digit
        if get_parser(group["tool"].iloc[0]).PRINTED is None and not group["name"].iloc[0].derived:
            known = [step for steps in group["steps"] for step in steps if step]
            step = step_of([value for side in "ab" for values in group[side] for value in values], known) or None
            every |= {index: (step,) * len(steps) for index, steps in group["steps"].items()}
    frame["steps"] = [*every.values()]
    frame["step"] = [steps[0] if len({*steps}) == 1 else None for steps in frame["steps"]]
    columns = zip(frame["a"], frame["b"], frame["steps"], strict=True)
    frame["resolution"] = [statistics.median(map(resolution, (*a, *b), steps)) for a, b, steps in columns]
    for n, (letter, side) in enumerate(zip("ab", sides, strict=True)):
        frame[f"median_{letter}"] = frame[letter].map(statistics.median)
        guilty = convicted(side.measured.findings)
        places = dict(zip(side.runs.index, zip(side.runs["file"], side.runs["point_id"], strict=True), strict=True))
        cells = [
            [*dict.fromkeys(places[run] for i in members for run in pairs[i]["runs"][n])] for members in frame["pairs"]
        ]
        frame[f"points_{letter}"] = [[*dict.fromkeys(point_id for _, point_id in places_of)] for places_of in cells]
        frame[f"flags_{letter}"] = [
            joined(doubting(guilty, cell, name.tells_of) for cell in places_of)
            for places_of, name in zip(cells, frame["name"], strict=True)
        ]
    return frame


def _families(rows: pd.DataFrame) -> pd.Series[str]:
    """Return tool, kind and metric of each number, and its unit if there are several. Derived numbers of a tool are a
    family."""
    names, derived = rows["name"], rows["name"].map(lambda name: name.derived).astype(bool)
    words = names.map(lambda name: " ".join(filter(None, (name.kind, name.quantity))))
    family = (rows["tool"] + " " + words).where(~derived, rows["tool"] + ", derived")
    units = names.map(lambda name: name.unit)
    several = (units.groupby(family).transform("nunique") > 1) & ~derived
    return family.where(~several, family + ", " + units)
