"""What each axis of each sweep does to the number that stands for a run: a table, and its rows as sentences. Pure.

Sweeps of other programs have this in a figure of their own (`reports.charts.command`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Final

from reports import numbers
from reports.charts import effects
from reports.charts.effects import Effect, Levels
from reports.checks.audit import doubts
from reports.checks.doubts import mark
from reports.draw.figure import MARK, ROW, Figure, Table, row_of
from reports.numbers import formulas
from reports.results import naming, traffic
from reports.results.convicted import Guilty, whole_of
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

ID: Final = "axis-effects"
_COLUMNS: Final = ("Sweep", "Number", "Axis", "From", "To", "Better by, ×", "Range", "Clear")
_AXES: Final = {
    "W": "mix",
    "traffic": "mix",
    "l": "stride",
    "b": "buffer",
    "bytes": "size",
    "array_size": "array size",
    "L": "pages",
    "bs": "block size",
    "rw": "access",
}
"""What people call an option of a tool, and what is told of the mix where no option tells it."""
_BEYOND: Final = "yes"
_AT_LEAST: Final = "yes, at least"
_CLEAR: Final = (_BEYOND, _AT_LEAST)
_NOT: Final = "no"
_TIMED: Final = "mostly the timer"
_RULE: Final = (
    "Clear: in each pair no repeats overlap, and the medians lie further apart than the repeats of either spread, or on a log scale 1.4 × as far "
    "(of two repeats 3.1 ×); by more than 3 % at least, of fewer than three repeats 10 %"
)
_AT: Final = " at "
"""Before the message size of a number that is of one size of a curve."""


def figure(results: Results) -> Figure | None:
    """Return a table with a row for each axis of each sweep of one host: its best and its last level, and how many times better the best is,
    with all other axes the same. None where no sweep has such an axis."""
    sweeps = group_by(
        (run for tool in results.tools for run in _told_here(results, tool)),
        lambda run: (run.cell.sweep, naming.program_kind(run)),
    )
    found = [row for of in sweeps.values() for row in _rows(of)]
    rows = [(row, runs, metric) for row, runs, _, metric in found]
    if not rows:
        return None
    return Figure(
        id=ID,
        title="What each axis does",
        sub="How many times better the number that stands for a run is at the best level of an axis than at the worst, with all other axes the same; "
        f"the geometric mean over these pairs of cells, and their range{effects.range_alone(of.levels[-1] for _, _, of, _ in found)}{effects.left_out(of for _, _, of, _ in found)}. {_RULE}; of curves over message size, whose "
        f"number is that of one size, nowhere the other way{_bound(row for row, *_ in rows)}.{_declined(sweeps.values())}{_without(run for of in sweeps.values() for run in _mixes(of))}{_key(row for row, *_ in rows)}",
        tables=(
            Table(
                columns=_COLUMNS,
                rows=tuple(row for row, *_ in rows),
                numeric=frozenset((5, 6)),
                of=tuple(row_of(runs) for _, runs, _ in rows),
                metric_of=tuple(metric for *_, metric in rows),
            ),
        ),
    )


def _bound(rows: Iterable[Sequence[str]]) -> str:
    """Explain the lower bounds, behind what is said of others; "" where none is there."""
    said = (
        ". ≥: more than half of the best level’s time is the timer (G6), and without it the ratio is larger"
    )
    return said if any(row[-1] == _AT_LEAST for row in rows) else ""


def _key(rows: Iterable[Sequence[str]]) -> str:
    """Explain the short names of mixes; "" where none is there."""
    levels = (level for _, _, _, last, best, *_ in rows for level in (last, best))
    return f" {traffic.NT}." if any("nt" in level.split() for level in levels) else ""


def sentences(of: Figure) -> list[str]:
    """Return a finding for each sweep of `figure` with an axis whose effect is beyond the repeats: "stream, bandwidth: 1.72 × better by
    threads from 1 to 4 (1.67 to 1.95)"; with a mark where a check doubts a cell of it."""
    (table,) = of.tables
    doubted = table.doubts or ({},) * len(table.rows)
    told = [(row, by.get(ROW, "")) for row, by in zip(table.rows, doubted, strict=True) if row[-1] in _CLEAR]
    said = []
    for (sweep, number), own in group_by(told, lambda pair: pair[0][:2]).items():
        lead = f"{MARK} " if any(ids for _, ids in own) else ""
        what = number if sweep == number else f"{sweep}, {number}"
        said.append(f"{lead}{what}: {_told(own)}")
    return said


SAID: Final = "Best to worst level of each axis"


