"""Read and write the result file, one SQLite database per host, committed run by run. I/O.

Tables (schema version in `PRAGMA user_version`; times in seconds, sizes in bytes):

    session     one row per `pinsweep run` on this file: host facts, topology, programs, seed, versions
    experiment  the text of every experiment file that was run, once per text
    point       one row per cell
    run         one row per started process that ended, its attempts kept
    output      stdout and stderr of a run, compressed, never rewritten
    skipped     cells that this machine could not host
    alias       cells that are others on this machine, under another name
    reading     what its parser reads of a run's output, with its numbers in `measurement` and `series` (`readings`)

`datasette` and `pandas.read_sql` open the file directly.
"""

from __future__ import annotations

import errno
import functools
import itertools
import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from orchestrator.machine.near_files import near_files
from orchestrator.machine.safe_files import follow
from orchestrator.model import (
    AS_NEW,
    Alias,
    Cell,
    Placement,
    PlannedRun,
    RunRecord,
    Skipped,
    Tried,
    canonical_json,
)
from orchestrator.store import claims, database, folders, limits, readings, rows
from orchestrator.store.database import APPLICATION_ID, MAGIC, Damaged
from orchestrator.store.rows import Conditions, Session, StoredCell, StoredExperiment
from parsers import Parser, extensions, get_parser, parse_text, parser_names, reads_stderr, text_to_parse
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.measurement import Parsed

T = TypeVar("T")

_NEVER = Tried(attempts=0, status="")
_GOOD = ("ok", "disturbed", "misplaced")

_READ = ("ok", "disturbed")
"""Statuses of runs with output to parse."""

_RUNS_AT_ONCE = 200
"""Runs per transaction when the outputs of an older file are parsed again."""


