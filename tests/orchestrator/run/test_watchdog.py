"""Real processes that hide: whatever ends a run, nothing of it is left, and nobody waits for ever."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine import process_tree
from orchestrator.model import Outcome
from orchestrator.run import watchdog_process as messages
from orchestrator.run.process import Stop, run_process
from orchestrator.run.watchdog import Watchdog
from orchestrator.run.watchdog_process import NAME, Refused
from parsers.errors import PinsweepError
from tests.stopping import BEATS, began, end, state, stop_for_a_moment
from tests.waits import PATIENCE_S, beside_nobody_s, ended, until, without_kill

HIDDEN = {
    "cleared environment": "env -i sleep {t} &",
    "own session": "setsid sleep {t} &",
    "daemon": "(setsid sh -c 'sleep {t} & exit' &);",
    "all of it, deaf to TERM": """trap "" TERM INT HUP; (env -i setsid sh -c 'sleep {t} & exit' &);""",
}
"""Ways to leave a process behind, `sleep {t}`, that neither its environment, its group nor its parent leads to."""

hidden = pytest.mark.parametrize("script", HIDDEN.values(), ids=HIDDEN)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is deaf to SIGTERM is deaf for two seconds, too."""
    monkeypatch.setattr(process_tree, "GRACE_S", 0.3)


@pytest.fixture
def t() -> str:
    """A time to sleep that no other process on this machine sleeps, by which ours are found."""
    return f"300.{random.SystemRandom().randrange(10**9):09}"


def alive(word: str) -> list[int]:
    """Return the processes that have this word in their command line; zombies have none."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if word.encode() in words:
                found.append(int(entry.name))
    return found


def run(watchdog: Watchdog, script: str, timeout_s: float = PATIENCE_S) -> Outcome:
    """Nothing that sleeps `t` is waited for."""
    begun = time.monotonic()
    with Stop() as stop:
        outcome = run_process(["sh", "-c", script], {}, watchdog=watchdog, timeout_s=timeout_s, stop=stop)
    assert time.monotonic() - begun < 300
    return outcome


def when(condition: Callable[[], object], do: Callable[[], object]) -> threading.Thread:
    def wait_and_do() -> None:
        until(condition)
        do()

    thread = threading.Thread(target=wait_and_do)
    thread.start()
    return thread


@hidden
def test_a_timeout_ends_what_hides(watchdog: Watchdog, script: str, t: str) -> None:
    outcome = run(watchdog, f"{script.format(t=t)} sleep {t}; :", timeout_s=0.5)

    assert outcome.timed_out
    assert outcome.unended == ()
    assert alive(t) == []


def test_a_tool_that_ended_in_time_has_not_timed_out_over_what_it_left(
    tmp_path: Path, t: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it left is deaf to TERM, so that ending it takes longer than the run had in all."""
    deaf = f"setsid sh -c 'trap : TERM; touch {tmp_path}/deaf; while :; do sleep {t}; done' &"
    for timeout_s in (1.0, 10.0, 100.0):  # a busy machine may not let the tool end in time
        monkeypatch.setattr(process_tree, "GRACE_S", timeout_s + 0.2)
        watchdog = Watchdog()
        outcome = run(watchdog, f"{deaf} until [ -e {tmp_path}/deaf ]; do sleep 0.01; done; echo 1", timeout_s)
        watchdog.stop()
        if outcome.exit_code == 0:
            break

    assert (outcome.timed_out, outcome.exit_code, outcome.stdout) == (False, 0, b"1\n")
    assert alive(t) == []


@hidden
def test_a_stop_ends_what_hides(watchdog: Watchdog, script: str, t: str) -> None:
    kill = when(lambda: len(alive(t)) >= 2, lambda: os.kill(os.getpid(), signal.SIGINT))

    outcome = run(watchdog, f"{script.format(t=t)} sleep {t}; :")

    kill.join()
    assert outcome.stopped
    assert alive(t) == []


@hidden
def test_what_a_tool_leaves_behind_is_ended_with_it(watchdog: Watchdog, script: str, t: str) -> None:
    outcome = run(watchdog, f"{script.format(t=t)} sleep 0.1; echo answer 1")

    assert (outcome.exit_code, outcome.stdout) == (0, b"answer 1\n")
    assert alive(t) == []


KILLED = """
import sys
from pathlib import Path
from typing import Any
from orchestrator.machine import process_tree
from orchestrator.run.process import Stop, run_process
from orchestrator.run.scratch import open_scratch
process_tree.GRACE_S = 0.3
with open_scratch(Path(sys.argv[1])) as scratch, Stop() as stop:
    print(scratch.watchdog.pid, flush=True)
    for script in sys.argv[2:]:
        outcome = run_process(["sh", "-c", script], {}, watchdog=scratch.watchdog, timeout_s=600, stop=stop)
        print(outcome, flush=True)
"""


