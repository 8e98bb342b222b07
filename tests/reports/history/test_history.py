"""Histories from result files: sessions in time, the step, and what the machine recorded differently at it."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from orchestrator.capture.intake import Captured, intake_options, read
from orchestrator.capture.kept import store
from orchestrator.model import Group
from parsers.errors import UserError
from reports.draw.label_placement import text_width
from reports.export.tables import export
from reports.fleet import outliers
from reports.history import changes as history
from reports.history import page as history_page
from reports.history import text as history_text
from reports.page import html
from reports.results.load import load
from reports.text.screen import Screen
from reports.verdicts.history import changes

pytestmark = [
    pytest.mark.usefixtures("undrawn"),
    # looked for, not imported: each worker collects this file, few run it, and with ruptures comes a second of scipy
    pytest.mark.skipif(
        find_spec("ruptures") is None, reason="ruptures, which finds the steps, is for no such Python"
    ),
]


def night(i: int, hour: str = "03:00") -> str:
    return f"2026-{1 + i // 28:02}-{1 + i % 28:02}T{hour}:00+00:00"


OLD, NEW = {"kernel": "6.1.0"}, {"kernel": "6.8.0", "microcode": "0xf4"}


class Nightly:
    """One session a night of a STREAM cell, with 0.5 % of noise; written in no order of time."""

    def __init__(self, make: Any, folder: Path) -> None:
        self.make, self.folder, self.files = make, folder, list[Path]()
        self.chance = random.Random(4)

    def add(
        self,
        rates: Sequence[float],
        facts: Sequence[Mapping[str, Any]],
        host: str = "node07",
        started: Sequence[str] = (),
        sweeps: Sequence[str] = (),
        cpus: Sequence[int] = (),
    ) -> Nightly:
        order = list(range(len(rates)))
        self.chance.shuffle(order)
        for i in order:
            path = self.folder / f"{host}-{self.chance.randrange(10**6)}.db"
            maker = self.make.Maker(path, host=host)
            maker.facts = {**self.make.FACTS, **facts[i]}
            if cpus:
                maker.groups = {"here": (Group(cpus=tuple(range(cpus[i]))),)}
            for _ in range(2):
                rate = rates[i] * (1 + self.chance.gauss(0, 0.005))
                text = self.make.stream_text(rate, 4)
                maker.add(
                    sweeps[i] if sweeps else "s", "stream", {"threads": 4}, text, place="here" if cpus else ""
                )
            self.files.append(maker.write())
            with sqlite3.connect(path) as db:
                db.execute("UPDATE session SET started_utc = ?", (started[i] if started else night(i),))
        return self

    def report(self, **more: Any) -> history.Report:
        return history.build(load(self.files), **more)


@pytest.fixture
def nightly(make: Any, tmp_path: Path) -> Nightly:
    return Nightly(make, tmp_path)


def test_a_step_is_found_where_the_kernel_changed(nightly: Nightly) -> None:
    report = nightly.add([20e3] * 7 + [18.6e3] * 7, [OLD] * 7 + [NEW] * 7).report()

    (step,) = report.steps
    assert step.moment.date == "2026-01-08"
    assert (step.regressed, step.improved, step.off_by) == (4, 0, 0)
    assert {(d.what, d.a, d.b) for d in step.differences} == {
        ("kernel", "6.1.0", "6.8.0"),
        ("microcode", "0xf0", "0xf4"),
    }
    assert step.changed[0][1].ratio == pytest.approx(0.93, abs=0.01)
    assert len(report.regressed) == 4
    assert report.histories[0].medians[0] == pytest.approx(
        20e9 * 0.93, rel=0.02
    )  # copy, the first of the table
    text = history_text.as_text(report)
    assert (
        "2026-01-08 03:00  4 regressed: s 7.2 % worse (all 4 numbers)\n  at the same time: microcode 0xf0 → 0xf4; kernel 6.1.0 → 6.8.0"
        in text
    )


def test_what_drifts_is_no_step_of_any_day_and_no_kernels_doing(nightly: Nightly) -> None:
    """1 % less a night, and a new kernel in the middle: it was told as steps, one of them on the kernel's day."""
    rates = [20e3 * (1 - 0.01 * i) for i in range(20)]
    report = nightly.add(rates, [OLD] * 10 + [NEW] * 10).report()
    page = history_page.build(report, title="t")

    assert report.steps == ()
    assert len(report.regressed) == len(report.drifting("node07")) == 4
    said = "4 numbers drift: 4 regressed little by little"
    assert any("A step on top of a drift is told as a step, or as several" in text for text in page.methods)
    assert page.sentence == f"{said}."
    text = history_text.as_text(report)
    assert text.startswith(f"node07: 20 sessions, 2026-01-01 to 2026-01-20, 4 numbers: {said}\n")
    assert "2026-01-01 to 2026-01-20  4 regressed, little by little and not on any one day\n" in text
    (figure,) = page.sections[0].blocks[0].figures
    assert figure.title == f"node07: {said}"
    assert {lane.steps for lane in figure.lanes.lanes} == {(("regressed", "−19 % little by little"),)}
    (panel, *_) = figure.panels
    levels = panel.wide["datasets"]["levels"]
    assert len(levels) == 19
    assert all(one["y2"] < one["y"] for one in levels)
    assert panel.wide["datasets"]["changes"] == []
    assert ("Changed", "4 numbers by a slow drift") in [(n.name, n.context) for n in page.key_numbers]
    assert "kernel" not in text


