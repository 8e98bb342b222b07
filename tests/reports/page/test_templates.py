"""A folder of the user's templates: what it changes, that it cannot open the page, and what its mistakes are told as."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from markupsafe import Markup

from parsers.errors import UserError
from pinsweep.cli import cli
from reports.page.html import html
from reports.page.model import Page
from reports.page.templates import LAB, PAGE, Templates, breaks
from reports.report import build
from reports.results.load import load

EXAMPLE = Path(__file__).resolve().parents[3] / "docs" / "examples" / "site-template"
HOSTILE = '"><img src=x onerror=alert(1)>'


@pytest.fixture(scope="module")
def built(make: Any, tmp_path_factory: pytest.TempPathFactory) -> Page:
    maker = make.Maker(tmp_path_factory.mktemp("r") / "r.db", host=HOSTILE)
    maker.add("s", "stream", {"threads": 1}, make.stream_text(12e3, 1))
    return build.build(load([maker.write()]))


def folder(tmp_path: Path, **files: str) -> Path:
    """A template folder; names are given with _ for dots: base_html_j2."""
    for name, text in files.items():
        (tmp_path / name.replace("_", ".")).write_text(text, "utf-8")
    return tmp_path


def test_the_example_of_the_docs(built: Page) -> None:
    text = html(built, template=EXAMPLE)

    logo = base64.b64encode((EXAMPLE / "logo.svg").read_bytes()).decode()
    assert f'src="data:image/svg+xml;base64,{logo}"' in text
    assert text.index("<h2>Acceptance</h2>") < text.index("<h2>Methods</h2>")
    assert "Made by pinsweep" in text  # super()
    assert "the operators’ desk" in text
    assert 'class="brand"' not in text


def test_what_stands_between_backticks_is_code() -> None:
    said = "repeat it (`repeats: auto`), <b>`a_b <i>`</b>, a ` alone"

    shown = str(Templates().environment.filters["spans"](said))

    assert (
        shown
        == 'repeat it (<code class="nb">repeats: auto</code>), &lt;b&gt;<code class="nb">a_b &lt;i&gt;</code>&lt;/b&gt;, a ` alone'
    )


def test_the_policy_covers_the_users_style_and_still_allows_nothing_else(built: Page) -> None:
    text = html(built, template=EXAMPLE)

    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert style
    assert policy
    assert (EXAMPLE / "extra.css").read_text("utf-8") in style[1]
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"style-src &#39;sha256-{digest}&#39;" in policy[1]
    assert "img-src data:" in policy[1]
    assert "unsafe" not in policy[1]
    assert "img-src" not in html(built, static=True)


def test_what_a_template_prints_is_escaped(built: Page, tmp_path: Path) -> None:
    where = folder(
        tmp_path,
        base_html_j2='{% extends "pinsweep/base.html.j2" %}{% block own %}<p>{{ page.sentence }}</p>{% endblock %}',
    )

    text = html(built, template=where, static=True)

    assert "<img" not in text
    assert "&lt;img src=x onerror" in text


EXTENDS = '{% extends "pinsweep/base.html.j2" %}\n'


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"base_html_j2": EXTENDS + "\n{% block own %}{{ page.sentence }"}, r"base\.html\.j2:3: "),
        ({"base_html_j2": EXTENDS + "{% block own %}\n{{ pgae.title }}{% endblock %}"}, r"base\.html\.j2:3: 'pgae' is undefined"),
        ({"base_html_j2": EXTENDS + "{% block own %}{{ page.titel }}{% endblock %}"}, r"base\.html\.j2:2: .*no attribute 'titel'"),
        ({"base_html_j2": EXTENDS + "\n{% block foter %}x{% endblock %}"}, r"base\.html\.j2:3: pinsweep/base\.html\.j2 has no block 'foter'"),
        ({"base_html_j2": '{% extends "pinswep/base.html.j2" %}'}, r"base\.html\.j2:1: there is no template 'pinswep/base\.html\.j2'"),
        ({"base_html_j2": EXTENDS + "{% block own %}{{ data_uri('logo.png') }}{% endblock %}"}, r"logo\.png: no such file"),
        ({"base_html_j2": EXTENDS + "{% block own %}{{ data_uri('../x') }}{% endblock %}"}, r"\.\./x: no such file"),
        ({"base_html_j2": EXTENDS + "{% block own %}{{ 1 / 0 }}{% endblock %}"}, r"base\.html\.j2:2: ZeroDivisionError"),
        ({"base_html_j2": EXTENDS + "{% block own %}{{ 1 | roundd }}{% endblock %}"}, r"base\.html\.j2:2: No filter named 'roundd'"),
        ({"extra_css": "p { color: red } </style><script>"}, r"extra\.css: holds “</”"),
        ({"bases_html_j2": "x"}, r"holds nothing that a report looks for"),
    ],
    ids=["syntax", "variable", "attribute", "block", "parent", "file", "outside", "arithmetic", "filter", "style", "name"],
)  # fmt: skip
def test_mistakes_are_told_with_their_place(files: dict[str, str], said: str, built: Page, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        html(built, template=folder(tmp_path, **files))


def test_a_misspelt_name_is_answered_with_the_nearest(built: Page, tmp_path: Path) -> None:
    where = folder(tmp_path, base_html_j2=EXTENDS + "{% block foter %}x{% endblock %}")

    with pytest.raises(UserError) as caught:
        html(built, template=where)

    assert caught.value.hint == "did you mean 'footer'?"


def test_text_that_is_not_utf8_is_the_users_mistake(built: Page, tmp_path: Path) -> None:
    (tmp_path / "base.html.j2").write_bytes(b"\xff\xfe")

    with pytest.raises(UserError, match="not UTF-8"):
        html(built, template=tmp_path)


def test_a_folder_that_is_none(built: Page, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")

    with pytest.raises(UserError, match="no such folder"):
        html(built, template=tmp_path / "none")
    with pytest.raises(UserError, match="is a file, not a folder"):
        html(built, template=tmp_path / "f")


def test_nothing_is_written_and_the_status_is_2(make: Any, tmp_path: Path) -> None:
    result = make.Maker(tmp_path / "r.db").add("s", "stream", {"threads": 1}, make.stream_text(12e3, 1)).write()
    where = tmp_path / "site"
    (where / "lab").mkdir(parents=True)
    (where / "base.html.j2").write_text("{{ pgae }}", "utf-8")
    (where / "lab" / "report.md.j2").write_text("{{ reprot }}", "utf-8")

    for options in (["-o", str(tmp_path / "r.html")], ["--lab", str(tmp_path / "lab")]):
        said = CliRunner().invoke(cli, ["report", str(result), *options, "--template", str(where)])

        assert isinstance(said.exception, UserError)
        assert said.exception.exit_status == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.db", "site"]


def test_the_names_that_are_looked_for_are_there() -> None:
    assert {PAGE, *LAB} <= Templates().names()


def test_a_long_name_breaks_behind_an_underscore_and_nothing_else_changes() -> None:
    assert breaks("a_b <c>") == "a_<wbr>b &lt;c&gt;"
    assert breaks(Markup("<code>a_b</code>")) == "<code>a_<wbr>b</code>"
