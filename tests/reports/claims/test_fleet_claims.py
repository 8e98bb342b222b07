"""Every sentence of `pinsweep fleet`, of its page, table and JSON, against the figures that went into the files.

The figures are written here and read again by nothing of ours but the parser: medians, distances and counts are made once more.
A sentence that none of the readers below knows is a failure: it needs a reader.
"""

from __future__ import annotations

import dataclasses
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

import pytest

from reports.draw.figure import Figure
from reports.fleet import outliers
from reports.fleet import page as fleet_page
from reports.fleet import text as fleet_text
from reports.page.model import Page
from reports.results.load import load
from reports.text.screen import Screen
from tests.laws import lots
from tests.reports.claims.test_claims import Said, said

Number = tuple[str, str]  # level of the axis, metric
METRICS = {
    "rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"},
    "took": {"regex": r"took (\S+)", "unit": "us", "better": "lower"},
    "score": {"regex": r"score (\S+)", "better": "higher"},
}
BASE = {"rate": 1e6, "took": 1e3, "score": 1.0}  # of what is printed, base units


@dataclass
class Truth:
    """What was written: the kind of each host, and of each number the printed values of each session."""

    files: list[Path] = field(default_factory=list)
    kind: dict[str, str] = field(default_factory=dict)
    values: dict[Number, dict[str, list[list[float]]]] = field(default_factory=dict)
    sessions: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def of(self, number: Number) -> dict[str, list[float]]:
        """Return host → the median of each session, base units."""
        own = self.values[number]
        return {h: [statistics.median(s) * BASE[number[1]] for s in sessions] for h, sessions in own.items()}

    def mates(self, host: str, number: Number) -> dict[str, float]:
        """Return the value of each host of its kind."""
        return {
            h: statistics.median(s) for h, s in self.of(number).items() if self.kind[h] == self.kind[host]
        }

    def worse(self, host: str, number: Number) -> tuple[float, list[float]]:
        """Return by how much a host and each of its sessions is worse than the median, relative."""
        middle = statistics.median(self.mates(host, number).values())
        sign = 1 if METRICS[number[1]]["better"] == "lower" else -1
        sessions = [sign * (v / middle - 1) for v in self.of(number)[host]]
        return sign * (self.mates(host, number)[host] / middle - 1), sessions


def made(make: Any, folder: Path, seed: int) -> Truth:
    """A fleet of one or two kinds, of 2 to 30 hosts, one to five sessions each; noise, digits, faults, failures by the seed."""
    chance, truth = random.Random(seed), Truth()
    size = chance.choice([2, 8, 9, 12, 16, 30])
    noise, printed = chance.choice([0.0, 0.003, 0.01, 0.04, 0.1]), chance.choice([0, 2, 2, 4])
    metrics = {name: METRICS[name] for name in chance.sample(sorted(METRICS), chance.choice([1, 2, 3]))}
    levels = chance.choice([["1"], ["1", "2"], ["1", "2", "4"]])
    usual = {(a, m): 10 ** chance.uniform(1.4, 4) for a in levels for m in metrics}
    kinds = chance.choice(["A", "A", "AB"])
    faults = {chance.randrange(size): chance.choice([0.02, 0.05, 0.12, 0.4, -0.15]) for _ in range(chance.choice([0, 1, 1, 2]))}  # fmt: skip
    only, halves, least = chance.random() < 0.5, chance.random() < 0.1, chance.choice([1, 2, 3, 3])
    for i in chance.sample(range(size), size):
        host, done = f"n{i:03}", Counter[str]()
        truth.kind[host] = kinds[-1 if i % 7 == 0 else 0]
        worse = faults.get(i, 0.2 if halves and i % 2 else 0.0)
        truth.sessions[host] = least + (i in faults) * chance.choice([0, 1, 2])
        for session in range(truth.sessions[host]):
            maker = make.Maker(folder / f"{host}.db", host=host)
            maker.facts = {**make.FACTS, "cpu_model": truth.kind[host], "boot_id": f"{host} {session}"}
            for a, _ in [(a, r) for a in levels for r in range(chance.choice([1, 1, 3]))]:
                options = {"command": ["x"], "metrics": metrics, "a": a}
                done[a] += 1
                if session and chance.random() < 0.01:
                    maker.add("s", "command", options, "", axes=("a",), repeat=done[a], status="failed", reason="exit status 1")  # fmt: skip
                    truth.failed[host] += 1
                    continue
                text = ""
                for j, (name, spec) in enumerate(metrics.items()):
                    slower = (1 + (worse if j == 0 or not only else 0.0)) * max(0.1, chance.gauss(1, noise))
                    value = usual[a, name] * (slower if spec["better"] == "lower" else 1 / slower)
                    text += f"{name} {value:.{printed}f}\n"
                    own = truth.values.setdefault((a, name), {}).setdefault(host, [])
                    own.extend([] for _ in range(session + 1 - len(own)))
                    own[session].append(float(f"{value:.{printed}f}"))
                maker.add("s", "command", options, text, axes=("a",), repeat=done[a])
            path = maker.write()
        truth.files.append(path)
    for hosts in truth.values.values():
        hosts |= {host: [session for session in sessions if session] for host, sessions in hosts.items()}
    return truth


# --- readers -----------------------------------------------------------------------------------------------


def unfolded(text: str) -> set[str]:
    """Read "n[000-002,007],n9 (A)" as hosts."""
    found: set[str] = set()
    for name, inner, plain in re.findall(r"(\w*?)\[([\d,-]+)\]|([\w.]+(?: \([^)]*\))?)", text):
        for part in inner.split(",") if inner else ():
            first, _, last = part.partition("-")
            found |= {f"{name}{n:0{len(first)}}" for n in range(int(first), int(last or first) + 1)}
        found |= {plain} if plain else set()
    return found


def hosts_of(text: str) -> tuple[int, set[str]]:
    """Read "n[001,003]" or, of many, "40 hosts": how many, and who if it is said."""
    if counted := re.fullmatch(r"(\d+) hosts?", text):
        return int(counted[1]), set()
    names = unfolded(text)
    return len(names), names


