"""What stands around the figures of a report holds, too: captions, the sentence, the list of checks; `show`, and the lab report.

Numbers are those of the tables beneath, counts those of the runs that were written. Over the made-up results of test_claims, and over
every fixture.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from parsers.units import size_bytes
from pinsweep.cli import cli
from reports import numbers, show
from reports.checks.audit import audit
from reports.draw.figure import Figure, Table
from reports.lab import document
from reports.page.model import Page
from reports.report import build
from reports.results import load
from reports.results.model import Results, Run
from reports.text import format as fmt
from tests.laws import lots
from tests.reports.claims.test_claims import (
    FIXTURES,
    Said,
    _named,
    cells,
    derived,
    figures_of,
    made,
    said,
    tables,
    untrue,
)

PROGRAMS = re.compile(
    r"Intel MLC [\d.\w]+|Intel MPI Benchmarks [\d.]+(?: Update \d+)?|STREAM [\d.]+|fio[- ][\d.]+[\w.-]*|pinsweep \w+ [\d.]+|"
    r"OSU [\w. -]+?[\d.]+|likwid-bench [\d.]+|(?<=[ ,])(?:version|v)[\d.]+\w*|[\w/.-]+\.(?:out|txt)|\(\w+\d+\)"
)
BLOCK = re.compile("Bandwidth, in the numbers, is IOPS × [^.]+")
"""A block size is an option, and in no table of its figure."""

AS_COUNTED = re.compile(
    r"the traffic is (?:4/3|3/2) of (?:it|Copy and Scale and 4/3 of Add and Triad)"
)  # STREAM’s own counts of bytes, by kernel
UNSTEADY = "the repeats span more than 25 % of their median"  # what the word means
REPEATS = re.compile(r"(?:(\d+) to )?(\d+) repeats? a cell( with numbers)?|(one run a cell)")


IN_ORDER = re.compile(
    r"(In order a byte of .*? is written in ([\d.]+) ns): that is bandwidth, ([\d.]+) ([MGT])B/s, and no latency\. "
    r"An? \w[\w ]* anywhere in it takes (([\d.]+) (ns|µs)), as long as ([\d\s]+) bytes in order\."
)


@dataclass
class Case:
    """Results, their page, and the runs that were written: (sweep, tool, cell) → the status of each."""

    path: Path
    results: Results
    page: Page
    written: dict[tuple[str, str, str], list[str]]

    def counts(self, figure: Figure, tool: str) -> set[int]:
        """Return how many good runs the cells have that a figure may be of."""
        return {
            good
            for (sweep, of, _), own in self.written.items()
            if of == tool and figure.of in ("", sweep) and (good := own.count("ok"))
        }


def captions(case: Case) -> None:
    """Each number of a caption or a note stands in a table of its figure, or counts repeats, jobs, samples as they were written."""
    for section in case.page.sections:
        for block in section.blocks:
            for figure in block.figures:
                for text in (figure.sub, figure.told.replace(" (", "; (")):  # "to 32 KiB (7.99 to 8.04)"
                    lacking = list(
                        unknown(
                            AS_COUNTED.sub("", REPEATS.sub("", BLOCK.sub("", in_order(text, case))))
                            .replace("Ring: 95 % of", "")
                            .replace(UNSTEADY, ""),
                            tables(figure),
                        )
                    )
                    assert not lacking, (figure.title, text, lacking)
                if case.written:
                    repeats(case, figure, block.tool)


def in_order(text: str, case: Case) -> str:
    """Hold what is said of writing in order against its own arithmetic; return what is to be found in a table of the figure."""
    if not (found := IN_ORDER.search(text)):
        return text
    byte, rate, access = float(found[2]), float(found[3]) * SCALE[found[4]], float(found[6]) * SCALE[found[7]]
    assert rate == pytest.approx(1e9 / byte, rel=0.01)
    assert int(re.sub(r"\s", "", found[8])) == pytest.approx(access / byte, rel=0.01)
    medians = [
        n.value for run in case.results.runs for n in numbers.numbers(run) if n.name.statistic == "p50"
    ]
    assert any(median == pytest.approx(access, rel=0.01) for median in medians)
    return text.replace(found[0], found[1])


SCALE = {"M": 1e6, "G": 1e9, "T": 1e12, "ns": 1, "µs": 1e3}


def fits(case: Case) -> None:
    """PingPong: a line is off by no more than is said, as far as α and B can be read, and by not much less."""
    for figure in figures_of(case.page):
        rows = [dict(zip(t.columns, row, strict=True)) for t in tables(figure) for row in t.rows]
        for row in rows:
            if row.get("Sizes") != "one line" or "not" in row["B"] or "–" in row["α"]:
                continue
            head = f"{row['Pair']}, "
            points = [(one["Message"], one[name], name) for one in rows for name in one if name.startswith(head) and "/" not in name]  # fmt: skip
            (alpha,), (rate,), (worst,) = (list(said(row[name])) for name in ("α", "B", "Off by up to"))
            off = []
            for size, text, name in points:
                if not (time := next(said(text, name.rpartition(", ")[2]), None)):
                    continue
                ((bytes_),) = said(size)
                off.append(abs((alpha.value + bytes_.value / rate.value) / time.value - 1) * 100)
            assert not off or worst.value - 1.5 <= max(off) * 1.1, row
            assert not off or max(off) <= worst.value * 1.1 + 1.5, row


def unknown(text: str, of: Iterable[Table]) -> Iterator[str]:
    listed = [s for table in of for _, numbers in cells(table) for s in numbers]
    heads = [s for t in of for head in (*t.columns, t.caption, *(c for r in t.rows for c in r)) for s in said(str(head))]  # fmt: skip
    plain = _named(PROGRAMS.sub("", text))
    for one in said(plain):
        counted = re.search(rf"{re.escape(one.text)} (?:jobs?|processes|ranks?|threads?|single|of \d|(?:and \S+ \S+ )?blocks)|\bof {re.escape(one.text)}\b", plain)  # fmt: skip
        if not counted and not any(one.stands_for(o) for o in (*listed, *heads)) and not derived(one, of):
            yield one.text


def repeats(case: Case, figure: Figure, tool: str) -> None:
    """ "2 to 3 repeats a cell with numbers" is the range seen."""
    known = case.counts(figure, tool)
    for found in REPEATS.finditer(figure.sub):
        low, high = (1, 1) if found[4] else (int(found[1] or found[2]), int(found[2]))
        assert {low, high} <= known, (figure.sub, known)
        assert bool(found[3]) == (low < high)
        if figure.of or len({sweep for sweep, of, _ in case.written if of == tool}) == 1:
            assert (low, high) == (min(known), max(known)) or "Matrix" in figure.sub or len(figure.panels) == 0, figure.sub  # fmt: skip


def sentence(case: Case) -> None:
    """ "118 of 121 planned runs on node07 gave numbers; all runs of 1 cell failed; some runs of 2 cells failed"."""
    if not case.written:
        return
    good = sum(own.count("ok") for own in case.written.values())
    planned = sum(map(len, case.written.values()))
    found = re.fullmatch(
        r"(?:(\d+) of (\d+) planned runs?|All (\d+) planned runs|The one planned run) on node07 gave numbers"
        r"(?:; all runs of (\d+) cells? failed)?(?:; some runs of (\d+) cells? failed)?\.", case.page.sentence,
    )  # fmt: skip
    assert found, case.page.sentence
    said_good, said_planned = (int(found[1] or found[3] or 1), int(found[2] or found[3] or 1))
    assert (said_good, said_planned) == (good, planned)
    good_of = [(own.count("ok"), len(own)) for own in case.written.values()]
    assert int(found[4] or 0) == sum(not ok for ok, _ in good_of)
    assert int(found[5] or 0) == sum(0 < ok < of for ok, of in good_of)


def checks(case: Case) -> None:
    """Counts of the lists, and what they are of."""
    failed = Counter(
        sweep for (sweep, _, _), own in case.written.items() for status in own if status == "failed"
    )
    told: Counter[str] = Counter()
    for check in case.page.checks:
        if check.counted:
            n = int(check.counted.split()[0].replace("\u202f", ""))
            assert n == len(check.items) or ("the first" in check.counted and n > len(check.items))
        if more := re.search(r"; and (\d+) more", check.subject):
            assert check.counted.startswith(f"{int(more[1]) + 1} ")
        if found := re.match(
            r"(\w+): (\d+)(?: of (\d+))? runs?(?: of \d+ cells)? failed( \(all of)?", check.subject
        ):
            told[found[1]] += int(found[2])
            assert not found[3] or (int(found[2]) < int(found[3]) and not found[4])
        if (
            found := re.match(
                r"(\d+) checks? of docs/audit.md (?:was|were) applied to (\d+) runs?", check.subject
            )
        ) and case.written:
            assert int(found[2]) == sum(own.count("ok") for own in case.written.values())
    if case.written:
        assert told == failed
    for key, worst in ((f.id, f) for f in audit(case.results)):
        assert any(check.id == key for check in case.page.checks), (key, worst)


TOOL_OF = {"STREAM": "stream", "Intel MLC": "mlc", "Intel MPI": "imb", "fio": "fio", "pinsweep poke": "poke"}


def terminal(case: Case) -> None:
    """`show`: numbers of the page's tables, runs as they were written, spreads as they are."""
    lines = show.show_result(case.path).splitlines()
    every = [t for figure in figures_of(case.page) for t in tables(figure)]
    listed = [s for t in every for _, numbers in cells(t) for s in numbers]
    if case.written:
        good = sum(own.count("ok") for own in case.written.values())
        planned = sum(map(len, case.written.values()))
        assert lines[1] == f"node07: {good} of {fmt.plural(planned, 'run')} gave numbers"
    sweep = ""
    for line in lines[2:]:
        if re.fullmatch(r"\w+(?:  .*)?", line):
            sweep = line.split()[0]
        if case.written and (found := re.match(r"  (\w[\w ]*?) [\d.]+[^,]*, (\d+) runs? a cell", line)):
            (tool,) = [tool for name, tool in TOOL_OF.items() if found[1].startswith(name)]
            counts = {own.count("ok") for (of, t, _), own in case.written.items() if (of, t) == (sweep, tool)}
            assert counts - {0} == {int(found[2])}, line
        assert not re.search(r"\bup to \d", line), "a number is no bound"
        if "…" in line or not re.match(r"  \S", line) or not every:
            continue
        measured = re.search(r"(?:triad|unloaded|own memory|0 B in|read|write|r/w|median) .*", line)
        for one in said(measured[0].split("±")[0].split("[")[0]) if measured else ():
            if one.kind in ("s", "B/s", "/s"):
                assert any(one.stands_for(other) for other in listed), (one.text, line)
        if (half := re.search(r"±([\d.]+) %", line)) and "triad" in line:
            assert (
                any(_half(half[1], value, low, high) for value, low, high in ranges(every))
                or half[1][0] == "0"
            ), line


