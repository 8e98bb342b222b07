"""Names to texts: folders, globs, archives, and archives that mean no good."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.capture import sources as module
from orchestrator.capture.sources import sources

TEXTS = {"d/a.txt": b"first\n", "d/b.txt": b"second\n" * 400, "d/deep/c.txt": b"third\n"}


def tar(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


@pytest.mark.parametrize(
    "pack",
    [
        tar,
        zipped,
        lambda t: gzip.compress(tar(t)),
        lambda t: bz2.compress(tar(t)),
        lambda t: lzma.compress(tar(t)),
    ],
    ids=["tar", "zip", "gz", "bz2", "xz"],
)
def test_every_member_of_an_archive(tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes]) -> None:
    path = tmp_path / "logs"  # told by its bytes, not by its name
    path.write_bytes(pack(TEXTS))

    found = list(sources([str(path)]))

    assert {s.name.partition(":")[2]: s.data for s in found} == TEXTS
    assert not any(s.problem or s.named for s in found)
    assert [p.name for p in tmp_path.iterdir()] == ["logs"]  # nothing was unpacked


@pytest.mark.parametrize("pack", [tar, zipped])
def test_members_beyond_the_bound_are_left_with_an_error(
    tmp_path: Path, pack: Callable[[dict[str, bytes]], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_MEMBERS", 2)
    (tmp_path / "logs").write_bytes(pack(TEXTS))

    *texts, refused = sources([str(tmp_path / "logs")])

    assert len(texts) == 2
    assert refused.named
    assert "members: the rest is not read" in refused.problem


def test_a_single_compressed_text(tmp_path: Path) -> None:
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b"{}"))

    (found,) = sources([str(path)])

    assert (found.data, found.named) == (b"{}", True)


def test_folders_globs_and_what_is_not_there(tmp_path: Path) -> None:
    for name, data in {**TEXTS, "d/.hidden": b"x"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    os.mkfifo(tmp_path / "d" / "pipe")

    folder = list(sources([str(tmp_path / "d")]))
    assert [Path(s.name).name for s in folder] == ["a.txt", "b.txt", "c.txt"]
    assert not any(s.named for s in folder)
    assert [Path(s.name).name for s in sources([str(tmp_path / "**" / "[ac].txt")])] == ["a.txt", "c.txt"]
    (gone, none) = sources([str(tmp_path / "nosuch"), str(tmp_path / "*.out")])
    assert gone.missing
    assert none.missing
    assert "No such file" in gone.problem


def test_a_member_that_would_leave_the_folder_is_only_a_label(tmp_path: Path) -> None:
    path = tmp_path / "evil.tar"
    out = io.BytesIO(tar({"../../escape": b"1", "/etc/abs\x1b[31m": b"2"}))
    with tarfile.open(fileobj=out, mode="a") as archive:
        for kind, name in ((tarfile.SYMTYPE, "link"), (tarfile.LNKTYPE, "hard"), (tarfile.FIFOTYPE, "pipe")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    path.write_bytes(out.getvalue())

    found = list(sources([str(path)]))

    assert [s.data for s in found] == [b"1", b"2"]  # no link was followed
    assert "\x1b" not in found[1].name
    assert [p.name for p in tmp_path.iterdir()] == ["evil.tar"]


def test_a_bomb_ends_at_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parsers.text.LARGEST", 1 << 20)
    monkeypatch.setattr(module, "LARGEST", 1 << 20)
    monkeypatch.setattr(module, "LARGEST_ARCHIVE", 4 << 20)
    zeros = bytes(2 << 20)
    bombs = {
        "text.gz": gzip.compress(zeros),
        "many.tar.gz": gzip.compress(tar({f"{i}": zeros[: 1 << 20] for i in range(20)})),
        "skipped.tar.xz": lzma.compress(tar({"a": b"fine\n", "zeros": bytes(16 << 20)}), preset=0),
        "many.zip": zipped({f"{i}": zeros[: 1 << 20] for i in range(20)}),
        "one.zip": zipped({"zeros": zeros}),
    }
    for name, data in bombs.items():
        (tmp_path / name).write_bytes(data)
        found = list(sources([str(tmp_path / name)]))
        assert sum(len(s.data) for s in found) <= 4 << 20, name
        assert any("is not read" in s.problem for s in found), name


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.tar.xz", "a.zip"])
def test_what_is_cut_off_is_said(tmp_path: Path, name: str) -> None:
    whole = {"a.tar": tar(TEXTS), "a.tar.gz": gzip.compress(tar(TEXTS)), "a.tar.xz": lzma.compress(tar(TEXTS)), "a.zip": zipped(TEXTS)}  # fmt: skip
    for share in (0.3, 0.6, 0.9):
        (tmp_path / name).write_bytes(whole[name][: int(len(whole[name]) * share)])

        found = list(sources([str(tmp_path / name)]))

        texts = [s for s in found if not s.problem]
        assert all(TEXTS[s.name.partition(":")[2]] == s.data for s in texts)  # whole texts, or none
        assert len(texts) == 3 or any(s.problem for s in found)


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    data = bytearray(zipped({"a.txt": b"text", "b.txt": b"more"}))
    for mark in (data.index(b"PK\x03\x04") + 6, data.index(b"PK\x01\x02") + 8):
        data[mark] |= 1  # the flag "encrypted" of the first member
    (tmp_path / "a.zip").write_bytes(data)

    secret, plain = sources([str(tmp_path / "a.zip")])

    assert "cannot be unpacked" in secret.problem
    assert plain.data == b"more"
