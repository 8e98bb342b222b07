"""What the page says of message passing is true of every pair, panel and size that it is said of."""

from __future__ import annotations

import re
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from parsers import imb
from pinsweep.cli import cli
from reports import numbers
from reports.charts import imb as charts
from reports.charts import titles
from reports.checks import audit
from reports.checks.doubts import of_results
from reports.draw.figure import Figure
from reports.numbers import formulas
from reports.numbers.formulas import Spread
from reports.numbers.series import collect
from reports.page.model import KeyNumber
from reports.report import build
from reports.report import overview as report_overview
from reports.results.load import load

FIXTURES = Path(__file__).parents[2] / "fixtures" / "imb"


def figures(path: Path, tool: str = "imb") -> list[Figure]:
    built = build.build(load([path]))
    return [f for s in built.sections for b in s.blocks if b.tool == tool for f in b.figures]


def key(path: Path) -> KeyNumber:
    (found,) = [n for n in build.build(load([path])).key_numbers if n.name == "MPI, one way"]
    return found


def times(zero: float, speed: float, *, step: float = 0.0) -> dict[int, float]:
    """µs of 0 B to 4 MiB at `speed` B/µs; from 8 B on `step` µs more."""
    return {0: zero} | {2**p: zero + (step if p > 2 else 0.0) + 2**p / speed for p in range(23)}


def pingpong(make: Any, path: Path, *runs: tuple[str, str, dict[int, float]]) -> Path:
    """Runs of (place, source, times)."""
    maker = make.Maker(path)
    for place, source, told in runs:
        options = {"benchmark": "PingPong", **({"source": source} if source else {})}
        maker.add(
            "p", "imb", options, make.imb_text(told), axes=("place", "source"), place=place, relation=place
        )
    written: Path = maker.write()
    return written


def test_a_title_over_several_panels_is_true_of_each(make: Any, tmp_path: Path) -> None:
    """730 ns is what the first of two texts says; the other one says 190."""
    path = pingpong(
        make, tmp_path / "r.db", ("", "a.txt", times(0.73, 9e3)), ("", "b.txt", times(0.19, 12e3))
    )

    assert figures(path)[0].title == "Message passing: time and bandwidth"
    number = key(path)
    assert (number.value, number.unit) == ("190", "ns")
    assert number.context == "0 B, not placed, source b.txt"


def test_a_key_number_is_of_all_repeats(make: Any, tmp_path: Path) -> None:
    """One repeat of three has no message without bytes: the number is that of 0 to 8 B, which all have."""
    told = times(0.5, 9e3)
    cut = {size: t for size, t in told.items() if size}
    path = pingpong(make, tmp_path / "r.db", *(("near", "", one) for one in (told, cut, told)))

    assert key(path).context == "up to 8 B (median), near"
    offers = figures(path)[0].numbers[0]
    assert offers.rows[0][offers.columns.index("0 B")] == "–"


def test_peaks_at_different_sizes_have_no_one_size(make: Any, tmp_path: Path) -> None:
    told = times(0.5, 9e3)
    runs = [told | {2**p: 2**p / 12e3} for p in (19, 20, 22)]
    path = pingpong(make, tmp_path / "r.db", *(("near", "", one) for one in runs))

    offers = figures(path)[0].numbers[0]
    assert offers.rows[0][offers.columns.index("at")] == "512 KiB to 4 MiB by run"


def test_a_peak_that_was_not_reached_is_told_as_rising(make: Any, tmp_path: Path) -> None:
    short = dict.fromkeys((0, 1, 2, 4, 8), 0.3)
    path = pingpong(make, tmp_path / "r.db", *(("near", "", short) for _ in range(3)))

    (found, *_) = figures(path)
    offers = found.numbers[0]
    assert found.title.endswith("at 8 B, still rising")
    assert [offers.rows[0][offers.columns.index(name)] for name in ("at", "n½")] == ["8 B, still rising", "–"]


