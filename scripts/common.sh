# What the chores share; sourced, with the repository's root as the working directory.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '==> %s\n' "$*"; }

fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

is_root() { [ "$(id -u)" -eq 0 ]; }

# apt_install PACKAGE...: install packages of the distribution; needs root. Lists that are missing or stale are fetched first.
apt_install() {
    local log
    log=$(mktemp)
    apt_lists_there || apt_update
    say "installing $* with apt-get"
    if ! apt_get install --yes --no-install-recommends "$@" >"$log" 2>&1; then
        apt_update
        if ! apt_get install --yes --no-install-recommends "$@" >"$log" 2>&1; then
            tail -n 20 "$log" >&2
            rm -f "$log"
            return 1
        fi
    fi
    rm -f "$log"
}

apt_get() { DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 "$@"; }

apt_lists_there() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }

apt_update() {
    say "reading package lists with apt-get update"
    apt_get update >/dev/null
}

# need PROGRAM PACKAGE: make sure of a program, from the distribution if this is root.
need() {
    if have "$1"; then return; fi
    if is_root && have apt-get; then
        apt_install "$2" && return
        fail "$2 could not be installed"
    fi
    fail "$1 is missing; as root: apt-get install $2"
}

# find_python: set PYTHON to a Python that dialin runs on.
find_python() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
        if have "$candidate" && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            PYTHON=$(command -v "$candidate")
            return
        fi
    done
    fail "dialin needs Python 3.11 or newer, which Debian has from release 12 on; as root: apt-get install python3"
}

# find_uv: set UV to uv, fetched into .tools where the machine has none.
find_uv() {
    if have uv; then
        UV=$(command -v uv)
        return
    fi
    UV=.tools/bin/uv
    if [ -x "$UV" ] && [ ! scripts/requirements-uv.lock -nt "$UV" ]; then return; fi
    find_python
    say "fetching uv into .tools"
    rm -rf .tools
    if ! "$PYTHON" -m venv .tools >/dev/null 2>&1; then
        rm -rf .tools
        if ! { is_root && have apt-get; }; then
            fail "$PYTHON cannot make virtual environments; as root: apt-get install python3-venv"
        fi
        apt_install python3-venv || fail "python3-venv could not be installed"
        "$PYTHON" -m venv .tools
    fi
    .tools/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r scripts/requirements-uv.lock
    touch "$UV"
}

# The dialin that chores run; a chore may have another one.
dialin() { .venv/bin/dialin "$@"; }

# install_server BUILD...: install the first that can be installed on this machine, and set SERVER to its name.
install_server() {
    local build code
    for build in "$@"; do
        code=0
        dialin servers install "$build" || code=$?
        case $code in
        0)
            # shellcheck disable=SC2034  # read by the chore that sources this
            SERVER=$build
            return
            ;;
        2 | 3) say "$build cannot be installed on this machine; trying the next" ;;
        *) exit "$code" ;;
        esac
    done
    fail "none of $* could be installed"
}
