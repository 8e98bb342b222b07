#!/usr/bin/env bash
# Install what pinsweep needs and make .venv. Called again, it finds nothing to do.
#
#     scripts/setup.sh           what quickstart.sh needs
#     scripts/setup.sh --dev     and what test.sh needs
#
# System packages come from apt-get or dnf, as root or with sudo, after saying which. Python packages come
# from requirements/*.txt, whose versions and hashes are locked, and go into .venv and nowhere else.
# uv installs them where it is on PATH, else pip.
set -euo pipefail

readonly NEEDED=(python compiler fio numactl hwloc)
readonly WANTED_BY_TESTS=(chromium shellcheck) # where one is not to be had, its tests skip and say so

say() { printf 'setup: %s\n' "$*" >&2; }

fail() { # fail WHAT HINT
    printf 'error: %s\nhint: %s\n' "$1" "$2" >&2
    exit 1
}

# Run a command with its output put aside, shown only where it fails; on a terminal with the seconds that it takes.
quietly() { # quietly COMMAND…
    local log status=0 ticker='' began=$SECONDS
    log=$(mktemp)
    if [[ -t 2 ]]; then
        (while sleep 1 && kill -0 $$; do printf '\rsetup:   %d s ' $((SECONDS - began)) >&2; done) 2>/dev/null &
        ticker=$!
    fi
    "$@" >"$log" 2>&1 || status=$?
    [[ -z $ticker ]] || { kill "$ticker" && printf '\r\033[K' >&2; }
    if ((status)); then
        say "failed (exit status $status); the last lines:"
        tail -n 20 -- "$log" >&2
    else
        say "  done in $((SECONDS - began)) s"
    fi
    rm -f -- "$log"
    return "$status"
}

# ---- system packages -------------------------------------------------------------------------------------

# Is it here, and does it work? Never asked of the package manager: a Python from pyenv does as well as the
# distribution's, and Debian's python3 without python3-venv does not.
have() { # have NEED
    case $1 in
        python) find_python >/dev/null ;;
        compiler) openmp_compiles ;;
        hwloc) runs command -v lstopo-no-graphics lstopo ;;
        chromium) runs command -v chromium-headless-shell chromium chromium-browser google-chrome ;;
        *) runs command -v "$1" ;;
    esac
}

runs() { "$@" >/dev/null 2>&1; }

find_python() {
    local candidate
    for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
        if runs "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

openmp_compiles() {
    local folder compiler found=1
    folder=$(mktemp -d)
    printf '#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n' >"$folder/probe.c"
    for compiler in cc gcc clang; do
        # linked, not started: /tmp may be mounted noexec
        runs "$compiler" -fopenmp -o "$folder/probe" "$folder/probe.c" && found=0 && break
    done
    rm -r -- "$folder"
    return "$found"
}

# What a person would call it.
describe() { # describe NEED
    case $1 in
        python) echo "Python 3.11 or newer with venv" ;;
        compiler) echo "a C compiler with OpenMP" ;;
        hwloc) echo "hwloc's lstopo" ;;
        chromium) echo "chromium, for the tests that draw a page" ;;
        shellcheck) echo "shellcheck, for the test of these scripts" ;;
        *) echo "$1" ;;
    esac
}

# Print the packages that bring a need; nothing where the distribution has none.
packages() { # packages MANAGER PLATFORM NEED
    case "$1 $3 $2" in
        "apt-get python ubuntu:jammy") echo python3.11 python3.11-venv ;;
        "apt-get python debian:bullseye" | "apt-get python ubuntu:focal") ;;
        "apt-get python "*) echo python3 python3-venv ;;
        "apt-get compiler "*) echo gcc libc6-dev ;;
        "apt-get hwloc "*) echo hwloc-nox ;;
        "apt-get chromium debian:bullseye") echo chromium ;;
        "apt-get chromium debian:"*) echo chromium-headless-shell ;;
        "apt-get chromium "*) ;; # Ubuntu's is a snap
        "dnf python platform:el8" | "dnf python platform:el9") echo python3.12 ;;
        "dnf python platform:al2023") echo python3.11 ;;
        "dnf python "*) echo python3 ;;
        "dnf compiler "*) echo gcc ;;
        "dnf chromium platform:f"*) echo chromium ;;
        "dnf shellcheck platform:f"*) echo ShellCheck ;;
        "dnf chromium "* | "dnf shellcheck "*) ;;
        *) echo "$3" ;;
    esac
}

# Print what decides the names of packages: debian:bookworm, ubuntu:jammy (Mint's too), platform:el9, platform:f43.
platform() (
    ID=unknown VERSION_CODENAME='' UBUNTU_CODENAME='' PLATFORM_ID=''
    # shellcheck source=/dev/null
    [[ ! -r /etc/os-release ]] || . /etc/os-release
    [[ -z $UBUNTU_CODENAME ]] || ID=ubuntu VERSION_CODENAME=$UBUNTU_CODENAME
    echo "${PLATFORM_ID:-$ID:$VERSION_CODENAME}"
)

