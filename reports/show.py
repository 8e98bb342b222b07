"""What `pinsweep show` and the end of a run print: the few numbers that matter, in 80 columns of plain text.

Plain text, for a pipe and a log; for a terminal with bars and sparklines, whose length is their number's from zero on.
Returns texts; prints nothing.
"""

from __future__ import annotations

import itertools
import math
import shlex
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from parsers.errors import UserError
from reports import numbers
from reports.checks import audit
from reports.checks import part as part_of
from reports.checks.doubts import LEGEND, doubting_all, of_all_numbers
from reports.draw.figure import MARK
from reports.numbers import formulas, scatter
from reports.numbers.model import Second
from reports.results import convicted, model, naming
from reports.results.command_lines import without
from reports.results.convicted import but, checks_of
from reports.results.grouping import group_by
from reports.results.levels import LevelKey, Levels
from reports.results.load import load, printed
from reports.results.model import UNREPEATED, Results, Run
from reports.text import format as fmt
from reports.text import table
from reports.text.columns import WIDTH, cut, wrapped
from reports.text.plain import printable

_MOST_LINES = 40


# --- a result file -----------------------------------------------------------------------------------------


def summary(results: Results, found: Sequence[audit.Finding] = (), *, bars: bool = False) -> list[str]:
    """Return what each sweep and program found, in at most 80 columns: "stream  ▅▇█  highest bandwidth of 3: triad 23.0 GB/s at
    threads=8". A sparkline (`bars`) has a column per cell, in the order of the axes. `found`: by the audit; what it convicts is
    marked."""
    doubtful = audit.convicted(found)
    by_sweep = results.by_sweep(r for tool in results.tools for r in results.good(tool))
    lines = []
    for sweep, every in by_sweep.items():
        for runs in group_by(every, naming.program_kind).values():
            cells = _ordered([run for run in runs if not run.void] or runs, results.levels)
            typical = _typical(cells)
            lines.append((sweep, _spark(typical) if bars else "", _best(cells, typical, doubtful)))
    drawn = max((len(spark) for _, spark, _ in lines), default=0)
    room = WIDTH - max((len(name) for name, _, _ in lines), default=0) - 2 - (drawn + 2 if drawn else 0)
    rows: list[tuple[str, ...]] = []
    for name, spark, text in lines:
        for i, part in enumerate(wrapped(text, width=max(room, 30))):
            rows.append(("" if i else name, *([("" if i else spark)] if drawn else []), part))
    return table.columns(rows, indent=0)


def _best(
    cells: Sequence[Sequence[Run]],
    typical: Sequence[float | None],
    doubtful: Mapping[tuple[object, ...], str],
) -> str:
    """Return what the best cell found and by which number it is the best: of a time the lowest; how many cells share that number, or
    whose repeats overlap with its own. Where neither way is better it is the highest; where none is the best, the first and the last."""
    leaders = [numbers.leader(own) for own in cells]
    if not numbers.have_best(cells, leaders):
        return _ends(cells, doubtful)
    name, better, unit, _, step = leaders[0][:5]
    if moved := _moved(cells):
        name, better, unit = "bandwidth", "higher", "B/s"
    if sized := _at_one_size(cells):
        size, values = sized
        name, typical = f"{name} at {fmt.size(size)}", [statistics.median(of) for of in values]
    known = [(v, i) for i, v in enumerate(typical) if v is not None and numbers.ranked(cells[i][0])]
    chosen, why = 0, "first"
    if known:
        chosen = (min(known) if better == "lower" else max(known, key=lambda one: one[0]))[1]
        why = f"{'lowest' if better == 'lower' else 'highest'} {name}"
    best = cells[chosen]
    rate = f", {fmt.quantity(typical[chosen], 'B/s')}" if moved else ""
    if sized and numbers.leader(best).size != sized[0]:
        value = fmt.quantity(statistics.median(sized[1][chosen]), unit or "ns", step=step)
        rate = f", {value} at {fmt.size(sized[0])}"
    said, at = _found(best, doubtful, rate), _at(best)
    ranked = len(known) or len(cells)  # an empty access is none of those that are set against one another
    if ranked == 1:
        return f"{said}{at}"  # others of its sweep may have found nothing
    alike = [i for value, i in known if value == typical[chosen] and i != chosen]
    if len(alike) == len(cells) - 1:
        return f"{said} in all {fmt.count(len(cells))} cells"
    as_good = f" and {fmt.plural(len(alike), 'more cell')}" if alike else ""
    told = (
        moved
        or (sized and sized[1])
        or [[v for _, v in numbers.leaders(own[0].tool, *(run.parsed for run in own))] for own in cells]
    )
    beside = _overlapping(told, unit, step, chosen, [i for _, i in known if i not in alike])
    return f"{why} of {fmt.count(ranked)}: {said}{at}{as_good}{beside}"


