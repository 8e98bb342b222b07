"""A comparison in words: the sentence at its head, and the texts of its rows. Pure.

What stands here once is used by the terminal, the page and the machine formats alike.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from reports.checks.doubts import counted as counted_doubts
from reports.compare.doubted import said as doubts_of_all
from reports.compare.doubted import without
from reports.compare.failures import Failed
from reports.compare.folds import Fold, folded
from reports.compare.matching import Unmatched, became
from reports.compare.model import Comparison, ModeShift, Row, Sizes, Way, called
from reports.compare.moves import Move, moves
from reports.compare.sides import Side, session
from reports.draw.figure import MARK
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.sessions import counted
from reports.text import format as fmt
from reports.verdicts.estimate import TAU_LEAST
from reports.verdicts.model import LEAST_SESSIONS, TauSource, Verdict, relative
from reports.verdicts.model import counted as counted_number

TYPICAL: Final = "Shift of the typical pair of runs"
"""What a change is: the median of B's runs through A's over all pairs of them. That of the medians may differ."""

BEYOND: Final = " (of what is the same it may reach beyond the threshold; the 90 % interval, which decides that, does not)"


def shown_as(comparison: Comparison) -> str:
    """Return what a row has: with one run on a side no interval; where the interval of something that is called the same reaches beyond the
    threshold, how that can be."""
    if len(comparison.once) == len(comparison.rows):
        return f"{TYPICAL}, without an interval since a side has one run, and the medians"
    wider = any(reaches_beyond(row) for row in comparison.of("same"))
    return f"{TYPICAL}, its 95 % interval{BEYOND if wider else ''}, and the medians"


def reaches_beyond(row: Row) -> bool:
    """Does the 95 % interval leave the threshold on a side?"""
    d = row.decision
    ends = [end for end in (d.low, d.high) if end]
    return any(abs(math.log(end)) > math.log1p(d.threshold) for end in ends)


_COUNTED: Final = (
    "regressed",
    "worse",
    "improved",
    "better",
    "the same",
    "inconclusive",
    "without a verdict",
)
"""Words of `tally`, in its order."""


# --- numbers -----------------------------------------------------------------------------------------------


def change(value: float | None, beside: tuple[float, float] | None = None) -> str:
    """`change(-0.133)` is "−13.3 %", `change(2.4)` is "+240 %", `change(34.1)` is "35.1 ×", `change(0.0)` is "0.0 %", `change(None)` is "–".
    beside: the interval that stands beside it; both are told in per cent, or both as factors."""
    if value is None:
        return fmt.NOTHING
    if _are_factors(value, *(beside or ())):
        return fmt.times(1 + value)
    text = _percent(value)
    return f"{text} %" if text == "0.0" or text[0] == fmt.MINUS else f"+{text} %"


def interval(ends: tuple[float, float] | None) -> str:
    """`interval((-0.14398, -0.122))` is "−14.4 to −12.2 %": its ends are bounds, rounded outwards; `interval((24.2, 47.2))` is "25.2 to 48.2 ×",
    `interval((2e5, 3e5))` is "10 000 to ∞ ×"."""
    if ends is None:
        return ""
    low, high = min(ends[0], _BEYOND), ends[1]
    if _are_factors(high):
        return fmt.times(1 + low, 1 + high if high < _BEYOND else math.inf, outwards=True)
    return f"{_percent(low, fmt.DOWN)} to {_percent(high, fmt.UP)} %"


def _are_factors(*changes: float) -> bool:
    """From ten times as much on changes are told as factors: nobody reads +3 410 %."""
    return max(changes) >= 9.0


_BEYOND: Final = 1e4
"""Of what end of an interval, relative, no more is told: as a lower one it stands for all that lies above, as an upper one it is infinite."""


def _percent(value: float, rounding: str = fmt.NEAREST) -> str:
    if abs(value) >= 1:
        return fmt.number(value * 100, 3, rounding)
    rounded = (100 * Decimal(repr(float(value)))).quantize(Decimal("0.1"), rounding)
    return f"{rounded if rounded else abs(rounded)}".replace("-", fmt.MINUS)


def shift(row: Row) -> str:
    """Return the change of the typical pair; where that of the medians is another, they are told: "+0.1 % (medians −0.2 %)"."""
    said = change(row.change, row.interval)
    return f"{said} ({other})" if (other := of_medians(row)) else said


def moved(row: Row, before: str = "") -> str:
    """Return the change with its interval, and that of the medians where it is another: "−4.9 % (−30.5 to 30.1 %; medians −9.7 %)".
    before: what stands before the interval."""
    ends = interval(row.interval)
    aside = "; ".join(filter(None, (ends and f"{before}{ends}", of_medians(row))))
    said = change(row.change, row.interval)
    return f"{said} ({aside})" if aside else said


def typical(row: Row) -> str:
    """Return the change beside both medians: "−4.9 % (−10.5 to 1.2 %)"; where theirs prints otherwise, both: "medians +0.7 %, typical pair 0.0 % (−2.2
    to 2.2 %)"."""
    said, ends = change(row.change, row.interval), interval(row.interval)
    said = f"{said} ({ends})" if ends else said
    if not row.decision.ratio or row.median_b / row.median_a <= 0:
        return said
    medians = change(relative(row.median_b, row.median_a), row.interval)
    return said if medians == change(row.change, row.interval) else f"medians {medians}, typical pair {said}"


