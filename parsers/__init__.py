"""Parse the text of a benchmark into tidy tables. The package reads no files and starts no processes.

`parsers.measurement` is the contract. A parser is found by the name of its module, so there is no list to edit.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from parsers import extensions
from parsers.errors import ParseError, PinsweepError, UserError

if TYPE_CHECKING:  # errors are in this package, so that printing a message does not load the whole vocabulary
    from parsers.measurement import Metric, Parsed, Taken

DESCRIPTIONS = frozenset({"lscpu", "numactl"})
"""Parsers of machine descriptions, which are not output of a run."""

_VOCABULARY = frozenset({"errors", "expressions", "extensions", "frames", "measurement", "units", "text"})


class Parser(Protocol):
    """A module with the names that `parsers.measurement` requires."""

    NAME: str
    PRINTED: Mapping[str, float] | None
    VERSION: int
    LABELS: tuple[str, ...]
    METRICS: Mapping[str, Metric]

    def recognise(self, text: str) -> bool: ...

    def parse(self, text: str, context: Mapping[str, Any] = ...) -> Parsed: ...


@functools.cache
def parser_names() -> tuple[str, ...]:
    """Return the names of all parsers, sorted."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(n for n in names if n not in _VOCABULARY and not n.startswith("_")))


@functools.cache
def get_parser(name: str) -> Parser:
    """Return the parser of a tool. Raises UserError if there is none of that name."""
    if name not in parser_names():
        known = f"parsers: {', '.join(parser_names())}"
        raise UserError(name, "no parser of that name", extensions.why_not(name) or known)
    return cast("Parser", importlib.import_module(f"{__name__}.{name}"))


def parse_text(name: str, text: str, context: Mapping[str, Any]) -> Parsed:
    """Return the tables that the named parser reads. Raises ParseError, also if the parser of an extension fails."""
    try:
        return get_parser(name).parse(text, context)
    except PinsweepError:
        raise
    except Exception as error:
        raise ParseError("", _broken_down(error)) from error


def taken(name: str) -> Taken:
    """Return the rules by which a tool's captured texts are imported. Raises UserError for an unknown parser."""
    from parsers.measurement import Taken

    rules: Taken = getattr(get_parser(name), "TAKEN", Taken())
    return rules


def reads_stderr(name: str) -> bool:
    """Return whether a tool prints figures on standard error."""
    return bool(getattr(get_parser(name), "READS_STDERR", False))


def text_to_parse(name: str, stdout: bytes, stderr: bytes, logs: bytes = b"") -> str:
    """Return the text that a parser reads from the raw output of a run.

    The text is standard output. Standard error follows if the parser's module has `READS_STDERR = True`, then the log
    files of the run. Raises ParseError if the output is too large for a result, or is not text.
    """
    from parsers.text import decode, why_not_read

    data = b"\n".join([stdout, *([stderr] if reads_stderr(name) else []), *([logs] if logs else [])])
    if why := why_not_read(data):
        raise ParseError("output", why)
    return decode(data)


def _looks(text: str) -> Iterator[str]:
    """Yield a text unchanged, then unwrapped, then without comment marks."""
    from parsers.text import clean

    yield text
    if (cleaned := clean(text)) != text:
        yield cleaned
    if "#" in text and (bare := clean(text, commented=re.compile(""))) != cleaned:
        yield bare


def _recognised(text: str) -> list[str]:
    """Return the parsers that recognise a text. Raises ParseError if there is no such parser and an extension
    failed.
    """
    names, broken_down = [], ""
    for name in parser_names():
        try:
            names += [name] * bool(get_parser(name).recognise(text))
        except Exception as error:
            broken_down = _broken_down(error)
    if broken_down and not names:
        raise ParseError("", broken_down)
    return names


def _broken_down(error: Exception) -> str:
    """Return the error text for the parser of an extension. Re-raises an error of pinsweep."""
    extension = extensions.of_error(error)
    if not extension:
        raise error
    return f"the parser of {extension[0]} broke down: {extensions.what_is_wrong(error)}"


def guess_parsers(text: str) -> tuple[str, ...]:
    """Return the names of the parsers that recognise the text. Raises ParseError if no parser does.

    A report gives every tool whose output it contains. lscpu and numactl do not count next to a benchmark, because job
    scripts print machine data first.
    """
    if names := next(filter(None, map(_recognised, _looks(text))), []):
        return tuple([name for name in names if name not in DESCRIPTIONS] or names)
    for kin in (kin for name in parser_names() for kin in taken(name).not_yet):
        if re.search(kin.known_by, text, re.MULTILINE | re.IGNORECASE):
            raise ParseError("", f"the output of {kin.name}, which is not read yet", kin.hint)
    first = next((line.strip()[:60] for line in text.splitlines() if line.strip()), "")
    what = repr(first)
    # a parser without metrics needs the metrics of an experiment, or --columns
    named = ", ".join(name for name in parser_names() if name in DESCRIPTIONS or get_parser(name).METRICS)
    hint = (
        f"name the tool: {named}; of another program: numbers in columns can be read with --columns (docs/parsing.md)"
    )
    if not first:
        what = "nothing but blanks" if text else "the file is empty"
        hint = "a tool that is killed, or writes to standard error, leaves such a file: capture it again"
    elif "\0" in text:
        what, hint = "a binary file", "give the text that the tool printed, or an archive of such texts"
    raise ParseError("", f"not the output of a known tool: {what}", hint)
