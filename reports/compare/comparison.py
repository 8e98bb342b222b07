"""Two sides compared: match, judge, sort. Frames of measurements in, a frame of verdicts out. Pure."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from parsers.errors import UserError, nearest
from parsers.units import is_level
from reports.compare.matching import cells, match_sides
from reports.compare.modes import MODES, mode_shifts
from reports.compare.numbers import Pair, numbers_of
from reports.compare.sides import Side, level_of, refuse
from reports.compare.unmatched import UNMATCHED, failures, unmatched
from reports.measurements import records
from reports.numbers import Name
from reports.results import differences
from reports.verdicts.decide import judge
from reports.verdicts.model import VERDICTS, Decision, Family, Rules, Sample

if TYPE_CHECKING:
    import pandas as pd

_RANK: Final = {"regressed": 0, "inconclusive": 1, "same": 2, "improved": 3, "": 4}
_PAIR: Final = ("sweep", "tool", "cell", "how", "key", "labels", "runs")


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
    pairs: pd.DataFrame  # a row per matched cell: sweep, tool, cell, how; of A and B: key, labels, runs (indexes)
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
        captured = any(side.usable["captured"].any() for side in (self.a, self.b))
        return not captured and not self.by and not {*self.a.hosts}.isdisjoint(self.b.hosts)

    @property
    def broken(self) -> pd.DataFrame:
        """Return the cells of which more runs failed in B."""
        return self.failures[self.failures["side"] == "B"]

    @property
    def clocks(self) -> list[str]:
        """Return the sessions with a wrong clock."""
        rows = [row for side in (self.a, self.b) for row in records(side.sessions) if row["clock"]]
        return list(dict.fromkeys(f"{row['host']} ({row['file']}): {row['clock']}" for row in rows))

    def fails(self, words: Collection[str]) -> bool:
        """Is there what these words of --fail-on name? A number without a verdict counts as inconclusive."""
        if len(self.broken) and not {"failed", "regressed"}.isdisjoint(words):
            return True
        if len(self.unmatched) and "unmatched" in words:
            return True
        return any((verdict or "inconclusive") in words for verdict in self.verdicts["verdict"])


def compare(a: Side, b: Side, ask: Ask | None = None, *, by: str = "", is_part: bool = False) -> Comparison:
    """Compare two sides. by: the axis whose levels they are. is_part: parts of sides that were compared, so that
    nothing is refused.

    Raises UserError for a side without numbers or of several machines of one name, for different programs unless that
    is wanted, and for an option to be ignored that no run has or in which the cells of a side differ.
    """
    from parsers.frames import pd

    ask, sides = ask or Ask(), (a, b)
    allowed = ask.across_programs or by == "program"
    programs = () if is_part else tuple(refuse(a, b, ask.ignore, across_programs=allowed))
    ignore = (*ask.ignore, *filter(None, [by]))
    both = cells(a.runs, ignore), cells(b.runs, ignore)
    matched, crowds = match_sides(*both)
    pairs = dict(enumerate(_pairs(matched, *both)))
    numbers, parts, undirected = numbers_of(pairs, sides, ask.slo_ns)
    samples, rules = tuple(_samples(numbers, sides)), _rules(ask, numbers)
    families = judge(samples, rules)
    rows = [*unmatched(both, matched, crowds, None if by else (a.results, b.results)), *parts]
    return Comparison(
        a=a,
        b=b,
        verdicts=verdict_frame(numbers.assign(again=False), families),
        pairs=pd.DataFrame.from_dict(pairs, orient="index", columns=list(_PAIR)),
        unmatched=pd.DataFrame(rows, columns=list(UNMATCHED)),
        failures=failures(both, matched),
        modes=pd.DataFrame([*mode_shifts(pairs, sides)], columns=list(MODES)),
        fingerprint=_fingerprint(sides, pairs.values(), by, ask.ignore),
        programs=programs,
        undirected=undirected,
        families=families,
        samples=samples,
        rules=rules,
        by=by,
    )


def _pairs(matched: pd.DataFrame, a: pd.DataFrame, b: pd.DataFrame) -> Iterator[Pair]:
    """Yield the rows of `Comparison.pairs`: the pairs of cells that both have a number."""
    left, right = (dict(zip(side.index, records(side), strict=True)) for side in (a, b))
    for x, y, how in matched[["a", "b", "how"]].itertuples(index=False, name=None):
        first, second = left[x], right[y]
        if first["runs"] and second["runs"]:
            both = {name: (first[name], second[name]) for name in ("key", "labels", "runs")}
            yield {"sweep": first["sweep"], "tool": first["tool"], "cell": first["cell"], "how": how, **both}


def verdict_frame(numbers: pd.DataFrame, families: Iterable[Family]) -> pd.DataFrame:
    """Return `Comparison.verdicts`: numbers with their decisions, worst first; equal ones in the order of their
    tables."""
    from parsers.frames import pd

    decisions = [_decided(decision) for family in families for decision in family.decisions]
    names = ["key", *(f.name for f in dataclasses.fields(Decision) if f.name != "key"), "provisional"]
    columns = [name for name in names if name not in ("family", "resolution")]
    decided = pd.DataFrame(decisions, columns=columns, dtype=object).set_index("key")
    rows = numbers.drop(columns=[name for name in decided if name in numbers]).join(decided)
    is_directed = rows["name"].map(lambda name: name.better != "neither").astype(bool)
    size = -rows["shift"].where(is_directed, 0.0).fillna(0.0).astype(float)
    rows = rows.assign(rank=rows["verdict"].map(_RANK), size=size)
    return rows.sort_values(["rank", "size"], kind="stable").drop(columns=["rank", "size"]).rename_axis("key")


def _decided(decision: Decision) -> dict[str, Any]:
    """Return the columns of a decision; the verdict of a single run on a side is ""."""
    row = {f.name: getattr(decision, f.name) for f in dataclasses.fields(decision)}
    single = min(decision.n_a, decision.n_b) < 2
    provisional = not single and decision.k_a == decision.k_b == 1 and decision.tau > 0
    return row | {"provisional": provisional, "verdict": "" if single else decision.verdict}


# --- verdicts ----------------------------------------------------------------------------------------------


def _samples(numbers: pd.DataFrame, sides: tuple[Side, Side]) -> Iterator[Sample]:
    evidence = [side.runs["evidence"].to_dict() for side in sides]
    disturbed = [{*side.runs.index[side.runs["disturbance"] != ""]} for side in sides]
    for key, row in zip(numbers.index, records(numbers), strict=True):
        runs = row["of_a"], row["of_b"]
        yield Sample(
            key=key,
            family=row["family"],
            a=row["a"],
            b=row["b"],
            better=row["name"].better,
            session_a=tuple(evidence[0][run] for run in runs[0]),
            session_b=tuple(evidence[1][run] for run in runs[1]),
            resolution=row["resolution"],
            level=is_level(row["name"].unit),
            interleaved=_took_turns(runs, sides),
            disturbed=tuple(
                side.name
                for side, members, known in zip(sides, runs, disturbed, strict=True)
                if known.issuperset(members)
            ),
        )


def _took_turns(runs: tuple[Sequence[int], Sequence[int]], sides: tuple[Side, Side]) -> bool:
    """Were both sides measured in the same sessions, of several as often in each? The sessions of captured outputs are
    unknown."""
    if sides[0].results is not sides[1].results:
        return False
    if any(side.runs["captured"].loc[list(members)].any() for side, members in zip(sides, runs, strict=True)):
        return False
    a, b = (Counter(side.runs["session"].loc[list(members)]) for side, members in zip(sides, runs, strict=True))
    return a.keys() == b.keys() and (len(a) == 1 or a == b)


def _rules(ask: Ask, numbers: pd.DataFrame) -> Rules:
    """Turn thresholds of a word of a metric into those of families. Raises UserError for a word that no metric has."""
    families = dict(zip(numbers["family"], map(_words, numbers["tool"], numbers["name"]), strict=True))
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
    sides: tuple[Side, Side], pairs: Iterable[Pair], by: str, ignored: Sequence[str]
) -> differences.Fingerprint:
    """Return in what both sides differ: ignored options, commands, programs, then machines."""
    firsts = [side.runs.loc[[pair["runs"][n][0] for pair in pairs]] for n, side in enumerate(sides)]
    facts: dict[str, tuple[str, str]] = {}
    for name in ignored:
        a, b = (differences.listed_values(level_of(runs, name)) for runs in firsts)
        facts[f"{name} (ignored)"] = a, b
    columns = firsts[0]["tool"], firsts[0]["command"], firsts[1]["command"], firsts[0]["captured"]
    for tool, first, second, captured in zip(*columns, strict=True):
        if first and second and first != second and (not by or captured):
            facts.setdefault(f"{tool} command", differing_words(first, second))
    facts |= differences.programs(sides[0].usable, sides[1].usable)
    sessions = [[side.results.machines[i].session for i in side.sessions.index] for side in sides]
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
