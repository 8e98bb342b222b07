"""`pinsweep compare` as a user and a CI job meet it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from junitparser import JUnitXml

from parsers.errors import UserError
from pinsweep.cli import cli
from tests.conftest import Cli

Call = Callable[..., tuple[int, str, str]]

SWEEP = """\
schema: 1
title: A program of the user's
tool: command
fixed:
  command: "cat rate-{level}"
  metrics: {rate: {regex: 'rate ([0-9.]+) MB/s', unit: MB/s, better: higher}}
matrix:
  level: [1, 2, 3]
repeats: 4
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, starter: Cli) -> Path:
    """A folder with a.db and b.db, recorded by `pinsweep run`: level 3 is 40 % slower in b."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "sweep.yaml").write_text(SWEEP)
    for name, slow in (("a", 1.0), ("b", 0.6)):
        for level in (1, 2, 3):
            rate = 400 / level * (slow if level == 3 else 1)
            (folder / f"rate-{level}").write_text(f"rate {rate:.3f} MB/s\n")
        words = ["run", "sweep.yaml", "-o", f"{name}.db"]
        starter(words, cwd=folder, env=os.environ, given="").check_returncode()
    return folder


@pytest.fixture
def here(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own with both files, and where it works."""
    for name in ("a.db", "b.db"):
        (tmp_path / name).write_bytes((recorded / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PINSWEEP_BASELINES", str(tmp_path / "baselines"))
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


@pytest.fixture
def call(here: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Start a command in this process: (status, standard output, standard error)."""

    def start(*words: str) -> tuple[int, str, str]:
        status = cli.main(list(words), standalone_mode=False)
        return int(status or 0), *capsys.readouterr()

    return start


def test_a_file_is_called_by_what_tells_it_from_the_other(call: Call, here: Path) -> None:
    """The title of a page was two paths from the root on."""
    (here / "old").mkdir()
    (here / "a.db").rename(here / "old" / "b.db")

    _, far, _ = call("compare", str(here / "old" / "b.db"), str(here / "b.db"))
    _, near, _ = call("compare", "old/b.db", "b.db")

    assert far.splitlines()[:4] == near.splitlines()[:4]
    assert "old/b.db" in far
    assert f"{here.name}/b.db" in far


def test_a_regression_is_an_exit_status_only_if_asked_for(call: Call) -> None:
    plain = call("compare", "a.db", "b.db")

    assert plain[0] == 0
    assert call("compare", "a.db", "b.db", "--fail-on", "regressed")[:2] == (1, plain[1])
    assert call("compare", "a.db", "b.db", "--fail-on", "regressed", "--threshold", "80%")[0] == 0
    assert call("compare", "a.db", "b.db", "--fail-on", "regressed", "--threshold", "rate=80%")[0] == 0
    assert call("compare", "a.db", "b.db", "--fail-on", "unmatched")[0] == 0


def test_formats_stand_alone_on_standard_output(here: Path, call: Call) -> None:
    out = {form: call("compare", "a.db", "b.db", "--format", form) for form in ("json", "junit", "github", "markdown")}

    assert json.loads(out["json"][1])["counts"]["regressed"] == 1
    (here / "junit.xml").write_text(out["junit"][1])
    assert JUnitXml.fromfile("junit.xml").failures == 1
    assert out["github"][1].startswith("::error title=regressed%3A sweep")
    assert out["markdown"][1].startswith("# Comparison: b.db against a.db")
    assert all(stderr for _, _, stderr in out.values())


@pytest.mark.slow
def test_a_file_takes_the_text_and_a_page_the_report(here: Path, call: Call) -> None:
    text = call("compare", "a.db", "b.db", "--format", "junit", "-o", "junit.xml")
    call("compare", "a.db", "b.db", "-o", "change.html", "--static")

    assert text[1] == ""
    assert JUnitXml.fromfile("junit.xml").failures == 1
    html = (here / "change.html").read_text()
    assert "b.db against a.db" in html
    assert "<script" not in html
    assert "<svg" in html


def test_a_summary_goes_where_github_shows_it(here: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "summary.md"))

    call("compare", "a.db", "b.db", "--format", "github")

    assert (here / "summary.md").read_text().startswith("# Comparison: ")


def test_several_files_a_side(here: Path, call: Call) -> None:
    for folder, name in (("before", "a.db"), ("after", "b.db")):
        (here / folder).mkdir()
        (here / folder / name).write_bytes((here / name).read_bytes())
    call("baseline", "add", "good", "a.db")
    ways = [
        ("before", "after"),
        ("before/*.db", "after/*.db"),
        ("-a", "a.db", "-b", "b.db"),
        ("a.db", "-b", "b.db"),
        ("b.db", "-a", "a.db"),
        ("good", "b.db"),
    ]

    found = [json.loads(call("compare", *words, "--format", "json")[1])["counts"] for words in ways]

    assert [counts["regressed"] for counts in found] == [1] * len(ways)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ((), "compare"),
        (("a.db", "b.db", "a.db"), "compare"),
        (("a.db", "c.db", "-b", "b.db"), "compare"),
        (("a.db", "c.db", "-a", "b.db"), "compare"),
        (("a.db", "./a.db"), "a.db"),
        (("a.db", "missing.db"), "missing.db"),
        (("a.db", "missing"), "missing"),
        (("a.db", "b.db", "--by", "level=1,2", "-a", "a.db"), "--by"),
        (("a.db", "--by", "level"), "--by level"),
        (("a.db", "--by", "level=1,1"), "--by level=1,1"),
        (("a.db", "--by", "level=1,7"), "--by level=1,7"),
        (("a.db", "b.db", "--threshold", "much"), "--threshold much"),
        (("a.db", "b.db", "--threshold", "0"), "--threshold 0"),
        (("a.db", "b.db", "--threshold", "rat=5%"), "--threshold rat"),
        (("a.db", "b.db", "--threshold", "=5"), "--threshold =5"),
        (("a.db", "b.db", "--threshold", "rate="), "--threshold rate="),
        (("a.db", "b.db", "--fail-on", "regresed"), "--fail-on"),
        (("a.db", "b.db", "--fail-on", ","), "--fail-on"),
        (("a.db", "b.db", "--slo", "1 MB"), "--slo 1 MB"),
        (("a.db", "b.db", "--ignore", "level"), "--ignore level"),
        (("a.db", "b.db", "--ignore", "levle"), "--ignore levle"),
        (("a.db", "b.db", "--only", "sweeep"), "--only sweeep"),
        (("a.db", "--by", "level=1,2", "--only", "other"), "--only other"),
        (("a.db", "b.db", "--into", "confirm"), "--into"),
        (("a.db", "b.db", "--scratch", "."), "--scratch"),
        (("a.db", "b.db", "--allow-write", "/dev/null"), "--allow-write"),
        (("a.db", "b.db", "-o", "a.db"), "a.db"),
    ],
)
def test_mistakes_are_the_user_s_and_change_no_file(here: Path, call: Call, words: tuple[str, ...], place: str) -> None:
    before = {path: path.read_bytes() for path in here.iterdir()}

    with pytest.raises(UserError) as error:
        call("compare", *words)

    assert error.value.place.removeprefix(f"{here}/").startswith(place)
    assert error.value.hint
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_a_session_compared_with_its_copy_is_refused(here: Path, call: Call) -> None:
    """A baseline that holds today's own file would find everything the same, for ever."""
    call("baseline", "add", "good", "b.db", "a.db")

    with pytest.raises(UserError, match=r"has the same session of") as caught:
        call("compare", "good", "b.db")

    assert "--aa" in caught.value.hint


def test_what_was_not_compared_cannot_pass(here: Path, call: Call) -> None:
    (here / "other.yaml").write_text(SWEEP.replace("cat rate-{level}", "echo rate {level} MB/s"))
    call("run", "other.yaml", "-o", "c.db")

    plain = call("compare", "a.db", "c.db")
    asked = call("compare", "a.db", "c.db", "--fail-on", "regressed")

    assert (plain[0], asked[0]) == (0, 1)
    assert "nothing was compared" in asked[2]


def test_a_summary_that_cannot_be_written_leaves_the_verdict(
    here: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "missing" / "summary.md"))

    status, _, stderr = call("compare", "a.db", "b.db", "--format", "github")

    assert status == 0
    assert "no summary written: no such file or directory" in stderr


def test_an_slo_that_no_curve_answers_is_said(call: Call) -> None:
    assert "--slo 1ms: no curve over iodepth" in call("compare", "a.db", "b.db", "--slo", "1ms")[2]


def test_a_side_of_many_files_is_named_by_the_first_and_how_many_more(here: Path, call: Call) -> None:
    for i in range(4):
        (here / f"a{i}.db").write_bytes((here / "a.db").read_bytes())
    words = [word for i in range(4) for word in ("-a", f"a{i}.db")]

    side = json.loads(call("compare", *words, "-b", "b.db", "--format", "json")[1])["a"]
    assert side["title"] == "a0.db, a1.db, a2.db and 1 more"
