"""Break what a sweep stands on while it runs, and see that no run that was announced is lost, changed or doubled.

    python scripts/faults.py --rounds 200             # all kinds in turn; same seed, same faults
    python scripts/faults.py --rounds 20 --kind kill  # one kind
    python scripts/faults.py --list

A round makes a sweep of short runs in a folder of its own, breaks something while it runs, once or several times, starts the same
command again until nothing breaks it, and checks: every run that a line called ok is in the file with what it printed; the
file is whole; the last call ends with 0 and each cell has one ok run; what pinsweep says is a sentence, never a traceback or "a
bug"; no process and no scratch folder is left. What cannot be broken here (no root, no strace, no loop device) is said and left out.

Prints a line per round that found something and a table of counts, also when it is stopped; exit status 1 if anything was found.
Power cuts have a program of their own, scripts/powercut.py, which `--kind power_cut` and a full campaign call.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
CELLS = 8
EXPERIMENT = """\
schema: 1
title: short runs
tool: command
fixed:
  command: sh -c 'sleep 0.02; echo value {n}; head -c BYTES /dev/urandom | base64'
  metrics: {reply: {regex: "value ([0-9]+)", unit: ms}}
matrix: {n: 1..CELLS}
repeats: 1
"""
ANNOUNCED = re.compile(r"^\[.*\bn=([0-9]+)\b.* s$", re.MULTILINE)
"""The line of an ok run; that of another ends in its reason."""

PATIENCE_S = 600
"""For the end of a command that takes a second, however busy the machine is."""

MARK = "PINSWEEP_FAULTS_ROUND"
"""Environment variable by which what a round started is found again."""


class Impossible(Exception):
    """This kind of fault cannot be made here; why."""


@dataclass(slots=True)
class Found:
    """What rounds of one kind gave."""

    rounds: int = 0
    faults: int = 0
    announced: int = 0
    lost: int = 0
    problems: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.rounds += other.rounds
        self.faults += other.faults
        self.announced += other.announced
        self.lost += other.lost
        self.problems += other.problems


class Sweep:
    """One sweep into one result file, which may be started again and again."""

    def __init__(self, folder: Path, rng: random.Random, *, output_bytes: int = 10) -> None:
        self.folder = folder
        self.rng = rng
        self.file = folder / "r.db"
        self.found = Found(rounds=1)
        self._said: set[int] = set()
        self._mark = uuid.uuid4().hex
        text = EXPERIMENT.replace("CELLS", str(CELLS)).replace("BYTES", str(output_bytes))
        (folder / "e.yaml").write_text(text)
        own = {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CONFIG", "CACHE", "DATA")}
        self.env = {
            **os.environ, **own, MARK: self._mark, "PYTHONPATH": str(TREE), "PINSWEEP_RUNTIME_DIR": str(folder / "runtime"),
            "PINSWEEP_ALLOW_DISTURBED": "1", "PINSWEEP_NO_WARM_UP": "1",
        }  # fmt: skip
        self.command = [
            sys.executable, "-m", "pinsweep", "run", "e.yaml", "-o", "r.db", "--share-machine", "--retry-failed",
        ]  # fmt: skip

    def start(self, *before: str, limits: Mapping[int, int] | None = None) -> subprocess.Popen[str]:
        """Start the sweep; `before`: what starts it; `limits`: of the process, by their names in `resource`."""

        def limited() -> None:
            for number in (signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            for name, value in (limits or {}).items():
                resource.setrlimit(name, (value, value))

        return subprocess.Popen(
            [*before, *self.command], cwd=self.folder, env=self.env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
            text=True, start_new_session=True, preexec_fn=limited,
        )  # fmt: skip

    def heard(self, process: subprocess.Popen[str]) -> str:
        """Wait for its end; return what it said, and keep which runs it announced."""
        text = process.communicate()[1]
        self._said |= {int(n) for n in ANNOUNCED.findall(text)}
        # Python itself was on its way
        starting = text.rstrip().endswith("KeyboardInterrupt") and "in main\n" not in text
        if ("Traceback" in text and not starting) or "a bug in pinsweep" in text:
            self.problem(f"not a sentence: {text[-400:]}")
        return text

    def problem(self, text: str) -> None:
        self.found.problems.append(text)

    def settle(self) -> None:
        """Wait until all that a killed pinsweep has left has ended; what does not is a problem."""
        end = time.monotonic() + PATIENCE_S
        while left := list(self._left()):
            if time.monotonic() > end:
                self.problem(f"left behind: {', '.join(left)}")
                return
            time.sleep(0.02)

    def _left(self) -> Iterator[str]:
        mark = f"{MARK}={self._mark}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if mark in (entry / "environ").read_bytes() and "\nState:\tZ" not in (entry / "status").read_text():
                        yield f"{(entry / 'comm').read_text().strip()} ({entry.name})"
                except OSError:
                    continue

    def check(self) -> None:
        """See what the file holds: all that was announced, unchanged."""
        self.settle()
        if not self.file.exists():
            there: dict[int, bytes] = {}
        else:
            try:
                there = self._held()
            except sqlite3.Error as error:
                self.problem(f"the file cannot be read: {error}")
                return
        if lost := self._said - set(there):
            self.found.lost += len(lost)
            self.problem(f"announced and not there: n = {sorted(lost)}")
        for n, text in there.items():
            if not text.startswith(f"value {n}\n".encode()):
                self.problem(f"the run of n = {n} holds {text[:40]!r}")

    def _held(self) -> dict[int, bytes]:
        """Return n → what its ok run printed."""
        with closing(sqlite3.connect(f"{self.file.as_uri()}?mode=rw", uri=True)) as db:
            (verdict,) = db.execute("PRAGMA integrity_check").fetchone()
            if verdict != "ok":
                self.problem(f"integrity_check: {verdict}")
            if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return {}
            rows = db.execute(
                "SELECT json_extract(options, '$.n'), zlib FROM run JOIN point USING (point_id) JOIN output USING (run_id)"
                " WHERE status = 'ok' AND stream = 'stdout'"
            ).fetchall()
        if len(rows) != len({n for n, _ in rows}):
            self.problem(f"doubled: {sorted(n for n, _ in rows)}")
        return {int(n): zlib.decompress(packed) for n, packed in rows}

    def finish(self) -> Found:
        """Start the same command without a fault: it does what is missing, and nothing is left of all before."""
        self.check()
        process = self.start()
        text = self.heard(process)
        if process.returncode:
            self.problem(f"the last call ended with {process.returncode}: {text[-400:]}")
        self.check()
        if not self.found.problems and len(self._held()) != CELLS:
            self.problem(f"{len(self._held())} of {CELLS} cells")
        for left in (*self.folder.glob("pinsweep-scratch/*"), *self.folder.glob("r.db-journal")):
            self.problem(f"left: {left.name}")
        self.found.announced += len(self._said)
        return self.found


# --- kinds -------------------------------------------------------------------------------------------------


def kill(sweep: Sweep) -> None:
    """kill -9 of pinsweep, its watchdog, a tool, or of all at once; SIGTERM, SIGINT, SIGHUP: at a random moment."""
    for _ in range(sweep.rng.randint(1, 3)):
        process = sweep.start()
        time.sleep(sweep.rng.uniform(0.05, 1.5))
        whom = sweep.rng.choice(("pinsweep", "watchdog", "tool", "all", "TERM", "INT", "HUP"))
        below = _below(process.pid)
        victims = {
            "watchdog": [pid for pid in below if _parent(pid) == process.pid],
            "tool": [pid for pid in below if _parent(pid) != process.pid],
            "all": [*below, process.pid],
        }.get(whom, [process.pid])
        number = getattr(signal, f"SIG{whom}", signal.SIGKILL)
        for pid in victims:
            sweep.found.faults += 1
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                sweep.found.faults -= 1
        sweep.heard(process)
        sweep.check()


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _below(pid: int) -> list[int]:
    """Return the descendants of a process."""
    try:
        mine = [int(n) for n in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [one for child in mine for one in (child, *_below(child))]


def kill_at_write(sweep: Sweep) -> None:
    """kill -9 at the Nth write, sync or unlink of the result file or its journal, by strace's fault injection."""
    if not shutil.which("strace"):
        raise Impossible("strace is missing")
    call = sweep.rng.choice(("pwrite64", "fdatasync", "unlink"))
    nth = sweep.rng.randint(1, {"pwrite64": 40, "fdatasync": 18, "unlink": 8}[call])
    paths = [word for name in ("r.db", "r.db-journal") for word in ("-P", str(sweep.folder / name))]
    inject = [
        "strace",
        "-qq",
        "-o",
        os.devnull,
        "-f",
        "-e",
        f"trace={call}",
        *paths,
        "-e",
        f"inject={call}:signal=SIGKILL:when={nth}",
    ]
    process = sweep.start(*inject)
    text = sweep.heard(process)
    if "strace:" in text:
        raise Impossible(text.strip())
    sweep.found.faults += process.returncode == -signal.SIGKILL
    sweep.check()


