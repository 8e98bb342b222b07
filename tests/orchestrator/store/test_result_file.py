"""The result file: whole or not at all, byte for byte, readable by anybody."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.model import Capture, Cell, Group, Place, Placement, PlannedRun, RunRecord, Skipped, Status
from orchestrator.store import database
from orchestrator.store.result_file import (
    ResultFile,
    StoredCell,
    StoredExperiment,
    create_result,
    open_begun,
    open_result,
)
from parsers import command
from parsers.errors import ParseError, PinsweepError, UserError
from parsers.measurement import Parsed, Table

METRICS = {"reply": {"regex": "reply ([0-9.]+)", "unit": "ms", "better": "lower"}}
POINT = Cell(
    sweep="s",
    tool="command",
    options={"command": "echo {n}", "n": 3, "inner": (1, 2), "metrics": METRICS},
    place=Place(name="local", cpus="numa_node 0"),
    axes=("n", "place"),
)
PLACEMENT = Placement(name="local", groups=(Group(cpus=(2, 0), membind=(0,)),), relation="local")
EXPERIMENT = StoredExperiment(sha256="ab", path="e.yaml", title="Title", text="schema: 1\n", about="")


def begin(result: ResultFile) -> int:
    session = result.begin_session(
        started_utc="2026-01-01T00:00:00+00:00", version="0", argv=["run"], seed=7, host="h",
        facts={"kernel": "6", "governor": None}, topology="<topology/>", programs={"command": {"name": "echo"}},
    )  # fmt: skip
    result.add_plan(
        session, EXPERIMENT, [StoredCell(cell=POINT, sweep_title="S", repeats=2, experiment="ab")],
        [Skipped(sweep="s", cell={"n": 9}, reason="no")],
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
    parsed: Parsed | None = None,
) -> int:
    planned = PlannedRun(
        sweep="s", tool="command", cell=POINT, repeat=repeat, argv=("echo",), env={}, placement=None,
        timeout_s=1, nominal_s=1, estimate_s=1, program="echo",
    )  # fmt: skip
    record = RunRecord(
        run_id=0, point_id=POINT.point_id, repeat=repeat, attempt=attempt, status=status, reason="", argv=("echo", "ü"), env={"A": "b"},
        placement=PLACEMENT, seen=None, program="echo", order_index=0, started_utc="2026-01-01T00:00:01+00:00", wall_s=0.5,
        exit_code=0, signal=None, usage={"user_s": 0.1}, session=session,
    )  # fmt: skip
    return result.add_run(planned, record, {"stdout": stdout, "stderr": b"\xff\x00"}, parsed)


@pytest.mark.parametrize(
    ("placement", "seen", "read"),
    [
        ('{"name": "local"}', None, (Placement(name="local", groups=()), None, None)),
        (None, '{"processes": []}', (None, {"processes": []}, None)),
        (None, '{"file": "a.out", "digest": "ab"}', (None, None, Capture(file="a.out", digest="ab"))),
        (
            None,
            '{"file": "a", "digest": "b", "reading": {"rows": [1]}}',
            (None, None, Capture(file="a", digest="b", reading={"rows": [1]})),
        ),
    ],
)
def test_files_of_before_are_read(
    placement: str | None, seen: str | None, read: tuple[object, ...], tmp_path: Path
) -> None:
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"")
    with sqlite3.connect(tmp_path / "r.db") as db:
        db.execute("UPDATE run SET placement = ?, seen = ?", (placement, seen))
    with open_result(tmp_path / "r.db") as result:
        (record,) = result.runs()

    assert (record.placement, record.seen, record.capture) == read


@pytest.mark.parametrize("text", ["", "<topology/>", "{", "no such machine", "<not xml"])
def test_a_topology_that_cannot_be_read_is_none(text: str, tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        begin(result)
    with sqlite3.connect(tmp_path / "r.db") as db:
        db.execute("UPDATE session SET topology = ?", (text,))
    with open_result(tmp_path / "r.db") as result:
        (session,) = result.sessions()

    assert session.topology is None


def test_the_topology_is_parsed_once(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        begin(result)
    with sqlite3.connect(tmp_path / "r.db") as db:
        db.execute("UPDATE session SET topology = 'core:2 pu:2'")
    with open_result(tmp_path / "r.db") as result:
        first, again = (*result.sessions(), *result.sessions())

    assert first.topology is again.topology
    assert first.topology is not None
    assert len(first.topology.pus) == 4


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        run_id = add(result, begin(result), b"reply 2.5\n")
    with open_result(tmp_path / "r.db") as result:
        (session,) = result.sessions()
        (stored,) = result.cells()
        (record,) = result.runs()

        assert session.facts == {"kernel": "6", "governor": None}
        assert stored.cell == POINT
        assert stored.cell.point_id == POINT.point_id
        assert record.argv == ("echo", "ü")
        assert record.placement == PLACEMENT
        assert result.skipped() == (Skipped(sweep="s", cell={"n": 9}, reason="no"),)
        assert result.output(run_id) == b"reply 2.5\n"
        assert result.output(run_id, "stderr") == b"\xff\x00"


def stored(path: Path) -> list[tuple[object, ...]]:
    """Return what a file stores of each number."""
    query = (
        "SELECT run_id, tool, metric, statistic, unit, direction, labels, value FROM measurement JOIN series USING (series)"
        " ORDER BY run_id, position"
    )
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def test_numbers_are_stored_when_their_run_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "r.db"
    with create_result(path) as result:
        session = begin(result)
        add(result, session, b"reply 2.5\n", parsed=command.parse("reply 2.5\n", POINT.options))
        add(result, session, b"reply 1\nreply 3\n", repeat=2)
        add(result, session, b"killed\n", repeat=3)
        add(result, session, b"reply 4\n", repeat=4, status="failed")
    monkeypatch.setattr("parsers.command.parse", lambda *_: pytest.fail("it is parsed again"))

    assert stored(path) == [
        (1, "command", "reply", "", "ns", "lower", "{}", 2.5e6),
        (2, "command", "reply", "", "ns", "lower", "{}", 1e6),
        (2, "command", "reply", "", "ns", "lower", "{}", 3e6),
    ]
    with open_result(path) as result:
        records = result.runs()
        found = result.parsed_runs(records, {POINT.point_id: POINT})
        assert [[m.value for m in result.parsed(record, POINT).measured()] for record in records[:2]] == [
            [2.5e6],
            [1e6, 3e6],
        ]
        assert [isinstance(found[run_id], ParseError) for run_id in (1, 2, 3)] == [False, False, True]
        assert [m.labels for m in found[2].measured()] == [{"index": 0}, {"index": 1}]  # type: ignore[union-attr]
        assert 4 not in found


def test_what_an_older_parser_read_is_read_again_and_stored_with_the_next_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.db"
    with create_result(path) as result:
        add(result, begin(result), b"reply 2.5\n")
    monkeypatch.setattr("parsers.command.VERSION", 999)
    monkeypatch.setattr(
        "parsers.command.parse",
        lambda *_: Parsed(
            tables={"measurements": Table(columns=("metric", "unit", "value"), rows=(("reply", "ns", 7.0),))}
        ),
    )

    with open_result(path) as result:
        assert [m.value for m in result.parsed(result.runs()[0], POINT).measured()] == [7.0]
    assert [row[-1] for row in stored(path)] == [2.5e6]
    with create_result(path) as result:
        begin(result)
    assert [row[-1] for row in stored(path)] == [7.0]


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

        assert result.attempts() == {
            (POINT.point_id, 1): (3, "ok", 0),
            (POINT.point_id, 2): (2, "interrupted", 0),
        }


def test_a_folder_that_is_closed_is_named_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with create_result(tmp_path / "old.db") as result:
        begin(result)
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write anywhere

    with pytest.raises(UserError) as new:
        create_result(tmp_path / "new.db")
    with pytest.raises(UserError) as old:
        create_result(tmp_path / "old.db")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as here:
        create_result(Path("new.db"))

    assert new.value.cause == f"its folder {tmp_path} is closed to you for writing"
    assert old.value.cause == f"{new.value.cause}, and each commit needs a journal next to the file"
    assert here.value.cause == "the working folder is closed to you for writing"
    assert {one.value.hint for one in (new, old, here)} == {"name a file in another folder with -o"}
    assert sorted(tmp_path.iterdir()) == before


def test_a_cell_that_became_possible_is_no_longer_skipped(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        session = begin(result)
        result.add_plan(session, EXPERIMENT, [StoredCell(cell=POINT, sweep_title="S", repeats=2, experiment="ab")], [])

        assert result.skipped() == ()


@pytest.mark.parametrize("value", [2**63, 10**400, float("inf"), float("nan")])
def test_a_cell_that_could_not_be_read_is_not_written(tmp_path: Path, value: object) -> None:
    """One such value made all earlier runs of the file unreadable."""
    path = tmp_path / "r.db"
    cell = dataclasses.replace(POINT, options={"x": value})
    with create_result(path) as result:
        session = begin(result)
        with pytest.raises(UserError):
            result.add_plan(
                session, EXPERIMENT, [StoredCell(cell=cell, sweep_title="S", repeats=1, experiment="ab")], []
            )
    with open_result(path) as result:
        assert [stored.cell for stored in result.cells()] == [POINT]


def test_nothing_but_the_file_is_there_between_two_runs_and_after_the_last(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"reply 2.5\n")
        assert [path.name for path in tmp_path.iterdir()] == ["r.db"]
    assert [path.name for path in tmp_path.iterdir()] == ["r.db"]


WRITER = f"""
import os, sys
from dataclasses import asdict
from pathlib import Path
sys.path[:0] = [{str(Path(__file__).parents[3])!r}, {str(Path(__file__).parent)!r}]
from test_result_file import add, begin
from orchestrator.store.result_file import create_result
with create_result(Path(sys.argv[1])) as result:
    session = begin(result)
    print("begun", flush=True)
    for repeat in range(1, 10**6):
        add(result, session, os.urandom(2 << 20), repeat=repeat)
