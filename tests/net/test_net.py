"""The numbers that users see, of fifteen kinds of result files: compared as numbers, with no sentence in them.

A row of `golden/COMMAND-FILE.csv` is one number of an answer: what identifies it, its name, its value. `PINSWEEP_BLESS=1 pytest tests/net`
writes the files again: a number that moves belongs under "Changed measurements" in CHANGELOG.md.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pinsweep.cli import cli
from tests.net.build import build

GOLDEN = Path(__file__).parent / "golden"
SINGLE = (
    "fio-jobs", "fio-texts", "stream", "mlc", "imb", "poke", "command", "compare-a", "compare-b", "schema-1", "troubled", "allowed", "others",
)  # fmt: skip
UNSTABLE = {
    "file",
    "host",
    "program_version",
    "tool",
    "program",
    "sweep",
    "session",
    "repeat",
    "doubted_by",
    "value",
}
"""Columns of an export that a row needs not be identified by, and the ids of checks, which `audit` has."""

Row = tuple[str, ...]
Answer = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("net")
    build(made)
    return made


@pytest.fixture
def answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Answer:
    """answer(*words): what pinsweep prints on stdout, called in the folder of the files."""
    monkeypatch.chdir(folder)
    monkeypatch.delenv("PINSWEEP_INCLUDE")

    def call(*words: str) -> str:
        monkeypatch.setattr("pinsweep.terminal._begun", False)
        monkeypatch.setattr("sys.argv", ["pinsweep", *words])
        return CliRunner().invoke(cli, words, catch_exceptions=False).stdout

    return call


def settle(name: str, rows: Iterable[Row]) -> None:
    """Compare rows with a file of `golden/`, numbers to nine digits, or write it."""
    path = GOLDEN / f"{name}.csv"
    found = sorted(rows)
    if os.environ.get("PINSWEEP_BLESS"):
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(found)
    with path.open(encoding="utf-8", newline="") as file:
        golden = sorted(map(tuple, csv.reader(file)))

    assert [row[:-1] for row in found] == [row[:-1] for row in golden]
    assert [row for row, other in zip(found, golden, strict=True) if not same(row[-1], other[-1])] == []


def same(one: str, other: str) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=1e-9)
    except ValueError:
        return one == other


def text(value: Any) -> str:
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def labels(of: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={text(value)}" for key, value in sorted(of.items()) if value not in (None, ""))


def number(of: Mapping[str, Any]) -> str:
    """Return the name of a number: metric, statistic, kind, labels, unit."""
    return " ".join(filter(None, (of["metric"], of["statistic"], of["kind"], labels(of["labels"]), of["unit"])))  # fmt: skip


def values(row: Row, of: Mapping[str, Any], *names: str) -> Iterator[Row]:
    yield from ((*row, name, text(of[name])) for name in names)


@pytest.mark.parametrize("name", SINGLE)
def test_export(answer: Answer, name: str) -> None:
    rows = csv.DictReader(io.StringIO(answer("export", f"{name}.db")))

    settle(f"export-{name}", ((labels({k: v for k, v in row.items() if k not in UNSTABLE}), row["value"]) for row in rows))  # fmt: skip


@pytest.mark.parametrize("name", SINGLE)
def test_show(answer: Answer, name: str) -> None:
    def rows() -> Iterator[Row]:
        for cell in json.loads(answer("show", f"{name}.db", "--format", "json"))["cells"]:
            of = cell["point_id"], cell["sweep"], labels(cell["labels"]), text(cell["relation"])
            for one in cell["numbers"]:
                yield from values((*of, number(one)), one, "median", "low", "high")
            if cell["leading"]:
                yield from values((*of, "leading"), cell["leading"], "median", "low", "high")

    settle(f"show-{name}", rows())


@pytest.mark.parametrize("name", SINGLE)
def test_audit(answer: Answer, name: str) -> None:
    def rows() -> Iterator[Row]:
        for finding in json.loads(answer("audit", f"{name}.db", "--format", "json"))["findings"]:
            for doubt in finding["doubts"]:
                yield finding["id"], finding["level"], doubt["point_id"], text(doubt["metric"])

    settle(f"audit-{name}", rows())


def test_compare(answer: Answer) -> None:
    found = json.loads(answer("compare", "compare-a.db", "compare-b.db", "--format", "json"))

    def rows() -> Iterator[Row]:
        for cell in found["cells"]:
            of = cell["sweep"], labels(cell["labels"]), number(cell["name"])
            yield from values(of, cell, "verdict", "ratio", "low", "high", "p", "q", "tau", "threshold", "need_repeats")  # fmt: skip
            for side in ("a", "b"):
                yield (*of, side, text(cell[side]["median"]))

    settle("compare", rows())


def test_fleet(answer: Answer) -> None:
    found = json.loads(answer("fleet", "fleet", "--format", "json"))

    def rows() -> Iterator[Row]:
        for verdict, hosts in found["nodes"].items():
            yield from ((host, "verdict", verdict) for host in hosts)
        for one in found["groups"][0]["numbers"]:
            yield from values((one["point_id"], number(one["name"])), one, "median", "spread", "unseen")
        for one in found["odd"]:
            yield from values((one["node"], one["point_id"], number(one["name"])), one, "verdict", "value", "change", "z")  # fmt: skip

    settle("fleet", rows())


def test_history(answer: Answer) -> None:
    found = json.loads(answer("history", "history", "--format", "json"))

    def rows() -> Iterator[Row]:
        for step in found["steps"]:
            for one in step["numbers"]:
                yield from values((step["started_utc"], one["number"]), one, "word", "change", "ratio")
        for one in found["series"]:
            for session in one["sessions"]:
                yield one["point_id"], number(one["name"]), session["started_utc"], text(session["value"])

    settle("history", rows())