def ranges(every: Iterable[Table]) -> Iterator[tuple[Said, Said, Said]]:
    """Yield each "23.1 (22.9–23.4)" of some tables."""
    for table in every:
        for row, _ in cells(table):
            for text in row:
                if found := re.fullmatch(
                    r"([\d.\u202f]+)(?: [^ (]+)? \(([\d.\u202f]+)–([\d.\u202f]+)\)", str(text)
                ):
                    yield tuple(next(said(found[i])) for i in (1, 2, 3))  # type: ignore[misc]


def _half(text: str, value: Said, low: Said, high: Said) -> bool:
    least = (high.low - low.high) / value.high * 50
    most = (high.high - low.low) / value.low * 50
    return least - 0.51 <= float(text) <= most + 0.51


SAID = {("mlc", "W"): "mix", ("mlc", "traffic"): "mix", ("mlc", "l"): "stride", ("fio", "bs"): "block size", ("fio", "rw"): "access"}  # fmt: skip


def level(run: Run, name: str) -> str:
    if name == "place":
        return run.place
    value = run.options.get(name)
    if name in ("bs", "bytes"):
        return fmt.size(size_bytes(str(value)))
    return f"{value} B" if name == "l" else str(value)


def effect(case: Case, text: str) -> None:
    """What an axis does, reckoned anew: the ratio of each pair of cells that differ in it alone, and their geometric mean."""
    sweep, _, parts = text.partition(", ")
    told = re.findall(
        r"([\d.\u202f]+) ×(?: better)? by (\w[\w ]*) from (.+?) to (.+?)(?= \(| ⚠|, [\d.\u202f]+ × |$)", parts
    )
    assert told, text
    for factor, axis, last, best in told:
        cells: dict[tuple[str, ...], list[Run]] = {}
        for run in (r for tool in case.results.tools for r in case.results.good(tool)):
            if run.sound and sweep in (run.cell.sweep, run.sweep_title):
                own = {
                    SAID.get((run.tool, name), name): level(run, name) for name in ("place", *run.cell.axes)
                }
                key = (own.pop(axis), *(f"{name}={value}" for name, value in own.items()))
                cells.setdefault(key, []).append(run)
        leaders, found_in = zip(*numbers.leaders_of([*cells.values()]), strict=True)
        values = [[value for _, value in one] for one in found_in]
        if " at " in parts.partition(":")[0]:
            size, by_size = numbers.at_one_size([*cells.values()], leaders) or (0.0, {})
            assert f" at {fmt.size(size)}:" in parts
            values = by_size[size]
        medians = {key: statistics.median(own) for key, own in zip(cells, values, strict=True) if own}
        rest = {key[1:] for key in medians}
        levels = {key[0] for key in medians}
        whole = [others for others in rest if all((level, *others) in medians for level in levels)]
        means = {
            one: statistics.geometric_mean([medians[(one, *others)] for others in whole]) for one in levels
        }
        # of levels that are hardly apart the first is the furthest; "any of 8" does not tell which
        ends = [
            [one for one in (name, re.split(", | or ", name)[0]) if one in levels][:1] or levels
            for name in (last, best)
        ]
        found = max(
            means[b] / means[a]
            for a, b in itertools.permutations(levels, 2)
            if {a, b} <= {*ends[0], *ends[1]}
        )
        assert next(said(factor)).low <= found * 1.0001, text
        assert next(said(factor)).high >= found * 0.9999, text


