"""Whether a folder holds the sweep that is requested, and whether it can be trusted."""

from __future__ import annotations

import dataclasses
import json
import os
import pwd
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cluster import begin, folder, results, submit
from orchestrator.cluster.begin import Request
from orchestrator.cluster.engine import Engine, Job, Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.machine import safe_files
from parsers.errors import UserError

USER = pwd.getpwuid(os.getuid()).pw_name
SAME = Request(version="0.2.0")


@pytest.fixture
def acc(tmp_path: Path) -> Sweep:
    """A sweep whose folder was just made."""
    sweep = Sweep(
        id="3f9a12bc",
        folder=str(tmp_path / "acc"),
        via="slurm",
        hosts=("n1", "n2"),
        experiments={"a.yaml": folder.digest("title: a\n")},
        words=("--repeats", "3"),
        user=USER,
        version="0.2.0",
        sbatch=("-p", "main"),
        at_once=4,
    )
    folder.make(sweep, {"a.yaml": "title: a\n"}, "")
    return sweep


class Jobs(Engine):
    """An engine with these jobs: host → phase."""

    def __init__(self, sweep: Sweep, **phases: Any) -> None:
        super().__init__(sweep)
        self._jobs = {host: Job(host=host, id="7", phase=phase, state="") for host, phase in phases.items()}
        self.fetched = False

    def hosts(self, names: Sequence[str]) -> Mapping[str, Any]:
        return {}

    def jobs(self) -> Mapping[str, Job]:
        return self._jobs

    def submit(self, submissions: Iterable[Submission]) -> tuple[dict[str, str], dict[str, str]]:
        raise AssertionError

    def fetch(self, hosts: Sequence[str]) -> None:
        self.fetched = True


def continue_in(where: str | Path, request: Request = SAME, **phases: Any) -> Sweep:
    """Continue the sweep of a folder; return what the folder holds then."""
    before = folder.read(Path(where))
    begin.refuse_other(before, request)
    begin.change(before, begin.continue_sweep(before, request), Jobs(before, **phases))
    return folder.read(Path(where))


def test_the_same_command_and_no_more_than_its_folder_continue(acc: Sweep) -> None:
    begin.refuse_other(acc, SAME)
    whole = dataclasses.replace(
        SAME,
        experiments=(acc.path("a.yaml"),),
        nodes="n1,n2",
        words=("--repeats", "3"),
        sbatch="-p main",
        at_once=4,
    )
    begin.refuse_other(acc, whole)


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        (Request(version="0.3.0"), "0.3.0"),
        (Request(version="0.2.0", nodes="n1"), "hosts"),
        (Request(version="0.2.0", at_once=5), "--at-once"),
        (Request(version="0.2.0", local="/scratch"), "--local"),
    ],
)
def test_another_sweep_is_refused_with_a_name_for_it(acc: Sweep, request_: Request, word: str) -> None:
    with pytest.raises(UserError, match=word) as error:
        begin.refuse_other(acc, request_)
    assert f"{acc.folder}-2/" in error.value.hint


def test_a_sweep_of_another_user_is_refused(acc: Sweep) -> None:
    with pytest.raises(UserError, match="mallory"):
        begin.refuse_other(dataclasses.replace(acc, user="mallory"), SAME)


@pytest.mark.parametrize("name", ["a.yaml", "job.sh"])
def test_an_edited_copy_is_refused(acc: Sweep, name: str) -> None:
    continue_in(acc.folder)
    acc.path(name).write_text("title: b\n")
    with pytest.raises(UserError, match=name):
        continue_in(acc.folder)


def test_sbatch_may_change_at_any_time(acc: Sweep) -> None:
    """A reservation ends, a partition was misspelled: the measurement is the same."""
    now = continue_in(acc.folder, dataclasses.replace(SAME, sbatch="-p short -A acct"), n1="runs")

    assert now == dataclasses.replace(acc, sbatch=("-p", "short", "-A", "acct"))
    assert "#SBATCH -p short -A acct\n" in acc.path("job.sh").read_text()
    assert continue_in(acc.folder) == now
    assert continue_in(acc.folder, dataclasses.replace(SAME, sbatch="")).sbatch == ()


def test_setup_may_change_until_there_are_results(acc: Sweep) -> None:
    request = dataclasses.replace(SAME, setup="python=p")
    with pytest.raises(UserError, match=r"\(1\)") as error:
        continue_in(acc.folder, request, n1="waits", n2="over")
    assert "scancel -n pinsweep-3f9a12bc" in error.value.hint

    assert continue_in(acc.folder, request, n1="over").setup == "python=p"

    assert "\npython=p\n" in acc.path("job.sh").read_text()
    acc.result("n1").touch()
    with pytest.raises(UserError, match="--setup"):
        continue_in(acc.folder, dataclasses.replace(SAME, setup="python=q"))
    assert continue_in(acc.folder, request).setup == "python=p"


def test_a_moved_folder_continues_when_no_job_knows_the_old_place(acc: Sweep, tmp_path: Path) -> None:
    new = tmp_path / "moved"
    Path(acc.folder).rename(new)
    moved = folder.read(new)
    assert (moved.folder, moved.was) == (str(new), acc.folder)
    with pytest.raises(UserError, match=rf"{acc.folder} \(2\)"):
        continue_in(new, n1="waits", n2="runs")

    assert continue_in(new) == dataclasses.replace(acc, folder=str(new))

    assert f"dir=${{PINSWEEP_DIR:-{new}}}" in (new / "job.sh").read_text()


