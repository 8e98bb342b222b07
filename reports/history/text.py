"""Histories for a terminal and for programs. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from reports.checks.audit import joined
from reports.checks.doubts import LEGEND, counted, mark
from reports.draw.figure import MARK
from reports.history import gone
from reports.history.changes import LEAST, History, Report, Step
from reports.history.gone import Gone
from reports.history.moments import Moment
from reports.numbers.families import families
from reports.results.convicted import checks_of
from reports.results.grouping import group_by
from reports.text import format as fmt
from reports.text.columns import columns
from reports.text.hostlist import listed
from reports.text.json_text import json_text
from reports.text.screen import PLAIN, Screen, prose, sparkline, table
from reports.verdicts.history import RECENT, Change, Drift, Recent, unseen, unseen_recently
from reports.verdicts.model import STEPS

_NUMBERS = 8


def as_text(report: Report, *, everything: bool = False, screen: Screen = PLAIN) -> str:
    """Return the steps of each host, oldest first, with the numbers that moved most. `everything`: all of them, of each host by itself.

    Of many hosts, those whose changes are all told above in one line for several have one line together, and no list of their numbers.
    """
    blocks = [_lines(together_text(report), screen)]
    folds = not everything and len(report.moments) > MANY
    above = {id(step) for own in _together(report) for step in own} if folds else set[int]()
    heads: dict[str, list[str]] = {}  # what is said → the hosts that it is said of
    for host, tried in report.attempts.items():
        if host in report.short:
            continue
        own = report.of(host)
        steps = [step for step in report.steps if step.host == host]
        found = fmt.plural(len(steps), "change") if steps else nothing_text(own)
        zero, drifts = zero_text(own), drift_text(report.drifting(host))
        lost, new = gone_text(report, host), recent_text(own)
        found += " of the others" if (zero or drifts or lost or new) and found and not steps else ""
        told = folds and all(id(step) in above for step in steps) and not drifts and not new
        if told and steps:
            found += ", told above"
        head = f"{report.sessions_text(host)}, {fmt.ends(tried[0].date, tried[-1].date)}, {fmt.plural(len(own), 'number')}"
        told_of = (zero, found, drifts, new) if steps else (zero, drifts, new, found)
        said = f"{head}: {'; '.join(filter(None, [lost, *told_of, unseen_text(report, own), few_text(report, own)]))}"
        if told:
            heads.setdefault(said, []).append(host)
        else:
            blocks += [
                _lines([f"{host}: {said}", *_blind_lines(report, own, everything)], screen),
                *(_step(report, step, everything, screen) for step in steps),
                _drifts(report, host, everything, screen),
            ]
    together = [
        f"{listed(hosts)}: {_each(said) if len(hosts) > 1 else said}" for said, hosts in heads.items()
    ]
    blocks.insert(1, _lines(together, screen))
    blocks.append(
        _lines(
            [f"{who}; it takes {LEAST} to tell a change from day-to-day noise" for who in short_text(report)],
            screen,
        )
    )
    blocks.append(_lines(gone.texts(report.gone), screen))
    doubted = any(step.doubt for step in report.steps) or any(h.doubt for h in report.drifting())
    blocks.append(LEGEND if doubted else "")
    blocks.append(_lines([f"warning: {text}" for text in report.warnings], screen))
    return "\n\n".join(filter(None, blocks))


def _lines(texts: Iterable[str], screen: Screen) -> str:
    return "\n".join(line for text in texts for line in prose(text, screen, rest="  "))


MANY: Final = 8
"""Hosts that have a block each, and a figure, also where nothing changed on them."""


def _each(said: str) -> str:
    return re.sub(" sessions?", lambda found: f"{found[0]} each", said, count=1)


def together_text(report: Report) -> list[str]:
    """Return "2026-11-08: 17 regressed on n[001-040]; at the same time: kernel 6.1 → 6.8" of what changed on several hosts: the same differences, on whatever
    days, or where there are none the same day."""
    return [
        f"{_days(report, own)}: {_sums(own)} on {listed({step.host: None for step in own})}{_unlike(own)}; {_cause(own[0])}"
        for own in _together(report)
    ]


def alike_text(report: Report, last: Step) -> str:
    """Return "on n[001-040] on 2026-11-08, 17 regressed; at the same time: kernel 6.1 → 6.8" of a step that several hosts had; "" of one's own."""
    for own in _together(report):
        if any(step is last for step in own):
            ids = joined(step.ids for step in own)
            found = _sums(own) + (f" ({MARK} doubtful: {ids})" if ids else "")
            hosts = listed({step.host: None for step in own})
            return f"on {hosts} on {_days(report, own)}, {found}{_unlike(own)}; {_cause(last)}"
    return ""


