"""How long a server lives that serves trials one after another; servers are fakes."""

import sys
from dataclasses import replace

import pytest

from dialin.errors import DialinError, ServerError, SettingRefusedError
from dialin.model.build import Build, Vendor
from dialin.model.trial import Step, Trial, TrialState
from dialin.places.sandbox.shared_sandbox import SharedSandbox, SharedStage
from dialin.trials.change_detector import ChangeDetector
from dialin.trials.changes import changes_between
from dialin.variables.catalogue import Catalogue, Kind, Variable
from fixtures.studies import BUILD, CAPACITY, FakeInstance, study

CHANGES = changes_between(
    study({"a": {CAPACITY: 200}, "b": {CAPACITY: 400}, "refused": {"back_log": 90}}),
    {},
    Catalogue(BUILD, {CAPACITY: Variable(CAPACITY, Kind.INTEGER, default="1", dynamic=True)}),
)


class FakeSandbox:
    """A stage of a server of its own; `starts` is false where it does not start."""

    def __init__(self, *, starts=True):
        self.starts, self.server, self.ended, self.detector = starts, None, 0, ChangeDetector([CAPACITY])

    def ready(self):
        yield Step.RESTORE
        yield Step.BOOT
        if not self.starts:
            raise ServerError("it did not start")
        self.server = FakeInstance()
        return self.server

    def instance(self):
        return self.server

    def target(self):
        return self

    def hide(self, value):
        return value.replace("/private", "{sandbox}")

    def end(self, *, well):
        self.ended += 1


def made_ready(stage):
    """The steps that it took, and the server."""
    making, steps = stage.ready(), []
    while True:
        try:
            steps.append(next(making))
        except StopIteration as ready:
            return steps, ready.value


class Site:
    """Runs trials as a study does: `ready`, then `end`."""

    def __init__(self, clock, *, grows=False):
        self.begun, self.boots, self.steps, self.next = [], [], [], {}
        self.lives = SharedSandbox(self._begin, CHANGES, clock, for_one_block=grows)

    def _begin(self, boot):
        self.boots.append(boot)
        self.begun.append(FakeSandbox(**self.next))
        return self.begun[-1]

    def trial(self, candidate, block=1, *, well=True):
        trial = Trial(id=0, block=block, session=1, position=1, candidate=candidate, state=TrialState.RUNNING, started=0.0)
        stage = SharedStage(self.lives, trial, Build(Vendor.ORACLE, (9, 7, 4), binary=None))
        try:
            self.steps, server = made_ready(stage)
            assert server is stage.instance()
            assert server.values[CAPACITY] == str(CHANGES.settings[candidate][CAPACITY])
        except DialinError:
            stage.end(well=False)
            raise
        stage.end(well=well)
        return self.steps

    def servers(self):
        return [one for one in self.begun if one.server is not None]


@pytest.fixture
def site(clock):
    return Site(clock)


def test_one_life_serves_the_trials_of_all_blocks_and_only_the_first_restores_and_boots(site):
    assert site.trial("a") == [Step.RESTORE, Step.BOOT, Step.SET]
    assert [site.trial(name, block) for name, block in (("b", 1), ("b", 2), ("a", 2))] == [[Step.SET]] * 3
    assert [one.ended for one in site.servers()] == [0]
    site.lives.end()
    assert [one.ended for one in site.servers()] == [1]


def test_a_life_lasts_one_block_where_the_load_changes_how_much_data_there_is(clock):
    site = Site(clock, grows=True)
    steps = [site.trial(name, block) for name, block in (("a", 1), ("b", 1), ("b", 2), ("a", 2))]
    assert [Step.BOOT in steps_of_trial for steps_of_trial in steps] == [True, False, True, False]
    assert [one.ended for one in site.servers()] == [1, 0]


def test_a_trial_that_failed_ends_the_life_and_the_next_one_begins_another(site):
    site.trial("a", well=False)
    assert site.servers()[0].ended == 1
    assert Step.BOOT in site.trial("b")
    assert len(site.servers()) == 2


def test_a_server_that_died_meanwhile_is_replaced(site):
    site.trial("a")
    site.servers()[0].server.gone = True
    assert Step.BOOT in site.trial("b")
    assert [one.ended for one in site.servers()] == [1, 0]


def test_a_refused_value_fails_its_trial_alone(site):
    site.trial("a")
    with pytest.raises(SettingRefusedError, match="back_log"):
        site.trial("refused")
    assert Step.BOOT in site.trial("b"), "nobody knows what the refused statement left"


def test_a_server_that_does_not_start_is_taken_away_and_tried_anew(site):
    site.next = {"starts": False}
    with pytest.raises(ServerError, match="did not start"):
        site.trial("a")
    assert site.begun[-1].ended == 1
    site.next = {}
    assert Step.BOOT in site.trial("a")


def test_a_trial_sees_the_sandbox_that_lives(site, clock):
    trial = Trial(id=0, block=1, session=1, position=1, candidate="a", state=TrialState.RUNNING, started=0.0)
    stage = SharedStage(site.lives, trial, Build(Vendor.ORACLE, (9, 7, 4), binary=None))
    assert stage.instance() is None
    made_ready(stage)
    assert stage.target() is site.begun[-1]
    assert stage.hide("/private/s.sock") == "{sandbox}/s.sock"


def test_nothing_is_left_to_end_where_nothing_was_begun(site):
    site.lives.end()
    assert site.servers() == []


def test_changes_that_take_a_start_take_another_life_and_the_rest_is_set(clock, monkeypatch):
    settings = {"a": {CAPACITY: 300}, "b": {CAPACITY: 400, "x": 2}, "c": {CAPACITY: 300, "x": 2}}
    changes = replace(CHANGES, settings=settings, expected={}, varied=CHANGES.varied | {"x"}, at_start=frozenset({"x"}))
    monkeypatch.setattr(sys.modules[__name__], "CHANGES", changes)
    site = Site(clock)
    steps = [site.trial(name, block) for block, name in enumerate("abcba", start=1)]
    assert [Step.BOOT in of_trial for of_trial in steps] == [True, True, False, False, True]
    boots = [boot for boot, one in zip(site.boots, site.begun, strict=True) if one.server is not None]
    assert [boot.get("x") for boot in boots] == [None, 2, None]
