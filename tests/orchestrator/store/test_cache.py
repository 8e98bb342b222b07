"""What is kept of a parsed text: the same comes back, what runs have in common is read once, what few want is read when they ask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.store import cache
from orchestrator.store.rows import Strange
from parsers import get_parser
from parsers.measurement import Numbered, Parsed, Table

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


def fio() -> Parsed:
    text = (FIXTURES / "fio" / "jsonplus_randrw.out").read_text(encoding="utf-8")
    return get_parser("fio").parse(text, {})


def slower(parsed: Parsed, factor: float) -> Parsed:
    """Return what the same run would have said on a slower machine."""
    table = parsed.measurements
    rows = tuple((*row[:-1], float(str(row[-1])) * factor) for row in table.rows)
    tables = {**parsed.tables, "measurements": Table(columns=table.columns, rows=rows)}
    return Parsed(tables=tables, flags=parsed.flags, facts=parsed.facts)


def kept(parsed: Parsed) -> Parsed:
    return cache.load_parsed(cache.dump_parsed(parsed), "run 1", ValueError)


def test_what_runs_have_in_common_is_read_once_and_kept_once() -> None:
    texts = [slower(fio(), 1 + n / 10) for n in range(5)]
    cache._kept_heads.cache_clear()

    read = [kept(parsed) for parsed in texts]

    assert read == texts
    assert [list(one.measured()) for one in read] == [list(text.measured()) for text in texts]
    assert cache._kept_heads.cache_info().misses == 1
    rows = [parsed.measurements.rows for parsed in read]
    assert len({id(own.heads) for own in rows if isinstance(own, Numbered)}) == 1


def test_a_histogram_is_read_when_somebody_asks() -> None:
    parsed = fio()
    cache._later.cache_clear()

    read = kept(parsed)

    assert list(read.tables) == list(parsed.tables)
    assert "histogram" in read.tables
    assert list(read.measured()) == list(parsed.measured())
    assert cache._later.cache_info().misses == 0
    assert read.tables["histogram"] == parsed.tables["histogram"]
    assert cache._later.cache_info().misses == 1


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda data: b"",
        lambda data: data[:2],
        lambda data: data[:4],
        lambda data: data[:20],
        lambda data: b"\xff\xff\xff\xff" + data[4:],
    ],
)
def test_what_was_cut_is_strange(spoilt: Callable[[bytes], bytes]) -> None:
    with pytest.raises(Strange):
        cache.load_parsed(spoilt(cache.dump_parsed(fio())), "run 1", ValueError)


def test_of_what_is_read_later_the_damage_is_told_then() -> None:
    data = cache.dump_parsed(fio())

    read = cache.load_parsed(data[:-100], "run 1", lambda what: KeyError(f"damaged: {what}"))

    assert list(read.measured()) == list(fio().measured())
    with pytest.raises(KeyError, match="damaged: run 1: it ends too early"):
        _ = read.tables["histogram"]


def test_a_table_larger_than_any_sweep_shares_stays_whole() -> None:
    rows = tuple((str(n), "latency", "ns", float(n)) for n in range(cache._MOST_HEADS + 1))
    parsed = Parsed(tables={"measurements": Table(columns=("n", "metric", "unit", "value"), rows=rows)})

    read = kept(parsed)

    assert read == parsed
    assert read.measurements.rows == rows
