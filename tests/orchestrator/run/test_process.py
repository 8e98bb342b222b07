"""Real processes: they end, are ended, and leave nothing behind."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from orchestrator.model import Outcome
from orchestrator.run.process import Stop, run_process
from orchestrator.run.watchdog import Watchdog
from parsers.text import PRINT_LESS
from tests.waits import PATIENCE_S


def run(*argv: str, timeout_s: float = PATIENCE_S, **env: str) -> Outcome:
    watchdog = Watchdog()
    with Stop() as stop:
        outcome = run_process(argv, env, watchdog=watchdog, timeout_s=timeout_s, stop=stop)
    watchdog.stop()
    return outcome


def test_output_exit_status_and_usage_are_what_the_process_gave() -> None:
    outcome = run("sh", "-c", 'printf "a\\0b"; printf err >&2; exit 3')

    assert (outcome.stdout, outcome.stderr, outcome.exit_code, outcome.signal) == (b"a\0b", b"err", 3, None)
    assert not outcome.timed_out
    assert not outcome.stopped
    assert outcome.usage["max_rss_bytes"] > 0


def test_environment_is_added_to_the_inherited_one_and_locale_is_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "yes")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")

    outcome = run("sh", "-c", 'echo "$INHERITED $ADDED $LC_ALL"', ADDED="too")

    assert outcome.stdout == b"yes too C\n"


def test_a_program_that_is_not_there_is_an_outcome_not_an_exception(tmp_path: Path) -> None:
    outcome = run(f"{tmp_path}/tool")

    assert outcome.error == f"{tmp_path}/tool: No such file or directory"
    assert outcome.exit_code is None


def test_death_by_signal_is_told_from_an_exit_status() -> None:
    outcome = run("sh", "-c", "kill -SEGV $$")

    assert (outcome.exit_code, outcome.signal) == (None, signal.SIGSEGV)


def test_a_signal_stops_the_run_at_once(watchdog: Watchdog) -> None:
    with Stop() as stop:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        outcome = run_process(["sleep", "300"], {}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop)

    assert outcome.stopped
    assert stop.requested == signal.SIGINT
    assert outcome.signal == signal.SIGTERM


@pytest.mark.parametrize("ends", ["kill -TERM $$", "exit 143"])
def test_a_tool_that_has_the_signal_first_is_stopped_and_has_not_failed(watchdog: Watchdog, ends: str) -> None:
    """A cancelled Slurm job sends it to every process."""
    with Stop() as stop:
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        outcome = run_process(["sh", "-c", ends], {}, watchdog=watchdog, timeout_s=30, stop=stop)
    assert outcome.stopped


def test_a_tool_that_somebody_kills_has_failed(watchdog: Watchdog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.run.process.TO_ALL_S", 0.05)
    with Stop() as stop:
        outcome = run_process(["sh", "-c", "kill -TERM $$"], {}, watchdog=watchdog, timeout_s=30, stop=stop)
    assert (outcome.stopped, outcome.signal) == (False, signal.SIGTERM)


def test_a_tool_runs_in_its_own_folder_and_the_next_one_in_ours(watchdog: Watchdog, tmp_path: Path) -> None:
    with Stop() as stop:
        said = [
            run_process(["pwd", "-P"], {}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, cwd=cwd).stdout.decode()
            for cwd in (str(tmp_path), "")
        ]

    assert said == [f"{tmp_path.resolve()}\n", f"{Path.cwd().resolve()}\n"]


class Looks:
    """Looks with a function of the process id and of how many looks of its kind there were."""

    def __init__(self, look: Callable[[int, int], bool]) -> None:
        self._look = look
        self.taken: list[bool] = []  # early or not
        self.last: list[Mapping[str, Any]] = []

    def look(self, pid: int, *, early: bool) -> bool:
        self.taken.append(early)
        return self._look(pid, self.taken.count(early))

    def has_changed(self) -> bool:
        return False

    def last_look(self, seen: Mapping[str, Any]) -> None:
        self.last.append(seen)


def test_looks_are_early_and_late_until_they_have_seen_enough(watchdog: Watchdog, tmp_path: Path) -> None:
    """The tool ends after the last of them."""
    seen: list[int] = []

    def look(pid: int, number: int) -> bool:
        seen.append(pid)
        if len(seen) == 4:
            (tmp_path / "seen").touch()
        return number == 2

    looks = Looks(look)
    waits = f"until [ -e {tmp_path}/seen ]; do sleep 0.01; done; sleep 0.3"
    with Stop() as stop:
        run_process(["sh", "-c", waits], {}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, looks=looks)

    assert looks.taken == [True, True, False, False]
    (last,) = looks.last
    assert seen == [last["pid"]] * 4
    assert (last["name"], last["cpus"]) == ("sh", sorted(os.sched_getaffinity(0)))


def test_waiting_costs_next_to_nothing() -> None:
    """The observer effect: to wait for a second longer takes a handful of wake-ups and no CPU time that is worth naming."""

    def cost(seconds: float) -> tuple[float, int]:
        before = resource.getrusage(resource.RUSAGE_SELF)
        run("sleep", str(seconds))
        after = resource.getrusage(resource.RUSAGE_SELF)
        used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used_s, after.ru_nvcsw - before.ru_nvcsw

    (short_s, _), (long_s, wakes) = cost(0), cost(1)

    assert wakes < 30
    assert long_s - short_s < 0.2


def test_an_error_of_our_own_does_not_leave_the_tool_behind(watchdog: Watchdog) -> None:
    tools: list[int] = []

    def look(pid: int, _number: int) -> bool:
        tools.append(pid)
        raise RuntimeError("ours")

    with Stop() as stop, pytest.raises(RuntimeError, match="ours"):
        run_process(["sleep", "300"], {}, watchdog=watchdog, timeout_s=PATIENCE_S, stop=stop, looks=Looks(look))

    assert not Path(f"/proc/{tools[0]}").exists()


def test_a_tool_that_prints_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.run.process.OUTPUT_LIMIT_BYTES", 1 << 20)
    monkeypatch.setattr("orchestrator.run.process.OUTPUT_CHECK_S", 0.05)

    outcome = run("yes")

    assert outcome.error == f"printed more than 1 MiB: {PRINT_LESS}"
    assert len(outcome.stdout) == 1 << 20


def test_a_tool_that_printed_too_much_and_ended_at_once_is_cut_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.run.process.OUTPUT_LIMIT_BYTES", 1 << 20)
    monkeypatch.setattr("orchestrator.run.process.OUTPUT_CHECK_S", 60)

    outcome = run("head", "-c", "2000000", "/dev/zero")

    ended = (outcome.exit_code, outcome.signal)
    assert ended in (
        (0, None),
        (None, signal.SIGTERM),
        (None, signal.SIGKILL),
    )  # seen before it has ended, or after
    assert outcome.error == f"printed more than 1 MiB: {PRINT_LESS}"


def test_a_terminal_that_has_gone_is_no_stop() -> None:
    with Stop() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        done = run("sh", "-c", "kill -HUP $$")

        assert stop.requested is None
        assert done.signal == signal.SIGHUP  # the tool ignores none


def test_what_was_ignored_stays_ignored() -> None:
    """nohup pinsweep run … survives its terminal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Stop() as stop:
            os.kill(os.getpid(), signal.SIGHUP)
            assert stop.requested is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_signals_again_and_again_are_taken_literally() -> None:
    def insist() -> None:
        for _ in range(10):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with Stop() as stop:
        with pytest.raises(KeyboardInterrupt):
            insist()
        assert stop.requested == signal.SIGINT
