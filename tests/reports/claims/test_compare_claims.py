"""Every sentence of `pinsweep compare`, of its page, table, JSON, Markdown, JUnit and GitHub forms, against the figures that were written.

Medians, the shift of the typical pair, counts and the words are made once more from what was printed. A line that none of the readers
below knows is a failure: it needs a reader. tests/reports/compare/test_claims.py does the same for several tools at once.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from reports.compare import formats
from reports.compare import text as texts
from reports.compare.comparison import compare
from reports.compare.model import Comparison
from reports.compare.section import Delta, Line, delta
from reports.compare.sides import levels, side
from reports.compare.terminal import table
from reports.results.load import load
from tests.laws import lots
from tests.reports.claims.test_fleet_claims import METRICS, stands
from tests.reports.compare.clauses import SPAN, as_verdicts, hold, split

Number = tuple[str, str, str]  # levels of both axes, metric
SPECS = {**METRICS, "depth": {"regex": r"depth (\S+)", "better": "neither"}}
FACTOR = {"rate": 1e6, "took": 1e3, "score": 1.0, "depth": 1.0}


@dataclass
class Side:
    """One side as it was written."""

    files: list[Path] = field(default_factory=list)
    values: dict[Number, list[float]] = field(default_factory=dict)  # base units
    hosts: set[str] = field(default_factory=set)
    runs: int = 0  # that gave numbers
    failed: int = 0
    disturbed: int = 0
    tried: Counter[tuple[str, str]] = field(
        default_factory=Counter
    )  # cell → runs that failed or gave numbers
    broke: Counter[tuple[str, str]] = field(default_factory=Counter)  # cell → runs that failed


@dataclass
class Case:
    """A comparison and what was written."""

    a: Side
    b: Side
    comparison: Comparison
    document: Any

    @property
    def one_machine(self) -> bool:
        """Were both sides measured on one host?"""
        return not self.a.hosts.isdisjoint(self.b.hosts)

    def verdicts(self, text: str) -> str:
        """A text with the words of one machine's verdicts, where it has those of what it is of."""
        return as_verdicts(text, one_machine=self.one_machine)

    def number(self, row: Mapping[str, Any]) -> Number:
        return row["labels"].get("a", "1"), row["labels"].get("b", "x"), row["name"]["metric"]

    def words(self, *verdicts: str) -> list[Mapping[str, Any]]:
        return [row for row in self.document["cells"] if row["verdict"] in verdicts]


def made(make: Any, folder: Path, seed: int) -> tuple[Side, Side]:
    """Two sides of one to five sessions and one to six repeats; effects of all, of a level or of one metric."""
    chance = random.Random(seed)
    noise, printed = chance.choice([0.0, 0.002, 0.01, 0.05, 0.3]), chance.choice([0, 1, 3])
    metrics = {name: SPECS[name] for name in chance.sample(sorted(SPECS), chance.choice([1, 2, 3]))}
    cells = list(itertools.product(chance.choice([["1"], ["1", "2", "4"], list("123456789")]), chance.choice([["x"], ["x", "y"]])))  # fmt: skip
    usual = {(*cell, m): 10 ** chance.uniform(1.4, 4) for cell in cells for m in metrics}
    effects = {key: chance.choice([0.6, 0.9, 0.97, 1.0, 1.05, 1.3]) for key in chance.sample(["all", "y", "1", *metrics], 2)}  # fmt: skip
    if chance.random() < 0.25:  # a level whose cells alone are worse
        noise, effects = 0.002, {"y": chance.choice([1.2, 1.5])}
        cells = list(itertools.product(["1", "2", "4"], ["x", "y"]))
        usual = {(*cell, m): 10 ** chance.uniform(2, 4) for cell in cells for m in metrics}
    sides = Side(), Side()
    for late, own in enumerate(sides):
        sessions, repeats = chance.choice([1, 1, 1, 2, 5]), chance.choice([1, 2, 3, 3, 6])
        for session in range(sessions):
            path = folder / f"{'ab'[late]}{session}.db"
            host = f"h{chance.randrange(2)}"
            maker = make.Maker(path, host=host)
            maker.facts = {**make.FACTS, "kernel": "ab"[late], "boot_id": path.stem}
            own.hosts.add(host)
            for cell, _ in itertools.product(cells, range(repeats)):
                options = {"command": ["x"], "metrics": metrics, "a": cell[0], "b": cell[1]}
                luck = chance.random()
                if luck < 0.03:
                    status = "failed" if luck < 0.015 else "disturbed"
                    maker.add("s", "command", options, "", axes=("a", "b"), status=status, reason="so")
                    own.failed += status == "failed"
                    own.broke[cell] += status == "failed"
                    own.tried[cell] += status == "failed"
                    own.disturbed += status == "disturbed"
                    continue
                text = ""
                for name, spec in metrics.items():
                    slower = max(0.1, chance.gauss(1, noise))
                    for key in ("all", *cell, name):
                        slower *= effects.get(key, 1.0) if late else 1.0
                    value = usual[*cell, name] * (1 / slower if spec["better"] == "higher" else slower)
                    text += f"{name} {value:.{printed}f}\n"
                    own.values.setdefault((*cell, name), []).append(
                        float(f"{value:.{printed}f}") * FACTOR[name]
                    )
                maker.add("s", "command", options, text, axes=("a", "b"))
                own.runs += 1
                own.tried[cell] += 1
            own.files.append(maker.write())
    return sides


