"""The experiments of docs/seeds, and the programs beside them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.plan.prepare import PlanOptions, prepare
from tests.docs.transcripts import DOCS

SEEDS = DOCS / "seeds"


@pytest.mark.parametrize("path", sorted(SEEDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_each_can_be_planned_for_two_sockets_without_a_cell_left_out(path: Path) -> None:
    machine = "pack:2 numa:1(memory=64GB) l3:1(size=32MB) l2:8(size=1MB) l1d:1(size=32kB) core:1 pu:1"

    plan = prepare([path], PlanOptions(topology=machine), seed=0).plan

    assert plan.skipped == ()


@pytest.mark.parametrize(
    ("words", "printed"),
    [
        (("transfers.py", "parallel", "0"), r"10000000 bytes in \d+\.\d+ s"),
        (("allocation.py", "re-used", "1"), r"1 steps in \d+\.\d+ s"),
    ],
)
def test_its_programs_print_what_it_reads(words: tuple[str, ...], printed: str) -> None:
    name, *rest = words
    done = subprocess.run(
        [sys.executable, str(SEEDS / "001" / name), *rest], capture_output=True, text=True, check=True
    )

    assert re.fullmatch(printed, done.stdout.strip())
