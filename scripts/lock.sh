#!/usr/bin/env bash
# Remake the locked requirements from pyproject.toml: versions and hashes, no addresses. Needs uv.
#     scripts/lock.sh               keep what is locked, add and remove what pyproject.toml asks
#     scripts/lock.sh --upgrade     take the newest versions
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

lock() { # lock OUTPUT ARGUMENT…
    # one version for every Python: Ubuntu 22.04's 3.11.0rc1 fits neither side of python_full_version < '3.12'
    uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest \
        --generate-hashes --no-emit-index-url --custom-compile-command scripts/lock.sh \
        --all-extras --group build --output-file "$@" pyproject.toml
}

lock requirements/base.txt "$@"
# what only measures: the few of these that `run`, `show`, `export` … import
uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
    --custom-compile-command scripts/lock.sh --constraints requirements/base.txt \
    --output-file requirements/node.txt requirements/node.in
lock requirements/dev.txt --group dev --constraints requirements/base.txt "$@"
