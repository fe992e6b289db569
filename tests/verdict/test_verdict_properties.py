"""Whatever trials are called, in which order they stand, and in which unit: the verdict is the same."""

import math
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialin.measures.table import COSTS
from dialin.model.study import Goal
from dialin.model.trial import Purpose
from dialin.model.verdict import Outcome, ReasonCode
from dialin.verdict.reach_verdict import reach_verdict
from fixtures.study_builder import VARIABLE, Plan, Shape, build

GOALS = [goal for goal in Goal if goal not in COSTS]
"""Those of loads that dialin applies."""


@st.composite
def studies(draw):
    """A study of two to four candidates, of one goal; the last candidate may have no trial after the second block."""
    count, blocks = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    levels = draw(st.lists(st.sampled_from([1000.0, 1004.0, 1015.0, 1040.0, 1200.0]), min_size=count, max_size=count))
    steady = draw(st.lists(st.sampled_from([0.02, 0.03, 0.08]), min_size=count, max_size=count))
    shapes = [
        Shape(f"pool {value}", {VARIABLE: value}, level, noise=noise, stalls=draw(st.sampled_from([0, 0, 1])))
        for value, level, noise in zip((1, 8, 16, 64), levels, steady, strict=False)
    ]
    if count > 2 and draw(st.booleans()):
        shapes[-1] = replace(shapes[-1], level=700.0, last_block=2)
    plan = Plan(
        blocks=blocks,
        warm_up=2,
        measure=20,
        seed=draw(st.integers(0, 50)),
        between=draw(st.sampled_from([0.001, 0.006, 0.03])),
        goal=draw(st.sampled_from(GOALS)),
        aa=draw(st.sampled_from([False, False, True])),
    )
    return build(shapes, None, plan)


def changed(record, change):
    """The record with each second of each trial changed."""
    return replace(
        record,
        samples={trial.id: [change(trial, sample) for sample in record.samples[trial.id]] for trial in record.trials},
    )


def renamed(record, names, order):
    """The record with other names for its candidates, which also stand in another order."""
    candidates = [one.model_copy(update={"name": names[one.name]}) for one in record.spec.candidates]
    spec = record.spec.model_copy(
        update={"candidates": tuple(candidates[index] for index in order), "baseline": names[record.spec.baseline]}
    )
    blocks = [replace(block, order=tuple(names[name] for name in block.order)) for block in record.blocks]
    trials = [replace(trial, candidate=names[trial.candidate]) for trial in record.trials]
    return replace(record, spec=spec, blocks=blocks, trials=trials)


def words(verdict):
    """Return the headline without the figures that have a unit: those of the baseline and of a candidate."""
    return re.sub(r"[\d.,]+(?: %)? → [\d.,]+ ?(?:%|tps|ms)", "…", verdict.headline)


def interval(estimate):
    return (
        None if estimate is None else tuple(0 if one is None else one for one in (estimate.mean, estimate.low, estimate.high))
    )


def of(verdict, names=None):
    """All that a verdict decides and compares, by the candidates' first names; what it rounds nowhere."""
    first = {new: old for old, new in (names or {}).items()}
    return {
        "verdict": verdict.verdict,
        "recommended": first.get(verdict.recommended_candidate, verdict.recommended_candidate),
        "winners": {first.get(name, name) for name in verdict.winners},
        "blocks": verdict.blocks,
        "warnings": {note.code for note in verdict.warnings},
        "candidates": {
            first.get(one.name, one.name): (one.state, one.probability, one.trials, one.unsteady) for one in verdict.candidates
        },
    }


def figures(verdict, names=None):
    """Its comparisons, as figures."""
    first = {new: old for old, new in (names or {}).items()}
    found = {"detectable": verdict.detectable or 0, "noise": verdict.trial_noise or 0}
    for one in verdict.candidates:
        for what in ("ratio", "goal_ratio", "cv", "stall_seconds_per_1000"):
            for part, value in zip(("mean", "low", "high"), interval(getattr(one, what)), strict=True):
                found[first.get(one.name, one.name), what, part] = value
    return found


def assert_same(found, again, names=None):
    assert of(again, names) == of(found)
    assert figures(again, names) == pytest.approx(figures(found), rel=1e-6, abs=1e-9)


