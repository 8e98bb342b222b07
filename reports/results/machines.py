"""Identify runs that are known to be from one machine. Pure."""

from __future__ import annotations

from reports.results.model import Run


def machine_key(run: Run) -> tuple[object, ...]:
    """Return a key that is equal for runs of the same known machine. Texts of several files need an imported
    machine.
    """
    if run.captured and not (run.session.facts or run.session.topology_text):
        return run.file, run.session.session, source(run)
    return run.file, run.host


def source(run: Run) -> str:
    """Return the imported text that a captured run is a part of. "" for a run of pinsweep."""
    part = run.record.capture.file if run.record.capture else ""
    return max((t for t in run.session.argv if part == t or part.startswith(f"{t}, ")), key=len, default=part)
