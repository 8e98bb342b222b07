r"""Parse a plain table whose columns the user names, as figures of a known tool.

A table does not identify its columns, so `recognise` is always false. The context describes the table:

    tool     whose numbers these are: a parser's name
    columns  what each column holds, in order (below)
    beside   the columns of other tables of the text, a list: their rows are not unread ones of this table, optional
    command  the command line that printed it, optional: its options become facts
    labels   {label: value} that hold for all rows ("kernel": "copy"), optional
    pick     {"place": …, option: …}: only the columns with these settings, optional
    rows     only these rows of the table, counted from 0, optional

Commas separate the columns. A column is `[SETTING:]…NAME[.STATISTIC][\[UNIT\]]`, or `-` for a column to skip:

    threads                     an option of the cell: each of its values is a cell
    delay, message_size         a label of the tool's rows (parsers.<tool>.LABELS): rows of one cell
    latency[ns]                 a metric of the tool (parsers.<tool>.METRICS), in the unit that the column has
    iops.min                    another statistic than the usual one
    local:bandwidth[MB/s]       measured at the place "local"
    direction=write:lat[us]     with this label, or this option

Cells are separated by `|`, by tabs, by two or more blanks or by single blanks. The parser chooses the separator that
gives the most rows. A row is a line with the right number of cells and with numbers in the numeric columns. Other lines
are headings. A cell that cannot be a number (`-`, `n/a`) is a missing row. The result has the tool's tables, without
facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from parsers._bounds import check_lines
from parsers.errors import ParseError, UserError, nearest
from parsers.measurement import Flag, Metric, Parsed, Scalar, Taken, measurements
from parsers.text import clean, first_line, is_finite, number, scaled
from parsers.units import size_bytes, to_base

NAME: Final = "table"
VERSION: Final = 3
PRINTED: Final[Mapping[str, float] | None] = None
LABELS: Final[tuple[str, ...]] = ()
METRICS: Final[Mapping[str, Metric]] = {}

_COLUMN = re.compile(
    r"(?P<settings>(?:[^\s:,\[\]]+:)*)(?P<name>[A-Za-z_]\w*)(?:\.(?P<statistic>[\w.>=]+))?(?:\[(?P<unit>[^\]]*)\])?"
)
_BETWEEN: Final = (r"(?<!\s)\s*\|\s*", r"(?<!\s)\s*\t\s*", r"\s{2,}", r"\s+")
_BEFORE_A_PROGRAM = re.compile(
    r"(?:[\w./-]*/)?(?:sudo|numactl|mpirun|mpiexec|srun|time|env|\w+=\S+|\(?for)\s|[\w./-]*$"
)
_LIKE_A_ROW = re.compile(r"[|\s]*[\d.]+(?:[|\s]+[\d.]+)+[|\s]*$")
_COUNTED: Final = {"document": 0, "job": 0, "run": 1, "table": 0}
"""Labels that count runs or tables of a text. A plain table is one run and one table."""

_TOTALS: Final = ("iops", "bandwidth", "io_bytes", "total_ios", "runtime")
"""fio's metrics with one value per run. Other metrics have a distribution, and a column has the mean."""

_ASKED: Final = frozenset({"runtime"})
"""Metrics that are options too. A bare name means the requested option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table."""

    name: str  # of an option, a label or a metric; "-": not read
    kind: str  # "option" | "label" | "metric" | "skip"
    factor: float = 1.0  # of a metric: to base units
    statistic: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)  # settings that are labels of the tool's rows
    pick: Mapping[str, str] = field(default_factory=dict)  # the other settings: "place" and options of the cell


@dataclass(frozen=True, slots=True)
class TableCell:
    """One cell of an experiment: the options that the rows share, and the position of the rows."""

    options: Mapping[str, str | int | float]
    place: str | None
    pick: Mapping[str, str]
    rows: tuple[int, ...]
    table: int  # the line with its first row: tells the text's tables apart
    command: str  # the command line that stands above it; "" if none does, or several do
    heading: str  # likewise


def recognise(text: str) -> bool:  # noqa: ARG001 (part of the contract)
    """Return False, because a table does not identify its columns."""
    return False


