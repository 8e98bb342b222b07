"""What is said of a sweep: before, while and after it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from reports.schemas._machine import ERROR, NOISE
from reports.schemas._words import (
    Schema,
    anything,
    flag,
    integer,
    listed,
    mapped,
    null,
    number,
    one_of,
    record,
    scalar,
    text,
)

LABELS: Final = mapped(
    anything("The value."), "The axes of the experiment with their values here: what tells the cell from its siblings."
)  # fmt: skip

CELL: Final[dict[str, Schema]] = {
    "sweep": text("The sweep of the experiment."),
    "tool": text("The tool."),
    "cell": text("The cell, for people."),
    "labels": LABELS,
    "point_id": text("What names the cell in every answer, in every file and on every machine."),
}

SKIPPED: Final = listed(
    record("A cell.", sweep=text("Its sweep."), labels=LABELS, reason=text("Why it cannot run here.")),
    "Cells that this machine cannot host.",
)

ALIASES: Final = listed(
    record("A cell.", sweep=text("Its sweep."), labels=LABELS, of=mapped(anything("The value."), "The labels of the cell that is measured."), reason=text("Why it is that one.")),
    "Cells that are another one on this machine.",
)  # fmt: skip

_PLACEMENT: Final = null(record(
    "Where it runs and where its memory comes from, by the operating system's indexes.",
    name=text("The place, as the experiment has it."),
    groups=listed(record(
        "One process.",
        cpus=listed(integer("A PU.")), membind=listed(integer("A NUMA node.")), interleave=listed(integer("A NUMA node.")),
    )),
    relation=text("The same in relative words: local, remote, same cache …; \"\": none."),
))  # fmt: skip

_PLANNED: Final = record(
    "One process to start.",
    **CELL,
    options=mapped(anything("The value."), "All options of the tool, by its own names, resolved."),
    repeat=integer("From 1; of a warm-up 0."),
    argv=listed(text("A word of the command line.")),
    env=mapped(text("The value."), "What is added to the environment."),
    cwd=text('The folder it starts in; "": the current one.'),
    placement=_PLACEMENT,
    timeout_s=number("Seconds after which it is ended."),
    estimate_s=number("Seconds that it will take."),
    writes=listed(record("What it writes to.", path=text("Where."), kind=one_of("scratch: made and removed by pinsweep; device: its data are overwritten.", "scratch", "device"), size_bytes=integer("Bytes."))),
    notes=listed(text("What the reader of the plan should know.")),
)  # fmt: skip

STATUS: Final = one_of(
    "How it ended. Only ok (and, where that was allowed, misplaced) gives numbers; unreadable: it ended well, and its output cannot be read; "
    "taken in: a text that `pinsweep parse` took.",
    "ok", "failed", "timeout", "interrupted", "disturbed", "misplaced", "unreadable", "taken in",
)  # fmt: skip

DISTURBANCES: Final = listed(
    record("A reason.", id=text("The kind: docs/disturbance.md."), text=text("In words.")),
    "What else the machine did meanwhile.",
)
COUNTED: Final = mapped(
    number("In the unit that its name ends in (_s, _j, _hz, _c), else how often."),
    "What the machine counted from right before the run to right after it, by which it is called disturbed: elapsed_s, and of that foreign_s "
    "(others on its own CPUs), neighbours_s (beside it), irq_s … What it does not count is not there. docs/disturbance.md has them all.",
)

RUN: Final[dict[str, Schema]] = {
    "run": integer("Its number in the file, as `pinsweep show FILE RUN` takes it."),
    "file": text("The result file, by the end of its path."),
    "host": text("Where it ran."),
    "session": integer("The call of `pinsweep run` that started it, from 1 in its file."),
    **CELL,
    "repeat": integer("Repeat of the cell, from 1."),
    "attempt": integer("Attempt at this repeat, from 1."),
    "warm_up": flag("Kept, and in no number."),
    "status": STATUS,
    "reason": null(text("Why it is not ok.")),
    "disturbances": DISTURBANCES,
    "too_short_to_judge": flag("It was too short for its counters to show what disturbed it."),
    "counted": COUNTED,
    "cpus": listed(integer("A PU, by the kernel's number."), "Where it was placed; []: nowhere."),
    "program": text("The program that was started."),
    "started_utc": null(text("When, ISO 8601; null: not recorded.")),
    "wall_s": null(number("Seconds; null: not recorded.")),
    "exit_code": null(integer("Null: a signal ended it, it never started, or that is not recorded.")),
    "signal": null(integer("The signal that ended it.")),
}

FINDING: Final = record(
    "What a check found.",
    id=text("The check: F1. docs/audit.md explains it."),
    level=one_of("error: cannot be true; warn: doubtful; info: worth knowing, doubts nothing.", "error", "warn", "info"),
    check=text("What kind of fault."),
    sweep=text("The sweep."),
    where=text("The host, and the file where there are several: for people."),
    host=null(text("The host.")),
    cells=listed(record(
        "A cell; where the arithmetic is of several, their first.", cell=text("The cell, for people."), arithmetic=text("What shows it."),
        file=text("The result file, by the end of its path."), point_id=text("The cell."), labels=LABELS,
    )),
    todo=text("What to do."),
    doubts=listed(record("A cell.", file=text("The result file, by the end of its path."), point_id=text("The cell."), metric=null(text("The metric that is doubted; null: all of the cell's.")))),
    runs=listed(record("A run that it is about by itself.", file=text("The result file."), run=integer("The run."))),
)  # fmt: skip

_LEFT: Final[dict[str, Schema]] = {
    "stopped": flag("Somebody stopped it."),
    "counts": mapped(integer("Runs."), "Status → runs that were started now, by their last attempt."),
    "failed_before": integer("Runs that failed in an earlier call and were left alone."),
}

_EVENT: Final[Mapping[str, dict[str, Schema]]] = {
    "planned": {
        "result_file": text("Where results are kept."), "seed": integer("Seed of the order."),
        "cells": integer("Cells."), "runs": integer("Runs that are planned, of which some may be done."), "warm_ups": integer("Warm-ups."),
        "estimate_s": number("Seconds that all of it will take."), "at_most_s": number("The same, if all cells need all their repeats."),
        "skipped": SKIPPED, "aliases": ALIASES, "noise": listed(NOISE, "What will disturb, before the first run."),
    },
    "waiting": {
        "sweep": null(record(
            "Another sweep on the same cores, which is waited for; null, and `scratch` null, too: others cannot be seen, and nobody is waited for.",
            pid=text("Its process."), host=text("Where; in a container its name there."), file=text("Its result file."), since=text("Since when."), user=text("Whose."), shared=text("The PUs that both want."),
        )),
        "scratch": null(text("A scratch folder that another sweep uses, and that is waited for.")),
    },
    "started": {
        **CELL, "number": integer("Of those that are known to be started, from 1; of a warm-up 0."), "total": integer("How many these are."),
        "repeat": integer("Repeat of the cell, from 1."), "warm_up": flag("It will be in no number."),
        "argv": listed(text("A word of the command line.")), "estimate_s": number("Seconds that it will take."), "left_s": number("Seconds that all that is left will take, it included."),
    },
    "ended": {
        **CELL, "number": integer("As of its start."), "total": integer("As of its start, or more."),
        "repeat": integer("Repeat of the cell, from 1."), "warm_up": flag("It is in no number."), "run": integer("Its number in the file."),
        "status": STATUS, "reason": null(text("Why it is not ok.")), "wall_s": number("Seconds."),
        "headline": null(text("What it found, for people.")),
        "leading": null(record("The number that stands for it.", unit=text("Its base unit."), value=number("In the unit."))),
        "will_be_repeated": flag("It was disturbed, and is started again when all others are done."),
    },
    "disturbed": {**CELL, "repeat": integer("Repeat of the cell."), "run": integer("The run, as of its `ended`."), "disturbances": DISTURBANCES, "counted": COUNTED},
    "unsettled": {"cells": integer("Cells with `repeats: auto` that get another run.")},
    "error": dict(ERROR["properties"]),
    "done": {"result_file": null(text("Where results are kept; null: there is none, since it was stopped before, or no cell can run.")), "exit_status": integer("Of `pinsweep run`."), **_LEFT, "done_before": integer("Runs that were done before.")},
}  # fmt: skip


def _event(name: str, fields: dict[str, Schema]) -> dict[str, Any]:
    return record(
        "", event={"const": name, "description": "What happened."}, time_utc=text("When, ISO 8601."), **fields
    )


_HOSTS: Final[dict[str, Schema]] = {
        "id": text("The sweep."),
        "folder": text("Its folder."),
        "exit_status": integer("0: every host is done; 1: something failed, was lost, skipped or not submitted; 3: something runs, waits or is not known."),
        "problem": text('Why it is not known what runs now; "": it is.'),
        "hosts": mapped(record(
            "A host.", state=text("done, running, queued, unknown (nobody says whether it runs), not submitted, skipped, failed or lost."), reason=text("Why."),
            done=integer("Runs that are done."), runs=integer("Runs that there are to be; 0: not known."), disturbed=integer("Of those that are done: disturbed at every attempt."), job=scalar("The job."),
        ), "By name."),
        "differences": listed(record("What is not the same everywhere.", hosts=listed(text("A host.")), what=text("What."), here=text("What it is there."), others=text("What it is elsewhere."))),
}  # fmt: skip


ANSWERS: Final[Mapping[str, Schema]] = {
    "plan": record(
        "What `pinsweep run` would do.",
        seed=integer("Seed of the order of the runs."),
        runs_at_most=integer("Runs, if all cells with `repeats: auto` need all of theirs."),
        total_s=record(
            "Seconds.", estimate=number("What it will take."), at_most=number("The same, if all cells need all their repeats."),
            limit=number("What no sweep of it takes longer than: for a batch job."),
        ),
        time_limit=text("The limit as `sbatch -t` takes it."),
        scratch_bytes=integer("Bytes of all scratch files that it makes, each counted once; they are removed at its end."),
        warm_ups=listed(_PLANNED, "What comes first and is in no number."),
        runs=listed(_PLANNED, "In the order in which they start."),
        aliases=ALIASES,
        warnings=listed(text("What could not be known before.")),
        skipped=SKIPPED,
    ),
    "run": record(
        "What one call of `pinsweep run` did.",
        result_file=null(text("Where results are kept; null: no cell can run, and there was none before.")),
        exit_status=integer("0: every run is ok or disturbed; 1: a run failed, or no cell can run; 130: stopped."),
        seed=integer("Seed of the order of the runs."),
        **_LEFT,
        repeated=integer("Attempts that were disturbed, and that another one was to follow."),
        not_repeated=integer("Of these: that none has followed yet, since the sweep was stopped."),
        done_before=integer("Runs that were done before."),
        disturbed_before=integer("Of these: disturbed at every attempt."),
        failed=listed(record("A run without numbers.", **RUN), "Of the whole file, by the last attempt; why stands in `reason`."),
        disturbed=listed(record("A run without numbers.", **RUN), "Disturbed at every attempt so far."),
        skipped=SKIPPED,
        aliases=ALIASES,
        warnings=listed(text("What could not be known before.")),
        findings=listed(FINDING, "What the audit of the file finds."),
    ),
    "run-events": {
        "description": "One line of `pinsweep run --events ndjson`.",
        "oneOf": [_event(name, fields) for name, fields in _EVENT.items()],
    },
    "status": record("What became of each host of a sweep.", **_HOSTS),
    "plan-nodes": record(
        "What `run --nodes` would do: `plan --nodes`.",
        job=text("The script of the jobs."),
        submissions=mapped(text("A command, with HOST for the name."), "Host → what submits its job."),
        limits_min=mapped(integer("Minutes."), "Kind of host → time limit of its jobs."),
        warnings=listed(text("Which jobs get less time than they may take.")),
        **_HOSTS,
    ),
}  # fmt: skip
