"""Write a folder of files that people edit. Edited files are never overwritten. I/O.

`.pinsweep.json` in the folder holds the hash of each file as pinsweep wrote the file. A file with that hash is renewed.
Any other file was edited. The file remains, and the new text is written to `report.new.md`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from orchestrator.machine import safe_files
from parsers.errors import PinsweepError, UserError
from reports.results.write import write_whole

MANIFEST = ".pinsweep.json"
_FORMAT = 1


@dataclass(slots=True)
class Written:
    """The result for each file, by name in the folder."""

    new: list[str] = field(default_factory=list)
    renewed: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)  # as they were
    kept: dict[str, str] = field(default_factory=dict)  # edited file → file of the new text, or ""
    old: list[str] = field(default_factory=list)  # of an earlier report, not part of this one


def write(folder: Path, files: Mapping[str, bytes]) -> Written:
    """Write the files by their paths in `folder`. A missing folder is made.

    Raises UserError if the folder is a file or cannot be written. Each file is complete at any time, even if writing
    stops half-way.
    """
    if folder.exists() and not folder.is_dir():
        raise UserError(str(folder), "is a file, not a folder", "name another folder with --lab")
    known = _known(folder / MANIFEST)
    written = Written()
    targets: dict[str, bytes] = {}
    hashes = dict(known)
    for name, data in files.items():
        existing_hash = _hash_of(folder / name)
        new = _hash(data)
        if existing_hash == new:
            written.same.append(name)
            hashes[name] = (new,)
        elif existing_hash is None or existing_hash in known.get(name, ()):
            (written.new if existing_hash is None else written.renewed).append(name)
            targets[name] = data
        elif new in known.get(name, ()):
            written.kept[name] = ""
        else:
            beside = next(
                b for b in _beside(name) if (h := _hash_of(folder / b)) is None or h in {new, *known.get(b, ())}
            )
            written.kept[name] = beside
            targets[beside] = data
    written.old = sorted(n for n in known if n not in files and n not in targets and _hash_of(folder / n) in known[n])
    if targets or hashes != known:
        # the manifest first lists possible files, in case writing stops half-way, then existing files
        between = {n: (*hashes.get(n, ()), _hash(data)) for n, data in targets.items()}
        try:
            _remember(folder / MANIFEST, hashes | between)
            for name, data in targets.items():
                write_whole(folder / name, data)
            _remember(folder / MANIFEST, hashes | {n: (_hash(data),) for n, data in targets.items()})
        except PinsweepError as error:
            raise type(error)(error.place, error.cause, "name another folder with --lab") from error
    return written


def _beside(name: str) -> Iterator[str]:
    """Return `report.new.md`, then `report.new2.md`, …"""
    path = PurePosixPath(name)
    yield str(path.with_suffix(f".new{path.suffix}"))
    n = 1
    while True:
        n += 1
        yield str(path.with_suffix(f".new{n}{path.suffix}"))


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _hash_of(path: Path) -> str | None:
    """Return the hash of a file, or None if missing. A folder or FIFO has a hash that no file has."""
    try:
        if path.exists() and not path.is_file():  # a FIFO would be waited for
            return "folder"
        return _hash(path.read_bytes())
    except FileNotFoundError:
        return "dangling" if path.is_symlink() else None
    except NotADirectoryError as error:
        raise UserError(str(path.parent), "is a file, not a folder", "move it away, or name another folder") from error
    except OSError as error:
        raise UserError(str(path), f"cannot be read: {error.strerror}", "name another folder with --lab") from error


def _known(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the hashes of the manifest. If the manifest is invalid, every existing file counts as edited."""
    try:
        held = json.loads(safe_files.read_named(path, 16 << 20)) if path.is_file() else {}
        return {str(name): tuple(map(str, hashes)) for name, hashes in held["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _remember(path: Path, hashes: Mapping[str, tuple[str, ...]]) -> None:
    files = {name: list(dict.fromkeys(hashes[name])) for name in sorted(hashes)}
    text = json.dumps(
        {"about": "hashes of the files as pinsweep wrote them", "format": _FORMAT, "files": files}, indent=1
    )
    write_whole(path, text + "\n")
