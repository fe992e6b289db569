import pytest

from dialin.errors import ServerError, UserError
from dialin.model.study import Candidate, StudySpec
from dialin.model.workload import WorkloadSpec
from dialin.variables import check
from dialin.variables.catalogue import Catalogue, Kind, Variable
from dialin.variables.memory import Need, Room
from fixtures.real_catalogues import real_catalogue

GIB = 2**30


def study(*settings, fixed=None, threads=16, server="mysql@9.7.4"):
    candidates = [Candidate(name=f"c{i}", setting=setting, server=server) for i, setting in enumerate(settings)]
    return StudySpec(candidates=candidates, baseline="c0", fixed=fixed or {}, workload=WorkloadSpec(threads=threads))


def refusal(callable_, *args):
    with pytest.raises(UserError) as caught:
        callable_(*args)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return str(caught.value)


def never():
    raise AssertionError("another build was asked without need")


def test_a_name_is_known_however_it_is_spelled(mysql):
    assert check.check_name("Innodb-Buffer-Pool-Size", mysql, {"x": never}).name == "innodb_buffer_pool_size"


def test_an_option_with_another_name_is_known_by_it(mysql, mariadb):
    assert check.check_name("default-time-zone", mysql, {}).name == "time_zone"
    assert check.check_name("transaction_isolation", mariadb, {}).name == "tx_isolation"
    assert check.check_name("transaction_isolation", mysql, {}).name == "transaction_isolation"


def test_an_unknown_name_gets_the_nearest_of_the_server_itself(mysql):
    text = refusal(check.check_name, "buffer_pool_instance", mysql, {})
    assert "mysql@9.7.4 has no variable buffer_pool_instance" in text
    assert "innodb_buffer_pool_instances" in text


def test_a_name_that_only_another_build_has_gets_that_build(mysql, mariadb):
    text = refusal(check.check_name, "innodb_buffer_pool_instances", mariadb, {"mysql@9.7.4": lambda: mysql})
    assert text.startswith("mariadb@10.11.19 has no variable innodb_buffer_pool_instances")
    assert "; mysql@9.7.4 has it" in text
    assert "--server mysql@9.7.4" in text


def test_a_build_that_does_not_start_is_no_help_and_no_harm(mariadb):
    def broken():
        raise ServerError("it does not start")

    assert "has no variable" in refusal(check.check_name, "innodb_buffer_pool_instances", mariadb, {"mysql@9.7.4": broken})


@pytest.mark.parametrize("name", ["skip_log_bin", "loose_sync_binlog", "disable-log-bin", "maximum-read_buffer_size"])
def test_the_spelling_of_an_option_is_not_a_variable(mysql, name):
    assert "is a startup option" in refusal(check.check_name, name, mysql, {})


def test_a_variable_whose_name_begins_with_skip_is_one(mysql):
    assert check.check_name("skip_name_resolve", mysql, {}).name == "skip_name_resolve"


@pytest.mark.parametrize("name", ["have_symlink", "timestamp"])
def test_a_variable_that_cannot_be_given_at_the_start_is_refused(mysql, name):
    assert "cannot be set when mysql@9.7.4 starts" in refusal(check.check_name, name, mysql, {})


