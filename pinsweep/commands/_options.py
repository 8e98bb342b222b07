"""Arguments and options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from parsers.errors import PinsweepError, UserError
from pinsweep import complete
from pinsweep.terminal import say, say_prose

if TYPE_CHECKING:
    from orchestrator.model import Cell, Plan
    from parsers.measurement import Parsed


T = TypeVar("T")


class _Name(click.Path):
    """A path that is a name: "" is what an unset variable of a shell leaves, and would be the current folder; and
    an option whose
    name was forgotten would take the option behind it for one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's own)
        if value == "":
            self.fail("an empty name", param, ctx)
        if isinstance(param, click.Option) and isinstance(value, str) and value[:1] == "-" and value != "-":
            kind = "folder" if param.metavar == "DIR" else "file"
            self.fail(
                f"the name of a {kind} belongs here, and {value} is an option (a {kind} called so is ./{value})",
                param,
                ctx,
            )
        return super().convert(value, param, ctx)


class _Output(_Name):
    """A file to be written. Every command makes the folders that are missing; a mistyped one is seen before."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's own)
        path = super().convert(value, param, ctx)
        if not (ctx and ctx.resilient_parsing) and not Path(path).parent.exists():
            from reports.text.plain import printable

            say(f"note     {printable(str(Path(path).parent))} is not there: it will be made", err=True)
        return path


class _ReadResultFile(_Name):
    """A result file, or a folder for it: one that is there, or whose name ends in a slash."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 (click's own)
        if ctx is not None and isinstance(value, str) and value.endswith("/"):
            ctx.meta[_FOLDER] = True
        return super().convert(value, param, ctx)


class _ResultFile(_ReadResultFile, _Output):
    """The same, to be written."""


_FOLDER = "pinsweep.output_is_a_folder"


def result_file(output: Path | None, experiments: Sequence[Path]) -> Path | None:
    """Return the result file that -o means: in a folder EXPERIMENT@HOST.db, the same each time, so that it is
    continued. Says where another
    machine of this name has that one. Raises UserError of a name that says another kind of file."""
    if output is None:
        return None
    if not (output.is_dir() or click.get_current_context().meta.get(_FOLDER)):
        refuse_other_kind(output)
        return output
    from orchestrator.plan.survey import measured_here
    from orchestrator.run.session import file_of_this_machine

    names = [path.stem for path in experiments]
    found, usual = file_of_this_machine(output, names), f"{measured_here(names)}.db"
    if found.name != usual:
        say(f"note  {output / usual} is of another machine of this name; this one has {found.name}", err=True)
    return found


_OTHER_KINDS: Final = (".yaml", ".yml", ".html", ".pdf", ".md", ".tex", ".typ", ".csv", ".json", ".parquet", ".xls", ".xlsx", ".ods")  # fmt: skip
"""How the names of experiments, pages, reports and tables end."""


def refuse_other_kind(output: Path) -> None:
    """Raise UserError where a new result file would be called as another kind of file is."""
    ending = output.suffix.lower()
    if ending in _OTHER_KINDS and not output.exists():
        hint = f"name it {output.with_suffix('.db')}. `pinsweep report` and `export` write other files"
        raise UserError(str(output), f"a result file is a database, not a {ending} file", hint)


FILE = _Name(path_type=Path)
RESULT_FILE = _ResultFile(path_type=Path)
PLANNED_FILE = _ReadResultFile(path_type=Path)
OUTPUT = _Output(path_type=Path)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

experiments: Decorator = click.argument(
    "experiments",
    metavar="EXPERIMENT...",
    nargs=-1,
    required=True,
    type=FILE,
    shell_complete=complete.experiments,
)
experiments_or_none: Decorator = click.argument(
    "experiments", metavar="EXPERIMENT...", nargs=-1, type=FILE, shell_complete=complete.experiments
)
results: Decorator = click.argument(
    "results", metavar="RESULT...", nargs=-1, required=True, type=FILE, shell_complete=complete.results
)

