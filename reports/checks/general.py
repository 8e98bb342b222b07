"""Checks for any tool: options without effect, commands that contradict the run, and inconsistent units."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterator, Sequence

from orchestrator.capture import cut
from orchestrator.machine.facts import changed, short
from orchestrator.model import UNPINNED
from orchestrator.placement.place import where
from orchestrator.tools import get_tool
from parsers.measurement import Measurement, whole
from reports.checks import ANY_TOOL, Fault, Level, check, judged, parts
from reports.checks._cells import (
    QUOTE_THE_TAIL,
    command_text,
    in_bytes,
    own_command,
    siblings_key,
    typed_options,
    wide,
)
from reports.numbers import Name, Repeats, all_cells, cells
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = ANY_TOOL


@check("G1", "warn", "info")
def no_effect(results: Results) -> Iterator[Fault]:
    """an option without effect

    Two curves of MLC that differ in one option agree within 10 %, while the option changes another pair by more than 20
    %. Or two cells with different options have ten or more figures that are the same to the last digit. An axis that no
    output repeats is info if all medians are within the noise of three repeats or more. Such an axis flags no number.

    Do: check that the option reached the tool, and that it applies to this traffic.
    """
    yield from _whole_axes(results)
    yield from parts("G1", results)


def _whole_axes(results: Results) -> Iterator[Fault]:
    for tool in results.tools:
        every = [cell.runs for cell in cells(results, tool)]
        yield from _copies(every)
        for name in dict.fromkeys(axis for runs in every for axis in runs[0].cell.swept):
            unprinted = [runs for runs in every if name in runs[0].cell.options and not _printed(runs[0], name)]
            keys = [(siblings_key(runs[0], (name,)), runs) for runs in unprinted]
            siblings = group_by(keys, lambda pair: pair[0]).values()
            swept = [[runs for _, runs in same] for same in siblings if len(same) > 1]
            if swept and all(_agree(members) for members in swept):
                values = [str(runs[0].cell.options[name]) for runs in swept[0]]
                yield Fault(
                    level="info", run=swept[0][0][0], cell=fmt.plural(sum(map(len, swept)), "cell"),
                    runs=tuple(runs[0] for members in swept for runs in members),
                    text=f"{name}={fmt.words(values)}: no figure differs by more than its noise",
                )  # fmt: skip


def _copies(every: Sequence[Sequence[Run]]) -> Iterator[Fault]:
    """Yield cells with equal figures and different options, such as a file under two names or an axis without
    effect.
    """
    first_runs: dict[tuple[object, ...], Run] = {}
    for run in (runs[0] for runs in every if len(every) > 1):
        figures = tuple(row.value for row in run.measured())
        if len(set(figures)) < 10:
            continue
        before = first_runs.setdefault((run.file, run.tool, figures), run)
        options, others = (
            {k: v for k, v in candidate.cell.options.items() if k != "source"} for candidate in (run, before)
        )
        differs = sorted(k for k in {*options, *others} if options.get(k) != others.get(k))
        if differs and _facts(before) == _facts(run):
            text = f"all {len(figures)} figures are those of {before.cell.describe()}, but {fmt.words(differs)} differs"
            yield Fault(level="warn", run=run, text=text)


def _facts(run: Run) -> dict[str, object]:
    return cut.options(run.tool, run.parsed) if run.parsed else {}


def _printed(run: Run, name: str) -> bool:
    """Return whether the output repeats the option's value, as proof that the option reached the tool."""
    if run.captured:
        return True  # the options of captured output are read from it
    value = run.cell.options[name]
    if any(row.get(name) == value for row in itertools.islice(run.measured(), 1000)):
        return True
    return any(same_value(fact, value) for fact in _facts(run).values())


_COUNTS = ("run", "document", "table")
"""Labels that are not part of a figure's name."""


def _agree(every: Sequence[Sequence[Run]]) -> bool:
    """Do all figures of the cells agree within the noise of three or more repeats, below 5 %?"""
    tables = []
    for runs in every:
        figures = group_by((row for run in runs for row in run.measured()), _figure)
        if len(runs) < 3 or not figures:
            return False
        tables.append({figure: [row.value for row in rows] for figure, rows in figures.items()})
    if any(table.keys() != tables[0].keys() for table in tables):
        return False
    if not any(value for table in tables for values in table.values() for value in values):
        return False  # no error in any cell: an option that does something shows nothing there
    for figure in tables[0]:
        values = [table[figure] for table in tables]
        medians = [statistics.median(v) for v in values]
        noise = max(max(v) - min(v) for v in values)
        if noise > 0.05 * max(map(abs, medians)) or max(medians) - min(medians) > noise:
            return False
    return True


