"""`pinsweep fleet` and `history` as a user meets them: one real run, copied under other hosts' names with other figures."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Cli

EXPERIMENT = """\
schema: 1
title: Acceptance
tool: command
fixed:
  command: sh -c 'cat rate.txt'
  metrics:
    rate: {regex: "rate ([0-9.]+) MB/s", unit: MB/s, better: higher}
repeats: 2
"""


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory, starter: Cli) -> Path:
    """One real run."""
    folder = tmp_path_factory.mktemp("one")
    (folder / "acceptance.yaml").write_text(EXPERIMENT)
    (folder / "rate.txt").write_text("rate 1000.0 MB/s\n")
    words = ["run", "acceptance.yaml", "-o", "one.db"]
    starter(words, cwd=folder, env=os.environ, given="").check_returncode()
    return folder / "one.db"


@pytest.fixture
def hosts(one: Path, tmp_path: Path) -> Callable[..., None]:
    """Return what puts a session of a host into results/: one real run, copied under other names with other figures."""
    (tmp_path / "results").mkdir()
    chance = random.Random(3)

    def add(host: str, rate: float = 1000.0, day: int = 1) -> None:
        import zlib

        path = tmp_path / "results" / f"{len(list((tmp_path / 'results').iterdir())):03}.db"
        shutil.copy(one, path)
        with sqlite3.connect(path) as db:
            db.execute("UPDATE session SET host = ?, started_utc = ?", (host, f"2026-03-{day:02}T03:00:00+00:00"))  # fmt: skip
            db.execute("UPDATE reading SET version = 0")
            for (run_id,) in db.execute("SELECT run_id FROM run").fetchall():
                text = f"rate {rate * (1 + chance.gauss(0, 0.004)):.3f} MB/s\n".encode()
                db.execute("UPDATE output SET zlib = ?, size_bytes = ? WHERE run_id = ? AND stream = 'stdout'", (zlib.compress(text), len(text), run_id))  # fmt: skip

    return add


def nodes(done: subprocess.CompletedProcess[str]) -> dict[str, list[str]]:
    """Return status → hosts of a JSON answer."""
    return dict(json.loads(done.stdout)["nodes"])


@pytest.mark.slow
def test_a_slow_host_from_suspicion_to_verdict(called: Cli, hosts: Callable[..., None], tmp_path: Path) -> None:
    for i in range(1, 12):
        hosts(f"node{i:03}", 900.0 if i == 7 else 1000.0)

    first = called("fleet", "results")
    assert first.returncode == 0, first.stderr
    assert first.stdout.splitlines()[1] == "1 of 11 hosts looks slow: node007."
    assert shlex.split(first.stdout.splitlines()[-1]) == [
        "pinsweep", "run", "acceptance.yaml", "--only", "acceptance", "--nodes", "node[001-002,007]", "-o", "results/again-1",
    ]  # fmt: skip

    hosts("node007", 905.0)  # within an hour of the first, since the same boot: the same piece of evidence
    hosts("node007", 895.0)
    assert nodes(called("fleet", "results", "--format", "json"))["suspicious"] == ["node007"]
    hosts("node007", 905.0, day=2)
    hosts("node007", 895.0, day=3)
    second = called("fleet", "results", "-o", "fleet.html", "--format", "json")
    assert second.returncode == 1
    assert json.loads(second.stdout)["accused"] == ["node007"]
    assert "1 of 11 hosts is" in (tmp_path / "fleet.html").read_text()


def test_few_hosts_and_a_baseline(called: Cli, hosts: Callable[..., None]) -> None:
    for day in range(1, 7):
        hosts("node001", day=day)
    assert called("baseline", "add", "good", "results").returncode == 0
    for day in range(1, 4):
        hosts("node002", 850.0, day=day)

    done = called("fleet", "results", "--baseline", "good", "--threshold", "4%", "--format", "json")
    assert done.returncode == 1, done.stderr
    assert nodes(done)["broken"] == ["node002"]
    assert json.loads(done.stdout)["groups"][0]["baseline_sessions"] == 6


def test_what_is_missing_is_named_and_the_others_are_judged(
    called: Cli, hosts: Callable[..., None], tmp_path: Path
) -> None:
    pytest.importorskip("ClusterShell")
    for i in range(1, 13):
        hosts(f"node{i:03}")
    folder = tmp_path / "results"
    whole = called("fleet", "results", "--nodes", "node[001-012]")
    assert whole.returncode == 0, whole.stdout

    with sqlite3.connect(folder / "010.db") as db:
        db.execute("UPDATE run SET status = 'failed', reason = 'exit status 1: no numbers'")
    with sqlite3.connect(folder / "009.db") as db:
        db.execute("UPDATE point SET repeats = 5")
    (folder / "011.db").write_bytes((folder / "011.db").read_bytes()[:3000])
    (folder / "empty.db").touch()
    (folder / "notes.txt").write_text("of the operator")
    for words in (["results"], [str(path) for path in sorted(folder.glob("*.db"))]):
        done = called("fleet", *words, "--nodes", "node[001-014]", "--format", "json")
        assert done.returncode == 1, done.stderr
        assert nodes(done)["unknown"] == ["node011"]
        assert {gap["what"]: gap["of"] for gap in json.loads(done.stdout)["gaps"] if gap["what"] != "unreadable"} == {
            "no result": ["node012", "node013", "node014"], "no number": ["node011"], "incomplete": ["node010"],
        }  # fmt: skip
        files = [file for gap in json.loads(done.stdout)["gaps"] if gap["what"] == "unreadable" for file in gap["of"]]
        assert sorted(files) == ["011.db", "empty.db"]


@pytest.mark.slow
def test_who_is_due_and_what_suspects_share(called: Cli, hosts: Callable[..., None], tmp_path: Path) -> None:
    """Long ago, all of them; 4 of 4 suspects of 20 hosts on one switch of five, which 1 fleet in 970 has by chance."""
    names = [f"node{n:03}" for n in range(1, 21)]
    for day in (1, 2, 3):
        for name in names:
            hosts(name, rate=800.0 if name in names[4:8] else 1000.0, day=day)
    for path in (tmp_path / "results").iterdir():  # whatever the clock says here
        with sqlite3.connect(path) as db:
            db.execute("UPDATE session SET started_utc = replace(started_utc, '2026-', '2025-')")
    lines = [f"SwitchName=s{i} Level=0 LinkSpeed=1 Nodes=node[{4 * i + 1:03}-{4 * i + 4:03}]" for i in range(5)]
    (tmp_path / "topology.txt").write_text(
        "\n".join([*lines, "SwitchName=top Level=1 Nodes=node[001-020] Switches=s[0-4]"])
    )

    done = called(
        "fleet", "results", "--due", "7d", "--nodes", "node[001-021]", "--switches", "topology.txt", "--openmetrics", "f.prom", "--format", "json",
    )  # fmt: skip
    answer = json.loads(done.stdout)

    (due,) = [gap for gap in answer["gaps"] if gap["what"] == "not screened"]
    assert due["of"] == names
    assert due["reason"].startswith("last on 2025-03-03, ")
    assert answer["warnings"] == ["4 of 4 suspects are in s1: node[005-008]"]
    metrics = (tmp_path / "f.prom").read_text()
    assert 'pinsweep_fleet_verdict{host="node005",verdict="broken"} 1.0\n' in metrics
    assert 'pinsweep_fleet_missing{host="node021",what="no result"} 1.0\n' in metrics
    assert 'pinsweep_fleet_missing{host="node001",what="not screened"} 1.0\n' in metrics
    quiet = called("fleet", "results", "--due", "99999w")
    assert "not screened" not in quiet.stdout


def test_a_sweeps_folder_says_who_should_be_there(called: Cli, hosts: Callable[..., None], tmp_path: Path) -> None:
    hosts("node001")
    about = {
        "schema": 1, "id": "0123abcd", "folder": str(tmp_path / "results"), "via": "ssh", "hosts": ["node001", "node002"], "experiments": {}, "words": [], "sbatch": [],
        "setup": "", "local": "", "work": "/", "at_once": 0, "canary": False, "limits_min": {}, "user": "u", "python": "", "version": "",
        "created_utc": "",
    }  # fmt: skip
    (tmp_path / "results" / "sweep.json").write_text(json.dumps(about))

    done = called("fleet", "results", "--format", "json")

    assert [(gap["what"], gap["of"]) for gap in json.loads(done.stdout)["gaps"]] == [("no result", ["node002"])]
    assert done.returncode == 1


def test_mistakes_are_the_users(called: Cli, hosts: Callable[..., None], tmp_path: Path) -> None:
    hosts("node001")
    (tmp_path / "rules.yaml").write_text("rules:\n  - {metric: rate, floor: quick}\n  - {tolerance: 8}\n")
    for words, said in (
        (
            ("--rules", "rules.yaml"),
            ("rules.yaml:2:27: rules[1].floor", "rules.yaml:3:17: rules[2].tolerance"),
        ),
        (("-o", "results/000.db"), ("would be replaced",)),
        (("-o", "rules.yaml", "--rules", "rules.yaml"), ("would be replaced",)),
        (("--baseline", ""), ("is not a valid baseline name",)),
        (("-o", ""), ("an empty name",)),
        (("--threshold", "300%"), ("not a percentage",)),
        (("--due", "7"), ("'7' is not an age",)),
        (("--switches", "rules.yaml"), ("no line names the hosts",)),
        (("--openmetrics", "results/000.db"), ("would be replaced",)),
    ):
        done = called("fleet", "results", *words)
        assert done.returncode == 2, (words, done.stdout, done.stderr)
        assert [text for text in said if text not in done.stderr] == [], done.stderr


@pytest.mark.slow
def test_a_history_says_when_and_fails_if_asked(pinsweep: Cli, hosts: Callable[..., None], tmp_path: Path) -> None:
    pytest.importorskip("ruptures", reason="ruptures, which finds the steps, is for no such Python")
    for day in range(1, 13):
        hosts("node001", 1000.0 if day < 7 else 930.0, day=day)

    done = pinsweep(
        "history", "results", "--static", "-o", "history.html", "--format", "json", "--fail-on", "regressed"
    )
    assert done.returncode == 1, done.stderr
    (step,) = json.loads(done.stdout)["steps"]
    assert (step["started_utc"][:10], step["regressed"]) == ("2026-03-07", 1)
    assert "2026-03-07" in (tmp_path / "history.html").read_text()


def test_what_a_nightly_job_and_a_scrape_go_by(called: Cli, hosts: Callable[..., None], tmp_path: Path) -> None:
    """Suspects fail a job that asks for it; of files without a number the metrics of last night do not stay."""
    for i in range(1, 10):
        hosts(f"node{i:03}", 900.0 if i == 7 else 1000.0)
    for words, status in (([], 0), (["--fail-on", "suspicious"], 1), (["--fail-on", "not-judged"], 0), (["--fail-on", "suspect"], 2)):  # fmt: skip
        done = called("fleet", "results", "--openmetrics", "f.prom", *words)
        assert done.returncode == status, done.stderr
    assert 'pinsweep_fleet_verdict{host="node007",verdict="suspicious"} 1.0\n' in (tmp_path / "f.prom").read_text()

    for path in (tmp_path / "results").iterdir():
        with sqlite3.connect(path) as db:
            db.execute("UPDATE run SET status = 'failed', reason = 'exit status 1: no memory'")
    done = called("fleet", "results", "--openmetrics", "f.prom")
    assert done.returncode == 1
    text = (tmp_path / "f.prom").read_text()
    assert 'pinsweep_fleet_verdict{host="node007",verdict="not judged"} 1.0\n' in text
    assert 'pinsweep_fleet_missing{host="node007",what="no number"} 1.0\n' in text


def test_a_history_fails_a_job_while_the_last_nights_fail(
    called: Cli, hosts: Callable[..., None], tmp_path: Path
) -> None:
    pytest.importorskip("ruptures", reason="ruptures, which finds the steps, is for no such Python")
    for day in range(1, 15):
        hosts("node001", day=day)
    assert called("history", "results", "--fail-on", "regressed,gone,suspicious").returncode == 0

    for path in sorted((tmp_path / "results").iterdir())[-5:]:
        with sqlite3.connect(path) as db:
            db.execute("UPDATE run SET status = 'failed', reason = 'exit status 7: memory error'")
    done = called("history", "results", "--format", "json", "--fail-on", "regressed")
    assert done.returncode == 1
    (gone,) = json.loads(done.stdout)["gone"]
    assert (gone["why"], gone["since_utc"][:10], gone["sessions"]) == ("failed", "2026-03-10", 5)
    assert called("history", "results").returncode == 0


def test_a_refused_journal_costs_that_host_s_answer_only(
    pinsweep: Cli, hosts: Callable[..., None], tmp_path: Path
) -> None:
    hosts("node01")
    hosts("node02")
    (tmp_path / "results" / "001.db-journal").symlink_to("elsewhere")

    done = pinsweep("export", "results")

    assert done.returncode == 1
    assert "node01" in done.stdout
    assert "001.db" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("fleet", "results"), marks=pytest.mark.slow),
        ("audit", "results"),
        ("export", "results"),
        ("export", "results", "--format", "openmetrics"),
        pytest.param(("report", "results", "-o", "page.html", "--static"), marks=pytest.mark.slow),
        pytest.param(("history", "results"), marks=pytest.mark.slow),
    ],
)
def test_one_damaged_file_costs_that_host_s_answer_only(
    pinsweep: Cli, hosts: Callable[..., None], tmp_path: Path, words: tuple[str, ...]
) -> None:
    for night in range(1, 13):
        hosts("node01", day=night)
    hosts("node02")
    with sqlite3.connect(tmp_path / "results" / "012.db") as db:
        db.execute("UPDATE output SET zlib = zeroblob(20) WHERE stream = 'stdout'")

    done = pinsweep(*words)

    assert done.returncode == 1
    assert "012.db" in done.stdout + done.stderr
    assert "damaged" in done.stdout + done.stderr
    answer = (tmp_path / "page.html").read_text() if words[0] == "report" else done.stdout + done.stderr
    assert "node01" in answer or words[0] == "audit"
