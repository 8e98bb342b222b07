"""What a large result file costs: CPU time and peak memory of each command, next to one query that groups the same numbers.

    python benchmarks/scale.py                                1 000, 10 000 and 100 000 runs with about 20 numbers each
    python benchmarks/scale.py --runs 300 1000 --only show    one command, quickly
    python benchmarks/scale.py --keep DIR                     files are stored there, and used again

A small sweep is run for real: fio, STREAM, poke and a command. The large files are made of what it printed, by the planner and the store that
`pinsweep run` uses: a tenth as many cells as runs, ten repeats each. An option that changes no figure distinguishes the copies of a cell.

Each command is a process of its own. Its ratio is to the CPU time of `QUERY`, which is measured just before. The exponent is the slope of
log(CPU time) over log(runs) between the last two sizes: 1 is a cost per run, 2 a cost per pair of runs.
"""

from __future__ import annotations

import argparse
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
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from turns import Failed, start

from orchestrator.model import PlannedRun, RunRecord
from orchestrator.plan.prepare import PlanOptions, prepare
from orchestrator.run.session import begin, now_utc
from orchestrator.store.result_file import create_result, open_result

HERE = Path(__file__).resolve()
PINSWEEP = [sys.executable, "-m", "pinsweep"]
AGAIN = ["--allow-disturbed", "--share-machine"]
REPEATS = 10
MISSING = 10  # runs that the file lacks which is resumed
QUERY = (
    "SELECT point_id, series, count(*), min(value), avg(value), max(value) FROM measurement JOIN run USING (run_id)"
    " GROUP BY point_id, series"
)
EXPERIMENT = """\
schema: 1
title: scale
repeats: {repeats}
sweeps:
  - name: disk
    tool: fio
    fixed: {{size: 16M, runtime: 300ms, ioengine: psync, iodepth: 1, place: {{name: one, cpus: "core 0", memory: local}}}}
    matrix: {{rw: [randread, read], bs: [4k, 64k], randseed: {fio}}}
  - name: bandwidth
    tool: stream
    fixed: {{ntimes: 2, threads: 1, place: {{name: one, cpus: "core 0", memory: local}}}}
    matrix: {{array_size: {stream}}}
  - name: tails
    tool: poke
    fixed: {{target: memory, count: 5000, largest: 20}}
    matrix: {{bytes: [1kB, 1MB], seed: {poke}}}
  - name: rate
    tool: command
    fixed:
      command: sh -c "echo rate $$.{{n}} MB/s"
      seconds: 0.1
      metrics: {{rate: {{regex: "rate ([0-9.]+) MB/s", unit: MB/s, better: higher}}}}
    matrix: {{n: {command}}}
"""

Recorded = tuple[RunRecord, bytes]
"""A real run, and what it printed."""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000, 100_000])
    words.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="commands that begin with one of the words")  # fmt: skip
    words.add_argument("--keep", type=Path, metavar="DIR")
    words.add_argument("--json", type=Path)
    words.add_argument("--inside", nargs=2, type=Path, help=argparse.SUPPRESS)  # resume, up to the first run
    options = words.parse_args()
    if options.inside:
        return resume_to_first_run(*options.inside)
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        for runs in options.runs:
            yaml, whole, other, short = make_files(folder, runs)
            query_s, _ = measure(["-c", f"import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute({QUERY!r}).fetchall()", str(whole)])  # fmt: skip
            for command, argv in commands(folder, yaml, whole, other, short).items():
                if command.startswith(tuple(options.only)):
                    cpu_s, peak_mib = measure(argv)
                    rows.append({"command": command, "runs": runs, "cpu_s": cpu_s, "peak_mib": peak_mib, "ratio": cpu_s / query_s})  # fmt: skip
                    print(f"{command:24} {runs:7} runs {cpu_s:8.2f} s, {cpu_s / query_s:6.1f} × the query, {peak_mib:5.0f} MiB", file=sys.stderr)  # fmt: skip
    for command in dict.fromkeys(str(row["command"]) for row in rows):
        print(f"{command:24} exponent {exponent([row for row in rows if row['command'] == command]):.2f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def exponent(rows: Sequence[Mapping[str, object]]) -> float:
    """Return the slope of log(CPU time) over log(runs) between the last two sizes; NaN for one size."""
    points = [(math.log(float(str(row["runs"]))), math.log(float(str(row["cpu_s"])))) for row in rows[-2:]]
    return (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0]) if len(points) > 1 else math.nan


# --- files -------------------------------------------------------------------------------------------------


