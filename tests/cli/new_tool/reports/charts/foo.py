"""Time over message size, as a table."""

from __future__ import annotations

from reports.readings.foo import messages

from reports.charts import wording
from reports.charts.chapter import Chapter
from reports.draw.figure import Figure, Table
from reports.results.model import Results
from reports.text import format as fmt

SECTION = "Network"
RANK = 25
METHODS = "foo: the time is that of one message, there and back."


def chapter(results: Results, tool: str = "foo") -> Chapter:
    runs = results.good(tool)
    medians = messages.frame(runs).groupby("size")["time"].median()
    rows = tuple((fmt.whole(size), fmt.number(time)) for size, time in medians.items())
    table = Table(columns=("Size, B", "Time, ns"), rows=rows, numeric=frozenset((0, 1)))
    figure = Figure(id="foo", title="Messages of foo", sub="Medians.", tables=(table,))
    return Chapter(tool=tool, figures=(figure,), programs=wording.programs(runs))
