"""Open the texts of the user's names: files, folders, globs, archives, `-`. I/O, read only.

Archive members are read into memory, one at a time. pinsweep unpacks nothing to disk, so the name of a member is a
label and not a path. A limit on decompressed bytes stops zip bombs.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final, Protocol, cast

from parsers.text import LARGEST, why_not_read

LARGEST_ZIP: Final = 256 << 20
"""Size limit (bytes) of a zip. It is read completely, because its index is at the end."""

LARGEST_ARCHIVE: Final = 1 << 30
"""Limit of bytes that one archive may decompress to, with members that are not texts."""

MOST_MEMBERS: Final = 10_000
"""Members of one archive that are read: 2 s of CPU time, if each is a text without a result."""

_TOO_MANY: Final = f"more than {MOST_MEMBERS:,} members: the rest is not read; unpack it and name a folder"
_TOO_MUCH: Final = f"unpacked of more than {LARGEST_ARCHIVE >> 20} MiB is not read: the rest is left"
_DAMAGED = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One text, or the reason for a missing text.

    `named`: the user named this file, so a failure is a failure of the command.
    """

    name: str
    data: bytes = b""
    problem: str = ""
    named: bool = True
    missing: bool = False  # the name cannot be opened as a file


class _TooLarge(Exception):
    pass


