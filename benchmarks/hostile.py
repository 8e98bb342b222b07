"""What each command that reads a result file does with files that are large in one place: how it ends, CPU time and peak memory.

    python benchmarks/hostile.py                                         all: some ten minutes
    python benchmarks/hostile.py --only fio skipped --commands report    some files, some commands
    python benchmarks/hostile.py --keep DIR                              the files are kept, and found there again

A small sweep is run for real (a command, and fio, in whose place a program prints what fio once printed). In copies of its file one thing is
made as large as the bounds of a result file let it be, or larger. Each command is a process of its own, which reads such a copy; compare, fleet
and history read the sound file beside it. `refused` is exit status 2 with a sentence. To reach: LIMIT_S of CPU time and LIMIT_MIB for each file of up to 100 MB.

Exit status 1 where a command ended otherwise than with a page, an answer or a sentence.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve()
PINSWEEP = [sys.executable, "-m", "pinsweep"]
LIMIT_S = 10
LIMIT_MIB = 512
FIO = HERE.parents[1] / "tests" / "fixtures" / "fio" / "jsonplus_two_jobs.out"

EXPERIMENT = """\
schema: 1
title: hostile
repeats: 4
sweeps:
  - name: rate
    tool: command
    fixed:
      command: sh -c "echo rate $$.{n} MB/s"
      metrics: {rate: {regex: "rate ([0-9.]+) MB/s", unit: MB/s, better: higher}}
    matrix: {n: [1, 2, 3, 4, 5]}
  - name: disk
    tool: fio
    fixed: {rw: randread, bs: 64k, size: 1M, ioengine: psync}
"""
PROGRAM = """\
#!/bin/sh
case "$*" in *version* | *help*) echo fio-3.36; exit ;; esac
exec cat OUTPUT
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """How a command ended."""

    end: str  # "", "refused", or what else became of it
    cpu_s: float  # of the process and the processes it waited for
    peak_mib: float  # resident, of the largest of them


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--only", nargs="+", choices=[*SHAPES], default=[*SHAPES], metavar="FILE", help=f"of {', '.join(SHAPES)}")  # fmt: skip
    words.add_argument("--commands", nargs="+", choices=COMMANDS, default=COMMANDS)
    words.add_argument("--keep", type=Path, metavar="DIR", help="make the files there; those that are there are used again")  # fmt: skip
    asked = words.parse_args()
    rows: list[list[str]] = []
    broken = False
    with tempfile.TemporaryDirectory() as name:
        folder = asked.keep or Path(name)
        sound = sound_file(folder)
        for shape in asked.only:
            path = made(folder, sound, shape)
            row = [f"{shape}: {told(SHAPES[shape])}, {path.stat().st_size / 1e6:.1f} MB"]
            for command in asked.commands:
                cost = measured(commands(path, sound)[command], folder)
                broken = broken or cost.end not in ("", "refused")
                row.append(cell(cost))
                print(f"{shape:10} {command:11} {row[-1]}", file=sys.stderr, flush=True)
            rows.append(row)
    print(table(["", *asked.commands], rows))
    return 1 if broken else 0


# --- the files ---------------------------------------------------------------------------------------------


