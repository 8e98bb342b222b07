"""What is said of histories of unlike shapes: machines of one name, numbers that left 0, hosts of which each lost another number."""

from __future__ import annotations

import json
import random
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store.result_file import Session
from reports.checks._cells import cell_key
from reports.fleet import outliers
from reports.history import changes as history
from reports.history import page as history_page
from reports.history import text as history_text
from reports.page.model import Page
from reports.results import hardware
from reports.results.convicted import by_metric
from reports.results.load import load

METRICS = {
    "rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"},
    "took": {"regex": r"took (\S+)", "unit": "us", "better": "lower"},
    "errors": {"regex": r"errors (\S+)", "better": "lower"},
    "gain": {"regex": r"gain (\S+)", "unit": "dB", "better": "higher"},
    "off": {"regex": r"off (\S+)", "unit": "us", "better": "lower"},
}

Add = Callable[..., list[Path]]


@pytest.fixture
def nights(make: Any, tmp_path: Path) -> Add:
    """Write a session a night of a host, each with its facts."""

    def add(
        host: str, rows: Sequence[Mapping[str, float]], facts: Sequence[Mapping[str, Any]] = ()
    ) -> list[Path]:
        files = []
        for i, own in enumerate(rows):
            path = tmp_path / f"{host}-{i:02}.db"
            maker = make.Maker(path, host=host)
            maker.facts = {**make.FACTS, "boot_id": f"{host} {i}", **(facts[i] if facts else {})}
            text = "".join(f"{name} {value}\n" for name, value in own.items())
            maker.add(
                "s", "command", {"command": ["x"], "metrics": {name: METRICS[name] for name in own}}, text
            )
            files.append(maker.write())
            with sqlite3.connect(path) as db:
                db.execute("UPDATE session SET started_utc = ?", (f"2026-01-{1 + i:02}T03:00:00+00:00",))
        return files

    return add


def told(files: Sequence[Path]) -> tuple[history.Report, Page, str]:
    pytest.importorskip("ruptures", reason="ruptures, which finds the steps, is for no such Python")
    report = history.build(load(files))
    return report, history_page.build(report, title="t"), history_text.as_text(report)


def noisy(value: float, i: int) -> float:
    return round(value * random.Random(i).gauss(1, 0.002), 3)


def test_a_change_of_a_negative_number_is_told_and_not_judged(nights: Add) -> None:
    """A gain that fell from −20.0 to −26.0 dB was "regressed, −30 %", where `compare` says that no change is a share of it."""
    files = nights("n1", [{"gain": noisy(-20.0 if i < 12 else -26.0, i), "rate": noisy(1000, i)} for i in range(24)])  # fmt: skip
    report, page, text = told(files)

    (gain,) = [h for h in report.histories if h.series.key.name.quantity == "gain"]
    assert [c.word for c in gain.changes] == ["changed"]
    assert not report.regressed
    said = "s: gain changed, and no change from below 0 is judged"
    assert page.sentence == f"No change in 1 number; {said}."
    assert f"2 numbers: {said}; no change of the others\n" in f"{text}\n"
    (figure,) = (f for s in page.sections for b in s.blocks for f in b.figures)
    assert figure.lanes
    notes = {lane.name: lane.note for lane in figure.lanes.lanes}
    assert re.fullmatch(r"−2[56]\.\d+ dB, changed: no change from below 0 is judged", notes["gain"])
    (change,) = (c for one in json.loads(history_text.as_json(report))["series"] for c in one["changes"])
    assert (change["change"], change["ratio"]) == (None, None)


def test_a_number_that_left_zero_is_not_told_as_unchanged(nights: Add) -> None:
    report, page, text = told(
        nights("n1", [{"rate": noisy(1000, i), "errors": 5 * (i >= 8)} for i in range(16)])
    )
    (errors,) = [h for h in report.histories if h.series.key.name.metric == "errors"]
    assert [(c.before, c.after) for c in errors.changes] == [(0, 5)]
    said = "s: errors left 0, and no change from 0 is judged"
    assert page.sentence == f"No change in 1 number; {said}."
    (regressed,) = (key for key in page.key_numbers if key.name == "Regressed")
    assert (regressed.value, regressed.context) == ("0", "none is worse than before")
    assert [check.text for check in page.checks if check.subject == "n1."] == [f"{said}."]
    assert f"2 numbers: {said}; no change of the others" in text


def test_zero_that_stays_is_no_change(nights: Add) -> None:
    _, page, text = told(nights("n1", [{"rate": noisy(1000, i), "errors": 0} for i in range(16)]))
    assert page.sentence == "No change in 2 numbers."
    assert "left 0" not in text