@pytest.mark.parametrize(("first", "doubt"), [("1048576", ""), ("0", "P3")])
def test_few_repetitions_of_large_messages_are_no_doubt_of_small_ones(
    make: Any, tmp_path: Path, first: str, doubt: str
) -> None:
    text = re.sub(rf"(?m)^( +{first} +) 1000 ", r"\1   20 ", make.imb_text(times(1.5, 9e3)))
    path = make.Maker(tmp_path / "r.db").add("p", "imb", {}, text).write()

    assert key(path).doubt == doubt
    assert [f.level for f in audit.audit(load([path])) if f.id == "P3"] == ["warn" if doubt else "info"]


def test_a_time_printed_too_coarsely_is_doubted_and_no_other_of_its_curve(make: Any, tmp_path: Path) -> None:
    """Of 24 rows all had a mark, for 0 B were printed in steps of 2 %; beside it stood ±0 %."""
    path = pingpong(make, tmp_path / "r.db", *[("near", "", times(0.17, 12e3))] * 3)

    (offers, fits, listed) = (table.doubted for table in figures(path)[0].numbers)
    assert {row[0]: row[-1] for row in listed.rows if row[-1] != "–"} == {"0 B": "⚠ P3"}
    assert listed.rows[0][:3] == ("0 B", "⚠ 170", "–")
    assert [text for text in offers.rows[0] if text.startswith("⚠")] == ["⚠ 170 ns", "⚠ 170 ns", "⚠ P3"]
    assert [row[1] for row in fits.rows if row[-1] == "–"] == ["8 B to 4 MiB"]
    assert (key(path).doubt, key(path).spread) == ("P3", "±2.9 %, its last digit (n = 3)")
    doubted = {series.key.name.words: {v.doubt for v in series.values} for series in collect(load([path]), of_results(load([path])))}  # fmt: skip
    assert {words for words, doubts in doubted.items() if doubts != {""}} == {"PingPong time at 0 B", "α"}


def test_few_repetitions_are_those_of_their_sizes(make: Any, tmp_path: Path) -> None:
    text = re.sub(r"(?m)^( +(?:4|8|16) +) 1000 ", r"\1   20 ", make.imb_text(times(1.5, 9e3)))
    path = make.Maker(tmp_path / "r.db").add("p", "imb", {}, text).write()

    listed = figures(path)[0].numbers[-1].doubted
    assert [row[0] for row in listed.rows if row[-1] != "–"] == ["4 B", "8 B", "16 B"]
    assert key(path).doubt == ""


def test_a_table_does_not_tell_its_last_digit(make: Any, tmp_path: Path) -> None:
    """389 ns are no multiple of 10 ns."""
    text = "size t\n" + "".join(f"{size} {t:.3f}\n" for size, t in times(0.389, 9e3).items())
    (tmp_path / "t.txt").write_text(text, encoding="utf-8")
    path = tmp_path / "r.db"
    words = [
        "parse",
        "table",
        str(tmp_path / "t.txt"),
        "--tool",
        "imb",
        "--columns",
        "message_size, time[us]",
        "-o",
        str(path),
    ]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output

    (run,) = load([path]).good("imb")

    assert [f for f in audit.audit(load([path])) if f.id in ("P3", "G6")] == []
    assert {number.step for number in numbers.numbers(run)} == {None}


def test_one_statistic_for_both_sides(make: Any, tmp_path: Path) -> None:
    """490 ÷ 190 at 0 B is 2.58; over 0 to 8 B it is 2.7."""
    path = pingpong(
        make, tmp_path / "r.db", ("intra", "", times(0.19, 12e3)), ("inter", "", times(0.49, 6e3, step=0.05))
    )

    assert key(path).context == "0 B, intra; inter 2.58 ×"
    assert figures(path)[0].title.startswith("“inter” against “intra” costs 2.58 × in latency at 0 B and ")


