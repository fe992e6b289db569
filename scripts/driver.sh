#!/usr/bin/env bash
# The load driver, dialin-load: `build` it and put it beside dialin, `compile` it only, `lint` its source, or pass its tests
# (`test`). Each first writes Cargo.lock from crates.lock; `lock` does nothing else, and `lock-fuzz` does so for the fuzz targets.
# Without a cargo that is new enough there is nothing to be done; dialin then applies its loads by sysbench.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

crate=crates/dialin-load
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' $crate/Cargo.toml)

cargo_is_new_enough() {
    have cargo && [ "$(printf '%s\n' "$needed" "$(cargo --version 2>/dev/null | cut -d' ' -f2)" | sort -V | head -n 1)" = "$needed" ]
}

# write_cargo_lock: Cargo.lock is crates.lock with the registry that cargo takes crates from, which no file of ours names.
# Cargo refuses what does not fit Cargo.toml, or the registry's checksums. An argument is where that is below the crate, as `fuzz/`.
write_cargo_lock() {
    local written=.Cargo.lock.$$ source output cause
    source=$(cargo metadata --no-deps --offline --format-version 1 | grep -o '"source":"[^"]*"' | sort -u)
    awk -v source="${source#*:}" '/^checksum = / { print "source = " source } { print }' crates.lock >"$written"
    # One that says the same stays, for cargo goes by its time.
    if cmp -s "$written" Cargo.lock; then rm "$written"; else mv "$written" Cargo.lock; fi
    if ! output=$(cargo tree --locked --quiet --depth 0 2>&1); then
        cause=$(sed -n 's/^error: //p' <<<"$output" | head -n 1)
        case $cause in *--locked*) cause="it does not have what Cargo.toml asks for" ;; esac
        fail "$crate/${1:-}crates.lock is refused: $cause (make lock chooses versions anew)"
    fi
}

if ! cargo_is_new_enough; then
    say "dialin-load is left out: it takes cargo $needed or newer (rustup brings it); sysbench applies the loads"
    exit 0
fi

cd $crate
write_cargo_lock
case ${1:-build} in
lock) ;;
lock-fuzz)
    cd fuzz
    write_cargo_lock fuzz/
    ;;
compile) cargo build --quiet --release --locked ;;
build)
    cargo build --quiet --release --locked
    # Moved into place whole: a study may be running the one that is there.
    install -m 755 "${CARGO_TARGET_DIR:-target}/release/dialin-load" ../../.venv/bin/.dialin-load
    mv ../../.venv/bin/.dialin-load ../../.venv/bin/dialin-load
    ;;
lint)
    cargo fmt --check
    cargo clippy --quiet --release --locked --all-targets -- -D warnings
    ;;
test) cargo test --quiet --release --locked ;;
*) fail "build, compile, lock, lock-fuzz, lint or test" ;;
esac
