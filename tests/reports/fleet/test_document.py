"""What people and programs read of a fleet: document, page, JSON, metrics, the next command."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import click
import pytest
from prometheus_client.parser import text_string_to_metric_families

from pinsweep.commands.run import command as run
from reports.document import Table
from reports.fleet import again
from reports.fleet.answer import as_json, as_metrics
from reports.fleet.document import document, verdict
from reports.fleet.judge import Fleet
from reports.page.document import page
from reports.render import terminal
from tests.reports.fleet.conftest import Files


def holds(fleet: Fleet, family: str) -> dict[tuple[str, ...], float]:
    """Return the labels of a family's samples that are not 0."""
    families = {f.name: f for f in text_string_to_metric_families(as_metrics(fleet))}
    samples = families[f"pinsweep_fleet_{family}"].samples if f"pinsweep_fleet_{family}" in families else []
    return {tuple(sample.labels.values()): sample.value for sample in samples if sample.value}


@pytest.fixture
def slow(files: Files) -> Fleet:
    """n13 is slow, n14 looks slow, n15 failed."""
    files.hosts(1, 12, sessions=3).add("n13", 0.08, sessions=3).add("n14", 0.2).add("n15", status="failed")
    return files.ran("run", "e.yaml").judge(expected=["n16"])


def test_the_answer_on_a_terminal(slow: Fleet) -> None:
    text = terminal.render(document(slow, title="t", next_commands=["pinsweep run …"]))
    assert verdict(slow) == "1 of 15 hosts is slow: n13. 1 more looks slow: n14."
    assert len(text.splitlines()) <= 20
    hosts, remarks = (block for block in document(slow, title="t").blocks if isinstance(block, Table))
    assert [(row[0], row[1]) for row in hosts.rows] == [("n13", "slow"), ("n14", "suspicious")]
    assert [row[:2] for row in remarks.rows][:2] == [("n16", "no result"), ("n15", "no number")]


def test_a_page_escapes_what_hosts_are_called(files: Files) -> None:
    evil = "<script>alert(1)</script>"
    fleet = files.hosts(1, 12).add(evil, 0.15, sessions=3).judge()
    text = page(document(fleet, title=evil, page=True), draw=lambda figure: "<svg/>")
    assert evil not in text
    assert "&lt;script&gt;alert(1)" in text
    figures = {figure.id: figure for figure in document(fleet, title="t", page=True).figures()}
    assert [*figures] == ["map", "hosts"]
    worst = figures["map"].table.records()[0]
    assert (worst["host"], worst["median"]) == (evil, 14)


def test_programs_get_the_same_hosts(slow: Fleet) -> None:
    answer = json.loads(as_json(slow))
    assert answer["accused"] == answer["nodes"]["slow"] == ["n13"]
    assert answer["folded"]["ok"] == "n[01-12]"
    assert {row["node"] for row in answer["odd"]} == {"n13", "n14"}
    assert {gap["what"]: gap["of"] for gap in answer["gaps"]} == {"no result": ["n16"], "no number": ["n15"]}
    assert holds(slow, "verdict") == {
        **{(f"n{n:02}", "ok"): 1 for n in range(1, 13)}, ("n13", "slow"): 1, ("n14", "suspicious"): 1, ("n15", "not judged"): 1,
    }  # fmt: skip
    assert holds(slow, "missing") == {("n16", "no result"): 1, ("n15", "no number"): 1}
    assert holds(slow, "sessions")["n13",] == 3
    assert ("n15",) not in holds(slow, "last_session_timestamp_seconds")


def test_two_groups_and_incomplete_hosts_in_metrics(files: Files) -> None:
    files.hosts(1, 4, sessions=3).hosts(5, 8, sessions=3, slower=0.25, latency=0.25)
    assert holds(files.judge(), "worse_half") == {(f"n0{n}",): 12 for n in range(5, 9)}


def test_the_next_command_measures_suspects_and_good_hosts(files: Files, tmp_path: Path) -> None:
    files.hosts(1, 10).add("n11", 0.12).add("n12", 0.09)
    fleet = files.ran(
        "run",
        "my exp.yaml",
        "-o",
        "old.db",
        "--seed=4",
        "--cells",
        "bs=4k,a b",
        "--home",
        "h",
        "--allow-write",
        "x",
    ).judge()
    (tmp_path / "again-1").mkdir()
    assert shlex.split(again.rerun_command(fleet, tmp_path)) == [
        "pinsweep", "run", "my exp.yaml", "--cells", "bs=4k,a b", "--only", "scaling", "--nodes", "n[01-02,11-12]", "-o", f"{tmp_path}/again-2",
    ]  # fmt: skip
    assert again.drain_command(fleet) == ""
    assert "\n" not in again.rerun_command(files.add("n13\ntouch x", 0.2).ran("run", "e.yaml").judge(), tmp_path)
    assert again.rerun_command(files.ran("parse", "x.txt").judge(), tmp_path) == ""


def test_slow_hosts_can_be_drained(slow: Fleet) -> None:
    assert shlex.split(again.drain_command(slow)) == [
        "scontrol", "update", "nodename=n13", "state=drain", "reason=pinsweep: slow",
    ]  # fmt: skip


def test_every_option_of_run_is_left_out_or_harmless() -> None:
    harmless = {"--quiet", "--allow-misplaced", "--allow-disturbed", "--share-machine", "--strict", "--cells", "--repeats", "--no-warm-up", "--unpinned"}  # fmt: skip
    options = {name for param in run.params if isinstance(param, click.Option) for name in param.opts if name[:2] == "--"}  # fmt: skip
    assert options - harmless == {name for name in again._NOT_AGAIN if name[:2] == "--"}
