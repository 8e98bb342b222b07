"""No control character of a tool, a file, a host, a file name or an experiment reaches a terminal."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.model import Cell, Group, Place, Placement, PlannedRun, RunRecord, Skipped
from orchestrator.store.result_file import StoredCell, StoredExperiment, create_result
from reports.text.plain import csv_text, plain, printable
from tests.conftest import Cli

ROOT = Path(__file__).resolve().parents[2]

C1_AND_BIDI = "\x9b31m\x85\x90\x7f\u202e\u2066\u200f\u061c\u2028\u2029"
"""What YAML takes in a quoted text, too."""

PLANTED = f"\x1b]0;OWNED\x07\x1b[2J\x1b[35m\x08\r\v\f\x00{C1_AND_BIDI}x\n[FORGED]"
"""A window title, a cleared screen, a colour that pinsweep does not use, overstrikes, a line that looks like one of ours."""

OURS = re.compile(r"\x1b\[(?:(?:0|2|22|31|32|36|39|(?:1;)?(?:1|33|94|38;[\d;]+))?m|\?25[lh]|1A|2K|K)|\r(?=\n|\x1b)|\r$")
"""Colours of messages and of the bar, how the bar is moved, line ends as a terminal makes them."""

OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def assert_obeys_nothing(done: subprocess.CompletedProcess[str]) -> None:
    for said in (done.stdout, done.stderr):
        text = OURS.sub("", said)
        found = OBEYED.search(text)
        assert not found, (done.args, text[max(0, found.start() - 60) : found.end() + 20])
        assert "a bug in pinsweep" not in said


def assert_forges_nothing(done: subprocess.CompletedProcess[str]) -> None:
    for said in (done.stdout, done.stderr):
        assert not re.search(r"^\W{,3}FORGED", said, re.MULTILINE), (done.args, said)


@pytest.fixture
def strange(tmp_path: Path) -> Iterator[Path]:
    """A result file with PLANTED in every text that a stranger may choose."""
    x = PLANTED
    metrics = {"m": {"regex": "value ([0-9.]+)", "unit": "s", "better": "lower", "text": f"text{x}"}}
    path = tmp_path / "strange.db"
    with create_result(path) as result:
        session = result.begin_session(
            started_utc=f"2026-01-01T00:00:00+00:00{x}", version=f"0{x}", argv=[f"run{x}"], seed=7, host=f"host{x}",
            facts={"kernel": f"6{x}", "cpu_model": f"cpu{x}", "governor": f"g{x}", "tuned": f"t{x}"}, topology=f"<topology>{x}",
            programs={"command": {"name": f"echo{x}", "path": f"/bin/{x}", "version": f"1{x}", "sha256": f"0{x}", "stand_in": False}},
        )  # fmt: skip
        cells = [
            Cell(
                sweep=f"s{x}", tool="command", options={"command": f"echo {x}", f"n{x}": f"{n}{x}", "metrics": metrics},
                place=Place(name=f"place{x}", cpus=f"numa_node 0{x}"), axes=(f"n{x}", "place"),
            )
            for n in range(4)
        ]  # fmt: skip
        result.add_plan(
            session,
            StoredExperiment(sha256=f"ab{x}", path=f"e{x}.yaml", title=f"Title{x}", text=f"schema: 1\n{x}", about=f"about{x}"),
            [StoredCell(cell=cell, sweep_title=f"S{x}", repeats=1, experiment=f"ab{x}") for cell in cells],
            [Skipped(sweep=f"s{x}", cell={f"n{x}": f"9{x}"}, reason=f"no{x}")],
        )  # fmt: skip
        for number, (cell, status) in enumerate(zip(cells, ("ok", "failed", "disturbed", "misplaced"), strict=True)):
            placement = Placement(name=f"place{x}", groups=(Group(cpus=(0,), membind=(0,)),), relation=f"local{x}")
            planned = PlannedRun(
                sweep=cell.sweep, tool="command", cell=cell, repeat=1, argv=("echo",), env={}, placement=placement,
                timeout_s=1, nominal_s=1, estimate_s=1, program="echo",
            )  # fmt: skip
            record = RunRecord(
                run_id=0, point_id=cell.point_id, repeat=1, attempt=1, status=status, reason=f"reason{x}" if number else "",
                argv=("echo", x), env={f"A{x}": f"b{x}"}, placement=placement, seen=None, program=f"echo{x}", order_index=number,
                started_utc="2026-01-01T00:00:01+00:00", wall_s=0.5, exit_code=0, signal=None, usage={"user_s": 0.1}, session=session,
            )  # fmt: skip
            result.add_run(planned, record, {"stdout": f"{x}\nvalue 3\n{x}".encode(), "stderr": f"err{x}".encode()})
    return path


@pytest.mark.slow
def test_a_stranger_s_result_file_prints_nothing_that_a_terminal_obeys(
    pinsweep: Cli, tmp_path: Path, strange: Path
) -> None:
    named = tmp_path / f"named{PLANTED.replace(chr(0), '')}.db"
    named.write_bytes(strange.read_bytes())
    commands = [
        ["show"], ["show", "--runs"], *(["show", str(n)] for n in range(1, 5)), ["audit"], ["audit", "--format", "json"], ["export"],
        ["export", "--format", "openmetrics"], ["export", "--format", "json"], ["history"], ["fleet"], ["fleet", "--format", "json"],
        ["report", "-o", f"page{C1_AND_BIDI}.html"], ["compare", str(strange)], ["compare", str(strange), "--format", "github"],
        ["compare", str(strange), "--format", "json"], ["baseline", "add", f"base{C1_AND_BIDI}"],
    ]  # fmt: skip
    for first, *rest in commands:
        words = (first, *rest, str(named)) if first == "baseline" else (first, str(named), *rest)
        done = pinsweep(*words, terminal=True)
        assert_obeys_nothing(done)
        if "--format" not in rest and first != "export" and not (rest and rest[0].isdecimal()):
            assert_forges_nothing(done)  # `show RUN` quotes lines of the tool
    assert_obeys_nothing(pinsweep("baseline", "list", terminal=True))


def test_what_a_tool_prints_and_an_experiment_says_is_shown_not_obeyed(pinsweep: Cli, tmp_path: Path) -> None:
    tool = tmp_path / "tool.sh"
    escaped = "".join(f"\\{byte:03o}" for byte in PLANTED.encode())
    tool.write_text(f"#!/bin/sh\nprintf 'value 3{escaped}\\n'; printf 'sorry{escaped}' >&2; exit $1\n")
    tool.chmod(0o755)
    quoted = C1_AND_BIDI.encode("unicode_escape").decode()
    name = "e\x1b]0;X\x07\u202e.yaml"
    (tmp_path / name).write_text(f'''\
schema: 1
title: "title {quoted}"
about: "about {quoted}"
tool: command
fixed: {{command: "{tool} {{n}}", metrics: {{m: {{regex: "value (3)", unit: "u{quoted}"}}}}, timeout: 20}}
matrix: {{n: [0, 3], label: ["l{quoted}\\nFORGED"]}}
repeats: 1
''')
    for words in (
        ["plan", name], ["plan", name, "--format", "shell"], ["plan", name, "--format", "json"],
        ["run", name, "-o", "r\x9b2J.db"], ["run", name, "-o", "r\x9b2J.db", "--retry-failed"], ["show", "r\x9b2J.db"], ["show", "r\x9b2J.db", "2"],
    ):  # fmt: skip
        done = pinsweep(*words, terminal=True)
        assert_obeys_nothing(done)
        if words[-1] != "2":
            assert_forges_nothing(done)
    assert_obeys_nothing(pinsweep("show", "r\x9b2J.db", "1", "--raw", terminal=True))


@pytest.mark.parametrize(
    "words",
    [
        ["show", "none{}.db"], ["run", "none{}.yaml"], ["run{}"], ["show", "--no{}"], ["parse", "none{}"], ["report", "e.yaml", "-o", "f{}/p.html"],
        ["plan", "e.yaml", "--only", "s{}"], ["plan", "e.yaml", "--cells", "a{}=1"], ["plan", "e.yaml", "--topology", "pack{}"], ["init", "fio{}"],
        ["compare", "a{}.db", "b.db", "--threshold", "3{}"], ["baseline", "show", "b{}"], ["fleet", "no{}"], ["history", "no{}"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_is_typed_is_said_back_without_what_a_terminal_obeys(
    pinsweep: Cli, tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "e.yaml").write_text(
        "schema: 1\ntool: command\nfixed: {command: 'true', metrics: {m: {regex: '(1)'}}}\n"
    )
    planted = PLANTED.replace("\x00", "")

    done = pinsweep(*(word.replace("{}", planted) for word in words), terminal=True)

    assert done.returncode == 2
    assert "rror" in done.stderr
    assert_obeys_nothing(done)


def test_in_a_pipe_only_raw_and_json_are_what_they_are(pinsweep: Cli, tmp_path: Path, strange: Path) -> None:
    assert PLANTED.partition("\n")[0] in pinsweep("show", strange, "1", "--raw").stdout
    for words in (("show",), ("export",), ("export", "--shape", "wide"), ("report", "-o", "page.html")):
        assert_obeys_nothing(pinsweep(words[0], strange, *words[1:]))
    assert not OBEYED.search((tmp_path / "page.html").read_text().replace("\t", ""))


def test_all_that_is_printed_goes_through_one_module() -> None:
    """Nothing else calls print, click.echo, or writes to a standard stream."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in ("pinsweep", "reports", "orchestrator", "parsers")
        for path in sorted((ROOT / package).rglob("*.py"))
        # a student's script; and what says that nothing can be imported
        if str(path.relative_to(ROOT)) not in ("pinsweep/terminal.py", "reports/lab/plot.py", "pinsweep/__main__.py")
        if re.search(r"\b(print|s?echo|echo_via_pager|prompt|confirm)\(|\.write(lines)?\(", text := path.read_text())  # parsing is dear
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and re.fullmatch(
            r"print|s?echo|click\.(s?echo|echo_via_pager|prompt|confirm)|sys\.std(out|err)(\.buffer)?\.write(lines)?|os\.write\([012],.*",
            ast.unparse(node.func),
        )
    ]  # fmt: skip

    assert not found


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"), ("-a", "'-a"), ("@SUM(1)", "'@SUM(1)"), ("\t=1", "'\t=1"),
        ("-5", "-5"), ("+1e3", "+1e3"), ("a=1", "a=1"), ("", ""), ("\x1b[2J", "\ufffd[2J"),
    ],
)  # fmt: skip
def test_a_cell_of_csv_is_no_formula(text: str, cell: str) -> None:
    assert csv_text(text) == cell


def test_plain_keeps_lines_and_printable_does_not() -> None:
    assert plain("a\tb\r\nc\n") == "a\tb\nc\n"
    assert printable("a\tb\r\nc\n") == "a\ufffdb\ufffd\ufffdc\ufffd"
    assert plain("naïve µs × 3 → 😀") == "naïve µs × 3 → 😀"
    assert not OBEYED.search(plain(PLANTED))
    assert not OBEYED.search(printable(PLANTED))
    assert plain("a\udcffb") == printable("a\udcffb") == "a\ufffdb"
