"""Sweeps by ssh of hosts that do not see the folder: the job is sent to them, what they measure is fetched."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import NODES, PROJECT, SWEEP, TOOL, Cluster, begun, runs, started, states_of
from tests.waits import until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def apart() -> Iterator[Cluster]:
    """A cluster whose hosts have a /tmp each, and no slurmd: what lies in /tmp of who submits, they do not see."""
    if PROJECT.is_relative_to("/tmp"):
        pytest.skip("pinsweep is in /tmp, which these hosts do not share")
    with started("--private-tmp") as cluster:
        cluster.node(NODES, "stop", "slurmd")
        yield cluster


def waits(cluster: Cluster, *, passes: int, repeats: int = 2) -> Path:
    """Return an experiment whose runs wait for the file `go` in the folder that even these hosts share."""
    folder = cluster.shared
    for old in (*folder.glob("begun.*"), folder / "go"):
        old.unlink(missing_ok=True)
    (folder / "tool.sh").write_text(TOOL.format(folder=folder, passes=passes, then=""))
    path = folder / "waits.yaml"
    path.write_text(SWEEP.format(folder=folder, repeats=repeats, values=[0]))
    return path


def left(cluster: Cluster, sweep: Path) -> list[str]:
    """Return what a sweep has left on its hosts."""
    name = f"pinsweep-{json.loads((sweep / 'sweep.json').read_text())['id']}-*"
    return [path.name for n in (1, 2, 3) for path in (cluster.folder / f"nodes/node{n}/tmp").glob(name)]


def test_the_job_is_sent_and_the_results_are_fetched(apart: Cluster, tmp_path: Path) -> None:
    """One host forgets all that lay on its disk, half-way; each result is measured once."""
    acc = tmp_path / "acc"
    path = waits(apart, passes=1, repeats=3)

    setup = "export PINSWEEP_HOME_EVERY_S=0"  # nothing of the environment goes along by ssh
    words = ("--nodes", NODES, "-o", acc, "--via", "ssh", "--setup", setup, "--format", "json")
    first = apart.pinsweep("run", path, *words)

    assert [word for word, _ in states_of(first).values()] == ["running"] * 3
    until(lambda: all(begun(apart.shared / "acc", f"node{n}") == 2 for n in (1, 2, 3)))
    half = apart.pinsweep("status", acc, "--format", "json")
    assert half.returncode == 3
    rows = json.loads(half.stdout)["hosts"].values()
    assert [(row["state"], row["done"], row["runs"]) for row in rows] == [("running", 1, 3)] * 3
    apart.node("node2", "off")
    for folder in (apart.folder / "nodes/node2/tmp").glob("pinsweep-*"):
        shutil.rmtree(folder)
    (apart.shared / "go").touch()
    seen = apart.until(acc, "done", "unknown", "skipped")
    assert seen["node2"][0] == "unknown"
    apart.node("node2", "on")
    apart.node("node2", "stop", "slurmd")
    again = apart.pinsweep("run", "-o", acc, "--wait")
    assert again.returncode == 0, again.stdout + again.stderr
    assert [runs(acc / f"node{n}.db") for n in (1, 2, 3)] == [(3, 3, 1), (3, 3, 2), (3, 3, 1)]
    until(lambda: apart.pinsweep("status", acc).returncode == 0 and not left(apart, acc))
    assert (acc / "log" / "node2.2").read_text().splitlines()[-1] == "rc=0 complete"
