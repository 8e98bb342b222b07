"""What the charts say in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.charts import wording
from reports.results.load import load


@pytest.mark.parametrize(("place", "said"), [("", "not placed"), ("all", "all"), ("core 0", "core 0")])
def test_a_run_that_was_not_placed_is_not_said_to_have_every_pu(
    make: Any, tmp_path: Path, place: str, said: str
) -> None:
    """Under `taskset -c 0`, a sweep without places was "all" in tables, pictures and doubts."""
    path = make.Maker(tmp_path / "a.db").add("s", "stream", {}, make.stream_text(2e4, 1), place=place).write()

    assert [wording.place(run) for run in load([path]).runs] == [said]
