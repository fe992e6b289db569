import math

import numpy as np
import pytest

from dialin.model.verdict import AgainstBest, Outcome
from dialin.stats.blocks import Observation
from dialin.stats.runs import all_below, compare, rank_candidates, spread, weighted_mean

A, B, C = "a", "b", "c"


def observed(*rows):
    """Return observations of (stratum, candidate, value...)."""
    return [Observation(stratum, name, value) for stratum, name, *values in rows for value in values]


def judged(observations, names=(A, B), baseline=A, **options):
    comparison = compare(observations, names)
    return rank_candidates(comparison, names, baseline, **{"alpha": 0.05, "worthwhile": 0.01, **options})


def test_two_candidates_of_three_runs_each_have_the_interval_of_students_t():
    a, b = [100.0, 101.0, 102.0], [110.0, 111.0, 112.0]
    comparison = compare(observed((0, A, *a), (0, B, *b)), [A, B])
    logs = np.log(a), np.log(b)
    sd = math.sqrt((logs[0].var(ddof=1) + logs[1].var(ddof=1)) / 2)
    ratio = comparison.ratio(B, A, 0.05)
    assert ratio.mean == pytest.approx(math.exp(logs[1].mean() - logs[0].mean()))
    assert math.log(ratio.high / ratio.mean) == pytest.approx(2.7764 * sd * math.sqrt(2 / 3), rel=0.25)
    assert ratio.low * ratio.high == pytest.approx(ratio.mean**2)
    assert comparison.sd == pytest.approx(sd)


def test_one_run_each_has_a_ratio_and_no_interval():
    comparison = compare(observed((0, A, 100.0), (0, B, 200.0)), [A, B])
    ratio = comparison.ratio(B, A, 0.05)
    assert (ratio.mean, ratio.low, ratio.high) == (pytest.approx(2), None, None)
    assert comparison.repeated == ()
    assert comparison.met == {A: 1, B: 1}


def test_many_runs_of_one_candidate_lend_the_other_no_interval():
    comparison = compare(observed((0, A, *[100.0 + i for i in range(9)]), (0, B, 200.0)), [A, B])
    assert comparison.ratio(B, A, 0.05).low is None
    assert judged(observed((0, A, *[100.0 + i for i in range(9)]), (0, B, 200.0))).outcome is Outcome.INCONCLUSIVE


def test_runs_of_other_conditions_do_not_count_as_repeats():
    comparison = compare(observed((0, A, 100.0), (0, B, 120.0), (1, B, 119.0, 121.0, 120.5), (2, A, 90.0, 91.0)), [A, B])
    assert comparison.met == {A: 1, B: 1}
    assert comparison.repeated == ()
    assert comparison.ratio(B, A, 0.05).mean == pytest.approx(1.2)


def test_candidates_that_never_met_are_not_compared():
    comparison = compare(observed((0, A, 100.0, 101.0), (1, B, 120.0, 121.0)), [A, B])
    assert comparison.names == ()
    assert comparison.ratio(B, A, 0.05) is None


def test_cells_with_a_run_of_each_are_no_repeats_of_each_other():
    met = observed((0, A, 100.0), (0, B, 120.0), (1, A, 50.0), (1, B, 60.5), (2, A, 200.0), (2, B, 239.0))
    comparison = compare(met, [A, B])
    assert comparison.repeated == ()
    ratio = comparison.ratio(B, A, 0.05)
    assert ratio.mean == pytest.approx(1.2, rel=0.01)
    assert ratio.low is None
    assert comparison.interaction(B, A) is None
    assert judged(met).outcome is Outcome.INCONCLUSIVE


def test_more_cells_make_no_interval_narrower():
    one = observed((0, A, 100.0, 101.0, 99.0), (0, B, 110.0, 111.0, 109.0))
    many = [Observation(cell, runs.candidate, runs.value) for cell in range(8) for runs in one]
    single, all_cells = (compare(runs, [A, B]).ratio(B, A, 0.05) for runs in (one, many))
    assert (all_cells.low, all_cells.high) == pytest.approx((single.low, single.high))


