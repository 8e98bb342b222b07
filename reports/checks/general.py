"""Checks that hold for any tool: options without effect, commands that say something else, units that do not go together."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from orchestrator.capture import cut
from orchestrator.experiment.expand import is_open
from orchestrator.machine.facts import changed, short
from orchestrator.model import UNPINNED
from orchestrator.placement.place import where
from orchestrator.tools import get_tool
from parsers.measurement import Measurement, whole
from reports.checks import ANY_TOOL, Fault, Level, check, has_part, part, parts
from reports.checks._cells import (
    QUOTE_THE_TAIL,
    braced,
    by_cell,
    command_text,
    in_bytes,
    own_command,
    siblings_key,
    typed_options,
    wide,
)
from reports.numbers import each_number
from reports.numbers.model import Number
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = ANY_TOOL


@check("G1", "warn", "info")
def no_effect(results: Results) -> Iterator[Fault]:
    """an option that shows no effect

    Two loaded-latency curves that differ in one option of MLC which its output does not repeat (-l, -b, -X,
    -r …): in all rows that reach half of the peak, bandwidths agree within 10 %, while the same option
    changes the same rows of another pair by more than 20 % (median). Curves of fewer than five rows are
    left out. For any tool, two cells whose figures, ten or more, are the same to the last digit, and whose
    texts show the same options (warn).

    An axis that no output repeats, if all medians lie within the noise of at least three repeats, and the
    noise is under 5 %: info. That can be a true result, so no number is flagged.

    Do: check that the option reached the tool (a digit for a letter, a wrapper that drops it), and that it
    applies to this traffic.
    """
    yield from _whole_axes(results)
    yield from parts("no_effect", results)


def _whole_axes(results: Results) -> Iterator[Fault]:
    for tool in results.tools:
        cells = list(by_cell(results.good(tool)).values())
        yield from _copies(cells)
        for name in dict.fromkeys(axis for runs in cells for axis in runs[0].cell.swept):
            swept = _swept(cells, name)
            if swept and all(_alike(members) for members in swept):
                first, values = swept[0][0][0], [runs[0].cell.options[name] for runs in swept[0]]
                yield Fault(
                    level="info", run=first, cell=fmt.plural(sum(map(len, swept)), "cell"),
                    runs=tuple(runs[0] for members in swept for runs in members),
                    text=f"{name}={fmt.words([str(v) for v in values])}: no figure differs by more than its noise",
                )  # fmt: skip


def _swept(cells: Sequence[list[Run]], name: str) -> list[list[list[Run]]]:
    """Return the cells that differ in one option alone, which nothing that was printed repeats."""
    unprinted = [runs for runs in cells if name in runs[0].cell.options and not _printed(runs[0], name)]
    siblings = group_by(unprinted, lambda runs: siblings_key(runs[0], (name,)))
    return [members for members in siblings.values() if len(members) > 1]


_COUNTS = ("run", "document", "table")
"""What is no part of a figure's name: how many texts, tables and runs stood before it."""


def _copies(cells: Sequence[list[Run]]) -> Iterator[Fault]:
    """Yield cells with other options than another's and all its figures: a file under two names, an axis that was lost."""
    seen: dict[tuple[object, ...], Run] = {}
    if len(cells) < 2:
        return
    for runs in cells:
        run = runs[0]
        figures = tuple(row.value for row in run.measured())
        options = {k: v for k, v in run.cell.options.items() if k != "source"}
        if len(set(figures)) < 10:
            continue
        before = seen.setdefault((run.file, run.tool, figures), run)
        others = {k: v for k, v in before.cell.options.items() if k != "source"}
        differs = sorted(k for k in {*options, *others} if options.get(k) != others.get(k))
        if before is not run and differs and _told(before) == _told(run):
            yield Fault(
                level="warn", run=run,
                text=f"all {len(figures)} figures are those of {before.cell.describe()}, to the last digit: {fmt.words(differs)} had no effect, or a text was copied",
            )  # fmt: skip


def _told(run: Run) -> dict[str, object]:
    return cut.told(run.tool, run.parsed) if run.parsed else {}


def _printed(run: Run, name: str) -> bool:
    """Does what the tool printed tell the option's value? Then it arrived."""
    if run.captured:
        return True  # what tells captured cells apart is what was printed, or what the user says of them
    asked = run.cell.options[name]
    if any(row.get(name) == asked for row in itertools.islice(run.measured(), 1000)):
        return True
    return any(same_value(value, asked) for value in _told(run).values())


