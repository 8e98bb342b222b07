"""foo's table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from parsers.measurement import Parsed, whole
from reports.readings import reading


class Message(NamedTuple):
    """One line: the time of a message."""

    size: int | None  # B
    time: float  # ns


@reading(Message)
def messages(parsed: Parsed) -> Iterator[Message]:
    """The messages, in the order of the text."""
    for row in parsed.measured():
        yield Message(whole(row.get("size")), row.value)
