import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize

from dialin.search import surrogate
from dialin.search.surrogate import Guide, Observations, Surrogate, correlations, learn_weights


def observe(points: np.ndarray, logs: np.ndarray, sd: float = 0.02, lives: np.ndarray | None = None) -> Observations:
    count = len(logs)
    lives = np.zeros(count, dtype=np.int64) if lives is None else lives
    return Observations(points, logs, np.full(count, sd**2), np.arange(count) * 0.5, lives)


def simulated(count: int = 60, seed: int = 1, sd: float = 0.02) -> Observations:
    rng = np.random.default_rng(seed)
    points = rng.random((count, 6))
    points[:, 5] = 2 + rng.integers(0, 3, count)
    truth = -((points[:, 0] - 0.7) ** 2) + 0.3 * (points[:, 5] == 3)
    return observe(points, truth + rng.normal(scale=sd, size=count), sd)


def test_the_kernel_of_a_variable() -> None:
    a = np.array([0.1, 0.1, 0.9, 2.0, 3.0])
    kernel = correlations(a, a)
    assert np.allclose(np.diag(kernel), 1)
    assert kernel[0, 1] == 1
    assert 0 < kernel[0, 2] < 0.5
    assert kernel[3, 4] == 0, "two special values say nothing of each other"
    assert kernel[0, 3] == surrogate._SPECIAL
    assert np.linalg.eigvalsh(kernel + 1e-9 * np.eye(5)).min() > -1e-6


def test_the_gradient_of_the_likelihood_is_analytic(monkeypatch) -> None:
    asked = {}
    monkeypatch.setattr(
        scipy.optimize, "minimize", lambda f, start, **rest: asked.update(f=f, start=start) or type("R", (), {"x": start})
    )
    learn_weights(simulated(25))
    z = asked["start"] * np.linspace(0.5, 2, len(asked["start"]))
    error = scipy.optimize.check_grad(lambda x: asked["f"](x)[0], lambda x: asked["f"](x)[1], z)
    assert error < 1e-3 * np.linalg.norm(asked["f"](z)[1])


def test_variables_that_do_nothing_get_next_to_no_weight() -> None:
    weights = learn_weights(simulated()).variables
    assert min(weights[0], weights[5]) > 5 * weights[1:5].max()


def test_a_contrast_of_two_points_is_their_difference() -> None:
    seen = simulated()
    model = Surrogate(seen, learn_weights(seen))
    mean, sd = model.differences(seen.points[:1], seen.points[1])
    assert model.contrast(seen.points[:2], np.array([1.0, -1.0])) == pytest.approx((mean[0], sd[0]), rel=1e-6)


def test_it_predicts_differences_between_settings_that_were_not_tried() -> None:
    seen = simulated()
    model = Surrogate(seen, learn_weights(seen))
    points = np.array([[0.7, 0.5, 0.5, 0.5, 0.5, 3.0], [0.1, 0.5, 0.5, 0.5, 0.5, 3.0]])
    mean, sd = model.differences(points, np.array([0.7, 0.5, 0.5, 0.5, 0.5, 2.0]))
    assert abs(mean[0] - 0.3) < 0.05
    assert abs(mean[1] - (0.3 - 0.36)) < 0.08
    assert (sd < 0.1).all()


def test_a_setting_does_not_differ_from_itself() -> None:
    seen = simulated(20)
    mean, sd = Surrogate(seen, learn_weights(seen)).differences(seen.points[:1], seen.points[0])
    assert abs(mean[0]) < 1e-9
    assert sd[0] < 1e-4


def test_drift_is_not_taken_for_an_effect() -> None:
    """A setting tried early and one tried late differ by the machine's drift, which the baseline beside them shows."""
    rng = np.random.default_rng(5)
    half = np.array([[0.5, 0.5]])
    points = np.vstack([half, [[0.2, 0.5]], half, [[0.2, 0.5]]] * 5)
    minutes = np.linspace(0, 120, len(points))
    logs = 0.1 * np.sin(minutes / 40) + rng.normal(scale=0.005, size=len(points))
    seen = Observations(points, logs, np.full(len(points), 0.005**2), minutes, np.zeros(len(points), dtype=np.int64))
    mean, _ = Surrogate(seen, learn_weights(seen)).differences(np.array([[0.2, 0.5]]), half[0])
    assert abs(mean[0]) < 0.01


def test_a_disturbed_trial_hardly_moves_a_setting_that_was_tried_before() -> None:
    rng = np.random.default_rng(2)
    points = np.repeat(rng.random((6, 2)), 5, axis=0)
    logs = -((points[:, 0] - 0.5) ** 2) + rng.normal(scale=0.01, size=30)
    clean = observe(points, logs, 0.01)
    logs = logs.copy()
    logs[12] += math.log(0.7)
    disturbed = observe(points, logs, 0.01)
    weights = learn_weights(clean)
    before, _ = Surrogate(clean, weights).differences(points[12:13], points[0])
    after, _ = Surrogate(disturbed, weights).differences(points[12:13], points[0])
    assert abs(before[0] - after[0]) < 0.02, "a mean of five would move by 7 %"


def test_a_few_disturbed_trials_do_not_pass_for_noise_of_all() -> None:
    clean = simulated(60)
    logs = clean.logs.copy()
    logs[[10, 25, 40]] += math.log(0.8)
    disturbed = replace(clean, logs=logs)
    model = Surrogate(disturbed, learn_weights(disturbed))
    assert set(np.flatnonzero(model.disturbed)) >= {10, 25, 40}
    assert model.undisturbed_noise() < min(2 * learn_weights(clean).noise, model.weights.noise / 2)


def test_what_many_rules_carry_a_little_each_is_seen_of_them_together() -> None:
    rng = np.random.default_rng(3)
    default, rules = np.full(20, 0.2), np.full(20, 0.7)
    points = np.where(rng.random((60, 20)) < 0.5, np.where(np.arange(60)[:, None] % 2, rules, default), default)
    logs = 0.003 * (points == rules).sum(axis=1) + rng.normal(scale=0.03, size=60)
    alone = observe(points, logs, 0.03)
    together = replace(alone, guide=Guide(default, rules))
    gains = [Surrogate(seen, learn_weights(seen)).differences(rules[None, :], default)[0][0] for seen in (alone, together)]
    assert abs(gains[1] - 0.06) < abs(gains[0] - 0.06)
    assert gains[1] > 0.03


def test_a_direction_begins_at_the_baseline_and_ends_at_the_rules() -> None:
    default, rules = np.array([0.2, 2.0, 0.5]), np.array([0.7, 3.0, 0.5])
    along = Guide(default, rules).along(np.array([default, rules, [0.7, 2.0, 0.9], [0.2, 2.0, 0.0]]))
    assert along == pytest.approx([0, 1, 0.5, 0], abs=1e-9)
    assert Guide(default, default).along(rules[None, :]) == pytest.approx([0])
