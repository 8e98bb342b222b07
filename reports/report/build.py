"""The page as a value: header, what is missing, sections with their figures, methods, all runs. Pure, but that it takes the audit of a
file of many runs from where it is kept.

Results go in, texts and figures come out; `reports.page.html` puts them into the templates.
"""

from __future__ import annotations

import shlex
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import accumulate, islice
from types import MappingProxyType
from typing import Any

from orchestrator.machine import facts
from orchestrator.machine.cpulist import format_cpulist, named_cpus
from orchestrator.model import ONE_CELL, Alias, Placement, RunRecord, Skipped
from orchestrator.store.rows import Session
from reports.charts import chart_module, facets, wording
from reports.charts.chapter import Chapter
from reports.checks import checks
from reports.checks.audit import Finding, convicted, coverage, watched
from reports.checks.audited import audit_of
from reports.checks.doubts import of_figure
from reports.compare.section import Delta
from reports.draw.figure import Figure
from reports.page.model import Block, Check, Drawing, KeyNumber, Page, Placements, RunRow, Runs, Section
from reports.report import axis_effects
from reports.report.best import figure as best_cells
from reports.report.hosts import figures as host_figures
from reports.report.key_numbers import chosen as key_numbers_of
from reports.report.machine import drawings
from reports.report.overview import figure as overview_figure
from reports.report.placement import of_hosts
from reports.report.possible import with_shares
from reports.results import naming
from reports.results.convicted import Guilty
from reports.results.described import abouts
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

_MOST_RUNS_WITH_OUTPUT = 80
_MOST_RUN_ROWS = 600
_MOST_LISTED = 12
_MOST_REASONS = 200  # why runs gave no number, or were not started; of 15 000 a lab report took 1.1 GiB
EXCERPT = 3000  # characters of what a run printed

Printed = tuple[str, str]
"""The beginning and the end of what a run printed: standard output, standard error."""

_NOTHING_PRINTED: Mapping[Run, Printed] = MappingProxyType({})


def build(
    results: Results,
    comparison: Delta | None = None,
    printed: Mapping[Run, Printed] = _NOTHING_PRINTED,
    found: Sequence[Finding] | None = None,
) -> Page:
    """Return the page of some results; with a comparison, that of both sides, whose title, sentence and key numbers it is then.

    printed: what the runs `with_output` printed, as far as it is shown. found: what their audit finds, where that is known already.
    """
    found = audit_of(results) if found is None else found
    guilty = convicted(found)
    drawn = {tool: chart_module(tool).chapter(results, tool) for tool in results.told}
    chapters = with_shares(drawn, guilty)
    numbers = [n for c in chapters.values() for n in c.key_numbers]
    described = abouts(results)
    provenance, not_recorded = _provenance(results, chapters)
    title = fmt.words(dict.fromkeys(e.title for e in results.experiments)) or "pinsweep results"
    key_numbers = comparison.key_numbers if comparison else key_numbers_of(numbers, results, guilty)
    placed = of_hosts(results)
    several_hosts = len({machine.host for machine in results.machines}) > 1
    several_files = len({machine.file for machine in results.machines}) > 1
    started = results.started
    rows = _alike(started)
    listed = _listed_rows(rows)
    return Page(
        title=f"Comparison: {comparison.title}" if comparison else title,
        sentence=comparison.sentence if comparison else _sentence(results),
        key_numbers=key_numbers,
        provenance=tuple(provenance),
        not_recorded=tuple(not_recorded),
        checks=(*_findings(results, found), *_checks(results, found)),
        sections=tuple(_sections(results, chapters, guilty, compared=comparison is not None))
        or (_nothing(results),),
        machines=() if comparison else _machines(results, chapters, guilty, key_numbers),
        placement=Placements(hosts=placed) if placed else None,
        methods=tuple(_methods(results, chapters)),
        runs=Runs(
            lead=(_lead(results, len(listed), len(rows)),),
            rows=tuple(run_row(alike[0], alike, printed.get(alike[0], ("", ""))) for alike in listed),
            started=len(started),
            by_cell=len(rows) < len(started),
            several_hosts=several_hosts,
            several_files=several_files,
        ),
        several_files=several_files,
        about=described[0] if len(described) == 1 else "",
        version=next((m.session.pinsweep_version for m in reversed(results.machines)), ""),
        comparison=comparison,
    )


