"""The result file: one SQLite database per host and session, committed run by run. I/O.

Tables (schema version in `PRAGMA user_version`; times in seconds, sizes in bytes):

    session     one row per `pinsweep run` on this file: host facts, topology, programs, seed, versions
    experiment  the text of every experiment file that was run, once per text
    point       one row per cell
    run         one row per started process that ended, its attempts kept
    output      stdout and stderr of a run, compressed, never rewritten
    skipped     cells that this machine could not host
    alias       cells that are others on this machine, under another name
    parsed      cache of the parsed tables, per parser version; may be emptied at any time

`datasette` and `pandas.read_sql` open it as it is.
"""

from __future__ import annotations

import functools
import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.machine.facts import MemoryModule, memory_modules
from orchestrator.machine.topology import Topology
from orchestrator.model import Alias, Capture, Cell, Place, Placement, PlannedRun, RunRecord, Skipped, Tried
from orchestrator.store import lockfile
from parsers import get_parser, text_to_parse
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.measurement import Blocks, Flag, Parsed, Scalar, Table

SCHEMA_VERSION = 2
APPLICATION_ID = 0x70696E73  # "pins": tells `file` and us that a database is ours
MAGIC = b"SQLite format 3\0"
"""What every SQLite database begins with."""

_PARSED_AT_ONCE = 500  # rows of the cache in one commit; few enough that a sweep that runs waits for none

_SCHEMA = """
CREATE TABLE session (
    session INTEGER PRIMARY KEY,
    started_utc TEXT NOT NULL, ended_utc TEXT,
    pinsweep_version TEXT NOT NULL, argv TEXT NOT NULL,
    seed INTEGER NOT NULL,
    host TEXT NOT NULL, facts TEXT NOT NULL,           -- JSON; null where a fact could not be read
    topology TEXT NOT NULL,                            -- hwloc XML
    programs TEXT NOT NULL                             -- JSON: name -> path, version, sha256, stand_in, notes
) STRICT;
CREATE TABLE experiment (
    sha256 TEXT PRIMARY KEY, path TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
    about TEXT NOT NULL,
    session INTEGER NOT NULL REFERENCES session        -- the last one that ran it
) STRICT;
CREATE TABLE point (
    point_id TEXT PRIMARY KEY, sweep TEXT NOT NULL, sweep_title TEXT NOT NULL, tool TEXT NOT NULL,
    options TEXT NOT NULL, place TEXT, axes TEXT NOT NULL,          -- JSON
    repeats INTEGER NOT NULL,                          -- asked for; 0: known, and not asked for
    experiment TEXT NOT NULL REFERENCES experiment,
    most_repeats INTEGER NOT NULL DEFAULT 0            -- with `repeats: auto`: how many there may be; else 0
) STRICT;
CREATE TABLE run (
    run_id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session,
    point_id TEXT NOT NULL REFERENCES point,
    repeat INTEGER NOT NULL, attempt INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ok','failed','timeout','interrupted','disturbed','misplaced')),
    reason TEXT NOT NULL,
    argv TEXT NOT NULL, env TEXT NOT NULL, program TEXT NOT NULL,
    placement TEXT, seen TEXT,                                      -- asked; read from /proc while it ran
    order_index INTEGER NOT NULL, started_utc TEXT NOT NULL, wall_s REAL NOT NULL,
    exit_code INTEGER, signal INTEGER,
    usage TEXT NOT NULL,                                            -- JSON: rusage of the process and its children
    counters TEXT NOT NULL,                                         -- JSON: what the machine counted meanwhile, and what of it disturbed
    warm_up INTEGER NOT NULL DEFAULT 0,                -- 1: kept, and left out of all numbers; its repeat is 0
    UNIQUE (point_id, repeat, attempt)
) STRICT;
CREATE TABLE output (
    run_id INTEGER NOT NULL REFERENCES run, stream TEXT NOT NULL, size_bytes INTEGER NOT NULL,
    zlib BLOB NOT NULL, PRIMARY KEY (run_id, stream)
) STRICT, WITHOUT ROWID;
CREATE TABLE skipped (
    sweep TEXT NOT NULL, point TEXT NOT NULL, reason TEXT NOT NULL, session INTEGER NOT NULL REFERENCES session,
    PRIMARY KEY (sweep, point)
) STRICT, WITHOUT ROWID;
CREATE TABLE parsed (
    run_id INTEGER PRIMARY KEY REFERENCES run, version INTEGER NOT NULL, zlib BLOB NOT NULL
) STRICT;
CREATE INDEX run_by_point ON run (point_id, repeat);
"""


