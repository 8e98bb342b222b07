"""What is said of result files and of captured texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from reports.schemas._sweep import ALIASES, CELL, FINDING, RUN, SKIPPED
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

BETTER: Final = one_of("Which way is better.", "higher", "lower", "neither")
UNIT: Final = text("A base unit: ns, B, B/s, 1/s; 1: a plain number; or the one of the experiment.")
DOUBTFUL: Final = listed(text("A check: F1."), "The checks that doubt it; docs/audit.md.")
FLAGS: Final = listed(
    record("What its reader must know.", id=text("For programs: stand_in, truncated …"), text=text("For people.")),
)  # fmt: skip

NAME: Final[dict[str, Schema]] = {
    "metric": text("The quantity: bandwidth, latency, IOPS."),
    "statistic": null(text("Of a run's distribution: p99, mean; null: the run has one value.")),
    "unit": UNIT,
    "better": BETTER,
    "kind": null(text("Which of the tool's benchmarks, where it has several.")),
    "labels": mapped(
        anything("The value."), "What tells it from the others of its run: direction=read, kernel=triad."
    ),
    "derived": flag("Computed from a curve, not read."),
}

_NUMBER: Final = record(
    "A number of a cell.",
    number=text("Its name, for people."),
    **NAME,
    median=number("Median of these runs, in the unit."),
    low=number("The lowest of them."),
    high=number("The highest."),
    runs=listed(
        integer("A run."),
        "Those that have it. Fewer than the cell's: the others have too few samples for this quantile, or their load never reached it; of the cell it is not told then, in no other answer.",
    ),
    values=listed(number("A run's."), "In the order of these `runs`."),
    doubtful=DOUBTFUL,
)

_SHOWN: Final = record(
    "A result file; with RUN instead: one run in detail (`argv`, `placement`, `numbers` …).",
    files=mapped(text("Where it lies."), "The file, by the end of its path."),
    title=null(text("Of the experiments.")),
    sessions=listed(record(
        "A call of `pinsweep run`, or of `parse`.",
        file=text("The file."), session=integer("From 1 in its file."), host=text("Where."), started_utc=text("When, ISO 8601."),
        pinsweep=text("The version."), seed=null(integer("Of the order.")),
        facts=mapped(anything("A fact, as it was read."), "What was recorded of the machine; names that end in _bytes are in bytes."),
    )),
    cells=listed(record(
        "A cell, measured by one program.",
        **CELL,
        file=text("The file."), host=text("Where."), place=null(text("The place, as the experiment has it.")), relation=null(text("The same in relative words: local, remote.")),
        program=text("What measured."), program_version=null(text("Its version.")), stand_in=flag("pinsweep's own kernel measured."),
        runs=listed(integer("A run."), "Its repeats."),
        disturbed=flag("All its repeats were disturbed: its numbers are in no other answer."),
        doubtful=DOUBTFUL, flags=FLAGS, headline=text("What it found, for people."),
        leading=null(record(
            "The number that stands for the cell.", what=text("In words."), number=null(text("What it is called in `numbers`; null: it is none of them.")),
            better=BETTER, unit=UNIT, median=number("Median of the repeats."), low=number("Lowest of the repeats."), high=number("Highest of the repeats."),
        )),
        numbers=listed(_NUMBER),
    )),
    runs=listed(record("Every attempt.", **RUN)),
    without_numbers=record(
        "What has no numbers, by the last attempt.",
        failed=listed(integer("A run.")), disturbed=listed(integer("A run.")),
        missing=listed(record("A cell of which repeats lack numbers.", **CELL, repeats=integer("How many."))),
    ),
    skipped=SKIPPED,
    aliases=ALIASES,
)  # fmt: skip

_RUN_IN_DETAIL: Final = record(
    "One run: `show RESULT RUN`.",
    **RUN,
    program_version=null(text("Its version.")),
    stand_in=flag("pinsweep's own kernel measured."),
    argv=listed(text("A word of the command line.")),
    env=mapped(text("The value."), "What was added to the environment."),
    placement=null(mapped(anything("See the schema `plan`."), "Where it was to run.")),
    seen=null(mapped(anything("As it was read."), "Where it was seen: of /proc while it ran.")),
    flags=FLAGS,
    numbers=listed(_NUMBER),
)

_ROW: Final = {
    "type": "object",
    "description": "A row of a table, in base units; what it has no value for is left out or null.",
    "additionalProperties": scalar("A label, or a value."),
}

_LEFT: Final = listed(record(
    "A text that was not taken.", file=text("The text."), reason=text("Why."),
    failed=flag("It was named: exit status 1. Else it was found in a folder and skipped."), missing=flag("There is no such file: exit status 2."),
))  # fmt: skip

ANSWERS: Final[Mapping[str, Schema]] = {
    "show": _SHOWN,
    "show-run": _RUN_IN_DETAIL,
    "parse": {
        **record(
            "What captured texts say.",
            measurements=listed({
                "type": "object", "description": "A number; beside these members its labels.",
                "required": ["file", "metric", "unit", "value"],
                "properties": {"file": text("The text."), "metric": text("The quantity."), "unit": UNIT, "value": null(number("In the unit."))},
                "additionalProperties": scalar("A label."),
            }),
            facts=listed(record("What a text says once.", file=text("The text."), name=text("The fact."), value=scalar("Its value."))),
            flags=listed(record("What the reader must know.", file=text("The text."), id=text("For programs."), text=text("For people."))),
            left=_LEFT,
        ),
        "additionalProperties": listed(_ROW, "Another table of the tool: file, then its columns; times in ns, sizes in B."),
    },
    "parse-into": record(
        "What `parse -o RESULT` kept.",
        result_file=text("The result file."), added=integer("Runs that are new in it."), known=integer("Runs that it held already."),
        notes=listed(text("What the user should know.")), left=_LEFT,
    ),
    "export": {
        "description": "A row for each number of `--shape long`; of `--shape wide` a row for each line of the tool's table, with columns \"METRIC [UNIT]\".",
        "type": "array",
        "items": {
            "type": "object",
            "required": ["tool"],
            "properties": {
                "tool": text("The tool."), "file": text("The result file, by the end of its path."), "host": null(text("Where.")),
                "session": null(integer("From 1 in its file.")), "sweep": text("The sweep."), "point_id": text("The cell."), "run_id": integer("The run."),
                "repeat": integer("From 1."), "place": null(text("The place, as the experiment has it.")), "relation": null(text("The same in relative words.")),
                "program": text("What measured."), "doubted_by": null(text("The checks that doubt the cell: F1, F7.")), "program_version": null(text("Its version.")),
                "program_sha256": null(text("Of the file that was started.")), "metric": text("The quantity; in the long shape."), "unit": UNIT, "value": null(number("In the unit.")),
            },
            "additionalProperties": anything("An option or a label, by its own name."),
        },
    },
    "audit": record("What cannot be true.", findings=listed(FINDING, "The gravest first; exit status 1 if one is an error.")),
    "report": record(
        "What was written.",
        page=null(text("The HTML page; null with --lab alone.")),
        lab=null(record(
            "The lab report.", folder=text("Its folder."), files=listed(text("A file in it.")),
            edited=listed(record("A file that was edited and is kept.", file=text("Its name."), new=null(text("The new one beside it.")))),
            of_earlier_report=listed(text("A file of an earlier report that was left.")),
            no_pdf=null(record("Why there is no PDF.", reason=text("Why."), hint=text("What to do."))),
        )),
    ),
}  # fmt: skip
