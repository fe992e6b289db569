"""`dialin variables`: builds and what they tell are made up."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from dialin.cli import variables as command
from dialin.errors import ServerError, UserError
from dialin.model.build import Build, Vendor
from dialin.trials.tools import Tools
from dialin.variables.catalogue import Catalogue, Kind, Variable

BUFFER = Variable("read_buffer_size", Kind.INTEGER, 8192, 2147479552, block=4096, default="131072", dynamic=True)
INSTANCES = Variable("innodb_buffer_pool_instances", Kind.INTEGER, 0, 64, default="1", dynamic=False)
SWITCH = Variable("optimizer_switch", Kind.SET, choices=("mrr",) * 40, default="mrr=on," * 40, dynamic=True)
BUILDS = {
    Build(Vendor.ORACLE, (9, 7, 4), Path("/m9")): [BUFFER, INSTANCES, SWITCH],
    Build(Vendor.ORACLE, (5, 6, 24), Path("/m5")): [BUFFER],
    Build(Vendor.MARIADB, (10, 11, 5), Path("/a")): [BUFFER, Variable("aria_block_size", Kind.INTEGER, 1024, 32768)],
}


@pytest.fixture
def dialin(monkeypatch, home):
    asked = []

    def catalogue(build):
        asked.append(build.id)
        if build.version == (5, 6, 24) and broken:
            raise ServerError("mysql@5.6.24 did not start: it died of SIGSEGV")
        return Catalogue(build.id, {variable.name: variable for variable in BUILDS[build]})

    broken: list[bool] = []
    tools = SimpleNamespace(home=home, catalogue=catalogue)
    tools.find = lambda text, installed: Tools.find(tools, text, installed)
    tools.choose = lambda texts, installed: Tools.choose(tools, texts, installed)
    monkeypatch.setattr(command.Tools, "open", lambda say: tools)
    monkeypatch.setattr(command.builds, "discover", lambda *_: list(BUILDS))
    app = typer.Typer()
    app.command()(command.variables)

    def call(*words, **environment):
        asked.clear()
        result = CliRunner().invoke(app, words, env={"COLUMNS": "80", **environment})
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.stdout

    call.asked, call.broken = asked, broken
    return call


def test_the_newest_mysql_is_listed_where_no_build_is_named(dialin):
    out = dialin()
    assert [line.split()[0] for line in out.splitlines()] == [
        "variable",
        "innodb_buffer_pool_instances",
        "optimizer_switch",
        "read_buffer_size",
    ]
    assert dialin.asked == ["mysql@9.7.4"], "no other build is started for it"


def test_piped_lists_are_plain_columns_that_nothing_is_cut_from(dialin):
    lines = dialin().splitlines()
    assert "\x1b" not in "".join(lines)
    assert "mrr=on," * 40 in lines[2]
    assert max(map(len, lines[:2] + lines[3:])) < 90, "one long default does not push all others aside"
    assert lines[3].split()[1:3] == ["128K", "dynamic"]
    assert lines[3].endswith("8K to just under 2G")


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_on_a_terminal_every_line_fits_and_no_color_is_obeyed(dialin, width):
    out = dialin("i", FORCE_COLOR="1", NO_COLOR="1", COLUMNS=str(width))
    plain = re.sub("\x1b\\[[0-9;]*m", "", out)
    assert all(len(line.rstrip()) <= width for line in plain.splitlines())
    assert "innodb_buffer_pool_instances" in plain
    assert "3 variables of mysql@9.7.4" in plain
    assert "\x1b[3" not in out


def test_a_part_of_a_name_or_a_pattern_lists(dialin):
    assert len(dialin("buffer").splitlines()) == 3
    assert dialin("innodb_*", "--server", "mysql@9.7").splitlines()[1].startswith("innodb_buffer_pool_instances")
    assert dialin("aria", "--server", "mariadb").splitlines()[1].startswith("aria_block_size")


def test_a_name_is_explained_over_all_builds(dialin):
    out = dialin("Read-Buffer-Size")
    assert out.splitlines()[0] == "read_buffer_size"
    assert "rounded down to a multiple of 4096; less than 8192 becomes 8192; more than 2147479552 becomes 2147479552" in out
    assert "Builds: MySQL: in 5.6.24, 9.7.4" in out
    assert "Builds: MariaDB: in 10.11.5" in out


def test_a_name_with_a_build_is_explained_on_that_build_alone(dialin):
    out = dialin("read_buffer_size", "--server", "mysql@5.6")
    assert "MariaDB" not in out
    assert dialin.asked == ["mysql@5.6.24"]


def test_a_name_that_only_other_builds_have_is_explained_too(dialin):
    assert "Builds: MySQL: not in 5.6.24, 9.7.4" in dialin("aria_block_size")


def test_a_build_that_does_not_start_is_left_out(dialin):
    dialin.broken.append(True)
    out = dialin("read_buffer_size")
    assert "Builds: MySQL: in 9.7.4" in out


def test_an_unknown_name_gets_the_nearest(dialin):
    with pytest.raises(UserError, match="innodb_buffer_pool_instances"):
        dialin("innodb_buffer_pool_instancez")


def test_a_name_that_a_named_build_lacks_gets_the_builds_that_have_it(dialin):
    with pytest.raises(
        UserError,
        match=r"mysql@5\.6\.24 has no variable aria_block_size, which is a variable of MariaDB; mariadb@10\.11\.5 has it",
    ):
        dialin("aria_block_size", "--server", "mysql@5.6")


def test_a_build_that_is_not_there_is_said(dialin):
    with pytest.raises(UserError, match=r"No build of mysql@8\.0"):
        dialin("--server", "mysql@8.0")


def test_a_pattern_that_nothing_fits_is_not_called_a_name(dialin):
    with pytest.raises(UserError, match=r"No variable of mysql@9\.7\.4 fits x\*y"):
        dialin("x*y")


def test_all_that_is_known_is_json_too(dialin):
    reported = json.loads(dialin("read_buffer_size", "--json"))
    assert reported["builds"]["mysql@5.6.24"]["block"] == 4096
    assert reported["unit"] == "bytes"
    listed = json.loads(dialin("buffer", "--json"))
    assert [variable["name"] for variable in listed["variables"]] == ["innodb_buffer_pool_instances", "read_buffer_size"]
