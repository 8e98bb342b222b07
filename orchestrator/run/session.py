"""One `pinsweep run`: prepare, open the result file, record who runs where with what, execute. I/O.

`plan` walks the first half of it: what only a run needs (processes, SQLite) is imported where it is used.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import itertools
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from orchestrator.experiment.repeats import CAP
from orchestrator.machine import identity, probe
from orchestrator.machine.ask import checksum
from orchestrator.model import Experiment, PlannedRun
from orchestrator.plan import timings
from orchestrator.plan.prepare import PlanOptions, Prepared, prepare
from orchestrator.plan.survey import measured_here
from orchestrator.plan.warm_up import warm_ups
from orchestrator.run.outcome import NEVER, Rules, is_pending, pending
from orchestrator.run.page_cache import KEPT
from orchestrator.run.settle import Leading, unknown, with_begun
from orchestrator.tools import Program
from parsers import extensions
from parsers.errors import PinsweepError

if TYPE_CHECKING:
    from orchestrator.run.exclusive import OnWait
    from orchestrator.run.execute import Event, Summary
    from orchestrator.store.result_file import ResultFile


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What is left when `run` returns."""

    path: Path
    prepared: Prepared
    summary: Summary


def run_experiments(
    paths: Sequence[Path],
    options: PlanOptions,
    *,
    version: str,
    argv: Sequence[str],
    seed: int | None = None,
    rules: Rules = Rules(),  # noqa: B008 (frozen)
    share_machine: bool = False,
    leading: Leading = unknown,
    tune: bool = False,
    drop_caches: bool = False,
    whole_node: bool = False,
    keep_reasons: bool = False,
    on_wait: OnWait = lambda _: None,
    on_tune: Callable[[str], None] = lambda _: None,
    on_begin: Callable[[Path, Prepared], None] = lambda *_: None,
    on_event: Callable[[Event], None] = lambda _: None,
) -> Finished:
    """Run experiment files into one result file, new or continued.

    The order's seed is the one given, else the file's own, else a new one; it is recorded. Unless `share_machine`, other sweeps on
    the same cores are waited for; `on_wait` is told whose. `leading` says by which number a cell with `repeats: auto` settles. With
    `tune`, sweeps on any core are waited for, and the machine is tuned as `orchestrator.run.tuning` says, which tells `on_tune`. With
    `drop_caches`, runs that work on files begin with an empty page cache.
    Where no cell can run, a file that is not there is not made, but with `keep_reasons`, which are then read elsewhere.
    Raises PartOfMachine with `whole_node` where this process may use a part of the machine only, UserError for every mistake before anything is started or written.
    """
    import secrets

    from orchestrator.run import page_cache, preflight, tuning
    from orchestrator.run.exclusive import every_pu, reserved, wanted_pus
    from orchestrator.run.execute import Summary
    from orchestrator.run.process import Stop
    from orchestrator.run.rounds import execute_rounds
    from orchestrator.run.scratch import Claim, Stopped, open_scratch, uses_scratch
    from orchestrator.store.result_file import create_result

    if drop_caches:
        page_cache.check()
    if seed is None:
        seed = _seed_of(options.output)
    if seed is None:
        seed = secrets.randbelow(2**31)
    with contextlib.ExitStack() as stack:
        claim = stack.enter_context(Claim())
        prepared = prepare(paths, options, seed=seed, free=claim.take)
        if whole_node:
            preflight.whole_or_refused(prepared.machine.site.topology, prepared.machine.kept_cores)
        path = options.output or Path(default_name(prepared.experiments))
        if not (prepared.plan.runs or keep_reasons or os.path.lexists(path)):
            on_begin(path, prepared)
            return Finished(path=path, prepared=prepared, summary=Summary())
        stop = stack.enter_context(Stop())
        result = stack.enter_context(create_result(path, lambda: stop.requested is not None))
        cache = page_cache.DROPPED if drop_caches else page_cache.KEPT
        expected = {**(tuning.facts_after(tuning.needed()) if tune else {}), "page_cache": cache}
        prepared, todo = _left_to_do(prepared, result, options, rules, leading, expected)
        topology = prepared.machine.site.topology
        try:
            wanted = every_pu(topology) if tune else wanted_pus(todo, topology)
            cpus = frozenset() if share_machine or not todo else wanted
            kept = stack.enter_context(reserved(cpus, path, stop, on_wait))
            tuned = stack.enter_context(tuning.tuned(path, on_tune)) if tune and todo else tuning.Tuned()
            scratch = stack.enter_context(
                open_scratch(
                    prepared.scratch, stop=stop, on_wait=on_wait, keep=(*kept, *tuned.keep), on_orphaned=tuned.put_back,
                    wanted=uses_scratch(prepared.plan.runs),
                )
            )  # fmt: skip
        except Stopped:
            return Finished(path=path, prepared=prepared, summary=Summary(stopped=True))
        on_begin(path, prepared)
        # a session without a run tells nothing
        session = None if todo else result.last_session_of([*map(_digest, prepared.experiments)])
        if session is None:
            session = begin(
                result, prepared, version=version, argv=argv, seed=seed, tuned=tuning.words(tuned.changes), cache=cache
            )  # fmt: skip
        try:
            summary = execute_rounds(
                prepared.plan,
                result,
                session,
                scratch,
                stop,
                topology=topology,
                rules=rules,
                sweeps=prepared.sweeps,
                leading=leading,
                drop_caches=drop_caches,
                on_event=on_event,
            )
            result.end_session(
                session, now_utc()
            )  # of the one before, too, that was killed behind its last run
        except PinsweepError as error:
            error.exit_status = 1  # 2 says that nothing was started
            raise
    summary.scratch_left = scratch.left
    timings.remember(prepared.plan.runs, summary.walls)
    return Finished(path=path, prepared=prepared, summary=summary)


