"""The page of a history: what changed when, and a chart for each number that did. I/O: writes the page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from reports.checks.doubts import of_figure
from reports.history import gone
from reports.history.changes import LEAST, Report
from reports.history.figure import figure as host_figure
from reports.history.text import (
    alike_text,
    beside_text,
    blind,
    drift_text,
    few_text,
    moved_text,
    nothing_text,
    quiet,
    recent_counts,
    recent_lines,
    recent_text,
    short_text,
    together_text,
    unseen_text,
    up_to,
    zero_text,
)
from reports.page import html
from reports.page.model import Block, Check, KeyNumber, Page, Section
from reports.results.write import write_whole
from reports.text import format as fmt
from reports.text.hostlist import listed
from reports.verdicts.history import FALSE_RECENT, NEARER, OUTSIDE, RECENT


def render_history(report: Report, out: Path, *, title: str, static: bool = False) -> Path:
    """Write the page of a history to `out` and return it. Raises UserError if it cannot be written."""
    write_whole(out, html.html(build(report, title=title), static=static))
    return out


def build(report: Report, *, title: str) -> Page:
    moved = {h.host for h in report.histories if h.moved}
    figures = [
        of_figure(figure, report.guilty)
        for number, host in enumerate(sorted(report.moments, key=lambda host: host not in moved), 1)
        if (figure := host_figure(host, report, number))
    ]
    block = Block(tool="history", figures=tuple(figures))
    sessions = [session for own in report.moments.values() for moment in own for session in moment.sessions]
    return Page(
        title=title,
        sentence=sentence(report),
        key_numbers=tuple(_key_numbers(report)),
        provenance=tuple(_provenance(report)),
        checks=tuple(_checks(report)),
        sections=(
            Section(title="Changes" if moved else "Numbers over time", anchor="changes", blocks=(block,)),
        )
        if figures
        else (),
        methods=tuple(_methods(report)),
        version=max((s.pinsweep_version for s in sessions), default=""),
        several_files=len(
            {run.file for own in report.moments.values() for moment in own for run in moment.runs}
        )
        > 1,
    )


def sentence(report: Report) -> str:
    """Return the verdict in one sentence."""
    lost = f"{fmt.plural(len(report.gone), 'number')} gone" if report.gone else ""
    new = recent_text(report.histories)
    judged = [h for h in report.histories if h.judged]
    if not judged:
        few = f"Too few sessions: it takes {LEAST} to tell a change from day-to-day noise."
        return " ".join(filter(None, (lost and f"{lost}.", few)))
    drifts = drift_text(report.drifting())
    if not report.steps:
        kept = quiet(judged)
        found = f"{nothing_text(kept)} in {fmt.plural(len(kept), 'number')}" if kept else ""
        zero = zero_text(judged)
        parts = (
            lost,
            new,
            drifts,
            found,
            zero,
            unseen_text(report, kept),
            few_text(report, report.histories),
        )
        return fmt.sentence("; ".join(filter(None, parts))) + "."
    last = max(report.steps, key=lambda s: s.moment.at)
    last_of = f"{fmt.plural(len(report.steps), 'change')}{'; the last' if len(report.steps) > 1 else ''}"
    alike = alike_text(report, last)
    if alike:
        told = f"{last_of} {alike}"
        return " ".join(f"{fmt.sentence(text)}." for text in (lost, told, drifts, new) if text)
    where = f" on {last.host}" if len(report.moments) > 1 else ""
    doubt = f" ({last.doubt})" if last.doubt else ""
    told = f"{last_of}{where} on {last.moment.date}: {moved_text(report, last)}{doubt}; {beside_text(last)}"
    return " ".join(f"{fmt.sentence(text)}." for text in (lost, told, drifts, new) if text)


def _methods(report: Report) -> Iterable[str]:
    yield (
        "A number's value in a session is the median of its repeats; what one boot did within an hour is one session. Changes are found "
        "by kernel change-point detection on these medians (radial basis kernel, at least three sessions between changes, penalty 3; and where that finds more, with "
        "the one session that stands out from its neighbours taken as the nearer of them, five sessions or more on either side), of "
        f"numbers with at least {LEAST} sessions; a step is news from {report.threshold * 100:.3g} % on, and from 1.5 of the last digit that the program prints. "
        f"Far outside are the last sessions, {RECENT} at most, that lie to one side, by the threshold, {OUTSIDE:g} times as far off as any before, and further than "
        f"chance makes the last session of one of all judged numbers in {FALSE_RECENT * 100:g} of 100 histories (a t value, by the robust standard deviation about the levels)."
    )
    yield (
        "What changed on the machine then is "
        "what both sessions recorded and recorded differently, right before and after the step, else one session to either side of it: "
        "it was changed at the same time, which does not say that it is the cause, and of two things that changed together not which one."
    )
    yield (
        "A number drifts that a straight line over time (the median of the "
        f"slopes of all pairs of sessions) leaves at most {NEARER:g} of what the levels between the steps leave, in absolute deviations, and little more than noise, "
        f"if it moves by {report.threshold * 100:.3g} %; and one whose steps are each below that, and together are not: then no session is named. A step on top of a drift is told as a step, or as several, "
        "with what the drift adds to each in its size: a number is said to drift, or to step, never both. A number that regressed has come back when it is "
        "no longer worse by as much than it was before."
    )


def _key_numbers(report: Report) -> Iterable[KeyNumber]:
    rows = [
        ("Sessions", sum(map(len, report.attempts.values())), f"of {fmt.plural(len(report.moments), 'host')}{_with_numbers(report)}{_as_one(report)}"),
        ("Numbers", len(report.histories), few_text(report, report.histories) or ("followed" if len(report.moments) == 1 else "followed, of each host its own")),
    ]  # fmt: skip
    if any(h.judged for h in report.histories):
        rows += [
            ("Changed", sum(h.moved > 0 for h in report.histories), _how_changed(report)),
            (
                "Regressed",
                len(report.regressed),
                f"and still worse than before{_by_name(report)}"
                if report.regressed
                else "none is worse than before",
            ),
        ]
    if report.gone:
        rows.append(("Gone", len(report.gone), "numbers that the last sessions do not have"))
    if new := sum(bool(h.recent) for h in report.histories):
        sides = recent_counts(report.histories)
        rows.append(("Far outside", new, f"{sides} in the last sessions, too new to be called a change"))
    for rank, (name, value, context) in enumerate(rows):
        yield KeyNumber(name=name, value=fmt.count(value), unit="", context=context, rank=rank)


def _with_numbers(report: Report) -> str:
    tried, own = (sum(map(len, of.values())) for of in (report.attempts, report.moments))
    return f"; {fmt.count(own)} with numbers" if own < tried else ""


def _as_one(report: Report) -> str:
    recorded = report.recorded()
    fewer = sum(map(len, report.attempts.values())) < recorded
    return (
        f"; {fmt.count(recorded)} were recorded, and one boot within an hour counts as one" if fewer else ""
    )


def _how_changed(report: Report) -> str:
    """Return "9 numbers in 2 steps, 1 by a slow drift": no number does both."""
    stepped, drifted = sum(bool(h.news) for h in report.histories), len(report.drifting())
    steps = f"{fmt.plural(stepped, 'number')} in {fmt.plural(len(report.steps), 'step')}"
    drifts = f"{fmt.plural(drifted, 'number') if not stepped else fmt.count(drifted)} by a slow drift"
    return ", ".join([*([steps] if stepped or not drifted else []), *([drifts] if drifted else [])])


def _by_name(report: Report) -> str:
    """Return "; 4 numbers, of each of 3 hosts its own", of which a line on several hosts counts each once; "" of one host's."""
    hosts = {h.host for h in report.regressed}
    names = {h.series.key for h in report.regressed}
    every = fmt.plural(len(hosts), "host")
    each = (
        f", of each of {every} its own"
        if len(names) * len(hosts) == len(report.regressed)
        else f" over {every}"
    )
    return f"; {fmt.plural(len(names), 'number')}{each}" if len(hosts) > 1 else ""