def of_medians(row: Row) -> str:
    """Return "medians −0.2 %" where the medians of the sides go the other way than the change that is printed, or are off by another
    size: by more than the threshold, and half of the larger of the two."""
    if not row.decision.ratio or row.median_b / row.median_a <= 0:
        return ""
    medians, typical = math.log(row.median_b / row.median_a), math.log(row.decision.ratio)
    against = medians * typical < 0 and change(row.change) != change(0.0)
    larger = max(abs(medians), abs(typical))
    far = abs(medians - typical) > max(math.log1p(row.decision.threshold), larger / 2)
    return f"medians {change(relative(row.median_b, row.median_a), row.interval)}" if against or far else ""


def tally(rows: Sequence[Row], noun: str) -> str:
    """Return "4 of 8 points regressed (−11.6 to −10.3 %), 3 the same, 1 inconclusive": what there is of each verdict."""
    said = {"same": "the same", "one run": "without a verdict"}
    by_word = group_by(rows, lambda row: said.get(row.word, row.word))
    (first, own), *rest = sorted(by_word.items(), key=lambda item: _COUNTED.index(item[0]))
    told = [
        f"{len(own)} of {fmt.plural(len(rows), noun)} {first}",
        *(f"{len(of)} {word}" for word, of in rest),
    ]
    return ", ".join(
        f"{text}{_by(of)}" for text, of in zip(told, (own, *(of for _, of in rest)), strict=True)
    )


def _by(rows: Sequence[Row]) -> str:
    """Return by how much numbers of one verdict changed, where they did: " (−11.6 to −10.3 %)"."""
    return f" ({span(rows)})" if rows[0].verdict in ("regressed", "improved") and not rows[0].once else ""


def values(row: Row) -> tuple[str, str, str]:
    """Return (A, B, unit) on one scale, four digits."""
    scale = fmt.scale_for([row.median_a, row.median_b], row.number.said_unit)
    a, b = (scale.number(median, 4, step=row.step) for median in (row.median_a, row.median_b))
    return a, b, scale.unit


