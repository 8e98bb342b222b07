"""Fleets from result files: who is slow and in what, groups of hardware, rules, the commands that confirm, the page."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
import re
import shlex
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.experiment.yaml_nodes import ExperimentError
from orchestrator.model import Group
from orchestrator.store.result_file import Session
from pinsweep.commands.run import command as run
from reports.fleet import confirm, heat, outliers, strip
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.fleet.confirm import Way
from reports.fleet.gaps import Gap
from reports.fleet.limits import parse
from reports.numbers import series
from reports.page import html
from reports.results import hardware
from reports.results.load import load
from reports.text import format as fmt
from reports.text.hostlist import folded
from reports.text.screen import Screen
from reports.verdicts.fleet import CHANCE, Status

pytestmark = pytest.mark.usefixtures("undrawn")


class Fleet:
    """Result files of hosts whose STREAM and MLC figures are near each other, by 0.5 % of noise.

    `good`: files of good hosts by name; they are copied, with what was parsed in them, where such a host is asked for.
    """

    def __init__(self, make: Any, folder: Path, good: Mapping[str, Path] | None = None) -> None:
        self.make, self.folder, self.good = make, folder, good or {}
        self.chance, self.files = random.Random(1), list[Path]()

    def add(
        self, host: str, slower: float = 0.0, *, facts: Mapping[str, Any] | None = None, sessions: int = 1, mlc: bool = True,
        latency: float = 0.0, file: str = "",
    ) -> Fleet:  # fmt: skip
        for _ in range(sessions):
            path = self.folder / (file or f"{len(self.files):04}.db")
            maker = self.make.Maker(path, host=host)
            maker.facts = {**self.make.FACTS, **(facts or {})}
            for threads, base in ((1, 10e3), (4, 20e3)):
                rate = base * (1 + self.chance.gauss(0, 0.005)) / (1 + slower)
                text = self.make.stream_text(rate, threads)
                maker.add(
                    "scaling",
                    "stream",
                    {"threads": threads},
                    text,
                    axes=("threads",),
                    repeat=self.repeat(path),
                )
            if mlc:
                idle = 80 * (1 + self.chance.gauss(0, 0.005)) * (1 + latency)
                text = self.make.matrix_text([[idle, idle * 1.7], [idle * 1.7, idle]])
                maker.add("matrix", "mlc", {"mode": "latency_matrix"}, text, axes=("mode",))
            maker.write()
            if path not in self.files:
                self.files.append(path)
        return self

    @staticmethod
    def repeat(path: Path) -> int:
        """Return the repeat that a further session in a file begins with."""
        if not path.exists():
            return 1
        with sqlite3.connect(path) as db:
            return 1 + int(db.execute("SELECT count(*) FROM session").fetchone()[0])

    def hosts(self, numbers: Sequence[int], *, sessions: int = 1, **more: Any) -> Fleet:
        for number in numbers:
            host = f"node{number:03}"
            if host in self.good and not more:
                for _ in range(sessions):
                    copy = shutil.copy(self.good[host], self.folder / f"{len(self.files):04}.db")
                    self.files.append(Path(copy))
            else:
                self.add(host, sessions=sessions, **more)
        return self

    def report(self, **more: Any) -> outliers.Report:
        return outliers.build(load(self.files), **more)


@pytest.fixture(scope="module")
def good(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    made = Fleet(make, tmp_path_factory.mktemp("good")).hosts(range(1, 13)).files
    return {machine.host: path for machine, path in zip(load(made).machines, made, strict=True)}


@pytest.fixture
def past(make: Any, tmp_path: Path, good: Mapping[str, Path]) -> Fleet:
    (tmp_path / "past").mkdir()
    return Fleet(make, tmp_path / "past", good)


@pytest.fixture
def some(make: Any, tmp_path: Path, good: Mapping[str, Path]) -> Fleet:
    return Fleet(make, tmp_path, good)


def test_who_is_accused_is_not_to_be_measured_again(some: Fleet) -> None:
    """node013 is broken in the bandwidths, and the sessions of its latency disagree."""
    some.hosts(range(1, 13), sessions=3).add("node014", 0.08)
    for latency in (0.2, 0.2, 0.0):
        some.add("node013", 0.2, latency=latency)
    report = some.report()
    assert {o.found.status for o in report.odd if o.host == "node013"} == {"broken", "suspicious"}
    page = fleet_page.build(report, title="t", links={})
    assert list(report.rerun) == report.by_status()["suspicious"] == ["node014"]
    assert [n.value for n in page.key_numbers if n.name == "To measure again"] == ["1"]
    assert (
        "; 1 more looks slow: node014 (6.7 to 6.9 % worse in 8 of 12 numbers); one session: to be measured again"
        in page.sentence
    )


def test_two_halves_are_said_to_be_two_everywhere(some: Fleet) -> None:
    some.hosts(range(1, 5), sessions=3).hosts(range(5, 9), sessions=3, slower=0.25, latency=0.25)
    report = some.report()
    document = json.loads(fleet_text.as_json(report))
    page = fleet_page.build(report, title="t", links={})
    (figure,) = page.sections[0].blocks[0].figures
    halves = "node[005-008] worse than node[001-004]"
    (warning,) = report.warnings
    assert warning.startswith(f"the hosts fall into two groups in 12 of 12 numbers: {halves}, in ")
    assert " against " in warning
    assert warning in fleet_text.as_text(report)
    assert document["warnings"] == [warning]
    assert document["nodes"] == {"unknown": [f"node{i:03}" for i in range(1, 9)]}
    assert document["groups"][0]["numbers"][0]["worse_half"] == [f"node{i:03}" for i in range(5, 9)]
    assert page.sentence == f"8 hosts, none of which could be judged; two groups of hosts differ: {halves}."
    assert figure.title == f"8 hosts fall into two groups: {halves}"
    assert report.accused == ()


def test_two_halves_have_two_colours_in_the_map(some: Fleet) -> None:
    """What they scatter by was half of what the two are apart, and three times that had no colour: a map of numbers in black, rows mixed."""
    some.hosts(range(1, 9, 2), sessions=3).hosts(range(2, 9, 2), sessions=3, slower=0.25, latency=0.25)
    (figure,) = fleet_page.build(some.report(), title="t", links={}).sections[0].blocks[0].figures

    assert figure.grid
    shades = {row.name: {cell.shade for cell in row.cells} for row in figure.grid.rows}
    assert {name[-1] for name in [*shades][:4]} == set("2468")
    assert all(min(own) > 0 for own in [*shades.values()][:4])
    assert all(max(own) < 0 for own in [*shades.values()][4:])


def test_none_is_slow_says_how_slow_could_not_be_seen(make: Any, tmp_path: Path) -> None:
    """Equal hosts whose sessions differ by 10 %: nobody is accused, and nobody is said to be as fast as the others."""
    chance, files = random.Random(7), []
    for number in range(1, 10):
        for session in range(3):
            maker = make.Maker(tmp_path / f"{number}-{session}.db", host=f"node{number:03}")
            text = make.stream_text(20e3 * chance.gauss(1, 0.1), 4)
            maker.add("s", "stream", {"threads": 4}, text, axes=("threads",))
            files.append(maker.write())
    report = outliers.build(load(files))
    assert report.accused == ()
    page = fleet_page.build(report, title="t", links={})
    (figure,) = page.sections[0].blocks[0].figures
    unseen = report.groups[0].unseen(report.threshold)
    assert re.fullmatch(r"up to \d\d % worse may go unseen in 4 of 4 numbers", unseen)
    assert figure.title == f"None of 9 hosts is known to be slow; {unseen}"
    assert unseen in page.sentence
    assert f"\n  {unseen}: s, threads=4: copy bandwidth (" in fleet_text.as_text(report)
    numbers = json.loads(fleet_text.as_json(report))["groups"][0]["numbers"]
    assert min(n["unseen"] for n in numbers) > 0.1


def test_the_best_number_of_a_fast_host_is_not_called_its_worst(some: Fleet) -> None:
    some.hosts(range(1, 13)).add("node013", -0.1)
    page = html.html(fleet_page.build(some.report(), title="t", links={}))
    assert "Worst number" not in page
    assert "of a fast host the best" in page


def test_one_session_makes_suspects_and_three_make_a_verdict(some: Fleet) -> None:
    some.hosts(range(1, 13)).add("node013", 0.08).add("node014", 0.2).add("node015", -0.1)
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
    assert second.odd[0].host == "node014"
    assert second.odd[0].change == pytest.approx(-1 / 6, abs=0.02)
    assert not second.rerun


def test_a_lone_odd_latency_is_found_in_its_own_numbers(some: Fleet) -> None:
    report = some.hosts(range(1, 13)).add("node013", latency=0.12, sessions=3).report()

    own = {o.series.key.tool for o in report.odd if o.host == "node013"}
    assert own == {"mlc"}
    assert report.odd[0].change == pytest.approx(0.12, abs=0.02)
    assert report.odd[0].found.worse == pytest.approx(0.12, abs=0.02)


def test_other_hardware_is_another_group_and_says_in_what(some: Fleet) -> None:
    some.hosts(range(1, 10))
    half = {"memory_bytes": 8 * 2**30 - 300_000_000}
    report = some.hosts(range(10, 12), facts=half, slower=0.3).report()

    big, small = report.groups
    assert big.apart == ""
    assert small.apart == "memory 7.72 GiB, not 16 GiB"
    assert not small.judged
    assert report.by_status()["unknown"] == ["node010", "node011"]
    assert "fewer than 8 such hosts" in fleet_text.as_text(report)


def test_a_page_of_few_hosts_does_not_say_that_there_are_no_numbers(some: Fleet) -> None:
    """Nobody was judged, and the tiles said “0 broken, 0 slow” and “nobody is suspicious”; the text had no number."""
    report = some.hosts(range(1, 3)).add("node003", 0.2).report()
    page = fleet_page.build(report, title="t", links={})
    assert "has given a number" not in html.html(page)
    (numbers,) = (n for n in page.key_numbers if n.name == "Numbers")
    assert (numbers.value, numbers.context) == ("12", "on all hosts, none of them compared")
    assert [n.name for n in page.key_numbers] == ["Hosts", "Numbers"]
    *rows, more = fleet_text.as_text(report).split("--baseline\n")[1].splitlines()[:4]
    assert all(
        re.search(r"^  .+: .+ GB/s on node003 to .+ GB/s on node00[12], 1[5-9] % apart$", row) for row in rows
    )
    assert more == "  and 5 more numbers in which they are less far apart (--all lists them)"


def test_a_number_of_the_page_says_what_it_counts(some: Fleet, make: Any) -> None:
    """16 hosts, of which one gave nothing and two are of another kind: 14 numbers of 13 hosts are compared, those of the two are not."""
    some.hosts(range(1, 13), sessions=1).add("node013", 0.2)
    some.hosts(range(20, 22), facts={"memory_bytes": 8 * 2**30})
    maker = make.Maker(some.folder / "dead.db", host="node014")
    maker.add("scaling", "stream", {"threads": 1}, "", axes=("threads",), status="failed")
    some.files.append(maker.write())
    report = some.report()
    page = fleet_page.build(report, title="t", links={})

    compared = sum(bool(strip.middle) for group in report.groups for _, strip in group.strips)
    every = sum(len(group.strips) for group in report.groups)
    (numbers,) = (n for n in page.key_numbers if n.name == "Numbers")
    assert compared < every
    assert numbers.value == str(compared)
    assert (
        numbers.context
        == f"compared, all kinds of host together; {every - compared} more of kinds of host too few to be judged are not"
    )
    first, second = page.sections[0].blocks[0].figures
    assert first.title.startswith(
        "One of 13 hosts with memory 16 GiB that could be judged looks slow: node013"
    )
    assert second.title.startswith("2 hosts with memory 8 GiB that could not be judged: furthest apart in ")


@pytest.mark.slow
def test_hosts_that_are_counted_are_called_hosts(some: Fleet) -> None:
    """So many that no sentence names them."""
    some.hosts(range(1, 16), sessions=3).hosts(range(16, 30), slower=0.3, sessions=3)
    page = fleet_page.build(some.report(), title="t", links={})
    assert "; two groups of hosts differ: 14 hosts worse than 15 hosts" in page.sentence
    for n in re.findall(r"(?<![\[\]\w.,-])(\d+)(?= (?!of)\w+)", page.sentence):
        assert re.search(rf"\b{n} (hosts|numbers|%)", page.sentence), page.sentence


def test_more_rows_than_are_drawn_are_counted_in_words(make: Any, tmp_path: Path) -> None:
    files = []
    for host in range(9):
        maker = make.Maker(tmp_path / f"{host}.db", host=f"n{host}")
        for threads in range(1, 8):
            maker.add(
                "s",
                "stream",
                {"threads": threads},
                make.stream_text(1e4 * threads + host, threads),
                axes=("threads",),
            )
        files.append(maker.write())
    report = outliers.build(load(files))

    def drawn(numbers: int) -> str:
        (group,) = report.groups
        few = dataclasses.replace(report, groups=(dataclasses.replace(group, strips=group.strips[:numbers]),))
        return str(fleet_page.build(few, title="t", links={}).sections[-1].blocks[0].figures[0].note)

    assert drawn(5).endswith(" 1 more number is in the table.")  # a row for each of four families
    assert drawn(6).endswith(" 2 more numbers are in the table.")
    assert drawn(4).endswith("fast.")


def test_a_host_s_worst_number_is_no_noise(make: Any, tmp_path: Path) -> None:
    """A rate that scatters by 15 % from host to host is 25 % below the median; its bandwidth 13 %, where the others agree to 0.1 %."""
    files = []
    spec = {"rate": {"regex": r"r (\S+)", "better": "higher"}}
    for host in range(12):
        maker = make.Maker(tmp_path / f"{host}.db", host=f"n{host:02}")
        triad = 1e4 * (0.87 if host == 5 else 1 + host / 1e4)
        rate = 75.0 if host == 5 else 100 + (host - 6) * 5
        maker.add("s", "stream", {"threads": 1}, make.stream_text(triad, 1))
        maker.add("c", "command", {"command": "c", "metrics": spec}, f"r {rate:.2f}\n")
        files.append(maker.write())
    report = outliers.build(load(files))

    own = [odd for odd in report.odd if odd.host == "n05"]
    assert "bandwidth" in own[0].series.name
    assert own[-1].series.name == "c: rate"
    assert abs(own[-1].found.worse or 0) > abs(own[0].found.worse or 0)


def test_clocks_and_boots_of_many_hosts_are_no_wall_of_warnings(some: Fleet) -> None:
    for host in range(12):
        for session, uptime in enumerate((3600.0, 1800.0)):
            some.add(f"n{host:02}", facts={"boot_id": f"{host} {session}", "uptime_s": uptime})
    warnings = some.report().warnings
    assert [text.partition(",")[0].partition(" booted")[0] for text in warnings if " booted at " in text] == [
        "n[00-11] were"
    ]


def test_two_machines_of_one_name_are_two_hosts(some: Fleet) -> None:
    some.hosts(range(1, 9)).add("node001", facts={"cpu_model": "another"})
    report = some.report()

    assert len(report.statuses) == 9
    (warning,) = report.warnings
    assert "several machines are called node001" in warning
    assert "processor another, not " in warning


def test_few_hosts_are_judged_by_a_baseline(some: Fleet, past: Fleet) -> None:
    past.hosts(range(1, 7))
    some.add("node001", sessions=3).add("node002", 0.09, sessions=3)
    report = some.report(baseline=load(past.files))
    assert report.statuses == {"node001": "ok", "node002": "slow"}
    assert report.groups[0].baseline == 6


@pytest.mark.parametrize(("slower", "said"), [(0.0, "is not known to be slow"), (0.2, "is broken")])
def test_one_host_beside_a_baseline_is_judged_on_its_page(
    slower: float, said: str, some: Fleet, past: Fleet
) -> None:
    """ "1 host that could not be judged: furthest apart in copy bandwidth, −17 to −17 %" stood above "node001 of 1 host is broken"."""
    past.hosts(range(1, 4), sessions=2)
    page = fleet_page.build(some.add("node001", slower, sessions=3).report(baseline=load(past.files)), title="t", links={})  # fmt: skip

    assert page.sentence.startswith(f"node001 {said}")
    heated, strips = (section.blocks[0].figures[0] for section in page.sections)
    assert heated.title.startswith(f"node001 {said}")
    assert heated.numbers[0].columns[0] == "Kind"
    assert strips.panels


def test_whom_the_baseline_does_not_know_is_not_told_to_give_one(some: Fleet, past: Fleet) -> None:
    some.hosts([1, 2])
    alone = some.report()
    beside = some.report(baseline=load(past.hosts([3], facts={"cpu_model": "another"}).files))

    said = [fleet_text.as_text(report) for report in (alone, beside)]
    told = [check.text for report in (alone, beside) for check in fleet_page.build(report, title="t", links={}).checks if check.subject == "Not judged."]  # fmt: skip

    assert "give sessions of good ones with --baseline" in said[0]
    assert "not judged by each other; the baseline has none of their numbers\n" in said[1]
    assert told == [
        "node[001-002]: fewer than 8 hosts of a kind cannot be judged by each other; --baseline compares them with past sessions.",
        "node[001-002]: the baseline has none of their numbers.",
    ]


@pytest.mark.parametrize(
    ("also", "special", "unlike"),
    [
        ([], "  node010: kernel 6.9.1, not 6.8.0", ""),
        ([8], "  node010: kernel 6.9.1, not 6.8.0, as 1 host that is ok", "  node[008,010]: kernel 6.9.1, others 6.8.0"),
        ([7, 8], "", "  node[007-008,010]: kernel 6.9.1, others 6.8.0"),  # most that have it are ok
    ],
)  # fmt: skip
def test_what_ok_hosts_have_too_is_no_mark_of_an_odd_one(
    some: Fleet, also: list[int], special: str, unlike: str
) -> None:
    some.hosts([i for i in range(1, 10) if i not in also], facts={"kernel": "6.8.0"})
    some.hosts(also, facts={"kernel": "6.9.1"}).add("node010", 0.1, facts={"kernel": "6.9.1"})

    text = fleet_text.as_text(some.report())

    for head, line in (
        ("what else is special about these hosts", special),
        ("measured with something else", unlike),
    ):
        assert (f"{head}\n{line}\n" in f"{text}\n") if line else (head not in text)


def test_files_that_cannot_be_read_are_no_hosts(some: Fleet) -> None:
    some.hosts([1, 2])
    report = outliers.build(
        load(some.files), wanted=["node003", "node004"], unreadable=[("node3.db", "no result file")]
    )

    (check,) = (c for c in fleet_page.build(report, title="t", links={}).checks if c.subject == "Incomplete.")

    assert (
        check.text == "node[003-004] and the file node3.db: not all that was asked for is there to be judged."
    )


def test_what_a_check_doubts_of_a_baseline_is_said(make: Any, some: Fleet, past: Fleet) -> None:
    past.hosts(range(1, 7))
    maker = make.Maker(past.folder / "wide.db", host="node009")
    maker.facts = dict(make.FACTS)
    for rate in (10e3, 20e3, 30e3):
        maker.add("scaling", "stream", {"threads": 1}, make.stream_text(rate, 1), axes=("threads",))
    past.files.append(maker.write())

    report = some.add("node001", sessions=3).report(baseline=load(past.files))

    (warning,) = report.warnings
    assert warning.startswith(
        "⚠ doubtful: 4 numbers of the baseline, by the checks of their cells: G11 (4); "
    )
    assert "⚠ doubtful: 4 numbers of the baseline" in fleet_text.as_text(report)


def test_a_baseline_of_other_hardware_is_none(some: Fleet, past: Fleet) -> None:
    past.add("old", facts={"cpu_model": "an old one"})
    report = some.add("node001").report(baseline=load(past.files))
    assert report.statuses == {"node001": "unknown"}
    assert "the baseline has none of these numbers from this hardware" in report.warnings[0]


@pytest.mark.slow
def test_an_accused_host_that_lost_memory_later_is_accused_all_the_same(some: Fleet) -> None:
    """Its sessions lie in one file: the group of one that it is in with half of its memory must not speak for it."""
    for number in range(1, 12):
        some.add(f"node{number:03}", sessions=4, mlc=False, file=f"node{number:03}.db")
    some.add("node012", 0.25, sessions=3, mlc=False, file="node012.db")
    half = {"memory_bytes": some.make.FACTS["memory_bytes"] // 2}
    some.add("node012", 0.25, facts=half, mlc=False, file="node012.db")
    for files in (some.files, some.files[::-1]):
        report = outliers.build(load(files))
        assert report.accused == ("node012 (memory 16 GiB)",)
        assert report.statuses["node012 (memory 16 GiB)"] == "broken"
        assert report.statuses["node012 (memory 8 GiB)"] == "unknown"
        assert set(json.loads(fleet_text.as_json(report))["nodes"]["broken"]) == set(report.accused)
        assert "12 hosts" not in fleet_text.summary(report)  # twelve names, thirteen hosts to judge
    assert "(memory" not in confirm.commands(some.report(threshold=0.5), ["r"], WAY)


def test_several_files_of_a_machine_whose_name_another_has_are_one_host(some: Fleet) -> None:
    other = {"cpu_model": "another"}
    some.hosts(range(1, 9)).hosts([1], sessions=2).add("node001", facts=other)
    report = some.report()
    assert {n for n in report.statuses if n.startswith("node001")} == {
        f"node001 (processor {some.make.FACTS['cpu_model']})",
        "node001 (processor another)",
    }
    assert [len(report.sessions[n]) for n in report.statuses if n.startswith("node001")] == [3, 1]


@pytest.mark.parametrize("how", ["option", "counted", "placed", "allowed"])
def test_what_ran_with_other_threads_or_on_other_pus_is_not_compared(
    make: Any, tmp_path: Path, how: str
) -> None:
    """Half of the bandwidth on half of the threads accuses nobody."""
    files = []
    for number in range(1, 15):
        few = number in (3, 4, 9)
        path = tmp_path / f"{number}.db"
        for repeat in (1, 2, 3):
            maker = make.Maker(path, host=f"n{number:02}")
            options: dict[str, Any] = {"array_size": 1000}
            if how == "option":
                options["threads"] = 32 if few else 64
            if how == "placed":
                maker.groups = {"here": (Group(cpus=tuple(range(32 if few else 64)), membind=(0,)),)}
            if how == "allowed":
                maker.facts = {**make.FACTS, "cpus_allowed": "0-31" if few else "0-63"}
            threads = (32 if few else 64) if how == "counted" else 16
            place = "here" if how == "placed" else ""
            rate = (10e3 if few else 20e3) * (1 + number % 5 * 1e-3)
            maker.add("s", "stream", options, make.stream_text(rate, threads), place=place, repeat=repeat)
            maker.write()
        files.append(path)
    report = outliers.build(load(files))
    assert report.accused == ()
    assert set(report.by_status()["ok"]) == {f"n{i:02}" for i in range(1, 15) if i not in (3, 4, 9)}
    (one,) = report.unmatched
    assert (one.what, one.hosts) == (
        f"s, {one.reason.split(', not')[0].replace(' and ', ', ')}",
        ("n03", "n04", "n09"),
    )
    said = {"option": "threads=32, not threads=64", "counted": "threads=32, not threads=64", "placed": "PUs=0-31, not PUs=0-63", "allowed": "PUs=0-31, not PUs=0-63"}[how]  # fmt: skip
    assert one.reason == f"{said} as on 11 hosts"
    assert report.missing == ()
    text = fleet_text.as_text(report)
    assert f"not compared with the other hosts\n  {one.what} of n[03-04,09]: {one.reason}" in text
    assert json.loads(fleet_text.as_json(report))["unmatched"][0]["reason"] == one.reason
    assert one.reason in html.html(fleet_page.build(report, title="t", links={}))


def test_numbers_of_one_name_and_two_units_are_two_and_say_so(make: Any, tmp_path: Path) -> None:
    files = []
    for number in range(1, 21):
        unit = "MB/s" if number <= 11 else "1/s"
        metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": unit, "better": "higher"}}
        maker = make.Maker(tmp_path / f"{number}.db", host=f"n{number:02}")
        maker.add("zip", "command", {"command": "zip", "metrics": metrics}, f"rate {100 + number % 3}\n")
        files.append(maker.write())
    report = outliers.build(load(files))
    assert set(report.statuses.values()) == {"ok"}
    names = [one.name for one, _ in report.groups[0].strips]
    assert names == [
        "zip, metrics.rate.unit=MB/s, unit=B/s: rate",
        "zip, metrics.rate.unit=1/s, unit=1/s: rate",
    ]
    (one,) = report.unmatched
    assert one.hosts == tuple(f"n{i}" for i in range(12, 21))
    assert (
        one.reason
        == "metrics.rate.unit=1/s and unit=1/s, not metrics.rate.unit=MB/s and unit=B/s as on 11 hosts"
    )


def test_three_sessions_of_one_hour_are_one_and_no_verdict(some: Fleet) -> None:
    """A run that was stopped twice and continued."""
    some.hosts(range(1, 13))
    boot = {"boot_id": "b1"}
    some.add("node013", 0.2, sessions=3, facts=boot)
    assert some.report().by_status()["suspicious"] == ["node013"]
    some.add("node013", 0.2, facts={"boot_id": "b2"}).add("node013", 0.2, facts={"boot_id": "b3"})
    assert some.report().by_status()["broken"] == ["node013"]


def test_a_baseline_of_one_hour_is_one_session(some: Fleet, past: Fleet) -> None:
    past.add("old", sessions=3, facts={"boot_id": "b1"})
    report = some.add("node001").report(baseline=load(past.files))
    assert report.groups[0].baseline == 1


def test_a_session_whose_clock_stepped_is_named(some: Fleet) -> None:
    some.hosts(range(1, 9))
    some.add("node009", facts={"boot_id": "b", "uptime_s": 90.0}).add("node009", facts={"boot_id": "b", "uptime_s": 9000.0})  # fmt: skip
    (warning,) = some.report().warnings
    assert warning.startswith("node009, the session of 2026-11-21 09:15 (")
    assert warning.endswith("its clock was 2 h 28 min ahead of that of other sessions of the same boot")


def test_a_host_slow_everywhere_is_said_to_be_slow_wherever_it_is_named(some: Fleet) -> None:
    some.hosts(range(1, 13), sessions=3).add("node013", 0.018, sessions=3, latency=0.018)
    report = some.report()
    assert [e.name for e in report.everywhere] == ["node013"]
    assert report.accused == ("node013",)
    assert json.loads(fleet_text.as_json(report))["nodes"]["slow"] == ["node013"]
    text = fleet_text.as_text(report)
    assert text.startswith("13 hosts: 1 slow, 12 ok\n")
    assert (
        f"node013: slightly slow everywhere, {fmt.percent(report.everywhere[0].worse)} worse on average"
        in text
    )
    page = fleet_page.build(report, title="t", links={})
    assert page.sentence.startswith("node013 of 13 hosts is slow")
    (suspect,) = page.sections[-1].blocks[0].suspects
    assert (suspect.verdict, suspect.bad) == ("slow", True)
    assert suspect.number.startswith("slightly slow everywhere: ")
    assert suspect.number.endswith("worse on average over 12 numbers")
    replace = dataclasses.replace
    odd = replace(
        report.groups[0].strips[0][1].hosts[-1], status="suspicious", reason="its sessions disagree"
    )
    (one, strip), name = report.groups[0].strips[0], "node013"
    by_one = replace(report, odd=(outliers.Odd(host=name, series=one, strip=strip, found=odd),))
    assert re.search(
        r"^node013 +slow +slightly slow everywhere: .* over 12 numbers .*\n +suspicious +", fleet_text.as_text(by_one), re.MULTILINE
    )  # fmt: skip
    (row, _) = fleet_text.folds(by_one, Screen(width=400, terminal=True)).splitlines()
    assert re.match(
        r"node013  slow +slightly slow everywhere, .* over 12 numbers; one by one suspicious: 1 of ", row
    )
    assert ("Broken or slow", "1", "0 broken, 1 slow") in [
        (n.name, n.value, n.context) for n in page.key_numbers
    ]
    both = replace(report, statuses={**report.statuses, "node001": "broken"})
    assert fleet_page.sentence(both).startswith("node001 of 13 hosts is broken, node013 is slow")
    (of_both,) = fleet_page.build(both, title="t", links={}).sections[0].blocks[0].figures
    assert of_both.title == "One of 13 hosts is broken, one is slow"
    assert [s.host for s in fleet_page.build(replace(both, odd=(replace(by_one.odd[0], host="node002"),), statuses={**both.statuses, "node002": "suspicious"}), title="t", links={}).sections[-1].blocks[0].suspects] == ["node013", "node002"]  # fmt: skip
    due = replace(
        report, gaps=(Gap(what="not screened", of=(name,), reason="last on 2026-11-02, 21 days ago"),)
    )
    (aged,) = [c for c in fleet_page.build(due, title="t", links={}).checks if c.items == (due.gaps[0].text,)]
    assert (aged.subject, aged.text) == (
        "Not screened lately.",
        f"{name}: what is judged is older than was asked for.",
    )
    (heated,) = page.sections[0].blocks[0].figures
    assert heated.title == "One of 13 hosts is slow"
    (figure,) = page.sections[-1].blocks[0].figures
    assert {row["text"] for row in figure.panels[0].wide["datasets"]["names"]} == {"node013"}


@pytest.mark.slow
def test_the_figure_shows_whom_its_title_accuses(make: Any, tmp_path: Path) -> None:
    """node001 is slow in 40 numbers, by more than node002 is in its only one."""
    chance, files = random.Random(8), []
    for number in range(1, 13):
        for session in range(3):
            maker = make.Maker(tmp_path / f"{number}-{session}.db", host=f"node{number:03}")
            for cell in range(10):
                rate = (
                    20e3
                    * chance.gauss(1, 0.004)
                    * (0.7 if number == 1 else 0.92 if (number, cell) == (2, 3) else 1)
                )
                maker.add("s", "stream", {"threads": cell}, make.stream_text(rate, 4), axes=("threads",))
            files.append(maker.write())
    report = outliers.build(load(files))
    assert report.accused == ("node001", "node002")
    (heated,), (figure,) = (
        s.blocks[0].figures for s in fleet_page.build(report, title="t", links={}).sections
    )
    assert heated.title == "One of 12 hosts is broken, one is slow"
    for specs in ([p.wide for p in figure.panels], [p.narrow for p in figure.panels]):
        assert (
            sum(len(spec["datasets"]["rows"]) for spec in specs) == 2
        )  # of each of the two its worst: in the other families nobody else is odd
        named = " ".join(row["text"] for spec in specs for row in spec["datasets"]["names"])
        assert "node001" in named
        assert "node002" in named or "node[001-002]" in named
        for data in (spec["datasets"] for spec in specs):
            assert {row["y"] for row in data["odd"]} == {
                row["y"] for row in data["names"]
            }  # whoever is orange is named


def test_a_change_has_the_numbers_own_sign_and_lies_at_the_edge_if_it_is_beyond(some: Fleet) -> None:
    """A time that rose by half is +50 % in the table and in the figure; it lies on the worse side, as a triangle."""
    some.hosts(range(1, 13), sessions=3).add("node013", latency=0.5, sessions=3).add(
        "node014", 1.0, sessions=3
    )
    report = some.report()
    changes = {(o.host, fmt.change(o.change)) for o in report.odd}
    (figure,) = fleet_page.build(report, title="t", links={}).sections[-1].blocks[0].figures
    drawn = [panel.wide["datasets"] for panel in figure.panels]
    beyond = [row for data in drawn for row in data["odd"] if abs(row["x"]) == 20]
    assert {row["shape"] for row in beyond} == {"triangle-left"}
    named = {tuple(row["text"].split(" ", 1)) for data in drawn for row in data["names"]}
    assert named <= changes
    assert {name: text[0] for name, text in named} == {"node013": "+", "node014": "−"}
    marked = {one for row in figure.numbers[0].rows for one in row[-1].split(", ")}
    assert {" ".join(one) for one in named} <= marked
    axis = figure.panels[0].wide["encoding"]["x"]["axis"]["labelExpr"]
    assert "+" not in axis.split("[", 1)[0]
    assert "triangle at the edge" in figure.note


def test_two_kinds_of_one_processor_have_titles_of_their_own(some: Fleet) -> None:
    some.hosts(range(1, 10), sessions=3)
    half = {"memory_bytes": 8 * 2**30}
    some.hosts(range(20, 28), sessions=3, facts=half).add("node030", 0.2, sessions=3, facts=half)
    figures = fleet_page.build(some.report(), title="t", links={}).sections[0].blocks[0].figures
    assert [f.title for f in figures] == [
        "None of 9 hosts with memory 16 GiB is known to be slow",
        "One of 9 hosts with memory 8 GiB is broken",
    ]


def test_the_page_counts_pieces_of_evidence_and_tells_sound_times(some: Fleet) -> None:
    some.hosts(range(1, 9))
    boot = [{"boot_id": "b", "uptime_s": up} for up in (10.0, 20.0, 86400.0)]
    for facts in boot:
        some.add("node009", 0.2, facts=facts)
    with sqlite3.connect(some.files[-3]) as db:
        db.execute("UPDATE session SET started_utc = '2015-01-01T00:00:00+00:00'")
    report = some.report()
    page = fleet_page.build(report, title="t", links={})
    assert len(report.sessions["node009"]) == max(o.found.sessions for o in report.odd) == 2
    assert dict(page.provenance)["Sessions"] == "10 in 11 result files"
    assert "2015" not in dict(page.provenance)["Measured"]


def test_the_title_does_not_speak_of_who_could_not_be_judged(some: Fleet, make: Any) -> None:
    some.hosts(range(1, 10))
    maker = make.Maker(some.folder / "dead.db", host="node010")
    maker.add("scaling", "stream", {"threads": 1}, "", axes=("threads",), status="failed")
    some.files.append(maker.write())
    (figure,) = fleet_page.build(some.report(), title="t", links={}).sections[0].blocks[0].figures
    assert figure.title == "None of 9 hosts that could be judged is known to be slow"


def test_what_is_special_about_a_slow_host(some: Fleet) -> None:
    report = some.hosts(range(1, 10)).add("node010", 0.1, sessions=3, facts={"microcode": "0xd0"}).report()

    assert report.differing == {"node010": ("microcode 0xd0, not 0xf0",)}
    assert "microcode 0xd0, not 0xf0" in fleet_text.as_text(report)


@pytest.mark.parametrize("slower", [0.2, -0.2])
def test_the_sign_of_z_is_told_where_one_is_better(some: Fleet, slower: float) -> None:
    text = fleet_text.as_text(some.hosts(range(1, 10)).add("node010", slower, sessions=3).report())

    said = "z: distance from the median in robust standard deviations, above 0 worse"
    assert (said in text.splitlines()) == (slower < 0)


def test_who_was_measured_with_something_else_is_named_though_its_numbers_are_as_usual(some: Fleet) -> None:
    some.hosts(range(1, 10)).hosts([10], facts={"kernel": "6.9.1"})

    report = some.report()

    assert [(one.hosts, one.what, one.here) for one in report.unlike] == [(("node010",), "kernel", "6.9.1")]
    assert f"\n  node010: kernel 6.9.1, others {report.unlike[0].others}" in fleet_text.as_text(report)
    assert not report.accused


def test_numbers_that_some_hosts_lack_are_named(some: Fleet) -> None:
    report = some.hosts(range(1, 10)).hosts((10, 12), mlc=False).report()

    assert report.missing == (("matrix, mode=latency_matrix", ("node010", "node012")),)
    assert "matrix, mode=latency_matrix: node[010,012]" in fleet_text.as_text(report)


def test_a_host_that_gave_nothing_is_named(some: Fleet, make: Any) -> None:
    some.hosts(range(1, 10))
    maker = make.Maker(some.folder / "dead.db", host="node010")
    maker.add("scaling", "stream", {"threads": 1}, "", axes=("threads",), status="failed")
    some.files.append(maker.write())

    text = fleet_text.as_text(some.report())
    assert text.startswith("10 hosts: 9 ok, 1 not judged\n")
    assert "  not judged  node010\n" in text
    alone = outliers.build(load(some.files[-1:]))
    assert [(gap.what, gap.of, gap.reason) for gap in alone.gaps] == [
        ("no number", ("node010",), "1 run failed")
    ]
    assert alone.fails()
    assert fleet_page.build(alone, title="t", links={}).sentence.startswith(
        "1 host, which could not be judged"
    )


def test_the_last_digit_of_a_program_that_nobody_knows_counts(make: Any, tmp_path: Path) -> None:
    """Its figures are tens: 100 and 110 may be the same."""
    files = []
    for number, rate in enumerate((100, 110, 120, 90, 80, 70, 110, 100, 90)):
        maker = make.Maker(tmp_path / f"{number}.db", host=f"n{number}")
        metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "1/s", "better": "higher"}}
        maker.add("zip", "command", {"command": "zip", "metrics": metrics}, f"rate {rate}\n")
        files.append(maker.write())

    (one,) = series.collect(load(files))
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

    assert sum(map(rule.fits, series.collect(load([maker.write()])))) == fits


def test_a_floor_and_a_tolerance_of_the_sites_own(some: Fleet) -> None:
    some.hosts(range(1, 10), sessions=3)
    rules = parse(
        "rules:\n"
        "  - {metric: bandwidth, where: {kernel: triad, threads: 4}, floor: 25 GB/s}\n"
        "  - {metric: nothing, floor: 1 ns}\n",
        "r.yaml",
    )
    report = some.report(rules=rules)

    assert set(report.by_status()["broken"] + report.by_status()["slow"]) == set(report.statuses)
    assert {o.reason for o in report.odd} == {"below the floor of 25 GB/s"}
    assert {o.series.name for o in report.odd} == {"scaling, threads=4: triad bandwidth"}
    assert report.warnings == ("r.yaml:3:5: this rule fits no number of these files",)

    once = some.folder / "once"
    once.mkdir()
    many = Fleet(some.make, once, some.good).hosts(range(1, 13))
    below = many.report(rules=rules[:1])
    assert len(below.rerun) == 12
    assert below.warnings == ()  # a floor that all are below is no scatter of the runs
    for number in range(20, 28):
        many.add(f"node{number:03}", 0.1)
    assert "the runs scatter" in many.report().warnings[-1]

    tight = parse("rules: [{tool: stream, tolerance: 0.1 %}]", "r.yaml")
    assert {o.reason for o in some.report(rules=tight).odd} == {"beyond the tolerance of 0.1 %"}


def test_a_floor_and_what_is_just_below_it_are_told_apart(some: Fleet) -> None:
    """ "101 GB/s (beyond the floor)", of a floor of 101 GB/s."""
    some.hosts(range(1, 10), sessions=3)
    values = sorted(host.value for group in some.report().groups for one, strip in group.strips if one.name == "scaling, threads=4: triad bandwidth" for host in strip.hosts)  # fmt: skip
    floor = round(values[4] / 1e9, 1)
    rules = parse(f"rules: [{{metric: bandwidth, where: {{kernel: triad, threads: 4}}, floor: {floor} GB/s}}]", "r.yaml")  # fmt: skip
    odd = some.report(rules=rules).odd

    assert odd
    assert {one.reason for one in odd} == {f"below the floor of {floor:g} GB/s"}
    assert all(float(one.value.split()[0]) < floor for one in odd)
    said = fleet_text.as_text(some.report(rules=rules))
    assert re.search(rf"\(below the floor of {floor:g} GB/s\) +{odd[0].value} ", said)


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
    some.hosts(range(1, 9))
    with pytest.raises(ExperimentError, match="is in ns, but scaling, threads=1: copy bandwidth is in B/s"):
        some.report(rules=parse("rules:\n  - {metric: bandwidth, floor: 90 ns}\n", "r.yaml"))
    with pytest.raises(ExperimentError, match="floor: has no unit, but scaling"):
        some.report(rules=parse("rules:\n  - {metric: bandwidth, floor: 90}\n", "r.yaml"))


# --- confirming --------------------------------------------------------------------------------------------


def sessions_ran(files: Sequence[Path], argv: Sequence[str]) -> None:
    for path in files:
        with sqlite3.connect(path) as db:
            db.execute("UPDATE session SET argv = ?", (json.dumps(list(argv)),))


WAY = Way(
    program=("/opt/p s/pinsweep",), folder="/cluster/res ults", work="/cluster/a b", options=("--via=ssh",)
)


def test_the_commands_name_hosts_and_sweeps_and_are_single_words_to_a_shell(some: Fleet) -> None:
    some.hosts(range(1, 10)).add("node010", 0.12).add("node011", 0.09)
    sessions_ran(some.files, ["run", "my exp.yaml", "-o", "old.db", "--seed=4", "--cells", "bs=4k,a b", "--home", "h", "--whole-node"])  # fmt: skip

    about, measure, _, judge = confirm.commands(some.report(), ["/cluster/res ults"], WAY).splitlines()

    assert about == (
        "# node[010-011] again, with node[001-002] as controls; this one and 1 other are missing until a host is called slow,"
        " and what one boot does within an hour counts as one"
    )
    assert shlex.split(measure.strip("()")) == [
        "cd", "/cluster/a b", "&&", "/opt/p s/pinsweep", "run", "my exp.yaml", "--cells", "bs=4k,a b", "--only", "scaling",
        "--nodes", "node[001-002,010-011]", "-o", "/cluster/res ults/again-1", "--via=ssh", "--wait",
    ]  # fmt: skip
    assert shlex.split(judge.strip("()")) == [
        "cd", "/cluster/a b", "&&", "/opt/p s/pinsweep", "fleet", "/cluster/res ults",
    ]  # fmt: skip


def test_the_sessions_that_a_suspect_lacks_are_counted(some: Fleet) -> None:
    some.hosts(range(1, 10), sessions=2).add("node010", 0.12, sessions=2)
    sessions_ran(some.files, ["run", "e.yaml"])

    assert "; this one is missing until" in confirm.commands(some.report(), ["r"], WAY)


def test_of_suspects_with_three_sessions_it_is_said_why_they_are_not_slow(some: Fleet) -> None:
    """It was "their sessions disagree" of whoever had three."""
    some.hosts(range(1, 10), sessions=3).add("node010", 0.2, sessions=2).add("node010")
    sessions_ran(some.files, ["run", "e.yaml"])
    report = some.report()
    (about, *_) = confirm.commands(report, ["r"], WAY).splitlines()
    assert about.endswith("; suspicious and not slow for sessions that disagree")

    chance = [dataclasses.replace(o, found=dataclasses.replace(o.found, reason=CHANCE)) for o in report.odd]
    (about, *_) = confirm.commands(dataclasses.replace(report, odd=tuple(chance)), ["r"], WAY).splitlines()
    assert about.endswith("; suspicious and not slow for what may be chance")


@given(
    st.lists(
        st.sampled_from(
            [
                "-o",
                "--output",
                "--seed",
                "--only",
                "--retry-failed",
                "--strict",
                "a.yaml",
                "x",
                *confirm._BY_HAND,
            ]
        )
    )
)
def test_a_session_of_its_own_keeps_what_it_was_run_with(words: list[str]) -> None:
    again = confirm.again(["run", *words], ["s"])
    assert again[:1] == ("run",)
    assert again[-2:] == ("--only", "s")
    assert not {"-o", "--output", "--seed", "--retry-failed", *confirm._BY_HAND} & set(again)
    assert confirm.again(["parse", *words], ["s"]) == ()


def test_every_option_of_run_is_left_out_or_harmless() -> None:
    harmless = {"--quiet", "--allow-misplaced", "--allow-disturbed", "--share-machine", "--strict", "--cells", "--repeats", "--no-warm-up", "--unpinned"}  # fmt: skip
    options = {name for param in run.params if isinstance(param, click.Option) for name in param.opts if name[:2] == "--"}  # fmt: skip

    assert options - harmless == {name for name in confirm._NOT_AGAIN if name[:2] == "--"}


def test_a_hosts_name_never_begins_a_line_of_the_commands(some: Fleet) -> None:
    some.hosts(range(1, 10)).add("node010\ntouch pwned", 0.09).add("$(touch pwned)", 0.09)
    for argv in (["run", "e.yaml"], ["parse", "x.txt"]):
        sessions_ran(some.files, argv)
        text = confirm.commands(some.report(), ["r"], WAY)
        assert {line.split()[0] for line in text.splitlines()} <= {"#", "(cd"}


def test_of_captured_output_nothing_is_run_again(some: Fleet) -> None:
    some.hosts(range(1, 10)).add("node010", 0.09)
    sessions_ran(some.files, ["parse", "stream", "x.txt"])
    text = confirm.commands(some.report(), ["r"], WAY)
    assert "of captured output there is no command" in text
    assert "run" not in text.replace("to run again", "")


def test_who_is_ok_at_the_second_try_is_named(some: Fleet) -> None:
    some.hosts(range(1, 10)).add("node010", 0.09, file="a.db").add("node011", 0.09, file="b.db")
    first = some.report()
    assert set(first.rerun) == {"node010", "node011"}
    some.add("node010", 0.0, file="c.db").add("node010", 0.0, file="d.db").add("node011", 0.09, file="e.db")

    assert confirm.recovered(first, some.report()) == "ok at the 3rd try  node010"


def test_files_of_the_first_time_are_one_try(some: Fleet) -> None:
    """A host with two files was "ok at the 5th try" when it had been measured again three times."""
    some.hosts(range(1, 10)).add("node010", 0.09, file="a.db").add("node010", 0.09, file="b.db")
    first = some.report()
    for name in "cde":
        some.add("node010", 0.0, file=f"{name}.db")

    assert confirm.recovered(first, some.report()) == "ok at the 4th try  node010"


def test_a_ticket_names_a_slow_host_and_why_and_nothing_in_it_is_a_command(some: Fleet) -> None:
    some.hosts(range(1, 10), sessions=3).add("node010", 0.2, sessions=3).add("$(reboot)", 0.2, sessions=3)

    (line,) = confirm.tickets(some.report())

    words = shlex.split(line)
    assert words[:4] == ["scontrol", "update", "nodename=node010", "state=drain"]
    assert re.fullmatch(r"reason=pinsweep: scaling, threads 4: \w+ bandwidth -\d\d %, 3 sessions", words[4])


def test_a_ticket_says_what_accuses_a_host(some: Fleet) -> None:
    """A host below a floor was drained for "-0.1 %", one that is slow everywhere for a number in which it is suspicious."""
    some.hosts(range(1, 10), sessions=3)
    floor = parse("rules:\n  - {metric: triad bandwidth, where: {threads: 4}, floor: 19.95 GB/s}\n", "r.yaml")
    report = some.report(rules=floor)
    line, *_ = confirm.tickets(report)
    assert re.search(
        r"threads 4: triad bandwidth -\d\.\d+ %, below the floor of 19.95 GB/s, 3 sessions", line
    )

    suspected = [dataclasses.replace(o, found=dataclasses.replace(o.found, status="suspicious")) for o in report.odd]  # fmt: skip
    line, *_ = confirm.tickets(dataclasses.replace(report, odd=tuple(suspected)))
    assert line.endswith('"pinsweep: slightly slow everywhere"')


# --- names, texts, pages -----------------------------------------------------------------------------------


def test_hosts_are_folded_and_come_back() -> None:
    assert folded(["node017", "node003"]) == "node[003,017]"
    assert folded(["a b", "n1", "x[1", "n2", "@g"]) == "n[1-2],@g,a b,x[1"
    assert folded([]) == ""


@given(st.sets(st.integers(0, 999), min_size=1, max_size=40))
def test_a_folded_list_holds_the_same_hosts(numbers: set[int]) -> None:
    from ClusterShell.NodeSet import NodeSet

    names = {f"node{n:03}" for n in numbers}
    assert set(NodeSet(folded(names))) == names


def test_equal_machines_tell_sizes_that_differ_by_less_than_a_module() -> None:
    gib = 2**30
    assert hardware.sizes([251.5 * gib, 251.0 * gib, 235.2 * gib, None, 0]) == [
        "251 GiB",
        "251 GiB",
        "235 GiB",
        "",
        "",
    ]


@pytest.mark.parametrize("modules", [6, 8, 12, 16, 18, 24, 32])
@pytest.mark.parametrize("gib", [8, 16, 32, 64])
def test_a_lost_module_is_other_hardware_and_a_crash_kernel_is_none(
    some: Fleet, modules: int, gib: int
) -> None:
    """Firmware and kernel keep 1.6 % and 2 GiB; a crash kernel takes what each host was told to give it."""

    def left(n: int, crash: float = 0.0) -> int:
        return round((n * gib * (1 - 0.016) - 2 - crash) * 2**30)

    facts = [{"memory_bytes": left(modules, crash)} for crash in (0, 0.25, 0.5, 0.75, 1.0, 0, 0.5, 0.25)]
    lost = {"memory_bytes": left(modules - 1)}
    whole = [session_of(some.make, {**own, "dimms": None}) for own in (*facts, lost)]
    kinds = hardware.kinds(whole)
    assert len(set(kinds[:-1])) == 1
    assert kinds[-1] != kinds[0]
    assert kinds[-1].differences(kinds[0]).startswith("memory ")

    def listed(n: int) -> list[dict[str, Any]]:
        return [
            {"size_bytes": gib * 2**30, "type": "DDR5", "rate_mts": 4800, "slot": str(i)} for i in range(n)
        ]

    root = [session_of(some.make, {**own, "dimms": listed(modules)}) for own in facts]
    with_list = hardware.kinds([*root, session_of(some.make, {**lost, "dimms": listed(modules - 1)})])
    assert len(set(with_list[:-1])) == 1
    assert f"memory modules {modules - 1} × {gib} GiB" in with_list[-1].differences(with_list[0])


def session_of(make: Any, facts: Mapping[str, Any]) -> Session:
    return Session(
        session=1, started_utc="2026-11-21T09:15:02+00:00", ended_utc=None, pinsweep_version="0.1", argv=("run",), seed=1,
        host="n", facts={**make.FACTS, **facts}, topology_text="", programs={},
    )  # fmt: skip


def test_the_documents_hold_everything_that_is_odd(some: Fleet) -> None:
    report = some.hosts(range(1, 13)).add("node013", 0.08, sessions=3).report()
    document = json.loads(fleet_text.as_json(report))

    assert document["nodes"]["slow"] == ["node013"]
    assert document["folded"]["ok"] == "node[001-012]"
    assert len(document["odd"]) == len(report.odd) == 8
    assert {o["unit"] for o in document["odd"]} == {"B/s"}
    assert "node013  slow" in fleet_text.as_text(report)


def test_the_page_names_links_and_escapes(some: Fleet, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    some.hosts(range(1, 13)).add(evil, 0.15, sessions=3)
    some.files[-1].with_suffix(".html").write_text("its own report")
    report = some.report()
    links = fleet_page.beside(some.files, tmp_path / "fleet.html")
    page = html.html(fleet_page.build(report, title=evil, links=links))

    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page
    assert f'<a href="{some.files[-1].stem}.html">' in page
    assert page.count("Figure 1</span>") == 1
    assert 'href="#runs"' not in page
    one = fleet_page.build(report, title="t", links={}).sections[0].blocks[0].figures[0]
    assert one.title == "One of 13 hosts is broken"
    strict = fleet_page.build(some.report(threshold=0.05), title="t", links={})
    assert "Slow: 5 % worse in each of three sessions" in " ".join(strict.methods)


def test_a_thousand_hosts_fit_a_page(some: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dots that fall on one pixel are one dot: the picture does not grow with the fleet. Of rows that are many it is said by what hosts share them:
    218 hosts from −7.5 to +8.3 % were ones "that nobody could tell apart"."""
    from reports.verdicts.fleet import Metric, judge_fleet

    report = some.hosts(range(1, 13)).report()
    one = report.groups[0].strips[0][0]
    chance = random.Random(2)
    values = {f"n{i}": [chance.gauss(20e9, 0.1e9)] for i in range(1000)}
    strips = judge_fleet([Metric(key=one.key, better="higher", values=values)]).strips
    group = outliers.Group(
        hardware=report.groups[0].hardware,
        hosts=tuple(values),
        strips=((one, strips[0]),),
        apart="",
        baseline=0,
    )
    statuses: dict[str, Status] = {h.name: h.status for h in strips[0].hosts}
    figure = strip.figure(group, dataclasses.replace(report, statuses=statuses), 1, several=False)
    assert figure is not None
    assert len(figure.panels[0].wide["datasets"]["dots"]) < 250
    heated = strip.heat_map(group, dataclasses.replace(report, statuses=statuses), 1, several=False)
    assert heated is not None
    assert heated.grid is not None
    assert len(heated.grid.rows) < 20
    assert sum(int(row.name.removesuffix(" hosts")) if row.of else 1 for row in heated.grid.rows) == 1000
    assert "those that nobody could tell apart share a row" in heated.note
    monkeypatch.setattr(heat, "MOST_ROWS", 1)
    heated = strip.heat_map(group, dataclasses.replace(report, statuses=statuses), 1, several=False)
    assert heated is not None
    assert "those of one verdict share a row" in heated.note


