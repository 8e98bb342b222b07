"""Two stages: what looks changed is measured again, and only the fresh runs decide. Pure; `orchestrator.rerun` measures.

The first stage may be generous, since nothing rests on it: the luck that made a cell look changed is not in the fresh
runs. Per minute of machine time no other rule finds as much (measurement guide, sections 0 and 2).
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence

from reports.verdicts.decide import judge
from reports.verdicts.model import VERDICTS, Decision, Family, Rules, Sample

SCREEN = 2 / 3
"""A cell is measured again from this share of its threshold on: 2 % of 3 %."""

REPEATS = 5
"""Fresh runs a side, at least."""


def fresh_repeats(decision: Decision) -> int:
    """Return how many fresh runs a side a cell gets: as many as decided the first time, and at least five.

    Who made ten needed them: with 5 % of the runs slowed by something, five fresh ones find 9 of 15 changes of 5 % that ten found 13 of.
    """
    return max(REPEATS, decision.n_a, decision.n_b)


def screen(families: Sequence[Family]) -> tuple[Decision, ...]:
    """Return the cells to measure again: those whose shift, to either side, is two thirds of the threshold or more.

    Not those that are "same" already, nor those without a ratio. Cells with a single run are among them.
    """
    return tuple(
        d
        for family in families
        for d in family.decisions
        if d.shift is not None and d.verdict != "same" and abs(d.shift) >= math.log1p(SCREEN * d.threshold)
    )


def settle(
    first: Sequence[Family],
    fresh: Sequence[Sample],
    rules: Rules | None = None,
    *,
    again: Collection[Hashable] | None = None,
) -> tuple[Family, ...]:
    """Return the families of the first stage with the verdicts that the fresh runs give.

    `fresh` has the keys and families of the first stage; `again`: the keys that were to be measured again (the screened ones if
    not given). What could not be measured again is inconclusive whatever it was. Cells that were not screened cannot have
    regressed or improved, and keep their word. What the whole sweep said of the variance of a cell is kept for the few
    that are left.
    """
    rules = rules or Rules()
    by_family: dict[str, list[Sample]] = {}
    for sample in fresh:
        by_family.setdefault(sample.family, []).append(sample)
    asked = {d.key for d in screen(first)} if again is None else set(again)
    return tuple(_settled(family, by_family.get(family.name, []), rules, asked) for family in first)


def _settled(first: Family, fresh: Sequence[Sample], rules: Rules, asked: set[Hashable]) -> Family:
    judged = judge(fresh, dataclasses.replace(rules, prior=rules.prior or first.prior))
    now = {d.key: d for family in judged for d in family.decisions}
    decisions = tuple(now.get(d.key) or (_unconfirmed(d) if d.key in asked else d) for d in first.decisions)
    counted = Counter(d.verdict for d in decisions)
    noise = judged[0] if judged else first
    return dataclasses.replace(
        first,
        decisions=decisions,
        counts={verdict: counted[verdict] for verdict in VERDICTS},
        tau=noise.tau,
        tau_source=noise.tau_source,
    )


def _unconfirmed(decision: Decision) -> Decision:
    return dataclasses.replace(
        decision,
        verdict="inconclusive",
        need_repeats=None,
        need_sessions=None,
        advice="it looked changed and could not be measured again",
    )
