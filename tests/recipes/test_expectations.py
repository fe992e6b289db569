import dataclasses
import math

import pytest

from dialin.model.study import Goal
from dialin.model.trial import Purpose
from dialin.model.verdict import Estimate
from dialin.recipes.library import Expectation
from dialin.verdict.reach_verdict import reach_verdict
from fixtures import example_evidence, example_studies
from published import expectations
from published.expectations import Agreement, check


def expecting(rule, candidates, **more):
    reported = {"agrees": "as it should", "differs": "for this reason", "inconclusive": "too little"}
    return Expectation(study="s", claim="A claim.", rule=rule, candidates=candidates, **{**reported, **more})


def ratio(low, high):
    return Estimate(mean=(low * high) ** 0.5, low=low, high=high)


@pytest.fixture
def record():
    return example_evidence.waits_moved()


@pytest.fixture
def having(record, monkeypatch):
    """Hold a claim against a study whose candidates have these ratios to the baseline of the comparison."""

    def having(expectation, **ratios):
        monkeypatch.setattr(expectations, "_compared", lambda *_: {name.strip("_"): one for name, one in ratios.items()})
        return check(expectation, record)

    return having


@pytest.mark.parametrize(
    ("rule", "interval", "says"),
    [
        ("faster", ratio(1.1, 1.3), "agrees"),
        ("faster", ratio(0.9, 1.3), "inconclusive"),
        ("faster", ratio(1.01, 1.09), "inconclusive"),
        ("faster", ratio(0.99, 1.04), "differs"),
        ("faster", ratio(0.7, 0.9), "differs"),
        ("slower", ratio(0.7, 0.9), "agrees"),
        ("slower", ratio(0.96, 1.02), "differs"),
        ("alike", ratio(0.97, 1.04), "agrees"),
        ("alike", ratio(0.9, 1.04), "inconclusive"),
        ("alike", ratio(1.06, 1.2), "differs"),
        ("steadier", ratio(0.5, 0.9), "agrees"),
        ("steadier", ratio(0.9, 0.99), "inconclusive"),
        ("steadier", ratio(0.97, 1.02), "differs"),
        ("faster", Estimate(mean=1.2, low=None, high=None), "inconclusive"),
        ("faster", None, "inconclusive"),
    ],
)
def test_a_comparison_says_what_its_whole_interval_says_of_a_difference_of_five_percent(having, rule, interval, says):
    assert having(expecting(rule, ["8"]), _8=interval).agreement == says


@pytest.mark.parametrize(
    ("interval", "says"),
    [
        (ratio(2.6, 3.9), "agrees"),
        (ratio(2.4, 3.0), "inconclusive"),
        (ratio(3.5, 4.5), "inconclusive"),
        (ratio(1.02, 1.06), "differs"),
        (ratio(4.1, 5.0), "differs"),
    ],
)
def test_a_quantified_claim_is_held_against_its_whole_range_and_not_its_sign(having, interval, says):
    one = having(expecting("faster", ["8"], low=2.5, high=4), _8=interval)
    assert one.agreement == says
    assert one.figures.endswith("; agreement would be +150.0 % to +300.0 %")


def test_the_words_are_those_of_the_outcome_that_was_found(having):
    expectation = expecting("faster", ["8"])
    assert having(expectation, _8=ratio(1.1, 1.2)).why == "as it should"
    assert having(expectation, _8=ratio(0.5, 0.6)).why == "for this reason"
    assert having(expectation, _8=None).why == "too little"


def test_one_of_several_candidates_can_contradict_a_claim_and_all_must_support_it(having):
    several = expecting("alike", ["4", "8"])
    assert having(several, _4=ratio(0.99, 1.01), _8=ratio(0.98, 1.02)).agreement is Agreement.AGREES
    assert having(several, _4=ratio(0.99, 1.01), _8=ratio(0.9, 1.02)).agreement is Agreement.INCONCLUSIVE
    assert having(several, _4=ratio(0.9, 1.01), _8=ratio(0.8, 0.9)).agreement is Agreement.DIFFERS


@pytest.mark.parametrize(
    ("others", "says"),
    [
        ({"_1": ratio(0.8, 0.9), "_4": ratio(0.9, 0.98)}, "agrees"),
        ({"_1": ratio(0.8, 0.9), "_4": ratio(1.02, 1.1)}, "differs"),
        ({"_1": ratio(0.97, 1.02), "_4": ratio(0.98, 1.03)}, "differs"),
        ({"_1": ratio(0.8, 0.9), "_4": ratio(0.9, 1.1)}, "inconclusive"),
    ],
)
def test_the_best_is_faster_than_all_others_and_one_that_all_equal_is_not(having, others, says):
    one = having(expecting("best", ["8"]), **others)
    assert one.agreement == says
    assert one.figures.startswith("the fastest of the others is 4: throughput ")


@pytest.mark.parametrize(("cpus", "says"), [(2, "cannot"), (16, "differs"), (32, "differs")])
def test_what_needs_more_cpus_is_not_refuted_by_a_machine_with_fewer(record, monkeypatch, cpus, says):
    monkeypatch.setattr(expectations, "_compared", lambda *_: {"8": ratio(0.9, 0.95)})
    host = {**record.host, "cpus": cpus}
    claim = expecting("faster", ["8"], cpus=16, cannot="two threads do not contend")
    assert check(claim, dataclasses.replace(record, host=host)).agreement == says