def stands(text: str, value: float, unit: str = "", digits: int = 3) -> bool:
    """Does a text say this value, in base units of `fmt`, at its own precision? "130" may be rounded to `digits` of them."""
    (one,) = said(text, unit)
    if digits < 3 and one.value:
        one = dataclasses.replace(one, step=max(one.step, 10.0 ** (math.floor(math.log10(abs(one.value))) - digits + 1)))  # fmt: skip
    scale = {"s": 1e-9}.get(one.kind, 1.0)  # times are in ns
    return one.stands_for(Said(text="", value=value * scale, step=0.0, kind=one.kind))


WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "no": 0, "none": 0}  # fmt: skip


def number(word: str) -> int:
    return WORDS[word.lower()] if word.lower() in WORDS else int(word)


@dataclass
class Case:
    """A report, what was written, and what is already known to be so: who is what, by the JSON, checked against the figures."""

    truth: Truth
    report: outliers.Report
    document: Any
    page: Page

    def hosts(self, *words: str) -> set[str]:
        return {host for word in words for host in self.document["nodes"].get(word, ())}

    def unseen(self) -> list[tuple[set[str], list[float]]]:
        """Return of each group its hosts and the unrounded bounds of what may go unseen."""
        return [
            (set(g["nodes"]), [n["unseen"] for n in g["numbers"] if n["unseen"] and not n["worse_half"]])
            for g in self.document["groups"]
        ]


def number_of(row: Mapping[str, Any]) -> Number:
    level = re.search(r"a=(\d+)", row["cell"])
    return level[1] if level else "1", row["metric"]


def judged(case: Case) -> None:
    """What the JSON says of hosts holds of the figures: values, medians, distances, and the words of docs/fleet.md."""
    truth, document = case.truth, case.document
    assert case.hosts(*document["nodes"]) == set(truth.kind)
    assert sum(map(len, document["nodes"].values())) == len(truth.kind)
    assert set(document["accused"]) == case.hosts("slow", "broken")
    assert {frozenset(g["nodes"]) for g in document["groups"]} == {
        frozenset(h for h in truth.kind if truth.kind[h] == kind) for kind in truth.kind.values()
    }
    for row in document["odd"]:
        host, key = row["node"], number_of(row)
        mates = truth.mates(host, key)
        assert row["value"] == pytest.approx(mates[host])
        assert row["median"] == pytest.approx(statistics.median(mates.values()))
        assert row["change"] == pytest.approx(mates[host] / statistics.median(mates.values()) - 1, abs=1e-12)
        worse, sessions = truth.worse(host, key)
        assert row["worse"] == pytest.approx(worse, abs=1e-12)
        assert row["sessions"] == len(sessions)
        word = row["verdict"]
        if word in ("slow", "broken"):
            assert len(sessions) >= 3
            assert min(sessions) > 0.03
            assert (word == "broken") == (worse > 0.10)
        elif word == "fast":
            assert max(sessions) < -0.03
        elif row["reason"] == "its sessions disagree":
            assert len(sessions) >= 3
            assert worse > 0.03
        elif row["reason"] == "may be chance":
            assert len(sessions) >= 3
            assert min(sessions) > 0.03
        else:
            assert len(sessions) < 3
            assert worse > 0.015
            rules = {
                "by the spread alone": (False, True),
                "by the threshold alone": (True, False),
                None: (True, True),
            }
            assert (worse > 0.03, row["z"] > 2.5) == rules[row["reason"]]
    odd = {(row["node"], number_of(row)) for row in document["odd"]}
    mild = {row["node"] for row in document["everywhere"]}
    for host in case.hosts("ok"):
        for key, own in truth.values.items():
            if len(own.get(host, ())) in (1, 2):
                assert (host, key) not in odd
                assert truth.worse(host, key)[0] <= 0.03 + 1e-12
        assert host not in mild
    assert case.hosts("slow", "broken", "suspicious", "fast") == {host for host, _ in odd} | mild
    for group in document["groups"]:
        assert group["judged"] == (len(group["nodes"]) >= 8)
        if not group["judged"]:
            assert set(group["nodes"]) <= case.hosts("unknown")
        for row in group["numbers"]:
            own = [v for h, v in truth.mates(group["nodes"][0], number_of(row)).items()]
            assert row["nodes"] == len(own)
            assert row["median"] is None or row["median"] == pytest.approx(statistics.median(own))


def unseen(case: Case, text: str, hosts: set[str]) -> None:
    """ "up to 12 % worse may go unseen in 3 of 6 numbers" is a bound, rounded up; its numbers are those of the group."""
    most, n, of = re.fullmatch(
        r"up to ([\d.]+) % worse may go unseen in (\d+) of (\d+) numbers?", text
    ).groups()  # type: ignore[union-attr]
    (bounds,) = [bounds for group, bounds in case.unseen() if group == hosts]
    assert max(bounds) * 100 <= float(most) * (1 + 1e-9)
    assert float(most) < max(bounds) * 100 * 1.1
    assert (int(n), int(of)) == (sum(b > 0.03 for b in bounds), len(bounds))


def blind(case: Case, text: str, hosts: set[str]) -> None:
    """Which numbers these are, each with its bound, the widest first."""
    (own,) = [g["numbers"] for g in case.document["groups"] if set(g["nodes"]) == hosts]
    bounds = {n["number"]: n["unseen"] for n in own if n["unseen"] and not n["worse_half"]}
    told = re.findall(r"(s(?:, a=\d+)?: \w+) \(([\d.]+) %\)", text)
    more = re.search(r" and (\d+) more$", text)
    assert len(told) + int(more[1] if more else 0) == sum(bound > 0.03 for bound in bounds.values())
    for (name, said_of), bound in zip(told, sorted(bounds.values(), reverse=True), strict=False):
        assert bounds[name] == bound
        assert bound * 100 <= float(said_of) * (1 + 1e-9) < bound * 110


def by_chance(case: Case, found: str, of: str, whose: str, are: str, expected: str, more: str) -> None:
    """How many looks there were at hosts with one or two sessions, how many were suspicious, and what chance makes: never more than half."""
    few = [
        (host, key)
        for key, own in case.truth.values.items()
        for host in own
        if len(own[host]) < 3 and len(case.truth.mates(host, key)) >= 8
    ]
    odd = [row for row in case.document["odd"] if row["verdict"] == "suspicious" and row["sessions"] < 3]
    assert int(found.replace("\u202f", "")) == len(odd) > 0
    often = [row for row in case.document["odd"] if row["verdict"] == "suspicious" and row["sessions"] >= 3]
    assert int((more or "0").replace("\u202f", "")) == len(often)
    assert bool(whose) == any(
        len(own) >= 3 for values in case.truth.values.values() for own in values.values()
    )
    assert (are == "is") == (len(odd) == 1)
    assert len(odd) <= int(of.replace("\u202f", "")) <= len(few)
    assert (
        expected == "fewer than one"
        or float(expected.removeprefix("about ").replace("\u202f", "")) <= len(few) / 2
    )


