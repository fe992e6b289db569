import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.warm_up_cut import cold_start


@given(st.integers(0, 120), st.integers(1, 30))
def test_a_cold_start_is_cut_about_where_it_ends(cold, seed):
    random = np.random.default_rng(seed)
    x = 1000 * (1 + 0.03 * random.standard_normal(600))
    x[:cold] *= 0.3
    begin, settled = cold_start(x.tolist())
    assert settled
    assert cold - 5 <= begin < 300


@given(st.integers(1, 200))
def test_steady_noise_is_called_settled_though_it_is_short(seed):
    random = np.random.default_rng(seed)
    assert cold_start((1000 * (1 + 0.05 * random.standard_normal(60))).tolist())[1]


def test_a_run_that_only_climbs_never_settled():
    assert cold_start(np.linspace(1, 1000, 400).tolist()) == (200, False)


def test_a_server_that_stood_still_has_no_warm_up():
    assert cold_start([0.0] * 50) == (0, True)
