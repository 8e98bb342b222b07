"""Parse lscpu: the list (English and localised), -e, -p, -C, and -J of each format.

lscpu measures only caches. `measurements` has one row per figure of a cache:

    cache   str   L1d | L1i | L2 | L3 | …
    metric  str   size_each (B, of one instance) | size_total (B, of all) | instances

Up to 2.33 the list prints one instance (`32K`), later all instances (`96 KiB (2 instances)`). -C prints both.

Tables:
    fields  run, type, field, value   every line of the list as printed, in order; the field in English. `type` counts
                                      the CPU types of a machine with several, from 1; 0 stands above all of them
    cpus    run, table, cpu, …        the rows of -e and -p; the columns are lscpu's, in lower case
    nodes   run, node, cpus           the CPUs of each NUMA node as a list ("0-3,8"), empty for memory alone

Facts are the fields of FACTS. A field that differs between CPU types or machines is not a fact.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from parsers._bounds import Parts, check_json, check_lines
from parsers._runs import agreed, collected, table_of
from parsers._wrappings import without_emphasis
from parsers.errors import ParseError
from parsers.measurement import Metric, Parsed, Scalar, Table, measurements
from parsers.text import clean, first_line, is_finite, number, recognises
from parsers.units import size_bytes

NAME: Final = "lscpu"
VERSION: Final = 3
PRINTED: Final[Mapping[str, float] | None] = None

LABELS: Final = ("run", "cache")

METRICS: Final[Mapping[str, Metric]] = {
    "size_each": Metric("B", "neither", "size of one instance of the cache"),
    "size_total": Metric("B", "neither", "size of all instances of the cache"),
    "instances": Metric("1", "neither", "instances of the cache"),
}

FACTS: Final[Mapping[str, tuple[str, type[int] | type[float] | type[str]]]] = {
    "Architecture": ("architecture", str),
    "Byte Order": ("byte_order", str),
    "CPU(s)": ("cpus", int),
    "On-line CPU(s) list": ("online_cpus", str),
    "Vendor ID": ("vendor", str),
    "Model name": ("model_name", str),
    "CPU family": ("cpu_family", str),
    "Model": ("model", str),
    "Stepping": ("stepping", str),
    "Thread(s) per core": ("threads_per_core", int),
    "Core(s) per socket": ("cores_per_socket", int),
    "Core(s) per cluster": ("cores_per_cluster", int),
    "Socket(s)": ("sockets", int),
    "Cluster(s)": ("clusters", int),
    "NUMA node(s)": ("numa_nodes", int),
    "CPU MHz": ("mhz", float),
    "CPU max MHz": ("max_mhz", float),
    "CPU min MHz": ("min_mhz", float),
    "Hypervisor vendor": ("hypervisor_vendor", str),
    "Virtualization type": ("virtualization_type", str),
}
"""lscpu's field: (name of the fact, its type)."""

_OF_A_TYPE: Final = frozenset({"cores_per_socket", "cores_per_cluster", "sockets", "clusters"})
"""Facts without a meaning on a machine with several CPU types, even if all types agree."""

