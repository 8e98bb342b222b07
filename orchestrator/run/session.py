"""Do one `pinsweep run`: prepare, open the result file, record machine, programs and cells, execute. I/O.

`plan` shares the first half. So modules for runs only (processes, SQLite) are imported inside functions.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import itertools
import os
import platform
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orchestrator.experiment.repeats import CAP
from orchestrator.machine import identity, probe
from orchestrator.machine.ask import checksum
from orchestrator.machine.topology import Topology
from orchestrator.model import Experiment, Plan, PlannedRun
from orchestrator.plan import timings
from orchestrator.plan.prepare import PlanOptions, Prepared, prepare
from orchestrator.plan.survey import measured_here
from orchestrator.plan.warm_up import warm_ups
from orchestrator.run.outcome import NEVER, Pending, Rules, is_pending, pending
from orchestrator.run.rounds import Leading, next_round, unknown, with_begun
from orchestrator.tools import Program
from parsers import extensions
from parsers.errors import ParseError, PinsweepError

if TYPE_CHECKING:
    from orchestrator.run.events import OnEvent, Summary
    from orchestrator.run.process import Stop
    from orchestrator.run.scratch import Scratch
    from orchestrator.run.tuning import Tuning
    from orchestrator.store.result_file import ResultFile
    from parsers.measurement import Parsed

CACHE_KEPT: Final = "kept"
CACHE_DROPPED: Final = "dropped before each run on files"
"""Values of the fact `page_cache` of a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The state when `run_experiments` returns."""

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
    on_event: OnEvent = lambda _: None,
) -> Finished:
    """Run experiment files into one result file, new or continued.

    The seed of the order is the given seed, the seed of the file, or a new seed. `leading` returns the number by which
    a cell with `repeats: auto` settles. `keep_reasons` makes a result file even if no cell can run. The other options
    are the options of `pinsweep run`. Raises PartOfMachine, and UserError for every mistake before a start or a write.
    """
    from orchestrator.run import execute, tuning
    from orchestrator.run.events import Begun, Summary
    from orchestrator.run.preflight import require_whole_node
    from orchestrator.run.process import Stop
    from orchestrator.run.scratch import Claim, Stopped
    from orchestrator.store.result_file import create_result

    if drop_caches:
        execute.require_drop_caches()
    seeds = (seed, _seed_of(options.output), secrets.randbelow(2**31))
    seed = next(s for s in seeds if s is not None)
    with contextlib.ExitStack() as stack:
        claim = stack.enter_context(Claim())
        prepared = prepare(paths, options, seed=seed, free=claim.take)
        topology = prepared.machine.site.topology
        if whole_node:
            require_whole_node(topology, prepared.machine.kept_cores)
        path = options.output or Path(default_name(prepared.experiments))
        if not (prepared.plan.runs or keep_reasons or os.path.lexists(path)):
            on_event(Begun(path=path, prepared=prepared))
            return Finished(path=path, prepared=prepared, summary=Summary())
        stop = stack.enter_context(Stop())
        result = stack.enter_context(create_result(path, lambda: stop.requested is not None))
        facts = {"page_cache": CACHE_DROPPED if drop_caches else CACHE_KEPT}
        expected = {**(tuning.facts_after(tuning.needed()) if tune else {}), **facts}
        prepared, left, further = _left_to_do(prepared, result, options, rules, leading, expected)
        todo = [*left.todo, *further.runs]
        if todo and (mixed := _mixed(result, rules)):
            plan = dataclasses.replace(prepared.plan, warnings=(*prepared.plan.warnings, mixed))
            prepared = dataclasses.replace(prepared, plan=plan)
        try:
            scratch, tuned = stack.enter_context(
                ready_machine(
                    todo,
                    topology,
                    prepared.scratch,
                    path,
                    stop,
                    share=share_machine or not todo,
                    tune=tune and bool(todo),
                    on_event=on_event,
                )
            )
        except Stopped:
            return Finished(path=path, prepared=prepared, summary=Summary(stopped=True))
        on_event(Begun(path=path, prepared=prepared))
        # a session without a run is useless
        session = None if todo else result.last_session_of([*map(_digest, prepared.experiments)])
        if session is None:
            facts |= {"tuned": tuning.words(tuned.changes)} if tuned.changes else {}
            session = begin(result, prepared, version=version, argv=argv, seed=seed, facts=facts)
        try:
            summary = execute.execute(
                prepared.plan,
                result,
                session,
                scratch,
                stop,
                topology=topology,
                rules=rules,
                drop_caches=drop_caches,
                further=lambda: _further(prepared, result, rules, leading).runs,
                on_event=on_event,
            )
            result.end_session(session, now_utc())  # also that of an earlier call, killed behind its last run
        except PinsweepError as error:
            error.exit_status = 1  # 2 means that nothing was started
            raise
    summary.scratch_left = scratch.left
    timings.remember(prepared.plan.runs, summary.walls)
    return Finished(path=path, prepared=prepared, summary=summary)


@contextlib.contextmanager
def ready_machine(
    runs: Sequence[PlannedRun],
    topology: Topology,
    folder: Path,
    path: Path,
    stop: Stop,
    *,
    share: bool = False,
    tune: bool = False,
    on_event: OnEvent,
) -> Iterator[tuple[Scratch, Tuning]]:
    """Wait for other sweeps on the runs' cores, tune the machine, open the scratch `folder`, and restore all at the
    end.

    To tune, wait for sweeps on any core. Raises Stopped for a stop during the wait, UserError.
    """
    from orchestrator.run import tuning
    from orchestrator.run.events import Tuned
    from orchestrator.run.exclusive import every_pu, reserved, wanted_pus
    from orchestrator.run.scratch import open_scratch, uses_scratch

    cpus = every_pu(topology) if tune else wanted_pus(runs, topology)
    with contextlib.ExitStack() as stack:
        locks = stack.enter_context(reserved(() if share else cpus, path, stop, on_event))
        tuned = (
            stack.enter_context(tuning.tuned(path, lambda text: on_event(Tuned(text=text))))
            if tune
            else tuning.Tuning()
        )
        scratch = stack.enter_context(
            open_scratch(
                folder,
                stop=stop,
                on_event=on_event,
                keep=(*locks, *tuned.keep),
                on_orphaned=tuned.put_back,
                wanted=uses_scratch(runs),
            )
        )
        yield scratch, tuned


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
    with _open_begun(options.output) as result:
        if result is None:
            return _with_warm_ups(prepared, prepared.plan.runs, options), 0
        prepared, left, further = _left_to_do(prepared, result, options, rules, leading, {})
    runs, plan = (*left.todo, *further.runs), prepared.plan
    cells = {run.cell.point_id for run in runs}
    plan = dataclasses.replace(
        plan,
        runs=runs,
        cells=tuple(cell for cell in plan.cells if cell.point_id in cells),
        more={cell: number for cell, number in {**plan.more, **further.more}.items() if cell in cells},
    )
    return dataclasses.replace(prepared, plan=plan), left.done + left.failed


def _left_to_do(
    prepared: Prepared,
    result: ResultFile,
    options: PlanOptions,
    rules: Rules,
    leading: Leading,
    expected: Mapping[str, str],
) -> tuple[Prepared, Pending, Plan]:
    """Return the continued preparation, the remaining runs, and one more run of each unsettled cell.

    `expected`: machine facts that --tune and --drop-caches will change. Raises UserError as `resume.continued` does.
    """
    if options.topology is None:
        prepared = _continued(prepared, result, options.as_new, rules, expected)
    left = pending(prepared.plan, result.attempts(), rules)
    further = _further(prepared, result, rules, leading)
    return _with_warm_ups(prepared, [*left.todo, *further.runs], options), left, further


def _continued(
    prepared: Prepared, result: ResultFile, as_new: bool, rules: Rules, expected: Mapping[str, str]
) -> Prepared:
    """Return the preparation with its runs in the matching cells of a result file."""
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
        resume.Setting(host=platform.node(), facts={**probe.facts(), **expected}, programs=_programs(prepared)),
        is_pending=lambda run: is_pending(attempts.get(run.key, NEVER), rules),
        as_new=as_new,
    )
    return dataclasses.replace(prepared, plan=with_begun(plan, attempts))


def _further(prepared: Prepared, result: ResultFile, rules: Rules, leading: Leading) -> Plan:
    """Return one more run of each unsettled cell in the file that may have further runs."""
    plan = prepared.plan
    if not plan.more:
        return dataclasses.replace(plan, runs=(), warm_ups=())
    cells = {run.cell.point_id: run.cell for run in plan.runs if run.cell.point_id in plan.more}
    good: dict[str, list[Parsed]] = {}
    for record in result.runs():
        if record.status == "ok" and not record.warm_up and record.point_id in cells:
            with contextlib.suppress(ParseError):
                good.setdefault(record.point_id, []).append(result.parsed(record, cells[record.point_id]))
    values = {cell: leading(cells[cell], runs) for cell, runs in good.items()}
    return next_round(plan, result.attempts(), values, prepared.sweeps, rules)


def _with_warm_ups(prepared: Prepared, todo: Sequence[PlannedRun], options: PlanOptions) -> Prepared:
    runs = warm_ups(todo, prepared.sweeps) if options.warm_up else ()
    return dataclasses.replace(prepared, plan=dataclasses.replace(prepared.plan, warm_ups=runs))


def _mixed(result: ResultFile, rules: Rules) -> str:
    """Return a warning if disturbed runs of earlier calls count and new disturbed runs do not, or the reverse.

    Otherwise "".
    """
    if rules.allow_disturbed:
        tries = result.attempts().values()
        number = sum(tried.status == "disturbed" and not is_pending(tried, rules) for tried in tries)
        rule = "do not count, later ones will (--allow-disturbed)"
    else:
        number = result.disturbed_that_count()
        rule = "count (--allow-disturbed), later ones will not"
    return f"{result.path}: {number} earlier disturbed runs {rule}; use a new file (-o)" if number else ""


def begin(
    result: ResultFile,
    prepared: Prepared,
    *,
    version: str,
    argv: Sequence[str],
    seed: int,
    facts: Mapping[str, str],
) -> int:
    """Record a session and its plan (machine, programs, cells), and return its number.

    `facts` are added to the machine's facts.
    """
    session = result.begin_session(
        started_utc=now_utc(),
        version=version,
        argv=[os.fsencode(word).decode("utf-8", "replace") for word in argv],
        seed=seed,
        host=platform.node(),
        facts={**probe.facts(), **_files_of(prepared, result.path), **facts},
        topology=probe.lstopo_xml() or "",
        programs=_programs(prepared),
    )
    _store_plan(result, session, prepared)
    return session


def _digest(experiment: Experiment) -> str:
    return hashlib.sha256(experiment.text.encode()).hexdigest()


def _files_of(prepared: Prepared, result: Path) -> dict[str, Any]:
    """Return the file systems of the result file and the scratch folder, and the sweeps with files there."""
    from orchestrator.machine import file_system

    on_files = {run.sweep for run in prepared.plan.runs if any(f.size_bytes or f.folder for f in run.scratch)}
    known = file_system.recorded(result, prepared.scratch if on_files else None)
    return {**known, **({"scratch_sweeps": "\n".join(sorted(on_files))} if on_files else {})}


def _programs(prepared: Prepared) -> dict[str, dict[str, Any]]:
    """Return the recorded facts of each program, by tool."""
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
            **({"extension": str(extension)} if (extension := extensions.of_tool(tool)) else {}),
            **({"files": files[tool]} if tool in files else {}),
        }
        for tool, p in prepared.machine.programs.items()
        if isinstance(p, Program)
    }


def _store_plan(result: ResultFile, session: int, prepared: Prepared) -> None:
    from orchestrator.store.result_file import StoredCell, StoredExperiment

    plan = prepared.plan
    planned = {cell.point_id for cell in plan.cells}
    for experiment in prepared.experiments:
        sweeps = {sweep.name: sweep for sweep in experiment.sweeps}
        order = list(sweeps)  # cells that --cells leaves out keep their place
        cells = [cell for cell in (*plan.cells, *plan.left_out) if cell.sweep in sweeps]
        digest = _digest(experiment)
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
                    repeats=sweeps[cell.sweep].repeats if cell.point_id in planned else 0,
                    experiment=digest,
                    most_repeats=CAP if cell.point_id in plan.more else 0,
                )
                for cell in sorted(cells, key=lambda cell: order.index(cell.sweep))
            ],
            [skipped for skipped in plan.skipped if skipped.sweep in sweeps],
            [alias for alias in plan.aliases if alias.sweep in sweeps],
        )


def _seed_of(path: Path | None) -> int | None:
    """Return the seed of the first session in a result file. None without a file or a session."""
    with _open_begun(path) as result:
        sessions = result.sessions() if result else ()
    return sessions[0].seed if sessions else None


@contextlib.contextmanager
def _open_begun(path: Path | None) -> Iterator[ResultFile | None]:
    """Open an existing result file to continue, or return None."""
    if path is None:
        yield None
        return
    from orchestrator.store.result_file import open_begun

    with open_begun(path) or contextlib.nullcontext() as result:
        yield result


def file_of_this_machine(folder: Path, names: Iterable[str]) -> Path:
    """Return the result file of some experiments in a folder that many hosts share: EXPERIMENT@HOST.db, always the
    same.

    If this file has runs of another machine with the same name, the next names are EXPERIMENT@HOST-2.db, -3 … An
    unreadable file counts as a file of this machine, because `run` then reports the error.
    """
    name = measured_here(names)
    facts = {"network_cards": identity.cards()}
    for ending in itertools.chain([""], (f"-{number}" for number in itertools.count(2))):
        path = folder / f"{name}{ending}.db"
        try:
            with _open_begun(path) as result:
                sessions = result.sessions() if result else ()
        except PinsweepError:
            return path
        if not any(identity.is_another(session.facts, facts) for session in sessions):
            return path
    raise AssertionError  # numbers continue forever


def default_name(experiments: Sequence[Experiment]) -> str:
    """Return `EXPERIMENT@HOST-UTC.db`, in characters that every file system takes."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{measured_here(experiment.name for experiment in experiments)}-{stamp}.db"


def now_utc() -> str:
    """Return the time, ISO 8601, in seconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
