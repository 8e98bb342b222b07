"""Names that are cut stay apart, and fit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reports.text.columns import cut_apart


@given(st.lists(st.text(alphabet="ab_…", max_size=30), unique=True, max_size=40), st.integers(6, 20))
def test_names_that_are_cut_stay_apart(names: list[str], width: int) -> None:
    found = cut_apart(names, width)

    assert list(found) == names
    assert all(len(form) <= width for form in found.values())
    assert len({*found.values()}) == len(names)
    assert all(found[name] == name for name in names if len(name) <= width)


def test_what_differs_stays() -> None:
    names = [f"a_text_of_one_host_{n}_with_a_long_end_of_its_name.json" for n in ("first", "second")]

    assert [*cut_apart(names, 12).values()] == ["…first…", "…second…"]


def test_the_word_that_differs_stays_whole() -> None:
    """ "…," and "…0" stood for delay 100 and delay 1000 on a phone."""
    names = [f"loaded latency at traffic read, delay {n}, loaded-latency" for n in (100, 1000)]

    assert [*cut_apart(names, 26).values()] == ["loaded latency…delay 100…", "loaded latency…delay 1000…"]
    assert [*cut_apart(names, 12).values()] == ["loaded…100…", "loaded…1000…"]
