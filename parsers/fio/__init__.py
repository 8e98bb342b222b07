"""Parse fio: JSON and json+ (2.0 to 3.4x), client/server, normal text, terse 2 to 5, also several reports in one text.

tables["measurements"] has one row per number that fio measured, with these labels:

    document   int   which report, from 0; snapshots of one run (--status-interval) are one document: the last
    job        int   which job of the document, from 0; none: a disk
    name       str   the job's name (numjobs without group_reporting gives several jobs of one name), or the disk's;
                     none: an extract that begins below the line that names the job
    direction  str   "read" | "write" | "trim" | "mixed" (unified_rw_reporting: read + write + trim, beside them
                     where fio prints `both`) | "sync"; "read prio 1/0": class and level of a priority, and
                     its hint where fio has one
    statistic  str   "total" over the run; "mean", "min", "max", "sd" over samples; "p50", "p99", "p99.9" …;
                     of iodepth_*, the depth ("1", ">=64"); of samples, what was sampled; "steady": over fio's
                     steady state; "members": mean over the disks below a dm or md device

A zero that means "not measured" gives no row (unused direction, disable_clat=1, slat of a synchronous engine). Normal
text rounds each figure, so "total" iops and bandwidth come from the count of I/Os or the least rounded figure
(`rates`). With group_reporting, "min" and "max" of bandwidth and iops are sums of the minima and maxima of the
processes (means before 3.0), never values of the group.

Further tables exist if they have rows:

    jobs        document, job, name, group, host, processes, error (errno, 0: none), error_text, time
    options     document, job, option, value (text, as fio prints it; job options over global ones)
    histogram   document, job, name, direction, which ("slat" | "clat" | "lat"), low, high (ns, [low, high)), count
    shares      document, job, name, low, high (ns; high none: open), share of all I/Os, over all directions
    groups      document, group, name, direction, statistic, metric, unit, value: sums that fio itself made, the
                "Run status group" lines and the job "All clients"; never to be added to the jobs
    snapshots   as measurements, with `snapshot` (from 0) first: the reports before the last of --status-interval
    log         log ("lat" | "clat" | "slat" | "iops" | "bw"), job (number of its file, from 1; none: all jobs'), direction, block (B; none: several),
                window (ns; 0: a row for each I/O), statistic ("each", or of a window its "mean" | "max"), time (ns from
                the start; of a window its end), value (ns, 1/s, B/s): fio's logs, where they stand below "==> NAME <=="
    log_histogram  job, direction, block, window, time (its end), low, high (ns), count: fio's logs of histograms
    other       document, job, name, path, value: what is measured by an option or a fio that this parser does not
                know, as printed and in fio's own unit

Facts are program, tool_version, format ("json" | "json+" | "normal" | "terse"), documents, reports (with the
snapshots), jobs, and every option that all jobs share, as `option.bs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from parsers import text as texts
from parsers.errors import ParseError
from parsers.fio import json, logs, normal, terse
from parsers.fio.report import METRICS as METRICS
from parsers.fio.report import Job, Report, Row
from parsers.measurement import (
    Columns,
    Flag,
    NotYet,
    Parsed,
    Scalar,
    Table,
    Taken,
    measurements,
    unread,
    whole,
)

NAME: Final = "fio"
VERSION: Final = 7
PRINTED: Final[Mapping[str, float]] = {}  # all digits that there are
LABELS: Final = ("document", "job", "name", "direction", "statistic")

_JSON_NAME = re.compile(r'(?:\\?"|&quot;)fio version(?:\\?"|&quot;)')
_HEAD = re.compile(r"^(\S[^:\n]*): \(g=(\d+)\): rw=", re.MULTILINE)
_MOST_PAIRS: Final = 10_000_000
_ANY: Final = re.compile("")  # no line of fio's own begins with "#"
_SIGNAL = re.compile(r"terminating on (?:user )?signal.*")
_NOT_WHAT_WAS_WRITTEN: Final = 84
"""EILSEQ. Only fio's `verify` ends a job with this error."""

