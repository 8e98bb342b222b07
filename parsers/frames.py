"""pandas as pinsweep uses it: whoever makes a frame takes `pd` from here, where it is made.

Texts in a frame are kept as Python's own strings, not as pyarrow's where that is installed. Our frames have some
rows to some thousands, which are taken apart by the dozen for each figure: there Arrow's strings cost more than they
spare. Pages of MLC, STREAM, IMB and fio (tests/reports/ claims/test_claims.py) were made in 9 s of CPU time for 12
s, and with or without pyarrow a frame is the same.
"""

from __future__ import annotations

import pandas as pd

__all__ = ["pd"]

pd.options.mode.string_storage = "python"
