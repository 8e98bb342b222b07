"""`pinsweep run` as a user meets it: real processes, real interruptions."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from orchestrator.plan.survey import SCRATCH_MARKER, host_name
from tests.cli.conftest import Start
from tests.conftest import Cli
from tests.waits import PATIENCE_S, begun, beside_nobody_s, gate, nothing_is_left, until, without_kill

ECHO = """\
schema: 1
title: Echo
tool: command
fixed:
  command: sh -c 'sleep {seconds}; echo "value {n} ms"' {n}
  seconds: 0.05
  metrics:
    reply: {regex: "value ([0-9.]+) ms", unit: ms, better: lower}
matrix:
  n: [1, 2, 3, 4]
repeats: 3
"""


def gated(passes: int) -> str:
    """Return the experiment with runs of which all but so many wait for the test."""
    return ECHO.replace("sleep {seconds}", gate(passes))


def statuses(path: Path) -> list[tuple[str, int, str]]:
    with sqlite3.connect(path) as db:
        return db.execute("SELECT point_id, repeat, status FROM run ORDER BY run_id").fetchall()


def test_a_sweep_of_a_stranger_program_in_five_lines(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO)

    done = pinsweep("run", "echo.yaml", "-o", "echo.db")

    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    rows = statuses(tmp_path / "echo.db")
    assert len(rows) == len(set(rows)) == 12
    assert {row[2] for row in rows} == {"ok"}
    assert not list(tmp_path.glob("pinsweep-scratch*"))


def test_rounds_are_interleaved_and_the_order_is_kept(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO)
    pinsweep("run", "echo.yaml", "-o", "echo.db", "--seed", "7")

    planned = json.loads(pinsweep("plan", "echo.yaml", "--seed", "7", "--format", "json").stdout)
    ran = [(cell, repeat) for cell, repeat, _ in statuses(tmp_path / "echo.db")]

    assert ran == [(run["point_id"], run["repeat"]) for run in planned["runs"]]
    assert [repeat for _, repeat in ran] == [1] * 4 + [2] * 4 + [3] * 4
    assert [cell for cell, _ in ran[:4]] != [cell for cell, _ in ran[4:8]]


@pytest.mark.slow
def test_a_text_that_is_run_again_after_another_one_is_asked_for_again(pinsweep: Cli, tmp_path: Path) -> None:
    """Nothing is to do in the third session, but it makes the first text the last one."""
    texts = ECHO, ECHO.replace("repeats: 3", "repeats: 2")
    for text in (*texts, texts[0]):
        (tmp_path / "echo.yaml").write_text(text)
        assert pinsweep("run", "echo.yaml", "-o", "echo.db").returncode == 0

    with sqlite3.connect(tmp_path / "echo.db") as db:
        last = "SELECT text FROM experiment ORDER BY session DESC LIMIT 1"
        assert db.execute(last).fetchone() == (texts[0],)


@pytest.mark.slow
def test_some_cells_are_run_and_the_others_stay_to_be_run(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO)

    planned = pinsweep("plan", "echo.yaml", "--cells", "n=1,3", "--repeats", "2")
    first = pinsweep("run", "echo.yaml", "-o", "r.db", "--cells", "n=1,3", "--repeats", "2")
    shown = pinsweep("show", "r.db")
    second = pinsweep("run", "echo.yaml", "-o", "r.db", "--cells", "n=4")
    again = pinsweep("show", "r.db")
    rest = pinsweep("run", "echo.yaml", "-o", "r.db")

    assert "2 of 4 cells, 4 runs" in planned.stdout
    assert "4 ok\n" in first.stderr
    assert "4 of 4 runs ok" in shown.stdout
    assert "2 of 4 cells not requested" in shown.stdout
    assert "3 ok\n" in second.stderr
    assert "1 of 4 cells not requested" in again.stdout
    assert "5 ok, 7 done before" in rest.stderr
    assert "not requested" not in pinsweep("show", "r.db").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cells", "m=1"], "error: --cells: no axis 'm'\nhint: axes: n\n"),
        (["--cells", "n=1,9"], "error: --cells: n has no value '9'\nhint: its values: 1, 2, 3, 4\n"),
        (
            ["--cells", "n"],
            "error: --cells: 'n' is not AXIS=VALUE\nhint: --cells n=VALUE[,VALUE]; its values: 1, 2, 3, 4\n",
        ),
        (["--cells", "n="], "hint: --cells n=VALUE[,VALUE]; its values: 1, 2, 3, 4\n"),
        (["--repeats", "0"], "0 is not a whole number from 1 to 1000"),
        (["--repeats", "many"], "'many' is not a whole number from 1 to 1000"),
    ],
)
def test_cells_and_repeats_that_make_no_sense_are_refused(
    pinsweep: Cli, tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO)

    for command in (["plan"], ["run", "-o", "r.db"]):
        done = pinsweep(*command, "echo.yaml", *words)
        assert done.returncode == 2
        assert said in done.stderr
    assert not (tmp_path / "r.db").exists()


def test_a_size_is_chosen_however_it_is_written_and_sweeps_without_the_axis_are_named(
    pinsweep: Cli, tmp_path: Path
) -> None:
    """All of a sweep was left out without a word, and `bytes=1000` was no value beside 1kB."""
    sweep = "- {name: %s, tool: command, fixed: {command: 'echo {%s}', metrics: {x: {regex: '(.)', unit: ns}}}, matrix: {%s: [1kB, 4k]}}"
    two = "\n".join(sweep % (name, axis, axis) for name, axis in (("a", "bytes"), ("b", "size")))
    (tmp_path / "two.yaml").write_text(f"schema: 1\nsweeps:\n{two}\n")

    said = pinsweep("plan", "two.yaml", "--cells", "bytes=1000")
    every = pinsweep("plan", "two.yaml", "--cells", "bytes=1000,4096", "--only", "a").stdout

    assert "warning  left out by --cells (no bytes): b" in said.stderr
    assert "1 of 4 cells" in said.stdout
    assert every.startswith("2 cells")


@pytest.mark.slow
def test_a_warm_up_comes_first_and_is_in_no_number(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO.replace("repeats: 3", "repeats: 1"))
    warm = {"PINSWEEP_NO_WARM_UP": ""}

    planned = json.loads(pinsweep("plan", "echo.yaml", "--format", "json", env=warm).stdout)
    script = pinsweep("plan", "echo.yaml", "--format", "shell", env=warm).stdout
    done = pinsweep("run", "echo.yaml", "-o", "r.db", env=warm)
    again = pinsweep("run", "echo.yaml", "-o", "r.db", "--repeats", "2", env=warm)

    (first,) = planned["warm_ups"]
    assert (first["repeat"], len(planned["runs"])) == (0, 4)
    assert "# warm-up echo n=" in script
    assert done.stderr.count("[warm-up]") == again.stderr.count("[warm-up]") == 1
    assert "4 ok\n" in done.stderr
    assert "4 ok, 4 done before" in again.stderr
    with sqlite3.connect(tmp_path / "r.db") as db:
        assert db.execute("SELECT run_id, repeat FROM run WHERE warm_up").fetchall() == [(1, 0), (6, 0)]
    assert "8 of 8 runs ok" in pinsweep("show", "r.db").stdout
    assert "warm-up, attempt 1" in pinsweep("show", "r.db", "1").stdout
    assert pinsweep("show", "r.db", "--runs").stdout.count("warm-up") == 2
    assert len(pinsweep("export", "r.db").stdout.splitlines()) == 1 + 8


SETTLING = """\
schema: 1
title: Settling
tool: command
fixed:
  command: sh -c 'echo x >> count-{first}; if [ $(wc -l < count-{first}) = 1 ]; then echo {first}; else echo 100; fi'
  metrics:
    reply: {regex: "([0-9]+)", unit: ms, better: lower}