def ends(rows: Sequence[Row]) -> tuple[str, str, str]:
    """Return (A, B, unit) of the points of a curve on one scale, from the lowest median to the highest: ("90.53 to 340.7", "109.1 to 411.9", "ns");
    of numbers that are over 1000 times apart each with a unit of its own, and none for all."""
    unit, sides = rows[0].number.said_unit, ([row.median_a for row in rows], [row.median_b for row in rows])
    known = [abs(median) for of in sides for median in of if median]
    scale = fmt.scale_for(known, unit)
    apart = unit and max(known, default=0.0) > 1000 * min(known, default=0.0)

    def said(median: float, row: Row) -> str:
        return fmt.quantity(median, unit, 4, step=row.step) if apart else scale.number(median, 4, step=row.step)  # fmt: skip

    a, b = (
        fmt.ends(*(said(*pick(zip(of, rows, strict=True), key=lambda pair: pair[0])) for pick in (min, max)))
        for of in sides
    )
    return a, b, "" if apart else scale.unit


def from_to(row: Row) -> str:
    """Return "20.47 → 17.75 GB/s"."""
    a, b, unit = values(row)
    return f"{a} → {b} {unit}".rstrip()


def span(rows: Sequence[Row]) -> str:
    """Return the range of the changes of a curve's points, as `outer` is told: "−11.0 to −10.3 %", "4.40 to 35.1 ×"; one where they print
    alike."""
    known = sorted({row.change for row in rows if row.change is not None})
    if not known:
        return fmt.NOTHING
    beside = outer(rows)
    if _are_factors(known[-1], *(beside or ())):
        return fmt.times(1 + known[0], 1 + known[-1])
    least, most = change(known[0]), change(known[-1])
    return most if least == most else f"{least.removesuffix(' %')} to {most}"


def outer(rows: Sequence[Row]) -> tuple[float, float] | None:
    """Return the outermost ends of the intervals of a curve's points; None where one has none."""
    ends = [row.interval for row in rows]
    known = [end for end in ends if end]
    if len(known) < len(ends):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def runs(row: Row) -> str:
    """Return "5 + 5 runs"."""
    return f"{len(row.a)} + {len(row.b)} runs"


def provisional(row: Row) -> str:
    """Return what stands behind a verdict that is: ", provisional"."""
    return ", provisional" if row.provisional else ""


def doubtful(row: Row) -> str:
    """Return what stands behind a number of which a check doubts either side: " ⚠ doubtful: F1"."""
    return f" ⚠ doubtful: {row.doubt}" if row.doubt else ""


def doubting(comparison: Comparison) -> dict[str, int]:
    """Return the checks that doubt a number on either side, "M1 of A", with how many, the most first."""
    return dict(
        Counter(key for row in comparison.rows if row.doubt for key in row.doubt.split(", ")).most_common()
    )


def doubted(comparison: Comparison) -> str:
    """Return "12 of 48 numbers, by the checks of their cells: F1 (10), G11 (2); pinsweep audit says why"; "" of none."""
    ids = doubting(comparison)
    if not ids:
        return ""
    of = f"{fmt.count(sum(bool(row.doubt) for row in comparison.rows))} of {fmt.plural(len(comparison.rows), 'number')}"
    named = ", ".join(f"{key} ({fmt.count(n)})" for key, n in ids.items())
    return f"{of}, by the checks of their cells: {named}; pinsweep audit says why"


def direction(row: Row) -> str:
    """Return "more is better", "less is better", or "neither is better"."""
    return {"higher": "more is better", "lower": "less is better", "neither": "neither is better"}[row.better]


# --- sentences ---------------------------------------------------------------------------------------------


def sentence(comparison: Comparison) -> str:
    """Return the verdict: "7 of 48 numbers regressed, 2 improved, 30 are the same, 9 are inconclusive. stream, place=remote: 4 of 4 cells
    regressed, bandwidth −10.3 to −9.9 %; …".

    With one session a side it begins with "Provisional, one session a side: ". Runs that failed on one side stand before it, behind what
    moved where something regressed. What has no partner follows; metrics whose better direction nobody told stand at the end.
    """
    of_all, comparison = doubts_of_all(comparison), without(comparison)
    verdict = [_judged(comparison), _moves(comparison)]
    failed = _failed(comparison.failures)
    said = [
        *([*verdict, failed] if comparison.counts["regressed"] else [failed, *verdict]),
        _confirmed(comparison),
        of_all,
        _lost(comparison),
        _sized(comparison.sizes),
        _undirected(comparison.undirected),
    ]
    return " ".join(filter(None, said))


