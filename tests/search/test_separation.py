"""What always came together is told apart before it is recommended: a useful variable does not take a useless one along."""

import math

import numpy as np
import pytest

from dialin.model.dimension import Dimension
from dialin.model.verdict import TuneOutcome
from dialin.search.attribution import carried
from dialin.search.constraints import Constraints
from dialin.search.separation import companions, told_apart
from dialin.search.space import Space
from dialin.search.surrogate import Observations, Surrogate, learn_weights
from dialin.search.trial_records import Options, TrialOutcome
from dialin.search.tuner import Tuner

SPACE = Space(
    (
        Dimension("log_buffer", low=2**21, high=2**26, log=True, step=2**20, static=True, default=2**24, rule=2**26),
        Dimension("pool", low=2**24, high=2**29, log=True, step=2**20, static=True, default=2**24, rule=2**27),
        *(Dimension(f"other_{place}", low=0, high=100, step=1, default=50) for place in range(3)),
    )
)
"""Rules of thumb raise both at once, and the pool alone matters: what a small pool costs is a multiple."""


def session(seed: int, minutes: float = 15) -> Tuner:
    tuner = Tuner(SPACE, Constraints(), Options(minutes, start_seconds=10, set_seconds=5), seed)
    rng, clock, life, static = np.random.default_rng([seed, 5]), 0.0, 0, None
    while (ask := tuner.ask()) is not None:
        starts = SPACE.static_part(ask.setting) != static
        static, life = SPACE.static_part(ask.setting), life + starts
        cost = ask.seconds + (10 if starts else 5)
        clock += cost
        share = min(1.0, math.log2(float(ask.setting.get("pool", 2**24)) / 2**24) / 2.5)
        tuner.tell(TrialOutcome(ask, True, 1600 * math.exp(1.8 * share + rng.normal(scale=0.02)), life, cost))
    return tuner


def seen_together(default: np.ndarray, both: np.ndarray) -> Surrogate:
    """Return the model of three trials each of the baseline and of both changes."""
    logs, lives = np.array([7.0, 8.8] * 3), np.zeros(6, dtype=np.int64)
    seen = Observations(np.array([default, both] * 3), logs, np.full(6, 0.002), np.arange(6.0), lives)
    return Surrogate(seen, learn_weights(seen))


@pytest.mark.parametrize("seed", range(4))
def test_what_a_rule_moved_along_with_the_one_that_matters_goes(seed: int) -> None:
    result = session(seed).result()
    assert result.outcome is TuneOutcome.GAIN
    assert set(result.setting) == {"pool"}
    (share,) = result.carried
    assert share.ratio.mean == pytest.approx(math.exp(1.8), rel=0.25)
    assert share.companions == ()


def test_of_two_changes_each_is_proven_by_itself() -> None:
    default, both = SPACE.point({}), SPACE.point({"log_buffer": 2**26, "pool": 2**27})
    sets = told_apart(seen_together(default, both), both, default)
    assert [SPACE.setting(point) for point in sets] == [
        {"log_buffer": 2**26, "pool": 2**27},
        {"pool": 2**27},
        {"log_buffer": 2**26},
    ]


def test_what_the_model_says_of_variables_that_came_together_holds_nothing_for_possible() -> None:
    default, both = SPACE.point({}), SPACE.point({"log_buffer": 2**26, "pool": 2**27})
    shares = carried(SPACE, SPACE.setting(both), seen_together(default, both), None, {}, "whole")
    assert {share.variable: share.companions for share in shares} == {"pool": ("log_buffer",), "log_buffer": ("pool",)}
    assert all(share.ratio.low <= 1 < share.ratio.mean for share in shares)


def test_companions_are_those_that_no_trial_changed_without_it() -> None:
    default, both = SPACE.point({}), SPACE.point({"log_buffer": 2**26, "pool": 2**27})
    log_buffer_alone = SPACE.point({"log_buffer": 2**26})
    assert companions(np.array([default, both]), both, default) == {0: [1], 1: [0]}
    assert companions(np.array([default, both, log_buffer_alone]), both, default) == {0: [1], 1: []}
    assert companions(np.array([default, both, SPACE.point({"pool": 2**27})]), both, default) == {0: [], 1: [0]}
