"""Which hosts share a switch or a rack, by `scontrol show topology` or by a list that an admin wrote."""

from __future__ import annotations

import re

from orchestrator.cluster import nodeset
from parsers.errors import UserError

_SLURM = re.compile(r"(?:SwitchName|BlockName|AggregatedBlock|RingName)=(\S+)(?:\s.*)?\sNodes=(\S+)", re.IGNORECASE)
_LIST = re.compile(r"([^\s:=]+)\s*:\s*(\S.*)")


def read(text: str, place: str) -> dict[str, tuple[str, ...]]:
    """Return switch, block or rack → its hosts. `place` is the name of the text in errors.

    A line has Slurm's form with `Nodes=`, or `NAME: NODESET`. Other lines and comments are ignored. Raises UserError
    for an invalid node set, and if no line has hosts.
    """
    places: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        match = _SLURM.match(line) or _LIST.fullmatch(line)
        if match is None or match[2].lower() in ("(null)", "none"):
            continue
        try:
            hosts = nodeset.expand(match[2])
        except UserError as error:
            raise UserError(f"{place}:{number}", error.cause, error.hint) from None
        places[match[1]] = tuple(dict.fromkeys((*places.get(match[1], ()), *hosts)))
    if not places:
        hint = "`scontrol show topology > FILE`, or lines `rack3: node[001-040]`"
        raise UserError(place, "no line names the hosts of a switch", hint)
    return places
