"""What the charts say in words: values with their range, key numbers, what ran."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from parsers.units import to_base
from reports.charts import facets
from reports.charts.soundness import counted
from reports.draw.figure import Panel
from reports.numbers import formulas, scatter
from reports.numbers.formulas import Spread
from reports.page.model import KeyNumber
from reports.results.grouping import group_by
from reports.results.model import Run, texts_of
from reports.results.naming import program_name
from reports.results.programs import tool_name
from reports.text import format as fmt


def not_drawn(of: int, drawn: int, noun: str = "panel") -> str:
    """Say how many panels, or whatever the noun is, a figure leaves to its table: " 3 more panels are in the numbers only."; "" of none."""
    left = of - drawn
    more = fmt.plural(left, f"more {noun}")
    return f" {more} {'is' if left == 1 else 'are'} in the numbers only." if left > 0 else ""


ANYWHERE, UNSAID = "not placed", "place not said"


def place(run: Run) -> str:
    """Return where a run was, in words; "not placed" where nothing was asked for: it ran where the mask of its session let it, which may
    be one PU; and of a captured text that does not tell, that."""
    return run.place or run.relation or (UNSAID if run.captured else ANYWHERE)


def over(runs: Sequence[Run]) -> str:
    """Return what a range is taken over: "of the repeats", "of 64 hosts"."""
    return (
        f"of {fmt.count(len({run.host for run in runs}))} hosts" if facets.pooled(runs) else "of the repeats"
    )


def spread_text(value: Spread, scale: fmt.Scale, digits: int = 3, step: float | None = None) -> str:
    """Return "23.1" for one repeat, "23.1 (22.9–23.4)" for several; step: as `fmt.number` has it, in the base unit."""
    step = value.step if step is None else step
    text, low, high = (scale.number(v, digits, step=step) for v in (value.median, value.low, value.high))
    return text.within(low, high) if isinstance(text, fmt.Shown) and value.n > 1 and low != high else text


STEADY = 0.05
"""Key numbers whose repeats lie within 5 % of the median stand alone."""


IDLE: Final = "Idle latency"
"""What an idle latency is called that is not known to be one of memory: all that was walked over may have been in a cache."""


def key_number(
    name: str,
    value: Spread,
    unit: str,
    context: str,
    rank: float,
    runs: Iterable[Run],
    *,
    program: str = "",
    metric: str = "",
    told: str = "",
    told_metric: str = "",
) -> KeyNumber:
    """Return a number for the page's header: the median, and how far the repeats are apart if that is worth saying. `runs`: of its
    cell; `metric`: which of their numbers it is; `told`, `told_metric`: what its context has of another of them.

    Of numbers of one name and one `program` the page shows the best: the lowest time, the highest of anything else.
    """
    text, scaled = fmt.split(value.median, unit, step=value.step)
    scaled = "" if scaled == "1" else scaled  # "0", as tables have it, and not "0 1"
    repeats = ""
    shares = scatter.tells_shares([value.low, value.median, value.high], to_base(unit)[1])
    if value.n > 1 and (value.relative > STEADY if shares else value.low < value.high):
        factor = fmt.scale_for([value.median], unit)
        low, high = (factor.number(end, step=value.step) for end in (value.low, value.high))
        repeats = f"{low} to {high} {scaled}".strip()
        if value.high > 1000 * value.low > 0:  # "240 ns to 2.23 ms", not "0.000240 to 2.23 ms"
            low, high = (fmt.quantity(end, unit, step=value.step) for end in (value.low, value.high))
            repeats = f"{low} to {high}"
    return KeyNumber(
        name=name,
        value=text,
        unit=scaled,
        context=context,
        rank=rank,
        repeats=repeats,
        apart=value.relative if shares else 0.0,
        spread=_known_to(value) if shares or value.n < 2 else f"n = {value.n}",
        unsteady=shares and value.unsteady,
        program=program,
        metric=metric,
        told=told,
        told_metric=told_metric,
        runs=tuple(dict.fromkeys(runs)),
        merit=-value.median if unit == "ns" else value.median,
    )


_SHOWS: Final = 0.001
"""What share of a number half of its last digit is at least, where it is told: 0.1 %."""


def _known_to(value: Spread) -> str:
    """Return "±1.2 % (n = 3)", half of the range of the repeats; "±2.9 %, its last digit (n = 3)" of repeats that differ by less than that."""
    if value.n < 2:
        return "n = 1, no spread known"
    digit = (value.step or 0.0) / abs(value.median or math.inf)
    if value.relative < digit and digit / 2 >= _SHOWS:
        return f"±{fmt.percent(digit / 2)}, its last digit (n = {value.n})"
    return f"±{fmt.percent(value.relative / 2)} (n = {value.n})"


def within_repeats(best: Spread, others: Iterable[Spread]) -> str:
    """Return "; repeats of 7 overlap" of a best cell: any of these may be the best one; "" where none is."""
    n = formulas.overlapping(best, others)
    return f"; repeats of {fmt.count(n)} overlap" if n else ""


def exact(value: Spread, unit: str) -> str:
    """Return "23.14 GB/s (22.9–23.4)": a number as it is read at a point."""
    scale = fmt.scale_for([value.median], unit)
    text = f"{fmt.quantity(value.median, unit, 4, step=value.step)}"
    if value.n > 1 and value.low < value.high:
        low, high = (scale.number(end, 4, step=value.step) for end in (value.low, value.high))
        text += f" ({low}–{high})"
    return text


def ran(runs: Sequence[Run], naming: Callable[[Run], str]) -> str:
    """Return what ran, in words: "STREAM 5.10, 3 repeats a cell", "1 to 3 repeats a cell with numbers", "one run a cell"."""
    programs = list(dict.fromkeys(naming(run) for run in runs))
    counts = [len(counted(same)) for same in group_by(runs, facets.cell).values()]
    low, high = min(counts, default=1), max(counts, default=1)
    often = fmt.plural(high, "repeat") if low == high else f"{low} to {fmt.plural(high, 'repeat')}"
    often = f"{often} a cell{' with numbers' if low < high else ''}" if high > 1 else "one run a cell"
    hosts = f" on each of {fmt.count(len({run.host for run in runs}))} hosts" if facets.pooled(runs) else ""
    return f"{fmt.words(programs)}, {often}{hosts}"


def marks(panels: Iterable[Panel]) -> frozenset[str]:
    """Return the kinds of marks that some pictures have: what a caption may explain. "hollow" is one, "pairs", and "band"; "ranges", which are bars,
    are others."""
    found = set()
    for spec in (panel.wide for panel in panels):
        areas = {layer["data"]["name"] for layer in spec["layer"] if layer["mark"]["type"] == "area"}
        for name, rows in spec["datasets"].items():
            single = [row for row in rows if not row.get("pair")]
            bands = (
                [row for row in single if not row.get("alone")] if name == "ranges" and name in areas else []
            )
            found |= {name} if len(bands) < len(single if name == "ranges" else rows) else set()
            found |= {"pairs"} if len(single) < len(rows) else set()
            found |= {"band"} if bands else set()
            found |= {"hollow"} if any(row.get("hollow") for row in rows) else set()
    return frozenset(found)


def repeats(panels: Sequence[Panel], runs: Sequence[Run]) -> str:
    """Say what shows the repeats in some pictures, " Bars: lowest to highest of the repeats."; of two repeats it is two dots. "" where
    nothing does."""
    drawn = marks(panels)
    what = " and ".join(word for kind, word in (("band", "band"), ("ranges", "bars")) if kind in drawn)
    said = f" {fmt.sentence(what)}: lowest to highest {over(runs)}." if what else ""
    return said + (" Two dots: both repeats." if "pairs" in drawn else "")


def hollow(panels: Iterable[Panel], runs: Iterable[Run], what: str = "Hollow") -> str:
    """Say what is hollow in some pictures, " Hollow: something else disturbed every run (D1)."; "" where nothing is. runs: behind them;
    what: the marks, by how they look."""
    return f" {what}: {_unsound(runs)}." if "hollow" in marks(panels) else ""


def _unsound(runs: Iterable[Run]) -> str:
    kinds = {run.void: tool_name(run.tool) for run in runs if not run.sound}
    void = f"{kinds.get(True)}’s own check of its results failed, the figure means nothing"
    disturbed = "something else disturbed every run (D1)"
    return "; or ".join(why for kind, why in ((True, void), (False, disturbed)) if kind in kinds)


_MOST_LEVELS: Final = 4


def left_out(at: Iterable[float], runs: Iterable[Run], noun: str) -> str:
    """Return "disturbed at depths 8 and 32", which levels of a curve its number leaves out; of many "disturbed at 5 other depths"; "" of none.
    runs: of these levels, none of them sound."""
    levels = [fmt.whole(int(level)) for level in sorted(set(at))]
    if not levels:
        return ""
    why = _whys(runs)
    nouns = f"{noun}s" if len(levels) > 1 else noun
    others = f"{nouns} {fmt.words(levels)}" if len(levels) <= _MOST_LEVELS else f"{len(levels)} other {nouns}"
    return f"{why[0] if len(why) == 1 else 'not counted'} at {others}"


def why_unsound(runs: Iterable[Run]) -> str:
    """Return "disturbed", "disturbed or wrong by its own check": why some runs are in no statement."""
    return fmt.words(_whys(runs), "or")


def _whys(runs: Iterable[Run]) -> list[str]:
    return sorted({"wrong by its own check" if run.void else "disturbed" for run in runs})


def of_texts(runs: Iterable[Run]) -> str:
    """Say " Of a.out." or " Of 3 texts." of captured runs, where several texts were taken in; else ""."""
    named = {run: run.text.partition(", part ")[0] for run in runs if run.text}
    texts = {(run.file, text): named[run] for run, text in texts_of(named).items()}
    if not texts:
        return ""
    names = set(named.values())  # several of one text are parts of it
    one = names.pop() if len(names) == 1 else next(text for _, text in texts).rpartition("/")[2]
    return f" Of {one if len(texts) == 1 else fmt.plural(len(texts), 'text')}."


def programs(runs: Iterable[Run]) -> tuple[str, ...]:
    """Return the names of all programs that made some runs, each version by itself, in order of appearance."""
    return tuple(dict.fromkeys(program_name(run) for run in runs))
