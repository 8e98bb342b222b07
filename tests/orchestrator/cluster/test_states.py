"""The table of states: what became of a host, and whether a job would help."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.cluster import states
from orchestrator.cluster.engine import Host, Job
from orchestrator.cluster.results import Log, Results, parse_log
from orchestrator.cluster.states import State

HALF = Results(total=150, done=20, sessions=1)
WHOLE = Results(total=150, done=150, sessions=2, ended=True)
TOOL = Results(total=36, done=33, failed=3, ended=True, failure="disk: fio: No space left")
STOPPED = Results(total=150, done=23, sessions=1, ended=True)
BAD_FILE = Results(problem="n7.db: not a file")
NOTHING = Results(ended=True, nothing="disk: no fio")
UP = Host(name="n7")
DOWN = Host(name="n7", problem='down "Not responding"')
DRAINED = Host(name="n7", problem='drained "Prolog error"')
SILENT = Host(name="n7", problem="no answer within 20 s", silent=True)
RUNS = Log(job="55")
PROLOG = Log(job="55", never_began="Error running slurm prolog: 1")
CANCELLED_LOG = Log(job="55", rc=130)


def job(phase: Any, state: str, reason: str = "", *, hopeless: bool = False) -> Job:
    return Job(host="n7", id="55", phase=phase, state=state, reason=reason, hopeless=hopeless)


HELD = job("waits", "PENDING", "launch failed requeued held", hopeless=True)
CANCELLED = job("over", "CANCELLED")
NODE_FAIL = job("over", "NODE_FAIL")
BEHIND_CANARY = job("over", "CANCELLED", "DependencyNeverSatisfied")


@pytest.mark.parametrize(
    ("results", "log", "about", "node", "word", "reason", "left"),
    [
        (None, None, None, DRAINED, "skipped", "drained", True),
        (None, None, None, UP, "not submitted", "QOSMax", True),
        (None, None, job("waits", "PENDING", "Priority"), UP, "queued", "Priority", False),
        (None, None, HELD, UP, "failed", "for ever: launch failed", True),
        (None, PROLOG, HELD, DRAINED, "skipped", "launch failed", True),
        (None, PROLOG, CANCELLED, DRAINED, "skipped", "prolog: 1", True),
        (HALF, PROLOG, NODE_FAIL, DRAINED, "skipped", "prolog: 1", True),
        (None, PROLOG, CANCELLED, UP, "failed", "prolog: 1", True),
        (None, PROLOG, None, UP, "failed", "prolog: 1", True),
        (TOOL, PROLOG, None, UP, "failed", "disk: fio: No space left (3 of 36)", False),
        (None, None, job("waits", "PENDING", "Resources"), DOWN, "skipped", "down", True),
        (None, None, CANCELLED, DOWN, "skipped", "down", True),
        (None, None, NODE_FAIL, DOWN, "skipped", "down", True),
        (None, RUNS, NODE_FAIL, DOWN, "lost", "down", True),
        (HALF, Log(job="54", rc=1), CANCELLED, DOWN, "skipped", "down", True),
        (None, None, CANCELLED, UP, "not submitted", "QOSMax", True),
        (HALF, RUNS, job("runs", "RUNNING"), UP, "running", "", False),
        (HALF, RUNS, NODE_FAIL, DOWN, "lost", "down", True),
        (HALF, RUNS, NODE_FAIL, UP, "lost", "NODE_FAIL", True),
        (HALF, RUNS, None, UP, "lost", "log", True),
        (HALF, RUNS, job("over", "TIMEOUT"), UP, "failed", "job 55 TIMEOUT", True),
        (STOPPED, CANCELLED_LOG, CANCELLED, UP, "failed", "job 55 CANCELLED", True),
        (STOPPED, CANCELLED_LOG, None, UP, "failed", "job 55 stopped", True),
        (
            None,
            Log(job="55", rc=3, reason="may use 1 of 2 PUs"),
            None,
            UP,
            "failed",
            "1 of 2 PUs (rc 3)",
            True,
        ),
        (
            TOOL,
            Log(job="55", rc=1),
            job("over", "FAILED"),
            UP,
            "failed",
            "disk: fio: No space left (3 of 36)",
            False,
        ),
        (BAD_FILE, Log(job="55", rc=0), None, UP, "failed", "n7.db: not a file; move it away", False),
        (NOTHING, Log(job="55", rc=1), None, UP, "failed", "disk: no fio", False),
        (WHOLE, Log(job="55", rc=0), job("over", "COMPLETED"), UP, "done", "", False),
        (WHOLE, RUNS, NODE_FAIL, DOWN, "done", "", False),
        (HALF, Log(job="54", rc=1, reason="before"), NODE_FAIL, DOWN, "lost", "down", True),
        (None, None, BEHIND_CANARY, UP, "not submitted", "QOSMax", True),
        (None, RUNS, None, SILENT, "unknown", "no answer", False),
        (HALF, RUNS, None, SILENT, "unknown", "no answer", False),
        (None, None, None, SILENT, "skipped", "no answer", True),
        (HALF, Log(job="55", rc=2, reason="no fio"), None, SILENT, "failed", "no fio (rc 2)", True),
    ],
)
def test_the_state_of_a_host(
    results: Results | None,
    log: Log | None,
    about: Job | None,
    node: Host,
    word: str,
    reason: str,
    left: bool,
) -> None:
    refused = "QOSMaxSubmitJobPerUserLimit" if word == "not submitted" else ""

    state = states.state_of("n7", results=results, log=log, job=about, node=node, refused=refused)

    assert (state.word, state.left) == (word, left)
    assert reason in state.reason
    assert bool(reason) == bool(state.reason)


def test_behind_a_canary_that_failed_nothing_has_failed() -> None:
    assert states.state_of("n7", results=None, log=None, job=BEHIND_CANARY, node=UP).word == "not submitted"


@pytest.mark.parametrize(
    ("tail", "is_whole", "log"),
    [
        ("[1/9] disk\nrc=3 may use 1 of 2 PUs\n", True, Log(job="7", rc=3, reason="may use 1 of 2 PUs")),
        ("n7 2026-01-02T03:04:05Z pid 42\n[1/9] disk  rw=read\n", True, Log(job="7")),
        ("[1/9] disk  rw=read\n", False, Log(job="7")),
        ("", True, Log(job="7")),
        ("Error running slurm prolog: 1\n", True, Log(job="7", never_began="Error running slurm prolog: 1")),
    ],
)
def test_the_last_line_of_a_log_says_how_its_job_ended(tail: str, is_whole: bool, log: Log) -> None:
    assert parse_log(tail, "7", is_whole=is_whole) == log


def hosts(*words: Any) -> list[State]:
    return [State(host=f"n{number}", word=word) for number, word in enumerate(words)]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("done", "done"), 0),
        (("done", "lost"), 1),
        (("done", "skipped"), 1),
        (("failed", "running"), 3),
        (("not submitted", "queued"), 3),
        (("not submitted",), 1),
        (("done", "unknown"), 3),
    ],
)
def test_exit_status(words: tuple[str, ...], status: int) -> None:
    assert states.exit_status(hosts(*words)) == status


def test_hosts_of_one_state_and_reason_are_one_row() -> None:
    rows = states.fold(hosts("lost", "done", "done", "running", "done"))

    assert [(word, len(group)) for word, _, group in rows] == [("done", 3), ("running", 1), ("lost", 1)]


def test_reasons_that_differ_in_the_host_and_its_job_are_one_row() -> None:
    unknown = "Could not resolve hostname {}: Name or service not known"
    reasons = {
        **{host: unknown.format(host) for host in ("n1", "n2", "n10")},
        "n3": "no route to n3.site",
        "n4": "n1 is not n4",
        "n5": "job 55 CANCELLED",
        "n6": "job 56 CANCELLED",
        "n7": "job 56 CANCELLED",
        **{host: f"cannot make /tmp/pinsweep-3f9a12bc-{host}" for host in ("n8", "n9")},
    }
    rows = states.fold(
        [State(host=host, word="skipped", reason=text, job=f"5{host[1:]}") for host, text in reasons.items()]
    )

    assert [(reason, [state.host for state in group]) for _, reason, group in rows] == [
        (unknown.format("HOST"), ["n1", "n2", "n10"]),
        ("job CANCELLED", ["n5", "n6"]),
        ("cannot make /tmp/pinsweep-3f9a12bc-HOST", ["n8", "n9"]),
        ("no route to n3.site", ["n3"]),
        ("n1 is not n4", ["n4"]),
        ("job 56 CANCELLED", ["n7"]),
    ]
