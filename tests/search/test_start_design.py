import numpy as np

from dialin.model.dimension import Dimension
from dialin.model.tune import MemoryFormula
from dialin.search.constraints import Constraints
from dialin.search.space import Space
from dialin.search.start_design import NEIGHBOURS, design_size, start_design


def space(rules: bool = True) -> Space:
    ranges = [Dimension(f"r{i}", 0, 100, default=50, static=i < 2, rule=80 if rules else None) for i in range(8)]
    return Space((*ranges, Dimension("word", values=("a", "b", "c"), default="a")))


def design(which: Space, constraints: Constraints | None = None) -> list[np.ndarray]:
    return start_design(which, constraints or Constraints(), np.random.default_rng(3))


def test_baseline_rules_baseline_come_first() -> None:
    which = space()
    first = [which.setting(point) for point in design(which)[:3]]
    assert first[0] == first[2] == {}
    assert first[1] == {f"r{i}": 80.0 for i in range(8)}
    assert [which.setting(point) for point in design(space(rules=False))[:2]] == [{}, {}]


def test_there_are_four_more_settings_than_variables_within_limits() -> None:
    assert [design_size(count) for count in (1, 9, 20, 50)] == [8, 13, 24, 24]
    assert len(design(space())) == 3 + 13


def test_each_variable_moves_in_half_of_the_settings_from_the_rules_and_in_half_of_those_from_the_baseline() -> None:
    which = Space(tuple(Dimension(f"r{i}", 0.0, 100.0, default=50.0, rule=80.0) for i in range(20)))
    points = np.array(design(which)[3:])
    assert len(points) == 24
    assert ((points[::2] == which.rules_point()).sum(axis=0) == 6).all()
    assert ((points[1::2] == which.default_point).sum(axis=0) == 6).all()


def test_where_a_variable_moves_it_has_values_all_along_its_axis() -> None:
    which = Space(tuple(Dimension(f"r{i}", 0.0, 100.0, default=50.0) for i in range(20)))
    for column in np.array(design(which)[2:]).T:
        assert sorted(np.floor(12 * column[column != 0.5])) == list(range(12))


def test_where_a_word_moves_it_is_another_one() -> None:
    which = Space(tuple(Dimension(f"w{i}", values=("a", "b"), default="a") for i in range(20)))
    assert (np.array(design(which)[2:]) != which.default_point).sum(axis=0).tolist() == [12] * 20


def test_of_a_single_variable_no_setting_of_the_design_is_the_baseline_again() -> None:
    which = Space((Dimension("x", 0, 1, default=0.5),))
    assert all((point != which.default_point).any() for point in design(which)[2:])


def test_neighbours_share_their_static_part() -> None:
    which = space()
    statics = [which.static_part(which.setting(point)) for point in design(which)[3:]]
    assert all(len(set(statics[begin : begin + NEIGHBOURS])) == 1 for begin in range(0, len(statics), NEIGHBOURS))


def test_where_all_variables_are_static_no_setting_repeats_another() -> None:
    which = Space(tuple(Dimension(f"r{i}", 0.0, 100.0, default=50.0, static=True) for i in range(3)))
    points = np.array(design(which)[2:])
    assert len(np.unique(points, axis=0)) == len(points)


def test_no_setting_needs_more_memory_than_there_is() -> None:
    which = Space((Dimension("pool", 1, 1000, log=True, step=1, default=1), Dimension("x", 0, 1, default=0.5)))
    memory = MemoryFormula(0, {"pool": 1}, 100)
    settings = [which.setting(point) for point in design(which, Constraints(memory))]
    assert all(memory.needed({**which.defaults, **setting}) <= 100 for setting in settings)
