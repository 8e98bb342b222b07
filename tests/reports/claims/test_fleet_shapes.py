"""What is said of fleets of unlike shapes: numbers that some hosts lack, rules of a site, a baseline that lacks numbers, medians of 0,
one session a host. Every count and distance is made again from the figures that were written."""

from __future__ import annotations

import random
import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reports.fleet import outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.fleet.limits import parse
from reports.results.load import load
from reports.text.screen import Screen

METRICS = {
    "rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"},
    "took": {"regex": r"took (\S+)", "unit": "us", "better": "lower"},
}
FLOOR = {"rate": 1000.0, "took": 100.0}
"""The rules' bound, in the unit that is printed."""


@dataclass
class Shape:
    """What was written: (sweep, metric) → host → the value of each session; the same of the baseline's hosts."""

    hosts: list[str]
    values: dict[tuple[str, str], dict[str, list[float]]] = field(default_factory=dict)
    past: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    ruled: tuple[str, str] | None = None

    def middle(self, number: tuple[str, str]) -> float | None:
        """Return what hosts are compared with."""
        if number in self.past:
            return statistics.median(self.past[number])
        own = [statistics.median(of) for of in self.values[number].values()]
        return statistics.median(own) if len(own) >= 8 else None

    def compared(self) -> list[tuple[str, str]]:
        return [number for number in self.values if self.middle(number)]

    def worse(self, number: tuple[str, str], host: str) -> float:
        middle = self.middle(number)
        assert middle
        return (1 if number[1] == "took" else -1) * (
            statistics.median(self.values[number][host]) / middle - 1
        )


def written(make: Any, folder: Path, host: str, sweeps: dict[str, dict[str, list[float]]]) -> Path:
    """Write a file of a host; sweep → metric → the value of each session."""
    for session in range(max(len(v) for own in sweeps.values() for v in own.values())):
        maker = make.Maker(folder / f"{host}.db", host=host)
        maker.facts = {**make.FACTS, "boot_id": f"{host} {session}"}
        for sweep, own in sweeps.items():
            text = "".join(f"{name} {values[session]:.2f}\n" for name, values in own.items())
            maker.add(
                sweep,
                "command",
                {"command": ["x"], "metrics": {k: METRICS[k] for k in own}},
                text,
                repeat=session + 1,
            )
        path: Path = maker.write()
    return path


def made(make: Any, folder: Path, seed: int) -> tuple[Shape, list[Path], list[Path]]:
    chance = random.Random(seed)
    shape = Shape([f"n{i}" for i in range(9)])
    slow, sessions = chance.choice(shape.hosts), 1 if seed % 4 == 3 else 3
    few = set(chance.sample(shape.hosts, 3)) | {slow}
    faults = {"s": 0.12} if seed % 2 else {"s": 0.12, "t": 0.2}
    zero = chance.choice(["t", "s", ""])
    if seed % 3 == 0:
        shape.ruled = "s", chance.choice(["rate", "took"])
    files = []
    for host in shape.hosts:
        own: dict[str, dict[str, list[float]]] = {}
        for sweep in ("s", "t", "u") if host in few else ("s", "t"):
            worse = 1 + faults.get(sweep, 0.0) * (host == slow)
            scale = [worse * chance.gauss(1, 0.003) for _ in range(sessions)]
            lags = [1 + (s - 1) * (sweep == "t") for s in scale]  # of s the rate alone
            own[sweep] = {
                "rate": [round(1000 / s, 2) for s in scale],
                "took": [round(0.0 if zero == sweep else 100 * s, 2) for s in lags],
            }
            for metric, values in own[sweep].items():
                shape.values.setdefault((sweep, metric), {})[host] = values
        files.append(written(make, folder, host, own))
    past = []
    if seed % 2:
        for i in range(5):
            own = {"t": {"rate": [round(1020 * chance.gauss(1, 0.003), 2)], "took": [round(97 * chance.gauss(1, 0.003), 2)]}}  # fmt: skip
            for metric, values in own["t"].items():
                shape.past.setdefault(("t", metric), []).extend(values)
            past.append(written(make, folder, f"good{i}", own))
    return shape, files, past


def number_of(name: str) -> tuple[str, str]:
    sweep, _, metric = name.partition(": ")
    return sweep, metric


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.slow
def test_what_is_said_of_a_fleet_of_unlike_numbers_holds(seed: int, make: Any, tmp_path: Path) -> None:
    shape, files, past = made(make, tmp_path, seed)
    rules = ()
    if shape.ruled:
        sweep, metric = shape.ruled
        floor = f"{FLOOR[metric] * (1.1 if metric == 'rate' else 0.9):g} {METRICS[metric]['unit']}"
        rules = parse(f"rules:\n - {{metric: {metric}, sweep: {sweep}, floor: {floor}}}\n", "r.yaml")
    report = outliers.build(load(files), rules=rules, baseline=load(past) if past else None)
    page = fleet_page.build(report, title="t", links={})
    text = fleet_text.as_text(report)
    lines_of_hosts(shape, report)
    baseline(shape, page, text)
    counts(shape, report, page, text)


