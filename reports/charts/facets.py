"""Which runs share a panel, and what tells panels, cells and their names apart."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import option_value, program_kind
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

MOST_PANELS = 8
"""A figure with more panels than this is a wall: the rest is in its table, and the figure says so."""

MOST_HOSTS = 8
"""Beyond so many hosts a panel each is a wall, too, and a line each a tangle: a line is then drawn through the medians over all
hosts, its band or bar from the lowest to the highest, and the hosts are set against one another in a strip and a table."""


Facet = tuple[tuple[str, Any], ...]
"""What all runs of a panel have in common: (name, value) pairs, always the same names in a figure."""


TURN = "run of its text"
"""What tells the panels of a text that holds several runs apart."""


def facet(run: Run, names: Sequence[str]) -> Facet:
    """Return the run's panel: its host, its place, its program, and its values of the named options."""
    own = _own(run) if names else {}
    return tuple((name, own.get(name)) for name in names)


def _own(run: Run) -> dict[str, Any]:
    return {**run.options, "host": run.where, "place": run.place, "program": program_kind(run)}


def unlike(runs: Iterable[Run]) -> list[Run]:
    """Return one of the runs of which nothing tells the panels apart: of the repeats of a cell, as a rule. Of what it returns, the same."""
    alike: dict[tuple[object, ...], Run] = {}
    for run in runs:
        alike.setdefault(in_common(run), run)
    return list({_telling_apart(run): run for run in alike.values()}.values())


def in_common(run: Run) -> tuple[object, ...]:
    """Return what the repeats of a cell have in common, as a rule: those that have it are told apart by nothing."""
    parsed, record = run.parsed, run.record
    said = (id(parsed.facts), id(parsed.flags)) if parsed else None
    return (
        id(run.cell), id(run.session), id(record.placement), said, run.where, run.source, run.build, record.program,
    )  # fmt: skip


def _telling_apart(run: Run) -> tuple[object, ...]:
    """Return what `_own` is told from."""
    facts = run.parsed.facts if run.parsed else {}
    told = tuple(facts[name] for name in _telling(tuple(facts)))
    ids = id(run.cell), id(run.session), id(run.record.placement)
    return ids, run.where, run.source, program_kind(run), told


