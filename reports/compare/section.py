"""The comparison's section of the page: a table with the worst first and its intervals drawn, then how the curves moved. Pure.

What is drawn is how B does against A, so that better is to the right whatever the metric's direction: B / A where more is
better, A / B where less is. What is written is the change in the metric's own sign.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reports import numbers
from reports.checks import doubts
from reports.compare import text as texts
from reports.compare.curves import curves, main_sweeps, worse
from reports.compare.doubted import without
from reports.compare.folds import Entry, Fold, lines_of, rows_of
from reports.compare.model import Comparison, Row
from reports.draw.figure import ROW, Figure, Table
from reports.page.model import KeyNumber, Section
from reports.text import format as fmt
from reports.verdicts.model import VERDICTS, Verdict

WIDTH: Final = 176
HEIGHT: Final = 18
"""Of an interval's picture, px."""

BETTER, WORSE, NEITHER, BAND, AXIS = "#1F6FB2", "#C2500A", "#7C8794", "#E3E6EA", "#9AA3AE"

_MOST: Final[Mapping[Verdict, int]] = {"regressed": 40, "inconclusive": 25, "improved": 40, "same": 12}
"""Lines that stand open; each number of the rest, and of a line of several, is in a closed table."""

_MOST_ONCE: Final = 40
"""The same, of one run on a side."""

_FEW: Final = 12
"""Lines of all verdicts that stand open together. Of more those of what changed; where nothing did, those of what is inconclusive."""

_CLIPS: Final = (0.1, 0.18, 0.3, 0.5, 1.0, 3.0, 9.0)
"""How far the axis goes, as a share: the first, from 1.1 × worse to 1.1 × better, unless more than a fifth of the changes go further, or the band of what does not
count fills more than two thirds of it."""

_MOST_CLOSED: Final = 500
"""Rows of the closed table: 2000 cost half a megabyte and a second, and nobody reads them to the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """An interval as a picture: (colour, path) of what is filled and of what is stroked, and the words for it."""

    filled: tuple[tuple[str, str], ...]
    stroked: tuple[tuple[str, str], ...]
    said: str
    gone: bool  # does the dot, or an end of a curve's, lie beyond the axis? Then it is an arrow
    cut: bool  # does the bar go on beyond the axis? Then it ends in an open arrow


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of the table."""

    place: str  # "scaling, remote, threads 4"
    metric: str  # "triad bandwidth", of several "copy, scale, add and triad bandwidth"
    sub: str  # "GB/s, more is better"
    a: str  # the median; of a curve the lowest and the highest: "90.53 to 340.7"
    b: str
    mark: Mark | None
    change: str
    interval: str
    verdict: str  # as `Row.word`
    tone: str  # of the verdict: "regressed", "improved", "same", "inconclusive", "one run"
    sign: str  # "▼" | "▲" | ""
    runs: str
    doubt: str = ""  # by which checks its cell is doubted on either side
    need: str = ""  # what would decide it, where that is not the same of all lines: "needs 17 repeats"
    points: str = ""  # of several numbers: "24 of 24 points, 0 B to 4 MiB"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta(Section):
    """The section of a comparison, and what the page's header says of it."""

    anchor: str = "comparison"
    sentence: str
    doubting: tuple[tuple[str, int], ...]  # "M1 of A", and how many numbers it doubts
    doubtful: int  # numbers that one of these doubts
    differing: str  # what of machines and programs differs, in a sentence; "" of nothing
    differences: Table | None
    agreed: str  # what does not differ, and what nobody can tell
    lines: tuple[Line, ...]
    reading: str  # how the table is read
    judged: bool  # has one line a verdict, and so an interval?
    each: str  # "4 + 4" where all lines are of so many runs; "" where they differ, and each says so
    ground: str  # what its verdicts rest on
    axis: tuple[tuple[float, str], ...]  # ticks of the pictures: x in px, text
    rest: Table | None  # where some numbers have no line of their own: all; of very many the first of these
    numbers: int  # all of them
    left_out: int  # those that are in neither
    needs: tuple[str, ...]
    modes: tuple[str, ...]
    failed: tuple[str, ...]  # cells with failed runs, where the sentence does not tell all of them
    absent: tuple[str, ...]
    matched: tuple[str, ...]  # a line for all cells of which the same is said
    matched_cells: int
    curves: tuple[Figure, ...]
    unmoved: tuple[
        Figure, ...
    ]  # where others have a point that changed those without; where none has, those that shift by no more than what does not count
    panels: str  # how these are read
    closed: str  # what the closed table has
    key_numbers: tuple[KeyNumber, ...]


