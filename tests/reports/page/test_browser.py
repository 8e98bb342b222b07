"""The page in a real Chromium: what a reader does with it, and that it does nothing else."""

from __future__ import annotations

import base64
import contextlib
import functools
import http.server
import math
import re
import threading
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from orchestrator.model import Group
from reports.report.render import render_report
from tests.waits import PATIENCE_S, until

JENKINS = "sandbox; default-src 'none'; img-src 'self'; style-src 'self'"
PAYLOAD = '<img src=x onerror="document.title=\'OWNED\'"><script>document.title="OWNED"</script></script></style></svg>'

expect.set_options(timeout=1000 * PATIENCE_S)


@contextlib.contextmanager
def opened(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """Open a page from its file. When it is left, it must have said nothing in the console and asked for nothing."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert said == []
    assert asked == [path.as_uri()]


@pytest.fixture(scope="module")
def scaling(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of one figure with two panels: bandwidth of two places over threads, at two sizes. The rates are plain
    numbers: GB/s = 10 × threads, remote half of it, and as much again for the second size."""
    folder = tmp_path_factory.mktemp("scaling")
    maker = make.Maker(folder / "s.db")
    for size in (1, 2):
        for threads in range(1, 9):
            for place, rate in (("local", 10e3), ("remote", 5e3)):
                maker.add(
                    "s", "stream", {"threads": threads, "array_size": size}, make.stream_text(rate * threads * size, threads),
                    axes=("array_size", "threads", "place"), place=place,
                )  # fmt: skip
    return render_report([maker.write()], folder / "s.html")


@pytest.fixture(scope="module")
def full(open_page: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("full") / "full.html"
    path.write_text(open_page, encoding="utf-8")
    return path


def chart(page: Page, index: int = 0) -> Locator:
    return page.locator(".panel > :is(.w, .nv):visible").nth(index)


def awake(host: Locator) -> Locator:
    """Come near a chart, as the pointer does, and wait until it answers."""
    host.hover(position={"x": 2, "y": 2})
    expect(host).to_have_class(re.compile(r"\bon\b"))
    return host


def marked(host: Locator) -> tuple[float, float]:
    """Where the marked point is, in the window's px."""
    box = host.locator(".hit").bounding_box()
    assert box
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def ticks(host: Locator) -> list[str]:
    """The texts of the axes of a chart that is awake, sorted."""
    return sorted(host.locator(".vg .role-axis-label text").all_text_contents())


def named(host: Locator) -> dict[str, tuple[float, float]]:
    """Return where the names beside the lines of a chart that is awake are seen: left and right end, in the window's px."""
    places = """them => them.filter(e => getComputedStyle(e).opacity > 0).map(e => {
        const box = e.getBoundingClientRect();
        return [e.textContent, [box.left, box.right]];
    })"""
    found = (
        host.locator(".vg .mark-text text")
        .filter(has_text=re.compile("^(local|remote)$"))
        .evaluate_all(places)
    )
    return {name: tuple(ends) for name, ends in found}


def drawn(host: Locator) -> set[str]:
    """The colours of the lines of a chart that is awake."""
    return set(
        host.locator(".vg .mark-line path").evaluate_all("them => them.map(e => e.getAttribute('stroke'))")
    )


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


LOCAL, REMOTE = "#2B7BBF", "#D4620F"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.slow
def test_a_finger_is_told_too(browser: Browser, scaling: Path) -> None:
    with opened(browser, scaling, viewport={"width": 400, "height": 800}, has_touch=True) as page:
        host, tip = chart(page), page.locator("#tip")
        host.focus()
        expect(host).to_have_class(re.compile(r"\bon\b"))
        host.press("End")
        x, y = marked(host)
        host.press("Escape")

        page.touchscreen.tap(x - 5, y + 5)
        expect(tip).to_have_text("remote8 threads · 40.00 GB/s")


@pytest.mark.slow
def test_arrow_keys_go_through_points_and_series_and_are_spoken(browser: Browser, scaling: Path) -> None:
    with opened(browser, scaling) as page:
        host, live = chart(page), page.locator("[aria-live]")
        host.focus()
        expect(host).to_have_class(re.compile(r"\bon\b"))
        said = []
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "End", "Home", "ArrowUp"):
            host.press(key)
            said.append(live.text_content())

        assert said == [
            "local, 1 thread · 10.00 GB/s", "local, 2 threads · 20.00 GB/s", "remote, 1 thread · 5.000 GB/s",
            "remote, 8 threads · 40.00 GB/s", "local, 1 thread · 10.00 GB/s", "remote, 1 thread · 5.000 GB/s",
        ]  # fmt: skip
        assert host.get_attribute("role") == "application"
        name = page.locator(f"#{host.get_attribute('aria-labelledby')}")
        assert "bandwidth by thread count" in (name.text_content() or "")


@pytest.mark.slow
def test_a_drag_zooms_and_three_ways_lead_back(browser: Browser, scaling: Path) -> None:
    with opened(browser, scaling) as page:
        host = awake(chart(page))
        before, names = ticks(host), named(host)
        host.focus()
        host.press("Home")
        first = marked(host)
        for _ in range(3):
            host.press("ArrowRight")
        fourth = marked(host)
        host.press("Escape")
        back = [
            lambda: host.get_by_role("button", name="Show all").click(),
            lambda: host.dblclick(position={"x": 200, "y": 150}),
            lambda: (host.focus(), host.press("Escape")),
            lambda: (host.focus(), host.press("0")),
        ]

        for way in back:
            drag(page, (first[0] - 4, first[1] + 12), (fourth[0] + 4, fourth[1] - 12))
            seen = ticks(host)
            assert [t for t in seen if t in {"1", "2", "3", "4"}] == ["1", "2", "3", "4"]
            assert not set(seen) & {"5", "6", "7", "8"}
            assert max(float(t) for t in seen) < 50  # GB/s, of 80
            assert named(host).keys() == names.keys() == {"local", "remote"}
            box = host.bounding_box()
            assert box
            assert all(
                box["x"] < left < right < box["x"] + box["width"] for left, right in named(host).values()
            )
            assert named(host) != names
            host.focus()
            host.press("End")
            told = page.locator("[aria-live]").text_content() or ""
            host.press("Escape")
            assert told.startswith("remote, 4 threads")
            way()
            assert (ticks(host), named(host)) == (before, names)
        assert ticks(awake(chart(page, 1))) == before


@pytest.mark.slow
def test_the_wheel_scrolls_the_page_and_zooms_only_with_control(browser: Browser, scaling: Path) -> None:
    with opened(browser, scaling, viewport={"width": 1280, "height": 500}) as page:
        host = awake(chart(page))
        before, top = ticks(host), page.evaluate("scrollY")
        page.mouse.wheel(0, 120)
        until(lambda: page.evaluate("scrollY") > top)
        assert ticks(host) == before

        host.hover(position={"x": 200, "y": 100})
        top = page.evaluate("scrollY")
        page.keyboard.down("Control")
        page.mouse.wheel(0, -120)
        page.keyboard.up("Control")
        expect(host.get_by_role("button", name="Show all")).to_be_visible()
        assert page.evaluate("scrollY") == top
        host.focus()
        for _ in range(4):
            host.press("-")
        assert ticks(host) == before


IN_ALL_CHARTS = """async look => {
    const out = [], soon = () => new Promise(done => requestAnimationFrame(done));
    const hosts = [...document.querySelectorAll(".panel > :is(.w, .nv)")].filter(host => host.offsetParent);
    for (const host of hosts) out.push(await look(host, async () => {
        host.focus();
        while (!host.classList.contains("on")) await soon();
    }));
    return out;
}"""


def built(page: Page) -> None:
    """Have all pictures in the page, those that are far away, too."""
    page.evaluate("['beforeprint', 'afterprint'].forEach(name => dispatchEvent(new Event(name)))")


def in_all_charts(page: Page, look: str) -> list[Any]:
    """Call a function of JavaScript with each chart that is seen and a function that wakes it: one trip for all."""
    built(page)
    found: list[Any] = page.evaluate(f"({IN_ALL_CHARTS})({look})")
    return found


@pytest.mark.slow
def test_plus_never_leaves_an_axis_without_ticks(browser: Browser, full: Path) -> None:
    look = """async (host, wake) => {
        await wake();
        const key = key => host.dispatchEvent(new KeyboardEvent("keydown", {key})), seen = [];
        key("ArrowRight");
        for (const times of [1, 2, 4, 8]) {
            for (let i = 0; i < times; i++) key("+");
            for (const axis of host.querySelectorAll(".vg .role-axis:has(.role-axis-label text)"))
                seen.push([...axis.querySelectorAll(".role-axis-label text")].map(text => text.textContent));
        }
        return seen;
    }"""
    with opened(browser, full) as page:
        axes = [texts for seen in in_all_charts(page, look) for texts in seen]

    assert len(axes) > 100
    for texts in axes:
        assert len(texts) >= 2
        assert all(texts), texts
        assert len(set(texts)) == len(texts)


@pytest.mark.slow
def test_buttons_of_the_legend_show_and_hide_a_series_in_all_panels(browser: Browser, scaling: Path) -> None:
    with opened(browser, scaling) as page:
        local, remote = (
            page.locator(".key").get_by_role("button", name=name) for name in ("local", "remote")
        )
        expect(remote).to_have_attribute("aria-pressed", "true")

        remote.click()

        for i in (0, 1):
            expect(chart(page, i)).to_have_class(re.compile(r"\bon\b"))
            assert drawn(chart(page, i)) == {LOCAL}
        expect(remote).to_have_attribute("aria-pressed", "false")
        expect(local).to_have_attribute("aria-pressed", "true")
        chart(page).focus()
        chart(page).press("End")
        assert (page.locator("[aria-live]").text_content() or "").startswith("local, 8 threads")

        remote.press("Space")
        expect(remote).to_have_attribute("aria-pressed", "true")
        assert drawn(chart(page)) == {LOCAL, REMOTE}
        remote.dblclick()
        expect(local).to_have_attribute("aria-pressed", "false")
        assert drawn(chart(page, 1)) == {REMOTE}
        remote.dblclick()
        expect(local).to_have_attribute("aria-pressed", "true")


@pytest.mark.slow
def test_plus_without_a_point_shows_points(browser: Browser, full: Path) -> None:
    """In the middle of STREAM's plot, where it went, nothing is drawn."""
    look = """async (host, wake) => {
        await wake();
        const live = document.querySelector("[aria-live]"), said = live.textContent;
        host.dispatchEvent(new KeyboardEvent("keydown", {key: "+"}));
        return live.textContent === said ? "" : live.textContent;
    }"""
    with opened(browser, full) as page:
        told = [text for text in in_all_charts(page, look) if text]

    assert len(told) > 10
    assert not [text for text in told if text.startswith("Zoomed to 0 points")]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "left"), [("memory, 1 GiB", ["", "median 60.3 ns, p99.9 130 ns", "", ""]), ("read only", ["", ""])])  # fmt: skip
