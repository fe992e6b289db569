import pytest

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.workloads.base import Second
from dialin.workloads.sysbench import Sysbench, parse_line
from dialin.workloads.sysbench_workloads import SYSBENCH_SCRIPTS

LINE = (
    "[ 12s ] thds: 16 tps: 1031.83 qps: 20602.45 (r/w/o: 14435.54/4103.26/2063.65) "
    "lat (ms,95%): 23.10 err/s: 0.50 reconn/s: 0.25"
)


def test_an_interval_report_of_sysbench_is_read_in_full():
    assert parse_line(LINE) == Second(12, 1031.83, 14435.54, 4103.26, 2063.65, 23.10, 0.5, 0.25)


def test_the_report_of_a_run_at_a_fixed_rate_is_read_as_well():
    assert parse_line(LINE + "\n[ 12s ] queue length: 0, concurrency: 1").tps == 1031.83
    assert parse_line("[ 12s ] queue length: 0, concurrency: 1") is None


@pytest.mark.parametrize("line", ["", "Threads started!", "FATAL: error 2013", "[ 1s ] thds: x tps: y"])
def test_other_lines_are_no_reports(line):
    assert parse_line(line) is None


def test_a_missing_sysbench_is_named_with_its_remedy():
    with pytest.raises(UserError, match="apt-get install sysbench"):
        Sysbench(WorkloadSpec(), binary="/nowhere/sysbench").check()


def test_scripts_that_prepare_the_same_tables_share_a_dataset():
    same = [Sysbench(WorkloadSpec(name=name)).data_facts() for name in ("oltp_read_write", "oltp_point_select")]
    assert same[0] == same[1]
    other_statements = {"range-size": "9", "sum-ranges": "0", "skip-trx": "on"}
    assert Sysbench(WorkloadSpec(options=other_statements)).data_facts() == same[0]
    assert Sysbench(WorkloadSpec(threads=4)).data_facts() == Sysbench(WorkloadSpec(threads=64)).data_facts()


@pytest.mark.parametrize("other", [{"tables": 5}, {"table_size": 7}, {"rand_type": "pareto"}, {"options": {"auto-inc": "off"}}])
def test_whatever_shapes_the_data_makes_another_dataset(other):
    assert Sysbench(WorkloadSpec(**other)).data_facts() != Sysbench(WorkloadSpec()).data_facts()


def test_a_script_of_ones_own_is_known_by_its_text(tmp_path):
    script = tmp_path / "mine.lua"
    script.write_text("-- one")
    spec = WorkloadSpec(name=str(script))
    before = Sysbench(spec).data_facts()
    script.write_text("-- two")
    assert Sysbench(spec).data_facts() != before


def test_tables_that_begin_empty_are_no_others_dataset():
    numbered = {"options": {"auto-inc": "off"}}
    insert, others = (Sysbench(WorkloadSpec(name=name, **numbered)) for name in ("oltp_insert", "oltp_read_write"))
    assert insert.data_facts() != others.data_facts()
    assert insert.describe_data() == "4 empty tables for oltp_insert"


def test_sysbench_makes_all_tables_for_loads_that_read_one():
    points = Sysbench(WorkloadSpec(name="select_random_points"))
    assert points.data_facts() == Sysbench(WorkloadSpec()).data_facts()
    assert points.describe_data() == "4 tables of 100,000 rows for select_random_points"


def test_bulk_insert_makes_a_table_for_each_thread():
    a, b = (Sysbench(WorkloadSpec(name="bulk_insert", threads=threads)).data_facts() for threads in (1, 2))
    assert a != b


@pytest.mark.parametrize("name", SYSBENCH_SCRIPTS)
def test_loads_that_add_rows_or_take_them_away_are_said_to(name):
    assert Sysbench(WorkloadSpec(name=name)).traits.grows is (name in ("bulk_insert", "oltp_delete", "oltp_insert"))


def test_nobody_knows_what_a_script_of_ones_own_does_to_its_data():
    assert Sysbench(WorkloadSpec(name="/home/me/load.lua")).traits.grows
