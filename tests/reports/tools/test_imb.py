"""IMB: its figures and key numbers from rows, and its checks of where ranks were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.model import Group
from reports.checks.audit import audit
from reports.measurements import measure
from reports.results.load import load
from reports.tools.imb import TOOL

SIZES = [0, *(1 << i for i in range(23))]


def curve(alpha: float, rate: float) -> dict[int, float]:
    """Return size → time (µs) of α (µs) and a bandwidth (GB/s)."""
    return {size: round(alpha + size / rate / 1e3, 2) for size in SIZES}


def drawn(path: Path) -> dict[str, Any]:
    results = load([path])
    measured = measure(results)
    found = TOOL.figures(measured.tidy("imb"), measured.keys("imb"), measured.runs)
    return {figure.id: figure for figure in found}


def test_pingpong_is_time_and_bandwidth_per_pair_with_alpha_and_half_size(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for place, alpha in (("near", 10.0), ("far", 20.0)):
        maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text(curve(alpha, 8.0)), axes=("place",), place=place, relation=place)  # fmt: skip
    path = maker.write()
    figures = drawn(path)

    assert [*figures] == ["imb-time-p", "imb-bandwidth-p"]
    assert figures["imb-time-p"].title == "A message of 0 B takes 10.0 µs (near) to 20.0 µs (far)"
    assert [(row["pair"].split(",")[0], round(row["alpha"], -2), row["peak_size"]) for row in figures["imb-time-p"].summary.records()] == [
        ("near", 10000, 1 << 22),
        ("far", 20000, 1 << 22),
    ]  # fmt: skip
    rings = [row["text"] for row in figures["imb-bandwidth-p"].spec["data"]["values"] if row["mark"] == "ring"]
    assert len(rings) == 2
    keys = TOOL.keys(measure(load([path])).tidy("imb"))
    assert keys[["value", "context"]].to_records(index=False).tolist() == [(10000.0, "0 B, near"), (20000.0, "0 B, far")]  # fmt: skip


def test_curves_of_one_place_are_told_apart_by_their_cells(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for seconds in (10, 20):
        text = make.imb_text(curve(float(seconds), 8.0))
        maker.add("p", "imb", {"benchmark": "PingPong", "time": seconds}, text, axes=("time",))

    table = drawn(maker.write())["imb-time-p"].summary

    assert [row["pair"].split(",")[0] for row in table.records()] == ["time=10", "time=20"]


def test_pairs_of_cpus_are_a_map_both_ways(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    for a, b in ((0, 1), (0, 2), (1, 2)):
        maker.groups = {f"{a}-{b}": (Group(cpus=(a,)), Group(cpus=(b,)))}
        maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text(curve(1 + a + b, 8.0)), axes=("place",), place=f"{a}-{b}")  # fmt: skip
    table = drawn(maker.write())["imb-pairs-p"].table

    cells = {(row["source"], row["target"]): row["median"] for row in table.records()}
    assert cells == {(a, b): 1000.0 * (1 + a + b) for a in range(3) for b in range(3) if a != b}


@pytest.mark.parametrize(
    ("groups", "relation", "found"),
    [
        (((0,), (1,)), "same core", True),
        (((0,), (0,)), "same core", True),
        (((0,), (1,)), "smt siblings", False),
        (((0,), (2,)), "", False),
    ],
)
def test_ranks_share_a_core(make: Any, tmp_path: Path, groups: Any, relation: str, found: bool) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = "pack:1 numa:1 core:4 pu:2"
    maker.groups = {"x": tuple(Group(cpus=cpus) for cpus in groups)}
    maker.add("p", "imb", {"benchmark": "PingPong"}, make.imb_text(curve(10.0, 8.0)), place="x", relation=relation)

    assert any(one.id == "P1" for one in audit(load([maker.write()]))) == found
