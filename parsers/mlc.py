"""Intel(R) Memory Latency Checker, every mode, v3.1 to v3.13, and the kernel `memlat` that prints its layouts.

`measurements` has one row per figure:

    run       int   from 1: a text may hold several runs (each banner, command line or repeated section begins one)
    section   str   one of SECTIONS
    row       int   loaded_latency: order of the line, from 0. The delay is no key: a run may repeat 00000 at its end
    delay     int   loaded_latency: the tool's own count of cycles between requests, not ns
    traffic   str   what the loading threads do, a word of TRAFFIC or of TRAFFIC_TEXT; None where nothing tells,
                    which is not "read"
    transfer  str   c2c_latency: "local L2->L2 HIT", "remote L2->L2 HITM, homed in writer", "between CPUs HITM"
    from      int   row of a matrix: the initiating NUMA node (cpu_latency_matrix: CPU; c2c_latency: writer)
    to        int   column of a matrix: the memory's NUMA node (c2c_latency: reader, a CPU where `transfer` says so)
    metric    str   latency (ns) | bandwidth (B/s; MLC's MB is 10**6 B) | core_clocks | base_clocks

The table `runs` has one row per run: what its head says and which sections it holds. A fact is a column of `runs`
on which all runs agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from parsers._runs import agreed, collected
from parsers.errors import ParseError
from parsers.measurement import Cell, Metric, Parsed, Table, measurements
from parsers.text import clean, first_line, is_captured, mentions, number, scaled, split_ranks
from parsers.units import to_base

VERSION: Final = 1

LABELS: Final = ("run", "section", "row", "delay", "traffic", "transfer", "from", "to")

METRICS: Final[Mapping[str, Metric]] = {
    "latency": Metric(unit="ns", better="lower", text="latency"),
    "bandwidth": Metric(unit="B/s", better="higher", text="bandwidth"),
    # v3.7 counts core clocks, v3.10 clocks of the base frequency: two quantities, so two names
    "core_clocks": Metric(unit="clocks", better="lower", text="latency in core clocks"),
    "base_clocks": Metric(unit="clocks", better="lower", text="latency in base frequency clocks"),
}

SECTIONS: Final = (
    "idle_latency",
    "latency_matrix",
    "cpu_latency_matrix",  # --latency_matrix -a: one row per CPU
    "peak_injection_bandwidth",
    "max_bandwidth",
    "bandwidth_matrix",
    "loaded_latency",
    "c2c_latency",
)

TRAFFIC: Final[Mapping[int, str]] = {
    2: "2:1",
    3: "3:1",
    4: "3:2",
    5: "1:1",
    6: "write nt",
    7: "2:1 nt",
    8: "1:1 nt",
    9: "3:1 nt",
    10: "triad nt",
    11: "triad rfo",
    12: "4:1",
    21: "read 2 streams",
    23: "3:1 2 streams",
    27: "2:1 nt 2 streams",
}
"""MLC's -W types (usage texts of v3.10 and v3.11b, which agree) as canonical words."""

TRAFFIC_TEXT: Final[Mapping[str, str]] = {
    "read": "reads only",
    "2:1": "2:1 read-write",
    "3:1": "3:1 read-write",
    "3:2": "3:2 read-write",
    "1:1": "1:1 read-write",
    "write nt": "non-temporal writes only",
    "2:1 nt": "2:1 read-non-temporal write",
    "1:1 nt": "1:1 read-non-temporal write",
    "3:1 nt": "3:1 read-non-temporal write",
    "triad": "Stream-triad like",
    "triad nt": "2:1 read-non-temporal write, triad-like (the two reads from two buffers)",
    "triad rfo": "3:1 read-write, triad-like (the two reads from two buffers)",
    "4:1": "4:1 read-write",
    "read 2 streams": "reads only, 2 address streams",
    "3:1 2 streams": "3:1 read-write, 2 address streams",
    "2:1 nt 2 streams": "2:1 read-non-temporal write, 2 address streams",
}
"""The canonical words for people. A type this table does not know is named as typed: "W13"."""

DEFAULT_DELAYS: Final = (
    *(0, 2, 8, 15, 50, 100, 200, 300, 400, 500, 700),
    *(1000, 1300, 1700, 2500, 3500, 5000, 9000, 20000),
)
"""The delays of a loaded-latency run that was given neither -d nor -g."""

