"""Sweeps by ssh of hosts that do not see the folder: they get the job, and their results are fetched."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import HOSTS, NODES, PROJECT, Cluster, SharedSweep, started
from tests.waits import until

pytestmark = pytest.mark.slow


@pytest.fixture
def apart() -> Iterator[Cluster]:
    """A cluster whose hosts have a /tmp each and no slurmd: they do not see the /tmp of the user."""
    if PROJECT.is_relative_to("/tmp"):
        pytest.skip("pinsweep is in /tmp, which these hosts do not share")
    with started("--private-tmp") as cluster:
        cluster.node(NODES, "stop", "slurmd")
        yield cluster


def test_the_job_is_sent_and_the_results_are_fetched(apart: Cluster, tmp_path: Path) -> None:
    """A host forgets its disk half-way; each result is measured once."""
    sweep = SharedSweep(apart, apart.shared, tmp_path / "acc").tool(passes=1, repeats=3)

    # the environment does not reach the hosts by ssh
    first = sweep.run("--via", "ssh", "--setup", "export PINSWEEP_HOME_EVERY_S=0")

    assert list(first.states.values()) == ["running"] * 3
    sweep.until_begun(2, *HOSTS)
    half = sweep.status()
    rows = half.json["hosts"].values()
    assert half.returncode == 3
    assert [(row["state"], row["done"], row["runs"]) for row in rows] == [("running", 1, 3)] * 3
    apart.node("node2", "off")
    for folder in (apart.folder / "nodes/node2/tmp").glob("pinsweep-*"):
        shutil.rmtree(folder)
    sweep.go()
    assert sweep.until("done", "unknown", "skipped").states["node2"] == "unknown"
    apart.node("node2", "on")
    apart.node("node2", "stop", "slurmd")
    again = sweep.again("--wait")
    assert again.returncode == 0, again.stderr
    assert sweep.runs() == [(3, 3, 1), (3, 3, 2), (3, 3, 1)]
    name = apart.name_of(sweep.path)
    until(lambda: sweep.status().returncode == 0 and not list(apart.folder.glob(f"nodes/node*/tmp/{name}-*")))
    assert (sweep.path / "log" / "node2.2").read_text().splitlines()[-1] == "rc=0 complete"
