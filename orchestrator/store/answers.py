"""What was made of a whole result file, kept in the file: the same question to the same contents needs no run to be read. I/O.

    kept_answer   a cache; a row per question: what it is of (`fingerprint`), and a packed text. May be emptied at any time

An answer is given only for the contents and the program that it was made of and by, and only if it is whole: its row says for
which question and of what it is, under a SHA-256. Anything else counts as not kept.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import sqlite3
import zlib
from collections.abc import Iterable
from typing import Final

from orchestrator.store import database

TABLES: Final = ("session", "experiment", "point", "run", "output", "skipped", "alias")
"""All that is no cache."""

LONGEST: Final = 64 << 20
"""Bytes of an answer that is kept: those of 100 000 runs have 4 MB."""
MOST_VALUES: Final = 4_000_000
"""Values in it, if it is JSON."""

_DIGEST: Final = hashlib.sha256().digest_size


def made_by(db: sqlite3.Connection, program: str) -> str:
    """Return how `fingerprint` begins: it tells the program, and how many runs and sessions there are, without a look at them. Raises
    sqlite3.Error."""
    (runs,) = db.execute("SELECT count(*) FROM run").fetchone()
    # a session may add no run: one of another text that found nothing to do
    (sessions,) = db.execute("SELECT count(*) FROM session").fetchone()
    return f"{hashlib.sha256(program.encode()).hexdigest()[:16]} {runs} {sessions} "


def fingerprint(db: sqlite3.Connection, program: str) -> str:
    """Return `made_by` and a SHA-256 over all rows that are no cache, and over `program`, which tells what reads them. Raises sqlite3.Error."""
    begin = made_by(db, program)
    found = hashlib.sha256(program.encode())
    (version,) = db.execute("PRAGMA user_version").fetchone()
    found.update(marshal.dumps((version, program), 2))  # 2: equal values are equal bytes
    schema = dict(db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
    texts, db.text_factory = db.text_factory, bytes
    try:
        with database.texts_up_to(db, database.LONGEST_OUTPUT + database.LONGEST_TEXT):
            for table in TABLES:
                found.update(marshal.dumps((table, schema.get(table)), 2))
                if table not in schema:  # alias, in files of before
                    continue
                order = (
                    "run_id, stream"
                    if table == "output"
                    else "sweep, point"
                    if table == "skipped"
                    else "rowid"
                )
                for row in db.execute(f"SELECT * FROM {table} ORDER BY {order}"):
                    found.update(marshal.dumps(row, 2))
    finally:
        db.text_factory = texts
    return begin + found.hexdigest()


def kept(db: sqlite3.Connection, question: str, of: str) -> str | None:
    """Return the answer to a question of contents with that fingerprint; None if none is kept, or not a whole one."""
    try:
        row = db.execute(
            "SELECT zlib FROM kept_answer WHERE question = ? AND of = ?", (question, of)
        ).fetchone()
    except sqlite3.Error:  # no such table, or a damaged one
        return None
    if (
        row is None
        or type(row[0]) is not bytes
        or hashlib.sha256(row[0][_DIGEST:]).digest() != row[0][:_DIGEST]
    ):
        return None
    try:
        packed = row[0][_DIGEST:]
        said = database.inflate(packed, database.most_of(packed, LONGEST)).decode(errors="surrogatepass")
    except ValueError:
        return None
    if said.count(",") + said.count("[") > MOST_VALUES:
        return None
    head = _head(question, of)
    return said.removeprefix(head) if said.startswith(head) else None


def is_kept(db: sqlite3.Connection, question: str, of: str) -> bool:
    """Is something kept for a question of contents with that fingerprint? It may be damaged."""
    return _is_there(db, "question = ? AND of = ?", question, of)


def is_kept_like(db: sqlite3.Connection, question: str, of: str) -> bool:
    """Is something kept for a question that begins so, of contents whose fingerprint begins so (`made_by`)? It may be damaged."""
    begins = "question >= ? AND substr(question, 1, ?) = ? AND substr(of, 1, ?) = ?"  # ?1 is warned of by Python 3.12.1
    return _is_there(db, begins, question, len(question), question, len(of), of)


def _is_there(db: sqlite3.Connection, where: str, *values: str | int) -> bool:
    try:
        return db.execute(f"SELECT 1 FROM kept_answer WHERE {where} LIMIT 1", values).fetchone() is not None
    except sqlite3.Error:
        return False


def keep(db: sqlite3.Connection, of: str, kept: Iterable[tuple[str, str]]) -> None:
    """Keep some answers (question, answer), all or none; those of other contents go. Raises sqlite3.Error where the file cannot be
    written."""
    packed = [
        (question, of, data)
        for question, answer in kept
        if len(data := _packed(_head(question, of) + answer)) < database.LONGEST_TEXT // 2
    ]
    with db:
        db.execute(database.KEPT_ANSWER)
        db.execute("DELETE FROM kept_answer WHERE of <> ?", (of,))
        db.executemany("INSERT OR REPLACE INTO kept_answer (question, of, zlib) VALUES (?,?,?)", packed)


def _head(question: str, of: str) -> str:
    """Return what stands before an answer: a line."""
    return json.dumps([question, of]) + "\n"


def _packed(text: str) -> bytes:
    raw = text.encode(errors="surrogatepass")
    data = database.not_thin(zlib.compress(raw, 6), len(raw))
    return hashlib.sha256(data).digest() + data
