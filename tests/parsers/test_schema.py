from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
FIO = ROOT / "tests" / "fixtures" / "fio" / "jsonplus_randrw.out"


def test_the_page_says_what_the_parsers_give() -> None:
    spec = importlib.util.spec_from_file_location("schema_doc", ROOT / "scripts" / "schema_doc.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    assert module.PAGE.read_text(encoding="utf-8") == module.page(), (
        "python scripts/schema_doc.py writes it anew"
    )


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_the_lines_of_the_page_read_what_is_written(
    pinsweep: Callable[..., CompletedProcess[str]], tmp_path: Path, shape: str
) -> None:
    pinsweep("parse", FIO, "-o", "r.db")
    frames = []
    for form in ("csv", "json"):
        done = pinsweep("export", "r.db", "--format", form, "--shape", shape)
        assert done.returncode == 0, done.stderr
        frames.append(
            pd.read_csv(io.StringIO(done.stdout)) if form == "csv" else pd.DataFrame(json.loads(done.stdout))
        )
    done = pinsweep("export", "r.db", "--format", "parquet", "--shape", shape, "-o", "r.parquet")
    assert done.returncode == 0, done.stderr
    frames.append(pd.read_parquet(tmp_path / "r.parquet"))

    assert len({len(frame) for frame in frames}) == 1
    wanted = "value" if shape == "long" else "iops"
    columns = [next(c for c in frame.columns if c.split(" ")[0] == wanted) for frame in frames]  # fmt: skip
    assert len({round(f[c].dropna().sum(), 3) for f, c in zip(frames, columns, strict=True)}) == 1
