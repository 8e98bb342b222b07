"""Which hosts hang on one switch, or stand in one rack: what `scontrol show topology` prints, or a list of one's own. Asks ClusterShell or
Slurm what a node set is."""

from __future__ import annotations

import re

from orchestrator.cluster import nodeset
from parsers.errors import UserError

_SLURM = re.compile(
    r"(?:SwitchName|BlockName|AggregatedBlock|RingName)=(\S+)(?:\s.*)?\sNodes=(\S+)", re.IGNORECASE
)
_OWN = re.compile(r"([^\s:=]+)\s*:\s*(\S.*)")


def read(text: str, place: str) -> dict[str, tuple[str, ...]]:
    """Return switch, block or rack → its hosts; `place` names the text in errors.

    Lines of `scontrol show topology` or topology.conf with `Nodes=`, or `NAME: NODESET`; others, and what follows `#`, say nothing of
    hosts. Raises UserError where no line does, and for what is no node set.
    """
    found: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        match = _SLURM.match(said) or _OWN.fullmatch(said)
        if match is None or match[2].lower() in ("(null)", "none"):
            continue
        try:
            hosts = nodeset.expand(match[2])
        except UserError as error:
            raise UserError(f"{place}:{number}", error.cause, error.hint) from None
        found[match[1]] = tuple(dict.fromkeys((*found.get(match[1], ()), *hosts)))
    if not found:
        raise UserError(
            place, "no line says which hosts are on a switch", "`scontrol show topology > FILE`, or lines `rack3: node[001-040]`"
        )  # fmt: skip
    return found