def test_a_line_that_left_zero_beside_one_that_changed(nights: Add) -> None:
    rows = [
        {"rate": noisy(1000 if i < 8 else 800, i), "took": 10.0, "errors": 5 * (i >= 8)} for i in range(16)
    ]
    _, page, text = told(nights("n1", rows))
    (figure,) = page.sections[0].blocks[0].figures
    assert figure.lanes
    notes = {lane.name: lane.note for lane in figure.lanes.lanes}
    assert notes["errors"] == "5, left 0: no change from 0 is judged"
    assert notes["took"].endswith("no change; scatters by ≤ 0.30 %")  # it does not scatter at all
    assert "s: errors left 0, and no change from 0 is judged; 1 change" in text


def test_a_step_of_one_printed_digit_is_not_told_as_smaller_than_the_threshold(nights: Add) -> None:
    """9 became 10 in whole digits, which may be 9.49 and 9.51: no news, and no "less than 3 %" either."""
    rows = [{"rate": noisy(1000 if i < 8 else 800, i), "took": 9 if i < 8 else 10} for i in range(16)]
    _, page, text = told(nights("n1", [{"took": row["took"]} for row in rows]))
    (bound,) = {
        float(said) for said in re.findall(r"[Nn]o change of ([\d.]+) % or more", f"{page.sentence} {text}")
    }
    assert 11.2 < bound < 17
    _, page, _ = told(nights("n2", rows))
    (figure,) = page.sections[0].blocks[0].figures
    (note,) = [lane.note for lane in figure.lanes.lanes if lane.name.startswith("took")]
    assert f"no change of {bound:g} % or more" in note
    assert "from 3 % on, and from 1.5 of the last digit" in page.methods[0]


def test_two_changes_back_and_forth_have_each_its_text(nights: Add) -> None:
    """ "−13 % governor powersa…" and "+15 % governor perform…" lay on one another."""
    rows = [{"rate": noisy(85.0 if 5 <= i < 11 else 100.0, i)} for i in range(16)]
    facts = [{"governor": "powersave" if 5 <= i < 11 else "performance"} for i in range(16)]
    _, page, _ = told(nights("n1", rows, facts))

    (figure,) = page.sections[0].blocks[0].figures
    for spec in (figure.panels[0].wide, figure.panels[0].narrow):
        first, second = spec["datasets"]["notes"]
        assert first["text"].startswith("−15 %; new: g")
        assert (first["y"], first["dy"]) != (second["y"], second["dy"])
        assert [level["series"] for level in spec["datasets"]["levels"]] == [
            "median",
            "regressed",
            "improved",
        ]
    assert "Thick line: the level between changes; orange" in figure.sub
    assert "Line: the level between changes. Dashed: just before the first session" in figure.note


def test_what_drifts_has_a_legend_of_its_own(nights: Add) -> None:
    """It told of dashes and of levels, of which there were none."""
    _, page, text = told(
        nights("n1", [{"took": noisy(100.0 + 2 * i, i), "rate": noisy(50, i)} for i in range(16)])
    )
    drifts = "1 number drifts: 1 regressed little by little"
    assert page.sentence == f"{drifts}; no change in 1 number."
    assert f"{drifts}; no change of the others" in " ".join(text.split())

    (figure,) = page.sections[0].blocks[0].figures
    assert (
        figure.note
        == "In the charts a dot is the median of a session’s repeats. Line: through what moved little by little."
    )
    assert figure.sub.endswith(
        " Thick line: through what moved little by little; orange where it became worse, blue better."
    )
    assert ": 1 number drifts: 1 regressed little by little; no change of the others\n" in text
    assert page.sentence == "1 number drifts: 1 regressed little by little; no change in 1 number."
    assert len(page.methods) == 3  # they fill both columns


@pytest.mark.parametrize("both", [False, True])
def test_what_each_host_lost_is_not_told_as_lost_by_all(both: bool, nights: Add) -> None:
    """One host's rate fell and another's time rose, after the same update; or both on both."""
    facts = [{"kernel": "6.1" if i < 8 else "6.8"} for i in range(16)]
    files = []
    for host, fell in (("n1", "rate"), ("n2", "took")):
        slow = {"rate": 0.8 if both or fell == "rate" else 1, "took": 1.25 if both or fell == "took" else 1}
        files += nights(host, [{m: noisy(1000 * (f if i >= 8 else 1), i) for m, f in slow.items()} for i in range(16)], facts)  # fmt: skip
    _, page, text = told(files)
    each = "" if both else ", not each on every host"
    assert (
        text.splitlines()[0] == f"2026-01-09: 2 regressed on n[1-2]{each}; at the same time: kernel 6.1 → 6.8"
    )
    assert (
        page.sentence
        == f"2 changes; the last on n[1-2] on 2026-01-09, 2 regressed{each}; at the same time: kernel 6.1 → 6.8."
    )
    (regressed,) = [key for key in page.key_numbers if key.name == "Regressed"]
    assert regressed.context.endswith(
        "; 2 numbers, of each of 2 hosts its own" if both else "; 2 numbers over 2 hosts"
    )