def of_figures(case: Case) -> None:
    """The JSON against the figures: values, shifts, and the words of docs/verdicts.md."""
    document = case.document
    both = case.a.values.keys() & case.b.values.keys()
    assert {case.number(row) for row in document["cells"]} <= both
    for row in document["cells"]:
        key = case.number(row)
        a, b = sorted(case.a.values[key]), sorted(case.b.values[key])
        assert sorted(row["a"]["runs"]) == pytest.approx(a)
        assert sorted(row["b"]["runs"]) == pytest.approx(b)
        assert (row["a"]["median"], row["b"]["median"]) == (pytest.approx(statistics.median(a)), pytest.approx(statistics.median(b)))  # fmt: skip
        if row["ratio"]:
            typical = math.exp(statistics.median(math.log(y / x) for x in a for y in b))
            assert row["ratio"] == pytest.approx(typical, rel=1e-6)
            assert row["low"] is None or row["low"] <= row["ratio"] * (1 + 1e-9)
            assert row["high"] is None or row["high"] >= row["ratio"] * (1 - 1e-9)
        assert (row["verdict"] == "no_verdict") == (min(len(a), len(b)) < 2)
        better = SPECS[key[2]]["better"]
        worse = (row["ratio"] or 1.0) if better == "lower" else 1 / (row["ratio"] or 1.0)
        if row["verdict"] == "regressed":
            assert better != "neither"
            assert worse >= 1.03 * (1 - 1e-9)
            assert not row["low"] <= 1 <= (row["high"] or math.inf)
        elif row["verdict"] == "improved":
            assert better != "neither"
            assert worse <= 1 / 1.03 * (1 + 1e-9)
        elif row["verdict"] == "same":
            assert 1 / 1.03 <= row["ratio"] <= 1.03
        one = case.document["a"]["evidence"] == case.document["b"]["evidence"] == 1
        assert row["provisional"] == (one and row["verdict"] != "no_verdict")
    counts = Counter(row["verdict"] for row in document["cells"])
    assert {word: n for word, n in document["counts"].items() if n and word != "unmatched"} == counts
    for name, own in (("a", case.a), ("b", case.b)):
        told = document[name]
        assert set(told["hosts"]) == own.hosts
        assert (told["runs"], told["failed"], told["left_out"]) == (own.runs, own.failed, own.disturbed)
        assert told["sessions"] == len(own.files)


