"""What a study may do to a server that dialin did not start."""

import re

import pytest

from dialin.errors import UserError
from dialin.model.workload import LoadTraits
from dialin.places import check_study
from dialin.places.attached import check as attached
from dialin.places.permission import Permission
from dialin.question.options import StudyOptions
from dialin.trials.tools import Tools
from dialin.workloads.sysbench import Sysbench
from servers.attached.fakes import FakeServer

POOLS, CAPACITY = "innodb_buffer_pool_instances", "innodb_io_capacity"
MAY_RESTART = Permission(restart_command="true")


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

    def check(sweep, **more):
        asked = {"attach": True, "sweep": sweep, "workload": "sysbench:oltp_read_only", **more}
        question = StudyOptions.model_validate(asked)
        return check_study.check_question(question, tmp_path, Tools.open(print), MAY_RESTART, Script)

    return check


def test_a_value_that_keeps_the_server_from_starting_is_refused(check):
    with pytest.raises(UserError, match=f"{POOLS}=0 would prevent mysql@9.7.4 from starting"):
        check({POOLS: [0, 1]})


def test_facts_about_the_load_come_from_the_injected_workload(check):
    assert check({CAPACITY: [200, 400]}).spec.workload.traits == LoadTraits(unit="beat")


POOL = "innodb_buffer_pool_size"


def names(spec):
    return [candidate.name for candidate in spec.candidates]


def test_the_value_in_force_is_a_candidate_and_the_baseline(check):
    spec = check({POOL: ["64M", "512M"]}).spec
    assert (names(spec), spec.baseline, spec.initial) == (["128M", "64M", "512M"], "128M", "128M")
    assert spec.candidate("128M").setting == {POOL: "128M"}


def test_the_value_in_force_is_not_measured_twice(check):
    spec = check({POOL: ["64M", 134217728]}).spec
    assert (names(spec), spec.baseline, spec.initial) == (["64M", "134217728"], "134217728", "134217728")


def test_one_value_is_compared_with_the_one_in_force(check):
    spec = check({CAPACITY: [400]}).spec
    assert (names(spec), spec.baseline) == (["200", "400"], "200")
    with pytest.raises(UserError, match="There is only one candidate"):
        check({CAPACITY: [200]})


def test_an_option_file_is_compared_with_what_the_server_has(check, tmp_path):
    (tmp_path / "new.cnf").write_text("[mysqld]\ninnodb_io_capacity = 400\nmax_connections = 300\n")
    spec = check({}, compare=["new.cnf"]).spec
    assert (names(spec), spec.baseline) == (["now", "new.cnf"], "now")
    assert spec.candidate("now").setting == {CAPACITY: 200, "max_connections": 151}


MOST = "innodb_io_capacity_max"


def test_the_ranges_of_a_tune_follow_the_values_that_its_baseline_sets(check):
    with pytest.raises(UserError, match=f"{CAPACITY} has no effect while {MOST} is 2000"):
        check({}, tune=[f"{CAPACITY}=3000..9000"])
    (capacity,) = check({}, tune=[f"{CAPACITY}=3000..9000"], set={MOST: 9000}).spec.question.variables
    assert capacity.high == 9000


def test_a_baseline_that_is_named_needs_no_other(check):
    spec = check({POOL: ["64M", "512M"]}, baseline="64M").spec
    assert (names(spec), spec.baseline, spec.initial) == (["64M", "512M"], "64M", None)
