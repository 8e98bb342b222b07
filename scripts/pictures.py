"""Make docs/images/report.png, the head of a page in the README, from the result file of a quickstart.

    python scripts/pictures.py quickstart.db

Needs Chromium on PATH.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from reports.report.render import render_report

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.png"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
WIDTH, HEIGHT = 1280, 1000


def main(result: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = render_report([result], Path(folder) / "page.html")
        chromium = next(filter(None, map(shutil.which, CHROMIUM)), None)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        tab.goto(page.as_uri())
        tab.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())
