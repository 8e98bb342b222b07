"""Tables of plain text: columns that fit into a line, and what of their axes is left out for it. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from reports.text.columns import WIDTH, cut, wrapped
from reports.text.names import cut_apart, of_letters

_LEAST_NUMBER = 30
_LEAST_NAME = 20


def columns(
    rows: Sequence[tuple[str, ...]], indent: int = 2, *, fitted: bool = False, width: int = WIDTH
) -> list[str]:
    """Align in columns of `width` characters together; the widest column gives way first, if they are not `fitted` yet. Of indented ones,
    tables of numbers, the last goes on below, so that none is cut."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))] if rows else []
    if widths:
        last = min(widths[-1], _LEAST_NUMBER) if indent else widths[-1]
        over = indent + sum(widths[:-1]) + last + 2 * (len(widths) - 1) - width
        if over > 0 and indent and not fitted:
            longest = max(range(len(widths) - 1), key=lambda i: widths[i]) if len(widths) > 1 else 0
            widths[longest] = max(12, widths[longest] - over)
    out = []
    for row in rows:
        cells = [cut(cell, wide).ljust(wide) for cell, wide in zip(row[:-1], widths[:-1], strict=True)]
        head = " " * indent + "".join(f"{cell}  " for cell in cells)
        room = width - len(head)
        wraps = indent and len(row[-1]) > room >= _LEAST_NUMBER // 2
        lines = wrapped(row[-1], width=room) if wraps else [cut(row[-1], max(room, 1))]
        out += [
            f"{head if i == 0 else ' ' * len(head)}{line}".rstrip() for i, line in enumerate(lines or [""])
        ]
    return out


def width_of(rows: Sequence[tuple[str, ...]]) -> int:
    return sum(max(len(row[i]) for row in rows) + 2 for i in range(len(rows[0])))


def fitted(
    rows: Sequence[tuple[str, ...]], axes: Sequence[str], texts: Sequence[str], width: int
) -> tuple[list[tuple[str, ...]], list[str], list[str]]:
    """Return the rows of a table, its axes and those of them that are left out, so that every row has its number and is told from the
    others. Cells that are a text each are called by it; of what does not tell the cells apart the last axes give way, then names are
    cut where they are alike."""
    table = [list(row) for row in rows]
    kept = list(axes)
    if len({*texts}) == len(texts) > 1:
        if "source" in kept:
            table = [[cell for i, cell in enumerate(row) if i != kept.index("source")] for row in table]
            kept.remove("source")
        table = [[name, *row] for name, row in zip(("text", *texts), table, strict=True)]
        kept = ["text", *kept]
    number = len(kept)
    rest = sum(max(len(row[i]) for row in table) + 2 for i in range(number + 1, len(table[0])))
    least = min(_LEAST_NUMBER, max(len(row[number]) for row in table))

    def room(columns: int) -> int:
        return width - 2 - least - rest - 2 * columns

    def told(columns: Sequence[int]) -> int:
        return len({tuple(row[i] for i in columns) for row in table[1:]})

    shown = list(range(number))
    widths = [max(len(row[i]) for row in table) for i in range(number)]
    for i in reversed(range(number)):
        fits = sum(min(widths[c], _LEAST_NAME) for c in shown) <= room(len(shown))
        others = [c for c in shown if c != i]
        if not fits and told(others) == told(range(number)):
            shown = others
    while (over := sum(widths[c] for c in shown) - room(len(shown))) > 0:
        widest = max(shown, key=lambda c: widths[c])
        if widths[widest] <= 6:
            break
        widths[widest] = max(6, widths[widest] - max(1, over // len(shown)))
    for c in shown:
        names = cut_apart((row[c] for row in table[1:]), of_letters(widths[c]))
        for row in table[1:]:
            row[c] = names[row[c]]
    hidden = [c for c in range(number) if c not in shown]
    beside = _told_beside(table, hidden, [c for c in shown if kept[c] != "text"])
    short = {c: cut_apart((row[c] for row in table[1:]), of_letters(_LEAST_NAME)) for c in hidden}
    for row, own in zip(table[1:], beside, strict=True):
        row[number] += "".join(f"; {kept[c]}={short[c][row[c]]}" for c in own)
    told_of = set(itertools.chain(*beside))
    return (
        [tuple(row[i] for i in (*shown, *range(number, len(row)))) for row in table],
        [kept[c] for c in shown],
        [kept[c] for c in hidden if c not in told_of],
    )


def _told_beside(
    table: Sequence[Sequence[str]], hidden: Sequence[int], shown: Sequence[int]
) -> list[list[int]]:
    """Return for each row below the heads which of the hidden columns stand behind its number: those by which it differs from rows that look
    like it; of rows that all look different those in which they differ."""
    alike: dict[tuple[str, ...], list[Sequence[str]]] = {}
    for row in table[1:]:
        alike.setdefault(tuple(row[c] for c in shown), []).append(row)
    every = len(alike) == len(table) - 1

    def of(row: Sequence[str]) -> list[int]:
        others = table[1:] if every else alike[tuple(row[c] for c in shown)]
        values = {tuple(other[c] for other in others): c for c in reversed(hidden)}  # jobs is numjobs
        return sorted(c for own, c in values.items() if row[c] and len({*own} - {""}) > 1)

    return [of(row) for row in table[1:]]
