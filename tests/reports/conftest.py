"""Result files for the report's tests, built through the store from texts in the tools' own layouts.

The parsers read these texts as they read a tool's output: nothing between text and page is replaced. `Maker` writes
figures into the layouts of MLC, STREAM, IMB PingPong, fio's JSON and poke; the figures come from the seeds' reports
where they are at hand, and from plain formulas where they are not.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import math
import os
import re
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pytest
from jinja2.bccache import Bucket

from orchestrator.model import Cell, Group, Place, Placement, PlannedRun, RunRecord, Skipped
from orchestrator.store import database
from orchestrator.store.result_file import StoredCell, StoredExperiment, create_result
from parsers.units import size_bytes
from reports.page.model import Page
from reports.report.build import build
from reports.report.render import render_report
from reports.results.load import load

CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
SEEDS = CORPUS.parent / "seeds"

FACTS = {
    "cpu_model": "Intel(R) Core(TM) i7-6700HQ CPU @ 2.60GHz", "microcode": "0xf0", "kernel": "6.1.0-18-amd64", "os": "Debian GNU/Linux 12",
    "memory_bytes": 17179869184, "governor": "8 × performance", "turbo": "on", "smt": "on", "thp": "madvise",
    "numa_balancing": "off", "dimms": None, "bios_version": None, "cpus_allowed": "0-7",
}  # fmt: skip


class _Compiled(jinja2.BytecodeCache):
    """The templates that were compiled in this process, which many tests draw a page with."""

    def __init__(self) -> None:
        self._known: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if known := self._known.get(bucket.key):
            bucket.bytecode_from_string(known)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._known[bucket.key] = bucket.bytecode_to_string()


@pytest.fixture(scope="session", autouse=True)
def _templates_are_compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jinja2, "Environment", functools.partial(jinja2.Environment, bytecode_cache=_Compiled()))
        yield


@pytest.fixture(scope="module", autouse=True)
def _no_test_of_a_page_outlives_a_power_cut() -> Iterator[None]:
    """A commit waits for no disk, and keeps its journal in memory: to make and remove a file for each of them is a tenth of the CPU time."""
    real = database.connect

    def connect(path: Path) -> sqlite3.Connection:
        connection = real(path)
        connection.execute("PRAGMA journal_mode = MEMORY")
        return connection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "SYNCHRONOUS", "OFF")
        patch.setattr(database, "connect", connect)
        yield


class Maker:
    """Builds one result file: sweeps of texts."""

    def __init__(self, path: Path, *, host: str = "node07", title: str = "Memory and SSD baseline") -> None:
        self.path = path
        self.host = host
        self.title = title
        self.programs: dict[str, dict[str, Any]] = {}
        self.facts: Mapping[str, Any] = FACTS
        self.started, self.ended = "2026-11-21T09:15:02+00:00", "2026-11-21T09:30:00+00:00"
        self.text = "…"
        self.topology = "<topology/>"
        self.places: dict[str, Place] = {}  # place → its selectors; else those of `all`
        self.groups: dict[str, tuple[Group, ...]] = {}  # place → groups; else CPUs 0 to 3, memory of node 0
        self._runs: list[dict[str, Any]] = []
        self._repeats: Counter[str] = Counter()  # by cell
        self._skipped: list[Skipped] = []

    def add(
        self,
        sweep: str,
        tool: str,
        options: Mapping[str, Any],
        text: str,
        *,
        axes: Sequence[str] = (),
        place: str = "",
        relation: str = "",
        status: str = "ok",
        reason: str = "",
        program: str = "",
        stderr: str = "",
        sweep_title: str = "",
        repeat: int = 0,
        repeats: int = 0,
        attempt: int = 1,
        usage: Mapping[str, float] | None = None,
        wall_s: float = 1.5,
        started: str = "2026-11-21T09:15:03+00:00",
        counters: Mapping[str, Any] | None = None,
        warm_up: bool = False,
    ) -> Maker:
        """Add a run; its repeat is counted from those of the same cell before. `status` "": planned, not started."""
        cell = Cell(
            sweep=sweep,
            tool=tool,
            options=dict(options),
            place=self.places.get(place, Place(name=place)) if place else None,
            axes=tuple(axes),
        )
        self._repeats[cell.point_id] += not warm_up
        self._runs.append(
            {
                "point": cell, "text": text, "status": status, "reason": reason, "program": program or tool, "stderr": stderr,
                "title": sweep_title or sweep, "repeat": 0 if warm_up else repeat or self._repeats[cell.point_id], "repeats": repeats, "attempt": attempt, "usage": usage or {}, "wall_s": wall_s, "started": started,
                "counters": counters or {}, "warm_up": warm_up,
                "placement": Placement(
                    name=place, relation=relation, groups=self.groups.get(place, (Group(cpus=(0, 1, 2, 3), membind=(0,)),))
                )
                if place
                else None,
            }
        )  # fmt: skip
        return self

    def skip(self, sweep: str, reason: str, **labels: Any) -> Maker:
        self._skipped.append(Skipped(sweep=sweep, cell=labels, reason=reason))
        return self

    def write(self) -> Path:
        """Write all of it as one session; into a file that is there, as its next one."""
        digest = hashlib.sha256(self.text.encode()).hexdigest()
        with create_result(self.path) as result:
            session = result.begin_session(
                started_utc=self.started, version="0.1.0", argv=["pinsweep", "run", "baseline.yaml"], seed=7,
                host=self.host, facts=self.facts, topology=self.topology, programs=self.programs,
            )  # fmt: skip
            counts: dict[str, int] = {}
            for run in self._runs:
                key = run["point"].point_id
                counts[key] = max(counts.get(key, 0), run["repeats"], run["repeat"])
            experiment = StoredExperiment(
                sha256=digest, path="experiments/baseline.yaml", title=self.title, text=self.text, about=""
            )
            points = {
                run["point"].point_id: StoredCell(
                    cell=run["point"],
                    sweep_title=run["title"],
                    repeats=counts[run["point"].point_id],
                    experiment=digest,
                )
                for run in self._runs
            }
            result.add_plan(session, experiment, points.values(), self._skipped)
            for index, run in enumerate(run for run in self._runs if run["status"]):
                cell = run["point"]
                argv = ("numactl", "--physcpubind=0-3", "--membind=0", "--", run["program"])
                planned = PlannedRun(
                    sweep=cell.sweep, tool=cell.tool, cell=cell, repeat=run["repeat"], argv=argv, env={}, placement=None,
                    timeout_s=60, estimate_s=1, nominal_s=1, program=run["program"],
                )  # fmt: skip
                record = RunRecord(
                    run_id=0, point_id=cell.point_id, repeat=run["repeat"], attempt=run["attempt"], status=run["status"], reason=run["reason"],
                    argv=argv, env={"OMP_NUM_THREADS": "4"}, placement=run["placement"], seen=None, program=run["program"],
                    order_index=index, started_utc=run["started"], wall_s=run["wall_s"], exit_code=0, signal=None, usage=run["usage"],
                    session=session, counters=run["counters"], warm_up=run["warm_up"],
                )  # fmt: skip
                outputs = {
                    "stdout": run["text"].encode("utf-8", "surrogateescape"),
                    "stderr": run["stderr"].encode(),
                }
                result.add_run(planned, record, outputs)
            result.end_session(session, self.ended)
        return self.path


# --- the tools' layouts ------------------------------------------------------------------------------------


def mlc_text(rows: Iterable[tuple[int, float, float]], *, traffic: str = "", stride: int = 64) -> str:
    """MLC's loaded-latency output; rows of (delay, latency in ns, bandwidth in MB/s); traffic is -W's number, "" for reads."""
    arguments = "--loaded_latency" + (f" -W{traffic}" if traffic else "") + (f" -l{stride}" if stride != 64 else "")
    lines = "".join(f" {delay:05d}\t{latency:6.2f}\t{rate:9.1f}\n" for delay, latency, rate in rows)
    said = "" if traffic else "Using Read-only traffic type\n"
    return (
        f"Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: {arguments} \n\n"
        "Using buffer size of 100.000MiB/thread for reads and an additional 100.000MiB/thread for writes\n\n"
        "Measuring Loaded Latencies for the system\nUsing all the threads from each core if Hyper-threading is enabled\n"
        f"{said}Inject\tLatency\tBandwidth\nDelay\t(ns)\tMB/sec\n==========================\n{lines}"
    )


def matrix_text(values: Sequence[Sequence[float]], *, bandwidth: bool = False) -> str:
    """MLC's latency or bandwidth matrix over NUMA nodes 0, 1, …"""
    nodes = range(len(values))
    head = (
        "Measuring Memory Bandwidths between nodes within system \nBandwidths are in MB/sec (1 MB/sec = 1,000,000 Bytes/sec)\n"
        "Using all the threads from each core if Hyper-threading is enabled\nUsing Read-only traffic type\n"
        if bandwidth
        else "Measuring idle latencies (in ns)...\n"
    )
    option = "--bandwidth_matrix" if bandwidth else "--latency_matrix"
    columns = "".join(f"\t{n:6d}" for n in nodes)
    rows = "".join(
        f"{n:8d}" + "".join(f"\t{v:7.1f}" for v in row) + "\t\n" for n, row in zip(nodes, values, strict=True)
    )
    return (
        f"Intel(R) Memory Latency Checker - v3.9\nCommand line parameters: {option} \n\nUsing buffer size of 200.000MiB\n"
        f"{head}\t\tNuma node\nNuma node{columns}\t\n{rows}"
    )