_I = re.IGNORECASE
_BANNER = re.compile(
    r"^[^\w\n]*(?:Intel ?(?:\(R\)|®)? +Memory Latency Checker|(?:pinsweep[ -])?(?P<kernel>memlat)(?= v?\d))"
    r"(?P<note>[^\n]*)$",
    _I,
)
_VERSION = re.compile(r"[-–\s](v\d[\w.-]*|\d+\.\d[\w.-]*)", _I)
_COMMAND = re.compile(r"^\W*Command line parameters: *(.*)$", _I)
_PROMPT = re.compile(r"(?:^|[\s/\\>\"'`$#])(mlc(?:_\w+)?(?:\.exe)?|memlat)[\"']? +(-[-\w][^\"'`“”]*)", _I)
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
    r"^\W*Each iteration took +(\S+) +(core|base frequency) clocks *\(\s*(\S+)\s+ns\b", _I
)  # ")" is not asked for: pasted copies lose it
_VERBOSE_CELL = re.compile(
    r"^\W*Numa node +(\d{1,18}) +\(core +\d+\) measuring latency to memory on numa node +(\d{1,18})", _I
)
_LABELLED = re.compile(r"^\W*(ALL Reads|\d+:\d+ +Reads?-Writes?|Stream-triad like)\s*:?\s+(\S+)\s*$", _I)
_LABELLED_TIGHT = re.compile(r"^(\W*(?:ALL Reads|\d+:\d+ +Reads?-Writes?|Stream-triad like)\s*:)", _I)
_LOADED_HEAD = re.compile(r"^\W*Inject(?:ion|ed)?\s(?=.*\bBandwidth\b)", _I)
_TRAFFIC_LINE = re.compile(r"^\W*Using (.+?) traffic type", _I)
_THREADS_LINE = re.compile(r"^\W*Using (all the threads|only one thread) from each core", _I)
_MIX = re.compile(r"(\d+:\d+) read-(?:(non-?\s?temporal )?)write( stream-triad like)?", _I)
_NOTES: Final[tuple[tuple[re.Pattern[str], type[int] | type[float] | type[str]], ...]] = (
    # the kernel's own notes, whose lines start with "#"
    (re.compile(r"^# load threads: (?P<threads>\d{1,18})\b"), int),
    (re.compile(r"^# load threads: \d+, on CPUs (?P<load_cpus>\S+)"), str),
    (re.compile(r"^# latency thread: CPU (?P<latency_cpu>\d{1,18})\b"), int),
    (re.compile(r"^# latency thread: .*(?P<access>random|sequential) order"), str),
    (re.compile(r"^# .*one turn takes (?P<delay_turn_ns>[\d.]+) ns here"), float),
)
_UNIT_LINE = re.compile(r"Bandwidths are in .*?\(1 ([KMGT]i?)B/s(?:ec)? *= *(\d[\d,]{0,18}) Bytes/s", _I)
_UNIT = re.compile(r"\b([kKMGT]i?B)/s(?:ec)?\b")
_TRANSFER = r"(L\w+) ?-(?:>|&gt;) ?(L\w+) +(HITM?) +latency"
_CPU_C2C = re.compile(r"^\W*Measuring cache-to-cache (HITM?) latency between CPUs", _I)
_LOCAL_C2C = re.compile(rf"^\W*Local Socket +{_TRANSFER}\s+(\S+)\s*$", _I)
_REMOTE_C2C = re.compile(
    rf"^\W*Remote Socket +{_TRANSFER} *\(data address homed in (writer|reader) socket", _I
)
_NOISE = re.compile(
    r"^[\W_]*$"  # rules and blanks
    r"|^\W*(?:(?:Numa|Memory|Reader|Writer) +)+(?:node|CPU)\W*$|^\W*Socket\W*$|^\W*Delay\b"
    r"|^\W*Will take several minutes|^\W*Using traffic with the following|^\W*Bandwidths are in"
    r"|^\W*Read/Write Ratios?\b",
    _I,
)
_COMMENT = re.compile(r"\s(?://|#).*$")
_DECIMALS: Final = {("loaded_latency", "latency"): 2, ("max_bandwidth", "bandwidth"): 2}
"""Digits after the point as printed; 1 everywhere else. Tells `1612` from `16126.7` cut short."""

