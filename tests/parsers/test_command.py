from __future__ import annotations

import itertools
import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.store import readings
from parsers import command, get_parser, guess_parsers
from parsers.errors import ParseError, UserError
from parsers.expressions import mistakes
from parsers.measurement import Counted


def rows(text: str, **metrics: Any) -> list[tuple[Any, ...]]:
    return list(command.parse(text, {"metrics": metrics}).measurements.rows)


def test_every_match_is_a_row_in_base_units() -> None:
    found = rows(
        "rate: 12.5 MB/s\nx\nrate: 7 MB/s rate: 8 MB/s\n",
        bw={"regex": r"rate: ([\d.]+)", "unit": "MB/s", "better": "higher"},
    )

    assert found == [(0, "bw", "B/s", 12.5e6), (1, "bw", "B/s", 7e6), (2, "bw", "B/s", 8e6)]


def test_the_group_named_value_wins() -> None:
    assert rows("copy 4 us", t={"regex": r"(\w+) (?P<value>\d+) us", "unit": "us"}) == [(0, "t", "ns", 4000.0)]


def test_a_unit_without_a_base_unit_stays() -> None:
    assert rows("power 31.5 W", power={"regex": r"power ([\d.]+)", "unit": "W"}) == [(0, "power", "W", 31.5)]
    assert rows("ratio 3", ratio={"regex": r"ratio (\d+)"}) == [(0, "ratio", "", 3.0)]


def test_metrics_of_a_context() -> None:
    metric = command.metrics_of({"metrics": {"bw": {"regex": "(x)", "unit": "GiB/s", "better": "higher"}}})["bw"]

    assert (metric.unit, metric.better, metric.text) == ("B/s", "higher", "bw")


def test_json_paths() -> None:
    text = json.dumps({"jobs": [{"read": {"99.00": 5}}, {"read": {"99.00": 7, "n": "2.5"}}], "ok": True, "none": None})

    assert [r[-1] for r in rows(text, p={"json": 'jobs[*].read["99.00"]', "unit": "us"})] == [5000.0, 7000.0]
    assert [r[-1] for r in rows(text, p={"json": "jobs[-1].read.n"})] == [2.5], "a number in quotes is one"
    parsed = command.parse(
        text, {"metrics": {"n": {"json": "jobs[1].read.n"}, "ok": {"json": "ok"}, "none": {"json": "none"}}}
    )
    assert {flag.id for flag in parsed.flags} == {
        "not_a_number:ok",
        "missing:ok",
        "not_a_number:none",
        "missing:none",
    }


@pytest.mark.parametrize(
    "text",
    [
        'starting\n{"a": 1}\nnext\n{"a": 2}\n[INFO] done\n',
        '{"a": 1}\n{"a": 2}\n',
        '\x1b[1mhello\x1b[0m\r\n{\r\n  "a": 1\r\n}{"a": 2}\n'.replace("}{", "}\n{"),
    ],
)
def test_json_is_found_between_other_lines(text: str) -> None:
    assert [r[-1] for r in rows(text, a={"json": "a"})] == [1.0, 2.0]


def test_inner_objects_of_a_cut_document_are_not_taken_for_documents() -> None:
    text = json.dumps({"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}]}, indent=2)

    with pytest.raises(ParseError):
        rows(text[:-5], a={"json": "a"})


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ("a",)),
        ("a.b[0].c", ("a", "b", 0, "c")),
        ('["99.0"][*][-1]', ("99.0", None, -1)),
        ('a["b c"].d e', ("a", "b c", "d e")),
        ("[0].x", (0, "x")),
    ],
)
def test_paths(path: str, steps: command.Path) -> None:
    assert command.path(path) == steps


@pytest.mark.parametrize("path", ["", ".a", "a.", "a..b", "a[", "a[x]", "a]b", "a[0]b", 3, None])
def test_what_is_no_path(path: object) -> None:
    assert mistakes({"m": {"json": path}})
    with pytest.raises(ValueError, match="JSON path"):
        command.path(path)


def test_what_is_missing_is_flagged_and_nothing_at_all_is_an_error() -> None:
    context = {"metrics": {"a": {"regex": r"a=(\S+)"}, "b": {"regex": r"b=(\S+)"}}}
    parsed = command.parse("a=1\na=x\na=nan\n", context)

    assert parsed.measurements.rows == ((0, "a", "", 1.0),)
    assert [flag.id for flag in parsed.flags] == ["not_a_number:a", "not_finite", "missing:b"]
    for ambiguous in ("1,234", "1.234,5", "12k", "0x1F"):
        with pytest.raises(ParseError, match=f"a: '{ambiguous}' is"):
            command.parse(f"a={ambiguous}\n", {"metrics": {"a": {"regex": r"a=(\S+)"}}})
    with pytest.raises(ParseError, match=r"no metric was found .*regex `a=.*saw 'hello'"):
        command.parse("hello\n", context)
    near = {"metrics": {"t": {"regex": r"time per elem: ([\d.]+) ns"}}}
    with pytest.raises(ParseError, match=r"; saw 'time per element: 0\.4 ns'"):
        command.parse("n=128 order=row\ntime per element: 0.4 ns\nbye\n", near)
    with pytest.raises(ParseError, match="nothing says which metrics"):
        command.parse("a=1\n")