_SINCE_2 = {"point": "most_repeats", "run": "warm_up"}
"""Table → the column that files of schema 1 lack; in all their rows it would be 0."""

_ALIAS = (
    "CREATE TABLE IF NOT EXISTS alias (sweep TEXT NOT NULL, point TEXT NOT NULL, of TEXT NOT NULL) STRICT"
)
"""Beside the schema: files that were made without it are of the same version, and who does not know it misses no number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One `pinsweep run` on a file."""

    session: int
    started_utc: str
    ended_utc: str | None
    pinsweep_version: str
    argv: tuple[str, ...]
    seed: int
    host: str
    facts: Mapping[str, Any]
    topology_text: str  # hwloc's XML; "" where there was none
    programs: Mapping[str, Mapping[str, Any]]

    @property
    def topology(self) -> Topology | None:
        """The machine as the session recorded it, None if it recorded none that can be read."""
        return _topology(self.topology_text)

    @property
    def memory_modules(self) -> tuple[MemoryModule, ...]:
        return memory_modules(self.facts)


@functools.lru_cache(maxsize=64)
def _topology(text: str) -> Topology | None:
    try:
        return topology_from_text(text)
    except (UserError, ValueError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCell:
    """A cell with what the reader of a result needs beside it."""

    cell: Cell
    sweep_title: str
    repeats: int  # asked for; 0: known, and not asked for
    experiment: str  # sha256 of the experiment's text
    most_repeats: int = 0  # with `repeats: auto`: how many there may be; else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """How runs of a cell that came to their end were measured."""

    point_id: str
    session: int
    placement: Placement | None
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExperiment:
    sha256: str
    path: str
    title: str
    text: str
    about: str


class ResultFile:
    """A result file, open. Use as a context manager."""

    def __init__(self, path: Path, connection: sqlite3.Connection, claim: lockfile.Claim | None) -> None:
        self.path = path
        self._db = connection
        self._claim = claim  # None: it is only read
        self._unsaved: dict[int, tuple[str, bytes]] = {}  # run → parser, its output on the way into the cache

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close it; one that was made and in which nothing was begun is removed again."""
        self._save_parsed()
        claim, self._claim = self._claim, None
        unused = claim is not None and claim.made and self._is_unused()
        self._db.close()
        if claim is not None:
            claim.end(unused=unused)

    def _is_unused(self) -> bool:
        try:
            return self._db.execute("SELECT 1 FROM session").fetchone() is None
        except sqlite3.Error:  # damaged meanwhile: nothing to remove it for
            return False

    # --- writing -----------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit all of it or nothing. A full or failing disk becomes a PinsweepError that says so."""
        try:
            with self._db:
                yield self._db
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "") == "SQLITE_CONSTRAINT_FOREIGNKEY":
                raise PinsweepError(
                    str(self.path),
                    "was overwritten while the run wrote into it: it holds other cells now",
                    "what is there stays as it is; run the same command again with another -o",
                ) from error
            raise self._moved() or PinsweepError(
                str(self.path),
                f"cannot be written: {error}",
                "see that the file is whole and that there is space, then run the same command again",
            ) from error

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
            "move it back, then run the same command again: it goes on",
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
        """Record who runs where with what; return the session's number."""
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
        with self._transaction() as db:
            db.execute("UPDATE session SET ended_utc = ? WHERE session = ?", (ended_utc, session))

    def add_plan(
        self,
        session: int,
        experiment: StoredExperiment,
        cells: Iterable[StoredCell],
        skipped: Iterable[Skipped],
        aliases: Iterable[Alias] = (),
    ) -> None:
        """Record what is to be run. What is there already stays; cells skipped before and possible now are no longer skipped."""
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
                row = cell.canonical()
                db.execute(
                    "INSERT INTO point (point_id, sweep, sweep_title, tool, options, place, axes, repeats, experiment, most_repeats)"
                    " VALUES (?,?,?,?,?,?,?,?,?,?)"
                    " ON CONFLICT (point_id) DO UPDATE SET sweep_title = excluded.sweep_title,"
                    " axes = excluded.axes, experiment = excluded.experiment,"
                    " repeats = iif(excluded.repeats, excluded.repeats, repeats),"  # what was asked for before stays so
                    " most_repeats = iif(excluded.repeats, excluded.most_repeats, most_repeats)",
                    (
                        cell.point_id, cell.sweep, stored.sweep_title, cell.tool, _options(row["options"]),
                        None if row["place"] is None else _json(row["place"]), _json(list(cell.axes)),
                        stored.repeats, stored.experiment, stored.most_repeats,
                    ),
                )  # fmt: skip
            sweeps = {(item.sweep,) for item in skipped} | {(stored.cell.sweep,) for stored in cells}
            db.executemany("DELETE FROM skipped WHERE sweep = ?", sorted(sweeps))
            db.execute(_ALIAS)
            db.executemany("DELETE FROM alias WHERE sweep = ?", sorted(sweeps))
            db.executemany(
                "INSERT INTO alias (sweep, point, of) VALUES (?,?,?)",
                [(item.sweep, _json(dict(item.cell)), _json(dict(item.of))) for item in aliases],
            )
            db.executemany(
                "INSERT OR REPLACE INTO skipped (sweep, point, reason, session) VALUES (?,?,?,?)",
                [(item.sweep, _json(dict(item.cell)), item.reason, session) for item in skipped],
            )

    def add_run(
        self, run: PlannedRun, record: RunRecord, outputs: Mapping[str, bytes], counters: Mapping[str, Any]
    ) -> int:
        """Commit one ended run with its raw output; return its number. Either all of it is kept or nothing."""
        with self._transaction() as db:
            return _insert_run(db, run, record, outputs, counters)

    def add_captured(self, runs: Iterable[tuple[PlannedRun, RunRecord, bytes, bytes]]) -> int:
        """Commit runs that were captured elsewhere, all in one: run, record, what it printed, `dump_parsed` of what that says.

        Returns how many there were.
        """
        count = 0
        with self._transaction() as db:
            for run, record, text, dumped in runs:
                run_id = _insert_run(db, run, record, {"stdout": text, "stderr": b""}, {})
                _insert_parsed(db, run_id, _how(record, run.cell)[0], dumped)
                count += 1
        return count

    def copy(self, target: Path) -> None:
        """Copy all that is committed into a database that is empty, at one moment, though runs go on.

        Their commits wait meanwhile: so the target is not synced here. Raises sqlite3.Error where it cannot be written.
        """
        with closing(sqlite3.connect(target)) as new:
            new.execute("PRAGMA synchronous = OFF")
            new.execute("PRAGMA journal_mode = OFF")
            self._db.backup(new)

    # --- reading -----------------------------------------------------------------------------------------

    def _rows(self, query: str, *values: object) -> list[Any]:
        """Return what a query finds. Raises PinsweepError where the file is damaged."""
        try:
            return self._db.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise _damaged(self.path, error) from error

    def _since_2(self, table: str) -> str:
        """Return what to select of a table for its column of schema 2: files of schema 1 are read as they are."""
        (version,) = self._first("PRAGMA user_version")
        return _SINCE_2[table] if version >= 2 else "0"

    def _first(self, query: str, *values: object) -> Any:  # noqa: ANN401 (a row, or None)
        return next(iter(self._rows(query, *values)), None)

    def sessions(self) -> tuple[Session, ...]:
        """Return all sessions, oldest first."""
        columns = (
            "session, started_utc, ended_utc, pinsweep_version, argv, seed, host, facts, topology, programs"
        )
        rows = self._rows(f"SELECT {columns} FROM session ORDER BY session")
        return tuple(
            Session(
                session=row[0], started_utc=row[1], ended_utc=row[2], pinsweep_version=row[3],
                argv=tuple(json.loads(row[4])), seed=row[5], host=row[6], facts=json.loads(row[7]),
                topology_text=row[8], programs=json.loads(row[9]),
            )
            for row in rows
        )  # fmt: skip

    def experiments(self) -> tuple[StoredExperiment, ...]:
        """Return every experiment text that was run on this file, in the order of their first run."""
        rows = self._rows("SELECT sha256, path, title, text, about FROM experiment ORDER BY rowid")
        return tuple(
            StoredExperiment(sha256=r[0], path=r[1], title=r[2], text=r[3], about=r[4]) for r in rows
        )

    def cells(self) -> tuple[StoredCell, ...]:
        """Return all cells, in the order in which they were first planned."""
        rows = self._rows(
            "SELECT sweep, sweep_title, tool, options, place, axes, repeats, experiment,"
            f" {self._since_2('point')} FROM point ORDER BY rowid"
        )
        return tuple(
            StoredCell(
                cell=Cell(
                    sweep=row[0],
                    tool=row[2],
                    options=_tuples(json.loads(row[3])),
                    place=None if row[4] is None else Place(**json.loads(row[4])),
                    axes=tuple(json.loads(row[5])),
                ),
                sweep_title=row[1],
                repeats=row[6],
                experiment=row[7],
                most_repeats=row[8],
            )
            for row in rows
        )

    def conditions(self) -> tuple[Conditions, ...]:
        """Return under which conditions the cells were measured, each once."""
        rows = self._rows(
            "SELECT DISTINCT point_id, session, placement, argv FROM run"
            f" WHERE status IN ('ok', 'disturbed', 'misplaced') AND NOT {self._since_2('run')} ORDER BY session"
        )
        return tuple(
            Conditions(
                point_id=row[0],
                session=row[1],
                placement=Placement.from_json(json.loads(row[2])) if row[2] else None,
                argv=tuple(json.loads(row[3])),
            )
            for row in rows
        )

    def superseded(self) -> frozenset[str]:
        """Return the point_id of every cell that the text which its sweep was last run from no longer asks for."""
        rows = self._rows(
            "SELECT point_id FROM (SELECT point_id, session, max(session) OVER (PARTITION BY sweep) AS newest"
            " FROM point JOIN experiment ON sha256 = experiment) WHERE session < newest"
        )
        return frozenset(row[0] for row in rows)

    def skipped(self) -> tuple[Skipped, ...]:
        rows = self._rows("SELECT sweep, point, reason FROM skipped ORDER BY sweep, point")
        return tuple(Skipped(sweep=row[0], cell=json.loads(row[1]), reason=row[2]) for row in rows)

    def aliases(self) -> tuple[Alias, ...]:
        """Return the cells that were others under another name; of files of before 0.2 none are known."""
        if self._first("SELECT 1 FROM sqlite_master WHERE name = 'alias'") is None:
            return ()
        rows = self._rows("SELECT sweep, point, of FROM alias ORDER BY rowid")
        return tuple(Alias(sweep=row[0], cell=json.loads(row[1]), of=json.loads(row[2])) for row in rows)

    def runs(self) -> tuple[RunRecord, ...]:
        """Return every run, attempts included, in the order in which they were started."""
        rows = self._rows(
            "SELECT run_id, point_id, repeat, attempt, status, reason, argv, env, placement, seen, program,"
            " order_index, started_utc, wall_s, exit_code, signal, usage, session, counters,"
            f" {self._since_2('run')} FROM run ORDER BY run_id"
        )
        return tuple(map(_run, rows))

    def attempts(self) -> dict[tuple[str, int], Tried]:
        """Return (point_id, repeat) → what was tried so far."""
        rows = self._rows(  # of a group, `status` is that of the row with max(attempt): SQLite's own rule
            "SELECT point_id, repeat, max(attempt), status, (SELECT max(o.status = 'ok') FROM run o"
            " WHERE o.point_id = run.point_id AND o.repeat = run.repeat), sum(status = 'disturbed') FROM run GROUP BY point_id, repeat"
        )
        return {(row[0], row[1]): Tried(row[2], "ok" if row[4] else row[3], row[5]) for row in rows}

    def output(self, run_id: int, stream: str = "stdout") -> bytes:
        """Return what a run printed, byte for byte. Raises UserError if there is no such run."""
        row = self._first("SELECT zlib FROM output WHERE run_id = ? AND stream = ?", run_id, stream)
        if row is None:
            known = self._first("SELECT min(run_id), max(run_id) FROM run")
            runs = f"runs {known[0]} to {known[1]}" if known[0] is not None else "no runs"
            raise UserError(
                str(self.path),
                f"no {stream} of a run {run_id}",
                f"the file holds {runs}; `pinsweep show {self.path}` lists them",
            )
        try:
            return zlib.decompress(row[0])
        except zlib.error as error:
            raise _damaged(self.path, error) from error

    def parsed(self, record: RunRecord, cell: Cell) -> Parsed:
        """Return what a run's output says, from the cache where it was read by the same parser version.

        Raises ParseError if it cannot be read. The cache is written where the file can be written.
        """
        name, context = _how(record, cell)
        parser = get_parser(name)
        if record.run_id in self._unsaved:
            self._save_parsed()
        row = self._first(
            "SELECT zlib FROM parsed WHERE run_id = ? AND version = ?", record.run_id, parser.VERSION
        )
        if row is not None:
            return _load_parsed(row[0])
        parsed = parser.parse(
            text_to_parse(cell.tool, self.output(record.run_id), self.output(record.run_id, "stderr")),
            context,
        )
        self._unsaved[record.run_id] = name, dump_parsed(parsed)
        if len(self._unsaved) >= _PARSED_AT_ONCE:
            self._save_parsed()
        return parsed

    def _save_parsed(self) -> None:
        """Write what was parsed into the cache: a commit a run would cost more than the parsing."""
        try:
            with self._db:
                for run_id, (parser, dumped) in self._unsaved.items():
                    _insert_parsed(self._db, run_id, parser, dumped)
        except sqlite3.Error:
            pass  # opened read-only, or the disk is full: a cache may be missing
        self._unsaved.clear()


