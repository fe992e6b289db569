#!/usr/bin/env bash
# Install what is missing, then ask a question whose answer is a line to set: is the default buffer pool large enough for these tables?
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

[ -x .venv/bin/dialin-load ] || need sysbench sysbench
install_server mysql@9.7 mysql@8.0 mariadb@10.11

number=1
while [ -e "dialin-try-$number" ]; do number=$((number + 1)); done
out=dialin-try-$number

say "running a study of about 4 minutes on $SERVER"
code=0
.venv/bin/dialin sweep innodb_buffer_pool_size=128M,512M \
    --server "$SERVER" --workload oltp_point_select --threads 4 --tables 4 --table-size 300000 --rand-type uniform \
    --minutes 4 --yes --out "$out" || code=$?
[ -e "$out/report.html" ] || exit "$code"
[ "$code" -ne 1 ] || say "inconclusive: 4 minutes are too few to detect the difference on this machine; more time: .venv/bin/dialin resume $out --minutes 10"
[ "$code" -le 1 ] || exit "$code"
