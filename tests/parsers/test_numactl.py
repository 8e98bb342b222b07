from __future__ import annotations

import pytest

from parsers import numactl
from parsers.measurement import Parsed, Scalar

HARDWARE = """available: 3 nodes (0-1,8)
node 0 cpus: 0 2 4 6
node 0 size: 63696 MB
node 0 free: 60568 MB
node 1 cpus: 1 3 5 7
node 1 size: 64508 MB
node 1 free: 0 MB
node 8 cpus:
node 8 size: 128505 MB
node 8 free: 127588 MB
node distances:
node   0   1   8\x20
  0:  10  21  50\x20
  1:  21  10  70\x20
  8:  255  70  10\x20
"""
SHOW = """policy: bind
preferred node: 0
physcpubind: 1\x20
cpubind: 0\x20
nodebind: 0\x20
membind: 0\x20
preferred: 0\x20
"""


def values(parsed: Parsed, metric: str, **labels: Scalar) -> list[Scalar]:
    wanted = labels | {"metric": metric}
    return [row["value"] for row in parsed.measurements.records() if wanted.items() <= row.items()]


def flags(parsed: Parsed) -> set[str]:
    return {flag.id for flag in parsed.flags}


def test_hardware() -> None:
    parsed = numactl.parse(HARDWARE)

    assert values(parsed, "size", node=8) == [128505 * 2**20]
    assert values(parsed, "free", node=1) == [0.0]  # none free is a figure
    assert values(parsed, "cpus", node=8) == [0.0]
    assert values(parsed, "distance", node=0, to=8) == [50.0]
    assert values(parsed, "distance", node=8, to=0) == [255.0]
    assert (1, 1, 7) in parsed.tables["cpus"].rows
    assert parsed.facts == {"nodes": "0-1,8", "node_count": 3}
    assert flags(parsed) == {"asymmetric"}


def test_show() -> None:
    parsed = numactl.parse(SHOW)

    assert parsed.measurements.rows == ()
    assert parsed.facts == {
        "policy": "bind",
        "preferred_node": "0",
        "physcpubind": "1",
        "cpubind": "0",
        "nodebind": "0",
        "membind": "0",
        "preferred": "0",
    }
    assert flags(parsed) == set()


def test_an_error_above_the_output_of_another_tool_is_noise() -> None:
    noise = "libnuma: Warning: node argument 7 is out of range\nnumactl: something\n"
    assert numactl.recognise(noise)
    assert not numactl.recognise(f"{noise}STREAM version $Revision: 5.10 $\n")
    assert numactl.recognise(noise + HARDWARE)


def test_numastat() -> None:
    text = """                           node0           node1
numa_hit                67040501        12000000
numa_miss                      0               3
local_node              67040501         1199"""
    parsed = numactl.parse(text)

    assert values(parsed, "numa_hit", node=1) == [12_000_000.0]
    assert values(parsed, "numa_miss") == [0.0, 3.0]
    assert values(parsed, "local_node") == []  # the last figure may have been longer
    assert flags(parsed) == {"truncated"}
    assert values(numactl.parse(text + "\n"), "local_node", node=1) == [1199.0]


def test_two_machines_stay_apart() -> None:
    parsed = numactl.parse(f"host a\n{HARDWARE}\nhost b\n{HARDWARE.replace('63696', '11111')}")
    assert values(parsed, "size", node=0) == [63696 * 2**20, 11111 * 2**20]
    assert values(parsed, "size", run=2, node=0) == [11111 * 2**20]


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        (
            "available: 1 nodes (0)\nnode 0 cpus: 0\nnode 0 size: 16222 MB\nnode 0 free: 15681 MB\nNo distance information available.\n",
            "no_distances",
        ),
        ("physcpubind: 0 1\nNo NUMA support available on this system.\n", "no_numa"),
        (HARDWARE.replace("0 2 4 6", "0 2 ... 6"), "unread"),
        (HARDWARE.replace("63696 MB", "<not available>"), "unread"),
        ("<7> is invalid\n", "refused"),
        ("libnuma: Warning: node argument 7 is out of range\n\nusage: numactl [--all | -a]\n", "refused"),
        ("numactl: execution of `X': No such file or directory\n", "refused"),
        (HARDWARE.replace("  8:  255  70  10 \n", ""), "truncated"),
    ],
)
def test_what_a_reader_must_know_is_flagged(text: str, flag: str) -> None:
    assert flag in flags(numactl.parse(text))


@pytest.mark.parametrize("text", [HARDWARE, SHOW, f"{SHOW}{HARDWARE}"])
def test_a_last_line_of_another_text_makes_none_truncated(text: str) -> None:
    assert not numactl.parse(f"{text}and that is all").has("truncated")
    assert numactl.parse(f"{text}available: 2 nodes (0-1)\nnode 0 cp").has("truncated")


@pytest.mark.parametrize(
    ("printed", "count"),
    [
        ("8-11, 16 (5)", 5),
        ("8-11, 16", 5),
        ("9 (1)", 1),
        ("0 2 4 ... 62", 32),
        ("0 2 4 … 14 64 66 68 ... 78", 16),
        ("8-11, 16 (6)", None),
        ("0 2 4 ... 63", None),
        ("0 2 4 ...", None),
        ("0 1 2 ... 7", None),  # 1 is a CPU of node 1
        ("0-99999999", None),
        ("8-3", None),
    ],
)
def test_lists_of_cpus_that_are_compressed(printed: str, count: int | None) -> None:
    parsed = numactl.parse(HARDWARE.replace("0 2 4 6", printed))

    assert values(parsed, "cpus", node=0) == ([] if count is None else [count])
    assert parsed.has("unread") is (count is None)
