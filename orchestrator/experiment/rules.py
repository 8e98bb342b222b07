"""Check the rules of a sweep that a schema cannot express: values that depend on other values, an axis, or the machine.

Pure.

A value that depends on the machine (`1..cores`) must be valid on `quantities.SAMPLE`. `expand` checks it on the real
machine.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from orchestrator.experiment import expand
from orchestrator.experiment.expand import FREE
from orchestrator.experiment.quantities import SAMPLE, QuantityError, Unresolved
from orchestrator.experiment.validate import MAX_LISTED
from orchestrator.experiment.yaml_nodes import Document, Path, shown
from orchestrator.model import Place, Sweep
from orchestrator.placement.selectors import problems as place_problems
from orchestrator.tools import Option, Problem, get_tool
from parsers.errors import UserError, nearest

MAX_CHECKED: Final = 5_000
"""Maximum number of cells per sweep whose options are checked together on load.

Other cells are checked on expansion.
"""

PLACE_KEYS: Final = ("name", "cpus", "memory", "spread")
AXES: Final = ("matrix", "zip")
_ONCE: Final = "write each value once; `repeats` says how often a cell is measured"


@dataclass(frozen=True, slots=True)
class Draft:
    """The options of a sweep as written in the file. Values have the right types.

    `path` is the position of the sweep. `paths` has the position of each option, such as "fixed.bs" and
    "include[1].bs".
    """

    document: Document
    tool: str
    path: Path
    paths: Mapping[str, Path]

    def option(self, name: str) -> Option:
        return get_tool(self.tool).options().get(name, FREE)

    def written(self, *parts: str) -> Iterator[tuple[Path, str, Any]]:
        """Yield (position, option, value as written) for each value in these parts.

        A list of several values gives one entry per value.
        """
        for key, path in self.paths.items():
            part, name, raw = re.split(r"\W", key)[0], str(path[-1]), self.document.value(path)
            if part not in parts:
                continue
            several = part in AXES or (part == "exclude" and not self.option(name).inner)
            if several and isinstance(raw, list):
                yield from (((*path, n), name, item) for n, item in enumerate(raw))
            else:
                yield path, name, raw

    def axes(self, *parts: str) -> dict[str, tuple[Any, ...]]:
        """Return axis → values, as in a Sweep."""
        axes: dict[str, list[Any]] = {}
        for _, name, raw in self.written(*parts):
            axes.setdefault(name, []).append(_freeze(name, raw))
        return {name: tuple(values) for name, values in axes.items()}

    def entries(self, part: str) -> tuple[dict[str, tuple[Any, ...]], ...]:
        """Return the entries of `include` or `exclude` as option → values, as in a Sweep."""
        entries: dict[str | int, dict[str, list[Any]]] = {}
        places = {place.name: place for place in self.axes(*AXES).get("place", ())}
        for path, name, raw in self.written(part):
            value = _freeze(name, raw)
            if name == "place":
                value = value.name if part == "exclude" else places.get(str(raw), value)
            entries.setdefault(path[len(self.path) + 1], {}).setdefault(name, []).append(value)
        return tuple({name: tuple(values) for name, values in entry.items()} for entry in entries.values())

    def places(self) -> dict[str, Path]:
        """Return where each option is, and each key inside one: "fixed.metrics.rate.unit"."""
        places = dict(self.paths)
        for key, path in self.paths.items():
            places |= _keys_inside(key, path, self.document.value(path))
        return places

    def wrong(self, key: str, what: str, hint: str = "") -> None:
        """Record a mistake at the key of an option."""
        path = self.paths[key]
        self.document.wrong(path, what, hint, self.document.keys[path])

    def sweep(self, **settings: Any) -> Sweep:  # noqa: ANN401
        """Return the sweep."""
        return Sweep(
            tool=self.tool,
            fixed={name: value for name, (value,) in self.axes("fixed").items()},
            matrix=self.axes("matrix"),
            zip=self.axes("zip"),
            include=tuple({name: value for name, (value,) in entry.items()} for entry in self.entries("include")),
            exclude=self.entries("exclude"),
            marks={key: self.document.keys[path] for key, path in self.places().items()},
            **settings,
        )


def _keys_inside(key: str, path: Path, value: Any) -> dict[str, Path]:  # noqa: ANN401
    """Return where each key inside a mapping is."""
    paths: dict[str, Path] = {}
    for name, inner in value.items() if isinstance(value, dict) else ():
        paths |= {f"{key}.{name}": (*path, name), **_keys_inside(f"{key}.{name}", (*path, name), inner)}
    return paths


def _freeze(name: str, raw: Any) -> Any:  # noqa: ANN401
    """Return a value as a Sweep stores it, with a Place for a place and tuples for lists."""
    if name == "place":
        return _place(raw)
    if isinstance(raw, dict):
        return {key: _freeze("", value) for key, value in raw.items()}
    return tuple(_freeze("", item) for item in raw) if isinstance(raw, list) else raw


def _place(raw: Any) -> Place:  # noqa: ANN401
    if not isinstance(raw, dict):
        return Place(name=str(raw).strip(), cpus=str(raw).strip())
    words = {key: " ".join(str(raw[key]).split()) for key in PLACE_KEYS if key in raw}
    parts = (words[key] if key == "cpus" else f"{key} {words[key]}" for key in PLACE_KEYS[1:] if key in words)
    return Place(**{"name": ", ".join(parts), **words})  # type: ignore[arg-type]


# --- rules of one sweep ---


def _values(draft: Draft) -> None:
    """Each value is right by itself."""
    for path, name, raw in draft.written("fixed", *AXES, "include", "exclude"):
        if name == "place":
            continue
        option, value = draft.option(name), _freeze(name, raw)
        try:
            values = expand.resolve(name, option, value, SAMPLE)
        except (QuantityError, Unresolved) as error:
            draft.document.wrong(path, str(error), getattr(error, "hint", "") or option.help)
            continue
        items = (item for value in values for item in (value if isinstance(value, tuple) else (value,)))
        problem = next(filter(None, map(option.problem, items)), None)
        if problem and not _depends(draft, name, value):
            draft.document.wrong(path, problem, option.help)
        elif len(values) != 1 and not {*AXES, "exclude"} & {*path}:
            draft.document.wrong(path, f"{raw} is {len(values)} values where one belongs", "put it under `matrix`")


def _places(draft: Draft) -> None:
    """Each place can be read, and no two places of an axis have one name."""
    named = {place.name for place in draft.axes(*AXES).get("place", ())}
    for path, name, raw in draft.written("fixed", *AXES, "include"):
        if name != "place" or ("include" in path and raw in named):
            continue
        parts = [part.strip() for part in raw.split(",")] if isinstance(raw, str) else []
        if len(parts) > 1 and not any(place_problems(_place(part)) for part in parts):
            draft.document.wrong(path, f"{raw!r} is several places", f"a list has brackets: [{', '.join(parts)}]")
        for field, what in place_problems(_place(raw)):
            draft.document.wrong((*path, field) if isinstance(raw, dict) and field in raw else path, what)
    for part in AXES:
        names = [place.name for place in draft.axes(part).get("place", ())]
        if len(names) > len({*names}):
            twice = next(name for n, name in enumerate(names) if name in names[:n])
            what = f"two places are named {shown(twice)}"
            draft.wrong(f"{part}.place", what, "tables and charts identify places by their names")


def _axes(draft: Draft) -> None:
    """Check that each option is in one place and that each axis has no duplicate value."""
    for name in draft.axes("matrix").keys() & draft.axes("zip").keys():
        draft.wrong(f"zip.{name}", "is an axis of the matrix, too", "an option varies in one place")
    for part in AXES:
        for name in draft.axes(part).keys() & draft.axes("fixed").keys():
            draft.wrong(f"{part}.{name}", "is also in `fixed`", "an option is fixed or an axis, not both")
    before = set()
    for path, name, raw in draft.written("matrix"):
        text = draft.document.plain(path)
        if isinstance(path[-1], str) and "," in text and name != "place":
            words = ", ".join(word.strip() for word in text.split(","))
            hint = f'a list has brackets: [{words}]; if one value is meant: "{text}"'
            draft.document.wrong(path, f"{shown(raw)} is one value", hint)
        if (key := (name, text, repr(raw))) in before and name != "place":
            draft.document.wrong(path, f"{shown(raw)} is duplicated", _ONCE)
        before.add(key)


def _zip(draft: Draft) -> None:
    """The axes of `zip` have one length, the same on every machine, and no two rows are the same cell."""
    texts: dict[str, list[str]] = {}
    for name, raws in draft.axes("zip").items():
        texts[name] = []
        for raw in raws:
            values = _resolve(draft, name, raw)
            depends = _depends(draft, name, raw)
            if len(values) > 1 and depends:
                return draft.wrong(f"zip.{name}", f"{raw} has another length on another machine", "list the values")
            texts[name] += [str(raw)] if depends else map(expand.text_of, values)
    lengths = {name: len(values) for name, values in texts.items()}
    if len({*lengths.values()}) > 1:
        listed = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        what = f"axes of `zip` have one length; {listed}"
        return draft.wrong(f"zip.{next(iter(lengths))}", what, "`matrix` makes every combination")
    before: dict[tuple[str, ...], int] = {}
    for number, row in enumerate(zip(*texts.values(), strict=True), 1):
        if (first := before.setdefault(row, number)) != number:
            return draft.wrong(f"zip.{next(iter(texts))}", f"rows {first} and {number} are one cell", _ONCE)
    return None


def _exclude(draft: Draft) -> None:
    """Check that excluded values are on their axis, if this is known without a machine."""
    axes = draft.axes(*AXES)
    excluded = {name for _, name, _ in draft.written("exclude")}
    listed = {name: _keys(draft, name, values) for name, values in axes.items() if name in excluded}
    for path, name, raw in draft.written("exclude"):
        if name not in axes:
            at = path if isinstance(path[-1], str) else path[:-1]
            hint = nearest(name, axes) or (f"axes: {', '.join(axes)}" if axes else "it has none")
            draft.document.wrong(at, "is not an axis of this sweep", hint, draft.document.keys[at])
            continue
        axis, wanted = listed[name], _keys(draft, name, [raw if name == "place" else _freeze(name, raw)])
        if axis is not None and wanted is not None and not axis.keys() & wanted.keys():
            near = nearest(raw, axis.values()) if isinstance(raw, str) else ""
            hint = near or f"it has {', '.join([*axis.values()][:MAX_LISTED])}"
            draft.document.wrong(path, f"{shown(raw)} is nowhere on the axis", hint)


def _keys(draft: Draft, name: str, values: Sequence[Any]) -> dict[str, str] | None:
    """Return the keys of each axis value → its text, or None for a value that depends on the machine."""
    if name == "place":
        return {key: key for key in (value.name if isinstance(value, Place) else str(value) for value in values)}
    if any(_depends(draft, name, value) for value in values):
        return None
    resolved = (item for value in values for item in _resolve(draft, name, value))
    return {expand.key_of(draft.tool, name, item): str(item) for item in resolved}


def _resolve(draft: Draft, name: str, raw: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return (raw,) if isinstance(raw, Place) else expand.resolve(name, draft.option(name), raw, SAMPLE)


def _depends(draft: Draft, name: str, raw: Any) -> bool:  # noqa: ANN401
    """Return whether a value differs between machines."""
    items = raw if isinstance(raw, tuple) else (raw,)
    quantities = (expand.quantity_of(name, draft.option(name), item) for item in items)
    return any(quantity is not None and quantity.names for quantity in quantities)


PHASES: Final[tuple[tuple[Callable[[Draft], None], ...], ...]] = ((_values, _places, _axes), (_zip, _exclude))
"""The rules by phase. A phase needs valid results of the earlier phase."""


# --- the cells of one sweep ---


def check_cells(draft: Draft, sweep: Sweep) -> None:
    """Check what only the options together show, cell by cell; what depends on the machine is left out."""
    document = draft.document
    try:
        cells = expand.cells(sweep, SAMPLE)
    except UserError as error:
        return document.wrong((*draft.path, "matrix"), error.cause, error.hint)
    if not cells:
        return document.wrong((*draft.path, "exclude"), "removes every cell of the sweep")
    options, module = get_tool(draft.tool).options(), get_tool(draft.tool)
    depends: dict[str, set[str]] = {}
    for _, name, raw in draft.written("fixed", *AXES, "include"):
        value = _freeze(name, raw)
        if name != "place" and _depends(draft, name, value):
            depends.setdefault(name, set()).update(map(expand.text_of, _resolve(draft, name, value)))
    complaints: dict[Problem, list[str]] = {}
    required = [name for name, option in options.items() if option.required]
    for cell, _ in cells[:MAX_CHECKED]:
        absent: list[Problem] = [(n, "is missing: the tool needs it") for n in required if n not in cell.options]
        for problem in absent or module.problems(cell.options):
            if expand.text_of(cell.options.get(problem[0])) not in depends.get(problem[0], ()):
                complaints.setdefault(problem, []).append(cell.describe())
    places = {key.partition(".")[2]: path for key, path in draft.places().items() if not key.startswith("exclude")}
    fixed = (*draft.path, "fixed")
    for (name, what, *hints), labels in complaints.items():
        more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
        where = "" if len(labels) == len(cells) else f" (in the cell {labels[0]}{more})"
        hint = next(filter(None, hints), options[name].help if name in options else "")
        path = places.get(name, (*fixed, *name.split(".")))
        near = document.marks.get(fixed, document.marks[draft.path])
        document.wrong(path, what + where, hint, document.keys.get(path, near))
    return None
