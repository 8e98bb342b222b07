"""Which machine a file system that is shared was used by."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.machine import identity


def root(folder: Path, *, cards: dict[str, str], machine_id: str = "m", boot: str = "b") -> Path:
    for name, address in {"lo": "00:00:00:00:00:00", **cards}.items():
        card = folder / "sys/class/net" / name
        card.mkdir(parents=True)
        (card / "address").write_text(f"{address}\n")
        if name.startswith("eth"):
            (card / "device").mkdir()
    for path, text in (("etc/machine-id", machine_id), ("proc/sys/kernel/random/boot_id", boot)):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(f"{text}\n")
    return folder


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"cards": {"eth0": "02:00:01:00:00:00"}, "boot": "1"}, {"cards": {"eth0": "02:00:01:00:00:00"}, "boot": "2"}, True),  # started again
        ({"cards": {"eth0": "02:00:01:00:00:00"}}, {"cards": {"eth0": "02:00:02:00:00:00"}}, False),  # one image
        ({"cards": {"eth0": "02:00:01:00:00:00"}, "machine_id": "x"}, {"cards": {"eth0": "02:00:01:00:00:00"}, "machine_id": "y"}, False),  # micro VMs
        ({"cards": {"eth0": "02:00:01:00:00:00", "eth1": "02:00:02:00:00:00"}}, {"cards": {"eth1": "02:00:01:00:00:00", "eth0": "02:00:02:00:00:00"}}, True),
        ({"cards": {"eth0": "0c:42:a1:00:00:00", "eth1": "6a:00:01:00:00:00"}}, {"cards": {"eth0": "0c:42:a1:00:00:00", "eth1": "6a:00:02:00:00:00"}}, True),  # a BMC's
        ({"cards": {"eth0": "0c:42:a1:00:00:00"}}, {"cards": {"eth0": "0c:42:a2:00:00:00"}}, False),
        ({"cards": {"eth0": "0c:42:a1:00:00:00", "eth2": "80:00:00:48:fe:80:00"}}, {"cards": {"eth0": "0c:42:a1:00:00:00"}}, True),  # InfiniBand
        ({"cards": {"veth": "02:00:01:00:00:00"}, "boot": "1"}, {"cards": {"veth": "02:00:02:00:00:00"}, "boot": "1"}, True),  # containers of one host
        ({"cards": {}, "boot": "1"}, {"cards": {}, "boot": "2"}, False),
    ],
)  # fmt: skip
def test_a_machine_is_itself_after_a_boot_and_no_other(
    tmp_path: Path, one: dict[str, str], other: dict[str, str], same: bool
) -> None:
    a, b = (identity.machine(root(tmp_path / name, **words)) for name, words in (("a", one), ("b", other)))  # type: ignore[arg-type]

    assert (a == b) is same
    assert len(a) == 16


def test_a_machine_that_tells_nothing_is_some_machine(tmp_path: Path) -> None:
    assert identity.machine(tmp_path) == identity.machine(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("one", "other", "another"),
    [
        ({"eth0": "0c:42:a1:00:00:00"}, {"eth0": "0c:42:a2:00:00:00"}, True),
        ({"eth0": "0c:42:a1:00:00:00", "eth1": "0c:42:a2:00:00:00"}, {"eth0": "0c:42:a1:00:00:00"}, False),  # one broke
        ({"eth0": "0c:42:a1:00:00:00"}, {}, False),  # nothing is known
        ({"veth": "02:00:01:00:00:00"}, {"veth": "02:00:02:00:00:00"}, False),  # containers
    ],
)  # fmt: skip
def test_machines_without_one_card_in_common_are_two(
    tmp_path: Path, one: dict[str, str], other: dict[str, str], another: bool
) -> None:
    marks = [identity.cards(root(tmp_path / name, cards=cards) / "sys") for name, cards in (("a", one), ("b", other))]
    then, now = ({"network_cards": mark} for mark in marks)

    assert identity.is_another(then, now) is identity.is_another(now, then) is another
    assert "0c" not in " ".join(mark or "" for mark in marks).replace(":", " ").split()  # no address
