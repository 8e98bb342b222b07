"""What pinsweep itself costs: per run beside bare loops, while it waits for a tool, and before it does anything.

    python benchmarks/overhead.py --runs 200 --turns 5 --json overhead.json

A run is `numactl --physcpubind=0 -- echo N`, started by a loop of sh, by a loop of Python that reads the number and commits
it to SQLite, and by `pinsweep run`, in turns; and by `pinsweep run` beside a thousand processes that sleep, as on a server
with many services. What a start costs once is taken off: each side runs few and many, and the difference is divided.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from own_cost import own_cost
from turns import Row, Sample, Side, compare, report, run, start, take_turns

FEW = 20
CROWD = 1000

EXPERIMENT = """\
schema: 1
title: overhead
tool: command
fixed:
  command: "{command}"
  metrics: {{one: {{regex: "(.*)", unit: "1"}}}}
  place: {{name: one, cpus: "pu {cpu}", memory: any}}
matrix:
  n: [{values}]
repeats: 1
"""

PYTHON = """\
import re, sqlite3, subprocess, sys
db = sqlite3.connect(sys.argv[2])
db.execute("CREATE TABLE IF NOT EXISTS run (n INTEGER, value REAL)")
for i in range(int(sys.argv[1])):
    done = subprocess.run(sys.argv[3:] + [str(i)], capture_output=True, text=True)
    value = float(re.search("([0-9]+)", done.stdout)[1])
    with db:
        db.execute("INSERT INTO run VALUES (?, ?)", (i, value))
"""

SHELL = 'i=0; while [ "$i" -lt "$0" ]; do "$@" "$i" > /dev/null; i=$((i+1)); done'


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--runs", type=int, default=200, help=f"runs of the many; the few are {FEW}")
    words.add_argument("--turns", type=int, default=5)
    words.add_argument("--wait-s", type=int, default=20, help="seconds of the tool that is waited for")
    words.add_argument("--json", type=Path)
    words.add_argument("--strict", action="store_true", help="fail if others used more than 1 %% of the machine")
    options = words.parse_args()
    numactl = shutil.which("numactl")
    if not numactl:
        print("error: numactl is not installed", file=sys.stderr)
        return 2
    cpu = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows, samples = _per_run(folder, numactl, cpu, options.runs, options.turns)
        more, started = take_turns(_starts(folder, cpu), options.turns)
        status = report("overhead of pinsweep, ms", rows + more, samples + started, options.json, options.strict)
        waited = own_cost(_pinsweep(folder, f"sh -c 'sleep {options.wait_s}; echo {{n}}'", cpu, 1), options.wait_s)
    print(
        f"\nWhile a tool runs ({waited.seconds:.0f} s, the looks at its start left out): {waited.cpu_ms_per_s:.3f} ms of CPU and "
        f"{waited.switches_per_s:.2f} voluntary switches a second (to reach: 1 and 2), {waited.rss_mib:.0f} MiB resident (60)."
    )
    return status


def _per_run(folder: Path, numactl: str, cpu: int, many: int, turns: int) -> tuple[list[Row], list[Sample]]:
    """Compare the milliseconds of one run: (many - few) of each side, turn by turn."""
    crowd = f"pinsweep run beside {CROWD}"
    loops: dict[str, Callable[[int], list[str]]] = {
        "pinsweep run": lambda n: _pinsweep(folder, "echo {n}", cpu, n),
        crowd: lambda n: _pinsweep(folder, "echo {n}", cpu, n),
        "Python loop": lambda n: [
            sys.executable,
            "-c",
            PYTHON,
            str(n),
            str(folder / f"{time.monotonic_ns()}.db"),
            *_floor(numactl, cpu),
        ],
        "sh loop": lambda n: ["sh", "-c", SHELL, str(n), *_floor(numactl, cpu)],
    }
    samples: list[Sample] = []
    for turn in range(turns):
        for name, argv in loops.items():
            with sleepers(CROWD if name == crowd else 0):
                samples.append(_a_run(name, argv, FEW, many, turn))
    pairs = (
        ("pinsweep run", "Python loop"), ("pinsweep run", "sh loop"), ("Python loop", "sh loop"),
        (crowd, "pinsweep run"),
    )  # fmt: skip
    return [row for ours, theirs in pairs for row in compare(samples, ours, theirs)], samples


def _a_run(name: str, argv: Callable[[int], list[str]], few: int, many: int, turn: int) -> Sample:
    """Return what one run costs: the difference of many and few, divided."""
    first, last = (run(Side(name=name, argv=argv(n), read=_cost, timeout_s=3600), turn) for n in (few, many))
    return Sample(
        side=name, turn=turn, wall_s=last.wall_s, cpu_s=last.cpu_s, foreign=max(first.foreign, last.foreign),
        figures={f"{k} a run": (last.figures[k] - first.figures[k]) / (many - few) for k in last.figures},
    )  # fmt: skip


@contextlib.contextmanager
def sleepers(number: int) -> Iterator[None]:
    """Let so many processes sleep on this machine meanwhile."""
    processes = [subprocess.Popen(["sleep", "600"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def _floor(numactl: str, cpu: int) -> list[str]:
    return [numactl, f"--physcpubind={cpu}", "--", "echo"]


def _cost(_: str, used: Mapping[str, float]) -> dict[str, float]:
    return {"wall": 1e3 * used["wall_s"], "cpu": 1e3 * used["cpu_s"]}


def _pinsweep(folder: Path, command: str, cpu: int, runs: int) -> list[str]:
    path = folder / f"overhead-{runs}.yaml"
    values = ", ".join(map(str, range(runs)))
    path.write_text(EXPERIMENT.format(command=command, cpu=cpu, values=values))
    output = folder / f"{time.monotonic_ns()}.db"
    alone = ["--allow-disturbed", "--share-machine"]  # no run is repeated or waits: others work here, too
    return [sys.executable, "-m", "pinsweep", "run", str(path), "-o", str(output), *alone]


def _starts(folder: Path, cpu: int) -> list[tuple[Side, Side]]:
    """`--help` and a `plan` of 10 cells, beside the interpreter alone."""
    bare = Side(name="python -c pass", argv=[sys.executable, "-c", "pass"], read=_start)
    plan = [*_pinsweep(folder, "echo {n}", cpu, 10)[:3], "plan", str(folder / "overhead-10.yaml")]
    return [
        (Side(name="pinsweep --help", argv=[sys.executable, "-m", "pinsweep", "--help"], read=_start), bare),
        (Side(name="pinsweep plan", argv=plan, read=_start), bare),
    ]


def _start(_: str, used: Mapping[str, float]) -> dict[str, float]:
    return {"start, wall": 1e3 * used["wall_s"], "start, CPU": 1e3 * used["cpu_s"]}


if __name__ == "__main__":
    sys.exit(start(main))