def parse(text: str, context: Mapping[str, Any] | None = None) -> Parsed:
    """Return the selected rows and columns as the tool's own table.

    Raises ParseError without such rows, UserError if the context does not describe the table.
    """
    given = context or {}
    if "tool" not in given or "columns" not in given:
        hint = 'pinsweep parse table FILE --tool stream --columns "threads, bandwidth[MB/s]"'
        seen = first_line(text)
        raise ParseError("a table", f"looked for the names of its columns, saw only the text: {seen}", hint)
    check_lines(text)
    tool = str(given["tool"])
    columns = read_columns(str(given["columns"]), tool)
    beside = [read_columns(str(other), tool) for other in given.get("beside", ())]
    lines, odd = _lines(text, columns)
    of_others = {row.line for other in beside for row in _lines(text, other)[0]}
    if not lines:
        what = f"looked for rows of {len(columns)} columns with numbers in them, saw {first_line(text)}"
        raise ParseError("a table", what, "name every column, in order; - for one that is not to be read")
    labels = _parser(tool).LABELS
    fixed = {**_usual(tool, columns), **given.get("labels", {})}
    chosen = given.get("rows")
    pick = given.get("pick")
    rows: list[tuple[tuple[Scalar, ...], str, float]] = []
    missing = 0
    inside = [(index, row) for index, row in enumerate(lines) if chosen is None or index in chosen]
    for index, (_, words) in inside:
        cells = list(zip(columns, words, strict=True))
        own = {column.name: _label(column.name, word) for column, word in cells if column.kind == "label"}
        for column, word in cells:
            if column.kind != "metric" or (pick is not None and dict(column.pick) != dict(pick)):
                continue
            value = scaled(word, column.factor)
            if value is None:
                missing += 1
                continue
            statistic = {} if column.statistic is None else {"statistic": column.statistic}
            known = {**fixed, **own, **column.labels, "row": index, **statistic}
            rows.append((tuple(map(known.get, labels)), column.name, value))
    ends = (inside[0][1].line, inside[-1][1].line) if inside else (0, 0)
    unread = [line for at, line in odd.items() if ends[0] < at < ends[1] and at not in of_others]
    flags = [Flag("from_table", "read from a table: nothing but its columns tells how this was run")]
    if missing:
        flags.append(Flag("not_measured", f"{missing} of the table's cells hold no number"))
    if unread:
        what = f"{len(unread)} lines look like rows and have other columns, the first {unread[0][:60]!r}"
        flags.append(Flag("unread", what))
    command = str(given.get("command", ""))
    facts = {"command": command, **taken(tool).typed(command)} if command else {}
    table = measurements(labels, _parser(tool).METRICS, rows)
    return Parsed(tables={"measurements": table}, flags=tuple(flags), facts=facts)


def cells(
    text: str,
    columns: Sequence[Column],
    tool: str = "",
    heading_of: Callable[[str], str] = lambda _: "",
    beside: Sequence[Sequence[Column]] = (),
) -> list[TableCell]:
    """Return the cells of the experiment behind the tables, in the order of the first row.

    A new table begins below a command line or a heading, and at a row that repeats the options and labels of an earlier
    row. If tables of `beside` have the same number of columns, the words of the head decide.
    """
    rows, _ = _lines(text, columns)
    picks = list({tuple(sorted(c.pick.items())): c.pick for c in columns if c.kind == "metric"}.values())
    above = _above(text, rows, columns, tool, heading_of)
    places_by_cell: dict[tuple[int, int, tuple[tuple[str, str | int | float], ...]], list[int]] = {}
    for number_of_pick in range(len(picks)):
        for index, row in enumerate(rows):
            cells = zip(columns, row.words, strict=True)
            options = tuple((c.name, _option(w)) for c, w in cells if c.kind == "option")
            places_by_cell.setdefault((above[index].table, number_of_pick, options), []).append(index)
    rivals = [other for other in beside if len(other) == len(columns)]
    out = []
    for (table, number_of_pick, options), places in places_by_cell.items():
        pick, about = picks[number_of_pick], above[places[0]]
        if any(_fits(about.head, other) > _fits(about.head, columns) for other in rivals):
            continue
        settings = {name: _option(value) for name, value in pick.items() if name != "place"}
        commands = about.commands * len(picks) if len(about.commands) == 1 else about.commands
        command = commands[number_of_pick] if len(commands) == len(picks) else ""
        place, all_options = pick.get("place"), {**dict(options), **settings}
        out.append(TableCell(all_options, place, pick, tuple(places), table, command, about.heading))
    return out


