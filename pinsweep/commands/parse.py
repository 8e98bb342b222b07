"""`pinsweep parse`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinsweep import __version__, progress
from pinsweep.commands import _options
from pinsweep.terminal import data, say

if TYPE_CHECKING:
    from orchestrator.capture.intake import Captured, IntakeOptions, Left


@click.command(
    short_help="Import captured output.",
    epilog='Example: pinsweep parse logs/ -o old.db --axis "node=(n[0-9]+)"; '
    'pinsweep parse table stream.txt --tool stream --columns "threads, local:bandwidth[MB/s]" -o old.db',
)
@click.argument("words", metavar="[TOOL] FILE...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=_options.OUTPUT,
    metavar="RESULT",
    help="Store the output in this result file, as runs.",
)
@click.option(
    "--axis", "axes", multiple=True, metavar="NAME=REGEX",
    help="Take an axis from the file names: the group is the value. Special names: place, repeat.",
)  # fmt: skip
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an option of all cells that the text lacks.",
)
@click.option(
    "--columns", multiple=True,
    help="Name the columns of a plain table (docs/parsing.md). Repeat for each form of table.",
)  # fmt: skip
@click.option("--tool", help="With --columns: name the tool of the numbers.")
@click.option(
    "--command",
    "typed",
    default="",
    metavar="TEXT",
    help="Give the command line that printed the output.",
)
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", help="[default: table]")
def command(
    words: tuple[str, ...],
    output: Path | None,
    axes: tuple[str, ...],
    settings: tuple[str, ...],
    columns: tuple[str, ...],
    tool: str | None,
    typed: str,
    form: str,
) -> int:
    """Import captured output from files, folders, globs, archives, or - for standard input.

    pinsweep recognises TOOL. Without -o, the numbers are printed. With -o, they are stored, and report, show,
    export and audit work as for runs.
    """
    from orchestrator.capture.intake import intake_options
    from parsers import parser_names
    from parsers.errors import called

    known = (*parser_names(), "hwloc")
    first, *others = called(words[0], known), *words[1:]
    named, files = (first, tuple(others)) if first in known and others else (None, words)
    tool = called(tool, known) if tool else None
    whole = bool(columns and named is None and tool)
    if columns and named != "table" and not whole:
        raise click.UsageError("use --tool with --columns: pinsweep parse FILE --tool TOOL --columns …")
    if named == "table" and not columns:
        raise click.UsageError('a table needs its columns: --tool stream --columns "threads, bandwidth[MB/s]"')
    if tool and named not in (None, "table"):
        raise click.UsageError(f"{named} and --tool {tool}: name the tool once")
    if output is None and axes:
        raise click.UsageError("--axis makes cells of a result file: name it with -o")
    asked = intake_options(tool if named == "table" else tool or named, axes, settings, columns, typed, whole)
    if output is None:
        return _print(files, asked, form)
    _options.refuse_other_kind(output)
    return _keep(files, asked, output, form)


def _print(files: tuple[str, ...], asked: IntakeOptions, form: str) -> int:
    from orchestrator.capture.intake import Left, read, shown
    from reports.export.parsed import parsed_text

    texts: list[Captured] = []
    left: list[Left] = []
    for item in progress.texts(read(files, asked)):
        if isinstance(item, Left):
            left.append(item)
            continue
        texts.append(item)
        for flag in item.parsed.flags:
            say(f"{item.name}: {flag.id}: {flag.text}", fg="yellow", err=True)
    if texts or form == "json":
        data(parsed_text([part for text in texts for part in shown(text, asked)], form, _left(left)))
    return _say(left, len(texts))


def _keep(files: tuple[str, ...], asked: IntakeOptions, output: Path, form: str) -> int:
    import shlex
    from collections.abc import Iterator

    from orchestrator.capture.intake import Left, read
    from orchestrator.capture.kept import store
    from reports.text import format as fmt

    left: list[Left] = []
    names: set[str] = set()  # of a text that holds the output of two tools, once
    count = 0

    def readable() -> Iterator[Captured]:
        nonlocal count
        for item in progress.texts(read(files, asked)):
            if isinstance(item, Left):
                left.append(item)
            else:
                count += 1
                names.add(item.name)
                yield item
            del item  # a text and its tables, before the next are read

    kept = store(readable(), output, asked, version=__version__)
    status = _say([*left, *kept.left], count - len(kept.left))
    if form == "json":
        from reports.text.json_text import json_text

        told = {"result_file": output, "added": kept.added, "known": kept.known, "notes": kept.notes}
        data(json_text({**told, "left": _left([*left, *kept.left])}))
    for note in kept.notes:
        say(f"note     {note}", fg="yellow", err=True)
    if not kept.added and not kept.known:
        if kept.described:
            say(f"{_of_a_machine(kept.machine)}: kept beside the runs of {output}", err=True)
            return status
        if kept.machine:
            say(
                f"{_of_a_machine(kept.machine)} and no run: kept in a file that holds runs; without -o it is printed",
                err=True,
            )
        say("nothing was taken", err=True)
        return status or 1
    was = "was" if kept.known == 1 else "were"
    before = f", {fmt.plural(kept.known, 'run')} {was} there already" if kept.known else ""
    texts = max(1, len(names) - len({one.name for one in kept.left}) - kept.machine)
    taken = f"{fmt.plural(kept.added, 'run')} of {fmt.plural(texts, 'text')}"
    say(f"{taken} taken into {output}{before}", err=True)
    if kept.added:
        path = shlex.quote(str(output))
        say(f"next: pinsweep audit {path}, or pinsweep report {path} -o report.html", err=True)
    return status


def _of_a_machine(texts: int) -> str:
    return "1 text describes a machine" if texts == 1 else f"{texts} texts describe a machine"


def _left(left: list[Left]) -> list[dict[str, str | bool]]:
    return [{"file": one.name, "reason": one.reason, "failed": one.failed, "missing": one.missing} for one in left]


def _say(left: list[Left], taken: int) -> int:
    """Name what was not taken, and why. Return the exit status: 2 where a name is no file, 1 where a named file
    failed
    or nothing at all was read."""
    for item in left:
        word, colour = ("error:", "red") if item.failed else ("skipped", "yellow")
        say(f"{word} {item.name}: {item.reason}", fg=colour, err=True)
    if any(item.missing for item in left):
        return 2
    return 1 if any(item.failed for item in left) or not taken else 0
