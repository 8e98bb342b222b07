"""Checks of message passing: where the ranks were, what a megabyte is, how finely the time was printed."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from parsers import imb
from reports.checks import Fault, Level, check
from reports.checks._cells import by_cell, command_text
from reports.readings.imb import Timing, pins, timings
from reports.results.grouping import group_by
from reports.results.machines import source
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = (3, "Message passing (IMB)")


class Known(NamedTuple):
    """The time of one message size, ns: of PingPong half the round trip, of others that of the slowest rank."""

    time: float  # median of a cell's runs
    step: float  # its last digit: 10 for "0.19" µs, less where the bandwidth beside it has more digits
    rate: float  # B/s: median of the runs' bandwidths, of PingPong as it is drawn; 0 of a table without
    within: float  # ns: how far the runs' times are apart

    @property
    def coarse(self) -> float:
        """The last digit as a share of the time."""
        return self.step / self.time

    @property
    def shows(self) -> bool:
        """Do repeats show how wide the time is? Not where they differ by their last digit at most."""
        return self.within > self.step * (1 + 1e-9)


def pingpong(runs: Iterable[Run]) -> dict[int, Known]:
    """Return what a cell's runs tell of PingPong, by message size, smallest first."""
    return _known(row for run in runs for row in timings(run) if row.benchmark == "PingPong")


def _known(rows: Iterable[Timing]) -> dict[int, Known]:
    """Return what the lines of one benchmark tell, by message size, smallest first."""
    told = [
        (n, time, _step(row), n / time * 1e9 if row.benchmark == "PingPong" else row.bandwidth or 0.0)
        for row in rows
        if (time := row.time or row.time_max) and (n := row.message_size) is not None
    ]
    return {
        size: Known(
            statistics.median(time for _, time, *_ in same),
            max(step for _, _, step, _ in same),
            statistics.median(rate for *_, rate in same),
            max(time for _, time, *_ in same) - min(time for _, time, *_ in same),
        )
        for size, same in sorted(group_by(told, lambda line: line[0]).items())
    }


def _step(row: Timing) -> float:
    """Return the last digit of a line's time, ns; 0 where nothing tells it."""
    return row.time_step or 0.0 if row.time else imb.PRINTED["time"]


_Table = tuple[str, int | None, str | None, int | None]
"""Of a run: benchmark, processes, mode, group."""


def _tables(runs: Iterable[Run]) -> dict[_Table, dict[int, Known]]:
    """Return what a cell's runs tell of each benchmark that has sizes, by table and message size."""
    rows = (row for run in runs for row in timings(run))
    of = group_by(rows, lambda row: (row.benchmark, row.nprocs, row.mode, row.group))
    return {key: known for key, own in of.items() if (known := _known(own))}


@check("P1", "error", "warn")
def ranks_share_a_core(results: Results) -> Iterator[Fault]:
    """ranks on the same core, or free to move

    Two ranks placed on one CPU, or on the siblings of one core where that was not asked for; the pins that
    Intel MPI prints (I_MPI_DEBUG) with one CPU for two ranks; `hwloc-bind core:0 core:7` before a program,
    which binds every rank to both (error; of a text with several tables the command above each). An output
    that tells nothing of pins proves none.

    Do: give every rank a mask of its own (`place:` does), and look at /proc/PID/status.
    """
    commands = _commands(results.good("imb"))
    for runs in by_cell(results.good("imb")).values():
        run = runs[0]
        for match in {m[0]: m for m in map(_UNION.search, commands[run]) if m}.values():
            places = match[1].split()
            yield Fault(
                level="error", run=run,
                text=f"“{match[0]}” binds each rank to the union of {fmt.words(places)}: nothing says which of them it ran on",
            )  # fmt: skip
        masks = [frozenset(group.cpus) for group in run.placed]
        if len(masks) > 1 and len(set().union(*masks)) < len(masks):
            yield Fault(level="error", run=run, text=f"{len(masks)} ranks on {len(set().union(*masks))} CPUs")
        machine = run.session.topology
        if machine is not None and len(masks) == 2 and run.relation != "smt siblings":
            cores = [{machine.core_of.get(cpu) for cpu in mask} for mask in masks]
            if all(len(core) == 1 for core in cores) and cores[0] == cores[1] and masks[0] != masks[1]:
                yield Fault(level="error", run=run, text="both ranks on the two PUs of one core")
        for (_, _, cpus), ranks in group_by(pins(run), lambda pin: (pin.turn, pin.host, pin.cpus)).items():
            if len(ranks) < 2:
                continue
            who = fmt.words(sorted(str(pin.rank) for pin in ranks))
            if cpus.isdigit():
                yield Fault(level="error", run=run, text=f"ranks {who} are pinned to one CPU, {cpus}")
            else:
                yield Fault(level="warn", run=run, text=f"ranks {who} may each run on all of CPUs {cpus}")
            break


