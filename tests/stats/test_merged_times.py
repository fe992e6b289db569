import math
import random
from statistics import NormalDist

from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.counted_times import coarse, percentile
from dialin.stats.merged_times import percentile_between_trials


def test_a_percentile_is_that_of_all_transactions_together():
    trials = [{1.0: 98, 50.0: 2}, {1.0: 300}]
    assert percentile_between_trials(trials, 0.99, 0.05).mean == 1.0
    assert percentile_between_trials(trials[:1], 0.99, 0.05).mean == 50.0


def test_a_single_trial_has_no_interval():
    estimate = percentile_between_trials([{2.0: 1000}], 0.5, 0.05)
    assert (estimate.mean, estimate.low, estimate.high) == (2.0, None, None)
    assert percentile_between_trials([{2.0: 1000}, {}], 0.5, 0.05).low is None


def test_too_few_transactions_have_no_percentile():
    assert percentile_between_trials([{1.0: 499}, {1.0: 500}], 0.999, 0.05) is None
    assert percentile_between_trials([{1.0: 500}, {1.0: 500}], 0.999, 0.05).mean == 1.0
    assert percentile_between_trials([], 0.5, 0.05) is None


def test_trials_that_are_alike_still_differ_by_what_counting_together_hides():
    estimate = percentile_between_trials([{5.0: 1000}] * 4, 0.95, 0.05)
    assert estimate.low < 5.0 < estimate.high
    assert estimate.high / estimate.low < 1.03


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng = random.Random(2)
    spread = [math.exp(0.5 * NormalDist().inv_cdf(place / 100)) for place in range(1, 100)]
    held = 0
    for _ in range(200):
        levels = [10 * math.exp(rng.gauss(0, 0.1)) for _ in range(5)]
        trials = [{level * factor: 10 for factor in spread} for level in levels]
        estimate = percentile_between_trials(trials, 0.5, 0.1)
        held += estimate.low <= 10 <= estimate.high
    assert held >= 165


@given(st.dictionaries(st.floats(0.001, 1e6), st.integers(1, 1000), min_size=1), st.sampled_from([0.5, 0.95, 0.99]))
def test_counting_together_changes_no_percentile_by_more_than_one_percent(counts, share):
    together = dict(coarse(counts))
    assert sum(together.values()) == sum(counts.values())
    assert max(together) == max(counts)
    exact = percentile(counts, share)
    assert exact * (1 - 1e-9) <= percentile(together, share) <= 1.0101 * exact


def test_a_time_of_zero_can_be_counted():
    assert coarse({0.0: 3, 1.0: 2}) == ((0.0, 3), (1.0, 2))
    assert percentile_between_trials([{0.0: 3}, {0.0: 3}], 0.5, 0.05).low is None


def test_the_times_stay_few():
    rng = random.Random(1)
    counts = {round(math.exp(rng.gauss(2, 1)), 4): 1 for _ in range(20_000)}
    assert len(coarse(counts)) < 1000


def test_a_trial_more_that_is_slow_moves_the_interval_up():
    base = [{10.0: 900, 20.0: 100}] * 4
    slow = percentile_between_trials([*base, {100.0: 1000}], 0.99, 0.05)
    assert slow.high > percentile_between_trials(base, 0.99, 0.05).high