def _left_to_do(
    prepared: Prepared,
    result: ResultFile,
    options: PlanOptions,
    rules: Rules,
    leading: Leading,
    expected: Mapping[str, str],
) -> tuple[Prepared, Sequence[PlannedRun]]:
    """Return what is prepared as the result file goes on with it, with its warm-ups and warnings, and the runs to start.

    `expected`: facts of the machine that will be others then. Raises UserError as `_continued`, and where the runs are too many.
    """
    from orchestrator.run.rounds import further

    prepared = _continued(prepared, result, options.as_new, rules, expected)
    todo, _, _ = pending(prepared.plan, result.attempts(), rules)
    todo += further(prepared.plan, result, prepared.sweeps, rules, leading).runs
    prepared = _with_warm_ups(prepared, todo, options)
    if todo and (mixed := _mixed(result, rules)):
        plan = dataclasses.replace(prepared.plan, warnings=(*prepared.plan.warnings, mixed))
        prepared = dataclasses.replace(prepared, plan=plan)
    return prepared, todo


def begin(
    result: ResultFile,
    prepared: Prepared,
    *,
    version: str,
    argv: Sequence[str],
    seed: int,
    tuned: str = "",
    cache: str = KEPT,
) -> int:
    """Record a session and its plan: which machine, which programs, which cells. Returns its number.

    `tuned`: what was set for it and is put back; `cache`: what is done with the page cache.
    """
    session = result.begin_session(
        started_utc=now_utc(),
        version=version,
        argv=[os.fsencode(word).decode("utf-8", "replace") for word in argv],
        seed=seed,
        host=platform.node(),
        facts={
            **probe.facts(),
            **_files_of(prepared, result.path),
            "page_cache": cache,
            **({"tuned": tuned} if tuned else {}),
        },
        topology=probe.lstopo_xml() or "",
        programs=_programs(prepared),
    )
    _store_plan(result, session, prepared)
    return session


def _digest(experiment: Experiment) -> str:
    return hashlib.sha256(experiment.text.encode()).hexdigest()


