"""The checks of a page: findings of the audit, missing runs and remarks of the parsers. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from reports.checks import checks
from reports.checks.audit import Finding, summaries
from reports.checks.missing import missing
from reports.document import Fold
from reports.page.model import Check
from reports.render import html
from reports.results import naming
from reports.results.grouping import group_by
from reports.results.model import Results
from reports.text import format as fmt

_MOST_LISTED: Final = 20
_MOST_ROWS: Final = 100


def check_list(results: Results, findings: Sequence[Finding]) -> tuple[Check, ...]:
    """Return the checks of a page. `findings` is the result of the audit."""
    checks = [*_findings(findings), *_missing(results), *_built_in(results), *_remarks(results, findings)]
    unwatched = sum(not run.record.counters or run.is_too_short for tool in results.tools for run in results.good(tool))
    if unwatched:
        subject = f"Disturbance is unknown for {fmt.plural(unwatched, 'run')}."
        checks.append(
            Check(
                level="info",
                subject=subject,
                text="Their counters were not recorded, or they were too short.",
            )
        )
    if not findings and results.tools:
        checks.append(Check(level="ok", subject="No check flags a number.", text=""))
    return tuple(checks)


def _findings(findings: Sequence[Finding]) -> Iterable[Check]:
    for summary in summaries(findings):
        listed = len(summary.rows.rows) > 1 and summary.level != "info"
        table = replace(summary.rows, most=_MOST_LISTED // html.MOST)
        yield Check(
            level=summary.level, subject=f"{fmt.sentence(summary.check)}.", text=f"{summary.text} {summary.todo}", id=summary.id, explained=summary.check,
            cells=Fold(summary.counted, (table,)) if listed else None,
        )  # fmt: skip


def _missing(results: Results) -> Iterable[Check]:
    rows = missing(results).rows
    for what, sweep, n, first, why in rows[:_MOST_ROWS]:
        assert isinstance(n, int)
        counted = fmt.plural(n, "cell" if what in ("skipped", "not started") else "run")
        level = "info" if what == "skipped" else "warn"
        example = f"{first}{f': {why}' if why else ''}"
        yield Check(level=level, subject=f"{sweep}: {counted} {what}.", text=f"{example}.")
    if len(rows) > _MOST_ROWS:
        more = fmt.plural(len(rows) - _MOST_ROWS, "more reason")
        yield Check(level="warn", subject=f"{fmt.sentence(more)}.", text="pinsweep show FILE --runs lists all runs.")  # fmt: skip


def _built_in(results: Results) -> Iterable[Check]:
    notes = [note for tool in results.tools if (note := stand_in_note(results, tool))]
    if notes:
        yield Check(level="info", subject=" ".join(notes), text="Do not quote these numbers as results of the tools.")


def stand_in_note(results: Results, tool: str) -> str:
    names = {naming.program_name(run) for run in results.good(tool) if naming.stands_in(run)}
    return f"Numbers from {fmt.words(sorted(names))}." if names else ""


def _remarks(results: Results, findings: Sequence[Finding]) -> Iterable[Check]:
    """Yield the remarks of the parsers that no finding covers."""
    ids = {finding.id for finding in findings}
    covered = {flag for check in checks(results.tools) if check.id in ids for flag in check.flags} | {"stand_in"}
    good = [run for tool in results.tools for run in results.good(tool)]
    runs_of = Counter(map(naming.program_name, good))
    remarks = (
        (naming.program_name(run), flag.text, run)
        for run in good
        for flag in {flag.text: flag for flag in (run.parsed.flags if run.parsed else ()) if flag.id not in covered}.values()
    )  # fmt: skip
    for (program, text), same in sorted(group_by(remarks, lambda remark: remark[:2]).items()):
        n, total = len(same), runs_of[program]
        count = fmt.plural(total, "run") if n == total else f"{fmt.count(n)} of {fmt.plural(total, 'run')}"
        yield Check(level="info", subject=fmt.sentence(text.rstrip(".")) + ".", text=f"{program}, {count}.")