def stream_text(triad: float, threads: int) -> str:
    """STREAM's table with the given Triad rate in MB/s, the other kernels close to it."""
    rates = {"Copy": triad * 0.93, "Scale": triad * 0.95, "Add": triad * 1.01, "Triad": triad}
    size = {"Copy": 16, "Scale": 16, "Add": 24, "Triad": 24}
    rows = "".join(
        f"{name + ':':<12}{rate:12.1f}  {size[name] * 20 / rate:11.6f}  {size[name] * 19.9 / rate:11.6f}  {size[name] * 21 / rate:11.6f}\n"
        for name, rate in rates.items()
    )
    line = "-" * 61 + "\n"
    return (
        f"{line}STREAM version $Revision: 5.10 $\n{line}This system uses 8 bytes per array element.\n{line}"
        "Array size = 20000000 (elements), Offset = 0 (elements)\nMemory per array = 152.6 MiB (= 0.1 GiB).\n"
        "Total memory required = 457.8 MiB (= 0.4 GiB).\nEach kernel will be executed 10 times.\n"
        f"{line}Number of Threads requested = {threads}\nNumber of Threads counted = {threads}\n{line}"
        "Your clock granularity/precision appears to be 1 microseconds.\n"
        "Each test below will take on the order of 9000 microseconds.\n   (= 9000 clock ticks)\n"
        "Increase the size of the arrays if this shows that\nyou are not getting at least 20 clock ticks per test.\n"
        f"{line}Function    Best Rate MB/s  Avg time     Min time     Max time\n{rows}{line}"
        f"Solution Validates: avg error less than 1.000000e-13 on all three arrays\n{line}"
    )


