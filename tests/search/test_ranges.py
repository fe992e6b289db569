import pytest

from dialin.errors import UserError
from dialin.search.ranges import RequestedVariable, VariableFacts, make_dimension, parse_requested

CAPACITY = VariableFacts("innodb_io_capacity", 200, static=False, minimum=100, maximum=2**32 - 1)
METHOD = VariableFacts("innodb_flush_method", "fsync", static=True, choices=("fsync", "O_DIRECT"), rule="O_DIRECT")


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("innodb-io-capacity=200..20000", RequestedVariable("innodb_io_capacity", 200, 20000)),
        ("innodb_redo_log_capacity=64M..8G", RequestedVariable("innodb_redo_log_capacity", "64M", "8G")),
        ("innodb_flush_method", RequestedVariable("innodb_flush_method")),
        ("innodb_buffer_pool_instances=1,4,8", RequestedVariable("innodb_buffer_pool_instances", values=(1, 4, 8))),
    ],
)
def test_a_variable_is_named_with_a_range_a_list_or_nothing(text: str, asked: RequestedVariable) -> None:
    assert parse_requested(text) == asked


@pytest.mark.parametrize("text", ["", "a b=1..2", "x=2..1", "x=1..", "x=a..b", "x=", "x=1", "x=1,"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        parse_requested(text)


def test_a_range_that_was_requested_is_cut_by_what_the_server_takes() -> None:
    axis = make_dimension(CAPACITY, parse_requested("innodb_io_capacity=50..20000"))
    assert (axis.low, axis.high, axis.log) == (100, 20_000, True)
    with pytest.raises(UserError, match="innodb_io_capacity: the server accepts no range within 10 to 50"):
        make_dimension(CAPACITY, parse_requested("innodb_io_capacity=10..50"))


def test_without_a_range_it_spans_sixteen_times_the_default_unless_a_rule_says_more() -> None:
    axis = make_dimension(CAPACITY)
    assert (axis.low, axis.high, axis.log) == (100, 3200, False)
    pool = VariableFacts("pool", 2**27, static=True, minimum=2**20, highest=12 * 2**30, step=2**20, source="75 % of memory")
    assert make_dimension(pool).high == 12 * 2**30
    assert make_dimension(pool).reason == "rule: 75 % of memory"


MIB = 2**20
POOL = VariableFacts(
    "innodb_buffer_pool_size", 128 * MIB, static=True, minimum=5 * MIB, lowest=128 * MIB, highest=617 * MIB,
    step=MIB, multiple=128 * MIB, rule=473 * MIB,
)  # fmt: skip


def test_of_values_that_a_server_rounds_up_only_those_that_stay_are_tried() -> None:
    axis = make_dimension(POOL)
    assert (axis.low, axis.high, axis.rule) == (128 * MIB, 640 * MIB, 512 * MIB)
    assert {axis.value(share / 50) for share in range(51)} == {chunks * 128 * MIB for chunks in range(1, 6)}


def test_a_requested_range_is_not_exceeded_where_a_server_rounds_up() -> None:
    axis = make_dimension(POOL, parse_requested("innodb_buffer_pool_size=200M..617M"))
    assert {axis.value(share / 50) for share in range(51)} == {256 * MIB, 384 * MIB, 512 * MIB}
    small = make_dimension(POOL, parse_requested("innodb_buffer_pool_size=16M..100M"))
    assert small.value(1.0) == 100 * MIB


def test_the_baselines_value_is_always_a_choice() -> None:
    axis = make_dimension(CAPACITY, parse_requested("innodb_io_capacity=1000..2000"))
    assert axis.special == (200,)
    assert axis.value(axis.position(200)) == 200
    concurrency = VariableFacts("innodb_thread_concurrency", 0, static=False, minimum=0, maximum=1000, lowest=1, highest=64)
    assert make_dimension(concurrency).special == (0,)


def test_words_are_a_list() -> None:
    assert make_dimension(METHOD).values == ("fsync", "O_DIRECT")
    assert make_dimension(METHOD).rule == "O_DIRECT"
    with pytest.raises(UserError, match="takes words"):
        make_dimension(METHOD, parse_requested("innodb_flush_method=1..2"))


def test_a_variable_of_unknown_range_asks_for_one() -> None:
    with pytest.raises(UserError, match="No range is known"):
        make_dimension(VariableFacts("x", 0, static=False))