def _how(record: RunRecord, cell: Cell) -> tuple[str, Mapping[str, Any]]:
    """Return (parser, context) for a run's output: the tool's own and the cell's options, but for what a capture says."""
    reading = record.capture.reading if record.capture else {}
    return str(reading.get("parser", cell.tool)), {**cell.options, **reading}


def _run(row: Sequence[Any]) -> RunRecord:
    seen = json.loads(row[9] or "null")
    capture = Capture(**seen) if seen and "file" in seen else None
    return RunRecord(
        run_id=row[0], point_id=row[1], repeat=row[2], attempt=row[3], status=row[4], reason=row[5],
        argv=tuple(json.loads(row[6])), env=json.loads(row[7]),
        placement=Placement.from_json(json.loads(row[8])) if row[8] else None, seen=None if capture else seen, capture=capture,
        program=row[10], order_index=row[11], started_utc=row[12], wall_s=row[13], exit_code=row[14], signal=row[15],
        usage=json.loads(row[16]), session=row[17], counters=json.loads(row[18]), warm_up=bool(row[19]),
    )  # fmt: skip


def _insert_run(
    db: sqlite3.Connection,
    run: PlannedRun,
    record: RunRecord,
    outputs: Mapping[str, bytes],
    counters: Mapping[str, Any],
) -> int:
    seen = asdict(record.capture) if record.capture else record.seen
    cursor = db.execute(
        "INSERT INTO run (session, point_id, repeat, attempt, status, reason, argv, env, program, placement, seen,"
        " order_index, started_utc, wall_s, exit_code, signal, usage, counters, warm_up) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            record.session, run.cell.point_id, record.repeat, record.attempt, record.status, record.reason,
            _json(list(record.argv)), _json(record.env), record.program,
            _placement_json(record.placement) if record.placement else None,
            _json(seen) if seen else None,
            record.order_index, record.started_utc, record.wall_s, record.exit_code, record.signal,
            _json(record.usage), _json(counters), record.warm_up,
        ),
    )  # fmt: skip
    run_id = int(cursor.lastrowid or 0)
    db.executemany(
        "INSERT INTO output (run_id, stream, size_bytes, zlib) VALUES (?,?,?,?)",
        [(run_id, stream, len(data), zlib.compress(data, 6)) for stream, data in outputs.items()],
    )
    return run_id