_BLIND = 20


def _first(numbers: int) -> str:
    return f"{fmt.plural(numbers, 'number')}{f', the first {_BLIND}' if numbers > _BLIND else ''}"


def _provenance(report: Report) -> Iterable[tuple[str, str]]:
    yield "Hosts" if len(report.moments) > 1 else "Host", listed(report.moments)
    days = sorted(moment.date for own in report.attempts.values() for moment in own)
    if days:
        yield "Measured", fmt.ends(days[0], days[-1])
    models = sorted({str(s.facts.get("cpu_model") or "") for own in report.moments.values() for m in own for s in m.sessions} - {""})  # fmt: skip
    if models:
        yield (
            "Processor",
            "; ".join(models[:4]) + (f"; and {len(models) - 4} more" if len(models) > 4 else ""),
        )


def _checks(report: Report) -> Iterable[Check]:
    for text in gone.texts(report.gone):
        yield Check(level="error", subject=f"{fmt.sentence(text)}.", text="")
    for text in report.warnings:
        yield Check(level="warn", subject=f"{text}.", text="")
    for host in report.moments:
        if zero := zero_text(report.of(host)):
            yield Check(level="warn", subject=f"{host}.", text=f"{zero}.")
    if lines := recent_lines(report):
        yield Check(
            level="info",
            subject="Far outside.",
            text="The last sessions of these numbers, which are too few to be called a change.",
            items=tuple(lines[:_BLIND]),
            counted=_first(len(lines)),
        )
    if found := blind(report, report.histories):
        several = len(report.moments) > 1
        yield Check(
            level="info",
            subject="May go unseen.",
            text="Beside each number: how large a step may be there and not be seen.",
            items=tuple(
                f"{f'{h.host}, ' if several else ''}{h.series.name}: {up_to(bound)}"
                for h, bound in found[:_BLIND]
            ),
            counted=_first(len(found)),
        )
    if told := together_text(report):
        yield Check(
            level="info",
            subject="On several hosts.",
            text="What changed alike.",
            items=tuple(told),
            counted=fmt.plural(len(told), "change"),
        )
    for who in short_text(report):
        yield Check(
            level="info", subject=f"{who}.", text=f"It takes {LEAST} to tell a change from day-to-day noise."
        )
