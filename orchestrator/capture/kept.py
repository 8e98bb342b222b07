"""Store captured texts as runs of a result file. I/O.

A text becomes one cell, or several cells if several commands printed the text. The options in the text (fio's job
options, MLC's -W and -l, STREAM's threads) and the user's options (`IntakeOptions`) define the cell. So reports group
captured runs like other runs. The option `source`, a file name, distinguishes texts with equal options, unless the user
declares the texts as repeats.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from orchestrator.capture import cut as text_of
from orchestrator.capture.intake import MACHINE, Captured, IntakeOptions, Left, in_words, of_tool, table_cells
from orchestrator.model import UNRECORDED_HOST, Capture, Cell, Place, PlannedRun, RunRecord
from orchestrator.store.readings import compact
from orchestrator.store.result_file import ResultFile, StoredCell, StoredExperiment, create_result, open_begun
from orchestrator.store.rows import LARGEST
from parsers import get_parser, table, taken
from parsers.errors import ParseError, UserError
from parsers.measurement import Parsed
from parsers.text import decode
from parsers.units import number_value

_MAIN: Final = ("rw", "bs", "iodepth", "numjobs", "mode", "W", "l", "threads", "array_size", "benchmark", "np", "target", "bytes", "test")  # fmt: skip
"""Options that describe a cell, in display order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The result of `store`: new runs, runs that already exist, and notes for the user."""

    added: int
    known: int
    notes: tuple[str, ...]
    left: tuple[Left, ...]
    machine: int = 0  # texts about the machine, not runs
    described: bool = False  # the runs now appear next to this description


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    """A future run: a text or a part of a text. The bytes are compressed in memory."""

    file: str
    label: str  # the file, and which part of it
    tool: str
    packed: bytes
    parsed: Parsed
    argv: tuple[str, ...]
    options: Mapping[str, Any]
    place: str | None
    repeat: int | None
    added: tuple[str, ...]  # axes that the user named
    reading: Mapping[str, Any]
    digest: str  # of the text, the user's options and the tool
    before: str  # without the tool: what files have that an older pinsweep wrote
    heading: str  # above it in its text, "" if there is none

    @property
    def key(self) -> str:
        """A key that is equal for texts with equal options, unless the user gives different repeats."""
        return json.dumps([self.tool, dict(self.options), self.place, self.repeat], sort_keys=True, default=str)

    @property
    def program(self) -> str:
        return str(self.parsed.facts.get("program", self.tool))


class _Part(NamedTuple):
    """The part of a text that becomes one run."""

    label: str
    data: bytes
    above: bytes  # the part of `data` with its command
    parsed: Parsed
    reading: Mapping[str, Any]
    options: dict[str, Any]
    place: str | None = None
    heading: str = ""


def store(items: Iterable[Captured], path: Path, asked: IntakeOptions, *, version: str) -> Kept:
    """Store the texts as runs of a result file. Existing runs do not change.

    Texts about a machine become facts of the session. Raises UserError if `path` cannot be written.
    """
    holds_runs = False
    if begun := open_begun(path):  # raises what would be raised after an hour of reading
        holds_runs = bool(begun.runs())
        begun.close()
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    notes: Counter[str] = Counter()
    runs, machine, left = _taken(items, asked, notes)
    facts, topology = _machine(machine, notes)
    described = bool(facts or topology)
    fresh: list[_Item] = []
    if runs or (holds_runs and described):  # a machine description applies to the adjacent runs
        with create_result(path) as result:
            tools = {stored.cell.point_id: stored.cell.tool for stored in result.cells()}
            stored_keys = {(tools.get(r.point_id), r.capture.digest) for r in result.runs() if r.capture}
            new = [
                item for item in runs if stored_keys.isdisjoint({(item.tool, item.digest), (item.tool, item.before)})
            ]
            fresh = list({item.digest: item for item in reversed(new)}.values())[::-1]
            if fresh or described:
                cells = _cells(fresh, result, notes)
                session = result.begin_session(
                    started_utc=now, version=version, argv=["parse", *dict.fromkeys(i.file for i in runs)], seed=0,
                    host=UNRECORDED_HOST, facts=facts, topology=topology, programs=_programs(fresh),
                )  # fmt: skip
                _add(result, session, cells, now)
    else:
        described = False
    return Kept(
        added=len(fresh), known=len(runs) - len(fresh), left=tuple(left), machine=len(machine), described=described,
        notes=tuple(text if n == 1 else f"{text} ({n} times)" for text, n in notes.items()),
    )  # fmt: skip


def _taken(
    items: Iterable[Captured], asked: IntakeOptions, notes: Counter[str]
) -> tuple[list[_Item], list[Captured], list[Left]]:
    """Return the runs of the texts, the machine descriptions and the remaining files. One text is in memory at a time."""
    runs: list[_Item] = []
    machine: list[Captured] = []
    left: list[Left] = []
    for item in items:
        if item.tool in MACHINE:
            machine.append(item)
            continue
        options = asked if item.tables or not asked.whole else of_tool(item.tool, asked)
        try:
            name = _from_name(item.name, options)
            parts = _of_tables(item, options) if item.tables else _of_outputs(item, options, notes)
            runs += [_item(item, part, options, name, notes) for part in parts]
        except (ParseError, UserError) as error:  # UserError: its name does not hold an axis
            failed = item.named or isinstance(error, UserError)
            left.append(Left(name=item.name, reason=in_words(error), failed=failed))
        del item  # before the next is read: a text and its tables are several times its size
    return runs, machine, left


def _of_tables(item: Captured, asked: IntakeOptions) -> Iterator[_Part]:
    cells = table_cells(item, asked)
    several = any(cell.table for cell, _ in cells)
    for cell, reading in cells:
        parsed = table.parse(decode(item.data), reading)
        label = item.name + (f", part {cell.table + 1}" if several else "")
        options = {**text_of.options(item.tool, parsed), **cell.options}
        yield _Part(label, item.data, b"", parsed, reading, options, cell.place, cell.heading)


def _of_outputs(item: Captured, asked: IntakeOptions, notes: Counter[str]) -> Iterator[_Part]:
    """Yield the output of each command, part by part. Raises ParseError if there are no figures."""
    parser, intake = get_parser(item.tool), taken(item.tool)
    pieces = text_of.cut(item.tool, item.data, item.parsed)
    empty = True
    for number, piece in enumerate(pieces, 1):
        whole = item.parsed if len(pieces) == 1 else parser.parse(decode(piece), dict(asked.settings))
        parts = intake.parts(whole)
        several = len(pieces) > 1 or len(parts) > 1
        around = text_of.above_parts(item.tool, piece, len(parts)) if len(parts) > 1 else [piece]
        for reading, above in zip(parts, around, strict=True):
            parsed = parser.parse(decode(piece), {**asked.settings, **reading}) if reading else whole
            label = item.name + (f", part {number}" if len(pieces) > 1 else "")
            label += f", {intake.part_name(parsed)}" if reading else ""
            if not parsed.measurements.rows:
                if several:
                    notes[f"{label}: no figures in it"] = 1
                continue
            empty = False
            options = text_of.options(item.tool, parsed) | ({"source": item.host} if item.host else {})
            if usual := text_of.defaults(item.tool, options, parsed):
                words = " ".join(f"{name}={value}" for name, value in usual.items() if name not in asked.settings)
                notes[f"{words}: not given, the default of {parser.NAME}"] += 1
            title = text_of.heading(item.tool, above) if several else ""
            yield _Part(label, piece, above, parsed, reading, {**usual, **options}, None, title)
    if empty:
        hint = text_of.refusal(item.tool, item.parsed)
        hint = hint or "the output may be incomplete, but `pinsweep parse` needs the tool’s whole table"
        raise ParseError("", f"there are no figures of {parser.NAME} in it", hint)


def _lines(command: str) -> str:
    """Return a command that was typed in several lines as one line.

    As in a shell, a line end that is not escaped ends a command.
    """
    return re.sub(r"(?<!\s)\s*\n\s*", " ; ", command.replace("\\\n", " ").strip())


def _item(
    item: Captured,
    part: _Part,
    asked: IntakeOptions,
    from_name: tuple[Mapping[str, Any], str | None, int | None],
    notes: Counter[str],
) -> _Item:
    named, place, repeat = from_name
    place = part.place or place
    labels = get_parser(item.tool).LABELS if item.tables else ()
    settings = asked.settings.items()
    given = {n: number_value(v) for n, v in settings if n not in labels and n != "place"} | dict(named)
    for name, value in given.items():
        if name in part.options and str(part.options[name]) != str(value):
            what = f"the option is {name}={value}, and the text has {name}={part.options[name]}"
            notes[f"{part.label}: {what}: the text is used"] += 1
    digest = hashlib.sha256(part.data)
    digest.update(json.dumps([part.reading, given, place, repeat], sort_keys=True, default=str).encode())
    before = digest.hexdigest()[:32]
    digest.update(item.tool.encode())
    typed = asked.command or str(part.reading.get("command", ""))
    argv = tuple(_lines(typed).split(" ")) if typed else ()
    if not typed and not item.tables:
        argv = text_of.command_of(item.tool, part.above, part.parsed)
    return _Item(
        file=item.name, label=part.label, tool=item.tool, packed=zlib.compress(part.data, 1), argv=argv,
        parsed=compact(part.parsed, Path(item.name)), options=_kept({**given, **part.options}), place=place, repeat=repeat,
        added=(*(("place",) if place else ()), *(("source",) if item.host else ()), *given), reading=part.reading,
        digest=digest.hexdigest()[:32], before=before, heading=part.heading,
    )  # fmt: skip


def _kept(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a result file stores them: a whole number above 64 bits is text."""
    return {
        name: str(value) if isinstance(value, int) and not -LARGEST <= value < LARGEST else value
        for name, value in options.items()
    }


