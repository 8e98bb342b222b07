"""Read YAML text as an Experiment, or report all mistakes at once.

Pure, except `load_experiment`, which reads the file.

`yaml_nodes` reads the text. `validate` checks the JSON Schema of `schema`, and `rules` checks the remaining rules.
docs/experiments.md describes the language.
"""

from __future__ import annotations

import functools
import os
import pathlib
import re
from collections.abc import Mapping
from typing import Any, Final

from orchestrator.experiment import quantities, repeats, rules, schema, shipped
from orchestrator.experiment.rules import Draft
from orchestrator.experiment.validate import validate
from orchestrator.experiment.yaml_nodes import SWITCHES, Document, ExperimentError, Mistake, Path, read, shown
from orchestrator.machine import safe_files
from orchestrator.model import Experiment, Mark
from orchestrator.tools import get_tool, tool_names
from parsers.errors import UserError, called
from parsers.units import size_text

__all__ = ["ExperimentError", "Mistake", "load_experiment", "parse_experiment"]

MAX_BYTES: Final = 1 << 20


def load_experiment(path: pathlib.Path | str) -> Experiment:
    """Return the experiment of a file, or a shipped experiment by its bare name.

    Raises ExperimentError with all mistakes, and UserError if the file cannot be read.
    """
    try:
        str(path).encode()  # results and their cells have the file's name
    except UnicodeEncodeError as error:
        name = os.fsencode(path).decode("utf-8", "replace")
        raise UserError(name, "the file's name is not UTF-8", "rename the file, e.g. in ASCII") from error
    path = shipped.resolved(path)
    try:
        with safe_files.open_file(pathlib.Path(path), links=True) as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise UserError(str(path), why, "" if pathlib.Path(path).is_fifo() else shipped.hint(path)) from error
    if data.startswith(b"SQLite format 3\0"):
        hint = "`pinsweep show` and `report` read it; to continue its sweep, name the experiment, and this with -o"
        raise UserError(str(path), "is a result file, not an experiment", hint)
    if len(data) > MAX_BYTES:
        raise UserError(str(path), f"larger than {size_text(MAX_BYTES)}", "name an experiment")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        mark = Mark(path=str(path), line=before.count(b"\n") + 1, column=len(before) - before.rfind(b"\n"))
        what = f"not UTF-8: byte 0x{data[error.start]:02x}"
        raise ExperimentError([Mistake(mark, "", what, "save it as UTF-8")]) from error
    return parse_experiment(text, str(path))


def parse_experiment(text: str, path: str) -> Experiment:
    """Return the experiment in `text`. Messages show `path`. Raises ExperimentError."""
    document = read(text, path)
    data = document.data if isinstance(document.data, dict) else {}
    version = data.get("schema")
    if isinstance(version, int | float) and version > schema.VERSION:
        what = f"{version} is newer than {schema.VERSION}, which this pinsweep reads"
        raise ExperimentError([Mistake(document.marks["schema",], "schema", what, "update pinsweep")])
    sweeps = data.get("sweeps")
    bodies: dict[Path, dict[str, Any]] = {(): data}
    if isinstance(sweeps, list):
        bodies = {("sweeps", n): body for n, body in enumerate(sweeps) if isinstance(body, dict)}
    for body in (data, *bodies.values()):
        if isinstance(body.get("tool"), str):
            body["tool"] = called(body["tool"], tool_names())
    tools = {where: str(body.get("tool", data.get("tool"))) for where, body in bodies.items()}
    language = schema.json_schema({*tools.values(), str(data.get("tool"))} & {*tool_names()})
    document.check_switches(functools.partial(_is_switch, tools=tools))
    validate(document, language, schema.FORMATS, describe=functools.partial(_describe, tools=tools))
    document.prune()
    drafts = {
        where: _draft(document, language, where, tool)
        for where, tool in tools.items()
        if tool in tool_names() and document.value(where) is not None
    }
    names = [body.get("name") for body in bodies.values()]
    for n, name in enumerate(names):
        if name in names[:n]:
            document.wrong(("sweeps", n, "name"), f"{shown(name)} is duplicated")
    for phase in rules.PHASES:
        for draft in drafts.values():
            for rule in phase:
                rule(draft)
        document.check()
    name = Experiment(title="", path=path, text="", sweeps=()).name
    title = str(data.get("title", name)).strip()
    finished = []
    for where, draft in drafts.items():
        body = bodies[where]
        label = body.get("name", name)
        finished.append(draft.sweep(name=label, title=str(body.get("title", label)).strip(), **_settings(data, body)))
        rules.check_cells(draft, finished[-1])
    document.check()
    return Experiment(title=title, path=path, text=text, sweeps=tuple(finished), about=about(text))


