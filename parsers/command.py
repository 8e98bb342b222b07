"""Any program: the metrics that the experiment names, found by regular expressions or in JSON.

    metrics:
      bandwidth: {regex: 'rate: ([\\d.]+) MB/s', unit: MB/s, better: higher}
      latency:   {json: 'jobs[0].read["clat ns"].mean', unit: ns, better: lower}

`context["metrics"]` is that mapping. tables["measurements"] has one label, `index`: the matches of one metric,
counted from 0 in the order of the text. tables["printed"] has the last digit of each metric: 0.01 of `12.30`.

A regular expression is searched line by line, every match counts; group `value`, else group 1, is the number. Only a
pattern with `\\n` in it, or with (?s) or (?m), sees the whole text. Backtracking can take longer than anybody lives:
what gives itself away, a repeat inside a repeat, `(a+)+`, is refused (`problems`); the rest gets LONGEST_S of CPU time.

A JSON path is keys with dots between, `[0]` or `[-1]` for one element, `[*]` for all, `["any key"]` for keys with dots
or blanks. JSON is looked for in the whole text, then from each line that begins with { or [ (documents one after the
other, JSON lines, a document between other lines): every number found counts.

A metric that is not found is a flag `missing:NAME`; if none is, that is a ParseError. METRICS is empty: what a text
holds is known only with its context, see `metrics_of`.
"""

from __future__ import annotations

import json
import math
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from typing import Any, Final

from parsers import text as texts
from parsers.errors import ParseError, UserError
from parsers.expressions import Path, path, problems
from parsers.measurement import Flag, Metric, Parsed, Scalar, Table, measurements
from parsers.units import to_base

NAME: Final = "command"
READS_STDERR = True
VERSION: Final = 2
PRINTED: Final[Mapping[str, float] | None] = None
LABELS: Final = ("index",)
METRICS: Final[Mapping[str, Metric]] = {}

_WHOLE_TEXT = re.compile(r"(?<!\\)(?:\\\\)*\\n|\(\?[a-zA-Z]*[sm]|\n")
_DOCUMENT = re.compile(r"^(?=[{\[])", re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False)

LONGEST_S: Final = 5.0
"""CPU time of one metric's search in one text. A sound pattern reads a megabyte in some milliseconds."""


def recognise(text: str) -> bool:  # noqa: ARG001 (part of the contract)
    """Never: no text says which program of the user's printed it."""
    return False


def metrics_of(context: Mapping[str, Any]) -> dict[str, Metric]:
    """Return the metrics that a context names. Units are base units where there is one: MB/s becomes B/s."""
    return {
        name: Metric(
            unit=to_base(spec.get("unit", ""))[1],
            better=spec.get("better", "neither"),
            text=str(spec.get("text", name)),
        )
        for name, spec in context.get("metrics", {}).items()
    }


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:
    """Find the metrics of `context["metrics"]` in the text.

    Raises ParseError if none of them is there; UserError if the metrics themselves are wrong (see `problems`).
    """
    specs = (context or {}).get("metrics") or {}
    if not specs:
        hint = "in an experiment: `fixed: {metrics: {name: {regex: …, unit: …}}}`"
        raise ParseError("the program's output", "nothing says which metrics to look for", hint)
    if wrong := problems(specs):
        raise UserError(f"metrics.{wrong[0][0]}", wrong[0][1])
    cleaned = texts.clean(text)
    documents = _documents(cleaned) if any("json" in spec for spec in specs.values()) else []
    rows: list[tuple[tuple[int], str, float]] = []
    printed: list[tuple[Scalar, ...]] = []
    flags: list[Flag] = []
    for name, spec in specs.items():
        if "regex" in spec:
            # The raw text is for patterns that name what the cleaning takes off (indentation, "> ").
            with _limited(f"metrics.{name}", spec["regex"]):
                words: list[object] = list(_matches(spec["regex"], cleaned) or _matches(spec["regex"], text))
        else:
            words = [value for document in documents for value in _walk(document, path(spec["json"]))]
        factor, _ = to_base(spec.get("unit", ""))
        values = [_number(word) for word in words]
        finite = [value for value in values if value is not None and value - value == 0]
        rows += [((index,), name, value * factor) for index, value in enumerate(finite)]
        digits = [
            10.0 ** _last_digit(word) for word, value in zip(words, values, strict=True) if value in finite
        ]
        printed += [(name, min(digits) * factor)] if digits else []
        if unread := [word for word, value in zip(words, values, strict=True) if value is None]:
            flags.append(Flag(id=f"not_a_number:{name}", text=f"{name}: {_shown(unread[0])} is not a number"))
        if len(finite) + len(unread) < len(words):
            flags.append(Flag(id="not_finite", text=f"{name}: inf or nan, left out"))
        if not finite:
            flags.append(Flag(id=f"missing:{name}", text=f"{name} is not in the output ({_sought(spec)})"))
    if not rows:
        sought = "; ".join(f"{name}: {_sought(spec)}" for name, spec in specs.items())
        raise ParseError(
            "the program's output", f"no metric was found ({sought}); saw {texts.first_line(text)}"
        )
    return Parsed(
        tables={
            "measurements": measurements(LABELS, metrics_of({"metrics": specs}), rows),
            "printed": Table(columns=("metric", "step"), rows=tuple(printed)),
        },
        flags=tuple(flags),
    )