@settings(max_examples=8)
@given(studies(), st.data())
def test_names_and_the_order_of_candidates_and_of_trials_change_no_verdict(record, data):
    names = dict(zip([one.name for one in record.spec.candidates], data.draw(st.permutations("pqrs")), strict=False))
    order = data.draw(st.permutations(range(len(names))))
    other = renamed(record, names, order)
    other = replace(other, trials=data.draw(st.permutations(other.trials)))
    found, again = reach_verdict(record), reach_verdict(other)
    assert again.decided == found.decided
    assert_same(found.verdict, again.verdict, names)
    pareto = [{names.get(one.name, one.name) for one in v.verdict.candidates if one.pareto} for v in (found, again)]
    assert pareto[0] == pareto[1]


@settings(max_examples=8)
@given(studies(), st.sampled_from([60.0, 0.001, 7.3]), st.sampled_from([1000.0, 0.001]))
def test_the_unit_changes_no_verdict_and_no_word_of_it(record, unit, other_unit):
    scaled = changed(record, lambda _, one: replace(one, tps=unit * one.tps, latency_ms=other_unit * one.latency_ms))
    found, again = reach_verdict(record).verdict, reach_verdict(scaled).verdict
    assert_same(found, again)
    assert (words(again), again.reason) == (words(found), found.reason)
    for one, other in zip(found.candidates, again.candidates, strict=True):
        assert interval(other.tps) == pytest.approx([unit * part for part in interval(one.tps)])
        assert interval(other.latency_ms) == pytest.approx([other_unit * part for part in interval(one.latency_ms)])


DRIFTS = {
    "rising": lambda part: 0.8 + 0.4 * part,
    "falling": lambda part: 1.2 - 0.4 * part,
    "a wave": lambda part: 1 + 0.2 * math.sin(2 * math.pi * part),
}


@pytest.mark.parametrize("drift", DRIFTS)
@pytest.mark.parametrize("seed", range(3))
def test_a_smooth_drift_that_all_trials_share_hardly_moves_a_comparison(drift, seed):
    shapes = [Shape(f"pool {value}", {VARIABLE: value}, level) for value, level in ((1, 1000.0), (8, 1040.0), (16, 1100.0))]
    record = build(shapes, None, Plan(blocks=6, warm_up=2, measure=20, seed=seed))
    began, ended = record.trials[0].started, record.trials[-1].started

    def drifted(trial, one):
        return replace(one, tps=DRIFTS[drift]((trial.started - began) / (ended - began)) * one.tps)

    found, again = reach_verdict(record).verdict, reach_verdict(changed(record, drifted)).verdict
    assert again.recommended_candidate == found.recommended_candidate == "pool 16"
    for one, other in zip(found.candidates, again.candidates, strict=True):
        assert other.ratio.mean == pytest.approx(one.ratio.mean, rel=0.015)
        assert other.ratio.low <= one.ratio.mean <= other.ratio.high


@pytest.mark.parametrize("goal", GOALS)
def test_fresh_trials_confirm_and_change_nothing_else(goal):
    shapes = [Shape("1", {VARIABLE: 1}, 1000), Shape("8", {VARIABLE: 8}, 1200, noise=0.005)]
    record = build(shapes, None, Plan(blocks=4, warm_up=2, measure=20, goal=goal))
    fresh = [replace(t, id=t.id + 100, block=t.block + 4, purpose=Purpose.CONFIRM) for t in record.trials]
    slower = {t.id: [replace(one, tps=0.9 * one.tps) for one in record.samples[t.id - 100]] for t in fresh}
    more = replace(record, trials=[*record.trials, *fresh], samples={**record.samples, **slower})
    plain, confirmed = reach_verdict(record).verdict, reach_verdict(more).verdict
    assert_same(plain, confirmed)
    assert plain.confirmed is None
    assert (confirmed.confirmed.candidate, confirmed.confirmed.blocks) == ("8", 4)
    ratio = confirmed.confirmed.ratio
    assert ratio.low <= plain.candidates[1].goal_ratio.mean <= ratio.high, "the same seconds, compared within pairs"


def test_a_recommendation_that_was_shown_better_is_said_to_be_so_though_the_study_is_inconclusive():
    shapes = [Shape(str(value), {VARIABLE: value}, level) for value, level in ((1, 1000.0), (8, 1300.0), (16, 1301.0))]
    verdict = reach_verdict(build(shapes, None, Plan(blocks=3, warm_up=2, measure=20, between=0.02))).verdict
    assert verdict.reason_code is ReasonCode.SHOWN_BETTER
    assert verdict.verdict is Outcome.INCONCLUSIVE
    assert verdict.shown_better
