"""`pinsweep status` and `run -o` of a sweep by Slurm, whose commands print fixed texts here."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import pwd
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
USER = pwd.getpwuid(os.getuid()).pw_name
Slurm = Callable[..., Path]


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Slurm:
    """slurm(squeue="", sinfo="", …): what each command prints → a file with a line per call."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def prints(*, more: str = "", **texts: str) -> Path:
        for name, text in ({"squeue": "", "sinfo": "", "sbatch": "7"} | texts).items():
            (tmp_path / name).write_text(text)
            path = tmp_path / "bin" / name
            path.write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/calls\ncat {tmp_path}/{name}\n{more}\n")
            path.chmod(0o755)
        return tmp_path / "calls"

    return prints


def idle(*hosts: str) -> str:
    return "".join(f"{host}|idle|1:2:1|(null)|main*|infinite|none\n" for host in hosts)


@pytest.fixture
def one(pinsweep: Cli, tmp_path: Path) -> Path:
    """The result file of a host that is done."""
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    assert pinsweep("run", "rate.yaml", "-o", "one.db", "--allow-disturbed").returncode == 0
    return tmp_path / "one.db"


def change(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Sweep]:
    """make(hosts, **changes) → the sweep in acc/."""
    return functools.partial(begin, tmp_path / "acc")


def begin(where: Path, *hosts: str, **changes: Any) -> Sweep:
    """Make the folder of a sweep that no host has answered."""
    sweep = Sweep(
        id="3f9a12bc",
        folder=str(where),
        via="slurm",
        hosts=hosts,
        experiments={"rate.yaml": folder.digest(EXPERIMENT)},
        words=(),
        user="bench",
        version=__version__,
        python="/opt/pinsweep/bin/python",
    )
    sweep = dataclasses.replace(sweep, **changes)
    folder.make(sweep, {"rate.yaml": EXPERIMENT}, "")
    return sweep


@pytest.fixture
def status(called: Cli) -> Callable[[], dict[str, Any]]:
    """What `status acc --format json` prints."""
    return lambda: json.loads(called("status", "acc", "--format", "json").stdout)


