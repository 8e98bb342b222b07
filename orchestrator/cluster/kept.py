"""What has come home of a host: how far it is, what failed, what it was measured with. Reads result files, writes nothing. I/O."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from orchestrator.cluster import traits

_DONE: Final = ("ok", "disturbed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a host's result file holds."""

    total: int = 0  # runs that were planned, of all sessions
    done: int = 0
    failed: int = 0
    sessions: int = 0
    ended: bool = False  # the last session came to its end
    failure: str = ""  # "disk: exit status 1: fio: No space left on device"
    nothing: str = ""  # why no cell could run
    traits: Mapping[str, str] = field(default_factory=dict)  # what it was measured with: "fio" → "3.33"
    problem: str = ""  # why the file cannot be read

    @property
    def pending(self) -> int:
        return max(0, self.total - self.done - self.failed)

    @property
    def complete(self) -> bool:
        return self.ended and self.total > 0 and self.done >= self.total and not self.failed

    def progress(self) -> str:
        return f"{self.done} of {self.total} runs"


def read(path: Path) -> Kept | None:
    """Return what a result file holds; None if there is none. One that is damaged says so."""
    try:
        # renamed into its place and never changed there: no locks, no journal
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            return _kept(db)
    except sqlite3.Error as error:
        if not path.exists():
            return None
        return Kept(problem=f"{path.name} cannot be read: {error}")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return Kept(problem=f"{path.name} is damaged: {error!r}")


def _kept(db: sqlite3.Connection) -> Kept:
    cells = {str(cell): (str(sweep), int(often)) for cell, sweep, often in db.execute("SELECT point_id, sweep, repeats FROM point")}  # fmt: skip
    last: dict[tuple[str, int], tuple[str, str]] = {}
    for cell, repeat, status, reason in db.execute(
        "SELECT point_id, repeat, status, reason FROM run WHERE NOT warm_up ORDER BY run_id"
    ):
        if last.get((cell, repeat), ("", ""))[0] != "ok":
            last[cell, repeat] = str(status), str(reason or "")
    done = dict.fromkeys(cells, 0)
    failures = []
    for (cell, _), (status, reason) in last.items():
        if cell not in cells:
            raise ValueError("a run of no cell")
        if status in _DONE:
            done[cell] += 1
        elif status != "interrupted":
            failures.append(f"{cells[cell][0]}: {reason or status}")
    sessions = db.execute("SELECT ended_utc, facts, programs FROM session ORDER BY session").fetchall()
    skipped = dict(db.execute("SELECT sweep, reason FROM skipped ORDER BY sweep, point DESC").fetchall())
    ran = {sweep for sweep, _ in cells.values()}
    return Kept(
        total=sum(often for _, often in cells.values()),
        done=sum(min(done[cell], often) for cell, (_, often) in cells.items()),
        failed=len(failures),
        sessions=len(sessions),
        ended=bool(sessions and sessions[-1][0]),
        failure=failures[-1] if failures else "",
        nothing=next((f"{s}: {r}" for s, r in skipped.items()), "no cell can run here") if not cells else "",
        traits=traits.of_session(
            json.loads(sessions[-1][1]),
            json.loads(sessions[-1][2]),
            {s: str(r) for s, r in skipped.items() if s not in ran},
        )
        if sessions
        else {},
    )
