"""The folders that the results of a fleet lie in: whose sweep they are of, who should be there, and how its hosts are reached again. I/O."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from orchestrator.cluster import folder
from orchestrator.cluster.begin import engine_words
from orchestrator.cluster.folder import Sweep, Via
from reports.fleet.confirm import Way, experiments, folder_of
from reports.fleet.outliers import Report


def hosts(results: Sequence[Path]) -> tuple[str, ...]:
    """Return the hosts that should have a result where a folder is that of `pinsweep run --nodes`."""
    swept = (folder.read(path) for path in results if folder.is_sweep(path))
    return tuple(dict.fromkeys(host for sweep in swept for host in sweep.hosts))


def sweep_of(results: Sequence[Path]) -> Sweep | None:
    """Return the sweep of many hosts whose folder is asked about, if it is one."""
    return folder.read(results[0]) if len(results) == 1 and folder.is_sweep(results[0]) else None


def way(results: Sequence[Path], sweep: Sweep | None, via: Via | None, report: Report) -> Way:
    """Return how hosts are reached again: from the folder of the sweep that the results are of, else from here."""
    alone = results[0].absolute() if len(results) == 1 and results[0].is_dir() else None
    here = alone or Path(os.path.commonpath([path.absolute().parent for path in results]))
    number = next(n for n in itertools.count(1) if not folder_of(here, n).exists())
    own = shutil.which(sys.argv[0]) if Path(sys.argv[0]).name == "pinsweep" else None
    program = (str(Path(own).absolute()),) if own else (sys.executable, "-P", "-m", "pinsweep")
    if sweep is None:
        return Way(
            program=program, folder=str(here), work=str(Path.cwd()), number=number, covered=alone is not None,
            options=("--via", via) if via else (), absent=tuple(name for name in experiments(report) if not Path(name).exists()),
        )  # fmt: skip
    files = {file: Path(file).stem for own in report.files.values() for file in own}
    return Way(
        program=program, folder=str(here), work=sweep.work, number=number, options=engine_words(sweep, via),
        names={file: host for file, host in files.items() if host in sweep.hosts},
    )  # fmt: skip
