#!/usr/bin/env bash
# Install what is missing, then tune a server that writes too much for its small redo log and buffer pool: a gain that is there.
# scripts/try-tune.sh [BUILD]: this build; without one the newest MySQL that can be installed.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

[ -x .venv/bin/dialin-load ] || need sysbench sysbench
if [ $# -gt 0 ]; then install_server "$1"; else install_server mysql@9.7 mysql@8.0; fi

case $SERVER in
mysql@5.* | mariadb@*) redo_log=innodb_log_file_size ;;
*) redo_log=innodb_redo_log_capacity ;;
esac

number=1
while [ -e "dialin-tune-$number" ]; do number=$((number + 1)); done
out=dialin-tune-$number

say "tuning $SERVER for about 15 minutes, starting with a small redo log and a small buffer pool"
code=0
.venv/bin/dialin tune $redo_log=16M..1G innodb_buffer_pool_size=16M..512M innodb_io_capacity=200..10000 \
    innodb_io_capacity_max=2000..20000 innodb_flush_neighbors=0,1,2 innodb_log_buffer_size=2M..64M \
    --set $redo_log=16M --set innodb_buffer_pool_size=16M \
    --server "$SERVER" --workload oltp_write_only --threads 8 --tables 4 --table-size 50000 \
    --minutes 15 --yes --out "$out" || code=$?
[ -e "$out/report.html" ] || exit "$code"
[ "$code" -ne 1 ] || say "inconclusive: 15 minutes are too few on this machine; more time: .venv/bin/dialin resume $out --minutes 30"
[ "$code" -le 1 ] || exit "$code"
