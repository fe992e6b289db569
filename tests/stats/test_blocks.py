import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from dialin.stats.blocks import Observation, components, fit, levels, tukey_quantile


def table(**candidates):
    """Observations of a complete design: a list of values by block for each candidate."""
    return [Observation((block, 1), name, value) for name, values in candidates.items() for block, value in enumerate(values)]


def random_table(names, blocks, seed, sd=0.02):
    rng = np.random.default_rng(seed)
    drift = rng.normal(scale=0.1, size=blocks)
    return [
        Observation((block, 1), name, 1000 * math.exp(0.03 * index + drift[block] + rng.normal(scale=sd)))
        for block in range(blocks)
        for index, name in enumerate(names)
    ]


def test_two_candidates_are_compared_by_the_paired_t_interval_of_their_logarithms():
    a, b = [100.0, 140.0, 90.0, 120.0], [104.0, 150.0, 93.0, 121.0]
    result = fit(table(a=a, b=b), ["a", "b"])
    expected = scipy.stats.ttest_rel(np.log(b), np.log(a))
    interval = expected.confidence_interval(0.95)
    ratio = result.ratio("b", "a", 0.05)
    assert result.dof == 3
    assert math.log(ratio.mean) == pytest.approx(np.mean(np.log(b) - np.log(a)))
    assert math.log(ratio.low) == pytest.approx(interval.low)
    assert math.log(ratio.high) == pytest.approx(interval.high)


def test_a_complete_design_agrees_with_the_two_way_table_by_hand():
    logs = np.array([[1.0, 2.0, 6.0], [3.0, 3.0, 3.0], [2.0, 4.0, 9.0], [2.0, 5.0, 5.0]])
    names = ["a", "b", "c"]
    result = fit(table(**{name: np.exp(logs[:, i]) for i, name in enumerate(names)}), names)
    residuals = logs - logs.mean(axis=0) - logs.mean(axis=1, keepdims=True) + logs.mean()
    sd = math.sqrt((residuals**2).sum() / 6)
    assert result.dof == 6
    assert result.effects == pytest.approx(tuple(logs.mean(axis=0) - logs.mean()))
    assert result.sd == pytest.approx(sd)
    covariance = result.covariance
    assert covariance[0][0] + covariance[1][1] - 2 * covariance[0][1] == pytest.approx(2 / 4)
    ratio = result.ratio("c", "a", 0.05)
    quantile = scipy.stats.studentized_range.ppf(0.95, 3, 6) / math.sqrt(2)
    half = quantile * max(sd / math.sqrt(2), own_half(logs[:, 2] - logs[:, 0], sd))
    assert math.log(ratio.low) == pytest.approx(3.75 - half)
    assert math.log(ratio.high) == pytest.approx(3.75 + half)


def own_half(differences, sd):
    """Half of a pair's own interval over Tukey's quantile: its variance is drawn towards that of all by four degrees."""
    count = differences.size
    return math.sqrt((4 * 2 * sd**2 + (count - 1) * np.var(differences, ddof=1)) / (4 + count - 1) / count)


def test_an_interval_is_tukeys_by_the_variance_of_all_or_of_the_pair_whichever_is_larger():
    rng = np.random.default_rng(7)
    steady, erratic = rng.normal(scale=0.001, size=(12, 4)), rng.normal(scale=0.2, size=(12, 1))
    logs = np.hstack([steady, erratic])
    names = list("abcde")
    result = fit(table(**{name: np.exp(logs[:, i]) for i, name in enumerate(names)}), names)
    tukey = tukey_quantile(5, 44, 0.05) * result.sd * math.sqrt(2 / 12)
    among_steady, to_erratic = result.ratio("a", "b", 0.05), result.ratio("a", "e", 0.05)
    assert math.log(among_steady.high / among_steady.mean) == pytest.approx(tukey)
    own = tukey_quantile(5, result.dof, 0.05) * own_half(logs[:, 0] - logs[:, 4], result.sd)
    assert math.log(to_erratic.high / to_erratic.mean) == pytest.approx(own)
    assert own > tukey


def test_two_candidates_need_no_variance_of_their_own():
    logs = np.random.default_rng(9).normal(scale=0.02, size=(5, 2))
    result = fit(table(a=np.exp(logs[:, 0]), b=np.exp(logs[:, 1])), ["a", "b"])
    expected = scipy.stats.ttest_rel(logs[:, 0], logs[:, 1]).confidence_interval(0.95)
    ratio = result.ratio("a", "b", 0.05)
    assert (math.log(ratio.low), math.log(ratio.high)) == (pytest.approx(expected.low), pytest.approx(expected.high))


def shares_of_trials(observations, names):
    """How much each trial's logarithm moves each candidate's effect: what least squares weighs it by."""
    plain, moved = np.array(fit(observations, names).effects), []
    for index, one in enumerate(observations):
        shifted = Observation(one.stratum, one.candidate, one.value * math.exp(0.01))
        moved.append(
            (np.array(fit([*observations[:index], shifted, *observations[index + 1 :]], names).effects) - plain) / 0.01
        )
    return np.array(moved).T


