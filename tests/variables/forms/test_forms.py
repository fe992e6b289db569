"""Files of settings in every form, as users have them: `fixtures/option_files`; each answer was worked out by hand."""

from contextlib import suppress
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.study import FormKind
from dialin.variables.fitting import fit
from dialin.variables.forms.read import read
from fixtures.real_catalogues import real_catalogue

FILES = Path(__file__).parents[2] / "fixtures" / "option_files"
MYSQL, MARIADB = "mysql@9.7.4", "mariadb@10.11.19"
ADMINISTRATORS = {
    "innodb_buffer_pool_size", "innodb_redo_log_capacity", "innodb_flush_log_at_trx_commit", "sync_binlog",
    "innodb_io_capacity", "innodb_io_capacity_max", "max_connections", "tmp_table_size", "slow_query_log", "long_query_time",
    "sql_mode",
}  # fmt: skip


def fitted(name, build=MYSQL, **how):
    return fit(read(FILES / name, build), real_catalogue(build), {}, **how)


def refusal(name, build=MYSQL):
    with pytest.raises(UserError) as caught:
        read(FILES / name, build)
    assert caught.value.remedy
    return str(caught.value)


def test_included_files_are_named_as_those_of_this_machine(tmp_path):
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "a.cnf").write_text("[mysqld]\nback_log=7\n")
    text = (FILES / "includedir.cnf").read_text().replace("/etc/mysql/conf.d/", "conf.d")
    (tmp_path / "my.cnf").write_text(text)
    file = read(tmp_path / "my.cnf", MYSQL)
    assert file.setting == {"back_log": 7, "max_connections": 611}
    assert file.notes == (f"line 2: read {tmp_path}/conf.d/a.cnf of this machine; --no-includes leaves it out",)


def test_a_directory_of_another_machine_can_be_left_out():
    assert "line 3: /etc/mysql/site-db-a.d cannot be read" in refusal("includedir-missing.cnf")
    assert "--no-includes" in refusal("includedir-missing.cnf")
    assert read(FILES / "includedir-missing.cnf", MYSQL, includes=False).setting == {"innodb_io_capacity": 4000}


def test_a_missing_line_break_between_two_includes_is_found():
    assert "line 3: the server takes the rest of the line for one path: a line break is missing" in refusal(
        "includedir-twice.cnf"
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("template-jinja.cnf", "line 1: this is a template: nothing has put a value in place of {% yet. Render it first"),
        ("template-operator.cnf", "line 2: this is a template"),
        ("template-operator.cnf", "Name the operator's resource (YAML) instead, whose limits.memory dialin reads"),
        ("template-text.cnf", "line 3: this is a template"),
    ],
)
def test_templates_are_refused_as_templates(name, words):
    assert words in refusal(name)


def test_options_of_mysqld_safe_are_noted_as_not_tested():
    (note,) = read(FILES / "mysqld-safe.cnf", MYSQL).notes
    assert note == (
        "it asks mysqld_safe for another memory allocator (malloc-lib=/usr/lib64/libtcmalloc.so.4), NUMA interleaving "
        "(numa-interleave=1) and a limit of open files (open-files-limit=200000): dialin starts servers without it, and does "
        "not test that"
    )
    assert "malloc-lib=jemalloc" in read(FILES / "mysqld-safe.cnf", MARIADB).notes[0]


@pytest.mark.parametrize(
    ("build", "setting"),
    [
        (MYSQL, {"innodb_redo_log_capacity": "5G"}),
        ("mysql@8.4.0", {"innodb_redo_log_capacity": "3G"}),
        ("mysql@8.0.33", {"innodb_redo_log_capacity": "1G"}),
        ("mariadb@11.4.5", {"innodb_redo_log_capacity": "1G", "innodb_log_file_size": "5G"}),
    ],
)
def test_a_group_of_a_version_applies_to_that_version(build, setting):
    file = read(FILES / "version-groups.cnf", build)
    assert file.setting == setting
    assert file.notes == ()


