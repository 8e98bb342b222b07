"""A comparison for a terminal: all of it in the width of a screen, 80 columns of plain text in a pipe. Pure."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from reports.checks.doubts import LEGEND, mark
from reports.checks.doubts import counted as counted_doubts
from reports.compare import text as texts
from reports.compare.doubted import without
from reports.compare.folds import Entry, Fold, lines_of, rows_of
from reports.compare.model import Comparison, Row, called
from reports.draw.figure import MARK
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.columns import cut
from reports.text.columns import wrapped as columns_wrapped
from reports.text.screen import PLAIN, Screen, shortened
from reports.text.screen import table as fitted_table
from reports.verdicts.model import Verdict

Wrapped = Callable[..., list[str]]
"""`reports.text.columns.wrapped` of one width."""

_NAME: Final = 10
"""Characters that the name of a number has at least beside its interval: on a narrower terminal there is no interval."""

_TOP: Final[dict[Verdict, int]] = {"regressed": 20, "inconclusive": 6, "same": 0, "improved": 10}
_VERDICTS: Final[tuple[Verdict, ...]] = ("regressed", "improved", "inconclusive", "same")
_CHANGED: Final = _VERDICTS[:2]
_MOST_ABSENT: Final = 8
_MOST_MODES: Final = 10
_MOST_ONCE: Final = 20
_MOST_MATCHED: Final = 6


def table(
    comparison: Comparison,
    *,
    top: int | None = None,
    everything: bool = False,
    only_changed: bool = False,
    screen: Screen = PLAIN,
) -> str:
    """Return the comparison for a terminal, ends without a line end.

    top: rows of each verdict that are listed (else as in _TOP; the rest is counted); everything: no limit;
    only_changed: neither the same nor the inconclusive ones.
    """
    wrapped = _wrapping(screen)
    head, comparison = texts.sentence(comparison), without(comparison)
    out = [*_sides(comparison, wrapped), "", *wrapped(head)]
    if lines := texts.failed(comparison):
        out += ["", f"failed ({fmt.plural(len(lines), 'cell')})"]
        out += _first(lines, None if everything else _MOST_ABSENT, wrapped)
    out += _differences(comparison, wrapped)
    out += _rows(comparison, top, everything=everything, only_changed=only_changed, screen=screen)
    if comparison.modes:
        out += ["", "modes that moved"]
        out += _first(
            [*map(texts.mode_shift, comparison.modes)], None if everything else _MOST_MODES, wrapped
        )
    if groups := texts.absent(comparison.unmatched):
        out += ["", f"not compared ({texts.alone(comparison.unmatched)})"]
        reasons = [group.text for group in groups]
        out += _first(reasons, None if everything else _MOST_ABSENT, wrapped, "more reason")
    if comparison.matched:
        out += ["", *_matched(comparison, wrapped, None if everything else _MOST_MATCHED)]
    if MARK in head or any(row.doubt for row in comparison.rows):
        out += ["", LEGEND]
    out += ["", *wrapped(texts.noise(comparison))]
    return "\n".join(out).rstrip()


def _wrapping(screen: Screen) -> Wrapped:
    return functools.partial(columns_wrapped, width=screen.width, whole=True)


def _first(texts: Sequence[str], most: int | None, wrapped: Wrapped, noun: str = "") -> Iterable[str]:
    """Yield the first of some texts, and how many more there are."""
    for text in texts[:most]:
        yield from wrapped(text, first="  ")
    if most is not None and (left := len(texts) - most) > 0:
        yield f"  and {fmt.plural(left, noun) if noun else f'{left} more'} (--all lists them)"


def _sides(comparison: Comparison, wrapped: Wrapped) -> Iterable[str]:
    yield from wrapped(texts.side(comparison.a), first="A  ")
    yield from wrapped(texts.side(comparison.b), first="B  ")
    for text in texts.measured_again(comparison):
        yield from wrapped(text)
    for text in comparison.across:
        yield from wrapped(f"Different programs: {text}. Their numbers differ on one and the same machine.")
    if comparison.backwards:
        yield from wrapped(f"{comparison.backwards}.")
    for text in comparison.clocks:
        yield from wrapped(f"A clock was set: {text}.")


def _rows(
    comparison: Comparison, top: int | None, *, everything: bool, only_changed: bool, screen: Screen
) -> list[str]:
    """Return the rows of each verdict, and those of one run on a side, under a line that says what their columns are; nothing of none."""
    wrapped = _wrapping(screen)
    folds = screen.terminal and not everything  # into a pipe a number a line
    known, entries, listed = lines_of(comparison, folds=folds), list[Entry](), list[str]()
    for verdict in _CHANGED if only_changed else _VERDICTS:
        most = None if everything else top if top is not None else _TOP[verdict]
        if verdict != "same" or most != 0:
            word = called(verdict, one_machine=comparison.one_machine)
            entries += known.of[verdict]
            listed += _listed(word, known.of[verdict], most, screen, known.echoing.get(verdict, 0))
        if verdict == "inconclusive":
            for text in texts.needs(comparison.of(verdict)):
                listed += wrapped(text, first="  ")
    if comparison.once and not only_changed:
        most = None if everything else top if top is not None else _MOST_ONCE
        entries += known.once
        listed += _listed("one run on a side, no verdict", known.once, most, screen)
    if not listed:
        return []
    several = any(isinstance(entry, Fold) for entry in entries)
    of_several = "; of several numbers their range, without medians" if several else ""
    return ["", *wrapped(f"{texts.shown_as(comparison)} of A → B{of_several}:"), *listed]


def _matched(comparison: Comparison, wrapped: Wrapped, most: int | None) -> Iterable[str]:
    for text in texts.matched(comparison)[:most]:
        yield from wrapped(f"{text}.")
    if most is not None and (left := [*comparison.matched.values()][most:]):
        yield f"and {fmt.plural(sum(left), 'more such cell')} (--all lists them)"


def _differences(comparison: Comparison, wrapped: Wrapped) -> Iterable[str]:
    found = comparison.fingerprint
    if found.differences:
        yield ""
        yield "differs"
        widest = max(len(d.what) for d in found.differences)
        for d in found.differences:
            yield from wrapped(f"{d.a} → {d.b}", first=f"  {d.what:<{widest}}  ")
    if found.unknown:
        yield ""
        yield from wrapped(f"Not recorded on both sides: {', '.join(found.unknown)}.")


def _listed(
    title: str, entries: Sequence[Entry], most: int | None, screen: Screen, echoing: int = 0
) -> Iterable[str]:
    """Yield the entries, those of one sweep, metric and unit under one head, on one scale; groups in the order of their first row."""
    if not entries:
        return
    shown = entries if most is None else entries[:most]
    yield ""
    yield f"{title} ({fmt.count(_numbers(entries) + echoing)})"
    apart = texts.needs_differ(row for entry in entries for row in rows_of(entry))
    by_metric = group_by(shown, lambda e: (rows_of(e)[0].sweep, _metric(e), rows_of(e)[0].unit))
    for (sweep, metric, _), own in by_metric.items():
        members = [row for entry in own for row in rows_of(entry)]
        unit = members[0].number.said_unit
        scale = fmt.scale_for([v for row in members for v in (row.median_a, row.median_b)], unit)
        unit_text = f", {scale.unit}" if scale.unit else ""
        counts = {texts.runs(row) for row in members}
        common = f"; {counts.pop()}" if len(counts) == 1 else ""
        yield (
            shortened(f"  {sweep}: {metric}{unit_text} ({texts.direction(members[0])}{common})", screen.width)
            if screen.terminal
            else cut(f"  {sweep}: {metric}{unit_text} ({texts.direction(members[0])}{common})")
        )
        rows = [
            _of_fold(entry, need) if isinstance(entry, Fold) else
            (
                texts.change(entry.change, entry.interval), texts.interval(entry.interval), scale.number(entry.median_a, 4, step=entry.step), "→",
                scale.number(entry.median_b, 4, step=entry.step),
                " ".join(filter(None, (", ".join(filter(None, (entry.options, entry.number.row))), _aside(entry, "" if common else texts.runs(entry), need)))),
            )
            for entry in own
            for need in [texts.needed(rows_of(entry)) if apart else ""]
        ]  # fmt: skip
        if all(isinstance(entry, Fold) for entry in own):
            lines = fitted_table([(by, ends, said) for by, ends, *_, said in rows], screen, right=frozenset((0, 1)), indent=4, give=2, spare=(1,), least=_NAME)  # fmt: skip
        else:
            lines = fitted_table(
                rows, screen, right=frozenset((0, 1, 2, 4)), indent=4, give=5, spare=(1,), least=_NAME
            )
        yield from lines
    if left := _numbers(entries[len(shown) :]):
        yield f"    and {fmt.count(left)} more (--all lists them)"
    if echoing:
        yield f"    and {fmt.plural(echoing, 'derived number that says', 'derived numbers that say')} the same (--all lists them)"


def _metric(entry: Entry) -> str:
    return entry.metric if isinstance(entry, Fold) else entry.number.title


def _numbers(entries: Iterable[Entry]) -> int:
    return sum(len(rows_of(entry)) for entry in entries)


def _of_fold(fold: Fold, need: str) -> tuple[str, ...]:
    doubt = counted_doubts([row.doubt for row in fold.rows], fold.noun)
    said = f"{'; '.join(filter(None, (fold.options, fold.points, need)))}{mark(doubt)}"
    return texts.span(fold.rows), texts.interval(texts.outer(fold.rows)), "", "", "", said


def _aside(row: Row, runs: str, need: str) -> str:
    said = ", ".join(filter(None, (texts.of_medians(row), runs, need)))
    return f"{f'({said})' if said else ''}{mark(row.doubt)}".strip()
