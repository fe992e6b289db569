import os

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dialin.errors import UserError
from dialin.model.setting import parse_value, same_value
from dialin.variables import optionfile


@pytest.fixture
def read(tmp_path):
    def of(text):
        path = tmp_path / "my.cnf"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return optionfile.read(path)

    return of


def refusal(read, text):
    with pytest.raises(UserError) as caught:
        read(text)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)
    return str(caught.value)


GROUPS = """[client]
port=1
[mysql]
prompt=\\u@\\h
no-auto-rehash
[mysqld]
sync_binlog=0
[mysqldump]
quick
[server]
max-connections = 99
[mariadb]
key_buffer_size=1M
[mysqld-9.7]
back_log=97
[mysqld-8.4]
back_log=84
[mariadb-10.11]
back_log=1011
"""


@pytest.mark.parametrize(
    ("build", "more"),
    [
        ("mysql@9.7.4", {"back_log": 97}),
        ("mysql@8.4.2", {"back_log": 84}),
        ("mysql@8.0.33", {}),
        ("mariadb@10.11.19", {"key_buffer_size": "1M", "back_log": 1011}),
        ("mariadb@11.4.5", {"key_buffer_size": "1M"}),
    ],
)
def test_the_groups_of_the_build_and_its_version_are_read_and_a_clients_are_not(tmp_path, build, more):
    path = tmp_path / "my.cnf"
    path.write_text(GROUPS)
    read = optionfile.read(path, build)
    assert read.setting == {"sync_binlog": 0, "max_connections": 99, **more}
    assert read.notes == ()


def test_without_includes_none_is_read_and_that_is_said(tmp_path):
    path = tmp_path / "my.cnf"
    path.write_text("[mysqld]\nback_log=5\n!includedir /nowhere\n!include /nowhere.cnf\n")
    read = optionfile.read(path, includes=False)
    assert read.setting == {"back_log": 5}
    assert read.notes == (
        "line 3: !includedir was left out (--no-includes)",
        "line 4: !include was left out (--no-includes)",
    )


@pytest.mark.parametrize("line", ["x = {{ y }}", "{% if a %}", "port=${PORT}", "a=<%= b %>", "text={{ c | default('utf8') }}"])
def test_a_template_is_refused_as_one_with_its_line(read, line):
    assert "line 3: this is a template" in refusal(read, f"[mysqld]\n# {{{{ a comment }}}}\n{line}\n")


def test_values_keep_the_form_in_which_they_are_written(read):
    text = "[mysqld]\ninnodb-buffer-pool-size = 1G\ninnodb_flush_log_at_trx_commit=2\nlong_query_time=0.5\nsql_mode=\n"
    assert read(text).setting == {
        "innodb_buffer_pool_size": "1G",
        "innodb_flush_log_at_trx_commit": 2,
        "long_query_time": 0.5,
        "sql_mode": "",
    }


def test_the_last_of_several_lines_wins(read):
    assert read("[mysqld]\nsync_binlog=1\nflush=0\n[server]\nsync-binlog=0\n").setting == {"flush": 0, "sync_binlog": 0}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        # As `mysqld --print-defaults` of 9.7.4 and 10.11.19 read them.
        ('"x#y"   # comment', "x#y"),
        ("'it\"s'", 'it"s'),
        (r"x\ty\sz\\w\qr", "x\ty z\\w\\qr"),
        ('" lead "', " lead "),
        (r'"a\"b#c"', 'a"b#c'),
        ('a "b" c', 'a "b" c'),
        ("'a' 'b'", "a' 'b"),
        ("x ; y", "x ; y"),
        ("a=b", "a=b"),
    ],
)
def test_quotes_comments_and_escapes_are_the_servers(read, written, value):
    assert read(f"[mysqld]\ninit_connect = {written}\n").setting == {"init_connect": value}


def test_comments_blank_lines_and_windows_line_ends_are_passed_over(read):
    assert read(b"\xef\xbb\xbf# one\r\n; two\r\n\r\n[mysqld]  # three\r\n  sync_binlog=0\r\n").setting == {"sync_binlog": 0}


