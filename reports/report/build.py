"""The page as a value: head, machines, checks, sections, methods and runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reports import tools
from reports.chart import Chart
from reports.checks.audit import Finding, audit
from reports.document import Block, Figure, Fold, Text
from reports.measurements import Measurements, measure
from reports.page.model import Page, Section
from reports.render import vega
from reports.report import effects, head
from reports.report.all_runs import table as run_table
from reports.report.check_list import check_list
from reports.report.machine import machines
from reports.results.described import abouts
from reports.results.model import Results
from reports.text.names import anchor
from reports.tools.base import KEY_COLUMNS, Tool

if TYPE_CHECKING:
    import pandas as pd

MANY_FIGURES: Final = 6
"""From this many figures on, a page begins with a summary."""

METHODS: Final = (
    "GB/s is 10⁹ bytes per second, KiB is 1024 bytes. Every number comes from the raw output in the result file.",
    "Lines are medians of the repeats, bars and bands their range. No line crosses a cell without a number.",
    "A key number is the best cell of its kind. ⚠ marks a number that a check flags. docs/audit.md explains the checks.",
)
_OVERVIEW: Final = Chart(
    id="overview", title="Time of one access, from cache to storage", kind="points", x="value", y="name", color="section", log_x=True, panels=(),
    x_title="Time", about="The key numbers of all tools that are times: the median over the repeats.",
)  # fmt: skip


def build(results: Results, findings: Sequence[Finding] | None = None) -> Page:
    """Return the page of some results. `findings` is an existing audit."""
    findings = audit(results) if findings is None else findings
    measured = measure(results, findings, undirected=True)
    found = [(tools.find(tool), tool, _rows(results, measured, tool)) for tool in results.tools]
    cells = _key_cells(found, measured)
    titles = dict.fromkeys(e.title for e in results.experiments)
    provenance, not_recorded = head.provenance(results)
    described = abouts(results)
    return Page(
        title=("; " if any("," in title for title in titles) else ", ").join(titles) or "pinsweep results",
        sentence=head.sentence(results),
        care=head.care(findings),
        built_in=head.built_in(results),
        key_numbers=head.key_numbers(cells),
        machines=machines(results, cells, measured.runs),
        provenance=provenance,
        not_recorded=not_recorded,
        checks=check_list(results, findings),
        sections=tuple(_sections(results, measured, found, cells)),
        about=described[0] if len(described) == 1 else "",
        methods=(*METHODS, *_methods(found)),
        runs=run_table(results),
        version=next((m.session.pinsweep_version for m in reversed(results.machines)), ""),
        several_files=len({machine.file for machine in results.machines}) > 1,
    )


def _methods(found: Sequence[_Found]) -> Iterable[str]:
    """Yield the counting methods of the tools that no figure explains."""
    shown = {chart.about for tool, *_ in found for chart in tool.CHARTS}
    return dict.fromkeys(tool.METHODS for tool, _, rows in found if len(rows) and tool.METHODS not in {"", *shown})


_Found = tuple[Tool, str, "pd.DataFrame"]


def _rows(results: Results, measured: Measurements, tool: str) -> pd.DataFrame:
    """Return the rows of a tool with the samples."""
    runs = [*results.runs, *results.warm_ups]
    good = set(results.good(tool))
    sample = tools.find(tool).samples
    samples = [{**row, "run": i} for i, run in enumerate(runs) if run in good and not run.void for row in sample(run)]
    rows = measured.tidy(tool, samples)
    return rows if type(tools.find(tool)) is Tool else rows[rows["better"] != "neither"]


def _key_cells(found: Iterable[_Found], measured: Measurements) -> pd.DataFrame:
    """Return the key numbers of all tools with the places of the runs. Best numbers come only from valid, counted
    runs.
    """
    from parsers.frames import pd

    parts = []
    for tool, _, rows in found:
        judged = rows[rows["series"].notna() & rows["counts"].astype(bool)] if len(rows) else rows
        if len(judged) and len(part := tool.keys(judged)):
            parts.append(part.assign(section=tool.SECTION))
    if not parts:
        return pd.DataFrame(columns=[*KEY_COLUMNS, "section", "pus", "memory_nodes", "memory_peak"])
    return pd.concat(parts, ignore_index=True).join(measured.runs[["pus", "memory_nodes", "memory_peak"]], on="run")


def _sections(
    results: Results, measured: Measurements, found: Sequence[_Found], cells: pd.DataFrame
) -> Iterable[Section]:
    by_title: dict[str, list[Block]] = {}
    for tool, name, rows in sorted(found, key=lambda entry: entry[0].RANK):
        figures = (
            list(tool.figures(rows, measured.keys(name), measured.runs[measured.runs["tool"] == name]))
            if len(rows)
            else []
        )
        if figures:
            by_title.setdefault(tool.SECTION, []).extend(figures)
    overview = _overview(cells)
    if overview and by_title:
        by_title.setdefault("Summary", []).append(overview)
    summary = effects.tables(results)
    by_title = _about_once(by_title)
    several = sum(map(len, by_title.values())) > MANY_FIGURES
    if summary:
        folded = Fold("What each axis does, and the best cell of each sweep", summary)
        by_title.setdefault("Summary", []).extend(summary if several else (folded,))
    if several and "Summary" in by_title:
        by_title = {"Summary": by_title.pop("Summary"), **by_title}
    for title, blocks in by_title.items():
        yield Section(title=title, anchor=anchor(title), blocks=tuple(blocks))
    if not by_title:
        text = (
            "No figure shows the numbers of these runs; pinsweep export has them."
            if results.tools
            else "No run of these files has a number."
        )
        yield Section(title="No figures", anchor="nothing", blocks=(Text(text),))


def _about_once(sections: Mapping[str, list[Block]]) -> dict[str, list[Block]]:
    """Return the sections with each text about a figure only at the first such figure."""
    texts: set[str] = set()
    blocks_by_about: dict[str, list[Block]] = {}
    for title, blocks in sections.items():
        for block in blocks:
            if isinstance(block, Figure) and block.about in texts:
                block = replace(block, about="")
            elif isinstance(block, Figure):
                texts.add(block.about)
            blocks_by_about.setdefault(title, []).append(block)
    return blocks_by_about


def _overview(cells: pd.DataFrame) -> Figure | None:
    """Return the times of one access of all tools, fastest first, if several tools have one."""
    times = cells[cells["unit"] == "ns"] if len(cells) else cells
    if times["tool"].nunique() < 2 if len(times) else True:
        return None
    best = times.loc[times.groupby(["name", "context", "where"], sort=False)["value"].idxmin()].sort_values("value")
    words: list[Any] = [
        ", ".join(filter(None, (name, context))) for name, context in zip(best["name"], best["context"], strict=True)
    ]
    return vega.figure(_OVERVIEW, best.assign(name=words), keys=("where", "program"))
