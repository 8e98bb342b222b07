"""How many slow hosts `pinsweep fleet` finds, and how many good ones it accuses. The fleets are SYNTHESISED: said so, on purpose.

    pinsweep run benchmarks/fleet-pool.yaml -o pool.db          real runs, 24 of each cell, on one machine
    python benchmarks/fleet.py pool.db --nodes 40 --seeds 20
    python benchmarks/fleet.py pool.db --keep DIR               keeps the files of the first fleet, to look at

`fleet` is asked twice, as a user would: of one session a host, and again with --again further sessions of the hosts that it
wants to see once more.

A host is a copy of the pool's file under a name of its own, with a few runs of each cell drawn from the pool, and the
figures in their outputs scaled: by a factor of the host's own for each sweep (lognormal, sd 1.2 %, what the measurement
guide assumes between equal hosts), and of slow hosts besides. What the noise from run to run is like, the real runs
decide; everything downstream of the texts (parsers, store, statistics, command line) is what a real fleet would meet.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.fleet.judge import judge
from reports.results.load import load

HOST_SD = 0.012


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a host: all its figures, or those of one sweep, worse by a share."""

    worse: float
    sweep: str = ""


@dataclass(frozen=True, slots=True)
class Host:
    """A synthesised host: what it is called, how fast it is, what is wrong with it."""

    name: str
    factors: Mapping[str, float]  # sweep → of its times
    fault: Fault | None

    def slower(self, sweep: str) -> float:
        fault = self.fault
        return self.factors[sweep] * (1 + fault.worse if fault and fault.sweep in ("", sweep) else 1.0)


def session(pool: Path, out: Path, host: Host, *, runs: int, chance: random.Random) -> Path:
    """Write the result file of one session of a host. Its runs are drawn without replacement: they are different ones."""
    shutil.copy(pool, out)
    with sqlite3.connect(out) as db:
        facts = json.loads(db.execute("SELECT facts FROM session").fetchone()[0])
        argv = json.dumps(["run", "acceptance.yaml", "-o", out.name])
        db.execute(
            "UPDATE session SET host = ?, facts = ?, argv = ?",
            (host.name, json.dumps({**facts, "hostname": host.name, "boot_id": out.stem}), argv),
        )
        db.execute("UPDATE reading SET version = 0")
        for point_id, sweep, tool in db.execute("SELECT point_id, sweep, tool FROM point").fetchall():
            good = [
                r[0] for r in db.execute("SELECT run_id FROM run WHERE point_id = ? AND status = 'ok'", (point_id,))
            ]
            kept = chance.sample(good, runs)
            marks = ",".join("?" * len(kept))
            for table in ("output", "run"):
                db.execute(
                    f"DELETE FROM {table} WHERE run_id IN (SELECT run_id FROM run WHERE point_id = ?) AND run_id NOT IN ({marks})",
                    (point_id, *kept),
                )
            db.execute("UPDATE run SET repeat = repeat + 1000 WHERE point_id = ?", (point_id,))
            for repeat, run_id in enumerate(kept, 1):
                db.execute("UPDATE run SET repeat = ?, attempt = 1 WHERE run_id = ?", (repeat, run_id))
                (raw,) = db.execute(
                    "SELECT zlib FROM output WHERE run_id = ? AND stream = 'stdout'", (run_id,)
                ).fetchone()
                text = SCALED[tool](zlib.decompress(raw).decode(), host.slower(sweep)).encode()
                db.execute(
                    "UPDATE output SET zlib = ?, size_bytes = ? WHERE run_id = ? AND stream = 'stdout'",
                    (zlib.compress(text), len(text), run_id),
                )
            db.execute("UPDATE point SET repeats = ? WHERE point_id = ?", (runs, point_id))
    return out