_ERRNO: Final = {
    1: "EPERM", 2: "ENOENT", 4: "EINTR", 5: "EIO", 9: "EBADF", 11: "EAGAIN", 12: "ENOMEM", 13: "EACCES",
    16: "EBUSY", 17: "EEXIST", 19: "ENODEV", 20: "ENOTDIR", 21: "EISDIR", 22: "EINVAL", 24: "EMFILE", 27: "EFBIG",
    28: "ENOSPC", 30: "EROFS", 84: "EILSEQ", 95: "EOPNOTSUPP", 110: "ETIMEDOUT", 121: "EREMOTEIO",
}  # fmt: skip

_HISTOGRAM: Final = ("document", "job", "name", "direction", "which", "low", "high", "count")
_COLUMNS: Final = {
    "jobs": ("document", "job", "name", "group", "host", "processes", "error", "error_text", "time"),
    "options": ("document", "job", "option", "value"),
    "shares": ("document", "job", "name", "low", "high", "share"),
    "groups": ("document", "group", "name", "direction", "statistic", "metric", "unit", "value"),
    "other": ("document", "job", "name", "path", "value"),
}


def recognise(text: str) -> bool:
    """Return whether the text looks like fio's output. The text may be truncated or contain only error messages."""
    if _may_hide_json(text):
        return True
    if not (texts.mentions(text, "fio", "groupid=", "(g=", "bw=", "aggrb=") or terse.may_be(text)):
        return False
    cleaned = texts.clean(text, commented=_ANY)
    messages = re.search(r"^[ \t]*fio: \S", cleaned, re.MULTILINE)
    return terse.looks_like(cleaned) or normal.looks_like(cleaned) or messages is not None


def _may_hide_json(text: str) -> bool:
    """Return whether the text has fio's JSON, plain, in a web page or inside a JSON string."""
    return "fio version" in text and _JSON_NAME.search(text) is not None


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:
    """Return the figures of every report in the text.

    With `document` and `group` in the context, return only the jobs of that group. (Groups run in sequence: `stonewall`
    begins a new group. Disks belong to the whole document.) Raises ParseError if no report contains a job.
    """
    log_files, text = logs.find(text)
    # of a text as it is: what is in the way of figures is not in the way of JSON, but a mail's broken lines are
    reports, rest = json.find(texts.clean(text) if texts.is_wrapped(text) else text)
    hidden = _may_hide_json(rest) or (not reports and texts.is_captured(text))
    if hidden or any(report.truncated for report in reports):
        reports, rest = json.find(texts.clean(text, commented=_ANY))
    rest = texts.clean(rest, commented=_ANY, emphasis=True)
    reports = [report for report in reports if report.jobs or report.truncated]
    of_text, messages = normal.find(rest)
    for others in (terse.find(rest), of_text):
        if len(reports) * len(others) > _MOST_PAIRS:
            what = "thousands of reports in several formats, which may be of the same runs"
            raise ParseError("fio's output", what)
        reports += [report for report in others if not _same_run(report, reports)]
    if not any(report.jobs or report.groups for report in reports):
        raise _nothing(texts.clean(text), messages, reports)
    runs = _runs(reports)
    group = None
    if context and "group" in context and "document" in context:
        group = int(context["group"])
        runs = _of_group(runs, int(context["document"]), group)
    heads = {head for head in _HEAD.findall(rest) if group in (None, int(head[1]))}
    facts, tables = _facts(runs, len(heads) if rest.count("\nStarting ") < 2 else 0), _tables(runs)
    flags = list(_flags(runs, messages))
    if log_files and group is None and len(runs) == 1:  # of several reports nothing says whose they are
        options = {k.removeprefix("option."): str(v) for k, v in facts.items() if k.startswith("option.")}
        old = str(facts.get("tool_version", "")).startswith(("2.", "1."))
        over_time, more = logs.tables(log_files, options, microseconds=old)
        tables |= over_time
        flags += more
    return Parsed(tables=tables, flags=tuple(flags), facts=facts)


