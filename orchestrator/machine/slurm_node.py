"""What Slurm says of the host that a job of it runs on. I/O."""

from __future__ import annotations

import os

from orchestrator.machine import planted
from orchestrator.machine.ask import ask

_TIMEOUT_S = 15.0
"""A controller that is busy takes seconds; its own message timeout is 10."""


def of_this_job() -> str:
    """Return what `scontrol show node` prints of this host, inside a job; "" outside of one, and where Slurm does not answer."""
    name, scontrol = os.environ.get("SLURMD_NODENAME", ""), planted.harmless("scontrol")
    if not name or not scontrol:
        return ""
    said = ask([scontrol, "show", "node", "--", name], timeout_s=_TIMEOUT_S)
    return said.stdout.decode("utf-8", "replace") if said is not None and said.exit_status == 0 else ""
