"""What a reader of the repository's pages meets: links that lead somewhere, and first pages that stay short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")


def text_of(page):
    """The text of a page without its code."""
    text = re.sub(r"^(```|~~~).*?^\1", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]*`", lambda code: "x" if "](" in code[0] else code[0], text)


def anchors(page):
    """The names by which links reach the headings of a page, as code hosts make them."""
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text_of(page), flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        found.add(name if name not in found else f"{name}-1")
    return found | set(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text_of(page)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_within_the_repository_lead_to_what_is_there(page):
    broken = []
    for match in LINK.finditer(text_of(page)):
        path, _, anchor = (match[1] or match[2]).partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(match[0])
    assert broken == []


@pytest.mark.parametrize(("name", "most"), [("README.md", 900), ("BENCHMARKS.md", 1000)])
def test_the_first_pages_are_short(name, most):
    assert len((ROOT / name).read_text().split()) <= most


def test_what_a_program_does_when_it_is_run_comes_after_all_that_it_uses():
    guard = '\nif __name__ == "__main__":\n'
    programs = [path for path in sorted((ROOT / "src").rglob("*.py")) if guard in path.read_text(encoding="utf-8")]
    assert programs
    late = {path: path.read_text(encoding="utf-8").split(guard)[1] for path in programs}
    assert [str(path) for path, rest in late.items() if re.search(r"^\S", rest, re.MULTILINE)] == []