scratch: Decorator = click.option(
    "--scratch", type=FILE, envvar="PINSWEEP_SCRATCH", metavar="DIR",
    help="Create scratch files in DIR, on the file system to measure. [default: the result's folder]",
)  # fmt: skip
allow_write: Decorator = click.option(
    "--allow-write", "allow_write", multiple=True, metavar="DEVICE",
    help="Allow writes to DEVICE, if nothing uses it. All its data is lost. Repeat for several devices.",
)  # fmt: skip
allow_disturbed: Decorator = click.option(
    "--allow-disturbed", is_flag=True, envvar="PINSWEEP_ALLOW_DISTURBED",
    help="Use disturbed runs instead of repeating them, on a shared machine. Check D1 marks their numbers.",
)  # fmt: skip


def _include(default: str) -> Decorator:
    return click.option(
        "--include", type=click.Choice(["quiet", "least", "all"]), default=default, envvar="PINSWEEP_INCLUDE",
        help=f"Use the quiet runs of a cell, its least disturbed runs if none was quiet, or all runs. [default: {default}]",
    )  # fmt: skip


include = _include("least")
only_quiet = _include("quiet")
table_or_json: Decorator = click.option(
    "--format", "form", type=click.Choice(["table", "json"]), default="table",
    help="Print a table, or JSON as in `pinsweep schema`. [default: table]",
)  # fmt: skip
strict: Decorator = click.option("--strict", is_flag=True, help="Treat a cell that cannot run here as an error.")
unpinned: Decorator = click.option(
    "--unpinned", is_flag=True,
    help="Run without numactl and pinning. Check G18 marks all numbers.",
)  # fmt: skip
as_new: Decorator = click.option(
    "--as-new", is_flag=True,
    help="Measure with other CPUs, kernel or programs than the file has, as separate cells.",
)  # fmt: skip
only: Decorator = click.option(
    "--only",
    multiple=True,
    metavar="SWEEP",
    shell_complete=complete.sweeps,
    help="Use only this sweep. Repeat for several sweeps.",
)

tune: Decorator = click.option(
    "--tune",
    is_flag=True,
    help="Set the governor to performance and NUMA balancing off during the sweep (root). Restore both at the end.",
)

_HOW_TO_RUN: Final = (
    click.option("--retry-failed", is_flag=True, help="Start failed and timed-out runs again."),
    click.option(
        "--allow-misplaced", is_flag=True,
        help="Do not count a misplaced run as a failure. Its result is still not used.",
    ),
    allow_disturbed,
    click.option(
        "--share-machine", is_flag=True,
        help="Do not wait for another sweep on the same cores. Both disturb each other.",
    ),
    click.option(
        "--whole-node", is_flag=True, envvar="PINSWEEP_WHOLE_NODE",
        help="Refuse to start (exit status 3) if pinsweep may use only a part of the machine.",
    ),
    tune,
    click.option(
        "--drop-caches", is_flag=True,
        help="Empty the page cache before each run on files (root). Direct I/O does not need this.",
    ),
)  # fmt: skip


