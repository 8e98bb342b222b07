"""A comparison as a document: the sides, what differs, what changed worst first, and what to do next. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from reports.checks import checks
from reports.checks.audit import joined
from reports.compare.comparison import Comparison
from reports.compare.sides import Side
from reports.document import Block, Column, Document, Fold, Heading, Interval, Quantity, Table, Text, Value
from reports.measurements import records
from reports.render import grid
from reports.results.convicted import checks_of
from reports.text import format as fmt
from reports.verdicts.model import VERDICTS

if TYPE_CHECKING:
    import pandas as pd

MAX_ROWS: Final = 8
MAX_OPEN: Final = 3
"""Rows of numbers if none changed."""

EVERY: Final = 10**6
_ORDER: Final = ("regressed", "improved", "inconclusive", "", "same")
_CHANGED: Final = _ORDER[:2]
_OF_TWO: Final = {"regressed": "worse", "improved": "better"}


def _columns(**titles: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, title=title) for name, title in titles.items())


NUMBERS: Final = (
    *_columns(verdict="", cell="", number="", a="A", b="B"),
    Column(name="change", unit="%", signed=True),
    Column(name="interval", title="95 % interval", unit="%", signed=True),
)


def document(
    result: Comparison,
    *,
    everything: bool = False,
    only_changed: bool = False,
    top: int | None = None,
    page: bool = False,
    next_commands: Sequence[str] = (),
) -> Document:
    """Return the answer of `compare`. everything: all numbers. top: at most so many of each verdict. page: with figures
    and details."""
    most = EVERY if everything else MAX_ROWS
    rows = _shown(result, everything=everything, only_changed=only_changed, top=top)
    few = MAX_ROWS if rows["verdict"].isin(_CHANGED).any() else MAX_OPEN
    differences = [(line.what, line.a, line.b) for line in result.fingerprint.differences]
    blocks: list[Block] = [
        _sides(result),
        Table(columns=_columns(fact="differs", a="A", b="B"), rows=tuple(differences), id="differs", most=most),
        Text(verdict(result)),
        *(Text(text, "warning") for text in warnings(result)),
        _failures(result, most),
        numbers(result, rows, few if top is None and not everything else EVERY, advice=everything),
        *(Text(text, "warning") for text in flags(result)),
    ]
    if not only_changed:
        blocks += [_modes(result, most), _unmatched(result, most)]
    blocks += [Text(command, "next") for command in next_commands]
    if page:
        from reports.compare.figures import figures

        others = result.verdicts[~result.verdicts["verdict"].isin(_CHANGED)]
        drawn: list[Block] = [*figures(result)]
        blocks += [Heading("Figures"), *drawn] if drawn else []
        blocks += [Fold("Other numbers", (numbers(result, others, EVERY, advice=True),)), _about(result)]
    shown = [block for block in blocks if not isinstance(block, Table) or block.rows]
    return Document(title=title(result) if page else "", blocks=tuple(shown))


def title(result: Comparison) -> str:
    return f"Comparison: {result.b.title} against {result.a.title}"


def word(result: Comparison, verdict: str) -> str:
    """Return a verdict as people read it: another machine is worse or better, and has not regressed; "one run" without
    a verdict."""
    return (verdict if result.one_machine else _OF_TWO.get(verdict, verdict)) or "one run"


def verdict(result: Comparison) -> str:
    """Return the first line: "6 of 20 numbers regressed, 1 improved, 13 inconclusive"."""
    total, counts = len(result.verdicts), result.counts
    if not total:
        return "No number is on both sides."
    first = f"{counts['regressed']} of {fmt.plural(total, 'number')} {word(result, 'regressed')}"
    others = [(counts[verdict], word(result, verdict)) for verdict in VERDICTS[1:]]
    others.append((total - sum(counts.values()), "with one run on a side"))
    return ", ".join([first, *(f"{fmt.count(n)} {text}" for n, text in others if n)])


def warnings(result: Comparison) -> Iterator[str]:
    """Yield what must be known before the numbers are read."""
    if result.again:
        yield result.again.text
    if (result.verdicts["provisional"].astype(bool) & (result.verdicts["verdict"] != "inconclusive")).any():
        assumed = " (1 % assumed)" if any(f.tau_source == "assumed" for f in result.families) else ""
        yield f"Provisional: with one session per side, day-to-day noise is unknown{assumed}."
    for text in result.programs:
        yield f"Different programs: {text}."
    if result.undirected:
        yield f"Not compared: {fmt.words(result.undirected)}. Add `better` in the experiment."
    unsure = result.verdicts["unsure"][result.verdicts["unsure"].map(bool)]
    if len(unsure):
        sides = " and ".join(sorted({side for sides in unsure for side in sides}))
        yield f"No verdict for {fmt.plural(len(unsure), 'number')}: all runs of {sides} were disturbed."
    times = [side.sessions["time"] for side in (result.a, result.b)]
    if result.one_machine and all((time > 0).all() for time in times) and times[1].max() < times[0].min():
        yield "B was measured before A."
    yield from (f"Wrong clock: {text}." for text in result.clocks)


def flags(result: Comparison) -> Iterator[str]:
    """Yield "4 numbers are flagged: repeats differ widely (G11)", with the check that flags most."""
    titles = {check.id: check.title for check in checks()}
    flagged = [*filter(None, map(joined, zip(result.verdicts["flags_a"], result.verdicts["flags_b"], strict=True)))]
    ids = [id for id, _ in Counter(id for text in flagged for id in checks_of(text)).most_common()]
    names = [f"{titles.get(id, id)} ({id})" for id in ids[:1]]
    if flagged:
        more = [f"{fmt.plural(len(ids) - 1, 'more check')}"] if len(ids) > 1 else []
        yield f"{fmt.plural(len(flagged), 'number')} {'is' if len(flagged) == 1 else 'are'} flagged: {fmt.words([*names, *more])}"


def _shown(result: Comparison, *, everything: bool, only_changed: bool, top: int | None) -> pd.DataFrame:
    """Return the rows of a terminal: what changed; everything, or some of each verdict, if the user wants them; else
    what is open."""
    rows = result.verdicts
    changed = rows[rows["verdict"].isin(_CHANGED)]
    if only_changed or (not everything and top is None and len(changed)):
        rows = changed
    elif not everything and top is None:
        rows = rows[rows["verdict"].isin(["inconclusive", ""])]
    return rows if top is None else rows.groupby("verdict", sort=False).head(top)


def numbers(result: Comparison, rows: pd.DataFrame, most: int, *, advice: bool = False) -> Table:
    """Return a row per number: regressed, worst first; improved, best first; then the others. advice: with what would
    decide them."""
    parts = [(verdict, rows[rows["verdict"] == verdict]) for verdict in _ORDER]
    every = [row for verdict, group in parts for row in records(group[::-1] if verdict == "improved" else group)]
    advice = advice and any(row["advice"] for row in every)
    marks = [joined([row["flags_a"], row["flags_b"]]) for row in every]
    return Table(
        columns=(*NUMBERS, *(_columns(advice="what decides it") if advice else ())),
        rows=tuple((*_number(result, row), *([row["advice"] or ""] if advice else [])) for row in every),
        flags=tuple(marks) if any(marks) else (),
        id="numbers",
        most=most,
    )


def _number(result: Comparison, row: Mapping[str, Any]) -> tuple[Value, ...]:
    """Return the cells of `NUMBERS` of a row."""
    name = row["name"]
    values = [Quantity(row[side], name.said_unit, row["step"]) for side in ("median_a", "median_b")]
    return word(result, row["verdict"]), where(row), name.words, *values, _change(row), _interval(row)


def where(row: Mapping[str, Any]) -> str:
    """Return "scaling, threads=4 place=remote"."""
    return ", ".join(filter(None, (row["sweep"], row["cell"])))


def _change(row: Mapping[str, Any]) -> float | None:
    return None if row["ratio"] is None else row["ratio"] - 1


def _interval(row: Mapping[str, Any]) -> Interval | None:
    ends = row["low"], row["high"]
    return None if None in ends or math.inf in ends else Interval(ends[0] - 1, ends[1] - 1, "%")


def describe_change(row: Mapping[str, Any]) -> str:
    """Return "from 12 GB/s to 10 GB/s, −10.0 % (−12.0 to −8.0 %)"."""
    name = row["name"]
    a, b = (grid.text(row[side], name.said_unit, step=row["step"]) for side in ("median_a", "median_b"))
    ends, marks = _interval(row), joined([row["flags_a"], row["flags_b"]])
    between = f" (95 %: {grid.text(ends, signed=True)})" if ends else ""
    flagged = f", flagged {marks}" if marks else ""
    return f"from {a} to {b}, {grid.text(_change(row), '%', signed=True)}{between}{flagged}"


def _sides(result: Comparison) -> Table:
    """Return a row per side; without a column that says nothing: of one session, of no excluded run."""
    rows = [_side(side.name, side) for side in (result.a, result.b)]
    rows += [_side(f"{side.name}, again", side) for side in (result.again.sides if result.again else ())]
    least = {"sessions": 1, "excluded": 0, "failed": 0}
    shown = [name for name in rows[0] if any(row[name] != least.get(name) for row in rows)]
    columns = tuple(Column(name=name) for name in shown)
    return Table(columns=columns, rows=tuple(tuple(row[name] for name in shown) for row in rows), id="sides")


def _side(name: str, side: Side) -> dict[str, str | int]:
    hosts = [*side.hosts[:3], *([f"{len(side.hosts) - 3} more"] if len(side.hosts) > 3 else [])]
    runs, excluded, failed = (int((side.runs["fate"] == fate).sum()) for fate in ("", "left out", "failed"))
    return {
        "side": name, "results": side.title, "hosts": ", ".join(hosts), "sessions": len(side.sessions), "runs": runs,
        "excluded": excluded, "failed": failed,
    }  # fmt: skip


def _listed(id: str, title: str, rows: pd.DataFrame, columns: Sequence[Column], most: int) -> Table:
    """Return a table of rows that have a sweep and a cell."""
    cells = [where(row) for row in records(rows)]
    return Table.from_frame(rows.assign(cell=cells), *columns, id=id, title=title, most=most)


def _failures(result: Comparison, most: int) -> Table:
    rows = result.failures
    counts = {
        side: [f"{n} of {runs}" for n, runs in zip(rows[f"failed_{side}"], rows[f"runs_{side}"], strict=True)]
        for side in "ab"
    }
    columns = _columns(side="more failed in", cell="", a="A failed", b="B failed", reason="")
    return _listed("failures", "Failed runs", rows.assign(**counts), columns, most)


def _modes(result: Comparison, most: int) -> Table:
    shares = (Column(name=f"share_{side}", title=side.upper(), unit="%") for side in "ab")
    columns = (
        *_columns(cell="", number=""),
        Column(name="at", unit="ns"),
        *shares,
        *_columns(by_chance="may be chance"),
    )
    return _listed("modes", "Modes whose share moved", result.modes, columns, most)


def _unmatched(result: Comparison, most: int) -> Table:
    rows = result.unmatched.replace({"numbers": {"": "all"}})
    columns = _columns(side="only in", cell="", numbers="", reason="", detail="")
    return _listed("unmatched", "Not compared", rows, columns, most)


_ABOUT: Final = (
    "A change is the median over all pairs of a run of A and a run of B. Same: shown to lie within the threshold. "
    "Inconclusive: the runs do not decide it."
)


def _about(result: Comparison) -> Fold:
    """Return how the verdicts were made: noise between sessions, and cells that were matched otherwise than as
    written."""
    columns = (
        *_columns(family="kind of number", numbers=""),
        Column(name="median", title="median change", unit="%", signed=True),
        Column(name="tau", title="noise between sessions", unit="%"),
        *_columns(source=""),
        Column(name="threshold", unit="%"),
    )
    rows = [
        (
            f.name,
            len(f.decisions),
            f.median_ratio and f.median_ratio - 1,
            f.tau,
            f.tau_source,
            result.rules.threshold_of(f.name),
        )
        for f in result.families
    ]
    ways = tuple((str(how), int(n)) for how, n in result.pairs["how"].value_counts().items())
    families = Table(columns=columns, rows=tuple(rows), most=EVERY)
    matched = Table(columns=_columns(how="cells matched by", cells=""), rows=ways)
    return Fold("How the verdicts were made", (Text(_ABOUT), families, matched))
