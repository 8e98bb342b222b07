"""Define the input and output of the statistics as frozen values. Logs are natural logs, and a shift is a log ratio.

A *run* is one started process, the unit of evidence within a session. A *session* is one `pinsweep run` on a host, the
unit of evidence across days and machines.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from parsers.measurement import Direction

Verdict = Literal["regressed", "improved", "same", "inconclusive"]
VERDICTS: tuple[Verdict, ...] = ("regressed", "improved", "same", "inconclusive")

LEAST_SESSIONS = 5
"""From so many sessions of one side on, their own spread says what session noise is; that of fewer only how much it is
at least."""

STEPS = 1.5
"""Of a last printed digit, what it takes to be a change: 25 and 26 may be 25.49 and 25.51."""


def relative(value: float, of: float) -> float:
    """Return the relative difference from another value above 0: ratio - 1."""
    return (value - of) / of


def base(value: float | None) -> float | None:
    """Return the reference for relative changes of a value: the value if above 0, else None.

    A change from 0 has no share. A negative value has another zero point, so -24 dB is not 20 % less than -20 dB.
    """
    return value if value is not None and value > 0 else None


Method = Literal["t", "moderated t", "mann-whitney", "none"]
"""The method for p. "none": no test (a single run on a side, zeros, no runs)."""

TauSource = Literal["interleaved", "given", "sessions", "auto", "assumed"]
"""Where the session noise comes from: both sides in one session, in turns (0); the caller; ≥ 5 sessions of a side, or
fewer that scatter by more than the next two say; the sweep's own shifts; 1 %, since there was nothing to learn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One cell measured on both sides.

    Values are per run, in base units, one number per run (median, best rate or quantile), in any order.
    """

    key: Hashable  # the caller's key of the cell, returned in the Decision
    family: str  # benchmark kind and metric. False discoveries are controlled over a family
    a: tuple[float, ...]  # the baseline's runs
    b: tuple[float, ...]  # the candidate's runs
    better: Direction
    session_a: tuple[Hashable, ...] = ()  # the session of each run of `a`; empty: all from one
    session_b: tuple[Hashable, ...] = ()
    # size of the last printed digit, or of a histogram's bin, through the value; 0: fine
    resolution: float = 0.0
    level: bool = False  # of a unit whose 0 is a convention (dB, °C): no change is a share of it
    interleaved: bool = False  # A and B took turns in each session: there is no session noise between them
    disturbed: tuple[Literal["A", "B"], ...] = ()  # sides with a disturbance in every run

    @property
    def unsure(self) -> tuple[Literal["A", "B"], ...]:
        """The sides whose disturbances cannot be separated from the machine.

        Sides that took turns share a disturbance. Enough sessions of a side show the effect of a disturbance.
        """
        sessions = {"A": self.session_a, "B": self.session_b}
        return () if self.interleaved else tuple(s for s in self.disturbed if len({*sessions[s]}) < LEAST_SESSIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The prior of a sweep for the variance of a cell (Smyth 2004), worth `d0` further degrees of freedom."""

    d0: float  # > 0; may be inf: all cells have the same variance
    s0: float  # sd of the logs of a typical cell


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The definition of a change."""

    threshold: float = 0.03  # relative; smaller changes are ignored
    thresholds: Mapping[str, float] = field(default_factory=dict)  # family → its own threshold
    alpha: float = 0.05  # share of false entries among the changed cells; level of "same"
    tau: float | None = None  # sd of the logs from session to session; None: learned from the samples
    tau_source: TauSource = "given"  # source of `tau`
    prior: Prior | None = None  # variance learned elsewhere (a screening); None: learned from the samples
    # the samples were picked, by their numbers, among so many of the family: each counts as a test
    among: int = 0

    def threshold_of(self, family: str) -> float:
        return self.thresholds.get(family, self.threshold)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on one cell with all inputs of the decision.

    `advice` is the way to a decision ("needs 7 repeats a side"), or the reason why there is no way. None for a
    conclusive verdict.
    """

    key: Hashable
    family: str
    verdict: Verdict
    ratio: float | None  # b / a, Hodges-Lehmann; None: there are no logs to take, or no runs
    low: float | None  # 95 % interval of the ratio; None: no test
    high: float | None
    shift: float | None  # log of the ratio, its sign turned so that above 0 is worse
    p: float | None  # two-sided; None: no test
    q: float | None  # Benjamini-Hochberg over the family
    n_a: int  # runs
    n_b: int
    k_a: int  # sessions
    k_b: int
    sd: float | None  # of the logs of the runs, as tested (moderated, at least the resolution's)
    df: float | None
    tau: float
    threshold: float  # relative
    resolution: float
    method: Method
    # sides with a disturbance in every run, so that the verdict is not firm
    unsure: tuple[Literal["A", "B"], ...] = ()
    need_repeats: int | None = None  # a side, in all
    need_sessions: int | None = None  # a side, in all
    advice: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All cells of one benchmark and metric. `decisions` has the order of the samples."""

    name: str
    decisions: tuple[Decision, ...]
    counts: Mapping[Verdict, int]  # all four words, in the order of VERDICTS
    median_ratio: float | None  # b / a over all cells: a machine slower everywhere shows here first
    prior: Prior | None  # None: too few cells to learn from, each has its own variance
    tau: float
    tau_source: TauSource
