"""How far the runs of a result file are that nobody writes to: asked of a thousand files at a time. I/O, read only.

Such a file was put in its place by a rename and is never changed there: no locks (which file systems of many hosts lack), no journal. Its
tables are told from views as everywhere; its pages are not looked at, so what is damaged may be found later only.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.store import database


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What is there of each run, and of the last session."""

    cells: Mapping[str, tuple[str, int]]  # point_id → (sweep, repeats that were asked for)
    # (point_id, repeat) → (status, reason) of its best or last attempt
    last: Mapping[tuple[str, int], tuple[str, str]]
    skipped: Mapping[str, str]  # sweep → why a cell of it cannot run here
    sessions: int
    ended: bool  # the last session came to its end
    facts: Mapping[str, Any]  # of the last session
    programs: Mapping[str, Mapping[str, Any]]
    pinsweep: str = ""  # its version, in the last session
    host: str = ""  # as it calls itself


def read(path: Path) -> Progress | None:
    """Return how far a result file is; None if there is none. Raises UserError if it is something else, Damaged."""
    try:
        connection = database.connect(path, "ro", immutable=True)
    except sqlite3.Error as error:
        if not os.path.lexists(path):
            return None
        raise database.unusable(path, error) from error
    try:
        with closing(connection) as db, database.watched(path, db, lambda: False):
            database.check(path, db)
            return _progress(path, db)
    except sqlite3.Error as error:
        if not os.path.lexists(path):
            return None
        raise database.unusable(path, error) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise database.Damaged(path, repr(error)) from error


def _progress(path: Path, db: sqlite3.Connection) -> Progress:
    found = db.execute("SELECT point_id, sweep, repeats FROM point")
    cells = {str(cell): (str(sweep), int(often)) for cell, sweep, often in found}
    (version,) = db.execute("PRAGMA user_version").fetchone()
    measured = " WHERE NOT warm_up" if version >= 2 else ""
    last: dict[tuple[str, int], tuple[str, str]] = {}
    for cell, repeat, status, reason in db.execute(
        f"SELECT point_id, repeat, status, reason FROM run{measured} ORDER BY run_id"
    ):
        if cell not in cells:
            raise database.Damaged(path, "a run is of a point that is not there")
        if last.get((cell, repeat), ("", ""))[0] != "ok":
            last[cell, repeat] = str(status), str(reason or "")
    ended, facts, programs, pinsweep, host = db.execute(
        "SELECT ended_utc, facts, programs, pinsweep_version, host FROM session ORDER BY session DESC LIMIT 1"
    ).fetchone() or ("", "{}", "{}", "", "")
    return Progress(
        cells=cells,
        last=last,
        skipped={str(s): str(r) for s, r in db.execute("SELECT sweep, reason FROM skipped ORDER BY sweep, point DESC")},
        sessions=int(db.execute("SELECT count(*) FROM session").fetchone()[0]),
        ended=bool(ended),
        facts=dict(json.loads(facts)),
        programs={str(name): dict(about) for name, about in json.loads(programs).items()},
        pinsweep=str(pinsweep),
        host=str(host),
    )  # fmt: skip
