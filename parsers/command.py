"""Parse the output of any program by the metrics that the experiment defines: regular expressions or JSON paths.

    metrics:
      bandwidth: {regex: 'rate: ([\\d.]+) MB/s', unit: MB/s, better: higher}
      latency:   {json: 'jobs[0].read["clat ns"].mean', unit: ns, better: lower}

`context["metrics"]` is that mapping. tables["measurements"] has one label, `index`, which counts the matches of a
metric from 0 in text order. tables["printed"] has the last digit of each metric, 0.01 for `12.30`.

A regular expression is searched line by line, and every match counts. The number is group `value`, or group 1. A
pattern sees the whole text only if it contains `\n`, (?s) or (?m). `mistakes` refuses a repeat inside a repeat,
`(a+)+`, because backtracking can take forever. Other patterns are limited to LONGEST_S of CPU time.

A JSON path is keys with dots between, `[0]` or `[-1]` for one element, `[*]` for all, `["any key"]` for keys with dots
or blanks. The parser looks for JSON in the whole text, then from each line that begins with { or [. Every number
counts.

A regular expression with several matches that are not samples gives the flag `several:NAME`. A metric without a match
gives the flag `missing:NAME`. If all metrics are missing, `parse` raises ParseError. METRICS is empty, because the
metrics depend on the context (`metrics_of`).
"""

from __future__ import annotations

import json
import math
import re
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

from parsers import text as texts
from parsers._bounds import MOST_NUMBERS, check_json
from parsers.errors import ParseError, UserError
from parsers.expressions import Path, mistakes, path
from parsers.measurement import Counted, Flag, Metric, Parsed, Scalar, Table
from parsers.units import to_base

NAME: Final = "command"
READS_STDERR = True
VERSION: Final = 4
PRINTED: Final[Mapping[str, float] | None] = None
LABELS: Final = ("index",)
METRICS: Final[Mapping[str, Metric]] = {}

_WHOLE_TEXT = re.compile(r"(?<!\\)(?:\\\\)*\\n|\(\?[a-zA-Z]*[sm]|\n")
_DOCUMENT = re.compile(r"^(?=[{\[])", re.MULTILINE)
_DECODER = json.JSONDecoder(strict=False)
_PIECE: Final = 4096
"""Characters of the first piece in which to search for a JSON value."""
_LONGEST_WORD: Final = 8
"""`false`, or a character that is escaped by its number: an error so near to the end of a piece may be the cut's."""

MOST: Final = MOST_NUMBERS
"""Maximum of numbers from one text."""

_MOST_TOLD: Final = 20
"""Maximum of matches of one metric that get a flag. More matches are samples, as the user expects."""

_MOST_POWER: Final = 290
"""Of ten, for a last digit in base units that is a float."""

LONGEST_S: Final = 5.0
"""CPU time limit of one metric's search in one text. A good pattern reads a megabyte in a few milliseconds."""
_MOST_SEARCHES: Final = 2
"""The time limit of all metrics of a text, as a multiple of the limit of one metric."""


def recognise(text: str) -> bool:  # noqa: ARG001 (part of the contract)
    """Return False, because no text identifies a user's program."""
    return False