def test_the_page_says_what_is_compared(make: Any, tmp_path: Path) -> None:
    """Peaks at different sizes: the median of the runs' peaks, not the peak of the medians."""
    runs = []
    for best in (2**18, 2**20, 2**22):
        told = times(0.19, 8e3)
        told[best] = best / 12e3
        runs.append(("intra", "", told))
    path = pingpong(make, tmp_path / "r.db", *runs)
    found = [
        number.value
        for run in load([path]).good("imb")
        for number in numbers.numbers(run)
        if number.name.metric == "peak bandwidth"
    ]
    offers, *_ = figures(path)[0].numbers

    assert statistics.median(found) == pytest.approx(12e9, rel=1e-3)
    assert offers.rows[0][3] == "12.0 GB/s"


@given(st.floats(100, 5000), st.floats(0.3, 3), st.floats(1e9, 1e11), st.floats(0.3, 3))
def test_a_crossing_is_told_beyond_the_rule_only(
    near: float, ratio: float, peak: float, share: float
) -> None:
    def once(value: float) -> Spread:
        return Spread(value, value, value, 1)

    ends = (("a", near, peak), ("b", near * ratio, peak * share))
    sides = {name: titles.Messages("0 B", once(time), once(rate)) for name, time, rate in ends}

    title = titles.pingpong(sides)

    if found := re.search(r"costs ([\d.]+) × in latency", title):
        assert max(ratio, 1 / ratio) > 1.1
        assert float(found[1]) >= 1.1
    if found := re.search(r"and ([\d.]+) % of bandwidth", title):
        assert float(found[1]) >= 10


def test_a_latency_of_other_sizes_is_not_compared() -> None:
    one, other = Spread(200, 200, 200, 1), Spread(900, 900, 900, 1)

    sides = {"a": titles.Messages("0 B", one, None), "b": titles.Messages("0 to 8 B", other, None)}
    assert titles.pingpong(sides) == titles.pingpong({})


def test_one_limit_for_one_line_and_for_two() -> None:
    """Two lines of which one is off by 45 % are not quotable."""
    sizes = [0, *(2**p for p in range(23))]
    wild = {n: (200.0 if n < 64 else 900.0 if n % 3 == 1 else 300.0) + n / 5 for n in sizes}
    found = formulas.fit(wild)

    assert found is not None
    assert all(branch.worst <= 0.15 for branch in found.quotable)


@pytest.mark.parametrize(
    ("fixture", "benchmark", "axis"),
    [("multi0_np4", "Multi-PingPong", "slowest rank"), ("nbc", "Ibcast", "with computation")],
)
def test_page_show_and_compare_take_one_time_and_say_whose(
    fixture: str, benchmark: str, axis: str, make: Any, tmp_path: Path
) -> None:
    text = (FIXTURES / f"{fixture}.out").read_text()
    path = make.Maker(tmp_path / "r.db").add("s", "imb", {"benchmark": benchmark}, text).write()
    (run,) = load([path]).good("imb")
    compared = {
        dict(n.name.part)["message_size"]: n.value
        for n in numbers.numbers(run)
        if n.name.kind == benchmark and n.name.unit == "ns" and "message_size" in dict(n.name.part)
    }

    (figure,) = [f for f in figures(path) if f.id.startswith(f"imb-{benchmark}-")]
    spec = figure.panels[0].wide
    drawn = {row["x"]: row["y"] for row in spec["datasets"]["points"]}

    assert axis in spec["encoding"]["y"]["title"]
    assert axis in figure.sub
    for size, value in drawn.items():
        assert value == pytest.approx(compared[size])


def test_every_panel_is_in_the_overview(make: Any, tmp_path: Path) -> None:
    path = pingpong(
        make, tmp_path / "r.db", ("", "a.txt", times(0.73, 9e3)), ("", "b.txt", times(0.19, 12e3))
    )
    times_of = charts.chapter(load([path])).access_times
    overview = report_overview.figure([replace(one, drawn=False) for one in times_of])

    assert overview
    assert [row[:2] for row in overview.numbers[0].rows] == [
        ("MPI 0 B, not placed, source b.txt", "190 ns"),
        ("MPI 0 B, not placed, source a.txt", "730 ns"),
    ]