def _ends(cells: Sequence[Sequence[Run]], doubtful: Mapping[tuple[object, ...], str]) -> str:
    """Return what the first and the last cell found, where none is the best."""
    known = [own for own in cells if numbers.ranked(own[0])] or cells
    first, last = (f"{_found(own, doubtful)}{_at(own)}" for own in (known[0], known[-1]))
    return f"{fmt.plural(len(known), 'cell')}, the first: {first}; the last: {last}"


def _found(cell: Sequence[Run], doubtful: Mapping[tuple[object, ...], str], beside: str = "") -> str:
    doubt = _doubt(doubtful, cell)
    return f"{numbers.headline(cell[0].tool, *(run.parsed for run in cell))}{beside}{f' ⚠ {doubt}' if doubt else ''}"


def _at(cell: Sequence[Run]) -> str:
    return f" at {cell[0].cell.describe()}" if cell[0].cell.labels() else ""


def _at_one_size(cells: Sequence[Sequence[Run]]) -> tuple[float, list[list[float]]] | None:
    """Return the message size at which cells that each hold a curve are ranked, and the values of their repeats there."""
    leaders = [numbers.leader(own) for own in cells]
    if len(cells) < 2 or any(one.size is None for one in leaders):
        return None
    found = numbers.at_one_size(cells, leaders)
    return (found[0], found[1][found[0]]) if found else None


def _at_that_size(cells: Sequence[Sequence[Run]]) -> list[str]:
    """Return "; at 64 B 40.0 µs" of the cells that are told at a size of their own, where cells of one benchmark are not told at one; of the
    others ""."""
    leaders = [numbers.leader(own) for own in cells]
    alike = len({one.size for one in leaders}) == 1 or len({one.kind for one in leaders}) > 1
    sized = None if alike else _at_one_size(cells)
    if sized is None:
        return [""] * len(cells)
    size, values = sized
    return [
        ""
        if one.size == size
        else f"; at {fmt.size(size)} {fmt.quantity(statistics.median(own), one.unit or 'ns', step=one.step)}"
        for own, one in zip(values, leaders, strict=True)
    ]


def _doubt(doubtful: Mapping[tuple[object, ...], str], cell: Sequence[Run]) -> str:
    """Return the checks that doubt what a line says of a cell: of a text of several benchmarks that of which it speaks."""
    metric = numbers.leader(cell).metric
    whole, _, of_it = metric.partition("/")
    if not of_it:
        return audit.doubts(doubtful, cell)
    beside = (of.rpartition("/")[0] for of in part_of(cell[0].tool, "shown_with")(metric, cell[0]))
    return audit.joined(audit.doubts(doubtful, cell, of) for of in (whole, *beside))


def _overlapping(
    told: Sequence[Sequence[float]], unit: str, step: float, chosen: int, others: Sequence[int]
) -> str:
    """Say of how many others the repeats overlap with those of the chosen cell; "" of none. told: the number of each repeat, by cell."""
    if not told[chosen]:
        return ""
    own = formulas.spread(told[chosen])
    overlap = formulas.overlapping(own, (formulas.spread(told[i]) for i in others if i != chosen))
    low, high = (fmt.quantity(value, unit, step=step) for value in (own.low, own.high))
    return (
        f"; its repeats, {low} to {high}, overlap with those of {fmt.plural(overlap, 'other')}"
        if overlap
        else ""
    )


