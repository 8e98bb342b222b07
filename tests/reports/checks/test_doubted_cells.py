"""How cells that a check doubts are counted below a figure: those of many sessions once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from reports.checks import doubts


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
