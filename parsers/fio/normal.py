"""Parse fio's normal text, 1.5x to 3.4x, also of client mode.

The lines distinguish the formats. `io=…, bw=…, iops=…, runt=…` is before 2.17, where K and M are powers of 1024.
`IOPS=…, BW=62.2MiB/s (65.3MB/s)(…)` has standard units. Each line names a time unit, and the percentile block often has
another unit than the line above. k and M of IOPS, minima and maxima are powers of 1000.
"""

from __future__ import annotations

import re
from typing import Final

from parsers._bounds import Parts, check_lines
from parsers.fio.rates import Rates, block_of, plain, size
from parsers.fio.report import ALL_CLIENTS, KIB, NS, Disk, Job, Report, is_spread, percentile, share_edges

_HOST = re.compile(r"^\s*<[^<>\s]+> ?")
_PROGRESS = re.compile(r"^\s*Jobs: \d+ \(.*\[eta [^\]]*\]\s*")  # what a CR should have overwritten
_BANNER = re.compile(r"^\s*fio[- ](\d[\w.+-]*)(?: +(?:<|#|//).*)?$")
_SERVER = re.compile(r"^\s*hostname=.*, fio=fio-(\d[\w.+-]*), ")
_OPTIONS = re.compile(r"^\s*(?P<name>\S.*): \(g=(?P<group>\d{1,18})\): rw=(?P<rw>[\w,:]+), (?P<rest>.*)$")
_JOB = re.compile(
    r"^\s*(?P<name>\S.*): \(groupid=(?P<group>\d{1,18}), jobs=(?P<jobs>\d{1,18})\): err=\s*(?P<error>-?\d{1,18})"
    r"(?: \((?P<text>.*)\))?: pid=(?P<pid>\d{1,18})(?:: (?P<time>.*?))?(?:(?<! ) +(?:<|#|//).*)?$"
)
_NEW = re.compile(
    r"^\s*(read|write|trim|mixed)\s*: IOPS=\s*(\S+), BW=\s*(\S+) \((\S+)\)\s*\((\S+)/\s*(\d{1,18})msec\)(?:[;\s].*)?$"
)
_OLD = re.compile(  # up to 2.0.15 with blanks inside: "bw=168205 B/s, iops=41 , runt= 30025msec"
    r"^\s*(read|write|trim|mixed)\s*: io=\s*+([^\s,]++(?: [^\s,]++)?) {0,2}, bw=\s*+([^\s,]++(?: [^\s,]++)?) {0,2}, iops=\s*+([^\s,]++) ?, "
    r"runt=\s*(\d{1,18}) ?msec(?:\s.*)?$"
)
_DIRECTION = re.compile(r"^\W*(read|write|trim|mixed)\s*: ?(?=\S)")
_FIGURES = re.compile(  # a line of figures, whatever became of it
    r"^\W*(?:(?:read|write|trim|mixed)\s*:\W{0,4}(?:IOPS|io)\W?=|(?:[sc]?lat|bw|iops)\b[^=]*\bmin=|(?:READ|WRITE|TRIM|MIXED): (?:bw|io)=)"
)
_SYNC = re.compile(r"^\s*fsync/fdatasync/\S+:(?:\s.*)?$")
_TIMES = re.compile(r"^\s*(\S.*?) \((nsec|usec|msec|sec)\)\s*: (?=min=)")
_PERCENTILES = re.compile(r"^\s*(\S.*?) percentiles \((nsec|usec|msec|sec)\):(?:\s.*)?$")
_PERCENTILE = re.compile(r"(?<![\d.])(\d{1,9}(?:\.\d{1,9})?)th=\[\s*(\d{1,18})\s*\]")
_BANDWIDTH = re.compile(r"^\s*bw \(\s*([A-Za-z]+)\s*/s\)\s*: (?=min=)")
_IOPS = re.compile(r"^\s*iops\s*: (?=min=)")
_SHARES = re.compile(r"^\s*lat \((nsec|usec|msec)\)\s*: (?!\W*min=)")
_SHARE = re.compile(r"((?:>=)?(?<![\d.])\d{1,9})=\s*+(\d{1,9}(?:\.\d{1,9})?)%")
_CPU = re.compile(r"^\s*cpu\s*: (?=usr=)")
_DEPTHS = re.compile(r"^\s*(IO depths|submit|complete)\s*: (?=[>=\d])")
_ISSUED = re.compile(r"^\s*issued\b[^:]*: (.*)$")
_ERRORS = re.compile(r"^\s*errors\s*: total=(\d{1,18}), first_error=(.*)$")
_TARGET = re.compile(r"^\s*latency\s*: (target=(?!0,)\S+, .*depth=\d+)$")
_STEADY = re.compile(r"^\s*steadystate\s*: attained=(yes|no), bw=(\S+) \(\S+\), iops=([^\s,]+)(.*)$")
_GROUP = re.compile(r"^\s*Run status group (\d{1,18}) \(all jobs\):(?:\s.*)?$")
_GROUP_NEW = re.compile(
    r"^\s*(READ|WRITE|TRIM|MIXED): bw=(\S+) \(\S+\), ([^\s-]++)-(\S++) \(\S+\), io=(\S+) \(\S+\), run=(\d{1,18})-(\d{1,18})msec(?:\s.*)?$"
)
_GROUP_OLD = re.compile(
    r"^\s*(READ|WRITE|TRIM|MIXED): io=\s*(\S+), aggrb=\s*(\S+), minb=\s*(\S+), maxb=\s*(\S+), mint=(\d{1,18})msec, maxt=(\d{1,18})msec(?:\s.*)?$"
)
_DISKS = re.compile(r"^\s*Disk stats \(read/write\):(?:\s.*)?$")
_DISK = re.compile(r"^\s*(\S+): (?=ios=)(.*util=\s*[-\w.]+%)(?:\s.*)?$")
_PAIR = re.compile(r"(?<!\w)(\w+)=\s*([^\s,<#*]+)")
_MESSAGE = re.compile(r"^(?:fio|client|fio_file)\b ?(?:\[\d+\])?: \S|^.{0,200}\bterminating on (?:user )?signal")
_MAY_BEGIN = re.compile(r"fio|\(g|group|Disk stats|client|terminating on")  # what all of the above have in them
_MAY_TELL = re.compile(  # what all other lines that are read have in them
    r"\||min=|IOPS=|ios?=|bw=|\*\*\*|percentiles|usr=|lat \(|IO depths|submit|complete|issued|fsync/|errors|target=|attained="
)
_OF_A_DISK: Final = (
    ("ios", "disk_ios", 1), ("sectors", "disk_bytes", 512), ("merge", "disk_merges", 1), ("ticks", "disk_ticks", NS["msec"]),
)  # fmt: skip
_STATISTICS: Final = {"min": "min", "max": "max", "avg": "mean", "stdev": "sd"}
_DEPTH: Final = {"IO depths": "iodepth_level", "submit": "iodepth_submit", "complete": "iodepth_complete"}
_WHICH: Final = {"slat": "slat", "clat": "clat", "lat": "lat", "sync": "lat"}


