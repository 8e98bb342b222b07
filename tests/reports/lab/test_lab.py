"""The lab report: three texts of one model, text that stays text, a folder that respects who edits it."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
import zlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from parsers.errors import UserError
from pinsweep.cli import cli
from reports.checks.doubts import of_results
from reports.draw.label_placement import text_width
from reports.export import tables as export
from reports.lab import columns, document, escape, figures, folder, plot, report, texts, words
from reports.lab.model import TEXT_WIDTH_MM, Document, Part
from reports.page.model import Page
from reports.report import build
from reports.results import model
from reports.results.load import load
from reports.text import format as fmt

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
HOSTILE = (
    r"\input{/etc/passwd} $x$ #let a=1 @ref *b* _c_ `d` <img src=x> [l](u) 50 % & ~ ^ {e} | \\ // /* -- ... 'q' \"r\" "
    "≥ → σ × µ ½ 10⁹ 1\u202f230 − – é ł 中 \u202e \x07 https://example.org www.example.org a@example.org"
)
SAMPLES = (
    HOSTILE, "= heading", "- item", "+ item", "1. item", "12) item", "/ term: x", "> quote", "# title #", "---", "***", "```", "    code",
    "a -- b --- c", "{{ jinja }} {% x %} ((( y )))", "%comment", r"\end{document}", "#panic()", "$ sum $", "@missing", "<label>", "==",
    "!`?`,,<<>>''``", "[x]: y", "![i](j)", "~~s~~", "&amp; &#35;", "a|b", "*", "[", "_lone", "snake_case_name", "\\", "^[note]", "a\nb\tc",
)  # fmt: skip


# --- text stays text ---------------------------------------------------------------------------------------


def shown(tokens: Iterable[Token]) -> str:
    """What a reader of parsed Markdown sees; anything but plain text is named."""
    out = []
    for token in tokens:
        if token.children:
            out.append(shown(token.children))
        elif token.type == "text":
            out.append(token.content)
        elif token.type not in ("paragraph_open", "paragraph_close", "inline"):
            out.append(f"⟦{token.type}⟧")
    return "".join(out)


any_text = st.text(
    st.characters(exclude_categories=("Cs",)) | st.sampled_from("\\`*_{}[]()<>#+-.!|~$&@=^%/\"' 1"),
    max_size=40,
)
"""Any characters, those with a meaning more often than chance would have it."""


@given(any_text)
@example(HOSTILE)
def test_markdown_shows_the_text_itself(text: str) -> None:
    parser = MarkdownIt("gfm-like", {"linkify": False})

    seen = shown(parser.parse(escape.markdown(text)))

    assert seen == escape.line(text).strip()


@pytest.mark.parametrize("text", SAMPLES)
def test_markdown_shows_what_would_mean_something(text: str) -> None:
    assert (
        shown(MarkdownIt("gfm-like", {"linkify": False}).parse(escape.markdown(text)))
        == escape.line(text).strip()
    )


@given(any_text.filter(lambda t: escape.line(t).strip() != ""))
@example("a `b` ``c``")
@example(" 0 ")
def test_markdown_code_shows_the_text_itself(text: str) -> None:
    inline = MarkdownIt("gfm-like", {"linkify": False}).parse("x" + escape.markdown_code(text))[1]

    assert inline.children
    assert [t.content for t in inline.children if t.type == "code_inline"] == [escape.line(text, blanks=True)]


def flat(content: Any) -> str:
    """The text of Typst's content as `query` gives it; anything but plain text is named."""
    kind = content.get("func")
    if kind == "sequence":
        return "".join(flat(c) for c in content["children"])
    if kind == "text":
        return str(content["text"])
    if kind == "symbol":
        return str(content["text"])
    return " " if kind == "space" else f"⟦{kind}⟧"


def test_typst_shows_the_text_itself(tmp_path: Path) -> None:
    typst = pytest.importorskip("typst")
    texts = [
        *SAMPLES,
        *(chr(c) * n for c in range(0x20, 0x7F) for n in (1, 2, 3)),
        *(f"1{chr(c)} x" for c in range(0x21, 0x7F)),
    ]
    source = "\n".join(f"#metadata[{escape.typst(t)}] <t>\n{escape.typst(t)}\n" for t in texts)
    path = tmp_path / "t.typ"
    path.write_text(source, "utf-8")

    seen = json.loads(typst.query(path, "<t>", field="value"))

    assert [flat(c).strip() for c in seen] == [re.sub(" +", " ", escape.line(t)).strip() for t in texts]


def test_typst_strings_hold_the_text_itself(tmp_path: Path) -> None:
    typst = pytest.importorskip("typst")
    path = tmp_path / "t.typ"
    path.write_text("\n".join(f"#metadata({escape.typst_string(t)}) <t>" for t in SAMPLES), "utf-8")

    assert json.loads(typst.query(path, "<t>", field="value")) == [
        escape.line(t, blanks=True) for t in SAMPLES
    ]