def _alike(cells: Sequence[list[Run]]) -> bool:
    """Do all figures of the cells agree within the noise of their repeats? Without repeats, or noisy: not known, so no."""
    tables = []
    for runs in cells:
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
        middles = [statistics.median(v) for v in values]
        noise = max(max(v) - min(v) for v in values)
        if noise > 0.05 * max(map(abs, middles)) or max(middles) - min(middles) > noise:
            return False
    return True


def _figure(row: Measurement) -> tuple[object, ...]:
    return row.metric, row.unit, *((k, v) for k, v in row.labels.items() if k not in _COUNTS)


@check("G2", "error", "warn")
def command_and_result(results: Results) -> Iterator[Fault]:
    """the command line does not say what ran

    Of captured output: an option whose value differs between the command line and the results (numjobs and
    bs are judged by F2 and F3); options that the tool does not have; a digit where a letter belongs
    (`-1256` for `-l256`); a dash of a word processor; a lone `--`; a blank inside `--name =x`; several
    values in one (`--iodepth=1/4/8` are three commands); of a table that names a size, a command without
    one. What counts is the tool's own command: from its name on, up to where a shell ends it (`&&`, `;`,
    `|`, `>` …). Before it, a loop over other words than were meant: `for i in seq 1 10` runs for the three
    words seq, 1 and 10, `for i in 1..8` once. Of pinsweep's own runs: an option that fio prints with another
    value than asked.

    Do: copy commands from the shell's history into the report, not from memory; run what the report says.
    """
    firsts = [runs[0] for tool in results.tools for runs in by_cell(results.good(tool)).values()]
    for run in firsts:
        for name, asked, printed in () if run.captured else _contradictions(run):
            text = f"{name}={asked} was asked for, {run.tool} says {name}={printed}"
            yield Fault(level="error", run=run, text=text)
    written = (run for run in firsts if run.captured and run.record.argv)
    for (_, tool, command), members in group_by(written, lambda r: (r.file, r.tool, command_text(r))).items():
        cells = members[0].cell.describe() if len(members) == 1 else fmt.plural(len(members), "cell")
        short = command if len(command) <= 90 else command[:89] + "…"
        typed_command = own_command(members[0])
        for level, problem in (*_loops(command), *_typing(tool, typed_command)):
            yield Fault(
                level=level, run=members[0], runs=tuple(members), cell=cells, text=f"{problem}, in “{short}”"
            )
        for text in part(tool, "left_out")(typed_command, members[0]):
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
    for name, asked in run.cell.options.items():
        printed = facts.get(f"option.{name}")
        known = printed not in (None, "") and isinstance(asked, str | int | float)
        named = asked is True and "/" in str(printed)  # a file whose name pinsweep chose
        if known and not named and not same_value(str(printed), asked):
            yield name, asked, printed


def same_value(a: object, b: object) -> bool:
    """Do two ways of writing mean the same: `4k` and `4096`, `True` and `1`, `20s` and `20`, `0x4` and `4`, `readwrite` and `rw`,
    `randread:8` and `randread`?"""
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
    """Say which loops of what was typed run over words that a shell takes as they are, where a range was meant."""
    for found in re.findall(
        r"\b(for\s+\w+\s+in\s+(seq\s[^;\n]{0,200}?|\d+\.\.\d+\s*+))(?:[;\n]|\bdo\b)", text
    ):
        loop, words = map(str.strip, found)
        listed = words.split()
        times = f"{len(listed)} times" if len(listed) > 1 else "once"
        meant = f"$({words})" if words.startswith("seq") else f"{{{words}}}"
        yield "error", f"“{loop}” runs {times}, for {fmt.words(listed)}; a range is written {meant}"


def _typing(tool: str, command: str) -> Iterator[tuple[Level, str]]:
    """Say what is wrong with how a command line is written."""
    if any(dash in command for dash in "–—−‑"):
        yield "error", "a dash of a word processor"
    if re.search(r"(?:^|\s)--(?:\s+\w+=|\s*$)", command):
        yield "error", "a lone “--”: the words behind it are not read as options"
    if match := re.search(r"\s(--?\w+) =", command):
        yield "error", f"a blank in “{match[1]} =”"
    for name, value in re.findall(r"--?(\w+)=([\d.]+[kKmM]?(?:/[\d.]+[kKmM]?)+)(?=\s|$)", command):
        yield "warn", f"--{name}={value} is {value.count('/') + 1} commands"
    yield from (("error", problem) for problem in part(tool, "mistyped")(command))


