"""`pinsweep check`"""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import click

from parsers.errors import PinsweepError, UserError
from pinsweep import __version__
from pinsweep.commands import _options
from pinsweep.terminal import data, say

if TYPE_CHECKING:
    from orchestrator.plan.prepare import Prepared
    from orchestrator.run.exclusive import Holder
    from orchestrator.run.execute import Event
    from orchestrator.run.session import Finished
    from reports.compare.model import Comparison
    from reports.health.troubles import Trouble
    from reports.results.model import Results

_WITHIN_S: Final = {1: 55, 2: 300, 3: 1200}
"""A level → the seconds after which it is given up. Slurm kills a HealthCheckProgram after 60."""

_SLOWER: Final = "10%"


@click.command(epilog="Example: pinsweep check --level 1 --baseline node07-good")
@click.argument("experiment", required=False, type=_options.FILE)
@click.option(
    "--level", type=click.IntRange(1, 3), default=1, metavar="1|2|3",
    help="1: memory, in seconds; 2: the way to the other memory, between cores and to the disk, too, 2 minutes; 3: under load, too, 15 minutes.  [default: 1]",
)  # fmt: skip
@click.option(
    "--baseline",
    metavar="WHAT",
    help="A baseline, file or folder: slower than that is an error. Without it, only wrong answers and failures are.",
)
@click.option(
    "--threshold", type=_options.percent, default=_SLOWER, metavar="PERCENT",
    help=f"Less worse than this is not slower. [default: {_SLOWER.removesuffix('%')} %]",
)  # fmt: skip
@click.option(
    "--within", type=click.FloatRange(min=1), metavar="SECONDS",
    help="Give up after so many seconds, and say what was running. [default: 55, 300 and 1200 of the levels]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=_options.OUTPUT, metavar="FILE",
    help="Keep the result file here, as for `pinsweep baseline add`. [default: of a check that is not silent, in your data folder]",
)  # fmt: skip
@_options.scratch
@_options.allow_disturbed
@_options.table_or_json
def command(
    experiment: Path | None,
    level: int,
    baseline: str | None,
    threshold: float,
    within: float | None,
    output: Path | None,
    scratch: Path | None,
    allow_disturbed: bool,
    form: str,
) -> int:
    """Check that this host is sound: silent if it is, else one line.

    For a node health check (NHC, Slurm's HealthCheckProgram, Nagios). Wrong answers come first: STREAM's own validation, what fio reads
    back. Then programs that fail, numbers that cannot be true, and what is slower than the baseline. EXPERIMENT is a sweep of your own in
    the place of a level.

    Exit status: 0 sound, nothing printed; 1 "ERROR …"; 2 a mistake in the command; 3 "UNKNOWN …": it could not be found out (another
    sweep, a disturbed machine, no compiler, too slow).
    """
    import tempfile

    paths = _files(baseline)
    sweep = _Check(within or _WITHIN_S[level])
    with tempfile.TemporaryDirectory(prefix="pinsweep-check-", dir=_local_folder()) as folder:
        path = (
            output
            or Path(folder) / f"{experiment.stem if experiment else f'check-{level}'}@{platform.node()}.db"
        )
        found = sweep.troubles(
            experiment or Path(f"check-{level}"), path, scratch or Path(folder), paths, threshold, allow_disturbed=allow_disturbed
        )  # fmt: skip
        kept = path if output else _kept(path) if found else None
    return _say(found, kept, form)


def _files(baseline: str | None) -> list[Path]:
    """Return the baseline's files, before anything is measured. Raises UserError where there are none."""
    from reports.results.baselines import resolve_any

    return resolve_any(baseline) if baseline is not None else []


def _local_folder() -> str | None:
    """Return where temporary files outlive no boot but are on a disk, not in memory; None where that cannot be written."""
    return "/var/tmp" if os.access("/var/tmp", os.W_OK) else None


class _NotNow(Exception):
    """Nothing is measured: why, in an admin's word and in a sentence."""

    def __init__(self, id_: str, text: str) -> None:
        super().__init__(text)
        self.id, self.text = id_, text


