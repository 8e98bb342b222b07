"""The scratch folder: filled, bounded, locked, removed; never somebody else's."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from orchestrator.experiment.load import parse_experiment
from orchestrator.machine import lockfile
from orchestrator.model import ScratchFile, Write
from orchestrator.plan.survey import SCRATCH_MARKER, host_name, is_free, refuse_shared, scratch_folder
from orchestrator.run.events import Event, Waiting
from orchestrator.run.process import Stop
from orchestrator.run.scratch import MARKER_TEXT, Claim, Stopped, open_scratch
from parsers.errors import PinsweepError, UserError
from tests.waits import until


def test_files_are_made_as_asked_and_everything_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / "pinsweep-scratch" / "sweep"
    data, text, many = str(folder / "data"), str(folder / "delays"), str(folder / "files")
    with open_scratch(folder) as scratch, Stop() as stop:
        scratch.prepare(
            (
                ScratchFile(path=data, size_bytes=20_000_001),
                ScratchFile(path=text, text="0\n2\n"),
                ScratchFile(path=many, folder=True),
            ),
            stop,
        )

        assert Path(data).stat().st_size == 20_000_001
        assert Path(data).stat().st_blocks * 512 >= 20_000_001  # written, not sparse
        assert Path(text).read_text() == "0\n2\n"
        assert Path(many).is_dir()

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("spoils", [False, True])
def test_a_file_is_filled_again_after_a_run_that_left_something_else(tmp_path: Path, spoils: bool) -> None:
    path = tmp_path / "s" / "data"
    file = ScratchFile(path=str(path), size_bytes=1000)
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop:
        scratch.prepare((file,), stop)
        path.write_bytes(b"\0" * 1000)
        scratch.settle((Write(path=str(path), kind="scratch", spoils=spoils),))
        scratch.prepare((file,), stop)

        assert (path.read_bytes() == b"\0" * 1000) is not spoils


@pytest.mark.parametrize("length", [500_000, 1 << 20, 2_000_000], ids=["cut", "a hole", "grown"])
def test_a_file_that_a_run_cut_grew_or_trimmed_is_made_anew(tmp_path: Path, length: int) -> None:
    """Whatever the run was said to do: of a reading job nobody expects it."""
    path = tmp_path / "s" / "data"
    file = ScratchFile(path=str(path), size_bytes=1 << 20)
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop:
        scratch.prepare((file,), stop)
        os.truncate(path, 500_000)
        os.truncate(path, length)
        scratch.settle((Write(path=str(path), kind="scratch"),))
        scratch.prepare((file,), stop)

        data = path.read_bytes()
        assert len(data) == 1 << 20
        assert len(zlib.compress(data, 1)) > 0.99 * len(data)


def test_nothing_is_held_back_when_a_run_begins_after_one_that_wrote(tmp_path: Path) -> None:
    """A file that no plan lists, too: only the file system knows it."""
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop:
        scratch.prepare((), stop)
        (tmp_path / "s" / "unlisted").write_bytes(os.urandom(1 << 20))
        if not delayed(tmp_path / "s" / "unlisted"):
            pytest.skip("this file system gives a file its blocks at once")
        scratch.settle((Write(path=str(tmp_path / "s" / "data"), kind="scratch"),))
        scratch.prepare((), stop)

        assert not delayed(tmp_path / "s" / "unlisted")


def delayed(path: Path) -> bool:
    """Tell whether blocks of a file are still to be chosen, as `filefrag` says it: it is not written back."""
    if not shutil.which("filefrag"):
        pytest.skip("needs filefrag (e2fsprogs)")
    asked = subprocess.run(["filefrag", "-v", path], capture_output=True, text=True, check=False)
    return "delalloc" in asked.stdout


def test_no_two_chunks_are_equal(tmp_path: Path) -> None:
    path = tmp_path / "s" / "data"
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop:
        scratch.prepare((ScratchFile(path=str(path), size_bytes=32 << 20),), stop)
        data = path.read_bytes()

    assert len({data[i : i + 4096] for i in range(0, len(data), 8 << 20)}) == 4


def test_somebody_elses_folder_is_refused_and_left_alone(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.tex").write_text("years of work")

    with pytest.raises(UserError, match="not made by pinsweep"), open_scratch(theirs):
        pass

    assert (theirs / "thesis.tex").read_text() == "years of work"


EVE = 12345


def eve(path: Path, mode: int = 0o755) -> None:
    os.chown(path, EVE, EVE, follow_symlinks=False)
    if not path.is_symlink():
        path.chmod(mode)


PLANTED: dict[str, Callable[[Path, Path], object]] = {  # (folder, somebody's folder)
    "the folder above": lambda folder, _: eve(folder.parents[1]),
    "the folder above, everybody's": lambda folder, _: folder.parents[1].chmod(0o777),
    "the folder above that": lambda folder, _: folder.parents[2].chmod(0o777),
    "the root": lambda folder, _: eve(folder.parent),
    "the root, empty": lambda folder, _: (folder.rmdir(), eve(folder.parent)),
    "the root, everybody's": lambda folder, _: folder.parent.chmod(0o777),
    "a group's": lambda folder, _: (os.chown(folder, 0, EVE), folder.chmod(0o775)),
    "a link for the root": lambda folder, theirs: link(folder.parent, theirs),
    "the folder": lambda folder, _: eve(folder),
    "a link for the folder": lambda folder, theirs: link(folder, theirs),
    "a link for the marker": lambda folder, theirs: link(folder / SCRATCH_MARKER, theirs / "thesis"),
    "an endless marker": lambda folder, _: link(folder / SCRATCH_MARKER, Path("/dev/zero")),
    "a FIFO for the marker": lambda folder, _: os.mkfifo(folder / SCRATCH_MARKER),
    "a folder for the marker": lambda folder, _: (folder / SCRATCH_MARKER).mkdir(),
}


def link(path: Path, target: Path) -> None:
    if path.exists():
        shutil.rmtree(path)
    path.symlink_to(target)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of another user")
@pytest.mark.parametrize("planted", PLANTED)
def test_what_another_user_could_plant_is_refused(tmp_path: Path, planted: str) -> None:
    theirs, folder = tmp_path / "theirs", tmp_path / "a/b/pinsweep-scratch/s"
    for made in (theirs, folder):
        made.mkdir(parents=True)
    (theirs / "thesis").write_text(MARKER_TEXT)
    (theirs / "s").mkdir()
    PLANTED[planted](folder, theirs)
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(UserError), open_scratch(folder):
        pass
    if "marker" not in planted:
        with pytest.raises(UserError):
            refuse_shared(folder)

    assert is_free(folder)  # asks the marker, and does not wait for it
    assert (theirs / "thesis").read_text() == MARKER_TEXT
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of another user")
def test_who_called_sudo_owns_the_folder_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    eve(tmp_path)
    monkeypatch.setenv("SUDO_UID", str(EVE))
    with open_scratch(tmp_path / "pinsweep-scratch/s") as scratch:
        assert {path.stat().st_mode & 0o777 for path in (scratch.path, scratch.path.parent)} == {0o700}


def test_a_folder_that_stays_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_scratch(tmp_path / "s") as scratch:
        monkeypatch.setattr(Path, "rmdir", lambda _: os.rmdir("/"))  # noqa: PTH106 (EBUSY)
    monkeypatch.undo()
    assert scratch.left
    with open_scratch(tmp_path / "s") as scratch:
        pass
    assert not scratch.left


def test_links_in_the_folder_are_removed_not_followed(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "thesis.tex").write_text("years of work")
    with open_scratch(tmp_path / "s"):
        (tmp_path / "s" / "link").symlink_to(theirs)

    assert (theirs / "thesis.tex").exists()
    assert not (tmp_path / "s").exists()


def test_no_room_is_said_before_anything_is_written(tmp_path: Path) -> None:
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop:
        with pytest.raises(PinsweepError, match="no room for"):
            scratch.prepare((ScratchFile(path=str(tmp_path / "s" / "data"), size_bytes=1 << 60),), stop)
        assert [entry.name for entry in (tmp_path / "s").iterdir()] == [SCRATCH_MARKER]


def test_a_stop_while_filling_leaves_no_half_file(tmp_path: Path) -> None:
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(Stopped):
            scratch.prepare((ScratchFile(path=str(tmp_path / "s" / "data"), size_bytes=1000),), stop)
        assert not (tmp_path / "s" / "data").exists()


def test_a_path_outside_the_folder_is_a_bug_not_a_write(tmp_path: Path) -> None:
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop, pytest.raises(ValueError, match="outside"):
        scratch.prepare((ScratchFile(path=str(tmp_path / "elsewhere"), size_bytes=1),), stop)


def test_who_wants_the_folder_of_another_pinsweep_waits_until_it_is_gone(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    first = lockfile.acquire(tmp_path / "s" / SCRATCH_MARKER)
    events: list[Event] = []

    def end_it(event: Event) -> None:
        events.append(event)
        shutil.rmtree(tmp_path / "s")
        os.close(first or 0)

    with open_scratch(tmp_path / "s", on_event=end_it):
        assert (tmp_path / "s" / SCRATCH_MARKER).exists()
    assert events == [Waiting(scratch=tmp_path / "s")]


def test_a_stop_ends_the_wait_for_a_folder(tmp_path: Path) -> None:
    with open_scratch(tmp_path / "s"):
        with Stop() as stop:
            stop.requested = signal.SIGINT
            with pytest.raises(Stopped), open_scratch(tmp_path / "s", stop=stop):
                pass
        assert (tmp_path / "s" / SCRATCH_MARKER).exists()
    assert list(tmp_path.iterdir()) == []


def test_two_sweeps_that_plan_in_the_same_instant_get_a_folder_each(tmp_path: Path) -> None:
    """Neither has made its folder yet."""
    experiment = parse_experiment("schema: 1\ntitle: T\ntool: fio\nfixed: {rw: read}\n", "e.yaml")
    with Claim() as first, Claim() as second:
        folders = [scratch_folder(tmp_path, [experiment], claim.take) for claim in (first, second)]
    with open_scratch(folders[0]), Claim() as third:
        folders.append(scratch_folder(tmp_path, [experiment], third.take))
    with Claim() as fourth:
        folders.append(scratch_folder(tmp_path, [experiment], fourth.take))

    here = f"e@{host_name()}"
    assert [folder.name for folder in folders] == [here, f"{here}-2", f"{here}-2", here]
    assert list(tmp_path.iterdir()) == []


def test_hosts_that_share_a_folder_have_a_scratch_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each would believe that it is alone where a lock is seen by one host only; what lies in the other's folder is in use."""
    experiment = parse_experiment("schema: 1\ntitle: T\ntool: fio\nfixed: {rw: read}\n", "e.yaml")
    monkeypatch.setattr("orchestrator.run.scratch.lockfile.acquire", lock_of_this_host_alone)
    names = []
    with ExitStack() as stack:
        for host in ("n1", "n2/login", "n3"):
            monkeypatch.setattr("platform.node", lambda host=host: host)
            names.append(scratch_folder(tmp_path, [experiment], lambda _: True))
            stack.enter_context(open_scratch(names[-1]))
            (names[-1] / "data").touch()
        assert [name.name for name in names] == ["e@n1", "e@n2-login", "e@n3"]
        assert all((name / "data").exists() for name in names)
    assert list(tmp_path.iterdir()) == []