def _from_name(name: str, asked: IntakeOptions) -> tuple[dict[str, Any], str | None, int | None]:
    """Return (options, place, repeat) from a file's name. Raises UserError if the name lacks an axis."""
    options: dict[str, Any] = {}
    for axis, pattern in asked.axes.items():
        match = pattern.search(name)
        if not match:
            raise UserError("", f"--axis {axis}: {pattern.pattern!r} is not in the name")
        value = match["value" if "value" in pattern.groupindex else pattern.groups] or ""
        options[axis] = number_value(value.lstrip("0") or "0") if value.isdigit() else value
    place = options.pop("place", None) or asked.settings.get("place")
    repeat = options.pop("repeat", None)
    if repeat is not None and not (isinstance(repeat, int) and repeat >= 0):
        raise UserError("", f"--axis repeat: {repeat!r} is not a number")
    return options, None if place is None else str(place), repeat


def _cells(items: Sequence[_Item], result: ResultFile, notes: Counter[str]) -> list[tuple[_Item, Cell, int]]:
    """Set the cell and repeat of each item. `source` becomes an option if two cells would be equal."""
    items = _by_headings(items, notes)
    existing: dict[str, int] = {}
    for point_id, repeat in result.attempts():
        existing[point_id] = max(repeat, existing.get(point_id, 0))
    groups: dict[str, list[_Item]] = {}
    for item in items:
        groups.setdefault(item.key, []).append(item)
    equal = [
        same
        for same in groups.values()
        if len(same) > 1 or (same[0].repeat is None and _point(same[0], ()).point_id in existing)
    ]
    if equal:
        _note_equal(equal, notes)
    digests = {item.digest for same in equal for item in same}
    names = _short_names([item.label for item in items if item.digest in digests])
    used = set(existing)
    labelled = [_with_source(item, names[item.label], used) if item.digest in digests else item for item in items]
    axes = _axes(labelled)
    cells = [(item, _point(item, axes[item.tool])) for item in labelled]
    repeats: dict[str, list[int]] = {}
    for item, cell in cells:
        repeats.setdefault(cell.point_id, []).append(item.repeat or 0)
    return [
        (
            item,
            cell,
            existing.get(cell.point_id, 0) + sorted(repeats[cell.point_id]).index(item.repeat or 0) + 1,
        )
        for item, cell in cells
    ]


