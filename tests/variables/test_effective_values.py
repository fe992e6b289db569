import pytest

from dialin.evidence import effective_settings, effective_values
from dialin.model.study import Candidate, StudySpec
from fixtures.studies import study

SPEC = study({"a": {}, "b": {}})
PLACE = "/home/u/.cache/dialin/sandboxes"


def instance(number, **values):
    """What 9.7.4 reports of a sandbox, in part."""
    directory = f"{PLACE}/{number}"
    return {
        "datadir": f"{directory}/data/",
        "tmpdir": f"{directory}/tmp",
        "socket": f"{directory}/s.sock",
        "pid_file": f"{directory}/mysqld.pid",
        "log_bin_index": f"{directory}/data/binlog.index",
        "ft_stopword_file": f"{directory}/data/stop",
        "server_uuid": f"e6559512-e5f5-11f1-817a-{number:012}",
        "gtid_executed": f"e6559512:1-{number}",
        "port": str(33000 + number),
        "sync_binlog": "1",
        "innodb_buffer_pool_size": "1073741824",
        "innodb_buffer_pool_instances": "1",
        "innodb_buffer_pool_chunk_size": "134217728",
        "innodb_page_cleaners": "1",
        **values,
    }


def pools():
    """What 9.7.4 reports of 1, 4 and 16 instances of a pool of 1 GiB."""
    return {
        "1": instance(1),
        "4": instance(2, innodb_buffer_pool_instances="4", innodb_page_cleaners="4"),
        "16": instance(
            3, innodb_buffer_pool_instances="16", innodb_page_cleaners="16", innodb_buffer_pool_chunk_size="67108864"
        ),
    }


@pytest.mark.parametrize(
    ("name", "asked", "reported"),
    [
        ("innodb_buffer_pool_size", "1G", "1073741824"),
        ("innodb_adaptive_hash_index", 1, "ON"),
        ("innodb_adaptive_hash_index", "off", "OFF"),
        ("innodb_doublewrite", "TRUE", "ON"),
        ("innodb_flush_method", 4, "O_DIRECT"),
        ("innodb_flush_method", "o_direct", "O_DIRECT"),
        ("long_query_time", 1, "1.000000"),
        ("sql_mode", "TRADITIONAL", "STRICT_TRANS_TABLES,TRADITIONAL,NO_ENGINE_SUBSTITUTION"),
        ("optimizer_switch", "mrr=off", "index_merge=on,mrr=off,hash_join=on"),
        ("optimizer_switch", "mrr=off,hash_join=default", "index_merge=on,mrr=off,hash_join=on"),
        ("character_set_server", "utf8", "utf8mb3"),
        ("sql_mode", "", ""),
    ],
)
def test_another_spelling_of_the_same_value_is_no_deviation(name, asked, reported):
    assert effective_values.deviations({name: asked}, {name: reported}) == []


@pytest.mark.parametrize(
    ("name", "asked", "reported", "code", "words"),
    [
        ("read_buffer_size", 131073, "131072", "rounded", "the server rounded it to 131072"),
        ("innodb_buffer_pool_size", "2G", "2415919104", "rounded", "the server rounded it to 2304M"),
        ("innodb_buffer_pool_instances", 65, "64", "clamped", "the server uses 64"),
        ("innodb_buffer_pool_instances", 4, "1", "clamped", "the server uses 1"),
        ("table_open_cache_instances", 64, "4", "clamped", "the server uses 4"),
        ("read_buffer_size", "4G", "2147479552", "clamped", "the server uses just under 2G"),
        ("innodb_buffer_pool_instances", 0, "8", "automatic", "the server chose 8"),
        ("performance_schema_digests_size", -1, "10000", "automatic", "the server chose 10000"),
        ("innodb_file_per_table", "no", "ON", "changed", "the effective value is ON"),
        ("innodb_flush_method", "O_DIRECT", "fsync", "changed", "the effective value is fsync"),
        ("innodb_flush_method", 5, "O_DIRECT", "changed", "the effective value is O_DIRECT"),
        ("optimizer_switch", "mrr=off", "mrr=on,hash_join=off", "changed", "the effective value is mrr=on"),
        ("init_connect", "SELECT 1", "", "changed", "the effective value is nothing"),
    ],
)
def test_a_value_that_is_not_the_one_requested_is_said_with_both(name, asked, reported, code, words):
    (note,) = effective_values.deviations({name: asked}, {name: reported})
    assert note.code == code
    assert note.sentence(SPEC).startswith(f"{name}={asked} was requested; ")
    assert words in note.sentence(SPEC)
    assert (note.variable, note.asked, note.in_force) == (name, asked, reported)


