"""What others could have put on root's PATH is not started, unless it is named by its path."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.slurm import Slurm
from orchestrator.cluster.ssh import Ssh
from orchestrator.machine import planted
from orchestrator.machine.ask import ask
from orchestrator.programs import find, kernels
from parsers.errors import UserError
from tests.conftest import Starter
from tests.waits import PATIENCE_S

EVE = 12345
SWEEP = Sweep(id="3f9a12bc", folder="/acc", via="slurm", hosts=("n1",), experiments={}, words=())
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root is anybody's prey")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as root makes it, below others that are not everybody's."""
    made = tmp_path / "bin"
    made.mkdir(mode=0o755)
    return made


def program(folder: Path, name: str = "numactl") -> Path:
    path = folder / name
    path.write_text('#!/bin/sh\ntouch "$PLANTED"\n')
    path.chmod(0o755)
    return path


@as_root
@pytest.mark.parametrize(
    ("what", "mode", "refused"),
    [("bin", 0o755, ""), ("bin", 0o777, "bin"), ("bin", 0o1777, "bin"), ("bin/numactl", 0o757, "numactl"), (".", 0o777, ""), (".", 0o1777, "")],
)  # fmt: skip
def test_who_else_may_write_is_told(
    folder: Path, what: str, mode: int, refused: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(folder)
    (folder.parent / what).chmod(mode)
    if what == "." and mode == 0o777:
        refused = folder.parent.name

    assert planted.reason(str(path)) == (
        f"everybody may write {(folder.parent / what)}".removesuffix("/.") if refused else ""
    )


def test_a_link_is_followed_to_where_the_program_lies(folder: Path) -> None:
    open_to_all = folder.parent / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    program(open_to_all)
    (folder / "numactl").symlink_to(open_to_all / "numactl")

    assert planted.reason(str(folder / "numactl")) == f"everybody may write {open_to_all}"


@as_root
@pytest.mark.parametrize("what", ["bin", "bin/numactl", ".", "away", "link"])
def test_what_another_user_owns_is_refused_wherever_it_is_on_the_way(folder: Path, what: str) -> None:
    """Of mode 755: a folder on PATH, the program, a folder above, the folder of a link between, the link."""
    (folder.parent / "away").mkdir(mode=0o755)
    (folder.parent / "away/numactl").symlink_to(program(folder))
    (folder.parent / "link").symlink_to(folder.parent / "away/numactl")
    os.chown(folder.parent / what, EVE, EVE, follow_symlinks=False)

    assert planted.reason(str(folder.parent / "link")).endswith(f"belongs to the user {EVE}")
    os.chown(folder.parent / what, 0, 0, follow_symlinks=False)
    assert planted.reason(str(folder.parent / "link")) == ""


@as_root
@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("anything", lambda: ask(["anything"], timeout_s=PATIENCE_S)),
        ("cc", lambda: kernels.build("poke")),
        ("as", lambda: kernels._compile(Path("poke.c"), ["/usr/bin/cc"])),
        ("fio", lambda: find.find_programs(["fio"])),
        ("squeue", lambda: Slurm(SWEEP, patience_s=0).jobs()),
        ("ssh", lambda: Ssh(dataclasses.replace(SWEEP, via="ssh")).hosts(["n1"])),
    ],
)
def test_no_program_of_another_user_is_started(
    folder: Path, name: str, start: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    program(folder, name)
    os.chown(folder, EVE, EVE)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("PLANTED", str(folder.parent / "planted"))

    with pytest.raises(UserError, match="belongs to the user"):
        start()
    assert not (folder.parent / "planted").exists()


@as_root
@pytest.mark.parametrize("exchange", ["folder", "program"])
def test_a_kernel_that_another_user_may_exchange_is_not_taken_from_the_cache(tmp_path: Path, exchange: str) -> None:
    source = tmp_path / "tiny.c"
    source.write_text("int main(void) { return 0; }\n")
    made = kernels.compile_cached(source, kernels.find_compiler(), (), tmp_path / "cache")
    os.chown(tmp_path / "cache" if exchange == "folder" else made, EVE, EVE)

    with pytest.raises(UserError, match="exchange the compiled kernels"):
        kernels.compile_cached(source, kernels.find_compiler(), (), tmp_path / "cache")


@as_root
def test_by_name_it_is_refused_and_by_its_path_it_is_meant(folder: Path) -> None:
    path = program(folder)
    folder.chmod(0o777)

    with pytest.raises(UserError, match=f"^{path}: everybody may write {folder}: .* root would start it"):
        planted.which("numactl", str(folder))
    assert planted.which(str(path)) == str(path)
    assert planted.which("none", str(folder)) == ""


EXPERIMENT = """schema: 1
title: T
sweeps:
  - name: s
    tool: command
    fixed:
      command: "{command}"
      metrics: {{n: {{regex: "(?P<value>[0-9]+)", unit: "1", better: lower}}}}
    repeats: 1
    matrix: {{place: [all]}}
"""


@as_root
@pytest.mark.parametrize(
    ("planted_program", "command", "status"),
    [
        ("numactl", "echo 1", 2),
        ("mytool", "mytool 1", 2),
        ("mytool", "{path} 1", 1),
        ("unrelated", "echo 1", 0),
        ("lscpu", "echo 1", 0),
        pytest.param("dmidecode", "echo 1", 0, marks=pytest.mark.slow),
        pytest.param("lstopo-no-graphics", "echo 1", 0, marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_run_and_doctor_refuse_and_say_so(
    folder: Path, tmp_path: Path, planted_program: str, command: str, status: int, starter: Starter
) -> None:
    path = program(folder, planted_program)
    folder.chmod(0o777)
    (tmp_path / "e.yaml").write_text(EXPERIMENT.format(command=command.format(path=path)))
    mark = tmp_path / "planted"
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PLANTED": str(mark)}
    if not shutil.which("numactl"):
        pytest.skip("no numactl")

    done = starter(["run", "e.yaml", "-o", "r.db"], cwd=tmp_path, env=env, given="")

    assert done.returncode == status, done.stderr
    assert mark.exists() == (status == 1)  # the one that was named by its path ran, and printed no number
    if status == 2:
        assert f"{path}: everybody may write {folder}" in done.stderr
        assert "hint: " in done.stderr
    if planted_program in {"numactl", "lscpu", "dmidecode", "lstopo-no-graphics"}:
        said = starter(["doctor"], cwd=tmp_path, env=env, given="")
        assert f"everybody may write {folder}" in said.stdout
        assert said.returncode == 1
        assert not mark.exists()  # doctor asks it nothing, either
