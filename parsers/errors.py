"""Define the errors for users. Each error has a place, a cause and a next step, and is printed without a traceback."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any


class PinsweepError(Exception):
    """A failure that is reported to the user as `error: PLACE: CAUSE` and `hint: HINT`."""

    exit_status = 1
    code = "failed"
    """For programs: what kind of error it is."""

    def __init__(self, place: str, cause: str, hint: str = "") -> None:
        super().__init__(f"{place}: {cause}" if place else cause)
        self.place = place
        self.cause = cause
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.__dict__)

    def lines(self) -> list[str]:
        """Return the lines that a user sees."""
        return [f"error: {self}", *([f"hint: {self.hint}"] if self.hint else [])]

    def records(self) -> list[dict[str, Any]]:
        """Return the errors as objects for programs."""
        return [error_record(self.code, self.cause, place=self.place, hint=self.hint)]


def _again(kind: type[PinsweepError], args: tuple[Any, ...], state: dict[str, Any]) -> PinsweepError:
    """Return a copy of an error from another process. Each class has other arguments."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


def error_record(
    code: str, message: str, *, place: str = "", hint: str = "", file: str | None = None, line: int | None = None,
    column: int | None = None, key: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Return an error as an object for programs. A missing field is null."""
    return {
        "code": code, "place": place or None, "file": file, "line": line, "column": column, "key": key or None,
        "message": message, "hint": hint or None,
    }  # fmt: skip


class UserError(PinsweepError):
    """A mistake in the user's input. Nothing was started and nothing was changed."""

    exit_status = 2
    code = "mistake"


class ParseError(PinsweepError):
    """A text that is not the expected output. `cause` has the expected and the observed text."""

    code = "unparsable"


def called(name: str, known: Collection[str]) -> str:
    """Return the known name for a word, as in `stress_ng` for `stress-ng`. An unknown word is returned unchanged."""
    spelled = name.replace("-", "_")
    return spelled if name not in known and spelled in known else name


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "did you mean 'iodepth'?", or "" if no known word is similar."""
    near = like(word, known)
    return f"did you mean {near!r}?" if near else ""


def list_hint(text: str) -> str:
    """Return "a list has brackets: [1, 4, 8]" for `1/4/8`, "" for a text without several numbers."""
    words = re.split(r"\s*[\s,;:/|-]\s*", text.strip("[](){} "))
    if (
        len(words) < 2
        or len(text) > 200
        or not all(re.fullmatch(r"[0-9]+(?:\.[0-9]+)?[A-Za-z]{0,3}", word) for word in words)
    ):
        return ""
    listed = f"a list has brackets: [{', '.join(words)}]"
    if "-" not in text or len(words) > 2:
        return listed
    step = "" if words[1].isdigit() else " x2"
    return f"{listed}; a range is written {words[0]}..{words[1]}{step}"


def like(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most similar, "" if no known word is similar."""
    import difflib  # who makes no mistake does without

    known = list(known)
    folded = [k for k in known if k.lower() == word.lower()]
    near = folded or difflib.get_close_matches(word, known, n=3)
    near = [k for k in near if sorted(k) == sorted(word)] or near  # letters that changed places
    return near[0] if near else ""