def sound_file(folder: Path) -> Path:
    """Run the sweep, once. Returns its result file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "sound.db"
    if not path.exists():
        (folder / "hostile.yaml").write_text(EXPERIMENT)
        program = folder / "fio"
        program.write_text(PROGRAM.replace("OUTPUT", str(FIO)))
        program.chmod(0o755)
        words = [
            "run",
            "hostile.yaml",
            "-o",
            path.name,
            "--share-machine",
            "--allow-disturbed",
            "--no-warm-up",
        ]
        subprocess.run([*PINSWEEP, *words], cwd=folder, env={**environment(), "PINSWEEP_FIO": str(program.resolve())}, check=True)  # fmt: skip
    return path


def made(folder: Path, sound: Path, shape: str) -> Path:
    """Return a copy of the sound file that is large in one place, made anew unless it is there."""
    path = folder / f"{shape}.db"
    if not path.exists():
        new = path.with_suffix(".new")
        shutil.copyfile(sound, new)
        with closing(sqlite3.connect(new)) as db, db:
            db.execute("PRAGMA synchronous = OFF")
            db.execute("UPDATE reading SET version = 0")
            db.create_function("packed", 1, lambda text: zlib.compress(text.encode()))
            db.execute(
                "UPDATE session SET seed = seed + 1"
            )  # else compare refuses the session that the sound file has, too
            SHAPES[shape](db)
        new.rename(path)
    return path


def topology(db: sqlite3.Connection) -> None:
    """a topology of 40 000 PUs"""
    filler = '<info name="CPUModel" value="' + "x" * 240 + '"/>'
    pus = "".join(f'<object type="PU" os_index="{n}">{filler}</object>\n' for n in range(40_000))
    every = ",".join(["0xffffffff"] * (40_000 // 32))
    machine = f'<object type="Machine" os_index="0" cpuset="{every}" allowed_cpuset="{every}">'
    package = f'<object type="Package" os_index="0" cpuset="{every}">'
    node = f'<object type="NUMANode" os_index="0" cpuset="{every}" local_memory="16000000000"/>'
    xml = f'<topology version="2.0">{machine}{node}{package}\n{pus}</object></object></topology>\n'
    db.execute("UPDATE session SET topology = ?", (xml,))


def argv(db: sqlite3.Connection) -> None:
    """command lines of 3 MB a run"""
    db.execute("UPDATE run SET argv = ?", (json.dumps(["sh", *["x" * 100] * 29_000]),))


def nested(db: sqlite3.Connection) -> None:
    """JSON nested 2 000 000 deep in the counters of a run"""
    depth = 2_000_000
    db.execute("UPDATE run SET counters = ? WHERE run_id = 1", (f'{{"a": {"[" * depth}{"]" * depth}}}',))


def facts(db: sqlite3.Connection) -> None:
    """190 000 facts of a machine"""
    known = json.loads(db.execute("SELECT facts FROM session").fetchone()[0])
    db.execute("UPDATE session SET facts = ?", (json.dumps({**known, **{f"f{n}": n for n in range(190_000)}}),))


def counters(db: sqlite3.Connection) -> None:
    """19 000 counters a run"""
    known = json.loads(db.execute("SELECT counters FROM run").fetchone()[0])
    db.execute("UPDATE run SET counters = ?", (json.dumps({**known, **{f"c{n}": n for n in range(19_000)}}),))


def skipped(db: sqlite3.Connection) -> None:
    """300 000 skipped cells"""
    rows = ((json.dumps({"n": n}), f"no CPU {n} here") for n in range(300_000))
    db.executemany("INSERT INTO skipped (sweep, point, reason, session) VALUES ('rate', ?, ?, 1)", rows)


def fio(db: sqlite3.Connection) -> None:
    """2500 jobs of fio in a text of 30 MB"""
    document = json.loads(FIO.read_text())
    job = document["jobs"][0]
    document["jobs"] = [{**job, "jobname": f"job{n}"} for n in range(2500)]
    _print(db, "disk", json.dumps(document, indent=1))


def nothing(db: sqlite3.Connection) -> None:
    """30 MB of lines in which nothing is, a run"""
    _print(db, "rate", "nothing in it, at all\n" * 1_400_000)


def _print(db: sqlite3.Connection, sweep: str, text: str) -> None:
    """Let the first run of a sweep have printed a text."""
    (run,) = db.execute("SELECT min(run_id) FROM run JOIN point USING (point_id) WHERE sweep = ?", (sweep,)).fetchone()
    size = len(text.encode())
    changed = "UPDATE output SET zlib = packed(?), size_bytes = ? WHERE run_id = ? AND stream = 'stdout'"
    db.execute(changed, (text, size, run))


SHAPES: dict[str, Callable[[sqlite3.Connection], None]] = {
    shape.__name__: shape for shape in (topology, argv, nested, facts, counters, skipped, fio, nothing)
}


def told(shape: Callable[[sqlite3.Connection], None]) -> str:
    return shape.__doc__ or ""


# --- the commands ------------------------------------------------------------------------------------------


def commands(path: Path, sound: Path) -> dict[str, list[str]]:
    """Return what is done with a file, by what it is called."""
    out = str(path.with_suffix(""))
    one, both = str(path), [str(sound), str(path)]
    return {
        "audit": ["audit", one],
        "show": ["show", one],
        "export": ["export", one, "-o", f"{out}.csv"],
        "report": ["report", one, "-o", f"{out}.html"],
        "lab report": ["report", one, "--lab", f"{out}.lab"],
        "compare": ["compare", *both, "-o", f"{out}.compare.html"],
        "fleet": ["fleet", *both, "-o", f"{out}.fleet.html"],
        "history": ["history", *both, "-o", f"{out}.history.html"],
    }


COMMANDS = [*commands(Path("r.db"), Path("r.db"))]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(HERE.parents[1])}


def measured(words: Sequence[str], folder: Path) -> Cost:
    """Do it as a process of its own."""
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen([*PINSWEEP, *words], cwd=folder, env=environment(), stdout=printed, stderr=printed)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0)
        text = printed.read().decode("utf-8", "replace")
    end = {0: "", 1: "", 2: "refused"}.get(process.returncode, f"exit status {process.returncode}")
    if "Traceback" in text or "a bug in pinsweep" in text:
        end = "a bug"
    if end == "refused" and "error: " not in text:
        end = "refused without a word"
    return Cost(end=end, cpu_s=used.ru_utime + used.ru_stime, peak_mib=used.ru_maxrss / 1024)


def cell(cost: Cost) -> str:
    """`refused 0.4 s, 41 MiB`; what is beyond the limits in bold."""
    seconds, memory = f"{cost.cpu_s:.1f} s", f"{cost.peak_mib:.0f} MiB"
    if cost.cpu_s > LIMIT_S:
        seconds = f"**{seconds}**"
    if cost.peak_mib > LIMIT_MIB:
        memory = f"**{memory}**"
    return f"{cost.end} {seconds}, {memory}".strip()


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
