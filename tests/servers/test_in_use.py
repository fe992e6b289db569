"""What uses a build: the ledger, processes and locks are real."""

import subprocess
import sys

import pytest

from dialin.servers.in_use import users_of
from dialin.servers.ledger import Ledger
from dialin.store.lock import sole_runner
from dialin.store.store import Store

BUILD = "mysql@9.7.4711"  # one that no study of this machine can be using meanwhile


@pytest.fixture
def ledger(home):
    return Ledger(home.ledger)


def test_a_build_that_nothing_uses_is_free(ledger):
    assert users_of(BUILD, ledger) == []


def test_a_server_that_is_written_down_and_whose_dialin_lives_uses_its_build(ledger, tmp_path):
    ledger.open("abc", tmp_path / "abc", build=BUILD, keep=True)
    assert users_of(BUILD, ledger) == ["server abc (dialin servers stop abc)"]
    assert users_of("mysql@9.7.1", ledger) == []


def test_entries_of_a_dialin_that_is_gone_use_nothing(home, ledger, tmp_path):
    code = "import sys; from pathlib import Path; from dialin.servers.ledger import Ledger; Ledger(Path(sys.argv[1])).open("
    words = [sys.executable, "-c", f"{code}'abc', Path(sys.argv[2]), build='{BUILD}')", str(home.ledger), str(tmp_path / "abc")]
    subprocess.run(words, check=True)
    assert [entry.build for entry in ledger.entries()] == [BUILD]
    assert users_of(BUILD, ledger) == []


def test_a_running_study_uses_its_builds_between_its_trials_too(ledger, tmp_path, spec):
    facts = {BUILD: {"version": "9.7.4"}}
    Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers=facts).close()
    assert users_of(BUILD, ledger) == []
    with sole_runner(tmp_path):
        assert users_of(BUILD, ledger) == [f"the study in {tmp_path} (Ctrl-C there)"]
        assert users_of("mysql@8.0.4711", ledger) == []
    assert users_of(BUILD, ledger) == []
