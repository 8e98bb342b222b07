"""Names of many hosts as admins write them: `node[003,017]`, the syntax of Slurm and ClusterShell. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def folded(hosts: Iterable[str]) -> str:
    """`folded(["node017", "node003"])` is "node[003,017]"; without ClusterShell (extra `cluster`) "node003,node017".

    Both are node sets that srun, clush and pinsweep take. A name that no host can have (blanks, brackets, operators of
    node sets) stands for itself, behind the others.
    """
    names = sorted(set(hosts))
    plain = [name for name in names if _PLAIN.fullmatch(name)]
    try:
        from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet
    except ImportError:
        together = plain
    else:
        together = [str(NodeSet.fromlist(plain, resolver=RESOLVER_NOGROUP))] if plain else []
    return ",".join([*together, *(name for name in names if not _PLAIN.fullmatch(name))])
