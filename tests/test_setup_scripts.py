"""The set-up scripts, as far as they can be tried without installing anything.

Package managers, `id` and `uv` are small programs in a folder that is the whole PATH, beside links to the real
tools: so a distribution without fio, or a user who is not root, is a folder without fio, or with an `id` that says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
SCRIPTS = [
    *(PROJECT / name for name in ("quickstart.sh", "test.sh", ".ci/run")),
    *sorted((PROJECT / "scripts").glob("*.sh")),
]
TOOLS = ("bash", "cat", "cut", "dirname", "id", "mktemp", "rm", "sed", "sh", "sha256sum", "sleep", "tail")
NEEDS = ("fio", "numactl", "lstopo")
BASH = shutil.which("bash") or ""


def script(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    path.write_text(f"#!{BASH}\n{text}\n")
    path.chmod(0o755)


class Machine:
    """A clone of the project in a folder with blanks, and a PATH that holds only what is put there."""

    def __init__(self, folder: Path) -> None:
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.clone = folder / "a clone with blanks"
        self.bin.mkdir()
        self.log.touch()
        for name in TOOLS:
            (self.bin / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
        for name in ("pyproject.toml", "requirements", "scripts", "quickstart.sh"):
            source, target = PROJECT / name, self.clone / name
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                target.parent.mkdir(exist_ok=True)
                shutil.copy(source, target)
        # a real Python and a real .venv, but for pip, whose unpacking takes 4 s; what it would install, `uv` writes down
        self.has(
            "python3",
            f'if [[ $* != "-m venv"* ]]; then exec "{sys.executable}" "$@"; fi\n'
            f'"{sys.executable}" "$@" --without-pip; for f in .venv/lib/python3*/site-packages; do : >"$f/pip.py"; done',
        )
        self.logs("uv")
        self.has("cc")
        for need in NEEDS:
            self.has(need)

    def has(self, name: str, text: str = ":") -> None:
        script(self.bin, name, text)

    def logs(self, name: str, then: str = ":") -> None:
        """Put a program there that writes down how it was called."""
        self.has(name, f'printf "%s\\n" "{name} $*" >>"{self.log}"; {then}')

    def lacks(self, *names: str) -> None:
        for name in names:
            (self.bin / name).unlink()

    def calls(self) -> list[str]:
        return self.log.read_text().splitlines()

    def run(self, *argv: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BASH, *argv],
            cwd=cwd or self.clone.parent,
            env={"PATH": str(self.bin), "HOME": str(self.clone.parent)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def set_up(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.clone / "scripts" / "setup.sh"), *arguments)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def call(function: str, *arguments: str) -> str:
    """Call a function of scripts/setup.sh."""
    argv = [
        BASH,
        "-c",
        'source "$1"; "${@:2}"',
        "_",
        str(PROJECT / "scripts" / "setup.sh"),
        function,
        *arguments,
    ]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


# ---- the scripts as texts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_script_is_clean(path: Path) -> None:
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is not installed")
    done = subprocess.run(["shellcheck", str(path)], capture_output=True, text=True)

    assert done.stdout == ""


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_script_stops_at_the_first_error(path: Path) -> None:
    assert "\nset -euo pipefail\n" in path.read_text()


@pytest.mark.parametrize("name", ["quickstart.sh", "scripts/setup.sh"])
def test_help_is_the_head_of_the_script(name: str) -> None:
    done = subprocess.run([str(PROJECT / name), "--help"], capture_output=True, text=True)

    assert done.returncode == 0
    assert f"    {'./' if '/' not in name else ''}{name}" in done.stdout
    assert "set -e" not in done.stdout
    assert subprocess.run([str(PROJECT / name), "--frobnicate"], capture_output=True).returncode == 2


# ---- which packages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("manager", "platform", "need", "packages"),
    [
        ("apt-get", "debian:bookworm", "python", "python3 python3-venv"),
        ("apt-get", "debian:trixie", "compiler", "gcc libc6-dev"),
        ("apt-get", "debian:bookworm", "chromium", "chromium-headless-shell"),
        ("apt-get", "debian:bullseye", "chromium", "chromium"),
        ("apt-get", "debian:bullseye", "python", ""),  # 3.9, and no newer one
        ("apt-get", "ubuntu:jammy", "python", "python3.11 python3.11-venv"),
        ("apt-get", "ubuntu:noble", "python", "python3 python3-venv"),
        ("apt-get", "ubuntu:noble", "chromium", ""),  # a snap
        ("apt-get", "ubuntu:noble", "hwloc", "hwloc-nox"),
        ("dnf", "platform:el9", "python", "python3.12"),
        ("dnf", "platform:el10", "python", "python3"),
        ("dnf", "platform:el9", "compiler", "gcc"),
        ("dnf", "platform:el9", "hwloc", "hwloc"),
        ("dnf", "platform:el9", "shellcheck", ""),  # EPEL only
        ("dnf", "platform:f43", "shellcheck", "ShellCheck"),
        ("dnf", "platform:f43", "fio", "fio"),
    ],
)
def test_packages(manager: str, platform: str, need: str, packages: str) -> None:
    assert call("packages", manager, platform, need) == packages


# ---- what is missing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("manager", ["apt-get", "dnf"])
def test_not_root_and_no_sudo_prints_the_command_and_stops(machine: Machine, manager: str) -> None:
    machine.has("id", "echo 1000")
    machine.logs(manager)
    machine.lacks("fio", "lstopo")

    done = machine.set_up()

    assert done.returncode == 1
    assert machine.calls() == []
    (command,) = re.findall(r"^    (.*)$", done.stderr, re.MULTILINE)
    assert command.startswith(manager)
    assert command.split()[-2:] == ["fio", "hwloc-nox" if manager == "apt-get" else "hwloc"]
    assert "error: cannot go on without fio, hwloc's lstopo" in done.stderr
    assert not (machine.clone / ".venv").exists()


def test_root_installs_what_it_said_it_would(machine: Machine) -> None:
    machine.has("id", "echo 0")
    machine.logs(
        "apt-get",
        f'[[ $* != *install* ]] || printf "#!{BASH}\\n" >"{machine.bin}/fio"; chmod +x "{machine.bin}/fio"',
    )
    machine.lacks("fio")

    machine.set_up()

    assert machine.calls()[:2] == [
        "apt-get -qq update",
        "apt-get -qq install --yes --no-install-recommends fio",
    ]


def test_what_is_installed_says_little_and_the_reason_where_it_fails(machine: Machine) -> None:
    machine.has("id", "echo 0")
    machine.has("apt-get", "for i in {1..200}; do echo line $i; done; [[ $* == *update* ]] || exit 100")
    machine.lacks("fio")

    done = machine.set_up()

    said = done.stdout + done.stderr
    assert "failed (exit status 100)" in said
    assert "line 200" in said
    assert "line 100" not in said
    assert "error: cannot go on without fio" in said


def test_a_first_set_up_says_at_most_ten_lines(machine: Machine) -> None:
    machine.has("id", "echo 0")
    machine.has("apt-get", f'for i in {{1..200}}; do echo line $i; done; /bin/ln -sf cc "{machine.bin}/fio"')
    machine.lacks("fio")

    done = machine.set_up("--dev")

    assert done.returncode == 0
    assert len((done.stdout + done.stderr).splitlines()) <= 10
    assert "1 to 3 minutes" in done.stderr


def test_sudo_without_a_password_is_used_and_said(machine: Machine) -> None:
    machine.has("id", "echo 1000")
    machine.has("sudo", f'[[ $1 != -n ]] || exit 0; echo "sudo $1 $2" >>"{machine.log}"; exec "$@"')
    machine.logs("dnf")
    machine.lacks("numactl")

    done = machine.set_up()

    words = "dnf --quiet --assumeyes --setopt=install_weak_deps=False install numactl"
    assert machine.calls() == ["sudo sh -c", words]
    assert f"installing (0.5 to 3 minutes): sudo sh -c '{words}'" in done.stderr
    assert done.returncode == 1  # this dnf brought nothing
    assert "error: cannot go on without numactl" in done.stderr


def test_neither_apt_get_nor_dnf_names_what_to_get(machine: Machine) -> None:
    machine.has("id", "echo 0")
    machine.lacks("fio", "cc")

    done = machine.set_up()

    assert done.returncode == 1
    assert "a C compiler with OpenMP (no package known here)" in done.stderr
    assert "fio (no package known here)" in done.stderr


def test_python_without_venv_is_no_python(machine: Machine) -> None:
    machine.has("id", "echo 1000")
    machine.has("python3", f'[[ $* != *ensurepip* ]] || exit 1; exec "{sys.executable}" "$@"')

    assert "cannot go on without Python 3.11 or newer with venv" in machine.set_up().stderr


def test_compiler_without_openmp_is_no_compiler(machine: Machine) -> None:
    machine.has("id", "echo 1000")
    machine.has("cc", "exit 1")

    assert "cannot go on without a C compiler with OpenMP" in machine.set_up().stderr


def test_what_only_tests_want_stops_nobody(machine: Machine) -> None:
    machine.has("id", "echo 1000")

    done = machine.set_up("--dev")

    assert done.returncode == 0, done.stderr
    assert "missing: chromium" in done.stderr
    assert any("requirements/dev.txt" in line for line in machine.calls())


# ---- .venv -------------------------------------------------------------------------------------------------


def installs(machine: Machine) -> list[str]:
    """What was installed since the last look."""
    calls = [line for line in machine.calls() if " install " in line]
    machine.log.write_text("")
    return [call.split()[-1] for call in calls]


def test_second_set_up_finds_nothing_to_do(machine: Machine) -> None:

    assert machine.set_up().returncode == 0
    assert installs(machine) == ["requirements/base.txt", "."]

    done = machine.set_up()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert installs(machine) == []


@pytest.mark.slow
def test_set_up_follows_the_locks_and_the_level(machine: Machine) -> None:
    for name in ("chromium", "shellcheck"):
        machine.has(name)
    machine.set_up()
    installs(machine)

    machine.set_up("--dev")
    assert installs(machine) == ["requirements/dev.txt", "."]
    machine.set_up()
    assert installs(machine) == []  # dev holds everything of base
    with (machine.clone / "requirements" / "base.txt").open("a") as lock:
        lock.write("# changed\n")
    machine.set_up()
    assert installs(machine) == ["requirements/base.txt", "."]


@pytest.mark.slow
def test_failed_installation_is_done_again(machine: Machine) -> None:
    machine.logs("uv", "[[ $* != *editable* ]]")
    assert machine.set_up().returncode == 1
    installs(machine)

    machine.logs("uv")
    assert machine.set_up().returncode == 0
    assert installs(machine) == ["requirements/base.txt", "."]


@pytest.mark.slow
def test_moved_clone_gets_a_new_environment(machine: Machine) -> None:
    machine.set_up()
    machine.clone = machine.clone.rename(machine.clone.with_name("elsewhere"))

    done = machine.set_up()

    assert "making .venv" in done.stderr
    assert str(machine.clone) in (machine.clone / ".venv" / "bin" / "activate").read_text()


# ---- quickstart.sh -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run_status", "commands", "status"),
    [(0, ["run", "report"], 0), (1, ["run", "report"], 1), (130, ["run"], 130)],
)
def test_quickstart_runs_then_reports(machine: Machine, run_status: int, commands: list[str], status: int) -> None:
    for name in ("date", "mkdir", "uname"):
        (machine.bin / name).symlink_to(shutil.which(name) or f"/usr/bin/{name}")
    machine.set_up()
    script(
        machine.clone / ".venv" / "bin",
        "pinsweep",
        f'echo "pinsweep $*" >>"{machine.log}"; [[ $1 != run ]] || exit $(({run_status} + 9 * !PINSWEEP_NO_NEXT))',
    )

    done = machine.run(str(machine.clone / "quickstart.sh"), cwd=Path("/"))

    calls = [line.split() for line in machine.calls() if line.startswith("pinsweep")]
    assert [c[1] for c in calls] == commands
    assert done.returncode == status
    result = calls[0][calls[0].index("-o") + 1]
    assert re.fullmatch(rf"results/quickstart@{re.escape(os.uname().nodename)}-\d{{8}}\.db", result)
    assert (str(machine.clone / result) in done.stdout) == ("report" in commands)
