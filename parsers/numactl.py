"""Parse numactl --hardware and --show, and numastat: nodes, memory, CPUs, distances, page counters and policies.

`measurements` has one row per figure:

    run     int   from 1: every "available: …" begins one
    node    int   the operating system's own number; need not be 0..n-1
    to      int   the other node of a distance, else missing
    metric  str   size, free (B; numactl's MB is 2**20 B) | cpus (number of CPUs; 0 for memory alone) |
                  distance (the firmware's number, 10 is local; not always symmetric) |
                  numa_hit, numa_miss, numa_foreign, interleave_hit, local_node, other_node (numastat: pages since boot)

The table `cpus` has a row (run, node, cpu) for every CPU. Facts are the lines of --show under numactl's names
(`policy`, `preferred_node`, `physcpubind`, `cpubind`, `nodebind`, `membind`, …), lists of numbers as printed, and
`nodes` of --hardware.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from parsers._bounds import Parts, check_lines
from parsers._runs import agreed, collected
from parsers.errors import ParseError
from parsers.measurement import Metric, NotYet, Parsed, Scalar, Table, Taken, measurements
from parsers.text import clean, first_line, recognises

NAME: Final = "numactl"
VERSION: Final = 3
PRINTED: Final[Mapping[str, float] | None] = None

LABELS: Final = ("run", "node", "to")

METRICS: Final[Mapping[str, Metric]] = {
    "size": Metric("B", "neither", "memory of the node"),
    "free": Metric("B", "neither", "free memory of the node"),
    "cpus": Metric("1", "neither", "CPUs of the node"),
    "distance": Metric("1", "lower", "distance (10 is local)"),
    "numa_hit": Metric("pages", "neither", "pages allocated on the node as intended"),
    "numa_miss": Metric("pages", "lower", "pages allocated here that were meant for another node"),
    "numa_foreign": Metric("pages", "lower", "pages meant for this node, allocated on another"),
    "interleave_hit": Metric("pages", "neither", "interleaved pages allocated here as intended"),
    "local_node": Metric("pages", "neither", "pages allocated here by a process running here"),
    "other_node": Metric("pages", "neither", "pages allocated here by a process running elsewhere"),
}

_NOTE = r"\s*(?:[<#(*!←].*|//.*|[-=]+>.*)?$"  # what a reader wrote behind a line
_AVAILABLE = re.compile(r"^\W*available: +(\d{1,18}) nodes? *\(([\d,\- ]*)\)" + _NOTE)
_CPUS = re.compile(r"^\W*node +(\d{1,18}) +cpus:([\d \t,.…-]*+)(?:\((\d{1,18})\))?" + _NOTE)
_ITEM = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?,?")  # "5", "0-15,"
_MOST_CPUS: Final = 65_536  # of a node
_WRAPPED = re.compile(r"[\s>|]*\d{1,18}(?:\s+\d{1,18})*\s*")  # the rest of a list, by a mail or a terminal
_MEMORY = re.compile(r"^\W*node +(\d{1,18}) +(size|free): +(\d{1,18}) MB" + _NOTE)
_COLUMNS = re.compile(r"^\W*node((?:[ \t]+\d{1,18})+)" + _NOTE)
_DISTANCES = re.compile(r"^[^\w-]*(\d{1,18}):((?:[ \t]+\d{1,18})+)" + _NOTE)
_TITLE = re.compile(r"^\s*node distances:")
_SHOW = re.compile(
    r"^\s*(policy|preferred node|physcpubind|cpubind|nodebind|membind|preferred|interleavemask|interleavenode"
    r"|weighted interleave)[:=]\s*+(\S(?:.*\S)?)?\s*$"
)
_COMMENTED = re.compile(r"^[ \t]*#[ \t]*(?:available:|node )", re.MULTILINE)
_ANY = re.compile("")  # no line of numactl's begins with "#"
_COUNTERS = "numa_hit|numa_miss|numa_foreign|interleave_hit|local_node|other_node"
_STAT_HEAD = re.compile(r"^\s+(node\d{1,9}(?:\s+node\d{1,9})*)" + _NOTE)
_STAT = re.compile(rf"^\s*({_COUNTERS})((?:\s+\d{{1,18}})+)" + _NOTE)
_REFUSED = re.compile(r"^\s*(<[^<>\n]+> is invalid|libnuma: Warning: .*|numactl: .*|usage: numactl .*)$")
_LIKE_ONE_OF_OURS = re.compile(
    rf"^[^\w-]*(?:node \W*+\d+|available:|\d+\W{{0,3}}:(?:[ \t]+\W{{0,3}}\d+)+|(?:{_COUNTERS})\s++\S*\d)"
)
_RECOGNISE = re.compile(
    r"^[^\w\n]*(?:available: +\d+ nodes? *\(|node +(?:\d+ +(?:cpus:|(?:size|free): +\d+ MB)"
    r"|distances:[^\n]*\n[^\w\n]*node(?:[ \t]+\d+)+\s))"
    r"|^[ \t]*policy: \w[^\n]*\n\s*preferred node: |^No NUMA support available on this system"
    rf"|^[ \t]+node\d[^\n]*\n\s*(?:{_COUNTERS})\s+\d",
    re.MULTILINE,
)
_FLAGS: Final[Mapping[str, str]] = {
    "truncated": "the text ends before its last node or distance; only what is complete is kept",
    "no_distances": "no distances: the firmware gives none, or they were cut",
    "refused": "numactl did not do what it was asked",
    "no_numa": "numactl says that there is no NUMA support",
    "asymmetric": "distances differ with the direction",
    "unread": "lines of a node or of distances that could not be read",
}


def recognise(text: str) -> bool:
    """Return whether the text contains lines of `numactl --hardware` or `--show`."""
    return _is_refusal(text) or recognises(text, ("numa", "node"), _RECOGNISE, _COMMENTED)


def _is_refusal(text: str) -> bool:
    """Return whether the text has only an error of numactl. Above another tool's output the error is noise."""
    if not text.lstrip()[:15].startswith(("<", "libnuma: ", "numactl: ", "usage: numactl ")):
        return False
    printed = [line for line in text.split("\n") if line.strip()]
    usage = next((i for i, line in enumerate(printed) if line.startswith("usage: numactl")), len(printed))
    return all(_REFUSED.match(line) for line in printed[: usage + 1])


