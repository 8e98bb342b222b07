"""A comparison for programs: JSON, Markdown, JUnit XML, GitHub workflow commands. Pure.

Host names, titles and what tools print may hold anything; each format escapes what would be read as its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from xml.etree import ElementTree

from parsers.errors import UserError
from reports.compare import text as texts
from reports.compare.doubted import without
from reports.compare.matching import CellOfSide
from reports.compare.model import Again, Comparison, Row
from reports.compare.sides import Side
from reports.results.convicted import checks_of
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.json_text import json_text
from reports.text.plain import printable

FORMATS: Final = ("table", "json", "markdown", "junit", "github")


def render(comparison: Comparison, form: str) -> str:
    """Return the comparison in a format other than "table"; ends with a line end. Raises UserError for an unknown one."""
    if form not in _FORMATS:
        raise UserError("--format", f"{form!r} is not a form of a comparison", f"forms: {', '.join(FORMATS)}")
    return _FORMATS[form](comparison)


# --- JSON --------------------------------------------------------------------------------------------------


def as_json(comparison: Comparison) -> str:
    """Return everything, in base units; no number that JSON has no word for."""
    document = {
        "schema": 1,
        "sentence": texts.sentence(comparison),
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "by": comparison.by or None,
        "again": _again(comparison),
        "across_programs": list(comparison.across),
        "provisional": comparison.provisional,
        "clocks": list(comparison.clocks),
        "counts": {str(verdict): n for verdict, n in comparison.counts.items()}
        | {"no_verdict": len(comparison.once), "unmatched": len(comparison.unmatched)},
        "fingerprint": {
            "differs": [{"what": d.what, "a": d.a, "b": d.b} for d in comparison.fingerprint.differences],
            "agrees": list(comparison.fingerprint.agreed),
            "unknown": list(comparison.fingerprint.unknown),
        },
        "families": [
            {
                "name": f.name, "counts": dict(f.counts), "median_ratio": f.median_ratio, "tau": f.tau,
                "tau_source": f.tau_source, "threshold": f.decisions[0].threshold if f.decisions else None,
            }
            for f in comparison.families
        ],
        "cells": [_row(row, comparison.again) for row in comparison.rows],
        "unmatched": [
            {"side": u.side, "sweep": u.sweep, "cell": u.cell, "reason": u.reason} for u in comparison.unmatched
        ],
        "failures": [
            {"side": f.side, "sweep": f.sweep, "cell": f.cell, "reason": f.reason, **{name: {"failed": failed, "runs": runs} for name, (failed, runs) in (("a", f.a), ("b", f.b))}}
            for f in comparison.failures
        ],
        "modes": [
            {"name": m.name, "at": m.at, "unit": "ns", "share_a": m.share_a, "share_b": m.share_b, "by_chance": m.by_chance, "disturbed": list(m.disturbed)}
            for m in comparison.modes
        ],
        "shared": [
            {"axis": s.axis, "levels": [{"level": x.name or None, "cells": x.cells, **x.counts} for x in s.levels]}
            for s in comparison.shared
        ],
    }  # fmt: skip
    return json_text(document)


def _side(side: Side) -> dict[str, Any]:
    return {
        "title": side.title,
        "hosts": list(side.hosts),
        "files": sorted({run.file for run in side.runs}),
        "sessions": len(side.sessions),
        "evidence": side.evidence,
        "runs": len(side.runs),
        "left_out": len(side.left_out),
        "failed": len(side.failed),
    }


def _again(comparison: Comparison) -> dict[str, Any] | None:
    if (again := comparison.again) is None:
        return None
    sides = [
        {"side": one.name, **_side(one), "paths": sorted(str(path.absolute()) for path in one.files)}
        for one in again.sides
    ]
    return {
        "way": again.way, "why_only_b": again.why_only_b or None, "sides": sides,
        "asked": len(again.asked), "counts": comparison.counts_again,
        "numbers": again.in_turns + again.only_b, "in_turns": again.in_turns, "stored": again.stored,
        "not_repeatable": [{"sweep": one.sweep, "cell": one.cell, "reason": one.reason} for one in again.not_repeatable],
    }  # fmt: skip


def _row(row: Row, again: Again | None) -> dict[str, Any]:
    d = row.decision
    axes = {
        axis: value
        for axis, value in row.pair.a.values.items()
        if row.labels[axis] == row.pair.a.labels[axis]
    }
    return {
        "sweep": row.sweep, "tool": row.pair.a.tool, "cell": row.cell, "labels": {**row.labels, **axes}, "metric": row.number.title,
        "row": row.number.row, "unit": row.unit, "better": row.better, "derived": row.derived, "name": row.number.fields(),
        "verdict": "no_verdict" if row.once else row.verdict, "provisional": row.provisional,
        "asked": again is not None and d.key in again.asked, "again": again is not None and any(map(again.holds, row.pair.b.runs)),
        "a": {"median": row.median_a, "runs": list(row.a), "sessions": d.k_a, "doubtful": checks_of(row.doubts[0]), "point_ids": _cells(row.pair.a)},
        "b": {"median": row.median_b, "runs": list(row.b), "sessions": d.k_b, "doubtful": checks_of(row.doubts[1]), "point_ids": _cells(row.pair.b)},
        "ratio": d.ratio, "low": d.low, "high": d.high, "p": d.p, "q": d.q, "method": d.method,
        "sd": d.sd, "df": d.df, "tau": d.tau, "threshold": d.threshold, "resolution": d.resolution, "need_repeats": d.need_repeats,
        "need_sessions": d.need_sessions, "advice": str(d.advice or ""), "disturbed": list(d.unsure), "matched": row.pair.said,
        "doubtful": list(dict.fromkeys(key for ids in row.doubts for key in checks_of(ids))),
    }  # fmt: skip


def _cells(side: CellOfSide) -> list[str]:
    """Return the cells of a number, as every answer names them: of a curve's several."""
    return list(dict.fromkeys(run.record.point_id for run in side.runs))


