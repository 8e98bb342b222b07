"""The lines of MLC's output, one after the other: which run and which section each belongs to, and its figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from parsers._bounds import Parts
from parsers._mlc_words import DEFAULT_DELAYS, SECTIONS, command_options, is_index, traffic_of, traffic_word
from parsers.measurement import Scalar
from parsers.text import having, like_row, number, scaled
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
_LAUNCHER = r"(?:(?:sudo|time|nohup|numactl|taskset|env|srun|stdbuf|chrt|exec|\w+=\S+)(?: +(?:-\S+|[\d,]+[\d,-]*))*+ +)*+"
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
_TITLES: Final = (
    (re.compile(r"^\W*Measuring idle latencies.* for all cores", _I), "cpu_latency_matrix"),
    (re.compile(r"^\W*Measuring idle latencies", _I), "latency_matrix"),
    (re.compile(r"^\W*Measuring Peak (?:Injection )?Memory Bandwidths", _I), "peak_injection_bandwidth"),
    (re.compile(r"^\W*Measuring Maximum Memory Bandwidths", _I), "max_bandwidth"),
    (re.compile(r"^\W*Measuring Memory Bandwidths between nodes", _I), "bandwidth_matrix"),
    (re.compile(r"^\W*Measuring Loaded Latencies", _I), "loaded_latency"),
    (re.compile(r"^\W*Measuring cache-to-cache transfer latency", _I), "c2c_latency"),
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
_REMOTE_C2C = re.compile(
    rf"^\W*Remote Socket\s+{_TRANSFER}\s*\(data address homed in (writer|reader) socket", _I
)
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
    *(
        "latency checker",
        "memlat",
        "mlc",
        "command line",
        "buffer size",
        "measuring",
        "inject",
        "prefetchers",
        "socket",
    ),
    *(
        "random access",
        "huge",
        "invalid argument",
        "node",
        "cpu",
        "traffic",
        "threads",
        "bandwidths",
        "thread",
        "one turn",
    ),
    *("delay", "will take", "ratio"),
)
_RULE = re.compile(r"[\W_]*+")
_WORD = re.compile(r"(?<!\w)[^\W\d_]{3,}")
"""Of letters. Two of them are a sentence, a heading, another tool's command. What looks like figures below it may be another table's."""
_NOTICES: Final = (
    (re.compile(r"Unable to (?:modify prefetchers|access mlcdrv)", _I), "no_msr"),
    (re.compile(r"enabling random access for latency", _I), "random_access"),
    (re.compile(r"huge ?pages need to be allocated", _I), "hugepages_missing"),
    (re.compile(r"^\W*Invalid Argument\b", _I), "invalid_argument"),
)


@dataclass(slots=True)
class Row:
    labels: tuple[Scalar, ...]  # LABELS without run
    cells: list[tuple[str, str, float]]  # metric, the word as printed, factor to the base unit
    last: bool  # on a last line without a line end: it may be cut anywhere


@dataclass(slots=True)
class Run:
    rank: int | None = None
    heading: str | None = None
    program: str | None = None
    version: str | None = None
    command: str | None = None
    prompted: bool = False  # the command is what was typed; the tool's own line may follow and wins
    options: Mapping[str, str] = field(default_factory=dict)
    facts: dict[str, Scalar] = field(default_factory=dict)
    tables: dict[str, list[Row]] = field(default_factory=dict)  # by section, in the text's order
    flags: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)
    transfers: list[str] = field(default_factory=list)  # between caches, whose matrix was announced
    _with: dict[tuple[tuple[Scalar, ...], str], list[Row]] = field(default_factory=dict)  # labels and metric

    @property
    def mode(self) -> str | None:
        mode = next((name[2:] for name in self.options if name.startswith("--")), None)
        return "cpu_latency_matrix" if mode == "latency_matrix" and "a" in self.options else mode

    def measured(self, section: str | None = None) -> bool:
        return any(rows for name, rows in self.tables.items() if section in (None, name))

    def has(self, metric: str) -> bool:
        """Has any row a figure of this metric?"""
        return any(
            name == metric for rows in self.tables.values() for row in rows for name, _, _ in row.cells
        )

    def add(self, labels: tuple[Scalar, ...], cells: list[tuple[str, str, float]], *, last: bool) -> None:
        row = Row(labels, cells, last)
        self.tables.setdefault(str(labels[0]), []).append(row)
        for metric, _, _ in cells:
            self._with.setdefault((labels, metric), []).append(row)

    def drop(self, labels: tuple[Scalar, ...], metric: str) -> None:
        """Take a figure out of the rows that have it."""
        for row in self._with.pop((labels, metric), ()):
            row.cells = [cell for cell in row.cells if cell[0] != metric]


class Reader:
    """A machine that is fed lines. What belongs to a run but stands before its banner (label, prompt) is kept in hand."""

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
        self.said: str | None = None  # traffic, from "Using … traffic type"
        self.aside: list[str] | None = None  # like figures, below prose that follows rows
        self.wrapped = (
            ""  # the beginning of a title of cache-to-cache latencies, which is longer than a mail's line
        )

    # -- runs and sections

    def _run(self, section: str | None = None) -> Run:
        """Return the run that the line at hand belongs to; begin it if it is a new one."""
        current = self.runs[-1] if self.runs else None
        if current is not None and self.prompt and not self.banner and self._goes_on(current, section):
            self._forget_head()  # a note: whatever MLC is started for, it prints its banner first
        if current is None or self.prompt is not None or self.banner is not None:
            # v3.5 was seen to print its banner twice, before and after the command line
            again = (
                current is not None
                and self.prompt is None
                and section is not None
                and section == current.mode
                and not current.tables
            )
            if not again:
                current = Run(rank=self.rank, heading=self.heading)
                self.runs.append(current)
                self.section = None
                self._reset_section()
                if self.prompt:
                    current.program, command = self.prompt
                    self._command(current, command)
                    current.prompted = True
                if self.banner:
                    current.program, current.version = self.banner
        assert current is not None
        self._forget_head()
        return current

    @staticmethod
    def _goes_on(run: Run, section: str | None) -> bool:
        """Does the section belong to a run with a banner, though a command stands above it?"""
        return (
            run.version is not None
            and run.mode in (None, section)
            and section is not None
            and not run.measured(section)
        )

    def _new_run(self) -> Run:
        """Begin a run that nothing but a repeated section announces."""
        before = self.runs[-1]
        self.section = None
        self._reset_section()
        if not (self.prompt or self.banner):
            self.runs.append(
                Run(rank=self.rank, heading=self.heading, program=before.program, version=before.version)
            )
            self._forget_head()
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
        """Take in what a line says that holds no figures. Most lines of a text that is none of MLC's lack every word of it."""
        if _MAY_SAY(line) or self.wrapped:
            return self._head(line) or self._title(line) or self._say(line)
        if self.runs and self.runs[-1].program == "memlat" and line.startswith("#"):
            return True
        return self.section is not None and _RULE.fullmatch(line) is not None

    def _head(self, line: str) -> bool:
        if match := _BANNER.match(line):
            version = _VERSION.search(match["note"])
            self.banner = ("memlat" if match["kernel"] else "mlc", version[1] if version else None)
            self.section = self.said = None
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
            heading = label or self.heading
            self._forget_head()
            self.heading = heading
            self.prompt = ("memlat" if match[1].lower() == "memlat" else "mlc", match[2])
            self.section = self.said = None
        else:
            return False
        return True

    def _title(self, line: str) -> bool:
        joined, self.wrapped = f"{self.wrapped} {line.strip()}", ""
        if _REMOTE_C2C.match(joined):
            line = joined
        for pattern, section in _TITLES:
            if pattern.match(line):
                run = self._begin(section)
                if match := re.search(r"for (random|sequential) access", line, _I):
                    run.facts["access"] = match[1].lower()
                return True
        if _LOADED_HEAD.match(line):
            said = self.said if self.section is None else None  # of an extract that begins below the title
            run = self._run("loaded_latency")
            if self.section != "loaded_latency" or run.measured("loaded_latency"):
                self._begin("loaded_latency")
                self.said = said
            self._columns_of_loaded(line)
            return True
        if match := _CPU_C2C.match(line):
            return self._transfers(f"between CPUs {match[1].upper()}")
        if match := _REMOTE_C2C.match(line):
            kind = f"remote {match[1]}->{match[2]} {match[3].upper()}"
            return self._transfers(f"{kind}, homed in {match[4].lower()}")
        if _REMOTE_BEGUN.match(line):
            self.wrapped, self.transfer, self.columns = line.strip(), None, ()
            return True
        return False

    def _transfers(self, transfer: str) -> bool:
        """Begin a matrix of transfers between caches."""
        if self.section != "c2c_latency":
            self._begin("c2c_latency")
        self.transfer, self.columns = transfer, ()
        self.runs[-1].transfers.append(transfer)
        return True

    def _columns_of_loaded(self, line: str) -> None:
        lowered = line.lower()
        places = {m: lowered.find(m) for m in ("latency", "bandwidth") if m in lowered}
        if places:
            self.order = tuple(sorted(places, key=lambda metric: places[metric]))
        self._unit(line)

    def _unit(self, line: str) -> None:
        if match := _UNIT.search(line):
            self.factor = to_base(f"{match[1]}/s")[0]

    def _say(self, line: str) -> bool:
        """Read what a line says about its run or section, besides figures."""
        for pattern, flag in _NOTICES:
            if pattern.search(line):
                self._run().flags.add(flag)
                return True
        if match := _VERBOSE_CELL.match(line):
            self.cell = (int(match[1]), int(match[2]))
        elif match := _TRAFFIC_LINE.match(line):
            self.said = traffic_word(match[1])
        elif self.runs and (match := _THREADS_LINE.match(line)):
            self.runs[-1].facts["hyperthreads"] = (
                "all" if match[1].lower().startswith("all") else "one per core"
            )
        elif self.runs and (match := _UNIT_LINE.search(line)):
            self.factor = float(int(match[2].replace(",", "")))
            self.runs[-1].facts["bandwidth_unit"] = f"1 {match[1]}B/s = {self.factor:.0f} B/s"
        elif self.runs and self.runs[-1].program == "memlat" and line.startswith("#"):
            self.runs[-1].facts |= _noted(line)
        elif self.section == "loaded_latency" and re.match(r"^\W*Delay\b", line, _I):
            self._unit(line)
        elif self.section is None or not _NOISE.match(line):
            return False
        return True

    def _figures(self, line: str, last: bool) -> bool:
        if match := _CLOCKS.match(line):
            word, clock, ns = match.groups()
            verbose = self.cell is not None and self.section == "latency_matrix"
            section = "latency_matrix" if verbose else "idle_latency"
            run = self._run(section)
            if not verbose and run.measured(section):
                run = self._new_run()
            source, memory = self.cell if verbose and self.cell else (None, None)
            cells = [
                ("core_clocks" if clock.lower() == "core" else "base_clocks", word, 1.0),
                ("latency", ns, 1.0),
            ]
            run.add(_labels(section, source=source, memory=memory), cells, last=False)
            self.cell = None
            return True
        if match := _LOCAL_C2C.match(line):
            if self.section != "c2c_latency":
                self._begin("c2c_latency")
            transfer = f"local {match[1]}->{match[2]} {match[3].upper()}"
            labels = _labels("c2c_latency", transfer=transfer)
            self.runs[-1].add(labels, [("latency", match[4], 1.0)], last=last)
            return True
        if self.section is None or self.banner or self.prompt:
            return False
        if self.section in ("peak_injection_bandwidth", "max_bandwidth"):
            return self._labelled(line, last)
        if self.section == "loaded_latency":
            return self._loaded(line, last)
        return self._matrix(line, last)

    def _labelled(self, line: str, last: bool) -> bool:
        match = _LABELLED.match(_LABELLED_TIGHT.sub(r"\1 ", line))
        if not match or number(match[2]) is None:
            return False
        label = match[1].lower().split()[0]
        traffic = {"all": "read", "stream-triad": "triad"}.get(label, label)
        labels = _labels(self.section or "", traffic=traffic)
        self.runs[-1].add(labels, [("bandwidth", match[2], self.factor)], last=last)
        return True

    def _loaded(self, line: str, last: bool) -> bool:
        run = self.runs[-1]
        found = row_of(line, len(self.order) + 1) or row_of(line, 2)
        words = found[0] if found and (len(found[0]) > 2 or "T" in run.options) else line.split()
        order = ("bandwidth",) if len(words) == 2 and "T" in run.options else self.order
        if not words or not is_index(words[0]):
            return False
        if len(words) != len(order) + 1 or any(number(word) is None for word in words[1:]):
            short = len(words) <= len(order) or (last and len(words) == len(order) + 1)
            if short and all(number(word) is not None for word in words[1:-1]):
                run.flags.add("truncated")  # " 00015<TAB>": the row that was being measured
                return True
            return False
        factors = {"latency": 1.0, "bandwidth": self.factor}
        cells = [(metric, word, factors[metric]) for metric, word in zip(order, words[1:], strict=True)]
        row = len(run.tables["loaded_latency"])
        labels = _labels("loaded_latency", row=row, delay=int(words[0]), traffic=self._traffic(run))
        run.add(labels, cells, last=last)
        return True

    def _traffic(self, run: Run) -> str | None:
        if self.said:
            return self.said
        if "o" in run.options:
            return None  # every thread its own, by a file
        asked = traffic_of(run.options) or self.context_traffic
        return asked or ("read" if run.command is not None or run.version else None)  # MLC's default

    def _matrix(self, line: str, last: bool) -> bool:
        run = self.runs[-1]
        section = self.section or ""
        words = line.strip(" \t\"'`*>").split()
        while words and words[0].lower() in ("numa", "memory", "node", "socket", "cpu", "writer", "reader"):
            del words[0]
            if words and all(is_index(word) for word in words):
                self.columns = tuple(map(int, words))
                run.tables.setdefault(section, [])
                return True
        if not self.columns or not words or not is_index(words[0]):
            return False
        if section == "c2c_latency" and self.transfer is None:
            return False  # of which transfer?
        cells = words[1:]
        if len(cells) > len(self.columns) and not cells[len(self.columns)][:1].isdigit():
            cells = cells[: len(self.columns)]  # and a note behind them
        if len(cells) != len(self.columns) or not all(_is_cell(word) for word in cells):
            if last or (len(cells) < len(self.columns) and all(_is_cell(word) for word in cells)):
                run.flags.add("truncated")
                return True
            return False
        metric, factor = ("bandwidth", self.factor) if section == "bandwidth_matrix" else ("latency", 1.0)
        traffic = self._traffic(run) if section == "bandwidth_matrix" else None
        run.tables.setdefault(section, [])
        source = int(words[0])
        for memory, word in zip(self.columns, cells, strict=True):
            labels = _labels(section, traffic=traffic, transfer=self.transfer, source=source, memory=memory)
            run.drop(labels, metric)  # a verbose run prints each cell once more, before its matrix
            if word.strip("-"):  # "-": no such transfer
                run.add(labels, [(metric, word, factor)], last=last and memory == self.columns[-1])
        return True

    def _unread(self, line: str, last: bool) -> None:
        self.prompt = None  # a command is the command of what stands right below it
        if self.banner is None:
            self.heading = line.strip()
        if not self.runs:
            return
        run = self.runs[-1]
        if last and (
            _ANNOUNCES.match(line) or (self.section in run.tables and not run.tables[self.section or ""])
        ):
            run.flags.add("truncated")
        if self.section and self._like_figures(line):
            if last and self.aside is None:
                run.flags.add("truncated")
            elif self.aside is None or self._damaged(run, line.split()):
                run.unread.append(line.strip())
            elif not last:
                self.aside.append(line.strip())
        elif self.section and run.tables.get(self.section) and len(_WORD.findall(line)) > 1:
            self.aside = self.aside or []

    def _damaged(self, run: Run, words: Sequence[str]) -> bool:
        """Is this a row of the section's table, and not of another one below its prose: its number of words, an index that the table has not
        had, and all cells but one numbers?"""
        section = self.section or ""
        good = sum(number(word) is not None for word in words[1:])
        if (
            len(words) != len(self.columns or self.order) + 1
            or good != len(words) - 2
            or not is_index(words[0])
        ):
            return False
        if section == "loaded_latency":
            return int(words[0]) not in {row.labels[2] for row in run.tables.get(section, ())}
        had = {row.labels[-2] for row in run.tables.get(section, ())}
        return int(words[0]) in {*self.columns} - had

    def _like_figures(self, line: str) -> bool:
        """Say whether a line of a section that is not read looks as if figures were in it."""
        words = line.split()
        expected = len(self.columns or self.order) + 1
        if words[:1] and words[0].isdigit() and 1 < len(words) <= expected + 1:
            return True
        if sum("." in word and number(word) is not None for word in words) > 1 or like_row(line, expected):
            return True
        return _LABELLED_TIGHT.match(line) is not None or _LOCAL_BEGUN.match(line) is not None

    # -- the end

    def close(self) -> list[Run]:
        if self.wrapped and self.runs:
            self.runs[-1].flags.add("truncated")
        if self.banner:  # a banner and nothing below it is a run too: one that was cut or refused
            self._run()
        for run in self.runs:
            if run.prompted and run.version and run.program != "memlat":
                run.command, run.options = None, {}  # MLC repeats what it was given: this was not for it
            for section, rows in run.tables.items():
                _drop_cut_row(run, section, rows)
            _check_complete(run)
            if not run.measured():
                run.flags.add("no_figures")
            if run.program == "memlat":
                run.flags.add("stand_in")
            elif run.version is None:
                run.flags.add("no_banner")
            if run.facts.get("access") == "random" or {"r", "random_access"} & {*run.options, *run.flags}:
                run.facts["access"] = "random"
                (run.flags.add if run.has("latency") else run.flags.discard)("random_access")
            if run.unread:
                run.flags.add("unread")
        return self.runs


