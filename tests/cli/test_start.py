"""What starts with nothing but the program: help, init, doctor, schema; and what never happens: a traceback."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.tools import tool_names

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
COMMANDS = ("doctor", "init", "plan", "run", "show", "parse", "export", "report", "schema")


def test_help_imports_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['pinsweep', '--help']\n"
        "from pinsweep.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'pandas', 'numpy', 'yaml', 'jinja2', 'vl_convert', 'scipy', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stderr.strip() == "[]"
    assert all(f"  {command} " in done.stdout for command in COMMANDS)


def test_planning_does_without_pandas(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "schema: 1\ntitle: c\ntool: command\nfixed: {command: 'true', metrics: {m: {regex: '(1)'}}}\n"
    )
    program = (
        "import sys; sys.argv = ['pinsweep', 'plan', 'c.yaml']\n"
        "from pinsweep.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'pandas', 'numpy', 'jinja2', 'vl_convert'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert done.stdout.strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_ends_in_an_example(pinsweep: Cli, command: str) -> None:
    done = pinsweep(command, "--help")

    assert done.returncode == 0
    assert f"Example: pinsweep {command}" in done.stdout.strip().splitlines()[-1] or "Example:" in done.stdout


@pytest.mark.parametrize("tool", tool_names())
def test_what_init_prints_can_be_planned(pinsweep: Cli, tmp_path: Path, tool: str) -> None:
    made = pinsweep("init", tool, "-o", "mine.yaml")
    plan = pinsweep(
        "plan", "mine.yaml", "--format", "json", "--topology", "pack:2 numa:1 l3:1(size=8MB) core:4 pu:2"
    )

    assert made.returncode == 0, made.stderr
    assert plan.returncode == 0, plan.stderr
    assert json.loads(plan.stdout)["runs"]


def test_init_never_overwrites(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("years of work")

    assert pinsweep("init", "fio", "-o", "mine.yaml").returncode == 2
    assert (tmp_path / "mine.yaml").read_text() == "years of work"


def test_doctor_sees_the_machine_and_captures_it(pinsweep: Cli, tmp_path: Path) -> None:
    doctor = pinsweep("doctor", "--capture", "here")
    (tmp_path / "c.yaml").write_text(
        "schema: 1\ntitle: c\ntool: command\nfixed: {command: 'true', metrics: {m: {regex: '(1)'}}, place: numa_node 0}\n"
    )

    assert "numa_node 0" in doctor.stdout
    elsewhere = json.loads(pinsweep("plan", "c.yaml", "--topology", "here", "--format", "json").stdout)
    here = json.loads(pinsweep("plan", "c.yaml", "--format", "json").stdout)
    assert [run["placement"] for run in elsewhere["runs"]] == [run["placement"] for run in here["runs"]]


@pytest.mark.parametrize(
    "words",
    [
        ["nosuch"], ["run"], ["run", "nosuch.yaml"], ["run", "."], ["plan", "/dev/null"], ["show", "nosuch.db"], ["show", "."],
        ["report", "/dev/null"], ["export", "nosuch.db"], ["parse", "nosuch"], ["parse", "/dev/null"], ["init", "nosuch"],
        ["plan", "c.yaml", "--topology", "pack:0"], ["plan", "c.yaml", "--topology", "nosuch.xml"], ["plan", "c.yaml", "--only", "x"],
        ["run", "c.yaml", "--allow-write", "c.yaml"], ["run", "c.yaml", "-o", "/proc/x.db"], ["run", "c.yaml", "--scratch", "/proc"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_mistakes_get_a_sentence_and_exit_status_2(pinsweep: Cli, tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "c.yaml").write_text(
        "schema: 1\ntitle: c\ntool: command\nfixed: {command: 'true', metrics: {m: {regex: '(1)'}}}\n"
    )

    done = pinsweep(*words)

    assert "Traceback" not in done.stderr
    assert "a bug in pinsweep" not in done.stderr
    assert "rror" in done.stderr
    assert done.returncode == 2 if words[0] != "parse" or words[1] == "nosuch" else done.returncode in (1, 2)
    assert [entry.name for entry in tmp_path.iterdir()] == ["c.yaml"]
