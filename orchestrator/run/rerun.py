"""Measure chosen cells of result files again, both sides in turns where both can be measured here. I/O.

A side is measured with what it was measured with: the experiment's text in its file, planned anew for this machine, and the
very programs that its session recorded. Fresh runs go into files of their own; the files compared are only read.

Both sides are started only where their commands differ (another place, option or program). Where they are the same, as with a
baseline of this host, or where A is not of this machine as it is now, only B is: its fresh runs then stand against A's stored ones.
`orchestrator.run.fresh` starts what is planned here.
"""

from __future__ import annotations

import contextlib
import dataclasses
import platform
import random
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from orchestrator.experiment.load import parse_experiment
from orchestrator.machine import planted, probe
from orchestrator.machine.ask import checksum
from orchestrator.machine.facts import changed, short, unrecorded
from orchestrator.machine.topology import Topology
from orchestrator.model import AS_NEW, UNPINNED, Cell, Experiment, Plan, PlannedRun, Skipped, canonical_json
from orchestrator.plan import timings
from orchestrator.plan.plan import make_plan
from orchestrator.plan.prepare import Prepared
from orchestrator.plan.survey import scratch_folder, survey
from orchestrator.plan.warm_up import warm_ups
from orchestrator.run import tuning
from orchestrator.run.page_cache import KEPT
from orchestrator.run.resume import as_known
from orchestrator.store.result_file import Conditions, Session, StoredCell, StoredExperiment, open_result
from orchestrator.tools import Program
from parsers.errors import UserError

