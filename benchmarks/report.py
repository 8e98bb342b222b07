"""What a report costs: its size, the time to build it and the time to open it, beside floors.

    python benchmarks/report.py --turns 5 --json report.json

The pages: a full sweep of one host with every kind of chart; the report of 64 such hosts; and the charts of the
first page 64 times over, each drawn, which no report does: it is what a page of 768 panels would cost.
Built: `pinsweep report` as a new process, and once more in the same process, beside a bare interpreter.
Opened: from the start of the navigation to the second painted frame, in Chromium, beside an empty page; and the CPU
time of the page's main thread until then, which others on the machine sway less.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from turns import Side, report, take_turns

from reports.page.html import html
from reports.page.model import Page
from reports.report import build as page
from reports.report.render import render_report
from reports.results import load

HERE = Path(__file__).resolve()
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
SECOND_FRAME = """
addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(() => { window.opened = performance.now(); })));
"""

OPENED = (
    "new Promise(done => { const look = () => window.opened ? done(window.opened) : setTimeout(look, 5); look(); })"
)


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--turns", type=int, default=5)
    words.add_argument("--hosts", type=int, default=64)
    words.add_argument("--json", type=Path)
    words.add_argument("--strict", action="store_true", help="fail if others used more than 1 %% of the machine")
    words.add_argument("--open", type=Path, help=argparse.SUPPRESS)  # one side of a turn
    words.add_argument("--build", type=Path, nargs="+", help=argparse.SUPPRESS)  # one more
    options = words.parse_args()
    if options.open:
        print("ms", *opened_ms(options.open))
        return 0
    if options.build:
        print("ms", second_build_ms(options.build))
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one = maker().full(folder / "n000.db", host="n000")
        many = [one, *(as_host(one, f"n{i:03}") for i in range(1, options.hosts))]
        pages = write_pages(folder, one, many)
        for title, path in pages.items():
            print(f"{title:28}{size(path)}")
        print()
        rows, samples = take_turns(pairs(folder, one, pages), options.turns)
        return report("a report, ms", rows, samples, options.json, options.strict)


def pairs(folder: Path, one: Path, pages: Mapping[str, Path]) -> list[tuple[Side, Side]]:
    python = sys.executable
    pinsweep = str(Path(python).with_name("pinsweep"))

    def wall(_: str, cost: Mapping[str, float]) -> Mapping[str, float]:
        return {"built": cost["wall_s"] * 1e3, "CPU to build": cost["cpu_s"] * 1e3}

    def printed(*figures: str) -> Callable[[str, Mapping[str, float]], Mapping[str, float]]:
        def read(text: str, _: Mapping[str, float]) -> Mapping[str, float]:
            found = re.match(r"ms((?: [\d.]+)+)$", text, re.MULTILINE)
            return dict(zip(figures, map(float, found[1].split()), strict=True)) if found else {}

        return read

    def build(name: str, *more: str) -> Side:
        out = str(folder / "built.html")
        return Side(name=name, argv=[pinsweep, "report", str(one), "-o", out, *more], read=wall)

    bare = Side(name="python -c pass", argv=[python, "-c", "pass"], read=wall)
    interactive, static = build("interactive, new process"), build("static, new process", "--static")
    again = Side(name="interactive, same process", argv=[python, str(HERE), "--build", str(one)], read=printed("built"))
    out = [(interactive, bare), (interactive, static), (static, bare)]
    if not CHROMIUM:
        print("left out: no Chromium here", file=sys.stderr)
        return out

    def load(title: str) -> Side:
        return Side(
            name=title,
            argv=[python, str(HERE), "--open", str(pages[title])],
            read=printed("opened", "CPU to open"),
        )

    return [
        *out,
        (again, replace(interactive, read=lambda _, cost: {"built": cost["wall_s"] * 1e3})),
        *((load(title), load("empty")) for title in pages if title != "empty"),
        (load("one host"), load("one host, static")),
    ]


def write_pages(folder: Path, one: Path, many: list[Path]) -> dict[str, Path]:
    """Write the pages that are opened, and return them by their names."""
    empty = folder / "empty.html"
    empty.write_text("<!doctype html><title>empty</title><p>empty", encoding="utf-8")
    built = page.build(load.load([one]))
    wall = folder / "wall.html"
    wall.write_text(html(repeated(built, len(many))), encoding="utf-8")
    return {
        "empty": empty,
        "one host": render_report([one], folder / "one.html"),
        "one host, static": render_report([one], folder / "one-static.html", static=True),
        f"{len(many)} hosts": render_report(many, folder / "many.html"),
        f"{len(many)} × {panels(built, 12)} panels": wall,
    }


def panels(built: Page, most: int) -> int:
    return min(most, sum(len(f.panels) for s in built.sections for b in s.blocks for f in b.figures))


def repeated(built: Page, times: int, most: int = 12) -> Page:
    """Return the page with its first `most` panels as many times, each under ids of its own."""
    sections = []
    left = most
    for section in built.sections:
        blocks = []
        for block in section.blocks:
            figures = []
            for figure in block.figures:
                own = figure.panels[:left]
                left -= len(own)
                if own:
                    figures += [replace(figure, id=f"{figure.id}-{i}", panels=own, half=False) for i in range(times)]
            blocks.append(replace(block, figures=tuple(figures)))
        sections.append(replace(section, blocks=tuple(blocks)))
    return replace(built, sections=tuple(sections))


def size(path: Path) -> str:
    data = path.read_bytes()
    charts = data.count(b'<svg class="ch"') // 2  # each is there at two widths
    return f"{len(data) / 1e3:8.0f} kB  {len(gzip.compress(data)) / 1e3:6.0f} kB compressed  {charts:4} charts"


def as_host(result: Path, host: str) -> Path:
    """Copy a result file as that of another host."""
    path = result.with_name(f"{host}.db")
    shutil.copyfile(result, path)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE session SET host = ?", (host,))
    file.close()
    return path


def maker() -> ModuleType:
    """The tests' maker of result files."""
    path = HERE.parents[1] / "tests" / "reports" / "conftest.py"
    spec = importlib.util.spec_from_file_location("conftest", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def second_build_ms(paths: list[Path]) -> float:
    taken = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            begun = time.perf_counter()
            render_report(paths, Path(folder) / "r.html")
            taken = time.perf_counter() - begun
    return taken * 1e3


def opened_ms(path: Path, times: int = 3) -> tuple[float, float]:
    """Return the medians, over `times` tabs, of the time to open and of the CPU time of the page's main thread, in ms."""
    from playwright.sync_api import sync_playwright

    taken, cpu = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(120_000)
        context.add_init_script(SECOND_FRAME)
        for _ in range(times):
            tab = context.new_page()
            inside = context.new_cdp_session(tab)
            inside.send("Performance.enable", {"timeDomain": "threadTicks"})
            tab.goto(path.as_uri())
            shown = tab.evaluate(OPENED)
            metrics = inside.send("Performance.getMetrics")["metrics"]
            taken.append(shown)
            cpu.append(next(m["value"] for m in metrics if m["name"] == "TaskDuration") * 1e3)
            tab.close()
        browser.close()
    return statistics.median(taken), statistics.median(cpu)


if __name__ == "__main__":
    sys.exit(main())