def test_who_is_slow_has_a_coloured_cell_and_noise_has_none(some: Fleet) -> None:
    """node013 is slow in what is the first of many families, node014 in what is the last; of hosts that differ by 0.5 % nobody is coloured."""
    some.hosts(range(1, 13), sessions=3).add("node013", 0.1, sessions=3).add(
        "node014", latency=0.3, sessions=3
    )
    (figure,) = fleet_page.build(some.report(), title="t", links={}).sections[0].blocks[0].figures
    grid = figure.grid
    assert grid is not None
    by_name = {row.name: row for row in grid.rows}
    assert [row.name for row in grid.rows][:2] in (["node013", "node014"], ["node014", "node013"])
    titles = [column.title for column in grid.columns]
    bandwidth, latency = titles.index("triad bandwidth"), titles.index("latency matrix")
    assert (
        by_name["node013"].cells[bandwidth].text.startswith("−")
    )  # the number's own sign, in the colour of worse
    assert by_name["node014"].cells[latency].text.startswith("+")
    for row, at in ((by_name["node013"], bandwidth), (by_name["node014"], latency)):
        assert row.bad
        assert row.cells[at].shade > 0
        assert row.cells[at].marked
        assert row.link == f"#{html.anchor(f'node {row.name}')}"
    others = [cell for row in grid.rows[2:] for cell in row.cells]
    assert not any(abs(cell.shade) > 1 or cell.marked for cell in others)
    assert all(column.sub.startswith(("more is better", "less is better")) for column in grid.columns)