def test_lines_and_texts() -> None:
    text = "first\n  total 5\nlast 6\n"

    assert [r[-1] for r in rows(text, t={"regex": r"total\s+(\d+)"})] == [5.0]
    assert [r[-1] for r in rows(text, t={"regex": r"total \d\nlast (\d)"})] == [6.0]
    assert [r[-1] for r in rows(text, t={"regex": r"(?s)first.*last (\d)"})] == [6.0]
    assert [r[-1] for r in rows("> kept 4\n", t={"regex": r"^> kept (\d)"})] == [4.0], "what looks quoted"
    with pytest.raises(ParseError):
        rows(text, t={"regex": r"total.*last (\d)"})


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        ({}, "no metric is named"),
        ({"m": "rate: (.*)"}, "should be a mapping"),
        ({"m": {}}, "needs either `regex` or `json`"),
        ({"m": {"regex": "(a)", "json": "a"}}, "not both"),
        ({"m": {"regexp": "(a)"}}, "did you mean 'regex'"),
        ({"m": {"regex": "(a"}}, "does not compile: missing ), unterminated subpattern at character 1"),
        ({"m": {"regex": 3}}, "not a text"),
        ({"m": {"regex": "a+"}}, "needs a group"),
        ({"m": {"regex": r"(a+)+b"}}, "repeats a repeat"),
        ({"m": {"regex": r"((?:\d*)*)x"}}, "repeats a repeat"),
        ({"m": {"regex": r"(\w+\s?)*: (?P<value>\d+)"}}, "repeats a repeat"),
        ({"m": {"regex": r"(?:x|(?:\w{1,9}y|z))+ (\d)"}}, "repeats a repeat"),
        ({"m": {"regex": r"(?:a(?:b(?:c+?))*?d)* (\d)"}}, "repeats a repeat"),
        ({"m": {"regex": r"(x)(?(1)(?:a+)+|b) (\d)"}}, "repeats a repeat"),
        ({"m": {"regex": r"(?=(?:a+)+b)(\w)"}}, "repeats a repeat"),
        ({"m": {"json": "a[x]"}}, "from character 2 on"),
        ({"m": {"regex": "(a)", "unit": 3}}, "not a text"),
        ({"m": {"regex": "(a)", "better": "more"}}, "higher, lower, neither"),
        ({"value": {"regex": "(a)"}}, "is not a valid metric name"),
        ({"two words": {"regex": "(a)"}}, "is not a valid metric name"),
    ],
)
def test_mistakes_in_metrics_are_said(metrics: dict[str, Any], said: str) -> None:
    assert any(said in what for *_, what in mistakes(metrics))
    if metrics:
        with pytest.raises(UserError):
            command.parse("a", {"metrics": metrics})


