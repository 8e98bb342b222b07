"""What a site's rules do to a sweep: accounts, limits, an ordinary user."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import NODES, Cluster, begun, runs, states_of
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

    first = bench.pinsweep("run", path, "--nodes", NODES, "-o", sweep, "--format", "json", user="bench")

    assert first.returncode == 1, first.stderr
    [(beyond, reason)] = [
        (host, reason) for host, (word, reason) in states_of(first).items() if word == "not submitted"
    ]
    assert "AssocMaxSubmitJobLimit" in reason
    until(lambda: all(begun(sweep, f"node{n}") for n in (1, 2, 3) if f"node{n}" != beyond))
    assert bench.pinsweep("status", sweep, user="bench").returncode == 3
    (sweep.parent / "go").touch()
    bench.until(sweep, "done", "not submitted")
    assert bench.pinsweep("status", sweep).returncode == 1  # anybody may look
    again = bench.pinsweep("run", "-o", sweep, "--wait", user="bench")
    assert again.returncode == 0, again.stdout + again.stderr
    assert [runs(sweep / f"node{n}.db") for n in (1, 2, 3)] == [(2, 2, 1)] * 3


def test_no_host_is_submitted_to_an_account_that_is_none(
    bench: Cluster, sweep: Path, experiment: Experiment
) -> None:
    words = ("--nodes", NODES, "-o", sweep, "--sbatch", "-A nope", "--format", "json")
    done = bench.pinsweep("run", experiment(), *words, user="bench")

    assert done.returncode == 1
    states = states_of(done).values()
    assert [(word, "Invalid account" in reason) for word, reason in states] == [("not submitted", True)] * 3
    assert bench.pinsweep("status", sweep).returncode == 1


def test_an_ordinary_user_without_a_home_to_write_to(
    bench: Cluster, sweep: Path, experiment: Experiment, tmp_path: Path
) -> None:
    home = bench.shared / "home"
    home.mkdir(mode=0o555, exist_ok=True)

    done = bench.pinsweep(
        "run", experiment(), "--nodes", NODES, "-o", sweep, "--wait", user="bench", home=home
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert [runs(sweep / f"node{n}.db") for n in (1, 2, 3)] == [(2, 2, 1)] * 3
    assert not list(home.iterdir())


def test_a_folder_that_is_not_one_s_own_is_told_before_the_first_job(
    bench: Cluster, sweep: Path, experiment: Experiment
) -> None:
    path = experiment()
    others = sweep.parent / "others"
    others.mkdir(mode=0o750)
    shutil.chown(others, 0, 0)

    done = bench.pinsweep("run", path, "--nodes", NODES, "-o", others / "acc", user="bench")

    assert done.returncode in (1, 2)
    assert "Permission denied" in done.stderr
    assert not bench.login("squeue", "-h", "-t", "all", "-n", "x", "-u", "bench").stdout.strip()


def test_who_did_not_begin_a_sweep_may_look_and_not_go_on(
    bench: Cluster, sweep: Path, experiment: Experiment
) -> None:
    bench.login("scontrol", "update", f"nodename={NODES}", "state=drain", "reason=later")
    refused = bench.pinsweep("run", experiment(), "--nodes", NODES, "-o", sweep)
    assert refused.returncode == 2, "root trusts no folder of another user"
    shutil.chown(sweep.parent, "root")
    sweep.parent.chmod(0o755)
    bench.pinsweep("run", experiment(), "--nodes", NODES, "-o", sweep)  # root
    bench.login("scontrol", "update", f"nodename={NODES}", "state=resume")
    until(lambda: not bench.unusable(NODES))

    looked = bench.pinsweep("status", sweep, "--format", "json", user="bench")
    again = bench.pinsweep("run", "-o", sweep, user="bench")

    assert looked.returncode == 1
    assert [word for word, _ in states_of(looked).values()] == ["not submitted"] * 3
    assert again.returncode in (1, 2)
    assert not list((sweep / "log").glob("node*"))


def test_hosts_of_a_hidden_partition_are_known_and_get_no_job_twice(
    bench: Cluster, sweep: Path, experiment: Experiment
) -> None:
    """sinfo and squeue show an ordinary user neither such hosts nor his own jobs there, unless they are asked for all."""
    path = experiment(passes=0)
    with bench.configured("PartitionName=hidden Nodes=node[1-3] Hidden=YES State=UP"):
        for partition in ("main", "short"):
            bench.login("scontrol", "update", f"partitionname={partition}", "hidden=yes")
        words = ("--nodes", NODES, "-o", sweep, "--sbatch", "-p hidden")
        bench.pinsweep("run", path, *words, user="bench")
        until(lambda: all(begun(sweep, f"node{n}") for n in (1, 2, 3)))

        again = bench.pinsweep("run", "-o", sweep, "--format", "json", user="bench")

        assert [word for word, _ in states_of(again).values()] == ["running"] * 3
        assert len(bench.login("squeue", "-h", "-a").stdout.splitlines()) == 3
        (sweep.parent / "go").touch()
        bench.until(sweep, "done")
        until(lambda: not bench.login("squeue", "-h", "-a").stdout.strip())
