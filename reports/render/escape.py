"""Escape any text for Markdown, LaTeX and Typst. Pure.

Texts come from experiments, hosts and tools. An escaped text has one line and the same visible characters. A document
with escaped texts always compiles.
"""

from __future__ import annotations

import re

from reports.text.plain import plain

_BIDI = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F], "\ufffd")
"""Signs that change the writing direction. A text could appear in a false order."""


def line(text: str, *, blanks: bool = False) -> str:
    """Return a text on one line, without characters that documents cannot hold. Runs of blanks become one blank
    unless `blanks` is set.
    """
    clean = plain(text).translate(_BIDI)
    return re.sub(r"[\t\n\x85\u2028\u2029]", " ", clean) if blanks else re.sub(r"[\t\n\x85\u2028\u2029 ]+", " ", clean)


# --- Markdown (CommonMark with GitHub's extensions) --------------------------------------------------------

_MARKDOWN = re.compile(r"[\\`*\[\]<>|#~$&@]|(?<![^\W_])_|_(?![^\W_])")
_AT_START = re.compile(r"^( ?)(?:([-+=])|(\d{1,9})([.)])(?=\s|$))")


def markdown(text: str) -> str:
    """Return Markdown that shows `text`, in a paragraph, a list, a table's cell or a heading."""
    escaped = _MARKDOWN.sub(r"\\\g<0>", line(text))
    escaped = escaped.replace("://", ":\\//").replace("www.", "www\\.")  # else an address becomes a link
    return _AT_START.sub(lambda m: f"{m[1]}\\{m[2]}" if m[2] else f"{m[1]}{m[3]}\\{m[4]}", escaped)


def markdown_code(text: str) -> str:
    """Return a code span that shows `text`. The fence has more backticks than any run in `text`."""
    clean = line(text, blanks=True)
    fence = "`" * (max((len(run) for run in re.findall("`+", clean)), default=0) + 1)
    stripped = clean.startswith(" ") and clean.endswith(" ")  # a blank at both ends would be taken off (CommonMark 6.1)
    pad = " " if clean.startswith("`") or clean.endswith("`") or stripped or clean.strip() == "" else ""
    return f"{fence}{pad}{clean}{pad}{fence}"


def markdown_fence(text: str) -> str:
    """Return the fence for a code block with `text`. The fence is longer than any run of backticks in `text`."""
    return "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)


