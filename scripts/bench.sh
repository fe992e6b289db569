#!/usr/bin/env bash
# Run the benchmarks that need neither arguments nor a quiet machine with real servers for long; every file of benchmarks/ prints
# what benchmarks/results reports of it; the pages there have the commands for the others.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

shared=" bare_loop.py world.py folders.py surfaces.py "
by_hand=" aa.py suite.py capture_speed.py driver.py go_tpc.py live_servers.py ray_reports.py replay.py sched_slice.py set_response.py steps.py "
for file in benchmarks/*.py; do
    case $shared$by_hand in *" ${file##*/} "*) continue ;; esac
    say "$file"
    PYTHONPATH=tests .venv/bin/python "$file"
done
