"""The lab report from a page: parts as blocks in reading order. Pure.

Findings, figures, checks, methods and provenance come from the page. Runs and command lines come from the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from orchestrator.machine.cpulist import format_cpulist
from orchestrator.machine.topology import Topology
from reports import tools
from reports.document import Block, Column, Figure, Fold, Heading, Table, Text, Tone
from reports.page.model import Page
from reports.report.all_runs import command_text, placement_text
from reports.results.described import abouts
from reports.results.grouping import group_by
from reports.results.hardware import layout
from reports.results.model import Results, Run
from reports.results.naming import program_name
from reports.text import format as fmt

GAPS: Final = {
    "aim": "What question do these measurements answer? What did you expect, and from which data of the machine?",
    "checks": "Which of these touch your conclusions? What would you measure again, and how?",
    "section": "What do the figures and tables of this section show, and why does the machine behave so?",
    "discussion": "Do the results agree with each other, and with what you expected? What could they be mistaken about?",
    "conclusion": "The answer to the question of the aim, in two or three sentences, with its numbers.",
}
_MAX_COMMANDS: Final = 150


Trace = tuple[tuple[str, str], ...]
"""Source of the numbers of a picture: names and values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A lab report.

    `parts` maps a name to blocks that templates place. `traces` maps a figure to the source of the numbers. `tables`
    holds all tables with numbers. The id of a table is the name of the files.
    """

    title: str
    date: str  # date of the measurement, "2026-11-21", or ""
    version: str
    parts: Mapping[str, tuple[Block, ...]]
    traces: Mapping[str, Trace]
    tables: tuple[Table, ...]

    def figures(self) -> Iterable[Figure]:
        """Yield the figures in the order of the figure numbers."""
        return (block for part in self.parts.values() for block in part if isinstance(block, Figure))


def build(results: Results, page: Page) -> Lab:
    """Return the lab report of some results and the page of these results."""
    made = _Results(results, page.version)
    sections: list[Block] = [*made.sections(page)]
    starts = sorted(m.session.started_utc[:10] for m in results.measured if m.session.started_utc)
    machine = _rows("machine", "Machine and programs", ("", "as recorded"), _machine(results, page))
    sweeps = _sweeps(results)
    key_numbers = _key_numbers(page)
    findings = _rows("findings", "What the data says", ("finding", "figure"), made.findings)
    setup: list[Block] = [*map(_plain, abouts(results)), machine]
    setup += [Text(f"Not recorded: {', '.join(page.not_recorded)}.")] if page.not_recorded else []
    checks = [Text(f"{check.subject} {check.text}".replace("`", "").strip(), _TONES.get(check.level, "")) for check in page.checks]  # fmt: skip
    trace = "; ".join(value for name, value in made.trace(results.runs, 12) if name != "Software")
    return Lab(
        title=page.title,
        date=starts[0] if starts else "",
        version=page.version,
        parts={
            "summary": (Text(page.sentence),),
            "aim": (Heading("Aim"), _gap("aim")),
            "setup": (Heading("What was measured, and how"), *setup, sweeps),
            "checks": (Heading("What limits these numbers"), *checks, _gap("checks")),
            "results": (Heading("Results"), *filter(lambda table: table.rows, (key_numbers, findings)), *sections),
            "discussion": (Heading("Discussion"), _gap("discussion")),
            "methods": (Heading("Methods"), *map(_plain, page.methods)),
            "conclusion": (Heading("Conclusion"), _gap("conclusion")),
            "end": (Text(f"Made with pinsweep {page.version} from the raw output in the result file; {trace}.", "quiet"),),
            "numbers": (Heading("All numbers"), Text("A table that is too long or too wide for a page is in the folder tables only."), *made.numbers),
            "commands": (Heading("All command lines"), *_commands(results)),
        },
        traces=made.traces,
        tables=(machine, sweeps, key_numbers, *made.tables, *made.numbers),
    )  # fmt: skip


_TONES: Final[Mapping[str, Tone]] = {"error": "warning", "warn": "warning"}


def _gap(name: str) -> Text:
    return Text(GAPS[name], "gap")


def _plain(text: str) -> Text:
    return Text(text.replace("`", ""))


def _rows(name: str, title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    columns = tuple(Column(name=heading) for heading in headings)
    return Table(columns=columns, rows=tuple(map(tuple, rows)), title=title, id=name)


class Names:
    """Unique file names from lower-case letters, digits and dashes."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def name(self, text: str) -> str:
        """Return "imb-pingpong" for "imb-PingPong-imb-pingpong"."""
        words = re.sub("[^a-z0-9]+", "-", text.lower()).strip("-")[:60].split("-")
        plain = "-".join(dict.fromkeys(words)).strip("-") or "unnamed"
        name, n = plain, 1
        while name in self._taken:
            n += 1
            name = f"{plain}-{n}"
        self._taken.add(name)
        return name


