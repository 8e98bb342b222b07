"""Which executable is taken for a tool, from what lies on PATH."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from orchestrator.programs import find
from orchestrator.tools import Program
from parsers.errors import UserError


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH of two folders, and no configuration."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'a'}:{tmp_path / 'b'}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    find.configured.cache_clear()
    return tmp_path


def executable(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n# {text}\n")
    path.chmod(0o755)


def test_a_program_of_the_same_name_is_not_taken_for_the_tool(path: Path) -> None:
    """ImageMagick installs /usr/bin/stream."""
    shutil.copy("/bin/true", path / "a" / "stream")
    executable(path / "b" / "stream", "STREAM version $Revision: 5.10 $")

    found = find.find_programs(["stream"])["stream"]

    assert isinstance(found, Program)
    assert found.path == str(path / "b" / "stream")
    assert not found.stand_in


def test_what_the_user_names_is_taken_as_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrapper script around the tool holds none of its bytes."""
    executable(path / "wrapper", "exec ssh node7 mlc")
    monkeypatch.setenv("PINSWEEP_MLC", str(path / "wrapper"))

    found = find.find_programs(["mlc"])["mlc"]

    assert isinstance(found, Program)
    assert found.path == str(path / "wrapper")
    assert found.sha256


def test_a_configured_program_that_is_not_there_is_the_users_mistake(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINSWEEP_MLC", str(path / "nowhere"))

    with pytest.raises(UserError, match="nowhere is not an executable file"):
        find.find_programs(["mlc"])


def test_a_fifo_is_not_waited_for(path: Path) -> None:
    os.mkfifo(path / "a" / "fio", 0o755)
    assert "does not say that it is fio" in str(find.find_programs(["fio"])["fio"])


def test_the_configuration_file_names_programs(path: Path) -> None:
    executable(path / "my-stream", "any")
    (path / "config" / "pinsweep").mkdir(parents=True)
    (path / "config" / "pinsweep" / "tools.yaml").write_text(f"stream: {path}/my-stream\n")

    found = find.find_programs(["stream"])["stream"]

    assert isinstance(found, Program)
    assert found.path == str(path / "my-stream")


@pytest.mark.parametrize("text", ["- a list\n", "stream: [1]\n", "stream: {\n"])
def test_a_damaged_configuration_is_named(path: Path, text: str) -> None:
    (path / "config" / "pinsweep").mkdir(parents=True)
    (path / "config" / "pinsweep" / "tools.yaml").write_text(text)

    with pytest.raises(UserError, match=r"tools\.yaml"):
        find.find_programs(["stream"])


def test_what_is_missing_says_how_to_get_it(path: Path) -> None:
    assert "apt-get install fio" in str(find.find_programs(["fio"])["fio"])


def test_what_is_missing_here_may_be_there_elsewhere(path: Path) -> None:
    found = find.find_programs(["fio"], elsewhere=True)["fio"]

    assert isinstance(found, Program)
    assert found.path == "fio"


@pytest.mark.parametrize(("says", "version"), [("fio-3.33", "3.33"), ("unknown command", "")])
def test_a_version_has_a_digit(path: Path, says: str, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`openssl --version` is an error, of which the second word was taken for a version."""
    executable(path / "a" / "fio", f"fio_ fio-\necho {says}")
    monkeypatch.setenv("PINSWEEP_FIO", str(path / "a" / "fio"))

    found = find.find_programs(["fio"])["fio"]

    assert isinstance(found, Program)
    assert found.version == version


@pytest.mark.parametrize(
    ("tool", "program", "says", "version"),
    [
        ("fio", "fio", "echo Loading fio; echo fio-3.33", "3.33"),
        ("fio", "fio", "echo fio-; echo 1.9.5", None),  # Fiona's command line
        ("mlc", "mlc", "exec apptainer run mlc.sif", None),
        ("imb", "IMB-MPI1", "exec apptainer run imb.sif", None),
    ],
)
def test_a_wrapper_script_is_taken_if_it_answers_and_is_never_passed_over(
    path: Path, tool: str, program: str, says: str, version: str | None
) -> None:
    executable(path / "a" / program, f"wrapper\n{says}")
    executable(path / "b" / program, "fio- MPI Benchmarks Memory Latency Checker\necho fio-3.1")

    found = find.find_programs([tool])[tool]

    if version:
        assert isinstance(found, Program)
        assert (found.path, found.version) == (str(path / "a" / program), version)
        assert found.notes["script"] == "#!/bin/sh"
    else:
        assert f"PINSWEEP_{tool.upper()}={path}/a/{program}" in str(found)
