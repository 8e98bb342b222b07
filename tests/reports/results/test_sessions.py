"""When sessions were: one boot within an hour is one piece of evidence, and a clock that was set does not decide the order."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.store.result_file import Session
from reports.results.model import Machine
from reports.results.sessions import timeline

START = datetime(2026, 3, 1, 3, tzinfo=UTC)


def session(
    name: str, minutes: float, *, boot: str | None = "b", up: float | None = None, host: str = "n1", ended: float | None = None
) -> Machine:  # fmt: skip
    """A session that began `minutes` after the start by its own clock, and `up` minutes after boot by the other."""

    def utc(after: float) -> str:
        return (START + timedelta(minutes=after)).isoformat()

    facts: dict[str, Any] = {"boot_id": boot, "uptime_s": None if up is None else up * 60}
    return Machine(
        file=name,
        session=Session(
            session=1, started_utc=utc(minutes), ended_utc=None if ended is None else utc(ended), pinsweep_version="0.1",
            argv=("run",), seed=1, host=host, facts=facts, topology_text="", programs={},
        ),
    )  # fmt: skip


def test_what_one_boot_did_within_an_hour_is_one_piece_of_evidence() -> None:
    machines = [
        session("a", 0), session("b", 20), session("c", 59),  # stopped twice, and went on
        session("d", 61), session("e", 24 * 60),
        session("f", 5, boot="other"), session("g", 6, boot=None), session("h", 7, boot=None), session("i", 1, host="n2"),
    ]  # fmt: skip
    for order in (machines, machines[::-1]):
        evidence = {key[0]: when.evidence[0] for key, when in timeline(order).items()}
        assert evidence == {
            **dict.fromkeys("abc", "a"), "d": "d", "e": "e", "f": "f", "g": "g", "h": "h", "i": "i",
        }  # fmt: skip


def test_the_time_since_boot_puts_a_session_with_a_wrong_clock_in_its_place() -> None:
    """The first of the boot began five hours ahead, before the clock was set: it would be sorted behind the second."""
    machines = [
        session("right", 24 * 60, up=24 * 60 + 10),
        session("wrong", 300, up=10),
        session("next", 5 * 60, boot="c"),
    ]
    for order in itertools.permutations(machines):
        found = timeline(order)
        assert [key[0] for key in found] == ["wrong", "next", "right"]
        assert found["wrong", 1].stepped == "its clock was 5 h ahead of that of other sessions of the same boot"
        assert not found["right", 1].stepped


def test_a_clock_that_most_sessions_of_the_boot_contradict_is_the_wrong_one() -> None:
    found = timeline([session("a", 10, up=10), session("b", 80, up=80), session("late", 150 - 600, up=150)])
    assert [key[0] for key in found] == ["a", "b", "late"]
    assert [bool(when.stepped) for when in found.values()] == [False, False, True]
    assert found["late", 1].evidence == ("late", 1)


def test_one_hour_is_told_by_the_clock_that_is_right() -> None:
    found = timeline([session("a", 600, up=10), session("b", 20, up=20)])
    assert {when.evidence for when in found.values()} == {("a", 1)}


@pytest.mark.parametrize(
    ("minutes", "ended", "said"),
    [
        (60, 0, "its clock went back by 1 h while it ran"),
        (-60 * 24 * 365 * 10, 30, "its clock said 2016-03-03"),
    ],
)
def test_a_session_may_tell_itself_that_its_clock_was_wrong(minutes: float, ended: float, said: str) -> None:
    (when,) = timeline([session("a", minutes, boot=None, ended=ended)]).values()
    assert when.stepped == said
    assert when.at > datetime(2025, 1, 1, tzinfo=UTC).timestamp()


def test_a_copy_of_a_session_proves_nothing_of_its_clock() -> None:
    found = timeline([session("a", 0, up=10), session("b", 24 * 60, up=10), session("c", 48 * 60, up=10)])
    assert not any(when.stepped for when in found.values())
    assert len({when.evidence for when in found.values()}) == 3