def _same_run(report: Report, others: Sequence[Report]) -> bool:
    """Return whether the JSON (or terse) reports include this run (--output-format=json,normal)."""
    names = {job.name for job in report.jobs}
    return any(names <= {job.name for job in other.jobs} for other in others if other.form != report.form)


def _nothing(text: str, messages: Sequence[str], reports: Sequence[Report]) -> ParseError:
    if any(report.truncated for report in reports):
        return ParseError("fio's output", "it ends before the first complete job", "was fio killed?")
    if messages:
        return ParseError("fio's output", f"fio printed no result: {messages[-1]}")
    if normal.looks_like(text):
        return ParseError("fio's output", "fio started and printed no result", "was fio killed?")
    if '"fio version"' in text:
        return ParseError("fio's output", "a report without a job")
    looked = 'looked for JSON with "fio version", `NAME: (groupid=…, jobs=…)` or a terse line'
    hint = "fio --output-format=json+ prints what is read best"
    return ParseError("fio's output", f"{looked}; saw {texts.first_line(text)}", hint)


def _runs(reports: Sequence[Report]) -> list[list[Report]]:
    """Group the reports of a run in order. --status-interval prints one report per interval, and the last report is
    final.
    """
    runs = [[reports[0]]]
    for before, report in pairwise(reports):
        if _continues(before, report):
            runs[-1].append(report)
        else:
            runs.append([report])
    return runs


def _of_group(runs: Sequence[Sequence[Report]], document: int, group: int) -> list[list[Report]]:
    """Keep only the jobs of one group of one document. Raises ParseError without such jobs."""
    chosen = [
        replace(
            report,
            jobs=[job for job in report.jobs if (job.group or 0) == group],
            groups=[item for item in report.groups if item[0] in (None, group)],
        )
        for report in (runs[document] if document < len(runs) else ())
    ]
    if not any(report.jobs for report in chosen):
        raise ParseError("fio's output", f"no job of group {group} in its document {document}")
    return [chosen]


def _continues(before: Report, after: Report) -> bool:
    """Return whether `after` is a later report of the same run: the same jobs and start time, with more I/O."""
    if before.form == after.form == "normal":
        processes, later = ({(job.name, job.pid) for job in r.jobs if job.pid} for r in (before, after))
        if processes:  # more, where a later group has begun; in containers every run has the same numbers
            return not after.is_new_run and processes <= later
    pairs = list(zip(before.jobs, after.jobs, strict=False))
    if not pairs or before.form != after.form or len(before.jobs) != len(after.jobs):
        return False
    if any((a.name, a.group, a.options) != (b.name, b.group, b.options) for a, b in pairs):
        return False
    # Repeats shorter than a second may begin in the same second too, but move the same bytes.
    more = [b.value("io_bytes") - a.value("io_bytes") for a, b in pairs]
    return min(more) >= 0 and sum(more) > 0 and all(_near(a.started, b.started) for a, b in pairs)


def _near(a: int | None, b: int | None) -> bool:
    """Return whether two start times are equal, in ms (job_start), or in seconds ± 1 (timestamp - elapsed)."""
    return a is not None and b is not None and abs(a - b) <= 1


def _joined(jobs: Sequence[Job], heads: int) -> bool:
    """Return whether group_reporting combined several sections of a job file into an entry.

    fio prints the options of one section only, but job_runtime is the sum over all processes, and the head of the text
    has a line per section (`heads`).
    """
    at_work = [job for job in jobs if job.value("iops")]
    if heads > len(at_work) > 0:
        return True
    for job in at_work:
        runtimes = [v for _, s, m, v in job.rows if (m, s) == ("runtime", "total")]
        # the reads that verify a write come after it
        longest = sum(runtimes) if "verify" in job.options else max(runtimes, default=0.0)
        alone = whole(job.options.get("numjobs")) or 1
        if job.processes is None and job.value("job_runtime") > (alone + 0.3) * longest:
            return True
    return False


