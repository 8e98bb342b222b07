"""What no page is followed for: each command line, YAML and JSON in the documentation is one that pinsweep takes."""

from __future__ import annotations

import gzip
import json
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import jsonschema
import pandas as pd
import pytest
import yaml

from orchestrator.experiment.load import parse_experiment
from orchestrator.tools import tool_names
from pinsweep.cli import cli
from reports import schemas
from reports.fleet import limits
from tests.programs import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])
MADE = ("cli.md",)  # by the program itself, of what it prints
_FENCE = re.compile(
    r"^(?P<in> *)```(?P<language>\w*) ?(?P<name>\S*)\n(?P<text>.*?)^(?P=in)```$", re.MULTILINE | re.DOTALL
)
_SHELL = ("", "sh", "console", "text", "ini")
_TYPED = re.compile(r"(?:^|[$;&|(] *|exec |bin/)(pinsweep [a-z].*)$")
_INLINE = re.compile(r"`(pinsweep [a-z][^`]*)`")
BANNERS = ("pinsweep stream",)  # of our kernels: what they print, no command
SHIPPED = {path.stem for path in (ROOT / "experiments").glob("*.yaml")}


def typed(text: str) -> Iterator[str]:
    """Give the command lines of pinsweep on a page, in its blocks and in its sentences."""
    for block in _FENCE.finditer(text):
        if block["language"] in _SHELL:
            for line in re.sub(r"\\\n\s*", " ", block["text"]).splitlines():
                yield from _TYPED.findall(
                    line.strip().removesuffix("'") if block["language"] == "ini" else line.strip()
                )
    for span in _INLINE.findall(_FENCE.sub("", text)):
        if span not in BANNERS:
            yield re.sub(r"\s*\n\s*", " ", span)


def words(line: str) -> list[str]:
    """Split a command line as a shell does, up to what is no more of it: a comment, a pipe, three blanks before a remark."""
    lexer = shlex.shlex(re.split(r" {3,}", line)[0], posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, "#"
    found = []
    for word in lexer:
        if set(word) <= set("|;&<>()"):
            break
        found.append(word)
    return found


def refused(typed_words: list[str]) -> str | None:
    """Say why pinsweep would not take these words; None if it would. A name of an option may stand alone, as in a sentence."""
    command: click.Command = cli
    context = click.Context(cli)
    rest = typed_words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            return f"there is no command {rest[0]}"
        command, rest = found, rest[1:]
        context = click.Context(command, parent=context)
    options = [param for param in command.params if isinstance(param, click.Option)]
    if rest and rest[-1] in {name for option in options for name in option.opts}:
        rest = rest[:-1]
    try:
        given, _, _ = command.make_parser(context).parse_args(list(rest))
        for option in options:
            if option.name in given and isinstance(option.type, click.Choice) and given[option.name] != "…":
                option.type_cast_value(context, given[option.name])
    except click.UsageError as error:
        return error.format_message()
    if typed_words[1] in ("plan", "run"):
        named = given["experiments"]
        for name in named if isinstance(named, tuple) else ():  # click's mark for none
            if re.fullmatch(r"[a-z][a-z-]+", name) and name not in SHIPPED:
                return f"no experiment {name} comes with pinsweep"
    return None


@pytest.mark.parametrize("page", [p for p in PAGES if p.name not in MADE], ids=lambda p: str(p.relative_to(ROOT)))
def test_each_command_line_is_one_that_pinsweep_takes(page: Path) -> None:
    wrong = {line: why for line in typed(page.read_text("utf-8")) if (why := refused(words(line)))}

    assert wrong == {}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("pinsweep run quickstart -o q.db --only fio", None),
        ("pinsweep plan stream-membind --topology 'pack:2 numa:1'  # a remark", None),
        ("pinsweep export r.db | head", None),
        ("pinsweep parse -o", None),
        ("pinsweep rnu quickstart", "there is no command rnu"),
        ("pinsweep run quickstart --cell x=1", "No such option"),
        ("pinsweep show r.db --format yaml", "'yaml' is not one of"),
        ("pinsweep plan quikstart", "no experiment quikstart"),
    ],
)
def test_a_command_line_that_is_not_is_seen(line: str, why: str | None) -> None:
    found = refused(words(line))

    assert found is None if why is None else why in str(found)


# Parts of a file, with what stands before them there; and files that are no experiments, with the test that reads them.
PARTS = {
    ("matrix",): "schema: 1\ntool: stream\n",
    ("place",): "schema: 1\ntool: fio\nmatrix:\n",
    ("fixed",): "schema: 1\ntool: command\nmatrix: {size: [1]}\n",
}
ALERTS = (("groups",), ("apiVersion", "groups"))  # tests/reports/export/test_alerts.py


def test_each_experiment_and_each_part_of_one_is_loaded() -> None:
    for page in PAGES:
        for block in _FENCE.finditer(page.read_text("utf-8")):
            if block["language"] != "yaml" or block["name"] in ("broken", "disk.yaml"):
                continue
            keys = tuple(yaml.safe_load(block["text"]) or ())
            if not keys:
                continue
            if keys in ALERTS:
                continue
            if block["name"] == "tools.yaml":
                assert {*keys} <= {*tool_names(), "mpirun"}
                continue
            if keys == ("rules",):
                assert limits.parse(block["text"], page.name)
                continue
            before = PARTS.get(keys, "" if "schema" in keys else "schema: 1\n")
            assert parse_experiment(before + block["text"], page.name).sweeps


def test_the_error_that_is_shown_is_as_its_schema_says() -> None:
    (shown,) = re.findall(
        r"^```json\n(.*?)^```$", (ROOT / "docs/for-programs.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )

    jsonschema.Draft202012Validator(schemas.schema("error")).validate(json.loads(shown))


RESULT = ROOT / "tests/fixtures/result_files/schema-3.db.gz"


def test_a_result_file_is_read_as_its_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs/result-file.md").read_text("utf-8")
    query, program = (
        re.findall(rf"^```{of}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0] for of in ("sql", "python")
    )
    (tmp_path / "node07.db").write_bytes(gzip.decompress(RESULT.read_bytes()))
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect("node07.db")) as db:
        frame = pd.read_sql(query, db)
    exec(program)
    options = pd.json_normalize(frame["options"].map(json.loads))  # type: ignore[arg-type]

    assert sorted(zip(options["n"], frame["metric"], frame["unit"], frame["value"], strict=True)) == [
        (1, "reply", "ns", 1.5e6), (1, "reply", "ns", 1.5e6), (2, "reply", "ns", 2.5e6), (2, "reply", "ns", 2.5e6),
    ]  # fmt: skip
    assert capsys.readouterr().out == "value 3.5 ms\n\n"


def test_the_query_that_is_shown_is_one() -> None:
    page = (ROOT / "docs/disturbance.md").read_text("utf-8")
    (query,) = re.findall(r"^```sql\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with sqlite3.connect(":memory:") as db:
        db.deserialize(gzip.decompress(RESULT.read_bytes()))

        assert len(db.execute(query).fetchall()) == db.execute("SELECT count(*) FROM run").fetchone()[0]
