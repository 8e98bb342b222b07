"""Clean a tool's text from the effects of terminals, Windows, mails, MPI launchers and Markdown.

Every parser starts with `clean`, and this module does not know any tool. Figures are never changed. A text that may be
noise remains a separate line for the parser.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Final, TypeGuard

from parsers._bounds import LARGEST as LARGEST
from parsers._bounds import PRINT_LESS as PRINT_LESS
from parsers._bounds import check_parts
from parsers._wrappings import (
    has_prefix,
    hosts,
    without_comments,
    without_emphasis,
    without_html,
    without_json,
    without_mail,
    without_prefixes,
)  # fmt: skip
from parsers._wrappings import is_wrapped as is_wrapped

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

_ESCAPE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)"  # OSC: window titles
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor moves
    r"|\x1b[ -/]*[0-~]"  # two- and three-character escapes
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")  # after escapes and backspaces: never printed
_BACKSPACES = re.compile(r"(\x08+)")
_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u2007\u202f", " "))  # of web pages and word processors
_FENCE = re.compile(r"^[ \t]*(?:>[ \t]?)*(?:```|~~~)[^\n`]*$\n?", re.MULTILINE)
_QUOTE = re.compile(r"^[ ]{0,3}>(?:[ ]|$)(?:[ ]?>(?:[ ]|$))*", re.MULTILINE)
_RANK = re.compile(r"^\[\d{1,9}(?:,\d{1,9})?\](?:<std(?:out|err)>:?)?[ ]?", re.MULTILINE)
_TASK = re.compile(r"^ *\d{1,9}: ?", re.MULTILINE)
_MARKS = re.compile(r"[\x1b\x9b\r]|^(?:\[\d| *\d+: )")
_ROW_MARKS: Final = " \t>*\"'`“”"
_AROUND: Final = f"{_ROW_MARKS}*_~`‘’{{}}<"
_NOTE_MARK = re.compile(r"(?<=\d)(?=[<(#*←!;]|[\"'`“”](?!\d)|[-=]{1,3}>|//)")  # "12.5<- low"
_DECIMALS = re.compile(r"\d[.,]\d|^[.,]\d")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:0|\d+),(?:\d{1,2}|\d{4,})|[+-]?(?:0|\d{4,}),\d{3}")
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+\.\d+")
_BEGIN_NUMBERS: Final = frozenset("0123456789+-.iInN")
_NOT_FINITE = re.compile(r"[+-]?(?:inf(?:inity)?|nan(?:\(\w*\))?|1\.#(?:inf|qnan|ind)\w*)", re.IGNORECASE)

_ABORT = re.compile(
    r"mpi_abort|\babort\(-?\d|fatal error in |mpi_errors_are_fatal|bad termination of|terminated with the exit string|caused collective abort"
    r"|noticed that process|processes exited with non-zero|a non-zero exit code|exited on signal|died from signal|terminated with signal"
    r"|killed by signal|caught signal \d|received signal|aborting job|job step aborted|^srun: error: .*\btasks? |\bcancelled at "
    r"|application error code \d|^mpi error +\d|mpt error|assertion failed in|^(?:segmentation fault|bus error|killed|aborted)\b"
)


MOST_LINES: Final = 2_000_000
"""Maximum of lines in a text. In a longer text, lines are hardly longer than a number."""

_NEVER_PRINTED: Final = bytes(n for n in (*range(32), 127) if n not in b"\a\b\t\n\v\f\r\x1b")
_MOST_STRANGE: Final = 16
"""Number of such bytes that any text may have, even a short one."""


def why_not_read(data: bytes) -> str:
    """Return the reason why bytes are not a text for a parser, "" for a valid text."""
    if why := why_too_large(len(data)):
        return why
    if data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n") > MOST_LINES:
        return f"a text of more than {MOST_LINES:,} lines is not read: {PRINT_LESS}"
    if data.startswith(tuple(bom for bom, _ in _BOMS)) or _is_utf_16(data):
        return ""
    strange = len(data) - len(data.translate(None, _NEVER_PRINTED))
    if strange > _MOST_STRANGE and strange * 20 > len(data):
        return "a binary file, not the text that a tool printed"
    return ""


def why_too_large(size_bytes: int) -> str:
    """Return the reason why a text of that size is not read, "" for a valid size."""
    return f"a text of more than {LARGEST >> 20} MiB is not read: {PRINT_LESS}" if size_bytes > LARGEST else ""


def _is_utf_16(data: bytes) -> bool:
    """Return whether NUL bytes show UTF-16 without a BOM."""
    low, high = data[:64:2], data[1:64:2]
    return high.count(0) > len(high) // 2 and low.count(0) <= len(low) // 4


def decode(data: bytes) -> str:
    """Return a captured file as text: by the BOM, else UTF-8, else Latin-1 (which cannot fail).

    PowerShell's `>` writes UTF-16 with a BOM. NUL bytes identify UTF-16 without a BOM.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(encoding, errors="replace")
    if _is_utf_16(data):
        return data.decode("utf-16-le", errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def clean(text: str, *, ranks: bool = False, commented: re.Pattern[str] | None = None, emphasis: bool = False) -> str:
    """Return the text as the tool printed it, with "\\n" between lines and without common indentation.

    - `clean` removes BOM, CRLF, ANSI escapes, backspaces and other control characters, no-break blanks, Markdown fences
    and "> " quotes, quoted-printable, HTML and JSON log lines.
    - A lone CR (progress that overwrites a line) starts a new line, so no text is lost.
    - Prefixes that nearly every line has are removed (`_wrappings`): times, hosts, containers, line numbers.
    - `ranks` also removes the prefixes of MPI launchers: `[0] ` (mpirun -l), `[1,0]<stdout>:` (--tag-output) and, if
    every line has the prefix, `0: ` (srun -l).
    - `commented` removes "# " from blocks of lines that match `commented`. The tool must never print such a line.
    - `emphasis` removes bold, italic and code marks around figures.
    """
    text = without_prefixes(_opened(text))
    if ranks:
        text = _strip_ranks(text)
    if "```" in text or "~~~" in text:
        text = _FENCE.sub("", text)
    if ">" in text:
        text = _QUOTE.sub("", text)
    if commented is not None:
        text = without_comments(text, commented)
    if emphasis:
        text = without_emphasis(text)
    first = next((line for line in text.split("\n", 64) if line.strip()), "")
    return textwrap.dedent(text) if first[:1] in (" ", "\t") else text


def _opened(text: str) -> str:
    """Return the text without encodings of mails, web pages, JSON and terminals."""
    text = without_json(text)
    if not text.isprintable():  # True for no text with a line end; spares single words the rest
        text = _ends(text)
        if "\x1b" in text or "\x9b" in text:
            text = _ESCAPE.sub("", text)
        if "\x08" in text:
            text = _overstruck(text)
        text = _CONTROL.sub("", text)
    text = without_html(without_mail(text))
    return text.replace("\ufeff", "").translate(_BLANKS) if not text.isascii() else text


def by_host(data: bytes) -> dict[str, bytes]:
    """Return the lines of each host if several hosts printed into a file (pdsh, srun -l …), by host name. Else {}."""
    text = "" if b"\0" in data[:200] or data.startswith(b"{") else data.decode("latin-1")
    if "\x1b" in text:
        text = _ESCAPE.sub("", text)
    lines = re.findall(rb"[^\n]*\n|[^\n]+\Z", data) if (numbers_by_host := hosts(text)) else []
    return {name: b"".join(lines[number] for number in numbers) for name, numbers in numbers_by_host.items()}


def having(words: str) -> Callable[[str], bool]:
    """Return a fast test whether a line contains any of the words, given as a lower-case expression."""
    search = re.compile(words).search
    return lambda line: search(line.lower()) is not None


def recognises(text: str, words: Sequence[str], pattern: re.Pattern[str], commented: re.Pattern[str]) -> bool:
    """Return whether the pattern is in the text, or in the cleaned text. Each such text has one of the words (lower
    case).
    """
    if not mentions(text, *words):
        return False
    if pattern.search(text):
        return True
    wrapped = is_captured(text) or commented.search(text)
    return bool(wrapped and pattern.search(clean(text, ranks=True, commented=commented)))


def flush_lines(text: str, commented: re.Pattern[str]) -> list[str]:
    """Return the lines without indentation, bars and ranks. A paste may indent the lines of a launcher."""
    cleaned = clean(text, commented=commented, emphasis=True).replace("|", " ")
    flush = "\n".join(map(str.strip, cleaned.split("\n")))
    return [*map(str.strip, clean(flush, ranks=True).split("\n"))]


def mentions(text: str, *words: str) -> bool:
    """Return whether any of the lower-case words is in the text. A megabyte takes a few ms."""
    lowered = text.lower()
    return any(word in lowered for word in words)


def is_captured(text: str) -> bool:
    """Return whether a terminal or a launcher left marks in the text, so that `clean` would find more line starts."""
    return bool(_MARKS.search(text)) or has_prefix(text) or is_wrapped(text)


def split_ranks(text: str) -> list[tuple[int | None, str]]:
    """Return (rank, lines) for each MPI rank in the text, in order of first appearance.

    Lines without a prefix come first, as rank None. A text without prefixes is one part.
    """
    body = without_prefixes(_opened(text), labels=False)
    every_line = all(_TASK.match(line) for line in body.split("\n") if line.strip())
    pattern = _TASK if every_line else _RANK
    parts: dict[int | None, list[str]] = {None: []}
    for line in body.split("\n"):
        match = pattern.match(line)
        rank = int(re.findall(r"\d+", match[0])[-1]) if match else None
        parts.setdefault(rank, []).append(line[match.end() :] if match else line)
    check_parts(len(parts))
    if len(parts) == 1:
        return [(None, body)]
    return [(rank, "\n".join(rows)) for rank, rows in parts.items() if any(row.strip() for row in rows)]


def first_line(text: str, width: int = 60) -> str:
    """Return the first non-blank line of a text, as a ParseError quotes an unexpected text."""
    for line in clean(text[:4000]).split("\n"):
        if line.strip():
            return repr(line.strip()[:width])
    return "nothing but blanks" if text else "nothing"


def row(line: str, count: int) -> tuple[list[str], str] | None:
    """Return the words of a row of `count` numbers, and the note behind the row. None for other lines.

    `1048576 40 164.35 258.68 217.49 <- drops` has five numbers and a note. A note cannot begin with a number, because
    the row would be ambiguous. Behind a single number (`0.617 seconds`) only a mark begins a note. Marks before the row
    (`>`, `|`, `*`, quotes) are ignored.
    """
    words = _words(line)
    if len(words) < count or any(number(word) is None for word in words[:count]):
        return None
    note = words[count:]
    if note and (note[0][:1].isdigit() or (count == 1 and note[0][:1].isalpha())):
        return None
    return words[:count], " ".join(note)


def _words(line: str) -> list[str]:
    """Return the words of a line that may be a row. Empty if the line does not begin like a number."""
    body = line.replace("|", " ").strip(_ROW_MARKS)
    return _NOTE_MARK.sub(" ", body).split() if body[:1] in _BEGIN_NUMBERS else []


def is_rest(words: list[str], missing: int) -> bool:
    """Return whether the words are the `missing` figures of the row above, from a line that a mail client broke.

    No row begins with a decimal figure or has a single figure.
    """
    numbers = all(number(word) is not None for word in words)
    return len(words) == missing and numbers and (missing == 1 or "." in words[0])


def like_row(line: str, count: int) -> bool:
    """Return whether a line that `row` rejects looks like a row: a number first, and decimals among half of the other
    words.

    Whole numbers alone (`12 13 14`) are ambiguous, except next to stars (a value that is too wide for the column).
    """
    words = [word.strip(_AROUND) for word in line.replace("|", " ").split()]
    words = [word for word in words if word][:count]
    if not words or number(words[0]) is None:
        return False
    figures = sum(word[0].isdigit() for word in words)  # "12.3?" too
    enough = figures >= max(2, (count + 1) // 2) and any(_DECIMALS.search(word) for word in words)
    return "***" in line or enough


def is_abort(line: str) -> bool:
    """Return whether an MPI library, a launcher or Slurm reports in this line that a program was ended."""
    return _ABORT.search(line.lower()) is not None


def number(word: str) -> float | None:
    """Return one printed number, else None. `inf`, `-nan`, `1.#INF` (Windows) are numbers that are not finite.

    A comma must be unambiguous: `203,58`, `145200,4` and `145,200.4` are numbers, `1,234` is not (it may be 1234).
    Python's `1_000` and full-width digits are not numbers.
    """
    word = word.strip()
    if not word.isascii():
        return None
    if _NUMBER.fullmatch(word):
        return float(word)
    if "," in word and (_DECIMAL_COMMA.fullmatch(word) or _GROUPED.fullmatch(word)):
        return float(with_point(word))
    if match := _NOT_FINITE.fullmatch(word):
        kind = "inf" if "inf" in match[0].lower() else "nan"
        return float(f"-{kind}" if word.startswith("-") else kind)
    return None


def is_finite(value: float | None) -> TypeGuard[float]:
    """Return whether the value is a number, and neither inf nor nan."""
    return value is not None and value - value == 0


def decimals(word: str) -> int:
    """Return the number of printed digits behind the point or comma."""
    return len(word.partition(".")[2] or word.partition(",")[2])


def with_point(word: str) -> str:
    """Return a printed number without commas: `203,58` is 203.58, `145,200.4` is 145200.4."""
    return word.replace(",", "" if "." in word else ".")


def _ends(text: str) -> str:
    r"""Return the text with "\n" at every line end, without the CRs before. A regular expression would be slow."""
    if "\r" not in text:
        return text
    *ended, last = text.split("\n")
    return "\n".join([*(line.rstrip("\r") for line in ended), last]).replace("\r", "\n")


def _overstruck(text: str) -> str:
    """Return the text after its backspaces, each of which removes one character of its line."""
    pieces: list[str] = []
    for i, part in enumerate(_BACKSPACES.split(text)):
        if i % 2 == 0:
            pieces.append(part)
            continue
        count = len(part)
        while count and pieces and not pieces[-1].endswith("\n"):
            short = pieces.pop()
            line = max(short.rfind("\n") + 1, len(short) - count)
            count -= len(short) - line
            if line:
                pieces.append(short[:line])
                break
    return "".join(pieces)


def scaled(word: str, factor: float) -> float | None:
    """Return one printed number times a unit factor, exactly: `scaled("0.031824", 1e9)` is 31824000.0.

    The product of floats would not be exact.
    """
    value = number(word)
    if not is_finite(value):
        return value
    try:
        return float(Decimal(with_point(word.strip())) * Decimal(factor))
    except InvalidOperation:  # an exponent that no Decimal can hold
        return value * factor


def _strip_ranks(text: str) -> str:
    text = _RANK.sub("", text)
    printed = [line for line in text.split("\n") if line.strip()]
    if printed and all(_TASK.match(line) for line in printed):
        text = _TASK.sub("", text)
    return text
