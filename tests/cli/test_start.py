"""What starts with nothing but the program: help, init, doctor, schema; and what never happens: a traceback."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.tools import tool_names
from tests.conftest import Cli

PROJECT = Path(__file__).resolve().parents[2]
COMMANDS = ("doctor", "init", "plan", "run", "show", "parse", "export", "audit", "report", "schema")


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    shown, modules = _started("--help", at=tmp_path)

    assert not modules & {"pandas", "numpy", "yaml", "jinja2", "vl_convert", "scipy", "rich"}
    assert not modules & {"dataclasses", "decimal", "difflib", "hashlib", "json", "sqlite3", "subprocess"}
    ours = {name for name in modules if name.startswith(("orchestrator", "parsers.", "reports."))}
    assert ours == {"parsers.errors", "parsers.extensions", "reports.text", "reports.text.plain"}
    assert all(f"  {command} " in shown for command in COMMANDS)


def test_nothing_of_click_is_used_that_8_1_lacks() -> None:
    """pyproject.toml asks for 8.1 or newer; the tests run on the one that is locked. Types that are subscripted were new in 8.4."""
    later = r"\bclick\.(ParamType\[|NoSuchCommand|ParameterSource|get_pager_file|custom_version_option)|\bNoArgsIsHelpError|\bUNSET\b|@add_completion_class"
    found = {
        path.name: used
        for path in (PROJECT / "pinsweep").rglob("*.py")
        if (used := re.findall(later, path.read_text()))
    }

    assert '"click>=8.1"' in (PROJECT / "pyproject.toml").read_text()
    assert not found


@pytest.mark.slow
def test_what_starts_does_without_pandas(tmp_path: Path) -> None:
    """plan, run with its progress and its summary, show and doctor: nothing that groups or draws is imported."""
    metrics = "metrics: {m: {regex: '(1)', unit: s}}"
    (tmp_path / "c.yaml").write_text(
        f"schema: 1\ntitle: c\ntool: command\nfixed: {{command: 'echo 1', {metrics}}}\nrepeats: 1\n"
    )
    program = (
        "import sys\n"
        "from pinsweep.__main__ import main\n"
        "for words in sys.argv[1:]:\n"
        "    sys.argv = ['pinsweep', *words.split()]\n"
        "    try: main()\n"
        "    except SystemExit as end: assert end.code in (None, 0, 1), end.code\n"
        "    heavy = {'pandas', 'numpy', 'scipy', 'jinja2', 'vl_convert'} & set(sys.modules)\n"
        "    assert not heavy, (words, heavy)"
    )
    commands = ("plan c.yaml", "run c.yaml -o c.db", "show c.db", "show c.db 1", "doctor")
    done = subprocess.run(
        [sys.executable, "-c", program, *commands], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 0, done.stderr
    assert "[1/1] c  (one cell)  m 1 s" in done.stderr
    assert "\nNoise\n" in done.stdout


def test_a_plan_imports_nothing_that_only_a_run_needs(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "schema: 1\ntitle: c\ntool: command\nfixed: {command: 'echo 1', metrics: {m: {regex: '(1)', unit: s}}}\n"
    )

    shown, modules = _started("plan", "c.yaml", at=tmp_path)

    assert "1 cell, 3 runs" in shown
    assert not modules & {"sqlite3", "difflib", "parsers.measurement", "parsers.text", "reports.numbers"}
    assert not modules & {f"orchestrator.run.{name}" for name in ("execute", "process", "resume", "watchdog")}
    assert not modules & {f"orchestrator.machine.{name}" for name in ("devices", "facts", "synthetic")}
    stores = {name for name in modules if name.startswith("orchestrator.store")}
    assert stores == {"orchestrator.store", "orchestrator.store.limits"}


def _started(*words: str, at: Path) -> tuple[str, set[str]]:
    """Return what a command prints, and the modules that were imported for it."""
    program = (
        "import sys\n"
        "from pinsweep.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "print(*sys.modules, sep='\\n', file=open('modules', 'w'))"
    )
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, cwd=at)
    assert done.returncode == 0, done.stderr
    return done.stdout, set((at / "modules").read_text().split())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_ends_in_an_example(pinsweep: Cli, command: str) -> None:
    done = pinsweep(command, "--help")

    assert done.returncode == 0
    assert f"Example: pinsweep {command}" in done.stdout.strip().splitlines()[-1] or "Example:" in done.stdout


@pytest.mark.parametrize("tool", [*tool_names(), "fio-iodepth"])
def test_what_init_prints_can_be_planned(pinsweep: Cli, tmp_path: Path, tool: str) -> None:
    made = pinsweep("init", tool, "-o", "mine.yaml")
    plan = pinsweep("plan", "mine.yaml", "--format", "json", "--topology", "pack:2 numa:1 l3:1(size=8MB) core:4 pu:2")

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
        ["run", "c.yaml", "--allow-write", "c.yaml"], ["run", "c.yaml", "-o", "/proc/x.db"], ["run", "c.yaml", "--scratch", "/proc/nosuch"],
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


@pytest.mark.parametrize(
    ("words", "says", "hint"),
    [
        ("shwo x.db", "shwo: no such command", "did you mean 'show'? `pinsweep --help` lists them"),
        ("baseline ad", "ad: no such command", "did you mean 'add'? `pinsweep baseline --help` lists them"),
        ("show --rwas", "--rwas: no such option of pinsweep show", "did you mean '--raw' or '--runs'? `pinsweep show --help` lists them"),
        ("show", "RESULT: is missing", "pinsweep show [OPTIONS] RESULT [RUN]"),
        ("show x.db 1 2", "show: got unexpected extra argument (2)", "pinsweep show [OPTIONS] RESULT [RUN]"),
        ("export x.db --format xml", "--format: 'xml' is not one of 'csv', 'parquet', 'json', 'openmetrics'", "`pinsweep export --help` says more"),
        ("show x.db --raw", "show: --raw needs the number of a run (pinsweep show RESULT --runs lists them)", "pinsweep show [OPTIONS] RESULT [RUN]"),
        ("report x.db -o", "option '-o' requires an argument", "`--help` says more"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_command_line_is_told_as_others_are(words: str, says: str, hint: str, called: Cli) -> None:
    done = called(*words.split())

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {says}\nhint: {hint}\n"


def test_names_that_are_not_utf_8_get_a_sentence_or_are_kept_as_far_as_they_can_be_read(
    pinsweep: Cli, tmp_path: Path
) -> None:
    text = "schema: 1\ntool: command\nfixed: {command: '{p} 7', metrics: {m: {regex: '(7)'}}}\nmatrix: {p: [echo, nosuchprogram]}\nrepeats: 1\n"
    odd = os.fsdecode(b"caf\xe9")
    for name in ("plain.yaml", f"{odd}.yaml"):
        (tmp_path / name).write_text(text)
    (tmp_path / odd).mkdir()

    refused = pinsweep("run", f"{odd}.yaml", "-o", "refused.db")
    kept = pinsweep("run", "plain.yaml", "-o", "kept.db", "--scratch", odd)

    assert (refused.returncode, "the file's name is not UTF-8" in refused.stderr) == (2, True)
    assert kept.returncode == 0, kept.stderr
    assert "skipped  plain  p=nosuchprogram: nosuchprogram: no program of that name" in kept.stderr
    with sqlite3.connect(tmp_path / "kept.db") as db:
        ((argv,),) = db.execute("SELECT argv FROM session")
    assert json.loads(argv)[-1] == "caf\ufffd"


def test_an_output_never_replaces_what_it_is_made_of(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "schema: 1\ntitle: c\ntool: command\nfixed: {command: 'echo 1', metrics: {m: {regex: '(1)'}}}\nrepeats: 1\n"
    )
    pinsweep("run", "c.yaml", "-o", "c.db")
    before = (tmp_path / "c.db").read_bytes()
    (tmp_path / "link.db").symlink_to("c.db")

    for words in (["report", "c.db", "-o", "c.db"], ["export", "c.db", "-o", "link.db"]):
        done = pinsweep(*words)
        assert done.returncode == 2
        assert "it would be replaced" in done.stderr
    assert (tmp_path / "c.db").read_bytes() == before


def test_a_damaged_result_is_said_to_be_damaged(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "schema: 1\ntitle: c\ntool: command\nfixed: {command: 'echo 1', metrics: {m: {regex: '(1)'}}}\nrepeats: 1\n"
    )
    pinsweep("run", "c.yaml", "-o", "c.db")
    data = bytearray((tmp_path / "c.db").read_bytes())
    for offset in range(4096, len(data), 4096):
        data[offset : offset + 512] = os.urandom(512)
    (tmp_path / "c.db").write_bytes(data)

    for words in (
        ["show", "c.db"],
        ["export", "c.db"],
        ["report", "c.db", "-o", "c.html"],
        ["run", "c.yaml", "-o", "c.db"],
    ):
        done = pinsweep(*words)
        assert done.returncode in (1, 2)
        assert "a bug in pinsweep" not in done.stderr
        assert "c.db" in done.stderr


def test_a_full_standard_output_is_no_bug(pinsweep: Cli, tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "pinsweep", "schema"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "bug" not in done.stderr
