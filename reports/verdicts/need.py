"""What it would take to decide an inconclusive cell, in numbers and in a sentence. Pure, and without numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from reports.verdicts.model import LEAST_SESSIONS, STEPS, Advice, Sample

POWER = 2.8
"""z(.975) + z(.80): a change of δ is found in 80 % of the cases where the standard error is δ through this."""

TOO_MANY = 1000
"""More repeats than anybody makes: the sentence says so instead of the number."""


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
    if math.isnan(shift) and sample.level:
        return Need(advice=Advice("is a level (dB, °C), of which no change is a share", brief="a level"))
    if math.isnan(shift):
        return Need(
            advice=Advice("has values of 0 or below, of which no change is a share", brief="0 or below")
        )
    if test is None:
        return Need(repeats=least, advice=Advice("a single run on a side: needs {} repeats a side", (least,)))
    if sample.unsure:
        sides = " and ".join(sample.unsure)
        which, each = (sides, "") if len(sample.unsure) == 1 else ("both", " a side")
        return Need(
            advice=Advice(
                f"every run of {sides} was disturbed: measure {which} on a quiet machine, or in {{}} sessions{each}",
                (LEAST_SESSIONS,),
            )
        )
    if sample.resolution + abs(shift) >= delta and STEPS * sample.resolution > max(delta, abs(shift)):
        return Need(
            advice=Advice(
                "its values come in steps of {} %, which are printed digits or ticks of a clock",
                (float(f"{100 * sample.resolution:.3g}"),),
                "steps of {} %",
            )
        )
    if sample.better == "neither" and (test.q < alpha or abs(shift) >= delta):
        word = "changed" if test.q < alpha else "may have changed"
        return Need(advice=Advice(f"it {word}; for this metric neither direction is better"))
    if test.q < alpha and abs(shift) < delta:
        return Need(
            advice=Advice(
                f"a change, perhaps smaller than the {_percent(math.expm1(delta))} that count",
                brief="a small change, perhaps",
            )
        )
    return _more(sample, shift, test, delta, tau)


def _more(sample: Sample, shift: float, test: Test, delta: float, tau: float) -> Need:
    """More runs where they help; more sessions where the noise between them alone hides what is sought: a change of δ, or the larger
    one that it looks like."""
    sought = max(delta, abs(shift))
    if_so = ", if the change is as large as it looks" if sought > delta else ""
    now = min(len(sample.a), len(sample.b))
    allowed = (sought / POWER) ** 2
    found = test.of_sessions < allowed and _repeats(test, allowed) <= now
    if found:  # it would be, and is not: only a narrower interval decides, about 0 or, of what is less than δ, about δ
        allowed = (abs(shift) / 4 if if_so else (delta - abs(shift)) / 2) ** 2
    close = found and not if_so
    if test.of_sessions >= allowed > 0:
        sessions = math.ceil(2 * tau**2 / allowed) + 1
        repeats = math.ceil(2 * test.sd**2 / (allowed - 2 * tau**2 / sessions))
        each = math.ceil(repeats / sessions)
        close = close and max(sessions, each) > 10
        if repeats > TOO_MANY and not close:
            return _too_noisy(repeats, delta, sessions)
        if not close and each <= now:
            advice = Advice(
                f"more sessions, not more repeats: {{}} a side{if_so}", (sessions,), "needs {} sessions"
            )
            return Need(sessions=sessions, advice=advice)
        if not close:
            advice = Advice(
                f"more sessions, and more repeats: {{}} a side, of {{}} each{if_so}",
                (sessions, each),
                "needs {} sessions of {} repeats",
            )
            return Need(repeats=repeats, sessions=sessions, advice=advice)
    elif allowed > 0:
        repeats = max(now + 1, _repeats(test, allowed))
        close = close and repeats > max(10, 4 * now)
        if repeats > TOO_MANY and not close:
            return _too_noisy(repeats, delta)
        if not close:
            return Need(
                repeats=repeats,
                advice=Advice(f"needs {{}} repeats a side{if_so}", (repeats,), "needs {} repeats"),
            )
    return Need(
        advice=Advice(
            f"too close to the threshold of {_percent(math.expm1(delta))} to call", brief="too close to call"
        )
    )


def _repeats(test: Test, allowed: float) -> int:
    """Return how many repeats a side bring the variance of the shift down to what is allowed. That of sessions is less."""
    return math.ceil(2 * test.sd**2 / (allowed - test.of_sessions))


def _too_noisy(repeats: int, delta: float, sessions: int | None = None) -> Need:
    advice = Advice(
        f"too noisy: finding {_percent(math.expm1(delta))} takes more than {{}} repeats a side",
        (TOO_MANY,),
        "too noisy",
    )
    return Need(repeats=repeats, sessions=sessions, advice=advice)


def _percent(share: float) -> str:
    """`_percent(0.03)` is "3 %", as it was typed: this is a limit, not a measurement of two digits."""
    return f"{100 * share:.3g} %"
