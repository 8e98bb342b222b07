"""Which machine this is, for hosts that have one name and share a file system. I/O."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.machine.kernel_files import read_word

_ADDRESS = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
"""An Ethernet address. The address of an InfiniBand interface contains a queue number, which changes."""


@functools.cache
def machine(root: Path = Path("/")) -> str:
    """Return hex digits that identify this machine, the same after a reboot.

    The digits depend on the addresses of the network cards and on /etc/machine-id, which images may share. If no card
    is visible (containers), the digits identify this boot of the kernel.
    """
    cards = _addresses(root / "sys")
    file = "etc/machine-id" if cards else "proc/sys/kernel/random/boot_id"
    return hashlib.sha256("\n".join([*cards, read_word(root / file)]).encode()).hexdigest()[:16]


def cards(sys: Path = Path("/sys")) -> str | None:
    """Return six hex digits per network card, which hide the address. None if no card is visible."""
    marks = sorted(hashlib.sha256(address.encode()).hexdigest()[:6] for address in _addresses(sys))
    return " ".join(marks) or None


def is_another(then: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether the facts of two sessions are from two machines, without a common network card. Pure."""
    before, after = (set(str(facts.get("network_cards") or "").split()) for facts in (then, now))
    return bool(before and after) and not before & after


def _addresses(sys: Path) -> list[str]:
    """Return the addresses of the network cards, sorted.

    Random addresses (the second bit) are omitted if a card has a manufacturer's address, because the USB card of a
    management controller may change its address at each boot. Virtual machines have only random addresses.
    """
    addresses = []
    for card in (sys / "class/net").glob("*"):
        address = read_word(card / "address")
        if (card / "device").exists() and _ADDRESS.fullmatch(address) and address.strip("0:"):
            addresses.append(address)
    return sorted([address for address in addresses if not int(address[:2], 16) & 2] or addresses)
