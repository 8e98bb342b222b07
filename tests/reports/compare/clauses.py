"""What the sentence of a comparison says of what regressed and improved, counted again from the rows."""

from __future__ import annotations

import re
from collections.abc import Iterable

from reports.compare import text as texts
from reports.compare.folds import Fold, folded
from reports.compare.model import Comparison, Row

CHANGE = r"[+−]?[\d.\u202f]+ [%×]"
SPAN = rf"(?:[+−]?[\d.\u202f]+ to )?{CHANGE}"
ONE = re.compile(rf"(?P<name>.+) (?P<verdict>regressed|improved), (?P<moved>{CHANGE} \([^)]*\))(?:, ⚠ .*)?")
MANY = re.compile(
    r"(?:(?P<sweeps>\d+) sweeps|(?P<sweep>[^:,]+?))(?:, (?P<level>.+?))?: (?P<n>\d+) of (?P<of>\d+) (?P<noun>cell|number)s? "
    rf"(?P<verdict>regressed|improved)(?: \((?P<reach>[^)]*)\))?(?:, elsewhere (?P<out>\d+) of (?P<of_out>\d+))?(?P<sizes>(?:, [^,]+? {SPAN})+)"
    r"(?: and (?P<more>\d+) more metrics?)?(?:, ⚠ .*)?"
)


def hold(comparison: Comparison, text: str) -> None:
    """`text`: "s: 4 of 6 cells regressed, rate −20.1 to −19.8 %; …", without its full stop."""
    told: list[Row] = []
    for clause in text.split("; "):
        clause = clause.replace("\0", "; ")
        if one := ONE.fullmatch(clause):
            (row,) = [r for r in comparison.of("regressed", "improved") if r.title == one["name"]]
            assert (row.verdict, texts.moved(row)) == (one["verdict"], one["moved"])
            told.append(row)
            continue
        told += _many(comparison, clause)
    changed = comparison.of("regressed", "improved")
    sweeps = {(row.sweep, row.verdict) for row in changed}
    assert {(row.sweep, row.verdict) for row in told} == sweeps
    plain = [row for row in changed if not row.derived]
    assert {id(row) for row in plain} <= {id(row) for row in told}
    assert all(not row.derived or not _beside(row, plain) for row in told)


def as_verdicts(text: str, *, one_machine: bool) -> str:
    """Return a text with the words of a verdict: of two machines "worse" and "are worse" stand where of one "regressed" does."""
    verdict = r"(?<!more is )(?<!less is )(?<!neither is )(?<!up is )(?<!more )(?<!less )(?<!neither )(?<!up )(?:\b(?:is|are) )?\b(worse|better)\b(?!”)"
    if one_machine:
        assert not re.search(r"\d (?:is |are |cells? |numbers? )?(?:worse|better)\b(?! to )", text)
        return text
    assert not re.search("regressed|improved", text)
    return re.sub(verdict, lambda found: {"worse": "regressed", "better": "improved"}[found[1]], text)


def split(text: str) -> str:
    """Return the text with the semicolons inside brackets out of the way of `hold`."""
    return re.sub(r"\([^)]*\)", lambda found: found[0].replace("; ", "\0"), text)


def _beside(row: Row, plain: Iterable[Row]) -> bool:
    return any((row.sweep, row.verdict) == (one.sweep, one.verdict) for one in plain)


def _many(comparison: Comparison, clause: str) -> list[Row]:
    found = MANY.fullmatch(clause)
    assert found, clause
    verdict = found["verdict"]
    changed = [row for row in comparison.of(verdict) if found["sweeps"] or row.sweep == found["sweep"]]  # type: ignore[arg-type]
    rows = [row for row in changed if not row.derived] or changed
    assert not found["sweeps"] or int(found["sweeps"]) == len({row.sweep for row in rows}) > 3
    level = found["level"]
    if found["reach"]:
        fold, *others = folded(rows, comparison.rows)
        assert isinstance(fold, Fold)
        assert not others
        said = ["" if level else fold.options, "" if fold.whole else fold.reach]
        assert found["reach"] == ", ".join(filter(None, said))
        assert int(found["n"]) < int(found["of"])
    derived = rows[0].derived
    every = [
        row
        for row in comparison.rows
        if not row.once and row.sweep in {r.sweep for r in changed} and row.decision.ratio is not None and (derived or not row.derived)
    ]  # fmt: skip
    axes = {(axis, row.labels[axis]) for row in rows for axis in row.labels if texts.level_said(row, axis, row.labels[axis]) == level}  # fmt: skip

    def inside(row: Row) -> bool:
        return level is None or any(row.labels.get(axis) == value for axis, value in axes)

    for n, of, own in (
        (found["n"], found["of"], [row for row in every if inside(row)]),
        (found["out"] or "0", found["of_out"], [row for row in every if not inside(row)]),
    ):
        units: dict[object, set[str]] = {}
        for row in own:
            units.setdefault(row.pair.key if found["noun"] == "cell" else id(row), set()).add(row.verdict)
        hit = sum(verdict in words for words in units.values())
        assert int(n) == hit
        assert of is None or int(of) == len(units)
        if found["noun"] == "cell" and level is None:
            assert all(words == {verdict} for words in units.values() if verdict in words)
    sizes = re.findall(rf", ([^,]+?) ({SPAN})(?=, |$)", found["sizes"])
    known = {row.number.metric.replace("_", " ") for row in rows}
    assert {metric for metric, _ in sizes} <= known
    assert len(known) <= len(sizes) + int(found["more"] or 0)
    for metric, said in sizes:
        own = [row for row in rows if row.number.metric.replace("_", " ") == metric]
        assert said in {texts.span([r for r in own if r.better == b]) for b in {r.better for r in own}}
        outermost = sorted(row.change or 0.0 for row in own)
        assert len({row.better for row in own}) > 1 or texts.change(outermost[0])[:1] == said[:1]
    return rows