"""


@pytest.mark.slow
def test_a_copy_is_sound_while_another_process_commits_large_outputs(tmp_path: Path) -> None:
    """SQLite writes a commit into the file in place, over several writes: `cp` may copy half of it."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "r.db"], stdout=subprocess.PIPE)
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        found: list[int] = []
        while len(found) < 15 or found[-1] == found[0]:  # until the writer has gone on meanwhile
            with open_result(tmp_path / "r.db") as result:
                result.copy(tmp_path / "copy.db")
            with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
                assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                (runs,) = copy.execute("SELECT count(*) FROM run JOIN output USING (run_id)").fetchone()
            found.append(runs)
            (tmp_path / "copy.db").unlink()
            assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()
    assert found == sorted(found)


# --- the lock ----------------------------------------------------------------------------------------------


def other_names(path: Path) -> list[Path]:
    """Return names of the same file: beside it, in another folder, through a linked folder."""
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    names = [path.parent / "link.db", elsewhere / "link.db", path.parent / "hard.db", elsewhere / "hard.db"]
    for name in names:
        name.symlink_to(path) if name.stem == "link" else name.hardlink_to(path)
    (path.parent / "folder").symlink_to(path.parent)
    return [path, *names, path.parent / "folder" / path.name]


def test_a_file_is_locked_by_whatever_name_and_the_holder_is_named(tmp_path: Path) -> None:
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"")
        for name in other_names(tmp_path / "r.db"):
            with pytest.raises(UserError, match=rf"another pinsweep \(pid {os.getpid()}\) is running into"):
                create_result(name)
        add(result, 1, b"", repeat=2)  # SQLite's own locks are as they were
    for name in (tmp_path / "link.db", tmp_path / "elsewhere" / "hard.db"):
        with create_result(name) as again:
            assert len(again.runs()) == 2


