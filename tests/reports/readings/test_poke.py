"""poke read once: what charts and numbers take from its documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from parsers import poke
from reports.charts.poke import distributions
from reports.readings.poke import buckets, first, times
from reports.results.load import load

FIXTURES = Path(__file__).parents[2] / "fixtures" / "poke"


def test_times_and_buckets_are_those_of_the_document() -> None:
    parsed = poke.parse((FIXTURES / "memory_1GB_write_fence.out").read_text())

    samples = {time.statistic: time.value for time in times(parsed) if time.metric == "latency"}
    histogram = buckets(parsed)

    assert {(b.target, b.op) for b in histogram} == {("memory", "write+fence")}
    assert sum(b.n for b in histogram) == parsed.facts["count"]
    assert sum(b.n for b in histogram if b.high <= samples["p50"]) <= 0.5 * sum(b.n for b in histogram)
    assert first(parsed, "latency", "p50") == samples["p50"]
    assert first(parsed, "timer_overhead") is not None
    assert first(parsed, "time_per_iteration") is None


def test_the_longest_of_two_documents_of_one_target_is_the_longest_of_both(make: Any, tmp_path: Path) -> None:
    text = make.poke_text([*make.sample(5000), 9e6]) + make.poke_text(make.sample(5000, tail=2e6))
    path = make.Maker(tmp_path / "r.db").add("s", "poke", {"target": "memory"}, text).write()

    (found,) = distributions(load([path]).good("poke"))

    assert found.n == 10_001
    assert found.largest == 9e6
