"""Which hosts were measured with something else than most."""

from __future__ import annotations

from orchestrator.cluster import traits

USUAL = {"fio": "3.36", "kernel": "6.1", "stream": "0.2"}


def test_hosts_that_differ_from_most() -> None:
    hosts = {f"n{n}": USUAL for n in (1, 2, 3, 4)}
    hosts["n5"] = USUAL | {"fio": "3.33"}
    hosts["n6"] = {"fio": "3.36", "kernel": "6.1", "memory": "skipped: no C compiler"}

    rows = [(d.hosts, d.what, d.here, d.others) for d in traits.differences(hosts)]

    assert rows == [(("n5",), "fio", "3.33", "3.36"), (("n6",), "memory", "skipped: no C compiler", "")]
    assert traits.differences({"n1": USUAL}) == ()


def test_a_session_is_its_facts_its_programs_and_skipped_sweeps() -> None:
    values = traits.of_session(
        {"kernel": "6.1", "microcode": None, "hostname": "n1"},
        {"fio": {"name": "fio", "version": "3.36"}, "stream": {"version": None}},
        {"memory": "no room"},
    )

    assert values == {"kernel": "6.1", "fio": "3.36", "stream": "?", "memory": "skipped: no room"}


def test_a_session_before_its_sweep_or_later_than_now_has_a_wrong_clock() -> None:
    days = {"n1": "28T09:04", "n2": "26T09:00", "n3": "29T09:00"}
    sessions = {host: f"2026-11-{day}:00+00:00" for host, day in days.items()} | {"n4": "?"}

    rows = traits.clocks(sessions, "2026-11-28T09:05:00+00:00", "2026-11-28T12:00:00+00:00")

    assert [(d.hosts, d.what, d.here) for d in rows] == [((host,), "clock", sessions[host]) for host in ("n2", "n3")]
    assert traits.clocks(sessions, "", "2026-11-28T12:00:00+00:00") == ()
