"""Fleets from result files: who is slow and in what, groups of hardware, rules, the commands that confirm, the page."""

from __future__ import annotations

import json
import random
import shlex
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.yaml_nodes import ExperimentError
from parsers.errors import UserError
from reports import fleet, fleet_page, fleet_text, frames, hardware, render, series
from reports.nodes import folded
from reports.rules import parse


class Fleet:
    """Result files of nodes whose STREAM and MLC figures are near each other, by 0.5 % of noise.

    `good`: files of good nodes by host; they are copied, with what was parsed in them, where such a node is asked for.
    """

    def __init__(self, make: Any, folder: Path, good: Mapping[str, Path] | None = None) -> None:
        self.make, self.folder, self.good = make, folder, good or {}
        self.chance, self.files = random.Random(1), list[Path]()

    def add(
        self, host: str, slower: float = 0.0, *, facts: Mapping[str, Any] | None = None, sessions: int = 1, mlc: bool = True,
        latency: float = 0.0,
    ) -> Fleet:  # fmt: skip
        for _ in range(sessions):
            path = self.folder / f"{len(self.files):04}.db"
            maker = self.make.Maker(path, host=host)
            maker.facts = {**self.make.FACTS, **(facts or {})}
            for threads, base in ((1, 10e3), (4, 20e3)):
                rate = base * (1 + self.chance.gauss(0, 0.005)) / (1 + slower)
                text = self.make.stream_text(rate, threads)
                maker.add("scaling", "stream", {"threads": threads}, text, axes=("threads",))
            if mlc:
                idle = 80 * (1 + self.chance.gauss(0, 0.005)) * (1 + latency)
                text = self.make.matrix_text([[idle, idle * 1.7], [idle * 1.7, idle]])
                maker.add("matrix", "mlc", {"mode": "latency_matrix"}, text, axes=("mode",))
            self.files.append(maker.write())
        return self

    def nodes(self, numbers: Sequence[int], *, sessions: int = 1, **more: Any) -> Fleet:
        for number in numbers:
            host = f"node{number:03}"
            if host in self.good and not more:
                for _ in range(sessions):
                    copy = shutil.copy(self.good[host], self.folder / f"{len(self.files):04}.db")
                    self.files.append(Path(copy))
            else:
                self.add(host, sessions=sessions, **more)
        return self

    def report(self, **more: Any) -> fleet.Report:
        return fleet.build(frames.load(self.files), **more)


