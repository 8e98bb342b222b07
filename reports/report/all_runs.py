"""The table of all runs: a row each, or of very many a row of those of a cell that ended alike. Pure."""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import accumulate, islice
from typing import Any

from orchestrator.machine.cpulist import format_cpulist, named_cpus
from orchestrator.model import Placement, RunRecord
from reports.page.model import RunRow, Runs
from reports.results.grouping import group_by
from reports.results.model import Results, Run
from reports.text import format as fmt

_MOST_RUNS_WITH_OUTPUT = 80
_MOST_RUN_ROWS = 600
EXCERPT = 3000  # characters of what a run printed

Printed = tuple[str, str]
"""The beginning and the end of what a run printed: standard output, standard error."""


def table(results: Results, printed: Mapping[Run, Printed]) -> Runs:
    """Return the table; printed: what the runs `with_output` printed, as far as it is shown."""
    started = results.started
    rows = _alike(started)
    listed = _listed_rows(rows)
    return Runs(
        lead=(_lead(results, len(listed), len(rows)),),
        rows=tuple(run_row(alike[0], alike, printed.get(alike[0], ("", ""))) for alike in listed),
        started=len(started),
        by_cell=len(rows) < len(started),
        several_hosts=len({machine.host for machine in results.machines}) > 1,
        several_files=len({machine.file for machine in results.machines}) > 1,
    )


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
    return f"Every {every} for either side, in order; {fmt.plural(results.others, 'other run')} of the files {'is' if results.others == 1 else 'are'} not on this page."


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
        command=_line(
            [word if run.captured else shlex.quote(word) for word in record.argv[:_MOST_WORDS]],
            len(record.argv),
        ),
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
    """Return what was seen in /proc in words, "walk on CPU 0, memory of node 0, 1 thread; pinsweep on CPU 1"; of what came otherwise, as of a
    captured text, keys and values as recorded."""
    seen = asdict(record.capture) if record.capture else record.seen
    if not seen:
        return "not recorded"
    told = {key: value for key, value in seen.items() if value not in _NOTHING}
    words = [str(told.pop("note"))] if "note" in told else []  # a run too short to be seen
    processes = told.get("processes")
    if isinstance(processes, list) and all(isinstance(one, Mapping) for one in processes):
        words += [_process_text(one) for one in told.pop("processes")]
        told.pop("at_end", None)  # of its first thread: what is compared with the placement
    if here := told.pop("orchestrator", ""):
        words.append(f"pinsweep on {_cpus_text(here)}")
    return "; ".join([*words, *(f"{key} {_short(value)}" for key, value in told.items())])


def _process_text(process: Mapping[str, Any]) -> str:
    """Return "walk on CPU 0, memory of node 0, 1 thread" of a process as `proof.as_json` keeps it."""
    rank = "" if process.get("rank") is None else f"rank {process['rank']}: "
    mode, _, nodes = str(process.get("policy") or "").partition(":")
    said = {"bind": "memory of node ", "interleave": "memory interleaved over nodes "}.get(
        mode.partition("=")[0]
    )
    threads = process.get("threads")
    number = sum(n for n in threads.values() if isinstance(n, int)) if isinstance(threads, Mapping) else 0
    parts = [
        f"{rank}{process.get('name') or 'a process'} on {_cpus_text(process.get('cpus'))}",
        *([f"{said}{nodes}"] if said else [f"memory policy {mode}"] if mode else []),
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
