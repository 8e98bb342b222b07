"""The table of a machine's facts: it names what is read, and memory modules come back as values."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.machine import probe
from orchestrator.machine.facts import FACTS, MemoryModule, lines, memory_modules, modules_text
from parsers.units import size_text

OF_THE_MOMENT = {
    "memory_available_bytes", "hugepages_free", "swap_bytes", "swap_free_bytes", "uptime_s", "load_1min", "boot_id", "hostname",
    "network_cards",
}  # fmt: skip


def test_the_table_has_every_fact_that_is_read_but_those_of_the_moment() -> None:
    of_session = {"page_cache", "scratch_file_system", "scratch_source"}
    assert {fact.key for fact in FACTS} == (probe.facts().keys() - OF_THE_MOMENT) | of_session
    assert len({fact.words for fact in FACTS}) == len(FACTS)


def test_a_line_names_what_does_not_speak_for_itself() -> None:
    facts = {"cpu_model": "A 1", "microcode": "0xf0", "memory_bytes": 17179869184, "dimms": None, "smt": "on"}

    said = {line: text for line, text in lines(facts).items() if text}

    assert said == {"Processor": "A 1, microcode 0xf0", "Memory": "16 GiB", "Clocks": "SMT on"}
    assert [*lines({})] == ["Processor", "System", "Firmware", "Memory", "Kernel", "Clocks", "Paging"]


@pytest.mark.parametrize(
    ("nodes", "said"),
    [(None, "16 GiB"), (16 << 30, "16 GiB"), (10 << 30, "16 GiB in all, 10 GiB in the NUMA nodes that the kernel lists")],
)  # fmt: skip
def test_memory_that_is_in_no_node_is_told(nodes: int | None, said: str) -> None:
    """Beside "23.5 GiB" of the machine its only node had 15.2 GiB, with no word on it."""
    assert lines({"memory_bytes": 16 << 30}, nodes)["Memory"] == said


def test_what_was_set_for_a_session_stands_beside_what_it_then_was() -> None:
    tuned = {"tuned": "CPU frequency governor powersave → performance"}

    assert lines({"governor": "performance", **tuned})["Clocks"] == (
        "governor performance, set by --tune: CPU frequency governor powersave → performance"
    )
    assert lines(tuned)["Clocks"].startswith("set by --tune: CPU")


full = st.builds(
    MemoryModule,
    size_bytes=st.integers(1, 999).map(lambda n: n << 30),
    type=st.sampled_from(["", "DDR3", "DDR4", "LPDDR5", "<OUT OF SPEC>", "Logical non-volatile device"]),
    rate_mts=st.none() | st.integers(800, 12800),
    slot=st.text(max_size=5),
)
empty = st.builds(MemoryModule, size_bytes=st.just(0), slot=st.text(max_size=5))


@given(st.lists(full | empty, max_size=4).map(tuple))
def test_modules_come_back_as_they_went_in(modules: tuple[MemoryModule, ...]) -> None:
    recorded = json.loads(json.dumps({"dimms": [dataclasses.asdict(m) for m in modules]}))

    assert memory_modules(recorded) == modules


@given(st.lists(full | empty, min_size=1, max_size=4).map(tuple))
def test_a_sentence_of_an_older_file_says_the_same(modules: tuple[MemoryModule, ...]) -> None:
    sentence = modules_text(modules).replace("GiB", "GB")

    assert modules_text(memory_modules({"dimms": sentence})) == modules_text(modules)


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("2 × 32 GB DDR4 3200 MT/s, 14 slots empty", "2 × 32 GiB DDR4 3200 MT/s, 14 slots empty"),
        (
            "1 × 16384 MB DDR4 2666 MT/s, 2 × 8 GB DDR4 2933 MT/s, 1 slot empty",
            "2 × 8 GiB DDR4 2933 MT/s, 1 × 16 GiB DDR4 2666 MT/s, 1 slot empty",
        ),
        ("1 × 8 GB DDR3 1600 MHz", "1 × 8 GiB DDR3 1600 MT/s"),
        ("4 × 32 GB", "4 × 32 GiB"),
        ("as it was told", "as it was told"),
    ],
)
def test_sentences_of_before(sentence: str, text: str) -> None:
    (fact,) = (fact for fact in FACTS if fact.key == "dimms")

    assert fact.text({"dimms": sentence}) == text


def test_sizes_have_three_digits() -> None:
    sizes = (0, 1023, 48 << 10, 5 << 18, 16 << 30, 202_480_000_000, 1010 << 30, 3 << 39)

    assert [size_text(size) for size in sizes] == [
        "0 B", "1023 B", "48 KiB", "1.25 MiB", "16 GiB", "189 GiB", "1010 GiB", "1.5 TiB",
    ]  # fmt: skip
