"""Tools without a module: numbers, charts and key numbers from what their parsers or experiments name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports import tools
from reports.document import Figure
from reports.measurements import measure
from reports.results.load import load

FIXTURES = Path(__file__).parents[2] / "fixtures"
METRICS = {
    "rate": {"regex": "rate ([0-9.]+)", "unit": "MB/s", "better": "higher"},
    "errors": {"regex": "errors ([0-9.]+)", "unit": "1"},
}


def figures(tool: str, path: Path) -> list[Figure]:
    measured = measure(load([path]), undirected=True)
    return list(tools.find(tool).figures(measured.tidy(tool), measured.keys(tool), measured.runs))


def program(make: Any, path: Path, cells: list[dict[str, Any]], **more: Any) -> Path:
    """Three runs of each cell; the rate is the product of its numbers."""
    maker = make.Maker(path / "r.db")
    for cell in cells:
        value = 1.0
        for option in cell.values():
            value *= option if isinstance(option, int) else len(option)
        for factor in (1.0, 1.01, 1.02):
            text = f"rate {100 * value * factor:.3f}\nerrors 0\n"
            maker.add("s", "command", {"command": "x", "metrics": METRICS, **cell}, text, axes=tuple(cell), **more)  # fmt: skip
    return Path(maker.write())


@pytest.mark.parametrize(
    ("cells", "kind", "points", "title"),
    [
        ([{"n": 1}, {"n": 2}, {"n": 8}], "n", [1, 2, 8], "Rate is highest at n=8: 808 MB/s"),
        ([{"alg": "a"}, {"alg": "bb"}], "cell", ["alg=a", "alg=bb"], "Rate is highest at alg=bb: 202 MB/s"),
        ([{"n": n, "alg": alg} for n in (1, 2, 4) for alg in ("a", "bb")], "n", [1, 1, 2, 2, 4, 4], "Rate is highest at n=4 alg=bb: 808 MB/s"),
    ],
)  # fmt: skip
def test_each_metric_is_a_figure_over_the_longest_numeric_axis(
    make: Any, tmp_path: Path, cells: list[dict[str, Any]], kind: str, points: list[Any], title: str
) -> None:
    rate, errors = figures("command", program(make, tmp_path, cells))

    assert sorted(row[kind] for row in rate.table.records()) == points  # type: ignore[type-var]
    assert (rate.title, errors.title.split()[0]) == (title, "Errors")


def test_axes_beyond_four_lines_are_panels(make: Any, tmp_path: Path) -> None:
    cells = [{"n": n, "alg": alg, "m": m} for n in (1, 2, 3) for alg in ("a", "bb", "ccc") for m in (5, 6)]

    rate, _ = figures("command", program(make, tmp_path, cells))

    assert {row["alg"] for row in rate.table.records()} == {"a", "bb", "ccc"}
    assert "facet" in rate.spec


def test_many_values_of_a_run_are_its_quantiles(make: Any, tmp_path: Path) -> None:
    metrics = {"t": {"regex": "t ([0-9.]+)", "unit": "ns", "better": "lower"}}
    text = "".join(f"t {i}\n" for i in range(1, 101))
    maker = make.Maker(tmp_path / "r.db").add("s", "command", {"command": "x", "metrics": metrics}, text)

    (figure,) = figures("command", maker.write())

    found = {row["statistic"]: row["median"] for row in figure.table.records()}
    assert found == pytest.approx({"median": 50.5, "p90": 90.1, "p99": 99.01, "maximum": 100.0})


def test_messages_are_the_axis_of_a_tool_that_sweeps_them(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db").add("s", "osu", {}, (FIXTURES / "osu" / "latency.out").read_text())

    (figure,) = figures("osu", maker.write())

    assert [row["message_size"] for row in figure.table.records()][:4] == [0, 1, 2, 4]


def test_the_best_cells_of_a_program_are_key_numbers(make: Any, tmp_path: Path) -> None:
    measured = measure(load([program(make, tmp_path, [{"n": 1}, {"n": 2}])]), undirected=True)

    found = tools.find("command").keys(measured.tidy("command"))

    assert found[["name", "context", "n"]].to_numpy().tolist() == [["rate", "n=1", 3], ["rate", "n=2", 3]]
