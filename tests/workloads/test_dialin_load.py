"""dialin-load as dialin starts it; the program is a shell script that writes down its arguments."""

import json
from itertools import pairwise

import pytest

from dialin.errors import UserError, WorkloadError
from dialin.model.load_driver import DriverChoice
from dialin.model.workload import WorkloadSpec
from dialin.servers.account import Account
from dialin.workloads.base import Target
from dialin.workloads.dialin_load import DialinLoad
from dialin.workloads.dialin_load_lines import STREAM
from dialin.workloads.kinds import make_workload
from dialin.workloads.load_binary import LOAD_WORKLOADS
from dialin.workloads.sysbench import Sysbench
from dialin.workloads.sysbench_workloads import SYSBENCH_SCRIPTS
from fixtures.stream_lines import second

SCRIPT = """#!/bin/sh
if [ "$1" = --version ]; then echo "dialin-load 1.2.3 (build 1.2.3+0f, stream {stream})"; exit; fi
printf '%s\\n' "$@" > "{asked}"
cat "{says}"
exit $(cat "{code}")
"""


def spec(**reported):
    return WorkloadSpec(**{"kind": "dialin-load", **reported})


@pytest.fixture
def program(tmp_path):
    """The program, which says and does what the test writes."""

    class Program:
        path = tmp_path / "dialin-load"
        asked, says, code = (tmp_path / name for name in ("asked", "says", "code"))

        def words(self):
            return self.asked.read_text().splitlines()

    made = Program()
    made.path.write_text(SCRIPT.format(stream=STREAM, asked=made.asked, says=made.says, code=made.code))
    made.path.chmod(0o755)
    made.says.write_text("")
    made.code.write_text("0")
    return made


@pytest.fixture
def target(tmp_path):
    directory = tmp_path / "server"
    directory.mkdir()
    return Target(Account(socket=directory / "s.sock", user="me", password="hunter2"), directory, "db")


def error(what, remedy):
    return json.dumps({"type": "error", "fault": "server", "what": what, "remedy": remedy}) + "\n"


def options(words):
    return [after for before, after in pairwise(words) if before == "--option"]


def test_the_load_is_started_with_its_sizes_and_without_the_password(program, target):
    asked = spec(rate=50, rand_type="pareto", options={"range-size": "5"})
    load = DialinLoad(asked, program.path).start(target, threads=8, seed=7, cpus=None)
    with pytest.raises(WorkloadError):
        load.read(30)
    load.stop()
    words = program.words()
    assert words[:2] == ["run", "oltp_read_write"]
    assert {"--json", "--connections=8", "--time=0", "--seed=7", "--rate=50", "--database=db", "--user=me"} <= set(words)
    assert options(words) == ["threads=8", "table-size=100000", "tables=4", "range-size=5", "rand-type=pareto"]
    assert "hunter2" not in "".join(words)


def choices(program, target, source):
    """How the program is told what to choose: its words on warm-up, load threads and gathering."""
    load = source.start(target, threads=8, seed=7, cpus=None)
    with pytest.raises(WorkloadError):  # it has ended
        load.read(30)
    load.stop()
    return [word for word in program.words() if word.startswith(("--warmup", "--load-threads", "--gather"))]


def test_the_driver_chooses_by_the_end_of_the_warm_up_and_is_reported_from_then_on(program, target):
    load = DialinLoad(spec(), program.path)
    first = load.pinned(None, 12.4)
    assert first.is_choosing
    assert choices(program, target, first) == ["--warmup=11"]
    assert choices(program, target, load.pinned(None, 0.0)) == ["--warmup=0"]
    for gather, word in ((True, "on"), (False, "off")):
        later = load.pinned(DriverChoice(8, 3, gather), 12.4)
        assert not later.is_choosing
        assert choices(program, target, later) == ["--load-threads=3", f"--gather={word}"]


def test_at_a_rate_nothing_is_left_to_choose_by_the_end_of_the_warm_up(program, target):
    first = DialinLoad(spec(rate=50), program.path).pinned(None, 12.0)
    assert not first.is_choosing
    assert choices(program, target, first) == []


HOSTS = {"load_hosts": ("a:7306", "b:7306"), "load_token": "/nowhere/load.token"}


def test_load_hosts_get_no_account_and_nothing_that_they_could_choose_differently(program, target):
    source = DialinLoad(spec(**HOSTS), program.path).pinned(None, 12.0)
    assert not source.is_choosing
    assert choices(program, target, source) == ["--gather=off"]
    words = program.words()
    assert {"--agents=a:7306,b:7306", "--token-file=/nowhere/load.token"} <= set(words)
    assert not [word for word in words if word.startswith(("--user", "--socket", "--host", "--defaults", "--database"))]
    assert not list(target.directory.glob("*.cnf"))
    load_threads_of_all = DriverChoice(8, 4, gather=False)
    assert choices(program, target, source.pinned(load_threads_of_all, 12.0)) == ["--gather=off"]


