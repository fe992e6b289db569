import json

import pytest

from dashboard.writing import TRIAL, Study
from dialin.dashboard.follow_suite import SuiteFollower
from dialin.dashboard.study_state import State
from dialin.dashboard.view import view
from dialin.errors import UserError
from dialin.model.progress import SessionState
from dialin.model.suite import Suite
from dialin.store import requests
from dialin.store.lock import Holder
from dialin.suites import suite_file
from dialin.suites.suite_file import JointReader, read_suite, write_suite
from fixtures.example_suites import row, suite
from fixtures.simulated_suites import suite_plan

HELD = Holder(1234, "boot/42")


class Suites:
    """A suite of two workloads, and what a dialin that runs it writes there."""

    def __init__(self, directory, spec):
        directory.mkdir()
        self.directory, self.plan = directory, suite_plan({"reads": 1, "writes": 1}, minutes=10)
        write_suite(directory, Suite(plan=self.plan))
        self._spec, self.studies, self.held = spec, {}, True

    def begin(self, name):
        self.studies[name] = Study(self.directory / name, self._spec)
        return self.studies[name]

    def follower(self):
        return self.followed_by(lambda _: HELD if self.held else None)

    def followed_by(self, holder):
        return SuiteFollower(self.directory, read_suite, JointReader(self.directory).join, holder)

    def ended(self, session):
        for study in self.studies.values():
            study.stands(session=session, step=None)
        self.held = False


@pytest.fixture
def running(tmp_path, spec):
    """A suite whose second workload runs its first trial; the first workload has had one."""
    made = Suites(tmp_path / "suite", spec)
    reads, writes = made.begin("reads"), made.begin("writes")
    reads.stands(step=None)
    reads.begin_trial()
    reads.end_trial()
    reads.store.say(1.0, "prepared")
    writes.stands()
    writes.begin_trial()
    writes.store.say(2.0, "begun")
    yield made
    for study in made.studies.values():
        study.store.close()


def shown(follower):
    return json.loads(view(follower.look(), follower.directory, TRIAL.started + 30))


def test_the_workload_that_runs_is_shown_with_its_trial_and_the_budget_of_all(running):
    page = shown(running.follower())
    assert (page["state"], page["may_stop"], page["may_end_block"]) == ("running", True, True)
    assert page["what"] == "innodb_buffer_pool_instances on mysql@9.7.4, under 2 workloads"
    assert page["block"] == "writes, block 1"
    assert page["load"].startswith("writes: ")
    assert (page["spent"], page["left"]) == ("33 s of trials so far", "at most about 9 min left")
    assert page["chart"]["x"] == [1, 2, 3]
    assert [text for _, text in page["log"]] == ["reads: prepared", "writes: begun"]


def test_each_workload_is_a_row_and_one_that_is_decided_gets_no_further_trials(running):
    running.studies["reads"].stands(session=SessionState.FINISHED, step=None)
    follower = running.followed_by(lambda path: None if path.name == "reads" else HELD)
    rows = shown(follower)["rows"]
    assert [(one["label"], one["out"], one["runs"], one["rate"]) for one in rows] == [
        ("reads", True, False, "1,000"),
        ("writes", False, True, "1,000"),
    ]


def test_a_suite_whose_data_is_being_prepared_is_shown_before_its_studies_have_begun(tmp_path, spec):
    made = Suites(tmp_path / "suite", spec)
    page = shown(made.follower())
    assert page["state"] == "readying"
    assert made.follower().look().key == ()


def test_a_suite_that_was_killed_or_stopped_says_how_to_resume_it_as_a_whole(running):
    running.held = False
    page = shown(running.follower())
    assert (page["state"], page["command"]) == ("dead", f"dialin resume {running.directory}")
    running.ended(SessionState.STOPPED)
    assert shown(running.follower())["state"] == "stopped"


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_suite_that_ended_has_its_result_or_asks_for_more_minutes(running, is_answered):
    running.ended(SessionState.FINISHED)
    if is_answered:
        result = suite([row("reads", **{"4": 1.1}), row("writes", **{"4": 1.0})]).result
        write_suite(running.directory, Suite(plan=running.plan, result=result))
    page = shown(running.follower())
    assert page["state"] == "finished"
    assert page["command"] == ("" if is_answered else f"dialin resume {running.directory} --minutes 20")


def test_its_report_is_the_joint_one_and_reads_only_what_has_changed_again(running, monkeypatch):
    follower, read, original = running.follower(), [], suite_file.read_study

    def read_study(directory, plan, member, **how):
        read.append(member.name)
        return original(directory, plan, member, **how)

    monkeypatch.setattr(suite_file, "read_study", read_study)
    assert 'id="suite-table"' in follower.report().main
    before = follower.look().key
    follower.report()
    assert read == ["reads", "writes"]
    running.studies["writes"].end_trial()
    running.studies["writes"].stands(step=None)
    assert follower.look().key != before
    follower.report()
    assert read == ["reads", "writes", "writes"]


def test_that_it_is_to_stop_after_the_block_is_asked_of_the_suite(running):
    follower = running.follower()
    assert not follower.look().stops
    requests.ask_to_stop(running.directory)
    assert follower.look().stops


def test_a_suite_that_cannot_be_read_is_named(running):
    (running.directory / "suite.json").write_text("{}")
    with pytest.raises(UserError, match="suite of this version"):
        running.follower().look()


def test_after_an_error_all_is_read_again(running):
    follower = running.follower()
    follower.look()
    follower.forget()
    assert follower.look().state is State.RUNNING


def test_the_file_of_a_suite_is_read_once_to_check_it_and_to_show_it(running):
    read = []

    def counted(directory):
        read.append(directory)
        return read_suite(directory)

    follower = SuiteFollower(running.directory, counted, JointReader(running.directory).join)
    follower.check()
    follower.look()
    assert len(read) == 1
    write_suite(running.directory, Suite(plan=running.plan))
    follower.look()
    assert len(read) == 2