@given(any_text)
@example(HOSTILE)
@example("′″")
def test_latex_has_no_command_that_is_not_ours(text: str) -> None:
    """Without the commands that escaping writes, nothing is left that means something to TeX."""
    known = {c for value in escape._LATEX.values() for c in re.findall(r"\\[a-zA-Z]+", value)} | {
        r"\pinsweepsign"
    }
    escaped = escape.latex(text)

    assert set(re.findall(r"\\[a-zA-Z]+", escaped)) <= known
    rest = re.sub(r"\\[a-zA-Z]+|\\[{}$&#%_,]", "", escaped)
    assert not set(rest) & set("\\$&#%_^\"'`<>|"), rest
    assert len(re.findall(r"(?<!\\)\{", escaped)) == len(re.findall(r"(?<!\\)\}", escaped))


def test_what_pages_write_themselves_has_a_sign_in_latex() -> None:
    """Each doubtful number of a PDF began with "U+26A0", and a fit was "t = U+03B1 + n ÷ B"."""
    from reports.charts import imb, mlc

    written = f"⚠↔⌈⌉{imb.METHODS}{mlc.METHODS}α½≈≥≤−×÷±…’“”"
    assert r"\pinsweepsign" not in escape.latex(written)


# --- tables ------------------------------------------------------------------------------------------------


@given(st.floats(-1e12, 1e12, allow_subnormal=False), st.integers(1, 6))
def test_a_number_is_read_back_as_it_was_written(value: float, digits: int) -> None:
    cell = fmt.number(value, digits)

    assert isinstance(cell, fmt.Shown)
    is_scaled = value != 0 and abs(value) < 1e-9  # else it is a power of ten for people
    assert is_scaled or cell.plain == cell.replace(fmt.THIN, "").replace(fmt.MINUS, "-")
    assert float(cell.plain) == pytest.approx(value, rel=0.6)
    assert (cell.low, cell.high, cell.after) == ("", "", "")
    ranged = cell.within(fmt.number(1.0), fmt.number(-2000.0))
    assert ranged == f"{cell} (1.00–−2\u202f000)"
    assert (ranged.plain, ranged.low, ranged.high) == (cell.plain, "1.00", "-2000")


cells = st.lists(st.text("abc 0123456789", max_size=60), min_size=6, max_size=6)


@given(st.lists(cells, min_size=1, max_size=5), st.frozensets(st.integers(0, 5)))
def test_a_table_that_fits_is_not_wider_than_its_page(rows: list[list[str]], numeric: frozenset[int]) -> None:
    shape = columns.shape([f"column {i}" for i in range(6)], rows, numeric)

    if shape.fits:
        points = {"normal": 10, "small": 9, "smaller": 8, "smallest": 7}[shape.size]
        for part in shape.parts:
            used = sum(
                c.share * TEXT_WIDTH_MM
                if c.share
                else max(text_width(t, points) for t in (*c.heading, *(r[i] for r in rows))) * 25.4 / 72
                for i, c in zip(part.at, part.columns, strict=True)
            )
            assert used <= TEXT_WIDTH_MM
            assert all(c.align == "left" for c in part.columns if c.share)
        assert {i for part in shape.parts for i in part.at} == set(range(6))


def test_a_table_wider_than_its_page_is_parted_and_each_part_tells_its_rows_apart() -> None:
    """It lay on its side, on a page of its own."""
    names = ("Cell", "Access", *(f"Quantile {i}, µs" for i in range(9)))
    rows = [
        (cell, access, *(fmt.number(n, 3).within(fmt.number(n - 1, 3), fmt.number(n + 1, 3)) for n in range(100, 109)))
        for cell in ("4 KiB", "64 KiB")
        for access in ("read", "write")
    ]  # fmt: skip

    shape = columns.shape(names, rows, frozenset(range(2, 11)))

    assert (shape.size, len(shape.parts)) == ("smaller", 2)
    assert [part.at[:2] for part in shape.parts] == [(0, 1), (0, 1)]
    assert [i for part in shape.parts for i in part.at[2:]] == [*range(2, 11)]


def test_columns_of_numbers_say_how_many_digits_they_need() -> None:
    ranged = fmt.number(1234.5, 5).within(fmt.number(1200.0), fmt.number(1300.0))
    rows = [
        ("a", ranged, fmt.number(-3.0, 1)),
        ("b", fmt.NOTHING, fmt.number(0.25, 2)),
        ("c", fmt.whole(7), fmt.whole(12)),
    ]

    shape = columns.shape(("Name", "GB/s", "Change"), rows, frozenset({1, 2}))

    _, rate, change = shape.columns
    assert (rate.align, rate.integers, rate.decimals, rate.signed) == ("number", 4, 1, False)
    assert rate.after == "(1\u202f200–1\u202f300)"
    assert (change.integers, change.decimals, change.signed) == (2, 2, True)


# --- the three texts ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def results(full_result: Path) -> model.Results:
    return load([full_result])


@pytest.fixture(scope="module")
def made(results: model.Results, full_built: Page) -> Document:
    return document.build(results, full_built)