def bounds(case: Case) -> None:
    """An interval's ends are bounds: what is printed contains it, and is no wider than its last digit."""
    for row in case.comparison.rows:
        if row.interval is None:
            continue
        said = texts.interval(row.interval)
        for text, end, out in zip(ends_of(said), row.interval, (1, -1), strict=True):
            if text == math.inf:
                assert end >= 1e4
                continue
            told = 100 * (1 + end) if said[0] == "×" else 100 * end
            step = 0.1 if said[0] != "×" and abs(end) < 1 else max(10.0 ** (math.floor(math.log10(max(abs(told), 1e-9))) - 2), 0.1)  # fmt: skip
            off = (end * 100 - text) * out
            assert -1e-6 * step <= off < step * (1 + 1e-6) or abs(end) >= 1e4


CHANGE = r"(?:× )?[+−]?[\d.\u202f]+(?: %)?"


def holds(cells: tuple[str, ...], row: Mapping[str, Any], unit: str = "") -> None:
    """Shift, interval, A, B of a row."""
    shift, ends, a, b = cells
    assert stands(a, row["a"]["median"], unit, 4)
    assert stands(b, row["b"]["median"], unit, 4)
    if row["ratio"] is None:
        assert shift == "–"
        return
    change = (row["ratio"] - 1) * 100
    assert abs(said_of(shift) - change) <= max(0.05, abs(change) * 0.0061) + 1e-9
    assert shift[0] in ("×" if change >= 900 else "+" if change > 0.05 else "−" if change < -0.05 else "+−0")
    if ends:
        low, high = ends_of(ends)
        assert low <= change + 0.06
        assert high >= change - 0.06 - abs(change) * 0.006


def said_of(text: str) -> float:
    """Return the change that a text says, in per cent: "+240 %", "35.1 ×", "∞ ×"."""
    bare = text.partition(" (")[0].translate({0x202F: "", ord("−"): "-", ord("+"): "", ord("∞"): "inf"})
    number = float(bare.removesuffix(" ×").removesuffix(" %"))
    return (number - 1) * 100 if bare.endswith("×") else number


def ends_of(text: str) -> list[float]:
    """Return both ends of a range, in per cent: "−12.9 to −7.5 %", "25.2 to ∞ ×"."""
    unit = " ×" if text.endswith("×") else ""
    return [said_of(part.removesuffix(unit) + unit) for part in text.split(" to ")]


def headline(case: Case) -> None:
    """Counts, what moved together, what is provisional."""
    text, counts = case.verdicts(case.document["sentence"]), case.document["counts"]
    judged = sum(counts[w] for w in ("regressed", "improved", "same", "inconclusive"))
    if "no number in common" in text or text.startswith("No number can be compared: "):
        assert not case.document["cells"]
        return
    text = re.sub(r" ?Not compared: .*", "", text)
    text = re.sub(r" ⚠ doubtful: all .+?\.(?= |$)", "", text)
    wholly, text = failures(case, text)
    alone = (
        Counter(one.side for one in case.comparison.unmatched if one.side != "both" and not one.part) - wholly
    )
    if told := re.search(r" (\d+) cells? of ([AB])(?: and (\d+) of B)? ha(?:s|ve) no partner\.$", text):
        assert alone == {told[2]: int(told[1])} | ({"B": int(told[3])} if told[3] else {})
        text = text[: told.start()]
    assert bool(told) == bool(alone)
    if not judged:
        many = "s" * (counts["no_verdict"] > 1)
        found = re.fullmatch(
            rf"One run on a side: (\d+) number{many}, no verdict\.(?: B against A: (.+)\.)?", text
        )
        assert found
        assert int(found[1]) == counts["no_verdict"]
        directed = [r for r in case.comparison.rows if r.better != "neither" and r.change is not None]
        sizes = re.findall(rf"(?:^|, )(\w+) ({SPAN})", found[2] or "")
        assert dict(sizes) == {
            metric: texts.span([r for r in directed if r.number.metric == metric])
            for metric in {r.number.metric for r in directed}
        }
        return
    found = re.fullmatch(
        r"(Provisional(?: for (\d+) numbers?)?, one session a side: )?(\d+) of (\d+) numbers? regressed, (\d+) improved, (\d+) (?:is|are) the same, "
        r"(\d+) (?:is|are) inconclusive\.(?: (\d+) more ha\w+ one run on a side, and no verdict\.)?(?: (.+)\.)?", text
    )  # fmt: skip
    assert found, text
    assert [int(found[i]) for i in (3, 4, 5, 6, 7)] == [counts["regressed"], judged, counts["improved"], counts["same"], counts["inconclusive"]]  # fmt: skip
    assert int(found[8] or 0) == counts["no_verdict"]
    provisional = sum(row["provisional"] for row in case.document["cells"])
    assert bool(found[1]) == bool(provisional)
    assert int(found[2] or (judged if found[1] else 0)) == provisional == case.document["provisional"]
    assert bool(found[9]) == bool(case.words("regressed", "improved"))
    if found[9]:
        hold(case.comparison, split(found[9]))