def _machines(
    results: Results, chapters: Mapping[str, Chapter], guilty: Guilty, key_numbers: Iterable[KeyNumber]
) -> tuple[Drawing, ...]:
    """Return the drawings of the machines; what their numbers lack stands there where the key numbers do not say it."""
    said = {number.lacks for number in key_numbers}
    found = drawings(results, chapters.values(), guilty)
    return tuple(replace(one, lacking="") if one.lacking in said else one for one in found)


def _sections(
    results: Results, chapters: Mapping[str, Chapter], guilty: Guilty, *, compared: bool = False
) -> Iterable[Section]:
    """guilty: the cells that a check convicts; what shows their numbers says so. compared: is there a comparison's table, which has what
    each sweep gave on both sides?"""
    if strips := host_figures(results, guilty):
        yield Section(
            title="Hosts", anchor="hosts", blocks=(Block(tool="hosts", figures=_marked(strips, guilty)),)
        )
    every = [figure for chapter in chapters.values() for figure in chapter.figures]
    best = None if compared else best_cells(results, every)
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
        if chapters[tool].figures:
            sections.setdefault(chart_module(tool).SECTION, []).append(tool)
    first = next((tool for tool in ranked if chapters[tool].access_times), "")
    if overview and not chapters[first].figures:  # it is of no section: latencies of memory are no storage
        block = Block(tool="overview", figures=_marked((overview,), guilty))
        yield Section(title="Access times", anchor="access-times", blocks=(block,))
    for title, tools in sections.items():
        blocks = [
            Block(
                tool=tool,
                figures=_marked(
                    _of_sweeps(axis_effects.said(results, tool, chapters[tool].figures, guilty)), guilty
                ),
            )
            for tool in tools
        ]
        if overview and first in tools:
            blocks.insert(1, Block(tool="overview", figures=_marked((overview,), guilty)))
        notes = filter(None, (_stand_in_note(results, tool) for tool in tools))
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


def _stand_in_note(results: Results, tool: str) -> str:
    names = {naming.program_name(run) for run in results.shown(tool) if naming.stands_in(run)}
    return f"Numbers from {fmt.words(sorted(names))}." if names else ""


# --- header ------------------------------------------------------------------------------------------------


def _sentence(results: Results) -> str:
    """One sentence: how much of what was planned is there, where it was measured, what is missing; and how many texts were taken in."""
    own = list(dict.fromkeys(m.host for m in results.measured))
    done = sum(not run.captured for tool in results.tools for run in results.good(tool))
    planned = results.planned - sum(run.captured for run in results.runs)
    if planned <= 0:
        return f"{results.taken_in or 'These files hold no runs'}."
    where = f"on {own[0]}" if len(own) == 1 else f"on {len(own)} hosts"
    if done < planned:
        counted = f"{fmt.count(done)} of {fmt.plural(planned, 'planned run')}"
    else:
        counted = "The one planned run" if done == 1 else f"All {fmt.plural(done, 'planned run')}"
    text = f"{counted} {where} gave {results.numbers}"
    cells = len({(where, cell.point_id) for where, cell, _ in results.missing})
    if cells:
        text += f"; {fmt.plural(cells, 'cell')} {'lacks' if cells == 1 else 'lack'} some or all repeats"
    if results.not_asked_for:
        text += f"; {results.not_asked_for}"
    if results.skipped:
        n = len(results.skipped)
        text += (
            f"; {fmt.plural(n, 'cell')} could not run on this machine"
            if len(own) == 1
            else f"; {fmt.plural(n, 'cell')} could not run where asked"
        )
    return f"{text}; {results.taken_in}." if results.texts else f"{text}."


def _lead(results: Results, listed: int, rows: int) -> str:
    """Say what the table of all runs lists; where that is not every row, which it does."""
    if listed < rows:
        return (
            f"{fmt.count(listed)} of {fmt.count(rows)} rows, in order, those of runs without a number before others. "
            "pinsweep show FILE --runs lists every run, pinsweep export writes all numbers."
        )
    started = "process that was started" if results.measured or not results.texts else ""
    taken_in = "text that was taken in" if results.texts else ""
    every = fmt.words(filter(None, (started, taken_in)), "and every")
    if not results.others:
        return f"Every {every}, in order."
    return f"Every {every} of either side, in order; {fmt.plural(results.others, 'run')} of neither {'is' if results.others == 1 else 'are'} not on this page."


