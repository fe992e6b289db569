#!/usr/bin/env bash
# The load driver, dialin-load: `build` it and put it beside dialin, `lint` its source, or pass its tests (`test`).
# Without a cargo that is new enough there is nothing to be done; dialin then applies its loads by sysbench.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

crate=crates/dialin-load
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' $crate/Cargo.toml)

cargo_is_new_enough() {
    have cargo && [ "$(printf '%s\n' "$needed" "$(cargo --version | cut -d' ' -f2)" | sort -V | head -n 1)" = "$needed" ]
}

if ! cargo_is_new_enough; then
    say "dialin-load is left out: it takes cargo $needed or newer (rustup brings it); sysbench applies the loads"
    exit 0
fi

cd $crate
case ${1:-build} in
build)
    cargo build --quiet --release
    # Moved into place whole: a study may be running the one that is there.
    install -m 755 "${CARGO_TARGET_DIR:-target}/release/dialin-load" ../../.venv/bin/.dialin-load
    mv ../../.venv/bin/.dialin-load ../../.venv/bin/dialin-load
    ;;
lint)
    cargo fmt --check
    cargo clippy --quiet --release --all-targets -- -D warnings
    ;;
test) cargo test --quiet --release ;;
*) fail "build, lint or test" ;;
esac