def failures(case: Case, text: str) -> tuple[Counter[str], str]:
    """Hold each cell of "Failed in B: …" against what was written. Returns how many cells of a side have no number on the other since all
    runs failed there, and what follows."""
    worse: dict[str, set[tuple[str, str]]] = {"A": set(), "B": set()}
    wholly = Counter[str]()
    for cell in (+case.a.tried).keys() & (+case.b.tried).keys():
        a, b = (side.broke[cell] / side.tried[cell] for side in (case.a, case.b))
        if a != b and min(a, b) < 1:
            worse["A" if a > b else "B"].add(cell)
            wholly["B" if a > b else "A"] += max(a, b) == 1
    for name in "AB":
        if not (told := re.search(rf"(?:^| )Failed in {name}: (.+?)\.(?= |$)", text)):
            assert not worse[name]
            continue
        text = (text[: told.start()] + text[told.end() :]).strip()
        here, there = (case.a, case.b) if name == "A" else (case.b, case.a)
        if many := re.fullmatch(
            r"(all )?runs of (\d+) cells(?:, of (\d+) of them all)?(?: \(in ([AB]) (none)\))?", told[1]
        ):
            assert int(many[2]) == len(worse[name]) > 1
            assert int(many[2] if many[1] else many[3] or 0) == sum(here.broke[one] == here.tried[one] for one in worse[name])  # fmt: skip
            assert bool(many[5]) == (not any(there.broke[one] for one in worse[name]))
            continue
        *ran, a, b, _, failed, tried = re.fullmatch(r"(\d+) of (\d+) runs of s, a=(\w+) b=(\w+) \(([AB]): (\d+) of (\d+)\)", told[1]).groups()  # type: ignore[union-attr]  # fmt: skip
        assert worse[name] == {(a, b)}
        assert [int(n) for n in (*ran, failed, tried)] == [here.broke[a, b], here.tried[a, b], there.broke[a, b], there.tried[a, b]]  # fmt: skip
    return wholly, text


def row_of(case: Case, row: Mapping[str, Any]) -> Any:
    return next(r for r in case.comparison.rows if place(row) == r.where and row["metric"] == r.number.title)


def options(row: Mapping[str, Any]) -> str:
    """Return `a 1, b x` of the cell `a=1 b=x`."""
    return row["cell"].replace(" ", ", ").replace("=", " ")  # type: ignore[no-any-return]


def place(row: Mapping[str, Any]) -> str:
    return f"s, {options(row)}" if row["cell"] else "s"


