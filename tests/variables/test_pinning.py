import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.model.setting import as_number
from dialin.variables import pinning

MIB = 2**20


def pools(size, *instances):
    return {
        str(number): {
            "innodb_buffer_pool_size": str(size),
            "innodb_buffer_pool_instances": str(number),
            "innodb_page_cleaners": "4",
        }
        for number in instances
    }


@pytest.mark.parametrize(
    ("instances", "size", "chunk"), [((1, 8, 64), "2G", "32M"), ((1, 3, 8), "2064M", "86M"), ((4, 8), "2G", "256M")]
)
def test_one_size_of_pool_and_chunk_fits_every_number_of_instances(instances, size, chunk):
    result = pinning.proposal(pinning.POOL, pools(2048 * MIB, *instances))
    assert result == {pinning.POOL: size, pinning.CHUNK: chunk}
    assert pinning.proposal(pinning.CHUNK, pools(2048 * MIB, *instances)) == result


@given(st.sets(st.integers(1, 64), min_size=2, max_size=6), st.integers(128, 65536))
def test_a_proposed_pool_is_a_whole_number_of_chunks_in_every_instance(instances, megabytes):
    result = pinning.proposal(pinning.POOL, pools(megabytes * MIB, *instances))
    if not result:
        parts = math.lcm(*instances)
        assert parts > 1000 or parts * math.ceil(megabytes / parts) > 1.1 * megabytes
        return
    pool, chunk = as_number(result[pinning.POOL]), as_number(result[pinning.CHUNK])
    assert all(pool % (chunk * number) == 0 for number in instances)
    assert chunk % MIB == 0
    assert megabytes * MIB <= pool <= 1.1 * megabytes * MIB


def test_variables_that_no_rule_holds_still_are_left():
    assert pinning.proposal("sync_binlog", pools(2048 * MIB, 1, 2)) == {}
    assert pinning.proposal("innodb_page_cleaners", pools(2048 * MIB, 1, 2)) == {"innodb_page_cleaners": 4}
    assert pinning.proposal(pinning.POOL, {"a": {}, "b": {}}) == {}