def said_of_sizes(case: Case, text: str) -> None:
    """How far off a host is said to be, and in how many of its numbers: those that are beyond chance, where some are."""
    for name, low, high, n in re.findall(r"(n\d+) \(([\d.]+)(?: to ([\d.]+))? % worse in (\d+)", text):
        rows = [row for row in case.document["odd"] if row["node"] == name and row["verdict"] != "fast"]
        words = {row["verdict"] for row in rows} - {"suspicious"}
        rows = [row for row in rows if not words or row["verdict"] in words]
        rows = [row for row in rows if row["beyond_chance"]] or rows
        ends = [100 * end(row["worse"] for row in rows) for end in (min, max)]
        assert 0 < int(n) <= len(rows)
        assert (float(low), float(high or low)) == pytest.approx(ends, rel=0.06)


def as_chance_makes(case: Case, found: re.Match[str]) -> None:
    """Whom chance alone may have made: suspicious, in one session or two, and no further off than chance makes."""
    alone = set(case.document["by_chance"])
    rows = [row for row in case.document["odd"] if row["node"] in alone]
    assert alone <= case.hosts("suspicious")
    assert all(
        row["verdict"] == "suspicious" and row["sessions"] < 3 and not row["beyond_chance"] for row in rows
    )
    assert int(found[1] or 1) == len(alone)
    if named := found[2] or found[3]:
        assert unfolded(named) == alone
    else:
        assert len(alone) > 12
    spans = [100 * end(row["worse"] for row in rows) for end in (min, max)]
    assert [float(found[4].split()[i]) for i in (0, -1)] == pytest.approx(spans, rel=0.06)
    counts = [sum(row["node"] == name for row in rows) for name in alone]
    assert 1 <= number(found[5]) <= min(counts)
    assert number(found[6] or found[5]) <= max(counts)


def headline(case: Case) -> None:
    """The page's sentence, part by part."""
    page, document = case.page, case.document
    total, slow, unknown = len(case.truth.kind), case.hosts("slow", "broken"), case.hosts("unknown")
    first, *parts = page.sentence.removesuffix(".").split("; ")
    said = re.findall(r"(?:^|, )(\S+)(?: of (\d+) hosts?)? (is|are) (broken|slow)", first)
    if said and "known" not in first:
        assert [one[3] for one in said] == [word for word in ("broken", "slow") if case.hosts(word)]
        assert [one[1] for one in said] == [str(total), ""][: len(said)]
        for names, _, are, word in said:
            own = case.hosts(word)
            assert unfolded(names) == own if len(slow) <= 12 else int(names) == len(own)
            assert (are == "is") == (len(own) == 1)
    elif found := re.fullmatch(r"(\d+) hosts?, (?:none of )?which could(?: not)? be judged", first):
        assert int(found[1]) == total == len(unknown)
    elif not re.search("looks? slow: ", first):
        found = re.fullmatch(r"None of (\d+) hosts? is known to be slow", first)
        assert found
        assert int(found[1]) == total
        assert not slow
        assert len(unknown) < total
    else:
        assert not slow
        parts = [first, *parts]
    said_of_sizes(case, page.sentence)
    chance = case.report.chance
    again = set(document["rerun"]) - chance.alone
    assert bool(again) == any(re.search("looks? slow: |looked slow", part) for part in parts)
    assert bool(chance.alone) == any(part.endswith("as chance makes") for part in parts)
    assert bool(case.truth.failed) == any(re.fullmatch("runs of .+ failed", part) for part in parts)
    for part in parts:
        if found := re.fullmatch(r"(\d+)( more| of \d+ hosts?) looks? slow: (.+)", part):
            assert int(found[1]) == len(again)
            assert (found[2] == " more") == bool(slow)
            assert slow or int(found[2].split()[1]) == total
            assert again <= case.hosts("suspicious")
            sized = re.sub(r" \(.*?\)", "", found[3]).replace(" and ", ", ")
            names = {
                n
                for own in re.split(r", (?![^\[]*\])", sized)
                for n in ([] if own.endswith("others") else unfolded(own))
            }
            assert names == again if len(again) <= 12 else names <= again
        elif part.startswith("they are too many"):
            assert chance.many_apart
        elif part.endswith(": to be measured again"):
            assert re.match("one session|two sessions|fewer than|sessions that|what may|on which", part)
        elif found := re.fullmatch(
            r"(\d+) (?:more )?hosts looked slow, which are too many for it to be the hosts: longer runs of .*",
            part,
        ):
            assert chance.too_many
            assert int(found[1]) == chance.others
        elif found := re.fullmatch(
            r"(?:(\d+) (?:more )?hosts(?:, (.+),)? are|(\S+) is) (.+?) % worse in (\w+)(?: to (\w+))? numbers?(?: each, as many|,) as chance makes",
            part,
        ):
            as_chance_makes(case, found)
        elif found := re.fullmatch(r"(?:all )?runs of (.+) failed", part):
            n, names = hosts_of(found[1])
            assert n == len(case.truth.failed)
            assert not names or names == set(case.truth.failed)
        elif found := re.fullmatch(r"two groups of hosts differ: (.+) worse than (.+)", part):
            worse, better = (hosts_of(found[i]) for i in (1, 2))
            rows = [n["worse_half"] for g in document["groups"] for n in g["numbers"] if n["worse_half"]]
            assert worse[0] in map(len, rows)
            assert not worse[1] or sorted(worse[1]) in map(sorted, rows)
            assert not worse[1] & better[1]
        elif found := re.fullmatch(r"(up to .+? numbers?)(?: of (.+))?", part):
            n, names = hosts_of(found[2]) if found[2] else (total, set(case.truth.kind))
            (group,) = [g for g, _ in case.unseen() if (g == names if names else len(g) == n)]
            unseen(case, found[1], group)
        elif part.startswith("⚠ doubtful: "):
            doubted(case, part)
        elif found := re.fullmatch(r"(.+) could not be judged", part):
            n, names = hosts_of(found[1])
            assert n == len(unknown)
            assert not names or names == unknown
        else:
            raise AssertionError(f"no reader for {part!r}")