def _stream(text: str, slower: float) -> str:
    def row(match: re.Match[str]) -> str:
        rate, *times = (float(word) for word in match[2].split())
        return f"{match[1]}{rate / slower:12.1f}  " + "  ".join(f"{t * slower:11.6f}" for t in times)

    return re.sub(r"^((?:Copy|Scale|Add|Triad): +)([\d. ]+)$", row, text, flags=re.MULTILINE)


def _mlc(text: str, slower: float) -> str:
    def clocks(match: re.Match[str]) -> str:
        return f"took {float(match[1]) * slower:.1f} {match[2]}(\t{float(match[3]) * slower:.1f}\tns)"

    return re.sub(r"took ([\d.]+) (.*?)\(\t?\s*([\d.]+)\s*ns\)", clocks, text)


def _rate(text: str, slower: float) -> str:
    return re.sub(r"^(sha256\s+)([\d.]+)k", lambda m: f"{m[1]}{float(m[2]) / slower:.2f}k", text, flags=re.MULTILINE)  # fmt: skip


SCALED: Mapping[str, Callable[[str, float], str]] = {"stream": _stream, "mlc": _mlc, "command": _rate}


def synthesise(pool: Path, *, hosts: int, faults: Sequence[Fault], chance: random.Random) -> list[Host]:
    """Return a fleet of which some hosts, chosen by chance, have the faults."""
    with sqlite3.connect(pool) as db:
        sweeps = [row[0] for row in db.execute("SELECT DISTINCT sweep FROM point ORDER BY sweep")]
    slow = dict(zip(chance.sample(range(hosts), len(faults)), faults, strict=True))
    return [
        Host(f"node{i + 1:03}", {s: math.exp(chance.gauss(0, HOST_SD)) for s in sweeps}, slow.get(i))
        for i in range(hosts)
    ]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("pool", type=Path)
    words.add_argument("--nodes", type=int, default=40)
    words.add_argument(
        "--slow",
        type=float,
        nargs="*",
        default=[0.06, 0.08, 0.15],
        metavar="SHARE",
        help="one slow host each",
    )
    words.add_argument("--sweep", default="", help="the sweep that is slow on them; else all")
    words.add_argument("--runs", type=int, default=3)
    words.add_argument("--again", type=int, default=2)
    words.add_argument("--seeds", type=int, default=20)
    words.add_argument("--keep", type=Path)
    options = words.parse_args()
    faults = [Fault(worse, options.sweep) for worse in options.slow]
    found = dict.fromkeys(options.slow, 0)
    false = suspicious = exact = 0
    for seed in range(options.seeds):
        chance = random.Random(seed)
        hosts = synthesise(options.pool, hosts=options.nodes, faults=faults, chance=chance)
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep if options.keep and seed == 0 else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            files = [session(options.pool, folder / f"{n.name}.db", n, runs=options.runs, chance=chance) for n in hosts]
            wanted = judge(load(files)).rerun
            files += [
                session(options.pool, folder / f"{n.name}-again{i + 1}.db", n, runs=options.runs, chance=chance)
                for n in hosts
                if n.name in wanted
                for i in range(options.again)
            ]
            accused = set(judge(load(files)).accused)
        slow = {n.name: n.fault.worse for n in hosts if n.fault}
        for host, worse in slow.items():
            found[worse] += host in accused
        false += len(accused - set(slow))
        suspicious += len(wanted)
        exact += accused == set(slow)
    good = options.seeds * (options.nodes - len(faults))
    print(f"{options.seeds} fleets of {options.nodes} synthesised hosts, {options.runs} runs of a cell in a session")
    print(f"  {len(faults)} slow in {options.sweep or 'everything'}; {suspicious / options.seeds:.1f} hosts a fleet measured {options.again} more times")  # fmt: skip
    for worse, n in found.items():
        print(f"  {worse:.0%} slower: found in {n} of {options.seeds}")
    print(f"  good hosts accused: {false} of {good}; fleets with exactly the slow ones: {exact}")


if __name__ == "__main__":
    main()
