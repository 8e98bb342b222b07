"""The page as a value, and as HTML: key numbers, machines, tables, and that nothing in it can act."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from orchestrator.machine.descriptions import topology_from_text
from orchestrator.model import Group
from reports.page.html import html
from reports.page.model import Page, Part
from reports.report import all_runs, build, effects, machine
from reports.results.load import load

HOSTILE = '"><img src=x onerror=alert(1)>\u202e'
SYNTHETIC = "pack:2 numa:1(memory=64GB) l3:1(size=32MB) core:2 l1:1(size=32KB) pu:2"


def built(*paths: Path) -> Page:
    return build.build(load(paths))


@pytest.fixture
def stream(make: Any, tmp_path: Path) -> Any:
    maker = make.Maker(tmp_path / "a.db")
    maker.topology = SYNTHETIC
    maker.groups = {
        "local": (Group(cpus=(0, 1, 2, 3), membind=(0,)),),
        "remote": (Group(cpus=(0, 1, 2, 3), membind=(1,)),),
    }
    for place, rate in (("local", 10e3), ("remote", 6e3)):
        for threads in (1, 2):
            for wobble in (1.0, 1.02):
                maker.add("s", "stream", {"threads": threads}, make.stream_text(rate * threads * wobble, threads), axes=("threads",), place=place, relation=place)  # fmt: skip
    return maker


def test_key_numbers_are_the_best_cells_and_stand_where_their_runs_were_placed(stream: Any) -> None:
    page = built(stream.write())

    assert [(k.name, k.value, k.unit, k.n, k.context) for k in page.key_numbers] == [
        ("STREAM triad", "20.2", "GB/s", 2, "threads 2, local")
    ]
    assert page.sentence == "node07: 8 of 8 runs ok."
    (drawn,) = page.machines
    values = {part.name: [k.value for k in part.numbers] for part in walk(drawn.parts)}
    assert values == {"package 0": [], "node 0": ["20.2"], "package 1": [], "node 1": [], "node 0 → memory of node 1": ["12.1"]}  # fmt: skip
    (node,) = [part for part in walk(drawn.parts) if part.name == "node 0"]
    assert node.squares is not None
    assert node.squares.description == "4 of 4 PUs measured"
    assert [name for name, _ in node.caches] == ["L1 2 × 32 kB", "L3 32 MB"]


def walk(parts: tuple[Part, ...]) -> list[Part]:
    return [found for part in parts for found in (part, *walk(part.parts))]


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ({"pus": "0-3", "memory_nodes": "0"}, ("node", 0)),
        ({"pus": "0-3", "memory_nodes": ""}, ("node", 0)),
        ({"pus": "0-3", "memory_nodes": "1"}, ("link", 0, 1)),
        ({"pus": "0 | 4", "memory_nodes": ""}, ()),
        ({"pus": "", "memory_nodes": ""}, ()),
        ({"pus": "0-3", "memory_nodes": "0", "device": "nvme0n1"}, ("disk", "nvme0n1")),
        ({"pus": "", "memory_nodes": "", "source": 1.0, "target": 0.0}, ("link", 1, 0)),
        ({"pus": "", "memory_nodes": "", "source": 1.0, "target": 1.0}, ("node", 1)),
    ],
)
def test_the_part_of_a_machine_that_a_cell_is_of(row: dict[str, Any], part: tuple[Any, ...]) -> None:
    topology = topology_from_text(SYNTHETIC)

    assert machine.part_of({"device": None, "source": None, "target": None, **row}, topology) == part


def test_effects_compare_cells_that_are_the_same_in_all_other_axes(stream: Any) -> None:
    axes, best = effects.tables(load([stream.write()]))

    rows = [
        (row["axis"], row["from"], row["to"], round(row["times better"].value, 2), row["clear"])
        for row in axes.records()
    ]  # type: ignore[union-attr]
    assert rows == [("threads", "1", "2", 2.0, "yes"), ("place", "remote", "local", 1.67, "yes")]
    assert [(row["cell"], row["cells"]) for row in best.records()] == [("place=local threads=2", 4)]


def test_effects_of_numbers_whose_ratio_is_no_float(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "r.db")
    metrics = {"v": {"regex": "v=(.+)", "better": "lower"}}
    for n, value in (1, "1.5e300"), (2, "1e-300"):
        for repeat in (1, 2):
            options = {"command": "x", "metrics": metrics, "n": n}
            maker.add("s", "command", options, f"v={value}\n", axes=("n",), repeat=repeat)

    axes, _ = effects.tables(load([maker.write()]))

    assert [(row["from"], row["to"], row["clear"]) for row in axes.records()] == [("1", "2", "yes")]


def test_a_page_without_a_number_says_so_and_lists_the_runs(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "a.db")
    maker.add("s", "stream", {"threads": 1}, "", status="failed", reason="exit status 3")
    page = built(maker.write())

    assert (page.key_numbers, page.machines) == ((), ())
    assert [section.anchor for section in page.sections] == ["nothing"]
    assert page.runs is not None
    assert [row["status"] for row in page.runs.records()] == ["failed: exit status 3"]


def test_many_hosts_share_the_panels_of_a_figure(make: Any, tmp_path: Path) -> None:
    paths = []
    for i in range(14):
        maker = make.Maker(tmp_path / f"{i}.db", host=f"n{i:02d}")
        for threads in (1, 2):
            maker.add("s", "stream", {"threads": threads}, make.stream_text(1e4 * threads + i, threads), axes=("threads",))  # fmt: skip
        paths.append(maker.write())
    (figure,) = (f for s in built(*paths).sections for f in s.blocks if f.__class__.__name__ == "Figure")

    assert not figure.wide  # type: ignore[union-attr]
    assert [row["repeats"] for row in figure.table.records()] == [14, 14]  # type: ignore[union-attr]


class Elements(HTMLParser):
    """Collects the elements of a page with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_nothing_from_a_file_can_act_and_the_policy_allows_the_pages_own_style_and_script(
    make: Any, tmp_path: Path
) -> None:
    maker = make.Maker(tmp_path / "a.db", host=HOSTILE, title=HOSTILE)
    for threads in (1, 2):
        maker.add(f"s{HOSTILE}", "stream", {"threads": threads}, make.stream_text(1e4 * threads, threads), axes=("threads",), place=HOSTILE)  # fmt: skip
    page = built(maker.write())
    text = html(page)

    elements = Elements(text).found
    assert not [attributes for tag, attributes in elements if tag == "img" or any(name.startswith("on") for name in attributes)]  # fmt: skip
    assert "\u202e" not in text
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    policy = next(a["content"] for tag, a in elements if tag == "meta" and a.get("http-equiv"))
    assert policy is not None
    for tag in ("style", "script"):
        sources = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(source.encode()).digest()).decode() for source in sources]
        allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
        named = next(part for part in policy.split("; ") if part.startswith(f"{tag}-src"))
        assert named.endswith(allowed)
        assert len(named.split()) == 1 + len(digests) + (tag == "script")  # and Vega, which the script unpacks
    assert "<script" not in html(page, static=True)
    assert html(page) == text


