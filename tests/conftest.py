import gc
import os
import pwd

import pytest
from hypothesis import settings

from dialin.errors import DialinError
from dialin.model.study import Candidate, StudySpec
from dialin.paths import Home
from dialin.servers.attached import still_changed
from dialin.testing.fake_clock import FakeClock
from fixtures.internal_codes import codes_in
from fixtures.loads import load
from fixtures.long_form import IS_LONG

# No test passes or fails on an absolute time: machines are noisy. Examples are the same on every run; `make test-all` has more.
EXAMPLES = 100 if IS_LONG else 30
settings.register_profile("dialin", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("dialin")


FIRST = (
    "race/test_tune_runner",
    "search/test_tuner",
    "report/test_figures_agree",
    "cli/test_bad_input",
    "stats/test_rates",
    "suites/test_suite_runner",
    "race/test_runner_live",
    "race/test_runner",
    "race/test_runner_fleet",
    "report/test_renderings",
    "report/test_states",
    "search/test_study_tuner",
    "cli/test_standard_streams",
)
"""Files in the order in which their tests begin: first those that take longest. The tests of a file run in one process, and no
process should have many of them left when the others have none."""

gc.disable()  # while tests are collected, which is little but modules


def pytest_collection_finish():
    """Leave what is imported by now out of all collections of garbage, which would look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items):
    ranks = {f"tests/{name}.py": rank for rank, name in enumerate(FIRST)}
    items.sort(key=lambda item: ranks.get(item.location[0], len(FIRST)))


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture(autouse=True)
def _no_server_is_changed_before(monkeypatch):
    """Give each test a process that has changed no attached server, whatever tests before it left unrestored."""
    monkeypatch.setattr(still_changed, "_journals", {})


@pytest.fixture(autouse=True)
def _no_error_has_an_internal_code(monkeypatch):
    """Whatever error a test meets is in words."""
    made = DialinError.__init__

    def checked(self, *args, **options):
        made(self, *args, **options)
        assert not codes_in(f"{self.what} {self.remedy}"), self.what

    monkeypatch.setattr(DialinError, "__init__", checked)


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


@pytest.fixture
def give_away(monkeypatch):
    """Makes a file that of another user, as in a directory that users share; returns what its owner is called."""

    def give(path):
        if os.geteuid() == 0:
            os.chown(path, 54321, -1)
            return "54321"
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
        return pwd.getpwuid(path.stat().st_uid).pw_name

    return give


@pytest.fixture(scope="session")
def spec():
    """A study of three values of one variable, measured 10 s a trial."""
    candidates = tuple(
        Candidate(name=str(value), setting={"innodb_buffer_pool_instances": value}, server="mysql@9.7.4")
        for value in (1, 4, 16)
    )
    return StudySpec(candidates=candidates, baseline="1", workload=load(), minutes=6, measure=10, warmup=10)