def parse(text: str, context: Mapping[str, Any] = {}) -> Parsed:  # noqa: ARG001 (nothing from elsewhere is needed)
    """Return the tables of every machine in the text. Raises ParseError if the text has neither a node nor a policy."""
    check_lines(text)
    body = clean(text, commented=_ANY, emphasis=True)
    if not (recognise(text) or _RECOGNISE.search(body)):
        looked = "looked for `available: N nodes (…)`, `policy: …` or numastat's counters"
        hint = "numactl --hardware, numactl --show and numastat are read"
        raise ParseError("numactl output", f"{looked}, saw {first_line(text)}", hint)
    machines: list[_Machine] = Parts()
    lines = body.split("\n")
    for i, line in enumerate(lines):
        last = i == len(lines) - 1
        if line.lstrip().startswith("|"):
            line = line.replace("|", " ")  # of a Markdown table
        if not line.strip():
            continue
        if (match := _AVAILABLE.match(line)) and not last:
            machines.append(_Machine())
            machines[-1].facts |= {"nodes": match[2].strip(), "node_count": int(match[1])}
        else:
            again = bool(_STAT_HEAD.match(line)) and bool(machines) and bool(machines[-1].stat_nodes)
            machine = _Machine() if again or not machines else machines[-1]
            machine.read(line, last)
            if again or (not machines and machine.seen):
                machines.append(machine)
    for machine in machines:
        machine.finish()
    numbered = list(enumerate(machines, 1))
    figures = (((n, node, to), metric, v) for n, m in numbered for (node, to, metric), v in m.figures.items())
    cpus = ((n, node, cpu) for n, m in numbered for node, cpus in m.cpus.items() for cpu in cpus)
    lines_of = {
        "unread": [x for m in machines for x in m.unread],
        "refused": [x for m in machines for x in m.refusals],
    }
    return Parsed(
        tables={
            "measurements": measurements(LABELS, METRICS, figures),
            "cpus": Table(("run", "node", "cpu"), tuple(cpus)),
        },
        flags=collected(_FLAGS, [machine.flags for machine in machines], lines_of),
        facts=agreed([m.facts for m in machines], list(dict.fromkeys(name for m in machines for name in m.facts))),
    )


