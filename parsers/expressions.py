"""Check the metrics that an experiment defines by regular expressions or JSON paths, before any run starts.

`parsers.command` reads with these expressions. A plan only checks them. docs/parsers/command.md defines the syntax.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from re import _constants as ops  # type: ignore[attr-defined] # the pattern parser of re.compile
from re import _parser as patterns  # type: ignore[attr-defined]
from typing import Any, Final

from parsers.errors import nearest

KEYS: Final[Mapping[str, str]] = {
    "regex": "what finds it in the output: its first group, or the group `value`, is the number",
    "json": "its path in JSON that the program prints: jobs[0].read.iops",
    "unit": "as it is printed: s, us, MB/s, MiB, 1/s, W …",
    "better": "which way is better; neither: it is not compared",
    "text": "what pages call it; else its name",
}
"""The keys of a metric, with descriptions."""

DIRECTIONS: Final = ("higher", "lower", "neither")
_TAKEN: Final = frozenset(("index", "metric", "unit", "value"))  # columns of the table
_STEP = re.compile(r"""\[(?:(?P<all>\*)|(?P<index>-?\d+)|"(?P<quoted>[^"]*)")\]|(?P<dot>\.)?(?P<key>[^.\[\]"]+)""")

Path = tuple[str | int | None, ...]
"""Steps into a JSON value: a key, an index, None for every element."""


def mistakes(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return (metric, key, error) for every mistake. A name is "" if the mistake concerns no single metric or key."""
    if not metrics:
        what = "no metric is named; one is `seconds: {regex: 'took ([\\d.]+) s', unit: s, better: lower}`"
        return [("", "", what)]
    return [(str(name), *mistake) for name, spec in metrics.items() for mistake in _wrong(str(name), spec)]


def _wrong(name: str, spec: object) -> Iterator[tuple[str, str]]:
    if not re.fullmatch(r"[A-Za-z_][\w.-]*", name) or name in _TAKEN:
        yield (
            "",
            "is not a valid metric name: letters, digits, _ . -, and none of " + ", ".join(sorted(_TAKEN)),
        )
    if not isinstance(spec, Mapping):
        yield "", f"is {spec!r} and should be a mapping such as {{regex: …, unit: …}}"
        return
    for key in spec:
        if key not in KEYS:
            near = nearest(str(key), KEYS)
            hint = f"; {near}" if near else f" ({', '.join(KEYS)})"
            yield str(key), f"does not know {str(key)!r}{hint}"
    if ("regex" in spec) == ("json" in spec):
        yield "", "needs either `regex` or `json`" + (", not both" if "regex" in spec else "")
    if "regex" in spec and (what := _wrong_regex(spec["regex"])):
        yield "regex", what
    if "json" in spec:
        try:
            path(spec["json"])
        except ValueError as error:
            yield "json", str(error)
    if not isinstance(spec.get("unit", ""), str):
        yield "unit", f"has the unit {spec['unit']!r}, which is not a text"
    if spec.get("better", "neither") not in DIRECTIONS:
        yield "better", f"has better: {spec['better']!r}; it is one of {', '.join(DIRECTIONS)}"


def _wrong_regex(pattern: object) -> str:
    if not isinstance(pattern, str):
        return f"has the regular expression {pattern!r}, which is not a text (quote it)"
    return _wrong_pattern(pattern)


@functools.cache  # checked before and after every run
def _wrong_pattern(pattern: str) -> str:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        return f"has a regular expression that does not compile: {error.msg}{at}: `{pattern}`"
    except (RecursionError, OverflowError) as error:
        return f"has a regular expression that does not compile: {error}"
    if not compiled.groups:
        return f"needs a group around the number in its regular expression `{pattern}`, such as `rate: ([\\d.]+)`"
    if _repeats_a_repeat(patterns.parse(pattern)):
        return (
            f"repeats a repeat in its regular expression, which can take forever: `{pattern}`; "
            "a possessive repeat inside, as in (\\d++,)+, gives nothing back and is safe"
        )
    return ""


def _repeats_a_repeat(tree: Any, *, repeated: bool = False) -> bool:  # noqa: ANN401 (re has no types for it)
    """Return whether a pattern has a variable repeat inside an unlimited repeat, so that both can backtrack.

    A node is (operator, argument), and the argument contains lists of nodes. Possessive repeats and atomic groups match
    once and never backtrack.
    """
    for operator, argument in tree:
        inside = repeated
        if operator in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            low, high, _ = argument
            if repeated and high > max(low, 1):
                return True
            inside = repeated or high is ops.MAXREPEAT
        elif operator in (ops.POSSESSIVE_REPEAT, ops.ATOMIC_GROUP, ops.ASSERT, ops.ASSERT_NOT):
            inside = False
        if any(_repeats_a_repeat(part, repeated=inside) for part in _parts(argument)):
            return True
    return False


def _parts(argument: object) -> Iterator[Any]:
    """Yield the lists of nodes in an argument: of a group, or of every branch."""
    if isinstance(argument, patterns.SubPattern):
        yield argument
    elif isinstance(argument, tuple | list):
        for item in argument:
            yield from _parts(item)


@functools.lru_cache(maxsize=256)
def path(text: object) -> Path:
    """Return the keys of a JSON path.

    >>> path('a.b[0].c')
    ('a', 'b', 0, 'c')
    >>> path('["99.0"][*]')
    ('99.0', None)

    Raises ValueError with the position of the first wrong character.
    """
    if not isinstance(text, str) or not text:
        raise ValueError(f"has the JSON path {text!r}, which is not one; one is 'jobs[0].read.iops'")
    steps: list[str | int | None] = []
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        if step is None or (step["key"] and (step["dot"] is not None) != bool(steps)):
            raise ValueError(f"has a JSON path that is none from character {at + 1} on: {text!r}")
        if step["key"]:
            steps.append(step["key"])
        elif step["quoted"] is not None:
            steps.append(step["quoted"])
        else:
            steps.append(None if step["all"] else int(step["index"]))
        at = step.end()
    return tuple(steps)
