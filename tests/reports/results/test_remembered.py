"""What `show` and `audit` say of a file of many runs: made once, and again as soon as anything of it is not as it was."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports import show
from reports.checks.audit import audit, counted
from reports.checks.audited import audit_of, audited
from reports.export.tables import export
from reports.results import remembered
from reports.results.load import load

Reads = list[list[Path]]

METRICS = {"rate": {"regex": r"rate ([0-9.]+)", "unit": "MB/s", "better": "higher"}}
NOISY = (100, 101, 99, 180, 100, 102)


@pytest.fixture
def file(tmp_path: Path, make: Any) -> Path:
    """A file whose audit has something to say."""
    maker = make.Maker(tmp_path / "r.db")
    for n in (1, 2):
        for value in NOISY:
            maker.add(
                "s",
                "command",
                {"command": "x", "metrics": METRICS, "n": n},
                f"rate {value * n}\n",
                axes=["n"],
            )
    path: Path = maker.write()
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Every file counts as one of many runs; each time that all runs of one are read."""
    monkeypatch.setattr(remembered, "MANY", 1)
    found: Reads = []

    def counting(paths: Any, **options: Any) -> Any:
        found.append(list(paths))
        return load(paths, **options)

    monkeypatch.setattr("reports.show.load", counting)
    monkeypatch.setattr("reports.checks.audited.load", counting)
    return found


def change(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def test_the_runs_of_a_file_that_did_not_change_are_read_once(file: Path, reads: Reads) -> None:
    shown, found = show.show_result(file), audited([file])
    assert len(reads) == 1  # what `show` has audited needs no other look

    assert (show.show_result(file), audited([file])) == (shown, found)
    assert len(reads) == 1
    results = load([file])
    assert found == (audit(results), counted(results))
    assert found[0][0].about


def test_another_option_or_name_is_another_answer(file: Path, reads: Reads) -> None:
    plain = show.show_result(file)
    bars = show.show_result(file, bars=True)
    other = shutil.copy(file, file.with_name("other.db"))
    audited([file])

    assert bars != plain
    assert audited([other])[0][0].about == {("other.db", point) for _, point in audited([file])[0][0].about}
    assert len(reads) == 3
    assert (show.show_result(file), show.show_result(file, bars=True)) == (plain, bars)
    assert len(reads) == 3


def test_of_several_files_nothing_is_remembered(file: Path, reads: Reads) -> None:
    other = shutil.copy(file, file.with_name("other.db"))

    assert audited([file, other]) == audited([file, other])
    assert len(reads) == 2


def test_of_few_runs_nothing_is_kept(file: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MANY", 13)
    monkeypatch.setattr(remembered, "_program", None)  # 400 files of sources, which are read for nothing then

    assert show.show_result(file) == show.show_result(file)
    assert len(reads) == 2
    with sqlite3.connect(file) as db:
        assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'kept_answer'").fetchall()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE run SET status = 'failed', reason = 'no' WHERE run_id = 3",
        "UPDATE run SET wall_s = 9 WHERE run_id = 12",
        "DELETE FROM run WHERE run_id = 12",
        "UPDATE session SET host = 'elsewhere'",
        "UPDATE experiment SET title = 'another'",
        "UPDATE point SET sweep_title = 'another'",
        "UPDATE output SET size_bytes = size_bytes + 1 WHERE run_id = 3 AND stream = 'stdout'",
        "INSERT INTO skipped VALUES ('s', '{}', 'no memory', 1)",
        "INSERT INTO alias VALUES ('s', '{}', '{}')",
    ],
)
def test_any_change_is_seen(file: Path, reads: Reads, statement: str) -> None:
    show.show_result(file)
    change(
        file,
        "CREATE TABLE IF NOT EXISTS alias (sweep TEXT NOT NULL, point TEXT NOT NULL, of TEXT NOT NULL) STRICT",
    )
    shown = show.show_result(file)
    seen = len(reads)

    change(file, statement)
    again = show.show_result(file)

    assert len(reads) == seen + 1
    change(file, "DELETE FROM kept_answer")
    assert show.show_result(file) == again
    assert again != shown or "wall_s" in statement or "output" in statement


