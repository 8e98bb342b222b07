"""Load result files into rows for every chart, table and export. The module reads files and decides nothing more."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal

from orchestrator.model import Alias, Cell, RunRecord, Skipped, canonical_json
from orchestrator.run.disturbance import taken
from orchestrator.store.limits import memory_error
from orchestrator.store.result_file import ResultFile, Session, StoredCell, StoredExperiment, open_result
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.measurement import Parsed
from parsers.text import decode
from reports.results import cells
from reports.results.grouping import group_by
from reports.results.levels import LevelKey, Levels
from reports.results.model import (
    LEFT_OUT,
    Machine,
    Order,
    Results,
    Run,
    excerpt,
    short_names,
    texts_of,
)

CAPTURED = 200_000
"""Characters that `load` keeps of a text that was taken in, not printed by a run of pinsweep's: what people wrote around its
tables (the commands above them) is looked at by the checks."""


_WHOLE: Final = 1 << 20
"""Maximum of output bytes that are decoded as one text for an excerpt."""

Watched = Callable[[list[tuple[Path, str]]], Iterable[tuple[Path, str]]]
"""Hands on the files (and their short names) that are read, one after the other: as a caller does that shows how far it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The content of one result file."""

    name: str
    host: str  # of its last session
    machines: list[Machine]
    experiments: dict[str, StoredExperiment]
    runs: list[Run]
    warm_ups: list[Run]
    cells: list[StoredCell]  # that are planned, or were run
    planned: int  # their repeats
    unasked: int  # known cells that no experiment requested
    known: int  # cells, these among them
    missing: list[tuple[Cell, int]]  # repeats of those cells without a number
    skipped: list[Skipped]
    aliases: list[Alias]
    sweeps: list[str]  # in the order in which they were first planned


Include = Literal["quiet", "least", "all"]
"""Which runs stand for a cell. quiet: those that nothing disturbed, or that `--allow-disturbed` let count; least: of cells without one the
least disturbed; all: every run. Each cell has its quiet runs first, but with "all"."""


def load(
    paths: Iterable[Path],
    *,
    include: Include = "least",
    watched: Watched = iter,
    unreadable: list[tuple[str, str]] | None = None,
) -> Results:
    """Return the content of result files. Raises UserError for an invalid file, or if there is not a single file.

    With `unreadable`, an unreadable file is left out, and its short name and the reason are added to `unreadable`. If
    all files are unreadable, UserError is raised. The output of runs is not loaded (`printed`), except the first and
    last characters of captured texts, CAPTURED in total.
    """
    listed = list({os.path.realpath(path): path for path in paths}.values())
    if not listed:
        raise UserError("", "no result file given", "`pinsweep run EXPERIMENT -o FILE` makes one")
    names = short_names(listed)
    files = list(_files(watched(list(zip(listed, names, strict=True))), unreadable))
    machines = [machine for file in files for machine in file.machines]
    experiments = {digest: one for file in files for digest, one in file.experiments.items()}
    of_host = Counter(host for host, _ in {(machine.host, machine.file) for machine in machines})

    def where(host: str, file: str) -> str:
        return f"{host}, {file}" if of_host[host] > 1 else host

    of_text = {digest for digest, one in experiments.items() if one.text}
    apart = cells.told_apart(one for file in files for one in file.cells if one.experiment in of_text)
    runs = [
        _changed(run, where=where(run.host, run.file), cell=apart.get(run.record.point_id, run.cell))
        for file in files
        for run in file.runs
    ]
    runs = _with_sources(_with_builds(runs))
    chosen = _chosen(runs, include)
    counting = {run for by_slot in chosen.values() for run in by_slot.values()}
    runs = [
        replace(run, parsed=None) if run.record.status == "disturbed" and run not in counting else run for run in runs
    ]
    levels = Levels(one.cell for file in files for one in file.cells if one.experiment in of_text)
    order = _order(names, dict.fromkeys(sweep for file in files for sweep in file.sweeps), levels)
    return Results(
        machines=tuple(machines),
        experiments=tuple(experiments.values()),
        runs=tuple(runs),
        warm_ups=tuple(run for file in files for run in file.warm_ups),
        skipped=tuple((where(file.host, file.name), item) for file in files for item in file.skipped),
        aliases=tuple((where(file.host, file.name), item) for file in files for item in file.aliases),
        missing=tuple(
            (where(file.host, file.name), apart.get(cell.point_id, cell), repeat)
            for file in files
            for cell, repeat in file.missing
        ),
        unasked=sum(file.unasked for file in files),
        cells=sum(file.known for file in files),
        planned=sum(file.planned for file in files),
        paths=dict(zip(names, listed, strict=True)),
        levels=levels,
        _order=order,
        _good=_ordered(chosen, order),
    )


def printed(results: Results, runs: Iterable[Run], limit: int) -> dict[Run, tuple[str, str]]:
    """Return {run: (standard output, standard error)}, each with the beginning and end, at most `limit` characters.

    The files are read again. Raises UserError for a missing file, Damaged for a damaged file.
    """
    outputs = {}
    for file, own in group_by(runs, lambda run: run.file).items():
        with open_result(results.paths[file], known=True) as result:
            for run in own:
                out, err = (_text(result, run.record, stream, limit) for stream in ("stdout", "stderr"))
                outputs[run] = out, err
    return outputs


def _files(named: Iterable[tuple[Path, str]], unreadable: list[tuple[str, str]] | None) -> Iterator[_File]:
    first: PinsweepError | None = None
    read = 0
    for path, name in named:
        try:
            file = _read(path, name)
        except (PinsweepError, MemoryError) as raised:
            if unreadable is None:
                raise
            error = raised if isinstance(raised, PinsweepError) else memory_error()
            first = first or error
            unreadable.append((name, error.cause))
            continue
        read += 1
        yield file
    if first and not read:
        raise first


def _read(path: Path, name: str) -> _File:
    with open_result(path) as result:
        sessions = {session.session: session for session in result.sessions()}
        by_id = {stored.cell.point_id: stored for stored in result.cells()}
        superseded = result.superseded()
        every = result.runs()
        parsed = result.parsed_runs(every, {key: stored.cell for key, stored in by_id.items()})
        slots = {
            (key, repeat): stored
            for key, stored in by_id.items()
            if key not in superseded
            for repeat in range(1, stored.repeats + 1)
        }
        for record in every:
            if not record.warm_up:
                slots.setdefault((record.point_id, record.repeat), by_id[record.point_id])
        planned = {key: by_id[key] for key, _ in slots}
        count = len(slots)
        unasked = by_id.keys() - superseded - planned.keys()
        runs: list[Run] = []
        warm_ups: list[Run] = []
        for record in every:
            run = _run(
                result,
                name,
                sessions[record.session],
                by_id[record.point_id],
                record,
                parsed.get(record.run_id),
            )
            (warm_ups if record.warm_up else runs).append(run)
            if not record.warm_up and (run.parsed is not None or record.status in LEFT_OUT):
                slots.pop((record.point_id, record.repeat), None)
        having = {run.record.point_id: run.cell for run in runs if run.parsed}
        measured = {(cell.sweep, canonical_json(cell.labels())) for cell in having.values()}
        merged, aliases = cells.merged(runs, by_id)
        return _File(
            name=name,
            host=next((s.host for s in reversed(sessions.values())), path.stem),
            machines=[Machine(file=name, session=session) for session in sessions.values()],
            experiments={e.sha256: e for e in result.experiments()},
            runs=merged,
            warm_ups=warm_ups,
            unasked=len(unasked),
            known=len(unasked | planned.keys()),
            cells=list(planned.values()),
            planned=count,
            missing=[(stored.cell, repeat) for (_, repeat), stored in slots.items()],
            skipped=[
                replace(item, reason=f"{item.reason}; its numbers are of before")
                if (item.sweep, canonical_json(dict(item.cell))) in measured
                else item
                for item in result.skipped()
            ],
            aliases=[*result.aliases(), *aliases],
            sweeps=list(dict.fromkeys(stored.cell.sweep for stored in by_id.values())),
        )


def _run(
    file: ResultFile, name: str, session: Session, stored: StoredCell, record: RunRecord, reading: Parsed | ParseError | None
) -> Run:  # fmt: skip
    """Return a run with the parser's result, or the parser's error."""
    stdout, stderr = (
        _text(file, record, stream, CAPTURED) if record.capture else "" for stream in ("stdout", "stderr")
    )
    is_ok, parsed = record.status == "ok", reading if isinstance(reading, Parsed) else None
    has_numbers = is_ok or (record.status == "disturbed" and not record.warm_up)
    return Run(
        file=name, session=session, cell=stored.cell, where=session.host, sweep_title=stored.sweep_title, record=record,
        parsed=parsed if has_numbers else None, stdout=stdout, stderr=stderr,
        unreadable=reading.cause if is_ok and isinstance(reading, ParseError) else "", most_repeats=stored.most_repeats,
    )  # fmt: skip


def _chosen(runs: Iterable[Run], include: Include) -> dict[str, dict[tuple[str, str, int], Run]]:
    """Return {tool: {slot: run that counts}}: the newest attempt, or the least disturbed attempt if all are disturbed.

    Invalid runs count only in a cell without valid runs.
    """
    by_tool = group_by((run for run in runs if run.parsed is not None), lambda run: run.tool)
    slots_by_tool: dict[str, dict[tuple[str, str, int], Run]] = {}
    for tool, same in by_tool.items():
        for cell in group_by(same, _cell).values():
            valid = [run for run in cell if not run.void] or cell
            slots_by_tool.setdefault(tool, {}).update({run.slot: run for run in _counting(valid, include)})
    return {tool: by_slot for tool, by_slot in slots_by_tool.items() if by_slot}


_AS_QUIET: Final = 2.0
"""Of a cell without a quiet run those count that lost at most so many times what the least disturbed lost …"""
_AS_QUIET_SHARE: Final = 0.01
"""… and so much of their time more."""


def _counting(cell: Sequence[Run], include: Include) -> list[Run]:
    """Return the runs that count for a cell, one per repeat, in order."""
    if not any(run.is_disturbed for run in cell):
        return [*cell]
    quiet = [run for run in cell if not run.is_disturbed]
    if include == "quiet":
        cell = quiet or [run for run in cell if run.record.status == "ok"]
    elif include == "least":
        cell = quiet or cell
    slots = group_by(cell, lambda run: run.slot).values()
    best = [next((run for run in reversed(runs) if not run.is_disturbed), min(runs, key=_taken)) for runs in slots]
    if include == "all" or not best or not best[0].is_disturbed:
        return best
    most = _AS_QUIET * min(map(_taken, best)) + _AS_QUIET_SHARE
    return [run for run in best if _taken(run) <= most]


def _taken(run: Run) -> float:
    return taken(run.record.counters)


def _order(files: Iterable[str], sweeps: Iterable[str], levels: Levels) -> Order:
    """Return the sort key that undoes the random order of runs: given files, first plan of sweeps, axes of cells."""
    file_at, sweep_at = ({name: i for i, name in enumerate(names)} for names in (files, sweeps))

    cache: dict[int, tuple[Cell, list[LevelKey]]] = {}  # by the cell's id: most runs share theirs

    def key(run: Run) -> tuple[object, ...]:
        cell, values = cache.get(id(run.cell), (None, []))
        if cell is not run.cell:
            of = run.cell.sweep
            values = [levels.key(axis, value, of) for axis, value in run.cell.labels().items()]
            cache[id(run.cell)] = run.cell, values
        return file_at[run.file], sweep_at[run.cell.sweep], values, run.record.point_id, run.record.repeat

    return key


def _ordered(chosen: Mapping[str, Mapping[tuple[str, str, int], Run]], order: Order) -> dict[str, tuple[Run, ...]]:
    """Return the runs in order. The tools have the order in which the sweeps were first planned, in any file."""
    result = {tool: tuple(sorted(by_key.values(), key=order)) for tool, by_key in chosen.items()}

    def planned(of: tuple[str, tuple[Run, ...]]) -> int:
        of_sweeps = {run.cell.sweep: run for run in of[1]}.values()
        return min(int(order(run)[1]) for run in of_sweeps)

    return dict(sorted(result.items(), key=planned))


def _with_sources(runs: Sequence[Run]) -> list[Run]:
    """Distinguish captured texts by source if any text of the sweep needs a source.

    Equal texts may be from two machines, so the other texts of the sweep may be from different machines too. Texts of
    two program versions are separate measurements. Nothing is joined or summed across sources.
    """
    sweeps = group_by((run for run in runs if run.captured), lambda run: (run.file, run.cell.sweep))
    apart = {
        key
        for key, own in sweeps.items()
        if any("source" in run.cell.options for run in own) or len({run.version for run in own if run.parsed}) > 1
    }  # fmt: skip

    names = dict.fromkeys(run.record.capture.file for run in runs if run.record.capture)
    short = dict(zip(names, short_names([Path(name) for name in names]), strict=True))

    several = len(set(texts_of(runs).values())) > 1

    def told(run: Run) -> Run:
        if run.record.capture is None:
            return run
        name = short[run.record.capture.file]
        source = str(run.cell.options.get("source") or name) if (run.file, run.cell.sweep) in apart else ""
        return replace(run, source=source, text=name if several else "")

    return [told(run) for run in runs]


def _with_builds(runs: Sequence[Run]) -> list[Run]:
    """Name the program by path, or else checksum, if a file has several programs with one name and version."""

    def named(run: Run) -> tuple[str, str, str]:
        return run.file, run.record.program, run.version

    # the runs of a session that have a program have all of it in common
    firsts: dict[tuple[object, ...], Run] = {}
    for run in runs:
        if run.parsed is not None:
            version = run.parsed.facts.get("tool_version")
            firsts.setdefault((run.file, run.record.program, version, id(run.session), run.tool), run)
    builds = {  # → sha256 → path
        of: {str(r.program.get("sha256") or ""): str(r.program.get("path") or "") for r in reversed(own)}
        for of, own in group_by(firsts.values(), named).items()
    }
    if all(len(same) < 2 for same in builds.values()):
        return [_changed(run, build="") for run in runs]

    def build(run: Run) -> str:
        same = builds.get(named(run), {})
        digest = str(run.program.get("sha256") or "")
        if len(same) < 2 or digest not in same:
            return ""
        if len(set(same.values())) == len(same) and all(same.values()):
            return same[digest]
        return f"sha256 {digest[:8]}" if digest else "not recorded which"

    return [_changed(run, build=build(run)) for run in runs]


def _changed(run: Run, **fields: Any) -> Run:  # noqa: ANN401 (those of a Run)
    """Return a run with other values, or the same run if the values are equal, as for most of a hundred thousand
    runs.
    """
    return run if all(getattr(run, name) == value for name, value in fields.items()) else replace(run, **fields)


def _cell(run: Run) -> tuple[str, str]:
    return run.file, run.record.point_id


def _text(result: ResultFile, record: RunRecord, stream: str, limit: int) -> str:
    try:
        return _excerpt(result.output_pieces(record.run_id, stream), limit)
    except UserError:  # nothing was kept of it
        return ""


def _excerpt(pieces: Iterable[bytes], limit: int) -> str:
    """Return `excerpt` of an output in pieces. Only the beginning and end are in memory, because outputs reach 256
    MB.
    """
    most = max(_WHOLE, 4 * limit)
    head, tail, size, ends = bytearray(), b"", 0, 0
    for piece in pieces:
        head += piece[: most - len(head)]
        tail = (tail + piece)[-most:]
        size, ends = size + len(piece), ends + piece.count(b"\n")
    if size <= most:
        return excerpt(decode(bytes(head)), limit)
    first = decode(_cut(bytes(head)))[: limit // 2].rsplit("\n", 1)[0]
    last = decode(_cut(tail[::-1], begins=True)[::-1])[-(limit // 2) :].split("\n", 1)[-1]
    return f"{first}\n… {ends - first.count(chr(10)) - last.count(chr(10))} lines left out …\n{last}"


def _cut(data: bytes, *, begins: bool = False) -> bytes:
    """Return bytes without a truncated UTF-8 character at the end. `begins`: the bytes are reversed."""
    for n in range(1, 5):
        byte = data[-n]
        if byte < 0x80:
            return data[: len(data) - n + 1]
        if byte >= 0xC0:
            return data[: len(data) - n + begins]
    return data
