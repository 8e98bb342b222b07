"""foo: the time of a message over its size."""

from __future__ import annotations

from collections.abc import Iterator

from reports.chart import Chart
from reports.checks import Fault, check
from reports.results.model import Results
from reports.tools.base import Tool


class Foo(Tool):
    SECTION = "Network"
    RANK = 25
    METHODS = "foo: the time is that of one message, there and back."
    CHARTS = (Chart(id="messages", title="Messages of foo", x="size", x_unit="B", y_title="Time"),)

    def mistyped(self, command: str) -> Iterator[str]:
        """G2: options that foo does not have."""
        if "--lane=" in command:
            yield "foo has no option “--lane”"


TOOL = Foo()


@check("N1", "warn")
def too_slow(results: Results) -> Iterator[Fault]:
    """message slower than a letter

    More than 5 µs.

    Do: take another network.
    """
    for run in results.good("foo"):
        slow = next((row for row in run.measured() if row.value > 5000), None)
        if slow:
            yield Fault(level="warn", run=run, text=f"{slow.get('size')} B in {slow.value:.0f} ns")