def test_load_hosts_without_a_connection_each_or_without_their_token_are_refused(program, tmp_path):
    with pytest.raises(UserError, match="2 load hosts cannot share 1 connections"):
        DialinLoad(spec(**HOSTS, threads=8, levels=(1, 8)), program.path).check()
    with pytest.raises(UserError, match=r"The token /nowhere/load\.token cannot be read"):
        DialinLoad(spec(**HOSTS), program.path).check()
    assert not program.asked.exists()


def test_each_load_host_logs_in_once_though_the_schema_is_not_there_yet(program):
    source = DialinLoad(spec(**HOSTS), program.path)
    program.says.write_text(error("Agent a:7306: Unknown database 'dialin_sbtest'", "Create it"))
    program.code.write_text("1")
    assert list(source.call_load_hosts()) == ["a:7306", "b:7306"]
    program.says.write_text(error("Agent a:7306 has another token", "Give all of them the same token file"))
    with pytest.raises(UserError, match=r"has another token\. Give all"):
        list(source.call_load_hosts())


@pytest.mark.parametrize("kind", ["sysbench", "scan"])
def test_other_drivers_choose_nothing(kind):
    source = make_workload(WorkloadSpec(kind=kind))
    assert source.pinned(None, 10.0) is source
    assert not source.is_choosing


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bulk_insert", ["threads=16"]),
        ("select_random_points", ["threads=16", "table-size=100000", "tables=1"]),
        ("tpcc-like", []),
        ("noop", []),
    ],
)
def test_a_workload_is_given_the_sizes_that_it_has(program, target, name, expected):
    DialinLoad(spec(name=name), program.path).check()
    assert program.words()[:2] == ["show", name]
    assert options(program.words()) == expected


def test_seconds_are_read_and_what_they_report_of_the_driver_is_kept(program, target):
    lines = [json.dumps({"type": "start"}), second(), "a warning", second(second=4, dropped=0, load_thread_cpu=[0.4, 0.8])]
    program.says.write_text("\n".join(lines) + "\n")
    load = DialinLoad(spec(), program.path).start(target, threads=1, seed=1, cpus=None)
    assert [load.read(30).number, load.read(30).number] == [3, 4]
    facts = load.facts()
    kept = {
        "late_ms": 0.5,
        "latest_ms": 1.5,
        "dropped": 5,
        "unprepared": 14,
        "busiest_thread": 0.5,
    }  # of one thread, not of the busiest of each second
    assert {name: facts[name] for name in kept} == kept
    with pytest.raises(WorkloadError, match="dialin-load ended by itself: a warning"):
        load.read(30)
    load.stop()


def test_a_driver_without_timers_reports_nothing_of_them(program, target):
    no_timers = {"count": 0, "late_mean": None, "late_max": None}
    program.says.write_text(second(timers=no_timers, dropped=7) + "\n")
    load = DialinLoad(spec(), program.path).start(target, threads=1, seed=1, cpus=None)
    load.read(30)
    assert "late_ms" not in load.facts()
    assert load.facts()["dropped"] == 7
    load.stop()


def latency(longest):
    return {"mean": 1.0, "p95": 1.0, "max": longest}


@pytest.mark.parametrize(
    ("longest", "oldest", "failed", "expected"),
    [
        ([5.0, 8.0], 2000.0, None, (16, 2000.0, 0.0)),
        ([5.0, 3000.0], 2000.0, 2500.0, (0, 0.0, 0.0)),
        ([5.0, None], None, 60_000.0, (0, 0.0, 60_000.0)),
        ([9000.0, *[5.0] * 10], 2000.0, None, (16, 2000.0, 0.0)),
    ],
)
def test_time_outside_latency_is_kept_where_it_is_longer_than_latency(program, target, longest, oldest, failed, expected):
    seconds = [second(latency=latency(one), oldest_ms=oldest, failed={"max": failed}) for one in longest]
    program.says.write_text("\n".join(seconds) + "\n")
    load = DialinLoad(spec(), program.path).start(target, threads=1, seed=1, cpus=None)
    for _ in longest:
        load.read(30)
    facts = load.facts()
    assert (facts["unfinished"], facts["unfinished_ms"], facts["failed_ms"]) == expected
    load.stop()


def test_an_error_of_the_driver_is_the_workloads_with_its_remedy(program, target):
    program.says.write_text(error("no table", "Prepare"))
    load = DialinLoad(spec(), program.path).start(target, threads=1, seed=1, cpus=None)
    with pytest.raises(WorkloadError) as failed:
        load.read(30)
    load.stop()
    assert (failed.value.what, failed.value.remedy) == ("dialin-load: no table", "Prepare")


