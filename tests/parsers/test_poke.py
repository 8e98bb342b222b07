from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import poke
from parsers.errors import ParseError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "poke"
CASES = sorted(FIXTURES.glob("*.out"))
MEMORY = (FIXTURES / "memory_1GB_write_fence.out").read_text()


def written(result: dict[str, Any], **head: Any) -> str:
    """Return a document as poke writes it, around one result."""
    whole = {
        "program": "pinsweep poke",
        "version": "0.1",
        "timer": {"name": "rdtsc", "resolution_ns": 0.5, "overhead_ns": 10.0},
        "seed": 1,
        "direct": False,
        "fsync": False,
        **head,
        "results": [result],
    }
    return json.dumps(whole)


def a_result(**changes: Any) -> dict[str, Any]:
    return {
        "target": "memory", "op": "read", "bytes": 1000, "block": 1, "count": 3,
        "mean_ns": 50.0, "sd_ns": 1.0, "min_ns": 49.0, "max_ns": 51.0, "quantiles_ns": {},
        "sequential_ns_per_byte": None, "first_touch_ns_per_byte": None, "clock_backwards": 0,
        "largest": [[51.0, 7]], "histogram": [[48.0, 50.0, 2], [50.0, 52.0, 1]], **changes,
    }  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_histogram_holds_every_sample_and_every_quantile(case: Path) -> None:
    parsed = poke.parse(case.read_text())
    buckets = parsed.tables["histogram"].records()

    assert parsed.tables["histogram"].columns == ("target", "op", "low", "high", "count")
    for op in {str(bucket["op"]) for bucket in buckets}:
        mine = [(float(b["low"] or 0), float(b["high"] or 0), int(b["count"] or 0)) for b in buckets if b["op"] == op]
        count = sum(n for _, _, n in mine)
        assert count == parsed.facts["count"]
        for row in parsed.measurements.records():
            statistic = str(row.get("statistic", ""))
            if row.get("op") == op and statistic.startswith("p"):
                rank, seen = math.ceil(float(statistic[1:]) / 100 * count - 1e-9), 0
                low, high = next((lo, hi) for lo, hi, n in mine if (seen := seen + n) >= rank)
                assert low - 0.001 <= float(row["value"] or 0) <= high


def test_noise_around_the_document_changes_nothing() -> None:
    document = MEMORY[MEMORY.index("{") : MEMORY.rindex("}") + 1]
    plain = poke.parse(document)

    for text in (
        MEMORY,
        document.replace("\n", "\r\n"),
        "\ufeff" + document,
        "".join(f"0: {line}\n" for line in document.splitlines()),
        f"{{'not': 'ours'}}\n{document}\n}}",
    ):
        assert poke.parse(text) == plain


def test_longest_samples_keep_their_order_and_time() -> None:
    rows = poke.parse(MEMORY).tables["largest"].records()

    assert rows[0] == {"target": "memory", "op": "write+fence", "rank": 1, "at": 990735.0, "value": 44739.228}
    assert [row["rank"] for row in rows] == list(range(1, 11))


def test_two_documents_are_both_read() -> None:
    text = written(a_result(op="read")) + "\n" + written(a_result(op="write"))
    parsed = poke.parse(text)

    assert [r["op"] for r in parsed.measurements.records() if r.get("statistic") == "mean"] == [
        "read",
        "write",
    ]
    assert "bytes" not in parsed.facts


def test_operation_lost_in_the_timer_is_flagged() -> None:
    def flags(**changes: Any) -> list[str]:
        return [flag.id for flag in poke.parse(written(a_result(**changes))).flags]

    assert flags(quantiles_ns={"0.5": 19.0}) == ["timer_limited"]
    assert flags(quantiles_ns={"0.5": 21.0}) == []
    assert flags(quantiles_ns={"0.5": 10.0}, target="null", op="none", bytes=0) == []
    assert flags(clock_backwards=2) == ["clock_backwards"]


@given(st.integers(1, len(MEMORY) - 1))
def test_cut_output_is_refused_never_half_read(length: int) -> None:
    text = MEMORY[:length]
    if length > MEMORY.rindex("}"):
        assert poke.parse(text) == poke.parse(MEMORY)
    else:
        with pytest.raises(ParseError):
            poke.parse(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no document that begins with"),
        ("poke: --bytes is needed", "no document that begins with"),
        (written(a_result(count=4)), "the histogram does not hold the 4 samples"),
        (written({"target": "memory", "op": "read"}), "'histogram'"),
        (written(a_result(), timer=3), "not what poke 0.1 prints"),
        (written(a_result(mean_ns="fast")), "not what poke 0.1 prints"),
    ],
)
def test_what_is_no_result_is_said(text: str, says: str) -> None:
    with pytest.raises(ParseError, match=says):
        poke.parse(text)
