"""Open a SQLite database that a stranger may have made. The database cannot run code, and every query ends. I/O.

Every table that pinsweep reads must be a table of `SCHEMA`. A view could run forever, and a trigger could change
written rows. Views, indexes and tables that a user has added do not change.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import re
import shutil
import sqlite3
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from orchestrator.machine.safe_files import open_file
from orchestrator.store import limits
from parsers.errors import PinsweepError, UserError

SCHEMA_VERSION = 3
APPLICATION_ID = 0x70696E73  # "pins": marks a database as pinsweep's for `file` and for this code
MAGIC = b"SQLite format 3\0"
"""The first bytes of every SQLite database."""

SCHEMA = """
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
"""

READINGS = """
CREATE TABLE series (
    series INTEGER PRIMARY KEY, tool TEXT NOT NULL, metric TEXT NOT NULL,
    statistic TEXT NOT NULL,                           -- "mean", "p99"; '': the tool gives one value
    unit TEXT NOT NULL, direction TEXT NOT NULL,       -- what is better: higher, lower, neither
    labels TEXT NOT NULL,                              -- JSON
    UNIQUE (tool, metric, statistic, unit, direction, labels)
) STRICT;
CREATE TABLE reading (
    run_id INTEGER PRIMARY KEY REFERENCES run, parser TEXT NOT NULL, version INTEGER NOT NULL,
    facts TEXT NOT NULL, flags TEXT NOT NULL,                       -- JSON
    columns TEXT NOT NULL,                             -- JSON: those of the parser's table of measurements
    unreadable TEXT NOT NULL                           -- why the output cannot be read; '': it can
) STRICT;
CREATE TABLE measurement (
    run_id INTEGER NOT NULL REFERENCES reading, position INTEGER NOT NULL, series INTEGER NOT NULL REFERENCES series,
    value REAL NOT NULL, PRIMARY KEY (run_id, position)
) STRICT, WITHOUT ROWID;
CREATE TABLE reading_table (
    run_id INTEGER NOT NULL REFERENCES reading, name TEXT NOT NULL, zlib BLOB NOT NULL, PRIMARY KEY (run_id, name)
) STRICT, WITHOUT ROWID;
"""
"""What parsers read (`orchestrator.store.readings`), since schema 3."""

SINCE_2 = {"point": "most_repeats", "run": "warm_up"}
"""Table → the column that files of schema 1 lack; in all their rows it would be 0."""


def for_schema_1(query: str) -> str:
    """Return a query without the columns that files of schema 1 lack."""
    return re.sub(rf"\b({'|'.join(SINCE_2.values())})\b", "0", query)


ALIAS = "CREATE TABLE IF NOT EXISTS alias (sweep TEXT NOT NULL, point TEXT NOT NULL, of TEXT NOT NULL) STRICT"
"""A table outside the schema version, because older files lack it, and older versions need no number in it."""

LONGEST_TEXT: Final = 16 << 20
"""Bytes of a text in a row: the largest that there is, an XML of hwloc, has some of them."""
LONGEST_PARSED: Final = 96 << 20
"""Characters of a further table that a parser returned of one run."""
LONGEST_OUTPUT: Final = 256 << 20
"""Bytes of an output, as it was printed and as it is kept: pinsweep kept no more of any run."""

_STEPS: Final = 100_000
"""SQLite's own steps between two looks at how a query goes: about a millisecond."""


class Damaged(PinsweepError):
    """The content of a result file is not from pinsweep or is damaged. The file was not changed."""

    exit_status = 2

    def __init__(self, path: Path | str, what: object) -> None:
        super().__init__(
            str(path),
            f"is damaged: {what}",
            "use an older copy; sqlite3's .recover saves some data",
        )


_OURS: Final = "name another file; `pinsweep run` and `pinsweep parse` make them"

SYNCHRONOUS = "EXTRA"
"""Sync mode, so that a commit is on the disk on return.

A commit ends with the removal of the rollback journal. FULL, SQLite's default, does not sync this removal: after a
power cut within the next seconds the journal exists again, and undoes the commit. EXTRA syncs the folder too.
"""


NO_LOCKS: Final = ("is on a file system without locks", "name a file on another file system with -o")


def connect(path: Path) -> sqlite3.Connection:
    """Open a database to write, with each commit synced to the disk. Raises Damaged.

    Raises UserError for a journal that SQLite must not roll back.
    """
    _refuse_foreign(path)
    with path.open("rb") as stream:
        if not _has_locks(stream):
            raise UserError(str(path), *NO_LOCKS)
    database = _connect(path, "mode=rw")
    try:
        database.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
    except BaseException:
        database.close()
        raise
    return database


def connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a database without writing to it, its journal or its folder.

    Queries and commits wait for each other. A private copy is opened if there is a journal or a write-ahead log, or if
    the file system has no locks. Raises UserError, Damaged, sqlite3.Error, OSError.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise UserError(str(path), "is not a file", _OURS)
    with open_file(path, links=True) as stream:
        uses_wal = stream.read(20)[18:] == b"\2\2"
        has_locks = _has_locks(stream)
    if uses_wal or not has_locks or _refuse_foreign(path):
        return _copy(path, uses_wal=uses_wal)
    return _connect(path, "mode=ro")


def _has_locks(stream: BinaryIO) -> bool:
    try:
        fcntl.lockf(stream, fcntl.LOCK_SH | fcntl.LOCK_NB, 1, _NOBODYS_BYTE)
    except OSError:
        return False
    return True


_NOBODYS_BYTE: Final = 1 << 61
"""A byte that neither SQLite nor `claims` locks. A lock on it shows whether the file system has locks."""

_SUFFIXES: Final = ("-journal", "-wal")
_JOURNAL_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")


def _refuse_foreign(path: Path) -> bool:
    """Return whether a database has a journal.

    Raises UserError for one that another user may have put there, or that deletes a file: who makes a journal decides
    what SQLite changes.
    """
    real = Path(os.path.realpath(path))
    any_there = False
    for suffix in _SUFFIXES:
        journal = Path(f"{real}{suffix}")
        with contextlib.suppress(FileNotFoundError):
            about = journal.lstat()
            any_there = True
            what = ""
            if not stat.S_ISREG(about.st_mode):  # SQLite waits for a writer of a FIFO
                what = "is not a file, but SQLite keeps its journal there"
            elif about.st_uid not in (os.geteuid(), real.stat().st_uid):
                what = "belongs to another user than the result file"
            elif _ends_with_magic(journal):
                what = "is the journal of several databases"
            if what:
                hint = f"move {journal} away if no run is at work on the result file"
                raise UserError(str(path), f"{journal.name} {what}", hint)
    return any_there


def _ends_with_magic(journal: Path) -> bool:
    """Return whether a journal ends with the name of a file. SQLite would delete that file."""
    with open_file(journal) as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - len(_JOURNAL_MAGIC)))
        return stream.read(len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC


def _copy(path: Path, *, uses_wal: bool) -> sqlite3.Connection:
    """Open a private copy of a database after a rollback of its journal. The copy has no name and is removed on close."""
    real = os.path.realpath(path)
    try:
        with tempfile.TemporaryDirectory(prefix="pinsweep-") as folder:
            copy = Path(folder, "copy.db")
            for _ in range(_TRIES):
                before = _state(real)
                _refuse_foreign(path)
                with contextlib.suppress(FileNotFoundError):  # a commit has ended
                    for suffix in before:
                        shutil.copyfile(real + suffix, f"{copy}{suffix}")
                _refuse_foreign(copy)  # the journal may have been replaced
                if _state(real) == before:
                    break
                for suffix in _SUFFIXES:
                    Path(f"{copy}{suffix}").unlink(missing_ok=True)
                time.sleep(0.1)
            else:
                raise PinsweepError(str(path), "changes while it is copied", "give the same command again")
            # TMPDIR may lack locks, too; a write-ahead log needs them
            database = _connect(copy, "mode=rw" if uses_wal else "mode=rw&nolock=1")
            try:
                database.execute("PRAGMA journal_mode = DELETE").fetchone()
            except BaseException:
                database.close()
                raise
            return database
    except OSError as error:
        raise UserError(
            str(path),
            f"cannot be copied to {tempfile.gettempdir()}: {error.strerror}",
            "set TMPDIR to a folder with more space",
        ) from error


_TRIES: Final = 20


def _state(real: str) -> dict[str, tuple[int, int, int]]:
    """Return the inode, size and change time of a database and its journals, by suffix. Missing files are omitted."""
    states = {}
    for suffix in ("", *_SUFFIXES):
        with contextlib.suppress(FileNotFoundError):
            about = Path(real + suffix).stat()
            states[suffix] = about.st_ino, about.st_size, about.st_mtime_ns
    return states


def _connect(path: Path, how: str) -> sqlite3.Connection:
    database = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=30)
    try:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_TEXT)
        # no function of a stranger's schema has an effect outside it
        database.execute("PRAGMA trusted_schema = OFF")
        database.execute("PRAGMA cell_size_check = ON")
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()  # looks for a journal
    except sqlite3.Error:
        database.close()
        raise
    except UnicodeDecodeError as error:  # in SQLite's message, which quotes unreadable text
        database.close()
        raise Damaged(path, "its schema is not UTF-8") from error
    return database


