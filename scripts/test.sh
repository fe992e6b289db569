#!/usr/bin/env bash
# Run the tests: first those that need nothing, then those on real servers, with what they need; each part prints its ten slowest.
# `all` uses every build.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# Tests start dialin hundreds of times: its compiled modules are cached.
unset PYTHONDONTWRITEBYTECODE
export PYTEST_ADDOPTS="--durations=10"

if [ "${1:-}" = all ]; then
    export DIALIN_TEST_ALL=1
    others=$(.venv/bin/python -c 'from dialin.servers.install.installable import INSTALLABLE; print(*(row.reference for row in INSTALLABLE))')
else
    others="mysql@5.6 mariadb@10.11"
fi

bring_servers() { # installs what is missing; most tests use SERVER, DIALIN_TEST_BUILDS are all
    local build
    install_server mysql@9.7 mysql@8.0 mariadb@10.11
    DIALIN_TEST_BUILDS=$SERVER
    for build in $others; do
        if [ "$build" = "$SERVER" ]; then continue; fi
        if .venv/bin/dialin servers install "$build"; then
            DIALIN_TEST_BUILDS="$DIALIN_TEST_BUILDS $build"
        else
            say "$build cannot be installed on this machine: its tests are skipped"
        fi
    done
}

say "tests without servers, and those of the load driver"
# Servers are downloaded meanwhile; an error is printed by the second call of bring_servers, below.
bring_servers >/dev/null 2>&1 &
fetching=$!
driver=$(mktemp)
{ scripts/driver.sh build && scripts/driver.sh test; } >"$driver" 2>&1 &
driving=$!
half="tests/evidence tests/frames tests/probes tests/report tests/stats"
log=$(mktemp)
# shellcheck disable=SC2086  # these are words
.venv/bin/pytest $half >"$log" 2>&1 &
first=$!
trap 'kill "$first" "$driving" "$fetching" 2>/dev/null || true' EXIT
# shellcheck disable=SC2046,SC2086
.venv/bin/pytest tests $(printf -- '--ignore=%s ' $half)
wait $first || { cat "$log"; exit 1; }
sed -n '/slowest 10/,$p' "$log"
wait $driving || { cat "$driver"; exit 1; }
grep -E '^(==>|test result)' "$driver" || true
rm -f "$log" "$driver"

need sysbench sysbench
if ! have chromium-headless-shell && ! have chromium; then
    if is_root && have apt-get; then
        apt_install chromium-headless-shell || apt_install chromium || say "no chromium: the tests that look at pages are skipped"
    else
        say "no chromium: the tests that look at pages are skipped; as root: apt-get install chromium-headless-shell"
    fi
fi
wait $fetching || true
bring_servers

export DIALIN_TEST_BUILDS DIALIN_TEST_SERVER=$SERVER

# Studies mostly wait, so they run beside the other tests. Each group has its own home, with links to what is large, so that no
# command ends or restores what another group has running.
home=${DIALIN_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/dialin}
mkdir -p "$home"
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$home"/beside-"$$"-*' EXIT

run_beside() { # NAME TEST...: runs tests in the background; their output goes into a log
    local beside=$home/beside-$$-$1 part
    shift
    for part in builds catalogues datasets downloads; do
        mkdir -p "$home/$part" "$beside"
        ln -s "$home/$part" "$beside/$part"
    done
    # Background jobs of a shell ignore Ctrl-C, which a test sends; --default-signal undoes that.
    DIALIN_HOME=$beside env --default-signal=INT .venv/bin/pytest "$@" >"$beside/log" 2>&1 &
}

declare -A group=(
    [studies]="study"
    [deciding]="deciding hiccups scan variables probes recipes load_sources"
    [switching]="switching workloads"
    [entering]="fleet_and_search"
    [explaining]="attached_study waits"
    [attached]="attached_server attached_restart"
    [changing]="changed_during_trial"
    [persisting]="persisted_by_others tune tune_attached"
    [loading]="dialin_load dialin_load_counters dialin_load_study"
    [watching]="watch resizing confounds"
    [installing]="builds install servers in_force"
)
declare -A running
elsewhere=()
say "tests on $DIALIN_TEST_BUILDS"
for name in "${!group[@]}"; do
    tests=()
    for test in ${group[$name]}; do tests+=("tests_live/test_$test.py"); done
    run_beside "$name" "${tests[@]}"
    running[$name]=$!
    elsewhere+=("${tests[@]/#/--ignore=}")
done
code=0
.venv/bin/pytest tests_live "${elsewhere[@]}" || code=$?
for name in "${!group[@]}"; do
    wait "${running[$name]}" || code=$?
    say "tests on servers: $name"
    cat "$home/beside-$$-$name/log"
done
exit "$code"
