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
sys.argv = ["pinsweep", *{words!r}]
from pinsweep.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "module", ["click", "click.core", "parsers.errors", "pinsweep.cli", "pinsweep.commands.doctor", "orchestrator.machine.probe"]
)  # fmt: skip
def test_ctrl_c_at_the_start_prints_no_traceback(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", START.format(module=module, words=["doctor"])],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 130
    assert done.stderr.strip() == ""
    assert done.stdout == ""


EXPERIMENT = """
schema: 1
tool: command
fixed: {command: "sleep {n}", metrics: {m: {regex: "(.)"}}}
matrix: {n: [0]}
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", ["orchestrator.plan.prepare", "orchestrator.tools.command", "orchestrator.store.result_file"])  # fmt: skip
def test_ctrl_c_before_the_first_run_says_that_nothing_was_started(tmp_path: Path, module: str) -> None:
    (tmp_path / "a.yaml").write_text(EXPERIMENT)
    words = ["run", str(tmp_path / "a.yaml"), "-o", str(tmp_path / "a.db")]
    done = subprocess.run(
        [sys.executable, "-c", START.format(module=module, words=words)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped; nothing was started\n")
    assert not (tmp_path / "a.db").exists()


def started(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_nothing_is_imported_before_ctrl_c_is_taken() -> None:
    done = started(
        "import sys; before = {*sys.modules}; import pinsweep.__main__; print(*sorted({*sys.modules} - before))"
    )

    assert {*done.stdout.split()} <= {"__future__", "gc", "pinsweep", "pinsweep.__main__"}, done.stderr


def test_a_second_ctrl_c_prints_no_traceback_either() -> None:
    done = started(
        "import os, signal, sys\n"
        "import pinsweep.__main__ as program\n"
        "program._let_go = lambda name: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['pinsweep', '--version']\n"
        "program.main()\n"
    )

    assert (done.returncode, done.stderr) == (130, "")