def test_what_has_no_time_or_no_size_is_a_table(make: Any, tmp_path: Path) -> None:
    bands = (FIXTURES / "uniband_biband.out").read_text()
    barrier = """# Benchmarking Barrier
# #processes = 4
#---------------------------------------------------
 #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
       100000        90.11        91.24        90.80
"""
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "imb", {"np": 2}, bands)
    maker.add("b", "imb", {"np": 4}, barrier)

    uniband, biband, waited = figures(maker.write())

    assert (uniband.title, biband.title[:6]) == ("Uniband: bandwidth and message rate", "Biband")
    rows = {row[1]: row[2:] for row in uniband.tables[0].rows}
    assert rows["0 B"] == ("–", "1.93")
    assert rows["4 KiB"] == ("1.88", "0.460")
    assert uniband.tables[0].columns[2:] == ("Bandwidth, GB/s", "Message rate, M/s")
    assert waited.tables[0].columns[-1] == "Time, slowest rank, µs"
    assert waited.tables[0].rows[0][-1] == "91.2"


def test_a_fit_has_one_error_wherever_it_stands(make: Any, tmp_path: Path) -> None:
    """A caption said "off by up to 14 %" where the table had 13 % and 7.2 %."""
    curve = times(0.2, 12e3, step=0.15)
    told = {n: t * {2: 1.134, 2**19: 0.928}.get(n, 1) for n, t in curve.items()}

    (figure,) = figures(pingpong(make, tmp_path / "r.db", ("", "", told)))

    (fits,) = [table for table in figure.numbers if "Off by up to" in table.columns]
    quotable = [str(row[4]) for row in fits.rows if row[5] == "yes"]
    assert len(quotable) == 2
    assert re.findall(r"off by up to (\S+ %)", figure.note) == quotable


def test_sizes_that_no_line_fits_have_no_table_of_fits(make: Any, tmp_path: Path) -> None:
    (figure,) = figures(pingpong(make, tmp_path / "r.db", ("", "", {0: 0.2, 8: 0.2})))

    assert all(table.rows for table in figure.numbers)


def test_a_peak_is_one_number(make: Any, tmp_path: Path) -> None:
    """Three repeats that peak at different sizes: the median of their peaks, not the peak of the medians, in picture and words."""
    maker = make.Maker(tmp_path / "r.db")
    rates = {4096: (6.93, 6.1, 6.2), 8192: (6.3, 6.95, 6.4), 16384: (6.4, 6.3, 6.9)}  # GB/s
    for repeat in range(3):
        sizes = {size: size / own[repeat] / 1e3 for size, own in rates.items()}
        text = make.imb_text({0: 0.2, 8: 0.21, 1024: 0.5, **sizes})
        maker.add("s", "imb", {"benchmark": "PingPong"}, text)

    (figure,) = figures(maker.write())
    rate = figure.panels[1]
    (ring,) = rate.wide["datasets"]["rings"]

    assert "peak 6.93 GB/s" in rate.description
    assert (
        "Peaks, of each run its own, of several the median: 6.93 GB/s at 4 KiB to 16 KiB by run" in figure.sub
    )
    assert ring["y"] == pytest.approx(6.93e9 / 2, rel=2e-3)


def test_a_caption_speaks_of_a_ring_that_is_there(make: Any, tmp_path: Path) -> None:
    """Bandwidth that starts above half of its peak has no n½; a median of small messages is called that."""
    said = {}
    for name, sizes in {
        "flat": {16: 0.9, 32: 1.6, 64: 3.2},
        "small": {1: 0.2, 2: 0.2, 4: 0.3, 64: 0.5},
    }.items():
        path = tmp_path / f"{name}.db"
        make.Maker(path).add("s", "imb", {"benchmark": "PingPong"}, make.imb_text(sizes)).write()
        said[name] = figures(path)[0]

    for figure in said.values():
        assert ("Ring" in figure.sub) == bool(figure.panels[1].wide["datasets"]["rings"])
    assert "Ring" not in said["flat"].sub
    assert said["small"].title.startswith("A message of up to 8 B (median) takes 200 ns")