def terminal(case: Case) -> None:
    """Every line of `--all`, heads and rows."""
    lines = case.verdicts(table(case.comparison, everything=True)).splitlines()
    verdict, metric, unit, runs_of, seen = "", "", "", "", Counter[str]()
    cells = case.document["cells"]
    i = 0
    for line in lines:
        if found := re.fullmatch(
            r"(regressed|improved|inconclusive|same|one run on a side, no verdict) \((\d+)\)", line
        ):
            verdict = {"one run on a side, no verdict": "no_verdict"}.get(found[1], found[1])
            assert int(found[2]) == len(case.words(verdict))
        elif found := re.fullmatch(
            r"  s: (\w+)(?:, (\S+))? \((more|less|neither) is better(?:; (\d+) \+ (\d+) runs)?\)", line
        ):
            metric, unit, runs_of = found[1], found[2] or "", found[4] and (int(found[4]), int(found[5]))
            assert found[3] == {"higher": "more", "lower": "less"}.get(SPECS[metric]["better"], "neither")
        elif verdict and (
            found := re.fullmatch(
                rf" +({CHANGE}|–)  (.*?) +([\d.\u202f]+) +→ +([\d.\u202f]+)(?:  (.*))?", line
            )
        ):
            about = re.sub(r" ⚠.*", "", found[5] or "").strip()
            own_runs = re.search(r"(\d+) \+ (\d+) runs", about)
            medians = re.search(rf"medians ({CHANGE})", about)
            cell = re.sub(r"\s*\(.*\)", "", about)
            (row,) = [r for r in cells if options(r) == cell and r["metric"] == metric]
            assert row["verdict"] == verdict
            n = (len(row["a"]["runs"]), len(row["b"]["runs"]))
            assert n == (runs_of or (int(own_runs[1]), int(own_runs[2])))  # type: ignore[index]
            holds((found[1], found[2].strip(), found[3], found[4]), row, unit)
            if medians:
                change = (row["b"]["median"] / row["a"]["median"] - 1) * 100
                assert abs(said_of(medians[1]) - change) <= max(0.05, abs(change) * 0.0061)
            seen[verdict] += 1
        elif found := re.fullmatch(r"not compared \((.+)\)", line):
            whole = [one for one in case.comparison.unmatched if one.side != "both" and not one.part]
            told = re.match(r"(\d+) cells?(?:, and|$)", found[1])
            assert int(told[1] if told else 0) == len(whole)
            verdict = ""
    assert seen == Counter(row["verdict"] for row in cells)
    text = " ".join(lines)
    judged = [row for row in case.comparison.rows if not row.once]
    assert bool(judged or not cells) == ("without an interval" not in text) == ("95 % interval" in text or not cells)  # fmt: skip
    assert ("Noise between sessions" in text) == bool(judged)
    reach = [max(abs(math.log(1 + end)) for end in row.interval) for row in judged if row.verdict == "same"]
    assert ("it may reach beyond the threshold" in " ".join(text.split())) == any(r > math.log(1.03) for r in reach)  # fmt: skip
    flat = " ".join(" ".join(lines).split())
    for name, own in (("a", case.a), ("b", case.b)):
        told = re.search(
            rf"{name.upper()} {name}: (.+?), (\d+) sessions?, (\d+) runs?(?:; left out: ([\w ,]+?))?(?= [A-Z]| \d+ of )",
            flat,
        )
        assert told, flat
        assert set(re.split(", | and ", told[1])) == own.hosts
        assert (int(told[2]), int(told[3])) == (len(own.files), own.runs)
        out = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", told[4] or "")}
        assert out == {w: n for w, n in (("disturbed", own.disturbed), ("failed", own.failed)) if n}
    if told := re.search(r"Noise between sessions: (.+?)\.(?: One session| |$)", flat):
        noise(case, told[1])
    i += 1


def noise(case: Case, text: str) -> None:
    """Each size is what the families have, rounded outwards."""
    for part in text.split("; "):
        if part.startswith("none"):
            continue
        if found := re.fullmatch(
            r"0\.50 %, the least that is taken: (.+) show no more(?: \(\d+ metrics?\))?", part
        ):
            words = {"the sessions of a side": "sessions", "the sweep's own shifts": "auto"}
            assert {f["tau"] for f in case.document["families"] if f["tau_source"] == words[found[1]]} == {
                0.005
            }
            continue
        low, high, source, n = re.fullmatch(
            r"([\d.]+)(?: to ([\d.]+))? % (.+?)(?: \((\d+) metrics?\))?", part
        ).groups()  # type: ignore[union-attr]
        words = {"assumed": "assumed", "learned from the sessions of a side": "sessions", "learned from the sweep's own shifts": "auto", "given": "given"}  # fmt: skip
        taus = [
            f["tau"] * 100
            for f in case.document["families"]
            if f["tau_source"] == words[source] and f["median_ratio"] is not None
        ]
        assert not n or int(n) == len(taus)
        assert float(low) <= min(taus) * 1.06
        assert float(high or low) >= max(taus) * 0.94
        assert words[source] in ("assumed", "given") or max(taus) > 0.5
        if high:
            assert float(low) <= min(taus) <= max(taus) <= float(high)