def test_data_that_could_not_be_prepared_is_reported_in_the_drivers_words(program, target):
    DialinLoad(spec(), program.path).prepare(target)
    assert program.words()[:2] == ["prepare", "oltp_read_write"]
    program.says.write_text(error("the disk is full", "Free some space"))
    program.code.write_text("3")
    with pytest.raises(WorkloadError) as failed:
        DialinLoad(spec(), program.path).prepare(target)
    assert failed.value.what == "dialin-load could not prepare its data: the disk is full"
    assert failed.value.remedy == "Free some space"


def test_some_tables_are_prepared_by_their_names_where_the_workload_has_separate_ones(program, target):
    load = DialinLoad(spec(tables=3), program.path)
    assert load.separate_tables == ("sbtest1", "sbtest2", "sbtest3")
    load.prepare_tables(target, ["sbtest1", "sbtest3"])
    assert "--only=sbtest1,sbtest3" in program.words()
    assert "tables=3" in program.words()
    for name in ("bulk_insert", "tpcc-like", "mine.toml"):
        assert DialinLoad(spec(name=name), program.path).separate_tables == ()


def test_a_file_that_describes_a_program_is_not_one_of_transactions(program, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("run = ['true']\noutput = {lines = '(?P<count>x)'}\n")
    program.says.write_text(error("unknown field `run`", "See the docs"))
    program.code.write_text("2")
    with pytest.raises(UserError, match=f"describes a load program. Give --workload command:{file}"):
        DialinLoad(spec(name=str(file)), program.path).check()


def test_a_refusal_of_the_driver_is_the_users_error(program):
    program.says.write_text(error("oltp_read_write has no option sice", "Its options are size"))
    program.code.write_text("2")
    with pytest.raises(UserError, match=r"has no option sice\. Its options are size"):
        DialinLoad(spec(options={"sice": "1"}), program.path).check()


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"name": "oltp_nothing"}, "dialin-load has no workload 'oltp_nothing'"),
        ({"name": "/nowhere/mine.toml"}, "There is no workload file /nowhere/mine.toml"),
        ({"options": {"Range": "1"}}, "'Range' cannot be an option"),
        ({"name": "tpcc-like", "options": {"a=b": "1"}}, "'a=b' cannot be an option"),
    ],
)
def test_a_missing_file_is_said_before_anything_runs(program, asked, says):
    with pytest.raises(UserError, match=says):
        DialinLoad(spec(**asked), program.path).check()
    assert not program.asked.exists()


@pytest.mark.parametrize("name", ["Goods", "_goods2", "goods"])
def test_sizes_of_a_workload_file_are_spelled_as_its_author_did(program, tmp_path, name):
    (tmp_path / "mine.toml").write_text("")
    DialinLoad(spec(name=str(tmp_path / "mine.toml"), options={name: "5"}), program.path).check()
    assert options(program.words()) == [f"{name}=5"]


def test_a_program_that_cannot_be_run_is_reported(tmp_path):
    with pytest.raises(UserError, match="cannot be run"):
        DialinLoad(spec(), tmp_path / "gone").check()


@pytest.mark.parametrize("version", ["dialin-load 0.1.0", f"dialin-load 0.1.0 (build 0.1.0+0f, stream {STREAM}0)"])
def test_a_driver_that_writes_another_stream_is_refused_before_anything_runs(program, version):
    program.path.write_text(f"#!/bin/sh\necho '{version}'\n")
    with pytest.raises(UserError, match=rf"does not write the stream format {STREAM}.*make driver"):
        DialinLoad(spec(), program.path).check()


def test_a_second_that_cannot_be_read_ends_the_trial_with_the_remedy(program, target):
    program.says.write_text('{"type": "second", "second": 1}\n')
    load = DialinLoad(spec(), program.path).start(target, threads=1, seed=1, cpus=None)
    with pytest.raises(WorkloadError, match=STREAM) as failed:
        load.read(30)
    load.stop()
    assert "make driver" in failed.value.remedy


def test_the_version_is_the_programs(program):
    assert DialinLoad(spec(), program.path).version() == "dialin-load 1.2.3+0f"


def test_workloads_on_the_same_tables_share_a_dataset_but_not_with_sysbench(program):
    facts = [DialinLoad(spec(name=name), program.path).data_facts() for name in ("oltp_read_write", "oltp_point_select")]
    assert facts[0] == facts[1]
    assert facts[0] != Sysbench(WorkloadSpec(kind="sysbench")).data_facts()
    assert DialinLoad(spec(threads=4), program.path).data_facts() == DialinLoad(spec(threads=64), program.path).data_facts()


