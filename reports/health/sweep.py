"""Run the short sweep of a check with a time limit. The module starts runs and stores the result file."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from orchestrator.machine.user_folders import data_folder
from orchestrator.plan.prepare import PlanOptions
from orchestrator.run.events import Begun, Ended, Event, Started, Waiting
from orchestrator.run.outcome import Rules
from orchestrator.run.session import Finished, run_experiments
from parsers.errors import PinsweepError, UserError
from reports.checks.audit import audit
from reports.compare.comparison import Ask, compare
from reports.compare.sides import side
from reports.health.troubles import WRONG, Trouble, compared, describe_cell, troubles
from reports.results.load import load
from reports.results.model import Results
from reports.results.write import copy_result

_MIN_REPEATS: Final = 2
"""Repeats per side that a verdict needs."""


class _NotNow(Exception):
    """The check is not possible now. Has an id and the cause."""


class Check:
    """One sweep with a time limit, and its findings."""

    def __init__(self, within: float, *, version: str, argv: Sequence[str], install: Callable[[], str] = str) -> None:
        """`within`: seconds; `version` and `argv` are recorded with the session; `install` gives the command for missing packages."""
        self._install = install
        self._within = within
        self._version, self._argv = version, argv
        self._begun = self._late = False
        self._activity = "it was preparing"
        self._wrong: set[tuple[str, int]] = set()  # as `troubles` takes them

    def troubles(
        self, experiment: Path, path: Path, scratch: Path, baseline: Sequence[Path], threshold: float, *, allow_disturbed: bool
    ) -> Sequence[Trouble]:  # fmt: skip
        """Run an experiment into the result file `path`, and return the troubles in ORDER, also against the baseline's
        files.

        Raises UserError for a mistake in the experiment, KeyboardInterrupt if the user stopped the run.
        """
        try:
            with self._in_time():
                finished = self._run(experiment, path, scratch, allow_disturbed=allow_disturbed)
        except _NotNow as cause:
            return [Trouble("unknown", *cause.args)]
        if finished.summary.stopped and not self._late:
            raise KeyboardInterrupt
        missing = [
            Trouble("unknown", "not-installed", f"{tool}: {problem}")
            for tool, problem in finished.prepared.machine.programs.items()
            if isinstance(problem, str)
        ]
        if not finished.prepared.plan.runs:
            reasons = [f": {cell.reason}" for cell in finished.prepared.plan.skipped]
            return missing or [Trouble("unknown", "no-cell", "no cell can run here" + "".join(reasons[:1]))]
        results = load([path])
        measured = troubles(
            results, audit(results), wrong=self._wrong, late=self._too_late if self._late else "", enough=_MIN_REPEATS if baseline else 1
        )  # fmt: skip
        against = self._compare(results, baseline, threshold) if baseline and results.tools else ()
        return sorted([*missing, *measured, *against], key=Trouble.severity)

    def _run(self, experiment: Path, path: Path, scratch: Path, *, allow_disturbed: bool) -> Finished:
        try:
            return run_experiments(
                [experiment],
                PlanOptions(output=path, scratch=scratch, warm_up=False),
                version=self._version,
                argv=self._argv,
                rules=Rules(allow_disturbed=allow_disturbed),
                keep_reasons=True,
                on_event=self._on_event,
            )
        except PinsweepError as error:
            if isinstance(error, UserError) and error.place == str(experiment):
                raise  # a mistake in the command
            raise _NotNow("could-not-run", f"{error.place}: {error.cause}") from error

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Waiting):
            _refuse(event)
        elif isinstance(event, Begun):
            self._begun = True
        elif isinstance(event, Started):
            self._activity = f"{describe_cell(event.run.cell)} was running"
        elif isinstance(event, Ended) and event.parsed and event.parsed.has(WRONG):
            self._wrong.add(event.run.key)

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        """Stop the block after `within` seconds. A sweep in progress is stopped and its results are stored."""
        before = signal.signal(signal.SIGALRM, self._alarm)
        signal.setitimer(signal.ITIMER_REAL, self._within)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def _alarm(self, _number: int, _frame: FrameType | None) -> None:
        if not self._begun:
            self._late = True
            raise _NotNow("time", self._too_late)
        if signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, None):
            # no handler yet: the sweep has just ended, or handles the signal soon
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        self._late = True
        os.kill(os.getpid(), signal.SIGTERM)  # as from a user: the sweep ends its processes and completes the file

    @property
    def _too_late(self) -> str:
        return f"not done within {self._within:g} s; {self._activity}"

    def _compare(self, results: Results, baseline: Sequence[Path], threshold: float) -> Iterator[Trouble]:
        """Yield the troubles against the baseline, or the reason for no comparison."""
        sweeps = {run.cell.sweep for run in results.runs}
        problem = ""
        try:
            before = side("A", "baseline", load(baseline), sweeps)
            comparison = compare(before, side("B", "now", results), Ask(threshold=threshold))
            yield from compared(comparison)
            if not len(comparison.verdicts):
                problem = "no number of the baseline is one of this check"
        except UserError as error:
            problem = f"not compared with the baseline: {error.place}: {error.cause}"
        except ModuleNotFoundError as error:  # a host that only measures has no numpy and no scipy
            problem = f"not compared with the baseline: that needs {error.name}: {self._install()}"
        if problem:
            yield Trouble("unknown", "baseline", problem)


def _refuse(event: Waiting) -> None:
    """Raise _NotNow instead of waiting, because a late check is useless."""
    if event.scratch:
        raise _NotNow("busy", f"another sweep is measuring; the scratch folder: {event.scratch}")
    if event.holder:
        raise _NotNow("busy", f"another sweep is measuring; {event.holder.shared}: {event.holder}")


def store_evidence(path: Path) -> Path | None:
    """Copy the result file of a check over the last file of the same kind. Return the path, or None after a failure."""
    try:
        folder = data_folder() / "checks"
        folder.mkdir(parents=True, exist_ok=True)
        copy_result(path, folder / path.name)
    except (OSError, PinsweepError):
        return None
    return folder / path.name
