"""Folders of the user: the XDG Base Directory Specification."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.machine.user_folders import cache_folder, config_folder, data_folder


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


def test_users_without_a_home_have_folders_that_do_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", unknown)
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    for folder in (config_folder, data_folder, cache_folder):
        assert folder().parts[:2] == ("/", "nonexistent")