@pytest.fixture(scope="module")
def good(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    made = Fleet(make, tmp_path_factory.mktemp("good")).nodes(range(1, 13)).files
    return {machine.host: path for machine, path in zip(frames.load(made).machines, made, strict=True)}


@pytest.fixture
def past(make: Any, tmp_path: Path, good: Mapping[str, Path]) -> Fleet:
    (tmp_path / "past").mkdir()
    return Fleet(make, tmp_path / "past", good)


@pytest.fixture
def some(make: Any, tmp_path: Path, good: Mapping[str, Path]) -> Fleet:
    return Fleet(make, tmp_path, good)


def test_one_session_makes_suspects_and_three_make_a_verdict(some: Fleet) -> None:
    some.nodes(range(1, 13)).add("node013", 0.08).add("node014", 0.2).add("node015", -0.1)
    first = some.report()
    assert first.by_status()["suspicious"] == ["node013", "node014"]
    assert first.by_status()["fast"] == ["node015"]
    assert first.accused == ()
    assert set(first.rerun) == {"node013", "node014"}
    assert first.rerun["node013"] == ("scaling",)

    some.add("node013", 0.08, sessions=2).add("node014", 0.2, sessions=2)
    second = some.report()
    assert second.statuses["node013"] == "slow"
    assert second.statuses["node014"] == "broken"
    assert second.accused == ("node013", "node014")
    assert second.odd[0].node == "node014"
    assert second.odd[0].change == pytest.approx(-1 / 6, abs=0.02)
    assert not second.rerun


def test_a_lone_odd_latency_is_found_in_its_own_numbers(some: Fleet) -> None:
    report = some.nodes(range(1, 13)).add("node013", latency=0.12, sessions=3).report()

    own = {o.series.key.tool for o in report.odd if o.node == "node013"}
    assert own == {"mlc"}
    assert report.odd[0].change == pytest.approx(0.12, abs=0.02)
    assert report.odd[0].found.worse == pytest.approx(0.12, abs=0.02)


def test_other_hardware_is_another_group_and_says_in_what(some: Fleet) -> None:
    some.nodes(range(1, 10))
    half = {"memory_bytes": 8 * 2**30 - 300_000_000}
    report = some.nodes(range(10, 12), facts=half, slower=0.3).report()

    big, small = report.groups
    assert big.apart == ""
    assert small.apart == "memory 8 GiB, not 16 GiB"
    assert not small.judged
    assert report.by_status()["unknown"] == ["node010", "node011"]
    assert "fewer than 8 such nodes" in fleet_text.as_text(report)


def test_two_machines_of_one_name_are_two_nodes(some: Fleet) -> None:
    some.nodes(range(1, 9)).add("node001", facts={"cpu_model": "another"})
    report = some.report()

    assert len(report.statuses) == 9
    (warning,) = report.warnings
    assert "several machines are called node001" in warning
    assert "processor another, not " in warning


def test_few_nodes_are_judged_by_a_baseline(some: Fleet, past: Fleet) -> None:
    past.nodes(range(1, 7))
    some.add("node001", sessions=3).add("node002", 0.09, sessions=3)
    report = some.report(baseline=frames.load(past.files))
    assert report.statuses == {"node001": "ok", "node002": "slow"}
    assert report.groups[0].baseline == 6


def test_a_baseline_of_other_hardware_is_none(some: Fleet, past: Fleet) -> None:
    past.add("old", facts={"cpu_model": "an old one"})
    report = some.add("node001").report(baseline=frames.load(past.files))
    assert report.statuses == {"node001": "unknown"}
    assert "the baseline has none of these numbers from this hardware" in report.warnings[0]


def test_what_is_special_about_a_slow_node(some: Fleet) -> None:
    report = some.nodes(range(1, 10)).add("node010", 0.1, sessions=3, facts={"microcode": "0xd0"}).report()

    assert report.differing == {"node010": ("microcode 0xd0, not 0xf0",)}
    assert "microcode 0xd0, not 0xf0" in fleet_text.as_text(report)


def test_numbers_that_some_nodes_lack_are_named(some: Fleet) -> None:
    report = some.nodes(range(1, 10)).nodes((10, 12), mlc=False).report()

    assert report.missing == (("matrix, mode=latency_matrix", ("node010", "node012")),)
    assert "matrix, mode=latency_matrix: node[010,012]" in fleet_text.as_text(report)


def test_a_node_that_gave_nothing_is_named(some: Fleet, make: Any) -> None:
    some.nodes(range(1, 10))
    maker = make.Maker(some.folder / "dead.db", host="node010")
    maker.add("scaling", "stream", {"threads": 1}, "", axes=("threads",), status="failed")
    some.files.append(maker.write())

    text = fleet_text.as_text(some.report())
    assert text.startswith("10 nodes: 9 ok, 1 not judged\n")
    assert "  not judged  node010\n" in text
    with pytest.raises(UserError, match="no run gave a number") as caught:
        fleet.build(frames.load(some.files[-1:]))
    assert caught.value.place == "dead.db"


def test_the_last_digit_of_a_program_that_nobody_knows_counts(make: Any, tmp_path: Path) -> None:
    """Its figures are tens: 100 and 110 may be the same."""
    files = []
    for number, rate in enumerate((100, 110, 120, 90, 80, 70, 110, 100, 90)):
        maker = make.Maker(tmp_path / f"{number}.db", host=f"n{number}")
        metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "1/s", "better": "higher"}}
        maker.add("zip", "command", {"command": "zip", "metrics": metrics}, f"rate {rate}\n")
        files.append(maker.write())

    (one,) = series.collect(frames.load(files))
    assert {value.number.step for value in one.values} == {10.0}
    assert one.resolution == pytest.approx(0.1)


# --- rules -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [("bandwidth", 4), ("triad bandwidth", 1), ("*bandwidth", 4), ("triad*", 1), ("p99", 1), ("latency p99", 1),
     ("latency", 0), ("read latency p*", 2), ("read IOPS", 1)],
)  # fmt: skip
def test_a_rule_names_a_number_as_the_table_does(make: Any, tmp_path: Path, pattern: str, fits: int) -> None:
    maker = make.Maker(tmp_path / "a.db").add("s", "stream", {"threads": 4}, make.stream_text(2e4, 4))
    text = make.fio_text(
        {"read": (1e4, 90.0)}, bs="4k", rw="randread", iodepth=1, samples={"read": (90.0, 0.2)}
    )
    maker.add("disk", "fio", {"rw": "randread"}, text)
    (rule,) = parse(f"rules:\n  - {{metric: '{pattern}', tolerance: 8 %}}\n", "r.yaml")

    assert sum(map(rule.fits, series.collect(frames.load([maker.write()])))) == fits


