"""What each axis of a sweep does, and small multiples where one panel would be crowded."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.charts import effects
from reports.charts.command import chapter
from reports.draw.figure import Figure
from reports.numbers import formulas
from reports.results.load import load

LEVELS = {"alg": ("fast", "mid", "slow"), "mode": ("x", "y"), "size": (1, 64, 4096), "threads": (1, 2, 4, 8)}
FACTORS = {"fast": 2.0, "mid": 1.5, "slow": 1.0, "x": 1.0, "y": 1.004}


def rate(alg: str, mode: str, size: int, threads: int) -> float:
    return 100 * FACTORS[alg] * FACTORS[mode] * (1 if size == 1 else 1.4 if size == 64 else 1.75) * threads


def figure(
    make: Any,
    path: Path,
    *,
    better: str = "higher",
    axes: tuple[str, ...] = tuple(LEVELS),
    value: Callable[..., float] = rate,
    left_out: tuple[Any, ...] = (),
) -> Figure:
    maker = make.Maker(path)
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": better}}
    fixed = {name: levels[0] for name, levels in LEVELS.items() if name not in axes}
    for levels in itertools.product(*(LEVELS[name] for name in axes)):
        own = dict(zip(axes, levels, strict=True))
        if levels == left_out:
            continue
        for wobble in (0.99, 1.0, 1.01):
            text = f"rate {value(**{**fixed, **own}) * wobble:.2f} MB/s\n"
            maker.add("sort", "command", {"command": "s", "metrics": metrics, **own}, text, axes=axes)
    (drawn,) = chapter(load([maker.write()])).figures
    return drawn


def test_the_title_tells_the_effects_that_are_beyond_the_repeats(make: Any, tmp_path: Path) -> None:
    drawn = figure(make, tmp_path / "r.db")

    assert drawn.title == "rate: 8.00 × better by threads, 2.00 × by alg, 1.75 × by size"  # mode: 0.4 %
    table = drawn.numbers[0]
    rows = {(row[0], row[1]): row[2:] for row in table.rows}
    assert rows["alg", "slow"] == ("2.00", "2.00 to 2.00", "24", "yes")
    assert rows["mode", "x"][-1] == "no"
    assert [level for axis, level in rows if axis == "threads"] == ["8", "4", "2", "1"]


def test_less_is_better_where_it_is_said(make: Any, tmp_path: Path) -> None:
    drawn = figure(make, tmp_path / "r.db", better="lower")

    assert drawn.title == "rate: 8.00 × better by threads, 2.00 × by alg, 1.75 × by size"
    assert [row[1] for row in drawn.numbers[0].rows if row[0] == "alg"] == ["slow", "mid", "fast"]


def test_an_axis_of_which_some_pairs_have_no_ratio_has_no_effect() -> None:
    """ "3.68 × better by k, best at 2" was of the one pair of five that is above 0: below it k 1 is the better one."""
    values = {(offset, k): -50.0 + 10 * offset * k for offset in (-8, -4, 0, 4, 8) for k in (1, 2)}
    cells = {levels: formulas.spread([v, v * 1.001]) for levels, v in values.items()}

    assert effects.effects(("offset", "k"), cells, "higher") == []


def test_an_effect_that_turns_round_is_not_told(make: Any, tmp_path: Path) -> None:
    def crossed(alg: str, mode: str, size: int, threads: int) -> float:
        return 100.0 * (2 if (alg == "fast") == (threads > 2) else 1) * threads

    drawn = figure(make, tmp_path / "r.db", axes=("alg", "threads"), value=crossed)

    assert "alg" not in drawn.title
    assert [row[-1] for row in drawn.numbers[0].rows if row[0] == "alg"] == ["–", "no", "no"]


def test_pairs_that_are_far_apart_have_no_mean(make: Any, tmp_path: Path) -> None:
    """1.5, 1.6, 38 and 39.7 × were “7.76 × better by mode”, which none of them is: it hangs on the threads."""
    factors = {1: 1.5, 2: 1.6, 4: 38.0, 8: 39.7}

    def grown(alg: str, mode: str, size: int, threads: int) -> float:
        return 100.0 * (factors[threads] if mode == "x" else 1.0)

    drawn = figure(make, tmp_path / "r.db", axes=("mode", "threads"), value=grown)

    assert drawn.title == "rate: 1.50 to 39.7 × better by mode (x)"
    assert "of those over 3 × apart the range alone" in drawn.sub
    assert drawn.strip is not None
    assert [row[2:4] for row in drawn.numbers[0].rows if row[1] == "y"] == [("1.50 to 39.7", "–")], (
        "in the table either"
    )
    assert drawn.numbers[0].caption == "What each axis does, of those over 3 × apart the range alone"
    (track,) = [one for one in drawn.strip.tracks if one.name == "mode"]
    assert (track.factor, track.span, track.said) == (
        "1.50 to 39.7 ×",
        "",
        "mode: x is best, 1.50 to 39.7 × better than y",
    )


def test_of_one_axis_the_best_level_is_named(make: Any, tmp_path: Path) -> None:
    assert (
        figure(make, tmp_path / "r.db", axes=("threads",)).title
        == "rate: 8.00 × better by threads, best at 8"
    )


def test_a_crowded_panel_becomes_small_ones_that_share_their_axis(make: Any, tmp_path: Path) -> None:
    drawn = figure(make, tmp_path / "r.db")

    titles = [panel.title for panel in drawn.panels]
    assert titles == [f"rate, mode {m}, size {s}" for m in "xy" for s in (1, 64, 4096)]
    specs = [panel.wide for panel in drawn.panels]
    assert len({str(spec["encoding"]["y"]["scale"]["domain"]) for spec in specs}) == 1
    assert {spec["encoding"]["x"]["title"] for spec in specs} == {"threads"}  # the longest
    for spec in specs:
        assert spec["encoding"]["color"]["scale"]["domain"] == ["alg fast", "alg mid", "alg slow"]
        assert "#7C8794" not in spec["encoding"]["color"]["scale"]["range"]


def test_each_line_has_a_colour_of_its_own_or_the_lines_are_apart(make: Any, tmp_path: Path) -> None:
    """Of six lines in one panel two were grey, in the legend, too."""
    drawn = figure(make, tmp_path / "r.db", axes=("alg", "mode", "threads"))

    assert [panel.title for panel in drawn.panels] == ["rate, mode x", "rate, mode y"]
    for panel in drawn.panels:
        colours = panel.wide["encoding"]["color"]["scale"]["range"]
        assert len(set(colours)) == 3


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abc"), st.integers(1, 4)),
        st.lists(st.floats(0.5, 1e6), min_size=1, max_size=3),
        min_size=2,
    ),
    st.sampled_from(["higher", "lower"]),
)
def test_no_level_is_better_than_the_best_and_the_last_is_the_factor(
    values: dict[tuple[str, int], list[float]], better: Any
) -> None:
    cells = {levels: formulas.spread(of) for levels, of in values.items()}

    for effect in effects.effects(("letter", "number"), cells, better):
        behind = [level.behind for level in effect.levels]
        assert behind == pytest.approx(sorted(behind))
        assert effect.factor == behind[-1]
        best = effect.levels[0]
        assert (best.behind, best.low, best.high) == (1, 1, 1)
        if effect.clear:
            assert effect.levels[-1].low > 1
        assert all(set(level.cells) <= set(cells) for level in effect.levels)


def test_two_axes_or_more_are_drawn_with_the_numbers_of_the_table(make: Any, tmp_path: Path) -> None:
    drawn = figure(make, tmp_path / "r.db")
    alone = figure(make, tmp_path / "one.db", axes=("threads",))

    assert drawn.strip
    assert [(t.name, t.factor, t.clear) for t in drawn.strip.tracks] == [
        ("threads", "8.00 ×", True), ("alg", "2.00 ×", True), ("size", "1.75 ×", True), ("mode", "1.00 ×", False),
    ]  # fmt: skip
    assert [dot.name for dot in drawn.strip.tracks[1].dots] == ["fast", "mid", "slow"]
    assert alone.strip is None
    (table,) = alone.tables  # of one axis and one cell a level nothing that is the same in every row
    assert table.caption == "What threads does"
    assert table.columns == ("Level, best first", "Best is better by, ×", "Beyond the repeats")


def test_axes_that_do_nothing_beyond_the_repeats_are_no_picture(make: Any, tmp_path: Path) -> None:
    drawn = figure(make, tmp_path / "r.db", axes=("alg", "threads"), value=lambda **_: 100.0)

    assert drawn.strip is None
    assert drawn.numbers[0].caption == "What each axis does"


def repeated(make: Any, path: Path, values: dict[tuple[str, float], tuple[float, ...]]) -> Figure:
    """values: (alg, n) → the rate of each of its runs."""
    maker = make.Maker(path)
    metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    for (alg, n), rates in values.items():
        for of in rates:
            maker.add("s", "command", {"command": "s", "metrics": metrics, "alg": alg, "n": n}, f"rate {of:.2f}\n", axes=("alg", "n"))  # fmt: skip
    (drawn,) = chapter(load([maker.write()])).figures
    return drawn


def test_what_one_run_a_cell_says_is_said_to_be_of_one_run(make: Any, tmp_path: Path) -> None:
    """ "not beyond the repeats everywhere" stood at an axis of a sweep without repeats, and in its title no word of one run a cell."""
    drawn = repeated(make, tmp_path / "r.db", {(a, n): (10.0 * n * (1.05 if a == "on" else 1),) for a in ("on", "off") for n in (1, 4)})  # fmt: skip

    assert drawn.title == "rate, one run a cell: 4.00 × better by n (4)"
    assert drawn.strip
    assert drawn.strip.number == "rate, one run a cell"
    assert [track.doubt for track in drawn.strip.tracks] == ["", "one run a cell: claimed from 1.11 × on"]
    assert drawn.numbers[0].columns[-1] == "More than 1.11 × in each"


def test_an_axis_that_turns_round_without_repeats_is_not_held_against_repeats(make: Any, tmp_path: Path) -> None:  # fmt: skip
    drawn = repeated(make, tmp_path / "r.db", {("a", 1): (10.0,), ("b", 1): (12.0,), ("a", 4): (48.0,), ("b", 4): (40.0,)})  # fmt: skip

    assert drawn.strip
    assert [track.doubt for track in drawn.strip.tracks] == ["", "not the better one everywhere"]


def test_two_repeats_that_are_apart_and_too_few_are_drawn_and_said_to_be_that(
    make: Any, tmp_path: Path
) -> None:
    """Repeats a factor of 3.6 apart in each pair "none is beyond the repeats everywhere", and no strip stood there."""
    pairs = {("a", 1): (100.0, 300.0), ("b", 1): (1000.0, 3000.0), ("a", 4): (110.0, 290.0), ("b", 4): (1100.0, 2900.0)}  # fmt: skip

    drawn = repeated(make, tmp_path / "r.db", pairs)

    assert drawn.title == "s", "the rule claims nothing"
    assert drawn.strip
    assert [(track.name, track.clear, track.doubt) for track in drawn.strip.tracks] == [
        ("alg", False, "two repeats are too few to claim it"), ("n", False, "not beyond the repeats everywhere"),
    ]  # fmt: skip
    assert drawn.strip.tracks[0].said == "alg: b is 10.0 × as good as a; two repeats are too few to claim it"
    rows = [row for row in drawn.numbers[0].rows if row[0] == "alg"]
    assert [row[-1] for row in rows] == ["–", "no: two repeats are too few to claim it"]


def test_levels_that_are_alike_have_no_name_as_the_worst(make: Any, tmp_path: Path) -> None:
    """ "e to lz4" stood there, of eight levels within 1 %."""
    drawn = repeated(make, tmp_path / "r.db", {(alg, n): (10.0 * n * of,) for alg, of in (("lz4", 9.0), ("a", 1.0), ("b", 1.01), ("c", 0.99), ("d", 0.985)) for n in (1, 2, 4, 4.05)})  # fmt: skip

    assert drawn.strip
    assert [track.ends for track in drawn.strip.tracks] == ["any of 4 to lz4", "1 to 4.05 or 4"]


def of_two(make: Any, tmp_path: Path, times: tuple[float, float], lost: int = 0) -> Figure:
    """Two files of n = 1, 2, 4, 8: each is so many times faster at n + n; the second lacks n = `lost`."""
    metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    paths = []
    for name, factor in zip("ab", times, strict=True):
        maker = make.Maker(tmp_path / f"{name}.db")
        for step, of in itertools.product(range(4), (0.99, 1.0, 1.01)):
            if name == "a" or 2**step != lost:
                text = f"rate {100 * factor**step * of:.2f}\n"
                maker.add(
                    "s", "command", {"command": "s", "metrics": metrics, "n": 2**step}, text, axes=("n",)
                )
        paths.append(maker.write())
    (drawn,) = chapter(load(paths)).figures
    return drawn


@pytest.mark.parametrize("lost", [0, 4])
def test_of_two_files_each_has_its_own_effect(lost: int, make: Any, tmp_path: Path) -> None:
    """The factor of both was A's where a cell of B failed: nothing of B was compared."""
    drawn = of_two(make, tmp_path, (2.0, 3.0), lost)

    a, b = (f"node07, {name}.db" for name in "ab")
    assert drawn.title == f"rate: 8.00 × better by n, best at 8 ({a}); 27.0 × better by n, best at 8 ({b})"
    (table,) = drawn.tables
    assert table.columns[0] == "Of"
    levels = {where: [row[1] for row in table.rows if row[0] == where] for where in (a, b)}
    assert levels == {a: ["8", "4", "2", "1"], b: [str(n) for n in (8, 4, 2, 1) if n != lost]}
    assert [row[2] for row in table.rows if row[1] == "1"] == ["8.00", "27.0"]
    assert "with the other axes" not in drawn.sub


