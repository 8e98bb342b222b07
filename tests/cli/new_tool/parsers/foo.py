"""foo: the time of a message, by size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from parsers.errors import ParseError
from parsers.measurement import Metric, Parsed, Taken, measurements

NAME: Final = "Foo Network Test"
VERSION: Final = 1
PRINTED: Final[Mapping[str, float]] = {"time": 100.0}  # "12.3" µs
LABELS: Final = ("size",)
METRICS: Final[Mapping[str, Metric]] = {"time": Metric(unit="ns", better="lower", text="time of a message")}
TAKEN: Final = Taken(begins=(r"^foo \d",), program=r"\bfoo\b", tells={"count": "count"})

_ROW = re.compile(r"^ *(\d+) B +([\d.]+) us$", re.MULTILINE)


def recognise(text: str) -> bool:
    return text.startswith("foo ")


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:
    rows = [((int(size),), "time", float(time) * 1e3) for size, time in _ROW.findall(text)]
    head = re.search(r"^foo ([\d.]+), (\d+) messages", text, re.MULTILINE)
    if not rows or not head:
        raise ParseError("foo's output", "no line with a time")
    return Parsed(
        tables={"measurements": measurements(LABELS, METRICS, rows)},
        facts={"tool_version": head[1], "program": "foo", "count": int(head[2])},
    )
