"""The table of the best cells above many figures, and the contents of a long page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from reports.page.html import html
from reports.page.model import Page
from reports.report import build
from reports.results.load import load

METRICS = {
    "rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"},
    "lat": {"regex": r"lat ([\d.]+)", "unit": "us", "better": "lower"},
    "n": {"regex": r"n ([\d.]+)", "better": "neither"},
}
VALUES = {1: (98.0, 102.0), 2: (190.0, 200.0), 4: (400.0, 401.0), 8: (300.0, 500.0)}


def page(make: Any, path: Path, *, sweeps: int = 7, metric: str = "rate") -> Page:
    """Sweeps over threads, of which sweep i has VALUES × (i + 1)."""
    maker = make.Maker(path)
    for i in range(sweeps):
        for threads, values in VALUES.items():
            for value in values:
                options = {"command": f"c{i}", "metrics": {metric: METRICS[metric]}, "threads": threads}
                maker.add(
                    f"s{i}",
                    "command",
                    options,
                    f"{metric} {value * (i + 1):.2f}\n",
                    axes=("threads",),
                    sweep_title=f"Sweep {i}",
                )
    return build.build(load([maker.write()]))


def summary(of: Page) -> list[dict[str, str]]:
    found = [f for s in of.sections if s.anchor == "summary" for b in s.blocks for f in b.figures]
    return [dict(zip(t.columns, row, strict=True)) for f in found for t in f.tables for row in t.rows]


@pytest.mark.parametrize(
    ("metric", "cell", "first"),
    [("rate", "threads=4; repeats of 1 overlap", "400.5"), ("lat", "threads=1", "100"), ("n", "–", "–")],
)
def test_each_sweep_has_its_best_cell_as_its_metric_says(
    make: Any, tmp_path: Path, metric: str, cell: str, first: str
) -> None:
    """8 threads have the highest repeat, and a median below that of 4: equal medians are named, the highest repeat is no best."""
    rows = summary(page(make, tmp_path / "r.db", metric=metric))

    assert [row["Sweep"] for row in rows] == [f"Sweep {i}" for i in range(7)]
    assert {row["Best cell"] for row in rows} == {cell}
    assert {row["By"] for row in rows} == {
        {"rate": "rate, higher is better", "lat": "lat, lower is better", "n": "n"}[metric]
    }
    if metric == "rate":
        assert (rows[0]["Value"], rows[0]["Repeats"]) == ("400 MB/s", "400 MB/s to 401 MB/s")
    if metric == "lat":
        assert (rows[0]["Value"], rows[0]["Repeats"]) == ("100 µs", "98.0 µs to 102 µs")


@pytest.mark.parametrize(
    ("metric", "title"),
    [("rate", "The best cell of each sweep"), ("lat", "threads=1 is best in all 7 sweeps"), ("n", "The best cell of each sweep")],
)  # fmt: skip
def test_a_cell_that_is_best_everywhere_is_the_title(
    make: Any, tmp_path: Path, metric: str, title: str
) -> None:
    built = page(make, tmp_path / "r.db", metric=metric)

    assert [f.title for s in built.sections if s.anchor == "summary" for b in s.blocks for f in b.figures] == [title]  # fmt: skip


def test_what_two_files_of_a_host_measured_has_no_median_of_both(make: Any, tmp_path: Path) -> None:
    """Two sessions of 4 threads at 400 and 401 MB/s, and at 900: the best is that of the second file, and says so."""
    page(make, tmp_path / "a.db")
    maker = make.Maker(tmp_path / "b.db")
    options = {"command": "c0", "metrics": {"rate": METRICS["rate"]}, "threads": 4}
    maker.add("s0", "command", options, "rate 900\n", axes=("threads",), sweep_title="Sweep 0")
    results = load([tmp_path / "a.db", maker.write()])

    first, second, *_ = summary(build.build(results))

    assert (first["Best cell"], first["Value"], first["Repeats"]) == (
        "node07, b.db: threads=4",
        "900 MB/s",
        "–",
    )
    assert first["Cells"] == "5"
    assert second["Best cell"] == "threads=4; repeats of 1 overlap"


def test_six_figures_have_no_summary_and_no_contents(make: Any, tmp_path: Path) -> None:
    built = page(make, tmp_path / "r.db", sweeps=6)

    assert summary(built) == []
    assert 'class="toc"' not in html(built, static=True)


@pytest.mark.parametrize("static", [True, False])
def test_the_contents_lead_to_every_figure_by_its_number(make: Any, tmp_path: Path, static: bool) -> None:
    built = page(make, tmp_path / "r.db")
    text = html(built, static=static)

    (contents,) = re.findall(r'<nav class="toc".*?</nav>', text, re.DOTALL)
    links = re.findall(r'<a href="#([^"]+)"><span>((?:Table )?\d+)</span> ([^<]*)</a>', contents)
    figures = re.findall(
        r'<figure class="fig[^"]*" id="([^"]+)">\s*<figcaption><h3><span class="fn">([^<]+)</span> ([^<]*)</h3>',
        text,
    )
    assert links == [(at, number.removeprefix("Figure "), title) for at, number, title in figures]
    assert len(links) == 8
    assert "8 figures and tables" in contents
    assert re.findall(r'<li><a href="#(summary|other-programs)">', contents) == ["summary", "other-programs"]


@pytest.mark.usefixtures("undrawn")
@pytest.mark.slow
def test_the_contents_count_what_is_doubted(make: Any, tmp_path: Path, full_built: Page) -> None:
    doubted = [f for s in full_built.sections for b in s.blocks for f in b.figures if f.doubt]
    text = html(full_built, static=True)

    assert doubted
    assert f"⚠ {len(doubted)} with doubtful cells" in text
    for section in full_built.sections:
        own = [f for b in section.blocks for f in b.figures if f.doubt]
        if own:
            assert (
                f'<a href="#{section.anchor}">{section.title}</a> <span class="un">⚠ {len(own)}</span>'
                in text
            )
