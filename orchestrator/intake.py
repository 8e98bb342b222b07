"""Take in output that was captured by hand, and make runs of it. I/O.

A captured file becomes a cell of its own: its `source` is an axis, and what the text itself tells of the options
(fio's job options, MLC's -W and -l) are options of the cell, so that reports group it as if it had been run here.
"""

from __future__ import annotations

import datetime
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from orchestrator.model import PlannedRun, Point, RunRecord
from orchestrator.store import StoredExperiment, StoredPoint, create_result
from parsers import get_parser, guess_parser
from parsers.errors import ParseError, UserError
from parsers.measurement import Parsed

OPTION_FACT = "option."
"""Facts of a parser whose name starts so are options of the run that printed the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A file that was read: its bytes are kept as they are."""

    name: str
    tool: str
    data: bytes
    parsed: Parsed


def read_texts(tool: str | None, names: Sequence[str]) -> list[Captured]:
    """Read and parse every file; `-` is standard input. Raises UserError or ParseError naming the file."""
    found = []
    for name in names:
        data = _read(name)
        text = data.decode("utf-8", "replace")
        try:
            chosen = tool or guess_parser(text)
            found.append(
                Captured(name=name, tool=chosen, data=data, parsed=get_parser(chosen).parse(text, {}))
            )
        except ParseError as error:
            raise ParseError(name, str(error), error.hint) from error
    return found


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UserError(name, f"cannot be read: {error.strerror}") from error


def store(captured: Sequence[Captured], path: Path, *, version: str) -> int:
    """Keep the texts as runs of a result file; what is there already stays. Returns how many were new."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    points = [(item, _point(item)) for item in captured]
    digest = hashlib.sha256("".join(sorted(point.point_id for _, point in points)).encode()).hexdigest()
    experiment = StoredExperiment(
        sha256=digest, path="", title="Captured output", text="", about="taken in with `pinsweep parse`"
    )
    with create_result(path) as result:
        known = result.attempts()
        session = result.begin_session(
            started_utc=now, version=version, argv=["parse", *(item.name for item in captured)], seed=0,
            host="not recorded", facts={}, topology="", programs=_programs(captured),
        )  # fmt: skip
        result.add_plan(
            session, experiment,
            [StoredPoint(point=point, sweep_title=f"Captured {point.tool} output", repeats=1, experiment=digest) for _, point in points],
            [],
        )  # fmt: skip
        added = 0
        for item, point in points:
            if (point.point_id, 1) in known:
                continue
            record, planned = _record(item, point, session, now, added)
            result.add_run(planned, record, {"stdout": item.data, "stderr": b""}, {})
            added += 1
        result.end_session(session, now)
    return added


def _point(item: Captured) -> Point:
    options: dict[str, Any] = {
        name.removeprefix(OPTION_FACT): value
        for name, value in item.parsed.facts.items()
        if name.startswith(OPTION_FACT)
    }
    options["source"] = Path(item.name).name
    options["sha256"] = hashlib.sha256(item.data).hexdigest()[:16]
    axes = tuple(name for name in options if name != "sha256")
    return Point(sweep=f"captured-{item.tool}", tool=item.tool, options=options, axes=axes)


def _record(item: Captured, point: Point, session: int, now: str, index: int) -> tuple[RunRecord, PlannedRun]:
    program = str(item.parsed.facts.get("program", item.tool))
    planned = PlannedRun(
        sweep=point.sweep, tool=point.tool, point=point, repeat=1, argv=(), env={}, placement=None,
        timeout_s=0.0, nominal_s=0.0, estimate_s=0.0, program=program,
    )  # fmt: skip
    record = RunRecord(
        run_id=0, point_id=point.point_id, repeat=1, attempt=1, status="ok", reason="", argv=(), env={}, placement=None,
        seen=None, program=program, order_index=index, started_utc=now, wall_s=0.0, exit_code=None, signal=None,
        usage={}, session=session,
    )  # fmt: skip
    return record, planned


def _programs(captured: Sequence[Captured]) -> dict[str, dict[str, Any]]:
    return {
        item.tool: {
            "name": item.parsed.facts.get("program", item.tool), "path": "", "sha256": "",
            "version": item.parsed.facts.get("tool_version", ""), "stand_in": item.parsed.has("stand_in"),
        }
        for item in captured
    }  # fmt: skip
