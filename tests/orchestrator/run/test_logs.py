from __future__ import annotations

from pathlib import Path

from orchestrator.run.logs import collected


def test_files_stand_one_below_the_other_by_their_numbers(tmp_path: Path) -> None:
    for name in ("fio_lat.1.log", "fio_lat.10.log", "fio_lat.2.log", "fio_clat.1.log", "fio_bw.1.log"):
        (tmp_path / name).write_text(f"1, {name}\n")

    text = collected([f"{tmp_path}/fio_lat.*log", f"{tmp_path}/fio_bw.*log"]).decode()

    assert [line for line in text.split("\n") if line.startswith("==>")] == [
        "==> fio_lat.1.log <==", "==> fio_lat.2.log <==", "==> fio_lat.10.log <==", "==> fio_bw.1.log <==",
    ]  # fmt: skip


def test_a_long_log_is_cut_behind_a_whole_line_and_says_so(tmp_path: Path) -> None:
    for job in (1, 2):
        (tmp_path / f"fio_lat.{job}.log").write_text("12, 345, 0, 4096\n" * 100)

    text = collected([f"{tmp_path}/fio_lat.*log"], most_bytes=80).decode()

    assert text == "".join(
        f"==> fio_lat.{job}.log <==\n12, 345, 0, 4096\n12, 345, 0, 4096\n[cut: the first 34 of 1700 bytes]\n"
        for job in (1, 2)
    )


def test_of_no_file_and_of_a_link_nothing_is_kept(tmp_path: Path) -> None:
    (tmp_path / "fio_lat.1.log").symlink_to("/etc/hostname")

    assert collected([f"{tmp_path}/fio_lat.*log", f"{tmp_path}/none/x.*log"]) == b""
