import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.forecast import Noise, separate


def test_a_longer_trial_takes_away_what_varies_within_it_only():
    noise = Noise(between=0.01, second=0.1)
    assert noise.of_trial(25) == pytest.approx(math.hypot(0.01, 0.02))
    assert noise.of_trial(1e12) == pytest.approx(0.01)


def test_variation_between_trials_is_the_part_that_their_own_errors_do_not_explain():
    result = separate(0.05, [0.03, 0.03], seconds=100)
    assert (result.between, result.second) == (pytest.approx(0.04), pytest.approx(0.3))


def test_where_their_own_errors_explain_it_all_nothing_lies_between():
    result = separate(0.02, [0.01, 0.05], seconds=16)
    assert result.between == 0
    assert result.second == pytest.approx(4 * math.sqrt((0.01**2 + 0.05**2) / 2))


@given(st.floats(0.001, 0.5), st.lists(st.floats(0.001, 0.5), min_size=1, max_size=9), st.floats(1, 1000))
def test_the_parts_of_the_noise_add_up_again(sd, errors, seconds):
    within = math.sqrt(np.mean(np.square(errors)))
    assert separate(sd, errors, seconds).of_trial(seconds) == pytest.approx(max(sd, within))
