"""From the page to the lab report: sections, numbered figures and tables, command lines. Pure.

What the page says is taken from it: findings, tables, checks, methods, provenance. What a lab report needs beside it is
made from the results: which sweeps ran, the exact command lines, and the numbers of figures and tables.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.topology import Topology
from reports import document as declared
from reports.checks.doubts import doubting_all, of_figure, of_results
from reports.draw import figure as model
from reports.lab import columns
from reports.lab.figures import layout, size_of
from reports.lab.model import (
    TEXT_WIDTH_MM,
    Command,
    Document,
    Figure,
    Finding,
    Section,
    Sweep,
    Table,
    Trace,
)
from reports.page.model import Block, Check, Page
from reports.page.model import Section as PageSection
from reports.render.grid import grid
from reports.report import axis_effects
from reports.report.all_runs import placement_text, run_row
from reports.results.convicted import without
from reports.results.described import abouts
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.results.naming import program_name
from reports.text import format as fmt

_MM_PER_PX = TEXT_WIDTH_MM / 752
"""Two narrow panels beside one another fill the width. All figures have this scale: their texts are of one size."""

_HIGHEST_MM = 185.0
_MOST_ROWS = 400
_MOST_COMMANDS = 150
_MOST_EXAMPLES = 5
_LONGEST_EXAMPLE = 150


def build(results: Results, built: Page) -> Document:
    """Return the lab report of some results and their page."""
    sections = [section for section in built.sections if section.blocks]
    if told := axis_effects.figure(results):
        first = [sections.pop(0)] if sections and sections[0].anchor == "summary" else []
        guilty = of_results(results)
        told = of_figure(told, without(guilty, doubting_all(results, guilty)))
        blocks = (*(b for s in first for b in s.blocks), Block(tool="summary", figures=(told,)))
        sections.insert(0, PageSection(title="Summary", anchor="summary", blocks=blocks))
    make = _Maker(results, built.version, {told.id} if told else ())
    drafts = [
        [
            *(make.declared(figure, block) for block in section.blocks for figure in block.drawn),
            *(make.draft(figure, block) for block in section.blocks for figure in block.figures),
        ]
        for section in sections
    ]
    head = [_machine(results, built), _sweeps_table(results), *_key_table(built)]
    parts = [draft for section in drafts for draft in section]
    _number(head, parts)
    for draft in parts:
        draft.name_numbers()
    ends = [table for draft in parts for table in draft.end]
    starts = sorted(m.session.started_utc[:10] for m in results.measured if m.session.started_utc)
    return Document(
        title=built.title,
        sentence=built.sentence,
        date=starts[0] if starts else "",
        about=abouts(results),
        machine=head[0],
        not_recorded=", ".join(built.not_recorded),
        sweeps=head[1],
        key_numbers=head[2] if len(head) > 2 else None,
        checks=tuple(_shortened(check) for check in built.checks),
        sections=tuple(_section(s, d) for s, d in zip(sections, drafts, strict=True)),
        methods=built.methods,
        numbers=tuple(t for t in ends if t.number),
        filed=tuple(t for t in ends if not t.number),
        commands=tuple(_commands(results)),
        trace=_trace(results, results.runs, built.version, digits=12),
        version=built.version,
    )


# --- figures and tables, numbered --------------------------------------------------------------------------


@dataclass(slots=True)
class _Draft:
    """A figure of the page on its way into the report: its picture, tables beside it, tables at the end."""

    title: str
    figure: Figure | None
    findings: tuple[str, ...]  # what the data says: the title, unless that says what the figure is of
    here: list[Table] = field(default_factory=list)
    end: list[Table] = field(default_factory=list)

    def name_numbers(self) -> None:
        """Give tables at the end that have no caption the number of their figure for one."""
        of = f"Numbers of Figure {self.figure.number}" if self.figure else "Numbers"
        self.end = [replace(t, caption=f"{of}: {t.caption or self.title}") for t in self.end]

    def items(self) -> list[Figure | Table]:
        """Return what stands in the text, in order."""
        return [*([self.figure] if self.figure else []), *self.here]

    def found(self) -> Iterable[Finding]:
        refs = (*self.items(), *self.end)
        return (Finding(text=text, refs=refs) for text in self.findings)


class _Labels:
    """Names of files and references: lower-case letters, digits and dashes, each only once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, text: str) -> str:
        """Return "imb-pingpong" for "imb-PingPong-imb-pingpong": a sweep often has its tool's name."""
        words = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:60].split("-")
        plain = "-".join(dict.fromkeys(words)).strip("-") or "unnamed"
        label, n = plain, 1
        while label in self._taken:
            n += 1
            label = f"{plain}-{n}"
        self._taken.add(label)
        return label