def write_experiment(path: Path, cells: int, repeats: int) -> Path:
    """Write an experiment with so many cells, or a few less, a quarter of each tool."""
    each = max(1, cells // 4)
    counts = {"fio": max(1, each // 4), "poke": max(1, each // 2), "command": each}
    lists = {tool: list(range(1, count + 1)) for tool, count in counts.items()}
    path.write_text(EXPERIMENT.format(repeats=repeats, stream=list(range(10**7, 10**7 + each)), **lists))
    return path


def make_files(folder: Path, runs: int) -> tuple[Path, Path, Path, Path]:
    """Return an experiment, its result file with so many runs, another one of the same, and one that lacks MISSING runs."""
    yaml = write_experiment(folder / f"scale-{runs}.yaml", runs // REPEATS, REPEATS)
    whole, other, short = (folder / f"{name}-{runs}.db" for name in ("all", "other", "short"))
    if not short.exists():
        pool = record(folder)
        fill(yaml, whole, pool, seed=1)
        fill(yaml, other, pool, seed=2)
        shutil.copyfile(whole, short)
        last = "SELECT run_id FROM run JOIN point USING (point_id) WHERE tool = 'command' ORDER BY run_id DESC LIMIT ?"
        with closing(sqlite3.connect(short)) as file, file:
            for table in ("measurement", "reading_table", "reading", "output", "run"):
                file.execute(f"DELETE FROM {table} WHERE run_id IN ({last})", (MISSING,))
    return yaml, whole, other, short


def record(folder: Path) -> dict[tuple[str, str], list[Recorded]]:
    """Run a small sweep for real, once; return its runs by tool and by what makes them different."""
    path = folder / "recorded.db"
    if not path.exists():
        yaml = write_experiment(folder / "recorded.yaml", 16, 3)
        subprocess.run([*PINSWEEP, "run", str(yaml), "-o", str(path), *AGAIN], check=True)
    pool: dict[tuple[str, str], list[Recorded]] = {}
    with open_result(path) as result:
        cells = {stored.cell.point_id: stored.cell for stored in result.cells()}
        for run in result.runs():
            if run.status == "ok" and not run.warm_up:
                cell = cells[run.point_id]
                pool.setdefault((cell.tool, kind(cell.options)), []).append((run, result.output(run.run_id)))
    return pool


def kind(options: Mapping[str, object]) -> str:
    """Return the options of a cell that change its figures."""
    return " ".join(str(options.get(name)) for name in ("rw", "bs", "bytes"))


def fill(yaml: Path, path: Path, pool: Mapping[tuple[str, str], Sequence[Recorded]], *, seed: int) -> None:
    """Write a result file as `pinsweep run` does, with runs drawn from the pool."""
    path.unlink(missing_ok=True)
    chance = random.Random(seed)
    prepared = prepare([yaml], PlanOptions(output=path), seed=seed)
    with create_result(path) as result:
        result._db.execute("PRAGMA synchronous = OFF")  # made again if the power fails
        session = begin(result, prepared, version="0", argv=["run", yaml.name], seed=seed, facts={})
        for number, run in enumerate(prepared.plan.runs):
            real, text = chance.choice(pool[run.tool, kind(run.cell.options)])
            counters = {name: value for name, value in real.counters.items() if name != "reasons"}
            copy = replace(
                real, session=session, point_id=run.cell.point_id, repeat=run.repeat, attempt=1, argv=run.argv, env=dict(run.env),
                placement=run.placement, order_index=number, counters=counters,
            )  # fmt: skip
            result.add_run(run, copy, {"stdout": rename(text, run), "stderr": b""})
        result.end_session(session, now_utc())


def rename(text: bytes, run: PlannedRun) -> bytes:
    """Return what the run printed as if it had been of another cell."""
    for name, pattern in (("randseed", rb'("randseed" : ")\d+'), ("array_size", rb"(Array size = )\d+")):
        if name in run.cell.options:
            text = re.sub(pattern, rb"\g<1>%d" % int(run.cell.options[name]), text)
    return text


# --- commands ----------------------------------------------------------------------------------------------


def commands(folder: Path, yaml: Path, whole: Path, other: Path, short: Path) -> dict[str, list[str]]:
    """Return the arguments of Python for each command that is measured."""
    files, out, run = [str(whole), str(other)], str(folder / "out"), ["-m", "pinsweep"]
    return {
        "plan": [*run, "plan", str(yaml)],
        "show": [*run, "show", files[0]],
        "resume, to the first run": [str(HERE), "--inside", str(yaml), str(short)],
        "resume, nothing to do": [*run, "run", str(yaml), "-o", files[0], *AGAIN],
        "audit": [*run, "audit", files[0]],
        "export": [*run, "export", files[0], "-o", f"{out}.csv"],
        "report": [*run, "report", files[0], "-o", f"{out}.html"],
        "compare": [*run, "compare", *files],
    }


def resume_to_first_run(yaml: Path, short: Path) -> int:
    """Resume a file until the first run would start, and stop there."""
    from orchestrator.run.outcome import Rules
    from orchestrator.run.session import run_experiments

    def stop(_: object) -> None:
        raise KeyboardInterrupt

    try:
        run_experiments(
            [yaml], PlanOptions(output=short, warm_up=False), version="0", argv=["run"], rules=Rules(allow_disturbed=True),
            share_machine=True, on_event=stop,
        )  # fmt: skip
    except KeyboardInterrupt:
        return 0
    return 1


def measure(argv: Sequence[str]) -> tuple[float, float]:
    """Return CPU seconds and peak MiB of a Python program. Raises Failed unless it ends with 0, or 1 as `compare` and `audit` may."""
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen([sys.executable, *argv], stdout=printed, stderr=printed)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read()[-500:].decode("utf-8", "replace")
    if process.returncode not in (0, 1) or "Traceback" in text:
        raise Failed(f"{argv}: exit status {process.returncode}: {text}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(start(main))
