"""Provide pandas as `pd`, configured for pinsweep. Every module that makes a frame imports `pd` from here.

Strings in a frame are Python strings, even if pyarrow is installed. Our frames are small, and each figure splits a
frame many times. Python strings saved a quarter of the CPU time of pages of MLC, STREAM, IMB and fio (9 s, not 12 s).
Frames are also the same with and without pyarrow.
"""

from __future__ import annotations

import pandas as pd

__all__ = ["pd"]

pd.options.mode.string_storage = "python"