def test_a_variable_that_is_not_reported_is_said():
    (note,) = effective_values.deviations({"innodb_buffer_pool_instances": 4}, {"sync_binlog": "1"})
    assert (note.code, note.in_force) == ("without_effect", None)


def test_a_variable_is_found_under_the_servers_own_name_for_it():
    """MariaDB 10.11 takes transaction_isolation and reports tx_isolation."""
    reported = {"tx_isolation": "READ-COMMITTED", "time_zone": "+02:00"}
    assert (
        effective_values.deviations({"transaction_isolation": "READ-COMMITTED", "default_time_zone": "+02:00"}, reported) == []
    )
    assert effective_values.deviations({"tx_isolation": "SERIALIZABLE"}, {"transaction_isolation": "SERIALIZABLE"}) == []


def test_with_a_catalogue_limits_defaults_and_choices_are_known(mysql, mariadb):
    def code(catalogue, name, asked, reported):
        (note,) = effective_values.deviations({name: asked}, {name: reported}, catalogue)
        return note.code

    assert code(mysql, "innodb_io_capacity", 0, "100") == "clamped", "0 is below the minimum, so it is no automatic value"
    assert code(mysql, "read_buffer_size", "3G", "2147479552") == "clamped", "it is the largest there is"
    assert code(mysql, "time_zone", "nowhere", "SYSTEM") == "refused"
    assert code(mariadb, "innodb_adaptive_hash_index", "ON", "OFF") == "refused"
    assert code(mariadb, "event_scheduler", 1, "OFF") == "refused"
    assert effective_values.deviations({"event_scheduler": 2}, {"event_scheduler": "DISABLED"}, mariadb) == []


def test_candidates_with_the_same_values_in_force_are_one():
    below_a_gigabyte = {"1": instance(1), "4": instance(2), "8": instance(3, sync_binlog="0"), "16": instance(4)}
    assert effective_values.identical_groups(below_a_gigabyte, ["innodb_buffer_pool_instances"]) == [
        frozenset({"1", "4", "16"})
    ]


def test_candidates_that_differ_are_not_one():
    assert effective_values.identical_groups(pools(), ["innodb_buffer_pool_instances"]) == []


def test_an_inert_variable_counts_where_it_was_requested():
    settings = {"a": instance(1), "b": instance(2, innodb_buffer_pool_chunk_size="1048576")}
    assert effective_values.identical_groups(settings, []) == [frozenset("ab")]
    assert effective_values.identical_groups(settings, ["innodb_buffer_pool_chunk_size"]) == []


def test_a_pool_that_grew_is_no_mere_companion_but_could_explain_the_result():
    grown = {"1": instance(1), "3": instance(2, innodb_buffer_pool_size="2415919104")}
    (note,) = effective_values.confounds(grown, ["innodb_buffer_pool_instances"], "1")
    assert note.follows == ("innodb_buffer_pool_instances",)
    assert note.could_explain


