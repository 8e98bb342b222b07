"""What reading costs: fio's json+ beside json.loads, many small files beside a bare loop, memory beside the file's size.

    python benchmarks/reading.py --files 10000 --turns 5 --json reading.json

The json+ is that of a fio run here (6 jobs of random reads and writes, 4 s, on 16 MB of the temporary folder), its jobs
repeated to the size wanted; without fio, that of a captured run. The small files are captured outputs of tests/fixtures,
each under many names.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from turns import Side, report, start, take_turns

FIXTURES = Path(__file__).resolve().parents[1] / "tests" / "fixtures"
SMALL = ("stream/stream_omp2.out", "imb/pingpong_default.out", "fio/normal_randrw.out", "fio/terse_v5.out", "fio/jsonplus_randrw.out")  # fmt: skip
FIO = (
    "--name=a", "--rw=randrw", "--size=16m", "--filename=scratch", "--bs=4k", "--ioengine=libaio", "--iodepth=4", "--time_based",
    "--runtime=4", "--numjobs=6", "--output-format=json+",
)  # fmt: skip

TIMED = """\
import json, statistics, sys, time
from pathlib import Path
import parsers
from parsers import get_parser, guess_parsers
text = Path(sys.argv[2]).read_text()
what = {"parse": lambda: get_parser("fio").parse(text, {}), "json.loads": lambda: json.loads(text),
        "guess": lambda: guess_parsers(text)}[sys.argv[1]]
what()
times = []
for _ in range(9):
    begun = time.process_time()
    what()
    times.append(time.process_time() - begun)
print(1e3 * statistics.median(times) / (len(text) / 1e6))
"""
"""CPU time of the median of nine, in ms a megabyte: what a start costs is not in it."""

BARE = """\
import hashlib, os, sqlite3, sys
db = sqlite3.connect(sys.argv[2])
db.execute("CREATE TABLE output (name TEXT, sha256 TEXT, bytes BLOB)")
with db:
    for folder, _, names in os.walk(sys.argv[1]):
        for name in sorted(names):
            with open(os.path.join(folder, name), "rb") as file:
                data = file.read()
            db.execute("INSERT INTO output VALUES (?,?,?)", (name, hashlib.sha256(data).hexdigest(), data))
"""

PEAK = """\
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(done.returncode)
"""


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--files", type=int, default=10_000, help="small files to take in")
    words.add_argument("--megabytes", type=int, default=100, help="the large file whose memory is looked at")
    words.add_argument("--turns", type=int, default=5)
    words.add_argument("--json", type=Path)
    words.add_argument("--strict", action="store_true", help="fail if others used more than 1 %% of the machine")
    options = words.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        document = _document(folder)
        megabyte = _of_size(document, 10**6, folder / "megabyte.json")
        large = _of_size(document, options.megabytes * 10**6, folder / "large.json")
        many = _many(folder / "many", options.files)
        pairs = [
            (_timed("parse", megabyte), _timed("json.loads", megabyte)),
            (_timed("guess", megabyte), _timed("json.loads", megabyte)),
            (_taken(many, folder), _bare(many, folder)),
        ]
        rows, samples = take_turns(pairs, options.turns)
        heavy, more = take_turns([(_peak("pinsweep parse", large, folder), _peak("json.loads", large, folder))], 1)
        bytes_ = {path.name: path.stat().st_size for path in (megabyte, large)}
    status = report("parsers", rows + heavy, samples + more, options.json, options.strict)
    ours, theirs = heavy[0].ours_median, heavy[0].theirs_median
    size = bytes_["large.json"] / 2**20
    print(f"\nPeak memory: {ours:.0f} MiB for a file of {size:.0f} MiB, {ours / size:.1f} times (to reach: 5); json.loads {theirs / size:.1f}.")  # fmt: skip
    return status


def _document(folder: Path) -> str:
    """Return a json+ report of several jobs."""
    fio = shutil.which("fio")
    if fio:
        done = subprocess.run([fio, *FIO], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout
        print(f"fio did not run here, a captured output stands in: {done.stderr.strip()}", file=sys.stderr)
    return (FIXTURES / "fio" / "jsonplus_randrw.out").read_text()


def _of_size(document: str, size: int, path: Path) -> Path:
    """Write the report with its jobs repeated until it has `size` bytes, as fio prints it."""
    begin = document.index('"jobs" : [') + len('"jobs" : [')
    end = document.rindex("]", 0, document.index('"disk_util"'))
    jobs = document[begin:end].rstrip()
    text = document[:begin] + ",".join([jobs] * max(1, size // len(jobs))) + "\n  " + document[end:]
    json.loads(text)
    path.write_text(text)
    return path


def _many(folder: Path, count: int) -> Path:
    texts = [(FIXTURES / name).read_bytes() for name in SMALL]
    folder.mkdir()
    for i in range(count):
        (folder / f"n{i:05}.txt").write_bytes(texts[i % len(texts)])
    return folder


def _timed(what: str, path: Path) -> Side:
    return Side(name=what, argv=[sys.executable, "-c", TIMED, what, str(path)], read=_milliseconds)


def _milliseconds(text: str, _: Mapping[str, float]) -> dict[str, float]:
    return {"ms a megabyte": float(text.strip())}


def _cost(_: str, used: Mapping[str, float]) -> dict[str, float]:
    return {"wall, s": used["wall_s"], "CPU, s": used["cpu_s"]}


def _taken(many: Path, folder: Path) -> Side:
    command = 'rm -f "$1"; exec "$2" -m pinsweep parse "$0" -o "$1" --axis "node=n([0-9]+)"'
    return Side(name="pinsweep parse", argv=["sh", "-c", command, str(many), str(folder / "many.db"), sys.executable], read=_cost)  # fmt: skip


def _bare(many: Path, folder: Path) -> Side:
    command = 'rm -f "$1"; exec "$2" -c "$3" "$0" "$1"'
    return Side(name="bare loop", argv=["sh", "-c", command, str(many), str(folder / "bare.db"), sys.executable, BARE], read=_cost)  # fmt: skip


def _peak(what: str, path: Path, folder: Path) -> Side:
    argv = {
        "pinsweep parse": [sys.executable, "-m", "pinsweep", "parse", str(path), "-o", str(folder / "large.db")],
        "json.loads": [sys.executable, "-c", "import json, sys; json.loads(open(sys.argv[1]).read())", str(path)],
    }[what]  # fmt: skip
    return Side(name=what, argv=[sys.executable, "-c", PEAK, *argv], read=_megabytes)


def _megabytes(text: str, _: Mapping[str, float]) -> dict[str, float]:
    return {"peak memory, MiB": float(text.strip())}


if __name__ == "__main__":
    sys.exit(start(main))
