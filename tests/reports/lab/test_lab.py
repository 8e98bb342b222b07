"""The lab report: three texts and a PDF of one document, in a folder that keeps what people edit."""

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
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from parsers.errors import UserError
from pinsweep.cli import cli
from reports.checks.doubts import of_results
from reports.document import GAP, Table
from reports.export import tables as export
from reports.lab import document, pictures, plot, report
from reports.lab.document import Lab
from reports.page.model import Page
from reports.render import escape, paper
from reports.report.all_runs import command_text
from reports.results import model
from reports.results.load import load
from tests.reports.render.hostile import HOSTILE, SAMPLES

SEEDS = Path(__file__).resolve().parents[3] / "docs" / "seeds"


@pytest.fixture(scope="module")
def results(full_result: Path) -> model.Results:
    return load([full_result])


@pytest.fixture(scope="module")
def lab(results: model.Results, full_built: Page) -> Lab:
    return document.build(results, full_built)


@pytest.fixture(scope="module")
def files(results: model.Results, lab: Lab) -> dict[str, bytes]:
    return report.make(results, lab, of_results(results))


@pytest.fixture
def one_run(make: Any, tmp_path: Path) -> Path:
    maker = make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 1}, make.stream_text(12e3, 1))
    result: Path = maker.write()
    return result


def test_all_files_are_there(files: dict[str, bytes], lab: Lab) -> None:
    figures, names = [f.id for f in lab.figures()], [table.id for table in lab.tables]

    assert {"report.md", "report.tex", "report.typ", "data.csv", "plot.py", "latexmkrc"} <= files.keys()
    assert {f"figures/{name}.{s}" for name in figures for s in ("svg", "pdf", "png")} <= files.keys()
    assert {f"tables/{name}.{s}" for name in names for s in ("tex", "md", "csv")} <= files.keys()
    assert len({*figures}) == len(figures) > 3
    assert len({*names}) == len(names)


def test_the_three_texts_have_the_same_figures_and_gaps(files: dict[str, bytes], lab: Lab) -> None:
    md, tex, typ = (files[f"report.{suffix}"].decode() for suffix in ("md", "tex", "typ"))
    figures = [figure.id for figure in lab.figures()]
    gaps = sum(getattr(block, "tone", "") == "gap" for part in lab.parts.values() for block in part)

    assert re.findall(r"\]\(figures/(.*?)\.png\)", md) == figures
    assert re.findall(r"\\includegraphics\[.*?\]\{figures/(.*?)\.pdf\}", tex) == figures
    assert re.findall(r'image\("figures/(.*?)\.svg"', typ) == figures
    assert gaps == md.count(f"{GAP}:") == tex.count(r"\yours{") == typ.count("#yours[") > 4


def test_every_command_line_is_in_the_markdown(files: dict[str, bytes], full_result: Path) -> None:
    text = files["report.md"].decode()
    commands = [command_text(run) for run in load([full_result]).runs]
    assert [command for command in commands if f"\n{command}\n" not in text] == []


def test_each_finding_has_its_figure(lab: Lab) -> None:
    (findings,) = [t for part in lab.parts.values() for t in part if isinstance(t, Table) and t.id == "findings"]  # fmt: skip
    titles = {f"Figure {n}": figure.title for n, figure in enumerate(lab.figures(), 1)}

    named = [row for row in findings.rows if row[1]]
    assert named
    assert all(titles[str(name)] == text for text, name in named)


def test_each_table_is_whole_as_csv(files: dict[str, bytes], lab: Lab) -> None:
    for table in lab.tables:
        rows = list(csv.reader(io.StringIO(files[f"tables/{table.id}.csv"].decode())))
        assert len(rows) == 1 + len(table.rows)


def test_data_csv_is_what_export_gives(files: dict[str, bytes], full_result: Path) -> None:
    assert files["data.csv"].decode() == "".join(export.export([full_result], "csv"))