def test_a_copy_is_read_only_and_takes_nothing_from_the_hosts(acc: Sweep, tmp_path: Path) -> None:
    """Its jobs would have the names of the first ones, and fetched results are removed from the hosts."""
    shutil.copytree(acc.folder, tmp_path / "copy")
    copy = folder.read(tmp_path / "copy")

    with pytest.raises(UserError, match=acc.folder):
        continue_in(copy.folder)

    assert (folder.read(tmp_path / "copy"), folder.read(Path(acc.folder))) == (copy, acc)
    for sweep, is_fetched in ((copy, False), (acc, True)):
        engine = Jobs(sweep, n1="runs", n2="runs")
        submit.look(sweep, engine)
        assert engine.fetched == is_fetched


def test_a_link_to_the_folder_is_the_same_place(acc: Sweep, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(acc.folder)

    assert folder.read(tmp_path / "link") == acc


@pytest.mark.parametrize("name", [".", "log", "job.sh", "sweep.json", "a.yaml", "n1.db"])
@pytest.mark.parametrize("change", ["group", "others", "owner", "link"])
def test_a_folder_that_another_user_may_have_changed_starts_no_job(
    acc: Sweep, tmp_path: Path, name: str, change: str
) -> None:
    if change in ("group", "owner") and os.geteuid() != 0:
        pytest.skip("only root gives files away")
    acc.result("n1").touch()
    path = acc.path(name)
    if change == "link":
        path.rename(tmp_path / "target")
        path.symlink_to(tmp_path / "target")
    elif change == "others":
        path.chmod(0o757)
    else:  # anybody may be in a group without a name
        os.chown(path, 12345 if change == "owner" else -1, 12345)
        path.chmod(0o775 if change == "group" else 0o755)
    if name == "." and change == "link":  # the user's own choice
        begin.refuse_other(folder.read(Path(acc.folder)), SAME)
        return

    with pytest.raises(UserError, match=rf"^{acc.folder}.*(belongs|can be written|is a link|holds no sweep)"):
        continue_in(acc.folder)


def test_only_its_owner_can_write_a_new_folder(acc: Sweep, tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        sweep = dataclasses.replace(acc, folder=str(tmp_path / "new"))
        folder.make(sweep, {"a.yaml": "title: a\n"}, "")
    finally:
        os.umask(before)
    begin.refuse_other(folder.read(tmp_path / "new"), SAME)
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(UserError, match="can be written"):
        folder.make(dataclasses.replace(acc, folder=str(tmp_path / "open")), {}, "")
    assert not any((tmp_path / "open").iterdir())


@pytest.mark.parametrize(
    "change",
    [
        {"at_once": 1e18},
        {"at_once": -1},
        {"at_once": [[]]},
        {"limits_min": {"1:1:1": 1e300}},
        {"limits_min": {"1:1:1": float("inf")}},
        {"hosts": [f"n{number}" for number in range(200_000)]},
        {"hosts": ["../x"]},
        {"hosts": 7},
        {"id": "x"},
        {"words": 7},
    ],
)
def test_a_hostile_sweep_json_is_refused(acc: Sweep, change: dict[str, object]) -> None:
    path = acc.path("sweep.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))

    with pytest.raises(UserError, match=f"^{path}: "):
        folder.read(Path(acc.folder))


@pytest.mark.parametrize("kind", ["fifo", "deep", "large", "device", "link"])
def test_special_and_huge_files_are_not_read(acc: Sweep, kind: str) -> None:
    for path in (acc.path("sweep.json"), acc.path(folder.REFUSALS), acc.path("log", "n1.7")):
        path.unlink(missing_ok=True)
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "deep":
            path.write_text("[" * 200_000)
        elif kind == "large":
            with path.open("wb") as stream:
                stream.truncate(1 << 40)
        else:
            path.symlink_to("/dev/zero" if kind == "device" else path)

    with pytest.raises(UserError):
        folder.read(Path(acc.folder))
    assert folder.read_refusals(acc) == {}
    assert results.read_logs(acc.path("log"))["n1"].rc is None


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    victim, part = tmp_path / "victim", tmp_path / ".x.part"
    victim.write_text("precious")
    part.symlink_to(victim)

    with safe_files.create(part) as stream:
        stream.write(b"new")

    assert (victim.read_text(), part.read_text(), part.is_symlink()) == ("precious", "new", False)


@pytest.mark.parametrize(
    "text", ["-a 1-3", "-a1-3", "--array=1-3", "--arr 1", "--comment='a b", "-C a#b", "--comment='\"x'"]
)
def test_options_of_sbatch_that_a_job_of_one_host_cannot_have_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="--sbatch"):
        begin.split_sbatch(text)


def test_the_hosts_of_a_sweep_are_reached_again_as_they_were(acc: Sweep) -> None:
    assert begin.engine_words(acc) == ("--via=slurm", "--sbatch=-p main", "--at-once=4")
    assert begin.engine_words(acc, "ssh") == ("--via=ssh", "--at-once=4")


def test_one_process_at_a_time_submits_jobs(acc: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "_LOCK_S", 0.0)
    with folder.lock(acc), pytest.raises(UserError, match=acc.folder), folder.lock(acc):
        pass
    with folder.lock(acc):
        pass


def test_the_second_of_two_that_begin_a_sweep_changes_nothing(acc: Sweep) -> None:
    with pytest.raises(UserError, match=acc.folder):
        folder.make(dataclasses.replace(acc, id="00000000"), {"a.yaml": "title: b\n"}, "echo other")

    assert folder.read(Path(acc.folder)) == acc
    begin.refuse_other(acc, SAME)
