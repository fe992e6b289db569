#!/usr/bin/env bash
# Make .venv with the machine's own Python and exactly the packages of requirements.lock.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

find_python
find_uv

export UV_PYTHON_DOWNLOADS=never UV_PYTHON_PREFERENCE=only-system
say "making .venv with $("$PYTHON" --version)"
"$UV" venv --quiet --allow-existing --python "$PYTHON" .venv
say "installing the packages of requirements.lock"
"$UV" pip sync --quiet --python .venv/bin/python --require-hashes requirements.lock
say "installing dialin"
"$UV" pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
# What a study and an analysis import is compiled now, so that the first one begins at once; of all packages that would be a tenth.
env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -c 'import dialin.cli.analyze, dialin.cli.conduct, dialin.cli.studies, dialin.logs.analyze_runs, dialin.report.files'
