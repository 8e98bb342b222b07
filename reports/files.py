"""Writing files whole: a reader sees the old file or the new one, never a part. I/O."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from parsers.errors import UserError


def refuse_inputs(output: Path, inputs: Iterable[Path]) -> None:
    """Raise UserError if the output would replace one of the files that it is made of."""
    if output.exists() and any(path.exists() and path.samefile(output) for path in inputs):
        raise UserError(str(output), "is what is read: it would be replaced", "name another file with -o")


def write_whole(path: Path, data: str | bytes) -> None:
    """Write text (UTF-8) or bytes to `path`, replacing what is there in one step. Raises UserError if it cannot be written."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    try:
        if path.is_block_device():
            raise UserError(str(path), "is a block device", "name a file with -o")
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe: nothing to replace
            path.write_bytes(raw)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UserError(
            str(path), f"cannot be written: {error.strerror}", "name another file with -o"
        ) from error
