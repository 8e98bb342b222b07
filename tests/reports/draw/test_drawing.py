"""Axes, labels, templates and the SVG: laws, and every template drawn."""

from __future__ import annotations

import copy
import json
import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import reports
from reports.draw import axes, interactive, label_placement, svg, vega
from reports.draw.figure import Figure, Panel, Table

TEMPLATES = Path(reports.__path__[0]) / "templates" / "charts"
NAMES = sorted(path.name.removesuffix(".vl.json") for path in TEMPLATES.glob("*.vl.json"))

values = st.lists(st.floats(1e-3, 1e12), min_size=1, max_size=12)


@given(st.lists(st.floats(-1e6, 1e6).filter(lambda v: abs(v) > 1e-3), min_size=2, max_size=9))
@example([-4.0, -2.0, 1.0, 5.0])
def test_an_axis_below_zero_has_ticks_below_it_and_one_at_zero(numbers: list[float]) -> None:
    """Ticks were 0 and 5, and −2 and −4 lay below the last line."""
    if min(numbers) >= 0:
        return
    axis = axes.amounts(numbers, "dB")
    marks = [value for value, _ in axis.ticks]

    assert marks[0] == axis.low <= min(numbers)
    assert max(numbers) <= axis.high == marks[-1]
    assert 0.0 in marks
    assert len(marks) <= 8


def test_the_line_at_zero_is_an_axis_where_values_lie_below_it() -> None:
    frame = vega.Frame(width=300, height=200, left=30)
    drawn = {}
    for low in (-4.0, 1.0):
        x, y = axes.amounts([low, 5.0], "x"), axes.Axis(kind="linear", low=1.0, high=0.0, ticks=(), title="")
        spec = vega.fill("rows", frame=frame, x=x, y=y, series=[], data={})
        drawn[low] = vega.draw(spec, "u", "").count("#9AA3AE")
    assert drawn[-4.0] > drawn[1.0]


@given(values)
def test_axis_from_zero_holds_its_values_and_ticks(numbers: list[float]) -> None:
    axis = axes.from_zero(numbers, "x")

    assert axis.low == 0
    assert axis.high >= max(numbers) * 0.999999
    assert all(axis.low <= v <= axis.high * 1.000001 for v, _ in axis.ticks)
    assert 2 <= len(axis.ticks) <= 8
    assert all(a < b for (a, _), (b, _) in pairwise(axis.ticks))


@pytest.mark.parametrize(
    ("numbers", "kind", "title", "low"),
    [
        ([1.0, 30.0], "linear", "x", 0.0),
        ([1.0, 31.0], "log", "x (log scale)", None),
        ([0.0, 31.0], "linear", "x", 0.0),
        ([-20.0, -26.0], "linear", "x", None),
        ([], "linear", "x", 0.0),
    ],
)
def test_what_is_far_apart_has_a_log_axis_that_says_so(
    numbers: list[float], kind: str, title: str, low: float | None
) -> None:
    axis = axes.amounts(numbers, "x")

    assert (axis.kind, axis.title) == (kind, title)
    assert axis.low == low if low is not None else axis.low < min(numbers)
    assert all(axis.low <= v <= axis.high for v in numbers)
    assert not any("-" in text for _, text in axis.ticks)


@pytest.mark.parametrize(
    ("tops", "kind"), [([16.0], "linear"), ([2.1, 16.0], "linear"), ([1.9, 16.0], "log")]
)
def test_no_panel_is_flattened_by_the_others_of_its_axis(tops: list[float], kind: str) -> None:
    """Times of small tables were four lines on the floor below those of large ones, 28 times as long."""
    axis = axes.amounts([1.0, *tops], "Time, ns", tops=tops)

    assert axis.kind == kind
    assert axis.title.endswith("(log scale)") == (kind == "log")
    assert axes.amounts([0.0, *tops], "Time, ns", tops=tops).kind == "linear"


@given(values)
def test_log_axis_holds_its_values_and_ticks(numbers: list[float]) -> None:
    axis = axes.decades(numbers, "x")

    assert axis.low <= min(numbers)
    assert axis.high >= max(numbers)
    assert all(axis.low * 0.998 <= v <= axis.high * 1.002 for v, _ in axis.ticks)
    assert 1 <= len(axis.ticks) <= 8
    assert 0 <= axis.share(numbers[0]) <= 1


