"""Expand an experiment into cells, with the numbers of a machine. Pure.

Cells follow the rules of GitHub Actions. The first cells are the product of the `matrix` axes and the `zip` rows.
`exclude` removes cells. Each `include` adds its options to all cells of the product with equal axis values. If no cell
matches, the `include` becomes a new cell. A place with `each …` stays one cell here, because the planner resolves it.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from orchestrator.experiment.quantities import (
    BYTES,
    MAX_VALUES,
    PERCENT_OF,
    Quantity,
    QuantityError,
    Term,
    Unresolved,
    parse,
    resembles,
    seconds,
    size_text,
)
from orchestrator.machine.topology import Topology
from orchestrator.model import Cell, Experiment, Place, Skipped, Sweep, canonical_json
from orchestrator.tools import Option, Tool, get_tool
from parsers import units
from parsers.errors import UserError
from parsers.units import number_value, size_bytes, size_value

MAX_CELLS: Final = 100_000
"""Cells of one sweep. At a second each that is more than a day; more is almost certainly a typo."""

_EXACT: Final = 2.0**53
"""Whole numbers up to it are exact as float."""

FREE: Final = Option(kind="text", help="an axis of the experiment's own, for the command's placeholders")
"""The Option for an unknown name of a tool with `OPEN = True`."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A placeholder for a value that this machine does not have: the text in the file and the reason."""

    raw: Any
    reason: str

    def __str__(self) -> str:
        return str(self.raw)


Options = dict[str, Any]
"""Axis → value, Place or Missing."""


def expand(
    experiment: Experiment,
    topology: Topology,
    *,
    numbers: Mapping[str, int] | None = None,
    root: bool | None = None,
    versions: Mapping[str, str] | None = None,
) -> tuple[tuple[Cell, ...], tuple[Skipped, ...]]:
    """Return the cells of all sweeps in file order, and the cells that this machine cannot host.

    `numbers` replaces `topology.numbers()`. `root` and `versions` decide `requires`; `versions` maps an installed tool
    to its version, "" if unknown. With None, `requires` is not checked.
    """
    numbers = topology.numbers() if numbers is None else numbers
    hosted: list[Cell] = []
    skipped: list[Skipped] = []
    for sweep in experiment.sweeps:
        tool = get_tool(sweep.tool)
        reason = unmet(sweep.requires, numbers, root=root, versions=versions)
        for cell, missing in cells(sweep, numbers):
            why = reason or missing or _refused(cell, tool)
            if why:
                skipped.append(Skipped(sweep=sweep.name, cell=cell.labels(), reason=why))
            else:
                hosted.append(cell)
    return tuple(hosted), tuple(skipped)


def cells(sweep: Sweep, numbers: Mapping[str, int]) -> list[tuple[Cell, str]]:
    """Return every cell as (cell, reason), without duplicates. The reason is "" if this machine has all values.

    Raises UserError if there are more than MAX_CELLS.
    """
    options = get_tool(sweep.tool).options()

    def values(name: str, raw: Any) -> list[Any]:  # noqa: ANN401
        return _values(name, options.get(name, FREE), raw, numbers)

    axes = {name: _distinct(v for raw in raws for v in values(name, raw)) for name, raws in sweep.matrix.items()}
    walks = {name: [v for raw in raws for v in values(name, raw)] for name, raws in sweep.zip.items()}
    rows: list[Options] = (
        [dict(zip(walks, row, strict=True)) for row in zip(*walks.values(), strict=True)] if walks else [{}]
    )
    if (count := math.prod(map(len, axes.values())) * len(rows)) > MAX_CELLS:
        raise UserError(
            sweep.name, f"{count} cells", f"a sweep has at most {MAX_CELLS}; split it, or name fewer values"
        )
    fixed = {name: values(name, raw)[0] for name, raw in sweep.fixed.items()}
    product = [dict(zip(axes, row, strict=True)) | walk for row in itertools.product(*axes.values()) for walk in rows]
    named = (*axes, *walks)
    if not named and sweep.include:
        product = []
    for entry in sweep.exclude:
        wanted = {name: _wanted(sweep.tool, values, name, raw) for name, raw in entry.items()}
        product = [
            chosen
            for chosen in product
            if not all(key_of(sweep.tool, name, chosen[name]) in keys for name, keys in wanted.items())
        ]
    product = _include(
        sweep.tool,
        product,
        named,
        [{n: values(n, raw)[0] for n, raw in entry.items()} for entry in sweep.include],
    )
    varying = tuple(dict.fromkeys(itertools.chain(named, *sweep.include)))
    by_id: dict[str, tuple[Cell, str]] = {}
    for chosen in product:
        whole = fixed | chosen
        missing = "; ".join(dict.fromkeys(v.reason for v in whole.values() if isinstance(v, Missing)))
        place = whole.pop("place", None)
        cell = Cell(
            sweep=sweep.name,
            tool=sweep.tool,
            options={name: v.raw if isinstance(v, Missing) else v for name, v in whole.items()},
            place=place,
            axes=varying,
        )
        by_id.setdefault(cell.point_id, (cell, missing))
    return list(by_id.values())


