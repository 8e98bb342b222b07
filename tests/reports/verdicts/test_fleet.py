"""Slow hosts: found after two more runs, by name, and not by bad luck."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.verdicts.fleet import Fleet, Metric, centre, comparisons, judge_fleet


def fleet(bad: dict[str, float], *, runs: int = 1, metrics: int = 1, hosts: int = 40, **more: object) -> list[Metric]:
    """Return bandwidths of hosts n00, n01, … about 100 with 1 % noise; `bad`: host → the factor of all its values."""
    rng = np.random.default_rng(11)
    names = [f"n{i:02}" for i in range(hosts)]
    return [
        Metric(
            key=key,
            better="higher",
            values={
                n: tuple(bad.get(n, 1.0) * 100 * np.exp(rng.normal(0, 0.01, runs if n not in bad else 3)))
                for n in names
            },
            **more,
        )
        for key in range(metrics)
    ]


def statuses(found: Fleet, status: str) -> set[str]:
    return {name for name, s in found.statuses.items() if s == status}


@given(st.lists(st.floats(1, 1000), min_size=1))
def test_the_spread_is_never_nothing(values: list[float]) -> None:
    middle, spread = centre(values, resolution=0.1)

    assert middle == pytest.approx(np.median(values))
    mad = np.median(np.abs(np.array(values) - np.median(values)))
    assert spread == pytest.approx(max(1.4826 * mad, 0.003 * middle, 0.1 * middle / math.sqrt(12)))


def test_slow_broken_and_fast_hosts_are_named() -> None:
    found = judge_fleet(fleet({"n03": 0.93, "n17": 0.8, "n20": 1.2}, runs=3))

    assert statuses(found, "slow") == {"n03"}
    assert statuses(found, "broken") == {"n17"}
    assert statuses(found, "fast") == {"n20"}
    assert not statuses(found, "suspicious")
    host = next(n for n in found.strips[0].hosts if n.name == "n17")
    assert host.worse == pytest.approx(0.2, abs=0.02)
    assert host.sessions == 3


def test_one_run_is_a_suspicion_and_two_more_are_a_verdict() -> None:
    first = fleet({})
    first = [Metric(key=m.key, better=m.better, values={**m.values, "n05": (90.0,), "n06": (90.0,)}) for m in first]
    assert {"n05", "n06"} <= statuses(judge_fleet(first), "suspicious")
    assert not statuses(judge_fleet(first), "slow")

    second = [
        Metric(
            key=m.key, better=m.better,
            values={**m.values, "n05": (90.0, 90.5, 91.0), "n06": (90.0, 100.1, 99.9)},
        )
        for m in first
    ]  # fmt: skip
    found = judge_fleet(second)
    assert found.statuses["n05"] == "slow"
    assert found.statuses["n06"] == "ok"


def test_where_lower_is_better_the_high_ones_are_slow() -> None:
    values = {f"n{i}": (100.0 + i % 3,) * 3 for i in range(12)} | {"bad": (120.0,) * 3}

    found = judge_fleet([Metric(key="lat", better="lower", values=values)])

    assert found.statuses["bad"] == "broken"
    neither = judge_fleet([Metric(key="lat", better="neither", values=values)])
    assert set(neither.statuses.values()) == {"ok"}


def test_few_hosts_are_compared_with_a_baseline_only() -> None:
    values = {f"n{i}": (100.0,) * 3 for i in range(4)} | {"bad": (90.0,) * 3}
    alone = judge_fleet([Metric(key=0, better="higher", values=values)])
    beside = judge_fleet([Metric(key=0, better="higher", values=values, baseline=(100.0, 101.0, 99.5))])

    assert set(alone.statuses.values()) == {"unknown"}
    assert alone.strips[0].hosts[0].reason == "fewer than 8 hosts"
    assert statuses(beside, "slow") == {"bad"}


def test_floor_and_tolerance_hold_whatever_the_spread() -> None:
    rng = np.random.default_rng(1)
    values = {f"n{i}": tuple(100 * np.exp(rng.normal(0, 0.1, 1))) * 3 for i in range(20)} | {"x": (80.0,) * 3}

    def status(**more: float) -> tuple[str, str]:
        strip = judge_fleet([Metric(key=0, better="higher", values=values, **more)]).strips[0]
        host = strip.hosts[-1]
        return host.status, host.reason

    assert status() == ("ok", "")
    assert status(floor=85.0) == ("broken", "beyond the floor")
    assert status(floor=79.0) == ("ok", "")
    assert status(tolerance=0.05) == ("broken", "beyond the tolerance")


def test_a_floor_needs_no_other_hosts() -> None:
    found = judge_fleet([Metric(key=0, better="lower", values={"x": (9.0,) * 3}, floor=8.0)])

    assert found.statuses == {"x": "slow"}


def test_a_host_that_is_a_little_slow_in_everything() -> None:
    found = judge_fleet(fleet({"n07": 0.985}, runs=3, metrics=12))

    assert found.statuses["n07"] not in ("slow", "broken")
    assert [e.name for e in found.everywhere] == ["n07"]
    assert found.everywhere[0].worse == pytest.approx(0.015, abs=0.005)
    assert not judge_fleet(fleet({}, runs=3, metrics=12)).everywhere
    assert not judge_fleet(fleet({"n07": 0.9}, runs=3, metrics=2)).everywhere  # too few metrics to say "everywhere"


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize(("value", "status"), [(26.0, {"ok"}), (27.0, {"suspicious", "slow"})])
def test_one_step_of_the_last_digit_is_no_evidence(runs: int, value: float, status: set[str]) -> None:
    """25 and 26 may be 25.49 and 25.51; 27 is not."""
    values = {f"n{i:02}": (25.0,) * runs for i in range(40)} | {"n07": (value,) * runs}

    found = judge_fleet([Metric(key=0, better="lower", values=values, resolution=1 / 25)])

    assert found.statuses["n07"] in status
    assert {found.statuses[f"n{i:02}"] for i in range(40) if i != 7} == {"ok"}
    assert (found.strips[0].unseen or 0.0) >= 1.5 / 25


@pytest.mark.parametrize("coarse", [False, True])
def test_a_host_that_is_slow_in_some_numbers_is_not_slow_everywhere(coarse: bool) -> None:
    """7 % in 5 of 24 numbers, or 33 % in one that is a count of 2 or 3: both are 1.4 % on average, and none in most of them."""
    metrics = fleet({}, runs=3, metrics=24)
    for i, metric in enumerate(metrics[: 1 if coarse else 5]):
        slow = tuple(run * (0.66 if coarse else 0.93) for run in metric.values["n07"])
        metrics[i] = replace(metric, values={**metric.values, "n07": slow})

    assert not judge_fleet(metrics).everywhere


def test_equal_values_are_no_division_by_zero() -> None:
    same = {f"n{i}": (0.0,) for i in range(9)}

    found = judge_fleet([Metric(key=0, better="lower", values=same)])

    assert set(found.statuses.values()) == {"unknown"}
    assert found.strips[0].hosts[0].reason == "the median is 0 or below"


def test_two_stages_accuse_one_good_host_of_a_thousand() -> None:
    rng = np.random.default_rng(5)
    accused = 0
    for _ in range(10):
        truth = {f"n{i:03}": rng.normal(0, 0.012, 3) for i in range(1000)}

        def run(names: dict[str, int], truth: dict[str, np.ndarray] = truth) -> Fleet:
            values = {n: tuple(100 * np.exp(truth[n][:k])) for n, k in names.items()}
            return judge_fleet([Metric(key=0, better="higher", values=values)])

        first = run(dict.fromkeys(truth, 1))
        looks_slow = statuses(first, "suspicious")
        assert len(looks_slow) < 80
        second = run({n: 3 if n in looks_slow else 1 for n in truth})
        accused += len(statuses(second, "slow") | statuses(second, "broken"))
    assert accused <= 20


def test_a_fault_is_there_in_every_run_a_disturbance_is_not() -> None:
    (metric,) = fleet({})
    values = {**metric.values, "n05": (90.0, 90.5, 99.9), "n06": (90.0, 90.5, 91.0)}
    strip = judge_fleet([Metric(key=0, better="higher", values=values)]).strips[0]

    by_name = {host.name: host for host in strip.hosts}
    assert (by_name["n05"].status, by_name["n05"].reason) == ("suspicious", "its sessions disagree")
    assert by_name["n06"].status == "slow"


def equal(seed: int, hosts: int, *, cells: int = 12, slow: float = 0.0) -> list[Metric]:
    """Return rates and the times of the same work, of three sessions: 10 % from run to run (3 repeats), 5 % from session to
    session. `slow`: so much less has n00."""
    rng = np.random.default_rng(seed)
    session = rng.normal(1, 0.05, (1, hosts, 3))
    rates = np.median(session[..., None] * rng.normal(1, 0.1, (cells, hosts, 3, 3)), axis=-1)
    rates[:, 0] *= 1 - slow
    both: tuple[tuple[str, float], ...] = (("higher", 1.0), ("lower", -1.0))
    return [
        Metric(key=(cell, better), better=better, values={f"n{i:02}": tuple(map(float, rates[cell, i] ** power)) for i in range(hosts)})  # type: ignore[arg-type]
        for cell in range(cells)
        for better, power in both
    ]  # fmt: skip


def accused(found: Fleet) -> set[str]:
    everywhere = {e.name for e in found.everywhere if e.confirmed}
    return statuses(found, "slow") | statuses(found, "broken") | everywhere


@pytest.mark.slow
@pytest.mark.parametrize(("hosts", "fleets"), [(8, 40), (18, 20), (40, 20)])
def test_of_equal_hosts_that_scatter_none_is_accused(hosts: int, fleets: int) -> None:
    """One in 20 fleets may; by z above 3 alone it were more than half of them."""
    found = [judge_fleet(equal(seed, hosts)) for seed in range(fleets)]
    assert sum(bool(accused(one)) for one in found) <= fleets // 20
    assert sum(bool(statuses(one, "fast")) for one in found) <= fleets // 10
    assert all(strip.unseen > 0.08 for one in found for strip in one.strips if strip.unseen)


@pytest.mark.parametrize("past", [3, 6, 20])
def test_beside_a_baseline_of_such_noise_none_is_accused(past: int) -> None:
    """By the baseline's spread alone, four equal hosts were accused in 85, 55 and 11 of 100 fleets."""
    found = []
    for seed in range(20):
        old = [metric.values["n00"] for s in range(math.ceil(past / 3)) for metric in equal(1000 * seed + s, 1)]
        now = equal(seed, 4)
        baselines = [sum(old[i :: len(now)], ())[:past] for i in range(len(now))]
        found.append(judge_fleet([replace(m, baseline=b) for m, b in zip(now, baselines, strict=True)]))
    assert sum(bool(accused(one)) for one in found) <= 1