def doubted(case: Case, text: str) -> None:
    """Who has a number that is odd and that a check doubts, by which checks."""
    text = " ".join(text.split())
    own: dict[str, set[str]] = {}
    for row in (*case.document["odd"], *case.document["everywhere"]):
        own.setdefault(row["node"], set()).update(row["doubtful"])
    strips = [strip for group in case.report.groups for _, strip in group.strips]
    of_all = set.intersection(*({*host.doubt.split(", ")} for strip in strips for host in strip.hosts)) - {""}
    if found := re.fullmatch(r"⚠ doubtful: all numbers, by (.+)", text):
        assert {*re.findall(r"\b[A-Z]\d+\b", found[1])} == of_all
        return
    own = {name: ids - of_all for name, ids in own.items() if ids - of_all}
    every = set().union(*own.values())
    hosts = re.match(r"⚠ doubtful: (\d+) hosts(?: \(|,)", text)
    if found := re.fullmatch(r"⚠ doubtful: (.+), by (\d+) checks, among them .+ \((\w+)\)", text):
        assert int(found[2]) == len(every) > 3
        assert found[3] in every
        assert hosts or unfolded(found[1]) == own.keys()
    if hosts:
        assert int(hosts[1]) == len(own) > 12
    if found or hosts:
        return
    told = {
        name: {*re.findall(r"\b[A-Z]\d+\b", ids)}
        for names, ids in re.findall(r"([^ ]+) \(([^)]*)\)", text)
        for name in unfolded(names.strip(", "))
    }
    assert told == own


def key_numbers(case: Case) -> None:
    document, shown = case.document, {n.name: (int(n.value), n.context) for n in case.page.key_numbers}
    every = [n for g in document["groups"] for n in g["numbers"]]
    compared = sum(bool(n["median"]) for n in every)
    kinds = len(document["groups"])
    assert shown["Hosts"] == (len(case.truth.kind), f"of {kinds} kind{'s' * (kinds > 1)}")
    broken, slow = len(case.hosts("broken")), len(case.hosts("slow"))
    unknown = len(case.hosts("unknown"))
    assert ("Broken or slow" in shown) == ("To measure again" in shown) == (unknown < len(case.truth.kind))
    if unknown < len(case.truth.kind):
        apart = f"{broken} broken, {slow} slow" + (f"; {unknown} not judged" if unknown else "")
        assert shown["Broken or slow"] == (broken + slow, apart)
        assert shown["To measure again"][0] == len(set(document["rerun"]) - set(document["by_chance"]))
    assert shown["Numbers"][0] == (compared or len(every))
    if more := re.search(
        r"(\d+) more(?: of kinds of host too few to be judged)? (?:is|are) not", shown["Numbers"][1]
    ):
        assert int(more[1]) == len(every) - compared > 0
    told = dict(case.page.provenance)
    assert unfolded(told["Hosts"]) == set(case.truth.kind)
    sessions, files = re.fullmatch(r"(\d+) in (\d+) result files?", told["Sessions"]).groups()  # type: ignore[union-attr]
    assert (int(sessions), int(files)) == (case.truth.sessions.total(), len(case.truth.files))


def figures(case: Case) -> None:
    """Titles and tables of the strips."""
    report, truth = case.report, case.truth
    of_figure = [
        g for g in report.groups if any((s.middle or not g.judged) and len(s.hosts) > 1 for _, s in g.strips)
    ]
    maps, strips = (
        [f for s in case.page.sections if s.opening == opening for b in s.blocks for f in b.figures]
        for opening in (True, False)
    )
    beside = iter(strips)
    for group, figure in zip(of_figure, maps, strict=True):
        own = set(group.hosts)
        slow, again, unknown = case.hosts("slow", "broken") & own, own & set(case.document["rerun"]) - case.report.chance.alone, case.hosts("unknown") & own  # fmt: skip
        title = figure.title
        kind = "(?: with .+?)?"
        if found := re.fullmatch(
            rf"(\w+) of (\d+) hosts?{kind}( that could be judged)? (?:is|are) (slow|broken)(?:, (\w+) (?:is|are) slow)?",
            title,
        ):
            broken = case.hosts("broken") & own
            assert (found[4] == "broken") == bool(broken)
            assert number(found[1]) == len(broken or slow) > 0
            assert (number(found[5]) if found[5] else 0) == (len(slow - broken) if broken else 0)
            assert int(found[2]) == len(own) - len(unknown)
            assert bool(found[3]) == bool(unknown)
        elif found := re.fullmatch(
            rf"(\w+) of (\d+) hosts?{kind}( that could be judged)? looks? slow(?:: (.+))?", title
        ):
            assert not slow
            assert number(found[1]) == len(again)
            assert int(found[2]) == len(own) - len(unknown)
            assert bool(found[3]) == bool(unknown)
            assert unfolded(found[4]) == again if len(again) <= 12 else not found[4]
        elif found := re.fullmatch(
            rf"None of (\d+) hosts?{kind}( that could be judged)? is known to be slow", title
        ):
            assert not slow
            assert not again
            assert int(found[1]) == len(own) - len(unknown)
            assert bool(found[2]) == bool(unknown)
            bounds = {frozenset(g): b for g, b in case.unseen()}[frozenset(own)]
            assert not any(b > 0.03 for b in bounds)
        elif found := re.fullmatch(
            rf"None of (\d+) hosts?{kind}( that could be judged)? is known to be slow; (.+)", title
        ):
            assert not slow
            assert int(found[1]) == len(own) - len(unknown)
            if more := re.fullmatch(r"(\w+) look slow, too many .*", found[3]):
                assert case.report.chance.too_many
                assert number(more[1]) == len(again)
            else:
                assert not again
                unseen(case, found[3], own)
        elif found := re.fullmatch(r"(\d+) hosts fall into two groups: (.+) worse than (.+)", title):
            assert int(found[1]) == len(own)
            assert unfolded(found[2]).isdisjoint(unfolded(found[3]))
        elif found := re.fullmatch(
            rf"(\d+) hosts?{kind} that could not be judged: furthest apart in (\w+), (\S+) to (\S+) %", title
        ):
            assert int(found[1]) == len(own) == len(unknown) < 8
            assert not figure.panels
            ends = {
                c.title.removeprefix("⚠ "): spans_of(figure, i) for i, c in enumerate(figure.grid.columns)
            }
            assert ends[found[2]] == tuple(signed(found[i]) for i in (3, 4))
            assert (
                max(high - low for low, high in ends.values()) - (ends[found[2]][1] - ends[found[2]][0])
                < 1.01
            )
        else:
            raise AssertionError(f"no reader for {title!r}")
        assert re.match(rf"{len(own)} hosts?: ", figure.note)
        heated(case, figure, own, group.judged)
        if not group.judged:
            continue
        (table,) = next(beside).numbers
        for row in table.rows:
            cells = dict(zip(table.columns, row, strict=True))
            key = key_of(cells["Number"])
            values = truth.mates(group.hosts[0], key)
            middle = statistics.median(values.values())
            unit = cells["Median"].rpartition(" ")[2] if " " in cells["Median"] else ""
            assert stands(cells["Median"], middle)
            apart = statistics.median(abs(v - middle) for v in values.values()) * 1.4826 / middle * 100
            told = cells["Hosts differ by (robust SD)"]
            if told.startswith("≤ "):
                assert apart <= float(told[2:].removesuffix(" %").replace("\u202f", "")) * 1.05
            else:
                assert stands(told, apart, digits=2)
            assert int(cells["Hosts"]) == len(values)
            order = sorted(values, key=values.__getitem__, reverse=METRICS[key[1]]["better"] == "lower")
            for what, least in (("Worst", order[0]), ("Best", order[-1])):
                name, _, text = cells[what].partition(" ")
                assert (name == "–") == (values[order[0]] == values[order[-1]])
                if name == "–":
                    continue
                assert values[name] == values[least]
                assert stands(text, values[name], unit)
            for name, change in re.findall(r"(n\d+) ([+−]?[\d.]+ %)", cells["Marked"]):
                assert stands(change.removeprefix("+"), (values[name] / middle - 1) * 100, digits=2)
                assert change[0] in "+−0"
            (row_json,) = [n for g in case.document["groups"] if set(g["nodes"]) == own for n in g["numbers"] if number_of(n) == key]  # fmt: skip
            if cells["Unseen up to"]:
                most = float(cells["Unseen up to"].removesuffix(" %"))
                assert row_json["unseen"] * 100 <= most * (1 + 1e-9) < row_json["unseen"] * 110


