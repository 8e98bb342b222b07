"""What programs read: every answer in JSON is as its schema says, so are errors and events; and eight tasks, done without a regex."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from orchestrator.cluster.folder import Sweep, digest, make
from orchestrator.model import Cell, PlannedRun, RunRecord, Status
from orchestrator.run.events import Ended, Holder, Waiting
from orchestrator.store.result_file import MAGIC
from pinsweep import __version__
from pinsweep.cli import cli
from reports import schemas
from reports.export.events import of_sweep
from reports.text.json_text import json_line
from tests.conftest import Cli
from tests.programs import ROOT

STREAM = ROOT / "tests/fixtures/stream/pinsweep_0.1_two_threads.out"

SWEEP = """\
schema: 1
title: A program of the user's
tool: command
fixed:
  command: "sh rate.sh {level}"
  metrics: {rate: {regex: 'rate ([0-9.]+) MB/s', unit: MB/s, better: higher}}
matrix:
  level: [1, 2, 3]
repeats: 4
"""
FAILS = SWEEP.replace("[1, 2, 3]", "[1, nothing]").replace("repeats: 4", "repeats: 1")
ELSEWHERE = SWEEP.replace("level: [1, 2, 3]", "level: [1]\n  place: [core 0, numa_node 77]")
BROKEN = """\
schema: 1
tool: fio
fixed: {iodpeth: 4}
matrix: {rw: [read, rnadwrite]}
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, starter: Cli) -> Path:
    """A folder with experiments; a.db and b.db, where level 3 is 40 % slower; failed.db; hosts/ with a file of each host."""
    folder = tmp_path_factory.mktemp("recorded")
    for name, text in (("sweep", SWEEP), ("fails", FAILS), ("elsewhere", ELSEWHERE), ("broken", BROKEN)):
        (folder / f"{name}.yaml").write_text(text)
    (folder / "rate.sh").write_text('cat "rate-$1"\n')

    def run(name: str, experiment: str, *more: str) -> None:
        words = ["run", f"{experiment}.yaml", "-o", f"{name}.db", "--allow-disturbed", *more]
        starter(words, cwd=folder, env=os.environ, given="")

    for name, slow in (("a", 1.0), ("b", 0.6)):
        for level in (1, 2, 3):
            (folder / f"rate-{level}").write_text(f"rate {400 / level * (slow if level == 3 else 1):.3f} MB/s\n")
        run(name, "sweep")
    run("failed", "fails")
    with sqlite3.connect(folder / "b.db") as db:
        db.execute("UPDATE session SET host = ?", ("n7\x1b]0;x\x07\x9b\u202e",))
    hosts = folder / "hosts"
    hosts.mkdir()
    for number in range(1, 10):
        for day in (1, 2, 3):
            path = hosts / f"n{number:02}-{day}.db"
            shutil.copy(folder / "a.db", path)
            _renamed(path, f"n{number:02}", day, slow=number == 4)
    return folder


def _renamed(path: Path, host: str, day: int, *, slow: bool) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE session SET host = ?, started_utc = ?", (host, f"2026-03-{day:02}T03:00:00+00:00"))
        db.execute("UPDATE reading SET version = 0")
        for (run,) in db.execute("SELECT run_id FROM run").fetchall():
            text = f"rate {100 * (1 + run % 3 / 1000) * (0.8 if slow else 1):.3f} MB/s\n".encode()
            changed = (zlib.compress(text), len(text), run)
            db.execute("UPDATE output SET zlib = ?, size_bytes = ? WHERE run_id = ? AND stream = 'stdout'", changed)


