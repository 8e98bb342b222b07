"""What the commands write for the user: never over a result file, and copies of one that are whole."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Cli

ECHO = """\
schema: 1
title: Echo
tool: command
fixed:
  command: echo "value {n} ms"
  metrics: {reply: {regex: "value ([0-9.]+) ms", unit: ms, better: lower}}
matrix: {n: [1, 2]}
repeats: 2
"""


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory, starter: Cli) -> Path:
    """A result file of four runs."""
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "echo.yaml").write_text(ECHO)
    starter(["run", "echo.yaml", "-o", "a.db"], cwd=folder, env=os.environ, given="").check_returncode()
    return folder / "a.db"


@pytest.fixture
def here(sweep: Path, tmp_path: Path) -> Path:
    """A folder with the result files a.db and b.db (of other sessions), a database of another program, and names of b.db."""
    for name in ("a.db", "b.db"):
        (tmp_path / name).write_bytes(sweep.read_bytes())
    with sqlite3.connect(tmp_path / "b.db") as db:
        db.execute("UPDATE session SET started_utc = '2026-01-01T00:00:00+00:00', seed = 1")
    with sqlite3.connect(tmp_path / "other.sqlite") as db:
        db.execute("CREATE TABLE thesis (text)")
    (tmp_path / "echo.yaml").write_text(ECHO)
    (tmp_path / "log.txt").write_text("value 1 ms\n")
    (tmp_path / "link.html").symlink_to("b.db")
    (tmp_path / "hard.html").hardlink_to(tmp_path / "b.db")
    (tmp_path / "b.db-journal").write_bytes(b"")
    return tmp_path


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("target", ["b.db", "other.sqlite", "link.html", "hard.html", "b.db-journal"])
@pytest.mark.parametrize(
    "words",
    [
        "report a.db -o",
        "export a.db --format csv -o",
        "export a.db --copy",
        "compare a.db b.db -o",
        "compare a.db b.db --format json -o",
        "fleet a.db -o",
        "history a.db -o",
        "init command -o",
    ],
)
def test_no_output_replaces_a_database(called: Cli, here: Path, words: str, target: str) -> None:
    before = state(here)

    done = called(*words.split(), target)

    assert done.returncode == 2
    assert f"error: {target}: " in done.stderr
    assert "name another file" in done.stderr
    assert state(here) == before


def test_the_refusal_says_what_it_is(called: Cli, here: Path) -> None:
    assert "b.db: is a result file: it would be replaced" in called("report", "a.db", "-o", "b.db").stderr
    assert "is an SQLite database" in called("report", "a.db", "-o", "other.sqlite").stderr
    assert "is where SQLite keeps a part of b.db" in called("report", "a.db", "-o", "b.db-journal").stderr
    assert "is what is read" in called("report", "a.db", "-o", "a.db").stderr


def test_it_is_refused_before_anything_is_read(called: Cli, here: Path) -> None:
    """Reading two large files takes a minute."""
    (here / "a.db").write_bytes(b"no database")
    for words in (
        "report a.db -o",
        "export a.db -o",
        "compare a.db b.db -o",
        "fleet a.db -o",
        "history a.db -o",
    ):
        assert "it would be replaced" in called(*words.split(), "b.db").stderr, words


@pytest.mark.parametrize("words", ["report a.db -o e.yaml", "export a.db -o e.yaml", "compare a.db b.db -o e.yml"])
def test_no_experiment_is_replaced(called: Cli, here: Path, words: str) -> None:
    experiment = here / words.split()[-1]
    experiment.write_text("schema: 1\n")

    done = called(*words.split())

    assert done.returncode == 2
    assert "it would be replaced" in done.stderr
    assert experiment.read_text() == "schema: 1\n"


def test_the_default_name_of_a_page_may_be_a_result_file(called: Cli, here: Path) -> None:
    shutil.move(here / "a.db", here / "a")
    shutil.move(here / "b.db", here / "a.html")
    before = state(here)

    done = called("report", "a")

    assert done.returncode == 2
    assert "a.html: is a result file: it would be replaced" in done.stderr
    assert state(here) == before


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("report a.db -o p.pdf", "p.pdf: the page is HTML\nhint: --lab DIR writes report.pdf, among others"),
        (
            "run echo.yaml -o lab.yaml",
            "lab.yaml: a result file is a database, not a .yaml file\nhint: name it lab.db",
        ),
        ("plan echo.yaml -o lab.HTML", "lab.HTML: a result file is a database"),
        ("parse log.txt -o r.csv", "r.csv: a result file is a database"),
        ("export a.db --copy c.csv", "c.csv: a result file is a database"),
        ("export a.db -o r.xlsx", "r.xlsx: no .xlsx file can be written\nhint: name it .csv"),
    ],
)
def test_no_file_is_called_what_it_is_not(called: Cli, here: Path, words: str, says: str) -> None:
    before = state(here)
    assert says in called(*words.split()).stderr
    assert state(here) == before


def test_the_name_of_an_export_says_its_format(called: Cli, here: Path) -> None:
    called("export", "a.db", "-o", "r.json").check_returncode()
    assert json.loads((here / "r.json").read_text())
    called("export", "a.db", "--format", "csv", "-o", "text.json").check_returncode()
    assert (here / "text.json").read_text().startswith("tool,")


@pytest.mark.parametrize("name", ["report.md", ".pinsweep.json"])
@pytest.mark.slow
def test_no_file_of_a_lab_folder_replaces_a_database(called: Cli, here: Path, name: str) -> None:
    (here / "lab").mkdir()
    shutil.copy(here / "b.db", here / "lab" / name)

    called("report", "a.db", "--lab", "lab")

    assert (here / "lab" / name).read_bytes() == (here / "b.db").read_bytes()


@pytest.mark.parametrize("name", ["topology.json", "facts.json"])
def test_no_file_of_a_capture_replaces_a_database(called: Cli, here: Path, name: str) -> None:
    (here / "node").mkdir()
    shutil.copy(here / "b.db", here / "node" / name)

    done = called("doctor", "--capture", "node")

    assert done.returncode == 2
    assert (here / "node" / name).read_bytes() == (here / "b.db").read_bytes()


def test_captured_texts_go_into_no_other_database(called: Cli, here: Path) -> None:
    before = state(here)
    for words in (
        "parse log.txt -o other.sqlite",
        "run echo.yaml -o other.sqlite",
        "plan echo.yaml -o other.sqlite",
    ):
        done = called(*words.split())
        assert done.returncode == 2
        assert "other.sqlite: not a pinsweep result file" in done.stderr
    assert state(here) == before


def test_a_link_keeps_to_its_target(called: Cli, here: Path) -> None:
    (here / "latest.csv").symlink_to("today.csv")
    for _ in range(2):  # first it dangles
        assert called("export", "a.db", "-o", "latest.csv").returncode == 0
        assert (here / "latest.csv").is_symlink()
        assert (here / "today.csv").read_text().startswith("tool,")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a link of another user")
@pytest.mark.parametrize(
    ("words", "planted"),
    [
        ("report a.db", "a.html"),
        ("report a.db --lab lab", "lab"),
        ("export a.db -o p.csv", "p.csv"),
        ("export a.db --copy p.db", "p.db"),
        ("compare a.db b.db -o p.md", "p.md"),
        ("doctor --capture .", "topology.json"),
        ("run echo.yaml -o p.db", "p.db"),
        ("run echo.yaml -o new.db --events ndjson --events-to p", "p"),
    ],
)
def test_nothing_is_written_through_another_users_link(called: Cli, here: Path, words: str, planted: str) -> None:
    (here / "precious").write_text("precious")
    for target in ("precious", "new"):
        (here / planted).symlink_to(here / target)
        os.chown(here / planted, 12345, 12345, follow_symlinks=False)
        before = state(here)

        done = called(*words.split())

        assert done.returncode == 2
        assert "hint: " in done.stderr
        assert state(here) == before
        (here / planted).unlink()


def test_standard_output_that_is_a_file_stays_standard_output(here: Path) -> None:
    """/dev/stdout is a symbolic link to the file then, and root could replace the link itself."""
    (here / "stdout").symlink_to("/proc/self/fd/1")
    with (here / "out.csv").open("w") as out:
        subprocess.run(
            [sys.executable, "-m", "pinsweep", "export", "a.db", "-o", "stdout"], cwd=here, stdout=out, check=True
        )  # fmt: skip
    assert (here / "stdout").is_symlink()
    assert (here / "out.csv").read_text().startswith("tool,")


# --- export --copy -----------------------------------------------------------------------------------------


def rows(path: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return db.execute("SELECT * FROM run").fetchall()


def test_a_copy_is_a_result_file(called: Cli, here: Path) -> None:
    done = called("export", "a.db", "--copy", "new/copy.db")

    assert done.returncode == 0, done.stderr
    assert rows(here / "new" / "copy.db") == rows(here / "a.db")
    assert [path.name for path in (here / "new").iterdir()] == ["copy.db"]
    mask = os.umask(0)
    os.umask(mask)
    assert (here / "new" / "copy.db").stat().st_mode & 0o777 == 0o666 & ~mask
    assert called("show", "new/copy.db").returncode == 0


def test_a_copy_replaces_what_is_no_result_file(called: Cli, here: Path) -> None:
    (here / "copy.db").write_text("half a copy, by cp")
    assert called("export", "a.db", "--copy", "copy.db").returncode == 0
    assert len(rows(here / "copy.db")) == 4


def test_a_copy_holds_nothing_of_a_commit_that_is_under_way(called: Cli, here: Path) -> None:
    with sqlite3.connect(here / "a.db") as writer:
        writer.execute("DELETE FROM run")
        assert called("export", "a.db", "--copy", "copy.db").returncode == 0
        writer.rollback()
    assert len(rows(here / "copy.db")) == 4


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("export a.db b.db --copy c.db", "copies one RESULT, 2 given"),
        ("export a.db --copy c.db -o d.csv", "leave the other options out"),
        ("export a.db --copy c.db --shape wide", "leave the other options out"),
        ("export a.db --copy a.db", "is what is read"),
        ("export log.txt --copy c.db", "not a pinsweep result file"),
        ("export none.db --copy c.db", "no such file"),
        ("export a.db --copy .", "is not a file"),
        ("export a.db --copy /dev/null", "is not a file"),
        ("export a.db --copy log.txt/c.db", "cannot be written"),
    ],
)
def test_what_cannot_be_copied_is_refused(called: Cli, here: Path, words: str, says: str) -> None:
    done = called(*words.split())

    assert done.returncode == 2
    assert says in done.stderr
    assert not (here / "c.db").exists()
    assert not list(here.glob(".c.db*"))


@pytest.mark.parametrize(
    "words",
    [
        ("init", "fio", "-o"), ("export", "a.db", "-o"), ("export", "a.db", "--copy"), ("compare", "a.db", "b.db", "-o"),
        ("fleet", "a.db", "-o"), ("history", "a.db", "-o"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("here")
def test_a_missing_folder_is_made_and_named_by_every_command(
    called: Cli, tmp_path: Path, words: tuple[str, ...]
) -> None:
    done = called(*words, "no/such/x")
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr.splitlines()[0] == "note     no/such is not there: it will be made"
    assert (tmp_path / "no/such/x").is_file()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("report", "a.db", "--lab", "-o", "lab"), "the name of a folder belongs here, and -o is an option (a folder called so is ./-o)"),
        (("report", "a.db", "-o", "--static"), "the name of a file belongs here, and --static is an option"),
        (("export", "a.db", "--copy", "--format=csv"), "the name of a file belongs here, and --format=csv is an option"),
    ],
)  # fmt: skip
def test_an_option_is_not_taken_for_the_name_that_another_lacks(
    called: Cli, here: Path, words: tuple[str, ...], says: str
) -> None:
    before = state(here)
    done = called(*words)
    assert done.returncode == 2
    assert says in " ".join(done.stderr.split())
    assert state(here) == before


@pytest.mark.usefixtures("here")
def test_a_refusal_names_the_option_that_the_command_has(called: Cli) -> None:
    done = called("doctor", "--capture", "a.db")
    assert done.returncode == 2
    assert done.stderr == "error: a.db: is not a directory\nhint: name another folder with --capture\n"
    assert "hint: name another file with --copy" in called("export", "a.db", "--copy", "a.db").stderr


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("name", "value", "status"), [("MEMORY", "16M", 1), ("CPU", "never", 2), ("MEMORY", "0", 2)])
def test_a_file_beyond_a_limit_is_refused(
    called: Cli, monkeypatch: pytest.MonkeyPatch, name: str, value: str, status: int
) -> None:
    monkeypatch.setattr("orchestrator.store.database.check_pages", lambda *_: bytearray(1 << 30))
    monkeypatch.setenv(f"PINSWEEP_READ_{name}", value)

    done = called("show", "a.db")

    assert (done.returncode, done.stdout) == (status, "")
    assert f"PINSWEEP_READ_{name}" in done.stderr


@pytest.mark.slow
def test_a_page_is_drawn_under_the_advised_limit(here: Path) -> None:
    """docs/promises.md advises `ulimit -d` for files of strangers."""
    words = f"ulimit -d 1048576; exec {shlex.quote(sys.executable)} -m pinsweep report a.db -o page.html"

    done = subprocess.run(["bash", "-c", words], cwd=here, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert (here / "page.html").stat().st_size > 0
