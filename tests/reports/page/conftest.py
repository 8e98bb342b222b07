"""One Chromium for all tests of a file; without one they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.waits import PATIENCE_S

# the first has no window: half of the CPU time
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("no Chromium here")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=CHROMIUM,
            timeout=1000 * PATIENCE_S,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],  # root, chroot, no display
        )
        yield started
        started.close()
