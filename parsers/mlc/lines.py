"""Read MLC's lines in order, and assign each line and its figures to a run and a section."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from parsers._bounds import Parts
from parsers.measurement import Scalar
from parsers.mlc.words import DEFAULT_DELAYS, SECTIONS, command_options, is_index, traffic_of, traffic_word
from parsers.text import decimals, having, is_finite, like_row, number, scaled
from parsers.text import row as row_of
from parsers.units import to_base

_I = re.IGNORECASE
_BANNER = re.compile(
    r"^[^\w\n]*(?:Intel ?(?:\(R\)|®)? +Memory Latency Checker|(?:pinsweep[ -])?(?P<kernel>memlat)(?= v?\d))"
    r"(?P<note>[^\n]*)$",
    _I,
)
_VERSION = re.compile(r"[-–\s](v\d[\w.-]*|\d+\.\d[\w.-]*)", _I)
_COMMAND = re.compile(r"^\W*Command line parameters: *(.*)$", _I)
_LAUNCHER = (
    r"(?:(?:sudo|time|nohup|numactl|taskset|env|srun|stdbuf|chrt|exec|\w+=\S+)(?: +(?:-\S+|[\d,]+[\d,-]*))*+ +)*+"
)
_PROMPT = re.compile(  # at the start of a line, behind a prompt, a label or a quotation mark; not in the midst of a sentence
    r"^(?:[^\"'`“]*[\"'`“]|[\s>*]*+(?:\S{0,80}[$>%]|\[[^\]]{0,80}\] ?[#$]|[^\s@]{1,40}@\S{1,80}[#$%]|[#+]+|[\w. =-]{1,40}[:=])? *)"
    + _LAUNCHER
    + r"(?:[\w.~:-]*+[/\\])*(mlc(?:_\w+)?(?:\.exe)?|memlat)[\"']? +(-[-\w][^\"'`“”]*)",
    _I,
)
_BUFFER = re.compile(
    r"Using buffer size of ([\d.]+) ?(?:MiB|MB)(/thread)?(?: for reads and an additional ([\d.]+) ?(?:MiB|MB))?",
    _I,
)
_TITLES: Final = tuple(
    (re.compile(rf"^\W*Measuring {title}", _I), section)
    for title, section in (
        ("idle latencies.* for all cores", "cpu_latency_matrix"),
        ("idle latencies", "latency_matrix"),
        ("Peak (?:Injection )?Memory Bandwidths", "peak_injection_bandwidth"),
        ("Maximum Memory Bandwidths", "max_bandwidth"),
        ("Memory Bandwidths between nodes", "bandwidth_matrix"),
        ("Loaded Latencies", "loaded_latency"),
        ("cache-to-cache transfer latency", "c2c_latency"),
    )
)
_CLOCKS = re.compile(
    r"^\W*Each iteration took\s+(\S+)\s+(core|base frequency) clocks\s*\(\s*(\S+)\s+ns\b", _I
)  # ")" is not asked for: pasted copies lose it
_VERBOSE_CELL = re.compile(
    r"^\W*Numa node\s+(\d{1,18})\s+\(core\s+\d+\)\s+measuring latency to memory on numa node\s+(\d{1,18})", _I
)
_LABELLED = re.compile(
    r"^\W*(ALL Reads|\d+:\d+ +Reads?-Writes?|Stream-triad like)(?:\s*+:)?\s++([^\s\"'<(#*]+)(?=[\s\"<(#*]|'(?!\d)|$)"
    r"[\"']*(?:\s*(?:[^\d\s].*)?)$",
    _I,
)
_LABELLED_TIGHT = re.compile(r"^(\W*(?:ALL Reads|\d+:\d+ +Reads?-Writes?|Stream-triad like)\s*:)", _I)
_LOADED_HEAD = re.compile(r"^\W*Inject(?:ion|ed)?\s(?=.*\bBandwidth\b)", _I)
_TRAFFIC_LINE = re.compile(r"^\W*Using (.+?) traffic type", _I)
_THREADS_LINE = re.compile(r"^\W*Using (all the threads|only one thread) from each core", _I)
_NOTES: Final[tuple[tuple[re.Pattern[str], Callable[[str], Scalar]], ...]] = (
    # the kernel's own notes, whose lines start with "#"
    (re.compile(r"^# load threads: (?P<threads>\d{1,18})\b"), int),
    (re.compile(r"^# load threads: \d+, on CPUs (?P<load_cpus>\S+)"), str),
    (re.compile(r"^# latency thread: CPU (?P<latency_cpu>\d{1,18})\b"), int),
    (re.compile(r"^# latency thread: .*(?P<access>random|sequential) order"), str),
    (re.compile(r"^# .*one turn takes (?P<delay_turn_ns>\S+) ns here"), number),
)
_UNIT_LINE = re.compile(r"Bandwidths are in .*?\(1 ([KMGT]i?)B/s(?:ec)? *= *(\d[\d,]{0,18}) Bytes/s", _I)
_UNIT = re.compile(r"\b([kKMGT]i?B)/s(?:ec)?\b")
_TRANSFER = r"(L\w+) ?-> ?(L\w+)\s+(HITM?)\s+latency"
_CPU_C2C = re.compile(r"^\W*Measuring cache-to-cache (HITM?) latency between CPUs", _I)
_LOCAL_C2C = re.compile(rf"^\W*Local Socket\s+{_TRANSFER}\s+(\d\S*)(?:\s+[^\d\s].*)?\s*$", _I)
_REMOTE_C2C = re.compile(rf"^\W*Remote Socket\s+{_TRANSFER}\s*\(data address homed in (writer|reader) socket", _I)
_REMOTE_BEGUN = re.compile(rf"^\W*Remote Socket\s+{_TRANSFER}", _I)
_LOCAL_BEGUN = re.compile(rf"^\W*Local Socket\s+{_TRANSFER}", _I)
_ANNOUNCES = re.compile(
    r"^\W*(?:Measuring (?:idle|peak|maximum|memory|loaded|cache-to-cache)\b|(?:Local|Remote) Socket\b)", _I
)
"""A line above figures, or the beginning of one."""
_NOISE = re.compile(
    r"^\W*(?:(?:Numa|Memory|Reader|Writer) +)+(?:node|CPU)\W*$|^\W*Socket\W*$|^\W*Delay\b"
    r"|^\W*Will take several minutes|^\W*Using traffic with the following|^\W*Bandwidths are in"
    r"|^\W*Read/Write Ratios?\b",
    _I,
)
_DECIMALS: Final = {("loaded_latency", "latency"): 2, ("max_bandwidth", "bandwidth"): 2}
"""Digits after the point as printed; 1 everywhere else. Tells `1612` from `16126.7` cut short."""

_MAY_SAY = having(
    "latency checker|memlat|mlc|command line|buffer size|measuring|inject|prefetchers|socket|random access|huge|invalid argument|node"
    "|cpu|traffic|threads|bandwidths|thread|one turn|delay|will take|ratio"
)
_RULE = re.compile(r"[\W_]*+")
_WORD = re.compile(r"(?<!\w)[^\W\d_]{3,}")
"""Of letters. Two of them are a sentence, a heading, another tool's command. What looks like figures below it may be
another table's."""
_NOTICES: Final = (
    (re.compile(r"Unable to (?:modify prefetchers|access mlcdrv)", _I), "no_msr"),
    (re.compile(r"enabling random access for latency", _I), "random_access"),
    (re.compile(r"huge ?pages need to be allocated", _I), "hugepages_missing"),
    (re.compile(r"^\W*Invalid Argument\b", _I), "invalid_argument"),
)


