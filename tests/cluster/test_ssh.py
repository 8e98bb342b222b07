"""Sweeps of three hosts without a scheduler, by ssh."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.conftest import HOSTS, NODES, Cluster, SharedSweep
from tests.waits import until

pytestmark = pytest.mark.slow


@pytest.fixture
def hosts(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster without a slurmd on its nodes."""
    cluster.node(NODES, "stop", "slurmd")
    yield cluster
    cluster.node(NODES, "start", "slurmd")


def test_three_hosts_of_which_one_is_away(hosts: Cluster, sweep: SharedSweep) -> None:
    hosts.node("node3", "stop", "sshd")

    first = sweep.tool(passes=0).run("--via", "ssh")

    assert first.returncode == 1, first.stderr
    assert list(first.states.values()) == ["running", "running", "skipped"]
    hosts.node("node3", "start", "sshd")
    again = sweep.again()
    assert again.returncode == 0, again.stderr
    sweep.until_begun(1, *HOSTS)
    assert sweep.again().returncode == 0  # no host gets a second job
    sweep.go()
    sweep.until("done")
    assert sweep.runs() == [(2, 2, 1)] * 3
    assert [log.name for log in sweep.logs()] == ["node1.1", "node2.1", "node3.1"]


def test_one_at_a_time(hosts: Cluster, sweep: SharedSweep) -> None:
    sweep.tool(then=f"echo $(hostname) >> {sweep.shared}/order")

    answer = sweep.run("--via", "ssh", "--at-once", "1", "--wait")

    assert answer.returncode == 0, answer.stderr
    assert (sweep.shared / "order").read_text().split() == ["node1"] * 2 + ["node2"] * 2 + ["node3"] * 2


def test_the_second_of_two_sweeps_on_a_host_waits(hosts: Cluster, sweep: SharedSweep) -> None:
    sweep.tool(passes=0, then=f"echo $PINSWEEP_HOST ${{PWD##*/}} >> {sweep.shared}/order")
    second = SharedSweep(hosts, sweep.shared, sweep.shared / "second")
    words = ("--via", "ssh", "--setup", "cd $local")  # its name has the sweep's id
    assert sweep.run(*words, nodes="node[1-2]").returncode == 0
    sweep.until_begun(1, "node1", "node2")

    assert second.run(*words, nodes="node[1-2]").returncode == 0
    until(lambda: all("wait" in path.read_text() or "another" in path.read_text() for path in second.logs()))
    assert sweep.begun("node1") == sweep.begun("node2") == 1
    sweep.go()

    sweep.until("done")
    second.until("done")
    order = [line.split() for line in (sweep.shared / "order").read_text().splitlines()]
    for host in ("node1", "node2"):
        names = [folder for name, folder in order if name == host]
        assert len(names) == 4
        assert names[0] == names[1] != names[2] == names[3]


def test_hosts_of_slurm_are_refused(sweep: SharedSweep) -> None:
    answer = sweep.tool().run("--via", "ssh")

    assert answer.returncode == 1
    assert list(answer.states.values()) == ["skipped"] * 3