def said(results: Results, tool: str, figures: Sequence[Figure], guilty: Guilty) -> tuple[Figure, ...]:
    """Return the figures of a tool, the first of each sweep of two axes or more with what each of them does: in a sentence and a table;
    and as its title, where no figure of that sweep has found anything. Where it shows some cells of its sweep alone, those of one benchmark
    say, it is told of these, and of the others at the first figure that shows them. guilty: the cells that a check convicts."""
    found = list(figures)
    for (sweep, _), own in group_by(
        _told_here(results, tool), lambda run: (run.cell.sweep, naming.program_kind(run))
    ).items():
        at = [i for i, figure in enumerate(found) if figure.of == sweep and figure.panels]
        told: set[Run] = set()
        for i in at:
            shown = set(found[i].shown)
            runs = [run for run in own if run in shown] if shown else own
            if not told.issuperset(runs) and not found[i].axes:
                found[i] = _with_axes(
                    found[i], list(_rows(runs, least=2)), f"{_declined([runs])}{_without(_mixes(runs))}", len(_varied(runs, numbers.no_better(tool))), guilty,
                    silent=not any(figures[k].says for k in at),
                )  # fmt: skip
            told.update(runs)
    return tuple(found)


def _with_axes(figure: Figure, rows: Sequence[_Row], without: str, declined: int, guilty: Guilty, *, silent: bool) -> Figure:  # fmt: skip
    """rows: as `_rows` gives them, without: what they leave out, in words, declined: how many axes have no row; of fewer than two axes the figure is as it was. silent: has no figure of its sweep found
    anything?"""
    if not rows or len(rows) + declined < 2:
        return figure
    number = rows[0][0][1]
    clear = [(row[5], effects.with_better(effect, row[2])) for row, _, effect, _ in rows if row[-1] in _CLEAR]
    told = _told((row, doubts(guilty, runs, metric)) for row, runs, _, metric in rows if row[-1] != _NOT)
    nowhere = "the better one everywhere" if rows[0][2].runs[1] == 1 else "beyond the repeats everywhere"
    curves = "; at no other size the other way" if _AT in number else ""
    table = Table(
        columns=_COLUMNS[2:],
        rows=tuple(row[2:] for row, *_ in rows),
        numeric=frozenset((3, 4)),
        of=tuple(row_of(whose) for _, whose, *_ in rows),
        metric_of=tuple(metric for *_, metric in rows),
        part_of=ID,
        caption=f"Axes, {number}: how many times better the best level is than the worst, with all other axes the same; the geometric mean "
        f"over these pairs of cells, and their range{effects.range_alone(of.levels[-1] for _, _, of, _ in rows)}{effects.left_out(of for _, _, of, _ in rows)}. {_RULE}{curves}{_bound(row for row, *_ in rows)}",
    )
    titled = silent and clear
    return replace(
        figure,
        title=f"{fmt.sentence(number)}: {effects.listed(clear)}" if titled else figure.title,
        found=True if titled else figure.found,
        axes=f"{SAID}, {number}: {told or f'none is {nowhere}'}.{without}",
        numbers=(*figure.numbers, table),
        strip=effects.drawn(number, [effect for _, _, effect, _ in rows], {effect.axis: row[2] for row, _, effect, _ in rows}),
    )  # fmt: skip


def _varied(runs: Sequence[Run], options: Collection[str]) -> list[str]:
    axes = dict.fromkeys(axis for run in runs for axis in run.cell.axes if axis in options)
    return [_name(runs[0], axis) for axis in axes if len({_level(run, axis) for run in runs}) > 1]


def _declined(sweeps: Iterable[Sequence[Run]]) -> str:
    """Say of the axes of which no level is better than another why they have no row; "" where there is none."""
    by_tool = [(runs, runs[0].tool) for runs in sweeps]
    sizes, what, limits = (
        list(dict.fromkeys(name for runs, tool in by_tool for name in _varied(runs, options(tool))))
        for options in (numbers.working_set, numbers.accessed, numbers.limits)
    )
    said = ""
    if sizes:
        said += f" {fmt.sentence(fmt.words(sizes))} {'is' if len(sizes) == 1 else 'are'} how much is accessed: no size is the better one."
    if what:
        said += f" {fmt.sentence(fmt.words(what))} {'chooses' if len(what) == 1 else 'choose'} what is accessed: no level is the better one."
    if limits:
        held = "it is a limit that was" if len(limits) == 1 else "they are limits that were"
        said += f" No level of {fmt.words(limits)} is better: {held} asked for."
    return said


def _mixes(runs: Sequence[Run]) -> list[Run]:
    """Return the runs that read and write at once beside others that do not: the number that stands for them is of a part of what they do."""
    both = [run for run in runs if numbers.mixed(run)]
    return both if len(both) < len(runs) else []


def _without(mixes: Iterable[Run]) -> str:
    """Say that `_mixes` are left out; "" of none."""
    return " Without the runs that read and write at once: their number is of one direction alone." if any(mixes) else ""  # fmt: skip


def _told_here(results: Results, tool: str) -> tuple[Run, ...]:
    """Return the runs whose axes are told here: a program of the user's own has a figure of their effects."""
    return () if tool == "command" else tuple(run for run in results.good(tool) if run.sound)