def test_the_first_screen_has_at_most_160_words(full_built: Page) -> None:
    page = full_built
    words = [page.title, page.sentence, page.care, page.built_in]
    words += [f"{k.name} {k.value} {k.unit} {k.range} {k.context} {k.flags}" for k in page.key_numbers]
    words += [f"{m.host} {m.layout}" for m in page.machines[:1]]

    assert len(" ".join(words).split()) <= 160


def test_a_program_of_the_users_own_has_key_numbers(make: Any, tmp_path: Path) -> None:
    metrics = {"rate": {"regex": r"rate (\S+)", "unit": "MB/s", "better": "higher"}}
    maker = make.Maker(tmp_path / "a.db")
    for size, rate in ((1, 100), (2, 300)):
        maker.add(
            "s",
            "command",
            {"command": "x", "metrics": metrics, "size": size},
            f"rate {rate}\n",
            axes=("size",),
        )

    (number,) = built(maker.write()).key_numbers
    assert (number.name, number.value, number.unit, number.context) == ("rate", "300", "MB/s", "size=2")


def test_a_command_line_of_megabytes_is_told_by_its_beginning(make: Any, tmp_path: Path) -> None:
    (run,) = load([make.Maker(tmp_path / "a.db").add("s", "stream", {}, make.stream_text(1e4, 1)).write()]).runs
    long = dataclasses.replace(run, record=dataclasses.replace(run.record, argv=("x", "y" * 3_000_000, *"z" * 100_000)))

    assert len(all_runs.command_text(long)) < 2100
