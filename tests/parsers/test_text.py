from __future__ import annotations

import json
import math
import re
import string
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsers import text, text_to_parse
from parsers.errors import ParseError
from parsers.text import clean, decode, first_line, mentions, number, scaled, split_ranks

TABLE = "Function    Best Rate MB/s\nCopy:           14422.1     0.018347\n\nSolution Validates: avg error\n"
PRINTED = st.text(string.ascii_letters + string.digits + " .:|%(){}[]<=/-+*#", max_size=40)


@pytest.mark.parametrize(
    ("dirty", "plain"),
    [
        ("a\r\nb\r\n", "a\nb\n"),
        ("a\r\r\nb", "a\nb"),
        ("a\rb\rc", "a\nb\nc"),
        ("[50%] eta 1s\r[100%] eta 0s\r\n{", "[50%] eta 1s\n[100%] eta 0s\n{"),
        ("\ufeffa\n", "a\n"),
        ("\x1b[1;32mCopy:\x1b[0m 1.0\x1b[K", "Copy: 1.0"),
        ("\x1b]0;user@host: ~\x07$ mlc\n", "$ mlc\n"),
        ("\x1b(B\x1b[mtext\x1b=\n", "text\n"),
        ("spinner |\x08/\x08-\x08done\n", "spinner done\n"),
        ("nul\x00 bytes\x00\n", "nul bytes\n"),
        ("Copy:\u00a0\u00a01.0\n", "Copy:  1.0\n"),
        ("```console\nCopy: 1.0\n```\n", "Copy: 1.0\n"),
        ("- item\n  ~~~\n  x\n  ~~~\n", "- item\n  x\n"),
        ("> Copy: 1.0\n>\n> > Add: 2.0\n", "Copy: 1.0\n\nAdd: 2.0\n"),
        ("    a\n      b\n\n    c\n", "a\n  b\n\nc\n"),
        ("  >=64=0.0%\n", ">=64=0.0%\n"),
        ("C:\\Users\\x>mlc\n", "C:\\Users\\x>mlc\n"),
    ],
)
def test_what_a_capture_adds_is_taken_off(dirty: str, plain: str) -> None:
    assert clean(dirty) == plain


@pytest.mark.parametrize(
    "tagged",
    [
        "".join(f"[{i % 2}] {line}\n" for i, line in enumerate(TABLE.splitlines())),
        "".join(f"[1,{i % 2}]<stdout>:{line}\n" for i, line in enumerate(TABLE.splitlines())),
        "".join(f"{i % 2}: {line}\n" for i, line in enumerate(TABLE.splitlines())),
        "".join(f" {i % 2}: {line}\n" for i, line in enumerate(TABLE.splitlines())),
    ],
)
def test_prefixes_of_several_ranks_go_only_if_asked(tagged: str) -> None:
    assert clean(tagged, ranks=True) == TABLE
    assert clean(tagged) != TABLE


@pytest.mark.parametrize("prefix", ["[0] ", "[1,0]<stdout>:", "[1,0]<stdout>: ", "0: ", " 0: "])
def test_the_prefix_of_one_rank_goes_always(prefix: str) -> None:
    tagged = "".join(f"{prefix}{line}\n" for line in TABLE.splitlines())
    assert clean(tagged) == clean(tagged, ranks=True) == TABLE


@pytest.mark.parametrize(
    "text",
    [
        "Copy: 1\nCopy: 2\nCopy: 3\n",
        "fio: a\nfio: b\nfio: c\n",
        "node   0   1\n  0:  10  21\n  1:  21  10\n",
        "00000\t203.58\t145200.4\n00002\t200.00\t145000.0\n00008\t190.00\t140000.0\n",
        "READ: bw=1\nREAD: bw=2\nREAD: bw=3\n",
    ],
)
def test_what_a_tool_prints_before_every_line_stays(text: str) -> None:
    assert clean(text) == text


def test_task_prefix_stays_where_only_some_lines_have_it() -> None:
    distances = "node distances:\nnode   0   1\n  0:  10  21\n  1:  21  10\n"
    assert clean(distances, ranks=True) == distances


def test_numbers_in_brackets_are_no_ranks() -> None:
    row = "[ 0.83, 0.97 ]\n[0.83, 0.97]\n"
    assert clean(row, ranks=True) == row


@given(st.lists(PRINTED, max_size=8))
def test_line_ends_and_colours_make_no_difference(rows: list[str]) -> None:
    text = "\n".join(rows)
    want = clean(text)
    assert clean("\r\n".join(rows)) == want
    assert clean("\n".join(f"\x1b[31m{row}\x1b[0m" for row in rows)) == want
    assert clean("\ufeff" + text) == want


@given(st.text())
def test_cleaning_clean_lines_changes_nothing_that_is_not_markup(text: str) -> None:
    once = clean(text)
    assert "\r" not in once
    assert "\x1b" not in once or "\x1b" in text
    assert len(once) <= len(text)


UNWRAPPED = st.text(st.characters(exclude_categories=["N"], exclude_characters="&<="))
"""Without figures, which make lines of a log that is kept as JSON, and without what mails and web pages put in the
place of letters."""


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | UNWRAPPED,
        lambda c: st.lists(c) | st.dictionaries(UNWRAPPED, c),
    )
)
def test_json_survives(value: object) -> None:
    for indent in (None, 2):
        assert json.loads(clean(json.dumps(value, indent=indent))) == value


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_decode_reads_what_windows_writes(encoding: str) -> None:
    assert decode("Intel(R) Memory Latency Checker - v3.10\r\n".encode(encoding)).startswith("Intel(R)")


def test_decode_never_fails() -> None:
    assert decode(b"20 \xb0C") == "20 °C"
    assert decode(b"") == ""


