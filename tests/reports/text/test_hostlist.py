"""Names of hosts, folded so that ClusterShell reads the same hosts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.text.hostlist import folded, listed

nodeset = pytest.importorskip("ClusterShell.NodeSet")

NAMES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["n", "node", "rack1n", "a-"]),
    st.one_of(st.integers(0, 120).map(str), st.integers(0, 120).map("{:03}".format), st.sampled_from(["00", "7"])),
    st.sampled_from(["", "-ib", ".site"]),
)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["n3", "n1", "n2", "n10"], "n[1-3,10]"),
        ([f"node{n:03}" for n in (*range(98, 103), 7)], "node[007,098-102]"),
        (["n1"], "n1"),
        (["login", "rack1n01-ib", "rack1n02-ib", "rack2n01-ib"], "login,rack1n[01-02]-ib,rack2n01-ib"),
        (["n0", "n1", "n01", "n02"], "n[0-1],n[01-02]"),
        (["n2", "n1", "a b"], "n[1-2],a b"),
        ([], ""),
    ],
)
def test_names_are_folded_by_their_last_number(names: list[str], said: str) -> None:
    assert folded(names) == said


@given(st.sets(NAMES, max_size=40))
def test_what_is_folded_is_the_same_hosts(names: set[str]) -> None:
    assert set(nodeset.NodeSet(folded(names))) == names


@given(
    st.sampled_from(["n", "node", "a-", "x.y"]),
    st.integers(1, 4),
    st.sampled_from(["", "-ib", ".site"]),
    st.sets(st.integers(0, 9999), min_size=1, max_size=40),
)
def test_names_of_one_number_are_folded_as_clustershell_does(
    before: str, digits: int, after: str, numbers: set[int]
) -> None:
    names = {f"{before}{n % 10**digits:0{digits}}{after}" for n in numbers}

    assert folded(names) == str(nodeset.NodeSet.fromlist(names, resolver=nodeset.RESOLVER_NOGROUP))


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        (["gamma", "alpha", "beta"], "alpha, beta, gamma"),
        (["node2", "node1"], "node[1-2]"),
        (["node2", "node1", "x"], "x,node[1-2]"),
        (["alpha"], "alpha"),
    ],
)
def test_names_that_are_no_node_set_are_told_apart_by_blanks(hosts: list[str], said: str) -> None:
    assert listed(hosts) == said