class Cell(NamedTuple):
    """A figure of a table."""

    labels: tuple[Scalar, ...]  # LABELS without run
    metric: str
    word: str  # as printed
    factor: float = 1.0  # to the base unit
    last: bool = False  # on a last line without a line end: it may be cut anywhere


@dataclass(slots=True)
class Run:
    """The output of one MLC run."""

    rank: int | None = None
    heading: str | None = None
    program: str | None = None
    version: str | None = None
    command: str | None = None
    prompted: bool = False  # the command is what was typed; the tool's own line may follow and wins
    options: Mapping[str, str] = field(default_factory=dict)
    facts: dict[str, Scalar] = field(default_factory=dict)
    tables: dict[str, list[Cell]] = field(default_factory=dict)  # by section, in the text's order
    flags: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    transfers: list[str] = field(default_factory=list)  # between caches, whose matrix was announced

    @property
    def mode(self) -> str | None:
        mode = next((name[2:] for name in self.options if name.startswith("--")), None)
        return "cpu_latency_matrix" if mode == "latency_matrix" and "a" in self.options else mode

    @property
    def is_default(self) -> bool:
        """Whether this is a run of all sections. Without an option, MLC does not print a command line."""
        return self.version is not None and self.command is None

    def measured(self, section: str | None = None) -> bool:
        return any(cells for name, cells in self.tables.items() if section in (None, name))

    def add(self, cell: Cell) -> None:
        self.tables.setdefault(str(cell.labels[0]), []).append(cell)