def repeats(make: Any, path: Path, *spoilt: dict[int, float]) -> Path:
    """Three repeats whose time does not depend on the size up to 512 B; of each some sizes are spoilt, in µs."""
    whole = times(1.0, 12e3)
    return pingpong(make, path, *(("", "", whole | own) for own in spoilt))


def offered(figure: Figure, table: int, column: str) -> list[str]:
    return [str(row[figure.numbers[table].columns.index(column)]) for row in figure.numbers[table].rows]


def test_a_protocol_changes_in_all_repeats_or_it_is_not_decided(make: Any, tmp_path: Path) -> None:
    """An outlier at 256 B of two of three repeats is in the median: "Protocol changes at 512 B" was said of it."""
    once = {256: 1.8}
    changes = {65536: 7.4, 131072: 9.0, 262144: 20.0}

    (some,) = figures(repeats(make, tmp_path / "a.db", once, once, {}))
    (every,) = figures(repeats(make, tmp_path / "b.db", changes, changes, changes))
    (none,) = figures(repeats(make, tmp_path / "c.db", {}, {}, {}))

    assert offered(some, 0, "Protocol changes at") == ["not decided"]
    assert offered(every, 0, "Protocol changes at") == ["128 KiB"]
    assert offered(none, 0, "Protocol changes at") == ["–"]


def test_no_fitted_bandwidth_is_far_above_the_measured(make: Any, tmp_path: Path) -> None:
    """Times that hardly grow up to 256 B fit any bandwidth: 1.79 TB/s stood beside 12 GB/s."""
    flat = {2**p: 1.0 + p * 1e-5 for p in range(9)} | {2**p: 3.0 + 2**p / 12e3 for p in range(9, 23)}

    (figure,) = figures(repeats(make, tmp_path / "a.db", flat, flat, flat))

    said = offered(figure, 1, "B")
    assert "not determined" in said
    assert all(text == "not determined" or float(text.split(" ")[0]) < 24 for text in said)
    assert "TB/s" not in figure.note


def test_p4_is_said_of_what_every_repeat_shows(make: Any, tmp_path: Path) -> None:
    slow = {4096: 2.5}

    some = audit.audit(load([repeats(make, tmp_path / "a.db", slow, slow, {})]))
    every = audit.audit(load([repeats(make, tmp_path / "b.db", slow, slow, slow)]))

    assert not [f for f in some if f.id == "P4"]
    ((_, text),) = [cell for f in every if f.id == "P4" for cell in f.cells]
    assert text == "8 KiB takes 1.68 µs, 4 KiB 2.50 µs, less in all 3 repeats"


def test_the_peak_of_two_repeats_is_one_number_in_figure_and_check(make: Any, tmp_path: Path) -> None:
    """Two repeats of 87.4 and 79.4 GB/s at 256 KiB: the median time gives 83.2 GB/s, the median of what they moved is 83.4."""
    fall = {2**p: 400.0 for p in range(20, 23)}
    path = repeats(make, tmp_path / "a.db", {262144: 3.0} | fall, {262144: 3.3} | fall)

    (figure,) = figures(path)
    ((_, text),) = [cell for f in audit.audit(load([path])) if f.id == "P4" for cell in f.cells]

    assert "bandwidth reaches 83.4 GB/s at 256 KiB" in figure.title
    assert "the highest median is 83.4 GB/s at 256 KiB" in text


def test_a_first_message_that_was_cold_is_not_quoted(make: Any, tmp_path: Path) -> None:
    """19.5 µs without a byte, 300 ns with one: what warmed up is no latency of the pair, and is said to be cold."""
    told = times(0.3, 9e3) | {0: 19.5}
    path = pingpong(make, tmp_path / "r.db", ("near", "", told))
    (figure,) = figures(path)

    assert figure.title.startswith("A message of 1 B takes 300 ns; ")
    assert "0 B took 19.5 µs (near), longer than larger messages: not quoted." in figure.sub
    assert (key(path).value, key(path).context) == ("300", "1 B, near")
    assert figure.numbers[0].rows[0][1:3] == ("19.5 µs", "300 ns")
    assert numbers.headline("imb", *(run.parsed for run in load([path]).good("imb"))).startswith(
        "1 B in 300 ns"
    )


