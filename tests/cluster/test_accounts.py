"""What a site's rules do to a sweep: accounts, limits, an ordinary user."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.cluster.conftest import HOSTS, NODES, Answer, Cluster, SharedSweep
from tests.waits import until

pytestmark = pytest.mark.slow


class OfBench(SharedSweep):
    """A sweep of the ordinary user."""

    def run(self, *words: Any, **more: Any) -> Answer:
        return super().run(*words, **{"user": "bench", **more})

    def again(self, *words: str, **more: Any) -> Answer:
        return super().again(*words, user="bench", **more)


@pytest.fixture
def bench(accounting: Cluster, sweep: SharedSweep) -> OfBench:
    shutil.chown(sweep.shared, 5000, 5000)
    return OfBench(accounting, sweep.shared)


def drain(cluster: Cluster, state: str) -> None:
    cluster.login("scontrol", "update", f"nodename={NODES}", f"state={state}", "reason=later")


def test_hosts_beyond_a_limit_of_jobs_are_named_and_submitted_later(bench: OfBench) -> None:
    bench.tool(passes=0)
    bench.cluster.limit("MaxSubmitJobs=2")

    first = bench.run()

    assert first.returncode == 1, first.stderr
    [host] = [host for host, state in first.states.items() if state == "not submitted"]
    assert "AssocMaxSubmitJobLimit" in first.reasons[host]
    bench.until_begun(1, *(set(HOSTS) - {host}))
    assert bench.status(user="bench").returncode == 3
    bench.go()
    bench.until("done", "not submitted")
    assert bench.status().returncode == 1  # every user may look
    again = bench.again("--wait")
    assert again.returncode == 0, again.stderr
    assert bench.runs() == [(2, 2, 1)] * 3


def test_an_unknown_account_gets_no_job(bench: OfBench) -> None:
    answer = bench.tool().run("--sbatch", "-A nope")

    assert answer.returncode == 1
    assert list(answer.states.values()) == ["not submitted"] * 3
    assert all("Invalid account" in reason for reason in answer.reasons.values())


def test_an_ordinary_user_without_a_writable_home(bench: OfBench) -> None:
    home = bench.cluster.shared / "home"
    home.mkdir(mode=0o555, exist_ok=True)

    answer = bench.tool().run("--wait", home=home)

    assert answer.returncode == 0, answer.stderr
    assert bench.runs() == [(2, 2, 1)] * 3
    assert not list(home.iterdir())


def test_a_folder_of_another_user_is_refused_before_the_first_job(bench: OfBench) -> None:
    bench.tool()
    folder = bench.shared / "others"
    folder.mkdir(mode=0o750)
    shutil.chown(folder, 0, 0)
    bench.path = folder / "acc"

    answer = bench.run()

    assert answer.returncode in (1, 2)
    assert "Permission denied" in answer.stderr
    assert not bench.cluster.login("squeue", "-h", "-u", "bench").stdout.strip()


def test_only_the_user_who_began_a_sweep_continues_it(bench: OfBench) -> None:
    drain(bench.cluster, "drain")
    assert bench.tool().run(user="").returncode == 2, "root trusts no folder of another user"
    shutil.chown(bench.shared, "root")
    bench.shared.chmod(0o755)
    bench.run(user="")
    drain(bench.cluster, "resume")
    until(lambda: not bench.cluster.unusable(NODES))

    status, again = bench.status(user="bench"), bench.again()

    assert (status.returncode, list(status.states.values())) == (1, ["not submitted"] * 3)
    assert again.returncode in (1, 2)
    assert not bench.logs()


def test_hosts_of_a_hidden_partition_get_no_job_twice(bench: OfBench) -> None:
    """sinfo and squeue show an ordinary user such hosts and his own jobs there only if they are asked for all."""
    bench.tool(passes=0)
    with bench.cluster.configured("PartitionName=hidden Nodes=node[1-3] Hidden=YES State=UP"):
        for partition in ("main", "short"):
            bench.cluster.login("scontrol", "update", f"partitionname={partition}", "hidden=yes")
        bench.run("--sbatch", "-p hidden")
        bench.until_begun(1, *HOSTS)

        again = bench.again()

        assert list(again.states.values()) == ["running"] * 3
        assert len(bench.cluster.login("squeue", "-h", "-a").stdout.splitlines()) == 3
        bench.go()
        bench.until("done")
        until(lambda: not bench.cluster.login("squeue", "-h", "-a").stdout.strip())
