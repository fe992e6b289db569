import pytest

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.question.study_file import question
from dialin.workloads.kinds import make_workload
from dialin.workloads.scan.scan import Scan
from dialin.workloads.scan.scan_options import ScanOptions, read_scan_options


def load(options=(), **others):
    asked = {"aa": 2, "workload": "scan", "workload-options": dict(options), **others}
    return question(asked).workload_spec(None)


def test_a_scan_is_cold_over_innodb_unless_reported():
    options = read_scan_options({})
    assert (options.engine, options.format, options.is_cold, options.runs) == ("InnoDB", "dynamic", True, 3)


@pytest.mark.parametrize(("text", "size"), [("512M", 512 * 1024**2), ("1.5g", 3 * 2**29), ("2 GiB", 2**31), ("1048576", 2**20)])
def test_sizes_are_read_as_people_write_them(text, size):
    assert read_scan_options({"size": text}).size == size


@pytest.mark.parametrize(("text", "share"), [("20%", 0.2), ("0.2", 0.2), ("0", 0.0)])
def test_shares_are_read_as_people_write_them(text, share):
    assert read_scan_options({"fragmented": text}).fragmented == share


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sise": "1G"}, "no option 'sise'"),
        ({"engine": "Memory"}, "engine: is not one of InnoDB, MyISAM, Aria"),
        ({"engine": "myisam", "row-format": "page"}, "MyISAM has no row-format 'page'; it has fixed, dynamic"),
        ({"size": "much"}, "size: is not a size such as 512M"),
        ({"fragmented": "95%"}, "fragmented"),
        ({"runs": "0"}, "runs"),
        ({"query": "full", "sql": "SELECT 1"}, "query and sql"),
        ({"row-bytes": "9000"}, "row-bytes"),
    ],
)
def test_an_option_that_does_not_fit_is_reported_in_one_line(options, says):
    with pytest.raises(UserError, match="scan") as refused:
        read_scan_options(options)
    assert says in refused.value.what
    assert "\n" not in refused.value.what


def test_an_unknown_option_is_answered_with_those_there_are():
    with pytest.raises(UserError) as refused:
        read_scan_options({"sise": "1G"})
    assert all(name in refused.value.remedy for name in ("engine", "size", "row-format", "row-bytes", "cache", "runs", "sql"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "  (select id from scan1)",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "TABLE scan1",
        "SELECT updated FROM scan1",
    ],
)
def test_a_query_that_only_reads_leaves_the_table_as_it_is(sql):
    assert not ScanOptions.model_validate({"sql": sql}).may_write


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM scan1 LIMIT 5",
        "UPDATE scan1 SET number = 0",
        "CALL mine()",
        "WITH t AS (SELECT 5 AS id) DELETE FROM scan1 WHERE id IN (SELECT id FROM t)",
        "with t as (select 5 as id) update scan1 join t using (id) set number = 0",
        "SELECT 1; TRUNCATE scan1",
    ],
)
def test_a_query_that_may_write_makes_each_block_begin_with_restored_data(sql):
    assert Scan(load({"sql": sql, "cache": "warm"})).traits.grows


def test_the_name_scan_stands_for_a_scan():
    assert isinstance(make_workload(WorkloadSpec(name="scan", kind="scan", options={"size": "1M"})), Scan)


def test_a_scan_is_of_one_thread_and_one_table_of_half_a_gibibyte_unless_reported():
    spec = load()
    assert (spec.threads, spec.levels, spec.tables, spec.options["size"]) == (1, (), 1, "512M")
    assert Scan(spec).expected_bytes() > 3 * 512 * 1024**2  # a copy for each cold run


def test_rows_may_be_given_instead_of_a_size():
    spec = load(**{"table-size": 5000})
    assert (spec.table_size, "size" in spec.options) == (5000, False)
    with pytest.raises(UserError, match="both set the size"):
        load({"size": "1G"}, **{"table-size": 5000})


@pytest.mark.parametrize(("option", "value"), [("measure", 30), ("warmup", 30), ("warmup", 0), ("whole-warmup", True)])
def test_a_scan_is_measured_by_the_run_not_by_the_second(option, value):
    with pytest.raises(UserError, match=f"--{option} is not for the workload scan"):
        load(**{option: value})


@pytest.mark.parametrize(("option", "value"), [("tables", 2), ("rate", 100), ("rand-type", "uniform")])
def test_options_that_a_scan_lacks_are_refused(option, value):
    with pytest.raises(UserError, match=f"--{option} is not for the workload scan"):
        load(**{option: value})


def test_a_smaller_table_is_had_by_what_reported_its_size():
    assert Scan(load({"size": "1G"})).how_to_shrink == "a smaller --workload-option size"
    assert Scan(load(**{"table-size": 5000})).how_to_shrink == "a smaller --table-size"
