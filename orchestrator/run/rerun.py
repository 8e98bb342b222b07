"""Measure selected cells of result files again, alternately for both sides if both can be measured here. I/O.

Each side runs the content of its file: the experiment's text, planned for this machine, and the programs of its
session. Fresh runs go into new files. Both sides run only if their commands differ (place, option or program). Only B
runs if the commands are equal, or if A is from another machine or state. Then B's fresh runs are compared with A's
stored runs.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import platform
import random
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from orchestrator.experiment.load import parse_experiment
from orchestrator.machine import planted, probe
from orchestrator.machine.ask import checksum
from orchestrator.machine.facts import changed, short, unrecorded
from orchestrator.machine.topology import Topology
from orchestrator.model import (
    AS_NEW,
    UNPINNED,
    Cell,
    Experiment,
    Plan,
    PlannedRun,
    RunRecord,
    Skipped,
    Tried,
    canonical_json,
)
from orchestrator.plan import timings
from orchestrator.plan.plan import make_plan
from orchestrator.plan.prepare import Prepared
from orchestrator.plan.survey import scratch_folder, survey
from orchestrator.plan.warm_up import warm_ups
from orchestrator.run import tuning
from orchestrator.run.events import Begun, OnEvent, Summary
from orchestrator.run.execute import execute
from orchestrator.run.outcome import Rules
from orchestrator.run.process import Stop
from orchestrator.run.resume import as_known
from orchestrator.run.session import CACHE_KEPT, begin, now_utc, ready_machine
from orchestrator.store.result_file import (
    Conditions,
    ResultFile,
    Session,
    StoredCell,
    create_result,
    open_result,
)
from orchestrator.tools import Program
from parsers.errors import UserError
from parsers.measurement import Parsed

Side = Literal["a", "b"]
Output = tuple[Side, Path]
"""A side, and the compared file of its cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRef:
    """A cell of a result file."""

    path: Path
    point_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same cell on both sides, and how many fresh runs each side gets."""

    a: CellRef
    b: CellRef
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """The runs that will be started, and the cells that cannot run."""

    pairs: tuple[Pair, ...]
    interleaved: frozenset[int]  # indexes into `pairs`: both sides are measured, in turns
    not_repeatable: Mapping[int, str]  # index → why it cannot be measured again
    why_only_b: str  # why A is not measured again; "" if all pairs are interleaved
    runs: tuple[tuple[Output, PlannedRun], ...]  # start order
    outputs: Mapping[Output, Prepared]  # the session that each fresh file will record
    scratch: Path
    seed: int
    warm_ups: tuple[tuple[Output, PlannedRun], ...] = ()  # before all runs
    tune: bool = False

    @property
    def only_b(self) -> frozenset[int]:
        """Indexes into `pairs` that only B is measured of."""
        return frozenset(range(len(self.pairs))) - self.interleaved - self.not_repeatable.keys()

    @property
    def estimate_s(self) -> float:
        return sum(run.estimate_s for _, run in (*self.warm_ups, *self.runs))

    @property
    def topology(self) -> Topology:
        """The machine's. Raises StopIteration if nothing can be started."""
        return next(prepared.machine.site.topology for prepared in self.outputs.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """What `run_again` made: the files of each side."""

    a: tuple[Path, ...]
    b: tuple[Path, ...]
    summary: Summary


class _Outputs:
    """Commits each run to the file of its side."""

    def __init__(self, files: Iterable[tuple[PlannedRun, ResultFile]]) -> None:
        self._files = {id(run): file for run, file in files}  # both sides may have a run of one key

    def attempts(self) -> dict[tuple[str, int], Tried]:
        return {}

    def add_run(self, run: PlannedRun, record: RunRecord, outputs: Mapping[str, bytes], parsed: Parsed | None) -> int:
        return self._files[id(run)].add_run(run, record, outputs, parsed)


def run_again(
    rerun: Rerun,
    folder: Path,
    *,
    version: str,
    argv: Sequence[str],
    rules: Rules = Rules(),  # noqa: B008 (frozen)
    on_event: OnEvent = lambda _: None,
) -> Fresh:
    """Start the fresh runs, and commit each run to a new file of its side in `folder`.

    Raises Stopped for a stop before that.
    """
    first_runs, runs = (tuple(run for _, run in some) for some in (rerun.warm_ups, rerun.runs))
    plan = Plan(runs=runs, cells=(), skipped=(), seed=rerun.seed, warm_ups=first_runs)
    paths = _names(folder, rerun.outputs)
    path, topology = next(iter(paths.values())), rerun.topology
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(Stop())
        scratch, tuned = stack.enter_context(
            ready_machine(runs, topology, rerun.scratch, path, stop, tune=rerun.tune, on_event=on_event)
        )
        on_event(Begun(path=path, prepared=next(iter(rerun.outputs.values()))))
        facts = {"page_cache": CACHE_KEPT} | ({"tuned": tuning.words(tuned.changes)} if tuned.changes else {})
        files = {output: stack.enter_context(create_result(path)) for output, path in paths.items()}
        (session,) = {  # the first of each new file
            begin(files[output], prepared, version=version, argv=argv, seed=rerun.seed, facts=facts)
            for output, prepared in rerun.outputs.items()
        }
        sink = _Outputs((run, files[output]) for output, run in (*rerun.warm_ups, *rerun.runs))
        summary = execute(plan, sink, session, scratch, stop, topology=topology, rules=rules, on_event=on_event)
        for result in files.values():
            result.end_session(session, now_utc())
    summary.scratch_left = scratch.left
    a, b = (tuple(path for (side, _), path in paths.items() if side == name) for name in "ab")
    return Fresh(a=a, b=b, summary=summary)


def _names(folder: Path, outputs: Iterable[Output]) -> dict[Output, Path]:
    """Return a new name for each fresh file: `confirm-20260102T030405Z-a-STEM.db`, in characters that every file system takes."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    paths: dict[Output, Path] = {}
    for side, path in outputs:
        stem = f"confirm-{stamp}-{side}-{re.sub(r'[^A-Za-z0-9@.-]+', '-', path.stem)[:80]}"
        names = (folder / f"{stem}{n}.db" for n in ("", *(f"-{i}" for i in range(2, 1000))))
        paths[side, path] = next(p for p in names if not p.exists() and p not in paths.values())
    return paths


# --- planning ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """The data of a compared file for a new measurement."""

    path: Path
    session: Session  # the last one
    measured: tuple[Session, ...]  # the sessions of the cells
    cells: Mapping[str, StoredCell]
    experiments: Mapping[str, Experiment]  # experiments of the cells, by checksum; empty for captured output
    conditions: tuple[Conditions, ...]  # measuring conditions of the cells


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """One side of one file."""

    prepared: Prepared
    runs: Mapping[tuple[str, int], PlannedRun]
    reasons: Mapping[str, str] = field(default_factory=dict)  # point_id → why it cannot run


def prepare_again(
    pairs: Sequence[Pair],
    *,
    folder: Path,
    scratch: Path | None = None,
    allow_write: Sequence[str] = (),
    seed: int,
    warm_up: bool = True,
    tune: bool = False,
) -> Rerun:
    """Plan the fresh runs of some cells, with a warm-up of each program per side. `folder` is for the fresh files.

    Raises UserError if B is from another host, or from another state of this host. Raises UserError for a cell that
    writes to a device that is not in `allow_write`.
    """
    if scratch is not None and not scratch.is_dir():
        cause = f"{scratch} is not a directory"
        raise UserError("--scratch", cause, "name a folder on the file system to be measured")
    wanted: dict[Output, dict[str, int]] = {}
    for pair in pairs:
        wanted.setdefault(("a", pair.a.path), {})[pair.a.point_id] = pair.repeats
        wanted.setdefault(("b", pair.b.path), {})[pair.b.point_id] = pair.repeats
    paths = dict.fromkeys(path for _, path in wanted)
    sources = {path: _open(path, {c for (_, p), cells in wanted.items() if p == path for c in cells}) for path in paths}
    facts = {
        **probe.facts(),
        **(tuning.facts_after(tuning.needed()) if tune else {}),
        "page_cache": CACHE_KEPT,
    }
    obstacles = {path: _obstacle(source, facts) for path, source in sources.items()}
    for pair in pairs:
        if why := obstacles[pair.b.path]:
            raise UserError(str(pair.b.path), f"side B cannot be measured again here: {why[0]}", why[1])
    experiments = {e.name: e for source in sources.values() for e in source.experiments.values()}
    where = scratch_folder(scratch or folder, experiments.values())
    sides = {
        (side, path): _plan(sources[path], cells, where, allow_write, seed)
        for (side, path), cells in wanted.items()
        if not obstacles[path]
    }
    why_not = {path: f"{path.name}: {why[0]}" for path, why in obstacles.items() if why}
    rerun = dataclasses.replace(_in_turns(pairs, sides, why_not, where, seed), tune=tune)
    if not warm_up:
        return rerun
    runs = ((output, p.plan.runs, p.sweeps) for output, p in rerun.outputs.items())
    first = tuple((output, run) for output, planned, sweeps in runs for run in warm_ups(planned, sweeps))
    return dataclasses.replace(rerun, warm_ups=first)


def _open(path: Path, point_ids: Container[str]) -> _Source:
    with open_result(path) as result:
        sessions = result.sessions()
        if not sessions:
            raise UserError(str(path), "holds no session", "`pinsweep run EXPERIMENT -o FILE` makes one")
        conditions = tuple(c for c in result.conditions() if c.point_id in point_ids)
        numbers = {c.session for c in conditions}
        cells = {stored.cell.point_id: stored for stored in result.cells()}
        wanted = {stored.experiment for point_id, stored in cells.items() if point_id in point_ids}
        return _Source(
            path=path,
            session=sessions[-1],
            measured=tuple(session for session in sessions if session.session in numbers),
            cells=cells,
            experiments={
                e.sha256: parse_experiment(e.text, e.path)
                for e in result.experiments()
                if e.sha256 in wanted and e.text
            },
            conditions=conditions,
        )


def _obstacle(source: _Source, facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return why a file's cells cannot be measured again in the same way, and the next step. None if they can. Pure."""
    host = platform.node()
    if not source.experiments:
        return "it holds captured output, and no experiment", "`pinsweep run` makes a file that has one"
    if source.session.host != host:
        other_host = source.session.host
        return f"it is of the host {other_host}, this is {host}", f"run the same command on {other_host}"
    hint = "run the experiment again with `pinsweep run`, and compare that file"
    for session in source.measured:
        for fact in unrecorded(session.facts, facts):
            return f"its {fact.words} was not recorded", hint
        for fact, then, now in changed(session.facts, facts):
            return f"the {fact.words} was {short(then)} and is {short(now)} now", hint
    return None


def _plan(source: _Source, wanted: Mapping[str, int], scratch: Path, allow_write: Sequence[str], seed: int) -> _Planned:
    """Return the plan of selected cells (point_id → repeats) of a file, with the programs of its session."""
    experiments = _narrowed(source, wanted)
    machine = survey(experiments, scratch=scratch, allow_write=allow_write, recorded=source.session.programs)
    past = timings.load()
    ways = [
        (
            [experiment],
            dataclasses.replace(machine, site=dataclasses.replace(machine.site, unpinned=unpinned)),
        )
        for experiment in experiments
        for unpinned in {source.cells[point_id].cell.place == UNPINNED for point_id in wanted}
    ]
    plans = [make_plan(e, way, seed=seed, past=past, only=wanted) for e, way in ways]
    planned = {cell.point_id for plan in plans for cell in plan.cells}
    if other := [source.cells[w].cell for w in wanted if w not in planned]:  # the text spells them differently
        with contextlib.suppress(UserError):  # about cells that are not wanted
            every = [make_plan(e, way, seed=seed, past=past) for e, way in ways]
            plans += [as_known(plan, other, source.conditions) for plan in every]
    runs = {r.key: r for plan in plans for r in plan.runs if r.repeat <= wanted.get(r.cell.point_id, 0)}
    reasons = _changed_files(runs.values(), source.session)
    runs = {key: run for key, run in runs.items() if key[0] not in reasons}
    cells = {run.cell.point_id: run.cell for run in runs.values()}
    skipped = [item for plan in plans for item in plan.skipped]
    plan = Plan(runs=tuple(runs.values()), cells=tuple(cells.values()), skipped=(), seed=seed)
    return _Planned(
        prepared=Prepared(experiments=experiments, machine=machine, plan=plan, scratch=scratch),
        runs=runs,
        reasons={c: _reason(source.cells[c].cell, skipped) for c in wanted if c not in cells} | reasons,
    )


def _changed_files(runs: Iterable[PlannedRun], session: Session) -> dict[str, str]:
    """Return point_id → the reason not to start its command or MPI: a changed program, or one that other users can
    write.
    """
    sums: dict[str, str] = {}
    reasons = {}
    for run in runs:
        known = session.programs.get(run.tool, {}).get("files", {})
        for name, path in run.files.items():
            now = sums.setdefault(path, checksum(path))
            if name in known and known[name]["sha256"] != now:
                reasons[run.cell.point_id] = f"{path} is another program now"
            elif why := planted.danger(path):
                reasons[run.cell.point_id] = f"{path}: {why}"
    return reasons


def _narrowed(source: _Source, wanted: Mapping[str, int]) -> tuple[Experiment, ...]:
    """Return the experiments with only the sweeps of the selected cells, under the same names, with the requested
    repeats.
    """
    repeats: dict[str, dict[str, int]] = {}  # experiment → sweep → repeats
    for point_id, number in wanted.items():
        stored = source.cells[point_id]
        sweeps = repeats.setdefault(stored.experiment, {})
        sweeps[stored.cell.sweep] = max(number, sweeps.get(stored.cell.sweep, 0))
    narrowed = []
    for sha256, sweeps in repeats.items():
        if experiment := source.experiments.get(sha256):
            by_name = {s.name: s for s in experiment.sweeps}
            by_name |= {f"{experiment.name}/{s.name}": s for s in experiment.sweeps}
            narrow = (dataclasses.replace(by_name[n], name=n, repeats=r) for n, r in sweeps.items() if n in by_name)
            narrowed.append(dataclasses.replace(experiment, sweeps=tuple(narrow)))
    return tuple(narrowed)


def _reason(cell: Cell, skipped: Iterable[Skipped]) -> str:
    if AS_NEW in cell.options:
        return f"it is a cell of --as-new ({cell.options[AS_NEW]}): use `pinsweep run` with more repeats"
    labels = canonical_json(cell.labels())
    reasons = (s.reason for s in skipped if s.sweep == cell.sweep and canonical_json(dict(s.cell)) == labels)
    return next(reasons, "the experiment's text, planned for this machine, has no such cell")


def _in_turns(
    pairs: Sequence[Pair],
    sides: Mapping[Output, _Planned],
    why_not: Mapping[Path, str],
    scratch: Path,
    seed: int,
) -> Rerun:
    """Order the runs: rounds; in a round the pairs in random order; in a pair A and B in random order. Pure."""
    interleaved, not_repeatable, why_only_b = set[int](), dict[int, str](), ""
    for index, pair in enumerate(pairs):
        a, b = sides.get(("a", pair.a.path)), sides["b", pair.b.path]
        if reason := b.reasons.get(pair.b.point_id):
            not_repeatable[index] = reason
        elif a is None:
            why_only_b = why_only_b or why_not[pair.a.path]
        elif reason := a.reasons.get(pair.a.point_id):
            why_only_b = why_only_b or f"{pair.a.path.name}: {reason}"
        elif _start(a, pair.a.point_id) == _start(b, pair.b.point_id):
            why_only_b = why_only_b or "the commands of both sides are equal"
        else:
            interleaved.add(index)
    rng = random.Random(seed)
    order: list[tuple[Output, PlannedRun]] = []
    for repeat in range(1, max((pair.repeats for pair in pairs), default=0) + 1):
        for index in rng.sample(range(len(pairs)), len(pairs)):
            pair = pairs[index]
            if index in not_repeatable or repeat > pair.repeats:
                continue
            both: list[Side] = ["a", "b"] if index in interleaved else ["b"]
            for side in rng.sample(both, len(both)):
                cell = pair.a if side == "a" else pair.b
                order.append(((side, cell.path), sides[side, cell.path].runs[cell.point_id, repeat]))
    return Rerun(
        pairs=tuple(pairs),
        interleaved=frozenset(interleaved),
        not_repeatable=not_repeatable,
        why_only_b=why_only_b,
        runs=tuple(order),
        outputs={
            output: _restricted(side.prepared, keys)
            for output, side in sides.items()
            if (keys := {run.key for other, run in order if other == output})
        },
        scratch=scratch,
        seed=seed,
    )


def _start(side: _Planned, cell: str) -> tuple[object, ...]:
    """Return the start command of a cell in comparable form. Equal programs are equal at any path."""
    run = side.runs[cell, 1]
    program = side.prepared.machine.programs.get(run.tool)
    if not isinstance(program, Program):
        return run.argv, dict(run.env), run.cwd
    same = program.sha256 or program.path
    return tuple(same if w == program.path else w for w in run.argv), dict(run.env), run.cwd, same


def _restricted(prepared: Prepared, keys: Container[tuple[str, int]]) -> Prepared:
    runs = tuple(run for run in prepared.plan.runs if run.key in keys)
    cells = {run.cell.point_id: run.cell for run in runs}
    plan = dataclasses.replace(prepared.plan, runs=runs, cells=tuple(cells.values()))
    return dataclasses.replace(prepared, plan=plan)
