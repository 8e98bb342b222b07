"""The number that stands for a run, of many runs."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from orchestrator.model import Cell
from parsers import get_parser
from parsers.errors import ParseError
from parsers.measurement import Parsed, Table
from reports import numbers
from reports.export import record
from reports.numbers import Repeats
from reports.results.model import Run
from reports.tools import fio
from reports.tools.fio import Job


@pytest.mark.parametrize(
    ("printed", "moved", "size"),
    [
        ({"4k"}, 4116.5, 4096),  # 1024 I/Os under way at the end: bytes, and no I/Os
        ({"4k"}, 32768.0, 32768.0),
        ({"4k,64k"}, 4116.5, 4116.5),
        ({"4k", "64k"}, 33000.0, 33000.0),
        ({""}, 4116.5, 4116.5),
    ],
)
def test_an_io_has_the_block_size_that_its_jobs_print(printed: set[str], moved: float, size: float) -> None:
    jobs = [cast("Job", SimpleNamespace(options={"bs": bs} if bs else {})) for bs in printed]

    assert fio._block(jobs, moved) == size


FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TOOLS = ("fio", "imb", "likwid_bench", "mlc", "osu", "poke", "stream")
TEXTS = [(path.parent.name, path) for tool in TOOLS for path in sorted((FIXTURES / tool).glob("*.out"))]


def repeat_of(tool: str, parsed: Parsed, seed: int) -> Run:
    """A repeat in which each number of a text is up to three times as large or as small."""
    rng, rows = random.Random(seed), parsed.measurements.rows
    moved = tuple((*row[:-1], float(cast("float", row[-1])) * 3 ** rng.uniform(-1, 1)) for row in rows)
    table = Table(columns=parsed.measurements.columns, rows=moved)
    told = SimpleNamespace(run_id=seed, point_id="p", repeat=seed, capture=None, placement=None)
    return Run(
        file="f", session=cast("Any", SimpleNamespace(topology=None)), cell=Cell(sweep="s", tool=tool, options={}), sweep_title="", record=cast("Any", told), where="h",
        parsed=dataclasses.replace(parsed, tables={**parsed.tables, "measurements": table}),
    )  # fmt: skip


@pytest.mark.parametrize(("tool", "path"), TEXTS, ids=lambda of: getattr(of, "stem", of))
def test_what_leads_a_cell_is_one_number_in_every_repeat(tool: str, path: Path) -> None:
    """Of a mix `leading` was ±0 % where its reads had ±25 %: in each repeat it was the better direction."""
    try:
        parsed = get_parser(tool).parse(path.read_text())
    except ParseError:
        return
    runs = [repeat_of(tool, parsed, seed) for seed in range(1, 5)]
    told = record._leading(runs)

    if told:
        same = [own for own in record._numbers(runs, {}) if own["number"] == told["number"]]
        ends = {name: told[name] for name in ("median", "low", "high")}
        assert [{name: own[name] for name in ends} for own in same] == [ends]
        assert told["low"] < told["high"]


def test_a_pingpong_of_two_sizes_has_the_peak_that_leads_it(make: Any) -> None:
    parsed = get_parser("imb").parse(make.imb_text({8: 1.0, 16: 1.25}))
    told = record._leading([repeat_of("imb", parsed, seed) for seed in (1, 2, 3)])

    assert told
    assert (told["number"], told["unit"]) == ("peak bandwidth", "B/s")


@pytest.mark.parametrize(
    ("text", "option", "levels"),
    [
        ("poke/compute_sine.out", "loop", ("empty", "sine")),
        ("poke/compute_sine.out", "file_size", ("4kB", "1MB")),
        ("poke/compute_sine.out", "target", ("memory", "file")),
        ("fio/terse_v5.out", "rate_iops", (1000, 2000)),
        ("fio/terse_v5.out", "rwmixread", (10, 90)),
    ],
)
def test_cells_that_do_different_work_have_no_best(text: str, option: str, levels: tuple[Any, Any]) -> None:
    """An empty loop was "the best cell" beside a sine, and a limit of 2000 IOPS beside one of 1000."""
    tool = text.partition("/")[0]
    parsed = get_parser(tool).parse((FIXTURES / text).read_text())
    cells = [Repeats((repeat_of(tool, parsed, 1),)) for _ in levels]
    leaders = [cell.leader for cell in cells]
    assert numbers.have_best(cells, leaders)

    for cell, level in zip(cells, levels, strict=True):
        object.__setattr__(cell.first, "cell", Cell(sweep="s", tool=tool, options={option: level}))

    assert not numbers.have_best(cells, leaders)