def test_a_quiet_host_has_its_lines_too(nightly: Nightly) -> None:
    """Of hosts on which nothing changed the page had nothing to see."""
    report = nightly.add([20e3] * 12, [OLD] * 12).add([20e3] * 3, [OLD] * 3, "node08").report()

    (section,) = history_page.build(report, title="t").sections

    quiet, short = section.blocks[0].figures
    assert section.title == "Numbers over time"
    assert (quiet.title, short.title) == ("node07: no change in 4 numbers", "node08: 3 sessions, too few to tell a change")  # fmt: skip
    assert [len(figure.lanes.lanes) for figure in (quiet, short)] == [4, 4]
    assert (quiet.panels, quiet.tables, quiet.numbers, quiet.note) == ((), (), (), "")


@pytest.mark.parametrize(("after", "word"), [("26", ""), ("27", "regressed")])
def test_one_step_of_the_last_digit_is_no_change(make: Any, tmp_path: Path, after: str, word: str) -> None:
    """A program prints whole ms: 25 and 26 may be 25.49 and 25.51. What it cannot show is said, too."""
    spec = {"took": {"regex": r"t (\S+)", "unit": "ms", "better": "lower"}}
    files = []
    for i in range(14):
        maker = make.Maker(tmp_path / f"{i}.db")
        maker.started = night(i)
        for _ in range(2):
            maker.add("s", "command", {"command": "x", "metrics": spec}, f"t {after if i >= 7 else 25}\n")
        files.append(maker.write())
    report = history.build(load(files))

    assert [c.word for h in report.histories for c in h.news] == ([word] if word else [])
    assert bool(report.regressed) == bool(word)
    text = history_text.as_text(report)
    assert ("steps of up to 5.9 % may go unseen in 1 number" in text) == (not word)


def test_sessions_that_print_one_of_two_values_hide_small_steps(make: Any, tmp_path: Path) -> None:
    """Three or four hits: the median distance from the median is 0, and a step of one still goes unseen."""
    spec = {"hits": {"regex": r"h (\S+)", "better": "higher"}}
    files = []
    for i in range(12):
        maker = make.Maker(tmp_path / f"{i}.db")
        maker.started = night(i)
        maker.add("s", "command", {"command": "x", "metrics": spec}, f"h {3 if i % 4 == 1 else 4}\n")
        files.append(maker.write())

    text = history_text.as_text(history.build(load(files)))

    assert text.endswith(
        "1 number: no change; steps of up to 38 % may go unseen in 1 number, of up to 39 % in the last 4 sessions\n"
        "  may go unseen: s: hits up to 38 %"
    )


@pytest.mark.slow
def test_the_last_change_is_that_of_all_hosts_that_had_it(nightly: Nightly) -> None:
    for host in ("n1", "n2", "n3"):
        nightly.add([20e3] * 7 + [18.6e3] * 7, [OLD] * 7 + [NEW] * 7, host=host)
    nightly.add([20e3] * 14, [OLD] * 14, host="n4")
    report = nightly.report()

    (told,) = history_text.together_text(report)
    checks = [check for check in history_page.build(report, title="t").checks if check.items]
    assert [(check.items, check.counted) for check in checks] == [((told,), "1 change")]
    assert (
        told
        == "2026-01-08: 4 regressed on n[1-3]; at the same time: microcode 0xf0 → 0xf4; kernel 6.1.0 → 6.8.0"
    )
    (still,) = [n for n in history_page.build(report, title="t").key_numbers if n.name == "Regressed"]
    assert (still.value, still.context) == (
        "12",
        "and still worse than before; 4 numbers, of each of 3 hosts its own",
    )
    assert history_page.sentence(report) == (
        "3 changes; the last on n[1-3] on 2026-01-08, 4 regressed; at the same time: microcode 0xf0 → 0xf4; kernel 6.1.0 → 6.8.0."
    )