_VALUED: Final = frozenset("bcijkmJdgltxWDnfMoKwSCEGpsq")
_FLAGS: Final[Mapping[str, str]] = {
    "truncated": "the text ends or breaks off inside a table; only its complete rows are kept",
    "no_figures": "a run without a figure: refused, unsupported or cut before its first result",
    "no_msr": "the prefetchers could not be switched (no root, or no msr module)",
    "random_access": "latency of random access: not comparable with sequential access",
    "hugepages_missing": "MLC refused the run: huge pages are not allocated",
    "invalid_argument": "MLC refused an argument and printed its usage",
    "no_banner": "no banner: nothing says which program, in which version, printed this",
    "stand_in": "figures of a stand-in that prints MLC's layout, not of Intel(R) Memory Latency Checker",
    "non_finite": "inf or nan in the place of a figure: left out",
    "not_measured": "zero in the place of a figure: left out, it means not measured",
    "unread": "lines that look like figures and could not be read",
}
_NOTICES: Final = (
    (re.compile(r"Unable to (?:modify prefetchers|access mlcdrv)", _I), "no_msr"),
    (re.compile(r"enabling random access for latency", _I), "random_access"),
    (re.compile(r"huge ?pages need to be allocated", _I), "hugepages_missing"),
    (re.compile(r"^\W*Invalid Argument\b", _I), "invalid_argument"),
)
_RUN_COLUMNS: Final = (
    *(
        "run",
        "rank",
        "heading",
        "program",
        "tool_version",
        "command_line",
        "mode",
        "sections",
        "traffic",
        "access",
    ),
    *("buffer_read_bytes", "buffer_write_bytes", "buffer_per_thread", "stride_bytes", "hyperthreads"),
    *("threads", "load_cpus", "latency_cpu", "delay_turn_ns", "bandwidth_unit", "flags"),
)
_RECOGNISE = re.compile(
    r"^[^\w\n]*(?:Intel ?(?:\(R\)|®)? +Memory Latency Checker\b|(?:pinsweep[ -])?memlat \d"
    r"|Measuring (?:idle latencies|(?:Peak (?:Injection )?|Maximum )?Memory Bandwidths (?:for|between)"
    r"|Loaded Latencies for|cache-to-cache transfer latency)"
    r"|Each iteration took +[\d.]+ +(?:core|base frequency) clocks"
    r"|Inject\s+(?:Delay|Latency)\b[^\n]*Bandwidth)",
    _I | re.MULTILINE,
)


@dataclass(slots=True)
class _Row:
    labels: tuple[Cell, ...]  # LABELS without run
    cells: list[tuple[str, str, float]]  # metric, the word as printed, factor to the base unit
    last: bool  # on a last line without a line end: it may be cut anywhere


@dataclass(slots=True)
class _Run:
    rank: int | None = None
    heading: str | None = None
    program: str | None = None
    version: str | None = None
    command: str | None = None
    prompted: bool = False  # the command is what was typed; the tool's own line may follow and wins
    options: Mapping[str, str] = field(default_factory=dict)
    facts: dict[str, Cell] = field(default_factory=dict)
    tables: dict[str, list[_Row]] = field(default_factory=dict)  # by section, in the text's order
    flags: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)

    @property
    def mode(self) -> str | None:
        mode = next((name[2:] for name in self.options if name.startswith("--")), None)
        return "cpu_latency_matrix" if mode == "latency_matrix" and "a" in self.options else mode

    def measured(self, section: str | None = None) -> bool:
        return any(rows for name, rows in self.tables.items() if section in (None, name))


def recognise(text: str) -> bool:
    """Say whether the text holds MLC's banner, one of its section titles or its table heads, at the start of a line."""
    if not mentions(text, "latency checker", "memlat", "measuring", "each iteration", "inject"):
        return False
    if _RECOGNISE.search(text):
        return True
    return is_captured(text) and bool(_RECOGNISE.search(clean(text, ranks=True)))


def parse(text: str, context: Mapping[str, Any] = {}) -> Parsed:
    """Read every run in the text. `context` may hold W (2, "9", "R") or R: the traffic, where the text does not tell it.

    A run without a figure is no error but the flag `no_figures`: MLC ends so, with exit status 0, when a mode does
    not know an option. Raises ParseError if nothing in the text is MLC's.
    """
    runs: list[_Run] = []
    for rank, part in split_ranks(text):
        reader = _Reader(rank, traffic_of(context))
        lines = clean(part).split("\n")
        for i, line in enumerate(lines):
            reader.read(line, last=i == len(lines) - 1)
        runs += reader.close()
    if not runs:
        raise ParseError(
            "MLC output",
            "looked for `Intel(R) Memory Latency Checker`, `Measuring …` titles or an `Inject Delay` table, "
            f"saw {first_line(text)}",
            "name the tool that printed this",
        )
    return _parsed(runs)


