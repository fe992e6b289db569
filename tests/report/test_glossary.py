import re
from pathlib import Path

from dialin.report.document.figure_columns import TERMS, Word
from fixtures.report_page import page_of

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"


def test_terms_say_what_the_glossary_says():
    rows = dict(re.findall(r"^- \*\*([^*]+)\*\*: (.+)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE))
    assert {term.word: rows.get(term.word) for term in TERMS} == {term.word: term.meaning for term in TERMS}
    assert {term.key for term in TERMS} == set(Word)


def test_a_column_s_term_is_explained_to_the_keyboard_too():
    page = page_of("winner")
    ids = {attrs["id"] for _, attrs in page.elements if "id" in attrs}
    explained = [attrs for attrs in page.all("button") if "data-term" in attrs]
    assert {attrs["data-term"] for attrs in explained} == {"block", "cv", "stall", "near-best", "host-stall"}
    assert {attrs["aria-describedby"] for attrs in explained} <= ids
