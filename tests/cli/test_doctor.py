"""`pinsweep doctor`: what it sees of this machine, what it says when the programs it asks contradict each other."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from tests.conftest import Cli

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "hwloc"

needs_lstopo = pytest.mark.skipif(not shutil.which("lstopo"), reason="hwloc is not installed")
needs_numactl = pytest.mark.skipif(not shutil.which("numactl"), reason="numactl is not installed")

PAIRS = """\
schema: 1
title: Every kind of place
sweeps:
  - tool: imb
    name: pairs
    fixed: {benchmark: PingPong, msglog: "0:4"}
    matrix: {place: [smt siblings, same cache, same package, other package]}
  - tool: stream
    name: threads
    fixed: {array_size: 1M}
    matrix:
      threads: 1..cores_per_numa_node
      place:
        - {name: local, cpus: numa_node 0, memory: local}
        - {name: remote, cpus: numa_node 0, memory: remote}
        - {name: each, cpus: each core, memory: any}
repeats: 1
"""


def first_on_path(folder: Path, name: str, text: str) -> dict[str, str]:
    """Put a program before all others of its name."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


@needs_lstopo
@needs_numactl
def test_a_sound_machine_has_no_contradictions(pinsweep: Cli) -> None:
    done = pinsweep("doctor")

    assert "disagreement" not in done.stdout
    assert "numa_node 0: CPUs " in done.stdout
    assert done.returncode in (0, 1)  # 1: a tool is missing here
    assert not done.stderr


def test_an_hwloc_that_sees_another_machine_is_named(pinsweep: Cli, tmp_path: Path) -> None:
    xml = FIXTURES / "four-node.xml"
    path = first_on_path(tmp_path / "bin", "lstopo-no-graphics", f"#!/bin/sh\nexec cat {shlex.quote(str(xml))}\n")

    done = pinsweep("doctor", env=path)

    assert "warn disagreement, packages: hwloc has 2, the kernel " in done.stdout
    assert "warn disagreement, NUMA nodes: hwloc has 0-3, the kernel " in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\necho 'No NUMA support available on this system.'; exit 1\n", "it will place nothing"),
        (
            "#!/bin/sh\nprintf 'available: 1 nodes (0)\\nnode 0 cpus: 977\\nnode 0 size: 1 MB\\nnode 0 free: 1 MB\\n'\n",
            "numa_node 0: numactl has CPUs 977, the kernel ",
        ),
    ],
)
def test_a_numactl_that_sees_another_machine_is_named(pinsweep: Cli, tmp_path: Path, text: str, said: str) -> None:
    done = pinsweep("doctor", env=first_on_path(tmp_path / "bin", "numactl", text))

    (line,) = [line for line in done.stdout.splitlines() if "disagreement" in line]
    assert said in line


@needs_numactl
def test_a_missing_hwloc_is_named_and_does_not_stop_a_run(pinsweep: Cli, tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    for folder in reversed(os.environ["PATH"].split(":")):
        for program in Path(folder).glob("*"):
            if not program.name.startswith(("lstopo", "hwloc")):
                (bin_ / program.name).unlink(missing_ok=True)
                (bin_ / program.name).symlink_to(program)
    without = {"PATH": str(bin_)}
    (tmp_path / "e.yaml").write_text(
        'schema: 1\ntitle: e\ntool: command\nfixed: {command: echo 7, metrics: {n: {regex: "(7)"}}}\n'
        "matrix: {place: [core 0, all]}\nrepeats: 1\n"
    )

    doctor = pinsweep("doctor", env=without)
    run = pinsweep("run", "e.yaml", "-o", "e.db", env=without)

    assert "missing (apt-get install hwloc-nox, or dnf install hwloc)" in doctor.stdout
    assert doctor.returncode == 1
    assert run.returncode == 0, run.stderr
    assert "2 ok" in run.stderr


@needs_lstopo
@needs_numactl
def test_planning_on_a_capture_is_planning_on_the_machine(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "pairs.yaml").write_text(PAIRS)
    assert "wrote  here" in pinsweep("doctor", "--capture", "here").stderr

    def plan(*words: str) -> list[object]:
        done = pinsweep("plan", "pairs.yaml", "--format", "json", *words)
        assert done.returncode == 0, done.stderr
        made = json.loads(done.stdout)
        runs = [[run["labels"], run["placement"], run["argv"], run["env"]] for run in made["runs"]]
        return [runs, made["skipped"]]

    here = plan()

    assert here[0]
    assert plan("--topology", "here") == here
    assert plan("--topology", "here/topology.json") == here
    assert json.loads((tmp_path / "here" / "facts.json").read_text())["kernel"] == os.uname().release
