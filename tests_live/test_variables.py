"""What builds tell of their variables, on every build that is installed, against facts that were read off running servers."""

import json
import os
import sys
from contextlib import ExitStack
from dataclasses import replace

import pytest

from dialin.cli import app
from dialin.datasets.cache import copy
from dialin.model.setting import as_number
from dialin.paths import Home
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.variables import behaviour, cautions, check, memory, rules
from dialin.variables.catalogue import Kind
from dialin.variables.vendors import owners
from live import FAST, INSTALLED, find

HERE = {build.id: build for build in INSTALLED}
COLUMNS = (
    *("mysql@5.5.9", "mysql@5.6.24", "mysql@8.0.33", "mysql@9.7.4"),
    *("mariadb@10.1.23", "mariadb@10.2.11", "mariadb@10.11.5", "mariadb@10.11.19", "mariadb@11.4.5"),
)

# Default and D (dynamic) or R (restart only), or - where the build has no such variable; ? stands for what was not read, = for
# what the column before has.
DEFAULTS = """
innodb_buffer_pool_size            | 134217728 R | = | 134217728 D | = | 134217728 R | 134217728 D | = | = | =
innodb_buffer_pool_instances       | 1 R | 8 R | 1 R | = | 8 R | 1 R | - | - | -
read_buffer_size                   | 131072 D | = | = | = | = | = | = | = | =
table_open_cache                   | 400 D | 2000 D | 4000 D | = | 2000 D | = | = | = | =
table_open_cache_instances         | - | 1 R | 16 R | = | - | 8 R | ? R | = | =
innodb_adaptive_hash_index         | ON D | = | = | OFF D | ON D | = | OFF D | = | =
innodb_adaptive_hash_index_parts   | - | - | 8 R | = | - | 8 R | = | = | =
innodb_adaptive_hash_index_partitions | - | - | - | - | 1 R | 8 R | - | - | -
innodb_change_buffering            | all D | = | = | = | = | = | none D | = | -
innodb_change_buffer_max_size      | - | 25 D | = | 5 D | 25 D | = | = | = | -
innodb_io_capacity                 | 200 D | = | = | 10000 D | 200 D | = | = | = | =
innodb_io_capacity_max             | - | 2000 D | = | 20000 D | 2000 D | = | = | = | =
innodb_flush_method                |  R | = | fsync R | O_DIRECT R |  R | = | O_DIRECT R | = | =
innodb_flush_log_at_trx_commit     | 1 D | = | = | = | = | = | = | = | =
performance_schema                 | OFF R | ON R | = | = | OFF R | = | = | = | =
sort_buffer_size                   | ? D | = | = | = | = | = | = | = | =
key_buffer_size                    | ? D | = | = | = | = | = | = | = | =
max_connections                    | 151 D | = | = | = | = | = | = | = | =
innodb_page_size                   | - | 16384 R | = | = | = | = | = | = | =
log_bin                            | OFF R | = | ON R | = | OFF R | = | = | = | =
sync_binlog                        | 0 D | = | 1 D | = | 0 D | = | = | = | =
"""

# Least, most and block, as servers were seen to bring values into; 8E-1M is 1M less than 8E.
RANGES = """
read_buffer_size                   | 8192 2147479552 4096 | = | = | = | = | = | = | = | =
innodb_buffer_pool_instances       | 1 64 | 0 64 | = | = | = | = | - | - | -
table_open_cache_instances         | - | 1 64 | = | = | - | 1 64 | = | = | =
innodb_adaptive_hash_index_parts   | - | - | 1 512 | = | - | 1 512 | = | = | =
innodb_adaptive_hash_index_partitions | - | - | - | - | 1 64 | 1 512 | - | - | -
innodb_change_buffer_max_size      | - | 0 50 | = | = | = | = | = | = | -
innodb_flush_log_at_trx_commit     | 0 2 | = | = | = | 0 3 | = | = | = | =
innodb_io_capacity                 | 100 16E-1 | = | = | 100 4G-1 | 100 16E-1 | = | = | 100 4G-1 | 100 16E-1
max_connections                    | 1 100000 | = | = | = | = | = | 10 100000 | = | =
table_open_cache                   | 1 524288 | = | = | = | 1 1M | = | 10 1M | = | =
innodb_buffer_pool_size            | 5M 8E-1M 1M | = | = | = | = | = | 2M 8E-1M 1M | 2M 16E-8M 1M | 2M 8E-1M 1M
key_cache_age_threshold            | 100 16E-16 100 | = | = | = | 100 4G-96 100 | = | = | = | =
sync_binlog                        | 0 4G-1 | = | = | = | = | = | = | = | =
back_log                           | 1 65535 | 0 65535 | = | = | = | = | = | = | =
lower_case_table_names             | 0 2 | = | = | = | = | = | = | = | =
join_buffer_size                   | 128 16E-128 128 | = | = | = | = | = | = | = | =
"""

