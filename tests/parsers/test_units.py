from __future__ import annotations

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers.units import LARGEST_SIZE, share_of, size_bytes, unit_meant


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0), ("4096", 4096), ("4096B", 4096), ("4k", 4096), ("4K", 4096), ("4Ki", 4096), ("4KiB", 4096),
        ("10kB", 10_000), ("1.5M", 1_572_864), (" 32 kB ", 32_000), ("1T", 2**40), ("2PB", 2 * 10**15),
    ],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize(
    "text",
    ["", "k", "inf", "nan", "-1", "+4", "1_0k", "1e3", ".5k", "1.", "٤k", "4\u212a", "4ibk", "0.3", "1.0001k", "9" * 30, "9" * 9999],
)  # fmt: skip
def test_what_is_no_size_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"size|whole|larger|digits"):
        size_bytes(text)


@given(st.integers(0, LARGEST_SIZE))
def test_bytes_are_exact(size: int) -> None:
    assert size_bytes(str(size)) == size_bytes(f"{size}B") == size


@given(st.integers(0, 2**22), st.integers(0, 999), st.sampled_from(["k", "kB", "M", "MB", "G", "GB", "T", "TB"]))
def test_a_decimal_fraction_of_a_unit_is_exact_or_refused(whole: int, thousandths: int, suffix: str) -> None:
    unit = (1000 if suffix.endswith("B") else 1024) ** (" kMGT".index(suffix[0]))
    exact = (whole + Fraction(thousandths, 1000)) * unit
    text = f"{whole}.{thousandths:03}{suffix}"

    if exact.denominator == 1:
        assert size_bytes(text) == exact
    else:
        with pytest.raises(ValueError, match="whole number"):
            size_bytes(text)


@given(st.text())
def test_any_text_is_a_size_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert 0 <= size_bytes(text) <= LARGEST_SIZE


@pytest.mark.parametrize(
    ("text", "share"),
    [("3%", 0.03), (" 3 %", 0.03), ("2.5", 0.025), (".5%", 0.005), ("0%", None), ("100%", None), ("-3%", None),
     ("nan", None), ("3 % of it", None), ("", None)],
)  # fmt: skip
def test_a_percentage_is_between_0_and_100(text: str, share: float | None) -> None:
    assert share_of(text) == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize(
    ("unit", "meant"),
    [("nanosec", "ns"), ("Microseconds", "us"), ("seconds", "s"), ("MB/S", "MB/s"), ("MBps", "MB/s"), ("kHZ", "kHz"), ("NS", "ns")]
    + [(right, "") for right in ("ns", "s", "B/s", "MB/s", "W", "°C", "Gb/s", "M", "items", "", "frames", "IOPS")],
)  # fmt: skip
def test_a_unit_that_is_written_otherwise_is_known_by_what_it_means(unit: str, meant: str) -> None:
    assert unit_meant(unit) == meant