_EIGHTHS = " ▏▎▍▌▋▊▉█"
_HEIGHTS = "▁▂▃▄▅▆▇█"
_BAR = 8
_SPARK = 16


def _spark(values: Sequence[float | None]) -> str:
    """Return a column per value, its height from zero to the largest; a gap where there is none. "" of one value or of many."""
    most = max((v for v in values if v is not None), default=0.0)
    if not 1 < len(values) <= _SPARK or most <= 0:
        return ""
    return "".join(" " if v is None else _HEIGHTS[min(7, max(0, round(v / most * 8) - 1))] for v in values)


def _bar(value: float | None, most: float) -> str:
    """Return a bar of up to eight characters, in eighths of one."""
    if value is None or most <= 0:
        return ""
    full, part = divmod(max(1, round(value / most * _BAR * 8)), 8)
    return "█" * full + (_EIGHTHS[part] if part else "")


def show_result(path: Path, *, bars: bool = False, width: int = WIDTH) -> str:
    """Return the numbers of a result file that matter: one table a sweep, one line a cell, then what is missing. `bars`: with a
    bar a cell, where it fits. `width`: of a line."""
    results = load([path])
    found = audit.convicted(audit.audit(results))
    of_all = doubting_all(results, found)
    doubtful = convicted.without(found, of_all)
    out = [_head(results, path), *wrapped(of_all_numbers(dict.fromkeys(of_all, "")), width=width), ""]
    by_sweep = results.by_sweep(r for tool in results.told for r in results.shown(tool))
    for sweep, runs in by_sweep.items():
        out += [cut(f"{sweep}  {runs[0].sweep_title}" if runs[0].sweep_title != sweep else sweep, width)]
        for same in group_by(runs, naming.program_kind).values():  # a stand-in's runs are no repeats
            out += [*_cells(same, results.levels, doubtful, bars, width), ""]
        if len({run.record.point_id for run in runs}) > _MOST_LINES:
            out.insert(-1, f"  … and more: pinsweep export {shlex.quote(str(path))}")
    if any(f" {MARK} " in line for line in out):
        out += [LEGEND, ""]
    out += [*_trouble(results, width), *_to_go_on(results, path)]
    return "\n".join(out).rstrip()


def _head(results: Results, path: Path) -> str:
    done = sum(not run.captured for tool in results.tools for run in results.good(tool))
    planned = results.planned - sum(run.captured for run in results.runs)
    hosts = fmt.words(dict.fromkeys(m.host for m in results.measured)) or "no host"
    titles = fmt.words(dict.fromkeys(e.title for e in results.experiments)) or path.name
    gave = f"{hosts}: {fmt.count(done)} of {fmt.plural(planned, 'run')} gave {results.numbers}"
    asked = f"{gave}; {results.not_asked_for}" if results.not_asked_for else gave
    said = [asked] if planned or not results.texts else []
    return "\n".join(map(printable, [titles, *said, *filter(None, [results.taken_in])]))


def _axes(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(axis for run in runs for axis in run.cell.labels()))


def _ordered(runs: Sequence[Run], levels: Levels) -> list[list[Run]]:
    """Return the repeats of each cell, the cells in the order of their axes."""
    axes = _axes(runs)
    cells = group_by(runs, lambda r: (r.host, r.record.point_id)).values()

    def key(own: Sequence[Run]) -> list[LevelKey]:
        labels = own[0].cell.labels()
        return [levels.key(axis, labels.get(axis), own[0].cell.sweep) for axis in axes]

    return sorted(cells, key=key)


def _moved(cells: Sequence[Sequence[Run]]) -> list[list[float]] | None:
    """Return the bandwidth of each repeat of each cell, where they count I/Os of different sizes."""
    tools = {own[0].tool for own in cells}
    return numbers.moved(cells) if len(tools) == 1 else None


def _typical(cells: Sequence[Sequence[Run]]) -> list[float | None]:
    """Return for each cell the number that stands for the medians of its repeats, of cells whose I/Os have different sizes their bandwidth;
    nothing of cells that have it in different units."""
    if moved := _moved(cells):
        return [statistics.median(own) for own in moved]
    told = [numbers.leading(same[0].tool, *(r.parsed for r in same)) for same in cells]
    alike = len({one[0] for one in told if one}) == 1
    return [one[1] if one and alike else None for one in told]