def test_machines_of_one_name_have_a_scratch_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both are called `localhost`, and neither sees the other's lock: what lies in the folder of the first was removed by the second."""
    experiment = parse_experiment("schema: 1\ntitle: T\ntool: fio\nfixed: {rw: read}\n", "e.yaml")
    monkeypatch.setattr("orchestrator.run.scratch.lockfile.acquire", lock_of_this_host_alone)
    monkeypatch.setattr("orchestrator.plan.survey.is_held", lambda _: False)
    here = f"e@{host_name()}"
    with ExitStack() as stack:
        names = []
        for machine in ("a1", "b2", "c3"):
            monkeypatch.setattr("orchestrator.machine.identity.machine", lambda machine=machine: machine)
            names.append(scratch_folder(tmp_path, [experiment]))
            stack.enter_context(open_scratch(names[-1]))
            (names[-1] / "data").touch()
        assert [name.name for name in names] == [here, f"{here}-2", f"{here}-3"]
        assert all((name / "data").exists() for name in names)
        with pytest.raises(UserError) as caught, open_scratch(names[0]):  # planned before the other one began
            pass
        assert "another machine of this name" in caught.value.cause
        assert (names[0] / "data").exists()
    assert list(tmp_path.iterdir()) == []


def lock_of_this_host_alone(path: Path, _patience_s: float = 0.0) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def test_a_sweep_without_scratch_files_makes_no_folder_and_takes_no_lock(tmp_path: Path) -> None:
    theirs = tmp_path / "s"
    theirs.mkdir()
    (theirs / "thesis").touch()
    with open_scratch(theirs, wanted=False) as scratch, Stop() as stop:
        scratch.prepare((), stop)
        assert scratch.watchdog.pid
    assert [path.name for path in theirs.iterdir()] == ["thesis"]


