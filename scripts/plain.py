"""Measure how plain the English of docs, help, messages, docstrings and pages is, and fail above a limit.

python scripts/plain.py [PAGE.html]      one line per place; exit status 1 if a place is over its limit
python scripts/plain.py --list FILE…     the sentences of these files that break a rule of scripts/plain.toml
python scripts/plain.py --count FILE…    words of captured output, after its last progress line, of a page
"""

from __future__ import annotations

import ast
import html
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from pinsweep.cli import cli

ROOT = Path(__file__).resolve().parents[1]
CONFIG = tomllib.loads((ROOT / "scripts/plain.toml").read_text("utf-8"))
PATTERNS = {name: re.compile(rule["pattern"], re.IGNORECASE) for name, rule in CONFIG["rules"].items()}

_FENCE = re.compile(r"^(`{3,}).*?^\1$|<!-- plain: off -->.*?<!-- plain: on -->", re.DOTALL | re.MULTILINE)
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|^[|#<!].*$|^ {4,}.*$", re.MULTILINE)
_HIDDEN = re.compile(r"<(script|style|svg|head|pre|code|table|dl|button)\b.*?</\1>", re.DOTALL)
_BREAK = re.compile(r"</?(?:p|div|li|h\d|summary|figcaption|section|details)\b[^>]*>")


def markdown(text: str) -> Iterator[str]:
    """Yield the paragraphs and list items of a page, without code, tables, headings and quoted examples."""
    for block in _BLOCK.split(re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", _FENCE.sub("", text))):
        yield re.sub(r"^\s*(?:[-*]|\d+\.|>) ", "", block)


def visible(page: str) -> list[str]:
    """Return the texts of an HTML page, without scripts, drawings, tables and code."""
    return html.unescape(re.sub(r"<[^>]+>", "", _BREAK.sub("\n", _HIDDEN.sub(" ", page)))).splitlines()


def helps(command: click.Command) -> Iterator[str]:
    """Yield the help of a command, of its options and of its subcommands."""
    yield from re.split(r"\n\s*\n", (command.help or "").replace("\b", ""))
    yield from (param.help or "" for param in command.params if isinstance(param, click.Option))
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from helps(command.get_command(context, name) or click.Command(name))


def python(text: str, kind: str) -> Iterator[str]:
    """Yield the one-line strings of a module (kind "messages"), or the docstrings of public names."""
    tree = ast.parse(text)
    named = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    owners = {node: doc for node in ast.walk(tree) if isinstance(node, named) and (doc := ast.get_docstring(node))}
    if kind != "messages":
        public = (doc for node, doc in owners.items() if not getattr(node, "name", "").startswith("_"))
        yield from (part for doc in public for part in markdown(doc))
        return
    skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield "" if "\n" in node.value else node.value


def sentences(parts: Iterable[str]) -> list[str]:
    """Return the sentences of three words or more. Code in backquotes counts as one word."""
    texts = (re.sub(r"``?[^`]*``?", "CODE", " ".join(part.split())).replace("**", "") for part in parts)
    split = (s for text in texts for s in re.split(r"(?<=[.!?])[\"”)]*\s+(?=[“\"(\[]?[A-Z0-9*⚠])", text))
    return [s for s in split if re.search(r"[a-z] [a-z]+ ", s) and len(re.findall(r"[A-Za-z]+", s)) > 2]


def read(path: Path, kind: str = "") -> list[str]:
    """Return the sentences of a file: Python, HTML or Markdown."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        return sentences(python(text, kind))
    return sentences(visible(text) if path.suffix == ".html" else markdown(text))


def places(page: Path | None = None) -> dict[str, list[str]]:
    """Return the sentences of each place of this checkout, and those of a page."""
    lines = {"help": sentences(helps(cli))} | ({"page": read(page)} if page else {})
    for place, globs in CONFIG["places"].items():
        paths = (path for glob in globs for path in sorted(ROOT.glob(glob)))
        lines[place] = [line for path in paths for line in read(path, place.split()[0])]
    return lines


def measure(lines: list[str]) -> dict[str, float]:
    """Return the count of each rule, in its own unit, and the "index"."""
    words = max(1, sum(len(re.findall(r"[A-Za-z][\w'’-]*", line)) for line in lines))
    row, index = {}, 0.0
    for name, rule in CONFIG["rules"].items():
        hits = sum(len(PATTERNS[name].findall(line)) for line in lines)
        row[name] = rule["per"] * hits / words if rule["per"] else 100 * hits / max(1, len(lines))
        index += max(0.0, row[name] - rule["level"]) * rule["weight"]
    return {**row, "index": index}


def failures(measured: dict[str, dict[str, float]]) -> list[str]:
    """Return a line for each place above its limit, and above the value of the ratchet."""
    ratchet, limits = CONFIG["ratchet"], CONFIG["limits"]
    allowed = {place: max(ratchet.get(place, 0), limits.get(place, CONFIG["limit"])) for place in measured}
    over = {place: row["index"] for place, row in measured.items() if row["index"] > allowed[place]}
    return [f"{place}: {index:.1f} > {allowed[place]}" for place, index in over.items()]


def count(path: Path) -> str:
    """Return how many words a captured output or a page has. For a page, playwright must have a browser."""
    text = path.read_text("utf-8")
    if path.suffix != ".html":
        end = re.split(r"^\[.*\n(?!\[)", text, flags=re.MULTILINE)[-1]
        return f"{path}: {len(text.split())} words, {len(end.split())} after the last progress line"
    from playwright.sync_api import sync_playwright

    shell = Path("/usr/bin/chromium-headless-shell")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shell if shell.exists() else None)
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(path.resolve().as_uri())
        keep = "document.querySelectorAll('body *').forEach(e => {} || e.remove())".format
        tab.evaluate(keep("e.checkVisibility()"))
        whole = tab.evaluate("document.body.innerText")
        tab.evaluate(keep("e.getBoundingClientRect().top < 900"))
        first = tab.evaluate("document.body.innerText")
    return f"{path}: {len(whole.split())} words without folds, {len(first.split())} on the first screen"


def main(flag: str, files: list[Path]) -> int:
    if flag == "--count":
        print(*map(count, files), sep="\n")
    elif flag == "--list":
        for line in (line for path in files for line in read(path)):
            names = [name for name in PATTERNS if name != "pronouns" and PATTERNS[name].search(line)]
            if names:
                print(f"{', '.join(names)}: {line}")
    else:
        measured = {place: measure(lines) for place, lines in places(*files).items()}
        for place, row in measured.items():
            print(f"{place:<30}" + "".join(f"{name:>9} {value:4.1f}" for name, value in row.items()))
        print(*failures(measured), sep="\n")
        return bool(failures(measured))
    return 0


if __name__ == "__main__":
    is_flag = len(sys.argv) > 1 and sys.argv[1].startswith("--")
    sys.exit(main(sys.argv[1] if is_flag else "", [Path(word) for word in sys.argv[1 + is_flag :]]))
