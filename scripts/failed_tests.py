"""Prints the tests that failed in the last run of pytest, one a line, as pytest takes them."""

import json
import re
import sys
from pathlib import Path

failed = Path(".pytest_cache/v/cache/lastfailed")
for name in json.loads(failed.read_text()) if failed.exists() else ():
    sys.stdout.write(re.sub(r"@[^\]]*$", "", name) + "\n")  # without the group that pytest-xdist adds
