"""Collect the facts that all runs of a text share, and the flags of some runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from parsers.measurement import Flag, Parsed, Scalar, Table


def parts(parsed: Parsed) -> list[dict[str, int]]:
    """Return the context for `parse` of each run that has figures. Every such run becomes a cell."""
    place = parsed.measurements.columns.index("run")
    if len({row[place] for row in parsed.measurements.rows}) < 2:
        return [{}]
    return [{"text_run": number + 1} for number in range(len(parsed.tables["runs"].rows))]


def asked_for(context: Mapping[str, Any]) -> int | None:
    """Return the run that a context selects, from 1. None selects all runs. Older result files use `section`."""
    run = context.get("text_run", context.get("section"))
    return run if isinstance(run, int) else None


def part_name(parsed: Parsed) -> str:
    """Return the name of a part: the process or the program that printed it."""
    row = next(iter(parsed.tables["runs"].records()), {})
    return f"rank {row['rank']}" if "rank" in row else str(row.get("program") or "a run")


def table_of(columns: Sequence[str], rows: Sequence[Mapping[str, Scalar]]) -> Table:
    """Return a table with one row per mapping. A missing key is None."""
    return Table(tuple(columns), tuple(tuple(map(row.get, columns)) for row in rows))


def listed(order: Collection[str], flags: Collection[str]) -> str | None:
    """Return flag ids as the text of a table cell, "truncated no_msr". None without flags."""
    return " ".join(flag for flag in order if flag in flags) or None


def typed_number(fact: str, pattern: str) -> Callable[[str], Mapping[str, Scalar]]:
    """Return a function that reads a fact from a command line: the number in the first group of the pattern."""
    search = re.compile(pattern).search
    return lambda command: {fact: int(match[1])} if (match := search(command)) else {}


def agreed(
    rows: Sequence[Mapping[str, Scalar]], columns: Sequence[str], but: Collection[str] = ()
) -> dict[str, Scalar]:
    """Return {column: value} for the columns in which all rows have the same value."""
    values = {column: {row.get(column) for row in rows} for column in columns if column not in but}
    return {c: value for c, same in values.items() if len(same) == 1 and (value := same.pop()) is not None}


def collected(
    texts: Mapping[str, str], runs: Sequence[Collection[str]], lines: Mapping[str, Sequence[str]]
) -> tuple[Flag, ...]:
    """Return the flags of all runs in the order of `texts`, without duplicates. The text lists the flagged runs.

    `lines` are the lines that caused a flag. The first line is quoted.
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
        flags.append(Flag(flag, text))
    return tuple(flags)
