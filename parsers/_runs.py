"""What a text with several runs says as a whole: the facts they share, the flags that some of them have."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from parsers.measurement import Cell, Flag


def agreed(
    columns: Sequence[str], rows: Sequence[Sequence[Cell]], but: Collection[str] = ()
) -> dict[str, Cell]:
    """Return the columns in which all rows have the same value, and one at all: {column: value}."""
    facts: dict[str, Cell] = {}
    for place, column in enumerate(columns):
        values = {row[place] for row in rows}
        if len(values) == 1 and column not in but:
            facts[column] = values.pop()
    return {name: value for name, value in facts.items() if value is not None}


def collected(
    texts: Mapping[str, str], runs: Sequence[Collection[str]], lines: Mapping[str, Sequence[str]]
) -> tuple[Flag, ...]:
    """Return the flags of all runs once each, in the order of `texts`; the text says which runs have it.

    `lines` are the lines that a flag is about; the first of them is quoted.
    """
    flags = []
    for flag, text in texts.items():
        where = [str(number) for number, run in enumerate(runs, 1) if flag in run]
        if not where:
            continue
        if about := lines.get(flag):
            text += f": {len(about)}, the first {about[0][:60]!r}"
        if len(where) < len(runs):
            text += f" (run {', '.join(where)} of {len(runs)})"
        flags.append(Flag(id=flag, text=text))
    return tuple(flags)