@pytest.fixture(scope="module")
def files(results: model.Results, made: Document) -> dict[str, bytes]:
    return report.make(results, made, of_results(results))


def test_all_files_are_there(files: dict[str, bytes], made: Document) -> None:
    assert {f"report.{s}" for s in ("md", "tex", "typ")} | {"data.csv", "plot.py", "latexmkrc"} <= set(files)
    assert {f"figures/{f.label}.{s}" for f in made.figures for s in ("svg", "pdf", "png")} <= set(files)
    assert {f"tables/{t.label}.{s}" for t in made.tables for s in ("tex", "md", "csv")} <= set(files)
    assert len({f.label for f in made.figures}) == len(made.figures)
    assert len({t.label for t in (*made.tables, *made.filed)}) == len(made.tables) + len(made.filed)


def test_a_finding_names_the_file_of_numbers_that_are_not_printed(
    made: Document, files: dict[str, bytes]
) -> None:
    """ "over 21.0 × the median in each repeat (Figure 3)", whose numbers are in no printed table."""
    finding = made.findings[0]
    filed = replace(made.numbers[0], number=0, label="a-tail")
    section = replace(made.sections[0], findings=(replace(finding, refs=(made.figures[0], filed)),))  # fmt: skip
    told = replace(made, sections=(section, *made.sections[1:]))

    said = {suffix: language.report(told).decode() for suffix, language in texts.languages().items()}
    assert "(Figure 1, `tables/a-tail.csv`)" in said["md"]
    assert r"\texttt{tables/\allowbreak{}a-tail.csv})" in said["tex"]
    assert '#raw("tables/a-tail.csv"))' in said["typ"]
    assert all(ref.number or ref in made.filed for one in made.findings for ref in one.refs)
    assert {table.file for table in made.filed} <= files.keys()


def test_the_three_texts_have_the_same_figures_tables_and_gaps(
    files: dict[str, bytes], made: Document
) -> None:
    md, tex, typ = (files[f"report.{s}"].decode() for s in ("md", "tex", "typ"))

    labels = [f.label for f in made.figures]
    assert re.findall(r"\]\(figures/(.*?)\.png\)", md) == labels
    assert re.findall(r"\\includegraphics\[.*?\]\{figures/(.*?)\.pdf\}", tex) == labels
    assert re.findall(r'image\("figures/(.*?)\.svg"', typ) == labels
    tables = [t.label for t in made.tables]
    assert re.findall(r"^\*\*Table (\d+)\.\*\*", md, re.MULTILINE) == [
        str(n) for n in range(1, len(tables) + 1)
    ]
    assert re.findall(r"\\input\{tables/(.*?)\}", tex) == tables
    assert re.findall(r"<tab-(.*?)>", typ) == tables
    assert [t.number for t in made.tables] == list(range(1, len(tables) + 1))
    gaps = 4 + len(made.sections)
    assert md.count(f"{words.GAP}:") == gaps
    assert tex.count(r"\yours{") == gaps
    assert typ.count("#yours[") == gaps


