"""Ctrl-C while pinsweep is starting: no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

START = """
import os, signal, sys

class Ctrl:  # C, when this module is about to be imported
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Ctrl())
sys.argv = ["pinsweep", "doctor"]
from pinsweep.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "module", ["click", "click.core", "parsers.errors", "pinsweep.cli", "pinsweep.commands.doctor", "orchestrator.machine.probe"]
)  # fmt: skip
def test_ctrl_c_at_the_start_prints_no_traceback(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START.format(module=module)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 130
    assert done.stderr.strip() == ""
    assert done.stdout == ""
