"""How often the last sessions of a history are called far outside, on made-up noise without a step, and how often a step in them is.

    python benchmarks/last_sessions.py [--histories 300]

A history has so many numbers, each with a series of session medians of its own: all that `history` asks of it, steps first, then
`reports.verdicts.history.recent`. Printed is, of 100 histories, how many have a number that is named: of noise alone by its kind, its
standard deviation and the number of sessions; then of a step in the last one to four of 14 sessions, at 1 % of normal noise.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from reports.verdicts.history import RECENT, changes, recent

Noise = Callable[[random.Random, int], list[float]]


def memory(source: random.Random, sessions: int) -> list[float]:
    """Return noise of which each session has half of the one before it."""
    found = [source.gauss(0, 1)]
    while len(found) < sessions:
        found.append(0.5 * found[-1] + math.sqrt(0.75) * source.gauss(0, 1))
    return found


KINDS: dict[str, Noise] = {
    "normal": lambda source, n: [source.gauss(0, 1) for _ in range(n)],
    "memory of .5": memory,
    "two modes": lambda source, n: [source.gauss(0, 1) + 6 * (source.random() < 0.3) for _ in range(n)],
    "spikes, 1 of 20": lambda source, n: [source.gauss(0, 1) - 8 * (source.random() < 0.05) for _ in range(n)],
}
SESSIONS, NUMBERS = (10, 14, 27, 60), (2, 20)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--histories", type=int, default=300, help="of each kind, noise and length [300]")
    histories = parser.parse_args().histories
    source = random.Random(1)
    print(f"{'noise alone':22}{'numbers':>8}" + "".join(f"{n:>7}" for n in SESSIONS) + "   sessions")
    for kind, noise in KINDS.items():
        for sd in (0.01, 0.03):
            for numbers in NUMBERS:
                rates = [share(source, noise, sd, n, numbers, histories) for n in SESSIONS]
                print(f"{kind:17}{sd:5.0%}{numbers:8}  " + "".join(f"{rate:7.1f}" for rate in rates))
    print(f"\n{'a step of':22}{'numbers':>8}" + "".join(f"{n:>7}" for n in range(1, RECENT + 1)) + "   last sessions")
    for numbers in NUMBERS:
        for step in (0.05, 0.08, 0.1, 0.15, 0.3):
            rates = [found(source, step, last, numbers, histories) for last in range(1, RECENT + 1)]
            print(f"{step:<22.0%}{numbers:8}" + "".join(f"{rate:7.0f}" for rate in rates))


def share(source: random.Random, noise: Noise, sd: float, sessions: int, numbers: int, histories: int) -> float:
    """Return of how many of 100 histories of noise alone a number is named."""
    named = sum(
        any(is_named([1 + sd * x for x in noise(source, sessions)], numbers) for _ in range(numbers))
        for _ in range(histories)
    )
    return 100 * named / histories


def found(source: random.Random, step: float, last: int, numbers: int, histories: int) -> float:
    """Return how many of 100 steps in the last of 14 sessions are named, or called a change."""
    seen = 0
    for _ in range(histories):
        values = [source.gauss(1, 0.01) * (1 - step * (i >= 14 - last)) for i in range(14)]
        seen += is_named(values, numbers) or any(c.word != "changed" for c in changes(values, "higher"))
    return 100 * seen / histories


def is_named(values: Sequence[float], among: int) -> bool:
    return recent(values, changes(values, "higher"), "higher", among=among) is not None


if __name__ == "__main__":
    main()
