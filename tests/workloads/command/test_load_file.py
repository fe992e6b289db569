"""Files of load programs: all mistakes are named at once, and every file that comes with dialin is right."""

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.servers.account import Account
from dialin.testing.workload_conformance import WorkloadConformance
from dialin.workloads import kinds
from dialin.workloads.command import load_file
from dialin.workloads.command.preset_names import path_of, preset_names
from dialin.workloads.kind import LoadRequest
from dialin.workloads.kinds import make_workload
from schemas_and_columns import schemas

SCHEMA = Path(__file__).parents[3] / "schema"

FILE = """
name = "mine"
run = ["sh", "-c", "true", "{host}"]
[output]
lines = 'tps: (?P<rate>[0-9.]+)'
"""


def read(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return load_file.read(path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("(?P<rate>[0-9.]+)", "(?P<rate>", "not a regular expression"),
        ("?P<rate>", "?P<speed>", "no figure 'speed'"),
        ("?P<rate>", "?P<p95_ms>", "count and rate is needed"),
        ("lines =", "columns = { count = 1 }\nlines =", "one of lines, columns and keys"),
        ("{host}", "{hots}", "{hots} is neither a placeholder nor an option"),
        ("{host}", "-p{password}", "password-on-command-line = true"),
        ("{host}", "{app_port}", "add service"),
        ('name = "mine"', "", "name: Field required"),
        ("lines = 'tps: (?P<rate>[0-9.]+)'", "columns = { rate = 0 }", "columns are numbered from 1"),
        ('name = "mine"', 'name = "mine"\nport = 1', "port: unknown key"),
    ],
)
def test_a_mistake_is_named(tmp_path, old, new, says):
    with pytest.raises(UserError) as refused:
        read(tmp_path, FILE.replace(old, new))
    assert says in refused.value.what


def test_all_mistakes_are_named_at_once(tmp_path):
    with pytest.raises(UserError) as refused:
        read(tmp_path, FILE.replace('name = "mine"', "colour = 1\ninterval = 0"))
    assert all(name in refused.value.what for name in ("name", "colour", "interval"))


def test_the_port_is_needed_only_where_the_file_uses_no_socket(tmp_path):
    assert read(tmp_path, FILE).needs_port
    assert not read(tmp_path, FILE.replace("{host}", "{socket}")).needs_port


def test_the_published_schema_is_the_one_in_use():
    assert json.loads((SCHEMA / "load-file.schema.json").read_text()) == json.loads(json.dumps(schemas()["load-file"])), (
        "run: make docs"
    )


@pytest.mark.parametrize("path", [*sorted((SCHEMA / "good").glob("load-file-*.toml")), *map(path_of, preset_names())], ids=str)
def test_good_files_fit_the_schema(path):
    jsonschema.validate(tomllib.loads(path.read_text()), schemas()["load-file"])
    load_file.read(path)


@pytest.mark.parametrize("path", sorted((SCHEMA / "bad").glob("load-file-*.toml")), ids=lambda path: path.stem)
def test_each_bad_file_breaks_one_rule_of_the_schema_and_of_dialin(path):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tomllib.loads(path.read_text()), schemas()["load-file"])
    with pytest.raises(UserError) as refused:
        load_file.read(path)
    assert path.read_text().splitlines()[0].removeprefix("# ") in refused.value.what


@pytest.mark.parametrize("name", preset_names())
def test_files_that_come_with_dialin_are_right_and_say_what_was_tested(name):
    file = load_file.read(path_of(name))
    assert file.tested
    assert file.install
    kind, found = kinds.find_kind(name)
    assert (kind.name, found) == ("command", name)
    assert kind.spec(LoadRequest(asked=name, name=name)).kind == "command"


@pytest.mark.parametrize("path", ["mine.toml", "./mine.toml", "/srv/loads/mine.toml"])
def test_a_file_of_ones_own_is_asked_for_by_prefix_though_files_of_transactions_end_alike(path):
    assert kinds.find_kind(f"command:{path}") == (kinds.kind_named("command"), path)
    assert kinds.with_absolute_path(f"command:{path}", Path("/srv")).startswith("command:/srv/")
    assert kinds.find_kind(path)[0].name == "dialin-load"


def test_an_option_that_the_file_does_not_have_is_refused():
    kind, name = kinds.find_kind("go-tpc:tpcc")
    with pytest.raises(UserError, match=r"has no option 'warehoses'. It has warehouses"):
        kind.spec(LoadRequest(asked=name, name=name, options={"warehoses": "2"}))
    assert kind.spec(LoadRequest(asked=name, name=name, options={"warehouses": "2"})).options == {"warehouses": "2"}


class TestCommand(WorkloadConformance):
    def make_workload(self):
        return make_workload(WorkloadSpec(name="go-tpc:tpcc", kind="command"))


@pytest.mark.parametrize(
    ("placeholder", "account", "says"),
    [
        ("{host}", Account(socket=Path("/run/s.sock")), "Give host and port instead of a socket"),
        ("{socket}", Account(socket=None, host="db1", port=3306), "Give the server's socket"),
    ],
)
def test_an_attached_server_is_refused_where_the_program_cannot_reach_it(tmp_path, placeholder, account, says):
    path = tmp_path / "mine.toml"
    path.write_text(FILE.replace("{host}", placeholder))
    with pytest.raises(UserError, match=says):
        make_workload(WorkloadSpec(name=str(path), kind="command")).check_account(account)
