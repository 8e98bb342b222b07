"""The common parts of every page: style, script, font, and the digests for the page's policy. I/O: reads the
package.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib import resources

DARK = (
    "color-scheme:dark;--ink:#E8EAED;--mute:#A3ABB6;--faint:#8A93A0;--grid:#272C33;--axis:#5B6470;--bg:#14171B;"
    "--soft:#1B1F25;--rule:#323840;--s1:#79B4F7;--s2:#EF9357;--s3:#9BF0CF;--s4:#D76BA9;--o1:#4380EE;--o2:#8481B8;"
    "--b2:#4A86C8;--b3:#CFE4FB;--w2:#C06A28;--w3:#FBD2B2;--tb3:#CFE4FB;--tw3:#FBD2B2;"
    "--o3:#DA85D2;--o4:#F98A7B;--o5:#EDAE57;--t1:#79B4F7;--t2:#EF9357;--t5:#EDAE57;--warn:#E9B04A;--ok:#6FD3AE;--heat:#B8561F;--cool:#2F6EA8;--link:#8EC1FA"
)
"""The dark theme, copied into report.css for the system setting and for the switch."""


def style() -> str:
    """Return the style sheet with the font and the dark theme."""
    font = base64.b64encode(resource("fonts/inter-subset.woff2")).decode()
    return lines("report.css").replace("FONT", f"data:font/woff2;base64,{font}").replace("DARK", DARK)


def resource(name: str) -> bytes:
    return resources.files("reports").joinpath(name).read_bytes()


def lines(name: str) -> str:
    """Return a file of the templates without indentation and empty lines."""
    text = resource(f"templates/{name}").decode("utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def policy(style: str, scripts: Sequence[str], *, images: bool = False) -> str:
    """Return a policy that allows one style sheet and some scripts by digest, and images embedded in the page."""
    return "; ".join(
        [
            "default-src 'none'",
            f"style-src '{digest(style)}'",
            "font-src data:",
            *(["img-src data:"] if images or scripts else []),  # the script makes a PNG from an image
            *(["script-src " + " ".join(f"'{digest(script)}'" for script in scripts)] if scripts else []),
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