matrix:
  first: [100, 120]
repeats: auto
"""


def test_repeats_auto_goes_on_with_the_cells_that_have_not_settled(pinsweep: Cli, tmp_path: Path) -> None:
    """One value of six far off is in the interval of their median; of twelve it no longer is."""
    (tmp_path / "settling.yaml").write_text(SETTLING)

    assert "2 cells, 12 to 30 runs" in pinsweep("plan", "settling.yaml").stdout
    done = pinsweep("run", "settling.yaml", "-o", "r.db")
    plan, again = (
        pinsweep("plan", "settling.yaml", "-o", "r.db"),
        pinsweep("run", "settling.yaml", "-o", "r.db"),
    )

    assert done.returncode == 0, done.stderr
    ran = Counter(row[0] for row in statuses(tmp_path / "r.db"))
    assert sorted(ran.values()) == [6, 12]
    assert done.stderr.count("1 unsettled cell: one more run each") == 6
    assert "[18/18]" in done.stderr
    assert "did not settle" not in done.stderr
    assert "0 cells, 0 runs" in plan.stdout
    assert "nothing to do, 18 done before" in again.stderr


@pytest.mark.slow
def test_a_sweep_with_repeats_auto_that_was_cut_goes_on_and_what_does_not_settle_is_named(
    pinsweep: Cli, tmp_path: Path
) -> None:
    """The file decides: what 13 repeats of before say is all that the second call knows."""
    (tmp_path / "echo.yaml").write_text(
        SETTLING.replace(
            "echo {first}; else echo 100", "echo 1; else echo $((100 + $(wc -l < count-{first}) * 9))"
        ).replace("[100, 120]", "[0]")
    )
    text = (tmp_path / "echo.yaml").read_text()
    (tmp_path / "echo.yaml").write_text(text.replace("repeats: auto", "repeats: 13"))
    pinsweep("run", "echo.yaml", "-o", "r.db")
    (tmp_path / "echo.yaml").write_text(text)

    plan, done = pinsweep("plan", "echo.yaml", "-o", "r.db"), pinsweep("run", "echo.yaml", "-o", "r.db")

    assert "1 cell, 1 to 2 runs" in plan.stdout
    assert len(statuses(tmp_path / "r.db")) == 15
    assert "(G13): 1" in done.stderr


def test_plan_leaves_out_what_the_result_file_holds(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO.replace("[1, 2, 3, 4]", "[1, 2]"))
    pinsweep("run", "echo.yaml", "-o", "echo.db")
    (tmp_path / "echo.yaml").write_text(ECHO)

    plan = pinsweep("plan", "echo.yaml", "-o", "echo.db", "--commands").stdout
    overview = pinsweep("plan", "echo.yaml", "-o", "echo.db").stdout

    assert "2 cells, 6 runs" in overview
    assert "6 runs done before" in overview
    assert [line for line in plan.splitlines() if line.startswith("echo ")] == [
        "echo  n=3  × 3",
        "echo  n=4  × 3",
    ]


def test_a_plan_of_nothing_ends_as_a_run_of_nothing(pinsweep: Cli, tmp_path: Path) -> None:
    text = ECHO + "requires: {numa_nodes: 99}\n"
    (tmp_path / "echo.yaml").write_text(text)

    for command in ("plan", "run"):
        one = pinsweep(command, "echo.yaml", "-o", "echo.db")
        assert one.returncode == 1
        assert "no cell of this experiment can run here; see the reasons above" in one.stderr


def test_a_failing_cell_is_kept_with_its_reason_and_the_sweep_goes_on(pinsweep: Cli, tmp_path: Path) -> None:
    text = ECHO.replace("sleep {seconds};", "test {n} != 3 || {{ echo no such thing >&2; exit 9; }};")
    (tmp_path / "echo.yaml").write_text(text)

    done = pinsweep("run", "echo.yaml", "-o", "echo.db")

    assert done.returncode == 1
    assert "exit status 9: no such thing" in done.stderr
    assert sorted(status for *_, status in statuses(tmp_path / "echo.db")) == ["failed"] * 3 + ["ok"] * 9


@pytest.mark.slow
def test_failed_runs_are_started_again_only_on_request(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO.replace("sleep {seconds};", "test -e ready || exit 9;"))
    pinsweep("run", "echo.yaml", "-o", "echo.db")
    (tmp_path / "ready").touch()

    left_alone = pinsweep("run", "echo.yaml", "-o", "echo.db")
    retried = pinsweep("run", "echo.yaml", "-o", "echo.db", "--retry-failed")

    assert left_alone.returncode == 1
    assert "12 failed before; --retry-failed" in left_alone.stderr
    assert retried.returncode == 0
    assert sorted(status for *_, status in statuses(tmp_path / "echo.db")) == ["failed"] * 12 + ["ok"] * 12


@pytest.mark.slow
def test_a_timeout_ends_the_tool_and_is_a_status(pinsweep: Cli, tmp_path: Path, home: Mapping[str, str]) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO.replace("0.05", "60").replace("repeats: 3", "repeats: 1\ntimeout: 0.3"))

    done = pinsweep("run", "echo.yaml", "-o", "echo.db")

    assert done.returncode == 1
    assert {status for *_, status in statuses(tmp_path / "echo.db")} == {"timeout"}
    assert nothing_is_left(home)


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(
    pinsweep: Cli, start: Start, tmp_path: Path, home: Mapping[str, str]
) -> None:
    (tmp_path / "echo.yaml").write_text(gated(2))
    process = start("run", "echo.yaml", "-o", "echo.db")
    until(lambda: begun(tmp_path) == 3)  # between two runs there is nothing to interrupt
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert "to continue: pinsweep run echo.yaml -o echo.db" in stderr
    assert nothing_is_left(home)
    assert not list(tmp_path.glob("pinsweep-scratch*"))

    (tmp_path / "go").touch()
    assert pinsweep("run", "echo.yaml", "-o", "echo.db").returncode == 0
    rows = statuses(tmp_path / "echo.db")
    assert sum(status == "ok" for *_, status in rows) == 12
    assert [status for *_, status in rows if status != "ok"] == ["interrupted"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ignored", "sent"), [((signal.SIGHUP,), signal.SIGINT), ((signal.SIGHUP, signal.SIGINT), signal.SIGTERM)]
)  # fmt: skip
def test_a_sweep_under_nohup_or_in_the_background_of_a_script_can_be_stopped(
    start: Start,
    tmp_path: Path,
    home: Mapping[str, str],
    ignored: tuple[signal.Signals, ...],
    sent: signal.Signals,
) -> None:
    (tmp_path / "echo.yaml").write_text(gated(1))
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    try:
        process = start("run", "echo.yaml", "-o", "echo.db")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    until(lambda: begun(tmp_path) == 2)
    process.send_signal(signal.SIGHUP)
    process.send_signal(sent)
    _, stderr = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 130
    assert "to continue: pinsweep run echo.yaml -o echo.db" in stderr
    assert nothing_is_left(home)


SLEEP = f"sleep 300.{os.getpid():08}"
HIDING = f'setsid env -i {SLEEP} & (setsid env -i sh -c "{SLEEP} & exit" &); '
"""Leaves two processes behind that no environment, no session, no group and no parent leads to."""


def hiding() -> int:
    wanted = SLEEP.encode().split()
    return sum(words(entry)[:2] == wanted for entry in Path("/proc").iterdir() if entry.name.isdigit())


def words(entry: Path) -> list[bytes]:
    try:
        return (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def test_what_hides_from_its_run_ends_with_it(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(
        ECHO.replace("sleep {seconds}", HIDING + "sleep {seconds}").replace("repeats: 3", "repeats: 1")
    )

    done = pinsweep("run", "echo.yaml", "-o", "echo.db")

    assert done.returncode == 0, done.stderr
    assert {status for *_, status in statuses(tmp_path / "echo.db")} == {"ok"}
    assert hiding() == 0


@pytest.mark.slow
def test_a_killed_watchdog_is_told_and_the_sweep_goes_on(
    pinsweep: Cli, start: Start, tmp_path: Path, home: Mapping[str, str]
) -> None:
    (tmp_path / "echo.yaml").write_text(gated(1).replace("repeats: 3", "repeats: 1"))
    process = start("run", "echo.yaml", "-o", "echo.db")
    until(lambda: begun(tmp_path) == 2)
    (watchdog,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(watchdog), signal.SIGKILL)
    (tmp_path / "go").touch()
    _, stderr = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 1
    assert stderr.count("interrupted: pinsweep's watchdog process was killed, and the tool with it") == 1
    assert sorted(status for *_, status in statuses(tmp_path / "echo.db")) == ["interrupted", *["ok"] * 3]
    assert nothing_is_left(home)
    assert not list(tmp_path.glob("pinsweep-scratch*"))

    assert pinsweep("run", "echo.yaml", "-o", "echo.db").returncode == 0
    assert [status for *_, status in statuses(tmp_path / "echo.db")].count("ok") == 4


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("setpriv"),
    reason="needs root, to become somebody else with setpriv",
)
def test_a_sweep_does_not_go_on_beside_what_cannot_be_ended(tmp_path: Path, home: Mapping[str, str]) -> None:
    """Root without CAP_KILL, as an ordinary user is towards what a setuid program started."""
    (tmp_path / "echo.yaml").write_text(ECHO.replace("sleep {seconds}", beside_nobody_s(SLEEP)))
    try:
        done = subprocess.run(
            [*without_kill(), sys.executable, "-m", "pinsweep", "run", "echo.yaml", "-o", "echo.db"],
            cwd=tmp_path, env={**os.environ, **home}, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        assert hiding() == 1
        assert done.returncode == 1
        assert re.search(r"error: sleep \(pid \d+, state \w, user 65534\): cannot be ended", done.stderr)
        assert [status for *_, status in statuses(tmp_path / "echo.db")] == ["failed"]
        assert not list(tmp_path.glob("pinsweep-scratch*"))
    finally:
        for entry in Path("/proc").iterdir():
            if words(entry)[:2] == SLEEP.encode().split():
                os.kill(int(entry.name), signal.SIGKILL)


@pytest.mark.slow
def test_kill_9_twenty_times_then_resume(pinsweep: Cli, start: Start, tmp_path: Path, home: Mapping[str, str]) -> None:
    """One good run per cell and repeat at the end, whatever the moments were. After each of them: no run that was announced
    is lost, the file is sound, no process is left, and no scratch folder but one that was just made: a kill in the instant
    between that and the fork of the watchdog leaves it empty, and the next run takes it."""
    moments = random.Random(9)
    (tmp_path / "echo.yaml").write_text(
        ECHO.replace("[1, 2, 3, 4]", "1..10")
        .replace("repeats: 3", "repeats: 12")
        .replace("sleep {seconds}", HIDING + "sleep {seconds}")
    )
    announced = 0
    for turn in range(20):
        process = start("run", "echo.yaml", "-o", "echo.db")
        assert process.stderr is not None
        told = ""
        if turn % 2:  # while it measures; else while it starts
            while (told := process.stderr.readline()) and not told.startswith("["):
                pass  # "": there was nothing left to do
        time.sleep(moments.uniform(0.0, 0.4) if turn % 2 else moments.uniform(0.2, 1.2))
        process.kill()
        _, stderr = process.communicate()
        announced += sum(line.startswith("[") for line in [told, *stderr.splitlines()])
        until(lambda: nothing_is_left(home) and not hiding())
        assert {e.name for f in tmp_path.glob("pinsweep-scratch*") for e in f.rglob("*") if e.is_file()} <= {
            SCRATCH_MARKER
        }
        if (tmp_path / "echo.db").exists():
            with sqlite3.connect(tmp_path / "echo.db") as db:
                assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert announced == 0 or len(statuses(tmp_path / "echo.db")) >= announced
    assert announced

    assert pinsweep("run", "echo.yaml", "-o", "echo.db").returncode == 0
    good = [(cell, repeat) for cell, repeat, status in statuses(tmp_path / "echo.db") if status == "ok"]
    assert len(good) == len(set(good)) == 120
    assert nothing_is_left(home)
    assert not hiding()
    assert not list(tmp_path.glob("pinsweep-scratch*"))


def test_two_runs_into_one_file_are_refused(pinsweep: Cli, start: Start, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(gated(1))
    (tmp_path / "other.yaml").write_text(ECHO)
    process = start("run", "echo.yaml", "-o", "echo.db")
    until(lambda: begun(tmp_path) == 2)
    second = pinsweep("run", "other.yaml", "-o", "echo.db")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE_S)

    assert second.returncode == 2
    assert f"another pinsweep (pid {process.pid}) is running into this file" in second.stderr


@pytest.mark.slow
def test_one_experiment_twice_into_one_file_by_another_name_is_refused_until_kill_9(
    pinsweep: Cli, start: Start, tmp_path: Path
) -> None:
    """It is not the scratch folder that another is said to be using, after a wait of 15 s."""
    (tmp_path / "echo.yaml").write_text(gated(1))
    (tmp_path / "other.yaml").write_text(ECHO.replace("repeats: 3", "repeats: 1"))
    (tmp_path / "link.db").symlink_to("echo.db")
    process = start("run", "echo.yaml", "-o", "echo.db")
    until(lambda: begun(tmp_path) == 2)
    refused = pinsweep("run", "echo.yaml", "-o", "link.db")
    process.kill()
    process.communicate()
    taken_up = pinsweep("run", "other.yaml", "-o", "link.db")

    assert refused.returncode == 2
    assert f"link.db: another pinsweep (pid {process.pid}) is running into this file" in refused.stderr
    assert taken_up.returncode == 0, taken_up.stderr


def test_a_refused_run_leaves_nothing_behind(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO)
    (tmp_path / "wrong.yaml").write_text(ECHO.replace("fixed", "fixde"))
    (tmp_path / "poke.yaml").write_text(
        "schema: 1\ntitle: Files\ntool: poke\nfixed: {target: files, files: 2, file_size: 1kB}\n"
    )
    theirs = tmp_path / "pinsweep-scratch" / f"poke@{host_name()}"
    theirs.mkdir(parents=True)
    (theirs / "thesis").write_text("years of work")
    before = sorted(tmp_path.rglob("*"))

    scratch = pinsweep("run", "poke.yaml", "-o", "echo.db")
    wrong = pinsweep("run", "wrong.yaml", "-o", "echo.db")

    assert scratch.returncode == wrong.returncode == 2
    assert "this folder was not made by pinsweep" in scratch.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_where_no_cell_can_run_no_file_is_left_and_the_reasons_are_said(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(ECHO.replace("n: [1, 2, 3, 4]", "n: [1]\n  place: [core 4095]"))

    told = pinsweep("run", "s.yaml", "-o", "s.db")
    answer = json.loads(pinsweep("run", "s.yaml", "--format", "json", "--quiet").stdout)

    assert told.returncode == answer["exit_status"] == 1
    assert "skipped  s  n=1 place=core 4095: " in told.stderr
    assert told.stderr.endswith("see the reasons above\nno result file was made\n")
    assert answer["result_file"] is None
    assert [entry.name for entry in tmp_path.iterdir()] == ["s.yaml"]


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_creation_that_was_cut_goes_on_with_the_same_command(
    pinsweep: Cli, tmp_path: Path, command: str, cut_creation: Callable[[Path], None]
) -> None:
    """What is left of one are pages and a journal that takes them back: the file is empty once SQLite has seen it."""
    (tmp_path / "echo.yaml").write_text(ECHO.replace("repeats: 3", "repeats: 1"))
    cut_creation(tmp_path / "echo.db")

    done = pinsweep(command, "echo.yaml", "-o", "echo.db")

    assert done.returncode == 0, done.stderr
    if command == "run":
        assert len(statuses(tmp_path / "echo.db")) == 4


@pytest.mark.slow
def test_a_file_that_is_deleted_under_a_run_is_named(start: Start, tmp_path: Path, home: Mapping[str, str]) -> None:
    (tmp_path / "echo.yaml").write_text(gated(1))
    process = start("run", "echo.yaml", "-o", "echo.db")
    until(lambda: begun(tmp_path) == 2)
    (tmp_path / "echo.db").unlink()
    (tmp_path / "go").touch()
    _, stderr = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 1
    assert "error: echo.db: was deleted while the run wrote into it" in stderr
    assert "the same command starts again" in stderr
    assert nothing_is_left(home)
    assert {path.name for path in tmp_path.iterdir()} == {"echo.yaml", "begun", "go"}


def test_a_result_file_that_is_none_is_never_touched(pinsweep: Cli, tmp_path: Path) -> None:
    (tmp_path / "echo.yaml").write_text(ECHO)
    (tmp_path / "thesis.db").write_text("years of work")

    done = pinsweep("run", "echo.yaml", "-o", "thesis.db")

    assert done.returncode == 2
    assert "not a pinsweep result file" in done.stderr
    assert (tmp_path / "thesis.db").read_text() == "years of work"


def test_nothing_from_the_file_reaches_a_shell(pinsweep: Cli, tmp_path: Path) -> None:
    text = """\
