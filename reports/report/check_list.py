"""What to know before the charts: what the audit finds, and what was skipped, has failed, or was not started. Pure."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from orchestrator.model import ONE_CELL, Alias, Skipped
from reports.charts import wording
from reports.checks import checks
from reports.checks.audit import Finding, coverage, watched
from reports.page.model import Check
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

_MOST_LISTED = 12
_MOST_REASONS = 200  # why runs gave no number, or were not started; of 15 000 a lab report took 1.1 GiB


def check_list(results: Results, findings: Sequence[Finding]) -> tuple[Check, ...]:
    """Return the checks of a page; findings: those of the audit."""
    return (*_findings(results, findings), *_checks(results, findings))


def _findings(results: Results, findings: Sequence[Finding]) -> Iterable[Check]:
    """What `pinsweep audit` finds, the gravest first; the same fault with the same advice in several sweeps and on several hosts is one."""
    alike = group_by(findings, lambda f: (f.id, f.level, f.todo))
    runs = {of: len({run for f in same for run in f.own}) for of, same in alike.items() if same[0].is_of_runs}
    for (key, level, todo), found in alike.items():
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
        subject, said = f"{first.title}{more}", "" if told else f"{arithmetic}."
        if first.is_of_runs and len(cells) > 1:  # how many says more than what disturbed one of them
            host = f", {first.where}" if len(wheres) > 1 else ""
            beside = _others((of[0], n) for of, n in runs.items() if of != (key, level, todo))
            n = runs[key, level, todo]
            subject = f"{fmt.count(n)} {first.check}{_of_repeats(len(cells), n)}{spread}{beside}"
            said = f"The first{host}: {first.title}."
        yield Check(
            level=level,
            subject=f"{subject}.",
            text=" ".join(fmt.sentence(one) for one in (said, first.todo) if one),
            id=key,
            explained=first.check,
            **(_listed(cells, noun) if len(cells) > 1 else {}),
        )


def _of_repeats(repeats: int, runs: int) -> str:
    """Return ", of 2 repeats" of more runs, which were attempts at these; "" of as many."""
    return f", of {fmt.plural(repeats, 'repeat')}" if repeats < runs else ""


def _others(runs: Iterable[tuple[str, int]]) -> str:
    """Return " (5 others: D2)" of as many runs that stand elsewhere in the list; "" of none. runs: the check that tells of them, how many."""
    told = [f"{fmt.plural(n, 'other')}: {key}" for key, n in runs]
    return f" ({fmt.words(told)})" if told else ""


def _whose(finding: Finding, cell: str, of_hosts: bool, of_sweeps: bool) -> str:
    """Return what names a line of a finding: its host and its sweep where there are several, and its cell, if that has a name."""
    of_sweeps &= not cell.endswith(f" of {finding.sweep}")
    named = [finding.where] * of_hosts + [finding.sweep] * of_sweeps + [cell] * (cell != ONE_CELL)
    return ", ".join(named)


def _checks(results: Results, findings: Sequence[Finding]) -> Iterable[Check]:
    yield from _left_out(results)
    yield from _failed(results)
    yield from _not_started(results)
    yield from _stand_ins(results)
    yield from _remarks(results, {flag for check in checks() if check.id in {f.id for f in findings} for flag in check.flags})  # fmt: skip
    if results.tools or results.disturbed:
        yield Check(
            level="ok" if not findings and watched(results) else "info",
            subject=f"{coverage(results)}.",
            text="What no check looks at, they do not vouch for.",
        )
    yield from _once(results)


def _left_out(results: Results) -> Iterable[Check]:
    """Give the cells that were skipped or measured under another name, a line a sweep and reason."""
    left_out: Iterable[tuple[str, str, Skipped | Alias]] = itertools.chain(
        ((where, "skipped", cell) for where, cell in results.skipped),
        ((where, "measured under another name", alias) for where, alias in results.aliases),
    )
    by_reason: dict[tuple[str, str, str], list[tuple[str, Skipped | Alias]]] = {}
    # of what is not listed its reasons: there may be a million
    beyond: dict[tuple[str, str], Counter[str]] = {}
    for where, word, cell in left_out:
        key = cell.sweep, word, cell.reason
        if key in by_reason or len(by_reason) < _MOST_REASONS:
            by_reason.setdefault(key, []).append((where, cell))
        else:
            beyond.setdefault(key[:2], Counter())[cell.reason] += 1
    for (sweep, word, reason), cells in by_reason.items():
        hosts = list(dict.fromkeys(where for where, _ in cells))
        distinct = list(dict.fromkeys(_labels(cell.cell) for _, cell in cells))
        alone = distinct[0] if len(distinct) == 1 and distinct[0] != ONE_CELL else ""
        yield Check(
            level="info",
            subject=f"{sweep}: {f'cell {alone}' if alone else fmt.plural(len(distinct), 'cell')} {word} {_where(results, hosts)}.",
            text=_sentence_of(reason),
            **({} if alone else _listed(distinct, "cell")),
        )
    for (sweep, word), more in beyond.items():
        count = fmt.plural(more.total(), "more cell")
        subject = f"{sweep}: {count} {word}, for {fmt.plural(len(more), 'more reason')}."
        yield Check(
            level="info", subject=subject, text="The tables skipped and alias of the result file name them."
        )


_OF_ONE_RUN: Final = re.compile(r"\b0x[0-9a-f]+\b|\b(?=\w*\d)[0-9a-f]{6,}\b|\d{4,}", re.IGNORECASE)
"""What a program prints of one run alone: addresses, ids of threads and processes, times."""


def _failed(results: Results) -> Iterable[Check]:
    """Give the runs that failed, a line a sweep and reason; reasons that differ in `_OF_ONE_RUN` alone are one, that of the first."""
    told = group_by(results.failed, lambda r: (r.cell.sweep, r.record.status, _OF_ONE_RUN.sub("…", _reason(r))))  # fmt: skip
    repeats = _repeats(results) if told else Counter()
    several = len({machine.file for machine in results.machines}) > 1
    for (sweep, status, _), runs in list(told.items())[:_MOST_REASONS]:
        files = [f"{run.file}, " for run in runs] if several else [""] * len(runs)
        reason = _reason(runs[0])
        yield Check(
            level="warn",
            subject=f"{files[0] if len({*files}) == 1 else ''}{sweep}: {_of_cell(runs, repeats, _ended(status))}.",
            text=_sentence_of(reason) if reason else "",
            **_listed(
                (
                    f"{file}{run.cell.describe()}, repeat {run.record.repeat}, run {run.record.run_id}"
                    for file, run in zip(files, runs, strict=True)
                ),
                "run",
            ),
        )
    for sweep, others in group_by(list(told.items())[_MOST_REASONS:], lambda of: of[0][0]).items():
        count = fmt.plural(sum(len(runs) for _, runs in others), "run")
        reasons = f"{fmt.plural(len(others), 'more reason')}."
        text = f"{sweep}: {count} gave no number. pinsweep show FILE --runs lists them."
        yield Check(level="warn", subject=fmt.sentence(reasons), text=text)


def _reason(run: Run) -> str:
    return run.record.reason or run.unreadable


def _not_started(results: Results) -> Iterable[Check]:
    for sweep, not_started in group_by(results.not_started, lambda m: m[1].sweep).items():
        yield Check(
            level="warn",
            subject=f"{sweep}: {fmt.plural(len(not_started), 'run')} not started",
            text="The sweep still runs, or was stopped before them; then the same command goes on where it stopped.",
            **_listed((f"{cell.describe()}, repeat {repeat}" for _, cell, repeat in not_started), "run"),
        )


def _stand_ins(results: Results) -> Iterable[Check]:
    if notes := [note.removesuffix(".") for tool in results.tools if (note := stand_in_note(results, tool))]:
        yield Check(
            level="info",
            subject=f"{'; '.join([notes[0], *(note[0].lower() + note[1:] for note in notes[1:])])}.",
            text="Options and output are those of the tools; the numbers are not to be quoted as their results.",
        )


def _remarks(results: Results, spoken_of: Collection[str]) -> Iterable[Check]:
    """Give what the parsers remark. spoken_of: remarks that a finding tells of."""
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
                subject=fmt.sentence(_sentence_of(text)),
                text=f"{program}, {count}.{wording.of_texts(run for *_, run in same)}",
                **(_listed(which, "cell") if len(same) < of else {}),
            )


def _once(results: Results) -> Iterable[Check]:
    once = [
        tool
        for tool in results.tools
        if max(Counter(r.record.point_id for r in results.shown(tool)).values()) == 1
    ]
    if once:
        yield Check(
            level="info",
            subject=f"{fmt.words(wording.programs(run for tool in once for run in results.good(tool)))} ran once per cell.",
            text="No spread can be given for these numbers.",
        )


def _repeats(results: Results) -> Counter[tuple[str, str]]:
    """Return how many repeats each cell has in each file: (file, cell) → n."""
    good = (run for tool in results.tools for run in results.good(tool))
    return Counter((run.file, run.record.point_id) for run in (*good, *results.failed, *results.disturbed))


def _ended(status: str) -> str:
    return {"ok": "could not be read", "timeout": "ran out of time"}.get(status, status)


def _of_cell(runs: Sequence[Run], repeats: Mapping[tuple[str, str], int], ended: str) -> str:
    """Return "6 runs failed (all of n=3)", "3 of 6 runs failed (n=6)" of one cell, "9 runs of 3 cells failed" of several, "…, in 2 files"."""
    files = {run.file for run in runs}
    where = f", in {len(files)} files" if len(files) > 1 else ""
    name, *others = dict.fromkeys(run.cell.describe() for run in runs)
    if others:
        return f"{fmt.plural(len(runs), 'run')} of {fmt.plural(1 + len(others), 'cell')} {ended}{where}"
    n = sum(repeats[key] for key in {(run.file, run.record.point_id) for run in runs})
    count = fmt.plural(n, "run") if len(runs) == n else f"{len(runs)} of {n} runs"
    if not runs[0].cell.labels():  # the one cell of a sweep has no name
        return f"{count} {ended}{where}"
    return f"{count} {ended} ({'all of ' * (1 < n == len(runs))}{name}){where}"


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


def stand_in_note(results: Results, tool: str) -> str:
    names = {naming.program_name(run) for run in results.shown(tool) if naming.stands_in(run)}
    return f"Numbers from {fmt.words(sorted(names))}." if names else ""


def _sentence_of(text: str) -> str:
    """Return a text with a full stop at its end; as it is told otherwise, so that it can be searched for."""
    return text.rstrip(".") + "."


def _listed(items: Iterable[str], noun: str) -> dict[str, Any]:
    """Return the `items`, `counted` and `number` of a Check: the first dozen, and how many there are in all."""
    texts = list(items)
    first = f", the first {_MOST_LISTED}" if len(texts) > _MOST_LISTED else ""
    return {
        "items": tuple(texts[:_MOST_LISTED]),
        "counted": f"{fmt.plural(len(texts), noun)}{first}",
        "number": len(texts),
    }


def _labels(cell: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in cell.items()) or ONE_CELL