def _insert_parsed(db: sqlite3.Connection, run_id: int, parser: str, dumped: bytes) -> None:
    db.execute(
        "INSERT OR REPLACE INTO parsed (run_id, version, zlib) VALUES (?,?,?)",
        (run_id, get_parser(parser).VERSION, dumped),
    )


def open_result(path: Path) -> ResultFile:
    """Open a result file for reading (and for the cache, where it can be written). Raises UserError if it is none."""
    if path.is_dir():
        raise UserError(str(path), "a folder, not a result file", f"name the files in it, say {path}/*.db")
    if not path.is_file():
        raise UserError(str(path), "no such file", "`pinsweep run EXPERIMENT -o FILE` makes one")
    result = _opened(path)
    if result is None:
        raise UserError(
            str(path),
            "not a pinsweep result file: nothing is in it",
            "`pinsweep run EXPERIMENT -o FILE` fills it",
        )
    return result


def open_begun(path: Path) -> ResultFile | None:
    """Open a file that is to be continued, for reading; None where it is still to be made, or its making was cut short.

    Raises UserError if it is something else.
    """
    try:
        if path.stat().st_size == 0:
            return None
    except OSError:  # not there, or not ours to see: `create_result` will say
        return None
    return _opened(path) if path.is_file() else open_result(path)