class _Check:
    """One sweep, given up in time, and what it says."""

    def __init__(self, within: float) -> None:
        self._within = within
        self._begun = self._late = False
        self._going_on = "it was preparing"
        self._wrong: set[tuple[str, int]] = set()  # as `troubles` takes them

    def troubles(
        self, experiment: Path, path: Path, scratch: Path, baseline: Sequence[Path], threshold: float, *, allow_disturbed: bool
    ) -> tuple[Trouble, ...]:  # fmt: skip
        from reports.checks.audit import audit
        from reports.health.troubles import ORDER, Trouble, troubles
        from reports.results.load import load

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
            return tuple(unknown) or (Trouble(kind="unknown", id="no-cell", text="no cell can run here"),)
        results = load([path])
        found, unjudged = _compared(results, baseline, threshold)
        every = [
            *unknown,
            *troubles(
                results,
                audit(results),
                wrong=self._wrong,
                found=found,
                unjudged=unjudged,
                late=self._too_late if self._late else "",
            ),
        ]
        return tuple(sorted(every, key=lambda one: ORDER.index(one.kind)))

    def _run(self, experiment: Path, path: Path, scratch: Path, *, allow_disturbed: bool) -> Finished:
        from orchestrator.plan.prepare import PlanOptions
        from orchestrator.run.outcome import Rules
        from orchestrator.run.session import run_experiments

        try:
            return run_experiments(
                [experiment],
                PlanOptions(output=path, scratch=scratch, warm_up=False),
                version=__version__,
                argv=sys.argv[1:],
                rules=Rules(allow_disturbed=allow_disturbed),
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
        from orchestrator.run.execute import Ended, Started
        from reports.health.troubles import WRONG, named

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
        self._late = True
        if not self._begun:
            raise _NotNow("time", self._too_late)
        os.kill(os.getpid(), signal.SIGTERM)  # as a user's: the sweep ends what runs, and its file is whole

    @property
    def _too_late(self) -> str:
        return f"not done within {self._within:g} s; {self._going_on}"


def _refused(holder: Holder | Path | None) -> None:
    """Do not wait: a check that comes an hour late is none."""
    if holder is not None:
        whose = (
            f"the scratch folder {holder} is used"
            if isinstance(holder, Path)
            else f"{holder.shared}: {holder}"
        )
        raise _NotNow("busy", f"another sweep is measuring; {whose}")


def _compared(results: Results, baseline: Sequence[Path], threshold: float) -> tuple[Comparison | None, str]:
    """Return the numbers beside the baseline's, or why there is no comparison; neither without a baseline."""
    from reports.compare.comparison import compare
    from reports.compare.model import Ask
    from reports.compare.sides import side
    from reports.results.load import load

    if not baseline or not results.tools:
        return None, ""
    sweeps = {run.cell.sweep for run in results.runs}
    try:
        before = side("A", "baseline", load(baseline), sweeps)
        found = compare(before, side("B", "now", results), Ask(threshold=threshold))
    except UserError as error:
        return None, f"not compared with the baseline: {error.place}: {error.cause}"
    return found, "" if found.rows else "no number of the baseline is one of this check"


def _kept(path: Path) -> Path | None:
    """Copy the result file of a check that is not silent to where the last one of its kind is kept; None where that cannot be."""
    from orchestrator.machine.user_folders import data_folder
    from reports.results.write import copy_result

    try:
        folder = data_folder() / "checks"
        folder.mkdir(parents=True, exist_ok=True)
        copy_result(path, folder / path.name)
    except (OSError, PinsweepError):
        return None
    return folder / path.name


def _say(found: Sequence[Trouble], kept: Path | None, form: str) -> int:
    """Print the line, or all as JSON, and return the exit status."""
    from reports.health.troubles import line

    status = 0 if not found else 3 if found[0].kind == "unknown" else 1
    if form == "json":
        import json

        told = [{"kind": one.kind, "id": one.id, "text": one.text} for one in found]
        word = {0: "ok", 1: "error", 3: "unknown"}[status]
        said = {
            "status": word,
            "host": platform.node(),
            "troubles": told,
            "result_file": str(kept) if kept else None,
        }
        data(json.dumps(said, indent=1, ensure_ascii=False), nl=True)
    elif found:
        say(line(found) + (f"; kept in {kept}" if kept else ""))
    return status