def test_a_file_that_is_just_being_made_is_locked(tmp_path: Path) -> None:
    """Before the first table is in it: who finds it empty is not the one who fills it."""
    (tmp_path / "link.db").symlink_to(tmp_path / "r.db")
    with create_result(tmp_path / "r.db"):
        with pytest.raises(UserError, match="another pinsweep"):
            create_result(tmp_path / "link.db")
        assert (tmp_path / "r.db").exists()  # the one that is refused removes nothing


def test_kill_9_frees_the_lock(tmp_path: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "r.db"], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    writer.stdout.readline()
    with pytest.raises(UserError, match=rf"pid {writer.pid}\)"):
        create_result(tmp_path / "r.db")
    writer.kill()
    writer.communicate()
    create_result(tmp_path / "r.db").close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_file_is_locked_through_a_bind_mount(tmp_path: Path) -> None:
    (tmp_path / "bound.db").touch()
    code = "import sys; from pathlib import Path; from orchestrator.store.result_file import create_result; create_result(Path(sys.argv[1]))"
    with create_result(tmp_path / "r.db") as result:
        begin(result)
        second = subprocess.run(
            ["unshare", "--mount", "sh", "-c", 'mount --bind r.db bound.db || exit 77; exec "$@"', "-",
             sys.executable, "-c", code, "bound.db"],
            cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if second.returncode == 77 or "unshare" in second.stderr:
        pytest.skip(f"no bind mounts here: {second.stderr}")
    assert f"another pinsweep (pid {os.getpid()}) is running into" in second.stderr


# --- creations that were cut, files that go ----------------------------------------------------------------


def emptied(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE t (a)")
        db.execute("DROP TABLE t")
    assert path.stat().st_size > 0


@pytest.mark.parametrize("left", ["an empty file", "a cut creation", "no table"])
def test_a_creation_that_was_cut_is_taken_up(tmp_path: Path, left: str, cut_creation: Callable[[Path], None]) -> None:
    leave = {"an empty file": Path.touch, "a cut creation": cut_creation, "no table": emptied}[left]
    leave(tmp_path / "r.db")
    assert open_begun(tmp_path / "r.db") is None
    with pytest.raises(UserError, match="nothing is in it"):
        open_result(tmp_path / "r.db")
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"")
        assert len(result.runs()) == 1


def test_a_creation_that_was_cut_is_taken_up_without_a_look_before(
    tmp_path: Path, cut_creation: Callable[[Path], None]
) -> None:
    cut_creation(tmp_path / "r.db")
    with create_result(tmp_path / "r.db") as result:
        add(result, begin(result), b"")


@pytest.mark.parametrize("pragma", ["application_id = 7", "user_version = 7"])
def test_databases_of_others_are_not_taken(tmp_path: Path, pragma: str) -> None:
    with closing(sqlite3.connect(tmp_path / "r.db")) as db:
        db.execute(f"PRAGMA {pragma}")
        if pragma.startswith("user"):
            db.execute("CREATE TABLE t (a)")
    before = (tmp_path / "r.db").read_bytes()
    for take in (create_result, open_begun, open_result):
        with pytest.raises(UserError, match="not a pinsweep result file"):
            take(tmp_path / "r.db")
    assert (tmp_path / "r.db").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("content", [b"x", b"text\n" * 40, b"SQLite format 3\0" + b"\0" * 100])
def test_a_file_that_is_no_database_is_not_taken(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "r.db").write_bytes(content)
    with pytest.raises(UserError, match="not a pinsweep result file"):
        create_result(tmp_path / "r.db")
    assert (tmp_path / "r.db").read_bytes() == content
    assert len(list(tmp_path.iterdir())) == 1


def test_a_file_that_was_made_for_nothing_goes(tmp_path: Path) -> None:
    create_result(tmp_path / "new" / "r.db").close()
    assert not list((tmp_path / "new").iterdir())
    (tmp_path / "there.db").touch()
    create_result(tmp_path / "there.db").close()
    assert (tmp_path / "there.db").exists()  # somebody's own, empty as it is


def test_a_dangling_link_is_where_the_file_is_made(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "r.db")
    with create_result(tmp_path / "link.db") as result:
        begin(result)
    assert (tmp_path / "r.db").is_file()
    assert (tmp_path / "link.db").is_symlink()


@pytest.mark.parametrize(
    ("take", "cause"),
    [
        (lambda path: path.unlink(), "was deleted while the run wrote into it"),
        (lambda path: path.rename(path.with_name("moved.db")), "was moved to .*/moved.db while the run wrote into it"),
        (lambda path: path.with_name("other").replace(path), "was replaced by another file while the run wrote into it"),
    ],
)  # fmt: skip
def test_a_file_that_is_taken_away_is_named(tmp_path: Path, take: Callable[[Path], object], cause: str) -> None:
    (tmp_path / "other").write_text("mine")
    result = create_result(tmp_path / "r.db")
    session = begin(result)
    take(tmp_path / "r.db")
    with pytest.raises(PinsweepError, match=cause) as error:
        add(result, session, b"")
    assert "again" in error.value.hint
    result.close()
    assert "mine" in [path.read_text() for path in (tmp_path / "other", tmp_path / "r.db") if path.is_file()]


def test_a_file_that_another_was_written_over_takes_no_more_runs(tmp_path: Path) -> None:
    """`cat other.db > r.db` under a run: the same file, and the cells of another experiment."""
    with create_result(tmp_path / "other.db") as other:
        other.begin_session(
            started_utc="2026-01-01T00:00:00+00:00", version="0", argv=["run"], seed=7, host="h",
            facts={}, topology="", programs={},
        )  # fmt: skip
    result = create_result(tmp_path / "r.db")
    session = begin(result)
    (tmp_path / "r.db").write_bytes((tmp_path / "other.db").read_bytes())

    with pytest.raises(PinsweepError, match="was overwritten while the run wrote into it"):
        add(result, session, b"")
    result.close()
    with open_result(tmp_path / "r.db") as kept:
        assert kept.runs() == ()


def test_what_a_commit_promises_is_on_the_disk(tmp_path: Path) -> None:
    """EXTRA, in a file without a write-ahead log; scripts/powercut.py cuts the power."""
    with create_result(tmp_path / "r.db") as result:
        assert result._db.execute("PRAGMA synchronous").fetchone() == (3,)
        assert result._db.execute("PRAGMA journal_mode").fetchone() == ("delete",)


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
    with create_result(tmp_path / "r.db") as result:
        begin(result)
    with sqlite3.connect(tmp_path / "r.db") as db:
        db.execute("PRAGMA user_version = 99")

    with pytest.raises(UserError, match="newer pinsweep"):
        open_result(tmp_path / "r.db")


def test_a_schema_that_is_no_text_is_damage(tmp_path: Path) -> None:
    """SQLite's own message quotes it, and cannot be read."""
    path = tmp_path / "r.db"
    with create_result(path) as result:
        begin(result)
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE skipped", b"CREATE \xa0ABLE skipped"))

    for take in (open_result, open_begun, create_result):
        with pytest.raises(PinsweepError, match="is damaged: its schema is not UTF-8"):
            take(path)


@pytest.mark.parametrize("version", [0, -1])
def test_a_schema_that_never_was_is_not_read_as_the_first(tmp_path: Path, version: int) -> None:
    with create_result(tmp_path / "r.db") as result:
        begin(result)
    with sqlite3.connect(tmp_path / "r.db") as db:
        db.execute(f"PRAGMA user_version = {version}")

    for take in (open_result, open_begun, create_result):
        with pytest.raises(PinsweepError, match=f"is damaged: schema {version}"):
            take(tmp_path / "r.db")


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


def test_an_output_is_given_in_pieces_without_being_held(tmp_path: Path) -> None:
    text = b"value 1.5 and more\n" * 2_000_000
    with create_result(tmp_path / "r.db") as result:
        run = add(result, begin(result), text)

    with open_result(tmp_path / "r.db") as result:
        tracemalloc.start()
        sizes = [len(piece) for piece in result.output_pieces(run, "stdout")]
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

        assert b"".join(result.output_pieces(run, "stdout")) == text
        assert b"".join(result.output_pieces(run, "stdout", 1000)) == text
    assert sum(sizes) == len(text)
    assert peak < len(text) / 4


@given(data=st.binary(max_size=3000), piece=st.integers(1, 50))
def test_what_is_unpacked_in_pieces_is_the_whole(data: bytes, piece: int) -> None:
    packed = zlib.compress(data)

    assert b"".join(database.inflated(packed, len(data) + 1, piece)) == data == database.inflate(packed, len(data) + 1)
    with pytest.raises(ValueError, match="ends too early"):
        list(database.inflated(packed[:-1], len(data) + 1, piece))
    if len(data) > 1:
        with pytest.raises(ValueError, match=f"holds more than {len(data) - 1} bytes"):
            list(database.inflated(packed, len(data) - 1, piece))