def delta(comparison: Comparison) -> Delta:
    """Return the section of a comparison."""
    head, comparison = texts.sentence(comparison), without(comparison)
    entries, echoing = _entries(comparison)
    alone: set[Hashable] = {entry.decision.key for entry in entries if isinstance(entry, Row)}
    closed = [row for row in comparison.rows if row.decision.key not in alone]
    if 0 < len(closed) < len(comparison.rows) <= _MOST_CLOSED:
        closed = list(comparison.rows)
    clip = _clip([row for entry in entries for row in rows_of(entry)])
    drawn = curves(comparison)
    shown = [curve for curve in drawn if curve.moved] or [curve for curve in drawn if curve.beyond]
    apart = texts.needs_differ(comparison.of("inconclusive"))
    lines = tuple(
        replace(line, need=texts.needed(rows_of(e)) if apart else "")
        for e in entries
        for line in [_of_fold(e, clip) if isinstance(e, Fold) else _line(e, clip)]
    )
    each = lines[0].runs if len({line.runs for line in lines}) == 1 else ""
    return Delta(
        title=f"{comparison.b.title} against {comparison.a.title}",
        sentence=head,
        doubting=tuple(texts.doubting(comparison).items()),
        doubtful=sum(bool(row.doubt) for row in comparison.rows),
        lead=tuple(_lead(comparison)),
        reading=_reading(comparison, clip, [line.mark for line in lines if line.mark]),
        judged=any(line.interval for line in lines),
        each=each,
        ground=_ground(comparison, lines, echoing, each),
        differing=_differing(comparison),
        differences=_differences(comparison),
        agreed=_agreed(comparison),
        lines=lines,
        doubted=tuple(line.doubt for line in lines if line.doubt),
        axis=tuple(_ticks(clip)),
        rest=_rest(closed[:_MOST_CLOSED], apart),
        numbers=len(comparison.rows),
        left_out=max(0, len(closed) - _MOST_CLOSED),
        needs=tuple(texts.needs(comparison.of("inconclusive"))),
        modes=tuple(texts.mode_shift(shift) for shift in comparison.modes[:12]),
        failed=tuple(texts.failed(comparison)),
        absent=tuple(group.text for group in texts.absent(comparison.unmatched)),
        matched=tuple(texts.matched(comparison)),
        matched_cells=sum(comparison.matched.values()),
        curves=tuple(curve.figure for curve in shown),
        unmoved=tuple(curve.figure for curve in drawn if curve not in shown),
        panels=_panels(comparison),
        closed=_closed(comparison, min(len(closed), _MOST_CLOSED)),
        key_numbers=tuple(_key_numbers(comparison)),
    )


def _entries(comparison: Comparison) -> tuple[list[Entry], int]:
    """Return what has an open line, worst first, and how many derived numbers have none because they say the same."""
    known = lines_of(comparison)
    open_: Sequence[Verdict] = VERDICTS
    if sum(map(len, known.of.values())) > _FEW:
        open_ = (
            ("regressed", "improved") if known.of["regressed"] or known.of["improved"] else ("inconclusive",)
        )
    entries = [entry for verdict in open_ for entry in known.of[verdict][: _MOST[verdict]]]
    entries += known.once[:_MOST_ONCE]
    echoing = sum(known.echoing.get(verdict, 0) for verdict in open_)
    return sorted(entries, key=lambda entry: -max(map(worse, rows_of(entry)))), echoing


