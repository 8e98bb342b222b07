"""`run --tune` on trees of machines that this one is not: set, put back, left by a kill -9, and what a state file must not do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.run import tuning
from orchestrator.run.tuning import Change, current, facts_after, needed, restore, tuned
from parsers.errors import UserError
from tests.waits import PATIENCE_S, until

ROOT = Path(__file__).resolve().parents[3]
CPUFREQ = "sys/devices/system/cpu/cpufreq"
BALANCING = "proc/sys/kernel/numa_balancing"

TUNE = """
import os, sys
from pathlib import Path
from orchestrator.run.tuning import tuned
with tuned(Path("a.db"), root=Path(sys.argv[1])):
    print("tuned", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_folder(runtime: Path) -> None:
    """No state of this machine's is read or written."""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Two policies under powersave, one under performance, balancing on."""
    root = tmp_path / "machine"
    for policy, governor in (("policy0", "powersave"), ("policy1", "performance"), ("policy12", "powersave")):
        folder = root / CPUFREQ / policy
        folder.mkdir(parents=True)
        (folder / "scaling_governor").write_text(f"{governor}\n")
        (folder / "scaling_available_governors").write_text("performance powersave \n")
    (root / BALANCING).parent.mkdir(parents=True)
    (root / BALANCING).write_text("1\n")
    return root


def values(root: Path) -> list[str]:
    found = [root / BALANCING, *sorted(root.glob(f"{CPUFREQ}/*/scaling_governor"))]
    return [path.read_text().strip() for path in found]


ASKED = ["1", "powersave", "performance", "powersave"]
SET = ["0", "performance", "performance", "performance"]


def killed(root: Path) -> None:
    """Leave a machine as a `run --tune` leaves it that is killed, with its watchdog, in the middle."""
    process = subprocess.Popen(
        [sys.executable, "-c", TUNE, root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "tuned\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()


def test_what_is_needed_is_set_and_put_back(machine: Path, runtime: Path) -> None:
    said: list[str] = []
    assert values(machine) == ASKED

    with tuned(Path("a.db"), said.append, machine) as done:
        assert values(machine) == SET
        assert len(done.keep) == 1
        state = current()
        assert state is not None
        assert (state.in_use, state.pid, state.changes) == (True, os.getpid(), done.changes)
        assert facts_after(done.changes) == {"governor": "performance", "numa_balancing": "off"}

    assert values(machine) == ASKED
    assert said == [
        "CPU frequency governor powersave → performance (2 policies), automatic NUMA balancing 1 → 0, until the end"
    ]
    assert current() is None
    assert not list(runtime.iterdir())


def test_an_error_inside_puts_it_back_too(machine: Path) -> None:
    with pytest.raises(ZeroDivisionError), tuned(Path("a.db"), root=machine):
        raise ZeroDivisionError

    assert values(machine) == ASKED


def test_what_a_kill_9_leaves_is_told_and_put_back(machine: Path, runtime: Path) -> None:
    killed(machine)

    assert values(machine) == SET
    state = current()
    assert state is not None
    assert not state.in_use
    assert re.fullmatch(r"pid \d+, since 2\d{3}-\d\d-\d\d \d\d:\d\d UTC, result file /.*a\.db", str(state))
    done, left = restore(machine)
    assert (done, left) == (
        "put back: CPU frequency governor performance → powersave (2 policies), automatic NUMA balancing 0 → 1",
        (),
    )
    assert values(machine) == ASKED
    assert restore(machine) == ("nothing to put back", ())
    assert not list(runtime.iterdir())


def test_the_next_tuned_run_remembers_what_was_before_the_killed_one(machine: Path) -> None:
    killed(machine)
    said: list[str] = []

    with tuned(Path("b.db"), said.append, machine):
        assert values(machine) == SET

    assert values(machine) == ASKED
    assert "was put back first" in said[0]


def test_what_somebody_else_set_meanwhile_is_left_and_told(machine: Path) -> None:
    said: list[str] = []
    governor = machine / CPUFREQ / "policy0" / "scaling_governor"

    with tuned(Path("a.db"), said.append, machine):
        governor.write_text("schedutil\n")

    assert values(machine) == ["1", "schedutil", "performance", "powersave"]
    assert "another program set schedutil" in said[1]


def test_two_runs_do_not_tune_at_once(machine: Path) -> None:
    with tuned(Path("a.db"), root=machine):
        with (
            pytest.raises(UserError, match=f"another `pinsweep run --tune` has tuned it .pid {os.getpid()},"),
            tuned(Path("b.db"), root=machine),
        ):
            pass
        with pytest.raises(UserError, match="another"):
            restore(machine)
        assert values(machine) == SET


def test_a_tuned_machine_needs_nothing(machine: Path, runtime: Path) -> None:
    for path in machine.glob(f"{CPUFREQ}/*/scaling_governor"):
        path.write_text("performance\n")
    (machine / BALANCING).write_text("2\n")  # tiering: where memory lies is meant so
    said: list[str] = []

    with tuned(Path("a.db"), said.append, machine) as done:
        assert done.changes == ()

    assert said == ["nothing to change"]
    assert values(machine) == ["2", "performance", "performance", "performance"]
    assert needed(machine / "none") == ()


@pytest.mark.parametrize(
    ("governor", "offered", "said"),
    [
        ("schedutil", "ondemand schedutil", "does not offer performance"),
        ("userspace", "userspace performance", "a user chose a frequency"),
    ],
)
def test_a_governor_that_cannot_or_must_not_be_changed_is_refused(
    governor: str, offered: str, said: str, machine: Path
) -> None:
    folder = machine / CPUFREQ / "policy12"
    (folder / "scaling_governor").write_text(governor)
    (folder / "scaling_available_governors").write_text(offered)

    with pytest.raises(UserError, match=said), tuned(Path("a.db"), root=machine):
        pass
    assert values(machine)[:2] == ["1", "powersave"]


def test_without_rights_nothing_is_changed(machine: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel refuses by file, root included where /sys is mounted read-only; here access(2) answers for it."""
    monkeypatch.setattr(tuning.os, "access", lambda path, _how: "policy12" not in str(path))

    with pytest.raises(UserError) as refused, tuned(Path("a.db"), root=machine):
        pass

    assert "policy12/scaling_governor cannot be written" in str(refused.value)
    assert refused.value.hint == "run as root, or leave --tune out"
    assert values(machine) == ASKED
    assert not runtime.exists()


def test_a_change_that_fails_half_way_is_taken_back(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tuning._set

    def refuse(path: Path, value: str) -> None:
        if path.name == "numa_balancing":
            raise PermissionError(1, "Operation not permitted")
        real(path, value)

    monkeypatch.setattr(tuning, "_set", refuse)
    with pytest.raises(UserError, match="cannot be set to 0: Operation not permitted"), tuned(Path("a.db"), root=machine):  # fmt: skip
        pass
    assert values(machine) == ASKED
    assert current() is None


EVIL = Change(path="../../etc/passwd", was="root", now="x")


@pytest.mark.parametrize(
    "text",
    [
        "", '{"pid": 1, "cha', "[]", '{"changes": [[]]}', "[" * 50000,
        json.dumps({"pid": 1, "since": "", "file": "", "changes": [{"path": EVIL.path, "was": "a", "now": "b"}]}),
        json.dumps({"pid": 1, "since": "", "file": "", "changes": [{"path": BALANCING, "was": "1\n0", "now": "0"}]}),
    ],
    ids=lambda text: text[-20:],
)  # fmt: skip
def test_a_file_cut_short_or_with_other_paths_changes_nothing(text: str, machine: Path, runtime: Path) -> None:
    runtime.mkdir()
    (runtime / tuning.STATE).write_text(text)

    assert current() is None
    assert restore(machine) == ("nothing to put back", ())
    with tuned(Path("a.db"), root=machine):
        assert values(machine) == SET
    assert values(machine) == ASKED


def test_a_state_file_that_others_could_write_is_not_believed(machine: Path, runtime: Path, tmp_path: Path) -> None:
    killed(machine)
    (runtime / tuning.STATE).chmod(0o666)

    assert current() is None
    with pytest.raises(UserError, match="other users can write"), tuned(Path("a.db"), root=machine):
        pass

    (runtime / tuning.STATE).rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").chmod(0o644)
    (runtime / tuning.STATE).symlink_to(tmp_path / "elsewhere")
    assert current() is None
    with pytest.raises(UserError, match="cannot be opened"), tuned(Path("a.db"), root=machine):
        pass


# --- the commands ------------------------------------------------------------------------------------------

MAIN = """
import sys
from pathlib import Path
from orchestrator.run import tuning
root = Path(sys.argv.pop(1))
for function in (tuning.needed, tuning.tuned.__wrapped__, tuning.restore):
    function.__defaults__ = (*function.__defaults__[:-1], root)
from pinsweep.__main__ import main
main()
"""
"""pinsweep with the kernel's files of another machine."""

ECHO = """\
schema: 1
title: Echo
tool: command
fixed:
  command: sh -c 'sleep {seconds}; cat %s'
  seconds: %s
  metrics: {n: {regex: "([0-9]+)"}}
matrix: {i: [1, 2]}
repeats: 1
"""


def command(*words: str | Path, cwd: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *map(str, words)], cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )  # fmt: skip


@pytest.fixture
def _away(home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in home.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
@pytest.mark.usefixtures("_away")
def test_a_tuned_run_measures_the_tuned_machine_and_says_so(machine: Path, tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(ECHO % (machine / BALANCING, 0.01))

    done = command(machine, "run", "e.yaml", "-o", "e.db", "--tune", cwd=tmp_path)
    _, said = done.communicate(timeout=PATIENCE_S)

    assert done.returncode == 0, said
    assert said.startswith("tune     CPU frequency governor powersave → performance (2 policies), automatic")
    assert len(re.findall(r"\] e  i=\d  n 0 ", said)) == 2
    assert values(machine) == ASKED
    from orchestrator.store.result_file import open_result

    with open_result(tmp_path / "e.db") as result:
        (session,) = result.sessions()
    assert session.facts["tuned"].endswith("automatic NUMA balancing 1 → 0")


@pytest.mark.usefixtures("_away")
@pytest.mark.slow
def test_what_is_measured_again_is_measured_on_the_tuned_machine_too(machine: Path, tmp_path: Path) -> None:
    """100 and 200 where it is tuned, 101 and 201 where it is not."""
    shell = f"sh -c 'echo $(($(cat {machine / BALANCING}) + {{i}} * 100))'"
    (tmp_path / "e.yaml").write_text(
        f"schema: 1\ntitle: E\ntool: command\nrepeats: 3\nmatrix: {{i: [1, 2]}}\n"
        f"fixed: {{command: {json.dumps(shell)}, seconds: 0.01, metrics: {{n: {{regex: '([0-9]+)', better: higher}}}}}}\n"
    )
    command(machine, "run", "e.yaml", "-o", "e.db", "--tune", cwd=tmp_path).communicate(timeout=PATIENCE_S)

    words = ("compare", "e.db", "--by", "i=1,2", "--confirm", "--yes", "--into", "again", "--tune")
    done = command(machine, *words, cwd=tmp_path)
    _, said = done.communicate(timeout=PATIENCE_S)

    assert done.returncode == 0, said
    assert "tune     CPU frequency governor powersave → performance (2 policies), automatic" in said
    assert values(machine) == ASKED
    from orchestrator.store.result_file import open_result

    files = sorted((tmp_path / "again").glob("confirm-*.db"))
    assert len(files) == 2
    for path, value in zip(files, (b"100", b"200"), strict=True):
        with open_result(path) as result:
            assert result.sessions()[0].facts["tuned"].endswith("automatic NUMA balancing 1 → 0")
            outputs = {result.output(record.run_id, "stdout").strip() for record in result.runs()}
        assert outputs == {value}


@pytest.mark.usefixtures("_away")
def test_the_watchdog_puts_back_what_a_killed_run_has_set(machine: Path, tmp_path: Path, runtime: Path) -> None:
    (tmp_path / "e.yaml").write_text(ECHO % (machine / BALANCING, 60))
    run = command(machine, "run", "e.yaml", "-o", "e.db", "--tune", cwd=tmp_path)
    assert run.stderr is not None
    while "result file" not in run.stderr.readline():
        assert run.poll() is None
    assert values(machine) == SET

    run.kill()
    run.communicate()  # the watchdog has no stream of it: this does not wait for that
    until(lambda: not (runtime / tuning.STATE).exists())

    assert values(machine) == ASKED


@pytest.mark.slow
@pytest.mark.usefixtures("_away")
def test_doctor_puts_back_what_both_left(machine: Path, tmp_path: Path) -> None:
    killed(machine)

    doctor = command(machine, "doctor", "--restore", cwd=tmp_path)
    out, err = doctor.communicate(timeout=PATIENCE_S)

    assert (doctor.returncode, err) == (0, "")
    assert out.startswith("put back: CPU frequency governor performance → powersave (2 policies), ")
    assert values(machine) == ASKED
