"""What Tab offers: shipped experiments, sweeps and axes of those on the line, tools, baselines. Says nothing of mistakes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from orchestrator.model import Experiment


def experiments(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the shipped experiments and the YAML files beside; any path where neither is meant."""
    from orchestrator.experiment import shipped

    beside = (path.name for path in Path().glob("*.y*ml"))
    return _of((*shipped.names(), *sorted(beside)), begun) or _files(begun)


def sweeps(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the sweeps of the experiments that stand on the line."""
    return _of((sweep.name for experiment in _named(ctx) for sweep in experiment.sweeps), begun)


def cells(ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the axes of the experiments that stand on the line: `iodepth=`."""
    sweeps = [sweep for experiment in _named(ctx) for sweep in experiment.sweeps]
    axes = dict.fromkeys(axis for sweep in sweeps for axis in (*sweep.matrix, *sweep.zip))
    return _of((f"{axis}=" for axis in axes), begun)


def tools(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the tools that experiments may name."""
    from orchestrator.tools import tool_names

    return _of(tool_names(), begun)


def sides(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    """Offer the baselines, and files where none is meant."""
    return baselines(_ctx, _param, begun) or _files(begun)


def baselines(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[CompletionItem]:
    from reports.results import baselines

    return _of(baselines.names(), begun)


def _of(words: Iterable[str], begun: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem  # nobody who types no Tab waits for it

    return [CompletionItem(word) for word in words if word.startswith(begun)]


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
    for path in (
        ctx.params.get("experiments") or ctx.args
    ):  # the latter, where an option still lacks its value
        try:
            found.append(load_experiment(resolved(path)))
        except (PinsweepError, OSError):
            continue
    return found