@functools.lru_cache(maxsize=512)
def _telling(facts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the facts that tell an option."""
    return tuple(name for name in facts if name.startswith("option."))


def by_panel(runs: Iterable[Run], panels: Iterable[Facet]) -> dict[Facet, list[Run]]:
    """Return the runs of each panel of a figure; of one run of a text (`in_panels`) the text's."""
    of_texts = {of: tuple(pair for pair in of if pair[0] != TURN) for of in panels}
    names = [name for name, _ in next(iter(of_texts.values()), ())]
    found = group_by(runs, lambda run: facet(run, names))
    return {of: found.get(of_text, []) for of, of_text in of_texts.items()}


def in_panels(found: pd.DataFrame, *within: str, texts: bool = False) -> pd.DataFrame:
    """Return some rows with `panel` (a Facet) beside the columns of their reading; runs that one text holds are panels, too, and with
    `texts` the texts that were taken in."""
    from parsers.frames import pd

    runs = list(dict.fromkeys(found["run"]))
    names = panel_names(runs, within=within)
    sources = _texts(runs) if texts and "source" not in names else {}
    turns = found.groupby("run", sort=False)["turn"].transform("nunique") > 1
    own = {run: facet(run, names) for run in runs}
    panels = [
        (*own[run], *((("source", sources.get(run)),) if sources else ()), *(((TURN, turn),) if several else ()))
        for run, turn, several in zip(found["run"], found["turn"], turns, strict=True)
    ]  # fmt: skip
    return found.assign(panel=lambda f: pd.Series(panels, index=f.index, dtype=object))


def _texts(runs: Sequence[Run]) -> dict[Run, str]:
    """Return the short name of the text of each captured run, where there are several and none is said to be another's repeat."""
    of = {run: run.text for run in runs if run.text}
    cells = group_by(of, cell).values()
    one = len({*of.values()}) < 2 or any(len({of[run] for run in same}) > 1 for same in cells)
    return {} if one else of


def facet_names(runs: Sequence[Run], *, within: Iterable[str]) -> list[str]:
    """Return the options (and "host", "place", "program") that differ between the runs and are not drawn within a panel.

    A tool and its stand-in never share a panel; many hosts do (`pooled`).
    """
    inner = {*within, "host"} if pooled(runs) else set(within)
    seen: dict[str, set[str]] = {"host": set(), "place": set(), "program": set()}
    firsts: dict[tuple[int, bool], Run] = {}
    for run in runs:
        firsts.setdefault((id(run.cell), bool(run.source)), run)
    for run in firsts.values():
        for name, value in {**run.cell.options, **run.cell.apart}.items():
            if not isinstance(value, dict):
                seen.setdefault(name, set())
        if run.source:
            seen.setdefault("source", set())
    for run in unlike(runs):
        own = _own(run)
        for name, values in seen.items():
            values.add(str(own.get(name)))
    return [name for name, values in seen.items() if len(values) > 1 and name not in inner]


_FROM = ("host", "place", "program", "source")
"""Where a number is from."""

_STAY = (*_FROM, "bs", "l", "np")
"""That, and what no reader of a panel does without: fio's block size, MLC's stride, the ranks of a message."""


def panel_names(runs: Sequence[Run], *, within: Iterable[str]) -> list[str]:
    """Return the fewest of the `facet_names` that tell the panels apart."""
    firsts = unlike(runs)
    return fewest(firsts, facet_names(firsts, within=within))


def fewest(runs: Sequence[Run], names: Sequence[str], stay: Iterable[str] = _STAY) -> list[str]:
    """Return those of some names that tell as many panels apart as all do, and those in `stay`: of options that vary as one the first.

    The axes that an experiment's author chose stay in any case; of a captured text every option is an axis.
    """
    firsts = unlike(runs)
    stay = {*stay, *(axis for run in firsts if not run.captured for axis in run.cell.axes)}
    found, panels = list(names), len({facet(run, names) for run in firsts})
    for name in reversed(names):
        others = [other for other in found if other != name]
        if name not in stay and len({facet(run, others) for run in firsts}) == panels:
            found = others
    return found


def told(drawn: Iterable[tuple[Run, object]], within: Sequence[str]) -> tuple[str, ...]:
    """Return those of some options that need no panels: what is drawn of a run (beside it) tells their value. Cells of two values
    that nothing tells apart would be pooled."""
    alike = {(in_common(run), by): run for run, by in drawn}  # repeats tell the same
    pairs = {(_telling_apart(run), by): run for (_, by), run in alike.items()}
    names = facet_names(list(dict.fromkeys(pairs.values())), within=within)
    known: set[tuple[object, ...]] = set()
    for (_, by), run in pairs.items():
        own = _own(run)
        known.add(((*map(own.get, names),), by, *(str(own.get(n)) for n in within)))
    points = {of[:2] for of in known}
    return tuple(
        n for at, n in enumerate(within, 2) if len({(*of[:2], of[at]) for of in known}) == len(points)
    )


def cell(run: Run) -> tuple[str, str, str]:
    """Return what the repeats of a cell share; a stand-in's runs are no repeats."""
    return run.file, run.record.point_id, program_kind(run)


def names_apart(named: Sequence[tuple[str, Run]]) -> list[str]:
    """Return the names of cells (name, one of its runs): what several are called is told apart by the options, place or host in
    which these differ; at last by a number."""
    runs = {name: [run for _, run in same] for name, same in group_by(named, lambda n: n[0]).items()}
    apart = {
        name: fewest(same, facet_names(same, within=()), _FROM) if len(same) > 1 else []
        for name, same in runs.items()
    }
    found = [
        ", ".join(filter(None, (name, facet_title(facet(run, apart[name]), run.tool)))) for name, run in named
    ]
    seen: Counter[str] = Counter()
    out = []
    for name in found:
        seen[name] += 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return out


def pooled(runs: Iterable[Run]) -> bool:
    """Are there so many hosts that they share their panels?"""
    return len({run.host for run in runs}) > MOST_HOSTS


def lost(results: Results, tool: str, sweep: str, runs: Sequence[Run], *, within: Iterable[str]) -> list[Run]:
    """Return one failed run of each cell without a number: of many hosts, of each cell that none of them has. Only of cells that
    the options drawn `within` a panel tell from those of a panel, and nothing else: a cross stands in that panel."""
    found = results.lost(tool, sweep)
    if not found:
        return []
    known = {run.record.point_id for run in runs} if pooled(runs) else set()
    names = facet_names([*runs, *found], within=within)
    drawn = {facet(run, names) for run in runs}
    return [run for run in found if run.record.point_id not in known and facet(run, names) in drawn]


def numberless(lost: Sequence[Run], runs: Sequence[Run], *, within: Iterable[str] = ()) -> str:
    """Say " Without a number: other package, np 8 and 4 more." of the cells of some failed runs, for a figure that has no place for a
    cross: what their options, but those `within`, tell them from those of `runs` by."""
    known = {run.record.point_id for run in runs} if pooled(runs) else set()
    names = facet_names([*runs, *lost], within=within)
    titles = (facet_title(facet(run, names), run.tool) for run in lost if run.record.point_id not in known)
    told = list(dict.fromkeys(filter(None, titles)))
    if not told:
        return ""
    further = [f"{fmt.count(len(told) - _MOST_NUMBERLESS)} more"] if len(told) > _MOST_NUMBERLESS else []
    return f" Without a number: {fmt.words([*told[:_MOST_NUMBERLESS], *further])}."


_MOST_NUMBERLESS = 3


def facet_title(of: Facet, tool: str) -> str:
    """Return "64 B stride, node n001", for people."""
    return ", ".join(facet_words(of, tool))


def begins(of: Facet, text: str) -> str:
    """Return a text that begins with `facet_title` as a title begins: "Local, randread", and "node07, local, randread", for a host, a file and a program are
    called as they are."""
    first = next((name for name, value in of if value is not None), "")
    return text if first in ("host", "program", "source") else fmt.sentence(text)


def facet_words(of: Facet, tool: str) -> list[str]:
    """Return what `facet_title` says, one by one."""
    return [option_value(tool, key, value) for key, value in of if value is not None]
