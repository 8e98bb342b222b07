"""A comparison as a document: the sides, what differs, what changed worst first, and what to do next. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.checks import checks
from reports.checks.audit import joined
from reports.compare.comparison import Comparison
from reports.compare.sides import Side
from reports.document import Block, Column, Document, Fold, Heading, Interval, Quantity, Table, Text
from reports.measurements import records
from reports.render import grid
from reports.results.convicted import checks_of
from reports.text import format as fmt
from reports.verdicts.model import VERDICTS

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS: Final = 8
EVERY: Final = 10**6
_ORDER: Final = ("regressed", "improved", "inconclusive", "", "same")
_CHANGED: Final = _ORDER[:2]
_OF_TWO: Final = {"regressed": "worse", "improved": "better"}

NUMBERS: Final = (
    Column(name="verdict"), Column(name="cell"), Column(name="number"), Column(name="a", title="A"), Column(name="b", title="B"),
    Column(name="change", unit="%", signed=True), Column(name="interval", title="95 % interval", unit="%", signed=True),
)  # fmt: skip


def document(
    found: Comparison, *, everything: bool = False, only_changed: bool = False, top: int | None = None, page: bool = False,
    next_commands: Sequence[str] = (),
) -> Document:  # fmt: skip
    """Return the answer of `compare`. everything: all numbers. top: at most so many of each verdict. page: with figures and details."""
    most = EVERY if everything else MAX_ROWS
    blocks: list[Block] = [
        _sides(found),
        _differences(found, most),
        Text(verdict(found)),
        *(Text(text, "warning") for text in warnings(found)),
        _failures(found, most),
        numbers(
            found,
            _shown(found, everything=everything, only_changed=only_changed, top=top),
            most if top is None else EVERY,
        ),
        *(Text(text, "warning") for text in flags(found)),
    ]
    if not only_changed:
        blocks += [_modes(found, most), _unmatched(found, most)]
    blocks += [Text(command, "next") for command in next_commands]
    if page:
        from reports.compare.figures import figures

        rest = found.verdicts[~found.verdicts["verdict"].isin(_CHANGED)]
        drawn: list[Block] = [*figures(found)]
        blocks += [Heading("Figures"), *drawn] if drawn else []
        blocks += [
            Fold("Other numbers", (numbers(found, rest, EVERY, advice=True),)),
            _about(found),
        ]
    shown = [block for block in blocks if not isinstance(block, Table) or block.rows]
    return Document(title=title(found) if page else "", blocks=tuple(shown))


def title(found: Comparison) -> str:
    return f"Comparison: {found.b.title} against {found.a.title}"


def word(found: Comparison, verdict: str) -> str:
    """Return a verdict as people read it: another machine is worse or better, and has not regressed; "one run" without a verdict."""
    return (verdict if found.one_machine else _OF_TWO.get(verdict, verdict)) or "one run"


def verdict(found: Comparison) -> str:
    """Return the first line: "6 of 20 numbers regressed, 1 improved, 13 inconclusive"."""
    total, counts = len(found.verdicts), found.counts
    if not total:
        return "No number is on both sides."
    first = f"{counts['regressed']} of {fmt.plural(total, 'number')} {word(found, 'regressed')}"
    others = [(counts[verdict], word(found, verdict)) for verdict in VERDICTS[1:]]
    others.append((total - sum(counts.values()), "with one run on a side"))
    return ", ".join([first, *(f"{fmt.count(n)} {text}" for n, text in others if n)])


def warnings(found: Comparison) -> Iterator[str]:
    """Yield what must be known before the numbers are read."""
    if found.again:
        yield found.again.text
    if found.provisional:
        assumed = " (1 % assumed)" if any(f.tau_source == "assumed" for f in found.families) else ""
        yield f"Provisional: with one session per side, day-to-day noise is unknown{assumed}."
    for text in found.programs:
        yield f"Different programs: {text}."
    if found.undirected:
        yield f"Not compared: {fmt.words(found.undirected)}. Add `better` in the experiment."
    unsure = sorted({side for sides in found.verdicts["unsure"] for side in sides})
    if unsure:
        yield f"All runs of {' and '.join(unsure)} were disturbed for {fmt.plural(sum(map(bool, found.verdicts['unsure'])), 'number')}."
    times = [one.sessions["time"] for one in (found.a, found.b)]
    if found.one_machine and all((own > 0).all() for own in times) and times[1].max() < times[0].min():
        yield "B was measured before A."
    yield from (fmt.sentence(f"{text}.") for text in found.clocks)


def flags(found: Comparison) -> Iterator[str]:
    """Yield "4 numbers are flagged: repeats differ widely (G11 of B)"."""
    titles = {check.id: check.title for check in checks()}
    sides = [[checks_of(text) for text in found.verdicts[column]] for column in ("flags_a", "flags_b")]
    flagged = sum(bool(a or b) for a, b in zip(*sides, strict=True))
    ids = [{id for own in side for id in own} for side in sides]
    names = [
        f"{titles.get(id, id)} ({id}{'' if id in ids[0] & ids[1] else ' of A' if id in ids[0] else ' of B'})"
        for id in checks_of(joined(ids[0] | ids[1]))
    ]
    if flagged:
        yield f"{fmt.plural(flagged, 'number')} {'is' if flagged == 1 else 'are'} flagged: {', '.join(names)}"


def _shown(found: Comparison, *, everything: bool, only_changed: bool, top: int | None) -> pd.DataFrame:
    """Return the rows of a terminal: what changed; everything, or some of each verdict, if the user wants them; else what is open."""
    rows = found.verdicts
    changed = rows[rows["verdict"].isin(_CHANGED)]
    if only_changed or (not everything and top is None and len(changed)):
        rows = changed
    elif not everything and top is None:
        rows = rows[rows["verdict"].isin(["inconclusive", ""])]
    return rows if top is None else rows.groupby("verdict", sort=False).head(top)


def numbers(found: Comparison, rows: pd.DataFrame, most: int, *, advice: bool = False) -> Table:
    """Return a row per number: regressed, worst first; improved, best first; then the others."""
    parts = [
        own[::-1] if verdict == "improved" else own
        for verdict in _ORDER
        for own in [rows[rows["verdict"] == verdict]]
    ]
    every = [row for own in parts for row in records(own)]
    advice = advice or not any(row["verdict"] in _CHANGED for row in every)
    columns = (*NUMBERS, *([Column(name="advice", title="what decides it")] if advice else []))
    return Table(
        columns=columns, rows=tuple((*number(found, row), *([str(row["advice"] or "")] if advice else [])) for row in every),
        flags=marks(every), id="numbers", most=most,
    )  # fmt: skip


def marks(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the flags of rows, of both sides."""
    found = tuple(joined([row["flags_a"], row["flags_b"]]) for row in rows)
    return found if any(found) else ()