def test_what_two_files_have_in_common_is_said_once(make: Any, tmp_path: Path) -> None:
    assert of_two(make, tmp_path, (2.0, 2.0)).title == "rate: 8.00 × better by n, best at 8"


def test_pairs_without_a_number_are_counted_in_words(make: Any, tmp_path: Path) -> None:
    """Beside a factor of which a pair has no number no word of that stood: it looked like one of all pairs."""
    drawn = figure(make, tmp_path / "r.db", axes=("alg", "threads"), left_out=("slow", 1))

    assert drawn.title == "rate: 8.00 × better by threads (2 of 3 pairs), 2.00 × by alg (3 of 4 pairs)"
    assert drawn.strip
    threads, alg = drawn.strip.tracks
    assert (threads.factor, threads.span, alg.span) == ("8.00 ×", "2 of 3 pairs", "3 of 4 pairs")
    assert alg.said == "alg: fast is best, 1.33 × better than mid, 2.00 × better than slow (3 of 4 pairs)"
    assert "without pairs of which one has no number" in drawn.sub
    pairs = {(row[0], row[1]): row[4] for row in drawn.numbers[0].rows}
    assert (pairs["alg", "slow"], pairs["alg", "mid"]) == ("3 of 4", "4")


def test_of_an_axis_that_turns_round_the_table_says_why_it_is_not_told(make: Any, tmp_path: Path) -> None:
    """The strip alone gave the reason; beside each level of the table stood "yes"."""
    values = {("a", 1): 40.0, ("b", 1): 30.0, ("c", 1): 10.0, ("a", 2): 40.0, ("b", 2): 60.0}
    drawn = repeated(make, tmp_path / "r.db", {cell: (v, v * 1.001, v * 1.002) for cell, v in values.items()})

    last = [row[-1] for row in drawn.numbers[0].rows if row[0] == "alg"]
    assert last == ["no: another is better where not every level gave a number", "no", "yes"]


def test_a_title_of_two_files_says_where_one_has_no_effect(make: Any, tmp_path: Path) -> None:
    """ "8.00 × better by n, best at 8 (node07, a.db)" was all that a page of two files said."""
    a, b = (f"node07, {name}.db" for name in "ab")

    assert of_two(make, tmp_path, (2.0, 1.0)).title == f"rate: 8.00 × better by n, best at 8 ({a}); no clear effect ({b})"  # fmt: skip
