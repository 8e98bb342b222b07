#!/usr/bin/env bash
# Measure the five reports of docs/seeds on this machine and write each anew, as Markdown with its figures.
#
#     scripts/seeds.sh SCRATCH [FOLDER]     SCRATCH: a folder on the disk to be measured, with 20 GB; FOLDER: docs/seeds, if not given
#
# About half an hour, and only on a quiet machine (`pinsweep doctor`): disturbed runs are repeated, and give no number in the end. The
# result files stay in SCRATCH; started again, it goes on with them.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

if (($# < 1)) || [[ $1 == -* ]]; then
    sed -n '2,7s/^# \{0,1\}//p' scripts/seeds.sh
    [[ $* == --help || $* == -h ]] || exit 2
    exit
fi
mkdir -p -- "$1"
scratch=$(CDPATH='' cd -- "$1" && pwd)
out=${2:-docs/seeds}
pinsweep=.venv/bin/pinsweep
cache=${XDG_CACHE_HOME:-$HOME/.cache}

measure() { # measure NUMBER EXPERIMENT…: the report, without the names of folders of this machine
    local number=$1 status=0
    shift
    "$pinsweep" run "$@" -o "$scratch/$number.db" --scratch "$scratch" || status=$?
    ((status <= 1)) || exit "$status" # 1: a run failed, which the report names
    "$pinsweep" report "$scratch/$number.db" --lab "$scratch/$number"
    mkdir -p -- "$out/$number/figures"
    rm -f -- "$out/$number/figures/"*.svg
    cp -- "$scratch/$number/figures/"*.svg "$out/$number/figures/"
    sed -e "s#$PWD/.venv#/opt/pinsweep#g; s#$cache#/opt/pinsweep-cache#g; s#$scratch#/scratch#g" \
        -e 's#\(figures/[A-Za-z0-9@+_.-]*\)\.png#\1.svg#g' -e 's#\[\([^]]*\.csv\)\](tables/[^)]*)#tables/\1#' "$scratch/$number/report.md" >"$out/$number/report.md"
}

measure 000 docs/seeds/000.yaml
measure 001 docs/seeds/001.yaml
measure 002 experiments/histograms.yaml experiments/latency-tails.yaml --only timer --only multiply-add --only sine --only reads --only window
measure 003 experiments/stream-membind.yaml experiments/imb-pingpong.yaml
measure 004 docs/seeds/004.yaml
