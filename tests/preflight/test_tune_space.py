"""What a user names to tune, against what a build takes: nothing is run."""

import re
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.study import FormKind, SettingForm
from dialin.preflight.tune_space import (
    ends_of,
    idle_notes,
    name_variables,
    parse_named,
    propose_variables,
    refuse_forbidden,
    resolve,
    split_base,
)
from dialin.search.variable_choice import Situation
from dialin.variables.catalogue import Catalogue, Kind, Variable
from fixtures.real_catalogues import real_catalogue
from fixtures.studies import BUILD

CAPACITY, POOL, LOG, METHOD, FLUSH, TEXT = (
    "innodb_io_capacity",
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_flush_method",
    "innodb_flush_log_at_trx_commit",
    "innodb_monitor_enable",
)
WORDS = ("fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC")


def catalogue(build=BUILD):
    variables = [
        Variable(CAPACITY, Kind.INTEGER, 100, 2**32, default="200", dynamic=True),
        Variable(POOL, Kind.INTEGER, 5242880, 2**60, block=2**20, default=str(2**27), dynamic=True),
        Variable(LOG, Kind.INTEGER, 2**20, 2**38, default=str(2**26), dynamic=False),
        Variable(METHOD, Kind.ENUMERATION, choices=WORDS, default="fsync", dynamic=False),
        Variable(FLUSH, Kind.INTEGER, 0, 2, default="1", dynamic=True),
        Variable("innodb_page_size", Kind.INTEGER, 4096, 65536, default="16384", dynamic=False),
        Variable("innodb_adaptive_flushing", Kind.BOOLEAN, default="ON", dynamic=True),
        Variable("sql_mode", Kind.SET, choices=("A", "B"), default="A", dynamic=True),
        Variable("version", Kind.STRING, default="9.7.4", dynamic=False, at_start=False),
        Variable("init_connect", Kind.STRING, default="", dynamic=True),
    ]
    return Catalogue(build, {one.name: one for one in variables})


def around(**in_force):
    values = {name: one.default for name, one in catalogue().variables.items()}
    return Situation(memory=2**34, disk=2**36, cpus=4, connections=8, tables=4, data=2**27, in_force={**values, **in_force})


def named(*texts, weaker=False, build=BUILD, **in_force):
    known = catalogue(build)
    return name_variables(resolve(parse_named(texts), known, {}), known, around(**in_force), weaker=weaker)


def test_a_range_a_list_and_a_name_become_axes():
    capacity, method, flushing = named(f"{CAPACITY}=200..20K", f"{METHOD}=O_DSYNC,O_DIRECT", "innodb_adaptive_flushing")
    assert (capacity.low, capacity.high, capacity.log, capacity.default) == (200, 20480, True, 200)
    assert not capacity.static
    assert method.values == ("fsync", "O_DSYNC", "O_DIRECT")
    assert method.static
    assert set(flushing.values) == {"OFF", "ON"}


def test_values_that_only_a_start_gives_take_a_start():
    (pool,) = named(f"{POOL}=32M..1G")
    assert pool.static
    assert pool.step % 2**20 == 0


def test_the_value_of_the_baseline_is_the_default_of_the_axis_and_always_a_choice():
    (capacity,) = named(f"{CAPACITY}=1000..20000", **{CAPACITY: "300"})
    assert capacity.default == 300
    assert capacity.special == (300,)


def test_words_that_give_up_durability_are_left_out_of_a_bare_name():
    (method,) = named(METHOD)
    assert {"fsync", "O_DIRECT"} <= set(method.values) <= {"fsync", "O_DSYNC", "O_DIRECT"}
    (all_of_them,) = named(METHOD, weaker=True)
    assert set(all_of_them.values) > set(method.values)


@pytest.mark.parametrize("text", [f"{FLUSH}=1,2", f"{FLUSH}=0..2", f"{METHOD}=O_DIRECT,nosync"])
def test_values_that_give_up_durability_are_refused_unless_allowed(text):
    with pytest.raises(UserError, match="weakens durability") as refused:
        named(text)
    assert "--accept-weaker-durability" in refused.value.remedy
    assert len(named(text, weaker=True)) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("innodb_io_capcity=1..9", "has no variable innodb_io_capcity"),
        (f"{CAPACITY}=1..9000", "must be 100 to"),
        (f"{METHOD}=fsync,never", "must be one of"),
        (f"{METHOD}=1..3", "takes words, not a range"),
        ("innodb_page_size=4096,8192", "decides what prepared data looks like"),
        ("port=1..9", "cannot be tuned|has no variable"),
        ("version", "cannot be set when"),
        ("sql_mode", "decides what prepared data looks like"),
        ("init_connect", "No values are known|cannot be tuned"),
    ],
)
def test_a_range_that_the_build_does_not_take_is_refused_in_one_line(text, says):
    with pytest.raises(UserError, match=says) as refused:
        named(text)
    assert refused.value.remedy
    assert "\n" not in str(refused.value)


