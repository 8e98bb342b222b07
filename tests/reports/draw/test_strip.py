"""The line that each axis has: its levels on one scale of ratios."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.draw import label_placement
from reports.draw.strip import Axis, Step, Strip, strip


def axis(name: str, *levels: tuple[str, float], low: float = 0.0, high: float = 0.0, doubt: str = "") -> Axis:
    """low, high, doubt: of the last level."""
    *steps, last = (Step(name=level, behind=behind, low=behind, high=behind) for level, behind in levels)
    last = replace(last, low=low or last.low, high=high or last.high, doubt=doubt)
    return Axis(name=name, ends=(last.name, levels[0][0]), levels=[*steps, last], doubt=doubt)


def test_all_axes_share_a_logarithmic_scale_with_the_best_level_to_the_right() -> None:
    """Depths ran from 32 to 1 and the largest factor stood behind the worst."""
    drawn = strip(
        "rate",
        [
            axis("threads", ("8", 1.0), ("4", 2.0), ("1", 4.0)),
            axis("alg", ("fast", 1.0), ("slow", 2.0), low=1.9, high=2.1),
        ],
    )

    threads, alg = drawn.tracks
    assert [dot.at for dot in threads.dots] == [100.0, 50.0, 0.0]
    assert [dot.at for dot in alg.dots] == [100.0, 50.0]
    assert 45 < alg.low < 50 < alg.high < 55
    assert (alg.factor, alg.span, alg.ends) == ("2.00 ×", "1.90 to 2.10", "slow to fast")
    assert drawn.ticks == ((100.0, "1 ×"), (50.0, "2 ×"), (20.75, "3 ×"))


def test_what_a_picture_shows_is_said_in_words() -> None:
    (clear,) = strip("rate", [axis("mode", ("a", 1.0), ("b", 1.2), ("c", 1.6))]).tracks
    (track,) = strip("rate", [axis("mode", ("a", 1.0), ("b", 1.02), doubt="mostly the timer")]).tracks

    assert clear.said == "mode: a is best, 1.20 × better than b, 1.60 × better than c"
    assert track.said == "mode: a is 1.02 × as good as b; mostly the timer"
    assert (track.clear, track.doubt) == (False, "mostly the timer")


def test_only_levels_that_clearly_differ_are_filled_and_said_to_be_behind_a_best_one() -> None:
    """ "level: 1 is best, 2.37 × better than 10" was said where 10 was the faster one in some pairs, and its dot was filled."""
    none = "not beyond the repeats everywhere"
    ten = Step(name="10", behind=2.37, low=0.758, high=8.70, doubt=none)
    nine = Step(name="9", behind=5.11, low=4.03, high=7.14, partly="4 of 6 pairs")
    best = Step(name="1", behind=1, low=1, high=1)
    threads = axis("threads", ("2", 1.0), ("1", 1.004), low=0.648, high=1.74, doubt=none)

    drawn = strip("speed", [Axis(name="level", ends=("9", "1"), levels=[best, ten, nine]), threads])

    level, both = drawn.tracks
    assert [dot.clear for dot in level.dots] == [True, False, True]
    assert (
        level.said
        == f"level: 1 is 5.11 × better than 9 (4 of 6 pairs); 0.758 to 8.70 × as good as 10; {none}"
    )
    assert [dot.clear for dot in both.dots] == [False, False]
    assert both.said == f"threads: 2 is 0.648 to 1.74 × as good as 1; {none}"
    assert drawn.hollow == none
    assert strip("speed", [axis("n", ("1", 1.0), ("2", 2.0))]).hollow == ""
    assert (
        strip("speed", [threads, axis("n", ("1", 1.0), ("2", 2.0), doubt="mostly the timer")]).hollow
        == "not clear"
    )


def test_a_long_level_is_cut_below_the_name_of_its_axis() -> None:
    """Eight lines stood there, "https://example.or g/some/path…"."""
    url, name = "https://example.org/some/path/to/a/file.bin", "a very long algorithm name with other words"
    (track,) = strip("rate", [axis("alg", (url, 1.0), (name, 1.5))]).tracks

    assert all(label_placement.text_width(end) <= 190 for end in track.ends.split(" to "))
    assert track.said == f"alg: {url} is best, 1.50 × better than {name}"


def test_axes_that_do_next_to_nothing_look_so() -> None:
    (track,) = strip("rate", [axis("mode", ("a", 1.0), ("b", 1.004))]).tracks

    assert track.dots[-1].at > 95


@given(
    st.lists(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=12), min_size=1, max_size=4),
    st.text("abcdefgh", min_size=1, max_size=9),
)
def test_names_of_levels_never_touch_and_everything_lies_on_its_line(
    ratios: list[list[float]], name: str
) -> None:
    drawn: Strip = strip(
        "n",
        [axis("x", ("best", 1.0), *((f"{name}{i}", r) for i, r in enumerate(sorted(own)))) for own in ratios],
    )

    assert all(0 <= at <= 100 for at, _ in drawn.ticks)
    assert len(drawn.ticks) > 1
    widths = {at: 100 * label_placement.text_width(text) / 300 for at, text in drawn.ticks}
    texts = sorted(
        (at if at < 4 else at - wide if at > 96 else at - wide / 2, wide) for at, wide in widths.items()
    )
    assert all(start + wide <= after for (start, wide), (after, _) in itertools.pairwise(texts))
    for track in drawn.tracks:
        spans = []
        for dot in track.dots:
            assert 0 <= dot.at <= 100
            width = 100 * label_placement.text_width(dot.name) / 300
            begin = {"start": dot.at, "middle": dot.at - width / 2, "end": dot.at - width}.get(dot.anchor)
            spans += [] if begin is None else [(begin, begin + width)]
        spans.sort()
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
        assert track.dots[0].name == "best"


@pytest.mark.parametrize("high", [1.3, 3.0, 40.0, 1e5])
def test_a_scale_has_from_two_to_ten_ticks(high: float) -> None:
    assert 2 <= len(strip("n", [axis("x", ("a", 1.0), ("b", high))]).ticks) <= 10


def test_no_name_lies_over_another_dot() -> None:
    """ "radix-lsd-with-a-long-name" stood over the dot of "quick", which had no name."""
    (track,) = strip(
        "rate", [axis("alg", ("radix-lsd-with-a-long-name", 1.0), ("quick", 3.0), ("heap", 300.0))]
    ).tracks

    assert [dot.name for dot in track.dots] == ["", "quick", "heap"]
    assert track.said.startswith("alg: radix-lsd-with-a-long-name is best")