def create_result(path: Path) -> ResultFile:
    """Open a result file for runs, make it if it is not there, and keep others from running into it.

    What a creation that was cut short has left counts as not there. Raises UserError if it is another kind of file, or
    if another pinsweep is at work on it.
    """
    try:
        if path.exists() and not path.is_file():
            raise UserError(str(path), "is not a file", "name a file with -o")
        folder = Path(os.path.realpath(path)).parent
        _make_folder(folder)
        if not os.access(folder, os.W_OK):
            raise UserError(
                str(path), "SQLite's journal goes beside it, and its folder cannot be written", "name another file with -o"
            )  # fmt: skip
        claim = lockfile.claim(path)
    except lockfile.Taken as taken:
        raise UserError(
            str(path),
            f"another pinsweep (pid {taken.pid}) is running into this file",
            "wait for it, or name another file with -o",
        ) from None
    except OSError as error:
        raise UserError(
            str(path), f"cannot be written: {error.strerror}", "name another file with -o"
        ) from error
    database = None
    try:
        database = _connect(claim.path, "rw")
        if _is_blank(claim.path, database):
            database.executescript(
                f"BEGIN; {_SCHEMA} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;"
            )
        _check(path, database)
        _bring_up(database)
        database.execute("PRAGMA journal_mode = DELETE")  # no write-ahead log: ADR 2
        database.execute("PRAGMA foreign_keys = ON")  # of a file that was overwritten, its cells are not ours
    except BaseException as error:
        if database is not None:
            database.close()
        claim.end(unused=True)
        if isinstance(error, sqlite3.Error):
            raise _unusable(path, error) from error
        raise
    return ResultFile(path, database, claim)