def _lead(comparison: Comparison) -> Iterable[str]:
    yield f"A is {texts.side(comparison.a)}. B is {texts.side(comparison.b)}."
    if again := texts.measured_again(comparison):
        yield " ".join(
            [
                *again,
                "Charts, checks and runs below are of these runs, and of the stored ones of all other cells.",
            ]
        )
    for text in comparison.across:
        yield f"Different programs: {text}. Their numbers differ on one and the same machine."
    if comparison.backwards:
        yield f"{comparison.backwards}."
    for text in comparison.clocks:
        yield f"A clock was set: {text}."


def _reading(comparison: Comparison, clip: float, marks: Sequence[Mark]) -> str:
    """Say how the table is read."""
    ends = [text for _, text in _ticks(clip)]
    if len(comparison.once) == len(comparison.rows):
        gone = " Arrow: a shift beyond that." if any(mark.gone for mark in marks) else ""
        return (
            f"Worst first, what tells the same in one line; the axis goes from {ends[0]} to {ends[1]} (log). Dot: shift of the typical pair of runs.{gone} "
            "A and B: medians of the runs. One run on a side: there is no interval, and no verdict."
        )
    arrows = (" Arrow: a shift beyond that." if any(mark.gone for mark in marks) else "") + (
        " Open arrow: the interval goes on." if any(mark.cut for mark in marks) else ""
    )
    return (
        f"Worst first, what tells the same in one line; the axis goes from {ends[0]} to {ends[1]} (log). Dot and bar: shift of the typical "
        f"pair of runs, with its 95 % interval; grey band: changes that do not count.{arrows}"
    )


def _panels(comparison: Comparison) -> str:
    """Say how the figures are read."""
    bars = "bars: its 95 % interval; grey" if len(comparison.once) < len(comparison.rows) else "grey"
    return f"B against A, {texts.TYPICAL[:1].lower()}{texts.TYPICAL[1:]}; {bars} band: changes that do not count. Every tested value has its place."


def _closed(comparison: Comparison, n: int) -> str:
    """Return "All 397 numbers, a line each: 64 regressed, 42 improved, 265 same, 26 inconclusive", of some of them "26 of 397 numbers, a line each"."""
    if n < len(comparison.rows):
        return f"{fmt.count(n)} of {fmt.plural(len(comparison.rows), 'number')}, a line each"
    counted = Counter(
        row.word for row in sorted(comparison.rows, key=lambda row: VERDICTS.index(row.verdict))
    )
    words = ", ".join(f"{fmt.count(n)} {word}" for word, n in counted.items())
    words = "" if len(comparison.once) == n else f": {words}"
    return f"All {fmt.plural(n, 'number')}, a line each{words}" if n > 1 else f"1 number{words}"


def _ground(comparison: Comparison, lines: Iterable[Line], echoing: int, each: str) -> str:
    """Say what the columns are and what a verdict takes; "" where there is none."""
    if len(comparison.once) == len(comparison.rows):
        return ""
    ranged = (
        ", of several numbers from the lowest to the highest" if any(line.points for line in lines) else ""
    )
    echoed = (
        f" {fmt.plural(echoing, 'derived number that says', 'derived numbers that say')} the same {'has' if echoing == 1 else 'have'} no line of {'its' if echoing == 1 else 'their'} own."
        if echoing
        else ""
    )
    beyond = texts.BEYOND if any(map(texts.reaches_beyond, comparison.of("same"))) else ""
    return (
        f"A and B: medians of the runs{f' ({each} a cell)' if each else ''}{ranged}.{echoed} {texts.TYPICAL}: the median over all pairs of a run of A and one of B, with its 95 % interval{beyond}. "
        "A verdict needs both a change beyond the band and one that stands out of the noise "
        f"(false discoveries held at 5 %). {texts.noise(comparison)}"
    )


_MOST_DIFFERING: Final = 3


