"""A number over machines and sessions: what it is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reports.numbers.series import collect
from reports.results.load import load


def test_a_title_says_options_in_words(make: Any, tmp_path: Path) -> None:
    """ "loaded, l=256 W=5: peak bandwidth at traffic 1:1" stood above a chart, the mix twice."""
    maker = make.Maker(tmp_path / "a.db")
    rows = [(delay, 90 + 5000 / (delay + 20), 30e3 - delay) for delay in (0, 50, 100, 500, 5000)]
    for stride in (64, 256):
        text = make.mlc_text(rows, traffic="5", stride=stride)
        maker.add("loaded", "mlc", {"l": stride, "W": 5, "mode": "loaded_latency"}, text, axes=("l", "W"))

    titles = {one.title() for one in collect(load([maker.write()]))}

    assert "peak bandwidth at traffic 1:1 (loaded, 256 B stride)" in titles
    assert not any("=" in title for title in titles)
