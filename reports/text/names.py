"""Convert names to ids for URL fragments. Pure."""

from __future__ import annotations

import hashlib


def anchor(text: str) -> str:
    """Return an id for a URL fragment. The id has only letters, digits and dashes."""
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-").lower()
    if plain and plain == text:
        return plain
    return f"{plain[:40] or 'x'}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"