def alone(unmatched: Sequence[Unmatched]) -> str:
    """Return "3 cells, and numbers of 1 other" of what is not compared, a cell of either side counted once; "" of nothing."""
    whole = sum(item.side != "both" and not item.part for item in unmatched)
    partly = len({(item.sweep, item.cell) for item in unmatched if item.side == "both" or item.part})
    cells = [fmt.plural(whole, "cell")] if whole else []
    numbers = [f"numbers of {fmt.plural(partly, 'other' if whole else 'cell')}"] if partly else []
    return ", and ".join([*cells, *numbers])


def _failed(failures: Sequence[Failed]) -> str:
    """Return "Failed in B: 3 of 6 runs of prog, n=3 (A: 0 of 6).", of several cells "Failed in B: runs of 5 cells, of 3 of them all (in A none)."; ""
    where a side failed no more than the other."""
    said = []
    for side, own in group_by(failures, lambda one: one.side).items():
        wholly = sum(one.wholly for one in own)
        none = "" if any(one.there[0] for one in own) else f" (in {own[0].other} none)"
        cells = fmt.plural(len(own), "cell")
        told = (
            f"all runs of {cells}"
            if wholly == len(own)
            else f"runs of {cells}{f', of {wholly} of them all' if wholly else ''}"
        )
        said.append(f"Failed in {side}: {own[0].text if len(own) == 1 else f'{told}{none}'}.")
    return " ".join(said)


def failed(comparison: Comparison) -> list[str]:
    """Return the cells with failed runs, a line each, where the sentence does not tell all of them: "B: 3 of 6 runs of prog, n=6 (A: 0 of 6): exit
    status 1". Why all of a cell failed stands where it has no partner."""
    found = comparison.failures
    if max(Counter(one.side for one in found).values(), default=0) < 2 and all(one.wholly for one in found):
        return []
    return [f"{one.side}: {one.text if one.wholly else one.with_reason}" for one in found]


def _lost(comparison: Comparison) -> str:
    """Return "7 cells of A and 2 of B have no partner. Of 1 cell neither side has a number."; "" where each has one. Cells whose runs all failed
    on one side are told before."""
    cells = Counter(one.side for one in comparison.unmatched if one.side != "both" and not one.part)
    numberless = cells.pop("neither", 0)
    cells -= Counter(one.other for one in comparison.failures if one.wholly)
    said = [f"{fmt.plural(n, 'cell') if i == 0 else fmt.count(n)} of {name}" for i, (name, n) in enumerate(sorted(cells.items()))]  # fmt: skip
    alone = f"{fmt.words(said)} {'has' if cells.total() == 1 else 'have'} no partner." if said else ""
    lost = f"Of {fmt.plural(numberless, 'cell')} neither side has a number." if numberless else ""
    return " ".join(filter(None, (alone, lost)))


def _sized(sizes: Sequence[Sizes]) -> str:
    """Return what must be known of IOPS and times of I/Os or files of different sizes; "" where they are alike."""
    if not sizes:
        return ""
    of_a, of_b = (
        " to ".join(dict.fromkeys(fmt.size(round(end)) for end in (min(own), max(own))))
        for own in ([one.a for one in sizes], [one.b for one in sizes])
    )
    ratios = [one.faster for one in sizes]
    factor = " to ".join(dict.fromkeys(fmt.number(end) for end in (min(ratios), max(ratios))))
    kinds = {one.files for one in sizes}
    said = {False: "IOPS and latencies are of one I/O", True: "Times of files are of all together"}
    of_what = (
        "IOPS and latencies are of one I/O, times of files of all together"
        if len(kinds) > 1
        else said[kinds.pop()]
    )
    return f"{of_what}: {of_a} in A and {of_b} in B; B moves {factor} × the bytes per second of A."


