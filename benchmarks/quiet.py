"""How often a quiet run is called disturbed: short runs of four tools on a machine that does nothing else.

    python benchmarks/quiet.py --json quiet.json                    about three minutes

One sweep of `pinsweep run` in this process: poke computing, the STREAM kernel, fio with the null engine and a shell loop, a few
tenths of a second each, in random order. Right before and right after each run the CPU times of all other processes of the machine are
read, kernel threads and children that ended included. A run is quiet where they had no more together than `foreign` allows on one CPU;
called disturbed by `foreign`, `neighbour`, `starved` or `stopped`, it is a false alarm. What no list of processes shows (stolen time,
interrupts, throttling) is counted apart. Runs are kept as they are, none is repeated. Of runs called disturbed and of those that were not quiet it is
told which programs took the time.

It refuses to start on a machine that others use by more than 1 % of a CPU (`--anyway`), and fails where fewer than 200 runs were quiet or
more than 1 % of these were called disturbed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from scipy.stats import beta
from turns import CALM, Failed, start

from orchestrator.machine.counters import TICK_S
from orchestrator.plan.prepare import PlanOptions
from orchestrator.run.disturbance import FEW_TICKS, FOREIGN_SHARE
from orchestrator.run.events import Ended, Event, Started
from orchestrator.run.outcome import Rules
from orchestrator.run.session import run_experiments

EXPERIMENT = """\
schema: 1
title: Quiet
order: interleaved
repeats: {repeats}
sweeps:
  - {{name: poke, tool: poke, fixed: {{target: compute, loop: muladd, iterations: 100000, count: 2000, place: pu {cpu}}}}}
  - {{name: stream, tool: stream, fixed: {{array_size: 5000000, ntimes: 20, place: pu {cpu}}}}}
  - name: fio
    tool: fio
    fixed: {{rw: randread, bs: 4k, ioengine: "null", size: 1G, time_based: true, runtime: 400ms, place: pu {cpu}}}
  - name: command
    tool: command
    fixed:
      command: "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo $i'"
      metrics: {{n: {{regex: "(\\\\d+)"}}}}
      place: pu {cpu}
