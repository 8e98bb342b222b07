#!/usr/bin/env bash
# Random reads of 4 KiB by queue depth, on CPU 0, with bench-fio; a chart of each repeat and one of all, with fio-plot.
set -euo pipefail
for repeat in 1 2 3; do
  bench-fio --target "${1:-/var/tmp/peers.dat}" --type file --size 256M --output "out/$repeat" --mode randread --block-size 4k \
    --iodepth 1 4 16 --numjobs 1 --runtime 2 --time-based --engine libaio --extra-opts cpus_allowed=0
  fio-plot -i "out/$repeat"/*/4k -T "Random reads, repeat $repeat" -l -r randread -o "repeat-$repeat.png"
done