def imb_text(times: Mapping[int, float]) -> str:
    """IMB 2019's PingPong table from size (B) → time (µs)."""
    rows = "".join(f"{size:13d} {1000:12d} {t:12.2f} {size / t if size else 0:12.2f}\n" for size, t in times.items())
    line = "#" + "-" * 51 + "\n"
    return (
        f"{line}#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part\n{line}# Date                  : Thu Jul  1 12:00:00 2021\n"
        "# Machine               : x86_64\n# System                : Linux\n# Release               : 5.4\n# Version               : #1\n"
        "# MPI Version           : 3.1\n\n# Calling sequence was: \n\n# IMB-MPI1 PingPong\n\n"
        f"{line}# Benchmarking PingPong \n# #processes = 2 \n{line}       #bytes #repetitions      t[usec]   Mbytes/sec\n{rows}\n\n"
        "# All processes entering MPI_Finalize\n\n"
    )


def fio_text(
    parts: Mapping[str, tuple[float, float]], *, bs: str, rw: str, iodepth: int, numjobs: int = 1,
    samples: Mapping[str, tuple[float, float]] | None = None,
) -> str:  # fmt: skip
    """fio 3.33's JSON of what pinsweep starts (lat_percentiles=1), with what the report reads: direction → (IOPS, mean latency in µs)."""
    size = size_bytes(bs.split(",")[0])
    options = {
        "name": "job",
        "rw": rw,
        "bs": bs,
        "iodepth": str(iodepth),
        "numjobs": str(numjobs),
        "ioengine": "libaio",
        "direct": "1",
    }
    job: dict[str, Any] = {
        "jobname": "job",
        "groupid": 0,
        "error": 0,
        "eta": 0,
        "elapsed": 21,
        "job options": options,
    }
    for direction in ("read", "write", "trim"):
        iops, latency = parts.get(direction, (0.0, 0.0))
        ios = round(iops * 20)
        low, high = (samples or {}).get(direction, (iops * 0.97, iops * 1.02))

        def times(mean_ns: float, n: int = ios) -> dict[str, Any]:
            return {
                "min": round(mean_ns * 0.4),
                "max": round(mean_ns * 9),
                "mean": mean_ns,
                "stddev": mean_ns * 0.3,
                "N": n,
            }

        clat, lat = times(latency * 990), times(latency * 1000)
        if iops:
            clat["percentile"] = {"50.000000": round(latency * 940), "99.000000": round(latency * 1880)}
            lat["percentile"] = {"50.000000": round(latency * 950), "99.000000": round(latency * 1900)}
        job[direction] = {
            "io_bytes": ios * size, "io_kbytes": ios * size // 1024, "bw_bytes": round(iops * size), "bw": round(iops * size / 1024), "iops": iops,
            "runtime": 20000 if iops else 0, "total_ios": ios, "short_ios": 0, "drop_ios": 0,
            "slat_ns": times(latency * 10), "clat_ns": clat, "lat_ns": lat,
            "bw_min": 0, "bw_max": 0, "bw_agg": 100.0, "bw_mean": 0.0, "bw_dev": 0.0, "bw_samples": 39 if iops else 0,
            "iops_min": round(low), "iops_max": round(high), "iops_mean": iops, "iops_stddev": iops * 0.02, "iops_samples": 39 if iops else 0,
        }  # fmt: skip
    document = {
        "fio version": "fio-3.33",
        "timestamp": 1,
        "timestamp_ms": 1000,
        "time": "Thu Jul  1 12:00:00 2021",
        "jobs": [job],
        "disk_util": [],
    }
    return json.dumps(document, indent=2) + "\n"


