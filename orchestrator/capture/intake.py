"""Import output that was captured by hand. I/O: reads files.

This module reads the texts. `capture.kept` makes cells and runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from orchestrator.capture import cut as text_of
from orchestrator.capture import unread
from orchestrator.capture.sources import Source, sources
from orchestrator.machine.cpulist import named_cpus
from orchestrator.machine.hwloc_xml import topology_from_xml
from orchestrator.machine.synthetic import XML_HINT, is_console
from parsers import DESCRIPTIONS, get_parser, guess_parsers, parse_text, parser_names, table, taken
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.measurement import Parsed, Scalar, Table
from parsers.text import by_host, decode
from parsers.units import number_value

MACHINE: Final = DESCRIPTIONS | {"hwloc"}
"""Tools that describe a machine, not a run. Their output becomes facts of the session."""

TABLE: Final = "table"

_OURS: Final = frozenset(
    "file host session sweep point_id run_id relation program program_version program_sha256 metric unit value source".split()  # noqa: SIM905
)
"""Columns of every table that pinsweep fills itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeOptions:
    """The user's options for the captured texts."""

    tool: str | None = None  # None: guessed, text by text
    axes: Mapping[str, re.Pattern[str]] = field(default_factory=dict)  # searched in the name of each file
    settings: Mapping[str, str] = field(default_factory=dict)  # options for every cell
    columns: tuple[str, ...] = ()  # options for plain tables, per form of report
    # a report: beside these tables what tools themselves printed is read, of whatever tool
    whole: bool = False
    command: str = ""  # the command line that printed it, as it was typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A captured text, with its original bytes."""

    name: str
    tool: str  # a parser's name, or "hwloc"
    data: bytes
    parsed: Parsed
    tables: bool = False  # read as plain tables, not by the tool's own parser
    named: bool = True  # the user named this very file
    host: str = ""  # the host of these lines, if several hosts printed into one file


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A file that was not imported, and the reason.

    `failed`: the user named this file. `missing`: the file does not exist.
    """

    name: str
    reason: str
    failed: bool
    missing: bool = False


def read(names: Iterable[str], asked: IntakeOptions) -> Iterator[Captured | Left]:
    """Yield the texts of all names (files, folders, globs, archives, `-`), one at a time."""
    described: set[str] = set()
    for source in sources(names):
        if source.problem:
            yield Left(name=source.name, reason=source.problem, failed=source.named, missing=source.missing)
            continue
        for host, part in _by_host(source, asked):
            outputs: list[IntakeOptions] = []
            try:
                outputs = _outputs(part, asked)
            except ParseError as error:
                yield _unread(part, error)
            for options in outputs:
                try:
                    yield replace(_read(part, options), named=part.named, host=host)
                except ParseError as error:
                    yield _unread(part, error, f", {options.tool}" if len(outputs) > 1 else "")
            if part.named and not host:
                whole = asked.whole or not asked.tool
                yield from _beside(part, outputs, described) if whole else _others(part, asked)
            del part
        del source  # its bytes, before the next are read


def _beside(part: Source, outputs: Sequence[IntakeOptions], said: set[str]) -> Iterator[Left]:
    """Yield the other content of a text: tables typed by hand, and machine descriptions, from the first text that has
    them (`said` has the tools).
    """
    text = decode(part.data)
    about = [tool for tool in unread.described(text) if tool not in {options.tool for options in outputs}]
    readings = (*outputs, *(IntakeOptions(tool=tool) for tool in about))
    forms = unread.left_out(text, lambda text: [_figures(text, options) for options in readings])
    left = [(form.where, form.reason(part.name)) for form in forms]
    if outputs:
        command = "(pinsweep parse {} " + f"{shlex.quote(part.name)} reads them)"
        what = "they describe the machine, and are not read with results"
        left += [(f"lines of {tool}", f"{what} {command.format(tool)}") for tool in about if tool not in said]
        said.update(about)
    for which, reason in left:
        yield Left(name=f"{part.name}, {which}", reason=reason, failed=False)


def _others(part: Source, asked: IntakeOptions) -> Iterator[Left]:
    """Yield one line about the content of a text that is not of the requested tool or form."""
    text = decode(part.data)
    tool_name = TABLE if asked.columns else asked.tool
    if len(text) > unread.LONGEST or tool_name == "hwloc":
        return
    guessed = guess_parsers(text) if _known(text) else ()
    tools = [tool for tool in dict.fromkeys((*guessed, *unread.described(text))) if tool != tool_name]
    readings = (asked, *(IntakeOptions(tool=tool) for tool in tools))
    forms = unread.left_out(text, lambda text: [_figures(text, options) for options in readings])
    contents = [f"output of {tool}" for tool in tools]
    if contents := [*contents, *(f"{form.called} ({form.where})" for form in forms)]:
        reason = f"not asked for: {', '.join(contents)} (pinsweep parse {shlex.quote(part.name)} says how each is read)"
        yield Left(name=f"{part.name}, the rest", reason=reason, failed=False)


def _figures(text: str, own: IntakeOptions) -> object:
    """Return all content that a reading of a text has, or None."""
    try:
        if own.columns:
            return [table.parse(text, reading).tables for reading in _readings(str(own.tool), own)]
        return parse_text(str(own.tool), text, dict(own.settings)).tables if own.tool != "hwloc" else None
    except ParseError:
        return None


def _by_host(source: Source, asked: IntakeOptions) -> list[tuple[str, Source]]:
    """Separate the output of several hosts in one file: (host, its lines).

    Ranks of one program are not hosts. If only one rank has figures, the file is one text.
    """
    lines_by_host = {} if asked.columns else by_host(source.data)
    known = [host for host, data in lines_by_host.items() if _known(decode(data))]
    if not known or (len(known) == 1 and known[0].startswith("rank ")):
        return [("", source)]
    return [  # a host without figures is reported, but the file has not failed
        (
            host,
            replace(source, name=f"{source.name}, {host}", data=data, named=source.named and host in known),
        )
        for host, data in lines_by_host.items()
    ]


def _known(text: str) -> bool:
    try:
        return bool(guess_parsers(text))
    except ParseError:
        return False


def _unread(part: Source, error: ParseError, which: str = "") -> Left:
    reason = in_words(error) if part.named else str(error)  # one hint per file would be too long
    return Left(name=part.name + which, reason=reason, failed=part.named)


def _outputs(part: Source, asked: IntakeOptions) -> list[IntakeOptions]:
    """Return the readings of a text: one per tool with output in it, then the tables.

    Raises ParseError if there are no readings.
    """
    text = decode(part.data)
    tables = [replace(asked, whole=False)] if asked.columns else []
    if (tables and not asked.whole) or (asked.tool and not tables):
        return [asked]
    if not tables and (is_console(text) or _is_hwloc(text)):
        return [replace(asked, tool="hwloc")]
    try:
        tools = guess_parsers(text)
    except ParseError:
        if not tables:
            raise
        tools = ()
    return [*(of_tool(tool, asked) for tool in tools), *tables]


def of_tool(tool: str, asked: IntakeOptions) -> IntakeOptions:
    """Return the options for the output of one tool.

    In a report with tables, the description of the tables applies only to the tables.
    """
    options = replace(asked, tool=tool, columns=(), whole=False)
    return replace(options, settings={}, command="") if asked.whole else options


def in_words(error: PinsweepError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)


def _read(source: Source, asked: IntakeOptions) -> Captured:
    text, tool = decode(source.data), str(asked.tool)
    if asked.columns:
        parts = [table.parse(text, reading) for reading in _readings(tool, asked)]
        flags = tuple(dict.fromkeys(flag for part in parts for flag in part.flags))
        parsed = replace(parts[0], flags=flags)
    elif tool != "hwloc":
        parsed = parse_text(tool, text, dict(asked.settings))
    elif is_console(text):
        raise ParseError("", "lstopo's text for people, which does not say all", XML_HINT)
    else:
        parsed = _hwloc(text, source.name)
    return Captured(name=source.name, tool=tool, data=source.data, parsed=parsed, tables=bool(asked.columns))


def _readings(tool: str, asked: IntakeOptions) -> list[dict[str, Any]]:
    """Return how each form of table is read."""
    return [
        {"parser": TABLE, "tool": tool, "columns": columns, "labels": _labels(tool, asked.settings),
         "beside": [other for other in asked.columns if other != columns]}
        for columns in asked.columns
    ]  # fmt: skip


def table_cells(item: Captured, asked: IntakeOptions) -> list[tuple[table.TableCell, dict[str, Any]]]:
    """Return the table cells of a text and the way to read each cell. Tables are numbered in text order."""
    text = decode(item.data)
    out = []
    for form in _readings(item.tool, asked):
        columns, *others = (table.read_columns(words, item.tool) for words in (form["columns"], *form["beside"]))
        for cell in table.cells(text, columns, item.tool, text_of.heading_of, others):
            command = asked.command or cell.command
            facts = taken(item.tool).typed(command)
            typed = {name.removeprefix(text_of.OPTION_FACT): str(value) for name, value in facts.items()}
            cell_options = {name: str(value) for name, value in cell.options.items()}
            labels = _labels(item.tool, {**typed, **cell_options, **asked.settings})
            reading = {**form, "labels": labels, "rows": list(cell.rows), "pick": dict(cell.pick)}
            out.append((cell, {**reading, "command": command} if command else reading))
    order = sorted({cell.table for cell, _ in out})
    return [(replace(cell, table=order.index(cell.table)), reading) for cell, reading in out]


def _labels(tool: str, settings: Mapping[str, str]) -> dict[str, str | int | float]:
    """Return the settings that label the tool's rows, and the settings that follow from its options."""
    known = get_parser(tool).LABELS
    labels: dict[str, str | int | float] = {
        name: number_value(value) for name, value in settings.items() if name in known
    }
    follow = taken(tool).labels(settings)
    return {**{name: value for name, value in follow.items() if value is not None}, **labels}


