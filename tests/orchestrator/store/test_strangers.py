"""Result files that a stranger made, or a disk damaged: named as damaged, with the place, before anything is made of them."""

from __future__ import annotations

import os
import resource
import signal
import sqlite3
import threading
import zlib
from pathlib import Path

import pytest

from orchestrator.model import Cell, Group, Place, Placement, PlannedRun, RunRecord, Skipped
from orchestrator.store import database, limits, progress
from orchestrator.store.database import Damaged
from orchestrator.store.result_file import (
    ResultFile,
    StoredCell,
    StoredExperiment,
    create_result,
    open_begun,
    open_result,
)
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.text import LARGEST

POINT = Cell(
    sweep="s",
    tool="command",
    options={"command": "echo", "metrics": {"reply": {"regex": "reply ([0-9.]+)", "unit": "ms"}}},
    place=Place(name="local", cpus="numa_node 0"),
    axes=("place",),
)
PLACEMENT = Placement(name="local", groups=(Group(cpus=(0,)),))


def run_into(result: ResultFile, repeat: int = 1) -> None:
    """Put a session with one run into a result file."""
    session = result.begin_session(
        started_utc="2026-01-01T00:00:00+00:00", version="0", argv=["run"], seed=7, host="h",
        facts={"kernel": "6", "governor": None}, topology="", programs={"command": {"name": "echo"}},
    )  # fmt: skip
    result.add_plan(
        session,
        StoredExperiment(sha256="ab", path="e.yaml", title="T", text="schema: 1\n", about=""),
        [StoredCell(cell=POINT, sweep_title="S", repeats=2, experiment="ab")],
        [Skipped(sweep="s", cell={"n": 9}, reason="no")],
    )
    planned = PlannedRun(
        sweep="s", tool="command", cell=POINT, repeat=repeat, argv=("echo",), env={}, placement=PLACEMENT,
        timeout_s=1, nominal_s=1, estimate_s=1, program="echo",
    )  # fmt: skip
    record = RunRecord(
        run_id=0, point_id=POINT.point_id, repeat=repeat, attempt=1, status="ok", reason="", argv=("echo",), env={"A": "b"},
        placement=PLACEMENT, seen=None, program="echo", order_index=0, started_utc="2026-01-01T00:00:01+00:00", wall_s=0.5,
        exit_code=0, signal=None, usage={"user_s": 0.1}, session=session,
    )  # fmt: skip
    result.add_run(planned, record, {"stdout": b"reply 2.5\n", "stderr": b"\xff"})


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with create_result(tmp_path / "r.db") as result:
        run_into(result)
    return tmp_path / "r.db"


def change(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)


def read(result: ResultFile) -> None:
    """Read all that a result file holds."""
    result.sessions()
    result.experiments()
    result.skipped()
    result.aliases()
    result.conditions()
    result.superseded()
    result.attempts()
    cells = {stored.cell.point_id: stored.cell for stored in result.cells()}
    for record in result.runs():
        result.output(record.run_id)
        result.output(record.run_id, "stderr")
        result.parsed(record, cells[record.point_id]).printed()


@pytest.mark.parametrize(
    ("statements", "what"),
    [
        (["DROP TABLE skipped", f"CREATE VIEW skipped AS {ENDLESS} 'a' sweep, '' point, '' reason, 1 session FROM n"], "skipped is a view"),
        (["DROP TABLE alias", f"CREATE VIEW Alias AS {ENDLESS} 'a' sweep, '' point, '' of FROM n"], "Alias is a view"),
        (["DROP TABLE skipped", "CREATE VIRTUAL TABLE skipped USING fts5(sweep, point, reason, session)"], "skipped is a virtual table"),
        (["CREATE TRIGGER t AFTER INSERT ON run BEGIN UPDATE run SET status = 'failed'; END"], "t is a trigger on the table run"),
        (["DROP TABLE output"], "no table output"),
        (["DROP TABLE measurement"], "no table measurement"),
        (["ALTER TABLE run DROP COLUMN usage"], "its table run has no column usage"),
        (["ALTER TABLE run DROP COLUMN usage", "ALTER TABLE run ADD COLUMN usage TEXT AS (argv || argv)"], "no column usage"),
        (["ALTER TABLE skipped RENAME TO old", "CREATE TABLE skipped (sweep TEXT, point TEXT, reason TEXT, session INTEGER)"], "its table skipped has no column"),
        (["CREATE TABLE other AS SELECT * FROM run", "DROP TABLE run", "ALTER TABLE other RENAME TO run"], "its table run has no column"),
        (["PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = replace(sql, 'repeats INTEGER', 'repeats TEXT') WHERE name = 'point'"], "its table point has no column most_repeats, repeats"),
    ],
)  # fmt: skip
def test_what_is_read_by_name_is_a_table_that_does_nothing(path: Path, statements: list[str], what: str) -> None:
    change(path, *statements)

    for take in (open_result, open_begun, create_result):
        with pytest.raises(Damaged, match=what) as error:
            take(path)
        assert error.value.exit_status == 2