def _together(report: Report) -> list[list[Step]]:
    """Return the steps that several hosts have, by what changed; the earliest first."""
    causes = group_by(report.steps, lambda step: step.differences or (_day(report, step), _cause(step)))
    several = [own for own in causes.values() if len({step.host for step in own}) > 1]
    return sorted(several, key=lambda own: min(_day(report, step) for step in own))


def _cause(step: Step) -> str:
    """Return "at the same time: kernel 6.1 → 6.8", or that nothing recorded changed."""
    return beside_text(replace(step, off_by=0))


def _day(report: Report, step: Step) -> str:
    """Return the date of the differences, of a step without any its own."""
    if not step.differences or not step.off_by:
        return step.moment.date
    if step.off_by < 0:
        return step.before.date
    own = report.moments[step.host]
    at = [moment.key for moment in own].index(step.moment.key)
    return own[at + step.off_by].date


def _days(report: Report, steps: Iterable[Step]) -> str:
    days = sorted(_day(report, step) for step in steps)
    return fmt.ends(days[0], days[-1])


def _sums(steps: Sequence[Step]) -> str:
    """Count the numbers that moved on any of the hosts, each once."""
    moved = {(change.word, history.series.key) for step in steps for history, change in step.changed}
    return _counts((sum(word == own for own, _ in moved), word) for word in ("regressed", "improved"))


def _unlike(steps: Iterable[Step]) -> str:
    """Say so where the hosts of some steps have not the same numbers that moved: what is counted is no host's own."""
    by_host = group_by(steps, lambda step: step.host).values()
    moved = {frozenset((c.word, h.series.key) for step in own for h, c in step.changed) for own in by_host}
    return ", not each on every host" if len(moved) > 1 else ""


def short_text(report: Report) -> list[str]:
    """Return "n[001-040]: 3 sessions each" of the hosts that have too few, those of as many together."""
    alike = group_by(report.short, report.sessions_text)
    return [f"{listed(own)}: {_each(said) if len(own) > 1 else said}" for said, own in alike.items()]


def nothing_text(own: Iterable[History]) -> str:
    """Return "no change", or where there are smaller steps what is true of them, too; "" where nothing could be judged, or all that was
    left 0, or are told as gone or as too new."""
    judged = quiet(own)
    small = [h.least for h in judged if h.changes]
    return "" if not judged else f"no change of {bound_text(max(small))} or more" if small else "no change"


def drift_text(drifting: Iterable[History]) -> str:
    """Return "26 numbers drift: 26 regressed little by little"; "" of none."""
    words = [h.drift.word for h in drifting if h.drift]
    counted = _counts((words.count(word), word) for word in ("regressed", "improved"))
    return (
        f"{fmt.plural(len(words), 'number drifts', 'numbers drift')}: {counted} little by little"
        if words
        else ""
    )


def quiet(own: Iterable[History]) -> list[History]:
    """Return the judged numbers of which nothing else is told: they did not change, or a step of each is."""
    return [h for h in own if h.judged and not h.origin and not h.drift and not h.recent]


