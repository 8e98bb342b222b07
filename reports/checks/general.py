"""Checks that hold for any tool: commands that say something else, summaries that do not follow."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence

from orchestrator.tools import fio
from parsers.measurement import number, whole
from reports import format as fmt
from reports.checks import Fault, check
from reports.checks._cells import (
    by_cell,
    command_text,
    from_table,
    good,
    in_bytes,
    is_captured,
    siblings_key,
    typed_options,
)
from reports.checks.mpi import pingpong
from reports.checks.stream import BYTES
from reports.frames import Results, Run
from reports.grouping import group_by
from reports.readings.imb import timings
from reports.readings.stream import rates

FAMILY = (90, "Any tool")


@check("G2", "error", "warn")
def command_and_result(results: Results) -> Iterator[Fault]:
    """the command line does not say what ran

    Of captured output: an option whose value differs between the command line and the results (numjobs and
    bs are judged by F2 and F3); options that the tool does not have; a digit where a letter belongs
    (`-1256` for `-l256`); a dash of a word processor; a lone `--`; a blank inside `--name =x`; several
    values in one (`--iodepth=1/4/8` are three commands); of a table that names a size, a command without
    one. Of pinsweep's own runs: an option that fio prints
    with another value than asked.

    Do: copy commands from the shell's history into the report, not from memory; run what the report says.
    """
    firsts = [runs[0] for tool in results.tools for runs in by_cell(good(results, tool)).values()]
    for run in firsts:
        if run.tool == "fio" and not is_captured(run):
            for name, asked, printed in _contradictions(run):
                text = f"{name}={asked} was asked for, fio says {name}={printed}"
                yield Fault(level="error", run=run, text=text)
    written = (run for run in firsts if is_captured(run) and run.record.argv)
    for (_, tool, command), members in group_by(written, lambda r: (r.file, r.tool, command_text(r))).items():
        cells = members[0].point.describe() if len(members) == 1 else fmt.plural(len(members), "cell")
        for level, problem in _typing(tool, command):
            yield Fault(
                level="error" if level else "warn",
                run=members[0],
                text=f"{problem}, in “{_short(command)}”",
                cell=cells,
            )
        size = members[0].options.get("size")
        if tool == "fio" and size and from_table(members[0]) and not re.search(r"--(?:size|io_size|filesize)\b", command):  # fmt: skip
            yield Fault(
                level="warn", run=members[0], cell=cells,
                text=f"the rows say size={size}, the command has no --size: fio takes the whole device then",
            )  # fmt: skip
        for name, typed in typed_options(members[0]).items():
            rows = {str(run.options[name]) for run in members if name in run.options}
            if name in ("numjobs", "bs") or not rows or "/" in typed:
                continue
            if not any(same_value(typed, value) for value in rows):
                yield Fault(
                    level="error", run=members[0], cell=cells,
                    text=f"the command says {name}={typed}, the results {fmt.words(sorted(rows))}",
                )  # fmt: skip


def _contradictions(run: Run) -> Iterator[tuple[str, object, object]]:
    facts = run.parsed.facts if run.parsed else {}
    for name, asked in run.point.options.items():
        printed = facts.get(f"option.{name}")
        if (
            printed not in (None, "")
            and isinstance(asked, str | int | float)
            and not same_value(str(printed), asked)
        ):
            yield name, asked, printed


def same_value(a: object, b: object) -> bool:
    """Do two ways of writing mean the same: `4k` and `4096`, `True` and `1`, `20s` and `20`?"""
    if str(a).lower() == str(b).lower():
        return True
    flags = {"true": "1", "false": "0", "yes": "1", "": "1"}
    x, y = (flags.get(str(v).lower(), str(v).lower().removesuffix("s")) for v in (a, b))
    sizes = in_bytes(x), in_bytes(y)
    return x == y or (sizes[0] is not None and sizes[0] == sizes[1])


def _typing(tool: str, command: str) -> Iterator[tuple[bool, str]]:
    """Yield (is it an error?, what is wrong) with how a command line is written."""
    if any(dash in command for dash in "–—−‑"):
        yield True, "a dash of a word processor"
    if re.search(r"(?:^|\s)--(?:\s+\w+=|\s*$)", command):
        yield True, "a lone “--”: what follows is no option"
    if match := re.search(r"\s(--?\w+) =", command):
        yield True, f"a blank in “{match[1]} =”"
    for name, value in re.findall(r"--?(\w+)=([\d.]+[kKmM]?(?:/[\d.]+[kKmM]?)+)(?=\s|$)", command):
        yield False, f"--{name}={value} is {value.count('/') + 1} commands"
    if tool == "mlc":
        for word in re.findall(r"(?<=\s)-(\d+)(?=\s|$)", command):
            like = (
                f", “-l{word[1:]}” with a digit for its letter?"
                if word.startswith("1") and len(word) > 1
                else ""
            )
            yield True, f"MLC has no option “-{word}”{like}"
    if tool == "fio":
        known = {*fio.options(), *fio.OURS, *_FIO_COMMAND_LINE}
        for name in re.findall(r"(?:^|\s)--([a-z][\w-]*)(?==|\s|$)", command.replace(" =", "=")):
            if name.replace("-", "_") not in known:
                yield True, f"fio has no option “--{name}”"


_FIO_COMMAND_LINE = (
    "aux_path", "append_terse", "bandwidth_log", "client", "daemonize", "debug", "eta", "eta_newline", "idle_prof", "max_jobs", "minimal",
    "output", "output_format", "parse_only", "readonly", "section", "server", "showcmd", "status_interval", "terse_version", "version",
    "warnings_fatal",
)  # fmt: skip
"""What fio takes on its command line and not in a job."""


def _short(command: str) -> str:
    return command if len(command) <= 90 else command[:89] + "…"


@check("G3", "error")
def shell_loop(results: Results) -> Iterator[Fault]:
    """a shell loop over the wrong words

    `for i in seq 1 10` runs for the three words seq, 1 and 10; `$(seq 1 10)` was meant. The number of cells
    in the results is not that of the loop. Looked for in the command line of captured output.

    Do: write `for i in $(seq 1 10)`, or let pinsweep unroll the axis (`threads: 1..10`).
    """
    every = (run for tool in results.tools for run in good(results, tool))
    written = (run for run in every if is_captured(run) and run.record.argv)
    for (_, command), members in group_by(written, lambda r: (r.file, command_text(r))).items():
        for match in re.finditer(r"\bfor\s+(\w+)\s+in\s+(seq\s[^;]*?)\s*(?:;|\bdo\b)", command):
            words = match[2].split()
            cells = len(by_cell(members))
            yield Fault(
                level="error", run=members[0], cell=fmt.plural(cells, "cell"),
                text=f"“{match[0].rstrip(' ;')}” runs {len(words)} times, for {fmt.words(words)}; the results have {fmt.plural(cells, 'cell')}",
            )  # fmt: skip


_CLAIM = re.compile(
    r"(?P<what>maximum|max\.?|peak|highest)\s+(?:\w+\s+){0,2}?bandwidth\D{0,30}?(?P<rate>\d+(?:\.\d+)?)\s*\\?,?\s*(?P<rate_unit>[GM]i?B/s)"
    r"|latency\D{0,30}?(?P<time>\d+(?:\.\d+)?)\s*\$?\s*(?P<time_unit>\\mu\s*s|[µμu]s|ns)\b",
    re.IGNORECASE,
)


@check("G4", "warn")
def summary(results: Results) -> Iterator[Fault]:
    """a summary that does not follow from the rows

    Sentences around a captured PingPong table that quote a maximum bandwidth or a latency. The bandwidth
    must be that of the largest row, ÷ 1000, 1024 or 2^20, rounded or cut as quoted; a latency must be the
    time of 0 bytes. What is one digit away from a row, or is another row than the maximum, is said to be
    so.

    Do: let the numbers of a text be made from the table.
    """
    for runs in by_cell(good(results, "imb")).values():
        run = runs[0]
        known = {size: one.time for size, one in pingpong(runs).items()}
        if not is_captured(run) or not run.stdout or len(known) < 3:
            continue
        megabyte = number((run.parsed.facts if run.parsed else {}).get("megabyte") or 1e6)
        for match in _CLAIM.finditer(re.sub(r"\\(?:,|text|mathrm)|\{|\}", " ", run.stdout)):
            if match["rate"]:
                problem = _rate_claim(
                    match["rate"], match["rate_unit"], known, _column(run, megabyte), megabyte
                )
            else:
                problem = _time_claim(match["time"], match["time_unit"], known)
            if problem:
                yield Fault(level="warn", run=run, text=problem)


def _column(run: Run, megabyte: float) -> float:
    """Return the largest figure of the table's own Mbytes/sec column."""
    return max((row.bandwidth or 0.0 for row in timings(run)), default=0.0) / megabyte


