"""The page as a value: header, what is missing, sections with their figures, methods, all runs. Pure, but that it takes the audit of a
file of many runs from where it is kept.

Results go in, texts and figures come out; `reports.page.html` puts them into the templates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from reports.charts import chart_module, facets, wording
from reports.charts.chapter import Chapter
from reports.checks.audit import Finding, audit, convicted
from reports.checks.doubts import doubting_all, of_all_numbers, of_figure
from reports.draw.figure import Figure
from reports.measurements import measure
from reports.page.model import Block, Drawing, KeyNumber, Page, Placements, Section
from reports.report import all_runs, axis_effects, declared, header
from reports.report.all_runs import Printed
from reports.report.best import figure as best_cells
from reports.report.check_list import check_list, stand_in_note
from reports.report.hosts import figures as host_figures
from reports.report.key_numbers import chosen as key_numbers_of
from reports.report.machine import drawings
from reports.report.overview import figure as overview_figure
from reports.report.placement import of_hosts
from reports.report.possible import with_shares
from reports.results.convicted import Guilty, without
from reports.results.described import abouts
from reports.results.model import Results, Run
from reports.text import format as fmt

_NOTHING_PRINTED: Mapping[Run, Printed] = MappingProxyType({})


def build(
    results: Results,
    printed: Mapping[Run, Printed] = _NOTHING_PRINTED,
    found: Sequence[Finding] | None = None,
) -> Page:
    """Return the page of some results.

    printed: what the runs `all_runs.with_output` printed, as far as it is shown. found: what their audit finds, where that is known already.
    """
    found = audit(results) if found is None else found
    guilty = convicted(found)
    doubted_all = doubting_all(results, guilty)
    marked = without(guilty, doubted_all)
    measured = measure(results, found, undirected=True, disturbed=True)
    drawn = {tool: declared.chapter(tool, results, measured) for tool in results.told}
    chapters = with_shares(drawn, guilty)
    numbers = [n for c in chapters.values() for n in c.key_numbers]
    described = abouts(results)
    provenance, not_recorded = header.provenance(results, chapters)
    title = _title([*dict.fromkeys(e.title for e in results.experiments)])
    key_numbers, picked = key_numbers_of(numbers, results, marked)
    placed = of_hosts(results)
    return Page(
        title=title,
        sentence=" ".join(filter(None, (header.sentence(results), _of_all(doubted_all)))),
        key_numbers=key_numbers,
        picked=picked,
        provenance=tuple(provenance),
        not_recorded=tuple(not_recorded),
        checks=check_list(results, found),
        sections=tuple(_sections(results, chapters, marked)) or (_nothing(results),),
        machines=_machines(results, chapters, marked, key_numbers),
        placement=Placements(hosts=placed) if placed else None,
        methods=tuple(_methods(results, chapters)),
        runs=all_runs.table(results, printed),
        several_files=len({machine.file for machine in results.machines}) > 1,
        about=described[0] if len(described) == 1 else "",
        version=next((m.session.pinsweep_version for m in reversed(results.machines)), ""),
        all_doubted=bool(doubted_all),
    )


def _title(titles: Sequence[str]) -> str:
    """Return what a page of some experiments is called; those with a comma of their own are told apart by semicolons."""
    if any("," in title for title in titles):
        return "; ".join(titles)
    return fmt.words(titles) or "pinsweep results"


def _of_all(checks: Iterable[str]) -> str:
    """Return what is told once of all numbers of the page, which then have no mark of it."""
    told = of_all_numbers(dict.fromkeys(checks, ""))
    return f"{told}." if told else ""


def _machines(
    results: Results, chapters: Mapping[str, Chapter], guilty: Guilty, key_numbers: Iterable[KeyNumber]
) -> tuple[Drawing, ...]:
    """Return the drawings of the machines; what their numbers lack stands there where the key numbers do not say it."""
    said = {number.lacks for number in key_numbers}
    found = drawings(results, chapters.values(), guilty)
    return tuple(replace(one, lacking="") if one.lacking in said else one for one in found)


def _sections(results: Results, chapters: Mapping[str, Chapter], guilty: Guilty) -> Iterable[Section]:
    """guilty: the cells that a check convicts; what shows their numbers says so."""
    if strips := host_figures(results):
        yield Section(
            title="Hosts", anchor="hosts", blocks=(Block(tool="hosts", figures=_marked(strips, guilty)),)
        )
    every = [figure for chapter in chapters.values() for figure in chapter.figures]
    best = best_cells(results, every)
    if best:
        yield Section(
            title="Summary",
            anchor="summary",
            blocks=(Block(tool="summary", figures=_marked((best,), guilty)),),
        )
    times = [t for c in chapters.values() for t in c.access_times]
    if facets.pooled(results.runs):  # hosts that differ are no repeats that scatter
        times = [replace(t, repeats=None) for t in times]
    overview = overview_figure(times)
    ranked = sorted(chapters, key=lambda tool: chart_module(tool).RANK)
    sections: dict[str, list[str]] = {}  # → its tools
    for tool in ranked:
        if chapters[tool].figures or chapters[tool].drawn:
            sections.setdefault(chart_module(tool).SECTION, []).append(tool)
    first = next((tool for tool in ranked if chapters[tool].access_times), "")
    if overview and not (
        chapters[first].figures or chapters[first].drawn
    ):  # it is of no section: latencies of memory are no storage
        block = Block(tool="overview", figures=_marked((overview,), guilty))
        yield Section(title="Access times", anchor="access-times", blocks=(block,))
    for title, tools in sections.items():
        blocks = [
            Block(
                tool=tool,
                drawn=chapters[tool].drawn,
                figures=_marked(
                    _of_sweeps(axis_effects.said(results, tool, chapters[tool].figures, guilty)), guilty
                ),
            )
            for tool in tools
        ]
        if overview and first in tools:
            blocks.insert(1, Block(tool="overview", figures=_marked((overview,), guilty)))
        notes = filter(None, (stand_in_note(results, tool) for tool in tools))
        lead = " ".join(dict.fromkeys(notes))
        yield Section(
            title=title,
            anchor="-".join(title.lower().split()),
            lead=(lead,) if lead else (),
            blocks=tuple(blocks),
        )


def _marked(figures: Iterable[Figure], guilty: Guilty) -> tuple[Figure, ...]:
    """Return the figures with what doubts the cells that they show, and of long tables what can be read."""
    return tuple(of_figure(figure, guilty).cut() for figure in figures)


def _nothing(results: Results) -> Section:
    if results.tools:
        said = "No figure is drawn of what these runs gave; pinsweep export has all their numbers."
        return Section(title="No figures", anchor="nothing", lead=(said,))
    if results.disturbed:
        said = "Every run of these files that gave a number was disturbed (D1), and no chart has a place for it. All runs are listed below."
        return Section(title="No figures", anchor="nothing", lead=(said,))
    said = "No run of these files has given a number. What was tried is listed below."
    return Section(title="No numbers", anchor="nothing", lead=(said,))


def _of_sweeps(figures: Sequence[Figure]) -> tuple[Figure, ...]:
    """Say of each figure which sweep it is of, where they are of several."""
    if len({f.sweep for f in figures}) < 2:
        return tuple(figures)
    return tuple(replace(f, sub=f"{fmt.sentence(f.sweep)}. {f.sub}") if f.sweep else f for f in figures)


def _methods(results: Results, chapters: Mapping[str, Chapter]) -> Iterable[str]:
    yield (
        "GB/s is 10⁹ bytes per second, KiB is 1024 bytes. Every number comes from the raw output that the result file "
        "keeps; a line is drawn through medians of the repeats, a bar or band from the lowest to the highest, and "
        "nothing is joined across a cell that was not run or has failed."
    )
    yield (
        "A title claims a difference where the repeats do not overlap and the medians are further apart than 3 % and than "
        "the spread of the repeats; "
        "with fewer than three repeats a side, further than 10 %; or whose ratio is beyond that of wide repeats on a log scale (docs/formulas.md)."
    )
    if results.warm_ups:
        warmed = fmt.words(wording.programs(results.warm_ups))
        yield (
            f"In no number here: warm-ups of {warmed}, before all other runs of a session: {fmt.plural(len(results.warm_ups), 'run')}. "
            "pinsweep show FILE --runs lists them."
        )
    modules = dict.fromkeys(chart_module(tool) for tool in results.told)
    for module in sorted(modules, key=lambda m: m.RANK):
        own = (figure.id for c in chapters.values() if chart_module(c.tool) is module for figure in c.figures)
        of = getattr(module, "METHODS_OF", "")
        if module.METHODS and (not of or any(name.startswith(of) for name in own)):
            yield module.METHODS
    if any(run.record.placement for run in results.runs):
        bound = any(group.membind or group.interleave for run in results.runs for group in run.placed)
        yield (
            f"Threads{' and memory' if bound else ''} were placed by numactl (pinsweep show FILE RUN prints the command of a run). Cells run in rounds, each a random "
            "permutation drawn from the seed, unless the experiment says “order: listed”."
        )
