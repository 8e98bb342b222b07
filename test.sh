#!/usr/bin/env bash
# Set up as quickstart.sh does, with what the tests need on top, then check and test.
#
#     ./test.sh                  format, lint, types, imports, and every test that is not slow
#     ./test.sh --slow           and the slow ones, which run real tools for more than a few seconds
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
scripts/check.sh
.venv/bin/pytest -n "$workers" --dist loadfile -m "$marks" "$@" # a file's tests share what is dear to build
