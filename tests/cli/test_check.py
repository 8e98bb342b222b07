"""`pinsweep check` as a health check meets it: silent and 0, one ERROR line and 1, one UNKNOWN line and 3."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from orchestrator.experiment import shipped
from tests.cli.conftest import Start
from tests.conftest import Cli
from tests.waits import PATIENCE_S, begun, gate, until

NUMBER = """\
schema: 1
title: A number
repeats: 3
sweeps:
  - name: number
    tool: command
    fixed:
      command: cat {number}
      metrics:
        rate: {regex: "rate ([0-9.]+)", unit: MB/s, better: higher}
"""
VERIFY = """
  - name: verify
    tool: fio
    fixed: {rw: read, bs: 4k, size: 64k, verify: crc32c}
"""


@pytest.fixture
def number(tmp_path: Path) -> Path:
    """A file with the rate that the sweep `number` of check.yaml reads."""
    path = tmp_path / "number"
    (tmp_path / "check.yaml").write_text(NUMBER.replace("{number}", str(path)))
    path.write_text("rate 1000\n")
    return path


def check(pinsweep: Cli, *words: str) -> tuple[int, str]:
    """Return the exit status and what was printed on stdout; of a check that could be started nothing is said beside it."""
    done = pinsweep("check", "check.yaml", "--allow-disturbed", *words)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_sound_host_is_silent(pinsweep: Cli, number: Path) -> None:
    assert check(pinsweep) == (0, "")
    assert check(pinsweep, "-o", "good.db") == (0, "")
    assert check(pinsweep, "--baseline", "good.db") == (0, "")


def test_what_is_slower_than_the_baseline_is_one_line(pinsweep: Cli, number: Path, tmp_path: Path) -> None:
    assert check(pinsweep, "-o", "good.db") == (0, "")

    number.write_text("rate 800\n")
    status, said = check(pinsweep, "--baseline", "good.db")
    assert (status, said.count("\n")) == (1, 1)
    assert said.startswith("ERROR slower number: rate ")
    assert check(pinsweep, "--baseline", "good.db", "--threshold", "30%") == (0, "")
    with sqlite3.connect(tmp_path / "good.db") as db:  # all its runs were disturbed
        db.execute("""UPDATE run SET counters = '{"reasons": [{"id": "foreign", "text": "others"}]}'""")
    status, said = check(pinsweep, "--baseline", "good.db")
    assert (status, said.split()[:2]) == (3, ["UNKNOWN", "disturbed"])


def test_the_evidence_of_an_error_is_kept_and_only_the_last(pinsweep: Cli, number: Path) -> None:
    number.write_text("nothing\n")
    for _ in range(2):
        status, said = check(pinsweep)
        assert status == 1
        kept = Path(said.strip().partition("; kept in ")[2])
        assert "failed" in pinsweep("show", str(kept)).stdout
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


@pytest.mark.slow
def test_wrong_answers_come_before_failures_and_slowness(pinsweep: Cli, number: Path, tmp_path: Path) -> None:
    """fio reads back a file that it has not written: the data are not what `verify` expects."""
    if shutil.which("fio") is None:
        pytest.skip("needs fio")
    assert check(pinsweep, "-o", "good.db") == (0, "")
    number.write_text("rate 500\n")
    experiment = tmp_path / "check.yaml"
    experiment.write_text(experiment.read_text() + VERIFY)

    status, said = check(pinsweep, "--baseline", "good.db")
    assert (status, said.count("\n")) == (1, 1)
    assert said.startswith("ERROR wrong-answer verify: ")
    assert "read back other data than it had written (verify)" in said
    assert "; and 1 more; kept in" in said

    found = json.loads(
        pinsweep("check", "check.yaml", "--allow-disturbed", "--baseline", "good.db", "--format", "json").stdout
    )
    assert found["status"] == "error"
    assert [one["kind"] for one in found["troubles"]] == ["wrong", "slower"]


def test_what_could_not_be_found_out_is_no_error(pinsweep: Cli, number: Path, tmp_path: Path) -> None:
    assert check(pinsweep, "-o", "good.db") == (0, "")
    other = (tmp_path / "check.yaml").read_text().replace("name: number", "name: another")
    (tmp_path / "check.yaml").write_text(other)
    status, said = check(pinsweep, "--baseline", "good.db")
    assert (status, said.split()[:2]) == (3, ["UNKNOWN", "baseline"])

    (tmp_path / "check.yaml").write_text(NUMBER.replace("cat {number}", "no-such-program"))
    assert check(pinsweep, "-o", "none.db") == (
        3,
        "UNKNOWN no-cell no cell can run here: no-such-program: no program of that name can be started here; kept in none.db\n",
    )

    (tmp_path / "check.yaml").write_text(NUMBER.replace("cat {number}", "sleep 60"))
    status, said = check(pinsweep, "--within", "1")
    assert (status, said.count("\n")) == (3, 1)
    assert said.startswith("UNKNOWN time not done within 1 s; number was running; kept in ")


ROUNDS = """\
schema: 1
title: Two numbers
repeats: 3
sweeps:
  - name: number
    tool: command
    fixed:
      command: sh -c '{gate}; echo rate 1000'
      metrics:
        rate: {{regex: "rate ([0-9.]+)", unit: MB/s, better: higher}}
    matrix: {{x: [1, 2]}}
