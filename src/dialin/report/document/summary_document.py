"""What a study answers, as a document of one screen: what to set, what that changes, why, and the first caveats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dialin.apply.option_file import changes
from dialin.measures.of_verdict import capital, measure_of
from dialin.model.record import StudyRecord
from dialin.model.verdict import Verdict
from dialin.model.why import Why
from dialin.report.document import why_sentences
from dialin.report.document.main_figures import figures_table
from dialin.report.document.parts import (
    Caveats,
    Code,
    Document,
    Group,
    Pairs,
    Paragraph,
    Part,
    Role,
    Section,
    SectionKey,
    find,
)
from dialin.report.document.study_document import study_document
from dialin.report.document.verdict_section import consequences
from dialin.report.tune_effects import shown_effects, shown_text
from dialin.sentences import verdict_sentences
from dialin.text import counted, visible

_MOST_ROWS = 9
"""A forest plot of more candidates has no room."""

_MOST_CAVEATS = 2
_SERIOUS = ("confound", "warning")

_LEFT_OUT = ("queries", "p50", "p95", "p99", "memory")
"""The keys of main figures that are only in the whole report; the percentile that the study reports has a key of its own."""


def summary_document(record: StudyRecord, why: Why, document: Document | None = None) -> Document:
    """Return the summary of a study; of one without a verdict, its state and how to go on.

    `document` is the whole report of the study, where the caller has it.
    """
    whole = study_document(record, why) if document is None else document
    parts = list(_parts(record, record.verdict, whole, why) if record.verdict else whole.section(SectionKey.VERDICT).parts)
    circumstances = verdict_sentences.circumstances(record, record.verdict) if record.verdict else ""
    return replace(whole, circumstances=circumstances, sections=[Section(SectionKey.VERDICT, "", parts)])


def _parts(record: StudyRecord, verdict: Verdict, whole: Document, why: Why) -> Iterator[Part]:
    parts = whole.section(SectionKey.VERDICT).parts
    yield from (part for part in parts if isinstance(part, Paragraph) and part.role is Role.REASON)
    yield from (part for part in _group(parts, "apply") if isinstance(part, (Code, Paragraph)))
    if changes(record):
        yield Paragraph(f"{capital('; '.join(f'{label} {text}' for label, text in consequences(record)))}.")
    yield figures_table(record, verdict, why, whole.candidates, _LEFT_OUT)
    yield from [one for one in whole.charts() if one.forest and len(one.forest.rows) <= _MOST_ROWS][:1]
    if verdict.tune is not None:
        matters = shown_effects(verdict.tune, record.spec, measure_of(verdict))
        yield Paragraph(visible(shown_text(matters, len(verdict.tune.variables))))
    yield Pairs([("Why", why_sentences.strongest(why, record))])
    every = [one for part in _group(parts, "caveats") if isinstance(part, Caveats) for one in part.caveats]
    serious = [replace(one, data=()) for one in every if one.kind in _SERIOUS]
    yield Caveats(serious[:_MOST_CAVEATS])
    if len(serious) > _MOST_CAVEATS:
        yield Paragraph(f"The whole report has {counted(len(serious) - _MOST_CAVEATS, 'more caveat')}.")


def _group(parts: Sequence[Part], key: str) -> Sequence[Part]:
    found = find(parts, key)
    return found.parts if isinstance(found, Group) else ()
