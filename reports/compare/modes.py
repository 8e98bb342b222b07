"""Modes of latency distributions whose share moved, whatever the median does. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from reports.compare.sides import Side
from reports.numbers import Name
from reports.numbers.model import Buckets
from reports.results.grouping import group_by
from reports.verdicts import distribution

MODES: Final = ("sweep", "cell", "number", "at", "share_a", "share_b", "by_chance", "disturbed")
"""at: ns. by_chance: so few runs that chance may do as much. disturbed: the sides whose every run was disturbed, "A,
B"."""

_SINGLE_MODE: Final = 0.95
"""A side with so large a share in one mode has one mode; if both have, the quantiles are enough."""


def mode_shifts(pairs: Mapping[int, Mapping[str, Any]], sides: tuple[Side, Side]) -> Iterator[tuple[Any, ...]]:
    """Yield a row of `MODES` per mode whose share moved by five points, by more than an exchange of runs between the
    sides explains.

    pairs: rows of `Comparison.pairs`. p is at most 5 %, or the lowest that so few runs can give.
    """
    names: dict[Hashable, tuple[Mapping[str, Any], Name]] = {}

    def shapes() -> Iterator[distribution.Shapes]:
        for pair in pairs.values():
            left, right = (_by_name(side, runs) for side, runs in zip(sides, pair["runs"], strict=True))
            for name in filter(right.__contains__, left):
                names[len(names)] = pair, name
                yield distribution.Shapes(key=len(names) - 1, a=left[name], b=right[name])

    for shape in distribution.judge_shapes(shapes()):
        single = all(max(shares) >= _SINGLE_MODE for shares in zip(*((m.a, m.b) for m in shape.modes), strict=True))
        if single or distribution.by_chance(shape.p, shape.least_p):
            continue
        pair, name = names[shape.key]
        disturbed = ", ".join(
            side.name
            for side, runs in zip(sides, pair["runs"], strict=True)
            if (side.runs.loc[runs, "disturbance"] != "").all()
        )
        weak = shape.q is None or shape.q > 0.05
        for mode in filter(lambda mode: mode.shifted, shape.modes):
            yield pair["sweep"], pair["cell"], name.title, mode.at, mode.a, mode.b, weak, disturbed


def _by_name(side: Side, runs: Sequence[int]) -> dict[Name, tuple[Buckets, ...]]:
    every = group_by((pair for run in runs for pair in side.measured.histograms(run)), lambda pair: pair[0])
    return {name: tuple(buckets for _, buckets in pairs) for name, pairs in every.items()}