schema: 1
title: "; touch pwned"
tool: command
fixed:
  command: echo {word} 7
  metrics: {seven: {regex: " (7)"}}
matrix:
  word: ["$(touch pwned)", "`touch pwned`", "; touch pwned;", "a b", "-n"]
repeats: 1
"""
    (tmp_path / "hostile.yaml").write_text(text)

    done = pinsweep("run", "hostile.yaml", "-o", "hostile.db")
    script = pinsweep("plan", "hostile.yaml", "--format", "shell").stdout
    by_hand = subprocess.run(["sh"], input=script, cwd=tmp_path, capture_output=True, text=True, check=True)

    assert not (tmp_path / "pwned").exists()
    assert "$(touch pwned) 7" in by_hand.stdout
    assert "; touch pwned; 7" in by_hand.stdout
    assert done.returncode in (0, 1)


def test_the_same_cell_asked_for_twice_is_one(pinsweep: Cli, tmp_path: Path) -> None:
    text = ECHO.replace("  n: [1, 2, 3, 4]", "  n: [1]\n  place: [each numa_node, numa_node 0]")
    (tmp_path / "echo.yaml").write_text(text)

    assert pinsweep("run", "echo.yaml", "-o", "echo.db").returncode == 0
    rows = statuses(tmp_path / "echo.db")
    assert len(rows) == len(set(rows))
