"""The job of one host: nothing of a sweep is more than a word in it, and its last line gives the reason."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cluster import folder, nodeset
from orchestrator.cluster.engine import Submission
from orchestrator.cluster.folder import Sweep
from orchestrator.cluster.script import job_script
from orchestrator.cluster.slurm import submission
from parsers.errors import UserError
from tests.waits import until

SWEEP = Sweep(
    id="3f9a12bc",
    folder="/shared/a b",
    via="slurm",
    hosts=("n1", "n2"),
    experiments={"disk.yaml": "0" * 64},
    words=("--only", "a; touch x", "--repeats", "3"),
    sbatch=("-p", "main", "--comment=two words"),
    limits_min={"2:32:2": 12, "2:64:2": 20},
    python="/opt/py/bin/python",
    version="0.2.0",
)


class Job:
    """The job of a sweep in a folder, with a program in the place of Python."""

    def __init__(self, tmp_path: Path) -> None:
        self.shared = tmp_path / "a b"
        self.shared.mkdir()
        (self.shared / "sweep.json").write_text('"n1"')
        self.local = tmp_path / "pinsweep-3f9a12bc-n1"
        self.program = tmp_path / "python"
        self._sweep = dataclasses.replace(SWEEP, folder=str(self.shared), python=str(self.program), local=str(tmp_path))
        self.python("exit 0")

    def python(self, text: str) -> None:
        """Set what the program does."""
        self.program.write_text(f"#!/bin/bash\nlocal={self.local}\n{text}\n")
        self.program.chmod(0o755)

    def start(
        self, *words: str, host: str = "n1", env: dict[str, str] | None = None, **changes: Any
    ) -> subprocess.Popen[str]:
        script = job_script(dataclasses.replace(self._sweep, **changes))
        env = {**os.environ, "PINSWEEP_HOST": host, **(env or {})}
        return subprocess.Popen(["bash", "-c", script, "job", *words], env=env, stdout=subprocess.PIPE, text=True)

    def last_line(self, *words: str, **more: Any) -> str:
        """Run the job; return the last line of its log."""
        with self.start(*words, **more) as process:
            assert process.stdout is not None
            return process.stdout.read().splitlines()[-1]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


def test_every_word_of_a_sweep_is_one_word_of_the_shell(job: Job, tmp_path: Path) -> None:
    job.python('printf "%s\\n" "$@" > "$OUT"')

    last = job.last_line("--more", setup="export OUT=$WHERE", env={"WHERE": str(tmp_path / "out")})

    assert (tmp_path / "out").read_text().splitlines() == [
        *("-P", "-m", "pinsweep", "run", f"{job.shared}/disk.yaml"),
        *("-o", f"{job.local}/n1.db", "--home", f"{job.shared}/n1.db"),
        *("--whole-node", "--only", "a; touch x", "--repeats", "3", "--more"),
    ]
    assert last == "rc=0 complete"
    assert not job.local.exists()


@pytest.mark.parametrize(
    ("setup", "python", "rc", "word"),
    [
        ("false", "exit 0", 2, "--setup failed"),
        ("", "exit 127", 2, "no pinsweep on this host"),
        ("", "echo \"No module named 'pinsweep'\" >&2; exit 1", 2, "(No module named 'pinsweep')"),
        ("python=$dir/another", "exit 127", 0, "complete"),
        ("python=/no/python", "exit 0", 2, "(/no/python: No such file or directory)"),
        ("", '[ "$2" = -c ]', 1, "without a reason"),
        ("", '[ "$2" = -c ] || exit 130', 130, "cancelled"),
        ("", '[ "$2" = -c ] || { echo no fio > $local/reason; exit 3; }', 3, "no fio"),
    ],
)
def test_the_last_line_gives_the_reason(job: Job, setup: str, python: str, rc: int, word: str) -> None:
    job.python(python)
    (job.shared / "another").write_text("#!/bin/sh\n")
    (job.shared / "another").chmod(0o755)

    last = job.last_line(setup=setup)

    assert last.startswith(f"rc={rc} ")
    assert word in last


@pytest.mark.parametrize(
    ("python", "stays"),
    [
        ("echo runs > $local/n1.db; touch $local/is-home; exit 1", False),  # a tool failed
        ("touch $local/is-home; exit 3", False),  # refused before the first run
        ("echo runs > $local/n1.db; exit 4", True),  # the shared file system is full
        ("echo runs > $local/n1.db; kill -9 $$", True),
        ("exit 1", False),  # a Python that does not start
    ],
)
def test_results_stay_on_the_host_until_they_are_sent(job: Job, python: str, stays: bool) -> None:
    job.python(python)
    job.last_line()

    assert job.local.exists() == stays
    if stays:  # a Python that does not start does not remove them
        job.python("exit 1")
        job.last_line()
        assert (job.local / "n1.db").read_text() == "runs\n"


def test_one_job_of_a_host_at_a_time(job: Job, tmp_path: Path) -> None:
    """Slurm gives up a host whose job still runs, and starts another job when the host answers again."""
    job.python(
        f"echo begins >> {tmp_path}/order\n[ -d $local ] || exit 9\n"
        f"until [ -e {tmp_path}/go ]; do sleep 0.02; done\necho ends >> {tmp_path}/order\ntouch $local/is-home"
    )
    with job.start() as first:
        until((tmp_path / "order").exists)
        refused = job.last_line(env={"PINSWEEP_LOCK_S": "0"})
        with job.start() as second:
            assert second.stdout is not None
            second.stdout.readline()  # it has come to the lock, or is about to
            (tmp_path / "go").touch()
            last = second.stdout.read().splitlines()[-1]

    assert refused.startswith("rc=2 another job")
    assert (first.returncode, second.returncode, last) == (0, 0, "rc=0 complete")
    assert (tmp_path / "order").read_text().split() == ["begins", "ends"] * 2
    assert not job.local.exists()


def test_a_folder_that_the_job_before_has_just_removed_is_made_again(job: Job, tmp_path: Path) -> None:
    mkdir = tmp_path / "bin/mkdir"
    mkdir.parent.mkdir()
    mkdir.write_text(f'#!/bin/bash\n[ -e {tmp_path}/gone ] && exec /bin/mkdir "$@"\ntouch {tmp_path}/gone\nexit 1\n')
    mkdir.chmod(0o755)

    assert job.last_line(env={"PATH": f"{mkdir.parent}:{os.environ['PATH']}"}) == "rc=0 complete"


def test_a_folder_that_a_killed_job_was_removing_is_removed(job: Job) -> None:
    half = job.local.with_name(f"{job.local.name}.gone")
    half.mkdir()
    (half / "fio-1.dat").touch()
    job.python("touch $local/is-home")

    assert job.last_line() == "rc=0 complete"
    assert not job.local.exists()
    assert not half.exists()


def test_a_link_in_the_place_of_the_folder_is_not_followed(job: Job, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "is-home").touch()
    (victim / "reason").write_text("another's words")
    job.local.symlink_to(victim)

    assert job.last_line() == f"rc=2 cannot make {job.local}"
    assert len(list(victim.iterdir())) == 2


def test_a_folder_that_is_not_shared_is_named(job: Job, tmp_path: Path) -> None:
    assert job.last_line(folder=str(tmp_path / "nowhere")).startswith(f"rc=2 {tmp_path}/nowhere ")


@pytest.mark.parametrize(
    ("host", "last"), [("n1", "rc=0 complete"), ("n11", "rc=2 n11 is not"), ("n", "rc=2 n is not")]
)
def test_a_host_that_is_not_of_the_sweep_is_refused(job: Job, host: str, last: str) -> None:
    assert job.last_line(host=host).startswith(last)


def test_by_hand_slurm_gets_all_options() -> None:
    lines = [line for line in job_script(SWEEP).splitlines() if line.startswith("#SBATCH")]

    assert lines == [
        "#SBATCH --job-name=pinsweep-3f9a12bc",
        '#SBATCH "--output=/shared/a b/log/%N.%j"',
        "#SBATCH --nodes=1",
        "#SBATCH --exclusive",
        "#SBATCH --mem=0",
        "#SBATCH --no-requeue",
        "#SBATCH --time=20",
        '#SBATCH -p main "--comment=two words"',
    ]


def test_a_submission_pins_its_job() -> None:
    one = Submission(host="n1", lane=2, after="77", limit_min=12, words=("--retry-failed",))

    assert submission(SWEEP, one) == [
        *(
            "sbatch",
            "--parsable",
            "--time=12",
            "-N1",
            "--no-requeue",
            "-w",
            "n1",
            "-J",
            "pinsweep-3f9a12bc-2",
        ),
        *(
            "-D",
            "/",
            "-o",
            "/shared/a b/log/n1.%j",
            "--dependency=singleton,afterok:77",
            "--kill-on-invalid-dep=yes",
        ),
        *("/shared/a b/job.sh", "--retry-failed"),
    ]


@pytest.mark.parametrize("name", ["-n1", "n1;reboot", "$(reboot)", "n1 n2", "../n1", ""])
def test_invalid_names_of_hosts_are_refused(name: str) -> None:
    with pytest.raises(UserError):
        nodeset.check([name])


@pytest.mark.parametrize(
    ("text", "hosts"),
    [("n[08-10],m1", ("m1", "n08", "n09", "n10")), ("n[1-3]!n2", ("n1", "n3")), ("n[1-", None)],
)
def test_a_node_set_is_what_clustershell_makes_of_it(text: str, hosts: tuple[str, ...] | None) -> None:
    if hosts:
        assert nodeset.expand(text) == hosts
    else:
        with pytest.raises(UserError):
            nodeset.expand(text)


def test_without_clustershell_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ClusterShell.NodeSet", None)
    with pytest.raises(UserError) as error:
        nodeset.expand("n1")
    assert "pinsweep[cluster]" in error.value.hint


@pytest.mark.parametrize("text", ["n[1-100000000]", "n[1-200]m[1-200]", "n[1-19999],m[1-2]", f"n[1-{'9' * 400}]"])
def test_too_many_hosts_are_refused_before_their_names_are_made(text: str) -> None:
    with pytest.raises(UserError, match="more than 20000 hosts"):
        nodeset.expand(text)


@pytest.mark.parametrize("path", ["/a\nb", "/a$(b)", '/a"b', "/a%j", "/a\\b", "/a#b", "/a'b"])
def test_folders_that_slurm_would_misread_are_refused(path: str) -> None:
    with pytest.raises(UserError):
        folder.safe_path(Path(path), "-o")
