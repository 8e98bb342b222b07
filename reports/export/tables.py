"""Results as files for other programs: CSV, Parquet, JSON; base units, one column per axis. And as OpenMetrics."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from parsers.errors import UserError
from reports.checks.doubts import of_results
from reports.export import openmetrics
from reports.numbers.series import disturbed_text, void_text, what_helps
from reports.results import model
from reports.results.convicted import Guilty
from reports.results.load import Include, Watched, load
from reports.text import format as fmt
from reports.text.plain import csv_text

if TYPE_CHECKING:
    import pandas as pd

DOUBTED: Final = "doubted_by"
"""The column of the checks that flag a cell, next to the program's; a user's own option of that name stays."""
FORMS = ("csv", "parquet", "json", "openmetrics")
SHAPES = ("long", "wide")


def export(
    paths: Iterable[Path],
    form: str,
    shape: str = "long",
    tool: str | None = None,
    on_left_out: Callable[[str], None] = lambda _: None,
) -> str | bytes:
    """Return what `pieces` does, as one text."""
    found = pieces(paths, form, shape, tool, on_left_out)
    return found if isinstance(found, bytes) else "".join(found)


def pieces(
    paths: Iterable[Path],
    form: str,
    shape: str = "long",
    tool: str | None = None,
    on_left_out: Callable[[str], None] = lambda _: None,
    include: Include = "least",
    watched: Watched = iter,
) -> Iterator[str] | bytes:
    """Return all numbers of some result files: text in pieces, but bytes for parquet.

    long   one row per number, with its metric and unit
    wide   one row per line of the tools' tables, one column per metric, named with its unit: "bandwidth [B/s]"

    Values are those that the tool printed; openmetrics gives the numbers of `compare`, in a shape of its own
    (`reports.export.tables.openmetrics`). `tool` leaves the others out. With several tools the columns of all stand side by side,
    `tool` first. `on_left_out` is told what is not there, and why; `include` and `watched` are those of `load`.

    Raises UserError for an unknown form, shape or tool, and for parquet without pyarrow.
    """
    if form not in FORMS:
        raise UserError("--format", f"{form!r} is not an export format", f"formats: {', '.join(FORMS)}")
    if shape not in SHAPES:
        raise UserError("--shape", f"{shape!r} is not a table shape", f"shapes: {', '.join(SHAPES)}")
    results = load(paths, include=include, watched=watched)
    if tool is not None and tool not in results.tools:
        why = _left_out(results, tool)
        raise UserError(
            "--tool",
            f"no numbers of {tool!r} in these files",
            f"tools with numbers: {', '.join(results.tools) or 'none'}{f'; {why}' if why else ''}",
        )
    if why := _left_out(results, tool, form) or (
        "" if results.tools else "no run of these files gave a number"
    ):
        on_left_out(why)
    if form == "openmetrics":
        return iter([openmetrics.text(results, tool)])
    guilty = of_results(results)
    frame = table(results, tool, "wide" if shape == "wide" else "long", guilty)
    if form == "parquet":
        return _parquet(frame)
    return _csv(frame) if form == "csv" else _json(frame)


def csv_of(frame: pd.DataFrame) -> str:
    """Return a frame as CSV."""
    return "".join(_csv(frame))


def _csv(frame: pd.DataFrame) -> Iterator[str]:
    shown = frame.rename(columns=csv_text)
    yield shown.iloc[:0].to_csv(index=False, lineterminator="\n")
    for part in _parts(shown):
        texts = part.map(lambda value: csv_text(value) if isinstance(value, str) else value)
        yield texts.to_csv(index=False, header=False, lineterminator="\n")


def _json(frame: pd.DataFrame) -> Iterator[str]:
    between = "["
    for part in _parts(frame):
        plain = part.astype(object).where(part.notna(), None)
        for record in plain.to_dict("records"):
            yield between + json.dumps(record, ensure_ascii=False, default=str)
            between = ","
    yield "[]\n" if frame.empty else "]\n"


_AT_ONCE: Final = 10_000


def _parts(frame: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Give some rows at once."""
    return (frame.iloc[at : at + _AT_ONCE] for at in range(0, len(frame), _AT_ONCE))


def _left_out(results: model.Results, tool: str | None, form: str = "") -> str:
    """Say how many disturbed runs are not there, and what helps, and how many that their own check calls wrong; "" where there are none."""
    text = disturbed_text(results, "exported", tool)
    there = {run for name in results.tools for run in results.good(name)} if form != "openmetrics" else set()
    void = void_text(
        (run for run in results.runs if tool in (None, run.tool) and run not in there), "exported"
    )
    unread = [run.unreadable for run in results.runs if tool in (None, run.tool) and run.unreadable]
    cannot = f"the output of {fmt.plural(len(unread), 'run')} cannot be read: {unread[0]}" if unread else ""
    return "; ".join(filter(None, [f"{text}: {what_helps(results)}" if text else "", void, cannot]))


def table(
    results: model.Results, tool: str | None, shape: Literal["long", "wide"], guilty: Guilty
) -> pd.DataFrame:
    """Return the frame of one tool, or of all below one another; where a check doubts a cell of it, a column names the check."""
    from parsers.frames import pd

    tools = [tool] if tool else list(results.tools)
    parts = []
    for name in tools:
        part = results.tidy(name) if shape == "long" else _with_units(results.wide(name))
        part.insert(0, "tool", name)
        _mark(part, guilty)
        parts.append(part.dropna(axis="columns", how="all"))
    if not parts:
        return pd.DataFrame(columns=["tool", "metric", "unit", "value"])
    joined = _whole(pd.concat(parts, ignore_index=True))
    if shape == "long":
        last = ["metric", "unit", "value"]
        joined = joined[[c for c in joined.columns if c not in last] + last]
    return joined


def _mark(frame: pd.DataFrame, guilty: Guilty) -> None:
    """Say of each row in a column behind the program's which checks doubt its cell; a user's own option of that name keeps it."""
    cells = zip(frame["file"], frame["point_id"], strict=True)
    name = DOUBTED if DOUBTED not in frame.columns else f"{DOUBTED}_"
    frame.insert([*frame.columns].index("program") + 1, name, [guilty.get(cell) for cell in cells])


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