_TRANSLATIONS: Final = {  # German, French, Chinese, Japanese
    "Architecture": "Architektur | 架构 | アーキテクチャ",
    "Byte Order": "Byte-Reihenfolge | Boutisme | 字节序 | バイト順序",
    "CPU(s)": "Processeur(s) | CPU",
    "On-line CPU(s) list": (
        "Liste der Online-CPU(s) | Liste de processeur(s) en ligne | 在线 CPU 列表 | オンラインになっている CPU のリスト"
    ),
    "Vendor ID": "Anbieterkennung | Identifiant constructeur | 厂商 ID | ベンダー ID | ベンダーID",
    "Model name": "Modellname | Nom de modèle | 型号名称 | モデル名",
    "CPU family": "Prozessorfamilie | Famille de processeur | CPU 系列 | CPU ファミリー | CPUファミリー",
    "Model": "Modell | Modèle | 型号 | モデル",
    "Stepping": "Révision | 步进 | ステッピング",
    "Thread(s) per core": "Thread(s) pro Kern | Thread(s) par cœur | 每个核的线程数 | コアあたりのスレッド数",
    "Core(s) per socket": (
        "Kern(e) pro Socket | Kern(e) pro Sockel | Cœur(s) par socket | 每个座的核数 | ソケットあたりのコア数"
    ),
    "Socket(s)": "Sockel | 座 | ソケット数",
    "NUMA node(s)": "NUMA-Knoten | Nœud(s) NUMA | NUMA 节点 | NUMAノード",
    "CPU MHz": "Vitesse du processeur en MHz",
    "CPU max MHz": "Maximale Taktfrequenz der CPU | Vitesse maximale du processeur en MHz | CPU 最大 MHz",
    "CPU min MHz": "Minimale Taktfrequenz der CPU | Vitesse minimale du processeur en MHz | CPU 最小 MHz",
}
_LOCALISED: Final = {name: field for field, names in _TRANSLATIONS.items() for name in names.split(" | ")}
_FIELD = re.compile(r"^(\s*+)([^\s:：][^:：\t]*?) ?[:：](?:\s++(\S(?:.*\S)?))?\s*$")
_TIGHT_FIELD = re.compile(
    r"^(\s*+)([^\s:：][^:：\t]*?) ?[:：](\S(?:.*\S)?)\s*$"
)  # a long localised name leaves no blank
_NODE = re.compile(
    r"^NUMA node(\d{1,18}) CPU\(s\)$|^NUMA-Knoten(\d{1,18}) CPU\(s\)$|^NUMA 节点(\d{1,18}) CPU$|^NUMAノード ?(\d{1,18}) CPU$"
    r"|^Nœud NUMA (\d{1,18}) de processeur\(s\)$"
)
_CACHE_FIELD = re.compile(r"^(?:(L\d[di]?)(?: (?:[Cc]ache|缓存|キャッシュ))?|Cache (L\d[di]?))$")
_CACHE_SIZE = re.compile(r"([\d.,]+) ?([KMG])(?:i?B)?|(\d{1,18})(?: (?:bytes|B))?")
_INSTANCES = re.compile(r"\((\d{1,18}) instances?\)$")
_PARSABLE_HEAD = re.compile(r"^# ?(CPU(?:,[\w:() ]*)+)$", re.IGNORECASE)
_PARSABLE_ROW = re.compile(r"^[\w.:-]*(?:,[\w.:-]*)+$")
_TABLE_HEAD = re.compile(r"^\s*+CPU(?:\s++(?:L1d?[\w:]*+|\w++))++\s*$")
_CACHE_HEAD = re.compile(r"^\s*NAME\s+ONE-SIZE\s+ALL-SIZE\b")
_MOST_COLUMNS: Final = 200
_BEGINS: Final = frozenset({"Architecture", "CPU op-mode(s)"})
_RECOGNISE = re.compile(
    r"^[ \t]*(?:(?:On-line CPU\(s\) list|Thread\(s\) per core|Core\(s\) per socket) ?:"
    r"|(?:Liste der Online-CPU\(s\)|Thread\(s\) pro Kern|Thread\(s\) par cœur|每个核的线程数|コアあたりのスレッド数) ?[:：]"
    r"|# The following is the parsable format"
    r"|CPU +(?:NODE +)?SOCKET +CORE\b|NAME +ONE-SIZE +ALL-SIZE\b)"
    r'|^[ \t]*\{\s*"(?:lscpu|caches)": \[\s*\{|^[ \t]*\{\s*"cpus": \[\s*\{\s*"cpu": *"?\d',
    re.MULTILINE,
)
_COMMENTED = re.compile(
    r"^[ \t]*#[ \t]*(?:(?:Thread|Core)\(s\) per|NAME +ONE-SIZE|CPU +(?:NODE +)?SOCKET|# The following is the pars|\{)",
    re.MULTILINE,
)
_DOCUMENT = re.compile(r'^[ \t]*(?=\{\s*"(?:lscpu|caches|cpus)": \[)', re.MULTILINE)
_FLAGS: Final[Mapping[str, str]] = {
    "truncated": "the text ends inside a line or a JSON document; only what is complete is kept",
    "several_types": "several CPU types: what differs between them is in the table `fields` only",
    "localised": "the fields were translated back to English; run lscpu with LC_ALL=C",
    "unread": "a cache size that could not be read",
    "size_of_what": "a cache size that does not say whether it is of one instance or of all: left out",
}


def recognise(text: str) -> bool:
    """Return whether the text contains lscpu's list, one of lscpu's tables or lscpu's JSON."""
    words = ("(s)", "线程数", "スレッド数", "parsable format", "one-size", "socket", '"caches"', '"cpus"')
    return recognises(text, words, _RECOGNISE, _COMMENTED)