@pytest.mark.parametrize("name", ["", "a b", "x;drop", "x\ny", "1x"])
def test_text_that_cannot_be_a_name_is_refused(mysql, name):
    assert "cannot be the name" in refusal(check.check_name, name, mysql, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("innodb_buffer_pool_instances", 64),
        ("innodb_buffer_pool_size", "1G"),
        ("innodb_buffer_pool_size", 1073741824),
        ("innodb_adaptive_hash_index", "on"),
        ("innodb_adaptive_hash_index", 0),
        ("innodb_flush_method", "o_direct"),
        ("innodb_flush_method", 4),
        ("innodb_max_dirty_pages_pct", 99.9),
        ("long_query_time", 0),
        ("sql_mode", ""),
        ("optimizer_switch", "mrr=off,hash_join=off"),
        ("time_zone", "+02:00"),
    ],
)
def test_good_values_pass(mysql, name, value):
    check.check_value(mysql.variables[name], value, "mysql@9.7.4")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("optimizer_switch", "mrr=on,default"),
        ("sql_mode", "TRADITIONAL"),
        ("sql_mode", 0),
        ("innodb_flush_log_at_trx_commit", 3),
    ],
)
def test_good_values_pass_on_mariadb(mariadb, name, value):
    check.check_value(mariadb.variables[name], value)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("innodb_buffer_pool_instances", 65, "must be 0 to 64; 65 was requested on mysql@9.7.4"),
        ("innodb_buffer_pool_instances", -1, "must be 0 to 64; -1 was requested"),
        ("innodb_buffer_pool_size", "4M", "must be 5M to just under 8E; 4M was requested"),
        ("innodb_buffer_pool_size", 1024, "must be 5M to just under 8E; 1024 was requested"),
        ("read_buffer_size", "4G", "must be 8K to just under 2G; 4G was requested"),
        ("innodb_sort_buffer_size", "1G", "must be 64K to 64M; 1G was requested"),
        ("max_connections", 1000000, "must be 1 to 100000; 1000000 was requested"),
        ("innodb_buffer_pool_instances", "many", "must be a whole number, 0 to 64; 'many' was requested"),
        ("innodb_buffer_pool_instances", 1.5, "must be a whole number, 0 to 64; 1.5 was requested"),
        ("innodb_buffer_pool_size", "12Q", "must be a whole number, 5M to just under 8E"),
        ("innodb_buffer_pool_size", "", "must be a whole number"),
        ("long_query_time", "1K", "must be a number, 0 to 31536000; 1K was requested"),
        ("innodb_max_dirty_pages_pct", 100, "must be 0 to 99; 100 was requested"),
        ("innodb_adaptive_hash_index", "yes", "must be ON or OFF; yes was requested"),
        ("innodb_adaptive_hash_index", 2, "must be ON or OFF; 2 was requested"),
        ("innodb_flush_method", "fdatasync", "must be one of fsync, O_DSYNC"),
        ("innodb_flush_method", 6, "must be one of fsync"),
        ("time_zone", "x\ny", "must be text without control characters"),
    ],
)
def test_bad_values_are_refused_with_the_servers_own_range(mysql, name, value, words):
    assert words in refusal(check.check_value, mysql.variables[name], value, "mysql@9.7.4")


@pytest.mark.parametrize(("name", "value"), [("optimizer_switch", "mr=on"), ("sql_mode", "STRICT,ANSI")])
def test_unknown_members_of_a_set_are_refused(mariadb, name, value):
    assert "must be made of" in refusal(check.check_value, mariadb.variables[name], value)


@pytest.mark.parametrize("build", ["mysql@5.5.9", "mysql@5.6.24", "mariadb@10.1.23", "mariadb@10.2.11"])
@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "innodb_flush_method",
            ["fsync", "O_DSYNC", "O_DIRECT", "O_DIRECT_NO_FSYNC", "ALL_O_DIRECT", "nosync", "littlesync", ""],
            ["xx", "fdatasync", "o_direct", 4, "4"],
        ),
        ("innodb_change_buffering", ["none", "all", "ALL", "purges"], ["xx", 5, "some"]),
    ],
)
def test_text_that_only_a_start_looks_at_is_checked_by_what_any_build_takes(build, name, good, bad):
    """Read on 5.5.9, 5.6.24, 10.1.23 and 10.2.11: they call it text, and die of any other."""
    reported = Variable(name, Kind.STRING, default="" if name == "innodb_flush_method" else "all")
    for value in good:
        check.check_value(reported, value, build)
    for value in bad:
        assert f"must be one of {good[0]}, " in refusal(check.check_value, reported, value, build)


def test_text_of_no_known_words_is_anything():
    check.check_value(Variable("init_connect", Kind.STRING, default=""), "SET x = 1")


def lacking(name, build, *having):
    builds = {each: lambda each=each: Catalogue(each, {name: Variable(name, Kind.INTEGER)}) for each in having}
    return refusal(check.find_name, name, Catalogue(build, {}), builds)


def test_builds_that_have_a_variable_are_listed_the_newest_first():
    text = lacking("some_variable", "mysql@9.7.4", "mariadb@10.1.13", "mysql@5.6.24", "mariadb@11.4.5", "mysql@8.0.33")
    assert "mysql@8.0.33, mysql@5.6.24, mariadb@11.4.5 and mariadb@10.1.13 have it" in text
    assert "--server mysql@8.0.33" in text


def test_a_variable_that_a_build_takes_without_effect_says_so():
    name = "innodb_buffer_pool_instances"
    assert "takes the option without effect, for there is one pool" in lacking(name, "mariadb@10.11.19", "mysql@9.7.4")
    assert "without effect" not in lacking(name, "mysql@9.7.4", "mariadb@10.2.11")
    assert "without effect" not in lacking("table_open_cache_instances", "mysql@5.5.9", "mysql@5.6.24")
    assert "without effect" in lacking("table_open_cache_instances", "mariadb@10.1.23", "mysql@5.6.24")


def test_where_nothing_is_near_nothing_is_proposed(mysql):
    text = refusal(check.find_name, "qqqqqqqq", mysql, {})
    assert "Did you mean" not in text
    assert "Did you mean innodb_buffer_pool_instances" in refusal(check.find_name, "buffer_pool_instance", mysql, {})


