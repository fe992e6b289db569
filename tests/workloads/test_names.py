import pytest

from dialin.errors import UserError
from dialin.model.workload import LOAD_WORKLOADS, SYSBENCH_SCRIPTS, Driver, WorkloadSpec
from dialin.workloads import choose, load_binary
from dialin.workloads.choose import at_hand, chosen
from dialin.workloads.dialin_load import DialinLoad
from dialin.workloads.names import is_path, named
from dialin.workloads.scan.scan import Scan
from dialin.workloads.sysbench import Sysbench


@pytest.mark.parametrize("name", [*SYSBENCH_SCRIPTS, *LOAD_WORKLOADS, "./mine.toml", "/a/b.toml"])
def test_dialin_load_applies_what_it_speaks(name):
    assert named(name) == (Driver.DIALIN_LOAD, name)


@pytest.mark.parametrize("name", ["./mine.lua", "/a/b.lua", "oltp_nothing"])
def test_scripts_and_unknown_names_are_sysbenchs(name):
    assert named(name) == (Driver.SYSBENCH, name)


def test_a_scan_is_dialins_own():
    assert named("scan") == (Driver.DIALIN, "scan")


def test_the_program_may_be_named():
    assert named("sysbench:oltp_read_write") == (Driver.SYSBENCH, "oltp_read_write")
    assert named("sysbench:./mine.lua") == (Driver.SYSBENCH, "./mine.lua")
    assert named("dialin-load:oltp_read_write") == (Driver.DIALIN_LOAD, "oltp_read_write")
    assert named("./odd:name.lua") == (Driver.SYSBENCH, "./odd:name.lua")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("sysbench:scan", "sysbench does not time queries"),
        ("dialin-load:scan", "dialin-load does not time queries"),
        ("sysbench:tpcc-like", "Give --workload tpcc-like; dialin-load has it"),
        ("sysbench:./mine.toml", "sysbench has no workload"),
        ("dialin-load:./mine.lua", "sysbench runs it"),
    ],
)
def test_a_program_that_cannot_apply_a_load_is_refused(name, says):
    with pytest.raises(UserError, match=says):
        named(name)


def test_paths_are_told_from_names():
    assert is_path("mine.lua")
    assert is_path("mine.toml")
    assert is_path("./x")
    assert not is_path("oltp_read_write")


@pytest.mark.parametrize(
    ("driver", "kind"), [(Driver.DIALIN_LOAD, DialinLoad), (Driver.SYSBENCH, Sysbench), (Driver.DIALIN, Scan)]
)
def test_a_study_keeps_the_driver_that_it_was_written_down_with(driver, kind):
    name = "scan" if driver is Driver.DIALIN else "oltp_read_write"
    options = {"size": "1M"} if driver is Driver.DIALIN else {}
    assert isinstance(chosen(WorkloadSpec(name=name, driver=driver, options=options)), kind)


def test_studies_written_down_before_there_was_a_choice_ran_on_sysbench():
    assert WorkloadSpec.model_validate({"name": "oltp_read_write"}).driver is Driver.SYSBENCH
    assert WorkloadSpec.model_validate({"name": "scan"}).driver is Driver.DIALIN


def test_a_load_is_described_by_the_name_that_asks_for_it_again():
    text = WorkloadSpec(driver=Driver.DIALIN_LOAD).describe()
    assert text == "oltp_read_write, 16 threads, 4 tables of 100,000 rows"
    assert WorkloadSpec(driver=Driver.SYSBENCH).describe() == f"sysbench:{text}"
    own = WorkloadSpec(name="tpcc-like", driver=Driver.DIALIN_LOAD, threads=1, options={"warehouses": "2"})
    assert own.describe() == "tpcc-like, 1 thread, warehouses=2"
    assert WorkloadSpec(name="/a/b.lua").describe().startswith("/a/b.lua, ")


@pytest.fixture
def machine(monkeypatch):
    """What is installed."""

    def has(*, load, sysbench):
        monkeypatch.setattr(load_binary, "find", lambda: load)
        monkeypatch.setattr(choose.shutil, "which", lambda name: sysbench)

    return has


def test_where_only_sysbench_is_installed_it_applies_the_load_and_that_is_said(machine, tmp_path):
    machine(load=None, sysbench="/usr/bin/sysbench")
    name, note = at_hand("oltp_read_only")
    assert name == "sysbench:oltp_read_only"
    assert "dialin-load is not installed, so that sysbench applies the load" in note


@pytest.mark.parametrize("asked", ["dialin-load:oltp_read_only", "tpcc-like", "sysbench:oltp_read_only", "scan", "./x.toml"])
def test_what_was_asked_for_by_name_is_not_replaced(machine, asked):
    machine(load=None, sysbench="/usr/bin/sysbench")
    assert at_hand(asked) == (asked, "")


def test_a_driver_that_is_named_and_is_none_is_not_replaced_by_sysbench(monkeypatch, tmp_path):
    monkeypatch.setenv("DIALIN_LOAD", str(tmp_path / "gone"))
    monkeypatch.setattr(choose.shutil, "which", lambda name: "/usr/bin/sysbench")
    with pytest.raises(UserError, match="which is no program"):
        at_hand("oltp_read_only")


def test_nothing_is_replaced_where_dialin_load_is_there_or_neither_is(machine, tmp_path):
    machine(load=tmp_path / "dialin-load", sysbench="/usr/bin/sysbench")
    assert at_hand("oltp_read_only") == ("oltp_read_only", "")
    machine(load=None, sysbench=None)
    assert at_hand("oltp_read_only") == ("oltp_read_only", "")
