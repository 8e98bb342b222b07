"""Which hosts are slow: result files in, statuses and frames out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.model import Group
from parsers.errors import UserError
from reports.fleet.judge import FAIL_ON, Fleet, judge
from reports.results.load import load
from tests.reports.fleet.conftest import Files

HALF = {"memory_bytes": 8 * 2**30}
RATE = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}


def statuses(fleet: Fleet, *but: str) -> dict[str, str]:
    """Return host → status of the hosts that are not of one of some statuses."""
    return {host: status for host, status in fleet.hosts["status"].items() if status not in but}


def test_one_session_makes_suspects_and_three_make_a_verdict(files: Files) -> None:
    files.hosts(1, 12).add("n13", 0.08).add("n14", 0.2).add("n15", -0.1)
    first = files.judge()
    assert statuses(first, "ok") == {"n13": "suspicious", "n14": "suspicious", "n15": "fast"}
    assert not first.fails()
    assert first.rerun == {"n14": ("scaling",), "n13": ("scaling",)}

    second = files.add("n13", 0.08, sessions=2).add("n14", 0.2, sessions=2).judge()
    assert statuses(second, "ok") == {"n14": "broken", "n13": "slow", "n15": "fast"}
    assert list(second.hosts.index[:3]) == ["n14", "n13", "n15"]  # the worst first
    worst = second.odd.iloc[0]
    assert (worst["host"], worst["change"]) == ("n14", pytest.approx(-1 / 6, abs=0.02))
    assert worst["worse"] == pytest.approx(1 / 6, abs=0.02)
    assert second.fails()
    assert second.rerun == {}


def test_who_is_accused_is_not_to_be_measured_again(files: Files) -> None:
    """n13 is broken in the bandwidths, and the sessions of its latency disagree."""
    files.hosts(1, 12, sessions=3).add("n14", 0.08)
    for latency in (0.2, 0.2, 0.0):
        files.add("n13", 0.2, latency=latency)
    fleet = files.judge()
    assert {*fleet.odd["status"][fleet.odd["host"] == "n13"]} == {"broken", "suspicious"}
    assert [*fleet.rerun] == ["n14"]


def test_a_host_that_is_a_little_slow_everywhere(files: Files) -> None:
    fleet = files.hosts(1, 12, sessions=3).add("n13", 0.018, sessions=3, latency=0.018).judge()
    assert [(e.name, e.confirmed) for e in fleet.everywhere] == [("n13", True)]
    assert fleet.accused == ["n13"]


def test_two_groups_of_hosts_are_not_judged_and_fail(files: Files) -> None:
    fleet = files.hosts(1, 4, sessions=3).hosts(5, 8, sessions=3, slower=0.25, latency=0.25).judge()
    assert {*fleet.hosts["status"]} == {"unknown"}
    assert {*fleet.hosts["reason"]} == {"the hosts fall into two groups"}
    assert [(worse, len(numbers)) for worse, numbers in fleet.halves.items()] == [(("n05", "n06", "n07", "n08"), 12)]
    assert fleet.fails()


# --- hosts and groups --------------------------------------------------------------------------------------


def test_other_hardware_is_another_group(files: Files) -> None:
    fleet = files.hosts(1, 9).hosts(10, 11, facts=HALF, slower=0.3).judge()
    assert fleet.members.kinds[1].differences(fleet.members.kinds[0]) == "memory 8 GiB, not 16 GiB"
    assert [fleet.is_judged(group) for group in (0, 1)] == [True, False]
    assert statuses(fleet, "ok") == {"n10": "unknown", "n11": "unknown"}
    assert fleet.hosts["reason"]["n10"] == "fewer than 8 hosts"


@pytest.mark.parametrize(
    ("extra", "names"),
    [
        (["another"], {"n01 (processor Intel(R) Core(TM) i7-6700HQ CPU @ 2.60GHz)", "n01 (processor another)"}),
    ],
)  # fmt: skip
def test_machines_of_one_name_are_several_hosts(files: Files, extra: list[str], names: set[str]) -> None:
    files.hosts(1, 8)
    for model in extra:
        files.add("n01", facts={"cpu_model": model} if model else None)
    fleet = files.judge()
    assert {host for host in fleet.hosts.index if host.startswith("n01")} == names
    assert "several machines are called n01" in fleet.warnings[0]


def test_a_host_that_lost_memory_is_judged_with_its_hardware(files: Files) -> None:
    files.hosts(1, 11, sessions=3, mlc=False).add("n12", 0.25, sessions=3, mlc=False).add(
        "n12", 0.25, facts=HALF, mlc=False
    )
    assert statuses(files.judge(), "ok") == {"n12 (memory 16 GiB)": "broken", "n12 (memory 8 GiB)": "unknown"}


@pytest.mark.parametrize(("boots", "status"), [(("b1", "b1", "b1"), "suspicious"), (("b1", "b2", "b3"), "broken")])
def test_sessions_of_one_boot_within_an_hour_are_one(files: Files, boots: tuple[str, ...], status: str) -> None:
    files.hosts(1, 12)
    for boot in boots:
        files.add("n13", 0.2, facts={"boot_id": boot})
    assert statuses(files.judge(), "ok") == {"n13": status}


def test_a_clock_that_stepped_is_a_warning(files: Files) -> None:
    files.hosts(1, 8)
    for uptime in (90.0, 9000.0):
        files.add("n09", facts={"boot_id": "b", "uptime_s": uptime})
    assert len(files.judge().warnings) == 1


def test_hosts_with_another_kernel_are_listed(files: Files) -> None:
    fleet = files.hosts(1, 9).add("n10", facts={"kernel": "6.9.1"}).judge()
    assert [(d.hosts, d.what, d.here) for d in fleet.unlike] == [(("n10",), "kernel", "6.9.1")]


# --- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "text"),
    [("counted", "s, threads counted=32"), ("placed", "s, PUs=0-31"), ("allowed", "s, PUs=0-31")],
)  # fmt: skip
def test_other_threads_or_cpus_are_another_number(make: Any, tmp_path: Any, how: str, text: str) -> None:
    """Half of the bandwidth on half of the threads accuses nobody."""
    paths = []
    for number in range(1, 15):
        few = number in (3, 4, 9)
        maker = make.Maker(tmp_path / f"{number}.db", host=f"n{number:02}")
        options: dict[str, Any] = {"array_size": 1000}
        if how == "placed":
            maker.groups = {"here": (Group(cpus=tuple(range(32 if few else 64)), membind=(0,)),)}
        if how == "allowed":
            maker.facts = {**make.FACTS, "cpus_allowed": "0-31" if few else "0-63"}
        threads = (32 if few else 64) if how == "counted" else 16
        rate = (10e3 if few else 20e3) * (1 + number % 5 * 1e-3)
        for repeat in (1, 2, 3):
            maker.add(
                "s",
                "stream",
                options,
                make.stream_text(rate, threads),
                place="here" if how == "placed" else "",
                repeat=repeat,
            )
        paths.append(maker.write())
    fleet = judge(load(paths))
    assert statuses(fleet, "ok") == {"n03": "unknown", "n04": "unknown", "n09": "unknown"}
    ((what, hosts),) = fleet.unmatched
    assert what == text
    assert hosts == ("n03", "n04", "n09")
    assert fleet.lacking == ()


def test_hosts_whose_cpus_are_not_recorded_are_not_accused(make: Any, tmp_path: Any) -> None:
    paths = []
    for number in range(12):
        for session in range(3):
            maker = make.Maker(tmp_path / f"{number}-{session}.db", host=f"n{number:02}")
            maker.facts = {**make.FACTS, "cpus_allowed": None, "boot_id": f"{number} {session}"}
            rate = (10e3 if number == 5 else 20e3) * (1 + number % 5 * 1e-3)
            maker.add("s", "stream", {"threads": 4}, make.stream_text(rate, 4))
            paths.append(maker.write())
    fleet = judge(load(paths))
    assert statuses(fleet, "ok") == {"n05": "suspicious"}
    assert {*fleet.odd["reason"]} == {"its CPUs are not recorded"}


def test_a_negative_median_is_not_compared(programs: Callable[..., Fleet]) -> None:
    metrics = {**RATE, "gain": {"regex": r"gain (\S+)", "unit": "dB", "better": "higher"}}

    def text(host: int, session: int) -> str:
        gain = (-26.0 if host == 5 else -20.0 - host / 100) + session / 1000
        return f"gain {gain}\nrate {(70.0 if host == 7 else 100.0 + host / 100) + session / 1000}\n"

    fleet = programs(12, 3, metrics, text)
    assert fleet.accused == ["n07"]
    assert [*fleet.odd["number"]] == ["s: rate"]


@pytest.mark.parametrize(
    ("hosts", "itself", "why"),
    [(8, False, "the hosts fall into two groups"), (3, True, "the median is 0 or below")],
)
def test_why_hosts_are_not_judged(programs: Callable[..., Fleet], hosts: int, itself: bool, why: str) -> None:
    metrics = {} if itself else dict(RATE)
    metrics |= {"errors": {"regex": r"errors (\S+)", "unit": "1", "better": "lower"}}
    fleet = programs(
        hosts,
        1,
        metrics,
        lambda n, _: f"rate {100 - n / 100 if 2 * n < hosts else 80 - n / 100}\nerrors 0\n",
        itself=itself,
    )
    assert {*fleet.hosts["reason"]} == {why}


def test_a_worst_number_is_not_noise(programs: Callable[..., Fleet]) -> None:
    """A rate that varies by 15 % is 25 % below the median; the speed is 13 %, where the others agree to 0.1 %."""
    metrics = {**RATE, "speed": {"regex": r"speed (\S+)", "unit": "MB/s", "better": "higher"}}
    fleet = programs(
        12,
        1,
        metrics,
        lambda n, _: f"rate {75 if n == 5 else 100 + (n - 6) * 5}\nspeed {87 if n == 5 else 100 + n / 100:.2f}\n",
    )
    assert [*fleet.odd["number"][fleet.odd["host"] == "n05"]] == ["s: speed", "s: rate"]


def test_as_many_finds_as_chance_makes_are_apart_from_a_slow_host(programs: Callable[..., Fleet]) -> None:
    """n03 is 4 % slower once, in one of 30 numbers: chance. n04 is 20 % slower."""
    metrics = {f"m{i}": {"regex": rf"m{i} (\S+)", "unit": "MB/s", "better": "higher"} for i in range(30)}

    def text(host: int, session: int) -> str:
        values = [100 + ((host * 7 + i * 5) % 11 - 5) * 0.4 for i in range(30)]
        values[3] -= 4 if host == 3 else 0
        values = [value * (0.8 if host == 4 else 1) for value in values]
        return "".join(f"m{i} {value:.3f}\n" for i, value in enumerate(values))

    fleet = programs(12, 1, metrics, text)
    assert statuses(fleet, "ok")["n04"] == "suspicious"
    assert fleet.hosts["stands_out"]["n04"]
    assert "n04" not in fleet.by_chance


# --- baselines ---------------------------------------------------------------------------------------------


def test_few_hosts_are_judged_by_a_baseline(files: Files, past: Files) -> None:
    past.hosts(1, 6)
    fleet = files.hosts(1, 1, sessions=3).add("n02", 0.09, sessions=3).judge(baseline=load(past.paths))
    assert statuses(fleet) == {"n02": "slow", "n01": "ok"}
    assert {*fleet.numbers["baseline"]} == {6}


@pytest.mark.parametrize(
    ("facts", "sessions", "baseline"),
    [({"cpu_model": "old"}, 1, 0), ({"boot_id": "b1"}, 3, 1)],
    ids=["other hardware", "one hour"],
)
def test_what_a_baseline_counts(files: Files, past: Files, facts: dict[str, str], sessions: int, baseline: int) -> None:
    past.add("old", sessions=sessions, facts=facts)
    fleet = files.hosts(1, 1).judge(baseline=load(past.paths))
    assert {*fleet.numbers["baseline"]} == {baseline}
    assert bool(fleet.warnings) == (not baseline)


# --- what is missing ---------------------------------------------------------------------------------------


def test_numbers_and_cells_that_hosts_lack(files: Files) -> None:
    files.hosts(1, 9).hosts(10, 10, mlc=False).add("n11", status="failed", reason="exit status 1")
    assert files.judge().lacking == (
        ("4 numbers of matrix", ("n10", "n11")),
        ("8 numbers of scaling", ("n11",)),
    )


def test_gaps_of_hosts_and_files(files: Files) -> None:
    files.hosts(1, 9).add("n10", status="failed", reason="exit status 1: no memory").add("n11", status="disturbed")
    files.hosts(12, 12).add("n12", day=1, status="failed", reason="exit status 1: no memory")
    fleet = files.judge(expected=["n01", "n13", "n14"], unreadable=[("x.db", "damaged")])
    assert [(gap.what, gap.names, gap.reason) for gap in fleet.gaps] == [
        ("no result", ("n13", "n14"), ""), ("unreadable", ("x.db",), "damaged"),
        ("no number", ("n10",), "3 runs failed, exit status 1: no memory"), ("no number", ("n11",), "3 runs disturbed"),
        ("incomplete", ("n12",), "3 runs failed, exit status 1: no memory"),
    ]  # fmt: skip
    assert fleet.incomplete == {"n12"}
    assert fleet.fails()


def test_disturbed_runs_beside_good_ones_are_not_a_gap(files: Files) -> None:
    fleet = files.hosts(1, 9).add("n03", day=30, status="disturbed").judge()
    assert fleet.gaps == ()
    assert not fleet.fails(FAIL_ON)


@pytest.mark.parametrize(("slower", "status"), [(0.0, "unknown"), (0.2, "broken")])
def test_a_host_whose_last_session_failed_is_not_ok(files: Files, slower: float, status: str) -> None:
    files.hosts(1, 9, sessions=3)
    for day in (1, 2, 3):
        files.add("n10", slower, day=day)
    fleet = files.add("n10", day=4, status="timeout").judge()
    assert statuses(fleet, "ok") == {"n10": status}
    assert fleet.hosts["sessions"]["n10"] == 3


def test_hosts_that_are_due(files: Files) -> None:
    files.hosts(1, 8).add("n09", day=1)
    last = files.judge().hosts["last"]
    (gap,) = files.judge(due=(last["n09"] + 1, last["n09"] + 5 * 86400)).gaps
    assert (gap.what, gap.names, gap.reason) == ("not screened", ("n09",), "last on 2026-11-01, 5 days ago")


def test_numbers_that_cannot_be_better_are_a_mistake(programs: Callable[..., Fleet]) -> None:
    with pytest.raises(UserError):
        programs(2, 1, {"size": {"regex": r"(\d+)", "unit": "B", "better": "neither"}}, lambda *_: "12\n")


@pytest.mark.parametrize(
    ("count", "slower", "fails"),
    [(9, 0.15, [False, True, False, True]), (3, 0.0, [False, False, True, True])],
)
def test_what_fails_a_job(files: Files, count: int, slower: float, fails: list[bool]) -> None:
    fleet = files.hosts(1, count - 1).add("n20", slower).judge()
    assert [fleet.fails(also) for also in ((), ("suspicious",), ("not-judged",), FAIL_ON)] == fails


def test_flags_of_a_cell_are_flags_of_its_numbers(make: Any, files: Files) -> None:
    """One session of n13 has repeats that differ widely (G11) with one thread."""
    files.hosts(1, 12, sessions=3).add("n13", 0.25, sessions=2)
    maker = make.Maker(files.folder / "wide.db", host="n13")
    for rates in ((8e3, 16e3), (4e3, 16e3), (8e3, 16e3)):
        for threads, rate in zip((1, 4), rates, strict=True):
            maker.add("scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))
    files.paths.append(maker.write())
    odd = files.judge().odd
    assert {*zip(odd["cell"], odd["flags"], strict=True)} == {
        ("scaling, threads=1", "G11"),
        ("scaling, threads=4", ""),
    }
