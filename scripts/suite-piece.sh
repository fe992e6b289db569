#!/usr/bin/env bash
# Run a piece of a long suite on real servers, and pack it: scripts/suite-piece.sh mysql|mariadb|aa|hash-index MINUTES
# The first piece begins the suite; each further one, here or on another machine of the same size, unpacks what there is and resumes
# it, until it has its result. The end of a piece costs the trial under way.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

name=${1:?which suite: mysql, mariadb, aa or hash-index} minutes=${2:?how many minutes}
archive=$PWD/docs/example/suite-$name.tar.xz runs=$PWD/published-runs out=$PWD/published-runs/suite-$name
mkdir -p "$runs"
if [ ! -e "$out" ] && [ -e "$archive" ]; then tar -xJf "$archive" -C "$runs"; fi
if [ -e "$out/suite.json" ]; then
    command=(resume "$out")
else
    common=(--suite sysbench --measure 20 --minutes 240 --out "$out" --yes)
    case $name in
    mysql) command=(compare --server mysql@8.0 --server mysql@9.7 "${common[@]}") ;;
    mariadb) command=(compare --server mariadb@10.11 --server mariadb@11.4 "${common[@]}") ;;
    aa) command=(sweep max_connect_errors=100,101 --server mysql@9.7 "${common[@]}") ;; # no client fails to connect
    hash-index) command=(sweep innodb_adaptive_hash_index=OFF,ON --server mysql@9.7 "${common[@]}") ;;
    *) fail "no suite is called $name" ;;
    esac
fi
code=0
timeout --preserve-status --signal INT "${minutes}m" .venv/bin/dialin "${command[@]}" || code=$?
[ -e "$out/suite.json" ] || exit "$code"
dialin report "$out" >/dev/null || true
tar -C "$runs" --exclude evidence --exclude '*.html' --exclude '*-shm' --exclude '*.lock' \
    -cJf "$archive.new" "suite-$name"
mv "$archive.new" "$archive"
say "packed $archive ($(stat -c %s "$archive") bytes); exit code $code: 0 and 1 have a result, 130 asks for another piece"
exit "$code"
