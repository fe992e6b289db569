#!/usr/bin/env bash
# Run each benchmark; every file of benchmarks/ but world.py, which they share, prints what BENCHMARKS.md reports of it.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

for file in benchmarks/*.py; do
    if [ "$file" = benchmarks/world.py ]; then continue; fi
    say "$file"
    .venv/bin/python "$file"
done
