"""Advise how to decide an inconclusive cell, in numbers and as a sentence. Pure, and without numpy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from reports.verdicts.model import LEAST_SESSIONS, STEPS, Sample

POWER = 2.8
"""z(.975) + z(.80): a change of δ is found in 80 % of the cases where the standard error is δ through this."""

TOO_MANY = 1000
"""Maximum of repeats in an advice. For more, the advice has no number."""


class Test(Protocol):
    """The test result of a cell (see `reports.verdicts.decide`)."""

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
    advice: str | None = None


NOTHING = Need()


def advise(
    sample: Sample, shift: float, test: Test | None, *, alpha: float, delta: float, tau: float, least: int
) -> Need:
    """Return the advice for an inconclusive cell.

    `shift` is NaN without logs. `least` is the lowest number of repeats per side that can decide in this sweep.
    """
    if not sample.a or not sample.b:
        return Need(advice=f"no good run on side {'A' if not sample.a else 'B'}")
    if math.isnan(shift):
        return Need(advice="a level (dB, °C): no change is a share of it" if sample.level else "0 or below")
    if test is None:
        return Need(repeats=least, advice=f"needs {least} repeats per side")
    if sample.unsure:
        return Need(advice=f"needs quiet runs, or {LEAST_SESSIONS} sessions")
    if sample.resolution + abs(shift) >= delta and STEPS * sample.resolution > max(delta, abs(shift)):
        return Need(advice=f"printed in steps of {_percent(sample.resolution)}")
    if sample.better == "neither" and (test.q < alpha or abs(shift) >= delta):
        return Need(advice=f"{'changed' if test.q < alpha else 'may have changed'}; neither direction is better")
    if test.q < alpha and abs(shift) < delta:
        return Need(advice=f"a change, perhaps smaller than {_percent(math.expm1(delta))}")
    return _more(sample, shift, test, delta, tau)


def _more(sample: Sample, shift: float, test: Test, delta: float, tau: float) -> Need:
    """Return the advice for more runs, or more sessions if the noise between sessions alone hides a change of δ.

    A larger observed change replaces δ.
    """
    sought = max(delta, abs(shift))
    now = min(len(sample.a), len(sample.b))
    allowed = (sought / POWER) ** 2
    is_close = test.of_sessions < allowed and _repeats(test, allowed) <= now
    if (
        is_close
    ):  # it would be decided, and is not: only a narrower interval decides, about 0 or, if less than δ, about δ
        allowed = (abs(shift) / 4 if sought > delta else (delta - abs(shift)) / 2) ** 2
    is_close = is_close and sought <= delta
    too_close = Need(advice=f"too close to the threshold of {_percent(math.expm1(delta))}")
    if allowed <= 0:
        return too_close
    sessions = None
    if test.of_sessions >= allowed:
        sessions = math.ceil(2 * tau**2 / allowed) + 1
        repeats = math.ceil(2 * test.sd**2 / (allowed - 2 * tau**2 / sessions))
        each = math.ceil(repeats / sessions)
        is_close = is_close and max(sessions, each) > 10
        text = f"needs {sessions} sessions" + (f" of {each} repeats" if each > now else "")
    else:
        repeats = each = max(now + 1, _repeats(test, allowed))
        is_close = is_close and repeats > max(10, 4 * now)
        text = f"needs {repeats} repeats"
    if is_close:
        return too_close
    if repeats > TOO_MANY:
        text = f"too noisy: {_percent(math.expm1(delta))} needs over {TOO_MANY} repeats"
        return Need(repeats=repeats, sessions=sessions, advice=text)
    return Need(repeats=repeats if each > now else None, sessions=sessions, advice=f"{text} per side")


def _repeats(test: Test, allowed: float) -> int:
    """Return the repeats per side that reduce the variance of the shift to the allowed value, above the sessions'
    variance.
    """
    return math.ceil(2 * test.sd**2 / (allowed - test.of_sessions))


def _percent(share: float) -> str:
    """Return "3 %" for 0.03, as typed, because a limit is not a measurement with two digits."""
    return f"{100 * share:.3g} %"
