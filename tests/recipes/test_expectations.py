import dataclasses

import pytest

from dialin.evidence.why_verdict import explain
from dialin.model.verdict import CandidateState, Estimate, Outcome
from dialin.recipes.library import Expectation
from fixtures import example_evidence, example_studies
from published.expectations import Agreement, check


def expecting(rule, candidates, **more):
    reported = {"agrees": "as it should", "differs": "for this reason", "inconclusive": "too little"}
    return Expectation(study="s", claim="A claim.", rule=rule, candidates=candidates, **{**reported, **more})


def with_candidate(record, name, **changes):
    """The record with other figures of one candidate."""
    found = [one.model_copy(update=changes) if one.name == name else one for one in record.verdict.candidates]
    verdict = record.verdict.model_copy(update={"candidates": found})
    return dataclasses.replace(record, verdict=verdict)


def without_winner(record):
    verdict = record.verdict.model_copy(update={"verdict": Outcome.SAFE_CHOICE, "winners": []})
    return dataclasses.replace(record, verdict=verdict)


def found(expectation, record):
    return check(expectation, record, explain(record))


def ratio(low, high):
    return Estimate(mean=(low * high) ** 0.5, low=low, high=high)


@pytest.fixture
def record():
    return example_evidence.waits_moved()


@pytest.mark.parametrize(
    ("rule", "interval", "says"),
    [
        ("faster", ratio(1.1, 1.3), "agrees"),
        ("faster", ratio(0.9, 1.3), "inconclusive"),
        ("faster", ratio(0.7, 0.9), "differs"),
        ("slower", ratio(0.7, 0.9), "agrees"),
        ("slower", ratio(1.1, 1.3), "differs"),
        ("alike", ratio(0.97, 1.04), "agrees"),
        ("alike", ratio(0.9, 1.04), "inconclusive"),
        ("alike", ratio(1.06, 1.2), "differs"),
        ("faster", Estimate(mean=1.2, low=None, high=None), "inconclusive"),
        ("faster", None, "inconclusive"),
    ],
)
def test_throughput_says_what_its_whole_interval_says(record, rule, interval, says):
    one = found(expecting(rule, ["8"]), with_candidate(record, "8", ratio=interval))
    assert one.agreement == says


@pytest.mark.parametrize(
    ("interval", "says"),
    [
        (ratio(2.6, 3.9), "agrees"),
        (ratio(2.4, 3.0), "inconclusive"),
        (ratio(3.5, 4.5), "inconclusive"),
        (ratio(1.02, 1.06), "differs"),
        (ratio(4.1, 5.0), "differs"),
        (ratio(0.5, 0.9), "differs"),
        (Estimate(mean=3.0, low=None, high=None), "inconclusive"),
    ],
)
def test_a_quantified_claim_is_held_against_its_whole_range_and_not_its_sign(record, interval, says):
    one = found(expecting("faster", ["8"], low=2.5, high=4), with_candidate(record, "8", ratio=interval))
    assert one.agreement == says
    assert "; agreement would be +150.0 % to +300.0 %: 8 " in one.figures


def test_half_as_long_again_is_not_a_tenth_longer(record):
    a_tenth = with_candidate(record, "8", ratio=ratio(0.88, 0.93))
    assert found(expecting("slower", ["8"], low=0.87, high=0.95), a_tenth).agreement is Agreement.AGREES
    half = found(expecting("slower", ["8"], low=0.6, high=0.75), a_tenth)
    assert half.agreement is Agreement.DIFFERS
    assert half.figures.endswith("−40.0 % to −25.0 %: 8 is outside")


def test_the_words_are_those_of_the_outcome_that_was_found(record):
    expectation = expecting("faster", ["8"])
    assert found(expectation, record).why == "as it should"
    assert found(expectation, with_candidate(record, "8", ratio=ratio(0.5, 0.6))).why == "for this reason"
    assert found(expectation, with_candidate(record, "8", ratio=None)).why == "too little"


def test_one_of_several_candidates_can_contradict_a_claim_and_all_must_support_it(record):
    several = expecting("faster", ["1", "8"])
    assert found(several, with_candidate(record, "1", ratio=ratio(1.1, 1.2))).agreement is Agreement.AGREES
    assert found(several, with_candidate(record, "1", ratio=ratio(0.9, 1.2))).agreement is Agreement.INCONCLUSIVE
    assert found(several, with_candidate(record, "1", ratio=ratio(0.8, 0.9))).agreement is Agreement.DIFFERS


