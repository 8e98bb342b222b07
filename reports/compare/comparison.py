"""Two sides compared: match, judge, sort. Frames of measurements in, a frame of verdicts out. Pure."""

from __future__ import annotations

import dataclasses
import functools
import json
import statistics
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from parsers import get_parser
from parsers.errors import UserError, nearest
from parsers.units import is_level, to_base
from reports import numbers
from reports.checks.audit import convicted, joined
from reports.compare import curves, matching
from reports.compare.curves import Values
from reports.compare.modes import MODES, mode_shifts
from reports.compare.sides import Side, level_of, refuse
from reports.compare.unmatched import FAILURES, UNMATCHED, failures, unmatched
from reports.numbers import QUANTILES, Name, Number
from reports.numbers.last_digit import step_of
from reports.numbers.model import resolution
from reports.results import differences
from reports.results.convicted import doubting
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.results.sessions import clock_warnings, timeline
from reports.verdicts.decide import judge
from reports.verdicts.model import VERDICTS, Decision, Family, Rules, Sample

if TYPE_CHECKING:
    import pandas as pd

_RANK: Final = {"regressed": 0, "inconclusive": 1, "same": 2, "improved": 3, "": 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the user wants compared."""

    threshold: float = 0.03  # relative
    thresholds: Mapping[str, float] = field(default_factory=dict)  # word of a metric → its own
    across_programs: bool = False
    ignore: tuple[str, ...] = ()
    slo_ns: float | None = None  # also the IOPS whose p99 stays within this


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What was measured again."""

    sides: tuple[Side, ...]  # of fresh runs
    way: Literal["in turns", "partly in turns", "B alone"]
    why_only_b: str
    keys: frozenset[Hashable]  # rows of verdicts that looked changed
    counts: Mapping[str, int]  # their verdicts now
    in_turns: int  # of these the numbers with fresh runs of both sides, and of B alone
    only_b: int
    stored: int  # other numbers of the same cells, of the stored runs
    not_repeatable: tuple[tuple[str, str, str], ...]  # sweep, cell, reason

    @property
    def text(self) -> str:
        counted = ", ".join(f"{n} {verdict}" for verdict, n in self.counts.items() if n)
        return f"Measured again ({self.way}): {len(self.keys)} numbers looked changed: {counted}."


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two sides say. `verdicts` has one row per number, worst first:

        sweep, tool, cell     of A; cell is "threads=4 place=local"
        axes                  axis → level
        name                  what the number is
        verdict               "regressed", "improved", "same", "inconclusive"; "" with one run on a side
        a, b                  a value per run, base units; median_a, median_b
        flags_a, flags_b      the checks that flag it: "F1, F7"
        points_a, points_b    its cells' point_ids
        pairs, how            its rows in `pairs`: of a curve several; how they were matched
        step                  the last printed digit, None if unknown
        provisional           the verdict rests on one session per side
        again                 its values are of fresh runs

    and the fields of its `Decision`: ratio, low, high, shift, p, q, tau, need_repeats, …
    """

    a: Side
    b: Side
    verdicts: pd.DataFrame
    pairs: pd.DataFrame  # a row per matched cell: key, how, runs_a, runs_b (indexes of runs)
    unmatched: pd.DataFrame  # `unmatched.UNMATCHED`
    failures: pd.DataFrame  # `unmatched.FAILURES`
    modes: pd.DataFrame  # `modes.MODES`
    fingerprint: differences.Fingerprint
    programs: tuple[str, ...]  # how the programs of a tool differ
    undirected: tuple[str, ...]  # metrics of both sides whose better direction is unknown: no rows
    families: tuple[Family, ...]
    samples: tuple[Sample, ...]
    rules: Rules
    by: str = ""
    again: Again | None = None

    @property
    def counts(self) -> dict[str, int]:
        counted = Counter(self.verdicts["verdict"])
        return {word: counted[word] for word in VERDICTS}

    @property
    def provisional(self) -> int:
        return int(self.verdicts["provisional"].sum())

    @functools.cached_property
    def one_machine(self) -> bool:
        """Are both sides one machine, before and after?"""
        captured = any(one.usable["captured"].any() for one in (self.a, self.b))
        return not captured and not self.by and not {*self.a.hosts}.isdisjoint(self.b.hosts)

    @property
    def broken(self) -> pd.DataFrame:
        """Return the cells of which more runs failed in B."""
        return self.failures[self.failures["side"] == "B"]

    @property
    def clocks(self) -> list[str]:
        """Return the sessions with a wrong clock."""
        found: list[str] = []
        for one in (self.a, self.b):
            keys = {*zip(one.sessions["file"], one.sessions["session_number"], strict=True)}
            machines = [m for m in one.results.machines if (m.file, m.session.session) in keys]
            found += clock_warnings(machines, timeline(one.results.machines))
        return list(dict.fromkeys(found))

    def fails(self, words: Collection[str]) -> bool:
        """Is there what these words of --fail-on name? A number without a verdict counts as inconclusive."""
        if len(self.broken) and not {"failed", "regressed"}.isdisjoint(words):
            return True
        if len(self.unmatched) and "unmatched" in words:
            return True
        return any((verdict or "inconclusive") in words for verdict in self.verdicts["verdict"])


def compare(a: Side, b: Side, ask: Ask | None = None, *, by: str = "", is_part: bool = False) -> Comparison:
    """Compare two sides. by: the axis whose levels they are. is_part: parts of sides that were compared, so that nothing is refused.

    Raises UserError for a side without numbers or of several machines of one name, for different programs unless that is wanted,
    and for an option to be ignored that no run has or in which the cells of a side differ.
    """
    from parsers.frames import pd

    ask = ask or Ask()
    allowed = ask.across_programs or by == "program"
    programs = () if is_part else tuple(refuse(a, b, ask.ignore, across_programs=allowed))
    ignore = (*ask.ignore, *((by,) if by else ()))
    others = [one.runs[one.runs["fate"] != ""] for one in (a, b)]
    matched = matching.match_sides((a.usable, b.usable), others, ignore)
    by_cell = [matching.by_index(own) for own in matched.cells]
    pairs = _with_runs(matched.pairs, by_cell)
    by_pair = matching.by_index(pairs)
    of_cells = [_values(one, own) for one, own in zip((a, b), by_cell, strict=True)]
    drafts, missing = _drafts(by_pair, (a, b), by_cell, of_cells, ask)
    alone = [*unmatched(matched, (a, b), is_levels=bool(by)), *missing]
    samples, rules = tuple(_samples(drafts, a, b)), _rules(ask, drafts)
    families = judge(samples, rules)
    decisions = {decision.key: decision for family in families for decision in family.decisions}
    return Comparison(
        a=a,
        b=b,
        verdicts=verdict_frame(
            [{"key": key, **draft, **decided(decisions[key])} for key, draft in enumerate(drafts)]
        ),
        pairs=pairs,
        unmatched=pd.DataFrame.from_records(alone, columns=list(UNMATCHED)),
        failures=pd.DataFrame.from_records(list(failures(matched, (a, b), ignore)), columns=list(FAILURES)),
        modes=pd.DataFrame.from_records(list(mode_shifts(by_pair, a, b)), columns=list(MODES)),
        fingerprint=_fingerprint(a, b, by_pair, by, ask.ignore),
        programs=programs,
        undirected=_undirected(by_pair, a, b),
        families=families,
        samples=samples,
        rules=rules,
        by=by,
    )


def verdict_frame(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return the rows of `Comparison.verdicts`, worst first; equal ones in the order of their tables."""
    from parsers.frames import pd

    def worst_first(row: dict[str, Any]) -> tuple[int, float]:
        return _RANK[row["verdict"]], 0.0 if row["name"].better == "neither" else -(row["shift"] or 0.0)

    columns = [*_COLUMNS, *(f.name for f in dataclasses.fields(Decision) if f.name not in ("verdict", "key"))]
    ordered = sorted(rows, key=worst_first)
    return pd.DataFrame([dict(row) for row in ordered], columns=["key", *columns], dtype=object).set_index(
        "key"
    )


_COLUMNS: Final = (
    "sweep", "tool", "cell", "axes", "name", "verdict", "a", "b", "median_a", "median_b", "flags_a", "flags_b", "points_a", "points_b",
    "pairs", "how", "step", "provisional", "again",
)  # fmt: skip


def decided(decision: Decision) -> dict[str, Any]:
    """Return the columns of a decision; the verdict of a single run on a side is ""."""
    row = {f.name: getattr(decision, f.name) for f in dataclasses.fields(decision)}
    single = min(decision.n_a, decision.n_b) < 2
    provisional = not single and decision.k_a == decision.k_b == 1 and decision.tau > 0
    return row | {"provisional": provisional, "verdict": "" if single else decision.verdict}


# --- the numbers of both sides -----------------------------------------------------------------------------


Cells = Sequence[Mapping[Any, Mapping[str, Any]]]
"""Of A and B: index → a row of `matching.cells`."""


def _values(side: Side, cells: Mapping[Any, Mapping[str, Any]]) -> dict[Any, Values]:
    """Return cell → its numbers, each with the index of its run."""
    cell_of = {run: index for index, cell in cells.items() for run in cell["runs"]}
    values, names = side.measured.values, side.measured.names
    directed = [index for index, name in names.items() if name.better != "neither" or name.derived]
    rows = values[values["run"].isin(list(cell_of)) & values["series"].isin(directed)]
    found: dict[Any, Values] = {index: {} for index in cells}
    columns = (rows[name].tolist() for name in ("run", "series", "value", "step"))
    for run, series, value, step in zip(*columns, strict=True):
        number = Number(name=names[series], value=value, step=None if step != step else step)
        found[cell_of[run]].setdefault(names[series], []).append((number, run))
    return found


def _drafts(
    pairs: Mapping[int, Mapping[str, Any]], sides: tuple[Side, Side], cells: Cells, of_cells: Sequence[Mapping[Any, Values]], ask: Ask
) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:  # fmt: skip
    """Return every number that all repeats of both cells of a pair have, and rows of `UNMATCHED` for the others."""
    drafts: list[dict[str, Any]] = []
    missing: list[tuple[Any, ...]] = []
    mixed: set[int] = set()
    for index, pair in pairs.items():
        a, b = cells[0][pair["a"]], cells[1][pair["b"]]
        left, right = _of_any_traffic(of_cells[0][pair["a"]], of_cells[1][pair["b"]])
        first = [one.run_objects[cell["runs"][0]] for one, cell in zip(sides, (a, b), strict=True)]
        for metric, reason in _incomparable(first[0], first[1], left).items():
            mixed |= {index} if reason.startswith("other share") else set()
            left, right = ({n: v for n, v in found.items() if n.metric != metric} for found in (left, right))
            missing.append(("both", b["sweep"], b["name"], *reason.split(": ", 1), metric, "number"))
        missing += [*_missing("A", "B", a, left, right), *_missing("B", "A", b, right, left)]
        whole, part = _whole(a, left, right, (len(a["runs"]), len(b["runs"])))
        drafts += [_draft((index,), pair["how"], a, left[name], right[name]) for name in whole]
        missing += part
    along = {index: pair for index, pair in pairs.items() if index not in mixed}
    known = [(own, one.turns, found) for own, one, found in zip(cells, sides, of_cells, strict=True)]
    for members, axis, left, right, repeats in curves.curve_values(along, known, ask.slo_ns):
        cell = _without(cells[0][pairs[members[0]]["a"]], axis)
        whole, part = _whole(cell, left, right, repeats)
        drafts += [
            _draft(tuple(members), pairs[members[0]]["how"], cell, left[name], right[name]) for name in whole
        ]
        missing += part
    for one, letter in zip(sides, "ab", strict=True):
        guilty = convicted(one.measured.findings)
        for draft in drafts:
            runs = [run for pair in draft["pairs"] for run in pairs[pair][f"runs_{letter}"]]
            points = list(
                dict.fromkeys((of.file, of.record.point_id) for of in (one.run_objects[run] for run in runs))
            )
            draft[f"flags_{letter}"] = joined(
                doubting(guilty, point, draft["name"].tells_of) for point in points
            )
            draft[f"points_{letter}"] = list(dict.fromkeys(point for _, point in points))
    return _with_steps(_with_families(drafts)), missing


def _without(cell: Mapping[str, Any], axis: str) -> dict[str, Any]:
    """Return a cell without an axis: what stands for all cells of a curve."""
    labels = {name: value for name, value in json.loads(cell["labels"]).items() if name != axis}
    name = " ".join(f"{name}={matching.text(value)}" for name, value in labels.items())
    return {**cell, "labels": json.dumps(labels), "name": name}


def _with_runs(pairs: pd.DataFrame, cells: Cells) -> pd.DataFrame:
    """Return the pairs with their sweep, cell and key, and the indexes of their runs on both sides."""
    of_a, of_b = (
        [own[cell] for cell in pairs[column]] for own, column in zip(cells, ("a", "b"), strict=True)
    )
    columns: dict[str, list[Any]] = {
        "sweep": [cell["sweep"] for cell in of_a], "cell": [cell["name"] for cell in of_a], "runs_a": [cell["runs"] for cell in of_a],
        "runs_b": [cell["runs"] for cell in of_b], "key": [(a["key"], b["key"]) for a, b in zip(of_a, of_b, strict=True)],
    }  # fmt: skip
    return pairs.assign(**columns)


def _draft(
    pairs: tuple[int, ...], how: str, cell: Mapping[str, Any], a: Sequence[Any], b: Sequence[Any]
) -> dict[str, Any]:
    values = [tuple(number.value for number, _ in own) for own in (a, b)]
    return {
        "pairs": pairs, "how": how, "sweep": cell["sweep"], "tool": cell["tool"], "cell": cell["name"], "axes": json.loads(cell["labels"]),
        "name": a[0][0].name, "a": values[0], "b": values[1], "median_a": statistics.median(values[0]),
        "median_b": statistics.median(values[1]), "runs": tuple(tuple(run for _, run in own) for own in (a, b)), "again": False,
        "steps": tuple(number.step for own in (a, b) for number, _ in own),
    }  # fmt: skip


def _whole(
    cell: Mapping[str, Any], a: Values, b: Values, repeats: tuple[int, int]
) -> tuple[list[Name], list[tuple[Any, ...]]]:
    """Return the names of the numbers that all repeats of both sides have, and a row of `UNMATCHED` per group of others.

    repeats: how many each side has; 0: any number will do.
    """
    common = group_by((name for name in a if name in b), lambda name: ", ".join(
        f"{len(found[name])} of {n} repeats of {side}" for side, found, n in zip("AB", (a, b), repeats, strict=True) if n and len(found[name]) < n
    ))  # fmt: skip
    whole = common.pop("", [])
    return whole, [
        ("both", cell["sweep"], cell["name"], "not in every repeat", detail, _few(names), "number")
        for detail, names in common.items()
    ]


def _of_any_traffic(a: Values, b: Values) -> tuple[Values, Values]:
    """Return the numbers of both sides; if each side is of one traffic, and not of the same, without that label."""
    traffic = [{dict(name.part).get("traffic") for name in found} - {None} for found in (a, b)]
    if not (len(traffic[0]) == len(traffic[1]) == 1 and traffic[0] != traffic[1]):
        return a, b

    def bare(found: Values) -> Values:
        names = {
            name: dataclasses.replace(name, part=tuple(p for p in name.part if p[0] != "traffic"))
            for name in found
        }
        return {names[name]: [(dataclasses.replace(n, name=names[name]), run) for n, run in own] for name, own in found.items()}  # fmt: skip

    return bare(a), bare(b)


def _incomparable(a: Run, b: Run, found: Values) -> dict[str, str]:
    """Return metric → why it is not compared: read in another unit on each side, or a rate of another share of reads."""
    reasons = {}
    mixes = [
        (numbers.mixed(run), run.options.get("rwmixread"), run.options.get("rwmixwrite")) for run in (a, b)
    ]
    if mixes[0] != mixes[1] and (mixes[0][0] or mixes[1][0]):
        reasons = {name.metric: "other share of reads: " for name in found if name.unit in ("1/s", "B/s")}
    specs = [run.cell.options.get("metrics") or {} for run in (a, b)]
    for metric in specs[0].keys() & specs[1].keys():
        units = [str(spec[metric].get("unit", "")) for spec in specs]
        (factor_a, base_a), (factor_b, base_b) = map(to_base, units)
        if factor_a != factor_b and base_a == base_b:
            reasons[metric] = f"other unit: A {units[0] or 'none'}, B {units[1] or 'none'}"
    return reasons


def _undirected(pairs: Mapping[int, Mapping[str, Any]], a: Side, b: Side) -> tuple[str, ...]:
    """Return the metrics that both sides have, and whose better direction the experiment does not say."""
    found: dict[str, None] = {}
    for pair in pairs.values():
        sides = ((a, pair["runs_a"][0]), (b, pair["runs_b"][0]))
        left, right = (
            {
                n.name.metric
                for n in numbers.each_number(one.run_objects[run])
                if n.name.better == "neither" and not n.name.derived
            }
            for one, run in sides
        )
        found |= dict.fromkeys(sorted(left & right))
    return tuple(found)


def _missing(
    side: str, other: str, cell: Mapping[str, Any], has: Values, lacks: Values
) -> Iterator[tuple[Any, ...]]:
    """Yield a row of `UNMATCHED` per reason for the numbers that only one side of a pair has."""
    measured = {_unmeasured(name): name for name in lacks}
    metrics = {(name.metric, name.part) for name in lacks}

    def reason(name: Name) -> tuple[str, str, str, str]:
        if there := measured.get(_unmeasured(name)):
            differ = [(a, b) for a, b in ((name.unit, there.unit), (name.better, there.better)) if a != b]
            first, second = (", ".join(own) for own in zip(*differ, strict=True))
            return "both", "other unit or direction", f"A {first}, B {second}", "number"
        if name.statistic in dict(QUANTILES) and (name.metric, name.part) in metrics:
            return side, f"too few operations in {other}", "", "optional"
        return side, f"not in {other}", "", "optional" if name.derived else "number"

    for (has_it, why, detail, kind), names in group_by((n for n in has if n not in lacks), reason).items():
        if has_it != "both" or side == "A":  # from B it would be the same again
            yield has_it, cell["sweep"], cell["name"], why, detail, _few(names), kind


def _unmeasured(name: Name) -> Name:
    return dataclasses.replace(name, unit="", better="neither")


def _few(names: Sequence[Name]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(name.words for name in names[:3]) + more


def _with_families(drafts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Name the families: tool, kind and metric, and the unit if there are several. Derived numbers of a tool are a family."""
    for draft in drafts:
        name = draft["name"]
        words = (draft["tool"], name.kind, name.quantity)
        draft["family"] = f"{draft['tool']}, derived" if name.derived else " ".join(filter(None, words))
    units: dict[str, set[str]] = {}
    for draft in drafts:
        if not draft["name"].derived:
            units.setdefault(draft["family"], set()).add(draft["name"].unit)
    for draft in drafts:
        if len(units.get(draft["family"], ())) > 1:
            draft["family"] += f", {draft['name'].unit}"
    return drafts


def _with_steps(drafts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the last digit, and how large it is against the values: of a program that nobody knows what all values of a sweep share."""

    def is_unknown(draft: Mapping[str, Any]) -> bool:
        return get_parser(draft["tool"]).PRINTED is None and not draft["name"].derived

    for own in group_by(filter(is_unknown, drafts), lambda draft: (draft["sweep"], draft["family"])).values():
        values = [value for draft in own for value in (*draft["a"], *draft["b"])]
        step = step_of(values, [step for draft in own for step in draft["steps"] if step])
        for draft in own:
            draft["steps"] = (step or None,) * len(draft["steps"])
    for draft in drafts:
        draft["step"] = draft["steps"][0] if len({*draft["steps"]}) == 1 else None
        every = zip((*draft["a"], *draft["b"]), draft["steps"], strict=True)
        draft["resolution"] = statistics.median(resolution(value, step) for value, step in every)
    return drafts


# --- verdicts ----------------------------------------------------------------------------------------------


def _samples(drafts: Sequence[Mapping[str, Any]], a: Side, b: Side) -> Iterator[Sample]:
    evidence = [dict(zip(one.runs.index, one.runs["evidence"], strict=True)) for one in (a, b)]
    disturbed = [{*one.runs.index[one.runs["disturbance"] != ""]} for one in (a, b)]
    for key, draft in enumerate(drafts):
        runs = draft["runs"]
        yield Sample(
            key=key,
            family=draft["family"],
            a=draft["a"],
            b=draft["b"],
            better=draft["name"].better,
            session_a=tuple(evidence[0][run] for run in runs[0]),
            session_b=tuple(evidence[1][run] for run in runs[1]),
            resolution=draft["resolution"],
            level=is_level(draft["name"].unit),
            interleaved=_took_turns(runs, a, b),
            disturbed=tuple(
                one.name for one, own, of in zip((a, b), runs, disturbed, strict=True) if of.issuperset(own)
            ),
        )


def _took_turns(runs: tuple[Sequence[int], Sequence[int]], a: Side, b: Side) -> bool:
    """Were both sides measured in the same sessions, of several as often in each? The sessions of captured outputs are unknown."""
    if a.results is not b.results:
        return False
    every = a.run_objects
    if any(every[run].captured for own in runs for run in own):
        return False
    left, right = (Counter(every[run].turn[:2] for run in own) for own in runs)
    return left.keys() == right.keys() and (len(left) == 1 or left == right)


def _rules(ask: Ask, drafts: Iterable[Mapping[str, Any]]) -> Rules:
    """Turn thresholds of a word of a metric into those of families. Raises UserError for a word that no metric has."""
    families = {draft["family"]: _words(draft["tool"], draft["name"]) for draft in drafts}
    known = sorted({word for words in families.values() for word in words})
    thresholds: dict[str, float] = {}
    for name, value in ask.thresholds.items():
        named = [family for family, words in families.items() if name.lower() in words]
        if not named:
            hint = nearest(name, known) or f"there are: {', '.join(known)}"
            raise UserError(f"--threshold {name}", "no metric of these results has this name", hint)
        thresholds |= dict.fromkeys(named, value)
    return Rules(threshold=ask.threshold, thresholds=thresholds)


def _words(tool: str, name: Name) -> frozenset[str]:
    if name.derived:
        return frozenset({"derived"})
    metric = name.quantity.lower()
    return frozenset({metric, *metric.split(), tool, name.kind.lower()} - {""})


# --- what else differs -------------------------------------------------------------------------------------


def _fingerprint(
    a: Side, b: Side, pairs: Mapping[int, Mapping[str, Any]], by: str, ignored: Sequence[str]
) -> differences.Fingerprint:
    """Return in what both sides differ: ignored options, commands, programs, then machines."""
    first = [
        one.runs.loc[[pair[column][0] for pair in pairs.values()]]
        for one, column in ((a, "runs_a"), (b, "runs_b"))
    ]
    facts: dict[str, tuple[str, str]] = {}
    for name in ignored:
        of_a, of_b = (differences.listed_values(level_of(own, name)) for own in first)
        facts[f"{name} (ignored)"] = of_a, of_b
    columns = (first[0]["tool"], first[0]["command"], first[1]["command"], first[0]["captured"])
    for tool, one, other, captured in zip(*columns, strict=True):
        if one and other and one != other and (not by or captured):
            facts.setdefault(f"{tool} command", differing_words(one, other))
    facts |= differences.programs(a.usable, b.usable)
    sessions = a.session_records, b.session_records
    facts |= differences.hosts(*sessions) | differences.fingerprint(*sessions)
    return differences.compared(facts)


def differing_words(a: str, b: str) -> tuple[str, str]:
    """Return the words of two commands that are not in the other: "--size=1G", "--size=2G"."""
    left, right = a.split(), b.split()
    words = (
        " ".join(word for word in left if word not in right),
        " ".join(word for word in right if word not in left),
    )
    return words if all(words) else (a, b)
