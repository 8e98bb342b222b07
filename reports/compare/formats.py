"""A comparison for programs: JSON, Markdown, JUnit XML, GitHub workflow commands. Pure. Each escapes what would be read as its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from xml.etree import ElementTree

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


def render(found: Comparison, form: str) -> str:
    """Return the comparison as "json", "markdown", "junit" or "github"; it ends with a line end."""
    return {"json": as_json, "markdown": as_markdown, "junit": as_junit, "github": as_github}[form](found)


def as_json(found: Comparison) -> str:
    """Return everything, in base units."""
    counts = found.counts
    answer = {
        "schema": 1,
        "sentence": verdict(found),
        "a": _side(found.a),
        "b": _side(found.b),
        "by": found.by or None,
        "again": _again(found.again) if found.again else None,
        "across_programs": list(found.programs),
        "provisional": found.provisional,
        "clocks": found.clocks,
        "counts": {**counts, "no_verdict": len(found.verdicts) - sum(counts.values()), "unmatched": len(found.unmatched)},
        "fingerprint": {
            "differs": [{"what": d.what, "a": d.a, "b": d.b} for d in found.fingerprint.differences],
            "agrees": list(found.fingerprint.agreed),
            "unknown": list(found.fingerprint.unknown),
        },
        "families": [
            {
                "name": f.name, "counts": dict(f.counts), "median_ratio": f.median_ratio, "tau": f.tau, "tau_source": f.tau_source,
                "threshold": found.rules.threshold_of(f.name),
            }
            for f in found.families
        ],
        "cells": [_row(found, row) for row in records(found.verdicts)],
        "unmatched": [
            {name: row[name] for name in ("side", "sweep", "cell", "numbers", "reason", "detail")} for row in records(found.unmatched)
        ],
        "failures": [
            {name: row[name] for name in ("side", "sweep", "cell", "reason")}
            | {side: {"failed": row[f"failed_{side}"], "runs": row[f"runs_{side}"]} for side in "ab"}
            for row in records(found.failures)
        ],
        "modes": [
            {
                "name": f"{where(row)}: {row['number']}", "unit": "ns", **{name: row[name] for name in ("at", "share_a", "share_b", "by_chance")},
                "disturbed": checks_of(row["disturbed"]),
            }
            for row in records(found.modes)
        ],
    }  # fmt: skip
    return json_text(answer)


def _side(side: Side) -> dict[str, Any]:
    fates = side.runs["fate"]
    return {
        "title": side.title, "hosts": side.hosts, "files": sorted(set(side.usable["file"])), "sessions": len(side.sessions),
        "evidence": int(side.sessions["evidence"].nunique()), "runs": int((fates == "").sum()), "left_out": int((fates == "left out").sum()),
        "failed": int((fates == "failed").sum()),
    }  # fmt: skip


def _again(again: Again) -> dict[str, Any]:
    sides = [
        {"side": s.name, **_side(s), "paths": sorted(str(path.absolute()) for path in s.files)}
        for s in again.sides
    ]
    return {
        "way": again.way, "why_only_b": again.why_only_b or None, "sides": sides, "asked": len(again.keys), "counts": dict(again.counts),
        "numbers": again.in_turns + again.only_b, "in_turns": again.in_turns, "stored": again.stored,
        "not_repeatable": [dict(zip(("sweep", "cell", "reason"), row, strict=True)) for row in again.not_repeatable],
    }  # fmt: skip


_DECIDED: Final = (
    "ratio", "low", "high", "p", "q", "method", "sd", "df", "tau", "threshold", "resolution", "need_repeats", "need_sessions",
)  # fmt: skip


def _row(found: Comparison, row: Mapping[str, Any]) -> dict[str, Any]:
    name = row["name"]
    flags = {side: checks_of(row[f"flags_{side}"]) for side in "ab"}
    part = {label: str(value) for label, value in name.part}
    axes = {axis: level for axis, level in row["axes"].items() if part.get(axis, str(level)) == str(level)}
    sides = {
        side: {
            "median": row[f"median_{side}"], "runs": list(row[side]), "sessions": row[f"k_{side}"], "doubtful": flags[side],
            "point_ids": row[f"points_{side}"],
        }
        for side in "ab"
    }  # fmt: skip
    return {
        "sweep": row["sweep"], "tool": row["tool"], "cell": row["cell"],
        "labels": {**part, "metric": name.quantity, "sweep": row["sweep"], "tool": row["tool"], **axes},
        "metric": name.title, "row": name.row, "unit": name.unit, "better": name.better, "derived": name.derived, "name": name.fields(),
        "verdict": row["verdict"] or "no_verdict", "provisional": row["provisional"],
        "asked": found.again is not None and row["key"] in found.again.keys, "again": row["again"], **sides,
        **{key: row[key] for key in _DECIDED}, "advice": str(row["advice"] or ""), "disturbed": list(row["unsure"]),
        "matched": row["how"], "doubtful": list(dict.fromkeys(flags["a"] + flags["b"])),
    }  # fmt: skip


def as_markdown(found: Comparison) -> str:
    """Return the answer for a pull request or a wiki."""
    answer = document(found)
    return markdown.render(Document(title=title(found), blocks=answer.blocks))


def as_junit(found: Comparison) -> str:
    """Return a suite per kind of number and a case per number: a regression is a failure, a number without a verdict is skipped.

    Cells of which more runs failed in B are errors in a suite "failed"; what is not compared is skipped in a suite "not compared".
    """
    root = ElementTree.Element("testsuites", {"name": "pinsweep compare", "time": "0"})
    texts = [("verdict", verdict(found)), *(("warning", text) for text in warnings(found))]
    for family, rows in group_by(records(found.verdicts), lambda row: row["family"]).items():
        suite = _suite(root, family)
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in texts:
            ElementTree.SubElement(properties, "property", {"name": name, "value": _xml(value)})
        for row in rows:
            text = f"{word(found, row['verdict'])}: {describe_change(row)}"
            kind = (
                "skipped"
                if row["verdict"] in ("", "inconclusive")
                else "failure"
                if row["verdict"] == "regressed"
                else ""
            )
            advice = f"; {row['advice']}" if row["advice"] else ""
            case = _case(suite, where(row), row["name"].words, kind, text + advice)
            ElementTree.SubElement(case, "system-out").text = _xml(text)
    for row in records(found.broken):
        text = f"{row['failed_b']} of {row['runs_b']} runs failed in B, {row['failed_a']} of {row['runs_a']} in A: {row['reason']}"
        _case(_suite(root, "failed"), where(row), "runs", "error", text)
    for row in records(found.unmatched):
        text = f"{row['reason']} {row['detail']}".strip()
        _case(
            _suite(root, "not compared"),
            where(row),
            f"{row['side']}: {row['numbers'] or 'all numbers'}",
            "skipped",
            text,
        )
    for suite in root:
        for key, tag in (
            ("tests", "testcase"),
            ("failures", "testcase/failure"),
            ("errors", "testcase/error"),
            ("skipped", "testcase/skipped"),
        ):
            suite.set(key, str(len(suite.findall(tag))))
            root.set(key, str(int(root.get(key, "0")) + len(suite.findall(tag))))
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, name: str) -> ElementTree.Element:
    """Return the suite of a name, a new one if the last has another."""
    if len(root) and root[-1].get("name") == _xml(name):
        return root[-1]
    return ElementTree.SubElement(root, "testsuite", {"name": _xml(name), "time": "0"})


def _case(suite: ElementTree.Element, place: str, name: str, kind: str, text: str) -> ElementTree.Element:
    """Add a case. kind: "failure", "error", "skipped"; "" of one that passed."""
    case = ElementTree.SubElement(
        suite, "testcase", {"classname": _xml(place), "name": _xml(name), "time": "0"}
    )
    if kind:
        ElementTree.SubElement(
            case, kind, {"message": _xml(text)} | ({} if kind == "skipped" else {"type": kind})
        )
    return case


def _xml(text: str) -> str:
    """Replace what XML 1.0 forbids even as a reference."""
    return _NOT_XML.sub("\ufffd", text)


def as_github(found: Comparison) -> str:
    """Return workflow commands: an error per cell that failed in B and per regression (ten at most), and a notice with the verdict."""
    regressed = records(found.verdicts[found.verdicts["verdict"] == "regressed"])
    errors = [
        (f"failed: {where(row)}", f"{row['failed_b']} of {row['runs_b']} runs failed in B: {row['reason']}")
        for row in records(found.broken)
    ]
    worse = word(found, "regressed")
    errors += [(f"{worse}: {where(row)}: {row['name'].words}", describe_change(row)) for row in regressed]
    lines = [f"::error title={_property(name)}::{_data(text)}" for name, text in errors]
    del lines[_MAX_ANNOTATIONS:]
    level = "warning" if regressed or len(found.failures) else "notice"
    lines.append(f"::{level} title=pinsweep compare::{_data('. '.join([verdict(found), *warnings(found)]))}")
    return "\n".join(lines) + "\n"


def _data(text: str) -> str:
    """Escape a message: a line end in it would begin a command."""
    plain = "".join(c if c in "\r\n" else printable(c) for c in text)
    return plain.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
