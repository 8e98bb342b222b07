"""The job of one host of a sweep of many: measured on a disk of its own, its results sent home."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from orchestrator.cluster import folder
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.home import Home
from orchestrator.cluster.results import read_results
from parsers.errors import UserError
from tests.conftest import Cli
from tests.waits import until

SWEEP = """\
schema: 1
title: two
tool: command
repeats: 2
fixed: {{command: "sh -c '{command}'", metrics: {{n: {{regex: "([0-9]+)", unit: "1", better: higher}}}}}}
matrix: {{x: [1, 2]}}
"""


def experiment(where: Path, command: str = "echo {x}") -> Path:
    path = where / "two.yaml"
    path.write_text(SWEEP.format(command=command))
    return path


def test_results_come_home_and_are_continued_where_the_host_has_lost_them(
    pinsweep: Cli, tmp_path: Path
) -> None:
    local, shared = tmp_path / "local" / "n1.db", tmp_path / "n1.db"
    words = ["run", experiment(tmp_path), "-o", local, "--home", shared]
    first = pinsweep(*words, "--cells", "x=1")
    assert first.returncode == 0, first.stderr
    shutil.rmtree(local.parent)
    local.parent.mkdir()

    second = pinsweep(*words)

    assert second.returncode == 0, second.stderr
    found = read_results(shared)
    assert found is not None
    assert (found.done, found.total, found.sessions, found.complete) == (4, 4, 2, True)
    with sqlite3.connect(shared) as db:
        assert db.execute("SELECT count(*), count(DISTINCT point_id || repeat) FROM run").fetchone() == (4, 4)
    assert sorted(path.name for path in tmp_path.glob(".*")) == []


def test_what_could_not_come_home_stays_and_is_taken_by_the_next_job(pinsweep: Cli, tmp_path: Path) -> None:
    local, shared = tmp_path / "local" / "n1.db", tmp_path / "shared" / "n1.db"
    local.parent.mkdir()
    words = ["run", experiment(tmp_path), "-o", local, "--home", shared]

    away = pinsweep(*words)

    assert away.returncode == 4
    assert "No such file or directory; " not in away.stderr
    assert "results stay on this host for now" in away.stderr
    assert str(shared) in (local.parent / "reason").read_text()
    assert not (local.parent / "is-home").exists()
    shared.parent.mkdir()
    assert pinsweep(*words).returncode == 0
    assert (local.parent / "is-home").exists()
    found = read_results(shared)
    assert found is not None
    assert found.complete


@pytest.mark.parametrize("plant", ["link", "fifo"])
def test_nothing_is_sent_through_what_others_have_put_there(tmp_path: Path, plant: str) -> None:
    """As root on a node: the victim became a database, or the job waited for a reader for ever."""
    local, shared, victim = tmp_path / "local" / "n1.db", tmp_path / "n1.db", tmp_path / "victim"
    local.parent.mkdir()
    victim.write_text("precious")
    with sqlite3.connect(local) as db:
        db.execute("CREATE TABLE t (x)")
    for path in (tmp_path / ".n1.db.home.part", shared):
        path.symlink_to(victim) if plant == "link" else os.mkfifo(path)
    home = Home(local, shared)

    with pytest.raises(UserError, match="cannot be read"), home:
        pass
    home.send()

    assert victim.read_text() == "precious"
    assert shared.is_file()
    assert not shared.is_symlink()


def test_what_cannot_be_read_here_is_kept_and_the_rest_is_gone_on_with(pinsweep: Cli, tmp_path: Path) -> None:
    """It may hold more than what is home, and the reason may pass; it was overwritten."""
    local, shared = tmp_path / "local" / "n1.db", tmp_path / "n1.db"
    local.parent.mkdir()
    words = ["run", experiment(tmp_path), "-o", local, "--home", shared]
    assert pinsweep(*words, "--cells", "x=1").returncode == 0
    whole = local.read_bytes()
    local.write_bytes(whole[: len(whole) // 2])
    (local.parent / "is-home").unlink()  # as a job does first

    done = pinsweep(*words)

    assert done.returncode == 0, done.stderr
    aside = local.with_name("n1.db.unreadable")
    assert aside.read_bytes() == whole[: len(whole) // 2]
    assert f"stored as {aside}; continuing with {shared}" in done.stderr
    assert not (local.parent / "is-home").exists()  # nothing is removed here
    found = read_results(shared)
    assert found is not None
    assert found.complete


def test_who_was_killed_behind_the_last_run_is_done_when_the_next_job_finds_nothing_to_do(
    pinsweep: Cli, tmp_path: Path
) -> None:
    """Its session never came to an end, so that each job "ended well, but its results are not here"."""
    local, shared = tmp_path / "local" / "n1.db", tmp_path / "n1.db"
    local.parent.mkdir()
    words = ["run", experiment(tmp_path), "-o", local, "--home", shared]
    assert pinsweep(*words).returncode == 0
    for path in (local, shared):
        with sqlite3.connect(path) as db:
            db.execute("UPDATE session SET ended_utc = NULL")

    assert pinsweep(*words).returncode == 0

    found = read_results(shared)
    assert found is not None
    assert (found.sessions, found.complete) == (1, True)


def test_a_run_that_fails_is_told_by_the_tool_s_own_reason(pinsweep: Cli, tmp_path: Path) -> None:
    shared = tmp_path / "n1.db"
    local = tmp_path / "local" / "n1.db"
    local.parent.mkdir()

    done = pinsweep("run", experiment(tmp_path, "if test {x} = 2; then echo no room >&2; exit 5; fi; echo 1"), "-o", local, "--home", shared)  # fmt: skip

    assert done.returncode == 1
    found = read_results(shared)
    assert found is not None
    assert (found.done, found.failed, found.total, found.complete) == (2, 2, 4, False)
    assert (local.parent / "is-home").exists()
    assert found.failure == "two: exit status 5: no room"


def test_what_status_reads_of_a_file_is_guarded_as_elsewhere(pinsweep: Cli, tmp_path: Path) -> None:
    path = tmp_path / "n1.db"
    assert pinsweep("run", experiment(tmp_path), "-o", path).returncode == 0
    with sqlite3.connect(path) as db:
        db.execute("UPDATE run SET status = 'misplaced', reason = 'ran on CPU 3' WHERE run_id = 1")
    strict, allowed = read_results(path), read_results(path, allow_misplaced=True)
    assert strict is not None
    assert allowed is not None
    assert (strict.failed, strict.failure, strict.complete) == (1, "two: ran on CPU 3", False)
    assert (allowed.done, allowed.failed, allowed.complete) == (4, 0, True)
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS point_id, i AS repeat, 'ok' AS status FROM n"
    with sqlite3.connect(path) as db:
        db.executescript(f"PRAGMA foreign_keys = OFF; DROP TABLE run; CREATE VIEW run AS {endless};")

    found = read_results(path)

    assert found is not None
    assert found.problem == "n1.db: is damaged: run is a view, not a table"


def test_a_file_that_is_none_says_so(tmp_path: Path) -> None:
    (tmp_path / "n1.db").write_bytes(b"SQLite format 3\0" + b"x" * 500)

    found = read_results(tmp_path / "n1.db")

    assert found is not None
    assert "n1.db" in found.problem
    assert read_results(tmp_path / "n2.db") is None


def test_the_log_of_a_job_that_is_stopped_names_what_goes_on_with_the_sweep(tmp_path: Path) -> None:
    """It named the job's own command, with a folder on the host that is gone with the job."""
    acc = tmp_path / "acc"
    sweep = Sweep(id="3f9a12bc", folder=str(acc), via="slurm", hosts=("n1",), experiments={}, words=())
    folder.make(sweep, {}, "")
    local = tmp_path / "local" / "n1.db"
    local.parent.mkdir()

    words = [
        "run",
        experiment(tmp_path, f"touch {tmp_path}/began; sleep 60"),
        "-o",
        local,
        "--home",
        acc / "n1.db",
    ]

    with subprocess.Popen([sys.executable, "-P", "-m", "pinsweep", *map(str, words)], stderr=subprocess.PIPE, text=True) as job:  # fmt: skip
        until((tmp_path / "began").exists)
        job.send_signal(signal.SIGINT)
        _, said = job.communicate()

    assert job.returncode == 130, said
    assert said.splitlines()[-1] == f"stopped; to go on: pinsweep run -o {acc}"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one PU cannot be a part")
def test_a_part_of_the_cpus_is_refused_with_both_numbers(tmp_path: Path, home: Mapping[str, str]) -> None:
    shared = tmp_path / "n1.db"
    (tmp_path / "local").mkdir()
    one = str(min(os.sched_getaffinity(0)))
    words = [
        "run",
        experiment(tmp_path),
        "-o",
        tmp_path / "local" / "n1.db",
        "--home",
        shared,
        "--whole-node",
    ]

    done = subprocess.run(
        ["taskset", "-c", one, sys.executable, "-m", "pinsweep", *map(str, words)],
        env={**os.environ, **home}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 3, done.stderr
    assert "1 of " in done.stderr
    assert "1 of " in (tmp_path / "local" / "reason").read_text()
    assert not shared.exists()
