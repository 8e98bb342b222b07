"""The digest of a cell's numbers, kept in a large file: a comparison by it is that by the texts, whatever becomes of what is kept."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestrator.store.result_file import ResultFile
from pinsweep.cli import cli
from reports import numbers, readings
from reports.checks import audited as checks_audited
from reports.checks.audited import audited
from reports.compare import formats
from reports.compare.comparison import compare
from reports.compare.model import Ask
from reports.compare.sides import side
from reports.export.tables import export
from reports.numbers import kept
from reports.numbers.kept import Kept
from reports.report.render import render_report
from reports.results import remembered
from reports.results.load import load
from reports.results.model import Results


@pytest.fixture(autouse=True)
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as one of many runs."""
    monkeypatch.setattr(remembered, "MANY", 1)


def told(results: Results) -> list[object]:
    """Return what is told of each run, by what is kept of it, as texts, so that 1 is not 1.0."""
    own = Kept(results)
    found = [
        (
            run.record.run_id,
            repr(list(own.numbers(run))),
            repr([(name, tuple(bins)) for name, bins in own.histograms(run)]),
        )
        for tool in results.tools
        for run in results.good(tool)
    ]
    own.close()
    return found


def of_texts(results: Results) -> list[object]:
    return [
        (run.record.run_id, repr(numbers.numbers(run)), repr(numbers.histograms(run)))
        for tool in results.tools
        for run in results.good(tool)
    ]


