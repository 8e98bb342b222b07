"""What an admin may type to take hosts out of Slurm's hands. Printed, never run. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Final

from orchestrator.cluster import nodeset
from parsers.errors import UserError

_LONGEST: Final = 160
_PLAIN: Final = {0x2212: "-", 0x2013: "-", 0x2026: "...", 0xD7: "x", 0xA0: " ", 0x202F: " ", 0x2009: " "}


def drain_line(hosts: Iterable[str], nodes: str, why: str) -> str:
    """Return the command that drains hosts, with the reason that all will read; "" for names that no host can have.

    `nodes`: the hosts as a node set. Of the reason plain ASCII is left, without what shells and Slurm take apart.
    """
    try:
        nodeset.checked(hosts)
    except UserError:
        return ""
    text = re.sub(r"[^ -~]|[\"'\\`$;&|<>!#=]", " ", f"pinsweep: {why.translate(_PLAIN)}")
    text = " ".join(text.split())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 3].rstrip()}..."
    return f'scontrol update nodename={shlex.quote(nodes)} state=drain reason="{text}"'
