"""The corpus of published outputs is not ours to pass on: it lies in shared/corpus, in the checkout or beside it, or where
PINSWEEP_CORPUS says. Tests that need it skip with the reason where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[1]

for _folder in (_CHECKOUT, _CHECKOUT.parent):
    if (_folder / "shared" / "corpus").is_dir():
        os.environ.setdefault("PINSWEEP_CORPUS", str(_folder / "shared" / "corpus"))
