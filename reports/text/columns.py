"""Text for a terminal of 80 columns: wrapped, cut or in columns side by side; nothing in it that a terminal would obey. Pure."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reports.text import format as fmt
from reports.text.plain import printable

WIDTH: Final = 80
GAP = "  "


def wrapped(
    text: str, *, first: str = "", rest: str | None = None, width: int = WIDTH, whole: bool | None = None
) -> list[str]:
    """Return the lines of a text, `first` before the first of them and `rest` (None: as many blanks) before the others.

    A word longer than a line is not cut, as names and paths are copied; in a column, narrower than the terminal, it is (`whole` says
    otherwise). A number and its unit stay together.
    """
    head = printable(first)
    lines = textwrap.wrap(
        re.sub(fmt.BEFORE_UNIT, _GLUE, printable(text)), width, initial_indent=head,
        subsequent_indent=" " * len(head) if rest is None else rest, break_long_words=width < WIDTH if whole is None else not whole, break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace(_GLUE, " ") for line in lines]


_GLUE: Final = "\0"  # which no printable text has


def cut(text: str, width: int = WIDTH) -> str:
    """Return a text as one line of no more than `width` characters, "…" in the place of what is left out."""
    text = printable(text.replace("\n", " "))
    return text if len(text) <= width else text[: width - 1] + "…"


def cut_apart(names: Iterable[str], width: int) -> dict[str, str]:
    """Return name → its form of no more than `width` characters: cut in its middle, without what it shares with names that would look
    the same; at last with a number."""
    distinct = list(dict.fromkeys(names))
    found = {name: _middle(name, width) for name in distinct}
    for same in _alike(found):
        long = [name for name in same if len(name) > width]
        head, tail = (_shared(ends) for ends in (long, [name[::-1] for name in long]))
        for name in long:
            rest = name[head : max(len(name) - tail, head + 1)]
            found[name] = _words(name, head, len(name) - tail, width) or _middle(
                f"…{rest}{'…' if len(name) - tail > head else ''}", width
            )
    for name in (name for same in _alike(found) for name in same if len(name) > width):
        forms = (f"{found[name][: width - len(str(n)) - 1]}~{n}" for n in itertools.count(1))
        found[name] = next(form for form in forms if form not in found.values())
    return found


def _words(name: str, start: int, end: int, width: int) -> str:
    """Return the words of a name that lie between two places, with what fits of its beginning: "loaded late…delay 100…"; "" where there is no
    room for them."""
    first = name.rfind(" ", 0, start) + 1
    last = name.find(" ", max(end, start + 1))
    last = len(name) if last < 0 else last
    told = f"{name[first:last].rstrip(' ,;:')}{'…' if last < len(name) else ''}"
    room = width - len(told)
    if first <= room:
        return f"{name[:first]}{told}"
    before = name.rfind(" ", 0, max(first - 1, 0)) + 1  # "delay" of "delay 100"
    if before > 0 and first - before + 5 <= room:
        told, room = f"{name[before:first]}{told}", room - (first - before)
    return f"{name[: room - 1].rstrip()}…{told}" if room >= 1 and " " in name else ""


def _shared(names: Sequence[str]) -> int:
    """Return with how many letters all names begin."""
    return sum(1 for _ in itertools.takewhile(lambda at: len(set(at)) == 1, zip(*names, strict=False)))


def _alike(found: Mapping[str, str]) -> list[list[str]]:
    """Return the names that look the same."""
    by_form: dict[str, list[str]] = {}
    for name, form in found.items():
        by_form.setdefault(form, []).append(name)
    return [same for same in by_form.values() if len(same) > 1]


def _middle(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def columns(
    rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset(), indent: int = 0
) -> list[str]:
    """Return a line per row, cells padded to their column's width, those in `right` to the left of their edge.

    Nothing is cut: a name that is cut cannot be copied.
    """
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [
        max(len(row[i]) for row in shown if i < len(row)) for i in range(max(map(len, shown), default=0))
    ]
    return [
        (
            " " * indent
            + GAP.join(
                cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(row)
            )
        ).rstrip()
        for row in shown
    ]
