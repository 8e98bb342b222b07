"""Ranges and topology numbers: what they stand for on a machine, and how they say that they are none."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.experiment.quantities import (
    BYTES,
    PERCENT_OF,
    SAMPLE,
    QuantityError,
    Unresolved,
    parse,
    seconds,
    size_text,
)
from orchestrator.machine.descriptions import topology_from_text
from parsers.units import LARGEST_SIZE, number_value, size_bytes, size_value

KiB, MiB = 1024, 1024**2

# two packages of ten cores without SMT, as in a common course cluster
MACHINE = {
    "packages": 2, "numa_nodes": 2, "cores": 20, "pus": 20, "cores_per_numa_node": 10, "pus_per_core": 1,
    "L1": 32 * KiB, "L2": 1 * MiB, "LLC": 25 * MiB, "memory": 40 * 1024 * MiB,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("8", (8,)),
        ("0.5", (0.5,)),
        ("1..8", (1, 2, 3, 4, 5, 6, 7, 8)),
        ("1 .. 4", (1, 2, 3, 4)),
        ("5..5", (5,)),
        ("1..cores_per_numa_node", tuple(range(1, 11))),
        ("packages..4", (2, 3, 4)),
        ("2..32 step 10", (2, 12, 22, 32)),
        ("2..33 step 10", (2, 12, 22, 32)),  # the end only where a step falls on it
        ("0.5..2 step 0.5", (0.5, 1, 1.5, 2)),
        ("0.1..0.3 step 0.1", (0.1, 0.2, 0.3)),  # in binary fractions the sum would be 0.30000000000000004
        ("1..128 x2", (1, 2, 4, 8, 16, 32, 64, 128)),
        ("1..100 ×10", (1, 10, 100)),
        ("1..10 * 3", (1, 3, 9)),
        ("1..5 x1.5", (1, 2, 3)),  # 1, 1.5, 2.25, 3.375 as whole numbers; 5.0625 is past the end
        ("4k..64k x4", (4 * KiB, 16 * KiB, 64 * KiB)),
        ("4k..12k step 4k", (4 * KiB, 8 * KiB, 12 * KiB)),
        ("1..cores x2", (1, 2, 4, 8, 16)),
        ("1M..4 x LLC x4", (MiB, 4 * MiB, 16 * MiB, 64 * MiB)),
        ("25%", (5,)),
        ("1 %", (1,)),  # never less than one
        ("12.5%", (3,)),  # 2.5 is rounded up
        ("all", (20,)),
        ("1..all", tuple(range(1, 21))),
        ("50%..all step 5", (10, 15, 20)),
        ("cores", (20,)),
        ("0.5 x cores", (10,)),
        ("L2", (MiB,)),
        ("0.5 x L2", (MiB // 2,)),
        ("4 × LLC", (100 * MiB,)),
        ("4*LLC", (100 * MiB,)),
        ("0.3 x L1", (10 * KiB,)),  # 9830.4 bytes, as whole KiB
        ("0.001 x L1", (1 * KiB,)),
        ("10kB", (10_000,)),
        ("512M", (512 * MiB,)),
    ],
)  # fmt: skip
def test_a_quantity_stands_for(text: str, values: tuple[int | float, ...]) -> None:
    got = parse(text, percent_of="pus").resolve(MACHINE)

    assert got == pytest.approx(values, rel=1e-12)
    assert [type(v) for v in got] == [type(v) for v in values]


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("", "'' is not a number", ""),
        ("eight", "neither a number nor", "packages, numa_nodes"),
        ("coers", "'coers'", "did you mean 'cores'?"),
        ("llc", "'llc'", "did you mean 'LLC'?"),
        ("4 x LCC", "'LCC'", "did you mean 'LLC'?"),
        ("8..1", "is empty", "small to the large"),
        ("1..", "has no end", "1..8"),
        ("..8", "has no start", "1..8"),
        ("1...8", "'.8' is not a number", ""),
        ("1..8..9", "is not a number", ""),
        ("1..8 step 0", "step of 0", "more than 0"),
        ("1..8 x1", "factor of 1", "1.1 at least"),
        ("1..8 x1.000000000000000000001", "factor of 1", "1.1 at least"),
        ("9" * 5000, "too long", ""),
        ("9" * 30, "too large", ""),
        ("0..cores x2", "never leaves 0", "[0, 1..cores x2]"),
        ("0..8 x2", "never leaves 0", "[0, 1..8 x2]"),
        ("0.5..2", "how large a step", "step"),
        ("4k..64k", "from one size to the next", "4k..1M x2"),
        ("4k..cores x2", "from a size to a count", ""),
        ("1..999999", "more than 10000 values", ""),
        ("1, 2, 4", "is not a number", "[1, 2, 4]"),
        ("0 x LLC", "is 0", ""),
        ("-1", "is not a number", ""),
        ("1k5", "is not a number", ""),
        ("0.0001k", "not a whole number of bytes", ""),
        ("150%", "between 0 and 100", ""),
        ("0%", "between 0 and 100", ""),
        ("10 GB", "is not a number", "without a blank"),
    ],
)
def test_what_is_none_says_why(text: str, what: str, hint: str) -> None:
    with pytest.raises(QuantityError) as error:
        parse(text, percent_of="pus")

    assert what in error.value.what
    assert hint in error.value.hint


def test_a_share_needs_something_it_is_of() -> None:
    for text in ("25%", "all", "1..all"):
        with pytest.raises(QuantityError, match="share of nothing") as error:
            parse(text)
        assert all(name in error.value.hint for name in PERCENT_OF)


@pytest.mark.parametrize(
    ("text", "numbers", "reason"),
    [
        ("4 x L3", {"L2": MiB}, "this machine does not report its L3"),
        ("1..cores", {"cores": 0}, "does not report its cores"),
        ("2..cores", {"cores": 1}, "2..cores is empty: from 2 to 1"),
        ("1..memory step 1", {"memory": 2**40}, "more than 10000 values"),
    ],
)
def test_what_a_machine_cannot_give_is_a_reason(text: str, numbers: dict[str, int], reason: str) -> None:
    with pytest.raises(Unresolved, match=reason.replace("..", r"\.\.")):
        parse(text).resolve(numbers)


def test_duplicates_on_a_small_machine_collapse() -> None:
    assert parse("1%..all x1.2", "pus").resolve({"pus": 4}) == (1, 2, 3, 4)  # 1.2, 1.44, 1.73 …
    assert parse("25%", "pus").resolve({"pus": 2}) == (1,)


def test_the_names_are_those_of_a_topology() -> None:
    full = topology_from_text("pack:2 [numa(memory=1GB)] l3:1(size=32MB) l2:4(size=1MB) l1d:1(size=32kB) core:1 pu:2")

    assert set(full.numbers()) == set(SAMPLE)
    assert set(SAMPLE) >= BYTES
    assert set(PERCENT_OF.values()) <= set(SAMPLE)


@given(low=st.integers(0, 1000), extra=st.integers(0, 1000), step=st.integers(1, 50))
def test_a_range_is_what_range_says(low: int, extra: int, step: int) -> None:
    high = low + extra

    assert parse(f"{low}..{high} step {step}").resolve({}) == tuple(range(low, high + 1, step))
    assert parse(f"{low}..{high}").resolve({}) == tuple(range(low, high + 1))


@given(low=st.integers(1, 1000), extra=st.integers(0, 10**9), ratio=st.integers(2, 10))
def test_a_geometric_range_multiplies_until_its_end(low: int, extra: int, ratio: int) -> None:
    high = low + extra
    got = parse(f"{low}..{high} x{ratio}").resolve({})

    assert got[0] == low
    assert all(b == a * ratio for a, b in itertools.pairwise(got))
    assert got[-1] <= high < got[-1] * ratio


@given(share=st.integers(1, 100), pus=st.integers(1, 4096))
def test_a_share_is_the_nearest_whole_number_but_one_at_least(share: int, pus: int) -> None:
    (got,) = parse(f"{share}%", "pus").resolve({"pus": pus})

    assert isinstance(got, int)
    assert 1 <= got <= pus
    assert abs(got - Fraction(share * pus, 100)) <= Fraction(1, 2) or got == 1


@given(text=st.text(max_size=20) | st.text(alphabet="0123456789.%x*kM LCcores stepall", max_size=20))
def test_any_text_is_a_quantity_or_refused_as_none(text: str) -> None:
    try:
        values = parse(text, "pus").resolve(SAMPLE)
    except (QuantityError, Unresolved):
        return
    assert values
    assert list(values) == sorted(set(values))


@given(st.integers(0, 2**53))
def test_a_size_survives_being_written(size: int) -> None:
    assert size_bytes(size_text(size)) == size


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (90, 90.0),
        (0.5, 0.5),
        ("90", 90.0),
        ("90s", 90.0),
        ("2 min", 120.0),
        ("1.5h", 5400.0),
        ("500 ms", 0.5),
    ],
)
def test_times_have_units(value: str | float, expected: float) -> None:
    assert seconds(value) == expected


@pytest.mark.parametrize("value", ["1:30", "", "2 m", "soon", "-5", True, "5 s s"])
def test_what_is_no_time_is_refused(value: str | bool) -> None:
    with pytest.raises(QuantityError, match="is not a time"):
        seconds(value)


@pytest.mark.parametrize("value", [3e11, "1000000000 h", "9" * 400, "٤", "1_000"])
def test_a_time_is_short_and_of_ascii_digits(value: str | float) -> None:
    with pytest.raises(QuantityError):
        seconds(value)


# --- the one form of a value ---


@pytest.mark.parametrize(
    ("size", "form"),
    [
        (0, 0), (1, 1), (999, 999), (1000, "1kB"), (1024, "1k"), (1536, 1536), (4096, "4k"), (10_000, "10kB"),
        (1_000_000, "1MB"), (1_024_000, "1000k"), (1 << 20, "1M"), (10**10, "10GB"), (3 << 40, "3T"), (1 << 50, "1P"),
    ],
)  # fmt: skip
def test_a_size_in_its_shortest_form(size: int, form: int | str) -> None:
    assert size_value(size) == form


@given(st.integers(0, 2**20), st.sampled_from(["", "k", "kB", "M", "MB", "G", "GB", "T", "TB"]))
def test_the_shortest_form_of_a_size_reads_back(count: int, suffix: str) -> None:
    size = size_bytes(f"{count}{suffix}")
    form = size_value(size)

    assert size_bytes(str(form)) == size
    assert size_value(size_bytes(str(form))) == form
    assert len(str(form)) <= min(len(str(size)), len(f"{count}{suffix}"))


@given(st.integers(-LARGEST_SIZE, LARGEST_SIZE) | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_and_its_text_are_one(number: float) -> None:
    assert repr(number_value(str(number))) == repr(number)


@given(st.text() | st.from_regex(r"[-+0-9_.einfa]{1,6}"))
def test_a_text_is_handed_on_as_it_was_written(text: str) -> None:
    assert str(number_value(text)) == text