@pytest.fixture
def here(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own with all of it."""
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    shutil.copy(STREAM, tmp_path / "stream.txt")
    monkeypatch.setenv("PINSWEEP_BASELINES", str(tmp_path / "baselines"))
    return tmp_path


def closed(schema: Any) -> Any:
    """Return a schema that forbids what it does not describe: nothing that a command prints is left undescribed."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    within = {name: closed(item) for name, item in schema.items()}
    return {"additionalProperties": False, **within} if "properties" in schema else within


def checked(name: str, text: str) -> Any:
    """Read an answer, and hold it against its schema; a terminal that shows it obeys nothing."""
    assert text.replace("\n", "").isprintable()
    read = json.loads(text)
    jsonschema.Draft202012Validator(closed(schemas.schema(name))).validate(read)
    return read


# --- schemas -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", schemas.names())
def test_a_schema_is_valid(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schemas.schema(name))


def test_every_command_that_answers_has_json_and_a_schema() -> None:
    import click

    def leaves(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            context = click.Context(command)
            for sub in command.list_commands(context):
                found = command.get_command(context, sub)
                assert found is not None
                yield from leaves(found, f"{name}-{sub}" if name else sub)
        else:
            yield name, command

    with_json = {
        name
        for name, command in leaves(cli, "")
        for option in command.params
        if option.name == "form" and isinstance(option.type, click.Choice) and "json" in option.type.choices
    }
    every = {name for name, _ in leaves(cli, "")}
    assert every - with_json == {"completion", "schema"}  # a shell's script, and JSON as it is
    assert with_json <= {*schemas.names()}


ANSWERS: Mapping[str, tuple[str, int, tuple[str, ...]]] = {
    "init --list": ("init", 0, ("init", "--list")),
    "plan": ("plan", 0, ("plan", "sweep.yaml")),
    "show": ("show", 0, ("show", "a.db")),
    "show, failed": ("show", 0, ("show", "failed.db")),
    "show RUN": ("show-run", 0, ("show", "a.db", "2")),
    "parse": ("parse", 2, ("parse", "stream.txt", "gone.txt")),
    "parse -o": ("parse-into", 0, ("parse", "stream.txt", "-o", "taken.db")),
    "export": ("export", 0, ("export", "a.db", "failed.db")),
    "export wide": ("export", 0, ("export", "a.db", "--shape", "wide")),
    "audit": ("audit", 0, ("audit", "a.db")),
    "doctor --restore": ("doctor-restore", 0, ("doctor", "--restore")),
    "report": ("report", 0, ("report", "a.db", "-o", "a.html")),
    "compare": ("compare", 0, ("compare", "a.db", "b.db")),
    "compare, one level": ("compare", 0, ("compare", "a.db", "--by", "level=1,2")),
    "baseline add": ("baseline-add", 0, ("baseline", "add", "good", "a.db", "b.db")),
    "fleet": ("fleet", 1, ("fleet", "hosts")),
    "compare, better": ("compare", 0, ("compare", "b.db", "a.db", "--all")),
    "baseline list": ("baseline-list", 0, ("baseline", "list")),
    "kernels build": ("kernels-build", 0, ("kernels", "build")),
    "history": ("history", 0, ("history", "hosts")),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_an_answer_is_as_its_schema_says(case: str, called: Cli, here: Path) -> None:
    name, status, words = ANSWERS[case]

    done = called(*words, "--format", "json")

    assert done.returncode == status, done.stderr
    checked(name, done.stdout)


def test_a_baseline_is_shown_and_removed_as_its_schema_says(called: Cli, here: Path) -> None:
    called("baseline", "add", "good", "a.db", "b.db")

    shown = checked("baseline-show", called("baseline", "show", "good", "--format", "json").stdout)
    removed = checked("baseline-remove", called("baseline", "remove", "good", "--format", "json").stdout)

    assert len(shown["files"]) == 2
    assert removed == {"name": "good", "files_removed": 2}


def test_the_machine_is_told_as_its_schema_says(called: Cli) -> None:
    done = called("doctor", "--format", "json")

    told = checked("doctor", done.stdout)
    assert done.returncode == (0 if told["ready"] else 1)
    assert told["quiet"] == all(found["level"] != "warn" for found in told["noise"])


def test_what_a_sweep_did_is_told(pinsweep: Cli, here: Path) -> None:
    done = pinsweep("run", "fails.yaml", "-o", "again.db", "--allow-disturbed", "--format", "json")

    told = checked("run", done.stdout)
    assert done.returncode == told["exit_status"] == 1
    assert told["counts"] == {"failed": 1, "ok": 1}
    assert [run["labels"] for run in told["failed"]] == [{"level": "nothing"}]
    again = pinsweep("run", "fails.yaml", "-o", "again.db", "--allow-disturbed", "--format", "json", "-q")
    assert checked("run", again.stdout)["failed_before"] == 1


def test_a_sweep_that_cannot_run_here_is_told(pinsweep: Cli, here: Path) -> None:
    (here / "far.yaml").write_text(ELSEWHERE.replace("core 0, ", ""))

    done = pinsweep("run", "far.yaml", "-o", "far.db", "--format", "json")

    told = checked("run", done.stdout)
    assert done.returncode == told["exit_status"] == 1
    assert [cell["labels"] for cell in told["skipped"]] == [{"level": 1, "place": "numa_node 77"}]


def test_what_became_of_hosts_is_told(called: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("squeue", "sinfo"):
        (here / name).write_text("#!/bin/sh\n")
        (here / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")
    text = (here / "sweep.yaml").read_text()
    sweep = Sweep(
        id="3f9a12bc", folder=str(here / "acc"), via="slurm", hosts=("n1", "n2"), experiments={"sweep.yaml": digest(text)},
        words=(), user="bench", version=__version__, python="/opt/pinsweep/bin/python",
    )  # fmt: skip
    make(sweep, {"sweep.yaml": text}, "")

    done = called("status", "acc", "--format", "json")

    told = checked("status", done.stdout)
    assert done.returncode == told["exit_status"] == 1
    assert {host: one["state"] for host, one in told["hosts"].items()} == {"n1": "skipped", "n2": "skipped"}


def test_what_many_hosts_would_do_is_told(called: Cli, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--nodes", "n1", "--via", "ssh", "-o", "acc/")
    (here / "ssh").write_text("#!/bin/sh\nexit 255\n")
    (here / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{here}{os.pathsep}{os.environ['PATH']}")

    told = checked("plan-nodes", called("plan", "sweep.yaml", *words, "--format", "json").stdout)

    assert {*told["hosts"]} == {"n1"}
    assert told["job"].startswith("#!/")


def test_a_host_is_sound(pinsweep: Cli, here: Path) -> None:
    (here / "one.yaml").write_text(SWEEP.replace("[1, 2, 3]", "[1]").replace("sh rate.sh", f"sh {here}/rate.sh"))
    (here / "rate.sh").write_text(f'cat "{here}/rate-$1"\n')

    done = pinsweep("check", "one.yaml", "--allow-disturbed", "--format", "json")

    assert (done.returncode, checked("check", done.stdout)["status"]) == (0, "ok"), done.stderr


# --- errors ------------------------------------------------------------------------------------------------

ERRORS: Mapping[str, tuple[int, str, tuple[str, ...]]] = {
    "an option": (2, "usage", ("show", "a.db", "--format=json", "--nonsense")),
    "no file": (2, "mistake", ("show", "gone.db", "--format", "json")),
    "no run": (2, "mistake", ("show", "a.db", "99", "--format", "json")),
    "not a result": (2, "mistake", ("audit", "sweep.yaml", "--format", "json")),
    "a command": (2, "usage", ("--format", "json", "paln")),
}


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_is_an_object_where_json_was_asked_for(case: str, called: Cli, here: Path) -> None:
    status, code, words = ERRORS[case]

    done = called(*words)

    assert done.returncode == status
    assert [error["code"] for error in checked("error", done.stdout)["errors"]] == [code]
    assert done.stderr  # for people, as ever


def test_every_mistake_of_an_experiment_says_where(called: Cli, here: Path) -> None:
    found = checked("error", called("plan", "broken.yaml", "--format", "json").stdout)["errors"]

    assert [(e["file"], e["line"], e["column"], e["key"], e["hint"]) for e in found] == [
        ("broken.yaml", 3, 9, "fixed.iodpeth", "did you mean 'iodepth'?"),
        ("broken.yaml", 4, 21, "matrix.rw", "did you mean 'randwrite'?"),
    ]


def test_without_json_an_error_is_for_people_alone(called: Cli, here: Path) -> None:
    done = called("plan", "broken.yaml")

    assert done.stdout == ""
    assert done.stderr.startswith("error: broken.yaml:3:9: ")


# --- events ------------------------------------------------------------------------------------------------


def events(text: str) -> list[dict[str, Any]]:
    """Read lines of events, each as the schema says, all in ASCII."""
    assert text.isascii()
    assert text.endswith("\n")
    return [checked("run-events", line) for line in text.splitlines()]


def test_each_run_is_told_when_it_starts_and_ends(pinsweep: Cli, here: Path) -> None:
    done = pinsweep("run", "fails.yaml", "-o", "e.db", "--allow-disturbed", "--no-warm-up", "--events", "ndjson")

    told = events(done.stdout)
    kinds = [event["event"] for event in told]
    assert kinds == ["planned", "started", "ended", "started", "ended", "done"]
    by_level = {event["labels"]["level"]: event for event in told if event["event"] == "ended"}
    assert by_level[1]["status"] == "ok"
    assert by_level[1]["leading"] == {"unit": "B/s", "value": 400e6}
    assert (by_level["nothing"]["status"], by_level["nothing"]["leading"]) == ("failed", None)
    assert by_level["nothing"]["reason"]
    assert told[-1]["exit_status"] == done.returncode == 1
    shown = checked("show", pinsweep("show", "e.db", "--format", "json").stdout)
    assert {run["run"]: run["point_id"] for run in shown["runs"]} == {
        event["run"]: event["point_id"] for event in by_level.values()
    }


def test_events_go_to_a_file_and_the_summary_to_standard_output(pinsweep: Cli, here: Path) -> None:
    words = ("run", "sweep.yaml", "--cells", "level=1", "--repeats", "1", "-o", "e.db", "--allow-disturbed")

    done = pinsweep(*words, "--events", "ndjson", "--events-to", "new/e.ndjson", "--format", "json")

    assert events((here / "new/e.ndjson").read_text())[-1]["exit_status"] == done.returncode == 0
    assert checked("run", done.stdout)["counts"] == {"ok": 1}


@pytest.mark.parametrize("name", ["old.db", "sweep.yaml", "link", "new.db"])
def test_events_replace_no_results_and_no_experiment(pinsweep: Cli, here: Path, name: str) -> None:
    """The file was opened unlooked at: a result file that was named by mistake was empty then."""
    (here / "old.db").write_bytes(MAGIC + b"results")
    (here / "link").symlink_to("old.db")
    before = {path: path.read_bytes() for path in here.iterdir() if path.is_file()}

    done = pinsweep("run", "sweep.yaml", "-o", "new.db", "--events", "ndjson", "--events-to", name)

    assert done.returncode == 2
    assert done.stderr.endswith("hint: name another file with --events-to\n")
    assert {path: path.read_bytes() for path in here.iterdir() if path.is_file()} == before


def test_a_mistake_is_an_event(pinsweep: Cli, here: Path) -> None:
    done = pinsweep("run", "broken.yaml", "-o", "e.db", "--events", "ndjson")

    assert done.returncode == 2
    assert [(event["event"], event["line"]) for event in events(done.stdout)] == [("error", 3), ("error", 4)]


@pytest.mark.slow
def test_a_reader_that_goes_away_does_not_end_the_sweep(start: Callable[..., Any], here: Path) -> None:
    process = start("run", "sweep.yaml", "-o", "e.db", "--allow-disturbed", "-q", "--events", "ndjson")
    assert checked("run-events", process.stdout.readline())["event"] == "planned"
    process.stdout.close()

    assert process.wait() == 0, process.stderr.read()
    assert process.stderr.read() == ""
    with sqlite3.connect(here / "e.db") as db:
        assert db.execute("SELECT count(*) FROM run WHERE status = 'ok' AND NOT warm_up").fetchone() == (12,)


def test_standard_output_holds_one_kind_of_answer(called: Cli, here: Path) -> None:
    done = called("run", "sweep.yaml", "--events", "ndjson", "--format", "json")

    assert done.returncode == 2
    assert [error["code"] for error in checked("error", done.stdout)["errors"]] == ["usage"]


@pytest.mark.parametrize("status", ["disturbed", "ok"])  # ok: with --allow-disturbed
def test_a_disturbed_run_says_by_what(status: Status) -> None:
    cell = Cell(sweep="s", tool="command", options={"x": 1}, axes=("x",))
    run = PlannedRun(
        sweep="s", tool="command", cell=cell, repeat=2, argv=("true",), env={}, placement=None, timeout_s=1, nominal_s=1, estimate_s=1,
        program="true",
    )  # fmt: skip
    record = RunRecord(
        run_id=7, point_id=cell.point_id, repeat=2, attempt=1, status=status, reason="busy", argv=("true",), env={},
        placement=None, seen=None, program="true", order_index=0, started_utc="", wall_s=1.0, exit_code=0, signal=None, usage={},
        session=1, counters={"reasons": [{"id": "steal", "text": "busy \x1b[31m"}]},
    )  # fmt: skip
    ended = Ended(number=1, total=1, run=run, record=record, parsed=None, repeated=status != "ok")

    told = events("".join(map(json_line, of_sweep(ended))))

    assert [event["event"] for event in told] == ["ended", "disturbed"]
    assert told[0]["will_be_repeated"] == (status != "ok")
    assert told[1]["disturbances"] == [{"id": "steal", "text": "busy \x1b[31m"}]


def test_who_is_waited_for_is_told() -> None:
    holder = Holder(pid="42", host="n7", file="/d/a.db", since="2026-01-02 03:04 UTC", user="ann", shared="CPUs 0-3")

    waiting = (Waiting(holder=holder), Waiting(scratch=Path("/scratch")), Waiting())
    told = events("".join(json_line(record) for event in waiting for record in of_sweep(event)))

    assert [(one["sweep"] or {}).get("pid") for one in told] == ["42", None, None]
    assert [one["scratch"] for one in told] == [None, "/scratch", None]


# --- tasks, by the schemas alone ---------------------------------------------------------------------------


def ask(pinsweep: Cli, name: str, *words: str) -> Any:
    """Ask as a program does: read the document, whatever the exit status."""
    return checked(name, pinsweep(*words, "--format", "json").stdout)


def test_task_4_the_median_of_a_given_cell_with_its_unit(called: Cli, here: Path) -> None:
    told = ask(called, "show", "show", "a.db")

    (cell,) = (cell for cell in told["cells"] if cell["labels"] == {"level": 2})
    assert (cell["leading"]["median"], cell["leading"]["unit"]) == (200e6, "B/s")
    (same,) = (one for one in cell["numbers"] if one["number"] == cell["leading"]["number"])
    assert {name: same[name] for name in ("median", "low", "high", "unit")}.items() <= cell["leading"].items()
    assert all(run["counted"].get("foreign_s", 0) <= run["counted"].get("elapsed_s", 0) for run in told["runs"])
    (number,) = (number for number in cell["numbers"] if number["metric"] == "rate")
    assert (number["median"], number["unit"], len(number["values"])) == (200e6, "B/s", 4)


def test_task_5_which_checks_doubt_which_cells(called: Cli, here: Path) -> None:
    (here / "t.txt").write_text("32 4k 8 366716 933.9\n16 4k 8 366716 348.0\n")
    columns = ("--tool", "fio", "--columns", "iodepth, bs, numjobs, iops, lat[us]", "--set", "rw=randwrite")
    ask(called, "parse-into", "parse", "table", "t.txt", *columns, "--set", "direct=1", "-o", "t.db")
    shown, audited = ask(called, "show", "show", "t.db"), ask(called, "audit", "audit", "t.db")

    doubted = {cell["labels"]["iodepth"]: cell["doubtful"] for cell in shown["cells"]}
    assert "F1" in doubted[32]
    assert "F1" not in doubted[16]
    labels = {cell["point_id"]: cell["labels"] for cell in shown["cells"]}
    by_check = {
        found["id"]: [labels[one["point_id"]]["iodepth"] for one in found["doubts"]] for found in audited["findings"]
    }
    assert by_check["F1"] == [32]
    (line,) = (one for found in audited["findings"] if found["id"] == "F1" for one in found["cells"])
    assert (line["labels"], line["file"]) == (labels[line["point_id"]], "t.db")


def test_task_6_which_numbers_regressed_and_by_how_much(called: Cli, here: Path) -> None:
    told = ask(called, "compare", "compare", "a.db", "b.db")

    worse = {cell["b"]["point_ids"][0]: cell["ratio"] for cell in told["cells"] if cell["verdict"] == "regressed"}
    assert [cell["labels"]["level"] for cell in told["cells"] if cell["verdict"] == "regressed"] == [
        3
    ]  # a number, as in `show`
    shown = {cell["point_id"]: cell["labels"] for cell in ask(called, "show", "show", "b.db")["cells"]}
    assert [(shown[cell]["level"], round(ratio, 3)) for cell, ratio in worse.items()] == [(3, 0.6)]


def test_task_7_which_hosts_are_slow_or_missing(called: Cli, here: Path) -> None:
    told = ask(called, "fleet", "fleet", "hosts", "--nodes", "n[01-10]")

    assert told["accused"] == ["n04"]
    assert [host for gap in told["gaps"] for host in gap["of"]] == ["n10"]


TASKS = [
    line.partition("#")[0].strip()
    for line in (ROOT / "docs/for-programs.md").read_text().splitlines()
    if line.startswith("pinsweep ") and " | jq " in line
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
@pytest.mark.parametrize("task", TASKS)
def test_the_tasks_of_the_documentation_in_bash_and_jq(task: str, pinsweep: Cli, here: Path) -> None:
    for name, source in (("disk.yaml", "fails.yaml"), ("r.db", "a.db"), ("out.txt", "stream.txt")):
        if not (name == "r.db" and "run" in task.split()):
            shutil.copy(here / source, here / name)
    (here / "hosts").rename(here / "acc")
    asked, _, wanted = task.partition(" | jq ")
    words = shlex.split(asked)[1:]

    answer = pinsweep(*words).stdout

    done = subprocess.run(["jq", "-e", *shlex.split(wanted)], input=answer, text=True, capture_output=True)
    assert done.stderr == ""
    assert done.returncode in ((0, 1, 4) if words[0] in ("doctor", "plan", "show") else (0,)), answer


def test_the_documentation_has_eight_tasks() -> None:
    assert len(TASKS) == 8