@pytest.mark.parametrize(
    ("mine", "says"),
    [(ratio(0.01, 0.02), "agrees"), (ratio(0.04, 0.06), "inconclusive"), (ratio(0.2, 0.3), "differs"), (None, "inconclusive")],
)
def test_a_candidate_is_steadier_where_the_intervals_of_variation_do_not_meet(record, mine, says):
    made = with_candidate(with_candidate(record, "1", cv=ratio(0.05, 0.1)), "8", cv=mine)
    assert found(expecting("steadier", ["8"]), made).agreement == says


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (CandidateState.EQUAL, "inconclusive"),
        (CandidateState.TOO_CLOSE, "inconclusive"),
        (CandidateState.LIKELY_WORSE, "inconclusive"),
        (CandidateState.WORSE, "differs"),
    ],
)
def test_only_proof_contradicts_the_best_where_there_is_no_winner(record, state, says):
    assert found(expecting("best", ["8"]), without_winner(with_candidate(record, "8", state=state))).agreement == says


def test_the_best_is_the_one_that_wins(record):
    winner, *others = sorted(record.verdict.candidates, key=lambda one: one.name not in record.verdict.winners)
    assert found(expecting("best", [winner.name]), record).agreement is Agreement.AGREES
    assert found(expecting("best", [others[0].name]), record).agreement is Agreement.DIFFERS


def test_how_near_the_best_a_candidate_may_be_is_reported(record):
    made = with_candidate(record, "8", state=CandidateState.TOO_CLOSE, probability=0.543)
    one = found(expecting("best", ["8"]), without_winner(made))
    assert one.figures == "8 is too close to the baseline to tell, within 1 % of the best with a probability of 54.3 %"


@pytest.mark.parametrize("state", CandidateState)
def test_each_state_has_words(record, state):
    made = without_winner(with_candidate(record, "8", state=state))
    assert found(expecting("best", ["8"]), made).figures.startswith("8 ")


def test_a_candidate_that_is_a_tenth_faster_at_every_number_of_threads_gains_nothing_by_more_of_them():
    one = found(expecting("moves-up", ["8"]), _judged(example_evidence.levels()))
    assert one.agreement is Agreement.INCONCLUSIVE
    assert "from 1 to 64" in one.figures


def _judged(record):
    """A record without a verdict, given one: only the baseline's name is looked at."""
    verdict = example_studies.no_difference().verdict.model_copy(update={"baseline": record.spec.baseline})
    return dataclasses.replace(record, verdict=verdict)


def waits(record, **changes):
    """The Why of a record, whose waits have these figures by candidate."""
    why = explain(record)
    rows = [
        row.model_copy(update={key: values[row.candidate] for key, values in changes.items()})
        if row.operation == "(all)"
        else row
        for row in why.waits
    ]
    return why.model_copy(update={"waits": rows})


@pytest.mark.parametrize(
    ("rule", "figures", "says"),
    [
        ("mean-above-p99", {"mean_ns": {"1": 9.0, "8": 9.0}, "p99_ns": {"1": 5.0, "8": 6.0}}, "agrees"),
        ("mean-above-p99", {"mean_ns": {"1": 9.0, "8": 5.0}, "p99_ns": {"1": 5.0, "8": 6.0}}, "inconclusive"),
        ("mean-above-p99", {"mean_ns": {"1": 4.0, "8": 5.0}, "p99_ns": {"1": 5.0, "8": 6.0}}, "differs"),
        ("tail-shrinks", {"worst_share": {"1": 0.9, "8": 0.5}}, "agrees"),
        ("tail-shrinks", {"worst_share": {"1": 0.5, "8": 0.9}}, "differs"),
        ("p90-alike", {"p90_ns": {"1": 100.0, "8": 104.0}}, "agrees"),
        ("p90-alike", {"p90_ns": {"1": 100.0, "8": 140.0}}, "differs"),
    ],
)
def test_waits_say_what_their_figures_say(record, rule, figures, says):
    one = check(expecting(rule, ["1", "8"]), record, waits(record, **figures))
    assert one.agreement == says
    assert one.one_trial


@pytest.mark.parametrize("rule", ["mean-above-p99", "tail-shrinks", "p90-alike", "moves-up"])
def test_expectations_that_were_not_measured_are_open(rule):
    assert found(expecting(rule, ["1", "16"]), example_studies.no_difference()).agreement is Agreement.INCONCLUSIVE


def test_a_study_without_a_verdict_says_nothing():
    assert found(expecting("faster", ["4"]), example_studies.unfinished()).agreement is Agreement.INCONCLUSIVE