def lab(case: Case) -> None:
    """The lab report's sentences are the page's; its tables count what was written."""
    made_of = document.build(case.results, case.page)
    assert made_of.sentence == case.page.sentence
    findings = [f.text for s in made_of.sections for f in s.findings]
    told = [f for f in figures_of(case.page) if f.title not in (f.sweep, f.of) and re.search(r"\d", f.title)]
    of_axes = [text for text in findings if re.search(r"[\d.\u202f]+ ×(?: better)? by .+ from ", text)]
    for text in of_axes:
        effect(case, text.removeprefix("⚠ "))
    assert findings[len(of_axes) :] == [
        figure.heading for figure in told
    ]  # a sentence that found something has a figure in it
    if not case.written:
        return
    rows = {row[0]: row for row in made_of.sweeps.rows}
    by_sweep: dict[str, list[list[str]]] = defaultdict(list)
    for (sweep, _, _), own in case.written.items():
        by_sweep[sweep].append(own)
    for sweep, own in by_sweep.items():
        n = sum(map(len, own))
        assert rows[sweep][2:5] == (str(len(own)), str(n), str(sum(one.count("ok") for one in own)))
    if made_of.key_numbers:
        listed = [(row[0], row[1], row[2]) for row in made_of.key_numbers.rows]
        assert listed == [(k.name, k.value, k.unit) for k in case.page.key_numbers]