def _include(tool: str, product: list[Options], named: Sequence[str], entries: Sequence[Options]) -> list[Options]:
    """Add the include entries, one after the other. Cells that an entry made are not added to by later ones."""
    extended = [dict(cell) for cell in product]
    added: list[Options] = []
    for entry in entries:
        fits = [
            new
            for cell, new in zip(product, extended, strict=True)
            if all(
                key_of(tool, name, cell[name]) == key_of(tool, name, value)
                for name, value in entry.items()
                if name in named
            )
        ]
        for cell in fits:
            cell.update({name: value for name, value in entry.items() if name not in named})
        if not fits:
            added.append(dict(entry))
    return extended + added


def quantity_of(name: str, option: Option, raw: Any) -> Quantity | None:  # noqa: ANN401
    """Return the quantity in a value, or None for a literal value.

    An option for free text takes the text literally, except ranges (1..8) and products (4 x LLC), because nobody writes
    these as plain text. Raises QuantityError for an invalid quantity.
    """
    kind, percent_of = option.kind, PERCENT_OF.get(name, "")
    if not isinstance(raw, str) or kind not in ("int", "float", "seconds", "size", "text"):
        return None
    if kind == "seconds":
        with contextlib.suppress(QuantityError):
            return Quantity(text=raw, start=Term(factor=Fraction(seconds(raw))))
    try:
        quantity = parse(raw, percent_of)
    except QuantityError:
        is_share = percent_of and (raw == "all" or raw.endswith("%"))
        if kind != "text" or is_share or resembles(raw):
            raise
        return None
    if quantity.size and kind in ("float", "seconds"):
        raise QuantityError(
            f"{raw!r} is a size", "a time is written 90, 90s, 2 min, 1.5 h" if kind == "seconds" else ""
        )
    is_computed = quantity.computed or bool(percent_of and quantity.names)
    is_size = bool(quantity.names or quantity.end)
    return quantity if {"text": is_computed, "size": is_size}.get(kind, True) else None


def resolve(name: str, option: Option, raw: Any, numbers: Mapping[str, int]) -> tuple[Any, ...]:  # noqa: ANN401
    """Return the values of one written value: several for a range, otherwise one.

    A list is one value, a tuple, and one process sweeps it in the written order. Duplicates are measured again (MLC's
    delay 0 at the end). A range is one value too, if the option has an inner axis.

    Raises QuantityError for an invalid value, and Unresolved if this machine does not have the value.
    """
    if isinstance(raw, tuple):
        values = tuple(v for item in raw for v in _resolve_one(name, option, item, numbers))
        if len(values) > MAX_VALUES:
            raise QuantityError(f"{len(values)} values", f"a list that is one value has {MAX_VALUES} at most")
        return (values,)
    values = _resolve_one(name, option, raw, numbers)
    return (values,) if option.inner else values


def _resolve_one(name: str, option: Option, raw: Any, numbers: Mapping[str, int]) -> tuple[Any, ...]:  # noqa: ANN401
    quantity = quantity_of(name, option, raw)
    values: tuple[Any, ...] = (raw,) if quantity is None else quantity.resolve(numbers)
    if quantity is not None and quantity.size and option.kind == "text":
        # STREAM reads a bare number as elements and fio as bytes, so a size needs its suffix
        values = tuple(size_text(int(v)) for v in values)
    return tuple(_normal(option, value) for value in values)


def _normal(option: Option, value: Any) -> Any:  # noqa: ANN401
    """Return the canonical form of a value: 2, 2.0 and "2s" are 2, 4096 and "4k" are "4k".

    Cell identity, labels, exclude, include and duplicates use only this form. An invalid value does not change, so that
    Option.problem can report it.
    """
    match option.kind:
        case "flag" if value in (0, 1):
            return bool(value)
        case "seconds" | "float" if not isinstance(value, bool):
            is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _EXACT
            return int(value) if is_whole else value
        case "size":
            try:
                return size_value(size_bytes(str(value)))
            except ValueError:
                return value
        case "word" if not isinstance(value, bool):
            return str(value)
        case "text" if isinstance(value, str):
            return number_value(value)
    return value


def _values(name: str, option: Option, raw: Any, numbers: Mapping[str, int]) -> list[Any]:  # noqa: ANN401
    if isinstance(raw, Place):
        return [raw]
    try:
        return list(resolve(name, option, raw, numbers))
    except Unresolved as error:
        return [Missing(raw, f"{name}: {error}")]


