"""Whether a folder holds the sweep that is asked for."""

from __future__ import annotations

import dataclasses
import json
import os
import pwd
import shutil
from pathlib import Path
from typing import Literal

import pytest

from orchestrator.cluster import begin, folder, logs, submit
from orchestrator.cluster.begin import Wanted
from orchestrator.cluster.engine import Job
from orchestrator.cluster.folder import Sweep
from orchestrator.machine import safe_files
from parsers.errors import UserError

Phase = Literal["waits", "runs", "over"]

HERE = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    (tmp_path / "a.yaml").write_text("title: a\n")
    return Sweep(
        id="3f9a12bc", folder=str(tmp_path), via="slurm", hosts=("n1", "n2"),
        experiments={"a.yaml": folder.digest("title: a\n")}, words=("--repeats", "3"), user=HERE, version="0.2.0",
        sbatch=("-p", "main"), at_once=4,
    )  # fmt: skip


def test_the_same_command_and_no_more_than_its_folder_go_on(sweep: Sweep) -> None:
    path = sweep.path("a.yaml")
    begin.refuse_other(sweep, Wanted(version="0.2.0"))
    begin.refuse_other(
        sweep,
        Wanted(version="0.2.0", experiments=(path,), nodes="n1,n2", words=("--repeats", "3"), sbatch="-p main", at_once=4),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Wanted(version="0.3.0"), "was begun by pinsweep 0.2.0, this is 0.3.0"),
        (Wanted(version="0.2.0", nodes="n1"), "other hosts"),
        (Wanted(version="0.2.0", at_once=5), "another --at-once"),
    ],
)
def test_another_sweep_is_refused_and_what_begins_it_is_said(sweep: Sweep, other: Wanted, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        begin.refuse_other(sweep, other)
    assert f"{sweep.folder}-2/" in error.value.hint


class Jobs:
    """An Engine of which these jobs are known, host → phase."""

    def __init__(self, **phases: Phase) -> None:
        self._jobs = {host: Job(host=host, id="7", phase=phase, state="") for host, phase in phases.items()}
        self.fetched = False

    def jobs(self) -> dict[str, Job]:
        return self._jobs

    def fetch(self, _: object) -> None:
        self.fetched = True

    def ended(self, _: object) -> dict[str, Job]:
        return {}


def gone_on(sweep: Sweep, wanted: Wanted, **phases: Phase) -> Sweep:
    """Go on with what is in the folder of a sweep; return what is there then."""
    before = folder.read(Path(sweep.folder))
    begin.refuse_other(before, wanted)
    begin.change(before, begin.going_on(before, wanted), Jobs(**phases))  # type: ignore[arg-type]
    return folder.read(Path(sweep.folder))


def made(sweep: Sweep, where: Path) -> Sweep:
    sweep = dataclasses.replace(sweep, folder=str(where))
    folder.make(sweep, {"a.yaml": "title: a\n"}, "")
    return sweep


def test_what_a_site_wants_of_jobs_may_change_and_the_rest_stays(sweep: Sweep, tmp_path: Path) -> None:
    """A reservation ends, a partition was misspelled: what is measured is the same."""
    acc = made(sweep, tmp_path / "acc")

    now = gone_on(acc, Wanted(version="0.2.0", sbatch="-p short -A acct"), n1="runs")

    assert now == dataclasses.replace(acc, sbatch=("-p", "short", "-A", "acct"))
    assert "#SBATCH -p short -A acct\n" in acc.path("job.sh").read_text()
    assert gone_on(acc, Wanted(version="0.2.0")) == now
    assert gone_on(acc, Wanted(version="0.2.0", sbatch="")).sbatch == ()


def test_set_up_may_change_until_something_has_come_home(sweep: Sweep, tmp_path: Path) -> None:
    acc = made(sweep, tmp_path / "acc")
    with pytest.raises(UserError, match=r"has jobs that wait or run with the earlier --setup \(1\)") as error:
        gone_on(acc, Wanted(version="0.2.0", setup="python=p"), n1="waits", n2="over")
    assert "scancel -n pinsweep-3f9a12bc" in error.value.hint

    assert gone_on(acc, Wanted(version="0.2.0", setup="python=p"), n1="over").setup == "python=p"

    assert "\npython=p\n" in acc.path("job.sh").read_text()
    acc.result("n1").touch()
    with pytest.raises(UserError, match="another --setup, and has results of it"):
        gone_on(acc, Wanted(version="0.2.0", setup="python=q"))
    assert gone_on(acc, Wanted(version="0.2.0", setup="python=p")).setup == "python=p"


def test_a_folder_that_was_moved_goes_on_where_it_is(sweep: Sweep, tmp_path: Path) -> None:
    old, new = tmp_path / "acc", tmp_path / "moved"
    acc = made(sweep, old)
    old.rename(new)
    moved = folder.read(new)
    assert (moved.folder, moved.was) == (str(new), str(old))
    with pytest.raises(UserError, match=rf"has jobs that wait or run for {old} \(2\)"):
        gone_on(moved, Wanted(version="0.2.0"), n1="waits", n2="runs")

    assert gone_on(moved, Wanted(version="0.2.0")) == dataclasses.replace(acc, folder=str(new))

    assert f"dir=${{PINSWEEP_DIR:-{new}}}" in (new / "job.sh").read_text()


def test_a_copy_is_refused_and_changes_nothing(sweep: Sweep, tmp_path: Path) -> None:
    """Its jobs would be those of the first one, by their name, and go there."""
    acc = made(sweep, tmp_path / "acc")
    shutil.copytree(acc.folder, tmp_path / "copy")
    copy = folder.read(tmp_path / "copy")

    with pytest.raises(UserError, match=f"is a copy: the sweep, and what its jobs bring, is in {acc.folder}"):
        gone_on(copy, Wanted(version="0.2.0"))

    assert folder.read(tmp_path / "copy") == copy
    assert folder.read(tmp_path / "acc") == acc


def test_who_looks_at_a_copy_takes_nothing_from_the_hosts(sweep: Sweep, tmp_path: Path) -> None:
    """What a host without the folder has measured is removed there once it was fetched: into the sweep's own folder."""
    acc = made(sweep, tmp_path / "acc")
    shutil.copytree(acc.folder, tmp_path / "copy")
    engine = Jobs(n1="runs", n2="runs")

    submit.look(folder.read(tmp_path / "copy"), engine)  # type: ignore[arg-type]
    assert not engine.fetched
    submit.look(folder.read(tmp_path / "acc"), engine)  # type: ignore[arg-type]
    assert engine.fetched


def test_another_name_of_the_folder_is_no_other_place(sweep: Sweep, tmp_path: Path) -> None:
    """The hosts may know that one alone: /home is a link here."""
    acc = made(sweep, tmp_path / "acc")
    (tmp_path / "link").symlink_to(acc.folder)

    assert folder.read(tmp_path / "link") == acc


def test_a_sweep_of_somebody_else_is_refused(sweep: Sweep) -> None:
    with pytest.raises(UserError, match="is a sweep of mallory, whose jobs nobody else can start"):
        begin.refuse_other(dataclasses.replace(sweep, user="mallory"), Wanted(version="0.2.0"))


@pytest.mark.parametrize("name", ["a.yaml", "job.sh"])
def test_an_edited_copy_is_refused(sweep: Sweep, tmp_path: Path, name: str) -> None:
    acc = made(sweep, tmp_path / "acc")
    gone_on(acc, Wanted(version="0.2.0"))
    acc.path(name).write_text("title: b\n")
    with pytest.raises(UserError, match="is not what the sweep began with"):
        gone_on(acc, Wanted(version="0.2.0"))


@pytest.mark.parametrize("name", [".", "log", "job.sh", "sweep.json", "a.yaml", "n1.db"])
@pytest.mark.parametrize("change", ["group", "others", "owner", "link"])
def test_a_folder_that_another_user_may_have_changed_starts_no_job(
    sweep: Sweep, tmp_path: Path, name: str, change: str
) -> None:
    if change in ("group", "owner") and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    acc = made(sweep, tmp_path / "acc")
    acc.result("n1").touch()
    path = acc.path(name)
    if change == "link":
        path.rename(tmp_path / "there")
        path.symlink_to(tmp_path / "there")
    elif change == "others":
        path.chmod(0o757)
    else:
        os.chown(
            path, 12345 if change == "owner" else -1, 12345
        )  # a group without a name: anybody may be in it
        path.chmod(0o775 if change == "group" else 0o755)
    if name == "." and change == "link":  # the user's own choice
        begin.refuse_other(folder.read(Path(acc.folder)), Wanted(version="0.2.0"))
        return

    with pytest.raises(UserError, match=rf"^{path}: (belongs|can be written|is a link|cannot be read)"):
        gone_on(acc, Wanted(version="0.2.0"))


def test_a_folder_is_made_so_that_only_its_owner_writes_it(sweep: Sweep, tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        acc = made(sweep, tmp_path / "acc")
    finally:
        os.umask(before)
    begin.refuse_other(folder.read(Path(acc.folder)), Wanted(version="0.2.0"))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(UserError, match="can be written"):
        made(sweep, tmp_path / "open")
    assert not any((tmp_path / "open").iterdir())


@pytest.mark.parametrize(
    "change",
    [
        {"at_once": 1e18}, {"at_once": -1}, {"at_once": [[]]}, {"limits_min": {"1:1:1": 1e300}}, {"limits_min": {"1:1:1": float("inf")}},
        {"hosts": [f"n{number}" for number in range(200_000)]}, {"hosts": ["../x"]}, {"hosts": 7}, {"id": "x"}, {"words": 7},
    ],
)  # fmt: skip
def test_a_strangers_sweep_is_refused(sweep: Sweep, tmp_path: Path, change: dict[str, object]) -> None:
    acc = made(sweep, tmp_path / "acc")
    path = acc.path("sweep.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))

    with pytest.raises(UserError, match=f"^{path}: "):
        folder.read(Path(acc.folder))


@pytest.mark.parametrize("what", ["fifo", "deep", "large", "device", "link"])
def test_what_is_no_file_of_pinsweep_is_not_waited_for(sweep: Sweep, tmp_path: Path, what: str) -> None:
    acc = made(sweep, tmp_path / "acc")
    for path in (acc.path("sweep.json"), acc.path(folder.REFUSED), acc.path("log", "n1.7")):
        path.unlink(missing_ok=True)
        if what == "fifo":
            os.mkfifo(path)
        elif what == "deep":
            path.write_text("[" * 200_000)
        elif what == "large":
            with path.open("wb") as stream:
                stream.truncate(1 << 40)
        else:
            path.symlink_to("/dev/zero" if what == "device" else path)

    with pytest.raises(UserError):
        folder.read(Path(acc.folder))
    assert folder.refused(acc) == {}
    assert logs.read(acc.path("log"))["n1"].rc is None


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    part = tmp_path / ".x.part"
    part.symlink_to(victim)

    with safe_files.create(part) as stream:
        stream.write(b"new")

    assert (victim.read_text(), part.read_text(), part.is_symlink()) == ("precious", "new", False)


@pytest.mark.parametrize(
    "text", ["-a 1-3", "-a1-3", "--array=1-3", "--arr 1", "--comment='a b", "-C a#b", "--comment='\"x'"]
)
def test_words_of_sbatch_that_a_job_of_one_host_cannot_have_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="--sbatch"):
        begin.sbatch_words(text)


def test_the_hosts_of_a_sweep_are_reached_again_as_they_were(sweep: Sweep) -> None:
    assert begin.engine_words(sweep) == ("--via=slurm", "--sbatch=-p main", "--at-once=4")
    assert begin.engine_words(sweep, "ssh") == ("--via=ssh", "--at-once=4")


def test_one_at_a_time_submits_jobs_of_a_sweep(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "_LOCK_S", 0.0)
    with (
        folder.lock(sweep),
        pytest.raises(UserError, match="another pinsweep submits jobs"),
        folder.lock(sweep),
    ):
        pass
    with folder.lock(sweep):
        pass


def test_the_second_of_two_that_begin_a_sweep_changes_nothing(sweep: Sweep, tmp_path: Path) -> None:
    acc = made(sweep, tmp_path / "acc")

    with pytest.raises(UserError, match="another sweep was begun here"):
        folder.make(dataclasses.replace(acc, id="00000000"), {"a.yaml": "title: b\n"}, "echo other")

    assert folder.read(Path(acc.folder)) == acc
    begin.refuse_other(acc, Wanted(version="0.2.0"))