def test_an_unasked_difference_is_a_confound_with_all_its_values():
    serious, harmless = effective_values.confounds(pools(), ["innodb_buffer_pool_instances"], "4")
    assert (serious.code, harmless.code) == ("confound", "inert_confound")
    assert serious.stored().data == {
        "variable": "innodb_page_cleaners",
        "values": {"4": "4", "1": "1", "16": "16"},
        "could_explain": False,
        "follows": ["innodb_buffer_pool_instances"],
        "hold": {"innodb_page_cleaners": 1},
    }
    assert serious.sentence(SPEC) == (
        "innodb_page_cleaners differs but is not under test: 4 for 4; 1 for 1; 16 for 16; "
        "the server derives it from innodb_buffer_pool_instances; --hold pins it (innodb_page_cleaners=1)"
    )
    assert harmless.code == "inert_confound"
    assert "128M for 4, 1; 64M for 16; " in harmless.sentence(SPEC)
    assert harmless.sentence(SPEC).endswith("it only sets the step in which the pool can be resized")


def test_a_fixed_value_that_the_server_moved_is_a_confound():
    settings = {
        "1": instance(1, innodb_buffer_pool_size="2147483648"),
        "3": instance(2, innodb_buffer_pool_size="2415919104", innodb_buffer_pool_instances="3"),
    }
    (note,) = effective_values.confounds(settings, ["innodb_buffer_pool_instances"], "1")
    assert note.variable == "innodb_buffer_pool_size"
    assert "2G for 1; 2304M for 3" in note.sentence(SPEC)
    assert note.hold == {"innodb_buffer_pool_size": "2049M", "innodb_buffer_pool_chunk_size": "683M"}
    assert "--hold pins it (innodb_buffer_pool_size=2049M, innodb_buffer_pool_chunk_size=683M)" in note.sentence(SPEC)


def test_a_report_that_is_not_so_is_said_with_both_numbers():
    """MySQL 5.6 reports 8 instances of a pool below 1 GiB; MariaDB 10.1.13 opens data files buffered with O_DIRECT."""
    asked = {"innodb_buffer_pool_instances": 8, "innodb_flush_method": "O_DIRECT"}
    reported = {"innodb_buffer_pool_instances": "8", "innodb_flush_method": "O_DIRECT"}
    real = {"innodb_buffer_pool_instances": "1", "innodb_flush_method": "data buffered, redo O_DIRECT"}
    pools, files = effective_values.deviations(asked, reported, real=real)
    assert (pools.code, pools.real) == ("not_real", "1")
    assert pools.sentence(SPEC) == "innodb_buffer_pool_instances=8 is reported, but the server has 1"
    assert "its data files are open buffered" in files.sentence(SPEC)
    agreed = {"innodb_buffer_pool_instances": "8", "innodb_flush_method": "data O_DIRECT, redo buffered"}
    assert effective_values.deviations(asked, reported, real=agreed) == []
    assert effective_values.deviations({"innodb_flush_method": "fsync"}, {"innodb_flush_method": "fsync"}, real=agreed) != []


def test_candidates_with_the_same_real_objects_are_one():
    reported = {"1": instance(1), "8": instance(2, innodb_buffer_pool_instances="8")}
    one_pool = {"innodb_buffer_pool_instances": "1", "innodb_flush_method": "data buffered"}
    both = effective_values.actual_values(reported, {"1": one_pool, "8": one_pool})
    assert effective_values.identical_groups(both, ["innodb_buffer_pool_instances"]) == [frozenset({"1", "8"})]
    half = effective_values.actual_values(reported, {"1": one_pool})
    assert effective_values.identical_groups(half, ["innodb_buffer_pool_instances"]) == [], (
        "one that was not counted is not compared so"
    )


def test_a_real_object_that_differs_is_a_confound_though_the_variables_agree():
    reported = {"a": {"innodb_flush_method": "O_DIRECT"}, "b": {"innodb_flush_method": "O_DIRECT"}}
    files = {"a": {"innodb_flush_method": "data O_DIRECT"}, "b": {"innodb_flush_method": "data buffered"}}
    (note,) = effective_values.confounds(effective_values.actual_values(reported, files), [], "a")
    assert note.variable.startswith("innodb_flush_method")
    assert effective_values.confounds(effective_values.actual_values(reported, files), ["innodb_flush_method"], "a") == []


