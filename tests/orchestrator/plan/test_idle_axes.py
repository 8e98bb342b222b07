"""Axes of a program that change nothing of what is started are told."""

from __future__ import annotations

import pytest

from orchestrator.experiment.load import parse_experiment
from orchestrator.machine.synthetic import topology_from_synthetic
from orchestrator.plan.plan import Machine, make_plan
from orchestrator.tools import Program, Site

HEAD = "schema: 1\ntool: command\n"
METRICS = "metrics: {t: {regex: '([0-9]+)'}}"


@pytest.mark.parametrize(
    ("command", "matrix", "told"),
    [
        ("x 1000", "{n: [10, 100]}", ["e: n 10, 100 all start the same command: put {n} where its value belongs, or remove the axis"]),
        ("x {n}", "{n: [10, 100]}", []),
        ("x {n}", "{n: [10, 100], alg: [a, b]}", ["e: alg a, b all start the same command: put {alg} where its value belongs, or remove the axis"]),
        ("x 1000", "{n: [10]}", []),  # a label
        ("x", "{threads: [1, 2]}", []),  # OMP_NUM_THREADS
        ("x", "{place: [core 0, core 1]}", []),
        ("x", "{place: [core 0]}\nzip: {env: [{A: 1}, {A: 2}], tag: [one, two]}", []),
        ("x', secnds: '4", "{place: [core 0]}", ["e: nothing uses secnds (4): did you mean 'seconds'?"]),
        ("x', level: '4", "{place: [core 0]}", ["e: nothing uses level (4): put {level} where its value belongs, or remove it"]),
    ],
)  # fmt: skip
def test_an_axis_that_no_placeholder_names_is_told(command: str, matrix: str, told: list[str]) -> None:
    text = f"{HEAD}fixed: {{command: '{command}', {METRICS}}}\nmatrix: {matrix}\n"
    topology = topology_from_synthetic("pack:1 core:2 pu:1")
    machine = Machine(
        site=Site(topology=topology, numactl="numactl", scratch="/s"),
        programs={"command": Program(name="", path="", version="")},
    )

    plan = make_plan([parse_experiment(text, "e.yaml")], machine, seed=0)

    assert list(plan.warnings) == told