def poke_text(samples: Sequence[float], *, target: str = "memory", size: int = 2**30, op: str = "read") -> str:
    """poke's document from samples in ns: log-linear buckets, 64 to a power of two."""
    counts: dict[int, int] = {}
    ordered = sorted(samples)
    for value in ordered:
        exponent = max(0, math.floor(math.log2(max(value, 1))) - 6)
        key = exponent * 10_000 + math.floor(value / 2**exponent)
        counts[key] = counts.get(key, 0) + 1
    buckets = [
        [low * 2**exponent, (low + 1) * 2**exponent, n]
        for (exponent, low), n in ((divmod(k, 10_000), n) for k, n in sorted(counts.items()))
    ]
    n = len(ordered)
    mean = sum(ordered) / n
    quantiles = {str(q): ordered[max(0, math.ceil(q * n) - 1)] for q in (0.5, 0.9, 0.99, 0.999) if n * (1 - q) >= 10}
    result = {
        "target": target, "op": op, "bytes": size, "block": 1, "count": n, "clock_backwards": 0, "mean_ns": mean,
        "sd_ns": math.sqrt(sum((v - mean) ** 2 for v in ordered) / n), "min_ns": ordered[0], "max_ns": ordered[-1], "quantiles_ns": quantiles,
        "histogram": buckets, "largest": [[v, i] for i, v in enumerate(ordered[:-4:-1])],
        "sequential_ns_per_byte": None, "first_touch_ns_per_byte": None,
    }  # fmt: skip
    timer = {"name": "rdtscp", "overhead_ns": 20.0, "resolution_ns": 0.5}
    return json.dumps({"program": "pinsweep poke", "version": "0.1", "timer": timer, "results": [result]}) + "\n"


# --- the seeds' figures ------------------------------------------------------------------------------------

MIXES = (
    (64, ""),
    (64, "9"),
    (64, "7"),
    (64, "8"),
    (64, "6"),
    (256, ""),
    (256, "9"),
    (256, "7"),
    (256, "8"),
    (256, "6"),
)


def seed_text(number: str) -> str:
    """The text of a seed. Skips the test where the seeds are not at hand."""
    found = sorted(SEEDS.glob(f"{number}_*.txt"))
    if not found:
        pytest.skip(f"no seeds beside the corpus {CORPUS}")
    return found[0].read_text(encoding="utf-8")


