"""What pinsweep itself costs: per run beside bare loops, while it waits for a tool, and before it does anything.

    python benchmarks/overhead.py --runs 200 --turns 5 --json overhead.json

A run is `numactl --physcpubind=0 -- echo N`, started by a loop of sh, by a loop of Python, and by `pinsweep run`, in turns;
and by `pinsweep run` beside a thousand processes that sleep, as on a server with many services.
What a start costs once is taken off: each side runs few and many, and the difference is divided.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from turns import Failed, Row, Sample, Side, compare, report, run, take_turns

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
import re, subprocess, sys
for i in range(int(sys.argv[1])):
    done = subprocess.run(sys.argv[2:] + [str(i)], capture_output=True, text=True)
    re.search("([0-9]+)", done.stdout)[1]
"""

SHELL = 'i=0; while [ "$i" -lt "$0" ]; do "$@" "$i" > /dev/null; i=$((i+1)); done'


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--runs", type=int, default=200, help=f"runs of the many; the few are {FEW}")
    words.add_argument("--turns", type=int, default=5)
    words.add_argument("--wait-s", type=int, default=20, help="seconds of the tool that is waited for")
    words.add_argument("--json", type=Path)
    words.add_argument(
        "--strict", action="store_true", help="fail if others used more than 1 %% of the machine"
    )
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
        status = report(
            "overhead of pinsweep, ms", rows + more, samples + started, options.json, options.strict
        )
        waited = waiting(folder, cpu, options.wait_s)
    print(
        f"\nWhile a tool runs ({options.wait_s} s, the looks at its start left out): "
        f"{waited['cpu_ms_per_s']:.3f} ms of CPU and {waited['voluntary_switches_per_s']:.2f} voluntary switches a second "
        "(to reach: 1 and 2)."
    )
    return status


def _per_run(folder: Path, numactl: str, cpu: int, many: int, turns: int) -> tuple[list[Row], list[Sample]]:
    """Compare the milliseconds of one run: (many - few) of each side, turn by turn."""
    crowd = f"pinsweep run beside {CROWD}"
    loops: dict[str, Callable[[int], list[str]]] = {
        "pinsweep run": lambda n: _pinsweep(folder, "echo {n}", cpu, n),
        crowd: lambda n: _pinsweep(folder, "echo {n}", cpu, n),
        "Python loop": lambda n: [sys.executable, "-c", PYTHON, str(n), *_floor(numactl, cpu)],
        "sh loop": lambda n: ["sh", "-c", SHELL, str(n), *_floor(numactl, cpu)],
    }
    samples: list[Sample] = []
    for turn in range(turns):
        for name, argv in loops.items():
            with sleepers(CROWD if name == crowd else 0):
                few, lots = (run(Side(name=name, argv=argv(n), read=_cost), turn) for n in (FEW, many))
            figures = {k: (lots.figures[k] - few.figures[k]) / (many - FEW) for k in lots.figures}
            samples.append(
                Sample(
                    side=name, turn=turn, figures={f"{k} a run": v for k, v in figures.items()},
                    wall_s=lots.wall_s, cpu_s=lots.cpu_s, foreign=max(few.foreign, lots.foreign),
                )
            )  # fmt: skip
    pairs = (
        ("pinsweep run", "Python loop"), ("pinsweep run", "sh loop"), ("Python loop", "sh loop"),
        (crowd, "pinsweep run"),
    )  # fmt: skip
    return [row for ours, theirs in pairs for row in compare(samples, ours, theirs)], samples


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
    return [sys.executable, "-m", "pinsweep", "run", str(path), "-o", str(output)]


def _starts(folder: Path, cpu: int) -> list[tuple[Side, Side]]:
    """`--help` and a small `plan`, beside the interpreter alone."""
    bare = Side(name="python -c pass", argv=[sys.executable, "-c", "pass"], read=_start)
    plan = [*_pinsweep(folder, "echo {n}", cpu, 1)[:3], "plan", str(folder / "overhead-1.yaml")]
    return [
        (
            Side(
                name="pinsweep --help",
                argv=[sys.executable, "-m", "pinsweep", "--help"],
                read=_start,
            ),
            bare,
        ),
        (Side(name="pinsweep plan", argv=plan, read=_start), bare),
    ]


def _start(_: str, used: Mapping[str, float]) -> dict[str, float]:
    return {"start": 1e3 * used["wall_s"]}


def waiting(folder: Path, cpu: int, wait_s: int, settle_s: float = 3.0) -> dict[str, float]:
    """Return CPU (ms) and voluntary switches of pinsweep and its watchdog, a second of waiting for a `sleep`."""
    argv = _pinsweep(folder, f"sh -c 'sleep {wait_s}; echo {{n}}'", cpu, 1)
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not (watchdog := _children(process.pid)) or not _children(watchdog[0]):
            if time.monotonic() > deadline or process.poll() is not None:
                raise Failed("pinsweep started no tool")
            time.sleep(0.02)
        time.sleep(settle_s)  # the looks at where the tool runs are over
        both = (process.pid, *watchdog)
        cpu_ms, switches, begun = *_own(*both), time.monotonic()
        time.sleep(wait_s - settle_s - 2)
        cpu_ms_later, switches_later, ended = *_own(*both), time.monotonic()
    finally:
        process.terminate()
        process.wait()
    seconds = ended - begun
    return {
        "cpu_ms_per_s": (cpu_ms_later - cpu_ms) / seconds,
        "voluntary_switches_per_s": (switches_later - switches) / seconds,
    }


def _own(*pids: int) -> tuple[float, int]:
    """Return (CPU milliseconds, voluntary switches) of the threads of these processes, their children left out."""
    cpu_ns = switches = 0
    for task in (task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir()):
        cpu_ns += int((task / "schedstat").read_text().split()[0])
        found = re.search(r"^voluntary_ctxt_switches:\s+(\d+)", (task / "status").read_text(), re.MULTILINE)
        switches += int(found[1]) if found else 0
    return cpu_ns / 1e6, switches


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
