import pytest

from dialin.errors import UserError
from dialin.model.study import Goal, Until
from dialin.question import candidates
from dialin.question.candidates import candidates_of, find_baseline
from dialin.question.options import StudyOptions
from dialin.question.study_file import question, read
from fixtures.loads import with_traits

GOOD = """
server = "mysql@9.7"
workload = "oltp_read_write"
threads = 16
table-size = 50_000
rand-type = "pareto"
minutes = 6
worthwhile = "2%"

[set]
innodb-buffer-pool-size = "1G"

[sweep]
innodb_buffer_pool_instances = [1, 4, 16]
"""


def written(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def names(asked, directory):
    settings = asked.settings()
    return [candidate.name for candidate in candidates_of(settings, asked.servers or ["mysql@9.7.4"])]


def test_a_study_file_says_all_that_the_options_say(tmp_path):
    asked = read(written(tmp_path, GOOD))
    assert asked.worthwhile == 0.02
    assert asked.table_size == 50_000
    candidates = candidates_of(asked.settings(), ["mysql@9.7.4"])
    spec = asked.spec(candidates, "4", asked.workload_spec(tmp_path), asked.place(tmp_path))
    assert [candidate.setting for candidate in spec.candidates] == [{"innodb_buffer_pool_instances": v} for v in (1, 4, 16)]
    assert spec.fixed == {"innodb_buffer_pool_size": "1G"}
    assert spec.workload.rand_type == "pareto"


@pytest.mark.parametrize("until", Until)
def test_a_study_file_says_until_when_a_study_runs(tmp_path, until):
    asked = read(written(tmp_path, f'until = "{until}"\n{GOOD}'))
    candidates = candidates_of(asked.settings(), ["mysql@9.7.4"])
    assert asked.spec(candidates, "4", asked.workload_spec(tmp_path), asked.place(tmp_path)).until is until
    assert read(written(tmp_path, GOOD)).until is Until.SAFE


def test_a_study_runs_until_nothing_else(tmp_path):
    with pytest.raises(UserError, match="until"):
        read(written(tmp_path, f'until = "certain"\n{GOOD}'))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("tabel-size = 5", "unknown key 'tabel-size'. Did you mean 'table-size'?"),
        ("table_size = 5", "Did you mean 'table-size'?"),
        ("threads = 0", "'threads'"),
        ('threads = "many"', "'threads'"),
        ('rand-type = "normal"', "'rand-type'"),
        ("confidence = 95", "'confidence'"),
        ('worthwhile = "a bit"', "'worthwhile'"),
        ("minutes = -1", "'minutes'"),
        ('server-cpus = "0-"', "'server-cpus'"),
        ('compare = ["a.cnf"]', "cannot be combined"),
        ("minutes 5", "is not TOML"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_key_and_the_remedy(tmp_path, line, says):
    with pytest.raises(UserError) as refused:
        read(written(tmp_path, line + "\n[sweep]\nread_buffer_size = [1, 2]\n"))
    text = str(refused.value)
    assert says in text
    assert "study.toml" in text
    assert "\n" not in text or "TOML" in text


def test_all_mistakes_are_named_at_once_and_a_value_of_several_types_is_one(tmp_path):
    with pytest.raises(UserError) as refused:
        read(written(tmp_path, "tabel-size = 5\nserver = 5\nminutes = -1\n[set]\na_b = []\nc_d = []\n"))
    what = refused.value.what.partition("study.toml: ")[2].split("; ")
    assert sorted(one.partition(" must")[0] for one in what) == [
        "'minutes':",
        "'server':",
        "'set.a_b':",
        "'set.c_d':",
        "unknown key 'tabel-size'",
    ]
    assert refused.value.remedy == "See docs/study-file.md. Did you mean 'table-size'?"


@pytest.mark.parametrize("line", ['data = "a\\u0000b"', 'sweep = {"a_b\\u0000" = [1, 2]}', 'server = ["mysql@9.7", "\\u0000"]'])
def test_a_text_that_no_program_and_no_path_can_have_is_refused(tmp_path, line):
    (tmp_path / "s.toml").write_text(f"{line}\n")
    with pytest.raises(UserError, match="has a NUL character"):
        read(tmp_path / "s.toml")


def test_cpus_reach_programs_without_spaces():
    asked = question({"sweep": {"read_buffer_size": [1, 2]}, "server-cpus": " 0 - 3, 8 ", "load-cpus": "4\n"})
    assert (asked.server_cpus, asked.load_cpus) == ("0-3,8", "4")


def test_nothing_to_compare_is_refused():
    with pytest.raises(UserError, match="nothing to compare"):
        question({"threads": 4})


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read(tmp_path / "none.toml")


@pytest.mark.parametrize("values", [[1], [1, 1], ["1G", 1073741824], ["ON", "on"]])
def test_one_value_or_the_same_twice_is_refused(values, tmp_path):
    with pytest.raises(UserError, match=r"has only one value|same value twice"):
        question({"sweep": {"some_variable": values}}).settings()


def test_a_name_that_cannot_be_a_variable_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be the name"):
        question({"sweep": {"a; drop table": [1, 2]}}).settings()


def test_several_variables_make_every_combination(tmp_path):
    asked = question({"sweep": {"a_b": [1, 2], "c_d": ["ON", "OFF"]}})
    assert names(asked, tmp_path) == ["a_b=1 c_d=ON", "a_b=1 c_d=OFF", "a_b=2 c_d=ON", "a_b=2 c_d=OFF"]


def test_too_many_candidates_are_refused(tmp_path):
    asked = question({"sweep": {"a_b": list(range(10)), "c_d": list(range(10))}})
    with pytest.raises(UserError, match="100 candidates"):
        names(asked, tmp_path)


def test_option_files_are_compared_by_name_and_may_be_the_same_twice(tmp_path):
    def named(*files):
        return question({"compare": list(files)}).option_files(tmp_path)

    assert named("x/a.cnf", "y/b.cnf") == [("a.cnf", tmp_path / "x/a.cnf"), ("b.cnf", tmp_path / "y/b.cnf")]
    assert [name for name, _ in named("x/my.cnf", "y/my.cnf")] == ["x/my.cnf", "y/my.cnf"]
    assert [name for name, _ in named("x/my.cnf", "x/my.cnf")] == ["x/my.cnf", "x/my.cnf (2)"]


def test_builds_are_compared_alone_or_with_settings(tmp_path):
    servers = ["mysql@9.7", "mariadb@10.11"]
    assert names(question({"server": servers}), tmp_path) == servers
    swept = question({"server": servers, "sweep": {"a_b": [1, 2]}})
    assert names(swept, tmp_path) == ["1 on mysql@9.7", "1 on mariadb@10.11", "2 on mysql@9.7", "2 on mariadb@10.11"]


@pytest.mark.parametrize("asked", ["4", "innodb_buffer_pool_instances=4"])
def test_the_baseline_may_be_named_as_the_user_thinks_of_it(asked, spec):
    assert find_baseline(asked, spec.candidates) == "4"


def test_a_baseline_that_is_no_candidate_is_refused(spec):
    with pytest.raises(UserError, match="They are 1, 4, 16"):
        find_baseline("5", spec.candidates)


def test_a_script_path_is_relative_to_the_study_file(tmp_path):
    asked = question({"workload": "./mine.lua", "sweep": {"a_b": [1, 2]}})
    assert asked.workload_spec(tmp_path).name == str(tmp_path / "mine.lua")
    for name in ("mine.toml", "dialin-load:mine.toml"):
        load = question({"workload": name, "sweep": {"a_b": [1, 2]}}).workload_spec(tmp_path)
        assert (load.kind, load.name) == ("dialin-load", str(tmp_path / "mine.toml"))


@pytest.mark.parametrize(
    ("asked", "driver", "name"),
    [
        ("oltp_read_only", "dialin-load", "oltp_read_only"),
        ("sysbench:oltp_read_only", "sysbench", "oltp_read_only"),
        ("scan", "scan", "scan"),
    ],
)
def test_the_name_of_a_workload_tells_the_program_that_applies_it(tmp_path, asked, driver, name):
    load = question({"workload": asked, "sweep": {"a_b": [1, 2]}}).workload_spec(tmp_path)
    assert (load.kind, load.name) == (driver, name)
    assert load.asked == asked


def test_options_of_sysbenchs_workloads_may_be_written_with_underscores_and_sizes_of_files_are_as_written(tmp_path):
    asked = {"sweep": {"a_b": [1, 2]}, "workload-options": {"range_size": 5}}
    assert dict(question(asked).workload_spec(tmp_path).options) == {"range-size": "5"}
    assert dict(question({**asked, "workload": "mine.toml"}).workload_spec(tmp_path).options) == {"range_size": "5"}


SWEPT = {"sweep": {"a_b": [1, 2]}}


@pytest.mark.parametrize("name", ["tables", "table_size", "threads", "rand-type"])
@pytest.mark.parametrize("workload", ["oltp_read_write", "sysbench:oltp_read_write", "mine.lua"])
def test_options_with_a_key_of_their_own_are_no_options_of_sysbenchs_workloads(tmp_path, workload, name):
    asked = question({**SWEPT, "workload": workload, "workload-options": {name: 8}})
    with pytest.raises(UserError, match=f"Give --{name.replace('_', '-')} 8"):
        asked.workload_spec(tmp_path)


def test_workload_files_name_their_sizes_as_they_like(tmp_path):
    asked = question({**SWEPT, "workload": "mine.toml", "workload-options": {"tables": 8, "Goods": 5}})
    assert asked.workload_spec(tmp_path).options == {"tables": "8", "Goods": "5"}


def test_a_workload_of_one_table_is_given_one(tmp_path):
    asked = question({**SWEPT, "workload": "select_random_ranges", "table-size": 7})
    assert with_traits(asked.workload_spec(tmp_path)).traits.size == "1 table of 7 rows"
    asked = question({**SWEPT, "workload": "select_random_ranges", "tables": 2})
    with pytest.raises(UserError, match=r"has one table, and --tables asks for 2.*sysbench:select_random_ranges"):
        asked.workload_spec(tmp_path)
    asked = question({**SWEPT, "workload": "sysbench:select_random_ranges", "tables": 2})
    assert with_traits(asked.workload_spec(tmp_path)).traits.size == "2 tables of 100,000 rows"


@pytest.mark.parametrize("workload", ["bulk_insert", "sysbench:bulk_insert"])
@pytest.mark.parametrize("key", ["tables", "table-size"])
def test_bulk_insert_has_a_table_for_each_thread_whatever_is_said_of_tables(tmp_path, workload, key):
    asked = question({**SWEPT, "workload": workload, "threads": 3})
    assert with_traits(asked.workload_spec(tmp_path)).traits.size == "3 empty tables"
    with pytest.raises(UserError, match="one empty table for each of its --threads"):
        question({**SWEPT, "workload": workload, key: 5}).workload_spec(tmp_path)


@pytest.mark.parametrize("key", ["tables", "table-size"])
def test_sizes_of_tables_are_not_for_workloads_with_sizes_of_their_own(tmp_path, key):
    asked = question({"workload": "tpcc-like", "sweep": {"a_b": [1, 2]}, key: 5})
    with pytest.raises(UserError, match="--workload-option NAME=VALUE"):
        asked.workload_spec(tmp_path)
    assert with_traits(question({"workload": "tpcc-like", "sweep": {"a_b": [1, 2]}}).workload_spec(tmp_path)).traits.size == ""


AGENTS = {
    "sweep": {"innodb_io_capacity": [200, 300]},
    "attach": True,
    "load-hosts": "a:7306, b:7306",
    "load-token": "load.token",
}


def test_load_hosts_are_a_list_and_their_token_is_beside_the_file(tmp_path):
    load = question(AGENTS).workload_spec(tmp_path)
    assert load.load_hosts == ("a:7306", "b:7306")
    assert load.load_token == str(tmp_path / "load.token")
    assert load.describe().endswith("from 2 load hosts")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"attach": False}, "for an attached server.*sends no password to a load host"),
        ({"load-token": None}, "need each other"),
        ({"load-hosts": None}, "need each other"),
        ({"load-hosts": "a"}, "'a' is not HOST:PORT"),
        ({"load-hosts": ["a:1", "a:1"]}, "several different ones"),
        ({"load-cpus": "0"}, "load-cpus is for a load driver on this machine"),
        ({"traffic": "own"}, "does not apply the workload traffic"),
        ({"workload": "sysbench:oltp_read_only"}, "which does not apply the workload sysbench:oltp_read_only"),
    ],
)
def test_load_hosts_that_cannot_be_are_refused(tmp_path, change, says):
    with pytest.raises(UserError, match=says):
        question({**AGENTS, **change}).workload_spec(tmp_path)


def test_combinations_are_counted_before_any_is_made(monkeypatch):
    def make(*_):
        raise AssertionError("a combination was made")

    monkeypatch.setattr(candidates.itertools, "product", make)
    sweep = {f"innodb_variable_{number}": list(range(29)) for number in range(6)}
    with pytest.raises(UserError, match="There are 594,823,321 candidates"):
        candidates.sweep_settings(sweep)
    with pytest.raises(UserError, match="There are 200,000 candidates"):
        candidates.sweep_settings({"innodb_io_capacity": list(range(200_000))})


def test_a_workload_that_a_command_line_lists_has_the_defaults_of_its_kind(tmp_path):
    live = StudyOptions.model_validate(
        {"workload": ["oltp_read_write"], "traffic": "own", "attach": True, "sweep": {"innodb_io_capacity": [300]}}
    )
    assert (live.workload, live.goal) == ("traffic", Goal.LATENCY)
    capture = {"workload": [f"capture:{tmp_path}"], "sweep": {"innodb_io_capacity": [200, 300]}}
    assert StudyOptions.model_validate({**capture, "pace": "1"}).goal is Goal.LATENCY
    assert StudyOptions.model_validate({**capture, "pace": "full"}).goal is Goal.THROUGHPUT
