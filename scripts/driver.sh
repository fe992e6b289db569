#!/usr/bin/env bash
# The load driver, dialin-load: `build` it and put it next to dialin, `lint` its source and that of the fuzz targets, or pass its tests (`test`).
# Each first writes Cargo.lock from crates.lock; `lock` does only that, and `lock-fuzz` does it for the fuzz targets.
# Without a cargo that is new enough, and that makes programs (it may lack a linker), `lock` fails; the others do nothing, and sysbench
# applies the loads of dialin.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

crate=crates/dialin-load
needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' $crate/Cargo.toml)

# A cargo of rustup without a toolchain fails, with a stack backtrace at times: its version is empty then.
cargo_version() { cargo --version 2>/dev/null | cut -d' ' -f2 || true; }

is_new_enough() { [ -n "$1" ] && [ "$(printf '%s\n' "$needed" "$1" | sort -V | head -n 1)" = "$needed" ]; }

# builds_nothing: whether cargo cannot make the smallest program here; prints why.
builds_nothing() {
    local place code=0
    place=$(mktemp -d)
    mkdir "$place/src"
    echo 'fn main() {}' >"$place/src/main.rs"
    printf '[package]\nname = "nothing"\nversion = "0.0.0"\nedition = "2021"\n' >"$place/Cargo.toml"
    cargo build --quiet --offline --manifest-path "$place/Cargo.toml" --target-dir "$place/target" >"$place/log" 2>&1 || code=$?
    sed -n 's/^error: //p' "$place/log" | head -n 1
    rm -rf "$place"
    [ $code -ne 0 ]
}

# write_cargo_lock: Cargo.lock is crates.lock with the registry that cargo takes crates from, which no file of ours names.
# Cargo refuses versions that do not match Cargo.toml, and checksums that do not match the registry's. The argument is the folder below the crate, such as `fuzz/`.
write_cargo_lock() {
    local written=.Cargo.lock.$$ source output cause
    source=$(cargo metadata --no-deps --offline --format-version 1 | grep -o '"source":"[^"]*"' | sort -u)
    awk -v source="${source#*:}" '/^checksum = / { print "source = " source } { print }' crates.lock >"$written"
    # An identical file stays, because cargo compares its time.
    if cmp -s "$written" Cargo.lock; then rm "$written"; else mv "$written" Cargo.lock; fi
    if ! output=$(cargo tree --locked --quiet --depth 0 2>&1); then
        cause=$(sed -n 's/^error: //p' <<<"$output" | head -n 1)
        case $cause in *--locked*) cause="it does not have what Cargo.toml asks for" ;; esac
        fail "$crate/${1:-}crates.lock is refused: $cause (make lock chooses versions again)"
    fi
}

why=
version=$(cargo_version)
if ! is_new_enough "$version"; then
    if ! have cargo; then
        why="there is no cargo here"
    elif [ -z "$version" ]; then
        why="cargo does not run; if it comes from rustup, install a toolchain with: rustup default stable"
    else
        why="cargo is $version"
    fi
    why="it needs cargo $needed or newer ($why)"
elif why=$(builds_nothing); then
    why="cargo makes no program here: $why"
fi
if [ -n "$why" ]; then
    case ${1:-} in lock) fail "dialin-load cannot be built: $why" ;; esac
    say "dialin-load is not built, sysbench applies the loads: $why"
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
build)
    cargo build --quiet --release --locked
    # Moved into place whole: a study may be running the one that is there.
    install -m 755 "${CARGO_TARGET_DIR:-target}/release/dialin-load" ../../.venv/bin/.dialin-load
    mv ../../.venv/bin/.dialin-load ../../.venv/bin/dialin-load
    ;;
lint)
    cargo fmt --check
    cargo clippy --quiet --release --locked --all-targets -- -D warnings
    # The fuzz targets are checked, not built: with a path for libFuzzer its crate compiles none, so that no C++ compiler is needed.
    target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
    cd fuzz
    write_cargo_lock fuzz/
    # Without the symbols that fuzzing wants, so that what clippy has checked of other crates is not checked again.
    CARGO_PROFILE_RELEASE_DEBUG=0 CUSTOM_LIBFUZZER_PATH=/nowhere/libfuzzer.a cargo check --quiet --release --locked --all-targets --target-dir "$target"
    ;;
test)
    # Those of the library are a second library, whose optimisation takes longer than they do; the others test the one that `build` made.
    cargo test --quiet --release --locked --lib --config "profile.release.package.dialin-load.opt-level=0"
    cargo test --quiet --release --locked --test '*'
    ;;
*) fail "build, lock, lock-fuzz, lint or test" ;;
esac
