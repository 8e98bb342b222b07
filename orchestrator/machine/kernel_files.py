"""Small files of the kernel, below /proc and /sys. What cannot be read is missing, not an error. I/O."""

from __future__ import annotations

import os
from pathlib import Path


def read_text(path: Path) -> str | None:
    """Return a file's text. None if it is absent, or if the kernel or a driver refuses the read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def read_word(path: Path) -> str:
    """Return a file's text without surrounding blanks, or "" for an unreadable file."""
    return (read_text(path) or "").strip()


def list_folder(folder: Path) -> list[Path]:
    """Return the names in a folder, sorted. [] for an unreadable folder."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def list_numbers(folder: str) -> list[int]:
    """Return the entries of a folder that are numbers, sorted: the processes of /proc, the threads of a process."""
    try:
        return sorted(int(name) for name in os.listdir(folder) if name.isdigit())  # noqa: PTH208
    except OSError:
        return []


def read_bytes(path: str, max_bytes: int | None = None) -> bytes:
    """Return a file's content or first bytes. b"" if the process has ended or belongs to another user.

    The function avoids pathlib and buffers, which would be most of the cost for hundreds of small files.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        content = part = os.read(descriptor, max_bytes or 1 << 16)
        while part and not max_bytes:
            part = os.read(descriptor, 1 << 16)
            content += part
        return content
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def parse_stat(text: bytes) -> tuple[str, list[str]]:
    """Return the name in /proc/PID/stat and the fields after it, from the third field in proc(5): state, parent, …"""
    head, _, fields = text.decode(errors="replace").rpartition(")")  # the name may hold blanks and brackets
    return head.partition("(")[2], fields.split()


def read_stat(pid: int, proc: str = "/proc") -> tuple[str, list[str]]:
    """Return the name of a process and the following fields of its stat file. Empty if the process has ended."""
    return parse_stat(read_bytes(f"{proc}/{pid}/stat"))
