"""What every ended process is worth, and what is still to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from orchestrator.machine.cgroups import Memory
from orchestrator.model import Cell, Outcome, Plan, PlannedRun, Tried
from orchestrator.run.outcome import Rules, judge, pending, words
from orchestrator.run.watch import out_of_memory

POINT = Cell(
    sweep="s",
    tool="command",
    options={"command": "x", "metrics": {"reply": {"regex": "reply ([0-9]+)"}}},
    axes=(),
)


def planned(repeat: int = 1) -> PlannedRun:
    return PlannedRun(
        sweep="s", tool="command", cell=POINT, repeat=repeat, argv=("x",), env={}, placement=None,
        timeout_s=5, nominal_s=1, estimate_s=1, program="x",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "status", "reason"),
    [
        (Outcome(exit_code=0, stdout=b"reply 7"), "ok", ""),
        (Outcome(exit_code=0, stderr=b"reply 7"), "ok", ""),
        (Outcome(exit_code=3, stdout=b"reply 7"), "failed", "exit status 3: reply 7"),
        (Outcome(exit_code=3, stderr=b"no such disk\n"), "failed", "exit status 3: no such disk"),
        (Outcome(exit_code=1), "failed", "exit status 1: it printed nothing"),
        (Outcome(signal=11, stderr=b""), "failed", "ended by signal 11: it printed nothing"),
        (Outcome(signal=11, stdout=b"reply 7"), "failed", "ended by signal 11: reply 7"),
        (Outcome(signal=15, stopped=True, stdout=b"reply 7"), "interrupted", "stopped by the user"),
        (Outcome(stopped=True, error="its watchdog was killed"), "interrupted", "its watchdog was killed"),
        (
            Outcome(exit_code=0, stdout=b"reply 7", unended=("fio (pid 7, state D, user 0)", "2 more")),
            "failed",
            "it left processes behind that could not be ended: fio (pid 7, state D, user 0), 2 more",
        ),
        (
            Outcome(timed_out=True, unended=("fio (pid 7, state D, user 0)",)),
            "timeout",
            "did not end within 5 s; could not be ended: fio (pid 7, state D, user 0)",
        ),
        (Outcome(signal=15, timed_out=True, stdout=b"reply 7"), "timeout", "did not end within 5 s"),
        (
            Outcome(signal=9, timed_out=True, stops=1, stopped_s=3.96),
            "timeout",
            "did not end within 5 s; something stopped it (SIGSTOP) for 4.0 s of them",
        ),
        (Outcome.not_started("x: No such file or directory"), "failed", "x: No such file or directory"),
        (
            Outcome(exit_code=0, stdout=b"reply 7", error="printed more than 256 MiB"),
            "failed",
            "printed more than 256 MiB",
        ),
    ],
)
def test_an_outcome_has_one_status_and_a_reason(outcome: Outcome, status: str, reason: str) -> None:
    assert judge(planned(), outcome)[:2] == (status, reason)


@pytest.mark.parametrize(
    ("outcome", "kills", "limit", "reason"),
    [
        (Outcome(signal=9), 1.0, 200 << 20, "killed by the kernel: out of memory (limit 200 MiB)"),
        (Outcome(exit_code=255), 1.0, None, "killed by the kernel: out of memory"),
        (Outcome(signal=9), None, 200 << 20, "killed by the kernel: out of memory (limit 200 MiB)"),
        (Outcome(signal=9), 0.0, 200 << 20, ""),
        (Outcome(signal=9), None, None, ""),
    ],
)
def test_a_run_that_the_kernel_killed_for_memory_says_so(
    outcome: Outcome, kills: float | None, limit: int | None, reason: str
) -> None:
    assert out_of_memory(outcome, kills, Memory(limit, 0) if limit else None) == reason


def test_a_good_run_in_the_wrong_place_is_misplaced() -> None:
    status, reason, parsed = judge(planned(), Outcome(exit_code=0, stdout=b"reply 7"), ["on PU 3, requested 1"])

    assert (status, reason) == ("misplaced", "on PU 3, requested 1")
    assert parsed is not None


def test_what_disturbed_a_good_run_and_no_other_is_its_reason() -> None:
    good = Outcome(exit_code=0, stdout=b"reply 7")
    status, reason, parsed = judge(planned(), good, (), ["others took 14 % of CPU 3", "no quiet"])
    assert (status, reason) == ("disturbed", "others took 14 % of CPU 3; no quiet")
    assert parsed is not None
    assert judge(planned(), good, ["elsewhere"], ["others"])[0] == "misplaced"
    assert judge(planned(), Outcome(exit_code=1), (), ["others"])[0] == "failed"


def test_a_parser_that_stumbles_costs_neither_the_run_nor_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(*_: Any) -> None:
        raise RecursionError("maximum recursion depth exceeded")

    monkeypatch.setattr("parsers.command.parse", parse)

    assert judge(planned(), Outcome(exit_code=0, stdout=b"["))[:2] == (
        "failed",
        "its output could not be read: RecursionError: maximum recursion depth exceeded",
    )


BOXES = """\
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 0 PID 5 RUNNING AT a
=   KILLED BY SIGNAL: 9 (Killed)
=========
=   RANK 1 PID 6 RUNNING AT a
=   KILLED BY SIGNAL: 7 (Bus error)
"""


@pytest.mark.parametrize(
    ("tool", "options", "outcome", "words"),
    [
        (
            "fio",
            {"rw": "randread"},
            Outcome(
                exit_code=1,
                stdout=b"fio: io_u error on file f: Invalid argument: read offset=512, buflen=512\n"
                b'{"fio version": "fio-3.33", "jobs": [{"jobname": "u", "groupid": 0, "error": 22, "read": {}}]}',
            ),
            "io_u error on file f: Invalid argument: read offset=512, buflen=512",
        ),
        (
            "mlc",
            {"mode": "idle_latency"},
            Outcome(exit_code=1, stdout=b"Intel(R) Memory Latency Checker - v3.5\nMSR fread error!\n"),
            "MSR fread error!",
        ),
        (
            "stream",
            {"threads": 2},
            Outcome(
                exit_code=134,
                stdout=b"STREAM version $Revision: 5.10 $\nArray size = 80000000 (elements)\n",
                stderr=b"OMP: Error #179: Function Can't open SHM2 failed:\n",
            ),
            "OMP: Error #179: Function Can't open SHM2 failed:",
        ),
    ],
)
def test_a_failure_has_the_words_of_the_tool(tool: str, options: dict[str, Any], outcome: Outcome, words: str) -> None:
    run = replace(planned(), tool=tool, cell=Cell(sweep="s", tool=tool, options=options, axes=()))
    status, reason, _ = judge(run, outcome)
    assert status == "failed"
    assert words in reason


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (("",), "it printed nothing"),
        (("", "out"), "out"),
        (("a\nb\n",), "a; b"),
        (("cause\nusage 1\nusage 2\nusage 3\n",), "cause; …; usage 3"),
        (("---\n\n",), "it printed nothing"),
        (("panic\n", "v 1\n0 errors\n"), "panic; 0 errors"),
        (("", 'fio: pid=7, err=1, error=x\n{\n"error" : 1\n}\n'), "fio: err=1, error=x"),
        (("x" * 999_999 + " error: bad\n",), "x" * 89 + " error: bad"),
        (("Solution Validates: avg error less than 1e-13\n" * 2 + "cannot go on\n",), "cannot go on"),
        (
            tuple(
                f"Abort(7) on node {rank} (rank {rank} in comm 0): Fatal error\nInit(argc=0x7ffe0{rank}): failed\nfi_getinfo() failed\n"
                for rank in "01"
            ),
            "Abort: Fatal error; Init(argc=): failed; fi_getinfo() failed",
        ),
        (("warning: invalid\n" * 3 + "fatal: locked\n",), "warning: invalid; fatal: locked"),
        (
            ('There are not enough slots for the 8\n\n1. "slots=N" (defaults if not provided)\n2. x\n',),
            "There are not enough slots for the 8",
        ),
        (("", 'fio: file hash not empty on exit\n{\n"error" : 0\n}\n'), "fio: file hash not empty on exit"),
        (
            ("smalloc: OOM\nsize = 3\nfio: engine libaio not loadable\n",),
            "smalloc: OOM; fio: engine libaio not loadable",
        ),
        (("MLC v3.11\n* Hugepages need to be allocated\necho 4000\n",), "* Hugepages need to be allocated"),
        (("", BOXES), "RANK 1: KILLED BY SIGNAL: 7 (Bus error)"),
        (
            ("Abort(7): Fatal error\n", "=   RANK 0 PID 5 RUNNING AT a\n=   KILLED BY SIGNAL: 9 (Killed)\n"),
            "Abort(7): Fatal error",
        ),
    ],
)
def test_words_are_the_first_and_the_last_that_say_something(texts: tuple[str, ...], expected: str) -> None:
    assert words(*texts) == expected


@pytest.mark.parametrize(
    ("status", "retry", "allow", "expected"),
    [
        ("", False, False, "todo"),
        ("ok", True, False, "done"),
        ("interrupted", False, False, "todo"),
        ("failed", False, False, "failed"),
        ("failed", True, False, "todo"),
        ("timeout", False, False, "failed"),
        ("misplaced", False, False, "failed"),
        ("misplaced", True, False, "todo"),
        ("misplaced", False, True, "done"),
        ("misplaced", True, True, "done"),
    ],
)
def test_what_is_started_again(status: str, retry: bool, allow: bool, expected: str) -> None:
    plan = Plan(runs=(planned(),), cells=(POINT,), skipped=(), seed=0)
    attempts = {planned().key: Tried(1, status)} if status else {}

    left = pending(plan, attempts, Rules(retry_failed=retry, allow_misplaced=allow))

    counts = {"todo": len(left.todo), "done": left.done, "failed": left.failed}
    assert counts == {"todo": 0, "done": 0, "failed": 0, expected: 1}


@pytest.mark.parametrize(
    ("disturbed", "allowed", "again"),
    [(1, False, True), (2, False, True), (3, False, False), (1, True, True), (3, True, False)],
)
def test_a_disturbed_run_is_repeated_twice_and_after_all_others(disturbed: int, allowed: bool, again: bool) -> None:
    plan = Plan(runs=(planned(1), planned(2)), cells=(POINT,), skipped=(), seed=0)
    attempts = {planned(1).key: Tried(disturbed, "disturbed", disturbed)}

    left = pending(plan, attempts, Rules(allow_disturbed=allowed))

    assert [run.repeat for run in left.todo] == ([2, 1] if again else [2])
    assert (left.done, left.disturbed, left.failed) == (not again, not again, 0)
