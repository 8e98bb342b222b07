"""The short sweep of a check, given up in time, and what it says of the host. I/O: starts runs, keeps their file."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from orchestrator.machine.user_folders import data_folder
from orchestrator.plan.prepare import PlanOptions, Prepared
from orchestrator.run.exclusive import Holder
from orchestrator.run.execute import Ended, Event, Started
from orchestrator.run.outcome import Rules
from orchestrator.run.session import Finished, run_experiments
from parsers.errors import PinsweepError, UserError
from reports.checks.audit import audit
from reports.compare.comparison import Ask, Comparison, compare
from reports.compare.sides import side
from reports.health.troubles import ORDER, WRONG, Trouble, named, troubles
from reports.results.load import load
from reports.results.model import Results
from reports.results.write import copy_result
from reports.text import format as fmt

_TO_COMPARE: Final = 2
"""So many repeats at least a verdict asks for on each side."""


class _NotNow(Exception):
    """Nothing is measured: why, in an admin's word and in a sentence."""

    def __init__(self, id_: str, text: str) -> None:
        super().__init__(text)
        self.id, self.text = id_, text


class Check:
    """One sweep, given up in time, and what it says."""

    def __init__(
        self, within: float, *, version: str, argv: Sequence[str], install: Callable[[], str] = str
    ) -> None:
        """`within`: seconds; `version` and `argv` are recorded with the session; `install` gives the command for packages that are missing."""
        self._install = install
        self._within = within
        self._version, self._argv = version, argv
        self._begun = self._late = False
        self._going_on = "it was preparing"
        self._wrong: set[tuple[str, int]] = set()  # as `troubles` takes them

    def troubles(
        self, experiment: Path, path: Path, scratch: Path, baseline: Sequence[Path], threshold: float, *, allow_disturbed: bool
    ) -> tuple[Trouble, ...]:  # fmt: skip
        """Run an experiment into the result file `path`, and return what is wrong by it and beside the baseline's files, the gravest first.

        Raises UserError for a mistake in the experiment, KeyboardInterrupt where the user stopped it.
        """
        try:
            with self._in_time():
                finished = self._run(experiment, path, scratch, allow_disturbed=allow_disturbed)
        except _NotNow as why:
            return (Trouble(kind="unknown", id=why.id, text=why.text),)
        if finished.summary.stopped and not self._late:
            raise KeyboardInterrupt
        unknown = [
            Trouble(kind="unknown", id="not-installed", text=f"{tool}: {why}")
            for tool, why in finished.prepared.machine.programs.items()
            if isinstance(why, str)
        ]
        if not finished.prepared.plan.runs:
            reasons = list(dict.fromkeys(one.reason for one in finished.prepared.plan.skipped))
            more = f" (and {fmt.plural(len(reasons) - 1, 'other reason')})" if len(reasons) > 1 else ""
            text = "no cell can run here" + (f": {reasons[0]}{more}" if reasons else "")
            return tuple(unknown) or (Trouble(kind="unknown", id="no-cell", text=text),)
        results = load([path])
        found, unjudged = self._compared(results, baseline, threshold)
        every = [
            *unknown,
            *troubles(
                results,
                audit(results),
                wrong=self._wrong,
                found=found,
                unjudged=unjudged,
                late=self._too_late if self._late else "",
                enough=_TO_COMPARE if baseline else 1,
            ),
        ]
        return tuple(sorted(every, key=lambda one: ORDER.index(one.kind)))

    def _run(self, experiment: Path, path: Path, scratch: Path, *, allow_disturbed: bool) -> Finished:
        try:
            return run_experiments(
                [experiment],
                PlanOptions(output=path, scratch=scratch, warm_up=False),
                version=self._version,
                argv=self._argv,
                rules=Rules(allow_disturbed=allow_disturbed),
                keep_reasons=True,
                on_wait=_refused,
                on_begin=self._on_begin,
                on_event=self._on_event,
            )
        except PinsweepError as error:
            if isinstance(error, UserError) and error.place == str(experiment):
                raise  # a mistake in the command
            raise _NotNow("could-not-run", f"{error.place}: {error.cause}") from error

    def _on_begin(self, _path: Path, _prepared: Prepared) -> None:
        self._begun = True

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Started):
            self._going_on = f"{named(event.run.cell)} was running"
        elif isinstance(event, Ended) and event.parsed and event.parsed.has(WRONG):
            self._wrong.add(event.run.key)

    @contextlib.contextmanager
    def _in_time(self) -> Iterator[None]:
        """End what is inside after `within` seconds: a sweep that has begun is stopped, and keeps what it has."""
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
            # nobody takes the signal: the sweep is just over, or takes it in an instant
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        self._late = True
        os.kill(os.getpid(), signal.SIGTERM)  # as a user's: the sweep ends what runs, and its file is whole

    @property
    def _too_late(self) -> str:
        return f"not done within {self._within:g} s; {self._going_on}"

    def _compared(
        self, results: Results, baseline: Sequence[Path], threshold: float
    ) -> tuple[Comparison | None, str]:
        """Return the numbers beside the baseline's, or why there is no comparison; neither without a baseline."""
        if not baseline or not results.tools:
            return None, ""
        sweeps = {run.cell.sweep for run in results.runs}
        try:
            before = side("A", "baseline", load(baseline), sweeps)
            found = compare(before, side("B", "now", results), Ask(threshold=threshold))
        except UserError as error:
            return None, f"not compared with the baseline: {error.place}: {error.cause}"
        except ModuleNotFoundError as error:  # a host that only measures has no numpy and no scipy
            return None, f"not compared with the baseline: that needs {error.name}: {self._install()}"
        return found, "" if len(found.verdicts) else "no number of the baseline is one of this check"


def _refused(holder: Holder | Path | None) -> None:
    """Do not wait: a check that comes an hour late is none."""
    if holder is not None:
        whose = (
            f"the scratch folder {holder} is used"
            if isinstance(holder, Path)
            else f"{holder.shared}: {holder}"
        )
        raise _NotNow("busy", f"another sweep is measuring; {whose}")


def kept(path: Path) -> Path | None:
    """Copy the result file of a check that is not silent to where the last one of its kind is kept; None where that cannot be."""
    try:
        folder = data_folder() / "checks"
        folder.mkdir(parents=True, exist_ok=True)
        copy_result(path, folder / path.name)
    except (OSError, PinsweepError):
        return None
    return folder / path.name
