"""What never gave a number is seen: a cross where it would stand, in the colour of its line; and two repeats are two dots."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from reports.charts import imb
from reports.charts.command import chapter
from reports.draw import vega
from reports.draw.figure import Figure
from reports.draw.label_placement import text_width
from reports.results.load import load

METRICS = {
    "rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"},
    "lat": {"regex": r"lat ([\d.]+)", "unit": "us", "better": "lower"},
}


def swept(make: Any, path: Path, axes: tuple[str, ...] = ("case", "threads")) -> Path:
    """Three cases over threads, two repeats a cell: one that runs, one that times out from 8 threads on, one that always crashes."""
    maker = make.Maker(path)
    for case in ("good", "half", "crash"):
        for threads in (1, 2, 4, 8, 16) if "threads" in axes else (1,):
            for wobble in (0.98, 1.02):
                options = {"command": "x", "metrics": METRICS, "case": case, "threads": threads}
                failed = case == "crash" or (case == "half" and threads > 4)
                text = f"rate {100 * threads * wobble:.2f} lat {5 * threads * wobble:.2f}\n"
                reason = "" if not failed else "exit status 3" if case == "crash" else "timed out after 60 s"
                maker.add(
                    "s", "command", options, "" if failed else text, axes=axes, reason=reason,
                    status="failed" if failed else "ok",
                )  # fmt: skip
    return Path(maker.write())


def figure(path: Path) -> Figure:
    (drawn,) = chapter(load([path])).figures
    return drawn


def test_a_cell_without_a_number_is_a_cross_on_the_axis(make: Any, tmp_path: Path) -> None:
    drawn = figure(swept(make, tmp_path / "r.db"))

    assert "Cross on the axis: a cell without a number." in drawn.sub
    assert len(drawn.panels) == 2
    for panel in drawn.panels:
        for spec in (panel.wide, panel.narrow):
            rows = spec["datasets"]["crosses"]
            assert [(r["series"], r["x"]) for r in rows] == [
                ("case crash", 1), ("case crash", 2), ("case crash", 4), ("case half", 8), ("case crash", 8), ("case half", 16), ("case crash", 16),
            ]  # fmt: skip
            assert len({(r["x"], r["up"]) for r in rows}) == len(rows)  # none hides another
            colours = dict(
                zip(
                    spec["encoding"]["color"]["scale"]["domain"],
                    spec["encoding"]["color"]["scale"]["range"],
                    strict=True,
                )
            )
            assert all(r["colour"] == colours[r["series"]] for r in rows)
            assert len(set(colours.values())) == 3
            assert {n["text"] for n in spec["datasets"]["names"]} == {"case good", "case half", "case crash"}
            assert rows[-1]["tip"] == "threads 16 · no number: exit status 3"
            vega.draw(spec, "x", "")


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ([], None),
        (["same package"], "same package"),
        (["a", "b", "c", "d", "e"], "a, b, c and 2 more"),
    ],
)
def test_messages_that_were_never_sent_are_named(
    make: Any, tmp_path: Path, lost: list[str], said: str | None
) -> None:
    """Their sizes are not known, so that no cross has a place: below the curves there was no word of them."""
    maker = make.Maker(tmp_path / "r.db")
    options = {"benchmark": "PingPong"}
    for place in ("same cache", "other package"):
        maker.add("p", "imb", options, make.imb_text({1: 0.2, 64: 0.3}), place=place, axes=("place",))
    for place in lost:
        maker.add(
            "p", "imb", options, "", place=place, axes=("place",), status="failed", reason="exit status 1"
        )

    (drawn,) = imb.chapter(load([maker.write()])).figures

    assert re.findall(r" Without a number: (.+?)\.", drawn.sub) == ([said] if said else [])


def test_the_name_of_a_line_that_ends_early_stands_at_its_end(make: Any, tmp_path: Path) -> None:
    """A hairline from its last point to the names looked as if the line went on."""
    for panel in figure(swept(make, tmp_path / "r.db")).panels:
        for spec in (panel.wide, panel.narrow):
            assert not [r for r in spec["datasets"]["leads"] if r["series"] == "case half"]


def test_what_has_no_numeric_axis_has_a_row_without_a_number(make: Any, tmp_path: Path) -> None:
    drawn = figure(swept(make, tmp_path / "r.db", axes=("case",)))

    for panel in drawn.panels:
        assert [r["name"] for r in panel.wide["datasets"]["rows"]] == ["case good", "case half"]
        (cross,) = panel.wide["datasets"]["crosses"]
        assert (cross["name"], cross["text"], cross["y"]) == ("case crash", "no number", 2.5)
        assert panel.wide["encoding"]["y"]["scale"]["domain"] == [3, 0]


@pytest.mark.parametrize("axes", [("case", "threads"), ("case",)])
def test_numbers_over_decades_have_a_log_axis_in_their_own_unit(
    make: Any, tmp_path: Path, axes: tuple[str, ...]
) -> None:
    """1 µs and 4 ms lay on one linear axis, the first on the floor; and what never gave a number has no place at 0."""
    maker = make.Maker(tmp_path / "r.db")
    for case, lat in (("read", 1.0), ("fsync", 4000.0), ("crash", 0.0)):
        for threads in (1, 2) if "threads" in axes else (1,):
            options = {"command": "x", "metrics": METRICS, "case": case, "threads": threads}
            text = f"rate {50 * threads} lat {lat * threads}\n" if lat else ""
            maker.add("s", "command", options, text, axes=axes, status="ok" if lat else "failed")

    rate, latency = (panel.wide for panel in figure(maker.write()).panels)

    on, cross_at = ("y", "y") if "threads" in axes else ("x", "x")
    assert latency["encoding"][on]["scale"]["type"] == "log"
    assert latency["encoding"][on]["title"] == "lat, µs (log scale)"
    assert rate["encoding"][on]["scale"]["type"] == "linear"
    for spec in (rate, latency):
        lowest = spec["encoding"][on]["scale"]["domain"][0]
        assert {row[cross_at] for row in spec["datasets"]["crosses"]} == {lowest}
        vega.draw(spec, "x", "")


def test_no_name_lies_on_a_cross(make: Any, tmp_path: Path) -> None:
    """The name of a line that ends early stood among the crosses of others."""
    maker = make.Maker(tmp_path / "r.db")
    for case, ends in (("good", 16), ("low and short", 4), ("crash", 0), ("abort", 0)):
        for threads in (1, 2, 4, 8, 16):
            options = {"command": "x", "metrics": METRICS, "case": case, "threads": threads}
            text = f"rate {100 if case == 'good' else 2} lat 1\n" if threads <= ends else ""
            maker.add(
                "s", "command", options, text, axes=("case", "threads"), status="ok" if text else "failed"
            )

    (rate, _) = figure(maker.write()).panels
    for spec in (rate.wide, rate.narrow):
        (low, high), top = (spec["encoding"][by]["scale"]["domain"] for by in ("x", "y"))
        (name,) = [row for row in spec["datasets"]["names"] if row["series"] == "case low and short"]
        x, end = (math.log(at / low) / math.log(high / low) * spec["width"] for at in (8, name["x"]))
        left, baseline = end + name["dx"], (1 - name["y"] / top[1]) * spec["height"] + name["dy"]
        beside = [c["y_px"] for c in spec["datasets"]["crosses"] if c["x"] == 8]
        assert len(beside) == 3
        if left - 4 < x < left + text_width("case low and short") + 4:
            assert not [y for y in beside if baseline - 12 < y < baseline + 6]


@pytest.mark.parametrize("axes", [("case", "threads"), ("case",)])
def test_two_repeats_are_two_dots(make: Any, tmp_path: Path, axes: tuple[str, ...]) -> None:
    drawn = figure(swept(make, tmp_path / "r.db", axes))

    assert "Two dots: both repeats." in drawn.sub
    assert "Bars" not in drawn.sub
    spec = drawn.panels[0].wide
    dots = [
        layer["encoding"]["y" if "threads" in axes else "x"]["field"]
        for layer in spec["layer"]
        if layer["mark"].get("style") == "dot-pair"
    ]
    assert dots == ["low", "high"]
    bars = [layer for layer in spec["layer"] if layer["mark"]["style"] in ("whisker", "whisker-end")]
    assert bars
    assert all(layer["transform"][0] == {"filter": "!datum.pair"} for layer in bars)
    assert spec["datasets"]["ranges" if "threads" in axes else "rows"][0]["pair"]


def test_the_ticks_are_what_was_tested(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for threads in (1, 4, 8):
        options = {"command": "x", "metrics": METRICS, "threads": threads}
        maker.add("s", "command", options, f"rate {threads} lat 1\n", axes=("threads",))

    (panel, _) = figure(maker.write()).panels
    assert panel.wide["encoding"]["x"]["axis"]["values"] == [1, 4, 8]


def test_no_cross_lies_on_a_value(make: Any, tmp_path: Path) -> None:
    """The cross of a line that failed lay on the lowest value of another, of the same x."""
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    for alg, threads, rate in (("a", 1, 100.0), ("a", 2, 190.0), ("b", 1, 3.0), ("b", 2, 1.0), ("c", 1, 90.0), ("c", 2, 0)):  # fmt: skip
        options = {"command": "s", "metrics": metrics, "alg": alg, "threads": threads}
        maker.add("s", "command", options, f"rate {rate}\n" if rate else "", axes=("alg", "threads"), status="ok" if rate else "failed")  # fmt: skip
    (figure,) = chapter(load([maker.write()])).figures

    for spec in (figure.panels[0].wide, figure.panels[0].narrow):
        (low, high), tall = spec["encoding"]["y"]["scale"]["domain"], spec["height"]
        log = spec["encoding"]["y"]["scale"]["type"] == "log"
        (cross,) = spec["datasets"]["crosses"]
        for row in spec["datasets"]["points"]:
            share = (
                math.log(row["y"] / low) / math.log(high / low) if log else (row["y"] - low) / (high - low)
            )
            assert row["x"] != cross["x"] or abs(tall * share - cross["up"]) >= 9
