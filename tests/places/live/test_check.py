"""What dialin refuses to do to a server under its own traffic, before anything is changed."""

import math
import re
from dataclasses import replace

import pytest

from dialin.errors import UserError
from dialin.model.live import LatencySource
from dialin.places import check_study
from dialin.places.live import check as live
from dialin.places.live import state as live_state
from dialin.places.live.state import LiveState
from dialin.places.permission import NO_PERMISSION
from dialin.question.options import StudyOptions
from dialin.trials.tools import Tools
from dialin.workloads.kinds import make_workload
from dialin.workloads.traffic.digests import Digest, stored_digests
from dialin.workloads.traffic.reader import Replication
from servers.attached.fakes import FakeServer

CAPACITY, POOL = "innodb_io_capacity", "innodb_buffer_pool_size"
USUAL = LiveState(
    source=LatencySource.HISTOGRAM,
    statements=500.0,
    busy_ms=900.0,
    connections=0.5,
    connected=20.0,
    lifetime=math.inf,
    running=2.0,
    cpu_share=0.3,
    free_memory=10**9,
)
COPIED = ("sort_buffer_size", "max_connections")
"""Variables that the server has for each session."""


class Server(FakeServer):
    """A MySQL 9.7 with clients."""

    def query(self, statement, arguments=()):
        if statement.startswith("SELECT table_name FROM information_schema.tables"):
            return []
        if re.match(r"SET @@GLOBAL\.`(\w+)` = @@GLOBAL", statement):
            return []
        if match := re.fullmatch(r"SELECT @@SESSION\.`(\w+)`", statement):
            return [("1",)] if match[1] in COPIED else self._refuse(1238, "it is a GLOBAL variable")
        return super().query(statement, arguments)


@pytest.fixture
def check(tmp_path, monkeypatch, clock):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    server = Server(sort_buffer_size="262144")
    monkeypatch.setattr(live, "reach_server", lambda *_, **__: server.attached(clock))

    def check(sweep, state=(), **more):
        monkeypatch.setattr(live_state, "watch", lambda *_: replace(USUAL, **dict(state)))
        named = {name.replace("_", "-"): value for name, value in more.items()}
        question = StudyOptions.model_validate({"attach": True, "traffic": "own", "sweep": sweep, "minutes": 240, **named})
        return check_study.check_question(question, tmp_path, Tools.open(print), NO_PERMISSION, make_workload)

    return check


def test_the_value_in_force_is_the_baseline_and_the_washout_is_the_variables(check):
    ready = check({CAPACITY: [2000]})
    assert (ready.spec.baseline, ready.spec.initial, ready.spec.goal) == ("200", "200", "latency")
    assert (ready.plan.measure, ready.plan.warmup) == (60, 15)
    assert "  set innodb_io_capacity (now 200) to 2000 in periods of 75 s, and back after each" in ready.changes
    assert ready.spec.place.observe == 600


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"statements": 0.2}, "The server has no traffic"),
        ({"busy_ms": 0.0}, "does not time them"),
        ({"replication": Replication(45.0)}, "45 s behind its source"),
        ({"replication": Replication(None)}, "replication does not run"),
        ({"connected": 140.0}, "at its limit: 140 of max_connections = 151"),
    ],
)
def test_a_server_in_no_state_to_be_studied_is_refused(check, state, says):
    with pytest.raises(UserError, match=says):
        check({CAPACITY: [2000]}, state)


@pytest.mark.parametrize(
    ("sweep", "more", "says"),
    [
        ({POOL: ["256M"]}, {}, "allocates or frees memory"),
        ({CAPACITY: [300, 400, 500, 600]}, {}, "at most 4 candidates"),
        ({CAPACITY: [300, 400]}, {"baseline": "400"}, "is the value that it has now"),
        ({CAPACITY: [300]}, {"goal": "throughput"}, "--goal throughput requires a saturated server: with 30.0 %"),
        ({CAPACITY: [300]}, {"threads": 4}, "--threads is for a load that dialin applies"),
        ({CAPACITY: [300]}, {"minutes": 20}, "nothing is decided before 16"),
    ],
)
def test_a_question_that_is_not_for_a_live_server_is_refused(check, sweep, more, says):
    with pytest.raises(UserError, match=says):
        check(sweep, **more)