def _labels(cells: Sequence[Sequence[Run]]) -> list[dict[str, str]]:
    """Return the axes of each cell with their values, and what their texts tell beside them, where the cells differ in it and no axis
    says the same."""
    axes = [
        {axis: naming.value_text(own[0].tool, axis, value) for axis, value in own[0].cell.labels().items()}
        for own in cells
    ]
    told = [numbers.beside(members[0]) for members in cells]
    known = {tuple(own.get(axis) for own in axes) for axis in dict.fromkeys(itertools.chain(*axes))}
    columns = {name: tuple(own.get(name) for own in told) for name in dict.fromkeys(itertools.chain(*told))}
    more = {name for name, values in columns.items() if len({*values}) > 1 and values not in known}
    return [
        labels | source | {name: value for name, value in own.items() if name in more}
        for labels, source, own in zip(axes, _sources(cells), told, strict=True)
    ]


def _sources(cells: Sequence[Sequence[Run]]) -> list[dict[str, str]]:
    """Return the text of each cell, where they are of several: their hosts are not known, and one table of them looks like one host's."""
    texts = [{run.text for run in members} for members in cells]
    several = len({*model.texts_of(itertools.chain(*cells)).values()}) > 1
    return [{"source": next(iter(own))} if several and len(own) == 1 and own != {""} else {} for own in texts]


def _cells(
    runs: Sequence[Run],
    levels: Levels,
    doubtful: Mapping[tuple[object, ...], str],
    bars: bool = False,
    width: int = WIDTH,
) -> list[str]:
    """Return the lines of one sweep: who ran, then a table with a column per axis and a line per cell; what a check convicts with a
    mark and the check's id."""
    cells = _ordered(runs, levels)
    named = _labels(cells)
    axes = list(dict.fromkeys(axis for labels in named for axis in labels))
    repeats = {len(members) for members in cells}
    names = fmt.words(dict.fromkeys(naming.program_name(run) for run in runs))
    each = f", {fmt.plural(max(repeats), 'run')} a cell" if len(repeats) == 1 else ""
    rows: list[tuple[str, ...]] = [(*axes, "", *([] if each else ["runs"]))]
    beside = _at_that_size(cells)
    for i, (members, labels) in enumerate(zip(cells[:_MOST_LINES], named, strict=False)):
        found = f"{_cell(members, doubtful)}{beside[i]}"
        values = (labels.get(axis, "") for axis in axes)
        rows.append((*values, found, *([] if each else [str(len(members))])))
    alike = ""
    if table.width_of(rows) > width and len(cells) > 1:  # what all cells have in common stands above them
        same = [i for i in range(len(axes)) if len({row[i] for row in rows[1:]}) == 1]
        alike = "".join(f", {axes[i]}{'' if rows[1][i] == naming.SET else f'={rows[1][i]}'}" for i in same)
        rows = [tuple(cell for i, cell in enumerate(row) if i not in same) for row in rows]
        axes = [axis for i, axis in enumerate(axes) if i not in same]
    fitted = table.width_of(rows) > width and len(cells) > 1
    if fitted and not each:  # how many runs stands behind their number, which goes on below
        counts = ["", *(f"; n={len(members)}" for members in cells[:_MOST_LINES])]
        rows = [(*row[:-2], f"{row[-2]}{count}") for row, count in zip(rows, counts, strict=True)]
    if fitted:
        rows, axes, left_out = table.fitted(
            rows, axes, [members[0].text for members in cells[:_MOST_LINES]], width
        )
        alike += f"; not shown: {', '.join(left_out)}" if left_out else ""
    if (
        bars and axes and len(cells) > 1 and not _moved(cells[:_MOST_LINES])
    ):  # a line has no bandwidth to compare
        typical = _typical(cells[:_MOST_LINES])
        most = max((v for v in typical if v is not None), default=0.0)
        drawn = ["", *(_bar(v, most) for v in typical)]
        wide = [(*row[: len(axes)], bar, *row[len(axes) :]) for row, bar in zip(rows, drawn, strict=True)]
        if table.width_of(wide) <= width:
            rows = wide
    ranged = fmt.words(
        dict.fromkeys(numbers.leader(own).words for own in cells[:_MOST_LINES] if _half(own) is not None),
        "or",
    )
    lines = table.columns(rows if axes else rows[1:], fitted=fitted, width=width)
    halves = [half for own in cells[:_MOST_LINES] if (half := _half(own)) is not None]
    range_ = f"; ±: half the range of {ranged} over the runs" if any(half <= 100 for half in halves) else ""
    range_ += f"; ±{_SAME}: equal as printed" if 0 in halves else ""
    beyond = [half for half in halves if half > 100]
    range_ += (
        f"; […]: the range of {ranged}{'' if math.inf in beyond else ', wider than ±100 %'}" if beyond else ""
    )
    tails = dict.fromkeys(one.words for own in cells[:_MOST_LINES] if (one := _second(own)) and _is_far(one))
    range_ += (
        f"; {fmt.words(tails)} […]: its range, wider than {fmt.percent(formulas.UNSTEADY)} of it"
        if tails
        else ""
    )
    return [*wrapped(f"  {names}{each}{alike}{range_}", rest="    ", width=width, whole=True), *lines]


