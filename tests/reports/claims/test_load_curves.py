"""The picture of loaded latency: nothing is cut unsaid, what the memory could do is what is known of it, and a stamp is true."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.model import Group
from parsers.mlc import TRAFFIC_TEXT
from reports.charts._mlc_curves import read_share
from reports.draw import label_placement, vega
from reports.draw.figure import Figure
from reports.draw.vega import Spec
from reports.report import build
from reports.results import load

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hwloc"
DELAYS = (20000, 9000, 3500, 1700, 1000, 500, 200, 100, 50, 0)


def rows(peak: float, floor: float, top: float) -> list[tuple[int, float, float]]:
    """A curve: bandwidth rises to `peak` (MB/s), latency from `floor` to `top` (ns), most of it at the last two rows."""
    n = len(DELAYS)
    latencies = [floor + 0.01 * i for i in range(n - 2)] + [1.6 * floor if top > 1.6 * floor else top, top]
    return [(d, latencies[i], peak * (0.02 if i < 4 else (i + 1) / n)) for i, d in enumerate(DELAYS)]


def two_nodes(make: Any, path: Path, dimms: str = "") -> Any:
    """A maker of a machine of two packages, with the places "local" and "remote" of node 0's CPUs."""
    maker = make.Maker(path)
    maker.topology = (FIXTURES / "two-socket-smt.xml").read_text()
    maker.facts = {**maker.facts, "dimms": dimms}
    machine = topology_from_text(maker.topology)
    near, far = dict.fromkeys(core.numa_node for core in machine.cores)
    cpus = tuple(core.cpus[0] for core in machine.cores if core.numa_node == near)
    maker.groups = {
        place: (Group(cpus=cpus, membind=(node,)),) for place, node in (("local", near), ("remote", far))
    }
    return maker


def add(maker: Any, make: Any, curve: Sequence[tuple[int, float, float]], place: str = "local") -> None:
    options = {"mode": "loaded_latency", "W": "R"}
    maker.add("loaded", "mlc", options, make.mlc_text(curve), axes=("place",), place=place, relation=place)


def figure(path: Path) -> Figure:
    built = build.build(load.load([path]))
    (found,) = [f for s in built.sections for b in s.blocks for f in b.figures if f.id.startswith("loaded-")]
    return found


def drawn(found: Figure, name: str) -> list[dict[str, Any]]:
    (panel,) = found.panels
    rows: list[dict[str, Any]] = panel.wide["datasets"][name]
    return rows


def domain(spec: Spec, axis: str) -> tuple[float, float]:
    low, high = spec["encoding"][axis]["scale"]["domain"]
    return low, high


def texts(found: Figure, name: str = "notes") -> list[str]:
    return [str(row["text"]) for row in drawn(found, name)]


@pytest.mark.parametrize("top", [150.0, 310.0, 399.0, 2000.0])
def test_latency_begins_at_zero_and_no_point_is_cut_unsaid(make: Any, tmp_path: Path, top: float) -> None:
    maker = two_nodes(make, tmp_path / "r.db")
    curve = rows(60e3, 80.0, top)
    add(maker, make, curve)

    found = figure(maker.write())
    (panel,) = found.panels
    low, high = domain(panel.wide, "y")

    assert low == 0
    assert high >= (320 if top > 300 else 160), (
        "four times the unloaded latency, or all points and its double"
    )
    assert high < 1.5 * max(top, 160), "no empty half"
    inside = [r for name in ("points", "past") for r in drawn(found, name) if "tip" in r]
    above = drawn(found, "above")
    assert len(inside) + len(above) == len(curve)
    assert {r["y"] for r in above} <= {high}
    assert all(low <= r["y"] <= high for r in inside)
    said = re.search(r"(\d+) points? lies? above the axis \(▲\), up to ([\d.\u202f]+) (ns|µs)", found.sub)
    assert bool(said) == bool(above)
    if said:
        assert int(said[1]) == len(above)
        assert float(said[2]) * {"ns": 1, "µs": 1e3}[said[3]] >= top
    numbers = [text for table in found.numbers for row in table.rows for text in row]
    assert any(str(int(top)) in text.replace("\u202f", "") for text in numbers)