@pytest.mark.parametrize(
    ("line", "setting"),
    [
        ("innodb_file_per_table", {"innodb_file_per_table": "ON"}),
        ("skip-innodb-adaptive-hash-index", {"innodb_adaptive_hash_index": "OFF"}),
        ("disable_performance_schema", {"performance_schema": "OFF"}),
        ("enable-flush", {"flush": "ON"}),
        ("skip-name-resolve", {"skip_name_resolve": "ON"}),
        ("skip_name_resolve=0", {"skip_name_resolve": 0}),
        ("skip-host-cache", {"host_cache_size": 0}),
        ("log-bin", {"log_bin": "ON"}),
        ("log-bin=/var/lib/mysql/binlog", {"log_bin": "ON"}),
        ("skip-log-bin", {"log_bin": "OFF"}),
        ("disable_log_bin", {"log_bin": "OFF"}),
    ],
)
def test_options_without_a_value_mean_what_they_mean_to_a_server(read, line, setting):
    assert read(f"[mysqld]\n{line}\n").setting == setting


def test_a_binary_log_named_off_is_on_and_that_is_said(read):
    """9.7.4 and 10.11.19 write OFF.000001."""
    result = read("[mysqld]\nlog_bin=OFF\n")
    assert result.setting == {"log_bin": "ON"}
    assert "line 2: this switches the binary log on" in result.notes[0]


def test_a_production_file_is_taken_without_its_places_roles_and_clusters(read):
    result = read(
        "[mysqld]\nuser=mysql\ndatadir=/var/lib/mysql\nsocket=/run/x.sock\npid-file=/run/x.pid\nport=3306\nbind-address=*\n"
        "log-error=/var/log/e\nslow_query_log_file=/var/log/s\ntmpdir=/t\nserver-id=7\nsuper_read_only=ON\nskip-slave-start\n"
        "innodb_log_group_home_dir=/redo\ninnodb_data_file_path=/raw/ibdata1:1G\nloose-group_replication_start_on_boot=ON\n"
        "wsrep_cluster_address=gcomm://a,b\nplugin-load-add=x.so\nreplicate-do-db=a\nskip-external-locking\nskip-ssl\n"
        "symbolic-links=0\nssl-ca=/x\nmysqlx=0\ninnodb_buffer_pool_size=1G\n"
    )
    assert result.setting == {"innodb_buffer_pool_size": "1G"}
    assert len(result.ignored) == 23
    assert {"datadir", "group_replication_start_on_boot", "ssl", "innodb_data_file_path"} <= set(result.ignored)


def test_included_files_and_directories_are_read_in_their_place(tmp_path):
    directory = tmp_path / "conf.d"
    directory.mkdir()
    (directory / "b.cnf").write_text("[mysqld]\nsync_binlog=2\n")
    (directory / "a.cnf").write_text("[mysqld]\nsync_binlog=1\nflush=1\n")
    (directory / "c.cnf.bak").write_text("broken")
    (tmp_path / "one.cnf").write_text("[mysqld]\nback_log=5\n")
    (tmp_path / "my.cnf").write_text(f"!include one.cnf\n[mysqld]\nback_log=1\n!includedir {directory}\nflush=0\n")
    result = optionfile.read(tmp_path / "my.cnf").setting
    assert result == {"back_log": 1, "sync_binlog": 2, "flush": 0}


def test_a_file_that_includes_itself_is_refused(tmp_path):
    (tmp_path / "a.cnf").write_text("!include b.cnf\n")
    (tmp_path / "b.cnf").write_text("\n!include a.cnf\n")
    with pytest.raises(UserError, match=r"b\.cnf, line 2: .*a\.cnf is included in itself"):
        optionfile.read(tmp_path / "a.cnf")


def test_includes_that_are_too_deep_are_refused(tmp_path):
    for number in range(20):
        (tmp_path / f"{number}.cnf").write_text(f"!include {number + 1}.cnf\n")
    with pytest.raises(UserError, match="too deep"):
        optionfile.read(tmp_path / "0.cnf")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[mysqld\nx=1\n", "line 1: the name of a group has no ]"),
        ("\nx=1\n", "line 2: an option comes before any group"),
        ("[mysqld]\n=1\n", "line 2: '' is not an option"),
        ("[mysqld]\nsome words = 1\n", "line 2: 'some words' is not an option"),
        ("[mysqld]\nmaximum-read_buffer_size=1M\n", "the prefix of maximum_read_buffer_size is not supported"),
        ("!includes x\n", "line 1: !includes is not understood"),
        ("!include\n", "line 1: !include is not understood"),
        ("!includedir nowhere\n", "nowhere cannot be read: No such file or directory"),
        ("!include nowhere.cnf\n", "nowhere.cnf does not exist"),
        (b"[mysqld]\nx=\0\n", "is not text"),
        (b"#" * (optionfile.MAX_SIZE + 1), "larger than 1 MiB"),
    ],
)
def test_a_malformed_file_is_one_line_that_names_the_place(read, text, words):
    assert words in refusal(read, text)


