"""Errors that reach a user. Each says where, what, and what to do; `pinsweep` prints them, never a traceback."""

from __future__ import annotations

from collections.abc import Iterable


class PinsweepError(Exception):
    """Something the user asked for did not work. Printed as `error: PLACE: CAUSE` and `hint: HINT`."""

    exit_status = 1

    def __init__(self, place: str, cause: str, hint: str = "") -> None:
        super().__init__(f"{place}: {cause}" if place else cause)
        self.place = place
        self.cause = cause
        self.hint = hint

    def lines(self) -> list[str]:
        """Return what a user sees, one line each."""
        return [f"error: {self}", *([f"hint: {self.hint}"] if self.hint else [])]


class UserError(PinsweepError):
    """A mistake in what the user typed or wrote: nothing was started, nothing was changed."""

    exit_status = 2


class ParseError(PinsweepError):
    """A text is not the output it should be. `cause` says what was looked for and what was seen."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Return "did you mean 'iodepth'?", or "" if nothing known is like the word."""
    import difflib  # who makes no mistake does without

    known = list(known)
    folded = [k for k in known if k.lower() == word.lower()]
    near = folded or difflib.get_close_matches(word, known, n=3)
    near = [k for k in near if sorted(k) == sorted(word)] or near  # letters that changed places
    return f"did you mean {near[0]!r}?" if near else ""