@pytest.mark.parametrize("top", [100.0, 140.0, 155.0, 250.0])
@pytest.mark.parametrize("wobble", [0.0, 0.4])
def test_no_text_of_a_curve_lies_on_another_or_on_its_points(
    make: Any, tmp_path: Path, top: float, wobble: float
) -> None:
    """ "2 × unloaded" stood on "latency never doubled", and both on bars."""
    maker = two_nodes(make, tmp_path / "r.db")
    for by in (1 - wobble, 1.0, 1 + wobble):
        add(maker, make, [(d, ns * by, mb) for d, ns, mb in rows(60e3, 90.0, top)])

    (panel,) = figure(maker.write()).panels
    for spec in (panel.wide, panel.narrow):
        (x_low, x_high), (y_low, y_high) = domain(spec, "x"), domain(spec, "y")

        def at(x: float, y: float, spec: Spec = spec, x_low: float = x_low, x_high: float = x_high, y_low: float = y_low, y_high: float = y_high) -> tuple[float, float]:  # fmt: skip
            return (x - x_low) / (x_high - x_low) * spec["width"], (
                1 - (y - y_low) / (y_high - y_low)
            ) * spec["height"]

        data = spec["datasets"]
        boxes = [label_placement.box_of(row["x_px"], row["y_px"], row["text"]) for row in data["stamps"]]
        for note in data["notes"]:
            (x, y), right = at(note["x"], note["y"]), note["align"] == "right"
            wide = label_placement.text_width(note["text"], 11.5) if right else 0
            boxes.append(label_placement.box_of(x + note["dx"] - wide, y + note["dy"], note["text"], 11.5))
        assert len(boxes) >= 2
        assert not [pair for pair in itertools.combinations(boxes, 2) if label_placement.touch(*pair)]
        points = [at(row["x"], row["y"]) for row in data["points"]]
        assert not [p for p in points for box in boxes if box[0] < p[0] < box[2] and box[1] < p[1] < box[3]]


@pytest.mark.parametrize(
    ("remote", "ends_at"),
    [((250.0, 400.0), 400), ((150.0, 250.0), 320), ((250.0, 2000.0), 625), ((400.0, 430.0), 430)],
)
def test_the_axis_goes_to_four_times_the_lowest_unloaded_latency(
    make: Any, tmp_path: Path, remote: tuple[float, float], ends_at: float
) -> None:
    """It went to four times the highest: to 1000 ns for curves that end at 400. A slower curve has its end or its own knee on it."""
    maker = two_nodes(make, tmp_path / "r.db")
    add(maker, make, rows(60e3, 80.0, 310.0))
    add(maker, make, rows(30e3, *remote), "remote")

    _, high = domain(figure(maker.write()).panels[0].wide, "y")

    assert ends_at <= high <= 1.1 * ends_at


def test_a_bar_that_goes_beyond_the_axis_is_told(make: Any, tmp_path: Path) -> None:
    maker = two_nodes(make, tmp_path / "r.db")
    for top in (150.0, 160.0, 900.0):
        add(maker, make, rows(60e3, 80.0, top))

    found = figure(maker.write())

    assert drawn(found, "above") == []
    assert "1 bar ends above the axis, up to 900 ns." in found.sub


def test_a_line_that_leaves_the_picture_comes_back_where_it_left(make: Any, tmp_path: Path) -> None:
    maker = two_nodes(make, tmp_path / "r.db")
    spike = [(d, 900.0 if d == 500 else latency, rate) for d, latency, rate in rows(60e3, 80.0, 150.0)]
    add(maker, make, spike)

    found = figure(maker.write())
    edges = [r for r in drawn(found, "points") if r.get("edge")]

    assert [r["y"] for r in edges] == [domain(found.panels[0].wide, "y")[1]] * 2
    assert edges[0]["segment"] != edges[1]["segment"]
    assert all("tip" not in r for r in edges)
    assert [r["delay"] for r in drawn(found, "above")] == [500]


def test_the_knee_is_ringed_and_its_value_is_that_of_the_table(make: Any, tmp_path: Path) -> None:
    maker = two_nodes(make, tmp_path / "r.db")
    add(maker, make, rows(60e3, 80.0, 310.0))

    found = figure(maker.write())
    (ring,) = drawn(found, "rings")
    (table,) = found.tables

    assert ring["y"] == pytest.approx(2 * 80.0, rel=0.01)
    assert f"{ring['x']:.1f}" == table.rows[0][table.columns.index("GB/s within 2 × unloaded")]
    assert f"{ring['x']:.1f} GB/s" in texts(found)


