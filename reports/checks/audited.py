"""The audit of result files by their names: what was found in a file of many runs that has not changed is remembered. Reads files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

from reports.checks import LEVELS
from reports.checks.audit import Finding, audit, counted
from reports.numbers import kept
from reports.results import apart
from reports.results.load import Watched, load
from reports.results.model import Results
from reports.results.remembered import is_to_be_made, recalled, remember, remembered

Audited = tuple[tuple[Finding, ...], str]
"""What all checks found, the gravest first; and "12 runs with numbers": what they were applied to."""

_QUESTION: Final = "audit"


def audited(paths: Sequence[Path], *, watched: Watched = iter) -> Audited:
    """Return what the audit of result files finds, and of what. Raises UserError for a file that is none."""

    def made() -> Audited:
        results = load(paths, watched=watched)
        kept.keep(results)  # first: the checks then read a row a cell, not each run's text again and again
        return audit(results), counted(results)

    if len(paths) != 1:  # what one file says may hang on the others
        return made()
    return remembered(paths[0], _QUESTION, made, dump=_dumped, load=_loaded)


def audit_of(results: Results, *, digest: bool = True) -> tuple[Finding, ...]:
    """Return what the audit of results that were loaded finds, remembered as `audited` does. `digest`: where it is made, keep the
    numbers of the runs for a comparison, too: who reads all texts for the first time does so for all."""
    of = results.known_by
    path = next(iter(results.paths.values()), Path())
    kept_then = recalled(path, _QUESTION, of, _loaded)
    if kept_then is not None:
        return kept_then[0]
    if of and digest:
        kept.keep(results)
    found = audit(results)
    if of:
        remember(path, _QUESTION, of, _dumped((found, counted(results))))
    return found


def audit_large(
    paths: Iterable[Path], during: Callable[[], AbstractContextManager[object]] = nullcontext
) -> None:
    """Audit the large files of many runs that nobody audited, before anything else is made of them, each in a process of its own, which keeps in
    the file what is asked for later: with all that is read from texts, one of 100 000 runs took 720 MiB, two a GB. during: says that it goes on.

    Raises UserError for a file that is none, Damaged.
    """
    for path in paths:
        if path.is_file() and apart.are_large([path]) and is_to_be_made(path, _QUESTION):
            with during():
                apart.apart(partial(audited, [path]))


def _dumped(found: Audited) -> str:
    findings, of = found
    rows = [
        asdict(finding) | {name: sorted(getattr(finding, name), key=str) for name in ("doubts", "own")}
        for finding in findings
    ]
    return json.dumps({"findings": rows, "of": of})


def _loaded(text: str) -> Audited:
    """Undo `_dumped`. Raises ValueError, KeyError or TypeError for what it did not write."""
    kept = json.loads(text)
    findings = tuple(
        Finding(
            **row
            | {
                "cells": tuple((str(cell), str(arithmetic)) for cell, arithmetic in row["cells"]),
                "axes": tuple(
                    (str(file), str(cell), tuple((str(name), value) for name, value in labels))
                    for _, (file, cell, labels) in zip(row["cells"], row["axes"], strict=True)
                ),
                "doubts": frozenset(map(tuple, row["doubts"])),
                "own": frozenset(map(tuple, row["own"])),
            }
        )
        for row in kept["findings"]
    )
    if not {finding.level for finding in findings} <= {*LEVELS}:
        raise ValueError("a finding has another level")
    return findings, str(kept["of"])