"""

BY_PROCESSES = ("foreign", "neighbour", "starved", "stopped")
"""The rules that another process sets off."""

ENOUGH = 200
MOST = 0.01
LOOKS_S = 3.0


class Times(NamedTuple):
    name: str
    parent: int
    ticks: int  # CPU time of it and of the children that it waited for


Everybody = Mapping[tuple[int, int], Times]
"""By pid and when it was started."""


@dataclass(frozen=True, kw_only=True)
class Run:
    tool: str
    wall_s: float
    reasons: Mapping[str, str]
    others_s: float  # CPU time of all other processes meanwhile
    programs: Mapping[str, float]  # whose it was

    @property
    def quiet(self) -> bool:
        return self.others_s <= max(FOREIGN_SHARE * self.wall_s, FEW_TICKS)

    @property
    def accused(self) -> bool:
        """Does a rule say that other processes disturbed it?"""
        return any(rule in self.reasons for rule in BY_PROCESSES)


class Beside:
    """Reads what other processes used during each run; told of its start and its end by `run_experiments`."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._before: Everybody = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            _say(f"run {event.number} of {event.total}")
            self._before = times()
        elif isinstance(event, Ended) and not event.record.warm_up:
            if event.record.status != "ok":
                raise Failed(f"{event.run.tool}: {event.record.status}: {event.record.reason}")
            programs = used(self._before, times())
            self.runs.append(
                Run(
                    tool=event.run.tool,
                    wall_s=event.record.wall_s,
                    reasons={reason["id"]: reason["text"] for reason in event.record.counters["reasons"]},
                    others_s=sum(programs.values()),
                    programs=programs,
                )
            )


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--repeats", type=int, default=80, help="of each of the four tools [80]")
    words.add_argument("--cpu", type=int, default=min(os.sched_getaffinity(0)), help="where they run")
    words.add_argument("--json", type=Path)
    words.add_argument("--anyway", action="store_true", help="run on a machine that others use, too")
    options = words.parse_args()
    before = times()
    time.sleep(LOOKS_S)
    others = used(before, times())
    share = sum(others.values()) / LOOKS_S
    if share > CALM:
        print(f"others use {share:.0%} of a CPU: {_listed(others)}", file=sys.stderr)
        if not options.anyway:
            print("error: this machine is not quiet; --anyway measures all the same", file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory(prefix="quiet-") as folder:
        runs = measure(Path(folder), options.repeats, options.cpu)
    _say("")
    print(table(runs))
    if options.json:
        options.json.write_text(json.dumps([asdict(run) for run in runs], indent=1) + "\n")
    return verdict(runs)


def measure(folder: Path, repeats: int, cpu: int) -> list[Run]:
    experiment, beside = folder / "quiet.yaml", Beside()
    experiment.write_text(EXPERIMENT.format(repeats=repeats, cpu=cpu))
    run_experiments(
        [experiment], PlanOptions(output=folder / "quiet.db"), version="benchmark", argv=sys.argv[1:],
        rules=Rules(allow_disturbed=True), on_event=beside,
    )  # fmt: skip
    return beside.runs


# --- who else used the CPUs ---


def times() -> Everybody:
    """Read the CPU times of all processes but this one and its children."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = path.read_text(errors="replace").partition(" (")
        except OSError:  # it has ended
            continue
        name, _, after = rest.rpartition(") ")
        fields = after.split()
        if os.getpid() not in (int(pid), int(fields[1])):
            found[int(pid), int(fields[19])] = Times(name, int(fields[1]), sum(map(int, fields[11:15])))
    return found


def used(before: Everybody, after: Everybody) -> dict[str, float]:
    """Return name → what processes of that name used between. Those that ended count as the one that has waited for them."""
    found = Counter[str]()
    for process, times in after.items():
        found[times.name] += times.ticks - (before[process].ticks if process in before else 0)
    names = {pid: times.name for (pid, _), times in after.items()}
    parents = {pid: times.parent for (pid, _), times in before.items()}
    for process in before.keys() - after.keys():
        parent = before[process].parent
        while parent in parents and parent not in names:
            parent = parents[parent]
        found[names.get(parent, "")] -= before[process].ticks
    return {name: ticks * TICK_S for name, ticks in found.most_common() if ticks > 0}


# --- what is printed ---


def table(runs: Sequence[Run]) -> str:
    """Return the counts a tool as a Markdown table, then each run that was called disturbed."""
    lines = ["| tool | runs | s a run | quiet | of these called disturbed | not quiet | of these called disturbed |"]
    lines.append("|---|--:|--:|--:|--:|--:|--:|")
    for tool in sorted({run.tool for run in runs}):
        own = [run for run in runs if run.tool == tool]
        row: list[object] = [tool, len(own), f"{statistics.median(run.wall_s for run in own):.2f}"]
        for calm in (True, False):
            some = [run for run in own if run.quiet is calm]
            row += [len(some), sum(run.accused for run in some)]
        lines.append(f"| {' | '.join(map(str, row))} |")
    lines.append("")
    for run in runs:
        if run.reasons:
            who = _listed(run.programs) if run.programs else "no process had a tick"
            lines += [f"{run.tool}: {rule}: {text}  [{who}]" for rule, text in run.reasons.items()]
    took: dict[str, float] = {}
    for run in runs:
        for name, seconds in run.programs.items():
            took[name] = took.get(name, 0.0) + (0.0 if run.quiet else seconds)
    if any(took.values()):
        most = dict(sorted(took.items(), key=lambda item: -item[1]))
        lines.append(f"CPU time of others during runs that were not quiet: {_listed(most)}")
    apart = Counter(rule for run in runs for rule in run.reasons if rule not in BY_PROCESSES)
    if apart:
        lines.append(f"Not of processes: {', '.join(f'{rule} {n} runs' for rule, n in apart.most_common())}")
    return "\n".join(lines)


def verdict(runs: Sequence[Run]) -> int:
    """Say how many of the quiet runs were called disturbed; return the exit status."""
    quiet = [run for run in runs if run.quiet]
    false = sum(run.accused for run in quiet)
    if len(quiet) < ENOUGH:
        print(f"{false} of {len(quiet)} quiet runs called disturbed; error: fewer than {ENOUGH} runs were quiet")
        return 1
    bound = beta.ppf(0.95, false + 1, len(quiet) - false)
    print(
        f"{false} of {len(quiet)} quiet runs called disturbed: {false / len(quiet):.1%}, at most {bound:.1%} (95 %, Clopper-Pearson)"
    )
    return int(false > MOST * len(quiet))


def _listed(programs: Mapping[str, float], most: int = 5) -> str:
    named = [f"{name} {seconds:.2f} s" for name, seconds in list(programs.items())[:most]]
    return ", ".join([*named, *(["…"] if len(programs) > most else [])])


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text[:78]:78}\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(start(main))