def number(found: Comparison, row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the cells of `NUMBERS` of a row."""
    name = row["name"]
    values = [Quantity(row[side], name.said_unit, row["step"]) for side in ("median_a", "median_b")]
    return word(found, row["verdict"]), where(row), name.words, *values, change(row), interval(row)


def where(row: Mapping[str, Any]) -> str:
    """Return "scaling, threads=4 place=remote"."""
    return ", ".join(filter(None, (row["sweep"], row["cell"])))


def change(row: Mapping[str, Any]) -> float | None:
    return None if row["ratio"] is None else row["ratio"] - 1


def interval(row: Mapping[str, Any]) -> Interval | None:
    ends = row["low"], row["high"]
    return None if None in ends or math.inf in ends else Interval(ends[0] - 1, ends[1] - 1, "%")


def describe_change(row: Mapping[str, Any]) -> str:
    """Return "from 12 GB/s to 10 GB/s, −10.0 % (−12.0 to −8.0 %)"."""
    name = row["name"]
    a, b = (grid.text(row[side], name.said_unit, step=row["step"]) for side in ("median_a", "median_b"))
    ends = interval(row)
    between = f" (95 %: {grid.text(ends, signed=True)})" if ends else ""
    marks = joined([row["flags_a"], row["flags_b"]])
    flagged = f", flagged {marks}" if marks else ""
    return f"from {a} to {b}, {grid.text(change(row), '%', signed=True)}{between}{flagged}"


def _sides(found: Comparison) -> Table:
    columns = (
        Column(name="side"), Column(name="title", title="results"), Column(name="hosts"), Column(name="sessions"), Column(name="runs"),
        Column(name="excluded"), Column(name="failed"),
    )  # fmt: skip
    again = found.again.sides if found.again else ()
    rows = [_side(one) for one in (found.a, found.b)]
    rows += [(f"{one.name}, again", *_side(one)[1:]) for one in again]
    return Table(columns=columns, rows=tuple(rows), id="sides")


def _side(one: Side) -> tuple[Any, ...]:
    hosts = [*one.hosts[:3], *([f"{len(one.hosts) - 3} more"] if len(one.hosts) > 3 else [])]
    counts = [int((one.runs["fate"] == fate).sum()) for fate in ("", "left out", "failed")]
    return one.name, one.title, ", ".join(hosts), len(one.sessions), *counts


def _differences(found: Comparison, most: int) -> Table:
    rows = tuple((line.what, line.a, line.b) for line in found.fingerprint.differences)
    return Table(columns=(Column(name="fact", title="differs"), Column(name="a", title="A"), Column(name="b", title="B")), rows=rows, id="differs", most=most)  # fmt: skip


def _failures(found: Comparison, most: int) -> Table:
    rows = tuple(
        (row["side"], where(row), f"{row['failed_a']} of {row['runs_a']}", f"{row['failed_b']} of {row['runs_b']}", row["reason"])
        for row in records(found.failures)
    )  # fmt: skip
    names = (("side", "more failed in"), ("cell", ""), ("a", "A failed"), ("b", "B failed"), ("reason", ""))
    columns = tuple(Column(name=name, title=title) for name, title in names)
    return Table(columns=columns, rows=rows, id="failures", title="Failed runs", most=most)


def _modes(found: Comparison, most: int) -> Table:
    columns = (
        Column(name="cell"), Column(name="number"), Column(name="at", unit="ns"), Column(name="share_a", title="A", unit="%"),
        Column(name="share_b", title="B", unit="%"), Column(name="chance", title="may be chance"),
    )  # fmt: skip
    rows = tuple(
        (where(row), row["number"], row["at"], row["share_a"], row["share_b"], row["by_chance"])
        for row in records(found.modes)
    )
    return Table(columns=columns, rows=rows, id="modes", title="Modes whose share moved", most=most)


def _unmatched(found: Comparison, most: int) -> Table:
    rows = tuple(
        (row["side"], where(row), row["numbers"] or "all", row["reason"], row["detail"])
        for row in records(found.unmatched)
    )
    names = ("side", "cell", "numbers", "reason", "detail")
    columns = tuple(Column(name=name, title="only in" if name == "side" else "") for name in names)
    return Table(columns=columns, rows=rows, id="unmatched", title="Not compared", most=most)


_ABOUT: Final = (
    "A change is the median over all pairs of a run of A and a run of B. Same: shown to lie within the threshold. "
    "Inconclusive: the runs do not decide it."
)


def _about(found: Comparison) -> Fold:
    """Return how the verdicts were made: noise between sessions, and cells that were matched otherwise than as written."""
    columns = (
        Column(name="family", title="kind of number"), Column(name="numbers"), Column(name="median", title="median change", unit="%", signed=True),
        Column(name="tau", title="noise between sessions", unit="%"), Column(name="source"), Column(name="threshold", unit="%"),
    )  # fmt: skip
    rows = [
        (f.name, len(f.decisions), None if f.median_ratio is None else f.median_ratio - 1, f.tau, f.tau_source, found.rules.threshold_of(f.name))
        for f in found.families
    ]  # fmt: skip
    matched = found.pairs["how"].value_counts()
    hows = tuple((str(how), int(n)) for how, n in matched.items())
    blocks: list[Block] = [Text(_ABOUT), Table(columns=columns, rows=tuple(rows), most=EVERY)]
    blocks.append(
        Table(columns=(Column(name="how", title="cells matched by"), Column(name="cells")), rows=hows)
    )
    return Fold("How the verdicts were made", tuple(blocks))
