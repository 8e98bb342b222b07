"""What a large result file costs: CPU time and peak memory of each command by the number of runs, and how they grow.

    python benchmarks/scale.py                                1 000, 10 000 and 100 000 runs: up to an hour, and some GiB of memory
    python benchmarks/scale.py --runs 300 1000 3000           some two minutes
    python benchmarks/scale.py --only show export --keep DIR  some commands; the files are kept, and found there again

First a small sweep is run for real: fio (JSON), STREAM, poke and a command, each with a few cells and repeats. The large files are
made from what these runs printed and what was counted meanwhile, by the planner and the store that `pinsweep run` uses: a tenth as many
cells as runs, the same number of each tool, ten repeats each. What tells the copies of a cell apart is an option that changes no figure
(fio's randseed, poke's seed; STREAM's array_size by single elements).

Each command is a process of its own. The exponent is the slope of log(CPU time) over log(runs), from the middle size to the largest:
1 is a cost a run, 2 one a pair of runs. Others on the machine make CPU time longer; `others` says by how much of it they used.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import math
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from turns import Failed, busy_s, start

from orchestrator.model import PlannedRun, RunRecord
from orchestrator.plan.prepare import PlanOptions, prepare
from orchestrator.run.session import begin, now_utc
from orchestrator.store.result_file import ResultFile, create_result, open_result
from parsers import parse_text

HERE = Path(__file__).resolve()
PINSWEEP = [sys.executable, "-m", "pinsweep"]
REPEATS = 10
TOOLS = 4
MISSING = 10
"""Runs that the file lacks, for the command that goes on with it."""
LIMIT_MIB = 512
TO_REACH = {
    "plan": 3,
    "resume, to the first run": 5,
    "show": 5,
    "export": 20,
    "report": 30,
    "compare": 30,
}
"""Command → CPU seconds, with 100 000 runs of 10 000 cells."""

EXPERIMENT = """\
schema: 1
title: scale
repeats: {repeats}
sweeps:
  - name: disk
    tool: fio
    fixed: {{size: 16M, runtime: 300ms, ioengine: psync, iodepth: 1, place: {{name: one, cpus: "core 0", memory: local}}}}
    matrix:
      rw: [randread, read]
      bs: [4k, 64k]
      randseed: {fio}
  - name: bandwidth
    tool: stream
    fixed: {{ntimes: 2, threads: 1, place: {{name: one, cpus: "core 0", memory: local}}}}
    matrix: {{array_size: {stream}}}
  - name: tails
    tool: poke
    fixed: {{target: memory, count: 5000, largest: 20}}
    matrix:
      bytes: [1kB, 1MB]
      seed: {poke}
  - name: rate
    tool: command
    fixed:
      command: sh -c "echo rate $$.{{n}} MB/s"
      seconds: 0.1
      metrics: {{rate: {{regex: "rate ([0-9.]+) MB/s", unit: MB/s, better: higher}}}}
    matrix: {{n: {command}}}
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a real run printed, and what was kept of it besides."""

    record: RunRecord
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a command cost."""

    command: str
    runs: int
    cpu_s: float  # of the process and the processes it waited for
    wall_s: float
    peak_mib: float  # resident
    others: float  # CPU time that others used meanwhile, through wall time and CPUs


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000, 100_000])
    words.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="commands whose names begin with one of the words")  # fmt: skip
    words.add_argument("--keep", type=Path, metavar="DIR", help="make the files there; those that are there are used again")  # fmt: skip
    words.add_argument("--json", type=Path)
    words.add_argument("--inside", nargs=2, type=Path, help=argparse.SUPPRESS)  # go on, up to the first run
    options = words.parse_args()
    if options.inside:
        return to_the_first_run(*options.inside)
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        for runs in options.runs:
            files = made(folder, runs)
            for command, argv in commands(folder, *files).items():
                if command.startswith(tuple(options.only)):
                    costs.append(measured(command, runs, argv))
                    print(told(costs[-1]), file=sys.stderr, flush=True)
    print(table(costs))
    if options.json:
        options.json.write_text(json.dumps([asdict(cost) for cost in costs], indent=1) + "\n")
    return 0


# --- the files ---------------------------------------------------------------------------------------------


