"""Every kind of page held to axe-core's rules, in a real Chromium with all details open: at 1280 and 400 px, light and dark."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser, Page, expect

from orchestrator.machine.descriptions import topology_from_text
from pinsweep.cli import cli
from tests.reports.texts import MACHINE, c2c_text
from tests.waits import PATIENCE_S

AXE = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
CAPTURED = Path(__file__).resolve().parents[2] / "fixtures"
METRICS = {
    "rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"},
    "lat": {"regex": r"lat ([\d.]+)", "unit": "us", "better": "lower"},
}


def pinsweep(*arguments: object) -> None:
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert done.exit_code in (0, 1), done.output  # 1: a fleet that finds something


def swept(make: Any, path: Path, *, sweeps: int = 1, fails: bool = False, better: float = 1.0) -> Path:
    """Sweeps of a command over three axes, two repeats a cell."""
    maker = make.Maker(path, title="Lookups")
    maker.started = f"2026-11-{21 + (better != 1):02d}T09:15:02+00:00"
    for sweep in range(sweeps):
        for alg, speed in (("slow", 1), ("mid", 2), ("fast", 3)):
            for size in (1, 64) if sweeps == 1 else (1,):
                for threads in (1, 2, 4, 8):
                    for wobble in (0.99, 1.01):
                        rate = speed * threads * wobble * better * 100
                        bad = fails and alg == "slow" and threads > 2
                        options = {"command": "a rather long command with many words --and options", "metrics": METRICS, "alg": alg, "size": size, "threads": threads}  # fmt: skip
                        maker.add(
                            f"s{sweep}", "command", options, "" if bad else f"rate {rate:.2f} lat {1e4 / rate:.2f}\n",
                            axes=("alg", "size", "threads"), status="failed" if bad else "ok", reason="exit status 3" if bad else "",
                        )  # fmt: skip
    return Path(maker.write())


def one_run(make: Any, folder: Path) -> Path:
    maker = make.Maker(folder / "one.db")
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), place="local", axes=("place",))
    return Path(maker.write())


def storage(make: Any, folder: Path) -> Path:
    maker = make.Maker(folder / "fio.db")
    for rw in ("randread", "randwrite", "randrw"):
        for depth in (1, 8, 64):
            parts = {
                "read": (9e3 * depth**0.5, 100.0 * depth**0.5),
                "write": (7e3 * depth**0.5, 90.0 * depth**0.5),
            }
            own = {"read" if rw == "randread" else "write": parts["read" if rw == "randread" else "write"]}
            text = make.fio_text(parts if rw == "randrw" else own, bs="4k", rw=rw, iodepth=depth)
            maker.add("ssd", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"))
    return Path(maker.write())


def over_time(make: Any, folder: Path) -> Path:
    """fio with logs of each I/O: a heat map of latency over time."""
    maker = make.Maker(folder / "r.db")
    for depth in (1, 8):
        text = make.fio_text({"read": (1000.0, 100.0)}, bs="4k", rw="randread", iodepth=depth)
        times = [(s * 1000 + i * 10, 900_000 if s == 3 else 100_000) for s in range(10) for i in range(100)]
        lines = "\n==> fio_lat.1.log <==\n" + "".join(f"{ms}, {ns}, 0, 4096, 0\n" for ms, ns in times)
        maker.add("s", "fio", {"rw": "randread", "bs": "4k", "iodepth": depth}, text + lines, axes=("iodepth",))  # fmt: skip
    return Path(maker.write())


def access_times(make: Any, folder: Path) -> Path:
    maker = make.Maker(folder / "r.db")
    for target, size, median in (("memory", 2**20, 60.0), ("memory", 2**28, 270.0), ("file", 2**28, 710.0)):
        options = {"target": target, "bytes": size, "count": 5000}
        for wobble in (0.99, 1.01):
            text = make.poke_text(make.sample(5000, median * wobble), size=size, target=target)
            maker.add("tails", "poke", options, text, axes=("target", "bytes"))
    return Path(maker.write())


def core_pairs(make: Any, folder: Path) -> Path:
    """A map of 16 cores as a table, and one of 64 as a picture."""
    for name, description, cores in (
        ("few", MACHINE, 8),
        ("many", "pack:2 [numa] l3:4(size=32MiB) core:8 pu:1", 64),
    ):
        maker = make.Maker(folder / f"{name}.db", host=name)
        maker.topology = description
        machine = topology_from_text(description)
        cpus = [core.cpus[0] for core in machine.cores]
        assert len(cpus) == cores
        times = c2c_text(cpus, lambda a, b: 12.0 + 10 * abs(a - b))
        maker.add("caches", "mlc", {"mode": "c2c_latency", "a": True}, times)
        maker.write()
    return folder


def many_hosts(make: Any, folder: Path) -> Path:
    for i in range(10):
        maker = make.Maker(folder / f"n{i}.db", host=f"n{i:03d}")
        for threads in (1, 2, 4):
            for wobble in (0.99, 1.01):
                rate = 20e3 * threads**0.5 * wobble * (0.7 if i == 5 else 1 + i / 1e3)
                maker.add("s", "stream", {"threads": threads}, make.stream_text(rate, threads), axes=("threads",))  # fmt: skip
        maker.write()
    return folder


def taken_in(folder: Path, tool: str, *more: Path) -> Path:
    texts = sorted((CAPTURED / tool).glob("*.out"))[:6]
    pinsweep("parse", tool, *texts, *more, "-o", folder / f"{tool}.db")
    return folder / f"{tool}.db"


def two_matrices(folder: Path) -> list[Path]:
    """Write what Intel MLC tells of two machines, each in a file of a long name."""
    files = [folder / f"latency_matrix_of_a_machine_of_the_second_floor_{n}.txt" for n in (1, 2)]
    for n, file in enumerate(files):
        rows = f"       0\t  {80 + n}.2\t 144.3\n       1\t 143.1\t  89.1\n"
        head = "Intel(R) Memory Latency Checker - v3.9a\nMeasuring idle latencies (in ns)...\n"
        file.write_text(f"{head}\t\tNuma node\nNuma node\t     0\t     1\n{rows}")
    return files


def comparison(make: Any, folder: Path, out: Path) -> None:
    sides = [swept(make, folder / f"{name}.db", better=better) for name, better in (("a", 1.0), ("b", 0.8))]
    pinsweep("compare", *sides, "-o", out)


def fleet(make: Any, folder: Path, out: Path) -> None:
    files = []
    for i in range(9):
        maker = make.Maker(folder / f"n{i}.db", host=f"n{i:03d}")
        for rate in (20e3, 20.1e3, 20.2e3):
            maker.add("s", "stream", {"threads": 4}, make.stream_text(rate * (0.7 if i == 5 else 1 + i / 1e3), 4))
        files.append(maker.write())
    pinsweep("fleet", *files, "-o", out)


def history(make: Any, folder: Path, out: Path) -> None:
    files = []
    for i in range(12):
        maker = make.Maker(folder / f"d{i}.db", host="n001")
        maker.started = f"2026-11-{i + 1:02d}T03:00:00+00:00"
        for rate in (20e3, 20.1e3, 20.2e3):
            maker.add(
                "s",
                "stream",
                {"threads": 4},
                make.stream_text(rate * (0.8 if i > 6 else 1), 4),
                started=maker.started,
            )
        files.append(maker.write())
    pinsweep("history", *files, "-o", out)


def report(of: Callable[[Any, Path], Path]) -> Callable[[Any, Path, Path], None]:
    return lambda make, folder, out: pinsweep("report", of(make, folder), "-o", out)


KINDS: dict[str, Callable[[Any, Path, Path], None]] = {
    "one run": report(one_run),
    "three axes": report(lambda make, folder: swept(make, folder / "r.db")),
    "many sweeps": report(lambda make, folder: swept(make, folder / "r.db", sweeps=7)),
    "failures": report(lambda make, folder: swept(make, folder / "r.db", fails=True)),
    "fio": report(storage),
    "fio over time": report(over_time),
    "access times": report(access_times),
    "maps of cores": report(core_pairs),
    "many hosts": report(many_hosts),
    "without scripts": lambda make, folder, out: pinsweep(
        "report", swept(make, folder / "r.db"), "--static", "-o", out
    ),
    "captured MLC": report(lambda make, folder: taken_in(folder, "mlc", *two_matrices(folder))),
    "captured IMB": report(lambda make, folder: taken_in(folder, "imb")),
    "captured STREAM": report(lambda make, folder: taken_in(folder, "stream")),
    "comparison": comparison,
    "fleet": fleet,
    "history": history,
}

FOUND = """options => axe.run(document, {resultTypes: ["violations"], elementRef: false, ...options}).then(
    found => found.violations.map(v => [v.id, v.nodes.slice(0, 4).map(n => n.target.join(" "))]))"""
CONTRAST = "color-contrast"
ROWS_ALIKE = """() => {
    const look = e => `${e.tagName}.${e.className}(${[...e.children].map(look)})`;
    document.querySelectorAll("tbody").forEach(body => {
        const seen = {};
        [...body.rows].filter(row => !row.querySelector("[id]") && (seen[look(row)] = (seen[look(row)] ?? 0) + 1) > 3).forEach(row => row.remove());
    });
}"""
"""Of rows of a table that are built alike three stay: the first look, at a wide page, was at all of them."""
TEXTS_ALIKE = """seen => {
    document.querySelectorAll("table:not(.heat) tbody tr:nth-child(n+4), svg.ch").forEach(e => e.remove());
    const own = /^(id|href|title|for|style|role|tabindex|aria-label\\w*|aria-controls|data-series)$/;
    const told = e => [...e.attributes].filter(a => !own.test(a.name)).map(a => `${a.name}=${a.value}`);
    const look = e => e ? `${look(e.parentElement)}>${e.tagName} ${e.column} ${told(e)}` : "";
    document.querySelectorAll("td, th").forEach(e => e.column ??= e.cellIndex);
    const again = e => (seen[look(e)] = (seen[look(e)] ?? 0) + 1) > 2;
    [...document.querySelectorAll("body *")].filter(e => !e.childElementCount && e.textContent.trim())
        .filter(e => e.checkVisibility({ visibilityProperty: true }) && again(e)).forEach(e => e.remove());
    return seen;
}"""
"""Texts look alike whose elements, up to the page's, have the same attributes and column: of those that are seen axe gets two of each,
whatever page they are of, as all have the same style sheet. Of texts in a picture it cannot tell, and a test below does."""
_seen: dict[int, dict[str, int]] = {1280: {}, 400: {}}
"""At a width: how many texts of each look axe was given."""


def violations(browser: Browser, path: Path, *, awake: bool = False) -> dict[str, Any]:
    """Return what axe finds in a page whose details are all open, by the width and theme at which it does, and whether it is wider than the screen: every rule at both widths, that on
    contrast, which alone depends on colours and takes most of the time, in both themes at both, of texts that are alike at two. awake: with a chart that is zoomed."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light", bypass_csp=True)
    context.set_default_timeout(1000 * PATIENCE_S)
    page: Page = context.new_page()
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    if awake:
        page.get_by_role("button", name="Zoom").first.click()
        expect(page.locator(".vg svg").first).to_be_visible()
    page.evaluate(AXE)
    found = {}
    for rules, themes in (
        ({"rules": {CONTRAST: {"enabled": False}}}, ("light",)),
        ({"runOnly": [CONTRAST]}, ("light", "dark")),
    ):
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            if beyond := page.evaluate("document.documentElement.scrollWidth - innerWidth"):
                found[f"{width} wide"] = f"the page is {beyond} px wider than the screen"
            if CONTRAST in rules.get("runOnly", ()):
                _seen[width] = page.evaluate(TEXTS_ALIKE, _seen[width])
            elif width < 1280:
                page.evaluate(ROWS_ALIKE)
            for theme in themes:
                page.emulate_media(color_scheme=theme)
                if seen := page.evaluate(FOUND, rules):
                    found[f"{width} {theme}"] = seen
    context.close()
    return found


