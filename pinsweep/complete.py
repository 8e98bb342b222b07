"""Tab completion: experiments, result files, sweeps, axes, tools, baselines, schemas. Mistakes are ignored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from orchestrator.model import Cell, Experiment

_PLAIN: Final = re.compile(r"[\w./@%+,=-]+")
"""A word without characters that a shell reads, because completions are not quoted."""


def experiments(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the shipped experiments and the YAML files of the folder, or else any path."""
    from orchestrator.experiment import shipped

    beside = (path.name for path in Path().glob("*.y*ml"))
    return _of((*shipped.names(), *sorted(beside)), begun) or _files(begun)


def sweeps(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the sweeps of the experiments or result files on the line."""
    named = (sweep.name for experiment in _named(ctx) for sweep in experiment.sweeps)
    return _of(dict.fromkeys((*named, *(cell.sweep for cell in _measured(ctx)))), begun)


def cells(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the axes of the experiments on the line: `iodepth=`."""
    sweeps = [sweep for experiment in _named(ctx) for sweep in experiment.sweeps]
    return _of(dict.fromkeys(f"{axis}=" for sweep in sweeps for axis in (*sweep.matrix, *sweep.zip)), begun)


def starters(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the tools and the shipped experiments, to start an experiment from."""
    from orchestrator.experiment import shipped
    from orchestrator.tools import tool_names

    return _of((*tool_names(), *shipped.names()), begun)


def results(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the result files and their folders, or else any path."""
    return _of(_result_files(begun), begun) or _files(begun)


def sides(ctx: click.Context, param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the baselines and result files, or else any path."""
    return [*baselines(ctx, param, begun), *_of(_result_files(begun), begun)] or _files(begun)


def axes(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Return the axes of the result files on the line, `program`, `host` and `relation`, for `compare --by`."""
    of_files = dict.fromkeys(axis for cell in _measured(ctx) for axis in cell.labels())
    return _of((*of_files, *(word for word in ("program", "host", "relation") if word not in of_files)), begun)


def schemas(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    from reports import schemas

    return _of(("experiment", *schemas.names()), begun)


def baselines(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    from reports.results import baselines

    return _of(baselines.names(), begun)


def words_of(known: Iterable[str]) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Return a completer of fixed words for an option with commas."""

    def offer(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
        before, comma, _ = begun.rpartition(",")
        return _of((f"{before}{comma}{word}" for word in known if word not in before.split(",")), begun)

    return offer


def _of(words: Iterable[str], begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # nobody who types no Tab waits for it

    return [CompletionItem(word) for word in words if word.startswith(begun) and _PLAIN.fullmatch(word)]


def _files(begun: str) -> list[CompletionItem]:
    """Leave it to the shell, which knows files."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(begun, type="file")]


def _named(ctx: click.Context) -> list[Experiment]:
    """Return the experiments on the line, those that can be read."""
    from orchestrator.experiment.load import load_experiment
    from orchestrator.experiment.shipped import resolved
    from parsers.errors import PinsweepError

    found: list[Any] = []
    for path in ctx.params.get("experiments") or ctx.args:  # the latter, where an option still lacks its value
        try:
            found.append(load_experiment(resolved(path)))
        except (PinsweepError, OSError):
            continue
    return found


def _result_files(begun: str) -> list[str]:
    """Return NAME.db and FOLDER/ that hold some, each with the folder that stands before it on the line."""
    head, slash, _ = begun.rpartition("/")
    try:
        there = sorted(Path(f"{head}/" if slash else ".").iterdir())
        found = [path.name for path in there if path.suffix == ".db" and path.is_file()]
        found += [f"{path.name}/" for path in there if path.is_dir() and any(path.glob("*.db"))]
    except OSError:
        return []
    return [f"{head}{slash}{name}" for name in found]


def _measured(ctx: click.Context) -> Iterator[Cell]:
    """Yield the cells of the result files on the line, of those that can be read."""
    from orchestrator.store.result_file import open_result
    from parsers.errors import PinsweepError

    for word in (
        *(ctx.params.get("sides") or ctx.args),
        *ctx.params.get("more_a", ()),
        *ctx.params.get("more_b", ()),
    ):
        try:
            with open_result(Path(word)) as result:
                yield from (stored.cell for stored in result.cells())
        except (PinsweepError, OSError):
            continue
