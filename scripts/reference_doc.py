"""Write docs/cli.md, every command's help, and docs/shipped.md, the experiments that come along, out of the program itself.

python scripts/reference_doc.py          into docs/
python scripts/reference_doc.py FOLDER   into another folder
"""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pinsweep.cli import cli

DOCS = Path(__file__).resolve().parents[1] / "docs"
EXPERIMENTS = DOCS.parent / "experiments"
WIDTH = 100

CLI = """\
# The command line

`python scripts/reference_doc.py` makes this page from `--help`. Answers go to standard output, and messages go to standard error.
[For programs](for-programs.md) describes JSON, schemas, errors and events.

| exit status | meaning |
|---|---|
| 0 | success |
| 1 | a failure, or a finding (`audit`, `--fail-on`) |
| 2 | a mistake in the command, an experiment or a file; nothing was started |
| 3 | `--whole-node` on a part of the machine |
| 130 | stopped by Ctrl-C |
"""

SHIPPED = """\
# The experiments that come with pinsweep

`python scripts/reference_doc.py` makes this page from [experiments/](../experiments/quickstart.yaml). Run an experiment by name from any folder
(`pinsweep run quickstart`), or [shorten it](how-to/measure-a-part.md). *Takes* is for two packages of eight cores with caches of 32 MB.
`pinsweep plan NAME` shows the duration on your machine.
"""


def cli_page() -> str:
    """Return docs/cli.md: usage, help and options of each command, in the order of `pinsweep --help`."""
    return CLI + "".join(f"\n## {name}\n\n{text}" for name, text in _helps(cli, "pinsweep"))


def _helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:
    context = command.make_context(name.split()[-1], [], parent, resilient_parsing=True, terminal_width=WIDTH)
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    parts = [f"`{name} {' '.join(command.collect_usage_pieces(context))}`"]
    parts += [f"```\n{part[2:]}\n```" if part[0] == "\b" else " ".join(part.split()) for part in paragraphs]
    options = [param for param in command.params if isinstance(param, click.Option)]
    shared = [option for option in options if name != "pinsweep run" and option.help in _run_helps()]
    records = [option.get_help_record(context) for option in options if option not in shared]
    rows = [f"| `{_cell(record[0])}` | {_cell(record[1])} |" for record in records if record]
    rows += [f"| {', '.join(f'`{option.opts[0]}`' for option in shared)} | as in `pinsweep run` |"] if shared else []
    parts += ["\n".join(["| option | effect |", "|---|---|", *rows])] if rows else []
    yield (
        name,
        "\n\n".join([*parts, f"{command.epilog}\n".replace("Example: ", "Example: `").replace("\n", "`\n")]),
    )
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            subcommand = command.get_command(context, inner)
            if subcommand is not None and not subcommand.hidden:
                yield from _helps(subcommand, f"{name} {inner}", context)


@functools.cache
def _run_helps() -> frozenset[str]:
    run = cli.get_command(click.Context(cli), "run")
    assert run
    return frozenset(option.help or "" for option in run.params if isinstance(option, click.Option))


def shipped_page() -> str:
    """Return docs/shipped.md: what each experiment answers, needs and takes, from the head of its file."""
    rows = []
    for path in sorted(EXPERIMENTS.glob("*.yaml")):
        text = path.read_text("utf-8")
        head = " | ".join(_entry(text, key) for key in ("Answers", "Needs", "Takes"))
        rows.append(f"| [{path.stem}](../experiments/{path.name}) | {head} |\n")
    return SHIPPED + "\n| name | answers | needs | takes |\n|---|---|---|---|\n" + "".join(rows)


def _entry(text: str, key: str) -> str:
    """Return the text after `# Answers:` at the head of a file, with the lines that are indented below it."""
    match = re.search(rf"^# {key}: +(.*(?:\n#  {{6,}}(?! {{4}}).*)*)", text, re.MULTILINE)
    assert match, f"no {key} in\n{text[:300]}"
    return _cell(" ".join(line.lstrip("# ").strip() for line in match[1].splitlines()))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    for name, text in (("cli.md", cli_page()), ("shipped.md", shipped_page())):
        (folder / name).write_text(text, encoding="utf-8")
        print(f"wrote  {folder / name}", file=sys.stderr)