def test_a_hidden_series_takes_its_verticals_normal_and_floor_along(
    browser: Browser, full: Path, name: str, left: list[str]
) -> None:
    """There stood median and p99.9 beside no bar, a dashed curve about nothing, "floor of read only"."""
    texts = """panels => panels.map(panel => [...new Set([...panel.querySelectorAll(".vg text")].map(t => t.textContent)
        .filter(t => /^(median|p99|normal|unloaded|2 × unloaded)/.test(t)))].join(", "))"""
    dashed = ".vg path[stroke-dasharray='6,4'][d]"
    with opened(browser, full) as page:
        built(page)
        figure = page.locator("figure.fig", has=page.locator(f"[data-series='{name}']")).first
        panels = figure.locator(".panel > .w")
        for panel in panels.all():
            awake(panel)
        before = panels.evaluate_all(texts)
        assert before != left

        figure.get_by_role("button", name=name, exact=True).click()

        until(lambda: panels.evaluate_all(texts) == left)
        assert figure.locator(dashed).count() == 0


@pytest.mark.parametrize("width", [pytest.param(width, marks=pytest.mark.slow) for width in (1280, 400)])
def test_the_chart_that_answers_looks_as_the_one_that_stood_there(
    browser: Browser, full: Path, width: int
) -> None:
    """Same texts, in the same places and colours."""
    look = """async (host, wake) => {
        const texts = svg => {
            const box = svg.getBoundingClientRect(), all = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim());
            return [[box.width, box.height], all.map(t => {
                const r = t.getBoundingClientRect();
                return [t.textContent, r.left - box.left, r.top - box.top, r.width, getComputedStyle(t).fill];
            }).sort()];
        };
        const still = texts(host.querySelector("svg.ch"));
        await wake();
        return [still, texts(host.querySelector(".vg svg"))];
    }"""
    with opened(browser, full, viewport={"width": width, "height": 900}, color_scheme="dark") as page:
        charts = in_all_charts(page, look)

    assert len(charts) > 12
    for (size, still), (again, live) in charts:
        assert again == size
        assert [(t[0], t[4]) for t in live] == [(t[0], t[4]) for t in still]
        for a, b in zip(still, live, strict=True):
            assert all(math.isclose(p, q, abs_tol=0.6) for p, q in zip(a[1:4], b[1:4], strict=True)), (a, b)


