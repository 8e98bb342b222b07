"""Every sentence of `pinsweep history`, of its page, tables and JSON, against the figures that went into the files.

Session medians, levels between the steps and what the machine recorded are made once more from what was written. A sentence that none
of the readers below knows is a failure: it needs a reader.
"""

from __future__ import annotations

import itertools
import json
import random
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from reports.history import changes as history
from reports.history import page as history_page
from reports.history import text as history_text
from reports.page.model import Page
from reports.results.load import load
from reports.verdicts.history import unseen_recently
from tests.laws import lots
from tests.reports.claims.test_fleet_claims import BASE, METRICS, Number, key_of, number_of, stands, unfolded

Session = tuple[str, dict[Number, list[float]], dict[str, str]]  # start, printed values, facts


@dataclass
class Truth:
    """What was written: host → its sessions in time."""

    files: list[Path] = field(default_factory=list)
    sessions: dict[str, list[Session]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)  # host → runs

    def series(self, host: str, number: Number) -> list[tuple[str, float]]:
        """Return (start, median of the repeats in base units) of each session that has the number."""
        return [
            (start, statistics.median(values[number]) * BASE[number[1]])
            for start, values, _ in self.sessions[host]
            if values.get(number)
        ]


KERNELS, MICROCODES = ("6.1.0", "6.8.0"), ("0xf0", "0xf4")


def made(make: Any, folder: Path, seed: int) -> Truth:
    """One to three hosts of 3 to 24 sessions; steps, kernels, digits, failures and noise by the seed."""
    chance, truth = random.Random(seed), Truth()
    hosts = chance.choice([1, 1, 2, 3])
    noise, printed = chance.choice([0.0, 0.002, 0.005, 0.02, 0.1]), chance.choice([0, 2, 4])
    metrics = {name: METRICS[name] for name in chance.sample(sorted(METRICS), chance.choice([1, 2, 3]))}
    levels = chance.choice([["1"], ["1", "2"]])
    usual = {(a, m): 10 ** chance.uniform(1.4, 4) for a in levels for m in metrics}
    n, together = chance.choice([3, 10, 14, 24]), chance.random() < 0.5
    alike = [(chance.randrange(2, n), chance.choice([0.98, 0.9, 0.6, 1.2])) for _ in range(chance.choice([0, 1, 1, 2, 3]))]  # fmt: skip
    new = chance.randrange(1, n)
    for i in range(hosts):
        host = f"n{i + 1}"
        steps = alike if together else [(chance.randrange(2, n), chance.choice([0.9, 1.15])) for _ in alike]
        own = truth.sessions[host] = []
        for session in range(n):
            at = datetime(2026, 1, 1, 3, tzinfo=UTC) + timedelta(days=session)
            path = folder / f"{host}-{chance.random():.6f}.db"
            maker = make.Maker(path, host=host)
            maker.started, maker.ended = at.isoformat(), (at + timedelta(minutes=9)).isoformat()
            facts = {"kernel": KERNELS[session >= new], "microcode": MICROCODES[session >= new + chance.choice([0, 0, 1])]}  # fmt: skip
            maker.facts = {**make.FACTS, **facts}
            rate = 1.0
            for when, factor in steps:
                rate *= factor if session >= when else 1.0
            values: dict[Number, list[float]] = {}
            for a in levels:
                for _ in range(chance.choice([1, 3])):
                    options = {"command": ["x"], "metrics": metrics, "a": a}
                    if session and chance.random() < 0.02:
                        maker.add("s", "command", options, "", axes=("a",), status="failed", reason="exit status 1")  # fmt: skip
                        truth.failed[host] += 1
                        continue
                    text = ""
                    for name, spec in metrics.items():
                        faster = rate * max(0.1, chance.gauss(1, noise))
                        value = usual[a, name] * (faster if spec["better"] == "higher" else 1 / faster)
                        text += f"{name} {value:.{printed}f}\n"
                        values.setdefault((a, name), []).append(float(f"{value:.{printed}f}"))
                    maker.add("s", "command", options, text, axes=("a",))
            own.append((maker.started, values, facts))
            truth.files.append(maker.write())
    chance.shuffle(truth.files)
    return truth


@dataclass
class Case:
    """A report and what was written."""

    truth: Truth
    report: history.Report
    document: Any
    page: Page

    def judged(self) -> list[Mapping[str, Any]]:
        return [row for row in self.document["series"] if row["judged"]]

    def changed(self, host: str = "") -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
        """Return (series, change) of all steps that are news."""
        rows = [row for row in self.document["series"] if host in ("", row["host"])]
        return [(row, c) for row in rows for c in row["changes"] if c["word"] != "changed"]


