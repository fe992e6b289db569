"""Files of load programs: all mistakes are named at once, and every file that comes with dialin is right."""

import pytest

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.testing.workload_conformance import WorkloadConformance
from dialin.workloads import kinds
from dialin.workloads.command import load_file
from dialin.workloads.command.preset_names import path_of, preset_names
from dialin.workloads.kinds import make_workload
from dialin.workloads.load_request import LoadRequest

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


@pytest.mark.parametrize("name", preset_names())
def test_files_that_come_with_dialin_are_right_and_say_what_was_tested(name):
    file = load_file.read(path_of(name))
    assert file.tested
    assert file.install
    kind, found = kinds.find_kind(name)
    assert (kind.name, found) == ("command", name)
    assert kind.spec(LoadRequest(asked=name, name=name)).kind == "command"


def test_an_option_that_the_file_does_not_have_is_refused():
    kind, name = kinds.find_kind("go-tpc:tpcc")
    with pytest.raises(UserError, match=r"has no option 'warehoses'. It has warehouses"):
        kind.spec(LoadRequest(asked=name, name=name, options={"warehoses": "2"}))
    assert kind.spec(LoadRequest(asked=name, name=name, options={"warehouses": "2"})).options == {"warehouses": "2"}


class TestCommand(WorkloadConformance):
    def make_workload(self):
        return make_workload(WorkloadSpec(name="go-tpc:tpcc", kind="command"))
