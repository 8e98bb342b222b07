"""The head of a page: completed runs, key numbers, machines and versions. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from orchestrator.machine import facts
from reports.checks.audit import Finding, summaries
from reports.page.model import KeyNumber
from reports.results import naming
from reports.results.model import Results
from reports.results.programs import tool_name
from reports.text import format as fmt

if TYPE_CHECKING:
    import pandas as pd

MAX_KEYS: Final = 6
_MAX_NAMED: Final = 4


def sentence(results: Results) -> str:
    """Return "vm: 30 of 32 runs ok, 1 disturbed.", with counts of imported captured output and skipped cells."""
    hosts = list(dict.fromkeys(m.host for m in results.measured))
    where = hosts[0] if len(hosts) == 1 else f"{len(hosts)} hosts"
    parts = [f"{where}: {results.ended}."] if hosts and results.ended else []
    if results.texts:
        parts.append(
            f"{fmt.plural(results.texts, 'captured output')} {'was' if results.texts == 1 else 'were'} imported."
        )
    if results.skipped:
        cells = fmt.plural(len(results.skipped), "cell")
        parts.append(f"{cells} cannot run on {'this machine' if len(hosts) == 1 else 'their machines'}.")
    return " ".join(parts) or "These files hold no runs."


def care(findings: Iterable[Finding]) -> str:
    """Return a sentence with the two checks that flag most cells, or "" without flagged numbers."""
    flagged = [summary for summary in summaries(findings) if summary.level != "info"]
    most = sorted(flagged, key=lambda summary: -len(summary.rows.rows))[:2]
    more = f", and {fmt.plural(len(flagged) - 2, 'more check')}" if len(flagged) > len(most) else ""
    listed = ", ".join(f"{summary.check} ({summary.id}, {summary.counted})" for summary in most)
    return f"Use these numbers with care: {listed}{more}." if most else ""


def key_numbers(cells: pd.DataFrame) -> tuple[KeyNumber, ...]:
    """Return the best cell of each name and program, in the order of the ranks. The first number of every name comes
    before any second number.
    """
    best = [best_of(same) for _, same in cells.groupby(["name", "program"], sort=False)] if len(cells) else []
    counts: dict[str, int] = {}
    ordered = []
    for row in sorted(best, key=lambda row: row["rank"]):
        counts[row["name"]] = counts.get(row["name"], 0) + 1
        ordered.append((counts[row["name"]], row["rank"], row))
    picked = [row for _, _, row in sorted(ordered, key=lambda item: item[:2])][:MAX_KEYS]
    hosts = cells["where"].nunique() if len(cells) else 0
    return tuple(key_number(row, where=hosts > 1) for row in sorted(picked, key=lambda row: row["rank"]))


def best_of(cells: pd.DataFrame) -> dict[Any, Any]:
    """Return the best of some cells, one with the fewest flags if several are equal."""
    sign = 1 if cells["better"].iloc[0] == "lower" else -1
    return min(cells.to_dict("records"), key=lambda row: (sign * row["value"], len(row["flags"])))


def key_number(row: Mapping[Any, Any], *, where: bool = False) -> KeyNumber:
    """Return a number for readers. `where` includes the host."""
    step = row["step"] if row["step"] == row["step"] else None
    base = "IOPS" if row["unit"] == "1/s" and "IOPS" in row["name"] else row["unit"]
    value, unit = fmt.split(row["value"], base, step=step)
    scale = fmt.scale_for([row["value"]], base)
    ends = dict.fromkeys(scale.number(end, step=step) for end in (row["low"], row["high"]))
    peak = row.get("memory_peak")
    share = (
        f"{fmt.percent(row['value'] / peak)} of the memory modules' peak"
        if peak and peak == peak and row["unit"] == "B/s"
        else ""
    )
    context = ", ".join(filter(None, (row["context"], str(row["where"]) if where else "", share)))
    return KeyNumber(
        name=row["name"], value=value, unit="" if unit == "1" else unit, range=" to ".join(ends) if len(ends) > 1 else "", n=row["n"],
        context=context, flags=row["flags"],
    )  # fmt: skip


def built_in(results: Results) -> str:
    """Return a sentence with the tools that built-in kernels replaced, or ""."""
    tools = [tool for tool in results.tools if any(naming.stands_in(run) for run in results.good(tool))]
    return f"Built-in kernels measured in place of {fmt.words(sorted(map(tool_name, tools)))}." if tools else ""


def provenance(results: Results) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return pairs of label and value, including the facts that were not recorded."""
    machines = results.machines
    hosts = list(dict.fromkeys(m.host for m in results.measured))
    pairs = [("Host" if len(hosts) == 1 else "Hosts", _listed(hosts))] if hosts else []
    lines = [facts.lines(m.session.facts, m.session.topology.memory_bytes if m.session.topology and len(hosts) < 2 else None) for m in machines]  # fmt: skip
    pairs += [
        (label, _listed(text for line in lines if (text := line.get(label)))) for label in (lines[0] if lines else ())
    ]
    missing = [
        fact.words for fact in facts.FACTS if fact.expected and any(not fact.text(m.session.facts) for m in machines)
    ]
    if any(not m.session.topology_text for m in machines):
        missing.append("topology")
    programs = dict.fromkeys(naming.program_name(run) for tool in results.tools for run in results.good(tool))
    times = sorted(f"{text[:10]} {text[11:16]} UTC" for m in machines if (text := m.session.started_utc))
    pairs += [
        ("Programs", _listed(programs)),
        ("Experiment", _listed(e.path.rsplit("/", 1)[-1] for e in results.experiments if e.path)),
        ("Measured", " to ".join(dict.fromkeys(times[:1] + times[-1:]))),
        ("Seed", _listed(sorted({str(m.session.seed) for m in machines if m.session.topology_text}))),
        ("Result files", _listed(m.file for m in machines)),
    ]
    return tuple((label, value) for label, value in pairs if value), tuple(dict.fromkeys(missing))


def _listed(texts: Iterable[str]) -> str:
    """Return the first of some texts without duplicates, and the count of the remaining texts."""
    known = list(dict.fromkeys(filter(None, texts)))
    more = [f"{len(known) - _MAX_NAMED} more"] if len(known) > _MAX_NAMED else []
    return "; ".join([*known[:_MAX_NAMED], *more])