def traffic_of(options: Mapping[str, Any]) -> str | None:
    """Return the canonical word for -W n or -R among options: {"W": 9} is "3:1 nt", {"W": "R"} is "read". None if neither is there."""
    kind = str(options.get("W", "")).strip().lstrip("-").removeprefix("W").strip()
    if _is_index(kind):
        return TRAFFIC.get(int(kind), f"W{int(kind)}")
    if kind.upper() == "R" or ("R" in options and options["R"] is not False and not kind):
        return "read"
    return kind if kind in TRAFFIC_TEXT else None


class _Reader:
    """A machine that is fed lines. What belongs to a run but stands before its banner (label, prompt) is kept in hand."""

    def __init__(self, rank: int | None, traffic: str | None) -> None:
        self.rank = rank
        self.context_traffic = traffic
        self.runs: list[_Run] = []
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

    # -- runs and sections

    def _run(self, section: str | None = None) -> _Run:
        """Return the run that the line at hand belongs to; begin it if it is a new one."""
        current = self.runs[-1] if self.runs else None
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
                current = _Run(rank=self.rank, heading=self.heading)
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

    def _new_run(self) -> _Run:
        """Begin a run that nothing but a repeated section announces."""
        before = self.runs[-1]
        self.section = None
        self._reset_section()
        if not (self.prompt or self.banner):
            self.runs.append(
                _Run(rank=self.rank, heading=self.heading, program=before.program, version=before.version)
            )
            self._forget_head()
        return self._run()

    def _begin(self, section: str) -> _Run:
        run = self._run(section)
        if run.measured(section):
            run = self._new_run()
        run.tables.setdefault(section, [])
        self.section = section
        self._reset_section()
        return run

    def _command(self, run: _Run, line: str) -> None:
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
        elif last or not (self._head(line) or self._title(line) or self._say(line)):
            self._unread(line, last)

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
            label = re.sub(r"[\W_]*command[\W_]*$", "", before, flags=_I).strip() if quote else ""
            heading = label or self.heading
            self._forget_head()
            self.heading = heading
            self.prompt = ("memlat" if match[1].lower() == "memlat" else "mlc", match[2])
            self.section = self.said = None
        else:
            return False
        return True

    def _title(self, line: str) -> bool:
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
            if self.section != "c2c_latency":
                self._begin("c2c_latency")
            self.transfer = f"between CPUs {match[1].upper()}"
            self.columns = ()
            return True
        if match := _REMOTE_C2C.match(line):
            if self.section != "c2c_latency":
                self._begin("c2c_latency")
            self.transfer = f"remote {match[1]}->{match[2]} {match[3].upper()}, homed in {match[4].lower()}"
            self.columns = ()
            return True
        return False

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
            self.said = _traffic_word(match[1])
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
            self._add(run, section, cells, last=False, source=source, memory=memory)
            self.cell = None
            return True
        if match := _LOCAL_C2C.match(line):
            if self.section != "c2c_latency":
                self._begin("c2c_latency")
            transfer = f"local {match[1]}->{match[2]} {match[3].upper()}"
            self._add(
                self.runs[-1], "c2c_latency", [("latency", match[4], 1.0)], last=last, transfer=transfer
            )
            return True
        if self.section is None or self.banner or self.prompt:
            return False
        if self.section in ("peak_injection_bandwidth", "max_bandwidth"):
            return self._labelled(line, last)
        words = _COMMENT.sub("", line).split()
        if self.section == "loaded_latency":
            return self._loaded(words, last)
        return self._matrix(words, last)

    def _labelled(self, line: str, last: bool) -> bool:
        match = _LABELLED.match(_LABELLED_TIGHT.sub(r"\1 ", line))
        if not match or number(match[2]) is None:
            return False
        label = match[1].lower().split()[0]
        traffic = {"all": "read", "stream-triad": "triad"}.get(label, label)
        cells = [("bandwidth", match[2], self.factor)]
        self._add(self.runs[-1], self.section or "", cells, last=last, traffic=traffic)
        return True

    def _loaded(self, words: list[str], last: bool) -> bool:
        run = self.runs[-1]
        order = ("bandwidth",) if len(words) == 2 and "T" in run.options else self.order
        if not words or not _is_index(words[0]):
            return False
        if len(words) != len(order) + 1 or any(number(word) is None for word in words[1:]):
            if len(words) <= len(order) + 1 and all(number(word) is not None for word in words[1:-1]):
                run.flags.add("truncated")  # " 00015<TAB>": the row that was being measured
                return True
            return False
        factors = {"latency": 1.0, "bandwidth": self.factor}
        cells = [(metric, word, factors[metric]) for metric, word in zip(order, words[1:], strict=True)]
        row = len(run.tables["loaded_latency"])
        self._add(
            run, "loaded_latency", cells, last=last, row=row, delay=int(words[0]), traffic=self._traffic(run)
        )
        return True

    def _traffic(self, run: _Run) -> str | None:
        if self.said:
            return self.said
        if "o" in run.options:
            return None  # every thread its own, by a file
        return traffic_of(run.options) or self.context_traffic

    def _matrix(self, words: list[str], last: bool) -> bool:
        run = self.runs[-1]
        section = self.section or ""
        while words and words[0].lower() in ("numa", "memory", "node", "socket", "cpu", "writer", "reader"):
            del words[0]
            if words and all(_is_index(word) for word in words):
                self.columns = tuple(map(int, words))
                run.tables.setdefault(section, [])
                return True
        if not self.columns or not words or not _is_index(words[0]):
            return False
        cells = words[1:]
        if len(cells) != len(self.columns) or not all(_is_cell(word) for word in cells):
            if last or (len(cells) < len(self.columns) and all(_is_cell(word) for word in cells)):
                run.flags.add("truncated")
                return True
            return False
        metric, factor = ("bandwidth", self.factor) if section == "bandwidth_matrix" else ("latency", 1.0)
        traffic = self._traffic(run) if section == "bandwidth_matrix" else None
        rows = run.tables.setdefault(section, [])
        source = int(words[0])
        for memory, word in zip(self.columns, cells, strict=True):
            labels = _labels(section, traffic=traffic, transfer=self.transfer, source=source, memory=memory)
            for row in rows:  # a verbose run prints each cell once more, before its matrix
                if row.labels == labels:
                    row.cells = [cell for cell in row.cells if cell[0] != metric]
            if word.strip("-"):  # "-": no such transfer
                rows.append(_Row(labels, [(metric, word, factor)], last and memory == self.columns[-1]))
        return True

    def _add(
        self,
        run: _Run,
        section: str,
        cells: list[tuple[str, str, float]],
        *,
        last: bool,
        row: int | None = None,
        delay: int | None = None,
        traffic: str | None = None,
        transfer: str | None = None,
        source: int | None = None,
        memory: int | None = None,
    ) -> None:
        labels = _labels(
            section, row=row, delay=delay, traffic=traffic, transfer=transfer, source=source, memory=memory
        )
        run.tables.setdefault(section, []).append(_Row(labels, cells, last))

    def _unread(self, line: str, last: bool) -> None:
        self.prompt = None  # a command is the command of what stands right below it
        if self.banner is None:
            self.heading = line.strip()
        if not self.runs:
            return
        run = self.runs[-1]
        if last and self.section in run.tables and not run.tables[self.section or ""]:
            run.flags.add("truncated")
        words = line.split()
        expected = len(self.columns or self.order) + 1
        like_a_row = words[:1] and words[0].isdigit() and 1 < len(words) <= expected + 1
        if self.section and (like_a_row or _LABELLED_TIGHT.match(line)):
            if last:
                run.flags.add("truncated")
            else:
                run.unread.append(line.strip())

    # -- the end

    def close(self) -> list[_Run]:
        if self.banner:  # a banner and nothing below it is a run too: one that was cut or refused
            self._run()
        for run in self.runs:
            for section, rows in run.tables.items():
                _drop_cut_row(run, section, rows)
            _check_complete(run)
            if not run.measured():
                run.flags.add("no_figures")
            if run.program == "memlat":
                run.flags.add("stand_in")
            elif run.version is None:
                run.flags.add("no_banner")
            if run.facts.get("access") == "random" or "r" in run.options:
                run.flags.add("random_access")
            if "random_access" in run.flags:
                run.facts["access"] = "random"
            if run.unread:
                run.flags.add("unread")
        return self.runs


