#!/usr/bin/env bash
# From a clean clone to a report about this machine: set up, measure for three minutes (five where others
# disturb, and runs are repeated), write the page.
#
#     ./quickstart.sh
#
# What it installs, and how, is in scripts/setup.sh; it says so before it does. The result goes to results/, one
# file for each host and day: started again on the same day it goes on where it was, and measures nothing twice.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

if (($#)); then
    sed -n '2,8s/^# \{0,1\}//p' quickstart.sh
    [[ $* == --help || $* == -h ]] || exit 2
    exit
fi

scripts/setup.sh

mkdir -p results
name="results/quickstart@$(uname -n)-$(date -u +%Y%m%d)"
status=0
PINSWEEP_NO_NEXT=1 .venv/bin/pinsweep run experiments/quickstart.yaml -o "$name.db" || status=$?
# 1: a run failed; the others are worth a report, which names the one that failed
((status <= 1)) || exit "$status"
.venv/bin/pinsweep report "$name.db" -o "$name.html"

echo
echo "result  $PWD/$name.db"
echo "report  $PWD/$name.html"
echo "again   runs what is still missing, today; to measure anew, move the result file away first"
echo "so that your shell knows the commands above:"
echo "        cd ${PWD@Q} && . .venv/bin/activate"
exit "$status"