def test_the_shares_of_the_possible_are_in_the_key_numbers(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.facts = {**maker.facts, "dimms": "2 × 32 GB DDR4 3200 MT/s"}
    maker.add("s", "stream", {"threads": 1}, make.stream_text(40960, 1))
    CliRunner().invoke(cli, ["report", str(maker.write()), "--lab", str(tmp_path / "lab")])

    assert "; 80 % of the 51.2 GB/s of its modules" in (tmp_path / "lab" / "report.md").read_text("utf-8")


def test_figures_float_and_tables_stay_in_order(made: Document) -> None:
    tex, typ = (texts.languages()[kind].report(made).decode() for kind in ("tex", "typ"))

    assert r"\begin{table}" not in tex  # a floating table is overtaken by a long one, which does not float
    assert tex.count(r"\FloatBarrier") == 1  # one after each section leaves the page before it empty
    assert tex.count(r"\Needspace*{") == len(made.sections)
    assert typ.count("placement: auto") == len(made.figures)
    assert typ.count("#place.flush()") == 1


def test_a_table_in_parts_is_one_table_with_one_number(made: Document) -> None:
    first = made.numbers[0]
    columns_ = first.columns
    parts = (
        Part(columns=columns_[:2], at=(0, 1)),
        Part(columns=(columns_[0], *columns_[2:]), at=(0, *range(2, len(columns_)))),
    )
    for rows in (first.rows[:4], first.rows * 9):
        own = replace(first, label="wide", number=1, parts=parts, rows=rows)
        told = replace(made, numbers=(own,))
        text = {kind: (one.report(told) + one.table(own)).decode() for kind, one in texts.languages().items()}

        assert text["typ"].count("<tab-wide>") == 1
        assert text["tex"].count(r"\label{tab:wide}") == 1
        assert text["tex"].count(r"\addtocounter{table}{-1}") == own.long
        assert text["tex"].count(r"\end{longtable}") == 2 * own.long
        assert text["md"].count(f"| {' | '.join(map(escape.markdown, own.rows[0]))} |") >= 1  # whole


def test_what_it_was_made_with_stands_before_the_appendix(files: dict[str, bytes]) -> None:
    """Behind it, these two lines had the last page to themselves."""
    for name in ("report.md", "report.tex", "report.typ"):
        text = files[name].decode()
        assert text.index("Made with pinsweep") < text.index(words.HEADINGS["numbers"])


def test_each_finding_is_a_sentence_in_all_three(files: dict[str, bytes], made: Document) -> None:
    assert made.findings
    for finding in made.findings:
        assert f"- {escape.markdown(finding.text)}" in files["report.md"].decode()
        assert rf"\item {escape.latex(finding.text)}" in files["report.tex"].decode()
        assert f"- {escape.typst(finding.text)}" in files["report.typ"].decode()


def test_every_command_line_is_in_the_markdown_as_it_was_started(
    files: dict[str, bytes], full_built: Page
) -> None:
    text = files["report.md"].decode()

    runs = full_built.runs
    assert runs is not None
    for row in runs.rows:
        assert f"\n{row.environment} {row.command}\n" in text


def test_the_report_says_what_limits_it(files: dict[str, bytes], made: Document) -> None:
    text = files["report.md"].decode()

    assert "still running after 60 s" in text
    assert "cannot allocate memory" not in text  # what failed runs printed is in the page
    for check in made.checks:
        assert escape.markdown(check.subject) in text
    assert escape.markdown(made.not_recorded) in text


def test_captions_say_nothing_of_shades_that_are_not_there(files: dict[str, bytes]) -> None:
    text = files["report.md"].decode()

    assert "from node; columns: to memory of node." in text.replace("Rows: ", "")
    assert "shade" not in text.lower()
    assert "outlined" not in text.lower()


def test_latex_tables_are_booktabs_with_columns_of_numbers(files: dict[str, bytes], made: Document) -> None:
    label = next(t.label for t in made.tables if t.label.startswith("scaling"))
    text = files[f"tables/{label}.tex"].decode()

    assert r"\toprule" in text
    assert re.search(r"S\[table-format=\d+\.\d+", text)
    assert r"\hline" not in text


@pytest.mark.usefixtures("drawn_anew")
def test_the_same_results_give_the_same_bytes(make: Any, tmp_path: Path) -> None:
    pytest.importorskip("typst")  # without it, vl-convert makes the figures' PDF, in another order each time
    result = (
        make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 1}, make.stream_text(12e3, 1)).write()
    )

    folders = [report.render_lab([result], tmp_path / name).folder for name in ("one", "two")]

    one, two = ({p.relative_to(f): p.read_bytes() for p in f.rglob("*.*")} for f in folders)
    assert one == two
    assert Path("report.pdf") in one


def test_data_csv_is_what_export_gives(files: dict[str, bytes], full_result: Path) -> None:
    assert files["data.csv"].decode() == export.export([full_result], "csv")


def test_tables_as_csv_hold_plain_numbers(files: dict[str, bytes], made: Document) -> None:
    table = next(t for t in made.tables if any("–" in c.after for c in t.columns))

    rows = list(csv.DictReader(io.StringIO(files[f"tables/{table.label}.csv"].decode())))

    assert len(rows) == len(table.rows)
    name = next(c.name for c in table.columns if "–" in c.after)
    for row in rows:
        if row[f"{name}, lowest"]:
            assert float(row[f"{name}, lowest"]) <= float(row[name]) <= float(row[f"{name}, highest"])


def test_the_script_is_made_of_texts_that_do_not_all_tell_a_label(tmp_path: Path) -> None:
    """The group of processes, which IMB prints with -multi alone, ended as a bug in pinsweep."""
    names = ("multi0_np4", "multi1_np4", "out_of_mem", "pingpong_default", "rma", "uniband_biband")
    captured = [str(FIXTURES / "imb" / f"{name}.out") for name in names]
    assert CliRunner().invoke(cli, ["parse", *captured, "-o", str(tmp_path / "r.db")]).exit_code == 0
    results = load([tmp_path / "r.db"])

    assert plot.snippet(export.table(results, None, "long", {}), results)


def test_the_script_is_of_the_number_that_stands_for_a_run(make: Any, tmp_path: Path) -> None:
    """It took the median of minima, percentiles and maxima together, over the number of the repeat."""
    maker = make.Maker(tmp_path / "r.db")
    for n in (1, 2):
        for bytes_, low in (("1kB", 20), ("1MB", 90)):
            options = {"target": "memory", "bytes": bytes_}
            text = make.poke_text([low + n + i % 7 for i in range(500)], target="memory")
            maker.add("tails", "poke", options, text, axes=("bytes",))
    results = load([maker.write()])

    text = plot.snippet(export.table(results, None, "long", {}), results)

    assert "ROWS = {'tool': 'poke', 'sweep': 'tails', 'metric': 'latency', 'statistic': 'p50'" in text
    assert "X, BY = 'bytes'," in text


