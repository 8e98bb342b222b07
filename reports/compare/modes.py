"""Modes of latency distributions whose share moved, whatever the median does. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from reports import numbers
from reports.compare.sides import Side
from reports.numbers import Name
from reports.numbers.formulas import Bucket
from reports.results.grouping import group_by
from reports.verdicts import distribution

MODES: Final = ("sweep", "cell", "number", "at", "share_a", "share_b", "by_chance", "disturbed")
"""at: ns. by_chance: so few runs that chance may do as much. disturbed: the sides whose every run was disturbed, "A, B"."""

_SINGLE_MODE: Final = 0.95
"""A side with so large a share in one mode has one mode; if both have, the quantiles are enough."""


def mode_shifts(pairs: Mapping[int, Mapping[str, Any]], a: Side, b: Side) -> Iterator[tuple[Any, ...]]:
    """Yield a row of `MODES` per mode whose share moved by five points, by more than an exchange of runs between the sides explains.

    pairs: rows of `Comparison.pairs`. p is at most 5 %, or the lowest that so few runs can give.
    """
    names: dict[Hashable, tuple[Mapping[str, Any], Name]] = {}

    def shapes() -> Iterator[distribution.Shapes]:
        for pair in pairs.values():
            left, right = _by_name(a, pair["runs_a"]), _by_name(b, pair["runs_b"])
            for name in filter(right.__contains__, left):
                names[len(names)] = pair, name
                yield distribution.Shapes(key=len(names) - 1, a=left[name], b=right[name])

    for shape in distribution.judge_shapes(shapes()):
        single = all(
            max(shares) >= _SINGLE_MODE for shares in zip(*((m.a, m.b) for m in shape.modes), strict=True)
        )
        if single or distribution.by_chance(shape.p, shape.least_p):
            continue
        pair, name = names[shape.key]
        runs = ((a, pair["runs_a"]), (b, pair["runs_b"]))
        disturbed = ", ".join(
            one.name for one, own in runs if all(one.run_objects[run].disturbance for run in own)
        )
        weak = shape.q is None or shape.q > 0.05
        for mode in shape.modes:
            if mode.shifted:
                yield (
                    pair["sweep"],
                    pair["cell"],
                    name.title,
                    mode.at,
                    mode.a,
                    mode.b,
                    weak,
                    disturbed,
                )


def _by_name(side: Side, runs: Sequence[int]) -> dict[Name, tuple[Sequence[Bucket], ...]]:
    every = (one for run in runs for one in numbers.histograms(side.run_objects[run]))
    return {
        name: tuple(buckets for _, buckets in own)
        for name, own in group_by(every, lambda one: one[0]).items()
    }
