import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.model.verdict import CandidateState, Outcome
from dialin.stats.blocks import Observation
from dialin.stats.runs import all_below, compare, factor_of, judge, spread, weighed

A, B, C = "a", "b", "c"


def observed(*rows):
    """Return observations of (stratum, candidate, value...)."""
    return [Observation(stratum, name, value) for stratum, name, *values in rows for value in values]


def judged(observations, names=(A, B), baseline=A, **options):
    comparison = compare(observations, names)
    return judge(comparison, names, baseline, **{"alpha": 0.05, "worthwhile": 0.01, **options})


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
    assert judged(observed((0, A, *[100.0 + i for i in range(9)]), (0, B, 200.0))).outcome is Outcome.UNRESOLVED


def test_runs_of_other_conditions_do_not_count_as_repeats():
    comparison = compare(observed((0, A, 100.0), (0, B, 120.0), (1, B, 119.0, 121.0, 120.5), (2, A, 90.0, 91.0)), [A, B])
    assert comparison.met == {A: 1, B: 1}
    assert comparison.repeated == ()
    assert comparison.ratio(B, A, 0.05).mean == pytest.approx(1.2)


def test_candidates_that_never_met_are_not_compared():
    comparison = compare(observed((0, A, 100.0, 101.0), (1, B, 120.0, 121.0)), [A, B])
    assert comparison.names == ()
    assert comparison.ratio(B, A, 0.05) is None
    assert judged(observed((0, A, 100.0, 101.0), (1, B, 120.0, 121.0))).leader is None


def test_runs_in_other_cells_are_no_repeats():
    met = observed((0, A, 100.0), (0, B, 120.0), (1, A, 50.0), (1, B, 60.5), (2, A, 200.0), (2, B, 239.0))
    comparison = compare(met, [A, B])
    assert (comparison.repeated, comparison.again, comparison.sd) == ((), {A: 0, B: 0}, None)
    ratio = comparison.ratio(B, A, 0.05)
    assert (ratio.mean, ratio.low) == (pytest.approx(1.2, rel=0.01), None)
    assert [round(math.exp(one), 2) for one in comparison.cells[B, A].values()] == [1.2, 1.21, 1.2]


def test_one_start_of_each_candidate_at_eight_numbers_of_threads_claims_nothing():
    rng = np.random.default_rng(1)
    for _ in range(40):
        starts = {name: rng.normal(scale=0.02) for name in (A, B)}
        runs = [
            (threads, name, 1000 * math.exp(starts[name] + rng.normal(scale=0.005)))
            for threads in (1, 2, 4, 8, 16, 32, 64, 128)
            for name in (A, B)
        ]
        assert judged(observed(*runs)).outcome is Outcome.UNRESOLVED


def test_equal_candidates_with_repeats_in_cells_differ_in_as_few_studies_as_promised():
    rng, false = np.random.default_rng(2), 0
    for _ in range(400):
        runs = [
            (cell, name, *(1000 * (cell + 1) * np.exp(rng.normal(scale=0.02, size=2))))
            for cell in range(4)
            for name in (A, B, C)
        ]
        states = judged(observed(*runs), (A, B, C)).states.values()
        false += CandidateState.LOSES in states
    assert false <= 400 * 0.05 + 3 * math.sqrt(400 * 0.05 * 0.95)


def test_a_ratio_that_changes_its_sign_from_cell_to_cell_has_no_interval_and_nobody_wins():
    runs = [(cell, A, 1000.0, 1004.0) for cell in range(4)] + [(0, B, 1900.0, 1910.0)]
    runs += [(cell, B, 950.0, 955.0) for cell in range(1, 4)]
    comparison = compare(observed(*runs), [A, B])
    assert comparison.depends(A, B)
    assert comparison.ratio(B, A, 0.05).low is None
    assert judged(observed(*runs)).outcome is Outcome.UNRESOLVED


def test_the_factor_that_a_ratio_depends_on_is_found():
    cells = {(threads, io): (0.6 if threads == "512" else -0.05) for threads in ("8", "64", "512") for io in ("1", "2")}
    noisy = {cell: ratio + 0.01 * (cell[1] == "1") for cell, ratio in cells.items()}
    assert factor_of(noisy, {cell: cell[0] for cell in noisy})
    assert not factor_of(noisy, {cell: cell[1] for cell in noisy})
    single = {threads: (0.6 if threads == 512 else -0.05 - threads / 1e4) for threads in (8, 64, 128, 512)}
    assert factor_of(single, {threads: str(threads) for threads in single})
    alike = {threads: 0.05 + threads / 1e4 for threads in (8, 64, 128, 512)}
    assert not factor_of(alike, {threads: str(threads) for threads in alike})


