"""One `pinsweep run`: prepare, open the result file, record who runs where with what, execute. I/O."""

from __future__ import annotations

import datetime
import hashlib
import platform
import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator import machine, timings
from orchestrator.execute import Event, Summary, execute
from orchestrator.model import Experiment
from orchestrator.prepare import Prepared, Wishes, prepare
from orchestrator.process import Stop
from orchestrator.scratch import open_scratch
from orchestrator.store import ResultFile, StoredExperiment, StoredPoint, create_result, open_result
from orchestrator.tools import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What is left when `run` returns."""

    path: Path
    prepared: Prepared
    summary: Summary


def run_experiments(
    paths: Sequence[Path],
    wishes: Wishes,
    *,
    version: str,
    argv: Sequence[str],
    seed: int | None = None,
    retry_failed: bool = False,
    allow_misplaced: bool = False,
    on_begin: Callable[[Path, Prepared], None] = lambda *_: None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Finished:
    """Run experiment files into one result file, new or continued.

    The order's seed is the one given, else the file's own, else a new one; it is recorded. Raises UserError for
    every mistake before anything is started or written.
    """
    if wishes.output is not None and wishes.output.exists() and wishes.output.stat().st_size:
        with open_result(wishes.output) as known:
            sessions = known.sessions()
            seed = seed if seed is not None else sessions[0].seed if sessions else None
    seed = seed if seed is not None else secrets.randbelow(2**31)
    prepared = prepare(paths, wishes, seed=seed)
    path = wishes.output or Path(default_name(prepared.experiments))
    with open_scratch(prepared.scratch) as scratch, create_result(path) as result, Stop() as stop:
        on_begin(path, prepared)
        facts = machine.facts()
        session = result.begin_session(
            started_utc=_now(),
            version=version,
            argv=argv,
            seed=seed,
            host=platform.node(),
            facts=facts,
            topology=machine.lstopo_xml() or "",
            programs={
                tool: {
                    "name": p.name,
                    "path": p.path,
                    "version": p.version,
                    "sha256": p.sha256,
                    "stand_in": p.stand_in,
                    **p.notes,
                }
                for tool, p in prepared.machine.programs.items()
                if isinstance(p, Program)
            },
        )
        _store_plan(result, session, prepared)
        summary = execute(
            prepared.plan,
            result,
            session,
            scratch,
            stop,
            topology=prepared.machine.site.topology,
            retry_failed=retry_failed,
            allow_misplaced=allow_misplaced,
            on_event=on_event,
        )
        result.end_session(session, _now())
    timings.remember(prepared.plan.runs, summary.walls)
    return Finished(path=path, prepared=prepared, summary=summary)


def _store_plan(result: ResultFile, session: int, prepared: Prepared) -> None:
    for experiment in prepared.experiments:
        sweeps = {sweep.name: sweep for sweep in experiment.sweeps}
        digest = hashlib.sha256(experiment.text.encode()).hexdigest()
        points = [point for point in prepared.plan.points if point.sweep in sweeps]
        result.add_plan(
            session,
            StoredExperiment(
                sha256=digest,
                path=experiment.path,
                title=experiment.title,
                text=experiment.text,
                about=experiment.about,
            ),
            [
                StoredPoint(
                    point=point,
                    sweep_title=sweeps[point.sweep].title,
                    repeats=sweeps[point.sweep].repeats,
                    experiment=digest,
                )
                for point in points
            ],
            [skipped for skipped in prepared.plan.skipped if skipped.sweep in sweeps],
        )


def default_name(experiments: Sequence[Experiment]) -> str:
    """Return `EXPERIMENT@HOST-UTC.db`, in signs that every file system takes."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", platform.node())
    return f"{'+'.join(experiment.name for experiment in experiments)}@{host}-{stamp}.db"


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
