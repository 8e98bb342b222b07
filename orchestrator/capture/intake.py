"""Take in output that was captured by hand, and make runs of it. I/O.

Each text becomes a cell, or several where several commands printed it. What it tells of the options (fio's job options,
MLC's -W and -l, STREAM's threads), what the user adds (`IntakeOptions`), and nothing else makes the cell, so that reports group
captured runs as they group runs of pinsweep's own. Texts that tell the same are told apart by `source`, their file, unless
the user says that they are repeats.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.capture import cut as text_of
from orchestrator.capture import unread
from orchestrator.capture.sources import Source, sources
from orchestrator.machine.cpulist import named_cpus
from orchestrator.machine.hwloc_xml import topology_from_xml
from orchestrator.machine.synthetic import XML_HINT, is_console
from orchestrator.model import UNRECORDED_HOST, Capture, Cell, Place, PlannedRun, RunRecord
from orchestrator.store.cache import dump_parsed
from orchestrator.store.result_file import (
    ResultFile,
    StoredCell,
    StoredExperiment,
    create_result,
    open_begun,
)
from orchestrator.store.rows import LARGEST
from parsers import DESCRIPTIONS, get_parser, guess_parsers, parser_names, table, taken
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.measurement import Parsed, Scalar, Table
from parsers.text import by_host, decode
from parsers.units import number_value

MACHINE: Final = DESCRIPTIONS | {"hwloc"}
"""What is printed about a machine, not by a run: facts of the session."""

TABLE: Final = "table"

_OURS: Final = frozenset(
    {
        "file", "host", "session", "sweep", "point_id", "run_id", "relation", "program", "program_version", "program_sha256",
        "metric", "unit", "value", "source",
    }
)  # fmt: skip
"""Columns of every table that pinsweep fills itself."""

_MAIN: Final = ("rw", "bs", "iodepth", "numjobs", "mode", "W", "l", "threads", "array_size", "benchmark", "np", "target", "bytes", "test")  # fmt: skip
"""Options that tell a person which cell it is, in the order in which they are said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeOptions:
    """What the user says about the texts."""

    tool: str | None = None  # None: guessed, text by text
    axes: Mapping[str, re.Pattern[str]] = field(default_factory=dict)  # searched in the name of each file
    settings: Mapping[str, str] = field(default_factory=dict)  # of every cell
    columns: tuple[str, ...] = ()  # of the plain tables of the tool, one description for each form
    whole: bool = (
        False  # a report: beside these tables what tools themselves printed is read, of whatever tool
    )
    command: str = ""  # the command line that printed it, as it was typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A text that was read: its bytes are kept as they are."""

    name: str
    tool: str  # a parser's name, or "hwloc"
    data: bytes
    parsed: Parsed
    tables: bool = False  # read as plain tables, not by the tool's own parser
    named: bool = True  # the user named this very file
    host: str = ""  # whose lines these are, where several hosts printed into one file


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A file that was not taken, and why. `failed`: the user asked for this very file; `missing`: there is none."""

    name: str
    reason: str
    failed: bool
    missing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What `store` did: runs that are new, runs that the file held already, what the user should know."""

    added: int
    known: int
    notes: tuple[str, ...]
    left: tuple[Left, ...]
    machine: int = 0  # of the texts, those about a machine: no runs
    described: bool = False  # what they say stands beside the runs now


def read(names: Iterable[str], asked: IntakeOptions) -> Iterator[Captured | Left]:
    """Read every text that the names stand for (files, folders, globs, archives, `-`), one at a time."""
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
            for own in outputs:
                try:
                    yield replace(_read(part, own), named=part.named, host=host)
                except ParseError as error:
                    yield _unread(part, error, f", {own.tool}" if len(outputs) > 1 else "")
            if part.named and not host:
                whole = asked.whole or not asked.tool
                yield from _beside(part, outputs, described) if whole else _others(part, asked)
            del part
        del source  # its bytes, before the next are read