def _files_of(prepared: Prepared, result: Path) -> dict[str, Any]:
    """Return on what the result file and the scratch folder lie, and which sweeps work on files there."""
    from orchestrator.machine import file_system

    on_files = sorted(
        {run.sweep for run in prepared.plan.runs if any(f.size_bytes or f.folder for f in run.scratch)}
    )
    known = file_system.recorded(result, prepared.scratch if on_files else None)
    return {**known, **({"scratch_sweeps": "\n".join(on_files)} if on_files else {})}


def _programs(prepared: Prepared) -> dict[str, dict[str, Any]]:
    """Return what is recorded of each program that was found, by tool."""
    files: dict[str, dict[str, dict[str, str]]] = {}
    for tool, name, path in {(run.tool, *item) for run in prepared.plan.runs for item in run.files.items()}:
        files.setdefault(tool, {})[name] = {"path": path, "sha256": checksum(path)}
    return {
        tool: {
            "name": p.name,
            "path": p.path,
            "version": p.version,
            "sha256": p.sha256,
            "stand_in": p.stand_in,
            **{name: text for name, text in p.notes.items() if name != "cmdhelp"},
            **({"extension": str(brings)} if (brings := extensions.of_tool(tool)) else {}),
            **({"files": files[tool]} if tool in files else {}),
        }
        for tool, p in prepared.machine.programs.items()
        if isinstance(p, Program)
    }


def _continued(
    prepared: Prepared,
    result: ResultFile,
    as_new: bool,
    rules: Rules,
    expected: Mapping[str, str] = MappingProxyType({}),
) -> Prepared:
    """Return what is prepared with its runs in the cells of a result file that they belong to, and those that were begun of more
    than it plans. Raises UserError as `continued`.

    `expected`: facts of the machine that will be others then.
    """
    from orchestrator.run import resume

    sessions = result.sessions()
    if not sessions:
        return prepared
    attempts = result.attempts()
    plan = resume.continued(
        prepared.plan,
        resume.Held(
            path=str(result.path),
            sessions=sessions,
            cells=[stored.cell for stored in result.cells()],
            conditions=result.conditions(),
        ),
        resume.Setting(
            host=platform.node(), facts={**probe.facts(), **expected}, programs=_programs(prepared)
        ),
        is_pending=lambda run: is_pending(attempts.get(run.key, NEVER), rules),
        as_new=as_new,
    )
    return dataclasses.replace(prepared, plan=with_begun(plan, attempts))


def _mixed(result: ResultFile, rules: Rules) -> str:
    """Return the warning that disturbed runs of before were dealt with otherwise than those to come will be; "" where none was."""
    if rules.allow_disturbed:
        tried = result.attempts().values()
        number = sum(one.status == "disturbed" and not is_pending(one, rules) for one in tried)
        said = "their numbers are left out; with --allow-disturbed those of now count"
    else:
        number = result.disturbed_that_count()
        said = "their numbers count, as --allow-disturbed let them; without it those of now are repeated, or left out"
    runs = "1 run" if number == 1 else f"{number} runs"
    return (
        f"{result.path}: something disturbed {runs} of before, and {said}: a new file (-o) has one rule for all"
        if number
        else ""
    )


