"""What a study stores as codes, its readers see as sentences: in a terminal, in Markdown, on the page."""

import io
import re
from html import unescape

import pytest
from rich.console import Console

from dialin.evidence.why_verdict import explain
from dialin.report.document.study_document import study_document
from dialin.report.render import html, markdown
from dialin.report.render.terminal import print_document
from fixtures import example_studies, tuned
from fixtures.generated_studies import generated
from fixtures.internal_codes import CODES, codes_in

STUDIES = {
    **example_studies.EVERY,
    "tuned": tuned.tuned,
    **{f"generated-{seed}": (lambda seed=seed: generated(seed)) for seed in range(10)},
}


def test_codes_are_found_among_words():
    assert {"not_measured", "trial_disturbed", "no_claim"} <= CODES
    assert codes_in("It is not_measured: trial_disturbed.") == {"not_measured", "trial_disturbed"}
    assert not codes_in("innodb_io_capacity and candidate are names; so is --no_claim-x")


@pytest.mark.parametrize("name", STUDIES)
def test_no_report_shows_a_code(name):
    record = STUDIES[name]()
    why = explain(record)
    console = Console(file=io.StringIO(), width=400)
    print_document(study_document(record, why), console)
    page = re.sub(r"<script.*?</script>|<style.*?</style>", " ", html.render(record, why), flags=re.DOTALL)
    page = unescape(re.sub(r"<[^>]+>", " ", page))
    shown = (console.file.getvalue(), page, markdown.render(record, why).replace("\\", ""))
    assert [codes_in(text) for text in shown] == [set(), set(), set()]
