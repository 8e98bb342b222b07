"""Planted disturbances in real runs: each is seen, named with its figure, repeated, and kept."""

from __future__ import annotations

import html
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.counters import Counters
from orchestrator.run.disturbance import Reason
from tests.conftest import Cli
from tests.stopping import BEATS, began, end, state, stop_for_a_moment
from tests.waits import ended, until

CPUS = sorted(os.sched_getaffinity(0))
COMPUTES = """\
schema: 1
title: Computes
tool: poke
fixed: {target: compute, loop: muladd, iterations: 100000, count: %d}
matrix: {place: [{name: here, cpus: pu %d, memory: local}]}
repeats: 1
"""
MOVES_MEMORY = """\
schema: 1
title: Moves memory
tool: stream
fixed: {array_size: 10000000, ntimes: 10}
matrix: {place: [{name: here, cpus: pu %d, memory: local}]}
repeats: 1
"""
READS_A_DISK = """\
schema: 1
title: Reads a disk
tool: fio
fixed: {rw: randread, bs: 4k, direct: 1, ioengine: psync, size: 16M, runtime: 1, time_based: true}
repeats: 1
"""
SPIN = "while True: pass"
MEMORY_HOG = "a = bytearray(64 << 20)\nwhile True: b = bytes(a)"


@pytest.fixture(autouse=True)
def _watched(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PINSWEEP_ALLOW_DISTURBED", "PINSWEEP_INCLUDE"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def beside(*argv: str, cpu: int | None = None) -> Iterator[None]:
    """Have a process run meanwhile, on one CPU if given."""
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if cpu is not None:
        os.sched_setaffinity(process.pid, {cpu})
    try:
        yield
    finally:
        process.kill()
        process.wait()


def runs(path: Path) -> list[dict[str, Any]]:
    """Return every run of a file: its columns, and the ids of the reasons that its counters hold."""
    with sqlite3.connect(path) as db:
        db.row_factory = sqlite3.Row
        rows = [dict(row) for row in db.execute("SELECT * FROM run ORDER BY run_id")]
    for row in rows:
        row["counters"] = json.loads(row["counters"])
        row["ids"] = [reason["id"] for reason in row["counters"]["reasons"]]
    return rows


def measured(pinsweep: Cli, folder: Path, text: str, *words: str, **kwargs: Any) -> list[dict[str, Any]]:
    (folder / "e.yaml").write_text(text)
    done = pinsweep("run", "e.yaml", "-o", "e.db", *words, **kwargs)
    assert done.returncode == 0, done.stderr
    return runs(folder / "e.db")


def told_everywhere(pinsweep: Cli, folder: Path, rule: str) -> None:
    """The reason of a rule is in the audit, in what `show` says of a run, and on the page."""
    reasons = runs(folder / "e.db")[0]["counters"]["reasons"]
    (reason,) = [one["text"] for one in reasons if one["id"] == rule]
    audit, show = pinsweep("audit", "e.db", "--all"), pinsweep("show", "e.db", "1")
    page = pinsweep("report", "e.db", "-o", "e.html", "--static")
    assert page.returncode == 0, page.stderr
    texts = {
        "audit": audit.stdout,
        "show": show.stdout,
        "page": html.unescape((folder / "e.html").read_text()),
    }
    assert [name for name, text in texts.items() if reason not in " ".join(text.split())] == []


@pytest.mark.slow
def test_a_process_on_the_pinned_cpu(pinsweep: Cli, tmp_path: Path) -> None:
    with beside(sys.executable, "-c", SPIN, cpu=CPUS[0]):
        found = measured(pinsweep, tmp_path, COMPUTES % (1000, CPUS[0]))
        again = measured(pinsweep, tmp_path, COMPUTES % (1000, CPUS[0]))
    assert [(run["attempt"], run["status"]) for run in found] == [(n, "disturbed") for n in (1, 2, 3)]
    assert all("foreign" in run["ids"] for run in found)
    told_everywhere(pinsweep, tmp_path, "foreign")
    assert found[0]["counters"]["foreign_s"] > 0.2 * found[0]["wall_s"]
    assert again == found  # a resume repeats no more than the sweep itself


@pytest.mark.slow
@pytest.mark.skipif(len(CPUS) < 2, reason="there is no neighbour")
def test_a_memory_hog_on_the_neighbour_of_a_run_that_measures_memory(pinsweep: Cli, tmp_path: Path) -> None:
    with beside(sys.executable, "-c", MEMORY_HOG, cpu=CPUS[1]):
        found = measured(pinsweep, tmp_path, MOVES_MEMORY % CPUS[0])
    assert all("neighbour" in run["ids"] for run in found)
    told_everywhere(pinsweep, tmp_path, "neighbour")


IS_STOPPED = f"""\
schema: 1
title: Is stopped
tool: command
fixed: {{command: "sh -c '{BEATS}'", metrics: {{n: {{regex: "(7)"}}}}}}
repeats: 1
"""


@pytest.mark.slow
def test_a_tool_that_is_stopped_for_a_while(pinsweep: Cli, tmp_path: Path) -> None:
    def stop_three() -> None:
        for attempt in range(3):
            until(lambda: len(began(tmp_path)) > attempt)  # noqa: B023 (called at once)
            (pid,) = began(tmp_path) - ended
            ended.add(pid)
            stop_for_a_moment(tmp_path, pid)
            end(tmp_path, pid)

    ended = set[int]()
    thread = threading.Thread(target=stop_three, daemon=True)
    thread.start()
    found = measured(pinsweep, tmp_path, IS_STOPPED)
    thread.join()
    assert [run["status"] for run in found] == ["disturbed"] * 3
    assert all("stopped" in run["ids"] for run in found)
    told_everywhere(pinsweep, tmp_path, "stopped")


@pytest.mark.slow
def test_a_pinsweep_that_is_stopped_while_the_tool_ends_does_not_vouch_for_the_run(
    start: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "e.yaml").write_text(IS_STOPPED)
    since = time.monotonic()
    sweep = start("run", "e.yaml", "-o", "e.db", "--no-warm-up", "--share-machine", "--allow-disturbed")
    until(lambda: began(tmp_path))
    (tool,) = began(tmp_path)
    watchdog = int(Path(f"/proc/{tool}/stat").read_text().rpartition(")")[2].split()[1])
    sweep.send_signal(signal.SIGSTOP)
    until(lambda: state(sweep.pid) == "T")
    end(tmp_path, tool)
    until(lambda: ended(tool))
    until(lambda: all(state(watchdog) == "S" and time.sleep(0.01) is None for _ in range(5)))  # it has told its end
    time.sleep(0.7 + 0.2 * (time.monotonic() - since))  # more than a tenth of the run
    sweep.send_signal(signal.SIGCONT)
    assert sweep.wait() == 0
    (run,) = runs(tmp_path / "e.db")
    assert "unwatched" in run["ids"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("fio"), reason="no fio")
def test_io_of_others_on_the_same_disk(pinsweep: Cli, tmp_path: Path) -> None:
    with Counters() as counters:
        if counters.disk_of(str(tmp_path)) is None:
            pytest.skip(f"{tmp_path} lies on no disk that the kernel counts")
    big = tmp_path / "big"
    big.write_bytes(os.urandom(1 << 20) * 32)
    os.sync()
    reads = f"while :; do dd if={big} of=/dev/null bs=1M iflag=direct; done"
    with beside("sh", "-c", reads):
        found = measured(pinsweep, tmp_path, READS_A_DISK)
    assert all("disk" in run["ids"] for run in found)
    told_everywhere(pinsweep, tmp_path, "disk")


@pytest.fixture
def quota() -> Iterator[Path]:
    """A cgroup that may use a fifth of a CPU."""
    mounted = Path("/sys/fs/cgroup")
    limits = {"cpu.max": "20000 100000"}
    if not (mounted / "cgroup.controllers").exists():
        mounted, limits = mounted / "cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "20000"}
    folder = mounted / f"pinsweep-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        for name, text in limits.items():
            (folder / name).write_text(text)
    except OSError as error:
        folder.rmdir()
        pytest.skip(f"no quota can be set here: {error}")
    yield folder
    for _ in range(100):
        try:
            folder.rmdir()
            return
        except OSError:
            time.sleep(0.05)


@pytest.mark.slow
def test_the_quota_of_a_cgroup(pinsweep: Cli, quota: Path, tmp_path: Path, home: dict[str, str]) -> None:
    text = COMPUTES % (1000, CPUS[0])
    (tmp_path / "e.yaml").write_text(text)
    limited = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
    words = [sys.executable, "-m", "pinsweep", "run", "e.yaml", "-o", "e.db"]
    subprocess.run(
        ["sh", "-c", limited, quota, *words], cwd=tmp_path, env={**os.environ, **home}, check=True, capture_output=True
    )  # fmt: skip
    found = runs(tmp_path / "e.db")
    assert all("quota" in run["ids"] for run in found)
    assert all("starved" in run["ids"] for run in found)
    told_everywhere(pinsweep, tmp_path, "quota")


QUICK = """\
schema: 1
title: Quick
tool: command
fixed: {command: "echo 7", metrics: {n: {regex: "(7)"}}}
matrix: {place: [pu %d]}
order: listed
repeats: 4
"""


def test_disturbed_runs_are_repeated_at_the_end_in_their_order(
    called: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = (Reason("foreign", "other processes took 14 % of CPU 3 (0.42 s of 3.0 s)"),)
    verdicts = iter([(), busy, (), busy, busy, (), ()])
    monkeypatch.setattr("orchestrator.run.watch.reasons", lambda *_: next(verdicts))
    (tmp_path / "e.yaml").write_text(QUICK % CPUS[0])

    done = called("run", "e.yaml", "-o", "e.db")

    tried = [(run["repeat"], run["attempt"], run["status"]) for run in runs(tmp_path / "e.db")]
    assert tried == [
        (1, 1, "ok"), (2, 1, "disturbed"), (3, 1, "ok"), (4, 1, "disturbed"), (2, 2, "disturbed"), (4, 2, "ok"), (2, 3, "ok"),
    ]  # fmt: skip
    assert done.returncode == 0
    assert f"[2/4] e  place=pu {CPUS[0]}  disturbed: other processes" in done.stderr
    assert "[7/7] " in done.stderr
    assert "4 ok, 3 retried" in done.stderr


def stop_a_disturbed_sweep_in_its_second_run(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Write e.yaml, and let each run be disturbed, until Ctrl-C comes while the second is judged."""
    judged = itertools.count(1)

    def reasons(*_: object) -> tuple[Reason, ...]:
        if next(judged) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return (Reason("foreign", "others"),)

    monkeypatch.setattr("orchestrator.run.watch.reasons", reasons)
    (folder / "e.yaml").write_text(QUICK % CPUS[0])


def test_who_stops_before_the_repeats_is_not_told_that_they_were_made(
    called: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_a_disturbed_sweep_in_its_second_run(monkeypatch, tmp_path)

    done = called("run", "e.yaml", "-o", "e.db")

    assert done.returncode == 130
    left = sum(run["status"] == "disturbed" for run in runs(tmp_path / "e.db"))
    assert f", {left} still to retry\n" in done.stderr
    assert "at every attempt" not in done.stderr
    assert "start the same `pinsweep run` again" in " ".join(called("audit", "e.db").stdout.split())


@pytest.mark.slow
def test_a_shared_machine_keeps_its_evidence_and_repeats_nothing(pinsweep: Cli, tmp_path: Path) -> None:
    with beside(sys.executable, "-c", SPIN, cpu=CPUS[0]):
        (run,) = measured(pinsweep, tmp_path, COMPUTES % (4000, CPUS[0]), "--allow-disturbed")
        (same,) = measured(pinsweep, tmp_path, COMPUTES % (4000, CPUS[0]), env={"PINSWEEP_ALLOW_DISTURBED": "1"})
    assert (run["status"], run["reason"]) == ("ok", "")
    assert "foreign" in run["ids"]
    assert same == run  # and nothing was left to do


@pytest.mark.slow
def test_a_machine_that_is_never_quiet_fills_each_cell_in_one_round(pinsweep: Cli, tmp_path: Path) -> None:
    with beside(sys.executable, "-c", SPIN, cpu=CPUS[0]):
        found = measured(pinsweep, tmp_path, COMPUTES.replace("repeats: 1", "repeats: 8") % (4000, CPUS[0]))
        exported = pinsweep("export", "e.db")

    assert [(run["status"], run["attempt"]) for run in found if not run["warm_up"]] == [("disturbed", 1)] * 8
    assert len(exported.stdout.splitlines()) > 2


def test_what_was_stopped_before_its_repeats_is_measured_once_disturbed_runs_are_allowed(
    called: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_a_disturbed_sweep_in_its_second_run(monkeypatch, tmp_path)
    assert called("run", "e.yaml", "-o", "e.db").returncode == 130
    first = {run["repeat"] for run in runs(tmp_path / "e.db") if run["status"] == "disturbed"}

    again = called("run", "e.yaml", "-o", "e.db", "--allow-disturbed")

    assert first
    assert {run["repeat"] for run in runs(tmp_path / "e.db") if run["status"] == "ok"} == {1, 2, 3, 4}
    assert "at every attempt" not in again.stderr


def test_a_file_of_disturbed_runs_has_their_numbers_unless_only_quiet_ones_are_wanted(
    called: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.run.watch.reasons", lambda *_: (Reason("foreign", "others"),))
    (tmp_path / "e.yaml").write_text(QUICK.replace("repeats: 4", "repeats: 2") % CPUS[0])

    first, again = called("run", "e.yaml", "-o", "e.db"), called("run", "e.yaml", "-o", "e.db")

    assert again.returncode == 0
    for answer in (first, again):
        assert "2 runs were disturbed" in answer.stderr
    assert len(called("export", "e.db").stdout.splitlines()) >= 2
    quiet = called("export", "e.db", "--include", "quiet")
    assert (quiet.returncode, quiet.stdout) == (0, "tool,metric,unit,value\n")
    assert "left out: 2 disturbed runs" in quiet.stderr
    assert called("export", "e.db", "--include", "quiet", "--tool", "command").returncode == 2
    audit = called("audit", "e.db", "--format", "json")
    assert {finding["id"] for finding in json.loads(audit.stdout)["findings"]} >= {"D1", "D2"}
    assert "6 disturbed runs" in called("audit", "e.db").stderr  # three attempts each
    assert (called("fleet", "e.db").returncode, called("history", "e.db").returncode) == (1, 2)


def test_one_file_with_and_without_disturbed_runs_is_told(
    called: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.run.watch.reasons", lambda *_: (Reason("foreign", "others"),))
    few, more = (QUICK.replace("repeats: 4", f"repeats: {n}") % CPUS[0] for n in (1, 2))
    (tmp_path / "e.yaml").write_text(few)
    called("run", "e.yaml", "-o", "allowed.db", "--allow-disturbed")
    called("run", "e.yaml", "-o", "left-out.db")
    (tmp_path / "e.yaml").write_text(more)

    then_not = called("run", "e.yaml", "-o", "allowed.db")
    then_allowed = called("run", "e.yaml", "-o", "left-out.db", "--allow-disturbed")

    assert "warning  allowed.db: 1 earlier disturbed runs count" in then_not.stderr
    assert "warning  left-out.db: 1 earlier disturbed runs do not count" in then_allowed.stderr
    assert "earlier disturbed" not in called("run", "e.yaml", "-o", "allowed.db").stderr  # nothing is to be done
