#!/usr/bin/env bash
# Build the documentation site into site/, with a generator of its own in .tools/site.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

find_python
find_uv
generator=.tools/site
if [ ! -x $generator/bin/zensical ] || [ scripts/site/requirements.lock -nt $generator/bin/zensical ]; then
    say "installing the site's generator"
    "$UV" venv --quiet --allow-existing --python "$PYTHON" $generator
    "$UV" pip sync --quiet --python $generator/bin/python --require-hashes scripts/site/requirements.lock
    touch $generator/bin/zensical
fi
rm -rf .site site
mkdir -p .site
"$PYTHON" scripts/site/sources.py .site/docs
cp scripts/site/zensical.toml .site/
(cd .site && "../$generator/bin/zensical" build --strict)
"$PYTHON" scripts/site/sources.py --offline .site/site
mv .site/site site
say "the site is in site/: open site/index.html"