def test_what_a_killed_run_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / SCRATCH_MARKER).touch()
    (tmp_path / "s" / "old.dat").write_bytes(b"x" * 1000)

    with open_scratch(tmp_path / "s"):
        assert not (tmp_path / "s" / "old.dat").exists()


def test_what_other_runs_need_gives_way_where_there_is_no_room_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interleaved cells want all their files at once; each alone fits."""
    folder = tmp_path / "s"
    files = [ScratchFile(path=str(folder / name), size_bytes=1 << 20) for name in "abc"]
    with open_scratch(folder) as scratch, Stop() as stop:
        monkeypatch.setattr(
            "orchestrator.run.scratch.free_bytes",
            lambda path: (2 << 20) - sum(entry.stat().st_size for entry in path.iterdir()),
        )
        for file in (*files, files[0]):
            scratch.prepare((file,), stop)
            assert Path(file.path).stat().st_size == 1 << 20


def test_a_folder_is_empty_each_time(tmp_path: Path) -> None:
    folder = ScratchFile(path=str(tmp_path / "s" / "files"), folder=True)
    with open_scratch(tmp_path / "s") as scratch, Stop() as stop:
        scratch.prepare((folder,), stop)
        (tmp_path / "s" / "files" / "left").touch()
        scratch.prepare((folder,), stop)

        assert list((tmp_path / "s" / "files").iterdir()) == []


def test_a_full_file_system_leaves_no_folder(tmp_path: Path) -> None:
    """A file that may not grow fails in the same place, and needs no file system of its own."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(UserError, match="cannot be made"), open_scratch(tmp_path / "s"):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("failing", ["mkdir", "marker"])