def test_the_script_is_over_a_numeric_axis_with_ticks_at_its_values(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    for threads in (1, 2, 4):
        for _ in range(2):
            maker.add(
                "s",
                "stream",
                {"threads": threads},
                make.stream_text(1e4 * threads, threads),
                axes=("threads",),
            )
    results = load([maker.write()])

    text = plot.snippet(export.table(results, None, "long", {}), results)

    assert "'metric': 'bandwidth', 'kernel': 'triad'}" in text
    assert "X, BY = 'threads', ['sweep']" in text
    assert '"values": [1, 2, 4]' in text


@pytest.mark.slow
def test_the_script_draws_the_data(files: dict[str, bytes], tmp_path: Path) -> None:
    text = files["plot.py"].decode()
    ast.parse(text)
    assert len([line for line in text.splitlines() if line.strip()]) <= 20

    (tmp_path / "plot.py").write_text(text, encoding="utf-8")
    (tmp_path / "data.csv").write_bytes(files["data.csv"])
    subprocess.run(
        [sys.executable, str(tmp_path / "plot.py")], cwd=tmp_path.parent, check=True
    )  # from anywhere
    assert (tmp_path / "plot.pdf").stat().st_size > 1000
    drawn = ET.fromstring((tmp_path / "plot.svg").read_text(encoding="utf-8"))
    assert (
        len([e for e in drawn.iter() if e.get("aria-roledescription") in ("line mark", "point", "rule mark")])
        > 3
    )


@given(st.lists(st.sampled_from(["a", "a-1", "A 1", "a-numbers", "", "é", "a-1-2", "-"]), max_size=12))
def test_names_of_files_come_only_once(ids: list[str]) -> None:
    labels = document._Labels()

    made = [labels.of(name) for name in ids]

    assert len(set(made)) == len(made)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in made)


# --- figures that leave the report -------------------------------------------------------------------------


