"""Histories for a terminal and for programs. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from reports.checks.audit import joined
from reports.checks.doubts import LEGEND, mark
from reports.draw.figure import MARK
from reports.history.changes import LEAST, History, Moment, Report, Step
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.columns import columns
from reports.text.hostlist import folded
from reports.text.plain import printable
from reports.verdicts.fleet import centre
from reports.verdicts.model import STEPS

_NUMBERS = 8


def as_text(report: Report, *, everything: bool = False) -> str:
    """Return the steps of each host, oldest first, with the numbers that moved most. `everything`: all of them."""
    blocks = ["\n".join(map(printable, together_text(report)))]
    for host, moments in report.moments.items():
        if host in report.short:
            continue
        own = report.of(host)
        steps = [step for step in report.steps if step.host == host]
        head = f"{host}: {len(moments)} sessions, {moments[0].date} to {moments[-1].date}, {fmt.plural(len(own), 'number')}"
        found = fmt.plural(len(steps), "change") if steps else nothing_text(report, own)
        blocks.append(
            printable(f"{head}: {'; '.join(filter(None, [found, unseen_text(report, own), few_text(own)]))}")
        )
        blocks += [_step(step, everything) for step in steps]
    blocks.append(
        "\n".join(
            printable(f"{who}; it takes {LEAST} to tell a change from day-to-day noise")
            for who in short_text(report)
        )
    )
    blocks.append(LEGEND if any(step.doubt for step in report.steps) else "")
    blocks.append("\n".join(f"warning: {printable(text)}" for text in report.warnings))
    return "\n\n".join(filter(None, blocks))


def together_text(report: Report) -> list[str]:
    """Return "2026-11-08 on n[001-040]: 680 regressed; kernel 6.1 → 6.8" of what changed on several hosts on one day."""
    return [
        f"{day} on {folded({step.host: None for step in own})}: {_sums(own)}; {changed}"
        for (day, changed), own in group_by(report.steps, _alike).items()
        if len({step.host for step in own}) > 1
    ]


def alike_text(report: Report, last: Step) -> str:
    """Return "on n[001-040] on 2026-11-08, 680 regressed: kernel 6.1 → 6.8" of a step that several hosts had on its day; "" of one's own."""
    own = [step for step in report.steps if _alike(step) == _alike(last)]
    hosts = {step.host: None for step in own}
    ids = joined(one for step in own for history, _ in step.changed for one in history.doubts)
    found = _sums(own) + (f" ({MARK} doubtful: {ids})" if ids else "")
    return (
        f"on {folded(hosts)} on {last.moment.date}, {found}: {difference_text(last)}"
        if len(hosts) > 1
        else ""
    )


def _alike(step: Step) -> tuple[str, str]:
    return step.moment.date, difference_text(step)


def _sums(steps: Sequence[Step]) -> str:
    return _counts(
        ((sum(s.regressed for s in steps), "regressed"), (sum(s.improved for s in steps), "improved"))
    )


def short_text(report: Report) -> list[str]:
    """Return "n[001-040]: 3 sessions each" of the hosts that have too few, those of as many together."""
    alike = group_by(report.short.items(), lambda one: one[1])
    return [
        f"{folded(host for host, _ in own)}: {fmt.plural(sessions, 'session')}{' each' if len(own) > 1 else ''}"
        for sessions, own in alike.items()
    ]


def nothing_text(report: Report, own: Iterable[History]) -> str:
    """Return "no change", or where there are smaller steps what is true of them, too; "" where nothing could be judged."""
    judged = [h for h in own if h.judged]
    small = any(h.changes for h in judged)
    return (
        "" if not judged else f"no change of {report.threshold * 100:.3g} % or more" if small else "no change"
    )


def few_text(own: Iterable[History]) -> str:
    """Say of how many numbers nothing can be said; "" of none."""
    few = sum(not h.judged for h in own)
    return f"{fmt.plural(few, 'number')} in fewer than {LEAST} sessions, too few to tell" if few else ""


_UNSEEN: Final = 4.0
"""Robust standard deviations of the sessions: of steps of 4 sd, five sessions on either side are found in 73 of 100, seven in 98."""


def unseen_text(report: Report, own: Iterable[History]) -> str:
    """Say how large a step may be without being seen where that is more than the threshold, because the sessions scatter, or the
    program prints too few digits."""
    blind = [least for h in own if h.judged and not h.news and (least := _unseen(h)) > report.threshold]
    if not blind:
        return ""
    most = fmt.number(max(blind) * 100, 2, fmt.UP)
    return f"steps of up to {most} % may go unseen in {fmt.plural(len(blind), 'number')}"