class _Stream(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def sources(names: Iterable[str]) -> Iterator[Source]:
    """Yield the texts of the names, one at a time. Folders and archives are in name order."""
    for name in names:
        if name == "-":
            yield from _opened("-", sys.stdin.buffer, named=True)
        elif Path(name).is_dir():
            yield from _folder(name)
        elif not os.path.lexists(name) and glob.has_magic(name):
            paths = sorted(p for p in glob.glob(name, recursive=True) if not Path(p).is_dir())  # noqa: PTH207 (absolute too)
            if not paths:
                yield Source(name=name, problem="no file of such a name", missing=True)
            for path in paths:
                yield from _file(path, named=True)
        else:
            yield from _file(name, named=True)


def _folder(name: str) -> Iterator[Source]:
    for folder, folders, files in os.walk(name):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for file in sorted(files):
            path = Path(folder, file)
            if not file.startswith(".") and path.is_file():  # no pipe, no device
                yield from _file(str(path), named=False)


def _file(name: str, *, named: bool) -> Iterator[Source]:
    try:
        with Path(name).open("rb") as stream:
            yield from _opened(name, stream, named=named)
    except OSError as error:
        yield Source(name=name, problem=f"cannot be read: {error.strerror or error}", named=named, missing=named)


def _opened(name: str, stream: _Stream, *, named: bool) -> Iterator[Source]:
    """Open a file. An archive is recognised by its first bytes, not by its name."""
    head = stream.read(512)
    whole = _Joined(head, stream)
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        yield from _zip(name, whole, named=named)
    elif head.startswith(b"\x28\xb5\x2f\xfd"):
        yield Source(name=name, problem="compressed with zstd, which is not read: unpack it first", named=named)
    elif head.startswith(b"SQLite format 3\0"):
        what = "a database: `pinsweep report` and `export` read result files"
        yield Source(name=name, problem=what, named=named)
    elif _is_tar(head):
        yield from _tar(name, whole, named=named)
    else:
        kind = next((k for magic, k in _COMPRESSED.items() if head.startswith(magic)), None)
        if kind is None:
            yield _text(name, whole, named=named)
        else:
            yield from _compressed(name, kind, whole, named=named)


_UNPACK: Final[dict[str, Callable[[IO[bytes]], _Stream]]] = {
    "gzip": lambda stream: gzip.GzipFile(fileobj=stream, mode="rb"),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
}
_COMPRESSED: Final = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz"}


def _compressed(name: str, kind: str, stream: _Stream, *, named: bool) -> Iterator[Source]:
    """A compressed archive, or a single compressed text."""
    try:
        unpacked = _UNPACK[kind](cast("IO[bytes]", stream))
        limited = _Joined(b"", unpacked, limit=LARGEST_ARCHIVE)
        head = limited.read(512)
        whole = _Joined(head, limited)
        if _is_tar(head):
            yield from _tar(name, whole, named=named)
        else:
            yield _text(name, whole, named=named)
    except _TooLarge:
        yield Source(name=name, problem=_too_large(LARGEST_ARCHIVE, "unpacked"), named=named)
    except _DAMAGED as error:
        yield Source(name=name, problem=f"damaged {kind} data: {error}", named=named)


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _text(name: str, stream: _Stream, *, named: bool) -> Source:
    data = stream.read(LARGEST + 1)
    if problem := why_not_read(data):
        return Source(name=name, problem=problem, named=named)
    return Source(name=name, data=data, named=named)


def _too_large(limit: int, what: str) -> str:
    return f"{what} of more than {limit >> 20} MiB is not read"


def _tar(name: str, stream: _Stream, *, named: bool) -> Iterator[Source]:
    watched = _Joined(b"", stream)
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", watched), mode="r|") as archive:
            for count, member in enumerate(archive, 1):
                if count > MOST_MEMBERS:
                    yield Source(name=name, problem=_TOO_MANY, named=named)
                    return
                if member.isreg():
                    inside = archive.extractfile(member)  # a stream of its bytes; nothing is written
                    if inside is not None:
                        found = _member(name, member.name, inside)
                        short = not found.problem and len(found.data) < member.size
                        yield replace(found, data=b"", problem="the archive ends in it") if short else found
                        del found  # its bytes, before the next are read
        if watched.last.strip(b"\0"):  # tar ends in blocks of zeros; tarfile does not miss them
            yield Source(name=name, problem="the archive has no end: members may be missing", named=named)
    except _TooLarge:
        yield Source(name=name, problem=_TOO_MUCH, named=named)
    except _DAMAGED as error:
        yield Source(name=name, problem=f"a damaged archive, the rest is left: {error}", named=named)


def _zip(name: str, stream: _Stream, *, named: bool) -> Iterator[Source]:
    data = stream.read(LARGEST_ZIP + 1)
    if len(data) > LARGEST_ZIP:
        yield Source(name=name, problem=_too_large(LARGEST_ZIP, "an archive"), named=named)
        return
    left = LARGEST_ARCHIVE
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
            for info in members[:MOST_MEMBERS]:
                try:
                    with archive.open(info) as inside:
                        found = _member(name, info.filename, inside)
                except (
                    *_DAMAGED,
                    RuntimeError,
                    NotImplementedError,
                ) as error:  # encrypted, an unknown method
                    problem = f"cannot be unpacked: {error}"
                    yield Source(name=_label(name, info.filename), problem=problem, named=False)
                    continue
                left -= max(len(found.data), LARGEST if found.problem else 0)
                if left < 0:
                    raise _TooLarge
                yield found
                del found  # its bytes, before the next are read
            if len(members) > MOST_MEMBERS:
                yield Source(name=name, problem=_TOO_MANY, named=named)
    except _TooLarge:
        yield Source(name=name, problem=_TOO_MUCH, named=named)
    except _DAMAGED as error:
        yield Source(name=name, problem=f"a damaged archive: {error}", named=named)


def _member(archive: str, member: str, stream: _Stream) -> Source:
    return _text(_label(archive, member), stream, named=False)


def _label(archive: str, member: str) -> str:
    """Return the label of an archive member. The name may hold any text, so it is shown and never opened."""
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in member)
    return f"{archive}:{shown}"


class _Joined:
    """A stream that begins with bytes that were already read. Raises _TooLarge beyond `limit` bytes."""

    def __init__(self, head: bytes, rest: _Stream, limit: int | None = None) -> None:
        self._head = head
        self._rest = rest
        self._limit = limit
        self.last = b""

    def read(self, size: int = -1, /) -> bytes:
        data = bytearray(self._head if size < 0 else self._head[:size])
        self._head = self._head[len(data) :]
        while size < 0 or len(data) < size:
            more = self._rest.read(1 << 20 if size < 0 else size - len(data))
            if not more:
                break
            data += more
            if self._limit is not None and len(data) > self._limit:
                raise _TooLarge
        if self._limit is not None:
            self._limit -= len(data)
        self.last = bytes(data[-512:]) or self.last
        return bytes(data)