def test_runs_that_their_own_check_calls_wrong_are_left_out_and_said(make: Any, tmp_path: Path) -> None:
    """One of three repeats of STREAM failed its validation: in the history, in a table and for Prometheus it is not, and that is said."""
    maker = make.Maker(tmp_path / "a.db", host="vm")
    for rate in (9e3, 9.1e3, 5e4):
        text = make.stream_text(rate, 1)
        if rate > 1e4:
            text = re.sub(
                r"Solution Validates.*",
                "Failed Validation on array a[], AvgRelAbsErr > epsilon (1.0e-13)",
                text,
            )
        maker.add("s", "stream", {"threads": 1}, text)
    path = maker.write()
    said = "1 run of vm was not valid by its own check, and its numbers are not "

    assert history.build(load([path])).warnings == (f"{said}judged",)
    for form in ("csv", "openmetrics"):
        told: list[str] = []
        export([path], form, on_left_out=told.append)
        assert told == [f"{said}exported"]


def test_what_came_back_is_no_regression_any_more(nightly: Nightly) -> None:
    rates = [20e3] * 6 + [18e3] * 6 + [20e3] * 6
    report = nightly.add(rates, [OLD] * 18).report()

    assert [(s.moment.date, s.regressed, s.improved) for s in report.steps] == [
        ("2026-01-07", 4, 0),
        ("2026-01-13", 0, 4),
    ]
    assert report.regressed == ()
    assert "nothing that was recorded changed then" in history_text.as_text(report)


def test_a_change_of_the_machine_right_beside_the_step_is_named_as_such(nightly: Nightly) -> None:
    facts = [OLD] * 6 + [NEW] * 8
    (step,) = nightly.add([20e3] * 7 + [18e3] * 7, facts).report().steps

    assert step.off_by == -1
    assert history_text.difference_text(step).startswith("one session earlier: ")


def test_an_odd_day_and_small_steps_are_no_news(nightly: Nightly) -> None:
    rates = [20e3] * 6 + [16e3] + [20e3] * 6
    assert nightly.add(rates, [OLD] * 13).report().steps == ()
    said = "4 numbers: no change; steps of up to 32 % in the last 4 sessions may go unseen"
    assert history_text.as_text(nightly.report()).endswith(said)  # after one odd day another one is no news


def test_the_threshold_decides_what_is_news(nightly: Nightly) -> None:
    nightly.add([20e3] * 8 + [19.6e3] * 8, [OLD] * 16)
    assert nightly.report().steps == ()
    assert nightly.report(threshold=0.01).steps[0].regressed >= 3


def test_a_number_that_came_back_in_part_is_still_down(nightly: Nightly) -> None:
    """Down by 10 %, up by 4 %: its last change is an improvement, and it is 6 % worse than before."""
    report = nightly.add([20e3] * 8 + [18e3] * 8 + [18.75e3] * 8, [OLD] * 24).report()
    assert [(s.regressed, s.improved) for s in report.steps] == [(4, 0), (0, 4)]
    assert len(report.regressed) == 4
    assert all(row["regressed"] for row in json.loads(history_text.as_json(report))["series"])
    (still,) = (n for n in history_page.build(report, title="t").key_numbers if n.name == "Regressed")
    assert (still.value, still.context) == ("4", "and still worse than before")


def test_a_step_below_the_threshold_is_no_news_and_not_told_as_no_change(nightly: Nightly) -> None:
    """−2.95 % is less than 3 %; a step all the same."""
    report = nightly.add([20e3] * 12 + [20e3 * 0.985] * 12, [OLD] * 24).report()
    assert report.steps == ()
    assert any(h.changes for h in report.histories)
    assert history_text.as_text(report).endswith("4 numbers: no change of 3 % or more")
    assert history_page.sentence(report) == "No change of 3 % or more in 4 numbers."
    assert changes([100.0] * 12 + [97.05] * 12, "higher")[0].word == "changed"
    assert changes([100.0] * 12 + [97.0] * 12, "higher")[0].word == "regressed"


def test_what_changed_is_asked_between_the_sessions_that_have_the_number(nightly: Nightly) -> None:
    """Two sweeps in turns: the kernel changed before a session of the other one."""
    sweeps = ["s", "t"] * 12
    rates = [20e3 if i < 12 or sweeps[i] == "t" else 18e3 for i in range(24)]
    report = nightly.add(rates, [OLD] * 11 + [NEW] * 13, sweeps=sweeps).report()
    (step,) = report.steps
    assert (step.before.date, step.moment.date, step.off_by) == ("2026-01-11", "2026-01-13", 0)
    assert {d.what for d in step.differences} == {"kernel", "microcode"}


