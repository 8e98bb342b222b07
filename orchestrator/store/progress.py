"""Read the progress of a result file, and whether the file is intact. I/O, read only."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.store import database, limits
from parsers.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of each run in a result file, and of the last session."""

    cells: Mapping[str, tuple[str, int]]  # point_id → (sweep, repeats that were asked for)
    # (point_id, repeat) → (status, reason) of its best or last attempt
    last: Mapping[tuple[str, int], tuple[str, str]]
    skipped: Mapping[str, str]  # sweep → why a cell of it cannot run here
    sessions: int
    ended: bool  # the last session came to its end
    started_utc: str  # last session
    facts: Mapping[str, Any]  # last session
    programs: Mapping[str, Mapping[str, Any]]
    pinsweep: str = ""  # its version, in the last session
    host: str = ""  # as it calls itself


def read(path: Path) -> Progress | None:
    """Return the progress of a result file, or None if there is no file.

    Raises UserError for another kind of file, Damaged, and PinsweepError if reading takes too much memory or CPU time.
    """
    try:
        with limits.limited():
            limits.opened(path)
            with closing(database.connect_to_read(path)) as db, database.watched(db, lambda: False):
                database.check(path, db)
                database.check_pages(path, db)
                _check_outputs(path, db)
                progress = _progress(path, db)
            limits.closed(path)
            return progress
    except FileNotFoundError:
        return None
    except MemoryError:
        raise limits.memory_error() from None
    except OSError as error:
        raise UserError(str(path), f"cannot be read: {error.strerror}") from error
    except sqlite3.Error as error:
        raise database.unusable(path, error) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise database.Damaged(path, repr(error)) from error


def _check_outputs(path: Path, db: sqlite3.Connection) -> None:
    """Unpack each output. Raises Damaged."""
    with database.texts_up_to(db, database.LONGEST_OUTPUT + database.LONGEST_TEXT):
        for run_id, stream, packed, size in db.execute("SELECT run_id, stream, zlib, size_bytes FROM output"):
            for _ in database.output_pieces(path, f"run {run_id}, {stream}", packed, size):
                pass


def _progress(path: Path, db: sqlite3.Connection) -> Progress:
    points = db.execute("SELECT point_id, sweep, repeats FROM point")
    cells = {str(cell): (str(sweep), int(often)) for cell, sweep, often in points}
    (version,) = db.execute("PRAGMA user_version").fetchone()
    query = "SELECT point_id, repeat, status, reason FROM run WHERE NOT warm_up ORDER BY run_id"
    last: dict[tuple[str, int], tuple[str, str]] = {}
    for cell, repeat, status, reason in db.execute(query if version > 1 else database.for_schema_1(query)):
        if cell not in cells:
            raise database.Damaged(path, "a run is of a point that is not there")
        if last.get((cell, repeat), ("", ""))[0] != "ok":
            last[cell, repeat] = str(status), str(reason or "")
    started, ended, facts, programs, pinsweep, host = db.execute(
        "SELECT started_utc, ended_utc, facts, programs, pinsweep_version, host FROM session ORDER BY session DESC LIMIT 1"
    ).fetchone() or ("", "", "{}", "{}", "", "")
    return Progress(
        cells=cells,
        last=last,
        skipped={str(s): str(r) for s, r in db.execute("SELECT sweep, reason FROM skipped ORDER BY sweep, point DESC")},
        sessions=int(db.execute("SELECT count(*) FROM session").fetchone()[0]),
        ended=bool(ended),
        started_utc=str(started),
        facts=dict(json.loads(facts)),
        programs={str(name): dict(about) for name, about in json.loads(programs).items()},
        pinsweep=str(pinsweep),
        host=str(host),
    )  # fmt: skip
