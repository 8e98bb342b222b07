"""What is said of made-up fleets: text, JSON, page and exit status accuse the same hosts, and those that are slow.

Fleets of 8 to 60 hosts of several kinds, written through the store: slow hosts, lost modules, other thread counts, several files of a
host and several hosts in a file, in any order.
"""

from __future__ import annotations

import json
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reports.draw.figure import Figure
from reports.fleet import heat, outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.page import html
from reports.results.load import load
from reports.verdicts.fleet import Metric, Strip

KINDS = ((8, 32), (12, 64), (18, 16), (24, 32), (32, 32))
"""Modules, GiB of each."""
SESSIONS = 3


@dataclass
class Made:
    """A fleet and the truth about it, by host."""

    files: list[Path]
    slow: set[str] = field(default_factory=set)  # judged against others like them
    lost: set[str] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)


def made(make: Any, folder: Path, seed: int, size: int) -> Made:
    """Write a fleet. Every host has SESSIONS sessions of one boot each; noise is 0.5 %, slow is 12 % or more."""
    chance = random.Random(seed)
    kinds = chance.sample(KINDS, 1 if size < 20 else 2)
    hosts = [f"n{i:03}" for i in range(size)]
    chance.shuffle(hosts)
    fleet_ = Made([])
    of = {host: kinds[i % len(kinds)] for i, host in enumerate(hosts)}
    odd = iter(chance.sample(hosts, 5))
    slow = {host: chance.choice((0.12, 0.3)) for host in (next(odd), next(odd))}
    lost, few = next(odd), next(odd)
    alike = {kind: [h for h in hosts if of[h] == kind and h != lost] for kind in kinds}
    fleet_.slow = {host for host in slow if len(alike[of[host]]) >= 8}
    fleet_.lost, fleet_.threads = {lost}, {few}
    shared = chance.random() < 0.5  # files of several hosts
    for session in range(SESSIONS):
        for i, host in enumerate(hosts):
            modules, gib = of[host]
            name = (
                f"part{i % 4}.db"
                if shared
                else f"{host}-{session}.db"
                if chance.random() < 0.5
                else f"{host}.db"
            )
            maker = make.Maker(folder / name, host=host)
            left = (modules - (host == lost)) * gib * (1 - 0.016) - 2 - chance.choice((0, 0.25, 0.5))
            maker.facts = {**make.FACTS, "cpu_model": f"CPU {modules}", "memory_bytes": round(left * 2**30), "boot_id": f"{host} {session}"}  # fmt: skip
            threads = 8 if host == few else 16
            rate = 20e3 * chance.gauss(1, 0.005) * (0.5 if host == few else 1) / (1 + slow.get(host, 0))
            repeat = _sessions(folder / name) + 1
            maker.add("s", "stream", {"array_size": 1000}, make.stream_text(rate, threads), repeat=repeat)
            times = {size: 2.0 * chance.gauss(1, 0.005) * (1 + slow.get(host, 0)) for size in (0, 1024)}
            maker.add(
                "p",
                "imb",
                {"benchmark": "PingPong"},
                make.imb_text({k: v * 100 for k, v in times.items()}),
                repeat=repeat,
            )
            path = maker.write()
            if path not in fleet_.files:
                fleet_.files.append(path)
    return fleet_


def _sessions(path: Path) -> int:
    if not path.exists():
        return 0
    with sqlite3.connect(path) as db:
        return int(db.execute("SELECT count(*) FROM session").fetchone()[0])


def _sentences(figure: Figure) -> Iterator[str]:
    yield figure.title
    for panel in figure.panels:
        yield from (row["text"] for row in panel.wide["datasets"]["names"])


@pytest.mark.parametrize(
    ("seed", "size"),
    [pytest.param(*of, marks=pytest.mark.slow) for of in ((0, 9), (1, 24), (2, 60))],
)
def test_a_fleet_is_told_as_it_is_and_everywhere_alike(
    make: Any, tmp_path: Path, seed: int, size: int
) -> None:
    truth = made(make, tmp_path, seed, size)
    report = outliers.build(load(truth.files))
    assert set(report.accused) == truth.slow

    document = json.loads(fleet_text.as_json(report))
    assert set(document["accused"]) == truth.slow
    assert {n for word in ("slow", "broken") for n in document["nodes"].get(word, ())} == truth.slow
    assert {o["node"] for o in document["odd"] if o["verdict"] in ("slow", "broken")} == truth.slow

    text = fleet_text.as_text(report, everything=True)
    page = fleet_page.build(report, title="t", links={})
    assert {s.host for s in page.sections[-1].blocks[0].suspects if s.bad} == truth.slow
    assert all(check.counted for check in page.checks if check.items)  # what opens them says what they are
    named = html.html(page)
    for host in truth.slow:
        assert re.search(rf"^{host}  +(slow|broken)", text, re.MULTILINE), text
        assert f"{host}: " in named
    maps, figures = (section.blocks[0].figures for section in page.sections)
    drawn = {n for n in truth.slow for f in figures for p in f.panels for row in p.wide["datasets"]["names"] if n in row["text"]}  # fmt: skip
    assert drawn == truth.slow
    for figure, group in zip(
        maps, (g for g in report.groups if any(s.middle for _, s in g.strips)), strict=True
    ):
        slow = truth.slow & set(group.hosts)
        assert figure.title.startswith({0: "None", 1: "One", 2: "Two"}[len(slow)])

    lost, few = *truth.lost, *truth.threads
    assert any(g.apart and lost in g.hosts for g in report.groups)
    assert [(u.hosts, u.reason.split(",")[0]) for u in report.unmatched] == [((few,), "threads=8")]
    assert few in named.split("Not compared.")[1]

    suspects = page.sections[-1].blocks[0].suspects
    changes = {row[s.numbers.columns.index("Change")] for s in suspects for row in s.numbers.rows}
    said = " ".join([page.sentence, *(one for figure in (*maps, *figures) for one in _sentences(figure))])
    for percent in re.findall(r"[+−]?[\d.]+ %(?! worse)", said):
        assert percent in changes

    chance = random.Random(seed)
    order = chance.sample(truth.files, len(truth.files))
    again = outliers.build(load(order))
    assert fleet_text.as_text(again, everything=True) == text
    assert fleet_text.as_json(again) == fleet_text.as_json(report)
    assert html.html(fleet_page.build(again, title="t", links={})) == named

    if seed == 0:
        command = [sys.executable, "-m", "pinsweep", "fleet", *map(str, order)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == bool(truth.slow)


def test_equal_values_are_not_said_to_differ_by_nothing() -> None:
    """ "Hosts differ by 0 %" of values that a clock's step makes equal, beside "≤ 0.35 %" of the same in the table of numbers."""
    assert heat.differ_by(0.0) == "no difference seen"
    assert heat.differ_by(0.0042) == "0.42 %"


@pytest.mark.parametrize(
    ("past", "said"), [((0, 0), "hosts"), ((3, 2), "baseline"), ((3, 0), "both"), ((), "hosts")]
)
def test_what_hosts_are_compared_with_is_told_in_one_place(past: tuple[int, ...], said: str) -> None:
    strips = [
        Strip(metric=Metric(key=i, better="lower", values={}, baseline=(1.0,) * n), middle=None, spread=None, hosts=())
        for i, n in enumerate(past)
    ]  # fmt: skip

    assert outliers.against(strips) == said
