"""How much is drawn by chance for the shapes of many cells: the splits of so many runs, once."""

from __future__ import annotations

import random

import pytest

from reports.numbers.formulas import Bucket
from reports.verdicts import distribution


def run(at: int) -> tuple[Bucket, ...]:
    return (Bucket(at, at + 1.0, 50), Bucket(2.0 * at, 2.0 * at + 2.0, 5))


def test_cells_of_as_many_runs_share_their_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = 0
    real = random.Random.sample

    def counting(self: random.Random, *args: object, **named: object) -> object:
        nonlocal drawn
        drawn += 1
        return real(self, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(random.Random, "sample", counting)
    distribution._splits.cache_clear()
    cells = [
        distribution.Shapes(key=n, a=tuple(run(100 + i) for i in range(10)), b=tuple(run(90 + n + i) for i in range(10)))
        for n in range(3)
    ]  # fmt: skip

    together = distribution.judge_shapes(cells)

    assert drawn == distribution._RANDOM
    alone = [distribution.judge_shapes([cell])[0] for cell in cells]
    assert [one.p for one in together] == [one.p for one in alone]
    assert len({one.p for one in together}) > 1