def _facts(runs: Sequence[Sequence[Report]], heads: int) -> dict[str, Scalar]:
    last = [run[-1] for run in runs]
    jobs = [job for report in last for job in report.jobs if not job.is_sum]
    facts: dict[str, Scalar] = {"program": "fio", "documents": len(runs)}
    facts |= {"reports": sum(map(len, runs)), "jobs": len(jobs)}
    for name, values in (("tool_version", {r.version for r in last}), ("format", {r.form for r in last})):
        if len(values) == 1 and (value := values.pop()) is not None:
            facts[name] = value
    if joined := _joined(jobs, heads):
        facts["joined"] = True
    for option, text in jobs[0].options.items() if jobs else ():
        of_all = not joined or all(option in job.shared for job in jobs)
        if option != "name" and of_all and all(job.options.get(option) == text for job in jobs):
            facts[f"option.{option}"] = text
    return facts


def _flags(runs: Sequence[Sequence[Report]], messages: Iterable[str]) -> Iterator[Flag]:
    for report in (run[-1] for run in runs):
        if report.truncated:
            yield Flag("truncated", report.truncated)
        if count := report.earlier_entries:
            what = "earlier entries of the same jobs are left out, with the sum over them"
            yield Flag("status_interval", f"{count} {what}")
        if report.not_finite:
            yield Flag("not_finite", "fio printed nan or inf; those figures are left out")
        if report.unread:
            yield unread(report.unread)
        for job in report.jobs:
            if not job.is_sum:
                yield from _job_flags(job, whole=not report.truncated and not report.unread)
    if count := sum(len(run) - 1 for run in runs):
        yield Flag("status_interval", f"{count} earlier reports of the same run are in the table snapshots")
    for message in messages:
        if found := _SIGNAL.search(message):
            yield Flag("interrupted", f"fio was {found[0]}")
        elif any(part in message for part in (", err=", "disconnected", "got signal=", "hasn't exited")):
            yield Flag("fio_message", message)


def _job_flags(job: Job, *, whole: bool) -> Iterator[Flag]:
    name = f"job {job.name!r}"
    if job.error == _NOT_WHAT_WAS_WRITTEN:
        what = f"read back other data than it had written (verify): errno {job.error}"
        yield Flag("validation_failed", f"{name} {what}")
    elif job.error:
        reason = job.error_text or _ERRNO.get(job.error, "")
        yield Flag("job_error", f"{name} failed with errno {job.error}{f' ({reason})' * bool(reason)}")
    for flag, text in job.notes:
        yield Flag(flag, f"{name}: {text}")
    metrics = {metric for _, _, metric, _ in job.rows}
    if not job.name or not whole:
        return  # an extract: what is not there may have been printed
    if "io_bytes" not in metrics:
        if not job.error:
            yield Flag("no_io", f"{name} did no I/O")
    elif not metrics & {"clat", "lat"}:
        yield Flag("no_latency", f"{name} did not measure latency (disable_lat, gtod_reduce)")


