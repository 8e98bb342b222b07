"""`run --events`: what happens in a sweep, one JSON object a line, as soon as it happens. I/O.

A reader that goes away, or a disk that is full, ends the events, never the sweep.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from orchestrator.run.events import Event


class Events:
    """Writes events to a stream, each line at once; without a stream nothing."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    @property
    def wanted(self) -> bool:
        return self._stream is not None

    def __call__(self, event: Event) -> None:
        """Write what happens in a sweep."""
        if self._stream:
            from reports.export import events

            self.write(events.of_sweep(event))

    def write(self, records: Iterable[dict[str, Any]]) -> None:
        """Write the events of `reports.export.events`."""
        from reports.text.json_text import json_line

        try:
            for record in records:
                if self._stream:
                    self._stream.write(json_line(record))
                    self._stream.flush()
        except OSError:
            self._stream = None


@contextlib.contextmanager
def emitted(wanted: bool, file: Path | None) -> Iterator[Events]:
    """Give what writes events to a file, else to standard output, if they are wanted; an error that ends the sweep
    is one, too.

    Raises UserError if the file cannot be written.
    """
    from parsers.errors import PinsweepError

    with _opened(file) if wanted else contextlib.nullcontext() as stream:
        events = Events(stream)
        try:
            yield events
        except PinsweepError as error:
            if events.wanted:
                from reports.export.events import event

                events.write(event("error", **record) for record in error.records())
            raise


@contextlib.contextmanager
def _opened(file: Path | None) -> Iterator[TextIO]:
    from parsers.errors import UserError

    if file is None:
        yield sys.stdout
        return
    from orchestrator.machine.safe_files import open_anew

    try:
        stream = io.TextIOWrapper(open_anew(file), encoding="ascii")
    except OSError as error:
        hint = "name another file with --events-to"
        raise UserError("--events-to", f"{file}: cannot be written: {error.strerror}", hint) from None
    try:
        yield stream
    finally:
        with contextlib.suppress(OSError):  # what a reader that has gone did not take
            stream.close()