def how_to_run(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add what `run` does with the runs of a plan: `plan` takes it, too."""
    return functools.reduce(lambda decorated, option: option(decorated), reversed(_HOW_TO_RUN), command)


no_warm_up: Decorator = click.option(
    "--no-warm-up", is_flag=True, envvar="PINSWEEP_NO_WARM_UP",
    help="Skip the warm-up: one run of each program before all others.",
)  # fmt: skip
cells: Decorator = click.option(
    "--cells", multiple=True, metavar="AXIS=VALUE[,VALUE]", shell_complete=complete.cells,
    help="Run only cells with these values of an axis. Repeat for several axes.",
)  # fmt: skip


def _repeats(text: str) -> int | str:
    """Read a whole number, or `auto`: what `repeats` of an experiment takes."""
    from orchestrator.experiment import repeats
    from orchestrator.experiment.quantities import QuantityError

    found = int(text) if text.isdecimal() else text
    try:
        repeats.settings(found)
    except QuantityError as error:
        raise click.BadParameter(f"{error.what}: {error.hint}") from None
    return found


repeats: Decorator = click.option(
    "--repeats", type=_repeats, metavar="N|auto",
    help="Set the runs per cell. auto: 6 to 15, until the result is known.",
)  # fmt: skip


def typed(call: click.Context, **now: Any) -> list[str]:  # noqa: ANN401 (of any option)
    """Return the words of an equal command line, with options from the environment. `now`: options that have
    another value by now."""
    words = [str(call.info_name)]
    for param in call.command.params:
        value = now.get(str(param.name), call.params.get(str(param.name)))
        if value is None or value is False or value == param.get_default(call):
            continue
        for one in value if isinstance(value, tuple) else (value,):
            text = f"./{one}" if isinstance(one, Path) and str(one).startswith("-") else str(one)
            if not isinstance(param, click.Option):
                words.append(text)
            elif param.is_flag:
                words.append(param.opts[0])
            else:
                words += [f"{param.opts[0]}={text}"] if text.startswith("-") else [param.opts[0], text]
    return words


def standing(cell: Cell, repeats: Sequence[Parsed]) -> Sequence[float]:
    """Return the main number of each repeat of a cell, for `repeats: auto`."""
    from reports.numbers import fresh

    valid = [parsed for parsed in repeats if not parsed.has("validation_failed")]
    return fresh(cell, valid).values if valid else ()


def left_out(plan: Plan) -> None:
    """Print on stderr the warnings of a plan, and the cells that are not started, with the first cause: a line per sweep and cause."""
    from reports.text.format import plural

    for warning in plan.warnings:
        say_prose(f"warning  {warning}", fg="yellow", err=True)
    cells: dict[tuple[str, str], list[str]] = {}
    for item in plan.skipped:
        labels = " ".join(f"{key}={value}" for key, value in item.cell.items())
        reason = item.reason.partition("; this machine has ")[0].removeprefix(f"{item.cell.get('place')}: ")
        cells.setdefault((item.sweep, reason), []).append(labels)
    for (sweep, reason), (first, *others) in cells.items():
        more = f" and {plural(len(others), 'more cell')}" if others else ""
        say_prose(f"skipped  {sweep}  {first}{more}: {reason}", fg="yellow", err=True)
    for alias in plan.aliases:
        other = {key: value for key, value in alias.of.items() if alias.cell.get(key) != value}
        names = (" ".join(f"{key}={labels.get(key)}" for key in other) for labels in (alias.cell, alias.of))
        say_prose(f"same     {alias.sweep}  {' is '.join(names)}", err=True)


def devices(plan: Plan) -> None:
    """Print on stderr the devices whose data a plan overwrites."""
    for path in sorted({w.path for run in plan.runs for w in run.writes if w.kind == "device"}):
        say(f"OVERWRITES DEVICE  {path}", fg="red", bold=True, err=True)


def of_readable(paths: Sequence[Path], made: Callable[[Sequence[Path]], T]) -> tuple[T, bool]:
    """Return what `made` makes of result files, and whether it is of all. Unreadable files are reported and left
    out, if there are several files. Raises what `made` raises for the last one."""
    left = list(paths)
    while True:
        try:
            return made(left), len(left) == len(paths)
        except PinsweepError as error:
            unreadable = [p for p in left if error.place == str(p)]
            if not unreadable or len(left) == 1:
                raise
            say(f"error: {error}; left out", fg="red", err=True)
            left.remove(unreadable[0])


def nothing_can_run() -> None:
    """Say on stderr that a plan has no run."""
    say("no cell of this experiment can run here; see the reasons above", fg="red", err=True)


def percent(text: str) -> float:
    """Read `3%` or `3`: 0.03. For an option's `type`. Raises click.BadParameter unless it is above 0 and below
    100."""
    from parsers.units import share_of

    share = share_of(text)
    if share is None:
        raise click.BadParameter(f"{text!r} is not a percentage above 0 and below 100, like 3%")
    return share


def words(option: str, text: str | None, known: Sequence[str]) -> frozenset[str]:
    """Read the verdicts that a job fails on: `regressed,unmatched`."""
    told = frozenset(filter(None, (word.strip() for word in (text or "").split(","))))
    if text is not None and not told:
        raise UserError(option, "names no verdict", f"verdicts: {', '.join(known)}")
    if unknown := sorted(told - set(known)):
        raise UserError(option, f"{unknown[0]!r} is not a verdict", f"verdicts: {', '.join(known)}")
    return told