def pinsweep(folder: Path, *scripts: str) -> tuple[subprocess.Popen[str], int]:
    """Start a pinsweep that runs `scripts` one after the other; return it and its watchdog's pid."""
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(folder), *scripts], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@hidden
def test_kill_9_of_pinsweep_ends_what_hides(tmp_path: Path, script: str, t: str) -> None:
    process, watchdog = pinsweep(tmp_path / "s", f"{script.format(t=t)} sleep {t}; :")
    with process:
        until(lambda: len(alive(t)) >= 2)
        process.kill()

    until(lambda: not alive(t) and not (tmp_path / "s").exists() and ended(watchdog))


@pytest.mark.slow
@hidden
def test_a_killed_watchdog_costs_one_run(tmp_path: Path, script: str, t: str) -> None:
    process, watchdog = pinsweep(
        tmp_path / "s", f"{script.format(t=t)} sleep {t}; :", f"{script.format(t=t)} echo second"
    )
    with process:
        until(lambda: len(alive(t)) >= 2)
        os.kill(watchdog, signal.SIGKILL)
        assert process.stdout is not None
        first, second = process.stdout.read().splitlines()

    assert "stopped=True" in first
    assert "pinsweep's watchdog process was killed" in first
    assert "exit_code=0" in second
    assert "second" in second
    assert process.returncode == 0
    assert alive(t) == []
    assert not (tmp_path / "s").exists()


def test_who_loses_patience_leaves_the_rest_to_the_watchdog(tmp_path: Path, t: str) -> None:
    process, _ = pinsweep(tmp_path / "s", f"{HIDDEN['all of it, deaf to TERM'].format(t=t)} sleep {t}; :")
    with process:
        until(lambda: len(alive(t)) >= 2)
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)

    until(lambda: not alive(t) and not (tmp_path / "s").exists())


def test_both_killed_at_once_the_tool_s_own_group_goes(tmp_path: Path, t: str) -> None:
    """What left that group is not reached then: nobody is left who knows of it."""
    process, watchdog = pinsweep(tmp_path / "s", f'trap "" TERM HUP INT IO; sleep {t} & sleep {t}; :')
    with process:
        until(lambda: len(alive(t)) == 2)
        os.kill(process.pid, signal.SIGSTOP)  # it cannot do the watchdog's work
        os.kill(watchdog, signal.SIGKILL)
        process.kill()

    until(lambda: not alive(t))


def test_a_watchdog_that_was_killed_between_two_runs_is_replaced(watchdog: Watchdog) -> None:
    assert run(watchdog, "echo 1").stdout == b"1\n"
    first = watchdog.pid
    os.kill(first, signal.SIGKILL)
    until(lambda: ended(first))

    assert run(watchdog, "echo 2").stdout == b"2\n"
    assert watchdog.pid != first


