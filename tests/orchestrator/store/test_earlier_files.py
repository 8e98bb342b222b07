"""Result files that earlier versions wrote: read as they are, and continued; kept in tests/fixtures/result_files."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store import readings
from orchestrator.store.database import SCHEMA_VERSION
from orchestrator.store.result_file import ResultFile, create_result, open_result
from parsers.errors import ParseError
from parsers.measurement import Parsed
from tests.conftest import Cli

KEPT = sorted((Path(__file__).parents[2] / "fixtures" / "result_files").glob("*.db.gz"))
NAMES = [path.name.removesuffix(".db.gz") for path in KEPT]


def layout(path: Path) -> tuple[int, frozenset[tuple[str, str]]]:
    """Return a file's schema version, and its columns and indexes."""
    with closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        columns = db.execute(
            "SELECT m.name, i.name FROM sqlite_master m, pragma_table_info(m.name) i WHERE m.type = 'table'"
            " UNION SELECT 'index', name FROM sqlite_master WHERE type = 'index'"
        )
        return int(version), frozenset((table, column) for table, column in columns)


def numbers(file: ResultFile) -> dict[int, Parsed | ParseError]:
    return file.parsed_runs(file.runs(), {stored.cell.point_id: stored.cell for stored in file.cells()})


@pytest.fixture(params=KEPT, ids=NAMES)
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "earlier.db"
    path.write_bytes(gzip.decompress(request.param.read_bytes()))
    return path


def test_its_numbers_are_read_and_its_pages_made(earlier: Path, pinsweep: Cli, tmp_path: Path) -> None:
    before = layout(earlier)
    exported = pinsweep("export", earlier, "--shape", "long").stdout.splitlines()
    shown = pinsweep("show", earlier)
    page = pinsweep("report", earlier, "-o", "page.html", "--static")

    header = exported[0].split(",")
    rows = [dict(zip(header, line.split(","), strict=False)) for line in exported[1:]]
    values = sorted((row["n"], float(row["value"])) for row in rows if row["metric"] == "reply")
    assert values == [("1", 1.5e6), ("1", 1.5e6), ("2", 2.5e6), ("2", 2.5e6)]  # ns
    assert shown.returncode == 0
    assert page.returncode == 0, page.stderr
    assert layout(earlier) == before  # reading changes no layout


def test_it_is_continued_with_all_that_it_holds(earlier: Path) -> None:
    layout_before = layout(earlier)
    with open_result(earlier) as file:
        before = [(file.runs(), file.cells(), file.sessions(), file.aliases())]
        outputs = [file.output(run.run_id) for run in file.runs()]
        says = numbers(file)
    with create_result(earlier) as file:
        after = [(file.runs(), file.cells(), file.sessions(), file.aliases())]
        assert [file.output(run.run_id) for run in file.runs()] == outputs
        before_run = layout(earlier)
        file.begin_session(
            started_utc="2026-01-01T00:00:00+00:00", version="0", argv=[], seed=1, host="h", facts={}, topology="", programs={}
        )  # fmt: skip
    with open_result(earlier) as file:
        assert numbers(file) == says
    with closing(sqlite3.connect(earlier)) as db:
        stored = db.execute(
            "SELECT value FROM measurement JOIN run USING (run_id) WHERE status = 'ok' AND NOT warm_up ORDER BY value"
        ).fetchall()

    assert stored == [(1.5e6,), (1.5e6,), (2.5e6,), (2.5e6,)]
    assert after == before
    assert before_run == layout_before
    assert layout(earlier)[0] == SCHEMA_VERSION


def test_a_file_whose_bringing_up_was_cut_is_read_and_brought_up(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def begin() -> None:
        with create_result(earlier) as file:
            file.begin_session(
                started_utc="2026-01-01T00:00:00+00:00", version="0", argv=[], seed=1, host="h", facts={}, topology="", programs={}
            )  # fmt: skip

    with open_result(earlier) as file:
        before = numbers(file)
    if layout(earlier)[0] == SCHEMA_VERSION:
        with sqlite3.connect(earlier) as db:
            db.execute("UPDATE reading SET version = 0")
    writes: list[int] = []
    write = readings.write

    def cut(*arguments: Any) -> None:
        writes.append(1)
        if len(writes) == 3:
            raise KeyboardInterrupt
        write(*arguments)

    with monkeypatch.context() as cutting:
        cutting.setattr("orchestrator.store.result_file._RUNS_AT_ONCE", 1)
        cutting.setattr(readings, "write", cut)
        with pytest.raises(KeyboardInterrupt):
            begin()
    with open_result(earlier) as file:
        assert numbers(file) == before
        assert len(readings.read(file._db, earlier)) == 2
    begin()
    with open_result(earlier) as file:
        assert numbers(file) == before
        assert readings.read(file._db, earlier).keys() == before.keys()


def test_the_layout_that_is_written_now_is_kept(tmp_path: Path) -> None:
    """A change of the tables adds a file to the fixtures, so that those of before stay readable."""
    new = tmp_path / "new.db"
    with create_result(new) as file:
        file.begin_session(
            started_utc="2026-01-01T00:00:00+00:00", version="0", argv=[], seed=1, host="h", facts={}, topology="", programs={}
        )  # fmt: skip
    known = []
    for kept in KEPT:
        path = tmp_path / kept.name
        path.write_bytes(gzip.decompress(kept.read_bytes()))
        version, columns = layout(path)
        known.append((version, {one for one in columns if one[0] != "alias"}))

    version, columns = layout(new)

    assert (version, {one for one in columns if one[0] != "alias"}) in known
    assert {version for version, _ in known} == set(range(1, SCHEMA_VERSION + 1))