def _note_equal(equal: Sequence[Sequence[_Item]], notes: Counter[str]) -> None:
    most = max(equal, key=len)
    differ = any(len({item.argv for item in same if item.argv}) > 1 for same in equal)
    runs, texts = sum(map(len, equal)), len({item.file for same in equal for item in same})
    which = f"{runs} runs of {texts} text{'s' if texts > 1 else ''}" if runs > texts else f"{runs} texts"
    commands = "Their command lines differ: `pinsweep show RESULT RUN` prints that of a run. " if differ else ""
    notes[
        f"{which} tell the same options as another (e.g. {most[0].label}): `source` distinguishes them. {commands}"
        'For repeats of one cell: --axis "repeat=run([0-9]+)"; else name what differs: --axis "node=(n[0-9]+)"'
    ] = 1


def _by_headings(items: Sequence[_Item], notes: Counter[str]) -> list[_Item]:
    """Distinguish the parts of one text by the headings or command words above them, and parts with a repeat by their
    names.

    If the commands differ only in place, the difference is the place of the part.
    """
    groups: dict[tuple[str, str], list[_Item]] = {}
    for item in items:
        groups.setdefault((item.file, item.key), []).append(item)
    named: dict[str, _Item] = {}
    for (file, _), parts in groups.items():
        commands = [item.argv for item in parts]
        in_file = [item.label[len(file) :].strip(", ") for item in parts if item.repeat is not None]
        for names in ([item.heading for item in parts], text_of.differing(commands), in_file):
            if not (len(parts) > 1 and all(names) and len(set(names)) == len(parts)):
                continue
            axis = "place" if parts[0].place is None and text_of.same_but_place(commands) else "source"
            notes[f"{len(parts)} parts of {file} are distinguished by {axis}={', '.join(names)}"] = 1
            for item, name in zip(parts, names, strict=True):
                added = (*item.added, axis)
                source = " ".join(filter(None, (item.options.get("source"), name)))  # host → its part
                if axis == "place":
                    named[item.digest] = replace(item, added=added, place=name)
                else:
                    named[item.digest] = replace(item, added=added, options={**item.options, "source": source})
            break
    return [named.get(item.digest, item) for item in items]


