"""No number claims more digits than its program printed: a zero that stands behind a point was printed as one.

Told from the text of the program alone: a number that is shown as "2.90" has one in it that begins with these digits, or none with the
digits 2, 9 (then it was worked out, and has digits of its own).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from parsers import imb as imb_parser
from pinsweep.cli import cli
from reports import show
from reports.readings.imb import timings
from reports.report import build
from reports.results.load import load

SHOWN = re.compile(
    r"(?<![\w.\u202f–-])(\d[\d\u202f]*\.\d*0)(?=(?: to | \(| ?–|/)[\d.\u202f]+\)? |(?: \(| ?)(?:ns|µs|ms|s|[kM]?IOPS|[kMG]?B/s|/s)\b)"
)
BINS = re.compile(r"% under |(?:access(?:es)?|I/Os?)$")
"""Ends of bins are no numbers that were printed."""
LITERAL = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\d)")

MLC = "Intel(R) Memory Latency Checker - v3.11\nMeasuring idle latencies for random access (in ns)...\n\t\tNuma node\nNuma node\t     0\t     1\n       0\t  81.0\t 138.7\n       1\t 139.4\t  82.0\n"
IDLE = "Intel(R) Memory Latency Checker - v3.11\nCommand line parameters: --idle_latency -b64k\n\nUsing buffer size of 0.062MiB\nEach iteration took 7.4 base frequency clocks (\t2.9\tns)\n"
OSU = "# OSU MPI Latency Test v5.3\n# Size          Latency (us)\n0                       1.40\n8                       1.47\n64                      3.90\n512                     9.00\n"


def digits(text: str) -> str:
    return re.sub(r"[^\d]", "", text).lstrip("0")


def overclaimed(shown: Iterable[str], printed: Sequence[str]) -> Iterator[str]:
    """Give the numbers that stand with zeros that none of `printed` has."""
    known = [digits(one) for text in printed for one in LITERAL.findall(text)]
    for text in shown:
        if BINS.search(text):
            continue
        for number in SHOWN.findall(text):
            own = digits(number)
            core = own.rstrip("0")
            alike = [one for one in known if one.rstrip("0") == core]
            rounded = any(len(one) > len(own) and _rounded(one, len(own)) == own for one in known)
            if core and alike and not rounded and not any(one.startswith(own) for one in alike):
                yield f"{number} in {text!r}"


def _rounded(number: str, to: int) -> str:
    return digits(f"{float(f'0.{number}'):.{to}g}").ljust(to, "0")


def said(paths: Sequence[Path]) -> Iterator[str]:
    """Give every text of a page, of `show` and of a comparison of a file with itself that has a number."""
    page = build.build(load(paths))
    for number in page.key_numbers:
        yield f"{number.value} {number.unit}"
        yield from (number.context, number.repeats)
    for figure in (f for s in page.sections for b in s.blocks for f in b.figures):
        yield from (figure.title, figure.sub)
        for table in (*figure.tables, *figure.numbers):
            units = [re.search(r", (\S+)$", column) for column in table.columns]
            for row in table.rows:
                unit = dict(zip(table.columns, row, strict=True)).get("Unit", "")
                for cell, own in zip(row, units, strict=True):
                    yield f"{cell} {own[1] if own else unit}".strip()
        for drawn in figure.panels:
            yield drawn.description
            for rows in drawn.wide["datasets"].values():
                yield from (str(row.get(name, "")) for row in rows for name in ("tip", "text"))
    for check in page.checks:
        yield from (check.subject, check.text, *check.items)
    yield from show.show_result(paths[0]).splitlines()
    compared = CliRunner().invoke(cli, ["compare", str(paths[0]), str(paths[-1]), "--all"])
    yield from compared.output.splitlines()


def recovered(paths: Sequence[Path]) -> Iterator[str]:
    """Give IMB's times with the digits that the bandwidth beside them has."""
    for run in load(paths).good("imb"):
        for row in timings(run):
            if row.time and row.time_step and row.time_step < imb_parser.PRINTED["time"]:
                yield f"{row.time / 1e3:.5f}"


def captured(tmp_path: Path, text: str, name: str = "a.out") -> list[Path]:
    (tmp_path / name).write_text(text)
    taken = CliRunner().invoke(cli, ["parse", str(tmp_path / name), "-o", str(tmp_path / "a.db")])
    assert taken.exit_code == 0, taken.output
    return [tmp_path / "a.db"]


@pytest.mark.parametrize("text", [MLC, IDLE, OSU], ids=["matrix", "idle", "osu"])
def test_a_text(text: str, tmp_path: Path) -> None:
    texts = list(said(captured(tmp_path, text)))
    assert list(overclaimed(texts, [text])) == []