TOUCHING = """() => [...document.querySelectorAll("svg.ch")].filter(svg => svg.checkVisibility()).flatMap(svg => {
    const whole = svg.getBoundingClientRect(), out = [];
    const texts = [...svg.querySelectorAll("text:not([stroke])")].filter(t => t.textContent.trim()).map(t => {
        const { left, right, top, bottom, height } = t.getBoundingClientRect();
        if (left < whole.left - 1 || right > whole.right + 1) out.push(["outside", t.textContent]);
        return { said: t.textContent, left, right, top: top + height * 0.22, bottom: bottom - height * 0.22 };
    });
    texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
        if (a.said !== b.said && Math.min(a.right, b.right) > Math.max(a.left, b.left) && Math.min(a.bottom, b.bottom) > Math.max(a.top, b.top))
            out.push([a.said, b.said]);
    }));
    return out;
})"""


CUT = """() => [...document.querySelectorAll("caption")].map(caption => {
    const range = document.createRange();
    range.selectNodeContents(caption);
    return [caption.textContent.slice(0, 40), range.getBoundingClientRect(), caption];
}).filter(([, box, caption]) => {
    const table = caption.closest(".tw"), fades = table.matches(".more") ? 40 : 0;
    return box.width && box.right > table.getBoundingClientRect().right + 1 - fades;
}).map(([text]) => text)"""
"""Captions of tables that go on beyond what is seen of them, or in the shade of what goes on: one that scrolls with its table is read by
nobody."""


