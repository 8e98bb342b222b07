#!/usr/bin/env bash
# Follow docs/tutorial.md word for word in a Debian that has nothing but git, and keep all that it prints, with its minutes.
#
#     scripts/newcomer.sh FOLDER [SUITE]     as root, with debootstrap; SUITE: bookworm (default), trixie …
#
# FOLDER gets root/ (1.7 GB; kept, with the packages that set-up installs) and transcript.txt. What stands committed here is cloned.
# Takes five to ten minutes, and no test runs it. On a machine that is not quiet: PINSWEEP_ALLOW_DISTURBED=1.
# Exit status: 0 if each command did what the tutorial shows.
set -euo pipefail
CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

if (($# < 1)) || [[ $1 == -* ]]; then
    sed -n '2,8s/^# \{0,1\}//p' scripts/newcomer.sh
    [[ $* == --help || $* == -h ]] || exit 2
    exit
fi

follow() { # as the newcomer, in the clone; then by the transcripts that the tests follow, but in this shell's environment
    local began=$SECONDS
    # shellcheck source=/dev/null
    . /etc/os-release
    echo "# $PRETTY_NAME, $(nproc) PUs, $(git log -1 --format='pinsweep at %h')"
    echo '$ scripts/setup.sh'
    scripts/setup.sh
    printf '# %d s\n\n' $((SECONDS - began))
    # shellcheck source=/dev/null
    . .venv/bin/activate
    PYTHONPATH=. python - docs/tutorial.md <<'PY'
import subprocess, sys, time
from pathlib import Path
from tests.docs.transcripts import lacking, steps

wrong, began = 0, time.monotonic()
for step in steps(Path(sys.argv[1])):
    if step.file:
        print(f"# {step.file} is written\n", flush=True)
        Path(step.file).write_text(step.text)
        continue
    print(f"$ {step.command}", flush=True)
    start = time.monotonic()
    done = subprocess.run(["bash", "-c", step.command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    missing = lacking(done.stdout.splitlines(), step.printed)
    print(f"{done.stdout}# {time.monotonic() - start:.0f} s, exit status {done.returncode}")
    if done.returncode or missing is not None:
        wrong += 1
        print(f"# NOT AS THE TUTORIAL SAYS: {missing or 'its exit status'}")
    print(flush=True)
print(f"# after set-up {time.monotonic() - began:.0f} s; {wrong} commands did not do what the tutorial shows")
sys.exit(bool(wrong))
PY
}

if [[ $1 == .follow ]]; then
    follow
    exit
fi

mkdir -p -- "$1"
folder=$(CDPATH='' cd -- "$1" && pwd)
root=$folder/root
[[ -d $root/etc/apt ]] || debootstrap --variant=minbase --include=ca-certificates,git "${2:-bookworm}" "$root"
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do # this host's way to the mirrors
    [[ ! -e $file ]] || install -D -m 644 -- "$file" "$root$file"
done
mounted=()
trap 'for at in "${mounted[@]}"; do umount -l "$root/$at"; done' EXIT
for at in proc sys dev; do
    mount --bind "/$at" "$root/$at"
    mounted=("$at" "${mounted[@]}")
done

home=/root
rm -rf -- "$root$home/pinsweep"
git clone --quiet --no-hardlinks . "$root$home/pinsweep"
chroot "$root" /usr/bin/env -i HOME="$home" LANG=C.UTF-8 TERM=dumb PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    ${PINSWEEP_ALLOW_DISTURBED:+"PINSWEEP_ALLOW_DISTURBED=$PINSWEEP_ALLOW_DISTURBED"} \
    "$home/pinsweep/scripts/newcomer.sh" .follow 2>&1 | tee -- "$folder/transcript.txt"