def test_a_family_that_reaches_far_is_two_and_says_what_it_holds(make: Any, tmp_path: Path) -> None:
    files = []
    for host in range(9):
        maker = make.Maker(tmp_path / f"{host}.db", host=f"n{host}")
        times = {0: 0.2, 1: 0.21, 1024: 0.3, 4096: 0.5, 2**22: 300.0}
        maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text(times))
        if host != 3:
            maker.add("s", "stream", {"threads": 1}, make.stream_text(1e4, 1))
        files.append(maker.write())
    (figure,) = (
        fleet_page.build(outliers.build(load(files)), title="t", links={}).sections[0].blocks[0].figures
    )
    assert figure.grid is not None
    titles = [column.title.removeprefix("⚠ ") for column in figure.grid.columns]
    assert titles[:2] == ["PingPong time at 0 B to 1 KiB", "PingPong time at 4 KiB to 4 MiB"]
    (lacking,) = [row for row in figure.grid.rows if row.name == "n3"]
    assert {cell.missing for title, cell in zip(titles, lacking.cells, strict=True) if "triad" in title} == {
        True
    }
    assert "Hatched: not measured" in figure.note


@pytest.mark.slow
def test_hosts_that_nobody_could_tell_apart_share_a_row_of_a_large_fleet(some: Fleet, make: Any) -> None:
    """50 of them; the slow one, and the one that lacks a number, have rows of their own."""
    some.hosts(range(1, 51)).add("node060", 0.2, sessions=3).add("node061", mlc=False)
    (figure,) = fleet_page.build(some.report(), title="t", links={}).sections[0].blocks[0].figures
    assert figure.grid is not None
    first, *rest = figure.grid.rows
    assert first.name == "node060"
    assert "node061" in {row.name for row in rest}
    (alike,) = [row for row in rest if row.of and "[" in row.of and int(row.name.split()[0]) > 30]
    assert all(" to " in cell.text and not cell.shade for cell in alike.cells)
    assert sum(int(row.name.split()[0]) if row.of else 1 for row in figure.grid.rows) == 52
    assert figure.numbers[1].rows  # says who they are