class _Machine:
    """The output of one numactl run."""

    def __init__(self) -> None:
        self.facts: dict[str, Scalar] = {}
        self.figures: dict[tuple[int, int | None, str], float] = {}
        self.cpus: dict[int, list[int]] = {}  # in order, each once
        self.columns: tuple[int, ...] = ()  # of the distances
        self.flags: set[str] = set()
        self.stat_nodes: tuple[int, ...] = ()  # of numastat's columns
        self.unread: list[str] = []
        self.refusals: list[str] = []
        self.seen = False
        self.listed: int | None = None  # the node whose CPUs the line above lists
        self.ordered = False  # are they in order?

    def read(self, line: str, last: bool) -> None:
        """Read one line. A `last` line has no line end and counts only if nothing can be missing."""
        listed, self.listed = self.listed, None
        if match := _MEMORY.match(line):
            self.figures[int(match[1]), None, match[2]] = float(int(match[3]) * 2**20)
        elif (match := _DISTANCES.match(line)) and self.columns:
            self._distances(int(match[1]), tuple(map(int, match[2].split())), cut=last and line[-1] != " ")
        elif "No NUMA support available" in line:
            self.flags.add("no_numa")
        elif match := _REFUSED.match(line):
            self.flags.add("refused")
            self.refusals.append(match[1])
        elif last:
            if self._may_go_on(line):
                self.flags.add("truncated")
        elif match := _CPUS.match(line):
            self._list(int(match[1]), _cpus(match[2], match[3]), line)
        elif listed is not None and _WRAPPED.fullmatch(line):
            self._list(listed, _cpus(line.strip(" \t>|"), None), line, wrapped=True)
        elif match := _COLUMNS.match(line):
            self.columns = tuple(map(int, match[1].split()))
        elif match := _STAT_HEAD.match(line):
            self.stat_nodes = tuple(int(word.removeprefix("node")) for word in match[1].split())
        elif (match := _STAT.match(line)) and len(match[2].split()) == len(self.stat_nodes):
            for node, count in zip(self.stat_nodes, match[2].split(), strict=True):
                self.figures[node, None, match[1]] = float(count)
        elif match := _SHOW.match(line):
            self.facts[match[1].replace(" ", "_")] = match[2] or None
        elif _LIKE_ONE_OF_OURS.match(line):
            self.unread.append(line.strip())  # "<not available>", or cut with "..." by hand
            self.flags.add("unread")
            return
        elif not _TITLE.match(line):
            return
        self.seen = True

    def _may_go_on(self, line: str) -> bool:
        """Return whether a last line without a line end may be truncated."""
        if self.columns and {node for node, _, metric in self.figures if metric == "distance"} >= {*self.columns}:
            return False
        own = _LIKE_ONE_OF_OURS.match(line) or _SHOW.match(line)
        return "node_count" in self.facts or own is not None or " " not in line.strip()

    def _list(self, node: int, more: list[int] | None, line: str, *, wrapped: bool = False) -> None:
        """Store the CPUs of a node. numactl lists CPUs in order, so another order means that a line was wrapped inside
        a number.
        """
        if more is None:
            self._not_read(node, line)
            return
        before = self.cpus.get(node, []) if wrapped else []
        joint = [*before[-1:], *more]
        self.ordered = joint == sorted(set(joint)) and (not wrapped or (self.ordered and node in self.cpus))
        if not wrapped or self.ordered:
            before.extend(more)
            self.cpus[node] = before
            self.figures[node, None, "cpus"] = float(len(before))
        else:
            self._not_read(node, line)
        self.listed = node

    def _not_read(self, node: int, line: str) -> None:
        self.cpus.pop(node, None)
        self.figures.pop((node, None, "cpus"), None)
        self.unread.append(line.strip())
        self.flags.add("unread")

    def _distances(self, node: int, distances: tuple[int, ...], *, cut: bool) -> None:
        # a cut "255" may read "25"; the last row's last figure is the node's own distance, which is 10, the least that there is
        whole = min(distances) > 9 and (not cut or (distances[-1] == 10 and self.columns[-1] == node))
        if len(distances) != len(self.columns) or not whole:
            self.flags.add("truncated")
            return
        for to, distance in zip(self.columns, distances, strict=True):
            self.figures[node, to, "distance"] = float(distance)

    def _drop_cut(self) -> None:
        """Remove a list of CPUs at the end of the text, because numactl prints the node's size below the list."""
        node, _, metric = next(reversed(self.figures), (None, None, ""))
        if metric == "cpus" and node is not None and "node_count" in self.facts:
            del self.figures[node, None, metric]
            del self.cpus[node]
            self.flags.add("truncated")

    def finish(self) -> None:
        self._drop_cut()
        count = Counter(cpu for cpus in self.cpus.values() for cpu in cpus)
        for node in [node for node, cpus in self.cpus.items() if any(count[cpu] > 1 for cpu in cpus)]:
            self._not_read(node, f"node {node} cpus: some are of another node, too")
        distances = {(a, b): value for (a, b, metric), value in self.figures.items() if metric == "distance"}
        nodes = {node for node, _, metric in self.figures if metric != "distance"}
        if nodes and not distances and not self.stat_nodes:
            self.flags.add("no_distances")
        if any(distances.get((b, a), value) != value for (a, b), value in distances.items() if b is not None):
            self.flags.add("asymmetric")
        expected = self.facts.get("node_count")
        if isinstance(expected, int) and len(nodes) < expected and not self.unread:
            self.flags.add("truncated")
        if self.columns and len({a for a, _ in distances}) < len(self.columns):
            self.flags.add("truncated")


def _cpus(printed: str, count: str | None) -> list[int] | None:
    """Return the CPUs of a list: `0 1 8`, `0-3, 8 (5)` (--cpu-compress), `0 1 2 ... 8` (shortened by hand). Else
    None.
    """
    cpus: list[int] = []
    step = 0  # of the numbers that "..." stands for
    for word in printed.split():
        if word in ("...", "…") and len(cpus) > 2 and (step := cpus[-1] - cpus[-2]) == cpus[-2] - cpus[-3] > 0:
            continue
        item = _ITEM.fullmatch(word)
        first, last = (int(item[1]), int(item[2] or item[1])) if item else (0, -1)
        if last < first or last > _MOST_CPUS or (step and ((first - cpus[-1]) % step or first <= cpus[-1])):
            return None
        cpus.extend(range(cpus[-1] + step, first, step) if step else ())
        cpus.extend(range(first, last + 1))
        step = 0
    return None if step or len(cpus) != int(count or len(cpus)) else cpus


TAKEN: Final = Taken(
    not_yet=(
        NotYet(
            "numastat with options",
            r"^Per-node (?:system|process|numastat) .*\(in MBs\)",
            "numastat without options is read",
        ),
    )
)