@pytest.mark.parametrize("values", [(86.3, 313.0), (90.0, 200.0), (80.0, 900.0), (80.0, 9e5)])
@pytest.mark.parametrize("most", [3, 5])
def test_a_narrow_log_axis_has_no_more_ticks_than_it_has_room_for(
    values: tuple[float, float], most: int
) -> None:
    """“50 ns100 ns200 ns 500 ns” on a phone."""
    assert 2 <= len(axes.decades(values, "Time", unit="ns", margin=1.6, most=most).ticks) <= most


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((78e3, 210e3), ["70 µs", "100 µs", "150 µs", "200 µs"]),
        ((69e3, 313e3), ["70 µs", "100 µs", "150 µs", "200 µs", "300 µs"]),
        ((23e3, 6e6), ["30 µs", "100 µs", "300 µs", "1 ms", "3 ms"]),
        ((21.0, 140.0), ["20 ns", "40 ns", "80 ns", "160 ns"]),
    ],
)
def test_a_log_axis_has_three_ticks_and_more_which_say_what_they_are(
    values: tuple[float, float], texts: list[str]
) -> None:
    """100 and 200 µs alone, below which points at 78 µs could not be read; 160 ns was called 200 ns."""
    assert [text for _, text in axes.decades(values, "Time", unit="ns").ticks] == texts


@given(st.lists(st.integers(1, 256), min_size=1, max_size=40))
def test_integer_axis_has_few_whole_ticks(numbers: list[int]) -> None:
    axis = axes.integers(numbers, "threads")

    assert len([text for _, text in axis.ticks if text]) <= 14
    assert axis.low < min(numbers)
    assert axis.high >= max(numbers)
    assert {v for v, _ in axis.ticks} <= set(range(min(numbers), max(numbers) + 1))


@given(st.lists(st.integers(0, 2**31), min_size=1, max_size=30), st.sampled_from([5, 7]))
def test_size_axis_ticks_are_powers_of_two_or_the_few_sizes_that_were_tested(
    sizes: list[int], most: int
) -> None:
    axis = axes.powers_of_two(sizes, "bytes", most=most)
    tested = sorted({s for s in sizes if s})

    assert len(axis.ticks) <= most
    if 1 < len(tested) <= most:
        assert [v for v, _ in axis.ticks] == tested
    else:
        assert all(math.log2(v).is_integer() for v, _ in axis.ticks)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=80))
def test_whole_numbers_that_were_tested_are_the_ticks(values: list[int]) -> None:
    """Between 4 and 8 threads stood 5, 6 and 7, which nobody had run."""
    axis = axes.integers(values, "Threads")
    told = [v for v, text in axis.ticks if text]

    assert [v for v, _ in axis.ticks] == sorted(set(values))
    assert {min(values), max(values)} <= set(told)
    assert all(axis.share(b) - axis.share(a) > 1 / 30 for a, b in pairwise(told))


def test_half_a_byte_is_no_size_of_a_message() -> None:
    """One size alone, of one byte: the axis had a tick "0.500"."""
    assert [text for _, text in axes.powers_of_two([0, 1], "bytes").ticks] == ["1", "2"]


def test_tested_values_are_the_ticks_and_crowded_ones_lose_their_text() -> None:
    axis = axes.at_tested([1, 2, 4, 8, 32, 128, 130], "iodepth (log)")

    assert [v for v, _ in axis.ticks] == [1, 2, 4, 8, 32, 128, 130]
    assert dict(axis.ticks)[128] == ""
    assert dict(axis.ticks)[130] == "130"


@given(st.lists(st.floats(-50, 350), min_size=1, max_size=25), st.floats(5, 20))
def test_labels_of_a_column_keep_order_distance_and_bounds(heights: list[float], gap: float) -> None:
    places = label_placement.column(heights, gap=gap, low=0, high=260)

    assert all(-1e-6 <= p <= 260 + 1e-6 for p in places)
    ranked = [p for _, p in sorted(zip(heights, places, strict=True))]
    if len(heights) * gap <= 260:
        assert all(b - a >= gap - 1e-6 for a, b in pairwise(sorted(places)))
    assert ranked == sorted(ranked)


def test_labels_that_do_not_clash_stay_where_they_wish() -> None:
    assert label_placement.column([10, 100, 200], gap=15, low=0, high=260) == [10, 100, 200]


