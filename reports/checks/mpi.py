"""Checks of message passing: where the ranks were, what a megabyte is, how finely the time was printed."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reports import format as fmt
from reports.checks import Fault, Level, check
from reports.checks._cells import by_cell, command_text, good, is_captured
from reports.frames import Results, Run
from reports.grouping import group_by
from reports.readings.imb import pins, timings

FAMILY = (3, "Message passing (IMB)")


class Known(NamedTuple):
    """The time of one message size, ns."""

    time: float  # median of a cell's runs
    step: float  # its last digit: 10 for "0.19" µs, less where the bandwidth beside it has more digits


def pingpong(runs: Iterable[Run]) -> dict[int, Known]:
    """Return what a cell's runs tell of PingPong, by message size, smallest first."""
    lines = (row for run in runs for row in timings(run) if row.benchmark == "PingPong")
    told = [
        (n, row.time, row.time_step or 0.0)
        for row in lines
        if row.time and (n := row.message_size) is not None
    ]
    return {
        size: Known(statistics.median(time for _, time, _ in same), max(step for _, _, step in same))
        for size, same in sorted(group_by(told, lambda line: line[0]).items())
    }


@check("P1", "error", "warn")
def ranks_share_a_core(results: Results) -> Iterator[Fault]:
    """ranks on the same core, or free to move

    Two ranks placed on one CPU, or on the siblings of one core where that was not asked for; the pins that
    Intel MPI prints (I_MPI_DEBUG) with one CPU for two ranks; `hwloc-bind core:0 core:7` before a program,
    which binds every rank to both (error). An output that tells nothing of pins proves none.

    Do: give every rank a mask of its own (`place:` does), and look at /proc/PID/status.
    """
    for runs in by_cell(good(results, "imb")).values():
        run = runs[0]
        command = command_text(run)
        if match := re.search(r"hwloc-bind((?: +(?!--)[a-z]+:[\w.:-]+){2,})", command):
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


@check("P2", "error", "info")
def unit_of_the_column(results: Results) -> Iterator[Fault]:
    """what a megabyte is in IMB's table

    IMB's Mbytes/sec are 2^20 bytes up to 2017 and 10^6 bytes since. Bytes ÷ time on rows of more than 5 µs
    tells which it is: reports convert by that and say so (info, of captured output, whose readers may have
    quoted the column). Where neither rows nor version tell, or they disagree: error.

    Do: quote bandwidth in GB/s of 10^9 bytes, from bytes and time.
    """
    for runs in by_cell(good(results, "imb")).values():
        run = runs[0]
        if run.parsed is None:
            continue
        for flag in run.parsed.flags:
            if flag.id == "megabyte_unclear":
                yield Fault(level="error", run=run, text=flag.text)
        top = max((row.bandwidth or 0.0 for row in timings(run) if row.message_size), default=0.0)
        if top and is_captured(run) and run.parsed.facts.get("megabyte") == 2**20:
            yield Fault(
                level="info", run=run,
                text=f"the column’s {top / 2**20:.2f} “Mbytes/sec” are {fmt.quantity(top, 'B/s', 4)}, not {fmt.quantity(top / 2**20 * 1e6, 'B/s', 4)}",
            )  # fmt: skip


@check("P3", "warn", "info")
def resolution(results: Results) -> Iterator[Fault]:
    """times printed too coarsely, or from too few repetitions

    The last digit that is known, ÷ the time: above 2 % the figure cannot tell a change of 2 %. It is that of
    the bandwidth in the same row, where that has more digits than the time. And sizes behind which there are
    fewer than 50 repetitions (IMB's own choice for megabytes). Of a single run: warn; where the run was
    repeated, its repeats show how wide it is: info.

    Do: decide nothing from these sizes alone; repeat the run, raise -iter for the large ones.
    """
    for runs in by_cell(good(results, "imb")).values():
        known = pingpong(runs)
        if not known:
            continue
        coarse = {size: step / t for size, (t, step) in known.items() if step / t > 0.02}
        lines = (row for run in runs for row in timings(run) if row.message_size is not None)
        few = sorted({row.message_size or 0 for row in lines if 0 < (row.repetitions or 99) < 50})
        parts = []
        if coarse:
            worst = max(coarse, key=lambda s: coarse[s])
            parts.append(
                f"{fmt.quantity(known[worst].time, 'ns')} in steps of {fmt.quantity(known[worst].step, 'ns')}: {fmt.percent(coarse[worst])} "
                f"(up to {fmt.size(max(coarse))})"
            )
        if few:
            parts.append(f"fewer than 50 repetitions from {fmt.size(few[0])} on")
        if parts:
            level: Level = "warn" if len(runs) == 1 else "info"
            yield Fault(level=level, run=runs[0], text="; ".join(parts))


@check("P4", "info")
def larger_is_quicker(results: Results) -> Iterator[Fault]:
    """more bytes in less time, or a bandwidth that falls past its peak

    A message that takes less time than a smaller one, by more than 5 % and by more than the last known
    digit; and a bandwidth at the largest size more than 5 % below the peak, which is where the messages
    leave a cache.

    Do: quote the peak with its size, not the last row; measure again where the time shrinks.
    """
    for runs in by_cell(good(results, "imb")).values():
        known = pingpong(runs)
        falls = [
            f"{fmt.size(b)} takes {fmt.quantity(less.time, 'ns')}, {fmt.size(a)} {fmt.quantity(more.time, 'ns')}"
            for (a, more), (b, less) in itertools.pairwise(known.items())
            if less.time < 0.95 * more.time and more.time - less.time > 1.5 * max(more.step, less.step)
        ]
        rates = {size: size / one.time for size, one in known.items() if size}
        if len(rates) > 3:
            peak = max(rates, key=lambda s: rates[s])
            last = max(rates)
            if rates[last] < 0.95 * rates[peak]:
                falls.append(
                    f"{fmt.quantity(rates[last] * 1e9, 'B/s')} at {fmt.size(last)}, the peak is {fmt.quantity(rates[peak] * 1e9, 'B/s')} at {fmt.size(peak)}"
                )
        if falls:
            yield Fault(level="info", run=runs[0], text="; ".join(falls))