def chunks(image: bytes) -> list[tuple[bytes, bytes]]:
    """The chunks of a PNG, their checksums verified."""
    at, out = 8, []
    while at < len(image):
        (size,) = struct.unpack(">I", image[at : at + 4])
        kind, data = image[at + 4 : at + 8], image[at + 8 : at + 8 + size]
        assert struct.unpack(">I", image[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + data)
        out.append((kind, data))
        at += 12 + size
    return out


def test_a_figure_says_where_it_comes_from(
    files: dict[str, bytes], made: Document, results: model.Results
) -> None:
    figure = next(f for f in made.figures if f.label.startswith("scaling"))

    svg = ET.fromstring(files[f"figures/{figure.label}.svg"])
    said = svg.findtext("{http://www.w3.org/2000/svg}metadata") or ""
    texts = [
        data.split(b"\0", 1) for kind, data in chunks(files[f"figures/{figure.label}.png"]) if kind == b"iTXt"
    ]

    runs = sorted(r.record.run_id for r in results.good("stream"))
    assert results.experiments[0].sha256 in said
    assert "pinsweep 0.1.0" in said
    assert f": {fmt_runs(runs)}" in said
    assert {name.decode() for name, _ in texts} == {"Software", "Experiment", "Runs"}
    assert any(fmt_runs(runs) in text.decode() for _, text in texts)


def fmt_runs(runs: list[int]) -> str:
    from orchestrator.machine.cpulist import format_cpulist

    return format_cpulist(tuple(runs))


def test_figures_are_light_opaque_and_stand_on_their_own(files: dict[str, bytes], made: Document) -> None:
    for figure in made.figures:
        svg = ET.fromstring(files[f"figures/{figure.label}.svg"])
        background = next(iter(svg.iter("{http://www.w3.org/2000/svg}rect")))

        assert (background.get("fill"), background.get("width")) == ("#FFFFFF", "100%")
        assert figure.width_mm <= TEXT_WIDTH_MM
        assert files[f"figures/{figure.label}.pdf"].startswith(b"%PDF")
        width, height = struct.unpack(">II", chunks(files[f"figures/{figure.label}.png"])[0][1][:8])
        assert width == pytest.approx(figure.width_mm / 25.4 * figures.PNG_PPI, abs=2)
        assert height / width == pytest.approx(figure.height_mm / figure.width_mm, rel=0.02)


# --- the folder --------------------------------------------------------------------------------------------


def test_what_was_edited_is_kept(tmp_path: Path) -> None:
    folder.write(tmp_path, {"report.md": b"one", "data.csv": b"one"})
    (tmp_path / "report.md").write_bytes(b"one, and my analysis")

    second = folder.write(tmp_path, {"report.md": b"two", "data.csv": b"two"})

    assert (tmp_path / "report.md").read_bytes() == b"one, and my analysis"
    assert (tmp_path / "report.new.md").read_bytes() == b"two"
    assert (tmp_path / "data.csv").read_bytes() == b"two"
    assert second.kept == {"report.md": "report.new.md"}
    assert second.renewed == ["data.csv"]

    third = folder.write(
        tmp_path, {"report.md": b"three", "data.csv": b"two"}
    )  # report.new.md is ours: renewed
    assert (tmp_path / "report.new.md").read_bytes() == b"three"
    assert third.same == ["data.csv"]

    (tmp_path / "report.new.md").write_bytes(b"mine, too")
    fourth = folder.write(tmp_path, {"report.md": b"four"})
    assert (tmp_path / "report.new.md").read_bytes() == b"mine, too"
    assert fourth.kept == {"report.md": "report.new2.md"}


def test_an_edited_file_with_nothing_new_gets_no_second_one(tmp_path: Path) -> None:
    folder.write(tmp_path, {"report.md": b"one"})
    (tmp_path / "report.md").write_bytes(b"mine")

    again = folder.write(tmp_path, {"report.md": b"one"})

    assert again.kept == {"report.md": ""}
    assert sorted(p.name for p in tmp_path.iterdir()) == [folder.MANIFEST, "report.md"]


def test_what_others_put_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_bytes(b"somebody's")
    (tmp_path / "notes.txt").write_bytes(b"somebody's")

    written = folder.write(tmp_path, {"report.md": b"ours"})

    assert (tmp_path / "report.md").read_bytes() == b"somebody's"
    assert (tmp_path / "notes.txt").read_bytes() == b"somebody's"
    assert written.kept == {"report.md": "report.new.md"}


def test_a_damaged_manifest_counts_as_none(tmp_path: Path) -> None:
    folder.write(tmp_path, {"report.md": b"one"})
    (tmp_path / folder.MANIFEST).write_text('{"files": [1]}')

    assert folder.write(tmp_path, {"report.md": b"two"}).kept == {"report.md": "report.new.md"}


def test_stopped_half_way_all_is_ours_still(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write(tmp_path, dict.fromkeys("abc", b"one"))
    real, calls = folder.write_whole, []

    def dies(path: Path, data: str | bytes) -> None:
        calls.append(path)
        if len(calls) == 3:  # the manifest, a, then b
            raise KeyboardInterrupt
        real(path, data)

    monkeypatch.setattr(folder, "write_whole", dies)
    with pytest.raises(KeyboardInterrupt):
        folder.write(tmp_path, dict.fromkeys("abc", b"two"))
    monkeypatch.undo()

    after = folder.write(tmp_path, dict.fromkeys("abc", b"three"))

    assert after.kept == {}
    assert [(tmp_path / n).read_bytes() for n in "abc"] == [b"three"] * 3


def test_files_of_an_earlier_report_are_named_and_stay(tmp_path: Path) -> None:
    folder.write(tmp_path, {"figures/a.svg": b"a", "report.md": b"one"})

    assert folder.write(tmp_path, {"report.md": b"one"}).old == ["figures/a.svg"]
    assert (tmp_path / "figures" / "a.svg").exists()


def test_places_where_no_folder_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="is a file, not a folder"):
        folder.write(tmp_path / "file", {"report.md": b"x"})
    (tmp_path / "figures").write_text("x")
    with pytest.raises(UserError, match="is a file, not a folder"):
        folder.write(tmp_path, {"figures/a.svg": b"x"})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["figures", "file"]
    with pytest.raises(UserError, match="cannot be written") as caught:
        folder.write(Path("/proc/none"), {"report.md": b"x"})
    assert "--lab" in caught.value.hint


# --- the command, and documents that compile ---------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile_result(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result whose title, host, sweeps, places, programs and complaints are all hostile."""
    maker = make.Maker(tmp_path_factory.mktemp("h") / "h.db", host=HOSTILE, title=HOSTILE)
    maker.facts = {"cpu_model": HOSTILE, "kernel": "\\"}
    for threads in (1, 2, 4):
        maker.add(
            HOSTILE, "stream", {"threads": threads}, make.stream_text(9e3 * threads, threads),
            axes=("threads",), place=HOSTILE, sweep_title=HOSTILE,
        )  # fmt: skip
    for text in SAMPLES:
        maker.add(
            "failed", "stream", {"threads": 1, "note": text}, "", axes=("note",), status="failed", reason=text
        )
        maker.skip("skipped", text, note=text)
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    for text in SAMPLES[::5]:
        options = {"command": text, "metrics": metrics, "what": text}
        maker.add(text, "command", options, "rate 1\n", axes=("what",), program=text)
    result: Path = maker.write()
    return result


@pytest.mark.slow
def test_hostile_texts_compile(hostile_result: Path, tmp_path: Path) -> None:
    pytest.importorskip("typst")

    done = CliRunner().invoke(cli, ["report", str(hostile_result), "--lab", str(tmp_path / "lab")])

    assert done.exception is None, done.exception
    assert (tmp_path / "lab" / "report.pdf").read_bytes().startswith(b"%PDF")
    text = (tmp_path / "lab" / "report.md").read_text("utf-8")
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    assert "<a " not in html
    assert set(re.findall(r"<img src=\"(.*?)\"", html)) <= {
        f"figures/{p.name}" for p in (tmp_path / "lab" / "figures").iterdir()
    }


@pytest.fixture
def _tex() -> None:
    """Skips where TeX or a package is not installed, before anything is made for it."""
    if not shutil.which("latexmk"):
        pytest.skip("no latexmk here")
    for name in ("siunitx.sty", "booktabs.sty", "placeins.sty", "needspace.sty", "microtype.sty"):
        if subprocess.run(["kpsewhich", name], capture_output=True, check=False).returncode:
            pytest.skip(f"no {name} here")


def latexmk(where: Path) -> str:
    """Compile with plain latexmk; return what TeX said."""
    done = subprocess.run(
        ["latexmk", "-interaction=nonstopmode"], cwd=where, capture_output=True, timeout=120, check=False
    )
    log = (where / "report.log").read_text("utf-8", "replace")
    assert done.returncode == 0, "\n".join(line for line in log.splitlines() if line.startswith(("!", "l.")))
    return log


@pytest.mark.slow
@pytest.mark.usefixtures("_tex")
@pytest.mark.parametrize("which", ["full_result", "hostile_result"])
def test_latex_compiles_with_plain_latexmk(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    CliRunner().invoke(cli, ["report", str(request.getfixturevalue(which)), "--lab", str(tmp_path)])
    (tmp_path / "report.pdf").unlink(missing_ok=True)

    log = latexmk(tmp_path)

    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
    assert "undefined references" not in log
    assert "multiply defined" not in log
    if which == "full_result":
        assert [float(w) for w in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log) if float(w) > 10] == []


def test_without_typst_all_else_is_written(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = (
        make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 1}, make.stream_text(12e3, 1)).write()
    )
    monkeypatch.setitem(sys.modules, "typst", None)

    done = CliRunner().invoke(cli, ["report", str(result), "--lab", str(tmp_path / "lab")])

    assert done.exception is None
    assert "typst is not installed: pip install 'pinsweep[pdf]'; all else is written" in done.output
    assert not (tmp_path / "lab" / "report.pdf").exists()
    assert (tmp_path / "lab" / "report.typ").exists()