def test_what_a_check_doubts_is_marked_wherever_the_host_is_accused(
    make: Any, some: Fleet, tmp_path: Path
) -> None:
    """One session of node013 has repeats far apart (G11) at one thread; at four it is as slow, and sound."""
    some.hosts(range(1, 13), sessions=3).add("node013", 0.25, sessions=2)
    maker = make.Maker(tmp_path / "scattered.db", host="node013")
    for rates in ((8e3, 16e3), (4e3, 16e3), (8e3, 16e3)):
        for threads, rate in zip((1, 4), rates, strict=True):
            text = make.stream_text(rate, threads)
            maker.add("scaling", "stream", {"threads": threads}, text, axes=("threads",))
    some.files.append(maker.write())
    report = some.report()

    marked = {(o.host, o.series.cell): o.found.doubt for o in report.odd}
    assert marked == {("node013", "scaling, threads=1"): "G11", ("node013", "scaling, threads=4"): ""}
    text = fleet_text.as_text(report, everything=True)
    rows = [line for line in text.splitlines() if "bandwidth" in line]
    assert len(rows) == 8
    assert all(("⚠ G11" in row) == ("threads=1:" in row) for row in rows)
    assert "  ⚠ doubtful: node013 (repeats far apart, G11)\n" in text
    assert "⚠: doubtful, by the checks named; pinsweep audit says why." in text
    document = json.loads(fleet_text.as_json(report))
    assert {(o["cell"], *o["doubtful"]) for o in document["odd"]} == {("scaling, threads=1", "G11"), ("scaling, threads=4",)}  # fmt: skip
    numbers = [n["doubtful"] for n in document["groups"][0]["numbers"] if n["cell"] == "scaling, threads=1"]
    assert numbers == [{"node013": ["G11"]}] * 4
    page = fleet_page.build(report, title="t", links={})
    assert page.sentence.endswith("; ⚠ doubtful: node013 (repeats far apart, G11).")
    (figure,) = page.sections[0].blocks[0].figures
    assert figure.heading.startswith("⚠ ")
    assert "repeats far apart (G11, 1 of " in figure.doubted
    told = {row[0]: row[-1] for row in figure.numbers[0].doubted.rows}
    assert all((said == "⚠ G11") == ("threads=1:" in number) for number, said in told.items())
    assert html.html(page, static=True).count("⚠ G11") >= 8