def states(answer: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {host: (row["state"], row["reason"]) for host, row in answer["hosts"].items()}


def rows(text: str) -> list[str]:
    """Return the rows of the table of hosts, with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines() if line.startswith("  ")][1:]


def test_each_bad_file_is_named_and_the_others_are_judged(
    called: Cli, slurm: Slurm, one: Path, make: Callable[..., Sweep], status: Callable[[], dict[str, Any]]
) -> None:
    hosts = [f"n{number:02}" for number in range(1, 15)]
    sweep = make(*hosts)
    for host in hosts[:-1]:
        shutil.copy(one, sweep.result(host))
        change(sweep.result(host), f"UPDATE session SET host = '{host}'")
        sweep.path("log", f"{host}.7").write_text("rc=0 complete\n")
    whole = sweep.result("n09").read_bytes()
    sweep.result("n09").write_bytes(whole[: len(whole) // 2])
    sweep.result("n10").write_bytes(b"")
    sweep.result("n11").unlink()
    sweep.result("n11").symlink_to("n11.db")  # cannot be read, not even by root
    tables = ("output", "measurement", "reading_table", "reading", "run")
    change(
        sweep.result("n12"),
        *(f"DELETE FROM {table} WHERE run_id = 2" for table in tables),
        "UPDATE session SET ended_utc = NULL",
    )
    sweep.result("n13").unlink()  # n14 never had any
    slurm(sinfo=idle(*hosts))

    answer, fleet = status(), called("fleet", "acc", "--format", "json")

    assert (answer["exit_status"], fleet.returncode) == (1, 1)
    found = states(answer)
    assert {found[host] for host in hosts[:8]} == {("done", "")}
    for host in ("n09", "n10", "n11"):
        assert found[host][0] == "failed"
        assert found[host][1].startswith(f"{host}.db: ")
    assert [found[host][0] for host in ("n12", "n13", "n14")] == ["failed", "failed", "not submitted"]
    assert {(gap["what"], *gap["of"]) for gap in json.loads(fleet.stdout)["gaps"]} == {
        ("no result", "n09", "n10", "n11", "n13", "n14"),
        ("incomplete", "n12"),
        *(("unreadable", f"n{n:02}.db") for n in (9, 10, 11)),
    }


def test_no_job_is_submitted_where_a_file_has_to_be_moved_away_first(
    called: Cli, slurm: Slurm, one: Path, make: Callable[..., Sweep]
) -> None:
    """Such a job can only fail: neither a damaged file is continued nor another host's."""
    sweep = make("n1", "n2", "n3.site", user=USER)
    for host in ("n1", "n3.site"):
        shutil.copy(one, sweep.result(host))
        change(sweep.result(host), "UPDATE session SET host = 'n1.site'")
    sweep.result("n2").write_text("garbage")
    calls = slurm(sinfo=idle("n1", "n2", "n3.site"))

    done = called("run", "-o", "acc", "--format", "json")

    assert done.returncode == 1
    assert [word for word, _ in states(json.loads(done.stdout)).values()] == ["done", "failed", "failed"]
    assert "sbatch" not in calls.read_text()


def test_a_copied_or_moved_folder_says_where_the_sweep_is(
    called: Cli, slurm: Slurm, make: Callable[..., Sweep], tmp_path: Path
) -> None:
    sweep = make("n1")
    slurm(sinfo=idle("n1"))
    shutil.copytree(sweep.folder, tmp_path / "copy")

    copied = called("status", "copy").stderr
    shutil.rmtree(sweep.folder)
    moved = called("status", "copy").stderr

    assert sweep.folder in copied
    assert f"pinsweep run -o {tmp_path / 'copy'}" not in copied
    assert f"pinsweep run -o {tmp_path / 'copy'}" in moved


@pytest.mark.parametrize(("reason", "exit_status"), [(AT_ONCE, 0), ("ssh: No route to host", 1)])
def test_a_host_that_waits_for_its_turn_is_no_failure(
    make: Callable[..., Sweep], reason: str, exit_status: int
) -> None:
    words: Any = (("n1", "done", ""), ("n2", "running", ""), ("n3", "not submitted", reason))
    hosts = tuple(State(host=host, word=word, reason=why) for host, word, why in words)
    view = View(sweep=make("n1", "n2", "n3"), states=hosts)

    assert (view.exit_status_of_run, view.exit_status) == (exit_status, 3)


def test_a_thousand_hosts_are_two_questions(called: Cli, slurm: Slurm, make: Callable[..., Sweep]) -> None:
    hosts = [f"n{number:04}" for number in range(1, 1001)]
    make(*hosts)
    jobs = [f"{host}|{number}|PENDING|Priority" for number, host in enumerate(hosts[:600], 1)]
    jobs += [f"{host}|{number}|RUNNING|None" for number, host in enumerate(hosts[600:900], 601)]
    nodes = idle(*hosts[:950]) + idle(*hosts[950:]).replace("idle", "drained").replace("none", "bad DIMM")
    calls = slurm(squeue="\n".join(jobs), sinfo=nodes)

    done = called("status", "acc")

    assert done.returncode == 3
    assert rows(done.stdout) == [
        "running n[0601-0900] –",
        "queued n[0001-0600] Priority",
        "not submitted n[0901-0950] –",
        'skipped n[0951-1000] drained "bad DIMM"',
    ]
    assert sorted(calls.read_text().split()) == ["sinfo", "squeue"]


@pytest.mark.parametrize(
    ("words", "exit_status"),
    [
        (("other.yaml", "--nodes", "n1"), 2),
        (("rate.yaml", "--nodes", "n1", "--repeats", "7"), 2),
        (("rate.yaml", "--nodes", "n1"), 2),
        (("rate.yaml", "--nodes", "n1", "--no-warm-up", "--repeats", "3", "--allow-disturbed"), 0),
        ((), 0),
    ],
)
def test_a_plan_for_the_folder_of_another_sweep_is_refused_as_the_run_is(
    called: Cli,
    slurm: Slurm,
    make: Callable[..., Sweep],
    tmp_path: Path,
    words: tuple[str, ...],
    exit_status: int,
) -> None:
    make("n1", words=("--allow-disturbed", "--repeats", "3", "--no-warm-up"), user=USER)
    slurm(sinfo=idle("n1"))
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    (tmp_path / "other.yaml").write_text(EXPERIMENT)

    assert called("plan", *words, "-o", "acc/").returncode == exit_status


def test_plan_takes_the_options_of_run(called: Cli, tmp_path: Path) -> None:
    (tmp_path / "rate.yaml").write_text(EXPERIMENT)
    words = "--retry-failed --share-machine --tune --drop-caches --allow-misplaced --allow-disturbed"

    assert called("plan", "rate.yaml", *words.split()).returncode == 0


def test_sacct_is_asked_once_about_jobs_that_squeue_does_not_list(
    slurm: Slurm, make: Callable[..., Sweep], status: Callable[[], dict[str, Any]]
) -> None:
    sweep = make("n1", "n2", "n3")
    for host, job, rc in (("n1", 7, 130), ("n2", 8, 143), ("n3", 9, 0)):
        sweep.path("log", f"{host}.{job}").write_text(f"rc={rc} stopped\n")
    calls = slurm(sacct="7|TIMEOUT\n8|PREEMPTED\n")

    found = states(status())

    assert [found[host][1] for host in ("n1", "n2")] == ["job 7 TIMEOUT", "job 8 PREEMPTED"]
    assert calls.read_text().split().count("sacct") == 1


def test_without_an_answer_of_slurm_no_host_is_lost(
    slurm: Slurm, one: Path, make: Callable[..., Sweep], status: Callable[[], dict[str, Any]]
) -> None:
    sweep = make("n1", "n2", "n3", "n4")
    for host in ("n1", "n2"):
        shutil.copy(one, sweep.result(host))
    change(sweep.result("n2"), "UPDATE session SET ended_utc = NULL")
    sweep.path("log", "n2.8").write_text("n2 2026-01-02T03:04:05Z pid 42\n")
    sweep.path("log", "n4.9").write_text("n4 2026-01-02T03:04:05Z pid 43\nrc=2 --setup failed\n")
    silent = "slurm_load_jobs error: Unable to contact slurm controller"
    calls = slurm(more=f"echo '{silent}' >&2; exit 1")

    answer = status()

    assert answer["exit_status"] == 3
    assert [word for word, _ in states(answer).values()] == ["done", "unknown", "unknown", "failed"]
    assert silent in answer["problem"]
    assert calls.read_text().split() == ["squeue"]  # once


def test_hosts_that_are_done_or_at_work_are_one_question(
    slurm: Slurm, one: Path, make: Callable[..., Sweep], status: Callable[[], dict[str, Any]]
) -> None:
    shutil.copy(one, make("n1", "n2").result("n1"))
    calls = slurm(squeue="n1|7|COMPLETED|None\nn2|8|RUNNING|None\n")

    assert [word for word, _ in states(status()).values()] == ["done", "running"]
    assert calls.read_text().split() == ["squeue"]


def test_another_pinsweep_and_a_wrong_clock_are_named(
    slurm: Slurm, one: Path, make: Callable[..., Sweep], status: Callable[[], dict[str, Any]]
) -> None:
    sweep = make("n1", "n2", "n3", created_utc="2026-01-02T03:04:05+00:00")
    for host in sweep.hosts:
        shutil.copy(one, sweep.result(host))
    change(sweep.result("n2"), "UPDATE session SET pinsweep_version = '0.0.9'")
    change(sweep.result("n3"), "UPDATE session SET started_utc = '2025-12-31T03:04:05+00:00'")
    slurm()

    assert [(row["hosts"], row["what"], row["here"]) for row in status()["differences"]] == [
        (["n2"], "pinsweep", "0.0.9"),
        (["n3"], "clock", "2025-12-31T03:04:05+00:00"),
    ]


@pytest.mark.parametrize("words", [(), ("--allow-disturbed",)])
def test_disturbed_runs_are_counted_unless_they_are_allowed(
    called: Cli, slurm: Slurm, one: Path, make: Callable[..., Sweep], words: tuple[str, ...]
) -> None:
    sweep = make("n1", "n2", words=words)
    for host, repeats in (("n1", 0), ("n2", 2)):
        shutil.copy(one, sweep.result(host))
        change(
            sweep.result(host),
            "UPDATE run SET status = 'ok', reason = '' WHERE NOT warm_up",
            f"UPDATE run SET status = 'disturbed', reason = 'x' WHERE repeat <= {repeats} AND NOT warm_up",
        )
    slurm()

    assert rows(called("status", "acc").stdout) == ["done n[1-2] 4 of 4" + ("" if words else " 2")]


@pytest.mark.parametrize(("name", "hint"), [("r.db", "pinsweep show r.db"), (".", "-o DIR/"), ("none", "-o DIR/")])
def test_a_place_without_a_sweep_is_a_mistake(name: str, hint: str, called: Cli, tmp_path: Path) -> None:
    (tmp_path / "r.db").touch()

    done = called("status", name)

    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {name}: ")
    assert hint in done.stderr