class _Maker:
    """Makes drafts of the page's figures, each file's name only once."""

    def __init__(self, results: Results, version: str, whole: Collection[str] = ()) -> None:
        """`whole`: the ids of figures that have the rows of some tables of others."""
        self._results = results
        self._whole = whole
        self._version = version
        self._figures = _Labels()
        self._tables = _Labels()
        for name in ("machine", "sweeps", "key-numbers"):
            self._tables.of(name)

    def draft(self, source: model.Figure, block: Block) -> _Draft:
        label = self._figures.of(source.id)
        caption = " ".join(filter(None, (source.sub, source.doubted, source.note)))
        draft = _Draft(title=source.heading, figure=None, findings=tuple(_findings(source)))
        if source.panels:
            draft.figure = self._figure(source, block, label, caption)
        for i, table in enumerate(source.tables, start=1):
            made = _table(self._tables.of(f"{label}-{i}" if len(source.tables) > 1 else label), table)
            short = made.printed and len(made.rows) * len(made.parts) <= columns.PAGE_ROWS
            said = made.caption or source.heading
            if i == 1 and not source.panels and caption:
                said = f"{said.rstrip('.')}. {caption}"
            (draft.here if short else draft.end).append(
                replace(made, caption=said if short else made.caption)
            )
        own = [table for table in source.numbers if not table.part_of or table.part_of not in self._whole]
        for i, table in enumerate(own, start=1):
            name = f"{label}-numbers{f'-{i}' if len(own) > 1 else ''}"
            draft.end.append(_table(self._tables.of(name), table))
        return draft

    def declared(self, source: declared.Figure, block: Block) -> _Draft:
        """Return the draft of a figure that is declared: its picture, and its numbers at the end."""
        label = self._figures.of(source.id)
        runs = list(self._results.good(block.tool))
        width, height = size_of(source)
        shrink = (
            min(1.0, TEXT_WIDTH_MM / (width * _MM_PER_PX), _HIGHEST_MM / (height * _MM_PER_PX)) * _MM_PER_PX
        )
        figure = Figure(
            source=source, number=0, label=label, title=source.title, caption=" ".join(filter(None, (source.caption, source.about))),
            description=source.description, width_mm=round(width * shrink, 1), height_mm=round(height * shrink, 1),
            trace=_trace(self._results, runs, self._version),
        )  # fmt: skip
        draft = _Draft(
            title=source.title,
            figure=figure,
            findings=(source.title,) if any(map(str.isdigit, source.title)) else (),
        )
        rows = grid(source.table)
        flags = any(rows.flags)
        shown = model.Table(
            columns=(*rows.headings, *(["Checks"] if flags else [])),
            rows=tuple((*row, rows.flags[i]) if flags else row for i, row in enumerate(rows.rows)),
            numeric=frozenset(i for i, numeric in enumerate(rows.numeric) if numeric),
        )
        draft.end.append(_table(self._tables.of(f"{label}-numbers"), shown))
        return draft

    def _figure(self, source: model.Figure, block: Block, label: str, caption: str) -> Figure:
        size = layout(source)
        shrink = min(1.0, _HIGHEST_MM / (size.height * _MM_PER_PX))
        runs = _runs_of(source, block, self._results)
        return Figure(
            source=source,
            number=0,
            label=label,
            title=source.heading,
            caption=caption,
            description=" ".join(p.description for p in source.panels),
            width_mm=round(size.width * _MM_PER_PX * shrink, 1),
            height_mm=round(size.height * _MM_PER_PX * shrink, 1),
            trace=_trace(self._results, runs, self._version),
        )


def _table(label: str, table: model.Table) -> Table:
    table = table.doubted
    shape = columns.shape(table.columns, table.rows, table.numeric)
    return Table(
        number=0, label=label, caption=table.caption, columns=shape.columns, rows=table.rows,
        parts=shape.parts, size=shape.size, printed=shape.fits and len(table.rows) <= _MOST_ROWS,
    )  # fmt: skip


def _number(head: list[Table], drafts: Sequence[_Draft]) -> None:
    """Give numbers in the order in which the report is read: head, tables beside figures, tables at the end."""
    figures = tables = 0
    for i, table in enumerate(head):
        tables += 1
        head[i] = replace(table, number=tables)
    for draft in drafts:
        if draft.figure:
            figures += 1
            draft.figure = replace(draft.figure, number=figures)
        for i, table in enumerate(draft.here):
            tables += 1
            draft.here[i] = replace(table, number=tables)
    for draft in drafts:
        for i, table in enumerate(draft.end):
            if table.printed:
                tables += 1
                draft.end[i] = replace(table, number=tables)


