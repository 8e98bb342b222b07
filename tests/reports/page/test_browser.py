"""The page in a real Chromium: what a reader does with it, and that it asks for nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from reports.report.render import render_report
from tests.waits import PATIENCE_S


@contextlib.contextmanager
def opened(browser: Browser, path: Path, **options: Any) -> Iterator[Page]:
    """Open a page from its file. When it is left, it must have said nothing in the console and requested nothing."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(1000 * PATIENCE_S)
    page = context.new_page()
    messages: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    yield page
    context.close()
    assert messages == []
    assert requests == [path.as_uri()]


@pytest.fixture(scope="module")
def report(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    maker = make.Maker(folder / "a.db")
    for place, rate in (("local", 10e3), ("remote", 5e3)):
        for threads in (1, 2, 4):
            maker.add("s", "stream", {"threads": threads}, make.stream_text(rate * threads, threads), axes=("threads",), place=place, relation=place)  # fmt: skip
    return render_report([maker.write()], folder / "page.html")


def test_points_have_their_values_under_the_pointer_and_by_arrow_keys(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        panel = page.locator(".panel").first
        point = panel.locator("[data-tip]").first
        point.hover()
        assert "GB/s" in page.locator("#tip").inner_text()
        panel.focus()
        panel.press("ArrowRight")
        panel.press("ArrowRight")
        assert page.locator("[aria-live]").inner_text() == panel.locator("[data-tip]").nth(1).get_attribute("data-tip")  # fmt: skip


def test_the_theme_is_switched_and_a_picture_follows(browser: Browser, report: Path) -> None:
    with opened(browser, report, color_scheme="light") as page:
        color = "getComputedStyle(document.querySelector('svg.ch [stroke=\"#2B7BBF\"]')).stroke"
        before = page.evaluate(color)
        page.locator("#theme").click()
        assert page.evaluate(color) != before


def test_tables_are_copied_and_pictures_saved(browser: Browser, report: Path) -> None:
    with opened(browser, report) as page:
        page.evaluate("document.execCommand = () => { window.copied = document.activeElement.value; return true; }")
        page.locator("summary", has_text="Numbers").first.click()
        page.get_by_role("button", name="Copy as TSV").first.click()
        assert page.evaluate("window.copied").splitlines()[0].split("\t")[:2] == ["place", "threads"]
        with page.expect_download() as saved:
            page.get_by_role("button", name="SVG").first.click()
        assert b"<svg" in saved.value.path().read_bytes()


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen(browser: Browser, report: Path, width: int) -> None:
    with opened(browser, report, viewport={"width": width, "height": 900}) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