# --- LaTeX -------------------------------------------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}", "`": r"\textasciigrave{}",
    "[": "{[}", "]": "{]}", "*": "{*}",  # after a line end, LaTeX would read these as options
    "µ": r"\textmu{}", "μ": r"\textmu{}", "×": r"\texttimes{}", "÷": r"\textdiv{}", "±": r"\textpm{}", "¬": r"\textlnot{}",
    "°": r"\textdegree{}", "½": r"\textonehalf{}", "¼": r"\textonequarter{}", "¾": r"\textthreequarters{}",
    "·": r"\textperiodcentered{}", "…": r"\textellipsis{}", "–": r"\textendash{}", "—": r"\textemdash{}",
    "‘": r"\textquoteleft{}", "’": r"\textquoteright{}", "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}",
    "„": r"\quotedblbase{}", "•": r"\textbullet{}", "€": r"\texteuro{}", "†": r"\textdagger{}", "§": r"\textsection{}",
    "®": r"\textregistered{}", "©": r"\textcopyright{}", "™": r"\texttrademark{}", "¶": r"\textparagraph{}",
    "−": r"\textminus{}", "≥": r"\ensuremath{\geq}", "≤": r"\ensuremath{\leq}", "≠": r"\ensuremath{\neq}",
    "≈": r"\ensuremath{\approx}", "∞": r"\ensuremath{\infty}", "√": r"\ensuremath{\surd}", "→": r"\textrightarrow{}",
    "←": r"\textleftarrow{}", "↑": r"\textuparrow{}", "↓": r"\textdownarrow{}", "Δ": r"\ensuremath{\Delta}",
    "⚠": r"\ensuremath{\triangle}", "↔": r"\ensuremath{\leftrightarrow}", "⌈": r"\ensuremath{\lceil}", "⌉": r"\ensuremath{\rceil}",
    **{c: rf"\ensuremath{{\{name}}}" for c, name in zip("αβγδετρψχΣ", ("alpha", "beta", "gamma", "delta", "varepsilon", "tau", "rho", "psi", "chi", "Sigma"), strict=True)},
    "ₙ": r"\ensuremath{{}\sb{n}}", "σ": r"\ensuremath{\sigma}", "π": r"\ensuremath{\pi}", "λ": r"\ensuremath{\lambda}", "′": r"\ensuremath{{}\sp{\prime}}",
    "″": r"\ensuremath{{}\sp{\prime\prime}}", "▲": r"\ensuremath{\blacktriangle}", "▼": r"\ensuremath{\blacktriangledown}",
    "○": r"\textopenbullet{}", "●": r"\textbullet{}", "\u2009": r"\,", "\u202f": r"\,", "\u00a0": "~", "\u2011": "-",
    "¹": r"\textsuperscript{1}", "²": r"\textsuperscript{2}", "³": r"\textsuperscript{3}",
    **{c: rf"\textsuperscript{{{i}}}" for i, c in ((0, "⁰"), (4, "⁴"), (5, "⁵"), (6, "⁶"), (7, "⁷"), (8, "⁸"), (9, "⁹"))},
    "⁻": r"\textsuperscript{\textminus}", "₀": r"\textsubscript{0}", "₁": r"\textsubscript{1}", "₂": r"\textsubscript{2}",
}  # fmt: skip
_T1 = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿĂăĄąĆćČčĎďĐđĘęĚěĞğĹĺĽľŁłŃńŇňŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŹźŻżŽž"
)
"""Letters of the T1 encoding, which pdfLaTeX prints directly."""


def latex(text: str, *, blanks: bool = False) -> str:
    r"""Return LaTeX that shows `text`. Characters unknown to pdfLaTeX go through `\pinsweepsign`, see report.tex.j2."""
    out = "".join(_latex_sign(c) for c in line(text, blanks=blanks))
    return re.sub(r"([-,!?])(?=\1)", r"\1{}", out)  # -- would be one dash, ,, a quotation mark


def _latex_sign(sign: str) -> str:
    known = _LATEX.get(sign)
    if known is not None:
        return known
    if " " <= sign <= "~" or sign in _T1:
        return sign
    return rf"\pinsweepsign{{{ord(sign):04X}}}{{{sign}}}"


def latex_code(text: str) -> str:
    """Return a command line for LaTeX in a monospaced font. Lines break after blanks, slashes, commas and equals
    signs.
    """
    parts = re.split(r"(?<=[/=,:])(?=[^/=,:\s])|(?<=[^\s-])(?=--)|(?<=\w{20})(?=\w{12})", line(text, blanks=True))
    broken = (latex(part, blanks=True).replace(" ", "\\ \\allowbreak{}") for part in parts)
    return "\\texttt{" + "\\allowbreak{}".join(broken) + "}"


# --- Typst -------------------------------------------------------------------------------------------------

_TYPST = re.compile(r"([\\#$*_`<>@\[\]~\"'/=+:-])")


def typst(text: str) -> str:
    """Return Typst markup that shows `text`, in a paragraph or between brackets."""
    escaped = _TYPST.sub(r"\\\1", line(text))
    escaped = re.sub(r"\.(?=\.)", r"\\.", escaped)  # three make an ellipsis
    return re.sub(r"(?<=\d)\.(?=\s|$)", r"\\.", escaped)  # 1. begins a list


def typst_code(text: str) -> str:
    """Return a quoted command line for Typst's `raw`. Words that are wider than the page may break."""
    return typst_string(re.sub(r"(?<=\S{60})(?=\S{20})", "\u200b", text))


def typst_string(text: str) -> str:
    """Return a quoted string literal of Typst for `text`."""
    return '"' + line(text, blanks=True).replace("\\", "\\\\").replace('"', '\\"') + '"'
