"""What the last sessions say: numbers that they do not have, and ones that lie far outside, too new to be called a change."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from reports.history import changes as history
from reports.history import page as history_page
from reports.history import text as history_text
from reports.results.load import load
from reports.verdicts.history import changes, recent

pytestmark = pytest.mark.skipif(
    find_spec("ruptures") is None, reason="ruptures, which finds the steps, is for no such Python"
)

Night = dict[str, float | str | None]
"""Cell → its rate, the status of its runs, or None where it is not run."""

Follow = Callable[[Sequence[Night]], history.Report]


@pytest.fixture
def follow(make: Any, tmp_path: Path) -> Follow:
    def of(nights: Sequence[Night], host: str = "n1") -> history.Report:
        spec = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
        files = []
        for i, own in enumerate(nights):
            path = tmp_path / f"{host}-{i:02}.db"
            maker = make.Maker(path, host=host)
            maker.facts = {**make.FACTS, "boot_id": f"{host} {i}"}
            for cell, value in own.items():
                sweep = "t" if cell == "other" else "s"
                options = {"command": ["x", cell], "n": cell, "metrics": spec}
                if isinstance(value, str):
                    maker.add(sweep, "command", options, "", axes=("n",), status=value, reason=f"{value}: memory error")  # fmt: skip
                elif value is not None:
                    rate = value * random.Random(f"{cell} {i}").gauss(1, 0.005)
                    maker.add(sweep, "command", options, f"rate {rate:.3f}\n", axes=("n",))
            files.append(maker.write())
            with sqlite3.connect(path) as db:
                db.execute("UPDATE session SET started_utc = ?", (f"2026-01-{1 + i:02}T03:00:00+00:00",))
        return history.build(load(files))

    return of


def nights(*last: tuple[int, Night], first: int = 9) -> list[Night]:
    return [{"a": 100.0, "b": 200.0}] * first + [own for n, own in last for _ in range(n)]


@pytest.mark.parametrize(
    ("last", "why", "fails"),
    [
        ({"a": "failed", "b": 200.0}, "failed", {"regressed", "failed", "gone"}),
        ({"a": "timeout", "b": 200.0}, "failed", {"regressed", "failed", "gone"}),
        ({"a": "disturbed", "b": 200.0}, "left out", {"gone"}),
        ({"b": 200.0}, "not run", {"gone"}),
    ],
)
def test_a_number_that_the_last_sessions_do_not_have_is_told_with_its_day(
    follow: Follow, last: Night, why: str, fails: set[str]
) -> None:
    """It was "1 number in fewer than 10 sessions, too few to tell", with exit status 0."""
    report = follow(nights((5, last)))

    (one,) = report.gone
    assert (one.series.name, one.why, one.since.date, one.sessions) == ("s, n=a: rate", why, "2026-01-10", 5)
    assert {word for word in ("regressed", "failed", "gone", "suspicious") if report.fails({word})} == fails
    text = history_text.as_text(report)
    assert "2 numbers: 1 number gone since 2026-01-10; no change of the others" in text
    assert "too few to tell" not in text
    assert "gone since 2026-01-10 (5 sessions): s, n=a: rate of n1: " in text
    (told,) = json.loads(history_text.as_json(report))["gone"]
    assert (told["host"], told["why"], told["since_utc"][:10]) == ("n1", why, "2026-01-10")
    page = history_page.build(report, title="t")
    assert page.sentence.startswith("1 number gone; no change in 1 number")
    assert page.checks[0].subject.startswith("Gone since 2026-01-10 (5 sessions): s, n=a: rate of n1: ")
    assert ("Gone", "1") in [(number.name, number.value) for number in page.key_numbers]


@pytest.mark.parametrize("sessions", [2, 3])
def test_a_sweep_that_last_sessions_did_not_run_is_gone_from_three_on(sessions: int, follow: Follow) -> None:
    """One that measures something else, as `fleet --confirm` does, is no loss."""
    report = follow(nights((sessions, {"other": 5.0})))
    assert len(report.gone) == (2 if sessions == 3 else 0)


def test_sessions_without_a_number_are_counted_and_lie_in_the_time_that_was_measured(follow: Follow) -> None:
    """They were "9 sessions", up to the day before those that the next line tells of."""
    report = follow(nights((5, {"a": "failed", "b": "failed"})))

    assert "n1: 14 sessions, 9 of them with numbers; it takes 10" in history_text.as_text(report)
    page = history_page.build(report, title="t")
    (sessions, *_) = page.key_numbers
    assert (sessions.name, sessions.value, sessions.context) == (
        "Sessions",
        "14",
        "of 1 host; 9 with numbers",
    )
    assert ("Measured", "2026-01-01 to 2026-01-14") in page.provenance
    (figure,) = page.sections[0].blocks[0].figures
    assert figure.title.startswith("n1: 2 numbers gone since 2026-01-10; 14 sessions, 9 of them with numbers")
    assert figure.lanes
    assert {lane.note.partition(", ")[2] for lane in figure.lanes.lanes} == {"gone since 2026-01-10"}
    assert (figure.lanes.first, figure.lanes.last) == ("2026-01-01", "2026-01-14")


def test_lines_and_charts_reach_the_last_session_with_a_cross_where_runs_failed(follow: Follow) -> None:
    """They ended at the last session with a number, on whatever day the others were."""
    bad: Night = {"a": "failed", "b": 200.0}
    rows = [
        *nights(first=6),
        bad,
        *nights((6, {"a": 80.0, "b": 200.0}), (2, bad), (1, {"b": 200.0}), first=0),
    ]
    page = history_page.build(follow(rows), title="t")

    (figure,) = page.sections[0].blocks[0].figures
    (panel,) = figure.panels
    assert figure.lanes
    for spec in (panel.wide, panel.narrow):
        assert [row["x"] for row in spec["datasets"]["crosses"]] == [6, 13, 14]
        assert [(row["x"], row["x2"]) for row in spec["datasets"]["levels"]] == [(-0.5, 5.5), (6.5, 12.5)]
        assert spec["encoding"]["x"]["scale"]["domain"] == [-0.5, 15.5]
    assert spec["datasets"]["crosses"][0]["tip"] == "2026-01-07 · no number: failed: memory error"
    assert "3 more in which its runs failed." in panel.description
    assert "Cross on the axis: a session in which its runs failed." in figure.note
    assert [lane.crosses for lane in figure.lanes.lanes] == [pytest.approx([100 * (at + 0.5) / 16 for at in (6, 13, 14)])]  # fmt: skip


def test_an_update_of_a_session_that_failed_is_an_event(follow: Follow, tmp_path: Path) -> None:
    follow(nights((2, {"a": "failed", "b": "failed"})))
    for path in sorted(tmp_path.glob("*.db"))[9:]:
        with sqlite3.connect(path) as db:
            (facts,) = db.execute("SELECT facts FROM session").fetchone()
            db.execute("UPDATE session SET facts = ?", (json.dumps({**json.loads(facts), "kernel": "6.9"}),))
    report = history.build(load([*tmp_path.glob("*.db")]))

    (figure,) = history_page.build(report, title="t").sections[0].blocks[0].figures
    assert figure.lanes
    assert [event.said for event in figure.lanes.events] == ["2026-01-10 kernel 6.1.0-18-amd64 → 6.9"]


def test_a_host_whose_last_nights_failed_wholly_fails_the_job(follow: Follow) -> None:
    report = follow(nights((5, {"a": "failed", "b": "failed"})))

    assert report.fails({"regressed"})
    text = history_text.as_text(report)
    assert "gone since 2026-01-10 (5 sessions): s, n=a: rate and 1 more number of n1: failed, failed: memory error" in text  # fmt: skip
    assert history_page.build(report, title="t").sentence.startswith("2 numbers gone. Too few sessions")


@pytest.mark.parametrize(
    "rows",
    [
        nights((1, {"a": "failed", "b": 200.0}), (2, {"a": 100.0, "b": 200.0})),  # it came back
        [{"a": 100.0, **({"b": 200.0} if i % 3 == 0 else {})} for i in range(12)],  # each third night
        [{"b": 200.0}] * 10 + [{"a": 100.0, "b": 200.0}],  # new
        [{"a": 100.0, "b": 200.0}] * 2 + [{"b": 200.0}] * 10,  # tried twice
    ],
)
def test_what_came_back_is_weekly_or_new_is_not_gone(follow: Follow, rows: list[Night]) -> None:
    assert follow(rows).gone == ()


@pytest.mark.parametrize("odd", [1, 2])
def test_last_sessions_far_outside_are_named_and_are_no_change_yet(follow: Follow, odd: int) -> None:
    """Of a last night 30 % down it was said that steps of up to 6.7 % may go unseen."""
    report = follow(nights((odd, {"a": 70.0, "b": 200.0}), first=14 - odd))

    assert report.steps == ()
    assert not report.fails({"regressed", "gone"})
    assert report.fails({"suspicious"})
    text = history_text.as_text(report)
    said = f"far outside since 2026-01-{15 - odd}: s, n=a: rate −30 % (worse), too new to be called a change"
    assert f"2 numbers: {said}; no change of the others" in text
    page = history_page.build(report, title="t")
    assert page.sentence.startswith(f"F{said[1:]}; no change in 1 number")
    (key,) = (number for number in page.key_numbers if number.name == "Far outside")
    assert key.context == "1 worse in the last sessions, too new to be called a change"
    (listed,) = (check.items for check in page.checks if check.subject == "Far outside.")
    assert listed == (f"s, n=a: rate −30 % (worse) since 2026-01-{15 - odd}",)
    own = {row["cell"]: row["recent"] for row in json.loads(history_text.as_json(report))["series"]}
    assert own["s, n=b"] is None
    assert (own["s, n=a"]["word"], own["s, n=a"]["sessions"]) == ("regressed", odd)


def series(sessions: int, noise: float, chance: random.Random) -> list[float]:
    return [100 * (1 + chance.gauss(0, noise)) for _ in range(sessions)]


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_noise_alone_is_seldom_far_outside(noise: float) -> None:
    chance = random.Random(1)
    named = sum(
        any(recent(series(sessions, noise, chance), (), "higher", among=5) for _ in range(5))
        for sessions in (10, 14, 27, 40)
        for _ in range(25)
    )
    assert named <= 5  # of 100 histories


def test_a_step_in_the_last_sessions_is_seen_and_one_that_was_found_is_not_told_again() -> None:
    chance = random.Random(2)
    for last in (1, 2, 3, 4):
        values = series(14, 0.01, chance)
        low = [v * (0.85 if i >= 14 - last else 1) for i, v in enumerate(values)]
        seen = recent(low, (), "higher", among=20)
        assert seen is not None
        assert seen.sessions == last
    low = [v * (0.85 if i >= 7 else 1) for i, v in enumerate(values)]
    assert recent(low, changes(low, "higher"), "higher") is None