@dataclass(slots=True)
class _Results:
    """The figures and tables of the page, each with a unique name."""

    results: Results
    version: str
    findings: list[tuple[str, str]] = field(default_factory=list)
    traces: dict[str, Trace] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    numbers: list[Table] = field(default_factory=list)
    names: Names = field(default_factory=lambda: Names(["machine", "sweeps", "key-numbers", "findings"]))

    def sections(self, page: Page) -> Iterable[Block]:
        runs = [(tools.find(run.tool).SECTION, run) for name in self.results.tools for run in self.results.good(name)]
        for section in page.sections:
            shown = [run for title, run in runs if title == section.title] or [run for _, run in runs]
            yield Heading(section.title, 3)
            for block in section.blocks:
                yield from self._block(block, shown)
            yield _gap("section")
        if not self.results.tools:
            yield Text("No run gave a number: see the checks, and all command lines at the end.")

    def trace(self, runs: Iterable[Run], digits: int = 64) -> Trace:
        """Return pinsweep's version, the experiments with hashes, and the result files with runs."""
        files = {file: [r.record.run_id for r in group] for file, group in group_by(runs, lambda r: r.file).items()}
        return (
            ("Software", f"pinsweep {self.version}".strip()),
            *(("Experiment", f"{e.path.rsplit('/', 1)[-1]} sha256:{e.sha256[:digits]}") for e in self.results.experiments if e.path),
            *(("Runs", f"{file}: {format_cpulist(tuple(sorted(ids)))}") for file, ids in files.items()),
        )  # fmt: skip

    def _block(self, block: Block, runs: Sequence[Run]) -> Iterable[Block]:
        if isinstance(block, Fold):
            for inner in block.blocks:
                yield from self._block(inner, runs)
        elif isinstance(block, Figure):
            name = self.names.name(block.id)
            self.traces[name] = self.trace(runs)
            if any(map(str.isdigit, block.title)):
                self.findings.append((block.title, f"Figure {len(self.traces)}"))
            if block.summary:
                self.tables.append(replace(block.summary, id=f"{name}-summary"))
            title = f"Numbers of Figure {len(self.traces)}"
            self.numbers.append(replace(block.table, id=f"{name}-numbers", title=title))
            yield replace(block, id=name)
        elif isinstance(block, Table):
            table = replace(block, id=self.names.name(block.id))
            self.tables.append(table)
            yield table
        else:
            yield block


def _machine(results: Results, page: Page) -> Iterable[tuple[str, str]]:
    first, *others = page.provenance or [("", "")]
    machines = [m.session.topology for m in results.measured if m.session.topology and m.session.topology.cores]
    hardware = {tuple(_topology(topology)) for topology in machines}
    same = hardware.pop() if len(hardware) == 1 and len(machines) == len(results.measured) else ()
    return [first, *same, *others]


def _topology(topology: Topology) -> Iterable[tuple[str, str]]:
    yield "Cores", layout(topology)
    levels = group_by((c for c in topology.caches if c.kind != "instruction" and c.size_bytes), lambda c: c.level)
    caches = [
        f"L{level} {len(same)} × {' or '.join(fmt.size(size) for size in sorted({float(c.size_bytes or 0) for c in same}))}"
        for level, same in sorted(levels.items())
    ]
    if caches:
        yield "Caches", ", ".join(caches)
    nodes = [node.os_index for node in topology.numa_nodes]
    distances = {topology.distance(a, b) for a in nodes for b in nodes if a != b} - {None}
    if distances:
        yield (
            "NUMA distances",
            f"10 to local memory, {fmt.words(map(str, sorted(distances, key=str)), 'or')} to remote",
        )


def _sweeps(results: Results) -> Table:
    """Return a row per sweep. The runs with numbers include the disturbed ones that are drawn as open points."""
    usable = results.by_sweep(run for tool in results.tools for run in results.good(tool))
    rows = []
    for sweep, runs in results.by_sweep(results.runs).items():
        shown = usable.get(sweep, [])
        programs, places = (
            list(dict.fromkeys(values))
            for values in (map(program_name, shown or runs), (r.place or placement_text(r.record.placement) for r in runs))
        )  # fmt: skip
        rows.append(
            (
                runs[0].sweep_title or sweep, _first(programs), len({(r.file, r.record.point_id) for r in runs}), len(runs), len(shown),
                sum(not run.is_usable for run in shown), _first(places),
            )
        )  # fmt: skip
    columns = ("sweep", "program", "cells", "runs", "with numbers", "flagged", "placed on")
    return Table(columns=tuple(Column(name=name) for name in columns), rows=tuple(rows), title="What ran", id="sweeps")


def _first(names: Sequence[str]) -> str:
    return fmt.words([*names[:3], f"{len(names) - 3} more"] if len(names) > 4 else names)


def _key_numbers(page: Page) -> Table:
    rows = [
        (k.name, f"{k.value} {k.unit}".strip(), k.range or fmt.plural(k.n, "run"), k.context)
        for k in page.key_numbers
    ]  # fmt: skip
    table = _rows("key-numbers", "Key numbers", ("number", "median", "repeats", "measured with"), rows)
    flags = tuple(k.flags for k in page.key_numbers)
    return table if not any(flags) else Table(columns=table.columns, rows=table.rows, title=table.title, id=table.id, flags=flags)  # fmt: skip


def _commands(results: Results) -> Iterable[Block]:
    """Yield every distinct command line by sweep, with the runs of the command."""
    several = len({run.file for run in results.runs}) > 1
    for sweep, runs in results.by_sweep(results.runs).items():
        yield Heading(runs[0].sweep_title or sweep, 3)
        lines = list(group_by(runs, _command).items())
        for (cell, line), group in lines[:_MAX_COMMANDS]:
            yield Text(f"{cell}: {_run_ids(group, several)}", "quiet")
            yield Text(line, "code") if line else Text("The command line is not recorded.")
        if len(lines) > _MAX_COMMANDS:
            yield Text(f"{len(lines) - _MAX_COMMANDS} more in the result file.")


def _command(run: Run) -> tuple[str, str]:
    return run.cell.describe(), command_text(run)


def _run_ids(runs: Sequence[Run], several_files: bool) -> str:
    files = group_by(runs, lambda run: run.file)
    if len(files) > 3:
        return f"{fmt.plural(len(runs), 'run')} in {len(files)} files"
    return fmt.words(
        f"{'run' if len(group) == 1 else 'runs'} {format_cpulist(tuple(r.record.run_id for r in group))}{f' of {file}' if several_files else ''}"
        for file, group in files.items()
    )
