from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

from tests.programs import ROOT, program

FIO = ROOT / "tests" / "fixtures" / "fio" / "jsonplus_randrw.out"


def test_the_page_says_what_the_parsers_give() -> None:
    module = program("scripts/schema_doc.py")

    assert module.PAGE.read_text(encoding="utf-8") == module.page(), "python scripts/schema_doc.py writes it anew"


def test_the_lines_of_the_page_read_what_is_written(
    pinsweep: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    pinsweep("parse", FIO, "-o", "r.db")
    for words in (("csv",), ("json",), ("parquet",), ("csv", "--shape", "wide")):
        done = pinsweep("export", "r.db", "--format", *words, "-o", f"{len(words)}.{words[0]}")
        assert done.returncode == 0, done.stderr
    long = [pd.read_csv(tmp_path / "1.csv"), pd.read_json(tmp_path / "1.json", orient="records"), pd.read_parquet(tmp_path / "1.parquet")]  # fmt: skip
    wide = pd.read_csv(tmp_path / "3.csv")

    assert len({(len(frame), round(frame["value"].sum(), 3)) for frame in long}) == 1
    assert wide["iops [1/s]"].sum() == pytest.approx(long[0].query("metric == 'iops'")["value"].sum())