@check("G5", "warn")
def too_good_a_speedup(results: Results) -> Iterator[Fault]:
    """a speed-up beyond the number of workers

    STREAM at n threads above 1.15 · n times one thread of the same cell. Where the fewest threads beyond
    one are so fast, the cell of one thread is named: it was disturbed, ran elsewhere, or ran first on cold
    memory. Where these agree with one thread, the cell of n threads is: each thread's part fits in its
    caches, or more memory served them than was meant.

    Do: repeat the run that is named on a quiet machine; enlarge the arrays, where each thread's part fits in its caches; interleave
    the runs, where they were not (`order: listed`).
    """
    yield from parts("too_good_a_speedup", results)


@check("G6", "warn", "info", flags=("timer_limited", "clock_backwards"))
def clock(results: Results) -> Iterator[Fault]:
    """a time that its clock, or a few slow operations, make

    Of any tool: a time that is printed in steps of 10 % of it or more (info where repeats differ by more than a step and so show how
    wide it is; of PingPong P3 speaks, from 2 % on).
    poke: the timer's own cost above half of the median; of a table, what an access to 0 bytes takes, at 10 %
    of the mean or more. A standard deviation above the mean latency, of any tool that prints both (info): a
    few slow operations make the mean.

    Do: time many operations at once where the clock is coarse; quote the median and the tail where the
    deviation is large.
    """
    yield from parts("clock", results)
    for tool in results.tools:
        for runs in by_cell(results.good(tool)).values():
            yield from _coarse(runs)
        for run in () if has_part(tool, "clock") else results.good(tool):
            for whose, mean, deviation in wide(run):
                yield Fault(level="info", run=run, own=True, text=f"{braced(whose)}: mean {{}}, standard deviation {{}}", quoted=((mean, "ns"), (deviation, "ns")), todo=QUOTE_THE_TAIL)  # fmt: skip


_COARSE = 0.1
"""The last printed digit as a share of a time, from which on the clock is named."""

_FEW = 10_000
"""Numbers of a cell that are held at once, and named."""


def _coarse(runs: Sequence[Run]) -> Iterator[Fault]:
    """Yield the times of a cell that are printed in steps of a tenth of them or more."""
    finer = set(part(runs[0].tool, "kinds_judged_finer")())

    def read() -> Iterator[Number]:
        every = (n for run in runs for n in each_number(run))
        return (n for n in every if n.name.unit == "ns" and n.name.kind not in finer and not n.name.derived)

    # A run may have a million numbers, which are read again and again then; most have a dozen.
    first = tuple(itertools.islice(read(), _FEW + 1))

    def judged() -> Iterable[Number]:
        return first if len(first) <= _FEW else read()

    # A median is not below the least of its values: of a million numbers these names are kept alone.
    most = max((n.step for n in judged() if n.step), default=0.0) / _COARSE
    low = (n.name for n in judged() if n.value <= most * (1 + 1e-9)) if most else ()
    names = set(itertools.islice(low, _FEW))
    if not names:
        return
    some = len(names) == _FEW
    told = group_by((n for n in judged() if n.name in names), lambda n: n.name)
    cell = (  # the medians, as on the page
        replace(same[0], value=statistics.median(n.value for n in same))
        for same in told.values()
        if len(same) >= len(runs)
    )
    coarse = [number for number in cell if number.resolution >= _COARSE]

    def hidden(number: Number) -> bool:
        """Does nothing show how wide it is: one run, or repeats that differ by the last digit at most?"""
        values = [n.value for n in told[number.name]]
        return len(runs) == 1 or max(values) - min(values) <= (number.step or 0.0) * (1 + 1e-9)

    of = group_by(coarse, lambda number: (number.name.family.tells_of, hidden(number)))
    for (_, is_hidden), own in of.items():
        metric, *also = dict.fromkeys(number.name.tells_of for number in own)
        worst = max(own, key=lambda number: number.resolution)
        others = "thousands of other rows" if some else fmt.plural(len(own) - 1, "other row")
        more = f", and {others}" if len(own) > 1 else ""
        yield Fault(
            level="warn" if is_hidden else "info", run=runs[0], metric=metric, also=tuple(also),
            text=f"{worst.name.words}: {fmt.quantity(worst.value, 'ns', step=worst.step)} in steps of {fmt.quantity(worst.step, 'ns', step=0.0)}{more}",
        )  # fmt: skip