@pytest.mark.parametrize(
    ("asked", "actual"),
    [
        ("innodb_flush_log_at_trx_commit", {"innodb_log_file_buffering"}),
        ("innodb_log_file_buffering", set()),
        ("innodb_flush_method", {"innodb_log_file_buffering"}),
        ("innodb_data_file_buffering", {"innodb_log_file_buffering", "innodb_flush_method (as the redo files are open)"}),
    ],
)
def test_how_a_kind_of_files_is_open_is_no_confound_of_a_variable_that_decides_it(asked, actual):
    """As MariaDB opens its log, which innodb_flush_log_at_trx_commit = 2 has it buffer."""
    reported = {"a": {"innodb_log_file_buffering": "OFF"}, "b": {"innodb_log_file_buffering": "ON"}}
    real = {name: {"innodb_flush_method": f"data O_DIRECT, redo {how}"} for name, how in (("a", "O_DIRECT"), ("b", "buffered"))}
    result = effective_values.confounds(effective_values.actual_values(reported, real), [asked], "a")
    assert {note.variable for note in result} == actual


def test_files_seen_of_one_candidate_alone_are_not_compared():
    real = {"a": {"innodb_flush_method": "data O_DIRECT, redo O_DIRECT"}, "b": {"innodb_flush_method": "data O_DIRECT"}}
    assert effective_values.confounds(effective_values.actual_values({"a": {}, "b": {}}, real), [], "a") == []


def test_a_sandboxs_own_places_and_identity_are_no_confounds():
    assert effective_values.confounds({"a": instance(1), "b": instance(2)}, [], "a") == []


def test_directories_that_others_may_share_are_compared_as_they_are():
    settings = {name: {"tmpdir": "/tmp", "x": f"/tmp/{name}"} for name in "ab"}
    assert [note.variable for note in effective_values.confounds(settings, [], "a")] == ["x"]


def test_several_names_of_one_variable_are_one_confound_and_none_where_one_was_requested():
    settings = {
        name: {"slave_net_timeout": name, "replica_net_timeout": name, "long_query_time": name, "log_slow_query_time": name}
        for name in "12"
    }
    assert len(effective_values.confounds(settings, [], "1")) == 2
    assert len(effective_values.confounds(settings, ["slave_net_timeout", "long_query_time"], "1")) == 0


def test_the_parts_of_a_switch_that_was_requested_are_no_confounds():
    settings = {
        "on": {"performance_schema": "ON", "performance_schema_digests_size": "10000"},
        "off": {"performance_schema": "OFF", "performance_schema_digests_size": "0"},
    }
    assert effective_values.confounds(settings, ["performance_schema"], "on") == []


def test_a_variable_that_only_some_report_is_a_confound():
    (note,) = effective_values.confounds({"a": {}, "b": {"new_switch": "ON"}}, [], "a")
    assert note.values == {"a": None, "b": "ON"}
    assert "absent for a; ON for b" in note.sentence(SPEC)


def test_long_values_are_cut_in_words_and_whole_in_data():
    switch = ",".join(f"switch_{number}=on" for number in range(40))
    (note,) = effective_values.confounds({"a": {"optimizer_switch": switch}, "b": {"optimizer_switch": "x"}}, [], "a")
    assert len(note.sentence(SPEC)) < 200
    assert note.values["a"] == switch


def test_a_candidate_that_overrides_what_is_fixed_is_noted():
    candidates = [Candidate(name=str(value), setting={"sync_binlog": value}, server="mysql@9.7.4") for value in (1, 0)]
    (note,) = effective_settings.overrides(StudySpec(candidates=candidates, baseline="1", fixed={"sync_binlog": 1}))
    assert (note.candidate, note.value) == ("0", 0)
