"""How tests wait: for what happens itself, and as long as the slowest and busiest machine may take for it."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

PATIENCE_S = 240.0
"""Far beyond what anything here takes; not a measurement."""


def until(condition: Callable[[], object]) -> None:
    """Wait until something is so; fail if it never is.

    Also for what is so on a page, by `page.evaluate`: Playwright's `wait_for_function` looks a second time by an eval inside the
    page, which our pages forbid, so that it fails wherever the first look comes too early.
    """
    ends = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.02)


def ended(pid: int) -> bool:
    """Tell whether a process has ended; where nobody waits for orphans, what is left of it stays in /proc as a zombie."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def nothing_is_left(home: Mapping[str, str]) -> bool:
    """Whether no process that this test started, however deep, still runs: they all inherit its home."""
    mark = f"XDG_DATA_HOME={home['XDG_DATA_HOME']}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes():
                    return False
            except OSError:
                continue
    return True


def gate(passes: int) -> str:
    """Return what a tool of shell commands does to wait for its test: of those that come to it, all but the first `passes` stay
    until there is a file `go`. Each one that has come is a line of the file `begun`."""
    return f"echo >> begun; until [ $(wc -l < begun) -le {passes} ] || [ -e go ]; do sleep 0.02; done"


def begun(folder: Path) -> int:
    """Return how many have come to the gate in a folder."""
    file = folder / "begun"
    return len(file.read_bytes()) if file.exists() else 0


AS_NOBODY = ("setpriv", "--reuid", "65534")


def without_kill() -> list[str]:
    """Return what starts a command as root without CAP_KILL; skip where this root may not become somebody else."""
    argv = ["setpriv", "--bounding-set", "-kill", "--inh-caps", "-kill", "--"]
    if subprocess.run([*argv, *AS_NOBODY, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this root may not become somebody else")
    return argv


def beside_nobody_s(command: str) -> str:
    """Return a shell's words that start a command as somebody else, in a session of its own, and go on when it is there."""
    name = command.split()[0]
    begins = f'until [ "$(cat /proc/$!/comm)" = {name} ]; do sleep 0.02; done'
    return f"{shlex.join(AS_NOBODY)} setsid {command} & {begins}"