@given(st.lists(st.tuples(st.floats(40, 400), st.floats(20, 240)), min_size=2, max_size=5))
def test_near_labels_avoid_one_another_and_the_edge(points: list[tuple[float, float]]) -> None:
    anchors = [(p, f"series {i}") for i, p in enumerate(points)]

    placed = label_placement.near(anchors, [], (), (0, 0, 480, 260))

    boxes = [
        (x + p.dx, y + p.dy - 9.6, x + p.dx + label_placement.text_width(text), y + p.dy + 3)
        for p, ((x, y), text) in zip(placed, anchors, strict=True)
    ]
    assert all(b[0] >= 0 and b[1] >= 0 and b[2] <= 480 and b[3] <= 260 for b in boxes)
    clashes = sum(
        min(a[2], b[2]) > max(a[0], b[0]) + 0.1 and min(a[3], b[3]) > max(a[1], b[1]) + 0.1
        for i, a in enumerate(boxes)
        for b in boxes[i + 1 :]
    )
    assert clashes == 0


curve_points = st.lists(st.tuples(st.floats(10, 420), st.floats(10, 230)), min_size=2, max_size=12)


@given(st.lists(curve_points, min_size=2, max_size=4), st.floats(0, 240))
@example([[(13.0, 107.0), (156.0, 10.0)], [(62.0, 20.0), (10.0, 20.0)]], 0.0)
@pytest.mark.slow
def test_names_along_curves_stay_apart_and_inside_and_near_or_led(
    curves: list[list[tuple[float, float]]], prefer: float
) -> None:
    named = [(points, f"series {i}") for i, points in enumerate(curves)]

    placed = label_placement.along(named, (), (0, 0, 480, 260), prefer=prefer)

    boxes = [label_placement.box_of(p.x, p.y, text) for p, (_, text) in zip(placed, named, strict=True)]
    assert all(b[0] >= -0.1 and b[1] >= -0.1 and b[2] <= 480.1 and b[3] <= 260.1 for b in boxes)
    assert not any(label_placement.touch(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    for box, name, (points, _) in zip(boxes, placed, named, strict=True):
        if name.lead is None:
            assert distance(box, points) < 12
        else:
            assert off(name.lead[0], points) < 0.1  # it is rounded to 0.1 px in x and y


loads = st.lists(
    st.tuples(st.floats(120, 330), st.floats(1.5, 4), st.integers(4, 14)), min_size=2, max_size=4
)


@given(loads, st.lists(st.floats(60, 395), max_size=2), st.sampled_from([(480.0, 260.0), (330.0, 240.0)]))
@example([(300.0, 3.0, 6), (305.0, 2.5, 12), (310.0, 2.0, 6)], [315.0, 325.0], (330.0, 240.0))
def test_names_of_loaded_latency_lie_on_no_other_name_and_no_line_across(
    found: list[tuple[float, float, int]], uprights: list[float], size: tuple[float, float]
) -> None:
    """Dotted lines, of twice the unloaded latency and of the peaks beside it, went through the names of curves."""
    width, height = size
    curves = [
        [(min(peak, width - 20) * u, height * 0.8 - 40 * (steep - 1) * u**bent) for u in (0.02, 0.2, 0.4, 0.6, 0.7, 0.8, 0.88, 0.94, 0.98, 1)]
        for peak, steep, bent in found
    ]  # fmt: skip
    named = [(points, f"mix {i}:1") for i, points in enumerate(curves)]
    ruled = [((0.0, y), (width, y)) for y in (height * 0.8, height * 0.8 - 40)]
    ruled += [((x, 0.0), (x, height)) for x in uprights if x < width]

    placed = label_placement.along(named, (), (0, -14, width + 20, height), prefer=72, starts=[7] * len(curves), ruled=ruled)  # fmt: skip

    boxes = [label_placement.box_of(p.x, p.y, text) for p, (_, text) in zip(placed, named, strict=True)]
    assert all(
        b[0] >= -0.1 and b[1] >= -14.1 and b[2] <= width + 20.1 and b[3] <= height + 0.1 for b in boxes
    )
    assert not any(label_placement.touch(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    assert not any(distance(box, list(line)) == 0 for box in boxes for line in ruled)


def distance(box: tuple[float, float, float, float], points: list[tuple[float, float]]) -> float:
    """From a box to a line, over points of it 1 px apart."""
    dots = [
        (a[0] + (b[0] - a[0]) * k / 400, a[1] + (b[1] - a[1]) * k / 400)
        for a, b in pairwise(points)
        for k in range(401)
    ]
    return min(math.hypot(max(box[0] - x, 0, x - box[2]), max(box[1] - y, 0, y - box[3])) for x, y in dots)


def off(point: tuple[float, float], points: list[tuple[float, float]]) -> float:
    """From a point to a line, exactly: between the dots of `distance` there is up to a pixel."""

    def to_stroke(a: tuple[float, float], b: tuple[float, float]) -> float:
        length = math.dist(a, b)
        if length < 1e-9:
            return math.dist(a, point)
        ux, uy = (b[0] - a[0]) / length, (b[1] - a[1]) / length
        along = min(max((point[0] - a[0]) * ux + (point[1] - a[1]) * uy, 0.0), length)
        return math.dist((a[0] + along * ux, a[1] + along * uy), point)

    return min(to_stroke(a, b) for a, b in pairwise(points))


def test_a_name_is_nearer_to_its_own_curve_than_to_the_next() -> None:
    # as in a tail chart: one curve falls at the very left, two come down beside it and run on together
    left = [(8.0, 0.0), (10.0, 120.0), (12.0, 250.0), (200.0, 250.0)]
    middle = [(70.0, 0.0), (80.0, 90.0), (130.0, 170.0), (420.0, 220.0)]
    right = [(100.0, 0.0), (140.0, 120.0), (300.0, 125.0), (420.0, 210.0)]
    named = [(left, "empty access"), (middle, "file, 1 MB"), (right, "file, 256 MB")]

    placed = label_placement.along(named, (), (2, 0, 440, 258), prefer=110)

    for i, (name, (points, text)) in enumerate(zip(placed, named, strict=True)):
        box = label_placement.box_of(name.x, name.y, text)
        others = [other for j, (other, _) in enumerate(named) if j != i]
        assert name.lead is None
        assert distance(box, points) < min(distance(box, other) for other in others)


@pytest.mark.parametrize("n", [3, 5, 8])
def test_no_line_and_no_hairline_goes_through_a_name(n: int) -> None:
    """Of a family of curves on a phone lines went through names, and hairlines of others, while there was room beside them."""
    shares = (0.02, 0.2, 0.4, 0.55, 0.7, 0.8, 0.88, 0.94, 0.98, 1, 0.95, 0.9)
    curves = [
        [((300 - 20 * i) * u, 230 - (120 + 12 * (i * 5 % 7)) * u**7 - 8 * max(0, k - 9)) for k, u in enumerate(shares)]
        for i in range(n)
    ]  # fmt: skip
    named = [(points, f"mix {i}:1 nt") for i, points in enumerate(curves)]

    placed = label_placement.along(named, (), (0, -14, 320, 240), prefer=72, starts=[9] * n)

    for at, (_, text) in zip(placed, named, strict=True):
        box = label_placement.box_of(at.x, at.y, text)
        hairlines = [list(other.lead) for other in placed if other is not at and other.lead]
        assert all(distance(box, line) > 0 for line in (*curves, *hairlines))


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=20, unique=True))
@example([10**p for p in range(7)])
def test_texts_of_tested_values_do_not_touch_on_a_phone(tested: list[int]) -> None:
    """ "10 000100 0001 000 000"."""
    axis = axes.at_tested(tested, "size (log)")

    told = [
        (axis.share(value) * 260, label_placement.text_width(text) / 1.1)
        for value, text in axis.ticks
        if text
    ]
    assert [value for value, _ in axis.ticks] == sorted(tested)
    assert axis.ticks[-1][1]
    assert all(a + wide / 2 < b - other / 2 for (a, wide), (b, other) in pairwise(told))


def test_no_chart_is_without_a_template() -> None:
    assert len(NAMES) >= 10


@pytest.mark.parametrize("name", NAMES)
def test_a_template_opens_as_it_is(name: str) -> None:
    spec = json.loads((TEMPLATES / f"{name}.vl.json").read_text(encoding="utf-8"))

    assert spec["$schema"].startswith("https://vega.github.io/schema/vega-lite/v5")
    assert spec["description"]
    used = {layer["data"]["name"] for layer in spec["layer"]}
    assert used == set(spec["datasets"])
    drawn = vega.draw(spec, name, "what it shows")
    root = ET.fromstring(drawn)
    colours = set(re.findall(r'(?:fill|stroke)="(#\w+)"', drawn))
    assert colours & set(vega.SERIES)
    assert "NaN" not in drawn
    assert root.attrib["role"] == "img"
    assert len(drawn) < 6000


@pytest.mark.parametrize("name", NAMES)
def test_charts_that_differ_in_data_and_size_are_compiled_once_and_are_what_vega_lite_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = vega.template(name) | {"width": 300, "height": 200.5, "padding": {"left": 40.0, "bottom": 44}}
    spec["usermeta"] = {"fine": {"x": [{"1": "one\x00"}], "y": []}}
    narrow: vega.Spec = copy.deepcopy(spec) | {
        "width": 217.0,
        "padding": {"left": 31.5, "bottom": 44},
        "usermeta": {},
    }
    narrow["datasets"] = {key: [*rows[1:], *rows[:1]] for key, rows in spec["datasets"].items()}
    narrow["datasets"][next(iter(narrow["datasets"]))] = []
    for of in (spec, narrow):
        if of["encoding"]["x"].get("axis"):
            of["encoding"]["x"]["axis"]["titleX"] = of["width"]

    compiled = vega.compiled(spec)
    converter = vega._converter()
    monkeypatch.setattr(vega, "_converter", None)
    other = vega.compiled(narrow)

    def told(of: vega.Spec) -> vega.Spec:
        return converter.vegalite_to_vega(of, vl_version=vega.VEGA_LITE, config=vega.theme())

    assert compiled == told(json.loads(json.dumps(spec).replace("\\u0000", "\ufffd")))
    assert list(compiled) == [*told(spec)]
    assert other == told(narrow)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_charts_that_differ_in_titles_domains_ticks_and_colours_are_compiled_once_too(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a page of 28 panels, 22 were compiled each on its own, 20 ms each."""

    def told(title: str, low: float, ticks: dict[str, str], series: list[str]) -> vega.Spec:
        spec = vega.template(name)
        for channel in (spec["encoding"]["x"], spec["encoding"]["y"]):
            if channel.get("type") == "quantitative":
                channel["title"] = title
                channel.setdefault("scale", {}).update({"domain": [low, 40.5], "nice": False, "zero": False})
                if channel.get("axis"):
                    channel["axis"] |= {"values": [float(t) for t in ticks], "labelExpr": vega.text_of_tick(ticks), "titleX": low}  # fmt: skip
        if "color" in spec["encoding"]:
            spec["encoding"]["color"]["scale"] = {"domain": series, "range": ["#2B7BBF", "#D4620F"][: len(series)]}  # fmt: skip
        return interactive.answering(spec) if low == 1 else spec

    converter = vega._converter()
    for low in (0.25, 1):  # as it stands in the page without scripts, and with them
        one = told("Time in µs", low, {"2": "two"}, ["local"])
        other = told(
            'pinsweep_blank_0_ "quoted" \\', low, {"3": "a\\b", "30": '"'}, ["near", "pinsweep_blank_1_"]
        )
        vega.compiled(one)
        with monkeypatch.context() as patched:
            patched.setattr(vega, "_converter", None)
            compiled = vega.compiled(other)
        plain = json.loads(json.dumps(vega._as_scripts_have_it(other)))

        assert compiled == converter.vegalite_to_vega(plain, vl_version=vega.VEGA_LITE, config=vega.theme())


@pytest.mark.parametrize("name", NAMES)
def test_every_colour_of_the_charts_has_a_dark_twin(name: str) -> None:
    css = (TEMPLATES.parent / "report.css").read_text(encoding="utf-8")
    drawn = vega.draw(json.loads((TEMPLATES / f"{name}.vl.json").read_text(encoding="utf-8")), name, "")

    for kind, colour in set(re.findall(r'(fill|stroke)="(#\w+)"', drawn)):
        assert f'svg [{kind}="{colour}"]' in css or f'svg text[{kind}="{colour}"]' in css


def test_all_palette_colours_are_in_the_style_sheet() -> None:
    css = (TEMPLATES.parent / "report.css").read_text(encoding="utf-8")

    for colour in (*vega.SERIES, *vega.ORDERED, *vega.BLUES, *vega.ORANGES, vega.GREY):
        assert f'svg [fill="{colour}"]' in css
        assert f'svg [stroke="{colour}"]' in css


def test_a_zero_in_the_slot_moves_no_other_point() -> None:
    spec = vega.template("pingpong-time")
    with_slot = vega.draw(spec, "a", "")
    spec["datasets"]["zero"], spec["datasets"]["slot"] = [], []
    without = vega.draw(spec, "a", "")

    line = re.compile(r'<path d="M[^"]*" stroke="#2B7BBF" stroke-width="2"')
    assert line.findall(with_slot) == line.findall(without) != []


def test_a_curve_that_folds_back_is_drawn_in_its_order() -> None:
    spec = vega.template("loaded-latency")
    points = [(10, 60), (25, 110), (17, 200)]
    spec["datasets"]["points"] = [
        {"series": "read only", "x": x, "y": y, "order": i, "segment": 0} for i, (x, y) in enumerate(points)
    ]
    spec["datasets"]["past"] = []

    drawn = vega.draw(spec, "a", "")

    path = re.search(r'<path d="M([\d.,L]+)" stroke="#2B7BBF" stroke-width="2"', drawn)
    assert path
    xs = [float(p.split(",")[0]) for p in path[1].split("L")]
    assert xs[0] < xs[2] < xs[1]


def test_tidy_keeps_shades_that_can_be_told_apart() -> None:
    """With a tenth of an opacity a map had 5 of its 13 shades, and others as soon as a pointer came near."""
    rects = "".join(f'<path d="M0.04,0h9v9h-9z" fill="#D4620F" fill-opacity="{0.1 + 0.85 * i / 12}"/>' for i in range(13))  # fmt: skip
    out = svg.tidy(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><g>{rects}</g></svg>', "f", ""
    )

    assert len({*re.findall(r'fill-opacity="([\d.]+)"', out)}) == 13
    assert 'fill-opacity="0.1"' in out
    assert 'd="M0,0h9v9h-9z"' in out


def test_tidy_keeps_text_and_makes_ids_unique() -> None:
    source = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><defs><clipPath id="c1"><path d="M0,0h1v1Z"/></clipPath></defs>'
        '<g clip-path="url(#c1)"><text font-size="12px" transform="translate(1.23456,2)">&lt;b&gt; &amp;</text></g></svg>'
    )

    out = svg.tidy(source, "fig-1", 'says "<script>"')

    assert 'id="fig-1-c1"' in out
    assert 'clip-path="url(#fig-1-c1)"' in out
    assert "&lt;b&gt; &amp;" in out
    assert 'x="1.2"' in out
    assert "&lt;script&gt;" in out


def test_names_that_xml_cannot_hold_are_drawn_all_the_same() -> None:
    spec = vega.template("curves")
    spec["datasets"]["names"][0]["text"] = "a\x00b\x1b[31m\ud800<&"

    drawn = vega.draw(spec, "a", "")

    assert "a\ufffdb\ufffd[31m\ufffd&lt;&amp;" in drawn


def test_unknown_data_is_a_bug() -> None:
    axis = axes.from_zero([1], "")
    with pytest.raises(ValueError, match="no data set speed"):
        vega.fill(
            "curves",
            frame=vega.Frame(width=100, height=100, left=10),
            x=axis,
            y=axis,
            series=[],
            data={"speed": []},
        )


def test_without_vl_convert_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from parsers.errors import UserError

    monkeypatch.setitem(sys.modules, "vl_convert", None)

    with pytest.raises(UserError) as caught:
        vega.draw(vega.template("curves"), "a", "")
    assert "vl-convert-python" in caught.value.hint


@given(st.text("abcMW…i, µ1", max_size=60), st.floats(0, 500))
def test_a_text_is_cut_at_the_last_letter_that_fits(text: str, width: float) -> None:
    cut = label_placement.fitting(text, width)

    whole = text.removesuffix("…")
    fits = [f"{whole[:n]}…" for n in range(7, len(whole))]
    fits = [shorter for shorter in fits if label_placement.text_width(shorter) <= width] or fits[:1]
    assert cut == (text if label_placement.text_width(text) <= width or len(text) <= 8 else fits[-1])


def test_a_long_text_is_cut_by_its_first_letters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asked(dict[str, int]):
        times = 0

        def get(self, key: str, default: int = 0) -> int:  # type: ignore[override]
            self.times += 1
            return super().get(key, default)

    asked = Asked(label_placement._WIDTHS)
    monkeypatch.setattr(label_placement, "_WIDTHS", asked)

    assert label_placement.fitting("node " * 400, 200).endswith("…")
    assert asked.times < 2100  # each letter once; one by one from the end it was 2 million


@pytest.mark.parametrize(
    ("panels", "threes", "across"), [(1, False, 1), (2, False, 2), (3, False, 3), (4, False, 2), (6, True, 3)]
)
def test_three_panels_stand_abreast(panels: int, threes: bool, across: int) -> None:
    """The third stood alone in a row of its own: a quarter of the figure was empty."""
    one = Panel(title="", wide={}, narrow={}, description="")
    assert Figure(id="f", title="", sub="", panels=(one,) * panels, threes=threes).across == across


@pytest.mark.parametrize(("columns", "doubted", "layout"), [(5, True, "half"), (6, False, "half"), (6, True, "beside"), (8, False, "beside")])  # fmt: skip
def test_a_table_that_half_of_the_page_would_cut_off_has_all_of_it(
    columns: int, doubted: bool, layout: str
) -> None:
    """Its last column faded out at the edge of a half, beside a half that was empty."""
    table = Table(columns=("c",) * columns, rows=(("1",) * columns,), doubts=({1: "G1"},) if doubted else ())
    picture = Panel(title="", wide={}, narrow={}, description="")

    def stands(**named: Any) -> str:
        return Figure(id="f", title="t", sub="", tables=(table,), **named).layout

    one, two = (picture,), (picture, picture)
    assert (stands(half=True, panels=one), stands(panels=two)) == (layout, "")
    assert stands(panels=one) == "beside"  # a table that was made for the whole width may have long cells


def test_a_figure_of_numbers_alone_has_them_open() -> None:
    """A title, a caption and nothing to see below it."""
    table = Table(columns=("c",), rows=(("1",),))

    assert Figure(id="f", title="t", sub="", numbers=(table,)).bare
    assert not Figure(id="f", title="t", sub="", tables=(table,), numbers=(table,)).bare


@pytest.mark.parametrize(
    ("letters", "folds"), [(0, ""), (100, ""), (101, "narrow"), (300, "narrow"), (301, "always")]
)
def test_a_doubt_that_is_long_on_a_phone_folds_there(letters: int, folds: str) -> None:
    figure = Figure(id="f", title="t", sub="", doubt="x" * letters, doubt_counted="F1 22 of 30 cells")

    assert figure.doubt_folds == folds
    assert figure.doubted_in_short == ("⚠ Doubtful cells: F1 22 of 30 cells" if letters else "")


def test_texts_of_values_close_together_do_not_touch() -> None:
    """ "0.5", "0.525", "0.55" and "0.6" stood on one another."""
    axis = axes.plain_at_tested([0.5, 0.525, 0.55, 0.6, 1.25, 2.5, 2.55], "x")

    assert [text for _, text in axis.ticks] == ["0.5", "", "", "", "1.25", "", "2.55"]
    assert [value for value, _ in axis.ticks] == [0.5, 0.525, 0.55, 0.6, 1.25, 2.5, 2.55]


def test_shades_that_touch_leave_no_seam_and_those_of_one_look_are_one_path() -> None:
    """A side of 7.83 px was rounded by itself: a tenth of a pixel was missing between two cells, a white line across the map."""
    side = 501 / 64
    cells = "".join(f'<path d="M{side * i},0h{side}v{side}h-{side}Z" fill="#D4620F" fill-opacity="{0.5 if i < 60 else 0.9}" stroke-width="0"/>' for i in range(64))  # fmt: skip
    drawn = svg.tidy(f'<svg xmlns="http://www.w3.org/2000/svg" width="501" height="8"><g>{cells}</g></svg>', "u", "a map")  # fmt: skip

    paths = re.findall(r' d="([^"]+)"', drawn)
    assert len(paths) == 2
    edges = [(float(x), float(w)) for x, w in re.findall(r"M([\d.]+),0h([\d.]+)", "".join(paths))]
    assert len(edges) == 64
    assert all(round(x + w, 6) == after for (x, w), (after, _) in pairwise(edges))
