"""pinsweep starts where a cron job, a daemon or a lost connection leaves it, and a sweep goes on or can be gone on with."""

from __future__ import annotations

import os
import pty
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.waits import gate

FEW = """\
schema: 1
title: Few runs
tool: command
fixed:
  command: sh -c 'WAIT; echo value {n}'
  metrics: {m: {regex: "value ([0-9]+)", unit: s}}
matrix: {n: 1..NUMBER}
repeats: 1
"""

PINSWEEP = [sys.executable, "-m", "pinsweep"]


def ok(path: Path) -> int:
    """Return how many runs of a result file are ok."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as db:
        return int(db.execute("SELECT count(*) FROM run WHERE status = 'ok'").fetchone()[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "e.yaml").write_text(FEW.replace("NUMBER", "2").replace("WAIT", "true"))
    (tmp_path / "long.yaml").write_text(FEW.replace("NUMBER", "20").replace("WAIT", gate(2)))
    return tmp_path


@pytest.mark.parametrize(
    "streams",
    [
        "2> >(exec true)",
        *(pytest.param(of, marks=pytest.mark.slow) for of in (">&-", "2>&-", "<&-", "<&- >&- 2>&-", "2>/dev/full", ">/dev/full 2>/dev/full")),
    ],
)  # fmt: skip
def test_a_sweep_needs_nobody_who_listens(folder: Path, home: Mapping[str, str], streams: str) -> None:
    command = f"{sys.executable} -m pinsweep run e.yaml -o r.db {streams}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env={**os.environ, **home}, capture_output=True, text=True, check=False
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert ok(folder / "r.db") == 2
    assert {path.name for path in folder.iterdir()} == {"e.yaml", "long.yaml", "r.db"}


@pytest.mark.parametrize(
    ("broken", "variables", "status"),
    [
        ("yaml", {"PYTHONPATH": "{site}"}, 0),  # of an environment module, for another Python
        pytest.param("click", {"PYTHONPATH": "{site}"}, 0, marks=pytest.mark.slow),
        ("yaml", {"PYTHONPATH": "{pinsweep}:{site}"}, 2),  # there the first is the one that is meant
        pytest.param("click", {"PYTHONPATH": "{pinsweep}:{site}"}, 2, marks=pytest.mark.slow),
        ("none", {"PYTHONOPTIMIZE": "2"}, 2),
        ("none", {"PYTHONIOENCODING": "koi8-r:strict"}, 0),  # as in a locale of that encoding
    ],
)
def test_variables_of_python_are_named_where_they_break_it(
    tmp_path: Path, broken: str, variables: Mapping[str, str], status: int
) -> None:
    (tmp_path / "site" / broken).mkdir(parents=True)
    (tmp_path / "site" / broken / "__init__.py").write_text("print 'another Python'\n")
    (tmp_path / "e.yaml").write_text(FEW.replace("NUMBER", "2").replace("WAIT", "true"))
    pinsweep = Path(__file__).resolve().parents[2]
    env = {name: text.format(site=tmp_path / "site", pinsweep=pinsweep) for name, text in variables.items()}

    done = subprocess.run(
        [*PINSWEEP, "plan", "e.yaml"], cwd=tmp_path, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )  # fmt: skip

    assert done.returncode == status, done.stderr
    assert [line.split(":")[1].strip() for line in done.stderr.splitlines() if line.startswith("error: ")] == (
        list(variables) if status else []
    )


@pytest.mark.parametrize(
    ("words", "to"),
    [
        ("schema", ">&-"),
        pytest.param("plan e.yaml", ">/dev/full", marks=pytest.mark.slow),
        pytest.param("show r.db 1 --raw", ">&-", marks=pytest.mark.slow),
    ],
)
def test_an_answer_that_nobody_gets_is_an_error(pinsweep: Cli, folder: Path, words: str, to: str) -> None:
    if "r.db" in words:
        pinsweep("run", "e.yaml", "-o", "r.db")
    command = f"{sys.executable} -m pinsweep {words} {to}"
    done = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "error: standard output: cannot be written: " in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.slow
def test_in_an_empty_environment_a_sweep_runs_and_is_reported(folder: Path, runtime: Path) -> None:
    """As under cron and worse: no HOME, no PATH, no TERM, no locale."""
    env = {"PINSWEEP_RUNTIME_DIR": str(runtime), "PINSWEEP_NO_WARM_UP": "1", "PINSWEEP_ALLOW_DISTURBED": "1", "LANG": "C"}  # fmt: skip
    for words in (["run", "e.yaml", "-o", "r.db"], ["report", "r.db", "-o", "r.html"]):
        done = subprocess.run([*PINSWEEP, *words], cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert ok(folder / "r.db") == 2
    assert (folder / "r.html").stat().st_size > 0


def on_a_terminal(folder: Path, env: Mapping[str, str], *before: str) -> int:
    """Start a sweep in a session with a terminal of its own, take the terminal away after two runs; return the exit status. The
    third run lasts until it has gone."""
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(folder)
        with suppress(OSError):
            argv = [*before, *PINSWEEP, "run", "long.yaml", "-o", "r.db"]
            os.execvpe(argv[0], argv, {**os.environ, **env})
        os._exit(127)
    said = b""
    while b"[ 2/20]" not in said:
        said += os.read(terminal, 4096)
    os.close(terminal)
    (folder / "go").touch()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("nohup", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_sweep_outlives_its_terminal(folder: Path, home: Mapping[str, str], nohup: bool) -> None:
    """`trap '' HUP` is what nohup does to signals; the terminal stays its stderr, and cannot be written any more."""
    before = ("sh", "-c", "trap '' HUP; exec \"$@\"", "sh") if nohup else ()
    status = on_a_terminal(folder, home, *before)

    assert status == 0
    assert ok(folder / "r.db") == 20


@pytest.mark.slow
def test_without_a_working_folder_it_says_so(folder: Path, home: Mapping[str, str]) -> None:
    gone = folder / "gone"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        gone.mkdir()
        command = ["sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *PINSWEEP, *words]
        return subprocess.run(
            command, cwd=gone, env={**os.environ, **home}, capture_output=True, text=True, check=False
        )

    for words in (["plan", f"{folder}/e.yaml"], ["run", f"{folder}/e.yaml"], ["run", "e.yaml", "-o", "r.db"]):
        done = run(*words)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("error: ")
        assert "bug" not in done.stderr
        assert "hint: " in done.stderr
    named = run("run", f"{folder}/e.yaml", "-o", f"{folder}/r.db")
    assert named.returncode == 0, named.stderr
    assert ok(folder / "r.db") == 2


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="only root may mount")
@pytest.mark.slow
def test_in_a_folder_that_cannot_be_written_it_says_so_and_writes_elsewhere(
    folder: Path, home: Mapping[str, str]
) -> None:
    point = folder / "ro"
    point.mkdir()
    shutil.copy(folder / "e.yaml", point)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        inside = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && cd "$1" && shift && exec "$@"'
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", inside, "sh", str(point), *PINSWEEP, *words],
            env={**os.environ, **home}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    refused = run("run", "e.yaml")
    if "unshare" in refused.stderr or "mount:" in refused.stderr:
        pytest.skip(f"no mounts here: {refused.stderr.strip()}")
    elsewhere = run("run", "e.yaml", "-o", f"{folder}/r.db")
    page = run("report", f"{folder}/r.db", "-o", "page.html")

    for done in (refused, page):
        assert done.returncode in (1, 2)
        assert done.stderr.startswith("error: ")
        assert "bug" not in done.stderr
    assert "-o" in refused.stderr
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert ok(folder / "r.db") == 2


@pytest.mark.slow
def test_what_is_written_keeps_to_the_umask(folder: Path, home: Mapping[str, str], pinsweep: Cli) -> None:
    before = os.umask(0o077)
    try:
        run = [*PINSWEEP, "run", "e.yaml", "-o", "r.db"]
        subprocess.run(run, cwd=folder, env={**os.environ, **home}, stderr=subprocess.DEVNULL, check=True)
        pinsweep("export", "r.db", "-o", "r.csv")
    finally:
        os.umask(before)

    assert {oct((folder / name).stat().st_mode & 0o777) for name in ("r.db", "r.csv")} == {"0o600"}
