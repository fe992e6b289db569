import pytest

from dialin.variables.size_units import in_units, unit_of, with_letter


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1000, "1000"),
        (1024, "1K"),
        (5242880, "5M"),
        (2415919104, "2304M"),
        (2**30, "1G"),
        (2**30 - 4096, "1048572K"),
        (2147479552, "just under 2G"),
        (2**31, "2G"),
        (2**63 - 1, "just under 8E"),
        (2**64 - 4096, "just under 16E"),
        (-1, "-1"),
        (99.5, "99.5"),
    ],
)
def test_values_get_the_largest_letter_that_fits(number, text):
    assert with_letter(number) == text


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("read_buffer_size", "bytes"),
        ("innodb_buffer_pool_size", "bytes"),
        ("innodb_page_size", "bytes"),
        ("net_read_timeout", "seconds"),
        ("long_query_time", "seconds"),
        ("binlog_expire_logs_seconds", "seconds"),
        ("rpl_semi_sync_master_timeout", "milliseconds"),
        ("innodb_old_blocks_pct", "per cent"),
        ("innodb_max_dirty_pages_pct_lwm", "per cent"),
        ("innodb_buffer_pool_instances", None),
        ("thread_cache_size", None),
        ("host_cache_size", None),
        ("performance_schema_digests_size", None),
        ("innodb_ft_min_token_size", None),
        ("innodb_sync_array_size", None),
    ],
)
def test_a_unit_is_reported_where_it_is_known_and_never_guessed(name, unit):
    assert unit_of(name) == unit


def test_limits_less_a_block_read_as_what_they_fall_short_of():
    assert with_letter(2**63 - 2**20) == "just under 8E"
    assert with_letter(2**57 - 2**20) == "just under 128P"
    assert with_letter(8 * 2**30 - 2**20) == "8191M", "somebody may have asked for it"


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("innodb_buffer_pool_size", 99614720, "95M"),
        ("innodb_buffer_pool_size", 2**31 - 4096, "2097148K"),
        ("innodb_buffer_pool_size", 99614721, "99614721"),
        ("innodb_buffer_pool_size", "131072K", "131072K"),
        ("innodb_io_capacity", 2048, 2048),
        ("innodb_flush_neighbors", True, True),
    ],
)
def test_numbers_of_bytes_are_written_with_a_letter_and_all_else_as_it_is(name, value, written):
    assert in_units(name, value) == written