def test_machines_of_one_name_and_kind_are_told_by_their_network_cards(nights: Add) -> None:
    """Two cloned machines, one 10 % slower, measured by turns: as one they would scatter by 10 %, and hide any step."""
    facts = [{"network_cards": ("aaaaaa bbbbbb", "cccccc", "bbbbbb")[i % 3]} for i in range(30)]
    files = nights("n1", [{"rate": noisy(900 if i % 3 == 1 else 1000, i)} for i in range(30)], facts)
    report, _, _ = told(files)
    own = {host: {round(v, -8) for h in report.of(host) for v in h.medians} for host in report.moments}
    assert own == {"n1 (network cards aaaaaa)": {1e9}, "n1 (network cards cccccc)": {9e8}}
    (said,) = [text for text in report.warnings if "several machines" in text]
    fleet = outliers.build(load(files))
    assert sorted(fleet.statuses) == ["n1 (network cards aaaaaa)", "n1 (network cards cccccc)"]
    assert said in fleet.warnings
    assert [len(group.hosts) for group in fleet.groups] == [2]  # of equal hardware all the same
    assert json.loads(history_text.as_json(report))["warnings"] == list(report.warnings)


def test_a_card_that_was_not_recorded_is_no_other_machine(nights: Add) -> None:
    facts = [{"network_cards": "aaaaaa" if i % 2 else None} for i in range(12)]
    report, page, _ = told(nights("n1", [{"rate": noisy(1000, i)} for i in range(12)], facts))
    assert list(report.moments) == ["n1"]
    assert report.warnings == ()
    assert page.sentence == "No change in 1 number."


def session(seen: frozenset[str]) -> Session:
    return Session(
        session=1, started_utc="", ended_utc=None, host="n1", facts={"network_cards": " ".join(sorted(seen))}, topology_text="",
        pinsweep_version="", argv=(), seed=0, programs={},
    )  # fmt: skip


@given(st.lists(st.frozensets(st.sampled_from("abcdef"), max_size=3), max_size=8))
def test_sessions_are_of_one_machine_where_cards_lead_from_one_to_the_other(
    seen: list[frozenset[str]],
) -> None:
    marks = hardware.cards([session(own) for own in seen])
    reach = [{i} for i in range(len(seen))]
    for _ in seen:
        for i, a in enumerate(seen):
            for j, b in enumerate(seen):
                if a & b:
                    reach[i] |= reach[j]
    for i, a in enumerate(seen):
        assert (marks[i] == "") == (not a)
        for j, b in enumerate(seen):
            if a and b:
                assert (marks[i] == marks[j]) == (j in reach[i])


@pytest.mark.parametrize("doubted", ["took", "rate"])
def test_what_doubts_one_metric_of_a_cell_is_told_of_its_numbers_alone(doubted: str, nights: Add) -> None:
    """A check doubts one of two metrics: the rows, the lanes and the caption name it for the same numbers as the text does."""
    pytest.importorskip("ruptures", reason="ruptures, which finds the steps, is for no such Python")
    rows = [{"rate": noisy(1000 if i < 8 else 800, i), "took": noisy(10, i)} for i in range(16)]
    results = load(nights("n1", rows))
    cell = cell_key(results.runs[-1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history, "of_results", lambda _: by_metric([(cell, "G11", doubted)]))
        report = history.build(results)
    (figure,) = history_page.build(report, title="t").sections[0].blocks[0].figures

    own = {h.series.key.name.quantity: h.doubt for h in report.histories}
    assert [name for name, ids in own.items() if ids] == [doubted]
    assert "G11" in figure.doubt
    assert figure.lanes
    assert [lane.name for lane in figure.lanes.lanes if "G11" in lane.name] == [f"{doubted} ⚠ G11"]
    marked = [
        row for table in (*figure.tables, *figure.numbers) for row in table.doubted.rows if "⚠ G11" in row
    ]
    assert len(marked) == (2 if doubted == "rate" else 0)  # the step, and the number that it is of
