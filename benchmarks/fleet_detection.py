"""How often `pinsweep fleet` accuses hosts that are as good as the others, and which slow ones it sees: on made-up numbers.

    python benchmarks/fleet_detection.py                        every table, 200 fleets a line; an hour and a half of CPU time
    python benchmarks/fleet_detection.py --fleets 20 sound      some tables, roughly

The hosts of a fleet are equal, or differ by `--differ`. A number of a session is the median of 5 runs, which scatter by the first noise;
all runs of a session are off together by the second. Numbers are independent of one another: what moves together costs less power
than this. The statistics are those of the command (`reports.verdicts.fleet`, and what `reports.fleet.judge` makes of "slow
everywhere"); for fleets that go through parsers, store and page see fleet.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reports.results.hardware import sizes
from reports.verdicts.fleet import Metric, Status, judge_fleet, worst

Array = NDArray[np.float64]

SEED: Final = 20_261_123
NOISES: Final = ((0.01, 0.005), (0.03, 0.02), (0.05, 0.03), (0.10, 0.05))
"""Noise from run to run, from session to session."""
REPEATS: Final = 5
NUMBERS: Final = 54
ACCUSED: Final = ("slow", "broken")


@dataclass(frozen=True, slots=True)
class Fleet:
    """What its hosts are like."""

    hosts: int
    noise: tuple[float, float]
    sessions: int = 3
    numbers: int = NUMBERS
    differ: float = 0.0  # sd from host to host, of each number
    past: int = 0  # sessions of a baseline to compare with, of hosts like these

    def draw(self, rng: np.random.Generator, sessions: int = 0) -> Array:
        """Return (numbers, hosts, sessions) of medians about 1: times, more is worse."""
        run, session = self.noise
        shape = (self.numbers, self.hosts, sessions or self.sessions)
        x = np.median(rng.normal(0, run, (*shape, REPEATS)), axis=-1) + rng.normal(0, session, shape)
        return np.exp(x)

    def own(self, rng: np.random.Generator) -> Array:
        """Return (numbers, hosts, 1): how each host is, whatever the session."""
        return np.exp(rng.normal(0, self.differ, (self.numbers, self.hosts, 1)))

    def baseline(self, rng: np.random.Generator) -> Array:
        """Return (numbers, past)."""
        return self.draw(rng, self.past)[:, 0] if self.past else np.empty((self.numbers, 0))


def statuses(values: Sequence[Sequence[Sequence[float]]], past: Array) -> dict[str, Status]:
    """Return host → what the command says of it. `values`: number → host → sessions, of some hosts more than of others."""
    metrics = [
        Metric(
            key=i, better="lower", values={f"{host:03}": tuple(own) for host, own in enumerate(row)},
            baseline=tuple(past[i].tolist()),
        )
        for i, row in enumerate(values)
    ]  # fmt: skip
    judged = judge_fleet(metrics)
    found = dict(judged.statuses)
    for one in judged.everywhere:
        found[one.name] = worst(found[one.name], "slow" if one.confirmed else "suspicious")
    return found


def slowed(values: Array, worse: float, numbers: int) -> Array:
    """Return the fleet with its first host worse by a share of the rate, in so many numbers."""
    changed = values.copy()
    changed[:numbers, 0] /= 1 - worse
    return changed


# --- the tables --------------------------------------------------------------------------------------------


def sound(fleets: int) -> Iterator[dict[str, object]]:
    """Fleets of equal hosts: how many accuse somebody, how many suspect somebody, and how many hosts that is."""
    for hosts in (2, 8, 18, 40, 200):
        for noise in NOISES:
            for sessions in (1, 2, 3):
                of = Fleet(hosts, noise, sessions, past=5 if hosts < 8 else 0)
                rng = np.random.default_rng(SEED)
                told = [Counter(statuses(of.draw(rng).tolist(), of.baseline(rng)).values()) for _ in range(fleets)]
                yield {
                    "hosts": hosts, "noise": noise, "sessions": sessions, "fleets": fleets,
                    "accusing": sum(any(t[word] for word in ACCUSED) for t in told),
                    "accused_hosts": sum(t[word] for t in told for word in ACCUSED),
                    "suspecting": sum(t["suspicious"] > 0 for t in told),
                    "suspicious_hosts": sum(t["suspicious"] for t in told),
                    "fast_hosts": sum(t["fast"] for t in told),
                }  # fmt: skip


def slow(fleets: int) -> Iterator[dict[str, object]]:
    """One host slower, in all its numbers or in one: how many fleets accuse it, and how many suspect it at least."""
    for hosts in (2, 8, 18, 40, 200):
        for noise in NOISES[:3]:
            for sessions in (1, 2, 3):
                of = Fleet(hosts, noise, sessions, past=5 if hosts < 8 else 0)
                rng = np.random.default_rng(SEED + 1)
                found: Counter[tuple[float, int, str]] = Counter()
                for _ in range(fleets):
                    values, past = of.draw(rng), of.baseline(rng)
                    for worse in (0.03, 0.05, 0.10):
                        for numbers in (1, NUMBERS):
                            status = statuses(slowed(values, worse, numbers).tolist(), past)["000"]
                            found[worse, numbers, "accused"] += status in ACCUSED
                            found[worse, numbers, "suspected"] += status in (*ACCUSED, "suspicious")
                for worse in (0.03, 0.05, 0.10):
                    for numbers in (1, NUMBERS):
                        yield {
                            "hosts": hosts, "noise": noise, "sessions": sessions, "fleets": fleets, "worse": worse, "in": numbers,
                            "accused": found[worse, numbers, "accused"], "suspected": found[worse, numbers, "suspected"],
                        }  # fmt: skip


def again(fleets: int) -> Iterator[dict[str, object]]:
    """40 hosts that differ by 1.2 %, 8 numbers, one session; two more of who looked slow, as `--confirm` asks for."""
    for noise in NOISES[:2]:
        of = Fleet(40, noise, 1, numbers=8, differ=0.012)
        for worse, numbers in itertools.product((0.03, 0.05, 0.06, 0.08, 0.10, 0.15), (1, of.numbers)):
            rng = np.random.default_rng(SEED + 2)
            found: Counter[str] = Counter()
            for _ in range(fleets):
                own = slowed(of.own(rng), worse, numbers)
                first, more = own * of.draw(rng), own * of.draw(rng, 2)
                looked = {h for h, s in statuses(first.tolist(), of.baseline(rng)).items() if s == "suspicious"}
                values = [
                    [[*row[h], *(more[i, h] if f"{h:03}" in looked else ())] for h in range(of.hosts)]
                    for i, row in enumerate(first)
                ]
                after = statuses(values, of.baseline(rng))
                found["measured again"] += len(looked)
                found["accused"] += after["000"] in ACCUSED
                found["suspected"] += after["000"] in (*ACCUSED, "suspicious")
                found["others accused"] += sum(after[h] in ACCUSED for h in after if h != "000")
            yield {"noise": noise, "worse": worse, "in": numbers, "fleets": fleets, **found}


def modules(fleets: int) -> Iterator[dict[str, object]]:
    """A host that lost one of its memory modules, where nobody recorded them: how many fleets put it apart, alone."""
    for count in (8, 12, 16, 18, 24, 32):
        for gib in (8, 16, 32, 64):
            rng = np.random.default_rng(SEED + 3)
            apart = split = 0
            for _ in range(fleets):
                installed = np.full(rng.integers(8, 60), count * gib, dtype=float)
                installed[0] -= gib
                kept = 0.016 * installed + rng.choice([1.0, 2.0]) + rng.choice([0.0, 0.25, 0.5, 1.0], installed.size)
                texts = sizes(((installed - kept) * 2**30).tolist())
                apart += texts[0] not in texts[1:]
                split += len(set(texts[1:])) > 1
            yield {"modules": count, "gib": gib, "fleets": fleets, "apart": apart, "others split": split}


TABLES: Final = {"sound": sound, "slow": slow, "again": again, "modules": modules}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("tables", nargs="*", choices=[*TABLES, []], help="else all")
    words.add_argument("--fleets", type=int, default=200)
    words.add_argument("--json", type=Path)
    options = words.parse_args()
    found = {}
    for name in options.tables or TABLES:
        print(f"{name}: {(TABLES[name].__doc__ or '').splitlines()[0]}", flush=True)
        found[name] = rows = []
        for row in TABLES[name](options.fleets):
            print("  " + "  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
            rows.append(row)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