"""


@pytest.mark.parametrize(
    ("passes", "words", "status", "begins"),
    [
        pytest.param(2, (), 0, "", marks=pytest.mark.slow),  # each was measured once
        (1, (), 3, "UNKNOWN time not done within 600 s; number, "),
        pytest.param(4, ("--baseline", "good.db"), 0, "", marks=pytest.mark.slow),  # twice
        (3, ("--baseline", "good.db"), 3, "UNKNOWN time not done within 600 s; number, "),
    ],
)
def test_where_time_is_short_fewer_repeats_will_do(
    pinsweep: Cli, start: Start, tmp_path: Path, passes: int, words: tuple[str, ...], status: int, begins: str
) -> None:
    (tmp_path / "check.yaml").write_text(ROUNDS.format(gate=gate(0).replace("-le 0 ", "-le $(cat passes) ")))
    (tmp_path / "passes").write_text("6")
    assert check(pinsweep, "-o", "good.db") == (0, "")
    (tmp_path / "begun").unlink()
    (tmp_path / "passes").write_text(str(passes))

    process = start("check", "check.yaml", "--allow-disturbed", "--within", "600", *words)
    until(lambda: begun(tmp_path) == passes + 1)
    process.send_signal(signal.SIGALRM)  # the time is over
    said, _ = process.communicate()

    assert (process.returncode, said.partition("number, ")[0] + ("number, " if said else "")) == (
        status,
        begins,
    )


@pytest.mark.slow
def test_a_check_does_not_wait_for_another_sweep(
    pinsweep: Cli, start: Start, number: Path, tmp_path: Path, runtime: Path
) -> None:
    (tmp_path / "long.yaml").write_text(NUMBER.replace("cat {number}", f"sleep {10 * PATIENCE_S}"))
    process = start("run", "long.yaml", "-o", "long.db")
    until(lambda: runtime.is_dir() and any(runtime.iterdir()))
    status, said = check(pinsweep)
    process.terminate()
    assert (status, said.split()[:2]) == (3, ["UNKNOWN", "busy"])
    assert f"pid {process.pid} of " in said


FAILS = """\
import sys
import reports.health.sweep as sweep
def fail(*words, **named):
    raise {}
sweep.Check.troubles = fail
from pinsweep.__main__ import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("raised", "said"),
    [
        ("ZeroDivisionError('x')", "UNKNOWN bug error: a bug in pinsweep: ZeroDivisionError: x; hint: please report it with "),
        ("OSError(28, 'No space left on device')", "UNKNOWN could-not-run [Errno 28] No space left on device"),
    ],
)  # fmt: skip
def test_what_fails_in_the_check_itself_says_nothing_against_the_host(
    number: Path, home: Mapping[str, str], raised: str, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAILS.format(raised), "check", str(number.parent / "check.yaml")], env={**os.environ, **home, "TMPDIR": str(number.parent)}, capture_output=True, text=True, check=False
    )  # fmt: skip

    assert done.returncode == 3
    (line,) = done.stdout.splitlines()
    assert line.startswith(said)


