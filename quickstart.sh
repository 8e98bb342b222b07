#!/usr/bin/env bash
# From a clean clone to a report about this machine: install, measure for three minutes (five on a busy machine),
# write the page.
#
#     ./quickstart.sh
#
# scripts/setup.sh installs the packages and prints the list first. The result goes to results/, one file for each
# host and day. On the same day, the command continues this file.
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
echo "again   ./quickstart.sh continues this file today; rename the file to start over"
echo "To use pinsweep in this shell:"
echo "        cd ${PWD@Q} && . .venv/bin/activate"
exit "$status"