def metrics_of(context: Mapping[str, Any]) -> dict[str, Metric]:
    """Return the metrics that a context defines, in base units if there is one (MB/s becomes B/s)."""
    return {
        name: Metric(to_base(spec.get("unit", ""))[1], spec.get("better", "neither"), str(spec.get("text", name)))
        for name, spec in context.get("metrics", {}).items()
    }


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:
    """Return the metrics of `context["metrics"]` that the text contains.

    Raises ParseError if all metrics are missing, UserError if a definition is wrong (see `mistakes`).
    """
    specs = (context or {}).get("metrics") or {}
    if not specs:
        hint = "in an experiment: `fixed: {command: cat FILE, metrics: {name: {regex: …, unit: …}}}`"
        raise ParseError("the program's output", "nothing says which metrics to look for", hint)
    if not isinstance(specs, Mapping):
        raise UserError("metrics", "is not a mapping of metrics", "write them into an experiment")
    if wrong := mistakes(specs):
        raise UserError(f"metrics.{wrong[0][0]}", wrong[0][2])
    cleaned = texts.clean(text)
    documents = _documents(cleaned) if any("json" in spec for spec in specs.values()) else []
    metrics = metrics_of({"metrics": specs})
    series: list[tuple[str, str, list[float]]] = []
    printed: list[tuple[Scalar, ...]] = []
    flags: list[Flag] = []
    count, left_s = 0, _MOST_SEARCHES * LONGEST_S
    for name, spec in specs.items():
        began = time.thread_time()
        with _limited(f"metrics.{name}", spec, min(LONGEST_S, left_s)):
            if "regex" in spec:
                # The raw text is for patterns with text that cleaning removes (indentation, "> ").
                words: list[object] = list(_matches(spec["regex"], cleaned) or _matches(spec["regex"], text))
            else:
                numbers = (value for document in documents for value in _walk(document, path(spec["json"])))
                words = list(islice(numbers, MOST + 1))
        left_s = max(0.001, left_s - (time.thread_time() - began))
        count += len(words)
        if count > MOST:
            hint = "name less of the text, or let the program sum it up"
            raise ParseError(f"metrics.{name}", f"more than {MOST} numbers in one output", hint)
        factor, _ = to_base(spec.get("unit", ""))
        pairs = [(word, _number(word)) for word in words]
        products = ((word, value * factor) for word, value in pairs if value is not None)
        finite = [(word, product) for word, product in products if texts.is_finite(product)]
        if finite:
            series.append((name, metrics[name].unit, [value for _, value in finite]))
            printed.append((name, 10.0 ** min(_last_digit(word) for word, _ in finite) * factor))
        flags += _flags(name, spec, [word for word, value in pairs if value is None], len(finite), len(words))
    if not series:
        if unread := next((flag for flag in flags if flag.id.startswith("not_")), None):
            raise ParseError("the program's output", unread.text)
        sought = "; ".join(f"{name}: {_sought(spec)}" for name, spec in specs.items())
        what = f"no metric was found ({sought}); saw {_most_like(sought, text)}"
        raise ParseError("the program's output", what)
    table = Table((*LABELS, "metric", "unit", "value"), Counted(series))
    return Parsed(
        tables={"measurements": table, "printed": Table(("metric", "step"), tuple(printed))},
        flags=tuple(flags),
    )


def _flags(name: str, spec: Mapping[str, Any], unread: list[object], finite: int, count: int) -> Iterator[Flag]:
    if unread:
        yield Flag(f"not_a_number:{name}", f"{name}: {_no_number(unread[0])}")
    if finite + len(unread) < count:
        yield Flag("not_finite", f"{name}: inf or nan, left out")
    if "regex" in spec and 1 < finite <= _MOST_TOLD:
        each = f"each match is a number of its own, index 0 to {finite - 1}"
        yield Flag(f"several:{name}", f"{name} is in the output {finite} times ({_sought(spec)}): {each}")
    if not finite:
        yield Flag(f"missing:{name}", f"{name} is not in the output ({_sought(spec)})")


def _matches(pattern: str, text: str) -> list[str]:
    compiled = re.compile(pattern)
    group: str | int = "value" if "value" in compiled.groupindex else 1
    parts = [text] if _WHOLE_TEXT.search(pattern) else text.split("\n")
    matches = (match[group] for part in parts for match in compiled.finditer(part))
    return list(islice((word for word in matches if word is not None), MOST + 1))


