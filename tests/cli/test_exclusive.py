"""Two `pinsweep run` at once, as users meet it: the second one waits, says for whom, and can be stopped or told not to."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

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
FIRST, LAST = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))


@pytest.fixture
def first(tmp_path: Path, home: Mapping[str, str], runtime: Path) -> Iterator[subprocess.Popen[str]]:
    """A sweep that measures on the first PU until it is stopped."""
    (tmp_path / "long.yaml").write_text(SLEEPS % (60, FIRST))
    (tmp_path / "short.yaml").write_text(SLEEPS % (0.02, FIRST))
    process = start("run", "long.yaml", "-o", "long.db", cwd=tmp_path, home=home)
    wait_for(lambda: runtime.is_dir() and any(runtime.iterdir()))
    yield process
    process.terminate()
    process.communicate(timeout=20)


def start(*words: str, cwd: Path, home: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pinsweep", *words], cwd=cwd, env={**os.environ, **home}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def wait_for(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.02)


def test_the_second_sweep_waits_says_for_whom_and_goes_on(
    first: subprocess.Popen[str], tmp_path: Path, home: Mapping[str, str]
) -> None:
    second = start("run", "short.yaml", "-o", "short.db", cwd=tmp_path, home=home)
    assert second.stderr is not None
    said, how = second.stderr.readline(), second.stderr.readline()
    first.terminate()
    _, rest = second.communicate(timeout=30)

    assert said.startswith(f"waiting  for another sweep on CPU {FIRST}: pid {first.pid} of ")
    assert f"result file {tmp_path}/long.db" in said
    assert "--share-machine does not wait" in how
    assert second.returncode == 0, rest
    assert "1 ok" in rest


def test_ctrl_c_ends_the_wait_and_nothing_was_written(
    first: subprocess.Popen[str], tmp_path: Path, home: Mapping[str, str]
) -> None:
    second = start("run", "short.yaml", "-o", "short.db", cwd=tmp_path, home=home)
    assert second.stderr is not None
    assert "waiting" in second.stderr.readline()
    second.send_signal(signal.SIGINT)
    _, rest = second.communicate(timeout=30)

    assert second.returncode == 130, rest
    assert "nothing was started\nstopped; to go on: pinsweep run short.yaml -o short.db" in rest
    assert [p.name for p in tmp_path.glob("short*")] == ["short.yaml"]


def test_who_shares_the_machine_or_has_other_cores_or_nothing_to_do_does_not_wait(
    first: subprocess.Popen[str], pinsweep: Cli, tmp_path: Path
) -> None:
    shared = pinsweep("run", "short.yaml", "-o", "shared.db", "--share-machine")
    again = pinsweep("run", "short.yaml", "-o", "shared.db")

    assert (shared.returncode, again.returncode) == (0, 0), shared.stderr + again.stderr
    assert "waiting" not in shared.stderr + again.stderr
    assert "1 were done before" in again.stderr
    with sqlite3.connect(tmp_path / "shared.db") as db:
        assert db.execute("SELECT status FROM run").fetchall() == [("ok",)]
    siblings = Path(f"/sys/devices/system/cpu/cpu{FIRST}/topology/thread_siblings_list")
    if FIRST == LAST or str(LAST) in siblings.read_text():
        pytest.skip("one core: there is no other to measure on")
    (tmp_path / "beside.yaml").write_text(SLEEPS % (0.02, LAST))
    beside = pinsweep("run", "beside.yaml", "-o", "beside.db")
    assert beside.returncode == 0, beside.stderr
    assert "waiting" not in beside.stderr
