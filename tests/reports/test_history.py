"""Histories from result files: sessions in time, the step, and what the machine recorded differently at it."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from parsers.errors import UserError
from reports import frames, history, history_page, history_text, render

OLD, NEW = {"kernel": "6.1.0"}, {"kernel": "6.8.0", "microcode": "0xf4"}


class Nightly:
    """One session a night of a STREAM cell, with 0.5 % of noise; written in no order of time."""

    def __init__(self, make: Any, folder: Path) -> None:
        self.make, self.folder, self.files = make, folder, list[Path]()
        self.chance = random.Random(4)

    def add(
        self, rates: Sequence[float], facts: Sequence[Mapping[str, Any]], host: str = "node07"
    ) -> Nightly:
        order = list(range(len(rates)))
        self.chance.shuffle(order)
        for i in order:
            path = self.folder / f"{host}-{self.chance.randrange(10**6)}.db"
            maker = self.make.Maker(path, host=host)
            maker.facts = {**self.make.FACTS, **facts[i]}
            for _ in range(2):
                rate = rates[i] * (1 + self.chance.gauss(0, 0.005))
                maker.add("s", "stream", {"threads": 4}, self.make.stream_text(rate, 4))
            self.files.append(maker.write())
            with sqlite3.connect(path) as db:
                db.execute("UPDATE session SET started_utc = ?", (f"2026-{1 + i // 28:02}-{1 + i % 28:02}T03:00:00+00:00",))  # fmt: skip
        return self

    def report(self, **more: Any) -> history.Report:
        return history.build(frames.load(self.files), **more)


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
    assert "2026-01-08 03:00  4 regressed\n  microcode 0xf0 → 0xf4; kernel 6.1.0 → 6.8.0" in text


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
    assert history_text.as_text(nightly.report()).endswith("4 numbers: no change")


def test_the_threshold_decides_what_is_news(nightly: Nightly) -> None:
    nightly.add([20e3] * 8 + [19.6e3] * 8, [OLD] * 16)
    assert nightly.report().steps == ()
    assert nightly.report(threshold=0.01).steps[0].regressed >= 3


def test_few_sessions_are_said_to_be_few(nightly: Nightly) -> None:
    report = nightly.add([20e3, 18e3, 16e3], [OLD] * 3).report()
    assert report.steps == ()
    assert "3 sessions; it takes 10" in history_text.as_text(report)
    assert "Too few sessions" in history_page.sentence(report)


def test_no_number_is_no_history(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add("s", "stream", {"threads": 4}, "", status="failed")
    with pytest.raises(UserError, match="no run gave a number"):
        history.build(frames.load([maker.write()]))


def test_hosts_have_histories_of_their_own(nightly: Nightly) -> None:
    nightly.add([20e3] * 5 + [15e3] * 5, [OLD] * 10).add([15e3] * 10, [OLD] * 10, host="node08")
    report = nightly.report()
    assert [step.host for step in report.steps] == ["node07"]
    assert "node08: 10 sessions" in history_text.as_text(report)


def test_json_has_every_session_and_every_step(nightly: Nightly) -> None:
    report = nightly.add([20e3] * 5 + [18e3] * 5, [OLD] * 5 + [NEW] * 5).report()
    document = json.loads(history_text.as_json(report))

    assert len(document["series"]) == 4
    assert [s["started_utc"][:10] for s in document["series"][0]["sessions"]] == [f"2026-01-{i:02}" for i in range(1, 11)]  # fmt: skip
    (change,) = document["series"][0]["changes"]
    assert (change["session"], change["word"]) == (5, "regressed")
    assert {"what": "kernel", "before": "6.1.0", "after": "6.8.0"} in document["steps"][0]["differences"]


def test_the_page_draws_what_changed(nightly: Nightly) -> None:
    evil = {"kernel": "<b>6.8</b>"}
    report = nightly.add([20e3] * 5 + [18e3] * 5, [OLD] * 5 + [evil] * 5).report()
    page = render.html(history_page.build(report, title="t"))

    assert "<b>6.8</b>" not in page
    assert "&lt;b&gt;6.8" in page
    assert "1 change; the last on 2026-01-06, 4 regressed: kernel 6.1.0 → " in page
    (figure,) = history_page.build(report, title="t").sections[0].blocks[0].figures
    assert figure.title == "node07: 4 regressed of 4 numbers on 2026-01-06"
    assert len(figure.panels) == 4
    spec = figure.panels[0].wide
    assert [row["x"] for row in spec["datasets"]["changes"]] == [5.5]
    assert len(spec["datasets"]["points"]) == 10


def test_without_ruptures_it_says_what_to_install(nightly: Nightly, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ruptures", None)  # importing it fails, as where it is not installed
    with pytest.raises(UserError, match="need the package ruptures") as caught:
        nightly.add([20e3] * 5 + [18e3] * 5, [OLD] * 10).report()
    assert "pinsweep[history]" in caught.value.hint