def day(start: str) -> str:
    return start[:10]


def facts(case: Case) -> None:
    """The JSON against the figures: medians, levels, words, what differed."""
    truth = case.truth
    assert {(row["host"], number_of(row)) for row in case.document["series"]} == {
        (host, key) for host, own in truth.sessions.items() for _, values, _ in own for key, v in values.items() if v
    }  # fmt: skip
    for row in case.document["series"]:
        told = truth.series(row["host"], number_of(row))
        assert [(s["started_utc"], s["value"]) for s in row["sessions"]] == [
            (t, pytest.approx(v)) for t, v in told
        ]
        assert row["judged"] == (len(told) >= 10)
        values, cuts = [v for _, v in told], [0, *(c["session"] for c in row["changes"]), len(told)]
        levels = [statistics.median(values[a:b]) for a, b in itertools.pairwise(cuts)] if row["changes"] else []  # fmt: skip
        sign = 1 if METRICS[number_of(row)[1]]["better"] == "higher" else -1
        for i, change in enumerate(row["changes"]):
            assert change["started_utc"] == told[change["session"]][0]
            assert change["before"] == pytest.approx(levels[i])
            assert change["after"] == pytest.approx(levels[i + 1])
            moved = sign * (levels[i + 1] / levels[i] - 1)
            assert (moved <= -0.03) if change["word"] == "regressed" else (moved >= 0.03) if change["word"] == "improved" else True  # fmt: skip
        down = [sign * (levels[-1] / levels[i] - 1) <= -0.03 for i, c in enumerate(row["changes"]) if c["word"] == "regressed"]  # fmt: skip
        if drift := row["drift"]:
            drifts(row, told, drift)
            down = [drift["word"] == "regressed"]
        assert not row["regressed"] or any(down)
    for step in case.document["steps"]:
        own = [(s, c) for s, c in case.changed(step["host"]) if c["started_utc"] == step["started_utc"]]
        named = [c for s, c in own if s["number"] in {one["number"] for one in step["numbers"]}]
        assert Counter(c["word"] for c in named) == Counter(regressed=step["regressed"], improved=step["improved"]) + Counter()  # fmt: skip
        sessions = truth.sessions[step["host"]]
        at = next(i for i, (start, *_) in enumerate(sessions) if start == step["started_utc"])
        if step["differences"] and step["off_by_sessions"] == 0:
            for d in step["differences"]:
                assert d["after"] == sessions[at][2][d["what"]]
                assert d["before"] in {facts[d["what"]] for *_, facts in sessions[:at]} - {d["after"]}
    regressed = sum(step["regressed"] for step in case.document["steps"])
    assert regressed == sum(c["word"] == "regressed" for _, c in case.changed())


def drifts(row: Mapping[str, Any], told: list[tuple[str, float]], drift: Mapping[str, Any]) -> None:
    """A line through the values by the median of the slopes of all pairs, without steps; or steps of which none counts, and all together do."""
    if row["changes"]:
        assert {change["word"] for change in row["changes"]} == {"changed"}
        assert (drift["before"], drift["after"]) == (row["changes"][0]["before"], row["changes"][-1]["after"])
        assert abs(drift["ratio"] - 1) >= 0.029
        return
    days = [
        (datetime.fromisoformat(start) - datetime.fromisoformat(told[0][0])).total_seconds()
        for start, _ in told
    ]
    pairs = itertools.combinations(zip(days, [v for _, v in told], strict=True), 2)
    slope = statistics.median((b - a) / (t - s) for (s, a), (t, b) in pairs)
    start = statistics.median(v - slope * t for t, (_, v) in zip(days, told, strict=True))
    assert drift["before"] == pytest.approx(start)
    assert drift["after"] == pytest.approx(start + slope * days[-1])
    assert drift["ratio"] == pytest.approx(drift["after"] / drift["before"])
    better = METRICS[number_of(row)[1]]["better"]
    assert (drift["word"] == "improved") == ((drift["ratio"] > 1) == (better == "higher"))