def _make_folder(folder: Path) -> None:
    """Make a folder and its parents; their entries are on the disk before a run is said to be."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


def _opened(path: Path) -> ResultFile | None:
    """Open a file that is there, for reading (and for the cache); None if nothing is in it."""
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    database = None
    try:
        database = _connect(path, "rw" if writable else "ro")
        blank = _is_blank(path, database)
        if not blank:
            _check(path, database)
            (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise _damaged(path, ValueError(verdict))
    except (sqlite3.Error, PinsweepError) as error:
        if database is not None:
            database.close()
        if isinstance(error, PinsweepError):
            raise
        raise _unusable(path, error) from error
    if blank:
        database.close()
        return None
    return ResultFile(path, database, None)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Open a database that is there, so that what it commits is on the disk when the commit returns.

    A commit ends with the removal of the rollback journal. FULL, SQLite's default, leaves that removal to the file
    system: after a power cut within its next seconds the journal is there again, and takes the commit back. EXTRA
    syncs the folder, too.
    """
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=30)
    try:
        database.execute("PRAGMA synchronous = EXTRA")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _is_blank(path: Path, database: sqlite3.Connection) -> bool:
    """Tell whether nothing was ever committed: what is left of a creation that was cut short, or an empty file.

    The first question to SQLite rolls a journal back that such a creation may have left, often to a file of 0 bytes.
    """
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application or tables:
        return False
    with path.open("rb") as stream:  # SQLite takes a text of a few letters for an empty database
        return stream.read(len(MAGIC)) in (b"", MAGIC)


