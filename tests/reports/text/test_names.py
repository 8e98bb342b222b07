"""Names that are cut stay apart, fit, and keep what tells them from the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.draw.label_placement import fits, text_width
from reports.text.names import cut_apart, of_letters


@given(st.lists(st.text(alphabet="ab_…, =", max_size=30), unique=True, max_size=40), st.integers(6, 20))
def test_names_that_are_cut_stay_apart(names: list[str], width: int) -> None:
    found = cut_apart(names, of_letters(width))

    assert list(found) == names
    assert all(len(form) <= width for form in found.values())
    assert len({*found.values()}) == len(names)
    assert all(found[name] == name for name in names if len(name) <= width)


@pytest.mark.parametrize(
    ("names", "width", "said"),
    [
        # what differs stays
        ([f"a_text_of_one_host_{n}_with_a_long_end_of_its_name.json" for n in ("first", "second")], 12, ["…first…", "…second…"]),
        # "…," and "…0" stood for delay 100 and delay 1000 on a phone
        ([f"loaded latency at traffic read, delay {n}, loaded-latency" for n in (100, 1000)], 26, ["loaded latency…delay 100…", "loaded latency…delay 1000…"]),
        ([f"loaded latency at traffic read, delay {n}, loaded-latency" for n in (100, 1000)], 12, ["…delay 100…", "…delay 1000…"]),
        (["alg fast, mode x, size 4096", "alg fast, mode x, size 8192"], 20, ["alg fast…size 4096", "alg fast…size 8192"]),
        ([f"randread of a long name, cpu {n}, with 4 KiB blocks at iodepth 1" for n in (0, 12)], 22, ["randread of a…cpu 0…", "randread of a…cpu 12…"]),
        # "scaling, pl…ad bandwidth" stood for each
        ([f"scaling, place=local threads={n}: triad bandwidth" for n in (4, 8)], 30, ["scaling…threads=4: triad…", "scaling…threads=8: triad…"]),
        ([f"scaling, place={p} threads={n}: triad bandwidth" for p in ("local", "remote") for n in (4, 8)], 26, [f"…place={p} threads={n}…" for p in ("local", "remote") for n in (4, 8)]),
        # each part tells some apart: "…reading from…~1" told none of them
        ([f"alg use {a}, kind {k}, mode {m} memory" for a in ("lz4", "zstd") for k in ("s", "l") for m in ("read", "write")], 18, [f"{a}, {k}, {m}" for a in ("lz4", "zstd") for k in ("s", "l") for m in ("read", "write")]),
        ([f"alg {a}, mode {m}" for a in ("compress", "decompress") for m in ("from memory", "to memory")], 12, ["com…ss, from", "compress, to", "dec…ss, from", "deco…ess, to"]),
        # "1, 0, read" was the name of the first: of what, nobody could tell
        ([f"numjobs {n}, rate_iops {r}, {k}" for n in (1, 3) for r in (0, 400) for k in ("read", "mix r")], 26, [f"{a}…{n}, {b}…{r}, {k}" if a else f"numjobs {n}, {b}…{r}, {k}" for n in (1, 3) for r, p, q in ((0, "rate_io", "rate_i"), (400, "rate_", "rate")) for a, b, k in (("", p, "read"), ("numjob", q, "mix r"))]),
        # of a single one nothing tells what it shares: its ends stay
        (["File, 8 GB, first 8 GB, direct"], 20, ["File, 8 GB…direct"]),
        (["walk over a buffer of one size"], 16, ["walk ove…ne size"]),
    ],
)  # fmt: skip
def test_what_tells_names_apart_stays(names: list[str], width: int, said: list[str]) -> None:
    assert [*cut_apart(names, of_letters(width)).values()] == said


def test_names_are_cut_to_a_width_in_pixels() -> None:
    """At 400 px two rows were "memory time per byte at statistic sequen…": the cell, which stands last, was lost."""
    names = [f"memory time per byte, written in order, op={op}" for op in ("read", "write", "write+fence")]

    cut = cut_apart([*names, "triad bandwidth"], fits(200))

    assert [cut[name].rpartition("…")[2] for name in names] == ["op=read", "op=write", "op=write+fence"]
    assert all(text_width(text) <= 200 for text in cut.values())
    assert cut["triad bandwidth"] == "triad bandwidth"
    assert [*cut_apart(["12345678", "123456789"], fits(1)).values()] == ["12345678", "1234…789"]
