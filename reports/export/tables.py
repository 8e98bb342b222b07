"""Results as files for other programs: CSV, Parquet, JSON; base units, one column per axis. And as OpenMetrics."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from parsers.errors import UserError
from reports.export import openmetrics
from reports.results import model
from reports.results.load import load

if TYPE_CHECKING:
    import pandas as pd

FORMS = ("csv", "parquet", "json", "openmetrics")
SHAPES = ("long", "wide")


def export(paths: Iterable[Path], form: str, shape: str = "long", tool: str | None = None) -> str | bytes:
    """Return all numbers of some result files: text, but bytes for parquet.

    long   one row per number, with its metric and unit
    wide   one row per line of the tools' tables, one column per metric, named with its unit: "bandwidth [B/s]"

    Values are those that the tool printed; openmetrics gives the numbers of `compare`, in a shape of its own
    (`reports.export.tables.openmetrics`). `tool` leaves the others out. With several tools the columns of all stand side by side, `tool` first.
    Raises UserError for an unknown form, shape or tool, and for parquet without pyarrow.
    """
    if form not in FORMS:
        raise UserError("--format", f"{form!r} is not an export format", f"formats: {', '.join(FORMS)}")
    if shape not in SHAPES:
        raise UserError("--shape", f"{shape!r} is not a table shape", f"shapes: {', '.join(SHAPES)}")
    results = load(paths)
    if tool is not None and tool not in results.tools:
        there = ", ".join(results.tools) or "none"
        raise UserError("--tool", f"no numbers of {tool!r} in these files", f"tools with numbers: {there}")
    if form == "openmetrics":
        return openmetrics.text(results, tool)
    frame = table(results, tool, "wide" if shape == "wide" else "long")
    if form == "csv":
        return frame.to_csv(index=False, lineterminator="\n")
    if form == "json":
        return frame.to_json(orient="records", lines=False, force_ascii=False, double_precision=15) + "\n"
    return _parquet(frame)


def table(results: model.Results, tool: str | None, shape: Literal["long", "wide"]) -> pd.DataFrame:
    """Return the frame of one tool, or of all below one another."""
    import pandas as pd

    tools = [tool] if tool else list(results.tools)
    parts = []
    for name in tools:
        part = results.tidy(name) if shape == "long" else _with_units(results.wide(name))
        part.insert(0, "tool", name)
        parts.append(part.dropna(axis="columns", how="all"))
    if not parts:
        return pd.DataFrame(columns=["tool", "metric", "unit", "value"])
    joined = _whole(pd.concat(parts, ignore_index=True))
    if shape == "long":
        last = ["metric", "unit", "value"]
        joined = joined[[c for c in joined.columns if c not in last] + last]
    return joined


def _whole(frame: pd.DataFrame) -> pd.DataFrame:
    """Give label columns of whole numbers that miss some (a disk has no job) whole numbers back."""
    for column in frame.columns:
        values = frame[column]
        if (
            column != "value"
            and " [" not in str(column)
            and values.dtype.kind == "f"
            and (values.dropna() % 1 == 0).all()
        ):
            frame[column] = values.astype("Int64")
    return frame


def _with_units(frame: pd.DataFrame) -> pd.DataFrame:
    units = frame.attrs.get("units", {})
    return frame.rename(columns={m: f"{m} [{u}]" for m, u in units.items() if m in frame.columns})


def _parquet(frame: pd.DataFrame) -> bytes:
    try:
        import pyarrow  # noqa: F401 (pandas' own message would not name our extra)
    except ImportError as error:
        raise UserError(
            "--format parquet", "pyarrow is not installed", "pip install 'pinsweep[parquet]', or export csv"
        ) from error
    for column in frame.columns:
        kinds = {type(v) for v in frame[column].dropna()}
        if len(kinds) > 1 and kinds <= {int, float}:
            frame[column] = frame[column].astype(float)
        elif len(kinds) > 1:  # an axis of words and numbers ([1, 2, all]): text
            frame[column] = frame[column].map(str, na_action="ignore")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()
