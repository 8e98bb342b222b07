"""Which machine this is, for hosts that have one name and share a file system. I/O."""

from __future__ import annotations

import functools
import hashlib
import re
from pathlib import Path

_ADDRESS = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
"""Of Ethernet: the address of an InfiniBand interface has the number of a queue in it, which changes."""


@functools.cache
def machine(root: Path = Path("/")) -> str:
    """Return some hex digits that are this machine's, also after it was started again: of the addresses of its network cards and
    /etc/machine-id, which images may share. Where no card is to be seen (containers) they are those of this boot of its kernel.

    Addresses that a maker gave go before those that somebody made up (the second bit): what a management controller offers by USB may
    have another at each boot; virtual machines have no others.
    """
    cards = []
    for card in (root / "sys/class/net").glob("*"):
        address = _text(card / "address")
        if (card / "device").exists() and _ADDRESS.fullmatch(address) and address.strip("0:"):
            cards.append(address)
    cards = [address for address in cards if not int(address[:2], 16) & 2] or cards
    known = (
        [*sorted(cards), _text(root / "etc/machine-id")]
        if cards
        else [_text(root / "proc/sys/kernel/random/boot_id")]
    )
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii").strip()
    except (OSError, ValueError):
        return ""