def test_no_numbers_is_still_a_report(make: Any, tmp_path: Path) -> None:
    failed = make.Maker(tmp_path / "f.db").add("s", "stream", {"threads": 1}, "Segmentation fault\n").write()

    report.render_lab([failed], tmp_path / "lab")

    assert (tmp_path / "lab" / "report.md").exists()
    assert not (tmp_path / "lab" / "figures").exists()


def test_the_machine_has_cores_caches_and_distances(make: Any, tmp_path: Path, full_built: Page) -> None:
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = (Path(__file__).parents[2] / "fixtures/hwloc/four-node.xml").read_text(encoding="utf-8")
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1))
    (machine,) = [t for t in document.build(load([maker.write()]), full_built).tables if t.id == "machine"]
    rows = {row[0]: row[1] for row in machine.rows}

    assert rows["Cores"] == "2 packages, 4 NUMA nodes, 8 cores, 8 PUs"
    assert rows["Caches"] == "L1 8 × 32 KiB, L2 8 × 4 MiB, L3 4 × 16 MiB"
    assert rows["NUMA distances"] == "10 to local memory, 12 or 21 to remote"


# --- pictures ----------------------------------------------------------------------------------------------


def chunks(image: bytes) -> list[tuple[bytes, bytes]]:
    """Return the chunks of a PNG, their checksums verified."""
    at, out = 8, []
    while at < len(image):
        (size,) = struct.unpack(">I", image[at : at + 4])
        kind, data = image[at + 4 : at + 8], image[at + 8 : at + 8 + size]
        assert struct.unpack(">I", image[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + data)
        out.append((kind, data))
        at += 12 + size
    return out


def test_a_picture_is_opaque_fits_and_can_be_traced(files: dict[str, bytes], lab: Lab, results: model.Results) -> None:
    for figure in lab.figures():
        svg = ET.fromstring(files[f"figures/{figure.id}.svg"])
        trace = svg.findtext("{http://www.w3.org/2000/svg}metadata") or ""
        background = next(iter(svg.iter("{http://www.w3.org/2000/svg}rect")))
        image = chunks(files[f"figures/{figure.id}.png"])
        texts = [data.split(b"\0", 1) for kind, data in image if kind == b"iTXt"]

        assert (background.get("fill"), background.get("width")) == ("#FFFFFF", "100%")
        assert results.experiments[0].sha256 in trace
        assert {name.decode() for name, _ in texts} == {"Software", "Experiment", "Runs"}
        assert files[f"figures/{figure.id}.pdf"].startswith(b"%PDF")
        width, _ = struct.unpack(">II", image[0][1][:8])
        assert width <= paper.WIDTH_MM / 25.4 * pictures.PNG_PPI + 2


# --- the script --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_script_draws_the_data(files: dict[str, bytes], tmp_path: Path) -> None:
    text = files["plot.py"].decode()
    ast.parse(text)
    (tmp_path / "plot.py").write_text(text, encoding="utf-8")
    (tmp_path / "data.csv").write_bytes(files["data.csv"])

    subprocess.run([sys.executable, str(tmp_path / "plot.py")], cwd=tmp_path.parent, check=True)

    assert (tmp_path / "plot.pdf").stat().st_size > 1000
    marks = [e.get("aria-roledescription") for e in ET.parse(tmp_path / "plot.svg").iter()]
    assert len([mark for mark in marks if mark in ("line mark", "point", "rule mark")]) > 3


def test_an_empty_label_is_none_in_the_script() -> None:
    row = {
        "tool": "t",
        "sweep": "s",
        "file": "f",
        "run_id": 1,
        "point_id": "p",
        "repeat": 1,
        "metric": "m",
        "value": 1.0,
    }
    frame = pd.DataFrame([row, row]).assign(label=pd.array([None, 2], "Int64"))

    assert "'label': None" in plot.snippet(frame)


# --- the folder, and documents that compile ----------------------------------------------------------------


@given(st.lists(st.sampled_from(["a", "a-1", "A 1", "a-numbers", "", "é", "a-1-2", "-"]), max_size=12))
def test_names_of_files_come_only_once(ids: list[str]) -> None:
    names = list(map(document.Names().name, ids))

    assert len({*names}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_the_same_results_give_the_same_bytes(one_run: Path, tmp_path: Path) -> None:
    pytest.importorskip("typst")  # without it, vl-convert makes the figures' PDF, in another order each time

    one, two = (
        {p.relative_to(f): p.read_bytes() for p in f.rglob("*.*")}
        for f in (report.render_lab([one_run], tmp_path / name).folder for name in ("one", "two"))
    )

    assert one == two
    assert Path("report.pdf") in one


def test_the_pdf_is_of_the_text_that_is_there(one_run: Path, tmp_path: Path) -> None:
    pytest.importorskip("typst")
    lab = tmp_path / "lab"
    words = ["report", str(one_run), "--lab", str(lab), "--format", "json"]
    assert CliRunner().invoke(cli, words).exit_code == 0
    first, text = (lab / "report.pdf").read_bytes(), (lab / "report.typ").read_text("utf-8")
    (lab / "report.typ").write_text(f"{text}\n= Mine\n", "utf-8")

    done = CliRunner().invoke(cli, words)

    assert done.exit_code == 0
    assert json.loads(done.stdout)["lab"]["edited"] == [{"file": "report.typ", "new": None}]
    assert (lab / "report.pdf").read_bytes() != first
    (lab / "report.typ").write_text("#panic()", "utf-8")
    assert isinstance(CliRunner().invoke(cli, words).exception, UserError)


def test_without_typst_all_else_is_written(one_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typst", None)

    done = CliRunner().invoke(cli, ["report", str(one_run), "--lab", str(tmp_path / "lab"), "--format", "json"])

    assert done.exit_code == 0
    assert json.loads(done.stdout)["lab"]["no_pdf"]["reason"] == "typst is not installed"
    assert not (tmp_path / "lab" / "report.pdf").exists()
    assert (tmp_path / "lab" / "report.typ").exists()


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
        maker.add("failed", "stream", {"threads": 1, "note": text}, "", axes=("note",), status="failed", reason=text)
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


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("latexmk"), reason="no latexmk here")
@pytest.mark.parametrize("which", ["full_result", "hostile_result"])
def test_latex_compiles_with_plain_latexmk(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    CliRunner().invoke(cli, ["report", str(request.getfixturevalue(which)), "--lab", str(tmp_path)])
    (tmp_path / "report.pdf").unlink(missing_ok=True)

    done = subprocess.run(["latexmk", "-interaction=nonstopmode"], cwd=tmp_path, capture_output=True, timeout=120, check=False)  # fmt: skip

    log = (tmp_path / "report.log").read_text("utf-8", "replace")
    assert done.returncode == 0, "\n".join(line for line in log.splitlines() if line.startswith(("!", "l.")))
    if which == "full_result":
        assert [float(w) for w in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log) if float(w) > 10] == []


def test_what_pages_write_has_a_sign_in_latex() -> None:
    assert r"\pinsweepsign" not in escape.latex("⚠↔⌈⌉α½≈≥≤−×÷±…’“”")


def test_the_redone_reports_refer_to_what_is_there() -> None:
    for path in SEEDS.glob("*/report.md"):
        text = path.read_text("utf-8")
        assert "/root" not in text
        assert "/home" not in text
        figures = set(re.findall(r"\]\((figures/.*?)\)", text))
        assert figures == {f"figures/{p.name}" for p in (path.parent / "figures").iterdir()}


def test_what_redid_them_can_be_run_again() -> None:
    done = CliRunner().invoke(
        cli, ["plan", str(SEEDS / "004.yaml"), "--topology", "pack:1 numa:1 core:4 pu:1", "--format", "json"]
    )

    assert done.exception is None
    cells = {json.dumps(run["labels"], sort_keys=True) for run in json.loads(done.stdout)["runs"]}
    assert len(cells) == 10 + 30  # ten tables of MLC, thirty rows of fio