def _beside(part: Source, outputs: Sequence[IntakeOptions], said: set[str]) -> Iterator[Left]:
    """Yield what stands in a text beside what was read of it: tables that somebody typed; what describes the machine, of the first text
    that has it (`said` has those tools)."""
    text = decode(part.data)
    about = [tool for tool in unread.described(text) if tool not in {own.tool for own in outputs}]
    readings = (*outputs, *(IntakeOptions(tool=tool) for tool in about))
    forms = unread.left_out(text, lambda text: [_figures(text, own) for own in readings])
    found = [(form.where, form.reason(part.name)) for form in forms]
    if outputs:
        found += unread.descriptions([tool for tool in about if tool not in said], part.name)
        said.update(about)
    for which, reason in found:
        yield Left(name=f"{part.name}, {which}", reason=reason, failed=False)


def _others(part: Source, asked: IntakeOptions) -> Iterator[Left]:
    """Yield in one line what a text holds beside the output of the one tool, or the form of table, that was asked for."""
    text = decode(part.data)
    own = TABLE if asked.columns else asked.tool
    if len(text) > unread.LONGEST or own == "hwloc":
        return
    guessed = guess_parsers(text) if _known(text) else ()
    tools = [tool for tool in dict.fromkeys((*guessed, *unread.described(text))) if tool != own]
    readings = (asked, *(IntakeOptions(tool=tool) for tool in tools))
    forms = unread.left_out(text, lambda text: [_figures(text, one) for one in readings])
    found = [f"output of {tool}" for tool in tools]
    if found := [*found, *(f"{form.called} ({form.where})" for form in forms)]:
        reason = f"not asked for: {', '.join(found)} (pinsweep parse {shlex.quote(part.name)} says how each is read)"
        yield Left(name=f"{part.name}, the rest", reason=reason, failed=False)


def _figures(text: str, own: IntakeOptions) -> object:
    """Return all that a reading of a text finds; None where it finds nothing."""
    try:
        if own.columns:
            return [table.parse(text, reading).tables for reading in _readings(str(own.tool), own)]
        return (
            get_parser(str(own.tool)).parse(text, dict(own.settings)).tables if own.tool != "hwloc" else None
        )
    except ParseError:
        return None


def _by_host(source: Source, asked: IntakeOptions) -> list[tuple[str, Source]]:
    """Take apart what several hosts printed into one file: (host, its lines). Ranks of one program are no hosts: where only one
    of them has figures, the file is one text."""
    found = {} if asked.columns else by_host(source.data)
    known = [host for host, data in found.items() if _known(decode(data))]
    if not known or (len(known) == 1 and known[0].startswith("rank ")):
        return [("", source)]
    return [
        (
            host,
            replace(source, name=f"{source.name}, {host}", data=data, named=source.named and host in known),
        )
        for host, data in found.items()  # a host without figures is said, and is no failure of the file
    ]


def _known(text: str) -> bool:
    try:
        return bool(guess_parsers(text))
    except ParseError:
        return False


def _unread(part: Source, error: ParseError, which: str = "") -> Left:
    # a hint for each of a hundred files helps nobody
    return Left(name=part.name + which, reason=_said(error) if part.named else str(error), failed=part.named)


def _outputs(part: Source, asked: IntakeOptions) -> list[IntakeOptions]:
    """Return how a text is read: once for each tool whose output it holds, then for the tables. Raises ParseError if it holds none."""
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
    return [*(_of_tool(tool, asked) for tool in tools), *tables]


def _of_tool(tool: str, asked: IntakeOptions) -> IntakeOptions:
    """Return what was said of the output of a tool: of a report with tables, what describes these is said of them alone."""
    own = replace(asked, tool=tool, columns=(), whole=False)
    return replace(own, settings={}, command="") if asked.whole else own


def _said(error: PinsweepError) -> str:
    return f"{error} ({error.hint})" if error.hint else str(error)


