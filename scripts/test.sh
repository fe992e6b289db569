#!/usr/bin/env bash
# Run the tests: first those that need nothing, then those on real servers, with what they need; each part prints its ten slowest.
# `all` takes every build.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

# Tests start dialin some hundred times: keep its compiled files.
unset PYTHONDONTWRITEBYTECODE
export PYTEST_ADDOPTS="--durations=10"

if [ "${1:-}" = all ]; then
    export DIALIN_TEST_ALL=1
    others=$(.venv/bin/python -c 'from dialin.servers.install.installable import INSTALLABLE; print(*(row.reference for row in INSTALLABLE))')
else
    others="mysql@5.6 mariadb@10.11"
fi

bring_servers() { # installs what is missing; SERVER is the one that most tests take, DIALIN_TEST_BUILDS are all
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

need_for_pages() { # PACKAGE...: install the first one that there is; without it the tests that look at pages are skipped
    local package
    if is_root && have apt-get; then
        for package in "$@"; do
            if apt_install "$package"; then return; fi
        done
    fi
    say "the tests that look at pages are skipped; as root: apt-get install $1"
}

# With much else at once, a machine can be too slow for a test that waits: at most three that failed are run again, alone, and
# must pass then. Their names are printed both times.
tests() { # FOLDER OPTIONS...
    local failed code=0
    # Jobs of a shell ignore Ctrl-C, and those of nohup hang-ups, which tests send.
    env --default-signal=INT,HUP .venv/bin/pytest "$1" --cache-clear "${@:2}" || code=$?
    if [ $code -ne 1 ]; then return $code; fi
    readarray -t failed < <(.venv/bin/python scripts/failed_tests.py)
    if [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt 3 ]; then return $code; fi
    say "run again, alone:"
    printf '    %s\n' "${failed[@]}"
    env --default-signal=INT,HUP .venv/bin/pytest "${failed[@]}"
}

need sysbench sysbench # tests without servers call it, too

bring_browser() {
    have chromium-headless-shell || have chromium || need_for_pages chromium-headless-shell chromium
    # Playwright runs a Node.js of its own, which needs a library that a small Debian 12 lacks.
    .venv/bin/playwright --version >/dev/null 2>&1 || need_for_pages libatomic1
}

# Servers and a browser are downloaded meanwhile; an error is printed by the second calls, below.
{ bring_servers && bring_browser; } >/dev/null 2>&1 &
fetching=$!
beside=$(mktemp)
trap 'kill "${working:-}" "$fetching" 2>/dev/null || true; rm -f "$beside"' EXIT

scripts/driver.sh build # tests without servers call it, too
say "tests without servers; beside them those of the load driver, and the documentation site: every link in it leads somewhere"
{ scripts/driver.sh test && scripts/site.sh; } >"$beside" 2>&1 &
working=$!
tests tests --numprocesses "$(nproc)" --dist loadfile --no-loadscope-reorder
wait $working || { cat "$beside"; exit 1; }
grep -E '^(==>|test result)' "$beside" || true

wait $fetching || true
bring_servers
bring_browser

export DIALIN_TEST_BUILDS DIALIN_TEST_SERVER=$SERVER

# Studies mostly wait, so several tests run on each CPU.
say "tests on $DIALIN_TEST_BUILDS"
tests tests_live --numprocesses $((4 * $(nproc))) --dist loadgroup --no-loadscope-reorder
