"""Export results for other programs: CSV, Parquet, JSON and OpenMetrics, in base units, with one column per axis."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from parsers.errors import UserError
from reports.checks.doubts import of_results
from reports.export import openmetrics
from reports.results.convicted import Guilty
from reports.results.load import Include, Watched, load
from reports.results.model import Results
from reports.text import format as fmt
from reports.text.plain import csv_text

if TYPE_CHECKING:
    import pandas as pd

_ROWS: Final = 10_000
"""Rows per piece of text."""


def export(
    paths: Iterable[Path],
    form: str,
    shape: str = "long",
    tool: str | None = None,
    on_left_out: Callable[[str], None] = lambda _: None,
    include: Include = "least",
    watched: Watched = iter,
) -> Iterator[str] | bytes:
    """Return all numbers of result files as csv, json, parquet or openmetrics: text in pieces, or bytes for parquet.

    - long: one row per number, with metric and unit.
    - wide: one row per line of the tools' tables, and one column per metric with the unit, "bandwidth [B/s]".

    The values are as printed by the tool. openmetrics has the numbers of `compare` in a separate shape. `tool` selects
    one tool. With several tools, `tool` is the first column and the columns of all tools follow. `on_left_out` receives
    a line if runs are left out. `include` and `watched` are the arguments of `load`.

    Raises UserError for a tool without numbers, and for parquet without pyarrow.
    """
    results = load(paths, include=include, watched=watched)
    note = _left_out(results, tool, form)
    if tool is not None and tool not in results.tools:
        known = f"tools with numbers: {', '.join(results.tools) or 'none'}"
        raise UserError("--tool", f"no numbers of {tool!r} in these files", "; ".join(filter(None, [known, note])))
    if note or not results.tools:
        on_left_out(note or "no run of these files gave a number")
    if form == "openmetrics":
        return iter([openmetrics.text(results, tool)])
    frame = table(results, tool, shape, of_results(results))
    if form == "parquet":
        return _parquet(frame)
    return csv_pieces(frame) if form == "csv" else _json(frame)


def csv_pieces(frame: pd.DataFrame) -> Iterator[str]:
    """Yield a frame as CSV in pieces. No cell is a formula for a spreadsheet."""
    shown = frame.rename(columns=csv_text)
    yield shown.iloc[:0].to_csv(index=False, lineterminator="\n")
    for part in _parts(shown):
        texts = part.select_dtypes(exclude="number").apply(_csv_texts)
        yield part.assign(**texts).to_csv(index=False, header=False, lineterminator="\n")


def _csv_texts(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column without formulas. Most values repeat many times."""
    texts = {value: csv_text(value) for value in column.unique() if isinstance(value, str)}
    return column.map(lambda value: texts.get(value, value) if isinstance(value, str) else value)


def _json(frame: pd.DataFrame) -> Iterator[str]:
    separator = "["
    for part in _parts(frame):
        for record in part.astype(object).where(part.notna(), None).to_dict("records"):
            yield separator + json.dumps(record, ensure_ascii=False, default=str)
            separator = ","
    yield "[]\n" if frame.empty else "]\n"


def _parts(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    return (frame.iloc[at : at + _ROWS] for at in range(0, len(frame), _ROWS))


def _left_out(results: Results, tool: str | None, form: str) -> str:
    """Return "left out: 2 disturbed runs and 1 failed run; …"; "" if every run is exported."""
    invalid = [run for name in results.tools for run in results.good(name) if run.void]
    groups = {"disturbed": results.disturbed, "failed": results.failed}
    groups |= {"invalid": tuple(invalid)} if form == "openmetrics" else {}
    counts = {word: sum(tool in (None, run.tool) for run in runs) for word, runs in groups.items()}
    texts = [fmt.plural(count, f"{word} run") for word, count in counts.items() if count]
    return f"left out: {fmt.words(texts)}; `pinsweep audit` shows the causes" if texts else ""


def table(results: Results, tool: str | None, shape: str, guilty: Guilty) -> pd.DataFrame:
    """Return the frame of one tool, or of all tools below one another. `doubted_by` has the checks that flag a cell."""
    from parsers.frames import pd

    parts = []
    for name in [tool] if tool else results.tools:
        part = results.tidy(name) if shape == "long" else _wide(results, name)
        part.insert(0, "tool", name)
        cells = zip(part["file"], part["point_id"], strict=True)
        flags = "doubted_by" if "doubted_by" not in part else "doubted_by_"  # a user's option
        part.insert([*part.columns].index("program") + 1, flags, [guilty.get(cell) for cell in cells])
        parts.append(part.dropna(axis="columns", how="all"))
    if not parts:
        return pd.DataFrame(columns=["tool", "metric", "unit", "value"])
    joined = _whole_numbers(pd.concat(parts, ignore_index=True))
    last = ["metric", "unit", "value"] if shape == "long" else []
    return joined[[*(name for name in joined.columns if name not in last), *last]]


def _wide(results: Results, tool: str) -> pd.DataFrame:
    frame = results.wide(tool)
    return frame.rename(columns={name: f"{name} [{unit}]" for name, unit in frame.attrs["units"].items()})


def _whole_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Restore whole numbers in label columns. A missing value (a disk without a job) converts a column to floats."""
    for name in frame.select_dtypes("float"):
        if name != "value" and " [" not in str(name) and (frame[name].dropna() % 1 == 0).all():
            frame[name] = frame[name].astype("Int64")
    return frame


def _parquet(frame: pd.DataFrame) -> bytes:
    try:
        import pyarrow  # noqa: F401 (pandas' own message would not name our extra)
    except ImportError as error:
        raise UserError(
            "--format parquet", "pyarrow is not installed", "pip install 'pinsweep[parquet]', or export csv"
        ) from error
    for name in frame.columns:
        kinds = {type(value) for value in frame[name].dropna()}
        if len(kinds) > 1:  # an axis of texts and numbers ([1, 2, all]) becomes text
            numbers = kinds <= {int, float}
            frame[name] = frame[name].astype(float) if numbers else frame[name].map(str, na_action="ignore")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()
