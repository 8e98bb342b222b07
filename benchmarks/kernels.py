"""Our kernels against the programs they stand in for, or are measured by, in turns.

    python benchmarks/kernels.py --stream-c stream.c --multichase multichase --turns 15 --json kernels.json

Needs pinsweep's environment (it compiles the kernels as a user gets them). Taken from PATH where they are:
likwid-bench, stress-ng; from PINSWEEP_MLC: Intel MLC. numademo is left out: it refuses machines with one NUMA node.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from turns import Side, report, take_turns

from orchestrator.programs import kernels
from parsers import get_parser

COUNTED = {"copy": 2, "scale": 2, "add": 3, "triad": 3}  # arrays a loop touches, as STREAM counts


def main() -> int:
    options = _options()
    cpus = sorted(os.sched_getaffinity(0))
    size = options.array_size
    with tempfile.TemporaryDirectory() as folder:
        contests: dict[str, Callable[[], list[Pair]]] = {
            "stream": lambda: _stream(options, Path(folder), len(cpus)),
            "likwid": lambda: _likwid(options, cpus),
            "stress-ng": lambda: _stress_ng(options, len(cpus)),
            "multichase": lambda: _multichase(options, cpus[0]),
            "mlc": _mlc,
        }
        pairs = [pair for name in options.only or contests for pair in contests[name]()]
        rows, samples = take_turns(pairs, options.turns)
    if not rows:
        print("error: nothing to compare with is here; see --help", file=sys.stderr)
        return 2
    title = f"kernels, {len(cpus)} threads, arrays of {size} doubles (figures in MB/s, or ns)"
    return report(title, rows, samples, options.json, options.strict)


def _options() -> argparse.Namespace:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--stream-c", type=Path, help="the official stream.c; compiled with the kernels' own flags")
    words.add_argument("--multichase", help="the program multichase")
    words.add_argument("--turns", type=int, default=9)
    words.add_argument("--array-size", type=int, default=50_000_000, help="doubles in one array (50 million)")
    words.add_argument("--chase", default="1g", help="footprint of the latency chase (1g)")
    words.add_argument("--only", nargs="*", choices=("stream", "likwid", "stress-ng", "multichase", "mlc"))
    words.add_argument("--json", type=Path, help="write figures and samples there")
    words.add_argument("--strict", action="store_true", help="fail if others used more than 1 %% of the machine")
    return words.parse_args()


Pair = tuple[Side, Side]
"""Ours and theirs."""


def _omp(threads: int) -> dict[str, str]:
    return {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "true", "OMP_PLACES": "threads"}


Read = Callable[[str, Mapping[str, float]], dict[str, float]]


def _figure(name: str, pattern: str) -> Read:
    """Return a reader of one figure: the first that the pattern finds; none is no figure."""

    def read(text: str, _: Mapping[str, float]) -> dict[str, float]:
        found = re.search(pattern, text, re.MULTILINE)
        return {name: float(found[1])} if found else {}

    return read


def _rates(text: str, _: Mapping[str, float]) -> dict[str, float]:
    """MB/s of the four loops from STREAM's table: the best of the passes."""
    found = re.findall(r"^(Copy|Scale|Add|Triad): +([\d.]+)", text, re.MULTILINE)
    return {loop.lower(): float(value) for loop, value in found}


def _ours_stream(options: argparse.Namespace, stores: str, threads: int) -> Side:
    argv = [
        str(kernels.build("stream")),
        f"--array-size={options.array_size}",
        "--ntimes=10",
        f"--stores={stores}",
    ]
    return Side(name=f"stream --stores {stores}", argv=argv, env=_omp(threads), read=_rates)


def _stream(options: argparse.Namespace, folder: Path, threads: int) -> list[Pair]:
    if options.stream_c is None:
        return []
    program = folder / "stream_c"
    native = "-mcpu=native" if os.uname().machine == "aarch64" else "-march=native"
    flags = [flag for flag in (*kernels.OPTIONS, native) if not flag.startswith("-W")]
    if 3 * 8 * options.array_size > 2 * 10**9:  # its arrays are static
        flags.append("-mcmodel=medium")
    subprocess.run(
        [kernels.find_compiler(), *flags, f"-DSTREAM_ARRAY_SIZE={options.array_size}", "-DNTIMES=10",
         str(options.stream_c), "-o", str(program)], check=True,
    )  # fmt: skip
    theirs = Side(name="stream.c", argv=[str(program)], env=_omp(threads), read=_rates)
    return [(_ours_stream(options, "auto", threads), theirs)]


