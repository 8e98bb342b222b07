"""The part of an experiment that depends on its tool: options, axes, include and exclude, places. Pure.

Values are checked as far as that is possible before a machine is known: what depends on one (1..cores) must be
readable and makes sense on `quantities.SAMPLE`; the rest is seen when it is expanded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from typing import Any, Final

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from orchestrator.experiment import expand, quantities
from orchestrator.experiment.expand import FREE
from orchestrator.experiment.quantities import QuantityError, Unresolved
from orchestrator.experiment.yaml_nodes import BAD, Entries, NodeReader, is_plain, seen, shown
from orchestrator.model import Mark, Place, Sweep
from orchestrator.placement.selectors import problems as place_problems
from orchestrator.tools import Option, Problem, Tool
from parsers.errors import UserError, nearest

PLACE_KEYS: Final = ("name", "cpus", "memory", "spread")
PLACE_EXAMPLE: Final = "{name: local, cpus: numa_node 0, memory: local}"

MOST_CHECKED: Final = 5_000
"""Cells of a sweep whose options are checked together when the file is loaded; the others are when it is expanded."""

MOST_LISTED: Final = 20
"""Names in a hint. Longer lists are not read."""

_BLANK_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s+([kmgtp]i?b?|b)\s*", re.IGNORECASE)
"""A size as people write it and no tool reads it."""

_ONCE: Final = "write each value once; `repeats` says how often a cell is measured"

Axes = Mapping[str, tuple[Any, ...]]


class OptionReader:
    """Reads one sweep's options; mistakes go to `reader`. `marks` remember where each stands.

    Keys are those of Sweep.marks: "matrix.iodepth", "include[1].bs". `inherited` are the fixed options that stand at
    the head of the file, not in the sweep.
    """

    def __init__(self, reader: NodeReader, name: str, tool: Tool, path: str, inherited: Set[str]) -> None:
        self.reader = reader
        self.name = name
        self.tool = tool
        self.options = tool.options()
        self.path = path
        self.inherited = inherited
        self.marks: dict[str, Mark] = {}

    def shown_key(self, key: str) -> str:
        """Return a key as messages say it: `sweeps.idle.fixed.l`."""
        part, _, name = key.partition(".")
        name = name.partition(".")[0]
        return key if not self.path or (part == "fixed" and name in self.inherited) else f"{self.path}.{key}"

    def wrong(self, key: str, what: str, hint: str = "", where: Node | None = None) -> None:
        self.reader.wrong(where or self.marks[key], self.shown_key(key), what, hint)

    def option(self, name: str) -> Option:
        return self.options.get(name, FREE)

    # -- the parts of a sweep --

    def fixed(self, entries: Entries) -> dict[str, Any]:
        """Return option → value as written, of those that are right."""
        return self._values(entries, "fixed")

    def axes(self, entries: Entries, part: str) -> dict[str, tuple[Any, ...]]:
        """Read `matrix` or `zip`: axis → its values as written, those that are right."""
        if part not in entries:
            return {}
        found: dict[str, tuple[Any, ...]] = {}
        named = self.reader.filled(entries[part][1], self.shown_key(part))
        meant = _meant(named)
        for name, (name_node, node) in named.items():
            key = f"{part}.{name}"
            if not self._known(name, name_node, node, key, meant):
                continue
            nodes = [node]
            if isinstance(node, SequenceNode):
                nodes = self.reader.items(node, self.shown_key(key), "values")
            elif name != "place" and is_plain(node) and "," in node.value:
                words = ", ".join(part.strip() for part in node.value.split(","))
                self.wrong(
                    key,
                    f"{shown(node.value)} is one value",
                    f'a list has brackets: [{words}]; if one value is meant: "{node.value}"',
                    node,
                )
                continue
            values = [self._value(name, item, key) for item in nodes]
            if part == "matrix" and name != "place":
                self._once(nodes, key)
            if name == "place":
                self._names_differ([v for v in values if v is not BAD], key)
            found[name] = tuple(v for v in values if v is not BAD)
        return found

    def _once(self, nodes: Sequence[Node], key: str) -> None:
        """Report a value that is written twice. Two ways to write one value, and ranges that overlap, are one cell (`expand`)."""
        before = set()
        for node in nodes:
            if isinstance(node, ScalarNode) and (node.value, node.style) in before:
                self.wrong(key, f"{node.value} is there twice", _ONCE, node)
            before.add((node.value, node.style) if isinstance(node, ScalarNode) else None)

    def walk_together(self, walks: Axes) -> None:
        """Check that the axes of `zip` have one length, the same on every machine, and that no two rows are the same."""
        lengths: dict[str, int] = {}
        for name, raws in walks.items():
            lengths[name] = 0
            for raw in raws:
                values = self._resolved(name, raw)
                if len(values) > 1 and self._depends(name, raw):
                    self.wrong(
                        f"zip.{name}", f"{raw} is longer on one machine than on another", "list the values"
                    )
                    return
                lengths[name] += len(values)
        if len(set(lengths.values())) > 1:
            said = ", ".join(f"{name} has {count}" for name, count in lengths.items())
            what = f"axes that walk together have one length; {said}"
            self.wrong(f"zip.{next(iter(lengths))}", what, "`matrix` makes every combination")
            return
        self._rows_differ(walks)

    def _rows_differ(self, walks: Axes) -> None:
        """Report rows of `zip` that are one cell on every machine."""
        axes = {
            name: [text for raw in raws for text in self._texts(name, raw)] for name, raws in walks.items()
        }
        before: dict[tuple[str, ...], int] = {}
        for number, row in enumerate(zip(*axes.values(), strict=True), 1):
            first = before.setdefault(row, number)
            if first != number:
                self.wrong(f"zip.{next(iter(axes))}", f"rows {first} and {number} are one cell", _ONCE)

    def _texts(self, name: str, raw: Any) -> list[str]:  # noqa: ANN401
        """Return what a written value is on every machine: what depends on one, as it is written."""
        if not isinstance(raw, Place) and self._depends(name, raw):
            return [str(raw)]
        return [expand.text_of(value) for value in self._resolved(name, raw)]

    def includes(self, entries: Entries, axes: Axes) -> tuple[dict[str, Any], ...]:
        places = axes.get("place", ())
        return tuple(self._values(entry, part, places) for part, entry in self._entries(entries, "include"))

    def excludes(self, entries: Entries, axes: Axes) -> tuple[dict[str, tuple[Any, ...]], ...]:
        """Return axis → the values any of which it takes away; places go by their names."""
        found = []
        for part, entry in self._entries(entries, "exclude"):
            values: dict[str, tuple[Any, ...]] = {}
            for name, (name_node, node) in entry.items():
                key = f"{part}.{name}"
                self.marks[key] = self.reader.mark(name_node)
                if name not in axes:
                    listed = f"axes: {', '.join(axes)}" if axes else "it has none"
                    self.wrong(key, "is not an axis of this sweep", nearest(name, axes) or listed)
                    continue
                several = isinstance(node, SequenceNode) and not self.option(name).inner
                nodes = self.reader.items(node, self.shown_key(key), "values") if several else [node]
                raws = [self._excluded(name, item, key, axes[name]) for item in nodes]
                values[name] = tuple(raw for raw in raws if raw is not BAD)
            found.append(values)
        return tuple(found)

    def _entries(self, entries: Entries, part: str) -> list[tuple[str, Entries]]:
        """Return ("include[1]", its options) for each entry of `include` or `exclude`."""
        if part not in entries:
            return []
        items = self.reader.items(entries[part][1], self.shown_key(part), "`{option: value}` entries")
        keys = [f"{part}[{number}]" for number in range(1, len(items) + 1)]
        return [(k, self.reader.filled(n, self.shown_key(k))) for k, n in zip(keys, items, strict=True)]

    def _values(self, entries: Entries, part: str, places: Sequence[Place] = ()) -> dict[str, Any]:
        """Read options that have one value each."""
        found: dict[str, Any] = {}
        meant = _meant(entries)
        for name, (name_node, node) in entries.items():
            key = f"{part}.{name}"
            if not self._known(name, name_node, node, key, meant):
                continue
            raw = self._value(name, node, key, places)
            if raw is BAD:
                continue
            found[name] = raw
            if (count := len(self._resolved(name, raw))) != 1:
                hint = "put it under `matrix`" if part == "fixed" else "write an entry for each"
                self.wrong(key, f"{raw} is {count} values where one belongs", hint, node)
        return found

    def _excluded(self, name: str, node: Node, key: str, axis: Sequence[Any]) -> Any:  # noqa: ANN401
        """Read one value of an exclude entry. It has to occur on its axis, as far as that is known without a machine."""
        raw = self.reader.text(node, self.shown_key(key)) if name == "place" else self._value(name, node, key)
        if raw is None or raw is BAD or not axis:
            return BAD
        if name == "place":
            there = {place.name: place.name for place in axis}
            wanted = {raw}
        elif any(self._depends(name, r) for r in (raw, *axis)):
            return raw
        else:
            there = {expand.key_of(self.name, name, v): str(v) for r in axis for v in self._resolved(name, r)}
            wanted = {expand.key_of(self.name, name, v) for v in self._resolved(name, raw)}
        if not there.keys() & wanted:
            listed = f"it has {', '.join(sorted(there.values())[:MOST_LISTED])}"
            near = "" if isinstance(raw, int | float) else nearest(str(raw), there.values())
            self.wrong(key, f"{shown(raw)} is nowhere on the axis", near or listed, node)
        return raw

    # -- one option --

    def _known(
        self, name: str, name_node: Node, node: Node, key: str, meant: Mapping[str, str | None]
    ) -> bool:
        """Note where an option stands; report one that the tool does not have. meant: as `_meant`."""
        self.marks[key] = self.reader.mark(name_node)
        if name == "place" or name in self.options:
            return True
        if self.tool.OPEN:
            if name.isidentifier():
                return True
            self.wrong(key, "is not a valid placeholder name", "letters, digits and _")
            return False
        value = node.value if isinstance(node, ScalarNode) else ""
        reasons = [what for option, what, *_ in self.tool.problems({name: value}) if option == name]
        if reasons:  # the tool knows it, and knows why not
            self.wrong(key, "is not for experiments to set", reasons[0])
        else:
            listed = f"it has {', '.join(self.options)}" if len(self.options) <= MOST_LISTED else ""
            near = nearest(name, ("place", *self.options))
            if near or meant.get(name, listed) is not None:
                self.wrong(key, f"{self.name} has no option {shown(name)}", near or meant.get(name) or listed)
        return False

    def _value(self, name: str, node: Node, key: str, places: Sequence[Place] = ()) -> Any:  # noqa: ANN401
        """Return one value of an option as it is to stand in a Sweep, or BAD."""
        if name == "place":
            return self._place(node, key, places)
        option = self.option(name)
        if option.kind == "mapping" and not isinstance(node, SequenceNode):
            raw = self.reader.plain(node, self.shown_key(key))
            self._mark_inside(node, key)
        elif isinstance(node, SequenceNode) and option.inner:
            items = [
                self.reader.scalar(n, self.shown_key(key))
                for n in self.reader.items(node, self.shown_key(key), "values")
            ]
            raw = tuple(items) if items and BAD not in items else BAD
        elif isinstance(node, SequenceNode):
            hint = (
                "put it under `matrix`, to vary it" if key.startswith("fixed.") else "write them one by one"
            )
            if option.kind == "mapping":
                hint = f"{name}: {option.help}"
            self.wrong(key, "a list where one value belongs", hint, node)
            return BAD
        else:
            raw = self.reader.scalar(node, self.shown_key(key), switch=option.kind == "flag")
        return raw if raw is not BAD and self._right(name, raw, node, key) else BAD

    def _mark_inside(self, node: Node, key: str) -> None:
        """Note where the keys inside a mapping stand: "fixed.metrics.rate.unit"."""
        for name, value in node.value if isinstance(node, MappingNode) else ():
            inside = f"{key}.{name.value}"
            self.marks[inside] = self.reader.mark(name)
            self._mark_inside(value, inside)

    def _right(self, name: str, raw: Any, node: Node, key: str) -> bool:  # noqa: ANN401
        """Check a value by itself."""
        option = self.option(name)
        if name in self.options and (blank := _BLANK_SIZE.fullmatch(str(raw))):
            self.wrong(key, f"{shown(raw)} has a blank in it", f"{blank[1]}{blank[2]}, without a blank", node)
            return False
        try:
            values = expand.resolve(name, option, raw, quantities.SAMPLE)
        except QuantityError as error:
            self.wrong(key, error.what, error.hint or f"{name}: {option.help}", node)
            return False
        except Unresolved as error:
            self.wrong(key, str(error), where=node)
            return False
        if self._depends(name, raw):
            return True
        for value in values:
            for item in value if isinstance(value, tuple) else (value,):
                if problem := option.problem(item):
                    self.wrong(key, problem, self._hint(name, option, item), node)
                    return False
        return True

    def _hint(self, name: str, option: Option, value: Any) -> str:  # noqa: ANN401
        if isinstance(value, bool):
            return f'if the word is meant: "{shown(value)}"'
        words = re.split(r"[\s/,;|]+", str(value))
        if len(words) > 1 and {*words} <= {*option.choices}:
            return f"a list has brackets: [{', '.join(words)}]"
        return nearest(str(value), option.choices) or f"{name}: {option.help}"

    def _resolved(self, name: str, raw: Any) -> tuple[Any, ...]:  # noqa: ANN401
        """Return the values on the sample machine, of what is right."""
        return (
            (raw,)
            if isinstance(raw, Place)
            else expand.resolve(name, self.option(name), raw, quantities.SAMPLE)
        )

    def _depends(self, name: str, raw: Any) -> bool:  # noqa: ANN401
        """Tell whether a value that is right is another one on another machine."""
        items = raw if isinstance(raw, tuple) else (raw,)
        found = (expand.quantity_of(name, self.option(name), item) for item in items)
        return any(quantity is not None and quantity.names for quantity in found)

    # -- places --

    def _place(self, node: Node, key: str, places: Sequence[Place]) -> Any:  # noqa: ANN401
        """Return a Place, or BAD: a mapping, the name of one of `places`, or a selector for the cpus alone."""
        if isinstance(node, ScalarNode):
            text = self.reader.text(node, self.shown_key(key))
            if text is None:
                return BAD
            named = next((place for place in places if place.name == text), None)
            parts = [part.strip() for part in text.split(",")]
            if len(parts) > 1 and not any(place_problems(Place(name=part, cpus=part)) for part in parts):
                self.wrong(
                    key,
                    f"{shown(text)} is several places",
                    f"a list has brackets: [{', '.join(parts)}]",
                    node,
                )
                return BAD
            return named or self._placeable(Place(name=text, cpus=text), {"": node}, key)
        if not isinstance(node, MappingNode):
            self.wrong(
                key,
                f"{seen(node)} where one place belongs",
                "several places are an axis: put them under `matrix`",
                node,
            )
            return BAD
        entries = self.reader.mapping(node, self.shown_key(key), PLACE_KEYS)
        texts = {
            field: self.reader.text(n, self.shown_key(f"{key}.{field}")) for field, (_, n) in entries.items()
        }
        if len(entries) < len(node.value) or None in texts.values():
            return BAD
        given = {field: " ".join(str(text).split()) for field, text in texts.items()}
        if not {"cpus", "memory"} & given.keys():
            self.wrong(key, "a place without `cpus` or `memory`", PLACE_EXAMPLE, node)
            return BAD
        parts = [
            given[field] if field == "cpus" else f"{field} {given[field]}"
            for field in PLACE_KEYS[1:]
            if field in given
        ]
        place = Place(**{"name": ", ".join(parts), **given})  # type: ignore[arg-type]
        return self._placeable(place, {field: n for field, (_, n) in entries.items()}, key)

    def _placeable(self, place: Place, nodes: Mapping[str, Node], key: str) -> Any:  # noqa: ANN401
        found = [(field, what) for field, what in place_problems(place) if field in nodes or "" in nodes]
        for field, what in found:
            where = nodes.get(field, nodes.get(""))
            hint = _COMMA if isinstance(where, ScalarNode) and _is_cut(where) else ""
            self.wrong(f"{key}.{field}" if field in nodes else key, what, hint, where)
        return BAD if found else place

    def _names_differ(self, places: Sequence[Place], key: str) -> None:
        names = [place.name for place in places]
        if twice := next((name for name in names if names.count(name) > 1), None):
            self.wrong(
                key, f"two places are named {shown(twice)}", "tables and charts tell places by their names"
            )

    # -- all options of a cell --

    def together(self, sweep: Sweep, node: Node) -> None:
        """Check what only the options together show, cell by cell; what depends on the machine is left out. Where a key is not known,
        nobody can say what cells are meant."""
        if self.reader.unknown_keys:
            return
        try:
            cells = expand.cells(sweep, quantities.SAMPLE)
        except UserError as error:
            part = "matrix" if sweep.matrix else "zip"
            self.reader.wrong(node, self.shown_key(part), error.cause, error.hint)
            return
        if not cells:
            self.reader.wrong(node, self.shown_key("exclude"), "takes away every cell of the sweep")
        depends = self._machine_dependent(sweep)
        complaints: dict[Problem, list[str]] = {}
        for cell, _ in cells[:MOST_CHECKED]:
            found: list[Problem] = [
                (name, "is missing: the tool needs it")
                for name, option in self.options.items()
                if option.required and name not in cell.options
            ]
            found = found or [
                pair
                for pair in self.tool.problems(cell.options)
                if expand.text_of(cell.options.get(pair[0])) not in depends.get(pair[0], ())
            ]
            for pair in found:
                complaints.setdefault(pair, []).append(cell.describe())
        for (name, what, *instead), seen_in in complaints.items():
            at = [k for k in self.marks if k.partition(".")[2] == name and not k.startswith("exclude")]
            key = next(iter(at), "")
            more = f" and {len(seen_in) - 1} more" if len(seen_in) > 1 else ""
            where = "" if len(seen_in) == len(cells) else f" (in the cell {seen_in[0]}{more})"
            known = f"{name}: {self.options[name].help}" if name in self.options else ""
            hint = (instead and instead[0]) or known
            if not key:
                beside = next((mark for k, mark in self.marks.items() if k.startswith("fixed.")), None)
                self.reader.wrong(beside or node, self.shown_key(f"fixed.{name}"), what + where, hint)
            else:
                self.wrong(key, what + where, hint)

    def _machine_dependent(self, sweep: Sweep) -> dict[str, set[str]]:
        """Return option → its values that are others on another machine, as they are on the sample machine."""
        pairs = [pair for part in (sweep.fixed, *sweep.include) for pair in part.items()]
        pairs += [
            (name, raw) for part in (sweep.matrix, sweep.zip) for name, raws in part.items() for raw in raws
        ]
        found: dict[str, set[str]] = {}
        for name, raw in pairs:
            if not isinstance(raw, Place) and self._depends(name, raw):
                found.setdefault(name, set()).update(map(expand.text_of, self._resolved(name, raw)))
        return found


_COMMA: Final = 'a text with a comma needs quotes here: "core 0,7"'


def _meant(entries: Entries) -> dict[str, str | None]:
    """Return name → what was meant with keys that have no value: `{iodepth: 1,4,8}` has 4 and 8 as such keys to YAML. Of several after one
    value the first has the hint, the others None: it tells of them, too."""
    found: dict[str, str | None] = {}
    base, before, torn = "", "", list[str]()
    for name, (_, node) in entries.items():
        if isinstance(node, ScalarNode) and not node.value and is_plain(node) and base:
            torn.append(name)
            together = ",".join([before, *torn])
            listed = f"a list has brackets: [{', '.join([before, *torn])}]"
            text = f'a text with a comma needs quotes here: {base}: "{together}"'
            found |= dict.fromkeys(torn[1:]) | {torn[0]: text if base == "place" else listed}
        else:
            base, before, torn = (name, node.value, []) if is_plain(node) else ("", "", [])
    return found


def _is_cut(node: ScalarNode) -> bool:
    """May it be a part of a text that a comma within brackets cuts in two: "pair of cores 0" and "1" of [pair of cores 0,1]?"""
    text = node.start_mark.buffer or ""  # the whole file: it is composed from a text
    before = text[: node.start_mark.pointer].rstrip(" ")
    after = text[node.end_mark.pointer :].lstrip(" ")
    follows = after[:1] == "," and after[1:].lstrip(" ")[:1].isdecimal()
    return is_plain(node) and (follows or (before[-1:] == "," and node.value.isdecimal()))