def test_a_cold_start_is_said_of_its_own_panel(make: Any, tmp_path: Path) -> None:
    """ "0 B took 19.5 µs (near)" was of one of two curves of this name."""
    maker = make.Maker(tmp_path / "r.db")
    for env, told in (("x", times(0.3, 9e3)), ("y", times(0.3, 9e3) | {0: 19.5})):
        options = {"benchmark": "PingPong", "env": env}
        maker.add("s", "imb", options, make.imb_text(told), place="near", axes=("env",))

    (figure, *_) = figures(maker.write())

    assert "0 B took 19.5 µs (near, env y), longer" in figure.sub


def test_a_collective_that_began_cold_says_so(make: Any, tmp_path: Path) -> None:
    """Its caption was silent on a first time of 50 x those that follow; the value of 0 B stood at the foot of the axis, far from its dot."""
    head = (
        "# Benchmarking Bcast\n# #processes = 2\n #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
    )
    rows = "".join(f" {n} 9 {t} {t} {t}\n" for n, t in ((0, 20.5), (4, 0.4), (8, 0.41), (16, 0.43)))
    maker = make.Maker(tmp_path / "r.db")
    maker.add(
        "s", "imb", {"benchmark": "Bcast"}, f"#    Intel(R) MPI Benchmarks 2019\n{head}{rows}\n", place="near"
    )

    figure, *_ = figures(maker.write())

    assert "0 B took 20.5 µs (near, 2 ranks), longer than larger messages: not quoted." in figure.sub
    (value,) = figure.panels[0].wide["datasets"]["zero"]
    assert (value["text"], value["dy"]) == ("20.5 µs", 17)


def test_a_first_message_is_cold_where_the_repeats_say_so(make: Any, tmp_path: Path) -> None:
    told = times(0.3, 9e3)
    one, every = ([("near", "", told | {0: t}) for t in own] for own in ((19.5, 0.29, 0.29), (19.5, 12, 0.4)))

    assert key(pingpong(make, tmp_path / "one.db", *one)).context.startswith("0 B, near")
    assert key(pingpong(make, tmp_path / "every.db", *every)).context.startswith("1 B, near")


def test_a_cold_line_of_a_collective_does_not_stand_for_it() -> None:
    head = "# Benchmarking Allreduce\n# #processes = 2\n #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
    told = [
        imb.parse(f"{head} 4 9 {t} {t} {t}\n 8 9 0.41 0.43 0.42\n 16 9 0.44 0.46 0.45\n")
        for t in (20.5, 0.4, 0.4)
    ]

    assert numbers.headline("imb", told[0]) == "Allreduce 8 B in 430 ns (slowest rank) and 2 more"
    assert numbers.headline("imb", *told) == "Allreduce 4 B in 400 ns (slowest rank) and 2 more"
    assert numbers.leading("imb", told[0]) == ("ns", pytest.approx(430))
    assert [value for _, value in numbers.leaders("imb", *told)] == pytest.approx([20500, 400, 400])


@pytest.mark.parametrize(("fixture", "line"), [("multi0_np4", "2 groups of 2 ranks"), ("multi1_np4", "2 groups of 2 ranks, group 1")])  # fmt: skip
def test_groups_that_ran_at_once_are_said(make: Any, tmp_path: Path, fixture: str, line: str) -> None:
    """Two pairs at once are not one pair: "2 ranks" said the same of both."""
    maker = make.Maker(tmp_path / "r.db")
    maker.add("p", "imb", {"benchmark": "PingPong"}, (FIXTURES / f"{fixture}.out").read_text())

    drawn = figures(maker.write())
    names = [
        text
        for figure in drawn
        for table in figure.numbers
        for text in (*table.columns, *(row[0] for row in table.rows))
    ]
    assert any(line in name for name in names), names
    assert not any(
        re.search(r"(?<!groups of )\b2 ranks", name) for name in names if line.partition(",")[0] in name
    )


