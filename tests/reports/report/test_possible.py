"""What of the possible a key number is: beside it at the head of the page, and in the machine's drawing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine import probe
from orchestrator.machine.facts import pcie_rate
from reports.page.model import KeyNumber, Page
from reports.report import build
from reports.report.render import render_report
from reports.results.load import load
from tests.reports.texts import add, rows, two_nodes


def page(maker: Any) -> Page:
    return build.build(load([maker.write()]))


def told(maker: Any) -> dict[str, KeyNumber]:
    return {number.name: number for number in page(maker).key_numbers}


def stream(maker: Any, make: Any, rate: float, place: str = "local") -> None:
    maker.add(
        "s", "stream", {"threads": 4}, make.stream_text(rate, 4), axes=("place",), place=place, relation=place
    )


def test_a_node_of_a_matrix_is_held_against_its_own_modules(make: Any, tmp_path: Path) -> None:
    """It was against those of all nodes: 75 % read as 38 %, on eight nodes as 9 %."""
    maker = two_nodes(make, tmp_path / "r.db", "8 × 16 GB DDR4 2666 MT/s")
    rates = [[64e3, 30e3], [31e3, 64e3]]
    maker.add("m", "mlc", {"mode": "bandwidth_matrix"}, make.matrix_text(rates, bandwidth=True))
    (drawing,) = page(maker).machines

    said = {n.possible for package in drawing.packages if package.memory for n in package.memory.numbers}
    assert said == {"75 % of the 85.3 GB/s of its modules (an even share)"}


def test_of_unknown_modules_it_says_once_what_to_do(make: Any, tmp_path: Path) -> None:
    """It stood at each number of memory and once more below the machine."""
    maker = two_nodes(make, tmp_path / "r.db")
    stream(maker, make, 60e3)
    add(maker, make, rows(66e3, 80.0, 310.0))
    path = maker.write()
    built = build.build(load([path]))
    html = render_report([path], tmp_path / "r.html").read_text(encoding="utf-8")

    said = "Share of the possible: needs the modules, which root’s dmidecode names where the firmware lists them."
    assert [n.lacks for n in built.key_numbers if n.unit == "GB/s"] == [said, said]
    assert html.lower().count(said.lower().removesuffix(".")) == 1
    assert built.marks.endswith(said)


# --- storage -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("transfers", "width", "rate"), [(5.0, 2, 1e9), (8.0, 4, 3.938e9), (16.0, 4, 7.877e9), (64.0, 4, 30.25e9)])  # fmt: skip
def test_a_pcie_link_moves_what_its_code_leaves(transfers: float, width: int, rate: float) -> None:
    assert pcie_rate(transfers, width) == pytest.approx(rate, rel=1e-3)


def test_the_link_of_each_nvme_disk_is_read(tmp_path: Path) -> None:
    for disk, folder, files in (
        ("nvme0n1", "device/device", {"current_link_speed": "16.0 GT/s PCIe\n", "current_link_width": "4\n"}),
        ("nvme1n1", "device/device", {"current_link_speed": "Unknown\n", "current_link_width": "0\n"}),
        ("sda", "device", {"current_link_speed": "8.0 GT/s PCIe\n", "current_link_width": "4\n"}),
    ):
        at = tmp_path / "block" / disk / folder
        at.mkdir(parents=True)
        for name, text in files.items():
            (at / name).write_text(text)

    links = {key: value for key, value in probe.facts(tmp_path).items() if "pcie" in key}
    assert links == {"pcie_link_nvme0n1_bytes_per_s": pytest.approx(7.877e9, rel=1e-3)}
