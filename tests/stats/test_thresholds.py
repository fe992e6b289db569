import math

import numpy as np
import pytest
import scipy.stats

from dialin.stats.standings import is_due
from dialin.stats.thresholds import thresholds

CLAIMS = ("best", "better", "worse")
counts = pytest.mark.parametrize("candidates", [2, 7, 30, 64])


@counts
def test_a_claim_takes_more_than_a_choice_and_worse_than_the_best_takes_most(candidates):
    needed = thresholds(0.95, candidates)
    assert scipy.stats.norm.cdf(needed.best) > needed.probable
    assert needed.best < needed.better <= needed.worse


@pytest.mark.parametrize("claim", CLAIMS)
def test_more_candidates_take_more_for_each_claim_also_beyond_those_that_were_calibrated(claim):
    deviates = [getattr(thresholds(0.95, candidates), claim) for candidates in (1, 2, 3, 5, 8, 12, 16, 20, 30, 40, 64)]
    assert deviates == sorted(deviates)
    assert deviates[1] + 0.3 < deviates[4] < deviates[-1]


@pytest.mark.parametrize("claim", CLAIMS)
def test_trials_beyond_the_calibrated_ones_take_more_for_each_claim_and_those_up_to_them_the_same(claim):
    deviates = [getattr(thresholds(0.95, 7, trials=trials), claim) for trials in (10, 100, 300, 600, 3000)]
    assert deviates[0] == deviates[1] == deviates[2] < deviates[3] < deviates[4] < deviates[2] + 1


@counts
@pytest.mark.parametrize("claim", CLAIMS)
def test_errors_are_in_proportion_to_the_confidence(claim, candidates):
    error = {c: scipy.stats.norm.sf(getattr(thresholds(c, candidates), claim)) for c in (0.9, 0.95, 0.99)}
    assert error[0.9] == pytest.approx(2 * error[0.95])
    assert error[0.99] == pytest.approx(error[0.95] / 5)


def test_a_choice_takes_more_at_a_higher_confidence_and_the_same_of_any_number_of_candidates():
    assert thresholds(0.9, 7).probable < thresholds(0.95, 7).probable < thresholds(0.999, 7).probable < 1
    assert thresholds(0.95, 2).probable == thresholds(0.95, 30).probable


def test_claims_of_several_studies_each_take_a_share_of_the_error_and_a_choice_takes_none():
    alone, of_twenty = thresholds(0.95, 7), thresholds(0.95, 7, claims=20)
    for claim in CLAIMS:
        share = scipy.stats.norm.sf(getattr(alone, claim)) / 20
        assert scipy.stats.norm.sf(getattr(of_twenty, claim)) == pytest.approx(share)
    assert (of_twenty.probable, of_twenty.leave) == (alone.probable, alone.leave)


def test_a_proof_is_read_once_so_that_its_sets_share_the_error_of_one_test_and_all_later_proofs_have_as_much_again():
    error = [[scipy.stats.norm.sf(thresholds(0.95, sets + 1, proofs=n).better) for n in (1, 2, 3)] for sets in (1, 2, 3)]
    for sets, each in enumerate(error, 1):
        assert each == pytest.approx([0.025 / sets, 0.0125 / sets, 0.00625 / sets])
    of_a_study, of_a_proof = thresholds(0.95, 3), thresholds(0.95, 3, proofs=1)
    assert of_a_proof.better < of_a_study.better
    assert (of_a_proof.best, of_a_proof.worse, of_a_proof.probable) == (of_a_study.best, of_a_study.worse, of_a_study.probable)


@pytest.mark.parametrize("trials", [320, 3200])
def test_of_two_equal_candidates_at_most_one_study_in_twenty_claims_over_all_looks(trials):
    """Sums of normal differences, looked at as a study is, with Student's quantiles; a claim in either direction is false."""
    rng = np.random.default_rng(trials)
    sums, claimed, looked = np.zeros(4000), np.zeros(4000, dtype=bool), 0
    for pairs in range(1, trials // 2 + 1):
        sums += rng.normal(size=sums.size)
        if 2 * pairs >= 6 and is_due(2 * pairs, looked):
            looked = 2 * pairs
            needed = thresholds(0.95, 2, trials=looked)
            z = scipy.stats.norm.isf(scipy.stats.t.sf(sums / math.sqrt(pairs), looked))
            claimed |= (z >= needed.better) | (z <= -needed.worse)
    assert 0.02 <= claimed.mean() <= 0.05