def _with_source(item: _Item, short: str, used: set[str]) -> _Item:
    """Distinguish an item by its file, with the shortest name that no other cell has in this import or in the result."""
    named = item
    for name in (short, item.label, f"{item.label} ({item.digest[:8]})"):
        named = replace(item, options={**item.options, "source": name}, added=(*item.added, "source"))
        if _point(named, ()).point_id not in used:
            break
    used.add(_point(named, ()).point_id)
    return named


def _short_names(labels: Sequence[str]) -> dict[str, str]:
    """Return each name without the common folders, and without the file name if there is only one file ("part 2")."""
    files = {label.partition(", ")[0] for label in labels}
    if len(files) < 2:
        return {label: label.partition(", ")[2] or Path(label).name for label in labels}
    folders = [file.split("/")[:-1] for file in files]
    same = itertools.takewhile(lambda words: len(set(words)) == 1, zip(*folders, strict=False))
    common = len(list(same))
    return {label: "/".join(label.split("/")[common:]) for label in labels}


def _axes(items: Sequence[_Item]) -> dict[str, tuple[str, ...]]:
    """Return the options of each tool that distinguish its cells: the user's axes, the main options, and the options
    that vary.
    """
    out = {}
    for tool in dict.fromkeys(item.tool for item in items):
        group = [item for item in items if item.tool == tool]
        names = list(dict.fromkeys(name for item in group for name in item.options))
        varying = [n for n in names if len({str(item.options.get(n)) for item in group}) > 1]
        added = [name for item in group for name in item.added]
        out[tool] = tuple(dict.fromkeys([*added, *(n for n in _MAIN if n in names), *varying]))
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
    about = "Taken in with `pinsweep parse`."
    experiment = StoredExperiment(sha256=digest, path="", title="Captured output", text="", about=about)
    stored = [
        StoredCell(
            cell=cell,
            sweep_title=f"Captured {get_parser(cell.tool).NAME} output",
            repeats=repeats[key],
            experiment=digest,
        )
        for key, cell in {cell.point_id: cell for _, cell, _ in cells}.items()
    ]
    result.add_plan(session, experiment, stored, [])
    first = len(result.runs())
    result.add_captured(
        (*_record(item, cell, repeat, session, now, first + i), zlib.decompress(item.packed), item.parsed)
        for i, (item, cell, repeat) in enumerate(cells)
    )
    result.end_session(session, now)


def _record(item: _Item, cell: Cell, repeat: int, session: int, now: str, index: int) -> tuple[PlannedRun, RunRecord]:
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
        group = [item for item in items if item.tool == tool]
        versions = {str(item.parsed.facts.get("tool_version", "")) for item in group}
        out[tool] = {
            "name": group[0].program, "path": "", "sha256": "", "version": versions.pop() if len(versions) == 1 else "",
            "stand_in": all(item.parsed.has("stand_in") for item in group),
        }  # fmt: skip
    return out


def _machine(items: Sequence[Captured], notes: Counter[str]) -> tuple[dict[str, Any], str]:
    """Return (facts, hwloc XML) of the session from texts about the machine.

    Both are empty for texts about several machines, because the measured machine is unknown.
    """
    topologies = {decode(item.data) for item in items if item.tool == "hwloc"}
    if len(topologies) > 1:
        notes[f"{len(topologies)} topologies, and nothing says which machine ran: none is kept"] = 1
    facts: dict[str, Any] = {}
    for tool in ("lscpu", "numactl"):
        descriptions = {json.dumps(f): f for item in items if item.tool == tool and (f := _facts(item))}
        if len(descriptions) > 1:
            what = f"{len(descriptions)} machines described by {tool}"
            notes[f"{what}, and nothing says which one ran: none is kept"] = 1
        elif descriptions:
            facts |= next(iter(descriptions.values()))
    return facts, topologies.pop() if len(topologies) == 1 else ""


def _facts(item: Captured) -> dict[str, Any]:
    facts = item.parsed.facts
    if item.tool == "lscpu":
        known = {"cpu_model": "model_name", "architecture": "architecture", "hypervisor": "hypervisor_vendor"}
        return {ours: facts[theirs] for ours, theirs in known.items() if facts.get(theirs)}
    rows = [r for r in item.parsed.measurements.records() if r["metric"] == "distance"]
    distances = [[r["node"], r["to"], r["value"]] for r in rows]
    return {"numa_distances": distances} if distances else {}