_DECIMAL_COMMA = re.compile(r"avg= *\d+,\d")  # between figures of a line fio prints a comma and a blank
_COUNTS_OR_FIGURES = re.compile(r"^.*?(?:(total=|\(g=\d).*)?$", re.MULTILINE)  # "issued rwts: total=8128,0,0,0"

_LOOKS = (
    re.compile(r"^.*\S: \(groupid=\d+, jobs=\d+\): err=", re.MULTILINE),
    re.compile(r"^.*\S: \(g=\d+\): rw=\w", re.MULTILINE),
    re.compile(r"^[ \t]*fio[- ]\d\.\d+\S*$", re.MULTILINE),
    re.compile(r"^[ \t]*(?:read|write|trim|mixed)\s*: (?:IOPS=\S+, BW=|io=[^\n,]+, bw=)", re.MULTILINE),
    re.compile(r"^[ \t]*(?:READ|WRITE|TRIM|MIXED): (?:bw=\S+ \(|io=\S+, aggrb=)", re.MULTILINE),
)


def looks_like(text: str) -> bool:
    return any(pattern.search(text) for pattern in _LOOKS)


def find(text: str) -> tuple[list[Report], list[str]]:
    """Return the reports of a text in order, and fio's own messages (`fio: …`)."""
    check_lines(text)
    reader = _Reader()
    if _DECIMAL_COMMA.search(text):
        text = _COUNTS_OR_FIGURES.sub(lambda m: m[0] if m[1] else re.sub(r"(?<=\d),(?=\d)", ".", m[0]), text)
    rows = text.split("\n")
    last = rows.pop()  # empty, or a line that was not ended: it may be cut off
    for row in rows:
        reader.take(row)
    if last.strip():
        reader.take(_certain(last))
    return reader.finish(), reader.messages