@pytest.mark.slow
def test_no_text_of_a_picture_lies_on_another_or_leaves_it(browser: Browser, full: Path) -> None:
    """“linear” lay on “95 % at 4”."""
    with opened(browser, full) as page:
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            built(page)
            assert page.evaluate(TOUCHING) == []
            assert page.evaluate(CUT) == []
        lines = "them => them.map(e => e.clientHeight / parseFloat(getComputedStyle(e).lineHeight))"
        said = page.get_by_text("Idle latency in ns, from node ↓ to memory of node →", exact=True)
        assert all(round(n) == 1 for n in said.evaluate_all(lines))  # over a table of two nodes


@pytest.mark.slow
def test_the_theme_switch_recolours_a_chart_that_answers(browser: Browser, scaling: Path) -> None:
    with opened(browser, scaling, color_scheme="light") as page:
        host = awake(chart(page))
        line, ink = host.locator(".vg .mark-line path").first, "e => getComputedStyle(e).stroke"
        assert line.evaluate(ink) == "rgb(43, 123, 191)"

        page.get_by_role("button", name="Dark").click()

        assert line.evaluate(ink) == "rgb(121, 180, 247)"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        page.get_by_role("button", name="Light").click()
        assert line.evaluate(ink) == "rgb(43, 123, 191)"


@pytest.mark.slow
def test_a_page_of_a_few_values_is_small_and_the_rest_of_it_answers(
    browser: Browser, make: Any, tmp_path: Path
) -> None:
    maker = make.Maker(tmp_path / "one.db")
    maker.add(
        "s", "stream", {"threads": 1}, make.stream_text(9e3, 1), place="local", axes=("place", "threads")
    )
    out = tmp_path / "one.html"
    render_report([maker.write()], out)

    assert out.stat().st_size < 250_000
    with opened(browser, out, color_scheme="light") as page:
        expect(page.locator(".fig svg.ch").first).to_be_attached()
        assert page.locator('[role="application"]').count() == 0
        page.locator("summary", has_text="Numbers of Figure").first.click()
        expect(page.get_by_role("button", name="Markdown").first).to_be_visible()
        page.get_by_role("button", name="Dark").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"


@pytest.mark.slow
def test_print_has_the_whole_picture(browser: Browser, scaling: Path) -> None:
    with opened(browser, scaling) as page:
        host = awake(chart(page))
        host.focus()
        host.press("+")
        page.locator(".key").get_by_role("button", name="remote").click()

        page.emulate_media(media="print")

        for still, live in ((host.locator("> svg.ch"), host.locator(".vg")),):
            expect(live).to_be_hidden()
            expect(still).to_be_visible()
            assert still.locator(f'[stroke="{REMOTE}"]').count()
        assert page.get_by_role("button", name="Show all").count() == 0


@pytest.mark.slow
def test_tables_are_copied_as_three_kinds_of_text(browser: Browser, scaling: Path) -> None:
    with opened(browser, scaling) as page:
        page.evaluate(
            "() => { document.execCommand = () => { window.copied = document.activeElement.value; return true; }; }"
        )
        page.locator("summary", has_text="Numbers of Figure").first.click()
        texts = []
        for name in ("TSV", "Markdown", "LaTeX"):
            page.get_by_role("button", name=name).first.click()
            texts.append(page.evaluate("window.copied"))

        tsv, markdown, latex = texts
        assert tsv.splitlines()[0].startswith("Kernel\t")
        assert re.search(r"\|:---\|:?---:?\|", markdown.splitlines()[1])
        assert latex.startswith("\\begin{tabular}{l")
        assert latex.count("\\\\") == len(tsv.splitlines())
        expect(page.locator("[aria-live]")).to_have_text("Copied")


IN_A_PNG = """async data => {
    const image = new Image(), canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    [canvas.width, canvas.height] = [image.width, image.height];
    pen.drawImage(image, 0, 0);
    const dots = pen.getImageData(0, 0, image.width, image.height).data, seen = new Set();
    for (let i = 0; i < dots.length; i += 4) seen.add(dots.slice(i, i + 4).join());
    return [image.width, image.height, dots.slice(0, 4).join(), [...seen]];
}"""


