"""What the tests of the orchestrator share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator.run.watchdog import Watchdog


@pytest.fixture
def watchdog() -> Iterator[Watchdog]:
    """A watchdog that has nothing left to do when the test is over."""
    watchdog = Watchdog()
    yield watchdog
    assert not watchdog.busy
    watchdog.stop()
