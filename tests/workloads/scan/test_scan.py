from contextlib import contextmanager

import pytest

from dialin.errors import ServerError, UserError, WorkloadError
from dialin.model.workload import WorkloadSpec
from dialin.servers.account import Account
from dialin.workloads.base import Target
from dialin.workloads.scan import load as loads
from dialin.workloads.scan import scan as scans
from dialin.workloads.scan.load import ScanLoad, summed_up
from dialin.workloads.scan.scan import Scan

COLD = {"cache": "cold"}
WARM = {"cache": "warm"}


def scan(options=(), **others):
    return Scan(
        WorkloadSpec(name="scan", tables=1, threads=1, table_size=100_000, options=dict(options)).model_copy(update=others)
    )


class FakeServer:
    """Says what was asked of it, and which tables it has."""

    def __init__(self, tables=()):
        self.tables, self.asked = list(tables), []

    @contextmanager
    def connect(self, account, timeout=0):
        yield self.query

    def query(self, statement, arguments=()):
        self.asked.append(statement)
        if statement.startswith("SHOW TABLES"):
            return [(name,) for name in self.tables if name.startswith("scan_copy")]
        if statement.startswith("RENAME"):
            for move in statement.removeprefix("RENAME TABLE ").split(", "):
                old, new = move.split(" TO ")
                self.tables[self.tables.index(old)] = new
        return [(1000,)] if "data_length" in statement else []


def test_innodb_that_is_to_be_cold_starts_a_server_for_each_trial_and_says_why():
    assert "no statement empties InnoDB's buffer pool" in scan(COLD).restarts
    assert scan(WARM).restarts is None
    assert scan({"engine": "MyISAM"}).restarts is None


def test_a_cold_trial_has_no_run_before_and_a_warm_one_has_one():
    assert scan(COLD).runs.warm_up == 0
    assert scan(WARM).runs.warm_up == 1
    assert scan({"runs": "5"}).runs.measured == 5


def test_only_runs_that_can_be_cold_again_are_made_up_for():
    assert scan({"engine": "MyISAM"}).runs.most > scan({"engine": "MyISAM"}).runs.measured
    assert scan(COLD).runs.most == scan(COLD).runs.measured


def test_data_is_shared_by_scans_that_differ_in_the_query_alone():
    assert scan({"query": "full", **WARM}).data_facts() == scan({"query": "join", **WARM}).data_facts()


@pytest.mark.parametrize("other", [{"engine": "MyISAM"}, {"row-bytes": "100"}, {"fragmented": "10%"}, {"cache": "cold"}])
def test_data_differs_by_all_that_decides_it(other):
    assert scan({**WARM, **other}).data_facts() != scan(WARM).data_facts()


def test_several_numbers_of_sessions_need_a_copy_for_each_run_of_each():
    assert scan(COLD, levels=(1, 4), threads=4).data_facts()["copies"] == 6


def test_a_server_that_dialin_did_not_start_is_scanned_warm_only():
    with pytest.raises(UserError, match="cold scan") as refused:
        scan(COLD).check_account(Account())
    assert "cache=warm" in refused.value.remedy
    scan(WARM).check_account(Account())


def test_each_cold_run_reads_a_copy_that_the_server_has_not_read(monkeypatch, tmp_path):
    server = FakeServer([f"scan_copy{number}" for number in (1, 2, 3)])
    monkeypatch.setattr(scans, "connect", server.connect)
    target, workload, read = Target(Account(), tmp_path, data=tmp_path), scan(COLD), []
    for _ in range(3):
        before = set(server.tables)
        workload._make_ready(target, 1)
        read.append((before - set(server.tables)) & {"scan_copy1", "scan_copy2", "scan_copy3"})
        assert "scan1" in server.tables
    assert set.union(*read) == {"scan_copy1", "scan_copy2", "scan_copy3"}
    with pytest.raises(ServerError, match="none is cold"):
        workload._make_ready(target, 1)


def test_a_warm_run_drops_nothing(monkeypatch, tmp_path):
    server = FakeServer(["scan1"])
    monkeypatch.setattr(scans, "connect", server.connect)
    facts = scan(WARM)._make_ready(Target(Account(), tmp_path, data=tmp_path), 4)
    assert facts == {"bytes_a_run": 4000.0}
    assert not any(text.startswith(("FLUSH", "RENAME")) for text in server.asked)


def test_what_a_query_of_the_users_own_reads_is_not_claimed_to_be_known(monkeypatch, tmp_path):
    monkeypatch.setattr(scans, "connect", FakeServer(["scan1"]).connect)
    assert scan({**WARM, "sql": "SELECT 1"})._make_ready(Target(Account(), tmp_path), 1) == {}


def test_a_run_lasts_until_the_last_session_is_done():
    second = summed_up(1, [(0.0, 2.0), (0.1, 4.0)])
    assert (second.seconds, second.tps, second.latency_ms) == (4.0, 0.5, pytest.approx(3900))


class FakeStream:
    """A session whose statement does what it is told."""

    def __init__(self, number, act):
        self.number, self._act = number, act

    def query(self, statement, arguments=()):
        return [(self.number,)]

    def exhaust(self, statement):
        return self._act(self.number)


def sessions(monkeypatch, act, count=2):
    numbers = iter(range(1, count + 1))

    @contextmanager
    def streaming(account, timeout):
        yield FakeStream(next(numbers), act)

    monkeypatch.setattr(loads, "streaming", streaming)
    return ScanLoad(Target(Account(), None), "SELECT 1", count, lambda: {"bytes_a_run": 7.0}, None)


def test_a_run_is_one_query_in_every_session(monkeypatch):
    ran = []
    load = sessions(monkeypatch, ran.append, count=3)
    second = load.read(10)
    assert sorted(ran) == [1, 2, 3]
    assert second.tps == pytest.approx(3 / second.seconds)
    assert load.facts() == {"bytes_a_run": 7.0}
    load.stop()


def test_a_session_that_loses_its_server_ends_the_run_though_others_go_on(monkeypatch):
    import threading

    hold = threading.Event()

    def act(number):
        if number == 1:
            raise ServerError("Lost connection")
        hold.wait(10)

    load = sessions(monkeypatch, act)
    with pytest.raises(WorkloadError, match="Lost connection"):
        load.read(10)
    hold.set()


def test_what_still_runs_is_killed_when_the_load_is_stopped(monkeypatch):
    import threading

    hold, server = threading.Event(), FakeServer()
    load = sessions(monkeypatch, lambda number: hold.wait(10))
    assert load.read(0.01) is None

    @contextmanager
    def connect(account):
        def query(statement):
            server.asked.append(statement)
            hold.set()

        yield query

    monkeypatch.setattr(loads, "connect", connect)
    load.stop()
    assert server.asked == ["KILL 1", "KILL 2"]
