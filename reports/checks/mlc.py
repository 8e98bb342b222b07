"""Checks of memory latency and bandwidth as MLC (or memlat in its place) measures them."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parsers import mlc
from parsers.mlc import TRAFFIC_TEXT
from reports.checks import Fault, check
from reports.checks._cells import by_cell, cell_key, siblings_key, sweeps
from reports.numbers import formulas
from reports.numbers.formulas import Load
from reports.numbers.mlc import AT_PEAK, UNLOADED
from reports.numbers.possible import module_peak
from reports.readings.mlc import entries, load_rows
from reports.results.convicted import CellKey
from reports.results.grouping import group_by
from reports.results.machines import machine_key
from reports.results.model import Results, Run
from reports.text import format as fmt

FAMILY = (1, "Memory (MLC, memlat)")

LINE = 64
"""Bytes of a cache line: what one access of the latency thread moves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A loaded-latency curve, medians over the repeats, from the most load to the least (rising delay)."""

    run: Run  # one of its runs
    traffic: str
    rows: tuple[Load, ...]


def curves(results: Results) -> list[Curve]:
    """Return the curves of each cell, in the order of the cells; a delay that comes twice in a table is two rows."""
    out = []
    rows = ((run, row) for run in results.good("mlc") for row in load_rows(run))
    for (_, traffic), own in group_by(rows, lambda r: (cell_key(r[0]), r[1].traffic or "")).items():
        medians = [
            Load(delay, statistics.median(row.latency for _, row in same), statistics.median(row.bandwidth for _, row in same))
            for (delay, _), same in group_by(own, lambda r: (r[1].delay, r[1].occurrence)).items()
        ]  # fmt: skip
        out.append(
            Curve(run=own[0][0], traffic=traffic, rows=tuple(sorted(medians, key=lambda row: row.delay)))
        )
    return out


@check("M1", "warn")
def disturbed_row(results: Results) -> Iterator[Fault]:
    """latency above what a higher load had already reached

    Less load never waits longer. With rising injection delay the load falls; a latency above 1.08 × the
    lowest latency at any smaller delay is that of a row that something else disturbed (an interrupt,
    another process, a clock that was turned down). Rows with the same delay and curves of fewer than five
    rows are left out. (A monotone fit would blame the good rows as well.)

    Do: measure again on a quiet machine with a fixed clock; leave the rows out of what is quoted.
    """
    for curve in curves(results):
        if len(curve.rows) < 5:
            continue
        lowest = curve.rows[0].latency
        wrong = []
        for row in curve.rows[1:]:
            if row.latency > formulas.UNDERCUT * lowest:
                wrong.append((row.latency / lowest, row, lowest))
            lowest = min(lowest, row.latency)
        if wrong:
            said = [f"delay {row.delay}: {_ns(row.latency)} ({fmt.number(ratio)} × {_ns(least)})" for ratio, row, least in wrong]  # fmt: skip
            metric, *also = _parts_of(curve.rows, [row for _, row, _ in wrong])
            _, row, least = max(wrong, key=lambda w: w[0])
            yield Fault(
                level="warn", run=curve.run, text="; ".join(said), metric=metric, also=tuple(also),
                title=f"{len(wrong)} of {len(curve.rows)} rows are slower than under more load: {_ns(row.latency)} at delay {row.delay}, {_ns(least)} at a smaller one",
            )  # fmt: skip


def _parts_of(rows: Sequence[Load], wrong: Sequence[Load]) -> Iterator[str]:
    """Give what some wrong rows of a curve doubt: each itself, the unloaded latency where they are of the least load, and that at its peak."""
    peak = max(rows, key=lambda row: row.bandwidth)
    idle = [row for row in rows if row.bandwidth <= formulas.UNLOADED * peak.bandwidth]
    yield from (f"latency/{row.delay}" for row in wrong)
    if any(row in wrong for row in (idle if len(idle) >= formulas.ENOUGH_IDLE else rows[-1:])):
        yield UNLOADED
    if peak in wrong:
        yield AT_PEAK


@check("M2", "error", needs=("modules",))
def impossible_bandwidth(results: Results) -> Iterator[Fault]:
    """bandwidth that is too small or too large to be true

    The latency thread alone moves 64 B per latency: a loaded-latency row cannot show less (3 % are allowed
    for rounding). And no row can show more than the memory modules can move, MT/s · 8 B each, where its
    session recorded them, and they are DDR DIMMs alone (a package of LPDDR or HBM has more channels).
    Traffic of caches (buffers smaller than the caches, -b) is the usual cause of too much; where -b is an
    axis of the sweep, it was to be seen.

    Do: look at the raw output for a unit or a column that was mistaken; check the buffer size.
    """
    for curve in curves(results):
        for row in curve.rows:
            least = LINE / row.latency * 1e9 if row.latency > 0 else 0.0
            if row.bandwidth < 0.97 * least:
                yield Fault(
                    level="error", run=curve.run,
                    text=f"delay {row.delay}: {fmt.quantity(row.bandwidth, 'B/s')}, and 64 B ÷ {_ns(row.latency)} alone are "
                    f"{fmt.quantity(least, 'B/s')}",
                    title=f"{fmt.quantity(row.bandwidth, 'B/s')} at delay {row.delay}, and the latency thread alone moves {fmt.quantity(least, 'B/s')}",
                )  # fmt: skip
    for run in results.good("mlc"):
        peak = module_peak(run)
        most = max((entry.value for entry in entries(run) if entry.metric == "bandwidth"), default=0.0)
        if peak and most > peak and not sweeps(run, "b"):
            yield Fault(level="error", run=run, own=True, text="{}, the modules can move {}", quoted=((most, "B/s"), (peak, "B/s")), metric="bandwidth")  # fmt: skip


@check("M3", "info")
def kind_of_writes(results: Results) -> Iterator[Fault]:
    """what the load does is told by -W, not by a heading

    -W2 to -W5, -W11, -W12 and -W23 are reads and ordinary writes; -W6 to -W10 and -W27 write non-temporally,
    which takes no line from memory before it is written. And the latency is that of one reading thread, whatever the others do:
    "writes have a higher latency" cannot be seen here. Said of captured output, where a heading may say
    otherwise.

    Do: name the traffic as reports do ("R:W 3:1, non-temporal").
    """
    for curve in curves(results):
        said = TRAFFIC_TEXT.get(curve.traffic, "")
        if curve.run.captured and "non-temporal" in said:
            text = f"{said}; the latency is the reader’s"
            yield Fault(level="info", run=curve.run, text=text)


@check("M4", "info", needs=("topology",))
def lines_in_flight(results: Results) -> Iterator[Fault]:
    """more lines in flight than reads could have

    Bandwidth · latency ÷ 64 B is how many lines were on their way, if both belong to the same accesses.
    Above cores × 48 (fill buffers, and what the L2 asks for ahead) they do not: writes wait elsewhere, and
    the reader's latency does not describe them. Where the number of cores is not known, the most lines of
    the read-only curve of the same text stand in, twice.

    Do: quote the latency as that of a reader beside this traffic, not as the traffic's own.
    """
    found = curves(results)
    reads: dict[CellKey, list[float]] = {}
    for curve in found:
        if curve.traffic == "read":
            most = max(formulas.lines_in_flight(row.bandwidth, row.latency) for row in curve.rows)
            reads.setdefault(machine_key(curve.run), []).append(most)
    for curve in found:
        machine = curve.run.session.topology
        placed = {cpu for group in curve.run.placed for cpu in group.cpus}
        limit, said, short = 0.0, "", ""
        if machine is not None:
            cores = sum(1 for core in machine.cores if not placed or not placed.isdisjoint(core.cpus))
            most = formulas.LINES_A_CORE * cores
            limit = float(most)
            said = f"at most {fmt.count(most)} can be waited for, {formulas.LINES_A_CORE} a core"
            short = f"the cores can wait for {fmt.count(most)}"
        elif machine_key(curve.run) in reads:
            every = reads[machine_key(curve.run)]
            limit = 2 * max(every)
            of = "the read-only curve" if len(every) == 1 else "the read-only curve that has most"
            said = short = f"over twice the {fmt.number(max(every), rounding=fmt.UP)} of {of}"
        row = max(curve.rows, key=lambda r: r.bandwidth * r.latency)
        lines = formulas.lines_in_flight(row.bandwidth, row.latency)
        if limit and lines > limit:
            told = _above(lines, limit)
            yield Fault(
                level="info", run=curve.run,
                text=f"delay {row.delay}: {fmt.quantity(row.bandwidth, 'B/s')} × {_ns(row.latency)} ÷ 64 B = "
                f"{told} lines, {said}",
                title=f"{told} lines in flight, {short}",
            )  # fmt: skip


def _above(value: float, limit: float) -> str:
    """Return a number with as many digits as tell that it is above a limit: "96.2" of 96, "3 075" of 3 072 and not "3 070"."""
    digits = next(n for n in range(3, 17) if round(value, n - 1 - math.floor(math.log10(value))) > limit)
    return fmt.number(value, digits)


@check("M5", "warn", flags=("no_msr", "random_access"))
def prefetchers_on(results: Results) -> Iterator[Fault]:
    """the prefetchers were on

    MLC switches the hardware prefetchers off through /dev/cpu/*/msr. Where it says that it could not (not
    root, no msr module), a sequential walk is helped by them and an idle latency is too low, often by half;
    newer versions walk at random then and say so, which is slower than a sequential walk without
    prefetchers. It doubts latencies, and what is made of them, alone: bandwidths are measured with the prefetchers on.

    Do: load the msr module and run as root, or compare only with runs that had the prefetchers on too.
    """
    for runs in by_cell(results.good("mlc")).values():
        timed = (run for run in runs if any(entry.metric == "latency" for entry in entries(run)))
        flagged = [run for run in timed if run.parsed and run.parsed.has("no_msr")]
        if flagged:
            random = any(run.parsed and run.parsed.has("random_access") for run in flagged)
            yield Fault(level="warn", run=flagged[0], text="the prefetchers were on: MSRs could not be written" + (", access at random instead" if random else ""), metric="latency")  # fmt: skip


def units(results: Results) -> Iterator[Fault]:
    """G7: an idle latency under 1 ns."""
    for run in results.good("mlc"):
        low = [row.value for row in run.measured() if row.metric == "latency"]
        if low and min(low) < 1.0:
            yield Fault(
                level="error",
                run=run,
                own=True,
                text="a latency of {}",
                quoted=((min(low), "ns"),),
                metric="latency",
            )


def mistyped(command: str) -> Iterator[str]:
    """G2: a digit where a letter belongs."""
    for word in re.findall(r"(?<=\s)-(\d+)(?=\s|$)", command):
        like = f", “-l{word[1:]}” with a digit for its letter?" if re.match("1.", word) else ""
        yield f"MLC has no option “-{word}”{like}"


_NOT_ECHOED = ("l", "b", "X", "r", "e", "L")
"""MLC's options that its output does not repeat: only the numbers show whether they arrived."""


def no_effect(results: Results) -> Iterator[Fault]:
    """G1: options that only the numbers can show, curve against curve."""
    found = [curve for curve in curves(results) if len(curve.rows) >= 5]
    for name in _NOT_ECHOED:
        pairs = [(a, b, changes) for a, b in _pairs(found, name) if (changes := _changes(a, b))]
        told = [(statistics.median(changes), a, b) for a, b, changes in pairs]
        most, x, y = max(told, key=lambda one: one[0], default=(0.0, None, None))
        if x is None or y is None or most <= _EFFECT:
            continue
        ends = (f"-{name} {curve.run.cell.options.get(name, 'not given')}" for curve in (x, y))
        between = f"between {' and '.join(ends)}"
        for a, b, changes in pairs:
            if max(changes) < math.log(1.1):
                values = [curve.run.cell.options.get(name, "not given") for curve in (a, b)]
                other = max((effect for effect, of, _ in told if of.traffic != b.traffic), default=0.0)
                where, effect = ("of other traffic", other) if other > _EFFECT else (between, most)
                yield Fault(
                    level="warn", run=b.run,
                    text=f"{b.traffic or 'traffic not said'}: -{name} {values[0]} and -{name} {values[1]} agree within {fmt.number(math.expm1(max(changes)) * 100, 2, fmt.UP)} % "
                    f"in all loaded rows; {where} it changes the bandwidth by {fmt.percent(math.expm1(effect))}",
                )  # fmt: skip


_EFFECT = math.log(1.2)
"""What an option does to the bandwidth where it is known to do something."""


def _pairs(found: Sequence[Curve], name: str) -> Iterator[tuple[Curve, Curve]]:
    """Give the curves that differ in one option."""
    but = (name, "source")  # `source` tells apart texts that told the same: not an option
    alike = group_by(found, lambda c: (*siblings_key(c.run, (*but, "W") if c.traffic else but), c.traffic))
    for members in alike.values():
        for a, b in itertools.combinations(members, 2):
            if str(a.run.cell.options.get(name)) != str(b.run.cell.options.get(name)):
                yield a, b


def _changes(a: Curve, b: Curve) -> list[float]:
    """Return |ln(bandwidth ÷ bandwidth)| of the rows that both have and of which one reaches half of its curve's peak."""
    mine, other = ({row.delay: row.bandwidth for row in curve.rows} for curve in (a, b))
    half = [max(rows.values()) / 2 for rows in (mine, other)]
    loaded = [d for d in mine if d in other and (mine[d] >= half[0] or other[d] >= half[1])]
    return [abs(math.log(mine[d] / other[d])) for d in loaded] if len(loaded) >= 3 else []


def of_a_part() -> Iterator[str]:
    """G16: what is to be known of a curve that lacks rows."""
    yield "; the peak may be higher, the unloaded latency lower"


def busy(_run: Run) -> Iterator[int]:
    """G12: how many CPUs it keeps busy: at least the thread that times."""
    yield 1


def noise() -> Iterator[float]:
    """G11: the standard deviation over repeats that is usual: of memory bandwidth little."""
    yield 0.03


def _ns(latency: float) -> str:
    """Return a latency of a loaded-latency table with the digits that MLC prints of it."""
    return fmt.quantity(latency, "ns", step=mlc.PRINTED_LOADED_LATENCY)