def test_how_much_narrower_an_interval_must_be_follows_from_its_distance_to_the_range(having):
    """An interval of ±4 % about +2 % reaches 2 % below 0 and, for `alike`, 1 % beyond the range: 3 % are left of its 4 %."""
    one = having(expecting("alike", ["8"]), _8=ratio(math.exp(-0.02), math.exp(0.06)))
    assert one.narrower == pytest.approx(0.04 / (math.log(1.05) - 0.02))
    assert having(expecting("alike", ["8"]), _8=ratio(0.99, 1.01)).narrower == 1
    assert having(expecting("alike", ["8"]), _8=None).narrower == math.inf


def test_figures_are_those_of_a_verdict_of_the_same_goal(record):
    (_, other) = reach_verdict(record).verdict.candidates
    assert expectations._compared(record, Goal.THROUGHPUT, "1")["8"] == other.ratio
    steady = reach_verdict(dataclasses.replace(record, spec=record.spec.model_copy(update={"goal": Goal.STABILITY}))).verdict
    assert expectations._compared(record, Goal.STABILITY, "1")["8"] == steady.candidates[1].goal_ratio
    assert check(expecting("faster", ["8"]), record).agreement is Agreement.AGREES, "1,180 and 1,400 tps"


def test_an_answer_holds_for_all_candidates_of_a_claim_and_all_sessions_of_a_study(record):
    """8 is +18.4 % faster: by the interval of this figure alone by +15.4 % at least."""
    later = dataclasses.replace(record, trials=[dataclasses.replace(one, session=2) for one in record.trials])
    assert "(+15.4 % to " in check(expecting("faster", ["8"]), record).figures
    assert "(+14.8 % to " in check(expecting("faster", ["8"]), later).figures
    assert "(+15.0 % to " in check(expecting("faster", ["8", "16"]), record).figures
    claim = expecting("faster", ["8"], low=1.15)
    assert (check(claim, record).agreement, check(claim, later).agreement) == (Agreement.AGREES, Agreement.INCONCLUSIVE)


def test_a_candidate_that_is_a_tenth_faster_at_every_number_of_threads_gains_nothing_by_more_of_them():
    one = check(expecting("moves-up", ["8"], within=0.5), example_evidence.levels())
    assert one.agreement is Agreement.DIFFERS
    assert "from 1 to 64" in one.figures


@pytest.fixture
def waiting(record):
    """Hold a claim against a study of which each trial of the race also collected waits, with these figures by candidate."""

    def waiting(expectation, trials=5, **figures):
        raw = next(iter(record.waits.values()))
        made = {}
        chosen = [one for one in record.trials if one.purpose is Purpose.RACE and one.block <= trials]
        for one in chosen:
            values = {key: value[one.candidate] * (1 + 0.002 * (one.block % 2)) for key, value in figures.items()}
            rows = tuple(dataclasses.replace(row, **values) if row.operation == "(all)" else row for row in raw.rows)
            made[one.id] = dataclasses.replace(raw, rows=rows)
        of_waits = [dataclasses.replace(one, purpose=Purpose.WAITS) for one in chosen]
        spec = record.spec.model_copy(update={"waits": raw.pattern})
        return check(expectation, dataclasses.replace(record, spec=spec, trials=of_waits, waits=made))

    return waiting


@pytest.mark.parametrize(
    ("rule", "candidates", "figures", "says"),
    [
        ("mean-above-p99", ["1", "8"], {"mean": {"1": 9.0, "8": 9.0}, "p99": {"1": 5.0, "8": 6.0}}, "agrees"),
        ("mean-above-p99", ["1", "8"], {"mean": {"1": 4.0, "8": 5.0}, "p99": {"1": 5.0, "8": 6.0}}, "differs"),
        ("tail-shrinks", ["8"], {"worst_share": {"1": 0.9, "8": 0.5}}, "agrees"),
        ("tail-shrinks", ["8"], {"worst_share": {"1": 0.5, "8": 0.5}}, "differs"),
        ("p90-alike", ["8"], {"p90": {"1": 100.0, "8": 104.0}}, "agrees"),
        ("p90-alike", ["8"], {"p90": {"1": 100.0, "8": 140.0}}, "differs"),
    ],
)
def test_waits_say_what_the_intervals_of_several_trials_say(waiting, rule, candidates, figures, says):
    assert waiting(expecting(rule, candidates), **figures).agreement == says
    assert waiting(expecting(rule, candidates), trials=1, **figures).agreement == "inconclusive", "of one trial each"


@pytest.mark.parametrize("rule", ["mean-above-p99", "tail-shrinks", "p90-alike", "moves-up", "best", "faster"])
def test_what_was_not_measured_is_open(rule):
    one = check(expecting(rule, ["64"]), example_studies.unfinished())
    assert (one.agreement, one.narrower) == (Agreement.INCONCLUSIVE, math.inf)
