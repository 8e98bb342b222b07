"""What a long page folds is told of it as of what it draws: from fewer numbers, and they are the same."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from reports.charts import facets, poke
from reports.results.grouping import group_by
from reports.results.load import load


@pytest.mark.parametrize("fixture", ["full_result", "texts"])
def test_a_folded_distribution_tells_what_a_drawn_one_does(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    cells = group_by(load([Path(request.getfixturevalue(fixture))]).good("poke"), facets.cell).values()
    assert cells
    for repeats in cells:
        drawn = list(poke._distributions(repeats, shown=True))
        folded = list(poke._distributions(repeats, shown=False))
        assert drawn
        assert [of[1:] for of in folded] == [of[1:] for of in drawn]
        for (whole, *_), (told, *_) in zip(drawn, folded, strict=True):
            bare = replace(whole, buckets=(), by_run=(), mean=0.0, deviation=0.0, runs=())
            assert asdict(replace(told, mean=0.0, deviation=0.0, runs=())) == asdict(bare)
            assert told.runs == whole.runs
            assert poke._with_buckets(told) == whole
