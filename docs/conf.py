"""The site that `scripts/site.sh` builds from these pages: Sphinx with MyST, nothing from the network."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).parents[1]

project = "pinsweep"
author = "the pinsweep authors"
release = version = re.findall(r'__version__ = "(.+)"', (_ROOT / "pinsweep" / "__init__.py").read_text())[0]

extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = [
    "docs/**.md",
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "THIRD_PARTY.md",
    "benchmarks/**.md",
]
exclude_patterns = [".*", "site", "tests"]  # no pages there, but tens of thousands of files to look through
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]  # transcripts and mistakes are no whole programs

html_theme = "furo"
html_title = f"pinsweep {version}"
html_show_copyright = False
html_copy_source = False
html_theme_options = {"light_css_variables": {"font-stack": "Inter, system-ui, sans-serif"}}
html_static_path = ["site"]
html_css_files = ["site.css"]
