"""What `pinsweep compare` says of real runs: of a machine that did not change, and of one that was made slower on purpose.

    python benchmarks/planted.py --sessions 21 --json planted.json

The sessions of `planted.yaml` run one after the other, as a user's would; each is compared with the next (A/A: every
"regressed" and "improved" is a false alarm). Then a session under each plant is compared with the last one without:

    neighbour   a second process on the measured CPU that a cgroup holds to 5 % of it (root, cgroup v1 or v2)
    iodepth     fio is started with three quarters of the iodepth that its cell names, by a wrapper

(Memory on another NUMA node needs no plant: `pinsweep compare FILE --by place=local,remote`.)

What each plant ought to move is known beforehand (best-of-100 passes of microseconds do not see a neighbour that comes for
a millisecond in twenty; loops of tens of milliseconds do); a number of those sweeps that is called the same or improved is a miss,
a number of another sweep that is called regressed is a false alarm.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from reports.compare import comparison, sides
from reports.compare.comparison import Comparison
from reports.results.load import load

EXPERIMENT = Path(__file__).with_name("planted.yaml")
PERIOD_US = 20_000  # of which a cgroup grants 1000 at least
CGROUPS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")

Env = Mapping[str, str]


class NotHere(Exception):
    """This machine cannot host a plant."""


@dataclass(frozen=True, slots=True)
class Plant:
    """A slow-down: what is done, and the sweeps that must show it."""

    name: str
    moves: tuple[str, ...]
    under: Callable[[Path], AbstractContextManager[Env]]


@contextlib.contextmanager
def neighbour(_work: Path, share: float = 0.05) -> Iterator[Env]:
    """Hold 5 % of CPU 0 with a process in a cgroup of its own."""
    group, quota = _cgroup(round(share * PERIOD_US))
    spinner = None
    try:
        spinner = subprocess.Popen(["taskset", "--cpu-list", "0", sys.executable, "-c", "while True: pass"])
        (group / "cgroup.procs").write_text(str(spinner.pid))
        print(f"  a spinner on CPU 0, {quota}", file=sys.stderr)
        yield {}
    finally:
        if spinner:
            spinner.kill()
            spinner.wait()
        group.rmdir()


def _cgroup(quota_us: int) -> tuple[Path, str]:
    for root in CGROUPS:
        if not (Path(root) / "cgroup.procs").exists():
            continue
        group = Path(root) / f"pinsweep-planted-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if (group / "cpu.max").exists():
                (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
                return group, "cpu.max of cgroup v2"
            (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        except OSError:
            group.rmdir()
            continue
        return group, "cpu.cfs_quota_us of cgroup v1"
    raise NotHere("no CPU cgroup may be made here")


@contextlib.contextmanager
def iodepth(work: Path) -> Iterator[Env]:
    """Start fio with three quarters of the iodepth asked for."""
    body = (
        'for a; do case "$a" in --iodepth=*) a="--iodepth=$(( ${a#*=} * 3 / 4 ))";; esac; set -- "$@" "$a"; shift; done'
    )
    yield {"PINSWEEP_FIO": str(_wrapper(work / "fio", shutil.which("fio"), body))}


def _wrapper(path: Path, program: str | None, body: str) -> Path:
    if program is None:
        raise NotHere(f"{path.name} is not installed")
    path.write_text(f'#!/bin/sh\n{body}\nexec {program} "$@"\n')
    path.chmod(0o755)
    return path


PLANTS = (Plant("neighbour", ("loops",), neighbour), Plant("iodepth", ("storage",), iodepth))


def session(out: Path, env: Env) -> Path:
    """Run the experiment into a result file of its own."""
    subprocess.run(
        ["pinsweep", "run", str(EXPERIMENT), "-o", str(out), "--scratch", str(out.parent)],
        env={**os.environ, **env}, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return out


def compared(a: Path, b: Path) -> Comparison:
    before, after = load([a]), load([b])
    return comparison.compare(sides.side("A", a.name, before), sides.side("B", b.name, after))


def counts(found: Comparison) -> dict[str, dict[str, int]]:
    """Return sweep → verdict → numbers; "neither" of metrics without a direction, which have no right word."""
    out: dict[str, Counter[str]] = {}
    for sweep, name, verdict in zip(*(found.verdicts[column] for column in ("sweep", "name", "verdict")), strict=True):
        word = "neither" if name.better == "neither" else verdict or "inconclusive"
        out.setdefault(sweep, Counter())[word] += 1
    return {sweep: dict(counter) for sweep, counter in out.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=21, help="sessions without a plant")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--keep", type=Path, help="keep the result files in this folder")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = asked.keep or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        files = []
        for i in range(asked.sessions):
            print(f"session {i + 1} of {asked.sessions}", file=sys.stderr)
            files.append(session(work / f"unchanged-{i:02}.db", {}))
        unchanged = [counts(compared(a, b)) for a, b in itertools.pairwise(files)]
        _say_unchanged(unchanged)
        planted = {}
        for plant in PLANTS:
            print(f"under {plant.name}", file=sys.stderr)
            try:
                with plant.under(work) as env:
                    file = session(work / f"{plant.name}.db", env)
            except NotHere as why:
                print(f"\n{plant.name}: not here: {why}")
                continue
            planted[plant.name] = counts(compared(files[-1], file))
            _say_planted(plant, planted[plant.name])
    if asked.json:
        asked.json.write_text(json.dumps({"unchanged": unchanged, "planted": planted}, indent=1) + "\n")


def _say_unchanged(unchanged: list[dict[str, dict[str, int]]]) -> None:
    total: Counter[str] = Counter()
    for pair in unchanged:
        for words in pair.values():
            total.update(words)
    alarms = [sum(w.get("regressed", 0) + w.get("improved", 0) for w in pair.values()) for pair in unchanged]
    print(f"\nunchanged: {len(unchanged)} pairs, {sum(total.values()) - total['neither']} numbers with a direction")
    print("  " + ", ".join(f"{total[w]} {w}" for w in ("same", "inconclusive", "regressed", "improved")))
    print(f"  false alarms in {sum(a > 0 for a in alarms)} of the pairs: {' '.join(map(str, alarms))}")


def _say_planted(plant: Plant, found: Mapping[str, Mapping[str, int]]) -> None:
    print(f"\n{plant.name}: ought to move {', '.join(plant.moves)}")
    for sweep, words in found.items():
        mark = "*" if sweep in plant.moves else " "
        listed = ", ".join(f"{n} {w}" for w, n in sorted(words.items()) if w != "neither")
        print(f"  {mark} {sweep}: {listed}")


if __name__ == "__main__":
    main()