READERS: tuple[Callable[[Case], None], ...] = (captions, fits, sentence, checks, terminal, lab)


def cases(make: Any, folder: Path, seeds: range) -> Iterator[Case]:
    for seed in seeds:
        maker = made(make, seed, folder / f"prose{seed}.db")
        path = maker.write()
        written: dict[tuple[str, str, str], list[str]] = defaultdict(list)
        for run in maker._runs:
            written[run["point"].sweep, run["point"].tool, run["point"].point_id].append(run["status"])
        results = load.load([path])
        yield Case(path=path, results=results, page=build.build(results), written=written)


@pytest.mark.parametrize("seeds", lots(range(200, 260), quick=2, slow=14), ids=str)
def test_what_stands_around_the_figures_holds(seeds: range, make: Any, tmp_path: Path) -> None:
    for case in cases(make, tmp_path, seeds):
        assert untrue(case.page) == []
        for reader in READERS:
            reader(case)


@pytest.mark.parametrize("tool", sorted({path.parent.name for path in FIXTURES}))
@pytest.mark.slow
def test_what_stands_around_the_figures_of_a_fixture_holds(tool: str, tmp_path: Path) -> None:
    for text in (path for path in FIXTURES if path.parent.name == tool):
        out = tmp_path / f"{text.stem}.db"
        if CliRunner().invoke(cli, ["parse", str(text), "-o", str(out)]).exit_code or not out.exists():
            continue
        results = load.load([out])
        case = Case(path=out, results=results, page=build.build(results), written={})
        for reader in READERS:
            reader(case)


