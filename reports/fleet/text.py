"""A fleet's verdict for a terminal and for programs. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from reports.checks.doubts import LEGEND, mark
from reports.draw.figure import MARK
from reports.fleet.outliers import Group, Odd, Report
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.columns import columns, wrapped
from reports.text.hostlist import folded
from reports.text.plain import printable
from reports.verdicts.fleet import Status

SAID: Final[Mapping[Status, str]] = {"unknown": "not judged"}

_NUMBERS_PER_HOST = 5
_HOSTS = 30
_MISSING = 20


def as_text(report: Report, *, everything: bool = False) -> str:
    """Return the verdict, the worst first. `everything`: all numbers of each odd host, not the five worst."""
    blocks = [_verdict(report), *_groups(report), _odd(report, everything), _everywhere(report)]
    blocks += [
        _gaps(report, everything),
        _differing(report),
        _unlike(report),
        _unmatched(report),
        _missing(report, everything),
    ]
    blocks.append(LEGEND if report.doubted else "")
    blocks.append("\n".join(f"warning: {printable(text)}" for text in report.warnings))
    return "\n\n".join(filter(None, blocks))


def summary(report: Report) -> str:
    """Return "40 hosts: 36 ok, 3 slow, 1 suspicious", the worst first."""
    counts = {word: len(names) for word, names in report.by_status().items()}
    told = ", ".join(f"{n} {SAID.get(word, word)}" for word, n in counts.items() if n)
    return f"{fmt.plural(len(report.statuses), 'host')}: {told}"


def doubtful(report: Report) -> str:
    """Return "⚠ doubtful: node[003,017] (F1), node005 (G11)": the odd hosts of whose odd numbers a check doubts one; "" of none."""
    alike = group_by(report.doubted.items(), lambda one: one[1])
    told = [f"{folded(host for host, _ in own)} ({ids})" for ids, own in alike.items()]
    return f"{MARK} doubtful: {', '.join(told)}" if told else ""


def _verdict(report: Report) -> str:
    rows = [(SAID.get(word, word), folded(names)) for word, names in report.by_status().items() if names]
    return "\n".join([summary(report), *columns(rows, indent=2), *wrapped(doubtful(report), first="  ")])


def _groups(report: Report) -> Iterable[str]:
    lines = []
    for group in report.groups:
        head = f"{fmt.plural(len(group.hosts), 'host')}: {group.hardware.name}"
        lines.append(printable(head))
        if group.apart:
            lines.append(printable(f"  {folded(group.hosts)}: {group.apart}"))
        if not group.judged:
            lines.append(
                "  fewer than 8 such hosts: not judged by each other; give sessions of good ones with --baseline"
            )
        if unseen := group.unseen(report.threshold):
            lines.append(f"  {unseen}")
        if group.baseline:
            lines.append(f"  compared with a baseline of {fmt.plural(group.baseline, 'session')}")
    if lines:
        yield "\n".join(lines)


def _odd(report: Report, everything: bool) -> str:
    if not report.odd:
        return ""
    rows = [("host", "verdict", "number", "value", "median", "change", "z", "sessions")]
    shown: dict[str, int] = {}
    left: dict[str, int] = {}
    for odd in report.odd:
        shown[odd.host] = shown.get(odd.host, 0) + 1
        if len(shown) > _HOSTS and not everything:
            continue
        if shown[odd.host] > _NUMBERS_PER_HOST and not everything:
            left[odd.host] = left.get(odd.host, 0) + 1
            continue
        unit, found = odd.series.said_unit, odd.found
        rows.append(
            (
                odd.host if shown[odd.host] == 1 else "", found.status,
                odd.series.name + (f" ({found.reason})" if found.reason else "") + mark(found.doubt),
                fmt.quantity(found.value, unit), fmt.quantity(odd.strip.middle, unit), fmt.change(odd.change),
                fmt.number(found.z, 2), str(found.runs),
            )
        )  # fmt: skip
    lines = columns(rows, right=frozenset({3, 4, 5, 6, 7}))
    lines += [
        f"{printable(host)}: {fmt.plural(n, 'more number', 'more numbers')} (--all lists them)"
        for host, n in left.items()
    ]
    if len(shown) > _HOSTS and not everything:
        lines.append(f"{len(shown) - _HOSTS} more hosts with odd numbers (--all lists them)")
    return "\n".join(lines)


def _everywhere(report: Report) -> str:
    return "\n".join(
        printable(
            f"{e.name}: slightly slow everywhere, {fmt.percent(e.worse)} worse on average over {e.metrics} numbers (z {fmt.number(e.z, 2)})"
            + ("" if e.confirmed else "; fewer than three sessions: a suspicion")
            + mark(e.doubt)
        )
        for e in report.everywhere
    )


def _gaps(report: Report, everything: bool) -> str:
    shown = report.gaps if everything else report.gaps[:_MISSING]
    lines = [printable(gap.text) for gap in shown]
    if len(shown) < len(report.gaps):
        lines.append(f"and {len(report.gaps) - len(shown)} more gaps (--all lists them)")
    return "\n".join(lines)


def _differing(report: Report) -> str:
    if not report.differing:
        return ""
    lines = [f"  {host}: {'; '.join(words)}" for host, words in report.differing.items()]
    return "\n".join(["what else is special about these hosts", *map(printable, lines)])


def _unlike(report: Report) -> str:
    lines = [f"  {folded(one.hosts)}: {one.text}" for one in report.unlike]
    return "\n".join(["measured with something else", *map(printable, lines)]) if lines else ""


def _unmatched(report: Report) -> str:
    lines = [f"  {one.what} of {folded(one.hosts)}: {one.reason}" for one in report.unmatched]
    return "\n".join(["not compared with the other hosts", *map(printable, lines)]) if lines else ""


def _missing(report: Report, everything: bool) -> str:
    if not report.missing:
        return ""
    shown = report.missing if everything else report.missing[:_MISSING]
    lines = [f"  {what}: {folded(hosts)}" for what, hosts in shown]
    if len(shown) < len(report.missing):
        lines.append(f"  and {len(report.missing) - len(shown)} more (--all lists them)")
    return "\n".join(["no such number, or of some repeats only, from", *map(printable, lines)])


# --- for programs ------------------------------------------------------------------------------------------


def as_json(report: Report) -> str:
    """Return {accused: [host], nodes: {word: [host]}, groups, odd, everywhere, differing, unlike, unmatched, gaps, missing, rerun, warnings}; values in base units."""
    document = {
        "accused": list(report.accused),
        "nodes": {word: names for word, names in report.by_status().items() if names},
        "folded": {word: folded(names) for word, names in report.by_status().items() if names},
        "groups": [_group_json(group) for group in report.groups],
        "odd": [_odd_json(odd) for odd in report.odd],
        "everywhere": [
            {
                "node": e.name,
                "z": e.z,
                "worse": e.worse,
                "numbers": e.metrics,
                "confirmed": e.confirmed,
                "doubtful": _listed(e.doubt),
            }
            for e in report.everywhere
        ],
        "differing": {host: list(words) for host, words in report.differing.items()},
        "unlike": [
            {"what": one.what, "nodes": list(one.hosts), "here": one.here, "others": one.others}
            for one in report.unlike
        ],
        "unmatched": [
            {"what": one.what, "nodes": list(one.hosts), "reason": one.reason} for one in report.unmatched
        ],
        "gaps": [{"what": gap.what, "of": list(gap.of), "reason": gap.reason or None} for gap in report.gaps],
        "missing": [{"what": what, "nodes": list(hosts)} for what, hosts in report.missing],
        "rerun": {host: list(sweeps) for host, sweeps in report.rerun.items()},
        "warnings": list(report.warnings),
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _group_json(group: Group) -> dict[str, Any]:
    return {
        "hardware": dict(group.hardware.facts), "nodes": list(group.hosts), "differs": group.apart or None,
        "judged": group.judged, "baseline_sessions": group.baseline,
        "numbers": [
            {**one.fields(), "median": strip.middle, "spread": strip.spread, "nodes": len(strip.hosts),
             "unseen": strip.unseen, "worse_half": list(strip.worse_half) or None,
             "doubtful": {host.name: _listed(host.doubt) for host in strip.hosts if host.doubt}}
            for one, strip in group.strips
        ],
    }  # fmt: skip


def _odd_json(odd: Odd) -> dict[str, Any]:
    found = odd.found
    return {
        "node": odd.host, "verdict": found.status, **odd.series.fields(), "value": found.value, "median": odd.strip.middle,
        "change": odd.change, "worse": found.worse, "z": found.z, "sessions": found.runs, "reason": found.reason or None,
        "doubtful": _listed(found.doubt),
    }  # fmt: skip


def _listed(ids: str) -> list[str]:
    return ids.split(", ") if ids else []
