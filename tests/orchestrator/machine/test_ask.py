"""Real programs that are asked something: they answer, or they do not, in the time they have."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from orchestrator.machine.ask import Said, ask


def test_what_it_prints_and_how_it_ended() -> None:
    assert ask(["sh", "-c", "echo out; echo err >&2; exit 3"], timeout_s=20) == Said(
        exit_status=3, stdout=b"out\n", stderr=b"err\n"
    )


def test_the_environment_is_the_given_one_in_the_locale_c(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "1")
    script = ["/bin/sh", "-c", 'echo "$OURS $GIVEN $LC_ALL"']

    assert ask(script, timeout_s=20) == Said(exit_status=0, stdout=b"1  C\n", stderr=b"")
    assert ask(script, timeout_s=20, env={"GIVEN": "2"}) == Said(exit_status=0, stdout=b" 2 C\n", stderr=b"")


def test_what_is_not_there_does_not_answer() -> None:
    assert ask(["/nonexistent/tool"], timeout_s=20) is None


def test_what_it_leaves_in_the_background_is_not_waited_for() -> None:
    """It holds the outputs open: of a pipe, nobody would see the end."""
    begun = time.monotonic()
    said = ask(["sh", "-c", "sleep 15 & echo answer"], timeout_s=60)

    assert said is not None
    assert said.stdout == b"answer\n"
    assert time.monotonic() - begun < 14


def test_what_does_not_answer_in_time_is_ended_with_its_children(tmp_path: Path) -> None:
    script = f"trap '' TERM; sleep 300 & echo $$ $! > {tmp_path}/pids; wait"

    assert ask(["sh", "-c", script], timeout_s=0.5) is None

    shell, child = (tmp_path / "pids").read_text().split()
    ends = time.monotonic() + 20
    while any(Path(f"/proc/{pid}/cmdline").exists() and _runs(pid) for pid in (shell, child)):
        assert time.monotonic() < ends, "one of them is left"
        time.sleep(0.02)


def _runs(pid: str) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