def _cell(runs: Sequence[Run], doubtful: Mapping[tuple[object, ...], str]) -> str:
    """Return the headline of the medians over the repeats, as in the charts, with half of the range of the number they are ranked by
    behind that number; with the range itself where its half is more than the number. What doubts the cell stands before it, what doubts
    the second number alone before that one, which has its range where its repeats are far apart."""
    doubt, around = _doubt(doubtful, runs), None
    if (told := _second(runs)) is not None:
        leads = checks_of(audit.doubts(doubtful, runs, numbers.leader(runs).metric))
        own = but(audit.doubts(doubtful, runs, told.metric), leads)
        doubt = but(doubt, checks_of(own))
        range_ = f" [{fmt.span(told.values, told.unit)}]" if _is_far(told) else ""
        around = (f"{MARK} {own} " if own else "", range_)
    half = _half(runs)
    spread = "" if half is None else f" ±{_percent(half)}"
    if half is not None and half > 100:
        led = numbers.leaders(runs[0].tool, *(run.parsed for run in runs))
        unit = numbers.leader(runs).unit
        spread = f" [{fmt.span([v for _, v in led], unit, numbers.leader(runs).step)}]"
    said = numbers.headline(runs[0].tool, *(run.parsed for run in runs), spread=spread, around=around)
    return f"{MARK} {doubt}  {said}" if doubt else said


def _second(runs: Sequence[Run]) -> Second | None:
    return numbers.second(runs[0].tool, *(run.parsed for run in runs))


def _is_far(told: Second) -> bool:
    return formulas.spread(told.values).unsteady


_SAME: Final = "0 %"
"""Half of the range of runs that print the same."""


def _percent(half: float) -> str:
    """Return "2.2 %", "12 %"; "0 %" of runs that print the same, and of what no decimal shows that it is less: nobody knows that it is 0.0."""
    if half == 0:
        return _SAME
    return f"{half:.{0 if half >= 10 else 1}f} %" if half >= _LEAST_SHOWN else "<0.1 %"


_LEAST_SHOWN: Final = 0.05
"""Per cent: what one decimal shows as more than 0."""


def _half(runs: Sequence[Run]) -> float | None:
    """Return half of the range over the repeats, in % of the median; None of one repeat, and where all are 0; inf of what no share tells."""
    told = numbers.leaders(runs[0].tool, *(run.parsed for run in runs))
    values = [v for _, v in told]
    if len(values) < 2 or not any(values):
        return None
    if min(values) < max(values) and not scatter.tells_shares(values, told[0][0]):
        return math.inf
    return formulas.spread(values).relative * 50


