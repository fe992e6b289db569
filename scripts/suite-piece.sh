#!/usr/bin/env bash
# Run a piece of a long suite on real servers, and pack it: scripts/suite-piece.sh mysql|mariadb|aa|hash-index MINUTES
# The first piece begins the suite; each further one, here or on another machine of the same size, unpacks what there is and resumes
# it, until it has its result. The end of a piece costs the trial under way; a piece that was killed is resumed here, too.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

name=${1:?which suite: mysql, mariadb, aa or hash-index} minutes=${2:?how many minutes}
archive=$PWD/docs/example/suite-$name.tar.xz runs=$PWD/published-runs out=$PWD/published-runs/suite-$name
common=(--suite sysbench --measure 20 --minutes 240 --out "$out" --yes)
case $name in
mysql) builds=(mysql@8.0 mysql@9.7) command=(compare --server mysql@8.0 --server mysql@9.7 "${common[@]}") ;;
mariadb) builds=(mariadb@10.11 mariadb@11.4) command=(compare --server mariadb@10.11 --server mariadb@11.4 "${common[@]}") ;;
aa) builds=(mysql@9.7) command=(sweep max_connect_errors=100,101 --server mysql@9.7 "${common[@]}") ;; # no client fails to connect
hash-index) builds=(mysql@9.7) command=(sweep innodb_adaptive_hash_index=OFF,ON --server mysql@9.7 "${common[@]}") ;;
*) fail "no suite is called $name" ;;
esac
mkdir -p "$runs"
exec 9>"$runs/lock"
flock -n 9 || fail "another piece runs: two at once would disturb each other"
if [ -e "$archive" ] && { [ ! -e "$out" ] || [ -z "$(find "$out" -type f -newer "$archive" -print -quit)" ]; }; then
    [ ! -e "$out" ] || mv --backup=numbered "$out" "$out.old" # the archive is of a later piece, on another machine
    tar -xJf "$archive" -C "$runs"
fi
[ ! -e "$out/suite.json" ] || command=(resume "$out")
for build in "${builds[@]}"; do install_server "$build"; done

code=0
# A job in the background ignores SIGINT, and dialin alone ends what it has started.
timeout --foreground --preserve-status --signal TERM "${minutes}m" .venv/bin/dialin "${command[@]}" 9>&- || code=$?
[ -e "$out/suite.json" ] || exit "$code"
dialin report "$out" >/dev/null || true
tar -C "$runs" --exclude evidence --exclude '*.html' --exclude '*-shm' --exclude '*.lock' \
    -cJf "$archive.new" "suite-$name"
mv "$archive.new" "$archive"
touch "$out/suite.json" # what is here is as new as the archive
say "packed $archive ($(stat -c %s "$archive") bytes); exit code $code: 0 and 1 have a result, 130 asks for another piece"
exit "$code"