def _undirected(metrics: Sequence[str]) -> str:
    if not metrics:
        return ""
    more = f" and {len(metrics) - _MOST_METRICS} more" if len(metrics) > _MOST_METRICS else ""
    named = f"{', '.join(metrics[:_MOST_METRICS])}{more}" if more else fmt.words(metrics)
    return f"Not compared: {named}, without “better” in the experiment."


_MOST_METRICS: Final = 5


def _judged(comparison: Comparison) -> str:
    counts = comparison.counts
    judged = sum(counts.values())
    once = len(comparison.once)
    if not judged:
        if not once:
            return _nothing(comparison.unmatched)
        known = [row for row in comparison.once if not row.derived and row.better != "neither"]
        sizes = f" B against A: {_sizes(known)}." if any(row.change is not None for row in known) else ""
        return f"One run on a side: {fmt.plural(once, 'number')}, no verdict.{sizes}"
    provisional = ""
    if found := comparison.provisional:
        of_them = "" if found == judged else f" for {fmt.plural(found, 'number')}"
        provisional = f"Provisional{of_them}, one session a side: "

    def told(verdict: Verdict, are: int = 0) -> str:
        words = called(verdict, one_machine=comparison.one_machine)
        return f"{_are(are or counts[verdict])} {words}" if words in ("worse", "better") else words

    parts = [
        f"{provisional}{fmt.count(counts['regressed'])} of {fmt.plural(judged, 'number')} {told('regressed', judged)}",
        f"{fmt.count(counts['improved'])} {told('improved')}",
        f"{fmt.count(counts['same'])} {_are(counts['same'])} the same",
        f"{fmt.count(counts['inconclusive'])} {_are(counts['inconclusive'])} inconclusive",
    ]
    text = ", ".join(parts) + "."
    text += _disturbed(comparison, judged)
    if once:
        text += f" {fmt.plural(once, 'more has', 'more have')} one run on a side, and no verdict."
    return text


def _nothing(unmatched: Sequence[Unmatched]) -> str:
    """Say why no number is compared: those that both sides have, and yet cannot be, tell why."""
    reasons = list(dict.fromkeys(one.reason for one in unmatched if one.side == "both"))
    if not reasons:
        return "The two sides have no number in common."
    more = f"; and {fmt.plural(len(reasons) - 1, 'more reason')}" if len(reasons) > 1 else ""
    return f"No number can be compared: {reasons[0]}{more}."


def _moves(comparison: Comparison) -> str:
    """Return "stream: 12 of 12 cells regressed, bandwidth −10.6 to −9.1 %; ssd: 6 of 6 cells improved, IOPS +7.2 to +9.8 %."; "" where nothing
    regressed or improved."""
    told = "; ".join(_move(move, comparison) for move in moves(comparison))
    return f"{told}." if told else ""


def _move(move: Move, comparison: Comparison) -> str:
    """Return "stream, remote: 4 of 4 cells regressed, bandwidth −10.3 to −9.9 %", of a part of a sweep which, "pingpong: 7 of 48 numbers regressed (other
    package, 64 KiB to 4 MiB), time …", of a single number its interval, too: "stream, threads 2: copy bandwidth regressed, −10.3 % (−12.9 to −7.5 %)"."""
    first = move.rows[0]
    if len(move.rows) == 1:
        return f"{first.title} {first.word}, {moved(first)}{_doubted(first.doubt)}"
    sweeps = move.sweeps[0] if len(move.sweeps) == 1 else fmt.plural(len(move.sweeps), "sweep")
    level = level_said(first, move.axis, move.level)
    noun = "cell" if move.of_cells else "number"
    where = f" ({text})" if (text := _part(move, comparison)) else ""
    told = f"{', '.join(filter(None, (sweeps, level)))}: {fmt.count(move.moved)} of {fmt.plural(move.of, noun)} {first.word}{where}"
    beside = (
        f", elsewhere {fmt.count(move.elsewhere[0])} of {fmt.count(move.elsewhere[1])}"
        if move.elsewhere[0]
        else ""
    )
    doubt = _doubted(counted_doubts([row.doubt for row in move.rows], "number"))
    return f"{told}{beside}, {_sizes(move.rows)}{doubt}"


