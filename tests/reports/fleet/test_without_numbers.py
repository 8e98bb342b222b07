"""Hosts of which nobody knows what they are: all runs disturbed, the newest session failed in full, two groups; what a job and an alert go by."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.fleet import metrics, outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.results.load import load

pytestmark = pytest.mark.usefixtures("undrawn")

Session = Callable[..., None]


class Hosts:
    def __init__(self, make: Any, folder: Path) -> None:
        self.make, self.folder, self.files = make, folder, list[Path]()

    def add(
        self,
        host: str,
        *,
        day: int = 1,
        rate: float = 20e3,
        status: str = "ok",
        runs: int = 2,
        reason: str = "",
    ) -> None:
        maker = self.make.Maker(self.folder / f"{host}-{day}.db", host=host)
        maker.started, maker.ended = (f"2026-11-0{day}T0{hour}:00:00+00:00" for hour in (1, 2))
        for i in range(runs):
            text = self.make.stream_text(rate * (1 + i / 1e4), 4)
            bad = {} if status == "ok" else {"status": status, "reason": reason}
            maker.add("s", "stream", {"threads": 4}, "" if bad else text, **bad)
        self.files.append(maker.write())

    def report(self) -> outliers.Report:
        return outliers.build(load(self.files))


@pytest.fixture
def hosts(make: Any, tmp_path: Path) -> Hosts:
    return Hosts(make, tmp_path)


def holds(report: outliers.Report, family: str) -> dict[tuple[str, ...], float]:
    """Return the labels of a family's samples that are not 0."""
    (found,) = [one for one in metrics.families(report) if one.name == f"pinsweep_fleet_{family}"]
    return {tuple(value for _, value in labels): n for labels, n in found.samples if n}


def test_a_host_of_disturbed_runs_alone_is_a_gap(hosts: Hosts) -> None:
    """It was "not judged", with exit status 0, and in no family of the metrics."""
    for n in range(9):
        hosts.add(f"n{n}", status="disturbed" if n == 3 else "ok")
    report = hosts.report()

    (gap,) = report.gaps
    assert gap.text == "no number n3: 2 runs disturbed"
    assert report.fails()
    assert holds(report, "missing") == {("n3", "no number"): 1}
    assert ("n3",) not in holds(report, "sessions")
    assert json.loads(fleet_text.as_json(report))["gaps"] == [{"what": "no number", "of": ["n3"], "reason": "2 runs disturbed"}]  # fmt: skip
    page = fleet_page.build(report, title="t", links={})
    assert "; all runs of n3 were disturbed" in page.sentence
    (check,) = [check for check in page.checks if check.subject == "Not judged."]
    assert check.text == "n3: no run of it gave a number."


def test_a_host_with_some_disturbed_runs_is_none(hosts: Hosts) -> None:
    for n in range(9):
        hosts.add(f"n{n}")
    hosts.add("n3", day=2, status="disturbed")
    report = hosts.report()

    assert report.gaps == ()
    assert not report.fails()
    assert report.statuses["n3"] == "ok"


@pytest.mark.parametrize("last", ["failed", "timeout"])
def test_a_host_whose_last_session_failed_in_full_is_not_ok(hosts: Hosts, last: str) -> None:
    for n in range(9):
        for day in (1, 2, 3):
            status = last if (n, day) == (5, 3) else "ok"
            hosts.add(f"n{n}", day=day, status=status, reason="exit status 7: memory error")
    report = hosts.report()

    assert report.statuses["n5"] == "unknown"
    assert report.by_status()["ok"] == [f"n{n}" for n in range(9) if n != 5]
    said = f"its last session gave no number: 2 runs {last}, exit status 7: memory error"
    assert report.unjudged == {said: ("n5",)}
    text = fleet_text.as_text(report)
    assert f"not judged n5: {said}" in text.splitlines()
    assert "incomplete" not in text  # which it is in the metrics and the JSON
    assert [gap.text for gap in report.gaps] == [f"incomplete n5: 2 runs {last}, exit status 7: memory error"]
    page = fleet_page.build(report, title="t", links={})
    assert "; n5 could not be judged, since its last session failed" in page.sentence
    assert "runs of n5" not in page.sentence
    assert [(c.level, c.subject) for c in page.checks if "n5" in c.text] == [("warn", "Not judged.")]
    assert holds(report, "verdict")["n5", "not judged"] == 1
    assert holds(report, "sessions")["n5",] == 2
    assert report.fails()


