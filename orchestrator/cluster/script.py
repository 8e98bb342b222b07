"""The job of one host, as plain bash that an admin can read and start by hand."""

from __future__ import annotations

import shlex
from pathlib import Path

from orchestrator.cluster.folder import Sweep

_SETUP = """\
set +u
[ -r /etc/profile ] && . /etc/profile      # for `module`
{{
{}
}} || {{ reason='--setup failed'; exit 2; }}
set -u
"""


def job_script(sweep: Sweep) -> str:
    """Return job.sh. Every value of the sweep is quoted, except --setup, which is bash."""
    sbatch = [f"#SBATCH {_quote(word)}" for word in _sbatch_words(sweep)]
    if sweep.sbatch:  # after the others, so that it wins
        sbatch.append(f"#SBATCH {' '.join(map(_quote, sweep.sbatch))}")
    names = ", ".join(sweep.experiments)
    experiments = " ".join(f'"$dir"/{shlex.quote(name)}' for name in sweep.experiments)
    body = Path(__file__).with_name("job.sh").read_text("utf-8")
    lines = [
        "#!/bin/bash",
        *sbatch,
        f"# One host's part of the sweep {sweep.id}: {names}; written by pinsweep {sweep.version}.",
        "# By hand: sbatch -w n7 job.sh; with another scheduler, on the host itself: bash job.sh > log/n7.1 2>&1",
        "",
        f"dir=${{PINSWEEP_DIR:-{shlex.quote(sweep.folder)}}}",
        f"tmp={shlex.quote(sweep.local)}" if sweep.local else "tmp=${TMPDIR:-/tmp}",
        f"name={shlex.quote(sweep.job_name)}",
        f"python={shlex.quote(sweep.python)}",
        f"work={shlex.quote(sweep.work)}",
        f"experiments=({experiments})",
        f"options=({shlex.join(['--whole-node', *sweep.words])})",
        "",
        body.replace("#SETUP\n", _SETUP.format(sweep.setup) if sweep.setup else ""),
    ]
    return "\n".join(lines)


def _sbatch_words(sweep: Sweep) -> list[str]:
    """Return the sbatch options that every job has with any submission."""
    names = f"--job-name={sweep.job_name}", f"--output={sweep.folder}/log/%N.%j"
    limit = [f"--time={sweep.limit_min}"] if sweep.limit_min else []
    return [*names, "--nodes=1", "--exclusive", "--mem=0", "--no-requeue", *limit]


def _quote(word: str) -> str:
    """Return a word for a line of #SBATCH, where blanks and quotes divide words and # begins a comment."""
    return word if all(c.isalnum() or c in "-_=/.,:%+@~" for c in word) else f'"{word}"'