def _rate_claim(text: str, unit: str, known: Mapping[int, float], column: float, megabyte: float) -> str:
    """Judge a quoted maximum: derivable from the largest bandwidth by some divisor, from another row, or from none."""
    rates = {size: size / t * 1e9 for size, t in known.items() if size and t}
    best = max(rates, key=lambda s: rates[s])
    quoted = [
        size
        for size in rates
        if any(_quotes(text, rates[size] / m / d) for m in (megabyte, 1e6) for d in _divisors(unit))
    ]
    if quoted:
        if rates[best] <= 1.01 * max(rates[size] for size in quoted):
            return ""
        rows = " or ".join(f"{fmt.size(s)}{' (the last)' * (s == max(rates))}" for s in quoted)
        return f"“maximum {text} {unit}” is the row of {rows}; the maximum is {fmt.quantity(rates[best], 'B/s')} at {fmt.size(best)}"
    for divisor in _divisors(unit):
        value = f"{column / divisor:.{len(text.partition('.')[2])}f}"
        if len(value) == len(text) and sum(a != b for a, b in zip(value, text, strict=True)) == 1:
            return f"“{text} {unit}” matches no row by any unit; {value}, one digit away, is {column:.2f} ÷ {divisor:g}; in bytes ÷ time it is {fmt.quantity(rates[best], 'B/s', 4)}"
    return f"“{text} {unit}” matches no row by any unit; the maximum is {fmt.quantity(rates[best], 'B/s', 4)}"