def _tables(runs: Sequence[Sequence[Report]]) -> dict[str, Table]:
    more: dict[str, list[tuple[Scalar, ...]]] = {name: [] for name in _COLUMNS}
    histograms: list[tuple[tuple[Scalar, ...], tuple[Sequence[int], ...]]] = []
    for number, report in enumerate(run[-1] for run in runs):
        for group, label, row in report.groups:
            more["groups"] += _group_row(number, group, label, row)
        for index, job in enumerate(report.jobs):
            if job.is_sum:
                more["groups"] += [result for row in job.rows for result in _group_row(number, None, job.name, row)]
                continue
            key, name = (number, index), job.name or None
            about = (job.group, job.host, job.processes, job.error, job.error_text or None, job.time)
            more["jobs"].append((*key, name, *about))
            more["options"] += [(*key, option, value) for option, value in job.options.items()]
            histograms += [((*key, name, *bins[:2]), bins[2:]) for bins in job.bins]
            more["shares"] += [(*key, name, *share) for share in job.shares]
            more["other"] += [(*key, name, *leaf) for leaf in job.other]
    last = (row for number, run in enumerate(runs) for row in _rows(number, run[-1]))
    tables = {"measurements": measurements(LABELS, METRICS, last)}
    if any(len(run) > 1 for run in runs):
        snapshots = (
            ((index, *labels), metric, value)
            for number, run in enumerate(runs)
            for index, report in enumerate(run[:-1])
            for labels, metric, value in _rows(number, report)
        )
        tables["snapshots"] = measurements(("snapshot", *LABELS), METRICS, snapshots)
    tables |= {name: Table(_COLUMNS[name], tuple(rows)) for name, rows in more.items() if rows}
    if histograms:
        tables["histogram"] = Table(_HISTOGRAM, Columns.joined(histograms))
    return tables


def _group_row(document: int, group: int | None, name: str, row: Row) -> Iterator[tuple[Scalar, ...]]:
    direction, statistic, metric, value = row
    if texts.is_finite(value):
        yield document, group, name, direction, statistic, metric, METRICS[metric].unit, float(value)


def _rows(number: int, report: Report) -> Iterator[tuple[tuple[Scalar, ...], str, float]]:
    """Yield (labels, metric, value) of one report: jobs first, then disks."""
    for index, job in enumerate(report.jobs):
        for direction, statistic, metric, value in () if job.is_sum else job.rows:
            yield (number, index, job.name or None, direction, statistic), metric, value
    for disk in report.disks:
        name = f"{disk.host}:{disk.name}" if disk.host else disk.name
        for direction, statistic, metric, value in disk.rows:
            yield (number, None, name, direction, statistic), metric, value


def _direction(settings: Mapping[str, str]) -> Mapping[str, Scalar]:
    """Return the direction if `rw` gives all I/O one direction. One column of a mix combines reads and writes."""
    word = settings.get("rw", "").removeprefix("rand")
    if word in ("rw", "readwrite"):
        return {"direction": "mixed"}
    return {"direction": word} if word in ("read", "write", "trim") else {}


def _typed(command: str) -> Mapping[str, Scalar]:
    """Return the options of a command line. `--iodepth=1/4/8` means several commands and is skipped."""
    tight = re.sub(r"(?<!\s)\s*=\s*", "=", re.sub(r"(--?)\s+(?=[a-z])", r"\1", command))
    options = re.findall(r"(?:^|\s)--?([a-z]\w*)(?:=(\S+))?", tight)
    return {f"option.{name}": v or "1" for name, v in options if not re.fullmatch(r"\w+(?:/\w+)+", v)}


def _groups(parsed: Parsed) -> list[dict[str, int]]:
    """Return the context of each group. The groups of a job file ran in sequence, so each group is a cell."""
    jobs = parsed.tables["jobs"].records() if "jobs" in parsed.tables else []
    groups = dict.fromkeys((whole(j.get("document")) or 0, whole(j.get("group")) or 0) for j in jobs)
    return [{"document": d, "group": g} for d, g in groups] if len(groups) > 1 else [{}]


def _job_names(parsed: Parsed) -> str:
    """Return the names of the jobs in a text: "job qd-32"."""
    names = dict.fromkeys(str(j["name"]) for j in parsed.tables["jobs"].records() if j.get("name"))
    return f"job {' '.join(names)}" if names else "a job"


TAKEN: Final = Taken(
    begins=(r"^\{", r"^\S[^\n]*: \(g=0\): rw=", r"^fio-\d"),
    program=r"\bfio\b",
    table_labels={"": {"name": "table"}},
    labels=_direction,
    typed=_typed,
    parts=_groups,
    part_name=_job_names,
    not_yet=(NotYet("IOR", r"^[^\w\n]*IOR-\d|^Max (?:Write|Read): +[\d.]+ MiB/sec"),),
)
