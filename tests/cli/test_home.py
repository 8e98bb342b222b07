"""The job of one host of a sweep of many: measured on a local disk, its results sent to the shared folder."""

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
from orchestrator.cluster.results import Results, read_results
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


class Files:
    """The files of a job of the host n1."""

    def __init__(self, tmp_path: Path) -> None:
        self.local, self.shared = tmp_path / "local" / "n1.db", tmp_path / "shared" / "n1.db"
        self.experiment = tmp_path / "two.yaml"
        self.is_home, self.reason = (self.local.with_name(name) for name in ("is-home", "reason"))
        for path in (self.local, self.shared):
            path.parent.mkdir()

    def words(self, command: str = "echo {x}") -> list[str]:
        """Return the command line of the job."""
        self.experiment.write_text(SWEEP.format(command=command))
        return ["run", str(self.experiment), "-o", str(self.local), "--home", str(self.shared)]

    @property
    def results(self) -> Results:
        results = read_results(self.shared)
        assert results is not None
        return results


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def change(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as db:
        db.executescript(statement)


def test_results_are_sent_and_continued_if_the_host_has_lost_them(pinsweep: Cli, files: Files) -> None:
    first = pinsweep(*files.words(), "--cells", "x=1")
    assert first.returncode == 0, first.stderr
    shutil.rmtree(files.local.parent)
    files.local.parent.mkdir()

    second = pinsweep(*files.words())

    assert second.returncode == 0, second.stderr
    results = files.results
    assert (results.done, results.total, results.sessions, results.complete) == (4, 4, 2, True)
    with sqlite3.connect(files.shared) as db:
        assert db.execute("SELECT count(*), count(DISTINCT point_id || repeat) FROM run").fetchone() == (4, 4)
    assert [path.name for path in files.shared.parent.iterdir()] == ["n1.db"]


def test_results_that_cannot_be_sent_stay_for_the_next_job(pinsweep: Cli, files: Files) -> None:
    files.shared.parent.rmdir()

    assert pinsweep(*files.words()).returncode == 4

    assert str(files.shared) in files.reason.read_text()
    assert not files.is_home.exists()
    files.shared.parent.mkdir()
    assert pinsweep(*files.words()).returncode == 0
    assert files.is_home.exists()
    assert files.results.complete


@pytest.mark.parametrize("plant", ["link", "fifo"])
def test_nothing_is_sent_through_a_planted_file(files: Files, tmp_path: Path, plant: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    change(files.local, "CREATE TABLE t (x)")
    for path in (files.shared.with_name(".n1.db.home.part"), files.shared):
        path.symlink_to(victim) if plant == "link" else os.mkfifo(path)
    home = Home(files.local, files.shared)

    with pytest.raises(UserError, match="cannot be read"), home:
        pass
    home.send()

    assert victim.read_text() == "precious"
    assert files.shared.is_file()
    assert not files.shared.is_symlink()


def test_unreadable_local_results_are_stored_and_the_shared_ones_continued(pinsweep: Cli, files: Files) -> None:
    """They may hold more than the shared file."""
    assert pinsweep(*files.words(), "--cells", "x=1").returncode == 0
    half = files.local.read_bytes()[: files.local.stat().st_size // 2]
    files.local.write_bytes(half)
    files.is_home.unlink()  # as a job does first

    done = pinsweep(*files.words())

    assert done.returncode == 0, done.stderr
    assert files.local.with_name("n1.db.unreadable").read_bytes() == half
    assert not files.is_home.exists()  # the job removes nothing
    assert files.results.complete


def test_a_session_that_was_killed_after_its_last_run_is_ended_by_the_next_job(pinsweep: Cli, files: Files) -> None:
    assert pinsweep(*files.words()).returncode == 0
    for path in (files.local, files.shared):
        change(path, "UPDATE session SET ended_utc = NULL")

    assert pinsweep(*files.words()).returncode == 0

    assert (files.results.sessions, files.results.complete) == (1, True)


def test_a_failed_run_has_the_tool_s_own_reason(pinsweep: Cli, files: Files) -> None:
    done = pinsweep(*files.words("if test {x} = 2; then echo no room >&2; exit 5; fi; echo 1"))

    assert done.returncode == 1
    results = files.results
    assert (results.done, results.failed, results.total, results.complete) == (2, 2, 4, False)
    assert results.failure == "two: exit status 5: no room"
    assert files.is_home.exists()


def test_status_reads_a_file_with_the_guards_of_all_readers(pinsweep: Cli, files: Files) -> None:
    assert pinsweep(*files.words()).returncode == 0
    change(files.shared, "UPDATE run SET status = 'misplaced', reason = 'ran on CPU 3' WHERE run_id = 1")
    strict, allowed = files.results, read_results(files.shared, allow_misplaced=True)
    assert allowed is not None
    assert (strict.failed, strict.failure, strict.complete) == (1, "two: ran on CPU 3", False)
    assert (allowed.done, allowed.failed, allowed.complete) == (4, 0, True)
    endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS point_id FROM n"
    change(files.shared, f"PRAGMA foreign_keys = OFF; DROP TABLE run; CREATE VIEW run AS {endless};")

    assert "view" in files.results.problem

    files.shared.write_bytes(b"SQLite format 3\0" + b"x" * 500)
    assert "n1.db" in files.results.problem
    files.shared.unlink()
    assert read_results(files.shared) is None


def test_a_stopped_job_names_the_command_that_continues_the_sweep(files: Files, tmp_path: Path) -> None:
    acc = files.shared.parent
    sweep = Sweep(id="3f9a12bc", folder=str(acc), via="slurm", hosts=("n1",), experiments={}, words=())
    folder.make(sweep, {}, "")
    argv = [sys.executable, "-P", "-m", "pinsweep", *files.words(f"touch {tmp_path}/began; sleep 60")]

    with subprocess.Popen(argv, stderr=subprocess.PIPE, text=True) as job:
        until((tmp_path / "began").exists)
        job.send_signal(signal.SIGINT)
        _, stderr = job.communicate()

    assert job.returncode == 130, stderr
    assert stderr.splitlines()[-1].endswith(f"pinsweep run -o {acc}")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one PU cannot be a part")
def test_a_part_of_the_cpus_is_refused_with_both_numbers(files: Files, home: Mapping[str, str]) -> None:
    pu = str(min(os.sched_getaffinity(0)))
    argv = ["taskset", "-c", pu, sys.executable, "-m", "pinsweep", *files.words(), "--whole-node"]

    done = subprocess.run(argv, env={**os.environ, **home}, capture_output=True, text=True, check=False)

    assert done.returncode == 3, done.stderr
    assert "1 of " in done.stderr
    assert "1 of " in files.reason.read_text()
    assert not files.shared.exists()
