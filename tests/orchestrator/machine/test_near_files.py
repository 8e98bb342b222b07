"""A mistyped name of a file: the one beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.machine.near_files import near_files


@pytest.mark.parametrize(
    ("name", "endings", "meant"),
    [
        ("lab1", ("yaml", "yml"), "lab1.yaml"),
        ("lab1.yml", ("yaml", "yml"), "lab1.yaml"),
        ("lab2.yaml", ("yaml", "yml"), "lab1.yaml"),
        ("lba1.yaml", ("yaml", "yml"), "lab1.yaml"),
        ("lab1.db", ("db",), "first.lab1.db"),
        ("sub/again", ("db",), "sub/again.db"),
        ("sub/quite_another.db", ("db",), ""),
        ("sub/nope.db", ("db",), ""),  # ".db" alone made it like any short name
        ("sub/agian.db", ("db",), "sub/again.db"),
        ("nowhere/lab1.yaml", ("yaml",), ""),
        ("first.lab1.yaml", ("toml",), ""),
    ],
)
def test_a_mistyped_file_is_found_beside_it(
    name: str, endings: tuple[str, ...], meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for there in ("lab1.yaml", "first.lab1.db", "sub/again.db", "sub/pC.db", "notes.txt"):
        (tmp_path / there).touch()

    assert near_files(name, endings) == (f"did you mean {meant!r}?" if meant else "")
