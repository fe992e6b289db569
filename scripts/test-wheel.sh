#!/usr/bin/env bash
# Install the wheel of this machine as a user does, and run a study with it: an ordinary user whose home is empty, without cargo and
# without this checkout. Root runs it as nobody.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

find_uv
# shellcheck disable=SC2012  # names of wheels have no odd characters
wheel=$(ls dist/dialin-*_"$(uname -m)".whl)
home=$(mktemp -d /tmp/dialin-wheel-XXXXXX)
# Servers end with the commands that start them; what they leave goes with the home.
trap 'rm -rf "$home"' EXIT
cp "$wheel" "$UV" requirements.lock "$home"
user=()
if is_root; then
    chown -R nobody "$home"
    user=(runuser -u nobody --)
fi
cd "$home"

# as_user COMMAND...: run it with an empty home and the system's programs only; no cargo is among them.
as_user() {
    "${user[@]}" env -u CARGO_HOME -u DIALIN_HOME -u DIALIN_LOAD -u PYTHONPATH -u VIRTUAL_ENV HOME="$home" PATH="$home/.local/bin:/usr/bin:/bin" "$@"
}

dialin() { as_user dialin "$@"; }

if as_user sh -c 'command -v cargo'; then fail "there is a cargo in /usr/bin or /bin: this is no test of an installation without it"; fi
say "installing ${wheel##*/} as $(as_user id -un)"
as_user ./uv tool install --quiet --python-preference only-system --no-python-downloads --constraints requirements.lock "${wheel##*/}"
dialin --version
[ -s "$home/.local/share/uv/tools/dialin/share/man/man1/dialin.1" ] || fail "the wheel has no manual page"
dialin recipes read-buffer-size >/dev/null

install_server mysql@9.7 mysql@8.0 mariadb@10.11
say "running a study of 2 minutes on $SERVER"
code=0
dialin sweep innodb_flush_log_at_trx_commit=1,2 --server "$SERVER" --set sync_binlog=0 --workload oltp_update_non_index \
    --threads 4 --tables 1 --table-size 10000 --minutes 2 --yes --out study || code=$?
# 1 is a study that took place and was inconclusive.
[ "$code" -le 1 ] || fail "the study ended with exit code $code"
grep -q '"driver": "dialin-load' study/verdict.json || fail "dialin-load did not apply the load"
say "the wheel works"
