"""What pinsweep and its watchdog say to each other: JSON over a socket, each message after its length, with descriptors. I/O.

A request is `start` (with the descriptors of stdout and stderr), `hold` (with one), `end` or `leave`; an answer is one of the classes
below.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LENGTH = struct.Struct("!I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The tool could not be started."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The tool has ended, and so has all that it left behind, but for `unended`."""

    status: int | None  # as wait(2) gives it; None: it is among those that could not be ended
    usage: Mapping[str, float]  # of the tool and its children
    wall_s: float
    span_s: float  # from its start until this is told: what it left behind has to end, too
    by_itself: bool  # it had ended when it was asked to: only what it left behind was still there
    unended: tuple[str, ...] = ()
    stops: int = 0  # how often it was made to stop and then to go on (SIGSTOP, SIGCONT)
    stopped_s: float = 0.0
    last: Mapping[str, Any] | None = None
    """Where its main thread was when it ended, if that was asked for: pid, name, cpus, mems_allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Killed:
    """The watchdog itself was killed; what it left behind has been ended, but for `unended`."""

    unended: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A bug in the watchdog."""

    traceback: str


Answer = Refused | Ended | Killed | Broken


def send(
    channel: socket.socket, name: str, fields: Mapping[str, Any], descriptors: Sequence[int] = ()
) -> None:
    """Send a message. Its JSON is ASCII: words of a command line that are no UTF-8 come through as they are."""
    text = json.dumps([name, fields]).encode()
    message = _LENGTH.pack(len(text)) + text
    sent = socket.send_fds(channel, [message], descriptors) if descriptors else 0
    if rest := message[sent:]:  # to send nothing fails, too, where the other side has heard it and died
        channel.sendall(rest)


def receive(channel: socket.socket) -> tuple[str, dict[str, Any], list[int]]:
    """Return the next message: name, fields, descriptors. Raises EOFError if there is none any more."""
    head, descriptors, _, _ = socket.recv_fds(channel, _LENGTH.size, 2)
    head += _exactly(channel, _LENGTH.size - len(head)) if head else b""
    if not head:
        raise EOFError
    name, fields = json.loads(_exactly(channel, _LENGTH.unpack(head)[0]))
    return name, fields, descriptors


def _exactly(channel: socket.socket, length: int) -> bytes:
    parts = []
    while length:
        part = channel.recv(min(length, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)
