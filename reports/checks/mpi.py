"""Checks of message passing: where the ranks were, what a megabyte is, how finely the time was printed."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterator
from decimal import Decimal

from reports import format as fmt
from reports.checks import Fault, Level, check
from reports.checks._cells import by_cell, command_text, good, is_captured, placed_cpus, topology
from reports.frames import Results, Run


def times(runs: list[Run], benchmark: str = "PingPong") -> dict[int, float]:
    """Return message size → median time (ns) of a cell's runs."""
    found: dict[int, list[float]] = {}
    for run in runs:
        for record in run.records():
            if (
                record["metric"] == "time"
                and record.get("benchmark") in (benchmark, None)
                and record.get("message_size") is not None
            ):
                found.setdefault(int(str(record["message_size"])), []).append(float(str(record["value"])))
    return {size: statistics.median(values) for size, values in sorted(found.items())}


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
        masks = [frozenset(group) for group in placed_cpus(run)]
        if len(masks) > 1 and len(set().union(*masks)) < len(masks):
            yield Fault(level="error", run=run, text=f"{len(masks)} ranks on {len(set().union(*masks))} CPUs")
        machine = topology(run)
        if machine is not None and len(masks) == 2 and run.relation != "smt siblings":
            cores = [{machine.core_of.get(cpu) for cpu in mask} for mask in masks]
            if all(len(core) == 1 for core in cores) and cores[0] == cores[1] and masks[0] != masks[1]:
                yield Fault(level="error", run=run, text="both ranks on the two PUs of one core")
        pins: dict[tuple[str, str, str], set[str]] = {}
        for row in run.table("pins"):
            pins.setdefault((str(row.get("run")), str(row.get("host")), str(row.get("cpus"))), set()).add(
                str(row["rank"])
            )
        for (_, _, cpus), ranks in pins.items():
            if len(ranks) < 2:
                continue
            who = fmt.words(sorted(ranks))
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
        if is_captured(run) and run.parsed.facts.get("megabyte") == 2**20:
            rates = [
                float(str(r["value"]))
                for r in run.records()
                if r["metric"] == "bandwidth" and r.get("message_size")
            ]
            if rates:
                top = max(rates)
                yield Fault(
                    level="info", run=run,
                    text=f"the column’s {top / 2**20:.2f} “Mbytes/sec” are {fmt.quantity(top, 'B/s', 4)}, not {fmt.quantity(top / 2**20 * 1e6, 'B/s', 4)}",
                )  # fmt: skip


@check("P3", "warn", "info")
def resolution(results: Results) -> Iterator[Fault]:
    """times printed too coarsely, or from too few repetitions

    The last digit that is printed, ÷ the time: above 2 % the figure cannot tell a change of 2 %. And sizes
    behind which there are fewer than 50 repetitions (IMB's own choice for megabytes). Of a single run: warn;
    where the run was repeated, its repeats show how wide it is: info.

    Do: decide nothing from these sizes alone; repeat the run, raise -iter for the large ones.
    """
    for runs in by_cell(good(results, "imb")).values():
        known = times(runs)
        if not known:
            continue
        step = _step(list(known.values()))
        coarse = {size: step / t for size, t in known.items() if t > 0 and step / t > 0.02}
        few = sorted(
            {
                int(str(r["message_size"]))
                for run in runs
                for r in run.records()
                if r.get("message_size") is not None and 0 < int(str(r.get("repetitions") or 99)) < 50
            }
        )
        parts = []
        if coarse:
            worst = max(coarse, key=lambda s: coarse[s])
            parts.append(
                f"{fmt.quantity(known[worst], 'ns')} in steps of {fmt.quantity(step, 'ns')}: {fmt.percent(coarse[worst])} "
                f"(up to {fmt.size(max(coarse))})"
            )
        if few:
            parts.append(f"fewer than 50 repetitions from {fmt.size(few[0])} on")
        if parts:
            level: Level = "warn" if len(runs) == 1 else "info"
            yield Fault(level=level, run=runs[0], text="; ".join(parts))


def _step(values: list[float]) -> float:
    """Return the last printed digit of times in ns that were printed in µs: 10 for 0.19 µs."""
    places = [-int(Decimal(repr(round(v / 1e3, 6))).normalize().as_tuple().exponent) for v in values]
    return 10.0 ** (3 - max(places, default=0))


@check("P4", "info")
def larger_is_quicker(results: Results) -> Iterator[Fault]:
    """more bytes in less time, or a bandwidth that falls past its peak

    A message that takes less time than a smaller one, by more than 5 % and by more than the last printed
    digit; and a bandwidth at the largest size more than 5 % below the peak, which is where the messages
    leave a cache.

    Do: quote the peak with its size, not the last row; measure again where the time shrinks.
    """
    for runs in by_cell(good(results, "imb")).values():
        known = times(runs)
        sizes = list(known)
        step = _step(list(known.values())) if known else 0.0
        falls = [
            f"{fmt.size(b)} takes {fmt.quantity(known[b], 'ns')}, {fmt.size(a)} {fmt.quantity(known[a], 'ns')}"
            for a, b in itertools.pairwise(sizes)
            if known[b] < 0.95 * known[a] and known[a] - known[b] > 1.5 * step
        ]
        rates = {size: size / t for size, t in known.items() if size and t}
        if len(rates) > 3:
            peak = max(rates, key=lambda s: rates[s])
            last = max(rates)
            if rates[last] < 0.95 * rates[peak]:
                falls.append(
                    f"{fmt.quantity(rates[last] * 1e9, 'B/s')} at {fmt.size(last)}, the peak is {fmt.quantity(rates[peak] * 1e9, 'B/s')} at {fmt.size(peak)}"
                )
        if falls:
            yield Fault(level="info", run=runs[0], text="; ".join(falls))