@check("G7", "error")
def units(results: Results) -> Iterator[Fault]:
    """units that do not go together

    STREAM: rate · least time ÷ (elements · 8 B · arrays moved) is 1; 1.05 or 0.95 is MB against MiB, 2 or
    0.5 is float against double. MLC: an idle latency under 1 ns is no memory's. Off by more than 3 %, and
    by more than half of the last digit of the times: error.

    Do: find out which of the figures has the unit that it says.
    """
    yield from parts("units", results)


@check("G10", "error", flags=("validation_failed",))
def denied(results: Results) -> Iterator[Fault]:
    """results that their own program calls wrong

    STREAM and OSU compare what they computed or received with what it should be, IMB where it was built to, fio
    what it reads back where `verify` asks for it. Where that fails, the program says so, and all but fio end well all the same. Its figures mean nothing: they are in no
    median with others, are drawn hollow, and are neither compared nor sent to OpenMetrics.

    Do: look for the cause (a compiler's option, a library, memory; of what was read back the device); measure again.
    """
    for run in results.runs:
        for flag in run.parsed.flags if run.parsed else ():
            if flag.id == "validation_failed":
                yield Fault(level="error", run=run, own=True, text=flag.text)
    yield from parts("denied", results)


_FAILED_FLAGS = ("job_error", "aborted")
_CUT = ("truncated", "unread")
_LACKING = (
    *_CUT, "incomplete", "rows_missing", "sections_missing", "kernels_missing", "non_finite", "not_finite", "empty_table", "out_of_mem", "time_out", "int_overflow", "interrupted", "io_errors",
)  # fmt: skip


@check("G16", "warn", "info", flags=(*_FAILED_FLAGS, *_LACKING))
def incomplete(results: Results) -> Iterator[Fault]:
    """an output that is not whole, or of a job that failed

    fio says that a job failed, or MPI that it aborted a run (warn). A text of MLC or IMB ends or breaks off in a table, or has lines that look like rows and could not
    be read (warn): they sweep loads and sizes inside a run, and a peak or an unloaded latency of the rows that are left is a bound. Figures that
    other texts lack, inf or nan, a kernel or a node’s row that is missing, sizes that IMB refused, fio stopped by a signal, I/Os that failed (info): what is
    there is as it was printed. A NUMA node without CPUs has no row in a matrix; where the topology says so, nothing is said. Most runs of pinsweep's own with such an output have failed.

    Do: take the whole output in, or measure again; quote the peak of a part as "at least".
    """
    for tool in results.tools:
        bound = "".join(part(tool, "of_a_part")())
        for run in results.good(tool):
            for flag in dict.fromkeys(run.parsed.flags if run.parsed else ()):
                todo = _DO_INSTEAD.get(flag.id, "")
                if flag.id in _FAILED_FLAGS or (flag.id in _CUT and bound):
                    text = flag.text + bound * (flag.id in _CUT)
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
"""What the reader should do of an output that is whole and still lacks something."""


def _have_no_cpus(run: Run) -> bool:
    """Have the nodes without a row in a run's matrix no CPUs, as its session's topology says?"""
    pairs = [(row.get("from"), row.get("to")) for row in run.measured()]
    lacking = {memory for _, memory in pairs} - {source for source, _ in pairs} - {None}
    machine = run.session.topology
    return machine is not None and lacking <= {n.os_index for n in machine.numa_nodes if not n.cpus}


@check("G12", "warn")
def put_off(results: Results) -> Iterator[Fault]:
    """a run that did not have its CPUs

    A program that computes all the time (STREAM, memlat, MPI ranks, poke in memory) had less than 80 % of the
    CPU time of its threads, and was put off its CPUs more than 20 times a second each: others ran there. Runs
    of less than 1 s are left out, and those of which D1 says who disturbed them.

    Do: measure again on a quiet machine; give each thread a CPU of its own.
    """
    for tool in results.tools:
        for run in results.good(tool):
            wall = run.record.wall_s
            if wall < 1:
                continue
            usage = run.record.usage
            cpu = usage.get("user_s", 0.0) + usage.get("system_s", 0.0)
            switches = usage.get("involuntary_switches", 0.0)
            for threads in part(tool, "busy")(run):
                if not run.disturbance and cpu < 0.8 * wall * threads and switches > 20 * wall * threads:
                    yield Fault(
                        level="warn", run=run, own=True,
                        text=f"{fmt.seconds(cpu)} of CPU time in {fmt.seconds(wall)} on {fmt.plural(threads, 'CPU')}, put off {'it' if threads == 1 else 'them'} {fmt.count(round(switches))} times",
                    )  # fmt: skip