def _part(move: Move, comparison: Comparison) -> str:
    """Return which cells and tested values moved, where they have one line and are not all of it: "other package", "64 KiB to 4 MiB"."""
    one, *others = folded(move.rows, comparison.rows)
    if move.moved == move.of or others or not isinstance(one, Fold):
        return ""
    return ", ".join(filter(None, ("" if move.axis else one.options, "" if one.whole else one.reach)))


def level_said(row: Row, axis: str, level: str) -> str:
    """Return a level that a row is of in words: "remote", "threads 2", "bs 4k"; of a label of the number itself "delay 100", "triad"."""
    if axis in ("", "sweep", "tool"):
        return level
    part = tuple((name, value) for name, value in row.number.part if name == axis)
    if part:
        return dataclasses.replace(row.number, part=part).row or level
    return naming.option_value(row.pair.a.tool, axis, level)


def _doubted(ids: str) -> str:
    return f", {MARK} doubtful: {ids}" if ids else ""


def _sizes(rows: Sequence[Row]) -> str:
    """Return by how much some numbers moved, of each metric: "IOPS +7.2 to +9.8 %, latency −8.9 to −6.7 %"."""
    metrics = group_by(rows, lambda row: (row.number.metric.replace("_", " "), row.better))
    said = [f"{metric} {span(own)}" for (metric, _), own in metrics.items()]
    more = f" and {fmt.plural(len(said) - _MOST_SIZES, 'more metric')}" if len(said) > _MOST_SIZES else ""
    return f"{', '.join(said[:_MOST_SIZES])}{more}"


_MOST_SIZES: Final = 3


_WAYS: Final[dict[Way, str]] = {
    "in turns": "both sides in turns",
    "B alone": "B, against A's stored runs",
    "partly in turns": "B, where it could not be both in turns",
}


def _confirmed(comparison: Comparison) -> str:
    """Return "Measured again, both sides in turns: of 12 numbers that looked changed 3 regressed, 8 same, 1 inconclusive."; "" where nothing was."""
    if not (again := comparison.again):
        return ""
    counts = comparison.counts_again
    words = {verdict: called(verdict, one_machine=comparison.one_machine) for verdict in counts}
    counted = ", ".join(f"{n} {words[verdict]}" for verdict, n in counts.items() if n)
    return f"Measured again, {_WAYS[again.way]}: of {fmt.plural(sum(counts.values()), 'number')} that looked changed {counted}."


def _disturbed(comparison: Comparison, judged: int) -> str:
    """Return " Every run of A and B behind 4 numbers was disturbed, in fewer than 5 sessions a side, which decides nothing."; "" where no verdict lacks for that."""
    unsure = [row.decision.unsure for row in comparison.rows if row.decision.unsure and not row.once]
    if not unsure:
        return ""
    sides = " and ".join(unsure[0]) if len({*unsure}) == 1 else "A or B"
    of = "" if len(unsure) == judged else f" behind {fmt.plural(len(unsure), 'number')}"
    few = f"in fewer than {LEAST_SESSIONS} sessions{' a side' if len(sides) > 1 else ''}"
    return f" Every run of {sides}{of} was disturbed, {few}, which decides nothing."


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


_TAU: Final[dict[TauSource, str]] = {
    "interleaved": "none, the sides took turns in {}",
    "given": "given",
    "sessions": "learned from the sessions of a side",
    "auto": "learned from the sweep's own shifts",
    "assumed": "assumed",
}


