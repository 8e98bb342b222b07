"""Which machine this is, for hosts that have one name and share a file system. I/O."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_ADDRESS = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
"""Of Ethernet: the address of an InfiniBand interface has the number of a queue in it, which changes."""


@functools.cache
def machine(root: Path = Path("/")) -> str:
    """Return some hex digits that are this machine's, also after it was started again: of the addresses of its network cards and
    /etc/machine-id, which images may share. Where no card is to be seen (containers) they are those of this boot of its kernel.

    """
    cards = _addresses(root / "sys")
    known = (
        [*cards, _text(root / "etc/machine-id")]
        if cards
        else [_text(root / "proc/sys/kernel/random/boot_id")]
    )
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def cards(sys: Path = Path("/sys")) -> str | None:
    """Return a mark for each network card, as a session keeps them: six hex digits that tell cards of one name's machines apart, and not
    their addresses. None where no card is to be seen."""
    marks = sorted(hashlib.sha256(address.encode()).hexdigest()[:6] for address in _addresses(sys))
    return " ".join(marks) or None


def is_another(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Tell whether the facts of two sessions are of two machines, whatever these are called: no network card is the same. Pure."""
    before, after = (set(str(facts.get("network_cards") or "").split()) for facts in (then, now))
    return bool(before and after) and not before & after


def _addresses(sys: Path) -> list[str]:
    """Return the addresses of the network cards, sorted.

    Those that a maker gave go before those that somebody made up (the second bit): what a management controller offers by USB may
    have another at each boot; virtual machines have no others.
    """
    found = []
    for card in (sys / "class/net").glob("*"):
        address = _text(card / "address")
        if (card / "device").exists() and _ADDRESS.fullmatch(address) and address.strip("0:"):
            found.append(address)
    return sorted([address for address in found if not int(address[:2], 16) & 2] or found)


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