QUICK = ("one run",)


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_axe_finds_nothing_in_any_kind_of_page(browser: Browser, make: Any, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "page.html"
    KINDS[kind](make, tmp_path, out)

    assert violations(browser, out) == {}


@pytest.mark.slow
def test_axe_finds_nothing_in_the_page_of_all_tools(browser: Browser, open_page: str, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    out.write_text(open_page, encoding="utf-8")

    assert violations(browser, out, awake=True) == {}


@pytest.mark.slow
def test_every_name_beside_a_line_can_be_read(browser: Browser, open_page: str, tmp_path: Path) -> None:
    """Which axe cannot tell of texts in a picture: 4.5 : 1 on the page's ground, light and dark."""
    out = tmp_path / "page.html"
    out.write_text(open_page, encoding="utf-8")
    page = browser.new_page()
    page.goto(out.as_uri())
    fills = "[...new Set([...document.querySelectorAll('svg.ch text')].map(t => getComputedStyle(t).fill))]"
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        ground = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        seen = {fill: contrast(luminance(fill), ground) for fill in page.evaluate(fills)}
        halo = [ratio for ratio in seen.values() if ratio == 1]  # the ground's own colour behind a text
        assert len(halo) <= 1
        assert {fill: ratio for fill, ratio in seen.items() if 1 < ratio < 4.5} == {}
    page.close()


def luminance(colour: str) -> float:
    """Relative luminance of "rgb(r, g, b)", as WCAG has it."""
    shares = [int(v) / 255 for v in colour.removeprefix("rgb(").rstrip(")").split(",")]
    r, g, b = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in shares)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: float, b: float) -> float:
    return (max(a, b) + 0.05) / (min(a, b) + 0.05)


@pytest.mark.slow
def test_sizes_follow_the_size_of_text_that_the_reader_has_set(
    browser: Browser, open_page: str, tmp_path: Path
) -> None:
    """Every size was in px: the reader's setting did nothing."""
    out = tmp_path / "page.html"
    out.write_text(open_page, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    page.goto(out.as_uri())
    sizes = "() => ['body', 'h1', 'h2', 'h3', '.sub', 'th', '.kpi b'].map(s => parseFloat(getComputedStyle(document.querySelector(s)).fontSize))"
    before = page.evaluate(sizes)

    page.add_style_tag(content="html{font-size:32px}")

    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    after = page.evaluate(sizes)
    assert [b / a for a, b in zip(before, after, strict=True)] == pytest.approx([2.0] * 7, rel=0.02)
    page.close()
