#!/usr/bin/env bash
# Install what is missing, then ask a question whose answer is large: how much faster are writes that a crash may lose?
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

need sysbench sysbench
install_server mysql@9.7 mysql@8.0 mariadb@10.11

number=1
while [ -e "dialin-try-$number" ]; do number=$((number + 1)); done
out=dialin-try-$number

say "running a study of about 3 minutes on $SERVER"
code=0
.venv/bin/dialin sweep innodb_flush_log_at_trx_commit=1,2 \
    --server "$SERVER" --workload oltp_write_only --threads 8 --tables 2 --table-size 20000 \
    --minutes 3 --yes --out "$out" || code=$?
[ ! -e "$out/report.html" ] || say "the report is $PWD/$out/report.html"
exit "$code"