def _divisors(unit: str) -> tuple[float, ...]:
    return (1000.0, 1024.0) if unit.upper().startswith("G") else (1.0,)


def _quotes(text: str, value: float) -> bool:
    """Is the text the value, rounded or cut to as many digits? Half a per cent is left for times that were rounded themselves."""
    digits = len(text.partition(".")[2])
    quoted, step = float(text), 10.0**-digits
    return abs(value - quoted) <= step / 2 + 0.0005 * value or 0 <= value - quoted < step


def _time_claim(text: str, unit: str, known: Mapping[int, float]) -> str:
    factor = 1.0 if unit == "ns" else 1e3
    zero = known.get(0)
    if zero is None or abs(float(text) * factor - zero) < 1e-6 * zero:
        return ""
    return f"“latency {text} {unit.replace(chr(92) + 'mu', 'µ').replace(' ', '')}” is not the time of 0 bytes, {fmt.quantity(zero, 'ns')}"


@check("G5", "warn")
def too_good_a_speedup(results: Results) -> Iterator[Fault]:
    """a speed-up beyond the number of workers

    STREAM at n threads above 1.15 · n times one thread of the same cell: one thread was disturbed, ran
    elsewhere, or ran first on cold memory. Of variants that always ran in the same order nothing else can
    be said.

    Do: interleave the runs (`order: interleaved`), and repeat the run with one thread.
    """
    for siblings in group_by(good(results, "stream"), lambda r: siblings_key(r, ("threads",))).values():
        medians: dict[int, float] = {}
        by_threads = group_by(siblings, _threads)
        for n, runs in by_threads.items():
            triad = [row.bandwidth for run in runs for row in rates(run) if row.kernel == "triad"]
            if n and triad:
                medians[n] = statistics.median(triad)
        for n, many in medians.items():
            if n > 1 and 1 in medians and many > 1.15 * n * medians[1]:
                text = f"{fmt.number(many / medians[1])} × one thread with {n}"
                yield Fault(level="warn", run=by_threads[n][0], text=text)


def _threads(run: Run) -> int | None:
    """Return the threads that the program counted, else those that were asked for."""
    return whole((run.parsed.facts if run.parsed else {}).get("threads") or run.options.get("threads"))


@check("G6", "warn", "info")
def clock(results: Results) -> Iterator[Fault]:
    """a clock too coarse for what it times, or a mean that a few values make

    poke: the timer's own cost, or its step, at 10 % of the median or more; of a table, what an access to
    0 bytes takes, at 10 % of the mean or more. A standard deviation above the mean latency (info): a few
    slow operations make the mean.

    Do: time many operations at once where the clock is coarse; quote the median and the tail where the
    deviation is large.
    """
    for runs in by_cell(good(results, "poke")).values():
        flags = [(run, flag) for run in runs if run.parsed for flag in run.parsed.flags]
        coarse = [f for f in flags if f[1].id in ("timer_limited", "clock_backwards")]
        if coarse:
            yield Fault(level="warn", run=coarse[0][0], text=coarse[0][1].text)
    yield from _of_tables([run for run in good(results, "poke") if from_table(run)])
    for runs in by_cell(good(results, "fio")).values():
        for direction in ("read", "write"):
            found = []
            for run in runs:
                rows = (r for r in run.measured() if r.metric == "lat" and r.get("direction") == direction)
                own = {r.get("statistic"): r.value for r in rows}
                if own.get("mean", 0.0) > 0 and own.get("sd", 0.0) > own["mean"]:
                    found.append((run, own))
            if len(found) * 2 > len(runs):
                run, own = found[0]
                yield Fault(
                    level="info", run=run,
                    text=f"{direction}: mean {fmt.quantity(own['mean'], 'ns')}, standard deviation {fmt.quantity(own['sd'], 'ns')}",
                )  # fmt: skip