def experiment(path: Path, cells: int, repeats: int) -> Path:
    """Write an experiment with so many cells, or a few less, a quarter of each tool."""
    each = max(1, cells // TOOLS)
    path.write_text(
        EXPERIMENT.format(
            repeats=repeats,
            fio=list(range(1, max(1, each // 4) + 1)),
            stream=list(range(10_000_000, 10_000_000 + each)),
            poke=list(range(1, max(1, each // 2) + 1)),
            command=list(range(1, each + 1)),
        )
    )
    return path


def made(folder: Path, runs: int) -> tuple[Path, Path, Path, Path]:
    """Return an experiment, its result file with so many runs, another one of the same, and one that lacks MISSING runs."""
    yaml = experiment(folder / f"scale-{runs}.yaml", runs // REPEATS, REPEATS)
    one, other, short = (folder / f"{name}-{runs}.db" for name in ("all", "other", "short"))
    if not short.exists():
        pool = recorded(folder)
        filled(yaml, one, pool, seed=1)
        filled(yaml, other, pool, seed=2)
        shortened(one, short)
    return yaml, one, other, short


def recorded(folder: Path) -> dict[tuple[str, str], list[Recorded]]:
    """Run a small sweep for real, once; return its good runs by tool and by what makes them different."""
    path = folder / "recorded.db"
    if not path.exists():
        yaml = experiment(folder / "recorded.yaml", TOOLS * 4, 3)
        subprocess.run(
            [*PINSWEEP, "run", str(yaml), "-o", str(path), "--allow-disturbed", "--share-machine"], check=True
        )
    found: dict[tuple[str, str], list[Recorded]] = {}
    with open_result(path) as result:
        cells = {stored.cell.point_id: stored.cell for stored in result.cells()}
        for record in result.runs():
            if record.status not in ("ok", "disturbed") or record.warm_up:
                continue
            cell = cells[record.point_id]
            texts = (result.output(record.run_id, stream) for stream in ("stdout", "stderr"))
            found.setdefault((cell.tool, kind(cell.options)), []).append(Recorded(record, *texts))
    return found


def kind(options: Mapping[str, object]) -> str:
    """Return what of a cell's options changes its figures."""
    return " ".join(str(options.get(name)) for name in ("rw", "bs", "bytes"))


def filled(yaml: Path, path: Path, pool: Mapping[tuple[str, str], Sequence[Recorded]], *, seed: int) -> None:
    """Write a result file as `pinsweep run` does, with runs drawn from the pool."""
    path.unlink(missing_ok=True)
    chance = random.Random(seed)
    prepared = prepare([yaml], PlanOptions(output=path), seed=seed)
    with create_result(path) as result:
        result._db.execute("PRAGMA synchronous = OFF")  # made again if the power fails
        session = begin(result, prepared, version="0", argv=["run", yaml.name], seed=seed)
        for number, run in enumerate(prepared.plan.runs):
            of = chance.choice(pool[run.tool, kind(run.cell.options)])
            _add(result, session, number, run, of)
        result.end_session(session, now_utc())


def shortened(path: Path, short: Path) -> None:
    """Copy a result file without the last MISSING runs of the tool `command`."""
    shutil.copyfile(path, short)
    last = "SELECT run_id FROM run JOIN point USING (point_id) WHERE tool = 'command' ORDER BY run_id DESC LIMIT ?"
    with closing(sqlite3.connect(short)) as file, file:
        gone = file.execute(last, (MISSING,)).fetchall()
        for table_name in ("output", "run"):
            file.executemany(f"DELETE FROM {table_name} WHERE run_id = ?", gone)


def _add(result: ResultFile, session: int, number: int, run: PlannedRun, of: Recorded) -> None:
    record = replace(
        of.record, session=session, point_id=run.cell.point_id, repeat=run.repeat, attempt=1, status="ok", reason="",
        argv=run.argv, env=dict(run.env), placement=run.placement, order_index=number,
        counters={k: v for k, v in of.record.counters.items() if k != "reasons"},
    )  # fmt: skip
    stdout = renamed(of.stdout, run)
    parsed = parse_text(run.tool, stdout.decode(), run.cell.options)
    result.add_run(run, record, {"stdout": stdout, "stderr": of.stderr}, parsed)


def renamed(text: bytes, run: PlannedRun) -> bytes:
    """Return what the run printed as if it had been of another cell."""
    for name, pattern in (
        ("randseed", rb'("randseed" : ")\d+'),
        ("array_size", rb"(Array size = )\d+"),
    ):
        if name in run.cell.options:
            text = re.sub(pattern, rb"\g<1>%d" % int(run.cell.options[name]), text)
    return text


# --- the commands ------------------------------------------------------------------------------------------


def commands(folder: Path, yaml: Path, one: Path, other: Path, short: Path) -> dict[str, list[str]]:
    """Return what is measured."""
    out = str(folder / "out")
    again = ["--allow-disturbed", "--share-machine"]
    return {
        "plan": [*PINSWEEP, "plan", str(yaml)],
        "show": [*PINSWEEP, "show", str(one)],
        "resume, to the first run": [sys.executable, str(HERE), "--inside", str(yaml), str(short)],
        "resume, nothing to do": [*PINSWEEP, "run", str(yaml), "-o", str(one), *again],
        "audit": [*PINSWEEP, "audit", str(one)],
        "export": [*PINSWEEP, "export", str(one), "-o", f"{out}.csv"],
        "export, OpenMetrics": [
            *PINSWEEP,
            "export",
            str(one),
            "--format",
            "openmetrics",
            "-o",
            f"{out}.prom",
        ],
        "report": [*PINSWEEP, "report", str(one), "-o", f"{out}.html"],
        "compare": [*PINSWEEP, "compare", str(one), str(other)],
    }


def to_the_first_run(yaml: Path, short: Path) -> int:
    """Go on with a file until the first run would start, and stop there."""
    from orchestrator.run.outcome import Rules
    from orchestrator.run.session import run_experiments

    gc.set_threshold(100_000, 50, 1000)  # as pinsweep.__main__ does

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    try:
        run_experiments(
            [yaml],
            PlanOptions(output=short, warm_up=False),
            version="0",
            argv=["run"],
            rules=Rules(allow_disturbed=True),
            share_machine=True,
            on_event=stop,
        )
    except KeyboardInterrupt:
        return 0
    return 1


def measured(command: str, runs: int, argv: Sequence[str]) -> Cost:
    """Run a command. Raises Failed if it does not end as it should: `compare` with 1 where something is worse, `audit` likewise."""
    busy, begun = busy_s(), time.monotonic()
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(argv, stdout=printed, stderr=printed)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read()[-500:].decode("utf-8", "replace")
    if process.returncode not in (0, 1) or "Traceback" in text:
        raise Failed(f"{command} with {runs} runs: exit status {process.returncode}: {text}")
    wall_s, cpu_s = time.monotonic() - begun, used.ru_utime + used.ru_stime
    others = max(0.0, busy_s() - busy - cpu_s) / (wall_s * (os.cpu_count() or 1))
    return Cost(
        command=command, runs=runs, cpu_s=cpu_s, wall_s=wall_s, peak_mib=used.ru_maxrss / 1024, others=others
    )


# --- the table ---------------------------------------------------------------------------------------------


def told(cost: Cost) -> str:
    return f"{cost.command:26} {cost.runs:7} runs  {cost.cpu_s:8.2f} s CPU  {cost.peak_mib:6.0f} MiB  others {cost.others:.0%}"


def exponent(costs: Sequence[Cost]) -> float | None:
    """Return the slope of log(CPU time) over log(runs) between the last two sizes; None of one size."""
    if len(costs) < 2:
        return None
    less, more = costs[-2:]
    return math.log(more.cpu_s / less.cpu_s) / math.log(more.runs / less.runs)


def table(costs: Sequence[Cost]) -> str:
    """Return the costs as a Markdown table: a line a command, CPU seconds and MiB by the number of runs."""
    sizes = sorted({cost.runs for cost in costs})
    head = ["", *(f"{size:,} runs".replace(",", " ") for size in sizes), "exponent", "to reach"]
    rows = [head, ["---", *["--:"] * (len(head) - 1)]]
    for command, found in by_command(costs):
        by_size = {cost.runs: cost for cost in found}
        grows = exponent([by_size[size] for size in sorted(by_size)])
        cells = [f"{c.cpu_s:.1f} s, {c.peak_mib:.0f} MiB" if (c := by_size.get(s)) else "" for s in sizes]
        wanted = f"{TO_REACH[command]} s, {LIMIT_MIB} MiB" if command in TO_REACH else f"{LIMIT_MIB} MiB"
        rows.append([command, *cells, "" if grows is None else f"{grows:.2f}", wanted])
    others = [cost.others for cost in costs]
    said = f"Others used {sum(others) / len(others):.0%} of the machine." if others else ""
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", said])


def by_command(costs: Sequence[Cost]) -> Iterator[tuple[str, list[Cost]]]:
    order = list(dict.fromkeys(cost.command for cost in costs))
    ordered = sorted(costs, key=lambda cost: order.index(cost.command))
    return ((name, list(found)) for name, found in itertools.groupby(ordered, key=lambda cost: cost.command))


if __name__ == "__main__":
    sys.exit(start(main))
