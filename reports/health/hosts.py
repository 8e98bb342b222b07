"""Report the states of a sweep's hosts as a document. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from orchestrator.cluster import states, ticket
from orchestrator.cluster.submit import View
from reports.document import Column, Document, Table, Text
from reports.text import format as fmt
from reports.text.hostlist import folded


def document(view: View, *, quiet: Collection[str] = (), tickets: bool = False) -> Document:
    """Return the states of the hosts.

    quiet: states without a row if there is no reason. tickets: add the commands that drain failed hosts.
    """
    names = ", ".join(Path(name).stem for name in view.sweep.experiments)
    columns = (
        Column(name="state"), Column(name="hosts"), Column(name="runs"), Column(name="disturbed", spare=True), Column(name="reason"),
    )  # fmt: skip
    rows = [
        *_states(view, quiet),
        *(("differs", folded(d.hosts), None, None, d.text) for d in view.differences),
    ]
    used = [i for i in range(len(columns)) if any(row[i] is not None for row in rows)]
    table = Table(columns=tuple(columns[i] for i in used), rows=tuple(tuple(row[i] for i in used) for row in rows))
    drains = [Text(line, "next") for line in _drains(view)] if tickets else []
    title = f"{view.sweep.folder}: {names} on {fmt.plural(len(view.sweep.hosts), 'host')}"
    return Document(title=title, blocks=(*([table] if rows else []), *drains))


def _states(view: View, quiet: Collection[str]) -> Iterable[tuple[Any, ...]]:
    """Yield a row per state and reason, with the completed runs and the disturbed runs, which are not judged."""
    counts = "--allow-disturbed" not in view.sweep.words
    for word, reason, group in states.fold(view.states):
        if word in quiet and not reason:
            continue
        done, total = sum(state.done for state in group), sum(state.total for state in group)
        disturbed = (
            sum(view.results[state.host].disturbed for state in group if state.host in view.results) if counts else 0
        )
        runs = f"{done} of {total}" if total else None
        yield word, folded(state.host for state in group), runs, disturbed or None, reason or None


def _drains(view: View) -> Iterable[str]:
    """Yield the commands that drain hosts with a failed tool, if such hosts are a minority."""
    for word, reason, group in states.fold(view.states) if view.sweep.via == "slurm" else ():
        hosts = [state.host for state in group]
        if word == "failed" and all(state.retry for state in group) and 2 * len(hosts) < len(view.states):
            yield ticket.drain_line(hosts, folded(hosts), reason)
