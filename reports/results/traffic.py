"""Name the read/write mixes of MLC. Pure."""

from __future__ import annotations

from typing import Final

MIXES: Final = {
    "read": ("read only", "read only"),
    "read 2 streams": ("read only, 2 streams", "read, 2 streams"),
    "4:1": ("R:W 4:1", "4:1"),
    "3:1": ("R:W 3:1", "3:1"),
    "3:1 2 streams": ("R:W 3:1, 2 streams", "3:1, 2 streams"),
    "triad rfo": ("R:W 3:1, triad-like", "3:1 triad"),
    "2:1": ("R:W 2:1", "2:1"),
    "triad": ("triad-like", "triad"),
    "3:2": ("R:W 3:2", "3:2"),
    "1:1": ("R:W 1:1", "1:1"),
    "write": ("write only", "write only"),
    "3:1 nt": ("R:W 3:1, non-temporal", "3:1 nt"),
    "2:1 nt": ("R:W 2:1, non-temporal", "2:1 nt"),
    "2:1 nt 2 streams": ("R:W 2:1, non-temporal, 2 streams", "2:1 nt, 2 streams"),
    "triad nt": ("R:W 2:1, non-temporal, triad-like", "2:1 nt triad"),
    "1:1 nt": ("R:W 1:1, non-temporal", "1:1 nt"),
    "write nt": ("write only, non-temporal", "write nt"),
}
"""The words of `parsers.mlc` for traffic types, ordinary stores before non-temporal ones → their names: beside a
table, beside a curve."""


def traffic_name(traffic: str, *, short: bool = False) -> str:
    """Return a traffic type for a legend: "read only", "R:W 3:1, non-temporal", short "3:1 nt". Unknown types are
    unchanged.
    """
    return MIXES.get(traffic, (traffic, traffic))[short]