def test_a_fault_beyond_such_noise_is_found() -> None:
    assert all(accused(judge_fleet(equal(seed, 18, slow=0.4))) == {"n00"} for seed in range(10))


def test_a_rate_and_the_time_of_the_same_work_are_one_number() -> None:
    metrics = equal(1, 8)
    rates = [metric for metric in metrics if metric.better == "higher"]
    assert comparisons(metrics) == comparisons(rates)
    assert 0.7 * 8 * len(rates) < comparisons(rates) <= 8 * len(rates)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_of_two_halves_nobody_is_ok_and_it_is_known_who_is_in_which(better: Any) -> None:
    chance = np.random.default_rng(3)
    values = {f"n{i}": tuple(map(float, (80 if i % 2 else 100) * chance.normal(1, 0.01, 3))) for i in range(9)}
    found = judge_fleet([Metric(key=0, better=better, values=values)])
    odd = tuple(n for n in values if int(n[1]) % 2)
    assert found.strips[0].worse_half == (odd if better == "higher" else tuple(n for n in values if n not in odd))
    assert set(found.statuses.values()) == {"unknown"}
    three = {n: v for n, v in values.items() if n not in ("n1", "n3")}
    spread = {f"m{i}": (100.0 + i,) * 3 for i in range(3)}
    (strip,) = judge_fleet([Metric(key=0, better=better, values=three | spread)]).strips
    assert strip.worse_half == ()  # 2 of 10: these are slow, or fast


