"""Outputs go where this user says, and through nothing that another user has put there."""

from __future__ import annotations

import os
import stat
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.machine.safe_files import (
    follow,
    open_anew,
    other_writer,
    other_writers,
    read_named,
    replacement,
)

EVE = 12345


def write(path: Path) -> None:
    with replacement(path) as file:
        file.write(b"page")


def write_bit_by_bit(path: Path) -> None:
    with open_anew(path) as file:
        file.write(b"page")


WRITERS = pytest.mark.parametrize("writer", [write, write_bit_by_bit])


def link(path: Path, target: Path) -> None:
    path.symlink_to(target)
    os.chown(path, EVE, EVE, follow_symlinks=False)


def node(path: Path, kind: int, major: int) -> None:
    os.mknod(path, 0o600 | kind, os.makedev(major, 5))


def fifo(path: Path) -> None:
    os.mkfifo(path)
    os.chown(path, EVE, EVE)


PLANTED: dict[str, Callable[[Path, Path], object]] = {  # (the shared folder, a folder of root's); the output is shared/way/x
    "a link": lambda shared, mine: link(shared / "way/x", mine / "x"),
    "a link that leads nowhere": lambda shared, mine: link(shared / "way/x", mine / "new"),
    "a link to a link": lambda shared, mine: ((shared / "way/x").symlink_to("y"), link(shared / "way/y", mine / "x")),
    "a link on the way": lambda shared, mine: ((shared / "way").rmdir(), link(shared / "way", mine)),
    "links in a circle": lambda shared, _: (shared / "way/x").symlink_to("x"),
    "a FIFO": lambda shared, _: fifo(shared / "way/x"),
    "a block device": lambda shared, _: node(shared / "way/x", stat.S_IFBLK, 7),
    "a character device": lambda shared, _: node(shared / "way/x", stat.S_IFCHR, 1),
    "a folder": lambda shared, _: (shared / "way/x").mkdir(),
}  # fmt: skip


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    shared, mine = tmp_path / "shared", tmp_path / "mine"
    for path in (shared, shared / "way", mine):
        path.mkdir()
    shared.chmod(0o1777)
    (mine / "x").write_text("precious")
    return shared, mine


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of another user")
@pytest.mark.parametrize("planted", PLANTED)
@WRITERS
def test_nothing_is_written_through_what_another_user_planted(
    folders: tuple[Path, Path], planted: str, writer: Callable[[Path], None]
) -> None:
    shared, mine = folders
    PLANTED[planted](shared, mine)
    before = sorted(shared.parent.rglob("*"))

    with pytest.raises(OSError, match=r"link|device|pipe|directory|Too many"):
        writer(shared / "way" / "x")

    assert (mine / "x").read_text() == "precious"
    assert sorted(shared.parent.rglob("*")) == before


@WRITERS
def test_our_own_links_are_followed_and_another_name_of_the_file_keeps_its_content(
    folders: tuple[Path, Path], writer: Callable[[Path], None]
) -> None:
    shared, mine = folders
    (shared / "link").symlink_to("way/../new/page")
    (mine / "other").hardlink_to(mine / "x")
    for path, lies in (
        (shared / "link", shared / "new/page"),
        (mine / "x", mine / "x"),
        (mine / "x", mine / "x"),
    ):
        writer(path)
        assert follow(path) == lies
        assert lies.read_text() == "page"
        assert [entry for entry in lies.parent.iterdir() if entry.name.startswith(".")] == []
    assert (shared / "link").is_symlink()
    assert (mine / "other").read_text() == "precious"


@WRITERS
def test_a_pipe_of_ours_and_null_are_written_to(tmp_path: Path, writer: Callable[[Path], None]) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    writer(tmp_path / "pipe")
    assert os.read(reader, 100) == b"page"
    os.close(reader)
    writer(Path("/dev/null"))
    assert Path("/dev/null").is_char_device()


def test_a_file_that_a_user_names_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("x")
    os.mkfifo(tmp_path / "pipe")
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(3 << 30)

    assert read_named(tmp_path / "link", 5) == b"12345"
    for name in ("x", "pipe", "sparse", "/dev/zero", "."):
        with pytest.raises(OSError, match=r"larger than 4 B|not a regular file|Is a directory"):
            read_named(tmp_path / name, 4)


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    def write_half() -> None:
        with replacement(tmp_path / "x") as file:
            file.write(b"half")
            raise ZeroDivisionError

    (tmp_path / "x").write_text("before")
    with pytest.raises(ZeroDivisionError):
        write_half()
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "before")]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: to be another user")
@pytest.mark.parametrize(
    ("open_to_all", "user", "refused"),
    [(".", 0, True), ("a", 0, True), ("a/b", 0, True), ("a/b", EVE, True), ("a", EVE, False)],
)
def test_who_else_may_exchange_what_a_folder_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_to_all: str, user: int, refused: bool
) -> None:
    """Each user answers for the folders above; root does for all."""
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    (tmp_path / open_to_all).chmod(0o777)
    assert bool(other_writers(tmp_path / "a/b")) is refused
    (tmp_path / open_to_all).chmod(0o1777)
    assert other_writers(tmp_path / "a/b") == ""


def test_an_access_control_list_lets_others_write(tmp_path: Path) -> None:
    """The group of the file is private, and user 12345 may write."""
    entries = ((1, 7, -1), (2, 7, EVE), (4, 5, -1), (16, 7, -1), (32, 5, -1))  # tag, rights, user
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(tmp_path, "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("a file system without access control lists")
    assert other_writer(tmp_path, tmp_path.stat())