def is_blank(path: Path, database: sqlite3.Connection) -> bool:
    """Return whether a file has no commit: an empty file, or the remainder of an interrupted creation."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if application or tables:
        return False
    with path.open("rb") as stream:  # SQLite takes a text of a few letters for an empty database
        return stream.read(len(MAGIC)) in (b"", MAGIC, bytes(len(MAGIC)))


def trouble(path: Path, error: sqlite3.Error) -> PinsweepError:
    """Return the error for a failed query: a machine error (exit status 1) or a file error."""
    name = getattr(error, "sqlite_errorname", "")
    for begin, (what, help_) in _OF_THE_MACHINE.items():
        if name.startswith(begin):
            return PinsweepError(str(path), f"{what}: {error}", help_)
    return Damaged(path, error)


_OF_THE_MACHINE: Final = {
    "SQLITE_READONLY_ROLLBACK": ("a run into it was killed", "give the same command again"),
    "SQLITE_BUSY": (
        "another program keeps it locked",
        "end the program that has it open (fuser FILE), then give the same command again",
    ),
    "SQLITE_IOERR": (
        "the system reports an error of its disk or file system",
        "look into the kernel's log (dmesg), then give the same command again",
    ),
    "SQLITE_FULL": ("no space is left", "make space, then give the same command again"),
    "SQLITE_CANTOPEN": ("cannot be opened", "look at its permissions and at ulimit -n"),
    "SQLITE_READONLY": ("cannot be written", "check the permissions of the file and its folder"),
    "SQLITE_NOMEM": ("needs more memory", "look at ulimit -v"),
}
"""Beginning of an SQLite error name → cause and next step."""


def unusable(path: Path, error: sqlite3.Error) -> PinsweepError:
    """Return the error for failed first queries. The file may be something other than a result file."""
    if isinstance(error, sqlite3.OperationalError):
        return trouble(path, error)
    return UserError(str(path), f"not a pinsweep result file: {error}", _OURS)


def create(database: sqlite3.Connection) -> None:
    """Create all tables in one transaction."""
    ours = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
    database.executescript(f"BEGIN; {SCHEMA} {READINGS} {ours} COMMIT;")


def check_pages(path: Path, database: sqlite3.Connection) -> None:
    """Check each page of the file with SQLite. Raises Damaged for the first error, MemoryError."""
    if not limits.has_room(32 << 20):  # without enough memory, SQLite reports a page as damaged
        raise MemoryError
    with texts_up_to(database, LONGEST_OUTPUT + LONGEST_TEXT):
        (verdict,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise Damaged(path, verdict)


def check(path: Path, database: sqlite3.Connection) -> None:
    """Raise an error for a file that is not a result file, has an unknown version, or has a foreign schema."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise UserError(str(path), "not a pinsweep result file", _OURS)
    if version < 1:
        raise Damaged(path, f"schema {version}, which no pinsweep writes")
    if version > SCHEMA_VERSION:
        raise UserError(
            str(path),
            f"made by a newer pinsweep (schema {version}, this one reads {SCHEMA_VERSION})",
            "update pinsweep",
        )
    _check_schema(path, database, version)


Column = tuple[str, str, bool, int]
"""Name, type, NOT NULL, place in the primary key."""


