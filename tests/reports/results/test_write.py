"""What is said of a file that cannot be written."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.errors import PinsweepError
from reports.results.write import write_whole


@pytest.mark.parametrize(("name", "status"), [("/dev/full", 1), ("/proc/no/such", 2)])
def test_a_disk_without_room_is_nobodys_mistake(name: str, status: int) -> None:
    with pytest.raises(PinsweepError) as refused:
        write_whole(Path(name), "text")

    assert refused.value.exit_status == status