def _read(source: Source, asked: IntakeOptions) -> Captured:
    text = decode(source.data)
    if asked.columns:
        tool = str(asked.tool)
        parsed = [table.parse(text, reading) for reading in _readings(tool, asked)]
        flags = tuple(dict.fromkeys(flag for one in parsed for flag in one.flags))
        return Captured(
            name=source.name, tool=tool, data=source.data, parsed=replace(parsed[0], flags=flags), tables=True
        )
    tool = str(asked.tool)
    if tool == "hwloc":
        if is_console(text):
            raise ParseError("", "lstopo's text for people, which does not say all", XML_HINT)
        return Captured(name=source.name, tool=tool, data=source.data, parsed=_hwloc(text, source.name))
    return Captured(
        name=source.name, tool=tool, data=source.data, parsed=get_parser(tool).parse(text, dict(asked.settings))
    )  # fmt: skip


def _readings(tool: str, asked: IntakeOptions) -> list[dict[str, Any]]:
    """Return how each form of table is read."""
    return [
        {"parser": TABLE, "tool": tool, "columns": columns, "labels": _labels(tool, asked.settings),
         "beside": [other for other in asked.columns if other != columns]}
        for columns in asked.columns
    ]  # fmt: skip


def _table_cells(item: Captured, asked: IntakeOptions) -> list[tuple[table.TableCell, dict[str, Any]]]:
    """Return each cell of the tables of a text, and how it is read; the tables are counted in the order of the text."""
    text = decode(item.data)
    out = []
    for form in _readings(item.tool, asked):
        columns, *others = (
            table.read_columns(words, item.tool) for words in (form["columns"], *form["beside"])
        )
        for cell in table.cells(text, columns, item.tool, text_of.heading_of, others):
            command = asked.command or cell.command
            told = {
                name.removeprefix(text_of.OPTION_FACT): str(value)
                for name, value in taken(item.tool).typed(command).items()
            }
            own = {name: str(value) for name, value in cell.options.items()}
            labels = _labels(item.tool, {**told, **own, **asked.settings})
            reading = {**form, "labels": labels, "rows": list(cell.rows), "pick": dict(cell.pick)}
            out.append((cell, {**reading, "command": command} if command else reading))
    order = sorted({cell.table for cell, _ in out})
    return [(replace(cell, table=order.index(cell.table)), reading) for cell, reading in out]


def _labels(tool: str, settings: Mapping[str, str]) -> dict[str, str | int | float]:
    """Return the settings that are labels of the tool's rows, and those that follow from its options."""
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
    rows = tuple(
        (start, end, "distance", "1", float(d)) for (start, end), d in sorted(topology.distances.items())
    )
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
    """Read what the user typed. Raises UserError for what cannot be meant."""
    patterns = {}
    for text in axes:
        name, expression = _pair("--axis", text, '--axis "node=(n[0-9]+)"')
        try:
            patterns[name] = re.compile(expression)
        except re.error as error:
            raise UserError("--axis", f"{expression!r} is not a regular expression: {error}") from error
        if patterns[name].groups > 1 and "value" not in patterns[name].groupindex:
            raise UserError(
                "--axis", f"{expression!r} has {patterns[name].groups} groups", "one group is the value; (?:…) is none"
            )  # fmt: skip
    given = dict(_pair("--set", text, "--set rw=randread") for text in settings)
    if "repeat" in given:
        raise UserError("--set", "all files cannot be the same repeat", '--axis "repeat=run([0-9]+)"')
    forms = tuple(filter(None, (columns,) if isinstance(columns, str) else columns))
    if forms and not tool:
        raise UserError("--tool", "a table does not say whose numbers it holds", "e.g. --tool stream")
    for form in forms:
        table.read_columns(form, str(tool))
    if tool is not None and tool != "hwloc" and tool not in parser_names():
        get_parser(tool)  # raises
    return IntakeOptions(
        tool=tool, axes=patterns, settings=given, columns=forms, command=command, whole=whole
    )


