"""From samples to verdicts: section 2 of the measurement guide, over whole sweeps at once."""

from __future__ import annotations

from collections.abc import Sequence

from reports.verdicts.model import Family, Rules, Sample


def judge(samples: Sequence[Sample], rules: Rules | None = None) -> tuple[Family, ...]:
    """Return the verdicts, a Family per `Sample.family`, in the order in which families first appear.

    Raises ValueError for values that are not finite.
    """
    raise NotImplementedError