def lines_of_hosts(shape: Shape, report: outliers.Report) -> None:
    """A line a host on a terminal: in how many numbers of which sweeps, which way, and what of the rest is normal."""
    seen = set()
    for line in fleet_text.folds(report, Screen(terminal=True, width=400)).splitlines()[:-1]:
        names, _, what = re.fullmatch(r"(\S+) +(\w+) +(.+)", line).groups()  # type: ignore[union-attr]
        hosts = {f"n{i}" for part in re.findall(r"\d+(?:-\d+)?", names) for i in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}  # fmt: skip
        seen |= hosts
        for host in hosts:
            odd = {(o.series.key.sweep, o.series.key.name.words): o for o in report.odd if o.host == host}
            own = [number for number, values in shape.values.items() if host in values]
            normal = [n for n in own if n not in odd and shape.middle(n)]
            told = re.search(r"(?:the other (\d+)|(\d+) others?) normal", what)
            if told:
                assert int(told[1] or told[2]) == len(normal)
                assert what.startswith("only ")
            left = re.search(r"(\d+) not compared", what)
            if "normal" in what or left:
                assert int(left[1] if left else 0) == len(own) - len(normal) - len(odd)
            if "all that was compared" in what:
                assert not normal
            numbers = re.search(r"; (\d+) numbers?(?: each)?(?:,|$)", what)
            assert numbers
            assert int(numbers[1]) == len(odd)
            for number in odd:
                assert bool(re.search("below the floor|above the ceiling|beyond the floor", what)) >= (
                    number == shape.ruled
                )
        for part in what.split("; "):
            sweep = re.search(
                r"only (\w+):|(?:all(?: \d+ compared numbers)?|the one compared number|\d+ of \d+ numbers?) of (\w+)",
                part,
            )
            if not sweep and not part.startswith("all that was compared"):
                continue
            of = [
                o
                for o in report.odd
                if o.host in hosts and (not sweep or o.series.key.sweep in sweep.groups())
            ]
            sides = [
                [shape.worse((o.series.key.sweep, o.series.key.name.words), o.host) for o in of if (o.found.status == "fast") == fast]
                for fast in (False, True)
            ]  # fmt: skip
            said = "worse" in part, "better" in part
            assert said in [(any(w > 0 for w in side), any(w < 0 for w in side)) for side in sides if side], (
                line
            )
    assert seen == {o.host for o in report.odd}


def baseline(shape: Shape, page: Any, text: str) -> None:
    """What hosts are compared with: a baseline, each other, or some of both."""
    lacks = [number for number in shape.values if number not in shape.past]
    (heated,), (figure,) = (section.blocks[0].figures for section in page.sections)
    methods = " ".join(page.methods)
    if not shape.past:
        assert "baseline" not in text + figure.sub + heated.note
        assert "what they are compared with is the median of the hosts" in methods
        return
    found = re.search(r"compared with a baseline of 5 sessions, which lacks (\d+) of (\d+) numbers \(.*\): compared with each other where", text)  # fmt: skip
    assert found
    assert (int(found[1]), int(found[2])) == (len(lacks), len(shape.values))
    for said in (figure.sub, heated.note):
        assert "the median of the baseline (of what it lacks, of all)" in said
    assert "where it has the number of their kind, else the median of the hosts" in methods


def counts(shape: Shape, report: outliers.Report, page: Any, text: str) -> None:
    """Key numbers, titles, and what is not compared at all."""
    keys = {key.name: (int(key.value), key.context) for key in page.key_numbers}
    compared = shape.compared()
    whole = all(len(shape.values[number]) == len(shape.hosts) for number in compared)
    assert keys["Numbers"][0] == len(compared)
    assert keys["Numbers"][1].startswith("compared on each host" if whole else "compared, not each on every")
    zero = [number for number in shape.values if shape.middle(number) == 0]
    found = re.search(r"(\d+) of (\d+) numbers not compared, since (?:its|their) median is 0 or below", text)
    assert (int(found[1]), int(found[2])) == (len(zero), len(shape.values)) if found else not zero
    again = [o.found for o in report.odd if o.host in report.rerun and o.found.status == "suspicious"]
    few = any(len(shape.values["s", "rate"][host]) < 3 for host in report.rerun)
    assert keys["To measure again"][0] == len(report.rerun)
    assert ("fewer than three sessions" in keys["To measure again"][1]) == few
    assert ("sessions that disagree" in keys["To measure again"][1]) == any(
        "disagree" in f.reason for f in again
    )
    assert ("may be chance" in keys["To measure again"][1]) == any("chance" in f.reason for f in again)
    assert ("nobody" in keys["To measure again"][1]) == (not report.rerun)
    for figure in page.sections[0].blocks[0].figures:
        assert not figure.title.endswith("is slow") or report.accused
        scales = figure.numbers[0]
        at = scales.columns.index("Repeats differ by (half the range)")
        assert {row[at] for row in scales.rows} == {"–"}  # one run a session: not "0 %"


def test_a_row_of_the_strips_is_the_number_that_its_caption_tells(make: Any, tmp_path: Path) -> None:
    """n0 is 40 % slow where hosts differ by 3 %, and 20 % where they do not: further off in the first, and odder in the second. Of the other
    sweep, where nobody is odd, one number stands there, in which hosts do not differ most."""
    files = []
    for i in range(9):
        maker = make.Maker(tmp_path / f"n{i}.db", host=f"n{i}")
        off = (i - 4) * 0.007
        rates = {"s": (1000 * (1 + off) * (0.6 if not i else 1), 1000 * (0.8 if not i else 1)), "t": (1000, 1000 * (1 + off / 10))}  # fmt: skip
        for sweep, own in rates.items():
            for level, rate in enumerate(own):
                options = {"command": ["x"], "metrics": {"rate": METRICS["rate"]}, "a": level}
                maker.add(sweep, "command", options, f"rate {rate:.2f}\n", axes=("a",))
        files.append(maker.write())
    (figure,) = (
        fleet_page.build(outliers.build(load(files)), title="t", links={}).sections[-1].blocks[0].figures
    )

    rows = [row["text"] for drawn in figure.panels for row in drawn.wide["datasets"]["rows"]]
    assert rows == ["rate (s, a 1)", "rate (t, a 0)"]
    assert (
        "Shown is the number in which each slow or suspicious host stands out most (by verdict, then z), and one of each other kind."
        in figure.sub
    )
