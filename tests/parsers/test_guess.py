from __future__ import annotations

from pathlib import Path

import pytest

from parsers import get_parser, guess_parsers, parser_names
from parsers.errors import ParseError, UserError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


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
    assert all(metric.text and metric.better in ("higher", "lower", "neither") for metric in parser.METRICS.values())
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
