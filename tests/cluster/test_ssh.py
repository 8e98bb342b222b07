"""Sweeps of three hosts without a scheduler, by ssh."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import NODES, Cluster, begun, runs, states_of
from tests.waits import until

pytestmark = pytest.mark.slow

Experiment = Callable[..., Path]


@pytest.fixture
def hosts(cluster: Cluster) -> Iterator[Cluster]:
    """The cluster without a slurmd on its nodes."""
    cluster.node(NODES, "stop", "slurmd")
    yield cluster
    cluster.node(NODES, "start", "slurmd")


def test_three_hosts_one_of_them_away(hosts: Cluster, sweep: Path, experiment: Experiment) -> None:
    path = experiment(passes=0)
    hosts.node("node3", "stop", "sshd")

    first = hosts.pinsweep("run", path, "--nodes", NODES, "-o", sweep, "--via", "ssh", "--format", "json")

    assert first.returncode == 1, first.stderr
    assert [word for word, _ in states_of(first).values()] == ["running", "running", "skipped"]
    hosts.node("node3", "start", "sshd")
    again = hosts.pinsweep("run", "-o", sweep)
    assert again.returncode == 0, again.stdout + again.stderr
    until(lambda: all(begun(sweep, f"node{n}") for n in (1, 2, 3)))
    assert hosts.pinsweep("run", "-o", sweep).returncode == 0  # no host gets a second job
    (sweep.parent / "go").touch()
    hosts.until(sweep, "done")
    assert [runs(sweep / f"node{n}.db") for n in (1, 2, 3)] == [(2, 2, 1)] * 3
    assert sorted(log.name for log in (sweep / "log").glob("node*")) == ["node1.1", "node2.1", "node3.1"]


def test_one_at_a_time(hosts: Cluster, sweep: Path, experiment: Experiment) -> None:
    path = experiment(then=f"echo $(hostname) >> {sweep.parent}/order")

    done = hosts.pinsweep(
        "run", path, "--nodes", NODES, "-o", sweep, "--via", "ssh", "--at-once", "1", "--wait"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (sweep.parent / "order").read_text().split() == ["node1"] * 2 + ["node2"] * 2 + ["node3"] * 2


def test_of_two_sweeps_on_a_host_the_second_waits(
    hosts: Cluster, sweep: Path, experiment: Experiment
) -> None:
    path = experiment(passes=0, then=f"echo $PINSWEEP_HOST ${{PWD##*/}} >> {sweep.parent}/order")
    second = sweep.parent / "second"
    words = ("--via", "ssh", "--setup", "cd $local")  # whose name has the sweep's own
    assert hosts.pinsweep("run", path, "--nodes", "node[1-2]", "-o", sweep, *words).returncode == 0
    until(lambda: begun(sweep, "node1") and begun(sweep, "node2"))

    assert hosts.pinsweep("run", path, "--nodes", "node[1-2]", "-o", second, *words).returncode == 0
    until(
        lambda: all(
            "another pinsweep" in text or "waits" in text or "waiting" in text for text in logs_of(second)
        )
    )
    assert begun(sweep, "node1") == begun(sweep, "node2") == 1
    (sweep.parent / "go").touch()

    hosts.until(sweep, "done")
    hosts.until(second, "done")
    order = [line.split() for line in (sweep.parent / "order").read_text().splitlines()]
    for host in ("node1", "node2"):
        names = [folder for name, folder in order if name == host]
        assert len(names) == 4
        assert names[0] == names[1] != names[2] == names[3]


def logs_of(sweep: Path) -> list[str]:
    return [path.read_text() for path in (sweep / "log").glob("node*.*")]


def test_hosts_that_slurm_has_are_refused(cluster: Cluster, sweep: Path, experiment: Experiment) -> None:
    words = ("--nodes", NODES, "-o", sweep, "--via", "ssh", "--format", "json")
    done = cluster.pinsweep("run", experiment(), *words)

    assert done.returncode == 1
    assert [word for word, _ in states_of(done).values()] == ["skipped"] * 3