def test_abbreviations_are_refused_by_new_mysql_all_at_once_with_what_they_are_short_for():
    faults = fitted("abbreviations.cnf").faults
    assert [fault.name for fault in faults] == [
        "key_buffer", "innodb_io_capacity_m", "sort_buff", "max_connectio", "innodb_flush"
    ]  # fmt: skip
    assert [fault.place.rpartition(", ")[2] for fault in faults] == [f"line {number}" for number in range(2, 7)]
    assert "short for key_buffer_size, and this build takes whole names only" in str(faults[0].error)
    assert "that is ambiguous" in str(faults[4].error)


@pytest.mark.parametrize("build", [MARIADB, "mysql@5.6.24"])
def test_abbreviations_are_whole_names_to_servers_that_take_them(build):
    result = fitted("abbreviations.cnf", build)
    assert result.setting == {
        "key_buffer_size": "24M", "innodb_io_capacity_max": 9000, "sort_buffer_size": "512K", "max_connections": 611
    }  # fmt: skip
    assert "key_buffer is short for key_buffer_size" in result.notes
    assert [fault.name for fault in result.faults] == ["innodb_flush"]


def test_only_the_first_letter_of_a_unit_counts_as_for_the_server():
    result = fitted("suffix-mb.cnf")
    assert result.setting == {"sort_buffer_size": "2M", "join_buffer_size": "2M", "tmp_table_size": "32M"}
    assert "sort_buffer_size = 2MB is 2M to a server, which reads the first letter of the unit only" in result.notes


def test_the_command_of_a_compose_file_is_read():
    file = read(FILES / "compose.yaml", MYSQL)
    assert file.setting == {
        "innodb_buffer_pool_size": "768M", "innodb_redo_log_capacity": "1G", "max_connections": 611, "skip_name_resolve": "ON"
    }  # fmt: skip
    assert (file.form.kind, file.form.place) == (FormKind.COMPOSE, ("services", "db", "command"))


def test_the_configuration_of_a_resource_is_read_and_its_formulas_are_computed():
    file = read(FILES / "operator-cr.yaml", MYSQL)
    assert file.setting == {
        "innodb_buffer_pool_size": 2147483648, "innodb_io_capacity": 3000, "innodb_flush_log_at_trx_commit": 2,
        "max_connections": 240,
    }  # fmt: skip
    assert file.ignored == ("wsrep_provider_options",)
    assert file.form.place == ("spec", "pxc", "configuration")
    assert file.form.computed == {"innodb_buffer_pool_size": "{{containerMemoryLimit * 2 / 3}}"}
    assert "with the container's memory limit of 3221225472 bytes" in file.notes[0]


def test_server_cnf_and_its_listing_in_three_forms_are_the_same_eleven_variables():
    written = fitted("server.cnf").setting
    assert set(written) == ADMINISTRATORS
    listings = [fitted(f"show-variables.{form}.txt").setting for form in ("tab", "table", "vertical")]
    assert listings[0] == listings[1] == listings[2]
    assert set(listings[0]) == ADMINISTRATORS
    assert listings[0]["innodb_buffer_pool_size"] == 3 * 2**30


def test_variables_of_a_service_are_left_out_of_its_listing():
    result = fitted("show-variables.aurora.txt")
    service, taken = result.notes
    assert service.startswith("left out: aurora_binlog_replication_max_yield_seconds, aurora_enable_zdr, ")
    assert service.endswith("exist only in the service and cannot be tried")
    assert service.count("aurora_") + service.count("aws_") == 8
    assert result.setting["innodb_buffer_pool_size"] == 5033164800
    assert not {name for name in result.setting if "aurora" in name or name in ("basedir", "hostname", "version", "read_only")}
    assert "of 24 variables in it" in taken


