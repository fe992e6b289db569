#!/usr/bin/env bash
# Build the documentation site into site/, with a generator of its own in .tools/site.
# shellcheck source=scripts/common.sh
. "$(dirname "$0")/common.sh"

find_python
find_uv
generator=.tools/site
if [ ! -x $generator/bin/zensical ] || [ scripts/website/requirements.lock -nt $generator/bin/zensical ]; then
    say "installing the site's generator"
    "$UV" venv --quiet --allow-existing --python "$PYTHON" $generator
    "$UV" pip sync --quiet --python $generator/bin/python --require-hashes scripts/website/requirements.lock
    touch $generator/bin/zensical
fi
rm -rf .site site
mkdir -p .site
"$PYTHON" scripts/website/sources.py .site/docs
cp scripts/website/zensical.toml .site/
(cd .site && "../$generator/bin/zensical" build --strict)
"$PYTHON" scripts/website/sources.py --offline .site/site
mv .site/site site
say "the site is in site/: open site/index.html"
