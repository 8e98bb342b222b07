"""What sinfo, squeue and sbatch of Slurm 22.05 printed, and what is made of it."""

from __future__ import annotations

from orchestrator.cluster import slurm_text

SINFO = """\
n1|idle|2:32:2|icelake,ib|none
n1|idle|2:32:2|icelake,ib|none
n2|drained|2:32:2|icelake,ib|bad DIMM | slot 3
n3|down*|2:32:2|(null)|Not responding
n4|allocated|2:64:1|rack04,pool|none
n5|idle*|2:64:1|(null)|none
n6|draining|2:64:1|(null)|Prolog error
n7|mixed-|2:64:1|(null)|none
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
    hosts = slurm_text.hosts(SINFO, [f"n{number}" for number in range(1, 9)])

    assert {name: host.problem for name, host in hosts.items()} == {
        "n1": "",
        "n2": 'drained "bad DIMM | slot 3"',
        "n3": 'down and not responding "Not responding"',
        "n4": "",
        "n5": "idle and not responding",
        "n6": 'draining "Prolog error"',
        "n7": "",
        "n8": "Slurm does not know it, or hides it while it is powered down (PrivateData=cloud shows such hosts)",
    }
    assert hosts["n1"].kind == "2:32:2 icelake"
    assert hosts["n4"].kind == "2:64:1"
    assert [name for name, host in hosts.items() if host.idle] == ["n1", "n8"]


def test_hosts_that_will_have_their_turn_are_not_left_out() -> None:
    """Powered down, powering up or down, planned to be, about to reboot, in a reservation of maintenance that the jobs name."""
    states = (
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
    )
    gone = ("down~", "drained~", "reboot*", "maint*", "future~", "unknown*", "drained$", "fail", "inval")
    text = "".join(f"{state}|{state}|2:32:1|(null)|none\n" for state in states + gone)

    found = slurm_text.hosts(text, states + gone, reserved=True)

    assert [name for name, host in found.items() if not host.problem] == list(states)
    assert not found["idle~"].idle  # it comes behind those that are up
    assert (
        slurm_text.hosts(text, ["maint"])["maint"].problem
        == "maint (a reservation: --sbatch --reservation=NAME)"
    )


def test_the_newest_job_of_a_host_counts_and_one_that_is_not_over_before_those_that_are() -> None:
    jobs = slurm_text.jobs(SQUEUE)

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


def test_a_refusal_is_the_limit_by_name_or_the_last_words() -> None:
    limit = (
        "sbatch: error: QOSMaxSubmitJobPerUserLimit\n"
        "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n"
    )
    account = "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n"

    assert slurm_text.refusal(limit) == "QOSMaxSubmitJobPerUserLimit"
    assert slurm_text.refusal(account) == "Invalid account or account/partition combination specified"
    assert (
        slurm_text.refusal(
            "sbatch: option requires an argument -- 't'\nTry \"sbatch --help\" for more information\n"
        )
        == "option requires an argument -- 't'"
    )
    assert not slurm_text.is_away(limit)
    assert slurm_text.is_away("slurm_load_jobs error: Unable to contact slurm controller (connect failure)")
    assert slurm_text.is_away(
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    )
