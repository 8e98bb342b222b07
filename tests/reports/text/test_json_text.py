"""JSON for programs: what there is no number for, and what a terminal would obey."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.text.json_text import json_line, json_text
from reports.text.plain import plain, printable


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (float("nan"), None), (float("inf"), None), (np.float64(2.5), 2.5), (np.int64(3), 3), (np.float64("nan"), None),
        (Path("a/b"), "a/b"), ({"b", "a"}, ["a", "b"]), ((1, 2), [1, 2]), ({1: None}, {"1": None}), (True, True),
    ],
)  # fmt: skip
def test_what_json_has_no_word_for_is_null_and_the_rest_what_it_is(value: Any, read: object) -> None:
    assert json.loads(json_text([value])) == [read]


@given(st.text())
def test_a_terminal_obeys_nothing_and_a_program_reads_all(text: str) -> None:
    line = json_line({"name": text})

    assert json.loads(line) == {"name": text}
    assert printable(line[:-1]) == line[:-1]
    assert plain(json_text([text])) == json_text([text])


def test_a_file_name_that_is_no_utf_8_can_be_written() -> None:
    line = json_line("a\udcff\x1b[31m\x9b\u202e")

    assert line.encode("utf-8") == b'"a\\udcff\\u001b[31m\\u009b\\u202e"\n'
