import itertools
from dataclasses import replace

import numpy as np

from dialin.model.dimension import Dimension
from dialin.search.nested_sets import elimination, lean_set, nested_sets, prices
from dialin.search.space import Space

SPACE = Space(tuple(Dimension(f"v{i}", 0, 1, default=0.0, rule=1.0 if i == 3 else None) for i in range(6)))
WORTH = np.array([0.2, 0.1, 0.017, 0.012, 0.012, -0.01])


def means(points: np.ndarray) -> np.ndarray:
    return points @ WORTH


def test_variables_return_to_their_defaults_the_least_important_first() -> None:
    sets = elimination(SPACE, np.ones(6), means, np.full(6, 0.01))
    assert [one.size for one in sets] == [6, 5, 4, 3, 2, 1, 0]
    assert sets[1].point.tolist() == [1, 1, 1, 1, 1, 0]
    assert sets[4].point.tolist() == [1, 1, 0, 0, 0, 0]


def test_a_change_not_worth_its_price_is_not_in_the_lean_set() -> None:
    assert lean_set(SPACE, np.ones(6), means, np.full(6, 0.015)).tolist() == [1, 1, 1, 0, 0, 0]
    nothing = lean_set(SPACE, np.ones(6), lambda points: np.zeros(len(points)), np.full(6, 0.01))
    assert nothing.tolist() == [0] * 6


def test_a_change_without_a_rule_of_thumb_must_carry_more() -> None:
    assert lean_set(SPACE, np.ones(6), means, prices(SPACE, 0.010, 0.015)).tolist() == [1, 1, 1, 1, 0, 0]


def test_nested_sets_shrink_and_never_reach_the_baseline() -> None:
    worth = np.array([0.2, 0.1, 0.0235, 0.012, 0.0205, -0.01])  # the fourth has a rule of thumb
    sets = nested_sets(SPACE, np.ones(6), lambda points: points @ worth, error=0.015)
    assert [int(point.sum()) for point in sets] == [5, 4, 3]
    assert all((small <= large).all() for large, small in itertools.pairwise(sets))
    assert [int(point.sum()) for point in nested_sets(SPACE, np.ones(6), means, 0.015, 1)] == [3]
    assert nested_sets(SPACE, np.ones(6), lambda points: np.zeros(len(points)), 0.015)[0].all()
    assert [int(point.sum()) for point in nested_sets(SPACE, np.ones(6), means, 0.1, 1)] == [1]  # little is known


def test_a_static_variable_stays_for_less() -> None:
    worth, error = np.array([0.2, 0.1, 0.018, 0.012, 0.015, -0.01]), 0.015
    statics = Space(tuple(replace(one, static=index in (2, 5)) for index, one in enumerate(SPACE.dimensions)))
    whole = np.ones(6)
    for space, stays in ((SPACE, False), (statics, True)):
        assert nested_sets(space, whole, lambda points: points @ worth, error, 1)[0].tolist() == [1, 1, stays, 1, 0, 0]


def test_where_much_is_known_a_change_without_a_rule_still_has_to_carry_one_percent() -> None:
    worth = np.array([0.2, 0.1, 0.011, 0.008, 0.008, -0.01])  # the fourth has a rule of thumb
    assert nested_sets(SPACE, np.ones(6), lambda points: points @ worth, 0.001, 1)[0].tolist() == [1, 1, 1, 1, 0, 0]
