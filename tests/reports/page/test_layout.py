"""Where a page puts things, in a real Chromium: how long its lines are, what stands beside what, on a screen and on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator

from orchestrator.model import Group
from reports.report.render import render_report
from tests.reports.page.test_browser import opened

BOXES = "them => them.map(e => e.getBoundingClientRect().toJSON())"
CHARACTERS = """them => them.flatMap(e => {
    const range = document.createRange(), lines = {};
    const walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let node; node = walk.nextNode();) for (let i = 0; i < node.length; i++) {
        range.setStart(node, i);
        range.setEnd(node, i + 1);
        const box = range.getBoundingClientRect(), y = Math.round((box.top + box.bottom) / 8);
        if (box.width) lines[y] = (lines[y] ?? 0) + 1;
    }
    return Object.values(lines);
})"""


def box(of: Locator) -> dict[str, float]:
    (only,) = of.evaluate_all(BOXES)
    return dict(only)


@pytest.fixture(scope="module")
def doubted(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Storage whose writes a check doubts, over two accesses and three depths, and the drawing of a machine with memory bandwidth."""
    folder = tmp_path_factory.mktemp("doubted")
    maker = make.Maker(folder / "r.db")
    maker.topology = "pack:1 [numa] core:4 pu:1"
    maker.groups["local"] = (Group(cpus=(0, 1), membind=(0,)),)
    for rw, way in (("randread", "read"), ("randwrite", "write")):
        for depth in (1, 8, 64):
            iops = 9e3 * depth**0.5 * (0.5 if rw == "randwrite" else 1)
            text = make.fio_text({way: (iops, 100.0 * depth**0.5)}, bs="4k", rw=rw, iodepth=depth)
            maker.add("ssd", "fio", {"rw": rw, "bs": "4k", "iodepth": depth}, text, axes=("rw", "iodepth"))
    for threads in (1, 2):
        maker.add("s", "stream", {"threads": threads}, make.stream_text(9e3 * threads, threads), place="local", axes=("threads",))  # fmt: skip
    return render_report([maker.write()], folder / "r.html")


def test_no_line_of_words_is_too_long_to_find_the_next(browser: Browser, doubted: Path) -> None:
    """Captions had 118 characters a line, leads 100."""
    with opened(browser, doubted) as page:
        words = page.locator(".lede, .lead, .sub, .note, caption > span, .chk div").evaluate_all(CHARACTERS)
    assert len(words) > 20
    assert max(words) <= 100  # small print; most have 80 to 90
    assert sorted(words)[len(words) // 2] <= 90


def test_what_is_doubtful_stands_beside_the_caption(browser: Browser, doubted: Path) -> None:
    with opened(browser, doubted) as page:
        captions = page.locator(".fig:not(.half, .beside) > figcaption:has(> .sub:not(.un) ~ p.un)")
        assert captions.count()
        told, doubt = (box(captions.first.locator(of)) for of in ("> .sub:not(.un)", "> p.un"))
        assert doubt["y"] == told["y"]
        assert doubt["left"] > told["right"]
        page.set_viewport_size({"width": 600, "height": 900})
        told = box(captions.first.locator("> .sub:not(.un)"))
        doubt = box(captions.first.locator("> .un:visible"))
        assert doubt["y"] >= told["bottom"]


@pytest.mark.parametrize("width", [400, 1280])
def test_the_machine_is_drawn_before_what_its_marks_mean(browser: Browser, doubted: Path, width: int) -> None:
    """Six lines of small print stood between the key numbers and the drawing, and on a phone between the drawing and these."""
    with opened(browser, doubted, viewport={"width": width, "height": 900}) as page:
        numbers, machine, legends = (box(page.locator(of)) for of in (".kpi", "#machine", ".legends"))
        assert legends["top"] >= max(numbers["bottom"], machine["bottom"])
        assert page.locator(".legends .note").count() == 2


def test_on_a_phone_what_a_run_printed_is_as_wide_as_the_page(browser: Browser, doubted: Path) -> None:
    """It stood in the last of seven columns, outside of the screen, and opened beside an empty row of its height. Names of three words had three
    lines in tables that scroll anyway."""
    with opened(browser, doubted, viewport={"width": 400, "height": 900}) as page:
        page.locator("#runs > details > summary").click()
        page.locator("#runs .runs details > summary").first.click()
        out = box(page.locator("#runs .runs pre").first)
        assert out["left"] < 30
        assert out["right"] <= 400
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        names = page.locator(".tw.scrolls :is(td, th).lg")
        assert all(place["width"] >= 134 for place in names.evaluate_all(BOXES) if place["width"])


def test_on_paper_a_caption_is_no_wider_than_the_page(browser: Browser, doubted: Path) -> None:
    """A page that is wider than its paper is printed smaller, all of it."""
    with opened(browser, doubted) as page:
        page.set_viewport_size({"width": 688, "height": 900})
        page.emulate_media(media="print")
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= 688
        shares = page.locator("caption > span").evaluate_all(BOXES)
        assert shares
        assert max(place["right"] for place in shares) <= 688