@contextmanager
def _limited(place: str, spec: Mapping[str, Any], seconds: float) -> Iterator[None]:
    """Limit the CPU time of a search. Raises ParseError beyond the limit. Only the main thread receives the timer
    signal.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        what = f"regular expression `{spec['regex']}`" if "regex" in spec else f"JSON path `{spec['json']}`"
        before_it = "" if seconds == LONGEST_S else ", with the metrics before it"
        cause = f"its {what} found no end in {LONGEST_S:g} s{before_it}"
        raise ParseError(place, cause, "name less of the line, or use possessive repeats (\\w++)")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _walk(value: Any, steps: Path) -> Iterator[object]:  # noqa: ANN401 (JSON)
    """Yield the values at a path. A missing key or element gives no value."""
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
    """Return the JSON values of a text: the whole text, or every value at the beginning of a line.

    Raises ParseError if a value is nested too deeply for Python's JSON reader.
    """
    try:
        return _decoded(text)
    except RecursionError as error:
        raise ParseError("the program's output", "JSON that is nested too deeply to read") from error


def _decoded(text: str) -> list[object]:
    check_json(text)
    try:
        return [_DECODER.decode(text)]
    except ValueError:  # no JSON; or whole numbers with more digits than Python reads
        pass
    values: list[object] = []
    at = 0
    while match := _DOCUMENT.search(text, at):
        try:
            value, at = _document(text, match.end())
        except ValueError:
            at = match.end() + 1
        else:
            values.append(value)
    return values


def _document(text: str, at: int) -> tuple[object, int]:
    """Return the JSON value that begins at `at`, and its end. Raises ValueError without a value.

    The function reads growing pieces of the text. An error of Python's reader counts all previous lines, which takes
    minutes if many thousand lines look like the beginning of a value.
    """
    size = _PIECE
    while True:
        piece = text[at : at + size]
        try:
            value, length = _DECODER.raw_decode(piece)
        except json.JSONDecodeError as error:
            cut = error.msg.startswith("Unterminated string") or error.pos > len(piece) - _LONGEST_WORD
            if not cut or at + size >= len(text):
                raise
            size *= 8
        else:
            return value, at + length


def _number(word: object) -> float | None:
    if isinstance(word, str):
        return float(word) if word.isascii() and word.isdigit() else texts.number(word)
    try:
        return float(word) if isinstance(word, int | float) and not isinstance(word, bool) else None
    except OverflowError:  # a whole number beyond 1e308
        return math.inf


def _last_digit(word: object) -> int:
    """Return the power of ten of the last digit: -2 for "12.30", 0 for "25", 2 for "1.5e3"."""
    if isinstance(word, str) and word.isdigit():
        return 0
    mantissa, _, exponent = texts.with_point(str(word).strip()).lower().partition("e")
    power = float(exponent or 0) - len(mantissa.partition(".")[2])  # of 0e999999, too, which is 0
    return int(min(max(power, -_MOST_POWER), _MOST_POWER))


_WORD: Final = re.compile(r"[A-Za-z_]{2,}")
_LINES_SEEN: Final = 1000


def _most_like(sought: str, text: str) -> str:
    """Return the line with most words of the pattern, which nearly matches, or the first line."""
    wanted = frozenset(_WORD.findall(sought))
    lines = islice(text[:100_000].splitlines(), _LINES_SEEN)
    best = max(lines, key=lambda line: len(wanted.intersection(_WORD.findall(line))), default="")
    return texts.first_line(best if wanted.intersection(_WORD.findall(best)) else text)


def _sought(spec: Mapping[str, Any]) -> str:
    return f"regex `{spec['regex']}`" if "regex" in spec else f"json `{spec['json']}`"


def _no_number(word: object) -> str:
    shown = repr((word if isinstance(word, str) else json.dumps(word))[:40])
    if isinstance(word, str) and re.fullmatch(r"[+-]?[\d.,]{1,40}", word) and "," in word:
        return f"{shown} is ambiguous: a comma may be of thousands or of decimals"
    return f"{shown} is not a number"
