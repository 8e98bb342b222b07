"""`--unpinned`: nothing is pinned, and nothing that is shown of it can be taken for a pinned number."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.experiment.load import parse_experiment
from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.plan.plan import Machine, make_plan
from orchestrator.tools import Program, Site
from tests.conftest import Cli

ECHO = """\
schema: 1
title: Echo
tool: command
fixed:
  command: echo value 7.0625
  metrics: {reply: {regex: "value ([0-9.]+)", unit: ms, better: lower}}
matrix: {place: [core 0, all]}
repeats: 1
"""

EVERY = """\
schema: 1
title: Every tool
repeats: 1
sweeps:
  - {name: s, tool: stream, fixed: {array_size: 1M}, matrix: {threads: [2], place: [each numa_node]}}
  - {name: p, tool: imb, fixed: {np: 2}, matrix: {place: [same package, other package]}}
  - {name: m, tool: mlc, fixed: {mode: loaded_latency, d: 0}}
  - {name: k, tool: poke, fixed: {target: memory, bytes: 1M, count: 1000}}
  - {name: f, tool: fio, fixed: {rw: randread, size: 1M, numjobs: 2}}
"""


def planned(*, numactl: str, unpinned: bool, refusal: str = "", machine: str = "pack:2 numa:1 core:2 pu:1") -> Any:
    site = Site(
        topology=topology_from_synthetic(machine),
        memory_refusal=lambda: refusal,
        numactl=numactl,
        unpinned=unpinned,
        scratch="/scratch",
    )
    programs = {tool: Program(name=tool, path=tool, stand_in=True) for tool in ("stream", "imb", "mlc", "poke", "fio")}
    return make_plan([parse_experiment(EVERY, "e.yaml")], Machine(site=site, programs=programs), seed=0)


@pytest.mark.parametrize("numactl", ["", "/usr/bin/numactl"])
def test_no_tool_is_told_any_place(numactl: str) -> None:
    plan = planned(numactl=numactl, unpinned=True)

    assert [cell.describe() for cell in plan.cells] == ["threads=2 place=unpinned", *["place=unpinned"] * 4]
    for run in plan.runs:
        words = " ".join([*run.argv, *(f"{k}={v}" for k, v in run.env.items())])
        assert run.placement is None
        assert not any(w in words for w in ("numactl", "OMP_PLACES", "cpus_allowed", " -c0", " -k", " -j"))
    assert "each number is flagged" in plan.warnings[0]


def test_where_memory_cannot_be_bound_cells_are_skipped_unless_there_is_one_node() -> None:
    refusal = "set_mempolicy: Operation not permitted"
    several = planned(numactl="numactl", unpinned=False, refusal=refusal)
    one = planned(numactl="numactl", unpinned=False, refusal=refusal, machine="pack:1 numa:1 core:4 pu:1")

    assert several.skipped
    assert all(refusal in item.reason for item in several.skipped)
    assert one.runs
    assert not any(refusal in item.reason for item in one.skipped)
    assert any(refusal in note for run in one.runs for note in run.notes)
    assert not any("--membind" in word for plan in (several, one) for run in plan.runs for word in run.argv)


@pytest.mark.slow
def test_each_number_is_marked_and_none_stands_beside_a_pinned_one(called: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ECHO)
    ran = called("run", "a.yaml", "-o", "free.db", "--unpinned")
    assert ran.returncode == 0
    assert "warning  nothing is pinned (--unpinned)" in ran.stderr
    assert "1 ok" in ran.stderr  # of both places one is left: nowhere
    called("run", "a.yaml", "-o", "pinned.db")

    assert "G18" in called("show", "free.db").stdout
    assert "G18" not in called("show", "pinned.db").stdout
    assert "requested    not placed" in called("show", "free.db", "1").stdout
    assert "place=unpinned" in called("audit", "free.db", "--level", "warn").stdout
    header, row, *_ = called("export", "free.db").stdout.splitlines()
    told = dict(zip(header.split(","), row.split(","), strict=True))
    assert (told["place"], told["doubted_by"]) == ("unpinned", "G18")
    assert called("report", "free.db", "-o", "free.html").returncode == 0
    page = (tmp_path / "free.html").read_text()
    assert "unpinned" in page
    assert "⚠ G18" in page.replace("\xa0", " ")

    with_pinned = json.loads(called("compare", "pinned.db", "free.db", "--format", "json").stdout)
    assert with_pinned["cells"] == []
    called("run", "a.yaml", "-o", "again.db", "--unpinned")
    assert "G18" in called("compare", "free.db", "again.db").stdout


def test_a_file_goes_on_with_its_unpinned_cells_when_told_so(called: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ECHO)
    called("run", "a.yaml", "-o", "r.db", "--unpinned")

    again = called("run", "a.yaml", "-o", "r.db", "--unpinned")
    pinned = called("run", "a.yaml", "-o", "r.db")

    assert "nothing to do, 1 done before" in again.stderr
    assert "2 ok" in pinned.stderr
    rows = [
        line.split() for line in called("show", "r.db").stdout.splitlines() if re.match(" +(all|core|unpinned) ", line)
    ]
    assert sorted((row[0], "G18" in row) for row in rows) == [
        ("all", False),
        ("core", False),
        ("unpinned", True),
    ]
