"""What a site's rules do to a sweep: accounts, limits, an ordinary user."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import NODES, Cluster, begun, runs
from tests.waits import until

pytestmark = pytest.mark.slow

Experiment = Callable[..., Path]


@pytest.fixture
def bench(accounting: Cluster, sweep: Path) -> Cluster:
    """The cluster, and an ordinary user who may write where the sweep will lie."""
    shutil.chown(sweep.parent, 5000, 5000)
    return accounting


def test_beyond_a_limit_of_jobs_hosts_are_named_and_get_theirs_later(
    bench: Cluster, sweep: Path, experiment: Experiment
) -> None:
    path = experiment(passes=0)
    bench.limit("MaxSubmitJobs=2")

    first = bench.pinsweep("run", path, "--nodes", NODES, "-o", sweep, user="bench")

    assert first.returncode == 1, first.stderr
    assert re.search(r"not submitted  node3  AssocMaxSubmitJobLimit\n", first.stdout), first.stdout
    assert "2 hosts submitted" in first.stderr
    until(lambda: begun(sweep, "node1") and begun(sweep, "node2"))
    assert bench.pinsweep("status", sweep, user="bench").returncode == 3
    (sweep.parent / "go").touch()
    bench.until(sweep, "done", "not submitted")
    assert bench.pinsweep("status", sweep).returncode == 1  # anybody may look
    again = bench.pinsweep("run", "-o", sweep, "--wait", user="bench")
    assert again.returncode == 0, again.stdout + again.stderr
    assert [runs(sweep / f"node{n}.db") for n in (1, 2, 3)] == [(2, 2, 1)] * 3


def test_an_account_that_is_none_is_told_for_all_hosts_at_once(
    bench: Cluster, sweep: Path, experiment: Experiment
) -> None:
    done = bench.pinsweep(
        "run", experiment(), "--nodes", NODES, "-o", sweep, "--sbatch", "-A nope", user="bench"
    )

    assert done.returncode == 1
    assert re.search(r"not submitted  node\[1-3\]  Invalid account", done.stdout), done.stdout
    assert bench.pinsweep("status", sweep).returncode == 1
