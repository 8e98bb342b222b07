"""What chance makes of many looks, what is then said to help, and one measurement that is two numbers."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinsweep.cli import cli
from reports.checks.audit import joined
from reports.fleet import outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.fleet.chance import Chance
from reports.page import html
from reports.results.load import load
from reports.text.hostlist import listed
from reports.text.screen import Screen

pytestmark = pytest.mark.usefixtures("undrawn")

TERMINAL = Screen(width=400, terminal=True)
RATE = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}


def noisy(make: Any, folder: Path, hosts: int) -> list[Path]:
    """One session of hosts that differ by nothing but noise of 5 %."""
    chance, files = random.Random(1), []
    for i in range(hosts):
        maker = make.Maker(folder / f"n{i:02}.db", host=f"n{i:02}")
        for level in ("1", "2", "4"):
            options = {"command": ["x"], "metrics": RATE, "a": level}
            maker.add("s", "command", options, f"rate {1000 * chance.gauss(1, 0.05):.3f}\n", axes=("a",))
        files.append(maker.write())
    return files


@pytest.mark.slow
def test_where_longer_runs_help_more_a_second_look_is_not_asked_for(make: Any, tmp_path: Path) -> None:
    """ "Longer runs help more than a second look" stood above "to confirm: pinsweep fleet … --confirm"; of 40 odd hosts ten were not named."""
    files = noisy(make, tmp_path, 60)
    report = outliers.build(load(files))
    assert report.chance.too_many
    assert report.chance.looks == 180
    assert report.chance.expected == pytest.approx(report.chance.found, rel=0.3)

    ran = CliRunner().invoke(cli, ["fleet", str(tmp_path)])

    assert "or it is chance (finds by chance alone: about " in " ".join(ran.output.split())
    assert (
        f"{report.chance.found} of 180 looks (hosts × numbers) are suspicious; where all hosts are equal, chance alone makes about "
        in ran.output
    )
    assert "to confirm" not in ran.output
    assert "again" not in fleet_page.build(report, title="t", links={}).sentence
    odd = {one.host for one in report.odd}
    assert len(odd) > 30
    assert report.chance.alone == odd == {*report.by_status()["suspicious"]}
    assert f"{len(odd)} suspicious ({len(odd)} of them as chance makes)" in ran.output
    assert f"{len(odd)} hosts, {listed(odd)}, are " in fleet_text.as_text(report)
    one = replace(report, by_chance=report.by_chance[:1])
    assert f"\n{one.by_chance[0].host} is " in fleet_text.as_text(one), "a host's name stays as it is"
    page = fleet_page.build(report, title="t", links={})
    assert page.sections[-1].blocks[0].suspects == ()  # type: ignore[attr-defined]
    assert {row[0] for row in page.sections[-1].blocks[0].by_chance.rows} == odd  # type: ignore[attr-defined]


@pytest.mark.slow
def test_who_stands_out_is_no_part_of_what_is_too_many(make: Any, tmp_path: Path) -> None:
    """Of 60 hosts that are off by chance one was 40 % slow in all it has: "34 hosts looked slow, which are too many for it to be the hosts"."""
    files = noisy(make, tmp_path, 60)
    maker = make.Maker(tmp_path / "bad.db", host="bad")
    for level in ("1", "2", "4"):
        options = {"command": ["x"], "metrics": RATE, "a": level}
        maker.add("s", "command", options, "rate 600\n", axes=("a",))
    report = outliers.build(load([*files, maker.write()]))
    page = fleet_page.build(report, title="t", links={})

    assert report.chance.apart == {"bad"}
    assert re.match(
        r"1 of 61 hosts looks slow: bad \(40 % worse in 3 of 3 numbers\); one session: to be measured again; \d+ more hosts are ",
        page.sentence,
    )
    assert list(report.rerun) == ["bad"]  # the others are too many for a second look
    assert page.sections[0].blocks[0].figures[0].grid.rows[0].name == "bad"  # type: ignore[union-attr]
    assert [s.host for s in page.sections[-1].blocks[0].suspects] == ["bad"]  # type: ignore[attr-defined]
    assert "beside 1 that stands out" in report.warnings[-1]


def test_of_few_suspects_a_second_look_is_what_helps() -> None:
    few = Chance(looks=400, found=3, expected=0.4, hosts=3, of=40)
    assert not few.warning
    assert (
        few.text
        == "3 of 400 looks (hosts × numbers) are suspicious; where all hosts are equal, chance alone makes fewer than one"
    )
    assert not Chance(looks=400, found=0, expected=0.4, hosts=0, of=40).text


def test_beside_hosts_with_three_sessions_it_is_said_whose_looks_are_counted() -> None:
    """ "9 of 18 looks (hosts × numbers)" stood below 40 hosts with 9 numbers each, of which two had one session."""
    some = Chance(looks=18, found=9, expected=0.4, hosts=3, of=40, confirmed=4)
    assert some.text == (
        "9 of 18 looks (hosts × numbers) of hosts with fewer than three sessions are suspicious; where all hosts are equal, chance alone makes "
        "fewer than one; of hosts with more sessions 4"
    )
    assert "of hosts with fewer than three sessions are suspicious" in replace(some, confirmed=0).text
    assert "more sessions" not in replace(some, confirmed=0).text


def test_a_peak_that_is_the_bandwidth_of_a_row_is_one_odd_number(make: Any, tmp_path: Path) -> None:
    """The bandwidth at delay 0 is the highest of each host: n03, 20 % behind there, was odd in "2 numbers"."""
    files = []
    for i in range(9):
        maker = make.Maker(tmp_path / f"n{i:02}.db", host=f"n{i:02}")
        top = 20000.0 * (0.8 if i == 3 else 1 + 0.001 * i)
        rows = [(0, 170.0, top), (100, 150.0, 12000.0), (500, 100.0, 4000.0), (1000, 90.0, 2000.0)]
        options = {"mode": "loaded_latency", "W": "R"}
        maker.add("loaded", "mlc", options, make.mlc_text(rows), axes=("W",))
        files.append(maker.write())
    report = outliers.build(load(files))

    names = {one.series.key.name.words for one in report.odd if one.host == "n03"}
    assert names == {"loaded latency bandwidth at traffic read, delay 0", "peak bandwidth at traffic read"}
    assert fleet_text.as_text(report, everything=True).count("n03") == 2  # in the verdict, and in one row
    assert (report.chance.found, report.chance.looks) == (1, 72)  # of 9 hosts with 8 numbers
    (line, _) = fleet_text.folds(report, TERMINAL).splitlines()
    assert line.endswith("1 of 8 numbers of loaded, 20 % worse; 1 number")
    (suspect,) = fleet_page.build(report, title="t", links={}).sections[-1].blocks[0].suspects  # type: ignore[attr-defined]
    assert (suspect.odd, len(suspect.numbers.rows)) == ("1", 1)


def test_hosts_that_the_same_checks_doubt_stand_together_in_whatever_order_these_come() -> None:
    assert joined(["M1, F10", "F7"]) == joined(["F7, F10", "M1"]) == "F7, F10, M1"


@pytest.mark.slow
def test_the_names_of_a_row_of_many_hosts_are_all_there(make: Any, tmp_path: Path) -> None:
    """They were cut after three lines."""
    files = []
    for i in range(120):
        maker = make.Maker(tmp_path / f"n{i}.db", host=f"rack{i * i:05}-node")
        maker.add("s", "command", {"command": ["x"], "metrics": RATE}, f"rate {1000 + i % 3}\n")
        files.append(maker.write())
    written = html.html(fleet_page.build(outliers.build(load(files)), title="t", links={}), static=True)

    assert "line-clamp" not in written
    inside = written.split('<details class="few"><summary>who</summary>')[1].partition("</details>")[0]
    assert inside.count(",<wbr>") == 118  # 0 and 1 are a range