def seed_mlc() -> dict[tuple[int, str], list[tuple[int, float, float]]]:
    """(stride, -W) → rows of (delay, ns, MB/s) from seed 004's ten tables."""
    tables: list[list[tuple[int, float, float]]] = []
    for delay, latency, rate in re.findall(r"^(\d{5})\s+([\d.]+)\s+([\d.]+)\s*$", seed_text("004"), re.MULTILINE):
        if delay == "00000":
            tables.append([])
        tables[-1].append((int(delay), float(latency), float(rate)))
    assert [len(t) for t in tables] == [19] * 10
    return dict(zip(MIXES, tables, strict=True))


def seed_stream() -> dict[str, dict[int, float]]:
    """place → threads → Triad in MB/s from seed 003."""
    rows = re.findall(r"^\|\s*(\d+)\s*\|\s*([\d.]+)\s*\|\s*([\d.]+)\s*\|", seed_text("003"), re.MULTILINE)
    assert len(rows) == 10
    return {"local": {int(n): float(a) for n, a, _ in rows}, "remote": {int(n): float(b) for n, _, b in rows}}


def seed_pingpong() -> dict[str, dict[int, float]]:
    """place → size → time in µs from seed 003."""
    tables: list[dict[int, float]] = []
    for size, time in re.findall(r"^\s+(\d+)\s+\d+\s+([\d.]+)\s+[\d.]+\s*$", seed_text("003"), re.MULTILINE):
        if size == "0":
            tables.append({})
        tables[-1][int(size)] = float(time)
    return {"same package": tables[0], "other package": tables[1]}


class Seeds:
    """The figures of the seeds' reports."""

    mlc = staticmethod(seed_mlc)
    stream = staticmethod(seed_stream)
    pingpong = staticmethod(seed_pingpong)


@pytest.fixture(scope="session")
def seeds() -> type[Seeds]:
    return Seeds


@pytest.fixture(scope="session")
def make() -> Any:
    """This module: Maker and the layouts. (pytest imports it under a name of its own.)"""
    return sys.modules[__name__]


@pytest.fixture(scope="session")
def full_result(tmp_path_factory: pytest.TempPathFactory, of_all_workers: Path) -> Path:
    made = _made_once(of_all_workers / "full.db", full)
    return Path(shutil.copy(made, tmp_path_factory.mktemp("full") / "node07.db"))


@pytest.fixture(scope="session")
def seeds_result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seeds_file(tmp_path_factory.mktemp("seeds") / "seeds.db")


@pytest.fixture
def texts(texts_result: Path, tmp_path: Path) -> Path:
    """A copy of `texts_result` of the test's own."""
    (tmp_path / "texts").mkdir()
    return Path(shutil.copy(texts_result, tmp_path / "texts" / "r.db"))


@pytest.fixture(scope="session")
def texts_result(tmp_path_factory: pytest.TempPathFactory, of_all_workers: Path) -> Path:
    """Every text of the fixtures as a run of its tool, a third of them three times; runs that failed, that cannot be read, that were disturbed."""
    made = _made_once(of_all_workers / "texts.db", texts_file)
    return Path(shutil.copy(made, tmp_path_factory.mktemp("texts") / "r.db"))


