#!/usr/bin/env bash
# Run each benchmark; every file of benchmarks/ prints what BENCHMARKS.md reports of it. Left out are world.py, folders.py and
# surfaces.py, which they share, and driver.py with sched_slice.py, which wants a quiet machine: make bench-driver.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

for file in benchmarks/*.py; do
    case $file in */world.py | */folders.py | */surfaces.py | */driver.py | */sched_slice.py) continue ;; esac
    say "$file"
    PYTHONPATH=tests .venv/bin/python "$file"
done
