"""Published and generated outputs, where there is a corpus of them (`shared/corpus` or PINSWEEP_CORPUS)."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest

from parsers import get_parser, guess_parsers, parser_names
from parsers.errors import ParseError
from parsers.text import decode

CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
INDEX = CORPUS / "published" / "INDEX.tsv"
UNITS = (1.0, 1e-2, 1e3, 1e6, 1e9, 2.0**10, 2.0**20, 2.0**30)
NO_OUTPUT = {  # what a tool's folder holds besides the tool's output
    "generated/imb/hwloc_bind_core7.txt": "empty: the ranks were never started",
    "generated/imb/missing_exe.txt": "empty: there is no such program",
    "generated/fio/err_bad_option.txt": "empty: fio says it on stderr",
    "generated/fio/err_readonly_write.txt": "empty: fio says it on stderr",
}

pytestmark = pytest.mark.skipif(not INDEX.is_file(), reason="no corpus of outputs here")


def outputs() -> list[Path]:
    tools = set(parser_names()) & {"fio", "imb", "mlc", "stream", "numactl", "lscpu"}
    paths = (path for path in CORPUS.glob("*/*/*") if path.parent.name in tools)
    return sorted(path for path in paths if path.suffix not in (".tsv", ".stderr", ".in"))


def index() -> list[dict[str, str]]:
    if not INDEX.is_file():
        return []
    with INDEX.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["tool"] in parser_names()]
    return [row for row in rows if re.search(r"\d\.\d", row["expected"])]


def place(path: Path) -> str:
    return path.relative_to(CORPUS).as_posix()


@pytest.mark.parametrize("path", outputs(), ids=place)
def test_an_output_is_of_its_tool_and_has_each_figure_once(path: Path) -> None:
    text, tool = decode(path.read_bytes()), path.parent.name
    if place(path) in NO_OUTPUT or not text.strip():
        with pytest.raises(ParseError, match="not the output of a known tool"):
            guess_parsers(text)
        return
    assert guess_parsers(text) == (tool,)
    try:
        parsed = get_parser(tool).parse(text, {})
    except ParseError:
        return
    keys = [row[:-2] for row in parsed.measurements.rows]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("row", index(), ids=lambda row: row["file"])
def test_figures_that_a_person_read_off_an_output_are_in_its_rows(row: dict[str, str]) -> None:
    """The index has words such as `triad_best_mbps=124799.5`: figures with decimals are looked for, in any unit."""
    text = decode((CORPUS / "published" / row["file"]).read_bytes())
    parsed = get_parser(row["tool"]).parse(text, {})
    values = [m.value for m in parsed.measured()]

    for word in row["expected"].split():
        for figure in re.findall(r"(?<![\w.])\d+\.\d+(?=/|:|ns|MBps|$)", word.partition("=")[2]):
            expected, step = float(figure), 0.5 * 10.0 ** -len(figure.partition(".")[2])
            assert not expected or any(abs(v / unit - expected) <= step for v in values for unit in UNITS), word