package_manager() {
    local manager
    for manager in apt-get dnf; do
        ! runs command -v "$manager" || break
        manager=''
    done
    echo "$manager"
}

# Print the one command line that installs packages: what is shown is what runs.
install_command() { # install_command MANAGER PACKAGE…
    local manager=$1
    shift
    case $manager in
        # update may fail for a repository that has nothing to do with us; install then says what it could not find
        apt-get) echo "apt-get -qq update; DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends $*" ;;
        dnf) echo "dnf --quiet --assumeyes --setopt=install_weak_deps=False install $*" ;;
    esac
}

install_missing() { # install_missing NEED…
    local need missing=() wanted=() told=() manager names command
    for need in "$@"; do
        have "$need" || missing+=("$need")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0

    manager=$(package_manager)
    for need in "${missing[@]}"; do
        names=''
        [[ -z $manager ]] || names=$(packages "$manager" "$(platform)" "$need")
        [[ -z $names ]] || wanted+=("$names")
        told+=("$(describe "$need")")
        [[ -n $names ]] || told[-1]+=' (no package known here)'
    done
    say "missing: $(join '; ' "${told[@]}")"
    [[ ${#wanted[@]} -gt 0 ]] || return 0
    command=$(install_command "$manager" "${wanted[@]}")

    if [[ $(id -u) == 0 ]]; then
        say "installing (0.5 to 3 minutes): $command"
        quietly sh -c "$command" || true # what is missing then is said below
    elif command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
        say "installing (0.5 to 3 minutes): sudo sh -c '$command'"
        quietly sudo sh -c "$command" || true
    else
        say "cannot install: not root, and no sudo. Run this as root and start again:"
        printf '    %s\n' "$command" >&2
    fi
}

system_packages() { # system_packages NEED_OF_TESTS…
    local need missing=()
    install_missing "${NEEDED[@]}" "$@"
    for need in "${NEEDED[@]}"; do
        have "$need" || missing+=("$(describe "$need")")
    done
    [[ ${#missing[@]} -eq 0 ]] ||
        fail "cannot go on without $(join ', ' "${missing[@]}")" \
            "see above for packages; a newer Python without root: uv python install 3.12"
}

join() { # join SEPARATOR WORD…
    local separator=$1 out=$2
    shift 2
    printf '%s' "$out" "${@/#/$separator}"
}

# ---- .venv -----------------------------------------------------------------------------------------------

# What .venv was made from: its level, this folder (scripts in a .venv hold its absolute path), its Python, the locks.
stamp() { # stamp LEVEL
    printf '%s\n%s\n' "$1" "$PWD"
    {
        .venv/bin/python --version
        cat pyproject.toml requirements/*.txt scripts/setup.sh
    } 2>&1 | sha256sum
}

up_to_date() { # up_to_date LEVEL
    local seen
    [[ -x .venv/bin/python && -r .venv/set-up ]] || return 1
    seen=$(<.venv/set-up)
    [[ $seen == "$(stamp "$1")" || $seen == "$(stamp dev)" ]] # dev holds everything of base
}

usable() { # can .venv be kept and brought up to date?
    runs .venv/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' &&
        { [[ ! -r .venv/set-up ]] || [[ $(sed -n 2p .venv/set-up) == "$PWD" ]]; }
}

environment() { # environment LEVEL
    local python pip fetched=320
    ! up_to_date "$1" || return 0
    [[ $1 != dev ]] || fetched=430
    if ! usable; then
        python=$(find_python)
        say "making .venv with $("$python" --version) ($python)"
        quietly "$python" -m venv --clear .venv
    fi
    pip=(.venv/bin/python -m pip install --disable-pip-version-check --no-input)
    ! runs uv --version || pip=(uv pip install --python .venv/bin/python)
    say "installing requirements/$1.txt in .venv (download of $fetched MB, 1 to 3 minutes the first time)"
    rm -f .venv/set-up
    quietly "${pip[@]}" --require-hashes -r "requirements/$1.txt"
    say "installing pinsweep from this folder"
    quietly "${pip[@]}" --no-deps --no-build-isolation --editable .
    stamp "$1" >.venv/set-up
}

main() {
    local level=base wanted=()
    case $* in
        '') ;;
        --dev) level=dev wanted=("${WANTED_BY_TESTS[@]}") ;;
        *)
            sed -n '2,9s/^# \{0,1\}//p' scripts/setup.sh
            [[ $* == --help || $* == -h ]] || exit 2
            exit
            ;;
    esac
    system_packages "${wanted[@]}"
    environment "$level"
}

if [[ ${BASH_SOURCE[0]} == "$0" ]]; then # tests source this file and call its functions
    CDPATH='' cd -- "$(dirname -- "$0")/.."
    main "$@"
fi