def texts_file(path: Path) -> Path:
    counted = {"steal_s": 0.5, "disks": {"own": {"read_bytes": 4096}}}
    reasons = {"reasons": [{"id": "steal", "text": "the hypervisor took 0.5 s"}]}
    maker = Maker(path)
    for tool in ("fio", "imb", "likwid_bench", "mlc", "osu", "poke", "stream"):
        for i, output in enumerate(sorted((FIXTURES / tool).glob("*.out"))):
            text = output.read_text("utf-8", "surrogateescape")
            for n in (0, 1, 2) if i % 3 == 0 else (i // 3 % 3,):
                counters = counted | (reasons if n == 2 else {})
                maker.add(tool, tool, {"text": output.stem}, text, axes=["text"], counters=counters if n else {}, usage={"user_s": 1.0 + n})  # fmt: skip
    metrics = {"rate": {"regex": r"rate ([0-9.]+)", "unit": "MB/s", "better": "higher"}}
    options = {"command": "x", "metrics": metrics}
    for n, text in enumerate(("rate 5.25\n", "rate 5.5\n", "nothing\n", "rate 6\n")):
        maker.add("command", "command", {**options, "n": n % 2}, text, axes=["n"])
    maker.add("command", "command", {**options, "n": 1}, "rate 9\n", axes=["n"], status="disturbed", reason="steal", counters=counted | reasons)  # fmt: skip
    maker.add("command", "command", {**options, "n": 3}, "", axes=["n"], status="failed", reason="no such file")  # fmt: skip
    maker.add("command", "command", {**options, "n": 3}, "rate 1\n", axes=["n"], warm_up=True)
    return maker.write()


@pytest.fixture(scope="session")
def full_built(full_result: Path) -> Page:
    return build(load([full_result]))


@pytest.fixture(scope="session")
def seeds_built(seeds_result: Path) -> Page:
    return build(load([seeds_result]))


@pytest.fixture(scope="session")
def full_page(full_result: Path, of_all_workers: Path) -> str:
    """The page without its scripts."""
    made = _made_once(of_all_workers / "static.html", lambda path: render_report([full_result], path, static=True))
    return made.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def open_page(full_result: Path, of_all_workers: Path) -> str:
    """The page as it is by default, with its scripts."""
    made = _made_once(of_all_workers / "open.html", lambda path: render_report([full_result], path))
    return made.read_text(encoding="utf-8")


def _made_once(path: Path, make: Callable[[Path], object]) -> Path:
    """Return a file that whoever comes first makes, seconds of work, while the other workers wait for it."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            unfinished = path.with_stem(f"{path.stem}-unfinished")
            make(unfinished)
            unfinished.rename(path)
    return path


def sample(n: int, median: float = 270.0, sigma: float = 0.25, tail: float = 1.5e6) -> list[float]:
    """n values like access times: a lognormal by its quantiles, one in a thousand far out, up to `tail`. No chance in it."""
    values = []
    for p, z in _normal(n):
        value = median * math.exp(sigma * z)
        if p > 0.999:
            value *= (tail / value) ** ((p - 0.999) / 0.001)
        values.append(value)
    return values


@functools.cache
def _normal(n: int) -> list[tuple[float, float]]:
    """n shares, and the standard normal distribution's quantiles of them."""
    shares = [(i + 0.5) / n for i in range(n)]
    return [(p, math.sqrt(2) * _inverse_erf(2 * p - 1)) for p in shares]


def _inverse_erf(y: float) -> float:
    a = 0.147
    ln = math.log(1 - y * y)
    first = 2 / (math.pi * a) + ln / 2
    return math.copysign(math.sqrt(math.sqrt(first**2 - ln / a) - first), y)


def full(path: Path, *, host: str = "node07", repeats: int = 2) -> Path:
    """A result file with every kind of sweep, from plain formulas; also what was skipped, failed and disturbed."""
    maker = Maker(path, host=host)
    delays = (0, 2, 8, 15, 50, 100, 200, 300, 500, 700, 1000, 1700, 3500, 9000, 20000)
    for r in range(repeats):
        wobble = 1 + 0.01 * r
        for stride, traffic, peak in (
            (64, "", 26.0),
            (64, "9", 28.0),
            (64, "6", 31.0),
            (256, "", 14.0),
            (256, "9", 17.0),
        ):
            rows = []
            for delay in delays:
                load = 1 / (1 + delay / 90)
                rate = peak * 1e3 * min(1.0, 1.35 * load) * (1 - 0.3 * max(0.0, load - 0.75) / 0.25) * wobble
                rows.append((delay, (60 + 15 * load + 130 * load**6) / wobble, max(rate, 900.0)))
            options = {"mode": "loaded_latency", "W": traffic or "R", "l": stride}
            maker.add(
                "loaded",
                "mlc",
                options,
                mlc_text(rows, traffic=traffic, stride=stride),
                axes=("l", "W"),
                place="local",
                relation="local",
            )
        maker.add(
            "matrices",
            "mlc",
            {"mode": "latency_matrix"},
            matrix_text([[81.0 * wobble, 139.0], [140.0, 82.0]]),
            axes=("mode",),
        )
        maker.add(
            "matrices",
            "mlc",
            {"mode": "bandwidth_matrix"},
            matrix_text([[98000.0, 34000.0], [34100.0, 97500.0 * wobble]], bandwidth=True),
            axes=("mode",),
        )
        for place, top in (("local", 23e3), ("remote", 20.5e3)):
            for threads in (1, 2, 3, 4, 6, 8, 10):
                rate = top * (1 - math.exp(-threads / (1.1 if place == "local" else 1.4))) * wobble
                maker.add(
                    "scaling",
                    "stream",
                    {"threads": threads},
                    stream_text(rate, threads),
                    axes=("place", "threads"),
                    place=place,
                    relation=place,
                )
        for place, base, speed in (("same cache", 0.19, 11.9e3), ("other package", 0.49, 6.1e3)):
            times = {0: base * wobble} | {2**p: base * wobble + 2**p / speed for p in range(23)}
            maker.add(
                "pingpong",
                "imb",
                {"benchmark": "PingPong"},
                imb_text(times),
                axes=("place",),
                place=place,
                relation=place,
            )
        for bs, limit in (("4k", 150e3), ("32k", 45e3)):
            for rw in ("randread", "randwrite", "randrw"):
                for depth in (1, 4, 8, 32, 128):
                    iops = min(limit, limit * depth / 6) * (1.1 if rw == "randwrite" else 1.0) * wobble
                    latency = depth / iops * 1e6
                    shares = {
                        "randread": {"read": 1.0},
                        "randwrite": {"write": 1.0},
                        "randrw": {"read": 0.7, "write": 0.3},
                    }[rw]
                    parts = {d: (iops * share, latency * (1.2 if d == "read" else 0.9)) for d, share in shares.items()}
                    options = {
                        "rw": rw,
                        "bs": bs,
                        "iodepth": depth,
                        "ioengine": "libaio",
                        "direct": True,
                        "rwmixread": 70,
                    }
                    maker.add(
                        "storage",
                        "fio",
                        options,
                        fio_text(parts, bs=bs, rw=rw, iodepth=depth),
                        axes=("bs", "rw", "iodepth"),
                    )
        for size, median in ((2**20, 60.0), (2**30, 270.0)):
            options = {"target": "memory", "bytes": size, "count": 20000}
            maker.add(
                "tails",
                "poke",
                options,
                poke_text(sample(20000, median * wobble), size=size),
                axes=("target", "bytes"),
            )
        options = {"target": "file", "bytes": 2**30, "count": 20000}
        maker.add(
            "tails",
            "poke",
            options,
            poke_text(sample(20000, 710.0, tail=3e5), target="file"),
            axes=("target", "bytes"),
        )
        metrics = {"rate": {"regex": r"rate ([\d.]+) MB/s", "unit": "MB/s", "better": "higher"}}
        for level in (1, 3, 9):
            options = {"command": "zip -{level}", "metrics": metrics, "level": level}
            maker.add(
                "compress",
                "command",
                options,
                f"rate {600 / level * wobble:.1f} MB/s\n",
                axes=("level",),
                sweep_title="Compression by level",
            )
    maker.add(
        "scaling",
        "stream",
        {"threads": 16},
        "",
        axes=("place", "threads"),
        place="local",
        status="failed",
        reason="exit status 1: no numbers",
        stderr="stream: cannot allocate memory\n",
    )
    maker.add(
        "storage",
        "fio",
        {"rw": "randread", "bs": "4k", "iodepth": 256, "ioengine": "libaio", "direct": True, "rwmixread": 70},
        "",
        axes=("bs", "rw", "iodepth"),
        status="timeout",
        reason="still running after 60 s",
    )
    maker.add(
        "pingpong",
        "imb",
        {"benchmark": "PingPong"},
        imb_text({0: 9.0, 8: 9.1}),
        axes=("place",),
        place="same package",
        status="disturbed",
        reason="12 % of the CPUs’ time went to others",
    )
    maker.skip("pingpong", "smt siblings: no core has two PUs that may be used", place="smt siblings")
    return maker.write()


def seeds_file(path: Path) -> Path:
    """A result file with the figures of seeds 003 and 004. Skips the test where the seeds are not at hand."""
    maker = Maker(path, host="seeds", title="Memory, MPI and NVMe, as the seeds measured them")
    for (stride, traffic), rows in seed_mlc().items():
        options = {"mode": "loaded_latency", "W": traffic or "R", "l": stride}
        maker.add("loaded", "mlc", options, mlc_text(rows, traffic=traffic, stride=stride), axes=("l", "W"))
    for place, rates in seed_stream().items():
        for threads, rate in rates.items():
            maker.add(
                "membind",
                "stream",
                {"threads": threads},
                stream_text(rate, threads),
                axes=("place", "threads"),
                place=place,
                relation=place,
            )
    for place, times in seed_pingpong().items():
        maker.add(
            "pingpong",
            "imb",
            {"benchmark": "PingPong"},
            imb_text(times),
            axes=("place",),
            place=place,
            relation=place,
        )
    return maker.write()