def test_a_parameter_group_has_what_was_set_and_leaves_formulas_and_forbidden_names_alone():
    file = read(FILES / "rds-parameter-group.json", MYSQL)
    assert fitted("rds-parameter-group.json").setting == {
        "innodb_io_capacity": 1500, "innodb_flush_log_at_trx_commit": 2, "innodb_redo_log_capacity": 2147483648
    }  # fmt: skip
    assert file.form.forbidden == ("datadir",)
    assert set(file.form.computed) == {"innodb_buffer_pool_size", "max_connections"}
    assert file.form.at_start == ("innodb_buffer_pool_instances", "datadir")
    assert "{DBInstanceClassMemory*3/4}" in file.notes[0]
    assert file.notes[1] == "the service lets nobody change datadir: left alone"


OLD = """[mysqld]
query_cache_size=0
innodb_log_file_size=512M
tx_isolation=READ-COMMITTED
innodb_large_prefix=1
sort_buffer_size=1M
sort_merge_passes=1
read_buffer_size=many
"""


def test_a_file_of_5_7_shows_everything_that_9_7_does_not_take_at_once(tmp_path):
    (tmp_path / "old.cnf").write_text(OLD)
    file = read(tmp_path / "old.cnf", MYSQL)
    result = fit(file, real_catalogue(MYSQL), {})
    assert {fault.name: fault.why.partition(";")[0] for fault in result.faults if fault.gone} == {
        "query_cache_size": "removed in MySQL 8.0",
        "innodb_log_file_size": "renamed to innodb_redo_log_capacity",
        "tx_isolation": "renamed to transaction_isolation",
        "innodb_large_prefix": "removed in MySQL 8.0",
    }
    assert [fault.name for fault in result.faults if not fault.is_unknown] == ["read_buffer_size"]
    assert result.setting == {"sort_buffer_size": "1M"}


def test_variables_that_a_build_lacks_are_left_out_as_asked_but_no_bad_value_is(tmp_path):
    (tmp_path / "old.cnf").write_text(OLD)
    result = fit(read(tmp_path / "old.cnf", MYSQL), real_catalogue(MYSQL), {}, leave_out=True)
    assert [fault.name for fault in result.faults] == ["read_buffer_size"]
    (note,) = result.notes
    assert note.startswith("not in mysql@9.7.4 and left out (--leave-out-unknown): query_cache_size (removed in MySQL 8.0), ")


def test_modes_that_a_build_takes_no_more_are_named_and_left_out_as_asked(tmp_path):
    (tmp_path / "old.cnf").write_text("[mysqld]\nsql_mode=NO_AUTO_CREATE_USER,STRICT_TRANS_TABLES\n")
    file = read(tmp_path / "old.cnf", MYSQL)
    (fault,) = fit(file, real_catalogue(MYSQL), {}).faults
    assert str(fault.error) == "sql_mode: mysql@9.7.4 takes no NO_AUTO_CREATE_USER any more. Leave it out"
    assert fit(file, real_catalogue(MYSQL), {}, leave_out=True).setting == {"sql_mode": "STRICT_TRANS_TABLES"}
    assert fit(file, real_catalogue("mysql@5.6.24"), {}).faults == ()


def test_the_old_name_of_utf8mb3_is_refused_where_the_server_refuses_it(tmp_path):
    (tmp_path / "old.cnf").write_text("[mysqld]\ncharacter-set-server=utf8\ncollation-server=utf8_unicode_ci\nback_log=70\n")
    file = read(tmp_path / "old.cnf", MYSQL)
    assert [fault.name for fault in fit(file, real_catalogue(MYSQL), {}).faults] == ["character_set_server", "collation_server"]
    assert fit(file, real_catalogue(MYSQL), {}, leave_out=True).setting == {"back_log": 70}
    assert fit(file, real_catalogue(MARIADB), {}).faults == ()