def _differing(comparison: Comparison) -> str:
    """Return "What differs: kernel 6.1 → 6.8, microcode 0x1 → 0x2; and 4 more.", of machines that are alike "Two machines, node03 and node04;
    nothing else that was recorded of them differs."; "" where nobody knows the machines, or they are levels of an axis."""
    found = [d for d in comparison.fingerprint.differences if comparison.by or d.what != "host"]
    hosts = [texts.hosts(one) for one in (comparison.a, comparison.b)]
    known = not any(run.captured for one in (comparison.a, comparison.b) for run in one.runs)
    two = known and not comparison.one_machine and not comparison.by
    machines = f"Two machines, {hosts[0]} and {hosts[1]}" if two else ""
    if not found:
        if two:
            return f"{machines}; nothing else that was recorded of them differs."
        return (
            "Nothing that was recorded of machine and programs differs."
            if known and not comparison.by
            else ""
        )
    more = len(found) - _MOST_DIFFERING
    told = f"{', '.join(f'{d.what} {d.a} → {d.b}' for d in found[:_MOST_DIFFERING])}{f'; and {more} more' if more > 0 else ''}."
    return f"{machines}. They differ in {told}" if two else f"What differs: {told}"


def _differences(comparison: Comparison) -> Table | None:
    found = comparison.fingerprint.differences
    if len(found) <= _MOST_DIFFERING:  # the sentence at the head has them
        return None
    rows = tuple((d.what, d.a, d.b) for d in found)
    return Table(columns=("What differs", "A", "B"), rows=rows)


def _agreed(comparison: Comparison) -> str:
    found = comparison.fingerprint
    parts = []
    if not {d.what for d in found.differences} - {"host"}:
        other = " else" if found.differences else ""
        parts = [f"Nothing{other} that was recorded of machines and programs differs."]
    if found.agreed:
        parts.append(f"The same: {'; '.join(found.agreed)}.")
    if found.unknown:
        parts.append(f"Not recorded on both sides: {'; '.join(found.unknown)}.")
    return " ".join(parts)


# --- the table ---------------------------------------------------------------------------------------------


def _line(row: Row, clip: float) -> Line:
    a, b, unit = texts.values(row)
    return Line(
        place=row.where,
        metric=row.number.words,
        sub=", ".join(filter(None, (unit, texts.direction(row)))),
        a=a,
        b=b,
        mark=_mark(row, clip),
        change=texts.shift(row),
        interval=texts.interval(row.interval),
        **_told(row),
        runs=f"{len(row.a)} + {len(row.b)}",
        doubt=row.doubt,
    )


def _of_fold(fold: Fold, clip: float) -> Line:
    first = fold.rows[0]
    a, b, unit = texts.ends(fold.rows)
    counts = [f"{len(row.a)} + {len(row.b)}" for row in fold.rows]
    return Line(
        place=fold.where,
        metric=fold.metric,
        sub=", ".join(filter(None, (unit, texts.direction(first)))),
        a=a,
        b=b,
        mark=_mark(fold, clip),
        change=texts.span(fold.rows),
        interval=texts.interval(texts.outer(fold.rows)),
        **_told(first),
        runs=counts[0] if len(set(counts)) == 1 else "",
        doubt=doubts.counted([row.doubt for row in fold.rows], fold.noun),
        points=fold.points,
    )


_SIGNS: Final[Mapping[str, str]] = {"regressed": "▼", "improved": "▲"}


def _told(row: Row) -> dict[str, str]:
    """Return the verdict, its tone and its sign."""
    tone = "one run" if row.once else row.verdict
    return {"verdict": row.word, "tone": tone, "sign": _SIGNS.get(tone, "")}


