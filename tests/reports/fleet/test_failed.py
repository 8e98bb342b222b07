"""A host whose runs failed is seen: a cross in the map, its name in the checks; nodesets on a terminal end at a comma."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from orchestrator.model import Group
from reports.fleet import outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.fleet.gaps import Lacks
from reports.page import html
from reports.results.load import load
from reports.text.screen import Screen

pytestmark = pytest.mark.usefixtures("undrawn")


def fleet(make: Any, folder: Path, hosts: int) -> outliers.Report:
    """Equal hosts with two sweeps; all runs of the second failed on n03, and n05 has none of it."""
    files = []
    for i in range(hosts):
        name = f"n{i:02d}"
        maker = make.Maker(folder / f"{name}.db", host=name)
        for rate in (20e3, 20.1e3):
            text = make.stream_text(rate * (1 + i / 1e4), 4)
            maker.add("good", "stream", {"threads": 4}, text)
            bad = {"status": "failed", "reason": "exit status 1"} if name == "n03" else {}
            if name != "n05":
                maker.add("bad", "stream", {"threads": 2}, "" if bad else text, **bad)
        files.append(maker.write())
    return outliers.build(load(files))


def test_a_host_whose_runs_failed_has_crosses_and_is_named(make: Any, tmp_path: Path) -> None:
    """It was "ok" among the others with a dash; the checks said "1 gap"."""
    report = fleet(make, tmp_path, 12)
    page = fleet_page.build(report, title="t", links={})

    (figure,) = page.sections[0].blocks[0].figures
    assert figure.grid
    rows = {row.name: row for row in figure.grid.rows}
    assert rows["n03"].word == "ok, 2 of 4 runs failed"
    assert {cell.text for cell in rows["n03"].cells if cell.missing} == {"×"}
    assert {cell.text for cell in rows["n05"].cells if cell.missing} == {"–"}
    assert {row.word for name, row in rows.items() if name != "n03"} == {"ok"}
    assert {"failed", "missing"} <= figure.grid.marks
    assert figure.note.endswith("Hatched: not measured. ×: its runs failed.")
    assert next(row.name for row in figure.grid.rows) == "n03"
    told = {check.subject: check.text for check in page.checks}
    assert told["Incomplete."].startswith("n03: ")
    assert told["Missing numbers."] == "n[03,05] lack what others have."


def test_a_host_whose_runs_failed_is_not_among_the_good_ones(make: Any, tmp_path: Path) -> None:
    """ "12 ok" and "ok n[00-11]" were all that the head of a fleet said of it."""
    report = fleet(make, tmp_path, 12)

    for screen in (Screen(), Screen(width=60, terminal=True)):
        first, failed, good, *_ = fleet_text.as_text(report, screen=screen).splitlines()
        assert first == "12 hosts: 12 ok (runs of 1 failed)"
        assert (failed, good) == (
            "  ok, 2 of 4 runs failed  n03",
            "  ok                      n[00-02,04-11]",
        )
    assert fleet_page.sentence(report).endswith("; runs of n03 failed.")


def test_a_host_of_which_some_runs_failed_says_so_on_the_page_too(make: Any, tmp_path: Path) -> None:
    """It was "ok" in the map where it had a number of each kind, and of two hosts with nine such runs each "9 runs failed"."""
    files = []
    for i in range(12):
        maker = make.Maker(tmp_path / f"n{i:02d}.db", host=f"n{i:02d}")
        for threads in (1, 2):
            for repeat in range(2):
                failed = (
                    {"status": "failed", "reason": "exit status 1"}
                    if i in (3, 5) and threads == 2 and repeat
                    else {}
                )
                maker.add(
                    "s",
                    "stream",
                    {"threads": threads},
                    "" if failed else make.stream_text(20e3, 4),
                    axes=("threads",),
                    **failed,
                )
        files.append(maker.write())
    report = outliers.build(load(files))
    page = fleet_page.build(report, title="t", links={})

    (figure,) = page.sections[0].blocks[0].figures
    assert figure.grid
    (numbers,) = page.sections[-1].blocks[0].figures[0].numbers
    equal = dict(zip(numbers.columns, numbers.rows[0], strict=True))
    assert (equal["Worst"], equal["Best"]) == ("–", "–")  # it was "n00 20.0", "n00 20.0"
    words = [(row.name, row.word) for row in figure.grid.rows]
    assert words[:3] == [
        ("n03", "ok, 1 of 4 runs failed"),
        ("n05", "ok, 1 of 4 runs failed"),
        ("n00", "ok"),
    ]
    assert [gap.text for gap in report.gaps] == ["incomplete n[03,05], each: 1 run failed, exit status 1"]
    assert "incomplete n[03,05], each: 1 run failed, exit status 1" in fleet_text.as_text(report)


@pytest.mark.parametrize("cpus", [4, 2])
def test_a_host_without_a_sweep_has_a_line_and_not_one_a_cell(cpus: int, make: Any, tmp_path: Path) -> None:
    """A cell is a point of a sweep, wherever it ran: two hosts on fewer PUs make no cells of their own."""
    files = []
    for i in range(9):
        maker = make.Maker(tmp_path / f"n{i}.db", host=f"n{i}")
        maker.groups = {"here": (Group(cpus=tuple(range(cpus if i > 6 else 4))),)}
        for sweep, most in (("scaling", 4 if i != 3 else 0), ("other", 4 if i != 5 else 2)):
            for threads in range(1, most + 1):
                maker.add(
                    sweep, "stream", {"threads": threads}, make.stream_text(20e3, threads), axes=("threads",), place="here",
                )  # fmt: skip
        files.append(maker.write())

    where = "" if cpus == 4 else ", PUs=0-3"
    assert {*outliers.build(load(files)).missing} == {
        ("all 4 cells of scaling", ("n3",)), *((f"other, threads={n}{where}", ("n5",)) for n in (3, 4)),
    }  # fmt: skip


def test_nodesets_of_a_terminal_end_at_a_comma() -> None:
    """ "n[001-005,01…3-030]": half a name is another host."""
    names = tuple(f"node{i:03d}" for i in range(1, 200, 2))
    for word in ("slow", "ok"):
        lines = fleet_text._hosts(f"  {word}  ", names, word, Screen(width=60, terminal=True))  # type: ignore[arg-type]
        assert max(map(len, lines)) <= 60
        assert not any("…" in line for line in lines)
        if word == "slow":
            assert re.findall(r"\d+", "".join(lines)) == [name[4:] for name in names]
        else:
            assert lines == ["  ok  100 hosts"]


@pytest.mark.slow
def test_the_host_that_is_farthest_off_stands_first_and_a_row_of_several_leads_to_them(
    make: Any, tmp_path: Path
) -> None:
    """+150 % in one number stood behind 10 % in four; of 60 hosts those that are alike share a row, which led nowhere."""
    files = []
    for i in range(60):
        maker = make.Maker(tmp_path / f"n{i:02}.db", host=f"n{i:02}")
        for threads in (1, 2, 4):
            slower = 1.1 if i in (20, 21) else 2.5 if i == 33 and threads == 4 else 1 + 0.001 * (i % 5)
            maker.add(
                "s",
                "stream",
                {"threads": threads},
                make.stream_text(10e3 * threads / slower, threads),
                axes=("threads",),
            )
        files.append(maker.write())
    report = outliers.build(load(files))

    assert list(dict.fromkeys(one.host for one in report.odd)) == ["n33", "n20", "n21"]
    page = fleet_page.build(report, title="t", links={})
    (figure,) = page.sections[0].blocks[0].figures
    assert figure.grid
    first, second, *rest = figure.grid.rows
    assert (first.name, second.of, second.link) == ("n33", "n[20-21]", "#suspects")
    assert {row.link for row in rest} == {""}
    apart = figure.numbers[-1]  # which of them is how far off
    assert apart.columns[:2] == ("Host", "Verdict")
    assert [row[:3] for row in apart.rows] == [("n20", "suspicious", "−8.9"), ("n21", "suspicious", "−8.9")]
    text = html.html(page, static=True)
    assert 'id="suspects"' in text
    assert f'id="{first.link.removeprefix("#")}"' in text


def test_runs_without_a_number_are_called_what_they_are(make: Any, tmp_path: Path) -> None:
    """Runs that crashed were "missing"."""
    (failed,) = fleet(make, tmp_path, 4).lacks["n03"].failed[:1]
    said = [
        Lacks(failed=(failed,) * n, void=(), not_run=not_run, sound=2).text
        for n, not_run in ((2, 0), (0, 1), (2, 1))
    ]
    assert said == ["2 of 4 runs failed", "1 of 3 runs not run", "3 of 5 runs without a valid number"]


def test_of_two_machines_of_one_name_that_lacks_numbers_of_which_runs_failed(
    make: Any, tmp_path: Path
) -> None:
    """Both were ok, "None of 10 hosts is known to be slow" said no more, and its cells of the map were "not measured"."""
    files = []
    for host, card, bad in [*((f"n{i}", f"a{i}", False) for i in range(8)), ("x", "b1", False), ("x", "b2", True)]:  # fmt: skip
        maker = make.Maker(tmp_path / f"{card}.db", host=host)
        maker.facts = {**make.FACTS, "network_cards": card, "boot_id": card}
        maker.add("s", "stream", {"threads": 4}, make.stream_text(2e4, 4))
        again = {"status": "failed", "reason": "exit status 1"} if bad else {}
        maker.add("t", "stream", {"threads": 2}, "" if bad else make.stream_text(1e4, 2), **again)
        files.append(maker.write())
    report = outliers.build(load(files))

    assert report.word_of("x (b2.db)") == "ok, 1 of 2 runs failed"
    assert report.word_of("x (b1.db)") == "ok"
    assert [gap.of for gap in report.gaps] == [("x (b2.db)",)]
    assert {*report.screened} == {*report.statuses}
    page = fleet_page.build(report, title="t", links={})
    assert "; runs of x (b2.db) failed" in page.sentence
    (figure,) = page.sections[0].blocks[0].figures
    assert figure.grid
    assert any(cell.failed for row in figure.grid.rows for cell in row.cells if row.name == "x (b2.db)")