def test_a_floor_and_a_tolerance_of_the_sites_own(some: Fleet) -> None:
    some.nodes(range(1, 10), sessions=3)
    rules = parse(
        "rules:\n"
        "  - {metric: bandwidth, where: {kernel: triad, threads: 4}, floor: 25 GB/s}\n"
        "  - {metric: nothing, floor: 1 ns}\n",
        "r.yaml",
    )
    report = some.report(rules=rules)

    assert set(report.by_status()["broken"] + report.by_status()["slow"]) == set(report.statuses)
    assert {o.found.reason for o in report.odd} == {"beyond the floor"}
    assert {o.series.name for o in report.odd} == {"scaling, threads=4: triad bandwidth"}
    assert report.warnings == ("r.yaml:3:5: this rule fits no number of these files",)

    once = some.folder / "once"
    once.mkdir()
    many = Fleet(some.make, once, some.good).nodes(range(1, 13))
    below = many.report(rules=rules[:1])
    assert len(below.rerun) == 12
    assert below.warnings == ()  # a floor that all are below is no scatter of the runs
    for number in range(20, 30):
        many.add(f"node{number:03}", 0.1)
    assert "the runs scatter" in many.report().warnings[-1]

    tight = parse("rules: [{tool: stream, tolerance: 0.1 %}]", "r.yaml")
    assert {o.found.reason for o in some.report(rules=tight).odd} == {"beyond the tolerance"}


def test_every_mistake_in_the_rules_at_once() -> None:
    text = "rules:\n - {metrics: x, floor: fast}\n - {tolerance: 120 %}\n - {sweep: on, floor: 1 GB/s}\n - {metric: x}\nfoo: 1\n"
    with pytest.raises(ExperimentError) as caught:
        parse(text, "r.yaml")
    assert [(m.mark.line, m.key) for m in caught.value.mistakes] == [
        (2, "rules[1].metrics"), (2, "rules[1].floor"), (3, "rules[2].tolerance"), (4, "rules[3].sweep"),
        (5, "rules[4]"), (6, "foo"),
    ]  # fmt: skip
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("rules: [{floor: 1e999 GB/s}]", "worse than any number"),
        ("rules: [{floor: 0 ns}]", "worse than any number"),
        ("rules: [{floor: [1]}]", "a list where one value belongs"),
    ],
)
def test_a_rule_that_cannot_be_meant(text: str, said: str) -> None:
    with pytest.raises(ExperimentError, match=said) as caught:
        parse(text, "r.yaml")
    assert "init" not in caught.value.hint  # it is no experiment that is to be written


def test_a_floor_in_another_unit_is_a_mistake_of_that_rule(some: Fleet) -> None:
    some.nodes(range(1, 9))
    with pytest.raises(ExperimentError, match="is in ns, but scaling, threads=1: copy bandwidth is in B/s"):
        some.report(rules=parse("rules:\n  - {metric: bandwidth, floor: 90 ns}\n", "r.yaml"))
    with pytest.raises(ExperimentError, match="floor: has no unit, but scaling"):
        some.report(rules=parse("rules:\n  - {metric: bandwidth, floor: 90}\n", "r.yaml"))


# --- confirming --------------------------------------------------------------------------------------------


def sessions_ran(files: Sequence[Path], argv: Sequence[str]) -> None:
    for path in files:
        with sqlite3.connect(path) as db:
            db.execute("UPDATE session SET argv = ?", (json.dumps(list(argv)),))


def test_the_commands_name_nodes_and_sweeps_and_are_single_words_to_a_shell(some: Fleet) -> None:
    some.nodes(range(1, 10)).add("node010", 0.12).add("node011", 0.09)
    sessions_ran(some.files, ["run", "my exp.yaml", "-o", "old.db", "--seed=4", "--scratch", "/scratch/a b"])
    text = fleet_text.confirm(
        some.report(), ["pinsweep", "fleet", "res ults/"], via="clush", folder="/cluster/a b"
    )

    _, clush, _, again = text.splitlines()
    program, b, w, nodes, remote = shlex.split(clush)
    assert (program, b, w, nodes) == ("clush", "-b", "-w", "node[010-011]")
    assert shlex.split(remote) == [
        "cd", "/cluster/a b", "&&", "pinsweep", "run", "my exp.yaml", "--scratch", "/scratch/a b", "--only", "scaling",
    ]  # fmt: skip
    assert shlex.split(again) == ["pinsweep", "fleet", "res ults/"]

    slurm = fleet_text.confirm(
        some.report(), ["pinsweep", "fleet", "r"], via="slurm", folder="/h"
    ).splitlines()[1:3]
    assert [shlex.split(line)[:4] for line in slurm] == [["sbatch", "-w", n, "-N1"] for n in ("node010", "node011")]  # fmt: skip
    ssh = fleet_text.confirm(some.report(), ["pinsweep", "fleet", "r"], via="ssh", folder="/h").splitlines()[
        1
    ]
    assert shlex.split(ssh)[:3] == ["ssh", "--", "node010"]