# --- Markdown ----------------------------------------------------------------------------------------------

_MOST_ROWS: Final = 100


def as_markdown(comparison: Comparison) -> str:
    """Return the verdict, what differs, and the numbers that changed or are open as a table: for a pull request or a wiki.

    At most 100 rows: what is shown in a comment has limits.
    """
    head, comparison = texts.sentence(comparison), without(comparison)
    out = [f"**{_md(head)}**", ""]
    out += [f"- A: {_md(texts.side(comparison.a))}", f"- B: {_md(texts.side(comparison.b))}"]
    out += [f"- {_md(text)}" for text in texts.measured_again(comparison)]
    out += [f"- Failed in {_md(text)}" for text in texts.failed(comparison)]
    out += [f"- Different programs: {_md(text)}" for text in comparison.across]
    out += [f"- {_md(text)}" for text in filter(None, [comparison.backwards])]
    out += [f"- A clock was set: {_md(text)}" for text in comparison.clocks]
    out += [f"- Doubtful: {_md(text)}" for text in filter(None, [texts.doubted(comparison)])]
    out += [f"- Differs: {_md(d.what)}: {_md(d.a)} → {_md(d.b)}" for d in comparison.fingerprint.differences]
    rows = [
        *comparison.of("regressed"),
        *comparison.of("improved")[::-1],
        *comparison.of("inconclusive"),
        *comparison.once,
    ]
    if rows:
        out += [
            "",
            "| verdict | number | better | A | B | shift (typical pair) | 95 % | runs |",
            "|---|---|---|--:|--:|--:|--:|--:|",
        ]
    apart = texts.needs_differ(comparison.of("inconclusive"))
    for row in rows[:_MOST_ROWS]:
        need = texts.needed([row]) if apart else ""
        a, b, unit = texts.values(row)
        cells = (
            "no verdict" if row.once else f"**{row.word}**" if row.verdict == "regressed" else ", ".join(filter(None, (row.word, need))),
            f"{_md(row.name)}{texts.doubtful(row)}", texts.direction(row).removesuffix(" is better"), f"{a} {_md(unit)}".rstrip(), f"{b} {_md(unit)}".rstrip(), texts.shift(row),
            texts.interval(row.interval), f"{len(row.a)} + {len(row.b)}",
        )  # fmt: skip
        out.append(f"| {' | '.join(cells)} |")
    if len(rows) > _MOST_ROWS:
        out.append(f"\nand {fmt.count(len(rows) - _MOST_ROWS)} more")
    groups = texts.absent(comparison.unmatched)
    moved = [f"- {_md(texts.mode_shift(shift))}" for shift in comparison.modes]
    for lines in (moved, [f"- Not compared: {_md(group.text)}" for group in groups[:20]]):
        out += ["", *lines] if lines else []
    if len(groups) > 20:
        out.append(f"- and {fmt.plural(len(groups) - 20, 'more reason')}")
    out += ["", _md(texts.noise(comparison))]
    return "\n".join(out).rstrip() + "\n"


def _md(text: str) -> str:
    """Escape what Markdown or HTML would take for its own, and lay a text on one line."""
    plain = re.sub(r"([\\`*_{}\[\]|~#$])", r"\\\1", " ".join(printable(text).split(" ")))
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


# --- JUnit -------------------------------------------------------------------------------------------------


