"""What is kept of the runs of a large file changes nothing that is said of them: from the texts and from what is kept of them comes
the same, and what is kept is left aside as soon as it is damaged, of another program, or of other runs."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store import in_short, result_file
from orchestrator.store.result_file import Damaged
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
from reports.report.render import render_report
from reports.results import remembered
from reports.results.load import load
from reports.results.model import Results, Run

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(autouse=True)
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as one of many runs."""
    monkeypatch.setattr(remembered, "MANY", 1)


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
    """Return all that is said of a file, and of it beside another one. No answer is kept that hides what is made of the runs."""
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
        forget(path, "question NOT LIKE 'in short%'")
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


def forget(path: Path, where: str) -> None:
    with sqlite3.connect(path) as db:
        if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'kept_answer'").fetchone():
            db.execute(f"DELETE FROM kept_answer WHERE {where}")
    db.close()


def change(path: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(path) as db:
        db.execute(statement, values)
    db.close()


def kept(path: Path) -> int:
    with sqlite3.connect(path) as db:
        (count,) = db.execute("SELECT count(*) FROM kept_answer WHERE question LIKE 'in short%'").fetchone()
    db.close()
    return int(count)


def other_of(path: Path) -> Path:
    """Return a copy of a file, of another session."""
    other = path.with_name("other.db")
    shutil.copy(path, other)
    change(other, "UPDATE session SET seed = seed + 1")
    return other


def test_what_is_kept_says_what_the_texts_say(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = other_of(file)
    with monkeypatch.context() as few:
        few.setattr(remembered, "MANY", 10**9)
        from_texts = said(file, other)
    monkeypatch.setattr(in_short, "_AT_ONCE", 7)
    monkeypatch.setattr(in_short, "_HELD", 2)

    assert said(file, other) == from_texts  # while it is read for the first time, and then by what is kept
    captured = "taken in" in from_texts["runs"]
    assert (kept(file) == 0) is captured
    change(file, "DELETE FROM parsed")
    assert said(file, other) == from_texts
    assert (kept(file) == 0) is captured


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_page_of_what_is_kept_is_that_of_the_texts(
    full_result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(shutil.copy(full_result, tmp_path / "r.db"))
    with monkeypatch.context() as few:
        few.setattr(remembered, "MANY", 10**9)
        from_texts = render_report([file], tmp_path / "texts.html", static=True).read_bytes()
    load([file])
    assert kept(file)

    assert render_report([file], tmp_path / "kept.html", static=True).read_bytes() == from_texts


def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the numbers of the runs whose texts are read from now on."""
    read: list[int] = []
    real = result_file.ResultFile.parsed

    def counting(self: Any, record: Any, cell: Any, **how: Any) -> Any:
        read.append(record.run_id)
        return real(self, record, cell, **how)

    monkeypatch.setattr(result_file.ResultFile, "parsed", counting)
    return read


def test_runs_of_which_all_is_kept_are_not_read(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = reads(monkeypatch)
    first = load([texts])
    assert len(read) == sum(run.record.status in ("ok", "disturbed") for run in first.started)
    read.clear()

    results = load([texts])
    assert [run.version for run in results.runs]
    assert not read
    run = results.runs[0]
    assert len(list(run.measured())) == len(list(run.measured())) > 0
    assert read == [run.record.run_id]


def test_large_tables_are_not_held_together(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load([texts])
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


@pytest.mark.slow
def test_an_export_reads_each_run_once(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    export([texts], "csv", tool="fio")
    monkeypatch.setattr(in_short, "_HELD", 1)
    read = reads(monkeypatch)
    export([texts], "csv", tool="fio")

    assert read
    assert len(read) == len({*read})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:50] + bytes([data[50] ^ 1]) + data[51:],
        lambda data: again(data, lambda text: text.replace('"runs"', '"walks"')),
        lambda data: again(data, lambda text: re.sub(r'"runs": \[\[1,', '"runs": [[2,', text)),
        lambda data: again(data, lambda text: text.replace("fio", "oif")[:-9] + "]]}"),
        lambda data: again(data, lambda text: "[]"),
        lambda data: again(data, lambda text: '{"shared": [], "runs": []}'),
        lambda data: again(data, lambda text: '{"shared": 7, "runs": [7]}'),
        lambda data: again(data, lambda text: re.sub(r"\[1, \d+, \d+, \[", "[1, 0, 0, [[], ", text)),
        lambda data: again(data, lambda text: re.sub(r"\[1, \d+, ", "[1, 1000000, ", text)),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_what_is_not_as_it_was_kept_is_read_again(texts: Path, spoil: Callable[[bytes], bytes]) -> None:
    before = [plain(run) for run in load([texts]).runs]
    with sqlite3.connect(texts) as db:
        for question, data in db.execute("SELECT question, zlib FROM kept_answer").fetchall():
            db.execute("UPDATE kept_answer SET zlib = ? WHERE question = ?", (spoil(data), question))
    db.close()

    assert [plain(run) for run in load([texts]).runs] == before


def again(data: bytes, changed: Callable[[str], str]) -> bytes:
    """Return a kept answer with another text, whole in itself."""
    import hashlib

    head, _, text = zlib.decompress(data[32:]).decode().partition("\n")
    packed = zlib.compress(f"{head}\n{changed(text)}".encode())
    return hashlib.sha256(packed).digest() + packed


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE run SET usage = '{\"user_s\": 77}' WHERE run_id = 1",
        "UPDATE run SET counters = '{}' WHERE run_id = 2",
        "UPDATE run SET status = 'failed' WHERE run_id = 1",
        "UPDATE session SET host = 'elsewhere'",
        "DELETE FROM run WHERE run_id = 3",
    ],
)
@pytest.mark.slow
def test_of_a_file_that_changed_nothing_kept_is_used(
    texts: Path, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    load([texts])
    change(texts, statement)
    now = [plain(run) for run in load([texts]).runs]

    monkeypatch.setattr(remembered, "MANY", 10**9)
    assert now == [plain(run) for run in load([texts]).runs]


def test_what_another_program_kept_is_not_used(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load([texts])
    with sqlite3.connect(texts) as db:
        (before,) = db.execute("SELECT of FROM kept_answer").fetchone()
    monkeypatch.setattr(remembered, "_program", lambda: "another")
    load([texts])

    with sqlite3.connect(texts) as db:
        (now,) = db.execute("SELECT DISTINCT of FROM kept_answer").fetchone()
    db.close()
    assert now != before


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_read_as_it_is(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.access
    monkeypatch.setattr(result_file.os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    before = texts.read_bytes()

    first, second = ([plain(run) for run in load([texts]).runs] for _ in range(2))

    assert first == second
    assert texts.read_bytes() == before
    monkeypatch.undo()
    monkeypatch.setattr(remembered, "MANY", 1)
    load([texts])
    assert kept(texts)
    monkeypatch.setattr(result_file.os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    assert [plain(run) for run in load([texts]).runs] == first


def results_of(path: Path) -> Results:
    load([path])
    return load([path])


def test_a_file_that_goes_meanwhile_was_read(texts: Path) -> None:
    before = [plain(run) for run in load([texts]).runs]
    results = results_of(texts)
    texts.unlink()

    assert [plain(run) for run in results.runs] == before


def test_of_very_many_files_one_that_was_replaced_is_not_read_as_the_old_one(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_short, "_MOST_OPEN", 0)
    before = [plain(run) for run in load([texts]).runs]
    results = results_of(texts)
    assert [plain(run) for run in results.runs] == before
    results = results_of(texts)
    shutil.copy(texts, texts.with_name("copy.db")).replace(texts)

    with pytest.raises(UserError, match="was replaced while it was read"):
        list(results.runs[0].measured())


def test_a_column_that_pinsweep_does_not_write_is_named_when_it_is_read(texts: Path) -> None:
    """Whoever changes a file can keep in it that it did not change."""
    load([texts])
    with sqlite3.connect(texts) as db:
        (of,) = db.execute("SELECT DISTINCT of FROM kept_answer").fetchone()
        db.execute("UPDATE run SET usage = '[]' WHERE run_id = 1")
    db.close()
    with pytest.MonkeyPatch.context() as forged:
        forged.setattr(remembered, "known_by", lambda _: of)
        results = load([texts])

    with pytest.raises(Damaged, match="run 1, usage is not a JSON object"):
        dict(results.runs[0].record.usage)