class ResultFile:
    """A result file, open. Use as a context manager."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        claim: claims.Claim | None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.path = path
        self.stopped = stopped  # returns whether to end a long query
        self._db = connection
        self._claim = claim  # None: it is only read
        self._tried: dict[tuple[str, int], Tried] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. A new file without a session is removed."""
        claim, self._claim = self._claim, None
        unused = claim is not None and claim.made and self._is_unused()
        self._db.close()
        limits.closed(self.path)
        if claim is not None:
            claim.end(unused=unused)

    def _is_unused(self) -> bool:
        try:
            return self._db.execute("SELECT 1 FROM session").fetchone() is None
        except sqlite3.Error:  # damaged in the meantime: do not remove it
            return False

    # --- writing -----------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all changes of the block or none. A full or failing disk raises PinsweepError."""
        try:
            with self._db:
                yield self._db
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_CONSTRAINT_FOREIGNKEY":
                raise PinsweepError(
                    str(self.path),
                    "was overwritten while the run wrote into it: it holds other cells now",
                    "the existing file is unchanged; run the same command again with another -o",
                ) from error
            raise self._moved() or self._not_written(error) from error

    def _not_written(self, error: sqlite3.Error) -> PinsweepError:
        trouble = database.trouble(self.path, error)
        if isinstance(trouble, Damaged):
            what, hint = f"cannot be written: {error}", "copy the file from before, and run into another one"
            return PinsweepError(str(self.path), what, hint)
        return trouble

    def _moved(self) -> PinsweepError | None:
        """Return what to say where the file was taken away under the run; SQLite says "readonly" or "disk I/O error"."""
        if self._claim is None or self._claim.stands():
            return None
        now = str(Path(f"/proc/self/fd/{self._claim.descriptor}").readlink())
        if now.endswith(" (deleted)"):
            replaced = self.path.exists()
            return PinsweepError(
                str(self.path),
                f"was {'replaced by another file' if replaced else 'deleted'} while the run wrote into it",
                "its runs are gone with it; "
                + (
                    "move that file away, then run the same command again"
                    if replaced
                    else "the same command starts again"
                ),
            )
        return PinsweepError(
            str(self.path),
            f"was moved to {now} while the run wrote into it",
            "move it back, then run the same command again",
        )

    def begin_session(
        self,
        *,
        started_utc: str,
        version: str,
        argv: Iterable[str],
        seed: int,
        host: str,
        facts: Mapping[str, Any],
        topology: str,
        programs: Mapping[str, Mapping[str, Any]],
    ) -> int:
        """Record who runs where with what; return the session's number. A file of an earlier schema or parser is brought up before."""
        with self._transaction() as db:
            database.bring_up(db)
        self._read_again()
        with self._transaction() as db:
            cursor = db.execute(
                "INSERT INTO session (started_utc, pinsweep_version, argv, seed, host, facts, topology, programs) VALUES (?,?,?,?,?,?,?,?)",
                (
                    started_utc,
                    version,
                    _json(list(argv)),
                    seed,
                    host,
                    _json(facts),
                    topology,
                    _json(programs),
                ),
            )
        return int(cursor.lastrowid or 0)

    def end_session(self, session: int, ended_utc: str) -> None:
        """Record the end of a session. A session that already has an end does not change."""
        with self._transaction() as db:
            db.execute(
                "UPDATE session SET ended_utc = ? WHERE session = ? AND ended_utc IS NULL",
                (ended_utc, session),
            )

    def add_plan(
        self,
        session: int,
        experiment: StoredExperiment,
        cells: Iterable[StoredCell],
        skipped: Iterable[Skipped],
        aliases: Iterable[Alias] = (),
    ) -> None:
        """Record the cells to run. Existing cells do not change. Cells that were skipped and are now possible are no
        longer skipped.
        """
        with self._transaction() as db:
            db.execute(
                "INSERT INTO experiment (sha256, path, title, text, about, session) VALUES (?,?,?,?,?,?)"
                " ON CONFLICT (sha256) DO UPDATE SET session = excluded.session",
                (
                    experiment.sha256,
                    experiment.path,
                    experiment.title,
                    experiment.text,
                    experiment.about,
                    session,
                ),
            )
            for stored in cells:
                cell = stored.cell
                what = cell.canonical()
                row = (
                    cell.point_id, cell.sweep, stored.sweep_title, cell.tool, _options(what["options"]),
                    None if what["place"] is None else _json(what["place"]), _json(list(cell.axes)),
                    stored.repeats, stored.experiment, stored.most_repeats,
                )  # fmt: skip
                try:
                    rows.cell(row)  # one unreadable value would make the whole file unreadable
                except (ValueError, TypeError, KeyError, RecursionError) as error:
                    raise UserError(experiment.path, f"{cell.describe():.60}: {error}") from None
                db.execute(
                    "INSERT INTO point (point_id, sweep, sweep_title, tool, options, place, axes, repeats, experiment, most_repeats)"
                    " VALUES (?,?,?,?,?,?,?,?,?,?)"
                    " ON CONFLICT (point_id) DO UPDATE SET sweep_title = excluded.sweep_title,"
                    " axes = excluded.axes, experiment = excluded.experiment,"
                    " repeats = iif(excluded.repeats, excluded.repeats, repeats),"  # an earlier request does not change
                    " most_repeats = iif(excluded.repeats, excluded.most_repeats, most_repeats)",
                    row,
                )
            self._ask_no_more(db, cells)
            sweeps = {(item.sweep,) for item in skipped} | {(stored.cell.sweep,) for stored in cells}
            db.executemany("DELETE FROM skipped WHERE sweep = ?", sorted(sweeps))
            db.execute(database.ALIAS)
            db.executemany("DELETE FROM alias WHERE sweep = ?", sorted(sweeps))
            db.executemany(
                "INSERT INTO alias (sweep, point, of) VALUES (?,?,?)",
                [(item.sweep, _json(dict(item.cell)), _json(dict(item.of))) for item in aliases],
            )
            db.executemany(
                "INSERT OR REPLACE INTO skipped (sweep, point, reason, session) VALUES (?,?,?,?)",
                [(item.sweep, _json(dict(item.cell)), item.reason, session) for item in skipped],
            )

    def _ask_no_more(self, db: sqlite3.Connection, planned: Iterable[StoredCell]) -> None:
        """For a cell from --as-new (AS_NEW), request only the runs that are measured in the present way.

        No command starts the other runs, so they would be missing forever.
        """
        if db.execute("SELECT 1 FROM point WHERE instr(options, ?) LIMIT 1", (f'"{AS_NEW}":',)).fetchone() is None:
            return
        now = {_apart_from_its_way(stored.cell): stored.cell.point_id for stored in planned if stored.repeats}
        attempts = self.attempts()
        for held in self.cells():
            point_id = held.cell.point_id
            if held.repeats and now.get(_apart_from_its_way(held.cell), point_id) != point_id:
                good = (attempts.get((point_id, n), _NEVER).status in _GOOD for n in range(1, held.repeats + 1))
                done = sum(1 for _ in itertools.takewhile(bool, good))
                db.execute("UPDATE point SET repeats = ? WHERE point_id = ?", (done, point_id))

    def add_run(
        self, run: PlannedRun, record: RunRecord, outputs: Mapping[str, bytes], parsed: Parsed | None = None
    ) -> int:
        """Commit one ended run with its raw output and parsed result, and return its number. The commit is atomic.

        `parsed` is the parsed result, if known.
        """
        self._tried = None
        name, context = _how(record, run.cell)
        result: Parsed | ParseError | None = None
        if record.status in _READ and name in parser_names():
            result = parsed or _attempt(lambda: parse_text(name, _join(run.cell, outputs), context))
        with self._transaction() as db:
            run_id = _insert_run(db, run, record, outputs)
            if result is not None:
                readings.write(db, run_id, run.cell, name, result)
        return run_id

    def add_captured(self, runs: Iterable[tuple[PlannedRun, RunRecord, bytes, Parsed]]) -> int:
        """Commit captured runs in one transaction (run, record, output, parsed result), and return their number."""
        count = 0
        self._tried = None
        with self._transaction() as db:
            for run, record, text, parsed in runs:
                run_id = _insert_run(db, run, record, {"stdout": text, "stderr": b""})
                readings.write(db, run_id, run.cell, _how(record, run.cell)[0], parsed)
                count += 1
        return count

    def copy(self, target: Path) -> None:
        """Copy all committed data into an empty database, as of one moment, while runs continue.

        Commits of runs wait during the copy, so the copy is not synced. Raises sqlite3.Error if the target cannot be
        written.
        """
        # no other process knows the target, and its file system may lack locks
        with closing(sqlite3.connect(f"{target.absolute().as_uri()}?nolock=1", uri=True)) as new:
            new.execute("PRAGMA synchronous = OFF")
            new.execute("PRAGMA journal_mode = OFF")
            self._db.backup(new)

    # --- reading -----------------------------------------------------------------------------------------

    def _rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query. Raises Damaged for a damaged file, KeyboardInterrupt for a stopped query."""
        try:
            with database.watched(self._db, self.stopped):
                return self._db.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise database.trouble(self.path, error) from error

    def _read(self, made: Callable[[Sequence[Any]], T], query: str) -> tuple[T, ...]:
        """Return one value per row of a query. Raises Damaged for a row that pinsweep does not write."""
        try:
            with database.watched(self._db, self.stopped):
                # one after the other: all of them are large
                return tuple(map(made, self._db.execute(query if self._version > 1 else database.for_schema_1(query))))
        except sqlite3.DatabaseError as error:
            raise database.trouble(self.path, error) from error
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
            raise database.Damaged(self.path, f"a row is not what pinsweep writes: {error!s:.80}") from error

    @property
    def _version(self) -> int:
        return int(self._first("PRAGMA user_version")[0])

    def _first(self, query: str, *values: object) -> Any:  # noqa: ANN401 (a row, or None)
        return next(iter(self._rows(query, *values)), None)

    def sessions(self) -> tuple[Session, ...]:
        """Return all sessions, oldest first."""
        return self._read(rows.session, f"SELECT {rows.SESSION} FROM session ORDER BY session")

    def last_session_of(self, experiments: Collection[str]) -> int | None:
        """Return the last session if it has all these experiments (SHA-256), or None."""
        last = self._first("SELECT max(session) FROM session")[0]
        digests = {digest for (digest,) in self._rows("SELECT sha256 FROM experiment WHERE session = ?", last)}
        return last if digests.issuperset(experiments) else None

    def experiments(self) -> tuple[StoredExperiment, ...]:
        """Return the texts of all experiments in this file, in the order of their first run."""
        return self._read(rows.experiment, f"SELECT {rows.EXPERIMENT} FROM experiment ORDER BY rowid")

    def cells(self) -> tuple[StoredCell, ...]:
        """Return all cells, in the order of their first plan."""
        return self._read(rows.cell, f"SELECT {rows.CELL} FROM point ORDER BY rowid")

    def conditions(self) -> tuple[Conditions, ...]:
        """Return the measuring conditions of the cells, without duplicates."""
        return self._read(
            rows.conditions,
            f"SELECT DISTINCT {rows.CONDITIONS} FROM run"
            " WHERE status IN ('ok', 'disturbed', 'misplaced') AND NOT warm_up ORDER BY session",
        )

    def superseded(self) -> frozenset[str]:
        """Return the point_id of every cell that the latest text of its sweep no longer contains."""
        rows = self._rows(
            "SELECT point_id FROM (SELECT point_id, session, max(session) OVER (PARTITION BY sweep) AS newest"
            " FROM point JOIN experiment ON sha256 = experiment) WHERE session < newest"
        )
        return frozenset(row[0] for row in rows)

    def skipped(self) -> tuple[Skipped, ...]:
        return self._read(rows.skipped, f"SELECT {rows.SKIPPED} FROM skipped ORDER BY sweep, point")

    def aliases(self) -> tuple[Alias, ...]:
        """Return the cells that are equal to other cells. Files from before 0.2 have no aliases."""
        if self._first("SELECT 1 FROM sqlite_master WHERE name = 'alias'") is None:
            return ()
        return self._read(rows.alias, f"SELECT {rows.ALIAS} FROM alias ORDER BY rowid")

    def runs(self) -> tuple[RunRecord, ...]:
        """Return all runs with their attempts, in start order."""
        orphan = self._first(
            "SELECT run_id, iif(session IN (SELECT session FROM session), 'point', 'session') FROM run"
            " WHERE session NOT IN (SELECT session FROM session) OR point_id NOT IN (SELECT point_id FROM point)"
        )
        if orphan:
            raise database.Damaged(self.path, f"run {orphan[0]} is of a {orphan[1]} that is not there")
        return self._read(rows.run, f"SELECT {rows.RUN} FROM run ORDER BY run_id")

    def attempts(self) -> dict[tuple[str, int], Tried]:
        """Return (point_id, repeat) → earlier attempts.

        The query is cached between runs if only this process writes the file.
        """
        if self._tried is not None:
            return dict(self._tried)
        records = self._rows(
            "SELECT point_id, repeat, CAST(ifnull(attempt, 0) AS INTEGER), status FROM run ORDER BY run_id"
        )
        tried: dict[tuple[str, int], Tried] = {}
        # one look at each row; GROUP BY goes back and forth between an index and them
        for point_id, repeat, attempt, status in records:
            now = Tried(attempt, status, int(status == "disturbed"))
            if before := tried.get((point_id, repeat)):
                last = now if attempt > before.attempts else before
                ok = "ok" in (before.status, status)
                now = Tried(last.attempts, "ok" if ok else last.status, before.disturbed + now.disturbed)
            tried[point_id, repeat] = now
        if self._claim is not None:
            self._tried = dict(tried)
        return tried

    def disturbed_that_count(self) -> int:
        """Return the number of disturbed runs that count as good because of `--allow-disturbed`."""
        disturbed = "CASE WHEN json_valid(counters) THEN json_array_length(counters, '$.reasons') > 0 END"
        return int(self._first(f"SELECT count(*) FROM run WHERE status = 'ok' AND {disturbed}")[0])

    def output(self, run_id: int, stream: str = "stdout") -> bytes:
        """Return the output of a run, byte for byte. Raises UserError if there is no such run."""
        return b"".join(self.output_pieces(run_id, stream, database.LONGEST_OUTPUT))

    def output_pieces(self, run_id: int, stream: str, piece_bytes: int = 1 << 20) -> Iterator[bytes]:
        """Yield the output of a run in pieces, because it may be as large as the memory.

        Raises UserError if there is no such run. Raises Damaged, also after the last piece.
        """
        with database.texts_up_to(self._db, database.LONGEST_OUTPUT + database.LONGEST_TEXT):
            row = self._first("SELECT zlib, size_bytes FROM output WHERE run_id = ? AND stream = ?", run_id, stream)
        if row is None:
            known = self._first("SELECT min(run_id), max(run_id) FROM run")
            runs = f"runs {known[0]} to {known[1]}" if known[0] is not None else "no runs"
            raise UserError(
                str(self.path),
                f"no {stream} of a run {run_id}",
                f"the file holds {runs}; `pinsweep show {self.path}` lists them",
            )
        packed, size = row
        yield from database.output_pieces(self.path, f"run {run_id}, {stream}", packed, size, piece_bytes)

    def parsed(self, record: RunRecord, cell: Cell) -> Parsed:
        """Return the parsed result of a run. Raises ParseError if the output cannot be read, Damaged."""
        stored = self._stored(record.run_id).get(record.run_id)
        result = self._choose(record, cell, stored)
        if isinstance(result, ParseError):
            raise result
        return result

    def parsed_runs(self, records: Iterable[RunRecord], cells: Mapping[str, Cell]) -> dict[int, Parsed | ParseError]:
        """Return the parsed results of the runs with numbers, or their parse errors. cells: the cells of the runs, by
        point_id.
        """
        stored = self._stored()
        return {
            record.run_id: self._choose(record, cells[record.point_id], stored.pop(record.run_id, None))
            for record in records
            if record.status in _READ
        }

    def _stored(self, run_id: int | None = None) -> dict[int, readings.Reading]:
        if self._version < 3:
            return {}
        try:
            with database.watched(self._db, self.stopped):
                return readings.read(self._db, self.path, run_id)
        except sqlite3.DatabaseError as error:
            raise database.trouble(self.path, error) from error

    def _choose(self, record: RunRecord, cell: Cell, stored: readings.Reading | None) -> Parsed | ParseError:
        """Return the stored result of a run if it is from the present parser. Otherwise parse the output."""
        if stored and stored[0] == _how(record, cell)[0]:
            return stored[1]
        return _attempt(lambda: readings.compact(self.parsed_anew(record, cell), self.path))

    def parsed_anew(self, record: RunRecord, cell: Cell) -> Parsed:
        """Return the result of the present parser, and ignore the stored result.

        Raises ParseError if the output cannot be read.
        """
        name, context = _how(record, cell)
        self._parser(name, record)
        logs = self._first("SELECT 1 FROM output WHERE run_id = ? AND stream = 'logs'", record.run_id)
        is_needed = {"stdout": True, "stderr": reads_stderr(cell.tool), "logs": logs}
        streams = (self._to_parse(record.run_id, stream) if read else b"" for stream, read in is_needed.items())
        text = text_to_parse(cell.tool, *streams)
        return parse_text(name, text, context)

    def _read_again(self) -> None:
        """Parse and store runs without a stored result, and runs with the result of an older parser."""
        query = "SELECT run_id, parser, version FROM run LEFT JOIN reading USING (run_id) WHERE status IN (?, ?)"
        missing = {
            run_id
            for run_id, parser, version in self._rows(query, *_READ)
            if parser is None or (parser in parser_names() and version != get_parser(parser).VERSION)
        }
        if not missing:
            return
        cells = {stored.cell.point_id: stored.cell for stored in self.cells()}
        records = [
            record
            for record in self.runs()
            if record.run_id in missing and _how(record, cells[record.point_id])[0] in parser_names()
        ]
        for begin in range(0, len(records), _RUNS_AT_ONCE):
            with self._transaction() as db:
                for record in records[begin : begin + _RUNS_AT_ONCE]:
                    cell = cells[record.point_id]
                    readings.remove(db, record.run_id)
                    readings.write(db, record.run_id, cell, _how(record, cell)[0], self._choose(record, cell, None))

    def _parser(self, name: str, record: RunRecord) -> Parser:
        """Return the parser of a run. Raises ParseError if there is no parser, because an extension is not installed."""
        if name in parser_names():
            return get_parser(name)
        (programs,) = self._first("SELECT programs FROM session WHERE session = ?", record.session)
        recorded = rows.programs(programs).get(name, {})
        raise ParseError("", extensions.lacking(name, str(recorded.get("extension", ""))))

    def _to_parse(self, run_id: int, stream: str) -> bytes:
        """Return the output of a run.

        Raises ParseError above the size limit, before unpacking, because 1 KB may expand to 256 MB.
        """
        from parsers.text import why_too_large

        size = self._first("SELECT size_bytes FROM output WHERE run_id = ? AND stream = ?", run_id, stream)
        why = why_too_large(size[0]) if size and type(size[0]) is int else ""
        if why and size[0] <= database.LONGEST_OUTPUT:
            raise ParseError("output", why)
        return self.output(run_id, stream)

    def runs_there(self) -> int:
        """Return how many runs there are, attempts and warm-ups included."""
        (count,) = self._first("SELECT count(*) FROM run")
        return int(count)


def _attempt(read: Callable[[], Parsed]) -> Parsed | ParseError:
    """Return the parsed result, or the parse error."""
    try:
        return read()
    except ParseError as error:
        return error
    except UserError as error:  # the metrics of its cell are wrong
        return ParseError(error.place, error.cause, error.hint)


def _join(cell: Cell, outputs: Mapping[str, bytes]) -> str:
    return text_to_parse(cell.tool, *(outputs.get(stream, b"") for stream in ("stdout", "stderr", "logs")))


def _how(record: RunRecord, cell: Cell) -> tuple[str, Mapping[str, Any]]:
    """Return (parser, context) for a run's output, from the tool and the cell's options. A capture has precedence."""
    reading = record.capture.reading if record.capture else {}
    return str(reading.get("parser", cell.tool)), {**cell.options, **reading}


def _apart_from_its_way(cell: Cell) -> str:
    """Return a key that is equal for cells that differ only in the way of measuring (AS_NEW)."""
    options = {name: value for name, value in cell.options.items() if name != AS_NEW}
    return canonical_json({**cell.canonical(), "options": options})


def _insert_run(db: sqlite3.Connection, run: PlannedRun, record: RunRecord, outputs: Mapping[str, bytes]) -> int:
    observed = asdict(record.capture) if record.capture else record.seen
    cursor = db.execute(
        "INSERT INTO run (session, point_id, repeat, attempt, status, reason, argv, env, program, placement, seen,"
        " order_index, started_utc, wall_s, exit_code, signal, usage, counters, warm_up) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            record.session, run.cell.point_id, record.repeat, record.attempt, record.status, record.reason,
            _json(list(record.argv)), _json(record.env), record.program,
            _placement_json(record.placement) if record.placement else None,
            _json(observed) if observed else None,
            record.order_index, record.started_utc, record.wall_s, record.exit_code, record.signal,
            _json(record.usage), _json(record.counters), record.warm_up,
        ),
    )  # fmt: skip
    run_id = int(cursor.lastrowid or 0)
    with database.texts_up_to(db, database.LONGEST_OUTPUT + database.LONGEST_TEXT):
        db.executemany(
            "INSERT INTO output (run_id, stream, size_bytes, zlib) VALUES (?,?,?,?)",
            [(run_id, stream, len(data), zlib.compress(data, 6)) for stream, data in outputs.items()],
        )
    return run_id


def open_result(path: Path, *, known: bool = False) -> ResultFile:
    """Open a result file for reading, without any write. Raises UserError for another kind of file, Damaged.

    `known`: the file was opened a moment ago, so its pages are not checked again. A large file has hundreds of MB.
    """
    if path.is_dir():
        raise UserError(str(path), "a folder, not a result file", f"name the files in it, say {path}/*.db")
    if not path.exists():
        meant = near_files(path, ("db",))
        raise UserError(str(path), "no such file", meant or "`pinsweep run EXPERIMENT -o FILE` makes one")
    result = _opened(path, known=known)
    if result is None:
        raise UserError(
            str(path),
            "not a pinsweep result file: nothing is in it",
            "`pinsweep run EXPERIMENT -o FILE` fills it",
        )
    return result


def open_begun(path: Path) -> ResultFile | None:
    """Open a file to continue for reading, or return None if it is missing or its creation was interrupted.

    Raises UserError for another kind of file.
    """
    try:
        if path.stat().st_size == 0:
            return None
    except OSError:  # not there, or not ours to see: `create_result` will say
        return None
    return _opened(path) if path.is_file() else open_result(path)


def create_result(path: Path, stopped: Callable[[], bool] = lambda: False) -> ResultFile:
    """Open a file for writing runs, create it if missing, and lock it against other pinsweep processes.

    The remainder of an interrupted creation counts as missing. A query calls `stopped` regularly. Raises UserError if
    it is another kind of file or another pinsweep uses it, and Damaged.
    """
    try:
        if path.exists() and not path.is_file():
            raise UserError(str(path), "is not a file", "name a file with -o")
        folder = follow(path).parent
        folders.make(folder)
        if not os.access(folder, os.W_OK):
            raise UserError(str(path), *folders.refused(path, folder))
        claim = claims.claim(path)
    except claims.Taken as taken:
        raise UserError(
            str(path),
            f"another pinsweep (pid {taken.pid}) is running into this file",
            "wait for it, or name another file with -o",
        ) from None
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            raise UserError(str(path), *database.NO_LOCKS) from error
        raise UserError(str(path), f"cannot be written: {error.strerror}", "name another file with -o") from error
    connection = None
    try:
        connection = database.connect(claim.path)
        if database.is_blank(claim.path, connection):
            database.create(connection)
        with database.watched(connection, stopped):
            database.check(path, connection)
        connection.execute("PRAGMA journal_mode = DELETE")  # no write-ahead log: ADR 2
        # the cells of a file that was overwritten meanwhile are not ours: no run of ours goes into it
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException as error:
        if connection is not None:
            connection.close()
        claim.end(unused=True)
        if isinstance(error, sqlite3.Error):
            raise database.unusable(path, error) from error
        raise
    return ResultFile(path, connection, claim, stopped)


def _opened(path: Path, *, known: bool = False) -> ResultFile | None:
    """Open an existing file for reading, or return None if the file is empty."""
    connection = None
    try:
        if not known:
            limits.opened(path)
        connection = database.connect_to_read(path)
        blank = database.is_blank(path, connection)
        if not blank:
            with database.watched(connection, lambda: False):
                database.check(path, connection)
                if not known:
                    database.check_pages(path, connection)
    except BaseException as error:
        if connection is not None:
            connection.close()
        limits.closed(path)
        if isinstance(error, OSError):
            raise UserError(str(path), f"cannot be read: {error.strerror}") from error
        if isinstance(error, sqlite3.Error):
            raise database.unusable(path, error) from error
        raise
    if blank:
        connection.close()
        limits.closed(path)
        return None
    return ResultFile(path, connection, None)


_SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
_AS_IT_IS = json.JSONEncoder(ensure_ascii=False)
"""Made once: json.dumps makes one a call, and a run is ten calls."""


def _json(value: Any) -> str:  # noqa: ANN401 (anything JSON holds)
    return _SORTED.encode(dict(value)) if isinstance(value, Mapping) else _AS_IT_IS.encode(value)


@functools.lru_cache(maxsize=256)
def _placement_json(placement: Placement) -> str:
    return _json(asdict(placement))


def _options(options: Mapping[str, Any]) -> str:
    """Return options by name. A nested value (the metrics of a command) keeps the order of the experiment."""
    return _AS_IT_IS.encode({name: options[name] for name in sorted(options)})


__all__ = [
    "APPLICATION_ID",
    "MAGIC",
    "Conditions",
    "Damaged",
    "ParseError",
    "ResultFile",
    "Session",
    "StoredCell",
    "StoredExperiment",
    "create_result",
    "open_begun",
    "open_result",
]