def test_other_pus_are_something_that_changed(nightly: Nightly) -> None:
    report = nightly.add([20e3] * 6 + [10e3] * 6, [OLD] * 12, cpus=[8] * 6 + [4] * 6).report()
    assert history_text.difference_text(report.steps[0]) == "PUs of s 0-7 → 0-3"


def test_what_only_one_session_recorded_is_not_said_to_be_the_same(nightly: Nightly) -> None:
    report = nightly.add([20e3] * 6 + [18e3] * 6, [OLD] * 6 + [{**OLD, "libc": "glibc 2.36"}] * 6).report()
    text = history_text.difference_text(report.steps[0])
    assert text == "nothing that both sessions recorded changed then; only one recorded C library"


def test_few_sessions_of_a_number_are_no_verdict_anywhere(nightly: Nightly) -> None:
    """Eight sessions of each sweep: text, JSON, page and what --fail-on looks at say the same."""
    sweeps = ["s", "t"] * 8
    report = nightly.add([20e3] * 8 + [15e3] * 8, [OLD] * 16, sweeps=sweeps).report()
    assert report.steps == report.regressed == ()
    assert history_text.as_text(report).endswith(": 8 numbers in fewer than 10 sessions, too few to tell")
    assert history_page.sentence(report).startswith("Too few sessions")
    assert not any(row["judged"] for row in json.loads(history_text.as_json(report))["series"])


def test_what_one_boot_did_within_an_hour_is_one_session(nightly: Nightly) -> None:
    started = [night(0, f"03:{i:02}") for i in range(12)]
    report = nightly.add([20e3] * 6 + [15e3] * 6, [{"boot_id": "b"}] * 12, started=started).report()
    assert [len(own) for own in report.moments.values()] == [1]
    assert report.steps == ()
    assert history_text.as_text(report) == (
        "node07: 12 sessions (one boot within an hour: count as 1); it takes 10 to tell a change from day-to-day noise"
    )
    page = history_page.build(report, title="t")
    assert [(n.name, n.value, n.context) for n in page.key_numbers] == [
        ("Sessions", "1", "of 1 host; 12 were recorded, and one boot within an hour counts as one"),
        ("Numbers", "4", "4 numbers in fewer than 10 sessions, too few to tell"),
    ]
    assert page.sections[0].blocks[0].figures[0].title.startswith("node07: 12 sessions (one boot within")


def test_a_number_in_which_a_step_may_go_unseen_is_named_and_drawn(make: Any, tmp_path: Path) -> None:
    """The line was that of the first number, flat; of “2 numbers” nobody was told which."""
    spec = {"took": {"regex": r"t (\S+)", "unit": "ms", "better": "lower"}}
    files = []
    for i in range(12):
        maker = make.Maker(tmp_path / f"{i}.db")
        maker.started = night(i)
        for n in ("1", "6"):
            slow = 1.2 if n == "6" and i >= 6 and i not in (8, 10) else 1.0
            options = {"command": "x", "metrics": spec, "n": n}
            if (i, n) == (7, "1"):
                maker.add("s", "command", options, "", axes=("n",), status="failed", reason="exit status 7")
                continue
            maker.add("s", "command", options, f"t {300 * slow + i % 3}\n", axes=("n",))
        files.append(maker.write())
    report = history.build(load(files))
    page = history_page.build(report, title="t")

    text = history_text.as_text(report)
    assert "2 numbers: no change; steps of up to 20 % may go unseen in 1 number" in text
    assert "\n  may go unseen: s, n=6: took up to 20 %\n" in text
    assert "warning: 1 run of node07 gave no number: s, n=1 (exit status 7; 2026-01-08)" in text
    (lane,) = page.sections[0].blocks[0].figures[0].lanes.lanes
    assert lane.sub.startswith("s, n=6")
    assert "no change; up to 20 % may go unseen" in lane.note
    assert ("May go unseen.", ("s, n=6: took: up to 20 %",)) in [(c.subject, c.items) for c in page.checks]


def test_a_session_with_a_wrong_clock_is_named_and_stands_in_its_place(nightly: Nightly) -> None:
    """It began before the clock was set, on the tenth day of the year before: among the first by its own clock."""
    day = 86400.0
    boots = [{**OLD, "boot_id": "a", "uptime_s": 600 + i * day} for i in range(12)]
    boots += [{**NEW, "boot_id": "b", "uptime_s": 60 + i * day} for i in range(12)]
    started = [night(i) for i in range(24)]
    started[12] = "2025-01-10T03:00:00+00:00"
    report = nightly.add([20e3] * 12 + [18e3] * 12, boots, started=started).report()
    (step,) = report.steps
    assert (step.moment.date, step.off_by) == ("2026-01-13", 0)
    (warning,) = report.warnings
    assert warning.startswith("node07, the session of 2025-01-10 03:00 (")
    assert f"warning: {warning}" in history_text.as_text(report)
    assert warning in html.html(history_page.build(report, title="t")).replace("\xa0", " ")
    document = json.loads(history_text.as_json(report))
    assert [bool(s["clock"]) for s in document["hosts"][0]["sessions"]] == [i == 12 for i in range(24)]