_UNION = re.compile(r"hwloc-bind((?: +(?!--)[a-z]+:[\w.:-]+){2,})")
_LINE = re.compile(r"^\W*\d+[ \t]+\d+[ \t]+[\d.]+.*$|^.*\bhwloc-bind\b.*\bIMB-\w+.*$", re.MULTILINE)
"""A line of a table, or a command."""


def _commands(runs: Sequence[Run]) -> dict[Run, list[str]]:
    """Return what was typed for each run. Of the parts of one text the command may stand at the end of the part before, with prose
    between it and its table: it is that of the next table."""
    found = {run: [command_text(run)] for run in runs}
    for parts in group_by(
        (run for run in runs if run.captured), lambda r: (r.file, r.session.session, source(r))
    ).values():
        waiting: list[str] = []
        for run in sorted(parts, key=lambda r: r.record.run_id):
            for line in _LINE.findall(run.stdout):
                if "hwloc-bind" in line:
                    waiting.append(line)
                elif waiting:
                    found[run] += waiting
                    waiting = []
    return found


@check("P2", "error", "warn", "info", flags=("megabyte", "megabyte_unclear", "megabyte_contradicts"))
def unit_of_the_column(results: Results) -> Iterator[Fault]:
    """what a megabyte is in IMB's table

    IMB's Mbytes/sec are 2^20 bytes up to 2017 and 10^6 bytes since. Bytes ÷ time on rows of more than 5 µs
    tells which it is: reports convert by that and say so (info, of captured output, whose readers may have
    quoted the column). Where neither rows nor version tell, the unit is not known: warn. Where they disagree:
    error.

    Do: quote bandwidth in GB/s of 10^9 bytes, from bytes and time.
    """
    for runs in by_cell(results.good("imb")).values():
        run = runs[0]
        if run.parsed is None:
            continue
        for flag in run.parsed.flags:
            if flag.id in ("megabyte_unclear", "megabyte_contradicts"):
                unclear = flag.id == "megabyte_unclear"
                of = {row.benchmark: "" for row in timings(run) if row.mbytes_per_sec is not None}
                for benchmark in of if unclear else ("",):
                    column = f"{benchmark}/mbytes_per_sec" if benchmark else ""
                    yield Fault(level="warn" if unclear else "error", run=run, text=flag.text, metric=column)
        top = max((row.bandwidth or 0.0 for row in timings(run) if row.message_size), default=0.0)
        if top and run.captured and run.parsed.facts.get("megabyte") == 2**20:
            yield Fault(
                level="info", run=run,
                text=f"the column’s {top / 2**20:.2f} “Mbytes/sec” are {fmt.quantity(top, 'B/s', 4)}, not {fmt.quantity(top / 2**20 * 1e6, 'B/s', 4)}",
            )  # fmt: skip


@check("P3", "warn", "info")
def resolution(results: Results) -> Iterator[Fault]:
    """times printed too coarsely, or from too few repetitions

    The last digit that is known, ÷ the time: above 2 % the figure cannot tell a change of 2 %. It is that of
    the bandwidth in the same row, where that has more digits than the time; of a table nothing tells it. And sizes
    behind which there are fewer than 50 repetitions. Of a single run: warn, of these sizes alone; where the run was repeated, its
    repeats show how wide it is, and few repetitions of more than 8 B alone, IMB's own choice for megabytes:
    info. Repeats that differ by their last digit at most do not show it: warn.

    Do: decide nothing from these sizes alone; repeat the run, raise -iter for the large ones.
    """
    for runs in by_cell(results.good("imb")).values():
        once = len(runs) == 1
        known = {size: one for size, one in pingpong(runs).items() if one.coarse > _COARSE}
        for shown, own in group_by(known.items(), lambda of: of[1].shows).items():
            yield _coarse(runs, dict(own), shown=shown)
        told = "in a single run" if once else _shown_by(runs)
        for run in runs:
            parts = group_by(timings(run), lambda row: row.benchmark)
            for benchmark, few in _few_repetitions(parts):
                first = min(row.message_size or 0 for row in few)
                whose = f"{benchmark}: " if len(parts) > 1 else ""
                own_choice = " (IMB's own choice)" if all(map(_is_own_choice, few)) else ""
                text = f"{whose}{_repetitions(few)} from {fmt.size(first)} on{own_choice}, fewer than {_LEAST}, {told}"
                level: Level = "warn" if once and first <= 8 else "info"
                metric, *also = _doubted(benchmark, parts[benchmark], few)
                yield Fault(level=level, run=run, own=True, text=text, metric=metric, also=tuple(also))