def test_of_sound_runs_nothing_is_marked(some: Fleet) -> None:
    report = some.hosts(range(1, 13), sessions=3).add("node013", 0.25, sessions=3).report()

    assert report.accused == ("node013",)
    assert report.doubted == {}
    assert "⚠" not in fleet_text.as_text(report)
    assert "⚠" not in html.html(fleet_page.build(report, title="t", links={}), static=True)


def test_disturbed_runs_are_left_out_with_a_word(make: Any, some: Fleet, tmp_path: Path) -> None:
    some.hosts(range(1, 10))
    maker = make.Maker(tmp_path / "disturbed.db", host="node010")
    for threads in (1, 4):
        maker.add("scaling", "stream", {"threads": threads}, make.stream_text(1e4, threads), axes=("threads",), status="disturbed")  # fmt: skip
    some.files.append(maker.write())
    report = some.report()

    assert report.statuses["node010"] == "unknown"
    assert report.warnings == (
        "2 runs of node010 were disturbed, and not repeated yet, and their numbers are not judged",
    )


def test_operations_are_said_as_compare_says_them(make: Any, tmp_path: Path) -> None:
    files = []
    for n in range(9):
        maker = make.Maker(tmp_path / f"{n}.db", host=f"n{n}")
        rate = 7e3 if n == 8 else 1e4
        text = make.fio_text({"read": (rate, 1e6 / rate)}, bs="4k", rw="randread", iodepth=1)
        files.append(maker.add("disk", "fio", {"iodepth": 1}, text).write())
    report = outliers.build(load(files))

    assert re.search(r"read IOPS +7\.00 kIOPS +10\.0 kIOPS +−30 %", fleet_text.as_text(report))
    page = html.html(fleet_page.build(report, title="t", links={}), static=True)
    assert "10.0 kIOPS" in page
    assert "k/s" not in page