def test_what_a_user_adds_is_left_alone(path: Path) -> None:
    change(
        path,
        "CREATE VIEW mine AS SELECT sweep, wall_s FROM run JOIN point USING (point_id)",
        "CREATE INDEX my_index ON run (wall_s)",
        "CREATE TABLE note (text TEXT)",
        "CREATE TRIGGER my_trigger AFTER INSERT ON note BEGIN DELETE FROM note; END",
    )
    with open_result(path) as result:
        read(result)
    with create_result(path) as result:
        run_into(result, repeat=2)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT sweep FROM mine").fetchall() == [("s",), ("s",)]


def packed(json: bytes) -> bytes:
    return zlib.compress(json)


DEEP = "[" * 100_000
STRANGE = [
    ("session", "facts", "[]", "not what pinsweep writes"),
    ("session", "facts", '{"dimms": [{"size": 1}]}', "not what pinsweep writes"),
    ("session", "facts", '{"memory_bytes": 1e999}', "not what pinsweep writes: a number is not finite"),
    ("session", "facts", "{", "not what pinsweep writes"),
    ("session", "facts", DEEP, "not what pinsweep writes"),
    ("session", "facts", f'{{"a": {"9" * 5000}}}', "not what pinsweep writes"),
    ("session", "facts", r'{"a": "\ud800"}', "not what pinsweep writes"),
    ("session", "programs", '{"command": {"files": {"a": {"sha256": 1}}}}', "not what pinsweep writes"),
    ("session", "argv", "{}", "not what pinsweep writes"),
    ("point", "options", "[]", "not what pinsweep writes"),
    ("point", "options", '{"n": 4}', "a point_id is not the hash"),
    ("point", "place", '{"node": "1"}', "not what pinsweep writes"),
    ("point", "axes", "[1]", "not what pinsweep writes"),
    ("point", "repeats", 10**12, "not what pinsweep writes"),
    ("run", "point_id", "none", "run 1 is of a point that is not there"),
    ("run", "session", 9, "run 1 is of a session that is not there"),
    ("run", "env", '{"A": 1}', "not what pinsweep writes"),
    ("run", "placement", '{"groups": []}', "not what pinsweep writes"),
    ("run", "placement", '{"name": "n", "groups": [{"cpus": ["a"]}]}', "not what pinsweep writes"),
    ("run", "placement", '{"name": "n", "groups": [{"cpus": [1048576]}]}', "not what pinsweep writes"),
    ("run", "seen", '{"file": 1}', "not what pinsweep writes"),
    ("run", "usage", '{"user_s": null}', "not what pinsweep writes"),
    ("run", "counters", '{"reasons": [1]}', "not what pinsweep writes"),
    ("run", "started_utc", "noon", "not what pinsweep writes"),
    ("run", "wall_s", 9e999, "not what pinsweep writes"),
    ("skipped", "point", "[]", "not what pinsweep writes"),
    ("output", "zlib", b"x", "run 1, std(out|err): "),
    ("output", "zlib", zlib.compress(b"reply 2.5\n")[:-3], "run 1, std(out|err): it ends too early"),
    ("output", "zlib", zlib.compress(bytes(1 << 20)), "run 1, std(out|err): it holds more than"),
    ("output", "size_bytes", 11, "run 1, std(out|err) has .* bytes, and says 11"),
    ("output", "size_bytes", 1 << 40, "run 1, std(out|err) is not an output"),
    ("reading", "facts", '{"a": []}', "readings are not the result of a parser"),
    ("reading", "flags", "[1]", "readings are not the result of a parser"),
    ("reading", "columns", '["index", "value"]', "readings are not the result of a parser"),
    ("reading", "columns", "{", "readings are not the result of a parser"),
    ("series", "labels", "[]", "readings are not the result of a parser"),
    ("series", "labels", DEEP, "readings are not the result of a parser"),
    ("measurement", "series", 7, "readings are not the result of a parser"),
    ("measurement", "value", 9e999, "readings are not the result of a parser"),
    ("reading_table", "zlib", b"x", "a table 'printed' is not the result of a parser"),
    ("reading_table", "zlib", packed(b"{}"), "a table 'printed' is not the result of a parser"),
    ("reading_table", "zlib", packed(b'{"metric": ["reply"], "step": []}'), "a table 'printed' is not the result of a parser"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "column", "value", "what"), STRANGE, ids=lambda v: f"{v!s:.30}")
