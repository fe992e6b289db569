"""The documentation site, where `make site` has built it: nobody is kept out of a page, and none asks for another site."""

from pathlib import Path

import pytest

from browser import SCHEMES, needs_chromium
from live import only_with_all

SITE = Path(__file__).parents[1] / "site"
PAGES = (
    "index.html",
    "quickstart.html",
    "reading-a-report.html",
    "advise.html",
    "attached.html",
    "how-sure.html",
    "cli.html",
    "published.html",
)
IN_TURN = [
    pytest.param(page, scheme, marks=() if scheme == SCHEMES[place % len(SCHEMES)] else only_with_all)
    for place, page in enumerate(PAGES)
    for scheme in SCHEMES
]
"""Each page in one scheme, all of which have the same style sheet; `make test-all` shows each in both."""

pytestmark = [needs_chromium, pytest.mark.skipif(not (SITE / "index.html").exists(), reason="run: make site")]


@pytest.mark.parametrize(("page", "scheme"), IN_TURN)
def test_nothing_serious_keeps_anybody_out_of_the_site(opened, page, scheme):
    one = opened(SITE / page, scheme=scheme)
    assert one.violations() == []
    assert one.asked_of_others == []
