"""Write docs/cli.md, every command's help, and docs/shipped.md, the experiments that come along, out of the program itself.

python scripts/reference_doc.py          into docs/
python scripts/reference_doc.py FOLDER   into another folder
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from orchestrator.experiment.load import load_experiment
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
    """Return docs/cli.md: the help of each command, in the order of `pinsweep --help`."""
    parts = [CLI]
    for name, words in _helps(cli, "pinsweep"):
        parts.append(f"## {name}\n\n```text\n{words}\n```\n")
    return "\n".join(parts)


def _helps(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[tuple[str, str]]:  # fmt: skip
    context = command.make_context(name.split()[-1], [], parent, resilient_parsing=True, terminal_width=WIDTH)  # fmt: skip
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from _helps(found, f"{name} {inner}", context)


def shipped_page() -> str:
    """Return docs/shipped.md: what each experiment answers, needs and takes, from the head of its file."""
    parts = [SHIPPED]
    for path in sorted(EXPERIMENTS.glob("*.yaml")):
        title = load_experiment(path).title
        text = path.read_text("utf-8")
        rows = [f"| {key} | {_said(text, key)} |" for key in ("Answers", "Needs", "Takes")]
        parts.append(f"## {path.stem}\n\n{title} ([the file](../experiments/{path.name}))\n\n| | |\n|---|---|\n" + "\n".join(rows) + "\n")  # fmt: skip
    return "\n".join(parts)


def _said(text: str, key: str) -> str:
    """Return what stands behind `# Answers:` at the head of a file, over as many lines as are indented below it."""
    found = re.search(rf"^# {key}: +(.*(?:\n#  {{6,}}(?! {{4}}).*)*)", text, re.MULTILINE)
    assert found, f"no {key} in\n{text[:300]}"
    words = " ".join(line.lstrip("# ").strip() for line in found[1].splitlines())
    return words.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    for name, text in (("cli.md", cli_page()), ("shipped.md", shipped_page())):
        (folder / name).write_text(text, encoding="utf-8")
        print(f"wrote  {folder / name}", file=sys.stderr)