def _noted(line: str) -> dict[str, Scalar]:
    return {
        name: value
        for pattern, read in _NOTES
        if (match := pattern.search(line))
        for name, word in match.groupdict().items()
        if (value := read(word)) is not None
    }


def _is_cell(word: str) -> bool:
    return number(word) is not None or not word.strip("-")


def _decimals(word: str) -> int:
    return len(word.partition(".")[2] or word.partition(",")[2])


def _drop_cut_row(run: Run, section: str, rows: list[Row]) -> None:
    """Leave out a table's last row if its figures have fewer digits than those above: a process was killed in it.

    A row on a last line without a line end is judged more strictly, and by what MLC prints if it is the first.
    """
    if not rows:
        return
    for metric, word, _ in rows[-1].cells:
        above = {_decimals(w) for row in rows[:-1] for m, w, _ in row.cells if m == metric}
        if rows[-1].last:
            above = {max(above, default=_DECIMALS.get((section, metric), 1))}
        elif not above and metric in ("latency", "bandwidth"):
            above = {1}  # MLC prints no whole numbers
        value = number(word)
        finite = value is not None and value - value == 0
        if finite and len(above) == 1 and _decimals(word) < min(above):
            line = rows[-1].labels[:6]  # all cells of a matrix row have these in common
            rows[:] = [row for row in rows if row.labels[:6] != line]
            run.flags.add("truncated")
            return


