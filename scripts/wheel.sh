#!/usr/bin/env bash
# Build dist/dialin-*.whl, which hold dialin, the load driver and the manual page, for each platform whose Rust standard library
# is installed or can be. zig links the driver against glibc 2.28 (RHEL 8, Debian 10), and maturin refuses what needs a newer one.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

platforms="x86_64 aarch64"
tools=.tools/wheel

scripts/driver.sh lock
find_uv
if [ ! -x $tools/bin/maturin ] || [ scripts/requirements-wheel.lock -nt $tools/bin/maturin ]; then
    say "fetching maturin and zig into $tools"
    "$UV" venv --quiet --clear --python .venv/bin/python $tools
    "$UV" pip sync --quiet --python $tools/bin/python --require-hashes scripts/requirements-wheel.lock
    touch $tools/bin/maturin
fi

rm -rf dist
mkdir -p dist/data/data/share/man/man1
.venv/bin/python scripts/man_page.py >dist/data/data/share/man/man1/dialin.1

# has_standard_library TARGET: Rust can compile for it; rustup is asked for what is missing.
has_standard_library() {
    [ -e "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] || { have rustup && rustup target add "$1" >/dev/null 2>&1; }
}

export PATH=$PWD/$tools/bin:$PATH
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for platform in $platforms; do
    target=$platform-unknown-linux-gnu
    if ! has_standard_library "$target"; then
        say "no wheel for $platform: Rust has no standard library for it here (rustup target add $target)"
        continue
    fi
    say "building the wheel for $platform"
    if ! maturin build --release --zig --target "$target" --compatibility manylinux_2_28 --out dist >"$log" 2>&1; then
        tail -n 30 "$log" >&2
        fail "no wheel for $platform"
    fi
done
rm -r dist/data
compgen -G 'dist/*.whl' || fail "no wheel was built"