def _of_tables(runs: Sequence[Run]) -> Iterator[Fault]:
    """Judge means and deviations of single accesses, and what the access to nothing tells of their clock."""
    tables = [(run, _latencies(run)) for run in runs]
    empty = {
        target: value
        for run, found in tables
        for (target, statistic), value in found.items()
        if statistic == "mean" and whole(run.options.get("bytes")) == 0
    }
    for run, found in tables:
        for target in dict.fromkeys(target for target, _ in found):
            mean, none = found.get((target, "mean"), 0.0), empty.get(target, 0.0)
            if whole(run.options.get("bytes")) and 0 < mean <= 10 * none:
                yield Fault(
                    level="warn", run=run,
                    text=f"{target}: of {fmt.quantity(mean, 'ns')}, {fmt.quantity(none, 'ns')} are what an access to 0 bytes takes",
                )  # fmt: skip
            if 0 < mean < (deviation := found.get((target, "sd"), 0.0)):
                yield Fault(
                    level="info", run=run,
                    text=f"{target}: mean {fmt.quantity(mean, 'ns')}, standard deviation {fmt.quantity(deviation, 'ns')}",
                )  # fmt: skip


def _latencies(run: Run) -> dict[tuple[str, str], float]:
    rows = (row for row in run.measured() if row.metric == "latency")
    return {(str(row.get("target")), str(row.get("statistic"))): row.value for row in rows}


@check("G7", "error")
def units(results: Results) -> Iterator[Fault]:
    """units that do not go together

    STREAM: rate · least time ÷ (elements · 8 B · arrays moved) is 1; 1.05 or 0.95 is MB against MiB, 2 or
    0.5 is float against double. MLC: an idle latency under 1 ns is no memory's. Off by more than 3 %, and
    by more than half of the last digit of the times: error.

    Do: find out which of the figures has the unit that it says.
    """
    for runs in by_cell(good(results, "stream")).values():
        run = runs[0]
        facts = run.parsed.facts if run.parsed else {}
        elements, width = facts.get("array_size"), facts.get("bytes_per_element") or 8
        by_kernel = group_by(run.measured(), lambda row: str(row.get("kernel")))
        rows = {kernel: {row.metric: row.value for row in own} for kernel, own in by_kernel.items()}
        for kernel, values in rows.items():
            if kernel not in BYTES or not elements or not values.get("time_min") or "bandwidth" not in values:
                continue
            expected = number(elements) * number(width) / 8 * BYTES[kernel]
            took = expected / values["bandwidth"] * 1e9
            ratio = values["time_min"] / took
            if abs(values["time_min"] - took) > max(0.03 * took, 0.51 * _step(rows)):
                yield Fault(
                    level="error", run=run,
                    text=f"{kernel}: {fmt.quantity(values['bandwidth'], 'B/s', 4)} × {fmt.quantity(values['time_min'], 'ns', 4)} ÷ "
                    f"{fmt.quantity(expected, 'B', 4)} = {fmt.number(ratio)}",
                )  # fmt: skip
                break
    for run in good(results, "mlc"):
        low = [row.value for row in run.measured() if row.metric == "latency"]
        if low and min(low) < 1.0:
            yield Fault(level="error", run=run, text=f"a latency of {fmt.number(min(low))} ns")


def _step(rows: Mapping[str, Mapping[str, float]]) -> float:
    """Return the last digit (ns) of times that were printed in s: with "0.0001" and "0.0002" it is 100 µs."""
    printed = [v for values in rows.values() for name, v in values.items() if name.startswith("time_")]
    return 10.0 ** next(
        (p for p in range(9, 0, -1) if all(abs(v / 10**p - round(v / 10**p)) < 1e-6 for v in printed)), 0
    )


@check("G8", "warn")
def another_machine(results: Results) -> Iterator[Fault]:
    """the output tells of another machine than the session

    More threads or ranks on a host than the recorded topology has PUs, or NUMA nodes in a matrix that it
    does not have.

    Do: take the topology from the machine that ran, or leave it out.
    """
    for tool in results.tools:
        for runs in by_cell(good(results, tool)).values():
            run = runs[0]
            machine = run.session.topology
            if machine is None:
                continue
            pus = len(machine.pus)
            threads = whole((run.parsed.facts if run.parsed else {}).get("threads"))
            if tool in ("stream", "mlc", "likwid_bench") and threads and threads > pus:
                yield Fault(
                    level="warn", run=run, text=f"{threads} threads ran, the recorded machine has {pus} PUs"
                )
            matrices = (
                r for r in run.measured() if r.get("section") in ("latency_matrix", "bandwidth_matrix")
            )
            nodes = {node for row in matrices if (node := whole(row.get("to"))) is not None}
            there = {node.os_index for node in machine.numa_nodes}
            if nodes - there:
                yield Fault(level="warn", run=run, text=f"NUMA nodes {fmt.words(map(str, sorted(nodes)))} in the matrix, the recorded machine has {fmt.words(map(str, sorted(there)))}")  # fmt: skip