def gone_text(report: Report, host: str) -> str:
    """Return "2 numbers gone since 2026-11-22"; "" of a host that has all of its numbers."""
    own = [one for one in report.gone if one.host == host]
    if not own:
        return ""
    days = sorted({one.since.date for one in own})
    return f"{fmt.plural(len(own), 'number')} gone since {days[0]}{' or later' if len(days) > 1 else ''}"


def recent_text(own: Iterable[History]) -> str:
    """Return "far outside since 2026-11-26: prog, n=6: rate −30 % (worse) and 1 more number, too new to be called a change"; "" where none is."""
    found = far_outside(own)
    if not found:
        return ""
    history, new = found[0]
    more = f" and {fmt.plural(len(found) - 1, 'more number')}" if len(found) > 1 else ""
    return f"far outside since {_since(history, new)}: {_moved_by(history, new)}{more}, too new to be called a change"


def far_outside(own: Iterable[History]) -> list[tuple[History, Recent]]:
    """Return the numbers whose last sessions lie far outside, the furthest first."""
    return sorted(((h, h.recent) for h in own if h.recent), key=lambda row: -abs(row[1].change))


def recent_lines(report: Report) -> list[str]:
    """Return "n1, prog, n=6: rate −30 % (worse) since 2026-11-26" of each such number; the host where there are several."""
    several = len(report.moments) > 1
    return [
        f"{f'{history.host}, ' if several else ''}{_moved_by(history, new)} since {_since(history, new)}"
        for history, new in far_outside(report.histories)
    ]


def recent_counts(own: Iterable[History]) -> str:
    """Return "2 worse, 4 better"."""
    sides = [SIDE[new.word] for _, new in far_outside(own)]
    return _counts((sides.count(side), side) for side in SIDE.values())


def _since(history: History, new: Recent) -> str:
    return history.moments[-new.sessions].date


def _moved_by(history: History, new: Recent) -> str:
    return f"{history.series.name} {fmt.change(new.change)} ({SIDE[new.word]})"


SIDE: Final = {"regressed": "worse", "improved": "better"}
"""What is said of sessions that are too few to have regressed or improved."""


def bound_text(share: float) -> str:
    """Return "3 %", as it was asked for, or what few digits make, rounded up: "15 %"."""
    return f"{fmt.number(share * 100, 3, fmt.UP, step=0.0)} %"


def zero_text(own: Iterable[History]) -> str:
    """Say which numbers changed from 0 or below, of which no change is a share; "" of none."""
    texts = []
    for origin, left in sorted(group_by((h for h in own if h.origin), lambda h: h.origin).items()):
        more = f" and {fmt.plural(len(left) - 1, 'more number')}" if len(left) > 1 else ""
        left_it = "left 0" if origin == "0" else "changed"
        texts.append(f"{left[0].series.name}{more} {left_it}, and no change from {origin} is judged")
    return "; ".join(texts)


def few_text(report: Report, own: Iterable[History]) -> str:
    """Say of how many numbers nothing can be said; "" of none. What is gone is told apart."""
    lost = {(one.host, one.series.key) for one in report.gone}
    few = sum(not h.judged and (h.host, h.series.key) not in lost for h in own)
    return f"{fmt.plural(few, 'number')} in fewer than {LEAST} sessions, too few to tell" if few else ""


def unseen_text(report: Report, own: Iterable[History]) -> str:
    """Say how large a step may be without being seen where that is more than the threshold, because the sessions scatter, or the
    program prints too few digits."""
    found, late = blind(report, own), _blind_recently(report, own)
    if not found and not late:
        return ""
    least = f"of {up_to(found[0][1])} may go unseen in {fmt.plural(len(found), 'number')}" if found else ""
    newest = f"of {up_to(late)} in the last {RECENT} sessions" if late else ""
    return f"steps {', '.join(filter(None, (least, newest)))}{'' if found else ' may go unseen'}"