def test_a_watchdog_that_does_not_answer_is_replaced(
    watchdog: Watchdog, t: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.run.watchdog.ANSWER_S", 0.5)
    watchdog._channel.settimeout(0.5)

    stop = when(lambda: alive(t), lambda: os.kill(os.getpid(), signal.SIGINT))

    outcome = run(watchdog, f"setsid sleep {t} & while :; do kill -STOP {watchdog.pid}; done")

    stop.join()
    assert outcome.stopped
    until(lambda: alive(t) == [])  # SIGKILL of what was adopted takes effect in its own time
    assert run(watchdog, "echo 2").stdout == b"2\n"


@pytest.mark.parametrize(("then", "timed_out"), [("sleep {t}", True), ("echo 1", False)])
def test_a_watchdog_that_the_tool_stops_goes_on(
    watchdog: Watchdog, t: str, then: str, timed_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.run.process.OUTPUT_CHECK_S", 0.1)
    pid = watchdog.pid

    outcome = run(watchdog, f"kill -STOP $PPID; {then.format(t=t)}; :", 0.5 if timed_out else PATIENCE_S)

    assert (outcome.timed_out, outcome.unended, watchdog.pid) == (timed_out, (), pid)
    assert alive(t) == []


FORKING = {
    "one that is always another": "os.fork() and os._exit(0); os.setsid()",
    "a storm": "os.fork() or os.setsid()",
}
"""What is done over and over. Bounded by a limit on processes, which root has not: so as somebody else."""

as_somebody_else = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")


@as_somebody_else
@pytest.mark.parametrize("step", FORKING.values(), ids=FORKING)
@pytest.mark.slow
def test_what_forks_all_the_time_is_ended(watchdog: Watchdog, step: str, t: str) -> None:
    program = (
        "import contextlib, os, resource\n"
        "os.nice(19), resource.setrlimit(resource.RLIMIT_NPROC, (60, 60)), os.setuid(64999)\n"
        f"while True:\n    with contextlib.suppress(OSError): {step}"
    )

    outcome = run(watchdog, f"{shlex.join([sys.executable, '-S', '-c', program, t])} & sleep {t}; :", 0.5)

    assert outcome.timed_out
    assert outcome.unended == ()
    assert alive(t) == []


@as_somebody_else
@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")
def test_what_cannot_be_ended_is_named(tmp_path: Path, t: str) -> None:
    """Root without CAP_KILL, as an ordinary user is towards what a setuid program started."""
    script = f"{beside_nobody_s(f'sleep {t}')}; echo answer 1"
    quick = KILLED.replace("process_tree.GRACE_S = 0.3", "process_tree.GRACE_S = process_tree.KILL_S = 0.3")
    try:
        done = subprocess.run(
            [*without_kill(), sys.executable, "-c", quick, str(tmp_path / "s"), script],
            capture_output=True, text=True, timeout=PATIENCE_S, check=True,
        )  # fmt: skip
        (left,) = alive(t)
        assert re.search(rf"unended=\('sleep \(pid {left}, state \w, user 65534\)',\)", done.stdout)
        assert "exit_code=0" in done.stdout
    finally:
        for pid in alive(t):
            os.kill(pid, signal.SIGKILL)


def test_other_children_of_this_process_are_left_alone(t: str) -> None:
    other = subprocess.Popen(["sleep", t])
    watchdog = Watchdog()
    try:
        kill = when(lambda: len(alive(t)) == 2, lambda: os.kill(watchdog.pid, signal.SIGKILL))
        assert run(watchdog, f"sleep {t}; :").stopped
        kill.join()
        assert alive(t) == [other.pid]
        assert other.poll() is None
    finally:
        watchdog.stop()
        other.kill()
        other.wait()


def test_a_stop_of_the_tool_is_counted(watchdog: Watchdog, tmp_path: Path) -> None:
    def stop_it() -> None:
        (pid,) = began(tmp_path)
        for _ in range(2):
            stop_for_a_moment(tmp_path, pid)
        end(tmp_path, pid)

    stop = when(lambda: began(tmp_path), stop_it)
    outcome = run(watchdog, f"cd {tmp_path}; {BEATS}")

    stop.join()
    assert (outcome.stdout, outcome.stops) == (b"7\n", 2)
    assert 0 <= outcome.stopped_s < outcome.wall_s
    assert run(watchdog, "echo 8").stops == 0


def stop_and_interrupt(tools: Collection[int]) -> None:
    """Stop the one tool (SIGSTOP), and then the sweep (Ctrl-C)."""
    (pid,) = tools
    os.kill(pid, signal.SIGSTOP)
    until(lambda: state(pid) == "T")
    os.kill(os.getpid(), signal.SIGINT)


def test_a_stop_that_nobody_ends_lasts_until_the_tool_is_ended(watchdog: Watchdog, t: str) -> None:
    stop = when(lambda: alive(t), lambda: stop_and_interrupt(alive(t)))
    outcome = run(watchdog, f"exec sleep {t}")

    stop.join()
    assert (outcome.stopped, outcome.stops) == (True, 1)
    assert outcome.stopped_s > 0
    assert alive(t) == []


def test_a_tool_that_is_stopped_cleans_up_when_it_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_tree, "GRACE_S", PATIENCE_S)
    watchdog = Watchdog()

    stop = when(lambda: began(tmp_path), lambda: stop_and_interrupt(began(tmp_path)))
    outcome = run(watchdog, f"cd {tmp_path}; trap 'touch cleaned; exit' TERM; {BEATS}")

    stop.join()
    watchdog.stop()
    assert (outcome.stopped, outcome.stops) == (True, 1)
    assert (tmp_path / "cleaned").exists()


def test_signals_that_pinsweep_ignores_or_handles_are_default_in_the_tool(watchdog: Watchdog) -> None:
    """What the watchdog drops, it must not teach the tools to ignore."""
    signals = run(watchdog, "grep -E 'Sig(Blk|Ign)' /proc/self/status").stdout.split()

    dropped = sum(1 << (number - 1) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD))
    assert int(signals[1], 16) & dropped == 0  # blocked
    assert int(signals[3], 16) & dropped == 0  # ignored


