"""What sinfo, squeue and sbatch of Slurm 22.05 printed, and what is made of it."""

from __future__ import annotations

import pytest

from orchestrator.cluster import slurm_text

SINFO = """\
n1|idle|2:32:2|icelake,ib|main*|1-00:00:00|none
n1|idle|2:32:2|icelake,ib|short|30:00|none
n2|drained|2:32:2|icelake,ib|main*|1-00:00:00|bad DIMM | slot 3
n3|down*|2:32:2|(null)|main*|1-00:00:00|Not responding
n4|allocated|2:64:1|rack04,pool|main*|infinite|none
n5|idle*|2:64:1|(null)|main*|1-00:00:00|none
n6|draining|2:64:1|(null)|main*|1-00:00:00|Prolog error
n7|mixed-|2:64:1|(null)|main*|1-00:00:00|none
"""

SQUEUE = """\
n1|41|CANCELLED|PartitionTimeLimit
n1|42|PENDING|Priority
n2|43|RUNNING|None
n3|44|NODE_FAIL|None
n4|45|PENDING|DependencyNeverSatisfied
n5|46|PENDING|launch failed requeued held
n6|47|PENDING|ReqNodeNotAvail, UnavailableNodes:n6
n7|48|COMPLETED|None
n8|49|RUNNING|None
n8|50|COMPLETED|None
|51|PENDING|Resources
n9|52|REQUEUED|None
n10|53|REQUEUE_HOLD|JobHeldAdmin
"""


def test_hosts_that_can_have_no_job_say_why() -> None:
    hosts = slurm_text.parse_hosts(SINFO, [f"n{number}" for number in range(1, 9)])

    assert {name: host.problem for name, host in hosts.items()} == {
        "n1": "",
        "n2": 'drained "bad DIMM | slot 3"',
        "n3": 'down and not responding "Not responding"',
        "n4": "",
        "n5": "idle and not responding",
        "n6": 'draining "Prolog error"',
        "n7": "",
        "n8": slurm_text._NOT_LISTED,
    }
    assert hosts["n1"].kind == "2:32:2 icelake"
    assert hosts["n4"].kind == "2:64:1"
    assert [name for name, host in hosts.items() if host.idle] == ["n1", "n8"]


@pytest.mark.parametrize(
    ("partitions", "n1", "n2", "n4"),
    [("", 1440, 1440, 0), ("short", 30, 0, 0), ("main,short", 1440, 1440, 0), ("other", 0, 0, 0)],
)
def test_how_long_a_job_may_last_is_the_partition_s_word(partitions: str, n1: int, n2: int, n4: int) -> None:
    hosts = slurm_text.parse_hosts(SINFO, ["n1", "n2", "n4"], partitions=partitions)

    assert [host.allowed_min for host in hosts.values()] == [n1, n2, n4]


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("30", 30), ("1:00", 1), ("0:30", 1), ("2:00:00", 120), ("1-12", 2160), ("1-00:30", 1470), ("7-00:00:00", 10080),
        ("infinite", 0), ("UNLIMITED", 0), ("n/a", 0), ("", 0),
    ],
)  # fmt: skip
def test_a_time_as_slurm_writes_it(text: str, minutes: int) -> None:
    assert slurm_text.minutes(text) == minutes


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("-t 5 -p a", "5"), ("-t5", "5"), ("--time=5", "5"), ("--time 5 -t 7", "7"), ("--time-min=5", ""), ("-p main", ""), ("-t", ""),
    ],
)  # fmt: skip
def test_an_option_of_sbatch_however_it_is_written(words: str, value: str) -> None:
    assert slurm_text.option(words.split(), "-t", "--time") == value


def test_hosts_that_will_take_a_job_are_not_skipped() -> None:
    """Powered down or up, planned, about to reboot, or in a reservation for maintenance that the jobs name."""
    usable = [
        "idle~",
        "idle#",
        "mixed#",
        "idle%",
        "idle!",
        "idle@",
        "idle^",
        "reboot^",
        "allocated+",
        "idle$",
        "maint",
        "reserved",
    ]
    others = ["down~", "drained~", "reboot*", "maint*", "future~", "unknown*", "drained$", "fail", "inval"]
    text = "".join(f"{state}|{state}|2:32:1|(null)|main*|infinite|none\n" for state in usable + others)

    hosts = slurm_text.parse_hosts(text, usable + others, reserved=True)

    assert [name for name, host in hosts.items() if not host.problem] == usable
    assert not hosts["idle~"].idle  # hosts that are up come first
    assert "--reservation" in slurm_text.parse_hosts(text, ["maint"])["maint"].problem


def test_the_newest_job_of_a_host_counts_and_one_that_is_not_over_before_those_that_are() -> None:
    jobs = slurm_text.parse_jobs(SQUEUE)

    assert {host: (job.id, job.phase, job.hopeless) for host, job in jobs.items()} == {
        "n1": ("42", "waits", False),
        "n2": ("43", "runs", False),
        "n3": ("44", "over", False),
        "n4": ("45", "waits", True),
        "n5": ("46", "waits", True),
        "n6": ("47", "waits", False),  # until n6 is back, or sinfo says that it is out
        "n7": ("48", "over", False),
        "n8": ("49", "runs", False),
        "n9": ("52", "waits", False),
        "n10": ("53", "waits", True),
    }
    assert jobs["n3"].state == "NODE_FAIL"


FAILED = "sbatch: error: Batch job submission failed: "


@pytest.mark.parametrize(
    ("stderr", "reason"),
    [
        (
            f"sbatch: error: QOSMaxSubmitJobPerUserLimit\n{FAILED}Job violates limits\n",
            "QOSMaxSubmitJobPerUserLimit",
        ),
        (f"{FAILED}Invalid account\n", "Invalid account"),
        (
            "sbatch: option requires an argument -- 't'\nTry \"sbatch --help\"\n",
            "option requires an argument -- 't'",
        ),
    ],
)
def test_a_refusal_is_the_limit_or_the_last_words(stderr: str, reason: str) -> None:
    assert slurm_text.refusal(stderr) == reason
    assert not slurm_text.is_unavailable(stderr)


@pytest.mark.parametrize(
    "stderr",
    ["Unable to contact slurm controller (connect failure)", f"{FAILED}Socket timed out on send/recv"],
)
def test_without_an_answer_the_outcome_is_not_known(stderr: str) -> None:
    assert slurm_text.is_unavailable(stderr)


def test_how_jobs_ended_that_squeue_forgot() -> None:
    said = "7|CANCELLED by 0\n8|TIMEOUT\n9|RUNNING\n10|PREEMPTED\n"

    found = slurm_text.parse_ended(said, {"n1": "7", "n2": "8", "n3": "9", "n4": "11"})

    assert {host: (job.id, job.phase, job.state) for host, job in found.items()} == {
        "n1": ("7", "over", "CANCELLED"),
        "n2": ("8", "over", "TIMEOUT"),
    }
    assert slurm_text.parse_ended("sacct: error: Slurm accounting storage is disabled\n", {"n1": "7"}) == {}
