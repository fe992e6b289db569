"""When a server counts as saturated."""

import pytest

from dialin.model.traffic import is_saturated


@pytest.mark.parametrize(
    ("seen", "saturated"),
    [
        ({"cpu_share": 0.95, "cpus": 8, "running": 3}, True),
        ({"cpu_share": 0.5, "cpus": 8, "running": 3}, False),
        ({"cpu_share": 0.5, "cpus": 8, "running": 33}, True),
        ({"cpu_share": None, "cpus": None, "running": 33, "connected": 200}, False),
        ({"cpu_share": None, "cpus": None, "running": 62, "connected": 64}, True),
        ({"cpu_share": None, "cpus": None, "running": 4, "connected": 4}, False),
        ({"cpu_share": None, "cpus": None, "running": 62}, False),
    ],
)
def test_it_is_by_its_cpu_or_by_threads_that_wait_for_it(seen, saturated):
    assert is_saturated(**{"connected": None, **seen}) is saturated