def test_uprights_are_what_is_known_of_that_place(make: Any, tmp_path: Path) -> None:
    """Eight modules of 2666 MT/s move 170.6 GB/s, those of one of two nodes half of it. STREAM ran on both memories."""
    maker = two_nodes(make, tmp_path / "r.db", "8 × 16 GB DDR4 2666 MT/s")
    for place, top, rate in (("local", 60e3, 59e3), ("remote", 30e3, 29e3)):
        add(maker, make, rows(top, 80.0 if place == "local" else 139.0, 500.0), place)
        for n in (2, 4):
            stream = make.stream_text(rate * n / 4, n)
            maker.add(
                "s", "stream", {"threads": n}, stream, axes=("place", "threads"), place=place, relation=place
            )

    found = figure(maker.write())

    assert [panel.title for panel in found.panels] == [""]
    assert [key.name for key in found.key] == ["local", "remote"]
    assert {"theoretical 85.3", "STREAM Triad local 59.0", "STREAM Triad remote 29.0"} <= set(texts(found))
    (table,) = [t for t in found.numbers if "held against" in t.caption]
    assert [(row[1], row[2], row[3]) for row in table.rows] == [
        ("85.3", "local", "70.3 %"), ("59.0", "local", "102 %"), ("29.0", "remote", "103 %"),
    ]  # fmt: skip
    assert "even share" in table.rows[0][0]


def test_nothing_stands_upright_where_nothing_is_known(make: Any, tmp_path: Path) -> None:
    maker = two_nodes(make, tmp_path / "r.db")
    add(maker, make, rows(60e3, 80.0, 310.0))
    maker.add(
        "s",
        "stream",
        {"threads": 4},
        make.stream_text(29e3, 4),
        axes=("place",),
        place="remote",
        relation="remote",
    )

    found = figure(maker.write())

    assert not any("theoretical" in text or "STREAM" in text for text in texts(found))
    assert "Upright" not in found.sub
    assert len(found.numbers) == 2


@pytest.mark.parametrize(
    ("rate", "stamp"),
    [(60e3, "never saturated: STREAM Triad with 8 threads moves 60.0 GB/s here"), (10.8e3, "latency never doubled"), (0, "latency never doubled")],
)  # fmt: skip
def test_a_load_that_could_not_is_stamped(make: Any, tmp_path: Path, rate: float, stamp: str) -> None:
    maker = two_nodes(make, tmp_path / "r.db")
    add(maker, make, rows(10.6e3, 80.0, 120.0))
    if rate:
        maker.add("s", "stream", {"threads": 8}, make.stream_text(rate, 8), place="local", relation="local")

    found = figure(maker.write())

    assert texts(found, "stamps") == [stamp]
    assert stamp[1:] in found.panels[0].description
    narrow = found.panels[0].narrow
    (row,) = narrow["datasets"]["stamps"]
    assert row["text"] in (stamp, "never saturated")  # the long one went out of a phone's screen
    assert row["x_px"] + label_placement.text_width(row["text"]) * 1.05 <= narrow["width"]
    assert drawn(found, "rings") == []


def test_no_stamp_is_of_a_triad_from_the_caches(make: Any, tmp_path: Path) -> None:
    """ "never saturated: Triad moves 62 GB/s here" was of arrays of 64 KiB. What the largest arrays give is the upright, and proves nothing."""
    maker = two_nodes(make, tmp_path / "r.db")
    add(maker, make, rows(10.6e3, 80.0, 120.0))
    for elements, rate in ((8_000, 62e3), (40_000, 30e3)):
        text = make.stream_text(rate, 8).replace("20000000", str(elements))
        maker.add("s", "stream", {"threads": 8, "array_size": elements}, text, axes=("array_size",), place="local", relation="local")  # fmt: skip

    found = figure(maker.write())

    assert texts(found, "stamps") == ["latency never doubled"]
    assert [row[1] for row in found.numbers[1].rows if "STREAM" in row[0]] == ["30.0"]


