"""How bash, zsh and fish ask what Tab offers: click's ways, but for words with `=`, `,` and blanks in them: `--cells bs=4k,16k`.

On import they take the place of click's own.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, Final

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

_SPECIAL: Final = re.compile(r"[^\w./@%+,:=-]")


class Bash(BashComplete):
    """bash makes three words of `rw=read` and puts what is offered in the place of the last one; no blank follows `rw=`."""

    source_template = BashComplete.source_template.replace(
        "    return 0\n", "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n\n    return 0\n"
    )
    _there = ""  # of what is offered, what bash leaves as it is

    def get_completion_args(self) -> tuple[list[str], str]:
        args, begun = super().get_completion_args()
        *whole, word = _joined([*args, begun])
        before = word if begun == "=" else word.removesuffix(begun)
        self._there = before.removeprefix(_option(before))
        return whole, word

    def format_completion(self, item: CompletionItem[Any]) -> str:
        value = str(item.value).removeprefix(self._there)
        return f"{item.type}," + _SPECIAL.sub(r"\\\\\g<0>", value)  # its `read` takes one of the two away


class _WholeWords(ShellComplete):
    """A shell that puts what is offered in the place of the whole word, of `--cells=rw=` too."""

    _before = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, begun = super().get_completion_args()
        self._before = _option(begun)
        return args, begun

    def format_completion(self, item: CompletionItem[Any]) -> str:
        return super().format_completion(CompletionItem(self._before + item.value, item.type, item.help))


class Zsh(_WholeWords, ZshComplete):
    """zsh puts a blank behind what it offers, unless the script has it leave that out."""

    source_template = ZshComplete.source_template.replace(
        "        compadd -U -V unsorted -a completions\n",
        "        local -a open=(${(M)completions:#*=})\n"
        "        completions=(${completions:#*=})\n"
        "        compadd -U -V unsorted -a completions\n"
        "        compadd -U -S '' -V unsorted -a open\n",
    )


class Fish(_WholeWords, FishComplete):
    """fish's script cuts what is offered at its first comma."""

    source_template = FishComplete.source_template.replace('string split "," ', 'string split -m 1 "," ')


for _shell in (Bash, Zsh, Fish):
    add_completion_class(_shell)


def _option(word: str) -> str:
    """`--cells=rw=re` begins with the option `--cells=`, of which click takes the value alone; "" of another word."""
    return "".join(word.partition("=")[:2]) if word.startswith("-") and "=" in word else ""


def _joined(words: list[str]) -> list[str]:
    """`["--cells", "rw", "=", "read"]` is `["--cells", "rw=read"]`."""
    found: list[str] = []
    for before, word in itertools.pairwise(["", *words]):
        if found and "=" in (word, before):
            found[-1] += word
        else:
            found.append(word)
    return found