@pytest.mark.parametrize("dropped", [set(), {1, 6, 7, 13, 20}])
def test_the_covariance_is_that_of_the_shares_that_trials_have_in_each_effect(dropped):
    names = list("abcd")
    rng = np.random.default_rng(11)
    observations = [
        Observation(block, name, math.exp(rng.normal(scale=0.1 if name == "d" else 0.005)))
        for block in range(14)
        for name in names
        if 4 * block + names.index(name) not in dropped
    ]
    result, shares = fit(observations, names), shares_of_trials(observations, names)
    assert result.covariance == pytest.approx(shares @ shares.T, abs=1e-9)


def test_within_one_stratum_the_intervals_are_those_of_scipy_tukey_hsd():
    rng = np.random.default_rng(1)
    groups = {"a": rng.normal(size=4), "b": rng.normal(0.5, size=7), "c": rng.normal(size=5)}
    result = fit([Observation("only", name, math.exp(y)) for name, ys in groups.items() for y in ys], list(groups))
    expected = scipy.stats.tukey_hsd(*groups.values()).confidence_interval(0.95)
    for (i, a), (j, b) in itertools.permutations(enumerate(groups), 2):
        ratio = result.ratio(a, b, 0.05)
        assert math.log(ratio.low) == pytest.approx(expected.low[i, j])
        assert math.log(ratio.high) == pytest.approx(expected.high[i, j])


def test_incomplete_strata_agree_with_least_squares_on_dummy_variables():
    names = ["a", "b", "c", "d"]
    observations = [one for index, one in enumerate(random_table(names, 6, seed=2)) if index not in {1, 6, 7, 13, 20}]
    strata = sorted({one.stratum for one in observations})
    design = np.array(
        [
            [one.stratum == stratum for stratum in strata] + [one.candidate == name for name in names[1:]]
            for one in observations
        ],
        float,
    )
    solution, rss, _, _ = np.linalg.lstsq(design, np.log([one.value for one in observations]), rcond=None)
    result = fit(observations, names)
    assert result.dof == len(observations) - design.shape[1]
    assert result.sd == pytest.approx(math.sqrt(rss[0] / result.dof))
    assert np.array(result.effects[1:]) - result.effects[0] == pytest.approx(solution[len(strata) :])
    variances = np.diag(np.linalg.inv(design.T @ design))[len(strata) :]
    covariance = np.array(result.covariance)
    assert [covariance[0, 0] + covariance[i, i] - 2 * covariance[0, i] for i in (1, 2, 3)] == pytest.approx(list(variances))


def test_drift_from_block_to_block_changes_nothing():
    names = ["a", "b", "c"]
    calm = random_table(names, 5, seed=3)
    drifting = [Observation(one.stratum, one.candidate, one.value * 3 ** one.stratum[0]) for one in calm]
    before, after = fit(calm, names).ratio("a", "c", 0.05), fit(drifting, names).ratio("a", "c", 0.05)
    assert (after.mean, after.low, after.high) == pytest.approx((before.mean, before.low, before.high))


def test_a_block_that_a_resume_split_is_compared_in_its_parts():
    whole = random_table(list("abcd"), 4, seed=4)

    def resumed(factor):
        """The last block's second half runs in another session, on a machine that has become faster by the factor."""
        second = [Observation((3, 2), one.candidate, one.value * factor) for one in whole[-2:]]
        return fit([*whole[:-2], *second], list("abcd"))

    assert resumed(2.0).effects == pytest.approx(resumed(1.0).effects)
    assert resumed(2.0).sd == pytest.approx(resumed(1.0).sd)
    assert resumed(2.0).dof == fit(whole, list("abcd")).dof - 1


def test_a_trial_alone_in_its_stratum_says_nothing():
    observations = table(a=[100.0, 110.0, 95.0], b=[101.0, 112.0, 97.0])
    lonely = [*observations, Observation("lonely", "a", 5000.0)]
    assert fit(lonely, ["a", "b"]).ratio("a", "b", 0.05).high == pytest.approx(
        fit(observations, ["a", "b"]).ratio("a", "b", 0.05).high
    )


def test_one_block_gives_a_ratio_without_an_interval():
    result = fit(table(a=[100.0], b=[110.0]), ["a", "b"])
    assert (result.dof, result.sd) == (0, None)
    ratio = result.ratio("b", "a", 0.05)
    assert ratio.mean == pytest.approx(1.1)
    assert (ratio.low, ratio.high) == (None, None)


def test_a_candidate_is_once_itself():
    result = fit(table(a=[100.0, 99.0], b=[110.0, 95.0]), ["a", "b"])
    ratio = result.ratio("a", "a", 0.05)
    assert (ratio.mean, ratio.low, ratio.high) == (1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="not in"):
        result.ratio("a", "c", 0.05)