@pytest.mark.parametrize("hosts", [8, 18])
@pytest.mark.slow
def test_of_hosts_as_much_worse_as_may_go_unseen_three_in_four_are_seen(hosts: int) -> None:
    """In fleets with 54 numbers, of which chance may accuse more than of those with one: of 8 hosts at 4.5 spreads 53 to 59 in 100 were."""
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(6):
        values = np.exp(
            np.median(rng.normal(0, 0.03, (54, hosts, 3, 5)), axis=-1) + rng.normal(0, 0.02, (54, hosts, 3))
        )
        for _ in range(3):  # each number has a host that is so much worse as is said of it with that host
            metrics = [
                Metric(key=i, better="lower", values={str(n): tuple(own) for n, own in enumerate(row.tolist())})
                for i, row in enumerate(values)
            ]
            found = judge_fleet(metrics).strips
            for i, strip in enumerate(found):
                assert strip.unseen
                assert strip.middle
                values[i, 0] *= (1 + strip.unseen) * strip.middle / np.median(values[i, 0])
        judged = judge_fleet(metrics)
        seen += [strip.hosts[0].status in ("suspicious", "slow", "broken") for strip in judged.strips]
    assert 0.65 < sum(seen) / len(seen) < 0.9


@pytest.mark.parametrize(
    ("noise", "worse", "reason"),
    [(0.04, 0.04, "by the threshold alone"), (0.004, 0.02, "by the spread alone"), (0.004, 0.04, "")],
)
def test_a_suspicion_says_by_which_rule(noise: float, worse: float, reason: str) -> None:
    """ "suspicious" stood beside z 0.84, and beside 1.9 % where the threshold is 3 %, and nothing said why."""
    rates = {f"n{i}": [100 * (1 + noise * (i - 10) / 10)] for i in range(21)} | {"odd": [100 * (1 - worse)]}
    (strip,) = judge_fleet([Metric(key=1, better="higher", values=rates)]).strips

    (odd,) = [host for host in strip.hosts if host.name == "odd"]
    assert (odd.status, odd.reason) == ("suspicious", reason)


@pytest.mark.parametrize(("hosts", "noise"), [(12, 0.02), (40, 0.01), (40, 0.05)])
def test_as_many_are_suspicious_of_equal_hosts_as_chance_is_said_to_make(hosts: int, noise: float) -> None:
    rng = np.random.default_rng(5)
    metrics = [
        Metric(key=key, better="lower", values={f"n{i}": tuple(100 * np.exp(rng.normal(0, noise, runs))) for i in range(hosts)})
        for runs in (1, 2) for key in range(60)
    ]  # fmt: skip
    strips = judge_fleet(metrics).strips

    found = sum(host.status == "suspicious" for strip in strips for host in strip.hosts)
    expected = sum(strip.by_chance for strip in strips)
    assert found == pytest.approx(expected, abs=4 * math.sqrt(expected))