@pytest.mark.parametrize("seeds", lots(range(300, 312), quick=1, slow=4, of=1), ids=str)
def test_hosts_are_counted_as_hosts_and_files_as_files(seeds: range, make: Any, tmp_path: Path) -> None:
    """One to three files of one or two hosts, measured alike: the sentence, captions, key numbers and checks."""
    (seed,) = seeds
    names = [("one",), ("one", "one"), ("one", "two"), ("one", "two", "one")][seed % 4]
    paths, good, planned, cells_of = [], 0, 0, 0
    for i, name in enumerate(names):
        maker = made(make, seed, tmp_path / f"{i}.db")
        maker.host = name
        paths.append(maker.write())
        of_cells: dict[str, list[str]] = defaultdict(list)
        for run in maker._runs:
            of_cells[run["point"].point_id].append(run["status"])
        good += sum(own.count("ok") for own in of_cells.values())
        planned += sum(map(len, of_cells.values()))
        cells_of += sum(own.count("ok") < len(own) for own in of_cells.values())
    built = build.build(load.load(paths))
    hosts = len({*names})

    assert [
        one for one in untrue(built) if not one.startswith(f"'{hosts}' of") or f"of {hosts} hosts" not in one
    ] == []
    found = re.match(r"(?:All )?(?P<good>\d+)(?: of (?P<all>\d+))? planned runs? on (?P<where>\w+)(?P<hosts> hosts)? gave", built.sentence)  # fmt: skip
    assert found, built.sentence
    assert (int(found["good"]), int(found["all"] or found["good"])) == (good, planned)
    assert (found["where"], bool(found["hosts"])) == (("one", False) if hosts == 1 else (str(hosts), True))
    lacking = re.findall(
        r"(?:all|some) runs of (\d+) cells? failed(?: in each of (\d+) files)?", built.sentence
    )
    assert sum(int(n) * int(files or 1) for n, files in lacking) == cells_of
    texts = [built.sentence, *(f"{n.context} {n.repeats}" for n in built.key_numbers)]
    texts += [f"{c.subject} {c.text}" for c in built.checks] + [
        f"{f.title} {f.sub}" for f in figures_of(built)
    ]
    for text in texts:
        for n in re.findall(r"(\d+) hosts\b", text):
            assert int(n) == hosts, text
        for n in re.findall(r"\bin (\d+) files\b", text):
            assert int(n) <= len(names), text
