import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from dialin.model.verdict import AgainstBest, Outcome
from dialin.stats.decide import Rules
from dialin.stats.switchback import QUADS_TO_DECIDE, Period, carry_over, decide_periods, fit_periods, washout_needed

RULES = Rules(worthwhile=0.05, confidence=0.95)
A, B = "a", "b"
WIDER = 1.08


def periods(value, quads, *, load=lambda at, name: 0.0, seed=1, halves=None, names=(A, B)):
    """Quads of mirrored blocks in random order; `value` takes the place in time, and the candidates now and before."""
    rng = np.random.default_rng(seed)
    made, previous = [], None
    for quad in range(quads):
        first = list(rng.permutation(names))
        for name in [*first, *reversed(first)]:
            at = len(made)
            made.append(
                Period(
                    run=0,
                    candidate=str(name),
                    at=float(at),
                    value=math.exp(value(at, name, previous)),
                    quad=quad,
                    load=(load(at, name), 0.0),
                    halves=halves(at, name, previous) if halves else None,
                    previous=previous,
                )
            )
            previous = str(name)
    return made


def noise(sd, count=400, seed=7):
    return np.random.default_rng(seed).normal(scale=sd, size=count)


def contrast(made, quad):
    of = {name: [math.log(one.value) for one in made if one.quad == quad and one.candidate == name] for name in (A, B)}
    return np.mean(of[B]) - np.mean(of[A])


def test_two_candidates_are_compared_by_the_t_interval_of_the_differences_of_quads_widened_for_the_stop():
    jitter = noise(0.1)
    made = periods(lambda at, name, _: 0.2 * (name == B) + jitter[at], 7)
    fitted = fit_periods(made, [A, B], with_load=False)
    contrasts = [contrast(made, quad) for quad in range(7)]
    expected = scipy.stats.ttest_1samp(contrasts, 0.0).confidence_interval(0.99)
    ratio = fitted.ratio(B, A, 0.01)
    assert math.log(ratio.mean) == pytest.approx(np.mean(contrasts))
    assert math.log(ratio.high / ratio.low) == pytest.approx(WIDER * (expected.high - expected.low))
    assert fitted.total_dof == 6
    assert fitted.trials.tolist() == [14, 14]


