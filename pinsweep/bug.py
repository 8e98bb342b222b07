"""What is said of a bug of ours: a sentence for the user, the traceback in a file."""

from __future__ import annotations

import sys


def told() -> tuple[str, str]:
    """Write the traceback of the exception that is being handled to a file of its own; return an error and a hint that names it."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="pinsweep-bug-", suffix=".txt", delete=False) as file:
        file.write(f"{sys.argv!r}\n{traceback.format_exc()}")
    kind, value, _ = sys.exc_info()
    return (
        f"error: a bug in pinsweep: {kind.__name__ if kind else '?'}: {value}",
        f"hint: please report it with {file.name}",
    )
