"""Charts to figures: rows in, points, specification and picture out."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from typing import Any

import pandas as pd
import pytest

from reports.chart import Band, Chart, Kind, Point, Rule, Title
from reports.document import Column, Quantity, Table
from reports.render import points, vega

HOSTILE = "</script><b>]]>\x1b\u202e\uffff'\"&"
COLUMNS = ["threads", "place", "where", "value", "flags", "unit"]
ROWS = pd.DataFrame(
    [
        (1, "local", "a", 10e9, "", "B/s"),
        (1, "local", "a", 12e9, "", "B/s"),
        (2, "local", "a", 20e9, "S1", "B/s"),
        (4, "local", "a", 30e9, "", "B/s"),
        (1, HOSTILE, "a", 5e9, "", "B/s"),
        (4, HOSTILE, "a", 9e9, "S3, S1", "B/s"),
    ],
    columns=COLUMNS,
)
CHART = Chart(id="scaling", title="Bandwidth by threads", x="threads", color="place", y_title="Bandwidth")


def test_points_are_medians_with_ranges_and_flags_and_lines_break_where_they_have_no_point() -> None:
    found = points.group(CHART, ROWS, keys=("place", "where"))

    columns = ["series", "x", "median", "low", "high", "n", "flags", "segment"]
    assert [*found.frame.sort_values(["place", "x"])[columns].itertuples(index=False, name=None)] == [
        (points.grid.text(HOSTILE), 1, 5e9, 5e9, 5e9, 1, "", 0),
        (points.grid.text(HOSTILE), 4, 9e9, 9e9, 9e9, 1, "S1, S3", 1),
        ("local", 1, 11e9, 10e9, 12e9, 2, "", 0),
        ("local", 2, 20e9, 20e9, 20e9, 1, "S1", 0),
        ("local", 4, 30e9, 30e9, 30e9, 1, "", 0),
    ]


@pytest.mark.parametrize(
    ("column", "values", "lines"),
    [
        ("program", ["x", "x", "x", "x", "y", "y"], 2),  # follows from the place
        ("program", ["x", "y", "x", "x", "x", "x"], 3),  # tells two repeats apart: never joined
        ("program", ["x"] * 6, 2),
    ],
)
def test_rows_that_differ_in_a_key_are_never_joined(column: str, values: list[str], lines: int) -> None:
    found = points.group(CHART, ROWS.assign(**{column: values}), keys=("place", column))

    assert found.frame["series"].nunique() == lines


def test_a_title_never_rests_on_rows_with_flags() -> None:
    def most(rows: pd.DataFrame) -> dict[str, Any]:
        return {"rate": Quantity(rows["value"].max(), "B/s")}

    chart = Chart(**fields(CHART), titles=(Title(template="Triad reaches {rate}", values=most),))

    assert points.title(chart, ROWS[ROWS["place"] == HOSTILE]) == "Triad reaches 5.00 GB/s"
    assert points.title(chart, ROWS[ROWS["flags"] != ""]) == "Bandwidth by threads"


def fields(chart: Chart) -> dict[str, Any]:
    return {name: getattr(chart, name) for name in ("id", "title", "x", "color", "y_title")}


def test_the_picture_escapes_all_texts_and_has_everything_that_is_declared() -> None:
    chart = Chart(
        **fields(CHART),
        log_y=True,
        rules=lambda _: [Rule(label=HOSTILE, y=40e9), Rule(label="half", x=2)],
        bands=lambda _: [Band(label="L2", low=1, high=2)],
        rings=lambda _: [Point(x=2, y=20e9, label="best")],
    )
    figure = vega.figure(chart, ROWS, keys=("place",))

    assert figure is not None
    picture = ET.fromstring(vega.svg(figure, "u"))
    texts = [node.text for node in picture.iter() if node.tag.endswith("}text")]
    assert {"local", "best", "L2", "half", points.grid.text(HOSTILE).replace("\uffff", "\ufffd")} <= {*texts}
    titles = [node.text for node in picture.iter() if node.tag.endswith("}title")]
    assert "local: 2 · 20.0 GB/s · ⚠ S1" in titles
    assert figure.flags == "S1, S3"
    assert figure.table.records()[0] == {"place": "local", "threads": 1, "median": 11e9, "range": points.Interval(10e9, 12e9, "B/s"), "repeats": 2}  # fmt: skip
    assert json.loads(json.dumps(figure.spec)) == figure.spec


@pytest.mark.parametrize(
    ("kind", "x", "y"),
    [
        ("line", "threads", "value"), ("steps", "value", "share"), ("bars", "value", "share"), ("heat", "threads", "place"),
        ("points", "value", "place"), ("forest", "value", "place"), ("strip", "value", "place"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("panels", [(), ("place",)])
def test_every_kind_is_drawn_in_one_panel_and_in_several(kind: Kind, x: str, y: str, panels: tuple[str, ...]) -> None:
    rows = ROWS.assign(share=[1, 0.5, 0.1, 0.01, 1, 0.1], x2=ROWS["value"] * 2, low=ROWS["value"] / 2, high=ROWS["value"] * 2)  # fmt: skip
    chart = Chart(id="f", title="t", kind=kind, x=x, y=y, panels=panels, log_x=kind in ("steps", "bars"), log_y=kind == "steps")  # fmt: skip
    figure = vega.figure(chart, rows)

    assert figure is not None
    assert ("facet" in figure.spec) == bool(panels)
    assert len(ET.fromstring(vega.svg(figure))) > 1
    assert len(figure.table.rows) >= 2


def test_zero_on_a_logarithmic_axis_is_a_step_below_its_lowest_value() -> None:
    rows = pd.DataFrame({"size": [0, 8, 16], "value": [1.0, 2.0, 3.0], "flags": "", "unit": "ns"})
    figure = vega.figure(Chart(id="f", title="t", x="size", x_unit="B", log_x=True), rows)

    assert figure is not None
    assert [row["x"] for row in figure.spec["data"]["values"]] == [4, 8, 16]
    assert vega.figure(Chart(id="f", title="t", x="size"), rows[:0]) is None
    assert vega.figure(Chart(id="f", title="t", x="depth"), rows) is None


def test_a_decade_of_a_logarithmic_axis_has_all_its_digits() -> None:
    rows = pd.DataFrame({"t": [1, 2, 3], "value": [1e0, 1e3, 1e6], "unit": ""})
    figure = vega.figure(Chart(id="f", title="t", x="t", log_y=True), rows)

    assert figure
    assert "e+" not in vega.svg(figure)


def test_points_of_an_order_are_joined_by_it_and_lie_at_their_median_x() -> None:
    rows = pd.DataFrame({"delay": [0, 0, 9, 9], "bandwidth": [30.0, 32.0, 10.0, 12.0], "value": [200.0, 204.0, 80.0, 82.0]})  # fmt: skip

    found = points.group(Chart(id="c", title="", x="bandwidth", order="delay"), rows).frame

    assert [*found[["x", "y", "n"]].itertuples(index=False, name=None)] == [(31.0, 202.0, 2), (11.0, 81.0, 2)]


def test_a_chart_may_sum_up_its_rows() -> None:
    table = Table(columns=(Column(name="n"),), rows=((1,),))

    figure = vega.figure(Chart(**fields(CHART), summary=lambda _: table), ROWS)
    assert figure is not None
    assert figure.summary is table