@given(
    st.lists(
        st.sampled_from(["-o", "--output", "--seed", "--only", "--retry-failed", "--strict", "a.yaml", "x"])
    )
)
def test_a_session_of_its_own_keeps_what_it_was_run_with(words: list[str]) -> None:
    again = fleet_text.again(["run", *words], ["s"])
    assert again[:2] == ("pinsweep", "run")
    assert again[-2:] == ("--only", "s")
    assert not {"-o", "--output", "--seed", "--retry-failed"} & set(again)
    assert fleet_text.again(["parse", *words], ["s"]) == ()


def test_a_hosts_name_never_begins_a_line_of_the_commands(some: Fleet) -> None:
    some.nodes(range(1, 10)).add("node010\ntouch pwned", 0.09).add("$(touch pwned)", 0.09)
    for argv in (["run", "e.yaml"], ["parse", "x.txt"]):
        sessions_ran(some.files, argv)
        for via in fleet_text.VIAS:
            text = fleet_text.confirm(some.report(), ["pinsweep", "fleet", "r"], via=via, folder="/h")
            assert {line.split()[0] for line in text.splitlines()} <= {
                "#",
                "clush",
                "ssh",
                "sbatch",
                "pinsweep",
            }


def test_of_captured_output_nothing_is_run_again(some: Fleet) -> None:
    some.nodes(range(1, 10)).add("node010", 0.09)
    sessions_ran(some.files, ["parse", "stream", "x.txt"])
    text = fleet_text.confirm(some.report(), ["pinsweep", "fleet", "r"], via="clush", folder="/h")
    assert "of captured output there is no command" in text
    assert "clush" not in text


# --- names, texts, pages -----------------------------------------------------------------------------------


def test_nodes_are_folded_and_come_back() -> None:
    assert folded(["node017", "node003"]) == "node[003,017]"
    assert folded(["a b", "n1", "x[1", "n2", "@g"]) == "n[1-2],@g,a b,x[1"
    assert folded([]) == ""


@given(st.sets(st.integers(0, 999), min_size=1, max_size=40))
def test_a_folded_list_holds_the_same_nodes(numbers: set[int]) -> None:
    from ClusterShell.NodeSet import NodeSet

    names = {f"node{n:03}" for n in numbers}
    assert set(NodeSet(folded(names))) == names


def test_the_memory_that_is_installed() -> None:
    assert [hardware.installed(b) for b in (263012155392, 16541093888, 202_480_000_000, 184 * 2**30, None, 0)] == [
        "256 GiB", "16 GiB", "192 GiB", "192 GiB", "", "",
    ]  # fmt: skip


def test_the_documents_hold_everything_that_is_odd(some: Fleet) -> None:
    report = some.nodes(range(1, 13)).add("node013", 0.08, sessions=3).report()
    document = json.loads(fleet_text.as_json(report))

    assert document["nodes"]["slow"] == ["node013"]
    assert document["folded"]["ok"] == "node[001-012]"
    assert len(document["odd"]) == len(report.odd) == 8
    assert {o["unit"] for o in document["odd"]} == {"B/s"}
    assert "node013  slow" in fleet_text.as_text(report)


def test_the_page_names_links_and_escapes(some: Fleet, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    some.nodes(range(1, 13)).add(evil, 0.15, sessions=3)
    some.files[-1].with_suffix(".html").write_text("its own report")
    report = some.report()
    links = fleet_page.beside(some.files, tmp_path / "fleet.html")
    page = render.html(fleet_page.build(report, title=evil, links=links))

    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page
    assert f'<a href="{some.files[-1].stem}.html">' in page
    assert page.count("Figure 1") == 1
    assert 'href="#runs"' not in page
    one = fleet_page.build(report, title="t", links={}).sections[0].blocks[0].figures[0]
    assert one.title == "One of 13 nodes is slow"
    strict = fleet_page.build(some.report(threshold=0.05), title="t", links={})
    assert "Slow: z above 3 and 5 % worse" in " ".join(strict.methods)


def test_a_thousand_nodes_fit_a_page(some: Fleet) -> None:
    """Dots that fall on one pixel are one dot: the picture does not grow with the fleet."""
    from reports.charts import _strip
    from reports.verdicts.fleet import Metric, judge_fleet

    report = some.nodes(range(1, 13)).report()
    one = report.groups[0].strips[0][0]
    chance = random.Random(2)
    values = {f"n{i}": [chance.gauss(20e9, 0.1e9)] for i in range(1000)}
    strips = judge_fleet([Metric(key=one.key, group="", better="higher", values=values)]).strips
    group = fleet.Group(
        hardware=report.groups[0].hardware,
        nodes=tuple(values),
        strips=((one, strips[0]),),
        apart="",
        baseline=0,
    )
    figure = _strip.figure(group, report, 1, several=False)
    assert figure is not None
    assert len(figure.panels[0].wide["datasets"]["dots"]) < 250