def _told(rows: Iterable[tuple[Sequence[str], str]]) -> str:
    """Say rows, each with what doubts it: "1.72 × better by threads from 1 to 4 (1.67 to 1.95) ⚠ G5, 1.30 × by place from remote to local"."""
    said = []
    for (_, _, axis, last, best, factor, span, clear), ids in rows:
        beside = [one for one in (span, clear) if one not in (fmt.NOTHING, *_CLEAR, _NOT)]
        among = f" ({'; '.join(beside)})" if beside else ""
        said.append((factor, f"{axis} from {last} to {best}{among}{mark(ids)}"))
    return effects.listed(said)


_Row = tuple[tuple[str, ...], list[Run], Effect, str]
"""A row, whose numbers it has, what it is made of, and which of their numbers that is (`Leader.metric`)."""


def _rows(runs: Sequence[Run], least: int = 1) -> Iterable[_Row]:
    """Give the rows of a sweep; nothing where its cells have no number of one unit and direction, are of
    several hosts or texts, or differ by more than their axes, or where fewer than `least` axes vary."""
    mixes = set(_mixes(runs))
    alike = [run for run in runs if run not in mixes]
    cells = [own for own in group_by(alike, lambda r: r.record.point_id).values() if numbers.ranked(own[0])]
    if not cells or len({run.where for run in runs}) > 1 or any(run.source for run in runs):
        return
    axes = list(dict.fromkeys(axis for own in cells for axis in ("place", *own[0].cell.axes)))
    levels: list[Levels] = [tuple(_level(own[0], axis) for axis in axes) for own in cells]
    if (
        sum(len({*of}) > 1 for of in zip(*levels, strict=True)) < least
    ):  # what stands for each run need not be looked at
        return
    leaders, told = zip(*numbers.leaders_of(cells), strict=True)
    units = {unit for of in told for unit, _ in of}
    directions = {leader.better for leader in leaders}
    if len(units) != 1 or len(directions) != 1 or "neither" in directions or len({*levels}) < len(levels):
        return
    values = [[v for _, v in of] for of in told]
    metric = whole_of(leader.metric for leader in leaders)
    name = _words([leader.words for leader in leaders])
    sizes: dict[float, list[list[float]]] = {}
    if any(leader.size is not None for leader in leaders):
        found = numbers.at_one_size(cells, leaders)
        if found is None:
            return
        size, sizes = found
        values = sizes.pop(size)
        name = f"{_words([f'{one.kind} {one.words}'.strip() for one in leaders])}{_AT}{fmt.size(size)}"
    spreads, *others = (_spreads(levels, of) for of in (values, *sizes.values()))
    whose = dict(zip(levels, cells, strict=True))
    for effect in effects.effects(axes, spreads, leaders[0].better, numbers.no_better(runs[0].tool)):
        effect = _resolved(effect, (whose[key] for key in effect.levels[-1].cells))
        if turned := sum(effects.turns(effect, axes, of, leaders[0].better) for of in others):
            but = f"the other way at {turned} of {len(others) + 1} sizes"
            effect = _doubted(effect, but)
        own = {key: None for level in effect.levels for key in level.cells}
        yield (
            _row(runs[0], effects.counted(name, effect.runs), effect),
            [run for key in own for run in whose[key]],
            effect,
            metric,
        )


def _spreads(levels: Sequence[Levels], values: Sequence[Sequence[float]]) -> dict[Levels, formulas.Spread]:
    return {key: formulas.spread(of) for key, of in zip(levels, values, strict=True) if of}


def _resolved(effect: Effect, cells: Iterable[Sequence[Run]]) -> Effect:
    """Return an effect with what the timer makes of it. cells: the runs of each cell of its best level and its last one."""
    told = {next((word for run in own if (word := numbers.resolved(run)) != "yes"), "yes") for own in cells}
    if "no" in told:
        return _doubted(effect, _TIMED)
    return replace(effect, bound=effect.clear and "at most" in told)


def _doubted(effect: Effect, why: str) -> Effect:
    """Return an effect of which no level is clear, whatever the repeats say."""
    levels = tuple(replace(level, clear=False, why=why) for level in effect.levels)
    return replace(effect, levels=levels, clear=False, alone=False, but=why)


def _row(run: Run, number: str, effect: Effect) -> tuple[str, ...]:
    last, best = effect.ends
    return (
        run.sweep_title or run.cell.sweep, number, _name(run, effect.axis), last, best, effect.times,
        effect.span or fmt.NOTHING, effect.but or ((_AT_LEAST if effect.bound else _BEYOND) if effect.clear else _NOT),
    )  # fmt: skip


def _name(run: Run, axis: str) -> str:
    return _AXES.get(axis, axis) if axis == "traffic" or naming.has_option(run.tool, axis) else axis


def _level(run: Run, axis: str) -> str:
    if axis == "place":
        return run.place
    value = run.options.get(axis)
    if value is None:
        return fmt.NOTHING
    return naming.level_text(run.tool, axis, value)


def _words(names: Sequence[str]) -> str:
    """Return "read IOPS" of cells that all have it, "IOPS" of cells of which others have "write IOPS"."""
    split = [name.split() for name in names]
    alike = 0
    while all(len(words) > alike for words in split) and len({words[-alike - 1] for words in split}) == 1:
        alike += 1
    return " ".join(split[0][-alike:]) if alike else "number"