def _findings(figure: model.Figure) -> list[str]:
    """Return what a figure found: its title, where that says it; of the figure of all axes a sentence a sweep."""
    if figure.id == axis_effects.ID:
        return axis_effects.sentences(figure)
    return [figure.heading] if figure.says else []


def _section(section: PageSection, drafts: Sequence[_Draft]) -> Section:
    return Section(
        title=section.title,
        label=section.anchor,
        note=" ".join(section.lead),
        items=tuple(item for d in drafts for item in d.items()),
        findings=tuple(one for d in drafts for one in d.found()),
    )


# --- what was measured and how -----------------------------------------------------------------------------


def _machine(results: Results, built: Page) -> Table:
    rows = [*built.provenance]
    rows[1:1] = _hardware(results)
    table = model.Table(columns=("", "As recorded"), rows=tuple(rows), caption="Machine and programs")
    return _table("machine", table)


def _hardware(results: Results) -> Iterable[tuple[str, str]]:
    """Give what the topology tells, of machines that all have the same: cores, caches, NUMA nodes and their distances."""
    known = [m.session.topology for m in results.measured if m.session.topology and m.session.topology.cores]
    told = {tuple(_topology_rows(topology)) for topology in known}
    if len(told) == 1 and len(known) == len(results.measured):
        yield from told.pop()


def _topology_rows(topology: Topology) -> Iterable[tuple[str, str]]:
    packages, cores, pus = len(topology.packages), len(topology.cores), sum(pu.online for pu in topology.pus)
    yield (
        "Cores",
        f"{fmt.plural(packages, 'package')}, {fmt.plural(cores, 'core')}, {fmt.plural(pus, 'PU')}",
    )
    caches = group_by(
        (c for c in topology.caches if c.kind != "instruction" and c.size_bytes), lambda c: c.level
    )
    sizes = []
    for level, same in sorted(caches.items()):
        each = " or ".join(fmt.size(float(size)) for size in sorted({c.size_bytes or 0 for c in same}))
        sizes.append(f"L{level} {f'{len(same)} × ' if len(same) > 1 else ''}{each}")
    if sizes:
        yield "Caches", ", ".join(sizes)
    nodes = [node.os_index for node in topology.numa_nodes]
    if nodes:
        yield "NUMA nodes", fmt.count(len(nodes))
    if len(nodes) > 1 and topology.distances:
        known = [
            [topology.distance(start, end) for start in nodes for end in nodes if (start == end) == own]
            for own in (True, False)
        ]
        own, other = ([d for d in of if d is not None] for of in known)
        if own and other:
            yield (
                "NUMA distances",
                f"own {fmt.words(map(str, sorted(set(own))), 'or')}, others {fmt.words(map(str, sorted(set(other))), 'or')} (SLIT)",
            )


def _sweeps_table(results: Results) -> Table:
    """Return a row a sweep. With numbers are the runs whose numbers are shown: also the disturbed ones that are drawn hollow."""
    told = results.by_sweep(run for tool in results.told for run in results.shown(tool))
    hollow = {sweep: sum(not run.sound for run in shown) for sweep, shown in told.items()}
    some = any(hollow.values())
    rows = []
    for sweep, runs in results.by_sweep(results.runs).items():
        shown = told.get(sweep, [])
        programs = list(dict.fromkeys(map(program_name, shown or runs)))
        cells = {(r.file, r.record.point_id) for r in runs}
        places = list(dict.fromkeys(_place(r) for r in runs))
        rows.append(
            (
                runs[0].sweep_title or sweep,
                fmt.words([*programs[:3], f"{len(programs) - 3} more"] if len(programs) > 4 else programs),
                fmt.count(len(cells)),
                fmt.count(len(runs)),
                fmt.count(len(shown)),
                *([fmt.count(hollow.get(sweep, 0))] if some else []),
                fmt.words(places) if len(places) < 4 else f"{len(places)} places",
            )
        )
    table = model.Table(
        columns=(
            "Sweep",
            "Program",
            "Cells",
            "Runs",
            "With numbers",
            *(["Hollow"] if some else []),
            "Placed on",
        ),
        rows=tuple(rows),
        numeric=frozenset((2, 3, 4, *([5] if some else []))),
        caption=f"What ran; {_HOLLOW if some else ''}the command lines are at the end",
    )
    return _table("sweeps", table)


_HOLLOW: Final = "hollow: of cells that were never quiet, or whose program calls its results wrong; drawn so, and in no statement; "


def _shortened(check: Check) -> Check:
    """Keep a few examples of a check, each on a line or two: the page and `pinsweep audit` have more of them."""
    items = tuple(_cut(item) for item in check.items[:_MOST_EXAMPLES])
    return replace(
        check,
        items=(
            *items,
            f"and {check.number - _MOST_EXAMPLES} more{', which pinsweep audit --all lists' if check.id else ''}",
        )
        if check.items[_MOST_EXAMPLES:]
        else items,
    )