Side = Literal["a", "b"]
Output = tuple[Side, Path]
"""A side, and the file compared whose cells it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRef:
    """A cell of a result file."""

    path: Path
    point_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The same cell on both sides, and how many fresh runs a side it gets."""

    a: CellRef
    b: CellRef
    repeats: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """What will be started, and what cannot be."""

    pairs: tuple[Pair, ...]
    interleaved: frozenset[int]  # indexes into `pairs`: both sides are measured, in turns
    not_repeatable: Mapping[int, str]  # index → why it cannot be measured again
    why_only_b: str  # why A is not measured again where it is not; "" if all are interleaved
    runs: tuple[tuple[Output, PlannedRun], ...]  # in the order in which they start
    outputs: Mapping[Output, Prepared]  # what the fresh file of each will record
    scratch: Path
    seed: int
    warm_ups: tuple[tuple[Output, PlannedRun], ...] = ()  # before all of them
    tune: bool = False

    @property
    def only_b(self) -> frozenset[int]:
        """Indexes into `pairs`: of these B alone is measured."""
        return frozenset(range(len(self.pairs))) - self.interleaved - self.not_repeatable.keys()

    @property
    def estimate_s(self) -> float:
        return sum(run.estimate_s for _, run in (*self.warm_ups, *self.runs))

    @property
    def topology(self) -> Topology:
        """The machine's; there is none where nothing can be started."""
        return next(prepared.machine.site.topology for prepared in self.outputs.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A file that is compared, as far as measuring again needs it."""

    path: Path
    session: Session  # the last one
    measured: tuple[Session, ...]  # those that the cells are of
    cells: Mapping[str, StoredCell]
    experiments: Mapping[str, StoredExperiment]
    conditions: tuple[Conditions, ...]  # of the cells


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
    """Plan the fresh runs of some cells, and with `warm_up` a warm-up of each program of a side. `folder`: where the fresh files will
    lie. With `tune` the machine will be tuned, as it was for a sweep with --tune.

    Raises UserError where B cannot be measured here: it is of another host, or of this one in another state; and where a
    cell writes to a device that `allow_write` does not name.
    """
    if scratch is not None and not scratch.is_dir():
        raise UserError(
            "--scratch", f"{scratch} is not a directory", "name a folder on the file system to be measured"
        )
    cells: dict[Path, set[str]] = {}
    for pair in pairs:
        for cell in (pair.a, pair.b):
            cells.setdefault(cell.path, set()).add(cell.point_id)
    sources = {path: _open(path, point_ids) for path, point_ids in cells.items()}
    facts = {**probe.facts(), **(tuning.facts_after(tuning.needed()) if tune else {}), "page_cache": KEPT}
    for path in dict.fromkeys(pair.b.path for pair in pairs):
        if why := _out_of_reach(sources[path], facts):
            raise UserError(str(path), f"side B cannot be measured again here: {why[0]}", why[1])
    texts = {path: _texts(source, cells[path]) for path, source in sources.items()}
    where = scratch_folder(
        scratch or folder, {e.name: e for found in texts.values() for e in found.values()}.values()
    )
    sides = {
        (side, path): _plan(sources[path], texts[path], wanted, where, allow_write, seed)
        for (side, path), wanted in _wanted(pairs).items()
        if side == "b" or not _out_of_reach(sources[path], facts)
    }
    rerun = dataclasses.replace(_in_turns(pairs, sides, sources, facts, where, seed), tune=tune)
    return dataclasses.replace(rerun, warm_ups=_warm_ups(rerun)) if warm_up else rerun


def _warm_ups(rerun: Rerun) -> tuple[tuple[Output, PlannedRun], ...]:
    """Return the warm-up of each program of each side. Pure."""
    return tuple(
        (output, run)
        for output, prepared in rerun.outputs.items()
        for run in warm_ups(prepared.plan.runs, prepared.sweeps)
    )


def _texts(source: _Source, point_ids: Iterable[str]) -> dict[str, Experiment]:
    """Return the experiments that some cells are of, by checksum; none of captured output."""
    wanted = {source.cells[point_id].experiment for point_id in point_ids}
    return {
        sha256: parse_experiment(e.text, e.path)
        for sha256, e in source.experiments.items()
        if sha256 in wanted and e.text
    }


def _wanted(pairs: Sequence[Pair]) -> dict[Output, dict[str, int]]:
    found: dict[Output, dict[str, int]] = {}
    for pair in pairs:
        sides: tuple[tuple[Side, CellRef], ...] = (("a", pair.a), ("b", pair.b))
        for side, cell in sides:
            found.setdefault((side, cell.path), {})[cell.point_id] = pair.repeats
    return found


def _open(path: Path, point_ids: Container[str]) -> _Source:
    with open_result(path) as result:
        sessions = result.sessions()
        if not sessions:
            raise UserError(str(path), "holds no session", "`pinsweep run EXPERIMENT -o FILE` makes one")
        conditions = tuple(c for c in result.conditions() if c.point_id in point_ids)
        numbers = {c.session for c in conditions}
        return _Source(
            path=path,
            session=sessions[-1],
            measured=tuple(session for session in sessions if session.session in numbers),
            cells={stored.cell.point_id: stored for stored in result.cells()},
            experiments={experiment.sha256: experiment for experiment in result.experiments()},
            conditions=conditions,
        )


def _out_of_reach(source: _Source, facts: Mapping[str, Any]) -> tuple[str, str] | None:
    """Say why a file's cells cannot be measured again as they were, and what to do; None if they can. Pure."""
    host = platform.node()
    if not any(experiment.text for experiment in source.experiments.values()):
        return (
            "it holds captured output, and no experiment to run",
            "`pinsweep run` makes a file that has one",
        )
    if source.session.host != host:
        return (
            f"it is of the host {source.session.host}, this is {host}",
            f"run the same command on {source.session.host}",
        )
    hint = "run the experiment again with `pinsweep run`, and compare that file"
    for session in source.measured:
        for fact in unrecorded(session.facts, facts):
            return f"its {fact.words} was not recorded", hint
        for fact, then, now in changed(session.facts, facts):
            return f"the {fact.words} was {short(then)} and is {short(now)} now", hint
    return None


# --- planning ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """One side of one file."""

    prepared: Prepared
    runs: Mapping[tuple[str, int], PlannedRun]
    reasons: Mapping[str, str] = field(default_factory=dict)  # point_id → why it cannot run


def _plan(
    source: _Source,
    texts: Mapping[str, Experiment],
    wanted: Mapping[str, int],
    scratch: Path,
    allow_write: Sequence[str],
    seed: int,
) -> _Planned:
    """Plan the wanted cells (point_id → repeats) of a file with the programs of its session."""
    experiments = _narrowed(source, texts, wanted)
    known = survey(experiments, scratch=scratch, allow_write=allow_write, recorded=source.session.programs)
    ways = [
        dataclasses.replace(known, site=dataclasses.replace(known.site, unpinned=unpinned))
        for unpinned in {source.cells[point_id].cell.place == UNPINNED for point_id in wanted}
    ]
    plans = [
        make_plan([e], way, seed=seed, past=timings.load(), only=wanted) for e in experiments for way in ways
    ]
    there = {cell.point_id for plan in plans for cell in plan.cells}
    if other := [source.cells[w].cell for w in wanted if w not in there]:  # the text has it in other words
        with contextlib.suppress(UserError):  # of cells that are not asked for
            every = [make_plan([e], way, seed=seed, past=timings.load()) for e in experiments for way in ways]
            plans += [as_known(plan, other, source.conditions) for plan in every]
    runs = {
        run.key: run for plan in plans for run in plan.runs if run.repeat <= wanted.get(run.cell.point_id, 0)
    }
    changed_files = _changed_files(runs.values(), source.session)
    runs = {key: run for key, run in runs.items() if key[0] not in changed_files}
    cells = {run.cell.point_id: run.cell for run in runs.values()}
    skipped = [item for plan in plans for item in plan.skipped]
    plan = Plan(runs=tuple(runs.values()), cells=tuple(cells.values()), skipped=(), seed=seed)
    return _Planned(
        prepared=Prepared(experiments=experiments, machine=known, plan=plan, scratch=scratch),
        runs=runs,
        reasons={
            point_id: changed_files.get(point_id) or _reason(source.cells[point_id].cell, skipped)
            for point_id in wanted
            if point_id not in cells
        },
    )


def _changed_files(runs: Iterable[PlannedRun], session: Session) -> dict[str, str]:
    """Say of the cells (by point_id) whose command or MPI is not the one that the session recorded what is another now, or what root must
    not start."""
    sums: dict[str, str] = {}
    found = {}
    for run in runs:
        known = session.programs.get(run.tool, {}).get("files", {})
        for name, path in run.files.items():
            now = sums.setdefault(path, checksum(path))
            if name in known and known[name]["sha256"] != now:
                found[run.cell.point_id] = f"{path} is another program now"
            elif why := planted.danger(path):
                found[run.cell.point_id] = f"{path}: {why}"
    return found


def _narrowed(
    source: _Source, texts: Mapping[str, Experiment], wanted: Mapping[str, int]
) -> tuple[Experiment, ...]:
    """Return the experiments of the wanted cells: only their sweeps, under the names they had, with the repeats asked for."""
    repeats: dict[str, dict[str, int]] = {}  # experiment → sweep → repeats
    for point_id, number in wanted.items():
        stored = source.cells[point_id]
        of = repeats.setdefault(stored.experiment, {})
        of[stored.cell.sweep] = max(number, of.get(stored.cell.sweep, 0))
    found = []
    for sha256, sweeps in repeats.items():
        experiment = texts.get(sha256)
        if experiment is None:
            continue
        named = {
            name: sweep
            for sweep in experiment.sweeps
            for name in (sweep.name, f"{experiment.name}/{sweep.name}")
        }
        kept = [
            dataclasses.replace(named[name], name=name, repeats=number)
            for name, number in sweeps.items()
            if name in named
        ]
        found.append(dataclasses.replace(experiment, sweeps=tuple(kept)))
    return tuple(found)


def _reason(cell: Cell, skipped: Iterable[Skipped]) -> str:
    if AS_NEW in cell.options:
        return f"it began anew in its file (as-new={cell.options[AS_NEW]}): `pinsweep run` with more repeats goes on with it"
    labels = canonical_json(cell.labels())
    for item in skipped:
        if item.sweep == cell.sweep and canonical_json(dict(item.cell)) == labels:
            return item.reason
    return "the experiment's text, planned for this machine, has no such cell"


def _in_turns(
    pairs: Sequence[Pair],
    sides: Mapping[Output, _Planned],
    sources: Mapping[Path, _Source],
    facts: Mapping[str, Any],
    scratch: Path,
    seed: int,
) -> Rerun:
    """Order the runs: rounds; in a round the pairs in random order; in a pair A and B in random order. Pure."""
    interleaved, not_repeatable, why_only_b = set(), {}, ""
    for index, pair in enumerate(pairs):
        b = sides["b", pair.b.path]
        a = sides.get(("a", pair.a.path))
        if reason := b.reasons.get(pair.b.point_id):
            not_repeatable[index] = reason
        elif a is None:
            why = _out_of_reach(sources[pair.a.path], facts)
            why_only_b = why_only_b or (f"{pair.a.path.name}: {why[0]}" if why else "")
        elif reason := a.reasons.get(pair.a.point_id):
            why_only_b = why_only_b or f"{pair.a.path.name}: {reason}"
        elif _alike(a, pair.a.point_id, b, pair.b.point_id):
            why_only_b = why_only_b or "the commands of both sides are the same: A is in the past"
        else:
            interleaved.add(index)
    rng = random.Random(seed)
    order: list[tuple[Output, PlannedRun]] = []
    used: dict[Output, set[tuple[str, int]]] = {}  # the keys of its runs
    for repeat in range(1, max((pair.repeats for pair in pairs), default=0) + 1):
        for index in rng.sample(range(len(pairs)), len(pairs)):
            pair = pairs[index]
            if index in not_repeatable or repeat > pair.repeats:
                continue
            both: list[Side] = ["a", "b"] if index in interleaved else ["b"]
            for side in rng.sample(both, len(both)):
                cell = pair.a if side == "a" else pair.b
                output, key = (side, cell.path), (cell.point_id, repeat)
                order.append((output, sides[output].runs[key]))
                used.setdefault(output, set()).add(key)
    return Rerun(
        pairs=tuple(pairs),
        interleaved=frozenset(interleaved),
        not_repeatable=not_repeatable,
        why_only_b=why_only_b,
        runs=tuple(order),
        outputs={
            output: _restricted(side.prepared, used[output])
            for output, side in sides.items()
            if output in used
        },
        scratch=scratch,
        seed=seed,
    )


def _alike(a: _Planned, cell_a: str, b: _Planned, cell_b: str) -> bool:
    """Would both sides start the very same thing?"""

    def start(side: _Planned, cell: str) -> tuple[object, ...]:
        run = side.runs[cell, 1]
        program = side.prepared.machine.programs.get(run.tool)
        same = (program.sha256 or program.path) if isinstance(program, Program) else ""
        words = tuple(same if isinstance(program, Program) and w == program.path else w for w in run.argv)
        return words, dict(run.env), run.cwd, same

    return start(a, cell_a) == start(b, cell_b)


def _restricted(prepared: Prepared, keys: Container[tuple[str, int]]) -> Prepared:
    runs = tuple(run for run in prepared.plan.runs if run.key in keys)
    cells = {run.cell.point_id: run.cell for run in runs}
    plan = dataclasses.replace(prepared.plan, runs=runs, cells=tuple(cells.values()))
    return dataclasses.replace(prepared, plan=plan)
