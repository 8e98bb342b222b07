"""Histories: rates of nights in, rows of what moved out."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.capture.intake import Captured, intake_options, read
from orchestrator.capture.kept import store
from orchestrator.model import Group
from orchestrator.store.result_file import Session
from parsers.errors import UserError
from reports.history.answer import as_json, document, moves_table
from reports.history.follow import History, build
from reports.page.document import page
from reports.results import hardware
from reports.results.load import load
from reports.verdicts.history import changes, recent

pytestmark = pytest.mark.skipif(
    find_spec("ruptures") is None, reason="ruptures, which finds the steps, is for no such Python"
)

METRICS = {
    "errors": {"regex": r"v (\S+)", "better": "lower"},
    "gain": {"regex": r"v (\S+)", "unit": "dB", "better": "higher"},
    "ms": {"regex": r"v (\S+)", "unit": "ms", "better": "lower"},
    "rate": {"regex": r"v (\S+)", "unit": "MB/s", "better": "higher"},
}

Night = Mapping[str, float | str | None]
"""Cell → its value, or the status of its runs; None: not run. A cell that is no metric is a rate with 0.5 % of noise."""

OLD, NEW = {"kernel": "6.1"}, {"kernel": "6.8"}


class Nights:
    """Result files of one session a night each."""

    def __init__(self, make: Any, folder: Path) -> None:
        self.make, self.folder, self.files = make, folder, list[Path]()

    def add(
        self,
        nights: Sequence[Night],
        facts: Sequence[Mapping[str, Any]] = (),
        host: str = "n1",
        started: Sequence[str] = (),
    ) -> Nights:
        for i, cells in enumerate(nights):
            maker = self.make.Maker(self.folder / f"{len(self.files)}.db", host=host)
            maker.facts = {**self.make.FACTS, "boot_id": f"{host} {i}", **(facts[i] if facts else {})}
            maker.started = maker.ended = started[i] if started else night(i)
            for cell, value in cells.items():
                metric = cell if cell in METRICS else "rate"
                options = {"command": "x", "n": cell, "metrics": {metric: METRICS[metric]}}
                sweep, text, more = "other" if cell == "other" else "s", "", {}
                if isinstance(value, str):
                    more = {"status": value, "reason": f"{value}: memory"}
                elif value is not None:
                    noise = 1.0 if cell in METRICS else random.Random(f"{cell} {i}").gauss(1, 0.005)
                    text = f"v {value}\n" if cell in METRICS else f"v {value * noise:.3f}\n"
                maker.add(sweep, "command", options, text, axes=("n",), **more)
            self.files.append(maker.write())
        return self

    def history(self, **more: Any) -> History:
        return build(load(self.files), **more)


def night(i: int, hour: str = "03:00") -> str:
    return f"2026-{1 + i // 28:02}-{1 + i % 28:02}T{hour}:00+00:00"


def rates(*runs: tuple[int, float], cell: str = "a") -> list[Night]:
    return [{cell: rate} for count, rate in runs for _ in range(count)]


@pytest.fixture
def nights(make: Any, tmp_path: Path) -> Nights:
    return Nights(make, tmp_path)


def moved(history: History) -> list[tuple[str, str, str]]:
    """Return the verdict, the first session and the note of each move."""
    table = moves_table(history)
    return list(zip(table["verdict"], table["since"], table["note"], strict=True))


KERNEL = "kernel 6.1 → 6.8"


@pytest.mark.parametrize(
    ("cells", "facts", "rows"),
    [
        (rates((7, 100), (7, 93)), [OLD] * 7 + [NEW] * 7, [("regressed", "2026-01-08", KERNEL)]),
        (rates((7, 100), (7, 108)), [OLD] * 14, [("improved", "2026-01-08", "")]),
        (rates((7, 100), (7, 90)), [OLD] * 6 + [NEW] * 8, [("regressed", "2026-01-08", f"one session earlier: {KERNEL}")]),
        (rates((7, 100), (7, 90)), [OLD] * 8 + [NEW] * 6, [("regressed", "2026-01-08", f"one session later: {KERNEL}")]),
        (rates((6, 100), (1, 80), (6, 100)), (), []),  # an odd day
        (rates((8, 100), (8, 98)), (), []),  # below the threshold
        (rates((9, 100)), (), []),  # too few sessions
        (rates((6, 100), (6, 90), (6, 100)), (), [("recovered", "2026-01-07", ""), ("improved", "2026-01-13", "")]),
        (rates((8, 100), (8, 90), (8, 94)), (), [("regressed", "2026-01-09", ""), ("improved", "2026-01-17", "")]),  # down by 6 %
        ([{"a": 100 - i} for i in range(20)], [OLD] * 10 + [NEW] * 10, [("regressed", "2026-01-01", "little by little")]),
        (rates((12, 100), (2, 70)), (), [("suspicious", "2026-01-13", "the last 2 sessions only")]),
        (rates((13, 100), (1, 130)), (), [("improved", "2026-01-14", "the last 1 session only")]),
        (rates((8, 0), (8, 5), cell="errors"), (), [("changed", "2026-01-09", "")]),  # no change from 0 is a share
        (rates((8, 0), (8, 0), cell="errors"), (), []),
        (rates((12, -20), (12, -26), cell="gain"), (), [("changed", "2026-01-13", "")]),
        (rates((7, 25), (7, 26), cell="ms"), (), []),  # one step of the last digit: 25.49 and 25.51
        (rates((7, 25), (7, 27), cell="ms"), (), [("regressed", "2026-01-08", "")]),
    ],
)  # fmt: skip
def test_moves(
    nights: Nights,
    cells: list[Night],
    facts: Sequence[Mapping[str, Any]],
    rows: list[tuple[str, str, str]],
) -> None:
    history = nights.add(cells, facts).history()

    assert moved(history) == rows
    words = [word for word, *_ in rows]
    for word in ("regressed", "suspicious"):
        assert history.fails({word}) == (word in words)


def test_a_step_has_its_levels(nights: Nights) -> None:
    history = nights.add(rates((7, 100), (7, 93)), [OLD] * 7 + [NEW] * 7).history()

    (row,) = moves_table(history).to_dict("records")
    assert row["before"].value == pytest.approx(100e6, rel=0.01)
    assert row["change"] == pytest.approx(-0.07, abs=0.01)
    assert (row["host"], row["number"], row["flags"]) == ("n1", "s, n=a: rate", "")


def test_the_threshold_decides_what_is_a_step(nights: Nights) -> None:
    assert len(nights.add(rates((8, 100), (8, 98))).history(threshold=0.01).moves) == 1


LAST = {"b": 200.0}


@pytest.mark.parametrize(
    ("last", "why", "reason", "fails"),
    [
        ({"a": "failed", **LAST}, "failed", "failed: memory", {"regressed", "failed", "gone"}),
        ({"a": "timeout", **LAST}, "failed", "timeout: memory", {"regressed", "failed", "gone"}),
        ({"a": "disturbed", **LAST}, "left out", "disturbed", {"gone"}),
        (LAST, "not run", "not run any more", {"gone"}),
    ],
)
def test_a_number_that_the_last_sessions_lack(
    nights: Nights, last: Night, why: str, reason: str, fails: set[str]
) -> None:
    history = nights.add([{"a": 100.0, **LAST}] * 9 + [last] * 5).history()

    assert moved(history) == [("failed" if why == "failed" else "gone", "2026-01-10", reason)]
    assert {word for word in ("regressed", "failed", "gone", "suspicious") if history.fails({word})} == fails
    (gone,) = json.loads(as_json(history))["gone"]
    values = gone["host"], gone["why"], gone["since_utc"][:10], gone["sessions"]
    assert values == ("n1", why, "2026-01-10", 5)


@pytest.mark.parametrize(
    ("cells", "gone"),
    [
        ([{"a": 1.0}] * 9 + [{"a": "failed"}] + [{"a": 1.0}] * 2, 0),  # it came back
        ([{"b": 2.0, **({"a": 1.0} if i % 3 == 0 else {})} for i in range(12)], 0),  # each third night
        ([{"b": 2.0}] * 10 + [{"a": 1.0, "b": 2.0}], 0),  # new
        ([{"a": 1.0, "b": 2.0}] * 2 + [{"b": 2.0}] * 10, 0),  # tried twice
        ([{"a": 1.0, "b": 2.0}] * 9 + [{"other": 5.0}] * 2, 0),  # another sweep
        ([{"a": 1.0, "b": 2.0}] * 9 + [{"other": 5.0}] * 3, 2),
    ],
)
def test_a_number_is_gone_only_if_it_was_steady(nights: Nights, cells: list[Night], gone: int) -> None:
    history = nights.add(cells).history()
    assert (history.moves["kind"] == "gone").sum() == gone


def test_what_one_boot_did_within_an_hour_is_one_session(nights: Nights) -> None:
    started = [night(0, f"03:{i:02}") for i in range(12)]
    history = nights.add(rates((6, 100), (6, 75)), [{"boot_id": "b"}] * 12, started=started).history()

    assert history.sessions["recorded"].tolist() == [12]
    assert not history.numbers["is_judged"].any()


def test_a_session_with_a_wrong_clock_is_in_its_place(nights: Nights) -> None:
    day = 86400.0
    facts = [{**(OLD if i < 12 else NEW), "boot_id": "ab"[i // 12], "uptime_s": 60 + i % 12 * day} for i in range(24)]
    started = [night(i) for i in range(24)]
    started[12] = "2025-01-10T03:00:00+00:00"
    history = nights.add(rates((12, 100), (12, 90)), facts, started=started).history()

    assert moved(history) == [("regressed", "2026-01-13", KERNEL)]
    assert len(history.warnings) == 1
    sessions = json.loads(as_json(history))["hosts"][0]["sessions"]
    assert [bool(session["clock"]) for session in sessions] == [i == 12 for i in range(24)]


def test_a_step_too_small_to_be_seen_has_a_bound(nights: Nights) -> None:
    cells: list[Night] = [{"a": 100.0 * (1 + 0.1 * (-1) ** i), "errors": 3 if i % 4 == 1 else 4} for i in range(12)]  # fmt: skip
    history = nights.add(cells).history()

    assert len(history.moves) == 0
    assert (history.numbers["unseen"] > 0.2).all()


@pytest.mark.parametrize(("pattern", "machines"), [("mlml", 2), ("mmll", 1), ("mmllmm", 1)])
def test_memory_by_turns_is_two_machines_and_memory_that_was_lost_is_one(
    nights: Nights, pattern: str, machines: int
) -> None:
    facts = [{"memory_bytes": {"m": 64, "l": 48}[letter] * 2**30} for letter in pattern]
    history = nights.add(rates((len(facts), 100)), facts).history()

    assert history.sessions["machine"].nunique() == machines
    assert len(history.warnings) == machines - 1


def test_machines_of_one_name_have_histories_of_their_own(nights: Nights) -> None:
    facts = [{"network_cards": ("aa bb", "cc", "bb")[i % 3]} for i in range(30)]
    history = nights.add([{"a": 90.0 if i % 3 == 1 else 100.0} for i in range(30)], facts).history()

    assert history.sessions["machine"].unique().tolist() == ["n1 (network cards aa)", "n1 (network cards cc)"]
    assert len(history.moves) == 0


def test_one_boot_of_two_machines_is_a_session_of_each(nights: Nights) -> None:
    """A copied disk: the boot is the same, the network cards are not."""
    facts = [{"boot_id": "b", "network_cards": card} for card in ("aa", "cc", "aa")]
    started = [night(0, f"03:0{i}") for i in range(3)]
    history = nights.add(rates((3, 100)), facts, started=started).history()

    assert history.sessions["recorded"].tolist() == [2, 1]
    assert len(history.numbers) == 2


def _session(cards: frozenset[str]) -> Session:
    return Session(
        session=1, started_utc="", ended_utc=None, host="n1", facts={"network_cards": " ".join(sorted(cards))}, topology_text="",
        pinsweep_version="", argv=(), seed=0, programs={},
    )  # fmt: skip


@given(st.lists(st.frozensets(st.sampled_from("abcdef"), max_size=3), max_size=8))
def test_sessions_are_of_one_machine_where_cards_lead_from_one_to_the_other(
    cards: list[frozenset[str]],
) -> None:
    marks = hardware.cards(list(map(_session, cards)))
    reach = [{i} for i in range(len(cards))]
    for _ in cards:
        for i, a in enumerate(cards):
            for j, b in enumerate(cards):
                if a & b:
                    reach[i] |= reach[j]
    for i, a in enumerate(cards):
        assert (marks[i] == "") == (not a)
        assert all((marks[i] == marks[j]) == (j in reach[i]) for j, b in enumerate(cards) if a and b)


def test_other_pus_are_something_that_changed(make: Any, tmp_path: Path) -> None:
    files = []
    for i in range(12):
        maker = make.Maker(tmp_path / f"{i}.db")
        maker.started = night(i)
        maker.groups = {"here": (Group(cpus=tuple(range(8 if i < 6 else 4))),)}
        options = {"command": "x", "metrics": {"rate": METRICS["rate"]}}
        maker.add("s", "command", options, f"v {100 if i < 6 else 50}.00{i % 3}\n", place="here")
        files.append(maker.write())

    assert moved(build(load(files))) == [("regressed", "2026-01-07", "PUs of s 0-7 → 0-3")]


def test_a_check_marks_the_number_of_its_cell(nights: Nights, make: Any) -> None:
    """In one night the repeats differ widely (G11)."""
    nights.add(rates((7, 100), (7, 90)))
    maker = make.Maker(nights.folder / "z.db", host="n1")
    maker.started = night(14)
    for rate in (90, 45, 90, 135):
        options = {"command": "x", "n": "a", "metrics": {"rate": METRICS["rate"]}}
        maker.add("s", "command", options, f"v {rate}.0001\n", axes=("n",))
    nights.files.append(maker.write())
    history = nights.history()

    assert moves_table(history)["flags"].tolist() == ["G11"]
    (series,) = json.loads(as_json(history))["series"]
    assert [session["doubtful"] for session in series["sessions"]] == [[]] * 14 + [["G11"]]


def test_json(nights: Nights) -> None:
    history = nights.add(rates((5, 100), (5, 90)), [OLD] * 5 + [NEW] * 5).history()
    answer = json.loads(as_json(history))

    (step,) = answer["steps"]
    values = tuple(step[key] for key in ("host", "started_utc", "regressed", "improved", "off_by_sessions"))
    assert values == ("n1", night(5), 1, 0, 0)
    assert step["differences"] == [{"what": "kernel", "before": "6.1", "after": "6.8"}]
    (series,) = answer["series"]
    assert [session["started_utc"] for session in series["sessions"]] == list(map(night, range(10)))
    assert [series[key] for key in ("judged", "regressed", "drift", "recent")] == [True, True, None, None]
    (change,) = series["changes"]
    assert (change["session"], change["word"]) == (5, "regressed")


def test_the_page_escapes_what_files_say(nights: Nights) -> None:
    facts = [OLD] * 5 + [{"kernel": "<b>6.8</b>"}] * 5
    history = nights.add(rates((5, 100), (5, 90)), facts, host="<i>n1").history()
    drawn = page(document(history, page_title="<u>title"), draw=lambda _: "<svg></svg>")

    assert "&lt;b&gt;6.8" in drawn
    assert [text for text in ("<b>6.8", "<i>n1", "<u>title") if text in drawn] == []


def test_captured_texts_have_no_history(make: Any, nights: Nights) -> None:
    options = intake_options("stream", (), (), "", "")
    for i in range(12):
        (nights.folder / f"{i}.txt").write_text(make.stream_text(2e4 - 500 * i, 4), encoding="utf-8")
    items = read([str(nights.folder / f"{i}.txt") for i in range(12)], options)
    texts = nights.folder / "texts.db"
    store([item for item in items if isinstance(item, Captured)], texts, options, version="test")

    with pytest.raises(UserError, match="12 texts"):
        build(load([texts]))
    history = build(load([texts, *nights.add(rates((10, 100))).files]))
    assert len(history.warnings) == 1
    assert history.sessions["machine"].unique().tolist() == ["n1"]


def test_no_number_is_an_error(nights: Nights) -> None:
    with pytest.raises(UserError, match="no run gave a number"):
        nights.add([{"a": "failed"}]).history()


def _series(sessions: int, noise: float, chance: random.Random) -> list[float]:
    return [100 * (1 + chance.gauss(0, noise)) for _ in range(sessions)]


@pytest.mark.parametrize("noise", [0.01, 0.03])
def test_noise_alone_is_seldom_suspicious(noise: float) -> None:
    chance = random.Random(1)
    named = sum(
        any(recent(_series(sessions, noise, chance), (), "higher", among=5) for _ in range(5))
        for sessions in (10, 14, 27, 40)
        for _ in range(25)
    )
    assert named <= 5  # of 100 histories


def test_a_step_in_the_last_sessions_is_found_once() -> None:
    chance = random.Random(2)
    values: list[float] = []
    for last in (1, 2, 3, 4):
        values = _series(14, 0.01, chance)
        move = recent([v * (0.85 if i >= 14 - last else 1) for i, v in enumerate(values)], (), "higher", among=20)
        assert move is not None
        assert move.sessions == last
    low = [v * (0.85 if i >= 7 else 1) for i, v in enumerate(values)]
    assert recent(low, changes(low, "higher"), "higher") is None
