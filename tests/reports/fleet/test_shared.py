"""Suspects that share a switch: told where that is more than chance, and of fleets without a cause hardly ever."""

from __future__ import annotations

import math
import random

import pytest

from orchestrator.cluster import switches
from parsers.errors import UserError
from reports.fleet.shared import RARE, shared

ALL = [f"node{n:03}" for n in range(1, 41)]
LEAVES = {f"leaf{i}": ALL[10 * i : 10 * i + 10] for i in range(4)}


@pytest.mark.parametrize(
    ("suspects", "places", "found"),
    [
        (ALL[20:25], LEAVES, ["leaf2"]),  # 4 · C(10,5) ÷ C(40,5) = 1 in 652
        (ALL[20:25], {"sw": ALL}, []),  # the cluster has one switch
        (ALL[20:21], LEAVES, []),
        (ALL[20:23], LEAVES, []),
        (ALL[::9], LEAVES, []),
        (ALL[20:25], {"leaf9": ["x1", "x2"]}, []),
        (ALL[20:26], {**LEAVES, "spine": ALL[20:]}, ["leaf2"]),
        ([], LEAVES, []),
    ],
)  # fmt: skip
def test_suspects_of_one_switch(suspects: list[str], places: dict[str, list[str]], found: list[str]) -> None:
    assert [place for place, *_ in shared([ALL], suspects, places)] == found


def test_a_slow_kind_of_host_that_fills_a_rack_accuses_no_rack() -> None:
    """Half of leaf3 is suspect, and all of leaf3 is of another kind."""
    assert shared([ALL[:30], ALL[30:]], ALL[30:35], LEAVES) == []
    assert [place for place, *_ in shared([ALL], ALL[30:35], LEAVES)] == ["leaf3"]


def test_the_chance_is_the_hypergeometric_one() -> None:
    ((_, _, chance),) = shared([ALL], ALL[:4] + ALL[38:39], {"leaf0": ALL[:10]})

    assert chance == pytest.approx(sum(math.comb(5, k) * math.comb(35, 10 - k) for k in (4, 5)) / math.comb(40, 10))


def test_of_fleets_without_a_cause_hardly_one_accuses_a_switch() -> None:
    chance = random.Random(5)
    accused = 0
    for _ in range(2000):
        suspects = chance.sample(ALL, chance.randint(2, 9))
        accused += bool(shared([ALL], suspects, {**LEAVES, "spine": ALL[:20]}))
    assert accused <= 1.5 * RARE * 2000  # Bonferroni's bound, and what 2000 draws make of it


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (  # slurm 22.05
            ("SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-2] \nSwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n3\n"
            "SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=leaf[0-1] \n"),
            {"leaf0": ("n1", "n2"), "leaf1": ("n3",), "top": ("n1", "n2", "n3")},
        ),
        ("BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2\n", {"b1": ("n1", "n2")}),
        ("# mine\nrack3: n[1-2],n7  # top shelf\nrack3: n9\n\nrack4: n3", {"rack3": ("n1", "n2", "n7", "n9"), "rack4": ("n3",)}),
        ("SwitchName=s0 Nodes=n1\nSwitchName=s1 Switches=s0\n", {"s0": ("n1",)}),  # topology.conf
    ],
)  # fmt: skip
def test_what_slurm_prints_and_a_list_of_ones_own_are_read(text: str, want: dict[str, tuple[str, ...]]) -> None:
    assert switches.read(text, "t.txt") == want


@pytest.mark.parametrize(
    ("text", "where"),
    [("", "t.txt"), ("No topology information available", "t.txt"), ("r1: n[1-\n", "t.txt:1")],
)
def test_what_is_no_list_is_the_users_mistake(text: str, where: str) -> None:
    with pytest.raises(UserError) as caught:
        switches.read(text, "t.txt")
    assert caught.value.place == where
