"""How often a cell with `repeats: auto` settles on a median that is not known as well as that says, on made-up noise.

    python benchmarks/settling.py [--cells 4000]

Each cell draws value after value, and stops as `run` would: see `orchestrator.experiment.repeats`. Printed is, a kind of noise and
its standard deviation (of each mode, where there are two): how many settle, after how many repeats on the average (those that do not
settle have 15); of those that settled, how many medians lie further than WITHIN from the true one (what "settled" says), and how many
intervals, most of which are narrower than that, do not hold it. "digits": the values are printed in steps of 1 %, and the true median
is the one of what is printed.

    python benchmarks/settling.py --sweeps 400

the same of whole sweeps of 40 cells of normal noise: of the cells that settled, how many are off, and how many the audit names (G13), since
they settled among many that did not.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from orchestrator.experiment.repeats import BASE, CAP, WITHIN, interval, is_settled
from reports.checks.repeats import by_chance

Draw = Callable[[random.Random, float], float]

KINDS: dict[str, Draw] = {
    "normal": lambda source, sd: source.gauss(1, sd),
    "skewed": lambda source, sd: 1 + sd * source.expovariate(1),  # no run is faster than the machine
    "spiky": lambda source, sd: source.gauss(1, sd) * (0.75 if source.random() < 0.08 else 1),
    "two modes": lambda source, sd: source.gauss(1, sd) + (4 * sd if source.random() < 0.4 else 0),
    "digits": lambda source, sd: round(source.gauss(1, sd), 2),
}
NOISES = (0.005, 0.01, 0.02, 0.03, 0.05)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cells", type=int, default=4000, help="cells of each kind and noise [4000]")
    parser.add_argument("--sweeps", type=int, help="so many sweeps of 40 cells instead")
    asked = parser.parse_args()
    if asked.sweeps:
        named_in_sweeps(asked.sweeps)
        return
    cells = asked.cells
    print(f"noise             settled   repeats   off by more than {WITHIN:.1%}   interval misses")
    for kind, draw in KINDS.items():
        for sd in NOISES:
            settled, off, missed, repeats = simulate(draw, sd, cells)
            shares = [f"{wrong / settled:.1%}" if settled else "–" for wrong in (off, missed)]
            print(
                f"{kind:10} {sd:5.1%}   {settled / cells:6.1%}   {repeats / cells:7.1f}   {shares[0]:>21}   {shares[1]:>15}"
            )


SWEEPS = ({0.05: 40}, {0.03: 40}, {0.01: 40}, {0.05: 28, 0.01: 12}, {0.05: 39, 0.01: 1})
"""Noise → cells."""


def named_in_sweeps(sweeps: int) -> None:
    """Print a table."""
    print("cells of a sweep             of these   settled   off by more than 2.5%   named")
    source = random.Random(7)
    for mix in SWEEPS:
        settled, off, named = Counter[float](), Counter[float](), Counter[float]()
        for _ in range(sweeps):
            cells = [
                (sd, _stopped([source.gauss(1, sd) for _ in range(CAP)])) for sd, n in mix.items() for _ in range(n)
            ]
            calm = [(sd, values) for sd, values in cells if is_settled(values)]
            others = [values for _, values in cells if not is_settled(values)]
            texts = by_chance([values for _, values in calm], others)
            for (sd, values), doubt in zip(calm, texts, strict=True):
                settled[sd] += 1
                off[sd] += abs(statistics.median(values) - 1) > WITHIN
                named[sd] += bool(doubt)
        for sd, number in settled.items():
            what = ", ".join(f"{n} of {noise:.0%}" for noise, n in mix.items())
            print(f"{what:28} {sd:8.0%} {number:9}   {off[sd] / number:21.1%}   {named[sd] / number:5.0%}")


def _stopped(values: list[float]) -> list[float]:
    """Return the values of a cell up to where it settles."""
    return values[: next((n for n in range(BASE, CAP + 1) if is_settled(values[:n])), CAP)]


def simulate(draw: Draw, sd: float, cells: int) -> tuple[int, int, int, int]:
    """Return of `cells` cells how many settled, how many of these are further off than WITHIN, how many of their intervals miss the
    true median, and the repeats of all."""
    source = random.Random(7)
    true = statistics.median(draw(source, sd) for _ in range(200_001))
    settled = off = missed = repeats = 0
    for _ in range(cells):
        values = _stopped([draw(source, sd) for _ in range(CAP)])
        repeats += len(values)
        if (found := interval(values)) and is_settled(values):
            settled += 1
            off += abs(statistics.median(values) - true) > WITHIN * true
            missed += not found[0] <= true <= found[1]
    return settled, off, missed, repeats


if __name__ == "__main__":
    main()
