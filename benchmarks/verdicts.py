"""How often each way to compare two sets of runs is wrong: pinsweep's verdicts beside what else is in use.

    python benchmarks/verdicts.py                    sweeps of 300 cells on made-up noise, seed fixed; a minute or two
    python benchmarks/verdicts.py --small            a few cells of several sessions: which noise between sessions is believed
    python benchmarks/verdicts.py --noise            nothing changed: comparisons that accuse, by noise, sessions, repeats and digits
    python benchmarks/verdicts.py --files A.db B.db  the same rules on the numbers of two result files
    python benchmarks/verdicts.py --aa A.db          false alarms of each rule on your own runs, split in two at random

All rules see the same numbers. A false cell is one that did not change and is called worse; as many are called better.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from reports.verdicts.aa import halves
from reports.verdicts.confirm import REPEATS, screen, settle
from reports.verdicts.decide import judge
from reports.verdicts.model import Sample

Array = NDArray[np.float64]
Words = NDArray[np.int_]  # (G,): 1 called worse, -1 better, 0 neither

CELLS, CHANGED = 300, 15
SEED = 20_261_121


# --- what others do ----------------------------------------------------------------------------------------
# a, b: (G, n) values; larger is worse. Each returns one word per cell.


def threshold(a: Array, b: Array, _rng: np.random.Generator) -> Words:
    """5 % on the means: what most CI scripts do."""
    ratio = b.mean(axis=1) / a.mean(axis=1)
    return np.where(ratio > 1.05, 1, np.where(ratio < 1 / 1.05, -1, 0))


def pyperf(a: Array, b: Array, _rng: np.random.Generator) -> Words:
    """`pyperf compare_to`: Student's two-sided t at 95 % on the values (pyperf/_compare.py, _utils.is_significant)."""
    if min(a.shape[1], b.shape[1]) < 2:
        return np.zeros(len(a), dtype=int)
    test = stats.ttest_ind(b, a, axis=1)
    return np.where(test.pvalue <= 0.05, np.sign(test.statistic), 0).astype(int)


def benchstat(a: Array, b: Array, _rng: np.random.Generator) -> Words:
    """benchstat: exact Mann-Whitney at 5 %, no test below four runs a side."""
    if min(a.shape[1], b.shape[1]) < 4:
        return np.zeros(len(a), dtype=int)
    p = stats.mannwhitneyu(a, b, axis=1, method="exact").pvalue
    return np.where(p < 0.05, np.sign(np.median(b, axis=1) - np.median(a, axis=1)), 0).astype(int)


def criterion(a: Array, b: Array, rng: np.random.Generator, resamples: int = 400) -> Words:
    """criterion.rs: t against its bootstrap over both sides mixed, 5 %; then the 95 % interval of the change of the mean
    must lie beyond the noise threshold of 1 %. Fewer resamples than its 100 000."""
    if min(a.shape[1], b.shape[1]) < 2:
        return np.zeros(len(a), dtype=int)
    n_a, n_b, rows = a.shape[1], b.shape[1], np.arange(len(a))[:, None, None]

    def t(x: Array, y: Array) -> Array:
        spread = np.sqrt(x.var(axis=-1, ddof=1) / n_a + y.var(axis=-1, ddof=1) / n_b)
        gap = y.mean(axis=-1) - x.mean(axis=-1)
        return np.divide(gap, spread, out=np.zeros_like(gap), where=spread > 0)

    mixed = np.concatenate([a, b], axis=1)
    drawn = mixed[rows, rng.integers(0, n_a + n_b, (len(a), resamples, n_a + n_b))]
    p = (np.abs(t(drawn[..., :n_a], drawn[..., n_a:])) >= np.abs(t(a, b))[:, None]).mean(axis=1)
    mean_a, mean_b = (
        x[rows, rng.integers(0, x.shape[1], (len(x), resamples, x.shape[1]))].mean(axis=2) for x in (a, b)
    )
    low, high = np.quantile(mean_b / mean_a - 1, [0.025, 0.975], axis=1)
    return np.where(p >= 0.05, 0, np.where(low > 0.01, 1, np.where(high < -0.01, -1, 0)))