def test_a_later_run_is_seen_and_old_answers_go(file: Path, reads: Reads, make: Any) -> None:
    show.show_result(file)
    audited([file])

    make.Maker(file).add(
        "s", "command", {"command": "x", "metrics": METRICS, "n": 3}, "rate 7\n", axes=["n"]
    ).write()

    assert "7 MB/s" in show.show_result(file)
    assert len(reads) == 2
    with sqlite3.connect(file) as db:  # of the file as it is now: what is shown, and its audit
        assert (
            len(db.execute("SELECT question FROM kept_answer WHERE question LIKE '%r.db%'").fetchall()) == 2
        )


def test_a_run_that_comes_while_an_answer_is_made_is_in_the_next(
    file: Path, reads: Reads, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(paths: Any, **options: Any) -> Any:
        results = load(paths, **options)
        make.Maker(file).add(
            "s", "command", {"command": "x", "metrics": METRICS, "n": 3}, "rate 7\n", axes=["n"]
        ).write()
        return results

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr("reports.show.load", late)
        assert "7 MB/s" not in show.show_result(file)

    assert "7 MB/s" in show.show_result(file)


def test_another_pinsweep_asks_again(file: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch) -> None:
    show.show_result(file)

    monkeypatch.setattr(remembered, "_program", lambda: "another")

    show.show_result(file)
    assert len(reads) == 2


@pytest.mark.usefixtures("reads")
def test_an_audit_by_another_pinsweep_or_of_other_runs_is_none(
    file: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    """Its digests are not read: a comparison would read all texts itself."""
    assert remembered.is_to_be_made(file, "audit")
    audited([file])
    assert not remembered.is_to_be_made(file, "audit")
    monkeypatch.chdir(file.parent)
    assert not remembered.is_to_be_made(
        Path(file.name), "audit"
    )  # what a comparison reads is not kept by the name

    with monkeypatch.context() as later:
        later.setattr(remembered, "_program", lambda: "another")
        assert remembered.is_to_be_made(file, "audit")
    make.Maker(file).add(
        "s", "command", {"command": "x", "metrics": METRICS, "n": 3}, "rate 7\n", axes=["n"]
    ).write()
    assert remembered.is_to_be_made(file, "audit")


@pytest.mark.usefixtures("reads")
def test_an_audit_from_before_a_session_that_found_nothing_to_do_is_none(file: Path) -> None:
    """The session is told in the file, so nothing that was kept before it is of these contents, and a page would read all texts."""
    audited([file])
    with sqlite3.connect(file) as db:
        columns = ", ".join(row[1] for row in db.execute("PRAGMA table_info(session)") if row[1] != "session")
        db.execute(f"INSERT INTO session ({columns}) SELECT {columns} FROM session")
    assert remembered.is_to_be_made(file, "audit")


def test_the_program_is_all_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("parsers", "orchestrator", "reports"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "sub" / "part.py").write_text("a = 1\n")
        monkeypatch.setattr(
            f"reports.results.remembered.{name}.__file__", str(tmp_path / name / "__init__.py")
        )
    read = remembered._program.__wrapped__
    first = read()

    assert read() == first
    (tmp_path / "parsers" / "sub" / "part.py").write_text("a = 2\n")
    assert read() != first


def test_caches_that_are_emptied_change_nothing(file: Path, reads: Reads) -> None:
    shown = show.show_result(file)

    change(file, "DELETE FROM parsed")
    assert show.show_result(file) == shown
    assert len(reads) == 1
    change(file, "DROP TABLE kept_answer")
    assert show.show_result(file) == shown
    assert len(reads) == 2


def wrapped(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest() + payload


def said(question: str, of: str, answer: str) -> bytes:
    return wrapped(zlib.compress((json.dumps([question, of]) + "\n" + answer).encode()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data, q, of: b"",
        lambda data, q, of: data[:-1],
        lambda data, q, of: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data, q, of: bytes([data[0] ^ 1]) + data[1:],
        lambda data, q, of: wrapped(b"no zlib"),
        lambda data, q, of: wrapped(zlib.compress(b"[" * 100_000)),
        lambda data, q, of: wrapped(zlib.compress(b"{}")),
        lambda data, q, of: wrapped(zlib.compress(b"\xff")),
        lambda data, q, of: said("another", of, "wrong"),
        lambda data, q, of: said(q, "0" * 64, "wrong"),
        lambda data, q, of: wrapped(zlib.compress(json.dumps([q, of]).encode())),
        lambda data, q, of: said(q, of, ""),
        lambda data, q, of: said(q, of, "no JSON"),
        lambda data, q, of: said(q, of, "{}"),
        lambda data, q, of: said(q, of, '{"findings": [{}], "of": "1 run"}'),
        lambda data, q, of: said(q, of, '{"findings": 7, "of": "1 run"}'),
        lambda data, q, of: said(q, of, "[7]"),
    ],
)  # fmt: skip
def test_an_answer_that_is_not_whole_is_made_again(
    file: Path, reads: Reads, spoil: Callable[[bytes, str, str], bytes]
) -> None:
    found = audited([file])
    with sqlite3.connect(file) as db:
        ((question, of, data),) = db.execute(
            "SELECT question, of, zlib FROM kept_answer WHERE question LIKE '%audit%'"
        ).fetchall()
        db.execute("UPDATE kept_answer SET zlib = ?", (spoil(data, question, of),))
    db.close()

    assert audited([file]) == found
    assert len(reads) == 2
    assert audited([file]) == found  # mended
    assert len(reads) == 2


def test_an_answer_to_another_question_is_none(file: Path, reads: Reads) -> None:
    shown = show.show_result(file)
    bars = show.show_result(file, bars=True)
    assert shown != bars
    with sqlite3.connect(file) as db:
        rows = db.execute(
            "SELECT question, zlib FROM kept_answer WHERE question LIKE '%show%' ORDER BY question"
        ).fetchall()
        for (question, _), (_, data) in zip(rows, reversed(rows), strict=True):
            db.execute("UPDATE kept_answer SET zlib = ? WHERE question = ?", (data, question))
    db.close()

    assert len(rows) == 2
    assert (show.show_result(file), show.show_result(file, bars=True)) == (shown, bars)
    assert len(reads) == 4


def test_a_file_that_cannot_be_written_is_read_each_time(file: Path, reads: Reads) -> None:
    file.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        assert show.show_result(file) == show.show_result(file)
    finally:
        file.parent.chmod(0o755)
    assert len(reads) in (1, 2)  # 1: root may write everywhere


def test_an_export_marks_what_an_audit_remembers(
    file: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An audit that was made of the file as it is tells the marks: all of it is not made again."""
    before = export([file], "csv")
    audited([file])
    monkeypatch.delattr("reports.checks.audited.audit")

    assert export([file], "csv") == before
    change(file, "UPDATE run SET wall_s = wall_s + 1")
    with pytest.raises(NameError):
        export([file], "csv")


def test_whoever_audits_a_file_first_keeps_it_for_all(
    file: Path, reads: Reads, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = export([file], "csv")
    monkeypatch.delattr("reports.checks.audited.audit")

    assert export([file], "csv") == before
    assert show.show_result(file)
    assert audited([file])[0][0].about
    assert len(reads) == 1  # by `show`; the export reads the runs itself


def test_an_audit_of_runs_that_are_no_longer_all_is_not_kept(file: Path, reads: Reads, make: Any) -> None:
    results = load([file])
    make.Maker(file).add(
        "s", "command", {"command": "x", "metrics": METRICS, "n": 3}, "rate 7\n", axes=["n"]
    ).write()

    assert audit_of(results) == audit(results)
    with sqlite3.connect(file) as db:
        assert not db.execute("SELECT 1 FROM kept_answer WHERE question LIKE '%audit%'").fetchall()
    assert audited([file]) == (audit(load([file])), counted(load([file])))


def test_an_audit_of_runs_whose_file_has_gone_is_made(file: Path, reads: Reads) -> None:
    results = load([file])
    file.unlink()

    assert audit_of(results) == audit(results)