_SHOW_LESS: Final[dict[TauSource, str]] = {
    "sessions": "the sessions of a side",
    "auto": "the sweep's own shifts",
}


def _shared_sessions(rows: Iterable[Row]) -> str:
    """Return in how many sessions both sides of some numbers took turns: "one session", "each of 3 sessions"."""
    counts = sorted({len({session(run) for run in row.pair.b.runs}) for row in rows})
    return "one session" if counts == [1] else f"each of {fmt.words(map(str, counts), 'or')} sessions"


def noise(comparison: Comparison) -> str:
    """Return "Noise between sessions: 1 % assumed (7 metrics); 0.4 to 0.6 % learned from the sweep's own shifts (2)"."""
    if len(comparison.once) == len(comparison.rows):
        return ""
    rows = group_by(comparison.rows, lambda row: row.decision.family)
    judged = (
        f for f in comparison.families if f.median_ratio is not None
    )  # of what is 0 or below nothing is
    by_source = group_by(judged, lambda family: family.tau_source)
    texts = []
    for source, families in by_source.items():
        taus = [100 * family.tau for family in families]
        low, high = fmt.number(min(taus), 2, fmt.DOWN), fmt.number(max(taus), 2, fmt.UP)
        known = fmt.number(taus[0], 2) if min(taus) == max(taus) else f"{low} to {high}"
        size = "" if source == "interleaved" else f"{known} % "
        few = f" ({fmt.plural(len(taus), 'metric')})" if len(by_source) > 1 else ""
        took_turns = (
            (row for family in families for row in rows[family.name]) if source == "interleaved" else ()
        )
        said = f"{size}{_TAU[source].format(_shared_sessions(took_turns))}"
        if source in _SHOW_LESS and max(taus) <= 100 * TAU_LEAST:
            said = f"{known} %, the least that is taken: {_SHOW_LESS[source]} show no more"
        texts.append(f"{said}{few}")
    if not texts:
        return ""
    helps = "Give more sessions, of other days." if comparison.again else "Give more sessions, or --confirm."
    doubt = (
        f" One session a side cannot show it: machines that share a disk or a CPU may be 10 % off on another day. {helps}"
        if "assumed" in by_source and comparison.provisional
        else ""
    )
    return f"Noise between sessions: {'; '.join(texts)}.{doubt}"


def needs(rows: Iterable[Row]) -> list[str]:
    """Return what it would take to decide the inconclusive rows, each advice once with how many it is for, the most first.

    Advice that differs in its numbers alone is one, with their range: "needs 7 to 12 repeats a side (40)".
    """
    kinds = group_by((a for row in rows if (a := row.decision.advice)), lambda advice: advice.pattern)
    return [
        f"{pattern.format(*map(_range, zip(*(a.numbers for a in same), strict=True)))} ({fmt.count(len(same))})"
        for pattern, same in sorted(kinds.items(), key=lambda item: -len(item[1]))
    ]


def _range(numbers: Iterable[float]) -> str:
    known = sorted(set(numbers))
    return " to ".join(dict.fromkeys(map(counted_number, (known[0], known[-1]))))


def needs_differ(rows: Iterable[Row]) -> bool:
    """Do the inconclusive rows need more than one thing, so that each has to say which?"""
    return len({row.decision.advice for row in rows if row.decision.advice}) > 1


def needed(rows: Iterable[Row]) -> str:
    """Return in a few words what would decide some rows: "needs 17 repeats", "needs 6 to 20 repeats; too noisy"."""
    kinds = group_by(
        (a for row in rows if (a := row.decision.advice) and a.brief), lambda advice: advice.brief
    )
    return "; ".join(
        brief.format(*map(_range, zip(*(a.numbers for a in same), strict=True)))
        for brief, same in kinds.items()
    )


