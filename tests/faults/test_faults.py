"""What is broken while a sweep runs loses no announced run: a few rounds of each kind of scripts/faults.py."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.programs import program


@pytest.fixture(scope="module")
def faults() -> ModuleType:
    return program("scripts/faults.py")


def assert_held(faults: ModuleType, kind: str, seed: int) -> None:
    try:
        found = faults.one_round(kind, seed)
    except faults.Impossible as why:
        pytest.skip(str(why))

    assert not found.problems
    assert found.lost == 0
    assert found.announced == faults.CELLS


@pytest.mark.parametrize(
    "kind",
    ["kill", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("kill_at_write", "full_disk", "no_descriptors", "two_writers"))],
)  # fmt: skip
def test_no_announced_run_is_lost(faults: ModuleType, kind: str) -> None:
    assert_held(faults, kind, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "seed"),
    [("kill", 3), ("kill", 4), ("kill_at_write", 3), ("kill_at_write", 4), ("full_file_system", 3), ("full_file_system", 4), ("damage", 3)],
)  # fmt: skip
def test_no_announced_run_is_lost_in_more_rounds(faults: ModuleType, kind: str, seed: int) -> None:
    assert_held(faults, kind, seed)


@pytest.mark.slow
def test_a_lost_a_changed_and_a_doubled_run_would_be_seen(faults: ModuleType, tmp_path: Path) -> None:
    """The campaign itself finds what it is for."""
    import random
    import sqlite3
    import zlib
    from contextlib import closing

    sweep = faults.Sweep(tmp_path, random.Random(1))
    sweep.heard(sweep.start())
    sweep.check()
    assert not sweep.found.problems
    with closing(sqlite3.connect(tmp_path / "r.db")) as db, db:
        db.execute("DELETE FROM run WHERE run_id = 1")
        db.execute("UPDATE output SET zlib = ? WHERE run_id = 2 AND stream = 'stdout'", (zlib.compress(b"other"),))
        db.execute("UPDATE run SET point_id = (SELECT point_id FROM run WHERE run_id = 4), repeat = 9 WHERE run_id = 3")

    sweep.check()

    said = "\n".join(sweep.found.problems)
    assert "announced and not there" in said
    assert "holds b'other'" in said
    assert "doubled" in said
    assert sweep.found.lost == 2
