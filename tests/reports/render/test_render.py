"""Each renderer with one document, which holds every kind of block and text that nothing may obey."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.document import (
    Block,
    Column,
    Document,
    Figure,
    Fold,
    Heading,
    Interval,
    Quantity,
    Table,
    Text,
    Value,
)
from reports.render import html as page
from reports.render import json, latex, markdown, paper, terminal, typst
from reports.render.grid import Grid, grid, text
from reports.text.screen import Screen

HOSTILE = "<b>[red]|\x1b[31m\u202e`x`"
TABLE = Table(
    id="rates",
    title="Rates",
    columns=(
        Column(name="host"),
        Column(name="threads"),
        Column(name="rate", unit="B/s"),
        Column(name="range", unit="B/s"),
        Column(name="change", unit="%", signed=True),
        Column(name="latency"),
        Column(name="verdict"),
    ),
    rows=(
        (HOSTILE, 1, 1.77e10, Interval(1.65e10, 1.9e10, "B/s"), 0.042, Quantity(114e3, "ns"), "same"),
        ("n2", 2, 2.04e10, None, -0.59, Quantity(1.53e6, "ns"), "regressed"),
        ("n3", 4, None, None, None, None, None),
    ),
    flags=("", "G11, F1", ""),
    most=2,
)
FIGURE = Figure(id="f", title="Rate by threads", spec={}, table=TABLE, caption="Lines.", about="Medians.", flags="F1")
DOCUMENT = Document(
    title=f"A first look {HOSTILE}",
    blocks=(
        Heading("Part"),
        Text("30 of 32 runs ok"),
        Text("repeats differ widely", "warning"),
        TABLE,
        FIGURE,
        Fold("Details", (Text(f"folded {HOSTILE}"),)),
        Text("pinsweep audit q.db", "next"),
    ),
)


def test_terminal() -> None:
    lines = terminal.render(DOCUMENT).split("\n")

    assert lines[0] == "A first look <b>[red]|�[31m�`x`"
    first = lines.index("Rates")
    assert [line.split() for line in lines[first + 1 : first + 5]] == [
        ["host", "threads", "rate", "(GB/s)", "range", "(GB/s)", "change", "latency", "verdict"],
        ["<b>[red]|�[31m�`x`", "1", "17.7", "16.5", "to", "19.0", "+4.2", "%", "114", "µs", "same"],
        ["n2", "2", "⚠", "20.4", "–", "−59", "%", "1.53", "ms", "regressed", "G11,", "F1"],
        ["and", "1", "more"],
    ]
    assert lines[-1] == "pinsweep audit q.db"
    assert not any("folded" in line for line in lines)


@pytest.mark.parametrize("width", [40, 60, 100])
def test_a_terminal_obeys_nothing_and_cuts_no_number(width: int) -> None:
    coloured = terminal.render(DOCUMENT, Screen(width=width, terminal=True, colours=True))
    bare = re.sub("\x1b\\[[0-9;]*m", "", coloured)

    assert coloured != bare
    assert terminal.render(DOCUMENT, Screen(width=width, terminal=True)) == bare
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", bare)
    for number in ("1.53 ms", "16.5 to 19.0", "−59 %", "G11", "threads"):
        assert number in bare


def test_html() -> None:
    shown = page.render(DOCUMENT, lambda figure: f"<svg data-id='{figure.id}'/>")

    assert HOSTILE.replace("\x1b", "�").replace("\u202e", "�") in html.unescape(shown)
    assert "<b>" not in shown
    assert not re.search("[\x1b\u202e]", shown)
    assert shown.count("<svg data-id='f'/>") == 1
    assert "Figure 1" in shown
    assert shown.count('<a href="#check-G11">G11</a>') == 2
    assert re.findall(r"<summary>(.*?)</summary>", shown) == ["About this figure", "Numbers", "Details"]
    assert shown.count("n3") == 2  # a page shows more rows than a terminal


def test_markdown() -> None:
    shown = markdown.render(DOCUMENT, lambda _: "figures/f.svg")

    assert "| n2 | 2 | ⚠ 20.4 | – | −59 % | 1.53 ms | regressed | G11, F1 |" in shown.split("\n")
    assert r"# A first look \<b\>\[red\]\|�\[31m�\`x\`" in shown.split("\n")
    assert "![Rate by threads](figures/f.svg)" in shown
    assert "figures/f.svg" not in markdown.render(DOCUMENT)


def test_latex() -> None:
    shown = latex.render(DOCUMENT.blocks, {"f": ("figures/f", 120.0)})

    assert r"\includegraphics[width=120mm]{figures/f.pdf}" in shown
    assert r"n2 & 2 & \ensuremath{\triangle} 20.4" in shown
    assert shown.count(r"\captionof{table}{Rates}") == 1
    assert r"\textless{}b\textgreater{}" in shown


def test_typst() -> None:
    shown = typst.render(DOCUMENT.blocks, {"f": ("figures/f", 120.0)})

    assert 'image("figures/f.svg", width: 120mm' in shown
    assert "[n2], [2], [⚠ 20.4]" in shown
    assert r"\<b\>" in shown


@given(
    st.lists(st.lists(st.text("abc 0123", max_size=60), min_size=6, max_size=6), min_size=1, max_size=5),
    st.frozensets(st.integers(0, 5)),
)
def test_a_table_is_not_wider_than_its_page(rows: list[list[str]], numbers: frozenset[int]) -> None:
    shown = Grid(
        headings=tuple(f"column {i}" for i in range(6)), rows=tuple(map(tuple, rows)), numeric=tuple(i in numbers for i in range(6)),
        flags=(), more=0, marked=0,
    )  # fmt: skip
    form = paper.shape(shown)

    if form:
        width = sum(share * paper.WIDTH_MM or max(map(len, texts)) * form.points * 0.2 for share, texts in zip(form.shares, zip(shown.headings, *shown.rows, strict=True), strict=True))  # fmt: skip
        assert width <= paper.WIDTH_MM
        assert not any(share for i, share in enumerate(form.shares) if i in numbers)


def test_a_narrow_terminal_leaves_out_spare_columns() -> None:
    columns = (Column(name="a"), Column(name="spare", spare=True), Column(name="day", unit="date"))
    table = Table(columns=columns, rows=(("x" * 10, "y" * 10, 1790820000.0),))

    shown = [terminal.render(Document(title="", blocks=(table,)), Screen(width=w, terminal=True)) for w in (60, 30)]  # fmt: skip
    assert ["spare" in text for text in shown] == [True, False]
    assert all("2026-10-01" in text for text in shown)


def test_json() -> None:
    shown = json.render(DOCUMENT)

    assert shown["rates"][1] == {
        "host": "n2", "threads": 2, "rate": 2.04e10, "range": None, "change": -0.59, "latency": 1.53e6, "latency_unit": "ns",
        "verdict": "regressed", "flags": "G11, F1",
    }  # fmt: skip
    assert (shown["rates"][0]["range_low"], shown["rates"][0]["range_high"]) == (1.65e10, 1.9e10)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (4096, "B", "4 KiB"),
        (12.34, "s", "12.3 s"),
        (8660.0, "IOPS", "8.66 kIOPS"),
        (True, "", "yes"),
        (None, "ns", "–"),
        (float("nan"), "ns", "–"),
        (Interval(-0.68, -0.48, "%"), "", "−68 to −48 %"),
        (Interval(100.0, 2000.0, "ns"), "", "100 to 2\u202f000 ns"),
        (1234567, "", "1234567"),
    ],
)
def test_a_value_with_its_unit(value: Value, unit: str, shown: str) -> None:
    assert text(value, unit) == shown


def test_numbers_far_apart_have_their_own_units() -> None:
    table = Table(columns=(Column(name="latency", unit="ns"),), rows=((80.0,), (2e9,)))

    assert grid(table).headings == ("latency",)
    assert grid(table).rows == (("80 ns",), ("2.00 s",))


@pytest.mark.parametrize("block", [Table(columns=(Column(name="a"),), rows=()), Table(columns=(), rows=())])
def test_a_table_without_rows(block: Block) -> None:
    document = Document(title="t", blocks=(block,))

    assert terminal.render(document) == "t"
    page.render(document)
    markdown.render(document)