def _mark(entry: Entry, clip: float) -> Mark | None:
    """Draw how B does against A: a bar over the interval, a dot at the ratio (of a curve from its least to its largest), an arrow where this
    leaves the axis, and an open one where the bar alone does. One run on a side has no bar."""
    rows = rows_of(entry)
    first = rows[0]
    shifts = [row.decision.shift for row in rows if row.decision.shift is not None]
    bounds = [end for row in rows for end in (row.decision.low, row.decision.high) if end is not None]
    barred = not first.once
    if len(shifts) < len(rows) or (barred and len(bounds) < 2 * len(rows)) or first.better == "neither":
        return None
    sign = -1.0 if first.better == "higher" else 1.0
    least, most = -max(shifts), -min(shifts)
    ends = [-sign * math.log(max(end, 1e-9)) for end in bounds] if barred else [least, most]
    low, high = _x(min(ends), clip), _x(max(ends), clip)
    colour = {"regressed": WORSE, "improved": BETTER}.get(first.verdict, NEITHER) if barred else NEITHER
    middle = HEIGHT / 2
    band = [_x(s * math.log1p(first.decision.threshold), clip) for s in (-1, 1)]
    filled = [(BAND, f"M{_px(band[0])} 1H{_px(band[1])}V{HEIGHT - 1}H{_px(band[0])}z")]
    stroked = [(AXIS, f"M{_px(_x(0, clip))} 0V{HEIGHT}")]
    if barred:
        stroked.append((colour, f"M{_px(low)} {middle}H{_px(high)}"))
    edge = math.log1p(clip)
    gone = [least < -edge, most > edge]
    cut = [
        end and not beyond for end, beyond in zip((min(ends) < -edge, max(ends) > edge), gone, strict=True)
    ]
    for i, (tip, back) in enumerate(((1, 9), (WIDTH - 1, WIDTH - 9))):
        if gone[i]:
            filled.append((colour, f"M{tip} {middle}L{back} {middle - 5}V{middle + 5}z"))
        if cut[i]:
            stroked.append(
                (colour, f"M{back} {middle - 4}L{tip} {middle}L{back} {middle + 4}M{back} {middle}H{tip}")
            )
    if most >= -edge and least <= edge:
        x, x2 = _x(least, clip), _x(most, clip)
        wide = "" if x == x2 else f"h{_px(x2 - x)}"
        back_ = "" if x == x2 else f"h{_px(x - x2)}"
        filled.append(
            (colour, f"M{_px(x - 5)} {middle}a5 5 0 0 1 5 -5{wide}a5 5 0 0 1 0 10{back_}a5 5 0 0 1 -5 -5z")
        )
    said = texts.span(rows) if len(rows) > 1 else texts.shift(first)
    return Mark(
        filled=tuple(filled),
        stroked=tuple(stroked),
        gone=any(gone),
        cut=any(cut),
        said=f"{said}, 95 % interval {texts.interval(texts.outer(rows))}" if barred else said,
    )


def _clip(rows: Sequence[Row]) -> float:
    """Return how far the axis goes: wide enough for four fifths of the rows that changed (of all, if none did)."""
    known = [row for row in rows if row.decision.shift is not None]
    known = [row for row in known if not row.once] or known
    changed = [row for row in known if row.verdict in ("regressed", "improved") and not row.once]
    shifts = sorted(abs(row.decision.shift or 0.0) for row in changed or known)
    if not shifts:
        return _CLIPS[0]
    band = 1.5 * max(math.log1p(row.decision.threshold) for row in known)
    most = max(band, shifts[math.ceil(0.8 * len(shifts)) - 1])
    return next((clip for clip in _CLIPS if most <= math.log1p(clip)), _CLIPS[-1])


def _x(log_ratio: float, clip: float) -> float:
    """Return where a ratio lies (px), clipped to the axis."""
    share = min(1.0, max(-1.0, log_ratio / math.log1p(clip)))
    return WIDTH / 2 + share * (WIDTH / 2 - 6)


def _ticks(clip: float) -> Iterable[tuple[float, str]]:
    """Yield both ends of the axis: a ratio and its inverse, which in per cent are not alike (1.5 times as much is +50 %, as little −33 %)."""
    text = f"{1 + clip:g} ×"
    yield round(_x(-math.log1p(clip), clip), 1), f"{text} worse"
    yield round(_x(math.log1p(clip), clip), 1), f"{text} better"


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _rest(rows: Sequence[Row], needs_differ: bool) -> Table | None:
    if not rows:
        return None
    lines = []
    for row in rows:
        a, b, unit = texts.values(row)
        need = texts.needed([row]) if needs_differ else ""
        word = ", ".join(filter(None, (row.word, need)))
        interval = texts.interval(row.interval)
        lines.append(
            (row.title, unit, a, b, texts.shift(row), interval, f"{len(row.a)} + {len(row.b)}", word)
        )
    return Table(
        columns=("Number", "Unit", "A", "B", "Shift (typical pair)", "95 % interval", "Runs", "Verdict"),
        rows=tuple(lines),
        numeric=frozenset((2, 3, 4, 5, 6)),
        doubts=_doubts(rows),
    )