def _is_hwloc(text: str) -> bool:
    return re.match(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE topology[^>]*>\s*)?<topology\b", text) is not None


def _hwloc(text: str, name: str) -> Parsed:
    try:
        topology = topology_from_xml(text, name)
    except UserError as error:
        raise ParseError("hwloc's XML", error.cause, error.hint) from error
    facts: dict[str, Scalar] = dict(topology.numbers())
    if share := topology.share():  # the numbers are of that alone
        facts = {"may_be_used": share, **facts}
    if offline := [pu.os_index for pu in topology.pus if not pu.online]:
        facts = {"offline": named_cpus(offline), **facts}
    rows = tuple((start, end, "distance", "1", float(d)) for (start, end), d in sorted(topology.distances.items()))
    found = Table(columns=("node", "to", "metric", "unit", "value"), rows=rows)
    return Parsed(tables={"measurements": found}, facts=facts)


def intake_options(
    tool: str | None,
    axes: Sequence[str],
    settings: Sequence[str],
    columns: str | Sequence[str],
    command: str,
    whole: bool = False,
) -> IntakeOptions:
    """Return the options that the user typed. Raises UserError for an invalid option."""
    patterns = {}
    for text in axes:
        name, expression = _pair("--axis", text, '--axis "node=(n[0-9]+)"')
        try:
            patterns[name] = re.compile(expression)
        except re.error as error:
            raise UserError("--axis", f"{expression!r} is not a regular expression: {error}") from error
        if patterns[name].groups > 1 and "value" not in patterns[name].groupindex:
            what = f"{expression!r} has {patterns[name].groups} groups"
            raise UserError("--axis", what, "one group is the value; (?:…) is none")
    given = dict(_pair("--set", text, "--set rw=randread") for text in settings)
    if "repeat" in given:
        raise UserError("--set", "all files cannot be the same repeat", '--axis "repeat=run([0-9]+)"')
    forms = tuple(filter(None, (columns,) if isinstance(columns, str) else columns))
    if forms and not tool:
        raise UserError("--tool", "a table does not name its tool", "e.g. --tool stream")
    for form in forms:
        table.read_columns(form, str(tool))
    if tool is not None and tool != "hwloc" and tool not in parser_names():
        get_parser(tool)  # raises
    return IntakeOptions(tool=tool, axes=patterns, settings=given, columns=forms, command=command, whole=whole)


def _pair(option: str, text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not value or not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        raise UserError(option, f"{text!r} is not NAME=VALUE", f"e.g. {example}")
    if name in _OURS:
        what = f"{name!r} is a column that pinsweep fills itself"
        raise UserError(option, what, "take another name, e.g. node for a host")
    return name, value.strip()


def shown(item: Captured, asked: IntakeOptions) -> list[tuple[str, Parsed]]:
    """Return the content of a text as (name, tables) pairs.

    Cells of a table are separate, each with the labels that identify it.
    """
    if not item.tables:
        return [(item.name, item.parsed)]
    results = []
    for cell, reading in table_cells(item, asked):
        words = [cell.heading] if cell.heading else []
        words += [f"place={cell.place}"] if cell.place else []
        words += [f"{name}={value}" for name, value in cell.options.items()]
        results.append((f"{item.name} {' '.join(words)}".strip(), table.parse(decode(item.data), reading)))
    return results
