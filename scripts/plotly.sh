#!/usr/bin/env bash
# Fetches the charts' library of the report through npm and stores it in the package; run it when `plotly` gets another version.
#
#     scripts/plotly.sh [VERSION]      the default is the version that Python's plotly has
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
version=${1:-$($python -c 'from plotly.offline import get_plotlyjs_version; print(get_plotlyjs_version())')}
templates=src/dialin/report/templates
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && npm pack --silent "plotly.js-cartesian-dist-min@$version" > /dev/null)  # npm checks its checksum
tar xzf "$scratch"/*.tgz -C "$scratch"
gzip -9 -n < "$scratch/package/plotly-cartesian.min.js" > "$templates/plotly-cartesian.min.js.gz"
cp "$scratch/package/LICENSE" "$templates/plotly-LICENSE"
echo "plotly.js $version (cartesian): $(stat -c %s "$templates/plotly-cartesian.min.js.gz") bytes"
