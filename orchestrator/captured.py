"""What a captured text is made of: where each run of it begins, which options it tells. Pure.

A file may hold what several commands printed (`for d in 1 4 8; do fio …; done >> out.txt`): each is a cell of its own.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, Final

from orchestrator.tools import get_tool, tool_names
from parsers import get_parser, parser_names, taken
from parsers.errors import ParseError
from parsers.measurement import Cell, Parsed
from parsers.text import clean, decode

OPTION_FACT: Final = "option."
"""Facts of a parser whose name starts so are options of the run that printed the text."""

_HEADS: Final = re.compile(r"^\s*(?:\S*[$>]|\++|\S+@\S+[#$%])\s+\S|^[^\n]*\bCommand\b", re.IGNORECASE)
_COUNTING_LABELS: Final = frozenset({"document", "run", "table", "job"})


def cut(tool: str, data: bytes, parsed: Parsed) -> list[bytes]:
    """Cut a text into what each of its runs printed; the pieces together are the text, byte for byte.

    It stays whole where one run is all there is, and where the pieces do not say exactly what the whole says.
    """
    if _runs(tool, parsed) < 2 or b"\0" in data[:200]:
        return [data]
    text = data.decode("latin-1")  # a character a byte: places in the text are places in the file
    for pattern in taken(tool).begins:
        starts = [_above(text, m.start()) for m in re.finditer(pattern, text, re.MULTILINE | re.IGNORECASE)]
        starts = [0, *(s for s in dict.fromkeys(starts[1:]) if s > 0)]
        if len(starts) < 2:
            continue
        pieces = [data[a:b] for a, b in zip(starts, [*starts[1:], len(data)], strict=True)]
        each = (get_parser(tool).parse(decode(piece), {}) for piece in pieces)  # one in memory at a time
        with contextlib.suppress(ParseError):
            if all(a == b for a, b in zip_longest(_figures(each), _figures([parsed]))):
                return pieces
    return [data]


def _runs(tool: str, parsed: Parsed) -> int:
    """Return how many runs the text holds."""
    if count := taken(tool).runs:
        return count(parsed)
    for label in ("document", "run"):
        if label in parsed.measurements.columns:
            column = parsed.measurements.columns.index(label)
            return len({row[column] for row in parsed.measurements.rows})
    return 1


def _figures(parts: Iterable[Parsed]) -> Iterator[tuple[Cell, ...]]:
    """Yield all rows without the labels that only count."""
    for part in parts:
        kept = [i for i, column in enumerate(part.measurements.columns) if column not in _COUNTING_LABELS]
        for row in part.measurements.rows:
            yield tuple(row[i] for i in kept)


def _above(text: str, start: int) -> int:
    """Take the lines right above that belong to the run: prompts with the command, a blank line before them."""
    while start > 0:
        before = text.rfind("\n", 0, start - 1) + 1
        if not _HEADS.match(text[before : start - 1]):
            return start
        start = before
    return start


def told(tool: str, parsed: Parsed) -> dict[str, Any]:
    """Return what the text tells of the options of its run, under the tool's own names and as an experiment writes them."""
    given: dict[str, Cell] = {
        name.removeprefix(OPTION_FACT): value
        for name, value in parsed.facts.items()
        if name.startswith(OPTION_FACT) and value is not None
    }
    given |= {option: _one(parsed, name) for option, name in taken(tool).tells.items()}
    module = get_tool(tool) if tool in tool_names() else None
    found = module.told(given, parsed) if module is not None and hasattr(module, "told") else given
    return {name: value for name, value in found.items() if value is not None}


def _one(parsed: Parsed, name: str) -> Cell:
    """Return the fact of that name, or the value that all rows have of the label."""
    if name not in parsed.measurements.columns:
        return parsed.facts.get(name)
    values = {row.get(name) for row in parsed.measured()}
    return values.pop() if len(values) == 1 else None


def command_of(tool: str, data: bytes, parsed: Parsed) -> tuple[str, ...]:
    """Return the command that printed the text, as words, where the text tells it: behind a prompt, or in a line of the tool.

    Kept as it was typed: quotes and pipes are words too.
    """
    program = re.compile(taken(tool).program or r"(?!)")
    for line in clean(decode(data[:20_000])).split("\n"):
        if not program.search(line):
            continue
        match = _prompt().match(line.strip())
        if match and program.search(match["command"]):
            return tuple(match["command"].split())
    return tuple(str(taken(tool).command(parsed) or "").split())


@functools.cache
def _prompt() -> re.Pattern[str]:
    """What stands before a command: a shell's prompt, or the # of root's before what can be a command of ours."""
    programs = "|".join(filter(None, (taken(name).program for name in parser_names())))
    return re.compile(
        rf"^(?:\S*[$>]|\++|\S+@\S+[#$%]|#(?= *(?:\./|sudo|mpi|numactl|OMP_|{programs})))\s+(?P<command>\S.*)$"
    )
