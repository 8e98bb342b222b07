"""Bound the lines and JSON values of a text, and refuse a larger text before it costs much memory or time.

`parsers.text.why_not_read` bounds the text. All bounds are far above the output of any tool. They keep a reader of 32
MiB below 512 MB and about 10 s.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeVar

from parsers.errors import ParseError

T = TypeVar("T")

PRINT_LESS: Final = "let the program print its result and no more: sums in place of samples, fewer reports on the way"
"""The hint for a text that is too long."""

LARGEST: Final = 32 << 20
"""Bytes of a text that is read: fio's json+ of 1900 jobs (1 s of CPU time), or its normal text of 15 000 (10 s, 500
MB)."""

MOST_LINES: Final = 750_000
"""Maximum of lines. 32 MiB of fio's normal text are 450 000 lines."""

MOST_PARTS: Final = 40_000
"""Maximum of runs, tables, jobs or reports. 90 000 jobs of fio's JSON are 612 MiB."""

MOST_VALUES: Final = 2_500_000
"""Maximum of strings, objects and lists in JSON. 32 MiB of fio's json+ have 1 400 000."""


MOST_ROWS: Final = 350_000
"""Measurements of one text, but for numbers that are only counted: each takes 400 bytes and 10 µs of who compares
them, and 1 KB of who draws them."""

MOST_NUMBERS: Final = 2_000_000
"""Maximum of numbers with only an index. A larger output is raw data and not a result."""


def check_lines(text: str, most: int = 0) -> None:
    """Raise ParseError if the text has more than `most` lines. 0 means MOST_LINES."""
    most = most or MOST_LINES
    if text.count("\n") + text.count("\r") - text.count("\r\n") > most:
        raise ParseError("output", f"more than {most:,} lines are not read one by one", PRINT_LESS)


def has_too_many_values(text: str) -> bool:
    """Return whether JSON in the text has more than MOST_VALUES values."""
    return text.count('"') // 2 + text.count("{") + text.count("[") > MOST_VALUES


def check_json(text: str) -> None:
    """Raise ParseError if JSON in the text has more than MOST_VALUES values."""
    if has_too_many_values(text):
        raise ParseError("output", f"JSON of more than {MOST_VALUES:,} values is not read", PRINT_LESS)


def check_parts(count: int) -> None:
    """Raise ParseError if there are more parts than MOST_PARTS."""
    if count > MOST_PARTS:
        raise ParseError("output", f"more than {MOST_PARTS:,} runs or tables in one text are not read", PRINT_LESS)


class Parts(list[T]):
    """The runs, tables or jobs of a text. A part may take a hundred times the memory of its first line."""

    def append(self, part: T) -> None:
        super().append(part)
        check_parts(len(self))

    def extend(self, parts: Iterable[T]) -> None:
        for part in parts:
            self.append(part)