@pytest.mark.parametrize(("top", "stamps"), [(120.0, ["latency never doubled"]), (200.0, [])])
def test_no_stamp_denies_what_a_hollow_curve_shows(make: Any, tmp_path: Path, top: float, stamps: list[str]) -> None:  # fmt: skip
    maker = two_nodes(make, tmp_path / "r.db")
    add(maker, make, rows(10.6e3, 80.0, 120.0))
    writes = make.mlc_text(rows(9e3, 80.0, top), traffic="6")
    maker.add("loaded", "mlc", {"mode": "loaded_latency", "W": "6"}, writes, axes=("W",), place="local", relation="local", status="disturbed")  # fmt: skip

    found = figure(maker.write())

    assert texts(found, "stamps") == stamps
    assert found.title.startswith("Latency did not double" if stamps else "Latency under load")


def test_the_table_of_a_family_says_how_many_of_its_mixes_were_never_quiet(make: Any, tmp_path: Path) -> None:
    """ "Lowest to highest over the mixes" was of 4 of 5."""
    maker = two_nodes(make, tmp_path / "r.db")
    for mix, status in (("R", "ok"), ("5", "ok"), ("6", "disturbed")):
        text, options = (
            make.mlc_text(rows(9e3, 80.0, 120.0), traffic=mix),
            {"mode": "loaded_latency", "W": mix},
        )
        maker.add("loaded", "mlc", options, text, axes=("W",), place="local", relation="local", status=status)

    (caption,) = [t.caption for t in figure(maker.write()).tables if t.caption.startswith("The family")]

    assert caption.endswith("; without the mixes that were never quiet (D1), 1 of 3")


@pytest.mark.parametrize(("idle", "quoted"), [(80.0, True), (300.0, False)])
def test_an_unloaded_latency_that_more_load_undercuts_is_no_key_number(make: Any, tmp_path: Path, idle: float, quoted: bool) -> None:  # fmt: skip
    """ "Memory, idle 652 ns" led a page whose check M1 said to leave these rows out of what is quoted."""
    maker = two_nodes(make, tmp_path / "r.db")
    curve = rows(10.6e3, 80.0, 120.0)
    add(maker, make, [*((delay, idle, rate) for delay, _, rate in curve[:4]), *curve[4:]])

    page = build.build(load.load([maker.write()]))

    assert ("Memory, idle" in {number.name for number in page.key_numbers}) is quoted
    assert any(number.name.startswith("Memory, ") for number in page.key_numbers), "its peak"


def test_of_disturbed_reads_it_is_said_which_unloaded_latency_stands_for_them(make: Any, tmp_path: Path) -> None:  # fmt: skip
    """ "Memory, idle" was that of a mix with writes, without a word of the reads."""
    maker = two_nodes(make, tmp_path / "r.db")
    for mix, idle, status in (("R", 110.0, "disturbed"), ("5", 80.0, "ok")):
        text = make.mlc_text(rows(9e3, idle, idle + 40.0), traffic=mix.replace("R", ""))
        options = {"mode": "loaded_latency", "W": mix}
        maker.add("loaded", "mlc", options, text, axes=("W",), place="local", relation="local", status=status)

    (number,) = [n for n in build.build(load.load([maker.write()])).key_numbers if n.name == "Memory, idle"]

    assert number.value.startswith("80")
    assert "unloaded latency, R:W 1:1 (read only: disturbed)" in number.context.replace("\u00a0", " ")


def test_reads_that_are_slower_than_under_more_load_are_not_called_disturbed(
    make: Any, tmp_path: Path
) -> None:
    """ "(read only: disturbed)" stood beside a mix that had been disturbed more, and was quoted."""
    maker = two_nodes(make, tmp_path / "r.db")
    for mix, idle in (("R", 190.0), ("5", 80.0)):
        curve = [
            (delay, idle if i < 4 else ns, rate) for i, (delay, ns, rate) in enumerate(rows(9e3, 80.0, 120.0))
        ]
        text = make.mlc_text(curve, traffic=mix.replace("R", ""))
        maker.add("loaded", "mlc", {"mode": "loaded_latency", "W": mix}, text, axes=("W",), place="local", relation="local")  # fmt: skip

    (number,) = [n for n in build.build(load.load([maker.write()])).key_numbers if n.name == "Memory, idle"]

    assert "R:W 1:1 (read only: slower than under more load)" in number.context.replace("\u00a0", " ")


