"""Break statements of pages, texts and documents on purpose, one at a time, and see whether the tests of claims notice.

    .venv/bin/python scripts/claim_mutants.py                 some minutes: each mutant runs tests/reports/claims until it is caught
    .venv/bin/python scripts/claim_mutants.py unseen worst    those whose name has one of these words

Works on a copy of the tree. Exit status 1 if one was not caught, 2 if the code that it breaks is not there any more.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = (
    "test_fleet_claims",
    "test_history_claims",
    "test_compare_claims",
    "test_prose_claims",
    "test_claims",
    "test_effect_claims",
    "test_curve_claims",
    "test_storage_claims",
    "test_digits",
    "test_machine_claims",
)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A statement that is broken: where, what stands there, what takes its place."""

    name: str
    file: str
    old: str
    new: str
    tests: str  # those that should notice, tried first


MUTANTS = (
    Mutant("fleet: what goes unseen is rounded down", "reports/fleet/outliers.py", "blind[0][1] * 100, 2, fmt.UP", "blind[0][1] * 100, 2, fmt.DOWN", "fleet"),
    Mutant("fleet: the least of what goes unseen, not the most", "reports/fleet/outliers.py", "fmt.number(blind[0][1]", "fmt.number(blind[-1][1]", "fleet"),
    Mutant("fleet: best and worst of a table are exchanged", "reports/fleet/strip.py", "for end in (min, max)]", "for end in (max, min)]", "fleet"),
    Mutant("fleet: a change has the sign of worse", "reports/fleet/outliers.py", "return relative(self.found.value, self.strip.base) if self.strip.base else None", "return self.found.worse if self.strip.base else None", "fleet"),
    Mutant("fleet: slow counts broken once more", "reports/fleet/page.py", '("Broken or slow", len(report.accused), apart)', '("Broken or slow", len(report.accused) + sum(s == "broken" for s in report.statuses.values()), apart)', "fleet"),
    Mutant("fleet: one session less", "reports/fleet/page.py", "fmt.change(o.change), fmt.number(o.found.z, 2), fmt.count(o.found.sessions)", "fmt.change(o.change), fmt.number(o.found.z, 2), fmt.count(o.found.sessions - 1)", "fleet"),
    Mutant("fleet: the first group's median for all", "reports/fleet/outliers.py", "hosts.of(one, kind) for one in collected", "one for one in collected", "fleet"),
    Mutant("fleet heat: better is orange", "reports/fleet/heat.py", 'return change if self.family.better == "lower" else -change', 'return -change if self.family.better == "lower" else change', "fleet"),
    Mutant("fleet heat: noise has a colour", "reports/fleet/heat.py", "SLOW_Z * (self.scatter or 0.0), self.repeats or 0.0", "self.scatter or 0.0", "fleet"),
    Mutant("fleet heat: the furthest of several numbers is their typical one", "reports/fleet/families.py", "statistics.median(map(_change, own))", "max(map(_change, own))", "fleet"),
    Mutant("fleet heat: the mildest odd number, not the worst", "reports/fleet/families.py", "row = min(odd, key=", "row = max(odd, key=", "fleet"),
    Mutant("fleet: a line of a host says the least twice", "reports/fleet/heat.py", "fmt.number(max(shares) * 100, 2, fmt.UP)", "fmt.number(min(shares) * 100, 2, fmt.UP)", "fleet"),
    Mutant("history lanes: now is the level before", "reports/history/lanes.py", "last = heights[-1] if heights", "last = heights[0] if heights", "history"),
    Mutant("history lanes: an event is a session late", "reports/history/lanes.py", "where = along.percent(along.edges[i])", "where = along.percent(along.edges[i + 1])", "history"),
    Mutant("history lanes: the number that changed least", "reports/history/lanes.py", "return -history.moved, -blind_to", "return history.moved, -blind_to", "history"),
    Mutant("history: regressed and improved are exchanged", "reports/history/text.py", 'return _counts(((step.regressed, "regressed"), (step.improved, "improved")))', 'return _counts(((step.improved, "regressed"), (step.regressed, "improved")))', "history"),
    Mutant("history: a regression that came back still counts", "reports/history/changes.py", 'c.word == "regressed" and is_worse(c.before, found[-1].after, one.better, least)', 'c.word == "regressed"', "history"),
    Mutant("history: after is the level before", "reports/history/figure.py", "fmt.quantity(c.after, h.series.said_unit, step=h.series.step), fmt.change", "fmt.quantity(c.before, h.series.said_unit, step=h.series.step), fmt.change", "history"),
    Mutant("history: the session after the step", "reports/history/figure.py", "{fmt.change(c.change)}, on {history.moments[c.index].date}", "{fmt.change(c.change)}, on {history.moments[c.index - 1].date}", "history"),
    Mutant("history: steps that go unseen, rounded down", "reports/history/text.py", "{fmt.number(share * 100, 2, fmt.UP)} %", "{fmt.number(share * 100, 2, fmt.DOWN)} %", "history"),
    Mutant("history: numbers without enough sessions are judged ones", "reports/history/text.py", "few = sum(not h.judged and", "few = sum(h.judged and", "history"),
    Mutant("compare: an interval's ends are rounded inwards", "reports/compare/text.py", "{_percent(low, fmt.DOWN)} to", "{_percent(low, fmt.UP)} to", "compare"),
    Mutant("compare: what did not move is counted", "reports/compare/moves.py", "return sum(any(row.verdict == verdict for row in own) for own in by), len(by)", "return sum(any(row.verdict != verdict for row in own) for own in by), len(by)", "compare"),
    Mutant("compare: A and B are exchanged in a key number", "reports/compare/section.py", 'value=f"{a} → {b}"', 'value=f"{b} → {a}"', "compare"),
    Mutant("compare: cells are counted by their numbers", "reports/compare/moves.py", "row.pair.key if of_cells else row.decision.key", "row.decision.key", "compare"),
    Mutant("compare: levels count numbers", "reports/compare/moves.py", "of_cells = group_by(rows, lambda row: row.pair.key).values()", "of_cells = group_by(rows, lambda row: row.decision.key).values()", "compare"),
    Mutant("compare: a key number is of A's worst cell", "reports/compare/section.py", 'best = max if rows[0].better == "higher" else min', 'best = min if rows[0].better == "higher" else max', "compare"),
    Mutant("compare: runs of A on both sides", "reports/compare/text.py", 'return f"{len(row.a)} + {len(row.b)} runs"', 'return f"{len(row.a)} + {len(row.a)} runs"', "compare"),
    Mutant("report: repeats are the most of any cell", "reports/charts/wording.py", "low, high = min(counts, default=1), max(counts, default=1)", "low, high = max(counts, default=1), max(counts, default=1)", "prose"),
    Mutant("report: cells that lack repeats, one too many", "reports/report/header.py", "{fmt.plural(points, 'cell')} {how}\"", "{fmt.plural(points + 1, 'cell')} {how}\"", "prose"),
    Mutant("report: a tail's bound is rounded up", "reports/charts/titles.py", "takes over {fmt.number(min(tails), rounding=fmt.DOWN)}", "takes over {fmt.number(min(tails) * 1.2, rounding=fmt.UP)}", "claims"),
    Mutant("report: a fit is off by less than it is", "reports/charts/_imb_tables.py", 'return f"{fmt.number(branch.worst * 100, 2, fmt.UP)} %"', 'return f"{fmt.number(branch.worst * 100 / 3, 2, fmt.UP)} %"', "claims"),
    Mutant("report: remote over local is local over remote", "reports/text/format.py", 'return NOTHING if share is None else f"{number(share * 100, digits)} %"', 'return NOTHING if share is None else f"{number(share * 90, digits)} %"', "claims"),
    Mutant("show: a unit a thousand times too large", "reports/numbers/stream.py", 'fmt.quantity(', 'fmt.quantity(1000 * ', "prose"),
    Mutant("show: the whole range for half of it", "reports/show.py", "formulas.spread(values).relative * 50", "formulas.spread(values).relative * 100", "prose"),
    Mutant("show: runs that gave numbers are all that were planned", "reports/show.py", "{fmt.count(done)} of {fmt.plural(planned, 'run')} gave", "{fmt.count(planned)} of {fmt.plural(planned, 'run')} gave", "prose"),
    Mutant("lab: failed runs have numbers", "reports/lab/document.py", "fmt.count(len(shown)),", "fmt.count(len(runs)),", "prose"),
    Mutant("axes: a mean of pairs that are far apart", "reports/draw/strip.py", "if high > APART * low else", "if False else", "effect"),
    Mutant("axes: the best of less is the most", "reports/charts/effects.py", 'sign = -1 if better == "lower" else 1', "sign = 1", "effect"),
    Mutant("axes: best at one that others equal", "reports/charts/effects.py", "and clear and clear[0].alone", "and clear", "effect"),
    Mutant("axes: a level is ahead where it is not everywhere", "reports/charts/effects.py", "if level.clear or level ==", "if level.low > 0 or level ==", "effect"),
    Mutant("axes: within the repeats is beyond them", "reports/charts/effects.py", "clear=ahead[-1]", "clear=levels[-1].low > 1", "effect"),
    Mutant("curves: A ÷ B for B ÷ A", "reports/compare/curves.py", "yield at, d.ratio, max(", "yield at, 1 / d.ratio, max(", "curve"),
    Mutant("curves: points without a ratio are not told", "reports/compare/curves.py", "lost=len(rows) - len(known)", "lost=0", "curve"),
    Mutant("fio: the most bandwidth is the least", "reports/charts/fio.py", "same = max(_rows_of_cells(found), key", "same = min(_rows_of_cells(found), key", "storage"),
    Mutant("digits: zeros that nobody printed", "reports/text/format.py", "0.0 if self.factor == 1 else None", "None", "digits"),
    Mutant("machine: a link the other way round", "reports/report/machine.py", 'return f"node {a} → memory of node {b}" if', 'return f"node {b} → memory of node {a}" if', "machine"),
    Mutant("machine: the first of a name, not the best", "reports/report/machine.py", "best_of(same) for same in alike.values()", "same[0] for same in alike.values()", "machine"),
    Mutant("machine: remote memory stands in its own node", "reports/report/machine.py", 'return ("node", _int(a)) if a == b else', 'return ("node", _int(b)) if _int(b) >= 0 else', "machine"),
    Mutant("machine: a node of several packages is in the first of them", "reports/report/machine.py", "{core.package for core in cores}) == 1}", "{core.package for core in cores}) > 0}", "machine"),
    Mutant("machine: memory is in a cache", "reports/report/machine.py", "below < t.size <= FITS * sizes[0]", "below < t.size", "machine"),
    Mutant("machine: what ran together was not measured", "reports/report/machine.py", "if self.together.touches(cpus, memory):", "if not cpus:", "machine"),
    Mutant("machine: every host has the numbers of the last", "reports/report/machine.py", "session, spots.get(machine, ()),", "session, list(spots.values())[-1],", "machine"),
    Mutant("machine: squares of what ran and is not drawn", "reports/report/machine.py", "used = self.together.pus |", "used = self.topology.allowed_cpus |", "machine"),
)  # fmt: skip