def _figure(row: Measurement) -> tuple[object, ...]:
    return row.metric, row.unit, *((k, v) for k, v in row.labels.items() if k not in _COUNTS)


@check("G2", "error", "warn")
def command_and_result(results: Results) -> Iterator[Fault]:
    """a command line that differs from the run

    The check compares the command of captured output with the results. An option has another value in the command, or
    the tool does not have the option. A digit replaces a letter, a dash is a word processor's, or `--` is a separate
    word. A blank splits `--name =x`, or `--iodepth=1/4/8` names several commands. A shell loop runs over the words `seq
    1 10` or `1..8`. In pinsweep's own runs fio prints another value than was requested.

    Do: copy the command from the shell's history, and report the command that ran.
    """
    firsts = [cell.first for cell in all_cells(results)]
    for run in firsts:
        for name, requested, printed in () if run.captured else _contradictions(run):
            text = f"{name}={requested} was requested, {run.tool} printed {name}={printed}"
            yield Fault(level="error", run=run, text=text)
    written = (run for run in firsts if run.captured and run.record.argv)
    for (_, tool, command), members in group_by(written, lambda r: (r.file, r.tool, command_text(r))).items():
        cells = members[0].cell.describe() if len(members) == 1 else fmt.plural(len(members), "cell")
        short = command if len(command) <= 90 else command[:89] + "…"
        typed_command = own_command(members[0])
        for level, problem in (*_loops(command), *_typing(tool, typed_command)):
            yield Fault(level=level, run=members[0], runs=tuple(members), cell=cells, text=f"{problem}, in “{short}”")
        for text in judged(tool).left_out(typed_command, members[0]):
            yield Fault(level="warn", run=members[0], runs=tuple(members), cell=cells, text=text)
        for name, typed in typed_options(members[0]).items():
            rows = {str(run.options[name]) for run in members if name in run.options}
            if name in ("numjobs", "bs") or not rows or "/" in typed:
                continue
            if not any(same_value(typed, value) for value in rows):
                yield Fault(
                    level="error", run=members[0], runs=tuple(members), cell=cells,
                    text=f"the command says {name}={typed}, the results {fmt.words(sorted(rows))}",
                )  # fmt: skip


def _contradictions(run: Run) -> Iterator[tuple[str, object, object]]:
    facts = run.parsed.facts if run.parsed else {}
    for name, requested in run.cell.options.items():
        printed = facts.get(f"option.{name}")
        known = printed not in (None, "") and isinstance(requested, str | int | float)
        named = requested is True and "/" in str(printed)  # a file whose name pinsweep chose
        if known and not named and not same_value(str(printed), requested):
            yield name, requested, printed


def same_value(a: object, b: object) -> bool:
    """Return whether two spellings are equivalent.

    Examples are `4k` and `4096`, `True` and `1`, `20s` and `20`, `0x4` and `4`, `readwrite` and `rw`, `randread:8` and
    `randread`.
    """
    if str(a).lower() == str(b).lower():
        return True
    x, y = _plain(a), _plain(b)
    sizes = in_bytes(x), in_bytes(y)
    return x == y or (sizes[0] is not None and sizes[0] == sizes[1])


_SAME = {"true": "1", "false": "0", "yes": "1", "": "1", "readwrite": "rw"}


def _plain(value: object) -> str:
    text = str(value).lower()
    text = re.sub(r"^([a-z]\w*):.*$", r"\1", text)  # fio's `rw=randread:8`, `ioengine=external:/path`
    if re.fullmatch(r"0x[0-9a-f]+", text):
        return str(int(text, 16))
    return _SAME.get(text, text.removesuffix("s"))


def _loops(text: str) -> Iterator[tuple[Level, str]]:
    """Yield the loops of a typed command that run over literal words instead of a range."""
    for loop_words in re.findall(r"\b(for\s+\w+\s+in\s+(seq\s[^;\n]{0,200}?|\d+\.\.\d+\s*+))(?:[;\n]|\bdo\b)", text):
        loop, words = map(str.strip, loop_words)
        listed = words.split()
        times = f"{len(listed)} times" if len(listed) > 1 else "once"
        meant = f"$({words})" if words.startswith("seq") else f"{{{words}}}"
        yield "error", f"“{loop}” runs {times}, for {fmt.words(listed)}; a range is written {meant}"