def test_the_size_of_the_redo_log_is_tuned_where_a_start_can_change_it():
    (size,) = named(f"{LOG}=32M..512M")
    assert size.static
    with pytest.raises(UserError, match="prepared data"):
        named(f"{LOG}=32M..512M", build="mysql@5.5.9")


def test_a_server_looks_at_each_end_and_each_word():
    variables = named(f"{CAPACITY}=200..20000", f"{METHOD}=fsync,O_DSYNC,O_DIRECT")
    assert ends_of(variables) == [
        {CAPACITY: 200, METHOD: "fsync"},
        {CAPACITY: 20000, METHOD: "O_DSYNC"},
        {CAPACITY: 200, METHOD: "O_DIRECT"},
    ]


def test_a_value_set_of_a_tuned_variable_is_the_baselines_own():
    variables = named(f"{CAPACITY}=200..20000")
    assert split_base({CAPACITY: 300, "sync_binlog": 0}, variables) == ({CAPACITY: 300}, {"sync_binlog": 0})


def test_variables_that_a_service_forbids_are_refused_by_name():
    form = SettingForm(kind=FormKind.PARAMETER_GROUP, forbidden=("innodb_io_capacity",))
    refuse_forbidden(parse_named(["innodb_lru_scan_depth"]), form)
    with pytest.raises(UserError, match="innodb_io_capacity cannot be tuned: the service does not let anybody change it"):
        refuse_forbidden(parse_named(["innodb_io_capacity=1..2"]), form)


def test_variables_that_a_service_forbids_or_computes_leave_the_space():
    known = real_catalogue("mysql@9.7.4")
    situation = Situation(memory=2**34, disk=2**36, cpus=8, connections=16, tables=4, data=2**30, in_force=known.defaults())
    every = [one.name for one in propose_variables(known, situation, weaker=False)[0]]
    form = SettingForm(kind=FormKind.PARAMETER_GROUP, forbidden=(every[0],), computed={every[1]: "{X}"})
    variables, left_out = propose_variables(known, situation, weaker=False, form=form)
    left = [one.name for one in variables]
    assert {one.name for one in left_out if one.reason == "service"} == {*every[:2]}
    assert not {*every[:2]} & {*left}
    limited = {one.name for one in left_out if one.reason == "limited"}  # by the pool, which stays as it is
    assert {*every[2:]} - limited <= {*left}


CLEANERS, INSTANCES = "innodb_page_cleaners", "innodb_buffer_pool_instances"


def named_on_a_real_build(*texts):
    known = real_catalogue("mysql@9.7.4")
    values = {**known.defaults(), "innodb_buffer_pool_size": str(2**33), INSTANCES: "1"}
    situation = Situation(
        memory=2**36, disk=2**36, cpus=16, connections=8, tables=4, data=2**34, in_force=values, build="mysql@9.7.4"
    )
    return [one.name for one in name_variables(resolve(parse_named(texts), known, {}), known, situation, weaker=False)]


def test_a_variable_without_effect_is_refused_unless_what_limits_it_is_tuned_as_well():
    with pytest.raises(UserError, match=f"{CLEANERS} has no effect while {INSTANCES} is 1.*Tune {INSTANCES} with it"):
        named_on_a_real_build(f"{CLEANERS}=1..16")
    assert named_on_a_real_build(f"{CLEANERS}=1..16", f"{INSTANCES}=1..16") == [CLEANERS, INSTANCES]


def test_a_variable_that_another_one_may_switch_off_is_tuned_with_a_note():
    known = real_catalogue("mariadb@10.11.19")
    values = {**known.defaults(), "log_bin": "ON", "binlog_commit_wait_usec": "0"}
    situation = Situation(memory=2**36, disk=2**36, cpus=16, connections=8, tables=4, data=2**34, in_force=values)
    requested = resolve(parse_named(["binlog_commit_wait_count=1..8"]), known, {})
    variables = name_variables(requested, known, situation, weaker=False)
    (note,) = idle_notes(variables, known, situation)
    assert note.startswith("binlog_commit_wait_count may have no effect while binlog_commit_wait_usec is 0: tune")
    both = resolve(parse_named(["binlog_commit_wait_count=1..8", "binlog_commit_wait_usec=0..1000"]), known, {})
    assert idle_notes(name_variables(both, known, situation, weaker=False), known, situation) == ()


def test_the_tune_of_the_documentation_is_taken():
    (command,) = re.findall(
        r"dialin tune (bulk_insert_buffer_size.*)\\", (Path(__file__).parents[2] / "docs/tune.md").read_text()
    )
    assert len(named_on_a_real_build(*command.split())) == 3