def _blind_recently(report: Report, own: Iterable[History]) -> float:
    """Return how large a step in the last sessions of a number may be that is not seen, relative, where that is worth telling; else 0."""
    least = max((bound for _, bound in blind(report, own)), default=report.threshold)
    bounds = [unseen_recently(h.medians, h.changes, among=report.among) for h in own if _is_quiet(h)]
    return max([bound for bound in bounds if bound > least], default=0.0)


def blind(report: Report, own: Iterable[History]) -> list[tuple[History, float]]:
    """Return the numbers in which more than the threshold may go unseen, each with how much, the most first."""
    bounds = [(h, bound) for h in own if (bound := blind_to(h, report.threshold))]
    return sorted(bounds, key=lambda row: -row[1])


def blind_to(history: History, threshold: float) -> float:
    """Return how large a step of a number may be that is not seen, relative, where that is worth telling; else 0."""
    bound = largest_unseen(history) if _is_quiet(history) else 0.0
    return bound if bound > threshold else 0.0


def _is_quiet(history: History) -> bool:
    """Is it said of a number that it did not change?"""
    told = history.news or history.drift or history.origin or history.recent
    return history.judged and not told


def up_to(share: float) -> str:
    """Return "up to 4.4 %", rounded up."""
    return f"up to {fmt.number(share * 100, 2, fmt.UP)} %"


def _blind_lines(report: Report, own: Iterable[History], everything: bool) -> list[str]:
    """Return "  may go unseen: prog, n=6: elapsed up to 20 %; and 4 more numbers"."""
    found = blind(report, own)
    shown = found if everything else found[:_BLIND]
    told = [f"{h.series.name} {up_to(bound)}" for h, bound in shown]
    if left := len(found) - len(shown):
        told.append(f"and {fmt.plural(left, 'more number')} (--all lists them)")
    return [f"  may go unseen: {'; '.join(told)}"] if found else []


_BLIND: Final = 3
"""Numbers that are named below their host."""


def largest_unseen(history: History) -> float:
    """Return how large a step of a number may be that is not seen, relative."""
    return max(unseen(history.medians, history.changes), STEPS * history.series.resolution)


def beside_text(step: Step) -> str:
    """Return "at the same time: kernel 6.1 → 6.8", which says of no cause, or that nothing recorded changed."""
    told = difference_text(step)
    return f"at the same time: {told}" if step.differences and not step.off_by else told


def difference_text(step: Step) -> str:
    """Return "kernel 6.1 → 6.8; microcode 0xf0 → 0xf4", or that nothing recorded did."""
    if not step.differences and step.one_sided:
        return (
            f"nothing that both sessions recorded changed then; only one recorded {fmt.words(step.one_sided)}"
        )
    if not step.differences:
        return "nothing that was recorded changed then"
    told = "; ".join(f"{d.what} {d.a} → {d.b}" for d in step.differences)
    return _OFF[step.off_by] + told


_OFF: Final = {0: "", -1: "one session earlier: ", 1: "one session later: "}


def counts_text(step: Step) -> str:
    """Return "12 regressed, 1 improved"."""
    return _counts(((step.regressed, "regressed"), (step.improved, "improved")))


def _counts(counts: Iterable[tuple[int, str]]) -> str:
    return ", ".join(f"{n} {word}" for n, word in counts if n)


def found_text(step: Step) -> str:
    """Return "12 regressed, 1 improved (⚠ 2 of 13 numbers doubted by G11)"."""
    return f"{counts_text(step)} ({step.doubt})" if step.doubt else counts_text(step)


_SIZED: Final = 3
"""Sweeps of a step that are told with their sizes, those in which most numbers moved first."""