def counted(said: str, rows: list[dict[str, Any]]) -> None:
    """Does "4 of 12 regressed, 1 improved" count these rows?"""
    counts = Counter(r["verdict"] for r in rows if r["verdict"] != "no_verdict")
    told = {word: int(n) for n, word in re.findall(r"(\d+) (?:of \d+ )?(regressed|improved)", said)}
    of = {word: counts[word] for word in ("regressed", "improved") if counts[word]}
    assert told == (of if counts.total() > 1 else {})
    assert not told or f" of {len(rows)} " in f" {said}"


def page(case: Case) -> None:
    """Both tables of the page, titles of its curves, its key numbers."""
    built = delta(case.comparison)
    words = Counter(row["verdict"] for row in case.document["cells"])
    shown, open_ = Counter[str](), Counter[tuple[str, str]]()
    for line in built.lines:
        unit = line.sub.rpartition(", ")[0]
        verdict = case.verdicts(line.verdict).replace("one run", "no_verdict")
        open_[line.metric, verdict] += of_several(case, line) if line.points else 1
        if line.points:
            continue
        (row,) = [r for r in case.document["cells"] if place(r) == line.place and r["metric"] == line.metric]
        holds((line.change.split(" (")[0], line.interval, line.a, line.b), row, unit)
        assert verdict == row["verdict"]
        assert line.sign == {"regressed": "▼", "improved": "▲"}.get(row["verdict"], "")
        assert line.runs == f"{len(row['a']['runs'])} + {len(row['b']['runs'])}"
        shown[row["verdict"]] += not built.rest
    of_each = Counter((row["metric"], row["verdict"]) for row in case.document["cells"])
    assert open_ == {key: n for key, n in of_each.items() if key in open_}  # a number has one line
    for name, unit, a, b, shift, ends, runs, word in built.rest.rows if built.rest else ():
        (row,) = [r for r in case.document["cells"] if f"{place(r)}: {r['metric']}" == name]
        holds((shift.split(" (")[0], ends, a, b), row, unit)
        assert runs == f"{len(row['a']['runs'])} + {len(row['b']['runs'])}"
        word, _, need = case.verdicts(word).partition(", ")
        assert not need or set(re.findall(r"[\d.]+", need)) <= set(re.findall(r"[\d.]+", row["advice"]))
        shown[word.replace("one run", "no_verdict")] += 1
    assert shown == words
    assert built.left_out == 0
    assert built.numbers == words.total()
    order = order_of(case, built)
    assert order == sorted(order)
    for key in built.key_numbers:
        where, _, changed = case.verdicts(key.context).partition("; ")
        (row,) = [r for r in case.document["cells"] if place(r) == where and r["metric"] == key.name]
        a, b = key.value.split(" → ")
        medians, moved, ends, word = re.fullmatch(
            rf"(?:medians ({CHANGE}), typical pair )?({CHANGE}|–)(?: \(([^);]*)\))?, ([\w ]+)",
            case.verdicts(key.repeats),
        ).groups()  # type: ignore[union-attr]
        of_medians = (row["b"]["median"] / row["a"]["median"] - 1) * 100
        assert abs(said_of(medians or moved.replace("–", "0 %")) - of_medians) <= max(
            0.051, abs(of_medians) * 0.0061
        )
        holds((moved, ends or "", a, b), row, key.unit)
        assert word.replace("one run", "no_verdict") == row["verdict"]
        better = SPECS[key.name]["better"]
        alike = [r for r in case.document["cells"] if r["metric"] == key.name]
        own, _, beside = (
            changed.rpartition("of other metrics ") if "of other" in changed else (changed, "", "")
        )
        others = [r for r in case.document["cells"] if r["metric"] != key.name]
        if any(r["verdict"] == "regressed" for r in alike):
            assert not beside
        else:
            counted(beside, others)
        counted(own, alike)
        telling = [[r for r in alike if r["verdict"] == word] for word in ("regressed", "improved")]
        of = telling[0] or telling[1] or alike
        sound = [r for r in of if not doubted(case, r)] or of
        assert row["a"]["median"] == (max if better == "higher" else min)(r["a"]["median"] for r in sound)
    for figure in (*built.curves, *built.unmoved):
        title = re.sub(r" \([^)]*\)", "", case.verdicts(figure.title))
        metric, told = re.fullmatch(r"s: (\w+), (.+)", title).groups()  # type: ignore[union-attr]
        own = [r for r in case.document["cells"] if r["metric"] == metric]
        n, of, word, rest = re.fullmatch(r"(\d+) of (\d+) points? ([a-z ]+)(.*)", told).groups()  # type: ignore[union-attr]
        counts = {w: int(k) for k, w in re.findall(r"(\d+) ([a-z ]+)", rest)} | {word: int(n)}
        assert int(of) == len(own)
        names = {"the same": "same", "without a verdict": "no_verdict"}
        assert {names.get(w, w): k for w, k in counts.items()} == Counter(r["verdict"] for r in own)
    told = [int(text.rpartition("(")[2].removesuffix(")")) for text in built.needs]
    assert sum(told) == sum(bool(row["advice"]) for row in case.words("inconclusive"))
    for text in built.needs:
        if found := re.match(r"needs (\d+)(?: to (\d+))? repeats a side(,?)", text):
            needed = [r["need_repeats"] for r in case.words("inconclusive") if r["need_repeats"] and r["advice"].startswith("needs")]  # fmt: skip
            assert {int(found[1]), int(found[2] or found[1])} <= set(needed)


