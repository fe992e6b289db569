"""Writes into docs what the columns of each frame are, between `<!-- columns of samples -->` and `<!-- end -->`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from dialin.frames import columns

_MARKED = re.compile(r"(<!-- columns of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(text: str) -> str:
    """Return a document with its tables as they are now."""
    return _MARKED.sub(lambda match: f"{match[1]}\n{columns.markdown(columns.EVERY[match[2]])}\n{match[3]}", text)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["docs/notebook.md", "docs/files.md"]:
        path = Path(name)
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
