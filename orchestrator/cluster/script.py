"""The job of one host, as text: plain shell, to be read by those who answer for the cluster, and to be started by hand. Pure."""

from __future__ import annotations

import shlex

from orchestrator.cluster.folder import Sweep

_BODY = """
host=${PINSWEEP_HOST:-${SLURMD_NODENAME:-$(hostname -s)}}
local=$tmp/$name-$host       # results and scratch files while it runs; stays if the results are not home
set -u
reason='ended before pinsweep began'

finish() {                   # the last line of the log; a host that died has none
    rc=$?
    trap - EXIT
    if [ -s "$local/reason" ]; then read -r reason < "$local/reason"; fi
    [ "$rc" = 0 ] && reason=complete
    if [ -e "$local/is-home" ]; then rm -rf -- "$local.gone"; mv -T -- "$local" "$local.gone" && rm -rf -- "$local.gone"; else rm -f -- "$local/reason" "$local/lock"; rmdir -- "$local" 2>/dev/null; fi
    echo "rc=$rc $reason"
    exit "$rc"
}
trap finish EXIT
trap : TERM INT HUP          # pinsweep gets them, too, and ends its tool

echo "$host $(date -u +%Y-%m-%dT%H:%M:%SZ) pid $$"
for try in 1 2 3 none; do    # one job of a host at a time, also where Slurm has lost sight of one that runs on
    if [ "$try" = none ]; then reason="cannot make $local"; local=/dev/null; exit 2; fi
    mkdir -m 700 -- "$local" 2>/dev/null
    [ -d "$local" ] && [ -O "$local" ] && [ ! -L "$local" ] || continue
    [ "$local/lock" -ef /dev/fd/9 ] || exec 9>>"$local/lock" || continue
    flock -w "${PINSWEEP_LOCK_S:-90}" 9 || { reason='another job of this sweep still runs on this host'; local=/dev/null; exit 2; }
    [ "$local/lock" -ef /dev/fd/9 ] && break          # else that job has removed it meanwhile, as it may between any two lines here
done
rm -f -- "$local/reason" "$local/is-home"
[ -e "$dir/sweep.json" ] || { reason="$dir is not there: not shared with $host?"; exit 2; }
grep -qF "\\"$host\\"" "$dir/sweep.json" || { reason="$host is no host of this sweep; PINSWEEP_HOST=NAME says what it is called there"; exit 2; }
"""


def job_script(sweep: Sweep) -> str:
    """Return job.sh. Every value of the sweep is quoted, but for --setup, which is shell by intent."""
    lines = [
        "#!/bin/bash",
        *(f"#SBATCH {_sbatch_word(word)}" for word in sbatch_words(sweep)),
        *([f"#SBATCH {' '.join(map(_sbatch_word, sweep.sbatch))}"] if sweep.sbatch else []),
        f"# One host's part of the sweep {sweep.id}: {', '.join(sweep.experiments)}; written by pinsweep {sweep.version}.",
        "# By hand: sbatch -w n7 job.sh; under another scheduler, on the host itself: bash job.sh > log/n7.1 2>&1",
        "",
        f"dir=${{PINSWEEP_DIR:-{shlex.quote(sweep.folder)}}}",
        f"tmp={shlex.quote(sweep.local)}" if sweep.local else "tmp=${TMPDIR:-/tmp}",
        f"name={shlex.quote(f'{sweep.job_name}')}",
        f"python={shlex.quote(sweep.python)}",
        _BODY.strip(),
        f'cd {shlex.quote(sweep.work)} 2>/dev/null || cd "$local" || exit 2',
    ]
    if sweep.setup:
        lines += [
            "",
            "set +u",
            "[ -r /etc/profile ] && . /etc/profile      # where `module` comes from",
            "{",
            *sweep.setup.splitlines(),
            "} || { reason='--setup failed'; exit 2; }",
            "set -u",
        ]
    experiments = " ".join(f'"$dir"/{shlex.quote(name)}' for name in sweep.experiments)
    lines += [
        "",
        "reason='pinsweep ended without a word'",
        f'"$python" -P -m pinsweep run {experiments} -o "$local/$host.db" --home "$dir/$host.db" \\',
        f'    {shlex.join(["--whole-node", *sweep.words])} "$@" || {{',
        "    rc=$?",
        "    case $rc in 130|143) reason='stopped: cancelled, or out of time' ;; esac",
        "    said=$(\"$python\" -P -c 'import pinsweep' 2>&1) || {",
        "        said=${said##*$'\\n'}",
        """        rc=2 reason="no pinsweep on this host (${said#*: line *: }): install it here at this path, or --setup 'python=ITS PYTHON'\"""",
        "    }",
        '    exit "$rc"',
        "}",
    ]
    return "\n".join(lines) + "\n"


def sbatch_words(sweep: Sweep) -> tuple[str, ...]:
    """Return the options that every job has, whoever submits it; the site's own come behind them, and win."""
    limit = (f"--time={sweep.limit_min}",) if sweep.limit_min else ()
    return (
        f"--job-name={sweep.job_name}",
        f"--output={sweep.folder}/log/%N.%j",
        "--nodes=1",
        "--exclusive",
        "--mem=0",
        "--no-requeue",
        *limit,
    )


def _sbatch_word(word: str) -> str:
    """Return a word for a line of `#SBATCH`, which Slurm takes apart by blanks and quotes, and where # begins a comment."""
    return word if all(sign.isalnum() or sign in "-_=/.,:%+@~" for sign in word) else f'"{word}"'
