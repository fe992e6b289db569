"""docs/advise.md names every rule with its threshold and its source, as the code has it.

`python tests/advice/test_docs.py` writes its lists anew.
"""

from __future__ import annotations

from pathlib import Path

from dialin.advice.rules import RULES
from dialin.model.advice import WEIGHTS
from dialin.text import number
from fixtures.source_links import linked

PAGE = Path(__file__).parents[2] / "docs" / "advise.md"
_BEGIN, _END = "<!-- rules -->\n", "<!-- end of rules -->\n"


def rules() -> str:
    """Return the rules as Markdown, strongest first."""
    lines = []
    for weight in WEIGHTS:
        lines += [f"### `{weight}`", ""]
        for rule in RULES:
            if rule.weight is weight:
                variables = " or ".join(f"`{name}`" for name in rule.variables)
                least = "more than 0" if rule.least < 1e-6 else number(rule.least)
                lines.append(f"- `{rule.code}`, {variables}: {rule.name}: from {least} ({linked(rule.source)})")
        lines.append("")
    return "\n".join(lines)


def test_the_page_has_every_rule_with_its_source() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page.partition(_BEGIN)[2].partition(_END)[0].strip() == rules().strip()


def test_rules_have_codes_of_their_own() -> None:
    codes = [rule.code for rule in RULES]
    assert len(codes) == len(set(codes))


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(_BEGIN)
    PAGE.write_text(f"{before}{_BEGIN}\n{rules()}\n{_END}{rest.partition(_END)[2]}", encoding="utf-8")
