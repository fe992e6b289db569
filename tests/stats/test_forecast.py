import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from dialin.stats.blocks import Observation
from dialin.stats.decide import Rules, decide
from dialin.stats.forecast import blocks_for, detectable

TOLD = {"confidence": 0.95, "worthwhile": 0.01}
noise = st.floats(min_value=0.002, max_value=0.1)
counts = st.integers(2, 16)


def test_two_candidates_are_told_apart_by_two_quantiles_of_student():
    reach = scipy.stats.t.ppf(0.95, 5) + scipy.stats.t.ppf(0.8, 5)
    expected = math.exp(reach * 0.02 * math.sqrt(2 / 6)) / 1.01 - 1
    assert detectable(0.02, 2, 6, **TOLD) == pytest.approx(expected)


def test_more_candidates_share_the_error_among_them():
    reach = scipy.stats.t.ppf(1 - 0.05 / 6, 30) + scipy.stats.t.ppf(0.8, 30)
    assert detectable(0.02, 7, 6, **TOLD) == pytest.approx(math.exp(reach * 0.02 * math.sqrt(2 / 6)) / 1.01 - 1)


def test_nothing_below_what_is_worthwhile_is_promised():
    assert detectable(0.0001, 3, 10, **TOLD) == 0.01


@pytest.mark.parametrize(("candidates", "blocks", "sd"), [(2, 6, 0.02), (7, 5, 0.015)])
def test_a_difference_that_is_called_detectable_is_settled_four_times_out_of_five(candidates, blocks, sd):
    rng, names, rules = np.random.default_rng(candidates), "abcdefg"[:candidates], Rules(**TOLD)
    gap = math.log1p(detectable(sd, candidates, blocks, **TOLD))
    chosen = []
    for _ in range(50):
        observations = [
            Observation(block, name, math.exp((gap if name == "b" else 0) + rng.normal(scale=sd)))
            for block in range(blocks)
            for name in names
        ]
        chosen.append(decide(observations, names, "a", rules, alpha=0.05).choice)
    assert 0.65 <= np.mean([choice == "b" for choice in chosen]) <= 0.93


@given(noise, counts, st.floats(min_value=0.011, max_value=0.3))
def test_after_the_blocks_that_it_takes_and_not_before_a_difference_is_detectable(sd, candidates, gap):
    blocks = blocks_for(gap, sd, candidates, **TOLD)
    assert detectable(sd, candidates, blocks, **TOLD) <= gap * (1 + 1e-9)
    if blocks > 2:
        assert detectable(sd, candidates, blocks - 1, **TOLD) > gap


@given(noise, counts, st.integers(2, 60))
def test_less_noise_fewer_candidates_and_more_blocks_tell_less_apart(sd, candidates, blocks):
    least = detectable(sd, candidates, blocks, **TOLD)
    assert detectable(1.5 * sd, candidates, blocks, **TOLD) >= least
    assert detectable(sd, candidates, 2 * blocks, **TOLD) <= least
    assert detectable(sd, candidates, blocks, confidence=0.99, worthwhile=0.01) >= least


def test_the_blocks_it_takes_grow_with_the_square_of_the_noise():
    quiet, loud = (blocks_for(0.01, sd, 7, **TOLD) for sd in (0.02, 0.04))
    assert loud / quiet == pytest.approx(4, rel=0.05)


def test_what_cannot_be_had_is_cut():
    assert blocks_for(0.0001, 5.0, 2, confidence=0.999, worthwhile=0.0001) == 100_000
    assert math.isfinite(detectable(1e9, 64, 2, **TOLD))
    assert blocks_for(0.5, 0.0001, 2, **TOLD) == 2
