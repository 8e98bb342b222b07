"""The words of a `pinsweep run` that are kept with its session, when it is to be typed again. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def without(words: Sequence[str], options: Mapping[str, int]) -> tuple[str, ...]:
    """Return the words of a command line but for some options. options: name → how many words follow it."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        short = word[:2] if word[:1] == "-" and word[:2] != "--" else ""
        if name in options:
            if not equals and options[name]:
                next(rest, None)
        elif short not in options:  # else -oFILE
            kept.append(word)
    return tuple(kept)
