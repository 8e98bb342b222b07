"""What options and their values are called."""

from __future__ import annotations

from typing import Any

import pytest

from reports.results.naming import option_value


@pytest.mark.parametrize(
    ("tool", "name", "value", "said"),
    [
        ("mlc", "X", True, "X on"),
        ("fio", "norandommap", "", "norandommap set"),
        ("fio", "direct", False, "direct off"),
        ("fio", "direct", 1, "direct 1"),
        ("command", "fast", True, "fast True"),  # what stands in the command, as the experiment writes it
        ("fio", "bs", "4k", "4 KiB blocks"),
        ("mlc", "W", "R", "read only"),  # "W 6" and "W R" stood beside "write nt" and "read only"
        ("mlc", "W", 6, "write nt"),
        ("mlc", "W", 99, "W99"),
        ("mlc", "L", True, "huge pages"),
        ("mlc", "L", False, "small pages"),
        ("mlc", "b", "65536k", "buffer 64 MiB"),
        ("mlc", "b", 100, "buffer 100 KiB"),
        ("mlc", "b", "100001k", "buffer 100001 KiB"),  # no digit is lost: names tell cells apart
    ],
)
def test_a_flag_is_on_or_off(tool: str, name: str, value: Any, said: str) -> None:
    assert option_value(tool, name, value) == said
