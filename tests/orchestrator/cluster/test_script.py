"""The job of one host: what stands in it, and that nothing of a sweep is more than a word there."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from pathlib import Path

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


def test_every_word_of_a_sweep_is_one_word_of_the_shell(tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$OUT"\n')
    fake.chmod(0o755)
    shared = tmp_path / "a b"
    shared.mkdir()
    (shared / "sweep.json").write_text('"n1"')
    script = job_script(
        dataclasses.replace(
            SWEEP, folder=str(shared), python=str(fake), local=str(tmp_path), setup="export OUT=$WHERE"
        )
    )
    env = {**os.environ, "PINSWEEP_HOST": "n1", "WHERE": str(tmp_path / "out")}

    done = subprocess.run(
        ["bash", "-c", script, "job", "--more"], env=env, capture_output=True, text=True, check=False
    )

    words = (tmp_path / "out").read_text().splitlines()
    assert words[:4] == ["-P", "-m", "pinsweep", "run"]
    assert words[4:9] == [
        f"{shared}/disk.yaml",
        "-o",
        f"{tmp_path}/pinsweep-3f9a12bc-n1/n1.db",
        "--home",
        f"{shared}/n1.db",
    ]
    assert words[9:] == ["--whole-node", "--only", "a; touch x", "--repeats", "3", "--more"]
    assert done.stdout.splitlines()[-1] == "rc=0 complete"
    assert not (tmp_path / "pinsweep-3f9a12bc-n1").exists()


@pytest.mark.parametrize(
    ("setup", "python", "last"),
    [
        ("false", "exit 0", "rc=2 --setup failed"),
        ("", "exit 127", "rc=2 no pinsweep on this host (): install it here at this path, or --setup 'python=ITS PYTHON'"),
        ("", "echo Traceback >&2; echo \"No module named 'pinsweep'\" >&2; exit 1", "rc=2 no pinsweep on this host (No module named 'pinsweep'): install it here at this path, or --setup 'python=ITS PYTHON'"),
        ("python=$dir/another", "exit 127", "rc=0 complete"),
        ("python=/no/python", "exit 0", "rc=2 no pinsweep on this host (/no/python: No such file or directory): install it here at this path, or --setup 'python=ITS PYTHON'"),
        ("", '[ "$2" = -c ]', "rc=1 pinsweep ended without a word"),
        ("", '[ "$2" = -c ] || exit 130', "rc=130 stopped: cancelled, or out of time"),
    ],
)  # fmt: skip
def test_the_last_line_says_why(tmp_path: Path, setup: str, python: str, last: str) -> None:
    (tmp_path / "sweep.json").write_text('"n1"')
    for name, text in (("python", python), ("another", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    python = str(tmp_path / "python")
    script = job_script(
        dataclasses.replace(SWEEP, folder=str(tmp_path), python=python, local=str(tmp_path), setup=setup)
    )

    env = {**os.environ, "PINSWEEP_HOST": "n1"}
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, check=False)

    assert done.stdout.splitlines()[-1] == last
    assert done.returncode == int(last.split()[0][3:])


@pytest.mark.parametrize(
    ("before_it_ends", "stays"),
    [
        ('echo runs > "$l/$PINSWEEP_HOST.db"; touch "$l/is-home"; exit 1', False),  # a tool failed; sent home
        ('touch "$l/is-home"; exit 3', False),  # refused before the first run
        ('echo runs > "$l/$PINSWEEP_HOST.db"; exit 4', True),  # home is full
        ('echo runs > "$l/$PINSWEEP_HOST.db"; kill -9 $$', True),
        ("exit 1", False),  # an interpreter that does not start; nothing is there
    ],
)
def test_results_stay_on_the_host_until_they_are_home(
    tmp_path: Path, before_it_ends: str, stays: bool
) -> None:
    (tmp_path / "sweep.json").write_text('"n1"')
    local = tmp_path / "pinsweep-3f9a12bc-n1"
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/bash\nl={local}\n{before_it_ends}\n")
    fake.chmod(0o755)
    script = job_script(
        dataclasses.replace(SWEEP, folder=str(tmp_path), python=str(fake), local=str(tmp_path))
    )

    subprocess.run(["bash", "-c", script], env={**os.environ, "PINSWEEP_HOST": "n1"}, check=False)

    assert local.exists() == stays
    if stays:  # a Python that does not start does not take them with it
        fake.write_text("#!/bin/sh\nexit 1\n")
        subprocess.run(["bash", "-c", script], env={**os.environ, "PINSWEEP_HOST": "n1"}, check=False)
        assert (local / "n1.db").read_text() == "runs\n"


def test_one_job_of_a_host_at_a_time(tmp_path: Path) -> None:
    """As where Slurm has given up a host whose job runs on, and starts another one when it answers again."""
    (tmp_path / "sweep.json").write_text('"n1"')
    fake = tmp_path / "python"
    local = tmp_path / "pinsweep-3f9a12bc-n1"
    fake.write_text(
        f"#!/bin/bash\necho begins >> {tmp_path}/order\n[ -d {local} ] || exit 9\n"
        f"until [ -e {tmp_path}/go ]; do sleep 0.02; done\necho ends >> {tmp_path}/order\ntouch {local}/is-home\n"
    )
    fake.chmod(0o755)
    script = job_script(
        dataclasses.replace(SWEEP, folder=str(tmp_path), python=str(fake), local=str(tmp_path))
    )
    env = {**os.environ, "PINSWEEP_HOST": "n1"}
    order = tmp_path / "order"
    with subprocess.Popen(["bash", "-c", script], env=env) as first:
        until(order.exists)
        refused = subprocess.run(["bash", "-c", script], env={**env, "PINSWEEP_LOCK_S": "0"}, capture_output=True, text=True, check=False)  # fmt: skip
        with subprocess.Popen(["bash", "-c", script], env=env, stdout=subprocess.PIPE, text=True) as second:
            assert second.stdout is not None
            second.stdout.readline()  # it has come as far as the lock, or is about to
            (tmp_path / "go").touch()
            last = second.stdout.read().splitlines()[-1]

    assert refused.stdout.splitlines()[-1] == "rc=2 another job of this sweep still runs on this host"
    assert (first.returncode, second.returncode, last) == (0, 0, "rc=0 complete")
    assert order.read_text().split() == ["begins", "ends"] * 2
    assert not local.exists()


def test_a_folder_that_the_job_before_removes_meanwhile_is_made_again(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('"n1"')
    there_and_gone = tmp_path / "bin/mkdir"
    there_and_gone.parent.mkdir()
    there_and_gone.write_text(
        f'#!/bin/bash\nif [ -e {tmp_path}/gone ]; then exec /bin/mkdir "$@"; fi\ntouch {tmp_path}/gone\nexit 1\n'
    )
    there_and_gone.chmod(0o755)
    script = job_script(dataclasses.replace(SWEEP, folder=str(tmp_path), python="true", local=str(tmp_path)))

    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PINSWEEP_HOST": "n1", "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.splitlines()[-1] == "rc=0 complete"


def test_what_a_job_that_was_killed_while_it_removed_its_folder_has_left_is_in_nobodys_way(
    tmp_path: Path,
) -> None:
    (tmp_path / "sweep.json").write_text('"n1"')
    local = tmp_path / "pinsweep-3f9a12bc-n1"
    left = tmp_path / "pinsweep-3f9a12bc-n1.gone"
    left.mkdir()
    (left / "fio-1.dat").touch()
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/bash\ntouch {local}/is-home\n")
    fake.chmod(0o755)
    script = job_script(
        dataclasses.replace(SWEEP, folder=str(tmp_path), python=str(fake), local=str(tmp_path))
    )

    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PINSWEEP_HOST": "n1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout.splitlines()[-1], done.stderr) == ("rc=0 complete", "")
    assert not local.exists()
    assert not left.exists()


def test_a_folder_that_somebody_else_put_in_its_place_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "sweep.json").write_text('"n1"')
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "is-home").touch()
    (elsewhere / "reason").write_text("another's words")
    (tmp_path / "pinsweep-3f9a12bc-n1").symlink_to(elsewhere)
    script = job_script(dataclasses.replace(SWEEP, folder=str(tmp_path), local=str(tmp_path)))

    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PINSWEEP_HOST": "n1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert re.search(r"rc=2 cannot make .*-n1\n$", done.stdout)
    assert len(list(elsewhere.iterdir())) == 2


def test_a_folder_that_is_not_shared_is_named(tmp_path: Path) -> None:
    script = job_script(dataclasses.replace(SWEEP, folder=str(tmp_path / "elsewhere")))

    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)

    assert re.search(r"rc=2 .*elsewhere is not there: not shared with ", done.stdout)


def test_a_host_that_is_not_of_the_sweep_is_refused(tmp_path: Path) -> None:
    """`sbatch -w n3 job.sh` left an n3.db that nobody looked at."""
    sweep = dataclasses.replace(SWEEP, folder=str(tmp_path / "acc"), local=str(tmp_path), python="true")
    folder.make(sweep, {}, "")
    said = {
        host: subprocess.run(
            ["bash", "-c", job_script(sweep)], env={**os.environ, "PINSWEEP_HOST": host}, capture_output=True, text=True, check=False
        ).stdout.splitlines()[-1]
        for host in ("n1", "n11", "n")
    }  # fmt: skip

    assert said == {
        "n1": "rc=0 complete",
        "n11": "rc=2 n11 is no host of this sweep; PINSWEEP_HOST=NAME says what it is called there",
        "n": "rc=2 n is no host of this sweep; PINSWEEP_HOST=NAME says what it is called there",
    }
    assert not list(tmp_path.glob("pinsweep-*"))


def test_by_hand_slurm_is_told_all_it_needs() -> None:
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


def test_what_submits_a_job_pins_it() -> None:
    one = Submission(host="n1", lane=2, after="77", limit_min=12, words=("--retry-failed",))

    words = submission(SWEEP, one)

    assert words == [
        "sbatch", "--parsable", "--time=12", "-N1", "--no-requeue", "-w", "n1", "-J", "pinsweep-3f9a12bc-2", "-D", "/",
        "-o", "/shared/a b/log/n1.%j", "--dependency=singleton,afterok:77", "--kill-on-invalid-dep=yes",
        "/shared/a b/job.sh", "--retry-failed",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["-n1", "n1;reboot", "$(reboot)", "n1 n2", "../n1", ""])
def test_what_no_host_can_be_called_goes_no_further(name: str) -> None:
    with pytest.raises(UserError):
        nodeset.checked([name])


@pytest.mark.parametrize("text", ["[" * 200_000, ",".join(["n"] * 200_000)], ids=["brackets", "commas"])
def test_the_size_of_a_long_node_set_takes_no_time(text: str) -> None:
    assert nodeset._size_of(text) in (1, 200_000)


@pytest.mark.parametrize(
    "text", ["n[1-100000000]", "n[1-200]m[1-200]", "n[1-19999],m[1-2]", f"n[1-{'9' * 400}]"]
)
def test_more_hosts_than_a_sweep_can_have_are_refused_before_they_are_made(text: str) -> None:
    with pytest.raises(UserError, match="more than 20000 hosts"):
        nodeset.expand(text)


@pytest.mark.parametrize("path", ["/a\nb", "/a$(b)", '/a"b', "/a%j", "/a\\b", "/a#b", "/a'b"])
def test_folders_that_slurm_would_misread_are_refused(path: str) -> None:
    with pytest.raises(UserError):
        folder.safe(Path(path), "-o")
