"""How often `history` finds a step that odd sessions hide, makes one of noise, and tells a drift as one: on made-up session medians.

    python benchmarks/history_steps.py [--series 1000]

Printed is, of 100 series: in how many a step of 20 % in their middle is found where none, one or two of the sessions behind it are back at the
old level; in how many of noise alone a step is found; each with no odd session set aside, with one, which is what `history` does, and with two.
Then what is told of series that rise evenly, and of steps.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent))

from last_sessions import KINDS, Noise

from reports.verdicts import history
from reports.verdicts.history import changes, drift

SESSIONS = (10, 12, 14, 16, 20, 27, 40)
ASIDE = (0, 1, 2)
NOISES: dict[str, Noise] = {
    **KINDS,
    "far modes": lambda source, n: [source.gauss(0, 1) + 20 * (source.random() < 0.2) for _ in range(n)],
    "spikes, 1 of 10": lambda source, n: [source.gauss(0, 1) - 8 * (source.random() < 0.1) for _ in range(n)],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--series", type=int, default=1000, help="of each kind and length [1000]")
    count = parser.parse_args().series
    source = random.Random(1)
    print(f"{'odd sessions set aside: 0 1 2':32}" + "".join(f"{n:>15}" for n in SESSIONS) + "   sessions")
    for odd in (0, 1, 2):
        rates = [found(source, n, odd, count) for n in SESSIONS]
        print(f"{f'step of 20 %, {odd} odd':32}" + "".join(f"{rate:>15}" for rate in rates), flush=True)
    for kind, noise in NOISES.items():
        for sd in (0.01, 0.03):
            rates = [alarms(source, noise, sd, n, count) for n in SESSIONS]
            print(f"{kind:27}{sd:4.0%} " + "".join(f"{rate:>15}" for rate in rates), flush=True)
    for name, level in SHAPES.items():
        told = Counter(said([level(i, source) * source.gauss(1, 0.01) for i in range(27)]) for _ in range(count))  # fmt: skip
        print(f"{name:32}" + ", ".join(f"{word} {100 * n / count:.1f}" for word, n in told.most_common()))


SHAPES: dict[str, Callable[[int, random.Random], float]] = {
    "rise of 24 %": lambda i, _: 1 + 0.24 * i / 26,
    "rise of 12 %": lambda i, _: 1 + 0.12 * i / 26,
    "rise of 5 %": lambda i, _: 1 + 0.05 * i / 26,
    "step of 5 %": lambda i, _: 1 + 0.05 * (i >= 13),
    "two steps of 5 %": lambda i, _: 1.05 ** (i // 9),
    "rise of 1 % each, step of 10 %": lambda i, _: (1 + 0.01 * i) * (1.1 if i >= 13 else 1),
}
"""Levels of 27 sessions, with 1 % of noise."""


def said(values: Sequence[float]) -> str:
    """Return what is told of a series: "drift", "1 step", "2 steps", "nothing"."""
    steps = changes(values, "lower")
    if drift(values, [86400.0 * i for i in range(len(values))], steps, "lower"):
        return "drift"
    news = sum(step.word != "changed" for step in steps)
    return "nothing" if not news else "1 step" if news == 1 else f"{news} steps"


def found(source: random.Random, sessions: int, odd: int, count: int) -> str:
    half, hits = sessions // 2, [0] * len(ASIDE)
    for _ in range(count):
        back = source.sample(range(half, sessions), odd)
        values = [(1.2 if i >= half and i not in back else 1) * source.gauss(1, 0.01) for i in range(sessions)]  # fmt: skip
        for k, most in enumerate(ASIDE):
            cuts = cuts_of(values, most)
            hits[k] += len(cuts) == 1 and abs(cuts[0] - half) <= 1
    return " ".join(f"{100 * n / count:.0f}" for n in hits)


def alarms(source: random.Random, noise: Noise, sd: float, sessions: int, count: int) -> str:
    hits = [0] * len(ASIDE)
    for _ in range(count):
        values = [1 + sd * x for x in noise(source, sessions)]
        for k, most in enumerate(ASIDE):
            hits[k] += bool(cuts_of(values, most))
    return " ".join(f"{100 * n / count:.1f}" for n in hits)


def cuts_of(values: Sequence[float], most: int) -> list[int]:
    """Return the steps of a series with up to so many outliers set aside, as `history` finds them with one."""
    ways = [history._cuts(values), *(hidden(values, n) for n in range(1, most + 1))]
    return max(ways, key=len)


def hidden(values: Sequence[float], aside: int, noise: float | None = None) -> list[int]:
    """As `history._hidden_cuts`, with as many outliers set aside, one after another."""
    if len(values) < 2 * history.LASTING:
        return []
    noise = noise or history.NEIGHBOURS * median(abs(b - a) for a, b in pairwise(values))
    for i in reversed(history._outliers(values, noise)):
        nearer = min(history._beside(values, i), key=lambda v: abs(v - values[i]))
        calm = [*values[:i], nearer, *values[i + 1 :]]
        if aside > 1:
            cuts = hidden(calm, aside - 1, noise)
        else:
            cuts = [] if history._outliers(calm, noise) else history._cuts(calm)
        if cuts and all(len(part) >= history.LASTING for part in history._parts(calm, cuts)):
            return cuts
    return []


if __name__ == "__main__":
    main()