def test_a_search_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ways to read each letter, and no repeat inside the repeat: 2**60 ways to fail."""
    monkeypatch.setattr(command, "LONGEST_S", 0.1)

    with pytest.raises(ParseError, match=r"metrics\.m: .*found no end in 0\.1 s"):
        rows("a" * 60, m={"regex": r"(?:\w|a\b|\wa)*: (\d+)"})
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert rows("a: 5", m={"regex": r"a: (\d)"}) == [(0, "m", "", 5.0)]


@pytest.mark.parametrize("text", ["[" * 100_000, 'x\n{"a": ' * 5_000])
def test_json_beyond_all_depth_is_said(text: str) -> None:
    with pytest.raises(ParseError, match=r"nested too deeply|no metric was found"):
        rows(text, a={"json": "a"})


def test_numbers_beyond_all_sizes_are_left_out() -> None:
    parsed = command.parse(f"[1, 1{'0' * 400}]", {"metrics": {"a": {"json": "[*]"}}})

    assert [row[-1] for row in parsed.measurements.rows] == [1.0]
    assert [flag.id for flag in parsed.flags] == ["not_finite"]
    specs = {"a": {"regex": r"a=(\S+)", "unit": "us"}, "b": {"regex": r"b=(\S+)"}}
    assert [flag.id for flag in command.parse("a=1e308 b=2", {"metrics": specs}).flags] == ["not_finite", "missing:a"]  # fmt: skip
    for word in ("1e308", "inf", "nan"):
        with pytest.raises(ParseError, match="a: inf or nan"):
            command.parse(f"a={word}", {"metrics": specs})
    with pytest.raises(ParseError, match="no metric was found"):
        rows("1" * 5000, a={"json": "[*]"})


def test_sound_metrics_have_no_problem() -> None:
    sound = {
        "a": {"regex": r"(\d++,)+(?P<value>\d+)", "unit": "us", "better": "lower", "text": "time"},
        "b-2.c": {"json": "a[*].b"},
        "d": {"regex": r"(\w\+)+"},
        "e": {"regex": r"(?:\S+\s+){3}(?P<value>\d+)"},
        "f": {"regex": r"(?:(?>\w+)\s?)*: (?=(?:x)*)([+*]+)"},
        "g": {"regex": r"[(a+)+] ([\d.]+)"},
    }

    assert mistakes(sound) == []


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_any_number_comes_back(numbers: list[float]) -> None:
    text = "\n".join(f"x = {number!r} us" for number in numbers)

    assert [r[-1] for r in rows(text, x={"regex": r"x = (\S+)", "unit": "B"})] == numbers


@given(st.text())
def test_no_text_makes_it_fall_over(text: str) -> None:
    try:
        command.parse(text, {"metrics": {"a": {"regex": r"(\d+)"}, "b": {"json": "[*].a"}}})
    except ParseError as error:
        assert re.search("no metric was found|is not a number", error.cause)  # noqa: PT017 (either outcome is right)


def test_it_is_never_guessed() -> None:
    with pytest.raises(ParseError):
        guess_parsers("rate: 5 MB/s\n")


@pytest.mark.slow
def test_each_number_of_many_is_looked_at_once() -> None:
    """A look at all of them for each took half an hour."""
    text = "".join(f"v {i}.5\n" for i in range(200_000))

    found = get_parser("command").parse(text, {"metrics": {"n": {"regex": "v (?P<value>[0-9.]+)", "unit": "1"}}})

    assert len(found.measurements.rows) == 200_000


def test_many_lines_that_look_like_json_are_tried_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of Python's reader counts the lines before it: of the whole text, 38 s for these."""
    seen: list[int] = []

    class Decoder(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[object, int]:
            seen.append(len(s))
            return super().raw_decode(s, idx)

    monkeypatch.setattr("parsers.command._DECODER", Decoder(strict=False))
    long = json.dumps({"rate": 5.0, "note": "\u1234 " * 3000})
    found = rows('{"fio version"\n' * 2000 + long, rate={"json": "rate", "unit": "MB/s"})

    assert found == [(0, "rate", "B/s", 5e6)]
    assert sum(seen) < 2000 * 10_000


def test_what_many_numbers_say_is_kept_as_numbers_and_read_back() -> None:
    """A million rows of their own are a hundred bytes each, in memory and in what is kept of them."""
    text = "\n".join(f"{value / 4:.2f}" for value in range(2000))

    parsed = command.parse(text, {"metrics": {"n": {"regex": "(.+)", "unit": "us"}}})
    again = readings.compact(parsed, Path("r.db"))

    assert [type(found.measurements.rows) for found in (parsed, again)] == [Counted, Counted]
    assert again == parsed
    assert parsed.measurements.rows[1999] == (1999, "n", "ns", 499750.0)
    assert [(r.labels, r.value) for r in again.measured()][:2] == [({"index": 0}, 0.0), ({"index": 1}, 250.0)]
    assert parsed.printed() == {"n": pytest.approx(10.0)}


def test_more_numbers_than_are_taken_fail_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "MOST", 5)

    with pytest.raises(ParseError, match="more than 5 numbers in one output"):
        command.parse("1\n" * 6, {"metrics": {"n": {"regex": "(1)"}}})
    with pytest.raises(ParseError, match="more than 5 numbers in one output"):
        command.parse("[1, 1, 1, 1, 1, 1]", {"metrics": {"n": {"json": "[*]"}}})


@pytest.mark.parametrize("word", ["0e999999", "0e-999999", f"0e{'9' * 5000}", "0.0e-400", "1e-320", "1e300"])
@pytest.mark.parametrize("unit", ["", "ms", "TB/s"])
def test_a_number_of_an_extreme_exponent_has_a_last_digit(word: str, unit: str) -> None:
    metrics = {"a": {"regex": r"a (\S+)", "unit": unit}, "b": {"regex": r"b (\d)"}}

    parsed = command.parse(f"a {word}\nb 1\n", {"metrics": metrics})

    assert all(0 <= step < float("inf") for step in parsed.printed().values())


def test_all_metrics_of_a_text_together_have_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """20 000 expressions of a stranger's file, and a text of 5 MB, were hours."""
    seconds, given = itertools.count(0, 4), []
    monkeypatch.setattr(command, "time", SimpleNamespace(thread_time=lambda: next(seconds)))

    @contextmanager
    def limited(_: str, __: object, most_s: float) -> Iterator[None]:
        given.append(most_s)
        yield

    monkeypatch.setattr(command, "_limited", limited)
    specs = {name: {"regex": "v ([0-9])"} for name in "ab"} | {"c": {"json": "v"}}
    command.parse("v 1\n", {"metrics": specs})

    assert given == [5, 5, 2]


@pytest.mark.parametrize(("times", "told"), [(1, []), (2, ["several:a"]), (20, ["several:a"]), (21, [])])
def test_a_regular_expression_that_matches_more_than_once_is_told_unless_it_takes_samples(
    times: int, told: list[str]
) -> None:
    parsed = command.parse("a 1\n" * times, {"metrics": {"a": {"regex": "a ([0-9]+)"}}})

    assert [flag.id for flag in parsed.flags] == told
    assert all(f"index 0 to {times - 1}" in flag.text for flag in parsed.flags)