def test_hosts_of_which_nobody_knows_where_they_ran_are_said_and_not_accused(
    make: Any, tmp_path: Path
) -> None:
    """Half as fast may be half of the PUs: of sessions that recorded neither a placement nor a mask, nobody can tell."""

    def report(**facts: str) -> outliers.Report:
        folder = tmp_path / str(len(facts))
        folder.mkdir()
        files = []
        for i, session in itertools.product(range(10), range(3)):
            maker = make.Maker(folder / f"{i}-{session}.db", host=f"n{i}")
            maker.facts = {k: v for k, v in make.FACTS.items() if k != "cpus_allowed"} | facts
            maker.facts |= {"boot_id": f"{i} {session}"}
            rate = 20e3 * (0.5 if i == 3 else 1 + i / 1000)
            files.append(maker.add("s", "stream", {"array_size": 1}, make.stream_text(rate, 4)).write())
        return outliers.build(load(files))

    known, unknown = report(cpus_allowed="0-7"), report()

    assert (known.accused, known.statuses["n3"]) == (("n3",), "broken")
    assert (unknown.accused, unknown.statuses["n3"]) == ((), "suspicious")
    text = fleet_text.as_text(unknown)
    assert "triad bandwidth (on which PUs is not recorded)" in text
    assert not unknown.everywhere
    assert list(unknown.rerun) == ["n3"]


