"""A comparison for programs: JSON, Markdown, JUnit XML, GitHub workflow commands. Pure. Each escapes what would be read
as its own."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Hashable, Mapping
from typing import Any, Final

from reports.compare.comparison import Again, Comparison
from reports.compare.document import describe_change, document, title, verdict, warnings, where, word
from reports.compare.sides import Side
from reports.document import Document
from reports.measurements import records
from reports.render import markdown
from reports.results.convicted import checks_of
from reports.results.grouping import group_by
from reports.text.json_text import json_text
from reports.text.plain import printable

_MAX_ANNOTATIONS: Final = 10
"""GitHub shows so many of each level per step."""

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x84\x86-\x9f]")


def render(result: Comparison, form: str) -> str:
    """Return the comparison as "json", "markdown", "junit" or "github"; it ends with a line end."""
    return {"json": as_json, "markdown": as_markdown, "junit": as_junit, "github": as_github}[form](result)


def as_json(result: Comparison) -> str:
    """Return everything, in base units."""
    counts, again = result.counts, result.again
    undecided = len(result.verdicts) - sum(counts.values())
    answer = {
        "schema": 1,
        "sentence": verdict(result),
        "a": _side(result.a),
        "b": _side(result.b),
        "by": result.by or None,
        "again": _again(again) if again else None,
        "across_programs": list(result.programs),
        "provisional": result.provisional,
        "clocks": result.clocks,
        "counts": {**counts, "no_verdict": undecided, "unmatched": len(result.unmatched)},
        "fingerprint": {
            "differs": [dataclasses.asdict(line) for line in result.fingerprint.differences],
            "agrees": list(result.fingerprint.agreed),
            "unknown": list(result.fingerprint.unknown),
        },
        "families": [
            {
                **{name: getattr(family, name) for name in ("name", "counts", "median_ratio", "tau", "tau_source")},
                "threshold": result.rules.threshold_of(family.name),
            }
            for family in result.families
        ],
        "cells": [_row(row, again.keys if again else ()) for row in records(result.verdicts)],
        "unmatched": records(result.unmatched.drop(columns="kind")),
        "failures": [
            {name: row[name] for name in ("side", "sweep", "cell", "reason")}
            | {side: {"failed": row[f"failed_{side}"], "runs": row[f"runs_{side}"]} for side in "ab"}
            for row in records(result.failures)
        ],
        "modes": [
            {"name": f"{where(row)}: {row['number']}", "unit": "ns", "disturbed": checks_of(row["disturbed"])}
            | {name: row[name] for name in ("at", "share_a", "share_b", "by_chance")}
            for row in records(result.modes)
        ],
    }
    return json_text(answer)


def _side(side: Side) -> dict[str, Any]:
    fates = side.runs["fate"].value_counts()
    counts = {"runs": "", "left_out": "left out", "failed": "failed"}
    return {
        "title": side.title,
        "hosts": side.hosts,
        "files": sorted(set(side.usable["file"])),
        "sessions": len(side.sessions),
        "evidence": int(side.sessions["evidence"].nunique()),
        **{name: int(fates.get(fate, 0)) for name, fate in counts.items()},
    }


def _again(again: Again) -> dict[str, Any]:
    return {
        "way": again.way,
        "why_only_b": again.why_only_b or None,
        "sides": [
            {
                "side": s.name,
                **_side(s),
                "paths": sorted(str(path.absolute()) for path in s.results.paths.values()),
            }
            for s in again.sides
        ],
        "asked": len(again.keys),
        "counts": again.counts,
        "numbers": again.in_turns + again.only_b,
        "in_turns": again.in_turns,
        "stored": again.stored,
        "not_repeatable": [dict(zip(("sweep", "cell", "reason"), row, strict=True)) for row in again.not_repeatable],
    }


_COLUMNS: Final = [
    "sweep",
    "tool",
    "cell",
    "provisional",
    "again",
    "ratio",
    "low",
    "high",
    "p",
    "q",
    "method",
    "sd",
    "df",
    "tau",
    "threshold",
    "resolution",
    "need_repeats",
    "need_sessions",
]
"""Of `Comparison.verdicts`, under the same name."""


def _row(row: Mapping[str, Any], asked: Collection[Hashable]) -> dict[str, Any]:
    name = row["name"]
    part = {label: str(value) for label, value in name.part}
    axes = {axis: level for axis, level in row["axes"].items() if part.get(axis, str(level)) == str(level)}
    flags = [checks_of(row[f"flags_{side}"]) for side in "ab"]
    sides = {
        side: {
            "median": row[f"median_{side}"],
            "runs": row[side],
            "sessions": row[f"k_{side}"],
            "doubtful": flags[n],
            "point_ids": row[f"points_{side}"],
        }
        for n, side in enumerate("ab")
    }
    return {
        **{column: row[column] for column in _COLUMNS},
        "labels": {**part, "metric": name.quantity, "sweep": row["sweep"], "tool": row["tool"], **axes},
        "metric": name.title,
        "row": name.row,
        "unit": name.unit,
        "better": name.better,
        "derived": name.derived,
        "name": name.fields(),
        "verdict": row["verdict"] or "no_verdict",
        "asked": row["key"] in asked,
        **sides,
        "advice": row["advice"] or "",
        "disturbed": row["unsure"],
        "matched": row["how"],
        "doubtful": list(dict.fromkeys([*flags[0], *flags[1]])),
    }


def as_markdown(result: Comparison) -> str:
    """Return the answer for a pull request or a wiki."""
    return markdown.render(Document(title=title(result), blocks=document(result).blocks))


def as_junit(result: Comparison) -> str:
    """Return a suite per kind of number and a case per number: a regression is a failure, a number without a verdict is
    skipped.

    Cells of which more runs failed in B are errors in a suite "failed"; what is not compared is skipped in a suite "not
    compared".
    """
    from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

    outcomes = {"regressed": Failure, "inconclusive": Skipped, "": Skipped}
    rows: list[tuple[str, str, str, str, Any]] = []
    for row in records(result.verdicts):
        advice = f"; {row['advice']}" if row["advice"] else ""
        text = f"{word(result, row['verdict'])}: {describe_change(row)}{advice}"
        rows.append((row["family"], where(row), row["name"].words, text, outcomes.get(row["verdict"])))
    for row in records(result.broken):
        text = f"{_failed(row)}, {row['failed_a']} of {row['runs_a']} in A: {row['reason']}"
        rows.append(("failed", where(row), "runs", text, Error))
    for row in records(result.unmatched):
        name = f"{row['side']}: {row['numbers'] or 'all numbers'}"
        rows.append(("not compared", where(row), name, f"{row['reason']} {row['detail']}".strip(), Skipped))
    root = JUnitXml("pinsweep compare")
    for family, cases in group_by(rows, lambda row: row[0]).items():
        suite = TestSuite(_xml(family))
        for name, value in (("verdict", verdict(result)), *(("warning", text) for text in warnings(result))):
            suite.add_property(name, _xml(value))
        for _, place, name, text, outcome in cases:
            case = TestCase(_xml(name), _xml(place), 0)
            case.system_out = _xml(text)
            if outcome:
                case.result = [outcome(_xml(text), None if outcome is Skipped else outcome.__name__.lower())]
            suite.add_testcase(case)
        root.add_testsuite(suite)
    root.update_statistics()
    return str(root.tostring().decode()) + "\n"


def _failed(row: Mapping[str, Any]) -> str:
    return f"{row['failed_b']} of {row['runs_b']} runs failed in B"


def _xml(text: str) -> str:
    """Replace what XML 1.0 forbids even as a reference."""
    return _NOT_XML.sub("\ufffd", text)


def as_github(result: Comparison) -> str:
    """Return workflow commands: an error per cell that failed in B and per regression (ten at most), and a notice with
    the verdict."""
    regressed = records(result.verdicts[result.verdicts["verdict"] == "regressed"])
    errors = [(f"failed: {where(row)}", f"{_failed(row)}: {row['reason']}") for row in records(result.broken)]
    worse = word(result, "regressed")
    errors += [(f"{worse}: {where(row)}: {row['name'].words}", describe_change(row)) for row in regressed]
    lines = [f"::error title={_property(name)}::{_data(text)}" for name, text in errors]
    del lines[_MAX_ANNOTATIONS:]
    level = "warning" if regressed or len(result.failures) else "notice"
    lines.append(f"::{level} title=pinsweep compare::{_data('. '.join([verdict(result), *warnings(result)]))}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    """Escape a message: a line end in it would begin a command."""
    plain = "".join(c if c in "\r\n" else printable(c) for c in text)
    return plain.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
