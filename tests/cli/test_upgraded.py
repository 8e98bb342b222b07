"""A pinsweep that is replaced by another version while it sweeps ends as it began."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import pinsweep

ROOT = Path(pinsweep.__file__).parent.parent
PACKAGES = ("orchestrator", "parsers", "pinsweep", "reports")
UPGRADE = """\
import pathlib
tree = pathlib.Path("tree")
for path in [*tree.rglob("*.py"), tree / "reports/checks/added.py"]:
    path.write_text("raise ImportError('of another version')")
print("n 7")
"""
EXPERIMENT = """\
schema: 1
title: Upgraded
tool: command
fixed: {{metrics: {{n: {{regex: "n (\\\\d+)"}}}}}}
matrix: {{command: ["{python} upgrade.py", "false"]}}
order: listed
repeats: 1
"""


@pytest.mark.slow
def test_the_tree_is_replaced_by_the_first_run(tmp_path: Path, home: Mapping[str, str]) -> None:
    for package in PACKAGES:
        half_written = shutil.ignore_patterns("*.pyc.*")  # by other tests that start Python meanwhile
        shutil.copytree(ROOT / package, tmp_path / "tree" / package, ignore=half_written)
    (tmp_path / "upgrade.py").write_text(UPGRADE)
    (tmp_path / "e.yaml").write_text(EXPERIMENT.format(python=sys.executable))

    done = subprocess.run(
        [sys.executable, "-m", "pinsweep", "run", "e.yaml", "-o", "e.db", "--no-warm-up"], cwd=tmp_path,
        env={**os.environ, **home, "PYTHONPATH": "tree"}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "1 failed, 1 ok\n" in done.stderr
    assert "pinsweep show e.db" in done.stderr
    assert "bug in pinsweep" not in done.stderr
    assert done.returncode == 1  # of the run that failed
