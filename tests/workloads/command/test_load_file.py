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


def test_mistakes_of_the_output_and_of_the_file_are_named_beside_those_of_keys(tmp_path):
    text = FILE.replace("?P<rate>", "?P<speed>").replace("{host}", "{hots}-p{password}").replace('name = "mine"', "")
    with pytest.raises(UserError) as refused:
        read(tmp_path, f"colour = 1\n{text}cumulative = true\nshape = 2\n[options]\nMy-Rows = 5\n")
    named = ["colour", "output.shape: unknown", "name: Field", "no figure 'speed'", "count and rate", "cumulative is for"]
    named += ["{hots}", "password-on-command-line", "My-Rows cannot be used as {My-Rows}"]
    assert [one for one in named if one not in refused.value.what] == []
    assert refused.value.what.count("count and rate") == 1


@pytest.mark.parametrize(("unit", "milliseconds"), [("s", 2500), ("ms", 2.5), ("us", 0.0025)])
def test_latencies_may_be_printed_in_another_unit(tmp_path, unit, milliseconds):
    lines = "(?P<rate>[0-9.]+), (?P<p95_ms>[0-9.]+)"
    file = read(tmp_path, f"{FILE.replace('(?P<rate>[0-9.]+)', lines)}latency = '{unit}'\n")
    assert file.output.reader()("tps: 5, 2.5").latencies == pytest.approx({95: milliseconds})


def command_of(tmp_path, text=FILE, **options):
    (tmp_path / "mine.toml").write_text(text)
    return make_workload(WorkloadSpec(name=str(tmp_path / "mine.toml"), kind="command", options=options))


def test_relative_paths_are_refused_with_the_absolute_one_because_programs_run_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "mine.sh"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = FILE.replace('"{host}"]', '"{script}"]\noptions = {script = "other"}')
    with pytest.raises(UserError, match=f"Give --workload-option script={program}"):
        command_of(tmp_path, text, script="mine.sh").check()
    command_of(tmp_path, text, script=str(program)).check()
    with pytest.raises(UserError, match=r"the program ./mine.sh of run is not found. .*{file_directory}/PROGRAM"):
        command_of(tmp_path, FILE.replace('"sh"', '"./mine.sh"')).check()
    command_of(tmp_path, FILE.replace('"sh"', '"{file_directory}/mine.sh"')).check()


def test_a_script_that_a_study_runs_is_part_of_its_load(tmp_path):
    script = tmp_path / "test.js"
    script.write_text("1")
    source = command_of(tmp_path, FILE.replace("{host}", "{file_directory}/test.js"))
    before = source.digest()
    script.write_text("2")
    assert source.digest() != before


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


@pytest.mark.parametrize(("figure", "has_latency"), [("p95_ms", True), ("latency_ms", True), ("p50_ms", False)])
def test_a_load_says_whether_it_has_the_latency_that_is_asked_for(tmp_path, figure, has_latency):
    text = FILE.replace("(?P<rate>[0-9.]+)", f"(?P<rate>[0-9.]+) (?P<{figure}>[0-9.]+)")
    assert command_of(tmp_path, text).traits.has_latency is has_latency


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
