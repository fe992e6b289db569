"""What each variable carries, by a model of known truth."""

import math

import numpy as np
import pytest

from dialin.model.dimension import Dimension
from dialin.model.verdict import FigureSource
from dialin.search.attribution import contributions, interactions
from dialin.search.space import Space
from dialin.search.surrogate import Observations, Surrogate, learn_weights
from dialin.stats.trial_fit import TimedTrial, fit_trials

SPACE = Space(tuple(Dimension(name, 0, 1, default=0.0) for name in "abc"))
BEST = {"a": 1.0, "b": 1.0, "c": 1.0}


def truth(points: np.ndarray) -> np.ndarray:
    """Return 0.1 for a, 0.02 for c, and 0.2 for b, of which three quarters need a."""
    a, b, c = points.T
    return 0.1 * a + 0.05 * b + 0.15 * a * b + 0.02 * c


def model(count: int = 120) -> Surrogate:
    rng = np.random.default_rng(1)
    points = np.where(rng.random((count, 3)) < 0.5, rng.integers(0, 2, (count, 3)).astype(float), rng.random((count, 3)))
    logs = truth(points) + rng.normal(scale=0.01, size=count)
    seen = Observations(points, logs, np.full(count, 1e-4), np.arange(count) * 0.5, np.zeros(count, dtype=np.int64))
    return Surrogate(seen, learn_weights(seen))


MODEL = model()


def test_each_variable_carries_what_its_default_would_cost() -> None:
    shares = contributions(SPACE, BEST, MODEL, None, {}, "whole")
    assert [share.variable for share in shares] == ["a", "b", "c"]
    for share, expected in zip(shares, (0.25, 0.2, 0.02), strict=True):
        assert share.source is FigureSource.MODEL
        assert math.log(share.ratio.mean) == pytest.approx(expected, abs=0.02)
        assert share.ratio.low < math.exp(expected) < share.ratio.high


def test_measurements_of_the_proof_go_before_the_model() -> None:
    proven = {"baseline": {}, "whole": BEST, "small": {"a": 1.0, "b": 1.0}}
    levels = {"baseline": 1000.0, "whole": 1400.0, "small": 1330.0}
    wobble = (1.01, 0.99, 1.0, 1.005, 0.995)
    trials = [
        TimedTrial(0, name, 100 * block + place, level * wobble[(block + place) % 5])
        for block in range(6)
        for place, (name, level) in enumerate(levels.items())
    ]
    shares = {
        share.variable: share for share in contributions(SPACE, BEST, MODEL, fit_trials(trials, list(proven)), proven, "whole")
    }
    assert shares["c"].source is FigureSource.PROOF
    assert shares["c"].ratio.mean == pytest.approx(1400 / 1330, rel=0.01)
    assert shares["a"].source is FigureSource.MODEL


def test_no_more_than_ten_variables_are_named() -> None:
    many = Space(tuple(Dimension(f"v{i}", 0, 1, default=0.0) for i in range(12)))
    rng = np.random.default_rng(2)
    points = rng.random((30, 12))
    seen = Observations(points, points.sum(axis=1), np.full(30, 1e-4), np.arange(30.0), np.zeros(30, dtype=np.int64))
    setting = {f"v{i}": 1.0 for i in range(12)}
    assert len(contributions(many, setting, Surrogate(seen, learn_weights(seen)), None, {}, "whole")) == 10


def test_variables_that_need_each_other_are_named() -> None:
    pairs = interactions(SPACE, BEST, MODEL, ["a", "b", "c"])
    assert [set(pair.variables) for pair in pairs] == [{"a", "b"}]
    assert math.log(pairs[0].ratio.mean) == pytest.approx(0.15, abs=0.05)
    assert pairs[0].ratio.low > 1