def test_a_load_that_rises_and_a_level_that_jumps_between_quads_are_no_difference():
    made = periods(lambda at, name, _: 0.3 * at + (at // 4) ** 2 + 0.1 * (name == B), 9)
    assert fit_periods(made, [A, B], with_load=False).ratio(B, A, 0.05).mean == pytest.approx(math.exp(0.1))


def test_the_effect_of_the_offered_load_is_taken_out_of_the_difference():
    offered = noise(0.5)
    made = periods(lambda at, name, _: 0.1 * (name == B) - 0.7 * offered[at], 12, load=lambda at, _: offered[at])
    plain, adjusted = fit_periods(made, [A, B], with_load=False), fit_periods(made, [A, B])
    assert adjusted.difference(B, A).mean == pytest.approx(0.1)
    assert adjusted.difference(B, A).error < 1e-6 < plain.difference(B, A).error


def test_the_load_of_few_quads_is_no_covariate():
    offered = noise(0.5)
    made = periods(lambda at, *_: -0.7 * offered[at], QUADS_TO_DECIDE - 1, load=lambda at, _: offered[at])
    assert fit_periods(made, [A, B]).difference(B, A) == fit_periods(made, [A, B], with_load=False).difference(B, A)


def test_periods_that_compare_nothing_are_left_out_and_too_few_say_nothing():
    made = periods(lambda *_: 0.0, 3)
    assert fit_periods(made, [A, B]) is None
    alone = [one for one in periods(lambda *_: 0.0, 9) if one.candidate == A]
    assert fit_periods(alone, [A, B]) is None


def test_a_clear_difference_is_a_choice_that_is_shown_and_sooner_than_that_nothing_is_claimed():
    jitter = noise(0.05)

    def made(quads):
        return periods(lambda at, name, _: 0.3 * (name == B) + jitter[at], quads)

    found = decide_periods(made(QUADS_TO_DECIDE), [A, B], A, RULES)
    assert found.decision.choice == B
    assert found.decision.shown_better
    early = decide_periods(made(QUADS_TO_DECIDE - 1), [A, B], A, RULES)
    assert early.decision.choice is None
    assert early.decision.outcome is Outcome.INCONCLUSIVE
    assert early.decision.states[B] is AgainstBest.INCONCLUSIVE
    assert early.adjusted[B].low > 1.2


def test_identical_traffic_ends_with_the_baseline_and_no_claim():
    jitter = noise(0.02)
    found = decide_periods(periods(lambda at, *_: jitter[at], 20), [A, B], A, RULES)
    assert found.decision.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert found.decision.choice == A
    assert found.disagreeing == ()


def test_where_the_load_depends_on_the_candidate_and_explains_the_difference_nothing_is_claimed():
    jitter, offered = noise(0.02), noise(0.1, seed=9)

    def load(at, name):
        return offered[at] + 0.3 * (name == B)

    made = periods(lambda at, name, _: -0.5 * load(at, name) + jitter[at], 20, load=load)
    found = decide_periods(made, [A, B], A, RULES)
    assert found.disagreeing == (B,)
    assert found.decision.choice is None
    assert found.load[B].mean == pytest.approx(math.exp(0.3), rel=0.1)
    assert found.plain[B].mean == pytest.approx(math.exp(-0.15), rel=0.05)
    assert found.adjusted[B].mean == pytest.approx(1.0, abs=0.05)


def test_a_candidate_that_reaches_into_the_next_period_is_noticed():
    jitter = noise(0.03)
    made = periods(lambda at, name, before: 0.1 * (name == B) + 0.2 * (before == B) + jitter[at] + 0.05 * at, 40)
    found = carry_over(made, B, A, 0.05)
    assert found.is_shown
    assert found.after_other.mean == pytest.approx(math.exp(0.2), rel=0.05)
    assert not carry_over(periods(lambda at, name, _: 0.1 * (name == B) + jitter[at], 40), B, A, 0.05).is_shown


def settling(early, late, sd=0.01):
    """Quads of which an effect is `early` in the first half of periods and `late` in the second."""
    jitter = noise(sd), noise(sd, seed=8)

    def halves(at, name, _):
        return tuple(math.exp(jitter[half][at] + each * (name == B)) for half, each in enumerate((early, late)))

    return periods(
        lambda at, name, _: (early + late) / 2 * (name == B) + (jitter[0][at] + jitter[1][at]) / 2, 20, halves=halves
    )


def test_an_effect_that_grows_within_periods_is_read_in_their_second_halves_and_its_interval_reaches_further():
    found = decide_periods(settling(0.14, 0.2), [A, B], A, RULES)
    carry = found.carry_over[B]
    assert found.is_late
    assert carry.is_shown
    assert carry.settling.mean == pytest.approx(math.exp(0.06), rel=0.02)
    ratio = found.decision.ratios[B]
    assert math.log(ratio.mean) == pytest.approx(0.2, abs=0.01)
    assert math.log(ratio.high) - math.log(ratio.mean) == pytest.approx(math.log(ratio.mean / ratio.low) + 0.03, abs=0.01)
    assert found.decision.choice == B


def test_where_noise_could_hide_that_a_small_effect_grows_its_interval_reaches_as_far_as_it_could_and_as_later_periods_show():
    made = settling(-0.04, -0.04, sd=0.1)
    found = decide_periods(made, [A, B], A, RULES)
    carry = found.carry_over[B]
    assert not carry.is_slow
    assert carry.to_come < -0.01
    alone = fit_periods(made, [A, B]).ratio(B, A, 0.05)
    later = math.log(carry.after_other.mean)
    assert later > 0.001, "the other side is what this test is about"
    assert found.adjusted[B].low == pytest.approx(alone.low * math.exp(carry.to_come))
    assert found.adjusted[B].high == pytest.approx(alone.high * math.exp(later))


def test_the_interval_of_an_effect_that_would_be_seen_to_grow_reaches_no_further():
    assert decide_periods(settling(-0.4, -0.4, sd=0.05), [A, B], A, RULES).carry_over[B].to_come == 0


@pytest.mark.parametrize(
    ("early", "late", "washout", "needed"),
    [(0.2, 0.2, 5, None), (0.11, 0.2, 5, 180), (0.05, 0.2, 120, 180), (0.05, 0.2, 180, None)],
)
def test_an_effect_most_of_which_may_be_still_to_come_needs_a_washout_of_three_periods(early, late, washout, needed):
    found = decide_periods(settling(early, late), [A, B], A, RULES)
    assert washout_needed(found, 60, washout) == needed


@pytest.mark.parametrize(("early", "late"), [(0.05, 0.2), (0.3, -0.1)])
def test_an_effect_most_of_which_may_be_still_to_come_or_that_turns_round_has_no_interval_and_is_not_claimed(early, late):
    found = decide_periods(settling(early, late), [A, B], A, RULES)
    assert found.carry_over[B].lasts
    assert found.decision.ratios[B].low is None
    assert found.decision.choice is None
    assert found.decision.states[B] is AgainstBest.INCONCLUSIVE


def test_what_may_still_come_is_no_tie_where_it_could_carry_the_effect_past_what_matters():
    found = decide_periods(settling(0.030, 0.046, sd=0.004), [A, B], A, RULES)
    assert found.carry_over[B].is_slow
    assert found.decision.choice is None


def test_an_effect_that_has_settled_is_read_in_whole_periods():
    found = decide_periods(settling(-0.2, -0.2), [A, B], A, RULES)
    assert not found.is_late
    assert not found.carry_over[B].is_slow
    assert found.decision.choice == A


@pytest.mark.parametrize(("reach", "lasts"), [(-0.006, False), (0.006, True)])
def test_growth_within_periods_and_a_reach_into_later_ones_are_evidence_together_of_an_effect_that_is_small_as_yet(
    reach, lasts
):
    made = settling(0.0, 0.004, sd=0.015)
    made = [replace(one, value=one.value * math.exp(reach * (one.previous == B))) for one in made]
    assert carry_over(made, B, A, 0.05).lasts == lasts


def test_of_three_candidates_each_is_compared_with_the_others():
    jitter = noise(0.02)
    levels = {A: 0.0, B: 0.2, "c": -0.2}
    made = periods(lambda at, name, _: levels[name] + jitter[at] + 0.01 * at, 10, names=(A, B, "c"))
    found = decide_periods(made, list(levels), A, RULES)
    assert found.decision.choice == B
    assert found.adjusted["c"].mean == pytest.approx(math.exp(-0.2), rel=0.02)
    assert found.decision.states["c"] is AgainstBest.LOSES
