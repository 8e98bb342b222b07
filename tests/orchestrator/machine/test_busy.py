"""Who uses the CPUs, by name: from two looks at a copied /proc, and from the real one with a process that spins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.machine import busy
from orchestrator.machine.busy import Seen, between, busy_now, glance, running, snapshot

TICK = busy.TICKS_PER_S


def seen(ticks: int, *, started: int = 5, threads: int = 1, cpu: int = 0) -> Seen:
    return Seen(name="cc1", state="R", started=started, ticks=ticks, threads=threads, cpu=cpu)


def stat(pid: int, name: str, state: str = "S", ticks: int = 0, cpu: int = 0) -> str:
    """A line of /proc/PID/stat: fields 14 and 15 are CPU time, 20 threads, 22 the start, 39 the CPU."""
    rest = [state, *["0"] * 49]
    rest[11], rest[12], rest[17], rest[19], rest[36] = str(ticks), "7", "1", "99", str(cpu)
    return f"{pid} ({name}) {' '.join(rest)}\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_a_share_is_of_the_time_between_and_the_busiest_comes_first() -> None:
    before = {1: seen(100), 2: seen(0), 3: seen(0), 4: seen(50), 5: seen(0, threads=4)}
    after = {1: seen(100), 2: seen(TICK), 3: seen(TICK // 4), 4: seen(9 * TICK, started=6), 5: seen(5 * TICK, threads=4)}  # fmt: skip

    assert [(pid, share) for pid, _, share in between(before, after, 2.0)] == [(5, 2.5), (2, 0.5), (3, 0.125)]
    assert [(pid, share) for pid, _, share in between(before, after, 0.5)][1] == (
        2,
        1.0,
    )  # one thread, one CPU


@pytest.mark.parametrize("name", ["cc1", "a b) R 1 (c", "tmux: server", ")", ""])
def test_a_name_may_hold_what_it_likes(name: str, tmp_path: Path) -> None:
    proc = tree(tmp_path, {"7/stat": stat(7, name, "R", 40, cpu=3), "self/stat": "x", "8/stat": "8 (cut) R"})

    assert snapshot(proc, [7, 8, 9]) == {7: Seen(name=name, state="R", started=99, ticks=47, threads=1, cpu=3)}


def test_a_glance_at_a_machine_on_which_nothing_runs_reads_no_process(tmp_path: Path) -> None:
    proc = tree(tmp_path, {"loadavg": "3.10 0.20 0.10 1/1023 4242\n"})
    (tmp_path / "4242").mkdir()
    (tmp_path / "4242" / "stat").symlink_to(tmp_path / "not to be read")

    assert running(proc) == 1
    assert glance(proc, wait_s=60) == ()
    assert running(tmp_path / "none") == 0


def test_a_spinning_process_is_named_with_its_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at for longer and longer: beside others it may not get more than a few ticks in a second."""
    monkeypatch.setattr(busy, "MIN_SHARE", 0.0)
    cpu = max(os.sched_getaffinity(0))
    spinner = subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "print(flush=True)\nwhile 1: pass"], stdout=subprocess.PIPE)  # fmt: skip
    found, glanced = {}, {}
    try:
        assert spinner.stdout is not None
        spinner.stdout.readline()
        for wait_s in (0.1, 0.4, 1.6, 6.4, 25.6):
            found |= {one.pid: one for one in busy_now(wait_s=wait_s)}
            glanced |= {one.pid: one for one in glance(wait_s=wait_s)}
            if spinner.pid in found and spinner.pid in glanced:
                break
        spared = busy_now(wait_s=wait_s, spare=[spinner.pid])
    finally:
        spinner.kill()
        spinner.communicate()

    assert found[spinner.pid].cpus == glanced[spinner.pid].cpus == {cpu}
    assert found[spinner.pid].name.startswith("python")
    assert 0 < found[spinner.pid].share <= 1.0
    assert spinner.pid not in {one.pid for one in spared}