def test_a_candidate_that_was_not_repeated_leaves_the_others_their_intervals():
    comparison = compare(observed((0, A, 100.0, 101.0), (0, B, 120.0, 121.0), (0, C, 150.0)), [A, B, C])
    assert comparison.repeated == (A, B)
    assert comparison.ratio(B, A, 0.05).low is not None
    assert comparison.ratio(C, A, 0.05).low is None
    found = judged(observed((0, A, 100.0, 101.0, 100.5), (0, B, 120.0, 121.0, 120.5), (0, C, 150.0)), (A, B, C))
    assert found.outcome is Outcome.UNRESOLVED
    assert found.states == {A: CandidateState.LOSES, B: CandidateState.OPEN, C: CandidateState.OPEN}
    assert found.leader == C


@pytest.mark.parametrize(("sds", "runs"), [((0.02, 0.02), 3), ((0.05, 0.005), 2), ((0.05, 0.005), 5), ((0.05, 0.01, 0.01), 3)])
def test_intervals_hold_together_however_unequally_steady_candidates_are(sds, runs):
    random = np.random.default_rng(5)
    names = [A, B, C][: len(sds)]
    missed = 0
    for _ in range(400):
        values = {name: np.exp(random.normal(0, sd, runs)) for name, sd in zip(names, sds, strict=True)}
        comparison = compare(observed(*((0, name, *own) for name, own in values.items())), names)
        ratios = [comparison.ratio(a, b, 0.05) for a in names for b in names if a < b]
        missed += any(not ratio.low <= 1 <= ratio.high for ratio in ratios)
    assert missed / 400 <= 0.08


def test_a_winner_is_surely_better_than_every_other():
    found = judged(observed((0, A, 100.0, 101.0, 99.0), (0, B, 120.0, 121.0, 119.0)))
    assert (found.outcome, found.winners) == (Outcome.WINNER, (B,))
    assert found.states == {A: CandidateState.LOSES, B: CandidateState.WINS}


def test_equal_candidates_of_quiet_runs_do_not_differ():
    found = judged(observed((0, A, 100.0, 100.01, 100.02), (0, B, 100.0, 100.01, 100.02)))
    assert found.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    assert found.leader == A


def test_two_that_tie_beat_a_third():
    found = judged(observed((0, A, 100.0, 100.1), (0, B, 120.0, 120.1), (0, C, 120.0, 120.1)), (A, B, C), worthwhile=0.02)
    assert (found.outcome, found.winners) == (Outcome.TIE, (B, C))


def test_nothing_is_claimed_of_a_barred_pair():
    runs = observed((0, A, 100.0, 101.0, 99.0), (0, B, 120.0, 121.0, 119.0))
    assert judged(runs, barred=[frozenset({A, B})]).outcome is Outcome.UNRESOLVED


@given(st.permutations(range(6)), st.floats(0.001, 1000))
def test_order_names_and_units_change_nothing(order, unit):
    rows = [(A, 100.0), (A, 101.0), (A, 99.0), (B, 110.0), (B, 111.0), (B, 109.0)]
    plain = compare([Observation(0, name, value) for name, value in rows], [A, B]).ratio(B, A, 0.05)
    swap = {A: "z", B: "y"}
    other = compare([Observation(0, swap[rows[i][0]], unit * rows[i][1]) for i in order], ["y", "z"]).ratio("y", "z", 0.05)
    assert (other.mean, other.low, other.high) == pytest.approx((plain.mean, plain.low, plain.high))


def test_a_drift_that_all_share_within_a_condition_changes_no_comparison():
    rows = [(0, A, 100.0), (0, B, 120.0), (1, A, 103.0), (1, B, 122.0), (2, A, 99.0), (2, B, 120.0)]
    plain = compare(observed(*rows), [A, B]).ratio(B, A, 0.05)
    drifted = compare(observed(*((s, name, value * 1.07**s) for s, name, value in rows)), [A, B]).ratio(B, A, 0.05)
    assert (drifted.low, drifted.high) == pytest.approx((plain.low, plain.high))


def test_small_figures_of_runs():
    assert weighed([10, 20], [3, 1]) == 12.5
    assert weighed([10], [0]) is None
    assert all_below([1, 2], [3, 4], 0.25)
    assert not all_below([1, 3], [3, 4], 0.25)
    assert not all_below([3.0], [3.1], 0.25)
    assert not all_below([], [1], 0)
    assert spread([100, 110]) == pytest.approx(0.1)
    assert spread([100]) == spread([]) == 0
