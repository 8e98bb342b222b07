"""The table of states: what became of a host, and what is done about it."""

from __future__ import annotations

import pytest

from orchestrator.cluster import states
from orchestrator.cluster.engine import Host, Job
from orchestrator.cluster.kept import Kept
from orchestrator.cluster.logs import Log, ended
from orchestrator.cluster.states import State

HALF = Kept(total=150, done=20, sessions=1)
WHOLE = Kept(total=150, done=150, sessions=2, ended=True)
TOOL = Kept(total=36, done=33, failed=3, ended=True, failure="disk: fio: No space left")
STOPPED = Kept(total=150, done=23, sessions=1, ended=True)
UP = Host(name="n7")
DOWN = Host(name="n7", problem='down "Not responding"')
DRAINED = Host(name="n7", problem='drained "Prolog error"')
SILENT = Host(name="n7", problem="no answer within 20 s", silent=True)
NO_LAST_LINE = Log(job="55")
PROLOG = Log(job="55", never_began="Error running slurm prolog: 1")
MENDED = "once that is mended and the host resumed, `run -o` submits another"


def job(phase: str, state: str, reason: str = "", *, hopeless: bool = False, id: str = "55") -> Job:
    return Job(host="n7", id=id, phase=phase, state=state, reason=reason, hopeless=hopeless)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kept", "log", "about", "node", "word", "reason", "left"),
    [
        (None, None, None, Host(name="n7", problem='drained "bad DIMM"'), "skipped", 'drained "bad DIMM"', True),
        (None, None, None, UP, "not submitted", "QOSMaxSubmitJobPerUserLimit", True),
        (None, None, job("waits", "PENDING", "Priority"), UP, "queued", "Priority", False),
        (None, None, job("waits", "PENDING", "PartitionTimeLimit", hopeless=True), UP, "failed", "its job waits for ever: PartitionTimeLimit; `run -o` takes it back, and submits another", True),
        (None, PROLOG, job("waits", "PENDING", "launch failed requeued held", hopeless=True), DRAINED, "skipped", f'drained "Prolog error"; its job waits for ever: launch failed requeued held; {MENDED}', True),
        (None, PROLOG, job("over", "CANCELLED"), DRAINED, "skipped", f'drained "Prolog error"; job 55 never began: Error running slurm prolog: 1; {MENDED}', True),
        (HALF, PROLOG, job("over", "NODE_FAIL"), DRAINED, "skipped", f'drained "Prolog error"; job 55 never began: Error running slurm prolog: 1; {MENDED}', True),
        (None, PROLOG, job("over", "CANCELLED"), UP, "failed", "job 55 never began: Error running slurm prolog: 1; `run -o` submits another", True),
        (None, PROLOG, None, UP, "failed", "job 55 never began: Error running slurm prolog: 1; `run -o` submits another", True),
        (TOOL, PROLOG, None, UP, "failed", "disk: fio: No space left (3 of 36)", False),
        (None, None, job("waits", "PENDING", "Resources"), DOWN, "skipped", 'down "Not responding"; its job waits for it', True),
        (None, None, job("over", "CANCELLED"), DOWN, "skipped", 'down "Not responding"', True),
        (None, None, job("over", "NODE_FAIL"), DOWN, "skipped", 'down "Not responding"', True),
        (None, NO_LAST_LINE, job("over", "NODE_FAIL"), DOWN, "lost", 'down "Not responding"', True),
        (HALF, Log(job="54", rc=1), job("over", "CANCELLED"), DOWN, "skipped", 'down "Not responding"', True),
        (None, None, job("over", "CANCELLED"), UP, "not submitted", "QOSMaxSubmitJobPerUserLimit", True),
        (HALF, NO_LAST_LINE, job("runs", "RUNNING"), UP, "running", "", False),
        (HALF, NO_LAST_LINE, job("over", "NODE_FAIL"), DOWN, "lost", 'down "Not responding"', True),
        (HALF, NO_LAST_LINE, job("over", "NODE_FAIL"), UP, "lost", "job 55 NODE_FAIL: Slurm lost the host, or what watched the job there", True),
        (HALF, NO_LAST_LINE, None, UP, "lost", "its job ended without a last word", True),
        (HALF, NO_LAST_LINE, job("over", "TIMEOUT"), UP, "failed", "job 55 TIMEOUT", True),
        (STOPPED, Log(job="55", rc=130), job("over", "CANCELLED"), UP, "failed", "job 55 CANCELLED", True),
        (STOPPED, Log(job="55", rc=130), None, UP, "failed", "job 55 stopped: cancelled, or out of time", True),
        (None, Log(job="55", rc=3, reason="may use 1 of 2 PUs"), None, UP, "failed", "may use 1 of 2 PUs (rc 3)", True),
        (TOOL, Log(job="55", rc=1), job("over", "FAILED"), UP, "failed", "disk: fio: No space left (3 of 36)", False),
        (Kept(problem="n7.db: not a file"), Log(job="55", rc=0), None, UP, "failed", "n7.db: not a file; move it away, and `run -o` begins the host anew", False),
        (Kept(ended=True, nothing="disk: no fio"), Log(job="55", rc=1), None, UP, "failed", "disk: no fio", False),
        (WHOLE, Log(job="55", rc=0), job("over", "COMPLETED"), UP, "done", "", False),
        (WHOLE, NO_LAST_LINE, job("over", "NODE_FAIL"), DOWN, "done", "", False),
        (HALF, Log(job="54", rc=1, reason="of before"), job("over", "NODE_FAIL"), DOWN, "lost", 'down "Not responding"', True),
        (None, None, job("over", "CANCELLED", "DependencyNeverSatisfied"), UP, "not submitted", "QOSMaxSubmitJobPerUserLimit", True),
        (None, NO_LAST_LINE, None, SILENT, "unknown", "no answer within 20 s", False),
        (HALF, NO_LAST_LINE, None, SILENT, "unknown", "no answer within 20 s", False),
        (None, None, None, SILENT, "skipped", "no answer within 20 s", True),
        (HALF, Log(job="55", rc=2, reason="no fio"), None, SILENT, "failed", "no fio (rc 2)", True),
    ],
)  # fmt: skip
def test_what_became_of_a_host(
    kept: Kept | None, log: Log | None, about: Job | None, node: Host, word: str, reason: str, left: bool
) -> None:
    refused = "QOSMaxSubmitJobPerUserLimit" if word == "not submitted" else ""

    found = states.state("n7", kept=kept, log=log, job=about, node=node, refused=refused)

    assert (found.word, found.reason, found.left) == (word, reason, left)


