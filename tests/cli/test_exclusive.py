"""Two `pinsweep run` at once, as users meet it: the second one waits, says for whom, and can be stopped or told not to."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from orchestrator.machine import lockfile
from orchestrator.plan.survey import SCRATCH_MARKER, host_name
from orchestrator.run.scratch import Claim
from tests.cli.conftest import Start
from tests.conftest import Cli
from tests.waits import PATIENCE_S, until

SLEEPS = """\
schema: 1
title: Sleeps
tool: command
fixed:
  command: sh -c 'sleep {seconds}; echo 7'
  seconds: %s
  metrics: {n: {regex: "(7)"}}
matrix: {place: [pu %d]}
repeats: 1
"""
FILES = """\
schema: 1
title: Files
tool: poke
fixed: {target: files, files: 2, file_size: 1kB}
repeats: 1
"""
FIRST, LAST = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))


@pytest.fixture
def first(start: Start, tmp_path: Path, runtime: Path) -> subprocess.Popen[str]:
    """A sweep that measures on the first PU until it is stopped."""
    (tmp_path / "long.yaml").write_text(SLEEPS % (10 * PATIENCE_S, FIRST))
    (tmp_path / "short.yaml").write_text(SLEEPS % (0.02, FIRST))
    process = start("run", "long.yaml", "-o", "long.db")
    until(lambda: runtime.is_dir() and any(runtime.iterdir()))
    return process


@pytest.mark.slow
def test_the_second_sweep_waits_says_for_whom_and_goes_on(
    first: subprocess.Popen[str], start: Start, tmp_path: Path
) -> None:
    second = start("run", "short.yaml", "-o", "short.db")
    assert second.stderr is not None
    said, how = second.stderr.readline(), second.stderr.readline()
    first.terminate()
    _, rest = second.communicate(timeout=PATIENCE_S)

    assert said.startswith(f"waiting  for another sweep on CPU {FIRST}: pid {first.pid} of ")
    assert f"result file {tmp_path}/long.db" in said
    assert "--share-machine" in how
    assert second.returncode == 0, rest
    assert "1 ok" in rest


@pytest.mark.parametrize("other", ["uses", "plans"])
def test_while_another_uses_or_plans_with_a_scratch_folder_a_sweep_has_one_of_its_own(
    pinsweep: Cli, tmp_path: Path, other: str
) -> None:
    (tmp_path / "e.yaml").write_text(FILES)
    folder = tmp_path / "pinsweep-scratch" / f"e@{host_name()}"
    with Claim() as claim:
        if other == "plans":
            assert claim.take(folder)
        else:
            folder.mkdir(parents=True)
            held = lockfile.acquire(folder / SCRATCH_MARKER)
        done = pinsweep("run", "e.yaml", "-o", "e.db")
    if other == "uses":
        assert [path.name for path in folder.parent.iterdir()] == [folder.name]
        os.close(held or 0)

    assert done.returncode == 0, done.stderr
    assert "waiting" not in done.stderr
    with sqlite3.connect(tmp_path / "e.db") as db:
        ((argv,),) = db.execute("SELECT argv FROM run").fetchall()
        ((facts,),) = db.execute("SELECT facts FROM session").fetchall()
    assert f"/{folder.name}-2/files" in argv
    facts = json.loads(facts)
    assert facts["scratch_sweeps"] == "e"
    assert facts["scratch_file_system"] == facts["result_file_system"] != ""


@pytest.mark.slow
def test_ctrl_c_ends_the_wait_and_nothing_was_written(
    first: subprocess.Popen[str], start: Start, tmp_path: Path
) -> None:
    second = start("run", "short.yaml", "-o", "short.db")
    assert second.stderr is not None
    assert "waiting" in second.stderr.readline()
    second.send_signal(signal.SIGINT)
    _, rest = second.communicate(timeout=PATIENCE_S)

    assert second.returncode == 130, rest
    assert "no run was finished\nstopped; to continue: pinsweep run short.yaml -o short.db" in rest
    assert [p.name for p in tmp_path.glob("short*")] == ["short.yaml"]


def test_who_shares_the_machine_or_has_other_cores_or_nothing_to_do_does_not_wait(
    first: subprocess.Popen[str], pinsweep: Cli, tmp_path: Path
) -> None:
    shared = pinsweep("run", "short.yaml", "-o", "shared.db", "--share-machine")
    again = pinsweep("run", "short.yaml", "-o", "shared.db")

    assert (shared.returncode, again.returncode) == (0, 0), shared.stderr + again.stderr
    assert "waiting" not in shared.stderr + again.stderr
    assert "1 done before" in again.stderr
    with sqlite3.connect(tmp_path / "shared.db") as db:
        assert db.execute("SELECT status FROM run").fetchall() == [("ok",)]
        ((facts,),) = db.execute("SELECT facts FROM session WHERE session = 1").fetchall()
    assert not list(tmp_path.glob("pinsweep-scratch*"))  # neither has a scratch file
    assert json.loads(facts).keys() & {"scratch_file_system", "scratch_sweeps"} == set()
    siblings = Path(f"/sys/devices/system/cpu/cpu{FIRST}/topology/thread_siblings_list")
    if FIRST == LAST or str(LAST) in siblings.read_text():
        pytest.skip("one core: there is no other to measure on")
    (tmp_path / "beside.yaml").write_text(SLEEPS % (0.02, LAST))
    beside = pinsweep("run", "beside.yaml", "-o", "beside.db")
    assert beside.returncode == 0, beside.stderr
    assert "waiting" not in beside.stderr
