"""Trials that leave out changes of a setting: which are left out, and which of the trials is worth most."""

import numpy as np
import pytest

from dialin.model.dimension import Dimension
from dialin.search.separation import reductions, worth_of_trials
from dialin.search.space import Space
from dialin.search.surrogate import Observations, Surrogate, learn_weights

SPACE = Space(tuple(Dimension(name, 0, 1, static=name == "d", default=0.0) for name in "abcd"))
WHOLE = np.ones(4)


def model(trials: int, noise: float = 0.03) -> Surrogate:
    """Return a model of some trials in which the first variable carries 0.3 and the second 0.03, and the third costs 0.2."""
    rng = np.random.default_rng(3)
    points = rng.integers(0, 2, (trials, 4)).astype(float)
    logs = points @ np.array([0.3, 0.03, -0.2, 0.0]) + rng.normal(scale=noise, size=trials)
    seen = Observations(points, logs, np.full(trials, noise**2), np.arange(trials) * 0.5, np.zeros(trials, dtype=np.int64))
    return Surrogate(seen, learn_weights(seen))


def test_needed_changes_stay_harmful_ones_leave_and_doubtful_ones_come_and_go() -> None:
    points = reductions(SPACE, model(30), WHOLE, None, np.random.default_rng(1))
    assert points[:, 0].all()
    assert not points[:, 2].any()
    assert set(points[:, 1]) == {0.0, 1.0}


def test_each_trial_is_there_with_the_static_part_of_the_running_server() -> None:
    running = np.array([0.0, 0.0, 0.0, 1.0])
    points = reductions(SPACE, model(30), WHOLE, running, np.random.default_rng(1))
    same_server = points.copy()
    same_server[:, 3] = 1.0
    assert {tuple(point) for point in same_server} <= {tuple(point) for point in points}
    other = np.array([0.0, 0.0, 0.0, 0.5])  # another value than the setting's: such a trial would show nothing of it
    assert 0.5 not in reductions(SPACE, model(30), WHOLE, other, np.random.default_rng(1))[:, 3]


def test_a_trial_is_worth_most_that_leaves_out_what_is_doubtful() -> None:
    nothing, needed, doubtful = np.ones(4), np.array([0.0, 1, 1, 1]), np.array([1.0, 0, 1, 1])
    worth = worth_of_trials(SPACE, model(30), WHOLE, np.array([nothing, needed, doubtful]), 0.03**2)
    assert worth[0] == 0
    assert worth[2] > 3 * worth[1] > 0


def test_a_noisy_trial_is_worth_less_and_so_is_one_more_where_much_is_known() -> None:
    doubtful = np.array([[1.0, 0, 1, 1]])
    worth = worth_of_trials(SPACE, model(30), WHOLE, doubtful, 0.03**2)[0]
    assert worth_of_trials(SPACE, model(30), WHOLE, doubtful, 0.3**2)[0] < worth / 3
    assert worth_of_trials(SPACE, model(400), WHOLE, doubtful, 0.03**2)[0] < worth / 3


def test_the_worth_of_a_trial_is_the_mean_gain_of_a_better_choice() -> None:
    """A simulation: draw what the trial may show, and choose again with it."""
    known, doubtful = model(30), np.array([[1.0, 0, 1, 1]])
    mean, covariance = known.joint(doubtful, WHOLE)
    carried, sd, noise = -float(mean[0]), float(np.sqrt(covariance[0, 0])), 0.03
    one_change = Space((Dimension("b", 0, 1, default=0.0),))
    assert one_change.dimensions[0].rule is None
    error = known.change_error(WHOLE, np.zeros(4))
    price = 0.01 + 0.8 * error
    shown = carried + sd**2 / np.hypot(sd, noise) * np.random.default_rng(1).normal(size=200_000)
    gain = np.maximum(shown - price, 0).mean() - max(carried - price, 0.0)
    others = worth_of_trials(SPACE, known, WHOLE, doubtful, noise**2)[0]
    assert others == pytest.approx(gain, rel=0.2)  # what the trial shows of the other changes is little