def _typing(tool: str, command: str) -> Iterator[tuple[Level, str]]:
    """Yield the typing errors of a command line."""
    if any(dash in command for dash in "–—−‑"):
        yield "error", "a dash of a word processor"
    if re.search(r"(?:^|\s)--(?:\s+\w+=|\s*$)", command):
        yield "error", "a lone “--”: the words behind it are not read as options"
    if match := re.search(r"\s(--?\w+) =", command):
        yield "error", f"a blank in “{match[1]} =”"
    for name, value in re.findall(r"--?(\w+)=([\d.]+[kKmM]?(?:/[\d.]+[kKmM]?)+)(?=\s|$)", command):
        yield "warn", f"--{name}={value} is {value.count('/') + 1} commands"
    yield from (("error", problem) for problem in judged(tool).mistyped(command))


@check("G5", "warn")
def too_good_a_speedup(results: Results) -> Iterator[Fault]:
    """a speed-up beyond the number of workers

    STREAM with n threads is above 1.15 · n times one thread of the same cell. If the smallest n is so fast, the cell of
    one thread is flagged. Otherwise the cell of n threads is flagged, because the arrays fit in caches or more memory
    served the run than was requested.

    Do: repeat the flagged cell on a quiet machine, with larger arrays.
    """
    yield from parts("G5", results)


@check("G6", "warn", "info", flags=("timer_limited", "clock_backwards"))
def clock(results: Results) -> Iterator[Fault]:
    """a coarse timer or a long tail

    The last digit of a time is 10 % of the time or more. If the repeats differ by more than that digit, the finding is
    info. In poke, the cost of the timer is above half of the median. Info: a standard deviation above the mean, because
    a few slow operations make the mean.

    Do: time many operations at once, or quote the median and the tail.
    """
    yield from parts("G6", results)
    for tool in results.tools:
        for cell in cells(results, tool):
            yield from _coarse(cell)
        for run in () if "G6" in judged(tool).FAULTS else results.good(tool):
            for name, mean, deviation in wide(run):
                text = f"{name}: mean {fmt.quantity(mean, 'ns')}, standard deviation {fmt.quantity(deviation, 'ns')}"
                yield Fault(level="info", run=run, own=True, text=text, todo=QUOTE_THE_TAIL)


_COARSE = 0.1
"""The last printed digit as a share of a time, from which on the timer is too coarse."""


def _coarse(cell: Repeats) -> Iterator[Fault]:
    """Yield the times of a cell with a last digit of at least 10 % of the median."""
    coarse: dict[tuple[str, bool], list[tuple[float, Name, float, float]]] = {}
    for name, column in cell.columns.items():
        step = next(filter(None, column.steps), 0.0)
        if name.unit != "ns" or name.kind in judged(cell.tool).FINER or name.derived or not step:
            continue
        median = column.median
        if median and step / abs(median) >= _COARSE:
            span = max(column.values) - min(column.values)
            hidden = len(cell.runs) == 1 or span <= step * (1 + 1e-9)
            same = coarse.setdefault((name.family.tells_of, hidden), [])
            same.append((step / abs(median), name, median, step))
    for (_, hidden), same in coarse.items():
        metric, *also = dict.fromkeys(name.tells_of for _, name, *_ in same)
        _, worst, *values = max(same, key=lambda row: row[0])
        value, step_text = (fmt.quantity(v, "ns", step=0.0) for v in values)
        more = f", and {fmt.plural(len(same) - 1, 'other row')}" if len(same) > 1 else ""
        text = f"{worst.words}: {value} in steps of {step_text}{more}"
        level: Level = "warn" if hidden else "info"
        yield Fault(level=level, run=cell.first, metric=metric, also=tuple(also), text=text)


@check("G7", "error")
def units(results: Results) -> Iterator[Fault]:
    """units that contradict each other

    STREAM's rate · least time ÷ bytes moved is not 1. Values of 1.05 or 0.95 mean MB against MiB, values of 2 or 0.5
    mean float against double. The difference is above 3 % and above half of the last digit of the times. MLC's idle
    latency is under 1 ns.

    Do: find out which of the figures has the unit that it shows.
    """
    yield from parts("G7", results)


