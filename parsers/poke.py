"""Parse poke, pinsweep's kernel for the distribution of single operations, from JSON (docs/kernels.md).

`measurements` has one row per figure:

    target     str   "memory" | "file" | "null" | "compute" | "files"; None for what concerns the timer
    op         str   "read" | "write" | "write+fence" | "none" | a compute loop: "empty" | "muladd" | "sine"; None also of time_per_byte,
                     which fills the array or the file in order before anything is accessed
    statistic  str   of latency: "mean" | "sd" | "min" | "max" | "p1" … "p99.9999", as many as the samples allow;
                     of time_per_byte: "sequential" | "first touch"; of time_per_iteration: "mean"; else None
    metric     str   see METRICS

A latency is the difference between two time stamps and includes the timer's cost, `timer_overhead`.

Further tables, all in ns:

    histogram  target, op, low, high, count   log-linear buckets low <= t < high, at most 1 % wide; sums to all samples
    largest    target, op, rank, at, value    the longest samples, longest first, and when each began

Facts are tool_version and timer. A text with one document also has bytes, block, count, direct, fsync, pages and
huge_bytes.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parsers._bounds import check_json
from parsers.errors import ParseError
from parsers.measurement import Flag, Metric, Parsed, Scalar, Table, Taken, measurements
from parsers.text import clean

NAME: Final = "pinsweep poke"
VERSION: Final = 3
PRINTED: Final[Mapping[str, float]] = {}  # whole nanoseconds: their clock's resolution is a number of its own

LABELS: Final = ("target", "op", "statistic")

METRICS: Final[Mapping[str, Metric]] = {
    "latency": Metric("ns", "lower", "latency of one operation"),
    "timer_overhead": Metric("ns", "lower", "time an empty operation takes"),
    "timer_resolution": Metric("ns", "lower", "how far apart the values of the timer come"),
    "time_per_byte": Metric("ns/B", "lower", "time per byte, written in order"),
    "time_per_iteration": Metric("ns", "lower", "time per turn of the loop"),
    "total_time": Metric("ns", "lower", "time of all operations together"),
}

_START: Final = '{"program": "pinsweep poke"'

_COMMENTED: Final = re.compile(r"^[ \t]*#[ \t]*\{", re.MULTILINE)

_DAMAGED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a document raises that is not poke's: a key or an element that is missing, text for a number, a list for a
text."""

_STATISTICS: Final = (("mean_ns", "mean"), ("sd_ns", "sd"), ("min_ns", "min"), ("max_ns", "max"))
_PER_BYTE: Final = (("sequential_ns_per_byte", "sequential"), ("first_touch_ns_per_byte", "first touch"))

_Row = tuple[tuple[Scalar, ...], str, float]

_OPTIONS: Final = ("bytes", "block", "count", "direct", "fsync", "pages", "files", "target", "op")
TAKEN: Final = Taken(program=r"\bpoke\b", tells={name: name for name in _OPTIONS})


def recognise(text: str) -> bool:
    """Return whether the text contains a poke document."""
    return _START in text


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:  # noqa: ARG001
    """Return the figures of every poke document in the text. Raises ParseError for an incomplete document."""
    documents = list(_documents(clean(text, ranks=True, commented=_COMMENTED)))
    try:
        return _tables(documents)
    except _DAMAGED as error:
        what = f"not what poke {documents[0].get('version', '')} prints: {error!r}"
        raise ParseError("poke output", what) from error


def _documents(text: str) -> Iterator[dict[str, Any]]:
    at = text.find(_START)
    if at < 0:
        raise ParseError("poke output", f"no document that begins with {_START}")
    check_json(text)
    while at >= 0:
        try:
            document, end = json.JSONDecoder().raw_decode(text, at)
        except json.JSONDecodeError as error:
            place, what = f"poke output, line {error.lineno}", f"the document is cut or damaged: {error.msg}"
            raise ParseError(place, what, "the run was interrupted, or its output was not kept whole") from error
        except (ValueError, RecursionError) as error:  # whole numbers of 5000 digits, lists in lists in lists
            raise ParseError("poke output", f"the document is damaged: {error}") from error
        yield document
        at = text.find(_START, end)