def _check_complete(run: Run) -> None:
    """Flag what must have been longer: a section begun, a default list of delays or of mixes not gone through."""
    refused = run.flags & {"hugepages_missing", "invalid_argument"}
    if any(not rows for rows in run.tables.values()) and not refused:
        run.flags.add("truncated")
    if run.program == "memlat":
        return  # it may be asked for fewer
    delays = tuple(row.labels[2] for row in run.tables.get("loaded_latency", ()))
    free = "d" not in run.options and "g" not in run.options
    if free and delays and len(delays) < len(DEFAULT_DELAYS) and delays == DEFAULT_DELAYS[: len(delays)]:
        run.flags.add("truncated")
    for section in ("peak_injection_bandwidth", "max_bandwidth"):
        if section in run.tables and 0 < len(run.tables[section]) < 5:
            run.flags.add("truncated")
    run.flags |= _rows_missing(run)
    if "truncated" not in run.flags:
        run.flags |= _sections_missing(run)
    sources: dict[Scalar, set[Scalar]] = {}
    memories: dict[Scalar, set[Scalar]] = {}
    for row in run.tables.get("c2c_latency", ()):
        *_, transfer, source, memory = row.labels
        sources.setdefault(transfer, set()).add(source)
        memories.setdefault(transfer, set()).add(memory)
    remote = [transfer for transfer in run.transfers if transfer.startswith("remote")]
    if any(transfer not in sources or sources[transfer] != memories[transfer] for transfer in remote):
        run.flags.add("truncated")  # there is a row and a column for each node that has CPUs


