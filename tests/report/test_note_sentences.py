"""A verdict's sentences are made of codes and figures when they are shown, so an old study speaks today's language."""

import re
from pathlib import Path

import pytest

from dialin.model.study import Goal
from dialin.model.verdict import Note, ReasonCode
from dialin.report import json_documents, note_sentences
from dialin.report.note_sentences import note_text
from dialin.report.reason_sentences import reason
from dialin.report.verdict_texts import add_sentences
from fixtures import example_studies

SOURCES = Path(note_sentences.__file__).parents[1]
MADE_IN = ("verdict", "variables", "evidence", "workloads")
CODE = re.compile(r"""(?:Note\(\s*code=|_note\()"([a-z_]+)\"""")


def codes_in_sources():
    texts = (path.read_text() for folder in MADE_IN for path in (SOURCES / folder).rglob("*.py"))
    return {code for text in texts for code in CODE.findall(text)}


def test_every_code_that_the_sources_note_has_a_sentence():
    codes = codes_in_sources()
    assert {"unsafe", "not_steady", "rate_not_reached", "without_effect", "driver_changed", "other_load"} <= codes
    assert codes <= set(note_sentences._SENTENCES)


def test_no_source_writes_a_sentence_into_a_note_of_a_verdict():
    for folder in ("verdict", "variables", "evidence"):
        for path in (SOURCES / folder).rglob("*.py"):
            assert not re.search(r"Note\([^)]*text=f?\"", path.read_text()), path


def test_a_sentence_is_made_of_code_and_figures_whatever_was_stored():
    spec = example_studies.winner().spec
    data = {"candidate": "16", "failed": 2, "trials": 5, "baseline_failed": 0, "baseline_trials": 6}
    note = Note(code="unsafe", text="an old sentence", data=data)
    assert note_text(spec, note) == (
        "innodb_buffer_pool_instances = 16 is never recommended: its server failed in 2 of 5 trials; the baseline's failed in "
        "0 of 6"
    )


def test_an_odd_trial_is_named_with_its_difference():
    spec = example_studies.winner().spec
    one = Note(code="odd_trials", data={"candidate": "16", "of": 6, "ratios": [0.9], "trials": [11]})
    assert note_text(spec, one) == (
        "innodb_buffer_pool_instances = 16: 1 of 6 trials was 10.0 % slower than its others, which its seconds do not explain. "
        "Trials: 11"
    )
    two = one.model_copy(update={"data": {**one.data, "ratios": [0.9, 0.8], "trials": [3, 11]}})
    assert "2 of 6 trials were up to 20.0 % slower than its others" in note_text(spec, two)
    steadiness = spec.model_copy(update={"goal": Goal.STABILITY})
    assert "1 of 6 trials was 10.0 % worse" in note_text(steadiness, one)


@pytest.mark.parametrize(
    "note",
    [
        Note(code="of_another_dialin", text="as stored"),
        Note(code="unsafe", text="as stored"),
        Note(code="unsafe", text="as stored", data={"candidate": "no such candidate"}),
        Note(code="not_steady", text="as stored", data={"trials": 3, "of": None}),
        Note(code="confound", text="as stored", data={"variable": "x", "values": ["a"], "hold": {}}),
    ],
)
def test_a_note_that_is_not_known_here_is_shown_as_it_was_stored(note):
    assert note_text(example_studies.winner().spec, note) == "as stored"


def test_an_old_verdict_is_shown_and_written_in_todays_words():
    record = example_studies.winner()
    data = {"noise": 0.05, "expected": 0.02}
    old = record.verdict.model_copy(
        update={
            "headline": "told in another dialect",
            "reason": "told in another dialect",
            "warnings": [Note(code="noisier_than_expected", text="told in another dialect", data=data)],
        }
    )
    text = json_documents.render_verdict(add_sentences(record.spec, old))
    assert "dialect" not in text
    assert "Noise was 5.0 %, expected 2.0 % from earlier studies" in text
    assert "Every other candidate was shown to be worse." in text


@pytest.mark.parametrize("code", ReasonCode)
def test_every_reason_is_a_sentence_that_names_the_recommendation_or_the_baseline(code):
    record = example_studies.winner()
    data = {"candidates": ["1", "2"], "candidate": "2", "losses": [], "is_better": True, "can_be_held": True}
    data |= {"worthwhile": 0.02, "since": 120.0}
    verdict = record.verdict.model_copy(update={"reason": "", "reason_code": code, "reason_data": data})
    text = reason(record.spec, verdict)
    assert text.endswith(".")
    assert text[0].isupper() or text.startswith("innodb_")


def test_a_reason_without_its_figures_is_shown_as_it_was_stored():
    record = example_studies.winner()
    verdict = record.verdict.model_copy(update={"reason": "as stored", "reason_code": ReasonCode.CONFOUNDED})
    assert reason(record.spec, verdict) == "as stored"


def test_durability_that_was_given_up_is_said_with_the_reason():
    record = example_studies.weaker_durability()
    two = record.verdict.model_copy(update={"recommended_candidate": "2", "reason_code": ReasonCode.OTHERS_WORSE})
    spec = record.spec.model_copy(update={"accept_weaker_durability": True})
    assert "It weakens durability, which you accepted: a crash of the machine can lose" in reason(spec, two)
    assert reason(record.spec, record.verdict) == (
        "innodb_flush_log_at_trx_commit = 2 is better but weakens durability: a crash of the machine can lose about the last "
        "second of commits. It is recommended only if you accept that: dialin report DIR --accept-weaker-durability."
    )