def test_a_study_without_fault_passes_in_silence(mysql):
    spec = study(
        {"innodb_buffer_pool_instances": 1}, {"innodb_buffer_pool_instances": 8}, fixed={"innodb_buffer_pool_size": "2G"}
    )
    check.check_study(spec, {"mysql@9.7.4": mysql}, {"other": never})


def test_fixed_variables_are_checked_too(mysql):
    spec = study({}, {"sync_binlog": 0}, fixed={"innodb_buffer_pool_size": "1K"})
    assert "innodb_buffer_pool_size must be" in refusal(check.check_study, spec, {"mysql@9.7.4": mysql}, {})


def test_each_candidate_is_checked_on_its_own_build(mysql, mariadb):
    setting = {"innodb_buffer_pool_instances": 4}
    candidates = [Candidate(name=name, setting=setting, server=name) for name in ("mysql@9.7.4", "mariadb@10.11.19")]
    spec = StudySpec(candidates=candidates, baseline="mysql@9.7.4")
    catalogues = {"mysql@9.7.4": mysql, "mariadb@10.11.19": mariadb}
    assert refusal(check.check_study, spec, catalogues, {}).startswith("mariadb@10.11.19 has no variable")


@pytest.mark.parametrize(
    "name",
    [
        "datadir",
        "socket",
        "port",
        "mysqlx_port",
        "skip_networking",
        "wsrep_cluster_address",
        "super_read_only",
        "ssl_ca",
        "log_error",
    ],
)
def test_variables_that_dialin_must_own_are_refused_with_the_reason(mysql, name):
    text = refusal(check.check_study, study({}, {name: "x"}), {"mysql@9.7.4": mysql}, {})
    assert text.startswith(f"{name} cannot be chosen: ")


def test_data_files_outside_the_sandbox_are_refused(mysql):
    spec = study({}, {"innodb_data_file_path": "/dev/sdb1:3Gnewraw"})
    assert "cannot be chosen" in refusal(check.check_study, spec, {"mysql@9.7.4": mysql}, {})


def test_fewer_connections_than_threads_are_refused(mysql):
    spec = study({"max_connections": 8}, {"max_connections": 100})
    assert "max_connections=8 is too few for 16 threads" in refusal(check.check_study, spec, {"mysql@9.7.4": mysql}, {})


def test_duplicates_are_found_however_they_are_written():
    spec = study(
        {"innodb_buffer_pool_size": "1G"},
        {"innodb_buffer_pool_size": "2G"},
        {"innodb_buffer_pool_size": 1073741824},
        {"innodb_buffer_pool_size": "1024M"},
    )
    assert check.duplicates(spec.candidates) == [("c0", "c2"), ("c0", "c3")]


def test_the_same_setting_on_two_builds_is_no_duplicate():
    candidates = [Candidate(name=name, setting={}, server=name) for name in ("mysql@9.7.4", "mariadb@10.11.19")]
    assert check.duplicates(candidates) == []


ROOM = Room(memory=23 * GIB, total_memory=32 * GIB, disk=30 * GIB, cpus=4)


def test_a_candidate_that_fits_this_machine_passes():
    check.check_fits("a", Need({"buffer pool": 23 * GIB}, 30 * GIB), ROOM)


def test_a_candidate_that_does_not_fit_is_refused_with_every_size_that_does_not(mysql):
    text = refusal(check.check_fits, "40G", Need({"key buffer": GIB, "buffer pool": 39 * GIB}, 40 * GIB), ROOM)
    assert "40G does not fit this machine: it needs about 40 GiB of memory, most of it for the buffer pool (39 GiB)" in text
    assert "23 GiB are free; its redo log grows to 40 GiB, and the disk has 30 GiB free" in text
    assert "scale" not in text
    assert "--scale-sizes 55%" in refusal(check.check_fits, "40G", Need({"buffer pool": 39 * GIB}, 0), ROOM, 0.55)


@pytest.mark.parametrize("build", ["mysql@5.6.24", "mysql@9.7.4"])
def test_a_variable_that_the_server_adjusts_itself_is_refused_unless_it_is_kept_from_that(build):
    known = real_catalogue(build)
    settings = [{"innodb_thread_sleep_delay": value} for value in (1000, 10000)]
    with pytest.raises(UserError, match="the server itself adjusts it while innodb_adaptive_max_sleep_delay") as refused:
        check.check_study(study(*settings, server=build), {build: known}, {})
    assert "--set innodb_adaptive_max_sleep_delay=0" in refused.value.remedy
    check.check_study(study(*settings, server=build, fixed={"innodb_adaptive_max_sleep_delay": 0}), {build: known}, {})
