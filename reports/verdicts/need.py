"""What it would take to decide an inconclusive cell, in numbers and in a sentence. Pure, and without numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from reports.verdicts.model import Advice, Sample

POWER = 2.8
"""z(.975) + z(.80): a change of δ is found in 80 % of the cases where the standard error is δ through this."""

TOO_MANY = 1000
"""More repeats than anybody makes: the sentence says so instead of the number."""

_TOO_NOISY = Advice("too noisy: needs more than {} repeats a side", (TOO_MANY,))


class Test(Protocol):
    """What the test of a cell came to; see `reports.verdicts.decide`."""

    @property
    def q(self) -> float: ...
    @property
    def sd(self) -> float: ...
    @property
    def of_sessions(self) -> float: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    repeats: int | None = None  # a side, in all
    sessions: int | None = None
    advice: Advice | None = None


NOTHING = Need()


def advise(
    sample: Sample, shift: float, test: Test | None, *, alpha: float, delta: float, tau: float, least: int
) -> Need:
    """Say what an inconclusive cell needs.

    `shift`: NaN where there are no logs. `least`: repeats a side below which nothing can be said in this sweep.
    """
    if not sample.a or not sample.b:
        return Need(advice=Advice(f"no good run on side {'A' if not sample.a else 'B'}"))
    if math.isnan(shift):
        return Need(advice=Advice("holds values of 0 or below, which have no ratio"))
    if test is None:
        return Need(repeats=least, advice=Advice("a single run on a side: needs {} repeats a side", (least,)))
    if sample.resolution + abs(shift) >= delta and 1.5 * sample.resolution > max(delta, abs(shift)):
        return Need(advice=Advice(f"the tool prints too few digits: a step is {_percent(sample.resolution)}"))
    if test.q < alpha and sample.better == "neither":
        return Need(advice=Advice("it changed; for this metric neither direction is better"))
    if test.q < alpha and abs(shift) < delta:
        return Need(advice=Advice(f"a change, but smaller than the {_percent(math.expm1(delta))} that count"))
    return _more(sample, shift, test, delta, tau)


def _more(sample: Sample, shift: float, test: Test, delta: float, tau: float) -> Need:
    """More runs where they help; more sessions where the noise between them alone hides a change of δ."""
    allowed = (delta / POWER) ** 2
    if test.of_sessions >= allowed:
        sessions = math.ceil(2 * tau**2 / allowed) + 1
        repeats = math.ceil(2 * test.sd**2 / (allowed - 2 * tau**2 / sessions))
        each = math.ceil(repeats / sessions)
        if repeats > TOO_MANY:
            return Need(repeats=repeats, sessions=sessions, advice=_TOO_NOISY)
        if each <= min(len(sample.a), len(sample.b)):
            return Need(
                sessions=sessions, advice=Advice("more sessions, not more repeats: {} a side", (sessions,))
            )
        advice = Advice("more sessions, and more repeats: {} a side, of {} each", (sessions, each))
        return Need(repeats=repeats, sessions=sessions, advice=advice)
    repeats = math.ceil(2 * test.sd**2 / (allowed - test.of_sessions))
    now = min(len(sample.a), len(sample.b))
    if (
        repeats <= now
    ):  # a change of δ would be found: this one lies so close to δ that only a narrower interval decides
        room = (abs(delta - abs(shift)) / 2) ** 2 - test.of_sessions
        if room <= 0 or (repeats := math.ceil(2 * test.sd**2 / room)) > max(10, 4 * now):
            return Need(advice=Advice(f"too close to the threshold of {_percent(math.expm1(delta))} to call"))
        repeats = max(repeats, now + 1)
    if repeats > TOO_MANY:
        return Need(repeats=repeats, advice=_TOO_NOISY)
    return Need(repeats=repeats, advice=Advice("needs {} repeats a side", (repeats,)))


def _percent(share: float) -> str:
    """`_percent(0.03)` is "3 %", as it was typed: this is a limit, not a measurement of two digits."""
    return f"{100 * share:.3g} %"
