"""Who was measured with something else than most."""

from __future__ import annotations

from orchestrator.cluster import traits

USUAL = {"fio": "3.36", "kernel": "6.1", "stream": "0.2"}


def test_who_was_measured_with_something_else_is_named() -> None:
    hosts = {f"n{n}": USUAL for n in (1, 2, 3, 4)}
    hosts["n5"] = {"fio": "3.33", "kernel": "6.1", "stream": "0.2"}
    hosts["n6"] = {"fio": "3.36", "kernel": "6.1", "memory": "skipped: no C compiler"}

    found = [(d.hosts, d.text) for d in traits.differences(hosts)]

    assert found == [(("n5",), "fio 3.33, others 3.36"), (("n6",), "memory skipped: no C compiler")]


def test_what_most_were_measured_with_is_said_in_figures_where_it_is_no_half() -> None:
    hosts = {"n1": {"fio": "3.36"}, "n2": {"fio": "3.36"}, "n3": {"fio": "3.33"}, "n4": {"fio": "3.30"}}

    assert [d.text for d in traits.differences(hosts)] == [
        "fio 3.33; 2 of 4 hosts: 3.36",
        "fio 3.30; 2 of 4 hosts: 3.36",
    ]


def test_a_session_is_its_facts_and_its_programs() -> None:
    found = traits.of_session(
        {"kernel": "6.1", "microcode": None, "hostname": "n1"},
        {"fio": {"name": "fio", "version": "3.36"}, "stream": {"version": None}},
        {"memory": "no room"},
    )

    assert found == {"kernel": "6.1", "fio": "3.36", "stream": "?", "memory": "skipped: no room"}


def test_a_session_before_its_sweep_or_later_than_now_is_of_a_wrong_clock() -> None:
    sessions = {
        "n1": "2026-11-28T09:04:00+00:00",
        "n2": "2026-11-26T09:00:00+00:00",
        "n3": "2026-11-29T09:00:00+00:00",
    }

    found = traits.clocks(sessions | {"n4": "?"}, "2026-11-28T09:05:00+00:00", "2026-11-28T12:00:00+00:00")

    assert [(d.hosts, d.what, d.here) for d in found] == [
        (("n2",), "clock", sessions["n2"]),
        (("n3",), "clock", sessions["n3"]),
    ]
    assert traits.clocks(sessions, "", "2026-11-28T12:00:00+00:00") == ()