class Reader:
    """A state machine over lines. A label or prompt before the banner is buffered for the next run."""

    def __init__(self, rank: int | None, traffic: str | None) -> None:
        self.rank = rank
        self.context_traffic = traffic
        self.runs: list[Run] = Parts()
        self.section: str | None = None
        self._forget_head()
        self._reset_section()

    def _forget_head(self) -> None:
        self.heading: str | None = None
        self.prompt: tuple[str, str] | None = None  # program, command: typed on the line above the output
        self.banner: tuple[str, str | None] | None = None  # program, version

    def _reset_section(self) -> None:
        self.columns: tuple[int, ...] = ()  # of a matrix
        self.transfer: str | None = None
        self.order: tuple[str, ...] = ("latency", "bandwidth")  # of the loaded-latency table
        self.cell: tuple[int, int] | None = None  # (from, to) that a verbose line announced
        self.factor = 1e6  # MB/sec, unless a unit line or a table head says otherwise
        self.traffic_type: str | None = None  # from "Using … traffic type"
        self.aside: list[str] | None = None  # like figures, below prose that follows rows
        self.wrapped = ""  # a title of cache-to-cache latencies that a mail broke

    # -- runs and sections

    def _run(self, section: str | None = None) -> Run:
        """Return the run of the line, a new run if the line begins one."""
        run = self.runs[-1] if self.runs else None
        is_next = run and run.version and section and run.mode in (None, section) and not run.measured(section)
        if self.prompt and not self.banner and is_next:
            self._forget_head()  # a note: whatever MLC is started for, it prints its banner first
        if run and not self.prompt and not self.banner:
            self._forget_head()
            return run
        # v3.5 was seen to print its banner twice, before and after the command line
        if not run or self.prompt or not section or section != run.mode or run.tables:
            run = self._add(*(self.banner or (None, None)))
            if self.prompt:
                run.program, run.prompted = self.prompt[0], True
                self._command(run, self.prompt[1])
                if self.banner:
                    run.program, run.version = self.banner
        self._forget_head()
        return run

    def _add(self, program: str | None, version: str | None) -> Run:
        self.runs.append(Run(self.rank, self.heading, program, version))
        self.section = None
        self._reset_section()
        return self.runs[-1]

    def _new_run(self) -> Run:
        """Begin a run that only a repeated section indicates."""
        if not (self.prompt or self.banner):
            self._add(self.runs[-1].program, self.runs[-1].version)
        self.section = None
        self._reset_section()
        return self._run()

    def _begin(self, section: str) -> Run:
        run = self._run(section)
        if run.measured(section):
            run = self._new_run()
        run.tables.setdefault(section, [])
        self.section = section
        self._reset_section()
        return run

    def _command(self, run: Run, line: str) -> None:
        run.command = line.strip()
        run.options = command_options(run.command)
        if run.mode in SECTIONS and run.mode != "loaded_latency":
            self.section = run.mode  # for a matrix whose title is lost; a loaded table has a head of its own

    # -- lines

    def read(self, line: str, *, last: bool) -> None:
        line = line.replace("|", " ")  # of Markdown tables; the tool prints none
        if "^C" in line:  # a terminal shows where the user broke off: as good as the end of the text
            line, last = line.partition("^C")[0], True
            if self.section and self.runs:
                self.runs[-1].flags.add("truncated")
        if not line.strip():
            return
        if self._figures(line, last):
            self.heading = None  # what stood above them is no label of what follows
            self.runs[-1].unread += self.aside or []  # the section went on
            self.aside = None
        elif last or not self._says(line):
            self._unread(line, last)

    def _says(self, line: str) -> bool:
        """Read a line without figures. Most lines of other tools contain no word of MLC."""
        if _MAY_SAY(line) or self.wrapped:
            return self._head(line) or self._title(line) or self._say(line)
        return self._is_note(line) or (self.section is not None and _RULE.fullmatch(line) is not None)

    def _is_note(self, line: str) -> bool:
        return bool(self.runs) and self.runs[-1].program == "memlat" and line.startswith("#")

    def _head(self, line: str) -> bool:
        if match := _BANNER.match(line):
            version = _VERSION.search(match["note"])
            self.banner = ("memlat" if match["kernel"] else "mlc", version[1] if version else None)
            self.section = self.traffic_type = None
        elif match := _COMMAND.match(line):
            run = self._run()
            if run.command is not None and not run.prompted:
                run = self._new_run()
            run.prompted = False
            self._command(run, match[1])
        elif match := _BUFFER.search(line):
            run = self._run()
            for name, word in (("buffer_read_bytes", match[1]), ("buffer_write_bytes", match[3])):
                size = scaled(word or "", 2**20)
                run.facts[name] = round(size) if size is not None and size < 1e18 else None
            run.facts["buffer_per_thread"] = bool(match[2])
        elif match := _PROMPT.search(line):
            before, quote, _ = line.partition('"')
            label = re.sub(r"(?<![\W_])[\W_]*command[\W_]*$", "", before, flags=_I).strip() if quote else ""
            self.heading = label or self.heading
            self.prompt = ("memlat" if match[1].lower() == "memlat" else "mlc", match[2])
            self.banner = self.section = self.traffic_type = None
        else:
            return False
        return True

    def _title(self, line: str) -> bool:
        joined, self.wrapped = f"{self.wrapped} {line.strip()}", ""
        if _REMOTE_C2C.match(joined):
            line = joined
        if section := next((section for pattern, section in _TITLES if pattern.match(line)), None):
            run = self._begin(section)
            if match := re.search(r"for (random|sequential) access", line, _I):
                run.facts["access"] = match[1].lower()
        elif _LOADED_HEAD.match(line):
            traffic = self.traffic_type if self.section is None else None  # an extract begins below the title
            if self._run("loaded_latency").measured("loaded_latency") or self.section != "loaded_latency":
                self._begin("loaded_latency")
                self.traffic_type = traffic
            places = {line.lower().find(metric): metric for metric in ("latency", "bandwidth")}
            self.order = tuple(metric for place, metric in sorted(places.items()) if place >= 0)
            self._unit(line)
        elif match := _CPU_C2C.match(line):
            self._transfers(f"between CPUs {match[1].upper()}")
        elif match := _REMOTE_C2C.match(line):
            self._transfers(f"remote {match[1]}->{match[2]} {match[3].upper()}, homed in {match[4].lower()}")
        elif _REMOTE_BEGUN.match(line):
            self.wrapped, self.transfer, self.columns = line.strip(), None, ()
        else:
            return False
        return True

    def _transfers(self, transfer: str) -> None:
        """Begin a matrix of transfers between caches."""
        if self.section != "c2c_latency":
            self._begin("c2c_latency")
        self.transfer, self.columns = transfer, ()
        self.runs[-1].transfers.append(transfer)

    def _unit(self, line: str) -> None:
        if match := _UNIT.search(line):
            self.factor = to_base(f"{match[1]}/s")[0]

    def _say(self, line: str) -> bool:
        """Read the facts of a line about the run or section, without figures."""
        if flag := next((flag for pattern, flag in _NOTICES if pattern.search(line)), None):
            self._run().flags.add(flag)
            return True
        facts = self.runs[-1].facts if self.runs else {}
        if match := _VERBOSE_CELL.match(line):
            self.cell = (int(match[1]), int(match[2]))
        elif match := _TRAFFIC_LINE.match(line):
            self.traffic_type = traffic_word(match[1])
        elif self.runs and (match := _THREADS_LINE.match(line)):
            facts["hyperthreads"] = "all" if match[1].lower().startswith("all") else "one per core"
        elif self.runs and (match := _UNIT_LINE.search(line)):
            self.factor = float(int(match[2].replace(",", "")))
            facts["bandwidth_unit"] = f"1 {match[1]}B/s = {self.factor:.0f} B/s"
        elif self._is_note(line):
            for pattern, read in _NOTES:
                if (match := pattern.search(line)) and (value := read(match[match.lastgroup or 0])) is not None:
                    facts[match.lastgroup or ""] = value
        elif self.section == "loaded_latency" and re.match(r"^\W*Delay\b", line, _I):
            self._unit(line)
        elif self.section is None or not _NOISE.match(line):
            return False
        return True

    def _figures(self, line: str, last: bool) -> bool:
        if match := _CLOCKS.match(line):
            verbose = self.cell is not None and self.section == "latency_matrix"
            section = "latency_matrix" if verbose else "idle_latency"
            run = self._run(section)
            if not verbose and run.measured(section):
                run = self._new_run()
            source, memory = self.cell if verbose and self.cell else (None, None)
            labels = _labels(section, source=source, memory=memory)
            clocks = "core_clocks" if match[2].lower() == "core" else "base_clocks"
            run.add(Cell(labels, clocks, match[1]))
            run.add(Cell(labels, "latency", match[3]))
            self.cell = None
            return True
        if match := _LOCAL_C2C.match(line):
            if self.section != "c2c_latency":
                self._begin("c2c_latency")
            labels = _labels("c2c_latency", transfer=f"local {match[1]}->{match[2]} {match[3].upper()}")
            self.runs[-1].add(Cell(labels, "latency", match[4], last=last))
            return True
        if self.section is None or self.banner or self.prompt:
            return False
        if self.section in ("peak_injection_bandwidth", "max_bandwidth"):
            return self._labelled(line, last)
        return (self._loaded if self.section == "loaded_latency" else self._matrix)(self.runs[-1], line, last)

    def _labelled(self, line: str, last: bool) -> bool:
        match = _LABELLED.match(_LABELLED_TIGHT.sub(r"\1 ", line))
        if not match or number(match[2]) is None:
            return False
        label = match[1].lower().split()[0]
        labels = _labels(self.section or "", traffic={"all": "read", "stream-triad": "triad"}.get(label, label))
        self.runs[-1].add(Cell(labels, "bandwidth", match[2], self.factor, last))
        return True

    def _loaded(self, run: Run, line: str, last: bool) -> bool:
        row = row_of(line, len(self.order) + 1) or row_of(line, 2)
        words = row[0] if row and (len(row[0]) > 2 or "T" in run.options) else line.split()
        order = ("bandwidth",) if len(words) == 2 and "T" in run.options else self.order
        if not words or not is_index(words[0]):
            return False
        if len(words) != len(order) + 1 or any(number(word) is None for word in words[1:]):
            short = len(words) <= len(order) or (last and len(words) == len(order) + 1)
            if short and all(number(word) is not None for word in words[1:-1]):
                run.flags.add("truncated")  # " 00015<TAB>": the row that was being measured
                return True
            return False
        table = run.tables["loaded_latency"]
        index = 1 + int(str(table[-1].labels[1])) if table else 0
        labels = _labels("loaded_latency", row=index, delay=int(words[0]), traffic=self._traffic(run))
        for metric, word in zip(order, words[1:], strict=True):
            run.add(Cell(labels, metric, word, self.factor if metric == "bandwidth" else 1.0, last))
        return True

    def _traffic(self, run: Run) -> str | None:
        if self.traffic_type or "o" in run.options:
            return self.traffic_type  # with -o every thread has its own, by a file
        requested = traffic_of(run.options) or self.context_traffic
        return requested or ("read" if run.command is not None or run.version else None)  # MLC's default

    def _matrix(self, run: Run, line: str, last: bool) -> bool:
        section = self.section or ""
        words = line.strip(" \t\"'`*>").split()
        while words and words[0].lower() in ("numa", "memory", "node", "socket", "cpu", "writer", "reader"):
            del words[0]
            if words and all(map(is_index, words)):
                self.columns = tuple(map(int, words))
                run.tables.setdefault(section, [])
                return True
        if not self.columns or not words or not is_index(words[0]):
            return False
        if section == "c2c_latency" and self.transfer is None:
            return False  # of which transfer?
        width, figures = len(self.columns), words[1:]
        if len(figures) > width and not figures[width][:1].isdigit():
            figures = figures[:width]  # and a note behind them
        readable = all(number(word) is not None or not word.strip("-") for word in figures)
        if len(figures) != width or not readable:
            is_cut = last or (len(figures) < width and readable)
            run.flags |= {"truncated"} if is_cut else set()
            return is_cut
        metric, factor, traffic = "latency", 1.0, None
        if section == "bandwidth_matrix":
            metric, factor, traffic = "bandwidth", self.factor, self._traffic(run)
        run.tables.setdefault(section, [])
        for memory, word in zip(self.columns, figures, strict=True):
            if word.strip("-"):  # "-": no such transfer
                labels = _labels(section, traffic=traffic, transfer=self.transfer, source=int(words[0]), memory=memory)
                run.add(Cell(labels, metric, word, factor, last and memory == self.columns[-1]))
        return True

    def _unread(self, line: str, last: bool) -> None:
        self.prompt = None  # a command is the command of what stands right below it
        if self.banner is None:
            self.heading = line.strip()
        if not self.runs:
            return
        run, table = self.runs[-1], self.runs[-1].tables.get(self.section or "")
        if last and (_ANNOUNCES.match(line) or table == []):
            run.flags.add("truncated")
        if self.section and self._like_figures(line):
            if last and self.aside is None:
                run.flags.add("truncated")
            elif self.aside is None or self._damaged(table or [], line.split()):
                run.unread.append(line.strip())
            elif not last:
                self.aside.append(line.strip())
        elif self.section and table and len(_WORD.findall(line)) > 1:
            self.aside = self.aside or []

    def _damaged(self, table: Sequence[Cell], words: Sequence[str]) -> bool:
        """Return whether the line is a damaged row of the section's table.

        The number of words must fit, the index must be new, and all cells except one must be numbers.
        """
        readable = sum(number(word) is not None for word in words[1:])
        if len(words) != len(self.columns or self.order) + 1 or readable != len(words) - 2 or not is_index(words[0]):
            return False
        if self.section == "loaded_latency":
            return int(words[0]) not in {cell.labels[2] for cell in table}
        return int(words[0]) in {*self.columns} - {cell.labels[-2] for cell in table}

    def _like_figures(self, line: str) -> bool:
        """Return whether an unread line of a section looks like figures."""
        words = line.split()
        expected = len(self.columns or self.order) + 1
        return (
            (words[:1] != [] and words[0].isdigit() and 1 < len(words) <= expected + 1)
            or sum("." in word and number(word) is not None for word in words) > 1
            or like_row(line, expected)
            or _LABELLED_TIGHT.match(line) is not None
            or _LOCAL_BEGUN.match(line) is not None
        )

    def close(self) -> list[Run]:
        if self.wrapped and self.runs:
            self.runs[-1].flags.add("truncated")
        if self.banner:  # a banner and nothing below it is a run too: one that was cut or refused
            self._run()
        for run in self.runs:
            if run.prompted and run.version and run.program != "memlat":
                run.command, run.options = None, {}  # MLC repeats what it was given: this was not for it
            for section, cells in run.tables.items():
                _keep_last(cells)
                _drop_cut_row(run, section, cells)
            _check_complete(run)
            if run.program == "memlat":
                run.flags.add("stand_in")
            elif run.version is None:
                run.flags.add("no_banner")
            if run.facts.get("access") == "random" or "r" in run.options or "random_access" in run.flags:
                run.facts["access"] = "random"
                run.flags.discard("random_access")
                if any(cell.metric == "latency" for cells in run.tables.values() for cell in cells):
                    run.flags.add("random_access")
            if not run.measured():
                run.flags.add("no_figures")
            if run.unread:
                run.flags.add("unread")
        return self.runs