@functools.cache
def _columns() -> Mapping[str, frozenset[Column]]:
    """Return the columns of each table in SCHEMA."""
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(f"{SCHEMA} {READINGS} {ALIAS}")
        return _columns_of(
            empty, [name for (name,) in empty.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        )


def _columns_of(database: sqlite3.Connection, tables: Iterable[str]) -> dict[str, frozenset[Column]]:
    """Return the columns of each STRICT table that have their written values. `check_pages` checks the types."""
    query = (
        'SELECT c.name, c.type, c."notnull" = 1, c.pk FROM pragma_table_xinfo(?1) AS c'
        " JOIN pragma_table_list(?1) AS t WHERE hidden = 0 AND strict AND t.schema = 'main'"
    )
    return {name: frozenset(database.execute(query, (name,))) for name in tables}


def _check_schema(path: Path, database: sqlite3.Connection, version: int) -> None:
    """Refuse a file if a table of SCHEMA is missing, is not a table, or has a trigger."""
    wanted = _columns()
    names = {}
    for kind, name, table, root in database.execute("SELECT type, name, tbl_name, rootpage != 0 FROM sqlite_master"):
        if str(table).lower() in wanted and kind == "trigger":
            raise Damaged(path, f"{name} is a trigger on the table {table}, which no pinsweep makes")
        if str(name).lower() in wanted and kind in ("table", "view"):
            if kind == "view" or not root:
                raise Damaged(path, f"{name} is a {'view' if kind == 'view' else 'virtual table'}, not a table")
            names[str(name).lower()] = str(name)
    present = _columns_of(database, names)
    for table, columns in wanted.items():
        if table not in names:
            if table == "alias" or (version < 3 and f"CREATE TABLE {table} " in READINGS):  # older files lack it
                continue
            raise Damaged(path, f"it has no table {table}")
        later = SINCE_2.get(table, "") if version < 2 else ""
        if missing := sorted({column for column, *_ in columns - present[table]} - {later}):
            raise Damaged(path, f"its table {table} has no column {', '.join(missing)} as pinsweep makes it")


@contextmanager
def watched(database: sqlite3.Connection, stopped: Callable[[], bool]) -> Iterator[None]:
    """Make queries stoppable by Ctrl-C and by `stopped` (KeyboardInterrupt), and by a limit of CPU time.

    SQLite does not handle signals. A regular callback gives Python the chance. An exception in the callback ends the
    query and is lost.
    """
    ends = time.monotonic() + 1.0

    def look() -> bool:
        return time.monotonic() > ends and stopped()

    database.set_progress_handler(look, _STEPS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorname", "") != "SQLITE_INTERRUPT":
            raise
        limits.check()
        raise KeyboardInterrupt from error
    finally:
        database.set_progress_handler(None, 0)


@contextmanager
def texts_up_to(database: sqlite3.Connection, size_bytes: int) -> Iterator[None]:
    """Set SQLite's size limit of texts and blobs in a block. SQLite refuses a larger value before reading it."""
    before = database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size_bytes)
    try:
        yield
    finally:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def inflate(packed: bytes, most_bytes: int) -> bytes:
    """Return data that zlib packed.

    Raises ValueError if the result exceeds `most_bytes` or is incomplete. A few packed bytes may expand to GBs.
    """
    packer = zlib.decompressobj()
    try:
        whole = packer.decompress(packed, most_bytes)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    return whole if packer.eof else b"".join(inflated(packed, most_bytes, piece_bytes=most_bytes))


def inflated(packed: bytes, most_bytes: int, piece_bytes: int) -> Iterator[bytes]:
    """Yield the same in pieces."""
    packer = zlib.decompressobj()
    size = 0
    for at in range(0, len(packed), piece_bytes):
        left = packed[at : at + piece_bytes]
        while left and not packer.eof:
            try:
                piece = packer.decompress(left, min(piece_bytes, most_bytes - size))
            except zlib.error as error:
                raise ValueError(str(error)) from error
            yield piece
            left, size = packer.unconsumed_tail, size + len(piece)
            if size >= most_bytes and not packer.eof:
                raise ValueError(f"it holds more than {most_bytes} bytes")
    if not packer.eof:
        raise ValueError("it ends too early")


def output_pieces(path: Path, name: str, packed: object, size: object, piece_bytes: int = 1 << 20) -> Iterator[bytes]:
    """Yield an output in pieces. Raises Damaged, also behind the last piece."""
    if type(packed) is not bytes or type(size) is not int or not 0 <= size <= LONGEST_OUTPUT:
        raise Damaged(path, f"{name} is not an output")
    length = 0
    try:
        for piece in inflated(packed, size + 1, piece_bytes):
            length += len(piece)
            yield piece
    except ValueError as error:
        raise Damaged(path, f"{name}: {error}") from error
    if length != size:
        raise Damaged(path, f"{name} has {length} bytes, and says {size}")


def bring_up(database: sqlite3.Connection) -> None:
    """Give a file of an earlier schema that is continued the tables of this one, in a transaction that the caller ends."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == SCHEMA_VERSION:
        return
    database.execute("BEGIN")
    for table, column in SINCE_2.items() if version < 2 else ():
        database.execute(f"ALTER TABLE {table} ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
    for statement in filter(str.strip, READINGS.split(";\n")):
        database.execute(statement)
    for cache in ("parsed", "kept_answer"):  # column names of earlier schemas
        database.execute(f"DROP TABLE IF EXISTS {cache}")
    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
