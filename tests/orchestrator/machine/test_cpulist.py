from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.machine.cpulist import format_cpulist, named_cpus, parse_cpulist, parse_mask, parse_ordered

SETS = st.frozensets(st.integers(0, 5000), max_size=60)


@given(SETS)
def test_a_list_is_read_back_as_it_was(cpus: frozenset[int]) -> None:
    assert parse_cpulist(format_cpulist(cpus)) == cpus


@given(SETS)
def test_hwloc_masks_are_read_bit_by_bit(cpus: frozenset[int]) -> None:
    bits = sum(1 << cpu for cpu in cpus)
    words: list[str] = []
    while bits or not words:
        words.append(f"0x{bits & 0xFFFFFFFF:08x}" if bits & 0xFFFFFFFF else "")
        bits >>= 32
    mask = ",".join(reversed(words)) or "0x0"

    assert parse_mask(mask) == cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", ()),
        (" \n", ()),
        ("0", (0,)),
        ("7,0-2\n", (7, 0, 1, 2)),
        ("0, 2", (0, 2)),
        ("3,3", (3, 3)),
        ("0-7:2/4", (0, 1, 4, 5)),
        ("0-10:1/5", (0, 5, 10)),
    ],
)
def test_lists_keep_their_order(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_ordered(text) == cpus


@pytest.mark.parametrize("cpus", [(8, 0, 1, 2), [0, 1, 2, 8], [2, 8, 1, 0, 0]])
def test_lists_are_printed_as_numactl_takes_them(cpus: list[int]) -> None:
    assert format_cpulist(cpus) == "0-2,8"


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "0,,1",
        "-1",
        "3-1",
        "1-",
        "+1",
        "1_0",
        "٣",
        "0x3",
        "0-3:2",
        "0-3:5/4",
        "0-999999999",
        "65536",
        "0 1",
    ],
)
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_cpulist(text)


@pytest.mark.parametrize(
    ("mask", "cpus"),
    [
        ("0x0", set()),
        ("0x00000003", {0, 1}),
        ("0x00000303,0x03030000,,0x3", {64 + 16, 64 + 17, 64 + 24, 64 + 25, 96, 97, 104, 105, 0, 1}),
        ("0x000000ff,,,0x0", set(range(96, 104))),
        ("0xf...f", None),
    ],
)
def test_masks_of_real_machines(mask: str, cpus: set[int] | None) -> None:
    assert parse_mask(mask) == cpus


@pytest.mark.parametrize("mask", ["", "0x100000000", "zz", "0x1,0xgg", "-0x1", ",".join(["0x1"] * 3000)])
def test_what_is_no_mask_is_refused(mask: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_mask(mask)


@pytest.mark.parametrize(
    ("cpus", "said"), [([3], "CPU 3"), ((1, 0), "CPUs 0-1"), ({0, 7}, "CPUs 0,7")]
)  # fmt: skip
def test_one_cpu_is_no_cpus(cpus: Iterable[int], said: str) -> None:
    assert named_cpus(cpus) == said
