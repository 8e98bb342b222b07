"""No line outside a tool's own modules names a tool, and the counter that says so sees one that does."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.programs import program


@pytest.fixture(scope="module")
def counter() -> ModuleType:
    return program("scripts/tool_lines.py")


@pytest.mark.slow
def test_no_line_outside_its_rooms_names_a_tool(counter: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    status = counter.main()

    assert capsys.readouterr().out == "0 lines\n"
    assert status == 0


@pytest.mark.parametrize(
    "line",
    [
        'if run.tool == "fio": pass', "from reports.tools.imb import timings", "from orchestrator.tools import fio",
        'good(results, "stream")', 'text = f"{n} ranks of IMB-MPI1"', "_FIO_COMMAND_LINE = known", "def _mlc_rows(): pass", "fio.options()",
    ],
)  # fmt: skip
def test_a_line_that_names_one_is_found(counter: ModuleType, tmp_path: Path, line: str) -> None:
    planted, room = tmp_path / "general.py", tmp_path / "_imb_lines.py"
    planted.write_text(f'"""fio, MLC and STREAM are examples here."""\nwords = 1\n{line}\n')
    room.write_text(planted.read_text())

    assert [(number, text) for _, number, text in counter.lines(planted)] == [(3, line)]
    assert list(counter.lines(room)) == []


@pytest.mark.parametrize("line", ["stream.read(512)", "def text(stream: _Stream) -> bytes: pass"])
def test_a_stream_of_bytes_is_no_tool(counter: ModuleType, tmp_path: Path, line: str) -> None:
    (tmp_path / "sources.py").write_text(line)

    assert list(counter.lines(tmp_path / "sources.py")) == []
