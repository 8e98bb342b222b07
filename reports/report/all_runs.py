"""The table of all runs. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain, islice
from typing import Any, Final

from orchestrator.machine.cpulist import format_cpulist, named_cpus
from orchestrator.model import Placement, RunRecord
from reports.document import Column, Table, Value
from reports.results.model import Results, Run
from reports.text import format as fmt

MAX_ROWS: Final = 60
"""A page shows ten times as many."""

_LONGEST_LINE: Final = 2000
"""Characters of a command line. `show FILE RUN` has the full command line."""


def table(results: Results) -> Table:
    """Return one row per run. In a long table, runs without a number come first."""
    runs = list(results.started)
    if len(runs) > 10 * MAX_ROWS:
        runs.sort(key=lambda run: run.parsed is not None)
    several = len({machine.host for machine in results.machines}) > 1
    files = len({machine.file for machine in results.machines}) > 1
    names = ("run", *(("host",) if several else ()), *(("file",) if files else ()), "sweep", "cell", "repeat", "status", "time", "placement")  # fmt: skip
    columns = tuple(Column(name=name, unit="s" if name == "time" else "") for name in names)
    rows = []
    for run in runs:
        values = row(run)
        rows.append(tuple(values[name] for name in names))
    return Table(columns=columns, rows=tuple(rows), id="runs-table", most=MAX_ROWS)


def row(run: Run) -> dict[str, Value]:
    """Return the facts about a run by column name."""
    record = run.record
    attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
    reason = record.reason or run.unreadable
    return {
        "run": str(record.run_id), "host": run.host, "file": run.file, "sweep": run.cell.sweep, "cell": run.cell.describe(),
        "repeat": "warm-up" if record.warm_up else f"{record.repeat}{attempt}", "status": f"{run.state}: {reason}" if reason else run.state,
        "time": None if run.captured else record.wall_s, "placement": None if run.captured else placement_text(record.placement),
    }  # fmt: skip


def command_text(run: Run) -> str:
    """Return the command line with the environment, as started or typed."""
    words = (
        f"{name}={value}" if run.captured else f"{name}={shlex.quote(str(value))}"
        for name, value in run.record.env.items()
    )
    typed = (word if run.captured else shlex.quote(word) for word in run.record.argv)
    text = " ".join(islice(chain(words, typed), _LONGEST_LINE))
    return f"{text[:_LONGEST_LINE]}…" if len(text) > _LONGEST_LINE else text


def placement_text(placement: Placement | None) -> str:
    """Return "CPU 3" or "CPUs 0-3, memory of node 0" per process. A run without a placement gives "not placed"."""
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
    """Return the observed placement from /proc, such as "walk on CPU 0, memory of node 0, 1 thread; pinsweep on CPU
    1".

    Facts from other sources, such as captured output, are listed as recorded keys and values.
    """
    observed = asdict(record.capture) if record.capture else record.seen
    if not observed:
        return "not recorded"
    known = {key: value for key, value in observed.items() if value not in _NOTHING}
    words = [str(known.pop("note"))] if "note" in known else []  # a run too short to be seen
    processes = known.get("processes")
    if isinstance(processes, list) and all(isinstance(process, Mapping) for process in processes):
        words += [_process_text(process) for process in known.pop("processes")]
        known.pop("at_end", None)  # first thread, for comparison with the placement
    if orchestrator := known.pop("orchestrator", ""):
        words.append(f"pinsweep on {_cpus_text(orchestrator)}")
    return "; ".join([*words, *(f"{key} {_short(value)}" for key, value in known.items())])


def _process_text(process: Mapping[str, Any]) -> str:
    """Return a process from `proof.as_json` as text, such as "walk on CPU 0, memory of node 0, 1 thread"."""
    rank = "" if process.get("rank") is None else f"rank {process['rank']}: "
    mode, _, nodes = str(process.get("policy") or "").partition(":")
    prefix = {"bind": "memory of node ", "interleave": "memory interleaved over nodes "}.get(mode.partition("=")[0])
    threads = process.get("threads")
    number = sum(n for n in threads.values() if isinstance(n, int)) if isinstance(threads, Mapping) else 0
    parts = [
        f"{rank}{process.get('name') or 'a process'} on {_cpus_text(process.get('cpus'))}",
        *([f"{prefix}{nodes}"] if prefix else [f"memory policy {mode}"] if mode else []),
        *([fmt.plural(number, "thread")] if number else []),
    ]
    return ", ".join(parts)


def _cpus_text(cpus: Any) -> str:  # noqa: ANN401 (as a file has it)
    return f"CPU{'' if str(cpus).isdecimal() else 's'} {cpus}"


def _short(value: Any) -> str:  # noqa: ANN401
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_short(v)}" for k, v in value.items() if v not in _NOTHING)
    if isinstance(value, list | tuple):
        numbers = all(isinstance(v, int) for v in value)
        return format_cpulist(tuple(value)) if numbers and value else ", ".join(_short(v) for v in value)
    return str(value)