def test_options_without_effect_in_mariadb_are_left_out_with_a_note(tmp_path):
    (tmp_path / "old.cnf").write_text("[mysqld]\ninnodb_buffer_pool_instances=8\ninnodb_log_files_in_group=2\nback_log=70\n")
    result = fit(read(tmp_path / "old.cnf", MARIADB), real_catalogue(MARIADB), {})
    assert (result.setting, result.faults) == ({"back_log": 70}, ())
    assert result.notes == (
        "mariadb@10.11.19 takes innodb_buffer_pool_instances and innodb_log_files_in_group without effect: left out",
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{}", "is JSON, but no parameter group"),
        ('{"Parameters": [{"Name": 1}]}', "is JSON, but no parameter group"),
        ("services:\n  web:\n    image: nginx\n", "no service has a server's command:"),
        ("apiVersion: v1\nkind: [\n", "is no YAML"),
        ("apiVersion: v1\nkind: ConfigMap\n", "no text in it has a group such as [mysqld]"),
        ("kind: X\nspec:\n  a: '[mysqld]'\n  b: '[mysqld]'\n", "has several configurations: spec.a and spec.b"),
        ("services:\n  a:\n    command: mysqld\n  b:\n    command: mysqld\n", "several services are servers: a and b"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused_in_one_line(tmp_path, text, words):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        read(path, MYSQL)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_error_about_yaml_quotes_a_password(tmp_path):
    path = tmp_path / "compose.yaml"
    path.write_text('services:\n  db:\n    environment: {MYSQL_ROOT_PASSWORD: "secret\n')
    with pytest.raises(UserError) as caught:
        read(path, MYSQL)
    assert "secret" not in str(caught.value)


def test_yaml_that_names_one_thing_many_times_is_read_in_no_time(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    path = tmp_path / "laughs.yaml"
    path.write_text("kind: X\n" + "\n".join(lines) + "\n")
    with pytest.raises(UserError, match="no text in it"):
        read(path, MYSQL)


def test_rows_that_name_no_variable_are_no_part_of_a_listing(tmp_path):
    rows = "| Variable_name | Value |\n| back_log | 80 |\n| 0x | b |\n| _log | c |\n| ² | d |\n| max_connections | 5 |\n"
    (tmp_path / "vars.txt").write_text(rows)
    assert read(tmp_path / "vars.txt").reported == {"back_log": 80, "max_connections": 5}
    (tmp_path / "other.txt").write_text("| 1 | a |\n| 2 | b |\n| 3 | c |\n")
    with pytest.raises(UserError):
        read(tmp_path / "other.txt")


SHARED = "\n".join(["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)])
MERGED = "\n".join(["b0: &b0 {x: 1}"] + [f"b{n}: &b{n} {{<<: [{f'*b{n - 1}, ' * 20}], y{n}: 1}}" for n in range(1, 20)])
RESOURCE = "kind: Server\nresources: {{limits: {{memory: {}}}}}\ntext: |\n  [mysqld]\n  sort_buffer_size = 1M\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{SHARED}\n{RESOURCE.format('*a59')}",
        RESOURCE.format("9" * 400),
        f"{SHARED}\nservices: {{db: {{image: *a59, command: [--sort-buffer-size=1M]}}}}",
        f"{SHARED}\nservices: {{db: {{image: mysql, command: [*a59]}}}}",
        MERGED,
        RESOURCE.format("1Gi").replace("= 1M", "= {{ " + " * ".join(["9" * 4000] * 100) + " }}"),
    ],
    ids=["memory", "digits", "image", "command", "merged", "product"],
)
def test_a_document_that_would_be_endless_if_it_were_written_out_is_read_or_refused_soon(tmp_path, text):
    (tmp_path / "it.yaml").write_text(f"apiVersion: v1\n{text}")
    with suppress(UserError):
        assert [*read(tmp_path / "it.yaml").setting] == ["sort_buffer_size"]


def test_what_is_merged_from_several_places_is_read(tmp_path):
    text = "x-a: &a {image: mysql}\nx-b: &b {command: [--sort-buffer-size=1M]}\nservices: {db: {<<: [*a, *b]}}\n"
    (tmp_path / "compose.yaml").write_text(text)
    assert [*read(tmp_path / "compose.yaml").setting] == ["sort_buffer_size"]
