"""Edit the command line of `pinsweep run` that a session stores for repetition. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def without(words: Sequence[str], options: Mapping[str, int]) -> tuple[str, ...]:
    """Return the words of a command line without some options. options: {name: number of following words}."""
    result: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        short = word[:2] if word[:1] == "-" and word[:2] != "--" else ""
        if name in options:
            if not equals and options[name]:
                next(rest, None)
        elif short not in options:  # else -oFILE
            result.append(word)
    return tuple(result)