def full_disk(sweep: Sweep) -> None:
    """The result file may not grow: RLIMIT_FSIZE ends each write beyond it as a full quota does."""
    process = sweep.start(limits={resource.RLIMIT_FSIZE: sweep.rng.randint(0, 18) * 4096 + sweep.rng.randint(0, 4095)})
    text = sweep.heard(process)
    if process.returncode == 0:
        return
    sweep.found.faults += 1
    if "error: " not in text:
        sweep.problem(f"no error was said: {text[-300:]}")


def full_file_system(sweep: Sweep) -> None:
    """ENOSPC: the folder is a tmpfs, which a file of the user's fills while the sweep runs."""
    process = sweep.start()
    time.sleep(sweep.rng.uniform(0.0, 1.2))
    with (sweep.folder / "fill").open("wb", buffering=0) as fill:
        try:
            while True:
                fill.write(bytes(4096))
        except OSError:
            sweep.found.faults += 1
    text = sweep.heard(process)
    if process.returncode and "error: " not in text and "failed" not in text:
        sweep.problem(f"no error was said: {text[-300:]}")
    sweep.check()
    (sweep.folder / "fill").unlink()


@contextmanager
def _tmpfs(folder: Path) -> Iterator[None]:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Impossible(done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def no_descriptors(sweep: Sweep) -> None:
    """EMFILE: so few descriptors that one cannot be had, at a place that the limit chooses."""
    process = sweep.start(limits={resource.RLIMIT_NOFILE: sweep.rng.randint(5, 22)})
    text = sweep.heard(process)
    if process.returncode == 0:
        return
    sweep.found.faults += 1
    if process.returncode not in (1, 2) or "rror" not in text:
        sweep.problem(f"exit status {process.returncode}: {text[-300:]}")


def two_writers(sweep: Sweep) -> None:
    """Others start the same command while it runs: they are refused and change nothing."""
    first = sweep.start()
    time.sleep(sweep.rng.uniform(0.0, 0.6))
    others = [sweep.start() for _ in range(sweep.rng.randint(1, 3))]
    ends = []
    for process in (first, *others):
        text = sweep.heard(process)
        ends.append(process.returncode)
        if process.returncode not in (0, 2) or (process.returncode == 2 and "another pinsweep" not in text):
            sweep.problem(f"exit status {process.returncode}: {text[-300:]}")
    sweep.found.faults += ends.count(2)
    if 0 not in ends:
        sweep.problem(f"nobody ran: {ends}")


def damage(sweep: Sweep) -> None:
    """The file is cut, overwritten or has bits flipped between two calls: it is read or called damaged, never a bug."""
    sweep.heard(sweep.start())
    whole = sweep.file.read_bytes()
    for _ in range(4):
        data = bytearray(whole)
        way = sweep.rng.choice(("cut", "flip", "zeros", "noise", "head"))
        at = sweep.rng.randrange(len(data))
        if way == "cut":
            del data[at:]
        elif way == "flip":
            for _ in range(sweep.rng.randint(1, 40)):
                data[sweep.rng.randrange(len(data))] ^= 1 << sweep.rng.randrange(8)
        else:
            begin = 0 if way == "head" else at
            length = min(sweep.rng.randint(1, 8192), len(data) - begin)
            data[begin : begin + length] = bytes(length) if way == "zeros" else sweep.rng.randbytes(length)
        for words in (
            ["show", "d.db"],
            ["export", "d.db"],
            ["run", "e.yaml", "-o", "d.db", "--share-machine"],
        ):
            (sweep.folder / "d.db").write_bytes(data)
            (sweep.folder / "d.db-journal").unlink(missing_ok=True)
            done = subprocess.run(
                [sys.executable, "-m", "pinsweep", *words], cwd=sweep.folder, env=sweep.env, capture_output=True, text=True,
                check=False, timeout=PATIENCE_S, errors="replace",
            )  # fmt: skip
            sweep.found.faults += 1
            if done.returncode not in (0, 1, 2) or "a bug in pinsweep" in done.stderr or "Traceback" in done.stderr:
                kept = Path(tempfile.mkdtemp(prefix="pinsweep-damaged-")) / "d.db"
                kept.write_bytes(data)
                sweep.problem(f"{way} at {at}, {words[0]} ({kept}): {done.returncode} {done.stderr[-300:]}")
            if done.returncode and "rror: " not in done.stderr and words[0] != "run":
                sweep.problem(f"{way} at {at}, {words[0]}: nothing was said")
    for name in ("d.db", "d.db-journal"):
        (sweep.folder / name).unlink(missing_ok=True)


KINDS: dict[str, Callable[[Sweep], None]] = {
    kind.__name__: kind
    for kind in (kill, kill_at_write, full_disk, full_file_system, no_descriptors, two_writers, damage)
}


def one_round(kind: str, seed: int) -> Found:
    """Make one round; same kind and seed, same faults as far as time lets them be. Raises Impossible."""
    rng = random.Random(f"{kind} {seed}")
    with tempfile.TemporaryDirectory(prefix="pinsweep-faults-") as name:
        folder = Path(name)
        with _tmpfs(folder) if kind == "full_file_system" else nullcontext():
            sweep = Sweep(folder, rng, output_bytes=rng.choice((10, 10, 20_000)))
            KINDS[kind](sweep)
            return sweep.finish()


def power_cuts(cuts: int) -> Found:
    """Call scripts/powercut.py. Raises Impossible where it cannot cut."""
    done = subprocess.run(
        [sys.executable, TREE / "scripts" / "powercut.py", "--cuts", str(cuts)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 3:
        raise Impossible(done.stderr.strip())
    counts = re.search(r"(\d+) cuts, (\d+) runs announced: \d+ cuts lost (\d+) runs, (\d+) files damaged", done.stdout)
    if not counts:
        raise SystemExit(done.stdout + done.stderr)
    made, announced, lost, _ = map(int, counts.groups())
    return Found(
        rounds=made,
        faults=made,
        announced=announced,
        lost=lost,
        problems=[done.stdout[-400:]] if done.returncode else [],
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--kind", choices=[*KINDS, "power_cut"], help="only this kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="say what the kinds are")
    asked = parser.parse_args()
    if asked.list:
        for name, kind in KINDS.items():
            print(f"{name:18}{kind.__doc__}")
        return 0
    kinds = [asked.kind] if asked.kind else [*KINDS]
    begun = time.monotonic()
    found = {kind: Found() for kind in kinds if kind != "power_cut"}
    for number in range(asked.rounds if asked.kind != "power_cut" else 0):
        kind = kinds[number % len(kinds)]
        if kind not in found:
            continue
        try:
            one = one_round(kind, asked.seed * 100_000 + number)
        except Impossible as why:
            print(f"{kind}: left out: {why}", flush=True)
            del found[kind]
            continue
        except KeyboardInterrupt:  # the counts so far
            break
        found[kind].add(one)
        for problem in one.problems:
            print(f"{kind}, seed {asked.seed * 100_000 + number}: {problem}", flush=True)
    if asked.kind in (None, "power_cut"):
        try:
            found["power_cut"] = power_cuts(asked.rounds if asked.kind else max(2, asked.rounds // 8))
        except Impossible as why:
            print(f"power_cut: left out: {why}")
    print(f"{'kind':18}{'rounds':>8}{'faults':>8}{'announced':>11}{'lost':>6}{'problems':>10}")
    total = Found()
    for kind, one in found.items():
        total.add(one)
        print(f"{kind:18}{one.rounds:8}{one.faults:8}{one.announced:11}{one.lost:6}{len(one.problems):10}")
    print(f"{'all':18}{total.rounds:8}{total.faults:8}{total.announced:11}{total.lost:6}{len(total.problems):10}")
    print(f"seed {asked.seed}, {time.monotonic() - begun:.0f} s")
    return 1 if total.problems else 0


if __name__ == "__main__":
    sys.exit(main())