def test_no_stamp_stands_above_a_curve_that_crosses_twice_its_unloaded_latency(
    make: Any, tmp_path: Path
) -> None:
    """ "latency never doubled" stood there: the row that is slower moves less than half of the peak."""
    maker = two_nodes(make, tmp_path / "r.db")
    weak = rows(10.6e3, 80.0, 120.0)
    add(maker, make, [*weak[:3], (1700, 250.0, 0.3 * 10.6e3), *weak[4:]])

    found = figure(maker.write())

    assert drawn(found, "stamps") == []
    assert "ever doubled" not in found.panels[0].description
    (offers, *_) = found.tables
    assert offers.rows[0][offers.columns.index("GB/s within 2 × unloaded")] == "–"
    assert "so that its curve does not tell" in offers.caption
    assert found.title == "Latency under load"


def test_a_load_that_doubled_the_latency_has_no_stamp(make: Any, tmp_path: Path) -> None:
    maker = two_nodes(make, tmp_path / "r.db")
    add(maker, make, rows(10.6e3, 80.0, 310.0))
    maker.add("s", "stream", {"threads": 8}, make.stream_text(60e3, 8), place="local", relation="local")

    assert drawn(figure(maker.write()), "stamps") == []


def test_places_of_several_mixes_keep_their_panels(make: Any, tmp_path: Path) -> None:
    maker = two_nodes(make, tmp_path / "r.db")
    for place in ("local", "remote"):
        for traffic in ("", "6"):
            options = {"mode": "loaded_latency", "W": traffic or "R"}
            text = make.mlc_text(rows(60e3, 80.0, 310.0), traffic=traffic)
            maker.add("loaded", "mlc", options, text, axes=("place", "W"), place=place, relation=place)

    found = figure(maker.write())

    assert [panel.title for panel in found.panels] == ["local", "remote"]
    assert [key.name for key in found.key] == ["read only", "write only, non-temporal"]


# --- the family of curves of several mixes -----------------------------------------------------------------


def family(make: Any, path: Path, dimms: str = "", *, top: float = 310.0) -> Figure:
    """Reads, 3:1, 1:1 (non-temporal) and writes; past its peak a mix loses a tenth more the more it writes."""
    maker = two_nodes(make, path, dimms)
    for i, (traffic, peak) in enumerate((("6", 40e3), ("R", 60e3), ("8", 45e3), ("9", 52e3))):
        curve = rows(peak, 80.0 + i, top + 10 * i)
        curve[-1] = (0, curve[-1][1] + 5, peak * (1 - {"R": 0, "9": 0.1, "8": 0.2, "6": 0.3}[traffic]))
        curve[-2] = (50, curve[-2][1], peak)
        options = {"mode": "loaded_latency", "W": traffic}
        text = make.mlc_text(curve, traffic="" if traffic == "R" else traffic)
        maker.add("loaded", "mlc", options, text, axes=("W",), place="local", relation="local")
    return figure(maker.write())


def four(found: Figure) -> dict[str, str]:
    (table,) = [t for t in found.tables if "The family" in t.caption]
    return dict(zip(table.columns, table.rows[0], strict=True))


def test_the_family_is_in_the_order_of_its_reads_and_no_curve_is_dropped(make: Any, tmp_path: Path) -> None:
    found = family(make, tmp_path / "r.db")
    names = ["read only", "R:W 3:1, non-temporal", "R:W 1:1, non-temporal", "write only, non-temporal"]

    assert [key.name for key in found.key] == names
    assert [key.colour for key in found.key] == list(vega.ORDERED[:4])
    dots = [r["series"] for name in ("points", "past", "above") for r in drawn(found, name) if "tip" in r]
    assert {name: dots.count(name) for name in names} == dict.fromkeys(names, len(DELAYS))


