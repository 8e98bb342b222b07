"""Reading changes nothing: neither the file nor its folder, whatever lies beside it."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.store import database, progress
from orchestrator.store.result_file import create_result, open_begun, open_result
from parsers.errors import PinsweepError, UserError
from tests.orchestrator.store.test_strangers import run_into

MAGIC = bytes.fromhex("d9d505f920a163d7")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "results"
    folder.mkdir()
    with create_result(folder / "r.db") as result:
        run_into(result)
    return folder / "r.db"


def cut_commit(path: Path) -> None:
    """Leave what a writer leaves that was killed in a commit that changes each run."""
    copy = path.with_name("copy.db")
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy)) as db:
        db.execute("PRAGMA cache_size = 1")
        db.execute("UPDATE run SET wall_s = 999")
        db.executemany("INSERT INTO output VALUES (?, 'x', 0, zeroblob(9000))", [(n,) for n in range(100, 120)])
        shutil.copy(copy, path)
        shutil.copy(f"{copy}-journal", f"{path}-journal")
    copy.unlink()


def write_ahead(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("UPDATE run SET wall_s = 2.5")
        db.commit()
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", f"{path}.{suffix}")
    for suffix in ("", "-wal"):
        Path(f"{path}.{suffix}").replace(f"{path}{suffix}")


def name_a_file(path: Path) -> Path:
    """Put a journal beside a file at whose end SQLite is to delete another one."""
    cut_commit(path)
    named = path.with_name("notes")
    named.touch()
    name = str(named).encode()
    with Path(f"{path}-journal").open("ab") as stream:
        sizes = [len(name), sum(name) & 0xFFFFFFFF]
        stream.write(bytes(4) + name + b"".join(n.to_bytes(4, "big") for n in sizes) + MAGIC)
    return named


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}


def wall_s(path: Path) -> set[float]:
    with open_result(path) as result:
        return {run.wall_s for run in result.runs()}


@pytest.mark.parametrize(("left", "expected"), [(lambda _: None, 0.5), (cut_commit, 0.5), (write_ahead, 2.5)])
@pytest.mark.parametrize("locks", [True, False])
def test_a_file_is_read_as_its_journal_leaves_it(
    path: Path, left: Callable[[Path], None], expected: float, locks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    left(path)
    before = contents(path.parent)
    if not locks:
        monkeypatch.setattr(database.fcntl, "lockf", lambda *_: exec("raise OSError(38, 'no locks')"))

    assert wall_s(path) == {expected}
    assert progress.read(path) is not None
    with closing(open_begun(path)) as begun:  # type: ignore[type-var]
        assert begun is not None

    assert contents(path.parent) == before
    if locks:
        with create_result(path) as result:
            assert {run.wall_s for run in result.runs()} == {expected}


def test_a_journal_that_names_another_file_is_not_rolled_back(path: Path) -> None:
    name_a_file(path)
    before = contents(path.parent)

    for take in (open_result, open_begun, create_result, progress.read):
        with pytest.raises(UserError, match="journal of several databases"):
            take(path)  # type: ignore[operator]

    assert contents(path.parent) == before


def test_a_journal_that_is_exchanged_while_it_is_copied_deletes_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = name_a_file(path)
    evil = Path(f"{path}-journal").replace(path.with_name("evil"))
    cut_commit(path)
    copy = shutil.copyfile
    monkeypatch.setattr(database.shutil, "copyfile", lambda a, b: copy(evil if a.endswith("-journal") else a, b))

    with pytest.raises(UserError, match="journal of several databases"):
        open_result(path)
    assert named.exists()


def test_a_copy_needs_no_locks(path: Path, tmp_path: Path) -> None:
    """All bytes that SQLite would lock are taken."""
    with open_result(path) as result, (tmp_path / "copy.db").open("wb") as target:
        fcntl.fcntl(target, fcntl.F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 1 << 30, 1024, 0))
        result.copy(tmp_path / "copy.db")
    assert wall_s(tmp_path / "copy.db") == {0.5}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs two users")
def test_a_journal_of_another_user_is_not_rolled_back(path: Path) -> None:
    cut_commit(path)
    os.chown(f"{path}-journal", 12345, -1)
    before = contents(path.parent)

    for take in (open_result, create_result):
        with pytest.raises(UserError, match="belongs to another user"):
            take(path)

    assert contents(path.parent) == before
    os.chown(path, 12345, -1)
    assert wall_s(path) == {0.5}
    assert Path(f"{path}-journal").stat().st_uid == 12345


def test_a_damaged_output_is_not_reported_as_done(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE output SET zlib = zeroblob(20) WHERE stream = 'stdout'")

    with pytest.raises(database.Damaged):
        progress.read(path)


def test_what_is_not_a_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.db")

    for take in (open_result, create_result, progress.read):
        with pytest.raises(UserError):
            take(tmp_path / "r.db")  # type: ignore[operator]


@pytest.mark.parametrize(
    ("code", "name", "status"),
    [
        (errno.EIO, "SQLITE_IOERR_READ", 1),
        (errno.EAGAIN, "SQLITE_BUSY", 1),
        (errno.EMFILE, "SQLITE_CANTOPEN", 1),
        (0, "SQLITE_CORRUPT", 2),
    ],
)
def test_an_error_of_the_machine_is_no_damage(code: int, name: str, status: int) -> None:
    error = sqlite3.OperationalError(os.strerror(code))
    error.sqlite_errorname = name

    found = database.trouble(Path("r.db"), error)

    assert (found.exit_status, isinstance(found, PinsweepError)) == (status, True)
    assert isinstance(found, database.Damaged) is (status == 2)
