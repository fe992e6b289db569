"""Files of settings on real builds: what dialin makes of them is what the servers make of them."""

import subprocess
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.places.check_study import check_question
from dialin.places.sandbox.fit_check import room_here
from dialin.question.options import StudyOptions
from dialin.servers.capabilities import base_options
from dialin.trials.tools import Tools
from dialin.variables import memory
from live import INSTALLED, MYSQL, find, only_with_all

FILES = Path(__file__).parent.parent / "tests" / "fixtures" / "option_files"
MARIADB = "mariadb@10.11"
LOAD = {"tables": 1, "table-size": 1000, "threads": 2, "minutes": 30}


@pytest.fixture
def said():
    return []


@pytest.fixture
def compare(said):
    """Checks and inspects a comparison of files, as `dialin compare` does before it asks whether to begin."""

    def checked(*files, server, **options):
        asked = {"compare": [str(file) for file in files], "server": server, **LOAD, **options}
        return check_question(StudyOptions.model_validate(asked), FILES, Tools.open(said.append))

    return checked


def as_the_server_reads(build, option):
    """Return what a server's help mode says of a value: the number in force, or the error."""
    directory = ["--no-defaults", *(f"--{name.replace('_', '-')}={value}" for name, value in base_options(build).items())]
    name, _, _ = option.partition("=")
    done = subprocess.run(
        [*build.launcher, str(build.binary), *directory, f"--{option}", "--user=root", "--verbose", "--help"],
        capture_output=True,
        text=True,
        errors="replace",
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith(f"{name.replace('_', '-')} ")), "")
    return line.split()[-1] if line else done.stderr


@pytest.mark.skipif(find(MYSQL) is None, reason="no such build")
def test_a_file_and_the_list_of_its_server_are_one_setting(compare, said):
    ready = compare("server.cnf", "show-variables.table.txt", server=MYSQL)
    first, second = (one.in_force for one in ready.inspected.values())
    names = [name for name in first if name in ready.spec.set_variables]
    assert len(names) == 11
    assert {name: first[name] for name in names} == {name: second[name] for name in names}
    assert any("identical effective settings" in note for note in ready.notes)


@pytest.mark.parametrize("build", INSTALLED, ids=lambda build: build.id)
def test_of_a_unit_every_server_reads_the_first_letter(build):
    assert as_the_server_reads(build, "sort_buffer_size=2MB") == "2097152"


@pytest.mark.skipif(find(MARIADB) is None, reason="no such build")
def test_abbreviations_are_in_force_where_the_server_takes_them(compare, said, tmp_path):
    short, whole = tmp_path / "short.cnf", tmp_path / "whole.cnf"
    short.write_text("[mysqld]\nkey_buffer = 24M\ninnodb_io_capacity_m = 9000\nmax-connectio = 611\n")
    whole.write_text("[mariadb]\nkey_buffer_size = 24M\ninnodb_io_capacity_max = 9000\nmax_connections = 610\n")
    ready = compare(short, whole, server=MARIADB)
    taken = ready.inspected["short.cnf"].in_force
    assert (taken["key_buffer_size"], taken["innodb_io_capacity_max"], taken["max_connections"]) == ("25165824", "9000", "611")
    with pytest.raises(UserError, match="is ambiguous"):
        compare("abbreviations.cnf", "abbreviations.cnf", server=MARIADB)
    assert "ambiguous option" in as_the_server_reads(find(MARIADB), "innodb-flush=2")


@pytest.mark.skipif(find("mysql@9.7") is None, reason="no such build")
def test_an_old_file_runs_on_a_new_server_without_what_it_lacks(compare, said, tmp_path):
    old = tmp_path / "old.cnf"
    lines = ["query_cache_size=0", "innodb_log_file_size=64M", "tx_isolation=READ-COMMITTED", "sort_buffer_size=1M"]
    old.write_text("\n".join(["[mysqld]", *lines]))
    with pytest.raises(UserError) as refused:
        compare(old, old, server="mysql@9.7")
    assert len(refused.value.log_tail.splitlines()) == 3
    ready = compare(old, old, server="mysql@9.7", **{"leave-out-unknown": True})
    assert {one.in_force["sort_buffer_size"] for one in ready.inspected.values()} == {"1048576"}


@pytest.mark.skipif(find(MYSQL) is None, reason="no such build")
def test_a_setting_that_does_not_fit_is_refused_before_any_server_starts_with_a_scale_that_does(compare, said, tmp_path):
    for name, size in (("a.cnf", 4096), ("b.cnf", 8192)):
        (tmp_path / name).write_text(f"[mysqld]\ninnodb_buffer_pool_size=900G\ninnodb_log_write_ahead_size={size}\n")
    files = (tmp_path / "a.cnf", tmp_path / "b.cnf")
    with pytest.raises(UserError, match="does not fit this machine") as refused:
        compare(*files, server=MYSQL)
    assert not any("Inspecting" in line for line in said)
    assert "  innodb_log_write_ahead_size: 4K (a.cnf); 8K (b.cnf)" in said
    assert "make it smaller" in str(refused.value).lower()


DEDICATED = {"innodb_dedicated_server": "ON"}


@pytest.mark.skipif(not find("mysql@9.7"), reason="mysql@9.7 is not installed")
@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"innodb_buffer_pool_size": 256 * 2**20}, id="with a pool of its own"),
        pytest.param({}, id="all by the machine", marks=only_with_all),
    ],
)
def test_a_dedicated_server_chooses_what_dialin_says_that_it_will(given):
    build, tools = find("mysql@9.7"), Tools.open(lambda text: None)
    setting = {**DEDICATED, **given}
    expected = {**memory.dedicated_sizes(setting, tools.catalogue(build).defaults(), room_here(tools)), **given}
    with tools.preparer.running(build, setting) as sandbox, sandbox.connect() as query:
        chosen = {name: int(query(f"SELECT @@{name}")[0][0]) for name in expected}
    assert set(expected) == {"innodb_buffer_pool_size", "innodb_redo_log_capacity"}
    chunk = 128 * 2**20  # a pool is made of whole ones
    assert {name: -(-size // chunk) for name, size in expected.items()} == {
        name: size // chunk for name, size in chosen.items()
    }