def signed(text: str) -> float:
    return float(text.removeprefix("⚠ ").replace("\u202f", "").replace("−", "-"))


def spans_of(figure: Figure, column: int) -> tuple[float, float]:
    """Return the lowest and the highest of a column of a grid of single hosts."""
    told = [signed(row.cells[column].text) for row in figure.grid.rows if not row.cells[column].missing]  # type: ignore[union-attr]
    return min(told), max(told)


def heated(case: Case, figure: Figure, own: set[str], judged: bool) -> None:
    """Every cell of the heat map, its colour, the order of its rows, and what is written above it."""
    truth, document, grid = case.truth, case.document, figure.grid
    assert grid
    scales = figure.numbers[0] if judged else None
    (group,) = [g for g in document["groups"] if set(g["nodes"]) == own]
    known = {number_of(n) for n in group["numbers"] if (n["median"] or not judged) and n["nodes"] > 1}
    rows = [(unfolded(row.of) if row.of else {row.name}, row) for row in grid.rows]
    assert set.union(*(hosts for hosts, _ in rows)) == own
    assert sum(len(hosts) for hosts, _ in rows) == len(own)
    status = {h: word for word, names in document["nodes"].items() for h in names}
    status |= dict.fromkeys(document["by_chance"], "ok")
    order = ["broken", "slow", "suspicious", "fast", "ok", "unknown"]
    ranks = [order.index(status[min(hosts)]) for hosts, _ in rows]
    assert ranks == sorted(ranks)
    for hosts, row in rows:
        word = row.word.partition(", ")[0]
        assert {status[h] for h in hosts} == {
            {"not judged": "unknown", "may be chance": "ok"}.get(word, word)
        }
        assert (word != row.word) == (word == "ok" and bool(hosts & {*case.report.lacking}))
        assert row.bad == (row.word in ("slow", "broken"))
    spans: list[float] = []
    for i, column in enumerate(grid.columns):
        metric = column.title.removeprefix("⚠ ")
        keys = [key for key in known if key[1] == metric]
        assert column.sub.startswith(
            "less is better" if METRICS[metric]["better"] == "lower" else "more is better"
        )
        assert column.sub.endswith(f", {len(keys)} numbers") == (len(keys) > 1)
        typical: dict[str, tuple[float, bool]] = {}
        for host in own:
            changes = [truth.mates(host, key)[host] / statistics.median(truth.mates(host, key).values()) - 1 for key in keys if host in truth.mates(host, key)]  # fmt: skip
            odd = [
                r
                for r in document["odd"]
                if r["node"] == host not in document["by_chance"]
                and r["metric"] == metric
                and number_of(r) in known
            ]
            if odd:
                worst = min(odd, key=lambda r: (order.index(r["verdict"]), -abs(r["worse"]), r["number"]))
                typical[host] = worst["change"], True
            elif changes:
                typical[host] = statistics.median(changes), False
        split = Counter(tuple(n["worse_half"] or ()) for n in group["numbers"] if number_of(n) in keys)
        ((worse_half, _),) = split.most_common(1)
        usual = {name: change for name, (change, is_odd) in typical.items() if not is_odd}
        sides = [[v for name, v in usual.items() if (name in worse_half) == side] for side in (True, False)]
        off = [abs(v - statistics.median(side)) for side in sides for v in side]
        sd = 1.4826 * statistics.median(off) if off else 0.0
        halves = [
            statistics.median(own_halves) for key in keys if (own_halves := repeats_of(truth, key, own))
        ]
        repeats = statistics.median(halves) if halves else 0.0
        quiet = max(0.01, 3 * sd, repeats)
        spans.append(quiet)
        if scales is None:
            assert not any(row.cells[i].shade or row.cells[i].marked for row in grid.rows)
            spans.clear()
        else:
            (scale,) = [dict(zip(scales.columns, r, strict=True)) for r in scales.rows if r[0] == metric]
            between = scale["Usual hosts differ by (robust SD)"]
            assert (between == "no difference seen") == (sd == 0 and len(usual) > 1)
            assert (between == "–") == (len(usual) == 1)
            assert sd < 0.0005 or stands(between, sd * 100, digits=2)
            told = scale["Repeats differ by (half the range)"]
            assert (told == "no difference seen") == (bool(halves) and repeats == 0)
            assert repeats == 0 or stands(told, repeats * 100, digits=2)
            assert halves or told == "–"
            assert stands(scale["No colour below"], quiet * 100)
            assert (int(scale["Numbers"]), int(scale["Hosts"])) == (len(keys), len(typical))
        sign = 1 if METRICS[metric]["better"] == "lower" else -1
        for hosts, row in rows:
            cell = row.cells[i]
            told = [typical[h] for h in sorted(hosts) if h in typical]
            assert cell.missing == (not told)
            if not told:
                assert cell.text == "–"
                continue
            assert cell.marked == any(is_odd for _, is_odd in told)
            ends = [
                float(t.replace("\u202f", "").replace("−", "-"))
                for t in cell.text.removeprefix("⚠ ").split(" to ")
            ]
            for end, change in zip((ends[0], ends[-1]), (min(told)[0], max(told)[0]), strict=True):
                step = 0.05 if abs(change) < 0.0995 else 0.5 if abs(change) < 9.995 else abs(change) * 0.5
                assert abs(end - change * 100) <= step + 1e-9
            if len(hosts) == 1 and judged:
                ((change, is_odd),) = told
                worse = sign * change
                assert (cell.shade > 0) == (worse > 0 and (worse > quiet or is_odd)) or abs(
                    abs(worse) - quiet
                ) < 1e-9
                assert (cell.shade < 0) == (worse <= 0 and (-worse > quiet or is_odd)) or abs(
                    abs(worse) - quiet
                ) < 1e-9
                assert not cell.shade or abs(cell.shade) == 1 + round(11 * min(math.log(max(abs(worse), 0.01) / 0.01) / math.log(50), 1))  # fmt: skip
    assert ("Hatched: " in figure.note) == any(cell.missing for row in grid.rows for cell in row.cells)
    assert ("outlined" in figure.note) == any(cell.marked for row in grid.rows for cell in row.cells)
    assert ("No colours: " in figure.note) == (not judged)
    if not judged:
        return
    assert "full from 50 % on" in figure.note
    (told,) = re.findall(r"[Nn]o colour within (\S+(?: to \S+)?) %, ", figure.note)
    low, high = [float(t) for t in told.split(" to ")] if " to " in told else [float(told)] * 2
    assert low <= min(spans) * 100 * 1.005
    assert high >= max(spans) * 100 * 0.995
    assert min(spans) * 90 <= low
    assert high <= max(spans) * 110


