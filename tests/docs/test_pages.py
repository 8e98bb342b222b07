"""The how-tos and the README, followed word for word with the real tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.transcripts import DOCS, follow

PAGES = (
    "how-to/write-an-experiment",
    "how-to/measure-a-part",
    "how-to/compare-settings",
    "how-to/take-in-old-outputs",
    "how-to/measure-every-hour",
    "how-to/use-the-numbers",
    "faq",
    "../README",
)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    follow(DOCS / f"{page}.md", tmp_path)
