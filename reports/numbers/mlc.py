"""Intel MLC: latency and bandwidth of each row of each table; of a loaded-latency curve also what it offers."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from parsers import mlc
from parsers.measurement import Parsed, Scalar
from reports.numbers import formulas
from reports.numbers.formulas import Load
from reports.numbers.model import Name, Number, Part
from reports.readings.mlc import Entry, LoadRow, chosen_cores, entries, load_rows
from reports.results.grouping import group_by
from reports.results.model import Run
from reports.text import format as fmt

DRAWN: Final = ("loaded latency",)

WORKING_SET: Final = ("b",)

ALONE: Final = "latency/alone"
"""What doubts may be of, as in `results.convicted`: the latency of one reader beside which nothing runs, no row of a loaded-latency curve."""
UNLOADED: Final = "latency/unloaded"
"""Of such a curve the rows of the least load; "latency/50" is its row of delay 50."""
AT_PEAK: Final = "latency/peak"
"""The row of its most bandwidth."""


def numbers(of: Run | Parsed) -> Iterator[Number]:
    """Give the latency and bandwidth of each row of each table, and what each loaded-latency curve offers."""
    found = entries(of)
    several = len({row.turn for row in found}) > 1  # a run of a text that holds one needs no number
    turns: Counter[tuple[str, str, Part]] = Counter()
    for row in found:
        nodes = (("transfer", row.transfer), ("from", row.source), ("to", row.target))
        part = _part(row, several, ("delay", row.delay), *nodes)
        turns[row.section, row.metric, part] += 1
        if (turn := turns[row.section, row.metric, part]) > 1:  # a delay may come twice
            part = (*part, ("turn", turn))
        metric, step, kind = mlc.METRICS[row.metric], mlc.PRINTED[row.metric], row.section.replace("_", " ")
        if kind == "loaded latency" and row.metric == "latency":
            step = mlc.PRINTED_LOADED_LATENCY
        alone = row.metric == "latency" and row.delay is None
        name = Name(
            metric=row.metric, unit=metric.unit, better=metric.better, kind=kind, part=part, made_of=ALONE if alone else ""
        )  # fmt: skip
        yield Number(name=name, value=row.value, step=step)
    for rows in _curves(of).values():
        if len(rows) >= 4:
            yield from _offers(_part(rows[0], several), _offered(rows))


def _part(row: Entry | LoadRow, several: bool, *labels: tuple[str, Scalar]) -> Part:
    """Return those labels that have a value, the run (of a text that holds several) and the traffic first."""
    every = (("run", row.turn if several else None), ("traffic", row.traffic), *labels)
    return tuple((label, value) for label, value in every if value is not None)


def _curves(of: Run | Parsed) -> dict[tuple[int | None, str | None], list[LoadRow]]:
    """Return the rows of each loaded-latency curve of a text, by its run in the text and its traffic."""
    return group_by(load_rows(of), lambda row: (row.turn, row.traffic))


def _offered(rows: Sequence[LoadRow]) -> formulas.LoadedLatency:
    return formulas.loaded_latency([Load(row.delay, row.latency, row.bandwidth) for row in rows])


def _offers(part: Part, offers: formulas.LoadedLatency) -> Iterator[Number]:
    """What a loaded-latency curve offers, as in `formulas.loaded_latency`."""
    bandwidth = mlc.PRINTED["bandwidth"]
    yield Number.derived("peak bandwidth", "B/s", "higher", offers.peak, part, bandwidth, made_of="bandwidth")
    if not offers.idle:
        return
    yield Number.derived(
        "unloaded latency",
        "ns",
        "lower",
        offers.unloaded,
        part,
        mlc.PRINTED_LOADED_LATENCY,
        made_of=UNLOADED,
    )
    if offers.doubled == "yes":  # else its peak is a bound
        name = "bandwidth within 2 × unloaded latency"
        yield Number.derived(name, "B/s", "higher", offers.at_double, part, bandwidth)


def headline(repeats: Sequence[Parsed], spread: str = "") -> str:
    """Return "unloaded 81.0 ns, peak 25.9 GB/s" ("peak 25.9 GB/s of this load" where it does not double the latency), "idle 81.0 ns", "own memory
    81.0 ns, others’ 139 ns": the first that the texts tell, and the second or, where neither has it, what `leading` returns."""
    parts = [*_of_entries(repeats), *_of_curves(repeats)]
    rates = [part for part in parts if part.unit == "B/s"]
    leads = max(rates, key=lambda p: max(p.values), default=None) or min(parts, key=lambda p: min(p.values), default=None)  # fmt: skip
    shown = parts[:2] if leads is None or leads in parts[:2] else [parts[0], leads]
    return ", ".join(
        f"{part.word} {_from_to(part)}{part.whose}{_behind(part, spread) if part is leads else ''}"
        for part in shown
    )