# Words that an enumeration or a set must have, where the build tells.
WORDS = {
    "innodb_flush_method": ({"O_DIRECT", "O_DIRECT_NO_FSYNC", "fsync"}, {"mysql@8.0.33", "mysql@9.7.4", "mariadb@10.11.5"}),
    "binlog_format": ({"MIXED", "STATEMENT", "ROW"}, set(COLUMNS)),
    "sql_mode": ({"ANSI_QUOTES", "STRICT_TRANS_TABLES", "NO_ENGINE_SUBSTITUTION", "ANSI", "TRADITIONAL"}, set(COLUMNS)),
    "optimizer_switch": ({"index_merge", "index_merge_union"}, set(COLUMNS)),
    "query_cache_type": ({"OFF", "ON", "DEMAND"}, set(COLUMNS) - {"mysql@8.0.33", "mysql@9.7.4"}),
    "innodb_checksum_algorithm": ({"crc32"}, set(COLUMNS) - {"mysql@5.5.9", "mariadb@10.1.23"}),
    "myisam_recover_options": ({"OFF", "BACKUP", "FORCE", "QUICK"}, set(COLUMNS)),
}


def cells(table):
    """Every cell of a table that is about a build that is installed: build, variable, what is told."""
    found = []
    for line in table.strip().splitlines():
        name, *reported = (part.strip() for part in line.split("|"))
        last = ""
        for build, cell in zip(COLUMNS, reported, strict=True):
            last = last if cell == "=" else cell
            if build in HERE:
                found.append(pytest.param(build, name, last, id=f"{build}-{name}"))
    return found


def number(text):
    whole, _, less = text.partition("-")
    return as_number(whole) - (as_number(less) if less else 0)


@pytest.fixture(scope="session")
def catalogues():
    tools = Tools.open(lambda text: None)
    known = {}

    def catalogue(build):
        if build not in known:
            known[build] = tools.catalogue(HERE[build])
        return known[build].variables

    return catalogue


@pytest.mark.parametrize(("build", "name", "cell"), cells(DEFAULTS))
def test_default_and_whether_it_is_dynamic(catalogues, build, name, cell):
    variable = catalogues(build).get(name)
    if cell == "-":
        assert variable is None
        return
    default, _, how = cell.rpartition(" ") if " " in cell else ("", "", cell)
    assert default in ("?", variable.default)
    assert variable.dynamic is (how == "D")


@pytest.mark.parametrize(("build", "name", "cell"), cells(RANGES))
def test_range_and_block_are_what_the_server_brings_values_into(catalogues, build, name, cell):
    variable = catalogues(build).get(name)
    if cell == "-":
        assert variable is None
        return
    low, high, block = [*map(number, cell.split()), None][:3]
    assert (variable.minimum, variable.maximum, variable.block) == (low, high, block)
    assert variable.kind is Kind.INTEGER


@pytest.mark.parametrize(
    ("build", "name"), [(build, name) for name, (_, having) in WORDS.items() for build in sorted(having & HERE.keys())]
)
def test_words_are_reported(catalogues, build, name):
    variable = catalogues(build)[name]
    assert variable.kind in (Kind.ENUMERATION, Kind.SET)
    assert WORDS[name][0] <= set(variable.choices)


