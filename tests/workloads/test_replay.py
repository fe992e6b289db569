"""The replay of a capture as a workload; the program is a shell script that writes down its arguments."""

import json
import os
import subprocess
import sys

import pytest

from dialin.datasets.cache import copy
from dialin.errors import UserError, WorkloadError
from dialin.model.load_driver import ReplayedDigest
from dialin.model.study import Goal
from dialin.question import study_file
from dialin.servers.account import Account
from dialin.servers.copied_data import check_data, digest_of_data, remove_unneeded
from dialin.testing.workload_conformance import WorkloadConformance
from dialin.workloads import load_binary
from dialin.workloads.base import Target
from dialin.workloads.dialin_load_lines import STREAM
from dialin.workloads.kinds import find_kind, make_workload
from dialin.workloads.replay.replay_facts import _replay_facts, replay_facts
from dialin.workloads.replay.replay_options import ReplayOptions
from dialin.workloads.replay.replay_work import CapturedWork, WorkReading, captured_work, work_ratios
from fixtures.histograms import encoded
from fixtures.stream_lines import second

SCRIPT = """#!/bin/sh
case "$*" in
*--version*) echo "dialin-load 1.2.3 (build 1.2.3+0f, stream {stream})" ;;
*show*) echo '{facts}' ;;
*) printf '%s\\n' "$@" > "{asked}"; cat "{says}" ;;
esac
"""
FACTS = {
    "connections": 7,
    "pace": 1.0,
    "sessions": 9,
    "transactions": 4000,
    "statements": 9_800,
    "random": 0,
    "prepared": 9_000,
    "prepared_as_text": 12,
    "begins_added": 3,
    "backups": [{"at": 1795413690.25, "by": "block-commit"}],
    "captured_seconds": 60.5,
    "not_replayed": {"named-lock": 200},
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A capture, data, and the program in place of dialin-load."""
    (tmp_path / "shop.capture").mkdir()
    (tmp_path / "shop.capture" / "statements.zst").write_bytes(b"")
    (tmp_path / "data" / "mysql").mkdir(parents=True)
    (tmp_path / "data" / "ibdata1").write_bytes(b"page")
    _replay_facts.cache_clear()  # directories of tests that passed are used again
    program = tmp_path / "dialin-load"
    texts = {"stream": STREAM, "facts": json.dumps(FACTS), "asked": tmp_path / "asked", "says": tmp_path / "says"}
    program.write_text(SCRIPT.format(**texts))
    program.chmod(0o755)
    (tmp_path / "says").write_text("")
    monkeypatch.setenv(load_binary.VARIABLE, str(program))
    return tmp_path


def question(**more):
    asked = {"sweep": {"innodb_io_capacity": [200, 2000]}, "workload": "capture:shop.capture", "data": "data", **more}
    return study_file.question({key: value for key, value in asked.items() if value is not None})


def replay(place, **more):
    workload = make_workload(question(**more).workload_spec(place))
    workload.check()
    return workload


def words(place):
    return (place / "asked").read_text().splitlines()


def run(place, lines, **more):
    (place / "says").write_text("".join(f"{line}\n" for line in lines))
    target = Target(Account(socket=place / "s.sock"), place, "db")
    return replay(place, **more).start(target, threads=7, seed=1, cpus=None)


class TestReplay(WorkloadConformance):
    @pytest.fixture(autouse=True)
    def _placed(self, place):
        self.place = place

    def make_workload(self):
        return replay(self.place)


def test_a_replay_at_a_pace_is_measured_by_the_second_and_goes_by_latency(place):
    asked = question(pace="2")
    spec = asked.workload_spec(place)
    assert (asked.goal, spec.threads, spec.asked) == (Goal.LATENCY, 7, f"capture:{place / 'shop.capture'}")
    assert find_kind(spec.asked)[0].name == "capture"
    runs = make_workload(spec).traits.runs
    assert (runs.warm_up, runs.measured, runs.most, runs.seconds) == (6, 24, 24, 1.0)


def test_at_full_pace_it_is_measured_by_the_part_and_goes_by_throughput(place):
    assert question(pace="full").goal is Goal.THROUGHPUT
    runs = replay(place, pace="full", **{"workload-options": {"warm-up": "50%"}}).traits.runs
    assert (runs.warm_up, runs.measured, runs.most) == (20, 20, 20)


def test_the_driver_is_reported_what_to_play_and_takes_no_schema_for_granted(place):
    load = run(place, [second()], **{"workload-options": {"from": "1795413685.5"}})
    assert load.read(5).tps == 200
    load.stop()
    told = words(place)
    assert told[:2] == ["run", f"capture:{place / 'shop.capture'}"]
    assert {"--pace=1.0", "--from=1795413685.500000", "--database="} <= set(told)


def test_the_moment_of_a_backup_is_found_in_the_capture(place):
    spec = question(**{"workload-options": {"from": "backup"}}).workload_spec(place)
    assert spec.options["from"] == "1795413690.250000"


@pytest.mark.parametrize(("backups", "word"), [([], "no backup"), ([{"at": 1.5}, {"at": 2.5}], "1.500000, 2.500000")])
def test_a_backup_that_is_none_or_not_alone_is_refused(place, backups, word):
    program = place / "dialin-load"
    texts = {"stream": STREAM, "facts": json.dumps({**FACTS, "backups": backups}), "asked": "asked", "says": "says"}
    program.write_text(SCRIPT.format(**texts))
    with pytest.raises(UserError) as refused:
        question(**{"workload-options": {"from": "backup"}}).workload_spec(place)
    assert word in refused.value.what


def test_gaps_of_the_capture_and_where_time_is_spent_count_too(place):
    summary = {"coverage": {"questions": 1000, "logged": 900}}
    (place / "shop.capture" / "summary.json").write_text(json.dumps(summary))
    load = run(place, [second(replay={**COUNTS, "time_distance": each}) for each in (0.5, 0.25, None)])
    for _ in range(3):
        load.read(5)
    facts = load.facts()
    load.stop()
    assert facts["replay_not_captured"] == pytest.approx(0.1)
    assert facts["replay_time_elsewhere"] == 0.25


def test_the_servers_work_for_each_captured_transaction_is_known_from_its_counters(place):
    facts = replay_facts(place / "dialin-load", place / "shop.capture", ReplayOptions(data="data"))
    assert captured_work(place / "shop.capture", facts, has_its_pace=True) == CapturedWork({}, None)
    # As many questions as half of the 9,800 statements: half of the 4,000 transactions.
    for when, questions, waits in (("before", 100, 7), ("after", 5_000, 27)):
        counters = {"questions": questions, "work": {"Innodb_row_lock_waits": waits}}
        (place / "shop.capture" / f"counters-{when}.json").write_text(json.dumps(counters))
    summary = {"digests": [{"seconds": 30.0}, {"seconds": 15.0}, {"seconds": None}], "begin": 1000.0, "end": 1060.0}
    (place / "shop.capture" / "summary.json").write_text(json.dumps(summary))
    captured = captured_work(place / "shop.capture", facts, has_its_pace=True)
    assert captured == CapturedWork({"Innodb_row_lock_waits": pytest.approx(0.01)}, 0.75)
    assert captured_work(place / "shop.capture", facts, has_its_pace=False).threads_running is None


def test_work_is_compared_per_transaction_by_the_variables_that_capture_and_server_have():
    begin = WorkReading(100, {"Innodb_rows_read": 5_000, "Innodb_row_lock_waits": 7})
    end = WorkReading(200, {"Innodb_rows_read": 8_000, "Innodb_row_lock_waits": 7})
    captured = {
        "Innodb_rows_read": 20.0,
        "Innodb_row_lock_waits": 0.001,
        "Created_tmp_disk_tables": 1.0,
        "Of_a_later_dialin": 1.0,
    }
    ratios = work_ratios(captured, begin, end)
    assert ratios == {"replay_rows_examined": pytest.approx(1.5), "replay_lock_waits": 1.0}, "hardly any waits are none"
    assert work_ratios(captured, end, end) == {}


COUNTS = {"begun": 100, "begun_late": 5, "waited": 8, "waited_seconds": 0.5, "repaired": 1, "outcomes": 4000, "new_errors": 8}
COUNTS |= {"missing_errors": 2, "harmless_errors": 0, "row_counts": 2800, "other_row_counts": 28, "clocks": 0, "marks": []}
COUNTS |= {"changes": 1000, "idle_changes": 6, "change_counts": 400, "other_change_counts": 2, "out_of_order": 4}
COUNTS |= {"rows_returned": 9000, "rows_changed": 1100, "from_due_histogram": encoded([250_000] * 90 + [1_000_000] * 10)}


def test_it_says_whether_it_is_the_captured_load(place):
    load = run(place, [second(replay=COUNTS, retries=3)] * 2)
    load.read(5)
    load.read(5)
    facts = load.facts()
    load.stop()
    assert facts["replay_left_out"] == 0.02
    assert (facts["replay_new_errors"], facts["replay_missing_errors"]) == (0.002, 0.0005)
    assert (facts["replay_other_rows"], facts["replay_late"]) == (0.01, 0.05)
    assert (facts["replay_other_changes"], facts["replay_out_of_order"]) == (0.005, 0.02)
    assert (facts["replay_waited"], facts["replay_waited_s"], facts["replay_again"]) == (16, 1.0, 6)
    assert facts["replay_waiting"] == pytest.approx(1 / (2 * FACTS["connections"]))
    assert (facts["replay_prepared"], facts["replay_prepared_as_text"]) == (9_000, 12)
    assert facts["replay_begins_added"] == 3
    assert facts["replay_prepared_again"] == 0.002
    limits = {limit.gauge: limit.most for limit in replay(place).traits.limits if not (limit.is_ratio or limit.is_equal)}
    assert {name for name, most in limits.items() if facts.get(name, 0) > most} == {"replay_left_out", "replay_new_errors"}


def test_the_latest_figures_by_digest_are_those_of_the_replay(place):
    figures = {"statements": 9, "missing_errors": 0, "other_row_counts": 4, "captured_time": 0.5, "replayed_time": 0.25}
    figures |= {"other_change_counts": 3, "captured_ms": 24.25, "replayed_ms": 1.5}
    named = [{"digest": "select a/b", "new_errors": each, "last_error": 1452, **figures} for each in (1, 2)]
    load = run(place, [second(replay={**COUNTS, "digests": each}) for each in (named[:1], named[1:], [])])
    for _ in range(3):
        load.read(5)
    digests, facts = load.digests(), load.facts()
    load.stop()
    assert digests == [ReplayedDigest("select a/b", 9, 2, 1452, 0, 4, 3, 24.25, 1.5, 0.5, 0.25)]
    assert (facts["select a/b/replay_digest_ms"], facts["select a/b/replay_digest_statements"]) == (1.5, 9)


def test_the_time_from_when_a_transaction_was_due_stands_beside_its_latency(place):
    load = run(place, [second(replay=COUNTS)] * 2)
    load.read(5)
    load.read(5)
    facts = load.facts()
    load.stop()
    assert facts["replay_from_due_p50"] == pytest.approx(25, rel=0.01)
    assert facts["replay_from_due_p95"] == pytest.approx(100, rel=0.01)


def test_changes_of_which_the_capture_knows_nothing_are_counted_and_not_compared(place):
    load = run(place, [second(replay={**COUNTS, "change_counts": 0, "other_change_counts": 0})])
    load.read(5)
    facts = load.facts()
    load.stop()
    assert "replay_other_changes" not in facts
    assert (facts["replay_unknown_changes"], facts["replay_idle_changes"]) == (1000, 6)
    assert facts["replay_rows_changed"] == 1100 / 200, "per transaction, to compare replays"


def test_the_times_of_each_second_count_in_one_part(place):
    marks = [[], [{"transactions": 100, "at": 1.25}, {"transactions": 200, "at": 1.75}], [{"transactions": 300, "at": 2.75}]]
    times = [encoded([10_000 * number] * 100) for number in (1, 2, 3)]
    lines = [
        second(second=number, latency_histogram=one, replay={**COUNTS, "marks": each})
        for number, (each, one) in enumerate(zip(marks, times, strict=True), start=1)
    ]
    load = run(place, lines, pace="full")
    counts = [load.read(5).times() for _ in range(3)]
    load.stop()
    assert [sum(one.get("", {}).values()) for one in counts] == [200, 0, 100]


def test_parts_take_as_long_as_their_transactions(place):
    marks = [[], [{"transactions": 100, "at": 1.25}, {"transactions": 200, "at": 1.75}], [{"transactions": 300, "at": 2.75}]]
    lines = [second(second=number, replay={**COUNTS, "marks": each}) for number, each in enumerate(marks, start=1)]
    load = run(place, lines, pace="full")
    parts = [load.read(5) for _ in range(3)]
    load.stop()
    assert [(part.number, part.seconds, part.tps) for part in parts] == [(1, 1.25, 80), (2, 0.5, 200), (3, 1.0, 100)]
    assert "--pace=full" in words(place)


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"data": None}, "--data"),
        ({"measure": 10}, "--measure"),
        ({"threads": 4}, "--threads"),
        ({"rate": 50}, "--rate"),
        ({"table-size": 1000}, "table-size"),
        ({"pace": "fast"}, "pace"),
        ({"workload-options": {"speed": 2}}, "speed"),
        ({"workload": "oltp_read_write"}, "--data"),
    ],
)
def test_options_that_do_not_fit_a_replay_are_refused(place, more, word):
    with pytest.raises(UserError) as refused:
        replay(place, **more)
    assert word in f"{refused.value.what} {refused.value.remedy}"


def test_a_capture_is_not_replayed_on_an_attached_server():
    with pytest.raises(UserError, match="sandboxes"):
        question(attach=True)


def test_data_that_no_server_starts_on_are_refused(tmp_path):
    for name, what in (("nowhere", "There is no"), (".", "not a data directory")):
        with pytest.raises(UserError, match=what):
            check_data(tmp_path / name)
    (tmp_path / "mysql").mkdir()
    (tmp_path / "ibdata1").write_bytes(b"page")
    (tmp_path / "xtrabackup_checkpoints").write_text("backup_type = full-backuped\n")
    with pytest.raises(UserError, match="not prepared"):
        check_data(tmp_path)
    (tmp_path / "xtrabackup_checkpoints").write_text("backup_type = full-prepared\n")
    check_data(tmp_path)


LOCKING = """import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()"""


def test_data_of_a_running_server_are_refused(tmp_path):
    (tmp_path / "mysql").mkdir()
    (tmp_path / "ibdata1").write_bytes(b"page")
    words = [sys.executable, "-c", LOCKING, tmp_path / "ibdata1"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(UserError, match="running"):
            check_data(tmp_path)
        holder.stdin.close()
    check_data(tmp_path)


def test_other_data_have_another_digest_and_a_copy_has_no_identity(tmp_path):
    (tmp_path / "ibdata1").write_bytes(b"page")
    (tmp_path / "auto.cnf").write_text("[auto]\n")
    (tmp_path / "mysqld-auto.cnf").write_text("{}")
    first = digest_of_data(tmp_path)
    assert digest_of_data(tmp_path) == first
    os.utime(tmp_path / "ibdata1", ns=(0, 0))
    assert digest_of_data(tmp_path) != first
    remove_unneeded(tmp_path, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["ibdata1"]


@pytest.mark.parametrize("to", ["../elsewhere", "{data}/mysql", "mysql"])
def test_data_that_lie_elsewhere_are_refused_for_a_server_would_change_them_there(tmp_path, to):
    data = tmp_path / "data"
    (data / "mysql").mkdir(parents=True)
    (data / "ibdata1").write_bytes(b"page")
    (tmp_path / "elsewhere").mkdir()
    (data / "mysql.sock").symlink_to("/nowhere")
    check_data(data)
    (data / "shop").symlink_to(to.format(data=data))
    if to == "mysql":
        check_data(data)
    else:
        with pytest.raises(UserError, match=r"shop leads to files outside of .*data: a server on a copy"):
            check_data(data)


def test_tables_that_lie_elsewhere_are_refused_before_any_server_starts(tmp_path):
    """Up to MySQL 5.7, and in MariaDB, a file has the path; the dictionary of MySQL 8.0 and later has it among other bytes."""
    data, far = tmp_path / "data", tmp_path / "elsewhere" / "orders.ibd"
    data.mkdir()
    far.parent.mkdir()
    dictionary = b"\x00\x01./shop/near.ibd\x05A/gone/x.ibd\x07%s\x00./mysql/t.ibd"
    (data / "mysql.ibd").write_bytes(dictionary % bytes(far))
    check_data(data)
    far.write_bytes(b"page")
    with pytest.raises(UserError, match=r"elsewhere/orders\.ibd is a file of that data, .* change it\. Create such tables"):
        check_data(data)
    (data / "mysql.ibd").write_bytes(b"page")
    (data / "shop").mkdir()
    check_data(data)
    (data / "shop" / "orders.isl").write_text(str(far))
    with pytest.raises(UserError, match=r"elsewhere/orders\.ibd is a file of that data, .* change it\. Create such tables"):
        check_data(data)


def test_links_to_logs_and_certificates_are_left_out_so_that_nothing_is_written_where_they_lead(tmp_path):
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    (data / "shop").mkdir(parents=True)
    elsewhere.mkdir()
    (data / "mysql.ibd").write_bytes(b"page")
    (data / "server-key.pem").write_text("its own")
    names = ("db1-slow.log", "db1.err", "ca.pem", "server.key", "mysqld.pid")
    for name in names:
        (elsewhere / name).write_text("mine")
        (data / name).symlink_to(elsewhere / name)
    (data / "general.log").symlink_to("../elsewhere/general.log")
    check_data(data)
    copy(data, tmp_path / "copy")
    remove_unneeded(tmp_path / "copy", data)
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["mysql.ibd", "server-key.pem", "shop"]
    assert {(elsewhere / name).read_text() for name in names} == {"mine"}
    assert (data / "ca.pem").is_symlink(), "the original stays as it is"
    (data / "shop" / "ca.pem").symlink_to(elsewhere / "ca.pem")
    with pytest.raises(UserError, match=r"ca\.pem leads to files outside of .*cp -rL"):
        check_data(data)


@pytest.mark.parametrize("is_relative", [False, True])
def test_a_link_to_a_directory_is_left_out_if_it_has_only_logs_and_certificates(tmp_path, is_relative):
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    data.mkdir()
    (data / "mysql.ibd").write_bytes(b"page")
    for name in (
        "ssl/ca.pem",
        "ssl/private/server-key.pem",
        "log/slow.log",
        "log/slow.log.1.gz",
        "shop/orders.ibd",
        "empty/x.pem",
    ):
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_text("mine")
    for name in ("ssl", "log"):
        (data / name).symlink_to(f"../elsewhere/{name}" if is_relative else elsewhere / name)
    check_data(data)
    (tmp_path / "copy").mkdir()
    copy(data, tmp_path / "copy" / "data")
    remove_unneeded(tmp_path / "copy" / "data", data)
    assert [path.name for path in (tmp_path / "copy" / "data").iterdir()] == ["mysql.ibd"]
    assert (elsewhere / "ssl" / "ca.pem").read_text() == "mine"
    (elsewhere / "empty" / "x.pem").unlink()
    for name in ("aria_log.00000001", "#ib_redo5"):
        (elsewhere / f"of-{name}").mkdir()
        for file in (name, "ca.pem"):
            (elsewhere / f"of-{name}" / file).write_text("mine")
    for name in ("shop", "empty", "of-aria_log.00000001", "of-#ib_redo5"):
        (data / name).symlink_to(elsewhere / name)
        with pytest.raises(UserError, match=rf"{name} leads to files outside of .*cp -rL"):
            check_data(data)
        (data / name).unlink()


@pytest.fixture
def client(place, monkeypatch):
    """A program in place of the client mysql, which writes down what it is given."""
    program = place / "bin" / "mysql"
    program.parent.mkdir()
    lines = ("#!/bin/sh", f'cd "{place}"', 'echo "$@" >asked', "cat >fed", "cat says >&2", "exit $(wc -l <says)")
    program.write_text("\n".join(lines))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    return Target(Account(socket=place / "s.sock"), place, "db")


def test_a_dump_with_tables_outside_of_the_data_directory_is_not_loaded(place, client):
    dump, rows = place / "dump.sql", r"INSERT INTO t VALUES ('DATA DIRECTORY=\'/a\'', 'DATA DIRECTORY=''/b''');"
    for clause, where in (("DATA DIRECTORY='/disk2/'", "/disk2/"), ("/*!50100 INDEX DIRECTORY = '/disk3/' */", "/disk3/")):
        dump.write_text(f"{rows}\nCREATE TABLE t (x INT) ENGINE=InnoDB {clause};\n")
        with pytest.raises(UserError, match=f"creates a table in {where}, outside of .*Remove DATA DIRECTORY"):
            replay(place, data=str(dump)).prepare(client)
    assert not (place / "fed").exists()
    for harmless in (rows, ""):
        dump.write_text(harmless)
        replay(place, data=str(dump)).prepare(client)


def test_a_dump_is_refused_before_anything_starts_where_no_client_can_load_it(place, monkeypatch):
    (place / "dump.sql").write_text("CREATE TABLE t (x INT);\n")
    monkeypatch.setenv("PATH", str(place / "nowhere"))
    with pytest.raises(UserError, match=r"loaded by the client mysql, which is not here.*apt-get install"):
        replay(place, data=str(place / "dump.sql"))
    replay(place)


def test_a_dump_is_loaded_by_a_client_that_obeys_no_commands_in_it(place, client):
    (place / "dump.sql").write_text("\\! touch /nowhere\nCREATE TABLE t (x INT);\n")
    workload = replay(place, data=str(place / "dump.sql"))
    workload.prepare(client)
    assert "--binary-mode" in words(place)[0].split()
    assert (place / "fed").read_text() == (place / "dump.sql").read_text()
    (place / "dump.sql").write_text("/*M!999999\\- enable the sandbox mode */ \nCREATE TABLE t (x INT);\n")
    workload.prepare(client)
    assert (place / "fed").read_text() == "CREATE TABLE t (x INT);\n"
    (place / "says").write_text("ERROR 1064 at line 1: You have an error\n")
    with pytest.raises(WorkloadError, match="could not prepare its data: ERROR 1064 at line 1"):
        workload.prepare(client)
