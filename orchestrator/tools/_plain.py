"""What most tools say: import it, and define only what is otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchestrator.model import Cell, Place
from orchestrator.tools import Problem
from parsers.measurement import Parsed

KERNEL = ""
FATAL: tuple[str, ...] = ()


def problems(options: Mapping[str, Any]) -> list[Problem]:  # noqa: ARG001
    """Return nothing: what each option allows by itself is all that is to be said."""
    return []


def default_place(options: Mapping[str, Any]) -> Place | None:  # noqa: ARG001
    """Return all CPUs, memory wherever the kernel puts it."""
    return Place(name="all", cpus="all", memory="any")


def version_argv(path: str) -> tuple[str, ...]:
    """Return `PROGRAM --version`."""
    return (path, "--version")


def complaint(parsed: Parsed, stdout: str, stderr: str, cell: Cell) -> str:  # noqa: ARG001
    """Return "": what the parser read is what was asked for."""
    return ""
