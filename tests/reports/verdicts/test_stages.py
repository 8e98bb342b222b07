"""Measuring again, and the self-check: what is built on verdicts."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from reports.verdicts.aa import self_check
from reports.verdicts.confirm import screen, settle
from reports.verdicts.decide import judge
from reports.verdicts.model import Sample


def cells(seed: int, shifts: list[float], n: int, sd: float = 0.01) -> list[Sample]:
    rng = np.random.default_rng(seed)
    return [
        Sample(
            key=i, family="f", better="lower", interleaved=True,
            a=tuple(np.exp(rng.normal(0, sd, n))), b=tuple(np.exp(rng.normal(h, sd, n))),
        )
        for i, h in enumerate(shifts)
    ]  # fmt: skip


SHIFTS = [0.05] * 5 + [-0.05] * 2 + [0.0] * 93


def test_two_thirds_of_the_threshold_to_either_side_are_screened() -> None:
    first = judge(cells(1, SHIFTS, 3))

    keys = {d.key for d in screen(first)}

    assert set(range(7)) <= keys
    assert len(keys) < 20
    assert all(abs(d.shift or 0) >= math.log(1.02) for d in screen(first))


def test_single_runs_are_screened_and_zeros_are_not() -> None:
    single = Sample(key="one", family="f", a=(1.0,), b=(1.1,), better="lower")
    zero = Sample(key="zero", family="f", a=(0.0,), b=(1.1,), better="lower")

    assert [d.key for d in screen(judge([single, zero]))] == ["one"]


def test_fresh_runs_alone_decide() -> None:
    first = judge(cells(1, SHIFTS, 3))
    screened = {d.key for d in screen(first)}
    truth = [0.05, 0.05, 0.0, 0.0, 0.0, -0.05, 0.0] + [0.0] * 93  # three of the five were luck
    fresh = [s for s in cells(2, truth, 5) if s.key in screened]

    (settled,) = settle(first, fresh)

    words = {d.key: d.verdict for d in settled.decisions}
    assert [k for k, word in words.items() if word == "regressed"] == [0, 1]
    assert [k for k, word in words.items() if word == "improved"] == [5]
    untouched = [d for d in first[0].decisions if d.key not in screened]
    assert [d for d in settled.decisions if d.key not in screened] == untouched
    assert sum(settled.counts.values()) == 100
    again = next(d for d in settled.decisions if d.key == 0)
    assert (again.n_a, again.n_b, again.method) == (5, 5, "moderated t")  # the whole sweep's variance is kept


def test_where_only_b_is_fresh_every_cell_of_the_sweep_counts_as_a_test() -> None:
    """A's luck made the cell look changed and is still there: the verdict has to stand against all 100."""
    apart = [dataclasses.replace(s, interleaved=False) for s in cells(1, SHIFTS, 3)]
    first = judge(apart)
    screened = {d.key for d in screen(first)}
    later = {s.key: s.b for s in cells(2, SHIFTS, 5)}
    fresh = [dataclasses.replace(s, b=later[s.key]) for s in apart if s.key in screened]

    (settled,) = settle(first, fresh)

    again = [d for d in settled.decisions if d.key in screened]
    lowest = min(again, key=lambda d: d.p if d.p is not None else 1.0)
    assert lowest.p is not None
    assert lowest.q is not None
    assert lowest.q > 10 * lowest.p
    assert settled.tau == first[0].tau > 0
    in_turns = settle(first, [dataclasses.replace(s, interleaved=True) for s in fresh])[0]
    assert in_turns.tau == 0
    assert in_turns.counts["regressed"] >= settled.counts["regressed"]


def test_what_could_not_be_measured_again_is_open() -> None:
    first = judge(cells(1, SHIFTS, 3))

    (settled,) = settle(first, [])

    assert settled.counts["regressed"] == settled.counts["improved"] == 0
    looked = settled.decisions[0]
    assert (looked.verdict, looked.advice) == ("inconclusive", "not measured again")


def test_fresh_runs_of_no_family_change_nothing() -> None:
    assert settle([], cells(1, [0.0], 3)) == ()


def sessions(sample: Sample, n: int) -> Sample:
    return dataclasses.replace(sample, session_a=tuple(i % n for i in range(len(sample.a))), interleaved=False)


def test_an_unchanged_baseline_raises_hardly_an_alarm() -> None:
    found = self_check(cells(1, [0.0] * 100, 10))

    assert (found.by, found.splits, found.judged) == ("runs", 20, 2000)
    assert found.rate == pytest.approx(0, abs=0.002)
    assert self_check(cells(1, [0.0] * 100, 10)) == found


def test_four_sessions_are_split_as_sessions() -> None:
    found = self_check([sessions(s, 4) for s in cells(1, [0.0] * 30, 12)])

    assert (found.by, found.judged) == ("sessions", 600)


def test_noise_that_the_rules_do_not_expect_raises_alarms() -> None:
    """Two kinds of run, three and three, far apart: a split by chance into the kinds looks like a change."""
    kinds = Sample(key="bimodal", family="f", a=(1.0, 1.001, 1.002, 2.0, 2.001, 2.002), b=(), better="lower")
    found = self_check([kinds], splits=200)

    assert found.rate is not None
    assert found.rate > 0.02
    assert found.cells[0][0] == "bimodal"
    assert found.alarmed_splits == found.alarms


def test_too_few_runs_to_split_are_said_to_be() -> None:
    found = self_check(cells(1, [0.0], 3))

    assert found.rate is None
    assert found.text == "self-check: needs 4 sessions, or 4 runs of a cell, to be split in two"


def test_the_line_for_people() -> None:
    assert self_check(cells(1, [0.0] * 10, 6)).text == (
        "self-check: 0 false alarms in 200 verdicts (0 %), over 20 random splits of side A by runs; 0 had one or more"
    )
