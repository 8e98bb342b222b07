"""A sandbox for user templates: templates read values, within limits of time and memory. I/O: limits of this
process.

A template folder may come from anybody. Jinja's sandbox keeps templates from Python internals. In addition, templates
may call only methods of texts, numbers, collections and page values, because a path in a page would have `write_text`.
A template reads no file outside the folder, even through a symbolic link.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

import jinja2
from jinja2.exceptions import SecurityError
from jinja2.loaders import split_template_path
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from orchestrator.store.limits import data_bytes
from parsers.errors import UserError

CPU_S: Final = 30.0
"""CPU seconds for templates. A page with 100 figures takes 2 s without the drawing."""

MEMORY_BYTES: Final = 1 << 30
"""Limit above the memory in use at the start, drawing included."""

OUTPUT_CHARACTERS: Final = 200_000_000

_LARGEST_BITS: Final = 100_000
"""Limit of a product, because multiplication and powers cannot be interrupted."""

_VALUES: Final = (str, int, float, tuple, list, dict, set, frozenset, type(None))
_OF: Final = ("jinja2.", "reports.")


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, without methods of foreign objects and without numbers that take all time."""

    intercepted_binops = frozenset(("*", "**"))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401 (any value of a page)
        ours = isinstance(obj, _VALUES) or type(obj).__module__.startswith(_OF)
        return super().is_safe_attribute(obj, attr, value) and (ours or not callable(value))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 (Jinja's)
        if isinstance(left, int) and isinstance(right, int):
            bits = left.bit_length() * abs(right) if operator == "**" else left.bit_length() + right.bit_length()
            if bits > _LARGEST_BITS:
                raise SecurityError(f"a number of {bits} bits")
        return super().call_binop(context, operator, left, right)


_MAX_BYTES: Final = 16 << 20


class FolderLoader(jinja2.FileSystemLoader):
    """Load templates of a folder, but not through a link that leaves the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._folder = folder

    def get_source(self, environment: jinja2.Environment, template: str) -> Any:  # noqa: ANN401 (Jinja's)
        within(self._folder, self._folder.joinpath(*split_template_path(template)))
        return super().get_source(environment, template)


def within(folder: Path, path: Path) -> Path:
    """Return the path. Raises UserError if a symbolic link leads out of the folder, or the file is larger than _MAX_BYTES."""
    if path.exists() and path.stat().st_size > _MAX_BYTES:
        raise UserError(str(path), f"larger than {_MAX_BYTES >> 20} MiB", "use a smaller file")
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise UserError(str(path), "leads out of the template folder", "copy the file into it")
    return path


@contextlib.contextmanager
def limits(folder: Path, cpu_s: float) -> Iterator[None]:
    """Limit CPU time and memory (MEMORY_BYTES) inside the block. Raises UserError when a limit is exceeded."""

    def too_long(_number: int, _frame: FrameType | None) -> None:
        raise UserError(
            str(folder),
            f"its templates take more than {cpu_s:.0f} s of CPU time",
            "see that their loops are short",
        )

    if (
        threading.current_thread() is not threading.main_thread()
    ):  # only the main thread receives signals; no command renders in another thread
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    most = data_bytes() + MEMORY_BYTES
    before = signal.signal(signal.SIGPROF, too_long)
    try:
        if soft == resource.RLIM_INFINITY or most < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
        signal.setitimer(signal.ITIMER_PROF, cpu_s)
        yield
    except MemoryError as error:
        raise UserError(
            str(folder),
            f"its templates take more than {MEMORY_BYTES >> 20} MiB of memory",
            "see that what they make is small",
        ) from error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def rendered(template: jinja2.Template, values: dict[str, Any], folder: Path) -> str:
    """Return a filled template. Raises UserError if the template does not end."""
    pieces: list[str] = []
    size = 0
    for piece in template.generate(values):
        pieces.append(piece)
        size += len(piece)
        if size > OUTPUT_CHARACTERS:
            raise UserError(
                str(folder),
                f"its templates print more than {OUTPUT_CHARACTERS:,} characters",
                "see that their loops are short",
            )
    return "".join(pieces)
