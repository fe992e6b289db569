"""What dialin refuses to do to a server under its own traffic, before anything is changed."""

import re

import pytest

from dialin.errors import UserError
from dialin.model.live import LatencySource
from dialin.preflight import attached, check_study, live
from dialin.question.options import StudyOptions
from dialin.trials.tools import Tools
from dialin.workloads.kinds import make_workload
from servers.attached.fakes import FakeServer

CAPACITY, POOL = "innodb_io_capacity", "innodb_buffer_pool_size"
USUAL = {
    "source": LatencySource.HISTOGRAM,
    "is_replica": False,
    "lag": None,
    "statements": 500.0,
    "busy_ms": 900.0,
    "connections": 0.5,
    "connected": 20.0,
}


class Server(FakeServer):
    """A MySQL 9.7 with clients."""

    def query(self, statement, arguments=()):
        if statement.startswith("SELECT table_name FROM information_schema.tables"):
            return []
        if re.match(r"SET @@GLOBAL\.`(\w+)` = @@GLOBAL", statement):
            return []
        if match := re.fullmatch(r"SELECT @@SESSION\.`(\w+)`", statement):
            return [("1",)] if match[1] == "max_connections" else self._refuse(1238, "it is a GLOBAL variable")
        return super().query(statement, arguments)


@pytest.fixture
def check(tmp_path, monkeypatch, clock):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    server = Server()
    monkeypatch.setattr(live, "reach_server", lambda *_, **__: server.attached(clock))

    def check(sweep, state=(), **more):
        monkeypatch.setattr(live, "_watch", lambda *_: {**USUAL, **dict(state)})
        question = StudyOptions.model_validate({"attach": True, "traffic": "own", "sweep": sweep, "minutes": 240, **more})
        return check_study.check_question(question, tmp_path, Tools.open(print), attached.NO_PERMISSION, make_workload)

    return check


def test_the_value_in_force_is_the_baseline_and_the_washout_is_the_variables(check):
    ready = check({CAPACITY: [2000]})
    assert (ready.spec.baseline, ready.spec.initial, ready.spec.goal) == ("200", "200", "latency")
    assert (ready.plan.measure, ready.plan.warmup) == (60, 15)
    assert "  set innodb_io_capacity (now 200) to 2000 in periods of 75 s, and back after each" in ready.changes
    assert ready.spec.live.observe == 600


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"statements": 0.2}, "The server has no traffic"),
        ({"busy_ms": 0.0}, "does not time them"),
        ({"is_replica": True, "lag": 45.0}, "45 s behind its source"),
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
        ({CAPACITY: [300]}, {"database": "shop"}, "--database is not for a live server"),
        ({CAPACITY: [300]}, {"goal": "stability"}, "not for live traffic"),
        ({CAPACITY: [300]}, {"threads": 4}, "--threads is for a load that dialin applies"),
        ({CAPACITY: [300]}, {"minutes": 20}, "nothing is decided before 16"),
    ],
)
def test_a_question_that_is_not_for_a_live_server_is_refused(check, sweep, more, says):
    with pytest.raises(UserError, match=says):
        check(sweep, **more)


def test_a_replica_is_studied_and_its_lag_guarded(check):
    ready = check({CAPACITY: [2000]}, {"is_replica": True, "lag": 1.0})
    assert "The server is a replica; its lag is guarded" in ready.notes
    assert ready.site.is_replica


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"observe": 60}, "add traffic = own"),
        ({"traffic": "own"}, "add attach"),
        ({"workload": "traffic"}, "add attach and traffic = own"),
        ({"attach": True, "traffic": "own", "between": "25:00-26:00"}, "hours of the day"),
        ({"attach": True, "traffic": "own", "workload": "oltp_read_only"}, "cannot be combined"),
    ],
)
def test_options_of_live_traffic_that_do_not_fit_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        StudyOptions.model_validate({"sweep": {CAPACITY: [300]}, **options})