def test_no_change_says_how_large_a_step_would_not_be_seen(nightly: Nightly) -> None:
    """The sessions differ by 10 %: no step of 20 % could be told from that."""
    report = nightly.add([20e3 * (1 + 0.1 * (-1) ** i) for i in range(12)], [OLD] * 12).report()
    assert report.steps == ()
    said = re.search(r"steps of up to (\d\d) % may go unseen in 4 numbers", history_text.as_text(report))
    assert said
    assert int(said[1]) >= 40
    assert said[0] in history_page.sentence(report)


def test_few_sessions_are_said_to_be_few(nightly: Nightly) -> None:
    report = nightly.add([20e3, 18e3, 16e3], [OLD] * 3).report()
    assert report.steps == ()
    assert "3 sessions; it takes 10" in history_text.as_text(report)
    assert "Too few sessions" in history_page.sentence(report)


def test_the_page_says_one_file_of_one(make: Any, nightly: Nightly, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "one.db")
    maker.add("scaling", "stream", {"threads": 4}, make.stream_text(20e3, 4))
    one = history.build(load([maker.write()]))

    assert "in the result file." in html.html(history_page.build(one, title="t"))
    several = nightly.add([20e3] * 3, [OLD] * 3).report()
    assert "in the result files." in html.html(history_page.build(several, title="t"))


def test_a_page_without_a_change_does_not_say_that_there_are_no_numbers(nightly: Nightly) -> None:
    page = history_page.build(nightly.add([20e3] * 3, [OLD] * 3).report(), title="t")
    assert [n.value for n in page.key_numbers if n.name == "Numbers"] == ["4"]
    assert "has given a number" not in html.html(page)


