"""A large file that is read in short says what the same file says when it is held."""

from __future__ import annotations

import gzip
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store import in_short, result_file
from orchestrator.store.rows import Packed
from parsers.errors import UserError
from reports import show
from reports.checks.audit import audit, counted
from reports.compare import formats
from reports.compare.comparison import compare
from reports.compare.model import Ask
from reports.compare.sides import side
from reports.export import openmetrics
from reports.export.tables import export
from reports.results.load import load
from reports.results.model import Run

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(autouse=True)
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as one of many runs that are in the cache."""
    monkeypatch.setattr(in_short, "MANY", 1)
    monkeypatch.setattr(result_file.ResultFile, "uncached", lambda _: 0)


@pytest.fixture(
    params=[
        pytest.param("texts", marks=pytest.mark.slow),
        "schema-1",
        "schema-2",
    ]
)
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "texts":
        return Path(request.getfixturevalue("texts"))
    found = tmp_path / request.param / "r.db"
    found.parent.mkdir()
    found.write_bytes(gzip.decompress((FIXTURES / "result_files" / f"{request.param}.db.gz").read_bytes()))
    return found


def said(path: Path, other: Path) -> dict[str, Any]:
    """Return all that is said of a file, and of it beside another one."""
    found: dict[str, Any] = {}
    for name, asked in {
        "show": lambda: show.show_result(path),
        "runs": lambda: show.show_runs(path),
        "csv": lambda: export([path], "csv"),
        "json": lambda: export([path], "json"),
        "wide": lambda: export([path], "csv", "wide"),
        "openmetrics": lambda: re.sub(r"[0-9.]+$", "", openmetrics.text(load([path]))),
        "audit": lambda: (audit(results := load([path])), counted(results)),
        "records": lambda: [plain(run) for run in load([path]).runs],
        "compare": lambda: formats.as_json(
            compare(side("A", "A", load([path])), side("B", "B", load([other])), Ask(across_programs=True))
        ),
    }.items():
        try:
            found[name] = asked()
        except UserError as error:
            found[name] = str(error)
    return found


def plain(run: Run) -> object:
    """Return all that is recorded and read of a run."""
    record, parsed = run.record, run.parsed or run.aside
    return (
        {name: getattr(record, name) for name in record.__slots__} | {name: (v := getattr(record, name)) and dict(v) for name in ("seen", "usage", "counters")},
        bool(record.counters), run.unreadable, run.disturbance, run.version, run.options,
        parsed and (parsed.flags, dict(parsed.facts), {name: (t.columns, list(t.rows)) for name, t in parsed.tables.items()}, list(parsed.measured())),
    )  # fmt: skip


def change(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as db:
        db.execute(statement, values)
    db.close()


def other_of(path: Path) -> Path:
    """Return a copy of a file, of another session."""
    other = path.with_name("other.db")
    shutil.copy(path, other)
    change(other, "UPDATE session SET seed = seed + 1")
    return other


def test_it_says_what_the_texts_say(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = other_of(file)
    before = file.read_bytes()
    with monkeypatch.context() as few:
        few.setattr(in_short, "MANY", 10**9)
        from_texts = said(file, other)
    monkeypatch.setattr(in_short, "_HELD", 2)

    assert said(file, other) == from_texts
    assert file.read_bytes() == before


def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of the runs whose texts are read from now on."""
    read: list[int] = []
    real = result_file.ResultFile.parsed

    def counting(self: Any, record: Any, cell: Any, **how: Any) -> Any:
        read.append(record.run_id)
        return real(self, record, cell, **how)

    monkeypatch.setattr(result_file.ResultFile, "parsed", counting)
    return read


def test_large_tables_are_not_held_together(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_short, "_WEIGHT_HELD", 0)
    runs = [run for run in load([texts]).runs if run.parsed][:2]
    read = reads(monkeypatch)

    assert [len(list(run.measured())) > 0 for run in (*runs, *runs)] == [True] * 4

    assert read == [run.record.run_id for run in (*runs, *runs)]


def test_who_reads_a_file_first_holds_no_long_column_of_its_runs(texts: Path) -> None:
    """Of a hundred thousand runs they take 300 MB."""
    records = [run.record for run in load([texts]).started]
    assert any(record.usage["user_s"] for record in records)
    held = [record for record in records for column in (record.seen, record.usage, record.counters) if isinstance(column, Packed)]  # fmt: skip
    assert not held


def test_a_file_that_goes_meanwhile_was_read(texts: Path) -> None:
    before = [plain(run) for run in load([texts]).runs]
    results = load([texts])
    texts.unlink()

    assert [plain(run) for run in results.runs] == before


def test_of_very_many_files_one_that_was_replaced_is_not_read_as_the_old_one(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_short, "_MOST_OPEN", 0)
    before = [plain(run) for run in load([texts]).runs]
    results = load([texts])
    assert [plain(run) for run in results.runs] == before
    results = load([texts])
    shutil.copy(texts, texts.with_name("copy.db")).replace(texts)

    with pytest.raises(UserError, match="was replaced while it was read"):
        list(results.runs[0].measured())
