#!/usr/bin/env bash
# Run each benchmark; every file of benchmarks/ prints what BENCHMARKS.md reports of it, but world.py and folders.py, which they share, and driver.py with sched_slice.py,
# which wants a machine that has nothing else to do: make bench-driver.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

for file in benchmarks/*.py; do
    case $file in */world.py | */folders.py | */driver.py | */sched_slice.py) continue ;; esac
    say "$file"
    PYTHONPATH=tests .venv/bin/python "$file"
done
