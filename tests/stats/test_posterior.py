import math
from dataclasses import replace
from unittest.mock import ANY

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dialin.stats.posterior import chances
from dialin.stats.trial_fit import fit_trials
from stats.timed import noisy_study, study

W = 0.01
RANDOM_DRAWS = 0.03
"""What two thousand draws may miss a probability by: two standard errors of a half, and the eight levels of noise."""


def fitted(rng, effects, blocks, sd):
    levels = {name: 100 * math.exp(effect) for name, effect in effects.items()}
    return fit_trials(noisy_study(rng, levels, blocks, sd), list(levels))


def of_two(gap, error, dof):
    """The exact chances of the better and of the worse of two normal means, by adding up over what is unknown.

    Args:
        gap: the estimated difference of their logarithms.
        error: its standard error, from so many degrees of freedom.
    """
    unknown = (np.arange(2000) + 0.5) / 2000
    variance = (error**2 * dof / scipy.stats.chi2.isf(unknown, dof))[:, None]
    # The difference of two effects that scatter by `spread` about a common one scatters by the root of two times that.
    spread = np.geomspace(0.0005, 0.5, 25)
    prior = 2 * spread**2
    weight = scipy.stats.norm.pdf(gap, 0, np.sqrt(variance + prior)) * spread / (1 + (spread / 0.03) ** 2)
    weight /= weight.sum(axis=1, keepdims=True)
    share = prior / (variance + prior)
    known = scipy.stats.norm(share * gap, np.sqrt(share * variance))
    band = math.log1p(W)
    return tuple(float((weight * part).sum(axis=1).mean()) for part in (known.sf(-band), known.cdf(band)))


@pytest.mark.parametrize("blocks", [2, 3, 6, 20])
@pytest.mark.parametrize(("gap", "sd"), [(0.0, 0.02), (0.02, 0.02), (0.03, 0.01), (0.005, 0.003)])
def test_of_two_candidates_the_draws_agree_with_the_exact_probabilities(blocks, gap, sd):
    result = fitted(np.random.default_rng(blocks), {"a": 0.0, "b": gap}, blocks, sd)
    odds = chances(result, W)
    estimated = result.effects[1] - result.effects[0]
    better, worse = ("b", "a") if estimated > 0 else ("a", "b")
    exact = of_two(abs(estimated), result.difference("a", "b").error, result.total_dof)
    assert (odds.near[better], odds.near[worse]) == pytest.approx(exact, abs=RANDOM_DRAWS)
    assert odds.all_near == pytest.approx(sum(exact) - 1, abs=RANDOM_DRAWS)


@pytest.mark.parametrize(("count", "blocks", "sd"), [(2, 4, 0.02), (4, 3, 0.01)])
def test_probabilities_come_true_about_as_often_as_they_say(count, blocks, sd):
    rng, names = np.random.default_rng(3), "abcd"[:count]
    stated, true, leaders, shortfalls = [], [], [], []
    for _ in range(90):
        spread = min(abs(0.03 * rng.standard_cauchy()), 0.5)
        effects = dict(zip(names, rng.normal(scale=spread, size=count), strict=True))
        odds = chances(fitted(rng, effects, blocks, sd), W)
        near = odds.near
        right = {name: max(effects.values()) - effect <= math.log1p(W) for name, effect in effects.items()}
        stated += near.values()
        true += [right[name] for name in near]
        leader = max(near, key=near.get)
        leaders.append(right[leader] - near[leader])
        shortfalls.append((odds.shortfall[leader], -math.expm1(effects[leader] - max(effects.values()))))
    assert np.mean(stated) == pytest.approx(np.mean(true), abs=0.06)
    assert np.mean(leaders) > -0.04  # above all where it counts: the one that is chosen
    said, came = np.mean(shortfalls, axis=0)
    assert said == pytest.approx(came, abs=0.0015)


def test_a_candidate_far_behind_is_out_and_a_far_better_one_is_sure():
    result = chances(fitted(np.random.default_rng(5), {"a": 0, "b": 0.2, "c": 0.199}, 4, 0.001), W)
    assert result.near == {"a": 0, "b": pytest.approx(1, abs=0.02), "c": pytest.approx(1, abs=0.02)}
    assert result.all_near == 0
    assert result.shortfall == {"a": pytest.approx(-math.expm1(-0.2), abs=0.01), "b": pytest.approx(0, abs=1e-3), "c": ANY}
    assert 0 < result.shortfall["c"] < 0.005


def test_equal_candidates_of_quiet_trials_are_all_near():
    assert chances(fitted(np.random.default_rng(6), dict.fromkeys("abcd", 0), 5, 0.0005), W).all_near == 1


def test_more_trials_that_say_the_same_make_surer():
    result = fitted(np.random.default_rng(7), {"a": 0, "b": 0.02}, 4, 0.02)
    leader = max(chances(result, W).near.values())
    later = [max(chances(result.times(more), W).near.values()) for more in (2, 8, 48)]
    assert leader < later[0] < later[1] <= later[2] == pytest.approx(1, abs=0.01)
    assert chances(result.times(1.0), W) == chances(result, W)


def test_a_wider_band_lets_more_be_near():
    result = fitted(np.random.default_rng(8), {"a": 0, "b": 0.02, "c": 0.05}, 4, 0.02)
    narrow, wide = chances(result, 0.005), chances(result, 0.03)
    assert all(wide.near[name] >= narrow.near[name] for name in "abc")
    assert wide.all_near > narrow.all_near


def test_an_erratic_candidate_is_less_surely_behind_than_a_steady_one():
    """The erratic one's own trials say how little is known of it, where one noise for all would not."""
    levels = dict.fromkeys("abcd", 100.0) | {"e": 96.0, "f": 96.0}
    trials = noisy_study(np.random.default_rng(9), levels, 14, 0.004, noisier={"e": 25.0})
    near = chances(fit_trials(trials, list(levels)), W).near
    assert near["e"] > near["f"] == pytest.approx(0.0, abs=0.01)


@settings(max_examples=15)
@given(st.integers(2, 5), st.integers(0, 1000), st.data())
def test_names_and_order_change_no_chance(count, seed, data):
    names = "abcde"[:count]
    rng = np.random.default_rng(seed)
    trials = noisy_study(rng, {name: 100.0 + index for index, name in enumerate(names)}, 4, 0.02)
    new = dict(zip(names, data.draw(st.permutations("pqrst")), strict=False))
    moved = [replace(one, candidate=new[one.candidate]) for one in data.draw(st.permutations(trials))]
    plain = chances(fit_trials(trials, names), W)
    again = chances(fit_trials(moved, data.draw(st.permutations([new[name] for name in names]))), W)
    assert again.near == pytest.approx({new[name]: chance for name, chance in plain.near.items()}, abs=0.002)
    assert again.all_near == pytest.approx(plain.all_near, abs=0.002)


def test_the_same_trials_always_have_the_same_chances():
    fit = fit_trials(study(blocks=3, a=100, b=101, c=99), "abc")
    assert chances(fit, W) == chances(replace(fit), W), "computed again, not kept"