def _parsed(runs: list[_Run]) -> Parsed:
    figures: list[tuple[tuple[Cell, ...], str, float]] = []
    for index, run in enumerate(runs, 1):
        for rows in run.tables.values():
            for row in rows:
                for metric, word, factor in row.cells:
                    value = scaled(word, factor)
                    if value is None or value - value != 0:
                        run.flags.add("non_finite")
                    elif value <= 0:
                        run.flags.add("not_measured")
                    else:
                        figures.append(((index, *row.labels), metric, value))
    table = tuple(_run_row(index, run) for index, run in enumerate(runs, 1))
    unread = [line for run in runs for line in run.unread]
    return Parsed(
        tables={
            "measurements": measurements(LABELS, METRICS, figures),
            "runs": Table(columns=_RUN_COLUMNS, rows=table),
        },
        flags=collected(_FLAGS, [run.flags for run in runs], {"unread": unread}),
        facts=agreed(_RUN_COLUMNS, table, but=("run", "heading", "sections", "flags")),
    )


def _labels(
    section: str,
    *,
    row: int | None = None,
    delay: int | None = None,
    traffic: str | None = None,
    transfer: str | None = None,
    source: int | None = None,
    memory: int | None = None,
) -> tuple[Cell, ...]:
    return (section, row, delay, traffic, transfer, source, memory)