def _likwid(options: argparse.Namespace, cpus: list[int]) -> list[Pair]:
    """Copy and triad with ordinary stores, and reads: likwid's widest kernel of each."""
    program = shutil.which("likwid-bench")
    if not program:
        return []
    known = subprocess.run([program, "-a"], capture_output=True, text=True, check=False).stdout
    flags = Path("/proc/cpuinfo").read_text()
    widths = [
        *(["_avx512"] if "avx512f" in flags else []), *(["_avx"] if " avx " in flags else []), "_sse", "",
    ]  # fmt: skip

    def side(kernel: str, figure: str, arrays: int) -> Side:
        name = next(kernel + width for width in widths if f"{kernel}{width} -" in known)
        size = f"{8 * options.array_size * arrays // 1000}kB"

        read = _figure(figure, r"^MByte/s:\s+([\d.]+)")

        return Side(name=f"likwid-bench {name}", argv=[program, "-t", name, "-w", f"N:{size}:{len(cpus)}"], read=read)

    cached = _ours_stream(options, "cached", len(cpus))
    kib = 8 * options.array_size // len(cpus) // 1024
    peak = Side(
        name="memlat --peak_injection_bandwidth",
        argv=[str(kernels.build("memlat")), "--peak_injection_bandwidth", f"-b{kib}", "-t1"],
        read=_figure("reads", r"^ALL Reads\s*:\s*([\d.]+)"),
    )
    return [
        (cached, side("copy", "copy", 2)),
        (cached, side("stream", "triad", 3)),
        (peak, side("load", "reads", 1)),
    ]


def _stress_ng(options: argparse.Namespace, threads: int) -> list[Pair]:
    """stress-ng gives one rate for all it reads and writes in four loops: so ours are put together, by their times."""
    program = shutil.which("stress-ng")
    if not program:
        return []

    def all_loops(text: str, _: Mapping[str, float]) -> dict[str, float]:
        rows = re.findall(r"^(Copy|Scale|Add|Triad): +[\d.]+ +([\d.]+)", text, re.MULTILINE)
        moved = sum(8e-6 * options.array_size * COUNTED[loop.lower()] for loop, _ in rows)
        return {"all loops": moved / sum(float(average) for _, average in rows)} if rows else {}

    def rate(text: str, _: Mapping[str, float]) -> dict[str, float]:
        found = re.findall(r"([\d.]+) memory (?:read|write) rate \(MB per sec\)", text)  # means over the instances
        return {"all loops": threads * sum(map(float, found))} if len(found) == 2 else {}

    cache_kib = 8 * options.array_size // threads // 4 // 1024  # its arrays are four times that
    theirs = Side(
        name="stress-ng --stream",
        argv=[program, "--stream", str(threads), "--stream-l3-size", f"{cache_kib}k", "-t", "8", "--metrics"],
        read=rate,
    )
    return [(replace(_ours_stream(options, "auto", threads), read=all_loops), theirs)]


def _multichase(options: argparse.Namespace, cpu: int) -> list[Pair]:
    """Medians over 3 s, the first half second out; the same footprint, stride (256) and locality (256 KiB).

    One line of every 256 bytes (memlat -l256, multichase as it is), and every line in turn (memlat as it is,
    multichase -L); huge pages and small ones.
    """
    program = options.multichase and shutil.which(options.multichase)
    if not program:
        return []
    memlat = str(kernels.build("memlat"))
    median = _figure("idle latency", r"^Each iteration took .*\(\s*([\d.]+)\s+ns\)")

    def samples(text: str, _: Mapping[str, float]) -> dict[str, float]:
        found = [float(word) for word in re.findall(r"avg=([\d.]+)", text)]
        return {"idle latency": statistics.median(found)} if found else {}

    def sides(label: str, ours: list[str], theirs: list[str]) -> tuple[Side, Side]:
        return (
            Side(
                name=f"memlat {label}",
                argv=[memlat, "--idle_latency", f"-c{cpu}", f"-b{options.chase}", "-t3", *ours],
                read=median,
            ),
            Side(
                name=f"multichase {label}",
                argv=[program, f"-m{options.chase}", "-v", "-n6", *theirs],
                read=samples,
            ),
        )

    mode = _bracketed(Path("/sys/kernel/mm/transparent_hugepage/enabled"))
    pairs = []
    if mode != "never":
        pairs += [
            sides("one line of four, huge pages", ["-L", "-l256"], ["-H"]),
            sides("every line, huge pages", ["-L"], ["-H", "-L"]),
        ]
    if mode != "always":  # multichase refuses huge pages, memlat takes what the machine gives
        pairs += [
            sides("one line of four, small pages", ["-l256"], []),
            sides("every line, small pages", [], ["-L"]),
        ]
    return pairs


def _bracketed(path: Path) -> str:
    try:
        found = re.search(r"\[(\w+)\]", path.read_text())
    except OSError:
        return "never"
    return found[1] if found else "never"


def _mlc() -> list[Pair]:
    """The same options to both: idle latency in random order, and reads from every node."""
    program = shutil.which(os.environ.get("PINSWEEP_MLC") or "mlc")
    if not program:
        return []

    def read(text: str, _: Mapping[str, float]) -> dict[str, float]:
        parsed = get_parser("mlc").parse(text)
        columns = parsed.measurements.columns
        named: Iterator[dict[str, object]] = (dict(zip(columns, row, strict=True)) for row in parsed.measurements.rows)
        return {
            " ".join(str(v) for k, v in row.items() if k not in ("value", "unit") and v is not None): float(
                str(row["value"])
            )
            for row in named
        }

    pairs = []
    for words in (
        ["--idle_latency", "-r", "-e", "-b1048576", "-t2"],
        ["--bandwidth_matrix", "-e", "-b200000", "-t2"],
    ):
        ours = Side(name=f"memlat {words[0]}", argv=[str(kernels.build("memlat")), *words], read=read)
        pairs.append((ours, Side(name=f"mlc {words[0]}", argv=[program, *words], read=read)))
    return pairs


if __name__ == "__main__":
    sys.exit(main())
