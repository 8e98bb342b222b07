"""Numbers as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.text import format as fmt

T = fmt.THIN


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (2.593e10, "B/s", "25.9 GB/s"),
        (57.32, "ns", "57.3 ns"),
        (999.7, "ns", "1.00 µs"),
        (186_090.0, "ns", "186 µs"),
        (150_100.0, "IOPS", "150 kIOPS"),
        (812.0, "1/s", "812/s"),
        (-3.2e9, "ns", "−3.20 s"),
        (0.0, "B/s", "0 B/s"),
        (None, "ns", "–"),
        (float("nan"), "ns", "–"),
        (42.5, "W", "42.5 W"),
        (0.97, "1", "0.97"),
    ],
)
def test_quantity(value: float | None, unit: str, text: str) -> None:
    assert fmt.quantity(value, unit) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1, "1 B"), (4096, "4 KiB"), (2**30, "1 GiB"), (10444, "10.2 KiB"), (256_000_000, "256 MB"), (1_843_200_000, "1.72 GiB"), (1_000_000, "1 MB"), (1000, "1 kB"), (100, "100 B")],
)  # fmt: skip
def test_size(value: int, text: str) -> None:
    assert fmt.size(value) == text


def test_number_groups_rounds_and_never_shows_ten_hundreds() -> None:
    assert fmt.number(1234.5) == f"1{T}230"
    assert fmt.number(9.996) == "10.0"
    assert fmt.number(0.0123) == "0.0123"
    assert fmt.count(-1234567) == f"−1{T}234{T}567"


@pytest.mark.parametrize(
    ("value", "text", "own"),
    [(1.5e300, "1.50 × 10³⁰⁰", "1.5 × 10³⁰⁰"), (-1e-300, "−1.00 × 10⁻³⁰⁰", "−1 × 10⁻³⁰⁰"), (1e15, "1.00 × 10¹⁵", "1 × 10¹⁵"), (1e-9, "0.00000000100", "0.000000001")],
)  # fmt: skip
def test_a_number_that_is_huge_or_tiny_is_a_power_of_ten(value: float, text: str, own: str) -> None:
    shown = fmt.number(value)
    assert shown.replace("\u00a0", " ") == text
    assert isinstance(shown, fmt.Shown)
    assert float(shown.plain) == pytest.approx(value)
    assert fmt.number(value, step=0).replace("\u00a0", " ") == own == fmt.level(value).replace("\u00a0", " ")


@given(st.floats(1e-9, 9.9e14))
def test_three_digits_are_within_half_a_percent(value: float) -> None:
    text = fmt.number(value).replace(T, "")

    assert float(text) == pytest.approx(value, rel=0.0051)


@pytest.mark.parametrize(
    ("value", "text"),
    [(32.0, "32"), (20e6, f"20{T}000{T}000"), (1_234_567.5, f"1{T}234{T}567.5"), (-1500, f"−1{T}500"), (3 * 0.1, "0.3"), (1e-5, "0.00001")],
)  # fmt: skip
def test_a_level_of_an_axis_has_all_its_digits(value: float, text: str) -> None:
    assert fmt.level(value) == text


def test_words() -> None:
    assert fmt.words(["a"]) == "a"
    assert fmt.words(["a", "b", "c"]) == "a, b and c"
    assert fmt.plural(1, "run") == "1 run"
    assert fmt.plural(2000, "run") == f"2{T}000 runs"
    assert fmt.seconds(200) == "3 min 20 s"
    assert fmt.seconds(3900) == "1 h 5 min"
    assert [fmt.duration(s) for s in (0.4, 59.7, 90, 7210)] == ["0.4 s", "1 min", "1 min 30 s", "2 h"]


@given(st.floats(1e-6, 1e14), st.integers(2, 4))
def test_an_upper_bound_is_rounded_up(value: float, digits: int) -> None:
    text = fmt.number(value, digits, fmt.UP)

    assert isinstance(text, fmt.Shown)
    assert value * (1 - 1e-12) <= float(text.plain) <= value * (1 + 10 ** (1 - digits)) * (1 + 1e-9)


def test_a_duration_without_end_is_none() -> None:
    assert fmt.seconds(float("inf")) == fmt.seconds(float("nan")) == fmt.NOTHING


@pytest.mark.parametrize("text", ["fio was killed", "direct=0, read takes 2 µs", "The IOPS fall"])
def test_a_name_at_the_start_of_a_sentence_stays_as_it_is(text: str) -> None:
    assert fmt.sentence(text) == text


def test_a_half_is_rounded_alike_in_a_frame_and_beside_it() -> None:
    import numpy as np

    assert fmt.quantity(np.float64(17150), "IOPS") == fmt.quantity(17150.0, "IOPS")


@pytest.mark.parametrize(
    ("value", "digits", "step", "said"),
    [
        (30.0, 3, 10.0, "30"), (0.03, 3, 0.01, "0.03"), (630.0, 4, 0.0, "630"), (1.1, 3, 0.01, "1.10"), (226.0, 4, 0.0, "226"), (2.0, 4, 0.0, "2"),
        (12.0034, 3, 0.01, "12.0"), (193.047, 4, 10.0, "193.0"), (35.0, 3, 0.5, "35.0"), (109e3, 4, 0.0, "109\u202f000"), (0.0, 3, 0.0, "0"),
    ],
)  # fmt: skip
def test_no_decimals_stand_where_a_program_printed_none(value: float, digits: int, step: float, said: str) -> None:
    assert fmt.number(value, digits, step=step) == said
