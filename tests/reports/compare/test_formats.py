"""A comparison as a document and for programs: whole whatever the names hold."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from junitparser import Failure, JUnitXml, Skipped

from reports.compare import formats
from reports.compare.comparison import Comparison, compare
from reports.compare.document import document
from reports.document import Table
from reports.page.document import page
from reports.render import terminal
from tests.reports.compare.conftest import command_file, of, rows


def tables(found: Comparison, **options: Any) -> Mapping[str, Table]:
    return {block.id: block for block in document(found, **options).blocks if isinstance(block, Table)}


def test_the_document_has_what_changed_worst_first(slow_remote: Comparison) -> None:
    found = tables(slow_remote)

    assert list(found) == ["sides", "differs", "numbers"]
    assert found["differs"].rows == (("kernel", "6.1.0-18-amd64", "6.1.0-21-amd64"),)
    numbers = found["numbers"].records()
    assert {row["verdict"] for row in numbers} == {"regressed"}
    assert [row["change"] for row in numbers] == sorted(row["change"] for row in numbers)  # type: ignore[type-var]
    assert len(terminal.render(document(slow_remote)).split()) < 190


def test_options_choose_the_rows(slow_remote: Comparison) -> None:
    counts = slow_remote.counts

    def shown(**options: Any) -> int:
        return len(tables(slow_remote, **options)["numbers"].rows)

    assert shown() == shown(only_changed=True) == counts["regressed"]
    assert shown(everything=True) == len(slow_remote.verdicts)
    assert shown(top=2) == 2 * sum(n > 0 for n in counts.values())


def test_nothing_in_the_answer_is_obeyed_by_a_terminal(hostile: Comparison) -> None:
    text = terminal.render(document(hostile, everything=True))

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert "\n::error" not in text


@pytest.mark.slow
def test_the_page_has_the_figures_and_no_script_of_a_name(hostile: Comparison, slow_remote: Comparison) -> None:
    assert "<script" not in page(document(hostile, page=True), static=True)
    figures = [figure.id for figure in document(slow_remote, page=True).figures()]
    assert figures[0] == "changes"
    assert figures[1].startswith("scaling-triad-bandwidth")


def test_github_gets_one_command_a_line_and_none_from_a_name(hostile: Comparison) -> None:
    lines = formats.as_github(hostile).splitlines()

    assert [line.split(" ", 1)[0] for line in lines] == ["::error"] * 4 + ["::warning"]
    titles = [line.split("::", 2)[1].partition("title=")[2] for line in lines]
    assert not any(sign in title for title in titles for sign in ",:\x1b")


def test_markdown_rows_have_as_many_cells_as_the_head(hostile: Comparison) -> None:
    text = formats.as_markdown(hostile)

    for part in text.split("\n\n"):
        lines = [line for line in part.splitlines() if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) <= 1
    assert not re.search(r"(?<!\\)<script|(?<!\\)\[a", text)


def test_junit_loads_where_ci_loads_it(hostile: Comparison, slow_remote: Comparison, tmp_path: Path) -> None:
    for found in (hostile, slow_remote):
        path = tmp_path / "junit.xml"
        path.write_text(formats.as_junit(found), encoding="utf-8")
        loaded = JUnitXml.fromfile(str(path))

        cases = [case for suite in loaded for case in suite]
        failed = [case for case in cases if any(isinstance(r, Failure) for r in case.result)]
        skipped = [case for case in cases if any(isinstance(r, Skipped) for r in case.result)]
        assert len(cases) == len(found.verdicts) + len(found.unmatched) == loaded.tests
        assert len(failed) == found.counts["regressed"] == loaded.failures
        open_ = [row for row in rows(found) if row["verdict"] in ("", "inconclusive")]
        assert len(skipped) == len(open_) + len(found.unmatched) == loaded.skipped


def test_a_cell_that_failed_in_b_is_an_error_for_ci(make: Any, tmp_path: Path) -> None:
    a = of("A", command_file(make, tmp_path / "a.db", [({"n": n}, "ok", "rate 5\n") for n in (1, 2, 2)]))
    b = of(
        "B",
        command_file(make, tmp_path / "b.db", [({"n": 1}, "ok", "rate 5\n"), *[({"n": 2}, "failed", "")] * 2]),
    )
    found = compare(a, b)

    root = ElementTree.fromstring(formats.as_junit(found))
    assert (root.attrib["errors"], [case.attrib["classname"] for case in root.iter("testcase") if case.find("error") is not None]) == ("1", ["s, n=2"])  # fmt: skip
    assert formats.as_github(found).count("::error title=failed") == 1
    assert json.loads(formats.as_json(found))["failures"] == [
        {"side": "B", "sweep": "s", "cell": "n=2", "reason": "no memory", "a": {"failed": 0, "runs": 2}, "b": {"failed": 2, "runs": 2}}
    ]  # fmt: skip


def test_json_holds_everything_in_base_units(slow_remote: Comparison) -> None:
    found = json.loads(formats.as_json(slow_remote), parse_constant=pytest.fail)

    assert found["counts"]["regressed"] == slow_remote.counts["regressed"]
    assert len(found["cells"]) == len(slow_remote.verdicts)
    first = found["cells"][0]
    kernel = first["labels"]["kernel"]
    assert (first["verdict"], first["unit"], first["better"]) == ("regressed", "B/s", "higher")
    assert first["name"] == {
        "metric": "bandwidth", "statistic": None, "unit": "B/s", "better": "higher", "kind": None,
        "labels": {"kernel": kernel}, "derived": False,
    }  # fmt: skip
    assert first["ratio"] == pytest.approx(first["b"]["median"] / first["a"]["median"], rel=0.01)
    assert len(first["a"]["runs"]) == 5
    assert first["labels"]["threads"] in (1, 2, 3, 4)


def test_wild_numbers_are_no_bad_json(make: Any, tmp_path: Path) -> None:
    """Two runs a side that differ by orders of magnitude: the interval has no upper end."""
    sides = []
    metrics = {"t": {"regex": r"t ([\d.e+-]+)", "unit": "s", "better": "lower"}}
    for name, values in (("A", ("1e-200", "1e200")), ("B", ("1e200", "1e-200"))):
        maker = make.Maker(tmp_path / f"{name}.db")
        for value in values:
            maker.add("s", "command", {"command": ["x"], "metrics": metrics}, f"t {value}\n")
        sides.append(of(name, maker.write()))
    found = compare(*sides)

    (cell,) = json.loads(formats.as_json(found), parse_constant=pytest.fail)["cells"]
    assert cell["high"] is None
    assert terminal.render(document(found, everything=True))
