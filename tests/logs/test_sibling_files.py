import pytest

from dialin.logs.sibling_files import SiblingFinder, parse_options, read_options

SCRIPT = r"""#!/bin/bash
# --innodb_flush_method=fsync
BP=140
export IO="7000"
STAMP=$(date)
for t in 8 16; do
  mysqld --defaults-file=my.cnf --innodb-log-file-size=20GB --skip-log-bin \
    --innodb_io_capacity $IO --user='mysql' &
  sysbench oltp --threads=$t run > x.log  # --not-this=1
done
"""


def test_a_script_sets_options_and_variables_of_its_own():
    assert parse_options(SCRIPT, "run.sh") == {
        "bp": "140",
        "io": "7000",
        "defaults_file": "my.cnf",
        "innodb_log_file_size": "20GB",
        "skip_log_bin": "on",
        "innodb_io_capacity": "$IO",
        "user": "mysql",
        "threads": "$t",
    }


@pytest.mark.parametrize(
    ("text", "file_name"),
    [
        ("sysbench --mysql-password=hunter2 --db-ps-mode=disable run\n", "run.sh"),
        ("export MYSQL_PWD=hunter2\nsysbench --db-ps-mode=disable run\n", "run.sh"),
        ("mysql-password = hunter2\ndb-ps-mode = disable\n", "params.txt"),
        ("[client]\npassword=hunter2\ndb_ps_mode=disable\n", "my.cnf"),
        ("PASS: hunter2\ndb-ps-mode: disable\n", "params.txt"),
        ("AWS_SECRET_ACCESS_KEY=hunter2\nsysbench --db-ps-mode=disable run\n", "run.sh"),
        ("dsn = root:hunter2@tcp(db:3306)/x\ndb-ps-mode = disable\n", "params.txt"),
    ],
)
def test_passwords_are_no_options_of_a_run(text, file_name):
    assert parse_options(text, file_name) == {"db_ps_mode": "disable"}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("[mysqld]\ninnodb-buffer-pool-size = 8G # not 4G\nskip-name-resolve\n", {
            "innodb_buffer_pool_size": "8G", "skip_name_resolve": "on",
        }),
        ("io 5000\npool: 8\n--x=1\nk=v\n", {"io": "5000", "pool": "8", "x": "1", "k": "v"}),
        ("--a=1 --b=2 --c\n", {"a": "1", "b": "2", "c": "on"}),
        ("a=1\na=2\n", {"a": "2"}),
        ("; a=1\n\n", {}),
        ("b = 'x y'\n", {"b": "x y"}),
    ],
)  # fmt: skip
def test_other_files_set_an_option_in_each_line(text, options):
    assert parse_options(text, "my.cnf") == options


def logs(directory, *names):
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("log")
    return {name: directory / name for name in names}


def test_the_nearest_file_of_a_kind_counts_and_none_above_the_root(tmp_path):
    root = tmp_path / "root"
    found = logs(root, "a/1/x.log", "a/2/x.log", "b/x.log")
    (tmp_path / "params.txt").write_text("pool=1")
    (root / "a" / "params.txt").write_text("pool=8")
    (root / "a" / "2" / "params.txt").write_text("pool=16")
    (root / "my.cnf").write_text("io=200")
    assert read_options(found, SiblingFinder([root])) == {
        "a/1/x.log": {"pool": "8", "io": "200"},
        "a/2/x.log": {"pool": "16", "io": "200"},
        "b/x.log": {"io": "200"},
    }
    assert read_options(found, SiblingFinder([]))["a/1/x.log"] == {}, "without a root only the log's own directory counts"


def test_of_several_files_those_whose_names_are_like_the_logs_count(tmp_path):
    found = logs(tmp_path, "bpi8.log", "bpi32.log", "other.log")
    (tmp_path / "run-bpi8.sh").write_text("mysqld --bpi=8 --io=5")
    (tmp_path / "run-bpi32.sh").write_text("mysqld --bpi=32 --io=5")
    assert read_options(found, SiblingFinder([tmp_path])) == {
        "bpi8.log": {"bpi": "8", "io": "5"},
        "bpi32.log": {"bpi": "32", "io": "5"},
        "other.log": {"io": "5"},
    }


def test_a_file_that_cannot_be_read_sets_nothing(tmp_path):
    found = logs(tmp_path, "x.log")
    (tmp_path / "params.txt").mkdir()
    (tmp_path / "my.cnf").write_bytes(b"a=\xff\xfe1\n")
    (tmp_path / "run.sh").write_text("# " + "x" * 2_000_000)
    assert read_options(found, SiblingFinder([tmp_path]))["x.log"].keys() == {"a"}


def test_a_link_that_leads_out_of_the_folder_is_not_read(tmp_path):
    """The folder may be somebody else's, and the file one of the user's own."""
    folder = tmp_path / "folder"
    (folder / "runs").mkdir(parents=True)
    (tmp_path / "mine.cnf").write_text("[mysqld]\nsort_buffer_size = 1M\n")
    (folder / "runs" / "a.log").touch()
    link = folder / "runs" / "my.cnf"
    link.symlink_to(tmp_path / "mine.cnf")
    logs = {"a": folder / "runs" / "a.log"}
    assert read_options(logs, SiblingFinder([folder])) == {"a": {}}
    link.unlink()
    (tmp_path / "mine.cnf").rename(folder / "shared.cnf")
    link.symlink_to("../shared.cnf")
    assert read_options(logs, SiblingFinder([folder])) == {"a": {"sort_buffer_size": "1M"}}


@pytest.mark.parametrize("file_name", ["params.txt", "run.sh", "my.cnf"])
def test_a_line_of_blanks_is_read_in_the_time_of_its_length(file_name):
    blanks = "a=1" + " " * 500_000 + "b"
    assert parse_options(f"{blanks}\nc=2 # note\n", file_name)["c"] == "2"