def repeats_of(truth: Truth, number: Number, hosts: set[str]) -> list[float]:
    """Half of the range of the repeats of each session of some hosts, relative."""
    sessions = [s for h, own in truth.values[number].items() if h in hosts for s in own if len(s) > 1]
    return [(max(s) - min(s)) / 2 / statistics.median(s) for s in sessions]


def key_of(name: str) -> Number:
    """Read "s, a=2: rate"."""
    found = re.fullmatch(r"s, a=(\d+): (\w+)", name.removesuffix(" "))
    assert found, name
    return found[1], found[2]


def suspects(case: Case) -> None:
    """The table of hosts to look at, and what is under each of them."""
    blocks = [b for s in case.page.sections if not s.opening for b in s.blocks]
    if not blocks:
        assert not case.document["odd"]
        return
    (block,) = blocks
    order = [
        ["broken", "slow", "suspicious", "fast", "ok", "unknown"].index(s.verdict) for s in block.suspects
    ]  # type: ignore[attr-defined]
    assert order == sorted(order)
    assert number(re.match(r"(\w+) to look at", block.heading)[1]) == len(block.suspects)  # type: ignore[attr-defined,index]
    alone = {*case.document["by_chance"]}
    assert {s.host for s in block.suspects} == case.hosts("slow", "broken", "suspicious", "fast") - alone  # type: ignore[attr-defined]
    assert Counter(row[0] for row in block.by_chance.rows) == Counter(
        row["node"] for row in case.document["odd"] if row["node"] in alone
    )  # type: ignore[attr-defined]
    for suspect in block.suspects:  # type: ignore[attr-defined]
        host = suspect.host  # sessions in which every run failed do not count
        own = max(len(of.get(host, ())) for of in case.truth.values.values())
        assert suspect.verdict in next(w for w, names in case.document["nodes"].items() if host in names)
        assert suspect.sessions == f"{own} session{'s' * (own > 1)}"
        rows = [r for r in case.document["odd"] if r["node"] == host]
        assert suspect.odd == str(len(rows)) == str(len(suspect.numbers.rows))
        for cells, row in zip(suspect.numbers.rows, rows, strict=True):
            odd_row(cells, row)
        if not suspect.value:
            assert host in {row["node"] for row in case.document["everywhere"]}
        elif "⚠" not in suspect.number:
            assert (suspect.number, suspect.value, suspect.median, suspect.change) == (
                rows[0]["number"], *suspect.numbers.rows[0][2:5],
            )  # fmt: skip


def odd_row(cells: tuple[str, ...], row: Mapping[str, Any]) -> None:
    """Number, verdict, value, median, change, z, sessions."""
    name, verdict, value, middle, change, z, sessions = cells
    assert name == row["number"]
    assert verdict.partition(",")[0] == row["verdict"]
    assert stands(value, row["value"])
    assert stands(middle, row["median"])
    assert stands(change.removeprefix("+"), row["change"] * 100, digits=2)
    assert (change[0] == "+") == (row["change"] > 0)
    assert stands(z, row["z"], digits=2)
    assert (z[0] == "−") == (row["worse"] < 0)
    assert int(sessions) == row["sessions"]