def _keep_last(cells: list[Cell]) -> None:
    """Remove repeated figures of a matrix, because a verbose run prints each cell before the matrix."""
    latest: dict[object, Cell] = {}
    for index, cell in enumerate(cells):
        key = index if cell.labels[-1] is None else cell[:2]
        latest.pop(key, None)
        latest[key] = cell
    cells[:] = latest.values()


def _drop_cut_row(run: Run, section: str, cells: list[Cell]) -> None:
    """Remove a table's last row if the figures have fewer digits than the rows above, because the process was killed.

    A last line without a line end is judged more strictly. A first row is compared with MLC's usual digits.
    """
    labels = cells[-1].labels if cells else ()
    for _, metric, word, _, last in [cell for cell in cells if cell.labels == labels]:
        above = {decimals(cell.word) for cell in cells if cell.metric == metric and cell.labels != labels}
        if last:
            above = {max(above, default=_DECIMALS.get((section, metric), 1))}
        elif not above and metric in ("latency", "bandwidth"):
            above = {1}  # MLC prints no whole numbers
        if is_finite(number(word)) and len(above) == 1 and decimals(word) < min(above):
            cells[:] = [cell for cell in cells if cell.labels[:6] != labels[:6]]  # the row of a matrix
            run.flags.add("truncated")
            return


