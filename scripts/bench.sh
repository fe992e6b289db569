#!/usr/bin/env bash
# Run each benchmark; every file of benchmarks/ prints what BENCHMARKS.md reports of it.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

for file in benchmarks/*.py; do
    say "$file"
    .venv/bin/python "$file"
done
