"""Parse Intel(R) Memory Latency Checker, every mode, v3.1 to v3.13, and the kernel `memlat` with the same layouts.

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

The table `runs` has one row per run with the values of its head and its sections. A fact is a column of `runs` on which
all runs agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from parsers._bounds import MOST_ROWS, Parts, check_lines
from parsers._runs import agreed, asked_for, collected, listed, part_name, parts, table_of
from parsers.errors import ParseError
from parsers.measurement import Metric, Parsed, Scalar, Taken, measurements
from parsers.mlc.lines import Reader, Run
from parsers.mlc.words import DEFAULT_DELAYS as DEFAULT_DELAYS
from parsers.mlc.words import SECTIONS as SECTIONS
from parsers.mlc.words import TRAFFIC as TRAFFIC
from parsers.mlc.words import TRAFFIC_TEXT as TRAFFIC_TEXT
from parsers.mlc.words import command_options as command_options
from parsers.mlc.words import is_index
from parsers.mlc.words import traffic_of as traffic_of
from parsers.text import clean, first_line, is_finite, recognises, scaled, split_ranks

NAME: Final = "Intel MLC"
VERSION: Final = 4
PRINTED: Final[Mapping[str, float]] = {"latency": 0.1, "bandwidth": 1e5}  # "81.5" ns, "34512.8" MB/s
PRINTED_LOADED_LATENCY: Final = 0.01  # ns: "81.52"; loaded latencies have two digits, the others one

LABELS: Final = ("run", "section", "row", "delay", "traffic", "transfer", "from", "to")

METRICS: Final[Mapping[str, Metric]] = {
    "latency": Metric("ns", "lower", "latency"),
    "bandwidth": Metric("B/s", "higher", "bandwidth"),
    # v3.7 counts core clocks, v3.10 clocks of the base frequency: two quantities, so two names
    "core_clocks": Metric("clocks", "lower", "latency in core clocks"),
    "base_clocks": Metric("clocks", "lower", "latency in base frequency clocks"),
}

_FLAGS: Final[Mapping[str, str]] = {
    "truncated": "the text ends or breaks off inside a table; only its complete rows are kept",
    "rows_missing": "a matrix has no row for some of its nodes: they have no CPUs, or the text was cut",
    "sections_missing": "MLC was started for all its measurements, and the text ends before the last of them: it was cut, or MLC was stopped",
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
_RUN_COLUMNS: Final = (
    "run", "rank", "heading", "program", "tool_version", "command_line", "mode", "sections", "traffic", "access",
    "buffer_read_bytes", "buffer_write_bytes", "buffer_per_thread", "stride_bytes", "hyperthreads", "threads", "load_cpus",
    "latency_cpu", "delay_turn_ns", "bandwidth_unit", "flags",
)  # fmt: skip
_COMMENTED = re.compile(
    r"^[ \t]*#[ \t]*(?:\d{5}[ \t]+\d|\d+[ \t]+\d+\.\d|ALL Reads|Numa node|Each iteration took|Inject\b[^\n]*Bandwidth)",
    re.MULTILINE | re.IGNORECASE,
)
_RECOGNISE = re.compile(
    r"^[^\w\n]*(?:Intel ?(?:\(R\)|®)? +Memory Latency Checker\b|(?:pinsweep[ -])?memlat \d"
    r"|Measuring (?:idle latencies|(?:Peak (?:Injection )?|Maximum )?Memory Bandwidths (?:for|between)"
    r"|Loaded Latencies for|cache-to-cache transfer latency)"
    r"|Each iteration took +[\d.]+ +(?:core|base frequency) clocks"
    r"|Inject\s+(?:Delay|Latency)\b[^\n]*Bandwidth)",
    re.IGNORECASE | re.MULTILINE,
)


def recognise(text: str) -> bool:
    """Return whether a line of the text begins with MLC's banner, a section title or a table head."""
    words = ("latency checker", "memlat", "measuring", "each iteration", "inject")
    return recognises(text, words, _RECOGNISE, _COMMENTED)


