"""Fifteen result files, one of each kind, made by formulas from fixed texts: no machine and no clock decides what is in them."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from orchestrator.capture.intake import Captured, intake_options, read
from orchestrator.capture.kept import store
from tests.reports import conftest as make

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


def noise(scale: float = 0.01) -> Iterator[float]:
    """Yield factors around 1, uniform within ± `scale`: the same ones each time, on every machine (a linear congruential generator)."""
    state = 1
    while True:
        state = (state * 1103515245 + 12345) % 2**31
        yield 1 + scale * (2 * state / 2**31 - 1)


def fixture(name: str) -> str:
    return (FIXTURES / f"{name}.out").read_text("utf-8")


def take(result: Path, name: str, text: str, settings: Sequence[str] = (), tool: str | None = None) -> None:
    """Import a captured text, as `pinsweep parse` does."""
    file = result.parent / name
    file.write_text(text, encoding="utf-8")
    asked = intake_options(tool, (), settings, "", "")
    items = [item for item in read([str(file)], asked) if isinstance(item, Captured)]
    assert items, name
    store(iter(items), result, asked, version="test")
    file.unlink()


def fio_jobs(folder: Path) -> None:
    """fio's JSON: mixes over depths, and its own json+ with several jobs."""
    maker, factor = make.Maker(folder / "fio-jobs.db"), noise()
    for depth in (1, 8, 32):
        for rw, directions in (
            ("randread", ("read",)),
            ("randwrite", ("write",)),
            ("randrw", ("read", "write")),
        ):
            for _ in range(3):
                iops = {d: (20_000 * min(depth, 16) * next(factor), depth * 55.0 * next(factor)) for d in directions}  # fmt: skip
                text = make.fio_text(iops, bs="4k", rw=rw, iodepth=depth)
                maker.add("storage", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"), place="all", relation="local")  # fmt: skip
    for name in ("jsonplus_randrw", "jsonplus_two_jobs"):
        maker.add(name, "fio", {"rw": "randrw"}, fixture(f"fio/{name}"))
    maker.write()


def fio_texts(folder: Path) -> None:
    """Captured outputs of fio in four of its formats."""
    result = folder / "fio-texts.db"
    for name in ("normal_randrw", "terse_v3", "terse_v5", "client_server_normal", "json_status_interval"):
        take(result, f"{name}.txt", fixture(f"fio/{name}"))


def stream(folder: Path) -> None:
    """Threads × local and remote memory, five repeats; captured tables of other builds."""
    maker, factor = make.Maker(folder / "stream.db"), noise()
    for place in ("local", "remote"):
        for threads in (1, 2, 4, 8):
            for _ in range(5):
                rate = min(threads, 5) * (11e3 if place == "local" else 6e3) * next(factor)
                maker.add("scaling", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",), place=place, relation=place)  # fmt: skip
    for name in ("stream_fortran_omp2", "stream_omp2", "stream_failed_validation_bc"):
        maker.add(name, "stream", {"threads": 2}, fixture(f"stream/{name}"))
    maker.write()


def mlc(folder: Path) -> None:
    """Loaded latency of three mixes and two strides, matrices, and the six modes of the built-in kernel."""
    maker, factor = make.Maker(folder / "mlc.db"), noise()
    for stride, traffic in ((64, ""), (64, "6"), (256, "")):
        for _ in range(3):
            rows = [
                (delay, (70 + 200 / (1 + delay / 50)) * next(factor), 28e3 / (1 + delay / 300) * next(factor))
                for delay in (0, 2, 8, 50, 100, 300, 1000)
            ]
            options = {"mode": "loaded_latency", "l": stride, "W": traffic or "R"}
            maker.add("loaded", "mlc", options, make.mlc_text(rows, traffic=traffic, stride=stride), axes=("l", "W"))  # fmt: skip
    maker.add("matrix", "mlc", {"mode": "latency_matrix"}, make.matrix_text([[80.1, 140.2], [141.3, 79.4]]))
    rates = [[41e3, 20e3], [20.5e3, 41.2e3]]
    maker.add("rates", "mlc", {"mode": "bandwidth_matrix"}, make.matrix_text(rates, bandwidth=True))
    maker.add("modes", "mlc", {"mode": "idle_latency"}, fixture("mlc/memlat_0.1_six_runs"))
    maker.write()


def imb(folder: Path) -> None:
    """PingPong within and between packages, and captured collectives, RMA and multiple pairs."""
    maker, factor = make.Maker(folder / "imb.db"), noise()
    for place, start in (("same package", 0.4), ("other package", 0.9)):
        for _ in range(3):
            times = {n: round((start + n / 9e3) * next(factor), 2) for n in (0, *(2**p for p in range(23)))}
            maker.add("pingpong", "imb", {"benchmark": "PingPong"}, make.imb_text(times), place=place, relation=place)  # fmt: skip
    for name in ("multi1_np4", "nbc", "rma", "uniband_biband", "mt_noheader"):
        maker.add(name, "imb", {"benchmark": "PingPong"}, fixture(f"imb/{name}"))
    maker.write()


def poke(folder: Path) -> None:
    """Latency tails of memory and of a file, and captured modes."""
    maker, factor = make.Maker(folder / "poke.db"), noise(0.1)
    for target, base in (("memory", 80.0), ("file", 900.0)):
        for size in (2**20, 2**30):
            for _ in range(3):
                samples = [base * next(factor) * (40 if i % 97 == 0 else 1) for i in range(2000)]
                maker.add("tails", "poke", {"target": target, "bytes": size}, make.poke_text(samples, target=target, size=size), axes=("target", "bytes"))  # fmt: skip
    for name in ("compute_sine", "files_100x10kB", "memory_1GB_write_fence"):
        maker.add(name, "poke", {"target": name.partition("_")[0]}, fixture(f"poke/{name}"))
    maker.write()


METRICS = {
    "rate": {"regex": r"rate ([0-9.]+)", "unit": "1/s", "better": "higher"},
    "time": {"regex": r"time ([0-9.]+) ms", "unit": "ms", "better": "lower"},
}


def command_runs(maker: Any, factor: Iterator[float], cells: dict[int, float], repeats: int) -> None:
    """Add the runs of a program with two metrics; the rate of each cell is given."""
    for n, rate in cells.items():
        for _ in range(repeats):
            value = rate * next(factor)
            text = f"rate {value:.3f}\ntime {1e6 / value:.4f} ms\n"
            maker.add("program", "command", {"command": "x", "metrics": METRICS, "n": n}, text, axes=("n",), place="local", relation="local")  # fmt: skip


CELLS = {1: 1000.0, 2: 1900.0, 4: 3600.0, 8: 6100.0}


def command(folder: Path) -> None:
    """A program of the user's own with two metrics."""
    maker = make.Maker(folder / "command.db")
    command_runs(maker, noise(), CELLS, 5)
    maker.write()


def compared(folder: Path) -> None:
    """Two files, five repeats per side: n=2 is 8 % slower, n=8 is 8 % faster, the rest did not change."""
    factor = noise(0.005)
    for name, change in (("a", {}), ("b", {2: 0.92, 8: 1.08})):
        maker = make.Maker(folder / f"compare-{name}.db")
        hour = {"a": "09", "b": "15"}[name]
        maker.started, maker.ended = f"2026-11-21T{hour}:15:02+00:00", f"2026-11-21T{hour}:30:00+00:00"
        command_runs(maker, factor, {n: rate * change.get(n, 1) for n, rate in CELLS.items()}, 5)
        maker.write()


def fleet(folder: Path) -> None:
    """Twelve hosts; n07 is 12 % slower in one cell, and n11 in all."""
    (folder / "fleet").mkdir()
    factor = noise(0.004)
    for number in range(1, 13):
        host = f"n{number:02}"
        maker = make.Maker(folder / "fleet" / f"{host}.db", host=host)
        slow = {"n07": {4: 0.88}, "n11": dict.fromkeys(CELLS, 0.9)}.get(host, {})
        command_runs(maker, factor, {n: rate * slow.get(n, 1) for n, rate in CELLS.items()}, 3)
        maker.write()


def history(folder: Path) -> None:
    """Twenty nights of one host; from the twelfth on n=4 is 9 % slower."""
    (folder / "history").mkdir()
    factor = noise(0.006)
    for night in range(1, 21):
        maker = make.Maker(folder / "history" / f"night{night:02}.db")
        maker.started, maker.ended = (
            f"2026-10-{night:02}T02:00:00+00:00",
            f"2026-10-{night:02}T02:20:00+00:00",
        )
        slow = {4: 0.91} if night >= 12 else {}
        command_runs(maker, factor, {n: rate * slow.get(n, 1) for n, rate in CELLS.items()}, 3)
        maker.write()


def schema_1(folder: Path) -> None:
    """A file of the first release."""
    (folder / "schema-1.db").write_bytes(gzip.decompress((FIXTURES / "result_files/schema-1.db.gz").read_bytes()))


def troubled(folder: Path) -> None:
    """Runs that failed, that were disturbed at every attempt or until a quiet one, and cells that were skipped."""
    maker, factor = make.Maker(folder / "troubled.db"), noise()
    busy = {"elapsed_s": 1.5, "foreign_s": 0.4, "reasons": [{"id": "foreign", "text": "other processes took 27 % of CPU 0"}]}  # fmt: skip
    for n, rate in CELLS.items():
        options = {"command": "x", "metrics": METRICS, "n": n}
        for repeat in (1, 2, 3):
            text = f"rate {rate * next(factor):.3f}\n"
            common = {"axes": ("n",), "place": "local", "relation": "local", "repeat": repeat}
            if n == 2 and repeat == 1:
                maker.add("program", "command", options, "", status="failed", reason="exit status 1: no memory", **common)  # fmt: skip
                continue
            attempts = 3 if n == 4 else 1 if n == 8 and repeat == 2 else 0
            for attempt in range(1, attempts + 1):
                maker.add("program", "command", options, text, status="disturbed", reason="busy", attempt=attempt, counters=busy, **common)  # fmt: skip
            if attempts < 3:
                maker.add("program", "command", options, text, attempt=attempts + 1, counters={"elapsed_s": 1.5, "reasons": []}, **common)  # fmt: skip
    maker.skip("program", "remote memory: this machine has only one NUMA node", n=16)
    maker.write()


def allowed(folder: Path) -> None:
    """Disturbed runs that count, because the user allowed them."""
    maker, factor = make.Maker(folder / "allowed.db"), noise()
    busy = {"elapsed_s": 1.5, "foreign_s": 0.2, "reasons": [{"id": "foreign", "text": "other processes took 13 % of CPU 0"}]}  # fmt: skip
    for threads in (1, 2):
        for repeat in (1, 2, 3):
            text = make.stream_text(threads * 11e3 * next(factor), threads)
            counters = busy if repeat == 1 or threads == 2 else {"elapsed_s": 1.5, "reasons": []}
            maker.add("scaling", "stream", {"threads": threads}, text, axes=("threads",), place="local", relation="local", counters=counters)  # fmt: skip
    maker.write()


def others(folder: Path) -> None:
    """Captured outputs of OSU and likwid-bench."""
    result = folder / "others.db"
    for name in ("osu/latency", "osu/allreduce_full", "likwid_bench/copy_two_threads"):
        take(result, f"{name.replace('/', '-')}.txt", fixture(name))


BUILDERS: tuple[Callable[[Path], None], ...] = (
    fio_jobs, fio_texts, stream, mlc, imb, poke, command, compared, fleet, history, schema_1, troubled, allowed, others,
)  # fmt: skip


def build(folder: Path) -> None:
    """Make all result files in a folder."""
    for builder in BUILDERS:
        builder(folder)
