"""Puts the sources of the documentation site together: docs/, and what its pages link to elsewhere in the repository.

    python scripts/website/sources.py DIRECTORY          before it is built
    python scripts/website/sources.py --offline SITE     once it is built

A page links to files of the repository by their paths from where it lies; in the site all of them lie in one folder, with the
README as its first page.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_FIRST = "README.md"
_PAGES = (
    _FIRST,
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "BENCHMARKS.md",
    "benchmarks/README.md",
    *(str(path.relative_to(_ROOT)) for path in sorted((_ROOT / "benchmarks" / "results").glob("*.md"))),
)
"""Pages beside docs/."""

_LINK = re.compile(r"(?P<before>\]\(|(?:src|srcset)=\")(?P<path>[^)\s\"#]+)(?P<rest>#[^)\s\"]*)?(?P<after>[)\"])")
_SEARCH_SCRIPT = "iframe-worker.js"
_SEARCH_ADDRESS = re.compile(r"https://[^\s\"'>]*/iframe-worker/shim")
"""What the generator has pages load, so that the search works where they are opened as files."""

_LOADED = re.compile(
    r"<(?:script|img|iframe|link rel=\"?(?:stylesheet|preload|preconnect)\"?)[^>]*?(?:src|href)=\"?(https?://[^\" >]+)"
)
_LINE_LINK = re.compile(r"<a [^>]*__codelineno[^>]*></a>")
"""A link to a line of code, without a text that a screen reader could read."""

_OWN = ("site.css", "site.js")
"""What the configuration of the site names beside pages."""

_FENCE = re.compile(r"^(```|~~~)")


def main(target: Path) -> None:
    """Write the sources into an empty or new directory."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(_ROOT / "docs", target, ignore=shutil.ignore_patterns("*.tar.xz"))
    for name in _OWN:
        shutil.copy(Path(__file__).parent / name, target)
    for name in _PAGES:
        place = target / _name_of(Path(name))
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_linked(_ROOT / name, target), encoding="utf-8")
    for page in sorted((_ROOT / "docs").rglob("*.md")):
        (target / page.relative_to(_ROOT / "docs")).write_text(_linked(page, target), encoding="utf-8")


def _name_of(path: Path) -> Path:
    """Return where a file of the repository lies in the site."""
    if path == Path(_FIRST):
        return Path("index.md")
    return path.relative_to("docs") if path.parts[0] == "docs" else path


def _linked(page: Path, target: Path) -> str:
    """Return a page with its links as they are in the site; what it links to is copied there."""
    lines, in_code = [], False
    for line in page.read_text(encoding="utf-8").splitlines():
        in_code ^= bool(_FENCE.match(line))
        # What draws a diagram would be fetched from another site.
        kept = line.replace("```mermaid", "```text")
        lines.append(kept if in_code else _LINK.sub(lambda match: _link(match, page, target), kept))
    return "\n".join(lines) + "\n"


def _link(match: re.Match[str], page: Path, target: Path) -> str:
    path = match["path"]
    linked = (page.parent / path).resolve()
    if ":" in path or not linked.is_relative_to(_ROOT) or not linked.exists():
        return match[0]  # of another site, or one that the generator reports
    inside = target / _name_of(linked.relative_to(_ROOT))
    if linked.is_dir():
        inside = _listing(linked, inside)
    elif linked.suffix != ".md":
        inside.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(linked, inside)
    here = (target / _name_of(page.relative_to(_ROOT))).parent
    return f"{match['before']}{os.path.relpath(inside, here)}{match['rest'] or ''}{match['after']}"


def _listing(directory: Path, inside: Path) -> Path:
    """Copy the files of a folder, and write a page that lists them."""
    inside.mkdir(parents=True, exist_ok=True)
    files = sorted(path for path in directory.iterdir() if path.is_file())
    for path in files:
        shutil.copy(path, inside)
    page = inside / "index.md"
    page.write_text(f"# {directory.name}\n\n" + "".join(f"- [{path.name}]({path.name})\n" for path in files), encoding="utf-8")
    return page


def make_offline(site: Path) -> None:
    """Have the pages of a site load the script that the search needs from beside them.

    Raises:
        SystemExit: a page still loads something from another site.
    """
    script = Path(__file__).parent / _SEARCH_SCRIPT
    shutil.copy(script, site / "assets" / _SEARCH_SCRIPT)
    for page in sorted(site.rglob("*.html")):
        up = os.path.relpath(site, page.parent)
        text = _SEARCH_ADDRESS.sub(f"{up}/assets/{_SEARCH_SCRIPT}", _LINE_LINK.sub("", page.read_text(encoding="utf-8")))
        if loaded := _LOADED.search(text):
            raise SystemExit(f"{page} loads {loaded[1]}: the site must work offline")
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--offline":
        make_offline(Path(sys.argv[2]))
    else:
        main(Path(sys.argv[1]))
