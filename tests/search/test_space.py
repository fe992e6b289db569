import numpy as np
import pytest

from dialin.model.dimension import CATEGORY, Dimension
from dialin.search.space import Space, is_log_range

POOL = Dimension("innodb_buffer_pool_size", 2**27, 2**34, log=True, step=2**20, static=True, default=2**27, rule=2**33)
CAPACITY = Dimension("innodb_io_capacity", 100, 20_000, log=True, step=1, default=200)
CONCURRENCY = Dimension("innodb_thread_concurrency", 1, 128, step=1, special=(0,), default=0)
METHOD = Dimension("innodb_flush_method", values=("fsync", "O_DIRECT"), static=True, default="fsync", rule="O_DIRECT")
SPACE = Space((POOL, CAPACITY, CONCURRENCY, METHOD))


def test_a_log_range_has_the_geometric_mean_in_its_middle() -> None:
    assert POOL.position(2**30) == pytest.approx(3 / 7)
    assert POOL.value(0.5) == pytest.approx(2**30.5, rel=1e-3)
    assert [is_log_range(1, 63), is_log_range(1, 64), is_log_range(0, 1000)] == [False, True, False]


def test_values_are_rounded_to_steps_within_the_range() -> None:
    values = [POOL.value(float(share)) for share in np.linspace(0, 1, 50)]
    assert all(isinstance(value, int) and value % 2**20 == 0 for value in values)
    assert min(values) == 2**27
    assert max(values) == 2**34
    assert CAPACITY.value(0.83) == round(100 * 200**0.83 / 100) * 100, "nobody needs 8,127 where 8,100 does"


def test_special_values_and_words_are_categories() -> None:
    assert CONCURRENCY.position(0) == CATEGORY
    assert CONCURRENCY.position(64) < 1
    assert METHOD.position("o_direct") == CATEGORY + 1
    with pytest.raises(ValueError, match="does not take 'nosync'"):
        METHOD.position("nosync")


def test_a_point_returns_to_its_setting() -> None:
    setting = {"innodb_buffer_pool_size": 2**31, "innodb_thread_concurrency": 17, "innodb_flush_method": "O_DIRECT"}
    assert SPACE.setting(SPACE.point(setting)) == setting
    assert SPACE.setting(SPACE.default_point) == {}
    assert SPACE.point({"innodb_io_capacity": "200"}).tolist() == SPACE.default_point.tolist()


def test_points_of_one_setting_become_equal() -> None:
    point = SPACE.default_point
    point[0] = POOL.position(2**31) + 1e-9
    assert SPACE.setting(point) == {"innodb_buffer_pool_size": 2**31}


def test_the_static_part_is_what_takes_a_start() -> None:
    assert SPACE.static_part({"innodb_io_capacity": 1000}) == SPACE.static_part({})
    assert SPACE.static_part({"innodb_flush_method": "O_DIRECT"}) != SPACE.static_part({})


def test_rules_of_thumb_are_a_point() -> None:
    assert SPACE.setting(SPACE.rules_point()) == {"innodb_buffer_pool_size": 2**33, "innodb_flush_method": "O_DIRECT"}


def test_a_value_outside_the_space_is_refused() -> None:
    with pytest.raises(ValueError, match="sync_binlog is not in the space"):
        SPACE.point({"sync_binlog": 0})
    with pytest.raises(ValueError, match="twice"):
        Space((POOL, POOL))
    with pytest.raises(ValueError, match="holds no two values"):
        Dimension("x", 5, 5, default=5)
