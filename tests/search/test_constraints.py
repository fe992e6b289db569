import numpy as np
import pytest

from dialin.model.dimension import Dimension
from dialin.model.tune import AtMost, MemoryFormula
from dialin.search.constraints import Constraints
from dialin.search.space import Space

GIB = 2**30
SPACE = Space(
    (
        Dimension("pool", GIB, 64 * GIB, log=True, step=2**20, static=True, default=GIB),
        Dimension("sort", 2**15, 2**30, log=True, step=1, default=2**18),
        Dimension("capacity", 100, 20_000, log=True, step=1, default=200),
        Dimension("capacity_max", 100, 40_000, log=True, step=1, default=2000),
    )
)
MEMORY = MemoryFormula(GIB / 2, {"pool": 1, "sort": 64}, 16 * GIB)
CONSTRAINTS = Constraints(MEMORY, (AtMost("capacity", "capacity_max"),))


def test_a_setting_that_fits_stays_as_it_is() -> None:
    setting = {"pool": 8 * GIB, "capacity": 1000}
    assert CONSTRAINTS.repaired(SPACE, setting) == setting


def test_a_setting_of_too_much_memory_goes_half_way_back_until_it_fits() -> None:
    repaired = CONSTRAINTS.repaired(SPACE, {"pool": 64 * GIB, "capacity": 1000})
    assert repaired == {"pool": 8 * GIB, "capacity": 1000}, "half-way from 64 GiB to 1 GiB on a log scale"


@pytest.mark.parametrize("pool", [20, 40, 64])
@pytest.mark.parametrize("sort", [2**20, 2**26, 2**30])
def test_a_repaired_setting_always_fits(pool: int, sort: int) -> None:
    repaired = CONSTRAINTS.repaired(SPACE, {"pool": pool * GIB, "sort": sort})
    assert MEMORY.needed({**SPACE.defaults, **repaired}) <= MEMORY.limit


def test_of_many_points_those_that_need_too_much_go_back_and_the_others_stay() -> None:
    settings = [{"pool": 8 * GIB, "capacity": 1000}, {"pool": 64 * GIB}, {"sort": 2**30}, {"pool": 64 * GIB, "sort": 2**30}]
    points = np.array([SPACE.point(setting) for setting in settings])
    fitted = CONSTRAINTS.fitted(SPACE, points)
    assert (fitted[0] == points[0]).all()
    assert (CONSTRAINTS.needed(SPACE, fitted) <= MEMORY.limit).all()
    assert (CONSTRAINTS.needed(SPACE, points) > MEMORY.limit).tolist() == [False, True, True, True]
    by_formula = [MEMORY.needed({**SPACE.defaults, **setting}) for setting in settings]
    assert CONSTRAINTS.needed(SPACE, points) == pytest.approx(by_formula, rel=1e-6)
    assert (Constraints().fitted(SPACE, points) == points).all(), "memory is not limited"


def test_a_variable_does_not_exceed_the_one_that_limits_it() -> None:
    assert CONSTRAINTS.repaired(SPACE, {"capacity": 10_000}) == {"capacity": 2000}


def test_a_crash_moves_the_fence_below_what_crashed() -> None:
    fenced = CONSTRAINTS.after_crash(SPACE, {"pool": 12 * GIB}, ran=8 * GIB)
    needed = MEMORY.needed({**SPACE.defaults, "pool": 12 * GIB})
    assert fenced.limit == pytest.approx(needed - (needed - 8 * GIB) / 4)
    close = CONSTRAINTS.after_crash(SPACE, {"pool": 12 * GIB}, ran=0.99 * needed)
    assert close.limit == pytest.approx(0.99 * needed), "what ran is never beyond the fence"
    assert MEMORY.needed({**SPACE.defaults, **fenced.repaired(SPACE, {"pool": 12 * GIB})}) < needed
    again = fenced.after_crash(SPACE, {"pool": 10 * GIB}, ran=8 * GIB)
    assert again.limit is not None
    assert fenced.limit is not None
    assert again.limit < fenced.limit


def test_memory_does_not_explain_a_crash_of_what_needs_less_than_what_ran() -> None:
    assert CONSTRAINTS.after_crash(SPACE, {"pool": 4 * GIB}, ran=8 * GIB) == CONSTRAINTS