def test_a_zero_that_was_printed_stands(tmp_path: Path) -> None:
    """OSU's 1.40 and MLC's 81.0 are no 1.4 and no 81."""
    (tmp_path / "osu").mkdir()
    texts = list(said(captured(tmp_path / "osu", OSU)))
    assert any("1.40 µs" in text for text in texts)
    assert not [text for text in texts if re.search(r"\b(?:1\.4|3\.9|9) µs", text)]

    texts = list(said(captured(tmp_path, MLC)))
    assert any(re.search(r"\b81\.0\b", text) for text in texts)
    assert not [text for text in texts if re.search(r"(?<![.\d])8[12](?![.\d]) ns", text)]


def poke(make: Any, tmp_path: Path) -> tuple[list[Path], list[str]]:
    text = make.poke_text([37.0] * 20_000 + [59.0] * 600 + [3_000_000.0])
    maker = make.Maker(tmp_path / "a.db").add("memory", "poke", {"target": "memory", "bytes": "1GB"}, text)
    return [maker.write()], [text]


def fio(make: Any, tmp_path: Path) -> tuple[list[Path], list[str]]:
    text = (Path(__file__).resolve().parents[2] / "fixtures/fio/normal_randrw.out").read_text()
    return captured(tmp_path, text), [text]


def imb(make: Any, tmp_path: Path) -> tuple[list[Path], list[str]]:
    times = {0: 0.37, 1: 0.37, 2: 0.4, 4: 0.4, 8: 0.43, 4096: 4.7, 65536: 30.0, 4194304: 900.0}
    text = make.imb_text(times)
    maker = make.Maker(tmp_path / "a.db").add("p", "imb", {"benchmark": "PingPong"}, text, place="intra", relation="intra")  # fmt: skip
    return [maker.write()], [text]


def command(make: Any, tmp_path: Path) -> tuple[list[Path], list[str]]:
    metrics = {"t": {"regex": r"t=(\S+)", "unit": "µs", "better": "lower"}, "r": {"regex": r"r=(\S+)", "unit": "MB/s", "better": "higher"}}  # fmt: skip
    maker, texts = make.Maker(tmp_path / "a.db"), []
    for n, (t, r) in {1: ("7.3", "57"), 2: ("8", "99"), 4: ("9.1", "163")}.items():
        for repeat in range(3):
            texts.append(f"t={t} r={r}\n" if repeat else f"t={t} r={int(r) + 1}\n")
            maker.add(
                "s", "command", {"command": ["demo"], "metrics": metrics, "n": n}, texts[-1], axes=("n",)
            )
    return [maker.write()], texts


def stream_and_mlc(make: Any, tmp_path: Path) -> tuple[list[Path], list[str]]:
    curve = make.mlc_text([(20000, 81.0, 3000.0), (1000, 82.5, 9000.0), (500, 83.0, 12000.0), (200, 84.0, 15000.0), (0, 190.0, 23000.0)])  # fmt: skip
    texts = [curve, make.stream_text(13000.0, 4)]
    maker = make.Maker(tmp_path / "a.db").add("load", "mlc", {"mode": "loaded_latency"}, curve)
    return [maker.add("scaling", "stream", {"threads": 4}, texts[1]).write()], texts


@pytest.mark.parametrize("of", [poke, fio, imb, command, stream_and_mlc], ids=lambda of: of.__name__)
def test_a_result(of: Any, make: Any, tmp_path: Path) -> None:
    paths, printed = of(make, tmp_path)
    texts = list(said(paths))
    assert len(texts) > 20
    assert list(overclaimed(texts, [*printed, *recovered(paths)])) == []


def test_every_time_of_osu_has_the_zeros_that_were_printed(tmp_path: Path) -> None:
    """1.40 and 2.00 stood as "1.4 µs" and "2 µs" beside "1.60 µs"."""
    taken = captured(tmp_path, (FIXTURES[0].parents[1] / "osu" / "ibcast.out").read_text())
    figures = [f for s in build.build(load(taken)).sections for b in s.blocks for f in b.figures]
    told = {
        text
        for f in figures
        for t in f.numbers
        for row in t.rows
        if "time overall" in " ".join(row)
        for text in row
    }

    assert {"1.40", "2.00"} < told


FIXTURES = sorted(p for p in (Path(__file__).resolve().parents[2] / "fixtures").glob("*/*.out") if p.parent.name != "fuzz")  # fmt: skip


@pytest.mark.parametrize("tool", sorted({path.parent.name for path in FIXTURES}))
@pytest.mark.slow
def test_every_fixture(tool: str, tmp_path: Path) -> None:
    for path in (path for path in FIXTURES if path.parent.name == tool):
        out = tmp_path / f"{path.stem}.db"
        if CliRunner().invoke(cli, ["parse", str(path), "-o", str(out)]).exit_code or not out.exists():
            continue
        printed = [path.read_text(errors="replace"), *recovered([out])]
        assert list(overclaimed(said([out]), printed)) == [], path


def test_the_rule_finds_what_it_is_for() -> None:
    assert list(overclaimed(["idle 2.90 ns"], ["took ( 2.9 ns)"]))
    assert not list(overclaimed(["idle 2.90 ns", "3.10 µs"], ["took 2.90", json.dumps([29])]))