def as_junit(comparison: Comparison) -> str:
    """Return a test suite per metric, a test case per number: regressed is a failure, without a verdict is skipped.

    A cell of which more runs failed in B than in A is an error, in a suite of its own; so is what only one side has, skipped. The elements are those that Jenkins, GitLab and GitHub's actions read.
    """
    root = ElementTree.Element("testsuites", {"name": "pinsweep compare"})
    for name, rows in group_by(comparison.rows, lambda row: row.decision.family).items():
        suite = _suite(root, name)
        properties = ElementTree.SubElement(suite, "properties")
        for what, said in [
            ("verdict", texts.sentence(comparison)), ("A", texts.side(comparison.a)), ("B", texts.side(comparison.b)),
            *(("different programs", text) for text in comparison.across),
            *(("a clock was set", text) for text in comparison.clocks),
            *(("doubtful", text) for text in filter(None, [texts.doubted(comparison)])),
        ]:  # fmt: skip
            ElementTree.SubElement(properties, "property", {"name": what, "value": _xml(said)})
        for row in rows:
            case = _case(suite, row.place, row.number.words)
            said = f"{texts.from_to(row)}, {texts.moved(row, '95 %: ')}"
            if row.interval:
                said += f", {texts.runs(row)}{texts.provisional(row)}"
            if row.once or row.verdict == "inconclusive":
                ElementTree.SubElement(
                    case, "skipped", {"message": _xml(f"{said}; {row.decision.advice or ''}".rstrip("; "))}
                )
            elif row.verdict == "regressed":
                failure = ElementTree.SubElement(
                    case, "failure", {"message": _xml(f"{said}{texts.doubtful(row)}"), "type": "regressed"}
                )
                failure.text = _xml(f"{row.name}\n{said}\n{texts.direction(row)}")
            said = f"{row.word}: {said}{texts.doubtful(row)}"
            if row.doubt or row.verdict in ("same", "improved"):
                ElementTree.SubElement(case, "system-out").text = _xml(said)
        _count(suite)
    if comparison.broken:
        suite = _suite(root, "failed")
        for one in comparison.broken:
            case = _case(suite, ", ".join(filter(None, (one.sweep, one.cell))), "runs")
            ElementTree.SubElement(
                case, "error", {"message": _xml(f"failed in B: {one.with_reason}"), "type": "failed"}
            )
        _count(suite)
    lost = {(one.sweep, one.cell) for one in comparison.broken if one.wholly}
    if alone := [u for u in comparison.unmatched if u.side != "A" or u.part or (u.sweep, u.cell) not in lost]:
        suite = _suite(root, "not compared")
        for item in alone:
            has = "both" if item.part else f"only {item.side}" if item.side in "AB" else item.side
            where = f"{has}: {item.cell or item.sweep}"
            ElementTree.SubElement(_case(suite, item.sweep, where), "skipped", {"message": _xml(item.reason)})
        _count(suite)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    root.set("time", "0")
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(root, "testsuite", {"name": _xml(name), "time": "0"})


def _case(suite: ElementTree.Element, place: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(
        suite, "testcase", {"classname": _xml(place), "name": _xml(name), "time": "0"}
    )


def _count(suite: ElementTree.Element) -> None:
    suite.set("tests", str(len(suite.findall("testcase"))))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))


_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x84\x86-\x9f]")


def _xml(text: str) -> str:
    """Replace what XML 1.0 forbids even as a reference (and the controls it discourages); ElementTree escapes the rest."""
    return _NOT_XML.sub("\ufffd", text)


# --- GitHub ------------------------------------------------------------------------------------------------

_MOST_ANNOTATIONS: Final = 10
"""GitHub shows ten of each level a step."""


def as_github(comparison: Comparison) -> str:
    """Return workflow commands: an error for each cell whose runs failed in B alone and for each number that regressed (ten at most), a warning that
    names what a check doubts, a notice with the verdict."""
    regressed = comparison.of("regressed")
    out = [
        f"::error title={_property(f'failed: {one.sweep}')}::{_data(one.with_reason)}" for one in comparison.broken
    ] + [
        f"::error title={_property(f'{row.word}: {row.name}')}::"
        + _data(f"{texts.from_to(row)}, {texts.moved(row, '95 %: ')}, {texts.runs(row)}{texts.provisional(row)}{texts.doubtful(row)}")
        for row in regressed
    ]  # fmt: skip
    del out[_MOST_ANNOTATIONS:]
    if doubted := texts.doubted(comparison):
        out.append(f"::warning title=doubtful::{_data(doubted)}")
    summary = texts.sentence(comparison)
    if alone := texts.alone(
        [u for u in comparison.unmatched if u.side == "both" or u.part]
    ):  # cells it has told
        summary += f" Not compared: {alone}."
    summary += "".join(f" A clock was set: {text}." for text in comparison.clocks)
    if comparison.across:
        summary += f" Different programs: {'; '.join(comparison.across)}."
    level = "warning" if regressed or comparison.failures else "notice"
    out.append(f"::{level} title=pinsweep compare::{_data(summary)}")
    return "\n".join(out) + "\n"


def _data(text: str) -> str:
    """Escape a message: a line end in it would begin a command of its own."""
    return _plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _plain(text: str) -> str:
    """Replace control characters but line ends; a log is read in a terminal, too."""
    return "".join(c if c in "\r\n" else printable(c) for c in text)


_FORMATS: Final[Mapping[str, Callable[[Comparison], str]]] = {
    "json": as_json, "markdown": as_markdown, "junit": as_junit, "github": as_github,
}  # fmt: skip