def _behind(part: _Part, spread: str) -> str:
    """Return what stands behind the part that leads: of several numbers the spread is of the best alone, as in `leading`."""
    if not spread or _from_to(part) == _from_to(part._replace(values=part.values[:1])):
        return spread
    return f" ({'lowest' if part.unit == 'ns' else 'highest'}{spread})"


class _Part(NamedTuple):
    """One kind of what a run of MLC finds: a number for each of its entries, the median over the repeats."""

    word: str
    values: Sequence[float]
    unit: str
    whose: str = ""
    step: float = 0.0  # the last digit that is printed, in the unit


def _of_entries(repeats: Sequence[Parsed]) -> Iterator[_Part]:
    rows = [row for parsed in repeats for row in entries(parsed)]
    for word, metric, tells in _SAID:
        own = group_by(
            (row for row in rows if row.metric == metric and tells(row)),
            lambda row: (row.section, row.traffic, row.transfer, row.source, row.target),
        )
        whole = [same for same in own.values() if len(same) >= len(repeats)]
        if whole:
            chosen = word == "all cores" and any(map(chosen_cores, repeats))
            values = [statistics.median(row.value for row in same) for same in whole]
            of = "chosen cores" if chosen else word
            yield _Part(of, values, mlc.METRICS[metric].unit, step=_printed(repeats, mlc.PRINTED[metric]))


def _of_curves(repeats: Sequence[Parsed]) -> Iterator[_Part]:
    offers = group_by(
        ((key, _offered(own)) for parsed in repeats for key, own in _curves(parsed).items()),
        lambda pair: pair[0],
    )
    curves = [same for same in offers.values() if len(same) >= len(repeats)]
    if curves:
        found = [formulas.over_repeats([offered for _, offered in same]) for same in curves]
        if all(one.idle for one in found):
            yield _Part(
                "unloaded",
                [one.unloaded for one in found],
                "ns",
                step=_printed(repeats, mlc.PRINTED_LOADED_LATENCY),
            )
        whose = "" if all(one.doubled == "yes" for one in found) else " of this load"
        yield _Part(
            "peak", [one.peak for one in found], "B/s", whose, _printed(repeats, mlc.PRINTED["bandwidth"])
        )


_SAID: Final[tuple[tuple[str, str, Callable[[Entry], bool]], ...]] = (
    ("idle", "latency", lambda row: row.section == "idle_latency"),
    ("own memory", "latency", lambda row: row.section == "latency_matrix" and row.source == row.target),
    ("others’", "latency", lambda row: row.section == "latency_matrix" and row.source != row.target),
    ("own memory", "bandwidth", lambda row: row.section == "bandwidth_matrix" and row.source == row.target),
    ("others’", "bandwidth", lambda row: row.section == "bandwidth_matrix" and row.source != row.target),
    ("all cores", "bandwidth", lambda row: row.section in ("peak_injection_bandwidth", "max_bandwidth")),
    ("cache to cache", "latency", lambda row: row.section == "c2c_latency"),
    ("CPUs to nodes", "latency", lambda row: row.section == "cpu_latency_matrix"),
)
"""What a text tells beside loaded latencies: how it is said, the metric, which entries."""


def _printed(repeats: Iterable[Parsed], step: float) -> float:
    """Return the last digit that is printed, 0 of a table that somebody else wrote."""
    return 0.0 if any(parsed.has("from_table") for parsed in repeats) else step


def _from_to(part: _Part) -> str:
    scale = fmt.scale_for(part.values, part.unit)
    return f"{fmt.ends(*(scale.number(of(part.values), step=part.step) for of in (min, max)))} {scale.unit}"


def leaders(repeats: Sequence[Parsed]) -> list[tuple[str, float]]:
    """Return the largest bandwidth, of a loaded-latency curve its peak; without one the lowest latency."""
    every = [parsed.once(_by_name) for parsed in repeats]
    medians = {
        name: statistics.median(own[name] for own in every)
        for name in every[0]
        if all(name in own for own in every)
    }
    rates = [name for name in medians if name.unit == "B/s"]
    leads = max(rates, key=lambda name: (medians[name], name.derived), default=None) or min(
        medians, key=medians.__getitem__, default=None
    )
    return [(leads.unit, own[leads]) for own in every] if leads else []


def _by_name(parsed: Parsed) -> dict[Name, float]:
    found: dict[Name, float] = {}
    for number in numbers(parsed):
        found.setdefault(number.name, number.value)
    return found
