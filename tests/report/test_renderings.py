"""One document, three renderings: every figure of one is in the others, rounded alike."""

import html as html_entities
import io
import re
from functools import cache

import pytest
from rich.console import Console

from dialin.evidence.latencies import latencies
from dialin.model.load_driver import ALL_KINDS
from dialin.model.why import Why
from dialin.report.charts import forest
from dialin.report.document import parts
from dialin.report.document.parts import every_part
from dialin.report.document.study_document import study_document
from dialin.report.render import html
from dialin.report.render.markdown import to_markdown
from dialin.report.render.terminal import print_document
from fixtures import example_reasons, example_studies
from fixtures.evidence_of import of_record
from fixtures.example_readings import with_histograms, with_readings
from fixtures.live_studies import Live, live_record
from fixtures.report_page import Page
from fixtures.tuned import tuned

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
KINDS = {"winner": ("pay", "order")}
STUDIES = (
    "winner",
    "safe_choice",
    "by_stability",
    "by_latency",
    "failed_candidate",
    "inconclusive",
    "tie",
    "unfinished",
    "builds",
    "tune",
    "live",
)


def numbers(text):
    return set(NUMBER.findall(text))


WORD = re.compile(r"[^\W\d_]{3,}")
FEWEST = 200
"""Figures and words that every document has at the least."""


def study(name):
    if name == "tune":
        return tuned()
    if name == "live":
        return live_record(Live(effects={"400": 0.8, "9000": 0.5}, trips=("9000",)))
    record = example_studies.EVERY[name]()
    return record if record.verdict is None else with_histograms(record, KINDS.get(name, (ALL_KINDS,)))


@cache
def rendered(name):
    """Return the document of a study, and its text in each rendering."""
    record = with_readings(study(name)) if name != "live" else study(name)
    why = example_reasons.full(record) if name not in ("tune", "live") else Why.empty()
    if record.verdict is not None and name != "live":
        why = why.model_copy(update={"latencies": of_record(latencies)(record)})
    document = study_document(record, why)
    written = io.StringIO()
    print_document(document, Console(file=written, width=4000, highlight=False))
    page = Page(html.render(record, why)).words
    return document, {"terminal": written.getvalue(), "page": page, "markdown": to_markdown(document)}


def figures(document):
    """Return the figures that a document shows, by what shows them."""
    shown = {"headline": numbers(f"{document.headline} {document.outcome} {document.colophon}")}
    for section in document.sections:
        for place, part in enumerate(every_part(section.parts)):
            shown[f"{section.key} {place} {type(part).__name__} {getattr(part, 'key', '')}"] = numbers(" ".join(texts(part)))
    return shown


def texts(part):
    match part:
        case parts.Paragraph():
            return [part.text]
        case parts.Group():
            return [part.title]
        case parts.Fold():
            return [part.summary]
        case parts.Code():
            return [part.text]
        case parts.Terms():
            return [text for one in part.terms for text in (one.word, one.meaning)]
        case parts.Pairs():
            return [text for pair in part.pairs for text in pair]
        case parts.Caveats():
            return [text for one in part.caveats for text in (one.text, *(text for pair in one.data for text in pair))]
        case parts.Reasons():
            return [
                text
                for one in part.cards
                for text in (
                    one.text,
                    one.remark,
                    *((one.dots.title, *(row.figure for row in one.dots.rows)) if one.dots else ()),
                )
            ]
        case parts.Table():
            cells = [text for row in part.rows for cell in row.cells for text in (cell.text, *cell.detail)]
            return [part.caption, *(column.title for column in part.columns), *cells] if part.rows else [part.empty]
        case parts.Log():
            return [text for line in part.lines for text in line]
        case parts.Chart():
            return [part.title, part.text]
    return []


@pytest.mark.parametrize("rendering", ["terminal", "page", "markdown"])
@pytest.mark.parametrize("name", STUDIES)
def test_every_figure_of_the_document_is_in_each_rendering(name, rendering):
    document, rendering_of = rendered(name)
    there = numbers(rendering_of[rendering])
    assert {where: missing for where, shown in figures(document).items() if (missing := shown - there)} == {}


@pytest.mark.parametrize("rendering", ["terminal", "page", "markdown"])
@pytest.mark.parametrize("name", STUDIES)
def test_every_word_of_the_document_is_in_each_rendering(name, rendering):
    document, rendering_of = rendered(name)
    there = set(WORD.findall(unmarked(rendering_of[rendering])))
    shown = {word for section in document.sections for part in every_part(section.parts) for word in said(part)}
    assert len(shown) > FEWEST
    assert shown - there == set()


def said(part):
    return WORD.findall(" ".join(texts(part)))


def unmarked(text):
    """Return text without what Markdown escapes, and without the places where a page lets long names break."""
    return html_entities.unescape(text).replace("\\", "").replace("\u200b", "")


@pytest.mark.parametrize("name", STUDIES)
def test_a_document_has_figures_and_one_that_is_not_rendered_would_be_missed(name):
    document, rendering_of = rendered(name)
    every = set().union(*figures(document).values())
    assert len(every) > FEWEST or name == "unfinished"
    for text in rendering_of.values():
        lost = max(every, key=len)
        assert every - numbers(text.replace(lost, "")) == {lost}


@pytest.mark.parametrize("name", STUDIES)
def test_no_rendering_has_a_figure_of_its_own(name):
    document, rendering_of = rendered(name)
    known = set().union(*figures(document).values()) | numbers(document.circumstances)
    for part in (part for section in document.sections for part in every_part(section.parts)):
        if isinstance(part, parts.Chart):
            known |= numbers(" ".join(toggle.spoken for toggle in part.toggles))
            known |= numbers(" ".join(choice.label for choice in part.choices))
            if part.forest:  # the ends of the axis, which a page draws from the chart itself
                known |= numbers(forest.lines(part.forest, 80, forest.UNICODE)[-1])
        if isinstance(part, parts.Reasons):
            for one in (card.dots for card in part.cards if card.dots):
                known |= numbers(" ".join([one.low, one.high, *(row.spoken for row in one.rows)]))
            known |= {str(part.start + place) for place in range(len(part.cards))}
        if isinstance(part, parts.MeasureSwitch):
            known |= numbers(part.latency)
    own = {
        "terminal": rendering_of["terminal"],
        "page": rendering_of["page"],
        "markdown": re.sub(r"&#\d+;", "", rendering_of["markdown"]),
    }
    assert {name: others for name, text in own.items() if (others := numbers(text) - known)} == {}


def test_every_part_is_shown_in_the_order_of_the_document_in_each_rendering():
    document, rendering_of = rendered("winner")
    titles = [
        part.title for section in document.sections for part in every_part(section.parts) if isinstance(part, parts.Group)
    ]
    assert len(titles) > 12
    for text in rendering_of.values():
        flat = " ".join(text.split())
        place = 0
        for title in titles:
            place = flat.index(title, place)


def test_keys_are_one_of_a_kind():
    document, _ = rendered("winner")
    keys = [
        (type(part).__name__, part.key)
        for section in document.sections
        for part in every_part(section.parts)
        if getattr(part, "key", "")
    ]
    assert len(keys) == len(set(keys))
