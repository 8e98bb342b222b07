"""The lab report's folder: what was edited stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.errors import UserError
from reports.lab import folder


def test_what_was_edited_is_kept(tmp_path: Path) -> None:
    folder.write(tmp_path, {"report.md": b"one", "data.csv": b"one"})
    (tmp_path / "report.md").write_bytes(b"one, and my analysis")

    second = folder.write(tmp_path, {"report.md": b"two", "data.csv": b"two"})

    assert (tmp_path / "report.md").read_bytes() == b"one, and my analysis"
    assert (tmp_path / "report.new.md").read_bytes() == b"two"
    assert (tmp_path / "data.csv").read_bytes() == b"two"
    assert second.kept == {"report.md": "report.new.md"}
    assert second.renewed == ["data.csv"]

    third = folder.write(tmp_path, {"report.md": b"three", "data.csv": b"two"})  # report.new.md is ours: renewed
    assert (tmp_path / "report.new.md").read_bytes() == b"three"
    assert third.same == ["data.csv"]

    (tmp_path / "report.new.md").write_bytes(b"mine, too")
    fourth = folder.write(tmp_path, {"report.md": b"four"})
    assert (tmp_path / "report.new.md").read_bytes() == b"mine, too"
    assert fourth.kept == {"report.md": "report.new2.md"}


def test_an_edited_file_with_nothing_new_gets_no_second_one(tmp_path: Path) -> None:
    folder.write(tmp_path, {"report.md": b"one"})
    (tmp_path / "report.md").write_bytes(b"mine")

    again = folder.write(tmp_path, {"report.md": b"one"})

    assert again.kept == {"report.md": ""}
    assert sorted(p.name for p in tmp_path.iterdir()) == [folder.MANIFEST, "report.md"]


def test_what_others_put_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_bytes(b"somebody's")
    (tmp_path / "notes.txt").write_bytes(b"somebody's")

    written = folder.write(tmp_path, {"report.md": b"ours"})

    assert (tmp_path / "report.md").read_bytes() == b"somebody's"
    assert (tmp_path / "notes.txt").read_bytes() == b"somebody's"
    assert written.kept == {"report.md": "report.new.md"}


def test_a_damaged_manifest_counts_as_none(tmp_path: Path) -> None:
    folder.write(tmp_path, {"report.md": b"one"})
    (tmp_path / folder.MANIFEST).write_text('{"files": [1]}')

    assert folder.write(tmp_path, {"report.md": b"two"}).kept == {"report.md": "report.new.md"}


def test_stopped_half_way_all_is_ours_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write(tmp_path, dict.fromkeys("abc", b"one"))
    real, calls = folder.write_whole, []

    def dies(path: Path, data: str | bytes) -> None:
        calls.append(path)
        if len(calls) == 3:  # the manifest, a, then b
            raise KeyboardInterrupt
        real(path, data)

    monkeypatch.setattr(folder, "write_whole", dies)
    with pytest.raises(KeyboardInterrupt):
        folder.write(tmp_path, dict.fromkeys("abc", b"two"))
    monkeypatch.undo()

    after = folder.write(tmp_path, dict.fromkeys("abc", b"three"))

    assert after.kept == {}
    assert [(tmp_path / n).read_bytes() for n in "abc"] == [b"three"] * 3


def test_files_of_an_earlier_report_are_named_and_stay(tmp_path: Path) -> None:
    folder.write(tmp_path, {"figures/a.svg": b"a", "report.md": b"one"})

    assert folder.write(tmp_path, {"report.md": b"one"}).old == ["figures/a.svg"]
    assert (tmp_path / "figures" / "a.svg").exists()


def test_places_where_no_folder_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="is a file, not a folder"):
        folder.write(tmp_path / "file", {"report.md": b"x"})
    (tmp_path / "figures").write_text("x")
    with pytest.raises(UserError, match="is a file, not a folder"):
        folder.write(tmp_path, {"figures/a.svg": b"x"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["figures", "file"]
    with pytest.raises(UserError, match="cannot be written") as caught:
        folder.write(Path("/proc/none"), {"report.md": b"x"})
    assert "--lab" in caught.value.hint
