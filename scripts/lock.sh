#!/usr/bin/env bash
# Remake the locked requirements from pyproject.toml: versions and hashes, no addresses. Needs uv.
#     scripts/lock.sh               keep what is locked, add and remove what pyproject.toml asks
#     scripts/lock.sh --upgrade     take the newest versions
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lock() { # lock OUTPUT ARGUMENT…
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --custom-compile-command scripts/lock.sh --all-extras --group build --output-file "$@" pyproject.toml
}

lock requirements/base.txt "$@"
lock requirements/dev.txt --group dev --constraints requirements/base.txt "$@"