def plan_experiments(
    paths: Sequence[Path],
    options: PlanOptions,
    *,
    seed: int | None = None,
    rules: Rules = Rules(),  # noqa: B008 (frozen)
    leading: Leading = unknown,
) -> tuple[Prepared, int]:
    """Return what `run_experiments` would do, and how many runs the result file holds already, which are left out.

    The order's seed is the one given, else the file's own, else 0. Raises UserError as `run_experiments` does.
    """
    if seed is None:
        seed = _seed_of(options.output) or 0
    prepared = prepare(paths, options, seed=seed)
    begun = _begun(options.output)
    if begun is None:
        return _with_warm_ups(prepared, prepared.plan.runs, options), 0
    with begun as known:
        if options.topology is None:
            prepared = _continued(prepared, known, options.as_new, rules)
        todo, done, failed = pending(prepared.plan, known.attempts(), rules)
        from orchestrator.run.rounds import further

        later = further(prepared.plan, known, prepared.sweeps, rules, leading)
    left = dict.fromkeys(run.cell.point_id for run in todo)
    more = {cell: number for cell, number in prepared.plan.more.items() if cell in left}
    plan = dataclasses.replace(prepared.plan, runs=(*todo, *later.runs), more={**more, **later.more})
    left |= dict.fromkeys(run.cell.point_id for run in later.runs)
    plan = dataclasses.replace(plan, cells=tuple(p for p in plan.cells if p.point_id in left))
    prepared = dataclasses.replace(prepared, plan=plan)
    return _with_warm_ups(prepared, plan.runs, options), done + failed


def _with_warm_ups(prepared: Prepared, todo: Sequence[PlannedRun], options: PlanOptions) -> Prepared:
    """Return what is prepared with the warm-ups of the programs that are to be started."""
    found = warm_ups(todo, prepared.sweeps) if options.warm_up else ()
    return dataclasses.replace(prepared, plan=dataclasses.replace(prepared.plan, warm_ups=found))


def _seed_of(path: Path | None) -> int | None:
    """Return the seed of the first session of a result file; None if there is no file, or nothing in it."""
    begun = _begun(path)
    if begun is None:
        return None
    with begun as known:
        sessions = known.sessions()
    return sessions[0].seed if sessions else None


def _begun(path: Path | None) -> ResultFile | None:
    """Return the result file that is to be continued, open; None if there is none yet."""
    if path is None:
        return None
    from orchestrator.store.result_file import open_begun

    return open_begun(path)


def _store_plan(result: ResultFile, session: int, prepared: Prepared) -> None:
    from orchestrator.store.result_file import StoredCell, StoredExperiment

    for experiment in prepared.experiments:
        sweeps = {sweep.name: sweep for sweep in experiment.sweeps}
        digest = _digest(experiment)
        plan = prepared.plan
        asked = {cell.point_id for cell in plan.cells}
        order = list(sweeps)  # what was not asked for stands in its place, too
        cells = [cell for cell in (*plan.cells, *plan.left_out) if cell.sweep in sweeps]
        cells.sort(key=lambda cell: order.index(cell.sweep))
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
                StoredCell(
                    cell=cell,
                    sweep_title=sweeps[cell.sweep].title,
                    repeats=sweeps[cell.sweep].repeats if cell.point_id in asked else 0,
                    experiment=digest,
                    most_repeats=CAP if cell.point_id in plan.more else 0,
                )
                for cell in cells
            ],
            [skipped for skipped in prepared.plan.skipped if skipped.sweep in sweeps],
            [alias for alias in prepared.plan.aliases if alias.sweep in sweeps],
        )


def file_of_this_machine(folder: Path, names: Iterable[str]) -> Path:
    """Return the result file of some experiments in a folder that many hosts share: EXPERIMENT@HOST.db, or where that holds runs of
    another machine of this name, EXPERIMENT@HOST-2.db, -3 …: the same each time. A file that cannot be read is ours, and `run` says why."""
    from orchestrator.store.result_file import open_begun

    name = measured_here(names)
    here = {"network_cards": identity.cards()}
    for ending in itertools.chain([""], (f"-{number}" for number in itertools.count(2))):
        path = folder / f"{name}{ending}.db"
        try:
            begun = open_begun(path)
        except PinsweepError:
            return path
        if begun is None:
            return path
        with begun as known:
            if not any(identity.is_another(session.facts, here) for session in known.sessions()):
                return path
    raise AssertionError  # numbers have no end


def default_name(experiments: Sequence[Experiment]) -> str:
    """Return `EXPERIMENT@HOST-UTC.db`, in signs that every file system takes."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{measured_here(experiment.name for experiment in experiments)}-{stamp}.db"


def now_utc() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
