"""docs/why.md names every rule with its source, as the code has it.

`python tests/evidence/test_docs.py` writes its lists anew.
"""

from __future__ import annotations

from pathlib import Path

from dialin.model.why import ReasonKind
from fixtures.all_rules import every
from fixtures.source_links import linked

PAGE = Path(__file__).parents[2] / "docs" / "why.md"
_BEGIN, _END = "<!-- rules -->\n", "<!-- end of rules -->\n"
_TITLES = {
    ReasonKind.MOVED: "Metrics that may have changed with the verdict (`moved`)",
    ReasonKind.UNUSED: "Capacity that was never used (`unused`)",
    ReasonKind.LIMIT: "Limits that were hit (`limit`)",
}


def rules() -> str:
    """Return the rules as Markdown, by kind and by source."""
    lines = []
    for kind, title in _TITLES.items():
        by_source: dict[str, list[str]] = {}
        for code, of, what, source in every():
            if of is kind:
                by_source.setdefault(linked(source), []).append(f"`{code}` {what}")
        lines += [f"### {title}", "", *(f"- {source}: {'; '.join(rules)}" for source, rules in by_source.items()), ""]
    return "\n".join(lines)


def test_the_page_has_every_rule_with_its_source() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.partition(_BEGIN)[2].partition(_END)[0].strip() == rules().strip()


def test_rules_have_codes_of_their_own_and_a_source() -> None:
    codes = [code for code, *_ in every()]
    assert len(codes) == len(set(codes))
    assert all(what and source for _, _, what, source in every())


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    PAGE.write_text(f"{before}{_BEGIN}\n{rules()}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")
