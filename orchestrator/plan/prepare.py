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
    """What the user gave on the command line beside the experiment files."""

    output: Path | None = None
    scratch: Path | None = None
    allow_write: tuple[str, ...] = ()
    topology: str | None = None  # plan for another machine: a file, or a synthetic description
    strict: bool = False
    only: tuple[str, ...] = ()  # names of sweeps
    cells: tuple[str, ...] = ()  # "AXIS=VALUE[,VALUE]", each: only cells that have one of the values
    repeats: int | str | None = None  # in the place of what the experiments say: a number, or "auto"
    warm_up: bool = True  # a run of each program comes before all others
    unpinned: bool = False  # no cell gets a placement, and each is called so
    as_new: bool = False  # what the result file holds measured in another way begins cells of its own


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
    """Load, look around, plan. `free` says of scratch folders which may be used; the first one is.

    Raises UserError for every mistake before anything is started.
    """
    loaded = _told_apart([load_experiment(path) for path in paths])
    known = {sweep.name for experiment in loaded for sweep in experiment.sweeps}
    if missing := sorted(set(options.only) - known):
        raise UserError(
            "--only", f"no sweep named {', '.join(missing)}", f"sweeps: {', '.join(sorted(known))}"
        )
    experiments = tuple(_narrowed(experiment, options) for experiment in loaded)
    if options.scratch is not None and not options.scratch.is_dir():
        raise UserError(
            "--scratch",
            f"{options.scratch} is not a directory",
            "name a folder on the file system to be measured",
        )
    root = options.scratch or (options.output.parent if options.output else Path())
    folder = scratch_folder(root, experiments, free)
    machine = survey(
        experiments,
        scratch=folder,
        topology=load_topology(options.topology) if options.topology is not None else None,
        allow_write=options.allow_write,
        unpinned=options.unpinned,
    )
    past = (
        timings.load() if options.topology is None else None
    )  # what runs took here tells nothing of another machine
    plan = make_plan(experiments, machine, seed=seed, past=past, strict=options.strict)
    plan = chosen(plan, options.cells)
    if options.topology is None and any(run.scratch or run.cwd for run in plan.runs):
        with contextlib.suppress(OSError):  # it is not there yet
            refuse_shared(folder)
    return Prepared(experiments=experiments, machine=machine, plan=plan, scratch=folder)


def _told_apart(experiments: Sequence[Experiment]) -> tuple[Experiment, ...]:
    """Put the file's name before a sweep's name that an earlier file has taken: `lab-memory/tails`.

    The earlier file keeps the name, so that adding a file leaves the cells of the others what they are.
    """
    taken: set[str] = set()
    found = []
    for experiment in experiments:
        sweeps = [
            dataclasses.replace(sweep, name=f"{experiment.name}/{sweep.name}")
            if sweep.name in taken
            else sweep
            for sweep in experiment.sweeps
        ]
        taken |= {sweep.name for sweep in sweeps}
        found.append(dataclasses.replace(experiment, sweeps=tuple(sweeps)))
    return tuple(found)


def _narrowed(experiment: Experiment, options: PlanOptions) -> Experiment:
    """Return the experiment with the sweeps and the repeats that the user asks for."""
    changed = {} if options.repeats is None else repeats.settings(options.repeats)
    kept = (sweep for sweep in experiment.sweeps if not options.only or sweep.name in options.only)
    return dataclasses.replace(
        experiment, sweeps=tuple(dataclasses.replace(sweep, **changed) for sweep in kept)
    )