class _Above(NamedTuple):
    """The lines above a row, back to the previous table."""

    table: int  # the line with the first row of its table
    commands: tuple[str, ...]
    heading: str
    head: str  # the two lines right above the table, in lower case


def _fits(head: str, columns: Sequence[Column]) -> int:
    """Return the number of the columns' words in the head of a table."""
    words = (w for c in columns for w in (c.name, c.statistic or "", *c.labels.values(), *c.pick.values()))
    return len({*re.findall(r"[a-z]+", head)} & {*re.findall(r"[a-z]+", " ".join(words).lower())})


def _above(
    text: str, rows: Sequence[_Found], columns: Sequence[Column], tool: str, heading_of: Callable[[str], str]
) -> list[_Above]:
    """Return the table of each row, with the commands and the heading above the table."""
    program = re.compile((tool and taken(tool).program) or r"(?!)")
    body = clean(text, emphasis=True).split("\n")
    out: list[_Above] = []
    seen: set[tuple[str, ...]] = set()
    at, now = 0, _Above(-1, (), "", "")
    for row in rows:
        commands: list[str] = []
        heading, words = "", []
        for line in body[at : row.line]:
            if title := heading_of(line):
                commands, heading = [], title
            if command := typed_command(line, program):
                commands.append(command)
            elif line.strip():
                words.append(line)
        key = tuple(w for c, w in zip(columns, row.words, strict=True) if c.kind in ("option", "label"))
        if now.table < 0 or commands or heading or key in seen:
            head = " ".join(words[-2:]).lower() or now.head
            if not (commands or heading):  # the same table once more, below the same command
                commands, heading = list(now.commands), now.heading
            now = _Above(row.line, tuple(commands), heading, head)
            seen = set()
        seen.add(key)
        out.append(now)
        at = row.line + 1
    return out


def typed_command(line: str, program: re.Pattern[str]) -> str:
    """Return the command line in a line of a report, "" without one. The command may be quoted or follow a prompt.

    A command names the program and has an option or an environment variable.
    """
    for pattern in (r"`([^`]+)(?:`|$)", r'["“]([^"“”]+)["”]', r"^\s*(?:\S*[$>#%]\s+)?(\S.*)$"):
        for match in re.finditer(pattern, line):
            words = match[1].strip()
            named = program.search(words)
            if not named:
                continue
            has_options = re.search(r"\s--?\s?[A-Za-z]", words) or re.search(r"\b[A-Z]\w*=\S", words[: named.start()])
            is_sentence = pattern.startswith("^") and not _BEFORE_A_PROGRAM.match(words[: named.end()])
            if has_options and not is_sentence:
                return words
    return ""


def read_columns(text: str, tool: str) -> tuple[Column, ...]:
    """Return the columns of a description. Raises UserError with the tool's columns for an invalid description."""
    columns = tuple(_column(word.strip(), tool) for word in text.split(","))
    if not any(column.kind == "metric" for column in columns):
        known = ", ".join(f"{name}[{m.unit}]" for name, m in list(_parser(tool).METRICS.items())[:8])
        raise UserError("--columns", "no column holds a measured number", f"metrics of {tool}: {known}")
    return columns


