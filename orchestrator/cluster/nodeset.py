"""Expand names of hosts in the notation of admins, `n[001-200]` or `@rack3`, with ClusterShell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from parsers.errors import UserError

MAX_HOSTS: Final = 20_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
_RANGE: Final = re.compile(r"[\[,]([0-9]+)-([0-9]+)")


def expand(text: str) -> tuple[str, ...]:
    """Return the hosts of a node set, in order and without duplicates. Raises UserError, also without ClusterShell."""
    try:
        from ClusterShell.NodeSet import NodeSet, NodeSetException
    except ImportError:
        raise UserError("--nodes", "ClusterShell is not installed", "pip install 'pinsweep[cluster]'") from None
    for first, last in _RANGE.findall(text):  # ClusterShell makes all names of a range before it counts them
        if len(last) > 15 or int(last) - int(first[:15]) > MAX_HOSTS:
            raise _too_many(text)
    try:
        nodes = NodeSet(text)
    except NodeSetException as error:
        raise UserError("--nodes", f"{text!r}: {error}", "for example 'n[001-200,207]' or '@rack3'") from None
    if len(nodes) > MAX_HOSTS:
        raise _too_many(text)
    return check(nodes)


def check(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of hosts without duplicates.

    Raises UserError for an empty list, too many names, and an invalid name.
    """
    hosts = tuple(dict.fromkeys(names))
    if not hosts:
        raise UserError("--nodes", "no host", "for example --nodes 'n[001-200]'")
    if len(hosts) > MAX_HOSTS:
        raise _too_many(f"{hosts[0]},{hosts[1]},…")
    for name in hosts:
        if not _NAME.fullmatch(name):
            raise UserError("--nodes", f"not the name of a host: {name!r}", "letters, digits, '-', '_' and '.'")
    return hosts


def _too_many(text: str) -> UserError:
    return UserError("--nodes", f"{text!r} is more than {MAX_HOSTS} hosts", "name fewer hosts")
