"""What must hold of every file that git tracks."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from orchestrator.model import STATUSES
from pinsweep import __version__
from reports.checks import checks
from reports.verdicts.model import VERDICTS

PROJECT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
ABSOLUTE = re.compile(r"(?:^|(?<=[\"'`( =]))/([a-z][a-z0-9_-]+)/([A-Za-z][\w.-]*)", re.MULTILINE)
SYSTEM = frozenset("bin boot dev etc home lib lib64 media mnt opt proc run sbin srv sys tmp usr var".split())  # noqa: SIM905 (reads as a line)
"""What every Linux has; /root is somebody's home."""
PEOPLE = {"me", "you", "ada"}  # of examples
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


CHECKOUT = (PROJECT / ".git").exists() and shutil.which("git") is not None
pytestmark = pytest.mark.skipif(not CHECKOUT, reason="not a git checkout, or no git here")


def git(*arguments: str) -> str:
    # the checkout may be another user's: sudo ./test.sh
    argv = ["git", "-c", f"safe.directory={PROJECT}", *arguments]
    return subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True).stdout


def tracked(*patterns: str) -> list[Path]:
    if not CHECKOUT:
        return []
    return [PROJECT / name for name in git("ls-files", "-z", *patterns).split("\0") if name]


def texts() -> list[tuple[Path, str]]:
    """Return the tracked files that are text, with their text."""
    found = []
    for path in tracked():
        try:
            found.append((path.relative_to(PROJECT), path.read_text("utf-8")))
        except (UnicodeDecodeError, FileNotFoundError):  # binary; or removed and not yet committed
            continue
    return found


def test_pandas_is_taken_from_one_place() -> None:
    """What a frame keeps its texts in is said there, for all of them."""
    for_types = re.compile(r"^if TYPE_CHECKING:\n.*?(?=^\S)", re.MULTILINE | re.DOTALL)
    pages = tracked("parsers/*.py", "reports/*.py", "orchestrator/*.py", "pinsweep/*.py")
    takers = {page for page in pages if "import pandas" in for_types.sub("", page.read_text("utf-8"))}

    plot = "reports/lab/plot.py"  # the student's own
    assert {str(page.relative_to(PROJECT)) for page in takers} == {"parsers/frames.py", plot}


def test_no_file_names_the_machine_it_was_written_on() -> None:
    found = [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for path, text in texts()
        if path.parts[:2] != ("tests", "fixtures")  # captured outputs are what their machines printed
        for match in ABSOLUTE.finditer(text)
        # a folder at the root that is here and not everywhere; /no/such/tool of an example is not here
        if (match[1] not in SYSTEM and Path("/", match[1]).exists()) or (match[1] == "home" and match[2] not in PEOPLE)
    ]
    assert found == []


@pytest.mark.parametrize("lock", sorted((PROJECT / "requirements").glob("*.txt")), ids=lambda p: p.name)
class TestLock:
    def test_pins_versions_and_hashes_and_no_address(self, lock: Path) -> None:
        lines = [line for line in lock.read_text().splitlines() if not line.lstrip().startswith("#")]
        text = "\n".join(lines).replace("\\\n", " ")
        packages = [line for line in text.splitlines() if line.strip()]

        assert packages
        assert [p for p in packages if not re.match(r"[a-z0-9.-]+==\S+ ", p) or "--hash=sha256:" not in p] == []
        assert "://" not in text

    def test_holds_every_dependency_of_pyproject(self, lock: Path) -> None:
        if lock.stem == "node":
            pytest.skip("what a host needs that only measures: its own list, node.in")
        project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
        wanted = [*project["project"]["dependencies"]]
        for extra, names in project["project"]["optional-dependencies"].items():
            wanted += names if extra != "all" else []
        wanted += project["dependency-groups"]["build"]
        if lock.stem == "dev":
            wanted += [name for name in project["dependency-groups"]["dev"] if isinstance(name, str)]

        pinned = {name.lower() for name in re.findall(r"^([\w.-]+)==", lock.read_text(), re.MULTILINE)}
        missing = {re.split(r"[^\w.-]", name)[0].lower() for name in wanted} - pinned
        assert missing == set(), "scripts/lock.sh remakes the locks"


def test_the_licence_of_each_dependency_is_told() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = (names for extra, names in project["optional-dependencies"].items() if extra != "all")
    wanted = {re.split(r"[^\w.-]", name)[0] for names in (project["dependencies"], *extras) for name in names}

    told = (PROJECT / "THIRD_PARTY.md").read_text("utf-8")
    assert {name for name in wanted if not re.search(rf"\b{re.escape(name)}\b", told)} == set()


def test_the_locks_agree() -> None:
    pin = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
    node, base, dev = (
        dict(pin.findall((PROJECT / "requirements" / f"{n}.txt").read_text())) for n in ("node", "base", "dev")
    )

    assert node.items() <= base.items() <= dev.items()


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = HEADING.findall(FENCE.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", tracked("*.md"), ids=lambda p: str(p.relative_to(PROJECT)))
def test_links_lead_somewhere(page: Path) -> None:
    if page.relative_to(PROJECT).parts[:2] == ("tests", "fixtures"):
        pytest.skip("a captured text")
    text = FENCE.sub("", page.read_text("utf-8"))

    dead = []
    for link in LINK.findall(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_changelog_has_the_version() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (PROJECT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert headings[0] == "Unreleased"
    assert __version__ in headings


def test_changelog_tells_what_comes_next_by_kind() -> None:
    text = (PROJECT / "CHANGELOG.md").read_text("utf-8")
    unreleased = re.split(r"^## ", text, flags=re.MULTILINE)[1]

    kinds = re.findall(r"^### (.+)", unreleased, re.MULTILINE)
    known = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security", "Changed measurements"]
    assert kinds == [kind for kind in known if kind in kinds]


def test_who_cites_names_this_version() -> None:
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text("utf-8"))

    assert citation["version"] == __version__
    assert citation["license"] == "MIT"


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = sorted(int(path.name[:4]) for path in (PROJECT / "docs" / "adr").glob("*.md"))

    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("script", ["quickstart.sh", "test.sh", ".ci/run"])
def test_front_doors_are_executable(script: str) -> None:
    assert git("ls-files", "--stage", script).startswith("100755")


def test_glossary_has_the_words_that_the_tool_says() -> None:
    terms = {
        term.strip("` ")
        for row in re.findall(r"^\| (.+?) \|", (PROJECT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)
        for term in row.split(",")
    }
    families = {f"{found.id[0]}1" for found in checks()}

    assert {*STATUSES, *VERDICTS, *families} - terms == set()
    assert {term for term in terms if re.fullmatch(r"[A-Z]1", term)} == families


WALK = re.compile(r"^### How a cell becomes .*?(?=^## )", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "step", re.findall(r"^\d+\. .*$", "".join(WALK.findall((PROJECT / "CONTRIBUTING.md").read_text("utf-8"))), re.MULTILINE)
)  # fmt: skip
def test_the_walk_names_files_and_what_they_define(step: str) -> None:
    """`orchestrator/run/outcome.py`, `judge`: the file is there, and defines the function."""
    files = re.findall(r"`([\w/]+\.py)`", step)
    named = re.findall(r"`([\w/]+\.py)`, `(\w+)`", step)

    assert files
    for file in files:
        assert (PROJECT / file).is_file(), file
    for file, name in named:
        assert re.search(rf"^ *(?:def|class) {name}\b", (PROJECT / file).read_text("utf-8"), re.MULTILINE), (
            f"{file} has no {name}"
        )
