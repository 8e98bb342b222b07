"""Folders of the user: the XDG Base Directory Specification."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.machine.user_folders import cache_folder, config_folder, data_folder, near_files


@pytest.mark.parametrize(
    ("folder", "variable", "default"),
    [
        (config_folder, "XDG_CONFIG_HOME", ".config"),
        (data_folder, "XDG_DATA_HOME", ".local/share"),
        (cache_folder, "XDG_CACHE_HOME", ".cache"),
    ],
)
def test_a_variable_names_the_folder_or_the_home_holds_it(
    monkeypatch: pytest.MonkeyPatch, folder: object, variable: str, default: str
) -> None:
    assert callable(folder)
    monkeypatch.setenv("HOME", "/srv/eva")
    monkeypatch.delenv(variable, raising=False)
    assert folder() == Path("/srv/eva", default, "pinsweep")

    monkeypatch.setenv(variable, " ")  # set to nothing is not set
    assert folder() == Path("/srv/eva", default, "pinsweep")

    monkeypatch.setenv(variable, "/shared/eva")
    assert folder() == Path("/shared/eva/pinsweep")


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
        ("nowhere/lab1.yaml", ("yaml",), ""),
        ("first.lab1.yaml", ("toml",), ""),
    ],
)
def test_a_mistyped_file_is_found_beside_it(
    name: str, endings: tuple[str, ...], meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    for there in ("lab1.yaml", "first.lab1.db", "sub/again.db", "notes.txt"):
        (tmp_path / there).touch()

    assert near_files(name, endings) == (f"did you mean {meant!r}?" if meant else "")
