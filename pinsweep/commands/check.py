"""`pinsweep check`"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from pinsweep import __version__, complete
from pinsweep.commands import _options
from pinsweep.terminal import data, say

if TYPE_CHECKING:
    from reports.health.troubles import Trouble

_WITHIN_S: Final = {1: 55, 2: 300, 3: 1200}
"""A level → the seconds after which it is given up. Slurm kills a HealthCheckProgram after 60."""

_SLOWER: Final = "10%"


@click.command(
    short_help="Check that this host is healthy. Silent if it is.",
    epilog="Example: pinsweep check --level 1 --baseline node07-good",
)
@click.argument("experiment", required=False, type=_options.FILE, shell_complete=complete.experiments)
@click.option(
    "--level", type=click.IntRange(1, 3), default=1, metavar="1|2|3",
    help="1: memory, seconds. 2: also remote memory, messages and disk, 2 minutes. 3: also under load, 15 minutes.  [default: 1]",
)  # fmt: skip
@click.option(
    "--baseline",
    metavar="WHAT",
    shell_complete=complete.sides,
    help="Report an error if the host is slower than this baseline, file or folder.",
)
@click.option(
    "--threshold", type=_options.percent, default=_SLOWER, metavar="PERCENT",
    help=f"Ignore smaller differences. [default: {_SLOWER.removesuffix('%')} %]",
)  # fmt: skip
@click.option(
    "--within", type=click.IntRange(1, 10**6), metavar="SECONDS",
    help="Stop after this time. [default: 55, 300 or 1200 by level]",
)  # fmt: skip
@click.option(
    "-o", "--output", type=_options.OUTPUT, metavar="FILE",
    help="Store the result file here, such as for `baseline add`. [default: your data folder, if not silent]",
)  # fmt: skip
@_options.scratch
@_options.allow_disturbed
@_options.table_or_json
def command(
    experiment: Path | None,
    level: int,
    baseline: str | None,
    threshold: float,
    within: int | None,
    output: Path | None,
    scratch: Path | None,
    allow_disturbed: bool,
    form: str,
) -> int:
    """Check that this host is healthy. Print nothing if it is, otherwise one line.

    For node health checks (NHC, Slurm, Nagios). The checks are wrong answers, failed programs, impossible
    numbers, and slower results than a baseline. EXPERIMENT replaces the level.

    Exit status: 0 healthy. 1 "ERROR …". 2 a mistake in the command. 3 "UNKNOWN …", for example a busy machine.
    """
    from parsers.errors import PinsweepError, UserError
    from reports.health.troubles import Trouble

    try:
        troubles, evidence = _check(
            experiment, level, baseline, threshold, within or _WITHIN_S[level], output, scratch, allow_disturbed=allow_disturbed
        )  # fmt: skip
    except UserError:
        raise
    except (PinsweepError, OSError) as error:  # no fault of the host: an exit status of 1 would drain it
        troubles, evidence = [Trouble("unknown", "could-not-run", str(error))], None
    except Exception:
        from pinsweep import bug

        troubles, evidence = [Trouble("unknown", "bug", "; ".join(bug.told()))], None
    return _print(troubles, evidence, form)


def _check(
    experiment: Path | None, level: int, baseline: str | None, threshold: float, within: float, output: Path | None,
    scratch: Path | None, *, allow_disturbed: bool,
) -> tuple[Sequence[Trouble], Path | None]:  # fmt: skip
    """Return what is wrong, and where the result file is. Raises PinsweepError."""
    import tempfile

    from orchestrator.plan.survey import measured_here
    from parsers.errors import UserError
    from pinsweep import packages
    from reports.health.sweep import Check, store_evidence
    from reports.results.baselines import resolve_any
    from reports.results.paths import is_result_file

    paths = resolve_any(baseline) if baseline is not None else []
    if wrong := [path for path in paths if not is_result_file(path)]:
        raise UserError(str(wrong[0]), "is not a result file", "name one that `pinsweep run` made")
    sweep = Check(within, version=__version__, argv=sys.argv[1:], install=packages.install)
    disk = "/var/tmp" if os.access("/var/tmp", os.W_OK) else None  # and not in memory
    with tempfile.TemporaryDirectory(prefix="pinsweep-check-", dir=disk) as folder:
        sweep_file = experiment or Path(f"check-{level}")
        path = output or Path(folder) / f"{measured_here([sweep_file.stem])}.db"
        troubles = sweep.troubles(
            sweep_file, path, scratch or Path(folder), paths, threshold, allow_disturbed=allow_disturbed
        )
        return troubles, path if output else store_evidence(path) if troubles else None


def _print(troubles: Sequence[Trouble], evidence: Path | None, form: str) -> int:
    """Print the line, or all as JSON, and return the exit status."""
    from dataclasses import asdict

    from reports.health.troubles import line
    from reports.text.json_text import json_text

    status = 0 if not troubles else 3 if troubles[0].kind == "unknown" else 1
    if form == "json":
        answer = {
            "status": {0: "ok", 1: "error", 3: "unknown"}[status],
            "host": platform.node(),
            "troubles": list(map(asdict, troubles)),
            "result_file": str(evidence) if evidence else None,
        }
        data(json_text(answer))
    elif troubles:
        say(line(troubles) + (f"; kept in {evidence}" if evidence else ""))
    return status