def saved(page: Page, figure: Locator, form: str) -> bytes:
    """Save a figure by the keyboard; return what the file holds."""
    with page.expect_download() as download:
        figure.get_by_role("button", name=re.compile(f"^Save Figure . as {form}$")).press("Enter")
    assert re.fullmatch(
        rf"memory-and-ssd-baseline-figure-\d\.{form.lower()}", download.value.suggested_filename
    )
    return Path(download.value.path()).read_bytes()


@pytest.mark.slow
def test_a_figure_is_saved_as_it_is_shown_light_on_white_with_its_font(
    browser: Browser, scaling: Path
) -> None:
    with opened(browser, scaling, color_scheme="dark") as page:
        figure = page.locator(".fig:has(.panel)").first
        still = ET.fromstring(saved(page, figure, "SVG"))
        figure.locator(".key").get_by_role("button", name="remote").click()
        expect(chart(page, 1)).to_have_class(re.compile(r"\bon\b"))
        alone = ET.fromstring(saved(page, figure, "SVG"))
        png = page.evaluate(IN_A_PNG, base64.b64encode(saved(page, figure, "PNG")).decode())
        page.emulate_media(media="print")
        expect(figure.get_by_role("button", name="Save").first).to_be_hidden()

    for svg, colours in ((still, {LOCAL, REMOTE}), (alone, {LOCAL})):
        lines = {e.get("stroke") for e in svg.iter(f"{SVG}path")}
        assert lines & {LOCAL, REMOTE} == colours
        words = ["".join(e.itertext()) for e in svg.iter(f"{SVG}text")]
        assert "Triad bandwidth, GB/s" in words
        assert ("remote" in words) == (REMOTE in colours)
        assert " ".join(words).startswith("Figure 1 ")
        ground = svg.find(f"{SVG}rect")
        assert ground is not None
        assert (ground.get("fill"), ground.get("width")) == ("#FFFFFF", svg.get("width"))
        assert "font/woff2" in (svg.findtext(f"{SVG}style") or "")
        assert "Result file: s.db" in (svg.findtext(f"{SVG}metadata") or "")
    width, height, corner, seen = png
    assert (width, height) == (2 * int(alone.attrib["width"]), 2 * int(alone.attrib["height"]))
    assert corner == "255,255,255,255"
    assert {"43,123,191,255", "22,25,29,255"} <= set(seen)  # its line and its title, as on a light page
    assert "212,98,15,255" not in seen


@pytest.mark.slow
def test_hostile_texts_stay_texts_when_charts_answer(browser: Browser, make: Any, tmp_path: Path) -> None:
    hostile = PAYLOAD + "\x00\x1b[31m"
    maker = make.Maker(tmp_path / "h.db", host=hostile, title=hostile)
    for place, rate in ((hostile, 12e3), ("local", 10e3)):
        for threads in (1, 2):
            maker.add(
                hostile, "stream", {"threads": threads}, make.stream_text(rate, threads), place=place,
                axes=("place", "threads"), stderr=hostile,
            )  # fmt: skip
    maker.add(hostile, "stream", {"threads": 4}, hostile, status="failed", reason=hostile, axes=("threads",))

    with opened(browser, render_report([maker.write()], tmp_path / "h.html")) as page:
        host = awake(chart(page))
        host.focus()
        host.press("ArrowDown")
        expect(page.locator("#tip")).to_contain_text("GB/s")
        for button in page.locator(".key button").all():
            button.click()
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == 3
        assert "OWNED" not in page.title().replace('"OWNED"', "").replace("'OWNED'", "")


@pytest.mark.slow
def test_the_static_page_has_no_script_and_reads(browser: Browser, full_page: str, tmp_path: Path) -> None:
    path = tmp_path / "static.html"
    path.write_text(full_page, encoding="utf-8")

    with opened(browser, path, java_script_enabled=False) as page:
        assert page.locator("script, button, [tabindex]:not(.tw, pre, ul.in)").count() == 0
        assert page.locator(".panel > .w > svg").count() == page.locator(".panel").count()
        expect(chart(page).locator("svg")).to_be_visible()


@pytest.mark.parametrize("name", ["static", "open"])
@pytest.mark.slow
def test_the_page_reads_where_a_viewer_forbids_scripts_and_styles(
    browser: Browser, full_page: str, open_page: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "r.html").write_text(full_page if name == "static" else open_page, encoding="utf-8")

    class Strict(http.server.SimpleHTTPRequestHandler):
        def end_headers(self) -> None:
            self.send_header("Content-Security-Policy", JENKINS)
            super().end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Strict, directory=tmp_path)
    ) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(1000 * PATIENCE_S)
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/r.html")
        sizes = page.locator("svg.ch").evaluate_all(
            "them => them.map(e => [e.getAttribute('width'), e.getBoundingClientRect().width, e.getBoundingClientRect().height])"
        )
        assert page.evaluate("document.querySelectorAll('button').length") == 0
        assert page.evaluate("getComputedStyle(document.body).maxWidth") == "none"  # no style sheet either
        context.close()
        server.shutdown()

    wide, narrow = ([s for s in sizes if s[0] == width] for width in ("544", "368"))
    assert len(wide) == len(narrow) > 10
    assert all(w == 544 and h > 150 for _, w, h in wide)
    assert all(w == 0 for _, w, _ in narrow)