def test_a_collective_without_bytes_is_told_and_takes_none_of_the_axis(make: Any, tmp_path: Path) -> None:
    """IMB's Allgather of 0 B returns at once: the axis went over eight decades for it."""
    head = (
        "# Benchmarking Allgather \n# #processes = 4 \n#"
        + "-" * 60
        + "\n       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
    )
    rows = [
        (0, 0.06, 0.11, 0.08),
        *((2**p, 25.0 + 2**p / 9, 27.0 + 2**p / 9, 26.0 + 2**p / 9) for p in range(20)),
    ]
    text = make.imb_text({}).split("#" + "-" * 51 + "\n# Benchmarking")[0] + head
    text += "".join(f"{size:13d} {1000:12d} {low:12.2f} {high:12.2f} {mean:12.2f}\n" for size, low, high, mean in rows)  # fmt: skip
    maker = make.Maker(tmp_path / "r.db")
    maker.add("c", "imb", {"benchmark": "Allgather"}, text + "\n\n# All processes entering MPI_Finalize\n\n")
    (found,) = figures(maker.write())
    (panel,) = found.panels
    low, _ = panel.wide["encoding"]["y"]["scale"]["domain"]
    assert low > 1
    assert panel.wide["datasets"]["zero"] == panel.wide["datasets"]["slot"] == []
    assert " 0 B, not drawn: 110 ns." in found.sub


def test_columns_far_apart_have_units_of_their_own(make: Any, tmp_path: Path) -> None:
    """A network's times and rates stood in the units of shared memory: "5 830 µs", "0.000000171 GB/s", on an axis from "0.000001"."""
    maker = make.Maker(tmp_path / "r.db")
    for place, slow in (("same package", 1), ("network", 20_000)):
        text = make.imb_text({1: 0.2 * slow, 1024: 0.4 * slow, 2**22: 100.0 * slow})
        maker.add("s", "imb", {"benchmark": "PingPong"}, text, place=place, axes=("place",))

    (figure,) = figures(maker.write())

    table = figure.numbers[-1]
    assert [column.rpartition(", ")[2] for column in table.columns[1:]] == ["ns", "ms", "GB/s", "MB/s"]
    assert table.rows[0] == ("1 B", "200", "4.00", "0.00500", "250 B/s")
    assert figure.panels[1].wide["encoding"]["y"]["title"] == "Bandwidth (log scale)"


def test_columns_alike_share_a_unit(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for place, slow in (("same package", 1), ("other package", 3)):
        text = make.imb_text({1: 0.6 * slow, 1024: 0.8 * slow, 2**20: 100.0 * slow})
        maker.add("s", "imb", {"benchmark": "PingPong"}, text, place=place, axes=("place",))

    (figure,) = figures(maker.write())

    assert len({column.rpartition(", ")[2] for column in figure.numbers[-1].columns[1:3]}) == 1


def test_a_rate_of_two_repeats_is_that_of_the_picture(make: Any, tmp_path: Path) -> None:
    """4 B took 9.18 and 94.5 µs: the picture had 239 kB/s, the median of both rates, the table the 77.2 kB/s of the median time."""
    maker = make.Maker(tmp_path / "r.db")
    for slow in (9.18, 94.5):
        maker.add("s", "imb", {"benchmark": "PingPong"}, make.imb_text({1: 0.38, 4: slow, 1024: 0.5}))

    (figure,) = figures(maker.write())

    (point,) = [row for row in figure.panels[1].wide["datasets"]["points"] if row["x"] == 4]
    assert point["y"] == pytest.approx(2.39e5, rel=0.01)
    (row,) = [row for row in figure.numbers[-1].rows if row[0] == "4 B"]
    assert row[-1] == "42.3 to 436 kB/s"