def _certain(line: str) -> str:
    """Return the part of an unfinished line that cannot be truncated."""
    line = line.rstrip()
    if _JOB.match(line) or _BANNER.match(line):
        return ""
    return line if line.endswith(("%", "],", "]", "msec)", "msec", "):")) else line.rpartition(",")[0]


class _Reader:
    """A line reader. The meaning of a line depends on the previous lines."""

    def __init__(self) -> None:
        self.reports: list[Report] = Parts()
        self.jobs: list[Job] = Parts()  # of all of them
        self.messages: list[str] = []
        self.report = Report(form="normal")
        self.options: dict[tuple[str, int], dict[str, str]] = {}
        self.closed = False  # the report's last part (groups, disks) has begun
        self.job: Job | None = None
        self.ended = True  # the job's last line was seen
        self.direction = ""
        self.rates: dict[str, Rates] = {}  # of the job's directions
        self.list: tuple[str, str, int] | None = None  # direction, metric and factor of the percentiles that follow
        self.group: int | None = None
        self.decimal = False  # kb_base=1000

    def finish(self) -> list[Report]:
        self._close_job()
        if self.report.jobs or self.report.groups:
            self.reports.append(self.report)
        return self.reports

    def _add(self, job: Job) -> None:
        self.report.jobs.append(job)
        self.jobs.append(job)

    def _close_job(self) -> None:
        if self.job is not None and not self.ended:
            self.report.truncated = f"the figures of job {self.job.name!r} end early"
        self.job = None

    def _next_report(self, version: str | None, *, is_new_run: bool = True) -> None:
        self._close_job()
        if self.report.jobs:
            self.reports.append(self.report)
            self.report = Report(form="normal", is_new_run=is_new_run)
        self.report.version = version
        self.closed = False

    def take(self, line: str) -> None:
        if "<" in line:
            line = _HOST.sub("", line)
        if "Jobs: " in line:
            line = _PROGRESS.sub("", line)
        line = line.rstrip()
        if (_MAY_BEGIN.search(line) and self._begins(line)) or not _MAY_TELL.search(line):
            return
        if self.job is None and not self.closed and (_NEW.match(line) or _OLD.match(line)):
            self.job = Job(name="")  # an extract without the line that names the job
            self._add(self.job)
            self.ended, self.list, self.rates = True, None, {}
            self._job_line(self.job, line)
        elif self.job is not None and not _GROUP_NEW.match(line) and not _GROUP_OLD.match(line):
            self._job_line(self.job, line)
        else:
            self._closing_line(line)

    def _begins(self, line: str) -> bool:
        """Read a line that begins a report, a job or the part below the jobs, and fio's messages."""
        if match := _BANNER.match(line):
            self._next_report(match[1])
        elif match := _SERVER.match(line):  # one for each server, all before the first result
            if self.report.jobs:
                self._next_report(match[1])
            self.report.version = match[1]
        elif match := _OPTIONS.match(line):
            if self.report.jobs:
                self._next_report(None)
                self.options = {}  # the banner follows
            self.options[match["name"], int(match["group"])] = _options(match)
        elif match := _JOB.match(line):
            self._start_job(match)
        elif match := _GROUP.match(line):
            self._close_job()
            self.closed = True
            self.group = int(match[1])
        elif _DISKS.match(line):
            self._close_job()
            self.closed = True
        elif _MESSAGE.match(line):
            self.messages.append(line.strip())
        else:
            return False
        return True

    def _start_job(self, match: re.Match[str]) -> None:
        name, group = match["name"], int(match["group"])
        is_sum = name == ALL_CLIENTS and int(match["pid"]) == 0
        if self.closed and not is_sum:
            self._next_report(self.report.version, is_new_run=False)
        self._close_job()
        candidates = (options for (other, _), options in self.options.items() if other == name)
        self.job = Job(
            name=name, group=group, is_sum=is_sum, processes=int(match["jobs"]), pid=int(match["pid"]), error=int(match["error"]),
            error_text=match["text"] or "", time=match["time"] or None,
            options=dict(self.options.get((name, group)) or next(candidates, {})),
        )  # fmt: skip
        self._add(self.job)
        self.ended, self.direction, self.list, self.rates = False, "", None, {}

    def _job_line(self, job: Job, line: str) -> None:
        rows, unread = job.rows, self.report.unread
        if "***" in line:
            unread.append(line.strip())
        if match := _PERCENTILES.match(line):
            direction, metric = self._labels(match[1])
            self.list = (direction, metric, NS[match[2]]) if metric else None
        elif line.lstrip().startswith("|"):
            if self.list:
                direction, metric, factor = self.list
                pairs = _PERCENTILE.findall(line)
                self._check(line, "=[", len(pairs))
                rows += [(direction, which, metric, int(v) * factor) for k, v in pairs if (which := percentile(k))]
        elif match := _NEW.match(line):
            self.decimal = "i" not in match[3].partition("b")[0] and "i" in match[4]
            rates = Rates(match[3], match[4], match[5], match[2], int(match[6]), binary=False)
            self._totals(job, match[1], rates)
        elif match := _OLD.match(line):
            moved, bandwidth, iops, runtime = (text.replace(" ", "") for text in match.groups()[1:])
            self._totals(job, match[1], Rates(bandwidth, "", moved, iops, int(runtime), binary=True))
        elif _SYNC.match(line):
            self.direction = "sync"
        elif match := _TIMES.match(line):
            direction, metric = self._labels(match[1])
            if metric:
                self._statistics(job, direction, metric, line[match.end() :], NS[match[2]])
        elif match := _BANDWIDTH.match(line):
            self._statistics(job, self.direction, "bandwidth", line[match.end() :], self._bandwidth_unit(match[1]))
        elif match := _IOPS.match(line):
            self._statistics(job, self.direction, "iops", line[match.end() :], 1)
        elif match := _SHARES.match(line):
            shares = _SHARE.findall(line[match.end() :])
            self._check(line, "%", len(shares))
            finer = match[1] != "nsec" and ("IOPS" in line or match[1] != "usec" or self._nanoseconds())
            for upper, share in shares:
                if (edges := share_edges(upper, match[1], finer)) and float(share):
                    job.shares.append((*edges, float(share) / 100))
        elif match := _CPU.match(line):
            for key, value in self._whole(_PAIR.findall(line[match.end() :]), "minf", r"%$"):
                metric = {"usr": "usr_cpu", "sys": "sys_cpu"}.get(key, key)
                percent = value.endswith("%")
                if metric not in ("usr_cpu", "sys_cpu", "ctx", "majf", "minf"):
                    continue
                if (read := plain(value)) is None or (metric.endswith("_cpu") and not percent):
                    unread.append(line.strip())
                else:
                    rows.append((None, "total", metric, read / 100 if percent else read))
        elif match := _DEPTHS.match(line):
            self._check(line, "%", len(_SHARE.findall(line)))
            depths = ((depth, float(share)) for depth, share in _SHARE.findall(line[match.end() :]))
            rows += [(None, depth, _DEPTH[match[1]], share / 100) for depth, share in depths if share]
        elif match := _ISSUED.match(line):
            if "short=" in match[1]:  # every fio prints it; without it the line is cut, maybe in a number
                self.ended = True
                self._issued(job, match[1])
        elif match := _ERRORS.match(line):
            rows.append((None, "total", "errors", int(match[1])))
            if int(match[1]):
                job.notes.append(("io_errors", f"{match[1]} I/O errors, the first: {match[2]}"))
        elif match := _TARGET.match(line):
            job.notes.append(("latency_target", match[1]))
        elif match := _STEADY.match(line):
            for metric, read in (("bandwidth", size(match[2], binary=False)), ("iops", plain(match[3]))):
                if read is not None:
                    rows.append((None, "steady", metric, read))
            if match[1] == "no":
                job.notes.append(("not_steady", f"the steady state asked for was not reached{match[4]}"))
        elif _FIGURES.match(line):
            if match := _DIRECTION.match(line):
                self.direction = match[1]  # of the latencies below it
            unread.append(line.strip())

    def _check(self, line: str, mark: str, count: int) -> None:
        """Store a line as unread if it has more figures than were read."""
        if line.count(mark) > count:
            self.report.unread.append(line.strip())

    def _whole(self, pairs: list[tuple[str, str]], last: str, end: str = r"\.\d\d$") -> list[tuple[str, str]]:
        """Remove the last pair of a line if the pair may be truncated: the key is not `last`, or the value does not end
        in `end`.
        """
        if not pairs or re.fullmatch(last, pairs[-1][0]) or re.search(end, pairs[-1][1]):
            return pairs
        self.report.truncated = f"the line of {pairs[-1][0]}={pairs[-1][1]} ends early"
        return pairs[:-1]

    def _bandwidth_unit(self, unit: str) -> float:
        """Return the bytes per second of `bw (  KiB/s)`.

        With kb_base=1000 the label is kB or MiB, but the figure is in KiB/s, or from 10**6 KiB/s in thousands of KiB/s
        (stat.c: show_ddir_status divides by kb_base only).
        """
        if self.decimal:
            return KIB * (1000 if unit.startswith("M") else 1) / (8 if unit.endswith("bit") else 1)
        return size(f"1{unit}", binary=unit in ("KB", "MB", "GB", "Kbit", "Mbit")) or 0.0

    def _nanoseconds(self) -> bool:
        """Return whether this fio counts nanoseconds (3.0 and later), so that `lat (usec): 2=` starts at 1 µs and not
        at 0.
        """
        if version := self.report.version:
            return not version.startswith(("1.", "2.")) or version.startswith("2.99")
        return bool(self.job and any(s == "bandwidth" for _, s, m, _ in self.job.rows if m == "samples"))

    def _labels(self, name: str) -> tuple[str, str]:
        """Return (direction, metric) for `clat`, ` lat`, `sync`, `clat prio 1/0/0 (12.5% of IOs)`. "" for an unknown
        metric.
        """
        which, _, prio = re.sub(r" \([\d.]+% of IOs\)$", "", name.strip()).partition(" ")
        direction = "sync" if which == "sync" else f"{self.direction} {prio}".strip()
        return direction, _WHICH.get(which, "")

    def _totals(self, job: Job, direction: str, rates: Rates) -> None:
        self.direction, self.rates[direction] = direction, rates
        for metric, value in (
            ("io_bytes", size(rates.moved, binary=rates.binary)),
            ("bandwidth", rates.best_bandwidth(block=block_of(job.options.get("bs", ""), direction))),
            ("iops", rates.best_iops()),
            ("runtime", rates.runtime * NS["msec"]),
        ):
            if value:
                job.rows.append((direction, "total", metric, value))
            elif value is None:
                figures = f"io={rates.moved}, bw={rates.bandwidth}, iops={rates.iops}"
                self.report.unread.append(f"{direction}: {metric} of {figures}")

    def _statistics(self, job: Job, direction: str, metric: str, text: str, factor: float) -> None:
        matches = _PAIR.findall(text)
        pairs = dict(self._whole(matches, r"samples|avg|stdev" if "nan" in text else r"samples"))
        values = {key: plain(value) for key, value in pairs.items()}
        samples = values.get("samples")
        if ("***" not in text and text.count("=") > len(matches)) or None in values.values():
            self.report.unread.append(f"{metric}: {text}")
        for theirs, ours in _STATISTICS.items():
            value = values.get(theirs)
            if value is not None and (ours != "sd" or is_spread(value, int(samples) if samples else None)):
                job.rows.append((direction or None, ours, metric, value * factor))
        if (share := values.get("per")) is not None:
            job.rows.append((direction, "mean", "bandwidth_share", share / 100))
        if samples:
            job.rows.append((direction, metric, "samples", samples))

    def _issued(self, job: Job, text: str) -> None:
        """Store `total=31887,0,0,0 short=…`, `total=r=25600/w=0/d=0, short=…` or `total=31887/0/0, short=…`.

        The count of I/Os has all digits. If the count agrees with the printed rates, the rates come from the count.
        """
        ways = ("read", "write", "trim", "sync")
        if {direction for direction, _, metric, _ in job.rows if metric == "runtime"} == {"mixed"}:
            ways = ("mixed", "write", "trim", "sync")  # unified_rw_reporting=1 counts all as reads
        for key, values in re.findall(r"(total|short|drop)(?:ped)?=([-\d,/rwd=]+)", text):
            for direction, word in zip(ways, re.findall(r"\d+", values), strict=False):
                if len(word) >= 19 or not (count := int(word)):
                    continue
                job.rows.append((direction, "total", f"{key}_ios", count))
                if key == "total" and (rates := self.rates.get(direction)):
                    block = block_of(job.options.get("bs", ""), direction)
                    best = {"bandwidth": rates.best_bandwidth(count, block), "iops": rates.best_iops(count)}
                    job.rows[:] = [
                        (way, s, m, (way == direction and s == "total" and best.get(m)) or v)
                        for way, s, m, v in job.rows
                    ]

    def _closing_line(self, line: str) -> None:
        if match := _GROUP_NEW.match(line):
            name, total, low, high, moved, first, last = match.groups()
            binary = False
        elif match := _GROUP_OLD.match(line):
            name, moved, total, low, high, first, last = match.groups()
            binary = True
        elif match := _DISK.match(line):
            self._check(line, "=", len(_PAIR.findall(match[2])))
            self.report.disks.append(_disk(match[1], match[2]))
            return
        else:
            self.report.unread += [line.strip()] if _FIGURES.match(line) else []
            return
        sizes = (
            ("bandwidth", "total", total),
            ("bandwidth", "min", low),
            ("bandwidth", "max", high),
            ("io_bytes", "total", moved),
        )
        rows = [(statistic, metric, size(text, binary=binary)) for metric, statistic, text in sizes]
        rows += [("min", "runtime", int(first) * NS["msec"]), ("max", "runtime", int(last) * NS["msec"])]
        self.report.groups += [
            (self.group, "all jobs", (name.lower(), statistic, metric, value))
            for statistic, metric, value in rows
            if value is not None
        ]