OTHERS: dict[str, Callable[[Array, Array, np.random.Generator], Words]] = {
    "5 % on means": threshold,
    "pyperf": pyperf,
    "benchstat": benchstat,
    "criterion": criterion,
}
OURS, TWICE = "pinsweep", "--confirm"
WORDS = {"regressed": 1, "improved": -1}


def words_of(samples: Sequence[Sample], rng: np.random.Generator) -> dict[str, Words]:
    """Return what each rule calls each cell, pinsweep's first stage among them."""
    shapes: dict[tuple[int, int], list[int]] = defaultdict(list)
    for i, s in enumerate(samples):
        if s.a and s.b and min(*s.a, *s.b) > 0:
            shapes[len(s.a), len(s.b)].append(i)
    found = {name: np.zeros(len(samples), dtype=int) for name in OTHERS}
    for members in shapes.values():
        sign = np.array([-1.0 if samples[i].better == "higher" else 1.0 for i in members])[:, None]
        a, b = (np.array([getattr(samples[i], side) for i in members]) ** sign for side in "ab")
        for name, rule in OTHERS.items():
            found[name][members] = rule(a, b, rng)
    decisions = {d.key: d for family in judge(samples) for d in family.decisions}
    found[OURS] = np.array([WORDS.get(decisions[s.key].verdict, 0) for s in samples])
    return found


# --- made-up machines --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the runs of a sweep suffer from. Cells have a noise of 1 %, times or through 2.7 (95 % of them)."""

    name: str
    n: int
    changed: int = 0
    change: float = 0.05
    spikes: float = 0.0  # share of the runs that something slows by about 25 %
    drift: float = 0.0  # from the first run to the last, B after A
    session: float = 0.0  # sd from session to session, of each cell
    whole: float = 0.0  # the same, of all cells together
    apart: bool = False  # A and B in different sessions


SCENES = (
    Scene(name="nothing changed, quiet, n=3", n=3),
    Scene(name="quiet, n=3", n=3, changed=CHANGED),
    Scene(name="quiet, n=5", n=5, changed=CHANGED),
    Scene(name="spikes, n=3", n=3, changed=CHANGED, spikes=0.05),
    Scene(name="spikes, n=10", n=10, changed=CHANGED, spikes=0.05),
    Scene(name="drift of 3 %, first A then B, n=5", n=5, drift=0.03, apart=True),
    Scene(name="two sessions, sd 1 %, n=5", n=5, session=0.01, apart=True),
    Scene(name="two sessions, sd 2 %, n=5", n=5, session=0.02, apart=True),
    Scene(name="the same, 10 % slower", n=5, changed=CHANGED, change=0.10, session=0.01, apart=True),
    Scene(name="all cells together off by sd 1 %, n=5", n=5, whole=0.01, apart=True),
)


class Machine:
    """The true state of one sweep, from which runs are drawn."""

    def __init__(self, scene: Scene, rng: np.random.Generator) -> None:
        self._scene, self._rng = scene, rng
        self._sd = 0.01 * np.exp(rng.normal(0, 0.5, (CELLS, 1)))
        self._base = rng.uniform(0, 10, (CELLS, 1))
        self._change = np.where(np.arange(CELLS) < scene.changed, math.log1p(scene.change), 0.0)[:, None]

    def samples(self) -> list[Sample]:
        """The first stage: n runs a side, in one session or in two."""
        scene, rng = self._scene, self._rng
        sides = []
        for late in (0, 1):
            x = self._runs(late, scene.n)
            x += rng.normal(0, scene.session, (CELLS, 1)) + rng.normal(0, scene.whole)
            x += scene.drift * (late + np.linspace(0, 1, scene.n)) / 2
            sides.append(np.exp(x))
        return self._as_samples(sides[0], sides[1], interleaved=not scene.apart)

    def again(self) -> list[Sample]:
        """The second stage: both sides afresh, in turns."""
        sides = [np.exp(self._runs(late, max(REPEATS, self._scene.n))) for late in (0, 1)]
        return self._as_samples(sides[0], sides[1], interleaved=True)

    def _runs(self, late: int, n: int) -> Array:
        rng = self._rng
        x = self._base + late * self._change + rng.normal(0, 1, (CELLS, n)) * self._sd
        return x + np.where(rng.random((CELLS, n)) < self._scene.spikes, rng.gamma(4, 0.25 / 4, (CELLS, n)), 0.0)

    def _as_samples(self, a: Array, b: Array, *, interleaved: bool) -> list[Sample]:
        return [
            Sample(
                key=g, family="simulated", a=tuple(x), b=tuple(y), better="lower", interleaved=interleaved,
                session_a=("now" if interleaved else "before",) * len(x), session_b=("now",) * len(y),
            )
            for g, (x, y) in enumerate(zip(a.tolist(), b.tolist(), strict=True))
        ]  # fmt: skip