def parse(text: str, context: Mapping[str, Any] = {}) -> Parsed:
    """Return the figures of every run in the text, or of the run that `text_run` selects.

    `context` may have W (2, "9", "R") or R, the traffic of a text that does not name the traffic. A run without a
    figure gives the flag `no_figures` and not an error, because MLC exits with status 0 if a mode does not know an
    option. Raises ParseError if no line is from MLC.
    """
    check_lines(text, MOST_ROWS // 2)  # with two figures each, 700 000 took 1.1 GB before they were too many
    runs: list[Run] = Parts()
    for rank, part in split_ranks(text):
        reader = Reader(rank, traffic_of(context))
        *lines, last = clean(part, commented=_COMMENTED, emphasis=True).split("\n")
        for line in lines:
            reader.read(line, last=False)
        reader.read(last, last=True)
        runs.extend(reader.close())
    if not runs:
        looked = "looked for `Intel(R) Memory Latency Checker`, `Measuring …` titles or an `Inject Delay` table"
        raise ParseError("MLC output", f"{looked}, saw {first_line(text)}", "name the tool that printed this")
    requested = asked_for(context)
    return _parsed(runs if requested is None else runs[requested - 1 : requested])


def _parsed(runs: list[Run]) -> Parsed:
    figures: list[tuple[tuple[Scalar, ...], str, float]] = []
    for index, run in enumerate(runs, 1):
        for cell in (cell for cells in run.tables.values() for cell in cells):
            value = scaled(cell.word, cell.factor)
            if not is_finite(value):
                run.flags.add("non_finite")
            elif value <= 0:
                run.flags.add("not_measured")
            else:
                figures.append(((index, *cell.labels), cell.metric, value))
    about = [_about(index, run) for index, run in enumerate(runs, 1)]
    return Parsed(
        tables={
            "measurements": measurements(LABELS, METRICS, figures),
            "runs": table_of(_RUN_COLUMNS, about),
        },
        flags=collected(_FLAGS, [run.flags for run in runs], {"unread": [line for run in runs for line in run.unread]}),
        facts=agreed(about, _RUN_COLUMNS, but=("run", "heading", "sections", "flags")),
    )


def _about(index: int, run: Run) -> dict[str, Scalar]:
    stride = run.options.get("l", "")
    return run.facts | {
        "run": index, "rank": run.rank, "heading": run.heading, "program": run.program, "tool_version": run.version,
        "command_line": run.command, "mode": run.mode, "sections": " ".join(run.tables) or None,
        "traffic": traffic_of(run.options), "stride_bytes": int(stride) if is_index(stride) else None,
        "flags": listed(_FLAGS, run.flags),
    }  # fmt: skip


def _traffic(settings: Mapping[str, str]) -> Mapping[str, Scalar]:
    """Return the traffic of `W` in the vocabulary of the table."""
    traffic = traffic_of({"W": settings["W"]}) if "W" in settings else None
    return {"traffic": traffic} if traffic else {}


def _command(parsed: Parsed) -> str | None:
    """Return the command line with the program, which the text omits."""
    options = parsed.facts.get("command_line")
    return f"mlc {options}" if options else None


def _typed(command: str) -> Mapping[str, Scalar]:
    """Return a command line without the program, and the measured section."""
    line = re.sub(r"^.*?\b(?:mlc(?:_\w+)?(?:\.exe)?|memlat)\b[\"']?\s*", "", command)
    mode = next((name[2:] for name in command_options(line) if name.startswith("--")), None)
    return {"command_line": line, **({"mode": mode} if mode else {})}


TAKEN: Final = Taken(
    begins=(
        r"^[^\w\n]*(?:Intel ?\S{0,3} +Memory Latency Checker|(?:pinsweep[ -])?memlat(?= v?\d))",
        r"^(?=[^\n]*\bmlc(?:_\w+)?(?:\.exe)?[\"']? +--[a-z])[^\n]*$",
    ),
    program=r"\bmlc(?:_\w+)?(?:\.exe)?\b|\bmemlat\b",
    tells={"mode": "mode"},
    table_labels={"delay": {"section": "loaded_latency"}},
    labels=_traffic,
    typed=_typed,
    command=_command,
    parts=parts,
    part_name=part_name,
)