def read(results: Results) -> list[object]:
    """Return what the readings of its tool make of each run, of a tool without any its measurements, as texts."""
    return [
        (run.record.run_id, [(one.name, repr(one(run))) for one in readings.of_tool(tool)] or repr(list(run.measured())))
        for tool in results.tools
        for run in results.good(tool)
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("command", ["compare", "report", "show", "export"])
def test_large_files_that_nobody_audited_are_audited_before_they_are_read(
    command: str, full_result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of 100 000 runs took a GB to be compared, one 620 to 720 MiB, and their numbers were worked out twice."""
    paths = [Path(shutil.copy(full_result, tmp_path / name)) for name in ("a.db", "b.db")]
    with sqlite3.connect(paths[1]) as db:
        db.execute("UPDATE session SET seed = seed + 1")
    db.close()
    if command != "compare":
        del paths[1:]
    out = tmp_path / "out.html"
    words = [command, *map(str, paths), *(["-o", str(out)] if command in ("report", "export") else [])]
    plain = CliRunner().invoke(cli, words)
    assert plain.exception is None or isinstance(plain.exception, SystemExit)
    written = out.exists() and out.read_bytes()
    for path in paths:
        with sqlite3.connect(path) as db:
            db.execute("DELETE FROM kept_answer")
        db.close()
    monkeypatch.setattr("reports.results.apart.LARGE", 0)
    pids, parsed = [], ResultFile.parsed
    monkeypatch.setattr(ResultFile, "parsed", lambda *of, **how: pids.append(1) or parsed(*of, **how))

    asked = CliRunner().invoke(cli, words)

    assert asked.output == plain.output
    assert (out.exists() and out.read_bytes()) == written
    assert all(rows(path) for path in paths)
    assert not pids or command in (
        "show",
        "export",
    )  # of this process: it reads no text, but for what nobody keeps


def rows(path: Path) -> int:
    with sqlite3.connect(path) as db:
        query = "SELECT count(*) FROM kept_answer WHERE question LIKE 'numbers %' OR question LIKE 'shapes %'"
        (count,) = db.execute(query).fetchone()
    db.close()
    return int(count)


@pytest.fixture(scope="module")
def audits(
    texts_result: Path, full_result: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Audited]:
    """Both files with what is kept of them, and what their texts say, worked out once."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remembered, "MANY", 1)
        for name, result in (("texts", texts_result), ("full", full_result)):
            path = Path(shutil.copy(result, tmp_path_factory.mktemp("audited") / "r.db"))
            audited([path])
            found[name] = Audited(path, of_texts(load([path])), read(load([path])))
    return found


@dataclass(frozen=True)
class Audited:
    path: Path
    numbers: list[object]
    readings: list[object]

    def copy(self, folder: Path) -> Path:
        return Path(shutil.copy(self.path, folder / "audited.db"))


@pytest.fixture(params=["texts", pytest.param("full", marks=pytest.mark.slow)])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "texts":
        return Path(request.getfixturevalue("texts"))
    return Path(shutil.copy(request.getfixturevalue("full_result"), tmp_path / "r.db"))


def test_what_is_kept_is_what_the_texts_say(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audited([file])
    results = load([file])
    expected = of_texts(results)
    cells = {run.record.point_id for tool in results.tools for run in results.good(tool)}
    assert rows(file) == 2 * len(cells)

    monkeypatch.setattr(numbers, "numbers", None)  # nothing is worked out again
    monkeypatch.setattr(numbers, "histograms", None)
    assert told(results) == expected


@pytest.mark.parametrize("of", ["texts", "full"])
@pytest.mark.slow
def test_a_copy_of_a_file_has_what_is_kept_of_it(
    of: str, audits: dict[str, Audited], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = load([audits[of].copy(tmp_path)])
    monkeypatch.setattr(numbers, "numbers", None)
    monkeypatch.setattr(numbers, "histograms", None)
    monkeypatch.setattr(ResultFile, "parsed", None)

    assert told(results) == audits[of].numbers
    assert read(results) == audits[of].readings


@pytest.mark.slow
def test_a_comparison_by_what_is_kept_is_that_by_the_texts(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = file.with_name("other.db")
    shutil.copy(file, other)
    with sqlite3.connect(other) as db:
        db.execute("UPDATE session SET seed = seed + 1")
        for run_id, size, data in db.execute("SELECT run_id, size_bytes, zlib FROM output WHERE stream = 'stdout' AND run_id % 3 = 1").fetchall():  # fmt: skip
            text = re.sub(rb"\.(\d)", rb".1\1", zlib.decompress(data))[:size].ljust(size)
            db.execute("UPDATE output SET zlib = ? WHERE run_id = ? AND stream = 'stdout'", (zlib.compress(text), run_id))  # fmt: skip
        db.execute("DELETE FROM parsed")
    db.close()

    def compared() -> str:
        return formats.as_json(
            compare(side("A", "A", load([file])), side("B", "B", load([other])), Ask(across_programs=True))
        )

    with monkeypatch.context() as few:
        few.setattr(remembered, "MANY", 10**9)
        by_texts = compared()
    for path in (file, other):
        audited([path])

    assert rows(file)
    assert rows(other)
    assert compared() == by_texts


@pytest.mark.slow
def test_readings_that_are_kept_are_those_of_the_texts(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audited([file])
    with monkeypatch.context() as few:
        few.setattr(remembered, "MANY", 10**9)
        expected = read(load([file]))
    results = load([file])
    texts: list[int] = []
    real = ResultFile.parsed
    monkeypatch.setattr(ResultFile, "parsed", lambda of, record, cell, **how: texts.append(record.run_id) or real(of, record, cell, **how))  # fmt: skip

    assert read(results) == expected
    assert not texts
    assert {
        name for _, own in expected for name in ([one for one, _ in own] if isinstance(own, list) else [])
    }


def test_what_a_first_audit_keeps_is_there_when_its_checks_begin(
    texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They read it then, and not each text again; and what the readings made of a run is neither held then nor by a check
    for the next."""
    real, there, left = checks_audited.audit, [], []

    def audit(results: Results) -> Any:
        good = [run.parsed for tool in results.tools for run in results.good(tool) if run.parsed]
        there.append((rows(texts), [parsed for parsed in good if parsed._once]))
        found = real(results)
        left.extend(parsed for parsed in good if parsed._once)
        return found

    monkeypatch.setattr(checks_audited, "audit", audit)
    audited([texts])
    assert [bool(kept_rows) for kept_rows, _ in there] == [True]
    assert not there[0][1]
    assert not left


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_a_page_reads_few_texts(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn from bins is read from the texts, and hardly anything else."""
    audited([file])
    texts: list[tuple[str, str]] = []
    real = ResultFile.parsed
    monkeypatch.setattr(ResultFile, "parsed", lambda of, record, cell, **how: texts.append((cell.tool, record.status)) or real(of, record, cell, **how))  # fmt: skip
    render_report([file], tmp_path / "r.html", static=True)

    others = [tool for tool, status in texts if status == "ok" and tool not in ("fio", "poke")]
    assert len(others) <= len(load([file]).runs) // 10  # those that lead a page, say


def test_an_export_keeps_none(texts: Path) -> None:
    export([texts], "csv")

    assert not rows(texts)
    audited([texts])
    assert not rows(texts)  # its audit is there: a comparison works the numbers out
    load([texts])


@pytest.mark.slow
def test_several_files_have_theirs(texts: Path, full_result: Path, tmp_path: Path) -> None:
    other = Path(shutil.copy(full_result, tmp_path / "other.db"))
    for path in (texts, other):
        audited([path])
    results = load([texts, other])

    assert told(results) == of_texts(results)


def again(data: bytes, changed: Callable[[Any], Any]) -> bytes:
    """Return a kept answer that says something else, whole in itself."""
    head, _, text = zlib.decompress(data[32:]).decode().partition("\n")
    packed = zlib.compress(f"{head}\n{json.dumps(changed(json.loads(text)))}".encode())
    return hashlib.sha256(packed).digest() + packed


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: again(data, lambda said: []),
        lambda data: again(data, lambda said: {**said, "names": []}),
        lambda data: again(data, lambda said: {**said, "names": ["[]"] * 99}),
        lambda data: again(data, lambda said: {**said, "heads": [[]], "bins": []}),
        lambda data: again(data, lambda said: {**said, "heads": [["0"]] * 9, "bins": [["a", "b"]] * 999}),
        lambda data: again(data, lambda said: {**said, "runs": [[*row[:-1], [None, *row[-1]]] for row in said["runs"]]}),
        lambda data: again(data, lambda said: {**said, "runs": [[row[0]] for row in said["runs"]]}),
        lambda data: again(data, lambda said: {**said, "runs": []}),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_what_is_not_as_it_was_kept_is_worked_out_again(
    audits: dict[str, Audited], tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    texts = audits["texts"].copy(tmp_path)
    with sqlite3.connect(texts) as db:
        for question, data in db.execute("SELECT question, zlib FROM kept_answer WHERE question LIKE 'numbers %' OR question LIKE 'shapes %'").fetchall():  # fmt: skip
            db.execute("UPDATE kept_answer SET zlib = ? WHERE question = ?", (spoil(data), question))
    db.close()

    assert told(load([texts])) == audits["texts"].numbers


@pytest.mark.parametrize("of", ["texts", "full"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: again(data, lambda said: []),
        lambda data: again(data, lambda said: {"heads": 7, "runs": [[1, {"fio jobs": [0, []]}]]}),
        lambda data: again(data, lambda said: {**said, "heads": []}),
        lambda data: again(data, lambda said: {**said, "heads": [7] * 99}),
        lambda data: again(data, lambda said: {**said, "heads": ["["] * 99}),
        lambda data: again(data, lambda said: {**said, "heads": ["[[]]"] * 99}),
        lambda data: again(data, lambda said: {**said, "heads": ["[" * 10**5, *["["] * 99]}),
        lambda data: again(data, lambda said: {**said, "heads": [one.replace('"', "") for one in said["heads"]]}),
        lambda data: again(data, lambda said: {**said, "heads": [re.sub(r'"[a-z]+"', "7", one) for one in said["heads"]]}),
        lambda data: again(data, lambda said: {**said, "runs": [[one, {}] for one, _ in said["runs"]]}),
        lambda data: again(data, lambda said: {**said, "runs": [[[], {}]]}),
        lambda data: again(data, lambda said: {**said, "runs": numbered(said, lambda values: [*values, 1.0])}),
        lambda data: again(data, lambda said: {**said, "runs": numbered(said, lambda values: values[1:])}),
        lambda data: again(data, lambda said: {**said, "runs": numbered(said, lambda values: ["1"] * len(values))}),
        lambda data: again(data, lambda said: {**said, "runs": numbered(said, lambda values: [True] * len(values))}),
        lambda data: again(data, lambda said: {**said, "runs": numbered(said, lambda values: [math.inf] * len(values))}),
    ],
)  # fmt: skip
@pytest.mark.slow
def test_readings_that_are_not_as_they_were_kept_are_read_again(
    of: str, audits: dict[str, Audited], tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    file = audits[of].copy(tmp_path)
    with sqlite3.connect(file) as db:
        for question, data in db.execute("SELECT question, zlib FROM kept_answer WHERE question LIKE 'readings %'").fetchall():  # fmt: skip
            db.execute("UPDATE kept_answer SET zlib = ? WHERE question = ?", (spoil(data), question))
    db.close()

    assert read(load([file])) == audits[of].readings


def numbered(said: Any, changed: Callable[[list[Any]], list[Any]]) -> list[Any]:
    """Return the runs of a cell with other numbers in all their readings."""
    return [
        [run_id, {name: [at, changed(values)] for name, (at, values) in own.items()}]
        for run_id, own in said["runs"]
    ]


def test_of_runs_that_came_since_nothing_is_kept(texts: Path) -> None:
    results = load([texts])
    with sqlite3.connect(texts) as db:
        db.execute("DELETE FROM output WHERE run_id = 2")
        db.execute("DELETE FROM run WHERE run_id = 2")
    db.close()

    kept.keep(results)
    assert not rows(texts)
