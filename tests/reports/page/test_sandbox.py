"""A template of a stranger's reads values and places them: no command, no file outside its folder, no endless page."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.errors import UserError
from reports.page import sandbox
from reports.page.templates import PAGE, Templates


def filled(folder: Path, text: str, *, cpu_s: float = 20.0, **values: object) -> str:
    (folder / PAGE).write_text(text, "utf-8")
    return Templates(folder).render(PAGE, values, cpu_s=cpu_s)


@pytest.mark.parametrize(
    "text",
    [
        "{{ cycler.__init__.__globals__.os.popen('touch OWNED').read() }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ data_uri.__func__.__globals__ }}",
        "{{ (data_uri|attr('__self__')).folder.joinpath('OWNED').write_text('x') }}",
        "{{ '{0.__class__}'.format(path) }}",
        "{{ path.write_text('OWNED') }}",
        "{{ [path]|map(attribute='unlink')|list|first() }}",
        "{{ path.read_text() }}",
        "{{ listed.append(1) }}",
        "{% for i in range(1000000000) %}{% endfor %}",
        "{{ 10 ** (10 ** 9) }}",
        "{% set ns = namespace(n=3) %}{% for i in range(100) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
        "{% include 'base.html.j2' %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    ],
)
def test_a_template_reads_values_and_does_nothing_else(tmp_path: Path, text: str) -> None:
    path = tmp_path / "kept"
    path.write_text("kept")

    with pytest.raises(UserError) as refused:
        filled(tmp_path, text, path=path, listed=[1])

    assert str(tmp_path) in refused.value.place
    assert path.read_text() == "kept"
    assert {entry.name for entry in tmp_path.iterdir()} == {"kept", PAGE}


LOOPS = "{% for a in range(99999) %}{% for b in range(99999) %}BODY{% endfor %}{% endfor %}"


def test_a_page_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MEMORY_BYTES", 64 << 20)
    monkeypatch.setattr(sandbox, "OUTPUT_CHARACTERS", 1_000_000)
    doubled = "{% set ns = namespace(s='x' * 1000) %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"

    for text, said in (
        (LOOPS.replace("BODY", ""), "more than 0 s of CPU time"),
        (LOOPS.replace("BODY", "{{ 'x' * 1000 }}"), "print more than 1,000,000 characters"),
        (doubled, "more than 64 MiB of memory"),
        ("{{ '%4000000000d'|format(1) }}", "more than 64 MiB of memory"),
    ):
        with pytest.raises(UserError) as refused:
            filled(tmp_path, text, cpu_s=0.4 if "CPU" in said else 20.0)
        assert said in str(refused.value)
    assert filled(tmp_path, "{{ 'still ' ~ n }}", n=3) == "still 3"  # the limits have gone


@pytest.mark.parametrize(
    "text",
    [
        "{% include 'link' %}", "{% import 'link' as x %}", "{% extends 'link' %}", "{{ data_uri('link') }}", "{% include 'away/secret' %}",
        "{{ data_uri('away/secret') }}", "{% include '../secret' %}", "{{ data_uri('../secret') }}", "{% include ['link', 'own'] %}",
    ],
)  # fmt: skip
def test_a_template_reads_no_file_outside_its_folder(tmp_path: Path, text: str) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    (tmp_path / "secret").write_text("SECRET")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "away").symlink_to(tmp_path)
    (folder / "own").write_text("fine")

    with pytest.raises(UserError) as refused:
        filled(folder, text)

    assert "SECRET" not in str(refused.value)


def test_a_style_sheet_and_a_page_that_lead_out_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    for name in ("extra.css", PAGE):
        (tmp_path / name).write_text("SECRET")
        (folder / name).symlink_to(tmp_path / name)

    for read in (Templates(folder).style, lambda: Templates(folder).render(PAGE, {})):
        with pytest.raises(UserError, match="leads out of the template folder"):
            read()


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    for name in ("extra.css", PAGE):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 40)

    for read in (Templates(tmp_path).style, lambda: Templates(tmp_path).render(PAGE, {})):
        with pytest.raises(UserError, match="larger than"):
            read()


def test_links_within_the_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "own").write_text("fine")
    (tmp_path / "link").symlink_to("own")

    assert filled(tmp_path, "{% include 'link' %}{{ data_uri('link')[:5] }}") == "finedata:"
