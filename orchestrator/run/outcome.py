"""Decide which runs remain, and the status of an ended process. Pure decisions of the run loop."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from orchestrator.model import Outcome, Plan, PlannedRun, Status, Tried
from orchestrator.tools import get_tool
from parsers import parse_text, text_to_parse
from parsers.errors import ParseError

if TYPE_CHECKING:
    from parsers.measurement import Parsed

Attempts = Mapping[tuple[str, int], Tried]
"""(point_id, repeat) → earlier attempts, from ResultFile.attempts."""

NEVER = Tried(attempts=0, status="")

MOST_REPEATS = 2
"""How often a disturbed run is repeated: what disturbs three times will do so again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The user's options for runs that are not ok."""

    retry_failed: bool = False
    allow_misplaced: bool = False
    allow_disturbed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The remaining runs of a plan."""

    todo: list[PlannedRun]  # disturbed runs after all others
    done: int
    disturbed: int  # disturbed at every attempt, not started again
    failed: int  # not started again


def pending(plan: Plan, attempts: Attempts, rules: Rules) -> Pending:
    """Return the runs still to start, and how many are done or failed before."""
    todo: list[PlannedRun] = []
    done = disturbed = failed = 0
    for run in plan.runs:
        tried = attempts.get(run.key, NEVER)
        if is_pending(tried, rules):
            todo.append(run)
        elif counts_as_done(tried.status, allow_misplaced=rules.allow_misplaced):
            done += 1
            disturbed += tried.status == "disturbed"
        else:
            failed += 1
    todo.sort(key=lambda run: attempts.get(run.key, NEVER).status == "disturbed")
    return Pending(todo=todo, done=done, disturbed=disturbed, failed=failed)


def is_pending(tried: Tried, rules: Rules) -> bool:
    """Return whether a run must be started, or started again."""
    if tried.status == "disturbed":
        return tried.disturbed <= MOST_REPEATS
    if counts_as_done(tried.status, allow_misplaced=rules.allow_misplaced):
        return False
    return tried.status in ("", "interrupted") or rules.retry_failed


def counts_as_done(status: str, *, allow_misplaced: bool) -> bool:
    """Return whether a run with this status does not fail the sweep."""
    return status in ("ok", "disturbed") or (status == "misplaced" and allow_misplaced)


def judge(
    run: PlannedRun, outcome: Outcome, mismatches: Sequence[str] = (), disturbances: Sequence[str] = ()
) -> tuple[Status, str, Parsed | None]:
    """Return (status, cause, parsed output) of an ended process. The cause is "" for an ok run.

    A disturbance counts only for a run that is otherwise good. The result of the run has no influence on it.

    Never raises. If a parser fails on an unexpected text, the output counts as unreadable. The raw output is stored for
    a corrected parser.
    """
    left = f"; could not be ended: {', '.join(outcome.unended)}" if outcome.unended else ""
    if outcome.stopped:
        return "interrupted", (outcome.error or "stopped by the user") + left, None
    if outcome.error:
        return "failed", outcome.error + left, None
    if outcome.timed_out:
        stopped = f"; something stopped it (SIGSTOP) for {outcome.stopped_s:.1f} s of them" if outcome.stops else ""
        return "timeout", f"did not end within {run.timeout_s:.0f} s{stopped}{left}", None
    if outcome.unended:
        return "failed", f"it left processes behind that{left.removeprefix(';')}", None
    stdout, stderr = (data.decode("utf-8", "replace") for data in (outcome.stdout, outcome.stderr))
    how = (
        f"ended by signal {outcome.signal}: "
        if outcome.signal is not None
        else f"exit status {outcome.exit_code}: "
        if outcome.exit_code
        else ""
    )
    try:
        text = text_to_parse(run.tool, outcome.stdout, outcome.stderr, outcome.logs)
        parsed = parse_text(run.tool, text, run.cell.options)
        complaint = verdict(parsed, run)
    except ParseError as error:
        parsed, complaint = None, str(error)
    except Exception as error:  # a bug of a parser must not cost the run, nor the sweep
        return "failed", f"{how}its output could not be read: {type(error).__name__}: {error}"[:400], None
    if how or complaint:
        return "failed", how + _cause(complaint, parsed, stderr, stdout, failed=bool(how)), parsed
    if mismatches:
        return "misplaced", "; ".join(mismatches), parsed
    if disturbances:
        return "disturbed", "; ".join(disturbances), parsed
    return "ok", "", parsed


def verdict(parsed: Parsed, run: PlannedRun) -> str:
    """Return why a readable output is not a result, or "".

    The cause is a fatal flag, no figure, or a difference from the request.
    """
    tool = get_tool(run.tool)
    for flag in parsed.flags:
        if flag.id in tool.FATAL:
            return flag.text
    if not parsed.measurements.rows:
        return "there are no figures in the output"
    return tool.complaint(parsed, run.cell)


def _cause(complaint: str, parsed: Parsed | None, *texts: str, failed: bool) -> str:
    """Return why a run has no result, from the tool's messages and from missing output.

    If a tool failed before its first figure, its text is incomplete. A message about that is omitted, because it is
    only a consequence.
    """
    has_figures = parsed is not None and bool(parsed.measurements.rows)
    if failed and not (complaint and has_figures):
        return words(*texts)
    return "; ".join(filter(None, [complaint, words(*texts) if error_lines(*texts) else ""]))


def words(*texts: str) -> str:
    """Return the lines that look like an error, from the first text with content. Without such lines, return that text.

    With more than three lines, only the first and the last are returned. A cause comes before a tool's usage, and after
    a traceback.
    """
    text = next((text for text in texts if any(sign.isalnum() for sign in text)), "")
    lines = [line.strip() for line in text.splitlines() if any(sign.isalnum() for sign in line)]
    lines = [line for line in lines if line[0] not in _JSON] or lines
    lines = [*([] if error_lines(text) else lines), *error_lines(*texts)]
    return "; ".join(lines if len(lines) <= 3 else [lines[0], "…", lines[-1]])[:400] or "it printed nothing"


_ERROR: Final = re.compile(
    r"error(?! less than)|fail|fatal|panic:|unable|can(?:no|')t|could ?n[o']t|denied|not (?:permitted|support|found|exist|enough|loadable)|needs? to be|n't support|unsupported|unrecogni|invalid"
    r"|no such|no space|\boom\b|abort|killed|signal|(?<!de)fault|refused|exception|bad_alloc|out of (?:range|memory)|too (?:large|small|many)",
    re.IGNORECASE,
)
_PROCESS: Final = re.compile(
    r"\bpid[ =]\d+,? ?|(?<=\babort)\(\d+\) on node \d+ \(rank \d+ in comm \d+\)|\b0x[0-9a-f]{6,}",
    re.IGNORECASE,
)
"""Others in each run and rank: equal reasons are equal texts."""

_RANK_END: Final = re.compile(r"^=\s+(RANK \d+) .*\n=\s+(KILLED BY SIGNAL: .*)$", re.MULTILINE)
_KILLED: Final = re.compile(r"signal:? 9\b", re.IGNORECASE)
"""A launcher kills the other ranks when one has failed, and reports them all, in any order."""


_LONGEST: Final = 190
_MOST_CHARACTERS: Final = 1 << 18
"""At each end of a text: tools print what stopped them first or last."""


def _ends(text: str) -> str:
    return text if len(text) <= 2 * _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}\n{text[-_MOST_CHARACTERS:]}"


_JSON: Final = '"{}'
"""Lines of JSON begin so."""


def error_lines(*texts: str) -> list[str]:
    """Return the lines of a tool's output that look like an error, without duplicates and without JSON lines."""
    text = _RANK_END.sub(r"\1: \2", "\n".join(map(_ends, texts)))
    lines = [line.strip() for line in text.splitlines()]
    matches = [(line, match) for line in lines if line and line[0] not in _JSON and (match := _ERROR.search(line))]
    shown = (line if match.end() < _LONGEST else line[match.start() - 90 :] for line, match in matches)
    causes = list(dict.fromkeys(_PROCESS.sub("", line)[:_LONGEST] for line in shown))
    return [line for line in causes if not _KILLED.search(line)] or causes