def _tool_at(path: Path, tools: Mapping[Path, str]) -> str:
    """Return the tool of the sweep at a path, or ""."""
    tool = tools.get(path[:2], tools.get((), ""))
    return tool if tool in tool_names() else ""


def _is_switch(path: Path, tools: Mapping[Path, str]) -> bool:
    name = next((part for part in reversed(path) if isinstance(part, str)), "")
    tool = _tool_at(path, tools)
    option = get_tool(tool).options().get(name) if tool else None
    return name in ("smt", "root") or (option is not None and option.kind == "flag")


def _describe(path: Path, keyword: str, value: object, tools: Mapping[Path, str]) -> str:
    """Return a hint for an option in the wrong place, a reserved one, a list, or a text that a comma cuts; else ""."""
    if keyword == "type" and isinstance(value, list) and "fixed" in path[:-1]:
        return "several values belong to `matrix`"
    if keyword == "type" and isinstance(value, int) and path[-2:-1] == ("place",):
        return 'a text with a comma needs quotes here: "core 0,7"'
    tool = _tool_at(path, tools)
    if keyword != "additionalProperties" or not tool:
        return ""
    name = str(path[-1])
    if name == "place" or name in get_tool(tool).options():
        return "options belong to `fixed`, or to `matrix` if they vary"
    return next((what for option, what, *_ in get_tool(tool).problems({name: ""}) if option == name), "")


def _draft(document: Document, language: schema.Schema, where: Path, tool: str) -> Draft:
    """Return the options of a sweep. Options of the file head apply unless the sweep sets or varies them."""
    head, body = document.data.get("fixed", {}), document.value(where)
    paths: dict[str, Path] = {}
    for part in ("fixed", "matrix", "zip"):
        paths |= {f"{part}.{name}": (*where, part, name) for name in body.get(part, {})}
    for part in ("include", "exclude"):
        for n, entry in enumerate(body.get(part, [])):
            paths |= {f"{part}[{n + 1}].{name}": (*where, part, n, name) for name in entry}
    local = {key.partition(".")[2] for key in paths if key.startswith(("fixed.", "matrix.", "zip."))}
    inherited = [name for name in head if name not in local]
    if where and tool != document.data.get("tool"):  # the head's tool has its options checked already
        wanted = {"$ref": f"#/$defs/{tool}", "$defs": language["$defs"]}
        validate(document, wanted, schema.FORMATS, data={name: head[name] for name in inherited}, path=("fixed",))
    inherited = [name for name in inherited if not document.is_wrong(("fixed", name))]
    return Draft(document, tool, where, {f"fixed.{name}": ("fixed", name) for name in inherited} | paths)


def _settings(head: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a sweep. Settings of the file head are the defaults."""
    merged = {**head, **body}
    settings: dict[str, Any] = repeats.settings(merged["repeats"]) if "repeats" in merged else {}
    settings |= {"order": merged["order"]} if "order" in merged else {}
    settings |= {"timeout_s": quantities.seconds(merged["timeout"])} if "timeout" in merged else {}
    settings["requires"] = {**head.get("requires", {}), **body.get("requires", {})}
    for name, value in settings["requires"].items():
        if name == "program":
            settings["requires"][name] = tuple(value) if isinstance(value, list) else (value,)
        elif isinstance(value, str):
            settings["requires"][name] = SWITCHES.get(value, value)
    return settings


def about(text: str) -> str:
    """Return the comment block at the head of a file, without comment marks and editor modelines."""
    lines = []
    for line in text.lstrip("\ufeff").splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if not re.match(r"#!|#\s*(yaml-language-server:|vim?:|-\*-)", line):
            lines.append(re.sub(r"^# ?", "", line).rstrip())
    return "\n".join(lines).strip()