def test_beside_a_baseline_the_table_says_what_the_baseline_scatters_by(make: Any, tmp_path: Path) -> None:
    """Three hosts, 9 % apart, and six sessions that are all but equal: "hosts differ by 1.0 %" was what is assumed of so few."""

    def files(name: str, rates: Sequence[float]) -> list[Path]:
        out = []
        for i, rate in enumerate(rates):
            maker = make.Maker(tmp_path / f"{name}{i}.db", host=f"{name}{i // 3}")
            maker.facts = {**make.FACTS, "boot_id": f"{name} {i}"}
            out.append(maker.add("s", "stream", {"threads": 1}, make.stream_text(rate, 1)).write())
        return out

    past = load(files("past", [20e3, 20.001e3] * 3))
    report = outliers.build(load(files("n", [20e3] * 3 + [19e3] * 3 + [18e3] * 3)), baseline=past)
    page = fleet_page.build(report, title="t", links={})

    kinds, table = (t for s in page.sections for f in s.blocks[0].figures for t in f.numbers)
    assert "The baseline scatters by (robust SD)" in table.columns
    assert {row[2] for row in table.rows} == {"≤ 1.0 %"}
    assert any("and at least 1 % where that has fewer than 8 sessions" in text for text in page.methods)
    # of the one host that nobody accuses: it was "hosts differ by 0.00033 %"
    assert {row[kinds.columns.index("Usual hosts differ by (robust SD)")] for row in kinds.rows} == {"–"}


