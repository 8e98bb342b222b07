"""Helpers that several checks share: sibling cells, medians over repeats, typed commands, and the machine of a run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from parsers.measurement import Measurement
from parsers.units import size_bytes
from reports.checks import _command
from reports.results import naming
from reports.results.convicted import CellKey
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Run


def cell_key(run: Run) -> CellKey:
    """The same for the repeats of one cell."""
    return run.file, run.record.point_id


def by_cell(runs: Iterable[Run]) -> dict[CellKey, list[Run]]:
    return group_by(runs, cell_key)


def siblings_key(run: Run, but: Sequence[str]) -> CellKey:
    """Return a key that is equal for cells of one sweep and machine that differ only in the named options."""
    options = tuple(sorted((k, str(v)) for k, v in run.cell.options.items() if k not in but))
    return machine_key(run), run.cell.sweep, run.place, naming.program_kind(run), options


def siblings(runs: Sequence[Run], key: Callable[[Run], object]) -> list[list[Run]]:
    """Return the runs with the same key. Repeats of a cell in separate captured outputs have the key of the first
    repeat.
    """
    firsts: dict[object, Run] = {}
    first_of_cell = [firsts.setdefault((cell_key(run), naming.program_kind(run)), run) for run in runs]
    return [
        [run for run, _ in same]
        for same in group_by(zip(runs, first_of_cell, strict=True), lambda pair: key(pair[1])).values()
    ]


def sweeps(run: Run, name: str) -> bool:
    """Return whether the author of the experiment chose an option as an axis. In captured output every option is an
    axis.
    """
    return not run.captured and name in run.cell.swept


def from_table(run: Run) -> bool:
    return bool(run.parsed and run.parsed.has("from_table"))


_MOST_WORDS = 2000
"""Maximum of words in a command line. Real command lines are shorter."""


def command_text(run: Run) -> str:
    """Return the command line as one text. Captured runs give the typed text, or "" if unknown."""
    words = run.record.argv[:_MOST_WORDS]
    return " ".join(words) if run.captured else shlex.join(words)


def own_command(run: Run) -> str:
    """Return the tool's part of the command line, from the tool's name to the end of the simple command."""
    return _command.own(run.tool, command_text(run))


def typed_options(run: Run) -> dict[str, str]:
    """Return the `--name=value` options of a command line, the last value of each name.

    Values that the shell fills in (`$depth`) are left out. If there are several sections (`--name` again), only common
    options of the first section count.
    """
    options = re.findall(r"(?:^|\s)--?([A-Za-z_]\w*) ?=([^\s]+)", own_command(run))
    sections = [i for i, (name, _) in enumerate(options) if name == "name"]
    if len(sections) > 1:
        later = {name for name, _ in options[sections[1] :]}
        options = [(name, value) for name, value in options[: sections[1]] if name not in later]
    return {name: value for name, value in options if "$" not in value}


def in_bytes(value: object) -> int | None:
    """Return a size as fio reads the value, or None for a list, a range or a share."""
    try:
        return size_bytes(str(value))
    except (ValueError, OverflowError):
        return None


def is_set(options: Mapping[str, Any], name: str) -> bool:
    """Is a flag on? fio prints `time_based` as "" or "1"."""
    return name in options and str(options[name]) not in ("0", "False", "false")


def braced(text: str) -> str:
    """Return a text with doubled braces, for the template of a fault. {} marks a quoted value there."""
    return text.replace("{", "{{").replace("}", "}}")


QUOTE_THE_TAIL: Final = "quote the median and the tail: a few slow operations make the mean."
"""Advice for a deviation above the mean."""


def wide(run: Run) -> Iterator[tuple[str, float, float]]:
    """Yield (label, mean, standard deviation) in ns for the latencies with a deviation above the mean."""
    if run.parsed is None or "statistic" not in run.parsed.measurements.columns:
        return
    rows = [
        (row, str(statistic))
        for row in run.measured()
        if row.unit == "ns" and (statistic := row.get("statistic")) in ("mean", "sd")
    ]
    means = {_whose(row): row.value for row, statistic in rows if statistic == "mean"}
    for row, statistic in rows:
        mean = means.get(_whose(row), 0.0)
        if statistic == "sd" and 0 < mean < row.value:
            yield " ".join(_whose(row)[1:]), mean, row.value


def _whose(row: Measurement) -> tuple[str, ...]:
    return row.metric, *(str(v) for k, v in row.labels.items() if k != "statistic" and v is not None)