def unseen(case: Case, text: str, hosts: set[str]) -> None:
    """ "steps of up to 18 % may go unseen in 4 numbers": rounded up, and no number of more is left out."""
    own = [
        h
        for h in case.report.histories
        if h.judged and not h.news and not h.drift and not h.recent and h.host in hosts
    ]
    if late := re.search(r",? of up to ([\d.]+) % in the last 4 sessions", text):
        bounds = [unseen_recently(h.medians, h.changes, among=len(case.judged())) for h in own]
        assert max(bounds) * 100 <= float(late[1]) * (1 + 1e-9) < max(bounds) * 110
        text = text.replace(late[0], "")
        if text == "steps may go unseen":
            assert all(history_text.largest_unseen(h) <= 0.03 for h in own)
            return
    most, n = re.fullmatch(r"steps of up to ([\d.]+) % may go unseen in (\d+) numbers?", text).groups()  # type: ignore[union-attr]
    bounds = [history_text.largest_unseen(h) for h in own]
    assert max(bounds) * 100 <= float(most) * (1 + 1e-9) < max(bounds) * 110
    assert int(n) == sum(bound > 0.03 for bound in bounds)
    for history_, bound in zip(own, bounds, strict=True):
        values = [value for _, value in case.truth.series(history_.host, key_of(history_.series.name))]
        middle = statistics.median(values)
        scatter = 1.4826 * statistics.median(abs(value - middle) for value in values) / middle
        assert bound >= 4 * scatter * (1 - 1e-9) or history_.changes


