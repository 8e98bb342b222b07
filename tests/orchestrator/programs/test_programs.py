"""Which MPI is which: what launchers say of themselves, and what the loader says of a program."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.tools import _mpi
from orchestrator.tools._mpi import INTEL_MPI, MPICH, OPEN_MPI, Library
from parsers.errors import UserError

HYDRA = """\
HYDRA build details:
    Version:                                 4.0.2
    Release Date:                            Thu Apr  7 12:34:45 CDT 2022
    CC:                              gcc -Wdate-time
    Configure options:                       '--with-device=ch4:ucx' '--prefix=/usr'
    Process Manager:                         pmi
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n", (OPEN_MPI, "4.1.4")),
        ("mpirun (Open MPI) 5.0.11\n\nReport bugs to https://www.open-mpi.org/community/help/\n", (OPEN_MPI, "5.0.11")),
        ("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://www.open-mpi.org/\n", (OPEN_MPI, "4.1.4")),
        ("mpiexec (OpenRTE) 2.1.1\n", (OPEN_MPI, "2.1.1")),
        ("prterun (PRRTE) 3.0.11\n", (OPEN_MPI, "")),  # the launcher's own number, not Open MPI's
        (HYDRA, (MPICH, "4.0.2")),
        (
            "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)\nCopyright 2003-2026\n",
            (INTEL_MPI, "2021.18.1"),
        ),
        (
            "Intel(R) MPI Library for Linux* OS, Version 2018 Update 3 Build 20180411 (id: 18329)\n",
            (INTEL_MPI, "2018 Update 3"),
        ),
        ("slurm 23.02.4\n", ("", "")),
        ("", ("", "")),
    ],
)  # fmt: skip
def test_a_launcher_is_known_by_what_it_says(text: str, expected: tuple[str, str]) -> None:
    assert _mpi.flavour(text) == expected


def test_the_text_of_another_mpi_in_the_environment_does_not_count() -> None:
    """MPICH's build details name every option it was configured with."""
    assert _mpi.flavour(HYDRA.replace("ch4:ucx", "ch4:ofi' '--with-pmix=/opt/openmpi (Open MPI)")) == (
        MPICH,
        "4.0.2",
    )


def lines(*links: str) -> str:
    return "".join(f"\t{link}\n" for link in ("linux-vdso.so.1 (0x00007f027dba5000)", *links))


@pytest.mark.parametrize(
    ("ldd", "expected"),
    [
        (
            lines(
                "libmpi.so.40 => /lib/x86_64-linux-gnu/libmpi.so.40 (0x00007f027d9c2000)",
                "libopen-pal.so.40 => /lib/x86_64-linux-gnu/libopen-pal.so.40 (0x1)",
            ),
            Library(name="libmpi.so.40", path="/lib/x86_64-linux-gnu/libmpi.so.40", family=OPEN_MPI),
        ),
        (
            lines("libmpich.so.12 => /lib/x86_64-linux-gnu/libmpich.so.12 (0x00007ff9c9a00000)"),
            Library(name="libmpich.so.12", path="/lib/x86_64-linux-gnu/libmpich.so.12", family=MPICH),
        ),
        (
            lines("libmpi.so.12 => /opt/mpich/lib/libmpi.so.12 (0x1)"),
            Library(name="libmpi.so.12", path="/opt/mpich/lib/libmpi.so.12", family=MPICH),
        ),
        (
            lines("libmpi.so.12 => /opt/intel/mpi/lib/libmpi.so.12 (0x1)"),
            Library(name="libmpi.so.12", path="/opt/intel/mpi/lib/libmpi.so.12", family=INTEL_MPI),
        ),
        (  # Open MPI 1.10 has that number too
            lines(
                "libmpi.so.12 => /usr/lib64/openmpi/lib/libmpi.so.12 (0x1)",
                "libopen-rte.so.12 => /usr/lib64/openmpi/lib/libopen-rte.so.12 (0x1)",
            ),
            Library(name="libmpi.so.12", path="/usr/lib64/openmpi/lib/libmpi.so.12", family=OPEN_MPI),
        ),
        (lines("libmpi.so.12 => not found"), Library(name="libmpi.so.12", path="", family=MPICH)),
        (lines("libmpifort.so.12 => /opt/lib/libmpifort.so.12 (0x1)", "libmpich_shim.so => /x (0x1)"), None),
        ("\tnot a dynamic executable\n", None),
        ("", None),
    ],
)
def test_a_program_belongs_to_the_library_it_is_linked_with(ldd: str, expected: Library | None) -> None:
    assert _mpi.library(ldd, lambda path, _: path.startswith("/opt/intel")) == expected


def test_mpich_and_intel_mpi_start_each_other_and_nobody_else() -> None:
    families = (OPEN_MPI, MPICH, INTEL_MPI)

    assert {(a, b) for a in families for b in families if _mpi.starts(a, b)} == {
        *((family, family) for family in families),
        (MPICH, INTEL_MPI),
        (INTEL_MPI, MPICH),
    }


Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Install executables that print a text; the folders named first are PATH, before the system's."""
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)

    def make(path: str, text: str) -> Path:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{tmp_path}/path:{os.environ['PATH'].removeprefix(f'{tmp_path}/path:')}")
        return file

    return make


