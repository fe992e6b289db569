#!/usr/bin/env bash
# Install Ray and a server where they are missing, start a cluster of three nodes on this machine, run two studies there, and
# remove a node in the middle of a trial.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

[ -x .venv/bin/dialin-load ] || need sysbench sysbench
install_server mysql@9.7 mysql@8.0
if ! .venv/bin/python -c 'import ray' 2>/dev/null; then
    find_uv
    say "installing Ray (284 MB)"
    "$UV" pip install --quiet --python .venv/bin/python --require-hashes --requirement requirements-fleet.lock
fi

number=1
while [ -e "dialin-fleet-$number" ]; do number=$((number + 1)); done
out=dialin-fleet-$number

# Ray's token, for this cluster alone: whoever reaches a cluster without one can run programs on its nodes.
RAY_AUTH_TOKEN_PATH=$(mktemp)
trap 'rm -f "$RAY_AUTH_TOKEN_PATH"' EXIT
od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$RAY_AUTH_TOKEN_PATH"
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH
# Ray's switch for machines that are no part of a larger cluster, whatever their system: all that it starts listens on loopback.
export RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0

code=0
SERVER=$SERVER OUT=$out .venv/bin/python scripts/three_nodes.py || code=$?
[ -e "$out/report.html" ] || exit "$code"
[ "$code" -le 1 ] || exit "$code"
