#!/usr/bin/env bash
# Format, lint, types, the direction of imports: what test.sh and the commit hook run.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

.venv/bin/ruff format --check --quiet .
.venv/bin/ruff check --quiet .
.venv/bin/mypy
.venv/bin/lint-imports --no-logo