def test_the_four_numbers_of_a_family_are_those_of_its_rows(make: Any, tmp_path: Path) -> None:
    found = family(make, tmp_path / "r.db", "8 × 16 GB DDR4 2666 MT/s")
    told = four(found)
    (offers,) = [t for t in found.tables if "What each" in t.caption]
    within = [float(row[offers.columns.index("GB/s within 2 × unloaded")]) for row in offers.rows]

    assert told["Unloaded, ns"] == "80.0 to 83.0"
    assert told["Longest latency, ns"] == "315 to 345"
    low, high = map(float, told["Saturated, GB/s"].split(" to "))
    assert (low, high) == (min(within), 60.0)
    shares = [float(share) for share in told["Saturated, %"].split(" to ")]
    assert shares == pytest.approx([100 * low / 85.312, 100 * high / 85.312], abs=0.1)
    assert told["of"] == "theoretical, 85.3 GB/s"
    assert told["Falls under more load"] == "30.0 %"


def test_without_modules_the_family_is_held_against_the_best_measured(make: Any, tmp_path: Path) -> None:
    told = four(family(make, tmp_path / "r.db"))

    assert told["of"] == "best measured: read only, 60.0 GB/s"
    assert told["Saturated, %"].endswith(" to 100")


def test_a_family_that_did_not_double_has_no_saturated_range(make: Any, tmp_path: Path) -> None:
    told = four(family(make, tmp_path / "r.db", top=130.0))

    assert (told["Saturated, GB/s"], told["Saturated, %"]) == ("–", "–")


@pytest.mark.parametrize("traffic", sorted(TRAFFIC_TEXT))
def test_every_mix_of_mlc_has_a_share_of_reads(traffic: str) -> None:
    share = read_share(traffic)

    assert share is not None
    assert 0 <= share <= 1


def test_of_many_knees_the_ends_say_their_value(make: Any, tmp_path: Path) -> None:
    """Of more than three mixes no ring had a value beside it."""
    maker = two_nodes(make, tmp_path / "r.db")
    for mix, peak in (("R", 60e3), ("2", 50e3), ("3", 40e3), ("5", 30e3)):
        text = make.mlc_text(rows(peak, 80.0, 250.0), traffic="" if mix == "R" else mix)
        maker.add("loaded", "mlc", {"mode": "loaded_latency", "W": mix}, text, axes=("W",), place="local", relation="local")  # fmt: skip

    found = figure(maker.write())

    said = [text for text in texts(found) if text.endswith("GB/s")]
    offers = found.tables[0]
    doubles = sorted(float(row[offers.columns.index("GB/s within 2 × unloaded")]) for row in offers.rows)
    assert len(drawn(found, "rings")) == 4
    assert said  # as far as there is room
    assert {*said} <= {f"{v:.1f} GB/s" for v in (doubles[0], doubles[-1])}


def test_mixes_are_called_one_thing_everywhere(make: Any, tmp_path: Path) -> None:
    """The strip of what axes do called them 6 and R, beside a legend of "write only" and "read only"."""
    maker = two_nodes(make, tmp_path / "r.db")
    for place, mix, peak in (
        ("local", "R", 60e3),
        ("local", "6", 30e3),
        ("remote", "R", 40e3),
        ("remote", "6", 20e3),
    ):
        text = make.mlc_text(rows(peak, 80.0, 250.0), traffic="" if mix == "R" else mix)
        maker.add("loaded", "mlc", {"mode": "loaded_latency", "W": mix}, text, axes=("W", "place"), place=place, relation=place)  # fmt: skip

    assert "2.00 × better by mix from write nt to read only" in figure(maker.write()).axes


def test_panels_far_apart_share_no_axis_of_bandwidth(make: Any, tmp_path: Path) -> None:
    """A curve that ends at 7.6 GB/s was an upright at the left of an axis to 125."""
    maker = two_nodes(make, tmp_path / "r.db")
    for stride, most in ((64, 110e3), (256, 7.6e3)):
        text = make.mlc_text(rows(most, 80.0, 200.0), stride=stride)
        maker.add("loaded", "mlc", {"mode": "loaded_latency", "l": stride}, text, axes=("l",), place="local", relation="local")  # fmt: skip

    found = figure(maker.write())

    ends = [panel.wide["encoding"]["x"]["scale"]["domain"][1] for panel in found.panels]
    assert max(ends) > 10 * min(ends)
    assert len({panel.wide["encoding"]["y"]["scale"]["domain"][1] for panel in found.panels}) == 1
    assert "Each panel has its own axis of bandwidth." in found.sub