def test_a_disk_without_room_for_a_file_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    root = tmp_path / "pinsweep-scratch"
    if failing == "mkdir":
        root.mkdir()
        monkeypatch.setattr(Path, "mkdir", full)
    else:
        monkeypatch.setattr("orchestrator.machine.lockfile.acquire", full)
    with pytest.raises(UserError, match="No space left"), open_scratch(root / "s"):
        pass

    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from orchestrator.run import scratch
from orchestrator.run.watchdog import Watchdog
from orchestrator.machine import lockfile

pinsweep = os.getpid()

def killed(*_):
    os.kill(pinsweep, signal.SIGKILL)

acquire = lockfile.acquire

def before(*words):
    return killed() if os.getpid() == pinsweep else acquire(*words)

def after(*words):
    return killed(acquire(*words)) if os.getpid() == pinsweep else acquire(*words)

match sys.argv[2]:
    case "between the folder and its marker":
        lockfile.acquire = before
    case "between the marker and its words":
        lockfile.acquire = after
    case "before the watchdog has the lock":
        Watchdog.hold = killed
with scratch.open_scratch(Path(sys.argv[1])):
    killed()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "when",
    [
        "between the folder and its marker",
        "between the marker and its words",
        "before the watchdog has the lock",
        "before the first run",
    ],
)
def test_a_folder_that_was_just_made_is_removed_after_kill_9(tmp_path: Path, when: str) -> None:
    """Before anything was measured: facts about the machine are read then, which takes a second."""
    folder = tmp_path / "pinsweep-scratch" / "s"
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), when], check=False)

    assert done.returncode == -signal.SIGKILL
    until(lambda: not folder.parent.exists())
