"""Texts stay texts in Markdown, Typst and LaTeX."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reports.render import escape
from tests.reports.render.hostile import HOSTILE, SAMPLES


def shown(tokens: Iterable[Token]) -> str:
    """What a reader of parsed Markdown sees; anything but plain text is named."""
    out = []
    for token in tokens:
        if token.children:
            out.append(shown(token.children))
        elif token.type == "text":
            out.append(token.content)
        elif token.type not in ("paragraph_open", "paragraph_close", "inline"):
            out.append(f"⟦{token.type}⟧")
    return "".join(out)


any_text = st.text(
    st.characters(exclude_categories=("Cs",)) | st.sampled_from("\\`*_{}[]()<>#+-.!|~$&@=^%/\"' 1"),
    max_size=40,
)
"""Any characters, those with a meaning more often than chance would have it."""


@given(any_text)
@example(HOSTILE)
def test_markdown_shows_the_text_itself(text: str) -> None:
    parser = MarkdownIt("gfm-like", {"linkify": False})

    seen = shown(parser.parse(escape.markdown(text)))

    assert seen == escape.line(text).strip()


@pytest.mark.parametrize("text", SAMPLES)
def test_markdown_shows_what_would_mean_something(text: str) -> None:
    assert shown(MarkdownIt("gfm-like", {"linkify": False}).parse(escape.markdown(text))) == escape.line(text).strip()


@given(any_text.filter(lambda t: escape.line(t).strip() != ""))
@example("a `b` ``c``")
@example(" 0 ")
def test_markdown_code_shows_the_text_itself(text: str) -> None:
    inline = MarkdownIt("gfm-like", {"linkify": False}).parse("x" + escape.markdown_code(text))[1]

    assert inline.children
    assert [t.content for t in inline.children if t.type == "code_inline"] == [escape.line(text, blanks=True)]


def flat(content: Any) -> str:
    """The text of Typst's content as `query` gives it; anything but plain text is named."""
    kind = content.get("func")
    if kind == "sequence":
        return "".join(flat(c) for c in content["children"])
    if kind == "text":
        return str(content["text"])
    if kind == "symbol":
        return str(content["text"])
    return " " if kind == "space" else f"⟦{kind}⟧"


def test_typst_shows_the_text_itself(tmp_path: Path) -> None:
    typst = pytest.importorskip("typst")
    texts = [
        *SAMPLES,
        *(chr(c) * n for c in range(0x20, 0x7F) for n in (1, 2, 3)),
        *(f"1{chr(c)} x" for c in range(0x21, 0x7F)),
    ]
    source = "\n".join(f"#metadata[{escape.typst(t)}] <t>\n{escape.typst(t)}\n" for t in texts)
    path = tmp_path / "t.typ"
    path.write_text(source, "utf-8")

    seen = json.loads(typst.query(path, "<t>", field="value"))

    assert [flat(c).strip() for c in seen] == [re.sub(" +", " ", escape.line(t)).strip() for t in texts]


def test_typst_strings_hold_the_text_itself(tmp_path: Path) -> None:
    typst = pytest.importorskip("typst")
    path = tmp_path / "t.typ"
    path.write_text("\n".join(f"#metadata({escape.typst_string(t)}) <t>" for t in SAMPLES), "utf-8")

    assert json.loads(typst.query(path, "<t>", field="value")) == [escape.line(t, blanks=True) for t in SAMPLES]


@given(any_text)
@example(HOSTILE)
@example("′″")
def test_latex_has_no_command_that_is_not_ours(text: str) -> None:
    """Without the commands that escaping writes, nothing is left that means something to TeX."""
    known = {c for value in escape._LATEX.values() for c in re.findall(r"\\[a-zA-Z]+", value)} | {r"\pinsweepsign"}
    escaped = escape.latex(text)

    assert set(re.findall(r"\\[a-zA-Z]+", escaped)) <= known
    rest = re.sub(r"\\[a-zA-Z]+|\\[{}$&#%_,]", "", escaped)
    assert not set(rest) & set("\\$&#%_^\"'`<>|"), rest
    assert len(re.findall(r"(?<!\\)\{", escaped)) == len(re.findall(r"(?<!\\)\}", escaped))
