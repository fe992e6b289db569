#!/usr/bin/env bash
# Run the tests: first those that need nothing, then those on a real server, with what they need.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

say "tests without servers"
.venv/bin/pytest tests

need sysbench sysbench
if ! have chromium; then
    if is_root && have apt-get; then
        apt_install chromium || say "no chromium: the test that looks at a report is skipped"
    else
        say "no chromium: the test that looks at a report is skipped; as root: apt-get install chromium"
    fi
fi
install_server mysql@9.7 mysql@8.0 mariadb@10.11

say "tests on $SERVER"
DIALIN_TEST_SERVER=$SERVER .venv/bin/pytest tests_live