def terminal(case: Case) -> None:
    """Every line of the text, as `--all` prints it."""
    text, document = fleet_text.as_text(case.report, everything=True), case.document
    host = ""
    rows: dict[str, list[Any]] = {}
    for row in document["odd"]:
        rows.setdefault(row["node"], []).append(row)
    group: set[str] = set()
    listed: Counter[str] = Counter()
    heading = ""
    for line in text.splitlines():
        if found := re.fullmatch(
            r"(\d+) hosts?: ((?:\d+ [a-z ]+(?:, )?)+)",
            re.sub(r" \(runs of (\d+) failed\)| \(\d+ of them as chance makes\)", "", line),
        ):
            bad = re.search(r"(\d+) ok \(runs of (\d+) failed\)", line)
            assert int(bad[2] if bad else 0) == len(case.hosts("ok") & {*case.report.lacking})
            counts = {w: int(n) for n, w in re.findall(r"(\d+) ([a-z ]+)", found[2])}
            assert int(found[1]) == len(case.truth.kind) == sum(counts.values())
            assert {w.replace("not judged", "unknown"): n for w, n in counts.items()} == {w: len(names) for w, names in document["nodes"].items()}  # fmt: skip
        elif found := re.fullmatch(
            r"  (broken|slow|suspicious|may be chance|fast|ok|not judged)(, \d+ of \d+ runs? failed)?  +(\S.*)",
            line,
        ):
            alone = {*document["by_chance"]}
            if found[1] in ("suspicious", "may be chance"):
                assert unfolded(found[3]) == (
                    alone if "chance" in found[1] else case.hosts("suspicious") - alone
                )
                continue
            named = case.hosts({"not judged": "unknown"}.get(found[1], found[1]))
            apart = named & {*case.report.lacking} if found[1] == "ok" else set()
            apart = {h for h in apart if f", {case.report.lacks[h].text}" == found[2]} if found[2] else apart
            assert unfolded(found[3]) == (apart if found[2] else named - apart)
        elif found := re.fullmatch(r"(\d+) hosts?: (A|B), .*", line):
            group = {h for h, kind in case.truth.kind.items() if kind == found[2]}
            assert int(found[1]) == len(group)
        elif found := re.fullmatch(r"  (\S+): processor ([AB]), not ([AB])", line):
            assert unfolded(found[1]) == group
        elif line.startswith("  fewer than 8 such hosts"):
            assert len(group) < 8
        elif found := re.fullmatch(
            r"  (s, a=\d+: \w+): (.+) on (n\d+) to (.+) on (n\d+), (\S+) % apart", line
        ):
            by_host = case.truth.mates(min(group), key_of(found[1]))
            low, high = by_host[found[3]], by_host[found[5]]
            assert (low, high) == (min(by_host.values()), max(by_host.values()))
            assert stands(found[2], low)
            assert stands(found[4], high)
            assert stands(found[6], 100 * (high - low) / statistics.median(by_host.values()), digits=2)
        elif found := re.fullmatch(r"  (up to .* unseen in \d+ of \d+ numbers?): (.*)", line):
            unseen(case, found[1], group)
            blind(case, found[2], group)
        elif found := re.fullmatch(
            r"([\d\u202f]+) of ([\d\u202f]+) looks? \(hosts × numbers\)( of hosts with fewer than three sessions)? (is|are) suspicious(?:, [\d\u202f]+ of them of \d+ hosts? that stands? out)?; where all .* makes (.+?)"
            r"(?:; of hosts with more sessions ([\d\u202f]+))?",
            line,
        ):
            by_chance(case, *found.groups())
        elif found := re.fullmatch(
            r"not judged (\S+): (no run of it gave a number|the median is 0 or below|the hosts fall into two groups|fewer than 8 hosts)(?:; --baseline compares them with past sessions)?",
            line,
        ):
            assert unfolded(found[1]) <= case.hosts("unknown")
        elif line.startswith("  ⚠ doubtful: "):
            doubted(case, line)
        elif (
            line.startswith(
                ("host  ", "z: distance from the median in robust", "⚠: doubtful, by the checks named")
            )
            or not line
        ):
            pass
        elif found := re.fullmatch(
            r"(n\d+ |) +(?:(broken|slow|suspicious|fast)  +)(s, a=\d+: \w+)(?: \(.*?\))?(?: ⚠ .*?)?  +(\S.*?)  +(\S.*?)  +(\S+ %)  +(\S+)  +(\d+)", line
        ):  # fmt: skip
            host = found[1].strip() or host
            row = rows[host][listed[host]]
            listed[host] += 1
            odd_row((found[3], *found.groups()[1:2], *found.groups()[3:]), row)
        elif found := re.fullmatch(
            r"(n\d+) +(slow|suspicious)  +slightly slow everywhere: (\S+ %) worse on average over (\d+) numbers(?: ⚠ .*?)?  +(\S+)  +(\d+)", line
        ):  # fmt: skip
            (mild,) = [e for e in document["everywhere"] if e["node"] == found[1]]
            host = found[1]
            assert host in case.hosts(found[2])
            assert stands(found[3], mild["worse"] * 100, digits=2)
            assert int(found[4]) == mild["numbers"]
        elif found := re.fullmatch(
            r"(n\d+): slightly slow everywhere, (\S+ %) worse on average over (\d+) numbers \(z (\S+)\)(; fewer than three sessions: a suspicion)?(?: ⚠ .*)?", line
        ):  # fmt: skip
            (mild,) = [e for e in document["everywhere"] if e["node"] == found[1]]
            assert stands(found[2], mild["worse"] * 100, digits=2)
            assert stands(found[4], mild["z"], digits=2)
            assert int(found[3]) == mild["numbers"]
            assert bool(found[5]) == (not mild["confirmed"]) == (case.truth.sessions[found[1]] < 3)
        elif found := re.fullmatch(r"incomplete (\S+?)(, each)?: (\d+) runs? failed, exit status 1", line):
            assert {case.truth.failed[name] for name in unfolded(found[1])} == {int(found[3])}
            assert bool(found[2]) == (len(unfolded(found[1])) > 1)
        elif found := re.fullmatch(r"warning: (\d+) of (\d+) hosts look slow in something: .*", line):
            looks = {r["node"] for r in document["odd"] if r["verdict"] == "suspicious"}
            apart = case.report.chance.apart
            assert int(found[1]) in (len(looks), len(looks - apart))
            assert int(found[2]) == len(case.truth.kind) < 4 * int(found[1])
        elif line.startswith("warning: the hosts fall into two groups"):
            halves(case, line)
        elif line in (
            "what else is special about these hosts",
            "no such number, or of some repeats only, from",
        ):
            heading = line
        elif found := re.fullmatch(r"  (s, a=\d+|all \d+ cells of s): (\S+)", line):
            assert heading.startswith("no such number")
        else:
            raise AssertionError(f"no reader for {line!r}")
    assert listed == Counter({h: len(own) for h, own in rows.items()})


