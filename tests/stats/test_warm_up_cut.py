import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.warm_up import Start, find_start


@given(st.integers(0, 120), st.integers(1, 30))
def test_a_cold_start_is_cut_about_where_it_ends(cold, seed):
    random = np.random.default_rng(seed)
    x = 1000 * (1 + 0.03 * random.standard_normal(600))
    x[:cold] *= 0.3
    start = find_start(x.tolist())
    assert start.settled
    assert cold - 5 <= start.length < 300
    assert start.change < (0.05 if cold < 10 else -0.05)


@given(st.integers(1, 200))
def test_steady_noise_is_called_settled_though_it_is_short(seed):
    random = np.random.default_rng(seed)
    assert find_start((1000 * (1 + 0.05 * random.standard_normal(60))).tolist()).settled


def test_a_run_that_only_climbs_never_settled():
    start = find_start(np.linspace(1, 1000, 400).tolist())
    assert (start.length, start.settled) == (200, False)
    assert start.change < -0.5


def test_a_server_that_stood_still_has_no_warm_up():
    assert find_start([0.0] * 50) == Start(0, settled=True)


def noise(seconds, cv=0.05, seed=1):
    return 1000 * (1 + cv * np.random.default_rng(seed).standard_normal(seconds))


def test_a_short_start_that_ran_faster_is_left_out_with_its_direction():
    x = noise(5000)
    x[:300] *= 1.25
    start = find_start(x.tolist())
    assert 300 <= start.length <= 320
    assert start.settled
    assert 0.2 < start.change < 0.3


def test_a_long_fast_part_is_no_start():
    x = noise(1000)
    x[:400] *= 1.25
    assert find_start(x.tolist()) == Start(0, settled=True)


def test_nothing_before_a_collapse_is_left_out():
    x = noise(7000) * np.where(np.arange(7000) < 3000, 1.04, 0.37)
    start = find_start(x.tolist())
    assert start.length < 300
    assert abs(start.change) < 0.05


def test_a_warm_up_before_a_collapse_is_left_out():
    t = np.arange(5000)
    start = find_start((noise(5000) * np.select([t < 400, t < 3000], [0.5, 1.0], 0.2)).tolist())
    assert 400 <= start.length <= 420
    assert start.change < -0.4


def test_of_two_levels_nothing_is_left_out():
    x = noise(1000) * np.where(np.arange(1000) % 200 < 100, 1.0, 0.25)
    assert find_start(x.tolist()).length == 0