def _pair(option: str, text: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not value or not re.fullmatch(r"[A-Za-z_][\w-]*", name):
        raise UserError(option, f"{text!r} is not NAME=VALUE", f"e.g. {example}")
    if name in _OURS:
        raise UserError(
            option,
            f"{name!r} is a column that pinsweep fills itself",
            "take another name, e.g. node for a host",
        )
    return name, value.strip()


def shown(item: Captured, asked: IntakeOptions) -> list[tuple[str, Parsed]]:
    """Return what a text says, (name, tables) each: the cells of a table one by one, with what tells them apart."""
    if not item.tables:
        return [(item.name, item.parsed)]
    found = []
    for cell, reading in _table_cells(item, asked):
        words = [cell.heading] if cell.heading else []
        words += [f"place={cell.place}"] if cell.place else []
        words += [f"{name}={value}" for name, value in cell.options.items()]
        found.append((f"{item.name} {' '.join(words)}".strip(), table.parse(decode(item.data), reading)))
    return found


# --- cells -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """One run to be: a text, or a part of one. Its bytes are compressed while they wait."""

    file: str
    label: str  # the file, and which part of it
    tool: str
    packed: bytes
    dumped: bytes
    program: str
    version: str
    stand_in: bool
    argv: tuple[str, ...]
    options: Mapping[str, Any]
    place: str | None
    repeat: int | None
    added: tuple[str, ...]  # axes that the user named
    reading: Mapping[str, Any]
    digest: str  # of the text, what was said of it, and the tool
    before: str  # without the tool: what files have that an older pinsweep wrote
    heading: str  # above it in its text, "" if there is none

    @property
    def key(self) -> str:
        """The same for texts that tell the same of their cell and are not said to be different repeats."""
        return json.dumps(
            [self.tool, dict(self.options), self.place, self.repeat], sort_keys=True, default=str
        )


def store(items: Iterable[Captured], path: Path, asked: IntakeOptions, *, version: str) -> Kept:
    """Keep the texts as runs of a result file; what is there already stays.

    Texts about a machine become facts of the session. Raises UserError if `path` cannot be written.
    """
    holds_runs = False
    if begun := open_begun(path):  # raises what would be raised after an hour of reading
        holds_runs = bool(begun.runs())
        begun.close()
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    notes: dict[str, int] = {}
    runs, machine, left = _taken(items, asked, notes)
    facts, topology = _machine(machine, notes)
    described = bool(facts or topology)
    if not runs and not (holds_runs and described):  # what describes a machine is of the runs beside it
        return Kept(added=0, known=0, notes=tuple(notes), left=tuple(left), machine=len(machine))
    with create_result(path) as result:
        tools = {stored.cell.point_id: stored.cell.tool for stored in result.cells()}
        seen = {(tools.get(r.point_id), r.capture.digest) for r in result.runs() if r.capture}
        new = [item for item in runs if seen.isdisjoint({(item.tool, item.digest), (item.tool, item.before)})]
        fresh = list({item.digest: item for item in reversed(new)}.values())[::-1]
        known = len(runs) - len(fresh)
        if fresh or described:
            cells = _cells(fresh, result, notes)
            session = result.begin_session(
                started_utc=now, version=version, argv=["parse", *dict.fromkeys(i.file for i in runs)], seed=0,
                host=UNRECORDED_HOST, facts=facts, topology=topology, programs=_programs(fresh),
            )  # fmt: skip
            _add(result, session, cells, now)
    said = [text if n == 1 else f"{text} ({n} times)" for text, n in notes.items()]
    return Kept(
        added=len(fresh), known=known, notes=tuple(said), left=tuple(left), machine=len(machine), described=described
    )  # fmt: skip


def _taken(
    items: Iterable[Captured], asked: IntakeOptions, notes: dict[str, int]
) -> tuple[list[_Item], list[Captured], list[Left]]:
    """Make runs of the texts, one text in memory at a time; return them, what describes machines, what was left."""
    runs: list[_Item] = []
    machine: list[Captured] = []
    left: list[Left] = []
    for item in items:
        if item.tool in MACHINE:
            machine.append(item)
            continue
        try:
            runs += _items(
                item, asked if item.tables or not asked.whole else _of_tool(item.tool, asked), notes
            )
        except ParseError as error:
            left.append(Left(name=item.name, reason=_said(error), failed=item.named))
        except UserError as error:  # its name does not hold an axis
            left.append(Left(name=item.name, reason=_said(error), failed=True))
        del item  # before the next is read: a text and its tables are several times its size
    return runs, machine, left


def _items(item: Captured, asked: IntakeOptions, notes: dict[str, int]) -> Iterator[_Item]:
    named, place, repeat = _from_name(item.name, asked)
    if item.tables:
        cells = _table_cells(item, asked)
        several = any(cell.table for cell, _ in cells)
        for cell, reading in cells:
            parsed = table.parse(decode(item.data), reading)
            label = item.name + (f", part {cell.table + 1}" if several else "")
            options = {**text_of.told(item.tool, parsed), **cell.options}
            yield _item(
                item,
                item.data,
                parsed,
                options,
                cell.place or place,
                (named, repeat),
                reading,
                asked,
                notes,
                label,
                cell.heading,
            )
        return
    parser = get_parser(item.tool)
    pieces = text_of.cut(item.tool, item.data, item.parsed)
    found = False
    for number, piece in enumerate(pieces, 1):
        whole = item.parsed if len(pieces) == 1 else parser.parse(decode(piece), dict(asked.settings))
        parts = taken(item.tool).parts(whole)
        around = text_of.above_parts(item.tool, piece, len(parts)) if len(parts) > 1 else [piece]
        for reading, above in zip(parts, around, strict=True):
            parsed = parser.parse(decode(piece), {**asked.settings, **reading}) if reading else whole
            label = item.name + (f", part {number}" if len(pieces) > 1 else "")
            label += f", {taken(item.tool).part_name(parsed)}" if reading else ""
            if not parsed.measurements.rows:
                if len(pieces) > 1 or len(parts) > 1:
                    notes[f"{label}: no figures in it"] = 1
                continue
            found = True
            options = text_of.told(item.tool, parsed) | ({"source": item.host} if item.host else {})
            if usual := text_of.defaults(item.tool, options, parsed):
                words = " ".join(
                    f"{name}={value}" for name, value in usual.items() if name not in asked.settings
                )
                said = f"{words}: not given, the default of {parser.NAME}"
                notes[said] = notes.get(said, 0) + 1
            title = text_of.heading(item.tool, above) if len(pieces) > 1 or len(parts) > 1 else ""
            yield _item(
                item, piece, parsed, {**usual, **options}, place, (named, repeat), reading, asked, notes, label, title, above
            )  # fmt: skip
    if not found:
        said = text_of.refusal(item.tool, item.parsed)
        hint = said or "was it cut off, or stopped? what is taken in has the tool’s whole table"
        raise ParseError("", f"there are no figures of {parser.NAME} in it", hint)


def _lines(command: str) -> str:
    """Return what was typed in several lines as one, as a shell takes it: an end of a line ends a command, unless it is escaped."""
    return re.sub(r"\s*\n\s*", " ; ", command.replace("\\\n", " ").strip())


def _item(
    item: Captured,
    data: bytes,
    parsed: Parsed,
    options: dict[str, Any],
    place: str | None,
    from_name: tuple[Mapping[str, Any], int | None],
    reading: Mapping[str, Any],
    asked: IntakeOptions,
    notes: dict[str, int],
    label: str,
    heading: str,
    above: bytes = b"",
) -> _Item:
    """above: the part of `data` in which its command is looked for."""
    named, repeat = from_name
    labels = get_parser(item.tool).LABELS if item.tables else ()
    given: dict[str, Any] = {
        n: number_value(v) for n, v in asked.settings.items() if n not in labels and n != "place"
    }
    given |= named
    for name, value in given.items():
        if name in options and str(options[name]) != str(value):
            note = f"{label}: said to have {name}={value}, and the text says {name}={options[name]}: the text is believed"
            notes[note] = notes.get(note, 0) + 1
    said = json.dumps([reading, given, place, repeat], sort_keys=True, default=str)
    digest = hashlib.sha256(data)
    digest.update(said.encode())
    before = digest.hexdigest()[:32]
    digest.update(item.tool.encode())
    typed = asked.command or str(reading.get("command", ""))
    argv = tuple(_lines(typed).split()) or (
        () if item.tables else text_of.command_of(item.tool, above, parsed)
    )
    return _Item(
        file=item.name, label=label, tool=item.tool, packed=zlib.compress(data, 1), dumped=dump_parsed(parsed),
        program=str(parsed.facts.get("program", item.tool)), version=str(parsed.facts.get("tool_version", "")),
        stand_in=parsed.has("stand_in"), argv=argv, options=_kept({**given, **options}), place=place, repeat=repeat,
        added=(*(("place",) if place else ()), *(("source",) if item.host else ()), *given), reading=reading,
        digest=digest.hexdigest()[:32], before=before, heading=heading,
    )  # fmt: skip


def _kept(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a result file holds them: a whole number of more than 64 bits as the text that it is."""
    return {
        name: str(value) if isinstance(value, int) and not -LARGEST <= value < LARGEST else value
        for name, value in options.items()
    }


def _from_name(name: str, asked: IntakeOptions) -> tuple[dict[str, Any], str | None, int | None]:
    """Return (options, place, repeat) out of the file's name. Raises UserError if it does not hold an axis."""
    found: dict[str, Any] = {}
    for axis, pattern in asked.axes.items():
        match = pattern.search(name)
        if not match:
            raise UserError("", f"--axis {axis}: {pattern.pattern!r} is not in the name")
        value = match["value"] if "value" in pattern.groupindex else match[pattern.groups]
        found[axis] = (
            number_value((value or "").lstrip("0") or "0") if (value or "").isdigit() else value or ""
        )
    place = found.pop("place", None) or asked.settings.get("place")
    repeat = found.pop("repeat", None)
    if repeat is not None and not (isinstance(repeat, int) and repeat >= 0):
        raise UserError("", f"--axis repeat: {repeat!r} is not a number")
    return found, None if place is None else str(place), repeat


def _cells(
    items: Sequence[_Item], result: ResultFile, notes: dict[str, int]
) -> list[tuple[_Item, Cell, int]]:
    """Give each item its cell and its repeat; `source` becomes an option where two would be one."""
    items = _by_headings(items, notes)
    there: dict[str, int] = {}
    for point_id, repeat in result.attempts():
        there[point_id] = max(repeat, there.get(point_id, 0))
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(item.key, []).append(item)
    alike = [
        same
        for same in groups.values()
        if len(same) > 1 or (same[0].repeat is None and _point(same[0], ()).point_id in there)
    ]
    apart = {item.digest for same in alike for item in same}
    if alike:
        most = max(alike, key=len)
        differ = any(len({item.argv for item in same if item.argv}) > 1 for same in alike)
        runs, texts = sum(map(len, alike)), len({item.file for same in alike for item in same})
        which = f"{runs} runs of {texts} text{'s' if texts > 1 else ''}" if runs > texts else f"{runs} texts"
        notes[
            f"{which} tell the same options as another (e.g. {most[0].label}): `source` tells them apart. "
            f"{'Their command lines differ: `pinsweep show RESULT RUN` prints that of a run. ' if differ else ''}"
            'For repeats of one cell: --axis "repeat=run([0-9]+)"; else name what differs: --axis "node=(n[0-9]+)"'
        ] = 1
    names = _short_names([item.label for item in items if item.digest in apart])
    used = set(there)
    labelled = [
        _with_source(item, names[item.label], used) if item.digest in apart else item for item in items
    ]
    axes = _axes(labelled)
    cells = [(item, _point(item, axes[item.tool])) for item in labelled]
    numbers: dict[str, list[int]] = {}
    for item, cell in cells:
        numbers.setdefault(cell.point_id, []).append(item.repeat or 0)
    return [
        (
            item,
            cell,
            there.get(cell.point_id, 0) + sorted(numbers[cell.point_id]).index(item.repeat or 0) + 1,
        )
        for item, cell in cells
    ]


def _by_headings(items: Sequence[_Item], notes: dict[str, int]) -> list[_Item]:
    """Tell parts of one text apart by what stands above them: their headings, or what differs in their commands.

    Where the commands differ in nothing but where they ran, that is the part's place.
    """
    groups: dict[tuple[str, str], list[_Item]] = {}
    for item in items:
        groups.setdefault((item.file, item.key), []).append(item)
    named: dict[str, _Item] = {}
    for (file, _), parts in groups.items():
        commands = [item.argv for item in parts]
        for names in ([item.heading for item in parts], text_of.differing(commands)):
            if len(parts) > 1 and all(names) and len(set(names)) == len(parts):
                axis = "place" if parts[0].place is None and text_of.same_but_place(commands) else "source"
                notes[
                    f"{len(parts)} parts of {file} are told apart by what stands above them: {axis}={', '.join(names)}"
                ] = 1
                for item, name in zip(parts, names, strict=True):
                    source = " ".join(filter(None, (item.options.get("source"), name)))  # of a host, its part
                    named[item.digest] = replace(
                        item, added=(*item.added, axis), place=name if axis == "place" else item.place,
                        options=item.options if axis == "place" else {**item.options, "source": source},
                    )  # fmt: skip
                break
    return [named.get(item.digest, item) for item in items]


def _with_source(item: _Item, short: str, used: set[str]) -> _Item:
    """Tell an item apart by its file: by the shortest name that no other cell has, of this intake or of the result."""
    named = item
    for name in (short, item.label, f"{item.label} ({item.digest[:8]})"):
        named = replace(item, options={**item.options, "source": name}, added=(*item.added, "source"))
        if _point(named, ()).point_id not in used:
            break
    used.add(_point(named, ()).point_id)
    return named


def _short_names(labels: Sequence[str]) -> dict[str, str]:
    """Return each name without what all have in common: folders, and the file if it is only one ("part 2")."""
    files = {label.partition(", ")[0] for label in labels}
    if len(files) < 2:
        return {label: label.partition(", ")[2] or Path(label).name for label in labels}
    folders = [file.split("/")[:-1] for file in files]
    common = next(
        (i for i, words in enumerate(zip(*folders, strict=False)) if len(set(words)) > 1),
        min(map(len, folders)),
    )
    return {label: "/".join(label.split("/")[common:]) for label in labels}


def _axes(items: Sequence[_Item]) -> dict[str, tuple[str, ...]]:
    """Return the options of each tool that tell its cells apart: what the user named, the main ones, what varies."""
    out = {}
    for tool in dict.fromkeys(item.tool for item in items):
        own = [item for item in items if item.tool == tool]
        names = list(dict.fromkeys(name for item in own for name in item.options))
        varying = [n for n in names if len({str(item.options.get(n)) for item in own}) > 1]
        added = [name for item in own for name in item.added]
        main = [n for n in _MAIN if n in names]
        out[tool] = tuple(dict.fromkeys([*added, *main, *varying]))
    return out


def _point(item: _Item, axes: tuple[str, ...]) -> Cell:
    place = None if item.place is None else Place(name=item.place, cpus="not recorded", memory="not recorded")
    return Cell(
        sweep=f"captured-{item.tool}", tool=item.tool, options=dict(item.options), place=place,
        axes=tuple(a for a in axes if a == "place" or a in item.options),
    )  # fmt: skip


def _add(result: ResultFile, session: int, cells: Sequence[tuple[_Item, Cell, int]], now: str) -> None:
    repeats: dict[str, int] = {}
    for _, cell, repeat in cells:
        repeats[cell.point_id] = max(repeat, repeats.get(cell.point_id, 0))
    digest = hashlib.sha256("".join(sorted(repeats)).encode()).hexdigest()
    experiment = StoredExperiment(
        sha256=digest, path="", title="Captured output", text="", about="Taken in with `pinsweep parse`."
    )
    distinct = {cell.point_id: cell for _, cell, _ in cells}
    stored = [
        StoredCell(
            cell=p,
            sweep_title=f"Captured {get_parser(p.tool).NAME} output",
            repeats=repeats[key],
            experiment=digest,
        )
        for key, p in distinct.items()
    ]
    result.add_plan(session, experiment, stored, [])
    first = len(result.runs())
    result.add_captured(
        (*_record(item, cell, repeat, session, now, first + i), zlib.decompress(item.packed), item.dumped)
        for i, (item, cell, repeat) in enumerate(cells)
    )
    result.end_session(session, now)


def _record(
    item: _Item, cell: Cell, repeat: int, session: int, now: str, index: int
) -> tuple[PlannedRun, RunRecord]:
    planned = PlannedRun(
        sweep=cell.sweep, tool=cell.tool, cell=cell, repeat=repeat, argv=item.argv, env={}, placement=None,
        timeout_s=0.0, nominal_s=0.0, estimate_s=0.0, program=item.program,
    )  # fmt: skip
    record = RunRecord(
        run_id=0, point_id=cell.point_id, repeat=repeat, attempt=1, status="ok", reason="", argv=item.argv, env={},
        placement=None, seen=None, program=item.program, order_index=index, started_utc=now, wall_s=0.0, exit_code=None,
        signal=None, usage={}, session=session, capture=Capture(file=item.label, digest=item.digest, reading=item.reading),
    )  # fmt: skip
    return planned, record


def _programs(items: Sequence[_Item]) -> dict[str, dict[str, Any]]:
    """Return what made the numbers; the version only where all texts of a tool agree."""
    out: dict[str, dict[str, Any]] = {}
    for tool in dict.fromkeys(item.tool for item in items):
        own = [item for item in items if item.tool == tool]
        versions = {item.version for item in own}
        out[tool] = {
            "name": own[0].program, "path": "", "sha256": "", "version": versions.pop() if len(versions) == 1 else "",
            "stand_in": all(item.stand_in for item in own),
        }  # fmt: skip
    return out


def _machine(items: Sequence[Captured], notes: dict[str, int]) -> tuple[dict[str, Any], str]:
    """Return (facts, hwloc XML) of the session out of texts about the machine. Texts about several machines tell nothing
    of the one that ran: none is kept."""
    topologies = {decode(item.data) for item in items if item.tool == "hwloc"}
    if len(topologies) > 1:
        notes[f"{len(topologies)} topologies, and nothing says which machine ran: none is kept"] = 1
    facts: dict[str, Any] = {}
    for tool in ("lscpu", "numactl"):
        own = {json.dumps(f): f for item in items if item.tool == tool and (f := _facts(item))}
        if len(own) > 1:
            notes[
                f"{len(own)} machines described by {tool}, and nothing says which one ran: none is kept"
            ] = 1
        elif own:
            facts |= next(iter(own.values()))
    return facts, topologies.pop() if len(topologies) == 1 else ""


def _facts(item: Captured) -> dict[str, Any]:
    said = item.parsed.facts
    if item.tool == "lscpu":
        known = {"cpu_model": "model_name", "architecture": "architecture", "hypervisor": "hypervisor_vendor"}
        return {ours: said[theirs] for ours, theirs in known.items() if said.get(theirs)}
    rows = [r for r in item.parsed.measurements.records() if r["metric"] == "distance"]
    distances = [[r["node"], r["to"], r["value"]] for r in rows]
    return {"numa_distances": distances} if distances else {}
