"""What one cell is: runs that stand under one label were measured in one way. Real runs, into one file again and again."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from orchestrator.machine import probe
from tests.conftest import Cli

CPUS = sorted(os.sched_getaffinity(0))
TWO_CPUS = pytest.mark.skipif(len(CPUS) < 2, reason="the machine has one CPU")

PLACED = """\
schema: 1
title: Placed
tool: command
fixed:
  command: echo value 7.0625
  metrics: {reply: {regex: "value ([0-9.]+)", unit: ms, better: lower}}
  place: {name: here, cpus: all, memory: any}
repeats: 1
"""

TWO_NAMES = f"""\
schema: 1
title: Two names
tool: command
fixed:
  command: echo value 7.0625
  metrics: {{reply: {{regex: "value ([0-9.]+)", unit: ms, better: lower}}}}
matrix:
  place:
    - {{name: by number, cpus: "pu {CPUS[0]}", memory: any}}
    - {{name: by core, cpus: core 0, memory: any}}
repeats: 2
"""

POKE = """\
schema: 1
title: Poke
tool: poke
fixed: {target: memory, bytes: 1MB, count: 2000}
matrix: {op: [read, write]}
repeats: 2
"""


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as db:
        return db.execute(query).fetchall()


def change_facts(path: Path, **values: object) -> None:
    """Let the first session of a file have been of another machine."""
    with sqlite3.connect(path) as db:
        (text,) = db.execute("SELECT facts FROM session WHERE session = 1").fetchone()
        facts = {**json.loads(text), **values}
        db.execute("UPDATE session SET facts = ? WHERE session = 1", (json.dumps(facts),))


def again(repeats: int) -> str:
    return PLACED.replace("repeats: 1", f"repeats: {repeats}")


@TWO_CPUS
def test_other_cpus_are_refused_or_begin_a_cell_of_their_own(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(again(2))
    assert pinsweep("run", "a.yaml", "-o", "r.db").returncode == 0
    (tmp_path / "a.yaml").write_text(again(3))
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CPUS[0]})  # what `taskset -c 0 pinsweep …` does
    try:
        refused = pinsweep("run", "a.yaml", "-o", "r.db")
        planned = pinsweep("plan", "a.yaml", "-o", "r.db")
        anew = pinsweep("run", "a.yaml", "-o", "r.db", "--as-new")
        goes_on = pinsweep("run", "a.yaml", "-o", "r.db")
    finally:
        os.sched_setaffinity(0, everywhere)
    back = pinsweep("run", "a.yaml", "-o", "r.db")

    for said in (refused, planned):
        assert said.returncode == 2
        assert f"CPU {CPUS[0]}" in said.stderr
        assert "--as-new" in said.stderr
    assert anew.returncode == goes_on.returncode == back.returncode == 0, anew.stderr + goes_on.stderr + back.stderr
    assert "3 ok" in anew.stderr
    assert "nothing to do, 3 done before" in goes_on.stderr
    assert "1 ok, 2 done before" in back.stderr
    groups = rows(tmp_path / "r.db", "SELECT point_id, count(*), count(DISTINCT placement) FROM run GROUP BY point_id")
    assert sorted(group[1:] for group in groups) == [(3, 1), (3, 1)]
    shown = pinsweep("show", "r.db").stdout
    assert f" CPU {CPUS[0]} " in shown
    assert " no " in shown


def test_what_began_anew_asks_for_no_more_runs_of_before(pinsweep: Cli, tmp_path: Path) -> None:
    """They lacked for ever, "to go on" did nothing, and a host of a sweep of many was never done."""
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 7; [ $1 = 1 ] || [ -e good ]\n")
    tool.chmod(0o755)
    text = f"schema: 1\ntool: command\nfixed: {{command: '{tool} {{x}}', metrics: {{n: {{regex: '([0-9]+)'}}}}}}\nmatrix: {{x: [1, 2]}}\nrepeats: 2\n"
    (tmp_path / "a.yaml").write_text(text)
    assert pinsweep("run", "a.yaml", "-o", "r.db").returncode == 1  # x=2 fails
    before = tool.read_text()
    tool.write_text(f"{before}exit 0\n")
    asked = "SELECT instr(options, 'as-new') > 0, json_extract(options, '$.x'), repeats FROM point ORDER BY 1, 2"

    assert pinsweep("run", "a.yaml", "-o", "r.db", "--as-new").returncode == 0
    then = rows(tmp_path / "r.db", asked)
    tool.write_text(before)
    (tmp_path / "good").touch()
    assert pinsweep("run", "a.yaml", "-o", "r.db", "--retry-failed").returncode == 0

    assert then == [(0, 1, 2), (0, 2, 0), (1, 1, 2), (1, 2, 2)]
    assert rows(tmp_path / "r.db", asked) == [(0, 1, 2), (0, 2, 2), (1, 1, 2), (1, 2, 2)]
    assert "not started" not in pinsweep("show", "r.db").stdout


@TWO_CPUS
def test_a_cell_without_a_place_is_of_the_cpus_that_it_was_free_to_run_on(pinsweep: Cli, tmp_path: Path) -> None:
    text = "schema: 1\ntool: command\nfixed: {command: nproc, metrics: {cpus: {regex: '([0-9]+)'}}}\nrepeats: %d\n"
    (tmp_path / "a.yaml").write_text(text % 1)
    assert pinsweep("run", "a.yaml", "-o", "r.db").returncode == 0
    (tmp_path / "a.yaml").write_text(text % 2)
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {CPUS[0]})
    try:
        refused = pinsweep("run", "a.yaml", "-o", "r.db")
        anew = pinsweep("run", "a.yaml", "-o", "r.db", "--as-new")
    finally:
        os.sched_setaffinity(0, everywhere)
    back = pinsweep("run", "a.yaml", "-o", "r.db")

    assert refused.returncode == 2
    assert anew.returncode == back.returncode == 0, anew.stderr + back.stderr
    assert len(rows(tmp_path / "r.db", "SELECT DISTINCT point_id FROM run")) == 2


def test_axis_values_of_another_kernel_do_not_join_the_sweep(pinsweep: Cli, tmp_path: Path) -> None:
    """One line of a chart is of one machine: a cell that is new is not, where its siblings are of another kernel."""
    text = PLACED.replace("value 7.0625", "value {n}") + "matrix: {n: [1]}\n"
    (tmp_path / "a.yaml").write_text(text)
    pinsweep("run", "a.yaml", "-o", "r.db")
    change_facts(tmp_path / "r.db", kernel="5.10")
    (tmp_path / "a.yaml").write_text(text.replace("[1]", "[1, 2]"))

    refused = pinsweep("run", "a.yaml", "-o", "r.db")
    (tmp_path / "b.yaml").write_text(text)
    another_sweep = pinsweep("run", "b.yaml", "-o", "r.db")

    assert refused.returncode == 2
    assert another_sweep.returncode == 0


def test_another_program_behind_a_command_is_refused(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "speak"

    def install(value: int) -> None:
        program.write_text(f"#!/bin/sh\necho value {value}\n")
        program.chmod(0o755)

    path = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    (tmp_path / "a.yaml").write_text(again(1).replace("echo value 7.0625", "speak"))
    install(1)
    first = pinsweep("run", "a.yaml", "-o", "r.db", env=path)
    install(2)
    done = pinsweep("run", "a.yaml", "-o", "r.db", env=path)
    (tmp_path / "a.yaml").write_text(again(2).replace("echo value 7.0625", "speak"))

    refused = pinsweep("run", "a.yaml", "-o", "r.db", env=path)
    anew = pinsweep("run", "a.yaml", "-o", "r.db", "--as-new", env=path)
    install(1)
    back = pinsweep("run", "a.yaml", "-o", "r.db", env=path)

    assert first.returncode == 0, first.stderr
    assert done.returncode == 0
    assert "another setting" in done.stderr
    assert "nothing to do, 1 done before" in done.stderr
    assert "another setting" not in first.stderr + back.stderr
    assert refused.returncode == 2
    assert f"{program}: sha256" in refused.stderr
    assert anew.returncode == 0, anew.stderr
    assert "as-new=speak " in anew.stderr.replace("\n", " ")
    assert "1 ok, 1 done before" in back.stderr


@pytest.mark.slow
def test_a_fixed_option_that_changed_labels_the_cells(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(POKE)
    assert pinsweep("run", "p.yaml", "-o", "p.db").returncode == 0
    (tmp_path / "p.yaml").write_text(POKE.replace("2000", "100"))
    assert "4 ok" in pinsweep("run", "p.yaml", "-o", "p.db").stderr

    shown = pinsweep("show", "p.db").stdout
    page = pinsweep("report", "p.db", "-o", "p.html", "--static")
    exported = json.loads(pinsweep("export", "p.db", "--format", "json").stdout)

    lines = [line for line in shown.splitlines() if "read" in line or "write" in line]
    assert len(lines) == len(set(lines)) >= 4, shown
    assert sum("2000" in line for line in lines) == 2
    assert sum("100 " in line or "100\t" in line for line in lines) >= 2
    assert {row["count"] for row in exported} == {100, 2000}
    assert page.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("value 7", "value 8", ["echo value 7.0625", "echo value 8.0625"]),
        ("unit: ms", "unit: s", ["ms", "s"]),
        ("cpus: all", f"cpus: pu {CPUS[0]}", ["all", f"pu {CPUS[0]}"]),
        ("repeats: 1", "repeats: 1\nmatrix: {n: [1]}", ["1"]),
    ],
)
def test_whatever_was_edited_tells_the_cells_apart(
    before: str, after: str, told: list[str], pinsweep: Cli, called: Cli, tmp_path: Path
) -> None:
    """A command, how its output is read, a place that kept its name, an option that is new."""
    (tmp_path / "a.yaml").write_text(PLACED)
    pinsweep("run", "a.yaml", "-o", "a.db")
    (tmp_path / "a.yaml").write_text(PLACED.replace(before, after))
    pinsweep("run", "a.yaml", "-o", "a.db")

    cells = json.loads(called("show", "a.db", "--format", "json").stdout)["cells"]
    exported = json.loads(called("export", "a.db", "--format", "json").stdout)
    metrics = called("export", "a.db", "--openmetrics").stdout

    labels = [" ".join(str(value) for axis, value in cell["labels"].items() if axis != "place") for cell in cells]
    assert len(set(labels)) == len(labels) == 2
    assert set(told) <= set(labels)
    assert len({json.dumps({**row, "point_id": 0, "run_id": 0, "session": 0, "value": 0}) for row in exported}) == 2
    samples = [line.rpartition(" ")[0] for line in metrics.splitlines() if line.startswith("pinsweep_command_reply")]
    assert len(set(samples)) == len(samples) == 2, metrics


@pytest.fixture
def one_pu_core() -> None:
    if probe.read_topology().cores[0].cpus != (CPUS[0],):
        pytest.skip("the first core has several PUs")


def test_two_places_of_the_same_cpus_are_one_cell(
    one_pu_core: None, pinsweep: Cli, called: Cli, tmp_path: Path
) -> None:
    (tmp_path / "t.yaml").write_text(TWO_NAMES)
    planned = called("plan", "t.yaml")
    listed = json.loads(called("plan", "t.yaml", "--format", "json").stdout)
    ran = pinsweep("run", "t.yaml", "-o", "t.db", "--strict")

    assert {run["labels"]["place"] for run in listed["runs"]} == {"by number"}
    assert [alias["labels"] for alias in listed["aliases"]] == [{"place": "by core"}]
    assert ran.returncode == 0
    assert "2 ok" in ran.stderr
    for text in (planned.stderr, ran.stderr):
        assert "place=by core is place=by number" in text


def test_a_file_with_both_names_has_one_cell_on_the_page(
    one_pu_core: None, pinsweep: Cli, called: Cli, tmp_path: Path
) -> None:
    """As files of earlier versions have them: each name its own point, with runs of its own."""
    for name, file in (("by number", "t.db"), ("by core", "u.db")):
        kept = [line for line in TWO_NAMES.splitlines() if "name: by" not in line or f"name: {name}" in line]
        (tmp_path / "t.yaml").write_text("\n".join(kept) + "\n")
        assert pinsweep("run", "t.yaml", "-o", file).returncode == 0
    with sqlite3.connect(tmp_path / "t.db") as db:
        db.execute("ATTACH ? AS u", (str(tmp_path / "u.db"),))
        for table in ("experiment", "point", "run", "output"):
            db.execute(f"CREATE TEMP TABLE moved AS SELECT * FROM u.{table}")
            if table in ("run", "output"):
                db.execute("UPDATE moved SET run_id = run_id + 100")
            db.execute(f"INSERT INTO {table} SELECT * FROM moved")
            db.execute("DROP TABLE moved")

    called("report", "t.db", "-o", "t.html", "--static")
    exported = json.loads(called("export", "t.db", "--format", "json").stdout)

    assert {(row["place"], row["repeat"]) for row in exported} == {("by number", n) for n in (1, 2, 3, 4)}
