"""The command with which an admin takes hosts out of Slurm. pinsweep prints it and never runs it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import Final

from orchestrator.cluster import nodeset
from parsers.errors import UserError

_MAX_CHARACTERS: Final = 160
_ASCII: Final = {0x2212: "-", 0x2013: "-", 0x2026: "...", 0xD7: "x", 0xA0: " ", 0x202F: " ", 0x2009: " "}


def drain_line(hosts: Iterable[str], nodes: str, why: str) -> str:
    """Return the command that drains hosts; "" if a name is not one of a host. `nodes`: the hosts as a node set.

    The reason keeps plain ASCII without the characters that shells and Slurm interpret.
    """
    try:
        nodeset.check(hosts)
    except UserError:
        return ""
    text = re.sub(r"[^ -~]|[\"'\\`$;&|<>!#=]", " ", f"pinsweep: {why.translate(_ASCII)}")
    text = " ".join(text.split())
    if len(text) > _MAX_CHARACTERS:
        text = f"{text[: _MAX_CHARACTERS - 3].rstrip()}..."
    return f'scontrol update nodename={shlex.quote(nodes)} state=drain reason="{text}"'
