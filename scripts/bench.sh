#!/usr/bin/env bash
# Run each benchmark; every file of benchmarks/ prints what BENCHMARKS.md reports of it.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

shopt -s nullglob
files=(benchmarks/*.py)
[ ${#files[@]} -gt 0 ] || fail "there are no benchmarks yet"
need sysbench sysbench
install_server mysql@9.7 mysql@8.0 mariadb@10.11
for file in "${files[@]}"; do
    say "$file"
    DIALIN_TEST_SERVER=$SERVER .venv/bin/python "$file"
done
