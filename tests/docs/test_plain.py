"""The English of docs, help, messages, docstrings and a page is as plain as scripts/plain.toml asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.report.render import render_report
from scripts import plain
from tests.net.build import fio_jobs


def test_each_place_is_within_its_limit(tmp_path: Path) -> None:
    fio_jobs(tmp_path)
    page = render_report([tmp_path / "fio-jobs.db"], tmp_path / "page.html")

    measured = {place: plain.measure(lines) for place, lines in plain.places(page).items()}

    assert plain.failures(measured) == [], "python scripts/plain.py --list FILE shows the sentences"


@pytest.mark.parametrize(
    ("rule", "bad", "good"),
    [
        ("of", "Of each name the best is shown.", "The best result of each kind is shown, of course."),
        ("long", "A " + "long " * 26, "A " + "short " * 20),
        ("what", "It lists what is missing.", "It lists the missing runs."),
        ("no", "The file has no rows.", "There is no row in the file."),
        ("house", "Nobody can tell.", "The cause is not known."),
        ("colons", "One; two: three.", "One, two, three."),
        ("pronouns", "Its rows are theirs, not others.", "The rows are in the file."),
    ],
)
def test_each_rule_counts_its_pattern(rule: str, bad: str, good: str) -> None:
    assert plain.measure([bad])[rule] > plain.measure([good])[rule] == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A title here\n\nOne sentence is here. Two is `not much` code.\n\n| a | table row here |", 2),
        ("```\nsome code that is here\n```\n\n- an item of a list\n- [a link text](with/a/target)", 2),
    ],
)
def test_pages_are_read_without_code_and_tables(text: str, expected: int) -> None:
    assert len(plain.sentences(plain.markdown(text))) == expected