def _damaged(path: Path, error: Exception) -> PinsweepError:
    return PinsweepError(
        str(path), f"is damaged: {error}", "take a copy of before; sqlite3's .recover saves what can be saved"
    )


def _unusable(path: Path, error: sqlite3.Error) -> UserError:
    if isinstance(error, sqlite3.OperationalError):  # no permission, no locks on this file system, disk full
        return UserError(
            str(path),
            f"cannot be used as a result file: {error}",
            "name a file on another file system with -o",
        )
    return UserError(
        str(path),
        f"not a pinsweep result file: {error}",
        "name another file; `pinsweep run` and `pinsweep parse` make them",
    )


def _check(path: Path, database: sqlite3.Connection) -> None:
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise UserError(str(path), "not a pinsweep result file", "name another file")
    if version < 1:
        raise _damaged(path, ValueError(f"schema {version}, which no pinsweep writes"))
    if version > SCHEMA_VERSION:
        raise UserError(
            str(path),
            f"made by a newer pinsweep (schema {version}, this one reads {SCHEMA_VERSION})",
            "update pinsweep",
        )


_SORTED = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
_AS_IT_IS = json.JSONEncoder(ensure_ascii=False)
"""Made once: json.dumps makes one a call, and a run is ten calls."""


def _bring_up(database: sqlite3.Connection) -> None:
    """Give a file of schema 1 that is continued the columns of this one, all of them or none."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version < 2:
        columns = [f"ALTER TABLE {t} ADD COLUMN {c} INTEGER NOT NULL DEFAULT 0;" for t, c in _SINCE_2.items()]
        database.executescript(f"BEGIN; {' '.join(columns)} PRAGMA user_version = 2; COMMIT;")


def _json(value: Any) -> str:  # noqa: ANN401 (anything JSON holds)
    return (_SORTED if isinstance(value, Mapping) else _AS_IT_IS).encode(value)


@functools.lru_cache(maxsize=256)
def _placement_json(placement: Placement) -> str:
    return _json(asdict(placement))


def _options(options: Mapping[str, Any]) -> str:
    """Return options by name; what they hold (the metrics of a command) stays in the order of the experiment."""
    return _AS_IT_IS.encode({name: options[name] for name in sorted(options)})


def _tuples(options: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}


def dump_parsed(parsed: Parsed) -> bytes:
    """Return what `parsed` keeps of a run: JSON, compressed piece by piece, for a table may be larger than its text."""
    packer = zlib.compressobj(6)
    return b"".join([*(packer.compress(piece.encode()) for piece in _json_of(parsed)), packer.flush()])


def _json_of(parsed: Parsed) -> Iterator[str]:
    flags = [(flag.id, flag.text) for flag in parsed.flags]
    yield f'{{"flags": {json.dumps(flags)}, "facts": {json.dumps(dict(parsed.facts))}, "tables": {{'
    for n, (name, table) in enumerate(parsed.tables.items()):
        kind = "blocks" if isinstance(table.rows, Blocks) else "rows"
        items = table.rows.blocks if isinstance(table.rows, Blocks) else table.rows
        step = 100 if kind == "blocks" else 1000
        begin = json.dumps({"columns": table.columns, kind: items[:step]})
        yield ("," if n else "") + json.dumps(name) + ":" + begin[:-2]  # without its "]}"
        for at in range(step, len(items), step):
            yield "," + json.dumps(items[at : at + step])[1:-1]
        yield "]}"
    yield "}}"


def _loaded(table: Mapping[str, Any]) -> Sequence[tuple[Scalar, ...]]:
    if "blocks" in table:
        return Blocks((tuple(shared), tuple(columns)) for shared, columns in table["blocks"])
    return tuple(tuple(row) for row in table["rows"])


def _load_parsed(data: bytes) -> Parsed:
    raw = json.loads(zlib.decompress(data))
    tables = {name: Table(columns=tuple(t["columns"]), rows=_loaded(t)) for name, t in raw["tables"].items()}
    return Parsed(tables=tables, flags=tuple(Flag(id=i, text=t) for i, t in raw["flags"]), facts=raw["facts"])


__all__ = [
    "ParseError",
    "ResultFile",
    "Session",
    "StoredCell",
    "StoredExperiment",
    "create_result",
    "open_begun",
    "open_result",
]
