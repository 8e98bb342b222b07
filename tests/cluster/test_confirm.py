"""A suspicious host is measured again by the lines that `fleet --confirm` prints, as they stand."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import NODES, Cluster

pytestmark = pytest.mark.slow

Experiment = Callable[..., Path]


def test_the_printed_lines_measure_again_and_change_the_verdict(
    cluster: Cluster, sweep: Path, experiment: Experiment, tmp_path: Path
) -> None:
    folder = sweep.parent
    path = experiment(repeats=1, then=f"[ ! -e {folder}/slow.$(hostname) ] || {{ echo value 500; exit; }}")
    good = folder / "good"
    bad, once = folder / "slow.node2", folder / "slow.node3"

    def fleet(*more: str) -> tuple[str, dict[str, str]]:
        asked = ("fleet", sweep, "--baseline", good / "node1.db")
        said = cluster.pinsweep(*asked, *more)
        by_word = json.loads(cluster.pinsweep(*asked, "--format", "json").stdout)["nodes"]
        return said.stdout, {host: word for word, hosts in by_word.items() for host in hosts}

    def pasted(text: str) -> str:
        lines = text[text.index("\n# node[2-3] again") :]
        done = cluster.login("sh", "-c", lines, cwd=tmp_path)  # from another folder
        assert done.returncode in (0, 1), lines + done.stdout + done.stderr
        return done.stdout

    assert cluster.pinsweep("run", path, "--nodes", "node1", "-o", good, "--wait").returncode == 0
    bad.touch()
    once.touch()
    assert cluster.pinsweep("run", path, "--nodes", NODES, "-o", sweep, "--wait").returncode == 0

    first, words = fleet("--confirm")
    assert words == {"node1": "ok", "node2": "suspicious", "node3": "suspicious"}
    assert "# node[2-3] again, with node1 as controls; this one and 1 other are missing" in first
    once.unlink()
    pasted(first)
    again, words = fleet("--confirm")
    assert (sweep / "again-1" / "node2.db").is_file()
    assert (sweep / "again-1" / "node1.db").is_file()
    pasted(again)
    third, words = fleet("--confirm")
    assert words == {"node1": "ok", "node2": "suspicious", "node3": "ok"}, (
        "three sessions of one hour are one"
    )
    assert "\nok at the 3rd try  node3\n" in third
    assert "again-3" in third
    assert "scontrol" not in third

    nights = json.loads((sweep / "sweep.json").read_text())["created_utc"][:4]
    for number, file in enumerate((sweep / "node2.db", sweep / "again-1/node2.db")):
        _another_night(file, f"{int(nights) - 1}-0{number + 1}-01T03:00:00+00:00")
    convicted, words = fleet()
    assert words["node2"] in ("slow", "broken")
    assert re.search(
        r'\nscontrol update nodename=node2 state=drain reason="pinsweep: \S.*-50 %, 3 sessions"\n', convicted
    ), convicted
    assert cluster.login("sinfo", "-h", "-n", "node2", "-p", "main", "-o", "%T").stdout.strip() == "idle"


def _another_night(path: Path, when: str) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE session SET started_utc = ?, ended_utc = ?", (when, when))
        db.execute(
            "UPDATE session SET facts = json_set(facts, '$.boot_id', ?, '$.uptime_s', 1000.0)", (when,)
        )
        db.execute("UPDATE run SET started_utc = ?", (when,))