def test_a_slow_host_whose_last_session_failed_is_slow(hosts: Hosts) -> None:
    for n in range(9):
        for day in (1, 2, 3, 4):
            hosts.add(
                f"n{n}",
                day=day,
                rate=17e3 if n == 5 else 20e3,
                status="failed" if (n, day) == (5, 4) else "ok",
            )
    assert hosts.report().statuses["n5"] == "broken"


def test_a_host_that_is_ok_in_what_it_gave_is_incomplete_to_an_alert(hosts: Hosts) -> None:
    for n in range(9):
        for day in (1, 2, 3):
            hosts.add(f"n{n}", day=day, status="failed" if (n, day) == (5, 2) else "ok")
    report = hosts.report()

    assert report.statuses["n5"] == "ok"
    assert "; runs of n5 failed" in fleet_page.build(report, title="t", links={}).sentence
    assert holds(report, "verdict")["n5", "incomplete"] == 1
    assert ("n5", "ok") not in holds(report, "verdict")


def test_two_groups_fail_a_job_and_are_told_to_alerts_and_programs(hosts: Hosts) -> None:
    """Of five of ten hosts with a slower firmware nothing told but the text."""
    for n in range(10):
        for day in (1, 2, 3):
            hosts.add(f"n{n}", day=day, rate=18.4e3 if n >= 5 else 20e3)
    report = hosts.report()

    assert not report.accused
    assert report.fails()
    assert {host for (host,) in holds(report, "worse_half")} == {f"n{n}" for n in range(5, 10)}
    (halves,) = json.loads(fleet_text.as_json(report))["halves"]
    assert (halves["worse"], len(halves["numbers"])) == ([f"n{n}" for n in range(5, 10)], 4)


def test_what_is_suspicious_or_not_judged_fails_a_job_that_asks_for_it(hosts: Hosts) -> None:
    for n in range(9):
        hosts.add(f"n{n}", rate=17e3 if n == 5 else 20e3)
    report = hosts.report()
    assert report.statuses["n5"] == "suspicious"
    assert [report.fails(also) for also in ((), ("suspicious",), ("not-judged",), outliers.ALSO)] == [False, True, False, True]  # fmt: skip

    few = outliers.build(load(hosts.files[:3]))
    assert [few.fails(also) for also in ((), ("suspicious",), ("not-judged",))] == [False, False, True]


def test_of_files_without_any_number_all_hosts_are_gaps(hosts: Hosts) -> None:
    """Exit status 2 left the metrics of last night in their file."""
    for n in range(9):
        hosts.add(f"n{n}", status="failed")
    report = hosts.report()

    assert report.fails()
    assert holds(report, "missing") == {(f"n{n}", "no number"): 1 for n in range(9)}
    assert {word for _, word in holds(report, "verdict")} == {"not judged"}
    assert fleet_page.build(report, title="t", links={}).sentence.startswith(
        "9 hosts, none of which could be judged"
    )


@pytest.mark.parametrize(
    ("count", "beside_itself", "why"),
    [
        (
            8,
            False,
            "the hosts fall into two groups",
        ),  # it was "the median is 0", of the last of their numbers
        (3, True, "the median is 0 or below"),  # it was "the baseline has none of their numbers"
    ],
)
def test_hosts_are_not_judged_for_the_reason_that_holds(
    make: Any, tmp_path: Path, count: int, beside_itself: bool, why: str
) -> None:
    """A rate of two groups of hosts, if it is not a baseline that they are beside, and errors, of which there are none."""
    names = {"errors": "lower"} if beside_itself else {"rate": "higher", "errors": "lower"}
    metrics = {name: {"regex": rf"{name} (\S+)", "unit": "1", "better": better} for name, better in names.items()}  # fmt: skip
    files = []
    for n in range(count):
        maker = make.Maker(tmp_path / f"{n}.db", host=f"n{n}")
        text = f"rate {100 - n / 100 if 2 * n < count else 80 - n / 100}\nerrors 0\n"
        files.append(maker.add("s", "command", {"command": ["x"], "metrics": metrics}, text).write())
    report = outliers.build(load(files), baseline=load(files) if beside_itself else None)

    assert report.unjudged == {why: tuple(f"n{n}" for n in range(count))}
    assert ("--baseline" in report.helps(why)) == (not beside_itself)