def _traffic_word(said: str) -> str:
    """Return the canonical word for what "Using … traffic type" says; what says nothing known stays as it is."""
    if said.lower() in ("read-only", "read only"):
        return "read"
    match = _MIX.fullmatch(said)
    if not match:
        return said.lower()
    ratio, streams, triad = match.groups()
    if triad:
        return "triad nt" if streams else "triad rfo"
    if ratio == "0:1":
        return "write nt" if streams else "write"
    return f"{ratio} nt" if streams else ratio


def _noted(line: str) -> dict[str, Cell]:
    return {
        name: kind(word)
        for pattern, kind in _NOTES
        if (match := pattern.search(line))
        for name, word in match.groupdict().items()
    }


def _run_row(index: int, run: _Run) -> tuple[Cell, ...]:
    stride = run.options.get("l", "")
    values: dict[str, Cell] = {
        **run.facts,
        "run": index,
        "rank": run.rank,
        "heading": run.heading,
        "program": run.program,
        "tool_version": run.version,
        "command_line": run.command,
        "mode": run.mode,
        "sections": " ".join(run.tables) or None,
        "traffic": traffic_of(run.options),
        "stride_bytes": int(stride) if _is_index(stride) else None,
        "flags": " ".join(flag for flag in _FLAGS if flag in run.flags) or None,
    }
    return tuple(values.get(column) for column in _RUN_COLUMNS)


def command_options(command: str) -> dict[str, str]:
    """Read MLC's own way of writing options: `--mode -W9 -l64 -X` is {"--mode": "", "W": "9", "l": "64", "X": ""}."""
    options: dict[str, str] = {}
    words = command.split()
    for i, word in enumerate(words):
        if word.startswith("--"):
            options[word] = ""
        elif len(word) > 1 and word[0] == "-" and word[1].isalpha():
            value = word[2:]
            following = words[i + 1] if i + 1 < len(words) else "-"
            if not value and word[1] in _VALUED and following[:1].isdigit():
                value = following
            options[word[1]] = value
    return options


def _is_index(word: str) -> bool:
    """Say whether the word is a node's or CPU's number, a delay or a stride."""
    return word.isascii() and word.isdigit() and len(word) < 16


def _is_cell(word: str) -> bool:
    return number(word) is not None or not word.strip("-")


def _decimals(word: str) -> int:
    return len(word.partition(".")[2] or word.partition(",")[2])


def _drop_cut_row(run: _Run, section: str, rows: list[_Row]) -> None:
    """Leave out a table's last row if its figures have fewer digits than those above: a process was killed in it.

    A row on a last line without a line end is judged more strictly, and by what MLC prints if it is the first.
    """
    if not rows:
        return
    for metric, word, _ in rows[-1].cells:
        above = {_decimals(w) for row in rows[:-1] for m, w, _ in row.cells if m == metric}
        if rows[-1].last:
            above = {max(above, default=_DECIMALS.get((section, metric), 1))}
        value = number(word)
        finite = value is not None and value - value == 0
        if finite and len(above) == 1 and _decimals(word) < min(above):
            line = rows[-1].labels[:6]  # all cells of a matrix row have these in common
            rows[:] = [row for row in rows if row.labels[:6] != line]
            run.flags.add("truncated")
            return


def _check_complete(run: _Run) -> None:
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