def _options(match: re.Match[str]) -> dict[str, str]:
    """Return rw, bs, ioengine and iodepth of `rr: (g=0): rw=randread, bs=…, ioengine=psync, iodepth=1`."""
    options = {"rw": match["rw"]}
    sizes, _, rest = match["rest"].partition(", ioengine=")
    if sizes.startswith("bs="):
        ranges = [part.removeprefix("bs=") for part in re.split(r"[/,] ?", re.sub(r"\([RWT]\) ", "", sizes))]
        lows_highs = {edge for part in ranges for edge in part.split("-")}
        options["bs"] = lows_highs.pop() if len(lows_highs) == 1 else sizes.removeprefix("bs=")
    engine = re.match(r"(\S+?), iodepth=(\d+)(?:\s.*)?$", rest)
    if engine:
        options["ioengine"], options["iodepth"] = engine[1], engine[2]
    return options


def _disk(name: str, text: str) -> Disk:
    disk = Disk(name=name)
    pairs = dict(_PAIR.findall(text))
    for prefix, statistic in (("", "total"), ("aggr", "members")):
        for theirs, metric, factor in _OF_A_DISK:
            # fio writes aggsectors, but aggrios, aggrmerge and aggrticks
            both = pairs.get(f"{prefix}{theirs}") or (
                pairs.get("aggsectors") if prefix and metric == "disk_bytes" else ""
            )
            for direction, value in zip(("read", "write"), (both or "").split("/"), strict=False):
                if value.isdecimal() and len(value) < 19:
                    disk.rows.append((direction, statistic, metric, int(value) * factor))
        for theirs, metric, factor, divisor in (
            ("in_queue", "disk_in_queue", NS["msec"], 1),
            ("util", "disk_util", 1, 100),
        ):
            if (read := plain(pairs.get(f"{prefix}{theirs}", ""))) is not None:
                disk.rows.append((None, statistic, metric, read * factor / divisor))
    return disk
