"""One server that is set to candidate after candidate; the server is a fake that clamps as MySQL does."""

import itertools

import pytest

from dialin.errors import ServerError, SettingRefusedError
from dialin.model.trial import EffectiveSettings
from dialin.places.sandbox.shared_sandbox import SwitchedServer
from dialin.trials.change_detector import ChangeDetector
from dialin.trials.changes import changes_between
from dialin.variables.catalogue import Catalogue, Kind, Variable
from fixtures.studies import BUILD, CAPACITY, MOST, FakeInstance, study
from servers.attached.fakes import VARIABLES

SETTINGS = {"as it is": {}, "low": {CAPACITY: 100, MOST: 300}, "high": {CAPACITY: 9000}}
STARTED = {
    "as it is": EffectiveSettings(VARIABLES),
    "low": EffectiveSettings({**VARIABLES, CAPACITY: "100", MOST: "300"}),
    "high": EffectiveSettings({**VARIABLES, CAPACITY: "9000", MOST: "18000"}),
}
CATALOGUE = Catalogue(
    BUILD,
    {name: Variable(name, Kind.INTEGER, default="1", dynamic=True) for name in (CAPACITY, MOST, "sync_binlog", "init_connect")},
)


@pytest.fixture
def server():
    return FakeInstance()


def switched(server, clock, settings=SETTINGS):
    return SwitchedServer(server, changes_between(study(settings), STARTED, CATALOGUE), clock, ChangeDetector(()))


def figures(server):
    return {name: server.values[name] for name in (CAPACITY, MOST)}


@pytest.mark.parametrize("order", list(itertools.product(SETTINGS, repeat=3)))
def test_a_candidate_comes_to_the_same_whatever_came_before(server, clock, order):
    one = switched(server, clock)
    for candidate in order:
        one.become(candidate)
        assert figures(server) == {name: STARTED[candidate].in_force[name] for name in (CAPACITY, MOST)}, candidate


def test_changes_by_the_load_are_put_back_before_the_next_trial(server, clock):
    one = switched(server, clock)
    one.become("low")
    server.values["init_connect"] = "SET @a = 1"
    one.become("as it is")
    assert server.values == VARIABLES


@pytest.mark.parametrize(
    ("asked", "says"),
    [({"no_such": 1}, "no variable no_such"), ({"back_log": 90}, "back_log can be set only"), ({CAPACITY: "x"}, "cannot be x")],
)
def test_a_value_that_is_refused_is_the_settings_fault_in_the_servers_words(server, clock, asked, says):
    one = switched(server, clock, {"as it is": {}, "wrong": {MOST: 900, **asked}})
    with pytest.raises(SettingRefusedError, match=says) as raised:
        one.become("wrong")
    assert raised.value.log_tail == "[ERROR] the log's last line"
    one.become("as it is")
    assert server.values == VARIABLES


def test_a_candidate_waits_for_the_connections_of_the_load_before_to_be_gone(server, clock):
    one = switched(server, clock)
    others = [(number, "root", "localhost", "sbtest", "Query", 0, "", "") for number in range(20, 24)]
    own_connections = server.processes
    server.processes = own_connections + others
    began = clock.monotonic()

    def sleep(seconds):
        clock._now += seconds
        server.processes = server.processes[:-1]

    clock.sleep = sleep
    one.tidy()
    assert server.processes == own_connections
    assert clock.monotonic() > began


def test_connections_that_never_end_fail_the_trial(server, clock):
    one = switched(server, clock)
    server.processes = [*server.processes, (20, "root", "localhost", "sbtest", "Query", 0, "", "")]
    with pytest.raises(ServerError, match="still open"):
        one.tidy()


@pytest.mark.parametrize(("log_bin", "left"), [("ON", ["binlog.000002"]), ("OFF", ["binlog.000001"])])
def test_each_trial_begins_with_an_empty_binary_log_where_there_is_one(clock, log_bin, left):
    server = FakeInstance(log_bin=log_bin)
    switched(server, clock).tidy()
    assert server.binary_logs == left