_ALL: Final = tuple(section for _, section in _TITLES if section not in ("cpu_latency_matrix", "max_bandwidth"))
"""The sections that MLC v3 and later measures without an option, in order."""


def _check_complete(run: Run) -> None:
    """Flag truncated output: a section without figures, an incomplete default list of delays or mixes."""
    refused = run.flags & {"hugepages_missing", "invalid_argument"}
    cut = any(not cells for cells in run.tables.values()) and not refused
    if run.program != "memlat":  # it may be asked for fewer
        delays = tuple({c.labels[1]: c.labels[2] for c in run.tables.get("loaded_latency", ())}.values())
        free = "d" not in run.options and "g" not in run.options
        cut |= free and 0 < len(delays) < len(DEFAULT_DELAYS) and delays == DEFAULT_DELAYS[: len(delays)]
        cut |= any(0 < len(run.tables.get(s, ())) < 5 for s in ("peak_injection_bandwidth", "max_bandwidth"))
        run.flags |= _rows_missing(run)
        sections = tuple(run.tables)
        is_all = run.is_default and not run.prompted and re.match(r"v?[3-9]", run.version or "")
        is_begun = 1 < len(sections) < len(_ALL) and sections == _ALL[: len(sections)]  # one alone may be all
        if is_all and is_begun and not cut and "truncated" not in run.flags:
            run.flags.add("sections_missing")
        for transfer in run.transfers:
            if transfer.startswith("remote"):  # there is a row and a column for each node that has CPUs
                pairs = [c.labels[-2:] for c in run.tables.get("c2c_latency", ()) if c.labels[-3] == transfer]
                cut |= not pairs or {a for a, _ in pairs} != {b for _, b in pairs}
    run.flags |= {"truncated"} if cut else set()


def _rows_missing(run: Run) -> set[str]:
    """Return the flag of a run that ends in a matrix over NUMA nodes with fewer rows than columns.

    Nodes without CPUs (HBM, CXL) have no row. If more than half of the nodes have no row, or a run of all modes ends
    here, the text was truncated. Other texts are ambiguous.
    """
    section, cells = next(reversed(run.tables.items()), ("", []))
    if section not in ("latency_matrix", "bandwidth_matrix"):
        return set()
    pairs = [cell.labels[-2:] for cell in cells if None not in cell.labels[-2:]]
    sources, memories = ({pair[i] for pair in pairs} for i in (0, 1))
    if sources >= memories:
        return set()
    return {"truncated" if run.is_default or 2 * len(sources) < len(memories) else "rows_missing"}


def _labels(
    section: str, *, row: int | None = None, delay: int | None = None, traffic: str | None = None,
    transfer: str | None = None, source: int | None = None, memory: int | None = None,
) -> tuple[Scalar, ...]:  # fmt: skip
    return (section, row, delay, traffic, transfer, source, memory)