def _trouble(results: Results, width: int) -> Iterable[str]:
    unrepeated = results.unrepeated
    waiting = set(unrepeated)
    given_up = tuple(run for run in results.disturbed if run not in waiting)
    for bad, why in (
        (results.failed, "without numbers"), (unrepeated, UNREPEATED), (given_up, "disturbed at every attempt"),
    ):  # fmt: skip
        if not bad:
            continue
        yield f"{fmt.plural(len(bad), 'run')} {why}:"
        yield from _by_reason(bad, width)
    if results.failed or results.disturbed:
        yield ""
    if results.repeated:
        yield f"{fmt.plural(results.repeated, 'attempt')} disturbed, and repeated (D1, D2); pinsweep audit says by what."
    if others := results.given_up - results.repeated:
        yield f"{fmt.plural(others, 'attempt')} without numbers that another followed; show --runs lists all."
    lacks = Counter(
        (run.cell.sweep, flag.text)
        for tool in results.tools
        for run in results.good(tool)
        for flag in (run.parsed.flags if run.parsed else ())
        if flag.id.startswith(("missing:", "several:"))
    )
    for (sweep, text), count in lacks.items():
        yield from wrapped(
            f"{sweep}  {fmt.plural(count, 'run')} with numbers: {text}.", rest="    ", width=width, whole=True
        )
    for _, alias in results.aliases[:_MOST_LINES]:
        labels = " ".join(f"{k}={v}" for k, v in alias.cell.items())
        yield from wrapped(f"{alias.sweep}  {labels}: {alias.reason}.", rest="    ", width=width, whole=True)
    if (left := len(results.aliases) - _MOST_LINES) > 0:
        yield f"and {fmt.count(left)} more cells that are others under another name"
    if results.skipped:
        yield f"{fmt.plural(len(results.skipped), 'cell')} skipped:"
        reasons = group_by(results.skipped, lambda s: (s[1].sweep, s[1].reason))
        for (sweep, reason), cells in itertools.islice(reasons.items(), _MOST_LINES):
            yield from wrapped(
                f"  {sweep}, {fmt.plural(len(cells), 'cell')}: {reason}", rest="    ", width=width, whole=True
            )
        if (left := len(reasons) - _MOST_LINES) > 0:
            yield f"  and for {fmt.plural(left, 'more reason')}"
        yield ""
    if results.missing:
        yield f"{fmt.plural(len(results.missing), 'planned run')} still {'lacks' if len(results.missing) == 1 else 'lack'} numbers."


_LEFT_OUT = {"-o": 1, "--output": 1, "--allow-write": 1}
"""Options that the command to go on with does not have from the file: one names the file, the user gives the other each time."""
_LONGEST_COMMAND = 2000
"""Characters; what is longer nobody types."""


def _to_go_on(results: Results, path: Path) -> Iterator[str]:
    """Yield the command that starts what was not started yet; nothing where all was, and of what was taken in."""
    if not results.machines:
        again = shlex.join(["pinsweep", "run", "EXPERIMENT", "-o", str(path)])
        yield f"Stopped before its first run; to go on: {printable(again)}"
    elif results.not_started and (argv := results.machines[-1].session.argv)[:1] == ("run",):
        again = shlex.join(["pinsweep", *without(argv, _LEFT_OUT), "-o", str(path)])
        command = printable(again) if len(again) <= _LONGEST_COMMAND else "the same command"
        yield f"To go on, unless it still runs: {command}"


def _by_reason(bad: Sequence[Run], width: int) -> Iterator[str]:
    """Yield a line of each sweep and reason: which cells are of it, and a run to look at."""
    reasons = group_by(bad, lambda run: (run.cell.sweep, run.state, run.record.reason or run.unreadable))
    for (sweep, state, reason), runs in itertools.islice(reasons.items(), _MOST_LINES):
        cells = list(dict.fromkeys(run.cell.describe() for run in runs))
        first = runs[0].record.run_id
        if len(runs) == 1:
            yield from wrapped(
                f"  {first:>4} {state}  {sweep} {cells[0]}: {reason}", rest="       ", width=width
            )
            continue
        more = f" and {fmt.plural(len(cells) - 1, 'more cell')}" if len(cells) > 1 else ""
        said = f"  {fmt.count(len(runs)):>4} runs {state}  {sweep} {cells[0]}{more}: {reason} (the first is run {first})"
        yield from wrapped(said, rest="       ", width=width)
    if (left := len(reasons) - _MOST_LINES) > 0:
        yield f"       and {left} more; show --runs lists all"