def test_what_pinsweep_was_told_to_ignore_stays_ignored_in_the_tool() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        watchdog = Watchdog()
        assert run(watchdog, "kill -HUP $$; echo alive").stdout == b"alive\n"
        watchdog.stop()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_tool_inherits_nothing_open_but_the_three_streams_and_the_tripwire(watchdog: Watchdog) -> None:
    opened = Path("/dev/null").open()  # noqa: SIM115
    os.set_inheritable(opened.fileno(), True)
    with opened:
        listed = run(watchdog, "ls -l /proc/$$/fd").stdout.decode().splitlines()

    targets = [line.rpartition("-> ")[2] for line in listed if "-> " in line]
    assert len(targets) == 4
    assert targets[0] == "/dev/null"
    assert sum(target.startswith("pipe:") for target in targets) == 1


def test_words_that_are_no_utf_8_come_through(watchdog: Watchdog) -> None:
    odd = os.fsdecode(b"\xff\xfe \xc3")
    with Stop() as stop:
        outcome = run_process(
            ["sh", "-c", 'printf "%s|%s" "$1" "$ODD"', "sh", odd],
            {"ODD": odd}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop,
        )  # fmt: skip

    assert outcome.stdout == b"\xff\xfe \xc3|\xff\xfe \xc3"


def test_a_long_command_line_comes_through(watchdog: Watchdog) -> None:
    words = ["x" * 100_000] * 12
    with Stop() as stop:
        outcome = run_process(
            ["sh", "-c", 'echo "$*" | wc -c', "sh", *words],
            {},
            watchdog=watchdog,
            timeout_s=PATIENCE_S,
            stop=stop,
        )

    assert int(outcome.stdout) == 12 * 100_001


def test_signals_of_a_terminal_do_not_reach_the_watchdog(watchdog: Watchdog) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(watchdog.pid, number)

    assert run(watchdog, "echo 1").stdout == b"1\n"
    assert os.getsid(watchdog.pid) == watchdog.pid
    assert Path(f"/proc/{watchdog.pid}/comm").read_text() == f"{NAME}\n"


def test_orphans_that_end_while_a_tool_runs_are_waited_for(watchdog: Watchdog) -> None:
    """The tool ends when nothing is left of them, not even a zombie."""
    orphans = 'for i in 1 2 3; do pids="$pids $(sleep 0.01 >/dev/null & echo $!)"; done'

    outcome = run(watchdog, f"{orphans}; for pid in $pids; do while [ -e /proc/$pid ]; do sleep 0.01; done; done")

    assert (outcome.exit_code, outcome.timed_out) == (0, False)


def test_no_watchdog_is_an_error_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", fork)
    with pytest.raises(PinsweepError, match="no process can be started"):
        Watchdog()


def test_what_cannot_be_started_says_why(watchdog: Watchdog, tmp_path: Path) -> None:
    watchdog.start(["x\0y"], {}, cwd="", outputs=(1, 2), cpus=os.sched_getaffinity(0))
    refused = watchdog.receive()
    assert isinstance(refused, Refused)
    assert refused.reason.startswith("x\0y: ")
    assert "embedded null" in refused.reason  # 3.13 says it in other words
    watchdog.start(["true"], {}, cwd=str(tmp_path / "no"), outputs=(1, 2), cpus=os.sched_getaffinity(0))
    assert watchdog.receive() == Refused(reason=f"{tmp_path}/no: No such file or directory")


def test_descendants_are_found_with_and_without_the_kernel_s_list(t: str, monkeypatch: pytest.MonkeyPatch) -> None:
    others = process_tree.descendants()
    with subprocess.Popen(["sh", "-c", f"(sleep {t}; :) & sleep {t}; :"]) as shell:
        until(lambda: len(alive(t)) == 2)
        listed, spared = process_tree.descendants(others), process_tree.descendants([*others, shell.pid])
        monkeypatch.setattr(process_tree.os.path, "exists", lambda _: False)
        unlisted = process_tree.descendants(others)
        for pid in listed:
            with contextlib.suppress(ProcessLookupError):  # its parent was killed, and took note
                os.kill(pid, signal.SIGKILL)

    assert listed[0] == unlisted[0] == shell.pid
    assert sorted(listed) == sorted(unlisted)
    assert len(listed) == 4
    assert spared == []
    until(lambda: not alive(t))


def test_a_request_that_was_heard_was_sent() -> None:
    """Whoever has it may die before the sender goes on; it was sent again then, and a run was started twice."""

    class HeardAtOnce(socket.socket):
        def sendmsg(self, *words: Any) -> int:  # type: ignore[override]
            sent = super().sendmsg(*words)
            theirs.close()
            return sent

    ours, theirs = socket.socketpair()
    with HeardAtOnce(fileno=ours.detach()) as channel, Path(os.devnull).open() as file:
        messages.send(channel, "start", {"argv": ["true"]}, (file.fileno(),))