@check("G8", "warn", needs=("topology",))
def another_machine(results: Results) -> Iterator[Fault]:
    """the output tells of another machine than the session

    Of captured output more threads than the recorded topology has PUs; or NUMA nodes in a matrix that it does not have.

    Do: take the topology from the machine that ran, or leave it out.
    """
    for tool in results.tools:
        for runs in by_cell(results.good(tool)).values():
            run = runs[0]
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
            there = {node.os_index for node in machine.numa_nodes}
            if nodes - there:
                yield Fault(level="warn", run=run, text=f"NUMA nodes {fmt.words(map(str, sorted(nodes)))} in the matrix, the recorded machine has {fmt.words(map(str, sorted(there)))}")  # fmt: skip


@check("G18", "warn")
def unpinned(results: Results) -> Iterator[Fault]:
    """nothing was pinned, as `--unpinned` asks

    The kernel chose CPUs and memory, and may have moved both while the run lasted: on a machine of several NUMA nodes a number is
    some mixture of near and far, and one of another day is of another mixture.

    Do: install numactl (40 kB, in your home without root), and measure again without `--unpinned`; compare with no pinned number.
    """
    for tool in results.tools:
        for runs in by_cell(results.good(tool)).values():
            if runs[0].cell.place == UNPINNED:
                yield Fault(level="warn", run=runs[0], text="it ran wherever the kernel put it")


@check("G9", "warn")
def another_place(results: Results) -> Iterator[Fault]:
    """repeats of one cell that were measured in different ways

    Repeats of a cell that ran on other PUs or memory nodes than others of them, or while the machine was another one: its
    processor, memory, firmware, kernel, clocks or paging had changed between two sessions. Their median is of nothing that can
    be measured again. pinsweep refuses to continue a file so; files of before may hold such cells.

    Do: measure again into another file, or apart from what is there (`run --as-new`).
    """
    for runs in (runs for tool in results.tools for runs in by_cell(results.good(tool)).values()):
        placed = group_by(runs, lambda run: run.placed)
        if len(placed) > 1:
            texts = [
                f"{fmt.plural(len(own), 'run')} on {where(own[0].record.placement)}"
                for own in placed.values()
            ]
            yield Fault(level="warn", run=runs[0], text=fmt.words(texts))
        sessions = group_by(runs, lambda run: run.session.session)
        first, *others = (own[0].session.facts for own in sessions.values())
        changes = dict.fromkeys(change for other in others for change in changed(first, other))
        if changes:
            texts = [f"the {fact.words} was {short(then)} and {short(now)}" for fact, then, now in changes]
            yield Fault(level="warn", run=runs[0], text=fmt.words(texts))


@check("G19", "info")
def another_build(results: Results) -> Iterator[Fault]:
    """sweeps of one file that another build of their program measured

    The program of one sweep had another checksum (SHA-256) than it had for another sweep of the same file and the same path: it was
    compiled or installed anew between the two. What differs between these sweeps may be the build. Within one sweep
    pinsweep refuses it, or keeps the cells apart (`run --as-new`).

    Do: compare the two as builds only; else measure both with one, or keep each build in a file of its own.
    """
    good = (run for tool in results.tools for run in results.good(tool) if not run.captured)
    for runs in group_by(good, lambda run: run.file).values():
        sweeps = results.by_sweep(runs)
        first: dict[str, tuple[str, frozenset[str]]] = {}  # path → the first sweep of it, its builds there
        for sweep, own in sweeps.items():
            sums: dict[str, set[str]] = {}
            for path, digest in dict.fromkeys(itertools.chain.from_iterable(map(_programs, own))):
                sums.setdefault(path, set()).add(digest[:8])
            for path, builds in sums.items():
                before, then = first.setdefault(path, (sweep, frozenset(builds)))
                if builds != then:
                    yield Fault(
                        level="info", run=own[0], runs=tuple(own), cell=f"all cells of {sweep}",
                        text=f"{path} was the build {fmt.words(sorted(builds))} (SHA-256), and {fmt.words(sorted(then))} for {before}",
                    )  # fmt: skip


def _programs(run: Run) -> Iterator[tuple[str, str]]:
    """Give path and checksum of each program that a run started, as far as they are recorded."""
    files = run.program.get("files") or {}
    own = (one for word, one in files.items() if word in run.record.argv or not is_open(get_tool(run.tool)))
    for one in (run.program, *own):
        if one.get("path") and one.get("sha256"):
            yield str(one["path"]), str(one["sha256"])