def parse(text: str, context: Mapping[str, Any] = {}) -> Parsed:  # noqa: ARG001 (nothing from elsewhere is needed)
    """Return the tables of every machine in the text. Raises ParseError for other text and for incomplete JSON."""
    body = clean(text, commented=_COMMENTED)
    if not (recognise(text) or _RECOGNISE.search(body)):
        looked = "looked for `Thread(s) per core:`, `# The following is the parsable format`, a table of CPUs or caches, or their JSON"
        raise ParseError("lscpu output", f"{looked}; saw {first_line(text)}", "run it with LC_ALL=C")
    machines = [*_documents(body)] or _texts(without_emphasis(body))
    for machine in machines:
        machine.finish()
    columns = tuple(dict.fromkeys(name for machine in machines for row in machine.cpus for name in row))
    if len(columns) > _MOST_COLUMNS:
        raise ParseError("lscpu output", f"tables of {len(columns)} columns; lscpu has some thirty")
    numbered = list(enumerate(machines, 1))
    caches = (((n, cache), metric, v) for n, m in numbered for (cache, metric), v in m.caches.items())
    return Parsed(
        tables={
            "measurements": measurements(LABELS, METRICS, caches),
            "fields": Table(("run", "type", "field", "value"), tuple((n, *f) for n, m in numbered for f in m.fields)),
            "nodes": Table(("run", "node", "cpus"), tuple((n, *node) for n, m in numbered for node in m.nodes.items())),
            "cpus": table_of(("run", *columns), [{"run": n, **row} for n, m in numbered for row in m.cpus]),
        },
        flags=collected(_FLAGS, [m.flags for m in machines], {}),
        facts=agreed([m.facts for m in machines], [name for name, _ in FACTS.values()]),
    )


class _Machine:
    """The output of one lscpu run."""

    def __init__(self) -> None:
        self.fields: list[tuple[int, str, str | None]] = []
        self.rest: dict[int, list[str]] = {}  # of a field, which a terminal or a narrow pipe broke into lines
        self.facts: dict[str, Scalar] = {}
        self.caches: dict[tuple[str, str], float] = {}
        self.nodes: dict[int, str] = {}
        self.cpus: list[dict[str, Scalar]] = []
        self.flags: set[str] = set()
        self.type = 0
        self.tables = 0

    def field(self, name: str, value: str | None) -> None:
        """Store one line of the list. `-` and an empty value mean unknown."""
        if name == "Model name":
            self.type += 1
        typed = self.type if self.type and name not in ("CPU(s)", "On-line CPU(s) list") else 0
        self.fields.append((typed, name, value))
        if match := _NODE.match(name):
            self.nodes[int(next(group for group in match.groups() if group))] = value or ""
        elif match := _CACHE_FIELD.match(name):
            self.cache(match[1] or match[2], value or "")

    def goes_on(self, line: str) -> bool:
        """Return whether a line continues the field above."""
        return bool(self.fields) and (line[:8].isspace() or self.fields[-1][1] == "Flags")

    def cache(self, name: str, value: str) -> None:
        size = _bytes(_INSTANCES.sub("", value).strip())
        if size is None:
            self.flags |= {"unread"} if value not in ("", "-") else set()
            return
        if match := _INSTANCES.search(value):
            self.caches[name, "size_total"] = size
            self.caches[name, "instances"] = float(match[1])
            if int(match[1]) == 1:
                self.caches[name, "size_each"] = size
        elif " " in value:  # "64 MiB": of a version that prints totals, but without saying of how many
            self.flags.add("size_of_what")
        else:
            self.caches[name, "size_each"] = size

    def cache_row(self, row: Mapping[str, Any]) -> None:
        name = str(row.get("name"))
        for key, metric in (("one-size", "size_each"), ("all-size", "size_total")):
            word = str(row.get(key) or "")
            if (size := _bytes(word)) is not None:
                self.caches[name, metric] = size
            elif word not in ("", "-"):
                self.flags.add("unread")

    def cpu_row(self, row: Mapping[str, str | None]) -> None:
        self.cpus.append({"table": self.tables, **{k.lower(): _cell(v) for k, v in row.items()}})

    def finish(self) -> None:
        self.fields = [
            (typed, name, "\n".join([value or "", *self.rest[i]]) if i in self.rest else value)
            for i, (typed, name, value) in enumerate(self.fields)
        ]
        for field, (fact, kind) in FACTS.items():
            values = {v for _, name, v in self.fields if name == field and v not in (None, "", "-")}
            if len(values) != 1 or (self.type > 1 and fact in _OF_A_TYPE):
                continue
            word = str(values.pop())
            value = number(word)
            if kind is str:
                self.facts[fact] = word
            elif is_finite(value) and abs(value) < 1e15 and (kind is float or value % 1 == 0):
                self.facts[fact] = kind(value)
        if self.type > 1:
            self.flags.add("several_types")


