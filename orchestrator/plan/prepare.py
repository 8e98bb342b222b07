"""What `plan` and `run` share: experiment files and the user's options in, the same plan out. I/O."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.experiment import repeats
from orchestrator.experiment.load import load_experiment
from orchestrator.machine.probe import load_topology
from orchestrator.model import Experiment, Plan, Sweep
from orchestrator.plan import timings
from orchestrator.plan.choose import chosen
from orchestrator.plan.plan import Machine, make_plan
from orchestrator.plan.survey import is_free, refuse_shared, scratch_folder, survey
from parsers.errors import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """The user's options on the command line, without the experiment files."""

    output: Path | None = None
    scratch: Path | None = None
    allow_write: tuple[str, ...] = ()
    topology: str | None = None  # plan for another machine: a file, or a synthetic description
    strict: bool = False
    only: tuple[str, ...] = ()  # names of sweeps
    cells: tuple[str, ...] = ()  # "AXIS=VALUE[,VALUE]", each: only cells that have one of the values
    repeats: int | str | None = None  # replaces the experiments' value: a number, or "auto"
    warm_up: bool = True  # a run of each program comes before all others
    unpinned: bool = False  # no cell gets a placement, and each is called so
    as_new: bool = False  # runs in another setting than the stored cells begin new cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Everything that is known before the first run starts."""

    experiments: tuple[Experiment, ...]
    machine: Machine
    plan: Plan
    scratch: Path

    @property
    def sweeps(self) -> dict[str, Sweep]:
        return {sweep.name: sweep for experiment in self.experiments for sweep in experiment.sweeps}


def prepare(
    paths: Sequence[Path], options: PlanOptions, *, seed: int, free: Callable[[Path], bool] = is_free
) -> Prepared:
    """Load, survey the machine, plan. `free` says which scratch folders may be used; the first one is.

    Raises UserError for every mistake before anything is started.
    """
    loaded = _with_unique_names([load_experiment(path) for path in paths])
    names = {sweep.name for experiment in loaded for sweep in experiment.sweeps}
    if missing := sorted(set(options.only) - names):
        cause = f"no sweep named {', '.join(missing)}"
        raise UserError("--only", cause, f"sweeps: {', '.join(sorted(names))}")
    changes = {} if options.repeats is None else repeats.settings(options.repeats)
    only = options.only or names
    experiments = tuple(
        dataclasses.replace(
            experiment,
            sweeps=tuple(dataclasses.replace(s, **changes) for s in experiment.sweeps if s.name in only),
        )
        for experiment in loaded
    )
    if options.scratch is not None and not options.scratch.is_dir():
        cause = f"{options.scratch} is not a directory"
        raise UserError("--scratch", cause, "name a folder on the file system to be measured")
    root = options.scratch or (options.output.parent if options.output else Path())
    folder = scratch_folder(root, experiments, free)
    on_this_host = options.topology is None
    machine = survey(
        experiments,
        scratch=folder,
        topology=None if options.topology is None else load_topology(options.topology),
        allow_write=options.allow_write,
        unpinned=options.unpinned,
    )
    past = timings.load() if on_this_host else None
    plan = make_plan(experiments, machine, seed=seed, past=past, strict=options.strict)
    plan = chosen(plan, options.cells)
    if on_this_host and any(run.scratch or run.cwd for run in plan.runs):
        with contextlib.suppress(OSError):  # the folder is still missing
            refuse_shared(folder)
    return Prepared(experiments=experiments, machine=machine, plan=plan, scratch=folder)


def _with_unique_names(experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Add the file's name to the name of a duplicate sweep: `lab-memory/tails`. Cells of earlier files do not change."""
    names: set[str] = set()
    renamed = []
    for experiment in experiments:
        sweeps = tuple(
            dataclasses.replace(s, name=f"{experiment.name}/{s.name}") if s.name in names else s
            for s in experiment.sweeps
        )
        names |= {sweep.name for sweep in sweeps}
        renamed.append(dataclasses.replace(experiment, sweeps=sweeps))
    return tuple(renamed)