def test_a_host_that_is_slow_in_one_sweep_alone_is_told_so(some: Fleet) -> None:
    """A failing module slows down one kind of access; slow in all is another fault."""
    some.hosts(range(1, 11)).add("node011", latency=0.2, sessions=3).add(
        "node012", latency=0.2, slower=0.2, sessions=3
    )

    said = fleet_text.folds(some.report(), Screen(width=160, terminal=True)).splitlines()

    (one,) = (line for line in said if line.startswith("node011"))
    assert re.search(
        r" only matrix: all of it, \S+ (to \S+ )?% worse; 4 numbers, the other 8 normal$", one
    ), one
    (both,) = (line for line in said if line.startswith("node012"))
    assert "only" not in both


def test_where_each_host_is_odd_in_a_number_of_its_own_there_is_a_page(make: Any, tmp_path: Path) -> None:
    """Of a family in which no host is usual, scatter is that of them all."""
    files = []
    sizes = range(1, 13)
    for host in range(12):
        maker = make.Maker(tmp_path / f"{host}.db", host=f"n{host}")
        times = {size: 0.3 * (1.5 if i == host else 1 + host / 1000) for i, size in enumerate(sizes)}
        maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text(times))
        files.append(maker.write())
    report = outliers.build(load(files))
    (figure,) = fleet_page.build(report, title="t", links={}).sections[0].blocks[0].figures

    assert set(report.statuses.values()) == {"suspicious"}
    assert figure.grid is not None
    assert {row.name for row in figure.grid.rows} == {f"n{host}" for host in range(12)}
    assert all(any(cell.marked for cell in row.cells) for row in figure.grid.rows)


@pytest.mark.parametrize(
    ("dots", "wide", "lefts"),
    [
        ([50.0, 200.0], [40.0, 40.0], [30.0, 180.0]),
        ([50.0, 90.0], [40.0, 40.0], [27.0, 73.0]),  # they would touch, and share what they are moved by
        ([2.0, 30.0], [40.0, 40.0], [0.0, 46.0]),  # the edge holds both
        ([290.0], [40.0], [260.0]),
    ],
)
def test_names_of_two_hosts_stand_each_below_its_own_dot(
    dots: list[float], wide: list[float], lefts: list[float]
) -> None:
    assert strip._side_by_side(dots, wide, 300.0) == pytest.approx(lefts)


def test_shades_are_of_one_scale_and_axes_have_signs_where_they_can(some: Fleet) -> None:
    """+51 % was pale in one column, +31 % strong in the next; "node1, node2" stood between two dots; "15 10 5 0 5 10 15" was an axis."""
    for host in range(1, 13):
        some.add(f"node{host:03}", {1: 0.1, 2: 0.15}.get(host, 0.0), mlc=False)
    report = some.report()
    (group,) = report.groups

    heated = strip.heat_map(group, report, 1, several=False)
    figure = strip.figure(group, report, 1, several=False)

    assert heated
    assert heated.grid
    shades = {
        (cell.text, abs(cell.shade))
        for row in heated.grid.rows
        for cell in row.cells
        if cell.shade and " to " not in cell.text
    }
    assert {shade for text, shade in shades} == {
        heat.strength(abs(float(text.replace("−", "-"))) / 100) for text, _ in shades
    }
    assert heat.strength(0.5) == 12 > heat.strength(0.1) > heat.strength(0.03) > heat.strength(0.01) == 1
    assert figure
    axis = json.dumps(figure.panels[0].wide, ensure_ascii=False)
    assert "Worse ← change from the median, % → better" in axis
    assert "−10" in axis
    names = [row["text"] for row in figure.panels[0].wide["datasets"]["names"]]
    assert {"node001", "node002"} <= {*names}
    assert {row["shape"] for row in figure.panels[0].wide["datasets"]["odd"]} == {"diamond"}


def test_what_doubts_all_numbers_is_told_once_and_marks_none(some: Fleet) -> None:
    """S1 doubted all 48 cells of 24 hosts, and the three that were slow were "doubtful"."""
    report = some.hosts(range(2, 13), sessions=3).add("node001", 0.25, sessions=3).report()
    (group,) = report.groups

    def doubt(host: Any, own: str) -> Any:
        return dataclasses.replace(
            host, doubt=", ".join(filter(None, ("S1", own if host.name == "node001" else "")))
        )

    def of(ids: str) -> outliers.Report:
        strips = tuple(
            (one, dataclasses.replace(strip, hosts=tuple(doubt(host, ids) for host in strip.hosts)))
            for one, strip in group.strips
        )
        odd = tuple(dataclasses.replace(one, found=doubt(one.found, ids)) for one in report.odd)
        return dataclasses.replace(report, groups=(dataclasses.replace(group, strips=strips),), odd=odd)

    once = "⚠ doubtful: all numbers, by S1 (arrays smaller than STREAM's rules ask for, or a clock too coarse for them)"
    page, text = fleet_page.build(of(""), title="t", links={}), fleet_text.as_text(of(""))
    assert page.sentence.endswith(f"{once}.")
    assert html.html(page, static=True).count("⚠") == text.count("⚠") - 1 == 1  # but the legend of the text
    assert once in " ".join(text.split())
    assert json.loads(fleet_text.as_json(of("")))["odd"][0]["doubtful"] == ["S1"]
    assert fleet_page.build(of("G11"), title="t", links={}).sentence.endswith(
        f"{once}; ⚠ doubtful: node001 (repeats far apart, G11)."
    )
    many = fleet_page.build(of("G11, G7, F1, M1"), title="t", links={}).sentence
    assert many.endswith(
        "; ⚠ doubtful: node001, by 4 checks, among them more or fewer I/Os in flight than were asked for (F1)."
    )
