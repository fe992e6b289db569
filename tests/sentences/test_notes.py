"""A note has typed figures and makes its sentence of them when it is shown, so an old study speaks today's language."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

import dialin
from dialin import json_documents
from dialin.model.cause import Cause
from dialin.model.study import Goal
from dialin.model.verdict import Note, ReasonCode
from dialin.sentences.notes import KINDS, note_text, read
from dialin.sentences.reasons import reason
from dialin.sentences.result_notes import FailedTrials, OddTrials, Unsafe
from dialin.sentences.verdict_sentences import add_sentences
from fixtures import example_studies

SOURCES = Path(dialin.__file__).parent
UNSAFE = Unsafe(candidate="16", failed=2, trials=5, baseline_failed=0, baseline_trials=6)


def test_notes_of_a_verdict_are_made_of_typed_figures_only():
    for folder in ("verdict", "variables", "evidence", "workloads", "places", "race"):
        for path in (SOURCES / folder).rglob("*.py"):
            assert not re.search(r"\bNote\(", path.read_text()), path


def test_every_kind_of_note_is_listed_by_its_code():
    assert {"unsafe", "not_steady", "rate_not_reached", "without_effect", "driver_changed", "replay_late"} <= set(KINDS)


@pytest.mark.parametrize("figures", [{}, {"candidate": "16", "faild": 2}])
def test_a_note_without_its_figures_or_with_a_misspelt_one_cannot_be_made(figures):
    with pytest.raises(ValidationError):
        Unsafe(**figures)


def test_a_stored_note_is_read_as_it_was_made():
    failed = FailedTrials(candidate="16", failed=1, cause=Cause.quoted("no space"))
    assert [read(note.stored()) for note in (UNSAFE, failed)] == [UNSAFE, failed]


def test_a_sentence_is_made_of_code_and_figures_whatever_was_stored():
    spec = example_studies.winner().spec
    note = UNSAFE.stored().model_copy(update={"text": "an old sentence"})
    assert note_text(spec, note) == (
        "innodb_buffer_pool_instances = 16 is never recommended: its server failed in 2 of 5 trials; the baseline's failed in "
        "0 of 6"
    )


def test_an_odd_trial_is_named_with_its_difference():
    spec = example_studies.winner().spec
    one = OddTrials(candidate="16", of=6, ratios=(0.9,), trials=(11,))
    assert one.sentence(spec) == (
        "innodb_buffer_pool_instances = 16: 1 of 6 trials was 10.0 % slower than its others, which its seconds do not explain. "
        "Trials: 11"
    )
    two = one.model_copy(update={"ratios": (0.9, 0.8), "trials": (3, 11)})
    assert "2 of 6 trials were up to 20.0 % slower than its others" in two.sentence(spec)
    steadiness = spec.model_copy(update={"goal": Goal.STABILITY})
    assert "1 of 6 trials was 10.0 % better" in one.sentence(steadiness), "the measure is how much seconds vary"
    worse = one.model_copy(update={"ratios": (1.2, 0.8), "trials": (3, 11)})
    assert "2 of 6 trials were up to 20.0 % better" in worse.sentence(steadiness), "a fifth less is more than a fifth more"


def test_a_trial_that_a_proof_leaves_out_is_named_as_one_that_does_not_count():
    spec = example_studies.winner().spec
    one = OddTrials(candidate="16", of=6, ratios=(0.9,), trials=(11,), left_out=True)
    assert one.sentence(spec).endswith("10.0 % slower than its others, and does not count: something disturbed it. Trials: 11")


def test_failed_trials_of_an_unknown_cause_are_said_to_have_none():
    spec = example_studies.winner().spec
    assert FailedTrials(candidate="16", failed=2, cause=None).sentence(spec).endswith("2 trials failed; reason not available")


@pytest.mark.parametrize(
    "note",
    [
        Note(code="of_another_dialin", text="as stored"),
        Note(code="unsafe", text="as stored"),
        Note(code="unsafe", text="as stored", data={**UNSAFE.model_dump(), "candidate": "no such candidate"}),
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


FIGURES = {
    ReasonCode.WEAKER_DURABILITY: {"candidate": "2", "losses": []},
    ReasonCode.FEWEST_CHANGES: {"worthwhile": 0.02},
    ReasonCode.GAIN_EXCLUDED: {"worthwhile": 0.02},
    ReasonCode.LATE_EFFECT: {"since": 120.0},
    ReasonCode.CONFOUNDED: {"variable": "sync_binlog", "can_be_held": True},
    ReasonCode.OTHERS_FAILED: {"candidates": ["4", "8"]},
    ReasonCode.SHOWN_BETTER: {"candidates": ["4", "8"]},
}


@pytest.mark.parametrize("code", ReasonCode)
def test_every_reason_is_a_sentence_that_names_the_recommendation_or_the_baseline(code):
    record = example_studies.winner()
    verdict = record.verdict.model_copy(update={"reason": "", "reason_code": code, "reason_data": FIGURES.get(code, {})})
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
    two = two.model_copy(update={"reason_data": {}})
    spec = record.spec.model_copy(update={"accept_weaker_durability": True})
    assert "It weakens durability, which you accepted: a crash of the machine can lose" in reason(spec, two)
    assert reason(record.spec, record.verdict) == (
        "With innodb_flush_log_at_trx_commit = 2, a crash of the machine can lose about the last second of commits. It is "
        "recommended only if you accept that: dialin report DIR --accept-weaker-durability."
    )