def _doubts(rows: Sequence[Row]) -> tuple[Mapping[int, str], ...]:
    """Return what doubts the rows of a table, if anything does."""
    return tuple({ROW: row.doubt} if row.doubt else {} for row in rows) if any(r.doubt for r in rows) else ()


def _key_numbers(comparison: Comparison) -> Iterable[KeyNumber]:
    """Give of each sweep's first metric the cell that stands for it (`_standing`), on both sides, with its verdict: at most six, what changed
    most first."""
    first_of = filter(
        None, (next(filter(None, map(_ranked, metrics)), []) for metrics in main_sweeps(comparison))
    )
    standing = sorted(
        ((_standing(first), first) for first in first_of), key=lambda one: _changed_first(one[0])
    )
    for rank, (best, first) in enumerate(standing[:6]):
        a, b, unit = texts.values(best)
        place = ", ".join(filter(None, (best.where, best.number.row)))
        yield KeyNumber(
            name=best.number.title,
            value=f"{a} → {b}",
            unit=unit,
            context="; ".join(filter(None, (place, _changed(first), _changed_beside(first, comparison)))),
            rank=rank,
            runs=(*best.pair.a.runs, *best.pair.b.runs),
            doubt=best.doubt,
            repeats=f"{texts.typical(best)}, {best.word}",
        )


def _changed_first(row: Row) -> tuple[int, float]:
    """Put what regressed first, then what improved, the farthest first; then all else as it was."""
    order = (
        ("regressed", "improved").index(row.verdict)
        if row.verdict in ("regressed", "improved") and not row.once
        else 2
    )
    return order, -abs(row.decision.shift or 0.0) if order < 2 else 0.0


def _standing(rows: Sequence[Row]) -> Row:
    """Return the cell that is A's best of those that regressed; where none did, of those that improved, else of all; and of these of those that
    no check convicts, if there are some."""
    judged = [
        [row for row in rows if row.verdict == word and not row.once] for word in ("regressed", "improved")
    ]
    of = next(filter(None, judged), rows)
    best = max if rows[0].better == "higher" else min
    return best([row for row in of if not row.doubt] or of, key=lambda row: row.median_a)


def _ranked(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that say something of the machine: not the timer alone."""
    return [row for row in rows if numbers.ranked(row.pair.a.runs[0])]


def _changed(rows: Sequence[Row]) -> str:
    """Return "4 of 12 regressed, 1 improved": what the best cell alone does not tell; "" where none is known to have changed."""
    judged = [row for row in rows if not row.once]
    changed = [[row for row in judged if row.verdict == word] for word in ("regressed", "improved")]
    told = [(fmt.count(len(own)), own[0].word) for own in changed if own]
    if not told or len(judged) < 2:
        return ""
    (n, word), *others = told
    return ", ".join([f"{n} of {fmt.count(len(rows))} {word}", *(f"{n} {word}" for n, word in others)])


def _changed_beside(first: Sequence[Row], comparison: Comparison) -> str:
    """Return "of other metrics 6 of 12 regressed", of the sweep's numbers beside its first metric; "" where that regressed, or they did not change."""
    if any(row.verdict == "regressed" for row in first):
        return ""
    of, title = first[0].pair.a, first[0].number.title
    others = [
        row
        for row in comparison.rows
        if (row.pair.a.tool, row.sweep) == (of.tool, of.sweep) and row.number.title != title
    ]
    told = _changed(others)
    return f"of other metrics {told}" if told else ""
