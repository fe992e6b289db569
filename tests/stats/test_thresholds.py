import pytest
import scipy.stats

from dialin.stats.thresholds import thresholds


def test_a_claim_takes_more_than_a_choice_and_worse_than_the_best_takes_most():
    needed = thresholds(0.95)
    assert scipy.stats.norm.cdf(needed.best) > needed.probable
    assert needed.best < needed.better < needed.worse


@pytest.mark.parametrize("claim", ["best", "better", "worse"])
def test_errors_are_in_proportion_to_the_confidence(claim):
    error = {confidence: scipy.stats.norm.sf(getattr(thresholds(confidence), claim)) for confidence in (0.9, 0.95, 0.99)}
    assert error[0.9] == pytest.approx(2 * error[0.95])
    assert error[0.99] == pytest.approx(error[0.95] / 5)


def test_a_choice_takes_more_at_a_higher_confidence():
    assert thresholds(0.9).probable < thresholds(0.95).probable < thresholds(0.999).probable < 1


def test_claims_of_several_studies_each_take_a_share_of_the_error_and_a_choice_takes_none():
    alone, of_twenty = thresholds(0.95), thresholds(0.95, claims=20)
    for claim in ("best", "better", "worse"):
        share = scipy.stats.norm.sf(getattr(alone, claim)) / 20
        assert scipy.stats.norm.sf(getattr(of_twenty, claim)) == pytest.approx(share)
    assert (of_twenty.probable, of_twenty.leave) == (alone.probable, alone.leave)