@check("G10", "error", flags=("validation_failed",))
def denied(results: Results) -> Iterator[Fault]:
    """results that their own program calls wrong

    STREAM, OSU, IMB and fio (`verify`) compare computed, received or read data with the expected data. If that
    comparison fails, the figures are invalid. Such figures are in no median, and are neither compared nor sent to
    OpenMetrics.

    Do: look for the cause (a compiler's option, a library, memory, the device), and measure again.
    """
    for run in results.runs:
        for flag in run.parsed.flags if run.parsed else ():
            if flag.id == "validation_failed":
                yield Fault(level="error", run=run, own=True, text=flag.text)
    yield from parts("G10", results)


_FAILED_FLAGS = ("job_error", "aborted")
_CUT = ("truncated", "unread")
_LACKING = (
    *_CUT, "incomplete", "rows_missing", "sections_missing", "kernels_missing", "non_finite", "not_finite", "empty_table", "out_of_mem", "time_out", "int_overflow", "interrupted", "io_errors",
)  # fmt: skip


@check("G16", "warn", "info", flags=(*_FAILED_FLAGS, *_LACKING))
def incomplete(results: Results) -> Iterator[Fault]:
    """an incomplete output, or a failed job

    fio reports that a job failed, or MPI that a run aborted. The output of MLC or IMB ends in a table, or has
    unreadable rows. A peak of the remaining rows is only a bound. Info: figures that other outputs have, inf or nan, a
    missing kernel or row, refused sizes, failed I/Os. A NUMA node without CPUs has no row. The check ignores such a
    node if the topology shows the node.

    Do: import the whole output, or measure again; quote the peak of a part as "at least".
    """
    for tool in results.tools:
        bound = judged(tool).CUT
        for run in results.good(tool):
            for flag in dict.fromkeys(run.parsed.flags if run.parsed else ()):
                todo = _DO_INSTEAD.get(flag.id, "")
                if flag.id in _FAILED_FLAGS or (flag.id in _CUT and bound):
                    text = f"{flag.text}; {bound}" if flag.id in _CUT else flag.text
                    yield Fault(level="warn", run=run, own=True, text=text, todo=todo)
                elif flag.id in _LACKING and not (flag.id == "rows_missing" and _have_no_cpus(run)):
                    yield Fault(level="info", run=run, own=True, text=flag.text, todo=todo)


_FAILED = "look for the cause (a full disk, a device that fails, an option that it refuses), and measure again; what is there is of the I/Os that did not fail."
_DO_INSTEAD = {
    "job_error": _FAILED,
    "io_errors": _FAILED,
    "interrupted": "measure again, and let it end; what is there is of the time up to the signal.",
    "rows_missing": (
        "compare with `numactl --hardware` there: a NUMA node without CPUs (CXL, HBM) starts no access, has a column and no row, and nothing "
        "is missing; else take the whole output in, or measure again."
    ),
}
"""Advice for a whole output that lacks something."""


def _have_no_cpus(run: Run) -> bool:
    """Return whether the topology shows that the nodes without a row have no CPUs."""
    pairs = [(row.get("from"), row.get("to")) for row in run.measured()]
    lacking = {memory for _, memory in pairs} - {source for source, _ in pairs} - {None}
    machine = run.session.topology
    return machine is not None and lacking <= {n.os_index for n in machine.numa_nodes if not n.cpus}


@check("G12", "warn")
def put_off(results: Results) -> Iterator[Fault]:
    """a run without its CPUs

    A program that computes all the time (STREAM, memlat, MPI ranks, poke in memory) had less than 80 % of the CPU time
    of its threads. The kernel preempted the program more than 20 times per second and thread. Runs under 1 s and runs
    that D1 flags are left out.

    Do: measure again on a quiet machine; give each thread a CPU.
    """
    for tool in results.tools:
        for run in results.good(tool):
            wall = run.record.wall_s
            if wall < 1:
                continue
            usage = run.record.usage
            cpu = usage.get("user_s", 0.0) + usage.get("system_s", 0.0)
            switches = usage.get("involuntary_switches", 0.0)
            threads = judged(tool).busy(run)
            if threads and not run.disturbance and cpu < 0.8 * wall * threads and switches > 20 * wall * threads:
                yield Fault(
                    level="warn", run=run, own=True,
                    text=f"{fmt.seconds(cpu)} of CPU time in {fmt.seconds(wall)} on {fmt.plural(threads, 'CPU')}, put off {'it' if threads == 1 else 'them'} {fmt.count(round(switches))} times",
                )  # fmt: skip