def _coarse(runs: Sequence[Run], known: Mapping[int, Known], *, shown: bool) -> Fault:
    """Say of some sizes of PingPong that their last digit is coarse. shown: do repeats show how wide their times are?"""
    once = len(runs) == 1
    worst = max(known.values(), key=lambda one: one.coarse)
    by_repeats = _shown_by(runs) if shown else f"and {len(runs)} repeats differ by no more than that"
    text = (
        f"{fmt.quantity(worst.time, 'ns', step=worst.step)} in steps of {fmt.quantity(worst.step, 'ns', step=0.0)}: {fmt.number(worst.coarse * 100)} % "
        f"({'up to' if len(known) > 1 else 'at'} {fmt.size(max(known))}), more than {100 * _COARSE:g} %, {'in a single run' if once else by_repeats}"
    )
    metric, *also = [
        f"PingPong/{name}/{size}" for size in known for name in ("time", "bandwidth")[: 2 if size else 1]
    ]
    level: Level = "info" if shown else "warn"
    return Fault(level=level, run=runs[0], own=once, text=text, metric=metric, also=tuple(also))


def _shown_by(runs: Sequence[Run]) -> str:
    return f"but {len(runs)} repeats show how far times are apart"


_COARSE, _LEAST = 0.02, 50
"""The last digit as a share of the time, at most, and how many repetitions are no longer few."""


