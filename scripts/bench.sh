#!/usr/bin/env bash
# Run each benchmark; every file of benchmarks/ prints what BENCHMARKS.md reports of it, but world.py, folders.py and surfaces.py, which they share, and driver.py,
# which wants a machine that has nothing else to do: make bench-driver.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

for file in benchmarks/*.py; do
    case $file in */world.py | */folders.py | */surfaces.py | */driver.py) continue ;; esac
    say "$file"
    PYTHONPATH=tests .venv/bin/python "$file"
done
