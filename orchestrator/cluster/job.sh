host=${PINSWEEP_HOST:-${SLURMD_NODENAME:-$(hostname -s)}}
local=$tmp/$name-$host       # results and scratch files while it runs; stays if the results were not sent
set -u
reason='ended before pinsweep began'

finish() {                   # the last line of the log; a host that died has none
    rc=$?
    trap - EXIT
    if [ -s "$local/reason" ]; then read -r reason < "$local/reason"; fi
    [ "$rc" = 0 ] && reason=complete
    if [ -e "$local/is-home" ]; then
        rm -rf -- "$local.gone"
        mv -T -- "$local" "$local.gone" && rm -rf -- "$local.gone"
    else
        rm -f -- "$local/reason" "$local/lock"
        rmdir -- "$local" 2>/dev/null
    fi
    echo "rc=$rc $reason"
    exit "$rc"
}
trap finish EXIT
trap : TERM INT HUP          # pinsweep gets them too, and ends its tool

echo "$host $(date -u +%Y-%m-%dT%H:%M:%SZ) pid $$"
for try in 1 2 3 none; do    # one job of a host at a time, even if Slurm has lost sight of one that still runs
    if [ "$try" = none ]; then reason="cannot make $local"; local=/dev/null; exit 2; fi
    mkdir -m 700 -- "$local" 2>/dev/null
    [ -d "$local" ] && [ -O "$local" ] && [ ! -L "$local" ] || continue
    [ "$local/lock" -ef /dev/fd/9 ] || exec 9>>"$local/lock" || continue
    flock -w "${PINSWEEP_LOCK_S:-90}" 9 || { reason='another job of this sweep still runs on this host'; local=/dev/null; exit 2; }
    [ "$local/lock" -ef /dev/fd/9 ] && break          # else the other job has just removed the folder
done
rm -f -- "$local/reason" "$local/is-home"
[ -e "$dir/sweep.json" ] || { reason="$dir does not exist: not shared with $host?"; exit 2; }
grep -qF "\"$host\"" "$dir/sweep.json" || { reason="$host is not a host of this sweep: set PINSWEEP_HOST to its name there"; exit 2; }
cd "$work" 2>/dev/null || cd "$local" || exit 2

#SETUP
reason='pinsweep ended without a reason'
"$python" -P -m pinsweep run "${experiments[@]}" -o "$local/$host.db" --home "$dir/$host.db" \
    "${options[@]}" "$@" || {
    rc=$?
    case $rc in 130|143) reason='stopped: cancelled, or out of time' ;; esac
    error=$("$python" -P -c 'import pinsweep' 2>&1) || {
        error=${error##*$'\n'}
        rc=2 reason="no pinsweep on this host (${error#*: line *: }): install it here at this path, or --setup 'python=ITS PYTHON'"
    }
    exit "$rc"
}
