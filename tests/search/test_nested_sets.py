import itertools

import numpy as np

from dialin.model.dimension import Dimension
from dialin.search.nested_sets import elimination, lean_set, nested_sets
from dialin.search.space import Space

SPACE = Space(tuple(Dimension(f"v{i}", 0, 1, default=0.0) for i in range(6)))
WORTH = np.array([0.2, 0.1, 0.013, 0.008, 0.001, -0.01])


def means(points: np.ndarray) -> np.ndarray:
    return points @ WORTH


def test_variables_return_to_their_defaults_the_least_important_first() -> None:
    sets = elimination(SPACE, np.ones(6), means)
    assert [one.size for one in sets] == [6, 5, 4, 3, 2, 1, 0]
    assert sets[1].point.tolist() == [1, 1, 1, 1, 1, 0]
    assert sets[4].point.tolist() == [1, 1, 0, 0, 0, 0]


def test_what_is_not_worth_its_price_is_not_in_the_lean_set() -> None:
    assert lean_set(SPACE, np.ones(6), means, 0.012).tolist() == [1, 1, 1, 0, 0, 0]
    assert lean_set(SPACE, np.ones(6), lambda points: np.zeros(len(points)), 0.01).tolist() == [0] * 6


def test_nested_sets_shrink_and_never_reach_the_baseline() -> None:
    sets = nested_sets(SPACE, np.ones(6), means)
    sizes = [int(point.sum()) for point in sets]
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes == [4, 3, 2]
    assert all((small <= large).all() for large, small in itertools.pairwise(sets))
