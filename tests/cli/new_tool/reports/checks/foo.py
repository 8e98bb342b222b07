"""Checks of foo's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from reports.readings.foo import messages

from reports.checks import Fault, check
from reports.results.model import Results


@check("N1", "warn")
def too_slow(results: Results) -> Iterator[Fault]:
    """a message that takes longer than a letter

    More than 5 µs.

    Do: take another network.
    """
    for run in results.good("foo"):
        if slow := [row for row in messages(run) if row.time > 5000]:
            yield Fault(level="warn", run=run, text=f"{slow[0].size} B in {slow[0].time:.0f} ns")


def mistyped(command: str) -> Iterator[str]:
    """foo's part in G2: options that foo does not have."""
    if "--lane=" in command:
        yield "foo has no option “--lane”"