def test_text_of_another_age_is_read(read):
    assert read("[mysqld]\n# größer\ninit_connect=é\n".encode("latin-1")).setting == {"init_connect": "é"}


def test_a_missing_file_and_a_directory_are_refused(tmp_path):
    with pytest.raises(UserError, match="does not exist"):
        optionfile.read(tmp_path / "none.cnf")
    with pytest.raises(UserError, match="is not a file"):
        optionfile.read(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_refused(tmp_path):
    path = tmp_path / "my.cnf"
    path.touch(mode=0)
    with pytest.raises(UserError, match="cannot be read: Permission denied"):
        optionfile.read(path)


def test_values_are_written_plainly_where_they_can_be():
    text = optionfile.render({"mysqld": {"innodb-buffer-pool-size": "1G", "port": 3306, "socket": "/a b/s.sock", "ssl": None}})
    assert text == '[mysqld]\ninnodb_buffer_pool_size = 1G\nport = 3306\nsocket = "/a b/s.sock"\nssl\n'


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("log_bin", "ON", "log_bin"),
        ("log_bin", 0, "skip-log-bin"),
        ("log_bin", "OFF", "skip-log-bin"),
        ("time_zone", "+02:00", "default_time_zone = +02:00"),
        ("tx_isolation", "SERIALIZABLE", "transaction_isolation = SERIALIZABLE"),
        ("sort_buffer_size", "1t", "sort_buffer_size = 1099511627776"),
        ("sql_mode", "", 'sql_mode = ""'),
        ("ft_boolean_syntax", ' +-><()~*:""&|', r'ft_boolean_syntax = " +-><()~*:\"\"&|"'),
    ],
)
def test_names_that_servers_spell_otherwise_are_written_their_way(name, value, line):
    """Each line was read back by 9.7.4 and 10.11.19 as the value."""
    assert optionfile.render({"mysqld": {name: value}}) == f"[mysqld]\n{line}\n"


@pytest.mark.parametrize("value", ["a\nb", "a\rb", "a\0b", "\x1b[0m", "x" * 5000])
def test_a_value_that_no_option_file_can_hold_is_refused(value):
    with pytest.raises(UserError, match="option file"):
        optionfile.render({"mysqld": {"init_connect": value}})


@pytest.mark.parametrize("name", ["a b", "x\n[client]", "", "a=b"])
def test_a_name_that_is_none_is_never_written(name):
    with pytest.raises(UserError, match="cannot be the name"):
        optionfile.render({"mysqld": {name: 1}})


@given(
    value=st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=60) | st.text("\"'#\\ \t;=[]!ntsb", max_size=12)
)
def test_whatever_is_written_is_read_back(value, tmp_path_factory):
    assume(all(character.isprintable() or character == "\t" for character in value))
    path = tmp_path_factory.getbasetemp() / "round.cnf"
    path.write_text(optionfile.render({"mysqld": {"init_connect": value}}), encoding="utf-8")
    back = optionfile.read(path).setting["init_connect"]
    assert back == (parse_value(value) if value == value.strip() else value) or same_value(back, value)


def test_a_loose_option_is_a_variable_that_a_server_may_lack_unless_it_is_given_plainly_as_well(read):
    result = read("[mysqld]\nloose-innodb_io_capacity=300\nloose_rocksdb_max=1\nback_log=5\nrocksdb_max=2\n")
    assert result.setting == {"innodb_io_capacity": 300, "back_log": 5, "rocksdb_max": 2}
    assert result.loose == {"innodb_io_capacity"}
    assert result.places["back_log"].endswith("line 4")


def test_a_file_of_the_kernel_that_is_included_is_not_waited_for(tmp_path):
    """Such as /proc/kmsg, which answers once there is news."""
    (tmp_path / "my.cnf").write_text("[mysqld]\nback_log=7\n!include /proc/self/mountinfo\n")
    assert optionfile.read(tmp_path / "my.cnf").setting == {"back_log": 7}


def test_files_that_include_each_other_without_end_are_refused_soon(tmp_path):
    for number in range(8):
        (tmp_path / f"{number}.cnf").write_text(f"!include {number + 1}.cnf\n" * 100)
    (tmp_path / "8.cnf").write_text("[mysqld]\nback_log=7\n")
    with pytest.raises(UserError, match="more than 1,000 files are included"):
        optionfile.read(tmp_path / "0.cnf")
