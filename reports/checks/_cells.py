"""What several checks need of the runs: siblings, medians over repeats, what was typed, the machine behind a run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from parsers.units import size_bytes
from reports import naming
from reports.frames import Run
from reports.grouping import group_by

Cell = tuple[object, ...]


def cell_key(run: Run) -> Cell:
    """The same for the repeats of one cell."""
    return run.file, run.record.point_id


def by_cell(runs: Iterable[Run]) -> dict[Cell, list[Run]]:
    return group_by(runs, cell_key)


def siblings_key(run: Run, but: Sequence[str]) -> Cell:
    """The same for cells of one sweep that differ in nothing but the options named."""
    options = tuple(sorted((k, str(v)) for k, v in run.point.options.items() if k not in but))
    return run.file, run.point.sweep, run.place, naming.program_kind(run), options


def is_captured(run: Run) -> bool:
    return run.captured


def from_table(run: Run) -> bool:
    return bool(run.parsed and run.parsed.has("from_table"))


def command_text(run: Run) -> str:
    """The command line as one text; of a captured run as it was typed, "" where nobody tells it."""
    words = run.record.argv
    return " ".join(words) if is_captured(run) else shlex.join(words)


def typed_options(run: Run) -> dict[str, str]:
    """Return the `--name=value` of a command line, the last of each name."""
    return dict(re.findall(r"(?:^|\s)--?([A-Za-z_]\w*) ?=([^\s]+)", command_text(run)))


def in_bytes(value: object) -> int | None:
    """Return a size as fio reads it, None for a list, a range or a share."""
    try:
        return size_bytes(str(value))
    except (ValueError, OverflowError):
        return None


def is_set(options: Mapping[str, Any], name: str) -> bool:
    """Is a flag on? fio prints `time_based` as "" or "1"."""
    return name in options and str(options[name]) not in ("0", "False", "false")