def moved_text(report: Report, step: Step) -> str:
    """Return "stream 8.9 to 9.7 % worse (all 48 numbers), pingpong 4.1 % better (2 of 52 numbers)": by how much what moved in a step, of the numbers of the
    host."""
    total = Counter(history.series.key.sweep for history in report.of(step.host))
    moved = group_by(step.changed, lambda row: (row[0].series.key.sweep, row[1].word))
    every = sorted(moved.items(), key=lambda item: -len(item[1]))
    shown = every[: _SIZED if len(every) > _SIZED + 1 else len(every)]
    told = [f"{sweep} {_by(own)} ({_share(len(own), total[sweep])})" for (sweep, _), own in shown]
    if left := sum(len(own) for _, own in every[len(shown) :]):
        told.append(f"and {fmt.plural(left, 'number')} of other sweeps")
    return ", ".join(told)


def _by(own: Iterable[tuple[History, Change]]) -> str:
    return fmt.worse_by([abs(change.change) * (1 if change.word == "regressed" else -1) for _, change in own])


def _share(n: int, of: int) -> str:
    """Return "all 48 numbers", "2 of 52 numbers", "its only number"."""
    if n < of:
        return f"{n} of {fmt.plural(of, 'number')}"
    return f"all {fmt.plural(n, 'number')}" if n > 1 else "its only number"


_SPARK: Final = 24
"""Characters of a sparkline."""


def _step(report: Report, step: Step, everything: bool, screen: Screen) -> str:
    lines = [
        *prose(f"{step.moment.minute}  {found_text(step)}: {moved_text(report, step)}", screen, rest="  "),
        *prose(beside_text(step), screen, first="  "),
    ]
    return "\n".join([*lines, *_moved(step.changed, everything, screen)])


def _drifts(report: Report, host: str, everything: bool, screen: Screen) -> str:
    """Return the numbers of a host that moved little by little, from its first session to its last."""
    moved = [(h, h.drift) for h in report.drifting(host) if h.drift]
    if not moved:
        return ""
    moments = report.moments[host]
    words = [change.word for _, change in moved]
    counted = _counts((words.count(word), word) for word in ("regressed", "improved"))
    head = f"{moments[0].date} to {moments[-1].date}  {counted}, little by little and not on any one day"
    return "\n".join([*prose(head, screen, rest="  "), *_moved(moved, everything, screen)])


def _moved(
    changed: Sequence[tuple[History, Change | Drift]], everything: bool, screen: Screen
) -> Iterable[str]:
    """Yield the numbers that moved; on a terminal a line a kind of number."""
    if screen.terminal and not everything:
        yield from _kinds(changed, screen)
        return
    shown = changed if everything else changed[:_NUMBERS]
    rows = [_row(history, change, screen) for history, change in shown]
    if screen.terminal:
        yield from table(rows, screen, right=frozenset({3, 5, 6}), indent=2, give=1, spare=(2, 3, 4))
    else:
        yield from columns(rows, right=frozenset({2, 4, 5}), indent=2)
    if len(shown) < len(changed):
        yield f"  and {len(changed) - len(shown)} more (--all lists them)"


def _row(history: History, change: Change | Drift, screen: Screen) -> tuple[str, ...]:
    unit, step = history.series.said_unit, history.series.step
    return (
        change.word, f"{history.series.name}{mark(history.doubt)}", *([_spark(history)] if screen.terminal else []),
        fmt.quantity(change.before, unit, step=step), "→", fmt.quantity(change.after, unit, step=step), fmt.change(change.change),
    )  # fmt: skip


