"""A verdict with all of its sentences, built from its codes and figures."""

from __future__ import annotations

from dialin.model.study import StudySpec
from dialin.model.verdict import Verdict
from dialin.report.headline import headline
from dialin.report.note_sentences import add_note_texts
from dialin.report.reason_sentences import reason


def add_sentences(spec: StudySpec, verdict: Verdict) -> Verdict:
    """Return a verdict with its headline, its reason and the texts of its notes as this version of dialin writes them."""
    return verdict.model_copy(
        update={
            "headline": headline(spec, verdict),
            "reason": reason(spec, verdict),
            "warnings": add_note_texts(spec, verdict.warnings),
            "confounds": add_note_texts(spec, verdict.confounds),
        }
    )
