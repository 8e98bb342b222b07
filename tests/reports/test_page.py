"""The page: its numbers, its honesty, and that nothing in it can act."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from parsers.errors import UserError
from reports import frames, page
from reports.render import anchor, render_report, script_json

VOID = {"meta", "br", "link", "input", "img", "hr"}
PAYLOAD = '<img src=x onerror="document.title=\'OWNED\'"><script>document.title="OWNED"</script></script></style></svg>'


class Checker(HTMLParser):
    """Collects tags and complains of what is not closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.problems: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def check(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.problems == []
    assert checker.open == []
    return checker


@pytest.fixture(scope="session")
def full_page(full_result: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return render_report([full_result], tmp_path_factory.mktemp("page") / "r.html").read_text(
        encoding="utf-8"
    )


def test_page_is_well_formed_and_cannot_act(full_page: str) -> None:
    checker = check(full_page)

    assert full_page.startswith("<!doctype html>")
    names = {tag for tag, _ in checker.tags}
    assert not names & {"script", "iframe", "object", "embed", "form", "base", "link", "img"}
    for tag, attributes in checker.tags:
        assert "style" not in attributes, tag
        assert not [name for name in attributes if name.startswith("on")], tag
        for name in ("src", "href", "xlink:href", "action"):
            assert (attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert "url(" not in re.sub(r"url\(#[\w-]+\)", "", full_page)
    assert set(re.findall(r"https?://[^\s\"'<]+", full_page)) == {"http://www.w3.org/2000/svg"}


def test_policy_allows_the_style_sheet_and_nothing_else(full_page: str) -> None:
    style = re.search(r"<style>(.*?)</style>", full_page, re.DOTALL)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()

    policy = next(dict(a)["content"] for t, a in check(full_page).tags if t == "meta" and a.get("http-equiv"))

    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_ids_are_unique_and_links_have_targets(full_page: str) -> None:
    tags = check(full_page).tags
    ids = [a["id"] for _, a in tags if "id" in a]

    assert len(ids) == len(set(ids))
    for _, attributes in tags:
        if href := attributes.get("href"):
            assert href[1:] in ids
        if label := attributes.get("aria-labelledby"):
            assert label in ids


def test_every_picture_is_named_sized_and_there_twice(full_page: str) -> None:
    charts = [a for tag, a in check(full_page).tags if tag == "svg" and a.get("class") == "ch"]

    assert len(charts) >= 24
    assert all(a["role"] == "img" and a["aria-labelledby"] for a in charts)
    assert {a["width"] for a in charts} == {"544", "368"}
    assert sum(a["width"] == "544" for a in charts) * 2 == len(charts)
    described = re.findall(r'<desc id="[^"]+">([^<]+)</desc>', full_page)
    assert len(described) == len(charts)
    assert all(len(text) > 20 for text in described)
    assert "NaN" not in full_page


def test_twelve_charts_are_small(full_page: str) -> None:
    assert len(full_page.encode()) < 600_000


def test_the_same_results_give_the_same_page(full_result: Path, full_page: str, tmp_path: Path) -> None:
    assert render_report([full_result], tmp_path / "other.html").read_text(encoding="utf-8") == full_page


def test_what_is_missing_stands_before_the_charts(full_page: str) -> None:
    text = " ".join(check(full_page).texts)
    head = text[: text.index("Figure 1")]

    for said in (
        "smt siblings: no core has two PUs that may be used",
        "exit status 1: no numbers",
        "still running after 60 s",
        "12 % of the CPUs’ time went to others",
        "memory modules",
    ):
        assert said in head
    assert "118 of 121 planned runs" in head


def test_a_disturbed_run_gives_no_number(full_result: Path) -> None:
    results = frames.load([full_result])

    assert [run.record.status for run in results.disturbed] == ["disturbed"]
    assert not [run for run in results.good("imb") if run.place == "same package"]


def test_titles_say_what_the_seeds_say(seeds_result: Path) -> None:
    built = page.build(frames.load([seeds_result]))
    titles = [figure.title for s in built.sections for block in s.blocks for figure in block.figures]
    numbers = {n.name: (n.value, n.unit) for n in built.key_numbers}

    assert "Three threads fill local memory; remote costs 9.4 %" in titles
    assert "Crossing the package costs 2.7 × in latency and 48 % of bandwidth" in titles
    assert numbers["STREAM Triad"] == ("23.2", "GB/s")
    assert numbers["Memory, peak"] == ("30.6", "GB/s")
    assert numbers["MPI, one way"] == ("190", "ns")
    assert any("ran once per cell" in c.text for c in built.checks)


def test_a_stand_in_is_named_wherever_its_numbers_are(make: Any, tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "fixtures" / "mlc" / "memlat_0.1_six_runs.out").read_text()
    maker = make.Maker(tmp_path / "a.db")
    maker.programs = {"mlc": {"name": "memlat", "stand_in": True, "version": "0.1"}}
    maker.add("all", "mlc", {"mode": "loaded_latency"}, text, program="memlat")

    built = page.build(frames.load([maker.write()]))

    name = "pinsweep memlat, not Intel MLC"
    figures = [f for s in built.sections for b in s.blocks if b.tool == "mlc" for f in b.figures]
    assert figures
    assert all(name in f.sub for f in figures if "Where latency" not in f.title)
    assert any(name in c.text for c in built.checks)
    assert name in dict(built.provenance)["Programs"]
    assert all(b.stand_in for s in built.sections for b in s.blocks if b.tool == "mlc")
    assert all("Intel MLC" not in n.context.replace(name, "") for n in built.key_numbers)


def test_a_tool_and_its_stand_in_share_no_panel(make: Any, tmp_path: Path) -> None:
    for host, program, stand_in in (("a", "stream", False), ("b", "stream", True)):
        maker = make.Maker(tmp_path / f"{host}.db", host="node")
        maker.programs = {"stream": {"name": program, "stand_in": stand_in}}
        maker.add(
            "s", "stream", {"threads": 1}, make.stream_text(10e3 if stand_in else 12e3, 1), axes=("threads",)
        )
        maker.write()

    built = page.build(frames.load([tmp_path / "a.db", tmp_path / "b.db"]))

    panels = [p for s in built.sections for b in s.blocks for f in b.figures for p in f.panels]
    assert len(panels) == 2
    assert sorted("not STREAM" in p.title for p in panels) == [False, True]


def test_hostile_texts_stay_texts(make: Any, tmp_path: Path) -> None:
    hostile = PAYLOAD + "\x00\x1b[31m{{ 7*7 }}"
    maker = make.Maker(tmp_path / "h.db", host=hostile, title=hostile)
    maker.facts = {"cpu_model": hostile}
    maker.add(
        hostile,
        "stream",
        {"threads": 1},
        make.stream_text(12e3, 1),
        place=hostile,
        axes=("place", "threads"),
        sweep_title=hostile,
    )
    maker.add(
        hostile,
        "stream",
        {"threads": 2},
        hostile,
        status="failed",
        reason=hostile,
        stderr=hostile,
        place=hostile,
        axes=("place", "threads"),
    )
    metrics = {"rate": {"regex": r"rate ([\d.]+)", "unit": "MB/s", "better": "higher"}}
    for level in (1, 2):
        maker.add(
            "cmd",
            "command",
            {"command": hostile, "metrics": metrics, "level": level, "word": hostile},
            f"{hostile}\nrate {level}\n",
            axes=("level", "word"),
        )
    maker.skip(hostile, hostile, place=hostile)

    text = render_report([maker.write()], tmp_path / "h.html").read_text(encoding="utf-8")

    checker = check(text)
    assert not {"script", "img"} & {tag for tag, _ in checker.tags}
    assert "\x00" not in text
    assert "\x1b" not in text
    assert "49" not in re.findall(r"31m(\d+)", text)
    assert html.escape(PAYLOAD, quote=False) in text or "&lt;img src=x onerror=" in text


@pytest.mark.skipif(not shutil.which("chromium"), reason="no chromium here")
def test_hostile_texts_do_nothing_in_a_browser(make: Any, tmp_path: Path) -> None:
    test_hostile_texts_stay_texts(make, tmp_path)

    dumped = subprocess.run(
        [
            "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000",
            f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", (tmp_path / "h.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert "<svg" in dumped.stdout
    title = re.search(r"<title>(.*?)</title>", dumped.stdout, re.DOTALL)
    assert title
    assert title[1].startswith("&lt;img") or title[1].startswith(
        "<img"
    )  # the title's text, not what the script sets
    assert not re.search(r"<(img|script)\b", dumped.stdout.replace(title[0], ""))


def test_almost_nothing_is_still_a_page(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "one.db")
    maker.add("s", "stream", {"threads": 1}, make.stream_text(12e3, 1))
    text = render_report([maker.write()], tmp_path / "one.html").read_text(encoding="utf-8")
    check(text)
    assert "12.0" in text

    empty = make.Maker(tmp_path / "none.db")
    text = render_report([empty.write()], tmp_path / "none.html").read_text(encoding="utf-8")
    check(text)
    assert "These files hold no runs" in text

    failed = make.Maker(tmp_path / "failed.db")
    failed.add("s", "stream", {"threads": 1}, "Segmentation fault\n", status="ok")
    text = render_report([failed.write()], tmp_path / "failed.html").read_text(encoding="utf-8")
    check(text)
    assert "could not be read" in text
    assert "No run of these files has given a number" in text


def test_a_line_is_not_joined_across_a_failed_cell(make: Any, tmp_path: Path) -> None:
    maker = make.Maker(tmp_path / "f.db")
    for depth in (1, 4, 8, 32):
        good = depth != 8
        text = (
            make.fio_text({"read": (1e3 * depth, 500.0)}, bs="4k", rw="randread", iodepth=depth)
            if good
            else ""
        )
        maker.add(
            "s",
            "fio",
            {"rw": "randread", "iodepth": depth},
            text,
            axes=("iodepth",),
            status="ok" if good else "failed",
            reason="" if good else "exit 1",
        )

    built = page.build(frames.load([maker.write()]))

    spec = next(
        p.wide
        for s in built.sections
        for b in s.blocks
        if b.tool == "fio"
        for f in b.figures
        for p in f.panels
    )
    assert {(r["x"], r["segment"]) for r in spec["datasets"]["points"]} == {(1, 0), (4, 0), (32, 1)}
    assert [r["x"] for r in spec["datasets"]["crosses"]] == [8]
    assert spec["encoding"]["x"]["axis"]["values"] == [1, 4, 8, 32]


def test_many_hosts_are_panels_and_the_rest_is_counted(make: Any, tmp_path: Path) -> None:
    paths = []
    for i in range(12):
        maker = make.Maker(tmp_path / f"n{i:02}.db", host=f"n{i:02}")
        for threads in (1, 2, 4):
            maker.add(
                "s",
                "stream",
                {"threads": threads},
                make.stream_text(9e3 * threads, threads),
                axes=("threads",),
            )
        paths.append(maker.write())

    built = page.build(frames.load(paths))

    figure = built.sections[0].blocks[0].figures[0]
    assert len(figure.panels) == 8
    assert "4 more panels are in the numbers only" in figure.sub
    assert len(figure.numbers[0].rows) == 12 * 4 * 3
    assert all("best of 12 hosts" in n.context for n in built.key_numbers)
    assert "on 12 hosts" in built.sentence


def test_two_files_of_one_host_are_not_mixed(make: Any, tmp_path: Path) -> None:
    for name, rate in (("before", 12e3), ("after", 10e3)):
        maker = make.Maker(tmp_path / f"{name}.db", host="n1")
        maker.add("s", "stream", {"threads": 1}, make.stream_text(rate, 1), axes=("threads",)).write()

    built = page.build(frames.load([tmp_path / "before.db", tmp_path / "after.db"]))

    panels = built.sections[0].blocks[0].figures[0].panels
    assert [p.title for p in panels] == ["n1, before.db", "n1, after.db"]


def test_without_static_the_specifications_travel_along(full_result: Path, tmp_path: Path) -> None:
    text = render_report([full_result], tmp_path / "r.html", static=False).read_text(encoding="utf-8")

    block = re.search(r'<script type="application/json" id="pinsweep-charts">(.*?)</script>', text, re.DOTALL)
    assert block
    charts = json.loads(block[1])
    assert all(spec["layer"] and spec["datasets"] for spec in charts["charts"].values())
    assert charts["config"]["font"].startswith("Inter")
    assert set(charts["charts"]) <= {
        a.get("aria-labelledby", "")[:-2]
        for t, a in check(text).tags
        if t == "svg" and a.get("aria-labelledby")
    }


def test_json_cannot_leave_its_script_element() -> None:
    assert "<" not in script_json({"a": "</script><!--"})
    assert json.loads(script_json({"a": "</script>"})) == {"a": "</script>"}


def test_anchors_are_plain_and_different() -> None:
    assert anchor("overview") == "overview"
    assert anchor("a b") != anchor("a-b")
    assert re.fullmatch(r"[a-z0-9-]+", anchor(PAYLOAD))


def test_no_result_no_page(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        render_report([tmp_path / "none.db"], tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_a_page_that_cannot_be_written_is_the_users_mistake(full_result: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        render_report([full_result], tmp_path / "file" / "r.html")