def test_a_value_that_pinsweep_does_not_write_is_damage(
    path: Path, table: str, column: str, value: object, what: str
) -> None:
    with sqlite3.connect(path) as db:
        db.execute(f"UPDATE {table} SET {column} = ?", (value,))

    with open_result(path) as result, pytest.raises(Damaged, match=what):
        read(result)


def test_a_value_of_another_type_than_its_column_is_damage(path: Path) -> None:
    change(
        path,
        "DROP TABLE alias",
        "CREATE TABLE alias (sweep, point, of)",
        "INSERT INTO alias VALUES ('s', x'00', '{}')",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = 'CREATE TABLE alias (sweep TEXT NOT NULL, point TEXT NOT NULL, of TEXT NOT NULL) STRICT'"
        " WHERE name = 'alias'",
    )
    with pytest.raises(Damaged, match="non-TEXT value"):
        open_result(path)


def test_a_text_that_is_too_long_is_not_read_into_memory(path: Path) -> None:
    change(path, f"UPDATE run SET reason = replace(hex(zeroblob({10 << 20})), '0', 'a')")

    with open_result(path) as result, pytest.raises(Damaged, match="too big"):
        result.runs()


def test_an_output_that_is_too_large_to_be_parsed_is_not_unpacked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """48 runs of 256 MB each, which take a KB each in a file, are 0.5 s of CPU time a run."""
    change(path, f"UPDATE output SET size_bytes = {LARGEST + 1}", "UPDATE reading SET version = 0")
    monkeypatch.setattr(database, "inflated", lambda *_, **__: pytest.fail("it is unpacked"))
    with open_result(path) as result:
        record, cell = result.runs()[0], result.cells()[0].cell
        with pytest.raises(ParseError, match="a text of more than 32 MiB is not read"):
            result.parsed(record, cell)


@pytest.mark.parametrize("end", ["-journal", "-wal"])
def test_what_is_no_journal_is_not_opened_as_one(path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """SQLite waits for who writes into a FIFO, and no signal ends that."""
    os.mkfifo(f"{path}{end}")
    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: pytest.fail("it is opened"))
    for take in (open_result, open_begun, create_result):
        with pytest.raises(UserError, match="is not a file"):
            take(path)


@pytest.mark.slow
def test_a_limit_of_cpu_time_ends_a_query(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINSWEEP_READ_CPU", "2")
    with (
        limits.limited(),
        open_result(path) as result,
        pytest.raises(PinsweepError, match="takes more than 2 s of CPU time") as error,
    ):
        result._rows(f"{ENDLESS} max(i) FROM n")

    assert (error.value.exit_status, error.value.place) == (1, str(path))
    assert "PINSWEEP_READ_CPU" in error.value.hint


@pytest.mark.slow
def test_a_limit_of_cpu_time_ends_a_look_at_the_progress(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_CPU)
    monkeypatch.setenv("PINSWEEP_READ_CPU", "1")
    monkeypatch.setattr(progress, "_check_outputs", lambda _, db: db.execute(f"{ENDLESS} max(i) FROM n").fetchall())
    with pytest.raises(PinsweepError, match="takes more than 1 s of CPU time"):
        progress.read(path)

    assert resource.getrlimit(resource.RLIMIT_CPU) == before


def test_a_look_within_other_limits_leaves_none_behind(path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_CPU)
    with limits.limited():
        within = resource.getrlimit(resource.RLIMIT_DATA)
        progress.read(path)
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] >= within[0] > 0

    assert (resource.getrlimit(resource.RLIMIT_DATA), resource.getrlimit(resource.RLIMIT_CPU)) == before


def test_a_limit_of_memory_ends_the_reading(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    monkeypatch.setenv("PINSWEEP_READ_MEMORY", "16M")
    monkeypatch.setattr(database, "check_pages", lambda *_: bytearray(1 << 30))
    with limits.limited(), pytest.raises(MemoryError):
        open_result(path)

    assert "takes more than 16 MiB of memory" in str(limits.memory_error())
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_ctrl_c_ends_a_query(path: Path) -> None:
    def ask(result: ResultFile) -> None:
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        result._rows(f"{ENDLESS} max(i) FROM n")

    with open_result(path) as result, pytest.raises(KeyboardInterrupt):
        ask(result)


@pytest.mark.slow
def test_a_stop_that_was_asked_for_ends_a_query_that_lasts(path: Path) -> None:
    with create_result(path, lambda: True) as result:
        assert result.runs()
        with pytest.raises(KeyboardInterrupt):
            result._rows(f"{ENDLESS} max(i) FROM n")
