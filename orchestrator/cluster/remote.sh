# What pinsweep asks of a host by ssh. The variables before it: local, id, folder, host, python, apart, number, known.
# A host that does not see the sweep's folder has its part of it in "$home", with files of the same names.

home="$local.home"

look() {
    if pidof slurmd >/dev/null 2>&1; then echo slurmd; return; fi
    if [ -e "$local/lock" ] && ! flock -n "$local/lock" true; then echo runs; else echo free; fi
    if grep -qs "$id" "$folder/sweep.json"; then echo shared; else echo apart; fi
    if command -v "$python" >/dev/null; then echo python; else echo none; fi
    if [ -d "$home" ]; then echo stored; else echo nothing; fi
    LC_ALL=C lscpu 2>/dev/null | awk -F: '/^ *Socket.s.:/ {s=$2} /^ *Core.s. per/ {c=$2} /^ *Thread.s. per/ {t=$2} END {print s+0 ":" c+0 ":" t+0}'
}

make_folder() {              # nobody else can have put it there
    mkdir -m 700 -- "$1" 2>/dev/null
    [ -d "$1" ] && [ -O "$1" ] && [ ! -L "$1" ] || { echo "cannot make $1"; exit 9; }
}

take_lock() {
    make_folder "$local"
    exec 9>>"$local/lock" || exit 9
    flock -w 2 9 || { echo runs; exit 0; }
}

start() {                    # with the options of `pinsweep run`; the job inherits the lock, so somebody always holds it
    take_lock
    if [ "$apart" ]; then
        make_folder "$home"
        mkdir -p -- "$home/log" && tar -xzf - --skip-old-files -C "$home" || { echo "cannot unpack into $home"; exit 9; }
        export PINSWEEP_DIR="$home"
        folder=$home
    fi
    log="$folder/log/$host.$number"
    PINSWEEP_HOST="$host" setsid nohup bash "$folder/job.sh" "$@" </dev/null >"$log" 2>&1 &
    sleep 0.2
    [ -s "$log" ] || kill -0 $! || exit 8
    echo started
}

results_digest() {
    sum=$(sha256sum 2>/dev/null < "$home/$host.db") || sum=none
    echo "${sum%% *}"
}

fetch() {                    # new results and the newest logs
    [ -d "$home" ] && [ -O "$home" ] && cd "$home" || exit 0
    sum=$(results_digest)
    echo "results $sum"
    if [ "$sum" != none ] && [ "$sum" != "$known" ]; then gzip -c "$host.db" | base64 -w 60000; fi
    for log in $(ls -t log | head -n 20); do
        echo "log ${log##*.}"
        tail -c 65536 "log/$log" | gzip -c | base64 -w 60000
    done
    echo end
}

clean() {                    # remove what was fetched, unless a job runs or the results are newer
    take_lock
    if [ "$(results_digest)" = "$known" ]; then rm -rf -- "$home"; fi
    rm -f -- "$local/lock"
    rmdir -- "$local" 2>/dev/null
    exit 0
}
