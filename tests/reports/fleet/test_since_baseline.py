"""In what the hosts of a fleet differ from the baseline that they are compared with."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.fleet import outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.results.load import load
from reports.results.model import Results

pytestmark = pytest.mark.usefixtures("undrawn")


def sessions(make: Any, folder: Path, facts: Sequence[Mapping[str, str]]) -> Results:
    """Two sessions of a host for each of some facts."""
    folder.mkdir()
    files = []
    for n, own in enumerate(facts):
        for day in (1, 2):
            maker = make.Maker(folder / f"n{n}-{day}.db", host=f"n{n}")
            maker.started, maker.ended = (f"2026-11-0{day}T0{hour}:00:00+00:00" for hour in (1, 2))
            maker.facts = {**make.FACTS, "kernel_command_line": f"root=disk{n}", **own}
            maker.add("s", "stream", {"threads": 4}, make.stream_text(20e3, 4))
            files.append(maker.write())
    return load(files)


OLD, NEW = {"bios_version": "1.1", "kernel": "6.1"}, {"bios_version": "1.2", "kernel": "6.1"}


@pytest.mark.parametrize(
    ("past", "now", "said"),
    [
        ([OLD] * 5, [NEW] * 5, "firmware version 1.2, the baseline 1.1"),
        ([OLD] * 5, [OLD] * 4 + [NEW], "firmware version 1.1 or 1.2, the baseline 1.1"),
        ([OLD] * 2 + [NEW] * 3, [NEW] * 5, ""),
        ([OLD] * 5, [OLD] * 5, ""),
        ([OLD] * 5, [{**NEW, "kernel": "6.8"}], "firmware version 1.2, the baseline 1.1; kernel 6.8, the baseline 6.1"),
    ],
)  # fmt: skip
def test_what_the_baseline_had_otherwise_stands_below_the_group(
    make: Any, tmp_path: Path, past: list[dict[str, str]], now: list[dict[str, str]], said: str
) -> None:
    """A fleet that was 8 % slower than before its firmware was told without the firmware."""
    report = outliers.build(
        sessions(make, tmp_path / "now", now), baseline=sessions(make, tmp_path / "past", past)
    )

    assert report.groups[0].changed == said
    assert (f"\n  {said}\n" in f"{fleet_text.as_text(report)}\n") == bool(said)
    checks = fleet_page.build(report, title="t", links={}).checks
    told = [check.text for check in checks if check.subject == "Not as the baseline was."]
    hosts = "n0" if len(now) == 1 else f"n[0-{len(now) - 1}]"
    assert told == ([f"{hosts}: {said}."] if said else [])
    (group,) = json.loads(fleet_text.as_json(report))["groups"]
    assert ("firmware version" in {one["what"] for one in group["since_baseline"]}) == bool(said)


def test_without_a_baseline_nothing_is_told(make: Any, tmp_path: Path) -> None:
    report = outliers.build(sessions(make, tmp_path / "now", [OLD] * 5 + [NEW] * 5))
    assert report.groups[0].since == ()
