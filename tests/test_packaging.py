from __future__ import annotations

import os
import site
import subprocess
import sys
import tarfile
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

from pinsweep import __version__

PROJECT = Path(__file__).resolve().parents[1]
PACKAGES = {"parsers", "orchestrator", "reports", "pinsweep"}
pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not here (requirements/dev.txt)")


def build(target: str, source: Path, folder: Path) -> Path:
    """Build a wheel or sdist out of a source tree; return its path."""
    argv = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(argv, cwd=source, check=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", PROJECT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, and with the packages of this one except the project itself."""
    folder = tmp_path_factory.mktemp("an environment")
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python3*/site-packages")
    # a path in a .pth file is searched, but the .pth files that lie there are not read: our editable install is one
    (packages / "dependencies.pth").write_text("\n".join(site.getsitepackages()))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "--python", str(folder)]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", str(wheel)], check=True)
    return folder


def run(installed: Path, program: str, *arguments: str, cwd: Path) -> str:
    """Start a program of the environment far from the checkout; return what it prints."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    argv = [str(installed / "bin" / program), *arguments]
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def names(wheel: Path) -> set[str]:
    return set(ZipFile(wheel).namelist())


def files_of(folder: str) -> set[str]:
    """Paths below a folder of the checkout, without caches."""
    paths = {p.relative_to(PROJECT / folder) for p in (PROJECT / folder).rglob("*") if p.is_file()}
    return {str(p) for p in paths if not any(part.startswith((".", "__pycache__")) for part in p.parts)}


def test_wheel_has_four_packages_and_no_other_top_level_name(wheel: Path) -> None:
    assert {name.split("/")[0] for name in names(wheel)} == PACKAGES | {f"pinsweep-{__version__}.dist-info"}


@pytest.mark.parametrize(
    ("folder", "inside"),
    [
        ("kernels", "orchestrator/kernel_sources"),
        ("experiments", "orchestrator/shipped_experiments"),
        *((package, package) for package in sorted(PACKAGES)),
    ],
)
def test_wheel_carries_every_file(wheel: Path, folder: str, inside: str) -> None:
    prefix = f"{inside}/"
    carried = {name.removeprefix(prefix) for name in names(wheel) if name.startswith(prefix)}

    expected = files_of(folder)
    assert expected, f"{folder}/ is empty"
    assert expected <= carried


def test_wheel_carries_no_checkout_files(wheel: Path) -> None:
    assert not [n for n in names(wheel) if "__pycache__" in n or n.endswith((".db", ".so", ".o"))]


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    sdist = build("sdist", PROJECT, tmp_path / "dist")
    with tarfile.open(sdist) as archive:
        assert not [name for name in archive.getnames() if name.endswith(".db") or "/.venv/" in name]
        archive.extractall(tmp_path, filter="data")

    again = build("wheel", tmp_path / f"pinsweep-{__version__}", tmp_path / "wheel")

    assert names(again) == names(wheel)


@pytest.mark.slow
def test_pinsweep_starts_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    assert __version__ in run(installed, "pinsweep", "--version", cwd=tmp_path)


@pytest.mark.slow
def test_shipped_experiments_are_found_by_name_from_any_folder(installed: Path, tmp_path: Path) -> None:
    listed = run(installed, "pinsweep", "init", "--list", cwd=tmp_path)
    assert {line.split()[0] for line in listed.splitlines()[1:]} == {
        Path(name).stem for name in files_of("experiments")
    }
    assert "loaded-latency" in run(installed, "pinsweep", "plan", "quickstart", cwd=tmp_path)


@pytest.mark.parametrize("package", sorted(PACKAGES))
@pytest.mark.slow
def test_packages_are_those_of_the_wheel(installed: Path, tmp_path: Path, package: str) -> None:
    code = f"import {package}; print(*{package}.__path__)"
    (folder,) = run(installed, "python", "-P", "-c", code, cwd=tmp_path).splitlines()

    assert Path(folder).is_relative_to(installed)


@pytest.mark.slow
def test_kernels_are_found_in_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = "from orchestrator.programs import kernels; print(kernels.sources_folder())"
    folder = Path(run(installed, "python", "-P", "-c", code, cwd=tmp_path).strip())

    assert folder.is_relative_to(installed)
    assert {p.name for p in folder.iterdir()} == files_of("kernels")


@pytest.mark.slow
def test_report_is_drawn_with_the_templates_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    captured = PROJECT / "tests" / "fixtures" / "stream" / "stream_omp2.out"
    run(installed, "pinsweep", "parse", "stream", str(captured), "-o", "captured.db", cwd=tmp_path)
    run(installed, "pinsweep", "report", "captured.db", "-o", "captured.html", cwd=tmp_path)

    page = (tmp_path / "captured.html").read_text()
    assert page.rstrip().endswith("</html>")
    assert "triad" in page.lower()
