"""Make the pictures of pages in docs/images anew, from a quickstart's result file and a captured text of Intel MLC.

    python scripts/pictures.py quickstart.db path/to/skylake_mlc.txt

Wants Chromium and poppler's pdftoppm on PATH.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
PINSWEEP = Path(sys.executable).with_name("pinsweep")
A4 = (406, 575)  # px
SMALL = 0.6  # of a page of which half is shown


def main(result: Path, captured: Path) -> None:
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary)
        chromium = next(
            filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
        )
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = report(result, folder / "page.html")
        text = folder / captured.name
        subprocess.run([PINSWEEP, "parse", "mlc", captured, "-o", text.with_suffix(".db")], check=True)
        other = report(text.with_suffix(".db"), folder / "captured.html")

        shot(browser, page, "report", height=1700)
        shot(browser, other, "report-captured", height=1720)
        shot(browser, page, "report-light", scale=SMALL)
        shot(browser, page, "report-dark", scheme="dark", scale=SMALL)
        shot(browser, page, "report-phone", width=400, scale=SMALL)
        printed(browser, page, folder)
        browser.close()


def report(result: Path, to: Path) -> Path:
    subprocess.run([PINSWEEP, "report", result, "-o", to], check=True)
    return to


def shot(
    browser: Browser, page: Path, name: str, *,
    width: int = 1280, scheme: Literal["light", "dark"] = "light", height: int = 0, scale: float = 1,
) -> None:  # fmt: skip
    """Write a picture of the top of a page: `height` px, or its first half."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, device_scale_factor=scale
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    whole = tab.evaluate("document.documentElement.scrollHeight")
    tab.set_viewport_size(
        {"width": width, "height": whole}
    )  # figures far below are laid out when they are near
    tab.screenshot(
        path=IMAGES / f"{name}.png", clip={"x": 0, "y": 0, "width": width, "height": height or whole // 2}
    )
    context.close()


def printed(browser: Browser, page: Path, folder: Path) -> None:
    """Write a picture of the first four sheets of a page on paper, beside one another."""
    tab = browser.new_page()
    tab.goto(page.as_uri())
    tab.pdf(path=folder / "page.pdf", format="A4", print_background=True)
    sheets = folder / "sheet"
    subprocess.run(
        ["pdftoppm", "-png", "-l", "4", "-scale-to", str(2 * A4[1]), folder / "page.pdf", sheets], check=True
    )
    images = "".join(f"<img src={path.as_uri()}>" for path in sorted(folder.glob("sheet-*.png")))
    style = f"body{{margin:0;display:flex;gap:5px;background:#9AA3AE}}img{{width:{A4[0]}px;height:{A4[1]}px}}"
    (folder / "sheets.html").write_text(f"<style>{style}</style>{images}")
    tab.goto((folder / "sheets.html").as_uri())
    tab.set_viewport_size({"width": 4 * A4[0] + 15, "height": A4[1]})
    tab.screenshot(path=IMAGES / "report-print.png")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
