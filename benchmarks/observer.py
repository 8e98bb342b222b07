"""What pinsweep changes in what it measures: a tool alone beside the same tool under `pinsweep run`, in pairs.

    python benchmarks/observer.py --turns 30 --json observer.json

Both sides are the same command line under the same numactl; A and B in random order within a pair. What is printed is the
smallest bound for which two one-sided tests (TOST) at 5 % say that both are the same: how far from 0 the 90 % interval of
the mean of the log ratios reaches. To reach: 0.5 % (99.9th percentiles: 2 %), where bare runs scatter by no more than 1 %.

Nothing is reported from a machine that others used by more than 1 % meanwhile, unless with `--anyway`, marked.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from own_cost import own_cost
from scipy.stats import t as student
from turns import CALM, Sample, Side, spread, start, take_turns

from orchestrator.programs import kernels

BOUND, TAIL_BOUND = 0.005, 0.02
SCATTER = 0.01

Read = Callable[[str], Mapping[str, float]]

COMMAND = """\
tool: command
fixed:
  command: {command}
  metrics: {{any: {{regex: "([0-9])", unit: "1"}}}}
  place: {{name: here, cpus: "{cpus}", memory: any}}
"""

PINGPONG = """\
tool: imb
fixed: {benchmark: PingPong, msglog: "0:1", iter: 300000}
matrix: {place: [same package]}
"""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A tool, where it runs (the text of a sweep of one cell), and how its figures are read."""

    name: str
    sweep: str
    read: Read


@dataclass(frozen=True, kw_only=True)
class Bound:
    """How much alike both sides are, in one figure of a workload."""

    workload: str
    figure: str
    pairs: int
    bare: float  # median
    scatter: float  # of the bare runs: distance of the quartiles through the median
    change: float  # mean of the log ratios, orchestrated to bare
    bound: float  # what TOST reaches at 5 %

    @property
    def goal(self) -> float:
        return TAIL_BOUND if "p99" in self.figure else BOUND

    @property
    def verdict(self) -> str:
        if self.scatter > SCATTER:
            return f"bare runs scatter by more than {SCATTER:.0%}"
        return "reached" if self.bound <= self.goal else "not reached"


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--turns", type=int, default=30)
    words.add_argument("--seconds", type=int, default=2, help="of a run of fio")
    words.add_argument(
        "--only", action="append", help="these workloads: stream, null, direct, latency, cache, pingpong"
    )
    words.add_argument("--folder", type=Path, default=Path(), help="on the disk that fio reads [default: here]")
    words.add_argument("--wait-s", type=int, default=25, help="seconds of the tool in which pinsweep is watched")
    words.add_argument("--json", type=Path)
    words.add_argument("--anyway", action="store_true", help="report from a machine that others use, too")
    options = words.parse_args()
    if options.wait_s < 10:
        words.error("--wait-s: no less than 10, or the start and the end of pinsweep are all that there is to see")
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="observer-") as name:
        folder = Path(name).absolute()
        chosen = [w for w in _workloads(folder, options.seconds) if not options.only or w.name in options.only]
        pairs = [sides for workload in chosen if (sides := _sides(workload, folder))]
        _, samples = take_turns(pairs, options.turns)
        sleeps = Workload(
            name="sleep",
            sweep=_command(["sh", "-c", f"sleep {options.wait_s}; echo 1"], "pu 0"),
            read=_nothing,
        )
        own = own_cost(_pinsweep(sleeps, folder), options.wait_s)
    foreign = statistics.fmean(sample.foreign for sample in samples) if samples else 0.0
    if foreign > CALM and not options.anyway:
        print(
            f"error: others used {foreign:.1%} of the machine meanwhile: nothing to report (--anyway)",
            file=sys.stderr,
        )
        return 1
    bounds = [bound for workload in chosen for bound in _bounds(workload.name, samples)]
    mark = "**Disturbed**: others used" if foreign > CALM else "Others used"
    print(f"{table(bounds)}\n\n{mark} {foreign:.1%} of the machine.\n")
    print(
        f"While a tool runs, pinsweep and its watchdog: {own.cpu_ms_per_s:.3f} ms of CPU and {own.switches_per_s:.2f} wake-ups a "
        f"second (to reach: 1 and 2), {own.written_bytes} bytes written, {_opened(own.opened)} (to reach: 0), "
        f"{own.rss_mib:.0f} MiB resident (60)."
    )
    if options.json:
        content = {
            "bounds": [asdict(b) for b in bounds],
            "own": asdict(own),
            "samples": [asdict(s) for s in samples],
        }
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0


def _opened(number: int | None) -> str:
    return "files opened: not seen (no strace)" if number is None else f"{number} files opened"


# --- the workloads ---


def _workloads(folder: Path, seconds: int) -> list[Workload]:
    cpu = min(os.sched_getaffinity(0))
    pu = f"pu {cpu}"
    stream = [str(kernels.build("stream")), "--ntimes=40"]
    latency = [str(kernels.build("memlat")), "--idle_latency", f"-c{cpu}", "-t2"]
    in_cache = [*latency, "-b200"]  # KiB: within the second level, which no other core shares
    idle = _figure("idle latency, ns", r"^Each iteration took .*\(\s*([\d.]+)\s+ns\)")
    clocks = _figure("latency in L2, clocks", r"^Each iteration took\s+([\d.]+)")  # ns have too few digits
    found = [
        Workload(name="stream", sweep=_command(stream, "all"), read=_figure("triad, MB/s", r"^Triad:\s+([\d.]+)")),
        Workload(name="latency", sweep=_command(latency, pu), read=idle),
        Workload(name="cache", sweep=_command(in_cache, pu), read=clocks),
        Workload(name="pingpong", sweep=PINGPONG, read=_figure("0 B, µs", r"^\s+0\s+\d+\s+([\d.]+)")),
    ]
    if fio := shutil.which("fio"):
        common = [
            fio, "--rw=randread", "--bs=4k", "--time_based", f"--runtime={seconds}", "--output-format=json",
            "--percentile_list=50:99.9", "--randrepeat=0",
        ]  # fmt: skip
        null = ["--name=null", "--ioengine=null", "--size=1g"]
        direct = [
            "--name=direct",
            "--ioengine=psync",
            "--direct=1",
            "--size=256m",
            f"--filename={folder / 'data'}",
        ]
        found += [
            Workload(name=name, sweep=_command([*common, *own], pu), read=_fio)
            for name, own in (("null", null), ("direct", direct))
        ]
    return found