def test_behind_a_canary_that_failed_nothing_has_failed() -> None:
    cancelled = job("over", "CANCELLED", "DependencyNeverSatisfied")

    assert states.state("n7", kept=None, log=None, job=cancelled, node=UP).word == "not submitted"


def test_the_last_line_of_a_log_says_how_its_job_ended() -> None:
    assert ended("[1/9] disk\nrc=3 may use 1 of 2 PUs\n", "7") == Log(
        job="7", rc=3, reason="may use 1 of 2 PUs"
    )
    began = "n7 2026-01-02T03:04:05Z pid 42\n"
    assert ended(f"{began}[1/9] disk  rw=read\n", "7") == Log(job="7")
    assert ended("[1/9] disk  rw=read\n", "7", whole=False) == Log(job="7")
    assert ended("", "7") == Log(job="7")
    prolog = "Error running slurm prolog: 1"
    assert ended(f"{prolog}\n", "7") == Log(job="7", never_began=prolog)


def of(*words: str) -> list[State]:
    return [State(host=f"n{number}", word=word) for number, word in enumerate(words)]  # type: ignore[arg-type]


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
    assert states.exit_status(of(*words)) == status


def test_hosts_of_one_state_and_reason_are_one_line() -> None:
    found = states.folded(of("lost", "done", "done", "running", "done"))

    assert [(word, len(group)) for word, _, group in found] == [("done", 3), ("running", 1), ("lost", 1)]


def test_a_reason_that_names_its_own_host_is_one_of_all_of_them() -> None:
    """A plan for 200 hosts of which none had a name here was 200 lines, and so was what scancel left."""

    def skipped(host: str, reason: str) -> State:
        return State(host=host, word="skipped", reason=reason, job=f"5{host[1:]}")

    lost = "Could not resolve hostname {}: Name or service not known"
    found = states.folded(
        [skipped(host, lost.format(host)) for host in ("n1", "n2", "n10")]
        + [skipped("n3", "no route to n3.site"), skipped("n4", "n1 is not n4")]
        + [
            skipped("n5", "job 55 CANCELLED"),
            skipped("n6", "job 56 CANCELLED"),
            skipped("n7", "job 56 CANCELLED"),
        ]
        + [skipped(host, f"cannot make /tmp/pinsweep-3f9a12bc-{host}") for host in ("n8", "n9")]
    )

    assert [(reason, [one.host for one in group]) for _, reason, group in found] == [
        (f"{lost.format('n1')} (the others likewise)", ["n1", "n2", "n10"]),
        ("job 55 CANCELLED (the others likewise)", ["n5", "n6"]),
        ("cannot make /tmp/pinsweep-3f9a12bc-n8 (the others likewise)", ["n8", "n9"]),
        ("no route to n3.site", ["n3"]),
        ("n1 is not n4", ["n4"]),
        ("job 56 CANCELLED", ["n7"]),
    ]