@pytest.mark.slow
def test_rows_of_closed_tables_are_built_when_they_are_opened(
    browser: Browser, make: Any, tmp_path: Path
) -> None:
    """A page of 432 runs had 18 000 elements; without scripts all of it is there."""
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    maker = make.Maker(tmp_path / "r.db")
    for alg in ("a", "b", "c"):
        for size in (1, 64, 4096):
            for threads in (1, 2, 4, 8, 16, 32):
                for wobble in (0.99, 1.0, 1.01, 1.02):
                    options = {
                        "command": "x",
                        "metrics": metrics,
                        "alg": alg,
                        "size": size,
                        "threads": threads,
                    }
                    maker.add(
                        "s",
                        "command",
                        options,
                        f"rate {threads * wobble * 100:.2f}\n",
                        axes=("alg", "size", "threads"),
                    )
    path = render_report([maker.write()], tmp_path / "r.html")
    count, rows = (
        "document.querySelectorAll('*').length",
        "document.querySelectorAll('#runs tbody tr').length",
    )

    with opened(browser, path, java_script_enabled=False) as page:
        whole = page.locator("*").count()
        assert page.locator("#runs tbody tr").count() == 216
    with opened(browser, path) as page:
        until(lambda: page.evaluate(count) < 2500)
        assert whole > 2500
        assert page.evaluate(rows) == 0
        page.locator("#runs > details > summary").click()
        until(lambda: page.evaluate(rows) == 216)
        expect(page.locator("#runs tbody tr").first).to_be_visible()


@pytest.mark.slow
def test_figures_that_are_far_away_are_built_when_they_are_near_or_printed(
    browser: Browser, full: Path, tmp_path: Path
) -> None:
    """A page of 40 sweeps had 12 853 elements with scripts, most of them pictures that nobody looked at."""
    path = tmp_path / "many.html"
    path.write_text(full.read_text("utf-8").replace("<body>", '<body class="many">', 1), encoding="utf-8")
    count = "document.querySelectorAll('*').length"
    pictures = "them => them.map(f => f.querySelectorAll('.panel > .w path').length > 0)"

    with opened(browser, path) as page:
        until(lambda: page.evaluate(count) < 2500)
        last = page.locator(".fig").last
        assert last.locator(".panel").count() == 0
        assert last.locator("h3").is_visible()
        last.scroll_into_view_if_needed()
        expect(last.locator(".panel").first).to_be_visible()
        awake(last.locator(".panel > .w").first)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert all(page.locator(".fig:has(.panels)").evaluate_all(pictures))
        assert page.locator(".fig:has(.panels)").count() == full.read_text("utf-8").count(
            '<div class="panels'
        )


DECODED = """async picture => {
    const image = new Image(), canvas = document.createElement('canvas');
    image.src = picture.getAttribute('href');
    await image.decode();
    Object.assign(canvas, { width: image.width, height: image.height });
    const pen = canvas.getContext('2d');
    pen.drawImage(image, 0, 0);
    return pen.getImageData(0, 0, image.width, image.height).data.filter((v, i) => i % 4 == 3 && v).length;
}"""
"""How many dots of an SVG's image have a colour."""


@pytest.mark.slow
def test_a_page_of_few_figures_that_is_long_is_without_the_pictures_that_are_far_away(
    browser: Browser, full: Path
) -> None:
    """A page of all tools had 2 986 elements: the pictures of the other width alone were not enough."""
    empty = "[...document.querySelectorAll('.panel > .w > svg')].filter(e => !e.querySelector('path')).length"

    with opened(browser, full) as page:
        until(lambda: page.evaluate("document.querySelectorAll('*').length") < 2500)
        assert page.evaluate(empty) > 0
        tall = page.evaluate("document.body.scrollHeight")
        last = page.locator(".panel > .w > svg").last
        far = last.locator("> .far")  # stands in for it, where a picture is taken of the whole page
        expect(far).to_have_count(1)
        light, line = far.get_attribute("href"), far.evaluate(DECODED)
        page.locator("#theme").click()
        assert far.get_attribute("href") != light
        assert line > 0
        last.scroll_into_view_if_needed()
        expect(last.locator("path").first).to_be_attached()
        expect(far).to_have_count(0)
        assert page.evaluate("document.body.scrollHeight") == tall  # their places are kept
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(empty) == 0