def _wanted(tool: str, values: Any, name: str, raw: Any) -> set[str]:  # noqa: ANN401
    """Return the keys of the values in an exclude entry. A list matches any of its values."""
    items = raw if isinstance(raw, tuple) else (raw,)
    if name == "place":
        return set(items)
    return {key_of(tool, name, value) for item in items for value in values(name, item)}


def key_of(tool: str, name: str, value: Any) -> str:  # noqa: ANN401
    """Return the key of an axis value for `exclude` and `include`. 4096 and 4k have the same key if the tool reads both
    as the same size.
    """
    if isinstance(value, Place | Missing) or get_tool(tool).OPEN:
        return text_of(value)
    try:
        return canonical_json(dict(get_tool(tool).canonical({name: value})))
    except ValueError:  # a value that the tool cannot read; `problems` refuses it
        return text_of(value)


def text_of(value: Any) -> str:  # noqa: ANN401
    """Return the text of a value for comparisons, as in cell identity. A place is compared by name."""
    if isinstance(value, Place):
        return value.name
    return canonical_json(value.raw if isinstance(value, Missing) else value)


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({text_of(value): value for value in reversed(list(values))}.values())[::-1]


def _refused(cell: Cell, tool: Tool) -> str:
    """Return the reason why a tool refuses the cell's values, or "". `load` has already checked the file."""
    options = tool.options()
    for name, value in cell.options.items():
        for item in value if isinstance(value, tuple) else (value,):
            if problem := options.get(name, FREE).problem(item):
                return f"{name}: {problem}"
    problems = tool.problems(cell.options)
    return f"{problems[0][0]}: {problems[0][1]}" if problems else ""


# --- requires ---

_SIGNS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "=": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_SIGN: Final = f"({'|'.join(_SIGNS)})"


def condition(raw: Any, size: bool) -> tuple[str, int]:  # noqa: ANN401
    """Read `2`, `">= 2"` or `8G` as (comparison, number). Raises QuantityError."""
    text = str(raw).strip()
    match = re.match(_SIGN, text)
    quantity = parse(text.removeprefix(match[0] if match else ""))
    if quantity.end is not None or quantity.names:
        raise QuantityError(f"{raw!r} is not a number", "2 (at least two), or >= 2, == 2, < 2")
    if quantity.size and not size:
        raise QuantityError(f"{raw!r} is a size, but this counts")
    return match[0] if match else ">=", int(quantity.resolve({})[0])


def program_condition(raw: str) -> tuple[str, str, str]:
    """Read `fio`, or `fio >= 3.20`, as (tool, comparison or "", version or ""). Raises QuantityError."""
    version = r"[0-9]{1,9}(?:\.[0-9]{1,9}){0,9}"
    match = re.fullmatch(rf"\s*([a-z][\w-]*)\s*(?:{_SIGN}\s*({version}))?\s*", raw)
    if match is None:
        raise QuantityError(f"{raw!r} is not a tool with a version", "TOOL, or TOOL >= 3.20")
    return match[1], match[2] or "", match[3] or ""


def unmet(
    requires: Mapping[str, Any],
    numbers: Mapping[str, int],
    *,
    root: bool | None = None,
    versions: Mapping[str, str] | None = None,
) -> str:
    """Say which need of a sweep this machine does not meet, or ""."""
    pus_per_core = numbers.get("pus_per_core", 0)
    for name, raw in requires.items():
        if name == "program":
            problems = (_unmet_program(text, versions) for text in raw if versions is not None)
            if why := next(filter(None, problems), ""):
                return why
        elif name == "root":
            if raw and root is False:
                return "requires root"
        elif name == "smt":
            if raw is not (pus_per_core > 1):
                return f"requires SMT {'on' if raw else 'off'}: this machine has {pus_per_core} PUs per core"
        elif name not in numbers:
            return f"requires {name} {raw}: this machine does not report its {name}"
        else:
            sign, number = condition(raw, size=True)
            if not _SIGNS[sign](numbers[name], number):
                has = units.size_text(numbers[name]) if name in BYTES else numbers[name]
                return f"requires {name} {sign} {str(raw).lstrip('<>= ')}: this machine has {has}"
    return ""


def _unmet_program(text: str, versions: Mapping[str, str]) -> str:
    tool, sign, wanted = program_condition(text)
    if tool not in versions:
        return f"requires {text}: {tool} is not installed"
    if sign and not versions[tool]:
        return f"requires {text}: {tool} does not report its version"
    if sign and not _SIGNS[sign](_version(versions[tool]), _version(wanted)):
        return f"requires {text}: this host has {versions[tool]}"
    return ""


def _version(text: str) -> tuple[int, ...]:
    """Return the numbers of a version without trailing zeros: `3.33` and `fio-3.33.0` are (3, 33)."""
    numbers = [int(n) for n in re.findall(r"\d+", text)]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
