#!/usr/bin/env bash
# Choose versions anew, within what pyproject.toml allows, and write them down with their hashes and without a registry's name.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

find_uv
compile=("$UV" pip compile --quiet --upgrade --generate-hashes --python-version 3.11 --custom-compile-command "make lock")
say "choosing versions"
"${compile[@]}" pyproject.toml --extra dev --output-file requirements.lock
echo uv | "${compile[@]}" - --no-annotate --output-file scripts/requirements-uv.lock

# Cargo.lock names the registry; crates.lock does not, and scripts/driver.sh makes the one of the other.
if ! have cargo; then
    say "crates.lock stays as it is: that takes cargo"
    exit 0
fi
say "choosing versions of the load driver's crates"
cd crates/dialin-load
cargo generate-lockfile --quiet
{
    echo "# The crates of dialin-load with their checksums; make lock writes this."
    sed '/^#/d; /^source = /d' Cargo.lock
} >crates.lock