@check("G8", "warn")
def another_machine(results: Results) -> Iterator[Fault]:
    """an output of another machine

    Captured output has more threads than the recorded topology has PUs. Or a matrix has NUMA nodes that are missing in
    the topology.

    Do: take the topology from the machine that ran, or leave it out.
    """
    for cell in all_cells(results):
        run = cell.first
        machine = run.session.topology
        if machine is None:
            continue
        pus = len(machine.pus)
        threads = whole((run.parsed.facts if run.parsed else {}).get("threads"))
        if run.captured and threads and threads > pus:
            text = f"{threads} threads ran, the recorded machine has {pus} PUs"
            yield Fault(level="warn", run=run, text=text)
        if run.parsed is None or "section" not in run.parsed.measurements.columns:
            continue
        rows = (r for r in run.measured() if r.get("section") in ("latency_matrix", "bandwidth_matrix"))
        nodes = {node for row in rows if (node := whole(row.get("to"))) is not None}
        known_nodes = {node.os_index for node in machine.numa_nodes}
        if nodes - known_nodes:
            yield Fault(level="warn", run=run, text=f"NUMA nodes {fmt.words(map(str, sorted(nodes)))} in the matrix, the recorded machine has {fmt.words(map(str, sorted(known_nodes)))}")  # fmt: skip


@check("G18", "warn")
def unpinned(results: Results) -> Iterator[Fault]:
    """an unpinned run

    `--unpinned` leaves CPUs and memory to the kernel, which may move both during the run. A number from several NUMA
    nodes mixes local and remote memory.

    Do: install numactl and measure again without `--unpinned`; compare with no pinned number.
    """
    for cell in all_cells(results):
        if cell.first.cell.place == UNPINNED:
            yield Fault(level="warn", run=cell.first, text="it ran wherever the kernel put it")


@check("G9", "warn")
def another_place(results: Results) -> Iterator[Fault]:
    """repeats measured in different ways

    Repeats of one cell ran on different PUs or memory nodes. Or the processor, memory, firmware, kernel, clocks or
    paging of the machine changed between repeats. pinsweep refuses to continue such a file, but older files may hold
    such cells.

    Do: measure again into another file, or with `run --as-new`.
    """
    for cell in all_cells(results):
        runs = cell.runs
        placed = group_by(runs, lambda run: run.placed)
        if len(placed) > 1:
            texts = [f"{fmt.plural(len(own), 'run')} on {where(own[0].record.placement)}" for own in placed.values()]
            yield Fault(level="warn", run=runs[0], text=fmt.words(texts))
        sessions = group_by(runs, lambda run: run.session.session)
        first, *others = (own[0].session.facts for own in sessions.values())
        changes = dict.fromkeys(change for other in others for change in changed(first, other))
        if changes:
            texts = [f"the {fact.words} was {short(then)} and {short(now)}" for fact, then, now in changes]
            yield Fault(level="warn", run=runs[0], text=fmt.words(texts))


@check("G19", "info")
def another_build(results: Results) -> Iterator[Fault]:
    """sweeps of different builds

    A program at the same path had another SHA-256 in another sweep of the file. A difference between the sweeps may
    come from the build.

    Do: compare the two as builds only, or measure both with one build.
    """
    good = (run for tool in results.tools for run in results.good(tool) if not run.captured)
    for runs in group_by(good, lambda run: run.file).values():
        sweeps = results.by_sweep(runs)
        first: dict[str, tuple[str, frozenset[str]]] = {}  # path → first sweep, builds in this sweep
        for sweep, sweep_runs in sweeps.items():
            sums: dict[str, set[str]] = {}
            for path, digest in dict.fromkeys(itertools.chain.from_iterable(map(_programs, sweep_runs))):
                sums.setdefault(path, set()).add(digest[:8])
            for path, builds in sums.items():
                before, then = first.setdefault(path, (sweep, frozenset(builds)))
                if builds != then:
                    yield Fault(
                        level="info", run=sweep_runs[0], runs=tuple(sweep_runs), cell=f"all cells of {sweep}",
                        text=f"{path} was the build {fmt.words(sorted(builds))} (SHA-256), and {fmt.words(sorted(then))} for {before}",
                    )  # fmt: skip


def _programs(run: Run) -> Iterator[tuple[str, str]]:
    """Yield path and checksum of each program of a run, as far as recorded."""
    files = run.program.get("files") or {}
    opened = (program for word, program in files.items() if word in run.record.argv or not get_tool(run.tool).OPEN)
    for program in (run.program, *opened):
        if program.get("path") and program.get("sha256"):
            yield str(program["path"]), str(program["sha256"])
