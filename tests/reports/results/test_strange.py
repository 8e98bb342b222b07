"""Where nothing can be made of a file, it is asked whether pinsweep wrote it: what is forged is damage, not a bug of ours."""

from __future__ import annotations

import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.results.load import load
from reports.results.strange import damage

Cli = Callable[..., Any]


@pytest.fixture
def file(make: Any, tmp_path: Path) -> Path:
    maker = make.Maker(tmp_path / "r.db")
    for iops in (1000.0, 1010.0):
        text = make.fio_text({"read": (iops, 90.0)}, bs="4k", rw="randread", iodepth=1)
        maker.add("s", "fio", {"rw": "randread", "bs": "4k", "iodepth": 1}, text, axes=["bs"])
    path: Path = maker.write()
    return path


def forge(path: Path, statement: str, *values: object) -> None:
    """Change what is stored of each run."""
    with sqlite3.connect(path) as db:
        db.execute(statement, values)
    db.close()


def without_options(path: Path) -> None:
    forge(path, "UPDATE reading_table SET zlib = ?", zlib.compress(b'{"a": [1]}'))


def say(path: Path, old: bytes, new: bytes) -> None:
    """Change what each run printed."""
    with sqlite3.connect(path) as db:
        db.execute("UPDATE reading SET version = 0")
        rows = db.execute("SELECT run_id, zlib FROM output WHERE stream = 'stdout'").fetchall()
        for run_id, data in rows:
            text = zlib.decompress(data).replace(old, new)
            set_to = (zlib.compress(text), len(text), run_id)
            db.execute("UPDATE output SET zlib = ?, size_bytes = ? WHERE run_id = ? AND stream = 'stdout'", set_to)
    db.close()


def test_in_what_pinsweep_wrote_nothing_is_strange(full_result: Path, file: Path, tmp_path: Path) -> None:
    shutil.copy(full_result, tmp_path / "full.db")
    load([tmp_path / "full.db"])

    assert damage(tmp_path / "full.db") is None
    assert damage(file) is None


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda path: forge(path, "UPDATE measurement SET value = 2 * value WHERE position = 0"), "run 1, its reading is not what its text says"),
        (lambda path: forge(path, "UPDATE series SET metric = 'iopss' WHERE metric = 'iops'"), "its readings are not the result of a parser"),
        (lambda path: forge(path, "UPDATE series SET unit = 'B' WHERE metric = 'iops'"), "its readings are not the result of a parser"),
        (without_options, "run 1, its reading is not what its text says"),
        (lambda path: say(path, b'"iops": 10', b'"iops": -10'), "run 1, its text says -10.*negative"),
    ],
)  # fmt: skip
def test_what_no_run_puts_there_is_named(file: Path, change: Callable[[Path], None], what: str) -> None:
    change(file)

    with pytest.raises(Exception, match=what) as error:
        raise damage(file) or AssertionError("nothing")
    assert "is damaged" in str(error.value)


def test_a_number_that_nothing_measures_is_named(make: Any, tmp_path: Path) -> None:
    text = make.stream_text(9000.0, 4).replace(" 9000.0 ", " 9e40 ")
    path = make.Maker(tmp_path / "r.db").add("s", "stream", {}, text).write()

    assert "run 1, its text says 9e+46 (measurements), which nothing measures" in str(damage(path))


def test_an_option_that_its_tool_does_not_take_is_named(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.add("s", "stream", {"array_size": {"a": 1}}, make.stream_text(9000, 4), axes=["array_size"])

    assert "'array_size' is {'a': 1}, which stream does not take" in str(damage(maker.write()))


def test_a_forged_file_ends_as_damaged_and_not_as_a_bug(pinsweep: Cli, file: Path) -> None:
    without_options(file)

    done = pinsweep("show", file)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: {file}: is damaged: run 1, its reading is not what its text says" in done.stderr
    assert "bug" not in done.stderr
