"""The head of a page in words: how much of what was planned is there, where and with what it was measured. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from orchestrator.machine import facts
from orchestrator.store.rows import Session
from reports.charts.chapter import Chapter
from reports.results.model import LEFT_OUT, Results
from reports.text import format as fmt


def sentence(results: Results) -> str:
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
    text += "".join(f"; {lacking}" for lacking in _lacking(results))
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


def _lacking(results: Results) -> Iterable[str]:
    """Give "all runs of 3 cells failed", "some runs of 1 cell ran out of time", "2 cells lack some or all repeats": the last of cells that lack them
    for another reason."""
    lacking = {(where, cell.point_id) for where, cell, _ in results.missing}
    if not lacking:
        return
    good = {(run.where, run.record.point_id) for tool in results.tools for run in results.good(tool)}
    others = {(where, cell.point_id) for where, cell, _ in results.not_started}
    failed: set[tuple[str, str]] = set()
    for run in (*results.failed, *results.disturbed):
        broke = run.record.status not in (*LEFT_OUT, "interrupted")
        (failed if broke else others).add((run.where, run.record.point_id))
    failed &= lacking
    late = {(run.where, run.record.point_id) for run in results.failed if run.record.status == "timeout"}
    late -= {(run.where, run.record.point_id) for run in results.failed if run.record.status != "timeout"}
    wholly = failed - good - others
    for some, cells in (("all", wholly), ("some", failed - wholly)):
        for how, own in (("failed", cells - late), ("ran out of time", cells & late)):
            if own:
                yield f"{some} runs of {_cells(own, how)}"
    if left := len(lacking - failed):
        yield f"{fmt.plural(left, 'cell')} {'lacks' if left == 1 else 'lack'} some or all repeats"


def _cells(cells: Collection[tuple[str, str]], how: str) -> str:
    """Return "2 cells failed", "2 cells failed in each of 5 files", "12 cells failed, of 2 different ones in 9 files". cells: file, cell; how:
    "failed"."""
    files, points = len({where for where, _ in cells}), len({point for _, point in cells})
    if len(cells) == files * points:
        return f"{fmt.plural(points, 'cell')} {how}" + (f" in each of {files} files" if files > 1 else "")
    return f"{fmt.plural(len(cells), 'cell')} {how}, of {points} different ones in {files} files"


def provenance(results: Results, chapters: Mapping[str, Chapter]) -> tuple[list[tuple[str, str]], list[str]]:
    """Return label and value pairs, and what was not recorded, in words."""
    machines = results.machines
    hosts = list(dict.fromkeys(m.host for m in results.measured))
    named = hosts[:8] + ([f"unknown, of {fmt.plural(results.texts, 'text')}"] if results.texts else [])
    pairs = [
        (
            "Host" if len(named) == 1 else "Hosts",
            fmt.words([*named, *([f"{len(hosts) - 8} more"] if len(hosts) > 8 else [])]),
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
            fmt.words(dict.fromkeys(e.path.rsplit("/", 1)[-1] for e in results.experiments if e.path))
            or fmt.NOTHING,
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
