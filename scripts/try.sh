#!/usr/bin/env bash
# Install what is missing, then ask a question whose answer is large: how much faster are writes that a crash may lose?
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

[ -x .venv/bin/dialin-load ] || need sysbench sysbench
install_server mysql@9.7 mysql@8.0 mariadb@10.11

number=1
while [ -e "dialin-try-$number" ]; do number=$((number + 1)); done
out=dialin-try-$number

say "running a study of about 4 minutes on $SERVER"
code=0
.venv/bin/dialin sweep innodb_flush_log_at_trx_commit=1,2 \
    --server "$SERVER" --set sync_binlog=0 --workload oltp_update_non_index --threads 4 --tables 2 --table-size 20000 \
    --minutes 4 --yes --out "$out" || code=$?
[ -e "$out/report.html" ] || exit "$code"
say "the report is $PWD/$out/report.html"
[ "$code" -ne 1 ] || say "inconclusive: 4 minutes are too few to detect the difference on this machine; more time: .venv/bin/dialin resume $out --minutes 10"
[ "$code" -le 1 ] || exit "$code"
