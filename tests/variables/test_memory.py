import pytest

from dialin.variables import memory
from dialin.variables.memory import Room

GIB = 2**30
ROOM = Room(memory=20 * GIB, total_memory=24 * GIB, disk=30 * GIB, cpus=8)
NEW = {"innodb_buffer_pool_size": "134217728", "innodb_redo_log_capacity": "104857600"}
OLD = {"innodb_buffer_pool_size": "134217728", "innodb_log_file_size": "50331648", "innodb_log_files_in_group": "2"}
BOTH = {**OLD, **NEW}


@pytest.mark.parametrize(
    ("setting", "defaults", "size"),
    [
        ({}, NEW, 100 * 2**20),
        ({"innodb_redo_log_capacity": "40G"}, NEW, 40 * GIB),
        ({"innodb_log_file_size": "4G"}, OLD, 8 * GIB),
        ({"innodb_log_file_size": "4G", "innodb_log_files_in_group": 3}, BOTH, 12 * GIB),
        ({"innodb_log_file_size": "4G", "innodb_redo_log_capacity": "2G"}, BOTH, 2 * GIB),
        ({"innodb_log_file_size": "5G"}, {"innodb_log_file_size": "100663296"}, 5 * GIB),
    ],
)
def test_the_redo_log_grows_to_its_capacity_or_to_all_of_its_files(setting, defaults, size):
    assert memory.need(setting, defaults, 16, ROOM).redo_log == size


def test_the_scale_is_the_largest_that_makes_every_setting_fit():
    settings = [{"innodb_buffer_pool_size": "45G", "innodb_redo_log_capacity": "40G"}, {"innodb_buffer_pool_size": "10G"}]
    scale = memory.fitting_scale(settings, NEW, 16, ROOM)
    assert scale == 0.4
    for setting in settings:
        assert memory.need(memory.scaled(setting, scale)[0], NEW, 16, ROOM).fits(ROOM)
    assert not memory.need(memory.scaled(settings[0], scale + 0.05)[0], NEW, 16, ROOM).fits(ROOM)


def test_only_caches_and_the_redo_log_are_scaled_and_small_ones_stay():
    setting = {"innodb_buffer_pool_size": "4G", "sort_buffer_size": "8M", "innodb_io_capacity": 4000, "key_buffer_size": 8192}
    assert memory.scaled(setting, 0.5)[0] == {**setting, "innodb_buffer_pool_size": "2G"}


def test_a_dedicated_server_sizes_its_pool_by_this_machine_unless_the_file_does():
    dedicated = {"innodb_dedicated_server": "ON"}
    assert memory.dedicated_sizes({}, NEW, ROOM) == {}
    assert memory.dedicated_sizes(dedicated, NEW, ROOM) == {
        "innodb_buffer_pool_size": 18 * GIB,
        "innodb_redo_log_capacity": 4 * GIB,
    }
    given = {**dedicated, "innodb_buffer_pool_size": "1G"}
    assert set(memory.dedicated_sizes(given, NEW, ROOM)) == {"innodb_redo_log_capacity"}
    assert memory.need(dedicated, NEW, 16, ROOM).memory["buffer pool"] > 18 * GIB