def test_workloads_share_a_dataset_only_where_the_driver_makes_the_same_tables(program):
    def facts(**reported):
        return DialinLoad(spec(**reported), program.path).data_facts()

    points = facts(name="select_random_points")
    assert points == facts(name="oltp_read_write", tables=1)
    assert points == facts(name="select_random_points", tables=8), "it has one table, however many are asked for"
    assert points != facts(name="oltp_read_write")
    numbered = {"options": {"auto-inc": "off"}}
    assert facts(name="oltp_insert", **numbered) != facts(name="oltp_read_write", **numbered), "one begins empty"
    assert facts(name="oltp_insert") == facts(name="oltp_read_write")
    assert facts(name="bulk_insert", threads=4) != facts(name="bulk_insert", threads=8)
    assert facts(name="bulk_insert", tables=2) == facts(name="bulk_insert", table_size=7)


def test_the_tables_that_are_made_are_those_that_are_reported():
    assert DialinLoad(spec(name="select_random_points")).traits.size == "1 table of 100,000 rows"
    assert DialinLoad(spec(name="bulk_insert", threads=8)).traits.size == "8 empty tables"
    assert DialinLoad(spec(name="oltp_insert", options={"auto-inc": "0"})).describe_data() == (
        "4 empty tables for oltp_insert (auto-inc=0)"
    )
    assert DialinLoad(spec(name="bulk_insert")).expected_bytes() == 0


@pytest.mark.parametrize("other", [{"tables": 5}, {"table_size": 7}, {"rand_type": "pareto"}, {"options": {"auto-inc": "off"}}])
def test_whatever_shapes_the_data_makes_another_dataset(program, other):
    assert DialinLoad(spec(**other), program.path).data_facts() != DialinLoad(spec(), program.path).data_facts()


def test_another_build_of_the_same_version_uses_the_same_dataset(program):
    load = DialinLoad(spec(name="tpcc-like"), program.path)
    before = load.data_facts(), load.version()
    program.path.write_text(program.path.read_text().replace("1.2.3+0f", "1.2.3+10"))
    assert load.data_facts() == before[0]
    assert load.version() != before[1]


def test_a_workload_file_is_known_by_its_text(program, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("a = 1")
    load = DialinLoad(spec(name=str(file)), program.path)
    before = load.data_facts()
    file.write_text("a = 2")
    assert load.data_facts() != before


@pytest.mark.parametrize("name", [*SYSBENCH_SCRIPTS, *LOAD_WORKLOADS, "/home/me/mine.toml"])
def test_loads_whose_data_may_grow_or_drain_are_said_to(name):
    keeps = name == "noop" or (name in SYSBENCH_SCRIPTS and name not in ("bulk_insert", "oltp_delete", "oltp_insert"))
    assert DialinLoad(spec(name=name)).traits.grows is not keeps


def test_data_is_described_by_what_reports_its_size():
    assert DialinLoad(spec()).describe_data() == "4 tables of 100,000 rows for oltp_read_write"
    own = spec(name="tpcc-like", options={"warehouses": "2"})
    assert DialinLoad(own).describe_data() == "the data for tpcc-like (warehouses=2)"


def test_the_disk_that_data_takes_is_estimated_with_its_size():
    assert DialinLoad(spec(tables=2)).expected_bytes() == Sysbench(WorkloadSpec(tables=2)).expected_bytes() > 0
    small, large = (DialinLoad(spec(name="tpcc-like", options={"warehouses": n})).expected_bytes() for n in ("1", "100"))
    assert 100 * small > large > 10 * small
    assert DialinLoad(spec(name="noop")).expected_bytes() == 0


def test_the_order_business_is_estimated_with_all_of_its_sizes():
    def size(**options):
        return DialinLoad(spec(name="tpcc-like", options=options)).expected_bytes()

    assert size(warehouses="2") == pytest.approx(257e6, rel=0.05), "as MySQL 9.7 had it"
    assert size(customers="300", items="1000") < size() / 10
    assert size(warehouses="9", customers="300") < size(warehouses="9")
    assert size(customers="many") == size(), "the driver refuses that"


@pytest.mark.parametrize(
    ("reported", "smaller"),
    [
        ({}, "a smaller --table-size"),
        ({"name": "tpcc-like"}, "a smaller --workload-option warehouses"),
        ({"name": "/a/mine.toml"}, "smaller sizes of the workload (--workload-option)"),
        ({"name": "noop"}, ""),
        ({"name": "bulk_insert"}, ""),
    ],
)
def test_less_data_is_had_by_what_the_workload_can_be_reported(reported, smaller):
    assert DialinLoad(spec(**reported)).how_to_shrink == smaller