def side(side: Side) -> str:
    """Return "before.db: node07, 3 sessions (one boot within an hour: count as 1), 120 runs; left out: 2 disturbed"."""
    measured = f"{hosts(side)}, {counted(len(side.sessions), side.evidence)}"
    if all(run.captured for run in side.runs or side.failed):
        measured = "texts taken in, their hosts and sessions unknown"
    text = f"{side.title}: {measured}, {fmt.plural(len(side.runs), 'run')}"
    bad = Counter(map(became, (*side.left_out, *side.failed)))
    listed = ", ".join(f"{n} {status}" for status, n in sorted(bad.items()))
    return text + (f"; left out: {listed}" if listed else "")


def hosts(side: Side) -> str:
    """Return "node07", "n1, n2, n3 and 2 more hosts"."""
    more = [fmt.plural(len(side.hosts) - 3, "more host")] if len(side.hosts) > 3 else []
    return fmt.words([*side.hosts[:3], *more])


def measured_again(comparison: Comparison) -> list[str]:
    """Return the sides that were measured again as `side` tells them, and for what their runs stand, a sentence each."""
    if not (again := comparison.again):
        return []
    sides = [f"{one.name} measured again: {side(one)}." for one in again.sides]
    both = f"for A and B of {fmt.plural(again.in_turns, 'number')}" if again.in_turns else ""
    alone = f"for B of {fmt.plural(again.only_b, 'number')}, against stored runs of A" if again.only_b else ""
    told = (
        f"stand {'; '.join(filter(None, (both, alone)))}"
        if both or alone
        else "gave none of the numbers that looked changed"
    )
    sides.append(f"These runs {told}.")
    if again.stored:
        one = again.stored == 1
        sides.append(
            f"{fmt.plural(again.stored, 'other number')} of the same cells {'is' if one else 'are'} of the stored runs, since {'it' if one else 'they'} had not looked changed."
        )
    return sides


def mode_shift(shift: ModeShift) -> str:
    """Return "reads: the mode at 95 µs holds 12 % of A and 47 % of B"."""
    text = (
        f"{shift.name}: the mode at {fmt.quantity(shift.at, 'ns', 2)} holds {fmt.percent(shift.share_a)} of A "
        f"and {fmt.percent(shift.share_b)} of B"
    )
    doubts = ["may be chance: too few runs"] if shift.by_chance else []
    doubts += [f"every run of {' and '.join(shift.disturbed)} was disturbed"] if shift.disturbed else []
    return f"{text} ({'; '.join(doubts)})" if doubts else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Unmatched cells with one reason."""

    side: str
    sweep: str
    reason: str
    cells: tuple[str, ...]
    part: bool = False  # rows of cells that both sides have

    @property
    def text(self) -> str:
        """`only A has scaling, threads=8 place=local: B has no threads=8; it has 1, 2 and 4`, of a row `pingpong: A has no PingPong time
        at 16 B`."""
        named = ", ".join(self.cells[:2]) + (
            f" and {len(self.cells) - 2} more" if len(self.cells) > 2 else ""
        )
        where = f"{self.sweep}, {named}" if named else self.sweep
        if self.side == "both" or self.part:
            return f"{where}: {self.reason}"
        has = "neither has a number of" if self.side == "neither" else f"only {self.side} has"
        return f"{has} {where}: {self.reason}"


def matched(comparison: Comparison) -> list[str]:
    """Return "matched under another name: sweep s of A, t of B (4 cells)" for all cells of which the same is said."""
    return [
        f"{text} ({fmt.plural(cells, 'cell')})" if cells > 1 else text
        for text, cells in comparison.matched.items()
    ]


def absent(unmatched: Sequence[Unmatched]) -> list[Absent]:
    """Group unmatched cells by what is said of them, in order."""
    alike = group_by(unmatched, lambda item: (item.side, item.sweep, item.reason, item.part))
    return [
        Absent(
            side=side,
            sweep=sweep,
            reason=reason,
            cells=tuple(item.cell for item in items if item.cell),
            part=part,
        )
        for (side, sweep, reason, part), items in alike.items()
    ]