def _matches(pattern: str, text: str) -> list[str]:
    compiled = re.compile(pattern)
    group: str | int = "value" if "value" in compiled.groupindex else 1
    parts = [text] if _WHOLE_TEXT.search(pattern) else text.split("\n")
    return [found[group] for part in parts for found in compiled.finditer(part) if found[group] is not None]


@contextmanager
def _limited(place: str, pattern: str) -> Iterator[None]:
    """Give a search LONGEST_S of CPU time. Raises ParseError beyond it. Only the main thread has a clock to be woken by."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        cause = f"its regular expression {pattern!r} found no end in {LONGEST_S:g} s"
        raise ParseError(place, cause, "name less of the line, or use possessive repeats (\\w++)")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _walk(value: Any, steps: Path) -> Iterator[object]:  # noqa: ANN401 (JSON)
    """Yield what the path leads to: nothing where a key or an element is not there."""
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if step is None and isinstance(value, list | dict):
        for inner in value if isinstance(value, list) else value.values():
            yield from _walk(inner, rest)
    elif isinstance(step, str) and isinstance(value, dict):
        if step in value:
            yield from _walk(value[step], rest)
    elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
        yield from _walk(value[step], rest)


def _documents(text: str) -> list[object]:
    """Return the JSON values of a text: the whole text, or every one that begins at the beginning of a line.

    Raises ParseError if one is nested too deeply for Python's own reader.
    """
    try:
        return _decoded(text)
    except RecursionError as error:
        raise ParseError("the program's output", "JSON that is nested too deeply to read") from error


def _decoded(text: str) -> list[object]:
    try:
        return [_DECODER.decode(text)]
    except ValueError:  # no JSON; or whole numbers with more digits than Python reads
        pass
    found: list[object] = []
    at = 0
    while match := _DOCUMENT.search(text, at):
        try:
            value, at = _DECODER.raw_decode(text, match.end())
        except ValueError:
            at = match.end() + 1
        else:
            found.append(value)
    return found


def _number(word: object) -> float | None:
    if isinstance(word, str):
        return texts.number(word)
    try:
        return float(word) if isinstance(word, int | float) and not isinstance(word, bool) else None
    except OverflowError:  # a whole number beyond 1e308
        return math.inf


def _last_digit(word: object) -> int:
    """Return the power of ten of a number's last digit: -2 of "12.30", 0 of "25", 2 of "1.5e3"."""
    exponent = Decimal(texts.with_point(str(word).strip())).as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _sought(spec: Mapping[str, Any]) -> str:
    return f"regex {spec['regex']!r}" if "regex" in spec else f"json {spec['json']!r}"


def _shown(word: object) -> str:
    text = word if isinstance(word, str) else json.dumps(word)
    return repr(text[:40])
