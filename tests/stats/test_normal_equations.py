"""The solution run by run is that of one large system of equations, in which every column is a trial long."""

import numpy as np
import pytest

from dialin.stats.drift import drift_of, solve, sums_of


def trials_of(rng, lengths):
    """Runs of so many trials of three candidates, one after another in time."""
    runs = np.repeat(np.arange(len(lengths)), lengths)
    at = np.concatenate([60.0 * np.arange(length) + rng.uniform(0, 20, length) for length in lengths])
    candidates = np.concatenate([[0, 1, 2], rng.integers(0, 3, len(runs) - 3)])
    return candidates, drift_of([f"run {number}" for number in runs], at), rng.normal(size=len(runs))


@pytest.mark.parametrize("lengths", [[8], [1, 2, 9], [40, 3, 7, 12]])
def test_it_is_the_solution_of_all_equations_at_once(lengths):
    rng = np.random.default_rng(sum(lengths))
    candidates, drift, logs = trials_of(rng, lengths)
    relative = np.array([0.5, 1.0, 2.0])
    solution = solve(sums_of(candidates, drift, logs, np.ones(3)), drift.precisions, relative)
    runs, width = drift.precisions.shape[1:]
    wide = np.zeros((len(logs), runs, width))
    wide[np.arange(len(logs)), drift.runs] = drift.columns
    wide = wide.reshape(len(logs), runs * width)
    design = np.hstack([np.eye(3)[candidates], wide - wide.mean(axis=0)])  # so that levels are those at the mean state
    weighted = design / relative[candidates][:, None]
    for number, precisions in enumerate(drift.precisions):
        information = design.T @ weighted + np.diag([0, 0, 0, *precisions.ravel()])
        inverse = np.linalg.inv(information)
        coefficients = inverse @ weighted.T @ logs
        leverages = np.bincount(candidates, weights=((weighted @ inverse) * design).sum(axis=1))
        assert solution.effects[number] == pytest.approx(coefficients[:3], abs=1e-6)
        assert solution.covariances[number] == pytest.approx(inverse[:3, :3], rel=1e-6)
        assert solution.coefficients[number].ravel() == pytest.approx(coefficients[3:], abs=1e-6)
        assert solution.leverages[number] == pytest.approx(leverages, rel=1e-6)
        assert solution.left_over[number] == pytest.approx((logs / relative[candidates] - weighted @ coefficients) @ logs)
        assert solution.log_determinant[number] == pytest.approx(np.linalg.slogdet(information)[1])


def test_each_run_has_half_waves_by_its_own_number_of_trials():
    _, drift, _ = trials_of(np.random.default_rng(1), [40, 7])
    straight_lines, levels = 1, 1
    assert drift.columns.shape[1] == straight_lines + 12 + levels
    used = [(drift.columns[drift.runs == run] != 0).any(axis=0).sum() for run in (0, 1)]
    assert used == [straight_lines + 12 + levels, straight_lines + 2 + levels]