def _kinds(changed: Sequence[tuple[History, Change | Drift]], screen: Screen) -> list[str]:
    """Return a line a kind of number, as the page has them, with the line of the one that moved most; several of a kind by the range of their
    changes: "regressed  pingpong: PingPong time at 0 B to 2 KiB, 26 numbers  +18 to +19 %"."""
    rows: list[tuple[str, ...]] = []
    left = 0
    for family in families([history.series for history, _ in changed]):
        for own in group_by((changed[i] for i in family.members), lambda row: row[1].word).values():
            if len(rows) == _NUMBERS:
                left += len(own)
                continue
            history, change = own[0]
            name = family.title if family.sweep in family.title else f"{family.sweep}: {family.title}"
            told = f"{name}, {len(own)} numbers" if len(own) > 1 else history.series.name
            now = "" if len(own) > 1 else fmt.quantity(change.after, history.series.said_unit, step=history.series.step)  # fmt: skip
            ends = dict.fromkeys(fmt.change(end([c.change for _, c in own])) for end in (min, max))
            *first, last = ends
            by = " to ".join([*(text.removesuffix(" %") for text in first), last])
            rows.append((change.word, f"{told}{mark(_doubts([one for one, _ in own]))}", _spark(history), now, by))  # fmt: skip
    lines = table(rows, screen, right=frozenset({3, 4}), indent=2, give=1, spare=(3, 2))
    if left or len(rows) < len(changed):
        lines.append(f"  {f'and {left} more numbers; ' if left else ''}--all lists the numbers")
    return lines


def _doubts(own: Sequence[History]) -> str:
    """Return "S3", of several numbers "S3 (1 of 4)"."""
    return counted([joined(one.doubts) for one in own])


def _spark(history: History) -> str:
    """Return the medians of a number's sessions as a line that spans a tenth of them at least."""
    return sparkline(history.medians, _SPARK, least_span=0.1)


def as_json(report: Report) -> str:
    """Return {hosts: [{host, sessions}], steps, series: [{…, sessions: [{started_utc, value, runs}], changes}], gone, warnings}; base units.

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
        "gone": [_gone_json(one) for one in report.gone],
        "warnings": list(report.warnings),
    }  # fmt: skip
    return json_text(document)


def _step_json(step: Step) -> dict[str, Any]:
    return {
        "host": step.host, "started_utc": _started(step.moment), "regressed": step.regressed,
        "improved": step.improved, "off_by_sessions": step.off_by,
        "differences": [{"what": d.what, "before": d.a, "after": d.b} for d in step.differences], "one_sided": list(step.one_sided),
        "numbers": [{"number": h.series.name, "word": c.word, "change": c.change, "ratio": c.ratio} for h, c in step.changed],
    }  # fmt: skip


def _series_json(history: History) -> dict[str, Any]:
    return {
        "host": history.host, **history.series.fields(), "judged": history.judged, "regressed": history.regressed,
        "sessions": list(_sessions_json(history)),
        "changes": [
            {
                "started_utc": _started(history.moments[c.index]), "session": c.index, "word": c.word,
                "before": c.before, "after": c.after, "change": c.change, "ratio": c.ratio,
            }
            for c in history.changes
        ],
        "drift": _move_json(history.drift),
        "recent": _recent_json(history),
    }  # fmt: skip


def _gone_json(one: Gone) -> dict[str, Any]:
    return {
        "host": one.host, **one.series.fields(), "since_utc": _started(one.since), "sessions": one.sessions,
        "why": one.why, "reason": one.reason,
    }  # fmt: skip


def _recent_json(history: History) -> dict[str, Any] | None:
    if not (told := _move_json(history.recent)) or not history.recent:
        return None
    since = history.moments[-history.recent.sessions]
    return {**told, "started_utc": _started(since), "sessions": history.recent.sessions}


def _move_json(moved: Drift | Recent | None) -> dict[str, Any] | None:
    if moved is None:
        return None
    return {
        "word": moved.word,
        "before": moved.before,
        "after": moved.after,
        "change": moved.change,
        "ratio": moved.ratio,
    }


def _sessions_json(history: History) -> Iterable[dict[str, Any]]:
    rows = zip(history.moments, history.medians, history.runs, history.doubts, strict=True)
    for moment, value, runs, ids in rows:
        yield {"started_utc": _started(moment), "value": value, "runs": runs, "doubtful": checks_of(ids)}


def _started(moment: Moment) -> str:
    return moment.sessions[0].started_utc
