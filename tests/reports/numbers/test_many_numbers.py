"""A run may print a million numbers, all of them equal: what one number is asked of does not hold them all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reports import numbers
from reports.numbers.model import Number
from reports.results.load import load

METRICS = {"wait": {"regex": r"wait ([0-9.]+)", "unit": "ns", "better": "lower"}}


@pytest.fixture
def path(make: Any, tmp_path: Path) -> Path:
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "command", {"command": "x", "metrics": METRICS}, "wait 2\n" * 50)
    made: Path = maker.write()
    return made


def test_the_number_that_leads_is_read_and_no_more(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run,) = load([path]).good("command")
    read = numbers.each_number

    def first(of: Any) -> Iterator[Number]:
        yield from itertools.islice(read(of), 1)
        pytest.fail("another one is read")

    monkeypatch.setattr(numbers, "each_number", first)

    assert numbers.leader([run]).better == "lower"
