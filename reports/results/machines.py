"""Which runs are known to be of one machine. Pure."""

from __future__ import annotations

from reports.results.model import Run


def machine_key(run: Run) -> tuple[object, ...]:
    """The same for runs that are known to be of one machine: texts from several files are not, unless the machine was taken in with
    them."""
    if run.captured and not (run.session.facts or run.session.topology_text):
        return run.file, run.session.session, source(run)
    return run.file, run.host


def source(run: Run) -> str:
    """The text that a captured run is a part of, of those that were taken in with it; "" of a run of pinsweep's own."""
    part = run.record.capture.file if run.record.capture else ""
    return max((t for t in run.session.argv if part == t or part.startswith(f"{t}, ")), key=len, default=part)
