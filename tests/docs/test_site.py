"""The documentation as a site, and the pages that are made of the program."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.programs import ROOT


def test_the_pages_made_of_the_program_say_what_it_says(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "reference_doc.py", tmp_path], check=True)

    assert {page.name for page in tmp_path.iterdir()} == {"cli.md", "shipped.md"}
    for page in tmp_path.iterdir():
        assert (ROOT / "docs" / page.name).read_text("utf-8") == page.read_text("utf-8"), (
            "python scripts/reference_doc.py writes it anew"
        )


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [ROOT / "scripts" / "site.sh", tmp_path / "site"], text=True, capture_output=True, check=False
    )

    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 50
    loaded = {(page.name, source) for page in pages for source in _sources(page.read_text("utf-8"))}
    assert {found for found in loaded if "//" in found[1]} == set()


def _sources(text: str) -> list[str]:
    """Return what a page loads: scripts, styles, pictures, frames."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            values = dict(attrs)
            if tag in ("script", "img", "iframe", "source"):
                found.append(values.get("src") or "")
            elif tag == "link" and values.get("rel") in ("stylesheet", "preload", "icon"):
                found.append(values.get("href") or "")

    Reader().feed(text)
    return found


def test_the_first_page_of_the_site_leads_to_the_index() -> None:
    """A link to docs/index.html in its place had none of that page's links and styles."""
    script = (Path(__file__).resolve().parents[2] / "scripts/site.sh").read_text()

    assert "ln -s" not in script
    assert "url=docs/index.html" in script
