"""Who is to blame where a command that applies settings fails, and what a rehearsal shows; server and command are fakes."""

from types import SimpleNamespace

import pytest

from dialin.errors import DialinError, ServerError
from dialin.model.cause import Cause, CauseCode, Fault
from dialin.model.place import ManagedPlace
from dialin.model.study import Candidate, StudySpec
from dialin.places.attached.rehearsal import rehearse
from dialin.places.attached.site import AttachedServer, AttachedStage, OpenAttachedServer
from dialin.servers.attached import server_process, user_command
from dialin.servers.attached.undo import UndoLog
from dialin.servers.attached.user_command import CommandError
from dialin.trials.change_detector import ChangeDetector
from servers.attached.fakes import VARIABLES, FakeServer
from servers.attached.test_apply_command import CAPACITY, Command

FAILED = CommandError(Cause(CauseCode.COMMAND_FAILED, {"purpose": "apply", "exit_code": 3, "program": "x"}), "", "no such unit")
SLOW = CommandError(Cause(CauseCode.COMMAND_SLOW, {"purpose": "apply", "seconds": 60.0, "program": "x"}))
DOWN = ServerError(Cause(CauseCode.NO_ANSWER_AFTER_RESTART, {"seconds": 5.0}))
LIES = CommandError(Cause(CauseCode.NOT_APPLIED, {"variable": CAPACITY, "value": 400, "now": "200"}))


class Applies:
    """A command that fails as it is told to, with one setting or with all of them."""

    def __init__(self, error=None, put_back=None):
        self.error, self.fails_to_put_back, self.calls = error, put_back, []

    def apply(self, wanted):
        self.calls.append(wanted)
        if self.error is not None:
            raise self.error
        return {**VARIABLES, CAPACITY: str(wanted[CAPACITY])}

    def put_back(self):
        self.calls.append("put back")
        if self.fails_to_put_back is not None:
            raise self.fails_to_put_back


@pytest.fixture
def server(monkeypatch):
    server = FakeServer()
    monkeypatch.setattr(server_process, "listens", lambda account: server.answers)
    return server


@pytest.fixture
def spec():
    candidates = [Candidate(name=str(value), setting={CAPACITY: value}, server="mysql@9.7.4") for value in (200, 400)]
    return StudySpec(candidates=tuple(candidates), baseline="200", place=ManagedPlace(defaults_file="my.cnf"))


def staged(server, clock, spec, command, candidate="400", applied=None):
    site = SimpleNamespace(attached=server.attached(clock), at_start=(), restart_command=None)
    detector = ChangeDetector([CAPACITY])
    opened = OpenAttachedServer(site, {CAPACITY: "200"}, None, detector, None, spec, command, applied)
    return AttachedStage(opened, candidate, {CAPACITY: spec.setting_of(candidate)[CAPACITY]}), opened


@pytest.mark.parametrize("error", [FAILED, SLOW, DOWN])
def test_a_candidate_with_which_the_command_fails_and_without_which_it_works_has_failed(server, clock, spec, error):
    stage, opened = staged(server, clock, spec, command := Applies(error))
    with pytest.raises(DialinError, match="With innodb_io_capacity=400 it fails, and with the original settings") as caught:
        stage._set()
    assert caught.value.fault is Fault.SETTING
    assert caught.value.log_tail == error.log_tail
    assert command.calls[-1] == "put back"
    assert opened.applied is None, "the next trial applies its setting"
    assert not stage.went_away()


@pytest.mark.parametrize("error", [FAILED, SLOW, DOWN])
def test_a_command_that_also_fails_with_the_original_settings_ends_the_study(server, clock, spec, error):
    stage, _ = staged(server, clock, spec, Applies(error, put_back=error))
    with pytest.raises(DialinError) as caught:
        stage._set()
    assert caught.value.fault is Fault.REQUEST
    assert caught.value.what == error.what


def test_a_command_that_lies_is_to_blame_at_once(server, clock, spec):
    stage, _ = staged(server, clock, spec, command := Applies(LIES))
    with pytest.raises(DialinError, match="innodb_io_capacity is still 200 and not 400") as caught:
        stage._set()
    assert caught.value.fault is Fault.REQUEST
    assert command.calls == [{CAPACITY: 400}]


@pytest.mark.parametrize(("candidate", "applied"), [("200", None), ("400", {CAPACITY: 400})])
def test_a_setting_that_is_in_force_or_was_applied_last_needs_no_command(server, clock, spec, candidate, applied):
    stage, _ = staged(server, clock, spec, command := Applies(), candidate, applied)
    stage._set()
    assert command.calls == []


@pytest.fixture
def site(server, clock, spec, home, monkeypatch):
    command = Command(server, dict(VARIABLES))
    monkeypatch.setattr(user_command, "run", command)
    tools = SimpleNamespace(clock=clock, home=home)
    said = "apply.sh --password=hunter3"
    made = AttachedServer(spec, spec.place, server.attached(clock), None, tools, (CAPACITY,), None, said)
    return made, command


def test_a_rehearsal_asks_for_what_is_in_force_restarts_and_leaves_no_record(site, server, home, clock):
    place, command = site
    assert rehearse(place, print) >= 0
    ((settings, change, _),) = command.calls
    assert (settings, change) == ({CAPACITY: 200}, {"changes": {}, "restart": True, "undo": True})
    assert server.values == VARIABLES
    assert UndoLog(home.undo, clock).entries() == []


def test_a_rehearsal_of_a_command_that_does_not_restart_is_refused_after_seconds(site, server, home, clock):
    place, command = site
    command.restarts = False
    with pytest.raises(CommandError, match="did not restart the server, which has answered for 10 s"):
        rehearse(place, print)
    assert UndoLog(home.undo, clock).entries() == []


def test_a_rehearsal_shows_what_a_command_changes_beside_and_puts_it_back_where_it_may(site, server, home, clock):
    place, command = site
    command.also = {"max_connections": 500}
    with pytest.raises(CommandError, match=r"changes more than it was asked to: max_connections \(was 151, is 500\)"):
        rehearse(place, print)
    assert server.values == VARIABLES
    assert UndoLog(home.undo, clock).entries() == []
