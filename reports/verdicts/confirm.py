"""Decide in two stages: cells that look changed are measured again, and only the fresh runs decide. Pure.

`orchestrator.run.rerun` measures. The first stage may be generous, because the fresh runs do not share the chance that
made a cell look changed. No other rule finds as many changes per minute of machine time (measurement guide, sections 0
and 2).
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Collection, Hashable, Sequence

from reports.results.grouping import group_by
from reports.verdicts.decide import judge
from reports.verdicts.estimate import TAU_ASSUMED
from reports.verdicts.model import VERDICTS, Decision, Family, Rules, Sample

SCREEN = 2 / 3
"""Minimum share of the threshold to measure a cell again: 2 % of 3 %."""

REPEATS = 5
"""Minimum of fresh runs per side."""


def fresh_repeats(decision: Decision) -> int:
    """Return the number of fresh runs per side for a cell: the number of the first stage, and at least five.

    A user with ten runs needs ten: if a disturbance slows 5 % of the runs, five fresh runs confirm 9 of 15 changes of 5
    %, and ten fresh runs confirm 13.
    """
    return max(REPEATS, decision.n_a, decision.n_b)


def screen(families: Sequence[Family]) -> tuple[Decision, ...]:
    """Return the cells to measure again: the shift, in either direction, is at least two thirds of the threshold.

    Cells that are "same", and cells without a ratio, are left out. Cells with a single run are included.
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
    asked: Collection[Hashable] | None = None,
) -> tuple[Family, ...]:
    """Return the families of the first stage with the verdicts of the fresh runs.

    `fresh` has the keys and families of the first stage. `asked` has the keys to measure again (default: the result of
    `screen`). A key without fresh runs becomes inconclusive. The other cells keep the first verdict, because these
    cells cannot have regressed or improved.

    If both sides were measured again, in turns, the screening does not bias the verdict. If only B was measured again,
    A's runs selected the cell. Every cell of the sweep then counts as a test, and the session noise comes from the
    first stage, because the selected cells are not typical. The sweep's estimate of the variance is kept.
    """
    rules = rules or Rules()
    by_family = group_by(fresh, lambda sample: sample.family)
    wanted = {d.key for d in screen(first)} if asked is None else set(asked)
    return tuple(_settled(family, by_family.get(family.name, []), rules, wanted) for family in first)


def _settled(first: Family, fresh: Sequence[Sample], rules: Rules, wanted: set[Hashable]) -> Family:
    rules = dataclasses.replace(rules, prior=rules.prior or first.prior)
    if not all(sample.interleaved for sample in fresh):
        tested = sum(d.p is not None for d in first.decisions)
        known = first.tau > 0 and first.tau_source != "interleaved"
        rules = dataclasses.replace(
            rules,
            among=tested,
            tau=rules.tau if rules.tau is not None else first.tau if known else TAU_ASSUMED,
            tau_source=rules.tau_source if rules.tau is not None else first.tau_source if known else "assumed",
        )
    judged = judge(fresh, rules)
    now = {d.key: d for family in judged for d in family.decisions}
    decisions = tuple(now.get(d.key) or (_unconfirmed(d) if d.key in wanted else d) for d in first.decisions)
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
        advice="not measured again",
    )
