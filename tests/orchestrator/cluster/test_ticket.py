"""The line that drains hosts: for a person to type, and one command whatever stands in a reason."""

from __future__ import annotations

import shlex

import pytest

from orchestrator.cluster.ticket import drain_line


def test_a_ticket_line_is_one_command() -> None:
    line = drain_line(["n1", "n2"], "n[1-2]", "stream: −15 %\nreboot; `reboot` $(reboot) \"x' # state=resume")

    assert line == (
        "scontrol update nodename='n[1-2]' state=drain"
        ' reason="pinsweep: stream: -15 % reboot reboot (reboot) x state resume"'
    )
    assert len(shlex.split(line)) == 5


@pytest.mark.parametrize("name", ["n1;reboot", "n1 n2", "-n1", ""])
def test_what_no_host_is_called_gets_none(name: str) -> None:
    assert drain_line([name], name, "slow") == ""


def test_a_long_reason_is_cut() -> None:
    assert len(drain_line(["n1"], "n1", "x" * 1000)) < 220
