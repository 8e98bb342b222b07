"""Whether a folder holds the sweep that is asked for."""

from __future__ import annotations

import dataclasses
import os
import pwd
from pathlib import Path

import pytest

from orchestrator.cluster import begin, folder
from orchestrator.cluster.begin import Wanted
from orchestrator.cluster.folder import Sweep
from parsers.errors import UserError

HERE = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    (tmp_path / "a.yaml").write_text("title: a\n")
    return Sweep(
        id="3f9a12bc", folder=str(tmp_path), via="slurm", hosts=("n1", "n2"),
        experiments={"a.yaml": folder.digest("title: a\n")}, words=("--repeats", "3"), user=HERE, version="0.2.0",
        sbatch=("-p", "main"), at_once=4,
    )  # fmt: skip


def test_the_same_command_and_no_more_than_its_folder_go_on(sweep: Sweep) -> None:
    path = sweep.path("a.yaml")
    begin.refuse_other(sweep, Wanted(version="0.2.0"))
    begin.refuse_other(
        sweep,
        Wanted(version="0.2.0", experiments=(path,), nodes="n1,n2", words=("--repeats", "3"), sbatch="-p main", at_once=4),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Wanted(version="0.3.0"), "was begun by pinsweep 0.2.0, this is 0.3.0"),
        (Wanted(version="0.2.0", nodes="n1"), "other hosts"),
        (Wanted(version="0.2.0", sbatch="-p short"), "another --sbatch"),
        (Wanted(version="0.2.0", at_once=5), "another --at-once"),
    ],
)
def test_another_sweep_is_refused_and_what_begins_it_is_said(sweep: Sweep, other: Wanted, said: str) -> None:
    with pytest.raises(UserError, match=said) as error:
        begin.refuse_other(sweep, other)
    assert "2/" in str(error.value) or "2/" in error.value.hint


def test_a_sweep_of_somebody_else_is_refused(sweep: Sweep) -> None:
    with pytest.raises(UserError, match="is a sweep of mallory, whose jobs nobody else can start"):
        begin.refuse_other(dataclasses.replace(sweep, user="mallory"), Wanted(version="0.2.0"))


def test_an_edited_copy_is_refused(sweep: Sweep) -> None:
    sweep.path("a.yaml").write_text("title: b\n")
    with pytest.raises(UserError, match="is not what the sweep began with"):
        begin.refuse_other(sweep, Wanted(version="0.2.0"))


@pytest.mark.parametrize("text", ["--comment='a b", "-C a#b", "--comment='\"x'"])
def test_words_that_a_line_of_sbatch_cannot_hold_are_refused(text: str) -> None:
    with pytest.raises(UserError, match="--sbatch"):
        begin.sbatch_words(text)


def test_the_hosts_of_a_sweep_are_reached_again_as_they_were(sweep: Sweep) -> None:
    assert begin.engine_words(sweep) == ("--via=slurm", "--sbatch=-p main", "--at-once=4")
    assert begin.engine_words(sweep, "ssh") == ("--via=ssh", "--at-once=4")