def parts_of(case: Case, parts: list[str], hosts: set[str]) -> None:
    """What stands behind the counts of a host, or of all."""
    rows = [row for row in case.document["series"] if row["host"] in hosts]
    for part in parts:
        if found := re.fullmatch(r"(\d+) changes?", part):
            assert int(found[1]) == sum(step["host"] in hosts for step in case.document["steps"]) > 0
        elif part == "no change":
            assert not any(row["changes"] for row in rows if row["judged"] and not row["recent"])
        elif part == "no change of 3 % or more":
            words = [c["word"] for row in rows if row["judged"] for c in row["changes"]]
            assert set(words) == {"changed"}
        elif part in ("no change of the others", "no change of 3 % or more of the others"):
            assert any(row["drift"] or row["recent"] for row in rows)
            assert not any(c["word"] != "changed" for row in rows for c in row["changes"])
        elif found := re.fullmatch(r"(\d+) numbers? drifts?: (.+) little by little", part):
            words = Counter(row["drift"]["word"] for row in rows if row["drift"])
            assert int(found[1]) == words.total() > 0
            assert dict(words) == {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", found[2])}
        elif part.lower().startswith("far outside"):
            outside(rows, part)
        elif part.startswith("steps of up to"):
            unseen(case, part, hosts)
        elif found := re.fullmatch(r"(\d+) numbers? in fewer than 10 sessions, too few to tell", part):
            assert int(found[1]) == sum(len(row["sessions"]) < 10 for row in rows) > 0
        else:
            raise AssertionError(f"no reader for {part!r}")


def outside(rows: list[Mapping[str, Any]], text: str) -> None:
    """ "far outside since 2026-11-26: s: rate −30 % (worse) and 1 more number, too new to be called a change": the one that is furthest off, and how many."""
    since, name, moved, side, more = re.fullmatch(r"[Ff]ar outside since (\S+): (.+) (\S+) % \((worse|better)\)(?: and (\d+) more numbers?)?, too new to be called a change", text).groups()  # type: ignore[union-attr]  # fmt: skip
    found = [row for row in rows if row["recent"]]
    assert len(found) == 1 + int(more or 0)
    worst = max(found, key=lambda row: abs(row["recent"]["change"]))
    assert worst["number"] == name
    assert stands(moved.removeprefix("+"), worst["recent"]["change"] * 100, digits=2)
    assert side == {"regressed": "worse", "improved": "better"}[worst["recent"]["word"]]
    assert since == day(worst["recent"]["started_utc"])
    values = [session["value"] for session in worst["sessions"]]
    tail = values[-worst["recent"]["sessions"] :]
    assert min(abs(v - worst["recent"]["before"]) for v in tail) >= 0.029 * abs(worst["recent"]["before"])
    assert worst["recent"]["after"] == statistics.median(tail)


def headline(case: Case) -> None:
    text, steps = case.page.sentence, case.document["steps"]
    if found := re.search(r" (Far outside [^;]+)\.$", text):
        parts_of(case, [found[1]], set(case.truth.sessions))
        text = text[: found.start()]
    if not case.judged():
        assert text == "Too few sessions: it takes 10 to tell a change from day-to-day noise."
        return
    if not steps:
        first, *rest = text.removesuffix(".").split("; ")
        if first.startswith("Far outside"):
            parts_of(case, [first], set(case.truth.sessions))
            if not rest:
                assert all(row["recent"] for row in case.judged())
                return
            first, *rest = rest
            first = first[0].upper() + first[1:]
        if "drift" in first:
            parts_of(
                case, [first, *(part for part in rest if "o change" not in part)], set(case.truth.sessions)
            )
            return
        said, n = re.fullmatch(r"(No change.*) in (\d+) numbers?", first).groups()  # type: ignore[union-attr]
        assert int(n) == sum(not row["recent"] for row in case.judged())
        parts_of(case, [said[0].lower() + said[1:], *rest], set(case.truth.sessions))
        return
    if found := re.search(r" (\d+ numbers? drifts?: [^.]+)\.$", text):
        parts_of(case, [found[1]], set(case.truth.sessions))
        text = text[: found.start()]
    n, told = re.fullmatch(r"(\d+) change(?: |s; the last )(.+)\.", text).groups()  # type: ignore[union-attr]
    assert int(n) == len(steps)
    hosts, date, counts, differ = re.fullmatch(r"(?:on (n[^ ]+) )?on (\d{4}-\d\d-\d\d)(?:, |: )([^;⚠]+?)(?: \(⚠ .*?\))?; (.+)", told).groups()  # type: ignore[union-attr]  # fmt: skip
    if hosts and len(unfolded(hosts)) > 1:
        together(case, date, unfolded(hosts), counts, differ)
        assert max(day(step["started_utc"]) for step in steps) in [
            day(step["started_utc"]) for step in steps if cause(step) == differ
        ]
        return
    assert date == max(day(step["started_utc"]) for step in steps)
    named = unfolded(hosts) if hosts else set(case.truth.sessions)
    own = [s for s in steps if s["host"] in named and day(s["started_utc"]) == date and beside(s) == differ]
    assert {s["host"] for s in own} == named
    sized(case, counts, *own)


def sized(case: Case, text: str, step: Mapping[str, Any]) -> None:
    """ "s 8.9 to 9.7 % worse (all 48 numbers), t 4.1 % better (2 of 52 numbers)": which numbers of a host moved, of how many, and by how much."""
    read = re.findall(r"(\w+) ([\d.]+)(?: to ([\d.]+))? % (worse|better) \((?:all (\d+) numbers|(its only) number|(\d+) of (\d+) numbers)\)", text)  # fmt: skip
    assert text == ", ".join(re.findall(r"\w+ [^(]+\([^)]+\)", text))
    assert len(read) == text.count("%")
    for sweep, low, high, side, every, one, n, of in read:
        word = {"worse": "regressed", "better": "improved"}[side]
        own = [row for row in step["numbers"] if row["word"] == word and row["number"].startswith(f"{sweep}{':' if row['number'].startswith(f'{sweep}:') else ','}")]  # fmt: skip
        total = sum(row["host"] == step["host"] and row["sweep"] == sweep for row in case.document["series"])
        assert len(own) == (total if every or one else int(n))
        assert total == int(of or every or 1)
        ends = [100 * end(abs(row["change"]) for row in own) for end in (min, max)]
        assert (float(low), float(high or low)) == pytest.approx(ends, rel=0.06)
    assert sum(int(every or n or 1) for *_, every, _, n, _ in read) == len(step["numbers"])


def counted(text: str, steps: list[Mapping[str, Any]]) -> None:
    """Numbers that moved on several hosts count once."""
    told = {word: int(n) for n, word in re.findall(r"(\d+) (regressed|improved)", text)}
    own = Counter(word for _, word in {(n["number"], n["word"]) for step in steps for n in step["numbers"]})
    assert told == {word: own[word] for word in ("regressed", "improved") if own[word]}


def together(case: Case, days: str, hosts: set[str], counts: str, told: str) -> None:
    """What several hosts have in one line: the same differences on whatever days, or none on the same day."""
    first, _, last = days.partition(" to ")
    own = [step for step in case.document["steps"] if cause(step) == told]
    if not own[0]["differences"]:
        own = [step for step in own if day(step["started_utc"]) == first]
    assert {step["host"] for step in own} == hosts
    assert len(hosts) > 1
    dates = sorted(changed_on(case, step) for step in own)
    assert (first, last or first) == (dates[0], dates[-1])
    counted(counts, own)


def unlike(case: Case, days: str, hosts: set[str], told: str, said: bool) -> None:
    """Whether not all numbers that are counted moved on each host is said."""
    own = [step for step in case.document["steps"] if cause(step) == told and step["host"] in hosts]
    if not own[0]["differences"]:
        own = [step for step in own if day(step["started_utc"]) == days.partition(" to ")[0]]
    moved = {h: frozenset((n["number"], n["word"]) for s in own if s["host"] == h for n in s["numbers"]) for h in hosts}  # fmt: skip
    assert said == (len(set(moved.values())) > 1)


def cause(step: Mapping[str, Any]) -> str:
    return beside({**step, "off_by_sessions": 0})


def beside(step: Mapping[str, Any]) -> str:
    return ("at the same time: " if step["differences"] and not step["off_by_sessions"] else "") + difference(
        step
    )


def changed_on(case: Case, step: Mapping[str, Any]) -> str:
    """The day of the differences beside a step."""
    (own,) = [h["sessions"] for h in case.document["hosts"] if h["host"] == step["host"]]
    at = [session["started_utc"] for session in own].index(step["started_utc"])
    return day(own[at + step["off_by_sessions"]]["started_utc"])


def difference(step: Mapping[str, Any]) -> str:
    """Say again what a step's JSON has."""
    if not step["differences"]:
        assert not step["one_sided"]
        return "nothing that was recorded changed then"
    told = "; ".join(f"{d['what']} {d['before']} → {d['after']}" for d in step["differences"])
    return {0: "", -1: "one session earlier: ", 1: "one session later: "}[step["off_by_sessions"]] + told


def row_holds(cells: tuple[str, ...], row: Mapping[str, Any], change: Mapping[str, Any]) -> None:
    """Before, after, change."""
    before, after, moved = cells
    assert stands(before, change["before"])
    assert stands(after, change["after"])
    assert stands(moved.removeprefix("+"), (change["ratio"] - 1) * 100, digits=2)
    assert (moved[0] == "+") == (change["ratio"] > 1)
    better = METRICS[number_of(row)[1]]["better"]
    assert (change["word"] == "improved") == ((change["ratio"] > 1) == (better == "higher"))


def terminal(case: Case) -> None:
    """Every line of the text, as `--all` prints it."""
    host, step, found_rows = "", None, 0
    left = list(case.document["steps"])
    for line in history_text.as_text(case.report, everything=True).splitlines():
        if found := re.fullmatch(r"(n\d): (\d+) sessions, (\S+) to (\S+), (\d+) numbers?: (.*)", line):
            host = found[1]
            own = case.truth.sessions[host]
            dated = [day(start) for start, values, _ in own if any(values.values())]
            assert (int(found[2]), found[3], found[4]) == (len(dated), dated[0], dated[-1])
            assert int(found[5]) == sum(row["host"] == host for row in case.document["series"])
            parts_of(case, found[6].split("; "), {host})
        elif found := re.fullmatch(
            r"(\S+(?: to \S+)?): ([^:;]+) on ([^ ;,]+(?:,[^ ;,]+)*)(, not each on every host)?; ((?:at the same time: |nothing ).+)",
            line,
        ):
            unlike(case, found[1], unfolded(found[3]), found[5], bool(found[4]))
            together(case, found[1], unfolded(found[3]), found[2], found[5])
        elif found := re.fullmatch(
            r"(\d{4}-\d\d-\d\d \d\d:\d\d)  ([^(]+?)(?: \(⚠ (\d+) of (\d+) numbers? doubted by .*\))?: (.+)",
            line,
        ):
            step = next(s for s in left if s["host"] == host)
            left.remove(step)
            assert step["started_utc"].startswith(found[1].replace(" ", "T"))
            counted(found[2], [step])
            sized(case, found[5], step)
            assert not found[4] or int(found[4]) == len(step["numbers"]) >= int(found[3])
        elif step and line.strip() == beside(step):
            pass
        elif found := re.fullmatch(r"(\S+) to (\S+)  (.+), little by little and not on any one day", line):
            dated = [day(start) for start, values, _ in case.truth.sessions[host] if any(values.values())]
            assert (found[1], found[2]) == (dated[0], dated[-1])
            parts_of(
                case,
                [
                    f"{sum(map(int, re.findall(r'[0-9]+', found[3])))} numbers drift: {found[3]} little by little"
                ],
                {host},
            )
            step = None
        elif (
            found := re.fullmatch(
                r"  (regressed|improved)  +(s, a=\d+: \w+)(?: ⚠ .*?)?  +(\S.*?)  +→ +(\S.*?)  +(\S+ %)", line
            )
            if step is None
            else None
        ):
            (row,) = [
                r for r in case.document["series"] if r["host"] == host and number_of(r) == key_of(found[2])
            ]
            assert found[1] == row["drift"]["word"]
            row_holds(found.groups()[2:], row, row["drift"])
        elif step and (
            found := re.fullmatch(
                r"  (regressed|improved)  +(s, a=\d+: \w+)(?: ⚠ .*?)?  +(\S.*?)  +→ +(\S.*?)  +(\S+ %)", line
            )
        ):
            key = key_of(found[2])
            ((row, change),) = [(r, c) for r, c in case.changed(host) if number_of(r) == key and c["started_utc"] == step["started_utc"]]  # fmt: skip
            assert found[1] == change["word"]
            row_holds(found.groups()[2:], row, change)
            found_rows += 1
        elif found := re.fullmatch(
            r"(\S+): (\d+) sessions?( each)?; it takes 10 to tell a change from day-to-day noise", line
        ):
            short = {h: sum(any(v.values()) for _, v, _ in own) for h, own in case.truth.sessions.items()}
            assert {short[h] for h in unfolded(found[1])} == {int(found[2])}
            assert int(found[2]) < 10
        elif found := re.fullmatch(r"  may go unseen: (.+)", line):
            named = [re.fullmatch(r"(.+) up to ([\d.]+) %", part).groups() for part in found[1].split("; ")]  # type: ignore[union-attr]
            bounds = {h.series.name: history_text.largest_unseen(h) for h in case.report.of(host)}
            assert [bounds[name] for name, _ in named] == sorted(
                (bounds[name] for name, _ in named), reverse=True
            )
            for name, said in named:
                assert bounds[name] * 100 <= float(said) * (1 + 1e-9) < bounds[name] * 110
        elif line.startswith("warning: ") and " gave no number: " in line:
            found_ = re.findall(r"(\d+) runs? of (n\d) gave no number: s, a=\d \(exit status 1; ", line)
            assert {h: int(n) for n, h in found_} == case.truth.failed
        else:
            assert not line or line.startswith("⚠: doubtful, by the checks named"), f"no reader for {line!r}"
    assert not left
    assert found_rows == len(case.changed())


def page(case: Case) -> None:
    """Key numbers, titles, both tables of each figure, what its panels say to those who do not see them."""
    shown = {n.name: (int(n.value.replace("\u202f", "")), n.context) for n in case.page.key_numbers}
    series, steps = case.document["series"], case.document["steps"]
    sessions = {h: [s for s in own if any(s[1].values())] for h, own in case.truth.sessions.items()}
    hosts = len(sessions)
    assert shown["Sessions"] == (sum(map(len, sessions.values())), f"of {hosts} host{'s' * (hosts > 1)}")
    assert shown["Numbers"][0] == len(series)
    if found := re.match(r"(\d+) numbers? in fewer", shown["Numbers"][1]):
        assert int(found[1]) == sum(not row["judged"] for row in series) > 0
    news = [row for row in series if any(c["word"] != "changed" for c in row["changes"])]
    slow = [row for row in series if row["drift"]]
    assert ("Changed" in shown) == ("Regressed" in shown) == bool(case.judged())
    if case.judged():
        assert shown["Changed"][0] == len(news) + len(slow)
        told = re.fullmatch(r"(?:(\d+) numbers? in (\d+) steps?)?(?:(?:, |^)(\d+)(?: numbers?)? by a slow drift)?", shown["Changed"][1])  # fmt: skip
        assert told
        assert [int(n or 0) for n in told.groups()] == [len(news), len(steps), len(slow)]
        assert shown["Regressed"][0] == sum(row["regressed"] for row in series)
    drawn = [f for s in case.page.sections for b in s.blocks for f in b.figures]
    assert len(drawn) == hosts
    for figure in drawn:
        if not figure.tables:
            quiet(case, figure)
            continue
        host, told_of, date, others = re.fullmatch(
            r"(n\d): (.+? (?:worse|better) \([^)]+\)) on (\S+?)(?:, and (\d+) other changes?)?(?:; \d+ numbers? drift.*)?",
            figure.title,
        ).groups()  # type: ignore[union-attr]
        own = [step for step in steps if step["host"] == host]
        at = [step for step in own if day(step["started_utc"]) == date]
        sized(case, told_of, max(at, key=lambda step: (step["regressed"], step["improved"])))
        assert max(step["regressed"] for step in own) == max(step["regressed"] for step in at)
        assert int(others or 0) == len(own) - 1
        changed = case.changed(host)
        (left,) = re.findall(r"(\d+) more numbers? in the table", figure.note) or [0]
        lanes(case, figure, host)
        drifting = {row["number"]: row for row in slow if row["host"] == host}
        assert len(figure.panels) + int(left) == len({row["number"] for row, _ in changed}) + len(drifting)
        (table,), (numbers,) = figure.tables, figure.numbers
        assert [(row[0][:10], row[1], row[2]) for row in table.rows] == [
            (day(step["started_utc"]), counts_of(step), difference(step)) for step in own
        ]
        assert len(numbers.rows) == len(changed) + len(drifting)
        for name, start, word, *cells in numbers.rows:
            if start == "little by little":
                assert word == drifting[name]["drift"]["word"]
                row_holds(tuple(cells), drifting[name], drifting[name]["drift"])
                continue
            ((row, change),) = [
                (r, c) for r, c in changed if r["number"] == name and day(c["started_utc"]) == start
            ]
            assert word == change["word"]
            row_holds(tuple(cells), row, change)
        named = {h.series.title(): h.series.name for h in case.report.histories}
        for panel in figure.panels:
            title, n, told = re.fullmatch(r"(.+) over (\d+) sessions: (.+)\.", panel.description).groups()  # type: ignore[union-attr]
            name = named[title]
            if name in drifting:
                assert told.endswith(", little by little")
                continue
            (row,) = [r for r, _ in {r["number"]: (r, c) for r, c in changed}.values() if r["number"] == name]
            assert int(n) == len(row["sessions"])
            lost = re.search(r"; (\d+) more in which its runs failed$", told)
            assert int(lost[1] if lost else 0) == failed_since(case.truth, host, number_of(row))
            assert len(panel.wide["datasets"]["crosses"]) == failed_since(case.truth, host, number_of(row))
            told = told.removesuffix(lost[0] if lost else "")
            for part, (_, change) in zip(told.split("; "), [(r, c) for r, c in changed if r["number"] == name], strict=True):  # fmt: skip
                word, moved, start = re.fullmatch(r"(\w+), (\S+ %), on (\S+)", part).groups()  # type: ignore[union-attr]
                assert (word, start) == (change["word"], day(change["started_utc"]))
                assert stands(moved.removeprefix("+"), (change["ratio"] - 1) * 100, digits=2)
    for check in case.page.checks:
        if check.counted:
            assert int(check.counted.split()[0]) == len(check.items)
    told = dict(case.page.provenance)
    assert unfolded(told.get("Hosts") or told["Host"]) == set(sessions)
    dates = sorted(day(s[0]) for own in sessions.values() for s in own)
    assert told["Measured"] == f"{dates[0]} to {dates[-1]}"


def failed_since(truth: Truth, host: str, number: Number) -> int:
    """Return how many sessions behind the first one with a number have none."""
    there = [bool(values.get(number)) for _, values, _ in truth.sessions[host]]
    return there[there.index(True) :].count(False)


def quiet(case: Case, figure: Any) -> None:
    """A host on which nothing changed on some day."""
    host, said = re.fullmatch(r"(n\d): (.+)", figure.title).groups()  # type: ignore[union-attr]
    rows = [row for row in case.document["series"] if row["host"] == host]
    lanes(case, figure, host)
    assert not any(step["host"] == host for step in case.document["steps"])
    assert len(figure.panels) <= sum(bool(row["drift"]) for row in rows)
    if found := re.fullmatch(r"(\d+) sessions?, too few to tell a change", said):
        assert {len(row["sessions"]) < 10 for row in rows} == {True}
        assert int(found[1]) == max(len(row["sessions"]) for row in rows)
        return
    said, _, new = said.partition("far outside")
    if new:
        outside(rows, f"far outside{new}")
    for part in filter(None, said.removesuffix("; ").split(", ")):
        if found := re.fullmatch(r"(no change.*) in (\d+) numbers?", part):
            assert int(found[2]) == sum(
                row["judged"] and not row["drift"] and not row["recent"] for row in rows
            )
            part = found[1]
        parts_of(case, [part], {host})


def lanes(case: Case, figure: Any, host: str) -> None:
    """The line of each kind of number, what is said beside it, and the events above them all."""
    drawn, truth = figure.lanes, case.truth
    dated = [(day(start), facts) for start, _, facts in truth.sessions[host]]
    assert (drawn.first, drawn.last) == (dated[0][0], dated[-1][0])
    times = [datetime.fromisoformat(start).timestamp() for start, *_ in truth.sessions[host]]
    gap = (times[-1] - times[0]) / max(len(times) - 1, 1)
    told = {f"{b} " + part for (_, fa), (b, fb) in pairwise(dated) for part in [*(f"{w} {fa[w]} → {fb[w]}" for w in fa if fa[w] != fb[w])]}  # fmt: skip
    assert {
        f"{event.said[:10]} {part}" for event in drawn.events for part in event.said[11:].split("; ")
    } == told
    assert [e.at for e in drawn.events] == sorted(e.at for e in drawn.events)
    for event, at in zip(
        drawn.events, [i for i, ((_, a), (_, b)) in enumerate(pairwise(dated), 1) if a != b], strict=True
    ):
        low, high = times[0] - gap / 2, times[-1] + gap / 2
        assert event.at == pytest.approx(100 * ((times[at - 1] + times[at]) / 2 - low) / (high - low))
    rows = {row["number"]: row for row in case.document["series"] if row["host"] == host}
    kinds: dict[str, list[Any]] = {}
    for row in rows.values():
        kinds.setdefault(row["metric"], []).append(row)
    assert {lane.name.partition(" ⚠")[0] for lane in drawn.lanes} == set(kinds)
    moved = []
    for lane in drawn.lanes:
        kind = kinds[lane.name.partition(" ⚠")[0]]
        own = {row["number"]: [c for c in row["changes"] if c["word"] != "changed"] for row in kind}
        own |= {row["number"]: [row["drift"]] for row in kind if row["drift"]}
        most = {number: max((abs(c["ratio"] - 1) for c in of), default=0.0) for number, of in own.items()}
        (row,) = [
            row
            for row in kind
            if row["number"] == re.match(r"(s, a=\d+)", lane.sub)[1] + ": " + row["metric"]
        ]  # type: ignore[index]
        assert most[row["number"]] == max(most.values())
        moved.append(most[row["number"]])
        without = sum(not values.get(number_of(row)) for _, values, _ in truth.sessions[host])
        assert len(lane.crosses) == without
        assert lane.said.endswith(f"; {without} more in which its runs failed.") == (without > 0)
        changed = sum(bool(of) for of in own.values())
        found = re.search(r"; (\d+) of (\d+) numbers changed", lane.sub)
        assert bool(found) == (changed > 0 and len(kind) > 1)
        assert not found or (int(found[1]), int(found[2])) == (changed, len(kind))
        assert lane.sub.endswith(
            "less is better" if METRICS[row["metric"]]["better"] == "lower" else "more is better"
        )
        for (word, text), change in zip(lane.steps, own[row["number"]], strict=True):
            percent, start = re.fullmatch(r"(\S+ %) (?:on )?(.+)", text).groups()  # type: ignore[union-attr]
            since = day(change["started_utc"]) if "started_utc" in change else "little by little"
            assert (word, start) == (change["word"], since)
            assert stands(percent.removeprefix("+"), (change["ratio"] - 1) * 100, digits=2)
        values = [session["value"] for session in row["sessions"]]
        now = re.fullmatch(r"now (.+)", lane.note) or re.match(
            r"([^,]+), (?:no change|too few|[+−]\S+ % since)", lane.note
        )
        assert now, lane.note
        end = row["drift"] or (row["changes"] or [{"after": statistics.median(values)}])[-1]
        assert stands(now[1], end["after"])
        assert ("too few" in lane.note) == (not row["judged"])
        assert bool(lane.link) == bool(lane.steps)
        if scatter := re.search(r"scatters by (.+)$", lane.note):
            middle = statistics.median(values)
            sd = 1.4826 * statistics.median(abs(v - middle) for v in values) / middle
            if scatter[1].startswith("≤ "):
                assert scatter[1] == "≤ 0.30 %"
                assert sd < 0.003
            else:
                assert stands(scatter[1], sd * 100, digits=2)
    assert moved == sorted(moved, reverse=True)


def counts_of(step: Mapping[str, Any]) -> str:
    return ", ".join(f"{step[word]} {word}" for word in ("regressed", "improved") if step[word])


READERS: tuple[Callable[[Case], None], ...] = (facts, headline, terminal, page)


def cases(make: Any, folder: Path, seeds: range) -> Iterator[Case]:
    for seed in seeds:
        own = folder / str(seed)
        own.mkdir()
        truth = made(make, own, seed)
        report = history.build(load(truth.files))
        yield Case(
            truth=truth, report=report, document=json.loads(history_text.as_json(report)),
            page=history_page.build(report, title="t"),
        )  # fmt: skip


@pytest.mark.parametrize("seeds", lots(range(50), quick=2, slow=14), ids=str)
def test_what_is_said_of_a_history_holds_of_its_figures(seeds: range, make: Any, tmp_path: Path) -> None:
    pytest.importorskip("ruptures", reason="ruptures, which finds the steps, is for no such Python")
    for case in cases(make, tmp_path, seeds):
        for reader in READERS:
            reader(case)
