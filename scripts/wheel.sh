#!/usr/bin/env bash
# Build dist/dialin-*.whl, which hold dialin, the load driver and the manual page, for each platform whose Rust standard library
# is installed or can be. zig links the driver against glibc 2.28 (RHEL 8, Debian 10); auditwheel reads from it which glibc it needs,
# and names the wheel after that.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

platforms="x86_64 aarch64"
glibc=2.28
tools=$PWD/.tools/wheel
parts=dist/parts # where pyproject.toml has hatchling look

scripts/driver.sh lock
find_uv
if [ ! -x "$tools/bin/auditwheel" ] || [ scripts/requirements-wheel.lock -nt "$tools/bin/auditwheel" ]; then
    say "fetching cargo-zigbuild, zig and auditwheel into .tools/wheel"
    "$UV" venv --quiet --clear --python .venv/bin/python "$tools"
    "$UV" pip sync --quiet --python "$tools/bin/python" --require-hashes scripts/requirements-wheel.lock
    touch "$tools/bin/auditwheel"
fi
export PATH=$tools/bin:$PATH

# add_standard_library TARGET: have rustup bring what Rust needs to compile for it; where it cannot, print why.
add_standard_library() {
    local output
    [ ! -e "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] || return 0
    have rustup || { echo "it is not installed, and there is no rustup" && return 1; }
    output=$(rustup target add "$1" 2>&1) || { sed -n 's/^error: //p' <<<"$output" | head -n 1 && return 1; }
}

rm -rf dist
mkdir -p $parts
.venv/bin/python scripts/man_page.py >$parts/dialin.1
for platform in $platforms; do
    target=$platform-unknown-linux-gnu
    if ! why=$(add_standard_library "$target"); then
        say "no wheel for $platform, for want of Rust's standard library for $target: $why"
        continue
    fi
    say "building the wheel for $platform"
    (cd crates/dialin-load && cargo zigbuild --quiet --release --locked --target "$target.$glibc" --target-dir target)
    cp "crates/dialin-load/target/$target/release/dialin-load" $parts
    if ! log=$({ .venv/bin/python -m hatchling build --target wheel --directory $parts &&
        auditwheel repair --plat auto --wheel-dir dist $parts/*.whl; } 2>&1); then
        fail "$log"
    fi
    compgen -G "dist/*-manylinux_${glibc/./_}_$platform.whl" || fail "this driver needs another glibc than $glibc: $(ls dist)"
done
rm -r $parts
compgen -G 'dist/*.whl' >/dev/null || fail "no wheel was built"
