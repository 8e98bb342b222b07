"""The result file: whole or not at all, byte for byte, readable by anybody."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from orchestrator.model import Place, PlannedRun, Point, RunRecord, Skipped, Status
from orchestrator.store import ResultFile, StoredExperiment, StoredPoint, create_result, open_result
from parsers.errors import UserError

METRICS = {"reply": {"regex": "reply ([0-9.]+)", "unit": "ms", "better": "lower"}}
POINT = Point(
    sweep="s",
    tool="command",
    options={"command": "echo {n}", "n": 3, "inner": (1, 2), "metrics": METRICS},
    place=Place(name="local", cpus="numa_node 0"),
    axes=("n", "place"),
)
EXPERIMENT = StoredExperiment(sha256="ab", path="e.yaml", title="Title", text="schema: 1\n", about="")


def begin(result: ResultFile) -> int:
    session = result.begin_session(
        started_utc="2026-01-01T00:00:00+00:00", version="0", argv=["run"], seed=7, host="h",
        facts={"kernel": "6", "governor": None}, topology="<topology/>", programs={"command": {"name": "echo"}},
    )  # fmt: skip
    result.add_plan(
        session, EXPERIMENT, [StoredPoint(point=POINT, sweep_title="S", repeats=2, experiment="ab")],
        [Skipped(sweep="s", point={"n": 9}, reason="no")],
    )  # fmt: skip
    return session


def add(
    result: ResultFile,
    session: int,
    stdout: bytes,
    *,
    status: Status = "ok",
    repeat: int = 1,
    attempt: int = 1,
) -> int:
    planned = PlannedRun(
        sweep="s", tool="command", point=POINT, repeat=repeat, argv=("echo",), env={}, placement=None,
        timeout_s=1, nominal_s=1, estimate_s=1, program="echo",
    )  # fmt: skip
    record = RunRecord(
        run_id=0, point_id=POINT.point_id, repeat=repeat, attempt=attempt, status=status, reason="", argv=("echo", "ü"), env={"A": "b"},
        placement={"name": "local"}, seen=None, program="echo", order_index=0, started_utc="2026-01-01T00:00:01+00:00", wall_s=0.5,
        exit_code=0, signal=None, usage={"user_s": 0.1}, session=session,
    )  # fmt: skip
    return result.add_run(planned, record, {"stdout": stdout, "stderr": b"\xff\x00"}, {})


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        run_id = add(result, begin(result), b"reply 2.5\n")
    with open_result(tmp_path / "r.db") as result:
        (session,) = result.sessions()
        (stored,) = result.points()
        (record,) = result.runs()

        assert session.facts == {"kernel": "6", "governor": None}
        assert stored.point == POINT
        assert stored.point.point_id == POINT.point_id
        assert record.argv == ("echo", "ü")
        assert result.skipped() == (Skipped(sweep="s", point={"n": 9}, reason="no"),)
        assert result.output(run_id) == b"reply 2.5\n"
        assert result.output(run_id, "stderr") == b"\xff\x00"


def test_figures_are_parsed_on_read_and_cached_by_parser_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"reply 2.5\n")
    with open_result(tmp_path / "r.db") as result:
        (record,) = result.runs()
        first = result.parsed(record, POINT)
        monkeypatch.setattr("parsers.command.parse", lambda *_: pytest.fail("the cache was not used"))
        again = result.parsed(record, POINT)

        assert [row["value"] for row in first.measurements.records()] == [2.5e6]  # ns
        assert again == first
        monkeypatch.setattr("parsers.command.VERSION", 999)
        with pytest.raises(pytest.fail.Exception):
            result.parsed(record, POINT)


def test_a_file_that_cannot_be_written_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    folder.mkdir()
    with create_result(folder / "r.db") as result:
        add(result, begin(result), b"reply 2.5\n")
    (folder / "r.db").chmod(0o444)
    folder.chmod(0o555)
    try:
        with open_result(folder / "r.db") as result:
            assert result.parsed(result.runs()[0], POINT).measurements.rows
    finally:
        folder.chmod(0o755)


def test_attempts_remember_the_good_one_else_the_last(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        session = begin(result)
        add(result, session, b"", status="failed")
        add(result, session, b"reply 1\n", attempt=2)
        add(result, session, b"", status="failed", attempt=3)
        add(result, session, b"", status="timeout", repeat=2)
        add(result, session, b"", status="interrupted", repeat=2, attempt=2)

        assert result.attempts() == {(POINT.point_id, 1): (3, "ok"), (POINT.point_id, 2): (2, "interrupted")}


def test_a_cell_that_became_possible_is_no_longer_skipped(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        session = begin(result)
        result.add_plan(
            session, EXPERIMENT, [StoredPoint(point=POINT, sweep_title="S", repeats=2, experiment="ab")], []
        )

        assert result.skipped() == ()


def test_one_file_at_any_moment(tmp_path: Path) -> None:
    """A copy taken while a run goes on is a whole result file."""
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"reply 2.5\n")
        (tmp_path / "copy.db").write_bytes((tmp_path / "r.db").read_bytes())
    with open_result(tmp_path / "copy.db") as copy:
        assert len(copy.runs()) == 1


def test_another_program_can_read_it(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"reply 2.5\n")
    with sqlite3.connect(tmp_path / "r.db") as db:
        assert db.execute(
            "SELECT sweep, status, json_extract(options, '$.n') FROM run JOIN point USING (point_id)"
        ).fetchall() == [("s", "ok", 3)]


@pytest.mark.parametrize("content", [b"", b"text", b"SQLite format 3\0" + b"\0" * 100])
def test_other_files_are_refused_with_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.db").write_bytes(content)

    with pytest.raises(UserError, match="not a pinsweep result file"):
        open_result(tmp_path / "x.db")
    assert (tmp_path / "x.db").read_bytes() == content


def test_a_folder_and_a_few_letters_are_called_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")  # SQLite takes so short a file for an empty database
    with pytest.raises(UserError, match="not a pinsweep result file"):
        open_result(tmp_path / "a.txt")
    with pytest.raises(UserError, match="a folder, not a result file"):
        open_result(tmp_path)


def test_a_file_of_a_newer_pinsweep_is_refused(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db"):
        pass
    with sqlite3.connect(tmp_path / "r.db") as db:
        db.execute("PRAGMA user_version = 99")

    with pytest.raises(UserError, match="newer pinsweep"):
        open_result(tmp_path / "r.db")


def test_a_missing_run_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"")
        with pytest.raises(UserError, match="no stdout of a run 5") as error:
            result.output(5)
    assert "runs 1 to 1" in error.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(UserError, match="cannot be written"):
        create_result(tmp_path / "r.db")
