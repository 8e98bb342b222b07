#!/usr/bin/env bash
# Build the documentation as a site, from the committed pages alone; a warning is an error.
#     scripts/site.sh [FOLDER]      writes FOLDER/index.html (site/, if not given)
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

out=${1:-site}
.venv/bin/sphinx-build -q -W --keep-going -b html -c docs . "$out"
# no link to that file: its links and styles are beside it, not here
rm -f -- "$out/index.html"
echo '<!doctype html><meta charset="utf-8"><title>pinsweep</title><meta http-equiv="refresh" content="0; url=docs/index.html">' >"$out/index.html"
echo "$out/index.html"
