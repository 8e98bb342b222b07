"""fio's cells that nothing joins to another: a row each, in one picture for IOPS, bandwidth, the middle latency and its p99."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.charts import dot_rows, facets
from reports.charts._fio_cells import THOUSANDS, colours, ios
from reports.charts.curve_rows import Curve
from reports.draw import vega
from reports.draw.figure import Panel
from reports.text import format as fmt

Cells = Mapping[facets.Facet, Mapping[str, Sequence[Curve]]]
"""Panel → what is measured → a curve of one point for each series."""


def few(cells: Cells) -> Cells:
    """Return those of the first `dot_rows.MOST_ROWS`."""
    rows = 0
    kept: dict[facets.Facet, Mapping[str, Sequence[Curve]]] = {}
    for of, by in cells.items():
        rows += len(by["iops"])
        if kept and rows > dot_rows.MOST_ROWS:
            break
        kept[of] = by
    return kept


def dot_panels(
    cells: Cells, middle: str, latency: str, word: str, directions: Mapping[str, str]
) -> list[Panel]:
    """Return a picture for each number that is told of some cells. middle: which latency beside p99, "p50" or "mean", `word` as it is read;
    directions: of each series."""
    kinds = {
        "iops": ("IOPS", "IOPS", lambda scale: THOUSANDS[scale.unit]),
        "bandwidth": ("Bandwidth", "B/s", lambda scale: f"Bandwidth, {scale.unit}"),
        middle: (fmt.sentence(f"{word} {latency}"), "ns", lambda scale: f"{fmt.sentence(latency)}, {scale.unit}"),
        "p99": (f"p99 {latency}", "ns", lambda scale: f"p99 {latency}, {scale.unit}"),
    }  # fmt: skip
    ways = {way: ios(way) for way in directions.values()}
    hues = colours({name: way for way, name in ways.items()}, ())
    series = {way: vega.Series(name=name, colour=hues[name]) for way, name in ways.items()}
    names = _names(cells)
    panels = []
    for what, (title, unit, axis) in kinds.items():
        rows = {names[of, line.name]: line for of, by in cells.items() for line in by[what] if line.points}
        if rows:
            shown = {name: (line.points[0][1], bool(line.hollow)) for name, line in rows.items()}
            groups = {name: series[directions[line.name]] for name, line in rows.items()}
            panels.append(dot_rows.rows_panel(title, shown, unit, axis, f"{title} by cell.", groups=groups))
    return panels


def _names(cells: Cells) -> dict[tuple[facets.Facet, str], str]:
    """Return the name of each row, "4 KiB blocks, randread, iodepth 1, a.json": where it is from stands last, of a file without its folder, if that
    tells it apart."""
    files = {str(value) for of in cells for name, value in of if name == "source"}
    short = {file: file.rpartition("/")[2] for file in files}
    apart = len(set(short.values())) == len(files)
    depths = {depth for by in cells.values() for line in by["iops"] for depth, _ in line.points}
    found = {}
    for of, by in cells.items():
        rest = tuple((name, value) for name, value in of if name != "source")
        files_of = [str(value) for name, value in of if name == "source" and value is not None]
        for line in by["iops"]:
            depth = f"iodepth {line.points[0][0]:g}" if len(depths) > 1 else ""
            told = [short[file] if apart else file for file in files_of]
            name = ", ".join(
                filter(None, (facets.facet_title(rest, "fio"), line.label or line.name, depth, *told))
            )
            found[of, line.name] = name
    return found
