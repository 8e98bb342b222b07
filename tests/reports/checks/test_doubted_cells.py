"""How cells that a check doubts are counted below a figure: those of many sessions once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reports.checks import doubts
from reports.results.load import load


def runs(files: int, hosts: int) -> dict[Any, Any]:
    """Three cells on each of some hosts, in as many files."""
    return {
        (f"{host}-{file}", point): SimpleNamespace(
            captured=False, host=f"n{host}", text="", record=SimpleNamespace(point_id=point)
        )
        for host in range(hosts)
        for file in range(files)
        for point in "abc"
    }


def test_a_direction_of_fio_is_doubted_alone_its_iops_with_its_mean_latency(make: Any, tmp_path: Path) -> None:
    """Of a mix whose writes were far apart the reads' mean was marked; and one that was as far apart as its IOPS was not, where it fell
    short of three times."""
    maker = make.Maker(tmp_path / "a.db")
    for mean in (1000.0, 300.0):
        rates = {"read": (5e3, 600.0), "write": (5e3, mean)}
        maker.add("s", "fio", {"rw": "randrw", "bs": "4k", "iodepth": 8}, make.fio_text(rates, bs="4k", rw="randrw", iodepth=8))  # fmt: skip
    for iops in (4e3, 10e3):
        text = make.fio_text({"write": (iops, 1e6 / iops)}, bs="4k", rw="randwrite", iodepth=1)
        maker.add("s", "fio", {"rw": "randwrite", "bs": "4k", "iodepth": 1}, text)
    results = load([maker.write()])

    guilty = doubts.of_results(results)
    told = {metric for _, _, metric in (key for key in guilty if len(key) > 2)}
    assert {"IOPS/write", "latency/mean/write"} <= told
    assert not any(metric.endswith("/read") for metric in told)