def _command(argv: Sequence[str], cpus: str) -> str:
    line = shlex.join(word.replace("{", "{{").replace("}", "}}") for word in argv)
    return COMMAND.format(command=json.dumps(line), cpus=cpus)


def _nothing(_: str) -> dict[str, float]:
    return {}


def _figure(name: str, pattern: str) -> Read:
    def read(text: str) -> dict[str, float]:
        found = re.search(pattern, text, re.MULTILINE)
        return {name: float(found[1])} if found else {}

    return read


def _fio(text: str) -> dict[str, float]:
    read = json.loads(text[text.index("{") :])["jobs"][0]["read"]
    return {"IOPS": read["iops"], "p99.9, ns": float(read["clat_ns"]["percentile"]["99.900000"])}


# --- both sides ---


def _sides(workload: Workload, folder: Path) -> tuple[Side, Side] | None:
    """The tool as `plan` prints it, started from here; and the same by `pinsweep run`. None where it cannot run here."""
    ours = _pinsweep(workload, folder)
    result = Path(ours[-1])
    planned = [*ours[:3], "plan", ours[4], "--format", "json"]
    plan = json.loads(subprocess.run(planned, capture_output=True, text=True, check=True).stdout)
    if not plan["runs"]:
        print(f"left out: {workload.name}: {plan['skipped'][0]['reason']}", file=sys.stderr)
        return None
    (run,) = plan["runs"]

    def stored(_: str, __: Mapping[str, float]) -> Mapping[str, float]:
        with sqlite3.connect(result) as db:
            query = "SELECT zlib FROM output JOIN run USING (run_id) WHERE stream = 'stdout' AND status IN ('ok', 'disturbed')"
            rows = db.execute(query).fetchall()
        db.close()
        result.unlink()
        return workload.read(zlib.decompress(rows[0][0]).decode()) if rows else {}

    return (
        Side(name=f"{workload.name}, orchestrated", argv=ours, read=stored),
        Side(name=f"{workload.name}, bare", argv=run["argv"], env=run["env"], read=lambda text, _: workload.read(text)),
    )  # fmt: skip


def _pinsweep(workload: Workload, folder: Path) -> list[str]:
    """Return the command that runs it once; its last word is the result file. Who disturbs what is judged here, not by it."""
    experiment = folder / f"{workload.name}.yaml"
    experiment.write_text(f"schema: 1\ntitle: observer\n{workload.sweep}repeats: 1\n")
    words = ["run", str(experiment), "--allow-disturbed", "--share-machine"]
    return [sys.executable, "-m", "pinsweep", *words, "-o", str(folder / f"{workload.name}.db")]


# --- pure ---


def _bounds(workload: str, samples: Sequence[Sample]) -> list[Bound]:
    sides: dict[str, dict[int, Mapping[str, float]]] = {"orchestrated": {}, "bare": {}}
    for sample in samples:
        name, _, side = sample.side.partition(", ")
        if name == workload:
            sides[side][sample.turn] = sample.figures
    turns = sorted(sides["orchestrated"].keys() & sides["bare"].keys())
    if len(turns) < 2:
        return []
    found = []
    for figure in sides["bare"][turns[0]]:
        bare = [sides["bare"][turn][figure] for turn in turns]
        ratios = [math.log(sides["orchestrated"][turn][figure] / b) for turn, b in zip(turns, bare, strict=True)]
        change, bound = tost(ratios)
        found.append(
            Bound(
                workload=workload, figure=figure, pairs=len(turns), bare=statistics.median(bare), scatter=spread(bare),
                change=change, bound=bound,
            )
        )  # fmt: skip
    return found


def tost(ratios: Sequence[float]) -> tuple[float, float]:
    """Return (mean, bound) of log ratios of at least 2 pairs: the smallest bound at which TOST at 5 % calls both sides the same.

    Schuirmann (1987): both one-sided t tests reject if the 90 % interval of the mean lies inside the bound.
    """
    mean = statistics.fmean(ratios)
    half = float(student.ppf(0.95, len(ratios) - 1)) * statistics.stdev(ratios) / math.sqrt(len(ratios))
    return mean, abs(mean) + half


def table(bounds: Sequence[Bound]) -> str:
    head = (
        "| tool | figure | bare, median (scatter) | orchestrated | same within | to reach | |",
        "|---|---|--:|--:|--:|--:|---|",
    )
    rows = [
        f"| {b.workload} | {b.figure} | {b.bare:.5g} ({b.scatter:.1%}) | {math.expm1(b.change):+.2%} "
        f"| ±{math.expm1(b.bound):.2%} | ±{b.goal:.1%} | {b.verdict} ({b.pairs} pairs) |"
        for b in bounds
    ]
    return "\n".join([*head, *rows])


if __name__ == "__main__":
    sys.exit(start(main))
