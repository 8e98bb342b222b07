"""Texts that mean something in some language."""

from __future__ import annotations

HOSTILE = (
    r"\input{/etc/passwd} $x$ #let a=1 @ref *b* _c_ `d` <img src=x> [l](u) 50 % & ~ ^ {e} | \\ // /* -- ... 'q' \"r\" "
    "≥ → σ × µ ½ 10⁹ 1\u202f230 − – é ł 中 \u202e \x07 https://example.org www.example.org a@example.org"
)
SAMPLES = (
    HOSTILE, "= heading", "- item", "+ item", "1. item", "12) item", "/ term: x", "> quote", "# title #", "---", "***", "```", "    code",
    "a -- b --- c", "{{ jinja }} {% x %} ((( y )))", "%comment", r"\end{document}", "#panic()", "$ sum $", "@missing", "<label>", "==",
    "!`?`,,<<>>''``", "[x]: y", "![i](j)", "~~s~~", "&amp; &#35;", "a|b", "*", "[", "_lone", "snake_case_name", "\\", "^[note]", "a\nb\tc",
)  # fmt: skip