def play(scene: Scene, sweeps: int) -> dict[str, dict[str, float]]:
    """Return per rule, a sweep: `false` cells called worse, `better` called better, `found` of those that got slower,
    and for pinsweep how many cells were `open` (inconclusive) and, for the second stage, `rerun`."""
    rng = np.random.default_rng(SEED)
    total: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for _ in range(sweeps):
        machine = Machine(scene, rng)
        samples = machine.samples()
        words = words_of(samples, rng)
        first = judge(samples)
        asked = {d.key for d in screen(first)}
        (twice,) = settle(first, [s for s in machine.again() if s.key in asked])
        words[TWICE] = np.array([WORDS.get(d.verdict, 0) for d in twice.decisions])
        for name, called in words.items():
            total[name]["false"] += int((called[scene.changed :] == 1).sum())
            total[name]["better"] += int((called == -1).sum())
            total[name]["found"] += int((called[: scene.changed] == 1).sum())
        total[OURS]["open"] += first[0].counts["inconclusive"]
        total[TWICE]["open"] += twice.counts["inconclusive"]
        total[TWICE]["rerun"] += len(asked)
    return {name: {what: n / sweeps for what, n in row.items()} for name, row in total.items()}


def simulate(sweeps: int, path: Path | None) -> int:
    names = [*OTHERS, OURS, TWICE]
    print(f"{sweeps} sweeps of {CELLS} cells: false cells, and found of {CHANGED} where {CHANGED} got slower\n")
    print(f"| | {' | '.join(names)} | measured again |\n|---|{'--:|' * (len(names) + 1)}")
    results = {}
    for scene in SCENES:
        results[scene.name] = rows = play(scene, sweeps)
        cells = [
            f"{_figure(rows[name]['false'])}" + (f" / {rows[name]['found']:.1f}" if scene.changed else "")
            for name in names
        ]
        print(f"| {scene.name} | {' | '.join(cells)} | {rows[TWICE]['rerun'] / CELLS:.0%} |", flush=True)
    took = [_time_once(seed) for seed in range(5)]
    print(f"\n10 000 cells of 5 + 5 runs: {min(took):.2f} to {max(took):.2f} s (5 times)")
    if path is not None:
        path.write_text(
            json.dumps({"sweeps": sweeps, "seed": SEED, "scenes": results, "10000_cells_s": took}, indent=1)
        )
    return 0


def _figure(value: float) -> str:
    return f"{value:.2f}" if value < 1 else f"{value:.1f}"


def _time_once(seed: int) -> float:
    rng = np.random.default_rng(seed)
    runs = np.exp(rng.normal(0, 0.01, (10_000, 10))).tolist()
    samples = [Sample(key=i, family="f", a=tuple(r[:5]), b=tuple(r[5:]), better="lower") for i, r in enumerate(runs)]
    began = time.perf_counter()
    judge(samples)
    return time.perf_counter() - began


# --- a few cells, several sessions -------------------------------------------------------------------------

SMALL = ((1, 6, 2, 2), (1, 6, 4, 1), (1, 1, 2, 2), (1, 1, 4, 1), (1, 1, 5, 1), (8, 6, 1, 1))
"""(metrics, cells of each, sessions of A, of B): too few cells for a sweep's shifts to tell the noise between sessions."""


