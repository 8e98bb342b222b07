"""Baselines: copies of result files under a name. In a folder of the test's own."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store.result_file import open_result
from parsers.errors import UserError
from reports.results import baselines
from reports.results.load import load
from reports.results.paths import result_files


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINSWEEP_BASELINES", str(tmp_path / "kept"))


def result(make: Any, path: Path, *, host: str = "node07", threads: int = 4) -> Path:
    maker = make.Maker(path, host=host)
    text = make.stream_text(20e3, threads)
    maker.add("scaling", "stream", {"threads": threads}, text, axes=("threads",))
    written: Path = maker.write()
    return written


def test_what_was_added_is_read_as_it_was(make: Any, tmp_path: Path) -> None:
    path = result(make, tmp_path / "a.db")

    baselines.add("before-bios", [path])

    (copy,) = baselines.resolve("before-bios")
    assert copy.parent.parent == tmp_path / "kept"
    want, got = load([path]).tidy("stream"), load([copy]).tidy("stream")
    assert list(got["value"]) == list(want["value"])
    assert baselines.names() == ["before-bios"]


def test_a_file_that_went_on_replaces_its_copy_and_another_stands_beside_it(make: Any, tmp_path: Path) -> None:
    first = result(make, tmp_path / "a.db")
    baselines.add("b", [first])
    result(make, first, threads=8)  # the same file, one session later
    added = baselines.add("b", [first, result(make, tmp_path / "other.db", host="node08")])

    assert len(added.files) == 2
    assert len(added.sessions) == 3
    assert added.hosts == ("node07", "node08")


def test_a_copy_is_whole_while_the_original_is_being_written(make: Any, tmp_path: Path) -> None:
    path = result(make, tmp_path / "a.db")
    with sqlite3.connect(path) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE session SET host = 'half'")
        baselines.add("b", [path])
        writer.rollback()

    with open_result(*baselines.resolve("b")) as copy:
        assert [s.host for s in copy.sessions()] == ["node07"]


def test_one_wrong_file_leaves_the_baseline_as_it_was(make: Any, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database")
    with pytest.raises(UserError, match="not a pinsweep result file"):
        baselines.add("b", [result(make, tmp_path / "a.db"), tmp_path / "text.db"])

    assert baselines.names() == []


@pytest.mark.parametrize("name", ["", "..", "../up", "a/b", ".hidden", "-o", "a b", "x" * 65, "a\x1b[2J"])
def test_a_name_is_no_path(make: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="is not a valid baseline name"):
        baselines.add(name, [result(make, tmp_path / "a.db")])
    assert not (tmp_path / "kept").exists()


def test_a_wrong_name_is_told_the_nearest(make: Any, tmp_path: Path) -> None:
    baselines.add("before-bios", [result(make, tmp_path / "a.db")])
    with pytest.raises(UserError) as caught:
        baselines.resolve("befor-bios")
    assert caught.value.hint == "did you mean 'before-bios'?"


def test_removing_takes_that_one_only(make: Any, tmp_path: Path) -> None:
    path = result(make, tmp_path / "a.db")
    baselines.add("old", [path])
    baselines.add("new", [path])

    assert baselines.remove("old") == 1
    assert baselines.names() == ["new"]
    assert path.exists()


def test_what_a_killed_add_or_a_full_disk_leaves_is_no_obstacle(make: Any, tmp_path: Path) -> None:
    baselines.add("good", [result(make, tmp_path / "a.db")])
    (tmp_path / "kept" / "killed").mkdir()
    assert baselines.names() == ["good"]

    baselines.resolve("good")[0].write_text("half")
    with pytest.raises(UserError, match="not a pinsweep result file") as caught:
        baselines.load("good")
    assert caught.value.hint == "delete that file, or `pinsweep baseline remove good`"
    assert baselines.remove("good") == 1


def test_a_folder_that_cannot_be_one_is_the_users_mistake(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 2: 1 would say of a fleet that a host is slow."""
    path = result(make, tmp_path / "a.db")
    monkeypatch.setenv("PINSWEEP_BASELINES", str(path))
    for asked in (baselines.names, lambda: baselines.add("b", [path])):
        with pytest.raises(UserError, match="Not a directory") as caught:
            asked()
        assert "PINSWEEP_BASELINES=DIR" in caught.value.hint


def test_five_sessions_of_one_hour_do_not_tell_the_noise_between_sessions(make: Any, tmp_path: Path) -> None:
    paths = []
    for minute in range(5):
        maker = make.Maker(tmp_path / f"{minute}.db")
        maker.facts = {**make.FACTS, "boot_id": "x"}
        maker.started = f"2026-11-21T09:{10 * minute:02}:00+00:00"
        maker.add("s", "stream", {"threads": 1}, make.stream_text(2e4, 1))
        paths.append(maker.write())

    assert baselines.add("b", paths).evidence == 1


def test_either_a_file_or_a_name(make: Any, tmp_path: Path) -> None:
    path = result(make, tmp_path / "a.db")
    baselines.add("kept", [path])

    assert baselines.resolve_any(str(path)) == [path]
    assert baselines.resolve_any(str(tmp_path / "*.db")) == [path]
    assert baselines.resolve_any("kept") == baselines.resolve("kept")
    with pytest.raises(UserError, match="is not a valid baseline name"):  # not the current folder
        baselines.resolve_any("")


def test_a_link_that_leads_to_itself_is_no_result_file(tmp_path: Path) -> None:
    (tmp_path / "r.db").symlink_to(tmp_path / "r.db")
    assert result_files([tmp_path / "r.db"]) == [tmp_path / "r.db"]
    with pytest.raises(UserError, match="no such file"):
        load([tmp_path / "r.db"])


def test_files_folders_and_globs_are_each_taken_once(make: Any, tmp_path: Path) -> None:
    a = result(make, tmp_path / "out" / "a.db")
    b = result(make, tmp_path / "out" / "deeper" / "b.db")
    (tmp_path / "out" / "notes.txt").write_text("SQLite format 3\0 not")
    (tmp_path / "out" / "other.db").write_bytes(b"")
    with sqlite3.connect(tmp_path / "out" / "stranger.db") as db:
        db.execute("CREATE TABLE t (x)")

    os.mkfifo(tmp_path / "out" / "fifo.db")  # without a writer

    named = [tmp_path / "out" / f"{name}.db" for name in ("fifo", "other", "stranger")]  # may be damaged
    assert result_files([tmp_path / "out"]) == [a, b, *named]
    assert result_files([str(tmp_path / "*/a.db"), a, tmp_path / "out"]) == [a, b, *named]
    for nothing in (tmp_path / "*.none", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(UserError):
            result_files([str(nothing)])