@pytest.mark.slow
def test_a_page_of_many_small_sweeps_is_without_the_figures_that_are_far_away(
    browser: Browser, make: Any, tmp_path: Path
) -> None:
    """40 sweeps of one panel had 3 289 elements, most of them rows of their open tables."""
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    maker = make.Maker(tmp_path / "r.db")
    for sweep in range(40):
        for threads in (1, 2, 4, 8):
            options = {"command": "x", "metrics": metrics, "threads": threads}
            maker.add(f"s{sweep}", "command", options, f"rate {threads}\n", axes=("threads",))
    path = render_report([maker.write()], tmp_path / "r.html")

    with opened(browser, path) as page:
        until(lambda: page.evaluate("document.querySelectorAll('*').length") < 2500)
        last = page.locator(".fig").last
        assert last.locator(".panel").count() == 0
        last.scroll_into_view_if_needed()
        expect(last.locator(".panel").first).to_be_visible()


@pytest.mark.slow
def test_a_picture_of_the_other_width_is_built_when_it_is_shown(browser: Browser, full: Path) -> None:
    with opened(browser, full) as page:
        narrow = page.locator(".panel > .nv > svg").first
        until(lambda: page.evaluate("!document.querySelector('.panel > .nv > svg path')"))
        wide = page.locator(".panel > .w > svg").first
        wide.scroll_into_view_if_needed()
        expect(wide.locator("path").first).to_be_attached()
        page.set_viewport_size({"width": 400, "height": 900})
        expect(narrow.locator("path").first).to_be_attached()


@pytest.mark.slow
def test_the_contents_stay_in_sight_and_close_when_they_have_led_somewhere(
    browser: Browser, full: Path
) -> None:
    with opened(browser, full) as page:
        contents = page.locator(".toc > details")
        page.evaluate("scrollTo(0, 3000)")
        until(lambda: page.evaluate("document.querySelector('.toc').getBoundingClientRect().top") == 0)
        contents.locator("> summary").click()
        link = contents.locator("li li a").last
        target = link.get_attribute("href")
        link.click()
        expect(contents).not_to_have_attribute("open", "")
        in_sight = "id => { const top = document.querySelector(id).getBoundingClientRect().top; return top > 30 && top < innerHeight; }"
        until(lambda: page.evaluate(in_sight, target))


@pytest.mark.slow
def test_long_words_give_way_before_a_table_is_cut(browser: Browser, full: Path) -> None:
    """The best cell of each sweep had its values beyond the edge of the page."""
    with opened(browser, full) as page:
        few = "(!e.closest('.half') || e.querySelectorAll('thead th').length < 8)"
        beyond = f"e => e.scrollWidth > e.clientWidth + 1 && {few}"
        cut = page.evaluate(
            f"[...document.querySelectorAll('.tables .tw')].filter({beyond}).map(e => e.innerText)"
        )
        assert cut == []


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.slow
def test_the_places_of_the_runs_are_to_be_seen(
    browser: Browser, make: Any, tmp_path: Path, width: int
) -> None:
    """They stood in a box that is as wide as its content, and whose content counted for nothing. What the marks of the key numbers mean stood before
    these on a phone, above the drawing of the machine."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:2 [numa] [numa] core:4 pu:1"
    maker.add("s", "stream", {"threads": 4}, make.stream_text(9e3, 4), place="local", axes=("place",))
    maker.add("s", "stream", {"threads": 4}, make.stream_text(9e4, 4), place="local", axes=("place",))
    page_of = render_report([maker.write()], tmp_path / "r.html")
    with opened(browser, page_of, viewport={"width": width, "height": 900}) as page:
        seen = page.locator("#placement .tw").evaluate_all("tables => tables.map(e => e.clientWidth)")
        assert len(seen) == 1
        assert min(seen) > width / 2
        bottoms = "them => them.map(e => Math.round(e.getBoundingClientRect().bottom))"
        ends = page.locator("#placement .node > span").evaluate_all(bottoms)
        assert len(ends) == 4
        assert len({*ends}) == 1 or width == 400  # memory without CPUs stands on the line of the others
        key_numbers, note = (page.locator(of).bounding_box() for of in (".kpi", ".legends"))
        assert key_numbers
        assert note
        assert note["y"] > key_numbers["y"]


@pytest.mark.slow
def test_on_paper_no_figure_is_parted_from_its_title(browser: Browser, full: Path) -> None:
    """Title, caption and doubts of a figure of half a width stood at the foot of a sheet, its picture on the next: a grid heeds no `break-after`."""
    with opened(browser, full) as page:
        page.emulate_media(media="print")
        breaks = "e => e.map(e => getComputedStyle(e).breakInside)"
        half = page.locator(".fig.half").evaluate_all(breaks)
        assert half
        assert set(half) == {"avoid"}


@pytest.mark.slow
def test_the_drawing_of_a_machine_begins_on_the_first_sheet(
    browser: Browser, make: Any, tmp_path: Path
) -> None:
    """A package that was higher than what the head left of a sheet began the next one: it may be broken now, small boxes not."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:2 [numa] l3:1(size=32MiB) l2:8(size=1MiB) core:1 pu:1"
    maker.groups["one"] = (Group(cpus=(0,), membind=(0,)),)
    options = {"target": "memory", "bytes": 2**20 // 2, "count": 1000}
    maker.add("s", "poke", options, make.poke_text([90.0] * 1000, size=2**19), place="one", axes=("place",))
    with opened(browser, render_report([maker.write()], tmp_path / "r.html")) as page:
        page.emulate_media(media="print")
        breaks = "e => e.map(e => [!!e.querySelector('.lv b'), getComputedStyle(e).breakInside])"
        assert page.locator(".mach .pk").evaluate_all(breaks) == [[True, "auto"], [False, "avoid"]]


@pytest.mark.slow
def test_a_doubt_of_eight_lines_is_one_on_a_phone_to_be_opened(browser: Browser, full: Path) -> None:
    """Eight lines in orange stood between a figure's caption and its picture."""
    with opened(browser, full, viewport={"width": 400, "height": 800}) as page:
        folded, whole = (page.locator(f"#fio-storage figcaption {of}.un") for of in ("details", "p"))
        lines = "e => e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)"
        assert (whole.is_visible(), round(folded.evaluate(lines))) == (False, 1)
        folded.locator("summary").click()
        assert folded.evaluate(lines) > 3
        assert "asked for (F1, 22 of 30 cells" in folded.inner_text()
        page.set_viewport_size({"width": 1280, "height": 800})
        assert (whole.is_visible(), folded.is_visible()) == (True, False)


@pytest.mark.slow
def test_on_a_phone_the_nodes_of_a_place_stand_side_by_side(
    make: Any, browser: Browser, tmp_path: Path
) -> None:
    """Eight nodes stood one below the other between the place's name and its tools: 550 px a place."""
    maker = make.Maker(tmp_path / "r.db")
    maker.topology = "pack:8 [numa] core:8 pu:2"
    maker.groups = {"local": (Group(cpus=(0, 1), membind=(0,)),)}
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), place="local")
    path = render_report([maker.write()], tmp_path / "r.html")

    with opened(browser, path, viewport={"width": 400, "height": 900}) as page:
        row = page.locator(".places tbody tr")
        name, picture, tools = row.evaluate("e => [...e.cells].map(c => c.getBoundingClientRect().toJSON())")
        assert name["y"] == tools["y"] < picture["y"]
        assert picture["height"] < 280
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


