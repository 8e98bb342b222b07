from __future__ import annotations

from pathlib import Path

import pytest

from parsers import likwid_bench
from parsers.errors import ParseError
from parsers.text import decode

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "likwid_bench"
COPY = decode((FIXTURES / "copy_two_threads.out").read_bytes())
LOAD = decode((FIXTURES / "load_two_workgroups.out").read_bytes())


def values(text: str, metric: str) -> list[float]:
    rows = likwid_bench.parse(text).measurements.records()
    return [float(row["value"] or 0) for row in rows if row["metric"] == metric]


def test_threads_and_where_they_ran() -> None:
    parsed = likwid_bench.parse(LOAD)

    assert parsed.tables["runs"].rows == ((0, "load", 2, 2),)
    assert parsed.tables["threads"].rows == ((0, 0, 0, 0, 125000), (0, 1, 1, 0, 250000))
    assert parsed.facts == {"program": "likwid-bench", "runs": 1, "test": "load", "threads": 2}
    assert parsed.flags == ()


def test_a_copy_has_no_flops() -> None:
    assert values(COPY, "flops") == []
    assert values(COPY, "flop_rate") == []
    assert values(COPY.replace("MFlops/s:\t\t0.00", "MFlops/s:\t\t12.50"), "flop_rate") == [12.5e6]


def test_several_runs_in_one_text() -> None:
    parsed = likwid_bench.parse(COPY + LOAD + COPY)

    assert [row[:3] for row in parsed.tables["runs"].rows] == [(0, "copy", 1), (1, "load", 2), (2, "copy", 1)]
    assert len(values(COPY + LOAD + COPY, "bandwidth")) == 3
    assert "test" not in parsed.facts


def test_version_4_says_core_and_size_without_its_unit() -> None:
    text = COPY.replace("hwthread", "core").replace("Size (Byte):", "Size:")

    assert values(text, "size") == [99968.0]
    assert len(likwid_bench.parse(text).tables["threads"].rows) == 2
    assert values(text.replace("Size per thread:", "Vectorlength:"), "size") == [], "a number of elements"


@pytest.mark.parametrize(
    "changed",
    [
        COPY.replace("\n", "\r\n"),
        COPY.expandtabs(),
        "$ likwid-bench\n" + COPY + "$ ",
        "".join(f"  {line}" for line in COPY.splitlines(keepends=True)),
    ],
)
def test_terminals_and_pastes_change_nothing(changed: str) -> None:
    assert likwid_bench.parse(changed).tables == likwid_bench.parse(COPY).tables


@pytest.mark.parametrize("text", ["", "hello\n", "Cycles: 12\n", "LIKWID\n"])
def test_what_is_not_likwid_bench_is_refused(text: str) -> None:
    assert not likwid_bench.recognise(text)
    with pytest.raises(ParseError, match="looked for"):
        likwid_bench.parse(text)


def test_a_run_that_was_stopped_says_so() -> None:
    with pytest.raises(ParseError, match="before the first figure"):
        likwid_bench.parse(COPY[: COPY.index("Cycles:")])


def test_nan_is_a_missing_number() -> None:
    parsed = likwid_bench.parse(COPY.replace("43413.74", "inf"))

    assert parsed.has("not_finite")
    assert values(COPY.replace("43413.74", "inf"), "bandwidth") == []
