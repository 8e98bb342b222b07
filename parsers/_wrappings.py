"""Unwrap texts from mails, web pages, log collectors and scripts.

The wrappings are JSON log lines, quoted-printable, HTML and comment marks. Log collectors also add prefixes to every
line: times (ts, CI logs, journald), levels and streams (avocado, Python's logging), hosts and containers (srun -l,
pdsh, compose), and line numbers.

A wrapping is removed only if the text proves it. `min=3D4` is from a mail, `iops=51944` is from fio. A prefix is
removed only if nearly all lines have it and no line of a tool begins with it.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import quopri
import re
from collections.abc import Iterator
from typing import Final

from parsers._bounds import has_too_many_values

_TAGS: Final = (
    "a|b|blockquote|body|br|code|dd|div|dl|dt|em|font|h[1-6]|head|hr|html|i|kbd|li|ol|p|pre|samp|script|small|span|strong|style|sub|"
    "mark|del|ins|s|strike|sup|table|tbody|td|th|thead|tr|tt|u|ul"
)
_HTML: Final = re.compile(
    rf"&(?:nbsp|lt|gt|amp|quot|apos|#\d{{1,6}}|#x[\da-f]{{1,5}});|<(?:br|p|pre|div|html)\b[^<>]*>|</(?:{_TAGS})>",
    re.IGNORECASE,
)
_CELL_ENDS: Final = re.compile(r"</t[dh]>", re.IGNORECASE)
_LINE_ENDS: Final = re.compile(r"<br\b[^<>]*>|</(?:p|div|tr|li|h[1-6]|pre|blockquote)>", re.IGNORECASE)
_TAG: Final = re.compile(rf"</?(?:{_TAGS})(?:\s[^<>]*)?/?>", re.IGNORECASE)

_STRINGS: Final = re.compile(r'\[\s*"')
_FIGURE: Final = re.compile(r"^[^\S\n]*+\S.*[\s=,]\d.*$", re.MULTILINE)
_DECIMAL: Final = re.compile(r"^[^\n]*\d\.\d\d[^\n]*$", re.MULTILINE)
_LINE_KEYS: Final = ("log", "message", "msg", "MESSAGE", "line", "text")

_SOFT: Final = re.compile(r"^[^\n]{50,80}[^=\s]=\r?$", re.MULTILINE)  # encoders break lines at 76 characters
_ENDS: Final = re.compile(r"=(?:20|09)$|(?<=[^=\n])=$", re.MULTILINE)
_PARTS: Final = re.compile(r"^(?=--[\w=+/.'-]{2,70}[ \t]*$|From \S)", re.MULTILINE)
_ENCODING: Final = re.compile(
    r"^Content-Transfer-Encoding:[ \t]*(quoted-printable|base64)\b", re.IGNORECASE | re.MULTILINE
)
_EQUALS: Final = re.compile(r"=(?:(?P<equals>3D)|(?P<encoded>[0-9A-F]{2})|(?P<soft>[ \t]*(?:\n|\Z))|(?P<other>))")

_COMMENTED: Final = re.compile(
    r"^[ \t]*+#[^\n]*+(?:\n(?:[ \t]*+\n)*+[ \t]*+#[^\n]*+){2,}+", re.MULTILINE
)  # possessive, because backtracking takes a hundred times the text's memory
_EMPHASIS: Final = re.compile(  # Markdown's and quotation marks, around what has a digit
    r"(?<![\w*])(?P<star>\*{1,3})(?=[^*\n]{0,80}\d)(?P<a>[^\s*](?:[^*\n]{0,80}[^\s*])?)(?P=star)(?![\w*])"
    r"|(?<!\w)(?P<line>__?|~~)(?=[^_~\s]{0,80}\d)(?P<b>[^_~\s]{1,80})(?P=line)(?!\w)"
    r"|(?<![\w`\"'])(?P<quote>`|\"|'{1,3})(?=[^`\"'\s]{0,80}\d)(?P<c>[^`\"'\s]{1,80})(?P=quote)(?![\w`\"'])"
    r"|[“‘](?=[^“”‘’\s]{0,80}\d)(?P<d>[^“”‘’\s]{1,80})[”’]"
)
_MARK: Final = re.compile(r"^[ \t]*#(?:[ ]|(?=\t|$))?", re.MULTILINE)

_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_STREAM = r"(?:\d\d[OE][+ ]? ?|std(?:out|err) [FP] )?"  # GitLab; containerd
_TIMES: Final = (
    re.compile(rf"[^\t\n]{{1,80}}\t[^\t\n]{{1,80}}\t\ufeff?\d{{4}}-\d\d-\d\dT{_CLOCK}Z(?: |$)"),  # gh run view --log
    re.compile(rf"\[?\d{{4}}[-/]\d\d[-/]\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?\]?(?: {_STREAM}|$)"),  # ts %F %T, CI logs
    re.compile(rf"\[?\d\d?[-/.]\d\d(?:[-/.]\d{{2,4}})? {_CLOCK}\]?(?: |$)"),  # autotest
    re.compile(rf"[A-Z][a-z]{{2}} [ \d]\d {_CLOCK} (?:[\w.-]+ [\w./@-]+\[\d+\]: ?)?"),  # ts, syslog, journald
    re.compile(rf"\[?{_CLOCK}\]?(?: |$)"),  # ts -s
    re.compile(r"\[ *\d+\.\d{2,9}\](?: |$)"),  # dmesg, ts -s %.s
)
_LEVEL = r"(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|TRACE|STDOUT|STDERR|OUT|debug|info|stdout|stderr|out)"
_LOGGED: Final = re.compile(
    rf"(?:\[{_LEVEL} *\]:?|{_LEVEL} *(?:[|:>]|-(?= )))(?: ?[\w./-]+:\d+ ?\|)? ?|\[std(?:out|err)\] ?"
)  # avocado: "DEBUG| [stdout] "
_COMMENT: Final = re.compile(r"[ \t]*(?://+|;+|--|%+|\*|!|\+|::|REM|dnl)(?: |$)")
_CONSTANT: Final = re.compile(
    r" *(?=[^\s:|]*\d)(?:\[[^\]\n]{1,60}\](?:<\w+>)?|[\w.@/-]{1,60})(?::| +\||\t) ?"  # n001: …, bench-1  | …, parallel --tag
    r"|\[(?:pod/)?(?=[^\d\]]*+\d)[\w./-]++\] "  # kubectl --prefix
    r"|│ ?"  # a box drawn around it
)
_HOST: Final = re.compile(
    r" *(?:(?P<host>[\w.@/-]{1,60})(?::| +\|)(?: |$)|(?P<tag>(?=[^A-Za-z\s]*+[A-Za-z])[\w.@/-]++)\t|\[(?:pod/)?(?P<pod>(?=[^A-Za-z\]\s]*+[A-Za-z])[\w./-]++)\] "
    r"|\[(?:\d{1,9},)?(?P<rank>\d{1,9})\](?:<std(?:out|err)>:?)? ?)"
)  # pdsh, srun -l, docker compose; parallel --tag; kubectl --prefix; mpirun -l and --tag-output
_NUMBERED: Final = re.compile(r" *(\d{1,7})[\t:]")  # cat -n, grep -n
_QUOTED: Final = re.compile(r"(?:> ?)+")
_MOST: Final = 0.9
"""Minimum share of lines with the prefix. Launchers print other lines in between."""


def has_prefix(text: str) -> bool:
    """Return whether the third non-blank line begins with a log prefix. The test is cheap and not a proof."""
    return any(_kinds(_probe(text)))


def without_prefixes(text: str, *, labels: bool = True) -> str:
    """Return the text without the prefixes of its lines, up to four per line (a time, a level, then a host).

    With `labels` false, hosts and ranks remain.
    """
    for _ in range(4):
        kinds = (kind for kind in _kinds(_probe(text)) if labels or kind is not _CONSTANT)
        shorter = next((result for kind in kinds if (result := _stripped(text, kind)) is not None), None)
        if shorter is None:
            return text
        text = shorter
    return text


def hosts(text: str) -> dict[str, list[int]]:
    """Return the line numbers of each host, container or rank that prefixes the lines.

    The result is empty unless nearly all lines have a name and there are several names. A few lines above the first
    name belong to every host.
    """
    if not has_prefix(text) and not _HOST.match(_probe(text)):
        return {}
    lines_by_name: dict[str, list[int]] = {}
    above: list[int] = []
    others = count = 0
    for number, line in enumerate(without_prefixes(text, labels=False).split("\n")):
        if not line.strip():
            continue
        count += 1
        if match := _HOST.match(line):
            name = str(match[match.lastgroup or 0])
            lines_by_name.setdefault(f"rank {name}" if name.isdigit() else name, []).append(number)
        elif lines_by_name:
            others += 1
        else:
            above.append(number)
    if len(lines_by_name) < 2 or others > (1 - _MOST) * count or count < 3 * len(lines_by_name):
        return {}
    return {
        name: [*(above if len(above) <= (1 - _MOST) * len(own) else ()), *own] for name, own in lines_by_name.items()
    }


def _probe(text: str) -> str:
    printed = [line for line in text.split("\n", 64)[:64] if line.strip()]
    return printed[2] if len(printed) > 2 else ""


def _kinds(line: str) -> Iterator[re.Pattern[str]]:
    kinds = (*_TIMES, _LOGGED, _CONSTANT, _COMMENT, _NUMBERED, _QUOTED)
    return (kind for kind in kinds if line and kind.match(line))


def _stripped(text: str, kind: re.Pattern[str]) -> str | None:
    """Return the text without the prefix, or None without a prefix. Line numbers must count every line, also blank
    lines.
    """
    if kind is _CONSTANT and (constant := kind.match(_probe(text))):
        kind = re.compile(re.escape(constant[0].rstrip(" ")) + " ?")
    lines = text.split("\n")
    matches = [kind.match(line) for line in lines]
    if kind is _NUMBERED:
        counted = matches if lines[-1] else matches[:-1]
        first = next((int(match[1]) for match in counted if match), 0)
        if any(match is None or int(match[1]) != first + i for i, match in enumerate(counted)):
            return None
    else:
        printed = [match for match, line in zip(matches, lines, strict=True) if line.strip()]
        if sum(match is not None for match in printed) < _MOST * len(printed):
            return None
    rest = [line[match.end() :] if match else line for match, line in zip(matches, lines, strict=True)]
    if kind.pattern.startswith("│"):
        rest = [line.removesuffix("│").rstrip() for line in rest]
    return "\n".join(rest)


def is_wrapped(text: str) -> bool:
    """Return whether `unwrapped` would change the text. The test is cheap and not a proof."""
    return _may_be_mail(text) or _may_be_html(text) or _is_json_log(text)


def without_json(text: str) -> str:
    """Return the lines that a JSON document, or JSON lines, store as strings. Without figures in the strings, return
    the text.
    """
    if not _is_json_log(text) or has_too_many_values(text):
        return text
    try:
        body = "\n".join(dict.fromkeys(block.rstrip("\n") for block in _blocks(json.loads(text))))
    except (ValueError, RecursionError):
        body = _json_lines(text)
    return f"{body}\n" if _DECIMAL.search(body) or len(_FIGURE.findall(body)) > 1 else text


def without_mail(text: str) -> str:
    """Return the text with the encoded parts of a mail decoded. Without a header, `=3D` for `=` proves the encoding."""
    if not _may_be_mail(text):
        return text
    return "".join(_decoded(part) for part in _PARTS.split(text))


def without_html(text: str) -> str:
    """Return the text without tags, with character references replaced. Lines end where a browser ends lines."""
    if not _may_be_html(text):
        return text
    text = _CELL_ENDS.sub("\t", text)
    text = _TAG.sub("", _LINE_ENDS.sub("\n", text))
    return html.unescape(text.replace("&nbsp;", " "))


def without_comments(text: str, rows: re.Pattern[str] | None) -> str:
    """Return the text without `# ` in blocks of three or more comment lines.

    A block must contain a line that matches `rows`, unless `rows` is None.
    """
    if "#" not in text or (rows is not None and not rows.search(text)):
        return text
    return _COMMENTED.sub(lambda m: _MARK.sub("", m[0]) if rows is None or rows.search(m[0]) else m[0], text)


def without_emphasis(text: str) -> str:
    """Return the text without bold, italic, code or quotation marks around figures. Do not use for JSON."""
    return _EMPHASIS.sub(lambda m: m["a"] or m["b"] or m["c"] or m["d"], text)


def _may_be_mail(text: str) -> bool:
    if "=3D" in text or "ransfer-" in text or "=20\n" in text or "=20\r\n" in text:
        return True
    return ("=\n" in text or "=\r\n" in text) and _SOFT.search(text) is not None


def _may_be_html(text: str) -> bool:
    return ("<" in text or "&" in text) and _HTML.search(text) is not None


def _is_json_log(text: str) -> bool:
    """Return whether the document begins with a list of strings, a string of several lines, or a one-line object.
    Cheap.
    """
    head = text[:20_000]
    if head[:200].lstrip()[:1] not in ("{", "["):
        return False
    return "\\n" in head or any(f'"{key}"' in head for key in _LINE_KEYS) or _STRINGS.search(head) is not None


def _blocks(value: object) -> Iterator[str]:
    """Yield the texts in a document: strings of several lines, lists of strings."""
    if isinstance(value, str):
        if "\n" in value.strip("\n"):
            yield value
    elif isinstance(value, list) and len(value) > 2 and all(isinstance(item, str) for item in value):
        yield "\n".join(item.rstrip("\n") for item in value)
    elif isinstance(value, list):
        if len(value) > 2 and all(_line(item) is not None for item in value):
            yield "\n".join(str(_line(item)) for item in value)
        else:
            for item in value:
                yield from _blocks(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _blocks(item)


def _json_lines(text: str) -> str:
    """Return the lines of a log with one JSON object per line, else ""."""
    try:
        lines = [_line(json.loads(row)) for row in text.split("\n") if row.strip()]
    except (ValueError, RecursionError):
        return ""
    return "" if None in lines else "\n".join(map(str, lines))


def _line(value: object) -> str | None:
    r"""Return the line in a log object: {"log": "…\n", "stream": "stdout"}."""
    if not isinstance(value, dict):
        return None
    values = [value[key] for key in _LINE_KEYS if isinstance(value.get(key), str)]
    return str(values[0]).rstrip("\n") if len(values) == 1 else None


def _decoded(part: str) -> str:
    """Return one part of a mail, decoded."""
    head, blank, body = part.partition("\n\n")
    match = _ENCODING.search(head)
    if match and blank:
        decoded = _from_base64(body) if match[1].lower() == "base64" else _from_quoted(body)
        return f"{head[: match.start()]}{head[match.end() :]}\n\n{decoded}"  # without the line: it is decoded once
    return _from_quoted(part) if _is_quoted(part) else part


def _is_quoted(text: str) -> bool:
    """Return whether most `=` of the text are written `=3D`.

    Without `=3D`, every `=` must end a line, as a blank (`=20`) or a soft line break.
    """
    if "=3D" not in text:
        ends = len(_ENDS.findall(text))
        return 0 < ends == text.count("=")
    kinds = [match.lastgroup for match in _EQUALS.finditer(text)]
    return kinds.count("equals") > 4 * kinds.count("other")


def _from_quoted(text: str) -> str:
    try:
        data = quopri.decodestring(text.encode("utf-8"))
    except ValueError:
        return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _from_base64(body: str) -> str:
    lines = body.split("\n")
    is_code = re.compile(r"[A-Za-z0-9+/=]*\r?").fullmatch
    end = next((i for i, line in enumerate(lines) if not is_code(line)), len(lines))
    try:
        data = base64.b64decode("".join(lines[:end]), validate=True)
        return "\n".join([data.decode("utf-8"), *lines[end:]])
    except (binascii.Error, ValueError):
        return body