def doubted(case: Case, row: Mapping[str, Any]) -> bool:
    """Does a check doubt a number on a side, that does not doubt all numbers of it? Those are told once."""
    cells = case.document["cells"]
    of_all = {side: set.intersection(*(set(r[side]["doubtful"]) for r in cells)) if len(cells) > 1 else set() for side in "ab"}  # fmt: skip
    return any(set(row[side]["doubtful"]) - of_all[side] for side in "ab")


def order_of(case: Case, built: Delta) -> list[int]:
    """Return the verdicts of the key numbers: what regressed, what improved, all else."""
    places = {"regressed": 0, "improved": 1}
    return [places.get(case.verdicts(key.repeats).rpartition(", ")[2], 2) for key in built.key_numbers]


def of_several(case: Case, line: Line) -> int:
    """A line of several numbers: how many they are, of how many in its cells, between which, and by how much at least and at most. Returns how many."""
    named = {axis: set(re.split(", | and ", levels)) for axis, levels in re.findall(r"\b([ab]) ((?:\w+(?:, | and )?)+?)(?=, [ab] |$)", line.place)}  # fmt: skip
    cells = [
        r
        for r in case.document["cells"]
        if r["metric"] == line.metric
        and all(str(r["labels"].get(axis)) in levels for axis, levels in named.items())
    ]
    n, of, name, first, last = re.fullmatch(
        r"(\d+) of (\d+) (?:points?|numbers?)(?:, (?:within )?(\w+) (\d+)(?:.* (\d+))?)?", line.points
    ).groups()  # type: ignore[union-attr]
    own = [r for r in cells if r["verdict"] == case.verdicts(line.verdict).replace("one run", "no_verdict")]
    assert int(n) <= len(own)
    assert int(of) == len(cells)
    if name and int(n) == len(own):
        levels = sorted({int(r["labels"][name]) for r in own})
        assert (int(first), int(last or first)) == (levels[0], levels[-1])
        if " to " in line.points and "within" not in line.points:
            tested = {int(r["labels"][name]) for r in cells}
            assert levels == [v for v in sorted(tested) if levels[0] <= v <= levels[-1]]
    rows = [row for row in case.comparison.rows if row.number.title == line.metric]
    known = {texts.change(row.change).removesuffix(" %") for row in rows}
    assert set(line.change.removesuffix(" %").split(" to ")) <= known
    return int(n)