def test_no_number_is_no_history(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add("s", "stream", {"threads": 4}, "", status="failed")
    with pytest.raises(UserError, match="no run gave a number"):
        history.build(load([maker.write()]))


def test_hosts_have_histories_of_their_own(nightly: Nightly) -> None:
    nightly.add([20e3] * 5 + [15e3] * 5, [OLD] * 10).add([15e3] * 10, [OLD] * 10, host="node08")
    report = nightly.report()
    assert [step.host for step in report.steps] == ["node07"]
    assert "node08: 10 sessions" in history_text.as_text(report)


def test_two_machines_of_one_name_have_histories_of_their_own(nightly: Nightly) -> None:
    """By turns on two processors: a step that one of them made, and none between them."""
    first, second = {"cpu_model": "X"}, {"cpu_model": "Y"}
    report = nightly.add([20e3, 10e3] * 6 + [17e3, 10e3] * 6, [first, second] * 12).report()

    names = ["node07 (processor X)", "node07 (processor Y)"]
    assert list(report.moments) == names
    assert [(step.host, step.moment.date) for step in report.steps] == [(names[0], "2026-01-13")]
    (warning,) = report.warnings
    assert warning == f"several machines are called node07, or its hardware changed: processor Y, not X; they count as {names[0]} and {names[1]}"  # fmt: skip
    assert f"{names[1]}: 12 sessions" in history_text.as_text(report)


def test_two_boots_at_once_are_two_machines(nightly: Nightly, make: Any, tmp_path: Path) -> None:
    """Equal machines of one name: nothing tells their sessions apart, but a machine has one boot at a time."""
    day = 86400.0
    turns = [{"boot_id": "ab"[i % 2], "uptime_s": (i + 5 + i % 2) * day} for i in range(4)]
    one = Nightly(make, tmp_path / "one")
    one.folder.mkdir()
    after = [{"boot_id": "ab"[i // 2], "uptime_s": (i % 2 + 0.5) * day} for i in range(4)]

    (warning,) = nightly.add([20e3] * 4, turns).report().warnings
    assert warning == "node07 was booted at 2025-12-27 03:00, and an earlier boot of it ran on: several machines have this name, or a clock was wrong"  # fmt: skip
    assert [w for w in outliers.build(load(nightly.files)).warnings if "booted" in w] == [warning]
    assert one.add([20e3] * 4, after).report().warnings == ()


@pytest.mark.parametrize(("pattern", "machines"), [("mlml", 2), ("mmll", 1), ("mmllmm", 1)])
def test_memory_by_turns_is_two_machines_and_memory_that_was_lost_is_one(
    nightly: Nightly, pattern: str, machines: int
) -> None:
    facts = [{"memory_bytes": {"m": 64, "l": 48}[letter] * 2**30} for letter in pattern]
    report = nightly.add([20e3] * len(facts), facts).report()

    assert len(report.moments) == machines
    if machines == 1:
        (moments,) = report.moments.values()
        assert {d.what for d in history.between(moments[1], moments[2]).differences} == {"memory"}


def test_json_has_every_session_and_every_step(nightly: Nightly) -> None:
    report = nightly.add([20e3] * 5 + [18e3] * 5, [OLD] * 5 + [NEW] * 5).report()
    document = json.loads(history_text.as_json(report))

    assert len(document["series"]) == 4
    assert [s["started_utc"][:10] for s in document["series"][0]["sessions"]] == [f"2026-01-{i:02}" for i in range(1, 11)]  # fmt: skip
    (change,) = document["series"][0]["changes"]
    assert (change["session"], change["word"]) == (5, "regressed")
    assert {"what": "kernel", "before": "6.1.0", "after": "6.8.0"} in document["steps"][0]["differences"]


def plain(page: str) -> str:
    return re.sub("[\xa0\u202f]", " ", page)


def test_the_page_draws_what_changed(nightly: Nightly) -> None:
    evil = {"kernel": "<b>6.8</b>"}
    report = nightly.add([20e3] * 5 + [18e3] * 5, [OLD] * 5 + [evil] * 5).report()
    page = html.html(history_page.build(report, title="t"))

    assert "<b>6.8</b>" not in page
    assert "&lt;b&gt;6.8" in page
    assert (
        "1 change on 2026-01-06: s 9.9 % worse (all 4 numbers); at the same time: kernel 6.1.0 → "
        in plain(page)
    )
    (figure,) = history_page.build(report, title="t").sections[0].blocks[0].figures
    assert figure.title == "node07: s 9.9 % worse (all 4 numbers) on 2026-01-06"
    (panel,) = figure.panels  # the four kernels tell the same
    assert {lane.link for lane in figure.lanes.lanes} == {"#history-1-p1"}
    assert (
        "that moved on the same days, within 1 % of one another, have the chart of the first. 3 more numbers in the table."
        in figure.note
    )
    spec = panel.wide
    assert [row["x"] for row in spec["datasets"]["changes"]] == [4.5]  # days from the first
    assert len(spec["datasets"]["points"]) == 10


def test_a_gap_between_sessions_is_seen(nightly: Nightly) -> None:
    """Sessions were counted along x, so that half a year without any looked like a night."""
    started = [night(i) for i in range(5)] + [night(i + 180) for i in range(5)]
    report = nightly.add([20e3] * 5 + [18e3] * 5, [OLD] * 5 + [NEW] * 5, started=started).report()

    (figure,) = history_page.build(report, title="t").sections[0].blocks[0].figures
    for spec in (figure.panels[0].wide, figure.panels[0].narrow):
        days = [row["x"] for row in spec["datasets"]["points"]]
        assert days[:5] == [0, 1, 2, 3, 4]
        assert days[5] - days[4] > 170
        assert [row["x"] for row in spec["datasets"]["changes"]] == [(days[4] + days[5]) / 2]
        assert spec["encoding"]["x"]["title"] == "Day of the session"
        assert spec["encoding"]["x"]["axis"]["values"] == [days[0], days[5]]
    (event,) = figure.lanes.events
    assert 40 < event.at < 60
    first, *_, last = re.findall(r"[ML]([\d.]+) ", figure.lanes.lanes[0].line)
    assert float(first) < 60
    assert float(last) > 940


def test_without_ruptures_it_says_what_to_install(nightly: Nightly, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ruptures", None)  # importing it fails, as where it is not installed
    with pytest.raises(UserError, match="need the package ruptures") as caught:
        nightly.add([20e3] * 5 + [18e3] * 5, [OLD] * 10).report()
    assert "pinsweep[history]" in caught.value.hint


def test_captured_texts_have_no_history_and_are_of_no_known_host(make: Any, nightly: Nightly) -> None:
    """They were taken in in the same minute, and may come from as many machines."""
    captured = taken(
        nightly.folder / "texts.db",
        {f"{i}.txt": make.stream_text(2e4 - 500 * i, 4) for i in range(12)},
        nightly.folder,
    )
    for build in (history.build, outliers.build):
        with pytest.raises(UserError, match="12 texts taken in, their hosts unknown: nothing to compare"):
            build(load([captured]))
    nightly.add([20e3] * 10, [OLD] * 10)
    report = history.build(load([captured, *nightly.files]))
    assert report.warnings == ("12 texts taken in, their hosts unknown: left out",)
    assert list(report.moments) == ["node07"]
    assert list(outliers.build(load([captured, *nightly.files])).statuses) == ["node07"]


def taken(path: Path, texts: Mapping[str, str], folder: Path) -> Path:
    """Keep captured STREAM outputs in a result file, as `pinsweep parse -o` does."""
    asked = intake_options("stream", (), (), "", "")
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    items = read([str(folder / name) for name in texts], asked)
    store([item for item in items if isinstance(item, Captured)], path, asked, version="test")
    return path


def test_what_a_check_doubts_is_marked_with_its_sessions(make: Any, nightly: Nightly) -> None:
    """In one night the four repeats lie far apart (G11); the step is elsewhere."""
    nightly.add([20e3] * 7 + [18e3] * 7, [OLD] * 7 + [NEW] * 7)
    scattered = make.Maker(nightly.folder / "scattered.db", host="node07")
    scattered.facts = {**make.FACTS, **NEW}
    for rate in (18e3, 9e3, 18e3, 27e3):
        scattered.add("s", "stream", {"threads": 4}, make.stream_text(rate, 4))
    nightly.files.append(scattered.write())
    with sqlite3.connect(nightly.files[-1]) as db:
        db.execute("UPDATE session SET started_utc = ?", (night(14),))
    report = nightly.report()

    assert {h.doubt for h in report.histories} == {"G11 in 1 of 15 sessions"}
    text = history_text.as_text(report)
    assert "4 regressed (⚠ 4 of 4 numbers doubted by G11): s 10 % worse (all 4 numbers)\n" in text
    assert text.count(" ⚠ G11 in 1 of 15 sessions ") == 4
    assert "⚠: doubtful, by the checks named" in text
    series = json.loads(history_text.as_json(report))["series"]
    assert [[row["doubtful"] for row in one["sessions"]] for one in series] == [[[]] * 14 + [["G11"]]] * 4
    page = history_page.build(report, title="t")
    assert (
        "s 10 % worse (all 4 numbers) (⚠ 4 of 4 numbers doubted by G11); at the same time: " in page.sentence
    )
    (figure,) = page.sections[0].blocks[0].figures
    assert figure.heading.startswith("⚠ ")
    assert "repeats far apart (G11, the only cell, in 1 of 15 files)" in figure.doubted
    assert {row[-1] for table in (*figure.tables, *figure.numbers) for row in table.doubted.rows} == {"⚠ G11"}


def test_of_sound_runs_no_history_is_marked(nightly: Nightly) -> None:
    report = nightly.add([20e3] * 7 + [18.6e3] * 7, [OLD] * 7 + [NEW] * 7).report()

    assert {h.doubt for h in report.histories} == {""}
    assert "⚠" not in history_text.as_text(report)
    assert "⚠" not in html.html(history_page.build(report, title="t"), static=True)


def test_hosts_with_too_few_sessions_are_told_together(nightly: Nightly) -> None:
    for host, nights in (("n1", 3), ("n2", 3), ("n3", 4)):
        nightly.add([20e3] * nights, [OLD] * nights, host=host)
    report = nightly.report()

    assert history_text.as_text(report) == (
        "n[1-2]: 3 sessions each; it takes 10 to tell a change from day-to-day noise\n"
        "n3: 4 sessions; it takes 10 to tell a change from day-to-day noise"
    )
    told = [check.subject for check in history_page.build(report, title="t").checks]
    assert told == ["n[1-2]: 3 sessions each.", "n3: 4 sessions."]


@pytest.mark.slow
def test_an_update_that_took_three_days_is_one_change(nightly: Nightly) -> None:
    """Nine hosts got the kernel on three days, and a tenth regressed on one of them for no reason that was recorded."""
    for n in range(9):
        old = 7 + n // 3
        nightly.add([20e3] * old + [18e3] * (16 - old), [OLD] * old + [NEW] * (16 - old), host=f"n{n}")
    nightly.add([20e3] * 8 + [18e3] * 8, [OLD] * 16, host="n9").add([20e3] * 16, [OLD] * 16, host="n10")
    report = nightly.report()

    lines = history_text.as_text(report).splitlines()

    assert (
        lines[0]
        == "2026-01-08 to 2026-01-10: 4 regressed on n[0-8]; at the same time: microcode 0xf0 → 0xf4; kernel 6.1.0 → 6.8.0"
    )
    assert "n[0-8]: 16 sessions each, 2026-01-01 to 2026-01-16, 4 numbers: 1 change, told above" in lines
    assert "n10: 16 sessions, 2026-01-01 to 2026-01-16, 4 numbers: no change" in lines
    assert [line for line in lines if re.match(r"20\d\d-\d\d-\d\d \d\d:", line)] == [
        "2026-01-09 03:00  4 regressed: s 10 % worse (all 4 numbers)"
    ]  # n9's
    listed = history_text.as_text(report, everything=True).splitlines()
    assert sum(line.endswith(": 1 change") for line in listed) == 10


@pytest.mark.slow
def test_what_changed_on_several_hosts_alike_is_told_once_for_all(nightly: Nightly) -> None:
    for host in ("n1", "n2"):
        nightly.add([20e3] * 7 + [18e3] * 7, [OLD] * 7 + [NEW] * 7, host=host)
    nightly.add([20e3] * 14, [OLD] * 14, host="n3")
    report = nightly.report()

    (line, *_) = history_text.as_text(report).splitlines()
    assert (
        line
        == "2026-01-08: 4 regressed on n[1-2]; at the same time: microcode 0xf0 → 0xf4; kernel 6.1.0 → 6.8.0"
    )
    (check,) = [c for c in history_page.build(report, title="t").checks if c.subject == "On several hosts."]
    assert check.items == (line,)


# --- what is seen first ------------------------------------------------------------------------------------


def test_what_is_still_worse_comes_first_and_each_line_that_changed_has_its_chart(
    make: Any, tmp_path: Path
) -> None:
    """Twelve charts were of a disk that had recovered; what was slow since yesterday had none. Their notes lay on the line of the next change."""
    metrics = {n: {"regex": rf"{n}=(\S+)", "unit": "ms", "better": "lower"} for n in ("gone", "now")}
    files = []
    for i in range(24):
        maker = make.Maker(tmp_path / f"{i}.db")
        maker.started = night(i)
        for wobble in (0.999, 1.001):
            gone, now = (140 if 6 <= i < 10 else 100) * wobble, (110 if i >= 12 else 100) * wobble
            options = {"command": "x", "metrics": metrics}
            maker.add("s", "command", options, f"gone={gone:.3f}\nnow={now:.3f}\n")
        files.append(maker.write())
    report = history.build(load(files))
    page = history_page.build(report, title="t")

    (figure,) = (f for s in page.sections for b in s.blocks for f in b.figures)
    assert figure.lanes
    assert [lane.name for lane in figure.lanes.lanes] == ["now", "gone"]
    assert [lane.link for lane in figure.lanes.lanes] == ["#history-1-p1", "#history-1-p2"]
    for spec in (figure.panels[1].wide, figure.panels[1].narrow):
        x = spec["encoding"]["x"]["scale"]["domain"]
        px = spec["width"] / (x[1] - x[0])
        lines = [change["x"] for change in spec["datasets"]["changes"]]
        assert len(lines) == 2
        for note in spec["datasets"]["notes"]:
            at = note["x"] * px + note["dx"]
            wide = text_width(note["text"]) * (-1 if note["align"] == "right" else 1)
            inside = sorted((at, at + wide))
            assert not any(inside[0] < line * px < inside[1] for line in lines)


def test_a_terminal_has_a_line_a_kind_of_number_with_what_it_did(nightly: Nightly) -> None:
    """52 numbers of one kind were eight lines and "and 44 more"; the other kinds were not told."""
    sweeps = ["s"] * 14
    report = nightly.add([20e3] * 7 + [18.6e3] * 7, [OLD] * 14, sweeps=sweeps).report()

    text = history_text.as_text(report, screen=Screen(width=100, terminal=True))
    (step,) = report.steps
    shown = [line for line in text.splitlines() if line.startswith("  regressed")]
    assert len(shown) == len(step.changed) == 4  # copy, scale, add, triad: kinds of their own
    assert all("█" in line and "▁" in line for line in shown)
    assert "--all" not in text
    many = replace(step, changed=step.changed * 3)
    told = history_text.as_text(replace(report, steps=(many,)), screen=Screen(width=100, terminal=True))
    assert "copy bandwidth, 3 numbers" in told
    assert "--all lists the numbers" in told
    (first, change), *others = many.changed
    one = replace(first, doubts=("S3", *first.doubts[1:]))
    marked = replace(report, steps=(replace(step, changed=((one, change), *others)),))
    text = history_text.as_text(marked, screen=Screen(width=160, terminal=True))
    assert re.search(r", 3 numbers ⚠ S3 \(1 of 3\)  ", text)  # "⚠ S3 in 1 of 14 sessions" was one of them
    assert max(map(len, told.splitlines())) <= 100