@pytest.mark.parametrize("build", sorted(HERE))
def test_everything_that_can_be_told_is_reported(catalogues, build):
    """What stays unknown cannot be set at a start, or takes what no table of words holds."""
    for variable in catalogues(build).values():
        if variable.default is not None:
            assert variable.dynamic is not None, variable.name
        if variable.kind in (Kind.INTEGER, Kind.NUMERIC) and variable.at_start:
            assert variable.minimum is not None, variable.name
            assert variable.minimum <= variable.maximum, variable.name
        if variable.kind is Kind.UNKNOWN and variable.at_start:
            assert variable.default is not None, variable.name


@pytest.mark.parametrize("build", sorted(HERE))
def test_every_default_is_a_value_that_is_taken(catalogues, build):
    for variable in catalogues(build).values():
        if variable.at_start and variable.default is not None:
            check.check_value(variable, variable.default, build)


def test_variables_of_rules_are_those_of_real_servers(catalogues):
    if set(COLUMNS) - HERE.keys():
        pytest.skip("a rule may be about a build that is not installed")
    known = {name for build in HERE for name in catalogues(build)}
    named = {*behaviour.DERIVED, *memory.MEMORY, *cautions.CAUTIONS} | {
        *(other for rule in behaviour.DERIVED.values() for other in rule.of),
        *(rule.names for rule in rules.INERT if rule.names.isidentifier()),
    }
    of_another_vendor = {name for name in named if all(owners(name, build) for build in HERE)}
    assert named - known == of_another_vendor


@pytest.mark.parametrize(
    ("asked", "in_force"), [(8200, 8192), (131073, 131072), (1, 8192), (4294967296, 2147479552), (33554432, 33554432)]
)
@pytest.mark.parametrize("build", sorted(HERE))
def test_reported_rounding_is_that_of_a_set(catalogues, sandboxed, build, asked, in_force):
    variable = catalogues(build)["read_buffer_size"]
    reported = min(max(asked, variable.minimum), variable.maximum)
    assert reported - reported % variable.block == in_force
    query = sandboxed(build)
    query(f"SET GLOBAL read_buffer_size = {asked}")
    assert query("SELECT @@GLOBAL.read_buffer_size") == [(in_force,)]


@pytest.fixture(scope="module")
def sandboxed():
    """A running server of each build that is asked for, until the tests of this file are done."""
    tools = Tools.open(lambda text: None)
    with ExitStack() as stack:
        running = {}

        def query(build):
            if build not in running:
                sandbox = Sandbox.create(HERE[build], tools.home, tools.ledger, tools.clock)
                stack.callback(sandbox.remove)
                copy(tools.preparer.blank(HERE[build], {}).data, sandbox.data)
                sandbox.boot({})
                running[build] = stack.enter_context(sandbox.connect())
            return running[build]

        yield query


def test_a_build_is_asked_within_seconds_and_once(tmp_path, catalogues):
    """The catalogue of one build anew, in a cache of its own that shares the builds."""
    home = tmp_path / "home"
    home.mkdir()
    real = Home.of()
    for part in ("builds", "datasets"):
        (home / part).symlink_to(getattr(real, part))
    said = []
    tools = Tools.open(said.append, {**os.environ, "DIALIN_HOME": str(home)})
    newest = max(HERE.values(), key=lambda build: (build.family == "mysql", build.version))
    build = newest if "DIALIN_TEST_ALL" in os.environ else find(FAST)  # test_archives.py has MySQL asked
    found = tools.catalogue(build)
    assert tools.catalogue(build) == found
    assert said == [f"Reading the variables of {build.id}"]
    known = catalogues(build.id)
    assert found.variables.keys() == known.keys()
    # A default that is a place is another in every sandbox.
    assert all(reported == replace(known[name], default=reported.default) for name, reported in found.variables.items())


@pytest.mark.parametrize("build", sorted(HERE))
def test_the_command_answers_for_every_build(monkeypatch, capsys, build):
    monkeypatch.setattr(sys, "argv", ["dialin", "variables", "read_buffer_size", "--server", build, "--json"])
    with pytest.raises(SystemExit) as ended:
        app.main()
    assert ended.value.code == 0
    reported = json.loads(capsys.readouterr().out)["builds"][build]
    assert (reported["minimum"], reported["maximum"], reported["block"]) == (8192, 2147479552, 4096)
