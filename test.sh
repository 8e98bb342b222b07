#!/usr/bin/env bash
# Set up as quickstart.sh does, with what the tests need on top, then check and test.
#
#     ./test.sh                  format, lint, types, imports, and every test that is not slow
#     ./test.sh --slow           and the slow ones: seconds of real tools, many examples, pages of every kind
#     ./test.sh -k fio -x        further arguments go to pytest
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"

marks='not slow'
if [[ ${1:-} == --slow ]]; then
    marks=''
    shift
fi

unset PYTHONDONTWRITEBYTECODE # hundreds of tests start pinsweep

cpus=$(nproc)
workers=$((cpus < 4 ? 2 * cpus : cpus)) # half of the time a test waits for what it started

scripts/setup.sh --dev

checked=$(mktemp)
scripts/check.sh >"$checked" 2>&1 & # beside the start of the tests, which leaves CPUs idle
checks=$!
trap 'kill "$checks" 2>/dev/null || true; rm -f -- "$checked"' EXIT
status=0
.venv/bin/pytest -n "$workers" --dist loadfile --no-loadscope-reorder -m "$marks" "$@" || status=$? # a file's tests share what is dear to build
wait "$checks" || status=$?
cat -- "$checked"
exit "$status"