@pytest.mark.slow
def test_the_command_says_what_it_wrote_and_kept(make: Any, tmp_path: Path) -> None:
    result = (
        make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 1}, make.stream_text(12e3, 1)).write()
    )
    lab = tmp_path / "lab"
    arguments = ["report", str(result), "--lab", str(lab)]

    first = CliRunner().invoke(cli, arguments)
    (lab / "report.md").write_text("mine")
    second = CliRunner().invoke(cli, arguments)

    assert re.match(r"lab +\S+/: report\.md, .*1 figure, \d+ tables", first.output)
    assert "kept    report.md: you edited it; nothing is new" in second.output
    assert not (tmp_path / "r.html").exists()
    assert CliRunner().invoke(cli, [*arguments[:-1], ""]).exit_code == 2  # not the current folder
    assert CliRunner().invoke(cli, ["report", str(tmp_path), "--lab", str(lab)]).exit_code == 0
    assert isinstance(
        CliRunner().invoke(cli, ["report", str(result), "--lab", str(result)]).exception, UserError
    )


def test_no_numbers_is_still_a_report(make: Any, tmp_path: Path) -> None:
    failed = make.Maker(tmp_path / "f.db").add("s", "stream", {"threads": 1}, "Segmentation fault\n").write()

    report.render_lab([failed], tmp_path / "lab")

    text = (tmp_path / "lab" / "report.md").read_text("utf-8")
    assert words.SAYINGS["no_numbers"] in text
    assert "could not be read" in text
    assert not (tmp_path / "lab" / "figures").exists()


def test_runs_that_failed_are_no_matter_of_audit(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for n in range(8):
        maker.add("s", "stream", {"threads": n}, "Segmentation fault\n", axes=("threads",))
    results = load([maker.write()])

    told = document.build(results, build.build(results)).checks

    (failed,) = [check for check in told if check.items]
    assert (failed.id, failed.items[-1]) == ("", "and 3 more")


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "n=2, repeat 1: every attempt was disturbed: in the last one other processes took 1.3 % of one CPU (0.05 s of 4.2 s) on CPUs 0-1; the quiet repeats of its cell are used",
            "",
        ),
        ("W=3: the text ends or breaks off inside a table; only its complete rows are kept; the peak may be higher, the unloaded latency lower" + " " * 60, ""),
        (f"W=3: {'; '.join(f'delay {n}: 133 ns (1.16 × 114 ns)' for n in range(12))} (3 of 3 repeats; repeat 1 is quoted)",
         f"W=3: {'; '.join(f'delay {n}: 133 ns (1.16 × 114 ns)' for n in range(4))}; and 8 more (3 of 3 repeats; repeat 1 is quoted)"),
    ],
)  # fmt: skip
def test_of_what_a_check_found_a_list_is_cut_and_no_sentence(
    make: Any, tmp_path: Path, said: str, told: str
) -> None:
    """ "…; and 1 more" stood for "; the quiet repeats of its cell are used"."""
    results = load([make.Maker(tmp_path / "f.db").add("s", "stream", {}, make.stream_text(9e3, 1)).write()])
    built = build.build(results)
    one = replace(built.checks[0], items=(said,))

    (check, *_) = document.build(results, replace(built, checks=(one,))).checks

    assert check.items == (told or said,)