def _tables(documents: list[dict[str, Any]]) -> Parsed:
    rows: list[_Row] = []
    histogram: list[tuple[Scalar, ...]] = []
    largest: list[tuple[Scalar, ...]] = []
    flags: dict[str, Flag] = {}
    for document in documents:
        timer = document["timer"]
        rows.append(((None, None, None), "timer_overhead", timer["overhead_ns"]))
        rows.append(((None, None, None), "timer_resolution", timer["resolution_ns"]))
        for result in document["results"]:
            target, op = str(result["target"]), str(result["op"])
            buckets = result["histogram"]
            if sum(bucket[2] for bucket in buckets) != result["count"]:
                raise ValueError(f"the histogram does not hold the {result['count']} samples")
            rows.extend(_figures(target, op, result))
            histogram += [(target, op, _ns(low), _ns(high), int(n)) for low, high, n in buckets]
            longest = enumerate(result["largest"], 1)
            largest += [(target, op, rank, _ns(at), _ns(value)) for rank, (value, at) in longest]
            flags |= {flag.id: flag for flag in _flags(result, timer["overhead_ns"])}
    return Parsed(
        tables={
            "measurements": measurements(LABELS, METRICS, rows),
            "histogram": Table(("target", "op", "low", "high", "count"), tuple(histogram)),
            "largest": Table(("target", "op", "rank", "at", "value"), tuple(largest)),
        },
        flags=tuple(flags.values()),
        facts=_facts(documents),
    )


def _ns(value: float) -> float:
    """Return a time of a histogram. Raises ValueError for NaN, which Python's JSON reader accepts and poke never
    prints.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} for a time")
    return float(value)


def _figures(target: str, op: str, result: Mapping[str, Any]) -> Iterator[_Row]:
    for key, statistic in _STATISTICS:
        yield (target, op, statistic), "latency", result[key]
    for share, value in result["quantiles_ns"].items():
        yield (target, op, f"p{float(share) * 100:.7g}"), "latency", value
    for key, statistic in _PER_BYTE:
        if result[key] is not None:
            yield (target, None, statistic), "time_per_byte", result[key]
    if "ns_per_iteration" in result:
        yield (target, op, "mean"), "time_per_iteration", result["ns_per_iteration"]
    if "total_ns" in result:
        yield (target, op, None), "total_time", result["total_ns"]


def _flags(result: Mapping[str, Any], overhead_ns: float) -> Iterator[Flag]:
    if count := result["clock_backwards"]:
        yield Flag("clock_backwards", f"the timer ran backwards {count} times: those samples count as 0")
    median = result["quantiles_ns"].get("0.5")
    pokes = result["target"] == "compute" or (result["target"] != "null" and result["bytes"] > 0)
    if pokes and median is not None and overhead_ns > median / 2:
        what = f"the timer takes {overhead_ns:.3g} ns of a median of {median:.3g} ns"
        yield Flag("timer_limited", f"{what}: the operation is not resolved")


def _facts(documents: list[dict[str, Any]]) -> dict[str, Scalar]:
    first = documents[0]
    facts: dict[str, Scalar] = {"program": "poke", "tool_version": str(first["version"])}
    facts["timer"] = str(first["timer"]["name"])
    if len(documents) == 1:
        result = first["results"][0]
        keys = [(first, key) for key in ("seed", "direct", "fsync", "pages", "huge_bytes")]
        keys += [(result, key) for key in ("bytes", "block", "count", "iterations", "files")]
        facts |= {key: _fact(source[key]) for source, key in keys if key in source}
        if window := first.get("window"):
            facts |= {"window_offset": _fact(window[0]), "window_length": _fact(window[1])}
    return facts


def _fact(value: object) -> Scalar:
    if not isinstance(value, str | int | float | None):
        raise TypeError(f"{value!r} for one value")
    return value
