"""What a live server did between two readings, without what dialin itself asked."""

import pytest

from dialin.errors import NoAnswerError
from dialin.model.live import LatencySource
from dialin.servers.connection import RefusedError
from dialin.workloads.traffic.digests import Digest
from dialin.workloads.traffic.reader import Reader, Replication, replication_of

TAKES = 0.002
"""Seconds that each of dialin's statements takes."""


def replica_status(lag, receives="Yes", applies="Yes"):
    """A row of SHOW REPLICA STATUS."""
    return (*[None] * 10, receives, applies, *[None] * 20, lag)


class Server:
    """A server whose clients send selects of a millisecond; it counts dialin's own statements as a real one does."""

    def __init__(self, clock):
        self.clock = clock
        self.counts = {"sql/select": 0, "sql/show_status": 0, "sql/show_replica_status": 0}
        self.times = dict.fromkeys(self.counts, 0.0)
        self.status = {"Questions": 0, "Com_select": 0, "Innodb_rows_read": 0, "Aborted_clients": 0, "Threads_running": 3}
        self.lag = None
        self.digests = {}

    def serve(self, selects, seconds=1.0, rows=0):
        self._count("sql/select", selects, 1.0 * selects)
        self.status["Innodb_rows_read"] += rows
        self.clock.sleep(seconds)

    def _count(self, kind, count, took_ms):
        self.counts[kind] += count
        self.times[kind] += took_ms
        self.status["Questions"] += count
        self.status["Com_select"] += count * (kind == "sql/select")

    def query(self, statement, arguments=()):
        if "summary_global_by_event_name" in statement:
            rows = [(f"statement/{kind}", count, 1e9 * self.times[kind], 0) for kind, count in self.counts.items()]
            if "by_digest" in statement:
                rows += [(key, count, 1e9 * took, 0) for key, (count, took) in self.digests.items()]
            return self._done("sql/select", rows)
        if statement.startswith("SHOW GLOBAL STATUS"):
            return self._done("sql/show_status", [(name, str(value)) for name, value in self.status.items()])
        if statement == "SHOW SLAVE STATUS":
            return self._done("sql/show_replica_status", [replica_status(self.lag)])
        raise RefusedError("You have an error in your SQL syntax", "", 1064)

    def _done(self, kind, rows):
        self.clock.sleep(TAKES)
        self._count(kind, 1, 1000 * TAKES)
        return rows


@pytest.fixture
def server(clock):
    return Server(clock)


def readings(server, clock, *served, **more):
    reader = Reader(server.query, clock, LatencySource.SUMMARY, **more)
    last, seconds = reader.read(), []
    for serve in served:
        serve()
        now = reader.read()
        seconds.append(reader.difference(last, now))
        last = now
    return seconds


def test_a_second_holds_what_clients_did_and_nothing_that_dialin_asked(server, clock):
    second, quiet = readings(server, clock, lambda: server.serve(50, rows=700), lambda: server.serve(0))
    assert dict(second.counts) == {"sql/select": 50}
    assert second.mean_ms == pytest.approx(1.0)
    assert (second.figures["rows"], second.figures["questions"], second.figures["selects"]) == (700, 50, 50)
    assert second.running == 2
    assert dict(quiet.counts) == {}
    assert quiet.figures["own"] == pytest.approx(2 * TAKES)


def test_a_counter_that_somebody_reset_begins_anew(server, clock):
    def reset():
        server.serve(30)
        server.status["Innodb_rows_read"] = 5

    before, after = readings(server, clock, lambda: server.serve(30, rows=1000), reset)
    assert (before.figures["rows"], after.figures["rows"]) == (1000, 5)


def test_the_lag_of_a_replica_is_read_with_the_words_that_the_server_knows(server, clock):
    server.lag = "12"
    (second,) = readings(server, clock, lambda: server.serve(1), is_replica=True)
    assert second.lag == 12
    server.lag = None
    (second,) = readings(server, clock, lambda: server.serve(1), is_replica=True)
    assert (second.lag, second.has_stopped) == (None, True)


def test_a_replica_of_several_sources_lags_as_far_as_the_last_of_them():
    rows = [replica_status(lag) for lag in ("3", "50")]
    assert replication_of(rows) == Replication(50.0)
    assert replication_of([*rows, replica_status(None, applies="No")]).has_stopped
    assert replication_of([]) is None


def test_a_status_of_a_replica_without_its_columns_is_an_error_of_the_server():
    with pytest.raises(NoAnswerError, match="lacks the columns"):
        replication_of([replica_status("3"), replica_status("3")[:12]])


@pytest.mark.parametrize("receives", ["No", "Connecting"])
def test_a_replica_that_receives_nothing_has_stopped_though_it_lags_by_no_second(receives):
    assert replication_of([replica_status("0", receives)]).has_stopped


def test_the_largest_digests_are_kinds_of_their_own_and_the_rest_stays_in_its_kind(server, clock):
    slow = Digest("ab" * 16, "SELECT `c` FROM `t`", "sql/select")
    server.digests = {slow.key: (0, 0.0)}

    def serve():
        server.serve(50)
        server.digests[slow.key] = (20, 35.0)

    second, reset = readings(server, clock, serve, lambda: server.serve(10), chosen=[slow])
    assert dict(second.counts) == {slow.key: 20, "sql/select": 30}
    assert second.times[slow.key] == pytest.approx(35.0)
    assert second.statements == 50
    assert dict(reset.counts) == {"sql/select": 10}