LATE = """\
import signal, sys
from pathlib import Path
import reports.health.sweep as sweep
check = sweep.Check(600, version="", argv=())
def over(*words, on_event, **named):
    on_event(sweep.Begun(path=Path("r.db"), prepared=None))
    check._alarm(signal.SIGALRM, None)
    print("alive", check._late, signal.getitimer(signal.ITIMER_REAL)[0] <= 0.05)
    raise sweep.PinsweepError("there", "over")
sweep.run_experiments = over
print(*(one.id for one in check.troubles(Path("e"), Path("r.db"), Path(), (), 0.1, allow_disturbed=True)))
print(signal.getitimer(signal.ITIMER_REAL)[0])
"""


@pytest.mark.slow
def test_an_alarm_between_the_sweeps_end_and_the_timers_ends_nothing() -> None:
    """The sweep has given SIGTERM back, and its default action would end the process: 143, and no line."""
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.splitlines()) == (0, ["alive False True", "could-not-run", "0.0"])


def test_mistakes_are_the_users(pinsweep: Cli, number: Path) -> None:
    for words, said in (
        (("none.yaml",), "no such file"),
        (("check.yaml", "--baseline", "none"), "no such baseline"),
        (("check.yaml", "--baseline", "/dev/zero"), "is not a result file"),
        (("--within", "nan"), "is not a valid integer"),
        (("--level", "4"), "4 is not in the range"),
    ):
        done = pinsweep("check", *words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert said in done.stderr


def test_each_level_holds_the_one_below_it() -> None:
    """So that a baseline of level 3 is one of all."""
    levels = [
        {
            sweep["name"]: sweep
            for sweep in yaml.safe_load((shipped.folder() / f"check-{level}.yaml").read_text())["sweeps"]
        }
        for level in (1, 2, 3)
    ]
    for lower, higher in itertools.pairwise(levels):
        assert lower.items() <= higher.items()


PAGE = Path(__file__).resolve().parents[2] / "docs" / "check.md"
SCRIPTS = {
    name: next(block for block in re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL) if name in block)
    for name in ("pinsweep.nhc", "HealthCheckProgram", "nagios")
}  # fmt: skip
NHC = """\
die() { shift; echo "die $*"; }
log() { echo "log $*"; }
. ./script
check_pinsweep --level 1 --within 45 && echo well
"""
SLOW, BUSY = "ERROR slower a | b, 10 % (baseline → now)", "UNKNOWN busy another sweep is measuring"


@pytest.mark.parametrize(
    ("caller", "status", "line", "exits", "said"),
    [
        ("pinsweep.nhc", 0, "", 0, "well"),
        ("pinsweep.nhc", 1, SLOW, 1, f"die check_pinsweep:  {SLOW}"),
        ("pinsweep.nhc", 3, BUSY, 0, f"log check_pinsweep:  {BUSY}\nwell"),
        ("pinsweep.nhc", 2, "error: --baseline: no such", 0, "log check_pinsweep:  error: --baseline: no such\nwell"),
        ("HealthCheckProgram", 0, "", 0, ""),
        ("HealthCheckProgram", 1, SLOW, 0, f"logged -t pinsweep -- {SLOW}"),
        ("HealthCheckProgram", 3, BUSY, 0, f"logged -t pinsweep -- {BUSY}"),
        ("nagios", 0, "", 0, "OK sound"),
        ("nagios", 1, SLOW, 2, f"CRITICAL {SLOW.replace('|', '/')}"),
        ("nagios", 3, BUSY, 3, BUSY),
        ("nagios", 2, "error: x\nhint: y", 3, "UNKNOWN error: x hint: y"),
    ],
)  # fmt: skip
def test_those_who_call_it_take_each_status_for_what_it_is(
    tmp_path: Path, caller: str, status: int, line: str, exits: int, said: str
) -> None:
    """The scripts of docs/check.md. An UNKNOWN marked nodes offline under NHC."""
    (tmp_path / "script").write_text(SCRIPTS[caller])
    for name, does in (("pinsweep", f"{f'echo {shlex.quote(line)}' if line else ':'}; exit {status}"), ("logger", 'echo "logged $*"')):  # fmt: skip
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    words = ["bash", "-c", NHC] if caller == "pinsweep.nhc" else ["sh", "./script"]

    done = subprocess.run(
        words, cwd=tmp_path, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False
    )  # fmt: skip

    assert (done.returncode, done.stdout.rstrip("\n"), done.stderr) == (exits, said, "")
