"""Cut a captured text into runs, and read the options of each run. Pure.

A file may hold the output of several commands (`for d in 1 4 8; do fio …; done >> out.txt`). Each command is a separate
cell.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from orchestrator.tools import get_tool, tool_names
from parsers import parse_text, parser_names, taken
from parsers.errors import ParseError
from parsers.measurement import Parsed, Scalar
from parsers.table import typed_command
from parsers.text import clean, decode

OPTION_FACT: Final = "option."
"""Facts whose parser name begins with one of these are options of the run."""

_PROMPT: Final = re.compile(r"^\s*(?:# +)?(?:\S*[$>]|\++|[^\s@]+@\S+[#$%])\s+\S")
_HEADS: Final = re.compile(rf"{_PROMPT.pattern}|^[^\n]*\bCommand\b", re.IGNORECASE)
_HEADING: Final = re.compile(
    r"^[ \t]*(?:#{2,6} +(\S.{0,80})|={2,}+>? *+(\S.{0,80}?) {0,9}<?={2,}|\*\*(\S.{0,80})\*\*:?|\(?(?:[a-z]|\d{1,2})[.)] +(\S.{0,80}))$"
)
_GATHERED: Final = re.compile(
    r"^(-{15,16}|:{14})\n(?P<name>\S{1,80}(?: \(\d+\))?)\n\1$|^(?P<host>\S{1,80}) \| [A-Z]+!? \| rc=\d+ >>$",
    re.MULTILINE,
)
"""Lines that clush -b, dshbak, `more` and ansible print above the output of a host, or above the content of a file."""

_NUMBER: Final = re.compile(r"(?<![\w.])\d[\d.,]*")
_HEAD_LINES: Final = 15
_COUNTING_LABELS: Final = frozenset({"document", "run", "table", "job"})


def cut(tool: str, data: bytes, parsed: Parsed) -> list[bytes]:
    """Return the pieces of a text, one per run. The joined pieces equal the text, byte for byte.

    A text with one run is not cut. A text is not cut if the pieces would change its figures.
    """
    if _runs(tool, parsed) < 2 or b"\0" in data[:200]:
        return [data]
    text = data.decode("latin-1")  # a character a byte: places in the text are places in the file
    lines = [0, *(match.end() for match in re.finditer("\n", text))]
    for view in (*_views(text), text):
        if view.count("\n") != len(lines) - 1:
            continue  # cleaned lines differ from the lines of the file
        for starts in _starts(tool, view):
            at = [lines[view.count("\n", 0, start)] for start in starts]
            pieces = [data[a:b] for a, b in zip(at, [*at[1:], len(data)], strict=True)]
            each = (parse_text(tool, decode(piece), {}) for piece in pieces)  # one in memory at a time
            with contextlib.suppress(ParseError):
                if all(a == b for a, b in zip_longest(_figures(each), _figures([parsed]))):
                    return pieces
    return [data]


def above_parts(tool: str, data: bytes, count: int) -> list[bytes]:
    """Return the lines above each of `count` parts of a text that cannot be cut (lines stored as JSON, web pages,
    UTF-16).

    Headings and commands are read from these lines. If the parts cannot be matched to lines, all parts get the one
    command.
    """
    for view in _views(decode(data)):
        for starts in _starts(tool, view):
            if len(starts) == count:
                return [view[a:b].encode() for a, b in zip(starts, [*starts[1:], len(view)], strict=True)]
    return [data if len(set(_commands(tool, data))) == 1 else b""] * count


def _views(text: str) -> Iterator[str]:
    """Yield a text without line prefixes, then without comment marks."""
    yield (cleaned := _GATHERED.sub(_as_heading, clean(text, ranks=True)))
    if "#" in text and (bare := clean(text, ranks=True, commented=re.compile(""))) != cleaned:
        yield bare


def _as_heading(match: re.Match[str]) -> str:
    blank = "\n\n" if match["name"] else ""  # keeps the number of lines
    return f"== {match['name'] or match['host']} =={blank}"


def _starts(tool: str, text: str) -> Iterator[list[int]]:
    """Yield the first line of each run and the lines above it, for each sign of a beginning.

    The most reliable sign is first.
    """
    for pattern in taken(tool).begins:
        marks = [m.start() for m in re.finditer(pattern, text, re.MULTILINE | re.IGNORECASE)]
        ends = [text.find("\n", at) + 1 for at in marks]  # the lines with which earlier runs begin
        starts = [0, *(_above(tool, text, at, end) for at, end in zip(marks[1:], ends, strict=False))]
        if len(starts := list(dict.fromkeys(starts))) > 1:
            yield starts


def _runs(tool: str, parsed: Parsed) -> int:
    """Return how many runs the text holds."""
    if count := taken(tool).runs:
        return count(parsed)
    for label in ("document", "run"):
        if label in parsed.measurements.columns:
            column = parsed.measurements.columns.index(label)
            return len({row[column] for row in parsed.measurements.rows})
    return 1


def _figures(parts: Iterable[Parsed]) -> Iterator[tuple[Scalar, ...]]:
    """Yield all rows without the labels that only count."""
    for part in parts:
        indexes = [i for i, column in enumerate(part.measurements.columns) if column not in _COUNTING_LABELS]
        for row in part.measurements.rows:
            yield tuple(row[i] for i in indexes)


def _above(tool: str, text: str, start: int, floor: int) -> int:
    """Return the lines above a run that describe the run: the command, the heading, and the words between them.

    The lines end at `floor` and at a line of figures, because figures describe the earlier run. So does a sentence
    directly below figures.
    """
    program = re.compile(taken(tool).program or r"(?!)")
    best, at, right_above = start, start, True
    for _ in range(_HEAD_LINES):
        before = text.rfind("\n", 0, max(at - 1, 0)) + 1
        if at <= floor or before < floor:
            break
        line = text[before : at - 1]
        at = before
        if heading_of(line):
            return before
        right_above = right_above and bool(_HEADS.match(line))
        if right_above or (_PROMPT.match(line) and program.search(line)):
            best = before
        elif len(_NUMBER.findall(line)) > 2:
            break
    return best


def heading_of(line: str) -> str:
    """Return the heading in a line, or "".

    Examples are `### Intersocket`, `=== run 2 ===`, `b. 64 B, reads : writes = 3 : 1`.
    """
    match = _HEADING.match(line.rstrip("\r"))
    return next((group.strip(" *=:#") for group in match.groups() if group), "") if match else ""


def heading(tool: str, data: bytes) -> str:
    """Return the last heading above the run, or "" if there is no heading."""
    text = next(_views(decode(data)))
    flags = re.MULTILINE | re.IGNORECASE
    starts = [match.start() for p in taken(tool).begins if (match := re.search(p, text, flags))]
    above = text[: min(starts)] if starts else ""
    return next((title for line in reversed(above.split("\n")) if (title := heading_of(line))), "")


def refusal(tool: str, parsed: Parsed) -> str:
    """Return the reason for missing figures from the tool's output, or ""."""
    fatal = get_tool(tool).FATAL if tool in tool_names() else ()
    return next((flag.text for flag in parsed.flags if flag.id in fatal and flag.id not in _CUT), "")


