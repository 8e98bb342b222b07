"""Every check over some results: findings for a page, a terminal, a program. Pure; the checks are in `reports.checks`."""

from __future__ import annotations

import functools
import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from orchestrator.model import UNRECORDED_HOST
from orchestrator.tools import tool_names
from parsers.measurement import Scalar
from reports.checks import LEVELS, NEEDS, Check, Fault, Level, checks
from reports.checks._cells import cell_key as cell_key
from reports.results import naming
from reports.results.convicted import CellKey, Guilty, by_metric, checks_of, doubting
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt
from reports.text.columns import WIDTH, wrapped
from reports.text.json_text import json_text

_MOST = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one check found in one sweep of one file."""

    id: str
    level: Level
    title: str  # the finding itself, with its figures: of the first cell
    check: str  # what kind of fault, in a few words
    sweep: str
    where: str  # the host, and file where there are several
    cells: tuple[tuple[str, str], ...]  # (cell, the arithmetic with its numbers)
    todo: str
    # the cells, by `_cells.cell_key`, and what of each ("": all its numbers)
    doubts: frozenset[tuple[object, ...]]
    # how many repeats of the first cell show it, as its arithmetic ends: " (1 of 3 repeats)"
    repeats: str = ""
    own: frozenset[tuple[str, int]] = frozenset()  # the runs that it is about by themselves: file, number
    is_of_runs: bool = False  # as `Check.is_of_runs`
    # of each of `cells` its file, point_id and labels; of a line that speaks of several, those of the first
    axes: tuple[tuple[str, str, tuple[tuple[str, Scalar], ...]], ...] = ()
    host: str = ""

    @property
    def about(self) -> frozenset[CellKey]:
        """The cells, by `_cells.cell_key`."""
        return frozenset(one[:-1] for one in self.doubts)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id, "level": self.level, "title": self.title, "check": self.check, "sweep": self.sweep, "where": self.where, "host": self.host or None,
            "cells": [
                {"cell": cell, "arithmetic": text, "file": file, "point_id": point_id, "labels": dict(labels)}
                for (cell, text), (file, point_id, labels) in zip(self.cells, self.axes, strict=True)
            ], "todo": self.todo,
            "doubts": [{"file": file, "point_id": cell, "metric": metric or None} for file, cell, metric in sorted(self.doubts, key=str)],
            "runs": [{"file": file, "run": number} for file, number in sorted(self.own)],
        }  # fmt: skip


def audit(results: Results) -> tuple[Finding, ...]:
    """Return what all checks find, the gravest first. What stands around captured tables (commands, fio's line of progress) is
    seen as far as `load.load` keeps it: the first and last CAPTURED ÷ 2 characters."""
    good = [run for tool in results.tools for run in results.good(tool)]
    repeats = Counter(map(cell_key, good))
    groups = group_by(good, _sweep) | group_by(
        (run for run in good if run.captured), lambda r: (*_sweep(r), r.text)
    )
    told_apart = {of: _varying(runs) for of, runs in groups.items()}
    texts = {cell: {run.text for run in runs} for cell, runs in group_by(good, cell_key).items()}
    names = _Names(
        told_apart=told_apart,
        several_sweeps=len({_sweep(run) for run in results.runs}) > 1,
        texts={cell: own.pop() for cell, own in texts.items() if len(own) == 1},
    )
    found: list[Finding] = []
    for check in checks():
        found += _findings(check, list(check.find(results)), repeats, names)
    return tuple(sorted(found, key=lambda f: LEVELS.index(f.level)))


def _sweep(run: Run) -> CellKey:
    return run.file, run.cell.sweep


def _varying(runs: Sequence[Run]) -> frozenset[str]:
    """Return the axes that tell a sweep's cells apart."""
    values: dict[str, set[str]] = {}
    for run in runs:
        for name, value in run.cell.labels().items():
            values.setdefault(name, set()).add(str(value))
    return frozenset(name for name, own in values.items() if len(own) > 1)


def convicted(findings: Iterable[Finding]) -> dict[CellKey, str]:
    """Return the cells of which an error or a warning speaks, with the ids of their checks, as `Guilty`: "F1, F7"."""
    return by_metric(
        (one[:-1], f.id, str(one[-1])) for f in findings if f.level != "info" for one in f.doubts
    )


def convicted_runs(findings: Iterable[Finding]) -> dict[tuple[str, int], str]:
    """Return the runs (file, number) of which an error or a warning speaks by themselves, with the ids of their checks."""
    return _ids((run, f.id) for f in findings if f.level != "info" for run in f.own)


_Key = TypeVar("_Key", bound=Hashable)


def _ids(said: Iterable[tuple[_Key, str]]) -> dict[_Key, str]:
    return {
        key: ", ".join(dict.fromkeys(check for _, check in same))
        for key, same in group_by(said, lambda s: s[0]).items()
    }


def doubts(guilty: Guilty, runs: Iterable[Run], metric: str = "") -> str:
    """Return the ids of the checks that speak of some runs' cells, or of this metric of them; "" if none does."""
    return joined(doubting(guilty, cell, metric) for cell in dict.fromkeys(map(cell_key, runs)))


def joined(ids: Iterable[str]) -> str:
    """Return the checks of several cells, "F1, F7, F10", each once: of the same checks the same text, in whatever order the cells come."""
    named = {key for one in ids for key in checks_of(one)}
    return ", ".join(sorted(named, key=lambda key: (key.rstrip("0123456789"), len(key), key)))


def coverage(results: Results) -> str:
    """Return a sentence on how many runs were checked, and on what the checks could not judge because it was not recorded."""
    applied = [check for check in checks() if not check.tool or check.tool in results.tools]
    runs = {tool: results.good(tool) for tool in results.tools}
    every = [run for own in runs.values() for run in own]
    blind: dict[tuple[str, int], list[str]] = {}
    for check in applied:
        for what, is_known in map(NEEDS.__getitem__, check.needs):
            if unknown := sum(not is_known(run) for run in runs.get(check.tool, every)):
                blind.setdefault((what, unknown), []).append(check.id)
    disturbed = sum(run.record.status == "disturbed" for run in results.runs)
    if disturbed and not every:
        return "Of docs/audit.md D1 and D2 alone judge runs that something else disturbed"
    said = f"The checks of docs/audit.md were applied to {fmt.plural(len(every), 'run')}"
    said += f", D1 and D2 alone to {fmt.plural(disturbed, 'disturbed one')}" if disturbed else ""
    lacking = [
        f"without {what} {fmt.words(ids)} could not judge {fmt.plural(unknown, 'run')}"
        for (what, unknown), ids in blind.items()
    ]
    return "; ".join([said, *lacking])


def watched(results: Results) -> bool:
    """Were the machine's counters read around every run that counts? Else nothing is known of what disturbed it."""
    return all(run.record.counters for tool in results.tools for run in results.good(tool))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """What cells are called by."""

    told_apart: Mapping[CellKey, frozenset[str]]
    """Sweep, or a text of it → the axes that tell its cells apart."""
    several_sweeps: bool
    """Then a cell that is the only one of its sweep is called by that."""
    texts: Mapping[CellKey, str]
    """Cell → the captured text that alone gave its numbers, where there are several; else ""."""

    def cell(self, run: Run) -> str:
        """Return "a.out, mode=loaded_latency W=6"."""
        told = run.cell.describe() if run.cell.labels() or not run.text else ""
        return ", ".join(filter(None, [self._beside(run), told])) or run.text

    def words(self, run: Run) -> str:
        """Return the cell for a sentence, by what tells it from the others: "a.out, PingPong, np 2"; of very many options, beside a text's
        name, the first."""
        labels = run.cell.labels()
        apart = self.told_apart.get(_sweep(run), frozenset())
        named = {name: value for name, value in labels.items() if name in apart or name in _ALWAYS} or labels
        if self.texts.get(cell_key(run)) and len(named) > _MOST_LABELS:
            first = self._first(run)
            named = {name: value for name, value in named.items() if name in first}
        return ", ".join(
            filter(None, [self._beside(run), *(_words(run.tool, *one) for one in named.items())])
        )

    def alone(self, run: Run) -> str:
        """The sweep of a cell without a name of its own, where there are several; "" of others, and of captured texts."""
        return run.cell.sweep if self.several_sweeps and not run.cell.labels() and not run.text else ""

    def _beside(self, run: Run) -> str:
        """The text of a cell, where its options do not name it."""
        return "" if "source" in run.cell.labels() else self.texts.get(cell_key(run), "")

    def _first(self, run: Run) -> Sequence[str]:
        """Return what tells the cells of its text apart, then what is named in any case, then others up to a few."""
        own = self.told_apart.get((*_sweep(run), run.text), frozenset())
        labels = sorted(run.cell.labels(), key=lambda name: (name not in own, name not in _ALWAYS))
        return labels[: max(_MOST_LABELS, len(own))]


_MOST_LABELS = 4


def _findings(
    check: Check, faults: Sequence[Fault], repeats: Mapping[CellKey, int], names: _Names
) -> Iterable[Finding]:
    alike = group_by(faults, lambda f: (f.level, f.run.file, f.run.where, f.run.cell.sweep, f.todo))
    for (level, _, where, sweep, _), members in alike.items():
        first = members[0]
        said = _filled(first.title or first.text, _alike(first, members))
        lines = list(_cells(members, repeats, names))
        yield Finding(
            id=check.id, level=level, title=_title(first, names, said), check=check.title,
            sweep=sweep, where=where, host=first.run.host, cells=tuple((cell, f"{text}{shown}") for cell, text, shown, _ in lines), repeats=lines[0][2], todo=first.todo or check.todo,
            axes=tuple((run.file, run.record.point_id, tuple(run.cell.labels().items())) for *_, run in lines),
            doubts=frozenset(
                (*cell_key(run), metric)
                for fault in members for run in fault.runs or (fault.run,) for metric in (fault.metric, *fault.also)
            ),
            own=frozenset((run.file, run.record.run_id) for fault in members if fault.own for run in (fault.run, *fault.attempts)), is_of_runs=check.is_of_runs,
        )  # fmt: skip


def _alike(fault: Fault, faults: Iterable[Fault]) -> list[Fault]:
    """Return those of some faults that say the same of repeats of one cell."""
    own = (cell_key(fault.run), fault.cell, fault.text)
    return [f for f in faults if f.quoted and (cell_key(f.run), f.cell, f.text) == own]


def _filled(text: str, faults: Sequence[Fault]) -> str:
    """Return a text with what these faults, which say the same of repeats, quote: "takes 6.30 to 12.3 µs"."""
    quoted = zip(*(fault.quoted for fault in faults), strict=True)
    return text.format(*(fmt.span([v for v, _ in same], same[0][1]) for same in quoted)) if faults else text


def _title(fault: Fault, names: _Names, text: str) -> str:
    """Return the finding in words: "Memory, 1 MB: the timer takes 28 of 52 ns". Its cell is named by what tells it from others."""
    words = fault.cell or names.words(fault.run) or fault.run.text
    whose = ", ".join(filter(None, (names.alone(fault.run), words)))
    said = ": ".join(
        filter(None, (whose, text.removeprefix(f"{words}: ")))
    )  # a cell called "read", of which "read: …" is said
    source = str(fault.run.cell.labels().get("source", " "))
    of_text = bool(whose) and whose.startswith((fault.run.text or " ", source))
    named = "=" in said.partition(" ")[0]  # an option, as it is written
    as_it_is = of_text or named or names.alone(fault.run)  # as a file and a sweep are written
    return said if as_it_is else fmt.sentence(said)


_ALWAYS = ("place", "mode", "target", "rw", "benchmark", "test")
"""Options that a finding names in any case."""

_PLAIN = (*_ALWAYS, "op", "ioengine")
"""Options whose value says what it is."""


def _words(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    if name == "source":
        return str(value)
    if tool == "command" and name not in naming.BESIDE and not naming.has_option(tool, name):
        return f"{name}={value}"  # an axis of the user's own: m is not M, nor my_axis "my axis"
    plain = name in _PLAIN and (naming.has_option(tool, name) or tool not in tool_names())
    return (str(value) if plain else naming.option_value(tool, name, value)).replace("_", " ")


def _cells(
    faults: Sequence[Fault], repeats: Mapping[CellKey, int], names: _Names
) -> Iterable[tuple[str, str, str, Run]]:
    """Return a line per cell, its name, the arithmetic, how many repeats show it (those that show the same fault are one), and the first."""
    by_cell = group_by(faults, lambda f: (*cell_key(f.run), f.cell, f.text if f.cell else ""))
    for members in by_cell.values():
        run = members[0].run
        cell = members[0].cell or names.cell(run)
        of = repeats[cell_key(members[0].run)]
        for same in _told_alike(members):
            first = same[0]
            runs = {fault.run.record.run_id for fault in same}
            which = (
                "" if len({f.text for f in same}) == 1 else f"; repeat {first.run.record.repeat} is quoted"
            )
            several = (
                f" ({len(runs)} of {of} repeats{which})"
                if of > 1 and (len(runs) > 1 or (first.own and not first.cell))
                else ""
            )
            yield cell, _filled(first.text, _alike(first, same)), several, run


def _told_alike(members: Sequence[Fault]) -> Iterable[list[Fault]]:
    """Give the faults of a cell that say the same of its repeats: by their text, where it has what repeats quote in its place; else the
    first, second … of each run, of those that begin alike ("read: …"). What is said of the cell is none of a repeat's."""
    for (quoted, *_), own in group_by(members, lambda f: (bool(f.quoted), f.own, _begins(f))).items():
        if quoted:
            yield from group_by(own, lambda f: f.text).values()
            continue
        by_run = group_by(dict.fromkeys((f.run, f.text) for f in own), lambda pair: pair[0]).values()
        known = {(f.run, f.text): f for f in reversed(own)}
        first = next(iter(by_run))
        for at in range(len(first)):
            yield [known[pairs[at]] for pairs in by_run if at < len(pairs)]


def _begins(fault: Fault) -> str:
    """Return a text up to its first figure or colon; "" of one that repeats tell by its whole."""
    return "" if fault.quoted else re.split(r"[\d:]", fault.text, maxsplit=1)[0]


def worst(findings: Iterable[Finding]) -> Level | None:
    """Return the gravest level among the findings; None without any."""
    return min((f.level for f in findings), key=LEVELS.index, default=None)


def down_to(findings: Sequence[Finding], level: str) -> tuple[Finding, ...]:
    """Return the findings of a level and of the graver ones."""
    kept = LEVELS[: [*LEVELS].index(level) + 1]  # type: ignore[arg-type]
    return tuple(f for f in findings if f.level in kept)


def as_text(
    findings: Sequence[Finding], *, most_cells: int = _MOST, everything: bool = False, width: int = WIDTH
) -> str:
    """Return the findings in lines of `width` columns; "" if there is none. Of what is said of runs one by one the first of a sweep
    stands, of others `most_cells`, but with `everything` all of them; and what to do once below findings that follow one another."""
    blocks = []
    fold = functools.partial(wrapped, width=width, whole=True)
    for finding, following in itertools.zip_longest(findings, findings[1:]):
        most = len(finding.cells) if everything else 1 if finding.is_of_runs else most_cells
        where = finding.where.replace(UNRECORDED_HOST, "host not recorded")
        head = f"{finding.level:5} {finding.id}  {finding.check}  [{finding.sweep}, {where}]"
        lines = fold(head, rest="      ")
        for cell, text in finding.cells[:most]:
            lines += fold(f"{cell}: {text}", first="      ", rest="        ")
        if len(finding.cells) > most:
            lines.append(f"      and {len(finding.cells) - most} more (--all lists them)")
        if following is None or (following.id, following.todo) != (finding.id, finding.todo):
            lines += fold(f"→ {finding.todo}", first="      ", rest="        ")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def summary_line(findings: Sequence[Finding]) -> str:
    """Return "2 errors, 1 warning, 3 notes"; "nothing found" without any."""
    words = {"error": "error", "warn": "warning", "info": "note"}
    counts = {level: sum(f.level == level for f in findings) for level in LEVELS}
    return ", ".join(fmt.plural(n, words[level]) for level, n in counts.items() if n) or "nothing found"


def counted(results: Results) -> str:
    """Return "12 runs with numbers", "12 runs with numbers and 3 disturbed ones", "3 disturbed runs", every attempt: what the findings are of; behind it
    how many outputs could not be read, and why the first could not."""
    good = sum(len(results.good(tool)) for tool in results.tools)
    disturbed = sum(run.record.status == "disturbed" for run in results.runs)
    if not good and disturbed:
        return fmt.plural(disturbed, "disturbed run")
    unread = [run.unreadable for run in results.runs if run.unreadable]
    why = f"; the output of {fmt.plural(len(unread), 'run')} cannot be read: {unread[0]}" if unread else ""
    beside = f" and {fmt.plural(disturbed, 'disturbed one')}" if disturbed else ""
    return f"{fmt.plural(good, 'run')} with numbers{beside}{why}"


def flag_counts(findings: Iterable[Finding]) -> str:
    """Return "repeats differ widely (G11): 10 cells · timer too coarse (G6): 2" of errors and warnings; "" without any."""
    grave = [finding for finding in findings if finding.level != "info"]
    counts = {key: len({cell for f in same for cell in f.about}) for key, same in group_by(grave, lambda f: (f.check, f.id)).items()}  # fmt: skip
    ordered = sorted(counts.items(), key=lambda one: -one[1])
    said = [
        f"{title} ({key}): {fmt.count(n) if i else fmt.plural(n, 'cell')}"
        for i, ((title, key), n) in enumerate(ordered)
    ]
    return " · ".join(said)


def as_json(findings: Sequence[Finding]) -> str:
    """Return {"findings": [Finding.as_json]}."""
    return json_text({"findings": [f.as_json() for f in findings]})


def brief(findings: Sequence[Finding], see: str, sweeps: Collection[str] = (), most: int = 5) -> list[str]:
    """Return one line a finding, errors and warnings only, then how many more there are, and what the command `see` counts, that tells all:
    what the end of a run says; [] of none. Of several sweeps it names the finding's."""
    grave = [f for f in findings if f.level != "info"]
    lines = []
    for finding in grave[:most]:
        others = f"; and {len(finding.cells) - 1} more" if len(finding.cells) > 1 else ""
        told = finding.title.startswith((f"{finding.sweep}: ", f"{finding.sweep}, "))
        sweep = f"{finding.sweep}: " if len(sweeps) > 1 and not told else ""
        line = f"{finding.level:5} {finding.id}  {sweep}{finding.title}"
        lines.append(_shortened(line, 2 * WIDTH - len(others)) + others)
    left = len(grave) - most
    more = (
        f"and {fmt.count(left)} more (in all {summary_line(findings)}); what they mean"
        if left > 0
        else "what they mean"
    )
    return [*lines, f"{more}: {see}"] if grave else []


def _shortened(line: str, most: int) -> str:
    """Cut a line behind a part of a sentence, where that leaves half of it or more: its end alone may turn what it says."""
    text = textwrap.shorten(line, most, placeholder=" …")
    if text == " ".join(line.split()):
        return text
    ends = [found.start() for found in re.finditer(r"[,;:.] ", text)]
    return f"{text[: ends[-1]]} …" if ends and ends[-1] >= most / 2 else text
