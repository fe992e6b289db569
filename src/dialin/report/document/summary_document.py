"""What a study answers, as a document of one screen: what to set, what that changes, why, and the worst caveats."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dialin.apply.option_file import changes
from dialin.measures.of_verdict import capital, measure_of
from dialin.model.record import StudyRecord
from dialin.model.study import Candidate
from dialin.model.verdict import ReasonCode, Verdict
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
from dialin.report.document.verdict_section import consequences, unwritten_text
from dialin.report.tune_effects import shown_effects, shown_text
from dialin.sentences import verdict_sentences
from dialin.sentences.headline import claim
from dialin.sentences.names import name_in_sentence
from dialin.sentences.result_notes import WeakerDurability
from dialin.text import counted, size, visible

_SERIOUS = ("confound", "warning")

_SAID_BY_CLAIM = (
    ReasonCode.OTHERS_WORSE,
    ReasonCode.NEAR_THE_BEST,
    ReasonCode.NOTHING_TO_GAIN,
    ReasonCode.BASELINE_AMONG_BEST,
    ReasonCode.BASELINE_IS_BEST,
    ReasonCode.NOTHING_SHOWN,
    ReasonCode.FEWEST_CHANGES,
)
"""Reasons that add nothing to `SET`, `KEEP` and the claim."""

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
    yield from map(Paragraph, _what_it_takes(record))
    yield figures_table(record, verdict, why, whole.candidates, left_out=_LEFT_OUT)
    yield from [one for one in whole.charts() if one.forest][:1]
    if verdict.tune is not None:
        matters = shown_effects(verdict.tune, record.spec, measure_of(verdict))
        yield Paragraph(visible(shown_text(matters, len(verdict.tune.variables))))
    yield Pairs([("Why", why_sentences.strongest(why, record))])
    every = [one for part in _group(parts, "caveats") if isinstance(part, Caveats) for one in part.caveats]
    serious = [one for one in every if one.kind in _SERIOUS and one.code != WeakerDurability.code]  # said where it is refused
    more = f" The whole report has {counted(len(serious) - 1, 'more caveat')}." if serious[1:] else ""
    yield Caveats([replace(one, data=(), text=f"{one.text}{more}") for one in serious[:1]])


def answer(record: StudyRecord, verdict: Verdict) -> tuple[list[str], str]:
    """Return the recommendation as lines, such as `SET innodb_io_capacity = 4000`, and the verdict in a paragraph.

    The paragraph has the gain, why it is not followed where it is not, and what it takes: a restart, durability.
    """
    changed = changes(record)
    first, *others = [one.line for one in changed if one.line is not None] or [""]
    texts = [unwritten_text(one) for one in changed if one.line is None]
    if first:
        lines = [f"SET {first}", *(f"    {line}" for line in others)]
        if verdict.tune is None:
            texts += _on_what(*map(record.spec.candidate, (verdict.recommended_candidate, verdict.baseline)))
    elif record.spec.is_aa:
        lines = []
    elif not changed and verdict.recommended_candidate == verdict.baseline and verdict.chosen.trials:
        lines = [f"KEEP {visible(name_in_sentence(record.spec, verdict.baseline))}"]
    else:
        lines = [] if changed else [verdict_sentences.no_change(record)]
    texts.append(visible(claim(record.spec, verdict)))
    if verdict.reason_code not in _SAID_BY_CLAIM:
        texts.append(verdict_sentences.reason(record))
    return lines, " ".join([*texts, *_what_it_takes(record)])


def _on_what(chosen: Candidate, baseline: Candidate) -> list[str]:
    """Return the build, and the limit of memory, of a choice that differs from the baseline by these besides its setting."""
    build = f"on {visible(chosen.server)}" if chosen.server != baseline.server else ""
    memory = f"with a memory limit of {size(chosen.memory)}" if chosen.memory and chosen.memory != baseline.memory else ""
    return [f"{capital(' '.join(filter(None, (build, memory))))}."] if build or memory else []


def _what_it_takes(record: StudyRecord) -> list[str]:
    return [f"{capital('; '.join(f'{label} {text}' for label, text in consequences(record)))}."] if changes(record) else []


def _group(parts: Sequence[Part], key: str) -> Sequence[Part]:
    found = find(parts, key)
    return found.parts if isinstance(found, Group) else ()