@pytest.mark.slow
def test_on_paper_a_heading_is_with_what_it_heads_and_a_long_wide_table_lets_its_picture_go(
    browser: Browser, full: Path
) -> None:
    """“Placement” and a line of its sentence stood at the foot of a sheet; a picture and its long table went to the next one together, and half
    of one was empty."""
    with opened(browser, full) as page:
        page.emulate_media(media="print")
        breaks = "(them, what) => them.map(e => getComputedStyle(e)[what])"
        assert {*page.locator("section .lead").evaluate_all(breaks, "breakInside")} == {"avoid"}
        halves = page.locator(".fig.half").evaluate_all(
            "them => them.map(e => [getComputedStyle(e).breakInside, getComputedStyle(e).display, [...e.querySelectorAll('.few table')].some(t => t.rows.length > 7 && t.rows[0].cells.length > 4)])"
        )
        assert halves
        # a grid heeds no `break-after`, which keeps a title with its picture
        assert all(
            (how, display) == (("auto", "block") if long else ("avoid", "grid"))
            for how, display, long in halves
        )


@pytest.mark.parametrize("width", [400, 900, 1280])
def test_a_machine_of_many_nodes_is_drawn_in_letters_of_ten_pixels(
    make: Any, browser: Browser, tmp_path: Path, width: int
) -> None:
    """Four boxes abreast shrank what was drawn in them; and a host's name with a hyphen was grey."""
    maker = make.Maker(tmp_path / "r.db", host="node-07")
    maker.topology = "pack:2 numa:2(memory=64GB) l3:1 core:12 pu:2"
    maker.groups["local"] = (Group(cpus=(0,), membind=(0,)),)
    maker.add("s", "stream", {"threads": 1}, make.stream_text(9e3, 1), place="local")

    with opened(browser, render_report([maker.write()], tmp_path / "r.html", static=True), viewport={"width": width, "height": 900}) as page:  # fmt: skip
        widths = "them => them.map(e => [e.getBoundingClientRect().width, +e.getAttribute('width')])"
        assert all(shown == asked for shown, asked in page.locator("#machine .sq").evaluate_all(widths))
        colours = page.locator("#machine h2, #machine h2 .nb").evaluate_all(
            "them => them.map(e => getComputedStyle(e).color)"
        )
        assert len(colours) == 2
        assert len({*colours}) == 1