def caught(mutant: Mutant, copy: Path) -> str:
    """Return the test that notices a mutant; "" if none does."""
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) < 1:
        raise SystemExit(f"{mutant.name}: not in {mutant.file}: {mutant.old}")
    path.write_text(text.replace(mutant.old, mutant.new, 1), encoding="utf-8")
    try:
        for name in sorted(TESTS, key=lambda test: mutant.tests not in test.split("_")[1:2]):
            file = f"tests/reports/claims/{name}.py"
            marks = "" if mutant.tests == name.split("_")[1] else "not slow"
            words = [sys.executable, *f"-m pytest -q -x -n 2 -p no:cacheprovider {file} -m".split(), marks]
            run = subprocess.run(words, cwd=copy, capture_output=True, text=True, check=False)
            if " failed" in run.stdout:
                return name
    finally:
        path.write_text(text, encoding="utf-8")
    return ""


def gone() -> list[Mutant]:
    """Return those whose statement is not, or not once, in its file any more."""
    return [m for m in MUTANTS if (ROOT / m.file).read_text(encoding="utf-8").count(m.old) != 1]


def main() -> int:
    wanted = [m for m in MUTANTS if not sys.argv[1:] or any(word in m.name for word in sys.argv[1:])]
    for mutant in wanted:
        if mutant in gone():
            print(f"{mutant.name}: not in {mutant.file}")
            return 2
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache")
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        for mutant in wanted:
            by = caught(mutant, copy)
            missed += not by
            print(f"{'caught by ' + by if by else 'NOT CAUGHT':<32} {mutant.name}", flush=True)
    print(f"{len(wanted) - missed} of {len(wanted)} caught")
    return int(missed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