def small(sweeps: int) -> int:
    """Print, for small sweeps, which share of unchanged cells is accused and which of cells 5 % slower is found."""
    print("| metrics × cells, sessions of A + B, 5 runs each | sd 1 % | 2 % | 3 % |\n|---|--:|--:|--:|")
    for metrics, cells, of_a, of_b in SMALL:
        rng = np.random.default_rng(SEED)
        row = []
        for sd in (0.01, 0.02, 0.03):
            accused, found = (
                np.mean([_called(rng, metrics, cells, (of_a, of_b), sd, slower) for _ in range(3 * sweeps)])
                for slower in (0.0, 0.05)
            )
            row.append(f"{accused:.1%}, found {found:.0%}")
        print(f"| {metrics} × {cells}, {of_a} + {of_b} | {' | '.join(row)} |", flush=True)
    return 0


def _called(
    rng: np.random.Generator, metrics: int, cells: int, sessions: tuple[int, int], sd: float, slower: float
) -> float:
    """Return the share of cells called changed (worse, where they got slower): sessions scatter by `sd`, runs by 1 %."""

    def side(n: int, level: float) -> tuple[float, ...]:
        x = level + rng.normal(0, sd, (n, 1)) + rng.normal(0, 0.01, (n, 5))
        return tuple(np.exp(x).ravel().tolist())

    n_a, n_b = sessions
    families = judge(
        [
            Sample(
                key=(metric, cell), family=str(metric), a=side(n_a, 0.0), b=side(n_b, slower), better="lower",
                session_a=tuple(("a", i // 5) for i in range(5 * n_a)), session_b=tuple(("b", i // 5) for i in range(5 * n_b)),
            )
            for metric in range(metrics)
            for cell in range(cells)
        ]
    )  # fmt: skip
    called = sum(f.counts["regressed"] + (0 if slower else f.counts["improved"]) for f in families)
    return called / (metrics * cells)


# --- nothing changed, by noise -----------------------------------------------------------------------------

NOISES = (0.005, 0.01, 0.03, 0.05, 0.10, 0.15)
SMALL_SWEEP = (4, 12)  # metrics, cells of each


def noise(sweeps: int) -> int:
    """Print the share of comparisons of unchanged machines that call something worse or better, by the noise from run to run."""
    print(f"| a side | {' | '.join(f'{sd:.1%}' for sd in NOISES)} |\n|---|{'--:|' * len(NOISES)}")
    for sessions, runs, share, digit in (
        (1, 2, 0.0, 0.0), (1, 3, 0.0, 0.0), (1, 5, 0.0, 0.0), (1, 5, 0.5, 0.0), (2, 3, 0.5, 0.0), (3, 3, 0.5, 0.0), (3, 5, 0.5, 0.0),
        (1, 3, 0.0, 0.01), (1, 3, 0.0, 0.04), (3, 3, 0.5, 0.04),
    ):  # fmt: skip
        rng = np.random.default_rng(SEED)
        row = []
        for sd in NOISES:
            called = [_accused(rng, sd, sessions, runs, share * sd, digit) for _ in range(5 * sweeps)]
            row.append(f"{np.mean([n > 0 for n in called]):.1%}, {np.mean(called) / math.prod(SMALL_SWEEP):.2%}")
        said = f"{sessions} × {runs} runs" + (f", sessions off by {share:g} of it" if share else "") + (f", steps of {digit:.0%}" if digit else "")  # fmt: skip
        print(f"| {said} | {' | '.join(row)} |", flush=True)
    return 0


def _accused(rng: np.random.Generator, sd: float, sessions: int, runs: int, off: float, digit: float) -> int:
    """Return how many numbers of an unchanged machine are called worse or better. `digit`: of the value, 0 of fine ones."""
    metrics, cells = SMALL_SWEEP

    def side(level: float) -> tuple[float, ...]:
        x = np.exp(level + rng.normal(0, off, (sessions, 1)) + rng.normal(0, sd, (sessions, runs))).ravel()
        return tuple((np.maximum(np.round(x / digit), 1) * digit if digit else x).tolist())

    samples = []
    for metric in range(metrics):
        for cell in range(cells):
            level = float(rng.uniform(0, digit))  # where between two steps the value lies
            of = tuple(i // runs for i in range(sessions * runs))
            samples.append(
                Sample(
                    key=(metric, cell), family=str(metric), a=side(level), b=side(level), better="lower", resolution=digit,
                    session_a=tuple(("a", i) for i in of), session_b=tuple(("b", i) for i in of),
                )
            )  # fmt: skip
    return sum(f.counts["regressed"] + f.counts["improved"] for f in judge(samples))


# --- real numbers ------------------------------------------------------------------------------------------


def real(a: Path, b: Path, path: Path | None) -> int:
    """Print how many numbers of two result files each rule calls worse and better."""
    from reports.compare.comparison import compare
    from reports.compare.sides import side
    from reports.results.load import load

    compared = compare(side("A", a.name, load([a])), side("B", b.name, load([b])))
    samples = [replace(s, key=i) for i, s in enumerate(compared.samples)]
    words = words_of(samples, np.random.default_rng(SEED))
    print(f"{a.name} and {b.name}: {len(samples)} numbers\n\n| rule | worse | better |\n|---|--:|--:|")
    found = {name: (int((w == 1).sum()), int((w == -1).sum())) for name, w in words.items()}
    for name, (worse, better) in found.items():
        print(f"| {name} | {worse} | {better} |")
    counts = compared.counts
    print(f"\npinsweep: {', '.join(f'{n} {word}' for word, n in counts.items())}")
    if path is not None:
        path.write_text(json.dumps({"numbers": len(samples), "worse_better": found, "pinsweep": counts}, indent=1))
    return 0


def unchanged(files: Sequence[Path], path: Path | None) -> int:
    """Print how many numbers of halves of one and the same set of runs each rule calls changed."""
    from reports.compare.comparison import compare
    from reports.compare.sides import side
    from reports.results.load import load

    results = load(files)
    compared = compare(side("A", "A", results), side("B", "A", results))
    rng = np.random.default_rng(SEED)
    calls: dict[str, list[int]] = defaultdict(list)
    numbers = 0
    for split in halves(compared.samples):
        testable = [s for s in split if min(len(s.a), len(s.b)) > 1]
        numbers += len(testable)
        for name, words in words_of(testable, rng).items():
            calls[name].append(int((words != 0).sum()))
    if not numbers:
        raise SystemExit("needs 4 sessions, or 4 runs of a cell, to be split in two")
    print(
        f"{len(compared.samples)} numbers, 20 splits\n\n| rule | false alarms | of | splits with one or more |\n|---|--:|--:|--:|"
    )
    for name, found in calls.items():
        print(f"| {name} | {sum(found)} | {numbers} ({sum(found) / numbers:.1%}) | {sum(map(bool, found))} |")
    if path is not None:
        path.write_text(json.dumps({"numbers": numbers, "false_alarms": calls}, indent=1))
    return 0


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--sweeps", type=int, default=100, help="simulated sweeps of each kind")
    words.add_argument("--quick", action="store_true", help="10 sweeps of each kind: seconds, and rough figures")
    words.add_argument("--files", nargs=2, type=Path, metavar=("A", "B"), help="two result files instead")
    words.add_argument("--aa", nargs="+", type=Path, metavar="FILE", help="one side's result files instead")
    words.add_argument("--small", action="store_true", help="sweeps of a few cells, of several sessions")
    words.add_argument("--noise", action="store_true", help="sweeps of which nothing changed, by their noise")
    words.add_argument("--json", type=Path)
    options = words.parse_args()
    if options.files:
        return real(*options.files, options.json)
    if options.aa:
        return unchanged(options.aa, options.json)
    if options.noise:
        return noise(10 if options.quick else options.sweeps)
    if options.small:
        return small(10 if options.quick else options.sweeps)
    return simulate(10 if options.quick else options.sweeps, options.json)


if __name__ == "__main__":
    raise SystemExit(main())
