"""The resolution of a clock, estimated from measured times. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from reports.numbers.formulas import Bucket


def step(buckets: Sequence[Bucket], least: float) -> float:
    """Return the step (ns) of a clock. Two different readings differ by at least `least` (ns).

    A counter with a step of 10 ns gives 20.0, 29.9, 30.3 and 40.1 ns, and a smallest difference of 0.4 ns.

    Values within such jitter are grouped. The step is returned if three or more groups, from the smallest on, are at
    multiples of the smallest distance. Each group needs ten samples and at most a quarter of the step as width.
    Otherwise the result is `least`.
    """
    ordered = sorted(b for b in buckets if b.n)
    ends = [i for i, (a, b) in enumerate(itertools.pairwise(ordered), 1) if b.low - a.high > 2.5 * least]
    values = [ordered[a:b] for a, b in itertools.pairwise([0, *ends, len(ordered)])]
    if len(values) < 3:
        return least
    min_gap = min(b[0].low - a[-1].low for a, b in itertools.pairwise(values))

    def stands(group: Sequence[Bucket]) -> bool:
        return group[-1].high - group[0].low <= min_gap / 4 and sum(b.n for b in group) >= 10

    multiples = [group[0].low for group in itertools.takewhile(stands, values)]
    steps = [(b - a) / min_gap for a, b in itertools.pairwise(multiples)]
    if len(multiples) < 3 or any(abs(n - round(n)) > 0.2 for n in steps):
        return least
    return (multiples[-1] - multiples[0]) / sum(map(round, steps))