@given(st.binary(max_size=200))
def test_decode_takes_any_bytes(data: bytes) -> None:
    assert isinstance(decode(data), str)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("203.58", 203.58),
        ("00002", 2.0),
        ("1.000000e-13", 1e-13),
        ("-5", -5.0),
        ("203,58", 203.58),
        ("145200,4", 145200.4),
        ("0,018347", 0.018347),
        ("145200,123", 145200.123),
        ("0,123", 0.123),
    ],
)
def test_numbers(word: str, value: float) -> None:
    assert number(word) == value


@pytest.mark.parametrize(
    "word",
    ["", "-", "1,234", "12,345", "1_000", "1,000,000", "0x10", "12.3.4", "3:1", "ns", "٣", "1e", "1.2ns"],
)
def test_what_is_no_number(word: str) -> None:
    assert number(word) is None


@pytest.mark.parametrize("word", ["inf", "-inf", "Infinity", "1.#INF", "1.#INF00"])
def test_infinite(word: str) -> None:
    value = number(word)
    assert value is not None
    assert math.isinf(value)


@pytest.mark.parametrize("word", ["nan", "-nan", "NaN", "-nan(ind)", "1.#QNAN", "-1.#IND"])
def test_not_a_number(word: str) -> None:
    value = number(word)
    assert value is not None
    assert math.isnan(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_reads_what_python_and_c_print(value: float) -> None:
    assert number(repr(value)) == value
    assert number(f"{value:.6e}") == float(f"{value:.6e}")


def test_scaled_rounds_once() -> None:
    assert scaled("0.031824", 1e9) == 31824000.0 != 0.031824 * 1e9
    assert scaled("203,58", 1e6) == 203580000.0
    assert scaled("1e-3", 1e9) == 1000000.0
    assert scaled("inf", 1e6) == math.inf
    assert scaled("x", 1e6) is None
    assert scaled("1e-99999999999999999999", 1e9) == 0.0


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=0, max_value=10**9))
def test_scaled_is_the_nearest_float(value: Decimal) -> None:
    assert scaled(f"{value:f}", 1e9) == float(value * 10**9)


@given(st.lists(st.tuples(st.integers(0, 20), PRINTED), min_size=1, max_size=12))
def test_ranks_are_taken_apart_in_order(rows: list[tuple[int, str]]) -> None:
    want: dict[int, list[str]] = {}
    for rank, line in rows:
        want.setdefault(rank, []).append(line)
    parts = dict(split_ranks("\n".join(f"[{rank}] {line}" for rank, line in rows)))
    assert {r: p.split("\n") for r, p in parts.items() if r is not None} == {
        rank: lines for rank, lines in want.items() if any(line.strip() for line in lines)
    }


def test_a_text_without_ranks_is_one_part() -> None:
    assert split_ranks(TABLE) == [(None, TABLE)]
    assert split_ranks("") == [(None, "")]


def test_lines_of_no_rank_are_a_part_of_their_own() -> None:
    assert split_ranks("banner\n[1] a\n[0] b\n[1] c") == [(None, "banner"), (1, "a\nc"), (0, "b")]


def test_first_line_says_what_was_seen() -> None:
    assert first_line("\n  \n  hello there \n") == "'hello there'"
    assert first_line(" \n\t\n") == "nothing but blanks"
    assert first_line("") == "nothing"
    assert len(first_line("x" * 500)) < 70


def test_lines_end_only_where_the_tool_ended_them() -> None:
    assert clean("a\x0cb  \u2028c\r\nd").split("\n") == ["a\x0cb  \u2028c", "d"]


def test_mentions_looks_at_letters_not_at_their_case() -> None:
    assert mentions("… STREAM Version …", "mlc", "stream")
    assert not mentions("fio-3.33", "mlc", "stream")


@given(st.text("ab\n\x08", max_size=30))
def test_a_backspace_takes_one_character_of_its_line(text: str) -> None:
    expected: list[str] = []
    for character in text:
        if character != "\x08":
            expected.append(character)
        elif expected and expected[-1] != "\n":
            expected.pop()

    assert clean(text).split("\n") == clean("".join(expected)).split("\n")


@given(st.text("a\r\n", max_size=30))
def test_a_line_ends_once_whatever_ends_it(text: str) -> None:
    assert clean(text) == re.sub(r"\r+\n", "\n", text).replace("\r", "\n")


@pytest.mark.parametrize("ending", ["x", ".5x", ",x", "e", "e9x"])
def test_a_million_digits_that_are_no_number_are_read_once(ending: str) -> None:
    """An expression that tries every way to part them needs hours."""
    assert number("9" * 1_000_000 + ending) is None


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (bytes(range(256)) * 100, "a binary file"),
        (b"\x7fELF\2\1\1" + bytes(2000), "a binary file"),
        (b"a" * (text.LARGEST + 1), "more than 32 MiB"),
        (b"\x1b[31mCopy:\x1b[0m 12.5\r\n\tx\x08y\n", ""),
        ("Copy: 12.5 ü\n".encode("latin-1"), ""),
        ("Copy: 12.5\n".encode("utf-16-le"), ""),
        ("Copy: 12.5\n".encode("utf-16"), ""),
        (b"", ""),
    ],
    ids=lambda value: f"{value[:12]!r}",
)
def test_what_is_no_text_or_too_much_of_it_is_told(data: bytes, why: str) -> None:
    assert why in text.why_not_read(data)
    assert bool(why) == bool(text.why_not_read(data))


def test_what_is_no_text_is_not_parsed() -> None:
    with pytest.raises(ParseError, match="a binary file"):
        text_to_parse("stream", bytes(range(256)) * 100, b"")
