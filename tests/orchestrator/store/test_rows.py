"""Values that rows hold: read as what was written, however it is kept."""

from __future__ import annotations

import json

import pytest

from orchestrator.store.rows import Packed

OBJECTS: list[dict[str, object]] = [
    {},
    {"user_s": 0.25, "voluntary_switches": 3.0},
    {"reasons": [{"id": "steal", "text": "stolen"}], "disks": {"vda": {"read_bytes": 1}}},
    {"a": {"inside": 1}, 'quo"te': 2, "back\\slash": 3, "\u00fc": 4},
]


@pytest.mark.parametrize("written", OBJECTS)
@pytest.mark.parametrize("ascii_only", [False, True])
def test_a_packed_object_is_the_object(written: dict[str, object], ascii_only: bool) -> None:
    """{"ü": 4} written as {"\\u00fc": 4} has the key "ü"; "inside" is no key of what holds an object with it."""
    packed = Packed(json.dumps(written, ensure_ascii=ascii_only))

    assert packed == written
    assert dict(packed) == written
    assert bool(packed) == bool(written)
    assert len(packed) == len(written)
    assert all(packed[key] == value and key in packed for key, value in written.items())
    assert "inside" not in packed
    assert packed.get("not there", 7) == 7
