"""Progress of long work: a line for each run and, on a terminal, a bar below the lines.

A bar is drawn at the start and end of a run, because drawing takes CPU time from the measurement.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from pinsweep.terminal import redraw, say
from reports.text.plain import printable

if TYPE_CHECKING:
    from orchestrator.run.events import Ended, Event, Started

T = TypeVar("T")

_FEW = 3
"""Files that need no progress."""
_SILENT_S = 2.0
"""Seconds after which somebody asks what goes on."""
_MANY_DISTURBED = 8


class SweepProgress:
    """Prints one line per run when it ends; on a terminal also a bar with the current run and the time left.

    `quiet`: only failures, in lines that are equal on hosts with equal failures.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._begun = time.monotonic()
        self._quiet = quiet
        self._notes: set[tuple[str, str]] = set()  # (sweep, note) that was printed
        self._sweep_width = self._cell_width = 0
        self._total = 0  # runs known before a retry
        self._disturbed: int | None = 0  # runs so far, as long as all were disturbed
        self._bar = _Bar() if sys.stderr.isatty() and not quiet else None

    def __call__(self, event: Event) -> None:
        from orchestrator.run.events import Begun, Ended, Started, Tuned, Unsettled, Waiting

        match event:
            case Waiting() | Tuned():
                say(str(event), fg="yellow" if isinstance(event, Waiting) else None, err=True)
                if isinstance(event, Waiting) and (event.holder or event.scratch):
                    way = "--scratch DIR" if event.scratch else "--share-machine"
                    say(f"         press Ctrl-C to stop, or use {way} to run now", err=True)
            case Begun():
                cells = event.prepared.plan.cells
                self._sweep_width = max((len(cell.sweep) for cell in cells), default=0)
                self._cell_width = min(40, max((len(cell.describe()) for cell in cells), default=0))
            case Ended() if self._quiet:
                self._complain(event)
            case Ended():
                if self._bar:
                    self._bar.clear()
                self._print(event)
            case Unsettled() if not self._quiet:
                self._total += event.cells
                say(f"{event.cells} unsettled cell{'s' * (event.cells > 1)}: one more run each", err=True)
            case Started() if not self._quiet:
                if self._total and event.total > self._total:
                    again = event.total - self._total
                    say(f"retry: {again} disturbed run{'s' * (again > 1)}", err=True)
                self._total = event.total
                if self._bar:
                    left = _left(event, time.monotonic() - self._begun)
                    self._bar.draw(max(0, event.number - 1), event.total, left)

    def _complain(self, event: Ended) -> None:
        record, name = event.record, f"{event.run.sweep}  {event.run.cell.describe()}"
        if record.status not in ("ok", "disturbed"):
            say(f"{name}  {record.status}: {record.reason}", fg="red", err=True)
            return
        for flag in event.parsed.flags if event.parsed else ():
            if flag.id.startswith("missing:"):
                say(f"{name}  {flag.text}", fg="yellow", err=True)

    def _print(self, event: Ended) -> None:
        from reports.numbers import fresh

        run, record = event.run, event.record
        width = len(str(event.total))
        number = "warm-up" if record.warm_up else f"{event.number:{width}}/{event.total}"
        head = f"[{number}] {run.sweep:{self._sweep_width}}  {run.cell.describe():{self._cell_width}}  "
        if record.status == "ok" or (record.warm_up and record.status == "disturbed"):
            numbers = fresh(run.cell, [event.parsed]).headline if event.parsed else "no numbers"
            say(f"{head}{numbers}  {record.wall_s:.1f} s", err=True)
            for flag in event.parsed.flags if event.parsed else ():
                note = run.sweep, flag.text
                if flag.id.startswith("missing:") or (flag.id.startswith("several:") and note not in self._notes):
                    say(f"  {flag.text}", fg="yellow", err=True)
                    self._notes.add(note)
        elif record.status == "disturbed":
            say(f"{head}disturbed: {record.reason.partition('; ')[0]}", fg="yellow", err=True)
        else:
            say(f"{head}{record.status}: {record.reason}", fg="red", err=True)
        self._warn(event)

    def _warn(self, event: Ended) -> None:
        """Print once that every run so far was disturbed."""
        if self._disturbed is None or event.record.warm_up:
            return
        self._disturbed = self._disturbed + 1 if event.repeated else None
        if self._disturbed == _MANY_DISTURBED:
            text = f"warning: all {_MANY_DISTURBED} runs so far were disturbed. Stop other programs if you can."
            say(text, fg="yellow", err=True)
            self._disturbed = None


def _left(event: Started, elapsed_s: float) -> str:
    """Return "12 min, about 48 min left · stream  threads=4 place=local"; a narrow terminal cuts the end."""
    from reports.text.format import duration

    left = f"{duration(round(elapsed_s))}, about {duration(max(1, round(event.left_s)))} left"
    return f"{left} · {event.run.sweep}  {event.run.cell.describe()}"


class _Bar:
    """The last line on a terminal, drawn by `rich`."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
        from rich.table import Column

        self._console = Console(stderr=True)
        text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1, overflow="ellipsis"))  # fmt: skip
        self._progress = Progress(BarColumn(bar_width=20), MofNCompleteColumn(), text, console=self._console, expand=True)  # fmt: skip
        self._task = self._progress.add_task("")  # never started: no thread, no refresh of its own

    def draw(self, done: int, total: int, text: str) -> None:
        self._progress.update(self._task, completed=done, total=total, description=printable(text))
        with contextlib.suppress(OSError):  # `rich` flushes what a terminal that has gone did not take
            with self._console.capture() as captured:
                self._console.print(self._progress.get_renderable(), end="")
            redraw(captured.get().rstrip())

    def clear(self) -> None:
        redraw("")


def files(listed: Sequence[T]) -> Iterator[T]:
    """Yield the items to read, with a bar on a terminal for many files, and with a line for few files that take
    long."""
    if len(listed) <= _FEW or not sys.stderr.isatty():
        with doing("reading"):
            yield from listed
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(listed, "reading", console=Console(stderr=True), transient=True)


class _Doing:
    """A line on a terminal that says what goes on, and since when, once it has gone on for _SILENT_S; gone at the
    end."""

    def __init__(self, what: str) -> None:
        self._what = printable(what)
        self._begun = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()

    def _tell(self) -> None:
        from reports.text.format import duration

        wait_s = _SILENT_S
        while not self._ended.wait(wait_s):
            redraw(f"{self._what}  {duration(time.monotonic() - self._begun)}")
            wait_s = 1.0
        if wait_s != _SILENT_S:
            redraw("")

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()


@contextlib.contextmanager
def doing(what: str, *, reading: bool = False) -> Iterator[Callable[[Sequence[T]], Iterator[T]]]:
    """Show on a terminal the current step, if it takes long. Gives what is to be handed on as `watched` where files
    are read within: then it
    says so first."""
    if not sys.stderr.isatty():
        yield files
        return
    line = _Doing("reading" if reading else what)

    def watched(listed: Sequence[T]) -> Iterator[T]:
        nonlocal line
        if len(listed) > _FEW:  # a bar takes its place
            line.stop()
            yield from files(listed)
        else:
            yield from listed
            line.stop()
        line = _Doing(what)

    try:
        yield watched
    finally:
        line.stop()


def texts(items: Iterable[T]) -> Iterator[T]:
    """Yield texts, and count them on a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("reading  {task.completed} texts"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(items)