_CUT = ("truncated", "no_figures", "empty_table")
"""Flags that say no more than that figures are missing."""


def options(tool: str, parsed: Parsed) -> dict[str, Any]:
    """Return the options of a run from its text, with the tool's names and as an experiment writes them."""
    typed: dict[str, Scalar] = {
        name.removeprefix(OPTION_FACT): value
        for name, value in parsed.facts.items()
        if name.startswith(OPTION_FACT) and value is not None
    }
    typed |= {option: _one(parsed, name) for option, name in taken(tool).tells.items()}
    result = get_tool(tool).captured_options(typed, parsed) if tool in tool_names() else typed
    return {name: value for name, value in result.items() if value is not None}


def defaults(tool: str, options: Mapping[str, Any], parsed: Parsed) -> dict[str, Any]:
    """Return the options that the command line leaves at the tool's defaults.

    The result is empty if the command line is unknown.
    """
    return dict(get_tool(tool).default_options(options, parsed)) if tool in tool_names() else {}


def _one(parsed: Parsed, name: str) -> Scalar:
    """Return the fact of that name, or the value that all rows have of the label."""
    if name not in parsed.measurements.columns:
        return parsed.facts.get(name)
    values = {row.get(name) for row in parsed.measured()}
    return values.pop() if len(values) == 1 else None


def command_of(tool: str, data: bytes, parsed: Parsed) -> tuple[str, ...]:
    """Return the words of the command that printed the text.

    The command is behind a prompt, in quotation marks, or in a line of the tool. Quotes and pipes are words too. Joined
    by blanks, the words are the command as typed.
    """
    if command := next(_commands(tool, data), ()):
        return command
    printed = str(taken(tool).command(parsed) or "")
    words = printed.partition(" ")[2]
    quoted = (line for line in _quoted(tool, data) if words and line.endswith(words))
    return tuple(next(quoted, printed).split(" ")) if printed else ()


def _commands(tool: str, data: bytes) -> Iterator[tuple[str, ...]]:
    """Yield the commands of the tool that follow a prompt."""
    program = re.compile(taken(tool).program or r"(?!)")
    for view in _views(decode(data[:20_000])):
        for line in view.split("\n"):
            match = _prompt().match(line.strip()) if program.search(line) else None
            if match and program.search(match["command"]):
                yield tuple(match["command"].split(" "))


def _quoted(tool: str, data: bytes) -> Iterator[str]:
    """Yield the commands of the tool that are between quotation marks."""
    program = re.compile(taken(tool).program or r"(?!)")
    for line in decode(data[:20_000]).split("\n"):
        if program.search(line) and (command := typed_command(line, program)):
            yield command


_WHERE: Final = re.compile(
    r"\bhwloc-bind(?: +\S+:\S+)+|\bnumactl(?: +-\S+(?: +[\d,-]+)?)+|\btaskset(?: +-\S+)* +\S+|\blikwid-pin(?: +-\S+ +\S+)*"
    r"|\b(?:OMP_PLACES|OMP_PROC_BIND|GOMP_CPU_AFFINITY|KMP_AFFINITY|I_MPI_PIN\w*)[= ]\S+|--(?:map-by|bind-to|cpu-set|cpu-bind)[= ]\S+"
)
"""The words of a command line for the place of the program and its memory."""


def same_but_place(commands: Sequence[Sequence[str]]) -> bool:
    """Return whether all commands are equal except for the place."""
    texts = [" ".join(words) for words in commands]
    remaining = {" ".join(_WHERE.sub("", text).split()) for text in texts}
    return all(texts) and len(set(texts)) > 1 and len(remaining) == 1


def differing(commands: Sequence[Sequence[str]]) -> list[str]:
    """Return the words of each command that are not in every command."""
    common = set(commands[0]).intersection(*commands[1:]) if commands else set()
    return [" ".join(word for word in words if word not in common) for words in commands]


@functools.cache
def _prompt() -> re.Pattern[str]:
    """Match the prompt before a command. The # of root counts only before a possible command of a known tool."""
    programs = "|".join(filter(None, (taken(name).program for name in parser_names())))
    return re.compile(
        rf"^(?:\S*[$>]|\++|[^\s@]+@\S+[#$%]|#(?= *(?:\./|sudo|mpi|numactl|OMP_|{programs})))\s+(?P<command>\S.*)$"
    )
