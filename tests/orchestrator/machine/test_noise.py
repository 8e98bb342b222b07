"""What may disturb a measurement: facts in, findings out."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.machine.noise import findings


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"hypervisor": "none"}, []),
        ({"hypervisor": "KVM"}, ["a virtual machine (KVM)"]),
        ({"hypervisor": None, "governor": None}, []),
        ({"governor": "performance"}, []),
        ({"governor": "performance (54), powersave (2)"}, ["CPU frequency governor is performance (54), powersave (2)"]),
        ({"governor": "schedutil"}, ["CPU frequency governor is schedutil"]),
    ],
)  # fmt: skip
def test_a_finding_is_of_what_was_recorded(facts: dict[str, Any], said: list[str]) -> None:
    assert [finding.what for finding in findings(facts)] == said
