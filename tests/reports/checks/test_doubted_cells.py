"""How cells that a check doubts are counted below a figure: those of many sessions once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.checks import checks, doubts
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


@pytest.mark.parametrize(
    ("files", "hosts", "doubted", "said"),
    [
        (30, 1, lambda host, file, point: point == "a", "1 of 3 cells: n0 a"),
        (30, 1, lambda host, file, point: point == "a" and file < 2, "1 of 3 cells, in 2 of 30 files: n0 a"),
        (3, 5, lambda host, file, point: point == "a", "5 of 15 cells: n0 a; n1 a; n2 a and 2 more"),
        (3, 5, lambda host, file, point: point == "a" and file, "5 of 15 cells, in 10 of 15 files: n0 a; n1 a; n2 a and 2 more"),
        (3, 5, lambda host, file, point: point == "a" and host and file, "4 of 15 cells, in 8 of 12 files with them: n1 a; n2 a; n3 a and 1 more"),
        (2, 1, lambda host, file, point: file, "all 3 cells, in 1 of 2 files"),
        (1, 1, lambda host, file, point: point != "b", "2 of 3 cells: n0 a; n0 c"),
    ],
)  # fmt: skip
def test_cells_of_several_sessions_are_counted_once(files: int, hosts: int, doubted: Any, said: str) -> None:
    """ "39 of 200 cells: scaling, n00, local, threads 8" three times "and 36 more": three sessions of each of 13 hosts."""
    shown = runs(files, hosts)
    names = {cell: f"{run.host} {run.record.point_id}" for cell, run in shown.items()}
    found = [cell for cell in shown if doubted(*map(int, cell[0].split("-")), cell[1])]

    assert doubts._whose(found, shown, names) == said


def test_what_is_counted_is_said_where_it_is_not_all_that_is_shown() -> None:
    """S1 was told of "2 of 8 cells" of which six were disturbed, and not judged; and of "the only cell" of a table of three programs."""
    shown = {
        name: SimpleNamespace(tool=tool, program_named=SimpleNamespace(kind=tool.upper()), record=SimpleNamespace(status=status))
        for name, tool, status in (("a", "stream", "ok"), ("b", "stream", "disturbed"), ("c", "stream", "ok"), ("d", "mlc", "ok"))
    }  # fmt: skip
    kinds = {check.id: check for check in checks()}

    def said(key: str, *found: str) -> str:
        judged = doubts._judged(kinds[key], shown, found)
        alike = {
            cell: SimpleNamespace(captured=False, host="n", text="", record=SimpleNamespace(point_id=cell))
            for cell in judged
        }
        whose = doubts._called(kinds[key], judged, shown)
        return doubts._whose([("f", cell) for cell in found], {("f", c): run for c, run in alike.items()}, {("f", c): c for c in judged}, *whose)  # fmt: skip

    assert said("S1", "a", "c") == "both quiet cells of STREAM"
    assert said("S1", "a") == "1 of 2 quiet cells of STREAM: a"
    assert said("D1", "b") == "1 of 4 cells: b"
    assert said("G11", "d") == "1 of 3 quiet cells: d"
    assert said("M1", "d") == "the only cell of MLC"


def test_a_direction_of_fio_is_doubted_alone_its_iops_with_its_mean_latency(
    make: Any, tmp_path: Path
) -> None:
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