def _unseen(history: History) -> float:
    middle, sd = centre(history.medians)
    scatter = _UNSEEN * sd / abs(middle) if middle and not history.changes else 0.0
    return max(scatter, STEPS * history.series.resolution)


def difference_text(step: Step) -> str:
    """Return "kernel 6.1 → 6.8; microcode 0xf0 → 0xf4", or that nothing recorded did."""
    if not step.differences and step.one_sided:
        return (
            f"nothing that both sessions recorded changed then; only one recorded {fmt.words(step.one_sided)}"
        )
    if not step.differences:
        return "nothing that was recorded changed then"
    told = "; ".join(f"{d.what} {d.a} → {d.b}" for d in step.differences)
    return {0: "", -1: "one session earlier: ", 1: "one session later: "}[step.off_by] + told


def counts_text(step: Step) -> str:
    """Return "12 regressed, 1 improved"."""
    return _counts(((step.regressed, "regressed"), (step.improved, "improved")))


def _counts(counts: Iterable[tuple[int, str]]) -> str:
    return ", ".join(f"{n} {word}" for n, word in counts if n)


def found_text(step: Step) -> str:
    """Return "12 regressed, 1 improved (⚠ 2 of 13 numbers doubted by G11)"."""
    return f"{counts_text(step)} ({step.doubt})" if step.doubt else counts_text(step)


def _step(step: Step, everything: bool) -> str:
    lines = [printable(f"{step.moment.minute}  {found_text(step)}"), printable(f"  {difference_text(step)}")]
    shown = step.changed if everything else step.changed[:_NUMBERS]
    rows = [
        (
            change.word, f"{history.series.name}{mark(history.doubt)}", fmt.quantity(change.before, history.series.said_unit), "→",
            fmt.quantity(change.after, history.series.said_unit), fmt.change(change.ratio - 1),
        )
        for history, change in shown
    ]  # fmt: skip
    lines += columns(rows, right=frozenset({2, 4, 5}), indent=2)
    if len(shown) < len(step.changed):
        lines.append(f"  and {len(step.changed) - len(shown)} more (--all lists them)")
    return "\n".join(lines)


def as_json(report: Report) -> str:
    """Return {hosts: [{host, sessions}], steps, series: [{…, sessions: [{started_utc, value, runs}], changes}], warnings}; base units.

    `started_utc` is as the session recorded it; `clock` says why it is not to be believed.
    """
    document = {
        "hosts": [
            {
                "host": host, "judged": host not in report.short,
                "sessions": [
                    {"started_utc": _started(m), "file": m.key[0], "session": m.key[1], "clock": m.stepped or None} for m in own
                ],
            }
            for host, own in report.moments.items()
        ],
        "steps": [_step_json(step) for step in report.steps],
        "series": [_series_json(history) for history in report.histories],
        "warnings": list(report.warnings),
    }  # fmt: skip
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _step_json(step: Step) -> dict[str, Any]:
    return {
        "host": step.host, "started_utc": _started(step.moment), "regressed": step.regressed,
        "improved": step.improved, "off_by_sessions": step.off_by,
        "differences": [{"what": d.what, "before": d.a, "after": d.b} for d in step.differences], "one_sided": list(step.one_sided),
        "numbers": [{"number": h.series.name, "word": c.word, "ratio": c.ratio} for h, c in step.changed],
    }  # fmt: skip


def _series_json(history: History) -> dict[str, Any]:
    return {
        "host": history.host, **history.series.fields(), "judged": history.judged, "regressed": history.regressed,
        "sessions": list(_sessions_json(history)),
        "changes": [
            {
                "started_utc": _started(history.moments[c.index]), "session": c.index, "word": c.word,
                "before": c.before, "after": c.after, "ratio": c.ratio if c.ratio == c.ratio else None,
            }
            for c in history.changes
        ],
    }  # fmt: skip


def _sessions_json(history: History) -> Iterable[dict[str, Any]]:
    rows = zip(history.moments, history.medians, history.runs, history.doubts, strict=True)
    for moment, value, runs, ids in rows:
        doubtful = ids.split(", ") if ids else []
        yield {"started_utc": _started(moment), "value": value, "runs": runs, "doubtful": doubtful}


def _started(moment: Moment) -> str:
    return moment.sessions[0].started_utc