SEEDS = Path(__file__).resolve().parents[3] / "docs" / "seeds"


def test_the_redone_reports_refer_to_what_is_there() -> None:
    for text in (path.read_text("utf-8") for path in SEEDS.glob("*/report.md")):
        assert "/root" not in text
        assert "/home" not in text
    for path in SEEDS.glob("*/report.md"):
        named = set(re.findall(r"\]\((figures/.*?)\)", path.read_text("utf-8")))
        assert named == {f"figures/{p.name}" for p in (path.parent / "figures").iterdir()}


def test_what_redid_them_can_be_run_again() -> None:
    done = CliRunner().invoke(
        cli, ["plan", str(SEEDS / "004.yaml"), "--topology", "pack:1 numa:1 core:4 pu:1", "--format", "json"]
    )

    assert done.exception is None
    cells = {json.dumps(run["labels"], sort_keys=True) for run in json.loads(done.stdout)["runs"]}
    assert len(cells) == 10 + 30  # ten tables of MLC, thirty rows of fio


def test_a_sweep_of_many_programs_says_how_many(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "l.db")
    for n in range(6):
        text = make.stream_text(9000.0 + n, 4).replace("5.10", f"5.{n}")
        maker.add("s", "stream", {"source": f"{n}.txt"}, text, axes=("source",))
    built = document.build(load([maker.write()]), build.build(load([maker.path])))

    assert built.sweeps.rows[0][1].endswith(" and 3 more")


def test_what_an_experiment_says_to_type_is_set_as_code(tmp_path: Path) -> None:
    """The text of a captured output had its backticks escaped, and showed them."""
    (tmp_path / "a.txt").write_text("# available: 1 nodes (0)\n", encoding="utf-8")
    fixture = Path(__file__).parents[2] / "fixtures" / "stream" / "stream_omp2.out"
    assert CliRunner().invoke(cli, ["parse", str(fixture), "-o", str(tmp_path / "a.db")]).exit_code == 0
    assert CliRunner().invoke(cli, ["report", str(tmp_path / "a.db"), "--lab", str(tmp_path / "out")]).exit_code == 0  # fmt: skip

    said = {name: (tmp_path / "out" / name).read_text(encoding="utf-8") for name in ("report.md", "report.tex", "report.typ")}  # fmt: skip

    assert "Taken in with `pinsweep parse`." in said["report.md"]
    assert r"\texttt{pinsweep" in said["report.tex"] or r"\code{" in said["report.tex"]
    assert "\\`" not in said["report.typ"].partition("Taken in")[2][:60]
    assert ";  " not in said["report.md"]


def test_what_the_data_says_is_findings_only(made: Document, files: dict[str, bytes]) -> None:
    """Of nine "sentences" six were headings, "Latency by load and mix"."""
    assert made.findings
    assert all(re.search(r"\d", finding.text) for finding in made.findings)
    for heading in (
        "Latency by load and mix",
        "IOPS and latency",
        "IOPS and latency over iodepth",
        "The best cell of each sweep",
    ):
        assert heading not in {finding.text.removeprefix("⚠ ") for finding in made.findings}


def test_the_first_table_has_cores_caches_nodes_and_distances(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = (FIXTURES / "hwloc" / "four-node.xml").read_text(encoding="utf-8")
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1))
    results = load([maker.write()])
    rows = dict(document.build(results, build.build(results)).machine.rows)

    assert rows["Cores"] == "2 packages, 8 cores, 8 PUs"
    assert rows["Caches"] == "L1 8 × 32 KiB, L2 8 × 4 MiB, L3 4 × 16 MiB"
    assert rows["NUMA nodes"] == "4"
    assert rows["NUMA distances"] == "own 10, others 12 or 21 (SLIT)"


def test_a_table_that_wraps_has_the_whole_width_and_breaks_over_pages_sooner(made: Document) -> None:
    """Typst set its columns as narrow as LaTeX would have had to, beside a margin of a quarter of the page; and 14 rows of two lines each left
    half of the page before them empty."""
    words = (
        "a sweep whose title is rather long",
        "a value",
        "what was measured, and by which program",
        "place",
    ) * 2
    rows = [(*words[:7], f"{i} of all of them") for i in range(14)]
    shape = columns.shape([f"column {i}" for i in range(8)], rows, frozenset())
    table = replace(made.numbers[0], label="wraps", number=1, columns=shape.columns, parts=shape.parts, rows=tuple(rows))  # fmt: skip
    assert any(c.share for c in table.parts[0].columns)

    assert "fr" in str(texts.TYPST["columns"](table.parts[0]))
    assert "%" not in str(texts.TYPST["columns"](table.parts[0]))
    assert table.long
    plain = replace(table, parts=(replace(table.parts[0], columns=tuple(replace(c, share=0.0) for c in table.parts[0].columns)),))  # fmt: skip
    assert not plain.long