def _cut(text: str) -> str:
    """Cut a list of figures ("delay 50: 133 ns; delay 2500: …") behind its first ones; nothing else that stands behind a semicolon: it
    may turn what stands before it."""
    listed, several, repeats = text.rpartition(" (")
    if not _OF_REPEATS.fullmatch(repeats):
        listed, several, repeats = text, "", ""
    kept, *rest = listed.split("; ")
    if not all(map(_LISTED.match, rest)):
        return text
    while rest and len(kept) + len(rest[0]) < _LONGEST_EXAMPLE:
        kept += f"; {rest.pop(0)}"
    return (f"{kept}; and {len(rest)} more" if rest else kept) + several + repeats


_LISTED = re.compile(r"(?:\w+ )?\d")
_OF_REPEATS = re.compile(r"\d+ of \d+ repeats(?:; repeat \d+ is quoted)?\)")


def _place(run: Run) -> str:
    return run.place or placement_text(run.record.placement)


def _key_table(built: Page) -> Iterable[Table]:
    if built.key_numbers:
        rows = tuple(
            (k.name, k.value, k.unit, "; ".join(filter(None, (k.spread, k.repeats, "unsteady" if k.unsteady else ""))) or fmt.NOTHING, "; ".join(filter(None, (k.context, k.possible, f"⚠ doubtful: {k.doubt}" if k.doubt else ""))))
            for k in built.key_numbers
        )  # fmt: skip
        table = model.Table(
            columns=("Number", "Median", "Unit", "Repeats", "Measured with"),
            rows=rows,
            numeric=frozenset((1,)),
            caption=f"Key numbers: the median of the n repeats; ± half of their range, and the range itself where it is wider than 5 %{f'. {built.marks}' if built.marks else ''}",
        )
        yield _table("key-numbers", table)


# --- command lines and runs --------------------------------------------------------------------------------


def _commands(results: Results) -> Iterable[Sweep]:
    """Every distinct command line, sweep by sweep, with the runs that it started."""
    several = len({run.file for run in results.runs}) > 1
    order = {
        r.record.point_id: i for i, r in enumerate(r for tool in results.tools for r in results.good(tool))
    }
    for sweep, runs in results.by_sweep(results.runs).items():
        runs.sort(key=lambda r: order.get(r.record.point_id, len(order)))  # stable: attempts stay in order
        commands = [
            Command(cell=cell, line=text, runs=_runs_text(members, several))
            for (cell, text), members in group_by(runs, _command).items()
        ]
        yield Sweep(
            name=sweep,
            title=runs[0].sweep_title or sweep,
            commands=tuple(commands[:_MOST_COMMANDS]),
            left_out=max(0, len(commands) - _MOST_COMMANDS),
        )


def _command(run: Run) -> tuple[str, str]:
    """Return a run's cell, and the line that started it."""
    row = run_row(run)
    return row.cell, f"{row.environment} {row.command}".strip()


def _runs_text(runs: Sequence[Run], several_files: bool) -> str:
    files = _run_ids(runs)
    if len(files) > 3:
        return f"{fmt.plural(len(runs), 'run')} in {len(files)} files"
    texts = [
        f"{'run' if len(ids) == 1 else 'runs'} {format_cpulist(tuple(ids))}{f' of {file}' if several_files else ''}"
        for file, ids in files.items()
    ]
    return fmt.words(texts)


def _run_ids(runs: Iterable[Run]) -> dict[str, list[int]]:
    """Return file → the numbers of its runs."""
    return {
        file: [run.record.run_id for run in own] for file, own in group_by(runs, lambda r: r.file).items()
    }


def _runs_of(figure: model.Figure, block: Block, results: Results) -> list[Run]:
    """Return the runs that a figure is drawn from: those of its tool; of its sweep alone, where it is of one."""
    runs = [r for tool in results.tools for r in results.good(tool) if block.tool in (tool, "overview")]
    return [r for r in runs if figure.of in ("", r.cell.sweep)]


def _trace(results: Results, runs: Iterable[Run], version: str, digits: int = 64) -> Trace:
    """Say where numbers come from: pinsweep's version, experiments by file name and hash, result files and their runs."""
    return (
        ("Software", f"pinsweep {version}".strip()),
        *(
            (("Experiment", f"{e.path.rsplit('/', 1)[-1]} sha256:{e.sha256[:digits]}".strip()))
            for e in results.experiments
            if e.path
        ),
        *(("Runs", f"{file}: {format_cpulist(tuple(sorted(ids)))}") for file, ids in _run_ids(runs).items()),
    )
