"""One sweep at a time on the same cores: who has which PUs, who waits, what a dead or a hostile record is worth."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.machine.probe import load_topology
from orchestrator.model import Cell, Group, Placement, PlannedRun
from orchestrator.run import exclusive
from orchestrator.run.events import Event, Waiting
from orchestrator.run.exclusive import reserved, wanted_pus
from orchestrator.run.process import Stop
from orchestrator.run.scratch import Stopped
from parsers.errors import UserError

ROOT = Path(__file__).resolve().parents[3]

HOLD = """
import os, sys
from pathlib import Path
from orchestrator.run.exclusive import reserved
from orchestrator.run.process import Stop
with Stop() as stop, reserved(map(int, sys.argv[1].split(",")), Path("theirs.db"), stop):
    print(os.getpid(), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def stop() -> Iterator[Stop]:
    with Stop() as stop:
        yield stop


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch, runtime: Path) -> None:
    monkeypatch.setattr(exclusive, "LOOK_EVERY_S", 0.02)


def another(cpus: str) -> subprocess.Popen[str]:
    """Start another process that has some PUs until it is told to end; it has them when this returns."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, cpus], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert int(process.stdout.readline()) == process.pid
    return process


def run(*cpus: int) -> PlannedRun:
    placement = Placement(name="here", groups=(Group(cpus=cpus),)) if cpus else None
    cell = Cell(sweep="s", tool="command", options={})
    return PlannedRun(
        sweep="s", tool="command", cell=cell, repeat=1, argv=("true",), env={}, placement=placement, timeout_s=1.0,
        nominal_s=1.0, estimate_s=1.0, program="true",
    )  # fmt: skip


def test_whole_cores_are_wanted_and_without_a_place_all_that_is_allowed() -> None:
    machine = load_topology("pack:1 core:4 pu:2")
    siblings = set(machine.cores[1].cpus)

    assert wanted_pus([run(machine.cores[1].cpus[0])], machine) == siblings
    assert wanted_pus([run(machine.cores[1].cpus[0]), run()], machine) == {pu.os_index for pu in machine.pus}
    assert wanted_pus([run()], machine.limited(cpus=siblings)) == siblings
    assert wanted_pus([], machine) == set()


def test_the_holder_of_the_pus_is_waited_for_and_reported(tmp_path: Path, stop: Stop) -> None:
    other = another("2,3,4")
    events: list[Event] = []

    def end_it(event: Event) -> None:
        events.append(event)
        other.communicate("")

    with reserved([0, 1], tmp_path / "a.db", stop, events.append):
        assert not events
    with reserved([4, 5, 3], tmp_path / "a.db", stop, end_it) as locks:
        assert len(locks) == 1

    (event,) = events
    assert isinstance(event, Waiting)
    assert event.holder is not None
    assert (event.holder.pid, event.holder.shared) == (str(other.pid), "CPUs 3-4")
    assert event.holder.file == str(ROOT / "theirs.db")


def test_whoever_was_killed_is_not_waited_for_and_leaves_nothing(tmp_path: Path, stop: Stop, runtime: Path) -> None:
    other = another("0")
    other.kill()
    other.communicate()
    assert len(list(runtime.iterdir())) == 1

    with reserved([0], tmp_path / "a.db", stop, lambda _: pytest.fail("waited")):
        assert len(list(runtime.iterdir())) == 1
    assert not list(runtime.iterdir())


def test_what_a_killed_process_left_to_its_watchdog_is_still_held(tmp_path: Path, stop: Stop) -> None:
    """The watchdog has the descriptors, too: it ends the tool first."""
    with ExitStack() as stack:
        (kept,) = stack.enter_context(reserved([0], tmp_path / "a.db", stop))
        held_on = os.dup(kept)
        name = next(Path(os.environ["PINSWEEP_RUNTIME_DIR"]).iterdir())
        text = name.read_bytes()
        os.link(name, tmp_path / "kept")
    os.link(tmp_path / "kept", name)  # as it would be there: a killed process removes nothing
    assert json.loads(text)["pus"] == "0"
    events: list[Event] = []

    with reserved([0], tmp_path / "b.db", stop, lambda event: (events.append(event), os.close(held_on))):  # type: ignore[func-returns-value]
        assert len(events) == 1


def test_a_stop_ends_the_wait(tmp_path: Path, stop: Stop, runtime: Path) -> None:
    with (
        reserved([0], tmp_path / "a.db", stop),
        pytest.raises(Stopped),
        reserved([0], tmp_path / "b.db", stop, lambda _: os.kill(os.getpid(), signal.SIGINT)),
    ):
        pytest.fail("it has the PUs of another")
    assert not list(runtime.iterdir())


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", "[" * 60000, '{"pus": "x"}', '{"pus": "0-99999999999"}', '{"pus": null}', "\0\0"],
    ids=lambda text: text[:12],
)
def test_a_locked_file_that_is_no_record_holds_nothing(text: str, tmp_path: Path, stop: Stop, runtime: Path) -> None:
    import fcntl

    runtime.mkdir()
    with (runtime / "1-x.pus").open("w") as file:
        file.write(text)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        with reserved([0], tmp_path / "a.db", stop, lambda _: pytest.fail("waited")):
            pass


def test_what_lies_in_the_folder_is_not_followed_nor_obeyed(tmp_path: Path, stop: Stop, runtime: Path) -> None:
    import fcntl

    runtime.mkdir()
    (tmp_path / "precious").write_text("{}")
    (runtime / "1-link.pus").symlink_to(tmp_path / "precious")
    os.mkfifo(runtime / "2-fifo.pus")
    (runtime / "3-folder.pus").mkdir()
    events: list[Event] = []
    record = {"pus": "0", "pid": "\x1b[2J", "host": "n\n1", "file": "x" * 900, "since": None}
    with (runtime / "4-x.pus").open("w") as file:
        json.dump(record, file)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        with reserved(
            [0],
            tmp_path / "a.db",
            stop,
            lambda event: (events.append(event), fcntl.flock(file, fcntl.LOCK_UN)),  # type: ignore[func-returns-value]
        ):
            pass

    assert (tmp_path / "precious").read_text() == "{}"
    (event,) = events
    assert isinstance(event, Waiting)
    assert event.holder is not None
    assert all(word.isprintable() and len(word) <= 200 for word in dataclasses.astuple(event.holder))


def test_a_folder_that_is_a_link_is_not_used(tmp_path: Path, stop: Stop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Anybody can make one where all users can make folders."""
    monkeypatch.delenv("PINSWEEP_RUNTIME_DIR")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(exclusive, "FOLDERS", (tmp_path / "link", tmp_path / "file", tmp_path / "no" / "such"))
    events: list[Event] = []

    with reserved([0], tmp_path / "a.db", stop, events.append) as locks:
        assert locks == ()
    assert events == [Waiting()]
    assert not list((tmp_path / "elsewhere").iterdir())

    monkeypatch.setattr(exclusive, "FOLDERS", (tmp_path / "link", tmp_path / "all"))
    with reserved([0], tmp_path / "a.db", stop):
        assert (tmp_path / "all").stat().st_mode & 0o7777 == 0o1777


def test_a_named_folder_that_cannot_be_used_is_an_error(
    tmp_path: Path, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PINSWEEP_RUNTIME_DIR", str(tmp_path / "file"))

    with pytest.raises(UserError, match="PINSWEEP_RUNTIME_DIR"), reserved([0], tmp_path / "a.db", stop):
        pass