def test_a_replica_is_studied_and_its_lag_guarded(check):
    ready = check({CAPACITY: [2000]}, {"replication": Replication(1.0)})
    assert "The server is a replica; its lag is guarded" in ready.notes
    assert ready.site.is_replica


def test_throughput_is_compared_where_the_server_is_saturated_and_elsewhere_that_is_said(check):
    by_cpu, by_threads = {"cpu_share": 0.95}, {"cpu_share": None, "running": 60.0, "connected": 64.0}
    for saturated in (by_cpu, by_threads):
        assert check({CAPACITY: [2000]}, saturated, goal="throughput").spec.goal == "throughput"
        assert any("The server is saturated" in note for note in check({CAPACITY: [2000]}, saturated).notes)
    assert not any("saturated" in note for note in check({CAPACITY: [2000]}).notes)


def test_the_goal_may_be_what_a_statement_costs_and_its_cpu_must_be_seen(check):
    for goal in ("cpu", "io", "pages", "rows"):
        spec = check({CAPACITY: [2000]}, goal=goal).spec
        assert (spec.goal, spec.worthwhile) == (goal, 0.05)
    assert check({CAPACITY: [2000]}, {"cpu_share": None}, goal="io").spec.goal == "io"
    with pytest.raises(UserError, match="the process of a server elsewhere cannot be read"):
        check({CAPACITY: [2000]}, {"cpu_share": None}, goal="cpu")


def test_a_change_that_resizes_memory_takes_an_option_and_must_fit(check):
    ready = check({POOL: ["256M"]}, accept_resizing=True)
    assert ready.plan.warmup == 30
    assert any("clients may wait" in note for note in ready.notes)
    with pytest.raises(UserError, match="more memory than now, and"):
        check({POOL: ["2G"]}, accept_resizing=True)
    notes = check({POOL: ["2G"]}, {"free_memory": None}, accept_resizing=True).notes
    assert any("of its machine is unknown" in note for note in notes)


def test_a_variable_that_sessions_copy_is_studied_only_where_they_end_within_the_washout(check):
    sorts = {"sort_buffer_size": ["512K"]}
    with pytest.raises(UserError, match="the sessions of this server do not end"):
        check(sorts)
    with pytest.raises(UserError, match="live for about 40 s"):
        check(sorts, {"lifetime": 40.0})
    assert any("these live for about 1.0 s here" in note for note in check(sorts, {"lifetime": 1.0}).notes)
    assert check(sorts, {"lifetime": 40.0}, warmup=121).plan.warmup == 121


def test_sessions_that_live_on_count_beside_those_that_come_and_go():
    assert live_state.lifetime(0, 10, 5.0, connected=10.0, connections=5.0) == 2
    assert live_state.lifetime(20, 21, 5.0, connected=21.0, connections=10.0) > 100
    assert live_state.lifetime(20, 20, 5.0, connected=20.0, connections=0.0) == math.inf


def test_the_largest_digests_are_stored_and_their_cost_is_said_where_it_is_too_high(check):
    digest = Digest("ab" * 16, "SELECT ?", "sql/select")
    ready = check({CAPACITY: [2000]}, {"digests": (digest,), "digests_ms": 0.4})
    (facts,) = ready.servers.values()
    assert stored_digests(facts) == ready.site.digests == (digest,)
    assert "The mix of statements is that of the 1 largest digests, and of the rest by kind" in ready.notes
    dear = check({CAPACITY: [2000]}, {"digests_ms": 12.0})
    assert any("takes 12 ms each second" in note for note in dear.notes)
    assert dear.site.digests == ()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"observe": 60}, "add attach and traffic = own"),
        ({"traffic": "own"}, "add attach"),
        ({"goal": "cpu", "probes": False}, "goal cpu is read by probes"),
        ({"attach": True, "accept-resizing": True}, "add traffic = own"),
        ({"attach": True, "traffic": "own", "database": "shop"}, "database is not for a live server"),
        ({"attach": True, "traffic": "own", "goal": "stability"}, "not for live traffic"),
        ({"workload": "traffic"}, "add attach and traffic = own"),
        ({"attach": True, "traffic": "own", "between": "25:00-26:00"}, "hours of the day"),
        ({"attach": True, "traffic": "own", "workload": "oltp_read_only"}, "cannot be combined"),
    ],
)
def test_options_of_live_traffic_that_do_not_fit_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        StudyOptions.model_validate({"sweep": {CAPACITY: [300]}, **options})