def lines_of_hosts(case: Case) -> None:
    """What a terminal says of each odd host in one line, of all its numbers."""
    rows: dict[str, list[Any]] = {}
    for row in case.document["odd"]:
        rows.setdefault(row["node"], []).append(row)
    told: set[str] = set()
    for line in fleet_text.folds(case.report, Screen(width=10_000, terminal=True)).splitlines():
        if line.endswith("--all lists the numbers"):
            continue
        found = re.fullmatch(
            r"(\S+) +(broken|slow|suspicious|fast)  +(.*); (\d+) numbers?( each)?(?: ⚠ .*)?", line
        )
        assert found, line
        hosts = unfolded(found[1])
        assert not told & hosts
        told |= hosts
        assert bool(found[5]) == (len(hosts) > 1)
        assert hosts <= case.hosts(found[2])
        own = [row for host in hosts for row in rows[host]]
        assert {len(rows[host]) for host in hosts} == {int(found[4])}
        said = found[3]
        if whole := re.match(
            r"slightly slow everywhere, (\S+ %) worse on average over (\d+) numbers; one by one ([a-z ,]+): ",
            said,
        ):
            (mild,) = {(e["worse"], e["numbers"]) for e in case.document["everywhere"] if e["node"] in hosts}
            assert stands(whole[1], mild[0] * 100, digits=2)
            assert int(whole[2]) == mild[1]
            assert {row["verdict"] for row in own} == {*re.findall("suspicious|fast", whole[3])}
            said = said.removeprefix(whole[0])
        for part in said.split("; "):
            said_of = re.fullmatch(
                r"(all(?: \d+ compared numbers)?|the one compared number|(\d+) of (\d+) numbers?) of s(?:, (\S+)(?: to (\S+))? % (worse|better))?(?:, by the (threshold|spread) alone)?",
                part,
            )
            assert said_of, part
            better = said_of[6] == "better"
            these = [row for row in own if (row["verdict"] == "fast") == better]
            of = {h: sum(h in values for (_, _), values in case.truth.values.items()) for h in hosts}
            strips = [strip for group in case.report.groups for _, strip in group.strips]
            compared = {
                h: sum(n.name == h and n.status != "unknown" for strip in strips for n in strip.hosts)
                for h in hosts
            }
            odd = {sum(row["node"] == h for row in these) for h in hosts}
            assert odd == (
                {int(said_of[2])} if said_of[2] else set((of if said_of[1] == "all" else compared).values())
            )
            assert not said_of[3] or {int(said_of[3])} == set(compared.values())
            assert not said_of[7] or {row["reason"] for row in these} == {f"by the {said_of[7]} alone"}
            off = [abs(row["worse"]) * 100 for row in these if row["worse"] is not None]
            assert stands(f"{said_of[4]} %", min(off), digits=2)
            assert stands(f"{said_of[5] or said_of[4]} %", max(off), digits=2)
            assert all((row["worse"] < 0) == better for row in these if row["worse"])
    assert told == set(rows) or len(rows) > 30


def halves(case: Case, line: str) -> None:
    """Of the two groups that are named, one is worse in each number, by these medians in the first."""
    n, of, worse, better, name, *medians = re.fullmatch(
        r"warning: the hosts fall into two groups in (\d+) of (\d+) numbers?: (\S+) worse than (\S+), in (s, a=\d+: \w+) (\S.*) against (\S.*?); which .*", line
    ).groups()  # type: ignore[union-attr]  # fmt: skip
    sides, key = (unfolded(worse), unfolded(better)), key_of(name)
    (group,) = [g for g in case.document["groups"] if set(g["nodes"]) == sides[0] | sides[1]]
    split = [set(row["worse_half"]) for row in group["numbers"] if row["worse_half"]]
    assert (int(n), int(of)) == (split.count(sides[0]), len(group["numbers"]))
    values = case.truth.mates(min(sides[0]), key)
    for hosts, text in zip(sides, medians, strict=True):
        assert stands(text, statistics.median(values[host] for host in hosts))
    behind = [values[host] for host in sides[0]], [values[host] for host in sides[1]]
    assert (min(behind[0]) > max(behind[1])) if METRICS[key[1]]["better"] == "lower" else (max(behind[0]) < min(behind[1]))  # fmt: skip


def checks(case: Case) -> None:
    """What stands in the page's list of checks: counts, who is not judged."""
    for check in case.page.checks:
        if check.items:
            n = int(re.match(r"(\d+) ", check.counted)[1])  # type: ignore[index]
            assert n == len(check.items) or "the first" in check.counted
        if check.subject == "Not judged.":
            names = unfolded(check.text.partition(":")[0])
            assert ("cannot be judged by each other" in check.text) == all(
                names.isdisjoint(g["nodes"]) or not g["judged"] for g in case.document["groups"]
            )
            assert names <= case.hosts("unknown")
        if check.subject == "Incomplete.":
            assert sum(case.truth.failed[name] > 0 for name in case.truth.kind) > 0


READERS: tuple[Callable[[Case], None], ...] = (
    judged,
    headline,
    key_numbers,
    figures,
    suspects,
    terminal,
    lines_of_hosts,
    checks,
)


def cases(make: Any, folder: Path, seeds: range) -> Iterator[Case]:
    for seed in seeds:
        own = folder / str(seed)
        own.mkdir()
        truth = made(make, own, seed)
        report = outliers.build(load(truth.files))
        yield Case(
            truth=truth, report=report, document=json.loads(fleet_text.as_json(report)),
            page=fleet_page.build(report, title="t", links={}),
        )  # fmt: skip


@pytest.mark.parametrize("seeds", lots(range(60), quick=2, slow=14), ids=str)
def test_what_is_said_of_a_fleet_holds_of_its_figures(seeds: range, make: Any, tmp_path: Path) -> None:
    for case in cases(make, tmp_path, seeds):
        for reader in READERS:
            reader(case)