def test_one_start_that_serves_all_cells_wins_at_most_as_often_as_promised():
    random = np.random.default_rng(3)
    claimed = 0
    for _ in range(400):
        starts = {(name, run): random.normal(0, 0.02) for name in (A, B) for run in range(3)}
        runs = [
            Observation(cell, name, 100 * 2**cell * math.exp(start + random.normal(0, 0.003)))
            for cell in range(8)
            for (name, _), start in starts.items()
        ]
        claimed += judged(runs).outcome is not Outcome.INCONCLUSIVE
    assert claimed / 400 <= 0.05


def cells_of(*effects, runs=3, sd=0.005, seed=1):
    """Return runs of two candidates in cells, by the logarithm of their ratio in each."""
    random = np.random.default_rng(seed)
    return [
        Observation(cell, name, 100 * 2**cell * math.exp(effect * (name == B) + random.normal(0, sd)))
        for cell, effect in enumerate(effects)
        for name in (A, B)
        for _ in range(runs)
    ]


def test_a_ratio_that_changes_its_sign_from_cell_to_cell_has_no_winner():
    comparison = compare(cells_of(0.3, 0.3, 0.3, -0.1), [A, B])
    assert comparison.depends_on_cell(A, B)
    assert not comparison.agrees_in_sign(A, B)
    assert judged(cells_of(0.3, 0.3, 0.3, -0.1)).outcome is Outcome.INCONCLUSIVE
    assert judged(cells_of(0.3, 0.3, 0.3, 0.1)).winners == (B,)
    assert judged(cells_of(0.1, -0.1, 0.1, -0.1), worthwhile=0.25).outcome is Outcome.INCONCLUSIVE, "equal on average only"


def test_ratios_that_do_not_depend_on_cells_are_called_so_as_rarely_as_promised():
    called = sum(compare(cells_of(*[0.1] * 6, seed=seed), [A, B]).depends_on_cell(A, B) for seed in range(400))
    assert called / 400 <= 0.06


def test_a_cell_is_judged_by_its_own_noise():
    quiet, noisy = cells_of(0.1, sd=0.001), cells_of(0.1, sd=0.1, seed=5)
    both = quiet + [Observation(1, runs.candidate, runs.value) for runs in noisy]
    comparison = compare(both, [A, B])
    assert comparison.repeated_cells() == (0, 1)
    first, second = (comparison.cell_ratio(cell, B, A, 0.05) for cell in (0, 1))
    assert math.log(second.high / second.low) > 20 * math.log(first.high / first.low)


def test_the_quotient_of_two_levels_is_the_ratio():
    runs = observed((0, A, 100.0, 102.0), (0, B, 120.0), (1, A, 50.0), (1, B, 66.0, 67.0, 65.0), (2, A, 900.0))
    comparison = compare(runs, [A, B])
    assert comparison.shared(A, B) == (0, 1)
    assert comparison.level(B, A) / comparison.level(A, B) == pytest.approx(comparison.ratio(B, A, 0.05).mean)


def test_a_candidate_that_was_not_repeated_leaves_the_others_their_intervals():
    comparison = compare(observed((0, A, 100.0, 101.0), (0, B, 120.0, 121.0), (0, C, 150.0)), [A, B, C])
    assert comparison.repeated == (A, B)
    assert comparison.ratio(B, A, 0.05).low is not None
    assert comparison.ratio(C, A, 0.05).low is None
    result = judged(observed((0, A, 100.0, 101.0, 100.5), (0, B, 120.0, 121.0, 120.5), (0, C, 150.0)), (A, B, C))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert result.states == {A: AgainstBest.LOSES, B: AgainstBest.INCONCLUSIVE, C: AgainstBest.INCONCLUSIVE}


def test_small_figures_of_runs():
    assert weighted_mean([10, 20], [3, 1]) == 12.5
    assert weighted_mean([10], [0]) is None
    assert all_below([1, 2], [3, 4], 0.25)
    assert not all_below([1, 3], [3, 4], 0.25)
    assert not all_below([3.0], [3.1], 0.25)
    assert not all_below([], [1], 0)
    assert spread([100, 110]) == pytest.approx(0.1)
    assert spread([100]) == spread([]) == 0
