"""Find the experiments that come with pinsweep, for `pinsweep run quickstart` in any folder. I/O."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from orchestrator.machine.near_files import near_files
from parsers.errors import UserError, nearest

_HERE: Final = Path(__file__).resolve().parents[1]
_HINT: Final = "`pinsweep init --list` lists the shipped experiments, `pinsweep init TOOL` writes a first experiment"


def folder() -> Path:
    """Return the folder of the shipped experiments: the repository's `experiments/`, or the copy inside an installed wheel."""
    for path in (_HERE.parent / "experiments", _HERE / "shipped_experiments"):
        if (path / "quickstart.yaml").is_file():
            return path
    raise UserError(str(_HERE / "shipped_experiments"), "is not there", "install pinsweep again")


def names() -> tuple[str, ...]:
    """Return the names of all shipped experiments, sorted."""
    return tuple(sorted(path.stem for path in folder().glob("*.yaml")))


def resolved(path: Path | str) -> Path | str:
    """Return the file of a shipped experiment for its bare name ("quickstart").

    Return the path unchanged if a file has that name.
    """
    name = os.fspath(path)
    if not _is_bare(name) or Path(name).is_file() or name not in names():
        return path
    return folder() / f"{name}.yaml"


def text(name: str) -> str:
    """Return the text of a shipped experiment for a copy, without the schema line for editors, because the relative
    path would be wrong.
    """
    lines = (folder() / f"{name}.yaml").read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# yaml-language-server:"))


def hint(path: Path | str) -> str:
    """Return the next step for a path that is not a file. I/O: lists the folder.

    The hint names a similar file, a similar shipped experiment, or a first command.
    """
    name = os.fspath(path)
    return near_files(path, ("yaml", "yml")) or (_is_bare(name) and nearest(name, names())) or _HINT


def _is_bare(name: str) -> bool:
    return bool(name) and Path(name).name == name and not Path(name).suffix
