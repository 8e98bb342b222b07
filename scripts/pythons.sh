#!/usr/bin/env bash
# Run the tests under each Python that pinsweep is for and that is here: found on PATH, by pyenv, or by uv.
#
#     scripts/pythons.sh [PYTEST ARGUMENT…]     as `scripts/pythons.sh tests/parsers`; without any, all that is not slow
#
# Each gets a .venv of its own below .venv/pythons, of the locked packages (1 GB each). At the end a line for each version, those that
# were not to be had among them. Exit status: 0 if all that were found pass.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

readonly VERSIONS=(3.11 3.12 3.13 3.14)

if [[ ${1:-} == --help || ${1:-} == -h ]]; then
    sed -n '2,7s/^# \{0,1\}//p' scripts/pythons.sh
    exit
fi

runs() { "$@" >/dev/null 2>&1; }

find_python() { # find_python VERSION: print its path
    local candidate
    for candidate in "python$1" "$(pyenv prefix "$(pyenv latest "$1" 2>/dev/null)" 2>/dev/null)/bin/python" "$(uv python find "$1" 2>/dev/null)"; do
        if runs "$candidate" -c "import ensurepip, sys; sys.exit('.'.join(map(str, sys.version_info[:2])) != '$1')"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

unset PYTHONDONTWRITEBYTECODE
told=() status=0
for version in "${VERSIONS[@]}"; do
    if ! python=$(find_python "$version"); then
        told+=("$version  not here")
        continue
    fi
    venv=$PWD/.venv/pythons/$version
    if ! cmp -s requirements/dev.txt "$venv/requirements"; then
        "$python" -m venv --clear "$venv"
        "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
        "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
        cp requirements/dev.txt "$venv/requirements"
    fi
    log=$venv/tests.log result=0
    echo "$version  $("$venv/bin/python" -c 'import platform; print(platform.python_version())') ($python)  …  $log" >&2
    PATH=$venv/bin:$PATH "$venv/bin/pytest" -q -n 2 --dist loadfile -m 'not slow' "$@" >"$log" 2>&1 || result=$?
    told+=("$version  $(tail -n 1 -- "$log")")
    ((result == 0)) || status=1
done
printf '%s\n' "${told[@]}"
exit "$status"