def programs(case: Case) -> None:
    """Markdown, JUnit and GitHub count as the JSON does."""
    counts, cells = case.document["counts"], case.document["cells"]
    suites = ElementTree.fromstring(formats.as_junit(case.comparison))
    tests = list(suites.iter("testcase"))
    failures = [t for t in tests if t.find("failure") is not None]
    assert len(failures) == counts["regressed"]
    skipped = [t for t in tests if t.find("skipped") is not None]
    assert len(skipped) >= counts["inconclusive"] + counts["no_verdict"]
    assert len(tests) >= len(cells)
    text = case.verdicts(formats.as_markdown(case.comparison))
    assert re.sub(r"\W", "", case.verdicts(case.document["sentence"])) in re.sub(r"\W", "", text)
    rows = [line for line in text.splitlines() if re.match(r"\| \**(regressed|improved|inconclusive)", line)]
    assert len(rows) <= sum(counts[w] for w in ("regressed", "improved", "inconclusive"))
    if len(rows) < 100:
        assert sum("**regressed**" in row for row in rows) == counts["regressed"]


def levels_of_json(case: Case) -> None:
    """The JSON counts the cells of each level once, by the verdicts of their numbers, the worst of these first."""
    worst = ("regressed", "inconclusive", "improved", "same")
    for told in case.document["shared"]:
        cells: dict[str | None, dict[tuple[str, ...], set[str]]] = {}
        for row in case.words(*worst):
            if row["ratio"] is not None and not row["derived"]:
                of = cells.setdefault(row["labels"].get(told["axis"]), {})
                of.setdefault(tuple(row["a"]["point_ids"]), set()).add(row["verdict"])
        for level in told["levels"]:
            words = [next(word for word in worst if word in own) for own in cells[level["level"]].values()]
            assert {word: level[word] for word in worst if level[word]} == Counter(words)
            assert level["cells"] == len(words)
        assert told["levels"][0]["regressed"] == max(level["regressed"] for level in told["levels"])


READERS: tuple[Callable[[Case], None], ...] = (
    of_figures, bounds, headline, terminal, page, programs, levels_of_json,
)  # fmt: skip


def cases(make: Any, folder: Path, seeds: range) -> Iterator[Case]:
    for seed in seeds:
        own = folder / str(seed)
        own.mkdir()
        a, b = made(make, own, seed)
        found = compare(side("A", "a", load(a.files)), side("B", "b", load(b.files)))
        yield Case(a=a, b=b, comparison=found, document=json.loads(formats.as_json(found)))


@pytest.mark.parametrize("seeds", lots(range(50), quick=4, slow=20), ids=str)
def test_what_is_said_of_a_comparison_holds_of_its_figures(seeds: range, make: Any, tmp_path: Path) -> None:
    for case in cases(make, tmp_path, seeds):
        for reader in READERS:
            reader(case)


@pytest.mark.slow
def test_an_io_of_another_size_is_said_to_be_one(make: Any, tmp_path: Path) -> None:
    """`--by bs`: "84 of 84 numbers regressed", where 32 KiB move 2.4 times the bytes per second that 4 KiB do."""
    found = load([make.full(tmp_path / "full.db")])

    comparison = compare(*levels(found, "bs", "4k,32k"), by="bs")
    said = "IOPS and latencies are of one I/O: 4 KiB in A and 32 KiB in B; B moves 2.40 × the bytes per second of A."
    assert said in table(comparison).replace("\n", " ")
    assert said in json.loads(formats.as_json(comparison))["sentence"]
    assert said in formats.as_junit(comparison)
    assert "of one I/O" not in texts.sentence(compare(*levels(found, "iodepth", "1,4"), by="iodepth"))