_ALL: Final = (
    "latency_matrix",
    "peak_injection_bandwidth",
    "bandwidth_matrix",
    "loaded_latency",
    "c2c_latency",
)
"""What MLC from v3 on measures without an option, in this order."""


def _sections_missing(run: Run) -> set[str]:
    """Return the flag of a run of all sections that ends between two of them. With an option MLC prints its command line and measures one
    section; two of them in their order below a banner without that line are a run of all. Of one alone nothing tells."""
    found = tuple(run.tables)
    whole = re.match(r"v?[3-9]", run.version or "") and run.command is None and not run.prompted
    return (
        {"sections_missing"}
        if whole and 1 < len(found) < len(_ALL) and found == _ALL[: len(found)]
        else set()
    )


def _rows_missing(run: Run) -> set[str]:
    """Return the flag of a run that ends in a matrix over NUMA nodes with fewer rows than columns.

    Nodes without CPUs (HBM, CXL) have no row. They are half of the nodes at most, and a run of all modes goes on behind its matrices:
    else the text was cut. Where neither tells, it is one or the other.
    """
    section, rows = next(reversed(run.tables.items()), ("", []))
    if section not in ("latency_matrix", "bandwidth_matrix"):
        return set()
    pairs = [row.labels[-2:] for row in rows if None not in row.labels[-2:]]
    sources, memories = ({pair[i] for pair in pairs} for i in (0, 1))
    if sources >= memories:
        return set()
    whole_run = run.version is not None and run.command is None
    return {"truncated" if whole_run or 2 * len(sources) < len(memories) else "rows_missing"}


def _labels(
    section: str,
    *,
    row: int | None = None,
    delay: int | None = None,
    traffic: str | None = None,
    transfer: str | None = None,
    source: int | None = None,
    memory: int | None = None,
) -> tuple[Scalar, ...]:
    return (section, row, delay, traffic, transfer, source, memory)
