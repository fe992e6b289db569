"""What a study may do to a server that dialin did not start."""

import re

import pytest

from dialin.errors import UserError
from dialin.model.study import Candidate
from dialin.model.workload import LoadTraits
from dialin.preflight import attached, check_study
from dialin.question.options import StudyOptions
from dialin.trials.tools import Tools
from dialin.workloads.sysbench import Sysbench
from servers.attached.fakes import FakeServer

POOLS, CAPACITY = "innodb_buffer_pool_instances", "innodb_io_capacity"
MAY_RESTART = attached.Permission(restart_command="true")


class Script(Sysbench):
    """sysbench, which need not be installed."""

    def check(self):
        pass

    @property
    def traits(self):
        return LoadTraits(unit="beat")


class Server(FakeServer):
    """An idle MySQL 9.7 where only a start sets the number of buffer pools."""

    def query(self, statement, arguments=()):
        if statement.startswith("SELECT table_name FROM information_schema.tables"):
            return []
        if match := re.match(r"SET @@GLOBAL\.`(\w+)` = @@GLOBAL", statement):
            return self._refuse(1238, "it is a read only variable") if match[1] == POOLS else []
        if statement == "SHOW GLOBAL STATUS LIKE 'Questions'":
            sent = int(self.status["Questions"])
            self.status["Questions"] = str(sent + 1)
        return super().query(statement, arguments)


@pytest.fixture
def check(tmp_path, monkeypatch, clock):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    server = Server(**{POOLS: "1"})
    monkeypatch.setattr(attached, "reach_server", lambda *_: server.attached(clock))

    def check(sweep, space=()):
        question = StudyOptions.model_validate({"attach": True, "sweep": sweep, "workload": "sysbench:oltp_read_only"})
        return check_study.check_question(question, tmp_path, Tools.open(print), MAY_RESTART, Script, space)

    return check


def entering(study, setting):
    return study.admit(study.spec, Candidate(name="entering", setting=setting, server=study.spec.candidates[0].server))


def test_a_value_that_keeps_the_server_from_starting_is_refused(check):
    with pytest.raises(UserError, match=f"{POOLS}=0 would prevent mysql@9.7.4 from starting"):
        check({POOLS: [0, 1]})


@pytest.mark.parametrize(("sweep", "space"), [({POOLS: [1, 2]}, ()), ({CAPACITY: [200, 400]}, (POOLS,))])
def test_a_value_that_keeps_the_server_from_starting_does_not_enter_a_study_that_runs(check, sweep, space):
    study = check(sweep, space)
    with pytest.raises(UserError, match=f"{POOLS}=0 would prevent mysql@9.7.4 from starting"):
        entering(study, {POOLS: 0})
    admitted, _ = entering(study, {POOLS: 4})
    assert admitted.setting == {POOLS: 4}


def test_what_a_study_knows_of_its_load_is_what_the_injected_workload_says(check):
    assert check({CAPACITY: [200, 400]}).spec.workload.traits == LoadTraits(unit="beat")