def _provenance(results: Results, chapters: Mapping[str, Chapter]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return label and value pairs, and what was not recorded, in words."""
    machines = results.machines
    hosts = list(dict.fromkeys(m.host for m in results.measured))
    named = hosts[:8] + ([f"unknown, of {fmt.plural(results.texts, 'text')}"] if results.texts else [])
    pairs = [
        (
            "Host" if len(named) == 1 else "Hosts",
            fmt.words(named) + (f" and {len(hosts) - 8} more" if len(hosts) > 8 else ""),
        )
    ]
    missing: list[str] = []
    said = [facts.lines(m.session.facts, _in_nodes(m.session) if len(hosts) < 2 else None) for m in machines]
    for label in said[0] if said else ():
        texts = list(dict.fromkeys(filter(None, (own[label] for own in said))))
        if texts:
            pairs.append(
                (label, "; ".join(texts[:4]) + (f"; and {len(texts) - 4} more" if len(texts) > 4 else ""))
            )
    for fact in facts.FACTS:
        lacking = {m.host for m in machines if not fact.text(m.session.facts)}
        if lacking and fact.expected:
            some = "" if lacking == {m.host for m in machines} else f" ({fmt.plural(len(lacking), 'host')})"
            missing.append(f"{fact.words}{some}")
    programs = list(dict.fromkeys(name for c in chapters.values() for name in c.programs))
    if programs:
        pairs.append(("Programs", " · ".join(programs)))
    if any(
        not p.get("version") and not p.get("stand_in") for m in machines for p in m.session.programs.values()
    ):
        missing.append("some program versions")
    if any(not m.session.topology_text for m in machines):
        missing.append("topology")
    pairs.append(
        (
            "Experiment",
            fmt.words(dict.fromkeys(e.path.rsplit("/", 1)[-1] for e in results.experiments)) or fmt.NOTHING,
        )
    )
    measured = results.measured
    known = {(m.file, m.session.session) for m in measured}  # a file may have many sessions
    others = [m for m in machines if (m.file, m.session.session) not in known]
    for label, own in (("Measured", measured), ("Taken in", others)):
        times = sorted(_time(m.session.started_utc) for m in own)
        if times:
            pairs.append((label, times[0] + (f" to {times[-1]}" if times[-1] != times[0] else "")))
    seeds = {str(m.session.seed) for m in machines if m.session.topology_text}
    if seeds and len(seeds) < 4:
        pairs.append(("Seed", fmt.words(sorted(seeds))))
    files = list(dict.fromkeys(m.file for m in machines))
    pairs.append(
        (
            "Result files" if len(files) > 1 else "Result file",
            fmt.words(files) if len(files) < 4 else fmt.plural(len(files), "file"),
        )
    )
    return pairs, missing


def _in_nodes(session: Session) -> int | None:
    return session.topology.memory_bytes if session.topology else None


def _time(text: str) -> str:
    """`2026-11-21T09:15:02.123+00:00` → `2026-11-21 09:15 UTC`. Anything else stays as it is."""
    return f"{text[:10]} {text[11:16]} UTC" if len(text) >= 16 and text[10] == "T" else text


# --- what to know before the charts ------------------------------------------------------------------------


def _findings(results: Results, findings: Sequence[Finding]) -> Iterable[Check]:
    """What `pinsweep audit` finds, the gravest first; the same fault in several sweeps and on several hosts is one."""
    for (key, level), found in group_by(findings, lambda f: (f.id, f.level)).items():
        first = found[0]
        wheres, sweeps = ({getattr(f, name) for f in found} for name in ("where", "sweep"))
        cells = [
            ": ".join(filter(None, (_whose(one, cell, len(wheres) > 1, len(sweeps) > 1), text)))
            for one in found
            for cell, text in one.cells
        ]
        several = len({cell for one in found for cell in one.about}) < len(cells)
        noun = "finding" if several else "cell"
        spread = f", in {len(sweeps)} sweeps" if len(sweeps) > 1 else ""
        spread += f", {_where(results, wheres)}" if len(wheres) > 1 else ""
        more = f"; and {fmt.plural(len(cells) - 1, f'more {noun}')}{spread}" if len(cells) > 1 else ""
        arithmetic = first.cells[0][1]
        stated = first.title.lower().endswith(arithmetic.removesuffix(first.repeats).lower())
        if stated and len(cells) == 1:
            more = first.repeats
        told = stated or len(cells) > 1
        subject = f"{first.title}{more}"
        if first.is_of_runs and len(cells) > 1:  # how many says more than what disturbed one of them
            subject = f"{fmt.count(len(cells))} {first.check}{spread}. The first: {first.title}"
        yield Check(
            level=level,
            subject=f"{subject}.",
            text=" ".join(
                fmt.sentence(said) for said in ("" if told else f"{arithmetic}.", first.todo) if said
            ),
            id=key,
            explained=first.check,
            **(_listed(cells, noun) if len(cells) > 1 else {}),
        )


def _whose(finding: Finding, cell: str, of_hosts: bool, of_sweeps: bool) -> str:
    """Return what names a line of a finding: its host and its sweep where there are several, and its cell, if that has a name."""
    of_sweeps &= not cell.endswith(f" of {finding.sweep}")
    named = [finding.where] * of_hosts + [finding.sweep] * of_sweeps + [cell] * (cell != ONE_CELL)
    return ", ".join(named)


def _checks(results: Results, findings: Sequence[Finding]) -> Iterable[Check]:
    left_out: list[tuple[str, str, Skipped | Alias]] = [
        *((where, "skipped", cell) for where, cell in results.skipped),
        *((where, "measured under another name", alias) for where, alias in results.aliases),
    ]
    by_reason = [*group_by(left_out, lambda o: (o[2].sweep, o[1], o[2].reason)).items()]
    for (sweep, word, reason), cells in by_reason[:_MOST_REASONS]:
        hosts = list(dict.fromkeys(where for where, *_ in cells))
        distinct = list(dict.fromkeys(_labels(cell.cell) for *_, cell in cells))
        yield Check(
            level="info",
            subject=f"{sweep}: {fmt.plural(len(distinct), 'cell')} {word} {_where(results, hosts)}.",
            text=_sentence_of(reason),
            **_listed(distinct, "cell"),
        )
    for (sweep, word), more in group_by(by_reason[_MOST_REASONS:], lambda of: of[0][:2]).items():
        count = fmt.plural(sum(len(cells) for _, cells in more), "more cell")
        subject = f"{sweep}: {count} {word}, for {fmt.plural(len(more), 'more reason')}."
        yield Check(
            level="info", subject=subject, text="The tables skipped and alias of the result file name them."
        )
    told = group_by(
        results.failed, lambda r: (r.cell.sweep, r.record.status, r.record.reason or r.unreadable)
    )
    for (sweep, status, reason), runs in list(told.items())[:_MOST_REASONS]:
        what = "could not be read" if status == "ok" else {"timeout": "ran out of time"}.get(status, status)
        names = list(dict.fromkeys(r.cell.describe() for r in runs))
        named = len(names) == 1 and runs[0].cell.labels()  # the one cell of a sweep has no name
        all_of = f" ({'all of ' * (len(runs) > 1)}{names[0]})" if named else ""
        yield Check(
            level="warn",
            subject=_sentence_of(reason or what),
            text=f"{sweep}: {fmt.plural(len(runs), 'run')} {what}{all_of}.",
            **_listed(
                (f"{r.cell.describe()}, repeat {r.record.repeat}, run {r.record.run_id}" for r in runs),
                "run",
            ),
        )
    for sweep, others in group_by(list(told.items())[_MOST_REASONS:], lambda of: of[0][0]).items():
        count = fmt.plural(sum(len(runs) for _, runs in others), "run")
        reasons = f"{fmt.plural(len(others), 'more reason')}."
        text = f"{sweep}: {count} gave no number. pinsweep show FILE --runs lists them."
        yield Check(level="warn", subject=fmt.sentence(reasons), text=text)
    for sweep, not_started in group_by(results.not_started, lambda m: m[1].sweep).items():
        yield Check(
            level="warn",
            subject=f"{sweep}: {fmt.plural(len(not_started), 'run')} not started",
            text="The sweep still runs, or was stopped before them; then the same command goes on where it stopped.",
            **_listed((f"{cell.describe()}, repeat {repeat}" for _, cell, repeat in not_started), "run"),
        )
    if notes := [note.removesuffix(".") for tool in results.tools if (note := _stand_in_note(results, tool))]:
        yield Check(
            level="info",
            subject=f"{'; '.join([notes[0], *(note[0].lower() + note[1:] for note in notes[1:])])}.",
            text="Options and output are those of the tools; the numbers are not to be quoted as their results.",
        )
    spoken_of = {flag for check in checks() if check.id in {f.id for f in findings} for flag in check.flags}
    flagged = (
        (naming.program_name(run), flag.id, flag.text, run)
        for tool in results.tools
        for run in results.good(tool)
        for flag in {flag.text: flag for flag in (run.parsed.flags if run.parsed else ())}.values()
    )
    runs_of = Counter(naming.program_name(run) for tool in results.tools for run in results.good(tool))
    for (program, flag_id, text), same in sorted(group_by(flagged, lambda f: f[:3]).items()):
        if flag_id != "stand_in" and flag_id not in spoken_of:
            of = runs_of[program]
            count = fmt.plural(of, "run") if len(same) == of else f"{len(same)} of {of} runs"
            which = dict.fromkeys(
                ", ".join(filter(None, (run.text, run.cell.describe()))) for *_, run in same
            )
            yield Check(
                level="info",
                subject=_sentence_of(text),
                text=f"{program}, {count}.{wording.of_texts(run for *_, run in same)}",
                **(_listed(which, "cell") if len(same) < of else {}),
            )
    if results.tools:
        yield Check(
            level="ok" if not findings and watched(results) else "info",
            subject=f"{coverage(results)}.",
            text="What no check looks at, they do not vouch for.",
        )
    once = [
        tool
        for tool in results.tools
        if max(Counter(r.record.point_id for r in results.good(tool)).values()) == 1
    ]
    if once:
        yield Check(
            level="info",
            subject=f"{fmt.words([naming.tool_name(t) for t in once])} ran once per cell.",
            text="No spread can be given for these numbers.",
        )


def _where(results: Results, places: Collection[str]) -> str:
    """Return "on n001", "on 3 hosts", "in 2 files" of one host. `places`: as runs say where they were."""
    if len(places) == 1:
        return f"on {next(iter(places))}"
    hosts = {where: m.host for m in results.machines for where in (m.host, f"{m.host}, {m.file}")}
    distinct = {hosts.get(place, place) for place in places}
    return (
        f"on {fmt.plural(len(distinct), 'host')}"
        if len(distinct) > 1
        else f"in {fmt.plural(len(places), 'file')}"
    )


def _sentence_of(text: str) -> str:
    """Return a text with a full stop at its end; as it is told otherwise, so that it can be searched for."""
    return text.rstrip(".") + "."


def _listed(items: Iterable[str], noun: str) -> dict[str, Any]:
    """Return the `items` and `counted` of a Check: the first dozen, and how many there are in all."""
    texts = list(items)
    first = f", the first {_MOST_LISTED}" if len(texts) > _MOST_LISTED else ""
    return {"items": tuple(texts[:_MOST_LISTED]), "counted": f"{fmt.plural(len(texts), noun)}{first}"}


def _labels(cell: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.items()) or ONE_CELL


# --- methods and runs --------------------------------------------------------------------------------------


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
            f"Threads{' and memory' if bound else ''} were placed by numactl, with the commands listed below. Cells run in rounds, each a random "
            "permutation drawn from the seed, unless the experiment says “order: listed”."
        )


def with_output(results: Results) -> list[Run]:
    """Return the runs of which the page shows what they printed: of all if they are few, so that it stays small, else of failures."""
    started = results.started
    few = len(started) <= _MOST_RUNS_WITH_OUTPUT
    return [alike[0] for alike in _listed_rows(_alike(started)) if few or alike[0].parsed is None]


def _alike(started: Sequence[Run]) -> list[list[Run]]:
    """Return the runs of each row of the table of all runs, in order; of very many a row is of those of a cell that ended alike."""
    folded = len(started) > _MOST_RUN_ROWS
    rows = group_by(
        started,
        lambda r: (
            (r.cell.sweep, r.record.point_id, r.record.warm_up, r.record.status, r.unreadable)
            if folded
            else (r.file, r.record.run_id)
        ),
    )
    return list(rows.values())


def _listed_rows(rows: Sequence[list[Run]]) -> list[list[Run]]:
    """Return those of the rows that the page lists: as many as anybody may want to read, those without a number before others."""
    if len(rows) <= _MOST_RUN_ROWS:
        return list(rows)
    ranked = sorted(range(len(rows)), key=lambda i: rows[i][0].parsed is not None)  # stable
    return [rows[i] for i in sorted(ranked[:_MOST_RUN_ROWS])]


def run_row(run: Run, alike: Sequence[Run] = (), printed: Printed = ("", "")) -> RunRow:
    """Return the row of a run; `alike`: all runs that it stands for, itself among them; printed: what is shown of what it printed."""
    record, every = run.record, alike or (run,)
    attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
    return RunRow(
        number=record.run_id,
        alike=len(every),
        file=_first([r.file for r in every], "file"),
        host=_first([r.host for r in every], "host"),
        sweep=run.cell.sweep,
        cell=run.cell.describe(),
        repeat="warm-up"
        if record.warm_up
        else f"{record.repeat}{attempt}"
        if len(every) == 1
        else f"1 to {max(r.record.repeat for r in every)}",
        status=run.state,
        reason=record.reason or run.unreadable,
        duration=fmt.NOTHING
        if run.captured
        else fmt.seconds(statistics.median(r.record.wall_s for r in every)),
        command=_line([shlex.quote(word) for word in record.argv[:_MOST_WORDS]], len(record.argv)),
        environment=_line(
            [f"{k}={shlex.quote(str(v))}" for k, v in islice(record.env.items(), _MOST_WORDS)],
            len(record.env),
        ),
        asked="not recorded" if run.captured else placement_text(record.placement),
        seen=seen_text(record),
        stdout=printed[0],
        stderr=printed[1],
    )


_MOST_WORDS = 1000
_LONGEST_LINE = 16_000
"""Characters of a command line; `show FILE RUN` has it whole. The longest of real runs, with a list of 256 CPUs, have 2000."""


def _line(words: Sequence[str], of: int) -> str:
    """Return words beside each other, as many as a line may have; of more, how many there are."""
    ends = accumulate(len(word) + 1 for word in words)
    shown = sum(end <= _LONGEST_LINE for end in ends)
    return " ".join([*words[:shown], *([f"… {fmt.plural(of, 'word')} in all"] if shown < of else [])])


def _first(names: Iterable[str], noun: str) -> str:
    """Return "n001", or "n001 and 63 more hosts"."""
    distinct = list(dict.fromkeys(names))
    more = len(distinct) - 1
    return (
        distinct[0]
        if not more
        else f"{distinct[0]} and {fmt.count(more)} more {noun}{'s' if more > 1 else ''}"
    )


def placement_text(placement: Placement | None) -> str:
    """Return "CPU 3", "CPUs 0-3, memory of node 0" per process; "not placed" without a placement."""
    if not placement or not placement.groups:
        return "not placed"
    texts = []
    for group in placement.groups:
        text = named_cpus(group.cpus)
        if group.membind:
            text += f", memory of node {format_cpulist(group.membind)}"
        if group.interleave:
            text += f", memory interleaved over nodes {format_cpulist(group.interleave)}"
        texts.append(text)
    return " | ".join(texts)


_NOTHING: tuple[Any, ...] = (None, "", [], {})


def seen_text(record: RunRecord) -> str:
    """Return what was read from /proc, or where a captured text came from, in one line: keys and values as recorded."""
    seen = asdict(record.capture) if record.capture else record.seen
    if not seen:
        return "not recorded"
    note = [str(seen["note"])] if "note" in seen else []  # a run too short to be seen
    told = {key: value for key, value in seen.items() if key != "note" and value not in _NOTHING}
    return "; ".join([*note, *(f"{key} {_short(value)}" for key, value in told.items())])


def _short(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_short(v)}" for k, v in value.items() if v not in _NOTHING)
    if isinstance(value, list | tuple):
        numbers = all(isinstance(v, int) for v in value)
        return format_cpulist(tuple(value)) if numbers and value else ", ".join(_short(v) for v in value)
    return str(value)
