"""Charts that answer: the same picture as before, until a reader asks for another."""

from __future__ import annotations

import base64
import gzip
import json
import math
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import reports
from reports.draw import axes, interactive, vega

TEMPLATES = Path(reports.__path__[0]) / "templates" / "charts"
NAMES = sorted(path.name.removesuffix(".vl.json") for path in TEMPLATES.glob("*.vl.json"))


def filled(**more: Any) -> vega.Spec:
    frame = vega.Frame(width=544, height=300, left=40)
    x = axes.decades([100, 1e6], "Time", unit="ns")
    y = axes.from_zero([100], "Rate")
    series = [vega.Series(name="a", colour="#2B7BBF"), vega.Series(name="b", colour="#D4620F")]
    rows = [
        {"series": s, "x": 10.0**p, "y": 10.0 * p, "order": p, "segment": 0}
        for s in "ab"
        for p in range(2, 7)
    ]
    return vega.fill("curves", frame=frame, x=x, y=y, series=series, data={"points": rows}, **more)


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_that_answers_is_drawn_as_one_that_does_not(name: str) -> None:
    spec = vega.template(name)

    assert vega.draw(interactive.answering(spec), "a", "") == vega.draw(spec, "a", "")
    assert spec == vega.template(name)


SCHEMA = os.environ.get("PINSWEEP_VEGA_LITE_SCHEMA")


@pytest.mark.skipif(
    not SCHEMA, reason="PINSWEEP_VEGA_LITE_SCHEMA names no vega-lite-schema.json (Altair 5.5 has it)"
)
@pytest.mark.parametrize("name", NAMES)
def test_templates_and_charts_that_answer_are_valid_vega_lite(name: str) -> None:
    validator = jsonschema.Draft7Validator(json.loads(Path(SCHEMA or "").read_text(encoding="utf-8")))

    for spec in (vega.template(name), interactive.answering(vega.template(name))):
        assert [error.message[:200] for error in validator.iter_errors(spec)] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_layer_drops_a_channel_by_null(name: str) -> None:
    """Vega-Lite takes `"color": null`, its schema does not: an editor would underline it. `{}` does the same."""
    for layer in vega.template(name)["layer"]:
        assert None not in layer.get("encoding", {}).values()


def test_its_axes_and_series_are_parameters() -> None:
    params = {p["name"]: p["value"] for p in interactive.answering(filled())["params"]}

    assert params == {
        "hidden": [], "zoomed": False, "x_domain": [pytest.approx(100 / 1.15, rel=0.2), pytest.approx(1e6, rel=0.2)],
        "x_ticks": [100, 1000, 1e4, 1e5, 1e6], "y_domain": [0, 100], "y_ticks": [0, 20, 40, 60, 80, 100],
    }  # fmt: skip


def with_params(spec: vega.Spec, **values: Any) -> str:
    params = [{**p, "value": values.get(p["name"], p["value"])} for p in spec["params"]]
    return vega.draw({**spec, "params": params}, "a", "")


def test_a_hidden_series_is_not_drawn() -> None:
    drawn = with_params(interactive.answering(filled()), hidden=["b"])

    assert "#2B7BBF" in drawn
    assert "#D4620F" not in drawn


def test_a_zoomed_chart_has_ticks_with_units_where_it_was_told() -> None:
    drawn = with_params(
        interactive.answering(filled()), zoomed=True, x_domain=[900, 30e3], x_ticks=[1000, 2000, 2e4], y_domain=[10, 12],
        y_ticks=[10, 10.5, 11],
    )  # fmt: skip

    for text in (">1.0 µs<", ">2.0 µs<", ">20 µs<", ">10<", ">10.5<", ">11<"):
        assert text in drawn
    assert "clip-path" in drawn
    assert ">1 ms<" not in drawn


def test_rows_keep_their_names_when_their_axis_is_zoomed() -> None:
    spec = vega.template("rows")
    names = {row["name"] for row in spec["datasets"]["rows"]}

    drawn = with_params(interactive.answering(spec), zoomed=True, x_domain=[300, 500])

    assert all(f">{name}<" in drawn for name in names)


def test_fine_ticks_lie_on_their_axis_and_become_more() -> None:
    for axis in (
        axes.decades([90, 4e6], "", unit="ns"),
        axes.powers_of_two([1, 4e6], ""),
        axes.share_axis(1e-5, ""),
        axes.integers(range(1, 65), ""),
        axes.at_tested([1, 2, 4, 8, 16, 32], ""),
    ):
        counts = [len(ticks) for ticks in axis.fine]
        assert counts == sorted(counts)
        assert counts
        for ticks in axis.fine:
            assert all(
                axis.low <= value * (1 + 1e-9) and value <= axis.high * (1 + 1e-9) for value, _ in ticks
            )
            texts = [text for _, text in ticks]
            assert all(texts)
            assert len(set(texts)) == len(texts)


def test_the_series_of_a_chart_are_those_it_draws() -> None:
    spec = filled()
    spec["encoding"]["color"]["scale"]["domain"].append("c")
    spec["encoding"]["color"]["scale"]["range"].append("#1B6B4A")

    assert list(interactive.series_of(spec)) == [("a", "#2B7BBF"), ("b", "#D4620F")]


def test_packed_charts_come_out_as_they_went_in() -> None:
    chart = {
        "data": [{"values": [{"tip": "</script><!-- µ", "x": 0.1 + 0.2, "n": 3, "no": None}]}],
        "width": 5e-9,
    }

    text = interactive.packed({"a": chart})

    out = json.loads(gzip.decompress(base64.b64decode(text)))["a"]
    assert out["data"][0]["values"][0] == {"tip": "</script><!-- µ", "x": 0.3, "n": 3, "no": None}
    assert math.isclose(out["width"], 5e-9)
    assert interactive.packed({"a": chart}) == text
    assert not set(text) & set("<>&")