def test_candidates_that_no_common_stratum_connects_are_not_compared():
    observations = [
        *(Observation(1, name, 100.0) for name in "ab"),
        *(Observation(2, name, 100.0) for name in "cd"),
    ]
    assert fit(observations, list("abcd")) is None
    assert components(observations, list("dcab")) == [("d", "c"), ("a", "b")]


def test_a_chain_of_common_strata_connects():
    observations = [Observation(stratum, name, 100.0) for stratum, pair in enumerate(["ab", "bc", "cd"]) for name in pair]
    assert components(observations, list("abcd")) == [("a", "b", "c", "d")]
    result = fit(observations, list("abcd"))
    assert result.ratio("a", "d", 0.05).mean == pytest.approx(1.0)
    assert result.dof == 0


@pytest.mark.parametrize("names", [["a"], [], ["a", "b", "unseen"]])
def test_without_two_candidates_with_trials_there_is_no_fit(names):
    assert fit(table(a=[100.0, 99.0], b=[110.0, 95.0]), names) is None


def test_other_candidates_are_left_out():
    observations = table(a=[100.0, 110.0, 95.0], b=[101.0, 112.0, 97.0], x=[1.0, 1000.0, 5.0])
    assert fit(observations, ["a", "b"]).dof == 2


def test_a_trial_that_stood_still_counts_as_a_hundredth_of_those_beside_it():
    drifting = fit(table(a=[100.0, 200.0, 400.0], b=[0.0, 0.0, 0.0]), ["a", "b"])
    assert drifting.sd == pytest.approx(0, abs=1e-9)
    result = fit(table(a=[100.0, 100.0, 100.0], b=[0.0, 0.0, 0.0]), ["a", "b"])
    assert result.ratio("b", "a", 0.05).mean == pytest.approx(0.01)
    assert levels(table(a=[100.0], b=[0.0]), ["a", "b"], 0.05)["b"].mean == pytest.approx(1.0)


def test_when_nothing_ever_moved_nothing_is_compared():
    still = table(a=[0.0, 0.0], b=[0.0, 0.0])
    assert fit(still, ["a", "b"]) is None
    assert levels(still, ["a", "b"], 0.05)["a"].mean == 0.0


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_a_value_that_is_no_figure_is_refused(value):
    with pytest.raises(ValueError, match="values"):
        fit(table(a=[100.0, value], b=[1.0, 2.0]), ["a", "b"])
    with pytest.raises(ValueError, match="values"):
        levels(table(a=[100.0, value]), ["a"], 0.05)


def test_however_wide_an_interval_is_it_stays_finite():
    result = fit(table(a=[1.0, 1e6], b=[1e6, 1.0]), ["a", "b"])
    ratio = result.ratio("a", "b", 1e-4)
    assert 0 < ratio.low < 1e-5
    assert 1e5 < ratio.high < math.inf


def test_a_level_is_the_geometric_mean_with_bonferroni_intervals():
    a, b = [100.0, 110.0, 95.0], [201.0, 212.0, 197.0, 220.0]
    result = levels(
        [
            *(Observation(i, "a", value) for i, value in enumerate(a)),
            *(Observation(i, "b", value) for i, value in enumerate(b)),
        ],
        ["a", "b", "unseen"],
        0.05,
    )
    assert list(result) == ["a", "b"]
    assert result["a"].mean == pytest.approx(scipy.stats.gmean(a))
    pooled = math.sqrt((np.var(np.log(a)) * 3 + np.var(np.log(b)) * 4) / 5)
    half = scipy.stats.t.ppf(1 - 0.05 / 4, 5) * pooled / math.sqrt(3)
    assert result["a"].low == pytest.approx(scipy.stats.gmean(a) * math.exp(-half))
    assert result["a"].high == pytest.approx(scipy.stats.gmean(a) * math.exp(half))


def test_one_trial_each_gives_levels_without_intervals():
    result = levels(table(a=[100.0], b=[110.0]), ["a", "b"], 0.05)
    assert (result["a"].mean, result["a"].low) == (pytest.approx(100.0), None)


positive = st.floats(min_value=1.0, max_value=1e4)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), positive), min_size=2, max_size=14), st.randoms())
def test_order_and_unit_change_no_ratio(trials, random):
    observations = [Observation(*trial) for trial in trials]
    shuffled = [
        Observation(one.stratum, one.candidate, one.value * 1024) for one in random.sample(observations, len(observations))
    ]
    result, again = fit(observations, list("abc")), fit(shuffled, list("cab"))
    assert (result is None) == (again is None)
    if result is None or again is None:
        return
    assert result.dof == again.dof
    assert sum(result.effects) == pytest.approx(0, abs=1e-9)
    for a, b in itertools.permutations("abc", 2):
        assert math.log(result.ratio(a, b, 0.05).mean) == pytest.approx(math.log(again.ratio(a, b, 0.05).mean), abs=1e-9)
        assert result.ratio(a, b, 0.05).mean == pytest.approx(1 / result.ratio(b, a, 0.05).mean)