def _is_own_choice(row: Timing) -> bool:
    """Did IMB choose the repetitions? Without -iter it moves 40 MiB a size."""
    return bool(row.message_size) and row.repetitions == max(1, 40 * 2**20 // (row.message_size or 1))


def _repetitions(few: Sequence[Timing]) -> str:
    """Return "10 to 40 repetitions", "1 repetition"."""
    low, high = (end(row.repetitions or 0 for row in few) for end in (min, max))
    return f"{low} to {high} repetitions" if low < high else fmt.plural(low, "repetition")


def _few_repetitions(parts: Mapping[str, Sequence[Timing]]) -> Iterator[tuple[str, list[Timing]]]:
    """Give the benchmarks that have sizes behind which there are few repetitions, and the lines of these."""
    for benchmark, rows in parts.items():
        few = [
            row for row in rows if row.message_size is not None and 0 < (row.repetitions or _LEAST) < _LEAST
        ]
        if few:
            yield benchmark, few


def _doubted(benchmark: str, rows: Sequence[Timing], some: Sequence[Timing]) -> list[str]:
    """Return the metrics (as `Name.tells_of`) of some of a benchmark's lines: of all of them the benchmark."""
    if len(some) == len(rows):
        return [benchmark]
    told = (
        f"{benchmark}/{name}/{row.message_size}"
        for row in some for name in imb.METRICS if getattr(row, name) is not None
    )  # fmt: skip
    return list(dict.fromkeys(told))


def kinds_judged_finer() -> Iterator[str]:
    """Give the benchmarks whose printed digits P3 judges, from 2 % on."""
    yield "PingPong"


def shown_with(metric: str, _run: Run) -> Iterator[str]:
    """G11: what is shown of the same time, its bandwidth, as `Name.tells_of`."""
    benchmark, _, size = metric.partition("/time/")
    if size and benchmark == "PingPong":
        yield f"{benchmark}/bandwidth/{size}"


def denied(results: Results) -> Iterator[Fault]:
    """G10: wrong data that were received, where IMB was built to look."""
    for run in results.runs:
        wrong = sum(row.defects or 0 for row in timings(run)) if run.tool == "imb" and run.parsed else 0
        if wrong:
            yield Fault(
                level="error",
                run=run,
                own=True,
                text=f"{fmt.number(wrong)} defects: wrong data were received",
            )


@check("P4", "info")
def larger_is_quicker(results: Results) -> Iterator[Fault]:
    """more bytes in less time, or a bandwidth that falls past its peak

    A message that takes less time than the next smaller one, by more than 5 % and by more than the last known
    digit, of other benchmarks than PingPong by the slowest rank; and a bandwidth at the largest size more than 5 % below the peak,
    as where the messages leave a cache. In each repeat, and of the medians, which are quoted.

    Do: quote the peak with its size, not the last row; measure again where the time shrinks.
    """
    for runs in by_cell(results.good("imb")).values():
        tables, each = _tables(runs), [_tables([run]) for run in runs]
        for key, known in tables.items():
            if said := "; ".join(_shrinks(known, [own.get(key, {}) for own in each])):
                named = _named(key, tables)
                yield Fault(level="info", run=runs[0], text=f"{named}{said}", metric=key[0])


def _named(table: _Table, of: Iterable[_Table]) -> str:
    """Return "Sendrecv, 2 ranks: ", "Unidir_put, aggregate: " of several tables of a run, by what tells it from these; "" of the only one."""
    alike = [key for key in of if key[0] == table[0]]
    words = (table[0], f"{table[1]} ranks", (table[2] or "").lower(), f"group {table[3]}")
    told = [word for i, word in enumerate(words) if i and len({key[i] for key in alike}) > 1]
    return f"{', '.join([table[0], *told])}: " if any(key != table for key in of) else ""


_MOST_QUOTED = 3
"""Sizes of one table that take less than a smaller one."""


def _shrinks(known: Mapping[int, Known], each: Sequence[Mapping[int, Known]]) -> Iterator[str]:
    """Say where the time of a table shrinks, and that its bandwidth falls past the peak; `known`: of all repeats, `each`: of each."""
    of_all = (known, *each)
    pairs = [(a, b) for a, b in itertools.pairwise(known) if all(_quicker(one, a, b) for one in of_all)]
    said = [
        f"{fmt.size(b)} takes {fmt.quantity(known[b].time, 'ns')}, {fmt.size(a)} {fmt.quantity(known[a].time, 'ns')}"
        for a, b in pairs[:_MOST_QUOTED]
    ]
    if (left := len(pairs) - _MOST_QUOTED) > 0:
        said.append(
            f"{fmt.plural(left, 'more size')} {'takes' if left == 1 else 'take'} less than the next smaller one"
        )
    if said:  # of repeats those of the medians alone, which a table has, are not named
        every = "both" if len(each) == 2 else f"all {len(each)}"
        yield f"{'; '.join(said)}{f', less in {every} repeats' if len(each) > 1 else ''}"
    rates = {size: one.rate for size, one in known.items() if size and one.rate}
    if len(rates) > 3:
        peak, last = max(rates, key=lambda s: rates[s]), max(rates)
        highest = "the peak" if len(each) == 1 else "the highest median"  # of repeats each has its own peak
        if all(_falls(one, peak, last) for one in of_all):
            yield f"{fmt.quantity(rates[last], 'B/s')} at {fmt.size(last)}, {highest} is {fmt.quantity(rates[peak], 'B/s')} at {fmt.size(peak)}"


def _quicker(known: Mapping[int, Known], a: int, b: int) -> bool:
    """Does b take less time than a, beyond the last digit? Not told of a size that a repeat lacks."""
    if a not in known or b not in known:
        return False
    more, less = known[a], known[b]
    return less.time < 0.95 * more.time and more.time - less.time > 1.5 * max(more.step, less.step)


def _falls(known: Mapping[int, Known], peak: int, last: int) -> bool:
    """Is the bandwidth at the last size more than 5 % below that of the peak?"""
    both = peak in known and last in known
    return both and known[last].rate < 0.95 * known[peak].rate


def of_a_part() -> Iterator[str]:
    """G16: what is to be known of a curve that lacks sizes."""
    yield "; the peak is that of the sizes that are left"


def busy(run: Run) -> Iterator[int]:
    """G12: how many CPUs it keeps busy: its ranks, which poll."""
    yield len(run.placed) or 1
