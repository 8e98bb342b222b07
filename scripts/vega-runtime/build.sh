#!/usr/bin/env bash
# Remake reports/vendor/vega.js, the part of Vega that makes the report's charts answer. Needs npm.
#     scripts/vega-runtime/build.sh
# What goes in is locked by package-lock.json (versions and checksums, no addresses); a newer Vega: edit
# package.json, npm install --package-lock-only, build, and run tests/reports/page/test_browser.py.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
readonly OUT=../../reports/vendor

work=$(mktemp -d)
trap 'rm -r -- "$work"' EXIT
cp -- package.json package-lock.json entry.mjs licences.mjs .npmrc "$work"
mkdir -p "$OUT"
(
    cd -- "$work"
    npm ci --no-audit --no-fund --silent
    npx --no-install esbuild entry.mjs --bundle --minify --format=iife --target=es2022 --charset=utf8 \
        --legal-comments=none --log-level=warning --metafile=meta.json --outfile=code.js
    node licences.mjs meta.json >licences.txt
    {
        printf '/*! Vega, with what it needs of d3: this comment names the packages and their licences.\n\n'
        cat licences.txt
        printf '*/\n'
        cat code.js
    } >vega.js
)
cp -- "$work/vega.js" "$OUT/vega.js"
cp -- "$work/licences.txt" "$OUT/LICENSES.txt"
wc -c "$OUT/vega.js" >&2
