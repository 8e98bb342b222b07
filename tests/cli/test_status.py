"""`pinsweep status` of a sweep by Slurm, from what its commands once printed: files that are not as they should be, and a thousand hosts."""

from __future__ import annotations

import dataclasses
import json
import os
import pwd
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.cluster import folder
from orchestrator.cluster.engine import AT_ONCE
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.states import State
from orchestrator.cluster.submit import View
from pinsweep import __version__
from tests.conftest import Cli

EXPERIMENT = """\
schema: 1
title: Rate
tool: command
repeats: 2
fixed: {command: "echo rate 1000", metrics: {rate: {regex: "rate ([0-9]+)", unit: MB/s, better: higher}}}
matrix: {x: [1]}
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """slurm(what squeue prints, what sinfo prints) → a file with a line for each question to either."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def says(squeue: str, sinfo: str) -> Path:
        for name, text in (("squeue", squeue), ("sinfo", sinfo), ("sbatch", "7")):
            (tmp_path / name).write_text(text)
            path = tmp_path / "bin" / name
            path.write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/asked\ncat {tmp_path}/{name}\n")
            path.chmod(0o755)
        return tmp_path / "asked"

    return says


def rows(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the rows of the table of hosts, with single blanks."""
    return [" ".join(line.split()) for line in done.stdout.splitlines() if line.startswith("  ")][1:]


def begun(where: Path, hosts: list[str], *words: str, user: str = "bench", created_utc: str = "") -> Sweep:
    sweep = Sweep(
        id="3f9a12bc", folder=str(where), via="slurm", hosts=tuple(hosts), experiments={"rate.yaml": folder.digest(EXPERIMENT)},
        words=words, user=user, created_utc=created_utc, version=__version__, python="/opt/pinsweep/bin/python",
    )  # fmt: skip
    folder.make(sweep, {"rate.yaml": EXPERIMENT}, "")
    return sweep


def test_each_file_that_is_not_as_it_should_be_is_named_and_the_others_judged(
    pinsweep: Cli, called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    assert pinsweep("run", "rate.yaml", "-o", "one.db", "--allow-disturbed").returncode == 0
    hosts = [f"n{number:02}" for number in range(1, 15)]
    sweep = begun(tmp_path / "acc", hosts)
    for host in hosts[:-1]:
        path = sweep.result(host)
        shutil.copy(tmp_path / "one.db", path)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE session SET host = ?", (host,))
        sweep.path("log", f"{host}.7").write_text("rc=0 complete\n")
    whole = sweep.result("n09").read_bytes()
    sweep.result("n09").write_bytes(whole[: len(whole) // 2])  # cut
    sweep.result("n10").write_bytes(b"")
    sweep.result("n11").unlink()
    sweep.result("n11").symlink_to("n11.db")  # cannot be read, not even by root
    with sqlite3.connect(sweep.result("n12")) as db:  # gathered half-way
        db.execute("DELETE FROM output WHERE run_id = 2")
        for table in ("measurement", "reading_table", "reading"):
            db.execute(f"DELETE FROM {table} WHERE run_id = 2")
        db.execute("DELETE FROM run WHERE run_id = 2")
        db.execute("UPDATE session SET ended_utc = NULL")
    sweep.result("n13").unlink()  # and of n14 there was nothing ever
    slurm("", "".join(f"{host}|idle|1:2:1|(null)|main*|infinite|none\n" for host in hosts))

    status, fleet = called("status", "acc"), called("fleet", "acc", "--format", "json")

    assert (status.returncode, fleet.returncode) == (1, 1)
    states = {
        host: (one["state"], one["reason"])
        for host, one in json.loads(called("status", "acc", "--format", "json").stdout)["hosts"].items()
    }
    assert {states[host] for host in hosts[:8]} == {("done", "")}
    for host in ("n09", "n10", "n11"):
        assert states[host][0] == "failed"
        assert states[host][1].startswith(f"{host}.db: ")
        assert states[host][1].endswith("; move it away, and `run -o` begins the host anew")
    assert states["n12"] == ("failed", "job 7 ended well, but its results are not here")
    assert states["n13"] == ("failed", "job 7 ended well, but its results are not here")
    assert states["n14"] == ("not submitted", "")
    gaps = [(gap["what"], gap["of"]) for gap in json.loads(fleet.stdout)["gaps"]]
    assert {(what, *of) for what, of in gaps} == {
        ("no result", "n09", "n10", "n11", "n13", "n14"), ("incomplete", "n12"), *(("unreadable", f"n{n:02}.db") for n in (9, 10, 11)),
    }  # fmt: skip


def test_where_a_file_has_to_be_moved_away_first_no_job_is_submitted(
    pinsweep: Cli, called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """Such a job can only fail: a damaged file is not continued, and neither is another host's."""
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    assert pinsweep("run", "rate.yaml", "-o", "one.db", "--allow-disturbed").returncode == 0
    sweep = begun(tmp_path / "acc", ["n1", "n2", "n3.site"], user=pwd.getpwuid(os.getuid()).pw_name)
    for host, name in (("n1", "n1.site"), ("n3.site", "n1.site")):
        shutil.copy(tmp_path / "one.db", sweep.result(host))
        with sqlite3.connect(sweep.result(host)) as db:
            db.execute("UPDATE session SET host = ?", (name,))
    sweep.result("n2").write_text("garbage")
    asked = slurm(
        "",
        "n1|idle|1:2:1|(null)|main*|infinite|none\nn2|idle|1:2:1|(null)|main*|infinite|none\nn3.site|idle|1:2:1|(null)|main*|infinite|none\n",
    )

    done = called("run", "-o", "acc")

    assert done.returncode == 1
    anew = "; move it away, and `run -o` begins the host anew"
    assert rows(done) == [
        "done n1 2 of 2 –",
        f"failed n2 – n2.db: not a pinsweep result file: file is not a database{anew}",
        f"failed n3.site – n3.site.db is of n1.site{anew}",
    ]
    assert "sbatch" not in asked.read_text()
    assert done.stderr.splitlines() == [f"see  pinsweep status {sweep.folder}"]


def test_where_its_results_are_is_said_of_a_folder_that_is_not_where_it_was(
    called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    sweep = begun(tmp_path / "acc", ["n1"])
    slurm("", "n1|idle|1:2:1|(null)|main*|infinite|none\n")
    shutil.copytree(sweep.folder, tmp_path / "copy")

    copied = called("status", "copy").stderr
    shutil.rmtree(sweep.folder)
    moved = called("status", "copy").stderr

    assert (
        copied == f"this is a copy of {sweep.folder}, where the sweep is and its jobs bring their results\n"
    )
    here = tmp_path / "copy"
    assert (
        moved
        == f"this was {sweep.folder} when its jobs were submitted; pinsweep run -o {here} goes on here\n"
    )
    assert f"pinsweep status {here}" in called("fleet", here).stderr  # which host has no results yet, and why


def test_who_has_to_wait_for_its_turn_is_no_failure(sweep_of_three: View) -> None:
    """`run --via ssh --at-once 2` of three hosts ended with 1, where all was as it was asked for."""
    n1, n2, n3 = sweep_of_three.states
    assert sweep_of_three.exit_status_of_run == 0
    refused = dataclasses.replace(n3, reason="ssh: connect to host n3 port 22: No route to host")
    assert dataclasses.replace(sweep_of_three, states=(n1, n2, refused)).exit_status_of_run == 1
    assert sweep_of_three.exit_status == 3  # of `status`: something runs


@pytest.fixture
def sweep_of_three(tmp_path: Path) -> View:
    words = (("n1", "done", ""), ("n2", "running", ""), ("n3", "not submitted", AT_ONCE))
    states = tuple(State(host=host, word=word, reason=reason) for host, word, reason in words)  # type: ignore[arg-type]
    return View(sweep=begun(tmp_path / "acc", ["n1", "n2", "n3"]), states=states)


def test_a_thousand_hosts_are_two_questions(
    called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    hosts = [f"n{number:04}" for number in range(1, 1001)]
    begun(tmp_path / "acc", hosts)
    jobs = [f"{host}|{number}|PENDING|Priority" for number, host in enumerate(hosts[:600], 1)]
    jobs += [f"{host}|{number}|RUNNING|None" for number, host in enumerate(hosts[600:900], 601)]
    asked = slurm(
        "\n".join(jobs),
        "\n".join(
            f"{host}|{'drained' if host > 'n0950' else 'idle'}|2:32:2|rack{host[-2:]}|main*|infinite|bad DIMM"
            for host in hosts
        ),
    )

    done = called("status", "acc")

    assert done.returncode == 3
    assert rows(done) == [
        "running n[0601-0900] –", "queued n[0001-0600] Priority", "not submitted n[0901-0950] –", 'skipped n[0951-1000] drained "bad DIMM"',
    ]  # fmt: skip
    assert sorted(asked.read_text().split()) == ["sinfo", "squeue"]


def test_a_plan_for_the_folder_of_another_sweep_is_refused_as_the_run_is(
    called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """It showed what that sweep would do, and nothing of what was asked for."""
    begun(
        tmp_path / "acc",
        ["n1"],
        "--allow-disturbed",
        "--repeats",
        "3",
        "--no-warm-up",
        user=pwd.getpwuid(os.getuid()).pw_name,
    )
    slurm("", "n1|idle|1:2:1|(null)|main*|infinite|none\n")
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    (tmp_path / "other.yaml").write_text(EXPERIMENT)

    def said(name: str, *words: str) -> str:
        return called("plan", name, "--nodes", "n1", "-o", "acc/", *words).stderr.partition("\n")[0]

    assert said("other.yaml").endswith("is a sweep of another experiment, or it was edited since")
    assert said("rate.yaml", "--repeats", "7").endswith("is a sweep with other options")
    assert said("rate.yaml").endswith("is a sweep with other options")
    assert not said("rate.yaml", "--no-warm-up", "--repeats", "3", "--allow-disturbed")
    assert not called("plan", "-o", "acc/").stderr.partition("\n")[0]


def test_a_line_for_run_is_one_for_plan(called: Cli, tmp_path: Path) -> None:
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    words = "--retry-failed --share-machine --tune --drop-caches --allow-misplaced --allow-disturbed"

    assert called("plan", "rate.yaml", *words.split()).returncode == 0


def test_a_job_that_squeue_forgot_is_looked_up_once(
    called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """ "stopped: cancelled, or out of time" is two reasons, which want different answers."""
    sweep = begun(tmp_path / "acc", ["n1", "n2", "n3"])
    for host, job, rc in (("n1", 7, 130), ("n2", 8, 143), ("n3", 9, 0)):
        sweep.path("log", f"{host}.{job}").write_text(f"rc={rc} stopped\n")
    asked = slurm("", "")
    sacct = tmp_path / "bin" / "sacct"
    sacct.write_text(f"#!/bin/sh\necho sacct $5 >> {tmp_path}/asked\nprintf '7|TIMEOUT\\n8|PREEMPTED\\n'\n")
    sacct.chmod(0o755)

    found = json.loads(called("status", "acc", "--format", "json").stdout)["hosts"]

    assert (found["n1"]["reason"], found["n2"]["reason"]) == ("job 7 TIMEOUT", "job 8 PREEMPTED")
    assert asked.read_text().splitlines().count("sacct 7,8") == 1


def test_where_slurm_does_not_answer_what_has_come_home_is_shown_and_no_host_is_called_lost(
    pinsweep: Cli, called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """It was asked for a minute, and then hosts at work were "lost": "its job ended without a last word"."""
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    assert pinsweep("run", "rate.yaml", "-o", "one.db", "--allow-disturbed").returncode == 0
    sweep = begun(tmp_path / "acc", ["n1", "n2", "n3", "n4"])
    for host in ("n1", "n2"):
        shutil.copy(tmp_path / "one.db", sweep.result(host))
    with sqlite3.connect(sweep.result("n2")) as db:
        db.execute("UPDATE session SET ended_utc = NULL")
    sweep.path("log", "n2.8").write_text("n2 2026-01-02T03:04:05Z pid 42\n")
    sweep.path("log", "n4.9").write_text("n4 2026-01-02T03:04:05Z pid 43\nrc=2 --setup failed\n")
    asked = slurm("", "")
    squeue = tmp_path / "bin" / "squeue"
    silent = "slurm_load_jobs error: Unable to contact slurm controller"
    squeue.write_text(squeue.read_text() + f"echo '{silent}' >&2; exit 1\n")

    done = called("status", "acc")

    assert done.returncode == 3
    assert rows(done) == ["done n1 2 of 2 –", "unknown n[2-3] 2 of 2 –", "failed n4 – --setup failed (rc 2)"]
    assert silent in done.stderr
    assert asked.read_text().split() == ["squeue"]  # once


def test_hosts_that_are_done_or_at_work_are_one_question(
    pinsweep: Cli, called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    assert pinsweep("run", "rate.yaml", "-o", "one.db", "--allow-disturbed").returncode == 0
    sweep = begun(tmp_path / "acc", ["n1", "n2"])
    shutil.copy(tmp_path / "one.db", sweep.result("n1"))
    asked = slurm("n1|7|COMPLETED|None\nn2|8|RUNNING|None\n", "")

    done = called("status", "acc")

    assert rows(done) == ["done n1 2 of 2", "running n2 –"]
    assert asked.read_text().split() == ["squeue"]


def test_another_pinsweep_and_a_wrong_clock_on_a_host_are_named(
    pinsweep: Cli, called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path
) -> None:
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    assert pinsweep("run", "rate.yaml", "-o", "one.db", "--allow-disturbed").returncode == 0
    sweep = begun(tmp_path / "acc", ["n1", "n2", "n3"], created_utc="2026-01-02T03:04:05+00:00")
    for host in sweep.hosts:
        shutil.copy(tmp_path / "one.db", sweep.result(host))
    with sqlite3.connect(sweep.result("n2")) as db:
        db.execute("UPDATE session SET pinsweep_version = '0.0.9'")
    with sqlite3.connect(sweep.result("n3")) as db:
        db.execute("UPDATE session SET started_utc = '2025-12-31T03:04:05+00:00'")
    slurm("", "")

    found = json.loads(called("status", "acc", "--format", "json").stdout)["differences"]

    assert [(one["hosts"], one["what"], one["here"]) for one in found] == [
        (["n2"], "pinsweep", "0.0.9"),
        (["n3"], "clock", "2025-12-31T03:04:05+00:00"),
    ]


@pytest.mark.parametrize("allowed", [False, True])
def test_hosts_whose_numbers_will_not_be_judged_are_named(
    pinsweep: Cli, called: Cli, slurm: Callable[[str, str], Path], tmp_path: Path, allowed: bool
) -> None:
    (tmp_path / "rate.yaml").write_text(EXPERIMENT.replace("repeats: 2", "repeats: 3"))
    assert pinsweep("run", "rate.yaml", "-o", "one.db", "--allow-disturbed").returncode == 0
    hosts = [f"n{number}" for number in range(1, 6)]
    disturbed = {"n2": 1, "n3": 2, "n5": 3}
    sweep = begun(tmp_path / "acc", hosts, *(["--allow-disturbed"] if allowed else []))
    for host in hosts:
        shutil.copy(tmp_path / "one.db", sweep.result(host))
        with sqlite3.connect(sweep.result(host)) as db:
            db.execute("UPDATE run SET status = 'ok', reason = '' WHERE NOT warm_up")
            db.execute(
                "UPDATE run SET status = 'disturbed', reason = 'x' WHERE repeat <= ? AND NOT warm_up",
                (disturbed.get(host, 0),),
            )
    slurm("", "")

    done = called("status", "acc")
    counted = json.loads(called("status", "acc", "--format", "json").stdout)["hosts"]

    assert rows(done) == ["done n[1-5] 15 of 15" + ("" if allowed else " 6")]
    assert {host: one["disturbed"] for host, one in counted.items() if one["disturbed"]} == disturbed


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("r.db", "error: r.db: is a file\nhint: pinsweep show r.db shows what is in a result file; give the folder"),
        (".", "error: .: holds no sweep of many hosts\nhint: give the folder"),
        ("none", "error: none: is not there\nhint: give the folder"),
    ],
)  # fmt: skip
def test_what_is_no_folder_of_a_sweep_is_a_mistake(name: str, said: str, called: Cli, tmp_path: Path) -> None:
    (tmp_path / "r.db").touch()

    done = called("status", name)

    assert done.returncode == 2
    assert done.stderr.startswith(said)
