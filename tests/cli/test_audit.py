"""`pinsweep audit` as a user meets it, and its page of documentation."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Cli
from tests.programs import ROOT, program

COLUMNS = "iodepth, bs, numjobs, iops, lat[us]"
IMPOSSIBLE = "32 4k 8 366716 933.9\n"
SOUND = "32 4k 8 366716 697.0\n"


def take(pinsweep: Cli, folder: Path, text: str) -> None:
    (folder / "t.txt").write_text(text)
    words = ("--tool", "fio", "--columns", COLUMNS, "--set", "rw=randwrite", "--set", "direct=1")
    done = pinsweep("parse", "table", "t.txt", *words, "-o", "t.db")
    assert done.returncode == 0, done.stderr


def test_an_impossible_row_is_an_error(pinsweep: Cli, tmp_path: Path) -> None:
    take(pinsweep, tmp_path, IMPOSSIBLE)

    done = pinsweep("audit", ".")  # as all that read results: a folder, too

    assert done.returncode == 1
    assert "(F1)" in done.stdout
    assert "342 in flight, 256" in " ".join(done.stdout.split())
    assert done.stderr == "1 error in 1 run with numbers\n"
    found = json.loads(pinsweep("audit", "t.db", "--format", "json").stdout)["findings"]
    assert [(f["id"], f["level"], len(f["cells"])) for f in found] == [("F1", "error", 1)]
    assert found[0]["cells"][0]["cell"] == "rw=randwrite direct=1 bs=4k iodepth=32 numjobs=8"


def test_a_sound_row_is_left_in_peace(pinsweep: Cli, tmp_path: Path) -> None:
    take(pinsweep, tmp_path, SOUND)

    done = pinsweep("audit", "t.db")

    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "nothing found in 1 run with numbers\n"
    assert json.loads(pinsweep("audit", "t.db", "--format", "json").stdout) == {"findings": []}


def test_a_report_begins_with_it(pinsweep: Cli, tmp_path: Path) -> None:
    take(pinsweep, tmp_path, IMPOSSIBLE)

    assert pinsweep("report", "t.db", "-o", "t.html").returncode == 0

    page = (tmp_path / "t.html").read_text()
    assert "in flight" in page.partition('id="checks"')[2]


def test_the_page_says_what_the_checks_do() -> None:
    script = program("scripts/audit_doc.py")

    assert (ROOT / "docs" / "audit.md").read_text() == script.page(), "python scripts/audit_doc.py writes it anew"