def show_runs(path: Path, *, width: int = WIDTH) -> str:
    """Return the list of all runs: number, status, with the checks that doubt a run by itself, duration, sweep, cell."""
    results = load([path])
    doubtful = audit.convicted_runs(audit.audit(results))

    def status(run: Run) -> str:
        doubt = doubtful.get((run.file, run.record.run_id)) if run.parsed else ""
        return f"{run.state} ⚠ {doubt}" if doubt else run.state

    rows = [
        (
            str(run.record.run_id),
            status(run),
            fmt.NOTHING if run.captured else fmt.seconds(run.record.wall_s),
            f"{run.cell.sweep}  {run.cell.describe()}  {'warm-up' if run.record.warm_up else f'repeat {run.record.repeat}'}",
        )
        for run in results.started
    ]
    if not rows:
        return "\n".join([f"{path.name} holds no runs", *_to_go_on(results, path)])
    return "\n".join(table.columns([("run", "status", "time", "cell"), *rows], indent=0, width=width))


def _run_of(results: Results, path: Path, number: int) -> Run:
    """Return a run by its number. Raises UserError if there is none."""
    every = results.started
    run = next((r for r in every if r.record.run_id == number), None)
    if run is None:
        known = [r.record.run_id for r in every]
        held = (
            f"runs {min(known)} to {max(known)}"
            if len(known) > 1
            else f"run {known[0]} alone"
            if known
            else "no runs"
        )
        raise UserError(str(path), f"no run {number}", f"the file holds {held}")
    return run


def record(path: Path, number: int | None) -> dict[str, Any]:
    """Return a result file, or one run of it, for programs. Raises UserError if the file has no run of that number."""
    from reports.export import record

    results = load([path])
    if number is None:
        return record.of_result(results, audit.audit(results))
    return record.of_run_in_detail(_run_of(results, path, number), audit.audit(results))


def show_run(path: Path, number: int) -> str:
    """Return one run in detail. Raises UserError if the file has no run of that number."""
    results = load([path])
    run = _run_of(results, path, number)
    from reports.report.all_runs import placement_text, seen_text

    record = run.record
    why = record.reason or run.unreadable
    seen = record.status == "ok" and record.seen and "note" not in record.seen
    placed = seen and record.placement and record.placement.groups
    lines = [
        f"run {record.run_id}: {run.cell.sweep}  {run.cell.describe()}  {'warm-up' if record.warm_up else f'repeat {record.repeat}'}, attempt {record.attempt}",
        f"status     {run.state}{f': {why}' if why else ''}",
        f"disturbed  {run.disturbance}: {'a warm-up is in no number' if record.warm_up else 'that was allowed, and its numbers are used (D1)'}"
        if run.disturbance and record.status == "ok"
        else "",
        "disturbed  not known: too short to judge" if run.is_too_short else "",
        f"found      {numbers.headline(run.tool, run.parsed)}" if run.parsed else "",
        f"program    {naming.program_name(run)}",
        f"taken in   {record.started_utc}; when it ran, for how long and how it ended is not recorded"
        if run.captured
        else f"started    {record.started_utc}, took {fmt.seconds(record.wall_s)}, exit {record.exit_code if record.signal is None else f'by signal {record.signal}'}",
        f"command    {(' '.join(record.argv) if run.captured else shlex.join(record.argv)) or 'not recorded'}",
        f"with       {' '.join(f'{k}={shlex.quote(str(v))}' for k, v in record.env.items())}"
        if record.env
        else "",
        f"asked      {'not recorded' if run.captured else placement_text(record.placement)}",
        f"seen       {seen_text(record)}{'; as asked' if placed else ''}",
    ]
    out = [printable(line) for line in lines if line]
    out += [printable(f"note       {flag.text}") for flag in (run.parsed.flags if run.parsed else ())]
    texts = printed(results, [run], 1200)[run]
    for name, text in zip(("output", "standard error"), texts, strict=True):
        if text.strip():
            out += ["", f"--- {name} ---", text.rstrip()]
    out += ["", printable(f"all of it: pinsweep show {shlex.quote(str(path))} {number} --raw")]
    return "\n".join(out)
