from __future__ import annotations

import os
from pathlib import Path

import pytest

from parsers import get_parser, guess_parsers, parser_names
from parsers.errors import ParseError, UserError
from parsers.text import decode

CORPUS = Path(os.environ.get("PINSWEEP_CORPUS", Path(__file__).resolve().parents[2] / "shared" / "corpus"))
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus of outputs here")

# What a tool's folder holds besides the tool's output.
NO_OUTPUT = {
    "generated/imb/hwloc_bind_core7.txt": "empty: the ranks were never started",
    "generated/imb/missing_exe.txt": "empty: there is no such program",
    "generated/fio/err_bad_option.txt": "empty: fio says it on stderr",
    "generated/fio/err_readonly_write.txt": "empty: fio says it on stderr",
}


def outputs() -> list[Path]:
    paths = [*CORPUS.glob("published/*/*"), *CORPUS.glob("generated/*/*")]
    tools = set(parser_names()) & {"fio", "imb", "mlc", "stream", "numactl", "lscpu", "hwloc"}
    return sorted(p for p in paths if p.parent.name in tools and p.suffix not in (".tsv", ".stderr", ".in"))


def place(path: Path) -> str:
    return path.relative_to(CORPUS).as_posix()


@needs_corpus
@pytest.mark.parametrize("path", outputs(), ids=place)
def test_the_corpus_is_told_apart(path: Path) -> None:
    text = decode(path.read_bytes())
    if place(path) in NO_OUTPUT or not text.strip():
        with pytest.raises(ParseError, match="not the output of a known tool"):
            guess_parsers(text)
        return
    assert guess_parsers(text) == (path.parent.name,)


def test_what_nobody_knows_is_said_with_its_first_line() -> None:
    with pytest.raises(ParseError, match="'hello world'") as error:
        guess_parsers("\n\n  hello world\n")
    assert "fio" in error.value.hint
    with pytest.raises(ParseError, match="nothing but blanks"):
        guess_parsers(" \n")


def test_what_two_know_is_of_both() -> None:
    both = "STREAM version $Revision: 5.10 $\n" + '{"fio version": "fio-3.36", "jobs": []}\n'
    assert guess_parsers(both) == ("fio", "stream")


@pytest.mark.parametrize("machine", ["lscpu/list", "numactl/hardware_one_node"])
def test_a_machine_described_above_an_output_is_no_second_tool(machine: str) -> None:
    above, below = ((FIXTURES / f"{name}.out").read_text() for name in (machine, "stream/stream_omp2"))

    assert guess_parsers(above + below) == ("stream",)
    assert guess_parsers(above) == (machine.partition("/")[0],)


def test_a_parser_that_is_not_there() -> None:
    with pytest.raises(UserError, match="no parser of that name"):
        get_parser("stram")


@pytest.mark.parametrize("name", parser_names())
def test_every_parser_keeps_the_contract(name: str) -> None:
    parser = get_parser(name)

    assert parser.VERSION >= 1
    assert len(set(parser.LABELS)) == len(parser.LABELS)
    assert not {"metric", "unit", "value"} & set(parser.LABELS)
    assert all(
        metric.text and metric.better in ("higher", "lower", "neither") for metric in parser.METRICS.values()
    )
    assert not parser.recognise("")
    for text in ("", "hello\n", "\x00\x01", "1 2 3\n" * 50):
        with pytest.raises(ParseError):
            parser.parse(text, {})


@pytest.mark.parametrize(
    ("text", "cause", "step"),
    [
        ("", "the file is empty", "capture it again"),
        ("\x7fELF\x02\0\0\0", "a binary file", "give the text"),
        (
            "no tool",
            "'no tool'",
            "name the tool: fio, ",
        ),  # not command, which reads what an experiment tells it to
    ],
)
def test_what_is_no_output_is_said_with_the_next_step(text: str, cause: str, step: str) -> None:
    with pytest.raises(ParseError) as raised:
        guess_parsers(text)

    assert cause in raised.value.cause
    assert step in raised.value.hint