def _texts(body: str) -> list[_Machine]:
    check_lines(body)
    machines = Parts([_Machine()])
    known = frozenset(FACTS) | _BEGINS
    head: list[str] = []  # of the table at hand
    mode = ""
    lines = body.split("\n")
    for i, line in enumerate(lines):
        machine, last = machines[-1], i == len(lines) - 1
        if not line.strip():
            mode = mode if mode in ("list", "caches") else ""
        elif match := _PARSABLE_HEAD.match(line):
            head, mode = _column_names(match[1].split(",")), "parsable"
            machine.tables += 1
        elif _TABLE_HEAD.match(line):
            head, mode = _column_names(line.split()), "table"
            machine.tables += 1
        elif _CACHE_HEAD.match(line):
            head, mode = line.split(), "caches"
        elif len(words := _row(line, mode)) == len(head) and words:
            row = dict(zip(head, words, strict=True))
            if last:
                machine.flags.add("truncated")
            elif mode == "caches":
                machine.cache_row({name.lower(): word for name, word in row.items()})
            else:
                machine.cpu_row(row)
        elif mode == "caches" and re.match(r"L\d\w? ", line):
            machine.flags.add("unread")
        elif field := _split_field(line, mode):
            name, value, localised = field
            if name in _BEGINS and any(n == name for _, n, _ in machine.fields):
                machines.append(machine := _Machine())
            if mode != "list" and name not in known:
                continue
            mode = "list"
            if localised:
                machine.flags.add("localised")
            if last:
                machine.flags.add("truncated")  # "0-7" may have been "0-71"
            else:
                machine.field(name, value)
        elif mode == "list" and not last and machine.goes_on(line):
            machine.rest.setdefault(len(machine.fields) - 1, []).append(line.strip())
        elif mode:
            mode = ""
    # another program's `Architecture: arm64`, far above the list, is no machine
    return [m for m in machines if len(m.fields) > 2 or m.cpus or m.caches] or machines


def _row(line: str, mode: str) -> list[str]:
    if mode == "parsable":
        return line.split(",") if _PARSABLE_ROW.match(line) else []
    return line.split() if mode in ("table", "caches") else []


def _split_field(line: str, mode: str) -> tuple[str, str | None, bool] | None:
    """Return (English name, value, whether translated) for one line of the list."""
    match = _FIELD.match(line)
    if not match:
        match = _TIGHT_FIELD.match(line)
        if not match or match[2] not in _LOCALISED:
            return None
    name = match[2]
    if name == "CPU" and mode != "list":
        return None
    english = _LOCALISED.get(name, name)
    return english, match[3], english != name


def _column_names(names: list[str]) -> list[str]:
    """Return a name for every column. -p omits the name of the column between Node and the caches."""
    return [name if name else f"column{i}" for i, name in enumerate(names, 1)]


def _documents(body: str) -> Iterator[_Machine]:
    """Yield the content of each JSON document in the text."""
    at = 0
    if _DOCUMENT.search(body):
        check_json(body)
    while match := _DOCUMENT.search(body, at):
        try:
            document, at = json.JSONDecoder().raw_decode(body, match.end())
        except (ValueError, RecursionError) as error:
            what = f"looked for the JSON of lscpu -J, saw {first_line(body[match.end() :])} and then: {error}"
            hint = "the file is cut, or something else was printed into it"
            raise ParseError("lscpu output", what, hint) from error
        yield _json(document)


def _json(document: Any) -> _Machine:  # noqa: ANN401 (whatever JSON holds)
    machine = _Machine()
    try:
        for name, value in _json_fields(document.get("lscpu", ())):
            machine.field(_LOCALISED.get(name, name), value)
        for row in document.get("caches", ()):
            machine.cache_row(row)
        machine.tables += bool(document.get("cpus"))
        for row in document.get("cpus", ()):
            machine.cpu_row({k: None if v is None else _yes(v) for k, v in row.items()})
    except (AttributeError, KeyError, TypeError) as error:
        what = f"looked for lists of fields, cpus or caches in the JSON, saw something else: {error!r}"
        raise ParseError("lscpu output", what, "the file was edited, or is another program's") from error
    return machine


def _json_fields(entries: Any) -> Iterator[tuple[str, str | None]]:  # noqa: ANN401 (whatever JSON holds)
    for entry in entries:
        value = entry.get("data")
        yield str(entry["field"]).strip().rstrip(":：").rstrip(), None if value is None else str(value)
        yield from _json_fields(entry.get("children", ()))


def _yes(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _cell(word: str | None) -> Scalar:
    """Return one cell of a CPU table: a number, yes or no, a word. "-" and "" are missing."""
    if word in (None, "", "-"):
        return None
    if word in ("yes", "Y", "no", "N"):
        return word in ("yes", "Y")
    if word and word.isascii() and word.isdigit() and len(word) < 19:
        return int(word)
    value = number(word or "")
    return value if is_finite(value) else word


def _bytes(size: str) -> float | None:
    """Return the bytes of `32K`, `96 KiB`, `4.5 MiB` or `98304`. lscpu's K is 2**10."""
    match = _CACHE_SIZE.fullmatch(size)
    if not match:
        return None
    value = number(match[1] or match[3])
    return None if value is None else value * size_bytes(f"1{match[2] or ''}")
