import subprocess
import sys

import pytest

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.workloads import kinds, load_binary, sysbench_kind
from dialin.workloads.dialin_load import DialinLoad
from dialin.workloads.kinds import find_kind, installed_alternative, is_path, make_workload
from dialin.workloads.load_binary import LOAD_WORKLOADS
from dialin.workloads.scan.scan import Scan
from dialin.workloads.sysbench import Sysbench
from dialin.workloads.sysbench_workloads import SYSBENCH_SCRIPTS


def kind_and_name(workload):
    kind, name = find_kind(workload)
    return kind.name, name


@pytest.mark.parametrize("name", [*SYSBENCH_SCRIPTS, *LOAD_WORKLOADS, "./mine.toml", "/a/b.toml"])
def test_dialin_load_applies_the_workloads_that_it_has(name):
    assert kind_and_name(name) == ("dialin-load", name)


@pytest.mark.parametrize("name", ["./mine.lua", "/a/b.lua", "oltp_nothing"])
def test_sysbench_applies_scripts_and_looks_for_unknown_names(name):
    assert kind_and_name(name) == ("sysbench", name)


def test_dialin_applies_a_scan_itself():
    assert kind_and_name("scan") == ("scan", "scan")


def test_a_prefix_decides_the_kind():
    assert kind_and_name("sysbench:oltp_read_write") == ("sysbench", "oltp_read_write")
    assert kind_and_name("sysbench:./mine.lua") == ("sysbench", "./mine.lua")
    assert kind_and_name("dialin-load:oltp_read_write") == ("dialin-load", "oltp_read_write")
    assert kind_and_name("./odd:name.lua") == ("sysbench", "./odd:name.lua")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sysbench:scan", "sysbench does not apply the workload 'scan'. Give --workload scan; dialin applies it"),
        ("dialin-load:scan", "Give --workload scan; dialin applies it"),
        ("sysbench:tpcc-like", "Give --workload tpcc-like; dialin-load applies it"),
        ("sysbench:./mine.toml", "Give --workload ./mine.toml; dialin-load applies it"),
        ("dialin-load:./mine.lua", "Give --workload ./mine.lua; sysbench applies it"),
    ],
)
def test_a_prefix_of_a_kind_that_cannot_apply_the_workload_is_refused(name, says):
    with pytest.raises(UserError) as refused:
        find_kind(name)
    assert says in f"{refused.value.what}. {refused.value.remedy}"


def test_paths_are_reported_from_names():
    assert is_path("mine.lua")
    assert is_path("mine.toml")
    assert is_path("./x")
    assert not is_path("oltp_read_write")


@pytest.mark.parametrize(("kind", "made"), [("dialin-load", DialinLoad), ("sysbench", Sysbench), ("scan", Scan)])
def test_a_study_keeps_the_kind_that_it_is_stored_with(kind, made):
    name = "scan" if kind == "scan" else "oltp_read_write"
    options = {"size": "1M"} if kind == "scan" else {}
    assert isinstance(make_workload(WorkloadSpec(name=name, kind=kind, options=options)), made)


def test_a_study_of_a_kind_that_is_not_there_is_refused():
    with pytest.raises(UserError, match="no workloads of the kind 'of-a-plug-in'"):
        make_workload(WorkloadSpec(kind="of-a-plug-in"))


def described(kind, **fields):
    spec = WorkloadSpec(kind=kind, **fields)
    asked = kinds.qualified_name(kinds.kind_named(kind), spec.name)
    return spec.model_copy(update={"asked": asked, "traits": make_workload(spec).traits}).describe()


def test_a_load_is_described_by_the_name_that_asks_for_it_again():
    text = "oltp_read_write, 16 threads, 4 tables of 100,000 rows"
    assert described("dialin-load") == text
    assert described("sysbench") == f"sysbench:{text}"
    description = described("dialin-load", name="tpcc-like", threads=1, options={"warehouses": "2"})
    assert description == "tpcc-like, 1 thread, warehouses=2"
    assert described("sysbench", name="/a/b.lua").startswith("/a/b.lua, ")


@pytest.fixture
def machine(monkeypatch):
    """What is installed."""

    def has(*, load, sysbench_path):
        monkeypatch.setattr(load_binary, "find", lambda: load)
        monkeypatch.setattr(sysbench_kind.shutil, "which", lambda name: sysbench_path)

    return has


def test_where_only_sysbench_is_installed_it_applies_the_load_and_a_note_says_so(machine, tmp_path):
    machine(load=None, sysbench_path="/usr/bin/sysbench")
    name, note = installed_alternative("oltp_read_only")
    assert name == "sysbench:oltp_read_only"
    assert "dialin-load is not installed, so that sysbench applies the load" in note


@pytest.mark.parametrize("asked", ["dialin-load:oltp_read_only", "tpcc-like", "sysbench:oltp_read_only", "scan", "./x.toml"])
def test_a_driver_requested_by_name_is_not_replaced(machine, asked):
    machine(load=None, sysbench_path="/usr/bin/sysbench")
    assert installed_alternative(asked) == (asked, "")


def test_a_driver_that_is_named_and_is_none_is_not_replaced_by_sysbench(monkeypatch, tmp_path):
    monkeypatch.setenv("DIALIN_LOAD", str(tmp_path / "gone"))
    monkeypatch.setattr(sysbench_kind.shutil, "which", lambda name: "/usr/bin/sysbench")
    with pytest.raises(UserError, match="which is not a program"):
        installed_alternative("oltp_read_only")


def test_nothing_is_replaced_where_dialin_load_is_there_or_neither_is(machine, tmp_path):
    machine(load=tmp_path / "dialin-load", sysbench_path="/usr/bin/sysbench")
    assert installed_alternative("oltp_read_only") == ("oltp_read_only", "")
    machine(load=None, sysbench_path=None)
    assert installed_alternative("oltp_read_only") == ("oltp_read_only", "")


def test_to_know_the_kinds_takes_none_of_their_drivers():
    """Help and completion import the registry: a driver with its connections would slow them down."""
    text = "import sys, dialin.workloads.kinds; print('pymysql' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