OPEN = "mpirun (Open MPI) 4.1.4"
INTEL = "Intel(R) MPI Library for Linux* OS, Version 2021.18 Build 1"


class TestFindMpi:
    """`ldd` stands first on PATH and says what a program is linked with."""

    def test_the_launcher_beside_the_library_comes_before_those_on_path(self, install: Install, tmp_path: Path) -> None:
        install("path/ldd", lines(f"libmpi.so.40 => {tmp_path}/opt/lib64/openmpi/lib/libmpi.so.40 (0x1)"))
        install("path/mpirun", "mpirun (Open MPI) 3.1.3")
        beside = install("opt/lib64/openmpi/bin/mpirun", OPEN)

        found = _mpi.find_mpi(str(install("home/IMB-MPI1", "")))

        assert isinstance(found, _mpi.Mpi)
        assert (found.launcher, found.name) == (str(beside), "Open MPI 4.1.4")
        assert found.library is not None
        assert found.library.path == f"{tmp_path}/opt/lib64/openmpi/lib/libmpi.so.40"

    def test_a_launcher_of_another_mpi_on_path_is_passed_over(self, install: Install, tmp_path: Path) -> None:
        install("path/ldd", lines(f"libmpi.so.40 => {tmp_path}/far/away/from/any/libmpi.so.40 (0x1)"))
        install("path/mpirun.openmpi", HYDRA)
        install("path/orterun", "no version")
        install("path/mpirun", HYDRA)
        right = install("path/mpiexec", OPEN)

        found = _mpi.find_mpi(str(install("home/IMB-MPI1", "")))

        assert isinstance(found, _mpi.Mpi)
        assert found.launcher == str(right)

    def test_the_wheel_finds_its_own_library_and_launcher(self, install: Install, tmp_path: Path) -> None:
        install("path/ldd", lines(f"libmpi.so.12 => {tmp_path}/venv/lib/libmpi.so.12 (0x1)"))
        install("path/mpiexec.hydra", HYDRA)
        (tmp_path / "venv/lib").mkdir(parents=True)
        (tmp_path / "venv/lib/libmpi.so.12").write_bytes(b"\0Intel(R) MPI Library %s\0")
        own = install("venv/bin/mpiexec.hydra", INTEL)

        found = _mpi.find_mpi(str(install("venv/bin/IMB-MPI1", "")))

        assert isinstance(found, _mpi.Mpi)
        assert (found.launcher, found.name) == (str(own), "Intel MPI 2021.18")
        assert found.env == {"LD_LIBRARY_PATH": f"{tmp_path}/venv/lib"}

    def test_a_library_that_is_not_found_is_the_reason(self, install: Install) -> None:
        install("path/ldd", lines("libmpi.so.12 => not found"))

        assert "needs libmpi.so.12, which the loader does not find" in str(_mpi.find_mpi(str(install("IMB-MPI1", ""))))

    def test_an_mpi_without_launcher_is_the_reason(self, install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
        program = install("home/IMB-MPI1", "")
        ldd = install("path/ldd", lines("libmpi.so.40 => /a/b/c/d/e/libmpi.so.40 (0x1)"))
        install("path/mpirun", HYDRA)
        (ldd.parent / "cat").symlink_to("/bin/cat")
        monkeypatch.setenv("PATH", str(ldd.parent))

        found = _mpi.find_mpi(str(program))

        assert "is linked with Open MPI (/a/b/c/d/e/libmpi.so.40), whose mpirun is not found" in str(found)

    def test_a_launcher_that_cannot_start_it_is_the_users_mistake(self, install: Install) -> None:
        install("path/ldd", lines("libmpi.so.40 => /a/libmpi.so.40 (0x1)"))
        program = install("IMB-MPI1", "")
        other = install("other/mpirun", HYDRA)

        with pytest.raises(UserError, match=r"is MPICH's, but .* is linked with Open MPI") as error:
            _mpi.find_mpi(str(program), str(other))
        assert error.value.exit_status == 2
        with pytest.raises(UserError, match="is not an executable file"):
            _mpi.find_mpi(str(program), "/no/mpirun")
        with pytest.raises(UserError, match="does not say that it is the mpirun of"):
            _mpi.find_mpi(str(program), str(install("other/srun", "slurm 23.02.4")))

    def test_one_of_the_same_abi_is_taken_and_named(self, install: Install) -> None:
        install("path/ldd", lines("libmpi.so.12 => /a/libmpi.so.12 (0x1)"))

        found = _mpi.find_mpi(str(install("IMB-MPI1", "")), str(install("other/mpiexec", INTEL)))

        assert isinstance(found, _mpi.Mpi)
        assert found.name == "MPICH, started by Intel MPI 2021.18"

    def test_a_folder_that_is_a_link_is_followed(self, install: Install, tmp_path: Path) -> None:
        """Open MPI looks for its parts beside its own path, and from /bin finds them in /."""
        real = install("usr/bin/mpirun", OPEN)
        (tmp_path / "bin").symlink_to("usr/bin")
        install("path/ldd", lines(f"libmpi.so.40 => {tmp_path}/lib/libmpi.so.40 (0x1)"))

        found = _mpi.find_mpi(str(install("home/IMB-MPI1", "")), str(tmp_path / "bin/mpirun"))

        assert isinstance(found, _mpi.Mpi)
        assert found.launcher == str(real)