def _column(word: str, tool: str) -> Column:
    if word in ("-", "_"):
        return Column(name="-", kind="skip")
    match = _COLUMN.fullmatch(word)
    if not match:
        hint = "e.g. threads, local:bandwidth[MB/s], iops.min, -"
        raise UserError("--columns", f"{word!r} is not the description of a column", hint)
    parser = _parser(tool)
    labels: dict[str, str] = {}
    pick: dict[str, str] = {}
    for setting in filter(None, match["settings"].split(":")):
        name, equals, value = setting.partition("=")
        (labels if equals and name in parser.LABELS else pick)[name if equals else "place"] = value if equals else name
    name = match["name"]
    bare = match["unit"] is None and match["statistic"] is None
    if name not in parser.METRICS or (bare and name in _ASKED):
        if not bare or labels or pick:
            hint = nearest(name, parser.METRICS) or f"it has {', '.join(parser.METRICS)}"
            raise UserError("--columns", f"{tool} has no metric {name!r}", hint)
        return Column(name=name, kind="label" if name in parser.LABELS else "option")
    unit = match["unit"] or ""
    factor, base = (0.01, "1") if unit == "%" else to_base(unit or "1")
    wanted = parser.METRICS[name].unit
    if base != wanted and not (wanted == "1/s" and not unit):
        hint = f"name the unit that the column has: {name}[{ {'B/s': 'MB/s', 'ns': 'us'}.get(wanted, wanted) }]"
        what = f"{word!r}: {name} is measured in {wanted}" + (f", not in {unit}" if unit else "")
        raise UserError("--columns", what, hint)
    statistic = match["statistic"]
    if "statistic" in parser.LABELS and statistic is None:
        statistic = "total" if name in _TOTALS else "mean"
    return Column(name=name, kind="metric", factor=factor, statistic=statistic, labels=labels, pick=pick)


class _Found(NamedTuple):
    line: int  # of the cleaned text, from 0
    words: list[str]


def _lines(text: str, columns: Sequence[Column]) -> tuple[list[_Found], dict[int, str]]:
    """Return the rows, and similar lines with other columns, by line number.

    One separator applies to the whole table: the separator with the most rows.
    """
    body = [line.strip() for line in clean(text, emphasis=True).split("\n")]
    ways = [[_row(line, pattern, columns) for line in body] for pattern in _BETWEEN]
    best = max(ways, key=lambda way: sum(words is not None for words in way))
    rows = [_Found(i, words) for i, words in enumerate(best) if words is not None]
    inside = range(rows[0].line, rows[-1].line) if rows else ()
    return rows, {i: body[i] for i in inside if best[i] is None and _LIKE_A_ROW.match(body[i])}


def _row(line: str, between: str, columns: Sequence[Column]) -> list[str] | None:
    words = re.split(between, line.strip("|").strip() if "|" in between else line)
    return words if len(words) == len(columns) and _is_row(words, columns) else None


def _is_row(words: Sequence[str], columns: Sequence[Column]) -> bool:
    metrics = [number(w) for c, w in zip(columns, words, strict=True) if c.kind == "metric"]
    named = [w for c, w in zip(columns, words, strict=True) if c.kind in ("option", "label")]
    ruled = all(re.fullmatch(r"[\s:=-]*", word) for word in words)
    return not ruled and any(v is not None for v in metrics) and all(word.strip() for word in named)


def _label(name: str, word: str) -> Scalar:
    if name == "kernel":
        return word.lower()
    if name == "message_size":
        try:
            return size_bytes(word)
        except ValueError:
            return word
    return _option(word)


def _option(word: str) -> str | int | float:
    """Return an option's value: `00050` is 50, `0.5` is 0.5, `4k` is unchanged."""
    if re.fullmatch(r"[+-]?\d{1,18}", word):
        return int(word)
    value = number(word)
    return value if is_finite(value) else word


def _usual(tool: str, columns: Sequence[Column]) -> dict[str, Scalar]:
    """Return the default labels of a tool's table."""
    labels = _parser(tool).LABELS
    usual: dict[str, Scalar] = {name: value for name, value in _COUNTED.items() if name in labels}
    named = {"", *(column.name for column in columns)}
    for column, labels_of_it in taken(tool).table_labels.items():
        usual |= labels_of_it if column in named else {}
    return usual


def taken(tool: str) -> Taken:
    """Return the import rules of a tool. The package finds this module by name and cannot be imported at the top."""
    import parsers

    return parsers.taken(tool)


def _parser(tool: str) -> Any:  # noqa: ANN401 (a parser module)
    from parsers import get_parser

    return get_parser(tool)
